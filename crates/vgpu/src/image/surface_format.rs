//! Texels of render targets, depth buffers and the 2D engine.

use nvir_base::format::{Kind, Layout};
use nvir_base::srgb;
use nvir_emu::{Channels, decode_texel, encode_texel};
use nvir_hw::format::color::{Alpha, Color};
use nvir_hw::format::zeta::Zeta;

/// The bits of a texel: the first bytes of four words.
pub(crate) type Raw = [u32; 4];

/// How texels are stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SurfaceFormat {
    color: Color,
    codec: Codec,
}

/// Formats that most draws have are converted in a few instructions, all others by the emulator's codec.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Codec {
    /// Four fractions of eight bits, red lowest, or blue.
    Rgba8,
    Bgra8,
    /// The same with sRGB.
    Srgb,
    /// Words as they are.
    Words,
    Other,
}

const ONE: u32 = 0x3f80_0000;

/// Fractions in eight bits, rounded to the nearest; NaN is 0.
#[inline]
fn unorm8(v: [f32; 4]) -> [u32; 4] {
    // The last bit of a number this large is 1: the addition rounds, ties to even.
    const ROUND: f64 = (1u64 << 52) as f64;
    let clamped = v.map(|v| if v > 0.0 { v } else { 0.0 }).map(|v| if v < 1.0 { v } else { 1.0 });
    clamped.map(|v| f64::from(v) * 255.0 + ROUND).map(|v| v.to_bits() as u32 & 0xff)
}

impl From<Color> for SurfaceFormat {
    fn from(color: Color) -> SurfaceFormat {
        let Layout { kind, bits, bgra } = color.format;
        let codec = match (kind, bits) {
            (Kind::Unorm, [8, 8, 8, 8]) if color.srgb => Codec::Srgb,
            (Kind::Unorm, [8, 8, 8, 8]) if bgra => Codec::Bgra8,
            (Kind::Unorm, [8, 8, 8, 8]) => Codec::Rgba8,
            (Kind::Float | Kind::Uint | Kind::Sint, [32, 32, 32, 32]) => Codec::Words,
            _ => Codec::Other,
        };
        SurfaceFormat { color, codec }
    }
}

impl SurfaceFormat {
    /// The format with this number.
    pub(crate) fn from_code(code: u32) -> Option<SurfaceFormat> {
        Color::from_code(code).map(SurfaceFormat::from)
    }

    /// What it stores.
    pub(crate) fn color(&self) -> Color {
        self.color
    }

    /// As surfaces of kernels see it.
    pub(crate) fn format(&self) -> Layout {
        self.color.format
    }

    /// Bytes of a texel.
    pub(crate) fn bytes(&self) -> usize {
        self.color.format.bytes() as usize
    }

    pub(crate) fn kind(&self) -> Kind {
        self.color.format.kind
    }

    /// Channels are integers, which are never converted to or from fractions.
    pub(crate) fn is_integer(&self) -> bool {
        matches!(self.kind(), Kind::Uint | Kind::Sint)
    }

    /// Whether red is all there is.
    pub(crate) fn has_red_alone(&self) -> bool {
        self.color.alpha == Alpha::Plain && self.color.format.channels() == 1
    }

    pub(crate) fn is_signed(&self) -> bool {
        self.kind() == Kind::Sint
    }

    pub(crate) fn is_srgb(&self) -> bool {
        self.color.srgb
    }

    /// Red, green, blue and alpha of the texel in the first bytes: bits of f32, or integers.
    pub(crate) fn decode(&self, bytes: &[u8]) -> Channels {
        let mut words = [[0u8; 4]; 4];
        for (word, part) in words.iter_mut().zip(bytes[..self.bytes()].chunks(4)) {
            word[..part.len()].copy_from_slice(part);
        }
        self.unpack(words.map(u32::from_le_bytes))
    }

    /// Writes the texel into the first bytes.
    pub(crate) fn encode(&self, c: Channels, bytes: &mut [u8]) {
        let words = self.pack(c).map(u32::to_le_bytes);
        for (part, word) in bytes[..self.bytes()].chunks_mut(4).zip(words) {
            part.copy_from_slice(&word[..part.len()]);
        }
    }

    /// As [`SurfaceFormat::decode`], from words.
    #[inline]
    pub(crate) fn unpack(&self, raw: Raw) -> Channels {
        let bytes = raw[0].to_le_bytes();
        let fractions = || bytes.map(|b| f32::from(b) / 255.0);
        let mut c = match self.codec {
            Codec::Rgba8 => fractions().map(f32::to_bits),
            Codec::Bgra8 => {
                let [b, g, r, a] = fractions().map(f32::to_bits);
                [r, g, b, a]
            }
            Codec::Srgb => {
                let [mut r, g, mut b, a] = bytes;
                if self.color.format.bgra {
                    (r, b) = (b, r);
                }
                let [r, g, b] = [r, g, b].map(|v| srgb::to_linear(v).to_bits());
                [r, g, b, (f32::from(a) / 255.0).to_bits()]
            }
            Codec::Words => raw,
            Codec::Other => decode_texel(self.color.format, raw),
        };
        match self.color.alpha {
            Alpha::Plain => {}
            Alpha::Ignored => c[3] = if self.is_integer() { 1 } else { ONE },
            Alpha::Only => c = [0, 0, 0, c[0]],
        }
        c
    }

    /// As [`SurfaceFormat::encode`], to words. What the format ignores is written as one.
    #[inline]
    pub(crate) fn pack(&self, mut c: Channels) -> Raw {
        match self.color.alpha {
            Alpha::Plain => {}
            Alpha::Ignored => c[3] = if self.is_integer() { 1 } else { ONE },
            Alpha::Only => c[0] = c[3],
        }
        let word = match self.codec {
            Codec::Words => return c,
            Codec::Other => return encode_texel(self.color.format, c),
            Codec::Rgba8 | Codec::Bgra8 => {
                let [r, g, b, a] = unorm8(c.map(f32::from_bits));
                let (low, high) = if self.codec == Codec::Rgba8 { (r, b) } else { (b, r) };
                low | g << 8 | high << 16 | a << 24
            }
            Codec::Srgb => {
                let [r, g, b, a] = c.map(f32::from_bits);
                let [r, g, b] = [r, g, b].map(|v| u32::from(srgb::from_linear(v)));
                let (low, high) = if self.color.format.bgra { (b, r) } else { (r, b) };
                low | g << 8 | high << 16 | unorm8([0.0, 0.0, 0.0, a])[3] << 24
            }
        };
        [word, 0, 0, 0]
    }

    /// As [`SurfaceFormat::pack`], many at once, where they are words that few instructions make.
    pub(crate) fn pack_words<const N: usize>(&self, c: &[&[u32; N]; 4]) -> Option<[u32; N]> {
        let (low, high) = match self.codec {
            Codec::Rgba8 => (0, 2),
            Codec::Bgra8 => (2, 0),
            _ => return None,
        };
        if self.color.alpha != Alpha::Plain {
            return None;
        }
        let mut out = [0; N];
        for (i, out) in out.iter_mut().enumerate() {
            let [l, g, h, a] = unorm8([low, 1, high, 3].map(|n| f32::from_bits(c[n][i])));
            *out = l | g << 8 | h << 16 | a << 24;
        }
        Some(out)
    }

    /// As [`SurfaceFormat::unpack`], many at once, where they are words of fractions.
    pub(crate) fn unpack_words<const N: usize>(&self, raw: &[u32; N]) -> Option<[[f32; N]; 4]> {
        if self.color.alpha != Alpha::Plain {
            return None;
        }
        let byte = |shift: u32| raw.map(|word| (word >> shift & 0xff) as f32 / 255.0);
        let [low, green, high, alpha] = [0, 8, 16, 24].map(byte);
        match self.codec {
            Codec::Rgba8 => Some([low, green, high, alpha]),
            Codec::Bgra8 => Some([high, green, low, alpha]),
            _ => None,
        }
    }

    /// The bits of the texel that these channels (r, g, b, a) occupy; those of ignored channels follow alpha.
    pub(crate) fn mask_words(&self, channels: [bool; 4]) -> Raw {
        let mut stored = channels;
        if self.color.alpha == Alpha::Only {
            stored = [channels[3]; 4];
        }
        if self.color.format.bgra {
            stored.swap(0, 2);
        }
        let mut mask = 0u128;
        let mut at = 0;
        for (on, bits) in stored.into_iter().zip(self.color.format.bits) {
            if on {
                mask |= ((1u128 << bits) - 1) << at;
            }
            at += u32::from(bits);
        }
        std::array::from_fn(|n| (mask >> (32 * n)) as u32)
    }

    /// The same as bytes.
    pub(crate) fn mask(&self, channels: [bool; 4]) -> Vec<u8> {
        let bytes = self.mask_words(channels).map(u32::to_le_bytes);
        bytes.as_flattened()[..self.bytes()].to_vec()
    }
}

/// The bytes of a texel of a depth buffer, and the bits of them that depth and stencil occupy: of
/// what is there to be written.
pub(crate) fn zeta_texel(format: Zeta, depth: Option<f32>, stencil: Option<u8>) -> (Vec<u8>, Vec<u8>) {
    let with = (depth.is_some(), stencil.is_some());
    let (depth, stencil) = (depth.unwrap_or(0.0), stencil.unwrap_or(0));
    let fraction = |max: f64| (f64::from(depth.clamp(0.0, 1.0)) * max).round_ties_even() as u64;
    let s = u64::from(stencil);
    // Value and mask of depth, of stencil.
    let (z, zm, s, sm) = match format {
        Zeta::Z32 => (depth.to_bits().into(), 0xffff_ffff, 0, 0),
        Zeta::Z16 => (fraction(65535.0), 0xffff, 0, 0),
        Zeta::S8Z24 => (fraction(16_777_215.0) << 8, 0xffff_ff00, s, 0xff),
        Zeta::Z24X8 => (fraction(16_777_215.0), 0x00ff_ffff, 0, 0),
        Zeta::Z24S8 => (fraction(16_777_215.0), 0x00ff_ffff, s << 24, 0xff00_0000),
        Zeta::Z32S8 => (depth.to_bits().into(), 0xffff_ffff, s << 32, 0xff << 32),
    };
    let pick = |on: bool, v: u64| if on { v } else { 0 };
    let value = pick(with.0, z) | pick(with.1, s);
    let mask = pick(with.0, zm) | pick(with.1, sm);
    let part = |v: u64| v.to_le_bytes()[..format.bytes()].to_vec();
    (part(value), part(mask))
}

/// Depth and, where there is one, stencil of a texel of a depth buffer.
pub(crate) fn zeta_values(format: Zeta, [low, high, ..]: Raw) -> (f32, Option<u8>) {
    let fraction = |v: u32| (f64::from(v) / 16_777_215.0) as f32;
    match format {
        Zeta::Z32 => (f32::from_bits(low), None),
        Zeta::Z16 => (low as f32 / 65535.0, None),
        Zeta::S8Z24 => (fraction(low >> 8), Some(low as u8)),
        Zeta::Z24X8 => (fraction(low & 0xff_ffff), None),
        Zeta::Z24S8 => (fraction(low & 0xff_ffff), Some((low >> 24) as u8)),
        Zeta::Z32S8 => (f32::from_bits(low), Some(high as u8)),
    }
}

/// A format by its channels from the lowest bit on.
pub(crate) fn color_name(color: Color) -> String {
    let layout = color.format;
    let order = if layout.bgra { "bgra" } else { "rgba" };
    let last = match color.alpha {
        Alpha::Plain => 'a',
        Alpha::Ignored => 'x',
        Alpha::Only => return format!("a{}", layout.bits[0]),
    };
    let channels =
        order.chars().map(|c| if c == 'a' { last } else { c }).zip(layout.bits).filter(|c| c.1 != 0);
    let bits = layout.bits[0];
    let name: String = if layout.bits.iter().all(|&b| b == bits || b == 0) {
        channels.map(|c| c.0).collect::<String>() + &bits.to_string()
    } else {
        channels.map(|(c, bits)| format!("{c}{bits}")).collect()
    };
    let kind = if color.srgb { "srgb".into() } else { format!("{:?}", layout.kind).to_lowercase() };
    format!("{name}_{kind}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(code: u32, channels: [f32; 4]) -> Vec<u8> {
        let c = SurfaceFormat::from_code(code).unwrap();
        let mut out = vec![0; c.bytes()];
        c.encode(channels.map(f32::to_bits), &mut out);
        out
    }

    #[test]
    fn formats_have_names() {
        let name = |code| color_name(Color::from_code(code).unwrap());
        assert_eq!([0xd5, 0xd0, 0xe8, 0xf7].map(name), ["rgba8_unorm", "bgra8_srgb", "b5g6r5_unorm", "a8"]);
        assert_eq!([0xc3, 0xe6, 0xdf].map(name), ["rgbx32_float", "bgrx8_unorm", "b10g10r10a2_unorm"]);
    }

    #[test]
    fn texels_of_unusual_formats() {
        let v = [1.0, 0.5, 0.0, 0.25];
        assert_eq!(bytes(0xd5, v), [255, 128, 0, 64]);
        assert_eq!(bytes(0xcf, v), [0, 128, 255, 64]);
        assert_eq!(bytes(0xe6, v), [0, 128, 255, 255]);
        assert_eq!(bytes(0xf7, v), [64]);
        assert_eq!(bytes(0xd6, v), [255, 188, 0, 64]);
        assert_eq!(bytes(0xe8, v), (0x1fu16 << 11 | 32 << 5).to_le_bytes());
        assert_eq!(bytes(0xe9, [0.0, 0.0, 1.0, 1.0]), 0x801fu16.to_le_bytes());
        assert_eq!(bytes(0xdf, v), (1023u32 << 20 | 512 << 10 | 1 << 30).to_le_bytes());
        assert_eq!(bytes(0xca, v), [0, 0x3c, 0, 0x38, 0, 0, 0, 0x34]);
    }

    #[test]
    fn every_format_gives_back_what_it_can_hold() {
        for code in 0..0x100 {
            let Some(c) = SurfaceFormat::from_code(code) else { continue };
            let size = c.bytes();
            assert!([1, 2, 4, 8, 16].contains(&size), "{code:x}");
            let stored: Vec<u8> = (0..size).map(|i| (i * 37 + 1) as u8 & 0x3f).collect();
            let mut again = vec![0; size];
            c.encode(c.decode(&stored), &mut again);
            let alpha = c.mask([false, false, false, c.color.alpha == Alpha::Ignored]);
            for i in 0..size {
                assert_eq!(again[i] & !alpha[i], stored[i] & !alpha[i], "{code:x} byte {i}");
            }
        }
        let c = SurfaceFormat::from_code(0xf7).unwrap();
        assert_eq!(c.decode(&[255]), [0, 0, 0, ONE]);
        assert_eq!(
            SurfaceFormat::from_code(0xd6).unwrap().decode(&[188, 0, 0, 0])[0],
            0.502_886_5_f32.to_bits()
        );
        assert!(SurfaceFormat::from_code(0).is_none() && SurfaceFormat::from_code(0x1d5).is_none());
    }

    #[test]
    fn fast_and_general_codecs_agree() {
        for (code, color) in Color::all().filter(|(_, c)| !c.srgb) {
            let fast = SurfaceFormat::from(color);
            let slow = SurfaceFormat { codec: Codec::Other, ..fast };
            for n in 0..3000u32 {
                let v = n as f32 / 1500.0 - 0.5;
                let c = [v, 0.5 - v, v * v, n as f32 / 510.0].map(f32::to_bits);
                let raw = fast.pack(c);
                assert_eq!(raw, slow.pack(c), "{code:#x} {v}");
                assert_eq!(fast.unpack(raw), slow.unpack(raw), "{code:#x}");
            }
        }
        assert_eq!(unorm8([f32::NAN, -1.0, 2.0, 0.49 / 255.0]), [0, 0, 255, 0]);
        assert_eq!(unorm8([f32::INFINITY, 1.51 / 255.0, 0.5, 1.0]), [255, 2, 128, 255]);
        let bgra = SurfaceFormat::from_code(0xd0).unwrap();
        assert_eq!(bgra.pack([1.0, 0.0, 0.5, 0.5].map(f32::to_bits)), [0x80ff_00bc, 0, 0, 0]);
        assert_eq!(bgra.unpack([0x00ff_00bc, 0, 0, 0]).map(f32::from_bits)[..3], [1.0, 0.0, 0.502_886_5]);
    }

    #[test]
    fn masks_name_the_bits_of_channels() {
        let mask = |code, channels| SurfaceFormat::from_code(code).unwrap().mask(channels);
        assert_eq!(mask(0xcf, [true, false, false, false]), [0, 0, 255, 0]);
        assert_eq!(mask(0xe8, [false, true, false, false]), 0x07e0u16.to_le_bytes());
        assert_eq!(mask(0xf7, [true, true, true, false]), [0]);
        assert_eq!(mask(0xd1, [true; 4]), [255; 4]);
    }

    #[test]
    fn depth_and_stencil() {
        let of = |code, (depth, stencil): (bool, bool)| {
            let (v, m) =
                zeta_texel(Zeta::from_code(code).unwrap(), depth.then_some(0.5), stencil.then_some(0x81));
            let word = |b: Vec<u8>| b.iter().rev().fold(0u64, |v, b| v << 8 | u64::from(*b));
            (word(v), word(m))
        };
        assert_eq!(of(0x0a, (true, true)), (0x3f00_0000, 0xffff_ffff));
        assert_eq!(of(0x13, (true, false)), (0x8000, 0xffff));
        assert_eq!(of(0x14, (false, true)), (0x81, 0xff));
        assert_eq!(of(0x14, (true, false)), (0x8000_0000, 0xffff_ff00));
        assert_eq!(of(0x16, (true, true)), (0x8180_0000, 0xffff_ffff));
        assert_eq!(of(0x19, (false, true)), (0x81_0000_0000, 0xff_0000_0000));
        assert!(Zeta::from_code(0x18).is_none());
        for format in Zeta::ALL {
            let (texel, _) = zeta_texel(format, Some(0.25), Some(0x81));
            let word =
                |n: usize| texel.iter().skip(4 * n).take(4).rev().fold(0, |v, b| v << 8 | u32::from(*b));
            let (depth, stencil) = zeta_values(format, [word(0), word(1), 0, 0]);
            assert!((depth - 0.25).abs() < 1e-5 && stencil.is_none_or(|s| s == 0x81), "{format:?} {depth}");
        }
    }
}
