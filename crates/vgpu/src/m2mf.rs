//! M2MF (9039), GF100's copy engine: rows of bytes between linear and block-linear memory, or from the command stream.

use crate::device::{Device, Effect};
use crate::query::Release;
use crate::registers::Registers;
use crate::transfer::{self, Blocks, Side};
use crate::upload::{Inline, RELEASE};

const TILING_IN: u32 = 0x204;
const TILING_OUT: u32 = 0x220;
const OFFSET_OUT: u32 = 0x238;
/// Writing it starts: bit 0 data come as DATA, bit 4 the source lies row by row, bit 8 the destination, 13:12 at the end (2:
/// release), 20 without a time.
pub(crate) const EXEC: u32 = 0x300;
pub(crate) const DATA: u32 = 0x304;
const OFFSET_IN: u32 = 0x30c;
const PITCH_IN: u32 = 0x314;
const PITCH_OUT: u32 = 0x318;
const LINE_LENGTH: u32 = 0x31c;
const LINE_COUNT: u32 = 0x320;
/// QUERY_ADDRESS_HIGH, LOW, SEQUENCE.
const QUERY: u32 = 0x32c;
/// COND_ADDRESS_HIGH, LOW, MODE.
pub(crate) const CONDITION: u32 = 0x338;
const POSITION_IN: u32 = 0x344;
const POSITION_OUT: u32 = 0x34c;

/// A side whose address, pitch, tiling words and position are at these methods. A position does not apply to rows: the
/// address has it already.
fn side(r: &Registers, linear: bool, address: u32, pitch: u32, tiling: u32, position: u32) -> Effect<Side> {
    let address = r.address(address);
    if linear {
        return Ok(Side::Pitch { address, pitch: r.get(pitch).into() });
    }
    Side::blocks(Blocks {
        address,
        tile_mode: r.get(tiling),
        row_bytes: r.get(tiling + 4).into(),
        rows: r.get(tiling + 8),
        slices: r.get(tiling + 12),
        z: r.get(tiling + 16),
        x: r.get(position).into(),
        y: r.get(position + 4).into(),
    })
}

/// EXEC.
pub(crate) fn exec(device: &mut Device, r: &Registers, inline: &mut Inline) -> Effect {
    let how = r.get(EXEC);
    let release = (how >> 12 & 3 == RELEASE).then(|| Release::of(r, QUERY, how >> 20 & 1 == 0));
    let (line, lines) = (r.get(LINE_LENGTH), r.get(LINE_COUNT));
    let to = side(r, how >> 8 & 1 != 0, OFFSET_OUT, PITCH_OUT, TILING_OUT, POSITION_OUT)?;
    if how & 1 != 0 {
        return inline.begin(device, to, (line, lines), release);
    }
    let from = side(r, how >> 4 & 1 != 0, OFFSET_IN, PITCH_IN, TILING_IN, POSITION_IN)?;
    transfer::copy(device, &from, &to, line.into(), lines.into())?;
    release.map_or(Ok(()), |release| release.write(device))
}
