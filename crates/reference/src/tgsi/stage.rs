//! Threads of graphics stages: what they get, and what they leave behind.
//!
//! A group of threads runs as a block does: a vertex, all invocations of a patch, a vertex of the tessellator, one
//! invocation of a primitive, or the four pixels of a quad. Outputs are kept by register, so that they can be read back and
//! seen by the other invocations of a patch; they get their meaning when the thread ends or a vertex is emitted.

use super::pixel::{self, Mode};
use super::texture;
use super::thread::{Thread, illegal};
use super::{Block, Fault, Launch, Trap};
use nvir::diag::Span;
use nvir::emu::stage::{Attributes, Emitted, Fragment, Output, PatchOutput, Primitive, Quad, Triangle, Work};
use nvir::emu::{FaultKind, Memory};
use nvir::front::tgsi::ast::*;
use nvir::hw::samples::sample_position;
use nvir::stage::{Semantic as Meaning, vertex_input};

/// What threads of a graphics stage get beside bindings.
pub struct Graphics<'a> {
    /// The threads, and what each gets.
    pub work: &'a Work,
    /// Base vertex, base instance and number of the draw.
    pub draw: [u32; 3],
    /// Colours without an interpolation of their own are flat.
    pub flat_shade: bool,
    /// Samples of a pixel: 1, 2, 4 or 8.
    pub samples: u32,
    /// Inputs that are not flat are taken at the sample that a quad runs for.
    pub per_sample: bool,
    /// User clip planes, for programs that write no clip distances.
    pub clip_planes: &'a [[f32; 4]],
}

/// A declared register of IN or OUT.
#[derive(Clone, Copy)]
pub(super) struct Register {
    pub meaning: Meaning,
    pub mode: Mode,
    /// Where in the pixel an input is taken.
    pub location: Location,
}

/// Components of a register; those that nothing was written to are absent.
type Written = [Option<u32>; 4];

/// The group of threads that runs.
pub(super) struct Group<'a> {
    pub given: &'a Graphics<'a>,
    inputs: &'a [Option<Register>],
    outputs: &'a [Option<Register>],
    /// Which vertex, patch, point, primitive or quad.
    pub item: usize,
    /// The invocation of the first thread.
    invocation: u32,
    /// For each thread, its outputs by register.
    written: Vec<Vec<Written>>,
    /// Outputs of the patch by register.
    patch: Vec<Written>,
    streams: [Vec<Emitted>; 4],
    emitted: u32,
}

/// What a declaration's register means; none: nothing that this project knows.
fn registers(program: &Program, file: File) -> Vec<Option<Register>> {
    let mut all = Vec::new();
    for d in program.decls.iter().filter(|d| d.file == file) {
        for n in d.first..=d.last {
            let (semantic, first) = d.semantic.unwrap_or((Semantic::Generic, d.first));
            let index = u8::try_from(first.saturating_add(n - d.first)).unwrap_or(u8::MAX);
            let name = if semantic == Semantic::PrimId { "PRIMID" } else { semantic.name() };
            let mut meaning = Meaning::from_name(name, index);
            if program.stage == Stage::Vertex && file == File::In {
                meaning = Some(Meaning::Generic(n.min(255) as u8));
            } else if program.stage == Stage::Fragment
                && file == File::Out
                && meaning == Some(Meaning::Position)
            {
                meaning = Some(Meaning::Depth);
            }
            let at = n as usize;
            if all.len() <= at {
                all.resize(at + 1, None);
            }
            if all[at].is_none() {
                all[at] = meaning.map(|meaning| Register {
                    meaning,
                    mode: Mode::of(d, meaning),
                    location: d.location.unwrap_or(Location::Center),
                });
            }
        }
    }
    all
}

/// Runs all threads; the result is what they left behind.
///
/// # Errors
/// As [`super::run`].
pub fn run_stage(
    launch: &Launch<'_>,
    given: &Graphics<'_>,
    memory: &mut Memory,
) -> Result<Output, Box<Fault>> {
    let program = launch.program;
    let refuse = |message: &str| {
        let (kind, message) = (FaultKind::IllegalInstruction, message.to_string());
        Box::new(Fault { kind, message, span: Span::default(), block: [0; 3], thread: [0; 3] })
    };
    let property = |p| program.property(p).unwrap_or(1).max(1);
    let (stage, items, threads, repeats, mut output) = match given.work {
        Work::Vertices(v) => (Stage::Vertex, v.len(), 1, 1, Output::Vertices(Vec::new())),
        Work::Patches(p) => {
            let threads = property(Property::TcsVerticesOut);
            (Stage::TessCtrl, p.len(), threads, 1, Output::Patches(Vec::new()))
        }
        Work::Points { points, .. } => (Stage::TessEval, points.len(), 1, 1, Output::Vertices(Vec::new())),
        Work::Primitives(p) => {
            let repeats = property(Property::GsInvocations);
            (Stage::Geometry, p.len(), 1, repeats, Output::Streams(Default::default()))
        }
        Work::Quads { quads, .. } => (Stage::Fragment, quads.len(), 4, 1, Output::Fragments(Vec::new())),
    };
    if stage != program.stage {
        return Err(refuse("the program is of another stage"));
    }
    if threads > 32 || repeats > 32 {
        return Err(refuse("more than 32 invocations"));
    }
    let entry = program.entry(launch.kernel).map_err(|d| refuse(&d.to_string()))?;
    let (inputs, outputs) = (registers(program, File::In), registers(program, File::Out));
    let mut steps = launch.step_limit;
    for item in 0..items {
        for invocation in 0..repeats {
            let group = Group {
                given,
                inputs: &inputs,
                outputs: &outputs,
                item,
                invocation,
                written: vec![vec![[None; 4]; outputs.len()]; threads as usize],
                patch: vec![[None; 4]; outputs.len()],
                streams: Default::default(),
                emitted: 0,
            };
            let id = [item as u32, invocation, 0];
            let mut all: Vec<Thread<'_>> =
                (0..threads).map(|n| Thread::new(launch, entry, [n, 0, 0])).collect();
            if let Work::Quads { quads, .. } = given.work {
                all.iter_mut().zip(quads[item].cover).for_each(|(t, cover)| t.helper = cover == 0);
            }
            let mut block =
                Block { launch, memory: &mut *memory, shared: Vec::new(), id, group: Some(group) };
            block.run(&mut all, &mut steps)?;
            if let Some(group) = block.group.take() {
                group.leave(&all, &mut output);
            }
        }
    }
    Ok(output)
}

impl Group<'_> {
    /// Notes what a thread has written.
    pub(super) fn take(&mut self, t: &mut Thread<'_>) {
        for (register, comp, v) in t.written.drain(..) {
            let per_patch = self.output(register).is_some_and(|r| r.meaning.is_per_patch());
            let list = if per_patch { &mut self.patch } else { &mut self.written[t.id[0] as usize] };
            if let Some(r) = list.get_mut(register) {
                r[comp] = Some(v);
            }
        }
    }

    fn output(&self, register: usize) -> Option<Register> {
        *self.outputs.get(register)?
    }

    fn primitive(&self) -> Option<&Primitive> {
        match self.given.work {
            Work::Patches(all) | Work::Primitives(all) => all.get(self.item),
            Work::Points { patches, points } => patches.get(points.get(self.item)?.patch),
            Work::Vertices(_) | Work::Quads { .. } => None,
        }
    }

    pub(super) fn quad(&self) -> Option<(&Triangle, &Quad)> {
        match self.given.work {
            Work::Quads { triangle, quads } => quads.get(self.item).map(|q| (&**triangle, q)),
            _ => None,
        }
    }

    /// Outputs as the stage after finds them.
    fn attributes(&self, written: &[Written]) -> Attributes {
        let mut all = Attributes::new();
        let mut clip_source = None;
        let mut distances = false;
        for (r, values) in self.outputs.iter().zip(written).filter_map(|(r, w)| r.map(|r| (r, w))) {
            distances |= matches!(r.meaning, Meaning::ClipDist(_));
            if r.meaning == Meaning::ClipVertex || r.meaning == Meaning::Position && clip_source.is_none() {
                clip_source = Some(values);
            }
            let Some(at) = r.meaning.address().filter(|_| r.meaning != Meaning::ClipVertex) else { continue };
            for (c, v) in values.iter().enumerate().take(r.meaning.components().into()) {
                if v.is_some() {
                    all.put(at + 4 * c as u32, *v);
                }
            }
        }
        if let (Some(v), false) = (clip_source, distances) {
            let v = v.map(|x| f32::from_bits(x.unwrap_or(0)));
            for (n, plane) in self.given.clip_planes.iter().enumerate().take(8) {
                let distance = v.iter().zip(plane).fold(0.0, |sum: f32, (a, b)| a.mul_add(*b, sum));
                let at = Meaning::ClipDist(0).address().unwrap_or(0) + 4 * n as u32;
                all.put(at, Some(distance.to_bits()));
            }
        }
        all
    }

    /// Adds what the threads have left to the output.
    fn leave(mut self, threads: &[Thread<'_>], output: &mut Output) {
        match output {
            Output::Vertices(all) => all.push(self.attributes(&self.written[0])),
            Output::Patches(all) => {
                let vertices = self.written.iter().map(|w| self.attributes(w)).collect();
                all.push(PatchOutput { vertices, patch: self.attributes(&self.patch) });
            }
            Output::Streams(all) => {
                for (to, from) in all.iter_mut().zip(&mut self.streams) {
                    // The end of an invocation ends its strip.
                    let ends = threads[0].makes_strips() && matches!(from.last(), Some(Emitted::Vertex(_)));
                    to.append(from);
                    to.extend(ends.then_some(Emitted::Cut));
                }
            }
            Output::Fragments(all) => {
                all.push(std::array::from_fn(|l| self.fragment(&threads[l], &self.written[l])));
            }
        }
    }

    fn fragment(&self, t: &Thread<'_>, written: &[Written]) -> Fragment {
        let mut f = Fragment { covered: !t.helper, killed: t.killed, ..Fragment::default() };
        for (r, values) in self.outputs.iter().zip(written).filter_map(|(r, w)| r.map(|r| (r, w))) {
            match r.meaning {
                Meaning::Color(n) => f.colors[usize::from(n)] = *values,
                // Depth buffers hold 0 to 1.
                Meaning::Depth => {
                    f.depth = values[2].map(super::alu::saturated);
                }
                Meaning::SampleMask => f.sample_mask = values[0],
                _ => {}
            }
        }
        f
    }
}

/// What components that a register does not have read as.
fn missing(comp: usize) -> u32 {
    if comp == 3 { 1f32.to_bits() } else { 0 }
}

impl Thread<'_> {
    fn makes_strips(&self) -> bool {
        // The first of the names of primitives: points.
        self.program.property(Property::GsOutputPrim) != Some(0)
    }

    /// Whether it runs for its neighbours only.
    pub(super) fn is_helper(&self) -> bool {
        self.helper || self.killed
    }

    fn group<'b>(&self, block: &'b Block<'_>) -> Result<&'b Group<'b>, Trap> {
        block.group.as_ref().ok_or_else(|| illegal("a compute program has no inputs and outputs"))
    }

    fn register(&self, list: &[Option<Register>], reg: &Reg) -> Option<(usize, Register)> {
        let n = usize::try_from(self.index(&reg.index)).ok()?;
        Some((n, (*list.get(n)?)?))
    }

    /// The vertex that a register of two dimensions belongs to.
    fn vertex(&self, reg: &Reg) -> Option<usize> {
        reg.dim.and_then(|d| usize::try_from(self.index(&d)).ok())
    }

    /// A component of IN; what is not there is zero.
    pub(super) fn input(&self, block: &Block<'_>, reg: &Reg, comp: usize) -> Result<u32, Trap> {
        let group = self.group(block)?;
        let Some((n, r)) = self.register(group.inputs, reg) else { return Ok(0) };
        if let Work::Vertices(all) = group.given.work {
            return Ok(all[group.item].get(vertex_input(n as u32) + 4 * comp as u32).unwrap_or(0));
        }
        if comp >= usize::from(r.meaning.components()) {
            return Ok(missing(comp));
        }
        if let Some((triangle, quad)) = group.quad() {
            let middle = r.location == Location::Center && !group.given.per_sample;
            let offset = if middle { None } else { pixel::centroid(group.given.samples, quad, self.id[0]) };
            let at = pixel::place(quad, self.id[0], offset);
            return Ok(pixel::input(triangle, r, comp, at, group.given.flat_shade));
        }
        let Some(p) = group.primitive() else { return Ok(0) };
        let Some(address) = r.meaning.address() else { return Ok(0) };
        if r.meaning == Meaning::PrimitiveId {
            return Ok(p.id);
        }
        let from = if r.meaning.is_per_patch() {
            Some(&p.patch)
        } else {
            self.vertex(reg).and_then(|v| p.vertices.get(v))
        };
        Ok(from.and_then(|a| a.get(address + 4 * comp as u32)).unwrap_or(0))
    }

    /// A component of OUT as far as it has been written.
    pub(super) fn output(&self, block: &Block<'_>, reg: &Reg, comp: usize) -> Result<u32, Trap> {
        let group = self.group(block)?;
        let Some((n, r)) = self.register(group.outputs, reg) else { return Ok(0) };
        let from = if r.meaning.is_per_patch() {
            Some(&group.patch)
        } else {
            group.written.get(self.vertex(reg).unwrap_or(self.id[0] as usize))
        };
        Ok(from.and_then(|w| w[n][comp]).unwrap_or(0))
    }

    /// A system value that only graphics stages have.
    pub(super) fn stage_value(
        &self,
        block: &Block<'_>,
        semantic: Semantic,
        comp: usize,
    ) -> Result<u32, Trap> {
        use Semantic::*;
        let group =
            self.group(block).map_err(|_| illegal(format!("{} in a compute program", semantic.name())))?;
        let given = group.given;
        let no = || illegal(format!("{} does not exist in this stage", semantic.name()));
        let truth = |yes: bool| if yes { u32::MAX } else { 0 };
        if let Work::Vertices(all) = given.work {
            let of = |m: Meaning| m.address().and_then(|a| all[group.item].get(a)).unwrap_or(0);
            return Ok(match semantic {
                VertexId => of(Meaning::VertexId),
                VertexIdNoBase => of(Meaning::VertexId).wrapping_sub(given.draw[0]),
                InstanceId => of(Meaning::InstanceId),
                BaseVertex => given.draw[0],
                BaseInstance => given.draw[1],
                DrawId => given.draw[2],
                _ => return Err(no()),
            });
        }
        if let Some((triangle, quad)) = group.quad() {
            return Ok(match semantic {
                Face => truth(triangle.front),
                PrimId => triangle.id,
                HelperInvocation => truth(self.is_helper()),
                SampleId => quad.sample.unwrap_or(0),
                SamplePos if comp < 2 => {
                    sample_position(given.samples, quad.sample.unwrap_or(0))[comp].to_bits()
                }
                SamplePos => 0,
                // Of the samples that the thread runs for.
                SampleMask => {
                    let own = quad.sample.map_or(u32::MAX, |s| 1u32.checked_shl(s).unwrap_or(0));
                    quad.cover[self.id[0] as usize] & own
                }
                _ => return Err(no()),
            });
        }
        let p = group.primitive().ok_or_else(no)?;
        Ok(match (semantic, given.work) {
            (PrimId, _) => p.id,
            (InvocationId, Work::Patches(_) | Work::Primitives(_)) => group.invocation + self.id[0],
            (VerticesIn, _) => p.vertices.len() as u32,
            (TessCoord, Work::Points { points, .. }) => {
                let [u, v] = points[group.item].at;
                // The third number follows from the others in triangles only.
                let triangles = self.program.property(Property::TesPrimMode).is_some_and(|p| p == 4);
                let w = if triangles { 1.0 - (u + v) } else { 0.0 };
                [u, v, w, 0.0][comp].to_bits()
            }
            (TessOuter | TessInner, Work::Points { .. }) => {
                let level = if semantic == TessOuter { Meaning::TessOuter } else { Meaning::TessInner };
                let there = comp < usize::from(level.components());
                let address = level.address().filter(|_| there).map(|a| a + 4 * comp as u32);
                address.map_or(missing(comp), |a| p.patch.get(a).unwrap_or(0))
            }
            _ => return Err(no()),
        })
    }

    /// Executes an operation of graphics stages that concerns one thread; where the next instruction is.
    pub(super) fn graphics(&mut self, block: &mut Block<'_>, inst: &Inst<'_>) -> Result<(), Trap> {
        use Opcode::*;
        let fragment = self.program.stage == Stage::Fragment;
        match inst.op {
            EMIT | ENDPRIM if self.program.stage == Stage::Geometry => self.emit(block, inst)?,
            KILL | DEMOTE if fragment => self.killed = true,
            KILL_IF if fragment => {
                for c in 0..4 {
                    self.killed |= f32::from_bits(self.operand32(block, inst, 0, c)?) < 0.0;
                }
            }
            READ_HELPER if fragment => {
                let v = if self.is_helper() { u32::MAX } else { 0 };
                self.write_result(&inst.dsts[0], [v; 4])?;
            }
            FBFETCH if fragment => {
                let texel = self.framebuffer(block)?;
                self.write_result(&inst.dsts[0], texel)?;
            }
            INTERP_CENTROID | INTERP_SAMPLE | INTERP_OFFSET if fragment => self.interpolate(block, inst)?,
            op => return Err(illegal(format!("{} is not interpreted in this stage", op.name()))),
        }
        Ok(())
    }

    /// What the framebuffer holds at the pixel and sample that a thread runs for.
    fn framebuffer(&self, block: &Block<'_>) -> Result<[u32; 4], Trap> {
        let Some(image) = &block.launch.framebuffer else {
            return Err(Trap(FaultKind::OutOfBounds, "no framebuffer is bound".into()));
        };
        let Some((_, quad)) = self.group(block)?.quad() else {
            return Err(illegal("only a pixel has a framebuffer"));
        };
        let [x, y] = pixel::pixel(quad, self.id[0]);
        let at = [x, y, quad.sample.unwrap_or(0)];
        Ok(texture::read(block, image, 0, at)?.unwrap_or([0; 4]))
    }

    fn emit(&mut self, block: &mut Block<'_>, inst: &Inst<'_>) -> Result<(), Trap> {
        let stream = self.operand32(block, inst, 0, 0)?;
        let most = self.program.property(Property::GsMaxOutputVertices).unwrap_or(0);
        let strips = self.makes_strips();
        let Some(group) = &mut block.group else { return Err(illegal("a compute program has no vertices")) };
        if stream > 3 {
            return Err(illegal(format!("stream {stream}: 0 to 3")));
        }
        if inst.op == Opcode::EMIT {
            // What is emitted beyond the maximum is lost.
            if group.emitted < most {
                let vertex = group.attributes(&group.written[0]);
                group.streams[stream as usize].push(Emitted::Vertex(vertex));
                group.emitted += 1;
            }
        } else if strips && stream == 0 && matches!(group.streams[0].last(), Some(Emitted::Vertex(_))) {
            group.streams[0].push(Emitted::Cut);
        }
        Ok(())
    }

    fn interpolate(&mut self, block: &Block<'_>, inst: &Inst<'_>) -> Result<(), Trap> {
        let src = inst.srcs[0];
        let group = self.group(block)?;
        let (Some((triangle, quad)), File::In) = (group.quad(), src.reg.file) else {
            return Err(illegal("only an input is interpolated"));
        };
        let offset = match inst.op {
            Opcode::INTERP_OFFSET => {
                let x = |c| self.operand32(block, inst, 1, c).map(|v| f64::from(f32::from_bits(v)));
                // OpenGL's least range of offsets.
                Some([x(0)?.clamp(-0.5, 0.4375), x(1)?.clamp(-0.5, 0.4375)])
            }
            Opcode::INTERP_SAMPLE => {
                let sample = self.operand32(block, inst, 1, 0)?;
                Some(sample_position(group.given.samples, sample).map(|v| f64::from(v) - 0.5))
            }
            _ => pixel::centroid(group.given.samples, quad, self.id[0]),
        };
        let at = pixel::place(quad, self.id[0], offset);
        let register = self.register(group.inputs, &src.reg);
        let mut result = [0; 4];
        for c in inst.dsts[0].comps() {
            let comp = usize::from(src.swizzle[c]);
            let v = match register {
                Some((_, r)) if comp < r.meaning.components().into() => {
                    pixel::input(triangle, r, comp, at, group.given.flat_shade)
                }
                _ => missing(comp),
            };
            let v = if src.abs { v & 0x7fff_ffff } else { v };
            result[c] = if src.neg { v ^ 0x8000_0000 } else { v };
        }
        if inst.saturate {
            result = result.map(super::alu::saturated);
        }
        self.write_result(&inst.dsts[0], result)
    }
}
