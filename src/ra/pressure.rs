//! How many general registers an instruction needs at once.
//!
//! Before it, everything that is in a register is; after it, what lives on and its destinations.
//! Where it has tuples, colouring also wants what it reads side by side, what it writes side by
//! side, and the values that live through beside both: then it always finds a place for everything.
//! A written tuple may stand where a tuple that is read for the last time stood.

use super::colour::{PREDS, per_value};
use super::{Phys, Summary, operands};
use crate::analysis::cfg::Cfg;
use crate::analysis::liveness::Liveness;
use crate::ir::{BlockId, Call, Class, Def, FuncId, Function, Inst, Op, ValueId};
use arrayvec::ArrayVec;
use cranelift_entity::SecondaryMap;

/// The tuples of an instruction in numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Demand {
    /// Registers that its tuples take, besides the values that live through it.
    pub tuples: usize,
    /// The values in tuples that it reads.
    pub elements: ArrayVec<ValueId, 24>,
}

/// Whether there can be any: a bound that costs little.
fn has_windows(inst: &Inst) -> bool {
    (inst.dsts.len() > 1 || operands::has_read_tuples(inst)) && inst.op != Op::Call
}

/// What an instruction's tuples take; `dies` tells which values it reads for the last time.
pub(super) fn demand(f: &Function, inst: &Inst, dies: impl Fn(ValueId) -> bool) -> Demand {
    let mut d = Demand::default();
    if !has_windows(inst) {
        return d;
    }
    let reads = operands::read_tuples(inst);
    let write = operands::written_tuple(f, inst);
    let mut room = 0;
    for (k, w) in reads.iter().enumerate() {
        if reads[..k].contains(w) {
            continue;
        }
        d.tuples += w.len();
        d.elements.extend(w.iter().copied());
        if w.iter().all(|&v| dies(v)) {
            room = room.max(w.len());
        }
    }
    if let Some(w) = write
        && room < w.len()
    {
        d.tuples += w.len();
    }
    d
}

/// How many general values and predicates a function has in all.
pub(super) fn values(f: &Function) -> [usize; 2] {
    let mut count = [0; 2];
    for v in f.values.values() {
        let defined = usize::from(v.def != Def::None);
        count[0] += defined & usize::from(v.class == Class::Gpr);
        count[1] += defined & usize::from(v.class == Class::Pred);
    }
    count
}

/// How many values are alive at once.
#[derive(Default)]
pub(crate) struct Pressure {
    /// General values, at most; more than the limit if an instruction or call needs more than there
    /// is.
    pub most: usize,
    /// The same by block.
    pub by_block: SecondaryMap<BlockId, usize>,
    /// Blocks in whose predicate registers there is perhaps no room, in reverse postorder: too many
    /// values, or a call.
    pub crowded: Vec<BlockId>,
}

/// Measures the pressure on a function's registers, of which `k` are general ones.
pub(super) fn measure(
    f: &Function,
    cfg: &Cfg,
    live: &Liveness,
    summaries: &SecondaryMap<FuncId, Option<Summary>>,
    k: usize,
) -> Pressure {
    const GPR: usize = Class::Gpr as usize;
    const PRED: usize = Class::Pred as usize;
    let mut pressure = Pressure::default();
    pressure.by_block.resize(f.blocks.len());
    // The number of the block in which a value is known to be alive where the walk from its end is.
    let mut alive = per_value(f, 0);
    for (n, &b) in cfg.rpo().iter().enumerate() {
        let stamp = n as u32 + 1;
        let block = &f.blocks[b];
        // By class.
        let mut count = [0; 3];
        let enter = |v: ValueId, alive: &mut SecondaryMap<ValueId, u32>, count: &mut [usize; 3]| {
            let new = std::mem::replace(&mut alive[v], stamp) != stamp;
            count[f.class(v) as usize] += usize::from(new);
            new
        };
        live.live_out(b).iter().for_each(|&v| {
            enter(v, &mut alive, &mut count);
        });
        block.term.for_uses(|v| {
            enter(v, &mut alive, &mut count);
        });
        let (mut gprs, mut preds) = (count[GPR], count[PRED]);
        for &i in block.body.iter().rev() {
            let inst = &f.insts[i];
            let mut defs = [0; 3];
            inst.for_defs(|v| {
                let class = f.class(v) as usize;
                defs[class] += 1;
                count[class] -= usize::from(std::mem::replace(&mut alive[v], 0) == stamp);
            });
            let through = count[GPR];
            gprs = gprs.max(through + defs[GPR]);
            preds = preds.max(count[PRED] + defs[PRED]);
            if has_windows(inst) {
                let mut dying: ArrayVec<ValueId, 32> = ArrayVec::new();
                inst.for_uses(|v| {
                    if enter(v, &mut alive, &mut count) {
                        let _ = dying.try_push(v);
                    }
                });
                let d = demand(f, inst, |v| dying.contains(&v));
                let kept = d.elements.iter().filter(|v| !dying.contains(v)).count();
                if d.tuples > 0 {
                    gprs = gprs.max(through - kept + d.tuples);
                }
            } else {
                inst.for_uses(|v| {
                    enter(v, &mut alive, &mut count);
                });
            }
            gprs = gprs.max(count[GPR]);
            preds = preds.max(count[PRED]);
            if let Some(call) = inst.call() {
                preds = PREDS + 1;
                if through > safe_registers(summaries, call, k) {
                    gprs = gprs.max(k + 1);
                }
            }
        }
        let of_func = if b == f.entry() { &f.params[..] } else { &[] };
        for &p in block.params.iter().chain(of_func).filter(|&&p| alive[p] != stamp) {
            count[f.class(p) as usize] += 1;
        }
        if preds.max(count[PRED]) > PREDS {
            pressure.crowded.push(b);
        }
        gprs = gprs.max(count[GPR]);
        pressure.by_block[b] = gprs;
        pressure.most = pressure.most.max(gprs);
    }
    pressure
}

/// Registers below the limit that a call leaves alone.
pub(crate) fn safe_registers(
    summaries: &SecondaryMap<FuncId, Option<Summary>>,
    call: &Call,
    k: usize,
) -> usize {
    let Some(s) = &summaries[call.func] else { return k };
    (0..k as u8).filter(|&r| !s.clobbers.contains(Phys::Gpr(r))).count()
}

/// General destinations of an instruction.
pub(crate) fn general_defs(f: &Function, inst: &Inst) -> usize {
    let mut n = 0;
    inst.for_defs(|d| n += (f.class(d) == Class::Gpr) as usize);
    n
}
