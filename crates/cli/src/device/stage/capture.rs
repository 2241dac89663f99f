//! What leaves the last stage before the rasteriser, by transform feedback.

use super::at_address;
use super::{OnDevice, failed};
use nvir::emu::stage::Attributes;
use nvir::isa::header::Header;
use nvir::stage::{ATTRIBUTE_BYTES, Semantic};
use nvir_driver::{Feedback, Slice};
use nvir_fixture::kernel::LaunchError;

/// Components of a buffer, and buffers.
const PER_BUFFER: usize = 128;
const BUFFERS: usize = 4;
/// Bytes of all records of a draw.
const MAX_BYTES: u64 = 256 << 20;

/// Which words of a vertex are captured, and how.
pub(super) struct Capture {
    words: Vec<(u32, Semantic, u32)>,
    streams: Vec<u32>,
}

/// Buffers of a draw.
pub(super) struct Records<'a> {
    capture: &'a Capture,
    pub(super) buffers: Vec<Slice>,
}

impl Capture {
    /// Of all that a program writes, for each of some streams.
    pub(super) fn new(header: &Header, streams: Vec<u32>) -> Result<Capture, LaunchError> {
        let written = (0..ATTRIBUTE_BYTES).step_by(4).filter(|&at| header.writes(at));
        let words: Vec<_> = written.filter_map(|at| at_address(at).map(|(s, c)| (at, s, c))).collect();
        let capture = Capture { words, streams };
        let needed = capture.parts() * capture.streams.len();
        if needed > BUFFERS {
            let (words, streams) = (capture.words.len(), capture.streams.len());
            return Err(LaunchError::Unseen(format!(
                "{words} words of {streams} streams: transform feedback has {BUFFERS} buffers of {PER_BUFFER} words"
            )));
        }
        Ok(capture)
    }

    fn parts(&self) -> usize {
        self.words.len().div_ceil(PER_BUFFER)
    }

    /// The buffers, those of a stream behind each other.
    pub(super) fn feedback(&self) -> Vec<Feedback> {
        let of_stream = |&stream: &u32| {
            self.words.chunks(PER_BUFFER).map(move |part| Feedback {
                stream,
                stride: 4 * part.len() as u32,
                components: part.iter().map(|&(_, s, c)| Some((s, c))).collect(),
            })
        };
        self.streams.iter().flat_map(of_stream).collect()
    }

    /// Memory for so many vertices of each stream.
    pub(super) fn records(&self, device: &mut OnDevice, vertices: u64) -> Result<Records<'_>, LaunchError> {
        let mut buffers = Vec::new();
        for feedback in self.feedback() {
            let bytes = vertices.saturating_mul(feedback.stride.into());
            if bytes > MAX_BYTES {
                return Err(LaunchError::Unseen(format!("{vertices} vertices of transform feedback")));
            }
            let buffer = device.context.get_mut().buffer(bytes.max(4)).map_err(failed)?;
            buffers.push(buffer.slice(0, bytes));
        }
        Ok(Records { capture: self, buffers })
    }
}

impl Records<'_> {
    /// Records `from` to `to` of the `n`th stream that is captured.
    pub(super) fn read(
        &self,
        device: &mut OnDevice,
        n: usize,
        from: u64,
        to: u64,
    ) -> Result<Vec<Attributes>, LaunchError> {
        let mut all = vec![Attributes::new(); (to - from) as usize];
        let parts = self.capture.parts();
        let buffers = &self.buffers[n * parts..(n + 1) * parts];
        for (buffer, words) in buffers.iter().zip(self.capture.words.chunks(PER_BUFFER)) {
            let stride = 4 * words.len() as u64;
            let part = buffer.buffer.slice(buffer.offset + from * stride, (to - from) * stride);
            let got = device.read_words(&part)?;
            for (vertex, got) in all.iter_mut().zip(got.chunks_exact(words.len())) {
                words.iter().zip(got).for_each(|(&(at, ..), &word)| vertex.put(at, Some(word)));
            }
        }
        Ok(all)
    }

    /// The same memory behind the first `vertices`.
    pub(super) fn behind(&self, vertices: u64) -> Vec<Slice> {
        let strides = self.capture.feedback();
        let rest = |(buffer, f): (&Slice, &Feedback)| {
            let skipped = vertices * u64::from(f.stride);
            buffer.buffer.slice(buffer.offset + skipped, buffer.bytes - skipped)
        };
        self.buffers.iter().zip(&strides).map(rest).collect()
    }
}
