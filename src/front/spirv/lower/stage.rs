//! Inputs, outputs and operations of graphics stages.
//!
//! Outputs of vertex, tessellation and geometry shaders are stored where the module stores them; those of a fragment shader are
//! variables, which its end leaves in registers, and so are outputs that are read back, beside.

use super::attribute::{At, Attribute, Vertex};
use super::pointer::{Place, Pointer};
use super::{Lower, R};
use crate::front::common::emit::value::{Comp, Pred, Shape, Word};
use crate::front::common::graphics;
use crate::front::common::kept;
use crate::front::spirv::types::Type;
use crate::ir::{
    Cond, EmitOp, Interp, InterpAt, InterpMode, Op as IrOp, Space, Term, Type as IrType, ValueId,
};
use crate::stage::{Semantic, Stage};
use spirv::{BuiltIn, GlslStd450Op as G, Op};

/// Where an input is interpolated that a load, or an instruction, names.
type Interpolated = Option<(InterpAt, Option<ValueId>)>;

impl Lower<'_, '_> {
    pub(super) fn stage(&self) -> Stage {
        self.stages.interface.stage
    }

    fn not_here<T>(&self, what: &str) -> R<T> {
        self.fail(format!("{what} does not exist in a {} shader", self.stage()))
    }

    // ---- beginning and end

    pub(super) fn begin_stage(&mut self) {
        let (stage, asks) = (self.stage(), self.stages.used.asks_helper);
        self.kept = kept::Kept::begin(&mut self.e, stage, asks);
    }

    /// How the program ends: with what its stage leaves in registers.
    pub(super) fn end_stage(&mut self) -> Term {
        match self.stage() {
            Stage::Geometry => self.kept.leave_geometry(&mut self.e),
            Stage::Fragment => {
                let results = self.stages.results.iter().copied();
                let chip = self.request.chip;
                self.kept.leave_fragment(&mut self.e, &self.stages.interface, chip, results)
            }
            Stage::Vertex | Stage::TessEval => {
                self.kept.complete_vertex(&mut self.e, self.stages.clipping, None);
                Term::Exit
            }
            Stage::TessControl | Stage::Compute => Term::Exit,
        }
    }

    // ---- places

    /// An attribute as a place: a system value, if it is one.
    pub(super) fn attribute_place(&self, a: Attribute) -> Place {
        match a.system(self.stage()) {
            Some(b) => Place::BuiltIn(b, None),
            None => Place::Attribute(Box::new(a)),
        }
    }

    pub(super) fn attribute_variable(&mut self, id: u32) -> R<Option<Pointer>> {
        if !self.stages.listed.contains(&id) {
            return self.fail(format!("the interface of the entry point does not name {}", self.m.name(id)));
        }
        let found = Attribute::of_variable(self.m, self.stage(), id);
        let pointer = found.map(|(a, ty)| Pointer::new(self.attribute_place(a), ty));
        if let Some(p) = &pointer {
            self.variables.insert((0, id), p.clone());
        }
        Ok(pointer)
    }

    /// One step into an input or output.
    pub(super) fn attribute_part(&mut self, a: &Attribute, ty: u32, id: u32, n: u32) -> R<Place> {
        let constant = self.m.constant_index(id).and_then(|n| u32::try_from(n).ok());
        let part = self.m.part(ty, n).unwrap_or(0);
        let a = match self.m.ty(ty) {
            Some(Type::Struct { members }) => a.member(self.m, ty, members, n),
            Some(&Type::Vector { len, .. }) => {
                let shape = self.shape_of(part)?;
                match constant {
                    Some(n) if n < len.into() => {
                        Attribute { component: a.component + n * shape.words() as u32, ..a.clone() }
                    }
                    Some(_) => return self.fail("the index is beyond the vector"),
                    None => {
                        let index = self.index(id)?.word();
                        Attribute { choice: Some((index, len.into())), ..a.clone() }
                    }
                }
            }
            _ => {
                let len = self.m.parts(ty).unwrap_or(0);
                match constant {
                    Some(n) if n < len => a.element(self.m, part, n),
                    Some(_) => return self.fail("the index is beyond the array"),
                    None => {
                        let index = self.index(id)?.word();
                        self.indexed(a, part, index, len)
                    }
                }
            }
        };
        Ok(self.attribute_place(a))
    }

    /// The element of an array, or the column of a matrix, that an index says.
    fn indexed(&mut self, a: &Attribute, part: u32, index: Word, len: u32) -> Attribute {
        if a.vertex == Vertex::Each {
            return Attribute { vertex: Vertex::One(index), ..a.clone() };
        }
        if a.is_compact() {
            return Attribute { choice: Some((index, len)), ..a.clone() };
        }
        let each = self.m.info(part).map_or(0, |info| info.vectors);
        let step = self.e.op2(IrOp::Mul, IrType::U32, index, each);
        let offset = match a.offset {
            None => (step, each.saturating_mul(len)),
            Some((before, extent)) => (self.e.op2(IrOp::Add, IrType::U32, before, step), extent),
        };
        Attribute { offset: Some(offset), ..a.clone() }
    }

    fn semantic(&self, a: &Attribute, word: u32) -> Option<(Semantic, u32)> {
        a.semantic(self.stage(), word, self.stages.clip[usize::from(!a.input)])
    }

    /// Whether an output's values are kept as variables.
    fn is_kept(&self, a: &Attribute, semantic: Semantic) -> bool {
        let clips = || self.stages.clipping.is_some_and(|c| c.source == semantic);
        match self.stage() {
            _ if a.input => false,
            Stage::Fragment => true,
            Stage::TessControl | Stage::Compute => false,
            _ => self.stages.used.reads_back(a.id) || clips(),
        }
    }

    fn memory(
        &mut self,
        a: &Attribute,
        semantic: Semantic,
        vertex: Option<ValueId>,
    ) -> Option<graphics::Place> {
        let address = semantic.address()?;
        let patch = semantic.is_per_patch();
        let space = match (a.input, patch) {
            (true, false) => Space::Input,
            (true, true) => Space::PatchInput,
            (false, false) => Space::Output,
            (false, true) => Space::PatchOutput,
        };
        let offset = match a.offset {
            Some((w, _)) => {
                let bytes = self.e.op2(IrOp::Shl, IrType::U32, w, 4);
                Some(self.e.val(bytes))
            }
            None => None,
        };
        Some(graphics::Place { space, address, offset, vertex: vertex.filter(|_| !patch) })
    }

    /// The parts of a composite input or output, each with its type; `None`: it is a scalar or vector.
    fn attribute_parts(&self, a: &Attribute, ty: u32) -> Option<Vec<(Attribute, u32)>> {
        let parts = |part: u32, len: u32| (0..len).map(|n| (a.element(self.m, part, n), part)).collect();
        Some(match self.m.ty(ty)? {
            &Type::Array { part, len } => parts(part, len),
            &Type::Matrix { column, columns } => parts(column, columns.into()),
            Type::Struct { members } => (members.iter().enumerate())
                .map(|(n, &part)| (a.member(self.m, ty, members, n as u32), part))
                .collect(),
            _ => return None,
        })
    }

    // ---- loads

    pub(super) fn load_attribute(&mut self, a: &Attribute, ty: u32, at: Interpolated) -> R<Vec<Comp>> {
        self.check_size(ty)?;
        let mut comps = Vec::new();
        self.load_parts(a, ty, at, &mut comps)?;
        Ok(comps)
    }

    fn load_parts(&mut self, a: &Attribute, ty: u32, at: Interpolated, out: &mut Vec<Comp>) -> R<()> {
        if let Some(b) = a.system(self.stage()) {
            out.extend(self.built_in(b, None, ty)?);
            return Ok(());
        }
        if let Some(parts) = self.attribute_parts(a, ty) {
            return parts.iter().try_for_each(|(a, ty)| self.load_parts(a, *ty, at, out));
        }
        let shape = self.shape_of(ty)?;
        if a.vertex == Vertex::Each {
            return self.fail("the input or output of which vertex is not said");
        }
        let Some((index, count)) = a.choice else {
            for c in 0..u32::from(shape.comps) {
                out.push(self.load_scalar(a, ty, shape, c, at)?);
            }
            return Ok(());
        };
        // Components have no addresses that could be computed.
        let a = Attribute { choice: None, ..a.clone() };
        let mut all = Vec::new();
        for c in 0..count {
            all.push(self.load_scalar(&a, ty, shape, c, at)?);
        }
        out.push(self.one_of(&all, index));
        Ok(())
    }

    /// A scalar, so many scalars from where the attribute begins.
    fn load_scalar(&mut self, a: &Attribute, ty: u32, shape: Shape, c: u32, at: Interpolated) -> R<Comp> {
        let numbers = !self.m.is_float(ty) || shape.bits == 64;
        Ok(match shape.bits {
            32 => Comp::Word(self.load_word(a, c, numbers, at)?),
            64 => {
                let lo = self.load_word(a, 2 * c, numbers, at)?;
                Comp::Wide(lo, self.load_word(a, 2 * c + 1, numbers, at)?)
            }
            bits => return self.missing(format!("an input or output of {bits} bits is")),
        })
    }

    fn load_word(&mut self, a: &Attribute, word: u32, numbers: bool, at: Interpolated) -> R<Word> {
        let Some((semantic, component)) = self.semantic(a, word) else {
            return self.fail("there is no such input or output");
        };
        if self.is_kept(a, semantic) {
            return self.load_kept(a, word, numbers);
        }
        let missing = component >= semantic.components().into();
        let vertex = match (a.vertex, missing) {
            (Vertex::One(w), false) => Some(self.vertex(a.input, w)),
            _ => None,
        };
        let Some(place) = self.memory(a, semantic, vertex).filter(|_| !missing) else {
            let v = self.e.b.mov(graphics::missing(component));
            return Ok(v.into());
        };
        let mem = place.component(component);
        if self.stage() != Stage::Fragment {
            return Ok(self.e.b.ld_word(mem).into());
        }
        let mode = a.mode(semantic, numbers);
        let own = if a.how.centroid || a.how.sample { InterpAt::Centroid } else { InterpAt::Center };
        let (at, offset) = match mode {
            InterpMode::Flat => (InterpAt::Center, None),
            _ => at.unwrap_or((own, None)),
        };
        let v = graphics::interpolated(&mut self.e.b, mem, Interp { mode, at }, offset);
        if self.stages.integer_centers && semantic == Semantic::Position && component < 2 {
            let half = Word::Imm((-0.5f32).to_bits());
            return Ok(self.e.op2(IrOp::Add, IrType::F32, Word::Val(v), half));
        }
        Ok(v.into())
    }

    /// A word of an output as it was written last.
    fn load_kept(&mut self, a: &Attribute, word: u32, numbers: bool) -> R<Word> {
        let Some((index, extent)) = a.offset else {
            let Some((semantic, component)) = self.semantic(a, word) else {
                return self.fail("there is no such output");
            };
            return Ok(self.kept.read_output(&mut self.e, semantic, component as u8).into());
        };
        let mut all = Vec::new();
        for n in 0..extent {
            let a = a.further(n);
            if self.semantic(&a, word).is_some() {
                all.push(Comp::Word(self.load_word(&a, word, numbers, None)?));
            }
        }
        Ok(self.one_of(&all, index).word())
    }

    fn vertex(&mut self, input: bool, w: Word) -> ValueId {
        let (n, dynamic) = match w {
            Word::Imm(n) => (n, None),
            w => (0, Some(self.e.val(w))),
        };
        match input {
            true => graphics::input_vertex(&mut self.e.b, n, dynamic),
            false => graphics::output_vertex(&mut self.e.b, n, dynamic),
        }
    }

    // ---- stores

    pub(super) fn store_attribute(&mut self, a: &Attribute, ty: u32, comps: &mut &[Comp]) -> R<()> {
        if a.input {
            return self.fail("a store to an input");
        }
        if let Some(parts) = self.attribute_parts(a, ty) {
            if a.vertex == Vertex::Each {
                return self.missing("a store to the outputs of all vertices is");
            }
            return parts.iter().try_for_each(|(a, ty)| self.store_attribute(a, *ty, comps));
        }
        let shape = self.shape_of(ty)?;
        let (now, rest) = comps.split_at(usize::from(shape.comps).min(comps.len()));
        *comps = rest;
        if a.vertex == Vertex::Each {
            return self.fail("the output of which vertex is not said");
        }
        match a.choice {
            None => {
                for (c, &comp) in now.iter().enumerate() {
                    self.store_scalar(a, c as u32, shape, comp)?;
                }
            }
            Some((index, count)) => {
                let a = Attribute { choice: None, ..a.clone() };
                for c in 0..count {
                    self.when_equal(index, c, |this| this.store_scalar(&a, c, shape, now[0]))?;
                }
            }
        }
        Ok(())
    }

    /// What is done where a word has a value.
    fn when_equal(&mut self, w: Word, n: u32, then: impl FnOnce(&mut Self) -> R<()>) -> R<()> {
        match self.e.cmp(Cond::Eq, IrType::U32, w, n) {
            Pred::Const(false) => Ok(()),
            Pred::Const(true) => then(self),
            p => {
                let join = self.e.begin_when(p);
                then(self)?;
                self.e.end_when(join);
                Ok(())
            }
        }
    }

    fn store_scalar(&mut self, a: &Attribute, c: u32, shape: Shape, comp: Comp) -> R<()> {
        let per = match shape.bits {
            32 => 1,
            64 => 2,
            bits => return self.missing(format!("an output of {bits} bits is")),
        };
        let values = self.e.values(comp);
        for (n, &v) in values.iter().enumerate() {
            self.store_word(a, per * c + n as u32, v)?;
        }
        Ok(())
    }

    fn store_word(&mut self, a: &Attribute, word: u32, v: ValueId) -> R<()> {
        let Some((semantic, component)) = self.semantic(a, word) else {
            return self.fail("there is no such output");
        };
        let fragment = self.stage() == Stage::Fragment;
        if semantic == Semantic::Stencil {
            return self.missing("a stencil value that a shader writes is");
        }
        if component >= semantic.components().into() {
            return Ok(());
        }
        if self.is_kept(a, semantic) {
            if let Some((index, extent)) = a.offset {
                for n in 0..extent {
                    let a = a.further(n);
                    if self.semantic(&a, word).is_some() {
                        self.when_equal(index, n, |this| this.store_word(&a, word, v))?;
                    }
                }
                return Ok(());
            }
            self.kept.write_output(&mut self.e, semantic, component as u8, v);
        }
        if fragment || graphics::stays(&self.stages.interface, semantic) {
            return Ok(());
        }
        // The invocations of a tessellation control shader write their own vertices only.
        let vertex = self.kept.vertex(&mut self.e);
        if let Some(place) = self.memory(a, semantic, vertex) {
            self.e.b.st(IrType::U32, place.component(component), v);
        }
        Ok(())
    }

    // ---- operations

    /// Instructions of graphics stages; whether it is one.
    pub(super) fn graphics(&mut self, op: Op) -> R<bool> {
        let x = self.operands();
        match op {
            Op::Kill | Op::TerminateInvocation | Op::DemoteToHelperInvocation => {
                if self.stage() != Stage::Fragment {
                    self.not_here(&format!("Op{op:?}"))?;
                }
                self.kept.discard(&mut self.e, Pred::Const(true));
            }
            Op::IsHelperInvocationEXT => {
                if self.stage() != Stage::Fragment {
                    self.not_here("OpIsHelperInvocationEXT")?;
                }
                let w = self.kept.helper(&mut self.e, true);
                let p = self.e.truth(Comp::Word(w), 32);
                self.define([Comp::Bool(p)])?;
            }
            Op::EmitVertex | Op::EmitStreamVertex => {
                let stream = if op == Op::EmitStreamVertex { self.constant(x[0])? } else { 0 };
                self.end_vertex(EmitOp::Emit, stream)?;
            }
            Op::EndPrimitive | Op::EndStreamPrimitive => {
                let stream = if op == Op::EndStreamPrimitive { self.constant(x[0])? } else { 0 };
                self.end_vertex(EmitOp::Cut, stream)?;
            }
            Op::DPdx | Op::DPdxFine | Op::DPdxCoarse => self.derivatives(x[0], &[false])?,
            Op::DPdy | Op::DPdyFine | Op::DPdyCoarse => self.derivatives(x[0], &[true])?,
            Op::Fwidth | Op::FwidthFine | Op::FwidthCoarse => self.derivatives(x[0], &[false, true])?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn end_vertex(&mut self, what: EmitOp, stream: u32) -> R<()> {
        if self.stage() != Stage::Geometry {
            return self.not_here("a vertex to emit");
        }
        let p = &self.stages.interface.properties;
        if stream > 3 || stream > 0 && p.strips != 1 {
            return self.fail("there are streams 0 to 3, and those of points only beside 0");
        }
        self.kept.emit_vertex(&mut self.e, what, stream, p.max_vertices, self.stages.clipping);
        Ok(())
    }

    /// Differences between neighbours, or the sum of their magnitudes. Coarse ones are as fine ones.
    fn derivatives(&mut self, id: u32, directions: &[bool]) -> R<()> {
        if self.stage() != Stage::Fragment {
            self.not_here("a derivative")?;
        }
        let ty = self.type_of(id)?;
        let shape = self.shape_of(ty)?;
        if !self.m.is_float(ty) || shape.bits != 32 {
            return self.missing(format!("a derivative of a {} is", self.m.type_name(ty)));
        }
        let mut out = Vec::new();
        for &c in self.comps(id)?.iter() {
            let mut sum = None;
            for &vertical in directions {
                let v = self.e.src(c.word());
                let d: Word = graphics::derivative(&mut self.e.b, v, vertical).into();
                let d = if directions.len() > 1 { self.e.op1(IrOp::Abs, IrType::F32, d) } else { d };
                sum = Some(match sum {
                    None => d,
                    Some(before) => self.e.op2(IrOp::Add, IrType::F32, before, d),
                });
            }
            out.extend(sum.map(Comp::Word));
        }
        self.define_numbers(32, out)
    }

    /// `InterpolateAtCentroid`, `InterpolateAtSample`, `InterpolateAtOffset`.
    pub(super) fn interpolate(&mut self, g: G, x: &[u32]) -> R<()> {
        let wanted = if g == G::InterpolateAtCentroid { 1 } else { 2 };
        if x.len() != wanted {
            return self.fail(format!("the instruction has {} operands instead of {wanted}", x.len()));
        }
        let p = self.pointer(x[0])?;
        let Place::Attribute(a) = &p.place else {
            return self.fail("only inputs are interpolated");
        };
        if self.stage() != Stage::Fragment || !a.input || !matches!(a.at, At::Location(_)) {
            return self.fail("only inputs of fragment shaders that have a location are interpolated");
        }
        let at = match g {
            G::InterpolateAtCentroid => (InterpAt::Centroid, None),
            G::InterpolateAtSample => {
                let sample = self.word(x[1])?.word();
                let sample = self.e.src(sample);
                (InterpAt::Offset, Some(graphics::sample_offset(&mut self.e.b, sample)))
            }
            _ => {
                let ty = self.type_of(x[1])?;
                let comps = self.comps(x[1])?;
                let &[a, b] = &comps[..] else { return self.fail("an offset has two components") };
                if !self.m.is_float(ty) || !a.fits(32) {
                    return self.fail("an offset is a vector of floats");
                }
                let [a, b] = [a, b].map(|c| self.e.src(c.word()));
                (InterpAt::Offset, Some(graphics::pixel_offset(&mut self.e.b, a, b)))
            }
        };
        if p.to != self.ty() {
            return self.fail("the result has another type than the input");
        }
        let comps = self.load_attribute(&a.clone(), p.to, Some(at))?;
        self.define(comps)
    }

    /// What an atomic gives.
    pub(super) fn atomic_result(&mut self, result: Comp, bits: u8) -> Comp {
        if self.stage() != Stage::Fragment || self.loops == 0 {
            return result;
        }
        kept::atomic_in_loop(&mut self.e, result, bits)
    }

    /// What graphics stages alone are given; `None`: nothing of that name.
    pub(super) fn stage_words(&mut self, b: BuiltIn) -> R<Option<Vec<Word>>> {
        use crate::ir::Sv;
        use Stage::*;
        let sv = |this: &mut Self, sv| vec![this.e.sv(sv)];
        Ok(Some(match (b, self.stage()) {
            (BuiltIn::VertexIndex | BuiltIn::VertexId, Vertex) => sv(self, Sv::VertexId),
            (BuiltIn::InstanceId, Vertex) => sv(self, Sv::InstanceId),
            (BuiltIn::InstanceIndex, Vertex) => {
                let [id, base] = self.e.svs([Sv::InstanceId, Sv::BaseInstance]);
                vec![self.e.op2(IrOp::Add, IrType::U32, id, base)]
            }
            (BuiltIn::BaseVertex, Vertex) => sv(self, Sv::BaseVertex),
            (BuiltIn::BaseInstance, Vertex) => sv(self, Sv::BaseInstance),
            (BuiltIn::DrawIndex, Vertex) => sv(self, Sv::DrawId),
            (BuiltIn::PrimitiveId, TessControl | TessEval | Geometry | Fragment) => sv(self, Sv::PrimitiveId),
            (BuiltIn::InvocationId, TessControl | Geometry) => sv(self, Sv::InvocationId),
            (BuiltIn::PatchVertices, TessControl | TessEval) => sv(self, Sv::VerticesIn),
            (BuiltIn::TessCoord, TessEval) => {
                self.e.svs([Sv::TessCoordX, Sv::TessCoordY, Sv::TessCoordZ]).to_vec()
            }
            (BuiltIn::FrontFacing, Fragment) => sv(self, Sv::FrontFace),
            (BuiltIn::SampleId, Fragment) => sv(self, Sv::SampleId),
            (BuiltIn::SamplePosition, Fragment) => self.e.svs([Sv::SamplePosX, Sv::SamplePosY]).to_vec(),
            (BuiltIn::SampleMask, Fragment) => sv(self, Sv::SampleMaskIn),
            (BuiltIn::HelperInvocation, Fragment) => {
                let now = self.stages.used.asks_helper;
                vec![self.kept.helper(&mut self.e, now)]
            }
            _ => return Ok(None),
        }))
    }
}
