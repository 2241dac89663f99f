//! Where the texels of a colour or depth target lie, for quads of pixels.
//!
//! The address of a quad is computed once: its texels lie at fixed distances from the first one. In a block-linear surface that is
//! because a quad, which begins at even pixels, never reaches into another block, and bits of column and row are bits of the
//! address ([`nvir_base::tiling`]).

use crate::image::surface_format::Raw;
use nvir_base::tiling::{Level, Order, Slice};
use nvir_hw::samples::SAMPLE_POSITIONS;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

/// One layer or slice of a target. Accesses outside of its memory read zeros and write nothing; [`Surface::fits`] tells
/// before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Surface<'a> {
    /// From the first byte of the layer on.
    words: &'a [AtomicU32],
    slice: Slice,
    /// Bytes up to the slice's end.
    end: u64,
    /// Of a texel: 1, 2, 4, 8 or 16.
    bytes: usize,
    /// Log2 of the texels of a pixel in x and y.
    grid: (u32, u32),
    /// Bytes from the first texel of a quad to the samples of its pixels.
    deltas: [[u32; 8]; 4],
}

impl<'a> Surface<'a> {
    /// A layer whose memory begins with `words`.
    pub(crate) fn new(
        words: &'a [AtomicU32],
        level: Level,
        z: u32,
        bytes: usize,
        grid: (u32, u32),
    ) -> Surface<'a> {
        let (pitch, rows, z) = (u64::from(level.pitch), u64::from(level.rows), u64::from(z));
        let end = match level.order {
            Order::Pitch => (z + 1) * pitch * rows,
            Order::Blocks(tile) => {
                let layer = (pitch * rows.next_multiple_of(1 << tile.shift_y())) << tile.shift_z();
                ((z >> tile.shift_z()) + 1) * layer
            }
        };
        let surface = Surface { words, slice: level.slice(z), end, bytes, grid, deltas: [[0; 8]; 4] };
        let samples = 1 << (grid.0 + grid.1).min(3);
        let first = surface.texel(0, 0);
        let delta = |pixel: u32, sample: u32| match sample < samples {
            true => (surface.sample(pixel & 1, pixel >> 1, sample) - first) as u32,
            false => 0,
        };
        let deltas = [0, 1, 2, 3].map(|pixel| std::array::from_fn(|s| delta(pixel, s as u32)));
        Surface { deltas, ..surface }
    }

    /// Whether all of its texels lie in the memory.
    pub(crate) fn fits(&self) -> bool {
        self.end <= self.words.len() as u64 * 4
    }

    /// Words from one on, as far as there are some.
    pub(crate) fn words(&self, first: usize, count: usize) -> &'a [AtomicU32] {
        let rest = self.words.get(first..).unwrap_or_default();
        &rest[..count.min(rest.len())]
    }

    /// Whether a pixel is one texel.
    #[inline]
    pub(crate) fn has_one_sample(&self) -> bool {
        self.grid == (0, 0)
    }

    /// Where the byte of a row lies.
    #[inline]
    pub(crate) fn byte(&self, x: u32, y: u32) -> usize {
        self.slice.byte(x.into(), y.into()) as usize
    }

    #[inline]
    fn texel(&self, x: u32, y: u32) -> usize {
        self.slice.byte(u64::from(x) * self.bytes as u64, y.into()) as usize
    }

    /// Where the four pixels of a quad lie, if they are one texel each.
    #[inline]
    pub(crate) fn quad(&self, x: u32, y: u32) -> [usize; 4] {
        let first = self.texel(x, y);
        self.deltas.map(|deltas| first + deltas[0] as usize)
    }

    /// Where a sample of a pixel lies.
    #[inline]
    pub(crate) fn sample(&self, x: u32, y: u32, sample: u32) -> usize {
        let (column, row) = SAMPLE_POSITIONS[sample as usize & 7];
        self.texel((x << self.grid.0) + column, (y << self.grid.1) + row)
    }

    /// Calls a function with pixel, sample and place of each covered sample.
    #[inline]
    pub(crate) fn covered(&self, x: u32, y: u32, cover: [u8; 4], mut each: impl FnMut(usize, u32, usize)) {
        if self.has_one_sample() {
            for (pixel, (at, cover)) in self.quad(x, y).into_iter().zip(cover).enumerate() {
                if cover & 1 != 0 {
                    each(pixel, 0, at);
                }
            }
            return;
        }
        let first = self.texel(x << self.grid.0, y << self.grid.1);
        for (pixel, mut cover) in cover.into_iter().enumerate() {
            while cover != 0 {
                let sample = cover.trailing_zeros();
                cover &= cover - 1;
                each(pixel, sample, first + self.deltas[pixel][sample as usize & 7] as usize);
            }
        }
    }

    /// Writes the covered samples of a quad, whose texels are words: one for each pixel.
    #[inline]
    pub(crate) fn store_words(&self, [x, y]: [u32; 2], cover: [u8; 4], texels: &[u32]) {
        self.covered(x, y, cover, |pixel, _, at| self.set_word(at, texels[pixel]));
    }

    /// The word at a place.
    #[inline]
    pub(crate) fn word(&self, at: usize) -> u32 {
        self.words.get(at / 4).map_or(0, |w| w.load(Relaxed))
    }

    /// Writes it.
    #[inline]
    pub(crate) fn set_word(&self, at: usize, value: u32) {
        if let Some(word) = self.words.get(at / 4) {
            word.store(value, Relaxed);
        }
    }

    /// The texel at a place.
    #[inline]
    pub(crate) fn load(&self, at: usize) -> Raw {
        match self.bytes {
            4 => [self.word(at), 0, 0, 0],
            8 => [self.word(at), self.word(at + 4), 0, 0],
            16 => [0, 4, 8, 12].map(|n| self.word(at + n)),
            _ => [self.word(at) >> (at % 4 * 8) & self.field(), 0, 0, 0],
        }
    }

    /// The bits of a texel smaller than a word.
    #[inline]
    fn field(&self) -> u32 {
        if self.bytes == 1 { 0xff } else { 0xffff }
    }

    /// Writes the texel at a place.
    #[inline]
    pub(crate) fn store(&self, at: usize, raw: Raw) {
        if self.bytes < 4 {
            let shift = at % 4 * 8;
            let field = self.field() << shift;
            self.set_word(at, self.word(at) & !field | raw[0] << shift & field);
            return;
        }
        for (n, word) in raw.into_iter().enumerate().take(self.bytes / 4) {
            self.set_word(at + 4 * n, word);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nvir_base::tiling::TileMode;

    fn words(count: usize) -> Vec<AtomicU32> {
        (0..count).map(|_| AtomicU32::new(0)).collect()
    }

    fn level(order: Order) -> Level {
        Level { order, offset: 0, pitch: 256, rows: 20, slices: 4 }
    }

    #[test]
    fn quads_are_where_their_texels_are() {
        let orders = [Order::Pitch, Order::Blocks(TileMode(0x10)), Order::Blocks(TileMode(0x110))];
        for order in orders {
            let memory = words(256 * 32);
            for bytes in [1, 2, 4, 8, 16] {
                for z in [0, 3] {
                    let s = Surface::new(&memory, level(order), z, bytes, (0, 0));
                    for y in (0..20).step_by(2) {
                        for x in (0..256 / bytes as u32).step_by(2) {
                            let texels = [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(i, j)| s.texel(x + i, y + j));
                            assert_eq!(s.quad(x, y), texels, "{order:?} {bytes} {x} {y}");
                        }
                    }
                    for (samples, grid) in [(2, (1, 0)), (4, (1, 1)), (8, (2, 1))] {
                        let s = Surface::new(&memory, level(order), z, bytes, grid);
                        for y in (0..20 >> grid.1).step_by(2) {
                            for x in (0..(256 / bytes as u32) >> grid.0).step_by(2) {
                                let cover = [((1u32 << samples) - 1) as u8; 4];
                                s.covered(x, y, cover, |pixel, sample, at| {
                                    let [x, y] = [x + (pixel as u32 & 1), y + (pixel as u32 >> 1)];
                                    assert_eq!(
                                        s.sample(x, y, sample),
                                        at,
                                        "{order:?} {bytes} {x} {y} {sample}"
                                    );
                                });
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn accesses_outside_do_nothing() {
        let memory = words(256 / 4 * 32);
        let fits = |z, order| Surface::new(&memory, level(order), z, 4, (0, 0)).fits();
        assert!(fits(0, Order::Blocks(TileMode(0x10))) && !fits(1, Order::Blocks(TileMode(0x10))));
        assert!(!fits(0, Order::Blocks(TileMode(0x110))) && fits(0, Order::Pitch) && !fits(1, Order::Pitch));
        let s = Surface::new(&memory[..1], level(Order::Pitch), 0, 4, (0, 0));
        s.store(4, [7; 4]);
        assert_eq!(s.load(4), [0; 4]);
    }

    #[test]
    fn small_texels_leave_their_neighbours() {
        let memory = words(64);
        for (bytes, value) in [(1, 0xab), (2, 0xabcd), (4, 0x89ab_cdef)] {
            memory[1].store(0x1122_3344, Relaxed);
            let s = Surface::new(&memory, level(Order::Pitch), 0, bytes, (0, 0));
            s.store(4 + bytes % 4, [value, 0, 0, 0]);
            assert_eq!(s.load(4 + bytes % 4), [value, 0, 0, 0]);
            let want = [0x1122_ab44, 0xabcd_3344, 0x89ab_cdef][bytes / 2];
            assert_eq!(memory[1].load(Relaxed), want);
        }
        let s = Surface::new(&memory, level(Order::Pitch), 0, 4, (2, 1));
        let mut seen = Vec::new();
        s.covered(0, 0, [0x81, 0, 0, 0x20], |pixel, sample, at| seen.push((pixel, sample, at)));
        // Pixel (1, 1) begins at texel (4, 2).
        assert_eq!(seen, [(0, 0, 0), (0, 7, 256 + 12), (3, 5, 2 * 256 + (4 + 3) * 4)]);
    }
}
