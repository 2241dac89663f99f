//! The 2D engine 902d: blits with scaling and format conversion.

mod operation;

use super::{Engine, condition};
use crate::device::{Device, EngineResult, work};
use crate::engine::registers::Registers;
use crate::image::surface_format::{SurfaceFormat, color_name};
use crate::image::transfer::{self, Blocks, ImageOperand};
use crate::watch::What;
use nvir_emu::Channels;
use nvir_hw::method::two_d::*;
use nvir_hw::word::BlitControl;
use operation::Operation;

/// The class of a channel.
pub(crate) struct TwoD(Registers);

impl TwoD {
    pub(crate) fn new(regs: Registers) -> TwoD {
        TwoD(regs)
    }
}

impl Engine for TwoD {
    fn registers(&mut self) -> &mut Registers {
        &mut self.0
    }

    fn method(&mut self, device: &mut Device, method: u32, _: u32) -> EngineResult {
        let draws = matches!(method, DRAW_POINT16 | SIFC_DATA)
            || DRAW_POINT32_X.index(method).or(DRAW_POINT32_Y.index(method)).is_some();
        match method {
            BLIT_SRC_Y_INT if condition::holds(device, &self.0, COND_ADDRESS_HIGH)? => {
                let r = &self.0;
                device.command(r, || What::Blit(describe(r)), Vec::new, |device| blit(device, r))
            }
            _ if draws => Err("drawing in 2D is not implemented".into()),
            _ => Ok(()),
        }
    }
}

/// An image as either end of a blit.
struct Surface {
    format: SurfaceFormat,
    side: ImageOperand,
    width: i64,
    height: i64,
}

/// The image whose registers begin at SRC_FORMAT or DST_FORMAT: both ends have the same.
fn surface(r: &Registers, first: u32) -> EngineResult<Surface> {
    let at = |method: u32| first + (method - SRC_FORMAT);
    let code = r.get(first);
    let format = SurfaceFormat::from_code(code).ok_or_else(|| format!("2D format {code:#x}"))?;
    let (address, width, height) =
        (r.address(at(SRC_ADDRESS_HIGH)), r.get(at(SRC_WIDTH)), r.get(at(SRC_HEIGHT)));
    let side = if r.get(at(SRC_LINEAR)) != 0 {
        ImageOperand::Pitch { address, pitch: r.get(at(SRC_PITCH)).into() }
    } else {
        ImageOperand::blocks(Blocks {
            address,
            tile_mode: r.get(at(SRC_BLOCK_DIMENSIONS)),
            row_bytes: u64::from(width) * format.bytes() as u64,
            rows: height,
            slices: r.get(at(SRC_DEPTH)),
            z: r.get(at(SRC_LAYER)),
            x: 0,
            y: 0,
        })?
    };
    Ok(Surface { format, side, width: width.into(), height: height.into() })
}

/// A signed 32.32 number, the fraction first.
fn fixed(r: &Registers, at: u32) -> i64 {
    i64::from(r.get(at + 4) as i32) << 32 | i64::from(r.get(at))
}

/// Positions in the source for a range of the destination's pixels.
struct Axis {
    /// Of the first pixel that is left by clipping.
    first: i128,
    step: i128,
    /// Texels.
    size: i64,
}

impl Axis {
    /// The texel at pixel `i`.
    fn nearest(&self, i: i64) -> i64 {
        self.clamp((self.first + self.step * i128::from(i)) >> 32)
    }

    /// The two texels around pixel `i`, and how much of the second.
    fn linear(&self, i: i64) -> (i64, i64, f32) {
        let at = self.first + self.step * i128::from(i) - (1 << 31);
        let texel = at >> 32;
        (self.clamp(texel), self.clamp(texel + 1), (at & 0xffff_ffff) as f32 / 4_294_967_296.0)
    }

    /// Texels beyond the edge are the edge's.
    fn clamp(&self, texel: i128) -> i64 {
        texel.clamp(0, i128::from(self.size - 1)) as i64
    }

    /// Whether pixels are texels, one to one and all inside; then the first one.
    fn plain(&self, count: i64) -> Option<i64> {
        let first = self.first >> 32;
        let inside = first >= 0 && first + i128::from(count) <= i128::from(self.size);
        (self.step == 1 << 32 && inside).then_some(first as i64)
    }
}

/// A blit in words.
fn describe(r: &Registers) -> String {
    let end = |first: u32| {
        let at = |method: u32| r.get(first + (method - SRC_FORMAT));
        let format = SurfaceFormat::from_code(r.get(first)).map_or("?".into(), |f| color_name(f.color()));
        let address = r.address(first + (SRC_ADDRESS_HIGH - SRC_FORMAT));
        format!("{format} {}x{} at {address:#x}", at(SRC_WIDTH), at(SRC_HEIGHT))
    };
    let [x, y, w, h] = [BLIT_DST_X, BLIT_DST_Y, BLIT_DST_W, BLIT_DST_H].map(|at| r.get(at));
    format!("{} to ({x}, {y}), {w}x{h}, of {}", end(SRC_FORMAT), end(DST_FORMAT))
}

fn blit(device: &mut Device, r: &Registers) -> EngineResult {
    if r.get(COLOR_KEY_ENABLE) != 0 {
        return Err("colour keys are not implemented".into());
    }
    let (to, from) = (surface(r, DST_FORMAT)?, surface(r, SRC_FORMAT)?);
    if from.width == 0 || from.height == 0 {
        return Err("a blit from an image without texels".into());
    }
    let operation = Operation::of(r, to.format)?;
    let integers = (to.format.is_integer(), from.format.is_integer());
    if integers.0 != integers.1 || integers.0 && to.format.is_signed() != from.format.is_signed() {
        return Err(format!("a blit from format {:#x} to {:#x}", r.get(SRC_FORMAT), r.get(DST_FORMAT)));
    }
    let signed = |at| i64::from(r.get(at) as i32);
    let (x, y) = (signed(BLIT_DST_X), signed(BLIT_DST_Y));
    let (mut left, mut top) = (x.max(0), y.max(0));
    let mut right = (x + i64::from(r.get(BLIT_DST_W))).min(to.width);
    let mut bottom = (y + i64::from(r.get(BLIT_DST_H))).min(to.height);
    if r.get(CLIP_ENABLE) & 1 != 0 {
        let (cx, cy) = (signed(CLIP_X), signed(CLIP_Y));
        (left, top) = (left.max(cx), top.max(cy));
        right = right.min(cx + i64::from(r.get(CLIP_W)));
        bottom = bottom.min(cy + i64::from(r.get(CLIP_H)));
    }
    if left >= right || top >= bottom {
        return Ok(());
    }
    let control = BlitControl::from_bits(r.get(BLIT_CONTROL));
    let axis = |first, step, skipped: i64, size| {
        let (first, step) = (i128::from(fixed(r, first)), i128::from(fixed(r, step)));
        // Whatever the direction, pixels and texels count from their lower edges.
        let half = if control.corner() { 0 } else { step.abs() >> 1 };
        Axis { first: first + half + step * i128::from(skipped), step, size }
    };
    let blit = Blit {
        u: axis(BLIT_SRC_X_FRACT, BLIT_DU_DX_FRACT, left - x, from.width),
        v: axis(BLIT_SRC_Y_FRACT, BLIT_DV_DY_FRACT, top - y, from.height),
        columns: right - left,
        rows: bottom - top,
        target: to.side.at(left as u64 * to.format.bytes() as u64, top as u64),
        linear: control.linear() && !integers.0,
        operation,
        to,
        from,
    };
    blit.run(device)
}

struct Blit {
    u: Axis,
    v: Axis,
    columns: i64,
    rows: i64,
    /// From the first pixel on.
    target: ImageOperand,
    linear: bool,
    operation: Operation,
    to: Surface,
    from: Surface,
}

impl Blit {
    fn run(&self, device: &mut Device) -> EngineResult {
        let (size, source_size) = (self.to.format.bytes(), self.from.format.bytes());
        let bytes = self.columns as u64 * size as u64;
        let plain = (self.u.plain(self.columns), self.v.plain(self.rows));
        // A position in the middle of a texel is the texel, filtered or not.
        let centred = (self.u.first & 0xffff_ffff, self.v.first & 0xffff_ffff) == (1 << 31, 1 << 31);
        if let (Some(x), Some(y)) = plain
            && self.to.format == self.from.format
            && self.operation == Operation::Copy
            && (centred || !self.linear)
        {
            let from = self.from.side.at(x as u64 * source_size as u64, y as u64);
            return transfer::copy(device, &from, &self.target, bytes, self.rows as u64);
        }
        // What is read of a row of the source, which may be much where it shrinks.
        let (low, high) = self.span();
        let read =
            (high - low + 1) as u64 * source_size as u64 * if self.linear { 2 } else { 1 } / work::BLOCKS;
        let texel = if self.linear { work::FILTER } else { work::CONVERT };
        let row = (self.columns as u64).saturating_mul(texel).saturating_add(read);
        transfer::charge(device, row, self.rows as u64)?;
        self.target.log_write(device, bytes, self.rows as u64);
        device.moved += bytes.saturating_mul(self.rows as u64);
        let mut line = transfer::scratch(bytes)?;
        let mut texels = vec![[0; 4]; self.columns as usize];
        let mut old = if self.operation.reads() { transfer::scratch(bytes)? } else { Vec::new() };
        for row in 0..self.rows {
            self.row(device, row, &mut texels)?;
            for (texel, out) in texels.iter_mut().zip(line.chunks_exact_mut(size)) {
                self.operation.source(texel);
                self.to.format.encode(*texel, out);
            }
            if self.operation.reads() {
                self.target.read_row(&device.memory, row as u64, &mut old)?;
                self.operation.join(&mut line, &old);
            }
            self.target.write_row(&device.memory, row as u64, &line)?;
        }
        Ok(())
    }

    /// The texels for a row of the destination.
    fn row(&self, device: &Device, row: i64, out: &mut [Channels]) -> EngineResult {
        if !self.linear {
            let y = self.v.nearest(row);
            let source = self.source_row(device, y)?;
            for (i, texel) in out.iter_mut().enumerate() {
                *texel = source.texel(self.u.nearest(i as i64));
            }
            return Ok(());
        }
        let (top, bottom, down) = self.v.linear(row);
        let (above, below) = (self.source_row(device, top)?, self.source_row(device, bottom)?);
        for (i, texel) in out.iter_mut().enumerate() {
            let (a, b, right) = self.u.linear(i as i64);
            let corners = [above.texel(a), above.texel(b), below.texel(a), below.texel(b)];
            let mix = |a: f32, b: f32, t: f32| if t == 0.0 { a } else { a + (b - a) * t };
            *texel = std::array::from_fn(|c| {
                let [p, q, r, s] = corners.map(|t| f32::from_bits(t[c]));
                mix(mix(p, q, right), mix(r, s, right), down).to_bits()
            });
        }
        Ok(())
    }

    /// The first and last texel of a row of the source that the columns need.
    fn span(&self) -> (i64, i64) {
        let ends = |i| match self.linear {
            true => (self.u.linear(i).0, self.u.linear(i).1),
            false => (self.u.nearest(i), self.u.nearest(i)),
        };
        // Positions grow or fall: the ends hold the extremes.
        let (a, b) = (ends(0), ends(self.columns - 1));
        (a.0.min(b.0), a.1.max(b.1))
    }

    /// The part of the source's row that the columns need.
    fn source_row(&self, device: &Device, y: i64) -> EngineResult<SourceRow> {
        let (low, high) = self.span();
        let size = self.from.format.bytes();
        let mut bytes = transfer::scratch((high - low + 1) as u64 * size as u64)?;
        self.from.side.at(low as u64 * size as u64, y as u64).read_row(&device.memory, 0, &mut bytes)?;
        Ok(SourceRow { format: self.from.format, first: low, bytes })
    }
}

struct SourceRow {
    format: SurfaceFormat,
    /// The texel that the bytes begin with.
    first: i64,
    bytes: Vec<u8>,
}

impl SourceRow {
    /// A single fraction is red, green and blue: drivers multiply what they do not want by zero.
    fn texel(&self, x: i64) -> Channels {
        let mut c = self.format.decode(&self.bytes[(x - self.first) as usize * self.format.bytes()..]);
        if self.format.has_red_alone() && !self.format.is_integer() {
            c = [c[0], c[0], c[0], c[3]];
        }
        c
    }
}
