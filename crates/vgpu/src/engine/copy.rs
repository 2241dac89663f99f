//! The copy engine a0b5 of Kepler.

use super::Engine;
use crate::device::{Device, EngineResult};
use crate::engine::query::Release;
use crate::engine::registers::Registers;
use crate::image::transfer::{self, Blocks, ImageOperand};
use crate::watch::What;
use nvir_hw::method::copy::*;
use nvir_hw::word::{CopyExec, CopySwizzle};

/// The class of a channel.
pub(crate) struct Copy(Registers);

impl Copy {
    pub(crate) fn new(regs: Registers) -> Copy {
        Copy(regs)
    }
}

impl Engine for Copy {
    fn registers(&mut self) -> &mut Registers {
        &mut self.0
    }

    fn method(&mut self, device: &mut Device, method: u32, _: u32) -> EngineResult {
        if method == EXEC { exec(device, &self.0) } else { Ok(()) }
    }
}

/// A side: block dimensions, sizes x, y, z, slice, position.
fn side(
    r: &Registers,
    linear: bool,
    address: u32,
    pitch: u32,
    blocks: u32,
    element: u64,
) -> EngineResult<ImageOperand> {
    let address = r.address(address);
    if linear {
        return Ok(ImageOperand::Pitch { address, pitch: r.get(pitch).into() });
    }
    let position = r.get(blocks + 20);
    ImageOperand::blocks(Blocks {
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
fn exec(device: &mut Device, r: &Registers) -> EngineResult {
    let how = CopyExec::from_bits(r.get(EXEC));
    if how.physical() != 0 || how.reduction() {
        return Err(format!(
            "EXEC {:#x}: physical addresses and reductions are not implemented",
            how.into_bits()
        ));
    }
    if how.transfer() != 0 {
        rectangle(device, r, how)?;
    }
    match how.release() {
        0 => Ok(()),
        1 => Release::of(r, QUERY_ADDRESS_HIGH, false).write(device),
        2 => Release::of(r, QUERY_ADDRESS_HIGH, true).write(device),
        _ => Err(format!("EXEC {:#x}: no such semaphore", how.into_bits())),
    }
}

fn rectangle(device: &mut Device, r: &Registers, how: CopyExec) -> EngineResult {
    let element = if how.elements() { element(r.get(SWIZZLE))? } else { 1 };
    let from = side(r, how.src_linear(), SRC_ADDRESS_HIGH, SRC_PITCH, SRC_BLOCK_DIMENSIONS, element)?;
    let to = side(r, how.dst_linear(), DST_ADDRESS_HIGH, DST_PITCH, DST_BLOCK_DIMENSIONS, element)?;
    let rows = if how.lines() { r.get(Y_COUNT) } else { 1 };
    let bytes = u64::from(r.get(X_COUNT)) * element;
    let what = || What::Copy(transfer::describe(&from, &to, bytes, rows.into()));
    device.command(r, what, Vec::new, |device| transfer::copy(device, &from, &to, bytes, rows.into()))
}

/// Bytes of an element whose components stay where they are.
fn element(swizzle: u32) -> EngineResult<u64> {
    let s = CopySwizzle::from_bits(swizzle);
    let count = 1 + s.source();
    let whole = (1 << (4 * count)) - 1;
    if s.destination() != s.source() || (s.from() ^ CopySwizzle::IDENTITY) & whole != 0 {
        return Err(format!("components are not copied as they are: SWIZZLE {swizzle:#x}"));
    }
    Ok((count * (1 + s.bytes())).into())
}
