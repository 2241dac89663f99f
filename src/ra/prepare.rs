//! What has to be done to the code before registers are assigned:
//!
//! - Blocks that cannot be reached lose their code: nothing is assigned there.
//! - Critical edges are split, so that every edge has a place for moves. [`join_split_edges`] takes
//!   back those that needed none.
//! - A value that an instruction reads at two places of tuples (or twice in one) gets copies: it
//!   cannot be in two registers. Constants are made anew instead.

use super::operands::{self, Tuple};
use crate::analysis::cfg::Cfg;
use crate::ir::{
    AtomOp, Aux, BlockId, Def, Edge, FuncId, Function, Inst, InstId, Op, OpenLoops, Term, ValueId,
};
use cranelift_entity::SecondaryMap;

/// Empties unreachable blocks; tells whether there were any.
pub(crate) fn clear_unreachable(f: &mut Function, cfg: &Cfg) -> bool {
    for n in 0..f.layout.len() {
        let b = f.layout[n];
        if !cfg.reachable(b) {
            let block = &mut f.blocks[b];
            block.body.clear();
            block.params.clear();
            block.term = Term::Unreachable;
        }
    }
    cfg.rpo().len() < f.layout.len()
}

/// What occurs in a function's code, from one look at it: most functions need none of the steps
/// below.
#[derive(Clone, Default)]
pub(crate) struct Facts {
    /// Functions that it calls, once for each call.
    pub callees: Vec<FuncId>,
    /// Parallel copies.
    pub copies: bool,
    /// Values at several places of an instruction's tuples.
    pub repeats: bool,
    /// Shuffles.
    pub reads_lanes: bool,
}

impl Facts {
    pub(crate) fn new(f: &Function) -> Facts {
        let mut facts = Facts::default();
        for (_, i) in f.insts_in_order() {
            let inst = &f.insts[i];
            match inst.op {
                Op::Call => facts.callees.extend(inst.call().map(|c| c.func)),
                Op::Pcopy => facts.copies = true,
                op if super::lane_reads::reads_lanes(op) => facts.reads_lanes = true,
                _ => facts.repeats = facts.repeats || repeats(f, i),
            }
        }
        facts
    }

    pub(crate) fn calls(&self) -> bool {
        !self.callees.is_empty()
    }
}

/// Replaces parallel copies by one copy for each value: in SSA form none overwrites what another
/// reads.
pub(crate) fn expand_copies(f: &mut Function) {
    for n in 0..f.layout.len() {
        let b = f.layout[n];
        if !f.blocks[b].body.iter().any(|&i| f.insts[i].op == Op::Pcopy) {
            continue;
        }
        let mut body = Vec::new();
        for i in std::mem::take(&mut f.blocks[b].body) {
            if f.insts[i].op != Op::Pcopy {
                body.push(i);
                continue;
            }
            let copies = f.insts[i].clone();
            for (&d, &s) in copies.dsts.iter().zip(&copies.srcs) {
                let mut mov = Inst::new(Op::Mov, f.class(d).move_type()).src(s).dst(d);
                mov.loc = copies.loc;
                body.push(f.make(mov));
            }
        }
        f.blocks[b].body = body;
    }
}

/// Puts an empty block into every edge that leaves a branch for a block with other predecessors.
/// They are returned.
pub(crate) fn split_critical_edges(f: &mut Function, cfg: &Cfg) -> Vec<BlockId> {
    let mut made = Vec::new();
    if f.layout.len() == 1 {
        return made;
    }
    let mut layout = Vec::with_capacity(f.layout.len());
    let mut loops = OpenLoops::default();
    for n in 0..f.layout.len() {
        let mut b = f.layout[n];
        layout.push(b);
        loops.enter(b, f.blocks[b].merge);
        let Term::Branch { then, els, .. } = &f.blocks[b].term else { continue };
        let mut critical = [then, els].map(|e| cfg.preds(e.to).len() > 1);
        if !critical.contains(&true) {
            continue;
        }
        let opened = f.open_if(b, critical, &loops);
        if let Some((header, join)) = opened {
            if header != b {
                layout.push(header);
                b = header;
            }
            // The way to the join need not be split.
            for (critical, to) in critical.iter_mut().zip(f.blocks[b].term.successors()) {
                *critical &= to != join;
            }
        }
        for (k, _) in critical.iter().enumerate().filter(|c| *c.1) {
            let x = f.detached_block();
            let loc = f.blocks[b].term_loc;
            let edge = f.blocks[b].term.edges_mut().nth(k);
            let old = edge.map(|e| std::mem::replace(e, Edge::to(x)));
            f.blocks[x].term = old.map_or(Term::Unreachable, Term::Jump);
            f.blocks[x].term_loc = loc;
            layout.push(x);
            made.push(x);
        }
        layout.extend(opened.map(|(_, join)| join));
    }
    f.layout = layout;
    made
}

/// Takes those of the split edges' blocks out again that have no code, and for which `empty` holds.
pub(crate) fn join_split_edges(f: &mut Function, split: &[BlockId], empty: impl Fn(BlockId) -> bool) {
    if split.is_empty() {
        return;
    }
    let mut gone: SecondaryMap<BlockId, bool> = SecondaryMap::new();
    for &x in split {
        gone[x] = f.blocks[x].body.is_empty() && empty(x);
    }
    for n in 0..f.layout.len() {
        let b = f.layout[n];
        let targets: Vec<BlockId> = f.blocks[b].term.successors().collect();
        for (k, x) in targets.into_iter().enumerate().filter(|t| gone[t.1]) {
            let Term::Jump(onward) = std::mem::replace(&mut f.blocks[x].term, Term::Unreachable) else {
                continue;
            };
            if let Some(edge) = f.blocks[b].term.edges_mut().nth(k) {
                *edge = onward;
            }
        }
    }
    f.layout.retain(|&b| !gone[b]);
}

/// Makes every value occur at one place of an instruction's tuples only.
pub(crate) fn separate_tuple_values(f: &mut Function) {
    for n in 0..f.layout.len() {
        let b = f.layout[n];
        if !f.blocks[b].body.iter().any(|&i| repeats(f, i)) {
            continue;
        }
        let old = std::mem::take(&mut f.blocks[b].body);
        let mut body = Vec::with_capacity(old.len() + 4);
        let mut copies = Copies::default();
        for i in old {
            if repeats(f, i) {
                separate(f, i, &mut body, &mut copies);
            }
            body.push(i);
        }
        f.blocks[b].body = body;
    }
}

/// Whether a value occurs at several places of different tuples, or of one.
#[inline]
fn repeats(f: &Function, i: InstId) -> bool {
    let inst = &f.insts[i];
    if !operands::has_read_tuples(inst) {
        return false;
    }
    // Mostly it is an address of two words and nothing else.
    if inst.aux != Aux::Atom(AtomOp::Cas) && inst.srcs.iter().all(|s| s.values().len() < 2) {
        return inst.mem.as_ref().is_some_and(|m| m.base()[0] == m.base()[1]);
    }
    let tuples = operands::read_tuples(inst);
    tuples.iter().enumerate().any(|(n, w)| {
        let before = &tuples[..n];
        !before.contains(w)
            && w.iter().enumerate().any(|(k, v)| w[..k].contains(v) || before.iter().any(|x| x.contains(v)))
    })
}

/// Instructions that a copy may lie behind to be read again: then it is as good as new, and nothing
/// lives for long.
const RECENT: usize = 8;

/// Copies made in a block.
#[derive(Default)]
struct Copies(Vec<(ValueId, ValueId, usize)>);

impl Copies {
    /// A recent copy of a value that is not `taken`, or a new one, made by an instruction that is
    /// put into `body`.
    fn copy_for_operand(
        &mut self,
        f: &mut Function,
        v: ValueId,
        taken: &[ValueId],
        body: &mut Vec<InstId>,
    ) -> ValueId {
        let now = body.len();
        let recent = self.0.iter_mut().rev().take_while(|c| c.2 + RECENT > now);
        if let Some(c) = recent.filter(|c| c.0 == v && !taken.contains(&c.1)).last() {
            c.2 = now;
            return c.1;
        }
        let d = copy(f, v, body);
        self.0.push((v, d, now));
        d
    }
}

fn separate(f: &mut Function, i: InstId, body: &mut Vec<InstId>, copies: &mut Copies) {
    let mut inst = f.insts[i].clone();
    let mut done: Vec<Tuple> = Vec::new();
    let mut taken: Vec<ValueId> = Vec::new();
    let mut fix = |values: &mut [ValueId]| {
        let original: Tuple = values.iter().copied().collect();
        // An equal tuple is the same registers, whatever became of it.
        if let Some(n) = done.iter().step_by(2).position(|w| *w == original) {
            values.copy_from_slice(&done[2 * n + 1]);
            return;
        }
        for v in values.iter_mut() {
            if taken.contains(v) {
                *v = copies.copy_for_operand(f, *v, &taken, body);
            }
            taken.push(*v);
        }
        done.push(original);
        done.push(values.iter().copied().collect());
    };
    if let Some(m) = &mut inst.mem {
        let mut base = m.base();
        if base.len() > 1 {
            fix(&mut base);
            m.set_base(&base);
        }
    }
    if inst.aux == Aux::Atom(AtomOp::Cas) {
        let mut all: Tuple = inst.srcs.iter().flat_map(|s| s.values()).copied().collect();
        fix(&mut all);
        let mut rest = all.into_iter();
        inst.srcs.iter_mut().flat_map(|s| s.values_mut()).for_each(|v| *v = rest.next().unwrap_or(*v));
    } else {
        inst.srcs.iter_mut().filter(|s| s.values().len() > 1).for_each(|s| fix(s.values_mut()));
    }
    f.replace(i, inst);
}

/// A copy of a value, made by an instruction that is put into `body`.
fn copy(f: &mut Function, v: ValueId, body: &mut Vec<InstId>) -> ValueId {
    let class = f.class(v);
    let d = f.new_value(class);
    let again = match f.values[v].def {
        Def::Inst(i) if super::remat::is_constant(&f.insts[i]) && f.insts[i].dsts.len() == 1 => {
            let mut inst = f.insts[i].clone();
            inst.dsts[0] = d;
            inst
        }
        _ => Inst::new(Op::Mov, class.move_type()).src(v).dst(d),
    };
    body.push(f.make(again));
    d
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::build::Builder;
    use crate::ir::{Class, MemRef, Space, Src, Type};

    #[test]
    fn a_value_twice_in_a_window_is_copied_and_an_equal_tuple_is_not() {
        let mut f = Function::new("f");
        let (a, b) = (f.add_param(Class::Gpr), f.add_param(Class::Gpr));
        let entry = f.new_block();
        let mut e = Builder::new(&mut f, entry);
        e.st(Type::B128, MemRef::new(Space::Global), Src::tuple(&[a, b, a, a]));
        e.pair(Inst::new(Op::Mul, Type::F64).src([a, b]).src([a, b]));
        e.terminate(Term::Exit);
        separate_tuple_values(&mut f);
        let body = &f.blocks[entry].body;
        assert_eq!(body.len(), 4);
        let store = &f.insts[body[2]];
        let values = store.srcs[0].values();
        assert_eq!(values[..2], [a, b]);
        assert!(values[2] != a && values[3] != a && values[2] != values[3]);
        assert_eq!(f.insts[body[3]].srcs[0], f.insts[body[3]].srcs[1]);
    }

    #[test]
    fn a_recent_copy_is_read_again() {
        let mut f = Function::new("f");
        let a = f.add_param(Class::Gpr);
        let entry = f.new_block();
        let mut e = Builder::new(&mut f, entry);
        e.st(Type::B128, MemRef::new(Space::Global), Src::tuple(&[a, a, a, a]));
        e.st(Type::U64, MemRef::new(Space::Global).with_offset(16), [a, a]);
        for k in 0..RECENT as i32 {
            e.st(Type::U32, MemRef::new(Space::Global).with_offset(32 + 4 * k), a);
        }
        e.st(Type::U64, MemRef::new(Space::Global).with_offset(24), [a, a]);
        e.terminate(Term::Exit);
        separate_tuple_values(&mut f);
        let body = &f.blocks[entry].body;
        // Three copies before the first store, none before the second, a new one before the last.
        assert_eq!(body.len(), 3 + 2 + RECENT + 2);
        let [quad, pair] = [3, 4].map(|k| f.insts[body[k]].srcs[0]);
        assert_eq!(quad.values()[..2], *pair.values());
    }
}
