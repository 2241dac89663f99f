//! The interface of a graphics stage: what the declarations, the properties and the options say, and what the code asks for.
//!
//! Components of inputs and outputs are those of the variables' types; what accesses touch beyond them is added, and so is
//! what they name where the text no longer declares it.

use super::ast::{Dest, Function, Node, Place, Shader, Shape, Src, Variable};
use super::indices::Indices;
use super::intrinsics::{Io, Kind, System};
use super::locations::{self, COLOR_EVERYWHERE, EDGE_FLAG};
use super::names::{self, Interpolation, Mode};
use super::types::{Type, TypeId};
use crate::diag::{Diagnostic, Diagnostics};
use crate::front::common::graphics;
use crate::ir::{Attribute, Interface, InterpMode};
use crate::options::{Domain, Spacing, StageOptions};
use crate::stage::{Semantic, Stage};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::LazyCell;

/// The stage that a text's word means, if it is one that is compiled.
pub(super) fn stage(word: names::Stage) -> Option<Stage> {
    Some(match word {
        names::Stage::Vertex => Stage::Vertex,
        names::Stage::TessCtrl => Stage::TessControl,
        names::Stage::TessEval => Stage::TessEval,
        names::Stage::Geometry => Stage::Geometry,
        names::Stage::Fragment => Stage::Fragment,
        names::Stage::Compute | names::Stage::Kernel => Stage::Compute,
        _ => return None,
    })
}

/// What a location means in a stage. Inputs of vertex shaders are known by the number of their register.
pub(super) fn semantic(stage: Stage, input: bool, base: u32, location: u32) -> Option<Semantic> {
    match (stage, input) {
        (Stage::Vertex, true) => u8::try_from(base).ok().filter(|n| *n < 32).map(Semantic::Generic),
        _ => locations::semantic(stage, input, location).filter(|s| graphics::exists(stage, input, *s)),
    }
}

/// Whether an input or output is an array with an element for each vertex of the primitive or patch.
pub(super) fn is_per_vertex(stage: names::Stage, v: &Variable<'_>) -> bool {
    match (stage, v.mode) {
        (names::Stage::TessCtrl, Mode::ShaderIn | Mode::ShaderOut) => !v.io.patch,
        (names::Stage::TessEval, Mode::ShaderIn) => !v.io.patch,
        (names::Stage::Geometry, Mode::ShaderIn) => true,
        _ => false,
    }
}

/// How an input is interpolated that is declared, or asked for, in a way.
pub(super) fn mode(how: Interpolation, semantic: Semantic) -> InterpMode {
    match (how, semantic) {
        (_, Semantic::Position) => InterpMode::Linear,
        (_, Semantic::PrimitiveId | Semantic::Layer | Semantic::ViewportIndex | Semantic::Face)
        | (Interpolation::Flat, _) => InterpMode::Flat,
        (Interpolation::NoPerspective, _) => InterpMode::Linear,
        (Interpolation::None | Interpolation::Color, Semantic::Color(_)) => InterpMode::Color,
        _ => InterpMode::Perspective,
    }
}

/// The semantic of a system value, where it has one.
fn system_semantic(value: System) -> Option<Semantic> {
    Some(match value {
        System::VertexId | System::VertexIdZeroBase => Semantic::VertexId,
        System::InstanceId => Semantic::InstanceId,
        System::PrimitiveId => Semantic::PrimitiveId,
        System::TessCoord => Semantic::TessCoord,
        System::TessOuter => Semantic::TessOuter,
        System::TessInner => Semantic::TessInner,
        System::FrontFace => Semantic::Face,
        System::SampleMask => Semantic::SampleMask,
        _ => return None,
    })
}

/// The interface, and what else the lowering of a graphics stage must know beforehand.
#[derive(Debug)]
pub(super) struct Stages {
    pub interface: Interface,
    /// Components of outputs that are stored somewhere.
    pub written: FxHashMap<Semantic, u8>,
    /// The output that user clip planes are held against, if there are any.
    pub clip_source: Option<Semantic>,
    /// Whether an invocation that has become a helper asks whether it has.
    pub asks_helper: bool,
}

/// Reads declarations, properties, options and code.
pub(super) fn stages(
    shader: &Shader<'_>,
    stage: Stage,
    options: &StageOptions,
) -> Result<Stages, Diagnostics> {
    let stages = Stages {
        interface: Interface::new(stage),
        written: FxHashMap::default(),
        clip_source: None,
        asks_helper: false,
    };
    let mut r = Reader { shader, stage, stages, places: FxHashMap::default(), dual: FxHashSet::default() };
    let functions = || shader.functions.iter().filter(|f| f.defined);
    for f in functions() {
        r.dual_sources(f);
    }
    // In the order of their registers, which is that of the driver's lists.
    let mut vars: Vec<&Variable<'_>> = shader.vars.iter().collect();
    vars.sort_by_key(|v| v.place.map(|(register, _)| register));
    vars.into_iter().for_each(|v| r.variable(v));
    for f in functions() {
        r.code(f);
    }
    r.properties(options)?;
    if stage == Stage::TessEval && r.stages.interface.properties.tess_domain == 0 {
        functions().try_for_each(third_coordinate)?;
    }
    let Stages { interface, clip_source, .. } = &mut r.stages;
    if options.clip_planes > 0 && graphics::takes_clip_planes(interface) {
        *clip_source = graphics::clip_source(interface);
        graphics::declare_clip_distances(interface, options.clip_planes);
    }
    Ok(r.stages)
}

struct Reader<'a> {
    shader: &'a Shader<'a>,
    stage: Stage,
    stages: Stages,
    /// Where attributes stand in their lists.
    places: FxHashMap<(bool, Semantic), usize>,
    /// Registers of second colours.
    dual: FxHashSet<u32>,
}

impl Reader<'_> {
    fn attribute(&mut self, input: bool, semantic: Semantic) -> &mut Attribute {
        let Interface { inputs, outputs, .. } = &mut self.stages.interface;
        let list = if input { inputs } else { outputs };
        let at = *self.places.entry((input, semantic)).or_insert_with(|| {
            list.push(Attribute::new(semantic, 0));
            list.len() - 1
        });
        &mut list[at]
    }

    /// Adds components to an attribute, if there is such a one: a semantic has as many as it has.
    fn add(&mut self, input: bool, semantic: Option<Semantic>, mask: u8) -> Option<&mut Attribute> {
        let semantic = semantic?;
        let fragment = input && self.stage == Stage::Fragment;
        let known = self.places.contains_key(&(input, semantic));
        let a = self.attribute(input, semantic);
        if fragment && !known {
            a.mode = mode(Interpolation::None, semantic);
        }
        a.mask |= mask & ((1u16 << semantic.components()) - 1) as u8;
        Some(a)
    }

    // ---- declarations

    fn dual_sources(&mut self, f: &Function<'_>) {
        for (ix, _, _) in accesses(f) {
            if ix.location.is_some_and(|l| l.dual_source) {
                self.dual.insert(ix.base);
            }
        }
    }

    fn variable(&mut self, v: &Variable<'_>) {
        let input = match v.mode {
            Mode::ShaderIn => true,
            Mode::ShaderOut => false,
            _ => return,
        };
        let (Some(location), Some((register, _))) = (v.io.location, v.place) else { return };
        let types = &self.shader.types;
        let (ty, vertices) = match types.get(v.ty) {
            Type::Array { element, len } if is_per_vertex(self.shader.stage, v) => (element, len),
            _ => (v.ty, 0),
        };
        if self.stage == Stage::TessControl && !input && vertices > 0 {
            let most = &mut self.stages.interface.properties.vertices_out;
            *most = (*most).max(vertices.min(u16::MAX.into()) as u16);
        }
        let edge = self.stage == Stage::Vertex && input && location == EDGE_FLAG;
        if edge {
            self.stages.interface.properties.edge_flag = register.min(31) as u8 + 1;
        }
        let everywhere = self.stage == Stage::Fragment && !input && location == COLOR_EVERYWHERE;
        if everywhere {
            self.stages.interface.properties.color_everywhere = 1;
        }
        let second = !input && self.dual.contains(&register);
        let mut at = 0u32;
        for words in parts(self.shader, ty, v.io.compact) {
            let end = u32::from(v.io.component) + words;
            for n in 0..end.div_ceil(4).max(1) {
                let from = if n == 0 { v.io.component } else { 0 };
                let last = (end - 4 * n).min(4);
                let mask = ((1u8 << last) - 1) & !((1u8 << from) - 1);
                let mut semantic =
                    semantic(self.stage, input, register.saturating_add(at), location.saturating_add(at));
                at += 1;
                if second {
                    semantic = semantic.map(second_color);
                }
                let fragment = self.stage == Stage::Fragment && input;
                let Some(a) = self.add(input, semantic, mask) else { continue };
                if fragment {
                    a.mode = mode(v.io.interpolation, a.semantic);
                    a.centroid |= v.io.centroid && a.mode != InterpMode::Flat;
                }
            }
        }
    }

    // ---- code

    fn code(&mut self, f: &Function<'_>) {
        let constants = constants(f);
        let modes = modes(f);
        for (node, _) in &f.body {
            let Node::Intrinsic(i) = node else { continue };
            if let Kind::System(value) = i.info.kind {
                self.system(value);
            }
        }
        for (ix, io, srcs) in accesses(f) {
            let input = matches!(io, Io::Input | Io::VertexInput | Io::Interpolated);
            let location = ix.location.map_or(0, |l| l.number);
            let slots = ix.location.map_or(1, |l| l.slots).clamp(1, 64);
            let constant = srcs.offset.and_then(|s| match s.place {
                Place::Ssa(index) => constants.get(&index).copied(),
                Place::Reg(_) => None,
            });
            let (first, count) = match constant {
                Some(n) => (n as u32, 1),
                None => (0, slots),
            };
            let words = srcs.words << ix.component.min(3);
            for (n, k) in (first..first.saturating_add(count)).flat_map(|n| (0..2).map(move |k| (n, k))) {
                let mask = (words >> (4 * k) & 15) as u8;
                if mask == 0 {
                    continue;
                }
                let at = n.saturating_add(k);
                let (base, place) = (ix.base.saturating_add(at), location.saturating_add(at));
                let mut semantic = semantic(self.stage, input, base, place);
                if ix.location.is_some_and(|l| l.dual_source) {
                    semantic = semantic.map(second_color);
                }
                if !input {
                    self.output(semantic, place, mask, srcs.store);
                }
                let known = semantic.is_some_and(|s| self.places.contains_key(&(input, s)));
                let fragment = self.stage == Stage::Fragment && input;
                let how = srcs
                    .barycentric
                    .map_or(Interpolation::Flat, |b| modes.get(&b).copied().unwrap_or_default());
                let Some(a) = self.add(input, semantic, mask) else { continue };
                a.read_back |= !input && !srcs.store;
                if fragment && !known {
                    a.mode = mode(how, a.semantic);
                }
            }
        }
    }

    fn output(&mut self, semantic: Option<Semantic>, location: u32, mask: u8, store: bool) {
        if let Some(semantic) = semantic.filter(|_| store) {
            *self.stages.written.entry(semantic).or_default() |= mask;
        }
        if self.stage == Stage::Fragment {
            let p = &mut self.stages.interface.properties;
            p.reads_framebuffer |= u8::from(!store);
            p.color_everywhere |= u8::from(store && location == COLOR_EVERYWHERE);
        }
    }

    fn system(&mut self, value: System) {
        let fragment = self.stage == Stage::Fragment;
        let input = match value {
            System::FragCoord => Some((Semantic::Position, 15)),
            System::PointCoord => Some((Semantic::PointCoord, 3)),
            System::Layer => Some((Semantic::Layer, 1)),
            _ => None,
        };
        if let Some((semantic, mask)) = input.filter(|_| fragment) {
            self.add(true, Some(semantic), mask);
        }
        self.stages.asks_helper |= value == System::HelperNow;
        let p = &mut self.stages.interface.properties;
        match value {
            System::SampleId | System::SamplePosition => p.per_sample = 1,
            System::BaseVertex | System::BaseInstance | System::DrawId | System::VertexIdZeroBase => {
                p.draw_parameters = 1;
            }
            _ => {}
        }
        let system = &mut self.stages.interface.system;
        if let Some(s) = system_semantic(value)
            && !system.contains(&s)
        {
            system.push(s);
        }
    }

    // ---- properties

    fn properties(&mut self, options: &StageOptions) -> Result<(), Diagnostics> {
        let said = &self.shader.said;
        let distances = said.distances.or(options.distances);
        let Stages { interface, written, .. } = &mut self.stages;
        let components = written.iter().filter_map(|(semantic, mask)| match semantic {
            Semantic::ClipDist(n) => Some(4 * n + (8 - mask.leading_zeros()) as u8),
            _ => None,
        });
        let components = components.max().unwrap_or(0);
        let p = &mut interface.properties;
        // All of them clip, where nobody says otherwise.
        p.clip_distances = distances.map_or(components, |d| d.clip);
        p.cull_distances = distances.map_or(0, |d| d.cull);
        p.clip_vertex_read = options.clip_vertex_read.into();
        match self.stage {
            Stage::TessControl | Stage::TessEval => {
                let tess = options.tess.unwrap_or_default();
                let domain = said.tess.domain.or(tess.domain);
                p.tess_domain = domain.map_or(0, |d| match d {
                    Domain::Triangles => 1,
                    Domain::Quads => 2,
                    Domain::Isolines => 3,
                });
                p.tess_spacing = said.tess.spacing.or(tess.spacing).map_or(0, |s| match s {
                    Spacing::Equal => 1,
                    Spacing::FractionalOdd => 2,
                    Spacing::FractionalEven => 3,
                });
                p.tess_cw = u8::from(domain.is_some() && !(said.tess.ccw || tess.ccw));
                p.tess_points = u8::from(said.tess.point_mode || tess.point_mode);
                let given = [said.tess.vertices_out, tess.vertices_out].into_iter().find(|&n| n != 0);
                p.vertices_out = given.map_or(p.vertices_out, u16::from);
                if self.stage == Stage::TessControl && p.vertices_out == 0 {
                    let missing = "the text does not say how many vertices a patch is given";
                    let help = "it is the option `stage.tess.vertices_out`, `--stage-info vertices-out=3`";
                    let at = self.shader.stage_span;
                    return Err(Diagnostic::error(missing).at(at, "").help(help).into());
                }
            }
            Stage::Geometry => {
                let Some(g) = said.geometry.or(options.geometry) else {
                    let missing = "the text does not say what the geometry shader gets and makes";
                    let help = "it is the option `stage.geometry`";
                    let at = self.shader.stage_span;
                    return Err(Diagnostic::error(missing).at(at, "").help(help).into());
                };
                p.vertices_in = g.vertices_in.into();
                p.strips = graphics::strips(g.output);
                p.max_vertices = g.vertices_out;
                p.invocations = g.invocations.into();
            }
            Stage::Fragment => {
                let f = options.fragment.unwrap_or_default();
                p.early_tests = u8::from(said.early_fragment_tests || f.early_fragment_tests);
                p.post_depth_coverage = u8::from(said.post_depth_coverage || f.post_depth_coverage);
            }
            Stage::Vertex | Stage::Compute => {}
        }
        Ok(())
    }
}

/// The vectors that a variable consists of, each by its words; as many as a stage can have, of those that the text says. What
/// the accesses say has to do for others.
fn parts(shader: &Shader<'_>, ty: TypeId, compact: bool) -> Vec<u32> {
    const MOST: usize = 64;
    let mut words = Vec::new();
    let mut rest = vec![ty];
    // Types without a vector in them are soon at an end, too.
    for _ in 0..16 * MOST {
        let Some(ty) = rest.pop().filter(|_| words.len() < MOST) else { break };
        match shader.types.get(ty) {
            Type::Vector(shape, _) => words.push(words_of(shape)),
            Type::Matrix { columns, column, .. } => {
                words.extend(std::iter::repeat_n(words_of(column), columns as usize));
            }
            Type::Array { len, .. } if compact => words.push(len.min(32)),
            Type::Array { element, len } => rest.extend(std::iter::repeat_n(element, MOST.min(len as usize))),
            Type::Struct(number) => {
                rest.extend(shader.structs[number as usize].fields.iter().rev().map(|(ty, _)| *ty));
            }
            Type::Opaque { .. } => words.push(2),
            Type::Unknown => {}
        }
    }
    words.truncate(MOST);
    words
}

/// Words of a scalar or vector as an input or output.
pub(super) fn words_of(shape: Shape) -> u32 {
    u32::from(shape.comps) * if shape.bits == 64 { 2 } else { 1 }
}

/// The third coordinate of a vertex depends on what its patch is divided into.
fn third_coordinate(f: &Function<'_>) -> Result<(), Diagnostics> {
    let coordinate = |node: &Node<'_>| match node {
        Node::Intrinsic(i) if i.info.kind == Kind::System(System::TessCoord) => match i.dest {
            Some(Dest::Ssa(def)) => Some(def.index),
            _ => None,
        },
        _ => None,
    };
    let coordinates: FxHashSet<u32> = f.body.iter().filter_map(|(node, _)| coordinate(node)).collect();
    let read = if coordinates.is_empty() { None } else { f.read_of(&coordinates, 2) };
    let Some(at) = read else { return Ok(()) };
    let missing = "the text does not say what a patch is divided into, which the third coordinate depends on";
    let help = "it is the option `stage.tess.domain`, `--stage-info domain=triangles`";
    Err(Diagnostic::error(missing).at(at, "it is read here").help(help).into())
}

/// The second of two colours that are blended is a colour of its own.
pub(super) fn second_color(semantic: Semantic) -> Semantic {
    match semantic {
        Semantic::Color(n) => Semantic::Color(n + 1),
        other => other,
    }
}

/// Values of scalar constants by the number of their definition.
fn constants(f: &Function<'_>) -> FxHashMap<u32, u64> {
    let scalar = |node: &Node<'_>| match node {
        Node::Const { def, values } => f.consts(*values).first().map(|&v| (def.index, v)),
        _ => None,
    };
    f.body.iter().filter_map(|(node, _)| scalar(node)).collect()
}

/// For what barycentric coordinates are, by the number of their definition.
fn modes(f: &Function<'_>) -> FxHashMap<u32, Interpolation> {
    let barycentric = |node: &Node<'_>| match node {
        Node::Intrinsic(i) => match (i.info.kind, i.dest) {
            (Kind::Barycentric(_), Some(Dest::Ssa(def))) => {
                Some((def.index, f.indices(i.indices).interpolation))
            }
            _ => None,
        },
        _ => None,
    };
    f.body.iter().filter_map(|(node, _)| barycentric(node)).collect()
}

/// What an access touches.
struct Touched<'a> {
    store: bool,
    /// In vectors from its location.
    offset: Option<&'a Src>,
    /// Words from its component on, one bit each.
    words: u32,
    /// The number of the coordinates' definition.
    barycentric: Option<u32>,
}

/// How many components values have, by the number of their definition.
fn sizes(f: &Function<'_>) -> FxHashMap<u32, u8> {
    let size = |node: &Node<'_>| match *node {
        Node::Const { def, .. } | Node::Undef(def) => Some((def.index, def.shape.comps)),
        ref other => match f.dest(other) {
            Some(Dest::Ssa(def)) => Some((def.index, def.shape.comps)),
            _ => None,
        },
    };
    f.body.iter().filter_map(|(node, _)| size(node)).collect()
}

/// The accesses to inputs and outputs in a function.
fn accesses<'a>(f: &'a Function<'a>) -> impl Iterator<Item = (&'a Indices, Io, Touched<'a>)> {
    // Asked for by stores without a write mask only, which Mesa's printer does not write.
    let sizes = LazyCell::new(|| sizes(f));
    f.body.iter().filter_map(move |(node, _)| {
        let Node::Intrinsic(i) = node else { return None };
        let (io, store) = match i.info.kind {
            Kind::LoadIo(io) => (io, false),
            Kind::StoreIo(io) => (io, true),
            _ => return None,
        };
        let (ix, srcs) = (f.indices(i.indices), f.srcs(i.srcs));
        let words = match i.dest {
            Some(Dest::Ssa(def)) => (1u32 << words_of(def.shape).min(8)) - 1,
            // The type of a register's or a stored value is in the indices.
            _ => {
                let ty = if store { ix.src_type } else { ix.dest_type };
                let all = || match srcs.first().map(|data| data.place) {
                    Some(Place::Ssa(index)) => sizes.get(&index).map_or(15, |&comps| (1 << comps.min(4)) - 1),
                    _ => 15,
                };
                let mask = u32::from(ix.write_mask.unwrap_or_else(all));
                match ty {
                    Some(ty) if ty.bits == 64 => {
                        (0..4).filter(|c| mask >> c & 1 != 0).map(|c| 3 << (2 * c)).sum()
                    }
                    _ => mask & 15,
                }
            }
        };
        let barycentric = match (io, srcs.first().map(|s| s.place)) {
            (Io::Interpolated, Some(Place::Ssa(index))) => Some(index),
            _ => None,
        };
        Some((ix, io, Touched { store, offset: srcs.last(), words, barycentric }))
    })
}
