//! Compare chains: AND and OR of the masks of two comparisons become one comparison that combines
//! its result with the predicate of the other (`SETP .. AND P`).
//!
//! ```text
//! set.eq u32 u32 %r1 %a %b       set.eq pred u32 %p1 %a %b
//! set.lt u32 u32 %r2 %c %d
//! and u32 %r3 %r1 %r2       ->   set.lt.and u32 u32 %r3 %c %d %p1
//! ```
//!
//! So a conjunction of n comparisons takes n instructions, whatever it is for. Safe where the masks
//! have no other reader: all that moves is a comparison, from its place to where its mask is joined
//! with the other, and not far.

use super::Ctx;
use super::rewrite::{UseCounts, count_uses, is_scalar, scalar_def_by};
use crate::ir::*;
use cranelift_entity::SecondaryMap;

/// Instructions that a comparison may move by: its operands live so much longer.
const FAR: u32 = 16;
/// Predicates that are followed back to the comparison that takes no other along.
const CHAIN: usize = 16;

pub(crate) fn run(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    let mask = |s: &Src| scalar_def_by(f, s, &[Op::Set]).is_some_and(|d| d.ty != Type::Pred);
    let logic = |i: &Inst| matches!(i.op, Op::And | Op::Or) && i.srcs.iter().all(mask);
    if !f.insts_in_order().any(|(_, i)| logic(&f.insts[i])) {
        return false;
    }
    let mut masks =
        Masks { uses: count_uses(f), place: SecondaryMap::with_capacity(f.insts.len()), now: 0, first: 0 };
    let mut joined = 0;
    let mut body = Vec::new();
    for n in 0..f.layout.len() {
        let b = f.layout[n];
        masks.first = masks.now + 1;
        body.clear();
        body.append(&mut f.blocks[b].body);
        let mut out = Vec::with_capacity(body.len());
        for &i in &body {
            masks.now += 1;
            masks.place[i] = masks.now;
            if let Some(before) = masks.join(f, i) {
                joined += 1;
                out.extend(before);
            }
            out.push(i);
        }
        f.blocks[b].body = out;
    }
    ctx.count("compare_chain: joined", joined);
    joined > 0
}

struct Masks {
    uses: UseCounts,
    /// Places of the instructions in the blocks seen so far, from 1.
    place: SecondaryMap<InstId, u32>,
    /// The last one's, and that of the first of its block.
    now: u32,
    first: u32,
}

impl Masks {
    /// The comparison of the same block that a predicate or mask without another reader comes from.
    fn comparison(&self, f: &Function, s: &Src) -> Option<InstId> {
        // What this pass makes has one reader.
        let v = s.as_val().filter(|&v| s.is_plain_val() && self.uses.get(v).is_none_or(|&n| n == 1))?;
        let Def::Inst(i) = f.values[v].def else { return None };
        let d = &f.insts[i];
        (d.op == Op::Set && self.place[i] >= self.first && is_scalar(f, d) && d.compares_at_once())
            .then_some(i)
    }

    /// Joins the masks that an instruction reads, if one of their comparisons can take the other
    /// along; gives what is to stand before the instruction.
    fn join(&mut self, f: &mut Function, at: InstId) -> Option<Option<InstId>> {
        let inst = &f.insts[at];
        let logic = match inst.op {
            Op::And => Logic::And,
            Op::Or => Logic::Or,
            _ => return None,
        };
        let word = |i: &Inst| matches!(i.ty, Type::U32 | Type::S32);
        if !word(inst) || !is_scalar(f, inst) {
            return None;
        }
        let mask = |s: &Src| self.comparison(f, s).filter(|&i| word(&f.insts[i]));
        let (a, b) = (mask(&inst.srcs[0])?, mask(&inst.srcs[1])?);
        let (later, earlier) = if self.place[a] > self.place[b] { (a, b) } else { (b, a) };
        let near = |i: InstId| self.now - self.place[i] <= FAR;
        let alone = |i: &InstId| f.insts[*i].srcs.len() == 2 && near(*i);
        if let Some(moved) = [later, earlier].into_iter().find(alone) {
            let other = if moved == later { earlier } else { later };
            let p = as_predicate(f, other);
            let mut new = f.insts[moved].clone();
            take_along(&mut new, p, logic);
            put(f, at, new);
            return Some(None);
        }
        // Both take others along: the first of the later ones takes the other mask.
        let mut first = later;
        for _ in 0..CHAIN {
            let Some(p) = f.insts[first].srcs.get(2).copied() else { break };
            let same = f.insts[first].logic == logic;
            first = self.comparison(f, &p).filter(|_| same)?;
        }
        if f.insts[first].srcs.len() > 2 || !near(later) {
            return None;
        }
        let mut last = f.insts[later].clone();
        if self.place[first] > self.place[earlier] {
            let p = as_predicate(f, earlier);
            take_along(&mut f.insts[first], p, logic);
            put(f, at, last);
            return Some(None);
        }
        // It was made too early: it moves, too, if nothing else stands between.
        if last.srcs[2].as_val() != f.insts[first].dsts.first().copied() || !near(first) {
            return None;
        }
        let p = as_predicate(f, earlier);
        let moved = f.new_value(Class::Pred);
        let mut begin = f.insts[first].clone();
        begin.dsts.clear();
        take_along(&mut begin, p, logic);
        let begin = f.make(begin.dst(moved));
        self.place[begin] = self.now;
        last.srcs[2] = Src::val(moved);
        put(f, at, last);
        Some(Some(begin))
    }
}

fn take_along(set: &mut Inst, p: ValueId, logic: Logic) {
    set.srcs.push(Src::val(p));
    set.logic = logic;
}

/// Puts a comparison into the place of the logic. Where it was, nobody reads it any more.
fn put(f: &mut Function, at: InstId, mut set: Inst) {
    (set.dsts, set.loc) = (f.insts[at].dsts, f.insts[at].loc);
    f.replace(at, set);
}

/// Makes a comparison give a predicate instead of a mask.
fn as_predicate(f: &mut Function, i: InstId) -> ValueId {
    let p = f.new_value(Class::Pred);
    let mut set = f.insts[i].clone();
    set.ty = Type::Pred;
    set.dsts.clear();
    f.replace(i, set.dst(p));
    p
}
