//! Conversions, and the bits of words.

use crate::ir::build::Builder;
use crate::ir::{Aux, Inst, Op, Rnd, Src, Type, ValueId};

/// A conversion with rounding.
pub(crate) fn convert(ty: Type, sty: Type, rnd: Rnd, s: impl Into<Src>) -> Inst {
    let mut inst = Inst::new(Op::Cvt, ty).src(s);
    (inst.sty, inst.rnd) = (sty, rnd);
    inst
}

/// The integral float near a float of the same type.
pub(crate) fn integral(ty: Type, rnd: Rnd, s: impl Into<Src>) -> Inst {
    let mut inst = Inst::new(Op::Cvt, ty).src(s).with_aux(Aux::Integral);
    inst.rnd = rnd;
    inst
}

/// A float clamped to [0, 1], NaN to 0.
pub(crate) fn saturate(s: impl Into<Src>) -> Inst {
    let mut inst = Inst::new(Op::Cvt, Type::F32).src(s);
    inst.sat = true;
    inst
}

/// One half of a word as a float.
pub(crate) fn half_to_float(word: impl Into<Src>, half: u8) -> Inst {
    let inst = Inst { sty: Type::F16, ..Inst::new(Op::Cvt, Type::F32).src(word) };
    if half == 0 { inst } else { inst.with_aux(Aux::Byte(half)) }
}

/// A float as a normalised integer, of which `most` is the largest value.
pub(crate) fn quantise(b: &mut Builder<'_>, x: Src, signed: bool, most: f32) -> ValueId {
    let (x, ty) = if signed {
        let x = b.op2(Op::Max, Type::F32, x, Src::f32(-1.0));
        (b.op2(Op::Min, Type::F32, x, Src::f32(1.0)), Type::S32)
    } else {
        (b.value(saturate(x)), Type::U32)
    };
    let x = b.mul(Type::F32, x, Src::f32(most));
    b.value(convert(ty, Type::F32, Rnd::Near, x))
}

/// The float of a normalised integer.
pub(crate) fn dequantise(b: &mut Builder<'_>, n: Src, signed: bool, most: f32) -> ValueId {
    let x = b.value(convert(Type::F32, if signed { Type::S32 } else { Type::U32 }, Rnd::Near, n));
    let x = b.mul(Type::F32, x, Src::f32(1.0 / most));
    if signed { b.op2(Op::Max, Type::F32, x, Src::f32(-1.0)) } else { x }
}

/// Position of the lowest one, -1 if there is none.
pub(crate) fn lowest_one(b: &mut Builder<'_>, word: Src) -> ValueId {
    let reversed = b.op1(Op::Brev, Type::U32, word);
    b.value(Inst::new(Op::Flo, Type::U32).src(reversed).with_aux(Aux::Shift))
}
