//! Runs that go on after faults ([`super::Options::faults`]): what the lane at fault was to do is left out, and noted.

use super::block::{self, Env, State};
use super::fault::FaultKind;
use super::inst::{Body, Inst};
use super::lanes::Mask;
use super::trap::Trap;
use super::warp::Warp;

impl State {
    /// Whether the run goes on after a fault of one lane, which is then noted. What that lane was to do is left out.
    #[cold]
    pub(super) fn goes_on(&mut self, env: &Env<'_>, w: &Warp, trap: &Trap) -> bool {
        use FaultKind::{Misaligned, OutOfBounds, Race, Uninitialized};
        let t = &trap.0;
        let count = &mut self.faults[t.kind as usize];
        let single = matches!(t.kind, Misaligned | OutOfBounds | Race | Uninitialized) && !t.conflict;
        if !single || *count + 1 >= env.faults {
            return false;
        }
        *count += 1;
        let key = (t.pc.unwrap_or(w.at), t.other.map(|o| o.pc), Some(t.kind));
        self.notes.entry(key).or_insert_with(|| (w.index, trap.clone(), 0)).2 += 1;
        true
    }
}

/// Everything that is not confined to registers, without the lanes whose faults the run goes on after.
pub(super) fn special(
    env: &Env<'_>,
    st: &mut State,
    w: &mut Warp,
    inst: &Inst,
    pc: u32,
    mask: Mask,
) -> Result<(), Trap> {
    let mut left = mask;
    while let Err(trap) = block::special(env, st, w, inst, pc, left) {
        let lane = trap.0.lane as u32;
        let others = match inst.body {
            Body::Load { .. } | Body::Store { .. } | Body::LoadConst { .. } => !(1 << lane),
            // Lanes before it have changed memory.
            Body::Atom { .. } => (Mask::MAX << lane) << 1,
            _ => return Err(trap),
        };
        if left & (1 << lane) == 0 || !st.goes_on(env, w, &trap) {
            return Err(trap);
        }
        left &= others;
        if left == 0 {
            break;
        }
    }
    Ok(())
}
