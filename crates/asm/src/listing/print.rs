//! Machine code to listings.

use crate::cubin::Kernel;
use nvir_base::Chip;
use nvir_isa::fetch::{self, Fetched};
use nvir_isa::{self as isa, MInst, Operand, executable, sched_word};
use std::collections::BTreeMap;
use std::fmt::Write;

/// What a listing shows besides the text that assembles to the same code.
#[derive(Clone, Copy, Default, Debug)]
pub struct Options {
    /// The address and the word of every instruction, as comments.
    pub words: bool,
}

/// The listing of some kernels.
pub fn print(chip: Chip, kernels: &[Kernel], options: Options) -> String {
    let mut out = format!(".chip {chip}\n");
    for k in kernels {
        out.push('\n');
        directives(&mut out, k);
        code(&mut out, chip, &k.code, options);
    }
    out
}

fn directives(out: &mut String, k: &Kernel) {
    let _ = writeln!(out, ".kernel {}", k.name);
    for (name, value) in [
        ("registers", k.gprs),
        ("barriers", k.barriers),
        ("shared", k.shared),
        ("stack", k.stack),
        ("call_stack", k.call_stack),
        ("param_bytes", k.param_bytes),
    ] {
        if value != 0 {
            let _ = writeln!(out, ".{name} {value}");
        }
    }
    for p in &k.params {
        let _ = writeln!(out, ".param {} {:#x} {}", p.ordinal, p.offset, p.size);
    }
    for (bank, data) in &k.banks {
        let _ = writeln!(out, ".constant {bank} {}", data.len());
        for (n, line) in data.chunks(32).enumerate() {
            if line.iter().any(|&b| b != 0) {
                let _ = write!(out, ".data {bank} {:#x} ", n * 32);
                line.iter().for_each(|b| {
                    let _ = write!(out, "{b:02x}");
                });
                out.push('\n');
            }
        }
    }
    for r in &k.relocs {
        let place = r.bank.map_or("code".to_string(), |b| format!("bank {b}"));
        let _ = writeln!(
            out,
            "// relocation {:?} in {place} at {:#x}: {}+{:#x}",
            r.kind, r.offset, r.section, r.value
        );
    }
}

/// What an instruction's place holds.
enum Line {
    Sched([sched_word::Issue; sched_word::SLOTS]),
    Inst(Box<MInst>, &'static isa::row::Row),
    Word,
}

fn code(out: &mut String, chip: Chip, words: &[u64], options: Options) {
    let placed = |(pc, fetched)| (pc, fetched, line(chip, fetched, pc));
    let lines: Vec<(u32, Fetched, Line)> = fetch::sweep(chip, words).map(placed).collect();
    let labels = labels(&lines);
    let label = |t: u32| labels.get(&t).cloned();
    if chip.has_sched_words() && !lines.iter().any(|(_, _, l)| matches!(l, Line::Sched(_))) {
        out.push_str(".raw\n");
    }
    if lines
        .iter()
        .any(|(_, _, l)| matches!(l, Line::Inst(m, row) if executable::check(chip, m, row).is_err()))
    {
        out.push_str(".unchecked\n");
    }
    for &(pc, Fetched { word, bytes }, ref l) in &lines {
        if let Some(name) = labels.get(&pc) {
            let _ = writeln!(out, "{name}:");
        }
        if options.words {
            let _ = write!(out, "/*{pc:04x}*/ ");
        }
        let start = out.len();
        match l {
            Line::Sched(slots) => {
                out.push_str(".sched");
                for s in slots {
                    let _ = write!(out, " {:#04x}", s.into_bits());
                }
            }
            Line::Inst(m, row) => instruction(out, chip, m, row, &label),
            Line::Word => {
                let _ = if bytes == 4 {
                    write!(out, ".half {word:#010x}")
                } else {
                    write!(out, ".word {word:#018x}")
                };
            }
        }
        if options.words {
            let width = out.len() - start;
            let (pad, digits) = (60usize.saturating_sub(width), 2 + 2 * bytes as usize);
            let _ = write!(out, "{:pad$} /* {word:#0digits$x} */", "");
        }
        out.push('\n');
    }
}

/// Names of the addresses that branches lead to. Where no line begins, as one past the end, none
/// could carry a label.
fn labels(lines: &[(u32, Fetched, Line)]) -> BTreeMap<u32, String> {
    let begins = |t: u32| lines.binary_search_by_key(&t, |l| l.0).is_ok();
    let targets = lines.iter().filter_map(|(_, _, l)| match l {
        Line::Inst(m, _) => m.operands.iter().find_map(|o| match *o {
            Operand::Target(t) if begins(t) => Some(t),
            _ => None,
        }),
        _ => None,
    });
    targets.map(|t| (t, format!(".L_{t:04x}"))).collect()
}

fn line(chip: Chip, fetched: Fetched, pc: u32) -> Line {
    let word = fetched.word;
    if pc.is_multiple_of(sched_word::GROUP_BYTES)
        && let Some(slots) = sched_word::decode(chip, word)
    {
        return Line::Sched(slots);
    }
    match isa::decode_row(chip, word, pc) {
        Some((m, row)) if m.bytes() == fetched.bytes && survives(chip, &m, row, word, pc) => {
            Line::Inst(Box::new(m), row)
        }
        _ => Line::Word,
    }
}

/// Whether the text assembles to the same word: the payload of a NaN, for one, is not written.
fn survives(chip: Chip, m: &MInst, row: &'static isa::row::Row, word: u64, pc: u32) -> bool {
    let mut text = String::new();
    instruction(&mut text, chip, m, row, &|_| None);
    let back = isa::text::parse(chip, &text, pc, &|_| None).ok();
    back.and_then(|back| isa::encode(chip, &back, pc).ok()) == Some(word)
}

fn instruction(
    out: &mut String,
    chip: Chip,
    m: &MInst,
    row: &isa::row::Row,
    label: &dyn Fn(u32) -> Option<String>,
) {
    if m.guard.is_true() {
        out.push_str("        ");
    } else {
        out.push_str(if m.guard.not { "   " } else { "    " });
    }
    isa::text::print_labelled(out, chip, m, Some(row), label);
    let form = m.form & !MInst::SHORT;
    if form != 0 {
        let _ = write!(out, " {{form {form:#x}}}");
    }
    out.push(';');
}

/// The address in front of a line of a listing with [`Options::words`]: `/*0008*/`.
pub fn address(line: &str) -> Option<u32> {
    let (digits, _) = line.strip_prefix("/*")?.split_once("*/")?;
    u32::from_str_radix(digits, 16).ok()
}
