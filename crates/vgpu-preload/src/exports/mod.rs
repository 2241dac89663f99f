//! The intercepted functions of glibc. What is ours is answered here, all else goes on.
//!
//! Variadic functions (`open`, `fcntl`, `ioctl`) are defined with their one optional argument: on the 64-bit machines that
//! this library is for, a caller passes it in the same register, and what is there if it passed none is only handed on.

mod files;
mod folders;
mod paths;

use crate::options::options;
use crate::sys;
use crate::tree::{self, Node};
use libc::c_char;

/// What the dynamic linker calls when it has loaded this library.
#[used]
// SAFETY: functions in this section are called once, without arguments that ours would read, before `main`.
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = crate::ending::before_main;

/// The next function of a name, of this type, or the error value where there is none.
macro_rules! next {
    ($name:literal, $kind:ty, else $($error:expr)?) => {{
        // SAFETY: the type is the C library's declaration of this function.
        static NEXT: $crate::sys::Next<$kind> = unsafe { $crate::sys::Next::new($name) };
        match NEXT.get() {
            Some(f) => f,
            None => return $($error)?,
        }
    }};
}
use next;

/// What a path is, if it is one of ours, and the path itself.
///
/// # Safety
///
/// As for `open`: a string, or an address that cannot be one's.
unsafe fn ours<'a>(path: *const c_char) -> Option<(Node, &'a [u8])> {
    // SAFETY: the caller's promise.
    let path = unsafe { sys::string(path) }?;
    if !tree::may_hold(path) {
        return None;
    }
    Some((tree::find(path, options().cards)?, path))
}
