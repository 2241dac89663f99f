//! What the threads of a stage leave behind.

use super::{Context, Work};
use crate::fault::FaultKind;
use crate::lanes::{LANES, Mask, Row, lanes};
use crate::trap::Trap;
use crate::warp::Warp;
use nvir_base::Chip;
use nvir_base::stage::Stage;
use nvir_isa::header::Topology;

use super::attributes::Attributes;

/// What a launch wrote, by thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Output {
    /// Vertex and tessellation evaluation: the outputs of each vertex or point.
    Vertices(Vec<Attributes>),
    /// Tessellation control: a patch each.
    Patches(Vec<PatchOutput>),
    /// Geometry: what came out on each stream, over primitives, within one over invocations.
    Streams([Vec<Emitted>; 4]),
    /// Fragment: the pixels of each quad.
    Fragments(Vec<[Fragment; 4]>),
}

/// What the threads of a patch wrote.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PatchOutput {
    /// The output vertices.
    pub vertices: Vec<Attributes>,
    /// The attributes of the patch.
    pub patch: Attributes,
}

/// What comes out of a stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Emitted {
    /// A vertex.
    Vertex(Attributes),
    /// A strip ends.
    Cut,
}

/// What a pixel's thread left. Values that nothing has written are absent where `initcheck` is on, else anything.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Fragment {
    /// Some sample of it is covered.
    pub covered: bool,
    /// It was discarded.
    pub killed: bool,
    /// Components of the colour targets that the header declares.
    pub colors: [[Option<u32>; 4]; 8],
    /// Depth, if the header declares it.
    pub depth: Option<u32>,
    /// Sample mask, if the header declares it.
    pub sample_mask: Option<u32>,
}

/// Where a fragment shader's results are: the first registers hold the components of the colour targets that the header
/// declares, in their order; then comes the sample mask, then the depth, before which Kepler always leaves room for the mask.
struct Layout {
    /// Target and component of the first registers.
    colors: Vec<(usize, usize)>,
    mask: Option<usize>,
    depth: Option<usize>,
}

impl Layout {
    fn of(context: &Context<'_>, chip: Chip) -> Layout {
        let header = context.header;
        let all = (0..8usize).flat_map(|t| (0..4usize).map(move |c| (t, c)));
        let colors: Vec<_> = all.filter(|&(t, c)| header.color_mask(t as u32) >> c & 1 != 0).collect();
        let (n, mask) = (colors.len(), header.writes_sample_mask());
        let room = usize::from(mask || chip != Chip::Gf100);
        Layout { colors, mask: mask.then_some(n), depth: header.writes_depth().then_some(n + room) }
    }

    fn registers(&self) -> usize {
        let after = |r: Option<usize>| r.map_or(0, |r| r + 1);
        self.colors.len().max(after(self.mask)).max(after(self.depth))
    }
}

/// The inputs' and outputs' side of a warp while it runs.
pub(crate) struct Io {
    /// The warp's number.
    pub(super) warp: u64,
    /// Outputs of each lane; of a geometry shader those of the vertex in the making.
    pub(super) out: Vec<Attributes>,
    /// Outputs of each patch of the warp.
    pub(super) patches: Vec<Attributes>,
    /// The handle of the vertex in the making, in each lane.
    pub(super) handles: [u32; LANES],
    /// Vertices emitted.
    pub(super) emitted: [u32; LANES],
    /// What was emitted: stream and what.
    pub(super) events: Vec<Vec<(u32, Emitted)>>,
    /// Pixels that were discarded.
    pub(super) killed: Mask,
    /// Registers of fragments at their end, and the lanes in which they have a value.
    results: Vec<(Row, Mask)>,
    layout: Option<Layout>,
}

impl Io {
    pub(crate) fn new(context: &Context<'_>, chip: Chip, warp: u64) -> Io {
        let fragment = context.stage == Stage::Fragment;
        let lanes = if fragment { 0 } else { LANES };
        let layout = fragment.then(|| Layout::of(context, chip));
        let patches = if context.stage == Stage::TessControl { context.groups as usize } else { 0 };
        Io {
            warp,
            out: vec![Attributes::new(); lanes],
            patches: vec![Attributes::new(); patches],
            handles: [0; LANES],
            emitted: [0; LANES],
            events: vec![Vec::new(); if context.stage == Stage::Geometry { LANES } else { 0 }],
            killed: 0,
            results: vec![(Row::ZERO, 0); layout.as_ref().map_or(0, Layout::registers)],
            layout,
        }
    }

    /// Lanes discard their pixels: they go on as helpers.
    pub(crate) fn kill(&mut self, mask: Mask) {
        self.killed |= mask;
    }

    /// Threads end.
    pub(crate) fn exit(&mut self, context: &Context<'_>, w: &Warp, mask: Mask) -> Result<(), Trap> {
        match context.stage {
            Stage::Geometry => {
                let r0 = w.regs.first().copied().unwrap_or(Row::ZERO);
                match lanes(mask).find(|&l| r0.0[l] != self.handles[l]) {
                    None => Ok(()),
                    Some(l) => {
                        let detail = format!(
                            "R0 is {:#x} at the end, but the last handle of the emitted vertices is {:#x}",
                            r0.0[l], self.handles[l]
                        );
                        Err(Trap::new(FaultKind::IllegalInstruction, l, detail))
                    }
                }
            }
            Stage::Fragment => {
                for (r, (row, defined)) in self.results.iter_mut().enumerate() {
                    let Some(value) = w.regs.get(r) else {
                        let detail = format!(
                            "a result is expected in R{r}, and a thread has {} registers",
                            w.regs.len()
                        );
                        return Err(Trap::new(
                            FaultKind::OutOfBounds,
                            lanes(mask).next().unwrap_or(0),
                            detail,
                        ));
                    };
                    row.blend(mask, value);
                    let undefined = |l: usize| w.undef.as_ref().is_some_and(|u| u.word(r as u8, 0, l) != 0);
                    *defined =
                        lanes(mask).fold(*defined, |d, l| d & !(1 << l) | u32::from(!undefined(l)) << l);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn fragment(&self, covered: bool, lane: usize) -> Fragment {
        let mut out =
            Fragment { covered, killed: covered && self.killed >> lane & 1 != 0, ..Fragment::default() };
        let Some(layout) = &self.layout else { return out };
        let value = |r: usize| {
            let (row, defined) = self.results.get(r)?;
            (defined >> lane & 1 != 0).then_some(row.0[lane])
        };
        for (r, &(target, component)) in layout.colors.iter().enumerate() {
            out.colors[target][component] = value(r);
        }
        out.depth = layout.depth.and_then(value);
        out.sample_mask = layout.mask.and_then(value);
        out
    }
}

/// What all warps wrote, in the order of their threads.
pub(super) fn collect(context: &Context<'_>, mut warps: Vec<Io>) -> Output {
    warps.sort_unstable_by_key(|io| io.warp);
    match context.work {
        Work::Vertices(_) | Work::Points { .. } => {
            let mut all = Vec::with_capacity(context.items as usize);
            for io in warps {
                let live = context.live(io.warp);
                all.extend(
                    io.out.into_iter().enumerate().filter(|(l, _)| live >> l & 1 != 0).map(|(_, out)| out),
                );
            }
            Output::Vertices(all)
        }
        Work::Patches(_) => {
            let mut all: Vec<PatchOutput> = Vec::with_capacity(context.items as usize);
            for io in warps {
                let mut patches = io.patches.into_iter();
                for (l, out) in io.out.into_iter().enumerate() {
                    let Some(thread) = context.thread(io.warp, l) else { continue };
                    if thread.invocation == 0 {
                        all.push(PatchOutput {
                            vertices: Vec::new(),
                            patch: patches.next().unwrap_or_default(),
                        });
                    }
                    if let Some(patch) = all.last_mut() {
                        patch.vertices.push(out);
                    }
                }
            }
            Output::Patches(all)
        }
        Work::Primitives(_) => {
            let strips = context.header.topology != Some(Topology::Points);
            let mut streams: [Vec<Emitted>; 4] = Default::default();
            for events in warps.into_iter().flat_map(|io| io.events) {
                let mut open = [false; 4];
                for (stream, event) in events {
                    let vertex = matches!(event, Emitted::Vertex(_));
                    let stream = stream as usize & 3;
                    // A strip that has no vertices is none.
                    if vertex || strips && open[stream] {
                        streams[stream].push(event);
                    }
                    open[stream] = vertex;
                }
                for (stream, _) in open.iter().enumerate().filter(|(_, open)| strips && **open) {
                    streams[stream].push(Emitted::Cut);
                }
            }
            Output::Streams(streams)
        }
        Work::Quads { quads, .. } => {
            let mut all: Vec<[Fragment; 4]> = Vec::with_capacity(quads.len());
            for io in warps {
                for first in (0..LANES).step_by(4) {
                    let Some(thread) = context.thread(io.warp, first) else { continue };
                    let cover = quads[thread.item as usize].cover;
                    all.push(std::array::from_fn(|i| io.fragment(cover[i] != 0, first + i)));
                }
            }
            Output::Fragments(all)
        }
    }
}
