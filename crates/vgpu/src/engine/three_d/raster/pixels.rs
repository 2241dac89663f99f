//! Pixels in any order, put together to quads.

use super::coverage::Sink;

/// Pixels of one shape, each at most once. The memory is kept from shape to shape.
#[derive(Clone, Debug, Default)]
pub(super) struct Pixels {
    /// Row and column of the quad, number in the quad, samples: in the order in which they are to come out.
    keys: Vec<u64>,
}

impl Pixels {
    /// Adds the samples of a pixel.
    pub(super) fn add(&mut self, x: u32, y: u32, cover: u8) {
        let number = u64::from(y & 1) << 1 | u64::from(x & 1);
        self.keys.push(u64::from(y >> 1) << 32 | u64::from(x >> 1) << 12 | number << 8 | u64::from(cover));
    }

    /// Gives all quads to a sink, by rows and from left to right.
    pub(super) fn flush(&mut self, sink: &mut impl Sink) {
        self.keys.sort_unstable();
        for quad in self.keys.chunk_by(|a, b| a >> 12 == b >> 12) {
            let mut cover = [0; 4];
            for key in quad {
                cover[(key >> 8 & 3) as usize] |= *key as u8;
            }
            let (x, y) = ((quad[0] >> 12 & 0xf_ffff) << 1, (quad[0] >> 32) << 1);
            sink.quad(x as i64, y as i64, cover);
        }
        self.keys.clear();
    }
}
