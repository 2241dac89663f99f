//! Queries: results and times that the 3D and compute classes write to memory, fences among them.

use crate::device::{Device, EngineResult};
use crate::engine::registers::Registers;
use nvir_hw::method::query::{QUERY_ADDRESS_HIGH, QUERY_GET, QUERY_SEQUENCE};
use nvir_hw::word::{QueryGet, counter};

/// QUERY_GET, with what `count` says of the counter.
pub(crate) fn get(
    device: &mut Device,
    registers: &Registers,
    count: impl FnOnce(QueryGet) -> u64,
) -> EngineResult {
    let (address, sequence) = (registers.address(QUERY_ADDRESS_HIGH), registers.get(QUERY_SEQUENCE));
    let get = QueryGet::from_bits(registers.get(QUERY_GET));
    // Modes 0 and 2 write. The others wait for what is in memory already: everything is done in order here.
    if get.mode() & 1 != 0 {
        return Ok(());
    }
    if get.short() {
        device.log_write(address, 4);
        return device.memory.set_word(address, sequence).map_err(|e| e.to_string());
    }
    let count = count(get);
    let count = match get.select() {
        // Behind the sequence.
        counter::NOTHING | counter::SAMPLES | counter::FEEDBACK_BYTES => [sequence, count as u32],
        _ => [count as u32, (count >> 32) as u32],
    };
    let time = device.now();
    device.log_write(address, 8);
    device.log_time(address + 8, 8);
    let words = [count[0], count[1], time as u32, (time >> 32) as u32];
    device.memory.write_words(address, &words).map_err(|e| e.to_string())
}

/// A word that an engine writes when it has done what came before, and behind it the time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Release {
    pub address: u64,
    pub payload: u32,
    /// Four words: payload, zero, time.
    pub with_time: bool,
    /// How the payload is joined with the word that is there; `None`: it takes its place.
    pub reduction: Option<Reduction>,
}

/// What a release may do with a word, and whether the words are signed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Reduction {
    /// 0 to 7: add, minimum, maximum, increment, decrement, and, or, exclusive or.
    pub op: u32,
    pub signed: bool,
}

impl Reduction {
    fn apply(self, old: u32, payload: u32) -> u32 {
        let less = if self.signed { (old as i32) < payload as i32 } else { old < payload };
        match self.op {
            0 => old.wrapping_add(payload),
            1 => [payload, old][usize::from(less)],
            2 => [old, payload][usize::from(less)],
            // As kernels' atomics: up to the payload, and down from it.
            3 => [old.wrapping_add(1), 0][usize::from(old >= payload)],
            4 => [old.wrapping_sub(1), payload][usize::from(old == 0 || old > payload)],
            5 => old & payload,
            6 => old | payload,
            _ => old ^ payload,
        }
    }
}

impl Release {
    /// What ADDRESS_HIGH, LOW and SEQUENCE at `method` say.
    pub(crate) fn of(registers: &Registers, method: u32, with_time: bool) -> Release {
        let (address, payload) = (registers.address(method), registers.get(method + 8));
        Release { address, payload, with_time, reduction: None }
    }

    pub(crate) fn write(&self, device: &mut Device) -> EngineResult {
        let Release { address, mut payload, with_time, reduction } = *self;
        if let Some(reduction) = reduction {
            payload = reduction.apply(device.memory.word(address).map_err(|e| e.to_string())?, payload);
        }
        device.log_write(address, 4);
        if !with_time {
            return device.memory.set_word(address, payload).map_err(|e| e.to_string());
        }
        let time = device.now();
        device.log_time(address + 8, 8);
        let words = [payload, 0, time as u32, (time >> 32) as u32];
        device.memory.write_words(address, &words).map_err(|e| e.to_string())
    }
}

/// Whether a QUERY_GET only says how far the stream has come.
pub(crate) fn is_fence(get: u32) -> bool {
    let get = QueryGet::from_bits(get);
    get.short() && get.mode() & 1 == 0
}
