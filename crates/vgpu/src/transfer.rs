//! Images and rows of bytes as the transfer engines see them: row by row at a pitch, or block-linear.

use crate::Memory;
use crate::device::{Device, Effect};
use nvir::tiling::{Level, Order, TileMode};
use std::sync::atomic::Ordering::Relaxed;

/// One slice of an image, or plain rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    Pitch {
        /// Of the first row's first byte.
        address: u64,
        /// Bytes from row to row.
        pitch: u64,
    },
    Blocks {
        /// Of the image.
        address: u64,
        level: Level,
        z: u32,
        /// Of the rectangle's first byte: bytes and rows.
        x: u64,
        y: u64,
    },
}

/// The words that describe a block-linear image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Blocks {
    pub address: u64,
    pub tile_mode: u32,
    /// Bytes of a row.
    pub row_bytes: u64,
    pub rows: u32,
    pub slices: u32,
    pub z: u32,
    pub x: u64,
    pub y: u64,
}

/// No image has longer rows (65536 texels of 16 bytes are 1 MiB), more rows or more slices: beyond any buffer, and offsets
/// are far from their limit.
const MAX_ROW_BYTES: u64 = 1 << 21;
const MAX_ROWS: u32 = 1 << 20;

/// The most gobs of a block in height and depth, log2.
const MAX_GOBS: u32 = 5;

/// Units of work that a row takes beyond its bytes.
const ROW_WORK: u64 = 64;

impl Side {
    pub fn blocks(b: Blocks) -> Effect<Side> {
        let tile = TileMode(b.tile_mode & 0xfff);
        if b.tile_mode & 15 != 0 || tile.gobs_y() > MAX_GOBS || tile.shift_z() > MAX_GOBS {
            return Err(format!("tile mode {:#x} does not exist", b.tile_mode & 0xfff));
        }
        if b.row_bytes > MAX_ROW_BYTES || b.rows > MAX_ROWS || b.slices > MAX_ROWS {
            return Err(format!("an image of {} bytes by {} by {}", b.row_bytes, b.rows, b.slices));
        }
        if b.z >= b.slices.max(1) {
            return Err(format!("slice {} of an image with {}", b.z, b.slices));
        }
        if b.address & 15 != 0 {
            return Err(format!(
                "a block-linear image at {:#x}, in the middle of a run of 16 bytes",
                b.address
            ));
        }
        let pitch = b.row_bytes.next_multiple_of(64) as u32;
        let level = Level { order: Order::Blocks(tile), offset: 0, pitch, rows: b.rows, slices: b.slices };
        Ok(Side::Blocks { address: b.address, level, z: b.z, x: b.x, y: b.y })
    }

    /// The part of it that begins `x` bytes and `y` rows further.
    pub fn at(self, dx: u64, dy: u64) -> Side {
        match self {
            Side::Pitch { address, pitch } => {
                Side::Pitch { address: row_address(address, pitch, dy).wrapping_add(dx), pitch }
            }
            Side::Blocks { address, level, z, x, y } => {
                Side::Blocks { address, level, z, x: x + dx, y: y + dy }
            }
        }
    }

    /// That `bytes` by `rows` lie inside the image.
    fn check(&self, bytes: u64, rows: u64) -> Effect {
        let Side::Blocks { level, x, y, .. } = self else { return Ok(()) };
        if x + bytes > level.pitch.into() || y + rows > level.rows.into() {
            return Err(format!(
                "{bytes} bytes by {rows} rows from {x}, {y} on are outside the image of {} bytes by {} rows",
                level.pitch, level.rows
            ));
        }
        Ok(())
    }

    /// The bytes of a row, from the rectangle's first on.
    pub fn read_row(&self, memory: &Memory, row: u64, out: &mut [u8]) -> Effect {
        match *self {
            Side::Pitch { address, pitch } => {
                memory.read_into(row_address(address, pitch, row), out).map_err(|e| e.to_string())
            }
            Side::Blocks { address, level, z, x, y } => {
                let mut done = 0;
                for (offset, run) in level.runs(x, y + row, z.into(), out.len() as u64) {
                    let from = address + offset;
                    let to = &mut out[done..][..run as usize];
                    done += run as usize;
                    match memory.words_from(from & !3) {
                        Some(words) if run == 16 && words.len() >= 4 => {
                            for (bytes, word) in to.chunks_exact_mut(4).zip(words) {
                                bytes.copy_from_slice(&word.load(Relaxed).to_le_bytes());
                            }
                        }
                        _ => memory.read_into(from, to).map_err(|e| e.to_string())?,
                    }
                }
                Ok(())
            }
        }
    }

    /// Writes a row, from the rectangle's first byte on.
    pub fn write_row(&self, memory: &Memory, row: u64, bytes: &[u8]) -> Effect {
        match *self {
            Side::Pitch { address, pitch } => {
                memory.write(row_address(address, pitch, row), bytes).map_err(|e| e.to_string())
            }
            Side::Blocks { address, level, z, x, y } => {
                let mut done = 0;
                for (offset, run) in level.runs(x, y + row, z.into(), bytes.len() as u64) {
                    let to = address + offset;
                    memory.write(to, &bytes[done..][..run as usize]).map_err(|e| e.to_string())?;
                    done += run as usize;
                }
                Ok(())
            }
        }
    }

    /// Tells the device what a rectangle's writer writes.
    pub fn wrote(&self, device: &mut Device, bytes: u64, rows: u64) {
        if device.written.is_none() || rows == 0 {
            return;
        }
        match *self {
            Side::Pitch { address, pitch } if pitch == bytes => device.wrote(address, bytes * rows),
            Side::Pitch { address, pitch } => {
                (0..rows).for_each(|row| device.wrote(row_address(address, pitch, row), bytes));
            }
            Side::Blocks { address, level, z, .. } => {
                // A slice lies in its layer of blocks.
                let Order::Blocks(tile) = level.order else { return };
                let layer = u64::from(level.pitch)
                    * u64::from(level.rows).next_multiple_of(1 << tile.shift_y())
                    << tile.shift_z();
                device.wrote(address + u64::from(z >> tile.shift_z()) * layer, layer);
            }
        }
    }
}

fn row_address(address: u64, pitch: u64, row: u64) -> u64 {
    address.wrapping_add(pitch.wrapping_mul(row))
}

/// Copies a rectangle of so many bytes and rows.
pub(crate) fn copy(device: &mut Device, from: &Side, to: &Side, bytes: u64, rows: u64) -> Effect {
    if bytes == 0 || rows == 0 {
        return Ok(());
    }
    from.check(bytes, rows)?;
    to.check(bytes, rows)?;
    device.charge((bytes + ROW_WORK).checked_mul(rows).ok_or("a copy of more than 2^64 bytes")?)?;
    to.wrote(device, bytes, rows);
    let memory = &device.memory;
    if let (Side::Pitch { address: a, pitch: p }, Side::Pitch { address: b, pitch: q }) = (*from, *to) {
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
pub(crate) fn write(device: &mut Device, to: &Side, bytes: u64, rows: u64, data: &[u8]) -> Effect {
    to.check(bytes, rows)?;
    device.charge((bytes + ROW_WORK).saturating_mul(rows))?;
    to.wrote(device, bytes, rows);
    for (row, line) in data.chunks_exact(bytes.max(1) as usize).take(rows as usize).enumerate() {
        to.write_row(&device.memory, row as u64, line)?;
    }
    Ok(())
}

/// Fills a rectangle with a row.
pub(crate) fn fill(device: &mut Device, to: &Side, rows: u64, line: &[u8]) -> Effect {
    let bytes = line.len() as u64;
    to.check(bytes, rows)?;
    device.charge((bytes + ROW_WORK).saturating_mul(rows))?;
    to.wrote(device, bytes, rows);
    (0..rows).try_for_each(|row| to.write_row(&device.memory, row, line))
}

/// A row's bytes. Rows that no buffer can hold are refused before memory is taken for them.
pub(crate) fn scratch(bytes: u64) -> Effect<Vec<u8>> {
    if bytes > MAX_ROW_BYTES {
        return Err(format!("a row of {bytes} bytes"));
    }
    let mut row = Vec::new();
    row.try_reserve_exact(bytes as usize).map_err(|e| e.to_string())?;
    row.resize(bytes as usize, 0);
    Ok(row)
}
