//! Memory as graphics stages use it: what the header must say, and whose accesses count.

use crate::access;
use crate::block::{Env, State};
use crate::fault::FaultKind;
use crate::inst::{Addr, Space, Width};
use crate::lanes::{Mask, lanes};
use crate::trap::Trap;
use crate::warp::Warp;

/// The lanes whose stores have an effect. A graphics stage's header must say that there are stores.
pub(crate) fn stores(env: &Env<'_>, st: &State, w: &Warp, mask: Mask) -> Result<Mask, Trap> {
    match env.stage {
        Some(s) if !s.header.global_stores => {
            let detail = "writes global memory, which the header does not declare";
            Err(Trap::new(FaultKind::OutOfBounds, lanes(mask).next().unwrap_or(0), detail))
        }
        _ => Ok(mask & !(st.ghosts | w.phantoms)),
    }
}

/// Faults where a graphics stage uses local or global memory and its header does not say so.
pub(crate) fn declares_memory(env: &Env<'_>, lane: usize) -> Result<(), Trap> {
    match env.stage {
        Some(s) if !s.header.memory => {
            let detail = "uses local or global memory, which the header does not declare";
            Err(Trap::new(FaultKind::OutOfBounds, lane, detail))
        }
        _ => Ok(()),
    }
}

/// A load of a graphics stage.
pub(crate) fn load(
    env: &Env<'_>,
    st: &mut State,
    w: &mut Warp,
    mask: Mask,
    what: (Space, Width),
    dst: u8,
    addr: &Addr,
) -> Result<(), Trap> {
    declares_memory(env, lanes(mask).next().unwrap_or(0))?;
    for_others(st.ghosts, w, mask, |w, mask| access::load(env, st, w, mask, what, dst, addr))
}

/// Loads for the lanes of a mask. Those that run for others only may name what is not there: their registers keep what they
/// have.
pub(crate) fn for_others(
    ghosts: Mask,
    w: &mut Warp,
    mask: Mask,
    mut load: impl FnMut(&mut Warp, Mask) -> Result<(), Trap>,
) -> Result<(), Trap> {
    let ghosts = mask & (ghosts | w.phantoms);
    if ghosts != mask {
        load(w, mask & !ghosts)?;
    }
    for l in lanes(ghosts) {
        let _ = load(w, 1 << l);
    }
    Ok(())
}
