//! What a path or descriptor is: stat and its relatives, links, access.

use super::{next, ours};
use crate::fds::{self, Description};
use crate::machine;
use crate::sys::{self, Errno, fail};
use crate::tree::Node;
use libc::{c_char, c_int, c_uint, size_t, ssize_t, stat as Stat, statx as Statx};

type StatPath = unsafe extern "C" fn(*const c_char, *mut Stat) -> c_int;
type StatFd = unsafe extern "C" fn(c_int, *mut Stat) -> c_int;
type StatAt = unsafe extern "C" fn(c_int, *const c_char, *mut Stat, c_int) -> c_int;

/// What is said of a node, and its inode number.
struct Facts {
    mode: u32,
    size: usize,
    device: libc::dev_t,
    inode: u64,
}

impl Facts {
    fn of(node: &Node, path: &[u8]) -> Facts {
        Facts { mode: node.mode(), size: node.size(), device: node.device_number(), inode: node.inode(path) }
    }

    fn write(&self, to: *mut Stat) -> c_int {
        // SAFETY: all-zero bytes are a valid `stat`.
        let mut s: Stat = unsafe { std::mem::zeroed() };
        s.st_dev = 5;
        s.st_ino = self.inode;
        s.st_mode = self.mode;
        s.st_nlink = 1;
        s.st_rdev = self.device;
        s.st_size = self.size as libc::off_t;
        s.st_blksize = 4096;
        written(sys::write_client_struct(to.expose_provenance() as u64, &s))
    }

    fn write_x(&self, to: *mut Statx) -> c_int {
        // SAFETY: all-zero bytes are a valid `statx`.
        let mut s: Statx = unsafe { std::mem::zeroed() };
        s.stx_mask = libc::STATX_BASIC_STATS;
        s.stx_dev_minor = 5;
        s.stx_ino = self.inode;
        s.stx_mode = self.mode as u16;
        s.stx_nlink = 1;
        s.stx_rdev_major = libc::major(self.device);
        s.stx_rdev_minor = libc::minor(self.device);
        s.stx_size = self.size as u64;
        s.stx_blksize = 4096;
        written(sys::write_client_struct(to.expose_provenance() as u64, &s))
    }
}

fn written(r: sys::Result<()>) -> c_int {
    r.map_or_else(fail, |()| 0)
}

/// Of a path of ours that is not a real folder as well.
///
/// # Safety
///
/// As for `stat`.
unsafe fn of_path(path: *const c_char, follow: bool) -> Option<Facts> {
    // SAFETY: the caller's promise.
    let (node, path) = unsafe { ours(path) }?;
    Some(match node {
        Node::Folder(_) if path.starts_with(b"/dev") && real_folder() => return None,
        Node::Link(_) if follow => Facts::of(&Node::Folder(Vec::new()), path),
        node => Facts::of(&node, path),
    })
}

/// Whether this machine has a `/dev/dri` of its own.
fn real_folder() -> bool {
    type Access = unsafe extern "C" fn(*const c_char, c_int) -> c_int;
    let real = next!(c"access", Access, else false);
    // SAFETY: a path that ends with a zero byte.
    unsafe { real(c"/dev/dri".as_ptr(), libc::F_OK) == 0 }
}

/// Of a descriptor of ours.
fn of_fd(fd: c_int) -> Option<Facts> {
    let what = fds::find(fd)?;
    let facts = match &*what {
        Description::Device { card, .. } => Some(Facts::of(&Node::Device(*card), b"")),
        Description::Buffer { .. } => None,
    };
    machine::forget(Some(what));
    facts
}

macro_rules! stat_functions {
    ($($name:ident = $real:literal, $follow:literal;)*) => {$(
        /// # Safety
        ///
        /// As glibc's function of this name. On 64-bit machines `stat` and `stat64` are the same.
        #[unsafe(no_mangle)]
        pub(super) unsafe extern "C" fn $name(path: *const c_char, to: *mut Stat) -> c_int {
            // SAFETY: the caller's promise.
            if let Some(facts) = unsafe { of_path(path, $follow) } {
                return facts.write(to);
            }
            let real = next!($real, StatPath, else -1);
            // SAFETY: the arguments are the caller's.
            unsafe { real(path, to) }
        }
    )*};
}

stat_functions! {
    stat = c"stat", true;
    stat64 = c"stat64", true;
    lstat = c"lstat", false;
    lstat64 = c"lstat64", false;
}

macro_rules! fstat_functions {
    ($($name:ident = $real:literal;)*) => {$(
        /// # Safety
        ///
        /// As glibc's function of this name.
        #[unsafe(no_mangle)]
        pub(super) unsafe extern "C" fn $name(fd: c_int, to: *mut Stat) -> c_int {
            if let Some(facts) = of_fd(fd) {
                return facts.write(to);
            }
            let real = next!($real, StatFd, else -1);
            // SAFETY: the arguments are the caller's.
            unsafe { real(fd, to) }
        }
    )*};
}

fstat_functions! {
    fstat = c"fstat";
    fstat64 = c"fstat64";
}

/// As `fstatat`, of what is ours.
///
/// # Safety
///
/// As for `fstatat`.
unsafe fn of_either(dir: c_int, path: *const c_char, flags: c_int) -> Option<Facts> {
    // SAFETY: the caller's promise.
    unsafe {
        if flags & libc::AT_EMPTY_PATH != 0 && sys::string(path).is_none_or(<[u8]>::is_empty) {
            return of_fd(dir);
        }
        of_path(path, flags & libc::AT_SYMLINK_NOFOLLOW == 0)
    }
}

macro_rules! fstatat_functions {
    ($($name:ident = $real:literal;)*) => {$(
        /// # Safety
        ///
        /// As glibc's function of this name.
        #[unsafe(no_mangle)]
        pub(super) unsafe extern "C" fn $name(dir: c_int, path: *const c_char, to: *mut Stat, flags: c_int) -> c_int {
            // SAFETY: the caller's promise.
            if let Some(facts) = unsafe { of_either(dir, path, flags) } {
                return facts.write(to);
            }
            let real = next!($real, StatAt, else -1);
            // SAFETY: the arguments are the caller's.
            unsafe { real(dir, path, to, flags) }
        }
    )*};
}

fstatat_functions! {
    fstatat = c"fstatat";
    fstatat64 = c"fstatat64";
}

/// # Safety
///
/// As glibc's.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn statx(
    dir: c_int,
    path: *const c_char,
    flags: c_int,
    mask: c_uint,
    to: *mut Statx,
) -> c_int {
    // SAFETY: the caller's promise.
    if let Some(facts) = unsafe { of_either(dir, path, flags) } {
        return facts.write_x(to);
    }
    type Real = unsafe extern "C" fn(c_int, *const c_char, c_int, c_uint, *mut Statx) -> c_int;
    let real = next!(c"statx", Real, else -1);
    // SAFETY: the arguments are the caller's.
    unsafe { real(dir, path, flags, mask, to) }
}

// Programs made for glibc before 2.33 call these, with a version of the structure.

macro_rules! xstat_functions {
    ($($name:ident = $real:literal, $follow:literal;)*) => {$(
        /// # Safety
        ///
        /// As glibc's function of this name.
        #[unsafe(no_mangle)]
        pub(super) unsafe extern "C" fn $name(version: c_int, path: *const c_char, to: *mut Stat) -> c_int {
            // SAFETY: the caller's promise.
            if let Some(facts) = unsafe { of_path(path, $follow) } {
                return facts.write(to);
            }
            let real = next!($real, unsafe extern "C" fn(c_int, *const c_char, *mut Stat) -> c_int, else -1);
            // SAFETY: the arguments are the caller's.
            unsafe { real(version, path, to) }
        }
    )*};
}

xstat_functions! {
    __xstat = c"__xstat", true;
    __xstat64 = c"__xstat64", true;
    __lxstat = c"__lxstat", false;
    __lxstat64 = c"__lxstat64", false;
}

macro_rules! fxstat_functions {
    ($($name:ident = $real:literal;)*) => {$(
        /// # Safety
        ///
        /// As glibc's function of this name.
        #[unsafe(no_mangle)]
        pub(super) unsafe extern "C" fn $name(version: c_int, fd: c_int, to: *mut Stat) -> c_int {
            if let Some(facts) = of_fd(fd) {
                return facts.write(to);
            }
            let real = next!($real, unsafe extern "C" fn(c_int, c_int, *mut Stat) -> c_int, else -1);
            // SAFETY: the arguments are the caller's.
            unsafe { real(version, fd, to) }
        }
    )*};
}

fxstat_functions! {
    __fxstat = c"__fxstat";
    __fxstat64 = c"__fxstat64";
}

/// What `access` returns for a path of ours.
///
/// # Safety
///
/// As for `access`.
unsafe fn access_ours(path: *const c_char, mode: c_int) -> Option<c_int> {
    // SAFETY: the caller's promise.
    let facts = unsafe { of_path(path, true) }?;
    let allowed = facts.mode & 0o222 != 0 || mode & libc::W_OK == 0;
    let allowed = allowed && (facts.mode & 0o111 != 0 || mode & libc::X_OK == 0);
    Some(if allowed { 0 } else { fail(Errno(libc::EACCES)) })
}

/// # Safety
///
/// As glibc's.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn access(path: *const c_char, mode: c_int) -> c_int {
    // SAFETY: the caller's promise.
    if let Some(r) = unsafe { access_ours(path, mode) } {
        return r;
    }
    let real = next!(c"access", unsafe extern "C" fn(*const c_char, c_int) -> c_int, else -1);
    // SAFETY: the arguments are the caller's.
    unsafe { real(path, mode) }
}

/// # Safety
///
/// As glibc's.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn faccessat(
    dir: c_int,
    path: *const c_char,
    mode: c_int,
    flags: c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    if let Some(r) = unsafe { access_ours(path, mode) } {
        return r;
    }
    type Real = unsafe extern "C" fn(c_int, *const c_char, c_int, c_int) -> c_int;
    let real = next!(c"faccessat", Real, else -1);
    // SAFETY: the arguments are the caller's.
    unsafe { real(dir, path, mode, flags) }
}

/// What `readlink` returns for a path of ours.
///
/// # Safety
///
/// As for `readlink`.
unsafe fn link_ours(path: *const c_char, to: *mut c_char, room: size_t) -> Option<ssize_t> {
    // SAFETY: the caller's promise.
    let (node, _) = unsafe { ours(path) }?;
    let Node::Link(target) = node else {
        if matches!(node, Node::Folder(_)) {
            return None;
        }
        return Some(fail(Errno(libc::EINVAL)) as ssize_t);
    };
    let n = target.len().min(room);
    let r = sys::write_client(to.expose_provenance() as u64, &target.as_bytes()[..n]);
    Some(r.map_or_else(|e| fail(e) as ssize_t, |()| n as ssize_t))
}

/// # Safety
///
/// As glibc's.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn readlink(path: *const c_char, to: *mut c_char, room: size_t) -> ssize_t {
    // SAFETY: the caller's promise.
    if let Some(r) = unsafe { link_ours(path, to, room) } {
        return r;
    }
    let real =
        next!(c"readlink", unsafe extern "C" fn(*const c_char, *mut c_char, size_t) -> ssize_t, else -1);
    // SAFETY: the arguments are the caller's.
    unsafe { real(path, to, room) }
}

/// # Safety
///
/// As glibc's.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn __readlink_chk(
    path: *const c_char,
    to: *mut c_char,
    room: size_t,
    size: size_t,
) -> ssize_t {
    // SAFETY: the caller's promise; no more is written than there is room.
    if let Some(r) = unsafe { link_ours(path, to, room.min(size)) } {
        return r;
    }
    type Real = unsafe extern "C" fn(*const c_char, *mut c_char, size_t, size_t) -> ssize_t;
    let real = next!(c"__readlink_chk", Real, else -1);
    // SAFETY: the arguments are the caller's.
    unsafe { real(path, to, room, size) }
}

/// # Safety
///
/// As glibc's.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn readlinkat(
    dir: c_int,
    path: *const c_char,
    to: *mut c_char,
    room: size_t,
) -> ssize_t {
    // SAFETY: the caller's promise.
    if let Some(r) = unsafe { link_ours(path, to, room) } {
        return r;
    }
    type Real = unsafe extern "C" fn(c_int, *const c_char, *mut c_char, size_t) -> ssize_t;
    let real = next!(c"readlinkat", Real, else -1);
    // SAFETY: the arguments are the caller's.
    unsafe { real(dir, path, to, room) }
}

/// What `realpath` returns for a path of ours: itself.
///
/// # Safety
///
/// As for `realpath`.
unsafe fn resolved_ours(path: *const c_char, to: *mut c_char) -> Option<*mut c_char> {
    // SAFETY: the caller's promise.
    let (node, path) = unsafe { ours(path) }?;
    let whole: Vec<u8> = match node {
        Node::Link(_) => b"/sys/bus/pci".to_vec(),
        Node::Folder(_) if path.starts_with(b"/dev") && real_folder() => return None,
        _ => {
            let parts = path.split(|b| *b == b'/').filter(|p| !p.is_empty() && *p != b".");
            parts.flat_map(|p| [&b"/"[..], p]).flatten().copied().collect()
        }
    };
    if to.is_null() {
        return Some(sys::client_string(&whole));
    }
    Some(match sys::write_client(to.expose_provenance() as u64, &[&whole[..], b"\0"].concat()) {
        Ok(()) => to,
        Err(e) => {
            sys::set_errno(e);
            std::ptr::null_mut()
        }
    })
}

/// # Safety
///
/// As glibc's.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn realpath(path: *const c_char, to: *mut c_char) -> *mut c_char {
    // SAFETY: the caller's promise.
    if let Some(r) = unsafe { resolved_ours(path, to) } {
        return r;
    }
    type Real = unsafe extern "C" fn(*const c_char, *mut c_char) -> *mut c_char;
    let real = next!(c"realpath", Real, else std::ptr::null_mut());
    // SAFETY: the arguments are the caller's.
    unsafe { real(path, to) }
}

/// # Safety
///
/// As glibc's: `to` has `PATH_MAX` bytes, which its caller's compiler has seen.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn __realpath_chk(
    path: *const c_char,
    to: *mut c_char,
    size: size_t,
) -> *mut c_char {
    // SAFETY: the caller's promise.
    if let Some(r) = unsafe { resolved_ours(path, to) } {
        return r;
    }
    type Real = unsafe extern "C" fn(*const c_char, *mut c_char, size_t) -> *mut c_char;
    let real = next!(c"__realpath_chk", Real, else std::ptr::null_mut());
    // SAFETY: the arguments are the caller's.
    unsafe { real(path, to, size) }
}
