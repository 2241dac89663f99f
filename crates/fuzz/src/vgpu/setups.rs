//! Engines set up at random: registers with values of their kind, and the method that starts the work.

use super::values;
use crate::random::Random;
use nvir::Chip;

#[derive(Clone, Copy)]
enum Kind {
    /// Two words.
    Address,
    /// A number that is small, mostly.
    Small,
    /// Of bytes, texels or rows.
    Size,
    Tile,
    /// Number of a colour format or of a depth format.
    Format,
    /// Two halves: first, how many.
    Range,
    Bits,
    /// One of a few words.
    Of(&'static [u32]),
    /// The high half of a 32.32 number.
    Step,
}

use Kind::{Address, Bits, Format, Of, Range, Size, Small, Step, Tile};

type Setup = &'static [(u32, Kind)];

const CLEAR: Setup = &[
    (0x800, Address),
    (0x808, Size),
    (0x80c, Size),
    (0x810, Format),
    (0x814, Tile),
    (0x818, Small),
    (0x81c, Size),
    (0x820, Small),
    (0xd80, Bits),
    (0xd90, Bits),
    (0xda0, Small),
    (0xfe0, Address),
    (0xfe8, Of(&[0xa, 0x13, 0x14, 0x15, 0x16, 0x19, 0])),
    (0xfec, Tile),
    (0xff0, Size),
    (0xff4, Range),
    (0xff8, Range),
    (0x1228, Size),
    (0x122c, Size),
    (0x1230, Small),
    (0x15d0, Small),
    (0x179c, Small),
    (0x19d0, Of(&[0x3c, 0x3, 0x3f, 0x4, 0x28, 0x43c, 0x83f, 0x7c, 0x1, 0x2])),
];
const QUERY: Setup =
    &[(0x1b00, Address), (0x1b08, Bits), (0x1b0c, Of(&[0x1000_f010, 0x5002, 0x0900_5002, 0x1, 0x2]))];
const CONSTANTS: Setup =
    &[(0x2380, Size), (0x2384, Address), (0x238c, Size), (0x2390, Bits), (0x2394, Bits), (0x1694, Small)];
const CONDITION: Setup = &[(0x1550, Address), (0x1558, Small), (0x19d0, Of(&[0x3c]))];
const UPLOAD: Setup = &[
    (0x180, Size),
    (0x184, Small),
    (0x188, Address),
    (0x190, Size),
    (0x194, Tile),
    (0x198, Size),
    (0x19c, Size),
    (0x1a0, Small),
    (0x1a4, Small),
    (0x1a8, Small),
    (0x1ac, Small),
    (0x1b0, Of(&[0x1001, 0x1000, 0, 1])),
    (0x1b4, Bits),
    (0x1b4, Bits),
];
const M2MF: Setup = &[
    (0x204, Tile),
    (0x208, Size),
    (0x20c, Size),
    (0x210, Small),
    (0x214, Small),
    (0x220, Tile),
    (0x224, Size),
    (0x228, Size),
    (0x22c, Small),
    (0x230, Small),
    (0x238, Address),
    (0x30c, Address),
    (0x314, Size),
    (0x318, Size),
    (0x31c, Size),
    (0x320, Size),
    (0x32c, Address),
    (0x334, Bits),
    (0x344, Small),
    (0x348, Small),
    (0x34c, Small),
    (0x350, Small),
    (0x300, Of(&[0x10_0111, 0x10_0110, 0x10_0010, 0x10_0100, 0x10_0000, 0x3110, 0x1110])),
    (0x304, Bits),
];
const COPY: Setup = &[
    (0x240, Address),
    (0x248, Bits),
    (0x400, Address),
    (0x408, Address),
    (0x410, Size),
    (0x414, Size),
    (0x418, Size),
    (0x41c, Size),
    (0x700, Bits),
    (
        0x708,
        Of(&[
            0x3210,
            0x3_3210,
            0x0303_3210 & 0x0330_3210,
            0x0331_3210,
            0x0110_0010,
            0x0113_3210,
            0x4444,
            0x0333_5410,
        ]),
    ),
    (0x70c, Tile),
    (0x710, Size),
    (0x714, Size),
    (0x718, Small),
    (0x71c, Small),
    (0x720, Range),
    (0x728, Tile),
    (0x72c, Size),
    (0x730, Size),
    (0x734, Small),
    (0x738, Small),
    (0x73c, Range),
    (0x300, Of(&[0x186, 0x686, 0x706, 0x606, 0x386, 0x18e, 0x196, 0x786, 0x602])),
];
const TWO_D: Setup = &[
    (0x200, Format),
    (0x204, Small),
    (0x208, Tile),
    (0x20c, Small),
    (0x210, Small),
    (0x214, Size),
    (0x218, Size),
    (0x21c, Size),
    (0x220, Address),
    (0x230, Format),
    (0x234, Small),
    (0x238, Tile),
    (0x23c, Small),
    (0x240, Small),
    (0x244, Size),
    (0x248, Size),
    (0x24c, Size),
    (0x250, Address),
    (0x280, Small),
    (0x284, Small),
    (0x288, Size),
    (0x28c, Size),
    (0x290, Small),
    (0x2ac, Of(&[3, 3, 3, 0, 1, 5])),
    (0x88c, Of(&[0, 1, 0x10, 0x11])),
    (0x8b0, Small),
    (0x8b4, Small),
    (0x8b8, Size),
    (0x8bc, Size),
    (0x8c0, Bits),
    (0x8c4, Step),
    (0x8c8, Bits),
    (0x8cc, Step),
    (0x8d0, Bits),
    (0x8d4, Step),
    (0x8d8, Bits),
    (0x8dc, Step),
];
const SEMAPHORE: Setup =
    &[(0x10, Address), (0x18, Small), (0x1c, Of(&[1, 2, 4, 0x1001, 0x1004, 0x100_0002]))];
const FERMI_LAUNCH: Setup = &[
    (0x204, Size),
    (0x208, Size),
    (0x238, Range),
    (0x23c, Small),
    (0x24c, Size),
    (0x2c0, Small),
    (0x3ac, Range),
    (0x3b0, Small),
    (0x155c, Address),
    (0x1564, Size),
    (0x1574, Address),
    (0x157c, Size),
    (0x2700, Address),
    (0x2708, Size),
    (0x270c, Size),
    (0x2710, Bits),
    (0x2714, Tile),
    (0x368, Small),
];
const KEPLER_LAUNCH: Setup = &[
    (0x155c, Address),
    (0x1564, Size),
    (0x1574, Address),
    (0x157c, Size),
    (0x2608, Small),
    (0x2b4, Of(&[0x100_0000, 0x104_0000, 0x102_0000])),
    (0x2bc, Small),
];
const MACROS: Setup =
    &[(0x114, Small), (0x118, Bits), (0x118, Bits), (0x118, Bits), (0x11c, Small), (0x120, Small)];

/// Subchannels as Mesa uses them: 3D, compute, M2MF or P2MF, 2D, copies.
const ALL: &[(u32, Setup)] = &[
    (0, CLEAR),
    (0, QUERY),
    (0, CONSTANTS),
    (0, CONDITION),
    (0, UPLOAD),
    (0, SEMAPHORE),
    (0, MACROS),
    (1, QUERY),
    (1, UPLOAD),
    (1, CONSTANTS),
    (1, FERMI_LAUNCH),
    (1, KEPLER_LAUNCH),
    (2, UPLOAD),
    (2, M2MF),
    (3, TWO_D),
    (4, COPY),
];

/// Packets for one engine: most of its registers, then the start.
pub fn packets(r: &mut Random, chip: Chip, buffers: &[(u64, u64)], out: &mut Vec<u32>) {
    let (sub, setup) = *r.of_list(ALL);
    // On GF100 nothing is there.
    let sub = if sub == 4 && chip == Chip::Gf100 { 2 } else { sub };
    for (i, (method, kind)) in setup.iter().enumerate() {
        if i + 1 != setup.len() && r.one_in(8) {
            continue;
        }
        let words = value(r, *kind, buffers);
        let count = if matches!(kind, Address) { 2 } else { 1 };
        out.push(1 << 29 | count << 16 | sub << 13 | (method / 4));
        out.extend(&words[..count as usize]);
    }
}

fn value(r: &mut Random, kind: Kind, buffers: &[(u64, u64)]) -> [u32; 2] {
    if r.one_in(24) {
        return [values::word(r, buffers), values::word(r, buffers)];
    }
    let size = |r: &mut Random| match r.below(4) {
        0 => r.below(64),
        1 => 1 << r.below(14),
        _ => r.below(1024),
    } as u32;
    let one = match kind {
        Address => {
            let a = values::near(r, buffers);
            return [(a >> 32) as u32, a as u32];
        }
        Small => (r.below(64) >> r.below(7)) as u32,
        Size => size(r),
        Tile => (r.below(6) << 4 | r.below(3) << 8 | r.below(2) << 12 | (r.below(8) / 7) << 16) as u32,
        Format => 0xc0 + r.below(0x3b) as u32,
        Range => size(r) << 16 | size(r),
        Bits => r.word() as u32,
        Of(list) => *r.of_list(list),
        Step => r.below(6).wrapping_sub(2) as u32,
    };
    [one, 0]
}
