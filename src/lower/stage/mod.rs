//! What only graphics stages have: system values, interpolation, attributes at computed addresses.
//!
//! Source of all of it: Mesa 22.3.6, `nv50_ir_lowering_nvc0.cpp` (`handleRDSV`, `handleLDST`,
//! `visit`), and the code that it makes.

mod attributes;
mod fragment;
mod system;

use crate::chip::Chip;
use crate::driver::Abi;
use crate::ir::{Function, Inst, Interface, Op, Stage};

/// Whether an instruction is one that [`run`] lowers.
pub fn concerns(inst: &Inst) -> bool {
    system::concerns(inst) || inst.op == Op::Interp || inst.mem.is_some_and(|m| m.space.is_attribute())
}

/// Lowers what is special about a stage, in one of its functions.
pub fn run(f: &mut Function, chip: Chip, abi: &Abi, interface: &Interface) {
    system::run(f, abi, interface);
    if interface.stage == Stage::Fragment {
        fragment::inverse_of_w(f);
    }
    if interface.stage == Stage::Geometry {
        attributes::first_vertex(f);
    }
    if chip != Chip::Gf100 {
        attributes::physical_addresses(f);
    }
}
