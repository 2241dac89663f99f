//! Texels: from their bits to channels and back.

use nvir_base::format::{Kind, Layout};
use nvir_base::num::Round;
use nvir_base::num::conv::{float_to_half, half_to_float};
use nvir_base::num::int::sext;

/// Four channels: bits of f32, or integers.
pub type Channels = [u32; 4];

const ONE: u32 = 0x3f80_0000;

/// Whether texels are integers.
pub fn is_integer(f: Layout) -> bool {
    matches!(f.kind, Kind::Uint | Kind::Sint)
}

/// The channels of a texel; absent ones are 0, 0, 0, 1.
pub fn decode(f: Layout, words: [u32; 4]) -> Channels {
    let mut out = [0, 0, 0, if is_integer(f) { 1 } else { ONE }];
    let mut at = 0;
    for (out, &bits) in out.iter_mut().zip(&f.bits) {
        if bits != 0 {
            *out = decode_channel(f.kind, bits.into(), field(words, at, bits.into()));
            at += u32::from(bits);
        }
    }
    if f.bgra {
        out.swap(0, 2);
    }
    out
}

/// Bits of a texel, from a bit on, which lie in one word.
#[inline]
pub fn field(words: [u32; 4], at: u32, bits: u32) -> u32 {
    debug_assert!(at % 32 + bits <= 32, "{bits} bits at {at}");
    words[(at as usize / 32) & 3] >> (at % 32) & u32::MAX >> (32 - bits)
}

/// A channel of 1 to 32 bits (floats: 10, 11, 16 or 32), as bits of f32 or as an integer.
#[inline]
pub fn decode_channel(kind: Kind, bits: u32, v: u32) -> u32 {
    match kind {
        Kind::Uint => v,
        Kind::Sint => sext(v, bits),
        Kind::Unorm => (v as f32 / largest(bits)).to_bits(),
        Kind::Snorm => (sext(v, bits) as i32 as f32 / largest(bits - 1)).max(-1.0).to_bits(),
        Kind::Float if bits == 32 => v,
        Kind::Float if bits == 16 => half_to_float(v),
        // The small floats are halves without sign and low mantissa bits.
        Kind::Float => half_to_float(v << (15 - bits)),
    }
}

/// The largest number of so many bits.
#[inline]
fn largest(bits: u32) -> f32 {
    ((1u64 << bits) - 1) as f32
}

/// The bits of a texel.
pub fn encode(f: Layout, mut c: Channels) -> [u32; 4] {
    if f.bgra {
        c.swap(0, 2);
    }
    let mut words = [0; 4];
    let mut at = 0;
    for (v, &bits) in c.into_iter().zip(&f.bits) {
        if bits != 0 {
            let bits = u32::from(bits);
            let field = encode_channel(f.kind, bits, v) & u32::MAX >> (32 - bits);
            words[(at as usize / 32) & 3] |= field << (at % 32);
            at += bits;
        }
    }
    words
}

/// A channel as it is stored, possibly with bits above its own.
#[inline]
fn encode_channel(kind: Kind, bits: u32, v: u32) -> u32 {
    // NaN is 0.
    let fraction = |low: f32, scale: f32| {
        let x = f32::from_bits(v);
        let x = if x > low {
            x
        } else if x.is_nan() {
            0.0
        } else {
            low
        };
        f64::from(if x < 1.0 { x } else { 1.0 }) * f64::from(scale)
    };
    // The last bit of a number this large is 1: the addition rounds, ties to even.
    let rounded = |x: f64| (x + (3u64 << 51) as f64).to_bits() as u32;
    match kind {
        Kind::Uint => v.min(u32::MAX >> (32 - bits)),
        Kind::Sint if bits < 32 => (v as i32).clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1) as u32,
        Kind::Sint => v,
        Kind::Unorm => rounded(fraction(0.0, largest(bits)).min(u32::MAX.into())),
        Kind::Snorm => rounded(fraction(-1.0, largest(bits - 1)).min(i32::MAX.into())),
        Kind::Float if bits == 32 => v,
        Kind::Float if bits == 16 => float_to_half(v, Round::Rn),
        Kind::Float => match float_to_half(v, Round::Rz) {
            h if h & 0x7fff > 0x7c00 => 0x7fff >> (15 - bits),
            h if h & 0x8000 != 0 => 0,
            h => h >> (15 - bits),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nvir_base::format::Format;

    fn layout(name: &str) -> Layout {
        name.parse::<Format>().unwrap().layout()
    }

    #[test]
    fn representable_values_survive_every_format() {
        for (name, values) in [
            ("rgba8", [0.0f32, 1.0, 0.2, 0.6]),
            ("rgba8_snorm", [-1.0, 1.0, 0.0, 1.0]),
            ("r11f_g11f_b10f", [1.5, 0.25, 3.0, 1.0]),
            ("rgba16f", [1.5, -2.0, 0.0, 65504.0]),
            ("bgra8", [0.2, 0.4, 1.0, 0.0]),
            ("rgb10_a2", [1.0, 0.0, 1.0, 1.0]),
            ("r32f", [1.1, 0.0, 0.0, 1.0]),
        ] {
            let f = layout(name);
            let got = decode(f, encode(f, values.map(f32::to_bits))).map(f32::from_bits);
            for (g, v) in got.iter().zip(values) {
                assert!((g - v).abs() < 1e-6, "{name}: {got:?}");
            }
        }
        let edge = |name, v: f32| encode(layout(name), [v.to_bits(); 4])[0];
        assert_eq!([edge("r16", f32::NAN), edge("r16", 0.5), edge("r16", 2.0)], [0, 0x8000, 0xffff]);
        assert_eq!(
            [edge("r8_snorm", -2.0), edge("r8_snorm", f32::NAN), edge("r8_snorm", 0.5)],
            [0x81, 0, 0x40]
        );
        let whole =
            |kind, v: f32| encode(Layout { kind, bits: [32, 0, 0, 0], bgra: false }, [v.to_bits(); 4])[0];
        let wholes = [-1.0, 0.5, 1.0].map(|v| [whole(Kind::Unorm, v), whole(Kind::Snorm, v)]);
        assert_eq!(wholes, [[0, 0x8000_0000], [0x8000_0000, 0x4000_0000], [u32::MAX, 0x7fff_ffff]]);
        let f = layout("rg16i");
        assert_eq!(decode(f, encode(f, [-5i32 as u32, 70000, 9, 9])), [-5i32 as u32, 32767, 0, 1]);
        let f = layout("rgb10_a2ui");
        assert_eq!(decode(f, encode(f, [1023, 2000, 5, 3])), [1023, 1023, 5, 3]);
    }
}
