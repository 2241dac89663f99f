//! Open folders that show our entries: before those of a real folder, or alone.

use crate::tree::{self, Node};
use libc::dirent64;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

struct Listing {
    entries: Vec<(String, u8)>,
    next: usize,
    /// The real folder's entries follow.
    real: bool,
    /// What the client was given last: valid until it asks again.
    current: Box<dirent64>,
}

static OPEN: Mutex<BTreeMap<usize, Listing>> = Mutex::new(BTreeMap::new());
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Held around `fork`, so that the child finds the table whole.
pub(crate) fn lock() -> MutexGuard<'static, impl Sized> {
    open()
}

fn open() -> MutexGuard<'static, BTreeMap<usize, Listing>> {
    OPEN.lock().unwrap_or_else(|e| e.into_inner())
}

/// Names and types (`DT_...`) of what is in a folder of ours; None if it is none.
pub(crate) fn entries(path: &[u8], cards: u32) -> Option<Vec<(String, u8)>> {
    let Node::Folder(names) = tree::find(path, cards)? else { return None };
    let kind = |name: &str| {
        let path = [path, b"/", name.as_bytes()].concat();
        match tree::find(&path, cards) {
            Some(Node::Device(_)) => libc::DT_CHR,
            Some(Node::Folder(_)) => libc::DT_DIR,
            Some(Node::Link(_)) => libc::DT_LNK,
            Some(Node::File(_)) => libc::DT_REG,
            None => libc::DT_UNKNOWN,
        }
    };
    Some(names.into_iter().map(|n| (n.clone(), kind(&n))).collect())
}

/// `.` and `..`, for a folder that is not there.
pub(crate) fn dots() -> impl Iterator<Item = (String, u8)> {
    [".", ".."].into_iter().map(|n| (n.to_string(), libc::DT_DIR))
}

/// A `DIR *` shows these entries from now on.
pub(crate) fn add(stream: usize, entries: Vec<(String, u8)>, real: bool) {
    let current = Box::new(entry("", libc::DT_UNKNOWN, 0));
    open().insert(stream, Listing { entries, next: 0, real, current });
    COUNT.fetch_add(1, Ordering::Release);
}

/// A `DIR *` was closed.
pub(crate) fn remove(stream: usize) {
    if COUNT.load(Ordering::Acquire) != 0 && open().remove(&stream).is_some() {
        COUNT.fetch_sub(1, Ordering::Release);
    }
}

/// Back to the first entry.
pub(crate) fn rewind(stream: usize) {
    if COUNT.load(Ordering::Acquire) != 0
        && let Some(l) = open().get_mut(&stream)
    {
        l.next = 0;
    }
}

/// What comes next in a folder.
pub(crate) enum Next {
    /// This; the address stays valid until the next question.
    Ours(*mut dirent64),
    /// What the real folder has, if its name is not among ours.
    Real,
    End,
}

pub(crate) fn next(stream: usize) -> Next {
    if COUNT.load(Ordering::Acquire) == 0 {
        return Next::Real;
    }
    let mut open = open();
    let Some(l) = open.get_mut(&stream) else { return Next::Real };
    match l.entries.get(l.next) {
        Some((name, kind)) => {
            l.next += 1;
            *l.current = entry(name, *kind, l.next as i64);
            Next::Ours(&raw mut *l.current)
        }
        None if l.real => Next::Real,
        None => Next::End,
    }
}

/// Whether a name in a real folder is hidden by one of ours.
pub(crate) fn hides(stream: usize, name: &[u8]) -> bool {
    COUNT.load(Ordering::Acquire) != 0
        && open().get(&stream).is_some_and(|l| l.entries.iter().any(|(n, _)| n.as_bytes() == name))
}

/// A directory entry as C has it.
pub(crate) fn entry(name: &str, kind: u8, offset: i64) -> dirent64 {
    let mut d_name = [0; 256];
    for (to, from) in d_name.iter_mut().zip(name.bytes().take(255)) {
        *to = from as libc::c_char;
    }
    dirent64 {
        d_ino: name.bytes().fold(7, |h, b| h * 31 % 0xffff_fffb + u64::from(b)),
        d_off: offset,
        d_reclen: size_of::<dirent64>() as u16,
        d_type: kind,
        d_name,
    }
}
