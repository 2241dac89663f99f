//! Constants, and inputs of graphics stages, down to where they are read.
//!
//! ```text
//! ld u32 %r1 c7[0x110]                add u32 %r3 %r0 0x4
//! add u32 %r3 %r0 0x4         ->      ld u32 %r1 c7[0x110]
//! st u32 # g[%r3+0x0] %r1             st u32 # g[%r3+0x0] %r1
//! ```
//!
//! What is left in a register after [`super::operand`] holds it from its definition to its last
//! use. An instruction without register operands (an immediate, a direct constant-buffer word)
//! moves down to its first reader in its block. One that is only read by the terminator, or in
//! other blocks, moves to the end of its block.
//!
//! An input reads a register, but one that many of them read: the inverse of w, the vertex.
//!
//! Safe because such an instruction gives the same value anywhere, and stays before its readers in
//! its own block and after what it reads.

use super::Ctx;
use crate::ir::*;
use cranelift_entity::SecondaryMap;

/// A constant of a block.
struct Constant {
    inst: InstId,
    /// The position of its first reader.
    reader: usize,
}

/// Neither read by an instruction of the block nor made in it.
const NONE: u32 = u32::MAX;

pub(super) fn run(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    let mut moved = 0;
    let mut constants: Vec<Constant> = Vec::new();
    // For a value, which constant of the block it is.
    let mut number: SecondaryMap<ValueId, u32> = SecondaryMap::with_default(NONE);
    let mut out: Vec<InstId> = Vec::new();
    for n in 0..f.layout.len() {
        let b = f.layout[n];
        let body = &f.blocks[b].body;
        let Some(first) = body.iter().position(|&i| is_constant(&f.insts[i])) else { continue };
        number.resize(f.values.len());
        constants.clear();
        constants.reserve(16);
        // Constants whose reader has not come yet.
        let mut waiting = 0;
        for (at, &i) in body.iter().enumerate().skip(first) {
            let inst = &f.insts[i];
            if is_constant(inst) {
                inst.dsts.iter().for_each(|&d| number[d] = constants.len() as u32);
                constants.push(Constant { inst: i, reader: body.len() });
                waiting += 1;
            }
            // What one of them reads stays before the place where that stood.
            if waiting > 0 && (!is_constant(inst) || inst.mem.is_some_and(|m| m.space.is_attribute())) {
                inst.for_uses(|v| {
                    if let Some(c) = constants.get_mut(number[v] as usize)
                        && c.reader == body.len()
                    {
                        c.reader = at;
                        waiting -= 1;
                    }
                });
            }
        }
        for c in &constants {
            f.insts[c.inst].dsts.iter().for_each(|&d| number[d] = NONE);
        }
        constants.sort_by_key(|c| c.reader);
        out.clear();
        out.reserve(body.len() - first);
        let mut ready = constants.iter().peekable();
        for (at, &i) in body.iter().enumerate().skip(first) {
            while let Some(c) = ready.next_if(|c| c.reader == at) {
                out.push(c.inst);
            }
            if !is_constant(&f.insts[i]) {
                out.push(i);
            }
        }
        out.extend(ready.map(|c| c.inst));
        let body = &mut f.blocks[b].body[first..];
        moved += body.iter().zip(&out).filter(|(old, new)| old != new).count();
        body.copy_from_slice(&out);
    }
    ctx.count("sink: moved", moved);
    moved > 0
}

/// An instruction that reads no register, or only what all inputs read, and always gives the same.
pub(super) fn is_constant(inst: &Inst) -> bool {
    let constant = match inst.op {
        Op::Interp => true,
        Op::Mov => inst.srcs.iter().all(|s| s.values().is_empty()),
        Op::Ld => inst.mem.is_some_and(|m| {
            matches!(m.space, Space::Input | Space::PatchInput) && m.base().is_empty()
                || m.space == Space::Const
                    && m.index.is_none()
                    && m.base().is_empty()
                    && m.order == Order::Weak
        }),
        _ => false,
    };
    constant && inst.guard.is_none() && !inst.dsts.is_empty()
}
