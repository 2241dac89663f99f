//! Global value numbering: of two computations of the same thing, the dominated one goes.
//!
//! ```text
//! b0: shl u32 %r1 %r0 0x2
//!     branch %p0 b1 b2
//! b1: shl u32 %r2 %r0 0x2     ->  (gone: %r1 is read instead of %r2)
//! ```
//!
//! One hash table for the whole function; blocks are visited in layout order, in which dominators
//! come first, so that every reader is seen after what it reads. An entry that does not dominate
//! the place where it is found again is replaced by the newcomer. Operands are looked up through
//! what was found so far, and those of commutative operations are hashed in one order, so a chain
//! of equal computations collapses in one run.
//!
//! Only pure operations, calls of functions that do nothing but compute, and loads from memory that
//! cannot change during the launch. Carries are compared but not shared: of two equal additions of
//! 64 bits, both words become the first's, and the addition that gave the carry is dead. Guarded
//! instructions stay: their result is undefined where the guard fails.
//!
//! What was computed more than `FAR` blocks before is computed again: else a large function's
//! constants, and what is made of them, would hold registers from their first use to its end, more
//! of them the longer it is.

use super::rewrite::{self, touches_carry};
use super::{Ctx, Stage};
use crate::analysis::cfg::Cfg;
use crate::ir::*;
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;

/// Blocks between two computations from which on they are not shared.
const FAR: usize = 512;

pub(super) fn run(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    let constants = ctx.stage == Stage::Legal;
    let mut cfg = None;
    let mut table = Leaders::new(f.inst_count());
    let mut same = Leading::new();
    let mut carries = Leading::new();
    let (mut found, mut carries_found) = (0, false);
    for n in 0..f.layout.len() {
        let b = f.layout[n];
        let mut body = std::mem::take(&mut f.blocks[b].body);
        rewrite::retain(&mut body, 0, |i| {
            if found > 0 {
                f.insts[i].map_uses(|v| same[v].expand().unwrap_or(v));
            }
            let inst = &f.insts[i];
            if !is_candidate(inst, constants) {
                return true;
            }
            let (hash, place) = if carries_found && touches_carry(f, inst) {
                let mut renamed = inst.clone();
                renamed.map_uses(|v| carries[v].expand().unwrap_or(v));
                table.entry(f, &renamed)
            } else {
                table.entry(f, inst)
            };
            // The entry comes first.
            let mut leads = |at: usize| {
                n - at <= FAR
                    && (at == n
                        || at == 0
                        || cfg.get_or_insert_with(|| Cfg::new(f)).dominates(f.layout[at], b))
            };
            let Some(leader) = place.inst.expand().filter(|_| leads(place.block as usize)) else {
                *place = Leader { hash, inst: i.into(), block: n as u32 };
                return true;
            };
            if found == 0 {
                same.resize(f.values.len());
            }
            found += 1;
            let mut gives_carry = false;
            for (&d, &l) in results(inst).iter().zip(results(&f.insts[leader])) {
                if f.values[d].class == Class::Carry {
                    if !carries_found {
                        carries.resize(f.values.len());
                    }
                    carries[d] = l.into();
                    (gives_carry, carries_found) = (true, true);
                } else {
                    same[d] = l.into();
                }
            }
            f.insts[leader].known = f.insts[leader].known.strongest(inst.known);
            if !gives_carry {
                let values = &mut f.values;
                f.insts[i].for_defs(|v| values[v].def = Def::None);
            }
            gives_carry
        });
        let block = &mut f.blocks[b];
        block.body = body;
        if found > 0 {
            block.term.map_uses(|v| same[v].expand().unwrap_or(v));
        }
    }
    ctx.count("gvn: replaced", found);
    found > 0
}

/// What stands for values whose definitions are redundant.
type Leading = SecondaryMap<ValueId, PackedOption<ValueId>>;

/// The first instruction of equal ones.
#[derive(Clone, Copy)]
pub(super) struct Leader {
    pub hash: u32,
    pub inst: PackedOption<InstId>,
    /// Its block's place in the layout.
    pub block: u32,
}

/// Leaders by their hashes, with open addressing: no more than half of the places are ever taken.
pub(super) struct Leaders {
    places: Vec<Leader>,
    /// What leaves the number of a place of a hash: its highest bits.
    shift: u32,
}

impl Leaders {
    /// For so many instructions.
    pub(super) fn new(most: usize) -> Leaders {
        let empty = Leader { hash: 0, inst: None.into(), block: 0 };
        let log2 = (2 * most).max(2).next_power_of_two().trailing_zeros();
        Leaders { places: vec![empty; 1 << log2], shift: u64::BITS - log2 }
    }

    /// The hash of an instruction, and the place of the leader that is equal to it, or an empty one
    /// for it.
    pub(super) fn entry(&mut self, f: &Function, inst: &Inst) -> (u32, &mut Leader) {
        let hash = hash(inst);
        let mask = self.places.len() - 1;
        let mut at = (hash >> self.shift) as usize;
        let hash = hash as u32;
        while let Some(leader) = self.places[at].inst.expand()
            && (self.places[at].hash != hash || !equal(&f.insts[leader], inst))
        {
            at = (at + 1) & mask;
        }
        (hash, &mut self.places[at])
    }
}

/// Whether an instruction may be shared with an equal one; constants only on request.
pub(super) fn is_candidate(inst: &Inst, constants: bool) -> bool {
    let kind = match inst.op {
        // Copies are copy propagation's business, and constants are operands until legalisation. A
        // known predicate goes where it is read: in a register that another shares, it would have
        // to be copied from there.
        Op::Mov => constants && inst.ty != Type::Pred && matches!(inst.srcs[0].kind, SrcKind::Imm(_)),
        Op::Pcopy => false,
        Op::Ld => {
            inst.mem.as_ref().is_some_and(|m| m.order == Order::Weak && (m.space.is_constant() || m.readonly))
        }
        Op::Rdsv => inst.is_pure(),
        op => op.is_pure(),
    };
    let pure_call = inst.call().is_some_and(|c| c.effects == Effects::None && !c.results.is_empty());
    let plain = inst.ext.is_none() && !inst.dsts.is_empty();
    (kind && plain || pure_call) && inst.guard.is_none()
}

/// What an instruction defines, in order.
pub(super) fn results(inst: &Inst) -> &[ValueId] {
    inst.call().map_or(&inst.dsts, |c| &c.results)
}

/// Whether the first two sources may be exchanged.
fn exchanges(inst: &Inst) -> bool {
    inst.op.is(op::COMMUTES) && inst.srcs.len() >= 2
}

/// Equal instructions have equal hashes. The highest bits are the best ones.
fn hash(inst: &Inst) -> u64 {
    let kind = [inst.op as u8, inst.ty as u8, inst.sty as u8, inst.cond as u8];
    let mut h = mix(0, u32::from_le_bytes(kind).into());
    if inst.srcs.is_empty() {
        // Loads and system values.
        if let Some(m) = &inst.mem {
            h = mix(h, u64::from(m.offset as u32) << 32 | u64::from(m.buffer) << 8 | m.space as u64);
            h = m.base().iter().chain(&m.index).fold(h, |h, v| mix(h, v.as_u32().into()));
        } else if let Aux::Sv(sv) = inst.aux {
            h = mix(h, sv as u64);
        } else if let Some(c) = inst.call() {
            h = c.args.iter().fold(mix(h, c.func.as_u32().into()), |h, v| mix(h, v.as_u32().into()));
        }
        return h;
    }
    let [x, y, ..] = inst.srcs.places();
    let (x, y) = (operand(x), operand(y));
    let ordered = (x.min(y), x.max(y));
    let (x, y) = if inst.op.is(op::COMMUTES) { ordered } else { (x, y) };
    let rest = inst.srcs.iter().skip(2);
    rest.fold(mix(mix(h, x), y), |h, s| mix(h, operand(s)))
}

fn mix(h: u64, word: u64) -> u64 {
    (h.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// What tells most operands apart, in a word.
fn operand(s: &Src) -> u64 {
    let word = match s.kind {
        SrcKind::Val(v) => v.as_u32(),
        SrcKind::Imm(x) => x,
        _ => return other_operand(s),
    };
    u64::from(word) | u64::from(matches!(s.kind, SrcKind::Imm(_))) << 32
}

#[cold]
#[inline(never)]
fn other_operand(s: &Src) -> u64 {
    match s.kind {
        SrcKind::Const { bank, offset } => u64::from(bank) << 16 | u64::from(offset) | 2 << 32,
        SrcKind::Imm64([lo, hi]) => mix(lo.into(), hi.into()),
        _ => s.values().iter().fold(3 << 32, |h, v| mix(h, v.as_u32().into())),
    }
}

#[inline(never)]
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
            // What is proven of the address or the memory does not change what is read.
            (m.space, m.order, m.buffer, m.index, m.base(), m.offset)
                == (n.space, n.order, n.buffer, n.index, n.base(), n.offset)
        }
        _ => false,
    };
    let same_call = match (a.call(), b.call()) {
        (None, None) => true,
        (Some(c), Some(d)) => (c.func, &c.args) == (d.func, &d.args),
        _ => false,
    };
    // Every field is named, so that a new one has to be considered. Candidates have no guard and no
    // rare details, and what is known of a value that is loaded holds for its equal.
    let Inst {
        op,
        ty,
        sty,
        cond,
        logic,
        rnd,
        sat,
        ftz,
        exact,
        aux,
        known: _,
        guard: _,
        dsts,
        srcs: _,
        mem: _,
        ext: _,
        loc: _,
    } = a;
    same_srcs
        && same_mem
        && same_call
        && (*op, *ty, *sty, *cond, *logic, *rnd, *sat, *ftz, *exact, *aux)
            == (b.op, b.ty, b.sty, b.cond, b.logic, b.rnd, b.sat, b.ftz, b.exact, b.aux)
        && dsts.len() == b.dsts.len()
}
