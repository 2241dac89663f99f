//! Transform feedback: primitives of the last vertex stage go to buffers.
//!
//! Primitives come as the assembler turned them, before clipping. One is written to all buffers of its stream or to none.

/// The most components that a buffer's layout has.
pub(crate) const MAX_COMPONENTS: usize = 128;

/// A component that is left out: the word in the buffer stays as it is.
const SKIP: u8 = 0xff;

/// What goes into a buffer for each vertex.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Layout {
    /// The stream whose vertices are written: 0 to 3.
    pub stream: usize,
    /// Bytes from vertex to vertex.
    pub stride: u32,
    /// Attribute addresses divided by 4, or 0xff: as many as `count`.
    pub components: [u8; MAX_COMPONENTS],
    pub count: usize,
}

/// A buffer that is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Buffer {
    pub layout: Layout,
    /// Bytes.
    pub size: u32,
    /// Where the next vertex goes: what query 1a reports.
    pub offset: u32,
}

/// Streams, and buffers.
pub(crate) const STREAMS: usize = 4;

/// The state of transform feedback between enabling and disabling.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Feedback {
    pub buffers: [Option<Buffer>; STREAMS],
    /// Primitives written, by stream.
    pub written: [u64; STREAMS],
    /// Primitives that would have been written if there had been room.
    pub wanted: [u64; STREAMS],
    /// Words of a vertex.
    scratch: Vec<u32>,
}

impl Feedback {
    /// Sets where the next vertex of a buffer goes.
    pub(super) fn seek(&mut self, buffer: usize, offset: u32) {
        const EMPTY: Layout = Layout { stream: 0, stride: 0, components: [SKIP; MAX_COMPONENTS], count: 0 };
        let there = self.buffers[buffer].unwrap_or(Buffer { layout: EMPTY, size: 0, offset });
        self.buffers[buffer] = Some(Buffer { offset, ..there });
    }

    /// Writes a primitive of a stream. `word` gives the word of a vertex at an attribute address divided by 4; `store`
    /// takes a buffer's number, a byte offset in it and words, all inside the buffer's size.
    pub(super) fn primitive<V>(
        &mut self,
        stream: usize,
        vertices: &[V],
        word: impl Fn(&V, u8) -> u32,
        mut store: impl FnMut(usize, u32, &[u32]),
    ) {
        let Feedback { buffers, written, wanted, scratch } = self;
        let mut all_fit = true;
        let mut any = false;
        for b in buffers.iter().flatten().filter(|b| b.layout.stream == stream) {
            any = true;
            let bytes = vertices.len() as u64 * u64::from(b.layout.stride);
            all_fit &= u64::from(b.offset) + bytes <= b.size.into();
        }
        if !any || stream >= STREAMS {
            return;
        }
        wanted[stream] += 1;
        if !all_fit {
            return;
        }
        written[stream] += 1;
        for (number, buffer) in buffers.iter_mut().enumerate() {
            let Some(b) = buffer.as_mut().filter(|b| b.layout.stream == stream) else { continue };
            for vertex in vertices {
                b.vertex(|slot| word(vertex, slot), scratch, |offset, words| store(number, offset, words));
                // The primitive fits, so this does not overflow.
                b.offset += b.layout.stride;
            }
        }
    }
}

impl Buffer {
    /// Stores a vertex: runs of components with nothing left out between them.
    fn vertex(&self, word: impl Fn(u8) -> u32, scratch: &mut Vec<u32>, mut store: impl FnMut(u32, &[u32])) {
        let components = &self.layout.components[..self.layout.count.min(MAX_COMPONENTS)];
        let mut offset = u64::from(self.offset);
        for run in components.chunk_by(|a, b| (*a == SKIP) == (*b == SKIP)) {
            let end = offset + run.len() as u64 * 4;
            // Components beyond the stride may also lie beyond the buffer.
            if run[0] != SKIP && end <= self.size.into() {
                scratch.clear();
                scratch.extend(run.iter().map(|&slot| word(slot)));
                store(offset as u32, scratch);
            }
            offset = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::assemble::{Adjacent, Assembler, Primitives, Provoking, Topology};
    use super::*;

    fn buffer(stream: usize, stride: u32, slots: &[u8], size: u32) -> Option<Buffer> {
        let mut components = [SKIP; MAX_COMPONENTS];
        components[..slots.len()].copy_from_slice(slots);
        Some(Buffer { layout: Layout { stream, stride, components, count: slots.len() }, size, offset: 0 })
    }

    /// Writes primitives whose vertices are numbers: slot s of vertex v is 100 v + s.
    fn run(f: &mut Feedback, stream: usize, primitives: &[&[u32]]) -> [Vec<u32>; STREAMS] {
        let mut memory = [(); STREAMS].map(|()| vec![!0; 64]);
        for p in primitives {
            f.primitive(
                stream,
                p,
                |v, slot| v * 100 + u32::from(slot),
                |b, offset, words| {
                    memory[b][offset as usize / 4..][..words.len()].copy_from_slice(words);
                },
            );
        }
        memory
    }

    #[test]
    fn a_primitive_that_fits_into_one_buffer_only_is_not_written() {
        let mut f = Feedback {
            buffers: [buffer(0, 4, &[28], 64), buffer(0, 8, &[29], 31), None, None],
            ..Feedback::default()
        };
        let memory = run(&mut f, 0, &[&[1, 2], &[3, 4], &[5]]);
        assert_eq!((f.wanted[0], f.written[0]), (3, 2));
        assert_eq!(memory[0][..4], [128, 228, 528, !0]);
        assert_eq!(memory[1][..6], [129, !0, 229, !0, 529, !0]);
        assert_eq!(f.buffers.map(|b| b.map(|b| b.offset)), [Some(12), Some(24), None, None]);
        let memory = run(&mut f, 1, &[&[1]]);
        assert_eq!((f.wanted, f.written, &memory[0][..1]), ([3, 0, 0, 0], [2, 0, 0, 0], &[!0][..]));
    }

    #[test]
    fn components_are_left_out_and_streams_have_buffers_of_their_own() {
        let buffers = [buffer(0, 20, &[28, SKIP, 30, 31], 20), None, buffer(2, 4, &[5], 8), None];
        let mut f = Feedback { buffers, ..Feedback::default() };
        let memory = run(&mut f, 0, &[&[1], &[2]]);
        assert_eq!(memory[0][..6], [128, !0, 130, 131, !0, !0]);
        let memory = run(&mut f, 2, &[&[1], &[2], &[3]]);
        assert_eq!(memory[2][..3], [105, 205, !0]);
        assert_eq!((f.wanted, f.written), ([2, 0, 3, 0], [1, 0, 2, 0]));
        // More components than the stride holds never leave the buffer.
        let mut f =
            Feedback { buffers: [buffer(0, 4, &[1, 2, 3], 8), None, None, None], ..Feedback::default() };
        assert_eq!(run(&mut f, 0, &[&[1], &[2]])[0][..3], [!0, !0, !0]);
    }

    #[test]
    fn a_strip_is_written_as_triangles_that_face_alike() {
        let mut primitives = Primitives::default();
        let mut a = Assembler::new(Topology::TriangleStrip, Provoking::First, Adjacent::Drop, 3);
        (0..5).for_each(|v| a.vertex(v, true, &mut primitives));
        a.end(&mut primitives);
        let mut f = Feedback { buffers: [buffer(0, 4, &[0], 36), None, None, None], ..Feedback::default() };
        let pieces: Vec<&[u32]> = (0..primitives.len()).map(|n| primitives.get(n)).collect();
        let memory = run(&mut f, 0, &pieces);
        assert_eq!(memory[0][..10], [0, 100, 200, 100, 300, 200, 200, 300, 400, !0]);
    }
}
