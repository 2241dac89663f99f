//! CLEAR_BUFFERS: fills a rectangle of a colour target or of the depth buffer.

use super::raster::{WindowMode, WindowRects};
use super::regs::{Target, View};
use super::target;
use crate::device::{Device, EngineResult, work};
use crate::engine::registers::Registers;
use crate::frames::{Drawn, TargetFormat};
use crate::image::surface_format::{SurfaceFormat, zeta_texel};
use crate::image::transfer;
use nvir_hw::format::zeta::Zeta;
use nvir_hw::method::three_d::*;
use nvir_hw::word::ClearBuffers;
use std::ops::Range;

/// The targets that CLEAR_BUFFERS names.
pub(super) fn targets(r: &Registers) -> Vec<Drawn> {
    let (view, what) = (View(r), ClearBuffers::from_bits(r.get(CLEAR_BUFFERS)));
    let color = view.target(what.target() % RT_FORMAT.count);
    let format = SurfaceFormat::from_code(color.format).filter(|_| what.channels() != 0);
    let color = format.map(|f| target::drawn(view, &color, TargetFormat::Color(f.color())));
    let zeta = view.zeta();
    let format = Zeta::from_code(zeta.format).filter(|_| what.depth() || what.stencil());
    color.into_iter().chain(format.map(|f| target::drawn(view, &zeta, TargetFormat::Zeta(f)))).collect()
}

/// What it does, in words.
pub(super) fn describe(r: &Registers) -> String {
    let what = ClearBuffers::from_bits(r.get(CLEAR_BUFFERS));
    let mut parts = Vec::new();
    if what.channels() != 0 {
        let value = [0, 1, 2, 3].map(|i| f32::from_bits(r.get(CLEAR_COLOR.at(i))));
        parts.push(format!("color {} to {value:?}", what.target()));
    }
    if what.depth() {
        parts.push(format!("depth to {}", f32::from_bits(r.get(CLEAR_DEPTH))));
    }
    if what.stencil() {
        parts.push(format!("stencil to {}", r.get(CLEAR_STENCIL) as u8));
    }
    if what.layer() != 0 {
        parts.push(format!("of layer {}", what.layer()));
    }
    parts.join(", ")
}

/// Tells whoever wants frames of a target.
fn note(device: &mut Device, target: Drawn) {
    if let Some(frames) = &mut device.frames {
        frames.note(target);
    }
}

/// CLEAR_BUFFERS.
pub(super) fn clear(device: &mut Device, r: &Registers) -> EngineResult {
    let what = ClearBuffers::from_bits(r.get(CLEAR_BUFFERS));
    if r.get(CLEAR_FLAGS) != 0 {
        return Err("CLEAR_FLAGS are not implemented".into());
    }
    if what.channels() != 0 {
        color(device, r, what)?;
    }
    if what.depth() || what.stencil() {
        depth(device, r, what)?;
    }
    Ok(())
}

fn color(device: &mut Device, r: &Registers, what: ClearBuffers) -> EngineResult {
    let target = what.target();
    if target >= RT_FORMAT.count {
        return Err(format!("there is no render target {target}"));
    }
    let bound = View(r).target(target);
    if bound.format == 0 {
        // No target is bound.
        return Ok(());
    }
    let format = SurfaceFormat::from_code(bound.format)
        .ok_or_else(|| format!("render target format {:#x}", bound.format))?;
    note(device, target::drawn(View(r), &bound, TargetFormat::Color(format.color())));
    let mut texel = vec![0; format.bytes()];
    format.encode([0, 1, 2, 3].map(|i| r.get(CLEAR_COLOR.at(i))), &mut texel);
    let mask = format.mask([0, 1, 2, 3].map(|n| what.channels() >> n & 1 != 0));
    fill(device, View(r), &bound, what.layer(), &texel, &mask)
}

fn depth(device: &mut Device, r: &Registers, what: ClearBuffers) -> EngineResult {
    let bound = View(r).zeta();
    if bound.format == 0 {
        return Ok(());
    }
    let format =
        Zeta::from_code(bound.format).ok_or_else(|| format!("depth buffer format {:#x}", bound.format))?;
    note(device, target::drawn(View(r), &bound, TargetFormat::Zeta(format)));
    let depth = what.depth().then(|| f32::from_bits(r.get(CLEAR_DEPTH)));
    let stencil = what.stencil().then(|| r.get(CLEAR_STENCIL) as u8);
    let (texel, mask) = zeta_texel(format, depth, stencil);
    fill(device, View(r), &bound, what.layer(), &texel, &mask)
}

/// Fills what the screen's scissor and window rectangles leave of a layer, the masked bits of each
/// texel.
fn fill(
    device: &mut Device,
    view: View<'_>,
    target: &Target,
    layer: u32,
    texel: &[u8],
    mask: &[u8],
) -> EngineResult {
    let size = texel.len() as u64;
    let surface = target.words.layer(layer + target.base_layer, size)?;
    // Samples are texels side by side.
    let (sx, sy) = view.samples().grid;
    let texels = |[first, end]: [u32; 2], shift: u32, most: u64| {
        let first = (u64::from(first) << shift).min(most);
        (first, (u64::from(end) << shift).clamp(first, most) - first)
    };
    let screen = view.screen();
    let whole =
        |x: [u32; 2], y: [u32; 2]| (texels(x, sx, surface.row_bytes / size), texels(y, sy, surface.rows));
    let Some(rects) = view.window_rects() else {
        let (x, y) = whole(screen.x, screen.y);
        return rectangle(device, &surface.operand, (x, y), texel, mask);
    };
    let mut result = Ok(());
    let rows = screen.y[0]..screen.y[1].min((surface.rows >> sy) as u32);
    for y in rows {
        if result.is_err() {
            break;
        }
        runs(&rects, y, screen.x[0]..screen.x[1], |run| {
            let (x, y) = whole([run.start, run.end], [y, y + 1]);
            let done = rectangle(device, &surface.operand, (x, y), texel, mask);
            result = std::mem::replace(&mut result, Ok(())).and(done);
        });
    }
    result
}

/// Fills texels and rows: first, and how many.
fn rectangle(
    device: &mut Device,
    operand: &transfer::ImageOperand,
    ((x, width), (y, rows)): ((u64, u64), (u64, u64)),
    texel: &[u8],
    mask: &[u8],
) -> EngineResult {
    let size = texel.len() as u64;
    if width == 0 || rows == 0 {
        return Ok(());
    }
    let side = operand.at(x * size, y);
    let mut line = transfer::scratch(width * size)?;
    if mask.iter().all(|&m| m == 0xff) {
        line.chunks_exact_mut(texel.len()).for_each(|t| t.copy_from_slice(texel));
        return transfer::fill(device, &side, rows, &line);
    }
    transfer::charge(device, width * size / work::MASKED, rows)?;
    side.log_write(device, width * size, rows);
    device.moved += width * size * rows;
    let (new, mask) = (texel.repeat(width as usize), mask.repeat(width as usize));
    for row in 0..rows {
        side.read_row(&device.memory, row, &mut line)?;
        for ((old, new), mask) in line.iter_mut().zip(&new).zip(&mask) {
            *old = *old & !mask | new & mask;
        }
        side.write_row(&device.memory, row, &line)?;
    }
    Ok(())
}

/// Calls `each` with the runs of a row's pixels that window rectangles leave.
fn runs(windows: &WindowRects, y: u32, x: Range<u32>, mut each: impl FnMut(Range<u32>)) {
    let mut inside = windows.rects.map(|r| {
        let there = y >= r.y[0] && y < r.y[1];
        if there { r.x[0].max(x.start)..r.x[1].min(x.end) } else { x.end..x.end }
    });
    inside.sort_unstable_by_key(|r| r.start);
    let mut at = x.start;
    for r in inside.into_iter().filter(|r| !r.is_empty()) {
        match windows.mode {
            WindowMode::OutsideAll if at < r.start => each(at..r.start),
            WindowMode::InsideAny if at < r.end => each(r.start.max(at)..r.end),
            _ => {}
        }
        at = at.max(r.end);
    }
    if windows.mode == WindowMode::OutsideAll && at < x.end {
        each(at..x.end);
    }
}

#[cfg(test)]
mod tests {
    use super::super::raster::Rect;
    use super::*;

    #[test]
    fn window_rectangles_leave_runs() {
        let mut rects = [Rect { x: [0, 0], y: [0, 0] }; 8];
        rects[0] = Rect { x: [2, 5], y: [0, 2] };
        rects[1] = Rect { x: [4, 8], y: [1, 3] };
        rects[2] = Rect { x: [20, 30], y: [0, 9] };
        let of = |mode, y| {
            let mut all = Vec::new();
            runs(&WindowRects { mode, rects }, y, 0..10, |r| all.push((r.start, r.end)));
            all
        };
        assert_eq!(of(WindowMode::InsideAny, 0), [(2, 5)]);
        assert_eq!(of(WindowMode::InsideAny, 1), [(2, 5), (5, 8)]);
        assert_eq!(of(WindowMode::OutsideAll, 1), [(0, 2), (8, 10)]);
        assert_eq!(of(WindowMode::OutsideAll, 3), [(0, 10)]);
        assert_eq!(of(WindowMode::InsideAny, 9), []);
    }
}
