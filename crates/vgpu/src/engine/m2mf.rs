//! M2MF (9039), GF100's copy engine: rows of bytes between linear and block-linear memory, or from the command stream.

use crate::device::{Device, EngineResult};
use crate::engine::query::Release;
use crate::engine::registers::Registers;
use crate::engine::upload::Inline;
use crate::engine::{Engine, condition};
use crate::image::transfer::{self, Blocks, ImageOperand};
use crate::watch::What;
use nvir_hw::method::m2mf::*;
use nvir_hw::word::{M2mfExec, RELEASE};

/// The class of a channel.
pub(crate) struct M2mf {
    regs: Registers,
    inline: Inline,
}

impl M2mf {
    pub(crate) fn new(regs: Registers) -> M2mf {
        M2mf { regs, inline: Inline::default() }
    }
}

impl Engine for M2mf {
    fn registers(&mut self) -> &mut Registers {
        &mut self.regs
    }

    fn method(&mut self, device: &mut Device, method: u32, value: u32) -> EngineResult {
        match method {
            EXEC if condition::holds(device, &self.regs, COND_ADDRESS_HIGH)? => {
                exec(device, &self.regs, &mut self.inline)
            }
            DATA => self.inline.data(device, &[value]),
            _ => Ok(()),
        }
    }

    fn bulk(&mut self, device: &mut Device, method: u32, words: &[u32]) -> EngineResult<bool> {
        if method != DATA {
            return Ok(false);
        }
        self.inline.data(device, words)?;
        Ok(true)
    }
}

/// A side whose address, pitch, tiling words and position are at these methods. A position does not apply to rows: the
/// address has it already.
fn side(
    r: &Registers,
    linear: bool,
    address: u32,
    pitch: u32,
    tiling: u32,
    position: u32,
) -> EngineResult<ImageOperand> {
    let address = r.address(address);
    if linear {
        return Ok(ImageOperand::Pitch { address, pitch: r.get(pitch).into() });
    }
    ImageOperand::blocks(Blocks {
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
fn exec(device: &mut Device, r: &Registers, inline: &mut Inline) -> EngineResult {
    let how = M2mfExec::from_bits(r.get(EXEC));
    let release = (how.completion() == RELEASE).then(|| Release::of(r, QUERY_ADDRESS_HIGH, !how.short()));
    let (line, lines) = (r.get(LINE_LENGTH_IN), r.get(LINE_COUNT));
    let to = side(r, how.linear_out(), OFFSET_OUT_HIGH, PITCH_OUT, TILING_MODE_OUT, TILING_POSITION_OUT_X)?;
    if how.push() {
        return inline.begin(device, to, (line, lines), release);
    }
    let from = side(r, how.linear_in(), OFFSET_IN_HIGH, PITCH_IN, TILING_MODE_IN, TILING_POSITION_IN_X)?;
    let what = || What::Copy(transfer::describe(&from, &to, line.into(), lines.into()));
    device.command(r, what, Vec::new, |d| transfer::copy(d, &from, &to, line.into(), lines.into()))?;
    release.map_or(Ok(()), |release| release.write(device))
}
