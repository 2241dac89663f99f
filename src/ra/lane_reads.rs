//! Liveness across lanes: values that other lanes read keep their registers while lanes are apart.
//!
//! ```text
//!     ld %v                          R4 = %v
//!     if %p b1 b2 join b3            half of the lanes go each way
//! b1: shfl %w %v ..                  reads R4 of lanes that are in b2, or have been
//! b2: add %x ..                      without this: %v is dead here, so R4 = %x
//! ```
//!
//! A register is a row of 32 lanes. SSA liveness is that of one lane: where no way leads to a
//! reader, the register is free. A shuffle reads lanes that went another way, though. So a value
//! that a shuffle reads inside an `if`, and that was defined outside of it, lives until the lanes
//! meet again: the join of the outermost such `if` reads it, by an `undef` without destinations,
//! which is no instruction of the machine. Lanes that have left a loop change nothing while they
//! wait, and votes count active lanes only.
//!
//! Where too many values are alive, such a value may still be spilled on the way; then other lanes
//! read what they have in the register at that time, as they do of any inactive lane in the source
//! languages.

use crate::analysis::cfg::Cfg;
use crate::analysis::divergence::uniform_branches;
use crate::ir::{BlockId, Class, Def, Function, Inst, Merge, Op, Type, ValueId};

/// Whether an operation reads what other lanes have in a register.
pub(crate) fn reads_lanes(op: Op) -> bool {
    matches!(op, Op::Shfl | Op::Quadop)
}

/// Makes values that are read across lanes live to where the lanes meet.
pub(super) fn keep(f: &mut Function, cfg: &Cfg) {
    let uniform = uniform_branches(f);
    let mut home = vec![None; f.values.len()];
    for (b, i) in f.insts_in_order() {
        f.insts[i].for_defs(|v| home[v.as_u32() as usize] = Some(b));
    }
    let mut kept: Vec<(BlockId, ValueId)> = Vec::new();
    for (b, i) in f.insts_in_order().filter(|&(b, i)| reads_lanes(f.insts[i].op) && cfg.reachable(b)) {
        let Some(v) = f.insts[i].srcs.first().and_then(|s| s.as_val()) else { continue };
        if f.class(v) != Class::Gpr {
            continue;
        }
        let defined = match f.values[v].def {
            Def::Block(b) => Some(b),
            Def::Inst(_) => home[v.as_u32() as usize],
            Def::Func | Def::None => Some(f.entry()),
        };
        let Some(defined) = defined else { continue };
        let mut join = None;
        let mut at = cfg.idom(b);
        while let Some(header) = at.filter(|&h| cfg.dominates(defined, h)) {
            if let Merge::If { join: j } = f.blocks[header].merge
                && !uniform.contains(header)
                && cfg.reachable(j)
                && !cfg.dominates(j, b)
            {
                join = Some(j);
            }
            at = cfg.idom(header);
        }
        kept.extend(join.map(|j| (j, v)));
    }
    kept.sort_unstable();
    kept.dedup();
    for &(join, v) in &kept {
        let read = f.make(Inst::new(Op::Undef, Type::U32).src(v));
        f.blocks[join].body.insert(0, read);
    }
}
