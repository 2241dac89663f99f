//! The interface of a graphics stage: declarations, and which components the code uses.

use super::ast::{self, *};
use super::lower::read_components;
use crate::diag::{Diagnostic, Diagnostics};
use crate::front::common::graphics;
use crate::ir::{Attribute, Interface, InterpMode};
use crate::stage::{Semantic, Stage};

/// The stage of a program.
pub fn stage(ast: &Program) -> Stage {
    match ast.stage {
        ast::Stage::Vertex => Stage::Vertex,
        ast::Stage::TessCtrl => Stage::TessControl,
        ast::Stage::TessEval => Stage::TessEval,
        ast::Stage::Geometry => Stage::Geometry,
        ast::Stage::Fragment => Stage::Fragment,
        ast::Stage::Compute => Stage::Compute,
    }
}

/// The interface, and where registers stand in it.
#[derive(Default, Debug)]
pub struct Registers {
    /// What the IR declares of them.
    pub interface: Interface,
    inputs: Vec<Option<u16>>,
    outputs: Vec<Option<u16>>,
}

impl Registers {
    /// Reads declarations, properties and code; all declarations that make no sense are reported.
    pub fn new(ast: &Program) -> Result<Registers, Diagnostics> {
        let mut r = Registers { interface: Interface::new(stage(ast)), ..Registers::default() };
        if !r.interface.stage.is_graphics() {
            return Ok(r);
        }
        let mut diags = Diagnostics::default();
        for d in &ast.decls {
            if let Err(e) = r.declare(d) {
                diags.push(*e);
            }
        }
        if diags.has_errors() {
            return Err(diags);
        }
        r.properties(ast);
        r.uses(ast);
        Ok(r)
    }

    /// The attribute of a register.
    pub fn input(&self, index: u32) -> Option<&Attribute> {
        let at = (*self.inputs.get(index as usize)?)?;
        self.interface.inputs.get(usize::from(at))
    }

    /// The attribute of a register.
    pub fn output(&self, index: u32) -> Option<&Attribute> {
        let at = (*self.outputs.get(index as usize)?)?;
        self.interface.outputs.get(usize::from(at))
    }

    /// One more than the highest number of an output register.
    pub fn outputs(&self) -> u32 {
        self.outputs.len() as u32
    }

    fn declare(&mut self, d: &Decl) -> Result<(), Box<Diagnostic>> {
        let stage = self.interface.stage;
        if d.file == File::Sv
            && let Some((s, n)) = d.semantic
            && let Some(semantic) = semantic_of(s, n)
        {
            self.interface.system.push(semantic);
        }
        if !matches!(d.file, File::In | File::Out) {
            return Ok(());
        }
        let input = d.file == File::In;
        for register in d.first..=d.last {
            let semantic = if input && stage == Stage::Vertex {
                u8::try_from(register).ok().filter(|n| *n < 32).map(Semantic::Generic)
            } else {
                let (s, first) = d.semantic.unwrap_or((ast::Semantic::Generic, d.first));
                let s = semantic_of(s, first.saturating_add(register - d.first));
                s.map(|s| if input { s } else { output_semantic(s, stage) })
            };
            let Some(semantic) = semantic.filter(|s| graphics::exists(stage, input, *s)) else {
                let kind = if input { "input" } else { "output" };
                let what = d.semantic.map_or("this register", |s| s.0.name());
                let message =
                    format!("a {} program has no {kind} {what}, or its index is out of range", stage);
                return Err(Box::new(Diagnostic::error(message).at(d.span, "declared here")));
            };
            let mut a = Attribute::new(semantic, 0);
            if input && stage == Stage::Fragment {
                a.mode = mode(d, semantic);
                a.centroid = d.location.is_some_and(|l| l != Location::Center) && a.mode != InterpMode::Flat;
            }
            let (list, places) = match input {
                true => (&mut self.interface.inputs, &mut self.inputs),
                false => (&mut self.interface.outputs, &mut self.outputs),
            };
            let at = register as usize;
            places.resize(places.len().max(at + 1), None);
            // The halves of a register may be declared apart.
            if places[at].is_none() {
                places[at] = Some(list.len() as u16);
                list.push(a);
            }
        }
        Ok(())
    }

    fn properties(&mut self, ast: &Program) {
        let p = &mut self.interface.properties;
        for &(name, value, _) in &ast.props {
            let small = value.min(255) as u8;
            let number = value.min(u16::MAX.into()) as u16;
            match name {
                Property::TcsVerticesOut => p.vertices_out = number,
                Property::TesPrimMode => {
                    // PIPE_PRIM_TRIANGLES, QUADS, LINES
                    p.tess_domain = match value {
                        4 => 1,
                        7 => 2,
                        1 => 3,
                        _ => 0,
                    }
                }
                // PIPE_TESS_SPACING_FRACTIONAL_ODD, _EVEN, _EQUAL
                Property::TesSpacing => {
                    p.tess_spacing = match value {
                        0 => 2,
                        1 => 3,
                        _ => 1,
                    }
                }
                Property::TesVertexOrderCw => p.tess_cw = small,
                Property::TesPointMode => p.tess_points = small,
                Property::GsInputPrim => {
                    p.vertices_in = match PRIMITIVES.get(value as usize).copied() {
                        Some("POINTS") => 1,
                        Some("LINES") => 2,
                        Some("LINES_ADJACENCY") => 4,
                        Some("TRIANGLES_ADJACENCY") => 6,
                        _ => 3,
                    }
                }
                Property::GsOutputPrim => p.strips = graphics::strips(small),
                Property::GsMaxOutputVertices => p.max_vertices = number,
                Property::GsInvocations => p.invocations = number,
                Property::NumClipDistEnabled => p.clip_distances = small,
                Property::NumCullDistEnabled => p.cull_distances = small,
                Property::NextShader => {
                    let next = name.words().get(value as usize).copied();
                    p.clip_vertex_read = u8::from(matches!(next, Some("GEOM" | "TESS_CTRL")));
                }
                Property::VsProhibitUcps => p.no_clip_planes = small,
                Property::FsColor0WritesAllCbufs => p.color_everywhere = small,
                Property::FsEarlyDepthStencil => p.early_tests = small,
                Property::FsPostDepthCoverage => p.post_depth_coverage = small,
                _ => {}
            }
        }
        let per_sample =
            |d: &Decl| matches!(d.semantic, Some((ast::Semantic::SampleId | ast::Semantic::SamplePos, _)));
        p.per_sample = ast.decls.iter().any(per_sample).into();
        let draw = |d: &Decl| {
            use ast::Semantic::{BaseInstance, BaseVertex, DrawId};
            matches!(d.semantic, Some((BaseVertex | BaseInstance | DrawId, _)))
        };
        p.draw_parameters = ast.decls.iter().any(draw).into();
        p.reads_framebuffer = ast.code.iter().any(|i| i.op == Opcode::FBFETCH).into();
    }

    /// Marks the components that the code uses; all of a file that is indexed dynamically.
    fn uses(&mut self, ast: &Program) {
        for at in 0..ast.code.len() as u32 {
            let inst = ast.inst(at);
            let written = inst.dsts.first().map_or(0, |d| d.mask);
            for d in inst.dsts.iter().filter(|d| d.reg.file == File::Out) {
                self.use_output(&d.reg, d.mask, false);
                let edge = self.output(d.reg.index.offset.max(0) as u32);
                let edge = edge.is_some_and(|a| a.semantic == Semantic::EdgeFlag);
                if let Some(from) = inst.srcs.first().filter(|s| edge && s.reg.file == File::In) {
                    self.interface.properties.edge_flag = from.reg.index.offset.clamp(0, 31) as u8 + 1;
                }
            }
            for (n, s) in inst.srcs.iter().enumerate() {
                if !matches!(s.reg.file, File::In | File::Out) {
                    continue;
                }
                let mask =
                    read_components(&inst, n, written).into_iter().fold(0, |m, c| m | 1 << s.swizzle[c]);
                match s.reg.file {
                    File::In => self.use_input(&s.reg, mask),
                    _ => self.use_output(&s.reg, mask, true),
                }
            }
        }
    }

    fn use_input(&mut self, reg: &Reg, mask: u8) {
        if reg.index.indirect.is_some() {
            self.interface.inputs.iter_mut().for_each(|a| a.mask = 15);
        } else if let Some(&Some(at)) = self.inputs.get(reg.index.offset.max(0) as usize) {
            let a = &mut self.interface.inputs[usize::from(at)];
            a.mask |= mask & all(a.semantic);
        }
    }

    fn use_output(&mut self, reg: &Reg, mask: u8, read: bool) {
        if reg.index.indirect.is_some() {
            for a in &mut self.interface.outputs {
                a.mask |= if read { 0 } else { 15 };
                a.read_back |= read;
            }
        } else if let Some(&Some(at)) = self.outputs.get(reg.index.offset.max(0) as usize) {
            let a = &mut self.interface.outputs[usize::from(at)];
            a.mask |= mask & all(a.semantic);
            a.read_back |= read;
        }
    }
}

/// All components that a semantic has.
fn all(semantic: Semantic) -> u8 {
    match semantic {
        // It is written as the third component.
        Semantic::Depth => 15,
        _ => (1 << semantic.components()) - 1,
    }
}

/// What a TGSI semantic means.
pub(crate) fn semantic_of(s: ast::Semantic, index: u32) -> Option<Semantic> {
    let index = u8::try_from(index).ok()?;
    match s {
        ast::Semantic::PrimId => Some(Semantic::PrimitiveId),
        _ => Semantic::from_name(s.name(), index),
    }
}

/// Fragment shaders write depth as a position.
fn output_semantic(s: Semantic, stage: Stage) -> Semantic {
    if stage == Stage::Fragment && s == Semantic::Position { Semantic::Depth } else { s }
}

/// How a declared input is interpolated.
fn mode(d: &Decl, semantic: Semantic) -> InterpMode {
    match semantic {
        Semantic::Position => return InterpMode::Linear,
        Semantic::PrimitiveId | Semantic::Layer | Semantic::ViewportIndex | Semantic::Face => {
            return InterpMode::Flat;
        }
        _ => {}
    }
    match d.interpolate {
        Some(Interpolate::Constant) => InterpMode::Flat,
        Some(Interpolate::Linear) => InterpMode::Linear,
        Some(Interpolate::Color) => InterpMode::Color,
        Some(Interpolate::Perspective) | None => InterpMode::Perspective,
    }
}
