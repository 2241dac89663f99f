//! What the threads of a batch leave behind.

use super::attributes::AttributeBuffer;
use super::layout::{Layout, NONE};
use crate::run::block::Block;
use crate::stage::context::Context;
use crate::stage::io::{Event, Io};
use crate::state::lanes::{LANES, LaneVec, Mask};
use nvir_base::stage::Stage;
use nvir_isa::header::Topology;

/// What a launch left: the part that its stage has. It is cleared at the begin of a launch and keeps its memory, so one is enough
/// for any number of launches, of one program or of many.
#[derive(Default)]
pub struct Results {
    /// Vertex, tessellation evaluation: a row of each vertex or point. Tessellation control: those of patch n are from row n times
    /// the header's threads on.
    pub vertices: AttributeBuffer,
    /// Tessellation control: a row of each patch.
    pub patches: AttributeBuffer,
    /// Geometry: what came out on each stream, over primitives, within one over invocations.
    pub streams: [Stream; 4],
    /// Fragment.
    pub fragments: FragmentResults,
    /// The warp that runs, to be used again.
    pub(crate) block: Option<Box<Block>>,
    /// Of further threads.
    pub(crate) parts: Vec<Results>,
}

/// What came out of a stream.
#[derive(Clone, Default, Debug)]
pub struct Stream {
    /// The vertices.
    pub vertices: AttributeBuffer,
    /// For each strip the number of the first vertex behind it; none where points are emitted.
    pub strips: Vec<u32>,
}

/// Results of fragments, by quad: the values of its four pixels lie side by side.
#[derive(Clone, PartialEq, Debug)]
pub struct FragmentResults {
    layout: Layout,
    quads: usize,
    /// For each warp the result registers, with the lanes that have a value.
    rows: Vec<LaneVec>,
    defined: Vec<Mask>,
    /// By warp: the pixels that had an effect at the start, and those that were discarded.
    live: Vec<Mask>,
    killed: Vec<Mask>,
}

impl Default for FragmentResults {
    fn default() -> FragmentResults {
        FragmentResults {
            layout: Layout::EMPTY,
            quads: 0,
            rows: Vec::new(),
            defined: Vec::new(),
            live: Vec::new(),
            killed: Vec::new(),
        }
    }
}

/// Quads of a warp.
const QUADS: usize = LANES / 4;

/// The four bits of a quad.
fn of_quad(masks: &[Mask], quad: usize) -> u8 {
    (masks[quad / QUADS] >> (4 * (quad % QUADS)) & 15) as u8
}

impl FragmentResults {
    fn reset(&mut self, layout: Layout) {
        (self.layout, self.quads) = (layout, 0);
        self.rows.clear();
        self.defined.clear();
        self.live.clear();
        self.killed.clear();
    }

    /// Quads of the launch.
    pub fn quads(&self) -> usize {
        self.quads
    }

    fn index(&self, warp: usize, register: u8) -> Option<usize> {
        (register != NONE).then(|| warp * usize::from(self.layout.registers) + usize::from(register))
    }

    fn pixels(&self, quad: usize, register: u8) -> Option<&[u32; 4]> {
        let row = &self.rows[self.index(quad / QUADS, register)?].0;
        row[4 * (quad % QUADS)..].first_chunk()
    }

    /// A component of a colour target; none if the header does not declare it.
    pub fn color(&self, quad: usize, target: usize, component: usize) -> Option<&[u32; 4]> {
        self.pixels(quad, self.layout.colors[target][component])
    }

    /// The same of quads `8 * warp` to `8 * warp + 7`.
    pub fn color_row(&self, warp: usize, target: usize, component: usize) -> Option<&[u32; LANES]> {
        Some(&self.rows[self.index(warp, self.layout.colors[target][component])?].0)
    }

    /// The depth, if the program gives one.
    pub fn depth(&self, quad: usize) -> Option<&[u32; 4]> {
        self.pixels(quad, self.layout.depth)
    }

    /// The sample mask, if the program gives one.
    pub fn sample_mask(&self, quad: usize) -> Option<&[u32; 4]> {
        self.pixels(quad, self.layout.mask)
    }

    /// The pixels that had an effect at the start and were not discarded, a bit each.
    pub fn live(&self, quad: usize) -> u8 {
        of_quad(&self.live, quad) & !of_quad(&self.killed, quad)
    }

    /// The pixels that had an effect at the start and were discarded, a bit each.
    pub fn killed(&self, quad: usize) -> u8 {
        of_quad(&self.live, quad) & of_quad(&self.killed, quad)
    }

    /// The pixels for which a colour has a value, with initcheck; without it those that have come to the program's end.
    pub fn defined(&self, quad: usize, target: usize, component: usize) -> u8 {
        self.defined_in(quad, self.layout.colors[target][component])
    }

    /// As [`FragmentResults::defined`], of the depth.
    pub fn depth_defined(&self, quad: usize) -> u8 {
        self.defined_in(quad, self.layout.depth)
    }

    /// As [`FragmentResults::defined`], of the sample mask.
    pub fn sample_mask_defined(&self, quad: usize) -> u8 {
        self.defined_in(quad, self.layout.mask)
    }

    fn defined_in(&self, quad: usize, register: u8) -> u8 {
        self.index(quad / QUADS, register)
            .map_or(0, |at| (self.defined[at] >> (4 * (quad % QUADS)) & 15) as u8)
    }

    fn append(&mut self, other: &FragmentResults) {
        self.quads += other.quads;
        self.rows.extend_from_slice(&other.rows);
        self.defined.extend_from_slice(&other.defined);
        self.live.extend_from_slice(&other.live);
        self.killed.extend_from_slice(&other.killed);
    }
}

impl Results {
    /// Nothing.
    pub fn new() -> Results {
        Results::default()
    }

    /// Forgets what was left, for another launch.
    pub(crate) fn begin(&mut self, context: &Context<'_>) {
        self.vertices.reset(context.outputs);
        self.patches.reset(context.patch_outputs);
        for stream in &mut self.streams {
            stream.vertices.reset(context.outputs);
            stream.strips.clear();
        }
        self.fragments.reset(context.layout);
    }

    /// Takes over what a warp wrote. Warps come in order.
    pub(crate) fn take(&mut self, context: &Context<'_>, io: &mut Io) {
        let count = context.live(io.warp).count_ones() as usize;
        match context.stage {
            Stage::Vertex | Stage::TessEval => self.vertices.push_group(&io.out, &io.written, count),
            Stage::TessControl => {
                for l in 0..count {
                    self.vertices.push_with(|s| (io.out[s].0[l], io.written[s] >> l & 1 != 0));
                }
                let words = self.patches.slots().len();
                for patch in 0..count / context.group as usize {
                    self.patches.push_with(|s| io.patches[patch * words + s]);
                }
            }
            Stage::Geometry => self.take_emitted(context, io),
            Stage::Fragment => {
                let f = &mut self.fragments;
                f.quads += count / 4;
                f.rows.extend_from_slice(&io.results);
                f.defined.extend_from_slice(&io.results_defined);
                f.live.push(context.live(io.warp) & !context.helpers(io.warp));
                f.killed.push(io.killed);
            }
            Stage::Compute => {}
        }
    }

    /// The same of a warp of fragments whose threads have so many registers, which they left as they were at the start.
    pub(crate) fn take_ended(&mut self, context: &Context<'_>, warp: u64, gprs: u32) {
        let (f, live) = (&mut self.fragments, context.live(warp));
        f.quads += live.count_ones() as usize / 4;
        let registers = usize::from(f.layout.registers);
        f.rows.resize(f.rows.len() + registers, LaneVec::ZERO);
        f.defined.extend((0..registers).map(|r| if r < gprs.max(1) as usize { live } else { 0 }));
        f.live.push(live & !context.helpers(warp));
        f.killed.push(0);
    }

    fn take_emitted(&mut self, context: &Context<'_>, io: &mut Io) {
        let strips = context.header.topology != Some(Topology::Points);
        let words = context.outputs.len();
        io.events.sort_by_key(|e| e.lane);
        for events in io.events.chunk_by(|a, b| a.lane == b.lane) {
            // Whether a strip has vertices that no cut follows; one that has none is no strip.
            let mut open = [false; 4];
            for &Event { stream, vertex, .. } in events {
                let (open, to) = (&mut open[stream as usize & 3], &mut self.streams[stream as usize & 3]);
                if let Some(n) = vertex {
                    to.vertices.push_with(|s| io.emitted_words[n as usize * words + s]);
                } else if strips && *open {
                    to.strips.push(to.vertices.len() as u32);
                }
                *open = vertex.is_some();
            }
            for (to, _) in self.streams.iter_mut().zip(open).filter(|(_, open)| strips && *open) {
                to.strips.push(to.vertices.len() as u32);
            }
        }
    }

    /// Adds what the warps behind wrote.
    pub(crate) fn append(&mut self, other: &Results) {
        self.vertices.append(&other.vertices);
        self.patches.append(&other.patches);
        for (to, from) in self.streams.iter_mut().zip(&other.streams) {
            let before = to.vertices.len() as u32;
            to.vertices.append(&from.vertices);
            to.strips.extend(from.strips.iter().map(|end| end + before));
        }
        self.fragments.append(&other.fragments);
    }
}
