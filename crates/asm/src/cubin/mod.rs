//! NVIDIA's container of machine code: an ELF file per architecture.

pub mod link;
pub mod read;
pub mod write;

pub use read::{Cubin, CubinError, Global, Kernel, Param, Reloc, RelocKind};
pub use write::write;
