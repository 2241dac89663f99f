//! Loads, stores and atomics at a place that is known.

use super::{Cx, Place};
use crate::chip::Chip;
use crate::format::{Format, Kind, Layout};
use crate::ir::build::Builder;
use crate::ir::*;
use crate::lower::library::{Library, Routine};

impl Cx<'_> {
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

    pub(super) fn load(&self, b: &mut Builder<'_>, i: &Inst, s: &Surf, place: Option<&Place>) {
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
    pub(super) fn unknown(
        &self,
        b: &mut Builder<'_>,
        i: &Inst,
        s: &Surf,
        place: Option<&Place>,
        library: &mut Library,
    ) {
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
    pub(super) fn words(&self, b: &mut Builder<'_>, i: &Inst, s: &Surf) {
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

    pub(super) fn store(&self, b: &mut Builder<'_>, s: &Surf, place: Option<&Place>) {
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
    pub(super) fn atomic(&self, b: &mut Builder<'_>, i: &Inst, s: &Surf, place: Option<&Place>) {
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
