//! Storage images: loads, stores, atomics, sizes.

use super::pointer::{Place, Pointer};
use super::texture::{Opaque, Operands, size_components};
use super::value::Value;
use super::{Lower, R};
use crate::chip::Chip;
use crate::format::Format;
use crate::front::common::emit::value::{Comp, Shape, Word};
use crate::front::common::image;
use crate::front::spirv::types::{Image, Type};
use crate::ir::{Align, AtomOp, Dim, Op as IrOp, Order, Surf, Type as IrType};
use spirv::{ImageFormat, Op};

/// A texel of an image, for atomic operations.
#[derive(Clone, Debug)]
pub(super) struct Texel {
    image: Opaque,
    coords: Vec<Word>,
    sample: Option<Word>,
}

impl Texel {
    /// The words that it is made of.
    pub(super) fn words_mut(&mut self) -> Vec<&mut Word> {
        self.coords.iter_mut().chain(&mut self.sample).chain([&mut self.image.image]).collect()
    }
}

/// The format that SPIR-V calls so.
fn format(f: ImageFormat) -> Option<Format> {
    let name = match f {
        ImageFormat::R11fG11fB10f => "r11f_g11f_b10f".to_string(),
        ImageFormat::Rgb10A2 => "rgb10_a2".to_string(),
        ImageFormat::Rgb10a2ui => "rgb10_a2ui".to_string(),
        f => format!("{f:?}").to_lowercase().replace("snorm", "_snorm"),
    };
    name.parse().ok()
}

impl Lower<'_, '_> {
    /// Instructions on storage images; whether it is one.
    pub(super) fn images(&mut self, op: Op) -> R<bool> {
        let x = self.operands();
        match op {
            Op::ImageRead => {
                let o = self.opaque(x[0])?;
                if !self.image_type(&o)?.is_stored() {
                    // A kernel reads a texture without a sampler.
                    self.fetch(x)?;
                    return Ok(true);
                }
                let with = self.image_operands(&x[2..])?;
                let (image, mut s) = self.access_image(&o, x[1], with)?;
                if s.format.is_none() && self.request.chip == Chip::Gf100 {
                    return self.missing("a load from an image whose format is not declared, on gf100,");
                }
                s.ty = self.channel(&image, self.ty())?;
                let comps = self.shape_of(self.ty())?.comps.min(4);
                s.mask = ((1u16 << comps) - 1) as u8;
                let values = image::emit(&mut self.e.b, IrOp::Suld, s, comps.into());
                self.define(values.iter().map(|&v| Comp::Word(v.into())).collect::<Vec<_>>())?;
            }
            Op::ImageWrite => {
                let o = self.opaque(x[0])?;
                let with = self.image_operands(&x[3..])?;
                let (image, mut s) = self.access_image(&o, x[1], with)?;
                s.ty = self.channel(&image, self.type_of(x[2])?)?;
                let data = self.comps(x[2])?;
                let channels = s.format.map_or(4, Format::channels).min(data.len()).min(4);
                s.mask = ((1u16 << channels) - 1) as u8;
                s.data = data.iter().take(channels).map(|c| self.e.val(c.word())).collect();
                image::emit(&mut self.e.b, IrOp::Sust, s, 0);
            }
            Op::ImageTexelPointer => self.texel_pointer(x)?,
            Op::ImageQueryFormat | Op::ImageQueryOrder => self.image_fact(op, x[0])?,
            // An image of a kernel has one level.
            Op::ImageQuerySize | Op::ImageQuerySamples | Op::ImageQuerySizeLod => {
                let o = self.opaque(x[0])?;
                let image = self.image_type(&o)?;
                let kind = self.image_kind(&image)?;
                let comps = self.shape_of(self.ty())?.comps;
                let sizes = op != Op::ImageQuerySamples;
                if usize::from(comps) != if sizes { size_components(kind) } else { 1 } {
                    return self.fail("the result has not as many components as what is asked for");
                }
                let mut s = self.surface(&image, kind, &o)?;
                s.ty = IrType::U32;
                // The fourth component of a size query is the number of samples.
                s.mask = if sizes { ((1u16 << comps) - 1) as u8 } else { 8 };
                let values = image::emit(&mut self.e.b, IrOp::Suq, s, comps.into());
                self.define(values.iter().map(|&v| Comp::Word(v.into())).collect::<Vec<_>>())?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The format or the order of channels of a kernel's image: what the driver says behind the arguments.
    fn image_fact(&mut self, op: Op, id: u32) -> R<()> {
        let o = self.opaque(id)?;
        let image = self.image_type(&o)?;
        if !self.m.kernel {
            return self.fail("the formats of images are asked for by kernels");
        }
        let first = if image.is_stored() { self.arguments.textures } else { 0 };
        let Word::Imm(number) = o.image else {
            return self.missing("the format of an image that is not an argument is");
        };
        let at = self.arguments.facts + 8 * (first + number) + if op == Op::ImageQueryOrder { 4 } else { 0 };
        self.input_bytes = self.input_bytes.max(at + 4);
        let mut mem = self.input(at);
        mem.align = Align::multiple_of(4);
        let comps = self.e.load(mem, Shape::scalar(32)).to_vec();
        self.define_numbers(32, comps)
    }

    /// An access to an image, without coordinates.
    fn surface(&mut self, ty: &Image, kind: (Dim, bool), o: &Opaque) -> R<Surf> {
        if !ty.is_stored() {
            return self.fail("the image is not one of those that are stored to");
        }
        let format = match ty.format {
            ImageFormat::Unknown => None,
            f => match format(f) {
                Some(format) => Some(format),
                None => return self.missing(format!("the image format {f:?} is")),
            },
        };
        let mut s = image::access(kind, format, o.order);
        match o.image {
            Word::Imm(n) => s.image = n as u16,
            w => s.index = Some(self.e.val(w)),
        }
        Ok(s)
    }

    /// The integers that say which texel.
    fn texel(&mut self, kind: (Dim, bool), coords: u32, sample: Option<u32>) -> R<(Vec<Word>, Option<Word>)> {
        let (dim, array) = kind;
        // Faces of cubes are layers.
        let n = dim.coordinates() + usize::from(array && dim != Dim::Cube);
        let ty = self.type_of(coords)?;
        let comps = self.comps(coords)?;
        if !self.m.is_int(ty) || self.shape_of(ty)?.bits != 32 || comps.len() < n {
            return self.fail(format!("{} does not say which texel", self.m.name(coords)));
        }
        let words = comps.iter().take(n).map(|c| c.word()).collect();
        let sample = match (dim, sample) {
            (Dim::Ms, Some(id)) => Some(self.word(id)?.word()),
            (Dim::Ms, None) => return self.fail("an access to a multisampled image says which sample"),
            _ => None,
        };
        Ok((words, sample))
    }

    fn access_image(&mut self, o: &Opaque, coords: u32, with: Operands) -> R<(Image, Surf)> {
        let ty = self.image_type(o)?;
        let kind = self.image_kind(&ty)?;
        let mut s = self.surface(&ty, kind, o)?;
        if with.coherent && s.order == Order::Weak {
            s.order = Order::Coherent;
        }
        let (coords, sample) = self.texel(kind, coords, with.sample)?;
        s.coords = coords.iter().map(|&w| self.e.val(w)).collect();
        s.sample = sample.map(|w| self.e.val(w));
        Ok((ty, s))
    }

    // ---- atomics

    fn texel_pointer(&mut self, x: &[u32]) -> R<()> {
        let p = self.pointer(x[0])?;
        let (Place::Descriptors { number, order }, Some(Type::Image(ty))) = (p.place, self.m.ty(p.to)) else {
            return self.fail("the operand is not a pointer to an image");
        };
        let Some(&Type::Pointer { to, .. }) = self.m.ty(self.ty()) else {
            return self.fail("the result is not a pointer");
        };
        if to != ty.sampled_type {
            return self.fail("the result points to another type than the image's texels have");
        }
        let single = format(ty.format).is_some_and(|f| f.layout().bits == [32, 0, 0, 0]);
        if !single {
            return self.missing(format!("an atomic operation on an image of the format {:?} is", ty.format));
        }
        let kind = self.image_kind(ty)?;
        let sample = (kind.0 == Dim::Ms).then_some(x[2]);
        let (coords, sample) = self.texel(kind, x[1], sample)?;
        let image = Opaque { image: number, sampler: number, ty: Some(p.to), order };
        let texel = Texel { image, coords, sample };
        self.define_value(Value::Pointer(Pointer::new(Place::Texel(Box::new(texel)), to)));
        Ok(())
    }

    /// An access of one component to a texel.
    fn texel_access(&mut self, t: &Texel, shape: Shape) -> R<Surf> {
        let ty = self.image_type(&t.image)?;
        if shape != Shape::scalar(32) {
            return self.missing(format!("an atomic operation of {} bits on an image is", shape.bits));
        }
        let kind = self.image_kind(&ty)?;
        let mut s = self.surface(&ty, kind, &t.image)?;
        s.mask = 1;
        s.coords = t.coords.iter().map(|&w| self.e.val(w)).collect();
        s.sample = t.sample.map(|w| self.e.val(w));
        Ok(s)
    }

    pub(super) fn load_texel(&mut self, t: &Texel, shape: Shape) -> R<Comp> {
        let s = Surf { order: Order::Volatile, ..self.texel_access(t, shape)? };
        Ok(Comp::Word(image::emit(&mut self.e.b, IrOp::Suld, s, 1)[0].into()))
    }

    pub(super) fn store_texel(&mut self, t: &Texel, shape: Shape, c: Comp) -> R<()> {
        let mut s = Surf { order: Order::Volatile, ..self.texel_access(t, shape)? };
        s.data = vec![self.e.val(c.word())];
        image::emit(&mut self.e.b, IrOp::Sust, s, 0);
        Ok(())
    }

    pub(super) fn texel_atomic(&mut self, t: &Texel, (atom, ty): (AtomOp, IrType), data: &[Comp]) -> R<Comp> {
        let mut s = self.texel_access(t, Shape::scalar(if ty.words() == 2 { 64 } else { 32 }))?;
        (s.atom, s.ty) = (Some(atom), ty);
        s.data = data.iter().map(|c| self.e.val(c.word())).collect();
        Ok(Comp::Word(image::emit(&mut self.e.b, IrOp::Sured, s, 1)[0].into()))
    }
}
