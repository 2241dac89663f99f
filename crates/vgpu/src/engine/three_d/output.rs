//! What a fragment program leaves, tested and written: the raster operations of a draw in order.

use super::clip::DepthRange;
use super::raster::{self, Shape};
use super::regs::View;
use super::rop::alpha::{self, AlphaTest};
use super::rop::color::Colors;
use super::rop::depth_rows;
use super::rop::depth_stencil::{DepthSource, Depths, SamplePlaces};
use super::target::{Layer, Targets};
use crate::device::EngineResult;
use nvir_emu::stage::batch::{FragmentResults, Fragments, Quad};
use nvir_simd::Processor;

/// The layer of a primitive, and the depths of its viewport.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Place {
    pub layer: u32,
    pub range: DepthRange,
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
    processor: Processor,
}

impl FragmentState {
    pub(super) fn new(view: View<'_>) -> EngineResult<FragmentState> {
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
            processor: Processor::detect(),
        })
    }
}

/// The fragments of a batch on their way.
#[derive(Default)]
pub(super) struct Output {
    /// The quad of the rasteriser that each quad of the program is.
    origins: Vec<u32>,
    /// The samples of it that are written.
    covers: Vec<[u8; 4]>,
    /// The samples of it that come to the tests behind the program.
    tested: Vec<[u8; 4]>,
    /// Samples that passed before the program ran, where they are tested then.
    passed_early: u64,
}

/// Quads of a warp, and pixels.
const QUADS: usize = depth_rows::QUADS;
const PIXELS: usize = 4 * QUADS;

/// Fewer quads of a shape are tested one by one.
const FEW: usize = 3;

/// A colour of each pixel of a warp, component by component.
pub(super) type Rows<'r> = [&'r [u32; PIXELS]; 4];

/// What components have that a program does not give.
const ABSENT: Rows<'static> = [&[0; PIXELS], &[0; PIXELS], &[0; PIXELS], &[ONE.to_bits(); PIXELS]];

/// A batch with what its shapes share.
pub(super) struct Work<'a, 'm> {
    pub state: &'a FragmentState,
    pub targets: &'a Targets<'m>,
    pub batch: &'a raster::Batch,
    /// The place of each shape.
    pub places: &'a [Place],
}

const ONE: f32 = 1.0;

impl<'m> Work<'_, 'm> {
    pub(super) fn shape(&self, quad: &raster::Quad) -> (&Shape, Place) {
        (&self.batch.shapes[quad.shape as usize], self.places[quad.shape as usize])
    }

    /// Tests what is covered of quads against the depth buffer, in order. None of them is there twice; programs have written depths, if
    /// they do, by the number of the quad.
    fn test(
        &self,
        layer: &mut Option<Layer<'m>>,
        quads: &[&raster::Quad],
        covers: &mut [[u8; 4]],
        written: impl Fn(usize) -> Option<[f32; 4]>,
    ) -> EngineResult {
        let mut first = 0;
        for quads in quads.chunk_by(|a, b| a.shape == b.shape) {
            let covers = &mut covers[first..first + quads.len()];
            let (shape, place) = self.shape(quads[0]);
            let layer = self.targets.switch(layer, place.layer)?;
            let depths = |source, quad: &raster::Quad| Depths {
                source,
                range: place.range,
                places: &self.state.places,
                at: [quad.x.into(), quad.y.into()],
            };
            let source = DepthSource::Plane(shape);
            let is_row = quads.len() >= FEW && written(first).is_none();
            let mut at = [[0; 2]; QUADS];
            at.iter_mut().zip(quads).for_each(|(at, quad)| *at = [quad.x, quad.y]);
            let at = &at[..quads.len()];
            let processor = self.state.processor;
            if !(is_row && self.targets.test_quads(processor, layer, &depths(source, quads[0]), at, covers)) {
                for (n, (quad, cover)) in quads.iter().zip(covers).enumerate().filter(|(_, q)| *q.1 != [0; 4])
                {
                    let source = written(first + n).map_or(source, DepthSource::Written);
                    *cover = self.targets.test(layer, *cover, shape.front, || depths(source, quad));
                }
            }
            first += quads.len();
        }
        Ok(())
    }
}

impl Output {
    /// The program's quads that are of one of the rasteriser's.
    pub(super) fn of(&self, origin: u32) -> impl Iterator<Item = usize> {
        // They are in the order of their origins.
        let first = self.origins.partition_point(|&o| o < origin);
        (first..self.origins.len()).take_while(move |&k| self.origins[k] == origin)
    }

    /// The samples that are written of the program's quad `k`.
    pub(super) fn written(&self, k: usize) -> [u8; 4] {
        self.covers[k]
    }

    /// The samples that discards and masks leave of it.
    pub(super) fn tested(&self, k: usize) -> [u8; 4] {
        self.tested[k]
    }

    /// Gives the program its quads. How many pixels it runs for.
    pub(super) fn prepare(&mut self, work: &Work<'_, '_>, fragments: &mut Fragments) -> EngineResult<u64> {
        self.origins.clear();
        self.passed_early = 0;
        let mut pixels = 0;
        let mut layer = None;
        for (group, quads) in work.batch.quads.chunks(QUADS).enumerate() {
            let mut covers = [[0; 4]; QUADS];
            let covers = &mut covers[..quads.len()];
            covers.iter_mut().zip(quads).for_each(|(cover, quad)| *cover = quad.cover);
            if work.state.early {
                let quads: [&raster::Quad; QUADS] =
                    std::array::from_fn(|n| quads.get(n).unwrap_or(&quads[0]));
                work.test(&mut layer, &quads[..covers.len()], covers, |_| None)?;
                self.passed_early += covers.iter().map(|c| count(*c)).sum::<u64>();
            }
            for (n, (quad, &cover)) in quads.iter().zip(&*covers).enumerate() {
                let at = [quad.x.into(), quad.y.into()];
                let mut add = |quad: Quad| {
                    if quad.live != 0 {
                        pixels += u64::from(quad.live.count_ones());
                        fragments.quad(quad);
                        self.origins.push((QUADS * group + n) as u32);
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
        }
        Ok(pixels)
    }

    /// Writes what the program left. How many samples passed the tests of depth and stencil.
    pub(super) fn write(
        &mut self,
        work: &Work<'_, '_>,
        fragments: &Fragments,
        results: &FragmentResults,
    ) -> EngineResult<u64> {
        let written = self.test(work, fragments, results)?;
        let passed = if work.state.early { self.passed_early } else { written };
        if written == 0 {
            return Ok(passed);
        }
        let is_declared = |output: u32| (0..4).any(|c| results.color(0, output as usize, c).is_some());
        for (n, target) in work.targets.colors.iter().enumerate() {
            // What a program does not declare is written nowhere.
            if !target.rop.writes_nothing() && is_declared(target.output) {
                self.color(work, results, n)?;
            }
        }
        Ok(passed)
    }

    /// Finds the samples that are written, and tests them against the depth buffer. How many there are.
    fn test(
        &mut self,
        work: &Work<'_, '_>,
        fragments: &Fragments,
        results: &FragmentResults,
    ) -> EngineResult<u64> {
        let state = work.state;
        let late = !state.early && work.targets.has_tests();
        let mut written = 0;
        let mut layer = None;
        let mut covers = std::mem::take(&mut self.covers);
        covers.clear();
        self.tested.clear();
        let ran = fragments.quads.chunks(QUADS);
        for (warp, (origins, ran)) in self.origins.chunks(QUADS).zip(ran).enumerate() {
            let mut group = [[0; 4]; QUADS];
            let group = &mut group[..origins.len()];
            for (k, (cover, ran)) in (QUADS * warp..).zip(group.iter_mut().zip(ran)) {
                *cover = of_pixels(ran.cover, results.live(k));
                if let Some(mask) = results.sample_mask(k).filter(|_| state.multisampled) {
                    cover.iter_mut().zip(mask).for_each(|(c, m)| *c &= *m as u8);
                }
                self.alpha(state, results, k, cover);
            }
            self.tested.extend_from_slice(group);
            if late && group.iter().any(|cover| *cover != [0; 4]) {
                let quads = &work.batch.quads;
                let quads: [&raster::Quad; QUADS] =
                    std::array::from_fn(|n| &quads[*origins.get(n).unwrap_or(&origins[0]) as usize]);
                work.test(&mut layer, &quads[..group.len()], group, |n| {
                    results.depth(QUADS * warp + n).map(|z| z.map(f32::from_bits))
                })?;
            }
            written += group.iter().map(|c| count(*c)).sum::<u64>();
            covers.extend_from_slice(group);
        }
        self.covers = covers;
        Ok(written)
    }

    /// Writes the quads' colours to a target.
    fn color(&self, work: &Work<'_, '_>, results: &FragmentResults, n: usize) -> EngineResult {
        let target = &work.targets.colors[n];
        let (rop, output) = (&target.rop, target.output as usize);
        let changes_alpha = work.state.alpha_to_one || !work.batch.coverage.is_empty();
        let mut layer = None;
        for (warp, (covers, origins)) in self.covers.chunks(QUADS).zip(self.origins.chunks(QUADS)).enumerate()
        {
            if covers.iter().all(|c| *c == [0; 4]) {
                continue;
            }
            let rows = |output: usize| -> Rows<'_> {
                std::array::from_fn(|c| results.color_row(warp, output, c).unwrap_or(ABSENT[c]))
            };
            let mut colors = rows(output);
            let alpha;
            if changes_alpha {
                alpha = self.changed_alpha(work, colors[3], origins);
                colors[3] = &alpha;
            }
            let second = if rop.is_dual() { rows(1) } else { ABSENT };
            let texels = match rop.texels(&colors) {
                None => self.blended(work, (n, &mut layer), (&colors, &second), (covers, origins))?,
                replaced => replaced,
            };
            for (i, (&cover, &origin)) in covers.iter().zip(origins).enumerate() {
                if cover == [0; 4] {
                    continue;
                }
                let quad = &work.batch.quads[origin as usize];
                let layer = work.targets.switch(&mut layer, work.shape(quad).1.layer)?;
                let (surface, at) = (&layer.colors[n], [quad.x.into(), quad.y.into()]);
                match &texels {
                    Some(texels) => surface.store_words(at, cover, &texels[4 * i..]),
                    None => {
                        rop.quad(surface, at[0], at[1], cover, &of_quad(&colors, i), &of_quad(&second, i))
                    }
                }
            }
        }
        Ok(())
    }

    /// The texels of a warp over what is there, where pixels are blended words of one sample. All are of one shape, so that
    /// none is there twice.
    fn blended<'m>(
        &self,
        work: &Work<'_, 'm>,
        (n, layer): (usize, &mut Option<Layer<'m>>),
        (colors, second): (&Rows<'_>, &Rows<'_>),
        (covers, origins): (&[[u8; 4]], &[u32]),
    ) -> EngineResult<Option<[u32; PIXELS]>> {
        let quads = || origins.iter().map(|&origin| &work.batch.quads[origin as usize]);
        let shape = quads().next().map(|quad| quad.shape);
        let Some(first) = quads().next().filter(|_| quads().all(|quad| Some(quad.shape) == shape)) else {
            return Ok(None);
        };
        let rop = &work.targets.colors[n].rop;
        let surface = &work.targets.switch(layer, work.shape(first).1.layer)?.colors[n];
        if !rop.blends_words() || !surface.has_one_sample() {
            return Ok(None);
        }
        let mut old = [0; PIXELS];
        for ((quad, cover), old) in quads().zip(covers).zip(old.chunks_exact_mut(4)) {
            surface.covered(quad.x.into(), quad.y.into(), *cover, |pixel, _, at| {
                old[pixel] = surface.load(at)[0]
            });
        }
        Ok(rop.blended(colors, second, &old))
    }

    /// Alpha as it is written: 1, or times the part of a pixel that is covered.
    fn changed_alpha(&self, work: &Work<'_, '_>, alpha: &[u32; PIXELS], origins: &[u32]) -> [u32; PIXELS] {
        let mut alpha = if work.state.alpha_to_one { *ABSENT[3] } else { *alpha };
        for (alpha, &origin) in alpha.chunks_exact_mut(4).zip(origins) {
            let Some(parts) = work.batch.coverage.get(origin as usize) else { continue };
            for (alpha, part) in alpha.iter_mut().zip(parts) {
                *alpha = (f32::from_bits(*alpha) * part).to_bits();
            }
        }
        alpha
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
}

/// The samples of some pixels of a quad, of which there is a bit each.
fn of_pixels(cover: [u8; 4], pixels: u8) -> [u8; 4] {
    std::array::from_fn(|p| if pixels >> p & 1 != 0 { cover[p] } else { 0 })
}

/// The samples of a quad.
fn count(cover: [u8; 4]) -> u64 {
    u32::from_le_bytes(cover).count_ones().into()
}

/// The colours of a quad of a warp.
fn of_quad(rows: &Rows<'_>, quad: usize) -> Colors {
    std::array::from_fn(|pixel| rows.map(|row| row[4 * quad + pixel]))
}
