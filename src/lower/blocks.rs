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
