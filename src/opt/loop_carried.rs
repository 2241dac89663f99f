//! What a loop's parameter is in the next round is made when this round's is read no more.
//!
//! ```text
//! b1(%r1 %r2): loop ...                   b1(%r1 %r2): loop ...
//!     add f32 %r3 %r9 %r1                     mul f32 %r4 %r1 %r2
//!     mul f32 %r4 %r1 %r2             ->      add f32 %r3 %r9 %r1
//!     jump b1(%r3 %r4)                        jump b1(%r3 %r4)
//! ```
//!
//! Then both can be in one register, and the edge back needs no move. Readers of the parameter move
//! in front of the instruction that makes its next value, or that moves behind the last of them.
//!
//! A parameter that becomes another one needs a move. Made before its own next value, it is the only
//! one:
//!
//! ```text
//! b1(%r1 %r2): loop ...                   b1(%r1 %r2): loop ...
//!     add u32 %r3 %r1 0x1             ->      mov u32 %r4 %r1
//!     jump b1(%r3 %r1)                        add u32 %r3 %r1 0x1
//!                                             jump b1(%r3 %r4)
//! ```
//!
//! Safe because what moves is pure, and stays behind what it reads and before who reads it.

use super::Ctx;
use super::rewrite::touches_carry;
use crate::analysis::cfg::Cfg;
use crate::analysis::liveness::Liveness;
use crate::ir::*;
use cranelift_entity::{EntitySet, SecondaryMap};

/// Parameters of a loop, and instructions of a block, that are looked at.
const MOST: usize = 256;

pub(super) fn run(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    let is_header = |b: &BlockId| matches!(f.blocks[*b].merge, Merge::Loop { .. });
    if !f.layout.iter().any(|b| is_header(b) && !f.blocks[*b].params.is_empty()) {
        return false;
    }
    let cfg = Cfg::new(f);
    let Some(live) = Liveness::of_few(f, &cfg) else { return false };
    let mut home: SecondaryMap<ValueId, Option<BlockId>> = SecondaryMap::new();
    home.resize(f.values.len());
    for &b in cfg.rpo() {
        for &i in &f.blocks[b].body {
            f.insts[i].for_defs(|v| home[v] = Some(b));
        }
    }
    let tree = cfg.loop_tree();
    let (mut moved, mut copies) = (0, 0);
    for &h in cfg.rpo().iter().filter(|&&h| cfg.is_loop_header(h)) {
        let mut inside = cfg.preds(h).iter().filter(|&&p| tree.contains(h, p));
        let (Some(&latch), None) = (inside.next(), inside.next()) else { continue };
        let Some(edge) = f.blocks[latch].term.edges().position(|e| e.to == h) else { continue };
        let params = f.blocks[h].params.clone();
        if params.len() > MOST {
            continue;
        }
        for (k, &p) in params.iter().enumerate() {
            let args = match f.blocks[latch].term.edges().nth(edge) {
                Some(e) => &e.args,
                None => break,
            };
            let Some(&next) = args.get(k) else { break };
            let Some(b) = home.get(next).copied().flatten() else { continue };
            let ends = |f: &Function| {
                let mut read = live.live_out(b).binary_search(&p).is_ok();
                f.blocks[b].term.for_uses(|v| read |= v == p);
                !read
            };
            if !tree.contains(h, b) || f.class(p) != Class::Gpr || f.class(next) != Class::Gpr {
                continue;
            }
            // Where the edge hands it on itself, a copy does.
            let handed_on = args.contains(&p);
            if !handed_on {
                if ends(f) {
                    moved += usize::from(make_last(f, b, p, next));
                }
                continue;
            }
            let plain = matches!(f.blocks[latch].term, Term::Jump(_)) && b == latch;
            if !plain || live.live_out(b).binary_search(&p).is_ok() || !make_last(f, b, p, next) {
                continue;
            }
            let Some(at) = position(f, b, next) else { continue };
            let copy = f.new_value(Class::Gpr);
            let mut mov = Inst::new(Op::Mov, Type::U32).src(p).dst(copy);
            mov.loc = f.insts[f.blocks[b].body[at]].loc;
            let mov = f.make(mov);
            f.blocks[b].body.insert(at, mov);
            if let Some(e) = f.blocks[latch].term.edges_mut().nth(edge) {
                e.args.iter_mut().filter(|a| **a == p).for_each(|a| *a = copy);
            }
            copies += 1;
        }
    }
    ctx.count("loop_carried: moved", moved);
    ctx.count("loop_carried: copies", copies);
    moved + copies > 0
}

/// The place in a block of the instruction that makes a value.
fn position(f: &Function, b: BlockId, v: ValueId) -> Option<usize> {
    f.blocks[b].body.iter().position(|&i| f.insts[i].dsts.contains(&v))
}

/// Whether an instruction may stand elsewhere among those that it does not depend on.
fn floats(f: &Function, inst: &Inst) -> bool {
    inst.is_pure()
        && inst.guard.is_none()
        && inst.mem.is_none()
        && inst.ext.is_none()
        && !touches_carry(f, inst)
}

/// Orders a block's instructions so that none behind the one that makes `next` reads `p`. Tells
/// whether it is so.
fn make_last(f: &mut Function, b: BlockId, p: ValueId, next: ValueId) -> bool {
    let Some(at) = position(f, b, next) else { return false };
    let body = &f.blocks[b].body;
    let reads = |inst: &Inst, v: ValueId| {
        let mut found = false;
        inst.for_uses(|u| found |= u == v);
        found
    };
    let Some(last) = body.iter().rposition(|&i| reads(&f.insts[i], p)).filter(|&last| last > at) else {
        return true;
    };
    if last - at > MOST {
        return false;
    }
    // Who reads it goes in front, with what they need of what stands between.
    let mut wanted: EntitySet<ValueId> = EntitySet::new();
    let mut before = Vec::new();
    let mut possible = true;
    for n in (at..=last).rev() {
        let inst = &f.insts[body[n]];
        let mut needed = reads(inst, p) && n > at;
        inst.for_defs(|d| needed |= wanted.contains(d));
        if needed {
            possible &= n > at && floats(f, inst);
            inst.for_uses(|v| _ = wanted.insert(v));
            before.push(n);
        }
    }
    if possible {
        let mut order: Vec<InstId> = before.iter().rev().map(|&n| body[n]).collect();
        order.extend((at..=last).filter(|n| !before.contains(n)).map(|n| body[n]));
        f.blocks[b].body[at..=last].copy_from_slice(&order);
        return true;
    }
    // Or what makes the next value goes behind them, if nobody between reads it.
    let alone = floats(f, &f.insts[body[at]]) && f.insts[body[at]].dsts.len() == 1;
    if alone && body[at + 1..=last].iter().all(|&i| !reads(&f.insts[i], next)) {
        f.blocks[b].body[at..=last].rotate_left(1);
        return true;
    }
    false
}
