//! One side of a transfer: rows of bytes at a pitch, or a slice of a block-linear image.

use crate::result::EngineResult;
use nvir_base::tiling::{GOB_WIDTH, Level, Order, TileMode};

/// One slice of an image, or plain rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ImageOperand {
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
pub(super) const MAX_ROW_BYTES: u64 = 1 << 21;
const MAX_ROWS: u32 = 1 << 20;

/// The most gobs of a block in height and depth, log2.
const MAX_GOBS: u32 = 5;

impl ImageOperand {
    pub(crate) fn blocks(b: Blocks) -> EngineResult<ImageOperand> {
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
        let pitch = b.row_bytes.next_multiple_of(GOB_WIDTH.into()) as u32;
        let level = Level { order: Order::Blocks(tile), offset: 0, pitch, rows: b.rows, slices: b.slices };
        Ok(ImageOperand::Blocks { address: b.address, level, z: b.z, x: b.x, y: b.y })
    }

    /// The part of it that begins `x` bytes and `y` rows further.
    pub(crate) fn at(self, dx: u64, dy: u64) -> ImageOperand {
        match self {
            ImageOperand::Pitch { address, pitch } => {
                ImageOperand::Pitch { address: row_address(address, pitch, dy).wrapping_add(dx), pitch }
            }
            ImageOperand::Blocks { address, level, z, x, y } => {
                ImageOperand::Blocks { address, level, z, x: x + dx, y: y + dy }
            }
        }
    }
}

pub(super) fn row_address(address: u64, pitch: u64, row: u64) -> u64 {
    address.wrapping_add(pitch.wrapping_mul(row))
}
