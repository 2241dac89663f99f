//! Control flow: from structured blocks to the divergence stack.
//!
//! ```text
//! if (p) A else B             loop { A; if (p) break; B }
//!
//!     SSY join                    PBK exit
//!     @!P0 BRA else           again:
//!     A                           A
//!     NOP.S                       @P0 BRK
//! else:                           B
//!     B                           BRA again
//!     NOP.S                   exit:
//! join:
//! ```
//!
//! Every exit out of a block becomes a `BlockExit`. Empty blocks are looked through, so that
//! `if (p) break` is one predicated instruction, and what can never be reached is not emitted.
//!
//! A construct uses the stack only where lanes may part in it:
//! - an `if` pushes its join (`SSY`) when its condition is divergent, unless one of its exits just
//!   leaves (then no two sides run apart), or the join does nothing but leave by itself (then each
//!   side does that);
//! - a loop pushes its exit (`PBK`) when some exit to it is taken by a part of the lanes, and its
//!   continue block (`PCNT`, in every iteration) likewise. When it does, every exit there is a
//!   `BRK` or `CONT`; when it does not, a plain branch, and there is nothing to pop.
//!
//! The back edge goes behind the `PBK`. Loops around locks have none ([`spin_lock`]).
//!
//! A short arm that only its branch leads to is not branched to at all, if it then leaves or meets
//! the other side: it is executed under the branch's condition.

use crate::emit::code::{Code, Label, Line, MBlock, Made};
use crate::ir::{self, BlockId, Function, Merge, OpSet, Term};
use crate::isa::effects::{Resource, writes};
use crate::isa::latency::unit;
use crate::isa::row::Unit;
use crate::isa::{MInst, Op, Operand, Pred};
use cranelift_entity::{EntitySet, SecondaryMap};
use std::cell::Cell;

mod spin_lock;

/// What is asked of the code generator about a function.
pub(super) trait Body {
    /// Whether the block holds no machine instruction but its exit out, moves for edges included.
    fn is_empty(&self, b: BlockId) -> bool;
    /// Whether the branch that ends the block may part the lanes of a warp.
    fn is_divergent(&self, b: BlockId) -> bool;
    /// The predicate register of the condition of a block's branch.
    fn condition(&self, b: BlockId) -> u8;
    /// Appends the instructions of a block.
    fn emit(&self, b: BlockId, out: &mut Vec<Line>);
}

/// Where control goes from a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum BlockExit {
    Goto(BlockId),
    /// From inside a loop to its header.
    Again(BlockId),
    /// To the join of the innermost `if` that pushed one.
    Sync,
    Break,
    Continue,
    Exit,
    Return,
}

impl BlockExit {
    /// Whether it takes the lanes off this path for good, or until everything inside the construct
    /// is done.
    fn leaves(self) -> bool {
        matches!(self, BlockExit::Break | BlockExit::Continue | BlockExit::Exit | BlockExit::Return)
    }
}

const NONE: u32 = u32::MAX;

/// An `if` or a loop.
#[derive(Clone, Copy, Debug)]
struct Construct {
    header: BlockId,
    kind: Merge,
    /// The last construct inside it: constructs are numbered in the order of their headers, so
    /// those inside it are the ones from the next to this one. Its own number if there is none.
    last: u32,
    /// The innermost loop around what is in it: itself, if it is a loop.
    innermost_loop: u32,
    /// Whether it is an `if`, or inside one, of that loop, that may have parted the lanes.
    apart: bool,
    /// `If`: pushes its join. `Loop`: pushes its exit.
    stacked: bool,
    /// `Loop`: pushes its continue block.
    stacked_cont: bool,
    /// `Loop`: lanes that leave wait as those of an `if` do.
    spin_lock: bool,
}

impl Construct {
    /// The block where the lanes meet again.
    fn end(&self) -> BlockId {
        match self.kind {
            Merge::If { join } => join,
            Merge::Loop { exit, .. } => exit,
            Merge::None => self.header,
        }
    }
}

struct Flow<'a, B> {
    f: &'a Function,
    body: &'a B,
    entry_function: bool,
    constructs: Vec<Construct>,
    /// The innermost construct that a block is inside of. A header is inside its own loop, not its
    /// own `if`.
    inside: SecondaryMap<BlockId, u32>,
    /// The construct whose header a block is.
    heads: SecondaryMap<BlockId, u32>,
    /// The `if` whose join a block is.
    joins: SecondaryMap<BlockId, u32>,
    /// Where control goes from an empty block, once that is known: many exits lead through the same
    /// empty blocks.
    onward: SecondaryMap<BlockId, Cell<Option<BlockExit>>>,
    /// Blocks of the layout.
    placed: EntitySet<BlockId>,
    /// Blocks whose instructions stand, predicated, in the block before.
    flat: SecondaryMap<BlockId, Option<Vec<Line>>>,
}

/// Emits a function. `labels`: where the function begins, as calls name it.
pub(super) fn emit<B: Body>(f: &Function, body: &B, is_entry: bool, start: Label, code: &mut Code) {
    let mut flow = Flow {
        f,
        body,
        entry_function: is_entry,
        constructs: Vec::new(),
        inside: table(f, NONE),
        heads: table(f, NONE),
        joins: table(f, NONE),
        onward: table(f, Cell::new(None)),
        placed: EntitySet::with_capacity(f.blocks.len()),
        flat: table(f, None),
    };
    flow.find_constructs();
    flow.decide_flat();
    flow.decide_loops();
    flow.decide_ifs();
    flow.share_joins();
    flow.write(start, code);
}

/// A table over the blocks of a function.
fn table<T: Clone>(f: &Function, value: T) -> SecondaryMap<BlockId, T> {
    let mut table = SecondaryMap::with_default(value);
    table.resize(f.blocks.len());
    table
}

/// Where blocks begin.
struct Labels {
    first: SecondaryMap<BlockId, Option<Label>>,
    /// For who goes round in a loop: behind what it pushes.
    again: SecondaryMap<BlockId, Option<Label>>,
}

impl Labels {
    fn first(&self, b: BlockId) -> Operand {
        Operand::Target(self.first[b].map_or(NONE, |l| l.0))
    }

    fn again(&self, b: BlockId) -> Operand {
        Operand::Target(self.again[b].map_or(NONE, |l| l.0))
    }

    /// The instruction that leaves a block.
    fn jump(&self, exit: BlockExit, guard: Pred) -> MInst {
        match exit {
            BlockExit::Goto(to) => MInst::new(Op::Bra).arg(self.first(to)),
            BlockExit::Again(to) => MInst::new(Op::Bra).arg(self.again(to)),
            BlockExit::Sync => {
                let mut m = MInst::new(Op::Nop);
                m.sync = true;
                m
            }
            BlockExit::Break => MInst::new(Op::Brk),
            BlockExit::Continue => MInst::new(Op::Cont),
            BlockExit::Exit => MInst::new(Op::Exit),
            BlockExit::Return => MInst::new(Op::Ret),
        }
        .guarded(guard)
    }
}

impl<B: Body> Flow<'_, B> {
    /// Blocks of a construct are contiguous in the layout, up to its join or exit.
    fn find_constructs(&mut self) {
        let mut stack: Vec<u32> = Vec::new();
        // How many constructs on the stack end at a block.
        let mut ends = table(self.f, 0u32);
        for &b in &self.f.layout {
            while ends[b] > 0
                && let Some(top) = stack.pop()
            {
                ends[self.constructs[top as usize].end()] -= 1;
                self.constructs[top as usize].last = self.constructs.len() as u32 - 1;
            }
            let parent = stack.last().copied().unwrap_or(NONE);
            self.inside[b] = parent;
            self.placed.insert(b);
            let kind = self.f.blocks[b].merge;
            if kind == Merge::None {
                continue;
            }
            let n = self.constructs.len() as u32;
            let around = self.construct(parent);
            let (innermost_loop, apart) = match kind {
                Merge::Loop { .. } => (n, false),
                _ => (
                    around.map_or(NONE, |c| c.innermost_loop),
                    self.body.is_divergent(b) || around.is_some_and(|c| c.apart),
                ),
            };
            let c = Construct {
                header: b,
                kind,
                last: n,
                innermost_loop,
                apart,
                stacked: false,
                stacked_cont: false,
                spin_lock: false,
            };
            if let Merge::If { join } = kind {
                self.joins[join] = n;
            }
            ends[c.end()] += 1;
            self.constructs.push(c);
            self.heads[b] = n;
            if matches!(kind, Merge::Loop { .. }) {
                self.inside[b] = n;
            }
            stack.push(n);
        }
        for open in stack {
            self.constructs[open as usize].last = self.constructs.len() as u32 - 1;
        }
    }

    fn construct(&self, n: u32) -> Option<&Construct> {
        self.constructs.get(n as usize)
    }

    fn innermost_loop(&self, b: BlockId) -> Option<&Construct> {
        self.construct(self.loop_of(b)?)
    }

    fn loop_of(&self, b: BlockId) -> Option<u32> {
        self.construct(self.inside[b]).map(|c| c.innermost_loop).filter(|&n| n != NONE)
    }

    /// Whether a block is inside a construct, however deep.
    fn is_inside(&self, b: BlockId, n: u32) -> bool {
        let inside = self.inside[b];
        inside != NONE && self.construct(n).is_some_and(|c| (n..=c.last).contains(&inside))
    }

    /// The exit from block `from` to block `to`, looking through empty blocks.
    fn exit(&self, from: BlockId, to: BlockId) -> BlockExit {
        if let Some(exit) = self.step(from, to) {
            return exit;
        }
        // What is behind an empty block is the same wherever one came from. Empty blocks could form
        // a ring; nobody leaves that, so where the search stops does not matter.
        let mut path = Vec::new();
        let mut at = to;
        let exit = loop {
            if let Some(exit) = self.onward[at].get() {
                break exit;
            }
            let next = match &self.f.blocks[at].term {
                Term::Jump(e) => e.to,
                Term::Exit | Term::Unreachable => break BlockExit::Exit,
                Term::Ret(_) => break self.ret(),
                Term::Branch { .. } => break BlockExit::Goto(at),
            };
            path.push(at);
            if let Some(exit) = self.step(at, next) {
                break exit;
            }
            self.onward[at].set(Some(BlockExit::Goto(at)));
            at = next;
        };
        for b in path {
            self.onward[b].set(Some(exit));
        }
        exit
    }

    /// The exit along one edge, unless it leads to an empty block that one can look through.
    fn step(&self, from: BlockId, to: BlockId) -> Option<BlockExit> {
        let direct = self.direct(from, to);
        let through = direct == BlockExit::Goto(to)
            && self.body.is_empty(to)
            && self.heads[to] == NONE
            && !matches!(self.f.blocks[to].term, Term::Branch { .. });
        (!through).then_some(direct)
    }

    fn ret(&self) -> BlockExit {
        if self.entry_function { BlockExit::Exit } else { BlockExit::Return }
    }

    /// The exit along one edge.
    fn direct(&self, from: BlockId, to: BlockId) -> BlockExit {
        if let Some(c) = self.innermost_loop(from)
            && let Merge::Loop { exit, cont } = c.kind
        {
            if to == exit && c.stacked {
                return if c.spin_lock { BlockExit::Sync } else { BlockExit::Break };
            }
            if to == cont && c.stacked_cont {
                return BlockExit::Continue;
            }
        }
        if self.is_inside(from, self.heads[to]) {
            return BlockExit::Again(to);
        }
        let joins = self.joins[to];
        if self.construct(joins).is_some_and(|c| c.stacked) && self.is_inside(from, joins) {
            return BlockExit::Sync;
        }
        BlockExit::Goto(to)
    }

    /// Whether an arm of a branch does nothing but leave the loop or end the thread or function,
    /// whether or not the loop uses the stack.
    fn arm_just_leaves(&self, b: BlockId, arm: BlockId) -> bool {
        self.edge_leaves(b, b, arm)
    }

    /// The same of the edge between two blocks, one of which is the branch's own or an arm's. The
    /// join of the branch is no exit out, wherever it leads: everybody goes there, and who comes
    /// first waits.
    fn edge_leaves(&self, branch: BlockId, from: BlockId, to: BlockId) -> bool {
        let own = self.f.blocks[branch].merge;
        let (mut from, mut to) = (from, to);
        for _ in 0..=self.f.layout.len() {
            if own == (Merge::If { join: to }) {
                return false;
            }
            if let Some(c) = self.innermost_loop(from)
                && let Merge::Loop { exit, cont } = c.kind
                && (to == exit || to == cont)
            {
                return true;
            }
            if !self.body.is_empty(to) || self.heads[to] != NONE {
                return false;
            }
            match &self.f.blocks[to].term {
                Term::Jump(e) => (from, to) = (to, e.to),
                Term::Exit | Term::Unreachable | Term::Ret(_) => return true,
                Term::Branch { .. } => return false,
            }
        }
        false
    }

    /// Whether the branch that ends `b` lets lanes run apart on two sides.
    fn parts(&self, b: BlockId) -> bool {
        match &self.f.blocks[b].term {
            Term::Branch { then, els, .. } => {
                self.body.is_divergent(b)
                    && self.flat[then.to].is_none()
                    && self.flat[els.to].is_none()
                    && !self.arm_just_leaves(b, then.to)
                    && !self.arm_just_leaves(b, els.to)
            }
            _ => false,
        }
    }

    /// Most instructions that are predicated rather than branched around, where lanes may part and
    /// where not.
    const FLAT_DIVERGENT: usize = 6;
    const FLAT_UNIFORM: usize = 2;
    /// The same of moves on the way round of a loop that all lanes leave together: they are executed
    /// anyway.
    const FLAT_ROUND: usize = 8;

    /// Decides which arms are executed under their condition instead of being branched to.
    fn decide_flat(&mut self) {
        let mut preds = table(self.f, 0u32);
        for &b in &self.f.layout {
            self.f.blocks[b].term.successors().for_each(|s| preds[s] += 1);
        }
        let mut lines = Vec::new();
        for &b in &self.f.layout {
            let Term::Branch { then, els, .. } = &self.f.blocks[b].term else { continue };
            let (t, e) = (then.to, els.to);
            // The arm does nothing but go round, in a loop that the other side leaves.
            let goes_round = |arm: BlockId| {
                let block = &self.f.blocks[arm];
                let again = |e: &ir::Edge| self.is_inside(b, self.heads[e.to]);
                block.body.is_empty() && matches!(&block.term, Term::Jump(e) if again(e))
            };
            let round = !self.body.is_divergent(b) && (goes_round(t) || goes_round(e));
            let limit = match (round, self.body.is_divergent(b)) {
                (true, _) => Self::FLAT_ROUND,
                (_, true) => Self::FLAT_DIVERGENT,
                _ => Self::FLAT_UNIFORM,
            };
            let leaves = |arm: BlockId| match &self.f.blocks[arm].term {
                Term::Jump(onward) => self.edge_leaves(b, arm, onward.to),
                Term::Exit | Term::Ret(_) => true,
                _ => false,
            };
            let goes_to = |arm: BlockId, to: BlockId| matches!(&self.f.blocks[arm].term, Term::Jump(onward) if onward.to == to);
            let condition = self.body.condition(b);
            // Where control leaves the construct is no arm.
            let region = if self.f.blocks[b].merge == Merge::None { self.inside[b] } else { self.heads[b] };
            let ends = self.innermost_loop(b).map(|c| c.kind);
            let is_arm = |arm: BlockId| {
                let end = matches!(ends, Some(Merge::Loop { exit, cont }) if arm == exit || arm == cont);
                self.inside[arm] == region && !end
            };
            let mut short = |arm: BlockId| {
                let simple = preds[arm] == 1
                    && is_arm(arm)
                    && self.heads[arm] == NONE
                    && self.f.blocks[arm].body.len() <= limit
                    && !self.body.is_empty(arm);
                if !simple {
                    return None;
                }
                lines.clear();
                self.body.emit(arm, &mut lines);
                let ok = lines.len() <= limit && lines.iter().all(|l| can_predicate(&l.inst, condition));
                ok.then(|| std::mem::take(&mut lines))
            };
            // One arm that leaves, or that meets the other side right after; or both, which meet.
            // When both sides leave, a predicated exit out does.
            let arms = if round {
                if goes_round(t) { [short(t), None] } else { [None, short(e)] }
            } else if self.arm_just_leaves(b, t) || self.arm_just_leaves(b, e) {
                [None, None]
            } else if leaves(t) {
                [short(t), None]
            } else if leaves(e) {
                [None, short(e)]
            } else if goes_to(t, e) {
                [short(t), None]
            } else if goes_to(e, t) {
                [None, short(e)]
            } else {
                let meet = matches!(&self.f.blocks[t].term, Term::Jump(onward) if goes_to(e, onward.to));
                // A side without instructions is as good as the place where it meets the other.
                let nothing =
                    |arm: BlockId| self.body.is_empty(arm) && self.heads[arm] == NONE && is_arm(arm);
                if meet && nothing(e) {
                    [short(t), None]
                } else if meet && nothing(t) {
                    [None, short(e)]
                } else {
                    match if meet { (short(t), short(e)) } else { (None, None) } {
                        (Some(x), Some(y)) if x.len() + y.len() <= limit => [Some(x), Some(y)],
                        _ => [None, None],
                    }
                }
            };
            for (arm, lines) in [t, e].into_iter().zip(arms) {
                if lines.is_some() {
                    self.flat[arm] = lines;
                }
            }
        }
    }

    /// A loop pushes its exit or its continue block where only some of the lanes that run may go
    /// there.
    fn decide_loops(&mut self) {
        for &b in &self.f.layout {
            let Some(n) = self.loop_of(b) else { continue };
            let c = self.constructs[n as usize];
            let Merge::Loop { exit, cont } = c.kind else { continue };
            let term = &self.f.blocks[b].term;
            if !term.successors().any(|to| to == exit || to == cont) {
                continue;
            }
            let branches = matches!(term, Term::Branch { .. }) && self.body.is_divergent(b);
            let apart = self.construct(self.inside[b]).is_some_and(|i| i.apart);
            // When one side of a branch leaves, all who remain take the other together.
            let closing = term.successors().all(|to| to == cont || self.arm_just_leaves(b, to));
            for to in term.successors() {
                let c = &mut self.constructs[n as usize];
                c.stacked |= to == exit && (apart || branches);
                c.stacked_cont |= to == cont && (apart || (branches && !closing));
            }
        }
        // Lanes that wait at the continue block are on the stack, so nobody may leave by a plain
        // branch.
        for c in &mut self.constructs {
            c.stacked |= c.stacked_cont;
        }
        for c in &mut self.constructs {
            c.stacked &= self.placed.contains(c.end());
        }
        if self.f.ops.meets(OpSet::new(&[ir::Op::LdLock])) {
            self.find_retries();
        }
    }

    fn decide_ifs(&mut self) {
        for n in 0..self.constructs.len() {
            let c = self.constructs[n];
            let Merge::If { join } = c.kind else { continue };
            if !self.placed.contains(join) || !self.parts(c.header) {
                continue;
            }
            // Seen from the header, which is outside: what the join does when everybody is there.
            let onward = self.exit(c.header, join);
            self.constructs[n].stacked = matches!(onward, BlockExit::Goto(_) | BlockExit::Again(_));
        }
    }

    fn write(&self, start: Label, code: &mut Code) {
        let reachable = self.reachable();
        let order: Vec<BlockId> = self.f.layout.iter().copied().filter(|&b| reachable.contains(b)).collect();
        let labels = self.labels(&order, code);
        code.bind(start);
        for (k, &b) in order.iter().enumerate() {
            let block = &self.f.blocks[b];
            let loc = block.term_loc;
            let line = |inst: MInst| Line::made(Made::Flow, inst, loc);
            if let Some(l) = labels.first[b] {
                code.bind(l);
            }
            self.open_loop(b, &labels, code);
            let mut out = MBlock { library: self.f.library, ..Default::default() };
            self.body.emit(b, &mut out.body);
            if let Some(&Construct { kind: Merge::If { join }, stacked: true, .. }) =
                self.construct(self.heads[b])
            {
                let join = match self.exit(b, join) {
                    BlockExit::Again(to) => labels.again(to),
                    BlockExit::Goto(to) => labels.first(to),
                    _ => labels.first(join),
                };
                out.tail.push(line(MInst::new(Op::Ssy).arg(join)));
            }
            if let Term::Branch { not, then, els, .. } = &block.term {
                let condition = Pred { num: self.body.condition(b), not: *not };
                for (arm, guard) in [(then.to, condition), (els.to, !condition)] {
                    for l in self.flat[arm].iter().flatten() {
                        out.body.push(Line { inst: l.inst.clone().guarded(guard), ..l.clone() });
                    }
                }
            }
            let next = order.get(k + 1).copied();
            let falls_to = |exit: BlockExit| matches!(exit, BlockExit::Goto(to) if Some(to) == next);
            let (first, rest) = self.exits(b);
            let rest = match first {
                None => rest,
                Some((cond, exit)) => {
                    // The predicated instruction is the one that does not fall through.
                    let swap = match (self.spin_lock(exit), self.spin_lock(rest)) {
                        (false, false) => !special(exit) && special(rest),
                        (_, rest) => rest,
                    };
                    let (guard, exit, rest) =
                        if falls_to(exit) || swap { (!cond, rest, exit) } else { (cond, exit, rest) };
                    out.tail.push(line(labels.jump(exit, guard)));
                    rest
                }
            };
            if falls_to(rest) {
                out.falls = true;
            } else {
                out.tail.push(line(labels.jump(rest, Pred::T)));
            }
            out.parts = matches!(block.term, Term::Branch { .. }) && self.body.is_divergent(b);
            code.blocks.push(out);
        }
    }

    fn labels(&self, order: &[BlockId], code: &mut Code) -> Labels {
        let (mut first, mut again) = (table(self.f, None), table(self.f, None));
        for &b in order {
            first[b] = Some(code.new_label());
            let heads_loop = matches!(self.f.blocks[b].merge, Merge::Loop { .. });
            again[b] = if heads_loop { Some(code.new_label()) } else { first[b] };
        }
        Labels { first, again }
    }

    /// What a loop that begins with a block pushes: its exit once, its continue block for each
    /// iteration.
    fn open_loop(&self, b: BlockId, labels: &Labels, code: &mut Code) {
        let Some(&Construct { kind: Merge::Loop { exit, cont }, stacked, stacked_cont, spin_lock, .. }) =
            self.construct(self.heads[b])
        else {
            return;
        };
        let loc = self.f.blocks[b].term_loc;
        let push = |inst: MInst| MBlock {
            tail: vec![Line::made(Made::Flow, inst, loc)],
            falls: true,
            library: self.f.library,
            ..MBlock::default()
        };
        if stacked {
            let op = if spin_lock { Op::Ssy } else { Op::Pbk };
            code.blocks.push(push(MInst::new(op).arg(labels.first(exit))));
        }
        if let Some(l) = labels.again[b] {
            code.bind(l);
        }
        if stacked_cont {
            let cont = if self.only_repeats(cont, b) { labels.again(b) } else { labels.first(cont) };
            code.blocks.push(push(MInst::new(Op::Pcnt).arg(cont)));
        }
    }

    /// Whether an exit goes round in a loop that waits for a lock.
    fn spin_lock(&self, exit: BlockExit) -> bool {
        matches!(exit, BlockExit::Again(header) if self.construct(self.heads[header]).is_some_and(|c| c.spin_lock))
    }

    /// Whether a loop's continue block does nothing but begin the next iteration.
    fn only_repeats(&self, cont: BlockId, header: BlockId) -> bool {
        let jumps_back = matches!(&self.f.blocks[cont].term, Term::Jump(e) if e.to == header);
        cont == header || jumps_back && self.body.is_empty(cont) && self.heads[cont] == NONE
    }

    /// The conditional exit out of a block, if there is one, and the unconditional one.
    fn exits(&self, b: BlockId) -> (Option<(Pred, BlockExit)>, BlockExit) {
        match &self.f.blocks[b].term {
            Term::Jump(e) => (None, self.exit_from(b, e.to)),
            Term::Exit | Term::Unreachable => (None, BlockExit::Exit),
            Term::Ret(_) => (None, self.ret()),
            Term::Branch { not, then, els, .. } => {
                let (t, e) = (self.exit_from(b, then.to), self.exit_from(b, els.to));
                if t == e {
                    return (None, t);
                }
                (Some((Pred { num: self.body.condition(b), not: *not }, t)), e)
            }
        }
    }

    /// The exit from a block, which for the branch of an `if` lies inside of it.
    fn exit_from(&self, b: BlockId, to: BlockId) -> BlockExit {
        if let Some(&Construct { kind: Merge::If { join }, stacked: true, .. }) =
            self.construct(self.heads[b])
            && join == to
        {
            return BlockExit::Sync;
        }
        if self.flat[to].is_some() {
            return self.exits(to).1;
        }
        // Through empty blocks inside the construct to its join.
        self.exit(b, to)
    }

    fn reachable(&self) -> EntitySet<BlockId> {
        let mut seen = EntitySet::with_capacity(self.f.blocks.len());
        let mut worklist = vec![self.f.entry()];
        while let Some(b) = worklist.pop() {
            if !seen.insert(b) {
                continue;
            }
            let (first, rest) = self.exits(b);
            for exit in first.map(|(_, w)| w).into_iter().chain([rest]) {
                if let BlockExit::Goto(to) | BlockExit::Again(to) = exit {
                    worklist.push(to);
                }
            }
            match self.construct(self.heads[b]) {
                Some(&Construct { kind: Merge::If { join }, stacked: true, .. }) => {
                    if let BlockExit::Goto(to) | BlockExit::Again(to) = self.exit(b, join) {
                        worklist.push(to);
                    }
                }
                Some(&Construct { kind: Merge::Loop { exit, cont }, stacked, stacked_cont, .. }) => {
                    if stacked {
                        worklist.push(exit);
                    }
                    if stacked_cont && !self.only_repeats(cont, b) {
                        worklist.push(cont);
                    }
                }
                _ => {}
            }
        }
        seen
    }
}

/// Whether an instruction may be executed under a predicate, which it leaves alone.
fn can_predicate(m: &MInst, condition: u8) -> bool {
    let mut writes_it = false;
    writes(m, |r| writes_it |= r == Resource::Pred(condition));
    let flow = matches!(unit(m.op), Unit::Flow | Unit::Texture);
    m.guard.is_true() && !m.sync && !writes_it && !flow && !matches!(m.op, Op::Vote | Op::Shfl | Op::Fswz)
}

/// Whether a exit is one instruction that needs no target block: better predicated than jumped
/// over.
fn special(exit: BlockExit) -> bool {
    exit.leaves() || exit == BlockExit::Sync
}
