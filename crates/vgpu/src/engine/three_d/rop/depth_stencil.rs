//! Depth bounds, stencil and depth tests of quads, in that order, and what they write.
//!
//! Depths of 16 and 24 bits are compared as integers, the new one rounded as it would be stored (ties to even).

use super::super::clip::DepthRange;
use super::super::raster::{SampleAt, SampleState, Shape};
use super::{Compare, passes};
use crate::image::surface_format::Raw;
use crate::image::texels::Surface;
use nvir_hw::format::zeta::Zeta;
use nvir_hw::samples::sample_position;

pub(crate) use nvir_hw::state::StencilOp;

/// What a stencil operation makes of the stored value.
#[inline]
fn apply(op: StencilOp, stored: u8, reference: u8) -> u8 {
    match op {
        StencilOp::Keep => stored,
        StencilOp::Zero => 0,
        StencilOp::Replace => reference,
        StencilOp::Increment => stored.saturating_add(1),
        StencilOp::Decrement => stored.saturating_sub(1),
        StencilOp::Invert => !stored,
        StencilOp::IncrementWrap => stored.wrapping_add(1),
        StencilOp::DecrementWrap => stored.wrapping_sub(1),
    }
}

/// The stencil test of one side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct StencilFace {
    pub func: Compare,
    pub reference: u8,
    /// The bits that are compared.
    pub func_mask: u8,
    /// The bits that are written.
    pub write_mask: u8,
    pub fail: StencilOp,
    pub depth_fail: StencilOp,
    pub pass: StencilOp,
}

impl StencilFace {
    #[inline]
    fn passes(&self, stored: u8) -> bool {
        passes(self.func, self.reference & self.func_mask, stored & self.func_mask)
    }

    #[inline]
    fn update(&self, op: StencilOp, stored: u8) -> u8 {
        stored & !self.write_mask | apply(op, stored, self.reference) & self.write_mask
    }
}

/// The depth test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DepthTest {
    pub func: Compare,
    /// Whether depths that pass are written.
    pub write: bool,
}

/// All tests on the depth buffer.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct DepthStencilState {
    pub depth: Option<DepthTest>,
    /// The least and the greatest stored depth with which a sample passes.
    pub bounds: Option<[f32; 2]>,
    /// Of front and back.
    pub stencil: Option<[StencilFace; 2]>,
}

/// Where fragments' depths come from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum DepthSource<'a> {
    /// The rasteriser.
    Plane(&'a Shape),
    /// The shader, for each pixel of the quad.
    Written([f32; 4]),
}

/// Depths of the samples of a quad.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Depths<'a> {
    pub source: DepthSource<'a>,
    /// Of the viewport.
    pub range: DepthRange,
    pub places: &'a SamplePlaces,
    /// Of the quad's first pixel.
    pub at: [u32; 2],
}

/// Where the samples of a pixel are, for depth.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct SamplePlaces {
    /// 1 where all samples are at the centre.
    count: u32,
    x: [f64; 8],
    y: [f64; 8],
}

impl SamplePlaces {
    pub(crate) fn new(state: &SampleState) -> SamplePlaces {
        let count = if state.at == SampleAt::Centre { 1 } else { state.count };
        let along = |axis: usize| std::array::from_fn(|s| sample_position(count, s as u32)[axis].into());
        SamplePlaces { count, x: along(0), y: along(1) }
    }

    /// Where in its pixel the sample is, if all samples of a pixel are there.
    pub(super) fn one(&self) -> Option<[f64; 2]> {
        (self.count == 1).then_some([self.x[0], self.y[0]])
    }
}

impl Depths<'_> {
    #[inline]
    fn depth(&self, pixel: usize, sample: u32) -> f64 {
        match self.source {
            DepthSource::Written(z) => self.range.clamp_written(z[pixel].into()),
            DepthSource::Plane(shape) => self.on(shape, pixel, sample as usize & 7),
        }
    }

    /// The depth of a shape at a sample.
    #[inline]
    fn on(&self, shape: &Shape, pixel: usize, sample: usize) -> f64 {
        let x = f64::from(self.at[0] + (pixel as u32 & 1)) + self.places.x[sample];
        let y = f64::from(self.at[1] + (pixel as u32 >> 1)) + self.places.y[sample];
        self.range.clamp(shape.depth_at(x, y))
    }

    /// The depths of a shape at all samples, of which a pixel has so many places.
    #[inline]
    fn all<const PLACES: usize>(&self, shape: &Shape) -> [[f64; PLACES]; 4] {
        std::array::from_fn(|pixel| std::array::from_fn(|sample| self.on(shape, pixel, sample)))
    }
}

/// Where depth and stencil are in a texel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Layout {
    pub(super) depth: Number,
    /// Of the depth in the first word.
    pub(super) shift: u32,
    /// Word and shift of the stencil, if there is one.
    stencil: Option<(usize, u32)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Number {
    Unorm(u32),
    Float,
}

impl Layout {
    fn new(format: Zeta) -> Layout {
        let (depth, shift, stencil) = match format {
            Zeta::Z16 => (Number::Unorm(16), 0, None),
            Zeta::S8Z24 => (Number::Unorm(24), 8, Some((0, 0))),
            Zeta::Z24X8 => (Number::Unorm(24), 0, None),
            Zeta::Z24S8 => (Number::Unorm(24), 0, Some((0, 24))),
            Zeta::Z32 => (Number::Float, 0, None),
            Zeta::Z32S8 => (Number::Float, 0, Some((1, 0))),
        };
        Layout { depth, shift, stencil }
    }

    /// The bits of a depth.
    pub(super) fn mask(&self) -> u32 {
        match self.depth {
            Number::Unorm(bits) => ((1u64 << bits) - 1) as u32,
            Number::Float => !0,
        }
    }

    /// A depth as it is stored; NaN is 0 where it is a fraction.
    #[inline]
    fn quantize(&self, z: f64) -> u32 {
        match self.depth {
            Number::Float => (z as f32).to_bits(),
            Number::Unorm(_) => Layout::fraction(z, self.mask().into()),
        }
    }

    /// A depth as a fraction of the largest one.
    #[inline(always)]
    pub(super) fn fraction(z: f64, scale: f64) -> u32 {
        let z = if z > 0.0 { z.min(1.0) } else { 0.0 };
        // The last bit of a number this large is 1: the addition rounds, ties to even.
        const ROUND: f64 = (1u64 << 52) as f64;
        (z * scale + ROUND).to_bits() as u32
    }

    #[inline]
    fn passes(&self, func: Compare, new: u32, old: u32) -> bool {
        match self.depth {
            Number::Unorm(_) => passes(func, new, old),
            Number::Float => passes(func, f32::from_bits(new), f32::from_bits(old)),
        }
    }

    #[inline]
    fn depth(&self, raw: &Raw) -> u32 {
        raw[0] >> self.shift & self.mask()
    }

    #[inline]
    fn set_depth(&self, raw: &mut Raw, depth: u32) {
        raw[0] = raw[0] & !(self.mask() << self.shift) | depth << self.shift;
    }
}

/// The tests of a draw on a depth buffer of one format.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct DepthStencil {
    state: DepthStencilState,
    pub(super) layout: Layout,
    /// The bounds as they would be stored.
    bounds: Option<[u32; 2]>,
    does_nothing: bool,
    /// The depth test, if there is no other and texels are words.
    pub(super) alone: Option<DepthTest>,
}

impl DepthStencil {
    pub(crate) fn new(state: &DepthStencilState, format: Zeta) -> DepthStencil {
        let layout = Layout::new(format);
        let bounds = state.bounds.map(|b| b.map(|z| layout.quantize(z.into())));
        let does_nothing = *state == DepthStencilState::default();
        let only_depth = state.bounds.is_none() && state.stencil.is_none() && format.bytes() == 4;
        let alone = state.depth.filter(|_| only_depth);
        DepthStencil { state: *state, layout, bounds, does_nothing, alone }
    }

    /// Whether all samples pass and nothing is written.
    pub(crate) fn does_nothing(&self) -> bool {
        self.does_nothing
    }

    /// Tests the covered samples of a quad, writes what they change, and gives those that pass. The quad's first pixel
    /// has even numbers.
    pub(crate) fn quad(
        &self,
        surface: &Surface<'_>,
        cover: [u8; 4],
        front: bool,
        depths: &Depths<'_>,
    ) -> [u8; 4] {
        if self.does_nothing {
            return cover;
        }
        if let (Some(test), DepthSource::Plane(shape)) = (self.alone, depths.source) {
            return match depths.places.count {
                1 => self.depths_alone::<1>(test, surface, cover, shape, depths),
                2 => self.depths_alone::<2>(test, surface, cover, shape, depths),
                4 => self.depths_alone::<4>(test, surface, cover, shape, depths),
                _ => self.depths_alone::<8>(test, surface, cover, shape, depths),
            };
        }
        let stencil = self.state.stencil.as_ref().map(|s| &s[usize::from(!front)]);
        let mut passed = [0; 4];
        let [x, y] = depths.at;
        surface.covered(x, y, cover, |pixel, sample, at| {
            let old = surface.load(at);
            let mut new = old;
            let depth = || depths.depth(pixel, sample);
            passed[pixel] |= u8::from(self.sample(&mut new, stencil, depth)) << sample;
            if new != old {
                surface.store(at, new);
            }
        });
        passed
    }

    /// The same where only depths of a shape are tested, which are words: all of a quad are computed at once.
    fn depths_alone<const PLACES: usize>(
        &self,
        test: DepthTest,
        surface: &Surface<'_>,
        cover: [u8; 4],
        shape: &Shape,
        depths: &Depths<'_>,
    ) -> [u8; 4] {
        let layout = &self.layout;
        let new = depths.all::<PLACES>(shape).map(|pixel| pixel.map(|z| layout.quantize(z)));
        let others = !(layout.mask() << layout.shift);
        let mut passed = [0; 4];
        let [x, y] = depths.at;
        surface.covered(x, y, cover, |pixel, sample, at| {
            let old = surface.word(at);
            let new = new[pixel][sample as usize % PLACES];
            if layout.passes(test.func, new, old >> layout.shift & layout.mask()) {
                passed[pixel] |= 1 << sample;
                if test.write {
                    surface.set_word(at, old & others | new << layout.shift);
                }
            }
        });
        passed
    }

    /// Tests a sample against its texel, and changes that.
    #[inline]
    fn sample(&self, raw: &mut Raw, stencil: Option<&StencilFace>, depth: impl Fn() -> f64) -> bool {
        let layout = &self.layout;
        let stored = layout.depth(raw);
        if let Some([low, high]) = self.bounds
            && !(layout.passes(Compare::GreaterOrEqual, stored, low)
                && layout.passes(Compare::LessOrEqual, stored, high))
        {
            return false;
        }
        let stencil = stencil.zip(layout.stencil);
        let stencil_passes =
            stencil.is_none_or(|(face, (word, shift))| face.passes((raw[word] >> shift) as u8));
        let mut passes = stencil_passes;
        if stencil_passes && let Some(test) = self.state.depth {
            let new = layout.quantize(depth());
            passes = layout.passes(test.func, new, stored);
            if passes && test.write {
                layout.set_depth(raw, new);
            }
        }
        if let Some((face, (word, shift))) = stencil {
            let op = match (stencil_passes, passes) {
                (false, _) => face.fail,
                (true, false) => face.depth_fail,
                (true, true) => face.pass,
            };
            let new = face.update(op, (raw[word] >> shift) as u8);
            raw[word] = raw[word] & !(0xff << shift) | u32::from(new) << shift;
        }
        passes
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::clip::Outside;
    use super::*;
    use nvir_base::tiling::{Level, Order, TileMode};
    use std::sync::atomic::AtomicU32;

    const LESS: DepthStencilState = DepthStencilState {
        depth: Some(DepthTest { func: Compare::Less, write: true }),
        bounds: None,
        stencil: None,
    };

    const FACE: StencilFace = StencilFace {
        func: Compare::Always,
        reference: 0x35,
        func_mask: 0xff,
        write_mask: 0xff,
        fail: StencilOp::Keep,
        depth_fail: StencilOp::Keep,
        pass: StencilOp::Keep,
    };

    /// Whether a depth passes, and the texel afterwards.
    fn test(state: &DepthStencilState, format: Zeta, z: f64, old: [u32; 2]) -> (bool, [u32; 2]) {
        let mut raw = [old[0], old[1], 0, 0];
        let face = state.stencil.as_ref().map(|s| &s[0]);
        let passes = DepthStencil::new(state, format).sample(&mut raw, face, || z);
        (passes, [raw[0], raw[1]])
    }

    #[test]
    fn depth_of_every_format() {
        // Stored: 0.5 and something beside it; new: a quarter, and three quarters.
        let cases = [
            (Zeta::Z16, [0x8000, 0], [0x4000, 0]),
            (Zeta::S8Z24, [0x8000_0077, 0], [0x4000_0077, 0]),
            (Zeta::Z24X8, [0x7780_0000, 0], [0x7740_0000, 0]),
            (Zeta::Z24S8, [0x7780_0000, 0], [0x7740_0000, 0]),
            (Zeta::Z32, [0x3f00_0000, 0], [0x3e80_0000, 0]),
            (Zeta::Z32S8, [0x3f00_0000, 0x1177], [0x3e80_0000, 0x1177]),
        ];
        for (format, old, new) in cases {
            assert_eq!(test(&LESS, format, 0.75, old), (false, old), "{format:?}");
            assert_eq!(test(&LESS, format, 0.25, old), (true, new), "{format:?}");
            let read_only =
                DepthStencilState { depth: Some(DepthTest { func: Compare::Less, write: false }), ..LESS };
            assert_eq!(test(&read_only, format, 0.25, old), (true, old), "{format:?}");
            let state = DepthStencilState { depth: None, bounds: Some([0.25, 0.5]), stencil: None };
            assert!(test(&state, format, 0.0, old).0, "{format:?}");
            let state = DepthStencilState { bounds: Some([0.51, 1.0]), ..state };
            assert!(!test(&state, format, 0.0, old).0, "{format:?}");
        }
        // Rounded as stored: 0.7 is within bounds of 0.7.
        let state = DepthStencilState { depth: None, bounds: Some([0.7, 0.7]), stencil: None };
        assert!(test(&state, Zeta::Z16, 0.0, [(f64::from(0.7f32) * 65535.0).round() as u32, 0]).0);
        // Outside of fractions, and NaN.
        let always =
            DepthStencilState { depth: Some(DepthTest { func: Compare::Always, write: true }), ..LESS };
        let stored = [-1.0, 2.0, f64::NAN].map(|z| test(&always, Zeta::Z16, z, [5, 0]).1[0]);
        assert_eq!(stored, [0, 0xffff, 0]);
        assert_eq!(test(&always, Zeta::Z32, 2.0, [5, 0]).1[0], 0x4000_0000);
    }

    #[test]
    fn every_stencil_operation() {
        assert_eq!(StencilOp::from_code(0x1e04), None);
        let cases = [
            (0, [0, 0, 0]),
            (0x150a, [0xff, 0x7f, 0]),
            (0x1e00, [0, 0x80, 0xff]),
            (0x1e01, [0x35; 3]),
            (0x1e02, [1, 0x81, 0xff]),
            (0x1e03, [0, 0x7f, 0xfe]),
            (0x8507, [1, 0x81, 0]),
            (0x8508, [0xff, 0x7f, 0xfe]),
        ];
        for (code, want) in cases {
            let pass = StencilOp::from_code(code).unwrap();
            for (stored, want) in [0u32, 0x80, 0xff].into_iter().zip(want) {
                for (format, shift) in [(Zeta::S8Z24, 0), (Zeta::Z24S8, 24)] {
                    let state = DepthStencilState {
                        stencil: Some([StencilFace { pass, ..FACE }; 2]),
                        ..Default::default()
                    };
                    assert_eq!(
                        test(&state, format, 0.0, [stored << shift, 0]).1[0],
                        want << shift,
                        "{pass:?}"
                    );
                }
                let masked = StencilFace { pass, write_mask: 0x0f, ..FACE };
                let state = DepthStencilState { stencil: Some([masked; 2]), ..Default::default() };
                let new = test(&state, Zeta::Z32S8, 0.0, [9, stored | 0xaa00]).1;
                assert_eq!(new, [9, 0xaa00 | stored & 0xf0 | want & 0x0f], "{pass:?}");
            }
        }
    }

    #[test]
    fn depths_alone_are_tested_as_with_other_tests() {
        let mut random = nvir_base::random::Random::new(3);
        let level =
            Level { order: Order::Blocks(TileMode(0x10)), offset: 0, pitch: 256, rows: 32, slices: 1 };
        let layouts = [Zeta::S8Z24, Zeta::Z24X8, Zeta::Z24S8, Zeta::Z32];
        let codes = 0x200..0x208;
        for (format, code) in layouts.into_iter().flat_map(|f| codes.clone().map(move |c| (f, c))) {
            for (count, at, grid) in [
                (1, SampleAt::Samples, (0, 0)),
                (2, SampleAt::Samples, (1, 0)),
                (4, SampleAt::Samples, (1, 1)),
                (8, SampleAt::Samples, (2, 1)),
                (4, SampleAt::Centre, (1, 1)),
            ] {
                let test = DepthTest { func: Compare::from_code(code).unwrap(), write: code % 2 == 0 };
                let alone = DepthStencilState { depth: Some(test), ..Default::default() };
                // Bounds that everything is in.
                let with_others =
                    DepthStencilState { bounds: Some([f32::NEG_INFINITY, f32::INFINITY]), ..alone };
                let places = SamplePlaces::new(&SampleState { count, at, mask: [0xff; 4] });
                let slope = |n: u64| n as f64 / 1024.0 - 0.5;
                let shape = Shape::of_depth([slope(random.below(1024)), slope(random.below(1024)), 0.25]);
                let cover = [0; 4].map(|_| random.below(1 << count) as u8);
                let words: Vec<u32> = (0..64 * 32).map(|_| random.word() as u32 & 0x3f7f_ffff).collect();
                let [found, wanted] = [alone, with_others].map(|state| {
                    let memory: Vec<AtomicU32> = words.iter().map(|w| AtomicU32::new(*w)).collect();
                    let surface = Surface::new(&memory, level, 0, 4, grid);
                    let range = DepthRange::new((0.0, Outside::Clamp), (1.0, Outside::Kill));
                    let depths =
                        Depths { source: DepthSource::Plane(&shape), range, places: &places, at: [2, 4] };
                    let passed = DepthStencil::new(&state, format).quad(&surface, cover, true, &depths);
                    (passed, memory.into_iter().map(AtomicU32::into_inner).collect::<Vec<_>>())
                });
                assert_eq!(found, wanted, "{format:?} {test:?} {count}");
                assert!(found.0 != [0; 4] || code != 0x207 || cover == [0; 4]);
            }
        }
    }

    #[test]
    fn each_way_has_its_operation() {
        let face = StencilFace {
            func: Compare::Equal,
            reference: 0xf1,
            func_mask: 0x0f,
            fail: StencilOp::Zero,
            depth_fail: StencilOp::Increment,
            pass: StencilOp::Invert,
            ..FACE
        };
        let state = DepthStencilState { stencil: Some([face; 2]), ..LESS };
        let run = |stencil: u32, z| {
            let (passes, raw) = test(&state, Zeta::Z24S8, z, [stencil << 24 | 0x80_0000, 0]);
            (passes, raw[0] >> 24, raw[0] & 0xff_ffff)
        };
        assert_eq!(run(0x02, 0.25), (false, 0, 0x80_0000));
        assert_eq!(run(0x21, 0.75), (false, 0x22, 0x80_0000));
        assert_eq!(run(0x21, 0.25), (true, 0xde, 0x40_0000));
        // Outside the bounds nothing happens to the stencil.
        let bounds = DepthStencilState { bounds: Some([0.0, 0.1]), ..state };
        assert_eq!(test(&bounds, Zeta::Z24S8, 0.25, [0x0280_0000, 0]), (false, [0x0280_0000, 0]));
        // Without stencil bits the test passes.
        assert!(test(&state, Zeta::Z24X8, 0.25, [0x80_0000, 0]).0);
    }

    #[test]
    fn quads_by_sample_and_face() {
        let words: Vec<AtomicU32> = (0..128).map(|_| AtomicU32::new(0x80_0000)).collect();
        let level = Level { order: Order::Blocks(TileMode(0)), offset: 0, pitch: 64, rows: 8, slices: 1 };
        let surface = Surface::new(&words, level, 0, 4, (1, 0));
        let samples = SampleState { count: 2, at: SampleAt::Samples, mask: [0xff; 4] };
        let faces = [FACE, StencilFace { func: Compare::Never, ..FACE }];
        let tests = DepthStencil::new(&DepthStencilState { stencil: Some(faces), ..LESS }, Zeta::Z24S8);
        // Depth grows from 0.25 by a half each pixel: samples at 0.25 and 0.75 of the first pass, not of the second.
        let shape = Shape::of_depth([0.5, 0.0, 0.25]);
        let range = DepthRange::new((0.0, Outside::Kill), (1.0, Outside::Kill));
        let places = SamplePlaces::new(&samples);
        let depths = Depths { source: DepthSource::Plane(&shape), range, places: &places, at: [0, 0] };
        assert_eq!(tests.quad(&surface, [3; 4], false, &depths), [0; 4]);
        // 0.375 and 0.625; 0.875 and 1.125.
        assert_eq!(tests.quad(&surface, [3, 3, 2, 1], true, &depths), [1, 0, 0, 0]);
        assert_eq!(surface.load(surface.sample(0, 0, 0))[0], 0x60_0000);
        let written = Depths { source: DepthSource::Written([0.1, -1.0, 9.0, 0.9]), ..depths };
        assert_eq!(tests.quad(&surface, [2, 1, 1, 1], true, &written), [2, 1, 0, 0]);
        assert_eq!(surface.load(surface.sample(1, 0, 0))[0], 0);
    }
}
