//! Texels: from their bits to channels and back.

use nvir_base::format::{Kind, Layout};
use nvir_base::num::Round;
use nvir_base::num::conv::{Float, Int, f2f, f2i};
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
    let all = words.iter().rev().fold(0u128, |v, &w| v << 32 | u128::from(w));
    let mut out = [0, 0, 0, if is_integer(f) { 1 } else { ONE }];
    let mut at = 0;
    for (c, &bits) in f.bits.iter().enumerate() {
        let bits = u32::from(bits);
        if bits == 0 {
            continue;
        }
        let v = ((all >> at) & ((1 << bits) - 1)) as u32;
        at += bits;
        let max = |n: u32| ((1u64 << n) - 1) as f32;
        out[c] = match f.kind {
            Kind::Uint => v,
            Kind::Sint => sext(v, bits),
            Kind::Unorm => (v as f32 / max(bits)).to_bits(),
            Kind::Snorm => (sext(v, bits) as i32 as f32 / max(bits - 1)).max(-1.0).to_bits(),
            Kind::Float if bits == 32 => v,
            // The small floats are halves without sign and low mantissa bits.
            Kind::Float => {
                f2f(Float::F16, u64::from(v) << (15 - bits.min(15)), Float::F32, Round::Rn, false) as u32
            }
        };
        if f.kind == Kind::Float && bits == 16 {
            out[c] = f2f(Float::F16, v.into(), Float::F32, Round::Rn, false) as u32;
        }
    }
    if f.bgra {
        out.swap(0, 2);
    }
    out
}

/// The bits of a texel.
pub fn encode(f: Layout, mut c: Channels) -> [u32; 4] {
    if f.bgra {
        c.swap(0, 2);
    }
    let mut all = 0u128;
    let mut at = 0;
    for (v, &bits) in c.into_iter().zip(&f.bits) {
        let bits = u32::from(bits);
        if bits == 0 {
            continue;
        }
        let x = f32::from_bits(v);
        let scaled = |lo: f32, scale: f32, to: Int| {
            let x = if x.is_nan() { 0.0 } else { x.clamp(lo, 1.0) };
            f2i(Float::F64, (f64::from(x) * f64::from(scale)).to_bits(), to, Round::Rn, false) as u32
        };
        let field = match f.kind {
            Kind::Uint => v.min(((1u64 << bits) - 1) as u32),
            Kind::Sint if bits < 32 => (v as i32).clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1) as u32,
            Kind::Sint => v,
            Kind::Unorm => scaled(0.0, ((1u64 << bits) - 1) as f32, Int::new(32, false)),
            Kind::Snorm => scaled(-1.0, ((1u64 << (bits - 1)) - 1) as f32, Int::new(32, true)),
            Kind::Float if bits == 32 => v,
            Kind::Float if bits == 16 => f2f(Float::F32, v.into(), Float::F16, Round::Rn, false) as u32,
            Kind::Float => {
                let half = f2f(Float::F32, v.into(), Float::F16, Round::Rz, false) as u32;
                match half {
                    h if h & 0x7fff > 0x7c00 => (0x7fff >> (15 - bits)) & ((1 << bits) - 1),
                    h if h & 0x8000 != 0 => 0,
                    h => h >> (15 - bits),
                }
            }
        };
        all |= (u128::from(field) & ((1 << bits) - 1)) << at;
        at += bits;
    }
    std::array::from_fn(|i| (all >> (32 * i)) as u32)
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
        let f = layout("rg16i");
        assert_eq!(decode(f, encode(f, [-5i32 as u32, 70000, 9, 9])), [-5i32 as u32, 32767, 0, 1]);
        let f = layout("rgb10_a2ui");
        assert_eq!(decode(f, encode(f, [1023, 2000, 5, 3])), [1023, 1023, 5, 3]);
    }
}
