//! Inputs of fragments: values of planes and of flat vertices, and what a pixel is told of its samples.

use super::batch::{Fragments, NONE, Plane, Quad};
use super::context::Context;
use super::io::Io;
use crate::code::micro::NULL;
use crate::code::stageop::{IpaMode, IpaSample, PixelInfo, StageOp};
use crate::cx::Cx;
use crate::fault::FaultKind;
use crate::state::lanes::{LANES, LaneVec, Mask, Src, lanes};
use crate::state::warp::Warp;
use crate::trap::Trap;
use nvir_base::num::float::sat32;
use nvir_base::stage::attribute;
use nvir_hw::samples::sample_position;
use nvir_isa::header::Interpolation;
use nvir_simd::{Compiled, Features, Kernel, Processor};

/// Offsets in a pixel count 4096ths.
const FRACTIONS: f64 = 4096.0;

/// Where an input comes from.
#[derive(Clone, Copy)]
enum Source {
    X,
    Y,
    Depth,
    InverseW,
    Plane(u16),
    Face,
    Id,
    Layer,
    Viewport,
    Flat(u16),
}

impl Source {
    /// What IPA reads at an address.
    fn new(context: &Context<'_>, lane: usize, address: u32, mode: IpaMode) -> Result<Source, Trap> {
        if !address.is_multiple_of(4) {
            let detail = format!("input a[{address:#x}], which is not a multiple of 4");
            return Err(Trap::new(FaultKind::Misaligned, lane, detail));
        }
        let kind = context.header.interpolation(address);
        if kind == Interpolation::Unused {
            let detail = format!("reads input a[{address:#x}], which the header does not declare");
            return Err(Trap::new(FaultKind::OutOfBounds, lane, detail));
        }
        let word = address as usize / 4;
        let flat = is_flat(context, mode) || kind == Interpolation::Flat;
        Ok(match address {
            attribute::FACE => Source::Face,
            attribute::PRIMITIVE_ID => Source::Id,
            attribute::LAYER => Source::Layer,
            attribute::VIEWPORT_INDEX => Source::Viewport,
            _ if flat => Source::Flat(context.inputs.words[word]),
            attribute::POSITION => Source::X,
            attribute::POSITION_Y => Source::Y,
            attribute::POSITION_Z => Source::Depth,
            attribute::POSITION_W => Source::InverseW,
            _ => Source::Plane(context.inputs.planes[word]),
        })
    }

    /// The value at a point of a triangle.
    #[inline]
    fn value(self, f: &Fragments, triangle: u32, [x, y]: [f64; 2]) -> u32 {
        let shared = f.shared(triangle);
        match self {
            Source::X => (x as f32).to_bits(),
            Source::Y => (y as f32).to_bits(),
            Source::Depth => (shared.depth.at(x, y) as f32).to_bits(),
            Source::InverseW => (shared.inverse_w.at(x, y) as f32).to_bits(),
            Source::Plane(n) => (f.plane(triangle, n).at(x, y) as f32).to_bits(),
            Source::Face => 0u32.wrapping_sub(shared.front.into()),
            Source::Id => shared.id,
            Source::Layer => shared.layer,
            Source::Viewport => shared.viewport,
            Source::Flat(NONE) => 0,
            Source::Flat(n) => f.flat(triangle, n),
        }
    }

    /// The plane that a triangle's values lie in, if they lie in one.
    fn plane(self, f: &Fragments) -> Option<impl Fn(u32) -> Plane> {
        let planar = matches!(self, Source::Depth | Source::InverseW | Source::Plane(_));
        planar.then_some(move |triangle| match self {
            Source::Depth => f.shared(triangle).depth,
            Source::InverseW => f.shared(triangle).inverse_w,
            Source::Plane(n) => *f.plane(triangle, n),
            _ => Plane::default(),
        })
    }

    /// Whether there is no value.
    fn is_undefined(self, f: &Fragments, triangle: u32) -> bool {
        match self {
            Source::Flat(NONE) => true,
            Source::Flat(n) => f.lacks_word(triangle, n),
            Source::Plane(n) => f.lacks_plane(triangle, n),
            _ => false,
        }
    }
}

/// Whether a mode gives the value of one vertex, whatever the header says.
fn is_flat(context: &Context<'_>, mode: IpaMode) -> bool {
    mode == IpaMode::Constant || mode == IpaMode::Color && context.state.flat_shade
}

/// Where the samples of a pixel lie, from its corner.
fn position(context: &Context<'_>, sample: u32) -> [f64; 2] {
    sample_position(context.state.samples, sample).map(f64::from)
}

/// The middle of the covered samples, or of the pixel if all are covered or none.
fn centroid(context: &Context<'_>, quad: &Quad, pixel: usize) -> [f64; 2] {
    if let Some(sample) = quad.sample {
        return position(context, sample.into());
    }
    let samples = context.state.samples;
    let all = (1u32 << samples) - 1;
    let covered = u32::from(quad.cover[pixel]) & all;
    if covered == 0 || covered == all {
        return [0.5; 2];
    }
    let mut sum = [0.0; 2];
    for [x, y] in (0..samples).filter(|s| covered >> s & 1 != 0).map(|s| position(context, s)) {
        sum = [sum[0] + x, sum[1] + y];
    }
    sum.map(|s| s / f64::from(covered.count_ones()))
}

/// An offset from a pixel's centre: signed halves, x in the low one.
fn packed([x, y]: [f64; 2]) -> u32 {
    let half = |v: f64| ((v - 0.5) * FRACTIONS).round() as i32 as u32 & 0xffff;
    half(x) | half(y) << 16
}

/// Quads of a warp.
const QUADS: usize = LANES / 4;

/// Values at points of planes, one for each quad or one for all; of which some are multiplied or clamped.
struct PlanesAt<const ONE: bool, const MULTIPLIES: bool, const SAT: bool>;

impl<const ONE: bool, const MULTIPLIES: bool, const SAT: bool>
    Kernel<LaneVec, [[f64; LANES]; 2], [Plane; QUADS], LaneVec, ()> for PlanesAt<ONE, MULTIPLIES, SAT>
{
    #[inline(always)]
    fn run<F: Features>(
        out: &mut LaneVec,
        [x, y]: &[[f64; LANES]; 2],
        planes: &[Plane; QUADS],
        multiplier: &LaneVec,
        _: u32,
    ) {
        if ONE {
            let plane = planes[0];
            for l in 0..LANES {
                out.0[l] = (plane.at(x[l], y[l]) as f32).to_bits();
            }
        } else {
            for (n, plane) in planes.iter().enumerate() {
                for l in 4 * n..4 * n + 4 {
                    out.0[l] = (plane.at(x[l], y[l]) as f32).to_bits();
                }
            }
        }
        if MULTIPLIES {
            for l in 0..LANES {
                out.0[l] = (f32::from_bits(out.0[l]) * f32::from_bits(multiplier.0[l])).to_bits();
            }
        }
        if SAT {
            out.0.iter_mut().for_each(|v| *v = sat32(*v));
        }
    }
}

type PlanesFn = Compiled<LaneVec, [[f64; LANES]; 2], [Plane; QUADS], LaneVec, ()>;

fn planes_at(processor: Processor, form: (bool, bool, bool)) -> PlanesFn {
    match form {
        (false, false, false) => processor.compiled::<PlanesAt<false, false, false>, _, _, _, _, _>(),
        (false, false, true) => processor.compiled::<PlanesAt<false, false, true>, _, _, _, _, _>(),
        (false, true, false) => processor.compiled::<PlanesAt<false, true, false>, _, _, _, _, _>(),
        (false, true, true) => processor.compiled::<PlanesAt<false, true, true>, _, _, _, _, _>(),
        (true, false, false) => processor.compiled::<PlanesAt<true, false, false>, _, _, _, _, _>(),
        (true, false, true) => processor.compiled::<PlanesAt<true, false, true>, _, _, _, _, _>(),
        (true, true, false) => processor.compiled::<PlanesAt<true, true, false>, _, _, _, _, _>(),
        (true, true, true) => processor.compiled::<PlanesAt<true, true, true>, _, _, _, _, _>(),
    }
}

/// What IPA reads and how.
#[derive(Clone, Copy)]
pub(super) struct Ipa<'a> {
    /// The addresses of all lanes, and whether they are the same.
    pub addresses: &'a [u32; LANES],
    pub uniform: bool,
    pub mode: IpaMode,
    pub sample: IpaSample,
    pub sat: bool,
    /// What a perspective input is multiplied by.
    pub multiplier: &'a LaneVec,
    pub offset: &'a LaneVec,
}

/// What IPA gives the lanes of a mask, and those of them for which there is no value.
pub(super) fn interpolate(
    processor: Processor,
    context: &Context<'_>,
    io: &Io,
    mask: Mask,
    ipa: Ipa<'_>,
    out: &mut LaneVec,
) -> Result<Mask, Trap> {
    let first = lanes(mask).next().unwrap_or(0);
    let Some(f) = context.fragments() else {
        let detail = format!("a {} shader has nothing to interpolate", context.stage);
        return Err(Trap::new(FaultKind::IllegalInstruction, first, detail));
    };
    let multiplies = multiplies(context, ipa.mode);
    let at = |lane: usize, quad: &Quad| {
        let centre = [io.centres[0][lane], io.centres[1][lane]];
        let inside = match ipa.sample {
            IpaSample::Centre => return centre,
            IpaSample::Centroid => centroid(context, quad, lane & 3).map(|v| v - 0.5),
            IpaSample::Offset => {
                let offset = ipa.offset.0[lane];
                [offset as u16, (offset >> 16) as u16].map(|v| f64::from(v as i16) / FRACTIONS)
            }
        };
        [centre[0] + inside[0], centre[1] + inside[1]]
    };
    let mut undefined = 0;
    let quads = context.quads(io.warp);
    if ipa.uniform {
        let source = Source::new(context, first, ipa.addresses[first], ipa.mode)?;
        if f.lacks_any() || matches!(source, Source::Flat(NONE)) {
            for (n, quad) in quads.iter().enumerate() {
                undefined |= (u32::from(source.is_undefined(f, quad.triangle)) * 15) << (4 * n);
            }
        }
        if let (Some(plane), IpaSample::Centre) = (source.plane(f), ipa.sample) {
            let mut planes = [Plane::default(); QUADS];
            planes.iter_mut().zip(quads).for_each(|(to, quad)| *to = plane(quad.triangle));
            let form = (false, multiplies, ipa.sat);
            planes_at(processor, form)(out, &io.centres, &planes, ipa.multiplier, 0);
            return Ok(undefined & mask);
        }
        for (n, quad) in quads.iter().enumerate().filter(|(n, _)| mask >> (4 * n) & 15 != 0) {
            for lane in 4 * n..4 * n + 4 {
                out.0[lane] = source.value(f, quad.triangle, at(lane, quad));
            }
        }
    } else {
        for lane in lanes(mask) {
            let source = Source::new(context, lane, ipa.addresses[lane], ipa.mode)?;
            let Some(quad) = quads.get(lane / 4) else { continue };
            out.0[lane] = source.value(f, quad.triangle, at(lane, quad));
            undefined |= u32::from(source.is_undefined(f, quad.triangle)) << lane;
        }
    }
    if multiplies {
        for (v, w) in out.0.iter_mut().zip(&ipa.multiplier.0) {
            *v = (f32::from_bits(*v) * f32::from_bits(*w)).to_bits();
        }
    }
    if ipa.sat {
        out.0.iter_mut().for_each(|v| *v = sat32(*v));
    }
    Ok(undefined & mask)
}

/// IPA as nearly all are: of an input that all lanes name alike and that is a plane, at the centres of pixels. Whether it was one; nothing
/// is done otherwise.
pub(crate) fn at_centres(cx: &mut Cx<'_>, w: &mut Warp, op: &StageOp, mask: Mask) -> bool {
    let env = cx.env;
    let StageOp::Interpolate { dst, at, mode, sample: IpaSample::Centre, sat, w: multiplier, .. } = *op
    else {
        return false;
    };
    let (Some(context), Some(io)) = (env.stage, cx.block.stage.as_deref()) else { return false };
    let Some(f) = context.fragments().filter(|f| !f.lacks_any()) else { return false };
    if at.base != Src::ZERO || dst == NULL || env.checks.init {
        return false;
    }
    let Ok(source) = Source::new(context, 0, at.offset as u32, mode) else { return false };
    let Some(plane) = source.plane(f) else { return false };
    let quads = context.quads(io.warp);
    let mut planes = [Plane::default(); QUADS];
    // What all quads are of needs no look at each.
    let looked_at = if io.is_alike { 1 } else { quads.len() };
    planes.iter_mut().zip(&quads[..looked_at]).for_each(|(to, quad)| *to = plane(quad.triangle));
    let form = planes_at(env.processor, (io.is_alike, multiplies(context, mode), sat));
    let scratch = &mut cx.block.scratch;
    // It may be what is written.
    let multiplier = if multiplies(context, mode) {
        scratch.a = *multiplier.get(&w.regs, &env.bound.pool, &mut scratch.b);
        &scratch.a
    } else {
        &LaneVec::ZERO
    };
    let to = &mut w.regs[usize::from(dst)];
    if mask == Mask::MAX {
        form(to, &io.centres, &planes, multiplier, 0);
    } else {
        form(&mut scratch.out, &io.centres, &planes, multiplier, 0);
        env.processor.merge(mask, &scratch.out.0, &mut to.0);
    }
    true
}

/// Whether a mode multiplies what it reads.
fn multiplies(context: &Context<'_>, mode: IpaMode) -> bool {
    match mode {
        IpaMode::Multiply => true,
        IpaMode::Color => !is_flat(context, mode),
        IpaMode::Pass | IpaMode::Constant => false,
    }
}

/// What PIXLD gives a lane.
pub(super) fn pixel(
    context: &Context<'_>,
    warp: u64,
    lane: usize,
    info: PixelInfo,
    operand: u32,
) -> Result<u32, Trap> {
    let illegal = |detail: String| Err(Trap::new(FaultKind::IllegalInstruction, lane, detail));
    if context.fragments().is_none() {
        return illegal(format!("a {} shader has no pixels", context.stage));
    }
    let Some(quad) = context.quads(warp).get(lane / 4) else {
        return illegal("this lane has no thread".to_string());
    };
    let samples = context.state.samples;
    let pixel = lane & 3;
    Ok(match info {
        PixelInfo::Count => samples,
        PixelInfo::Coverage => quad.cover[pixel].into(),
        PixelInfo::SampleOffset if operand >= samples => {
            return illegal(format!(
                "the offset of sample {operand}: index out of range (0 to {})",
                samples.max(1) - 1
            ));
        }
        PixelInfo::SampleOffset => packed(position(context, operand)),
        PixelInfo::CentroidOffset => packed(centroid(context, quad, pixel)),
        PixelInfo::SampleId => quad.sample.unwrap_or(0).into(),
    })
}
