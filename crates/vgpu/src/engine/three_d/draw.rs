//! Draws: sequences of vertices from BEGIN to END, from arrays, index buffers and indices in the
//! stream. Several draws may follow each other in one sequence; strips go on over them.
//!
//! Vertices are fetched as they come and shaded in batches, at END or when a batch is full.

use super::assemble::{Adjacent, Assembler, MAX_PENDING, Primitives, Topology};
use super::bindings::{self, Program, Slot};
use super::describe;
use super::fetch::{Bytes, Plan, Vertex};
use super::query::Counters;
use super::regs::View;
use super::state::{Sequence, State};
use super::{ThreeD, pipeline, target};
use crate::Memory;
use crate::device::{Device, EngineResult, work};
use crate::engine::condition;
use crate::shader::DrawProfile;
use crate::watch::{Done, Moment, Ran, What};
use nvir_emu::stage::batch::{AttributeBuffer, Defaults};
use nvir_emu::{Fault, FaultKind, Note, Place};
use nvir_hw::method::condition::COND_ADDRESS_HIGH;
use nvir_hw::method::shader::CODE_ADDRESS_HIGH;
use nvir_hw::method::three_d::*;
use nvir_hw::word::{VertexBegin, VertexIdMode};

/// Vertices of a batch, at most.
const BATCH: usize = 1 << 15;

/// Entries of the cache of shaded vertices.
const CACHED: usize = 1 << 12;

/// What is kept from sequence to sequence: its memory.
#[derive(Default)]
pub(super) struct Scratch {
    indices: Vec<u32>,
    vertices: Vec<Vertex>,
    inputs: AttributeBuffer,
    /// The vertices that later primitives need, while a batch is shaded.
    carried: AttributeBuffer,
    /// Rows of `inputs` that were shaded in the batch before, too.
    shaded_before: usize,
    primitives: Primitives,
    cache: Cache,
}

/// The rows of the indices that came last.
#[derive(Default)]
struct Cache {
    /// Index, row and the generation that they are of.
    entries: Vec<[u32; 3]>,
    generation: u32,
}

impl Cache {
    /// Forgets all.
    fn clear(&mut self) {
        self.generation = self.generation.wrapping_add(1);
        if self.generation == 0 {
            self.entries.clear();
            self.generation = 1;
        }
    }

    /// The row of an index, if it is known; else it is `new` from now on.
    #[inline]
    fn row(&mut self, index: u32, new: u32) -> Option<u32> {
        if self.entries.is_empty() {
            self.entries.resize(CACHED, [0; 3]);
        }
        let entry = &mut self.entries[index as usize % CACHED];
        if (entry[0], entry[2]) == (index, self.generation) {
            return Some(entry[1]);
        }
        *entry = [index, new, self.generation];
        None
    }
}

/// The index that ends a strip.
fn restart_index(state: &State) -> Option<u32> {
    (state.regs.get(PRIM_RESTART_ENABLE) & 1 != 0).then(|| state.regs.get(PRIM_RESTART_INDEX))
}

/// Indices in memory.
struct Indices<'m> {
    bytes: Option<Bytes<'m>>,
    /// Bytes of an index.
    size: u64,
    len: u64,
}

impl<'m> Indices<'m> {
    fn new(state: &State, memory: &'m Memory) -> EngineResult<Indices<'m>> {
        let size = match state.regs.get(INDEX_FORMAT) {
            format @ 0..=2 => 1 << format,
            format => return Err(format!("there is no index format {format}")),
        };
        let start = state.regs.address(INDEX_ARRAY_START_HIGH);
        let limit = state.regs.address(INDEX_ARRAY_LIMIT_HIGH);
        let bytes = Bytes::of(memory, start).filter(|_| start <= limit);
        let len = bytes.map_or(0, |b| b.len().min(limit - start + 1));
        Ok(Indices { bytes, size, len })
    }

    /// Index `i`; beyond the end there are zeros.
    #[inline]
    fn get(&self, i: u64) -> u32 {
        let at = i * self.size;
        match &self.bytes {
            Some(bytes) if at + self.size <= self.len => {
                bytes.load(at, self.size) as u32 & u32::MAX >> (32 - 8 * self.size)
            }
            _ => 0,
        }
    }
}

impl ThreeD {
    /// VERTEX_BEGIN_GL.
    pub(super) fn begin(&mut self, device: &mut Device, value: u32) -> EngineResult {
        let begin = VertexBegin::from_bits(value);
        if self.sequence.is_some() {
            return Err("a sequence of vertices begins before the last one has ended".into());
        }
        if begin.open() != 0 || begin.same_ids() {
            return Err(format!("sequences without begin or end ({value:#x}) are not implemented"));
        }
        device.charge(work::DRAW)?;
        let topology = Topology::from_code(begin.primitive())
            .ok_or_else(|| format!("there is no primitive {:#x}", begin.primitive()))?;
        self.instance = match (begin.next_instance(), begin.same_instance()) {
            (true, _) => self.instance.wrapping_add(1),
            (_, true) => self.instance,
            _ => 0,
        };
        self.in_sequence = true;
        if !condition::holds(device, &self.state.regs, COND_ADDRESS_HIGH)? {
            return Ok(());
        }
        self.draws += 1;
        let State { regs, .. } = &self.state;
        let vertex = Program::of(device, regs, Slot::Vertex, self.pipeline.vertex_program())?
            .ok_or("a draw without a vertex program")?;
        let geometry = bindings::is_enabled(regs, Slot::Geometry);
        let adjacent = if geometry { Adjacent::Keep } else { Adjacent::Drop };
        let provoking = View(regs).provoking();
        let slots = vertex.interface.inputs.clone();
        let scratch = &mut self.scratch;
        scratch.inputs.reset(&slots);
        scratch.primitives.clear();
        scratch.shaded_before = 0;
        scratch.cache.clear();
        if let Some(watch) = &mut device.watch {
            let rasterizes = regs.get(RASTERIZE_ENABLE) & 1 != 0;
            let targets = if rasterizes { target::all_drawn(View(regs)) } else { Vec::new() };
            let what = What::Draw { topology: topology.name(), instance: self.instance };
            watch.begin(
                Moment { place: device.place, memory: &device.memory, registers: regs },
                what,
                targets,
            );
        }
        self.sequence = Some(Sequence {
            topology,
            instance: self.instance,
            vertex,
            slots,
            before: self.counters,
            indices: None,
            assembler: Assembler::new(topology, provoking, adjacent, regs.get(PATCH_VERTICES) as usize),
        });
        Ok(())
    }

    /// VERTEX_END_GL.
    pub(super) fn end(&mut self, device: &mut Device) -> EngineResult {
        if !std::mem::take(&mut self.in_sequence) {
            // Mesa ends what may not have begun.
            return Ok(());
        }
        let Some(mut sequence) = self.sequence.take() else { return Ok(()) };
        sequence.assembler.end(&mut self.scratch.primitives);
        self.shade(device, &sequence)?;
        self.log(device, &sequence);
        self.tell(device, &sequence);
        let done = self.counters.since(&sequence.before);
        device.launcher.ended(&DrawProfile {
            number: self.draws,
            what: sequence.topology.name(),
            vertices: done.vertices,
            primitives: done.primitives,
            fragments: done.fragment_invocations,
            instructions: done.instructions,
        });
        Ok(())
    }

    /// Tells who looks on that a draw has ended.
    fn tell(&self, device: &mut Device, sequence: &Sequence) {
        let Some(watch) = &mut device.watch else { return };
        let regs = &self.state.regs;
        let done = self.counters.since(&sequence.before);
        let before = &sequence.before;
        let counts = vec![
            ("vertices", done.vertices),
            ("primitives", done.primitives),
            ("primitives clipped or culled", {
                let clipped = |c: &Counters| c.clipper_in - c.clipper_out;
                clipped(&self.counters) - clipped(before)
            }),
            ("primitives rasterised", self.counters.clipper_out - before.clipper_out),
            ("vertex invocations", self.counters.vertex_invocations - before.vertex_invocations),
            ("control invocations", self.counters.control_invocations - before.control_invocations),
            ("evaluation invocations", self.counters.eval_invocations - before.eval_invocations),
            ("geometry invocations", self.counters.geometry_invocations - before.geometry_invocations),
            ("fragments", done.fragment_invocations),
        ];
        let launcher = &mut device.launcher;
        let programs = self.pipeline.programs().map(|p| Ran {
            stage: p.slot.stage(),
            address: p.address,
            entry: p.entry,
            program: p.code.clone(),
            instructions: done.instructions[p.slot.binding()],
            profile: launcher.take_profile(&p.code),
            reads: self.pipeline.reads(p.slot).with_banks(&self.state.bindings[p.slot.binding()].banks),
        });
        let programs: Vec<Ran> = programs.filter(|p| p.instructions > 0).collect();
        let what = What::Draw { topology: sequence.topology.name(), instance: sequence.instance };
        let mut state = describe::arrays(regs, &sequence.slots);
        if let Some([first, count]) = sequence.indices {
            let indices = Indices::new(&self.state, &device.memory);
            let some = indices.iter().flat_map(|i| (first..).take(count.min(12) as usize).map(|n| i.get(n)));
            state.extend(describe::indices(regs, [first, count], some.collect(), restart_index(&self.state)));
        }
        state.extend(describe::state(View(regs)));
        let moment = Moment { place: device.place, memory: &device.memory, registers: regs };
        // What programs store may lie in targets, too.
        let stores = programs.iter().any(|p| p.program.writes_memory());
        let touched = (!stores).then(|| watch.touched());
        watch.end(moment, what, state, &Done { counts, programs, written: None, touched });
    }

    /// A line of a draw that has ended.
    fn log(&self, device: &mut Device, sequence: &Sequence) {
        let Some(log) = &mut device.log else { return };
        let done = self.counters.since(&sequence.before);
        let regs = &self.state.regs;
        let stages = Slot::ALL.into_iter().filter(|&s| bindings::is_enabled(regs, s));
        let programs = stages.map(|s| {
            let at = regs.address(CODE_ADDRESS_HIGH).wrapping_add(regs.get(SP_START_ID.at(s as u32)).into());
            format!(", {} at {at:#x}", s.stage())
        });
        log.line(format_args!(
            "draw {} of {}, instance {}: {} vertices, {} primitives, {} fragments{}",
            self.draws,
            sequence.topology.name(),
            sequence.instance,
            done.vertices,
            done.primitives,
            done.fragment_invocations,
            programs.collect::<String>()
        ));
        describe::lines(View(regs)).into_iter().for_each(|line| log.line(format_args!("  {line}")));
    }

    /// The sequence that a draw method belongs to; none: nothing is drawn.
    fn open(&mut self) -> EngineResult<Option<Sequence>> {
        if !self.in_sequence {
            return Err("a draw outside of BEGIN and END".into());
        }
        Ok(self.sequence.take())
    }

    /// VERTEX_BUFFER_COUNT: vertices FIRST.. of the arrays.
    pub(super) fn draw_arrays(&mut self, device: &mut Device, count: u32) -> EngineResult {
        let first = self.state.regs.get(VERTEX_BUFFER_FIRST);
        self.arrays(device, first, count)
    }

    /// DRAW_TFB_BYTES: as many vertices as transform feedback has written.
    pub(super) fn draw_feedback(&mut self, device: &mut Device, bytes: u32) -> EngineResult {
        let (base, stride) = (self.state.regs.get(DRAW_TFB_BASE), self.state.regs.get(DRAW_TFB_STRIDE));
        let count = bytes.saturating_sub(base).checked_div(stride).unwrap_or(0);
        self.arrays(device, 0, count)
    }

    fn arrays(&mut self, device: &mut Device, first: u32, count: u32) -> EngineResult {
        let Some(mut sequence) = self.open()? else { return Ok(()) };
        device.charge(u64::from(count) * work::VERTEX)?;
        let restart = restart_index(&self.state)
            .filter(|_| self.state.regs.get(PRIM_RESTART_WITH_DRAW_ARRAYS) & 1 != 0);
        let edge = self.state.regs.get(EDGEFLAG) & 1 != 0;
        let numbers = VertexIdMode::from_bits(self.state.regs.get(VERTEX_ID_GEN_MODE));
        let id_from = if numbers.from_first() { first } else { 0 };
        let mut done = 0;
        while done < count {
            self.make_room(device, &mut sequence)?;
            let Scratch { vertices, inputs, primitives, .. } = &mut self.scratch;
            let row = inputs.len() as u32;
            let n = (count - done).min(BATCH as u32 - row);
            vertices.clear();
            vertices.extend(
                (done..done + n)
                    .map(|i| Vertex { element: first.wrapping_add(i), id: id_from.wrapping_add(i) }),
            );
            for (row, vertex) in (row..).zip(&*vertices) {
                if restart == Some(vertex.element) {
                    sequence.assembler.restart(primitives);
                } else {
                    sequence.assembler.vertex(row, edge, primitives);
                }
            }
            self.counters.vertices += u64::from(n);
            self.fetch(device, &sequence)?;
            done += n;
        }
        self.sequence = Some(sequence);
        Ok(())
    }

    /// INDEX_BATCH_COUNT: indices FIRST.. of the buffer.
    pub(super) fn draw_indices(&mut self, device: &mut Device, count: u32) -> EngineResult {
        let first = u64::from(self.state.regs.get(INDEX_BATCH_FIRST));
        if let Some(sequence) = &mut self.sequence {
            let [_, before] = sequence.indices.unwrap_or_default();
            sequence.indices = Some([sequence.indices.map_or(first, |i| i[0]), before + u64::from(count)]);
        }
        self.indexed(device, count, |state, memory, from, out| {
            let indices = Indices::new(state, memory)?;
            out.extend((from.start..from.end).map(|i| indices.get(first + u64::from(i))));
            Ok(())
        })
    }

    /// VB_ELEMENT_U8, U16, U32: words with four, two or one index each.
    pub(super) fn draw_inline(&mut self, device: &mut Device, words: &[u32], each: u32) -> EngineResult {
        let count = words.len() as u32 * each;
        let bits = 32 / each;
        self.indexed(device, count, |_, _, from, out| {
            out.extend(
                (from.start..from.end)
                    .map(|i| words[(i / each) as usize] >> (i % each * bits) & u32::MAX >> (32 - bits)),
            );
            Ok(())
        })
    }

    /// Draws indices, which `read` appends by their numbers.
    fn indexed(
        &mut self,
        device: &mut Device,
        count: u32,
        read: impl Fn(&State, &Memory, std::ops::Range<u32>, &mut Vec<u32>) -> EngineResult,
    ) -> EngineResult {
        let Some(mut sequence) = self.open()? else { return Ok(()) };
        device.charge(u64::from(count) * work::VERTEX)?;
        let restart = restart_index(&self.state);
        let edge = self.state.regs.get(EDGEFLAG) & 1 != 0;
        let (base, id_base) = (self.state.regs.get(VB_ELEMENT_BASE), self.state.regs.get(VERTEX_ID_BASE));
        let mut indices = std::mem::take(&mut self.scratch.indices);
        let mut done = 0;
        while done < count {
            self.make_room(device, &mut sequence)?;
            let Scratch { vertices, inputs, primitives, cache, .. } = &mut self.scratch;
            let first = inputs.len() as u32;
            let n = (count - done).min(BATCH as u32 - first);
            indices.clear();
            read(&self.state, &device.memory, done..done + n, &mut indices)?;
            vertices.clear();
            for &index in &indices {
                if restart == Some(index) {
                    sequence.assembler.restart(primitives);
                    continue;
                }
                let new = first + vertices.len() as u32;
                let row = cache.row(index, new).unwrap_or_else(|| {
                    vertices
                        .push(Vertex { element: index.wrapping_add(base), id: index.wrapping_add(id_base) });
                    new
                });
                sequence.assembler.vertex(row, edge, primitives);
            }
            self.counters.vertices += u64::from(n);
            self.fetch(device, &sequence)?;
            done += n;
        }
        self.scratch.indices = indices;
        self.sequence = Some(sequence);
        Ok(())
    }

    /// Fetches the vertices that were appended.
    fn fetch(&mut self, device: &mut Device, sequence: &Sequence) -> EngineResult {
        let Scratch { vertices, inputs, .. } = &mut self.scratch;
        let State { regs, current, .. } = &self.state;
        let plan = Plan::new(regs, current, &device.memory, &sequence.slots, sequence.instance)?;
        plan.fetch(vertices, inputs);
        if device.launcher.checks_definedness() {
            for (attribute, vertex) in plan.beyond(vertices) {
                let Vertex { element, id } = vertex;
                let kernel =
                    format!("draw {}, of the vertex stage at {:#x}", self.draws, sequence.vertex.address);
                let detail =
                    format!("attribute {attribute} of vertex {id} (element {element}) lies beyond its array");
                let (kind, place) = (FaultKind::Uninitialized, Place::default());
                device
                    .launcher
                    .note(&Note { what: Fault { kind, kernel, place, detail, other: None }, times: 1 });
            }
        }
        Ok(())
    }

    /// Forgets which vertices the indices so far stand for: their arrays change.
    pub(super) fn arrays_change(&mut self) {
        self.scratch.cache.clear();
    }

    /// Shades what there is if the batch is full. Vertices that later primitives need begin the next.
    fn make_room(&mut self, device: &mut Device, sequence: &mut Sequence) -> EngineResult {
        if self.scratch.inputs.len() < BATCH {
            return Ok(());
        }
        self.shade(device, sequence)?;
        let Scratch { inputs, carried, shaded_before, primitives, cache, .. } = &mut self.scratch;
        primitives.clear();
        cache.clear();
        carried.reset(&sequence.slots);
        let mut kept: [Option<(u32, u32)>; MAX_PENDING] = [None; MAX_PENDING];
        sequence.assembler.rename(|handle| {
            let at = kept.iter().position(|k| k.is_none_or(|k| k.0 == handle)).unwrap_or(0);
            let row = kept[at].unwrap_or_else(|| {
                let row = carried.push();
                carried.copy(row as usize, inputs, handle as usize, &Defaults::zero());
                (handle, row)
            });
            kept[at] = Some(row);
            row.1
        });
        std::mem::swap(inputs, carried);
        *shaded_before = inputs.len();
        Ok(())
    }

    /// Runs the pipeline over the batch.
    fn shade(&mut self, device: &mut Device, sequence: &Sequence) -> EngineResult {
        let ThreeD { state, scratch, pipeline, counters, feedback, .. } = self;
        let Scratch { inputs, primitives, shaded_before, .. } = scratch;
        counters.primitives += primitives.len() as u64;
        if primitives.is_empty() {
            return Ok(());
        }
        if state.regs.get(RASTERIZE_ENABLE) & 1 != 0 {
            target::note_all(device, View(&state.regs));
        }
        let batch = pipeline::Batch { inputs, primitives, again: *shaded_before };
        let draw = pipeline::Draw { state, sequence, number: self.draws };
        pipeline.run(device, &draw, &batch, counters, feedback)
    }
}
