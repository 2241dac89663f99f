//! Which words of the kernel input are pointers, so that what the user promises of their alignment can be stated.
//!
//! The text does not say what an argument is. But an address is a sum, and one of its terms is the pointer: where
//! all terms but one cannot be (products, shifts, thread numbers, constants), the one that is left is it. Where two
//! could be, nothing is stated.
//!
//! ```text
//! ld u32 %r1 c0[0x0] readonly        ld u32 %r1 c0[0x0] readonly align(16)
//! shl u32 %r2 %r0 0x4                shl u32 %r2 %r0 0x4
//! add u32 %r3 %r1 %r2                add u32 %r3 %r1 %r2
//! st u32 # g[%r3+0x0] %r0            st u32 # g[%r3+0x0] %r0
//! ```

use rustc_hash::FxHashSet;

use crate::front::Request;
use crate::ir::{Align, Def, Function, InstId, Op, Space, Src, Type, ValueId};

/// States the alignment of pointer arguments on the loads that fetch them.
pub(super) fn mark(f: &mut Function, req: &Request<'_>) {
    if req.pointer_align <= 1 {
        return;
    }
    let bases: FxHashSet<ValueId> = f
        .insts
        .values()
        .filter_map(|i| i.mem.filter(|m| m.space == Space::Global).and_then(|m| m.base32()))
        .collect();
    let found: Vec<InstId> = bases.into_iter().filter_map(|b| pointer(f, b)).collect();
    for i in found {
        let inst = &mut f.insts[i];
        // The kernel input itself is at the promised place only if the load is of the input's bank.
        if inst.mem.is_some_and(|m| m.buffer == u16::from(req.abi.input_bank)) {
            inst.known = Align::multiple_of(req.pointer_align);
        }
    }
}

/// The most terms of a sum that are looked at.
const TERMS: usize = 16;

/// The load of the only term of an address that can be a pointer.
fn pointer(f: &Function, base: ValueId) -> Option<InstId> {
    let mut terms = vec![base];
    let mut found = None;
    let mut seen = 0;
    while let Some(v) = terms.pop() {
        seen += 1;
        let Def::Inst(id) = f.values[v].def else { return None };
        let inst = &f.insts[id];
        match inst.op {
            _ if seen > TERMS => return None,
            Op::Add | Op::Or if inst.ty.words() == 1 => {
                for s in &inst.srcs {
                    match s.as_val() {
                        Some(v) if !s.mods.neg => terms.push(v),
                        _ => {}
                    }
                }
            }
            Op::Mad => terms.extend(inst.srcs.get(2).and_then(Src::as_val)),
            Op::Mov if inst.srcs[0].as_val().is_some() => terms.extend(inst.srcs[0].as_val()),
            Op::Mov | Op::Mul | Op::Shl | Op::Rdsv | Op::Neg | Op::Shr | Op::Ext | Op::Div | Op::Mod => {}
            Op::And if inst.srcs.iter().any(|s| s.as_imm().is_some()) => {}
            Op::Ld if inst.ty == Type::U32 && input(f, id) => {
                if found.replace(id).is_some_and(|old| old != id) {
                    return None;
                }
            }
            _ => return None,
        }
    }
    found
}

/// Whether a load is of constant memory at a place known at compile time.
fn input(f: &Function, id: InstId) -> bool {
    f.insts[id].mem.is_some_and(|m| m.space == Space::Const && m.base().is_empty() && m.index.is_none())
}
