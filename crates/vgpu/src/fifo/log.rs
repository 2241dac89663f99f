//! Methods in the log of a card.

use super::push::{Run, Step};
use crate::device::Device;
use nvir_hw::method;

/// Words of data that are shown.
const SHOWN: usize = 8;

/// A line for each word of a run, or one for many to one method.
pub(super) fn run(device: &mut Device, run: &Run<'_>) {
    let place = device.place;
    let Some(log) = &mut device.log else { return };
    let words = run.words();
    if run.step == Step::Same && words.len() > 1 {
        let first: String = words.iter().take(SHOWN).map(|w| format!(" {w:08x}")).collect();
        let more = if words.len() > SHOWN { " ..." } else { "" };
        let name = method::name(place.class, run.method);
        log.line(format_args!(
            "  {:x} {} {:04x} {name} = {} words:{first}{more}",
            place.address,
            run.subchannel,
            place.class,
            words.len()
        ));
        return;
    }
    let mut method = run.method;
    for (i, word) in words.iter().enumerate() {
        let name = method::name(place.class, method);
        let at = place.address + 4 * i as u64;
        log.line(format_args!("  {at:x} {} {:04x} {name} = {word:08x}", run.subchannel, place.class));
        method += if run.step == Step::Next { 4 } else { 0 };
    }
}

/// A line for a method that a macro writes.
pub(super) fn macro_write(device: &mut Device, subchannel: usize, method: u32, value: u32) {
    let class = device.place.class;
    if let Some(log) = &mut device.log {
        let name = method::name(class, method);
        log.line(format_args!("    macro {subchannel} {name} = {value:08x}"));
    }
}
