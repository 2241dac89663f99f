//! The fields that many GK110 instructions share.
//!
//! An arithmetic operation has a ten-bit opcode. Bits 63:62 and 1:0 say where its second and third
//! source come from; see [`Form`].

use crate::names;
use crate::row::{Bit, Bits, ImmEnc, Kind, Names, Row, Slot, b, b2};
use crate::{Kw, Op};

/// A row whose bits 63:52 and 1:0 are the opcode, as far as `mask` (12 bits) covers the upper ones;
/// guarded, with `.S` at bit 22.
pub(super) fn row(op: Op, mask: u64, high: u64, low: u64) -> Row {
    let mut r = guarded(op, mask, high, low);
    r.sync = Bit(22);
    r
}

/// The same without guard and `.S`.
pub(super) fn bare(op: Op, mask: u64, high: u64, low: u64) -> Row {
    Row::new(op, (mask << 52) | 3, (high << 52) | low)
}

/// The same with `.S` only.
pub(crate) fn synced(op: Op, mask: u64, high: u64, low: u64) -> Row {
    let mut r = bare(op, mask, high, low);
    r.sync = Bit(22);
    r
}

/// The same with a guard only.
pub(super) fn guarded(op: Op, mask: u64, high: u64, low: u64) -> Row {
    let mut r = bare(op, mask, high, low);
    r.guard = Some(Kind::Pred { at: b(18, 3), not: Bit(21) });
    r
}

/// Where the sources of an arithmetic operation come from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Second source an immediate of 19 bits and a sign.
    Imm,
    /// Second source a constant.
    Const,
    /// Third source a constant.
    ConstC,
    /// All sources registers.
    Reg,
}

impl Form {
    /// The forms of an operation with two sources, in the order in which the encoder tries them.
    pub(super) const TWO: [Form; 3] = [Form::Reg, Form::Const, Form::Imm];
    /// The forms of an operation with three sources.
    pub(crate) const THREE: [Form; 4] = [Form::Reg, Form::Const, Form::ConstC, Form::Imm];

    /// A row of this form; `mask` says which of the ten opcode bits are fixed.
    pub(super) fn row(self, op: Op, mask: u64, code: u64) -> Row {
        match self {
            // The immediate's sign takes bit 59, the opcode moves up around it.
            Form::Imm => {
                let spread = |v: u64| ((v >> 7) << 8) | (v & 0x7f);
                row(op, 0x800 | spread(mask), 0x800 | spread(code), 1)
            }
            Form::Const => row(op, 0xc00 | mask, 0x400 | code, 2),
            Form::ConstC => row(op, 0xc00 | mask, 0x800 | code, 2),
            Form::Reg => row(op, 0xc00 | mask, 0xc00 | code, 2),
        }
    }

    /// The second source; `imm` is what it is as an immediate.
    pub(super) fn second(self, imm: Slot) -> Slot {
        match self {
            Form::Imm => imm,
            Form::Const => CB,
            Form::ConstC => C,
            Form::Reg => B,
        }
    }

    /// The third source.
    pub(super) fn third(self) -> Slot {
        if self == Form::ConstC { CB } else { C }
    }
}

/// The destination register.
pub(super) const D: Slot = reg(2);
/// The first source register.
pub(super) const A: Slot = reg(10);
/// The second source as a register.
pub(super) const B: Slot = reg(23);
/// The third source as a register.
pub(super) const C: Slot = reg(42);
/// A constant-buffer operand.
pub(super) const CB: Slot =
    Slot::new(Kind::Const { bank: b(37, 5), offset: b(23, 14), shift: 2, signed_text: true });

const IMM20: Bits = b2(23, 19, 59, 1);
/// A 20-bit integer.
pub(crate) const I20: Slot = Slot::new(Kind::Imm { at: IMM20, enc: ImmEnc::Signed });
/// The high 20 bits of an f32.
pub(crate) const F20: Slot = Slot::new(Kind::Imm { at: IMM20, enc: ImmEnc::F32 });
/// An f16 in the low 16 bits of the field.
pub(crate) const H16: Slot = Slot::new(Kind::Imm { at: b(23, 16), enc: ImmEnc::F16 });
/// The high 20 bits of an f64.
pub(crate) const D20: Slot = Slot::new(Kind::Imm { at: IMM20, enc: ImmEnc::F64 });
/// A 32-bit integer.
pub(super) const I32: Slot = Slot::new(Kind::Imm { at: b(23, 32), enc: ImmEnc::Signed });
/// An f32.
pub(super) const F32: Slot = Slot::new(Kind::Imm { at: b(23, 32), enc: ImmEnc::F32 });

/// The two predicates that a comparison sets.
pub(crate) const PD: Slot = pred(5);
pub(crate) const PD2: Slot = pred(2);
/// The predicate source of comparisons, selections and minima.
pub(super) const PC: Slot = pred_not(42, 45);

pub(super) const fn reg(lo: u8) -> Slot {
    Slot::new(Kind::Reg(b(lo, 8)))
}

pub(super) const fn pred(lo: u8) -> Slot {
    Slot::new(Kind::Pred { at: b(lo, 3), not: Bit::NO })
}

/// A predicate that can be negated.
pub(crate) const fn pred_not(lo: u8, not: u8) -> Slot {
    Slot::new(Kind::Pred { at: b(lo, 3), not: Bit(not) })
}

/// An unsigned immediate in hexadecimal.
pub(super) const fn imm(at: Bits) -> Slot {
    Slot::new(Kind::Imm { at, enc: ImmEnc::Unsigned })
}

/// A signed immediate in hexadecimal.
pub(crate) const fn simm(at: Bits) -> Slot {
    Slot::new(Kind::Imm { at, enc: ImmEnc::Signed })
}

/// `[R10+offset]`.
pub(super) const fn mem(offset: Bits) -> Slot {
    Slot::new(Kind::Mem { base: b(10, 8), offset, shift: 0, always_signed: false })
}

pub(super) const ROUND: Names = names![_, Rm, Rp, Rz];
pub(super) const FTZ: Names = names![_, Ftz];
pub(crate) const FTZ_FMZ: Names = names![_, Ftz, Fmz];
pub(super) const SAT: Names = names![_, Sat];
pub(super) const HI: Names = names![_, Hi];
pub(super) const X: Names = names![_, X];
pub(super) const BF: Names = names![_, Bf];
/// Types of two factors; signed ones are the default.
pub(crate) const SIGNS: Names = names![[U32 U32], [S32 U32], [U32 S32], _];
pub(crate) const SIGN_DEFAULT: Names = names![U32, _];
/// Integer comparisons.
pub(crate) const COMPARE: Names = names![F, Lt, Eq, Le, Gt, Ne, Ge, T];
/// Float comparisons.
pub(crate) const FCOMPARE: Names =
    names![F, Lt, Eq, Le, Gt, Ne, Ge, Num, Nan, Ltu, Equ, Leu, Gtu, Neu, Geu, T];
/// How a comparison is combined with its predicate source.
pub(crate) const COMBINE: Names = names![And, Or, Xor];
/// Sizes of memory accesses.
pub(super) const SIZE: Names = names![U8, S8, U16, S16, _, B64, B128];
/// The same, where 32 bits are named.
pub(crate) const SIZE_NAMED: Names = names![U8, S8, U16, S16, B32, B64, B128];
pub(crate) const LOAD_CACHE: Names = names![_, Cg, Cs, Cv];
pub(crate) const STORE_CACHE: Names = names![_, Cg, Cs, Wt];

pub(crate) const TEXTURE_KINDS: &[Option<Kw>] = &[
    Some(Kw::T1d),
    Some(Kw::Array1d),
    Some(Kw::T2d),
    Some(Kw::Array2d),
    Some(Kw::T3d),
    Some(Kw::Array3d),
    Some(Kw::Cube),
    Some(Kw::ArrayCube),
];

/// A source that is the same register as the operand whose field this is.
pub(super) const fn tied(at: Bits) -> Slot {
    Slot::new(Kind::Tied { at, plus: 0 })
}
