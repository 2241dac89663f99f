//! A loop's parameter that is always what another one was a round before, so many steps behind.
//!
//! ```text
//!     jump b1(0x1 0x0)                        jump b1(0x1)
//! b1(%r1 %r2): loop exit b3 cont b2   ->  b1(%r1): loop exit b3 cont b2
//!     ...                                     ...
//!     add u32 %r3 %r1 0x1                     add u32 %r3 %r1 0x1
//!     jump b1(%r3 %r1)                        jump b1(%r3)
//! b3: st u32 # g[%r9+0x0] %r2             b3: add u32 %r4 %r1 0xffffffff
//!                                             st u32 # g[%r9+0x0] %r4
//! ```
//!
//! Such a parameter costs a move in every round, since both live at once. Where only code behind the loop
//! reads it, a subtraction there does instead.
//!
//! Safe because it holds by induction: it is so when the loop is entered, and the one becomes what the other was
//! while that makes a constant step.

use super::Ctx;
use super::rewrite::{imm_src, map_uses};
use super::rounds::constant;
use crate::analysis::cfg::Cfg;
use crate::ir::*;
use cranelift_entity::SecondaryMap;
use rustc_hash::FxHashMap;

/// Parameters of a loop that are looked at.
const MOST: usize = 16;

/// A parameter as another one and a constant, at the loop's exit.
struct Lag {
    header: BlockId,
    exit: BlockId,
    at: usize,
    of: ValueId,
    by: u32,
}

pub(super) fn run(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    let is_header = |b: &BlockId| matches!(f.blocks[*b].merge, Merge::Loop { .. });
    if !f.layout.iter().any(|b| is_header(b) && f.blocks[*b].params.len() > 1) {
        return false;
    }
    let cfg = Cfg::new(f);
    let found: Vec<Lag> = f.layout.iter().filter_map(|&h| lag(f, &cfg, h)).collect();
    if found.is_empty() {
        return false;
    }
    let readers = readers(f, &found);
    let mut instead: FxHashMap<ValueId, ValueId> = FxHashMap::default();
    let mut done = 0;
    for l in found {
        let p = f.blocks[l.header].params[l.at];
        let behind = readers.get(&p).is_none_or(|r| r.iter().all(|&b| cfg.dominates(l.exit, b)));
        if !behind {
            continue;
        }
        let r = f.new_value(Class::Gpr);
        let loc = f.blocks[l.exit].body.first().map_or(f.blocks[l.exit].term_loc, |&i| f.insts[i].loc);
        let mut add = Inst::new(Op::Add, Type::U32).src(l.of).src(Src::imm(l.by)).dst(r);
        add.loc = loc;
        let add = f.make(add);
        f.blocks[l.exit].body.insert(0, add);
        f.blocks[l.header].params.remove(l.at);
        f.values[p].def = Def::None;
        for &b in cfg.preds(l.header) {
            f.blocks[b].term.edges_mut().filter(|e| e.to == l.header).for_each(|e| {
                e.args.remove(l.at);
            });
        }
        instead.insert(p, r);
        done += 1;
    }
    if done > 0 {
        let read = |v: ValueId| instead.get(&v).copied().unwrap_or(v);
        map_uses(f, read);
    }
    ctx.count("loop_lag: parameters", done);
    done > 0
}

/// The first parameter of a loop that is a step behind another one.
fn lag(f: &Function, cfg: &Cfg, header: BlockId) -> Option<Lag> {
    let Merge::Loop { exit, .. } = f.blocks[header].merge else { return None };
    let &[a, b] = cfg.preds(header) else { return None };
    let (from, latch) = if cfg.dominates(header, b) { (a, b) } else { (b, a) };
    if cfg.dominates(header, from) || !cfg.reachable(exit) {
        return None;
    }
    let edge = |b: BlockId| f.blocks[b].term.edges().find(|e| e.to == header);
    let (first, next) = (&edge(from)?.args, &edge(latch)?.args);
    let params = &f.blocks[header].params;
    (0..params.len().min(MOST)).find_map(|at| {
        let of = params.iter().position(|&q| q == next[at]).filter(|&k| k != at)?;
        if f.class(params[at]) != Class::Gpr {
            return None;
        }
        let step = step(f, next[of], params[of])?;
        let by = step.wrapping_neg();
        // Equal when the loop is entered, too.
        let apart = constant(f, first[at])?.wrapping_sub(constant(f, first[of])?);
        (apart == by).then_some(Lag { header, exit, at, of: params[of], by })
    })
}

/// By what a value is more than another.
fn step(f: &Function, next: ValueId, of: ValueId) -> Option<u32> {
    let inst = f.def_inst(next)?;
    let plain = matches!(inst.ty, Type::U32 | Type::S32)
        && inst.dsts.len() == 1
        && inst.srcs.len() == 2
        && !inst.sat
        && inst.guard.is_none();
    let is_of = inst.srcs.first()?.as_val() == Some(of) && inst.srcs[0].is_plain_val();
    match inst.op {
        Op::Add if plain && is_of => imm_src(inst, 1),
        Op::Sub if plain && is_of => imm_src(inst, 1).map(u32::wrapping_neg),
        _ => None,
    }
}

/// The blocks that read each of those parameters, but for what becomes the same parameter.
fn readers(f: &Function, found: &[Lag]) -> FxHashMap<ValueId, Vec<BlockId>> {
    let mut wanted: SecondaryMap<ValueId, bool> = SecondaryMap::with_capacity(f.values.len());
    found.iter().for_each(|l| wanted[f.blocks[l.header].params[l.at]] = true);
    let mut readers: FxHashMap<ValueId, Vec<BlockId>> = FxHashMap::default();
    for &b in &f.layout {
        let mut note = |v: ValueId| {
            let list = readers.entry(v).or_default();
            if list.last() != Some(&b) {
                list.push(b);
            }
        };
        let mut read = |v: ValueId| {
            if wanted[v] {
                note(v);
            }
        };
        f.blocks[b].body.iter().for_each(|&i| f.insts[i].for_uses(&mut read));
        f.blocks[b].term.for_uses(&mut read);
    }
    readers
}
