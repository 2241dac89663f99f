//! Predicated writes that are as good as whole ones: nobody reads what they leave where their guard is false.
//!
//! ```text
//! @P0 LD.E R5, [R6]        @P0 LD.E R5, [R6]
//! @P0 FADD R4, R4, R5      @P0 FADD R4, R4, R5
//! @P1 LD.E R5, [R8]   ->   @P1 LD.E R7, [R8]
//! @P1 FADD R4, R4, R5      @P1 FADD R4, R4, R7
//! ```
//!
//! From the end of a block backwards it is known of each register in which lanes its value is still read: in none, in
//! all, or in those where a guard is true. A write under that guard needs nothing of what was there before.

use super::liveness::Set;
use crate::emit::code::Line;
use crate::isa::effects::{Resource, Touched, is_texture};
use crate::isa::{MInst, Op, Pred};

/// The lanes in which a value is read later: in none, in all, or by what guard.
const NOWHERE: u8 = 0;
const EVERYWHERE: u8 = 1;

/// Those in which a guard is true, and in which it is false.
fn lanes(guard: Pred) -> (u8, u8) {
    let mask = 2 + 2 * guard.num;
    if guard.not { (mask + 1, mask) } else { (mask, mask + 1) }
}

/// Whether it adds to its destination, which it then reads.
pub(super) fn adds(m: &MInst) -> bool {
    matches!(m.op, Op::Ffma32i | Op::Imad32i)
}

/// Whether it may read what other lanes have, whose guard may be another.
fn looks_at_others(m: &MInst) -> bool {
    is_texture(m.op) || matches!(m.op, Op::Shfl | Op::Fswz | Op::Cal | Op::Jcal | Op::Ret)
}

/// For each instruction whether it is predicated and nobody reads what it leaves in the lanes where it is not executed; nothing where
/// none is. `after`: what is read after the block.
pub(super) fn find_whole(lines: &[&Line], touched: &Touched, after: &Set, whole: &mut Vec<bool>) {
    whole.clear();
    if lines.iter().all(|l| l.inst.guard.is_true() || touched.writes(l.touches).is_empty()) {
        return;
    }
    whole.resize(lines.len(), false);
    let mut read: [u8; Resource::COUNT] =
        std::array::from_fn(|r| if after.has(r as u16) { EVERYWHERE } else { NOWHERE });
    for (line, whole) in lines.iter().zip(whole).rev() {
        let (m, t) = (&line.inst, line.touches);
        let (here, elsewhere) = lanes(m.guard);
        let always = m.guard.is_true();
        let spared = |&r: &u16| [NOWHERE, here].contains(&read[usize::from(r)]);
        *whole = !always && touched.writes(t).iter().all(spared);
        for &r in touched.writes(t) {
            let lanes_read = &mut read[usize::from(r)];
            *lanes_read = match *lanes_read {
                _ if always => NOWHERE,
                EVERYWHERE => elsewhere,
                lanes if lanes == here => NOWHERE,
                lanes => lanes,
            };
            // What a guard said before was of other lanes.
            if r < Resource::Carry.index() as u16 {
                let (is_true, is_false) = lanes(Pred { num: r as u8, not: false });
                read.iter_mut().filter(|l| [is_true, is_false].contains(l)).for_each(|l| *l = EVERYWHERE);
            }
        }
        let here = if always || looks_at_others(m) { EVERYWHERE } else { here };
        let added = if adds(m) { touched.writes(t) } else { &[] };
        for &r in touched.reads(t).iter().chain(added) {
            let lanes_read = &mut read[usize::from(r)];
            *lanes_read = if [NOWHERE, here].contains(lanes_read) { here } else { EVERYWHERE };
        }
    }
}
