//! What the driver puts where, in one place.
//!
//! [`Abi`] is configurable, so that another driver than Mesa's nvc0 can be served; [`Abi::nvc0`] is
//! the default.

pub mod constants;
pub mod sanitizer;

use crate::chip::Chip;

/// Constant banks and offsets (bytes) that a driver sets up and compiled code reads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Abi {
    /// Bank and offset of the kernel input (OpenCL arguments); GL's default uniforms begin at
    /// offset 0 of the same bank.
    pub input_bank: u8,
    /// Bytes.
    pub input_offset: u16,
    /// Bank of uniform block 0; block n follows n banks later.
    pub first_ubo_bank: u8,
    /// Uniform blocks that are bound to banks; further and indirectly indexed ones go through the
    /// table at `ubo_info`, if there is one.
    pub bound_ubos: u8,
    /// The driver's own bank.
    pub aux_bank: u8,
    /// Texture handles: one 32-bit word (texture entry 19:0, sampler entry 31:20) a slot; none on
    /// GF100, where the instruction names bound slots.
    pub tex_handles: Option<u16>,
    /// Eight (x, y) sample positions.
    pub ms_info: u16,
    /// Block size x y z, grid size x y z, grid id, work dimensions: eight words.
    pub grid_info: u16,
    /// Uniform block n: {address low, high, size in bytes, 0} at `ubo_info + 16 * n`.
    pub ubo_info: Option<u16>,
    /// Storage buffer n: the same at `buf_info + 16 * n`.
    pub buf_info: u16,
    /// Image n: 16 words at `su_info + 64 * n`.
    pub su_info: u16,
    /// Bindless images: 16 words at `bindless_info + 64 * (handle & 511)`.
    pub bindless_info: Option<u16>,
    /// Vertex shaders: base vertex, base instance, number of the draw.
    pub draw_info: u16,
    /// Fragment shaders: eight (x, y) positions of samples in the pixel, floats.
    pub sample_positions: u16,
    /// User clip plane n: four floats at `clip_planes + 16 * n`.
    pub clip_planes: u16,
    /// The handle of the framebuffer's texture, where there are handles.
    pub framebuffer: u16,
    /// What sanitized programs read: [`sanitizer::Words`]. Mesa's nvc0 has nothing there, and
    /// cannot launch them.
    pub sanitizer: u16,
    /// Block and grid size are special registers rather than words of the driver's bank.
    pub sizes_in_sregs: bool,
}

/// The block that is launched for one of `block` threads where the kernel wants whole warps
/// ([`Shader::whole_warps`](crate::Shader::whole_warps)): as many warps, all of them full, in one
/// dimension. The driver's bank has the size that was asked for.
pub fn whole_warps(block: [u32; 3]) -> [u32; 3] {
    let threads = block.iter().fold(1u32, |all, &n| all.saturating_mul(n));
    [threads.div_ceil(32).saturating_mul(32), 1, 1]
}

/// Whether a launch may have such blocks: a program's code is for the size that it declares (0 in a
/// dimension that it leaves to the launch), in each dimension by itself.
///
/// # Errors
/// The first dimension in which they differ, in a sentence.
pub fn check_block(declared: [u32; 3], block: [u32; 3]) -> Result<(), String> {
    let differs = (0..3).find(|&d| declared[d] != 0 && declared[d] != block[d]);
    differs.map_or(Ok(()), |d| {
        let (axis, size) = (["x", "y", "z"][d], declared[d]);
        Err(format!(
            "a block of {block:?}: the program declares {size} in {axis}, and its code is for that size only"
        ))
    })
}

impl Abi {
    /// Storage buffers and uniform blocks a program can have: what fits between the tables.
    pub const MAX_BUFFERS: u32 = 32;
    /// Uniform blocks a program can have.
    pub const MAX_UBOS: u32 = 14;
    /// Images a program can have.
    pub const MAX_IMAGES: u32 = 8;
    /// Bindless images.
    pub const MAX_HANDLES: u32 = 512;
    /// The slots of the texture and sampler through which fragment shaders read the framebuffer,
    /// behind those of programs, where slots are bound (GF100; Mesa's nvc0: nvc0_tex.c,
    /// nvc0_state_validate.c).
    pub const FRAMEBUFFER_TEXTURE: u16 = 0x20;
    /// See [`Abi::FRAMEBUFFER_TEXTURE`].
    pub const FRAMEBUFFER_SAMPLER: u16 = 0x10;

    /// What Mesa's nvc0 driver does for compute (Mesa 22.3.6: nvc0_context.h, nvc0_program.c,
    /// nve4_compute.c).
    pub fn nvc0(chip: Chip) -> Abi {
        let fermi = chip == Chip::Gf100;
        Abi {
            input_bank: 0,
            input_offset: 0,
            first_ubo_bank: 1,
            bound_ubos: if fermi { 14 } else { 6 },
            aux_bank: if fermi { 15 } else { 7 },
            tex_handles: if fermi { None } else { Some(0x20) },
            ms_info: 0xc0,
            grid_info: 0x100,
            ubo_info: if fermi { None } else { Some(0x120) },
            buf_info: 0x2a0,
            su_info: 0x4a0,
            bindless_info: if fermi { None } else { Some(0x6b0) },
            draw_info: 0x1a0,
            sample_positions: 0x1a0,
            clip_planes: 0x120,
            framebuffer: 0x100,
            sanitizer: 0x240,
            sizes_in_sregs: fermi,
        }
    }

    /// What it does for the graphics stages, each of which has a set of banks: the driver's is the
    /// same on all chips, and uniform blocks are in banks.
    pub fn nvc0_graphics(chip: Chip) -> Abi {
        Abi { bound_ubos: 14, aux_bank: 15, ubo_info: None, ..Abi::nvc0(chip) }
    }
}
