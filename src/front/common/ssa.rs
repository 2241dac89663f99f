//! Variables to SSA while the code is being made (Braun, Buchwald, Hack et al. 2013), with block parameters.
//!
//! A front-end writes and reads [`Var`]s in blocks; reading finds the value that arrives, and makes block
//! parameters where several do. [`Ssa::jump`] and [`Ssa::branch`] end blocks, so that predecessors are known. A
//! block is sealed when no predecessor can come any more; until then every variable that is read in it gets a
//! parameter. [`Ssa::finish`] removes the parameters that turned out to have one value, and fills in the edges.
//!
//! A join asks first whether the variable was written since its dominator ended: if not, it has the value that it had
//! there, and no parameter is made that would have to be removed. Code is made in an order in which everything between
//! the two blocks is written between the end of the one and the sealing of the other, so that times tell.
//!
//! A front-end that can tell where in the source a variable is written ([`Ssa::written_at`]) and which part of it a loop is
//! ([`Ssa::begin_loop`]) spares the loop a parameter for each variable that is only read in it.
//!
//! A variable that is read where nothing was written gets an `undef` of its own in the entry block.
//!
//! Nothing recurses: depth is bounded by memory alone.

use cranelift_entity::packed_option::{PackedOption, ReservedValue};
use cranelift_entity::{EntitySet, SecondaryMap};
use rustc_hash::FxHashMap;
use std::collections::BinaryHeap;

use crate::ir::{BlockId, Class, Def, Edge, Function, Inst, Op, Term, ValueId};

/// Loops of a function from which on it should be stated where variables are written ([`Ssa::written_at`]): a few, however they
/// nest, make fewer parameters that have to be removed than the statement costs.
pub(crate) const MANY_LOOPS: usize = 8;

/// A variable of the source program that one register can hold.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Var(u32);

/// An edge into a block: where it comes from, and which of that block's edges it is.
#[derive(Clone, Copy)]
struct Pred {
    from: BlockId,
    edge: usize,
}

/// A block parameter and the values that arrive for it, one a predecessor.
struct Phi {
    block: BlockId,
    var: Var,
    value: ValueId,
    args: Vec<ValueId>,
}

/// What dominates a block, and when it was made: times are numbers of writes before, plus one; 0 is not yet.
#[derive(Clone, Copy, Default)]
struct Place {
    /// None where it is not known.
    idom: PackedOption<BlockId>,
    /// Blocks are numbered as they are first gone to: a dominator has a lower number.
    number: u32,
    ended: u32,
    sealed: u32,
    /// How many blocks dominate it, and one of these much further up: known where such a long way was gone once (0: not).
    depth: u32,
    jump: PackedOption<BlockId>,
}

/// The last write of a variable.
#[derive(Clone, Copy)]
struct LastWrite {
    /// How many writes of variables were before.
    time: u32,
    /// It was written in a block before anything went there or after it had ended: times tell nothing.
    out_of_order: bool,
}

/// A variable, and what is known of it.
struct Variable {
    class: Class,
    last: LastWrite,
    /// The block in which it was asked for last, and its value at the end of that block. Of other blocks, the values
    /// are in [`Ssa::defs`].
    recent: PackedOption<BlockId>,
    value: ValueId,
    undef: PackedOption<ValueId>,
    /// The places in the source where it is written, in order, if they are known.
    writers: Option<Vec<u32>>,
}

/// A loop whose header is not sealed, and which part of the source it is.
struct OpenLoop {
    header: BlockId,
    begin: u32,
    end: u32,
}

/// No time.
const NEVER: u32 = u32::MAX;

/// So many writes of a variable are looked back at.
const LOOK_BACK: usize = 8;

/// After so many steps, a look-up looks for the block from which on nothing was written.
const LONG_WAY: usize = 16;

/// The state of one function.
#[derive(Default)]
pub(crate) struct Ssa {
    vars: Vec<Variable>,
    /// For each write, the time of the one before of the same variable.
    writes: Vec<u32>,
    places: SecondaryMap<BlockId, Place>,
    /// The last block that was found to be in the making: something goes to it, and it has not ended.
    open: PackedOption<BlockId>,
    numbers: u32,
    /// The value of a variable at the end of a block, as far as it is known and not the variable's most recent.
    defs: FxHashMap<(Var, BlockId), ValueId>,
    preds: SecondaryMap<BlockId, Vec<Pred>>,
    sealed: EntitySet<BlockId>,
    /// Loops of which is known what part of the source they are, outermost first.
    loops: Vec<OpenLoop>,
    /// Blocks that have ended before they were sealed, by their numbers: headers of other loops.
    unsealed: BinaryHeap<(u32, BlockId)>,
    phis: Vec<Phi>,
    /// Parameters of blocks that are not sealed.
    waiting: SecondaryMap<BlockId, Vec<usize>>,
    /// Parameters whose arguments are to be looked up.
    todo: Vec<usize>,
    /// Room for the blocks that a look-up goes through.
    path: Vec<BlockId>,
    undef_insts: Vec<crate::ir::InstId>,
}

impl Ssa {
    /// No variables.
    pub(crate) fn new() -> Ssa {
        Ssa {
            vars: Vec::with_capacity(32),
            writes: Vec::with_capacity(64),
            places: SecondaryMap::with_capacity(32),
            preds: SecondaryMap::with_capacity(32),
            ..Ssa::default()
        }
    }

    /// A new variable.
    pub(crate) fn var(&mut self, class: Class) -> Var {
        self.vars.push(Variable {
            class,
            last: LastWrite { time: NEVER, out_of_order: false },
            recent: None.into(),
            value: ValueId::reserved_value(),
            undef: None.into(),
            writers: None,
        });
        Var(self.vars.len() as u32 - 1)
    }

    /// States where in the source a variable is written while a loop is open, in ascending order: places are any numbers that
    /// ascend along the text. Of a variable without such a statement every loop may write it.
    pub(crate) fn written_at(&mut self, var: Var, places: Vec<u32>) {
        debug_assert!(places.is_sorted());
        self.vars[var.0 as usize].writers = Some(places);
    }

    /// Begins a loop, when something goes to its header and before that ends: the part of the source from `begin` up to
    /// `end`. It ends when its header is sealed. Loops nest.
    pub(crate) fn begin_loop(&mut self, header: BlockId, begin: u32, end: u32) {
        self.loops.push(OpenLoop { header, begin, end });
    }

    /// The innermost open loop that may write a variable, of those whose places are known.
    fn writing_loop(&self, var: Var) -> Option<&OpenLoop> {
        let Some(writers) = &self.vars[var.0 as usize].writers else { return self.loops.last() };
        // What a loop writes the loops around it write.
        let writes = |l: &OpenLoop| {
            let first = writers.partition_point(|&w| w < l.begin);
            writers.get(first).is_some_and(|&w| w < l.end)
        };
        self.loops.partition_point(writes).checked_sub(1).map(|n| &self.loops[n])
    }

    /// The block before an open loop's header, if the loop writes a variable nowhere.
    fn past_loop(&self, header: BlockId, var: Var) -> Option<BlockId> {
        let number = self.places[header].number;
        let open = self.loops.binary_search_by_key(&number, |l| self.places[l.header].number).is_ok();
        let inner = self.writing_loop(var).is_none_or(|l| self.places[l.header].number < number);
        if open && inner { self.preds[header].first().map(|p| p.from) } else { None }
    }

    /// The variable has a value from here on.
    #[inline]
    pub(crate) fn write(&mut self, block: BlockId, var: Var, value: ValueId) {
        if self.open != block.into() && self.entered(block) && self.places[block].ended == 0 {
            self.open = block.into();
        }
        let last = &mut self.vars[var.0 as usize].last;
        last.out_of_order |= self.open != block.into();
        let time = self.writes.len() as u32;
        self.writes.push(std::mem::replace(&mut last.time, time));
        self.define(block, var, value);
    }

    /// The value of a variable at the end of a block, if it is known.
    #[inline]
    fn known(&self, block: BlockId, var: Var) -> Option<ValueId> {
        let v = &self.vars[var.0 as usize];
        if v.recent == block.into() { Some(v.value) } else { self.defs.get(&(var, block)).copied() }
    }

    #[inline]
    fn define(&mut self, block: BlockId, var: Var, value: ValueId) {
        let v = &mut self.vars[var.0 as usize];
        if v.recent == block.into() {
            v.value = value;
            return;
        }
        let before = v.recent.expand().map(|before| (before, v.value));
        (v.recent, v.value) = (block.into(), value);
        if let Some((before, value)) = before {
            self.defs.insert((var, before), value);
        }
    }

    /// The value of a variable at the current end of a block.
    #[inline]
    pub(crate) fn read(&mut self, func: &mut Function, block: BlockId, var: Var) -> ValueId {
        let v = &self.vars[var.0 as usize];
        if v.recent == block.into() { v.value } else { self.find_value(func, block, var) }
    }

    fn find_value(&mut self, func: &mut Function, block: BlockId, var: Var) -> ValueId {
        let v = self.lookup(func, block, var);
        self.settle(func);
        v
    }

    /// The time at which something happens now.
    fn now(&self) -> u32 {
        self.writes.len() as u32 + 1
    }

    /// Whether something goes to a block, or it is the entry.
    fn entered(&self, block: BlockId) -> bool {
        self.places[block].number > 0 || self.sealed.contains(block)
    }

    /// Notes an edge, and what it changes about dominators.
    fn edge(&mut self, from: BlockId, edge: usize, to: BlockId) {
        self.preds[to].push(Pred { from, edge });
        self.places[from].ended = self.now();
        self.open = None.into();
        if self.places[to].number == 0 {
            self.numbers += 1;
            self.places[to].number = self.numbers;
            self.places[to].idom = Some(from).filter(|&b| self.entered(b)).into();
        }
        if !self.sealed.contains(from) {
            if self.loops.last().is_none_or(|l| l.header != from) {
                self.unsealed.push((self.places[from].number, from));
            }
            self.find_dominator(from);
        }
    }

    /// Finds a block's dominator, which nobody asks for before the block is sealed or ended, from all edges to it.
    fn find_dominator(&mut self, block: BlockId) {
        let idom = match *self.preds[block].as_slice() {
            // The first edge told.
            [] | [_] => return,
            [a, b] => self.common_dominator(a.from, b.from),
            _ => self.common_dominator_of_all(block),
        };
        self.places[block].idom = idom.into();
    }

    fn common_dominator(&self, mut a: BlockId, mut b: BlockId) -> Option<BlockId> {
        while a != b {
            if self.places[a].number > self.places[b].number {
                a = self.places[a].idom.expand()?;
            } else {
                b = self.places[b].idom.expand()?;
            }
        }
        Some(a)
    }

    /// Of many predecessors, whose dominators have some of their way in common: the last one goes up first, so that each
    /// block is passed once.
    fn common_dominator_of_all(&self, block: BlockId) -> Option<BlockId> {
        let entry = |b: BlockId| (self.places[b].number, b);
        let mut blocks: BinaryHeap<(u32, BlockId)> =
            self.preds[block].iter().map(|p| entry(p.from)).collect();
        while let Some(last) = blocks.pop() {
            match blocks.peek() {
                None => return Some(last.1),
                Some(&next) if next == last => {}
                Some(_) => blocks.push(entry(self.places[last.1].idom.expand()?)),
            }
        }
        None
    }

    /// The dominator of a sealed block, if the variable was not written between its end and the block.
    fn unwritten_since(&self, block: BlockId, var: Var) -> Option<BlockId> {
        let place = self.places[block];
        let dominator = place.idom.expand()?;
        let first = self.places[dominator].ended.checked_sub(1)?;
        let end = place.sealed.checked_sub(1)?;
        let LastWrite { mut time, out_of_order } = self.vars[var.0 as usize].last;
        if out_of_order {
            return None;
        }
        for _ in 0..LOOK_BACK {
            if time == NEVER || time < first {
                return Some(dominator);
            }
            if time < end {
                return None;
            }
            time = self.writes[time as usize];
        }
        None
    }

    /// The first on the way to a sealed block of its dominators after whose end the variable was not written, if there is
    /// no loop around the block that begins after it and may still write it. A write after the block was sealed may be one
    /// of a loop around it that has ended since, and arrives by the loop's header.
    fn unwritten_for_long(&mut self, block: BlockId, var: Var) -> Option<BlockId> {
        let LastWrite { time, out_of_order } = self.vars[var.0 as usize].last;
        let end = self.places[block].sealed.checked_sub(1)?;
        if out_of_order || time != NEVER && time >= end {
            return None;
        }
        while self.unsealed.peek().is_some_and(|u| self.sealed.contains(u.1)) {
            self.unsealed.pop();
        }
        let known = self.writing_loop(var).map_or(0, |l| self.places[l.header].number);
        let loop_begin = self.unsealed.peek().map_or(0, |u| u.0).max(known);
        self.measure(block);
        let ended_since = time.wrapping_add(1);
        let holds = |b: BlockId| {
            let place = &self.places[b];
            place.ended > ended_since && place.number >= loop_begin
        };
        let mut at = block;
        while let Some(next) = self.places[at].idom.expand().filter(|&d| holds(d)) {
            at = self.places[at].jump.expand().filter(|&j| holds(j)).unwrap_or(next);
        }
        Some(at).filter(|&b| b != block)
    }

    /// Finds how deep a block and all that dominate it lie in the tree of dominators, and ways up in it: to the dominator,
    /// or as far as two equal steps from there lead. So any of them is reached in a logarithmic number of steps.
    fn measure(&mut self, block: BlockId) {
        let mut way = Vec::new();
        let mut at = Some(block);
        while let Some(b) = at.filter(|&b| self.places[b].depth == 0) {
            way.push(b);
            at = self.places[b].idom.expand();
        }
        for b in way.into_iter().rev() {
            let (mut depth, mut jump) = (1, None);
            if let Some(up) = self.places[b].idom.expand() {
                depth = self.places[up].depth + 1;
                let further = self.places[up].jump.expand();
                let furthest = further.and_then(|j| self.places[j].jump.expand());
                let step = |a: BlockId, b: BlockId| self.places[a].depth - self.places[b].depth;
                jump = match (further, furthest) {
                    (Some(j), Some(k)) if step(up, j) == step(j, k) => Some(k),
                    _ => Some(up),
                };
            }
            let place = &mut self.places[b];
            (place.depth, place.jump) = (depth, jump.into());
        }
    }

    /// Ends `from` with a jump.
    pub(crate) fn jump(&mut self, func: &mut Function, from: BlockId, to: BlockId) {
        func.blocks[from].term = Term::Jump(Edge::to(to));
        self.edge(from, 0, to);
    }

    /// Ends `from` with a branch on a predicate.
    pub(crate) fn branch(
        &mut self,
        func: &mut Function,
        from: BlockId,
        cond: ValueId,
        then: BlockId,
        els: BlockId,
    ) {
        func.blocks[from].term = Term::Branch { cond, not: false, then: Edge::to(then), els: Edge::to(els) };
        self.edge(from, 0, then);
        self.edge(from, 1, els);
    }

    /// Whether anything goes to a block.
    pub(crate) fn is_reached(&self, block: BlockId) -> bool {
        !self.preds[block].is_empty()
    }

    /// States that all predecessors of a block are known.
    pub(crate) fn seal(&mut self, func: &mut Function, block: BlockId) {
        if self.sealed.insert(block) {
            self.loops.pop_if(|l| l.header == block);
            self.places[block].sealed = self.now();
            self.find_dominator(block);
            if self.waiting.get(block).is_some_and(|w| !w.is_empty()) {
                self.todo.append(&mut self.waiting[block]);
            }
            self.settle(func);
        }
    }

    /// Finds a value, or makes a parameter for it whose arguments are left to `todo`.
    fn lookup(&mut self, func: &mut Function, block: BlockId, var: Var) -> ValueId {
        let mut path = std::mem::take(&mut self.path);
        let mut at = block;
        let mut long_way = LONG_WAY;
        let value = loop {
            if let Some(v) = self.known(at, var) {
                break v;
            }
            path.push(at);
            if !self.sealed.contains(at) {
                if let Some(before) = self.past_loop(at, var) {
                    at = before;
                    continue;
                }
                let phi = self.phi(func, at, var);
                self.waiting[at].push(phi);
                break self.phis[phi].value;
            }
            if path.len() >= long_way {
                long_way = path.len() + LONG_WAY;
                if let Some(dominator) = self.unwritten_for_long(at, var) {
                    at = dominator;
                    continue;
                }
            }
            match *self.preds[at].as_slice() {
                [] => break self.undef(func, var),
                [Pred { from, .. }] => at = from,
                _ if let Some(dominator) = self.unwritten_since(at, var) => at = dominator,
                _ => {
                    let phi = self.phi(func, at, var);
                    self.todo.push(phi);
                    break self.phis[phi].value;
                }
            }
        };
        for b in path.drain(..).rev() {
            self.define(b, var, value);
        }
        self.path = path;
        value
    }

    /// Looks up the arguments of new parameters until none are left.
    fn settle(&mut self, func: &mut Function) {
        while let Some(i) = self.todo.pop() {
            let (block, var) = (self.phis[i].block, self.phis[i].var);
            for n in 0..self.preds[block].len() {
                let from = self.preds[block][n].from;
                let v = self.lookup(func, from, var);
                self.phis[i].args.push(v);
            }
        }
    }

    fn phi(&mut self, func: &mut Function, block: BlockId, var: Var) -> usize {
        let value = func.add_block_param(block, self.vars[var.0 as usize].class);
        self.define(block, var, value);
        self.phis.push(Phi { block, var, value, args: Vec::new() });
        self.phis.len() - 1
    }

    fn undef(&mut self, func: &mut Function, var: Var) -> ValueId {
        if let Some(v) = self.vars[var.0 as usize].undef.expand() {
            return v;
        }
        let class = self.vars[var.0 as usize].class;
        let v = func.new_value(class);
        self.undef_insts.push(func.make(Inst::new(Op::Undef, class.move_type()).dst(v)));
        self.vars[var.0 as usize].undef = v.into();
        v
    }

    /// Completes the function. Every block must have been sealed.
    pub(crate) fn finish(mut self, func: &mut Function) {
        debug_assert!(func.layout.iter().all(|&b| self.sealed.contains(b)), "a block was not sealed");
        let alias = self.single_values(func);
        let find = |v: ValueId| alias[v].expand().unwrap_or(v);
        let mut any = false;
        for phi in &self.phis {
            if alias[phi.value].is_some() {
                func.values[phi.value].def = Def::None;
                any = true;
                continue;
            }
            // A block's parameters stand in the order of its phis, so its edges' arguments do too.
            for (n, pred) in self.preds[phi.block].iter().enumerate() {
                if let Some(edge) = func.blocks[pred.from].term.edges_mut().nth(pred.edge) {
                    edge.args.push(find(phi.args[n]));
                }
            }
        }
        if any {
            for block in func.blocks.values_mut() {
                block.params.retain(|&p| alias[p].is_none());
                block.term.map_uses(find);
            }
            for inst in func.insts.values_mut() {
                inst.map_uses(find);
            }
        }
        let entry = func.entry();
        func.blocks[entry].body.splice(0..0, self.undef_insts.drain(..));
    }

    /// Parameters that have only one value besides themselves, each with that value.
    fn single_values(&mut self, func: &mut Function) -> Aliases {
        let mut alias = Aliases::new();
        if self.phis.is_empty() {
            return alias;
        }
        alias.resize(func.values.len());
        let mut readers = Readers::new(func, &self.phis);
        // Parameters made last stand nearest to the definitions, and decide about the others.
        let mut work: Vec<usize> = (0..self.phis.len()).collect();
        while let Some(i) = work.pop() {
            let me = self.phis[i].value;
            if alias[me].is_some() {
                continue;
            }
            let mut only = None;
            let mut single = true;
            for n in 0..self.phis[i].args.len() {
                let v = find(&mut alias, self.phis[i].args[n]);
                if v != me && only != Some(v) {
                    single &= only.is_none();
                    only = Some(v);
                }
            }
            if !single {
                continue;
            }
            let var = self.phis[i].var;
            let value = match only {
                Some(v) => v,
                None => self.undef(func, var),
            };
            alias[me] = value.into();
            readers.join(me, value, |u| {
                let undecided = alias[self.phis[u].value].is_none();
                if undecided {
                    work.push(u);
                }
                undecided
            });
        }
        for phi in &self.phis {
            find(&mut alias, phi.value);
        }
        alias
    }
}

/// For each value that is replaced by another, that one.
type Aliases = SecondaryMap<ValueId, PackedOption<ValueId>>;

/// The end of a chain of aliases, which is shortened on the way.
fn find(alias: &mut Aliases, v: ValueId) -> ValueId {
    let mut end = v;
    while let Some(next) = alias[end].expand() {
        end = next;
    }
    let mut at = v;
    while let Some(next) = alias[at].expand() {
        alias[at] = end.into();
        at = next;
    }
    end
}

/// Which parameters' arguments parameters are: for each a list, which another can be appended to at once.
struct Readers {
    /// Number of the parameter that a value is, plus one.
    phi: SecondaryMap<ValueId, u32>,
    /// The first and last of each list.
    ends: Vec<Option<(usize, usize)>>,
    /// A reader, and the next of the list.
    nodes: Vec<(usize, Option<usize>)>,
}

impl Readers {
    fn new(func: &Function, phis: &[Phi]) -> Readers {
        let mut readers =
            Readers { phi: SecondaryMap::new(), ends: vec![None; phis.len()], nodes: Vec::new() };
        readers.phi.resize(func.values.len());
        for (i, phi) in phis.iter().enumerate() {
            readers.phi[phi.value] = i as u32 + 1;
        }
        for (i, phi) in phis.iter().enumerate() {
            for &a in &phi.args {
                if let Some(k) = readers.number(a) {
                    let node = readers.nodes.len();
                    readers.nodes.push((i, None));
                    readers.append(k, (node, node));
                }
            }
        }
        readers
    }

    fn number(&self, v: ValueId) -> Option<usize> {
        self.phi[v].checked_sub(1).map(|k| k as usize)
    }

    fn append(&mut self, k: usize, list: (usize, usize)) {
        self.ends[k] = match self.ends[k] {
            None => Some(list),
            Some((first, last)) => {
                self.nodes[last].1 = Some(list.0);
                Some((first, list.1))
            }
        };
    }

    /// Makes those readers of one value that are `wanted` readers of another; the rest is forgotten, so that it is not looked
    /// at again and again along a chain of such values.
    fn join(&mut self, from: ValueId, to: ValueId, mut wanted: impl FnMut(usize) -> bool) {
        let mut next = self.number(from).and_then(|k| self.ends[k].take()).map(|e| e.0);
        let to = self.number(to);
        while let Some(node) = next {
            next = self.nodes[node].1.take();
            if wanted(self.nodes[node].0)
                && let Some(k) = to
            {
                self.append(k, (node, node));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Type;
    use crate::ir::build::Builder;

    fn constant(f: &mut Function, b: BlockId, x: u32) -> ValueId {
        Builder::new(f, b).mov(x)
    }

    #[test]
    fn a_join_of_two_values_gets_a_parameter_and_a_join_of_one_does_not() {
        let mut f = Function::new("f");
        let mut ssa = Ssa::new();
        let (x, y) = (ssa.var(Class::Gpr), ssa.var(Class::Gpr));
        let [a, then, join] = [(); 3].map(|()| f.new_block());
        ssa.seal(&mut f, a);
        let one = constant(&mut f, a, 1);
        ssa.write(a, x, one);
        ssa.write(a, y, one);
        let p = Builder::new(&mut f, a).undef(Class::Pred);
        ssa.branch(&mut f, a, p, then, join);
        ssa.seal(&mut f, then);
        let two = constant(&mut f, then, 2);
        ssa.write(then, x, two);
        ssa.jump(&mut f, then, join);
        ssa.seal(&mut f, join);
        let (vx, vy) = (ssa.read(&mut f, join, x), ssa.read(&mut f, join, y));
        let sum = Builder::new(&mut f, join).add(Type::U32, vx, vy);
        ssa.finish(&mut f);
        assert_eq!(f.blocks[join].params, [vx]);
        assert_eq!(f.blocks[a].term.edges().map(|e| e.args.clone()).collect::<Vec<_>>(), [vec![], vec![one]]);
        let add = f.def_inst(sum).expect("made above");
        assert_eq!(add.srcs[1].as_val(), Some(one));
    }

    #[test]
    fn a_loop_keeps_parameters_only_of_what_changes_in_it() {
        let mut f = Function::new("f");
        let mut ssa = Ssa::new();
        let (x, y) = (ssa.var(Class::Gpr), ssa.var(Class::Gpr));
        let [a, head, exit] = [(); 3].map(|()| f.new_block());
        ssa.seal(&mut f, a);
        let one = constant(&mut f, a, 1);
        ssa.write(a, x, one);
        ssa.write(a, y, one);
        ssa.jump(&mut f, a, head);
        let (vx, vy) = (ssa.read(&mut f, head, x), ssa.read(&mut f, head, y));
        let next = Builder::new(&mut f, head).add(Type::U32, vx, vy);
        ssa.write(head, x, next);
        let p = Builder::new(&mut f, head).undef(Class::Pred);
        ssa.branch(&mut f, head, p, head, exit);
        ssa.seal(&mut f, head);
        ssa.seal(&mut f, exit);
        ssa.finish(&mut f);
        assert_eq!(f.blocks[head].params, [vx]);
        let add = f.def_inst(next).expect("made above");
        assert_eq!(add.srcs[1].as_val(), Some(one));
    }

    #[test]
    fn a_header_that_is_not_sealed_gets_no_parameter_of_what_its_loop_leaves_alone() {
        let mut f = Function::new("f");
        let mut ssa = Ssa::new();
        let [x, y, z] = [(); 3].map(|()| ssa.var(Class::Gpr));
        // The outer loop is the places 2 to 9, the inner one 4 to 7.
        ssa.written_at(x, vec![1, 8]);
        ssa.written_at(y, vec![1, 5]);
        let [a, outer, inner, end, exit] = [(); 5].map(|()| f.new_block());
        ssa.seal(&mut f, a);
        let one = constant(&mut f, a, 1);
        [x, y, z].into_iter().for_each(|v| ssa.write(a, v, one));
        ssa.jump(&mut f, a, outer);
        ssa.begin_loop(outer, 2, 9);
        ssa.jump(&mut f, outer, inner);
        ssa.begin_loop(inner, 4, 7);
        let read = [x, y, z].map(|v| ssa.read(&mut f, inner, v));
        // Of z it is not known where it is written.
        assert_eq!(f.blocks[outer].params, [read[0]]);
        assert_eq!(f.blocks[inner].params, [read[1], read[2]]);
        let two = constant(&mut f, inner, 2);
        ssa.write(inner, y, two);
        let p = Builder::new(&mut f, inner).undef(Class::Pred);
        ssa.branch(&mut f, inner, p, inner, end);
        ssa.seal(&mut f, inner);
        ssa.seal(&mut f, end);
        ssa.write(end, x, two);
        let p = Builder::new(&mut f, end).undef(Class::Pred);
        ssa.branch(&mut f, end, p, outer, exit);
        ssa.seal(&mut f, outer);
        ssa.seal(&mut f, exit);
        assert_eq!(ssa.read(&mut f, exit, z), read[2]);
        ssa.finish(&mut f);
        assert_eq!((f.blocks[outer].params.len(), f.blocks[inner].params.len()), (2, 1));
    }

    #[test]
    fn what_a_loop_that_has_ended_wrote_arrives_over_a_long_way_from_a_block_inside() {
        for length in 1..40 {
            let mut f = Function::new("f");
            let mut ssa = Ssa::new();
            let (x, y) = (ssa.var(Class::Gpr), ssa.var(Class::Gpr));
            let [a, head, body] = [(); 3].map(|()| f.new_block());
            ssa.seal(&mut f, a);
            let one = constant(&mut f, a, 1);
            ssa.write(a, x, one);
            ssa.write(a, y, one);
            ssa.jump(&mut f, a, head);
            ssa.begin_loop(head, 1, 2);
            ssa.jump(&mut f, head, body);
            ssa.seal(&mut f, body);
            // The loop is left from its middle, and only then writes.
            let p = Builder::new(&mut f, body).undef(Class::Pred);
            let [rest, mut at] = [(); 2].map(|()| f.new_block());
            ssa.branch(&mut f, body, p, rest, at);
            ssa.seal(&mut f, rest);
            let two = constant(&mut f, rest, 2);
            ssa.write(rest, x, two);
            ssa.jump(&mut f, rest, head);
            ssa.seal(&mut f, head);
            ssa.seal(&mut f, at);
            for _ in 0..length {
                let next = f.new_block();
                ssa.jump(&mut f, at, next);
                ssa.seal(&mut f, next);
                at = next;
            }
            let read = ssa.read(&mut f, at, x);
            ssa.finish(&mut f);
            assert_eq!(f.blocks[head].params, [read], "{length} blocks behind the loop");
        }
    }

    #[test]
    fn a_long_chain_of_blocks_does_not_overflow_the_stack() {
        let mut f = Function::new("f");
        let mut ssa = Ssa::new();
        let x = ssa.var(Class::Gpr);
        let mut at = f.new_block();
        ssa.seal(&mut f, at);
        let one = constant(&mut f, at, 1);
        ssa.write(at, x, one);
        for _ in 0..100_000 {
            let p = Builder::new(&mut f, at).undef(Class::Pred);
            let (arm, join) = (f.new_block(), f.new_block());
            ssa.branch(&mut f, at, p, arm, join);
            ssa.seal(&mut f, arm);
            ssa.jump(&mut f, arm, join);
            ssa.seal(&mut f, join);
            at = join;
        }
        assert_eq!(ssa.read(&mut f, at, x), one);
        ssa.finish(&mut f);
        assert!(f.blocks.values().all(|b| b.params.is_empty()));
    }
    /// A diamond after which `x` is read; `write` writes it.
    fn diamond(write: impl Fn(&mut Ssa, &mut Function, [BlockId; 4], Var)) -> (ValueId, Function) {
        let mut f = Function::new("f");
        let mut ssa = Ssa::new();
        let x = ssa.var(Class::Gpr);
        let [a, then, els, join] = [(); 4].map(|()| f.new_block());
        ssa.seal(&mut f, a);
        let zero = constant(&mut f, a, 0);
        ssa.write(a, x, zero);
        let p = Builder::new(&mut f, a).undef(Class::Pred);
        ssa.branch(&mut f, a, p, then, els);
        ssa.seal(&mut f, then);
        ssa.seal(&mut f, els);
        ssa.jump(&mut f, then, join);
        ssa.jump(&mut f, els, join);
        ssa.seal(&mut f, join);
        write(&mut ssa, &mut f, [a, then, els, join], x);
        let read = ssa.read(&mut f, join, x);
        ssa.finish(&mut f);
        (read, f)
    }

    #[test]
    fn a_write_to_a_block_that_has_ended_arrives_where_it_leads() {
        let (read, f) = diamond(|ssa, f, [_, then, ..], x| {
            let one = constant(f, then, 1);
            ssa.write(then, x, one);
        });
        assert!(matches!(f.values[read].def, Def::Block(_)));
    }

    #[test]
    fn what_is_written_after_a_join_makes_no_parameter_of_it() {
        let (read, f) = diamond(|ssa, f, [.., join], x| {
            let before = ssa.read(f, join, x);
            let one = constant(f, join, 1);
            ssa.write(join, x, one);
            ssa.write(join, x, before);
        });
        assert_eq!(f.def_inst(read).map(|i| i.srcs[0]), Some(0u32.into()));
        assert!(f.blocks.values().all(|b| b.params.is_empty()));
    }
}
