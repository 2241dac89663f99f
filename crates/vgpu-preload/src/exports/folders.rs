//! Folders: `/dev/dri`, which need not exist, and those of sysfs.

use super::next;
use crate::folders::{self, Next};
use crate::options::options;
use crate::sys;
use libc::{DIR, c_char, c_int, c_void, dirent64};
use std::ffi::CStr;

type ReadDir = unsafe extern "C" fn(*mut DIR) -> *mut dirent64;
type Filter = unsafe extern "C" fn(*const dirent64) -> c_int;
type Compare = unsafe extern "C" fn(*mut *const dirent64, *mut *const dirent64) -> c_int;
type ScanDir =
    unsafe extern "C" fn(*const c_char, *mut *mut *mut dirent64, Option<Filter>, Option<Compare>) -> c_int;

/// The entries of a folder of ours.
///
/// # Safety
///
/// As for `opendir`.
unsafe fn entries(path: *const c_char) -> Option<Vec<(String, u8)>> {
    // SAFETY: the caller's promise.
    let path = unsafe { sys::string(path) }?;
    if !crate::tree::may_hold(path) {
        return None;
    }
    folders::entries(path, options().cards).filter(|e| !e.is_empty())
}

/// # Safety
///
/// As glibc's.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn opendir(path: *const c_char) -> *mut DIR {
    let real = next!(c"opendir", unsafe extern "C" fn(*const c_char) -> *mut DIR, else std::ptr::null_mut());
    // SAFETY: the argument is the caller's.
    let (ours, stream) = unsafe { (entries(path), real(path)) };
    let Some(mut ours) = ours else { return stream };
    if !stream.is_null() {
        folders::add(stream.addr(), ours, true);
        return stream;
    }
    // Some folder that is there, of which nothing is shown: so the stream is one for every function of glibc.
    // SAFETY: a path that ends with a zero byte.
    let stream = unsafe { real(c"/".as_ptr()) };
    if !stream.is_null() {
        ours.extend(folders::dots());
        folders::add(stream.addr(), ours, false);
    }
    stream
}

macro_rules! readdir_functions {
    ($($name:ident = $real:literal;)*) => {$(
        /// # Safety
        ///
        /// As glibc's function of this name. On 64-bit machines both have the same entries.
        #[unsafe(no_mangle)]
        pub(super) unsafe extern "C" fn $name(stream: *mut DIR) -> *mut dirent64 {
            let real = next!($real, ReadDir, else std::ptr::null_mut());
            match folders::next(stream.addr()) {
                Next::Ours(entry) => return entry,
                Next::End => return std::ptr::null_mut(),
                Next::Real => {}
            }
            loop {
                // SAFETY: the argument is the caller's.
                let entry = unsafe { real(stream) };
                if entry.is_null() {
                    return entry;
                }
                // SAFETY: glibc's entry, whose name ends with a zero byte.
                let name = unsafe { CStr::from_ptr((*entry).d_name.as_ptr()) };
                if !folders::hides(stream.addr(), name.to_bytes()) {
                    return entry;
                }
            }
        }
    )*};
}

readdir_functions! {
    readdir = c"readdir";
    readdir64 = c"readdir64";
}

/// # Safety
///
/// As glibc's.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn rewinddir(stream: *mut DIR) {
    let real = next!(c"rewinddir", unsafe extern "C" fn(*mut DIR), else);
    folders::rewind(stream.addr());
    // SAFETY: the argument is the caller's.
    unsafe { real(stream) }
}

/// # Safety
///
/// As glibc's.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn closedir(stream: *mut DIR) -> c_int {
    let real = next!(c"closedir", unsafe extern "C" fn(*mut DIR) -> c_int, else -1);
    folders::remove(stream.addr());
    // SAFETY: the argument is the caller's.
    unsafe { real(stream) }
}

macro_rules! scandir_functions {
    ($($name:ident = $real:literal;)*) => {$(
        /// # Safety
        ///
        /// As glibc's function of this name.
        #[unsafe(no_mangle)]
        pub(super) unsafe extern "C" fn $name(
            path: *const c_char,
            list: *mut *mut *mut dirent64,
            filter: Option<Filter>,
            compare: Option<Compare>,
        ) -> c_int {
            // SAFETY: the arguments are the caller's.
            unsafe {
                if entries(path).is_some() {
                    return scan(path, list, filter, compare);
                }
            }
            let real = next!($real, ScanDir, else -1);
            // SAFETY: the arguments are the caller's.
            unsafe { real(path, list, filter, compare) }
        }
    )*};
}

scandir_functions! {
    scandir = c"scandir";
    scandir64 = c"scandir64";
}

/// `scandir` by the functions above.
///
/// # Safety
///
/// As for `scandir`.
unsafe fn scan(
    path: *const c_char,
    list: *mut *mut *mut dirent64,
    filter: Option<Filter>,
    compare: Option<Compare>,
) -> c_int {
    let mut found: Vec<*mut dirent64> = Vec::new();
    // SAFETY: the path and the two functions are the caller's, and work on entries; `opendir` gives a stream or null;
    // each copy of an entry is as large as an entry, and glibc's are `d_reclen` long and no larger.
    unsafe {
        let stream = opendir(path);
        if stream.is_null() {
            return -1;
        }
        loop {
            let entry = readdir64(stream);
            if entry.is_null() {
                break;
            }
            if filter.is_some_and(|f| f(entry) == 0) {
                continue;
            }
            let copy = libc::calloc(1, size_of::<dirent64>());
            if copy.is_null() {
                break;
            }
            let bytes = usize::from((&raw const (*entry).d_reclen).read()).min(size_of::<dirent64>());
            libc::memcpy(copy, entry.cast::<c_void>(), bytes);
            found.push(copy.cast());
        }
        closedir(stream);
        let array = libc::calloc(found.len().max(1), size_of::<*mut dirent64>()).cast::<*mut dirent64>();
        if array.is_null() {
            found.into_iter().for_each(|e| libc::free(e.cast()));
            return -1;
        }
        array.copy_from_nonoverlapping(found.as_ptr(), found.len());
        if let Some(compare) = compare {
            type Untyped = unsafe extern "C" fn(*const c_void, *const c_void) -> c_int;
            let compare = std::mem::transmute::<Compare, Untyped>(compare);
            libc::qsort(array.cast(), found.len(), size_of::<*mut dirent64>(), Some(compare));
        }
        list.write(array);
    }
    found.len() as c_int
}
