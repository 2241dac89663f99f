//! Inputs of fragments: planes over the window.
//!
//! With b the weights of the triangle's corners at a point of the window, v an input's values there and r the values 1/w, an
//! input that the header declares linear is sum(b v), a perspective one sum(b v r): the program divides by sum(b r), which is
//! what it finds at 0x7c. Source: Mesa 22.3.6's code for these shaders, and that its results agree with llvmpipe's.

use super::{Context, IpaMode, IpaSample, PixelInfo, Quad, Thread, Triangle, Work};
use crate::fault::FaultKind;
use crate::trap::Trap;
use nvir_base::num::float::sat32;
use nvir_base::stage::attribute;
use nvir_hw::samples::sample_position;
use nvir_isa::header::Interpolation;

/// Offsets in a pixel count 4096ths.
const FRACTIONS: f64 = 4096.0;

/// A triangle, ready for interpolation.
pub(super) struct Planes<'a> {
    triangle: &'a Triangle,
    /// Twice its area.
    area: f64,
}

impl<'a> Planes<'a> {
    pub(super) fn new(triangle: &'a Triangle) -> Result<Planes<'a>, String> {
        let [[ax, ay, ..], [bx, by, ..], [cx, cy, ..]] = triangle.window;
        let area = (bx - ax) * (cy - ay) - (cx - ax) * (by - ay);
        if !area.is_finite() || area == 0.0 {
            return Err("the triangle has no area".to_string());
        }
        if triangle.flat_vertex > 2 {
            return Err(format!("flat inputs are of vertex {}: 0 to 2", triangle.flat_vertex));
        }
        Ok(Planes { triangle, area })
    }

    /// The weights of the corners at a point.
    fn weights(&self, [x, y]: [f64; 2]) -> [f64; 3] {
        let w = &self.triangle.window;
        std::array::from_fn(|i| {
            let ([bx, by, ..], [cx, cy, ..]) = (w[(i + 1) % 3], w[(i + 2) % 3]);
            ((bx - x) * (cy - y) - (cx - x) * (by - y)) / self.area
        })
    }

    /// A value between the corners, as the hardware's plane equation gives it; none if a corner has none.
    fn plane(&self, address: u32, kind: Interpolation, at: [f64; 2]) -> Option<f32> {
        let t = self.triangle;
        let b = self.weights(at);
        let sum = |f: &dyn Fn(usize) -> f64| (0..3).map(|i| b[i] * f(i)).sum::<f64>();
        match address {
            attribute::POSITION => return Some(at[0] as f32),
            attribute::POSITION_Y => return Some(at[1] as f32),
            attribute::POSITION_Z => return Some(sum(&|i| t.window[i][2]) as f32),
            attribute::POSITION_W => return Some(sum(&|i| t.window[i][3]) as f32),
            _ => {}
        }
        let mut corners = [0.0; 3];
        for (corner, varyings) in corners.iter_mut().zip(&t.varyings) {
            *corner = f32::from_bits(varyings.get(address)?).into();
        }
        Some(match kind {
            Interpolation::Perspective => sum(&|i| corners[i] * t.window[i][3]) as f32,
            _ => sum(&|i| corners[i]) as f32,
        })
    }

    /// The bits of an input that does not change over the triangle.
    fn constant(&self, address: u32) -> Option<u32> {
        let t = self.triangle;
        match address {
            attribute::FACE => Some(if t.front { u32::MAX } else { 0 }),
            attribute::PRIMITIVE_ID => Some(t.id),
            _ => t.varyings[t.flat_vertex].get(address),
        }
    }
}

/// Where the samples of a pixel lie, from its corner.
fn position(context: &Context<'_>, sample: u32) -> [f64; 2] {
    sample_position(context.raster.samples, sample).map(f64::from)
}

/// The middle of the covered samples, or of the pixel if all are covered or none.
fn centroid(context: &Context<'_>, quad: &Quad, pixel: usize) -> [f64; 2] {
    if let Some(sample) = quad.sample {
        return position(context, sample);
    }
    let all = (1u32 << context.raster.samples) - 1;
    let covered = quad.cover[pixel] & all;
    if covered == 0 || covered == all {
        return [0.5; 2];
    }
    let mut sum = [0.0; 2];
    for [x, y] in (0..context.raster.samples).filter(|s| covered >> s & 1 != 0).map(|s| position(context, s))
    {
        sum = [sum[0] + x, sum[1] + y];
    }
    sum.map(|s| s / f64::from(covered.count_ones()))
}

/// An offset from a pixel's centre: signed halves, x in the low one.
fn packed([x, y]: [f64; 2]) -> u32 {
    let half = |v: f64| ((v - 0.5) * FRACTIONS).round() as i32 as u32 & 0xffff;
    half(x) | half(y) << 16
}

fn quad<'a>(context: &Context<'a>, thread: Thread) -> Option<&'a Quad> {
    let Work::Quads { quads, .. } = context.work else { return None };
    quads.get(thread.item as usize)
}

/// What IPA gives a lane; none: nothing has written it.
#[expect(clippy::too_many_arguments, reason = "the operands of one instruction")]
pub(super) fn interpolate(
    context: &Context<'_>,
    lane: usize,
    thread: Thread,
    address: u32,
    mode: IpaMode,
    sample: IpaSample,
    sat: bool,
    (w, offset): (u32, u32),
) -> Result<Option<u32>, Trap> {
    let (Some(planes), Some(quad)) = (&context.planes, quad(context, thread)) else {
        let detail = format!("a {} shader has nothing to interpolate", context.stage);
        return Err(Trap::new(FaultKind::IllegalInstruction, lane, detail));
    };
    if !address.is_multiple_of(4) {
        let detail = format!("input a[{address:#x}], which is not a multiple of 4");
        return Err(Trap::new(FaultKind::Misaligned, lane, detail));
    }
    let kind = context.header.interpolation(address);
    if kind == Interpolation::Unused {
        let detail = format!("reads input a[{address:#x}], which the header does not declare");
        return Err(Trap::new(FaultKind::OutOfBounds, lane, detail));
    }
    let pixel = thread.invocation as usize & 3;
    let inside = match sample {
        IpaSample::Centre => [0.5; 2],
        IpaSample::Centroid => centroid(context, quad, pixel),
        IpaSample::Offset => {
            [offset as u16 as i16, (offset >> 16) as u16 as i16].map(|v| 0.5 + f64::from(v) / FRACTIONS)
        }
    };
    let corner = [quad.at[0] + (pixel as u32 & 1), quad.at[1] + (pixel as u32 >> 1)].map(f64::from);
    let flat = mode == IpaMode::Constant || mode == IpaMode::Color && context.raster.flat_shade;
    let value = if flat || kind == Interpolation::Flat {
        planes.constant(address)
    } else {
        planes.plane(address, kind, [corner[0] + inside[0], corner[1] + inside[1]]).map(f32::to_bits)
    };
    let multiplied = |v: u32| match mode {
        IpaMode::Multiply => (f32::from_bits(v) * f32::from_bits(w)).to_bits(),
        IpaMode::Color if !flat => (f32::from_bits(v) * f32::from_bits(w)).to_bits(),
        _ => v,
    };
    Ok(value.map(multiplied).map(|v| if sat { sat32(v) } else { v }))
}

/// What PIXLD gives a lane.
pub(super) fn pixel(
    context: &Context<'_>,
    lane: usize,
    thread: Thread,
    info: PixelInfo,
    operand: u32,
) -> Result<u32, Trap> {
    let illegal = |detail: String| Err(Trap::new(FaultKind::IllegalInstruction, lane, detail));
    let Some(quad) = quad(context, thread) else {
        return illegal(format!("a {} shader has no pixels", context.stage));
    };
    let samples = context.raster.samples;
    let pixel = thread.invocation as usize & 3;
    Ok(match info {
        PixelInfo::Count => samples,
        PixelInfo::Coverage => quad.cover[pixel],
        PixelInfo::SampleOffset if operand >= samples => {
            return illegal(format!(
                "the offset of sample {operand}: index out of range (0 to {})",
                samples.max(1) - 1
            ));
        }
        PixelInfo::SampleOffset => packed(position(context, operand)),
        PixelInfo::CentroidOffset => packed(centroid(context, quad, pixel)),
        PixelInfo::SampleId => quad.sample.unwrap_or(0),
    })
}
