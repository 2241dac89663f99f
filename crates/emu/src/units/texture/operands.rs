//! The operands of a warp's lookup, as rows of registers.

use super::taps::Words;
use crate::code::micro::NULL;
use crate::code::texop::{Lod, TexKind, TexOp};
use crate::state::lanes::{LANES, LaneVec, Mask, lanes};
use crate::state::warp::Warp;
use nvir_base::Chip;

/// Where operands of a lookup stand among its registers.
pub(super) struct Roles {
    /// The word with the texture's name, and its lowest bit there.
    handle: Option<(usize, u32)>,
    layer: Option<usize>,
    coord: usize,
    pub level: usize,
    offset: usize,
    pub reference: usize,
}

impl Roles {
    /// As [`TexOp::args_of`] has them.
    pub(super) fn of(op: &TexOp, chip: Chip) -> Roles {
        let (handle, layer, coord) = match (chip, op.indirect, op.array) {
            (Chip::Gf100, true, array) => (Some((0, 16)), array.then_some(0), 1),
            (Chip::Gf100, false, true) => (None, Some(0), 1),
            (_, true, true) => (Some((0, 0)), Some(1), 2),
            (_, true, false) => (Some((0, 0)), None, 1),
            (_, false, true) => (None, Some(0), 1),
            (_, false, false) => (None, None, 0),
        };
        let level = coord + usize::from(op.dims);
        let has_level =
            matches!(op.kind, TexKind::Sample(Lod::Bias | Lod::Level) | TexKind::Fetch { level: true, .. });
        let offset = level + usize::from(has_level);
        Roles { handle, layer, coord, level, offset, reference: offset + usize::from(op.offset) }
    }
}

/// The operands of a warp's lookup, as rows.
pub(super) struct Operands<'a> {
    pub w: &'a Warp,
    pub op: &'a TexOp,
    pub roles: Roles,
}

impl<'a> Operands<'a> {
    pub(super) fn row(&self, n: usize) -> &'a Words {
        match self.op.args.get(n) {
            Some(&reg) if reg != NULL => &self.w.regs[usize::from(reg)].0,
            _ => &LaneVec::ZERO.0,
        }
    }

    pub(super) fn coord(&self, axis: usize) -> &'a Words {
        self.row(self.roles.coord + axis)
    }

    pub(super) fn layers(&self) -> Option<Words> {
        self.roles.layer.map(|at| self.row(at).map(|word| word & 0xffff))
    }

    /// Signed nibbles, of axes that there are.
    pub(super) fn offsets(&self) -> Option<[[i32; LANES]; 2]> {
        let of = |axis: usize| match axis < usize::from(self.op.dims) {
            true => self.row(self.roles.offset).map(|word| (word << (28 - 4 * axis)) as i32 >> 28),
            false => [0; LANES],
        };
        self.op.offset.then(|| [of(0), of(1)])
    }

    /// Whether all lanes of a mask name one texture.
    pub(super) fn name_one(&self, mask: Mask) -> bool {
        let Some((at, low)) = self.roles.handle else { return true };
        let mut names = lanes(mask).map(|l| self.row(at)[l] >> low);
        let first = names.next();
        names.all(|name| Some(name) == first)
    }
}
