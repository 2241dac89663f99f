//! Quads of a triangle: drawn one by one, each within its pixels, to targets that hold any bits.

use super::{OnDevice, Subject, check_number, elements, failed, fetching, given, hand_through, words_of};
use nvir::emu::image::Arrangement;
use nvir::emu::stage::{Attributes, Fragment, Output, Quad, Triangle, Work};
use nvir::emu::{Dim, ImageDesc};
use nvir::hw::state::{Compare, StencilOp, Topology};
use nvir::isa::header::{Header, Interpolation};
use nvir::stage::{Semantic, attribute};
use nvir_driver::{
    ClearColor, ColorState, ColorTarget, DepthFormat, DepthImage, DepthStencil, DepthTarget, Image,
    Multisample, Pass, Pipeline, PipelineDesc, Raster, Rect, StencilFace, Viewport,
};
use nvir_fixture::kernel::LaunchError;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// Pixels of a target and layers, at most.
const MAX_PIXELS: u64 = 1 << 22;
const MAX_LAYERS: u32 = 64;
/// Half the size of the viewport, whose middle is the window's corner: a power of two, so that positions stay what they are.
const HALF: f32 = 8192.0;
/// Bits of the stencil: the triangle covers the sample, and the program left it there.
const COVERED: u8 = 0x80;
const KEPT: u8 = 0x01;

/// Targets of the draws.
struct Targets {
    colors: Vec<Image>,
    depth: DepthImage,
    size: [u32; 2],
    layer: u32,
}

/// What a pass left: texels of each target, and depths with stencils.
struct Left {
    colors: Vec<Vec<u32>>,
    depths: Vec<u32>,
}

impl OnDevice {
    pub(super) fn quads(
        &mut self,
        s: &Subject<'_>,
        triangle: &Triangle,
        quads: &[Quad],
    ) -> Result<Output, LaunchError> {
        check_number(triangle.id)?;
        let corners = corners(triangle, s.run.header);
        let semantics = inputs(&corners)?;
        let array = self.words(&elements(&semantics, corners.iter()))?;
        // Triangles in front of one whose number is not 0 have no area.
        let before = (0..triangle.id).flat_map(|_| [0; 3]);
        let indices = self.indices(&before.chain([0, 1, 2]).collect::<Vec<u32>>(), 0)?;
        let layer = triangle.varyings[0].get(attribute::LAYER).unwrap_or(0);
        let targets = self.stage_targets(s, quads, layer)?;
        let programs =
            [self.helper(&hand_through(&semantics))?, self.helper("FRAG\nEND\n")?, s.program.clone()];
        let mut pipelines: BTreeMap<u32, [Pipeline; 2]> = BTreeMap::new();
        for Part { mask, .. } in quads.iter().flat_map(parts) {
            if let Entry::Vacant(entry) = pipelines.entry(mask) {
                let [through, covering, tested] = &programs;
                let mut made = |own: bool| {
                    let programs = vec![through.clone(), if own { tested } else { covering }.clone()];
                    let desc = PipelineDesc { programs, ..pipeline(s, triangle, semantics.len(), mask, own) };
                    self.context.get_mut().pipeline(desc).map_err(failed)
                };
                entry.insert([made(false)?, made(true)?]);
            }
        }
        let mut out = vec![Default::default(); quads.len()];
        let mut rest: Vec<usize> = (0..quads.len()).filter(|&n| !parts(&quads[n]).is_empty()).collect();
        while !rest.is_empty() {
            // No sample is drawn twice in a pass.
            let mut taken = BTreeSet::new();
            let (now, later): (Vec<usize>, Vec<usize>) =
                rest.into_iter().partition(|&n| taken.insert((quads[n].at, quads[n].sample)));
            rest = later;
            let mut render = self.context.get_mut().render(&targets.pass()).map_err(failed)?;
            for part in now.iter().flat_map(|&n| parts(&quads[n])) {
                let (at, size) = ([-HALF; 2], [2.0 * HALF; 2]);
                let viewport = Viewport { at, size, depth: [0.0, 1.0], scissor: Some(part.pixels) };
                render.viewports(&[viewport; 16]).map_err(failed)?;
                for (n, pipeline) in pipelines[&part.mask].iter().enumerate() {
                    let mut draw = s.draw(pipeline, 3 * (triangle.id + 1));
                    if n == 0 {
                        draw.bindings.clear();
                    }
                    draw.indices = Some(indices.clone());
                    draw.arrays = vec![array.clone()];
                    render.draw(&draw).map_err(failed)?;
                }
            }
            drop(render);
            let left = self.left(&targets)?;
            for n in now {
                out[n] = quad(s, &targets, &left, &quads[n])?;
            }
        }
        Ok(Output::Fragments(out))
    }

    fn stage_targets(&mut self, s: &Subject<'_>, quads: &[Quad], layer: u32) -> Result<Targets, LaunchError> {
        let samples = s.run.samples;
        let end = |i: usize| quads.iter().map(|q| q.at[i].saturating_add(2)).max().unwrap_or(2);
        let size = [end(0), end(1)];
        let layers = layer.saturating_add(1);
        let pixels = u64::from(size[0]) * u64::from(size[1]) * u64::from(layers) * u64::from(samples);
        if size.iter().any(|&n| n > HALF as u32) || pixels > MAX_PIXELS || layers > MAX_LAYERS {
            return Err(LaunchError::Unseen(format!(
                "targets of {} x {} pixels, {layers} layers",
                size[0], size[1]
            )));
        }
        let (dim, third) = match (layers, samples) {
            (1, 1) => (Dim::D2, 1),
            (1, samples) => (Dim::D2Ms, samples),
            (layers, 1) => (Dim::D2Array, layers),
            _ => return Err(LaunchError::Unseen("layers of several samples".into())),
        };
        let outputs = (0..8).filter(|&t| s.run.header.color_mask(t) != 0).max().map_or(0, |t| t + 1);
        let format = "rgba32ui".parse().map_err(|e| LaunchError::Setup(format!("{e}")))?;
        let desc = ImageDesc { dim, format, size: [size[0], size[1], third], levels: 1 };
        let context = self.context.get_mut();
        let colors = (0..outputs).map(|_| context.image(desc, Arrangement::Driver));
        let colors = colors.collect::<Result<_, _>>().map_err(failed)?;
        let depth = context.depth_image(DepthFormat::Z32S8, size, layers, samples).map_err(failed)?;
        Ok(Targets { colors, depth, size, layer })
    }

    fn left(&mut self, targets: &Targets) -> Result<Left, LaunchError> {
        let context = self.context.get_mut();
        let mut words =
            |image: &Image| Ok::<_, LaunchError>(words_of(&context.download_image(image).map_err(failed)?));
        Ok(Left {
            colors: targets.colors.iter().map(&mut words).collect::<Result<_, LaunchError>>()?,
            depths: words(targets.depth.texels())?,
        })
    }
}

impl Targets {
    fn pass(&self) -> Pass {
        let clear = Some(ClearColor::Bits([0; 4]));
        let color = |image| Some(ColorTarget { clear, ..ColorTarget::new(image) });
        Pass {
            colors: self.colors.iter().map(color).collect(),
            depth: Some(DepthTarget::cleared(&self.depth, 0.0)),
            size: None,
        }
    }

    /// The texel of a pixel's sample, in the order of packed texels.
    fn texel(&self, [x, y]: [u32; 2], sample: u32) -> usize {
        let [width, height] = self.size.map(|n| n as usize);
        ((self.layer + sample) as usize * height + y as usize) * width + x as usize
    }
}

/// Corners as a vertex program writes them, so that they come to lie where the triangle has them.
fn corners(triangle: &Triangle, header: &Header) -> Vec<Attributes> {
    // Flat inputs are those of the first or the last.
    let order = if triangle.flat_vertex == 1 { [1, 2, 0] } else { [0, 1, 2] };
    let corner = |n: usize| {
        let ([x, y, z, reciprocal_w], mut corner) = on_grid(triangle, header, n);
        let clip = [x / f64::from(HALF), y / f64::from(HALF), z, 1.0].map(|v| (v / reciprocal_w) as f32);
        corner.put_all(attribute::POSITION, &clip.map(f32::to_bits));
        // Nothing is said of what is 0 in any case.
        for at in [attribute::LAYER, attribute::VIEWPORT_INDEX] {
            corner.put(at, corner.get(at).filter(|&v| v != 0));
        }
        corner
    };
    order.map(corner).to_vec()
}

/// A corner where the rasteriser can have one, at multiples of 1/256 pixel, and with what the planes of the triangle's inputs
/// have there.
fn on_grid(triangle: &Triangle, header: &Header, n: usize) -> ([f64; 4], Attributes) {
    let at = triangle.window[n];
    let [x, y] = [at[0], at[1]].map(|v| (v * 256.0).round() / 256.0);
    if [x, y] == at[..2] {
        return (at, triangle.varyings[n].clone());
    }
    let [a, b, c] = triangle.window;
    let area = |p: [f64; 4], q: [f64; 4]| (p[0] - x) * (q[1] - y) - (q[0] - x) * (p[1] - y);
    let weights = [area(b, c), area(c, a), area(a, b)];
    let whole: f64 = weights.iter().sum();
    let mean = |values: [f64; 3]| weights.iter().zip(values).map(|(w, v)| w * v).sum::<f64>() / whole;
    let [z, reciprocal_w] = [2, 3].map(|i| mean(triangle.window.map(|w| w[i])));
    let mut corner = triangle.varyings[n].clone();
    let values = |address: u32| triangle.varyings.each_ref().map(|v| v.get(address));
    for address in triangle.varyings[n].addresses() {
        let [Some(a), Some(b), Some(c)] = values(address).map(|v| v.map(|v| f64::from(f32::from_bits(v))))
        else {
            continue;
        };
        let over_w = triangle.window.map(|w| w[3]);
        let value = match header.interpolation(address) {
            Interpolation::Perspective => mean([a * over_w[0], b * over_w[1], c * over_w[2]]) / reciprocal_w,
            Interpolation::Linear => mean([a, b, c]),
            Interpolation::Flat | Interpolation::Unused => continue,
        };
        corner.put(address, Some((value as f32).to_bits()));
    }
    ([x, y, z, reciprocal_w], corner)
}

/// What a vertex program must write.
fn inputs(corners: &[Attributes]) -> Result<Vec<Semantic>, LaunchError> {
    let all = given(corners.iter());
    let writable = |s: &Semantic| {
        !matches!(s, Semantic::PointCoord | Semantic::Face | Semantic::PrimitiveId | Semantic::TessCoord)
    };
    match all.iter().find(|s| !writable(s)) {
        Some(s) => Err(LaunchError::Unseen(format!("no vertex program writes {s} of a triangle"))),
        None => Ok(all),
    }
}

/// Pixels of a quad that are drawn with the same samples.
struct Part {
    pixels: Rect,
    mask: u32,
}

/// Samples that are drawn where so many are covered.
fn drawn(quad: &Quad, cover: u32) -> u32 {
    cover & quad.sample.map_or(u32::MAX, |sample| 1u32.checked_shl(sample).unwrap_or(0))
}

fn pixels(quad: &Quad) -> [[u32; 2]; 4] {
    let [x, y] = quad.at;
    [[x, y], [x + 1, y], [x, y + 1], [x + 1, y + 1]]
}

/// A quad in as few parts as have the covered samples and no other. The rest of the quad helps.
fn parts(quad: &Quad) -> Vec<Part> {
    let cover = quad.cover.map(|cover| drawn(quad, cover));
    if cover.iter().all(|c| *c == cover[0]) && cover[0] != 0 {
        return vec![Part { pixels: Rect { at: quad.at, size: [2, 2] }, mask: cover[0] }];
    }
    let covered = pixels(quad).into_iter().zip(cover).filter(|(_, cover)| *cover != 0);
    covered.map(|(at, mask)| Part { pixels: Rect { at, size: [1, 1] }, mask }).collect()
}

/// Whether threads are of samples, not of pixels.
fn by_sample(s: &Subject<'_>) -> bool {
    matches!(s.run.work, Work::Quads { quads, .. } if quads.iter().any(|q| q.sample.is_some()))
}

/// A pipeline without its programs: one that marks what the triangle covers, or the program's own.
fn pipeline(s: &Subject<'_>, triangle: &Triangle, count: usize, mask: u32, own: bool) -> PipelineDesc {
    let [a, b, c] = triangle.window.map(|[x, y, ..]| [x, y]);
    let clockwise = (b[0] - a[0]) * (c[1] - a[1]) > (c[0] - a[0]) * (b[1] - a[1]);
    let mark = if own { KEPT } else { COVERED };
    let face =
        StencilFace { reference: mark, write_mask: mark, pass: StencilOp::Replace, ..StencilFace::default() };
    PipelineDesc {
        topology: Topology::Triangles,
        raster: Raster {
            front_clockwise: clockwise == triangle.front,
            last_vertex_provokes: triangle.flat_vertex == 2,
            flat_colors: s.run.state.flat_shade,
            clamp_depth: true,
            ..Raster::default()
        },
        depth_stencil: DepthStencil {
            depth: own.then_some(Compare::Always),
            write_depth: s.run.header.writes_depth(),
            stencil: Some([face; 2]),
            ..DepthStencil::default()
        },
        colors: vec![ColorState { write: [own; 4], blend: None }; 8],
        multisample: Multisample {
            per_sample: own && (s.run.state.per_sample || by_sample(s)),
            mask: mask as u16,
            ..Multisample::default()
        },
        ..fetching(count)
    }
}

/// What is left of a quad.
fn quad(s: &Subject<'_>, targets: &Targets, left: &Left, quad: &Quad) -> Result<[Fragment; 4], LaunchError> {
    let header = s.run.header;
    let mut all: [Fragment; 4] = Default::default();
    for ((at, cover), pixel) in pixels(quad).into_iter().zip(quad.cover).zip(&mut all) {
        let marked = |bit: u8| {
            let marked = |sample: &u32| left.depths[2 * targets.texel(at, *sample) + 1] as u8 & bit != 0;
            (0..s.run.samples).filter(marked).fold(0, |all, sample| all | 1u32 << sample)
        };
        // Other samples of the pixel may be another quad's.
        let mine = drawn(quad, u32::MAX);
        let (wanted, covered, kept) = (drawn(quad, cover), marked(COVERED) & mine, marked(KEPT) & mine);
        if covered != wanted || (cover != 0 && wanted == 0) {
            return Err(LaunchError::Unseen(format!(
                "the rasteriser covers samples {covered:#x} of pixel ({}, {}), the test says {wanted:#x}",
                at[0], at[1]
            )));
        }
        if cover == 0 {
            continue;
        }
        pixel.covered = true;
        if header.writes_sample_mask() && s.run.samples > 1 {
            pixel.sample_mask = Some(kept);
        } else {
            pixel.killed = kept == 0;
        }
        if kept == 0 {
            continue;
        }
        let texel = targets.texel(at, kept.trailing_zeros());
        for (t, words) in (0..).zip(&left.colors) {
            let written = (0..4).filter(|c| header.color_mask(t) >> c & 1 != 0);
            written.for_each(|c| pixel.colors[t as usize][c] = Some(words[4 * texel + c]));
        }
        pixel.depth = header.writes_depth().then(|| left.depths[2 * texel]);
    }
    Ok(all)
}
