//! How many general registers an instruction needs at once.
//!
//! Before it, everything that is in a register is; after it, what lives on and its destinations. Where it has
//! windows, colouring also wants what it reads side by side, what it writes side by side, and the values that live
//! through beside both: then it always finds a place for everything. A written window may stand where a window
//! that is read for the last time stood.

use super::{calls, operands};
use crate::ir::{Class, Def, Function, Inst, ValueId};
use arrayvec::ArrayVec;

/// The windows of an instruction in numbers.
#[derive(Clone, Debug, Default)]
pub struct Demand {
    /// Registers that its windows take, besides the values that live through it.
    pub windows: usize,
    /// The values in windows that it reads.
    pub elements: ArrayVec<ValueId, 24>,
}

/// What an instruction's windows take; `dies` tells which values it reads for the last time.
pub fn demand(f: &Function, inst: &Inst, dies: impl Fn(ValueId) -> bool) -> Demand {
    let mut d = Demand::default();
    if inst.dsts.len() < 2 && !operands::has_read_windows(inst) {
        return d;
    }
    let reads = operands::read_windows(inst);
    let write = operands::written_window(f, inst);
    let mut room = 0;
    for (k, w) in reads.iter().enumerate() {
        if reads[..k].contains(w) {
            continue;
        }
        d.windows += w.len();
        d.elements.extend(w.iter().copied());
        if w.iter().all(|&v| dies(v)) {
            room = room.max(w.len());
        }
    }
    if let Some(w) = write
        && room < w.len()
    {
        d.windows += w.len();
    }
    d
}

/// Whether a function has so few values of a class that they fit into `room` registers wherever they live: a bound
/// that costs less than to look. Calls want some values elsewhere, so there may be none.
pub fn few_values(f: &Function, class: Class, room: usize) -> bool {
    let count = f.values.values().filter(|v| v.class == class && v.def != Def::None).count();
    count <= room && calls::callees(f).next().is_none()
}

/// General destinations of an instruction.
pub fn general_defs(f: &Function, inst: &Inst) -> usize {
    let mut n = 0;
    inst.for_defs(|d| n += (f.class(d) == Class::Gpr) as usize);
    n
}
