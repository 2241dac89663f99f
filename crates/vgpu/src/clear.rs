//! CLEAR_BUFFERS: fills a rectangle of a render target or of the depth buffer.

use crate::colour::{Colour, Zeta};
use crate::device::{Device, Effect, work};
use crate::registers::Registers;
use crate::transfer::{self, Blocks, Side};

/// Writing it starts: bits 0 depth, 1 stencil, 5:2 channels, 9:6 target, 20:10 layer.
pub(crate) const CLEAR_BUFFERS: u32 = 0x19d0;

const FLAGS: u32 = 0x10f8;
const CLIP_RECTS: u32 = 0x194c;
const COLOR: u32 = 0xd80;
const DEPTH: u32 = 0xd90;
const STENCIL: u32 = 0xda0;
const SCISSOR_HORIZ: u32 = 0xff4;
const SCISSOR_VERT: u32 = 0xff8;
const MULTISAMPLE_MODE: u32 = 0x15d0;
/// Of target 0; the others follow.
const TARGET: u32 = 0x800;
const TARGET_STRIDE: u32 = 0x40;
const TARGETS: u32 = 8;
const ZETA: u32 = 0xfe0;
const ZETA_HORIZ: u32 = 0x1228;
const ZETA_BASE_LAYER: u32 = 0x179c;

const LINEAR: u32 = 1 << 12;
const VOLUME: u32 = 1 << 16;

/// Where a layer of a target lies, and its extent.
struct Surface {
    side: Side,
    /// Bytes of a row, and rows.
    row_bytes: u64,
    rows: u64,
}

/// The words that describe a target.
struct Words {
    address: u64,
    /// Pixels, or bytes of a row where it is linear.
    width: u32,
    height: u32,
    tile_mode: u32,
    layers: u32,
    layer_stride: u64,
    layer: u32,
    volume: bool,
}

fn surface(w: &Words, texel: u64) -> Effect<Surface> {
    let rows = u64::from(w.height);
    if w.tile_mode & LINEAR != 0 {
        let pitch = u64::from(w.width);
        let address = w.address.wrapping_add(u64::from(w.layer).wrapping_mul(w.layer_stride));
        return Ok(Surface { side: Side::Pitch { address, pitch }, row_bytes: pitch, rows });
    }
    let row_bytes = u64::from(w.width) * texel;
    let (z, slices, skip) = if w.volume {
        (w.layer, w.layers, 0)
    } else {
        (0, 1, u64::from(w.layer).wrapping_mul(w.layer_stride))
    };
    let side = Side::blocks(Blocks {
        address: w.address.wrapping_add(skip),
        tile_mode: w.tile_mode & 0xfff,
        row_bytes,
        rows: w.height,
        slices,
        z,
        x: 0,
        y: 0,
    })?;
    Ok(Surface { side, row_bytes, rows })
}

pub(crate) fn clear(device: &mut Device, r: &Registers) -> Effect {
    let what = r.get(CLEAR_BUFFERS);
    if r.get(FLAGS) != 0 || r.get(CLIP_RECTS) != 0 {
        return Err("CLEAR_FLAGS and clip rectangles are not implemented".into());
    }
    let (target, layer) = (what >> 6 & 15, what >> 10 & 0x7ff);
    let channels = [2, 3, 4, 5].map(|bit| what >> bit & 1 != 0);
    if channels.contains(&true) {
        color(device, r, target, layer, channels)?;
    }
    let zeta = (what & 1 != 0, what & 2 != 0);
    if zeta.0 || zeta.1 {
        depth(device, r, layer, zeta)?;
    }
    Ok(())
}

fn color(device: &mut Device, r: &Registers, target: u32, layer: u32, channels: [bool; 4]) -> Effect {
    if target >= TARGETS {
        return Err(format!("there is no render target {target}"));
    }
    let at = TARGET + target * TARGET_STRIDE;
    let code = r.get(at + 0x10);
    if code == 0 {
        // No target is bound.
        return Ok(());
    }
    let format = Colour::from_code(code).ok_or_else(|| format!("render target format {code:#x}"))?;
    let array = r.get(at + 0x18);
    let tile_mode = r.get(at + 0x14);
    let words = Words {
        address: r.address(at),
        width: r.get(at + 8),
        height: r.get(at + 12),
        tile_mode,
        layers: array & 0xffff,
        layer_stride: u64::from(r.get(at + 0x1c)) * 4,
        layer: layer + r.get(at + 0x20) % 0x1_0000,
        volume: (tile_mode | array) & VOLUME != 0,
    };
    let surface = surface(&words, format.bytes() as u64)?;
    let mut texel = vec![0; format.bytes()];
    let channel = |i: u32| r.get(COLOR + 4 * i);
    format.encode([channel(0), channel(1), channel(2), channel(3)], &mut texel);
    let mask = format.mask(channels);
    fill(device, r, &surface, &texel, &mask)
}

fn depth(device: &mut Device, r: &Registers, layer: u32, with: (bool, bool)) -> Effect {
    let code = r.get(ZETA + 8);
    if code == 0 {
        return Ok(());
    }
    let format = Zeta::from_code(code).ok_or_else(|| format!("depth buffer format {code:#x}"))?;
    let array = r.get(ZETA_HORIZ + 8);
    let words = Words {
        address: r.address(ZETA),
        width: r.get(ZETA_HORIZ),
        height: r.get(ZETA_HORIZ + 4),
        tile_mode: r.get(ZETA + 12),
        layers: array & 0xffff,
        layer_stride: u64::from(r.get(ZETA + 16)) * 4,
        layer: layer + r.get(ZETA_BASE_LAYER) % 0x1_0000,
        volume: false,
    };
    let surface = surface(&words, format.bytes() as u64)?;
    let (texel, mask) = format.texel(f32::from_bits(r.get(DEPTH)), r.get(STENCIL) as u8, with);
    fill(device, r, &surface, &texel, &mask)
}

/// Log2 of the samples of a pixel in x and y, which are texels side by side.
fn sample_shifts(mode: u32) -> (u32, u32) {
    match mode & 7 {
        1 => (1, 0),
        2 | 5 => (1, 1),
        3 | 4 => (2, 1),
        _ => (0, 0),
    }
}

/// Fills what the screen's scissor leaves of a surface, the masked bits of each texel.
fn fill(device: &mut Device, r: &Registers, surface: &Surface, texel: &[u8], mask: &[u8]) -> Effect {
    let size = texel.len() as u64;
    let (sx, sy) = sample_shifts(r.get(MULTISAMPLE_MODE));
    // First in the low half, how many in the high half.
    let range = |word: u32, shift: u32, most: u64| {
        let (first, count) = (u64::from(word & 0xffff) << shift, u64::from(word >> 16) << shift);
        let first = first.min(most);
        (first, count.min(most - first))
    };
    let (x, width) = range(r.get(SCISSOR_HORIZ), sx, surface.row_bytes / size);
    let (y, rows) = range(r.get(SCISSOR_VERT), sy, surface.rows);
    if width == 0 || rows == 0 {
        return Ok(());
    }
    let side = surface.side.at(x * size, y);
    let mut line = transfer::scratch(width * size)?;
    if mask.iter().all(|&m| m == 0xff) {
        line.chunks_exact_mut(texel.len()).for_each(|t| t.copy_from_slice(texel));
        return transfer::fill(device, &side, rows, &line);
    }
    transfer::charge(device, width * size / work::MASKED, rows)?;
    side.wrote(device, width * size, rows);
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
