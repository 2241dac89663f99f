//! The depth test alone, of many quads of one shape at once: what draws test most. Depths are computed, rounded and compared as rows,
//! by the operations that [`DepthStencil::quad`] has for each sample in the same order, so the results are the same bits.

use super::super::clip::Outside;
use super::Compare;
use super::depth_stencil::{DepthSource, DepthStencil, Depths, Layout, Number};
use crate::image::texels::Surface;
use nvir_simd::{Features, Kernel, Processor};

/// Quads that are tested at once, at most, and their pixels.
pub(crate) const QUADS: usize = 8;
const PIXELS: usize = 4 * QUADS;

type Words = [u32; PIXELS];

/// The first pixels of quads, and what the texels of all pixels hold.
struct Pixels {
    at: [[u16; QUADS]; 2],
    old: Words,
}

/// What depths lie in, and how they are stored.
struct Plane {
    depth: [f64; 3],
    /// Where in its pixel the sample is.
    sample: [f64; 2],
    /// What depths are clamped to.
    range: [Option<f64>; 2],
    /// The largest fraction.
    scale: f64,
    mask: u32,
    shift: u32,
}

/// For which of less, equal, greater and neither a depth passes: all bits or none.
type Passing = [u32; 4];

fn passing(compare: Compare) -> Passing {
    let [less, equal, greater, neither] = [1, 2, 4, 8];
    let set = match compare {
        Compare::Never => 0,
        Compare::Less => less,
        Compare::Equal => equal,
        Compare::LessOrEqual => less | equal,
        Compare::Greater => greater,
        Compare::NotEqual => less | greater | neither,
        Compare::GreaterOrEqual => greater | equal,
        Compare::Always => less | equal | greater | neither,
    };
    std::array::from_fn(|n| if set >> n & 1 != 0 { u32::MAX } else { 0 })
}

/// Tests pixels, and gives those that pass, a bit each, and the texels of these.
struct Test<const FLOAT: bool>;

impl<const FLOAT: bool> Kernel<Words, Pixels, Plane, Passing, u32> for Test<FLOAT> {
    #[inline(always)]
    fn run<F: Features>(
        texels: &mut Words,
        Pixels { at, old }: &Pixels,
        plane: &Plane,
        [less, equal, greater, neither]: &Passing,
        _: u32,
    ) -> u32 {
        let ([a, b, c], [low, high], [dx, dy]) = (plane.depth, plane.range, plane.sample);
        let (mut x, mut y) = ([0.0; PIXELS], [0.0; PIXELS]);
        for quad in 0..QUADS {
            for pixel in 0..4 {
                let [column, row] = [pixel & 1, pixel >> 1].map(|n| n as i32);
                x[4 * quad + pixel] = f64::from(i32::from(at[0][quad]) + column) + dx;
                y[4 * quad + pixel] = f64::from(i32::from(at[1][quad]) + row) + dy;
            }
        }
        let mut new = [0; PIXELS];
        for (i, new) in new.iter_mut().enumerate() {
            let z = a * x[i] + b * y[i] + c;
            let z = low.map_or(z, |low| z.max(low));
            let z = high.map_or(z, |high| z.min(high));
            *new = if FLOAT { (z as f32).to_bits() } else { Layout::fraction(z, plane.scale) };
        }
        let others = !(plane.mask << plane.shift);
        let mut passes = [0; PIXELS];
        for i in 0..PIXELS {
            let stored = old[i] >> plane.shift & plane.mask;
            let all = |holds: bool| if holds { u32::MAX } else { 0 };
            let [is_less, is_equal, is_greater] = if FLOAT {
                let (new, stored) = (f32::from_bits(new[i]), f32::from_bits(stored));
                [all(new < stored), all(new == stored), all(new > stored)]
            } else {
                // Fractions have less than 31 bits.
                let (new, stored) = (new[i] as i32, stored as i32);
                [all(new < stored), all(new == stored), all(new > stored)]
            };
            let is_neither = !(is_less | is_equal | is_greater);
            passes[i] = is_less & less | is_equal & equal | is_greater & greater | is_neither & neither;
        }
        for i in 0..PIXELS {
            texels[i] = old[i] & others | new[i] << plane.shift;
        }
        (0..PIXELS).fold(0, |mask, i| mask | passes[i] & 1 << i)
    }
}

impl DepthStencil {
    /// Tests the covered pixels of quads of one shape, writes what they change, and leaves those that pass; or does nothing, as it
    /// is not this that is tested. `depths` are those of any of the quads, all of which begin at even pixels and none of which is
    /// there twice.
    pub(crate) fn quads(
        &self,
        processor: Processor,
        surface: &Surface<'_>,
        depths: &Depths<'_>,
        quads: &[[u16; 2]],
        covers: &mut [[u8; 4]],
    ) -> bool {
        let (Some(test), DepthSource::Plane(shape), Some([dx, dy])) =
            (self.alone, depths.source, depths.places.one())
        else {
            return false;
        };
        if !surface.has_one_sample() || quads.len() > QUADS {
            return false;
        }
        let mut pixels = Pixels { at: [[0; QUADS]; 2], old: [0; PIXELS] };
        let (mut places, mut covered) = ([0; PIXELS], 0u32);
        for (n, (&[x, y], cover)) in quads.iter().zip(covers.iter()).enumerate() {
            (pixels.at[0][n], pixels.at[1][n]) = (x, y);
            surface.covered(x.into(), y.into(), *cover, |pixel, _, at| {
                let i = 4 * n + pixel;
                covered |= 1 << i;
                (places[i], pixels.old[i]) = (at, surface.word(at));
            });
        }
        let layout = &self.layout;
        let clamp = |end: f32, at: Outside| (at == Outside::Clamp).then_some(f64::from(end));
        let range = &depths.range;
        let plane = Plane {
            depth: shape.depth,
            sample: [dx, dy],
            range: [clamp(range.min, range.below), clamp(range.max, range.above)],
            scale: layout.mask().into(),
            mask: layout.mask(),
            shift: layout.shift,
        };
        let mut texels = [0; PIXELS];
        let form = match layout.depth {
            Number::Float => processor.compiled::<Test<true>, _, _, _, _, _>(),
            Number::Unorm(_) => processor.compiled::<Test<false>, _, _, _, _, _>(),
        };
        let passes = form(&mut texels, &pixels, &plane, &passing(test.func), 0) & covered;
        if test.write {
            let mut left = passes;
            while left != 0 {
                let i = left.trailing_zeros() as usize;
                left &= left - 1;
                surface.set_word(places[i], texels[i]);
            }
        }
        for (n, cover) in covers.iter_mut().enumerate() {
            *cover = std::array::from_fn(|pixel| (passes >> (4 * n + pixel) & 1) as u8);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::clip::DepthRange;
    use super::super::super::raster::{SampleAt, SampleState, Shape};
    use super::super::depth_stencil::{DepthStencilState, DepthTest, SamplePlaces};
    use super::*;
    use nvir_base::tiling::{Level, Order, TileMode};
    use nvir_hw::format::zeta::Zeta;
    use std::sync::atomic::AtomicU32;

    #[test]
    fn quads_are_tested_as_each_is() {
        let mut random = nvir_base::random::Random::new(34);
        let level =
            Level { order: Order::Blocks(TileMode(0x10)), offset: 0, pitch: 256, rows: 32, slices: 1 };
        let places = SamplePlaces::new(&SampleState { count: 1, at: SampleAt::Samples, mask: [0xff; 4] });
        let formats = [Zeta::Z16, Zeta::S8Z24, Zeta::Z24X8, Zeta::Z24S8, Zeta::Z32, Zeta::Z32S8];
        let mut rows = 0;
        for round in 0..1500 {
            let format = *random.of_list(&formats);
            let func = Compare::from_code(0x200 + random.below(8) as u32).unwrap();
            let state = DepthStencilState {
                depth: Some(DepthTest { func, write: round % 3 != 0 }),
                ..DepthStencilState::default()
            };
            let mut slope = || random.below(2048) as f64 / 32768.0 - 0.03125;
            let mut depth = [slope(), slope(), slope() + 0.5];
            if round % 50 == 0 {
                depth[round / 50 % 3] = [f64::NAN, -0.0, f64::INFINITY][round / 150 % 3];
            }
            let shape = Shape::of_depth(depth);
            let mut end = |v: f32| (v, if random.below(2) == 0 { Outside::Clamp } else { Outside::Kill });
            let range = DepthRange::new(end(0.0), end(1.0));
            let depths = |at: [u16; 2]| Depths {
                source: DepthSource::Plane(&shape),
                range,
                places: &places,
                at: at.map(u32::from),
            };
            // Some equal what is compared with them.
            let words: Vec<u32> = (0..64 * 32)
                .map(|_| match (format, random.below(4)) {
                    (_, 0) => 0x8000_8080,
                    (Zeta::Z32, 1) => *random.of_list(&[0x7fc0_0000, 0x8000_0000, 0x7f80_0000]),
                    (Zeta::Z32, _) => random.word() as u32 & 0x3f7f_ffff,
                    _ => random.word() as u32,
                })
                .collect();
            let first = random.below(16) as u16 * 2;
            let count = 1 + random.below(QUADS as u64) as usize;
            let quads: Vec<[u16; 2]> =
                (0..count).map(|n| [first + 2 * n as u16, 2 * (n as u16 % 3)]).collect();
            let covers: Vec<[u8; 4]> = quads.iter().map(|_| [0; 4].map(|_| random.below(2) as u8)).collect();
            let test = DepthStencil::new(&state, format);
            let run = |processor: Option<Processor>| {
                let memory: Vec<AtomicU32> = words.iter().map(|w| AtomicU32::new(*w)).collect();
                let surface = Surface::new(&memory, level, 0, format.bytes(), (0, 0));
                let mut passed = covers.clone();
                let at_once = processor
                    .is_some_and(|p| test.quads(p, &surface, &depths(quads[0]), &quads, &mut passed));
                if !at_once {
                    for (at, cover) in quads.iter().zip(&mut passed) {
                        *cover = test.quad(&surface, *cover, true, &depths(*at));
                    }
                }
                let words: Vec<u32> = memory.into_iter().map(AtomicU32::into_inner).collect();
                ((passed, words), at_once)
            };
            let wanted = run(None).0;
            for processor in Processor::all() {
                let (found, at_once) = run(Some(processor));
                assert_eq!(found, wanted, "{format:?} {state:?} {depth:?} {range:?} {processor:?}");
                assert_eq!(at_once, format.bytes() == 4, "{format:?}");
                rows += usize::from(at_once);
            }
        }
        assert!(rows > 500, "{rows}");
    }
}
