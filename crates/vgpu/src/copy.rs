//! The copy engine a0b5 of Kepler.

use crate::device::{Device, Effect};
use crate::query::Release;
use crate::registers::Registers;
use crate::transfer::{self, Blocks, Side};

/// Writing it starts.
pub(crate) const EXEC: u32 = 0x300;
/// QUERY_ADDRESS_HIGH, LOW, SEQUENCE.
const QUERY: u32 = 0x240;
const SOURCE: u32 = 0x400;
const DESTINATION: u32 = 0x408;
const SOURCE_PITCH: u32 = 0x410;
const DESTINATION_PITCH: u32 = 0x414;
const X_COUNT: u32 = 0x418;
const Y_COUNT: u32 = 0x41c;
const SWIZZLE: u32 = 0x708;
const DESTINATION_BLOCKS: u32 = 0x70c;
const SOURCE_BLOCKS: u32 = 0x728;

/// Bits of EXEC. Mesa's header has the names of the two layouts exchanged.
const MODE: u32 = 3;
/// Bits 4:3: a word at the end, or four with the time.
const RELEASE_SHIFT: u32 = 3;
const SOURCE_LINEAR: u32 = 1 << 7;
const DESTINATION_LINEAR: u32 = 1 << 8;
const TWO_DIMENSIONS: u32 = 1 << 9;
const ELEMENTS: u32 = 1 << 10;
const PHYSICAL: u32 = 3 << 12;
const REDUCTION: u32 = 1 << 19;

/// A side: block dimensions, sizes x, y, z, slice, position.
fn side(r: &Registers, linear: bool, address: u32, pitch: u32, blocks: u32, element: u64) -> Effect<Side> {
    let address = r.address(address);
    if linear {
        return Ok(Side::Pitch { address, pitch: r.get(pitch).into() });
    }
    let position = r.get(blocks + 20);
    Side::blocks(Blocks {
        address,
        tile_mode: r.get(blocks),
        row_bytes: u64::from(r.get(blocks + 4)) * element,
        rows: r.get(blocks + 8),
        slices: r.get(blocks + 12),
        z: r.get(blocks + 16),
        x: u64::from(position & 0xffff) * element,
        y: (position >> 16).into(),
    })
}

/// EXEC.
pub(crate) fn exec(device: &mut Device, r: &Registers) -> Effect {
    let how = r.get(EXEC);
    if how & (PHYSICAL | REDUCTION) != 0 {
        return Err(format!("EXEC {how:#x}: physical addresses and reductions are not there"));
    }
    if how & MODE != 0 {
        rectangle(device, r, how)?;
    }
    match how >> RELEASE_SHIFT & 3 {
        0 => Ok(()),
        1 => Release::of(r, QUERY, false).write(device),
        2 => Release::of(r, QUERY, true).write(device),
        _ => Err(format!("EXEC {how:#x}: no such semaphore")),
    }
}

fn rectangle(device: &mut Device, r: &Registers, how: u32) -> Effect {
    let element = if how & ELEMENTS != 0 { element(r.get(SWIZZLE))? } else { 1 };
    let from = side(r, how & SOURCE_LINEAR != 0, SOURCE, SOURCE_PITCH, SOURCE_BLOCKS, element)?;
    let to =
        side(r, how & DESTINATION_LINEAR != 0, DESTINATION, DESTINATION_PITCH, DESTINATION_BLOCKS, element)?;
    let rows = if how & TWO_DIMENSIONS != 0 { r.get(Y_COUNT) } else { 1 };
    transfer::copy(device, &from, &to, u64::from(r.get(X_COUNT)) * element, rows.into())
}

/// Bytes of an element: 17:16 bytes of a component - 1, 21:20 and 25:24 components of the source and the destination - 1, and
/// from 0 on four bits for each, which say whence it comes.
fn element(swizzle: u32) -> Effect<u64> {
    let count = 1 + (swizzle >> 20 & 3);
    if 1 + (swizzle >> 24 & 3) != count || (0..count).any(|i| swizzle >> (4 * i) & 15 != i) {
        return Err(format!("components are not copied as they are: SWIZZLE {swizzle:#x}"));
    }
    Ok((count * (1 + (swizzle >> 16 & 3))).into())
}
