//! Textures: samples, gathers, fetches and queries. Textures and samplers have numbers each, which are one for what is both.

use super::value::Value;
use super::{Lower, R};
use crate::front::common::emit::op::Op as N;
use crate::front::common::emit::value::{Comp, Word};
use crate::front::common::texture;
use crate::front::spirv::types::{Image, Type};
use crate::ir::{Dim, Op as IrOp, Order, Tex, TexOp, TexRole, Type as IrType, ValueId};
use crate::stage::Stage;
use spirv::{Dim as D, Op};

/// An image, a sampler, or both.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opaque {
    pub(super) image: Word,
    pub(super) sampler: Word,
    /// The image's type.
    pub(super) ty: Option<u32>,
    /// How accesses to it are ordered.
    pub(super) order: Order,
}

/// What image operands name, by id.
#[derive(Clone, Copy, Default)]
pub(super) struct Operands {
    bias: Option<u32>,
    lod: Option<u32>,
    grad: Option<(u32, u32)>,
    offset: Option<u32>,
    offsets: Option<u32>,
    pub(super) sample: Option<u32>,
    min_lod: Option<u32>,
    /// The access is volatile, or visible to others.
    pub(super) coherent: bool,
}

/// What kind of a sample an opcode is.
#[derive(Clone, Copy)]
struct Sample {
    implicit: bool,
    compares: bool,
    projects: bool,
}

fn sample(op: Op) -> Option<Sample> {
    let s = |implicit, compares, projects| Some(Sample { implicit, compares, projects });
    match op {
        Op::ImageSampleImplicitLod => s(true, false, false),
        Op::ImageSampleExplicitLod => s(false, false, false),
        Op::ImageSampleDrefImplicitLod => s(true, true, false),
        Op::ImageSampleDrefExplicitLod => s(false, true, false),
        Op::ImageSampleProjImplicitLod => s(true, false, true),
        Op::ImageSampleProjExplicitLod => s(false, false, true),
        Op::ImageSampleProjDrefImplicitLod => s(true, true, true),
        Op::ImageSampleProjDrefExplicitLod => s(false, true, true),
        _ => None,
    }
}

impl Lower<'_, '_> {
    /// What a load from a descriptor gives.
    pub(super) fn descriptor(&mut self, number: Word, order: Order, ty: u32) -> R<Value> {
        if self.ty() != ty {
            return self.fail("the result has another type than what the pointer leads to");
        }
        let opaque = |ty| Opaque { image: number, sampler: number, ty, order };
        match self.m.ty(ty) {
            Some(Type::Image(_)) => Ok(Value::Opaque(opaque(Some(ty)))),
            Some(&Type::SampledImage { image }) => Ok(Value::Opaque(opaque(Some(image)))),
            Some(Type::Sampler) => Ok(Value::Opaque(opaque(None))),
            _ => self.missing(format!("a value of the type {} is", self.m.type_name(ty))),
        }
    }

    pub(super) fn opaque(&mut self, id: u32) -> R<Opaque> {
        match self.value(id)? {
            Value::Opaque(o) => Ok(o),
            _ => self.fail(format!("{} is neither an image nor a sampler", self.m.name(id))),
        }
    }

    pub(super) fn image_type(&self, o: &Opaque) -> R<Image> {
        match o.ty.and_then(|ty| self.m.ty(ty)) {
            Some(Type::Image(image)) => Ok(*image),
            _ => self.fail("the operand is not an image"),
        }
    }

    /// Dimension, and whether there are layers.
    pub(super) fn image_kind(&self, image: &Image) -> R<(Dim, bool)> {
        let dim = match image.dim {
            D::Dim1D => Dim::D1,
            D::Dim2D if image.multisampled => Dim::Ms,
            D::Dim2D | D::DimRect => Dim::D2,
            D::Dim3D => Dim::D3,
            D::DimCube => Dim::Cube,
            D::DimBuffer => Dim::Buffer,
            D::DimSubpassData => return self.missing("an input attachment (SubpassData) is"),
            _ => return self.missing(format!("the dimension {:?} of an image is", image.dim)),
        };
        if image.multisampled && dim != Dim::Ms || image.arrayed && matches!(dim, Dim::D3 | Dim::Buffer) {
            return self.fail("there are no images of that dimension with layers or samples");
        }
        Ok((dim, image.arrayed))
    }

    /// The type of channels, which the result's, or the data's, components have.
    pub(super) fn channel(&self, image: &Image, ty: u32) -> R<IrType> {
        let scalar = self.m.part(ty, 0).unwrap_or(ty);
        // A kernel's images hold what is read of them.
        let held = self.m.ty(image.sampled_type) == Some(&Type::Void) || scalar == image.sampled_type;
        if !held || self.m.shape(ty).is_none() {
            let (has, wanted) = (self.m.type_name(ty), self.m.type_name(image.sampled_type));
            return self.fail(format!("a {has} is not what an image of {wanted} holds"));
        }
        match self.m.ty(scalar) {
            Some(Type::Float { bits: 32 }) => Ok(IrType::F32),
            Some(Type::Int { bits: 32, signed: true }) => Ok(IrType::S32),
            Some(Type::Int { bits: 32, signed: false }) => Ok(IrType::U32),
            _ => self.missing(format!("an image of {} is", self.m.type_name(scalar))),
        }
    }

    pub(super) fn image_operands(&self, x: &[u32]) -> R<Operands> {
        let mut o = Operands::default();
        let Some((&mask, mut rest)) = x.split_first() else { return Ok(o) };
        let mut take = || {
            let (&first, others) = rest.split_first()?;
            rest = others;
            Some(first)
        };
        for bit in (0..32).filter(|b| mask >> b & 1 != 0) {
            match 1u32 << bit {
                1 => o.bias = take(),
                2 => o.lod = take(),
                4 => o.grad = take().zip(take()),
                8 | 0x10 => {
                    if o.offset.is_some() {
                        return self.fail("an access has one offset");
                    }
                    o.offset = take();
                }
                0x20 | 0x1_0000 => o.offsets = take(),
                0x40 => o.sample = take(),
                0x80 => o.min_lod = take(),
                0x100 | 0x200 => {
                    take();
                    o.coherent = true;
                }
                0x400 | 0x800 => o.coherent = true,
                // Sign and zero extension are the format's; hints.
                0x1000 | 0x2000 | 0x4000 => {}
                other => return self.missing(format!("the image operand {other:#x} is")),
            }
        }
        if o.offset.is_some() && o.offsets.is_some() {
            return self.fail("an access has one offset");
        }
        Ok(o)
    }

    /// Instructions on textures; whether it is one.
    pub(super) fn textures(&mut self, op: Op) -> R<bool> {
        let x = self.operands();
        match op {
            Op::SampledImage => {
                let (image, sampler) = (self.opaque(x[0])?, self.opaque(x[1])?);
                let right = match self.m.ty(self.ty()) {
                    Some(&Type::SampledImage { image: of }) => image.ty == Some(of) && sampler.ty.is_none(),
                    _ => false,
                };
                if !right {
                    return self.fail("the operands are not an image and a sampler of the result's type");
                }
                self.define_value(Value::Opaque(Opaque { sampler: sampler.sampler, ..image }));
            }
            Op::Image => {
                let o = self.opaque(x[0])?;
                if o.ty != Some(self.ty()) {
                    return self.fail("the result has another type than the sampled image's");
                }
                self.define_value(Value::Opaque(o));
            }
            Op::ImageFetch => self.fetch(x)?,
            Op::ImageGather | Op::ImageDrefGather => self.gather(op, x)?,
            Op::ImageQueryLod => self.query_lod(x)?,
            Op::ImageQuerySizeLod | Op::ImageQuerySize | Op::ImageQueryLevels | Op::ImageQuerySamples => {
                let o = self.opaque(x[0])?;
                let image = self.image_type(&o)?;
                if image.is_stored() {
                    return match op {
                        Op::ImageQuerySize | Op::ImageQuerySamples => Ok(false),
                        Op::ImageQuerySizeLod if image.access.is_some() => Ok(false),
                        _ => self.fail("a storage image has one level"),
                    };
                }
                self.query(op, &o, x.get(1).copied())?;
            }
            _ => match sample(op) {
                Some(s) => self.sample(s, x)?,
                None => return Ok(false),
            },
        }
        Ok(true)
    }

    /// An image that is sampled, with its sampler.
    fn sampled(&mut self, id: u32) -> R<(Opaque, Image, (Dim, bool))> {
        let o = self.opaque(id)?;
        if !matches!(self.m.ty(self.type_of(id)?), Some(Type::SampledImage { .. })) {
            return self.fail(format!("{} is not a sampled image", self.m.name(id)));
        }
        let image = self.image_type(&o)?;
        let kind = self.image_kind(&image)?;
        if image.is_stored() {
            return self.fail("a storage image is not sampled");
        }
        if matches!(kind.0, Dim::Buffer | Dim::Ms) {
            return self.fail("buffers and multisampled images are fetched from, not sampled");
        }
        Ok((o, image, kind))
    }

    /// The components of an operand of floats or of integers, all of 32 bits; so many at least.
    fn vector(&mut self, id: u32, floats: bool, least: usize) -> R<Vec<Word>> {
        let ty = self.type_of(id)?;
        let right = if floats { self.m.is_float(ty) } else { self.m.is_int(ty) };
        if !right || self.shape_of(ty)?.bits != 32 {
            let kind = if floats { "floats" } else { "integers" };
            return self.fail(format!("{} does not consist of {kind} of 32 bits", self.m.name(id)));
        }
        let comps = self.comps(id)?;
        if comps.len() < least {
            return self.fail(format!("{} has less than {least} components", self.m.name(id)));
        }
        Ok(comps.iter().map(|c| c.word()).collect())
    }

    fn push(&mut self, t: &mut Tex, role: TexRole, words: &[Word]) {
        let values: Vec<ValueId> = words.iter().map(|&w| self.e.val(w)).collect();
        t.operands.push((role, values));
    }

    /// Emits the operation, whose results are the instruction's.
    fn finish_texture(&mut self, o: &Opaque, mut t: Tex) -> R<()> {
        self.number(&mut t, o);
        let values = texture::emit(&mut self.e.b, t);
        self.define(values.iter().map(|&v| Comp::Word(v.into())).collect::<Vec<_>>())
    }

    /// Which texture and sampler it is.
    fn number(&mut self, t: &mut Tex, o: &Opaque) {
        use TexOp::{Bias, Gather, Grad, Lod, LodQuery, Sample};
        let samples = matches!(t.op, Sample | Bias | Lod | Grad | Gather | LodQuery);
        match o.image {
            Word::Imm(n) => t.texture = n as u16,
            w => self.push(t, TexRole::Index, &[w]),
        }
        match o.sampler {
            _ if !samples => t.sampler = t.texture,
            Word::Imm(n) => t.sampler = n as u16,
            w => self.push(t, TexRole::SamplerIndex, &[w]),
        }
    }

    fn sample(&mut self, s: Sample, x: &[u32]) -> R<()> {
        let (o, image, (dim, array)) = self.sampled(x[0])?;
        let with = self.image_operands(&x[if s.compares { 3 } else { 2 }..])?;
        if s.projects && (array || dim == Dim::Cube) {
            return self.fail("layers and cubes are not projected");
        }
        let right = match s.implicit {
            true => with.lod.is_none() && with.grad.is_none(),
            false => with.lod.is_some() != with.grad.is_some() && with.bias.is_none(),
        };
        if !right {
            return self.fail("the operands for the level of detail are not those of the instruction");
        }
        if with.sample.is_some() || with.offsets.is_some() {
            return self.fail("a sample has no operands Sample or ConstOffsets");
        }
        let ty = self.channel(&image, self.ty())?;
        let op = match with {
            Operands { lod: Some(_), .. } => TexOp::Lod,
            Operands { grad: Some(_), .. } => TexOp::Grad,
            Operands { bias: Some(_), .. } => TexOp::Bias,
            _ => TexOp::Sample,
        };
        let mask = if s.compares { 1 } else { 15 };
        let mut t = Tex { shadow: s.compares, mask, ..texture::access(op, (dim, array), ty) };
        let n = dim.coordinates();
        let least = n + usize::from(array) + usize::from(s.projects);
        let mut coords = if self.m.kernel && self.m.is_int(self.type_of(x[1])?) {
            // A kernel's integers are coordinates in texels, for a sampler that takes those.
            let whole = self.vector(x[1], false, least)?;
            whole.iter().map(|&w| self.e.convert_one(N::I2F, 32, 32, Comp::Word(w)).word()).collect()
        } else {
            self.vector(x[1], true, least)?
        };
        let mut compare = match s.compares {
            true => Some(self.vector(x[2], true, 1)?[0]),
            false => None,
        };
        if s.projects {
            let q = coords[n];
            for w in coords[..n].iter_mut().chain(&mut compare) {
                *w = self.e.quotient(32, false, (*w).into(), q.into()).word();
            }
        }
        coords.truncate(n + usize::from(array));
        self.push(&mut t, TexRole::Coord, &coords);
        if let Some(w) = compare {
            self.push(&mut t, TexRole::Compare, &[w]);
        }
        self.level(&mut t, with, &coords[..n], &o)?;
        self.offset(&mut t, with)?;
        self.finish_texture(&o, t)
    }

    /// What chooses the level of detail.
    fn level(&mut self, t: &mut Tex, with: Operands, coords: &[Word], o: &Opaque) -> R<()> {
        if let Some(id) = with.lod {
            let lod = self.vector(id, true, 1)?[0];
            match lod {
                Word::Imm(0) => t.level_zero = true,
                lod => self.push(t, TexRole::Lod, &[lod]),
            }
        }
        if let Some((x, y)) = with.grad {
            for (role, id) in [(TexRole::Ddx, x), (TexRole::Ddy, y)] {
                let d = self.vector(id, true, coords.len())?;
                self.push(t, role, &d[..coords.len()]);
            }
        }
        let bias = match with.bias {
            Some(id) => Some(self.vector(id, true, 1)?[0]),
            None => None,
        };
        let Some(id) = with.min_lod else {
            if let Some(bias) = bias {
                self.push(t, TexRole::Bias, &[bias]);
            }
            return Ok(());
        };
        if with.grad.is_some() || with.lod.is_some() {
            return self.missing("the operand MinLod of an explicit level is");
        }
        // No instruction has a least level of its own: the level is asked for, and given.
        let least = self.vector(id, true, 1)?[0];
        let mut level = Word::Imm(0);
        if self.stage() == Stage::Fragment {
            let mut q = Tex { mask: 2, ..texture::access(TexOp::LodQuery, (t.dim, false), IrType::F32) };
            self.push(&mut q, TexRole::Coord, coords);
            self.number(&mut q, o);
            level = texture::emit(&mut self.e.b, q)[0].into();
        }
        if let Some(bias) = bias {
            level = self.e.op2(IrOp::Add, IrType::F32, level, bias);
        }
        let level = self.e.op2(IrOp::Max, IrType::F32, level, least);
        t.op = TexOp::Lod;
        self.push(t, TexRole::Lod, &[level]);
        Ok(())
    }

    /// Offsets from the place of the coordinates.
    fn offset(&mut self, t: &mut Tex, with: Operands) -> R<()> {
        let Some(id) = with.offset else { return Ok(()) };
        if t.dim == Dim::Cube {
            return self.fail("there are no offsets in cubes");
        }
        let n = t.dim.coordinates();
        let words = self.vector(id, false, n)?;
        let constant = |w: &Word| match w {
            Word::Imm(n) => Some(*n),
            _ => None,
        };
        match texture::near_offset(words[..n].iter().map(constant)) {
            Some(offset) => t.offset = Some(offset).filter(|o| *o != [0; 3]),
            None if t.op == TexOp::Gather => self.push(t, TexRole::Offset, &words[..n]),
            None => {
                return self.missing("an offset of a sample that is not a constant from -8 to 7 is");
            }
        }
        Ok(())
    }

    fn gather(&mut self, op: Op, x: &[u32]) -> R<()> {
        let (o, image, (dim, array)) = self.sampled(x[0])?;
        if !matches!(dim, Dim::D2 | Dim::Cube) {
            return self.fail("texels are gathered from two dimensions and cubes");
        }
        let with = self.image_operands(&x[3..])?;
        if with.bias.or(with.lod).or(with.sample).or(with.min_lod).is_some() || with.grad.is_some() {
            return self.missing("an operand of a gather besides offsets is");
        }
        let compares = op == Op::ImageDrefGather;
        let ty = self.channel(&image, self.ty())?;
        let access = texture::access(TexOp::Gather, (dim, array), ty);
        let mut t = Tex { shadow: compares, mask: 15, ..access };
        let n = dim.coordinates() + usize::from(array);
        let coords = self.vector(x[1], true, n)?;
        self.push(&mut t, TexRole::Coord, &coords[..n]);
        if compares {
            let w = self.vector(x[2], true, 1)?[0];
            self.push(&mut t, TexRole::Compare, &[w]);
        } else {
            t.component = match self.constant(x[2])? {
                c @ 0..4 => c as u8,
                _ => return self.fail("the component of a gather is one of 0 to 3"),
            };
        }
        if let Some(id) = with.offsets {
            let words: Vec<Word> = self.comps(id)?.iter().map(|c| c.word()).collect();
            let four = |words: &[Word]| words.len() == 8 && words.iter().all(|w| matches!(w, Word::Imm(_)));
            if !four(&words) || dim == Dim::Cube {
                return self.fail("ConstOffsets are four constant pairs");
            }
            self.push(&mut t, TexRole::Offset, &words);
        }
        self.offset(&mut t, with)?;
        self.finish_texture(&o, t)
    }

    pub(super) fn fetch(&mut self, x: &[u32]) -> R<()> {
        let o = self.opaque(x[0])?;
        let image = self.image_type(&o)?;
        let (dim, array) = self.image_kind(&image)?;
        if dim == Dim::Cube || image.is_stored() {
            return self.fail("texels are not fetched from cubes");
        }
        let with = self.image_operands(&x[2..])?;
        if with.bias.or(with.min_lod).or(with.offsets).is_some() || with.grad.is_some() {
            return self.fail("a fetch has no operands for a level besides Lod");
        }
        let ty = self.channel(&image, self.ty())?;
        let mut t = Tex { mask: 15, ..texture::access(TexOp::Fetch, (dim, array), ty) };
        let n = dim.coordinates();
        let mut coords = self.vector(x[1], false, n + usize::from(array))?;
        coords.truncate(n + usize::from(array));
        if let Some(id) = with.offset {
            let offsets = self.vector(id, false, n)?;
            for (w, offset) in coords[..n].iter_mut().zip(offsets) {
                *w = self.e.op2(IrOp::Add, IrType::U32, *w, offset);
            }
        }
        self.push(&mut t, TexRole::Coord, &coords);
        match (dim, with.sample) {
            (Dim::Ms, Some(id)) => {
                let sample = self.vector(id, false, 1)?[0];
                self.push(&mut t, TexRole::Sample, &[sample]);
            }
            (Dim::Ms, None) => return self.fail("a fetch from a multisampled image says which sample"),
            (_, Some(_)) => return self.fail("the image has no samples"),
            (_, None) => {}
        }
        if !matches!(dim, Dim::Ms | Dim::Buffer) {
            let lod = match with.lod {
                Some(id) => self.vector(id, false, 1)?[0],
                None => Word::Imm(0),
            };
            match lod {
                Word::Imm(0) => t.level_zero = true,
                lod => self.push(&mut t, TexRole::Lod, &[lod]),
            }
        }
        self.finish_texture(&o, t)
    }

    // ---- queries

    fn query_lod(&mut self, x: &[u32]) -> R<()> {
        let (o, _, (dim, _)) = self.sampled(x[0])?;
        if self.stage() != Stage::Fragment {
            return self.fail(format!("a {} shader has no implicit level of detail", self.stage()));
        }
        if !self.m.is_float(self.ty()) {
            return self.fail("a level of detail is a float");
        }
        let mut t = Tex { mask: 3, ..texture::access(TexOp::LodQuery, (dim, false), IrType::F32) };
        let n = dim.coordinates();
        let coords = self.vector(x[1], true, n)?;
        self.push(&mut t, TexRole::Coord, &coords[..n]);
        self.finish_texture(&o, t)
    }

    fn query(&mut self, op: Op, o: &Opaque, lod: Option<u32>) -> R<()> {
        let image = self.image_type(o)?;
        let kind = self.image_kind(&image)?;
        if !self.m.is_int(self.ty()) {
            return self.fail("a size is an integer");
        }
        let sizes = op == Op::ImageQuerySizeLod || op == Op::ImageQuerySize;
        let comps = self.shape_of(self.ty())?.comps;
        if sizes && usize::from(comps) != size_components(kind) || !sizes && comps != 1 {
            return self.fail("the result has not as many components as what is asked for");
        }
        let (what, mask) = match op {
            Op::ImageQueryLevels => (TexOp::Size, 8),
            Op::ImageQuerySamples => (TexOp::Samples, 1),
            _ => (TexOp::Size, (1u8 << comps) - 1),
        };
        let mut t = Tex { mask, ..texture::access(what, kind, IrType::U32) };
        let level = match lod {
            Some(id) if op == Op::ImageQuerySizeLod => self.vector(id, false, 1)?[0],
            _ => Word::Imm(0),
        };
        if what == TexOp::Size {
            self.push(&mut t, TexRole::Lod, &[level]);
        }
        self.finish_texture(o, t)
    }
}

/// Numbers that the size of an image has.
pub(super) fn size_components((dim, array): (Dim, bool)) -> usize {
    let dimensions = if dim == Dim::Cube { 2 } else { dim.coordinates() };
    dimensions + usize::from(array)
}
