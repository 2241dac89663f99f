//! Graphics stages: what a driver must know of them besides what it must know of a kernel.

use crate::memory::{self, given, place, written};
use crate::{guarded, nvir_options, nvir_shader, nvir_status, view};
use compiler::image::fixup::{self, Condition, DefaultColor, Fixup, State};
use compiler::image::stage::{Attribute, Graphics, Slot, SlotLocation};
use compiler::isa::header::{Header, Interpolation, WORDS};
use compiler::options::{Distances, Domain, FragmentInfo, GeometryInfo, Spacing, StageOptions, TessInfo};
use compiler::stage::{Semantic, Stage};

/// The stages of a program.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum nvir_stage {
    /// A compute kernel.
    Compute = 0,
    /// A vertex shader.
    Vertex = 1,
    /// A tessellation control shader.
    TessControl = 2,
    /// A tessellation evaluation shader.
    TessEval = 3,
    /// A geometry shader.
    Geometry = 4,
    /// A fragment shader.
    Fragment = 5,
}

/// What the tessellator makes of a patch.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum nvir_domain {
    /// The program does not say it.
    Unknown = 0,
    /// A triangle.
    Triangles = 1,
    /// A square.
    Quads = 2,
    /// Parallel lines.
    Isolines = 3,
}

/// How the tessellator divides edges.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum nvir_spacing {
    /// The program does not say it.
    Unknown = 0,
    /// In equal parts.
    Equal = 1,
    /// In an odd number of parts, two of which grow.
    FractionalOdd = 2,
    /// In an even number of parts, two of which grow.
    FractionalEven = 3,
}

/// What a graphics stage needs of its driver. Words and bits are those of the hardware; Mesa's nvc0 has the same in
/// nv50_ir_prog_info_out, from which it makes the header itself.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nvir_stage_info {
    /// sizeof(nvir_stage_info), set by the caller.
    pub size: u32,
    /// The stage: an nvir_stage.
    pub stage: u32,
    /// The shader program header, which is loaded in front of the code.
    pub header: [u32; 20],
    /// Inputs, outputs and fixups that there are.
    pub inputs: u32,
    /// See above.
    pub outputs: u32,
    /// See above.
    pub fixups: u32,
    /// Clip distances that are written, a bit each.
    pub clip_enable: u32,
    /// Cull distances that are written, a bit each: the bits after those of the clip distances.
    pub cull_enable: u32,
    /// The hardware's clip mode: bit 4i for each distance i that culls.
    pub clip_mode: u32,
    /// User clip planes that the code evaluates: nvir_options has how many were asked for.
    pub clip_planes: u32,
    /// 1: the program takes user clip planes; 0: it writes distances itself or makes no positions.
    pub takes_clip_planes: u32,
    /// VERTEX: the input that is the edge flag; 0xffffffff: none.
    pub edge_flag: u32,
    /// VERTEX: 1 if it reads the number of the vertex.
    pub needs_vertex_id: u32,
    /// VERTEX: 1 if it reads base vertex, base instance or draw number from the driver's constants.
    pub needs_draw_parameters: u32,
    /// 1 if it writes the layer.
    pub writes_layer: u32,
    /// Tessellation: the hardware's mode; 0xffffffff if the other tessellation shader says it.
    pub tess_mode: u32,
    /// Tessellation: an nvir_domain.
    pub tess_domain: u32,
    /// Tessellation: an nvir_spacing.
    pub tess_spacing: u32,
    /// Tessellation: 1 if triangles wind clockwise.
    pub tess_clockwise: u32,
    /// Tessellation: 1 if points are made.
    pub tess_points: u32,
    /// FRAGMENT: flags of the early depth test (ZCULL_TEST_MASK).
    pub zcull_flags: u32,
    /// FRAGMENT: colour inputs whose interpolation is the rasteriser's choice: the header's code of interpolation (1 flat, 2
    /// perspective, 3 linear) in bits 0 and 1, components that are read from bit 4 on; 0: it is no such input.
    pub colors: [u32; 2],
    /// FRAGMENT: 1 if depth and stencil tests come before it runs.
    pub early_tests: u32,
    /// FRAGMENT: 1 if it reads the coverage mask.
    pub reads_sample_mask: u32,
    /// FRAGMENT: 1 if it reads the framebuffer.
    pub reads_framebuffer: u32,
    /// FRAGMENT: 1 if the coverage mask is that after the early tests.
    pub post_depth_coverage: u32,
}

/// What an input or output is.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum nvir_semantic {
    /// An input of a vertex shader, by its number.
    Attribute = 0,
    /// Position; in a fragment shader x, y, z in the window and 1/w.
    Position = 1,
    /// What the application names.
    Generic = 2,
    /// Texture coordinates of the fixed pipeline.
    TexCoord = 3,
    /// Front colour; of a fragment shader the colour of the side that faces the viewer, or an output.
    Color = 4,
    /// Back colour.
    BackColor = 5,
    /// Fog coordinate.
    Fog = 6,
    /// Point size.
    PointSize = 7,
    /// Coordinates in a point sprite.
    PointCoord = 8,
    /// Position against which user clip planes are held.
    ClipVertex = 9,
    /// Four clip or cull distances.
    ClipDistance = 10,
    /// Number of the primitive.
    PrimitiveId = 11,
    /// Layer of the framebuffer.
    Layer = 12,
    /// Number of the viewport.
    ViewportIndex = 13,
    /// Edge flag.
    EdgeFlag = 14,
    /// Whether a fragment belongs to a front face.
    Face = 15,
    /// Outer tessellation levels.
    TessOuter = 16,
    /// Inner tessellation levels.
    TessInner = 17,
    /// Attribute of a patch.
    Patch = 18,
    /// Where in its patch a vertex lies.
    TessCoord = 19,
    /// Number of the vertex.
    VertexId = 20,
    /// Number of the instance.
    InstanceId = 21,
    /// Depth that a fragment shader writes.
    Depth = 22,
    /// Stencil value that a fragment shader writes, which these chips cannot.
    Stencil = 23,
    /// Coverage mask that a fragment shader writes.
    SampleMask = 24,
}

/// Where an input or output lies.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum nvir_place {
    /// Nowhere: the driver takes care of it.
    Nowhere = 0,
    /// In the attributes of a vertex: component x at a byte address, the others four bytes further each.
    Vertex = 1,
    /// In the attributes of a patch, likewise.
    Patch = 2,
    /// In a register when a fragment shader ends, the other components in the next ones.
    Register = 3,
}

/// An input or output.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nvir_slot {
    /// An nvir_semantic.
    pub semantic: u32,
    /// Which of these, from 0.
    pub index: u32,
    /// Components that the program uses, x in bit 0.
    pub mask: u32,
    /// An nvir_place.
    pub place: u32,
    /// The address or register there.
    pub address: u32,
}

/// What a fixup is about.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum nvir_fixup_kind {
    /// An interpolation, which flat shading and shading for each sample change.
    Interpolation = 0,
    /// A selection by whether the shader is made to run for each sample.
    PerSample = 1,
    /// A selection by whether the target has several samples.
    Multisampled = 2,
}

/// An instruction of a fragment shader that depends on the rasteriser's state. It holds no pointers: it may be stored
/// beside the code and be used by another process.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct nvir_fixup {
    /// Its byte address in the code.
    pub pc: u32,
    /// An nvir_fixup_kind.
    pub kind: u8,
    /// Of an interpolation as it was compiled: the instruction's mode.
    pub mode: u8,
    /// Where it interpolates.
    pub sample: u8,
    /// The register that it multiplies with.
    pub w: u8,
}

/// State of the rasteriser on which code depends.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct nvir_state {
    /// 1: colours without an interpolation of their own are flat.
    pub flat_shade: u32,
    /// 1: the shader is made to run for each sample.
    pub per_sample: u32,
    /// 1: the target has several samples.
    pub multisampled: u32,
}

/// What of the options is about graphics stages; `None` for a number that does not exist.
pub(crate) fn options(o: &nvir_options) -> Option<StageOptions> {
    let small = |n: u32| u8::try_from(n).ok();
    let domain = match o.tess_domain {
        0 => None,
        1 => Some(Domain::Triangles),
        2 => Some(Domain::Quads),
        3 => Some(Domain::Isolines),
        _ => return None,
    };
    let spacing = match o.tess_spacing {
        0 => None,
        1 => Some(Spacing::Equal),
        2 => Some(Spacing::FractionalOdd),
        3 => Some(Spacing::FractionalEven),
        _ => return None,
    };
    let tess = TessInfo {
        vertices_out: small(o.tess_vertices_out)?,
        domain,
        spacing,
        ccw: o.tess_counter_clockwise != 0,
        point_mode: o.tess_points != 0,
    };
    let geometry = GeometryInfo {
        input: small(o.geometry_input)?,
        output: small(o.geometry_output)?,
        vertices_out: u16::try_from(o.geometry_vertices_out).ok()?,
        vertices_in: small(o.geometry_vertices_in)?,
        invocations: small(o.geometry_invocations)?,
        streams: small(o.geometry_streams)?,
    };
    let fragment = FragmentInfo {
        early_fragment_tests: o.early_fragment_tests != 0,
        post_depth_coverage: o.post_depth_coverage != 0,
        ..FragmentInfo::default()
    };
    let distances = Distances { clip: small(o.clip_distances)?, cull: small(o.cull_distances)? };
    Some(StageOptions {
        tess: Some(tess).filter(|t| *t != TessInfo::default()),
        geometry: Some(geometry).filter(|g| g.vertices_in != 0),
        fragment: Some(fragment),
        distances: Some(distances).filter(|d| *d != Distances::default()),
        clip_planes: small(o.clip_planes)?,
        clip_vertex_read: o.clip_vertex_read != 0,
        flush_subnormals: o.flush_subnormals != 0,
    })
}

fn number(stage: Stage) -> nvir_stage {
    match stage {
        Stage::Compute => nvir_stage::Compute,
        Stage::Vertex => nvir_stage::Vertex,
        Stage::TessControl => nvir_stage::TessControl,
        Stage::TessEval => nvir_stage::TessEval,
        Stage::Geometry => nvir_stage::Geometry,
        Stage::Fragment => nvir_stage::Fragment,
    }
}

fn info(g: &Graphics, size: u32) -> nvir_stage_info {
    let color = |c: &Option<DefaultColor>| c.map_or(0, |c| c.interpolation as u32 | u32::from(c.mask) << 4);
    nvir_stage_info {
        size,
        stage: number(g.stage) as u32,
        header: g.header.encode(),
        inputs: g.inputs.len() as u32,
        outputs: g.outputs.len() as u32,
        fixups: g.fixups.len() as u32,
        clip_enable: g.clip_enable.into(),
        cull_enable: g.cull_enable.into(),
        clip_mode: g.clip_mode,
        clip_planes: g.clip_planes.into(),
        takes_clip_planes: g.takes_clip_planes.into(),
        edge_flag: g.edge_flag.map_or(u32::MAX, u32::from),
        needs_vertex_id: g.needs_vertex_id.into(),
        needs_draw_parameters: g.needs_draw_parameters.into(),
        writes_layer: g.writes_layer.into(),
        tess_mode: g.tess_mode.unwrap_or(u32::MAX),
        tess_domain: g.tess.domain.map_or(nvir_domain::Unknown, |d| match d {
            Domain::Triangles => nvir_domain::Triangles,
            Domain::Quads => nvir_domain::Quads,
            Domain::Isolines => nvir_domain::Isolines,
        }) as u32,
        tess_spacing: g.tess.spacing.map_or(nvir_spacing::Unknown, |s| match s {
            Spacing::Equal => nvir_spacing::Equal,
            Spacing::FractionalOdd => nvir_spacing::FractionalOdd,
            Spacing::FractionalEven => nvir_spacing::FractionalEven,
        }) as u32,
        tess_clockwise: (g.tess.domain.is_some() && !g.tess.ccw).into(),
        tess_points: g.tess.point_mode.into(),
        zcull_flags: g.zcull_flags(),
        colors: [color(&g.colors[0]), color(&g.colors[1])],
        early_tests: g.early_tests.into(),
        reads_sample_mask: g.reads_sample_mask.into(),
        reads_framebuffer: g.reads_framebuffer.into(),
        post_depth_coverage: g.post_depth_coverage.into(),
    }
}

fn slot(s: &Slot) -> nvir_slot {
    use nvir_semantic as N;
    let (semantic, index) = match s.what {
        Attribute::Vertex(n) => (N::Attribute, n),
        Attribute::Semantic(semantic) => match semantic {
            Semantic::Position => (N::Position, 0),
            Semantic::Generic(n) => (N::Generic, n),
            Semantic::TexCoord(n) => (N::TexCoord, n),
            Semantic::Color(n) => (N::Color, n),
            Semantic::BackColor(n) => (N::BackColor, n),
            Semantic::Fog => (N::Fog, 0),
            Semantic::PointSize => (N::PointSize, 0),
            Semantic::PointCoord => (N::PointCoord, 0),
            Semantic::ClipVertex => (N::ClipVertex, 0),
            Semantic::ClipDist(n) => (N::ClipDistance, n),
            Semantic::PrimitiveId => (N::PrimitiveId, 0),
            Semantic::Layer => (N::Layer, 0),
            Semantic::ViewportIndex => (N::ViewportIndex, 0),
            Semantic::EdgeFlag => (N::EdgeFlag, 0),
            Semantic::Face => (N::Face, 0),
            Semantic::TessOuter => (N::TessOuter, 0),
            Semantic::TessInner => (N::TessInner, 0),
            Semantic::Patch(n) => (N::Patch, n),
            Semantic::TessCoord => (N::TessCoord, 0),
            Semantic::VertexId => (N::VertexId, 0),
            Semantic::InstanceId => (N::InstanceId, 0),
            Semantic::Depth => (N::Depth, 0),
            Semantic::Stencil => (N::Stencil, 0),
            Semantic::SampleMask => (N::SampleMask, 0),
        },
    };
    let (place, address) = match s.location {
        SlotLocation::Nowhere => (nvir_place::Nowhere, 0),
        SlotLocation::Vertex(a) => (nvir_place::Vertex, a),
        SlotLocation::Patch(a) => (nvir_place::Patch, a),
        SlotLocation::Register(r) => (nvir_place::Register, r),
    };
    nvir_slot {
        semantic: semantic as u32,
        index: index.into(),
        mask: s.mask.into(),
        place: place as u32,
        address,
    }
}

fn to_c(f: &Fixup) -> nvir_fixup {
    match *f {
        Fixup::Interpolation { pc, mode, sample, w } => {
            nvir_fixup { pc, kind: nvir_fixup_kind::Interpolation as u8, mode, sample, w }
        }
        Fixup::Selection { pc, when } => {
            let kind = match when {
                Condition::PerSample => nvir_fixup_kind::PerSample,
                Condition::Multisampled => nvir_fixup_kind::Multisampled,
            };
            nvir_fixup { pc, kind: kind as u8, mode: 0, sample: 0, w: 0 }
        }
    }
}

fn from_c(f: &nvir_fixup) -> Option<Fixup> {
    let nvir_fixup { pc, kind, mode, sample, w } = *f;
    match kind {
        0 => Some(Fixup::Interpolation { pc, mode, sample, w }),
        1 => Some(Fixup::Selection { pc, when: Condition::PerSample }),
        2 => Some(Fixup::Selection { pc, when: Condition::Multisampled }),
        _ => None,
    }
}

/// A shader's graphics stage, if it has one.
///
/// # Safety
/// As for [`given`].
unsafe fn stage<'a>(shader: *const nvir_shader) -> Option<&'a Graphics> {
    // SAFETY: by the caller's promise.
    unsafe { given(shader) }?.shader.stage.as_deref()
}

/// What the driver must know of a graphics shader. `info->size` is the caller's sizeof(nvir_stage_info).
/// NVIR_STATUS_UNSUPPORTED for a compute kernel, which has nothing of it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvir_shader_get_stage(
    shader: *const nvir_shader,
    info: *mut nvir_stage_info,
) -> nvir_status {
    guarded(|| {
        // SAFETY: the caller gives a shader, and a structure that begins with its size.
        let (Some(shader), Some(size)) = (unsafe { (given(shader), view::size(info.cast())) }) else {
            return nvir_status::Usage;
        };
        let Some(g) = &shader.shader.stage else { return nvir_status::Unsupported };
        // SAFETY: as above.
        unsafe { place(info, size, &self::info(g, size)) };
        nvir_status::Ok
    })
}

/// One of a shader's inputs, from 0, in the program's order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvir_shader_get_input(
    shader: *const nvir_shader,
    number: u32,
    out: *mut nvir_slot,
) -> nvir_status {
    // SAFETY: the caller gives a shader, or null, and a place for a slot, or null.
    guarded(|| unsafe { written(stage(shader).and_then(|g| g.inputs.get(number as usize)).map(slot), out) })
}

/// One of its outputs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvir_shader_get_output(
    shader: *const nvir_shader,
    number: u32,
    out: *mut nvir_slot,
) -> nvir_status {
    // SAFETY: as above.
    guarded(|| unsafe { written(stage(shader).and_then(|g| g.outputs.get(number as usize)).map(slot), out) })
}

/// One of its fixups: instructions that nvir_apply_fixups changes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvir_shader_get_fixup(
    shader: *const nvir_shader,
    number: u32,
    out: *mut nvir_fixup,
) -> nvir_status {
    // SAFETY: as above.
    guarded(|| unsafe { written(stage(shader).and_then(|g| g.fixups.get(number as usize)).map(to_c), out) })
}

/// Makes code and header what they are in a state of the rasteriser. `code` has `code_bytes` bytes, as compiled or as left by an
/// earlier call; `header` may be null for a driver that makes its own, otherwise it has twenty words and `colors` is that of
/// nvir_stage_info. NVIR_STATUS_INPUT, with nothing changed, if a fixup lies outside the code or is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvir_apply_fixups(
    chip_number: u32,
    fixups: *const nvir_fixup,
    count: u32,
    state: *const nvir_state,
    code: *mut u64,
    code_bytes: u32,
    header: *mut u32,
    colors: *const u32,
) -> nvir_status {
    guarded(|| {
        // SAFETY: the caller gives lists of these lengths, or null.
        let (list, state, code) = unsafe {
            (
                memory::list(fixups, count as usize),
                given(state),
                memory::list_mut(code, code_bytes as usize / 8),
            )
        };
        let (Some(chip), Some(list), Some(state), Some(code)) = (crate::chip(chip_number), list, state, code)
        else {
            return nvir_status::Usage;
        };
        let Some(list) = list.iter().map(from_c).collect::<Option<Vec<Fixup>>>() else {
            return nvir_status::Input;
        };
        let on = |n: u32| n != 0;
        let state = State {
            flat_shade: on(state.flat_shade),
            per_sample: on(state.per_sample),
            multisampled: on(state.multisampled),
        };
        if header.is_null() {
            let mut none = Header::new(Stage::Fragment);
            return match fixup::apply(chip, &list, &[None; 2], state, &mut none, code) {
                Ok(()) => nvir_status::Ok,
                Err(_) => nvir_status::Input,
            };
        }
        // SAFETY: the caller gives twenty words and two.
        let (words, colors) = unsafe { (memory::list_mut(header, WORDS), memory::list(colors, 2)) };
        let (Some(words), Some(colors)) = (words, colors) else { return nvir_status::Usage };
        let color = |n: u32| {
            let interpolation = Interpolation::from_bits(n);
            (n != 0).then_some(DefaultColor { interpolation, mask: (n >> 4) as u8 & 15 })
        };
        let mut all = [0; WORDS];
        all.copy_from_slice(words);
        let Ok(mut header) = Header::decode(&all) else { return nvir_status::Input };
        match fixup::apply(chip, &list, &[color(colors[0]), color(colors[1])], state, &mut header, code) {
            Ok(()) => words.copy_from_slice(&header.encode()),
            Err(_) => return nvir_status::Input,
        }
        nvir_status::Ok
    })
}
