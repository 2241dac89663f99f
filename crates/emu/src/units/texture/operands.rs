//! The operands of a warp's lookup, as rows of registers.

use super::taps::Words;
use crate::code::micro::NULL;
use crate::code::texop::{Lod, TexKind, TexOp};
use crate::state::lanes::{LANES, LaneVec, Mask, lanes};
use crate::state::warp::Warp;
use nvir_base::Chip;

/// Where operands of a lookup stand among its registers, in the machine's order (see `lower::textures`); none for those that it does
/// not have.
#[derive(Clone, Copy)]
pub(super) struct Roles {
    /// The word with the texture's name, and its lowest bit there.
    pub handle: Option<(usize, u32)>,
    pub layer: Option<usize>,
    /// The first of them.
    pub coord: usize,
    pub sample: Option<usize>,
    pub level: Option<usize>,
    /// The word of offsets, and their lowest bit there. Gathers with four pairs have two words.
    pub offset: Option<(usize, u32)>,
    pub reference: Option<usize>,
    /// The first of them.
    pub derivatives: Option<usize>,
}

impl Roles {
    pub(super) fn of(op: &TexOp, chip: Chip) -> Roles {
        let mut count = 0;
        let mut next = |n: usize| {
            count += n;
            count - n
        };
        let query = matches!(op.kind, TexKind::QuerySize | TexKind::QueryType);
        let grad = op.kind == TexKind::Grad;
        let layered = op.array && !query;
        let (handle, layer, mut offset) = if chip == Chip::Gf100 {
            // One word for both.
            let word = (op.indirect || layered).then(|| next(1));
            (word.filter(|_| op.indirect).map(|at| (at, 16)), word.filter(|_| layered), None)
        } else {
            let handle = op.indirect.then(|| (next(1), 0));
            // With derivatives, offsets are beside the layer.
            let packed = grad && op.offset;
            let word = (layered || packed).then(|| next(1));
            (handle, word.filter(|_| layered), word.filter(|_| packed).map(|at| (at, 16)))
        };
        let coord = if query { 0 } else { next(op.dims.into()) };
        let sample = matches!(op.kind, TexKind::Fetch { ms: true, .. }).then(|| next(1));
        let has_level =
            matches!(op.kind, TexKind::Sample(Lod::Bias | Lod::Level) | TexKind::Fetch { level: true, .. });
        let level = (has_level || query).then(|| next(1));
        if op.offset && offset.is_none() && !query {
            let words = if matches!(op.kind, TexKind::Gather { four: true, .. }) { 2 } else { 1 };
            offset = Some((next(words), 0));
        }
        let derivatives = grad.then(|| next(2 * usize::from(op.dims)));
        let reference = (op.shadow && !grad && !query).then(|| next(1));
        Roles { handle, layer, coord, sample, level, offset, reference, derivatives }
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

    /// Levels, or what is added to them; zero if there are none.
    pub(super) fn level(&self) -> &'a Words {
        self.roles.level.map_or(&LaneVec::ZERO.0, |at| self.row(at))
    }

    pub(super) fn coord(&self, axis: usize) -> &'a Words {
        self.row(self.roles.coord + axis)
    }

    pub(super) fn layers(&self) -> Option<Words> {
        self.roles.layer.map(|at| self.row(at).map(|word| word & 0xffff))
    }

    /// Signed nibbles, of axes that there are.
    pub(super) fn offsets(&self) -> Option<[[i32; LANES]; 2]> {
        let (at, low) = self.roles.offset?;
        let of = |axis: usize| match axis < usize::from(self.op.dims) {
            true => self.row(at).map(|word| (word >> low << (28 - 4 * axis)) as i32 >> 28),
            false => [0; LANES],
        };
        Some([of(0), of(1)])
    }

    /// Whether all lanes of a mask name one texture.
    pub(super) fn name_one(&self, mask: Mask) -> bool {
        let Some((at, low)) = self.roles.handle else { return true };
        let mut names = lanes(mask).map(|l| self.row(at)[l] >> low);
        let first = names.next();
        names.all(|name| Some(name) == first)
    }
}
