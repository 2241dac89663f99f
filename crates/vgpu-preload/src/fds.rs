//! Which descriptors are ours, and the file descriptions that they share.
//!
//! Every descriptor of ours is a real one, of a memory file, so that the kernel hands out the number, and copies and
//! closes it as any other. Descriptors that are closed without our knowledge (by direct system calls) are found by the
//! identity of what they are now.

use crate::sys::{self, Errno, Fd, Result};
use nvir_vgpu::{File, SharedBuffer};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// What a descriptor of ours is open on.
pub(crate) enum Description {
    /// A card's device, and its number.
    Device { card: u32, file: File },
    /// A buffer on its way to another device or file (`PRIME_HANDLE_TO_FD`).
    Buffer { buffer: SharedBuffer, map_handle: u64, bytes: u64 },
}

struct Entry {
    what: Arc<Description>,
    identity: (u64, u64),
}

/// Descriptors beyond this cannot be ours.
const LIMIT: usize = 1 << 16;

/// A bit for each descriptor: a question about another's descriptor takes no lock.
static MARKS: [AtomicU64; LIMIT / 64] = [const { AtomicU64::new(0) }; LIMIT / 64];
static ENTRIES: Mutex<BTreeMap<i32, Entry>> = Mutex::new(BTreeMap::new());
/// The process that the table belongs to; 0 before it is used. A child of `vfork` shares our memory but not our
/// descriptors: what it closes stays open here.
static OWNER: AtomicU32 = AtomicU32::new(0);

/// Held around `fork`, so that the child finds the table whole.
pub(crate) fn lock() -> MutexGuard<'static, impl Sized> {
    entries()
}

/// After `fork`, in the child: the table is a copy, of copied descriptors.
pub(crate) fn in_child() {
    if OWNER.load(Ordering::Relaxed) != 0 {
        OWNER.store(sys::process(), Ordering::Relaxed);
    }
}

fn entries() -> MutexGuard<'static, BTreeMap<i32, Entry>> {
    ENTRIES.lock().unwrap_or_else(|e| e.into_inner())
}

fn mark(fd: i32) -> Option<(&'static AtomicU64, u64)> {
    let fd = usize::try_from(fd).ok()?;
    Some((MARKS.get(fd / 64)?, 1 << (fd % 64)))
}

/// Whether a descriptor may be ours.
fn marked(fd: i32) -> bool {
    mark(fd).is_some_and(|(word, bit)| word.load(Ordering::Acquire) & bit != 0)
        && OWNER.load(Ordering::Relaxed) == sys::process()
}

/// Makes a descriptor ours. It is closed if there are too many.
pub(crate) fn add(fd: Fd, what: Arc<Description>) -> Result<i32> {
    let identity = sys::identity(fd.number())?;
    let (word, bit) = mark(fd.number()).ok_or(Errno(libc::EMFILE))?;
    let number = fd.release();
    OWNER.store(sys::process(), Ordering::Relaxed);
    let old = entries().insert(number, Entry { what, identity });
    word.fetch_or(bit, Ordering::Release);
    crate::machine::forget(old.map(|e| e.what));
    Ok(number)
}

/// What a descriptor is open on, if it is ours.
pub(crate) fn find(fd: i32) -> Option<Arc<Description>> {
    if !marked(fd) {
        return None;
    }
    let now = sys::identity(fd).ok();
    let mut entries = entries();
    let entry = entries.get(&fd)?;
    if now == Some(entry.identity) {
        return Some(entry.what.clone());
    }
    // Closed behind our back; the number is another's.
    let old = take(&mut entries, fd);
    drop(entries);
    crate::machine::forget(old);
    None
}

fn take(entries: &mut BTreeMap<i32, Entry>, fd: i32) -> Option<Arc<Description>> {
    if let Some((word, bit)) = mark(fd) {
        word.fetch_and(!bit, Ordering::AcqRel);
    }
    entries.remove(&fd).map(|e| e.what)
}

/// A descriptor is about to be closed. What it was open on is for [`crate::machine::forget`], when it has been.
pub(crate) fn remove(fd: i32) -> Option<Arc<Description>> {
    if !marked(fd) {
        return None;
    }
    take(&mut entries(), fd)
}

/// The same for all from `first` to `last`.
pub(crate) fn remove_range(first: u32, last: u32) -> Vec<Arc<Description>> {
    if OWNER.load(Ordering::Relaxed) != sys::process() {
        return Vec::new();
    }
    let (Ok(first), last) = (i32::try_from(first), i32::try_from(last).unwrap_or(i32::MAX)) else {
        return Vec::new();
    };
    if first > last {
        return Vec::new();
    }
    let mut entries = entries();
    let numbers: Vec<i32> = entries.range(first..=last).map(|(fd, _)| *fd).collect();
    numbers.into_iter().filter_map(|fd| take(&mut entries, fd)).collect()
}

/// `new` is a copy of `old`, which was open on `what`.
pub(crate) fn copied(new: i32, what: Arc<Description>) {
    let Some((word, bit)) = mark(new) else { return };
    let Ok(identity) = sys::identity(new) else { return };
    let old = entries().insert(new, Entry { what, identity });
    word.fetch_or(bit, Ordering::Release);
    crate::machine::forget(old.map(|e| e.what));
}
