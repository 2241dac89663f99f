//! The interface of a graphics stage: what variables, execution modes and options say.
//!
//! Attributes have the components of their variables' types; built-in members of blocks count if something names them.

use super::R;
use super::attribute::{At, Attribute, Vertex, type_of};
use crate::front::Request;
use crate::front::common::graphics;
use crate::front::common::kept::Clipping;
use crate::front::spirv::module::{Entry, Module};
use crate::front::spirv::types::Type;
use crate::front::spirv::used::Used;
use crate::ir::{Attribute as Declared, Interface, InterpMode};
use crate::options::{Domain, Spacing};
use crate::stage::{Semantic, Stage};
use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{BuiltIn, Decoration, ExecutionMode as Mode, ExecutionModel};

/// Composites and scalars of an input or output at most.
const MOST: u32 = 1024;

/// The stage of an execution model that is compiled.
pub(in crate::front::spirv) fn stage(model: ExecutionModel) -> Option<Stage> {
    Some(match model {
        ExecutionModel::Vertex => Stage::Vertex,
        ExecutionModel::TessellationControl => Stage::TessControl,
        ExecutionModel::TessellationEvaluation => Stage::TessEval,
        ExecutionModel::Geometry => Stage::Geometry,
        ExecutionModel::Fragment => Stage::Fragment,
        ExecutionModel::GLCompute | ExecutionModel::Kernel => Stage::Compute,
        _ => return None,
    })
}

/// The interface, and what else the lowering of a graphics stage must know beforehand.
pub(super) struct Stages {
    pub(super) interface: Interface,
    /// The variables that the entry point lists.
    pub(super) listed: FxHashSet<u32>,
    pub(super) used: Used,
    /// Clip distances among inputs and among outputs.
    pub(super) clip: [u32; 2],
    /// What a fragment shader leaves.
    pub(super) results: Vec<(Semantic, u8)>,
    pub(super) clipping: Option<Clipping>,
    /// Centres of pixels have integer coordinates.
    pub(super) integer_centers: bool,
}

/// Reads all that says what an entry point takes and gives.
pub(super) fn stages(m: &Module, entry: &Entry, used: Used, request: &Request<'_>) -> R<Stages> {
    let stage = stage(entry.model).unwrap_or_default();
    let stages = Stages {
        interface: Interface::new(stage),
        listed: entry.interface.iter().copied().collect(),
        used,
        clip: [0; 2],
        results: Vec::new(),
        clipping: None,
        integer_centers: false,
    };
    let mut r = Reader {
        m,
        entry,
        stage,
        stages,
        places: FxHashMap::default(),
        taken: FxHashMap::default(),
        cull: [0; 2],
        read_back: false,
    };
    if stage == Stage::Compute {
        return Ok(r.stages);
    }
    let mut ids = entry.interface.clone();
    ids.sort_unstable();
    ids.dedup();
    let variables: Vec<(Attribute, u32)> =
        ids.iter().filter_map(|&id| Attribute::of_variable(m, stage, id)).collect();
    for (a, ty) in &variables {
        r.distances(a, *ty);
    }
    for (a, ty) in variables {
        r.variable(a, ty)?;
    }
    r.modes()?;
    r.options(request)?;
    let mut stages = r.stages;
    let Stages { interface, clipping, clip, .. } = &mut stages;
    interface.properties.clip_distances = clip[1] as u8;
    if request.stage.clip_planes > 0 && graphics::takes_clip_planes(interface) {
        let planes = request.stage.clip_planes;
        let source = graphics::clip_source(interface);
        *clipping = source.map(|source| Clipping { source, planes, place: request.clip_plane_place });
        graphics::declare_clip_distances(interface, planes);
    }
    Ok(stages)
}

struct Reader<'a> {
    m: &'a Module,
    entry: &'a Entry,
    stage: Stage,
    stages: Stages,
    /// Where attributes stand in their lists.
    places: FxHashMap<(bool, Semantic), usize>,
    /// Which variable has a component.
    taken: FxHashMap<(bool, Semantic, u32), u32>,
    /// Cull distances among inputs and among outputs.
    cull: [u32; 2],
    /// The variable at hand is read back.
    read_back: bool,
}

impl Reader<'_> {
    fn fail<T>(&self, id: u32, what: impl Into<String>) -> R<T> {
        let at = self.m.code.def(id).unwrap_or(self.entry.at);
        Err(Box::new(self.m.error(at, what)))
    }

    // ---- variables

    /// Notes how many clip and cull distances there are: these lie behind those.
    fn distances(&mut self, a: &Attribute, ty: u32) {
        let ty = match (a.vertex, self.m.ty(ty)) {
            (Vertex::Each, Some(&Type::Array { part, .. })) => part,
            _ => ty,
        };
        let mut note = |b: BuiltIn, ty: u32| {
            let Some(&Type::Array { len, .. }) = self.m.ty(ty) else { return };
            let counts = match b {
                BuiltIn::ClipDistance => &mut self.stages.clip,
                BuiltIn::CullDistance => &mut self.cull,
                _ => return,
            };
            counts[usize::from(!a.input)] = len.min(8);
        };
        match (a.at, self.m.ty(ty)) {
            (At::BuiltIn(b), _) if self.stages.used.variable(a.id) => note(b, ty),
            (_, Some(Type::Struct { members })) => {
                for (n, &member) in members.iter().enumerate() {
                    let n = n as u32;
                    let b = self.m.member_decoration(ty, n, Decoration::BuiltIn).and_then(|x| x.first());
                    if let Some(b) = b.and_then(|&b| BuiltIn::from_u32(b))
                        && self.stages.used.member(a.id, n)
                    {
                        note(b, member);
                    }
                }
            }
            _ => {}
        }
    }

    fn variable(&mut self, a: Attribute, ty: u32) -> R<()> {
        let id = a.id;
        let stage = self.stage;
        let (a, ty) = match (a.vertex, self.m.ty(ty)) {
            (Vertex::Each, Some(&Type::Array { part, .. })) => (a.element(self.m, part, 0), part),
            (Vertex::Each, _) => {
                let what = format!("{} is not an array with an element for each vertex", self.m.name(id));
                return self.fail(id, what);
            }
            _ => (a, ty),
        };
        let info = self.m.info(ty);
        if info.is_none_or(|info| info.weight > MOST || info.comps > MOST) {
            let what = format!("{} is larger than what a stage can take or give", self.m.name(id));
            return self.fail(id, what);
        }
        if a.how.patch && !has_patches(stage, a.input) {
            return self
                .fail(id, format!("{} belongs to a patch, and the stage has none such", self.m.name(id)));
        }
        self.read_back = !a.input && self.stages.used.reads_back(id);
        self.walk(&a, ty, None)
    }

    /// Declares all that a type consists of. `member`: the member of the variable's block that it is in.
    fn walk(&mut self, a: &Attribute, ty: u32, member: Option<u32>) -> R<()> {
        if let At::BuiltIn(b) = a.at {
            let used = match member {
                Some(member) => self.stages.used.member(a.id, member),
                None => self.stages.used.variable(a.id),
            };
            if !used {
                return Ok(());
            }
            if a.input && self.system(a, b) {
                return Ok(());
            }
        }
        match self.m.ty(ty) {
            Some(Type::Struct { members }) => {
                for (n, &part) in members.iter().enumerate() {
                    let n = n as u32;
                    self.walk(&a.member(self.m, ty, members, n), part, member.or(Some(n)))?;
                }
                Ok(())
            }
            Some(&Type::Array { part, len: parts }) => self.parts(a, part, parts, member),
            Some(&Type::Matrix { column, columns }) => self.parts(a, column, columns.into(), member),
            Some(Type::Bool | Type::Int { .. } | Type::Float { .. } | Type::Vector { .. }) => {
                self.vector(a, ty)
            }
            _ => {
                let what = format!("{} holds a {}", self.m.name(a.id), self.m.type_name(ty));
                self.fail(a.id, format!("{what}, which is not an input or output"))
            }
        }
    }

    fn parts(&mut self, a: &Attribute, part: u32, count: u32, member: Option<u32>) -> R<()> {
        if let At::BuiltIn(b) = a.at
            && a.vertex != Vertex::Each
            && !a.is_compact()
        {
            let name = self.m.name(a.id);
            return self.fail(a.id, format!("the built-in {b:?} has another type than {name}, an array"));
        }
        (0..count).try_for_each(|n| self.walk(&a.element(self.m, part, n), part, member))
    }

    /// Notes a system value; whether the input is one.
    fn system(&mut self, a: &Attribute, b: BuiltIn) -> bool {
        use BuiltIn::*;
        let semantic = match b {
            VertexId | VertexIndex => Some(Semantic::VertexId),
            InstanceId | InstanceIndex => Some(Semantic::InstanceId),
            PrimitiveId => Some(Semantic::PrimitiveId),
            TessCoord => Some(Semantic::TessCoord),
            TessLevelOuter => Some(Semantic::TessOuter),
            TessLevelInner => Some(Semantic::TessInner),
            FrontFacing => Some(Semantic::Face),
            SampleMask => Some(Semantic::SampleMask),
            _ => None,
        };
        let system = &mut self.stages.interface.system;
        if let Some(s) = semantic
            && !system.contains(&s)
        {
            system.push(s);
        }
        let p = &mut self.stages.interface.properties;
        match b {
            SampleId | SamplePosition => p.per_sample = 1,
            BaseVertex | BaseInstance | DrawIndex | InstanceIndex => p.draw_parameters = 1,
            _ => {}
        }
        a.system(self.stage).is_some() || matches!(b, TessLevelOuter | TessLevelInner)
    }

    fn vector(&mut self, a: &Attribute, ty: u32) -> R<()> {
        let Some(shape) = self.m.shape(ty) else { return Ok(()) };
        let name = || self.m.name(a.id);
        if a.at == At::Members {
            return self.fail(a.id, format!("{} has neither a Location nor a BuiltIn", name()));
        }
        if !matches!(shape.bits, 32 | 64) {
            let n = self.m.code.def(a.id).unwrap_or(self.entry.at);
            let what = format!("inputs and outputs of {} bits, as {}, are not supported", shape.bits, name());
            return Err(Box::new(self.m.unsupported(n, what)));
        }
        let exists = a.semantic(self.stage, 0, 0).is_some();
        if let At::BuiltIn(b) = a.at
            && exists
            && (self.m.is_float(ty), shape.comps, shape.bits) != (type_of(b).0, type_of(b).1, 32)
        {
            return self.fail(a.id, format!("the built-in {b:?} has another type than {}", name()));
        }
        let numbers = shape.bits == 64 || !self.m.is_float(ty);
        if let At::Location(_) = a.at
            && a.component + shape.words() as u32 > if shape.bits == 64 { 8 } else { 4 }
        {
            return self.fail(a.id, format!("the components of {} are beyond its location's", name()));
        }
        for word in 0..shape.words() as u32 {
            let place = a.semantic(self.stage, word, self.stages.clip[usize::from(!a.input)]);
            let Some((semantic, component)) = place else {
                let kind = if a.input { "input" } else { "output" };
                let what = match a.at {
                    At::BuiltIn(b) => format!("the built-in {b:?}"),
                    At::Location(l) => format!("location {l}"),
                    At::Members => String::new(),
                };
                let message = format!("a {} shader has no {kind} at {what}", self.stage);
                return self.fail(a.id, message);
            };
            if component >= semantic.components().into() {
                continue;
            }
            if let Some(other) = self.taken.insert((a.input, semantic, component), a.id)
                && let At::Location(l) = a.at
            {
                let other = self.m.name(other);
                return self.fail(a.id, format!("{} overlaps {other} at location {l}", name()));
            }
            self.declare(a, semantic, component, numbers);
        }
        Ok(())
    }

    fn declare(&mut self, a: &Attribute, semantic: Semantic, component: u32, numbers: bool) {
        let fragment = self.stage == Stage::Fragment;
        let Interface { inputs, outputs, properties, .. } = &mut self.stages.interface;
        let list = if a.input { inputs } else { outputs };
        let at = *self.places.entry((a.input, semantic)).or_insert_with(|| {
            list.push(Declared::new(semantic, 0));
            list.len() - 1
        });
        let declared = &mut list[at];
        declared.mask |= 1 << component;
        declared.read_back |= self.read_back && self.stage == Stage::TessControl;
        if fragment && a.input {
            declared.mode = a.mode(semantic, numbers);
            declared.centroid |= (a.how.centroid || a.how.sample) && declared.mode != InterpMode::Flat;
            properties.per_sample |= u8::from(a.how.sample);
        }
        if fragment && !a.input && self.stages.used.variable(a.id) {
            self.stages.results.push((semantic, component as u8));
        }
    }

    // ---- modes

    fn modes(&mut self) -> R<()> {
        let wrong = |what: &str| Err(Box::new(self.m.error(self.entry.at, what)));
        let modes = self.m.modes.get(&self.entry.function).map_or(&[][..], Vec::as_slice);
        let p = &mut self.stages.interface.properties;
        if self.stage == Stage::Geometry {
            p.invocations = 1;
        }
        for (mode, operands) in modes {
            let number = operands.first().copied().unwrap_or(0);
            match (mode, self.stage) {
                (Mode::Invocations, Stage::Geometry) => match number {
                    1..=32 => p.invocations = number as u16,
                    _ => return wrong("a geometry shader has 1 to 32 invocations"),
                },
                (Mode::InputPoints, _) => p.vertices_in = 1,
                (Mode::InputLines, _) => p.vertices_in = 2,
                (Mode::InputLinesAdjacency, _) => p.vertices_in = 4,
                (Mode::InputTrianglesAdjacency, _) => p.vertices_in = 6,
                (Mode::Triangles, Stage::Geometry) => p.vertices_in = 3,
                (Mode::Triangles, _) => p.tess_domain = 1,
                (Mode::Quads, _) => p.tess_domain = 2,
                (Mode::Isolines, _) => p.tess_domain = 3,
                (Mode::SpacingEqual, _) => p.tess_spacing = 1,
                (Mode::SpacingFractionalOdd, _) => p.tess_spacing = 2,
                (Mode::SpacingFractionalEven, _) => p.tess_spacing = 3,
                (Mode::VertexOrderCw, _) => p.tess_cw = 1,
                (Mode::VertexOrderCcw, _) => p.tess_cw = 0,
                (Mode::PointMode, _) => p.tess_points = 1,
                (Mode::OutputVertices, Stage::Geometry) => match number {
                    0..=1024 => p.max_vertices = number as u16,
                    _ => return wrong("a geometry shader makes 1024 vertices at most"),
                },
                (Mode::OutputVertices, _) => match number {
                    1..=32 => p.vertices_out = number as u16,
                    _ => return wrong("a patch has 1 to 32 vertices"),
                },
                (Mode::OutputPoints, _) => p.strips = 1,
                (Mode::OutputLineStrip, _) => p.strips = 2,
                (Mode::OutputTriangleStrip, _) => p.strips = 3,
                (Mode::EarlyFragmentTests, _) => p.early_tests = 1,
                (Mode::PostDepthCoverage, _) => p.post_depth_coverage = 1,
                (Mode::PixelCenterInteger, _) => self.stages.integer_centers = true,
                _ => {}
            }
        }
        Ok(())
    }

    /// What modes leave out, options may say.
    fn options(&mut self, request: &Request<'_>) -> R<()> {
        let wrong = |what: String, help: &str| {
            let d = self.m.error(self.entry.at, what);
            Err(Box::new(if help.is_empty() { d } else { d.help(help) }))
        };
        let p = &mut self.stages.interface.properties;
        p.cull_distances = self.cull[1] as u8;
        p.clip_vertex_read = request.stage.clip_vertex_read.into();
        if self.stages.clip[1] + self.cull[1] > 8 || self.stages.clip[0] + self.cull[0] > 8 {
            return wrong("there are more than 8 clip and cull distances".into(), "");
        }
        match self.stage {
            Stage::TessControl | Stage::TessEval => {
                let tess = request.stage.tess.unwrap_or_default();
                if let (0, Some(domain)) = (p.tess_domain, tess.domain) {
                    p.tess_domain = match domain {
                        Domain::Triangles => 1,
                        Domain::Quads => 2,
                        Domain::Isolines => 3,
                    };
                    p.tess_cw = u8::from(!tess.ccw);
                    p.tess_points |= u8::from(tess.point_mode);
                }
                if let (0, Some(spacing)) = (p.tess_spacing, tess.spacing) {
                    p.tess_spacing = match spacing {
                        Spacing::Equal => 1,
                        Spacing::FractionalOdd => 2,
                        Spacing::FractionalEven => 3,
                    };
                }
                if p.vertices_out == 0 {
                    p.vertices_out = tess.vertices_out.into();
                }
                if self.stage == Stage::TessControl && p.vertices_out == 0 {
                    let help =
                        "it is the execution mode OutputVertices, or the option `stage.tess.vertices_out`";
                    return wrong("the module does not say how many vertices a patch is given".into(), help);
                }
                let coordinate = self.stages.interface.system.contains(&Semantic::TessCoord);
                if self.stage == Stage::TessEval && p.tess_domain == 0 && coordinate {
                    let help = "it is an execution mode, or the option `stage.tess.domain`";
                    return wrong("the module does not say what a patch is divided into".into(), help);
                }
            }
            Stage::Geometry => {
                if p.vertices_in == 0 || p.strips == 0 {
                    let what = "the geometry shader does not say which primitives it gets and makes";
                    return wrong(what.into(), "");
                }
            }
            Stage::Fragment => {
                let f = request.stage.fragment.unwrap_or_default();
                p.early_tests |= u8::from(f.early_fragment_tests);
                p.post_depth_coverage |= u8::from(f.post_depth_coverage);
            }
            Stage::Vertex | Stage::Compute => {}
        }
        Ok(())
    }
}

/// Whether a stage has inputs, or outputs, of patches.
fn has_patches(stage: Stage, input: bool) -> bool {
    matches!((stage, input), (Stage::TessControl, false) | (Stage::TessEval, true))
}
