//! The inputs' and outputs' side of a warp while it runs.

use super::context::Context;
use crate::state::lanes::{LANES, LaneVec, Mask};
use nvir_base::stage::Stage;

/// What a geometry shader's lane did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Event {
    pub lane: u8,
    pub stream: u8,
    /// It emitted this vertex of [`Io::emitted_words`]; none: it ended a strip.
    pub vertex: Option<u32>,
}

/// What a warp has read and written so far.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Io {
    /// The warp's number.
    pub warp: u64,
    /// A row of each declared output, with the lanes that have written it; of a geometry shader of the vertex in the making.
    pub out: Vec<LaneVec>,
    pub written: Vec<Mask>,
    /// The words of each patch of the warp, and whether they were written.
    pub patches: Vec<(u32, bool)>,
    /// The handle of the vertex in the making, in each lane.
    pub handles: [u32; LANES],
    /// Vertices emitted.
    pub emitted: [u32; LANES],
    /// What was emitted, in order.
    pub events: Vec<Event>,
    /// The words of emitted vertices one after the other, and whether they were written.
    pub emitted_words: Vec<(u32, bool)>,
    /// Pixels that were discarded.
    pub killed: Mask,
    /// Registers of fragments at their end, and the lanes in which they have a value.
    pub results: Vec<LaneVec>,
    pub results_defined: Vec<Mask>,
    /// The middles of pixels.
    pub centres: [[f64; LANES]; 2],
    /// All quads, at least one, are of one triangle.
    pub is_alike: bool,
}

impl Io {
    pub(crate) fn new(context: &Context<'_>, warp: u64) -> Box<Io> {
        let mut io = Box::<Io>::default();
        io.begin(context, warp);
        io
    }

    /// For another warp.
    pub(crate) fn begin(&mut self, context: &Context<'_>, warp: u64) {
        self.warp = warp;
        if context.stage == Stage::Fragment {
            let registers = usize::from(context.layout.registers);
            self.results.resize(registers, LaneVec::ZERO);
            self.results.fill(LaneVec::ZERO);
            self.results_defined.resize(registers, 0);
            self.results_defined.fill(0);
            self.killed = 0;
            let quads = context.quads(warp);
            self.is_alike = quads.first().is_some_and(|q| quads.iter().all(|o| o.triangle == q.triangle));
            for (n, quad) in quads.iter().enumerate() {
                for pixel in 0..4 {
                    let [x, y] = [quad.at[0] + (pixel as u32 & 1), quad.at[1] + (pixel as u32 >> 1)];
                    self.centres[0][4 * n + pixel] = f64::from(x) + 0.5;
                    self.centres[1][4 * n + pixel] = f64::from(y) + 0.5;
                }
            }
            return;
        }
        self.out.clear();
        self.out.extend(context.outputs.addresses().map(|a| LaneVec::splat(context.state.defaults.word(a))));
        self.written.clear();
        self.written.resize(self.out.len(), 0);
        self.patches.clear();
        self.handles = [0; LANES];
        self.emitted = [0; LANES];
        self.events.clear();
        self.emitted_words.clear();
        if context.stage == Stage::TessControl {
            let words = context.patch_outputs.len();
            self.patches.resize(context.groups as usize * words, (0, false));
        }
    }

    /// Lanes discard their pixels: they go on as helpers.
    pub(crate) fn kill(&mut self, mask: Mask) {
        self.killed |= mask;
    }

    /// A lane emits the vertex in the making.
    pub(crate) fn emit(&mut self, lane: usize, stream: u8) {
        let number = self.emitted_words.len().checked_div(self.out.len()).unwrap_or(0);
        self.emitted[lane] += 1;
        for (row, written) in self.out.iter_mut().zip(&mut self.written) {
            self.emitted_words.push((row.0[lane], *written >> lane & 1 != 0));
            *written &= !(1 << lane);
        }
        self.events.push(Event { lane: lane as u8, stream, vertex: Some(number as u32) });
    }

    /// A lane ends a strip.
    pub(crate) fn cut(&mut self, lane: usize, stream: u8) {
        self.events.push(Event { lane: lane as u8, stream, vertex: None });
    }
}
