//! Conditional execution: whether clears, blits and launches happen, from a query's result in memory.

use crate::device::{Device, EngineResult};
use crate::engine::registers::Registers;
use nvir_hw::word::condition::{ALWAYS, EQUAL, NEVER, NON_ZERO, NOT_EQUAL};

/// Whether the condition at `method` holds: ADDRESS_HIGH, LOW, MODE. A report is a sequence, a count and a time, or a count of
/// 64 bits and a time; two stand side by side.
pub(crate) fn holds(device: &Device, r: &Registers, method: u32) -> EngineResult<bool> {
    let address = r.address(method);
    let wide = |skip: u64| -> EngineResult<u64> {
        let mut words = [0; 2];
        device.memory.read_words(address + skip, &mut words).map_err(|e| e.to_string())?;
        Ok(u64::from(words[1]) << 32 | u64::from(words[0]))
    };
    Ok(match r.get(method + 8) {
        NEVER => false,
        ALWAYS => true,
        NON_ZERO => device.memory.word(address + 4).map_err(|e| e.to_string())? != 0,
        EQUAL => wide(0)? == wide(16)?,
        NOT_EQUAL => wide(0)? != wide(16)?,
        mode => return Err(format!("condition {mode} does not exist")),
    })
}
