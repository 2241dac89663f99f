//! Runs that continue after faults ([`crate::Options::faults`]): what the lane at fault was to do is left out, and noted.

use crate::cx::Cx;
use crate::fault::FaultKind;
use crate::state::warp::Warp;
use crate::trap::Trap;

impl Cx<'_> {
    /// Whether the run goes on after a fault of one lane, which is then noted. What that lane was to do is left out.
    #[cold]
    pub fn goes_on(&mut self, w: &Warp, trap: &Trap) -> bool {
        use FaultKind::{Misaligned, OutOfBounds, Race, Uninitialized};
        let t = &trap.0;
        let count = &mut self.block.faults[t.kind as usize];
        let single = matches!(t.kind, Misaligned | OutOfBounds | Race | Uninitialized) && !t.conflict;
        if !single || *count + 1 >= self.env.faults {
            return false;
        }
        *count += 1;
        let key = (t.pc.unwrap_or(w.at), t.other.map(|o| o.pc), Some(t.kind));
        self.block.notes.entry(key).or_insert_with(|| (w.index, trap.clone(), 0)).2 += 1;
        true
    }
}
