//! What a layer of a target holds: a copy of its memory by tiles, each of which is contiguous there, so that it is compared at once.

use super::{Drawn, Picture, Pixels, TargetFormat, Top};
use crate::Memory;
use crate::image::surface_format::{Raw, SurfaceFormat, zeta_values};
use crate::image::texels::Surface;
use nvir_base::tiling::{GOB_WIDTH, byte_in_gob};
use nvir_hw::format::color::Color;
use nvir_hw::samples::SAMPLE_POSITIONS;
use nvir_simd::Processor;
use std::ops::Range;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

/// Words of a tile: of a gob, or of a part of a row where rows follow each other.
const TILE_WORDS: usize = 128;
const TILE_BYTES: u32 = 4 * TILE_WORDS as u32;

/// Words that are compared at once.
const ROW: usize = 32;

/// What a layer of a target holds.
#[derive(Clone, Debug)]
pub struct Layer {
    /// Counted from the target's first.
    pub number: u32,
    /// Pixels in x and y.
    pub size: [u32; 2],
    format: TargetFormat,
    /// Log2 of the samples of a pixel in x and y.
    grid: (u32, u32),
    /// Of a texel.
    bytes: u32,
    /// Log2 of the bytes of a row and of the rows that a tile has.
    tile: [u32; 2],
    /// Tiles of a row.
    columns: u32,
    /// Where the words of a tile lie in it: byte of the row, and row.
    places: [[u8; 2]; TILE_WORDS],
    /// Tile by tile, row by row.
    memory: Vec<u32>,
    /// Bits of a texel that the last read found changed in any; at first all. Of a texel's first two words.
    changed: [u32; 2],
}

impl Drawn {
    /// A layer as it is in memory, if it lies there, in rows of whole words.
    pub(super) fn layer(&self, number: u32, memory: &Memory) -> Option<Layer> {
        let (surface, size) = (self.surface(number, memory)?, self.size());
        if size.contains(&0) || self.words.linear && !self.words.width.is_multiple_of(4) {
            return None;
        }
        let (bytes, grid) = (self.bytes() as u32, self.grid);
        let tile = if self.words.linear { [TILE_BYTES, 1] } else { [GOB_WIDTH, TILE_BYTES / GOB_WIDTH] };
        let mut places = [[0; 2]; TILE_WORDS];
        for (x, y) in (0..tile[1]).flat_map(|y| (0..tile[0] / 4).map(move |x| (x, y))).filter(|_| tile[1] > 1)
        {
            places[byte_in_gob(4 * x, y) as usize / 4] = [x as u8, y as u8];
        }
        let columns = ((size[0] << grid.0) * bytes).div_ceil(tile[0]);
        let rows = (size[1] << grid.1).div_ceil(tile[1]);
        let memory = vec![0; columns as usize * rows as usize * TILE_WORDS];
        let tile = tile.map(u32::ilog2);
        let (format, changed) = (self.format, [0; 2]);
        let mut layer = Layer { number, size, format, grid, bytes, tile, columns, places, memory, changed };
        layer.read(&surface, None);
        layer.changed = [u32::MAX; 2];
        Some(layer)
    }
}

impl Layer {
    /// Reads memory again, of the whole layer or what is within a rectangle. The pixels that are not as before.
    pub(super) fn read(&mut self, surface: &Surface<'_>, within: Option<[u32; 4]>) -> Option<[u32; 4]> {
        let [width, height] = self.size;
        let [x0, y0, x1, y1] = within.unwrap_or([0, 0, width, height]);
        let (gx, gy) = self.grid;
        let [bytes, tile_rows] = self.tile_size();
        self.changed = [0; 2];
        let columns =
            (x0.min(width) << gx) * self.bytes / bytes..((x1.min(width) << gx) * self.bytes).div_ceil(bytes);
        let rows = (y0.min(height) << gy) / tile_rows..(y1.min(height) << gy).div_ceil(tile_rows);
        let all = rows.flat_map(|row| columns.clone().map(move |column| [column, row]));
        let processor = Processor::detect();
        let tiles: Vec<[u32; 2]> = all.filter(|tile| self.differs(processor, surface, *tile)).collect();
        // Only tiles at the edges of those that have changed say which pixels are at the edge.
        let ends = |axis: usize| {
            let of = || tiles.iter().map(|tile| tile[axis]);
            of().min().zip(of().max())
        };
        let (ends_x, ends_y) = (ends(0)?, ends(1)?);
        let mut changed = None;
        for tile @ [column, row] in tiles {
            let inner = |(first, last): (u32, u32), at: u32| first < at && at < last;
            if inner(ends_x, column) && inner(ends_y, row) {
                // It is inside of what the edges say, unless these have changed behind the last pixels only.
                let place = |[x, y]: [u32; 2]| [(x * bytes / self.bytes) >> gx, (y * tile_rows) >> gy];
                let ([x0, y0], [x1, y1]) = (place(tile), place([column + 1, row + 1]));
                extend(&mut changed, [x0, y0, x1, y1]);
                let mut all = [0; 2];
                let (old, new) = self.tile(surface, tile);
                for (n, (old, new)) in old.iter_mut().zip(new).enumerate() {
                    let value = new.load(Relaxed);
                    all[n % 2] |= std::mem::replace(old, value) ^ value;
                }
                self.note(all);
            } else {
                self.read_tile(surface, tile, &mut changed);
            }
        }
        changed
    }

    /// Bytes of a row and rows that a tile has.
    fn tile_size(&self) -> [u32; 2] {
        self.tile.map(|log2| 1 << log2)
    }

    /// The words of a tile as they were and as they are.
    fn tile<'s, 'm>(
        &'s mut self,
        surface: &Surface<'m>,
        [column, row]: [u32; 2],
    ) -> (&'s mut [u32], &'m [AtomicU32]) {
        let [bytes, rows] = self.tile_size();
        let first = (row * self.columns + column) as usize * TILE_WORDS;
        let new = surface.words(surface.byte(column * bytes, row * rows) / 4, TILE_WORDS);
        (&mut self.memory[first..first + new.len()], new)
    }

    fn differs(&mut self, processor: Processor, surface: &Surface<'_>, tile: [u32; 2]) -> bool {
        let (old, new) = self.tile(surface, tile);
        let (old_rows, old_rest) = old.as_chunks::<ROW>();
        let (rows, rest) = new.as_chunks::<ROW>();
        let differs = |(old, new): (&[u32; ROW], _)| {
            let mut now = [0; ROW];
            processor.load(new, &mut now);
            now != *old
        };
        old_rows.iter().zip(rows).any(differs)
            || old_rest.iter().zip(rest).any(|(old, new)| *old != new.load(Relaxed))
    }

    /// Bits of even and of odd words have changed.
    fn note(&mut self, [even, odd]: [u32; 2]) {
        match self.bytes {
            8.. => {
                self.changed[0] |= even;
                self.changed[1] |= odd;
            }
            _ => self.changed[0] |= even | odd,
        }
    }

    /// Reads a tile, and which pixels of it are not as before.
    fn read_tile(&mut self, surface: &Surface<'_>, at: [u32; 2], changed: &mut Option<[u32; 4]>) {
        let ([column, row], [width, height]) = (at, self.size);
        let [bytes, rows] = self.tile_size();
        let (texel, (gx, gy), places) = (self.bytes, self.grid, self.places);
        let mut all = [0; 2];
        let (old, new) = self.tile(surface, at);
        for (n, (old, new)) in old.iter_mut().zip(new).enumerate() {
            let value = new.load(Relaxed);
            let differ = std::mem::replace(old, value) ^ value;
            if differ == 0 {
                continue;
            }
            let [word, below] = if rows == 1 { [n as u32, 0] } else { places[n].map(u32::from) };
            let pixel = |byte: u32| ((column * bytes + 4 * word + byte) / texel) >> gx;
            let (left, right) = (pixel(differ.trailing_zeros() / 8), pixel(3 - differ.leading_zeros() / 8));
            let y = (row * rows + below) >> gy;
            // Behind the last pixel of a row there may be anything.
            if left < width && y < height {
                extend(changed, [left, y, right.min(width - 1) + 1, y + 1]);
                all[n % 2] |= differ;
            }
        }
        self.note(all);
    }

    /// What there is to see of a rectangle, row by row as in memory: `color`, of samples the mean; or of `depth` and `stencil` what the
    /// last read found changed, of samples the first.
    pub fn pictures(&self, rect: [u32; 4]) -> Vec<Picture> {
        self.named(rect, self.pixels(rect, Top::FirstRow, 0..self.samples()))
    }

    /// The same of one sample.
    pub fn sample_pictures(&self, rect: [u32; 4], sample: u32) -> Vec<Picture> {
        self.named(rect, self.pixels(rect, Top::FirstRow, sample..sample + 1))
    }

    fn named(&self, [x0, y0, x1, y1]: [u32; 4], pixels: Vec<(&'static str, Pixels)>) -> Vec<Picture> {
        let (width, height) = (x1 - x0, y1 - y0);
        let named =
            pixels.into_iter().map(|(what, pixels)| Picture { name: what.into(), width, height, pixels });
        named.collect()
    }

    /// Samples of a pixel.
    pub(super) fn samples(&self) -> u32 {
        1 << (self.grid.0 + self.grid.1)
    }

    #[inline]
    fn texel(&self, x: u32, y: u32, sample: u32) -> Raw {
        let (column, row) = SAMPLE_POSITIONS[sample as usize & 7];
        let (x, y) = (((x << self.grid.0) + column) * self.bytes, (y << self.grid.1) + row);
        let [bytes, rows] = self.tile;
        let tile = ((y >> rows) * self.columns + (x >> bytes)) as usize * TILE_WORDS;
        let inside = if rows == 0 { x % TILE_BYTES } else { byte_in_gob(x, y) };
        let words = &self.memory[tile + inside as usize / 4..];
        match self.bytes {
            4 => [words[0], 0, 0, 0],
            8 => [words[0], words[1], 0, 0],
            16 => [words[0], words[1], words[2], words[3]],
            bytes => [words[0] >> (inside % 4 * 8) & (u32::MAX >> (32 - 8 * bytes)), 0, 0, 0],
        }
    }

    /// What there is to see of a rectangle: the mean of some samples, or the first of them.
    pub(super) fn pixels(
        &self,
        rect: [u32; 4],
        top: Top,
        samples: Range<u32>,
    ) -> Vec<(&'static str, Pixels)> {
        match self.format {
            // Stored values are shown, which screens take for sRGB.
            TargetFormat::Color(color) => {
                let format = SurfaceFormat::from(Color { srgb: false, ..color });
                let pixels = each(rect, top, |x, y| self.color(&format, x, y, samples.clone()));
                vec![("color", Pixels::Rgba8(pixels))]
            }
            TargetFormat::Zeta(zeta) => {
                let value = |x, y| zeta_values(zeta, self.texel(x, y, samples.start));
                let [low, high] = self.changed;
                let (depth_bits, stencil_bits) = zeta_values(zeta, [low, high, 0, 0]);
                let mut all = Vec::new();
                if depth_bits.to_bits() != 0 {
                    let depth = |x, y| (value(x, y).0.clamp(0.0, 1.0) * 65535.0 + 0.5) as u16;
                    all.push(("depth", Pixels::Gray16(each(rect, top, depth))));
                }
                if stencil_bits.is_some_and(|bits| bits != 0) {
                    let stencil = |x, y| value(x, y).1.unwrap_or_default();
                    all.push(("stencil", Pixels::Gray8(each(rect, top, stencil))));
                }
                all
            }
        }
    }

    /// A pixel's colour in eight bits.
    fn color(&self, format: &SurfaceFormat, x: u32, y: u32, samples: Range<u32>) -> [u8; 4] {
        let sample = |n: u32| format.unpack(self.texel(x, y, n));
        if format.is_integer() {
            return sample(samples.start).map(|v| byte_of_integer(v, format.is_signed()));
        }
        let (mut sum, count) = ([0f32; 4], samples.len());
        for n in samples {
            sum.iter_mut().zip(sample(n)).for_each(|(s, v)| *s += f32::from_bits(v).clamp(0.0, 1.0));
        }
        sum.map(|s| (s / count as f32 * 255.0 + 0.5) as u8)
    }
}

/// An integer as pictures show it: from 0 to 255.
pub(crate) fn byte_of_integer(v: u32, is_signed: bool) -> u8 {
    let top = if is_signed { i32::MAX as u32 } else { u32::MAX };
    if v > top { 0 } else { v.min(255) as u8 }
}

/// Makes a rectangle reach over another.
pub(crate) fn extend(rect: &mut Option<[u32; 4]>, [x0, y0, x1, y1]: [u32; 4]) {
    let [a0, b0, a1, b1] = rect.unwrap_or([x0, y0, x1, y1]);
    *rect = Some([a0.min(x0), b0.min(y0), a1.max(x1), b1.max(y1)]);
}

/// A value of each pixel of a rectangle, the top row first.
fn each<T>([x0, y0, x1, y1]: [u32; 4], top: Top, value: impl Fn(u32, u32) -> T) -> Vec<T> {
    let mut all = Vec::with_capacity((x1 - x0) as usize * (y1 - y0) as usize);
    for y in y0..y1 {
        let row = match top {
            Top::FirstRow => y,
            Top::LastRow => y1 - 1 - (y - y0),
        };
        all.extend((x0..x1).map(|x| value(x, row)));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::surface::Words;

    const AT: u64 = 0x10_0000;

    /// RGBA32F, RG32F, RGBA8, R16, R8.
    const FORMATS: [u32; 5] = [0xc0, 0xcb, 0xd5, 0xee, 0xf3];

    /// Targets of 21 rows of 37 pixels in blocks, of 40 where rows follow each other; of one and of several samples.
    fn targets() -> impl Iterator<Item = Drawn> {
        let grids = [(0, 0), (1, 0), (1, 1), (2, 1)];
        let all = FORMATS.into_iter().flat_map(move |f| grids.into_iter().map(move |grid| (f, grid)));
        all.flat_map(|(code, grid)| {
            let color = Color::from_code(code).expect("a format");
            [true, false].map(|linear| {
                let width = if linear { 40 * color.format.bytes() } else { 37 } << grid.0;
                let words = Words {
                    address: AT,
                    width,
                    height: 21 << grid.1,
                    linear,
                    tile_mode: 0x10,
                    layers: 1,
                    layer_stride: 0,
                    volume: false,
                };
                Drawn { words, base_layer: 0, format: TargetFormat::Color(color), grid, top: Top::FirstRow }
            })
        })
    }

    fn texels(layer: &Layer) -> Vec<Raw> {
        let [width, height] = layer.size;
        let samples = 1 << (layer.grid.0 + layer.grid.1);
        let all = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
        all.flat_map(|(x, y)| (0..samples).map(move |n| (x, y, n)))
            .map(|(x, y, n)| layer.texel(x, y, n))
            .collect()
    }

    #[test]
    fn what_has_changed_is_found_to_the_pixel() {
        for drawn in targets() {
            let mut memory = Memory::new();
            memory.insert(AT, 1 << 20, crate::Words::zeroed(1 << 18)).expect("free");
            let surface = drawn.surface(0, &memory).expect("in memory");
            let mut layer = drawn.layer(0, &memory).expect("in memory");
            let [width, height] = layer.size;
            let samples = 1 << (drawn.grid.0 + drawn.grid.1);
            let rects = [
                [width - 1, 20, width, 21],
                [0, 0, 1, 1],
                [3, 5, 30, 7],
                [0, 0, width, height],
                [9, 2, 11, 20],
            ];
            for (n, rect @ [x0, y0, x1, y1]) in (1..).zip(rects) {
                let sample = n % samples;
                let places = || (y0..y1).flat_map(|y| (x0..x1).map(move |x| (x, y)));
                for (x, y) in places() {
                    surface.store(surface.sample(x, y, sample), [n; 4]);
                }
                let within = [None, Some(rect)][n as usize % 2];
                assert_eq!(layer.read(&surface, within), Some(rect), "{drawn:?}, {n}");
                assert_eq!(layer.read(&surface, None), None, "{drawn:?}, {n}: the same again");
                assert_eq!(texels(&layer), texels(&drawn.layer(0, &memory).expect("in memory")), "{drawn:?}");
                for (x, y) in places() {
                    assert_eq!(
                        layer.texel(x, y, sample),
                        surface.load(surface.sample(x, y, sample)),
                        "{drawn:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn what_is_behind_the_last_pixels_does_not_hide_others() {
        for drawn in targets().filter(|d| !d.words.linear) {
            let mut memory = Memory::new();
            memory.insert(AT, 1 << 20, crate::Words::zeroed(1 << 18)).expect("free");
            let surface = drawn.surface(0, &memory).expect("in memory");
            let mut layer = drawn.layer(0, &memory).expect("in memory");
            let [column, row] = [(37 << drawn.grid.0) * drawn.bytes() as u32, 21 << drawn.grid.1];
            // Right of all pixels, and below.
            let behind = |value| {
                (0..row).for_each(|y| surface.set_word(surface.byte(column.next_multiple_of(16), y), value));
                (0..column / 4).for_each(|x| surface.set_word(surface.byte(4 * x, row), value));
            };
            if column.next_multiple_of(16).is_multiple_of(64) {
                continue;
            }
            behind(1);
            assert_eq!(layer.read(&surface, None), None, "{drawn:?}");
            behind(2);
            let [x, y] = [layer.size[0] / 2, layer.size[1] / 2];
            surface.store(surface.sample(x, y, 0), [7; 4]);
            let [x0, y0, x1, y1] = layer.read(&surface, None).expect("a pixel");
            assert!((x0..x1).contains(&x) && (y0..y1).contains(&y), "{drawn:?}");
            assert_eq!(layer.texel(x, y, 0), surface.load(surface.sample(x, y, 0)));
        }
    }
}
