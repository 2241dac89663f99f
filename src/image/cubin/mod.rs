//! NVIDIA's container of machine code: an ELF file per architecture.

mod read;

pub use read::{Cubin, CubinError, Global, Kernel, Param, Reloc, RelocKind};
