//! What a fragment program leaves, tested and written: the raster operations of a draw in order.

use super::raster::{self, Shape};
use super::regs::View;
use super::rop::alpha::{self, AlphaTest};
use super::rop::color::Colors;
use super::rop::depth_stencil::{DepthSource, Depths, SamplePlaces};
use super::target::{Layer, Targets};
use crate::device::EngineResult;
use nvir_emu::stage::batch::{FragmentResults, Fragments, Quad};

/// The layer and viewport of a primitive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub layer: u32,
    pub viewport: u32,
}

/// State of fragments between the rasteriser and memory.
pub(super) struct FragmentState {
    /// Depth and stencil are tested before the program runs.
    early: bool,
    /// The program runs once for each sample.
    per_sample: bool,
    /// The program's sample mask counts, alpha becomes coverage and 1.
    multisampled: bool,
    alpha_to_coverage: bool,
    alpha_to_one: bool,
    alpha_test: Option<AlphaTest>,
    samples: u32,
    places: SamplePlaces,
}

impl FragmentState {
    pub fn new(view: View<'_>) -> EngineResult<FragmentState> {
        let samples = view.sample_state();
        let control = view.multisample_control();
        let multisampled = samples.at == raster::SampleAt::Samples;
        Ok(FragmentState {
            early: view.tests_early(),
            per_sample: view.runs_per_sample() && samples.count > 1,
            multisampled,
            alpha_to_coverage: multisampled && control.alpha_to_coverage(),
            alpha_to_one: multisampled && control.alpha_to_one(),
            alpha_test: view.alpha_test()?,
            samples: samples.count,
            places: SamplePlaces::new(&samples),
        })
    }
}

/// The fragments of a batch on their way.
#[derive(Default)]
pub(super) struct Output {
    /// The quad of the rasteriser that each quad of the program is.
    origins: Vec<u32>,
}

/// A batch with what its shapes share.
pub(super) struct Work<'a, 'm> {
    pub view: View<'a>,
    pub state: &'a FragmentState,
    pub targets: &'a Targets<'m>,
    pub batch: &'a raster::Batch,
    /// The place of each shape.
    pub places: &'a [Place],
}

const ONE: f32 = 1.0;

impl<'m> Work<'_, 'm> {
    fn shape(&self, quad: &raster::Quad) -> (&Shape, Place) {
        (&self.batch.shapes[quad.shape as usize], self.places[quad.shape as usize])
    }

    /// Tests what is covered of a quad against the depth buffer.
    fn test(
        &self,
        layer: &Layer<'m>,
        quad: &raster::Quad,
        cover: [u8; 4],
        written: Option<[f32; 4]>,
    ) -> [u8; 4] {
        let (shape, place) = self.shape(quad);
        let depths = || Depths {
            source: written.map_or(DepthSource::Plane(shape), DepthSource::Written),
            range: self.view.depth_range(place.viewport),
            places: &self.state.places,
            at: [quad.x.into(), quad.y.into()],
        };
        self.targets.test(layer, cover, shape.front, depths)
    }
}

impl Output {
    /// Gives the program its quads. How many pixels it runs for.
    pub fn prepare(&mut self, work: &Work<'_, '_>, fragments: &mut Fragments) -> EngineResult<u64> {
        self.origins.clear();
        let mut pixels = 0;
        let mut layer = None;
        for (n, quad) in work.batch.quads.iter().enumerate() {
            let mut cover = quad.cover;
            if work.state.early {
                let layer = work.targets.switch(&mut layer, work.shape(quad).1.layer)?;
                cover = work.test(layer, quad, cover, None);
            }
            let at = [quad.x.into(), quad.y.into()];
            let mut add = |quad: Quad| {
                if quad.live != 0 {
                    pixels += u64::from(quad.live.count_ones());
                    fragments.quad(quad);
                    self.origins.push(n as u32);
                }
            };
            if !work.state.per_sample {
                add(Quad::new(quad.shape, at, cover));
                continue;
            }
            for sample in 0..work.state.samples as u8 {
                let one = Quad::new(quad.shape, at, cover.map(|c| c & 1 << sample));
                add(Quad { sample: Some(sample), ..one });
            }
        }
        Ok(pixels)
    }

    /// Writes what the program left. How many samples passed.
    pub fn write(
        &self,
        work: &Work<'_, '_>,
        fragments: &Fragments,
        results: &FragmentResults,
    ) -> EngineResult<u64> {
        let state = work.state;
        let mut passed = 0;
        let mut layer = None;
        for (k, (&origin, ran)) in self.origins.iter().zip(&fragments.quads).enumerate() {
            let quad = &work.batch.quads[origin as usize];
            let live = results.live(k);
            let mut cover: [u8; 4] =
                std::array::from_fn(|p| if live >> p & 1 != 0 { ran.cover[p] } else { 0 });
            if let Some(mask) = results.sample_mask(k).filter(|_| state.multisampled) {
                cover.iter_mut().zip(mask).for_each(|(c, m)| *c &= *m as u8);
            }
            self.alpha(state, results, k, &mut cover);
            let layer = work.targets.switch(&mut layer, work.shape(quad).1.layer)?;
            if !state.early && cover != [0; 4] {
                let written = results.depth(k).map(|z| z.map(f32::from_bits));
                cover = work.test(layer, quad, cover, written);
            }
            if cover == [0; 4] {
                continue;
            }
            passed += u64::from(u32::from_le_bytes(cover).count_ones());
            let smooth = work.batch.coverage.get(origin as usize);
            let colors = |output: u32| self.colors(state, results, (k, output), smooth);
            work.targets.write(layer, [quad.x.into(), quad.y.into()], cover, colors);
        }
        Ok(passed)
    }

    /// What the alpha of the first output does to coverage.
    fn alpha(&self, state: &FragmentState, results: &FragmentResults, k: usize, cover: &mut [u8; 4]) {
        if !state.alpha_to_coverage && state.alpha_test.is_none() {
            return;
        }
        let alphas = results.color(k, 0, 3).map_or([ONE; 4], |row| row.map(f32::from_bits));
        for (cover, alpha) in cover.iter_mut().zip(alphas) {
            if state.alpha_to_coverage {
                *cover &= alpha::to_coverage(alpha, state.samples);
            }
            if state.alpha_test.is_some_and(|test| !test.passes(alpha)) {
                *cover = 0;
            }
        }
    }

    /// An output of a quad's pixels, if the program has it.
    fn colors(
        &self,
        state: &FragmentState,
        results: &FragmentResults,
        (k, output): (usize, u32),
        smooth: Option<&[f32; 4]>,
    ) -> Option<Colors> {
        let rows = [0, 1, 2, 3].map(|c| results.color(k, output as usize, c));
        if rows.iter().all(Option::is_none) {
            return None;
        }
        let mut colors: Colors = [[0, 0, 0, ONE.to_bits()]; 4];
        for (c, row) in rows.into_iter().enumerate() {
            let Some(row) = row else { continue };
            colors.iter_mut().zip(row).for_each(|(color, word)| color[c] = *word);
        }
        if state.alpha_to_one {
            colors.iter_mut().for_each(|color| color[3] = ONE.to_bits());
        }
        if let Some(parts) = smooth {
            for (color, part) in colors.iter_mut().zip(parts) {
                color[3] = (f32::from_bits(color[3]) * part).to_bits();
            }
        }
        Some(colors)
    }
}
