//! What draws count, and the reports of it.

use super::feedback::{Feedback, STREAMS};
use nvir_hw::word::{QueryGet, counter};

/// What is counted over a channel's life.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Counters {
    /// Vertices and primitives of the assembly.
    pub vertices: u64,
    pub primitives: u64,
    /// Runs of programs; of control programs, patches.
    pub vertex_invocations: u64,
    pub control_invocations: u64,
    pub eval_invocations: u64,
    pub geometry_invocations: u64,
    pub fragment_invocations: u64,
    /// Primitives that geometry programs made.
    pub geometry_primitives: u64,
    /// Primitives that came to the clipper, and those that were left.
    pub clipper_in: u64,
    pub clipper_out: u64,
    /// Samples that passed all tests, while they are counted.
    pub samples: u64,
    /// Primitives behind the last stage, by stream.
    pub generated: [u64; STREAMS],
    /// Instructions of threads, by stage.
    pub instructions: [u64; 5],
}

impl Counters {
    /// What of a draw people see: what was counted since then.
    pub(super) fn since(&self, before: &Counters) -> Counters {
        Counters {
            vertices: self.vertices - before.vertices,
            primitives: self.primitives - before.primitives,
            fragment_invocations: self.fragment_invocations - before.fragment_invocations,
            instructions: std::array::from_fn(|n| self.instructions[n] - before.instructions[n]),
            ..*self
        }
    }

    /// What a report says.
    pub(super) fn report(&self, get: QueryGet, feedback: &Feedback) -> u64 {
        let stream = get.stream() as usize % STREAMS;
        let lost = |n: usize| feedback.wanted[n] - feedback.written[n];
        match get.select() {
            counter::VERTICES => self.vertices,
            counter::SAMPLES => self.samples,
            counter::PRIMITIVES => self.primitives,
            counter::VERTEX_INVOCATIONS => self.vertex_invocations,
            counter::FEEDBACK_LOST => lost(stream),
            counter::GEOMETRY_INVOCATIONS => self.geometry_invocations,
            counter::GEOMETRY_PRIMITIVES => self.geometry_primitives,
            counter::FEEDBACK_WRITTEN => feedback.written[stream],
            counter::FEEDBACK_WANTED => feedback.wanted[stream],
            counter::CLIPPER_IN => self.clipper_in,
            counter::CLIPPER_OUT => self.clipper_out,
            counter::GENERATED => self.generated[stream],
            counter::FRAGMENT_INVOCATIONS => self.fragment_invocations,
            counter::FEEDBACK_BYTES => feedback.buffers[stream].map_or(0, |b| b.offset.into()),
            counter::CONTROL_INVOCATIONS => self.control_invocations,
            counter::EVAL_INVOCATIONS => self.eval_invocations,
            counter::ALL_FEEDBACK_LOST => (0..STREAMS).map(lost).sum(),
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_of_their_counter_and_stream() {
        let counters = Counters { samples: 5, generated: [1, 2, 3, 4], ..Counters::default() };
        let mut feedback = Feedback::default();
        (feedback.wanted, feedback.written) = ([7, 6, 0, 0], [4, 6, 0, 0]);
        let report = |word| counters.report(QueryGet::from_bits(word), &feedback);
        assert_eq!([0x0100_f002, 0x0900_5042, 0x0580_5002, 0x0680_5022].map(report), [5, 3, 4, 6]);
        assert_eq!([0x0300_5002, 0x0f00_5002, 0x0d00_5002, 0x0000_f002].map(report), [3, 3, 0, 0]);
    }
}
