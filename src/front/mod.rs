//! Front-ends: text to IR in its first phase.
//!
//! Each front-end has a `parse` (text to syntax tree) and a `program` (a [`Request`] to IR). Both find several
//! errors at once.

pub(crate) mod common;
pub mod nir;
pub mod spirv;
pub mod tgsi;

use crate::chip::Chip;
use crate::driver::Abi;
use crate::options::{Sanitize, StageOptions};
use std::collections::BTreeMap;

/// What a front-end needs to know to make a program.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The program.
    pub text: &'a str,
    /// What it is compiled for.
    pub chip: Chip,
    /// Where the driver puts what.
    pub abi: &'a Abi,
    /// The kernel: the name of a NIR function or a SPIR-V entry point, or the instruction number of a TGSI BGNSUB. None:
    /// TGSI's main code, else its only uncalled subroutine; NIR's entry point; SPIR-V's first that can be compiled.
    pub entry: Option<&'a str>,
    /// What may be assumed of the address of a buffer argument in the kernel input, in bytes: a power of two.
    pub pointer_align: u32,
    /// Bytes of private memory that a TGSI program addresses itself.
    pub private_bytes: u32,
    /// What the text of a graphics stage leaves out, and the user clip planes that are switched on: the stage makes clip
    /// distances of them, if it writes none.
    pub stage: StageOptions,
    /// Memories that are sanitized: accesses say what variables of these they go to.
    pub sanitize: Sanitize,
    /// Where the driver keeps the planes: the bank, and the offset of the first.
    pub clip_plane_place: (u8, u16),
    /// Values of SPIR-V's specialisation constants, by `SpecId`; of bools 0 is false.
    pub spec_constants: &'a BTreeMap<u32, u64>,
}
