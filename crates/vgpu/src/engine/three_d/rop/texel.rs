//! Texels of colour targets: the formats that most draws have in a few instructions, all others by the emulator's codec.

use super::surface::Raw;
use nvir_base::format::Kind;
use nvir_base::srgb;
use nvir_emu::{Channels, decode_texel, encode_texel};
use nvir_hw::format::color::{Alpha, Color};

/// How texels of a target are converted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Texel {
    color: Color,
    codec: Codec,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Codec {
    /// Four channels of eight bits: the places of red and blue.
    Unorm8 {
        red: u32,
        blue: u32,
    },
    /// Words as they are.
    Words,
    Other,
}

const ONE: u32 = 0x3f80_0000;

/// A fraction in eight bits, rounded to the nearest; NaN is 0.
#[inline]
fn unorm8(v: f32) -> u32 {
    // The last bit of a number this large is 1: the addition rounds, ties to even.
    const ROUND: f64 = (1u64 << 52) as f64;
    let v = if v > 0.0 { v.min(1.0) } else { 0.0 };
    (f64::from(v) * 255.0 + ROUND).to_bits() as u32 & 0xff
}

/// The fraction of eight bits.
#[inline]
fn fraction(bits: u32) -> f32 {
    (bits & 0xff) as f32 / 255.0
}

impl Texel {
    pub fn new(color: Color) -> Texel {
        let layout = color.format;
        let codec = match (layout.kind, layout.bits) {
            (Kind::Unorm, [8, 8, 8, 8]) if layout.bgra => Codec::Unorm8 { red: 16, blue: 0 },
            (Kind::Unorm, [8, 8, 8, 8]) => Codec::Unorm8 { red: 0, blue: 16 },
            (Kind::Float | Kind::Uint | Kind::Sint, [32, 32, 32, 32]) if color.alpha == Alpha::Plain => {
                Codec::Words
            }
            _ => Codec::Other,
        };
        Texel { color, codec }
    }

    pub fn bytes(&self) -> usize {
        self.color.format.bytes() as usize
    }

    pub fn kind(&self) -> Kind {
        self.color.format.kind
    }

    pub fn is_integer(&self) -> bool {
        matches!(self.kind(), Kind::Uint | Kind::Sint)
    }

    pub fn is_srgb(&self) -> bool {
        self.color.srgb
    }

    /// Red, green, blue and alpha: bits of f32, or integers.
    #[inline]
    pub fn decode(&self, raw: Raw) -> Channels {
        match self.codec {
            Codec::Words => raw,
            Codec::Unorm8 { red, blue } => {
                let of = |shift: u32| {
                    let bits = raw[0] >> shift;
                    if self.color.srgb { srgb::to_linear(bits as u8) } else { fraction(bits) }
                };
                let plain = self.color.alpha == Alpha::Plain;
                let alpha = if plain { fraction(raw[0] >> 24) } else { 1.0 };
                [of(red), of(8), of(blue), alpha].map(f32::to_bits)
            }
            Codec::Other => {
                let mut c = decode_texel(self.color.format, raw);
                match self.color.alpha {
                    Alpha::Plain => {}
                    Alpha::Ignored => c[3] = if self.is_integer() { 1 } else { ONE },
                    Alpha::Only => c = [0, 0, 0, c[0]],
                }
                c
            }
        }
    }

    /// The bits of a texel. Channels that the format ignores are written as one.
    #[inline]
    pub fn encode(&self, mut c: Channels) -> Raw {
        match self.codec {
            Codec::Words => c,
            Codec::Unorm8 { red, blue } => {
                let to = |channel: u32| {
                    let v = f32::from_bits(channel);
                    if self.color.srgb { srgb::from_linear(v).into() } else { unorm8(v) }
                };
                let plain = self.color.alpha == Alpha::Plain;
                let alpha = if plain { unorm8(f32::from_bits(c[3])) } else { 0xff };
                [to(c[0]) << red | to(c[1]) << 8 | to(c[2]) << blue | alpha << 24, 0, 0, 0]
            }
            Codec::Other => {
                match self.color.alpha {
                    Alpha::Plain => {}
                    Alpha::Ignored => c[3] = if self.is_integer() { 1 } else { ONE },
                    Alpha::Only => c[0] = c[3],
                }
                encode_texel(self.color.format, c)
            }
        }
    }

    /// The bits of a texel that channels occupy; those that the format ignores follow alpha.
    pub fn mask(&self, channels: [bool; 4]) -> Raw {
        let layout = self.color.format;
        let mut stored = channels;
        if self.color.alpha == Alpha::Only {
            stored = [channels[3]; 4];
        }
        if layout.bgra {
            stored.swap(0, 2);
        }
        let mut mask = 0u128;
        let mut at = 0;
        for (on, bits) in stored.into_iter().zip(layout.bits) {
            if on {
                mask |= ((1u128 << bits) - 1) << at;
            }
            at += u32::from(bits);
        }
        std::array::from_fn(|n| (mask >> (32 * n)) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the codec of all formats says.
    fn slow(color: Color) -> Texel {
        Texel { color, codec: Codec::Other }
    }

    #[test]
    fn fast_and_general_codecs_agree() {
        for (code, color) in Color::all().filter(|(_, c)| !c.srgb) {
            let (fast, slow) = (Texel::new(color), slow(color));
            for n in 0..3000u32 {
                let v = n as f32 / 1500.0 - 0.5;
                let c = [v, 0.5 - v, v * v, n as f32 / 510.0].map(f32::to_bits);
                let raw = fast.encode(c);
                assert_eq!(raw, slow.encode(c), "{code:#x} {v}");
                assert_eq!(fast.decode(raw), slow.decode(raw), "{code:#x}");
            }
        }
        assert_eq!([f32::NAN, -1.0, 2.0, 0.49 / 255.0, 1.51 / 255.0].map(unorm8), [0, 0, 255, 0, 2]);
    }

    #[test]
    fn every_format_gives_back_what_it_holds() {
        for (code, color) in Color::all() {
            let t = Texel::new(color);
            let raw: Raw = std::array::from_fn(|n| 0x2d1b_0905u32.rotate_left(n as u32 * 8) & 0x3f3f_3f3f);
            let kept = t.mask([true; 4]);
            let raw: Raw = std::array::from_fn(|n| raw[n] & kept[n]);
            let ignored =
                if color.alpha == Alpha::Ignored { t.mask([false, false, false, true]) } else { [0; 4] };
            let again = t.encode(t.decode(raw));
            for n in 0..4 {
                assert_eq!(again[n] & !ignored[n], raw[n] & !ignored[n], "{code:#x}");
            }
        }
    }

    #[test]
    fn unusual_formats() {
        let encode =
            |code, v: [f32; 4]| Texel::new(Color::from_code(code).unwrap()).encode(v.map(f32::to_bits))[0];
        let v = [1.0, 0.5, 0.0, 0.25];
        assert_eq!(encode(0xd5, v), 0x4000_80ff);
        assert_eq!(encode(0xcf, v), 0x40ff_8000);
        assert_eq!(encode(0xe6, v), 0xffff_8000);
        assert_eq!(encode(0xd6, v), 0x4000_bcff);
        assert_eq!(encode(0xf7, v), 0x40);
        let decode = |code, raw| {
            Texel::new(Color::from_code(code).unwrap()).decode([raw, 0, 0, 0]).map(f32::from_bits)
        };
        assert_eq!(decode(0xf7, 0xff), [0.0, 0.0, 0.0, 1.0]);
        assert_eq!(decode(0xf3, 0xff), [1.0, 0.0, 0.0, 1.0]);
        assert_eq!(decode(0xe6, 0), [0.0, 0.0, 0.0, 1.0]);
        assert_eq!(decode(0xd6, 188)[0], 0.502_886_5);
        let mask = |code, channels| Texel::new(Color::from_code(code).unwrap()).mask(channels)[0];
        assert_eq!(mask(0xcf, [true, false, false, false]), 0xff_0000);
        assert_eq!(mask(0xe8, [false, true, false, false]), 0x07e0);
        assert_eq!(mask(0xf7, [true, true, true, false]), 0);
    }
}
