//! Strings across the boundary.

use std::ffi::{CStr, CString, c_char};

/// A string that the caller lends, if there is one; an error if it is not UTF-8.
///
/// # Safety
/// `string` is null or ends in a zero and outlives the call.
pub(crate) unsafe fn string<'a>(string: *const c_char) -> Result<Option<&'a str>, std::str::Utf8Error> {
    if string.is_null() {
        return Ok(None);
    }
    // SAFETY: by the caller's promise.
    unsafe { CStr::from_ptr(string) }.to_str().map(Some)
}

/// A string for C; zeros inside become blanks.
pub(crate) fn c_string(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).unwrap_or_default()
}

/// The size with which a structure begins.
///
/// # Safety
/// `structure` is null or begins with its size.
pub(crate) unsafe fn size(structure: *const u32) -> Option<u32> {
    if structure.is_null() {
        return None;
    }
    // SAFETY: by the caller's promise.
    Some(unsafe { structure.read_unaligned() }).filter(|&n| n >= 4)
}
