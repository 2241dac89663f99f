//! Colour targets: clamping, blending or the logic operation, the colour mask, and the texel's format.

use super::blend::{BlendState, LogicOp, Range};
use crate::image::surface_format::{Raw, SurfaceFormat};
use crate::image::texels::Surface;
use nvir_base::format::Kind;
use nvir_base::num::float::canon32;
use nvir_hw::format::color::Color;

/// What is clamped before blending: a nibble of FRAG_COLOR_CLAMP_EN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ColorClamp {
    Off,
    /// Outputs are clamped to 0 to 1.
    On,
}

/// State of one colour target.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct ColorState {
    pub format: Color,
    pub clamp: ColorClamp,
    pub blend: Option<BlendState>,
    pub logic: Option<LogicOp>,
    /// COLOR_MASK: red, green, blue, alpha.
    pub mask: [bool; 4],
}

/// Colours of a quad's pixels: red, green, blue, alpha as the shader left them.
pub(crate) type Colors = [[u32; 4]; 4];

/// What happens to a colour on its way into the target.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Way {
    /// Nothing: the mask lets no bit through.
    None,
    Store,
    Blend(BlendState, Range),
    Logic(LogicOp),
}

/// A colour target, ready for a draw.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct ColorTarget {
    format: SurfaceFormat,
    clamp: ColorClamp,
    way: Way,
    /// The bits that are written, if not all of the texel are.
    mask: Option<Raw>,
}

impl ColorTarget {
    /// Integer targets do not blend and are not clamped; the logic operation switches blending off and does not work on floats
    /// and sRGB.
    pub(crate) fn new(state: &ColorState) -> ColorTarget {
        let format = SurfaceFormat::from(state.format);
        let range = match format.kind() {
            Kind::Unorm => Range::Unsigned,
            Kind::Snorm => Range::Signed,
            _ => Range::Float,
        };
        let mask = format.mask_words(state.mask);
        let works = format.kind() != Kind::Float && !format.is_srgb();
        let way = match (state.logic, state.blend) {
            _ if mask == [0; 4] => Way::None,
            (Some(op), _) if works => Way::Logic(op),
            (None, Some(blend)) if !format.is_integer() => Way::Blend(blend, range),
            _ => Way::Store,
        };
        let clamp = if format.is_integer() { ColorClamp::Off } else { state.clamp };
        ColorTarget { format, clamp, way, mask: (mask != format.mask_words([true; 4])).then_some(mask) }
    }

    /// Red, green, blue, alpha of a texel, as numbers.
    pub(crate) fn channels(&self, texel: Raw) -> [u32; 4] {
        self.format.unpack(texel)
    }

    /// Whether it never changes the target.
    pub(crate) fn writes_nothing(&self) -> bool {
        self.way == Way::None
    }

    /// Whether blending needs the second output.
    pub(crate) fn is_dual(&self) -> bool {
        let Way::Blend(blend, _) = self.way else { return false };
        [blend.color, blend.alpha].iter().any(|e| e.source.is_dual() || e.destination.is_dual())
    }

    /// Writes the covered samples of a quad: its colours, and the second output's for dual-source blending. `x` and `y`
    /// are even.
    #[inline]
    pub(crate) fn quad(
        &self,
        surface: &Surface<'_>,
        x: u32,
        y: u32,
        cover: [u8; 4],
        colors: &Colors,
        second: &Colors,
    ) {
        match (self.way, self.mask) {
            (Way::None, _) => {}
            (Way::Store, None) => {
                let mut texels = [[0; 4]; 4];
                for ((texel, color), _) in texels.iter_mut().zip(colors).zip(cover).filter(|(_, c)| *c != 0) {
                    *texel = self.format.pack(self.clamped(*color));
                }
                surface.covered(x, y, cover, |pixel, _, at| surface.store(at, texels[pixel]));
            }
            _ => surface.covered(x, y, cover, |pixel, _, at| {
                let old = surface.load(at);
                let mut new = self.combine(self.clamped(colors[pixel]), second[pixel], old);
                if let Some(mask) = self.mask {
                    new = std::array::from_fn(|n| old[n] & !mask[n] | new[n] & mask[n]);
                }
                surface.store(at, new);
            }),
        }
    }

    /// The texels of many pixels, where they are words of fractions that replace what is there.
    pub(crate) fn texels<const N: usize>(&self, colors: &[&[u32; N]; 4]) -> Option<[u32; N]> {
        let replaces = (self.way, self.mask) == (Way::Store, None);
        if replaces { self.format.pack_words(colors) } else { None }
    }

    /// Whether [`ColorTarget::blended`] gives anything.
    pub(crate) fn blends_words(&self) -> bool {
        matches!(self.way, Way::Blend(_, Range::Unsigned))
            && self.mask.is_none()
            && self.format.unpack_words(&[0]).is_some()
    }

    /// The texels of many pixels over what is there, where they are words of fractions that are blended with it; `None` else,
    /// whatever the pixels are.
    pub(crate) fn blended<const N: usize>(
        &self,
        colors: &[&[u32; N]; 4],
        second: &[&[u32; N]; 4],
        old: &[u32; N],
    ) -> Option<[u32; N]> {
        let (Way::Blend(blend, range @ Range::Unsigned), None) = (self.way, self.mask) else { return None };
        let old = self.format.unpack_words(old)?;
        // What the target holds is clamped to anyway, and NaN becomes 0.
        let float = |c: &[&[u32; N]; 4]| c.map(|channel| channel.map(f32::from_bits));
        let new = blend.blend(&float(colors), &float(second), &old, range);
        let [r, g, b, a] = &new.map(|channel| channel.map(f32::to_bits));
        self.format.pack_words(&[r, g, b, a])
    }

    #[inline]
    fn clamped(&self, color: [u32; 4]) -> [u32; 4] {
        match self.clamp {
            ColorClamp::Off => color,
            ColorClamp::On => color.map(|c| Range::Unsigned.clamp(f32::from_bits(c)).to_bits()),
        }
    }

    /// The texel for a colour over what was there.
    #[inline]
    fn combine(&self, color: [u32; 4], second: [u32; 4], old: Raw) -> Raw {
        match self.way {
            Way::None | Way::Store => self.format.pack(color),
            Way::Logic(op) => {
                let new = self.format.pack(color);
                std::array::from_fn(|n| op.apply(new[n], old[n]))
            }
            Way::Blend(blend, range) => {
                let float = |c: [u32; 4]| c.map(|v| [f32::from_bits(v)]);
                let second = float(self.clamped(second));
                let blended = blend.blend(&float(color), &second, &float(self.format.unpack(old)), range);
                // Hosts differ in the bits of NaNs that they make.
                self.format.pack(blended.map(|[v]| canon32(v)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::blend::{Equation, Factor, Operation, ZeroRule};
    use super::*;
    use nvir_base::tiling::{Level, Order, TileMode};
    use std::sync::atomic::AtomicU32;
    use std::sync::atomic::Ordering::Relaxed;

    const OVER: BlendState = {
        let e = Equation {
            operation: Operation::Add,
            source: Factor::SourceAlpha,
            destination: Factor::OneMinusSourceAlpha,
        };
        BlendState { color: e, alpha: e, constant: [0.0; 4], zero: ZeroRule::Ieee }
    };

    fn state(code: u32) -> ColorState {
        let format = Color::from_code(code).unwrap();
        ColorState { format, clamp: ColorClamp::Off, blend: None, logic: None, mask: [true; 4] }
    }

    /// Writes one pixel over words, and gives what is then there.
    fn write(state: &ColorState, color: [u32; 4], old: [u32; 4]) -> [u32; 4] {
        let words: Vec<AtomicU32> = old.into_iter().chain([0; 124]).map(AtomicU32::new).collect();
        let target = ColorTarget::new(state);
        let level = Level { order: Order::Blocks(TileMode(0)), offset: 0, pitch: 64, rows: 8, slices: 1 };
        let surface = Surface::new(&words, level, 0, target.format.bytes(), (0, 0));
        target.quad(&surface, 0, 0, [1, 0, 0, 0], &[color; 4], &[[0; 4]; 4]);
        assert!(words[4..].iter().all(|w| w.load(Relaxed) == 0));
        std::array::from_fn(|n| words[n].load(Relaxed))
    }

    fn float(c: [f32; 4]) -> [u32; 4] {
        c.map(f32::to_bits)
    }

    #[test]
    fn masked_channels_and_uncovered_pixels_stay() {
        let color = float([1.0, 1.0, 1.0, 1.0]);
        let masked = ColorState { mask: [true, false, false, true], ..state(0xd5) };
        assert_eq!(write(&masked, color, [0x1122_3344, 5, 6, 7]), [0xff22_33ff, 5, 6, 7]);
        let nothing = ColorState { mask: [false; 4], ..state(0xd5) };
        assert!(ColorTarget::new(&nothing).writes_nothing());
        assert_eq!(write(&nothing, color, [1, 2, 3, 4]), [1, 2, 3, 4]);
        assert_eq!(write(&state(0xd5), color, [0, 2, 3, 4]), [!0, 2, 3, 4]);
        assert_eq!(write(&state(0xf3), color, [0x1122_3344, 0, 0, 0])[0], 0x1122_33ff);
    }

    #[test]
    fn blending_by_format() {
        let blend = |code, color, old| write(&ColorState { blend: Some(OVER), ..state(code) }, color, old);
        // Red at a quarter over blue: 0.25 * 255 = 63.75, 0.75 * 255 = 191.25; alpha 0.0625 + 0.75.
        let red = float([1.0, 0.0, 0.0, 0.25]);
        assert_eq!(blend(0xd5, red, [0xffff_0000, 0, 0, 0])[0], 0xcfbf_0040);
        // No alpha: the destination's is 1, and what is stored for it is 1.
        assert_eq!(blend(0xf9, red, [0x00ff_0000, 0, 0, 0])[0], 0xffbf_0040);
        // sRGB: 0.25 linear is 137, 0.75 is 225.
        assert_eq!(blend(0xd6, red, [0xffff_0000, 0, 0, 0])[0], 0xcfe1_0089);
        // Float: unclamped.
        let bright = float([8.0, 0.0, 0.0, 0.5]);
        assert_eq!(blend(0xc0, bright, float([2.0, 4.0, 0.0, 1.0])), float([5.0, 2.0, 0.0, 0.75]));
        // Integers do not blend.
        assert_eq!(blend(0xd9, [1, 2, 3, 300], [9; 4])[0], 0xff03_0201);
        let nan = float([f32::INFINITY, 0.0, 0.0, 0.0]);
        assert_eq!(blend(0xc0, nan, [0; 4])[0], nvir_base::num::float::NAN32);
    }

    #[test]
    fn clamped_outputs_and_logic() {
        let clamped = ColorState { clamp: ColorClamp::On, ..state(0xc0) };
        assert_eq!(write(&clamped, float([2.0, -1.0, 0.5, f32::NAN]), [9; 4]), float([1.0, 0.0, 0.5, 0.0]));
        let xor = LogicOp::from_code(0x1506);
        let s = ColorState { logic: xor, blend: Some(OVER), ..state(0xd5) };
        assert_eq!(write(&s, float([1.0; 4]), [0x1234_5678, 0, 0, 0])[0], !0x1234_5678);
        let s = ColorState { logic: xor, blend: Some(OVER), ..state(0xc0) };
        assert_eq!(write(&s, float([0.5; 4]), [7; 4]), float([0.5; 4]));
        let s = ColorState { logic: xor, ..state(0xd6) };
        assert_eq!(write(&s, float([1.0; 4]), [0x0f; 4])[0], !0);
    }

    #[test]
    fn each_covered_sample_is_blended_on_its_own() {
        let words: Vec<AtomicU32> = (0..128).map(|_| AtomicU32::new(0)).collect();
        let level = Level { order: Order::Blocks(TileMode(0)), offset: 0, pitch: 64, rows: 8, slices: 1 };
        let target = ColorTarget::new(&ColorState { blend: Some(OVER), ..state(0xd5) });
        let surface = Surface::new(&words, level, 0, 4, (1, 1));
        surface.store(surface.sample(1, 0, 2), [0xffff_ffff, 0, 0, 0]);
        let red = float([1.0, 0.0, 0.0, 0.5]);
        target.quad(&surface, 0, 0, [0, 0b0101, 0, 0], &[red; 4], &[[0; 4]; 4]);
        let texels = [0, 1, 2, 3].map(|s| surface.load(surface.sample(1, 0, s))[0]);
        // 0.5 * 255 = 127.5 is 128; alpha 0.25 is 64, and 0.25 + 0.5 is 191.
        assert_eq!(texels, [0x4000_0080, 0, 0xbf80_80ff, 0]);
    }

    #[test]
    fn many_pixels_are_blended_as_each_is() {
        let mut random = nvir_base::random::Random::new(7);
        let operations = [0x8006, 0x8007, 0x8008, 0x800a, 0x800b].map(|c| Operation::from_code(c).unwrap());
        let codes =
            [0x4000, 0x4001].into_iter().chain(0x4300..0x4309).chain(0xc001..0xc005).chain(0xc900..0xc904);
        let factors: Vec<Factor> = codes.map(|c| Factor::from_code(c).unwrap()).collect();
        let special = [f32::NAN, f32::INFINITY, -1.0, 0.0, 1.0, 2.0];
        for n in 0..2000 {
            let mut equation = || Equation {
                operation: *random.of_list(&operations),
                source: *random.of_list(&factors),
                destination: *random.of_list(&factors),
            };
            let (color, alpha) = (equation(), equation());
            let alpha = if n % 2 == 0 { color } else { alpha };
            let mut value = || match random.below(8) {
                0 => *random.of_list(&special),
                _ => random.below(1 << 16) as f32 / 65535.0,
            };
            let blend = BlendState { color, alpha, constant: [0; 4].map(|_| value()), zero: ZeroRule::Ieee };
            let zero = if n % 3 == 0 { ZeroRule::ZeroWins } else { ZeroRule::Ieee };
            let clamp = if n % 5 == 0 { ColorClamp::On } else { ColorClamp::Off };
            let code = if n % 7 < 3 { 0xcf } else { 0xd5 };
            let state = ColorState { blend: Some(BlendState { zero, ..blend }), clamp, ..state(code) };
            let [first, second] = [0; 2].map(|_| [0; 4].map(|_| [0; 8].map(|_| value().to_bits())));
            let old: [u32; 8] = [0; 8].map(|_| random.word() as u32);
            let target = ColorTarget::new(&state);
            let all =
                target.blended(&first.each_ref(), &second.each_ref(), &old).expect("words of fractions");
            for i in 0..8 {
                let [color, second] = [first, second].map(|c| c.map(|channel| channel[i]));
                let one = target.combine(target.clamped(color), second, [old[i], 0, 0, 0])[0];
                assert_eq!(all[i], one, "{state:?} {color:x?} {second:x?} {:#x}", old[i]);
            }
        }
        let float = ColorState { blend: Some(OVER), ..state(0xc0) };
        assert!(!ColorTarget::new(&float).blends_words() && !ColorTarget::new(&state(0xd5)).blends_words());
    }
}
