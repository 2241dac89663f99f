//! Global value numbering: of two computations of the same thing, the dominated one becomes a copy of the other.
//!
//! ```text
//! b0: shl u32 %r1 %r0 0x2
//!     branch %p0 b1 b2
//! b1: shl u32 %r2 %r0 0x2     ->  mov u32 %r2 %r1
//! ```
//!
//! One hash table for the whole function; blocks are visited in layout order, in which dominators come first. An
//! entry that does not dominate the place where it is found again is replaced by the newcomer. Operands are looked
//! up through the copies found so far, and commutative operations are also hashed with exchanged operands, so a
//! chain of equal computations collapses in one run.
//!
//! Only pure operations, and loads from memory that cannot change during the launch. Carries are compared but not
//! shared: of two equal additions of 64 bits, the second's low word becomes the first's, its high word a copy of the
//! first's, and the addition that gave its carry is dead. Guarded instructions stay: their result is undefined where the guard fails.

use super::edit::touches_carry;
use super::{Ctx, Stage};
use crate::analysis::cfg::Cfg;
use crate::ir::*;
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

pub fn run(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    let single = f.layout.len() == 1;
    let constants = ctx.stage == Stage::Legal;
    let cfg = (!single).then(|| Cfg::new(f));
    let mut table = Leaders::new(f.inst_count());
    let mut same: SecondaryMap<ValueId, PackedOption<ValueId>> = SecondaryMap::new();
    same.resize(f.values.len());
    let mut carries: SecondaryMap<ValueId, PackedOption<ValueId>> = SecondaryMap::new();
    let mut found = 0;
    for n in 0..f.layout.len() {
        let b = f.layout[n];
        for k in 0..f.blocks[b].body.len() {
            let i = f.blocks[b].body[k];
            if found > 0 {
                f.insts[i].map_uses(|v| same[v].expand().unwrap_or(v));
            }
            let inst = &f.insts[i];
            if !is_candidate(inst, constants) {
                continue;
            }
            let chained = touches_carry(f, inst);
            let renamed = chained.then(|| {
                let mut renamed = inst.clone();
                renamed.map_uses(|v| carries[v].expand().unwrap_or(v));
                renamed
            });
            let inst = renamed.as_ref().unwrap_or(inst);
            let key = hash(inst);
            let place = table.place(key);
            let newcomer = Leader { hash: key, inst: i.into(), block: b };
            let lb = place.block;
            let Some(leader) = place.inst.expand() else {
                *place = newcomer;
                continue;
            };
            let dominates = lb == b || cfg.as_ref().is_some_and(|c| c.dominates(lb, b));
            if !dominates || !equal(&f.insts[leader], inst) {
                *place = newcomer;
                continue;
            }
            found += 1;
            let strongest = f.insts[leader].known.strongest(inst.known);
            let mut gives_carry = false;
            for (&d, &l) in f.insts[i].dsts.iter().zip(&f.insts[leader].dsts) {
                if f.values[d].class == Class::Carry {
                    carries[d] = l.into();
                    gives_carry = true;
                } else {
                    same[d] = l.into();
                }
            }
            f.insts[leader].known = strongest;
            if !gives_carry {
                make_copy(f, leader, i);
            }
        }
        if found > 0 {
            f.blocks[b].term.map_uses(|v| same[v].expand().unwrap_or(v));
        }
    }
    ctx.count("gvn: replaced", found);
    found > 0
}

/// The first instruction with a hash.
#[derive(Clone, Copy)]
struct Leader {
    hash: u64,
    inst: PackedOption<InstId>,
    block: BlockId,
}

/// Leaders by their hashes, with open addressing: no more than half of the places are ever taken.
struct Leaders(Vec<Leader>);

impl Leaders {
    fn new(most: usize) -> Leaders {
        let empty = Leader { hash: 0, inst: None.into(), block: BlockId::from_u32(0) };
        Leaders(vec![empty; (2 * most).next_power_of_two()])
    }

    /// The place of a hash's leader, or an empty one for it.
    fn place(&mut self, hash: u64) -> &mut Leader {
        let mask = self.0.len() - 1;
        let mut at = hash as usize & mask;
        while self.0[at].inst.is_some() && self.0[at].hash != hash {
            at = (at + 1) & mask;
        }
        &mut self.0[at]
    }
}

/// The redundant instruction stays as a copy, for dead code elimination to remove: all its readers read the leader.
fn make_copy(f: &mut Function, leader: InstId, i: InstId) {
    let from = f.insts[leader].dsts;
    let old = &f.insts[i];
    let mut copy = Inst::new(if from.len() == 1 { Op::Mov } else { Op::Pcopy }, Type::U32);
    if from.len() == 1 && f.values[from[0]].class == Class::Pred {
        copy = Inst::new(Op::Mov, Type::Pred);
    }
    copy.dsts = old.dsts;
    copy.loc = old.loc;
    if from.len() > 4 {
        return;
    }
    copy.srcs.extend(from.iter().map(|&v| Src::val(v)));
    f.replace(i, copy);
}

fn is_candidate(inst: &Inst, constants: bool) -> bool {
    if inst.guard.is_some() || inst.ext.is_some() || inst.dsts.is_empty() {
        return false;
    }
    let constant_load = inst.op == Op::Ld
        && inst.mem.is_some_and(|m| m.order == Order::Weak && (m.space.is_constant() || m.readonly));
    let constant = constants && inst.op == Op::Mov && matches!(inst.srcs[0].kind, SrcKind::Imm(_));
    // Copies are copy propagation's business, and constants are operands until legalisation.
    constant_load || constant || inst.is_pure() && !matches!(inst.op, Op::Mov | Op::Pcopy)
}

fn exchanges(inst: &Inst) -> bool {
    inst.op.is(op::COMMUTES) && inst.srcs.len() >= 2
}

/// Equal instructions have equal hashes.
fn hash(inst: &Inst) -> u64 {
    let mut h = FxHasher::default();
    let kind = [inst.op as u8, inst.ty as u8, inst.sty as u8, inst.cond as u8];
    h.write_u32(u32::from_le_bytes(kind));
    if inst.aux != Aux::None {
        inst.aux.hash(&mut h);
    }
    let srcs = inst.srcs.iter().map(hash_operand);
    if exchanges(inst) {
        srcs.fold(0u64, u64::wrapping_add).hash(&mut h);
    } else {
        srcs.for_each(|s| h.write_u64(s));
    }
    if let Some(m) = &inst.mem {
        h.write_u32(m.offset as u32);
        h.write_u32(u32::from(m.buffer) << 8 | m.space as u32);
        m.base().iter().chain(&m.index).for_each(|v| h.write_u32(v.as_u32()));
    }
    h.finish()
}

fn hash_operand(s: &Src) -> u64 {
    let mut h = FxHasher::default();
    h.write_u8(u8::from(s.mods.neg) | u8::from(s.mods.abs) << 1 | u8::from(s.mods.inv) << 2);
    match s.kind {
        SrcKind::Imm(x) => h.write_u64(u64::from(x) | 1 << 32),
        SrcKind::Imm64([lo, hi]) => {
            h.write_u32(lo);
            h.write_u64(u64::from(hi) | 1 << 32);
        }
        SrcKind::Const { bank, offset } => h.write_u64(u64::from(bank) << 16 | u64::from(offset) | 2 << 32),
        _ => s.values().iter().for_each(|v| h.write_u32(v.as_u32())),
    }
    h.finish()
}

fn equal(a: &Inst, b: &Inst) -> bool {
    let same_srcs = a.srcs == b.srcs
        || exchanges(a)
            && a.srcs.len() == b.srcs.len()
            && a.srcs[0] == b.srcs[1]
            && a.srcs[1] == b.srcs[0]
            && a.srcs[2..] == b.srcs[2..];
    let same_mem = match (&a.mem, &b.mem) {
        (None, None) => true,
        (Some(m), Some(n)) => {
            (m.space, m.order, m.buffer, m.index, m.base(), m.offset)
                == (n.space, n.order, n.buffer, n.index, n.base(), n.offset)
        }
        _ => false,
    };
    same_srcs
        && same_mem
        && (a.op, a.ty, a.sty, a.cond, a.logic, a.rnd, a.sat, a.ftz, a.exact, a.aux)
            == (b.op, b.ty, b.sty, b.cond, b.logic, b.rnd, b.sat, b.ftz, b.exact, b.aux)
        && a.dsts.len() == b.dsts.len()
}
