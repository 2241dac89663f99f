//! Fixtures of graphics stages on a device: a pipeline around the program, whose other stages hand through what the fixture gives
//! and what the program leaves. Their programs are made here as TGSI.
//!
//! What no pipeline shows is [`LaunchError::Unseen`]: corners of a tessellated patch that the tessellator does not make,
//! pixels that the rasteriser does not cover, input that no stage before can write.

mod capture;
mod evaluation;
mod fragment;
mod patch;
mod primitive;
mod vertex;

use super::{OnDevice, failed};
use nvir::compiler::{Compiler, Language, Source};
use nvir::emu::stage::{Attributes, Output, Primitive, Work};
use nvir::stage::Semantic;
use nvir_driver::{
    Bindings, Counter, Draw, IndexFormat, Indices, Pass, PipelineDesc, Program, Slice, VertexArray,
    VertexAttribute, VertexFormat,
};
use nvir_fixture::kernel::LaunchError;
use nvir_fixture::stage::StageRun;
use std::fmt::Write;

/// Primitives in front of one whose number is not 0.
const MAX_NUMBER: u32 = 1 << 16;

/// A test on its way through a pipeline.
struct Subject<'a> {
    run: &'a StageRun<'a>,
    program: Program,
    bindings: Bindings,
}

impl OnDevice {
    /// Runs the threads of a stage in a pipeline.
    pub(super) fn run_stage(&mut self, run: &StageRun<'_>) -> Result<Output, LaunchError> {
        run.work.check().map_err(LaunchError::Setup)?;
        let bindings = self.given(&run.bindings).map_err(LaunchError::Setup)?;
        let mut shader = run.shader.clone();
        if let Some(graphics) = &mut shader.stage {
            // All points that the tessellator makes come once, and tests do not hide what a fragment gives.
            graphics.tess_mode = graphics.tess_mode.map(patch::as_points);
            graphics.early_tests = false;
            graphics.post_depth_coverage = false;
        }
        let program = self.context.get_mut().program(&shader).map_err(failed)?;
        let subject = Subject { run, program, bindings };
        match run.work {
            Work::Vertices(all) => self.vertices(&subject, all),
            Work::Patches(all) => self.patches(&subject, all),
            Work::Points { patches, points } => self.points(&subject, patches, points),
            Work::Primitives(all) => self.primitives(&subject, all),
            Work::Quads { triangle, quads } => self.quads(&subject, triangle, quads),
        }
    }

    /// Compiles a stage of ours around the program.
    fn helper(&mut self, text: &str) -> Result<Program, LaunchError> {
        let context = self.context.get_mut();
        let source = Source { language: Language::Tgsi, text, entry: None, name: "around the program" };
        let shader = Compiler::new(context.chip()).compile(&source);
        let shader = shader.map_err(|e| LaunchError::Setup(format!("a stage around the program: {e}")))?;
        context.program(&shader).map_err(failed)
    }

    /// Memory with words in it.
    fn words(&mut self, words: &[u32]) -> Result<Slice, LaunchError> {
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        let context = self.context.get_mut();
        let buffer = context.buffer(bytes.len().max(16) as u64).map_err(failed)?;
        context.write(&buffer.slice(0, bytes.len() as u64), &bytes).map_err(failed)?;
        Ok(buffer.whole())
    }

    /// Indices of a list of elements.
    fn indices(&mut self, all: &[u32], base: i32) -> Result<Indices, LaunchError> {
        Ok(Indices { slice: self.words(all)?, format: IndexFormat::U32, base })
    }

    fn read_words(&mut self, from: &Slice) -> Result<Vec<u32>, LaunchError> {
        Ok(words_of(&self.context.get_mut().read(from).map_err(failed)?))
    }

    /// Draws without targets; what was counted meanwhile.
    fn draw_alone(&mut self, draw: &Draw<'_>, counters: &[Counter]) -> Result<Vec<u64>, LaunchError> {
        let mut drawn = || {
            let context = self.context.get_mut();
            let queries = counters.iter().map(|&c| context.query(c)).collect::<Result<Vec<_>, _>>()?;
            let mut render = context.render(&Pass { size: Some([1, 1]), ..Pass::default() })?;
            queries.iter().try_for_each(|q| render.begin(q))?;
            render.draw(draw)?;
            queries.iter().try_for_each(|q| render.end(q))?;
            drop(render);
            queries.iter().map(|q| context.count(q)).collect::<Result<Vec<u64>, _>>()
        };
        drawn().map_err(failed)
    }
}

impl<'a> Subject<'a> {
    /// A draw with what is bound to the program.
    fn draw(&self, pipeline: &'a nvir_driver::Pipeline, count: u32) -> Draw<'a> {
        Draw {
            bindings: vec![(self.run.header.stage(), self.bindings.clone())],
            clip_planes: self.run.clip_planes.to_vec(),
            number: self.run.draw[2],
            ..Draw::new(pipeline, count)
        }
    }

    /// Whether the program may change memory: then it must not run for more than the test has.
    fn stores(&self) -> bool {
        self.run.header.global_stores || !self.bindings.buffers.is_empty() || !self.bindings.images.is_empty()
    }

    /// Indices of primitives of `size` vertices that follow each other from the vertex `first` on, and of which the first has a
    /// number: as many others come before them, which are the first as well.
    fn numbered(&self, number: u32, count: usize, first: u32, size: u32) -> Result<Vec<u32>, LaunchError> {
        check_number(number)?;
        if number > 0 && self.stores() {
            return Err(LaunchError::Unseen(format!(
                "primitive {number} of a program that changes memory: those before it would, too"
            )));
        }
        let before = (0..number).flat_map(|_| 0..size);
        Ok(before.chain(0..size * count as u32).map(|n| first + n).collect())
    }
}

fn words_of(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks().0.iter().map(|b| u32::from_le_bytes(*b)).collect()
}

/// What a test gives the vertices of its primitives, by what it is.
fn given<'a>(vertices: impl Iterator<Item = &'a Attributes> + Clone) -> Vec<Semantic> {
    let words = |s: Semantic| s.address().into_iter().flat_map(move |at| component_addresses(s, at));
    let wanted = |s: &Semantic| vertices.clone().any(|v| words(*s).any(|at| v.get(at).is_some()));
    Semantic::all().filter(|s| !s.is_per_patch() && wanted(s)).collect()
}

fn component_addresses(s: Semantic, at: u32) -> impl Iterator<Item = u32> {
    (0..u32::from(s.components())).map(move |c| at + 4 * c)
}

/// The semantic and component that lie at an address of a vertex.
fn at_address(address: u32) -> Option<(Semantic, u32)> {
    let found = |s: Semantic| {
        let from = s.address().filter(|_| !s.is_per_patch())?;
        (from..from + 4 * u32::from(s.components())).contains(&address).then(|| (s, (address - from) / 4))
    };
    Semantic::all().find_map(found)
}

/// `.xyz`: the components that a semantic has.
fn mask(s: Semantic) -> &'static str {
    &".xyzw"[..1 + usize::from(s.components())]
}

/// A vertex program whose output `n` is its input `n`.
fn hand_through(semantics: &[Semantic]) -> String {
    let mut t = String::from("VERT\n");
    let each = |t: &mut String, line: &dyn Fn(usize, Semantic) -> String| {
        semantics.iter().enumerate().for_each(|(n, &s)| {
            let _ = writeln!(t, "{}", line(n, s));
        });
    };
    each(&mut t, &|n, _| format!("DCL IN[{n}]"));
    each(&mut t, &|n, s| format!("DCL OUT[{n}]{}, {s}", mask(s)));
    each(&mut t, &|n, s| format!("MOV OUT[{n}]{}, IN[{n}]", mask(s)));
    t + "END\n"
}

/// Vertices for [`hand_through`]: four words for each semantic.
fn elements<'a>(semantics: &[Semantic], vertices: impl Iterator<Item = &'a Attributes>) -> Vec<u32> {
    let word = |v: &Attributes, s: &Semantic, c: u32| {
        s.address().filter(|_| c < s.components().into()).and_then(|at| v.get(at + 4 * c)).unwrap_or(0)
    };
    vertices.flat_map(|v| semantics.iter().flat_map(move |s| (0..4).map(move |c| word(v, s, c)))).collect()
}

/// A pipeline that begins with `count` inputs of four words, one behind the other.
fn fetching(count: usize) -> PipelineDesc {
    let attribute =
        |n: u32| VertexAttribute { location: n, array: 0, offset: 16 * n, format: VertexFormat::floats(4) };
    PipelineDesc {
        arrays: vec![VertexArray { stride: 16 * count as u32, instances: None }],
        attributes: (0..count as u32).map(attribute).collect(),
        ..PipelineDesc::default()
    }
}

/// Lists of primitives that a draw makes in one go: those whose numbers follow each other, with the number of the first.
fn runs(all: &[Primitive]) -> Vec<(u32, &[Primitive])> {
    all.chunk_by(|a, b| a.id.checked_add(1) == Some(b.id)).map(|run| (run[0].id, run)).collect()
}

/// Primitives of a draw count from 0: others come first.
fn check_number(number: u32) -> Result<(), LaunchError> {
    if number < MAX_NUMBER {
        return Ok(());
    }
    Err(LaunchError::Unseen(format!("primitive {number}: a draw of a test has at most {MAX_NUMBER}")))
}
