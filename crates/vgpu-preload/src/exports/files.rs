//! Descriptors: open, close, copy, map, call.

use super::{next, ours};
use crate::fds::{self, Description};
use crate::sys::{self, Errno, Result, fail};
use crate::tree::Node;
use crate::{arena, ioctl, machine};
use libc::{FILE, c_char, c_int, c_uint, c_ulong, c_void, off_t, size_t};
use std::sync::Arc;

type Open = unsafe extern "C" fn(*const c_char, c_int, ...) -> c_int;
type OpenAt = unsafe extern "C" fn(c_int, *const c_char, c_int, ...) -> c_int;
type Fopen = unsafe extern "C" fn(*const c_char, *const c_char) -> *mut FILE;
type Fcntl = unsafe extern "C" fn(c_int, c_int, ...) -> c_int;
type Mmap = unsafe extern "C" fn(*mut c_void, size_t, c_int, c_int, c_int, off_t) -> *mut c_void;

/// The result of a call as C returns it.
fn returned(r: Result<c_int>) -> c_int {
    r.unwrap_or_else(fail)
}

/// Opens a path of ours; None if it is none, or a folder that may be real.
///
/// # Safety
///
/// As for `open`.
unsafe fn open_ours(path: *const c_char, flags: c_int) -> Option<c_int> {
    // SAFETY: the caller's promise.
    let (node, _) = unsafe { ours(path) }?;
    Some(returned(match node {
        Node::Folder(_) => return None,
        Node::Device(_) | Node::File(_) if flags & libc::O_DIRECTORY != 0 => Err(Errno(libc::ENOTDIR)),
        Node::Device(card) => machine::open(card, flags),
        Node::File(text) => sys::file_of(text.as_bytes(), flags & libc::O_CLOEXEC != 0).map(sys::Fd::release),
        Node::Link(_) => Err(Errno(libc::EISDIR)),
    }))
}

/// Functions that open by path, all alike but for what follows.
macro_rules! open_functions {
    ($($name:ident = $real:literal;)*) => {$(
        /// # Safety
        ///
        /// As glibc's function of this name.
        #[unsafe(no_mangle)]
        pub(super) unsafe extern "C" fn $name(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
            // SAFETY: the caller's promise.
            if let Some(fd) = unsafe { open_ours(path, flags) } {
                return fd;
            }
            let real = next!($real, Open, else -1);
            // SAFETY: the arguments are the caller's.
            unsafe { real(path, flags, mode) }
        }
    )*};
}

open_functions! {
    open = c"open";
    open64 = c"open64";
    __open_2 = c"__open_2";
    __open64_2 = c"__open64_2";
}

macro_rules! openat_functions {
    ($($name:ident = $real:literal;)*) => {$(
        /// # Safety
        ///
        /// As glibc's function of this name.
        #[unsafe(no_mangle)]
        pub(super) unsafe extern "C" fn $name(dir: c_int, path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
            // Ours are absolute paths: the folder does not matter.
            // SAFETY: the caller's promise.
            if let Some(fd) = unsafe { open_ours(path, flags) } {
                return fd;
            }
            let real = next!($real, OpenAt, else -1);
            // SAFETY: the arguments are the caller's.
            unsafe { real(dir, path, flags, mode) }
        }
    )*};
}

openat_functions! {
    openat = c"openat";
    openat64 = c"openat64";
    __openat_2 = c"__openat_2";
    __openat64_2 = c"__openat64_2";
}

macro_rules! fopen_functions {
    ($($name:ident = $real:literal;)*) => {$(
        /// # Safety
        ///
        /// As glibc's function of this name.
        #[unsafe(no_mangle)]
        pub(super) unsafe extern "C" fn $name(path: *const c_char, mode: *const c_char) -> *mut FILE {
            // SAFETY: the caller's promise.
            let Some(fd) = (unsafe { open_ours(path, libc::O_CLOEXEC) }) else {
                let real = next!($real, Fopen, else std::ptr::null_mut());
                // SAFETY: the arguments are the caller's.
                return unsafe { real(path, mode) };
            };
            if fd < 0 {
                return std::ptr::null_mut();
            }
            // SAFETY: the descriptor is open, and the stream's from here on.
            unsafe { libc::fdopen(fd, c"r".as_ptr()) }
        }
    )*};
}

fopen_functions! {
    fopen = c"fopen";
    fopen64 = c"fopen64";
}

/// # Safety
///
/// As glibc's.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn close(fd: c_int) -> c_int {
    let what = fds::remove(fd);
    let real = next!(c"close", unsafe extern "C" fn(c_int) -> c_int, else -1);
    // SAFETY: the argument is the caller's.
    let r = unsafe { real(fd) };
    machine::forget(what);
    r
}

/// # Safety
///
/// As glibc's.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    let real = next!(c"close_range", unsafe extern "C" fn(c_uint, c_uint, c_int) -> c_int, else -1);
    // SAFETY: the arguments are the caller's.
    let r = unsafe { real(first, last, flags) };
    if r == 0 && flags as c_uint & libc::CLOSE_RANGE_CLOEXEC == 0 {
        fds::remove_range(first, last).into_iter().for_each(|what| machine::forget(Some(what)));
    }
    r
}

/// # Safety
///
/// As glibc's.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn closefrom(first: c_int) {
    let real = next!(c"closefrom", unsafe extern "C" fn(c_int), else);
    // SAFETY: the argument is the caller's.
    unsafe { real(first) };
    let first = c_uint::try_from(first).unwrap_or(0);
    fds::remove_range(first, c_uint::MAX).into_iter().for_each(|what| machine::forget(Some(what)));
}

/// `new` is a copy of `old` now, or another error.
fn copied(what: Option<Arc<Description>>, new: c_int) -> c_int {
    if let Some(what) = what
        && new >= 0
    {
        fds::copied(new, what);
    }
    new
}

/// # Safety
///
/// As glibc's.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn dup(old: c_int) -> c_int {
    let real = next!(c"dup", unsafe extern "C" fn(c_int) -> c_int, else -1);
    // SAFETY: the argument is the caller's.
    copied(fds::find(old), unsafe { real(old) })
}

/// # Safety
///
/// As glibc's.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn dup2(old: c_int, new: c_int) -> c_int {
    let real = next!(c"dup2", unsafe extern "C" fn(c_int, c_int) -> c_int, else -1);
    let what = fds::find(old);
    // SAFETY: the arguments are the caller's.
    let r = unsafe { real(old, new) };
    replaced(what, old, new, r)
}

/// # Safety
///
/// As glibc's.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn dup3(old: c_int, new: c_int, flags: c_int) -> c_int {
    let real = next!(c"dup3", unsafe extern "C" fn(c_int, c_int, c_int) -> c_int, else -1);
    let what = fds::find(old);
    // SAFETY: the arguments are the caller's.
    let r = unsafe { real(old, new, flags) };
    replaced(what, old, new, r)
}

/// What `new` was is closed, if the call did anything.
fn replaced(what: Option<Arc<Description>>, old: c_int, new: c_int, r: c_int) -> c_int {
    if r >= 0 && old != new {
        machine::forget(fds::remove(new));
        return copied(what, r);
    }
    machine::forget(what);
    r
}

macro_rules! fcntl_functions {
    ($($name:ident = $real:literal;)*) => {$(
        /// # Safety
        ///
        /// As glibc's function of this name.
        #[unsafe(no_mangle)]
        pub(super) unsafe extern "C" fn $name(fd: c_int, command: c_int, argument: c_ulong) -> c_int {
            let real = next!($real, Fcntl, else -1);
            let copies = matches!(command, libc::F_DUPFD | libc::F_DUPFD_CLOEXEC);
            let what = if copies { fds::find(fd) } else { None };
            // SAFETY: the arguments are the caller's.
            copied(what, unsafe { real(fd, command, argument) })
        }
    )*};
}

fcntl_functions! {
    fcntl = c"fcntl";
    fcntl64 = c"fcntl64";
}

/// # Safety
///
/// As glibc's.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn ioctl(fd: c_int, request: c_ulong, argument: *mut c_void) -> c_int {
    let Some(what) = fds::find(fd) else {
        let real = next!(c"ioctl", unsafe extern "C" fn(c_int, c_ulong, ...) -> c_int, else -1);
        // SAFETY: the arguments are the caller's.
        return unsafe { real(fd, request, argument) };
    };
    let r = ioctl::call(&what, request as u32, argument.expose_provenance() as u64);
    machine::forget(Some(what));
    returned(r)
}

macro_rules! mmap_functions {
    ($($name:ident = $real:literal;)*) => {$(
        /// # Safety
        ///
        /// As glibc's function of this name.
        #[unsafe(no_mangle)]
        pub(super) unsafe extern "C" fn $name(
            at: *mut c_void,
            bytes: size_t,
            protection: c_int,
            flags: c_int,
            fd: c_int,
            offset: off_t,
        ) -> *mut c_void {
            let real = next!($real, Mmap, else libc::MAP_FAILED);
            let (fd, offset) = match place(fd, bytes, flags, offset) {
                Ok(found) => found,
                Err(e) => {
                    sys::set_errno(e);
                    return libc::MAP_FAILED;
                }
            };
            // SAFETY: the caller's arguments, with the file in which the buffer lies.
            unsafe { real(at, bytes, protection, flags, fd, offset) }
        }
    )*};
}

mmap_functions! {
    mmap = c"mmap";
    mmap64 = c"mmap64";
}

/// The descriptor and offset to map: another's as they are, ours from the memory file.
fn place(fd: c_int, bytes: usize, flags: c_int, offset: off_t) -> Result<(c_int, off_t)> {
    if flags & libc::MAP_ANONYMOUS != 0 {
        return Ok((fd, offset));
    }
    let Some(what) = fds::find(fd) else { return Ok((fd, offset)) };
    let wrong = |_| Errno(libc::EINVAL);
    let at = u64::try_from(offset).map_err(wrong);
    let found = match &*what {
        Description::Device { .. } => at.and_then(|at| arena::place(at, bytes as u64)),
        Description::Buffer { map_handle, bytes: size, .. } => at.and_then(|at| {
            if at >= *size { Err(Errno(libc::EINVAL)) } else { arena::place(map_handle + at, bytes as u64) }
        }),
    };
    machine::forget(Some(what));
    let (fd, offset) = found?;
    Ok((fd, offset.try_into().map_err(wrong)?))
}
