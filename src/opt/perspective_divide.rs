//! Perspective divide elimination: where perspective inputs are divided by another of them, the
//! division by w cancels.
//!
//! ```text
//! interp.persp f32 %q a[0x30c] %w        interp.over_w f32 %q a[0x30c]
//! rcp f32 %r %q                          rcp f32 %r %q
//! interp.persp f32 %x a[0x300] %w
//! mul f32 %y %x %r                  ->   interp.persp f32 %y a[0x300] %r
//! ```
//!
//! A perspective input is what the machine interpolates, multiplied by w: in the quotient w stands
//! above and below. So texture coordinates that are projected take no multiplication. Safe where
//! both are taken at the same place of the pixel; the result has one rounding less.

use super::Ctx;
use super::rewrite::{LazyUses, rewrite_each, scalar_def_by};
use crate::ir::*;

pub(crate) fn run(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    let mut uses = LazyUses::default();
    let mut projected = 0;
    rewrite_each(f, |f, out, i| {
        let Some((input, divisor)) = quotient(f, &uses, &f.insts[i]) else { return false };
        // Several of the same are one after value numbering.
        let over_w = with_mode(&divisor, InterpMode::OverW);
        let below = uses.emit(f, out, over_w);
        let r = uses.emit(f, out, Inst::new(Op::Rcp, Type::F32).src(below));
        let inst = &f.insts[i];
        let mut new = with_mode(&input, InterpMode::Perspective).dst(inst.dsts[0]).src(r);
        (new.sat, new.loc) = (inst.sat, inst.loc);
        uses.replace(f, i, new);
        projected += 1;
        true
    });
    ctx.count("perspective_divide: projected", projected);
    projected > 0
}

/// An input of the same kind as another, still without w.
fn with_mode(input: &Inst, mode: InterpMode) -> Inst {
    let mut new = input.clone();
    if let Aux::Interp(how) = &mut new.aux {
        how.mode = mode;
    }
    new.srcs.clear();
    new.dsts.clear();
    new
}

/// For a product of an input and the reciprocal of an input, neither with another reader: the two
/// inputs.
fn quotient(f: &Function, uses: &LazyUses, inst: &Inst) -> Option<(Inst, Inst)> {
    if inst.op != Op::Mul || inst.ty != Type::F32 || inst.guard.is_some() || inst.exact || inst.ftz {
        return None;
    }
    let of = |s: &Src, op: Op| scalar_def_by(f, s, &[op]).filter(|d| s.is_plain_val() && !d.sat);
    let input = |s: &Src| of(s, Op::Interp).filter(|d| d.ty == Type::F32);
    let alone = |s: &Src| input(s).filter(|_| s.as_val().is_some_and(|v| uses.count(f, v) == 1));
    let (x, q) = [(0, 1), (1, 0)].into_iter().find_map(|(a, b)| {
        let r = of(&inst.srcs[b], Op::Rcp)?;
        Some((alone(&inst.srcs[a])?, alone(&r.srcs[0])?))
    })?;
    let (Aux::Interp(how), Aux::Interp(below)) = (&x.aux, &q.aux) else { return None };
    // An offset would have to be the same value.
    let alike = how.mode == InterpMode::Perspective && how == below && how.at != InterpAt::Offset;
    (alike && x.srcs == q.srcs).then(|| (x.clone(), q.clone()))
}
