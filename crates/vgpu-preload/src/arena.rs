//! One memory file that holds all buffers: this library maps it whole, clients map their parts.
//!
//! A process that was forked off shares the file of its parent, whose allocations it cannot see; it allocates from a file
//! of its own and leaves its parent's alone.

use crate::sys::{self, Errno, Fd, Result};
use nvir_vgpu::{Backing, PAGE, Words};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard};

/// Bytes of a memory file: address space, not memory. The next is tried where a limit on address space forbids one.
const SIZES: [u64; 5] = [64 << 30, 16 << 30, 4 << 30, 1 << 30, 256 << 20];

/// The map handles of file `n` begin at `n << FILE_SHIFT`.
const FILE_SHIFT: u32 = 40;

static FILES: Mutex<Vec<File>> = Mutex::new(Vec::new());

struct File {
    /// The process that allocates from it.
    owner: u32,
    fd: Fd,
    words: &'static [AtomicU32],
    used: BTreeMap<u64, u64>,
    /// Start to bytes; neighbours are joined.
    free: BTreeMap<u64, u64>,
    /// (bytes, start) of the same, for the best fit.
    by_size: BTreeSet<(u64, u64)>,
}

/// Held around `fork`, so that the child finds the lists whole.
pub(crate) fn lock() -> MutexGuard<'static, impl Sized> {
    files()
}

fn files() -> MutexGuard<'static, Vec<File>> {
    FILES.lock().unwrap_or_else(|e| e.into_inner())
}

/// The descriptor and offset to map for a client's `mmap` of `bytes` at `map_handle`.
pub(crate) fn place(map_handle: u64, bytes: u64) -> Result<(i32, u64)> {
    let files = files();
    let (number, offset) = split(map_handle);
    let file = files.get(number).ok_or(Errno(libc::EINVAL))?;
    let (start, len) = file.used.range(..=offset).next_back().ok_or(Errno(libc::EINVAL))?;
    let end = offset.checked_add(bytes).ok_or(Errno(libc::EINVAL))?;
    if end > start + len {
        return Err(Errno(libc::EINVAL));
    }
    Ok((file.fd.number(), offset))
}

fn split(map_handle: u64) -> (usize, u64) {
    ((map_handle >> FILE_SHIFT) as usize, map_handle & ((1 << FILE_SHIFT) - 1))
}

impl File {
    fn new(owner: u32) -> Option<File> {
        SIZES.iter().find_map(|&bytes| {
            let fd = sys::memory_file(c"nvir-vgpu-memory", bytes, true).ok()?;
            let words = sys::map_whole(&fd, bytes).ok()?;
            let mut file = File {
                owner,
                fd,
                words,
                used: BTreeMap::new(),
                free: BTreeMap::new(),
                by_size: BTreeSet::new(),
            };
            file.give(0, bytes);
            Some(file)
        })
    }

    /// Adds a free range, joined with its neighbours.
    fn give(&mut self, mut start: u64, mut bytes: u64) {
        let before = self.free.range(..start).next_back().map(|(&s, &n)| (s, n));
        if let Some((s, n)) = before.filter(|(s, n)| s + n == start) {
            self.forget(s, n);
            (start, bytes) = (s, bytes + n);
        }
        if let Some(&n) = self.free.get(&(start + bytes)) {
            self.forget(start + bytes, n);
            bytes += n;
        }
        self.free.insert(start, bytes);
        self.by_size.insert((bytes, start));
    }

    fn forget(&mut self, start: u64, bytes: u64) {
        self.free.remove(&start);
        self.by_size.remove(&(bytes, start));
    }

    fn take(&mut self, bytes: u64) -> Option<u64> {
        let &(n, start) = self.by_size.range((bytes, 0)..).next()?;
        self.forget(start, n);
        if n > bytes {
            self.give(start + bytes, n - bytes);
        }
        self.used.insert(start, bytes);
        Some(start)
    }

    fn part(&self, start: u64, bytes: u64) -> &'static [AtomicU32] {
        &self.words[(start / 4) as usize..][..(bytes / 4) as usize]
    }
}

/// Buffers in the memory file. All cards of the process share it.
pub(crate) struct Arena;

impl Backing for Arena {
    fn alloc(&self, bytes: u64) -> Option<(u64, Words)> {
        let me = sys::process();
        if bytes == 0 || !bytes.is_multiple_of(PAGE) {
            return None;
        }
        let mut files = files();
        let found = files
            .iter_mut()
            .enumerate()
            .filter(|(_, f)| f.owner == me)
            .find_map(|(i, f)| Some((i, f.take(bytes)?)));
        let (number, start) = match found {
            Some(f) => f,
            None => {
                let mut file = File::new(me)?;
                let start = file.take(bytes)?;
                files.push(file);
                (files.len() - 1, start)
            }
        };
        Some(((number as u64) << FILE_SHIFT | start, Words::Static(files[number].part(start, bytes))))
    }

    fn free(&self, map_handle: u64, _: u64) {
        let mut files = files();
        let (number, start) = split(map_handle);
        let Some(file) = files.get_mut(number) else { return };
        if file.owner != sys::process() {
            return; // the parent's, who may still use it
        }
        let Some(bytes) = file.used.remove(&start) else { return };
        if sys::punch_hole(&file.fd, start, bytes).is_err() {
            file.part(start, bytes).iter().for_each(|w| w.store(0, Ordering::Relaxed));
        }
        file.give(start, bytes);
    }
}
