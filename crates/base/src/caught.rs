//! Panics as errors.
//!
//! A violated invariant must not take the caller down with it: a driver goes on without this
//! shader. Nor may a library print what it has to say. The hook that prints panics is process-wide,
//! so it is wrapped once, and quiet only on threads that are inside [`catching`].

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// How many calls of [`catching`] the thread is inside of.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// What the last panic said, and where.
    static SAID: RefCell<String> = const { RefCell::new(String::new()) };
}

/// What `work` gives, or what it said when it panicked, with the place in our source.
pub fn catching<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |info| if DEPTH.get() > 0 { SAID.set(said(info)) } else { before(info) }));
    });
    DEPTH.set(DEPTH.get() + 1);
    let result = catch_unwind(AssertUnwindSafe(work));
    DEPTH.set(DEPTH.get() - 1);
    result.map_err(|_| SAID.take())
}

fn said(info: &PanicHookInfo<'_>) -> String {
    let message = info.payload_as_str().unwrap_or("panic");
    match info.location() {
        Some(at) => format!("{message} ({}:{})", at.file(), at.line()),
        None => message.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::catching;

    #[test]
    fn a_panic_is_an_error_with_its_place() {
        let why = catching(|| -> u32 { panic!("nothing at {}", 7) }).expect_err("it panics");
        assert!(why.starts_with("nothing at 7 (") && why.contains("caught.rs:"), "{why}");
        assert_eq!(catching(|| 1), Ok(1));
    }
}
