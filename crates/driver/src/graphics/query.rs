//! Queries: what draws count.

use super::pass::Render;
use crate::commands::{Subchannel::ThreeD, halves};
use crate::context::Context;
use crate::device::{Alloc, Domain};
use crate::error::{Result, invalid};
use crate::memory::Shared;
use nvir_hw::method::query::QUERY_ADDRESS_HIGH;
use nvir_hw::word::{QueryGet, counter};
use std::sync::Arc;

/// Vertex streams, and buffers of transform feedback.
pub(super) const ALL_STREAMS: u32 = 4;

/// What is counted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Counter {
    /// Samples that passed all tests.
    Samples,
    /// Vertices that were assembled.
    Vertices,
    /// Primitives that were assembled.
    Primitives,
    /// Runs of the vertex program.
    VertexInvocations,
    /// Patches that came to the control program.
    ControlInvocations,
    /// Runs of the evaluation program.
    EvaluationInvocations,
    /// Runs of the geometry program.
    GeometryInvocations,
    /// Primitives that it made.
    GeometryPrimitives,
    /// Primitives that came to the clipper.
    ClipperIn,
    /// Primitives that were left.
    ClipperOut,
    /// Fragments for which the program ran, helper invocations not counted.
    FragmentInvocations,
    /// Primitives of a vertex stream that came out of the last stage.
    Generated(u32),
    /// Primitives of a vertex stream that transform feedback wrote.
    FeedbackWritten(u32),
}

impl Counter {
    /// How a report of it is asked for. The units are those of Mesa's `nvc0_query_hw.c`.
    fn word(self) -> QueryGet {
        let (select, unit, stream) = match self {
            Counter::Samples => (counter::SAMPLES, 15, 0),
            Counter::Vertices => (counter::VERTICES, 1, 0),
            Counter::Primitives => (counter::PRIMITIVES, 1, 0),
            Counter::VertexInvocations => (counter::VERTEX_INVOCATIONS, 2, 0),
            Counter::ControlInvocations => (counter::CONTROL_INVOCATIONS, 8, 0),
            Counter::EvaluationInvocations => (counter::EVAL_INVOCATIONS, 9, 0),
            Counter::GeometryInvocations => (counter::GEOMETRY_INVOCATIONS, 6, 0),
            Counter::GeometryPrimitives => (counter::GEOMETRY_PRIMITIVES, 6, 0),
            Counter::ClipperIn => (counter::CLIPPER_IN, 4, 0),
            Counter::ClipperOut => (counter::CLIPPER_OUT, 4, 0),
            Counter::FragmentInvocations => (counter::FRAGMENT_INVOCATIONS, 10, 0),
            Counter::Generated(stream) => (counter::GENERATED, 5, stream),
            Counter::FeedbackWritten(stream) => (counter::FEEDBACK_WRITTEN, 5, stream),
        };
        QueryGet::new().with_mode(2).with_select(select).with_unit(unit).with_stream(stream)
    }
}

/// A count between two points of the commands. Clones are the same query.
#[derive(Clone, Debug)]
pub struct Query {
    shared: Arc<Shared>,
    counter: Counter,
}

/// Where the report of the beginning lies; that of the end comes first.
const BEGIN: u64 = 16;

impl Context {
    /// A query, which counts nothing yet.
    ///
    /// # Errors
    /// No memory, a stream that does not exist, or the context is lost.
    pub fn query(&mut self, counter: Counter) -> Result<Query> {
        self.alive()?;
        if let Counter::Generated(stream) | Counter::FeedbackWritten(stream) = counter
            && stream >= ALL_STREAMS
        {
            return invalid(format!("stream {stream}: index out of range (0 to {})", ALL_STREAMS - 1));
        }
        let shared = self.alloc(Alloc::linear(2 * BEGIN, Domain::Host))?;
        Ok(Query { shared, counter })
    }

    /// What was counted between begin and end. Waits for it.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn count(&mut self, query: &Query) -> Result<u64> {
        self.finish()?;
        let mut reports = [0; 2 * BEGIN as usize];
        self.device.read(&query.shared.memory, 0, &mut reports)?;
        let at = |n: usize| u64::from_le_bytes(std::array::from_fn(|i| reports[n + i]));
        // Samples have 32 bits, behind a sequence number.
        Ok(match query.counter {
            Counter::Samples => ((at(0) >> 32) as u32).wrapping_sub((at(16) >> 32) as u32).into(),
            _ => at(0).wrapping_sub(at(16)),
        })
    }
}

impl Render<'_> {
    /// Counts what is drawn from here on.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn begin(&mut self, query: &Query) -> Result<()> {
        self.report(query, BEGIN)
    }

    /// Ends counting.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn end(&mut self, query: &Query) -> Result<()> {
        self.report(query, 0)
    }

    fn report(&mut self, query: &Query, offset: u64) -> Result<()> {
        self.context.alive()?;
        self.context.using(&query.shared);
        let [high, low] = halves(query.shared.memory.address + offset);
        let words = [high, low, 0, query.counter.word().into()];
        self.context.commands.methods(ThreeD, QUERY_ADDRESS_HIGH, &words);
        self.context.queued()
    }
}
