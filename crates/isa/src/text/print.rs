//! Instructions to SASS text.

use super::{SHORT, float};
use crate::row::{ImmEnc, Kind, Row, Slot, Style};
use crate::{ImmKind, MInst, Mod, Operand, Pred, Reg, Sel, SrcMods, names};
use nvir_base::Chip;
use std::fmt::Write;

/// The text of an instruction, without the closing semicolon.
///
/// Spelling depends on the row (a signed immediate or not), so an instruction that no row encodes
/// is written as if every immediate were unsigned.
pub fn print(chip: Chip, m: &MInst) -> String {
    let mut out = String::new();
    print_row(&mut out, chip, m, crate::codec::row_of(chip, m).ok());
    out
}

/// Appends the text of an instruction whose row is known.
pub fn print_row(out: &mut String, chip: Chip, m: &MInst, row: Option<&Row>) {
    print_labelled(out, chip, m, row, &|_| None);
}

/// The same with names for branch targets where `label` has one.
pub fn print_labelled(
    out: &mut String,
    chip: Chip,
    m: &MInst,
    row: Option<&Row>,
    label: &dyn Fn(u32) -> Option<String>,
) {
    if !m.guard.is_true() {
        out.push('@');
        pred(out, m.guard);
        out.push(' ');
    }
    out.push_str(m.op.name());
    for md in &m.mods {
        out.push('.');
        out.push_str(md.name());
    }
    if m.sync {
        out.push_str(".S");
    }
    for (i, o) in m.operands.iter().enumerate() {
        let slot = row.and_then(|r| r.slots.get(i));
        out.push_str(match slot.map(|s| s.style) {
            // nvdisasm leaves the space out before the address of a cache query.
            _ if i == 0 && m.mods.last() == Some(&Mod::Qry1) && matches!(o, Operand::Mem { .. }) => "",
            _ if i == 0 => " ",
            Some(Style::Gap) => " ",
            _ => ", ",
        });
        match *o {
            Operand::Target(t) => match label(t) {
                Some(name) => out.push_str(&name),
                None => operand(out, chip, o, slot),
            },
            _ => operand(out, chip, o, slot),
        }
    }
    if m.is_short() {
        out.push(' ');
        out.push_str(SHORT);
    }
}

fn operand(out: &mut String, chip: Chip, o: &Operand, slot: Option<&Slot>) {
    let style = slot.map_or(Style::Plain, |s| s.style);
    match *o {
        Operand::Reg { reg: r, mods, sel, cc } => {
            source(out, mods, |out| {
                reg(out, r);
                part(out, sel);
            });
            if cc {
                out.push_str(".CC");
            }
        }
        Operand::Pred(p) => pred(out, p),
        Operand::Imm { bits, .. } if style == Style::Swizzle => swizzle(out, bits),
        Operand::Imm { bits, kind, mods } => {
            immediate(out, bits, kind, slot.map(|s| s.kind));
            for (on, name) in [(mods.neg, ".NEG"), (mods.abs, ".ABS"), (mods.inv, ".INV")] {
                if on {
                    out.push_str(name);
                }
            }
            if let Style::Part(sel) = style {
                part(out, sel);
            }
        }
        Operand::Const { bank, base, offset, mods, sel } => source(out, mods, |out| {
            let _ = write!(out, "c[{bank:#x}]");
            if style == Style::Spaced {
                out.push(' ');
            }
            let negative = matches!(slot.map(|s| s.kind), Some(Kind::Const { signed_text: true, .. }));
            if base == Reg::Z {
                out.push('[');
                signed(out, if negative { i32::from(offset as i16) } else { offset });
                out.push(']');
            } else {
                address(out, base, offset);
            }
            part(out, sel);
        }),
        Operand::Mem { base, offset } => {
            if style == Style::Vertex {
                out.push('v');
            }
            address(out, base, offset);
        }
        Operand::Attr { base, offset } => {
            out.push('a');
            address(out, base, offset);
        }
        Operand::Sreg(n) => match names::special(chip, n) {
            Some(name) => out.push_str(name),
            None => {
                let _ = write!(out, "SR{n}");
            }
        },
        Operand::Target(t) => {
            if matches!(slot.map(|s| s.kind), Some(Kind::TargetAbs(_))) {
                let _ = write!(out, "{t:#x}");
            } else {
                signed(out, t as i32);
            }
        }
        Operand::CcTest(n) => {
            let _ = write!(out, "CC.{}", names::CC_TESTS.get(n as usize).unwrap_or(&"?"));
        }
        Operand::Word(w) => out.push_str(w.name()),
    }
}

fn reg(out: &mut String, r: Reg) {
    if r == Reg::Z {
        out.push_str("RZ");
    } else {
        let _ = write!(out, "R{}", r.0);
    }
}

fn pred(out: &mut String, p: Pred) {
    if p.not {
        out.push('!');
    }
    if p.num == 7 {
        out.push_str("PT");
    } else {
        let _ = write!(out, "P{}", p.num);
    }
}

fn source(out: &mut String, mods: SrcMods, inner: impl FnOnce(&mut String)) {
    if mods.neg {
        out.push('-');
    }
    if mods.inv {
        out.push('~');
    }
    if mods.abs {
        out.push('|');
    }
    inner(out);
    if mods.abs {
        out.push('|');
    }
}

fn part(out: &mut String, sel: Sel) {
    if let Some(name) = sel.name() {
        out.push('.');
        out.push_str(name);
    }
}

/// `[R0+0x4]`, `[R0+-0x4]`, `[R0]`, `[0x4]`, `[RZ]`.
fn address(out: &mut String, base: Reg, offset: i32) {
    out.push('[');
    if base != Reg::Z || offset == 0 {
        reg(out, base);
        if offset != 0 {
            out.push('+');
        }
    }
    if offset != 0 && base == Reg::Z {
        let _ = write!(out, "{:#x}", offset as u32);
    } else if offset != 0 {
        signed(out, offset);
    }
    out.push(']');
}

/// Two letters for each two bits, the highest first.
fn swizzle(out: &mut String, bits: u32) {
    for pair in [6, 4, 2, 0] {
        out.push_str(SWIZZLE[(bits >> pair & 3) as usize]);
    }
}

/// What FSWZ does with the two sources in one lane: adds, negates one, or takes zero.
pub(super) const SWIZZLE: [&str; 4] = ["PP", "NP", "PN", "ZP"];

fn signed(out: &mut String, v: i32) {
    let sign = if v < 0 { "-" } else { "" };
    let _ = write!(out, "{sign}{:#x}", v.unsigned_abs());
}

fn immediate(out: &mut String, bits: u32, kind: ImmKind, slot: Option<Kind>) {
    match kind {
        ImmKind::F32 => float::write_f32(out, bits),
        ImmKind::F64 => float::write_f64(out, u64::from(bits) << 32),
        ImmKind::Int => match slot {
            Some(Kind::Imm { enc: ImmEnc::Signed | ImmEnc::Negated, .. }) => signed(out, bits as i32),
            Some(Kind::Imm { enc: ImmEnc::Decimal, .. }) => {
                let _ = write!(out, "{bits}");
            }
            _ => {
                let _ = write!(out, "{bits:#x}");
            }
        },
    }
}
