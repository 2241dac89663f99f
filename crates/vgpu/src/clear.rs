//! CLEAR_BUFFERS: fills a rectangle of a render target or of the depth buffer.

use crate::colour::{self, Colour};
use crate::device::{Device, Effect, work};
use crate::registers::Registers;
use crate::transfer::{self, Blocks, Side};
use nvir_hw::format::zeta::Zeta;
use nvir_hw::method::three_d::*;
use nvir_hw::samples::Mode;
use nvir_hw::word::ClearBuffers;

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

/// CLEAR_BUFFERS.
pub(crate) fn clear(device: &mut Device, r: &Registers) -> Effect {
    let what = ClearBuffers::from_bits(r.get(CLEAR_BUFFERS));
    if r.get(CLEAR_FLAGS) != 0 || r.get(CLIP_RECTS_EN) != 0 {
        return Err("CLEAR_FLAGS and clip rectangles are not implemented".into());
    }
    let (target, layer) = (what.target(), what.layer());
    let channels = [0, 1, 2, 3].map(|n| what.channels() >> n & 1 != 0);
    if channels.contains(&true) {
        color(device, r, target, layer, channels)?;
    }
    let zeta = (what.depth(), what.stencil());
    if zeta.0 || zeta.1 {
        depth(device, r, layer, zeta)?;
    }
    Ok(())
}

fn color(device: &mut Device, r: &Registers, target: u32, layer: u32, channels: [bool; 4]) -> Effect {
    if target >= RT_FORMAT.count {
        return Err(format!("there is no render target {target}"));
    }
    let code = r.get(RT_FORMAT.at(target));
    if code == 0 {
        // No target is bound.
        return Ok(());
    }
    let format = Colour::from_code(code).ok_or_else(|| format!("render target format {code:#x}"))?;
    let array = r.get(RT_ARRAY_MODE.at(target));
    let tile_mode = r.get(RT_TILE_MODE.at(target));
    let words = Words {
        address: r.address(RT_ADDRESS_HIGH.at(target)),
        width: r.get(RT_HORIZ.at(target)),
        height: r.get(RT_VERT.at(target)),
        tile_mode,
        layers: array & 0xffff,
        layer_stride: u64::from(r.get(RT_LAYER_STRIDE.at(target))) * 4,
        layer: layer + r.get(RT_BASE_LAYER.at(target)) % 0x1_0000,
        volume: (tile_mode | array) & VOLUME != 0,
    };
    let surface = surface(&words, format.bytes() as u64)?;
    let mut texel = vec![0; format.bytes()];
    let channel = |i: u32| r.get(CLEAR_COLOR.at(i));
    format.encode([channel(0), channel(1), channel(2), channel(3)], &mut texel);
    let mask = format.mask(channels);
    fill(device, r, &surface, &texel, &mask)
}

fn depth(device: &mut Device, r: &Registers, layer: u32, with: (bool, bool)) -> Effect {
    let code = r.get(ZETA_FORMAT);
    if code == 0 {
        return Ok(());
    }
    let format = Zeta::from_code(code).ok_or_else(|| format!("depth buffer format {code:#x}"))?;
    let array = r.get(ZETA_ARRAY_MODE);
    let words = Words {
        address: r.address(ZETA_ADDRESS_HIGH),
        width: r.get(ZETA_HORIZ),
        height: r.get(ZETA_VERT),
        tile_mode: r.get(ZETA_TILE_MODE),
        layers: array & 0xffff,
        layer_stride: u64::from(r.get(ZETA_LAYER_STRIDE)) * 4,
        layer: layer + r.get(ZETA_BASE_LAYER) % 0x1_0000,
        volume: false,
    };
    let surface = surface(&words, format.bytes() as u64)?;
    let (texel, mask) =
        colour::zeta_texel(format, f32::from_bits(r.get(CLEAR_DEPTH)), r.get(CLEAR_STENCIL) as u8, with);
    fill(device, r, &surface, &texel, &mask)
}

/// Fills what the screen's scissor leaves of a surface, the masked bits of each texel.
fn fill(device: &mut Device, r: &Registers, surface: &Surface, texel: &[u8], mask: &[u8]) -> Effect {
    let size = texel.len() as u64;
    // Samples are texels side by side.
    let (sx, sy) = Mode::from_code(r.get(MULTISAMPLE_MODE) & 15).grid;
    // First in the low half, how many in the high half.
    let range = |word: u32, shift: u32, most: u64| {
        let (first, count) = (u64::from(word & 0xffff) << shift, u64::from(word >> 16) << shift);
        let first = first.min(most);
        (first, count.min(most - first))
    };
    let (x, width) = range(r.get(SCREEN_SCISSOR_HORIZ), sx, surface.row_bytes / size);
    let (y, rows) = range(r.get(SCREEN_SCISSOR_VERT), sy, surface.rows);
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
