//! Images that engines draw into, as registers describe them.

use super::operand::{Blocks, ImageOperand};
use crate::result::EngineResult;
use nvir_base::tiling::{Level, Order};

/// The words that describe an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Words {
    pub address: u64,
    /// Texels, or bytes of a row where it is linear.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Rows follow each other.
    pub linear: bool,
    /// Blocks of a block-linear image.
    pub tile_mode: u32,
    /// Layers, or slices of a volume.
    pub layers: u32,
    /// Bytes from layer to layer.
    pub layer_stride: u64,
    /// Layers are slices of one block-linear image.
    pub volume: bool,
}

/// A layer of an image, and its extent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Surface {
    pub operand: ImageOperand,
    /// Bytes of a row.
    pub row_bytes: u64,
    pub rows: u64,
}

impl Words {
    /// A layer of the image, of texels of so many bytes.
    pub(crate) fn layer(&self, layer: u32, texel: u64) -> EngineResult<Surface> {
        let rows = u64::from(self.height);
        let skip = u64::from(layer).wrapping_mul(self.layer_stride);
        if self.linear {
            let (address, pitch) = (self.address.wrapping_add(skip), u64::from(self.width));
            return Ok(Surface { operand: ImageOperand::Pitch { address, pitch }, row_bytes: pitch, rows });
        }
        let row_bytes = u64::from(self.width) * texel;
        let (z, slices, skip) = if self.volume { (layer, self.layers, 0) } else { (0, 1, skip) };
        let operand = ImageOperand::blocks(Blocks {
            address: self.address.wrapping_add(skip),
            tile_mode: self.tile_mode,
            row_bytes,
            rows: self.height,
            slices,
            z,
            x: 0,
            y: 0,
        })?;
        Ok(Surface { operand, row_bytes, rows })
    }

    /// Where a layer's texels lie: its address, how rows and blocks follow each other from there, and
    /// which slice of them it is.
    pub(crate) fn level(&self, layer: u32, texel: u64) -> EngineResult<(u64, Level, u32)> {
        let surface = self.layer(layer, texel)?;
        Ok(match surface.operand {
            ImageOperand::Blocks { address, level, z, .. } => (address, level, z),
            ImageOperand::Pitch { address, pitch } => {
                let (pitch, rows) = (pitch as u32, self.height);
                (address, Level { order: Order::Pitch, offset: 0, pitch, rows, slices: 1 }, 0)
            }
        })
    }
}
