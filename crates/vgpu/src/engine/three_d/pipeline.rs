//! The stages of a draw in order: vertices, tessellation, geometry, transform feedback, and what the
//! rasteriser makes of primitives.
//!
//! A batch of primitives goes through as a whole; where a stage multiplies them (tessellation,
//! geometry), in parts, so that memory stays bounded. All buffers are kept from draw to draw.

use super::assemble::{ALL_EDGES, Adjacent, Assembler, Primitives, STIPPLE_RESET, Shape, Topology};
use super::bindings::{Program, Slot};
use super::feedback::{self, Feedback};
use super::fragments::{Back, Source};
use super::query::Counters;
use super::regs::View;
use super::state::{Sequence, State};
use super::tessellator::{Levels, Mode, Tessellation, tessellate};
use crate::Memory;
use crate::device::{Device, EngineResult, work};
use crate::engine::registers::Registers;
use crate::shader::{Failure, Launcher, Tables};
use crate::watch::{Reads, Vertices, Watching};
use nvir_emu::stage::batch::{self, AttributeBuffer, Bound, Defaults, DomainPoint, Input, Results, Slots};
use nvir_hw::method::three_d::*;
use nvir_isa::header;
use std::sync::Arc;

/// Vertices that a stage leaves at once, about.
const BATCH: usize = 1 << 15;

/// Where the levels of a patch lie among its attributes.
const OUTER: [u32; 4] = [0x0, 0x4, 0x8, 0xc];
const INNER: [u32; 2] = [0x10, 0x14];

/// What is drawn.
pub(super) struct Draw<'a> {
    pub state: &'a State,
    pub sequence: &'a Sequence,
    /// Counted from the card's start.
    pub number: u64,
}

/// A part of it.
pub(super) struct Batch<'a> {
    pub inputs: &'a AttributeBuffer,
    pub primitives: &'a Primitives,
    /// So many of the first vertices were shaded in the batch before, too.
    pub again: usize,
}

/// The buffers between the stages.
#[derive(Default)]
pub(super) struct Pipeline {
    vertex: Results,
    control: Results,
    /// Patches where no control stage makes any: the levels of the registers.
    given: AttributeBuffer,
    eval: Results,
    geometry: Results,
    levels: Tessellation,
    points: Vec<DomainPoint>,
    tessellated: Primitives,
    emitted: Primitives,
    back: Back,
    defaults: Option<(u32, Defaults)>,
    /// The programs of the draw before.
    programs: [Option<Program>; 5],
    /// A draw, and the launches of its stages so far.
    launched: (u64, [u32; 5]),
    /// What their programs have read, if somebody looks on.
    reads: [Reads; 5],
}

/// The stages of a draw, bound.
pub(super) struct Stages<'a> {
    pub programs: &'a [Option<Program>; 5],
    bound: &'a [Option<Bound<'a>>; 5],
    pub launcher: &'a mut Launcher,
    pub memory: &'a Memory,
    pub counters: &'a mut Counters,
    pub feedback: &'a mut Feedback,
    pub defaults: &'a Defaults,
    pub watch: Option<&'a mut Watching>,
    /// Launches of each stage in the draw.
    pub launches: &'a mut [u32; 5],
}

impl Stages<'_> {
    /// The header of a stage's program, if it has one.
    pub(super) fn program(&self, slot: Slot) -> Option<&Program> {
        self.programs[slot.binding()].as_ref()
    }

    /// Runs a stage, if it has a program.
    pub(super) fn run(
        &mut self,
        slot: Slot,
        input: &Input<'_>,
        results: &mut Results,
    ) -> Result<(), Failure> {
        let n = slot.binding();
        let (Some(program), Some(bound)) = (&self.programs[n], &self.bound[n]) else { return Ok(()) };
        self.launcher.launched(&program.kernel(), &program.code);
        self.launches[n] += 1;
        if let Some(watch) = &mut self.watch {
            watch.who.runs(slot.stage());
        }
        let what = (program.address, 1);
        let counts = self.launcher.run(&program.code, what, |how| bound.run(input, results, how))?;
        self.counters.instructions[n] += counts.threads;
        Ok(())
    }
}

impl Pipeline {
    /// The programs of the last draw.
    pub(super) fn programs(&self) -> impl Iterator<Item = &Program> {
        self.programs.iter().flatten()
    }

    /// What a stage's program has asked for in the last draw.
    pub(super) fn reads(&self, slot: Slot) -> Reads {
        self.reads[slot.binding()].clone()
    }

    /// The vertex program of the draw before.
    pub(super) fn vertex_program(&mut self) -> Option<Program> {
        self.programs[Slot::Vertex.binding()].take()
    }

    /// Draws a batch.
    pub(super) fn run(
        &mut self,
        device: &mut Device,
        draw: &Draw<'_>,
        batch: &Batch<'_>,
        counters: &mut Counters,
        feedback: &mut Feedback,
    ) -> EngineResult {
        let State { regs, bindings, .. } = draw.state;
        let patches = draw.sequence.topology == Topology::Patches;
        let mut programs = [const { None }; 5];
        for (program, slot) in programs.iter_mut().zip(Slot::ALL) {
            *program = match slot {
                Slot::Vertex => Some(draw.sequence.vertex.clone()),
                Slot::TessControl | Slot::TessEval if !patches => None,
                Slot::Fragment if regs.get(RASTERIZE_ENABLE) & 1 == 0 => None,
                _ => Program::of(device, regs, slot, self.programs[slot.binding()].take())?,
            };
        }
        if patches && programs[Slot::TessEval.binding()].is_none() {
            // Nothing makes primitives of patches.
            return Ok(());
        }
        device.charge(batch.primitives.len() as u64 * work::PRIMITIVE)?;
        device.log_launch();
        let word = regs.get(ATTRIBUTE_DEFAULT);
        if self.defaults.as_ref().is_none_or(|d| d.0 != word) {
            self.defaults = Some((word, View(regs).defaults()));
        }
        let chip = device.chip;
        let Device { memory, launcher, found, watch, .. } = device;
        let memory: &Memory = memory;
        let is_watched = watch.is_some();
        let tables: [Tables<'_>; 5] =
            std::array::from_fn(|i| Tables::new(chip, regs, &bindings[i]).watched(is_watched));
        let mut launches = [const { None }; 5];
        for (n, launch) in launches.iter_mut().enumerate() {
            if let Some(program) = &programs[n] {
                let mut bound = program.launch(chip, draw.state, &tables[n])?;
                launcher.prepare(&mut bound);
                *launch = Some(bound);
            }
        }
        let Pipeline { defaults, vertex, launched, .. } = self;
        let goes_on = launched.0 == draw.number;
        let mut counts = if goes_on { launched.1 } else { [0; 5] };
        let defaults = defaults.take().map(|d| d.1).unwrap_or_else(Defaults::zero);
        let state = batch::State {
            flat_shade: View(regs).flat_shade(),
            samples: View(regs).samples().samples,
            defaults: &defaults,
        };
        let bound: [Option<Bound<'_>>; 5] = std::array::from_fn(|n| {
            let (launch, program) = (launches[n].as_ref()?, programs[n].as_ref()?);
            Some(Bound::with(launch, program.interface.clone(), memory, state))
        });
        let mut stages = Stages {
            programs: &programs,
            bound: &bound,
            launcher,
            memory,
            counters,
            feedback,
            defaults: &defaults,
            watch: watch.as_mut(),
            launches: &mut counts,
        };
        let mut vertices = std::mem::take(vertex);
        let result = stages.run(Slot::Vertex, &Input::Vertices(batch.inputs), &mut vertices).and_then(|()| {
            stages.counters.vertex_invocations += (batch.inputs.len() - batch.again) as u64;
            stages.show(Slot::Vertex, Some(batch.inputs), &vertices.vertices, batch.primitives, false);
            if patches {
                self.tessellate(&mut stages, draw, &vertices.vertices, batch.primitives)
            } else {
                self.primitives(
                    &mut stages,
                    draw,
                    &mut vertices.vertices,
                    batch.primitives,
                    draw.sequence.topology.shape(),
                )
            }
        });
        self.launched = (draw.number, counts);
        if is_watched {
            drop(bound);
            drop(launches);
            for (reads, tables) in self.reads.iter_mut().zip(tables) {
                let asked = tables.asked();
                if goes_on {
                    reads.add(asked);
                } else {
                    *reads = asked;
                }
            }
        }
        self.vertex = vertices;
        self.programs.clone_from(&programs);
        self.defaults = Some((word, defaults));
        result.map_err(|mut failure: Failure| {
            *found = std::mem::take(&mut failure.found);
            failure.message = format!("draw {}: {}", draw.number, failure.message);
            String::from(failure)
        })
    }

    /// Patches: tessellation control, the tessellator, tessellation evaluation.
    fn tessellate(
        &mut self,
        stages: &mut Stages<'_>,
        draw: &Draw<'_>,
        vertices: &AttributeBuffer,
        patches: &Primitives,
    ) -> Result<(), Failure> {
        let regs = &draw.state.regs;
        let word = regs.get(TESS_MODE);
        let mode = Mode::from_bits(word).ok_or_else(|| format!("there is no tessellation mode {word:#x}"))?;
        let size = patches.size as u32;
        let input = batch::Primitives {
            vertices,
            size,
            indices: &patches.vertices,
            ids: &patches.ids,
            patches: None,
        };
        let mut control = std::mem::take(&mut self.control);
        let mut given = std::mem::take(&mut self.given);
        let threads = stages.program(Slot::TessControl).map(|p| u32::from(p.header().threads));
        let (input, rows) = match threads {
            // Without a control stage patches go on as they are, with the levels of the registers.
            None => {
                let Levels { outer, inner } = View(regs).levels();
                if given.slots().is_empty() {
                    given = AttributeBuffer::new(Arc::new(Slots::new(OUTER.into_iter().chain(INNER))));
                }
                given.resize(patches.len());
                for patch in 0..patches.len() {
                    for (slot, level) in outer.into_iter().chain(inner).enumerate() {
                        given.set(patch, slot, level.to_bits());
                    }
                }
                (batch::Primitives { patches: Some(&given), ..input }, &given)
            }
            Some(threads) => {
                stages.run(Slot::TessControl, &Input::Patches(input), &mut control)?;
                stages.counters.control_invocations += patches.len() as u64;
                let (vertices, patches) = (&control.vertices, Some(&control.patches));
                let input =
                    batch::Primitives { vertices, size: threads, indices: &[], ids: input.ids, patches };
                (input, &control.patches)
            }
        };
        let mut points = std::mem::take(&mut self.points);
        let mut tessellated = std::mem::take(&mut self.tessellated);
        let mut first = 0;
        let mut result = Ok(());
        while first < patches.len() && result.is_ok() {
            self.levels.points.clear();
            self.levels.indices.clear();
            points.clear();
            tessellated.clear();
            tessellated.size = mode.vertices();
            let mut end = first;
            while end < patches.len() && points.len() < BATCH {
                let level = |a| f32::from_bits(rows.word(end, a, stages.defaults));
                let levels = Levels { outer: OUTER.map(level), inner: INNER.map(level) };
                let before = self.levels.points.len() as u32;
                let indices = self.levels.indices.len();
                tessellate(mode, &levels, &mut self.levels);
                let at = &self.levels.points[before as usize..];
                points.extend(at.iter().map(|&at| DomainPoint { patch: end as u32, at }));
                let new = self.levels.indices.len() - indices;
                tessellated.ids.extend(std::iter::repeat_n(patches.ids[end], new / tessellated.size));
                end += 1;
            }
            first = end;
            tessellated.vertices.extend_from_slice(&self.levels.indices);
            tessellated.flags.resize(tessellated.ids.len(), ALL_EDGES | STIPPLE_RESET);
            if points.is_empty() {
                continue;
            }
            let mut eval = std::mem::take(&mut self.eval);
            let shape = [Shape::Point, Shape::Line, Shape::Triangle][tessellated.size - 1];
            result = stages
                .run(Slot::TessEval, &Input::Points { patches: input, points: &points }, &mut eval)
                .and_then(|()| {
                    stages.counters.eval_invocations += points.len() as u64;
                    self.primitives(stages, draw, &mut eval.vertices, &tessellated, shape)
                });
            self.eval = eval;
        }
        self.points = points;
        self.tessellated = tessellated;
        self.control = control;
        self.given = given;
        result
    }

    /// Primitives of the last vertex or evaluation stage.
    fn primitives(
        &mut self,
        stages: &mut Stages<'_>,
        draw: &Draw<'_>,
        vertices: &mut AttributeBuffer,
        primitives: &Primitives,
        shape: Shape,
    ) -> Result<(), Failure> {
        let Some(geometry) = stages.program(Slot::Geometry) else {
            return self.stream(stages, draw, 0, (vertices, primitives, shape));
        };
        let header = geometry.header().clone();
        let threads = usize::from(header.threads).max(1);
        let each = (BATCH / (threads * usize::from(header.max_vertices).max(1))).max(1);
        let (topology, shape) = match header.topology {
            Some(header::Topology::Lines) => (Topology::LineStrip, Shape::Line),
            Some(header::Topology::Triangles) => (Topology::TriangleStrip, Shape::Triangle),
            _ => (Topology::Points, Shape::Point),
        };
        let provoking = View(&draw.state.regs).provoking();
        let mut results = std::mem::take(&mut self.geometry);
        let mut emitted = std::mem::take(&mut self.emitted);
        let mut result = Ok(());
        let mut ids = [0; 4];
        for first in (0..primitives.len()).step_by(each) {
            let part = first..(first + each).min(primitives.len());
            let size = primitives.size;
            let input = Input::Primitives(batch::Primitives {
                vertices,
                size: size as u32,
                indices: &primitives.vertices[part.start * size..part.end * size],
                ids: &primitives.ids[part.clone()],
                patches: None,
            });
            result = stages.run(Slot::Geometry, &input, &mut results);
            if result.is_err() {
                break;
            }
            stages.counters.geometry_invocations += (part.len() * threads) as u64;
            for (n, stream) in results.streams.iter_mut().enumerate() {
                emitted.clear();
                let mut assembler = Assembler::new(topology, provoking, Adjacent::Drop, 1);
                assembler.continue_from(ids[n]);
                let mut row = 0;
                for &end in &stream.strips {
                    (row..end).for_each(|row| assembler.vertex(row, true, &mut emitted));
                    assembler.restart(&mut emitted);
                    row = end;
                }
                (row..stream.vertices.len() as u32).for_each(|row| assembler.vertex(row, true, &mut emitted));
                ids[n] = assembler.count();
                stages.counters.geometry_primitives += emitted.len() as u64;
                result = self.stream(stages, draw, n, (&mut stream.vertices, &emitted, shape));
                if result.is_err() {
                    break;
                }
            }
            if result.is_err() {
                break;
            }
        }
        self.geometry = results;
        self.emitted = emitted;
        result
    }

    /// The primitives of a stream behind the last stage.
    fn stream(
        &mut self,
        stages: &mut Stages<'_>,
        draw: &Draw<'_>,
        stream: usize,
        (vertices, primitives, shape): (&mut AttributeBuffer, &Primitives, Shape),
    ) -> Result<(), Failure> {
        if primitives.is_empty() {
            return Ok(());
        }
        stages.counters.generated[stream] += primitives.len() as u64;
        stages.write_feedback(&draw.state.regs, stream, vertices, primitives)?;
        if stream != 0 || draw.state.regs.get(RASTERIZE_ENABLE) & 1 == 0 {
            return Ok(());
        }
        let last = stages.last();
        stages.show(last, None, vertices, primitives, true);
        self.back.draw(stages, draw, &mut Source { vertices, primitives, shape })
    }
}

impl Stages<'_> {
    /// The last stage before the rasteriser.
    fn last(&self) -> Slot {
        let all = [Slot::Geometry, Slot::TessEval];
        all.into_iter().find(|&slot| self.program(slot).is_some()).unwrap_or(Slot::Vertex)
    }

    /// Shows who looks on what a stage has made of a batch.
    fn show(
        &mut self,
        slot: Slot,
        inputs: Option<&AttributeBuffer>,
        outputs: &AttributeBuffer,
        primitives: &Primitives,
        last: bool,
    ) {
        let Some(watch) = &mut self.watch else { return };
        let (size, primitives) = (primitives.size, &primitives.vertices);
        watch.who.vertices(&Vertices { stage: slot.stage(), inputs, outputs, size, primitives, last });
    }

    /// Writes primitives of a stream to the buffers of transform feedback.
    fn write_feedback(
        &mut self,
        regs: &Registers,
        stream: usize,
        vertices: &AttributeBuffer,
        primitives: &Primitives,
    ) -> EngineResult {
        if regs.get(TFB_ENABLE) & 1 == 0 {
            return Ok(());
        }
        for (n, buffer) in (0..).zip(&mut self.feedback.buffers) {
            let offset = buffer.map_or(0, |b| b.offset);
            *buffer = View(regs).feedback(n).map(|b| feedback::Buffer { offset, ..b });
        }
        let (memory, defaults) = (self.memory, self.defaults);
        let mut result = Ok(());
        for n in 0..primitives.len() {
            self.feedback.primitive(
                stream,
                primitives.get(n),
                |&row, slot| vertices.word(row as usize, 4 * u32::from(slot), defaults),
                |buffer, offset, words| {
                    let address = regs.address(TFB_ADDRESS_HIGH.at(buffer as u32));
                    let written = memory.write_words(address.wrapping_add(offset.into()), words);
                    if let Err(e) = written {
                        result = Err(format!("buffer {buffer} of transform feedback: {e}"));
                    }
                },
            );
            if result.is_err() {
                break;
            }
        }
        result
    }
}
