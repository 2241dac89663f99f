//! Copy propagation: reads of a copy become reads of the original.
//!
//! ```text
//! mov u32 %r1 %r0
//! mov u32 %r2 0x10            mov u32 %r2 0x10
//! add u32 %r3 %r1 %r2     ->  add u32 %r3 %r0 0x10
//! ```
//!
//! A copy of values has no readers then and goes, so that whoever counts the original's readers
//! counts right. Also block parameters that get the same value, or themselves, from every edge, and
//! those that get what another of the block gets; one that gets the same immediate from every edge
//! becomes a copy of it at the beginning of its block. Immediates go into instruction operands only:
//! addresses, guards and edge arguments name values. Before legalisation every operand may be an
//! immediate; after it, [`super::operand`] decides instead, and this pass leaves immediates alone.
//!
//! Safe because in SSA form a value never changes, and the original's definition dominates the
//! copy's, hence every read of the copy. Guarded copies are left: their destination is undefined
//! where they did not execute.

use super::{Ctx, Stage, rewrite};
use crate::ir::*;
use arrayvec::ArrayVec;
use cranelift_entity::SecondaryMap;

/// What a value is a copy of: nothing, a value, or an immediate.
#[derive(Clone, Copy, PartialEq)]
enum Origin {
    Itself,
    Value(ValueId),
    Imm(u32),
}

struct Copies {
    of: SecondaryMap<ValueId, Origin>,
    /// Some value is a copy of something.
    any: bool,
    found: u64,
}

impl Copies {
    fn set(&mut self, f: &Function, v: ValueId, origin: Origin) {
        if !self.any {
            self.of.resize(f.values.len());
            self.any = true;
        }
        self.of[v] = origin;
    }

    /// What stands for a value: a parameter may be a copy of a copy that was found later.
    fn value(&mut self, v: ValueId) -> ValueId {
        let w = self.original(v);
        self.found += u64::from(w != v);
        w
    }

    /// What a value is a copy of in the end.
    fn original(&self, mut v: ValueId) -> ValueId {
        while let Origin::Value(w) = self.of[v] {
            v = w;
        }
        v
    }

    /// An operand that is a copy of an immediate becomes it.
    fn immediate(&mut self, s: &mut Src) {
        let kind = match s.kind {
            SrcKind::Val(v) => match self.of[v] {
                Origin::Imm(x) => SrcKind::Imm(x),
                _ => return,
            },
            SrcKind::Pair([lo, hi]) => match (self.of[lo], self.of[hi]) {
                (Origin::Imm(lo), Origin::Imm(hi)) => SrcKind::Imm64([lo, hi]),
                _ => return,
            },
            _ => return,
        };
        s.kind = kind;
        self.found += 1;
    }
}

pub(super) fn run(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    let mut copies = Copies { of: SecondaryMap::with_default(Origin::Itself), any: false, found: 0 };
    trivial_params(f, &mut copies);
    let mut removed = if copies.any { constant_params(f, &mut copies) } else { 0 };
    let immediates = ctx.stage != Stage::Legal;
    for n in 0..f.layout.len() {
        let b = f.layout[n];
        let is_copy = |&i: &InstId| matches!(f.insts[i].op, Op::Mov | Op::Pcopy);
        // In front of the first copy there is nothing to do.
        let first = if copies.any { Some(0) } else { f.blocks[b].body.iter().position(is_copy) };
        let Some(first) = first else { continue };
        let mut body = std::mem::take(&mut f.blocks[b].body);
        rewrite::retain(&mut body, first, |i| {
            let inst = &mut f.insts[i];
            if copies.any {
                let mut reads_copy = false;
                inst.for_uses(|v| reads_copy |= !matches!(copies.of[v], Origin::Itself));
                if reads_copy {
                    inst.map_uses(|v| copies.value(v));
                    if immediates && takes_immediates(inst) {
                        inst.srcs.iter_mut().for_each(|s| copies.immediate(s));
                    }
                }
            }
            // Behind legalisation parallel copies make tuples.
            let copies_here = inst.op == Op::Mov || inst.op == Op::Pcopy && immediates;
            if !copies_here || inst.guard.is_some() {
                return true;
            }
            record(f, i, &mut copies);
            let inst = &f.insts[i];
            let dead = inst.dsts.iter().all(|&d| matches!(copies.of[d], Origin::Value(_)));
            if dead {
                removed += 1;
                let values = &mut f.values;
                inst.for_defs(|v| values[v].def = Def::None);
            }
            !dead
        });
        let block = &mut f.blocks[b];
        block.body = body;
        if copies.any {
            block.term.map_uses(|v| copies.value(v));
        }
    }
    ctx.count("copy_prop: uses", copies.found);
    ctx.count("copy_prop: copies", removed);
    copies.found > 0 || removed > 0
}

/// Operations whose operands are not machine operands of the ordinary kind keep their values.
pub(super) fn takes_immediates(inst: &Inst) -> bool {
    inst.ext.is_none() && !matches!(inst.op, Op::Pcopy | Op::Call | Op::Bar | Op::Vote | Op::Quadop)
}

fn record(f: &Function, i: InstId, copies: &mut Copies) {
    let inst = &f.insts[i];
    match (inst.op, inst.srcs.as_slice()) {
        (Op::Pcopy, srcs) if srcs.len() == inst.dsts.len() => {
            srcs.iter().zip(inst.dsts.chunks(1)).for_each(|(src, d)| record_one(f, inst, src, d, copies));
        }
        (Op::Mov, [src]) => record_one(f, inst, src, &inst.dsts, copies),
        _ => {}
    }
}

/// Notes that results of a copy are one of its operands.
fn record_one(f: &Function, inst: &Inst, src: &Src, dsts: &[ValueId], copies: &mut Copies) {
    if src.mods != SrcMods::default() {
        return;
    }
    match (src.kind, dsts) {
        // An immediate is no predicate operand.
        (SrcKind::Imm(x), &[d]) if inst.ty != Type::Pred => copies.set(f, d, Origin::Imm(x)),
        (SrcKind::Imm64([lo, hi]), &[a, b]) => {
            copies.set(f, a, Origin::Imm(lo));
            copies.set(f, b, Origin::Imm(hi));
        }
        (_, dsts) if src.values().len() == dsts.len() => {
            for (&d, &v) in dsts.iter().zip(src.values()) {
                // A copy of an immediate is found as such through the value that holds it.
                if f.values[d].class == f.values[v].class {
                    let origin = match copies.of[v] {
                        Origin::Itself => Origin::Value(v),
                        known => known,
                    };
                    copies.set(f, d, origin);
                }
            }
        }
        _ => {}
    }
}

/// Parameters whose arguments are all one value or immediate (or the parameter itself) are copies of
/// it. Arguments are read through the copies found so far: along the layout one round finds all, a
/// loop may need another.
fn trivial_params(f: &Function, copies: &mut Copies) {
    let mut incoming: Vec<(BlockId, &Edge)> = Vec::new();
    for &b in &f.layout {
        incoming.extend(f.blocks[b].term.edges().filter(|e| !e.args.is_empty()).map(|e| (e.to, e)));
    }
    if incoming.is_empty() {
        return;
    }
    let position = f.positions();
    incoming.sort_by_key(|&(to, _)| position[to]);
    let mut changed = true;
    while changed {
        changed = false;
        for edges in incoming.chunk_by(|a, b| a.0 == b.0) {
            for (k, &p) in f.blocks[edges[0].0].params.iter().enumerate() {
                if copies.of[p] != Origin::Itself {
                    continue;
                }
                let args = || edges.iter().map(|(_, e)| copies.original(e.args[k])).filter(|&a| a != p);
                let Some(first) = args().next() else { continue };
                let origin = if args().all(|a| a == first) {
                    Origin::Value(first)
                } else if let Some(x) = constant(f, copies, first)
                    && args().all(|a| constant(f, copies, a) == Some(x))
                {
                    Origin::Imm(x)
                } else {
                    continue;
                };
                copies.set(f, p, origin);
                changed = true;
            }
            changed |= equal_params(f, edges, copies);
        }
    }
    for (to, _) in incoming {
        for &p in &f.blocks[to].params {
            if let Origin::Value(v) = copies.of[p] {
                copies.of[p] = Origin::Value(copies.original(v));
            }
        }
    }
}

/// The immediate that a value is.
fn constant(f: &Function, copies: &Copies, v: ValueId) -> Option<u32> {
    match copies.of[v] {
        Origin::Imm(x) => Some(x),
        _ => rewrite::scalar_def_by(f, &Src::val(v), &[Op::Mov])?.srcs[0].as_imm(),
    }
}

/// Makes parameters that are immediates copies of these: readers that take no immediate name a
/// value.
fn constant_params(f: &mut Function, copies: &mut Copies) -> u64 {
    let known = |p: ValueId| match copies.of[p] {
        Origin::Imm(x) => Some(x),
        _ => None,
    };
    let mut found: Vec<(BlockId, ValueId, u32)> = Vec::new();
    for &b in &f.layout {
        found.extend(f.blocks[b].params.iter().filter_map(|&p| Some((b, p, known(p)?))));
    }
    if found.is_empty() {
        return 0;
    }
    rewrite::remove_params(f, |p| known(p).is_none());
    for here in found.chunk_by(|a, b| a.0 == b.0) {
        let copy = |&(_, p, x): &(BlockId, ValueId, u32)| {
            copies.of[p] = Origin::Itself;
            f.make(Inst::new(Op::Mov, f.class(p).move_type()).src(Src::imm(x)).dst(p))
        };
        let made: Vec<InstId> = here.iter().map(copy).collect();
        f.blocks[here[0].0].body.splice(0..0, made);
    }
    found.len() as u64
}

/// Parameters before one that are compared with it.
const BEFORE: usize = 8;

/// Parameters of a block that get the same as one before from every edge, or each itself, are
/// copies of that.
fn equal_params(f: &Function, edges: &[(BlockId, &Edge)], copies: &mut Copies) -> bool {
    let params = &f.blocks[edges[0].0].params;
    if params.len() < 2 {
        return false;
    }
    // Nothing for what is undefined.
    let argument = |copies: &Copies, e: &Edge, k: usize| {
        let a = copies.original(e.args[k]);
        if a == params[k] {
            return Some(Origin::Itself);
        }
        match rewrite::scalar_def_by(f, &Src::val(a), &[Op::Undef]) {
            Some(_) => None,
            None => Some(constant(f, copies, a).map_or(Origin::Value(a), Origin::Imm)),
        }
    };
    let mut changed = false;
    // What the parameters before one get from the first edge: seldom the same.
    let mut before: ArrayVec<Option<Origin>, BEFORE> = ArrayVec::new();
    for (k, &p) in params.iter().enumerate() {
        let first = argument(copies, edges[0].1, k);
        let equal = |&j: &usize| {
            f.class(params[j]) == f.class(p)
                && edges[1..].iter().all(|(_, e)| argument(copies, e, j) == argument(copies, e, k))
        };
        let start = k - before.len();
        if copies.of[p] == Origin::Itself
            && let Some(j) = (start..k).filter(|j| before[j - start] == first).find(equal)
        {
            copies.set(f, p, Origin::Value(copies.original(params[j])));
            changed = true;
        }
        if before.is_full() {
            before.remove(0);
        }
        before.push(first);
    }
    changed
}
