//! Kepler: SUCLAMP packs coordinates, SUBFM and SUEAU make the address of them.

use super::{Coordinates, Cx, Slices, in_bytes, info};
use crate::ir::build::Builder;
use crate::ir::madsp::{self, Part};
use crate::ir::*;

/// Modes of SUCLAMP, as the machine numbers them: what the word says, and row by row.
const DESCRIBED: u8 = 0;
const PITCH: u8 = 5;

const COORDINATE: Aux = Aux::Suclamp { mode: DESCRIBED, two_d: true, signed: true, imm: 0 };
/// The number of a layer is not packed; a flag of it lies above bit 28.
const LAYER: Aux = Aux::Suclamp { mode: PITCH, two_d: true, signed: true, imm: 0 };

/// What is multiplied with what, and added. Whether the second factor's type means 16 or 24 bits is
/// disputed between the disassemblers and Mesa's NAK: bits 23:16 of ours are zeros, or only the low
/// half of the result is used.
const H0_H0_H0: u16 = madsp::formats(Part::U16H0, Part::U16H0, Part::U16H0).unwrap();
const H0_H0_U32: u16 = madsp::formats(Part::U16H0, Part::U16H0, Part::WHOLE).unwrap();
const U32_U24_U32: u16 = madsp::formats(Part::WHOLE, Part::U24, Part::WHOLE).unwrap();

impl Cx<'_> {
    /// A clamped coordinate, and whether it was outside.
    fn clamp(&self, b: &mut Builder<'_>, v: ValueId, word: ValueId, aux: Aux) -> (ValueId, ValueId) {
        let (dst, out) = (b.gpr(), b.pred());
        b.push(Inst::new(Op::Suclamp, Type::S32).src(v).src(word).src(0).dst(dst).dst(out).with_aux(aux));
        (dst, out)
    }

    /// The last block (row by row: texel) of the image's height, in the low half, for the packed slice
    /// `z`: the clamped largest coordinate. In a block that is not of the first ones `z` is larger than
    /// any coordinate: its bits from 27 on have the depth of a block, which is more than one wherever
    /// there are several slices, or the mark of rows. In the first ones the height does not count.
    fn lowest(&self, b: &mut Builder<'_>, s: &Surf, z: ValueId) -> ValueId {
        let word = self.info(b, s, info::dim(1));
        let aux = Aux::Suclamp { mode: DESCRIBED, two_d: false, signed: false, imm: 0 };
        self.clamp(b, z, word, aux).0
    }

    /// From row to row, in the units of the first coordinate.
    fn pitch(&self, b: &mut Builder<'_>, s: &Surf) -> ValueId {
        let pitch = self.info(b, s, info::PITCH);
        if !in_bytes(s) {
            return pitch;
        }
        // Row by row the word counts texels.
        let order = self.info(b, s, info::BYTES);
        let linear = b.op2(Op::And, Type::U32, order, 1 << 21);
        let linear = b.setp(Cond::Ne, Type::U32, linear, 0);
        let texels = b.op2(Op::And, Type::U32, pitch, 0xffff);
        let texel = self.info(b, s, info::TEXEL);
        let bytes = b.mul(Type::U32, texels, texel);
        b.sel(linear, bytes, pitch)
    }

    fn madsp(b: &mut Builder<'_>, parts: u16, [x, y, z]: [ValueId; 3]) -> ValueId {
        b.value(Inst::new(Op::Madsp, Type::U32).src(x).src(y).src(z).with_aux(Aux::Madsp(parts)))
    }

    /// Low byte and the rest of the address, and whether it is outside.
    pub(super) fn address(
        &self,
        b: &mut Builder<'_>,
        s: &Surf,
        at: &Coordinates,
        slices: Slices,
    ) -> [ValueId; 3] {
        if s.dim == Dim::Buffer {
            let mut size = self.info(b, s, info::SIZE);
            let mut bytes = at.coords[0];
            let texel = match s.format {
                Some(f) if !in_bytes(s) => Src::imm(f.bytes()),
                _ => self.info(b, s, info::TEXEL).into(),
            };
            if in_bytes(s) {
                size = b.mul(Type::U32, size, texel);
            } else {
                bytes = b.mul(Type::U32, bytes, texel);
            }
            let out = b.setp(Cond::Ge, Type::U32, at.coords[0], size);
            let low = b.op2(Op::And, Type::U32, bytes, 0xff);
            let rest = b.op2(Op::Shr, Type::U32, bytes, 8);
            let base = self.info(b, s, info::ADDRESS);
            return [low, b.add(Type::U32, base, rest), out];
        }
        let mut packed: Vec<ValueId> = Vec::new();
        for (axis, &v) in at.coords.iter().enumerate().take(at.dims) {
            let bytes = axis == 0 && in_bytes(s);
            let word = self.info(b, s, if bytes { info::BYTES } else { info::dim(axis) });
            packed.push(self.clamp(b, v, word, COORDINATE).0);
        }
        let layer = at.layered.then(|| {
            let word = self.info(b, s, info::dim(2));
            self.clamp(b, at.coords[at.dims], word, LAYER)
        });
        if slices != Slices::Never && s.dim == Dim::D2 && !at.layered {
            let z = self.info_part(b, s, info::LAYER + 2, Type::U16);
            let word = self.info(b, s, info::dim(2));
            packed.push(self.clamp(b, z, word, COORDINATE).0);
        }
        let x = packed[0];
        let mut offset = match packed.get(1) {
            None => b.op2(Op::And, Type::U32, x, 0xffff),
            Some(&y) => {
                let pitch = self.pitch(b, s);
                Self::madsp(b, H0_H0_H0, [y, pitch, x])
            }
        };
        let (y, mut z) = (packed.get(1).map_or(Src::imm(0), |&y| y.into()), offset);
        let three_d = packed.len() == 3;
        if let [_, _, slice] = packed[..] {
            let (last, pitch) = (self.lowest(b, s, slice), self.pitch(b, s));
            offset = if slices == Slices::Apart {
                let rows = Self::madsp(b, H0_H0_H0, [last, slice, slice]);
                Self::madsp(b, H0_H0_U32, [rows, pitch, offset])
            } else {
                let height = b.add(Type::U32, last, 1);
                let rows = Self::madsp(b, H0_H0_H0, [height, slice, packed[1]]);
                Self::madsp(b, H0_H0_H0, [rows, pitch, x])
            };
            // SUBFM wants the slice of a block, or row by row the offset's low byte. Neither minds the other.
            z = b.op3(Op::Prmt, Type::U32, offset, 0x7650, slice);
        }
        let (low, outside) = (b.gpr(), b.pred());
        let subfm = Inst::new(Op::Subfm, Type::U32).src(x).src(y).src(z);
        b.push(subfm.dst(low).dst(outside).with_aux(Aux::Subfm { three_d }));
        let base = self.info(b, s, info::ADDRESS);
        let high = b.value(Inst::new(Op::Sueau, Type::U32).src(offset).src(low).src(base));
        let Some((layer, out)) = layer else { return [low, high, outside] };
        let stride = self.info(b, s, info::ARRAY);
        let high = Self::madsp(b, U32_U24_U32, [stride, layer, high]);
        [low, high, b.op2(Op::Or, Type::Pred, outside, out)]
    }
}
