//! Surface instructions.

use super::block::{Env, State};
use super::lanes::Mask;
use super::trap::Trap;
use super::warp::Warp;

/// A surface instruction.
#[derive(Clone, Debug)]
pub struct SurfaceOp {}

pub(super) fn execute(
    _env: &Env<'_>,
    _st: &mut State,
    _w: &mut Warp,
    _op: &SurfaceOp,
    _mask: Mask,
) -> Result<(), Trap> {
    Ok(())
}
