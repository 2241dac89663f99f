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

mod access;
mod fermi;
mod kepler;

use super::blocks;
use super::library::Library;
use crate::chip::Chip;
use crate::driver::Abi;
use crate::format::Format;
use crate::ir::build::Builder;
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
    once.filter(|&i| may_be_slice(i)).take(Abi::MAX_IMAGES as usize).collect()
}

/// The first instruction of `body`, and others of those `apart` whose coordinates are known there: addresses of a few
/// accesses may wait in registers.
fn together(f: &Function, body: &[InstId], apart: &[InstId]) -> ArrayVec<InstId, 4> {
    let mut group: ArrayVec<InstId, 4> = ArrayVec::new();
    let mut made: FxHashSet<ValueId> = FxHashSet::default();
    let last = body.iter().rposition(|i| apart.contains(i)).map_or(0, |n| n + 1);
    for &i in &body[..last] {
        let known = |s: &Surf| s.coords.iter().all(|v| !made.contains(v));
        if apart.contains(&i) && f.insts[i].surf().is_some_and(known) && group.try_push(i).is_err() {
            break;
        }
        made.extend(&f.insts[i].dsts);
    }
    group
}

struct Cx<'a> {
    chip: Chip,
    abi: &'a Abi,
}

/// Whether what has two dimensions is taken for a slice of three.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Slices {
    /// It cannot be one.
    Never,
    /// It may be one.
    Maybe,
    /// It may be one, where code for two dimensions has been executed.
    Apart,
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
        let all = |b: &mut Builder<'_>, slices| -> Vec<Place> {
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
        let in_plane = all(&mut b, Slices::Never);
        let edge =
            |places: &[Place]| Edge { to: detour.join, args: places.iter().flatten().copied().collect() };
        if let Some(cond) = plain {
            b.terminate(Term::Branch { cond, not: false, then: edge(&in_plane), els: Edge::to(detour.rare) });
        }
        b.block = detour.rare;
        let in_slices = all(&mut b, Slices::Apart);
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
        coords.resize_with(dims + usize::from(layered), || b.mov(0));
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
            None => self.place(b, s, at, raw, Slices::Maybe),
        };
        if fermi {
            return Target { srcs: vec![self.slot(b, s), Src::tuple(&place)], outside };
        }
        let outside = b.op2(Op::Or, Type::Pred, place[2], outside);
        let format = if raw { Src::imm(0) } else { self.info(b, s, info::FORMAT).into() };
        Target { srcs: vec![Src::tuple(&place[..2]), format], outside }
    }

    fn place(&self, b: &mut Builder<'_>, s: &Surf, at: Coordinates, raw: bool, slices: Slices) -> Place {
        match self.chip {
            Chip::Gf100 => self.texel(b, s, at, raw, slices),
            _ => self.address(b, s, &at, slices).into(),
        }
    }
}

/// Whether the first coordinate counts bytes and words are accessed as they are.
fn in_bytes(s: &Surf) -> bool {
    s.ty == Type::B128
}
