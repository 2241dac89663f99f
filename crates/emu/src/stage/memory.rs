//! Memory as graphics stages use it: what the header must say, and whose accesses count.

use crate::code::micro::{Addr, Space, Width};
use crate::cx::{Cx, Env};
use crate::fault::FaultKind;
use crate::state::lanes::{Mask, lanes};
use crate::state::warp::Warp;
use crate::trap::Trap;
use crate::units;

/// The lanes whose stores have an effect. A graphics stage's header must say that there are stores.
pub(crate) fn stores(cx: &Cx<'_>, w: &Warp, mask: Mask) -> Result<Mask, Trap> {
    match cx.env.stage {
        Some(s) if !s.header.global_stores => {
            let detail = "writes global memory, which the header does not declare";
            Err(Trap::new(FaultKind::OutOfBounds, lanes(mask).next().unwrap_or(0), detail))
        }
        _ => Ok(mask & !(cx.block.helpers | w.quad_helpers)),
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
    cx: &mut Cx<'_>,
    w: &mut Warp,
    mask: Mask,
    what: (Space, Width),
    dst: u8,
    addr: &Addr,
) -> Result<(), Trap> {
    declares_memory(cx.env, lanes(mask).next().unwrap_or(0))?;
    for_others(cx.block.helpers, w, mask, |w, mask| units::memory::load(cx, w, mask, what, dst, addr))
}

/// Loads for the lanes of a mask. Those that run for others only may name what is not there: their registers keep what they
/// have.
pub(crate) fn for_others(
    helpers: Mask,
    w: &mut Warp,
    mask: Mask,
    mut load: impl FnMut(&mut Warp, Mask) -> Result<(), Trap>,
) -> Result<(), Trap> {
    let helpers = mask & (helpers | w.quad_helpers);
    if helpers != mask {
        load(w, mask & !helpers)?;
    }
    for l in lanes(helpers) {
        let _ = load(w, 1 << l);
    }
    Ok(())
}
