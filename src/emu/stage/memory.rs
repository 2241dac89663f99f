//! Memory as graphics stages use it: what the header must say, and whose accesses count.

use crate::emu::access;
use crate::emu::block::{Env, State};
use crate::emu::fault::FaultKind;
use crate::emu::inst::{Addr, Space, Width};
use crate::emu::lanes::{Mask, lanes};
use crate::emu::trap::Trap;
use crate::emu::warp::Warp;

/// The lanes whose stores have an effect. A graphics stage's header must say that there are stores.
pub(in crate::emu) fn stores(env: &Env<'_>, st: &State, w: &Warp, mask: Mask) -> Result<Mask, Trap> {
    match env.stage {
        Some(s) if !s.header.global_stores => {
            let detail = "writes global memory, which the header does not declare";
            Err(Trap::new(FaultKind::OutOfBounds, lanes(mask).next().unwrap_or(0), detail))
        }
        _ => Ok(mask & !(st.ghosts | w.phantoms)),
    }
}

/// Faults where a graphics stage uses local or global memory and its header does not say so.
pub(in crate::emu) fn declares_memory(env: &Env<'_>, lane: usize) -> Result<(), Trap> {
    match env.stage {
        Some(s) if !s.header.memory => {
            let detail = "uses local or global memory, which the header does not declare";
            Err(Trap::new(FaultKind::OutOfBounds, lane, detail))
        }
        _ => Ok(()),
    }
}

/// A load of a graphics stage.
pub(in crate::emu) fn load(
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
pub(in crate::emu) fn for_others(
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
