//! Constant buffers as they are defined and filled by the 3D and Fermi's compute class.

use crate::device::{Device, EngineResult};
use crate::engine::registers::Registers;
use crate::shader::Bank;
use nvir_hw::method::bindings::{CB_ADDRESS_HIGH, CB_DATA, CB_POS, CB_SIZE};

/// Whether a method is CB_DATA: all sixteen do the same.
pub(crate) fn is_data(method: u32) -> bool {
    CB_DATA.index(method).is_some()
}

/// The buffer that is being defined.
pub(crate) fn bank(registers: &Registers) -> Bank {
    Bank { address: registers.address(CB_ADDRESS_HIGH), size: registers.get(CB_SIZE) }
}

/// Writes words at CB_POS, which moves on.
pub(crate) fn data(device: &mut Device, registers: &mut Registers, words: &[u32]) -> EngineResult {
    let position = registers.get(CB_POS);
    let address = registers.address(CB_ADDRESS_HIGH).wrapping_add(position.into());
    let bytes = words.len() as u64 * 4;
    registers.set(CB_POS, position.wrapping_add(bytes as u32));
    device.log_write(address, bytes);
    device.memory.write_words(address, words).map_err(|e| e.to_string())
}
