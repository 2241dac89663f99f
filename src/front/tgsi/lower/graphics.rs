//! Inputs, outputs and operations of graphics stages.
//!
//! Outputs of vertex, tessellation and geometry shaders are stored where they are written; those of a fragment shader are
//! variables, which its end leaves in registers. The vertex that a geometry shader makes is a variable, too.

use super::{Body, Failed, Parsed};
use crate::diag::Diagnostic;
use crate::front::graphics::{self, Place};
use crate::front::tgsi::ast::*;
use crate::ir::{
    self, Attribute, Aux, Class, EmitOp, Inst as IrInst, Interp, InterpAt, InterpMode, Op, Space, Sv, Type,
    ValueId,
};
use crate::stage::{self, Stage};

/// The vertex being made, as a register's component.
pub const VERTEX: (File, u32, u8) = (File::Sv, u32::MAX, 0);

impl Body<'_> {
    fn stage(&self) -> Stage {
        self.cx.registers.interface.stage
    }

    pub fn is_graphics(&self) -> bool {
        self.stage().is_graphics()
    }

    /// A component of a system value that only graphics stages have.
    pub fn stage_value(&mut self, semantic: Semantic, comp: usize, reg: &Reg) -> Parsed<ir::Src> {
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
            return Err(Box::new(Diagnostic::error(what).at(reg.span, "")));
        }
        let sv = match (semantic, comp) {
            (TessOuter | TessInner, c) => {
                let level =
                    super::super::interface::semantic_of(semantic, 0).filter(|s| c < s.components().into());
                let Some(address) = level.and_then(|s| s.address()) else { return Ok(Self::missing(c)) };
                let place = Place { space: Space::PatchInput, address, offset: None, vertex: None };
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
        Box::new(Diagnostic::error(what).at(reg.span, "expected a declared register"))
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

    /// What an attribute's missing components read as.
    fn missing(comp: usize) -> ir::Src {
        if comp == 3 { ir::Src::f32(1.0) } else { 0u32.into() }
    }

    pub fn read_input(&mut self, reg: &Reg, comp: usize) -> Parsed<ir::Src> {
        let (a, distance) = self.attribute(reg)?;
        if comp >= usize::from(a.semantic.components()) {
            return Ok(Self::missing(comp));
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
        let space = if a.semantic.is_per_patch() { Space::PatchInput } else { Space::Input };
        let address = a.address().ok_or_else(|| self.undeclared(reg))?.wrapping_add((16 * distance) as u32);
        let place = Place { space, address, offset, vertex };
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
            return Ok(Self::missing(comp));
        }
        if a.semantic == stage::Semantic::Face {
            return Ok(graphics::face_as_float(&mut self.b()).into());
        }
        let base = self.scaled(reg)?;
        let address = a.address().ok_or_else(|| self.undeclared(reg))?.wrapping_add((16 * distance) as u32);
        let place = Place { space: Space::Input, address, offset: base, vertex: None };
        // What is flat is the same everywhere.
        let at = if a.mode == InterpMode::Flat { InterpAt::Center } else { at };
        let how = Interp { mode: a.mode, at };
        Ok(graphics::interpolated(&mut self.b(), place.component(comp as u32), how, offset).into())
    }

    /// Reads back an output: of a patch's vertices, or a variable.
    pub fn read_output(&mut self, reg: &Reg, comp: usize) -> Parsed<ir::Src> {
        let (a, distance) = self.attribute(reg)?;
        if self.stage() == Stage::Fragment && reg.index.indirect.is_none() {
            return Ok(self.read_var(File::Out, reg.index.offset as u32, comp).into());
        }
        if self.stage() != Stage::TessControl {
            return Err(self.unsupported("an output cannot be read in this stage", "expected TEMP"));
        }
        if comp >= usize::from(a.semantic.components()) {
            return Ok(Self::missing(comp));
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
        let space = if patch { Space::PatchOutput } else { Space::Output };
        let address = a.address().ok_or_else(|| self.undeclared(reg))?.wrapping_add((16 * distance) as u32);
        let place = Place { space, address, offset, vertex };
        Ok(self.b().ld_word(place.component(comp as u32)).into())
    }

    pub fn write_output(&mut self, reg: &Reg, comp: usize, v: ValueId) -> Parsed<()> {
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
        let Some(address) = a.address().filter(|_| !dropped) else { return Ok(()) };
        // It never leaves the shader but as clip distances.
        if a.semantic == stage::Semantic::ClipVertex && self.stage() != Stage::TessControl {
            return Ok(());
        }
        let offset = self.scaled(reg)?;
        let vertex = (self.stage() == Stage::Geometry).then(|| self.vertex());
        let space = if a.semantic.is_per_patch() { Space::PatchOutput } else { Space::Output };
        let place = Place { space, address: address.wrapping_add((16 * distance) as u32), offset, vertex };
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
    pub fn begin_stage(&mut self) {
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
            let address = stage::Semantic::ViewportIndex.address().unwrap_or_default();
            let place = Place { space: Space::Output, address, offset: None, vertex };
            self.b().st(Type::U32, place.component(0), v);
        }
        if let Some(n) = cx.clip_source.and_then(of) {
            let position = [0, 1, 2, 3].map(|c| self.read_var(File::Out, n, c));
            let planes = cx.registers.interface.properties.clip_planes;
            graphics::clip_distances(&mut self.b(), planes, cx.clip_planes, position, vertex);
        }
    }

    /// Ends the kernel, leaving what its stage leaves in registers.
    pub fn leave_stage(&mut self) -> ir::Term {
        match self.stage() {
            Stage::Geometry => {
                let vertex = self.vertex();
                self.set_results(vec![0]);
                ir::Term::Ret(vec![vertex])
            }
            Stage::Fragment => self.leave_fragment(),
            Stage::Vertex | Stage::TessEval => {
                self.complete_vertex(None);
                ir::Term::Exit
            }
            Stage::TessControl | Stage::Compute => ir::Term::Exit,
        }
    }

    fn set_results(&mut self, regs: Vec<u8>) {
        self.f.results = vec![Class::Gpr; regs.len()];
        self.f.result_regs = regs;
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
        self.set_results(results.iter().map(|r| r.0).collect());
        ir::Term::Ret(results.into_iter().map(|r| r.1).collect())
    }

    pub fn graphics(&mut self, inst: &Inst<'_>) -> Parsed<()> {
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
            _ => Err(self.unsupported(format!("{} is not supported", inst.op.name()), "")),
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
        let out = IrInst::new(Op::Emit, Type::U32).src(vertex).src(stream).with_aux(Aux::Emit(what));
        let next = self.b().value(out);
        self.write_var(VERTEX.0, VERTEX.1, VERTEX.2.into(), next);
        Ok(())
    }

    fn interpolate(&mut self, inst: &Inst<'_>) -> Parsed<()> {
        let src = inst.srcs[0];
        if src.reg.file != File::In {
            return Err(Box::new(
                Diagnostic::error("only an input is interpolated").at(src.reg.span, "expected IN"),
            ));
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
        let dst = inst.dsts[0];
        dst.comps().zip(values).try_for_each(|(c, v)| self.write(&dst.reg, c, v))
    }
}
