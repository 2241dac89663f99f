//! Inputs, outputs and operations of graphics stages.
//!
//! Outputs of vertex, tessellation and geometry shaders are stored where they are written; those of a fragment shader are
//! variables, which its end leaves in registers. The vertex that a geometry shader makes is a variable, too.

use super::{Body, Failed, Parsed};
use crate::front::common::graphics::{self, Place, missing};
use crate::front::tgsi::ast::*;
use crate::ir::{self, Attribute, EmitOp, Interp, InterpAt, InterpMode, Op, Space, Sv, Type, ValueId};
use crate::stage::{self, Stage};

/// The vertex being made, as a register's component.
pub(super) const VERTEX: (File, u32, u8) = (File::Sv, u32::MAX, 0);

impl Body<'_> {
    fn stage(&self) -> Stage {
        self.cx.registers.interface.stage
    }

    pub(super) fn is_graphics(&self) -> bool {
        self.stage().is_graphics()
    }

    /// A component of a system value that only graphics stages have.
    pub(super) fn stage_value(&mut self, semantic: Semantic, comp: usize, reg: &Reg) -> Parsed<ir::Src> {
        use Semantic::*;
        let stage = self.stage();
        let exists = match semantic {
            VertexId | VertexIdNoBase | InstanceId | BaseVertex | BaseInstance | DrawId => {
                stage == Stage::Vertex
            }
            PrimId => true,
            InvocationId => matches!(stage, Stage::TessControl | Stage::Geometry),
            VerticesIn => matches!(stage, Stage::TessControl | Stage::TessEval),
            TessCoord | TessOuter | TessInner => stage == Stage::TessEval,
            Face | HelperInvocation | SampleId | SamplePos | SampleMask => stage == Stage::Fragment,
            _ => false,
        };
        if !exists {
            let what =
                format!("{} does not exist in a {} program", semantic.name(), self.cx.ast.stage.name());
            return Err(self.error_at(reg.span, what, ""));
        }
        let sv = match (semantic, comp) {
            (TessOuter | TessInner, c) => {
                let level =
                    super::super::interface::semantic_of(semantic, 0).filter(|s| c < s.components().into());
                let Some(level) = level.filter(|s| s.address().is_some()) else {
                    return Ok(missing(c as u32));
                };
                let place = Place::of(Space::PatchInput, level);
                return Ok(self.b().ld_word(place.component(c as u32)).into());
            }
            (TessCoord, 0) => Sv::TessCoordX,
            (TessCoord, 1) => Sv::TessCoordY,
            (TessCoord, 2) => Sv::TessCoordZ,
            (SamplePos, 0) => Sv::SamplePosX,
            (SamplePos, 1) => Sv::SamplePosY,
            (TessCoord | SamplePos, _) => return Ok(0u32.into()),
            (VertexId, _) => Sv::VertexId,
            (VertexIdNoBase, _) => {
                let (id, base) = (self.b().sv(Sv::VertexId), self.b().sv(Sv::BaseVertex));
                return Ok(self.b().op2(Op::Sub, Type::U32, id, base).into());
            }
            (InstanceId, _) => Sv::InstanceId,
            (BaseVertex, _) => Sv::BaseVertex,
            (BaseInstance, _) => Sv::BaseInstance,
            (DrawId, _) => Sv::DrawId,
            (InvocationId, _) => Sv::InvocationId,
            (VerticesIn, _) => Sv::VerticesIn,
            (Face, _) => Sv::FrontFace,
            (HelperInvocation, _) => Sv::Helper,
            (SampleId, _) => Sv::SampleId,
            (SampleMask, _) => Sv::SampleMaskIn,
            _ => Sv::PrimitiveId,
        };
        Ok(self.b().sv(sv).into())
    }

    fn undeclared(&self, reg: &Reg) -> Failed {
        let what = format!("{}[{}] is not declared", reg.file.name(), reg.index.offset);
        self.error_at(reg.span, what, "expected a declared register")
    }

    /// What is added to an attribute's address by a dynamic index.
    fn scaled(&mut self, reg: &Reg) -> Parsed<Option<ValueId>> {
        let (_, dynamic) = self.index(&reg.index)?;
        Ok(dynamic.map(|v| self.b().op2(Op::Shl, Type::U32, v, 4u32)))
    }

    /// The declared attribute that a register begins at. A dynamic index may stand beside a number before the first one.
    fn attribute(&self, reg: &Reg) -> Parsed<(Attribute, i32)> {
        let find = |n: u32| match reg.file {
            File::In => self.cx.registers.input(n).copied(),
            _ => self.cx.registers.output(n).copied(),
        };
        let index = i32::from(reg.index.offset);
        if let Some(a) = u32::try_from(index).ok().and_then(find) {
            return Ok((a, 0));
        }
        let array = reg.index.indirect.map_or(0, |i| i.array);
        let mut arrays = self.cx.ast.decls.iter().filter(|d| d.file == reg.file);
        let first = arrays.find(|d| reg.index.indirect.is_some() && (array == 0 || d.array == array));
        let found = first.and_then(|d| Some((find(d.first)?, index - d.first as i32)));
        found.ok_or_else(|| self.undeclared(reg))
    }

    /// Where a register's attribute lies, that begins so many registers before it.
    fn place_of(&mut self, reg: &Reg, a: &Attribute, distance: i32, io: [Space; 2]) -> Parsed<Place> {
        let space = io[usize::from(a.semantic.is_per_patch())];
        let address = a.address().ok_or_else(|| self.undeclared(reg))?.wrapping_add((16 * distance) as u32);
        Ok(Place { space, address, offset: None, vertex: None })
    }

    pub(super) fn read_input(&mut self, reg: &Reg, comp: usize) -> Parsed<ir::Src> {
        let (a, distance) = self.attribute(reg)?;
        if comp >= usize::from(a.semantic.components()) {
            return Ok(missing(comp as u32));
        }
        let at = if a.centroid { InterpAt::Centroid } else { InterpAt::Center };
        if self.stage() == Stage::Fragment {
            return self.fragment_input(reg, comp, at, None);
        }
        if a.semantic == stage::Semantic::PrimitiveId {
            return Ok(self.b().sv(Sv::PrimitiveId).into());
        }
        let offset = self.scaled(reg)?;
        let vertex = match &reg.dim {
            Some(dim) => {
                let (n, dynamic) = self.index(dim)?;
                let n = u32::try_from(n).map_err(|_| self.error("the number of a vertex is negative", ""))?;
                Some(graphics::input_vertex(&mut self.b(), n, dynamic))
            }
            None => None,
        };
        let place = self.place_of(reg, &a, distance, [Space::Input, Space::PatchInput])?;
        let place = Place { offset, vertex, ..place };
        Ok(self.b().ld_word(place.component(comp as u32)).into())
    }

    fn fragment_input(
        &mut self,
        reg: &Reg,
        comp: usize,
        at: InterpAt,
        offset: Option<ValueId>,
    ) -> Parsed<ir::Src> {
        let (a, distance) = self.attribute(reg)?;
        if comp >= usize::from(a.semantic.components()) {
            return Ok(missing(comp as u32));
        }
        if a.semantic == stage::Semantic::Face {
            return Ok(graphics::face_as_float(&mut self.b()).into());
        }
        let base = self.scaled(reg)?;
        let place = self.place_of(reg, &a, distance, [Space::Input; 2])?;
        let place = Place { offset: base, ..place };
        // What is flat is the same everywhere.
        let at = if a.mode == InterpMode::Flat { InterpAt::Center } else { at };
        let how = Interp { mode: a.mode, at };
        Ok(graphics::interpolated(&mut self.b(), place.component(comp as u32), how, offset).into())
    }

    /// Reads back an output: of a patch's vertices, or a variable.
    pub(super) fn read_output(&mut self, reg: &Reg, comp: usize) -> Parsed<ir::Src> {
        let (a, distance) = self.attribute(reg)?;
        if self.stage() == Stage::Fragment && reg.index.indirect.is_none() {
            return Ok(self.read_var(File::Out, reg.index.offset as u32, comp).into());
        }
        if self.stage() != Stage::TessControl {
            return Err(self.unsupported("an output cannot be read in this stage", "expected TEMP"));
        }
        if comp >= usize::from(a.semantic.components()) {
            return Ok(missing(comp as u32));
        }
        let offset = self.scaled(reg)?;
        let patch = a.semantic.is_per_patch();
        let vertex = match &reg.dim {
            Some(dim) if !patch => {
                let (n, dynamic) = self.index(dim)?;
                Some(graphics::output_vertex(&mut self.b(), n as u32, dynamic))
            }
            None if !patch => Some(self.b().sv(Sv::Laneid)),
            _ => None,
        };
        let place = self.place_of(reg, &a, distance, [Space::Output, Space::PatchOutput])?;
        let place = Place { offset, vertex, ..place };
        Ok(self.b().ld_word(place.component(comp as u32)).into())
    }

    pub(super) fn write_output(&mut self, reg: &Reg, comp: usize, v: ValueId) -> Parsed<()> {
        let (a, distance) = self.attribute(reg)?;
        if self.stage() == Stage::Fragment {
            if reg.index.indirect.is_some() {
                return Err(self.unsupported("results of a fragment shader lie in registers", "has no index"));
            }
            if a.semantic == stage::Semantic::Stencil {
                return Err(self.unsupported("these chips cannot write stencil values", ""));
            }
            self.write_var(File::Out, reg.index.offset as u32, comp, v);
            return Ok(());
        }
        if self.is_kept(a.semantic) && reg.index.indirect.is_none() {
            self.write_var(File::Out, reg.index.offset as u32, comp, v);
        }
        let dropped = comp >= usize::from(a.semantic.components()) || self.is_late(a.semantic);
        if dropped || a.address().is_none() {
            return Ok(());
        }
        if graphics::stays(&self.cx.registers.interface, a.semantic) {
            return Ok(());
        }
        let offset = self.scaled(reg)?;
        let vertex = (self.stage() == Stage::Geometry).then(|| self.vertex());
        let place = self.place_of(reg, &a, distance, [Space::Output, Space::PatchOutput])?;
        let place = Place { offset, vertex, ..place };
        self.b().st(Type::U32, place.component(comp as u32), v);
        Ok(())
    }

    /// Whether an output's value is wanted at the end or when a vertex is emitted.
    fn is_kept(&self, semantic: stage::Semantic) -> bool {
        self.cx.clip_source == Some(semantic) || self.is_late(semantic)
    }

    /// The number of the viewport holds for all vertices that are emitted after it.
    fn is_late(&self, semantic: stage::Semantic) -> bool {
        self.stage() == Stage::Geometry && semantic == stage::Semantic::ViewportIndex
    }

    fn vertex(&mut self) -> ValueId {
        self.read_var(VERTEX.0, VERTEX.1, VERTEX.2.into())
    }

    /// The first vertex that a geometry shader makes.
    pub(super) fn begin_stage(&mut self) {
        if self.stage() == Stage::Geometry && self.binding.is_none() {
            let first = self.b().mov(0u32);
            self.write_var(VERTEX.0, VERTEX.1, VERTEX.2.into(), first);
        }
    }

    /// What is stored when a vertex is complete.
    fn complete_vertex(&mut self, vertex: Option<ValueId>) {
        let cx = self.cx;
        let outputs = || cx.ast.decls.iter().filter(|d| d.file == File::Out).flat_map(|d| d.first..=d.last);
        let of = |wanted: stage::Semantic| {
            outputs().find(|&n| cx.registers.output(n).is_some_and(|a| a.semantic == wanted))
        };
        if self.is_late(stage::Semantic::ViewportIndex)
            && let Some(n) = of(stage::Semantic::ViewportIndex)
            && cx.registers.output(n).is_some_and(|a| a.mask != 0)
        {
            let v = self.read_var(File::Out, n, 0);
            let place = Place { vertex, ..Place::of(Space::Output, stage::Semantic::ViewportIndex) };
            self.b().st(Type::U32, place.component(0), v);
        }
        if let Some(n) = cx.clip_source.and_then(of) {
            let position = [0, 1, 2, 3].map(|c| self.read_var(File::Out, n, c));
            let planes = cx.registers.interface.properties.clip_planes;
            graphics::clip_distances(&mut self.b(), planes, cx.clip_planes, position, vertex);
        }
    }

    /// Ends the kernel, leaving what its stage leaves in registers.
    pub(super) fn leave_stage(&mut self) -> ir::Term {
        match self.stage() {
            Stage::Geometry => {
                let vertex = self.vertex();
                graphics::return_in(&mut self.f, &[(0, vertex)])
            }
            Stage::Fragment => self.leave_fragment(),
            Stage::Vertex | Stage::TessEval => {
                self.complete_vertex(None);
                ir::Term::Exit
            }
            Stage::TessControl | Stage::Compute => ir::Term::Exit,
        }
    }

    fn leave_fragment(&mut self) -> ir::Term {
        let cx = self.cx;
        let interface = &cx.registers.interface;
        let mut results: Vec<(u8, ValueId)> = Vec::new();
        for n in cx.ast.decls.iter().filter(|d| d.file == File::Out).flat_map(|d| d.first..=d.last) {
            let Some(a) = cx.registers.output(n) else { continue };
            let depth = a.semantic == stage::Semantic::Depth;
            for c in (0..4u8).filter(|c| a.mask >> c & 1 != 0) {
                // Depth is a position's z.
                let (wanted, place) = if depth { (c == 2, 0) } else { (true, c) };
                let reg = graphics::result_register(interface, cx.req.chip, a.semantic, place);
                let Some(reg) = reg.filter(|r| wanted && results.iter().all(|x| x.0 != *r)) else { continue };
                let mut v = self.read_var(File::Out, n, c.into());
                if depth {
                    v = self.saturate(v);
                }
                results.push((reg, v));
            }
        }
        results.sort_unstable_by_key(|r| r.0);
        graphics::return_in(&mut self.f, &results)
    }

    pub(super) fn graphics(&mut self, inst: &Inst<'_>) -> Parsed<()> {
        use Opcode::*;
        let fragment = self.stage() == Stage::Fragment;
        let fits = match inst.op {
            EMIT | ENDPRIM => self.stage() == Stage::Geometry,
            _ => fragment,
        };
        if !fits {
            return Err(self.error(
                format!("{} does not exist in a {} program", inst.op.name(), self.cx.ast.stage.name()),
                "",
            ));
        }
        match inst.op {
            DDX | DDX_FINE | DDY | DDY_FINE => {
                let vertical = matches!(inst.op, DDY | DDY_FINE);
                self.each(inst, |body, c| {
                    let s = body.operand(&inst.srcs[0], c, Ty::F32)?;
                    Ok(graphics::derivative(&mut body.b(), s, vertical))
                })
            }
            KILL | DEMOTE => {
                graphics::discard(&mut self.b(), None);
                Ok(())
            }
            KILL_IF => self.kill_if(&inst.srcs[0]),
            READ_HELPER => {
                let helper = self.b().sv(Sv::Helper);
                self.each(inst, |_, _| Ok(helper))
            }
            FBFETCH => self.framebuffer_fetch(inst),
            EMIT | ENDPRIM => self.emit_vertex(inst),
            INTERP_CENTROID | INTERP_SAMPLE | INTERP_OFFSET => self.interpolate(inst),
            _ => Err(self.no_lowering(inst, "")),
        }
    }

    /// Computes and writes each component of the result; all are computed before the first is written.
    fn each(
        &mut self,
        inst: &Inst<'_>,
        mut make: impl FnMut(&mut Self, usize) -> Parsed<ValueId>,
    ) -> Parsed<()> {
        let dst = inst.dsts[0];
        let mut made = Vec::with_capacity(4);
        for c in dst.comps() {
            let mut v = make(self, c)?;
            if inst.saturate {
                v = self.saturate(v);
            }
            made.push((c, v));
        }
        made.into_iter().try_for_each(|(c, v)| self.write(&dst.reg, c, v))
    }

    /// Discards where any component is below zero.
    fn kill_if(&mut self, src: &Src) -> Parsed<()> {
        let mut seen = 0u8;
        for c in 0..4 {
            let which = src.swizzle[c];
            if seen >> which & 1 != 0 {
                continue;
            }
            seen |= 1 << which;
            let s = self.operand(src, c, Ty::F32)?;
            let pred = graphics::below_zero(&mut self.b(), s);
            graphics::discard(&mut self.b(), Some(ir::Guard { pred, not: false }));
        }
        Ok(())
    }

    fn emit_vertex(&mut self, inst: &Inst<'_>) -> Parsed<()> {
        let stream = self.operand(&inst.srcs[0], 0, Ty::U32)?;
        let properties = self.cx.registers.interface.properties;
        let emits = inst.op == Opcode::EMIT;
        // Strips exist in stream 0 only; with room for no vertex there is nothing to emit.
        if emits && properties.max_vertices == 0 || !emits && stream.as_imm().is_some_and(|s| s != 0) {
            return Ok(());
        }
        let vertex = self.vertex();
        if emits {
            self.complete_vertex(Some(vertex));
        }
        let what = if emits { EmitOp::Emit } else { EmitOp::Cut };
        let next = graphics::emit_vertex(&mut self.b(), what, vertex, stream);
        self.write_var(VERTEX.0, VERTEX.1, VERTEX.2.into(), next);
        Ok(())
    }

    fn interpolate(&mut self, inst: &Inst<'_>) -> Parsed<()> {
        let src = inst.srcs[0];
        if src.reg.file != File::In {
            return Err(self.error_at(src.reg.span, "only an input is interpolated", "expected IN"));
        }
        let (at, offset) = match inst.op {
            Opcode::INTERP_CENTROID => (InterpAt::Centroid, None),
            Opcode::INTERP_SAMPLE => {
                let sample = self.operand(&inst.srcs[1], 0, Ty::I32)?;
                (InterpAt::Offset, Some(graphics::sample_offset(&mut self.b(), sample)))
            }
            _ => {
                let x = self.operand(&inst.srcs[1], 0, Ty::F32)?;
                let y = self.operand(&inst.srcs[1], 1, Ty::F32)?;
                (InterpAt::Offset, Some(graphics::pixel_offset(&mut self.b(), x, y)))
            }
        };
        self.each(inst, |body, c| {
            let s = body.fragment_input(&src.reg, src.swizzle[c].into(), at, offset)?;
            let s = if src.abs { s.abs() } else { s };
            let s = if src.neg { s.neg() } else { s };
            Ok(body.value(s))
        })
    }

    /// The colour that the framebuffer holds at the fragment: a fetch from a texture that the driver binds.
    fn framebuffer_fetch(&mut self, inst: &Inst<'_>) -> Parsed<()> {
        let values = graphics::framebuffer_fetch(&mut self.b(), inst.dsts[0].mask);
        self.write_chosen(&inst.dsts[0], inst.dsts[0].mask, [0, 1, 2, 3], &values)
    }
}
