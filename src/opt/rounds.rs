//! What is known of a loop's values in one of its rounds, when its counter is: which instructions
//! are constants or copies there, which branches are decided, which blocks are reached.
//!
//! ```text
//! b1(%r1): ..                             in the round with 4 for %r1:
//!     and u32 %r2 %r1 0x3                 0
//!     set.eq pred u32 %p3 %r2 0x0         true
//!     sel u32 %r4 %r8 %r9 %p3             a copy of %r8
//!     mul u32 %r5 %r4 %r7                 an instruction
//! ```
//!
//! [`super::unroll`] asks twice: for what copies of a loop would cost, and, when they are worth it,
//! for what stands in each of them. So estimate and copies cannot differ, and what folding would
//! remove is never made.

use super::cost::{BRANCH, Walk};
use super::fold;
use super::rewrite::{imm_src, is_scalar};
use super::unroll_copy::Copies;
use crate::ir::*;
use cranelift_entity::{EntitySet, SecondaryMap};

/// What a value is in a round.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum Known {
    /// What its instruction gives.
    #[default]
    Itself,
    Imm(u32),
    /// Another value of the same round, or from outside the loop.
    Copy(ValueId),
}

/// A loop that goes round in one place, and may be left at its own level.
#[derive(Clone)]
pub(super) struct Loop {
    /// Its blocks in the order of the layout, the header first.
    pub blocks: Vec<BlockId>,
    /// Where it leads to when it is left.
    pub exit: BlockId,
    pub cont: BlockId,
    /// The block that enters it.
    pub from: BlockId,
    /// The block that goes round.
    pub latch: BlockId,
    /// The blocks that all lanes of a round come to.
    pub sure: Vec<BlockId>,
    /// It is left in more than one place.
    pub breaks: bool,
    /// Some lanes go on to the next round early.
    pub skips: bool,
    /// There are loops in it.
    pub nest: bool,
}

impl Loop {
    pub(super) fn header(&self) -> BlockId {
        self.blocks[0]
    }
}

/// How a round ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    Again,
    Left,
}

/// What rounds cost, written one behind the other.
pub(super) struct Tally {
    pub walk: Walk,
    /// Instructions that the loop executes as it is.
    pub executed: u64,
    /// More than so many copied instructions are not wanted.
    pub most: u32,
    /// The first round: what no round changes is computed in it, for all.
    pub first: bool,
    /// Private arrays are taken for registers; and whether none of their elements has an address
    /// that is not known.
    pub private: Option<bool>,
}

impl Tally {
    /// A count that has not begun, in the tables of a walk.
    pub(super) fn new(most: u32, mut walk: Walk) -> Tally {
        walk.restart();
        Tally { walk, executed: 0, most, first: true, private: None }
    }
}

/// Facts of one round at a time.
pub(super) struct Rounds<'a> {
    /// Places of blocks in the layout.
    position: &'a SecondaryMap<BlockId, u32>,
    /// Values that something else than an address reads.
    read: &'a EntitySet<ValueId>,
    /// Loops by their headers.
    loops: &'a SecondaryMap<BlockId, Option<Loop>>,
    known: SecondaryMap<ValueId, Known>,
    /// Values that may not be the same in all rounds.
    varies: EntitySet<ValueId>,
    reached: SecondaryMap<BlockId, bool>,
    /// All lanes of the round come to a block.
    sure: SecondaryMap<BlockId, bool>,
    decided: SecondaryMap<BlockId, Option<bool>>,
    /// What the parameters of the header are in the next round.
    next: Vec<Known>,
    /// Instructions that may still be looked at.
    pub steps: usize,
    /// Tables for walks.
    walk: Walk,
    /// Tables for copies.
    pub copies: Copies,
}

impl<'a> Rounds<'a> {
    pub(super) fn new(
        f: &Function,
        position: &'a SecondaryMap<BlockId, u32>,
        read: &'a EntitySet<ValueId>,
        loops: &'a SecondaryMap<BlockId, Option<Loop>>,
        steps: usize,
    ) -> Rounds<'a> {
        let mut known = SecondaryMap::new();
        known.resize(f.values.len());
        let varies = EntitySet::with_capacity(f.values.len());
        let (reached, sure, decided) = (f.block_table(), f.block_table(), f.block_table());
        let (walk, copies) = (Walk::default(), Copies::default());
        Rounds {
            position,
            read,
            loops,
            known,
            varies,
            reached,
            sure,
            decided,
            next: Vec::new(),
            steps,
            walk,
            copies,
        }
    }

    /// The tables of a walk; [`end_walk`](Self::end_walk) takes them back.
    pub(super) fn begin_walk(&mut self) -> Walk {
        std::mem::take(&mut self.walk)
    }

    pub(super) fn end_walk(&mut self, walk: Walk) {
        self.walk = walk;
    }

    /// What a value is in the round.
    pub(super) fn of(&self, v: ValueId) -> Known {
        self.known[v]
    }

    pub(super) fn reached(&self, b: BlockId) -> bool {
        self.reached[b]
    }

    /// Whether the first edge of a block's branch is taken, if that is known.
    pub(super) fn decided(&self, b: BlockId) -> Option<bool> {
        self.decided[b]
    }

    /// A value as another value or a constant, whatever says so.
    fn resolve(&self, f: &Function, v: ValueId) -> Known {
        match self.known[v] {
            Known::Itself => constant(f, v).map_or(Known::Copy(v), Known::Imm),
            known => known,
        }
    }

    fn imm(&self, f: &Function, v: ValueId) -> Option<u32> {
        match self.resolve(f, v) {
            Known::Imm(x) => Some(x),
            _ => None,
        }
    }

    /// Forgets what is known of a loop's values: outside of it that holds no more.
    pub(super) fn forget(&mut self, f: &Function, l: &Loop) {
        for &b in &l.blocks {
            f.blocks[b].params.iter().for_each(|&p| self.known[p] = Known::Itself);
            for &i in &f.blocks[b].body {
                f.insts[i].for_defs(|d| self.known[d] = Known::Itself);
            }
        }
        f.blocks[l.exit].params.iter().for_each(|&p| self.known[p] = Known::Itself);
    }

    /// Puts a loop in front of its first round.
    pub(super) fn enter(&mut self, f: &Function, l: &Loop) {
        let entering = f.blocks[l.from].term.edges().find(|e| e.to == l.header());
        let args = entering.into_iter().flat_map(|e| &e.args);
        self.next = args.map(|&a| self.resolve(f, a)).collect();
    }

    /// Goes through a round, and says how it ends if that is known: the next one follows.
    pub(super) fn round(&mut self, f: &Function, l: &Loop, mut tally: Option<&mut Tally>) -> Option<End> {
        let header = l.header();
        for (k, &p) in f.blocks[header].params.iter().enumerate() {
            // Copies of values of the round before are values of their own here.
            let known = self.next.get(k).copied().unwrap_or_default();
            self.known[p] = if matches!(known, Known::Imm(_)) { known } else { Known::Itself };
            self.varies.insert(p);
        }
        for &b in &l.blocks {
            self.reached[b] = false;
            self.decided[b] = None;
            // Where lanes may go on to the next round early, not all come to what lies behind.
            self.sure[b] = false;
        }
        l.sure.iter().for_each(|&b| self.sure[b] = true);
        self.reached[header] = true;
        // None of what leaves it is known to do that, or not to.
        let mut unknown = true;
        let mut at = 0;
        while let Some(&b) = l.blocks.get(at) {
            at += 1;
            if !self.reached[b] {
                continue;
            }
            let inner = self.loops[b].as_ref().filter(|i| b != header && i.header() == b);
            if b != header && matches!(f.blocks[b].merge, Merge::Loop { .. }) {
                match (&mut tally, inner) {
                    (Some(tally), Some(inner)) if !inner.breaks => {
                        // All its rounds are written out, or nothing is.
                        let inner = inner.clone();
                        let next = std::mem::take(&mut self.next);
                        self.count_rounds(f, &inner, Some(tally))?;
                        self.next = next;
                        at += inner.blocks.len() - 1;
                        // It is left with what its last round knew.
                        self.leave(f, &inner);
                        continue;
                    }
                    (Some(_), _) => return None,
                    // It stays a loop: each of its rounds may bring something else.
                    (None, _) => f.blocks[b].params.iter().for_each(|&p| self.known[p] = Known::Itself),
                }
            }
            self.block(f, b, tally.as_deref_mut())?;
            let cond = match &f.blocks[b].term {
                Term::Branch { cond, not, .. } => self.imm(f, *cond).map(|c| (c & 1 != 0) != *not),
                _ => None,
            };
            self.decided[b] = cond;
            if let (Some(tally), Term::Branch { cond: c, .. }) = (tally.as_deref_mut(), &f.blocks[b].term) {
                tally.executed += 1;
                if cond.is_none() {
                    // Divergent or not, both sides are executed by some warps.
                    tally.walk.branch(Some(*c), BRANCH);
                }
            }
            if self.sure[b] {
                match self.leaves(f, l, b) {
                    Some(true) => return Some(End::Left),
                    Some(false) => unknown = false,
                    None => {}
                }
            }
            self.go_on(f, l, b, tally.as_deref_mut());
        }
        if let Some(tally) = tally {
            tally.executed += u64::from(matches!(f.blocks[l.latch].term, Term::Jump(_)));
            tally.first = false;
        }
        (!unknown).then_some(End::Again)
    }

    /// Whether all lanes leave a loop from a block, if that is known and might be so; a branch that
    /// is decided may lead to where they do, and where else they come from then does not matter.
    fn leaves(&mut self, f: &Function, l: &Loop, b: BlockId) -> Option<bool> {
        let leads_out =
            |to: BlockId| to == l.exit || matches!(&f.blocks[to].term, Term::Jump(e) if e.to == l.exit);
        match &f.blocks[b].term {
            Term::Jump(e) => (e.to == l.exit).then_some(true),
            Term::Branch { then, els, .. } => {
                let (taken, other) = if self.decided[b]? { (then, els) } else { (els, then) };
                if self.position[taken.to] > self.position[b] && taken.to != l.exit {
                    self.sure[taken.to] = true;
                }
                let may = leads_out(taken.to) || leads_out(other.to);
                may.then_some(taken.to == l.exit)
            }
            _ => None,
        }
    }

    /// Counts all rounds of a loop; none if it is not known how many there are, if they are too
    /// many, or if each is like the one before, as far as is known. Gives their number.
    pub(super) fn count_rounds(
        &mut self,
        f: &Function,
        l: &Loop,
        mut tally: Option<&mut Tally>,
    ) -> Option<usize> {
        self.enter(f, l);
        let mut rounds = 0;
        while self.round(f, l, tally.as_deref_mut())? == End::Again {
            rounds += 1;
            if self.repeats(f, l) {
                return None;
            }
        }
        Some(rounds)
    }

    /// Whether the round that follows begins with what the last one began with.
    fn repeats(&self, f: &Function, l: &Loop) -> bool {
        let params = &f.blocks[l.header()].params;
        params.iter().zip(&self.next).all(|(&p, &next)| {
            next == self.known[p] || !matches!(next, Known::Imm(_)) && self.known[p] == Known::Itself
        })
    }

    /// Looks at the instructions of a block.
    fn block(&mut self, f: &Function, b: BlockId, mut tally: Option<&mut Tally>) -> Option<()> {
        let body = &f.blocks[b].body;
        self.steps = self.steps.checked_sub(body.len() + 1)?;
        for &i in body {
            let inst = &f.insts[i];
            let known = self.fold(f, inst);
            if let Some(known) = known {
                self.known[inst.dsts[0]] = known;
            } else {
                inst.for_defs(|d| self.known[d] = Known::Itself);
            }
            let Some(tally) = &mut tally else { continue };
            tally.executed += u64::from(Walk::length(inst));
            let varies = known.is_some() || self.may_vary(inst);
            if varies {
                inst.for_defs(|d| _ = self.varies.insert(d));
            }
            match known {
                Some(Known::Copy(v)) => tally.walk.pass(&inst.dsts, &[v]),
                Some(_) => {}
                None if tally.private.is_some() && is_private(inst) => {
                    tally.private = tally.private.map(|all| all && self.has_known_address(f, inst));
                    tally.walk.skip(inst);
                }
                None if self.is_offset(f, inst) || !varies && !tally.first => tally.walk.skip(inst),
                None => tally.walk.execute(inst),
            }
            if tally.walk.cost.instructions > tally.most {
                return None;
            }
        }
        Some(())
    }

    /// Whether an access is to a place that is known.
    pub(super) fn has_known_address(&self, f: &Function, inst: &Inst) -> bool {
        let known = |m: MemRef| m.base().iter().all(|&v| self.imm(f, v).is_some());
        inst.mem.is_some_and(|m| m.index.is_none() && m.order == Order::Weak && known(m))
    }

    /// Marks where a block leads to, and what it brings.
    fn go_on(&mut self, f: &Function, l: &Loop, b: BlockId, mut tally: Option<&mut Tally>) {
        let taken = self.decided[b];
        for (k, e) in f.blocks[b].term.edges().enumerate() {
            if taken.is_some_and(|then| then != (k == 0)) {
                continue;
            }
            if e.to == l.header() {
                let args: Vec<Known> = e.args.iter().map(|&a| self.resolve(f, a)).collect();
                if let Some(tally) = tally.as_deref_mut() {
                    tally.walk.pass(&f.blocks[e.to].params, &e.args);
                }
                self.next = args;
            } else if self.position[e.to] > self.position[b] && e.to != l.exit {
                self.arrive(f, e);
                if let Some(tally) = tally.as_deref_mut() {
                    tally.walk.pass(&f.blocks[e.to].params, &e.args);
                }
            }
        }
    }

    /// What a loop that has been written out brings to where it leads.
    fn leave(&mut self, f: &Function, inner: &Loop) {
        for &b in &inner.blocks {
            if !self.reached[b] {
                continue;
            }
            for (k, e) in f.blocks[b].term.edges().enumerate() {
                if e.to == inner.exit && self.decided[b].is_none_or(|then| then == (k == 0)) {
                    self.arrive(f, e);
                }
            }
        }
    }

    /// A block is reached along an edge. Where several meet, what all bring is known.
    fn arrive(&mut self, f: &Function, e: &Edge) {
        let first = !std::mem::replace(&mut self.reached[e.to], true);
        for (&p, &a) in f.blocks[e.to].params.iter().zip(&e.args) {
            let brought = self.resolve(f, a);
            if first {
                self.known[p] = brought;
            } else if self.known[p] != brought {
                self.known[p] = Known::Itself;
            }
        }
    }

    /// Whether an instruction gives another value in another round.
    fn may_vary(&self, inst: &Inst) -> bool {
        let mut varies = !inst.is_pure() || inst.guard.is_some();
        inst.for_uses(|v| varies |= self.known[v] != Known::Itself || self.varies.contains(v));
        varies
    }

    /// Whether an instruction only adds a constant to an address, where an access has an offset.
    fn is_offset(&self, f: &Function, inst: &Inst) -> bool {
        let is_imm = |&v: &ValueId| self.imm(f, v).is_some();
        let known = |s: &Src| s.values().iter().all(is_imm);
        inst.op == Op::Add && inst.dsts.iter().all(|&d| !self.read.contains(d)) && inst.srcs.iter().any(known)
    }

    /// What an instruction gives, if it is a constant or another value.
    fn fold(&self, f: &Function, inst: &Inst) -> Option<Known> {
        if inst.srcs.is_empty() || !is_scalar(f, inst) || !inst.is_pure() {
            return None;
        }
        let plain = |n: usize| match inst.srcs[n].kind {
            SrcKind::Val(v) if inst.srcs[n].is_plain_val() => Some(self.resolve(f, v)),
            _ => imm_src(inst, n).map(Known::Imm),
        };
        let imm = |n: usize| match inst.srcs[n].kind {
            SrcKind::Val(v) => inst.src_type(n).modified(self.imm(f, v)?, inst.srcs[n].mods),
            _ => imm_src(inst, n),
        };
        let word = matches!(inst.ty, Type::U32 | Type::S32) && !inst.sat;
        match inst.op {
            Op::Mov if inst.srcs[0].is_plain_val() => return plain(0),
            Op::Sel => return plain(if imm(2)? != 0 { 0 } else { 1 }),
            // What leaves the other operand as it is, or decides alone.
            Op::Add | Op::Sub | Op::Or | Op::Xor | Op::Shl | Op::Shr
                if word && inst.srcs.len() == 2 && imm(1) == Some(0) =>
            {
                return plain(0);
            }
            Op::Add | Op::Or | Op::Xor if word && inst.srcs.len() == 2 && imm(0) == Some(0) => {
                return plain(1);
            }
            Op::Mul if word && imm(1) == Some(1) => return plain(0),
            Op::Mul | Op::And if word && (imm(0) == Some(0) || imm(1) == Some(0)) => {
                return Some(Known::Imm(0));
            }
            _ => {}
        }
        fold::eval_with(inst, imm).map(Known::Imm)
    }
}

/// Whether an instruction reads or writes an element of a private array.
pub(super) fn is_private(inst: &Inst) -> bool {
    matches!(inst.op, Op::Ld | Op::St) && inst.mem.is_some_and(|m| m.space == Space::Local)
}

/// The constant that a value is, wherever it is read.
pub(super) fn constant(f: &Function, v: ValueId) -> Option<u32> {
    let d = f.def_inst(v).filter(|d| d.op == Op::Mov && is_scalar(f, d))?;
    imm_src(d, 0)
}
