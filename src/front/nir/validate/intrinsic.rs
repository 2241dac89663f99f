//! Intrinsics: the shapes of their operands by the table of intrinsics, and what their indices may say.

use super::super::ast::{Intrinsic, Node, Place, Shape, Src};
use super::super::indices::Indices;
use super::super::intrinsics::{Atomic, ImageOp, Kind, Mem};
use super::super::names::Mode;
use super::super::operands::{Bits, Comps, Operand, Origin};
use super::super::types::Type;
use super::{Checker, bits, number, shape};
use crate::diag::Span;
use crate::format::Kind as FormatKind;
use arrayvec::ArrayVec;

/// Shapes of the sources, as far as they are known.
type Shapes = ArrayVec<Option<Shape>, 16>;

impl<'a> Checker<'a, '_> {
    pub(super) fn intrinsic(&mut self, i: &Intrinsic) {
        let (fun, info) = (self.fun, i.info);
        let (srcs, ix) = (fun.srcs(i.srcs), fun.indices(i.indices));
        let found: Shapes = srcs.iter().map(|src| self.source(src)).collect();
        // Vectors are as long as the result, or else as the value that is stored.
        let mut vector: Option<u8> = None;
        let result = i.dest.as_ref().map(|dest| self.dest(dest));
        match (result, &info.dest) {
            (Some(Some(result)), Some(wanted)) => {
                let wanted = self.of_source(*wanted, &found);
                self.operand(i, self.span, wanted, result, &mut vector);
            }
            (Some(_), None) => self.intrinsic_error(i, "has no result"),
            (None, Some(_)) => self.intrinsic_error(i, "has a result"),
            _ => {}
        }
        for ((src, wanted), found) in srcs.iter().zip(info.srcs).zip(&found) {
            if let Some(found) = *found {
                self.operand(i, src.span, *wanted, found, &mut vector);
            }
            self.origin(i, src, wanted.from);
        }
        self.write_mask(ix, vector);
        self.alignment(ix);
        self.by_kind(i, srcs, &found, result.flatten(), ix);
    }

    fn intrinsic_error(&mut self, i: &Intrinsic, what: &str) {
        self.error(self.span, || format!("`{}` {what}", i.info.name));
    }

    /// A result that has the bits of a source.
    fn of_source(&self, wanted: Operand, found: &Shapes) -> Operand {
        match wanted.bits {
            Bits::OfSource(n) => {
                let bits =
                    found.get(usize::from(n)).copied().flatten().map_or(Bits::ANY, |s| Bits::Of(s.bits));
                Operand { bits, ..wanted }
            }
            Bits::Of(_) => wanted,
        }
    }

    fn operand(&mut self, i: &Intrinsic, span: Span, wanted: Operand, found: Shape, vector: &mut Option<u8>) {
        let (what, name) = (wanted.what, &i.info.name);
        if let Bits::Of(set) = wanted.bits
            && set & found.bits == 0
        {
            self.error(span, || {
                format!("the {what} of `{name}` must have {} bits, not {}", wanted.bits, found.bits)
            });
        }
        let count = match wanted.comps {
            Comps::Any => None,
            Comps::N(n) => Some(n),
            Comps::Vector | Comps::Vec4 => Some(*vector.get_or_insert(found.comps)),
        };
        if let Some(count) = count.filter(|&n| n != found.comps) {
            self.error(span, || {
                let wanted = number(count.into(), "component");
                format!("the {what} of `{name}` must have {wanted}, not {}", found.comps)
            });
        } else if wanted.comps == Comps::Vec4 && found.comps > 4 {
            self.error(span, || {
                format!("the {what} of `{name}` must have at most 4 components, not {}", found.comps)
            });
        }
    }

    /// Pointers come from derefs and registers from their declarations.
    fn origin(&mut self, i: &Intrinsic, src: &Src, from: Origin) {
        match from {
            Origin::Anywhere => {}
            Origin::Deref => {
                if self.is_defined(src) && self.deref_of(src).is_none() {
                    let name = &i.info.name;
                    self.error(src.span, || format!("the pointer of `{name}` must be the result of a deref"));
                }
            }
            Origin::Register => {
                let name = &i.info.name;
                if self.is_defined(src) && self.register_of(src).is_none() {
                    self.error(src.span, || {
                        format!("the register of `{name}` must be the result of `decl_reg`")
                    });
                }
            }
        }
    }

    /// The node that defines a source.
    pub(super) fn node_of(&self, src: &Src) -> Option<&'a Node<'a>> {
        let Place::Ssa(number) = src.place else { return None };
        let value = self.values.get(number)?;
        Some(&self.fun.body[value.node as usize].0)
    }

    /// Whether a missing origin is not explained by a missing definition.
    fn is_defined(&self, src: &Src) -> bool {
        match src.place {
            Place::Ssa(number) => self.values.get(number).is_some(),
            Place::Reg(_) => true,
        }
    }

    fn register_of(&self, src: &Src) -> Option<&'a Indices> {
        match self.node_of(src)? {
            Node::Intrinsic(i) if i.info.kind == Kind::DeclReg => Some(self.fun.indices(i.indices)),
            _ => None,
        }
    }

    fn write_mask(&mut self, ix: &Indices, vector: Option<u8>) {
        if let (Some(mask), Some(comps)) = (ix.write_mask, vector)
            && u32::from(mask) >> comps != 0
        {
            self.error(self.span, || {
                let count = number(comps.into(), "component");
                format!("the write mask names components that the value does not have ({count})")
            });
        }
    }

    fn alignment(&mut self, ix: &Indices) {
        let Some(mul) = ix.align_mul else { return };
        if !mul.is_power_of_two() {
            self.error(self.span, || format!("`align_mul` must be a power of two, not {mul}"));
        } else if ix.align_offset >= mul {
            let offset = ix.align_offset;
            self.error(self.span, || {
                format!("`align_offset` must be less than `align_mul` ({mul}), not {offset}")
            });
        }
    }

    /// What one kind of intrinsic has of its own.
    fn by_kind(&mut self, i: &Intrinsic, srcs: &[Src], found: &Shapes, result: Option<Shape>, ix: &Indices) {
        match i.info.kind {
            Kind::Load(Mem::Ubo) if ix.range == Some(0) => {
                self.error(self.span, || "`range` must not be 0".into());
            }
            Kind::Load(Mem::UboVec4) => {
                if let Some(result) = result {
                    let end = u64::from(ix.component) + u64::from(result.comps);
                    if end * u64::from(result.bits) > 128 {
                        self.error(self.span, || "the load reaches beyond its vec4".into());
                    }
                }
            }
            Kind::LoadIo(_) | Kind::StoreIo(_) if ix.component > 3 => {
                let component = ix.component;
                self.error(self.span, || format!("component out of range (0 to 3): {component}"));
            }
            Kind::EmitVertex | Kind::EndPrimitive if ix.stream > 3 => {
                let stream = ix.stream;
                self.error(self.span, || format!("stream out of range (0 to 3): {stream}"));
            }
            Kind::Load(Mem::Deref) => self.through(i, &srcs[0], result, self.span),
            Kind::Store(Mem::Deref) => {
                self.through(i, &srcs[0], found[1], srcs[1].span);
                self.writable(&srcs[0]);
            }
            Kind::CopyDeref => self.copies(srcs),
            Kind::DerefModeIs if ix.modes.len() != 1 => {
                self.error(self.span, || format!("`{}` asks for exactly one memory mode", i.info.name));
            }
            Kind::Param => self.param(result, ix),
            Kind::ConvertAluTypes => self.conversion(result, found[0], ix),
            Kind::Subgroup(_) if ix.cluster_size != 0 && !ix.cluster_size.is_power_of_two() => {
                let size = ix.cluster_size;
                self.error(self.span, || format!("`cluster_size` must be a power of two, not {size}"));
            }
            Kind::DeclReg => self.declared_register(ix),
            Kind::LoadReg | Kind::LoadRegIndirect => self.register_access(i, &srcs[0], result, ix),
            Kind::StoreReg | Kind::StoreRegIndirect => self.register_access(i, &srcs[1], found[0], ix),
            Kind::Image(_, op) => self.image(i, op, srcs, result, ix),
            _ => {}
        }
    }

    fn param(&mut self, result: Option<Shape>, ix: &Indices) {
        if ix.param >= self.fun.params {
            let (index, count) = (ix.param, self.fun.params);
            self.error(self.span, || {
                format!("parameter {index} of a function that has {}", number(count as usize, "parameter"))
            });
        } else if let (Some(&wanted), Some(found)) = (self.fun.param_shapes.get(ix.param as usize), result)
            && wanted != found
        {
            self.error(self.span, || {
                format!("the parameter is {}, the result {}", shape(wanted), shape(found))
            });
        }
    }

    fn conversion(&mut self, result: Option<Shape>, source: Option<Shape>, ix: &Indices) {
        for (what, ty, found) in [("dest_type", ix.dest_type, result), ("src_type", ix.src_type, source)] {
            let (Some(ty), Some(found)) = (ty, found) else { continue };
            if ty.bits != found.bits {
                self.error(self.span, || format!("`{what}` has {}, the value {}", bits(ty.bits), found.bits));
            }
        }
    }

    // ---- derefs

    /// An access through a pointer has the shape of what it points to.
    fn through(&mut self, i: &Intrinsic, pointer: &Src, found: Option<Shape>, span: Span) {
        let Some(deref) = self.deref_of(pointer) else { return };
        let wanted = match self.shader.types.get(deref.ty) {
            Type::Vector(shape, _) => shape,
            // A handle.
            Type::Opaque { .. } if deref.modes.has(Mode::ShaderIn) || deref.modes.has(Mode::ShaderOut) => {
                Shape { bits: 64, comps: 1 }
            }
            Type::Unknown => return,
            _ => {
                let name = self.shader.types.name(deref.ty);
                return self.error(pointer.span, || {
                    format!("`{}` needs a pointer to a scalar or vector, not to `{name}`", i.info.name)
                });
            }
        };
        let Some(found) = found else { return };
        // Booleans may be words before they are lowered.
        let same = wanted == found || wanted.bits == 1 && found == Shape { bits: 32, ..wanted };
        if !same {
            self.error(span, || {
                format!("the value is {}, what the pointer leads to {}", shape(found), shape(wanted))
            });
        }
    }

    fn writable(&mut self, pointer: &Src) {
        const READ_ONLY: [Mode; 5] = [Mode::ShaderIn, Mode::Uniform, Mode::System, Mode::Constant, Mode::Ubo];
        let Some(deref) = self.deref_of(pointer) else { return };
        if READ_ONLY.iter().any(|&mode| deref.modes.has(mode)) {
            let modes = deref.modes;
            self.error(pointer.span, || format!("`{modes}` is read-only"));
        }
    }

    fn copies(&mut self, srcs: &[Src]) {
        let [to, from] = [0, 1].map(|i| self.deref_of(&srcs[i]));
        self.writable(&srcs[0]);
        if let (Some(to), Some(from)) = (to, from)
            && !self.same_bare_type(to.ty, from.ty)
        {
            let [to, from] = [to, from].map(|d| self.shader.types.name(d.ty));
            self.error(self.span, || format!("a copy of `{from}` to `{to}`"));
        }
    }

    // ---- registers

    fn declared_register(&mut self, ix: &Indices) {
        let sizes = matches!(ix.bit_size, 1 | 8 | 16 | 32 | 64);
        if !sizes || !matches!(ix.num_components, 1..=5 | 8 | 16) {
            self.error(self.span, || {
                "registers have components of 1, 8, 16, 32 or 64 bits, 1 to 5, 8 or 16 of them".into()
            });
        }
    }

    fn register_access(&mut self, i: &Intrinsic, src: &Src, found: Option<Shape>, ix: &Indices) {
        let Some(reg) = self.register_of(src) else { return };
        if let Some(found) = found
            && (u32::from(found.bits), u32::from(found.comps)) != (reg.bit_size, reg.num_components)
        {
            let (bits, comps) = (reg.bit_size, reg.num_components);
            self.error(self.span, || {
                format!("the register has {comps} components of {bits} bits, the value is {}", shape(found))
            });
        }
        if ix.base >= reg.num_array_elems.max(1) {
            let (base, elements) = (ix.base, reg.num_array_elems.max(1));
            self.error(self.span, || {
                format!("element {base} is out of bounds of {}", number(elements as usize, "element"))
            });
        }
        let indirect = matches!(i.info.kind, Kind::LoadRegIndirect | Kind::StoreRegIndirect);
        if indirect && reg.num_array_elems == 0 {
            self.error(src.span, || "an index into a register that is not an array".into());
        }
    }

    // ---- images

    fn image(&mut self, i: &Intrinsic, op: ImageOp, srcs: &[Src], result: Option<Shape>, ix: &Indices) {
        if let Some(deref) = self.deref_of(&srcs[0])
            && !self.is_opaque(deref.ty)
        {
            let name = self.shader.types.name(deref.ty);
            self.error(srcs[0].span, || format!("`{name}` is not an image"));
        }
        let atomic = match op {
            ImageOp::Atomic(Some(op)) => op,
            ImageOp::Atomic(None) | ImageOp::AtomicSwap => match ix.atomic_op {
                Some(op) => op,
                None => return,
            },
            _ => return,
        };
        let Some(format) = ix.format else { return };
        let layout = format.layout();
        let bits = layout.bits[0];
        let single = layout.bits[1..] == [0; 3];
        let integer = matches!(layout.kind, FormatKind::Uint | FormatKind::Sint) && matches!(bits, 32 | 64);
        let float = layout.kind == FormatKind::Float;
        let allowed = single
            && match atomic {
                Atomic::Exchange => integer || float && bits == 32,
                Atomic::Fadd | Atomic::FcompSwap => float && bits == 32,
                Atomic::Fmin | Atomic::Fmax => float,
                _ => integer,
            };
        if !allowed {
            return self.error(self.span, || {
                format!("`{}` does not exist for images of format `{format}`", i.info.name)
            });
        }
        if let Some(result) = result
            && result.bits != bits
        {
            self.error(self.span, || {
                format!("the image's format has {bits} bits, the result {}", result.bits)
            });
        }
    }
}
