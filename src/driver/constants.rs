//! The driver's own constant bank for one launch: what compiled code reads of grid, buffers, images
//! and textures.

use super::{Abi, sanitizer};
use crate::chip::Chip;
use nvir_hw::samples::SAMPLE_POSITIONS;
use nvir_hw::{image_word, surface};

/// A buffer, or a part of one, as a program sees it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Range {
    /// GPU address of the first byte.
    pub address: u64,
    /// Bytes; accesses beyond read 0 and write nothing.
    pub size: u64,
}

/// What a launch binds, by the numbers that the program has for it. What is not listed has size 0:
/// reads give 0, writes are dropped.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Constants {
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Number of the launch, for who counts them.
    pub grid_id: u32,
    /// Storage buffers: at most [`Abi::MAX_BUFFERS`].
    pub buffers: Vec<(u32, Range)>,
    /// Uniform blocks: at most [`Abi::MAX_UBOS`].
    pub uniform_blocks: Vec<(u32, Range)>,
    /// Images: at most [`Abi::MAX_IMAGES`].
    pub images: Vec<(u32, surface::View)>,
    /// Images by handle, at most [`Abi::MAX_HANDLES`]; none where the chip has none.
    pub bindless_images: Vec<(u32, surface::View)>,
    /// Handles of textures with their samplers, by slot; without effect where the chip binds
    /// textures otherwise.
    pub textures: Vec<(u32, u32)>,
    /// Of a graphics stage, for which grid and block mean nothing.
    pub graphics: Option<Graphics>,
    /// For a program that checks itself.
    pub sanitizer: Option<sanitizer::Words>,
}

/// What the bank of a graphics stage has besides.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Graphics {
    /// User clip planes: eight at most.
    pub clip_planes: Vec<[f32; 4]>,
    /// Base vertex, base instance and number of the draw, or positions of samples.
    pub draw: Vec<u32>,
    /// The handle of the texture that a fragment shader reads as its framebuffer; without effect
    /// where the chip binds textures otherwise ([`Abi::FRAMEBUFFER_TEXTURE`]).
    pub framebuffer: Option<u32>,
}

/// Texture slots.
pub const MAX_TEXTURES: u32 = 32;

impl Constants {
    /// The bytes of the bank, from offset 0 on. Those of handles are left out where nothing is
    /// bound by handle and `bindless` does not ask for them.
    ///
    /// # Errors
    /// A number that does not exist, or an image of a format that images cannot have.
    pub fn bytes(&self, abi: &Abi, chip: Chip, bindless: bool) -> Result<Vec<u8>, String> {
        let image_bytes = image_word::BYTES as u32;
        let handles = abi.bindless_info.filter(|_| bindless || !self.bindless_images.is_empty());
        let end = match handles {
            Some(at) => u32::from(at) + image_bytes * Abi::MAX_HANDLES,
            None => u32::from(abi.su_info) + image_bytes * Abi::MAX_IMAGES,
        };
        let mut words = vec![0u32; end as usize / 4];
        let mut put = |at: u32, some: &[u32]| {
            let at = at as usize / 4;
            words[at..at + some.len()].copy_from_slice(some);
        };
        let slot = |what: &str, n: u32, limit: u32| match n < limit {
            true => Ok(n),
            false => Err(format!("{what} {n}: index out of range (0 to {})", limit - 1)),
        };
        if let Some(at) = abi.tex_handles {
            for &(n, handle) in &self.textures {
                put(u32::from(at) + 4 * slot("texture", n, MAX_TEXTURES)?, &[handle]);
            }
        }
        for (i, (x, y)) in (0..).zip(SAMPLE_POSITIONS) {
            put(u32::from(abi.ms_info) + 8 * i, &[x, y]);
        }
        let ([bx, by, bz], [gx, gy, gz]) = (self.block, self.grid);
        let dimensions = (2..=3).rev().find(|&d| self.grid[d - 1] > 1 || self.block[d - 1] > 1).unwrap_or(1);
        match &self.graphics {
            None => put(abi.grid_info.into(), &[bx, by, bz, gx, gy, gz, self.grid_id, dimensions as u32]),
            Some(g) => {
                for (n, plane) in (0..8).zip(&g.clip_planes) {
                    put(u32::from(abi.clip_planes) + 16 * n, &plane.map(f32::to_bits));
                }
                put(abi.draw_info.into(), &g.draw[..g.draw.len().min(16)]);
                if let Some(handle) = g.framebuffer.filter(|_| abi.tex_handles.is_some()) {
                    put(abi.framebuffer.into(), &[handle]);
                }
            }
        }
        if let Some(words) = &self.sanitizer {
            put(abi.sanitizer.into(), &words.words());
        }
        let table = |r: &Range| [r.address as u32, (r.address >> 32) as u32, r.size as u32, 0];
        for (n, range) in &self.buffers {
            put(u32::from(abi.buf_info) + 16 * slot("ssbo", *n, Abi::MAX_BUFFERS)?, &table(range));
        }
        for (n, range) in &self.uniform_blocks {
            let n = slot("uniform block", *n, Abi::MAX_UBOS)?;
            if let Some(at) = abi.ubo_info {
                put(u32::from(at) + 16 * n, &table(range));
            }
        }
        for (n, view) in &self.images {
            let n = slot("image", *n, Abi::MAX_IMAGES)?;
            put(u32::from(abi.su_info) + image_bytes * n, &surface::words(chip, view));
        }
        for (n, view) in &self.bindless_images {
            let n = slot("image handle", *n, Abi::MAX_HANDLES)?;
            let at = handles.ok_or_else(|| format!("{chip} has no images by handle"))?;
            put(u32::from(at) + image_bytes * n, &surface::words(chip, view));
        }
        Ok(words.iter().flat_map(|w| w.to_le_bytes()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(bytes: &[u8], at: usize) -> u32 {
        u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
    }

    #[test]
    fn every_binding_is_where_the_driver_puts_it() {
        let some = Constants {
            grid: [5, 1, 1],
            block: [8, 4, 1],
            buffers: vec![(3, Range { address: 0x12_3456_7800, size: 100 })],
            uniform_blocks: vec![(2, Range { address: 0x9000, size: 64 })],
            textures: vec![(4, 0x0040_0004)],
            ..Constants::default()
        };
        for chip in Chip::ALL {
            let bytes = some.bytes(&Abi::nvc0(chip), chip, false).expect("it fits");
            let kepler = chip != Chip::Gf100;
            assert_eq!(bytes.len(), 0x6a0, "{chip}");
            assert_eq!([word(&bytes, 0x100), word(&bytes, 0x104), word(&bytes, 0x10c)], [8, 4, 5]);
            assert_eq!(word(&bytes, 0x11c), 2, "dimensions");
            assert_eq!(
                [word(&bytes, 0x2d0), word(&bytes, 0x2d4), word(&bytes, 0x2d8)],
                [0x3456_7800, 0x12, 100]
            );
            assert_eq!(word(&bytes, 0xc8), 1, "sample 1 is to the right");
            assert_eq!(word(&bytes, 0x140), if kepler { 0x9000 } else { 0 }, "{chip}");
            assert_eq!(word(&bytes, 0x30), if kepler { 0x0040_0004 } else { 0 }, "{chip}");
        }
    }

    #[test]
    fn numbers_that_do_not_exist_are_errors() {
        let range = Range { address: 0x1000, size: 4 };
        let none = Constants::default;
        for (bad, why) in [
            (Constants { buffers: vec![(32, range)], ..none() }, "ssbo 32: index out of range (0 to 31)"),
            (
                Constants { uniform_blocks: vec![(14, range)], ..none() },
                "uniform block 14: index out of range (0 to 13)",
            ),
            (Constants { textures: vec![(32, 0)], ..none() }, "texture 32: index out of range (0 to 31)"),
        ] {
            assert_eq!(bad.bytes(&Abi::nvc0(Chip::Gk104), Chip::Gk104, false), Err(why.into()));
        }
    }
}
