//! Copy propagation: reads of a copy become reads of the original.
//!
//! ```text
//! mov u32 %r1 %r0
//! mov u32 %r2 0x10
//! add u32 %r3 %r1 %r2     ->  add u32 %r3 %r0 0x10
//! ```
//!
//! Also block parameters that get the same value, or themselves, from every edge. Immediates go into instruction
//! operands only: addresses, guards and edge arguments name values. Before legalisation every operand may be
//! an immediate; after it, [`super::operand`] decides instead, and this pass leaves immediates alone.
//!
//! Safe because in SSA form a value never changes, and the original's definition dominates the copy's, hence every
//! read of the copy. Guarded copies are left: their destination is undefined where they did not execute.

use super::{Ctx, Stage};
use crate::ir::*;
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
    immediates: bool,
    found: u64,
}

impl Copies {
    fn value(&mut self, v: ValueId) -> ValueId {
        match self.of[v] {
            Origin::Value(w) => {
                self.found += 1;
                w
            }
            _ => v,
        }
    }

    fn src(&mut self, s: &mut Src) {
        for v in s.values_mut() {
            *v = self.value(*v);
        }
        match s.kind {
            SrcKind::Val(v) => {
                if let (true, Origin::Imm(x)) = (self.immediates, self.of[v]) {
                    s.kind = SrcKind::Imm(x);
                    self.found += 1;
                }
            }
            SrcKind::Pair([lo, hi]) => {
                if let (true, Origin::Imm(lo), Origin::Imm(hi)) = (self.immediates, self.of[lo], self.of[hi])
                {
                    s.kind = SrcKind::Imm64([lo, hi]);
                    self.found += 1;
                }
            }
            _ => {}
        }
    }
}

pub fn run(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    let mut copies = Copies {
        of: SecondaryMap::with_default(Origin::Itself),
        immediates: ctx.stage != Stage::Legal,
        found: 0,
    };
    copies.of.resize(f.values.len());
    trivial_params(f, &mut copies);
    for n in 0..f.layout.len() {
        let b = f.layout[n];
        for k in 0..f.blocks[b].body.len() {
            let i = f.blocks[b].body[k];
            let inst = &mut f.insts[i];
            if takes_immediates(inst) {
                for s in &mut inst.srcs {
                    copies.src(s);
                }
            }
            inst.map_uses(|v| copies.value(v));
            if inst.op == Op::Mov && inst.guard.is_none() {
                record(f, i, &mut copies);
            }
        }
        f.blocks[b].term.map_uses(|v| copies.value(v));
    }
    ctx.count("copy_prop: uses", copies.found);
    copies.found > 0
}

/// Operations whose operands are not machine operands of the ordinary kind keep their values.
fn takes_immediates(inst: &Inst) -> bool {
    inst.ext.is_none() && !matches!(inst.op, Op::Pcopy | Op::Call | Op::Bar | Op::Vote | Op::Quadop)
}

fn record(f: &Function, i: InstId, copies: &mut Copies) {
    let inst = &f.insts[i];
    let [src] = inst.srcs.as_slice() else { return };
    if src.mods != SrcMods::default() {
        return;
    }
    let of_imm = |x| if inst.ty == Type::Pred { Origin::Itself } else { Origin::Imm(x) };
    match (src.kind, inst.dsts.as_slice()) {
        (SrcKind::Imm(x), &[d]) => copies.of[d] = of_imm(x),
        (SrcKind::Imm64([lo, hi]), &[a, b]) => {
            copies.of[a] = of_imm(lo);
            copies.of[b] = of_imm(hi);
        }
        (_, dsts) if src.values().len() == dsts.len() => {
            for (&d, &v) in dsts.iter().zip(src.values()) {
                // A copy of an immediate is found as such through the value that holds it.
                if f.values[d].class == f.values[v].class {
                    copies.of[d] = match copies.of[v] {
                        Origin::Itself => Origin::Value(v),
                        known => known,
                    };
                }
            }
        }
        _ => {}
    }
}

/// Parameters whose arguments are all one value (or the parameter itself) are copies of it. Arguments are looked at
/// as they stand; a chain of such parameters is resolved in as many runs of the pass as it has links against the
/// layout's direction, in one run along it.
fn trivial_params(f: &Function, copies: &mut Copies) {
    #[derive(Clone, Copy, PartialEq)]
    enum Arg {
        None,
        One(ValueId),
        Many,
    }
    if f.layout.iter().all(|&b| f.blocks[b].params.is_empty()) {
        return;
    }
    let mut args: SecondaryMap<ValueId, Arg> = SecondaryMap::with_default(Arg::None);
    for &b in &f.layout {
        for e in f.blocks[b].term.edges() {
            for (&p, &a) in f.blocks[e.to].params.iter().zip(&e.args) {
                args[p] = match args[p] {
                    x if a == p => x,
                    Arg::None => Arg::One(a),
                    Arg::One(x) if x == a => Arg::One(x),
                    _ => Arg::Many,
                };
            }
        }
    }
    for &b in &f.layout {
        for &p in &f.blocks[b].params {
            if let Arg::One(v) = args[p] {
                copies.of[p] = match copies.of[v] {
                    Origin::Value(w) if w != p => Origin::Value(w),
                    Origin::Value(_) => Origin::Itself,
                    _ => Origin::Value(v),
                };
            }
        }
    }
}
