//! The semaphore of a channel.

use crate::device::{Device, EngineResult};
use crate::engine::query::Release;
use crate::engine::registers::Registers;
use nvir_hw::method::channel::{SEMAPHORE_ADDRESS_HIGH, SEMAPHORE_SEQUENCE};
use nvir_hw::word::SemaphoreTrigger;

/// SEMAPHORE_TRIGGER. Nothing else runs, so that what is not there when it is waited for never
/// comes.
pub(super) fn trigger(device: &mut Device, channel: &Registers, trigger: u32) -> EngineResult {
    let (address, value) = (channel.address(SEMAPHORE_ADDRESS_HIGH), channel.get(SEMAPHORE_SEQUENCE));
    let trigger = SemaphoreTrigger::from_bits(trigger);
    if trigger.release() {
        return Release::of(channel, SEMAPHORE_ADDRESS_HIGH, !trigger.short()).write(device);
    }
    if trigger.acquire_equal() || trigger.acquire_greater() {
        let there = device.memory.word(address).map_err(|e| e.to_string())?;
        let enough =
            if trigger.acquire_equal() { there == value } else { there.wrapping_sub(value) as i32 >= 0 };
        if !enough {
            return Err(format!(
                "the wait for {value:#x} at {address:#x}, which holds {there:#x}, never returns"
            ));
        }
    }
    Ok(())
}
