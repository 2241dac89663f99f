//! Check sites: calls under a condition, as the checks make them, become `if`s.
//!
//! ```text
//! @%p4 call report(%r1 %r3)          if %p4 b5 b6 join b6
//!                                b5: call report(%r1 %r3); jump b6
//!                                b6:
//! ```

use crate::ir::*;
use crate::lower::blocks;

/// Takes the guards off a function's calls.
pub(super) fn run(f: &mut Function) {
    let guarded = |i: &Inst| i.op == Op::Call && i.guard.is_some();
    if !f.insts_in_order().any(|(_, i)| guarded(&f.insts[i])) {
        return;
    }
    let mut layout = Vec::with_capacity(f.layout.len());
    for mut block in std::mem::take(&mut f.layout) {
        layout.push(block);
        for id in std::mem::take(&mut f.blocks[block].body) {
            let Some(guard) = f.insts[id].guard.filter(|_| guarded(&f.insts[id])) else {
                f.blocks[block].body.push(id);
                continue;
            };
            let end = f.blocks[block].body.len();
            let tail = blocks::split(f, block, end);
            // A loop's header cannot head an `if` as well.
            let header = if f.blocks[block].merge == Merge::None { block } else { f.detached_block() };
            if header != block {
                f.blocks[block].term = Term::Jump(Edge::to(header));
                layout.push(header);
            }
            let arm = f.detached_block();
            f.blocks[header].term =
                Term::Branch { cond: guard.pred, not: guard.not, then: Edge::to(arm), els: Edge::to(tail) };
            f.blocks[header].merge = Merge::If { join: tail };
            f.insts[id].guard = None;
            constants_here(f, arm, id);
            f.blocks[arm].body.push(id);
            f.blocks[arm].term = Term::Jump(Edge::to(tail));
            layout.extend([arm, tail]);
            block = tail;
        }
    }
    f.layout = layout;
}

/// Constants among a call's arguments are made where it is.
fn constants_here(f: &mut Function, block: BlockId, call: InstId) {
    let Some(args) = f.insts[call].call().map(|c| c.args.clone()) else { return };
    let args = args.into_iter().map(|v| match f.def_inst(v) {
        Some(i) if i.op == Op::Mov && i.srcs[0].as_imm().is_some() => {
            let copy = Inst { dsts: List::new(), ..i.clone() };
            let d = f.new_value(Class::Gpr);
            f.append(block, copy.dst(d));
            d
        }
        _ => v,
    });
    let args: Vec<ValueId> = args.collect();
    if let Some(Ext::Call(c)) = f.insts[call].ext.as_deref_mut() {
        c.args = args;
    }
}
