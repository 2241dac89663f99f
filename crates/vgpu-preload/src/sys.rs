//! Raw calls: what the rest of this crate needs of the C library and the kernel, with safe signatures.

use libc::{c_char, c_int, c_void};
use std::ffi::{CStr, CString};
use std::marker::PhantomData;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

/// A number of `errno.h`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Errno(pub c_int);

pub(crate) type Result<T> = std::result::Result<T, Errno>;

/// The calling thread's `errno`.
pub(crate) fn errno() -> Errno {
    // SAFETY: glibc's location of this thread's errno is always valid.
    Errno(unsafe { *libc::__errno_location() })
}

pub(crate) fn set_errno(e: Errno) {
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = e.0 }
}

/// -1 and `errno`, as C functions report errors.
pub(crate) fn fail(e: Errno) -> c_int {
    set_errno(e);
    -1
}

/// What a call returned, or its `errno` if that is negative.
fn checked(value: c_int) -> Result<c_int> {
    if value < 0 { Err(errno()) } else { Ok(value) }
}

/// The function of a name that comes after this library's own in the search order: glibc's, unless another library
/// intercepts it too. Found at the first call.
pub(crate) struct Next<F> {
    name: &'static CStr,
    found: AtomicPtr<c_void>,
    kind: PhantomData<F>,
}

impl<F: Copy> Next<F> {
    /// # Safety
    ///
    /// `F` is a function pointer whose type is that of the C function `name`.
    pub(crate) const unsafe fn new(name: &'static CStr) -> Next<F> {
        Next { name, found: AtomicPtr::new(std::ptr::null_mut()), kind: PhantomData }
    }

    /// None, with `errno` set, if this C library has no such function.
    pub(crate) fn get(&self) -> Option<F> {
        let mut at = self.found.load(Ordering::Relaxed);
        if at.is_null() {
            // SAFETY: the name ends with a zero byte.
            at = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
            self.found.store(at, Ordering::Relaxed);
        }
        if at.is_null() {
            set_errno(Errno(libc::ENOSYS));
            return None;
        }
        // SAFETY: `new` demands that F is a function pointer of this function's type, which has the size of a pointer.
        Some(unsafe { std::mem::transmute_copy::<*mut c_void, F>(&at) })
    }
}

/// The bytes of a path, without the zero; None for what cannot be a string's address.
///
/// # Safety
///
/// As for `open`: if the address is mapped, a string that ends with a zero byte lies there, and lives as long as `'a`.
pub(crate) unsafe fn string<'a>(path: *const c_char) -> Option<&'a [u8]> {
    // The first page is never mapped, and user addresses have 47 bits or, where asked for, 56.
    if !(4096..1 << 56).contains(&path.addr()) {
        return None;
    }
    // SAFETY: the caller's promise.
    Some(unsafe { CStr::from_ptr(path) }.to_bytes())
}

/// Copies from an address that a client gave. No access happens here but in the kernel, which refuses bad addresses.
pub(crate) fn read_client(address: u64, into: &mut [u8]) -> Result<()> {
    let ours = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let theirs = libc::iovec { iov_base: client_pointer(address)?, iov_len: into.len() };
    // SAFETY: `ours` describes `into`, which may be written; the kernel checks `theirs`, which is read.
    let n = unsafe { libc::process_vm_readv(libc::getpid(), &ours, 1, &theirs, 1, 0) };
    if copied(n, into.len())? {
        return Ok(());
    }
    // SAFETY: as above.
    unsafe { copy_through_file(&ours, &theirs) }
}

/// Copies to an address that a client gave, as [`read_client`].
pub(crate) fn write_client(address: u64, bytes: &[u8]) -> Result<()> {
    let ours = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    write_from(ours, address)
}

/// A structure to an address that a client gave.
pub(crate) fn write_client_struct<T: Copy>(address: u64, value: &T) -> Result<()> {
    let ours = libc::iovec { iov_base: std::ptr::from_ref(value).cast_mut().cast(), iov_len: size_of::<T>() };
    write_from(ours, address)
}

/// `ours` is only read, and is valid for that.
fn write_from(ours: libc::iovec, address: u64) -> Result<()> {
    let theirs = libc::iovec { iov_base: client_pointer(address)?, iov_len: ours.iov_len };
    // As a read into the client's memory: so valgrind, too, knows that it is written.
    // SAFETY: `ours` may be read; the client gave `theirs` to be written, and the kernel checks it.
    let n = unsafe { libc::process_vm_readv(libc::getpid(), &theirs, 1, &ours, 1, 0) };
    if copied(n, ours.iov_len)? {
        return Ok(());
    }
    // SAFETY: as above.
    unsafe { copy_through_file(&theirs, &ours) }
}

/// Whether the kernel copied all; false if it does not let us.
fn copied(n: isize, wanted: usize) -> Result<bool> {
    match n {
        _ if n == wanted as isize => Ok(true),
        0.. => Err(Errno(libc::EFAULT)),
        _ if errno().0 == libc::EFAULT => Err(Errno(libc::EFAULT)),
        _ => Ok(false),
    }
}

/// Where a container forbids such copies: through a file, whose calls refuse bad addresses as well.
///
/// # Safety
///
/// No other reference to the bytes of `to` is in use; each side is what a client gave, or memory of ours of that length.
unsafe fn copy_through_file(to: &libc::iovec, from: &libc::iovec) -> Result<()> {
    let file = memory_file(c"nvir-copy", 0, true)?;
    // SAFETY: the caller's promise; the kernel checks the address.
    let written = unsafe { libc::pwrite(file.0, from.iov_base, from.iov_len, 0) };
    // SAFETY: as above.
    let read = unsafe { libc::pread(file.0, to.iov_base, to.iov_len, 0) };
    if written == read && read == to.iov_len as isize { Ok(()) } else { Err(Errno(libc::EFAULT)) }
}

fn client_pointer(address: u64) -> Result<*mut c_void> {
    let address = usize::try_from(address).map_err(|_| Errno(libc::EFAULT))?;
    Ok(std::ptr::with_exposed_provenance_mut(address))
}

/// A descriptor of our own, closed at its end.
#[derive(Debug)]
pub(crate) struct Fd(c_int);

impl Fd {
    pub(crate) fn number(&self) -> c_int {
        self.0
    }

    /// Gives the descriptor away: to the client, who closes it.
    pub(crate) fn release(self) -> c_int {
        let number = self.0;
        std::mem::forget(self);
        number
    }
}

impl Drop for Fd {
    fn drop(&mut self) {
        // SAFETY: the descriptor is ours.
        unsafe { libc::close(self.0) };
    }
}

/// A new file in memory, of so many zero bytes.
pub(crate) fn memory_file(name: &CStr, bytes: u64, close_on_exec: bool) -> Result<Fd> {
    let flags = if close_on_exec { libc::MFD_CLOEXEC } else { 0 };
    // SAFETY: the name ends with a zero byte.
    let fd = Fd(checked(unsafe { libc::memfd_create(name.as_ptr(), flags) })?);
    resize(&fd, bytes)?;
    Ok(fd)
}

/// Gives a memory file so many bytes; new ones are zero.
pub(crate) fn resize(fd: &Fd, bytes: u64) -> Result<()> {
    let bytes = libc::off_t::try_from(bytes).map_err(|_| Errno(libc::EFBIG))?;
    // SAFETY: plain numbers.
    checked(unsafe { libc::ftruncate(fd.0, bytes) }).map(drop)
}

/// A new file in memory with these contents, read from its start.
pub(crate) fn file_of(contents: &[u8], close_on_exec: bool) -> Result<Fd> {
    let fd = memory_file(c"nvir-vgpu-sysfs", 0, close_on_exec)?;
    // SAFETY: the buffer is `contents`.
    let n = unsafe { libc::pwrite(fd.0, contents.as_ptr().cast(), contents.len(), 0) };
    if n == contents.len() as isize { Ok(fd) } else { Err(Errno(libc::ENOSPC)) }
}

/// Maps all of a memory file, for as long as the process lives. Nothing is allocated until it is touched.
pub(crate) fn map_whole(fd: &Fd, bytes: u64) -> Result<&'static [AtomicU32]> {
    let bytes = usize::try_from(bytes).map_err(|_| Errno(libc::ENOMEM))?;
    let (prot, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_NORESERVE);
    // SAFETY: a new mapping at an address that the kernel chooses.
    let at = unsafe { libc::mmap(std::ptr::null_mut(), bytes, prot, flags, fd.0, 0) };
    if at == libc::MAP_FAILED {
        return Err(errno());
    }
    // Where cores are dumped, 64 GiB of holes are of no use.
    // SAFETY: the mapping just made; the advice changes no memory.
    unsafe { libc::madvise(at, bytes, libc::MADV_DONTDUMP) };
    // SAFETY: the mapping is `bytes` long, page aligned, readable and writable, and never unmapped. The same memory is
    // mapped elsewhere, for clients; atomics are what may be shared so.
    Ok(unsafe { std::slice::from_raw_parts(at.cast::<AtomicU32>(), bytes / 4) })
}

/// Makes a part of a memory file zero and gives its memory back to the system.
pub(crate) fn punch_hole(fd: &Fd, offset: u64, bytes: u64) -> Result<()> {
    let overflow = |_| Errno(libc::EINVAL);
    let (offset, bytes) = (offset.try_into().map_err(overflow)?, bytes.try_into().map_err(overflow)?);
    // SAFETY: plain numbers.
    checked(unsafe {
        libc::fallocate(fd.0, libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE, offset, bytes)
    })
    .map(drop)
}

/// What tells a file from all others: device and inode.
pub(crate) fn identity(fd: c_int) -> Result<(u64, u64)> {
    // SAFETY: all-zero bytes are a valid `statx`.
    let mut found: libc::statx = unsafe { std::mem::zeroed() };
    // By number, since this library intercepts the functions for it.
    // SAFETY: an empty path, and a buffer of the right type.
    let n = unsafe {
        libc::syscall(libc::SYS_statx, fd, c"".as_ptr(), libc::AT_EMPTY_PATH, libc::STATX_INO, &raw mut found)
    };
    if n < 0 {
        return Err(errno());
    }
    Ok((u64::from(found.stx_dev_major) << 32 | u64::from(found.stx_dev_minor), found.stx_ino))
}

/// Ends the process at once: other threads may be anywhere.
pub(crate) fn exit(status: c_int) -> ! {
    // SAFETY: does not return.
    unsafe { libc::_exit(status) }
}

pub(crate) fn process() -> u32 {
    std::process::id()
}

/// Has a function called with the status when the process ends by `exit` or the end of `main`. It may call
/// [`exit_again`].
pub(crate) fn on_exit(f: extern "C" fn(c_int)) {
    unsafe extern "C" {
        fn on_exit(f: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
    }
    static FUNCTION: OnceLock<extern "C" fn(c_int)> = OnceLock::new();
    extern "C" fn call(status: c_int, _: *mut c_void) {
        if let Some(f) = FUNCTION.get() {
            f(status);
        }
    }
    if FUNCTION.set(f).is_ok() {
        // SAFETY: the function lives as long as this library: see `at_fork`.
        unsafe { on_exit(call, std::ptr::null_mut()) };
    }
}

/// Ends the process with another status, from a function that [`on_exit`] calls: glibc goes on with the other functions.
pub(crate) fn exit_again(status: c_int) -> ! {
    // SAFETY: does not return; glibc allows it here (`stdlib/exit.c`).
    unsafe { libc::exit(status) }
}

/// Has the kernel kill this process when its parent ends, if that is `parent`.
pub(crate) fn end_with_parent(parent: u32) -> Result<()> {
    // SAFETY: plain numbers.
    unsafe {
        if libc::getppid().cast_unsigned() != parent {
            return Ok(());
        }
        checked(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL)).map(drop)
    }
}

/// Has functions called around `fork`: before it, after it in the parent, and in the child.
pub(crate) fn at_fork(before: extern "C" fn(), parent: extern "C" fn(), child: extern "C" fn()) {
    unsafe extern "C" {
        fn pthread_atfork(
            before: Option<extern "C" fn()>,
            parent: Option<extern "C" fn()>,
            child: Option<extern "C" fn()>,
        ) -> c_int;
    }
    // SAFETY: the functions live as long as this library, which glibc never unloads when it was preloaded, and else
    // takes them off its list.
    unsafe { pthread_atfork(Some(before), Some(parent), Some(child)) };
}

/// A copy of a string in memory that the client gives to `free`; null without memory.
pub(crate) fn client_string(text: &[u8]) -> *mut c_char {
    let Ok(text) = CString::new(text) else { return std::ptr::null_mut() };
    // SAFETY: the string ends with a zero byte.
    unsafe { libc::strdup(text.as_ptr()) }
}
