//! Constants down to where they are read.
//!
//! ```text
//! ld u32 %r1 c7[0x110]                add u32 %r3 %r0 0x4
//! add u32 %r3 %r0 0x4         ->      ld u32 %r1 c7[0x110]
//! st u32 # g[%r3+0x0] %r1             st u32 # g[%r3+0x0] %r1
//! ```
//!
//! What is left in a register after [`super::operand`] holds it from its definition to its last use. An instruction
//! without register operands (an immediate, a direct constant-buffer word) moves down to its first reader in its
//! block. One that is only read by the terminator, or in other blocks, moves to the end of its block.
//!
//! Safe because such an instruction gives the same value anywhere, and stays before its readers in its own block.

use super::Ctx;
use crate::ir::*;
use cranelift_entity::SecondaryMap;

pub fn run(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    let mut moved = 0;
    // For a constant of the block: the position of its first reader.
    let mut first: SecondaryMap<ValueId, u32> = SecondaryMap::with_default(u32::MAX);
    first.resize(f.values.len());
    let mut places: Vec<(u32, u32, InstId)> = Vec::new();
    for n in 0..f.layout.len() {
        let b = f.layout[n];
        let body = &f.blocks[b].body;
        if !body.iter().any(|&i| is_constant(&f.insts[i])) {
            continue;
        }
        for (at, &i) in body.iter().enumerate().rev() {
            f.insts[i].for_uses(|v| first[v] = at as u32);
        }
        places.clear();
        places.reserve(body.len());
        for (at, &i) in body.iter().enumerate() {
            let inst = &f.insts[i];
            let place = if is_constant(inst) {
                let reader = inst.dsts.iter().map(|&d| first[d]).min().unwrap_or(u32::MAX);
                moved += (reader != at as u32 + 1) as usize;
                // In front of the instruction at that place.
                (reader.min(body.len() as u32), 0, i)
            } else {
                (at as u32, 1, i)
            };
            places.push(place);
        }
        for &i in body {
            f.insts[i].for_uses(|v| first[v] = u32::MAX);
        }
        places.sort_by_key(|&(at, order, _)| (at, order));
        let body = &mut f.blocks[b].body;
        body.clear();
        body.extend(places.iter().map(|p| p.2));
    }
    ctx.count("sink: moved", moved);
    moved > 0
}

/// An instruction that reads no register and always gives the same.
fn is_constant(inst: &Inst) -> bool {
    if inst.guard.is_some() || inst.dsts.is_empty() {
        return false;
    }
    match inst.op {
        Op::Mov => inst.srcs.iter().all(|s| s.values().is_empty()),
        Op::Ld => inst.mem.is_some_and(|m| {
            m.space == Space::Const && m.index.is_none() && m.base().is_empty() && m.order == Order::Weak
        }),
        _ => false,
    }
}
