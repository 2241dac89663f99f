//! Loop inversion: the test in front of a loop's body goes behind it.
//!
//! ```text
//!     jump b1(%r0)                        set.ge pred s32 %p2 %r0 %r9
//! b1(%r1): loop exit b3 cont b1           if %p2 b8 b4 join b8
//!     set.ge pred s32 %p2 %r1 %r9     b4: jump b5(%r0)
//!     branch %p2 b3 b2           ->   b5(%r6): loop exit b7 cont b5
//! b2: ..                                  ..
//!     add s32 %r3 %r1 0x1                 add s32 %r3 %r6 0x1
//!     jump b1(%r3)                        set.ge pred s32 %p8 %r3 %r9
//! b3: ..                                  branch %p8 b7 b5
//!                                     b7: jump b8
//!                                     b8: jump b3
//! ```
//!
//! A round ends in the one branch that goes back, without the one that always does, and the test is
//! in one block with the end of the body, whose waiting it fills. The first test, in front, guards
//! the loop; where it is known it goes. The block between is a place for what does not change in
//! the loop, which is executed only if the loop is.
//!
//! Where lanes leave in different rounds, who leaves does that by an instruction of its own: those
//! loops get their branch back behind register allocation (`emit/rotate_loops`).
//!
//! Safe because the same instructions are executed in the same order.

use super::Ctx;
use super::flow::constructs;
use super::rewrite::map_uses_in;
use crate::analysis::divergence::uniform_branches;
use crate::ir::*;
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntitySet, SecondaryMap};
use rustc_hash::FxHashMap;

/// Instructions of a test that is made twice.
const LONGEST: usize = 6;

pub(super) fn run(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    let is_header = |b: &BlockId| matches!(f.blocks[*b].merge, Merge::Loop { .. });
    if !f.layout.iter().any(is_header) {
        return false;
    }
    let loops = find(f);
    if loops.is_empty() {
        return false;
    }
    let uniform = uniform_branches(f);
    let mut exits = EntitySet::with_capacity(f.blocks.len());
    let mut wanted = |l: &Tested| uniform.contains(l.branch) && exits.insert(l.exit);
    let loops: Vec<Tested> = loops.into_iter().filter(|l| wanted(l)).collect();
    if loops.is_empty() {
        return false;
    }
    let mut inverted = Inverted::new(f);
    for l in &loops {
        inverted.invert(f, l);
    }
    inverted.finish(f);
    ctx.count("invert: loops", loops.len());
    // The first test may be known.
    super::copy_prop::run(f, ctx);
    super::fold::run(f, ctx);
    super::flow::run(f, ctx);
    true
}

/// A loop with its test in front.
struct Tested {
    header: BlockId,
    /// The block that ends in the test: the header, or the one behind it.
    branch: BlockId,
    exit: BlockId,
    cont: BlockId,
    latch: BlockId,
}

fn find(f: &Function) -> Vec<Tested> {
    let position = f.positions();
    let mut preds: SecondaryMap<BlockId, Vec<BlockId>> = f.block_table();
    for &b in &f.layout {
        f.blocks[b].term.successors().for_each(|s| preds[s].push(b));
    }
    let around = constructs(f);
    f.layout.iter().filter_map(|&h| tested(f, h, &position, &preds, &around)).collect()
}

fn tested(
    f: &Function,
    header: BlockId,
    position: &SecondaryMap<BlockId, u32>,
    preds: &SecondaryMap<BlockId, Vec<BlockId>>,
    around: &SecondaryMap<BlockId, PackedOption<BlockId>>,
) -> Option<Tested> {
    let Merge::Loop { exit, cont } = f.blocks[header].merge else { return None };
    let branch = match &f.blocks[header].term {
        Term::Jump(e) if preds[e.to].len() == 1 && e.to != cont && e.to != exit => e.to,
        Term::Branch { .. } => header,
        _ => return None,
    };
    let Term::Branch { then, els, .. } = &f.blocks[branch].term else { return None };
    let stay = match (then.to == exit, els.to == exit) {
        (true, false) => els.to,
        (false, true) => then.to,
        _ => return None,
    };
    let no_arms = match f.blocks[branch].merge {
        Merge::If { join } => join == stay,
        Merge::Loop { .. } => branch == header,
        Merge::None => true,
    };
    let length = f.blocks[header].body.len() + f.blocks[branch].body.len() * usize::from(branch != header);
    if !no_arms || stay == header || length > LONGEST {
        return None;
    }
    // It is entered in one place, and goes round in one at its own level.
    let inside = |b: BlockId| (position[header]..position[exit]).contains(&position[b]);
    if branch != header && position[branch] != position[header] + 1 {
        return None;
    }
    let &[a, b] = preds[header].as_slice() else { return None };
    let latch = match (inside(a), inside(b)) {
        (true, false) => a,
        (false, true) => b,
        _ => return None,
    };
    let round = matches!(f.blocks[latch].term, Term::Jump(_)) && around[latch].expand() == Some(header);
    let copied = |&i: &InstId| f.insts[i].call().is_none();
    let tests = f.blocks[header].body.iter().chain(&f.blocks[branch].body).all(copied);
    (round && tests && f.blocks[latch].merge == Merge::None).then_some(Tested {
        header,
        branch,
        exit,
        cont,
        latch,
    })
}

/// What changes in the function around inverted loops.
struct Inverted {
    /// Places of blocks in the layout, times four: new blocks stand between.
    position: SecondaryMap<BlockId, u32>,
    /// Where a value is read last.
    last: SecondaryMap<ValueId, u32>,
    preds: SecondaryMap<BlockId, Vec<BlockId>>,
    /// New blocks behind and in front of a block.
    behind: SecondaryMap<BlockId, Vec<BlockId>>,
    before: SecondaryMap<BlockId, Vec<BlockId>>,
    /// What is read instead of a value from one place to another.
    instead: FxHashMap<ValueId, Vec<(u32, u32, ValueId)>>,
}

impl Inverted {
    fn new(f: &Function) -> Inverted {
        let mut position: SecondaryMap<BlockId, u32> = f.block_table();
        let mut preds: SecondaryMap<BlockId, Vec<BlockId>> = f.block_table();
        let mut last: SecondaryMap<ValueId, u32> = SecondaryMap::with_capacity(f.values.len());
        last.resize(f.values.len());
        for (at, &b) in (1..).zip(&f.layout) {
            position[b] = 4 * at;
            let block = &f.blocks[b];
            block.body.iter().for_each(|&i| f.insts[i].for_uses(|v| last[v] = 4 * at));
            block.term.for_uses(|v| last[v] = 4 * at);
            block.term.successors().for_each(|s| preds[s].push(b));
        }
        let (behind, before) = (f.block_table(), f.block_table());
        Inverted { position, last, preds, behind, before, instead: FxHashMap::default() }
    }

    fn new_block(&mut self, f: &mut Function, at: u32, loc: Loc) -> BlockId {
        let b = f.detached_block();
        f.blocks[b].term_loc = loc;
        self.position[b] = at;
        b
    }

    fn invert(&mut self, f: &mut Function, l: &Tested) {
        let (from, to) = (self.position[l.branch], self.position[l.exit]);
        let loc = f.blocks[l.branch].term_loc;
        let front = self.new_block(f, from + 1, loc);
        let header = self.new_block(f, from + 2, loc);
        let exit = self.new_block(f, to - 2, loc);
        let join = self.new_block(f, to - 1, loc);
        self.behind[l.branch].extend([front, header]);
        self.before[l.exit].extend([exit, join]);

        // What the test computes is a parameter of the loop, where the loop reads it, and of the
        // place behind it.
        let tests: Vec<InstId> = self.tests(f, l);
        let mut computed = f.blocks[l.header].params.clone();
        tests.iter().for_each(|&i| f.insts[i].for_defs(|v| computed.push(v)));
        computed.retain(|&v| self.last[v] > from);
        let escaping: Vec<ValueId> = computed.iter().copied().filter(|&v| self.last[v] >= to).collect();
        for &v in &computed {
            let class = f.class(v);
            let p = f.add_block_param(header, class);
            self.instead.entry(v).or_default().push((from + 2, to - 2, p));
        }
        let mut classes: Vec<Class> = f.blocks[l.exit].params.iter().map(|&p| f.class(p)).collect();
        let handed_on = classes.len();
        classes.extend(escaping.iter().map(|&v| f.class(v)));
        let left: Vec<ValueId> = classes.iter().map(|&c| f.add_block_param(exit, c)).collect();
        let mut met: Vec<ValueId> = classes.iter().map(|&c| f.add_block_param(join, c)).collect();
        f.blocks[exit].term = Term::Jump(Edge { to: join, args: left });
        for (&v, p) in escaping.iter().zip(met.split_off(handed_on)) {
            self.instead.entry(v).or_default().push((to, u32::MAX, p));
        }
        f.blocks[join].term = Term::Jump(Edge { to: l.exit, args: met });

        // Who leaves the loop inside of it, or behind a round.
        for p in self.preds[l.exit].clone() {
            if p != l.branch {
                for e in f.blocks[p].term.edges_mut().filter(|e| e.to == l.exit) {
                    e.to = exit;
                    e.args.extend_from_slice(&escaping);
                }
            }
        }
        let again = self.repeat_test(f, l, &tests);
        let value = |v: ValueId| again.get(&v).copied().unwrap_or(v);
        let leave = |args: &[ValueId]| args.iter().chain(&escaping).copied().collect::<Vec<_>>();
        let mut test = f.blocks[l.branch].term.clone();
        let mut round = test.clone();
        let mut stay = Edge::to(header);
        for (guard, e) in test.edges_mut().zip(round.edges_mut()) {
            if e.to == l.exit {
                *e = Edge { to: exit, args: leave(&e.args) };
                *guard = Edge { to: join, args: leave(&guard.args) };
            } else {
                *e = Edge { to: header, args: computed.clone() };
                stay = std::mem::replace(guard, Edge::to(front));
            }
        }
        round.map_uses(value);
        f.blocks[l.latch].term = round;
        f.blocks[l.latch].term_loc = loc;
        f.blocks[front].term = Term::Jump(Edge { to: header, args: computed });
        f.blocks[header].term = Term::Jump(stay);
        let cont = if l.cont == l.header { header } else { l.cont };
        f.blocks[header].merge = Merge::Loop { exit, cont };
        f.blocks[l.header].merge = Merge::None;
        f.blocks[l.branch].term = test;
        f.blocks[l.branch].merge = Merge::If { join };
    }

    fn tests(&self, f: &Function, l: &Tested) -> Vec<InstId> {
        let mut tests = f.blocks[l.header].body.clone();
        if l.branch != l.header {
            tests.extend_from_slice(&f.blocks[l.branch].body);
        }
        tests
    }

    /// Writes the test behind a round, and gives what its values are there.
    fn repeat_test(&self, f: &mut Function, l: &Tested, tests: &[InstId]) -> FxHashMap<ValueId, ValueId> {
        let mut again: FxHashMap<ValueId, ValueId> = FxHashMap::default();
        if let Some(e) = f.blocks[l.latch].term.edges().next() {
            again.extend(f.blocks[l.header].params.iter().copied().zip(e.args.iter().copied()));
        }
        for &i in tests {
            let mut inst = f.insts[i].clone();
            inst.map_uses(|v| again.get(&v).copied().unwrap_or(v));
            inst.map_defs(|v| {
                let d = f.new_value(f.class(v));
                again.insert(v, d);
                d
            });
            f.append(l.latch, inst);
        }
        again
    }

    /// Puts the new blocks into the layout, and lets everybody read what is there.
    fn finish(mut self, f: &mut Function) {
        for b in std::mem::take(&mut f.layout) {
            f.layout.append(&mut self.before[b]);
            f.layout.push(b);
            f.layout.append(&mut self.behind[b]);
        }
        for n in 0..f.layout.len() {
            let b = f.layout[n];
            let at = self.position[b];
            let read = |v: ValueId| {
                let places = self.instead.get(&v).into_iter().flatten();
                places.copied().find(|&(from, to, _)| (from..to).contains(&at)).map_or(v, |(.., w)| w)
            };
            map_uses_in(f, b, read);
        }
    }
}
