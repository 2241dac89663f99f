//! Bytes on their way: from the command stream, from memory to memory, and to and from the host.

use crate::commands::{Subchannel, halves, words};
use crate::context::{Context, STAGING_BYTES};
use crate::error::{Result, invalid};
use crate::memory::Slice;
use nvir::Chip;
use nvir_hw::method::{copy, m2mf, upload};
use nvir_hw::word::{self, CopyExec, CopySwizzle, M2mfExec, UploadExec};

/// Bytes that go with the commands; more are copied from memory that both sides see.
const INLINE_BYTES: usize = 4096;

/// EXEC of M2MF without a time, and from rows to rows.
const PLAIN: M2mfExec = M2mfExec::new().with_short(true);
const LINEAR: M2mfExec = PLAIN.with_linear_in(true).with_linear_out(true);

/// One side of a copy of rows.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Side {
    /// Rows follow each other at a distance of `pitch` bytes.
    Rows { address: u64, pitch: u32 },
    /// In blocks: the image's address, block size, elements of a row, rows, slices; where the rectangle begins.
    Blocks { address: u64, tile_mode: u32, size: [u32; 3], at: [u32; 3] },
}

impl Context {
    /// Writes bytes to a part of a buffer.
    ///
    /// # Errors
    /// The part is outside the buffer, there are not as many bytes as it has, or the context is lost.
    pub fn write(&mut self, to: &Slice, bytes: &[u8]) -> Result<()> {
        self.check(to)?;
        if bytes.len() as u64 != to.bytes {
            return invalid(format!("{} bytes for a part of {}", bytes.len(), to.bytes));
        }
        self.using(&to.buffer.shared);
        self.upload(to.address(), bytes)?;
        self.queued()
    }

    /// Reads a part of a buffer, after everything that was queued.
    ///
    /// # Errors
    /// The part is outside the buffer, or the context is lost.
    pub fn read(&mut self, from: &Slice) -> Result<Vec<u8>> {
        self.check(from)?;
        let mut all = vec![0; from.bytes as usize];
        for (n, piece) in all.chunks_mut(STAGING_BYTES as usize).enumerate() {
            let at = from.address() + n as u64 * STAGING_BYTES;
            self.using(&from.buffer.shared);
            self.copy_bytes(at, self.staging.memory.address, piece.len() as u64);
            self.finish()?;
            self.device.read(&self.staging.memory, 0, piece)?;
        }
        Ok(all)
    }

    /// Copies from one part of a buffer to another; the two must not overlap.
    ///
    /// # Errors
    /// A part is outside its buffer, they differ in size or overlap, or the context is lost.
    pub fn copy(&mut self, from: &Slice, to: &Slice) -> Result<()> {
        self.check(from)?;
        self.check(to)?;
        let (a, b) = (from.address(), to.address());
        if from.bytes != to.bytes || a < b + to.bytes && b < a + from.bytes {
            return invalid(format!("a copy of {} bytes at {a:#x} to {} at {b:#x}", from.bytes, to.bytes));
        }
        self.using(&from.buffer.shared);
        self.using(&to.buffer.shared);
        self.copy_bytes(a, b, to.bytes);
        self.queued()
    }

    pub(crate) fn check(&self, s: &Slice) -> Result<()> {
        self.alive()?;
        match s.offset.checked_add(s.bytes) {
            Some(end) if end <= s.buffer.bytes() => Ok(()),
            _ => invalid(format!("{} bytes at {} of a buffer of {}", s.bytes, s.offset, s.buffer.bytes())),
        }
    }

    /// Writes bytes to an address whose memory is named.
    pub(crate) fn upload(&mut self, address: u64, bytes: &[u8]) -> Result<()> {
        if bytes.len() <= INLINE_BYTES {
            self.upload_inline(address, bytes);
            return Ok(());
        }
        for (n, piece) in bytes.chunks(STAGING_BYTES as usize).enumerate() {
            self.stage(piece)?;
            let at = address + n as u64 * STAGING_BYTES;
            self.copy_bytes(self.staging.memory.address, at, piece.len() as u64);
        }
        Ok(())
    }

    /// Puts bytes into the memory that both sides see, once nobody uses it.
    pub(crate) fn stage(&mut self, bytes: &[u8]) -> Result<()> {
        self.finish()?;
        self.device.write(&self.staging.memory, 0, bytes)
    }

    fn upload_inline(&mut self, address: u64, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let (c, at, data) = (&mut self.commands, Subchannel::Upload, words(bytes));
        let line = [bytes.len() as u32, 1];
        match self.chip {
            Chip::Gf100 => {
                c.address(at, m2mf::OFFSET_OUT_HIGH, address);
                c.methods(at, m2mf::LINE_LENGTH_IN, &line);
                c.methods(at, m2mf::EXEC, &[LINEAR.with_push(true).into()]);
                c.data(at, m2mf::DATA, &data);
            }
            Chip::Gk104 | Chip::Gk110 => {
                c.address(at, upload::UPLOAD_DST_ADDRESS_HIGH, address);
                c.methods(at, upload::UPLOAD_LINE_LENGTH_IN, &line);
                c.start_with_data(at, upload::UPLOAD_EXEC, UploadExec::LINEAR.into(), &data);
            }
        }
    }

    pub(crate) fn copy_bytes(&mut self, from: u64, to: u64, bytes: u64) {
        let piece = match self.chip {
            Chip::Gf100 => word::m2mf::MAX_LINE,
            Chip::Gk104 | Chip::Gk110 => 1 << 30,
        };
        for at in (0..bytes).step_by(piece as usize) {
            let line = piece.min(bytes - at) as u32;
            let [high, low] = halves(from + at);
            let [to_high, to_low] = halves(to + at);
            match self.chip {
                Chip::Gf100 => {
                    let (c, sub) = (&mut self.commands, Subchannel::Upload);
                    c.methods(sub, m2mf::OFFSET_OUT_HIGH, &[to_high, to_low]);
                    c.methods(sub, m2mf::OFFSET_IN_HIGH, &[high, low]);
                    c.methods(sub, m2mf::LINE_LENGTH_IN, &[line, 1]);
                    c.methods(sub, m2mf::EXEC, &[LINEAR.into()]);
                }
                Chip::Gk104 | Chip::Gk110 => {
                    let (c, sub) = (&mut self.commands, Subchannel::Copy);
                    c.methods(sub, copy::SRC_ADDRESS_HIGH, &[high, low, to_high, to_low]);
                    c.methods(sub, copy::X_COUNT, &[line]);
                    let how = CopyExec::PLAIN.with_src_linear(true).with_dst_linear(true);
                    c.methods(sub, copy::EXEC, &[how.into()]);
                }
            }
        }
    }

    /// Copies a rectangle of elements of `element` bytes (1, 2, 3, 4, 6, 8, 12, 16), `width` by `rows`, between rows and
    /// blocks or the other way.
    pub(crate) fn copy_rows(&mut self, from: Side, to: Side, element: u32, width: u32, rows: u32) {
        match self.chip {
            Chip::Gf100 => self.copy_rows_fermi(from, to, element, width, rows),
            Chip::Gk104 | Chip::Gk110 => self.copy_rows_kepler(from, to, element, width, rows),
        }
    }

    fn copy_rows_fermi(&mut self, from: Side, to: Side, element: u32, width: u32, rows: u32) {
        let (c, sub) = (&mut self.commands, Subchannel::Upload);
        for first in (0..rows).step_by(word::m2mf::MAX_LINES as usize) {
            let mut how = PLAIN;
            let mut pitches = [0; 2];
            let sides = [
                (from, m2mf::OFFSET_IN_HIGH, m2mf::TILING_MODE_IN, m2mf::TILING_POSITION_IN_X),
                (to, m2mf::OFFSET_OUT_HIGH, m2mf::TILING_MODE_OUT, m2mf::TILING_POSITION_OUT_X),
            ];
            for (n, (side, offset, tiling, position)) in sides.into_iter().enumerate() {
                match side {
                    Side::Rows { address, pitch } => {
                        c.address(sub, offset, address + u64::from(first) * u64::from(pitch));
                        pitches[n] = pitch;
                        how = if n == 0 { how.with_linear_in(true) } else { how.with_linear_out(true) };
                    }
                    Side::Blocks { address, tile_mode, size: [w, h, d], at: [x, y, z] } => {
                        c.address(sub, offset, address);
                        c.methods(sub, tiling, &[tile_mode, w * element, h, d, z]);
                        c.methods(sub, position, &[x * element, y + first]);
                    }
                }
            }
            c.methods(sub, m2mf::PITCH_IN, &pitches);
            let lines = word::m2mf::MAX_LINES.min(rows - first);
            c.methods(sub, m2mf::LINE_LENGTH_IN, &[width * element, lines]);
            c.methods(sub, m2mf::EXEC, &[how.into()]);
        }
    }

    fn copy_rows_kepler(&mut self, from: Side, to: Side, element: u32, width: u32, rows: u32) {
        let (c, sub) = (&mut self.commands, Subchannel::Copy);
        let mut how = CopyExec::PLAIN.with_lines(true).with_elements(true);
        let mut pitches = [0; 2];
        let mut addresses = [0; 4];
        let sides = [(from, copy::SRC_BLOCK_DIMENSIONS), (to, copy::DST_BLOCK_DIMENSIONS)];
        for (n, (side, blocks)) in sides.into_iter().enumerate() {
            let address = match side {
                Side::Rows { address, pitch } => {
                    pitches[n] = pitch;
                    how = if n == 0 { how.with_src_linear(true) } else { how.with_dst_linear(true) };
                    address
                }
                Side::Blocks { address, tile_mode, size: [w, h, d], at: [x, y, z] } => {
                    let tile = CopySwizzle::GOB_ROWS_8 | tile_mode;
                    c.methods(sub, blocks, &[tile, w, h, d, z, y << 16 | x]);
                    address
                }
            };
            addresses[2 * n..2 * n + 2].copy_from_slice(&halves(address));
        }
        // Components of 1, 2 or 4 bytes, up to four, that stay where they are.
        let component = [4, 2, 1].into_iter().find(|&b| element.is_multiple_of(b) && element / b <= 4);
        let component = component.unwrap_or(1);
        let count = element / component - 1;
        let swizzle = CopySwizzle::new().with_from(CopySwizzle::IDENTITY).with_bytes(component - 1);
        c.methods(sub, copy::SWIZZLE, &[swizzle.with_source(count).with_destination(count).into()]);
        c.methods(sub, copy::SRC_ADDRESS_HIGH, &addresses);
        c.methods(sub, copy::SRC_PITCH, &[pitches[0], pitches[1], width, rows]);
        c.methods(sub, copy::EXEC, &[how.into()]);
    }
}
