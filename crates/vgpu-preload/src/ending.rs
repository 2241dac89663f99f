//! The end of the process: what observers still hold is written, the profile is told, and faults and lost files change the
//! exit status.

use crate::options::options;
use crate::{faults, gate, machine, sys};
use nvir_base::input::why;
use std::env;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The process in which a fault happened, or a file was lost: what a child inherits is not its own.
static FAULTED: AtomicU32 = AtomicU32::new(0);
static LOST: AtomicU32 = AtomicU32::new(0);

/// A fault happened.
pub(crate) fn faulted() {
    FAULTED.store(sys::process(), Relaxed);
}

/// Something that should have been written was not.
pub(crate) fn lost() {
    LOST.store(sys::process(), Relaxed);
    gate::note("lost");
}

/// The status to end with, where the program ends with `status`.
pub(crate) fn status(status: i32) -> i32 {
    let here = |flag: &AtomicU32| flag.load(Relaxed) == sys::process();
    match options().error_exitcode {
        Some(code) if here(&FAULTED) => code.into(),
        _ if here(&LOST) && status == 0 => 1,
        _ => status,
    }
}

/// Runs before `main`: handlers that are registered now run behind all others, and behind those of libraries.
pub(crate) extern "C" fn before_main() {
    let _ = machine::guarded(|| {
        sys::on_exit(at_exit);
        // `nvir gpu` waits for the program, and may be killed: then nobody would end the program.
        let parent = env::var("NVIR_VGPU_PARENT").ok().and_then(|p| p.parse().ok());
        parent.map_or(Ok(()), sys::end_with_parent)
    });
}

extern "C" fn at_exit(ends_with: i32) {
    if !machine::opened() {
        return;
    }
    machine::finish();
    let new = status(ends_with);
    if new != ends_with {
        sys::exit_again(new);
    }
}

/// Tells of a fault in all ways that were asked for.
pub(crate) fn report(card: u32, fault: &nvir_vgpu::ChannelFault) {
    crate::options::say(&fault.text);
    faulted();
    if let Some(path) = &options().faults_json
        && let Err(e) = faults::add(path, card, fault)
    {
        crate::options::say(&format!(
            "NVIR_VGPU_FAULTS_JSON={}: {}; the list of faults is incomplete",
            path.display(),
            why(&e)
        ));
        lost();
    }
}
