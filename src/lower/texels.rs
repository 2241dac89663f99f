//! Texels of a format that only the image knows: what Kepler's format word says, at run time.
//!
//! Every format is taken apart alike: fields by their places and widths, then as integer, fraction
//! or float. Straight code of some hundred instructions is a routine of the library, and costs less
//! than a tree of branches that the lanes of a warp may take apart.

use crate::format::{Format, Kind, Layout};
use crate::ir::build::Builder;
use crate::ir::*;

/// The numbers of formats with a property, a bit each.
fn set(with: impl Fn(Layout) -> bool) -> u64 {
    Format::all().filter(|f| with(f.layout())).fold(0, |set, f| set | 1 << f.kepler_code())
}

/// The number of the only format with a property.
fn only(with: impl Fn(Layout) -> bool) -> u32 {
    set(with).trailing_zeros()
}

/// A bit field's place and width, as [`Op::Ext`] wants them.
const fn field(at: u32, width: u32) -> u32 {
    at | width << 8
}

/// The channels of a texel as its shader sees them. `low`: where it begins in the first word, in
/// bytes 1:0.
pub fn unpack(b: &mut Builder<'_>, w: [ValueId; 4], word: ValueId, low: ValueId) -> [ValueId; 4] {
    let in_word = b.op2(Op::And, Type::U32, low, 3);
    let in_word = b.op2(Op::Shl, Type::U32, in_word, 3);
    let first = b.op2(Op::Shr, Type::U32, w[0], in_word);

    let code = b.op2(Op::And, Type::U32, word, 0xff);
    let is = |b: &mut Builder<'_>, n: u32| b.setp(Cond::Eq, Type::U32, code, n);
    let upper = b.setp(Cond::Ge, Type::U32, code, 32);
    let bit = b.op2(Op::And, Type::U32, code, 31);
    let among = |b: &mut Builder<'_>, set: u64| {
        let set = b.sel(upper, (set >> 32) as u32, set as u32);
        let member = b.op2(Op::Shr, Type::U32, set, bit);
        let member = b.op2(Op::And, Type::U32, member, 1);
        b.setp(Cond::Ne, Type::U32, member, 0)
    };
    let float = among(b, set(|f| f.kind == Kind::Float));
    let signed = among(b, set(|f| matches!(f.kind, Kind::Sint | Kind::Snorm)));
    let fraction = among(b, set(|f| matches!(f.kind, Kind::Unorm | Kind::Snorm)));
    let size = b.op2(Op::Ext, Type::U32, word, field(8, 2));
    let (whole, half) = (b.setp(Cond::Eq, Type::U32, size, 0), b.setp(Cond::Eq, Type::U32, size, 1));
    let count = b.op2(Op::Ext, Type::U32, word, field(10, 2));
    let (ten, ten_int) = (
        is(b, only(|f| f.bits[0] == 10 && f.kind == Kind::Unorm)),
        is(b, only(|f| f.bits[0] == 10 && f.kind == Kind::Uint)),
    );
    let ten = b.op2(Op::Or, Type::Pred, ten, ten_int);
    let eleven = is(b, only(|f| f.bits[0] == 11));

    // The largest value of a channel is one.
    let scale = |b: &mut Builder<'_>, bits: u32| b.mov(Src::f32(1.0 / ((1u32 << bits) - 1) as f32));
    let (s16, s8, u16, u10, u8) = (scale(b, 15), scale(b, 7), scale(b, 16), scale(b, 10), scale(b, 8));
    let s = b.sel(half, s16, s8);
    let u = b.sel(ten, u10, u8);
    let u = b.sel(half, u16, u);
    let scale_rgb = b.sel(signed, s, u);
    let u2 = scale(b, 2);
    let scale_alpha = b.sel(ten, u2, scale_rgb);

    let none = b.setp(Cond::Eq, Type::U32, code, 0);
    let one = b.sel(none, 0, 1);
    let real = b.op2(Op::Or, Type::Pred, float, fraction);
    let one = b.sel(real, 1f32.to_bits(), one);
    let second = b.sel(half, w[1], first);
    // Bytes, halves, 10:10:10:2, 11:11:10.
    const PLACES: [[u32; 4]; 4] = [
        [field(0, 8), field(0, 16), field(0, 10), field(0, 11)],
        [field(8, 8), field(16, 16), field(10, 10), field(11, 11)],
        [field(16, 8), field(0, 16), field(20, 10), field(22, 10)],
        [field(24, 8), field(16, 16), field(30, 2), 0],
    ];
    let channels: [ValueId; 4] = std::array::from_fn(|c| {
        let [of8, of16, of10, of11] = PLACES[c];
        let place = b.sel(half, of16, of8);
        let place = b.sel(ten, of10, place);
        let place = b.sel(eleven, of11, place);
        let from = if c < 2 { first } else { second };
        let (plus, minus) = (b.op2(Op::Ext, Type::U32, from, place), b.op2(Op::Ext, Type::S32, from, place));
        let n = b.sel(signed, minus, plus);
        let x = b.cvt(Type::F32, Type::S32, n);
        let x = b.mul(Type::F32, x, if c == 3 { scale_alpha } else { scale_rgb });
        let x = b.op2(Op::Max, Type::F32, x, Src::f32(-1.0));
        // Small floats have a half's exponent and less of its mantissa.
        let missing = b.sel(eleven, if c == 2 { 5 } else { 4 }, 0);
        let h = b.op2(Op::Shl, Type::U32, n, missing);
        let h = b.cvt(Type::F32, Type::F16, h);
        let v = b.sel(float, h, n);
        let v = b.sel(fraction, x, v);
        let v = b.sel(whole, w[c], v);
        let absent = match c {
            0 => return v,
            1 => b.setp(Cond::Lt, Type::U32, count, 1),
            2 => b.setp(Cond::Lt, Type::U32, count, 2),
            _ => {
                let fewer = b.setp(Cond::Lt, Type::U32, count, 2);
                b.op2(Op::Or, Type::Pred, fewer, eleven)
            }
        };
        if c == 3 { b.sel(absent, one, v) } else { b.sel(absent, 0, v) }
    });
    let swapped = is(b, only(|f| f.bgra));
    let [r, g, bl, a] = channels;
    [b.sel(swapped, bl, r), g, b.sel(swapped, r, bl), a]
}
