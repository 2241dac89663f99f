//! A pipeline's state as the registers of the 3D class have it. Source: Mesa `nvc0_state.c`, `nvc0_state_validate.c`,
//! `nvc0_shader_state.c`, `nvc0_vbo.c`.

use super::binding;
use super::pass::{Rect, Viewport};
use super::pipeline::{MAX_ARRAYS, Pipeline, StencilFace, VertexAttribute};
use super::query::ALL_STREAMS;
use super::target::Extent;
use crate::commands::Commands;
use crate::commands::Subchannel::ThreeD;
use crate::context::Context;
use crate::error::{Error, Result};
use nvir::Chip;
use nvir::image::fixup::State;
use nvir::stage::{Stage, attribute};
use nvir_hw::format::vertex::{self, Attribute, Type};
use nvir_hw::method::three_d::*;
use nvir_hw::state::{Compare, Face, Topology};
use nvir_hw::word::{Layer, MultisampleControl, PointReplace, ProgramSelect};

/// `VIEW_VOLUME_CLIP_CTRL` as Mesa has it: fragments outside the depth range are not drawn, or are clamped to it.
const CUT_DEPTH: u32 = 0x2;
const CLAMP_DEPTH: u32 = 0x201a;
/// `SAMPLE_SHADING`: the fragment program's centroid is that of the samples it runs for.
const PER_SAMPLE: u32 = 0x10;
/// A component of transform feedback that is left out.
const SKIP: u8 = 0xff;

/// An attribute that no array has.
const UNUSED: Attribute = Attribute::new().with_constant(true).with_size(0x12).with_ty(Type::Float.code());

fn attribute(a: &VertexAttribute) -> Attribute {
    Attribute::new()
        .with_array(a.array)
        .with_offset(a.offset)
        .with_size(vertex::size(a.format.bits).unwrap_or_default())
        .with_ty(a.format.ty.code())
        .with_bgra(a.format.bgra)
}

impl Context {
    /// Binds programs and state, if they are not what was bound last.
    pub(super) fn bind_pipeline(&mut self, pipeline: &Pipeline, extent: Extent) -> Result<bool> {
        let bound = self.graphics()?.bound;
        if bound == Some((pipeline.id, self.code.generation)) {
            return Ok(false);
        }
        let desc = &pipeline.desc;
        let reads_framebuffer =
            desc.programs.iter().filter_map(|p| p.graphics()).any(|g| g.reads_framebuffer);
        if reads_framebuffer && self.chip == Chip::Gf100 {
            return Err(Error::Unsupported("programs that read the framebuffer on gf100".into()));
        }
        for p in &desc.programs {
            let local = p.graphics().map_or(0, |g| g.header.local_bytes);
            self.reserve_local(local, p.shader.stack_bytes)?;
        }
        let state = State {
            flat_shade: desc.raster.flat_colors,
            per_sample: desc.multisample.per_sample,
            multisampled: extent.samples > 1,
        };
        // If the segment was full in between, those that were placed before are gone. It has room for all of them:
        // `Context::pipeline` has seen to that.
        let places = loop {
            let generation = self.code.generation;
            let place = |stage: Stage| {
                // Behind vertex A, which nobody uses.
                let n = binding(stage)? + 1;
                let placed = |p| Ok((self.place_program(p, state)?, p.shader.gprs.max(4)));
                Some(pipeline.program(stage).map(placed).transpose().map(|place| (n, place)))
            };
            let places = Stage::ALL.into_iter().filter_map(place).collect::<Result<Vec<_>>>()?;
            if generation == self.code.generation {
                break places;
            }
        };
        let c = &mut self.commands;
        let tessellates = pipeline.program(Stage::TessEval).is_some();
        for (n, place) in places {
            let select = ProgramSelect::new().with_stage(n).with_enable(place.is_some());
            c.methods(ThreeD, SP_SELECT.at(n), &[select.into()]);
            if let Some((start, gprs)) = place {
                c.methods(ThreeD, SP_START_ID.at(n), &[start]);
                c.methods(ThreeD, SP_GPR_ALLOC.at(n), &[gprs]);
            }
        }
        if tessellates {
            let mode = [Stage::TessControl, Stage::TessEval].into_iter();
            let mode = mode.filter_map(|s| pipeline.program(s)?.graphics()?.tess_mode).next();
            c.methods(ThreeD, TESS_MODE, &[mode.unwrap_or_default()]);
            let (outer, inner) = desc.levels;
            c.methods(ThreeD, TESS_LEVEL_OUTER.at(0), &outer.map(f32::to_bits));
            c.methods(ThreeD, TESS_LEVEL_INNER.at(0), &inner.map(f32::to_bits));
        }
        raster(c, pipeline);
        depth_stencil(c, pipeline);
        colors(c, pipeline);
        multisample(c, pipeline, extent);
        vertices(c, pipeline);
        feedback(c, pipeline);
        let generation = self.code.generation;
        self.graphics()?.bound = Some((pipeline.id, generation));
        Ok(true)
    }

    /// Sets viewport and scissor `n`.
    pub(super) fn viewport(&mut self, n: u32, v: &Viewport, depth_from_zero: bool) {
        let c = &mut self.commands;
        let [near, far] = v.depth;
        let half = v.size.map(|s| s / 2.0);
        let (scale, translate) = match depth_from_zero {
            true => (far - near, near),
            false => ((far - near) / 2.0, (far + near) / 2.0),
        };
        let words = [half[0], half[1], scale, v.at[0] + half[0], v.at[1] + half[1], translate];
        c.methods(ThreeD, VIEWPORT_SCALE_X.at(n), &words.map(f32::to_bits));
        // The rectangle that pixels must be in.
        let limits = |i: usize| {
            let (a, b) = (v.at[i], v.at[i] + v.size[i]);
            let limit = |x: f32| x.clamp(0.0, 16384.0) as u32;
            let (from, to) = (limit(a.min(b).floor()), limit(a.max(b).ceil()));
            (to - from) << 16 | from
        };
        let depths = [near.min(far), near.max(far)].map(f32::to_bits);
        c.methods(ThreeD, VIEWPORT_HORIZ.at(n), &[limits(0), limits(1), depths[0], depths[1]]);
        let scissor = |i: usize| match &v.scissor {
            None => 0xffff << 16,
            Some(Rect { at, size }) => {
                let from = at[i].min(0xffff);
                at[i].saturating_add(size[i]).min(0xffff) << 16 | from
            }
        };
        c.methods(ThreeD, SCISSOR_ENABLE.at(n), &[1, scissor(0), scissor(1)]);
    }
}

fn raster(c: &mut Commands, pipeline: &Pipeline) {
    let r = &pipeline.desc.raster;
    let mut one = |method: u32, word: u32| c.methods(ThreeD, method, &[word]);
    let fragments = pipeline.program(Stage::Fragment).is_some() && !r.discard;
    one(RASTERIZE_ENABLE, fragments.into());
    one(CULL_FACE_ENABLE, r.cull.is_some().into());
    one(CULL_FACE, r.cull.unwrap_or(Face::Back).code());
    one(FRONT_FACE, if r.front_clockwise { 0x900 } else { 0x901 });
    one(POLYGON_MODE_FRONT, r.fill.code());
    one(POLYGON_MODE_BACK, r.fill.code());
    one(PROVOKING_VERTEX_LAST, r.last_vertex_provokes.into());
    one(VIEW_VOLUME_CLIP_CTRL, if r.clamp_depth { CLAMP_DEPTH } else { CUT_DEPTH });
    one(DEPTH_CLIP_NEGATIVE_Z, r.depth_from_zero.into());
    let offset = r.depth_offset.unwrap_or_default();
    for method in [POLYGON_OFFSET_POINT_ENABLE, POLYGON_OFFSET_LINE_ENABLE, POLYGON_OFFSET_FILL_ENABLE] {
        one(method, r.depth_offset.is_some().into());
    }
    one(POLYGON_OFFSET_FACTOR, offset.slope.to_bits());
    // The register counts half units.
    one(POLYGON_OFFSET_UNITS, (2.0 * offset.units).to_bits());
    one(POLYGON_OFFSET_CLAMP, offset.clamp.to_bits());
    one(LINE_WIDTH_SMOOTH, r.line_width.to_bits());
    one(LINE_WIDTH_ALIASED, r.line_width.to_bits());
    one(POINT_SIZE, r.point_size.to_bits());
    one(POINT_COORD_REPLACE, PointReplace::new().with_upper_left(true).into());
    let Some(last) = pipeline.last().graphics() else { return };
    one(VP_POINT_SIZE, last.header.writes(attribute::POINT_SIZE).into());
    one(LAYER, Layer::new().with_from_primitive(last.writes_layer).into());
    one(CLIP_DISTANCE_ENABLE, (last.clip_enable | last.cull_enable).into());
    one(CLIP_DISTANCE_MODE, last.clip_mode);
    let fragment = pipeline.program(Stage::Fragment).and_then(|p| p.graphics());
    one(FORCE_EARLY_FRAGMENT_TESTS, fragment.is_some_and(|g| g.early_tests).into());
    one(POST_DEPTH_COVERAGE, fragment.is_some_and(|g| g.post_depth_coverage).into());
    one(ZCULL_TEST_MASK, fragment.map_or(0, |g| g.zcull_flags()));
}

fn depth_stencil(c: &mut Commands, pipeline: &Pipeline) {
    let s = &pipeline.desc.depth_stencil;
    let mut one = |method: u32, word: u32| c.methods(ThreeD, method, &[word]);
    one(DEPTH_TEST_ENABLE, s.depth.is_some().into());
    one(DEPTH_WRITE_ENABLE, (s.depth.is_some() && s.write_depth).into());
    one(DEPTH_TEST_FUNC, s.depth.unwrap_or(Compare::Always).code());
    one(DEPTH_BOUNDS_EN, s.bounds.is_some().into());
    let [low, high] = s.bounds.unwrap_or([0.0, 1.0]);
    one(DEPTH_BOUNDS.at(0), low.to_bits());
    one(DEPTH_BOUNDS.at(1), high.to_bits());
    one(STENCIL_ENABLE, s.stencil.is_some().into());
    one(STENCIL_TWO_SIDE_ENABLE, s.stencil.is_some().into());
    let Some([front, back]) = &s.stencil else { return };
    let words = |f: &StencilFace| [f.fail.code(), f.depth_fail.code(), f.pass.code(), f.compare.code()];
    let masks = |f: &StencilFace| [f.reference, f.read_mask, f.write_mask].map(u32::from);
    c.methods(ThreeD, STENCIL_FRONT_OP_FAIL, &words(front));
    let [reference, read, write] = masks(front);
    c.methods(ThreeD, STENCIL_FRONT_FUNC_REF, &[reference, read, write]);
    c.methods(ThreeD, STENCIL_BACK_OP_FAIL, &words(back));
    let [reference, read, write] = masks(back);
    c.methods(ThreeD, STENCIL_BACK_FUNC_REF, &[reference, write, read]);
}

fn colors(c: &mut Commands, pipeline: &Pipeline) {
    let desc = &pipeline.desc;
    c.methods(ThreeD, BLEND_COLOR.at(0), &desc.blend_constant.map(f32::to_bits));
    for n in 0..8 {
        let state = desc.colors.get(n as usize).copied().unwrap_or_default();
        let mask = (0..4).filter(|&i| state.write[i]).fold(0, |m, i| m | 1 << (4 * i));
        c.methods(ThreeD, COLOR_MASK.at(n), &[mask]);
        c.methods(ThreeD, BLEND_ENABLE.at(n), &[state.blend.is_some().into()]);
        if let Some(blend) = state.blend {
            let ([a, b, x], [d, e, f]) = (blend.color.words(), blend.alpha.words());
            c.methods(ThreeD, IBLEND_EQUATION_RGB.at(n), &[a, b, x, d, e, f]);
        }
    }
}

fn multisample(c: &mut Commands, pipeline: &Pipeline, extent: Extent) {
    let m = &pipeline.desc.multisample;
    let control = MultisampleControl::new()
        .with_alpha_to_coverage(m.alpha_to_coverage)
        .with_alpha_to_one(m.alpha_to_one);
    c.methods(ThreeD, MULTISAMPLE_CTRL, &[control.into()]);
    c.methods(ThreeD, MSAA_MASK.at(0), &[m.mask.into(); 4]);
    let passes = if m.per_sample && extent.samples > 1 { extent.samples | PER_SAMPLE } else { 1 };
    c.methods(ThreeD, SAMPLE_SHADING, &[passes]);
}

fn vertices(c: &mut Commands, pipeline: &Pipeline) {
    let desc = &pipeline.desc;
    let mut formats = [UNUSED.into_bits(); MAX_ARRAYS as usize];
    for a in &desc.attributes {
        formats[a.location as usize] = attribute(a).into();
    }
    c.methods(ThreeD, VERTEX_ATTRIB_FORMAT.at(0), &formats);
    let per_instance: Vec<u32> = (0..MAX_ARRAYS as usize)
        .map(|n| desc.arrays.get(n).is_some_and(|a| a.instances.is_some()).into())
        .collect();
    c.methods(ThreeD, VERTEX_ARRAY_PER_INSTANCE.at(0), &per_instance);
    c.methods(
        ThreeD,
        PRIM_RESTART_ENABLE,
        &[desc.restart.is_some().into(), desc.restart.unwrap_or_default()],
    );
    if desc.topology == Topology::Patches {
        c.methods(ThreeD, PATCH_VERTICES, &[desc.patch_vertices]);
    }
}

fn feedback(c: &mut Commands, pipeline: &Pipeline) {
    for (n, f) in (0..ALL_STREAMS).zip(&pipeline.desc.feedback) {
        let component = |x: &Option<(nvir::stage::Semantic, u32)>| {
            x.and_then(|(s, c)| Some((s.address()? / 4 + c) as u8)).unwrap_or(SKIP)
        };
        let mut bytes: Vec<u8> = f.components.iter().map(component).collect();
        c.methods(ThreeD, TFB_STREAM.at(n), &[f.stream, bytes.len() as u32, f.stride]);
        bytes.resize(bytes.len().next_multiple_of(4), SKIP);
        let words = crate::commands::words(&bytes);
        c.methods(ThreeD, TFB_VARYING_LOCS.at(32 * n), &words);
    }
}
