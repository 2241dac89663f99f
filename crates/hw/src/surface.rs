//! What Mesa's nvc0 driver writes for an image: the 16 words in its constant buffer, and GF100's slots.
//!
//! Source: `nve4_set_surface_info`, `nvc0_set_surface_info` and `nvc0_validate_suf` of Mesa 22.3.6's `nvc0_tex.c`. That driver
//! never binds images that lie row by row on Kepler; their words are as Mesa's `nil` makes them (`su_info.rs`).

pub use crate::format::image::{format_of, word as format_word};
use crate::image_word::*;
use nvir_base::chip::Chip;
use nvir_base::format::{Format, Layout};
use nvir_base::tiling::{Level, Order};

/// What word 11 says an image is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Target {
    /// One dimension, buffers.
    Other = 0,
    /// Layers of one dimension.
    D1Array = 1,
    /// Two dimensions.
    D2 = 2,
    /// Three.
    D3 = 3,
    /// Cubes too.
    D2Array = 4,
}

/// A level of an image, bound for access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct View {
    /// How a texel looks.
    pub format: Format,
    /// What kind of image it is.
    pub target: Target,
    /// A buffer: its texels lie in one row.
    pub buffer: bool,
    /// Of the level in its first layer: a multiple of 256.
    pub address: u64,
    /// Width, height, and depth of the level or number of layers.
    pub size: [u32; 3],
    /// How the level lies in memory.
    pub level: Level,
    /// Bytes from a layer to the next.
    pub layer_stride: u64,
    /// Slices are part of the level's layout.
    pub three_d: bool,
    /// The slice of such a level that is bound as an image of two dimensions.
    pub first_z: u32,
    /// Log2 of the samples of a pixel in x and y.
    pub samples: (u32, u32),
}

/// Marks the clamping word of an image that lies row by row.
const PITCH_LINEAR: u32 = 1 << 21;

/// A word for SUCLAMP: the last coordinate, how far it is to be shifted to the right for the number of its block and
/// to the left for bytes, and the gobs of a block.
fn clamp_word(last: u32, order: Order, block: u32, bytes: u32, gobs: u32) -> u32 {
    last & 0xf_ffff
        | match order {
            Order::Pitch => PITCH_LINEAR | bytes << 26,
            Order::Blocks(_) => block << 22 | bytes << 26 | gobs << 29,
        }
}

/// The words for a view.
pub fn words(chip: Chip, v: &View) -> [u32; COUNT] {
    let mut info = [0; COUNT];
    let cpp = v.format.bytes();
    let log2 = cpp.trailing_zeros();
    let [w, h, d] = v.size;
    let tile = match v.level.order {
        Order::Blocks(tile) => tile,
        Order::Pitch => Default::default(),
    };
    info[ADDRESS] = (v.address >> 8) as u32;
    info[SIZE..SIZE + 3].copy_from_slice(&v.size);
    if !v.buffer {
        info[ARRAY] = (v.layer_stride >> 8) as u32;
        (info[MS_X], info[MS_Y]) = v.samples;
    }
    if chip == Chip::Gf100 {
        info[TEXEL] = log2;
        if v.buffer {
            info[DIM[0]] = w;
        } else {
            let rows = match v.level.order {
                Order::Blocks(_) => h.next_multiple_of(1 << tile.shift_y()),
                Order::Pitch => h,
            };
            info[DIM[0]] = (6 - log2) << 24;
            info[DIM[1]] = tile.shift_y() << 24 | rows;
            info[DIM[2]] = tile.shift_z() << 24;
            info[LAYER] = v.first_z;
        }
        return info;
    }
    let (ms_x, ms_y) = v.samples;
    // Mesa treats what lies in a buffer as if in blocks here.
    let order = if v.buffer { Order::Blocks(tile) } else { v.level.order };
    info[FORMAT] = format_word(v.format);
    info[DIM[0]] = clamp_word((w << ms_x) - 1, order, 6 - log2, log2, 0);
    info[TARGET] = v.target as u32;
    info[TEXEL] = cpp;
    info[CLAMP_BYTES] = clamp_word((w << log2) - 1, order, 6, 0, 0);
    if !v.buffer {
        let pitch = match order {
            Order::Blocks(_) => v.level.pitch / 64,
            Order::Pitch => v.level.pitch >> log2,
        };
        info[PITCH] = 0x88 << 24 | pitch;
        info[DIM[1]] = clamp_word((h << ms_y) - 1, order, tile.shift_y(), 0, tile.gobs_y());
        info[DIM[2]] = clamp_word(d - 1, order, tile.shift_z(), 0, tile.shift_z());
        info[LAYER] = u32::from(v.three_d) | v.first_z << 16;
    }
    info
}

/// A surface slot of GF100, as the methods IMAGE(i) set it up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot {
    /// Of the first byte.
    pub address: u64,
    /// Texels; bytes of a row where rows follow each other.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// How a texel lies in memory.
    pub texel: Layout,
    /// A block's depth is not seen.
    pub order: Order,
}

/// The slot for a view. The hardware knows two dimensions: slices of a block lie side by side, blocks of
/// further slices below, and the program finds the place by the words.
pub fn slot(v: &View) -> Slot {
    let (address, format) = (v.address, v.format);
    let (mut width, mut height) = (v.size[0] << v.samples.0, v.size[1] << v.samples.1);
    let order = match v.level.order {
        Order::Pitch => {
            width = if v.buffer { (width * format.bytes()).next_multiple_of(256) } else { v.level.pitch };
            height *= if v.three_d { v.size[2] } else { 1 };
            Order::Pitch
        }
        Order::Blocks(tile) => {
            if v.three_d {
                width = width.next_multiple_of(64 / format.bytes()) << tile.shift_z();
                height =
                    height.next_multiple_of(1 << tile.shift_y()) * v.size[2].div_ceil(1 << tile.shift_z());
            }
            Order::Blocks(nvir_base::tiling::TileMode(tile.0 & 0xff))
        }
    };
    Slot { address, width, height, texel: format.layout(), order }
}

impl Slot {
    /// The address of byte `x` in row `y`, `offset` bytes further on; `None` outside.
    pub fn byte(&self, x: u64, y: u64, offset: u64) -> Option<u64> {
        let cpp = self.texel.bytes();
        let row_bytes = if self.order == Order::Pitch { self.width } else { self.width * cpp };
        let pitch = row_bytes.next_multiple_of(64);
        let level = Level { order: self.order, offset: 0, pitch, rows: self.height, slices: 1 };
        let inside = x < row_bytes.into() && y < self.height.into();
        inside.then(|| self.address + offset + level.byte(x, y, 0))
    }
}
