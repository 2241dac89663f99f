//! Cutting blocks, for lowerings that need control flow.

use crate::ir::*;

/// Cuts block `b` before instruction `at`: `b` keeps what stands before, a new block gets the rest
/// with the terminator (and, if `b` heads an `if`, that role), and is returned; it is not in the
/// layout yet. `b` ends in `Unreachable`: the caller connects them.
pub fn split(f: &mut Function, b: BlockId, at: usize) -> BlockId {
    let tail = f.detached_block();
    let body = f.blocks[b].body.split_off(at);
    let term = std::mem::replace(&mut f.blocks[b].term, Term::Unreachable);
    f.blocks[tail].body = body;
    f.blocks[tail].term = term;
    f.blocks[tail].term_loc = f.blocks[b].term_loc;
    if matches!(f.blocks[b].merge, Merge::If { .. }) {
        f.blocks[tail].merge = std::mem::take(&mut f.blocks[b].merge);
    }
    tail
}

/// Where a block goes on after it has been left for a rare case, or has not.
pub struct Detour {
    /// The block's instructions so far, and what decides.
    pub from: BlockId,
    /// What is done in the rare case.
    pub rare: BlockId,
    /// The rest, with parameters for what both ways give.
    pub join: BlockId,
}

/// Cuts block `b` at its end for a detour and appends its blocks to the layout, which `b` is the last of. The
/// caller ends `from`, fills `rare` and goes on in `join`.
pub fn detour(f: &mut Function, layout: &mut Vec<BlockId>, b: BlockId) -> Detour {
    let end = f.blocks[b].body.len();
    let join = split(f, b, end);
    let rare = f.detached_block();
    let from = match f.blocks[b].merge {
        Merge::None => b,
        // A loop's header does nothing else than to begin it.
        _ => {
            let from = f.detached_block();
            f.blocks[from].body = std::mem::take(&mut f.blocks[b].body);
            f.blocks[b].term = Term::Jump(Edge::to(from));
            layout.push(from);
            from
        }
    };
    f.blocks[from].merge = Merge::If { join };
    layout.extend([rare, join]);
    Detour { from, rare, join }
}
