//! GF100: coordinates for a bound slot, of which the hardware knows two dimensions.

use super::{Coordinates, Cx, Place, Slices, in_bytes, info};
use crate::driver::Abi;
use crate::ir::build::Builder;
use crate::ir::*;

impl Cx<'_> {
    /// Whether a coordinate is outside where the hardware cannot tell, or `outside` already. It
    /// knows the extents of two dimensions: texels of other slices lie there where three were
    /// meant, a row of a buffer is filled up to 256 bytes, and the number of layers is unknown.
    pub(super) fn beyond(
        &self,
        b: &mut Builder<'_>,
        s: &Surf,
        at: &Coordinates,
        outside: ValueId,
        raw: bool,
    ) -> ValueId {
        let axes = match s.dim {
            Dim::Buffer => 0..1,
            _ if at.layered => at.dims..at.dims + 1,
            // Mesa binds a slice of three dimensions as an image of two.
            Dim::D2 | Dim::D3 => 0..at.dims,
            _ => 0..0,
        };
        let bytes = in_bytes(s) && raw;
        axes.fold(outside, |outside, n| {
            // Layers stand in the third place always.
            let axis = if n == at.dims { 2 } else { n };
            let mut size = self.info(b, s, info::SIZE + 4 * axis as u32);
            if n == 0 && bytes {
                let shift = self.info(b, s, info::TEXEL);
                size = b.op2(Op::Shl, Type::U32, size, shift);
            }
            let out = b.setp(Cond::Ge, Type::U32, at.coords[n], size);
            b.op2(Op::Or, Type::Pred, outside, out)
        })
    }

    pub(super) fn slot(&self, b: &mut Builder<'_>, s: &Surf) -> Src {
        match s.index {
            Some(index) => {
                let n = b.add(Type::U32, index, u32::from(s.image));
                b.op2(Op::And, Type::U32, n, Abi::MAX_IMAGES - 1).into()
            }
            None => Src::imm(s.image.into()),
        }
    }

    /// The coordinates: x in bytes where bytes are loaded.
    pub(super) fn texel(
        &self,
        b: &mut Builder<'_>,
        s: &Surf,
        at: Coordinates,
        raw: bool,
        slices: Slices,
    ) -> Place {
        let mut c = at.coords;
        if raw && !in_bytes(s) {
            let shift = self.info(b, s, info::TEXEL);
            c[0] = b.op2(Op::Shl, Type::U32, c[0], shift);
        }
        if at.layered {
            if at.dims == 1 {
                let zero = b.mov(0);
                c.insert(1, zero);
            }
            let stride = self.info(b, s, info::ARRAY);
            c[2] = b.mul(Type::U32, c[2], stride);
        } else if s.dim == Dim::D3 || s.dim == Dim::D2 && slices != Slices::Never {
            c = self.tiled(b, s, &c, raw).to_vec();
        }
        c.into_iter().collect()
    }

    /// Where a texel of a slice lies in the image of two dimensions that the slot describes: tiles of all slices of a tile's depth stand side by side, and those of deeper tiles below
    /// (envytools, `g80-surface`).
    fn tiled(&self, b: &mut Builder<'_>, s: &Surf, c: &[ValueId], raw: bool) -> [ValueId; 2] {
        let first = self.info(b, s, info::LAYER);
        let z = match c.get(2) {
            Some(&z) => b.add(Type::U32, first, z),
            None => first,
        };
        let at = [c[0], c[1], z];
        let (mut inside, mut tile, mut shift) = ([z; 3], [z; 3], [z; 3]);
        for axis in 0..3 {
            let (field, by) = if axis == 0 && raw {
                // Tiles are 64 bytes wide.
                (b.mov(0x600), b.mov(6))
            } else {
                let word = info::dim(axis);
                (self.info_part(b, s, word + 2, Type::U16), self.info_part(b, s, word + 3, Type::U8))
            };
            shift[axis] = by;
            inside[axis] = b.op2(Op::Ext, Type::U32, at[axis], field);
            tile[axis] = b.op2(Op::Shr, Type::U32, at[axis], by);
        }
        let deep = b.add(Type::U32, shift[2], shift[0]);
        let x_tiles = b.op2(Op::Shl, Type::U32, tile[0], deep);
        let x_slice = b.op2(Op::Shl, Type::U32, inside[2], shift[0]);
        let x = b.add(Type::U32, inside[0], x_tiles);
        let x = b.add(Type::U32, x, x_slice);
        let word = self.info(b, s, info::dim(1));
        let rows = b.op2(Op::And, Type::U32, word, 0xffff);
        let y_slices = b.mul(Type::U32, tile[2], rows);
        let y_tiles = b.op2(Op::Shl, Type::U32, tile[1], shift[1]);
        let y = b.add(Type::U32, inside[1], y_tiles);
        [x, b.add(Type::U32, y, y_slices)]
    }
}
