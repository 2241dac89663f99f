//! 16- and 24-bit multiplication: the multiply-add that reads parts of its operands (IMADSP).
//!
//! ```text
//! and u32 %r2 %r0 0xffff
//! shr u32 %r3 %r1 0x10
//! mad u32 %r4 %r3 %r2 %r5     ->  madsp u32 %r4 %r1.u16h1 %r0.u16h0 %r5
//! ```
//!
//! It runs at a multiply-add's rate and computes modulo 2^32 as that does, so every extraction that
//! dies is gained. Fermi does not have it. The first factor may be a whole register; the addend may
//! be a part, too. The second factor is always read as a part, and sources contradict each other
//! about which value of its bit is 16 bits and which 24 (nvdisasm and envydis: set is 16; NAK,
//! which ran it on a card: clear is 16). So it stands here only if bits 31:16 are known to be zero:
//! then both readings give the same, and what makes it so stays an instruction of its own. Both
//! factors being constants, or a factor that the multiply-add would read from a constant buffer, is
//! left alone: here only registers gain.

use super::Ctx;
use super::rewrite::{UseCounts, count_uses, is_scalar, replace_counted, rewrite_each, scalar_def};
use crate::chip::Chip;
use crate::ir::madsp::{self, Bits, Part};
use crate::ir::*;

/// Constants that the second factor may be: those that are the same read as 16 and as 24 bits.
const CONSTANTS: u32 = 1 << 16;

pub(super) fn run(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    if ctx.chip == Chip::Gf100 || !f.insts_in_order().any(|(_, i)| is_product(&f.insts[i])) {
        return false;
    }
    let mut uses = count_uses(f);
    let mut formed = 0;
    rewrite_each(f, |f, _, i| {
        let Some(new) = form(f, &f.insts[i], &uses) else { return false };
        replace_counted(f, &mut uses, i, new);
        formed += 1;
        true
    });
    ctx.count("madsp: formed", formed);
    formed > 0
}

fn is_product(inst: &Inst) -> bool {
    matches!(inst.op, Op::Mul | Op::Mad) && matches!(inst.ty, Type::U32 | Type::S32)
}

/// A part of a value instead of what extracts it.
#[derive(Clone, Copy)]
struct Extracted {
    from: Src,
    part: Part,
    /// Nobody else reads the extraction.
    dies: bool,
}

fn form(f: &Function, inst: &Inst, uses: &UseCounts) -> Option<Inst> {
    let plain = |s: &Src| s.mods == SrcMods::default();
    if !is_product(inst) || inst.sat || !is_scalar(f, inst) || !inst.srcs.iter().all(plain) {
        return None;
    }
    let parts = [0, 1].map(|n| extracted(f, &inst.srcs[n], uses));
    let (a, b) = [(0, 1), (1, 0)]
        .into_iter()
        .filter_map(|(a, b)| Some((first(&inst.srcs[a], parts[a])?, second(&inst.srcs[b], parts[b])?)))
        .max_by_key(|(a, b)| u8::from(a.dies) + u8::from(b.dies))?;
    let addend = match inst.op {
        Op::Mad => *inst.srcs.get(2)?,
        _ => Src::imm(0),
    };
    let whole = Extracted { from: addend, part: Part::WHOLE, dies: false };
    // An addend's part is read with a sign where a factor is.
    let c = extracted(f, &addend, uses)
        .filter(|c| c.dies && matches!(c.part, Part::U24 | Part::U16H0))
        .filter(|_| !a.part.signed && !b.part.signed)
        .unwrap_or(whole);
    if !(a.dies || b.dies || c.dies) || !matches!(c.from.kind, SrcKind::Val(_) | SrcKind::Imm(0)) {
        return None;
    }
    let mut new = Inst::new(Op::Madsp, Type::U32);
    new.aux = Aux::Madsp(madsp::formats(a.part, b.part, c.part)?);
    new.srcs.extend([a.from, b.from, c.from]);
    (new.dsts, new.loc) = (inst.dsts, inst.loc);
    Some(new)
}

/// What may stand as the first factor: any part of a register.
fn first(s: &Src, part: Option<Extracted>) -> Option<Extracted> {
    part.or_else(|| s.as_val().map(|_| Extracted { from: *s, part: Part::WHOLE, dies: false }))
}

/// What may stand as the second: a register whose high half is zero, or a small constant.
fn second(s: &Src, part: Option<Extracted>) -> Option<Extracted> {
    let small = s.as_imm().is_some_and(|x| x < CONSTANTS)
        || part.is_some_and(|p| !p.part.signed && matches!(p.part.bits, Bits::Low16 | Bits::High16));
    small.then_some(Extracted { from: *s, part: Part::U24, dies: false })
}

/// The part of a register that a value is.
fn extracted(f: &Function, s: &Src, uses: &UseCounts) -> Option<Extracted> {
    let value = s.as_val()?;
    let inst = scalar_def(f, s).filter(|d| !d.sat && d.srcs.first().is_some_and(Src::is_plain_val))?;
    let constant = || inst.srcs.get(1).and_then(Src::as_imm);
    let part = match inst.op {
        Op::And => match constant()? {
            0xffff => Part::U16H0,
            0x00ff_ffff => Part::U24,
            _ => return None,
        },
        Op::Shr if constant() == Some(16) => Part::field(16, 16, inst.ty == Type::S32)?,
        Op::Ext => {
            let field = constant()?;
            Part::field(field & 0xff, field >> 8 & 0xff, inst.ty == Type::S32)?
        }
        Op::Cvt if inst.ty.words() == 1 && matches!(inst.sty, Type::U16 | Type::S16) => {
            if !matches!(inst.ty, Type::U32 | Type::S32) {
                return None;
            }
            let half = match inst.aux {
                Aux::None => 0,
                Aux::Byte(n) => u32::from(n),
                _ => return None,
            };
            Part::field(16 * half, 16, inst.sty == Type::S16)?
        }
        _ => return None,
    };
    Some(Extracted { from: inst.srcs[0], part, dies: uses[value] == 1 })
}
