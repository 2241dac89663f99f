//! Rules for floats, and for what is converted to them.

use super::{copy, is_int, with};
use crate::ir::*;
use crate::opt::fold::compare;
use crate::opt::rewrite::*;

/// A minimum or maximum of a value with itself stays: of a NaN it makes the canonical one.
pub(super) fn simplify(f: &Function, inst: &Inst) -> Option<Inst> {
    let s = &inst.srcs;
    let imm = |n: usize| imm_src(inst, n).map(f32::from_bits);
    let quiet = !inst.sat && !inst.ftz && inst.rnd == Rnd::Near && !inst.exact;
    match inst.op {
        // -0 is neutral for every x; +0 would turn -0 into +0.
        Op::Add if quiet && imm(1).is_some_and(|x| x == 0.0 && x.is_sign_negative()) => copy(inst, s[0]),
        Op::Sub if quiet && imm(1).is_some_and(|x| x == 0.0 && x.is_sign_positive()) => copy(inst, s[0]),
        Op::Mul if imm(1) == Some(1.0) && quiet => copy(inst, s[0]),
        Op::Mul if imm(1) == Some(-1.0) && !inst.ftz && s[0].is_plain_val() && !inst.sat => {
            Some(with(inst, Op::Neg, &[s[0]]))
        }
        Op::Mad if imm(1) == Some(1.0) => Some(like(inst, Op::Add, &[s[0], s[2]])),
        Op::Mad if imm(1) == Some(-1.0) => Some(like(inst, Op::Add, &[s[0].neg(), s[2]])),
        // Rounded down, +0 - 0 is -0.
        Op::Mad if inst.rnd != Rnd::Down && imm(2).is_some_and(|x| x == 0.0 && x.is_sign_negative()) => {
            Some(like(inst, Op::Mul, &[s[0], s[1]]))
        }
        Op::Sel if s[0] == s[1] => copy(inst, s[0]),
        Op::Rcp => root(f, inst),
        _ => None,
    }
}

/// A conversion of a byte or a half of a word to a float picks that part itself.
pub(crate) fn part_conversion(f: &Function, uses: &LazyUses, inst: &Inst) -> Option<Inst> {
    // A half float is read from 16 bits, whatever the others are.
    let half = inst.sty == Type::F16;
    if inst.op != Op::Cvt
        || inst.ty != Type::F32
        || !half && !is_int(inst.sty)
        || !matches!(inst.aux, Aux::None)
    {
        return None;
    }
    let s = inst.srcs[0];
    let d = scalar_def(f, &s).filter(|d| is_int(d.ty) && s.is_plain_val() && d.srcs.len() == 2)?;
    let x = d.srcs[1].as_imm()?;
    let (first, bits) = match d.op {
        Op::Ext => (x & 0xff, x >> 8),
        Op::And if x == 0xff || x == 0xffff => (0, x.count_ones()),
        Op::Shr if !matches!(d.aux, Aux::Wrap) && matches!(x, 16 | 24) => (x, 32 - x),
        _ => return None,
    };
    let signed = d.ty == Type::S32 && d.op != Op::And;
    let whole = matches!(bits, 8 | 16) && first.is_multiple_of(bits) && first + bits <= 32;
    if half {
        let part = whole && bits == 16 && d.srcs[0].is_plain_val();
        return part.then(|| {
            let mut new = inst.clone();
            new.srcs[0] = d.srcs[0];
            new.aux = Aux::Byte((first / 16) as u8);
            new
        });
    }
    if !whole
        || !d.srcs[0].is_plain_val()
        || uses.count(f, s.as_val()?) != 1
        || signed && inst.sty == Type::U32
    {
        return None;
    }
    let mut new = inst.clone();
    new.sty = match (bits, signed) {
        (8, false) => Type::U8,
        (8, true) => Type::S8,
        (_, false) => Type::U16,
        (_, true) => Type::S16,
    };
    new.srcs[0] = d.srcs[0];
    new.aux = Aux::Byte((first / bits) as u8);
    Some(new)
}

/// The same kind of arithmetic with another operation.
fn like(inst: &Inst, op: Op, srcs: &[Src]) -> Inst {
    let mut new = with(inst, op, srcs);
    (new.rnd, new.sat, new.ftz, new.exact) = (inst.rnd, inst.sat, inst.ftz, inst.exact);
    new
}

/// A float that is rounded to an integral one and then becomes an integer, however: the conversion
/// rounds so itself.
pub(super) fn rounded(f: &Function, inst: &Inst) -> Option<Inst> {
    if inst.op != Op::Cvt || inst.sty != Type::F32 || !is_int(inst.ty) || inst.aux != Aux::None {
        return None;
    }
    let s = inst.srcs[0];
    let d = scalar_def_by(f, &s, &[Op::Cvt]).filter(|d| d.ty == Type::F32 && d.sty == Type::F32)?;
    if d.aux != Aux::Integral || d.sat || !s.is_plain_val() {
        return None;
    }
    let mut new = inst.clone();
    new.srcs[0] = d.srcs[0];
    (new.rnd, new.ftz) = (d.rnd, d.ftz);
    Some(new)
}

/// The reciprocal of the reciprocal of a reciprocal root (`1 / sqrt(x)`, as machines without a root
/// compute it) is that root: 0 and infinity return to what they were, and no other of its values is
/// so large that its reciprocal would be flushed.
fn root(f: &Function, inst: &Inst) -> Option<Inst> {
    let inner = scalar_def_by(f, &inst.srcs[0], &[Op::Rcp])?;
    let root = scalar_def_by(f, &inner.srcs[0], &[Op::Rsq])?;
    let bare = |d: &Inst| d.ty == Type::F32 && !d.sat && d.srcs[0].is_plain_val();
    (bare(inst) && bare(inner) && root.ty == Type::F32 && !root.sat).then(|| as_mov(inst, inner.srcs[0]))
}

/// For a comparison with a constant of a number that is 1 or 0 by another comparison, or of its
/// negation: the value of that number, and what the comparison says of 1 and of 0.
///
/// ```text
/// set.lt f32 f32 %r1 %r0 0x3f000000
/// neg f32 %r2 %r1
/// set.lt pred f32 %p3 %r2 0x0        ->  set.lt pred f32 %p3 %r0 0x3f000000
/// ```
pub(crate) fn of_boolean(f: &Function, inst: &Inst) -> Option<(ValueId, bool, bool)> {
    let bound = imm_src(inst, 1).filter(|_| inst.sty == Type::F32)?;
    let s = inst.srcs[0];
    let negated = scalar_def_by(f, &s, &[Op::Neg]).filter(|d| d.ty == Type::F32);
    let (number, sign) = negated.map_or((s, false), |d| (d.srcs[0], true));
    let v = number.as_val()?;
    scalar_def_by(f, &number, &[Op::Set]).filter(|d| d.ty == Type::F32)?;
    let holds = |x: f32| {
        let x = Type::F32.modified(x.to_bits(), number.mods)? ^ if sign { 0x8000_0000 } else { 0 };
        let x = if sign { Type::F32.modified(x, s.mods)? } else { x };
        compare(inst.cond, Type::F32, x, bound, inst.ftz)
    };
    Some((v, holds(1.0)?, holds(0.0)?))
}
