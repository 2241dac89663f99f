//! Constant buffers as they are defined and filled by the 3D and Fermi's compute class.

use crate::compute::Bank;
use crate::device::{Device, Effect};
use crate::registers::Registers;

const SIZE: u32 = 0x2380;
const ADDRESS: u32 = 0x2384;
const POSITION: u32 = 0x238c;
/// CB_DATA(0); all sixteen do the same.
pub(crate) const DATA: u32 = 0x2390;
/// Behind CB_DATA(15).
pub(crate) const DATA_END: u32 = 0x23d0;

/// The buffer that is being defined.
pub(crate) fn bank(registers: &Registers) -> Bank {
    Bank { address: registers.address(ADDRESS), size: registers.get(SIZE) }
}

/// Writes words at CB_POS, which moves on.
pub(crate) fn data(device: &mut Device, registers: &mut Registers, words: &[u32]) -> Effect {
    let position = registers.get(POSITION);
    let address = registers.address(ADDRESS).wrapping_add(position.into());
    let bytes = words.len() as u64 * 4;
    registers.set(POSITION, position.wrapping_add(bytes as u32));
    device.wrote(address, bytes);
    device.memory.write_words(address, words).map_err(|e| e.to_string())
}
