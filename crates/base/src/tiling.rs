//! Where the bytes of an image lie: block-linear as all engines of Fermi and Kepler see it, or row
//! by row; and how Mesa's nvc0 driver chooses it for each level.
//!
//! A gob is 64 bytes by 8 rows. A block is one gob wide, and some gobs high and deep; blocks follow
//! each other along rows, rows of blocks upwards, and layers of blocks in depth. Sources: envytools
//! (`g80-surface`), Mesa `nvc0_miptree.c`, and the order inside a gob from what SUBFM computes
//! (`emu/surface.rs`).

/// Bytes of a gob's row.
pub const GOB_WIDTH: u32 = 64;
/// Log2 of a gob's rows.
const GOB_ROWS: u32 = 3;
/// Log2 of a gob's bytes.
const GOB_BYTES: u32 = 9;

/// A block's size: bits 7:4 log2 of its height in gobs, 11:8 log2 of its depth.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct TileMode(pub u32);

impl TileMode {
    /// Log2 of the gobs in height.
    #[inline]
    pub const fn gobs_y(self) -> u32 {
        self.0 >> 4 & 15
    }

    /// Log2 of the slices in depth.
    #[inline]
    pub const fn shift_z(self) -> u32 {
        self.0 >> 8 & 15
    }

    /// Log2 of the rows.
    #[inline]
    pub const fn shift_y(self) -> u32 {
        GOB_ROWS + self.gobs_y()
    }

    /// Log2 of the bytes.
    #[inline]
    const fn shift_bytes(self) -> u32 {
        6 + self.shift_y() + self.shift_z()
    }

    /// What the driver chooses for a level of so many rows and, in three dimensions, slices (Mesa
    /// `nv50_miptree.c`).
    pub fn choose(rows: u32, slices: Option<u32>) -> TileMode {
        let high = match rows {
            ..=8 => 0,
            9..=16 => 0x10,
            17..=32 => 0x20,
            33..=64 => 0x30,
            _ => 0x40,
        };
        let Some(slices) = slices else { return TileMode(high) };
        let high = high.min(0x20);
        let deep = match slices {
            ..=1 => 0,
            2 => 0x100,
            3..=4 => 0x200,
            5..=8 => 0x300,
            9..=16 => 0x400,
            _ if high < 0x20 => 0x500,
            _ => 0x400,
        };
        TileMode(high | deep)
    }
}

/// How the bytes of a level are arranged.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Order {
    /// In blocks of gobs.
    Blocks(TileMode),
    /// Row by row.
    Pitch,
}

/// One level of one layer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Level {
    /// How the bytes of a level are ordered.
    pub order: Order,
    /// Bytes from the layer's start.
    pub offset: u64,
    /// Bytes from row to row: a multiple of a gob's width.
    pub pitch: u32,
    /// Rows of texels (of samples), without padding.
    pub rows: u32,
    /// Slices that share blocks: one but in three dimensions.
    pub slices: u32,
}

impl Level {
    /// The offset in the level of the byte at `x` bytes, row `y`, slice `z`.
    #[inline]
    pub fn byte(&self, x: u64, y: u64, z: u64) -> u64 {
        self.slice(z).byte(x, y)
    }

    /// A slice, for many addresses.
    #[inline]
    pub fn slice(&self, z: u64) -> Slice {
        let (pitch, rows) = (u64::from(self.pitch), u64::from(self.rows));
        match self.order {
            Order::Pitch => Slice { first: z * rows * pitch, row: pitch, blocks: None },
            Order::Blocks(tile) => {
                let (ty, tz) = (tile.shift_y(), tile.shift_z());
                let row = (pitch / u64::from(GOB_WIDTH)) << tile.shift_bytes();
                let layer = (z >> tz) * rows.div_ceil(1 << ty) * row;
                let gob = (z & ((1 << tz) - 1)) << tile.gobs_y();
                Slice { first: layer + (gob << GOB_BYTES), row, blocks: Some((ty, tile.shift_bytes())) }
            }
        }
    }

    /// Where `bytes` bytes of a row from `x` on lie: runs of contiguous bytes, as (offset in the
    /// level, bytes).
    #[inline]
    pub fn runs(&self, x: u64, y: u64, z: u64, bytes: u64) -> impl Iterator<Item = (u64, u64)> {
        let run = match self.order {
            Order::Pitch => u64::MAX,
            Order::Blocks(_) => RUN.into(),
        };
        let level = *self;
        let mut at = x;
        let end = x.saturating_add(bytes);
        std::iter::from_fn(move || {
            let left = end.checked_sub(at).filter(|&left| left != 0)?;
            let offset = level.byte(at, y, z);
            let count = left.min(run - at % run);
            at += count;
            Some((offset, count))
        })
    }

    /// Bytes of the level with all its slices.
    pub fn bytes(&self) -> u64 {
        let (mut rows, mut slices) = (u64::from(self.rows), u64::from(self.slices));
        if let Order::Blocks(tile) = self.order {
            rows = rows.next_multiple_of(1 << tile.shift_y());
            slices = slices.next_multiple_of(1 << tile.shift_z());
        }
        u64::from(self.pitch) * rows * slices
    }
}

/// A slice of a level, with what its addresses have in common.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slice {
    /// Its first byte.
    first: u64,
    /// Bytes of a row, or of a row of blocks.
    row: u64,
    /// Log2 of a block's rows and bytes.
    blocks: Option<(u32, u32)>,
}

impl Slice {
    /// The offset in the level of the byte at `x` bytes, row `y`.
    #[inline]
    pub fn byte(&self, x: u64, y: u64) -> u64 {
        let Some((ty, bytes)) = self.blocks else { return self.first + y * self.row + x };
        let block = (y >> ty) * self.row + (x >> 6 << bytes);
        let gob = (y & ((1 << ty) - 1)) >> GOB_ROWS;
        self.first + block + (gob << GOB_BYTES) + u64::from(byte_in_gob(x as u32, y as u32))
    }

    /// The same in 32 bits, if none of its bytes is further away.
    pub fn narrow(&self, bytes: u64) -> Option<NarrowSlice> {
        u32::try_from(bytes).ok()?;
        let [first, row] = [self.first, self.row].map(|v| u32::try_from(v).ok());
        Some(NarrowSlice { first: first?, row: row?, blocks: self.blocks })
    }
}

/// A slice whose bytes lie within 32 bits: the offset of a byte is the sum of the parts that its column and its row have in it, so
/// that a loop over many places finds each once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NarrowSlice {
    first: u32,
    row: u32,
    blocks: Option<(u32, u32)>,
}

impl NarrowSlice {
    /// The part of a byte of a row.
    #[inline(always)]
    pub fn column(&self, x: u32) -> u32 {
        let Some((_, bytes)) = self.blocks else { return x };
        ((x >> 6) << bytes).wrapping_add(byte_in_gob(x, 0))
    }

    /// The part of a row.
    #[inline(always)]
    pub fn line(&self, y: u32) -> u32 {
        let Some((ty, _)) = self.blocks else { return self.first.wrapping_add(y.wrapping_mul(self.row)) };
        let gob = (y & ((1 << ty) - 1)) >> GOB_ROWS;
        let block = self.first.wrapping_add((y >> ty).wrapping_mul(self.row));
        block.wrapping_add(gob << GOB_BYTES).wrapping_add(byte_in_gob(0, y))
    }
}

/// The offset in a gob of the byte at `x` bytes, row `y`, of which the lowest bits count. Runs of 16 bytes are contiguous.
#[inline(always)]
pub fn byte_in_gob(x: u32, y: u32) -> u32 {
    (x >> 5 & 1) << 8 | (y >> 2 & 1) << 7 | (x >> 4 & 1) << 6 | (y & 3) << 4 | x & 15
}

/// Consecutive bytes of a row that lie side by side, at least, from a multiple of them on.
pub const RUN: u32 = 16;

/// The levels of a layer, and the bytes from layer to layer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Levels, the largest first.
    pub levels: Vec<Level>,
    /// Bytes from a layer to the next.
    pub layer_stride: u64,
}

/// Bytes of a row, rows and, in three dimensions, slices of a level.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Bytes of a row of texels.
    pub row_bytes: u32,
    /// Rows of texels.
    pub rows: u32,
    /// Slices of a three-dimensional level.
    pub slices: Option<u32>,
}

/// Levels one after the other, each in blocks of its own size.
pub fn block_linear(levels: impl IntoIterator<Item = Extent>) -> Layout {
    whole_blocks(lay_out(levels, |_, e| Order::Blocks(TileMode::choose(e.rows, e.slices))))
}

/// The same where the blocks of the first level are known.
pub fn block_linear_from(first: TileMode, levels: impl IntoIterator<Item = Extent>) -> Layout {
    let tile = |i, e: &Extent| if i == 0 { first } else { TileMode::choose(e.rows, e.slices) };
    whole_blocks(lay_out(levels, |i, e| Order::Blocks(tile(i, e))))
}

/// A layer begins with a whole block of level 0.
fn whole_blocks(mut layout: Layout) -> Layout {
    if let Some(Level { order: Order::Blocks(tile), .. }) = layout.levels.first() {
        layout.layer_stride = layout.layer_stride.next_multiple_of(1 << tile.shift_bytes());
    }
    layout
}

/// Levels one after the other, each row by row.
pub fn pitch_linear(levels: impl IntoIterator<Item = Extent>) -> Layout {
    lay_out(levels, |_, _| Order::Pitch)
}

fn lay_out(levels: impl IntoIterator<Item = Extent>, order: impl Fn(usize, &Extent) -> Order) -> Layout {
    let mut end = 0u64;
    let levels = levels.into_iter().enumerate().map(|(i, e)| {
        let pitch = e.row_bytes.next_multiple_of(GOB_WIDTH);
        let slices = e.slices.unwrap_or(1);
        let level = Level { order: order(i, &e), offset: end, pitch, rows: e.rows, slices };
        // The driver names addresses in units of 256 bytes.
        end += level.bytes().next_multiple_of(256);
        level
    });
    let levels = levels.collect();
    Layout { levels, layer_stride: end }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_as_high_and_deep_as_the_driver_makes_them() {
        for (rows, slices, mode) in [
            (1, None, 0),
            (8, None, 0),
            (9, None, 0x10),
            (17, None, 0x20),
            (33, None, 0x30),
            (64, None, 0x30),
            (65, None, 0x40),
            (65, Some(1), 0x20),
            (65, Some(2), 0x120),
            (8, Some(3), 0x200),
            (16, Some(5), 0x310),
            (16, Some(9), 0x410),
            (16, Some(17), 0x510),
            (17, Some(17), 0x420),
        ] {
            assert_eq!(TileMode::choose(rows, slices), TileMode(mode), "{rows} rows, {slices:?} slices");
        }
    }

    #[test]
    fn every_byte_of_a_level_has_a_place_of_its_own_inside_the_level() {
        for (row_bytes, rows, slices) in
            [(1, 1, None), (200, 37, None), (65, 19, Some(21)), (130, 9, Some(40))]
        {
            let extent = Extent { row_bytes, rows, slices };
            for layout in [block_linear([extent]), pitch_linear([extent])] {
                let level = layout.levels[0];
                let mut seen = vec![false; layout.layer_stride as usize];
                for (z, y, x) in (0..slices.unwrap_or(1))
                    .flat_map(|z| (0..rows).flat_map(move |y| (0..row_bytes).map(move |x| (z, y, x))))
                {
                    let at = level.byte(x.into(), y.into(), z.into()) as usize;
                    let narrow = level.slice(z.into()).narrow(level.bytes()).expect("small");
                    assert_eq!((narrow.column(x) + narrow.line(y)) as usize, at, "{x} {y} {z}");
                    assert!(!std::mem::replace(&mut seen[at], true), "{x} {y} {z}: {at} twice");
                }
            }
        }
    }

    #[test]
    fn levels_follow_each_other_and_layers_begin_with_whole_blocks() {
        // 100 by 37 texels of 4 bytes, three levels: blocks of 8, 4 and 2 gobs in height.
        let sizes = [(400, 37), (200, 18), (100, 9)];
        let extents = sizes.map(|(row_bytes, rows)| Extent { row_bytes, rows, slices: None });
        let layout = block_linear(extents);
        assert_eq!(layout.levels.iter().map(|l| l.pitch).collect::<Vec<_>>(), [448, 256, 128]);
        assert_eq!(
            layout.levels.iter().map(|l| l.offset).collect::<Vec<_>>(),
            [0, 448 * 64, 448 * 64 + 256 * 32]
        );
        assert_eq!(layout.layer_stride, (448 * 64 + 256 * 32 + 128 * 16u64).next_multiple_of(512 << 3));
        let linear = pitch_linear(extents);
        assert_eq!(linear.levels[1].offset, (448u64 * 37).next_multiple_of(256));
        assert_eq!(linear.levels[1].byte(7, 3, 0), 3 * 256 + 7);
    }
}
