//! Images in memory: rows and blocks of bytes, texels of surfaces and of textures.

mod compressed;
pub(crate) mod operand;
pub(crate) mod surface;
pub(crate) mod surface_format;
pub(crate) mod texels;
pub mod texture;
pub(crate) mod transfer;
