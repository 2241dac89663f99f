//! Images and rows of bytes as the transfer engines see them: row by row at a pitch, or block-linear.

pub(crate) use super::operand::{Blocks, ImageOperand};
use super::operand::{MAX_ROW_BYTES, row_address};
use crate::Memory;
use crate::device::{Device, work};
use crate::result::EngineResult;
use nvir_base::tiling::{self, GOB_WIDTH, Level, Order};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

impl ImageOperand {
    /// That `bytes` by `rows` lie inside the image.
    fn check(&self, bytes: u64, rows: u64) -> EngineResult {
        let ImageOperand::Blocks { level, x, y, .. } = self else { return Ok(()) };
        if x + bytes > level.pitch.into() || y + rows > level.rows.into() {
            return Err(format!(
                "{bytes} bytes by {rows} rows from {x}, {y} on are outside the image of {} bytes by {} rows",
                level.pitch, level.rows
            ));
        }
        Ok(())
    }

    /// The bytes of a row, from the rectangle's first on.
    pub(crate) fn read_row(&self, memory: &Memory, row: u64, out: &mut [u8]) -> EngineResult {
        match *self {
            ImageOperand::Pitch { address, pitch } => {
                memory.read_into(row_address(address, pitch, row), out).map_err(|e| e.to_string())
            }
            ImageOperand::Blocks { address, level, z, x, y } => {
                let Some(line) = Line::of(memory, address, &level, z, y + row, x + out.len() as u64) else {
                    let mut out = out;
                    for (offset, run) in level.runs(x, y + row, z.into(), out.len() as u64) {
                        let (part, rest) = out.split_at_mut(run as usize);
                        memory.read_into(address + offset, part).map_err(|e| e.to_string())?;
                        out = rest;
                    }
                    return Ok(());
                };
                line.read(x, out);
                Ok(())
            }
        }
    }

    /// Writes a row, from the rectangle's first byte on.
    pub(crate) fn write_row(&self, memory: &Memory, row: u64, bytes: &[u8]) -> EngineResult {
        match *self {
            ImageOperand::Pitch { address, pitch } => {
                memory.write(row_address(address, pitch, row), bytes).map_err(|e| e.to_string())
            }
            ImageOperand::Blocks { address, level, z, x, y } => {
                let Some(line) = Line::of(memory, address, &level, z, y + row, x + bytes.len() as u64) else {
                    let mut bytes = bytes;
                    for (offset, run) in level.runs(x, y + row, z.into(), bytes.len() as u64) {
                        let (part, rest) = bytes.split_at(run as usize);
                        memory.write(address + offset, part).map_err(|e| e.to_string())?;
                        bytes = rest;
                    }
                    return Ok(());
                };
                line.write(x, bytes);
                Ok(())
            }
        }
    }

    /// Tells the device what a rectangle's writer writes.
    pub(crate) fn log_write(&self, device: &mut Device, bytes: u64, rows: u64) {
        if device.written.is_none() || rows == 0 {
            return;
        }
        match *self {
            ImageOperand::Pitch { address, pitch } if pitch == bytes => {
                device.log_write(address, bytes * rows)
            }
            ImageOperand::Pitch { address, pitch } => {
                (0..rows).for_each(|row| device.log_write(row_address(address, pitch, row), bytes));
            }
            ImageOperand::Blocks { address, level, z, .. } => {
                // A slice lies in its layer of blocks.
                let Order::Blocks(tile) = level.order else { return };
                let layer = (u64::from(level.pitch)
                    * u64::from(level.rows).next_multiple_of(1 << tile.shift_y()))
                    << tile.shift_z();
                device.log_write(address + u64::from(z >> tile.shift_z()) * layer, layer);
            }
        }
    }
}

/// A copy in words.
pub(crate) fn describe(from: &ImageOperand, to: &ImageOperand, bytes: u64, rows: u64) -> String {
    let side = |side: &ImageOperand| match side {
        ImageOperand::Pitch { address, .. } => format!("{address:#x}"),
        ImageOperand::Blocks { address, z, x, y, .. } => {
            format!("the image at {address:#x}, byte {x} of row {y} of slice {z}")
        }
    };
    format!("{rows} rows of {bytes} bytes from {} to {}", side(from), side(to))
}

/// A row of a block-linear image whose bytes all lie in one buffer.
struct Line<'a> {
    /// From the row's first byte on.
    words: &'a [AtomicU32],
    /// Words from a gob of the row to the next.
    step: usize,
}

/// Bytes that lie side by side, and their words.
const RUN: usize = tiling::RUN as usize;
const RUN_WORDS: usize = RUN / 4;
/// Where the four runs of a gob's row are, in words.
const RUNS: [usize; 4] = [0, 16, 64, 80];

impl<'a> Line<'a> {
    /// Row `y` up to `end` bytes.
    fn of(memory: &'a Memory, address: u64, level: &Level, z: u32, y: u64, end: u64) -> Option<Line<'a>> {
        let Order::Blocks(_) = level.order else { return None };
        let first = level.byte(0, y, z.into());
        // Gobs of a row are as far apart as the first two would be.
        let step = (level.byte(GOB_WIDTH.into(), y, z.into()) - first) as usize / 4;
        let words = memory.words_from(address + first)?;
        let gobs = end.div_ceil(GOB_WIDTH.into()) as usize;
        let last = gobs.checked_sub(1)?.checked_mul(step)? + RUNS[3] + RUN_WORDS;
        (last <= words.len()).then_some(Line { words, step })
    }

    /// The words of the run that holds byte `x`.
    #[inline]
    fn run(&self, x: usize) -> &'a [AtomicU32] {
        &self.words[x / GOB_WIDTH as usize * self.step + RUNS[x / RUN % 4]..][..RUN_WORDS]
    }

    fn read(&self, x: u64, out: &mut [u8]) {
        let x = x as usize;
        let (head, rest) = out.split_at_mut((x.wrapping_neg() % RUN).min(out.len()));
        if !head.is_empty() {
            part(self.run(x), x % RUN, head.len(), |i, byte| head[i] = byte);
        }
        let mut x = x + head.len();
        let mut runs = rest.chunks_exact_mut(RUN);
        for run in &mut runs {
            for (bytes, word) in run.chunks_exact_mut(4).zip(self.run(x)) {
                bytes.copy_from_slice(&word.load(Relaxed).to_le_bytes());
            }
            x += RUN;
        }
        let tail = runs.into_remainder();
        if !tail.is_empty() {
            part(self.run(x), 0, tail.len(), |i, byte| tail[i] = byte);
        }
    }

    fn write(&self, x: u64, bytes: &[u8]) {
        let x = x as usize;
        let (head, rest) = bytes.split_at((x.wrapping_neg() % RUN).min(bytes.len()));
        if !head.is_empty() {
            put_part(self.run(x), x % RUN, head);
        }
        let mut x = x + head.len();
        let mut runs = rest.chunks_exact(RUN);
        for run in &mut runs {
            for (bytes, word) in run.chunks_exact(4).zip(self.run(x)) {
                word.store(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]), Relaxed);
            }
            x += RUN;
        }
        if !runs.remainder().is_empty() {
            put_part(self.run(x), 0, runs.remainder());
        }
    }
}

/// Some bytes of a run, from byte `at` on.
fn part(run: &[AtomicU32], at: usize, count: usize, mut each: impl FnMut(usize, u8)) {
    for i in 0..count {
        each(i, run[(at + i) / 4].load(Relaxed).to_le_bytes()[(at + i) % 4]);
    }
}

/// Writes some bytes of a run, from byte `at` on.
fn put_part(run: &[AtomicU32], at: usize, bytes: &[u8]) {
    for (i, byte) in (at..).zip(bytes) {
        let mut word = run[i / 4].load(Relaxed).to_le_bytes();
        word[i % 4] = *byte;
        run[i / 4].store(u32::from_le_bytes(word), Relaxed);
    }
}

/// Work for rows of which each takes so much.
pub(crate) fn charge(device: &mut Device, row: u64, rows: u64) -> EngineResult {
    device.charge(row.saturating_add(work::ROW).saturating_mul(rows))
}

/// Copies a rectangle of so many bytes and rows.
pub(crate) fn copy(
    device: &mut Device,
    from: &ImageOperand,
    to: &ImageOperand,
    bytes: u64,
    rows: u64,
) -> EngineResult {
    if bytes == 0 || rows == 0 {
        return Ok(());
    }
    from.check(bytes, rows)?;
    to.check(bytes, rows)?;
    let plain = matches!((from, to), (ImageOperand::Pitch { .. }, ImageOperand::Pitch { .. }));
    charge(device, bytes / if plain { work::LINEAR } else { work::BLOCKS }, rows)?;
    to.log_write(device, bytes, rows);
    device.moved += bytes.saturating_mul(rows);
    let memory = &device.memory;
    if let (ImageOperand::Pitch { address: a, pitch: p }, ImageOperand::Pitch { address: b, pitch: q }) =
        (*from, *to)
    {
        let (whole, rows) = if p == bytes && q == bytes { (bytes * rows, 1) } else { (bytes, rows) };
        for row in 0..rows {
            memory.copy(row_address(a, p, row), row_address(b, q, row), whole).map_err(|e| e.to_string())?;
        }
        return Ok(());
    }
    let mut scratch = scratch(bytes)?;
    for row in 0..rows {
        from.read_row(memory, row, &mut scratch)?;
        to.write_row(memory, row, &scratch)?;
    }
    Ok(())
}

/// Writes a rectangle from bytes that stand row after row.
pub(crate) fn write(
    device: &mut Device,
    to: &ImageOperand,
    bytes: u64,
    rows: u64,
    data: &[u8],
) -> EngineResult {
    to.check(bytes, rows)?;
    charge(device, bytes / work::BLOCKS, rows)?;
    to.log_write(device, bytes, rows);
    device.moved += data.len() as u64;
    for (row, line) in data.chunks_exact(bytes.max(1) as usize).take(rows as usize).enumerate() {
        to.write_row(&device.memory, row as u64, line)?;
    }
    Ok(())
}

/// Fills a rectangle with a row.
pub(crate) fn fill(device: &mut Device, to: &ImageOperand, rows: u64, line: &[u8]) -> EngineResult {
    let bytes = line.len() as u64;
    to.check(bytes, rows)?;
    charge(device, bytes / work::BLOCKS, rows)?;
    to.log_write(device, bytes, rows);
    device.moved += bytes * rows;
    (0..rows).try_for_each(|row| to.write_row(&device.memory, row, line))
}

/// A row's bytes. Rows that no buffer can hold are refused before memory is taken for them.
pub(crate) fn scratch(bytes: u64) -> EngineResult<Vec<u8>> {
    if bytes > MAX_ROW_BYTES {
        return Err(format!("a row of {bytes} bytes"));
    }
    let mut row = Vec::new();
    row.try_reserve_exact(bytes as usize).map_err(|e| e.to_string())?;
    row.resize(bytes as usize, 0);
    Ok(row)
}
