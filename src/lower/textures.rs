//! Texture instructions: from operands by role to the one or two register runs that the machine
//! reads.
//!
//! Front-ends name the operands of a texture instruction by [`TexRole`]:
//!
//! | role | values |
//! | --- | --- |
//! | `coord` | one a dimension (cube: three), then the layer of an array; floats, integers for a fetch |
//! | `lod`, `bias`, `cmp` | one each; the level of a fetch or a size query is an integer |
//! | `ddx`, `ddy` | one a dimension |
//! | `offset` | of a gather, where not constant: x and y, or four pairs of them |
//! | `sample` | the sample of a multisampled fetch |
//! | `index`, `sindex` | what is added to the texture's and the sampler's number |
//! | `handle` | a bindless handle, low word first |
//!
//! The machine reads, in this order, with everything optional that the instruction's bits leave
//! out:
//!
//! | | first run | second run |
//! | --- | --- | --- |
//! | GF100 | layer and indirect slots in one word, coordinates (TXD: offsets) | sample or level, offsets, reference |
//! | Kepler | handle, layer (TXD: and offsets), coordinates, sample, level, offsets, reference | what exceeds four |
//!
//! TXD's derivatives follow (d/dx, d/dy of each coordinate) in the second run of GF100 and in the
//! same row on Kepler. GF100's first word is `0xttxsaaaa`: 9 bits of texture slot, 7 of sampler
//! slot, 16 of layer. A Kepler handle holds the texture's entry in 20 bits and the sampler's above;
//! those of bound textures lie in the driver's constants.
//!
//! - The level of detail outside fragment shaders is that of level zero: there are no neighbours to
//!   take derivatives from.
//! - Derivatives that TXD cannot take (three dimensions, cubes, references, too many operands)
//!   become a level of detail.
//! - Cube coordinates are divided by the largest, as the hardware wants them.
//!
//! Sources: Mesa's `nv50_ir_lowering_nvc0.cpp` and envytools' `gf100.c` for operand orders.

use crate::chip::Chip;
use crate::driver::Abi;
use crate::ir::build::Builder;
use crate::ir::expand::expand;
use crate::ir::*;

/// Lowers the texture instructions of a function.
pub fn run(f: &mut Function, chip: Chip, abi: &Abi, derivatives: bool) -> bool {
    let cx = Cx { chip, abi, derivatives };
    let abstract_form = |i: &Inst| i.tex().is_some() && i.srcs.is_empty();
    expand(f, abstract_form, |b, i| {
        let Some(tex) = i.tex() else { return false };
        cx.lower(b, i, tex.clone());
        true
    })
}

struct Cx<'a> {
    chip: Chip,
    abi: &'a Abi,
    /// Lanes are fragments in quads.
    derivatives: bool,
}

/// Operands in the machine's order, before they are put into runs.
#[derive(Default)]
struct Operands {
    /// The word or words before the coordinates.
    head: Vec<ValueId>,
    coords: Vec<ValueId>,
    /// Sample, level, offsets, reference.
    rest: Vec<ValueId>,
    derivatives: Vec<ValueId>,
}

/// The values of a role; none if it is absent.
fn values_of(t: &Tex, role: TexRole) -> &[ValueId] {
    t.operands.iter().find(|(r, _)| *r == role).map_or(&[], |(_, v)| v)
}

/// `low bits of a` put into `c` at `position`.
fn insert(b: &mut Builder<'_>, a: impl Into<Src>, position: u32, bits: u32, c: impl Into<Src>) -> ValueId {
    b.op3(Op::Ins, Type::U32, a, position | bits << 8, c)
}

impl Cx<'_> {
    /// The framebuffer's texture has an entry of its own in GF100's tables, and a handle on Kepler.
    fn bind_framebuffer(&self, b: &mut Builder<'_>, t: &mut Tex) {
        (t.texture, t.sampler) = (0, 0);
        if self.chip == Chip::Gf100 {
            (t.texture, t.sampler) = (Abi::FRAMEBUFFER_TEXTURE, Abi::FRAMEBUFFER_SAMPLER);
            return;
        }
        let handle = b.mov(Src::cbuf(self.abi.aux_bank, self.abi.framebuffer));
        t.operands.push((TexRole::Handle, vec![handle]));
    }

    fn lower(&self, b: &mut Builder<'_>, i: &Inst, mut t: Tex) {
        if t.texture == Tex::FRAMEBUFFER {
            self.bind_framebuffer(b, &mut t);
        }
        if !self.derivatives {
            self.fix_level(&mut t);
        }
        match t.op {
            TexOp::Size => return self.size(b, i, &t),
            TexOp::Samples => return self.samples(b, i, &t),
            TexOp::LodQuery => return self.lod_query(b, i, t),
            TexOp::Gather if values_of(&t, TexRole::Offset).len() > 2 => return self.gather_four(b, i, &t),
            TexOp::Grad if !self.has_txd(&t) => self.derivatives_to_level(b, &mut t),
            _ => {}
        }
        let dsts = i.dsts;
        self.machine(b, i, t, &dsts);
    }

    /// Without derivatives, sampling takes level zero, and a bias is the level.
    fn fix_level(&self, t: &mut Tex) {
        match t.op {
            TexOp::Sample => t.level_zero = true,
            TexOp::Bias => {
                t.op = TexOp::Lod;
                for (role, _) in &mut t.operands {
                    if *role == TexRole::Bias {
                        *role = TexRole::Lod;
                    }
                }
            }
            _ => {}
        }
    }

    /// Emits the machine's instruction with these destinations.
    fn machine(&self, b: &mut Builder<'_>, i: &Inst, mut t: Tex, dsts: &[ValueId]) {
        let operands = self.operands(b, &mut t);
        let runs = self.runs(&operands);
        t.operands.clear();
        let mut inst = Inst::new(Op::Tex, i.ty);
        inst.guard = i.guard;
        inst.dsts.extend(dsts.iter().copied());
        inst.srcs.extend(runs.iter().filter(|r| !r.is_empty()).map(|r| Src::tuple(r)));
        inst.ext = Some(Box::new(Ext::Tex(t)));
        b.push(inst);
    }

    fn runs(&self, o: &Operands) -> [Vec<ValueId>; 2] {
        if self.chip == Chip::Gf100 {
            let first = [&o.head[..], &o.coords].concat();
            return [first, [&o.rest[..], &o.derivatives].concat()];
        }
        let mut all = [&o.head[..], &o.coords, &o.rest, &o.derivatives].concat();
        let second = all.split_off(all.len().min(4));
        [all, second]
    }

    fn operands(&self, b: &mut Builder<'_>, t: &mut Tex) -> Operands {
        let mut o = Operands::default();
        let n = t.dim.coordinates();
        let all = values_of(t, TexRole::Coord).to_vec();
        o.coords = all[..n.min(all.len())].to_vec();
        if t.dim == Dim::Cube {
            o.coords = normalise(b, &o.coords);
        }
        let layer = (t.array && all.len() > n).then(|| self.layer(b, t, all[n]));
        o.rest.extend(values_of(t, TexRole::Sample));
        let level_named = t.op == TexOp::Lod || matches!(t.op, TexOp::Fetch | TexOp::Size | TexOp::Bias);
        if level_named && !t.level_zero {
            o.rest.extend(values_of(t, TexRole::Lod));
            o.rest.extend(values_of(t, TexRole::Bias));
            t.level_zero = o.rest.is_empty() && t.op != TexOp::Size;
        }
        if t.dim == Dim::Ms {
            // A multisampled texture has one level.
            t.level_zero = true;
            o.rest.truncate(values_of(t, TexRole::Sample).len());
        }
        let offsets = self.offsets(b, t);
        let gradient = t.op == TexOp::Grad;
        if gradient {
            for (&x, &y) in values_of(t, TexRole::Ddx).iter().zip(values_of(t, TexRole::Ddy)) {
                o.derivatives.extend([x, y]);
            }
        } else {
            o.rest.extend(&offsets);
        }
        if t.shadow {
            o.rest.extend(values_of(t, TexRole::Compare));
        }
        if self.chip == Chip::Gf100 {
            o.head.extend(self.slots(b, t, layer));
            if gradient {
                o.coords.extend(&offsets);
            }
        } else {
            o.head.extend(self.handle(b, t));
            let layer = match (gradient, offsets.first(), layer) {
                (true, Some(&x), Some(layer)) => Some(insert(b, x, 16, 16, layer)),
                (true, Some(&x), None) => Some(b.op2(Op::Shl, Type::U32, x, 16u32)),
                (_, _, layer) => layer,
            };
            o.head.extend(layer);
        }
        t.machine_offsets = !offsets.is_empty();
        o
    }

    /// The layer as the machine takes it: 16 bits, rounded to nearest and clamped.
    fn layer(&self, b: &mut Builder<'_>, t: &Tex, layer: ValueId) -> ValueId {
        let mut cvt = Inst::new(Op::Cvt, Type::U16).src(layer);
        if t.op == TexOp::Fetch {
            (cvt.sty, cvt.sat) = (Type::S32, true);
        } else {
            cvt.sty = Type::F32;
        }
        b.value(cvt)
    }

    /// Texel offsets: a nibble each, in a gather a byte each.
    fn offsets(&self, b: &mut Builder<'_>, t: &Tex) -> Vec<ValueId> {
        let gather = t.op == TexOp::Gather;
        if let Some(at) = t.offset {
            let bits = if gather { 8 } else { 4 };
            let field = |i: usize| (at[i] as u8 as u32 & ((1 << bits) - 1)) << (bits * i as u32);
            let fields = if gather { 2 } else { 3 };
            return vec![b.mov((0..fields).fold(0, |x, i| x | field(i)))];
        }
        match *values_of(t, TexRole::Offset) {
            [] => vec![],
            [x] => vec![x],
            [x, y, ..] if gather => {
                let low = b.op2(Op::And, Type::U32, x, 0xffu32);
                vec![insert(b, y, 8, 8, low)]
            }
            ref all => {
                let first = b.op2(Op::And, Type::U32, all[0], 0xfu32);
                let pack = |(word, at): (ValueId, u32), &v: &ValueId| (insert(b, v, at, 4, word), at + 4);
                vec![all[1..].iter().take(2).fold((first, 4), pack).0]
            }
        }
    }

    /// GF100: layer and indirect slots.
    fn slots(&self, b: &mut Builder<'_>, t: &mut Tex, layer: Option<ValueId>) -> Option<ValueId> {
        let texture = values_of(t, TexRole::Index).first().copied();
        let sampler = values_of(t, TexRole::SamplerIndex).first().copied();
        if texture.is_none() && sampler.is_none() {
            return layer;
        }
        let slot = |b: &mut Builder<'_>, index: Option<ValueId>, base: u16| match index {
            None => b.mov(u32::from(base)),
            Some(i) if base == 0 => i,
            Some(i) => b.add(Type::U32, i, u32::from(base)),
        };
        // One number names texture and sampler where the front-end gives only one.
        let sampler = sampler.or(texture.filter(|_| t.sampler == t.texture));
        let word = match layer {
            Some(l) => l,
            None => b.mov(0u32),
        };
        let tic = slot(b, texture, t.texture);
        let word = insert(b, tic, 23, 9, word);
        let tsc = slot(b, sampler, t.sampler);
        let word = insert(b, tsc, 16, 7, word);
        (t.indirect, t.texture, t.sampler) = (true, 0, 0);
        Some(word)
    }

    /// Kepler: the handle where it is not one of the driver's table, and the number in the table
    /// where it is.
    fn handle(&self, b: &mut Builder<'_>, t: &mut Tex) -> Option<ValueId> {
        let table = self.abi.tex_handles.unwrap_or(0);
        let texture = values_of(t, TexRole::Index).first().copied();
        let sampler = values_of(t, TexRole::SamplerIndex).first().copied();
        let samples = !matches!(t.op, TexOp::Fetch | TexOp::Size | TexOp::Samples);
        let handle = if let Some(&low) = values_of(t, TexRole::Handle).first() {
            low
        } else if texture.is_none() && sampler.is_none() && (t.texture == t.sampler || !samples) {
            (t.texture, t.sampler) = (t.texture + table / 4, 0);
            return None;
        } else {
            let texture_handle = self.load_handle(b, texture, t.texture);
            if !samples || (t.texture == t.sampler && (sampler.is_none() || sampler == texture)) {
                texture_handle
            } else {
                let sampler_handle = self.load_handle(b, sampler, t.sampler);
                insert(b, texture_handle, 0, 20, sampler_handle)
            }
        };
        // GK104's fields for slots are all ones beside a handle; GK110 has no such fields then.
        (t.texture, t.sampler) = if self.chip == Chip::Gk104 { (0xff, 0x1f) } else { (0, 0) };
        t.indirect = true;
        Some(handle)
    }

    fn load_handle(&self, b: &mut Builder<'_>, index: Option<ValueId>, number: u16) -> ValueId {
        let table = self.abi.tex_handles.unwrap_or(0);
        let offset = table + 4 * number;
        let Some(index) = index else {
            return b.mov(Src::cbuf(self.abi.aux_bank, offset));
        };
        let bytes = b.op2(Op::Shl, Type::U32, index, 2u32);
        let mem = MemRef::new(Space::Const)
            .with_buffer(self.abi.aux_bank.into())
            .with_base(&[bytes])
            .with_offset(offset.into())
            .with_align(Align::multiple_of(4));
        b.ld(Type::U32, mem)[0]
    }

    /// Whether the machine's TXD takes the operands.
    fn has_txd(&self, t: &Tex) -> bool {
        let offsets = t.offset.is_some() || !values_of(t, TexRole::Offset).is_empty();
        let indirect = [TexRole::Index, TexRole::SamplerIndex, TexRole::Handle]
            .iter()
            .any(|&r| !values_of(t, r).is_empty())
            || (self.chip != Chip::Gf100 && t.texture != t.sampler);
        let extra = if self.chip == Chip::Gf100 {
            usize::from(offsets) + usize::from(t.array || indirect)
        } else {
            usize::from(t.array || offsets) + usize::from(indirect)
        };
        matches!(t.dim, Dim::D1 | Dim::D2) && !t.shadow && t.dim.coordinates() + extra <= 4
    }

    /// The level of detail of explicit derivatives: log2 of the longer side of the pixel's
    /// footprint, in texels.
    fn derivatives_to_level(&self, b: &mut Builder<'_>, t: &mut Tex) {
        let n = t.dim.coordinates();
        let texels = self.size_query(b, t, if t.dim == Dim::Cube { 1 } else { (1 << n) - 1 });
        let mut sides = Vec::new();
        for role in [TexRole::Ddx, TexRole::Ddy] {
            let mut d = values_of(t, role).to_vec();
            d.truncate(n);
            if t.dim == Dim::Cube {
                d = on_face(b, &values_of(t, TexRole::Coord)[..n], &d);
            }
            let squares = d.iter().enumerate().fold(None, |sum: Option<ValueId>, (c, &d)| {
                let size = b.cvt(Type::F32, Type::U32, texels[c.min(texels.len() - 1)]);
                let length = b.mul(Type::F32, d, size);
                Some(match sum {
                    None => b.mul(Type::F32, length, length),
                    Some(sum) => b.op3(Op::Mad, Type::F32, length, length, sum),
                })
            });
            sides.extend(squares);
        }
        let [x, y] = sides[..] else { return };
        let longer = b.op2(Op::Max, Type::F32, x, y);
        let log = b.op1(Op::Lg2, Type::F32, longer);
        let level = b.mul(Type::F32, log, Src::f32(0.5));
        t.operands.retain(|(r, _)| !matches!(r, TexRole::Ddx | TexRole::Ddy));
        t.operands.push((TexRole::Lod, vec![level]));
        t.op = TexOp::Lod;
    }

    /// Extents of the texture's level zero: the hardware's components of `mask`.
    fn size_query(&self, b: &mut Builder<'_>, t: &Tex, mask: u8) -> Vec<ValueId> {
        let zero = b.mov(0u32);
        self.query(b, t, TexOp::Size, mask, &[zero])
    }

    /// A query of the texture of `t`; `level` is its operand.
    fn query(&self, b: &mut Builder<'_>, t: &Tex, op: TexOp, mask: u8, level: &[ValueId]) -> Vec<ValueId> {
        let mut q = Tex { op, mask, shadow: false, offset: None, level_zero: false, ..t.clone() };
        q.operands.retain(|(r, _)| matches!(r, TexRole::Index | TexRole::SamplerIndex | TexRole::Handle));
        let head =
            if self.chip == Chip::Gf100 { self.slots(b, &mut q, None) } else { self.handle(b, &mut q) };
        let run: Vec<ValueId> = head.into_iter().chain(level.iter().copied()).collect();
        q.operands.clear();
        let dsts: Vec<ValueId> = (0..mask.count_ones()).map(|_| b.gpr()).collect();
        let mut inst = Inst::new(Op::Tex, Type::U32).src(Src::tuple(&run));
        inst.dsts.extend(dsts.iter().copied());
        inst.ext = Some(Box::new(Ext::Tex(q)));
        b.push(inst);
        dsts
    }

    /// The hardware gives layers as its third component, whatever the dimensions, and six a cube.
    fn size(&self, b: &mut Builder<'_>, i: &Inst, t: &Tex) {
        let place = |c: u8| if t.array && t.dim == Dim::D1 && c == 1 { 2 } else { c };
        let wanted: Vec<u8> = (0..4).filter(|c| t.mask >> c & 1 != 0).map(place).collect();
        let mask = wanted.iter().fold(0, |m, c| m | 1 << c);
        let level = match values_of(t, TexRole::Lod) {
            [level, ..] => *level,
            [] => b.mov(0u32),
        };
        let got = self.query(b, t, TexOp::Size, mask, &[level]);
        for (&d, &c) in i.dsts.iter().zip(&wanted) {
            let v = got[(mask & ((1 << c) - 1)).count_ones() as usize];
            let six_a_cube = t.dim == Dim::Cube && t.array && c == 2;
            b.push(match six_a_cube {
                true => Inst::new(Op::Div, Type::U32).src(v).src(6u32).dst(d),
                false => Inst::new(Op::Mov, Type::U32).src(v).dst(d),
            });
        }
    }

    /// The number of samples is the third component of the query of the texture's type.
    fn samples(&self, b: &mut Builder<'_>, i: &Inst, t: &Tex) {
        let zero = b.mov(0u32);
        let got = self.query(b, t, TexOp::Samples, 4, &[zero]);
        for &d in &i.dsts {
            b.push(Inst::new(Op::Mov, Type::U32).src(got[0]).dst(d));
        }
    }

    /// The hardware gives the level (signed) and the clamped level (unsigned) with 8 bits of
    /// fraction; asked for are the clamped one first. The result has no third component: 0.
    fn lod_query(&self, b: &mut Builder<'_>, i: &Inst, t: Tex) {
        let raw = [b.gpr(), b.gpr()];
        self.machine(b, i, Tex { mask: 3, ..t.clone() }, &raw);
        let answers = [(raw[1], Type::U16), (raw[0], Type::S16)];
        let wanted = (0..4).filter(|c| t.mask >> c & 1 != 0);
        for (&d, c) in i.dsts.iter().zip(wanted) {
            let Some(&(value, ty)) = answers.get::<usize>(c) else {
                b.push(Inst::new(Op::Mov, Type::U32).src(0u32).dst(d));
                continue;
            };
            let level = b.cvt(Type::F32, ty, value);
            b.push(Inst::new(Op::Mul, Type::F32).src(level).src(Src::f32(1.0 / 256.0)).dst(d));
        }
    }

    /// Four offsets: each texel is the last of a gather of its own.
    fn gather_four(&self, b: &mut Builder<'_>, i: &Inst, t: &Tex) {
        let offsets = values_of(t, TexRole::Offset).to_vec();
        let wanted = (0..4usize).filter(|c| t.mask >> c & 1 != 0);
        for (&d, c) in i.dsts.iter().zip(wanted) {
            let mut one = Tex { mask: 8, ..t.clone() };
            for (role, list) in &mut one.operands {
                if *role == TexRole::Offset {
                    *list = offsets.iter().copied().skip(2 * c).take(2).collect();
                }
            }
            self.machine(b, i, one, &[d]);
        }
    }
}

/// Coordinates of a cube divided by the largest magnitude.
fn normalise(b: &mut Builder<'_>, c: &[ValueId]) -> Vec<ValueId> {
    let r = inverse_of_largest(b, c);
    c.iter().map(|&c| b.mul(Type::F32, c, r)).collect()
}

fn inverse_of_largest(b: &mut Builder<'_>, c: &[ValueId]) -> ValueId {
    let largest = c[1..].iter().fold(None, |m: Option<ValueId>, &x| {
        let with = m.map_or(Src::val(c[0]).abs(), Src::val);
        Some(b.op2(Op::Max, Type::F32, Src::val(x).abs(), with))
    });
    b.op1(Op::Rcp, Type::F32, largest.unwrap_or(c[0]))
}

/// Derivatives of a direction as derivatives of its place on the cube's face, half of whose side is
/// 1.
fn on_face(b: &mut Builder<'_>, c: &[ValueId], d: &[ValueId]) -> Vec<ValueId> {
    let r = inverse_of_largest(b, c);
    let place: Vec<ValueId> = c.iter().map(|&c| b.mul(Type::F32, c, r)).collect();
    // The derivative of the largest component's magnitude: the one whose place is 1 or -1.
    let mut growth = b.mul(Type::F32, d[0], place[0]);
    for k in 1..c.len() {
        let is_largest = b.setp(Cond::Ge, Type::F32, Src::val(place[k]).abs(), Src::f32(1.0));
        let candidate = b.mul(Type::F32, d[k], place[k]);
        growth = b.sel(is_largest, candidate, growth);
    }
    let half = b.mul(Type::F32, r, Src::f32(0.5));
    d.iter()
        .zip(&place)
        .map(|(&d, &p)| {
            let drift = b.mul(Type::F32, p, growth);
            let change = b.op2(Op::Sub, Type::F32, d, drift);
            b.mul(Type::F32, change, half)
        })
        .collect()
}
