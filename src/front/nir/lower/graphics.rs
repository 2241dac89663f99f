//! Inputs, outputs and operations of graphics stages.
//!
//! Outputs of vertex, tessellation and geometry shaders are stored where the text stores them; those of a fragment shader are
//! variables, which its end leaves in registers. The vertex that a geometry shader makes is a variable, too.

use super::super::ast::{Dest, Src};
use super::super::indices::Indices;
use super::super::interface::{self, Stages, second_color};
use super::super::intrinsics::{Barycentric, Io, Kind};
use super::super::names::Interpolation;
use super::{Lower, Shape};
use crate::front::common::emit::alu::Lowered;
use crate::front::common::emit::value::{Comp, Pred, Word};
use crate::front::common::graphics::{self, Place};
use crate::front::common::kept::{self, Clipping};
use crate::ir::{EmitOp, Interp, InterpAt, InterpMode, Op, Rnd, Space, Sv, Term, Type, ValueId};
use crate::stage::{Semantic, Stage};
use arrayvec::ArrayVec;
use rustc_hash::FxHashMap;

/// What barycentric coordinates stand for.
#[derive(Clone, Copy)]
pub(super) struct Coordinates {
    how: Interpolation,
    at: InterpAt,
    offset: Option<ValueId>,
}

/// What a stage's kernel keeps while it is lowered.
#[derive(Default)]
pub(super) struct Kept {
    /// By the number of the definition.
    barycentrics: FxHashMap<u32, Coordinates>,
    /// Outputs, the vertex being made, whether the invocation has become a helper.
    stage: kept::Kept,
    /// Loops around what is being lowered.
    pub(super) loops: u32,
}

/// A place of vectors, and a component there.
struct Slot {
    semantic: Semantic,
    component: u32,
}

/// The vectors that an access names.
struct Access {
    input: bool,
    base: u32,
    location: u32,
    dual_source: bool,
    /// First word.
    component: u32,
    /// What is added, in bytes.
    offset: Option<ValueId>,
}

impl<'a> Lower<'a, '_> {
    pub(super) fn stage(&self) -> Stage {
        self.module.stages.interface.stage
    }

    /// Notes that something does not exist in this stage.
    pub(super) fn not_here(&mut self, what: &str) {
        let message = format!("`{what}` does not exist in a {} shader", self.stage());
        self.error(self.span, message);
    }

    // ---- beginning and end

    /// The first vertex that a geometry shader makes, and what else holds at the beginning.
    pub(super) fn begin_stage(&mut self) {
        if self.is_entry {
            let stages = &self.module.stages;
            self.kept.stage = kept::Kept::begin(&mut self.e, stages.interface.stage, stages.asks_helper);
        }
    }

    /// Ends the kernel, leaving what its stage leaves in registers.
    pub(super) fn end_stage(&mut self) -> Term {
        match self.stage() {
            Stage::Geometry => self.kept.stage.leave_geometry(&mut self.e),
            Stage::Fragment => {
                let Stages { interface, written, .. } = &self.module.stages;
                let components = written.iter().flat_map(|(&semantic, mask)| {
                    (0..semantic.components()).filter(move |c| mask >> c & 1 != 0).map(move |c| (semantic, c))
                });
                self.kept.stage.leave_fragment(&mut self.e, interface, self.module.request.chip, components)
            }
            Stage::Vertex | Stage::TessEval => {
                let clipping = self.clipping();
                self.kept.stage.complete_vertex(&mut self.e, clipping, None);
                Term::Exit
            }
            Stage::TessControl | Stage::Compute => Term::Exit,
        }
    }

    fn clipping(&self) -> Option<Clipping> {
        let planes = self.module.stages.interface.properties.clip_planes;
        let place = self.module.request.clip_plane_place;
        self.module.stages.clip_source.map(|source| Clipping { source, planes, place })
    }

    // ---- places

    fn access(&mut self, input: bool, offset: &Src, ix: &Indices) -> Access {
        let location = ix.location.map_or(0, |l| l.number);
        let (vectors, offset) = match self.src_comp(offset, 0).word() {
            Word::Imm(n) => (n, None),
            w => (0, Some(self.e.op2(Op::Shl, Type::U32, w, 4))),
        };
        let offset = offset.map(|w| self.e.val(w));
        Access {
            input,
            base: ix.base.wrapping_add(vectors),
            location: location.wrapping_add(vectors),
            dual_source: ix.location.is_some_and(|l| l.dual_source),
            component: ix.component,
            offset,
        }
    }

    /// Where a word of an access is; `None`, with an error, if there is no such input or output.
    fn slot(&mut self, access: &Access, word: u32) -> Option<Slot> {
        let word = access.component.wrapping_add(word);
        let (base, location) = (access.base.wrapping_add(word / 4), access.location.wrapping_add(word / 4));
        let Some(mut semantic) = interface::semantic(self.stage(), access.input, base, location) else {
            let kind = if access.input { "input" } else { "output" };
            let message = format!("a {} shader has no {kind} at location {location}", self.stage());
            self.error(self.span, message);
            return None;
        };
        if access.dual_source {
            semantic = second_color(semantic);
        }
        Some(Slot { semantic, component: word % 4 })
    }

    /// What lies between stages at a place; `None` for components that there are not.
    fn attribute_at(&mut self, access: &Access, slot: &Slot, vertex: Option<ValueId>) -> Option<Place> {
        if slot.component >= slot.semantic.components().into() {
            return None;
        }
        let address = slot.semantic.address()?;
        let patch = slot.semantic.is_per_patch();
        let space = match (access.input, patch) {
            (true, false) => Space::Input,
            (true, true) => Space::PatchInput,
            (false, false) => Space::Output,
            (false, true) => Space::PatchOutput,
        };
        Some(Place { space, address, offset: access.offset, vertex: vertex.filter(|_| !patch) })
    }

    /// The words of a result of this shape, each made by a function of its number.
    fn words_of(
        &mut self,
        dest: &Dest,
        mut word: impl FnMut(&mut Self, u32) -> Option<ValueId>,
    ) -> Option<ArrayVec<Comp, 16>> {
        let shape = self.dest_shape(dest);
        let per = self.words_per_component(shape)?;
        let mut comps = ArrayVec::new();
        for c in 0..u32::from(shape.comps) {
            let lo = word(self, per * c)?;
            comps.push(match per {
                2 => Comp::Wide(lo.into(), word(self, 2 * c + 1)?.into()),
                _ => Comp::Word(lo.into()),
            });
        }
        Some(comps)
    }

    fn words_per_component(&mut self, shape: Shape) -> Option<u32> {
        match shape.bits {
            32 => Some(1),
            64 => Some(2),
            bits => {
                self.unsupported(self.span, format!("inputs and outputs of {bits} bits are not supported"));
                None
            }
        }
    }

    pub(super) fn finish(&mut self, dest: &Dest, comps: Option<ArrayVec<Comp, 16>>) {
        match comps {
            Some(comps) => self.define(dest, &comps),
            None => self.define_undef(dest),
        }
    }

    // ---- loads

    pub(super) fn load_io(&mut self, io: Io, name: &str, dest: &Dest, srcs: &[Src], ix: &Indices) {
        use Stage::*;
        let fits = match io {
            Io::Input => self.stage().is_graphics(),
            Io::VertexInput => matches!(self.stage(), TessControl | TessEval | Geometry),
            Io::Interpolated => self.stage() == Fragment,
            Io::Output => matches!(self.stage(), TessControl | Fragment),
            Io::VertexOutput => self.stage() == TessControl,
        };
        if !fits {
            self.not_here(name);
            return self.define_undef(dest);
        }
        let comps = match (io, self.stage()) {
            (Io::Output, Fragment) => self.framebuffer(dest, ix),
            (Io::Input | Io::Interpolated, Fragment) => self.load_fragment_input(io, dest, srcs, ix),
            _ => self.load_attribute(io, dest, srcs, ix),
        };
        self.finish(dest, comps);
    }

    fn load_attribute(
        &mut self,
        io: Io,
        dest: &Dest,
        srcs: &[Src],
        ix: &Indices,
    ) -> Option<ArrayVec<Comp, 16>> {
        let input = matches!(io, Io::Input | Io::VertexInput);
        let access = self.access(input, srcs.last()?, ix);
        let vertex = match io {
            Io::VertexInput => {
                let (n, dynamic) = self.vertex_number(&srcs[0]);
                Some(graphics::input_vertex(&mut self.e.b, n, dynamic))
            }
            Io::VertexOutput => {
                let (n, dynamic) = self.vertex_number(&srcs[0]);
                Some(graphics::output_vertex(&mut self.e.b, n, dynamic))
            }
            _ => None,
        };
        self.words_of(dest, |this, word| {
            let slot = this.slot(&access, word)?;
            if input && slot.semantic == Semantic::PrimitiveId && this.stage() != Stage::Vertex {
                return Some(this.e.b.sv(Sv::PrimitiveId));
            }
            match this.attribute_at(&access, &slot, vertex) {
                Some(place) => Some(this.e.b.ld_word(place.component(slot.component))),
                None => Some(this.e.b.mov(graphics::missing(slot.component))),
            }
        })
    }

    fn vertex_number(&mut self, src: &Src) -> (u32, Option<ValueId>) {
        match self.src_comp(src, 0).word() {
            Word::Imm(n) => (n, None),
            w => (0, Some(self.e.val(w))),
        }
    }

    fn load_fragment_input(
        &mut self,
        io: Io,
        dest: &Dest,
        srcs: &[Src],
        ix: &Indices,
    ) -> Option<ArrayVec<Comp, 16>> {
        let access = self.access(true, srcs.last()?, ix);
        let coordinates = match io {
            Io::Interpolated => Some(self.coordinates_of(&srcs[0])?),
            _ => None,
        };
        self.words_of(dest, |this, word| {
            let slot = this.slot(&access, word)?;
            let Some(place) = this.attribute_at(&access, &slot, None) else {
                return Some(this.e.b.mov(graphics::missing(slot.component)));
            };
            let (how, offset) = match coordinates {
                Some(c) => (Interp { mode: interface::mode(c.how, slot.semantic), at: c.at }, c.offset),
                None => (Interp { mode: InterpMode::Flat, at: InterpAt::Center }, None),
            };
            Some(graphics::interpolated(&mut this.e.b, place.component(slot.component), how, offset))
        })
    }

    /// What the framebuffer holds at the fragment. There is one texture of it, whichever output is asked for.
    fn framebuffer(&mut self, dest: &Dest, ix: &Indices) -> Option<ArrayVec<Comp, 16>> {
        let shape = self.dest_shape(dest);
        let colors = ix.location.is_none_or(|l| l.number >= 2 && l.number != 3);
        if !colors || shape.bits != 32 || ix.component + u32::from(shape.comps) > 4 {
            self.unsupported(self.span, "only colours of 32 bits can be read from the framebuffer");
            return None;
        }
        let mask = ((1u32 << shape.comps) - 1) << ix.component;
        let values = graphics::framebuffer_fetch(&mut self.e.b, mask as u8);
        Some(values.iter().map(|&v| Comp::Word(v.into())).collect())
    }

    // ---- interpolation

    pub(super) fn barycentric(
        &mut self,
        what: Barycentric,
        name: &str,
        dest: &Dest,
        srcs: &[Src],
        ix: &Indices,
    ) {
        let Dest::Ssa(def) = dest else {
            return self.error(self.span, "barycentric coordinates are not kept in registers");
        };
        if self.stage() != Stage::Fragment {
            self.not_here(name);
            return self.define_undef(dest);
        }
        let (at, offset) = match what {
            Barycentric::Pixel => (InterpAt::Center, None),
            Barycentric::Centroid | Barycentric::Sample => (InterpAt::Centroid, None),
            Barycentric::AtSample => {
                let w = self.src_comp(&srcs[0], 0).word();
                let sample = self.e.src(w);
                (InterpAt::Offset, Some(graphics::sample_offset(&mut self.e.b, sample)))
            }
            Barycentric::AtOffset => {
                let [x, y] = [0, 1].map(|c| {
                    let w = self.src_comp(&srcs[0], c).word();
                    self.e.src(w)
                });
                (InterpAt::Offset, Some(graphics::pixel_offset(&mut self.e.b, x, y)))
            }
        };
        // Nobody but loads of inputs has a use for them, and the loads know them by their number.
        self.define_undef(dest);
        self.kept.barycentrics.insert(def.index, Coordinates { how: ix.interpolation, at, offset });
    }

    fn coordinates_of(&mut self, src: &Src) -> Option<Coordinates> {
        let known = match src.place {
            super::Place::Ssa(index) => {
                self.def_run(index, src.span);
                self.kept.barycentrics.get(&index).copied()
            }
            super::Place::Reg(_) => None,
        };
        if known.is_none() {
            self.unsupported(src.span, "only coordinates of `load_barycentric_*` are interpolated at");
        }
        known
    }

    // ---- stores

    pub(super) fn store_io(&mut self, io: Io, name: &str, srcs: &[Src], ix: &Indices) {
        let fits = match io {
            Io::VertexOutput => self.stage() == Stage::TessControl,
            _ => self.stage().is_graphics(),
        };
        if !fits {
            return self.not_here(name);
        }
        let (Some(data), Some(offset)) = (srcs.first(), srcs.last()) else { return };
        let shape = self.src_shape(data);
        let Some(per) = self.words_per_component(shape) else { return };
        let access = self.access(false, offset, ix);
        let mask = ix.write_mask.unwrap_or(u16::MAX);
        for c in (0..shape.comps).filter(|&c| c < 16 && mask >> c & 1 != 0) {
            let comp = self.src_comp(data, c.into());
            let values = self.e.values(comp);
            for (n, &v) in values.iter().enumerate() {
                let Some(slot) = self.slot(&access, per * u32::from(c) + n as u32) else { return };
                self.store_word(&access, &slot, v);
            }
        }
    }

    fn store_word(&mut self, access: &Access, slot: &Slot, v: ValueId) {
        let semantic = slot.semantic;
        let fragment = self.stage() == Stage::Fragment;
        if fragment || self.module.stages.clip_source == Some(semantic) && access.offset.is_none() {
            if !self.is_entry {
                return self.unsupported(self.span, "only the entry point writes outputs of this stage");
            }
            if fragment && access.offset.is_some() {
                return self.unsupported(
                    self.span,
                    "results of a fragment shader lie in registers, which have no index",
                );
            }
            if semantic == Semantic::Stencil {
                return self.unsupported(self.span, "these chips cannot write stencil values");
            }
            self.kept.stage.write_output(&mut self.e, semantic, slot.component as u8, v);
        }
        if fragment || graphics::stays(&self.module.stages.interface, semantic) {
            return;
        }
        let vertex = match self.stage() {
            Stage::Geometry => match self.kept.stage.vertex(&mut self.e) {
                None => return self.unsupported(self.span, "only the entry point makes vertices"),
                vertex => vertex,
            },
            _ => None,
        };
        if let Some(place) = self.attribute_at(access, slot, vertex) {
            self.e.b.st(Type::U32, place.component(slot.component), v);
        }
    }

    // ---- operations

    pub(super) fn discard(&mut self, name: &str, cond: Option<&Src>) {
        if self.stage() != Stage::Fragment {
            return self.not_here(name);
        }
        let p = match cond {
            Some(src) => {
                let bits = self.src_shape(src).bits;
                let c = self.src_comp(src, 0);
                self.e.truth(c, bits)
            }
            None => Pred::Const(true),
        };
        self.kept.stage.discard(&mut self.e, p);
    }

    /// Whether the invocation is a helper, at this point.
    pub(super) fn helper(&mut self, now: bool) -> Word {
        match self.stage() {
            Stage::Fragment => self.kept.stage.helper(&mut self.e, now),
            _ => Word::Imm(0),
        }
    }

    /// What an atomic gives: zero to helpers, in loops.
    pub(super) fn atomic_result(&mut self, result: Comp, bits: u8) -> Comp {
        if self.stage() != Stage::Fragment || self.kept.loops == 0 {
            return result;
        }
        kept::atomic_in_loop(&mut self.e, result, bits)
    }

    /// A difference to the pixel beside, or with `y` below; 16 bits in 32. Coarse ones are as fine ones.
    pub(super) fn derivative(&mut self, of: Comp, bits: u8, y: bool) -> Lowered {
        if self.stage() != Stage::Fragment || !matches!(bits, 16 | 32) {
            return None;
        }
        let v = self.e.float_resize(of, bits, 32, Rnd::Near).word();
        let v = self.e.src(v);
        let difference = graphics::derivative(&mut self.e.b, v, y);
        Some(self.e.float_resize(Comp::Word(difference.into()), 32, bits, Rnd::Near))
    }

    pub(super) fn emit_vertex(&mut self, kind: Kind, name: &str, ix: &Indices) {
        if self.stage() != Stage::Geometry {
            return self.not_here(name);
        }
        if !self.is_entry {
            return self.unsupported(self.span, "only the entry point makes vertices");
        }
        let what = if kind == Kind::EmitVertex { EmitOp::Emit } else { EmitOp::Cut };
        let room = self.module.stages.interface.properties.max_vertices;
        let clipping = self.clipping();
        self.kept.stage.emit_vertex(&mut self.e, what, ix.stream, room, clipping);
    }

    // ---- system values that are inputs

    pub(super) fn input_words(&mut self, semantic: Semantic) -> ArrayVec<Word, 4> {
        let space = if semantic.is_per_patch() { Space::PatchInput } else { Space::Input };
        let place = Place::of(space, semantic);
        (0..u32::from(semantic.components()))
            .map(|c| {
                let mem = place.component(c);
                match self.stage() {
                    Stage::Fragment => {
                        let mode = interface::mode(Interpolation::None, semantic);
                        let how = Interp { mode, at: InterpAt::Center };
                        graphics::interpolated(&mut self.e.b, mem, how, None).into()
                    }
                    _ => self.e.b.ld_word(mem).into(),
                }
            })
            .collect()
    }
}
