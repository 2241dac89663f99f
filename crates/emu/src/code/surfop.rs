//! Surface instructions, and what Kepler's address arithmetic computes.
//!
//! What SUCLAMP, SUBFM, SUEAU and IMADSP.SD do bit by bit was found by NAK's authors on cards (Mesa `src/nouveau/compiler/nak`:
//! ir.rs, hw_tests.rs) and together with the driver's words ([`nvir_hw::surface`]) gives the addresses of
//! [`nvir_base::tiling`]. A clamped coordinate is one of
//!
//! | bits | block-linear | row by row |
//! |---|---|---|
//! | 15:0 | block | coordinate (19:0) |
//! | 23:16 | low byte of the coordinate in bytes | |
//! | 29:27 | log2 of a block's gobs | log2 of a texel's bytes |
//! | 30 | 0 | 1 |
//! | 31 | outside | outside |

use super::operand::{PSrc, Width};
use crate::state::lanes::Src;

/// What SUCLAMP is told of a coordinate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// By the word (`SD`).
    Described,
    /// LaneVec by row (`PL`).
    Pitch,
    /// `BL`.
    Blocks,
}

/// The suffixes of SUCLAMP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Clamp {
    pub order: Order,
    /// Log2 of what the bound is rounded down to a multiple of: `R1` to `R16`.
    pub round: u32,
    pub one_d: bool,
    pub signed: bool,
}

/// What an access by address or slot does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    Load(Width),
    Store(Width),
    /// Through the format.
    StoreTexel,
    /// The address of a texel, and whether it is outside.
    Address {
        width: Width,
        pdst: u8,
    },
}

impl Access {
    /// Whether it changes the surface.
    pub fn writes(self) -> bool {
        matches!(self, Access::Store(_) | Access::StoreTexel)
    }
}

/// Where a surface access goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// A pair: low bits and address / 256; with `wide` the low word is a 32-bit offset. `outside` suppresses it.
    Address { reg: u8, wide: bool, format: Src, outside: PSrc },
    /// A bound slot and the first of `dims` coordinates; the third of an array is its layer's offset / 256.
    Slot { slot: Src, coord: u8, dims: u8, layered: bool },
}

/// SULDGA, SUSTGA; SULD, SUST, SULEA.
#[derive(Clone, Copy, Debug)]
pub struct SurfaceOp {
    pub access: Access,
    pub target: Target,
    pub data: u8,
    /// `.TRAP`: outside is a fault.
    pub trap: bool,
    /// A load past the cache that multiprocessors do not keep coherent (`.CV`).
    pub coherent: bool,
}

/// SUCLAMP: the packed coordinate, and whether it was outside.
pub(crate) fn clamp(a: u32, word: u32, bias: i32, how: Clamp) -> (u32, bool) {
    let pitch = match how.order {
        Order::Described => word >> 21 & 1 != 0,
        Order::Pitch => true,
        Order::Blocks => false,
    };
    let bound = if how.order == Order::Pitch && how.one_d { word } else { word & 0xf_ffff };
    let bound = bound & (u32::MAX << how.round);
    let at = if how.signed { i64::from(a as i32) } else { i64::from(a) } + i64::from(bias);
    let v = at.clamp(0, bound.into()) as u32;
    let outside = at != i64::from(v);
    let flag = u32::from(outside) << 31;
    let bytes = word >> 26 & 7;
    let packed = match (pitch, how.one_d) {
        (true, true) => v,
        (true, false) => flag | 1 << 30 | bytes << 27 | v & 0xf_ffff,
        (false, _) => {
            let block = v >> (word >> 22 & 15);
            flag | word >> 29 << 27 | (v << bytes & 0xff) << 16 | block & 0xffff
        }
    };
    (packed, outside)
}

/// SUBFM: the low byte of the address with what SUEAU needs beside, and whether a coordinate was outside.
pub(crate) fn subfm(x: u32, y: u32, z: u32, three_d: bool) -> (u32, bool) {
    let z_flag = if three_d { z } else { 0 };
    let outside = (x | y | z_flag) >> 31 != 0;
    if (x | y) >> 30 & 1 != 0 {
        let bytes = x >> 27 & 7;
        return (1 << 11 | bytes << 12 | z << bytes & 0xff, outside);
    }
    let (nx, ny, nz) = (x >> 27 & 1, y >> 27 & 7, if three_d { z >> 27 & 7 } else { 0 });
    let field = |v: u32, at: u32, width: u32| v >> at & ((1 << width) - 1);
    let low = field(x, 16, 4)
        | field(y, 16, 2) << 4
        | field(x, 20, 1) << 6
        | field(y, 18, 1) << 7
        | field(x, 21, 1) << 8;
    let deep = if three_d { field(z, 16, 8) & ((1 << nz.min(5)) - 1) } else { 0 };
    let gob = (deep << ny | field(y, 19, ny.min(5))) << nx | field(x, 22, nx);
    let gob = gob & if nx == 0 { 0x3ff } else { 0x7ff };
    (low | ((nx + ny + nz) & 15) << 12 | gob << 16, outside)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::laneop::LaneOp;

    const TWO_D: Clamp = Clamp { order: Order::Described, round: 0, one_d: false, signed: true };

    #[test]
    fn texel_17_9_of_256_by_64_words_is_where_the_card_finds_it() {
        let (x, y) = (clamp(17, 0x0900_00ff, 0, TWO_D), clamp(9, 0x00c0_003f, 0, TWO_D));
        assert_eq!((x, y), ((0x44_0001, false), (0x9_0001, false)));
        let bits = subfm(x.0, y.0, 0, false);
        assert_eq!(bits, (0x14, false));
        let offset = (y.0 & 0xffff) * 0x10 + (x.0 & 0xffff);
        assert_eq!(offset, 0x11);
        assert_eq!(LaneOp::SurfaceAddress.eval(offset, bits.0, 0x1000), 0x1022);
    }

    #[test]
    fn coordinates_are_clamped_to_a_rounded_bound() {
        let of = |order, round, one_d, signed| Clamp { order, round, one_d, signed };
        // Only PL.1D takes the whole word for the bound, and only BL ignores what the word says of the order.
        let linear = 0x0920_0013;
        assert_eq!(clamp(5, linear, -6, of(Order::Described, 0, true, true)), (0, true));
        assert_eq!(clamp(0x14, linear, 0, of(Order::Described, 0, true, true)), (0x13, true));
        assert_eq!(clamp(0x14, linear, 0, of(Order::Described, 2, true, true)), (0x10, true));
        assert_eq!(clamp(0x12, linear, 0, of(Order::Described, 0, false, true)), (0x5000_0012, false));
        assert_eq!(clamp(0x12, linear, 0, of(Order::Blocks, 0, false, true)), (0x0048_0001, false));
        assert_eq!(clamp(0x0900_0000, linear, 0, of(Order::Pitch, 0, true, true)), (0x0900_0000, false));
        assert_eq!(clamp(u32::MAX, linear, 0, of(Order::Pitch, 0, true, true)), (0, true));
        assert_eq!(clamp(u32::MAX, linear, 0, of(Order::Pitch, 0, true, false)), (linear, true));
        assert_eq!(clamp(u32::MAX, linear, 1, of(Order::Pitch, 0, false, true)), (0x5000_0000, false));
        // A bound that is no multiple does not round the coordinate.
        assert_eq!(clamp(7, 0x13, 0, of(Order::Pitch, 3, true, true)), (7, false));
    }
}
