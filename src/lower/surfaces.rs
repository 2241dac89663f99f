//! Image instructions to what the chips have.
//!
//! - Kepler computes the address itself: SUCLAMP packs a clamped coordinate, SUBFM and SUEAU make
//!   the low byte and the rest of the address of them, IMADSP the offsets between. SULDGA loads raw
//!   bytes there, SUSTGA stores through the format. The predicate of SUBFM says that a coordinate
//!   is outside, and suppresses the access. The words say whether the image lies in blocks or row
//!   by row; the code is right for both.
//! - GF100 names a bound slot: SULD loads raw bytes by a coordinate in bytes, SUST stores through
//!   the format, SULEA gives an address. Slices of three-dimensional images are tiled by hand onto
//!   two dimensions.
//!
//! An image of two dimensions may be a slice of one with three. Where it is accessed once, the code
//! is that for two, and what slices need stands behind a branch, one for several images:
//!
//! ```text
//! sust.p u32 # image 0 2d [%r0 %r1] ...  ->   (address and predicate in two dimensions)
//!                                             set.eq pred u32 %p9 c7[0x4bc] 0x0
//!                                             if %p9 b2(%r6 %r7 %p8) b1 join b2
//!                                         b1: (the same with the slice)
//!                                             jump b2(%r12 %r13 %p14)
//!                                         b2(%r15 %r16 %p17): sust ...
//! ```
//!
//! What is loaded raw is taken apart by the declared format; without one, on Kepler, by the image's
//! at run time ([`super::texels`]). Atomics go to global memory. The words that describe an image
//! stand in the driver's constant buffer ([`nvir_hw::surface`]).

use super::blocks;
use super::library::{Library, Routine};
use crate::chip::Chip;
use crate::driver::Abi;
use crate::format::{Format, Kind, Layout};
use crate::ir::build::Builder;
use crate::ir::madsp::{self, Part};
use crate::ir::*;
use arrayvec::ArrayVec;
use rustc_hash::FxHashSet;

/// Where the words that describe an image begin, in bytes.
mod info {
    use nvir_hw::image_word::{self as word, byte};

    pub(super) const ADDRESS: u32 = byte(word::ADDRESS);
    pub(super) const FORMAT: u32 = byte(word::FORMAT);
    pub(super) const PITCH: u32 = byte(word::PITCH);
    pub(super) const ARRAY: u32 = byte(word::ARRAY);
    pub(super) const LAYER: u32 = byte(word::LAYER);
    pub(super) const SIZE: u32 = byte(word::SIZE);
    pub(super) const TEXEL: u32 = byte(word::TEXEL);
    pub(super) const MS_X: u32 = byte(word::MS_X);
    pub(super) const MS_Y: u32 = byte(word::MS_Y);
    pub(super) const BYTES: u32 = byte(word::CLAMP_BYTES);

    /// Clamping (Kepler) or tiling (GF100) of a coordinate.
    pub(super) const fn dim(axis: usize) -> u32 {
        byte(word::DIM[axis])
    }
}

/// Takes the image instructions of a function apart. `lengthen`: code may become longer to be faster.
pub fn run(f: &mut Function, chip: Chip, abi: &Abi, library: &mut Library, lengthen: bool) -> bool {
    let cx = Cx { chip, abi };
    let alone = if lengthen { accessed_once(f) } else { Vec::new() };
    let (mut changed, mut loops) = (false, OpenLoops::default());
    let mut layout = Vec::with_capacity(f.layout.len() + 2 * alone.len());
    for mut block in std::mem::take(&mut f.layout) {
        layout.push(block);
        loops.enter(block, f.blocks[block].merge);
        let apart = if loops.any() { &[][..] } else { &alone };
        let body = std::mem::take(&mut f.blocks[block].body);
        let mut places: Vec<(InstId, Place)> = Vec::new();
        for (n, &id) in body.iter().enumerate() {
            let Some(i) = abstract_form(f, id).cloned() else {
                f.blocks[block].body.push(id);
                continue;
            };
            if apart.contains(&id) && places.iter().all(|p| p.0 != id) {
                places = cx.places(f, &mut layout, &mut block, &together(f, &body[n..], apart));
            }
            let place = places.iter().find(|p| p.0 == id).map(|p| &p.1);
            let mut b = Builder::new(f, block);
            b.loc = i.loc;
            if let Some(surf) = i.surf() {
                cx.lower(&mut b, &i, surf, place, library);
            }
            changed = true;
        }
    }
    f.layout = layout;
    changed
}

/// An image instruction that has not been taken apart.
fn abstract_form(f: &Function, i: InstId) -> Option<&Inst> {
    Some(&f.insts[i]).filter(|i| i.surf().is_some() && i.srcs.is_empty())
}

/// The accesses to images that have no other in the function, and may be to slices of three dimensions for all lanes.
/// (What several accesses need for slices is computed once, and a branch at each would keep their loads apart.)
fn accessed_once(f: &Function) -> Vec<InstId> {
    let instructions = f.insts_in_order().map(|(_, i)| (i, &f.insts[i])).filter(|(_, i)| i.op != Op::Suq);
    let mut accesses: Vec<(u16, InstId)> =
        instructions.filter_map(|(id, i)| Some((i.surf()?.image, id))).collect();
    accesses.sort_unstable_by_key(|a| a.0);
    let may_be_slice = |i: InstId| {
        abstract_form(f, i).and_then(Inst::surf).is_some_and(|s| {
            s.dim == Dim::D2 && !s.array && s.index.is_none() && s.handle.is_none() && !in_bytes(s)
        })
    };
    let once = accesses.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() == 1).map(|same| same[0].1);
    once.filter(|&i| may_be_slice(i)).collect()
}

/// The first instruction and others of those `apart` whose coordinates are known there: addresses of a few accesses
/// may wait in registers.
fn together(f: &Function, body: &[InstId], apart: &[InstId]) -> ArrayVec<InstId, 4> {
    let others = body.iter().skip(1).filter(|i| apart.contains(i)).count();
    let mut group: ArrayVec<InstId, 4> = body.iter().copied().take(1).collect();
    let mut made: FxHashSet<ValueId> = FxHashSet::default();
    let mut left = others;
    for &i in body {
        let inst = &f.insts[i];
        if left == 0 || group.is_full() {
            break;
        }
        if i != body[0] && apart.contains(&i) {
            left -= 1;
            if inst.surf().is_some_and(|s| s.coords.iter().all(|v| !made.contains(v))) {
                group.push(i);
            }
        }
        made.extend(&inst.dsts);
    }
    group
}

struct Cx<'a> {
    chip: Chip,
    abi: &'a Abi,
}

/// Where an access goes in the image. Kepler: low byte and the rest of the address, and whether it is outside.
/// GF100: coordinates as the hardware wants them.
type Place = ArrayVec<ValueId, 3>;

/// Coordinates as the hardware counts them: samples are texels of a larger image.
struct Coordinates {
    coords: Vec<ValueId>,
    /// Without the layer.
    dims: usize,
    layered: bool,
}

/// Where an access goes, and whether it must not happen.
struct Target {
    srcs: Vec<Src>,
    outside: ValueId,
}

impl Cx<'_> {
    /// `place`: where an access goes, if that is known already.
    fn lower(&self, b: &mut Builder<'_>, i: &Inst, s: &Surf, place: Option<&Place>, library: &mut Library) {
        match i.op {
            Op::Suq => self.size(b, i, s),
            Op::Suld | Op::Sust if in_bytes(s) => self.words(b, i, s),
            Op::Suld if s.format.is_none() && self.chip != Chip::Gf100 => {
                self.unknown(b, i, s, place, library);
            }
            Op::Suld => self.load(b, i, s, place),
            Op::Sust => self.store(b, s, place),
            _ => self.atomic(b, i, s, place),
        }
    }

    /// The places of accesses. Where a slice of three dimensions is bound they are made behind a branch.
    fn places(
        &self,
        f: &mut Function,
        layout: &mut Vec<BlockId>,
        block: &mut BlockId,
        accesses: &[InstId],
    ) -> Vec<(InstId, Place)> {
        let detour = blocks::detour(f, layout, *block);
        *block = detour.join;
        let surfs: Vec<(InstId, Inst)> = accesses.iter().map(|&i| (i, f.insts[i].clone())).collect();
        let mut b = Builder::new(f, detour.from);
        b.loc = surfs[0].1.loc;
        let all = |b: &mut Builder<'_>, slices: bool| -> Vec<Place> {
            let accesses = surfs.iter().filter_map(|(_, i)| i.surf().map(|s| (i.op != Op::Sust, s)));
            let place = |(raw, s)| {
                let at = self.coordinates(b, s);
                self.place(b, s, at, raw, slices)
            };
            accesses.map(place).collect()
        };
        let words: &[u32] = match self.chip {
            // In blocks that are more than one slice deep, the first one lies otherwise, too.
            Chip::Gf100 => &[info::dim(2), info::LAYER],
            _ => &[info::LAYER],
        };
        let mut plain = None;
        for s in surfs.iter().filter_map(|(_, i)| i.surf()) {
            for &word in words {
                let word = self.info(&mut b, s, word);
                let zero = b.setp(Cond::Eq, Type::U32, word, 0);
                plain = Some(plain.map_or(zero, |p| b.op2(Op::And, Type::Pred, p, zero)));
            }
        }
        let in_plane = all(&mut b, false);
        let edge =
            |places: &[Place]| Edge { to: detour.join, args: places.iter().flatten().copied().collect() };
        if let Some(cond) = plain {
            b.terminate(Term::Branch { cond, not: false, then: edge(&in_plane), els: Edge::to(detour.rare) });
        }
        b.block = detour.rare;
        let in_slices = all(&mut b, true);
        b.terminate(Term::Jump(edge(&in_slices)));
        let joined = |p: &Place| {
            p.iter().map(|&v| b.func.add_block_param(detour.join, b.func.values[v].class)).collect()
        };
        accesses.iter().copied().zip(in_plane.iter().map(joined)).collect()
    }

    /// A word of the image's description.
    fn info(&self, b: &mut Builder<'_>, s: &Surf, offset: u32) -> ValueId {
        self.info_part(b, s, offset, Type::U32)
    }

    /// A byte or half of a word of the image's description, or the whole.
    fn info_part(&self, b: &mut Builder<'_>, s: &Surf, offset: u32, ty: Type) -> ValueId {
        let align = Align::multiple_of(4).plus((offset & 3) as i32);
        let mem = MemRef::new(Space::Const).with_buffer(self.abi.aux_bank.into()).with_align(align);
        let (base, at) = match (s.handle, s.index) {
            (Some(handle), _) => {
                let table = self.abi.bindless_info.unwrap_or(self.abi.su_info);
                let entry = b.op2(Op::And, Type::U32, handle, 511);
                (Some(b.op2(Op::Shl, Type::U32, entry, 6)), u32::from(table))
            }
            (None, Some(index)) => {
                let n = b.add(Type::U32, index, u32::from(s.image));
                let n = b.op2(Op::And, Type::U32, n, Abi::MAX_IMAGES - 1);
                (Some(b.op2(Op::Shl, Type::U32, n, 6)), u32::from(self.abi.su_info))
            }
            (None, None) => (None, u32::from(self.abi.su_info) + 64 * u32::from(s.image)),
        };
        let mem = mem.with_offset((at + offset) as i32);
        let mem = match base {
            Some(v) => mem.with_base(&[v]),
            None => mem,
        };
        b.ld(ty, mem)[0]
    }

    fn size(&self, b: &mut Builder<'_>, i: &Inst, s: &Surf) {
        let cube = s.dim == Dim::Cube;
        let mut dsts = i.dsts.iter();
        for axis in 0..3usize {
            if s.mask >> axis & 1 == 0 {
                continue;
            }
            let Some(&dst) = dsts.next() else { return };
            // Layers stand in the third place always.
            let at = if axis == 1 && s.dim == Dim::D1 && s.array { 2 } else { axis };
            let v = self.info(b, s, info::SIZE + 4 * at as u32);
            let mut inst = Inst::new(Op::Mov, Type::U32).src(v);
            if axis == 2 && cube {
                inst = Inst::new(Op::Div, Type::U32).src(v).src(6);
            }
            b.push(inst.dst(dst));
        }
        if let (true, Some(&dst)) = (s.mask & 8 != 0, dsts.next()) {
            let inst = if s.dim == Dim::Ms {
                let (x, y) = (self.info(b, s, info::MS_X), self.info(b, s, info::MS_Y));
                let both = b.add(Type::U32, x, y);
                Inst::new(Op::Shl, Type::U32).src(1).src(both)
            } else {
                Inst::new(Op::Mov, Type::U32).src(1)
            };
            b.push(inst.dst(dst));
        }
    }

    fn coordinates(&self, b: &mut Builder<'_>, s: &Surf) -> Coordinates {
        let dims = match s.dim {
            Dim::Buffer | Dim::D1 => 1,
            Dim::D2 | Dim::Ms | Dim::Cube => 2,
            Dim::D3 => 3,
        };
        let layered = s.array || s.dim == Dim::Cube;
        let mut coords: Vec<ValueId> = s.coords.clone();
        while coords.len() < dims + usize::from(layered) {
            coords.push(b.mov(0));
        }
        if let (Dim::Ms, Some(sample)) = (s.dim, s.sample) {
            let sample = b.op2(Op::And, Type::U32, sample, 7);
            let at = b.op2(Op::Shl, Type::U32, sample, 3);
            for (axis, word) in [(0, info::MS_X), (1, info::MS_Y)] {
                let shift = self.info(b, s, word);
                let first = b.op2(Op::Shl, Type::U32, coords[axis], shift);
                let table = MemRef::new(Space::Const)
                    .with_buffer(self.abi.aux_bank.into())
                    .with_base(&[at])
                    .with_offset(i32::from(self.abi.ms_info) + 4 * axis as i32)
                    .with_align(Align::multiple_of(4));
                let delta = b.ld(Type::U32, table)[0];
                coords[axis] = b.add(Type::U32, first, delta);
            }
        }
        Coordinates { coords, dims, layered }
    }

    /// Whether no image is bound, or one with texels of another size.
    fn unbound(&self, b: &mut Builder<'_>, s: &Surf, format: Option<Format>) -> ValueId {
        if self.chip != Chip::Gf100 {
            // The words of what is not bound are zeros, and a texel has bytes.
            let size = self.info(b, s, info::TEXEL);
            return match format {
                Some(f) => b.setp(Cond::Ne, Type::U32, size, f.bytes()),
                None => b.setp(Cond::Eq, Type::U32, size, 0),
            };
        }
        let other = format.map(|f| {
            let size = self.info(b, s, info::TEXEL);
            b.setp(Cond::Ne, Type::U32, size, f.bytes().trailing_zeros())
        });
        match other {
            Some(other) if format.is_some_and(|f| f.bytes() > 1) => other,
            _ => {
                let address = self.info(b, s, info::ADDRESS);
                let none = b.setp(Cond::Eq, Type::U32, address, 0);
                other.map_or(none, |other| b.op2(Op::Or, Type::Pred, none, other))
            }
        }
    }

    fn target(
        &self,
        b: &mut Builder<'_>,
        s: &Surf,
        raw: bool,
        format: Option<Format>,
        place: Option<&Place>,
    ) -> Target {
        let at = self.coordinates(b, s);
        let unbound = self.unbound(b, s, format);
        let fermi = self.chip == Chip::Gf100;
        let outside = if fermi { self.beyond(b, s, &at, unbound, raw) } else { unbound };
        let place = match place {
            Some(place) => place.clone(),
            None => self.place(b, s, at, raw, s.dim == Dim::D2),
        };
        if fermi {
            return Target { srcs: vec![self.slot(b, s), Src::tuple(&place)], outside };
        }
        let outside = b.op2(Op::Or, Type::Pred, place[2], outside);
        let format = if raw { Src::imm(0) } else { self.info(b, s, info::FORMAT).into() };
        Target { srcs: vec![Src::tuple(&place[..2]), format], outside }
    }

    /// `slices`: what has two dimensions may be a slice of three.
    fn place(&self, b: &mut Builder<'_>, s: &Surf, at: Coordinates, raw: bool, slices: bool) -> Place {
        match self.chip {
            Chip::Gf100 => self.texel(b, s, at, raw, slices),
            _ => self.address(b, s, &at, slices).into(),
        }
    }

    // ---- Kepler

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
    fn address(&self, b: &mut Builder<'_>, s: &Surf, at: &Coordinates, slices: bool) -> [ValueId; 3] {
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
        if slices && !at.layered {
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
            let last = self.lowest(b, s, slice);
            let rows = Self::madsp(b, H0_H0_H0, [last, slice, slice]);
            let pitch = self.pitch(b, s);
            offset = Self::madsp(b, H0_H0_U32, [rows, pitch, offset]);
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

    // ---- GF100

    /// Whether a coordinate is outside where the hardware cannot tell, or `outside` already. It
    /// knows the extents of two dimensions: texels of other slices lie there where three were
    /// meant, a row of a buffer is filled up to 256 bytes, and the number of layers is unknown.
    fn beyond(
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

    fn slot(&self, b: &mut Builder<'_>, s: &Surf) -> Src {
        match s.index {
            Some(index) => {
                let n = b.add(Type::U32, index, u32::from(s.image));
                b.op2(Op::And, Type::U32, n, Abi::MAX_IMAGES - 1).into()
            }
            None => Src::imm(s.image.into()),
        }
    }

    /// The coordinates: x in bytes where bytes are loaded.
    fn texel(&self, b: &mut Builder<'_>, s: &Surf, at: Coordinates, raw: bool, slices: bool) -> Place {
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
        } else if slices || s.dim == Dim::D3 {
            c = self.tiled(b, s, &c, raw).to_vec();
        }
        c.into_iter().collect()
    }

    /// Where a texel of a slice lies in the image of two dimensions that the hardware is told of:
    /// tiles of all slices of a tile's depth stand side by side, and those of deeper tiles below
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

    // ---- accesses

    fn machine(&self, op: Op, ty: Type, s: &Surf, access: SurfAccess) -> Inst {
        let mut inst = Inst::new(op, ty);
        let mut ext = s.clone();
        ext.coords.clear();
        ext.data.clear();
        (ext.index, ext.handle, ext.sample) = (None, None, None);
        ext.machine = Some(SurfMachine { shape: Self::shape(s), access });
        inst.ext = Some(Box::new(Ext::Surf(ext)));
        inst
    }

    fn shape(s: &Surf) -> SurfShape {
        match (s.dim, s.array) {
            (Dim::Cube, _) | (_, true) => SurfShape::Layers,
            (Dim::Buffer | Dim::D1, _) => SurfShape::D1,
            _ => SurfShape::D2,
        }
    }

    fn load(&self, b: &mut Builder<'_>, i: &Inst, s: &Surf, place: Option<&Place>) {
        let words = s.format.map_or(4, |f| f.bytes().div_ceil(4) as usize);
        let ty = match s.format.map_or(16, Format::bytes) {
            1 => Type::U8,
            2 => Type::U16,
            4 => Type::U32,
            8 => Type::U64,
            _ => Type::B128,
        };
        let t = self.target(b, s, true, s.format, place);
        let mut inst = self.machine(Op::Suld, ty, s, SurfAccess::Texel);
        inst.srcs.extend(t.srcs);
        if self.chip == Chip::Gf100 {
            // A slot that nothing is bound to faults.
            inst.guard = Some(Guard { pred: t.outside, not: true });
        } else {
            inst.srcs.push(t.outside.into());
        }
        let mut raw: Vec<ValueId> = Vec::new();
        for _ in 0..words {
            let d = b.gpr();
            inst.dsts.push(d);
            raw.push(d);
        }
        b.push(inst);
        if self.chip == Chip::Gf100 {
            // What is not there reads as zeros; the hardware sees to coordinates outside of two
            // dimensions.
            raw = raw.iter().map(|&v| b.sel(t.outside, 0, v)).collect();
        }
        let mut dsts = i.dsts.iter();
        for channel in 0..4 {
            if s.mask >> channel & 1 == 0 {
                continue;
            }
            let Some(&dst) = dsts.next() else { return };
            let v = match s.format {
                Some(f) => unpack(b, f.layout(), &raw, channel),
                None => raw[channel.min(raw.len() - 1)].into(),
            };
            b.push(Inst::new(Op::Mov, Type::U32).src(v).dst(dst));
        }
    }

    /// A load from an image whose format the program does not say. Texels of up to four bytes are
    /// taken out of the word that they lie in.
    fn unknown(&self, b: &mut Builder<'_>, i: &Inst, s: &Surf, place: Option<&Place>, library: &mut Library) {
        let t = self.target(b, s, false, None, place);
        let (address, format) = (t.srcs[0].values(), t.srcs[1]);
        let (low, high) = (address[0], address[1]);
        let aligned = b.op2(Op::And, Type::U32, low, 0xfc);
        let size = b.op2(Op::Ext, Type::U32, format, 16 | 4 << 8);
        let load = |b: &mut Builder<'_>, ty: Type, other: ValueId| {
            let mut inst = self.machine(Op::Suld, ty, s, SurfAccess::Texel);
            let outside = b.op2(Op::Or, Type::Pred, t.outside, other);
            inst.srcs.extend([Src::tuple(&[aligned, high]), Src::imm(0), outside.into()]);
            let words: Vec<ValueId> = (0..ty.words()).map(|_| b.gpr()).collect();
            inst.dsts.extend(words.iter().copied());
            b.push(inst);
            words
        };
        let (not_one, not_two, not_four) = (
            b.setp(Cond::Gt, Type::U32, size, 2),
            b.setp(Cond::Ne, Type::U32, size, 3),
            b.setp(Cond::Ne, Type::U32, size, 4),
        );
        let one = load(b, Type::U32, not_one);
        let two = load(b, Type::U64, not_two);
        let four = load(b, Type::B128, not_four);
        let second = b.sel(not_four, two[1], four[1]);
        let first = b.sel(not_four, two[0], four[0]);
        let first = b.sel(not_one, first, one[0]);
        let format = match format.as_val() {
            Some(v) => v,
            None => b.mov(format),
        };
        let texel = library.call(b, Routine::Texel, vec![first, second, four[2], four[3], format, low]);
        let wanted = texel.iter().enumerate().filter(|(channel, _)| s.mask >> channel & 1 != 0);
        for (&dst, (_, &v)) in i.dsts.iter().zip(wanted) {
            b.push(Inst::new(Op::Mov, Type::U32).src(v).dst(dst));
        }
    }

    /// Words as they lie in the image, one by one, since nothing is known of the coordinate's
    /// alignment.
    fn words(&self, b: &mut Builder<'_>, i: &Inst, s: &Surf) {
        let channels = (0..4).filter(|c| s.mask >> c & 1 != 0);
        for (n, channel) in channels.enumerate() {
            let mut one = s.clone();
            if channel > 0 {
                one.coords[0] = b.add(Type::U32, s.coords[0], 4 * channel);
            }
            let t = self.target(b, &one, true, None, None);
            let store = i.op == Op::Sust;
            let mut inst = self.machine(i.op, Type::U32, s, SurfAccess::Bytes);
            inst.srcs.extend(t.srcs);
            if store {
                let Some(&v) = s.data.get(n) else { return };
                inst.srcs.push(v.into());
            }
            let fermi = self.chip == Chip::Gf100;
            if !fermi {
                inst.srcs.push(t.outside.into());
            } else {
                inst.guard = Some(Guard { pred: t.outside, not: true });
            }
            if store {
                b.push(inst);
                continue;
            }
            let Some(&dst) = i.dsts.get(n) else { return };
            let v = b.gpr();
            b.push(inst.dst(v));
            let result = if fermi {
                Inst::new(Op::Sel, Type::U32).src(0).src(v).src(t.outside)
            } else {
                Inst::new(Op::Mov, Type::U32).src(v)
            };
            b.push(result.dst(dst));
        }
    }

    fn store(&self, b: &mut Builder<'_>, s: &Surf, place: Option<&Place>) {
        let t = self.target(b, s, false, None, place);
        // The machine reads a vector of four whatever the format; what that has no channel for may
        // be anything.
        let channels = s.format.map_or(4, Format::channels);
        let mut data: Vec<ValueId> = s.data.iter().copied().take(channels).collect();
        while data.len() < 4 {
            data.push(if data.len() < channels { b.mov(0) } else { b.undef(Class::Gpr) });
        }
        let mut inst = self.machine(Op::Sust, Type::U32, s, SurfAccess::Texel);
        inst.srcs.extend(t.srcs);
        inst.srcs.push(Src::tuple(&data));
        if self.chip == Chip::Gf100 {
            inst.guard = Some(Guard { pred: t.outside, not: true });
        } else {
            inst.srcs.push(t.outside.into());
        }
        b.push(inst);
    }

    /// An atomic on a texel of 32 bits, as one of global memory.
    fn atomic(&self, b: &mut Builder<'_>, i: &Inst, s: &Surf, place: Option<&Place>) {
        let t = self.target(b, s, true, s.format, place);
        let (address, outside) = if self.chip == Chip::Gf100 {
            let (lo, hi, out) = (b.gpr(), b.gpr(), b.pred());
            let mut inst = self.machine(Op::Suld, Type::U32, s, SurfAccess::Address);
            inst.srcs.extend(t.srcs);
            inst.guard = Some(Guard { pred: t.outside, not: true });
            b.push(inst.dst(lo).dst(hi).dst(out));
            ([lo, hi], b.op2(Op::Or, Type::Pred, t.outside, out))
        } else {
            // The pair counts bytes and units of 256.
            let [low, high] = [t.srcs[0].values()[0], t.srcs[0].values()[1]];
            let lo = b.op3(Op::Prmt, Type::U32, low, 0x6540, high);
            let hi = b.op2(Op::Shr, Type::U32, high, 24);
            ([lo, hi], t.outside)
        };
        let mem = MemRef::new(Space::Global).with_base(&address).with_align(Align::multiple_of(i.ty.bytes()));
        let mut atom = Inst::new(Op::Atom, i.ty).with_mem(mem);
        atom.aux = Aux::Atom(s.atom.unwrap_or(AtomOp::Load));
        let words = i.ty.words();
        for operand in s.data.chunks(words) {
            atom.srcs.push(Src::tuple(operand));
        }
        atom.guard = Some(Guard { pred: outside, not: true });
        let old = b.values(atom);
        for (&dst, &v) in i.dsts.iter().zip(&old) {
            b.push(Inst::new(Op::Sel, Type::U32).src(0).src(v).src(outside).dst(dst));
        }
    }
}

/// Whether the first coordinate counts bytes and words are accessed as they are.
fn in_bytes(s: &Surf) -> bool {
    s.ty == Type::B128
}

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

/// A channel of a texel as the shader sees it.
fn unpack(b: &mut Builder<'_>, f: Layout, raw: &[ValueId], channel: usize) -> Src {
    let channel = match (f.bgra, channel) {
        (true, 0) => 2,
        (true, 2) => 0,
        (_, c) => c,
    };
    let bits = u32::from(f.bits[channel]);
    let float = matches!(f.kind, Kind::Float | Kind::Unorm | Kind::Snorm);
    if bits == 0 {
        let one = if float { 1.0f32.to_bits() } else { 1 };
        return Src::imm(if channel == 3 { one } else { 0 });
    }
    let at: u32 = f.bits[..channel].iter().map(|&n| u32::from(n)).sum();
    let word = raw[(at / 32) as usize];
    if bits == 32 {
        return word.into();
    }
    let signed = matches!(f.kind, Kind::Sint | Kind::Snorm);
    let ty = if signed { Type::S32 } else { Type::U32 };
    let field = b.op2(Op::Ext, ty, word, (at % 32) | (bits << 8));
    match f.kind {
        Kind::Uint | Kind::Sint => field.into(),
        Kind::Unorm | Kind::Snorm => {
            let most = (1u32 << (bits - u32::from(signed))) - 1;
            let x = b.cvt(Type::F32, ty, field);
            let x = b.mul(Type::F32, x, Src::f32(1.0 / most as f32));
            if signed { b.op2(Op::Max, Type::F32, x, Src::f32(-1.0)).into() } else { x.into() }
        }
        Kind::Float => {
            // Small floats have a half's exponent and less of its mantissa.
            let half = if bits < 16 { b.op2(Op::Shl, Type::U32, field, 15 - bits) } else { field };
            b.cvt(Type::F32, Type::F16, half).into()
        }
    }
}
