//! Variables to SSA while the code is being made (Braun, Buchwald, Hack et al. 2013), with block parameters.
//!
//! A front-end writes and reads [`Var`]s in blocks; reading finds the value that arrives, and makes block
//! parameters where several do. [`Ssa::jump`] and [`Ssa::branch`] end blocks, so that predecessors are known. A
//! block is sealed when no predecessor can come any more; until then every variable that is read in it gets a
//! parameter. [`Ssa::finish`] removes the parameters that turned out to have one value, and fills in the edges.
//!
//! A variable that is read where nothing was written gets an `undef` of its own in the entry block.
//!
//! Nothing recurses: depth is bounded by memory alone.

use cranelift_entity::{EntitySet, SecondaryMap};
use rustc_hash::FxHashMap;

use crate::ir::{BlockId, Class, Def, Edge, Function, Inst, Op, Term, Type, ValueId};

/// A variable of the source program that one register can hold.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Var(u32);

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

/// The state of one function.
#[derive(Default)]
pub struct Ssa {
    classes: Vec<Class>,
    /// The value of a variable at the end of a block, as far as it is known.
    defs: FxHashMap<(Var, BlockId), ValueId>,
    preds: SecondaryMap<BlockId, Vec<Pred>>,
    sealed: EntitySet<BlockId>,
    phis: Vec<Phi>,
    /// Parameters of blocks that are not sealed.
    waiting: SecondaryMap<BlockId, Vec<usize>>,
    /// Parameters whose arguments are to be looked up.
    todo: Vec<usize>,
    undefs: FxHashMap<Var, ValueId>,
    undef_insts: Vec<crate::ir::InstId>,
}

impl Ssa {
    pub fn new() -> Ssa {
        Ssa::default()
    }

    pub fn var(&mut self, class: Class) -> Var {
        self.classes.push(class);
        Var(self.classes.len() as u32 - 1)
    }

    pub fn write(&mut self, block: BlockId, var: Var, value: ValueId) {
        self.defs.insert((var, block), value);
    }

    /// The value of a variable at the current end of a block.
    pub fn read(&mut self, func: &mut Function, block: BlockId, var: Var) -> ValueId {
        let v = self.lookup(func, block, var);
        self.settle(func);
        v
    }

    /// Ends `from` with a jump.
    pub fn jump(&mut self, func: &mut Function, from: BlockId, to: BlockId) {
        func.blocks[from].term = Term::Jump(Edge::to(to));
        self.preds[to].push(Pred { from, edge: 0 });
    }

    /// Ends `from` with a branch on a predicate.
    pub fn branch(&mut self, func: &mut Function, from: BlockId, cond: ValueId, then: BlockId, els: BlockId) {
        func.blocks[from].term = Term::Branch { cond, not: false, then: Edge::to(then), els: Edge::to(els) };
        self.preds[then].push(Pred { from, edge: 0 });
        self.preds[els].push(Pred { from, edge: 1 });
    }

    /// Whether anything goes to a block.
    pub fn is_reached(&self, block: BlockId) -> bool {
        !self.preds[block].is_empty()
    }

    /// States that all predecessors of a block are known.
    pub fn seal(&mut self, func: &mut Function, block: BlockId) {
        if self.sealed.insert(block) {
            let waiting = std::mem::take(&mut self.waiting[block]);
            self.todo.extend(waiting);
            self.settle(func);
        }
    }

    /// Finds a value, or makes a parameter for it whose arguments are left to `todo`.
    fn lookup(&mut self, func: &mut Function, block: BlockId, var: Var) -> ValueId {
        let mut path = Vec::new();
        let mut at = block;
        let value = loop {
            if let Some(&v) = self.defs.get(&(var, at)) {
                break v;
            }
            path.push(at);
            if !self.sealed.contains(at) {
                let phi = self.phi(func, at, var);
                self.waiting[at].push(phi);
                break self.phis[phi].value;
            }
            match *self.preds[at].as_slice() {
                [] => break self.undef(func, var),
                [Pred { from, .. }] => at = from,
                _ => {
                    let phi = self.phi(func, at, var);
                    self.todo.push(phi);
                    break self.phis[phi].value;
                }
            }
        };
        for b in path {
            self.defs.insert((var, b), value);
        }
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
        let value = func.add_block_param(block, self.classes[var.0 as usize]);
        self.defs.insert((var, block), value);
        self.phis.push(Phi { block, var, value, args: Vec::new() });
        self.phis.len() - 1
    }

    fn undef(&mut self, func: &mut Function, var: Var) -> ValueId {
        if let Some(&v) = self.undefs.get(&var) {
            return v;
        }
        let class = self.classes[var.0 as usize];
        let ty = if class == Class::Pred { Type::Pred } else { Type::U32 };
        let v = func.new_value(class);
        self.undef_insts.push(func.make(Inst::new(Op::Undef, ty).dst(v)));
        self.undefs.insert(var, v);
        v
    }

    /// Completes the function. Every block must have been sealed.
    pub fn finish(mut self, func: &mut Function) {
        debug_assert!(func.layout.iter().all(|&b| self.sealed.contains(b)), "a block was not sealed");
        let alias = self.single_values(func);
        let find = |v: ValueId| alias.get(&v).copied().unwrap_or(v);
        for phi in &self.phis {
            if alias.contains_key(&phi.value) {
                func.values[phi.value].def = Def::None;
                continue;
            }
            // A block's parameters stand in the order of its phis, so its edges' arguments do too.
            for (n, pred) in self.preds[phi.block].iter().enumerate() {
                if let Some(edge) = func.blocks[pred.from].term.edges_mut().nth(pred.edge) {
                    edge.args.push(find(phi.args[n]));
                }
            }
        }
        for block in func.blocks.values_mut() {
            block.params.retain(|p| !alias.contains_key(p));
            block.term.map_uses(find);
        }
        for inst in func.insts.values_mut() {
            inst.map_uses(find);
        }
        let entry = func.entry();
        func.blocks[entry].body.splice(0..0, self.undef_insts.drain(..));
    }

    /// Parameters that have only one value besides themselves, each with that value.
    fn single_values(&mut self, func: &mut Function) -> FxHashMap<ValueId, ValueId> {
        let mut alias: FxHashMap<ValueId, ValueId> = FxHashMap::default();
        let mut users: FxHashMap<ValueId, Vec<usize>> = FxHashMap::default();
        for (i, phi) in self.phis.iter().enumerate() {
            for &a in &phi.args {
                users.entry(a).or_default().push(i);
            }
        }
        // Parameters made last stand nearest to the definitions, and decide about the others.
        let mut work: Vec<usize> = (0..self.phis.len()).collect();
        while let Some(i) = work.pop() {
            let me = self.phis[i].value;
            if alias.contains_key(&me) {
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
            alias.insert(me, value);
            if let Some(mut list) = users.remove(&me) {
                list.retain(|&u| !alias.contains_key(&self.phis[u].value));
                work.extend(&list);
                users.entry(value).or_default().extend(list);
            }
        }
        let keys: Vec<ValueId> = alias.keys().copied().collect();
        for k in keys {
            find(&mut alias, k);
        }
        alias
    }
}

/// The end of a chain of aliases, which is shortened on the way.
fn find(alias: &mut FxHashMap<ValueId, ValueId>, v: ValueId) -> ValueId {
    let mut end = v;
    while let Some(&next) = alias.get(&end) {
        end = next;
    }
    let mut at = v;
    while let Some(next) = alias.get_mut(&at) {
        at = std::mem::replace(next, end);
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;
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
        assert_ne!(ssa.read(&mut f, at, x), one, "a parameter, for now");
        ssa.finish(&mut f);
        assert!(f.blocks.values().all(|b| b.params.is_empty()));
    }
}
