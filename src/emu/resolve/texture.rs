//! Texture and surface instructions.

use super::{Cx, Res};
use crate::emu::inst::Body;

impl Cx<'_> {
    pub(super) fn texture(&mut self) -> Res<Body> {
        Err("textures")
    }

    pub(super) fn surface(&mut self) -> Res<Body> {
        Err("surfaces")
    }
}
