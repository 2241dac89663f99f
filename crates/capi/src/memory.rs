//! Objects and lists across the boundary.

use crate::{nvir_options, nvir_status};

/// Gives an object to the caller; without a place for it, it is dropped.
///
/// # Safety
/// `out` is null or a place for a pointer.
pub(crate) unsafe fn boxed<T>(out: *mut *mut T, value: T) -> nvir_status {
    if out.is_null() {
        return nvir_status::Usage;
    }
    // SAFETY: it is a place for a pointer, by the caller's promise.
    unsafe { out.write(Box::into_raw(Box::new(value))) };
    nvir_status::Ok
}

/// Takes an object back and drops it.
///
/// # Safety
/// `object` is null or came from [`boxed`], and nobody uses it any more.
pub(crate) unsafe fn free<T>(object: *mut T) {
    if !object.is_null() {
        // SAFETY: it is a box of ours, by the caller's promise.
        drop(unsafe { Box::from_raw(object) });
    }
}

/// An object that the caller lends.
///
/// # Safety
/// `object` is null or came from [`boxed`] and outlives the call.
pub(crate) unsafe fn given<'a, T>(object: *const T) -> Option<&'a T> {
    // SAFETY: by the caller's promise.
    unsafe { object.as_ref() }
}

/// Whether so many items may be where a pointer says: it is aligned, and they are no more than there can be.
fn is_list<T>(items: *const T, count: usize) -> bool {
    !items.is_null() && items.is_aligned() && count <= isize::MAX as usize / size_of::<T>().max(1)
}

/// A list that the caller lends.
///
/// # Safety
/// `items` is null or the first of `count` items that outlive the call.
pub(crate) unsafe fn list<'a, T>(items: *const T, count: usize) -> Option<&'a [T]> {
    match count {
        0 => Some(&[]),
        // SAFETY: it is aligned and not too long, the rest is the caller's promise.
        _ => is_list(items, count).then(|| unsafe { std::slice::from_raw_parts(items, count) }),
    }
}

/// A list that the caller lends to be changed.
///
/// # Safety
/// As for [`list`], and nobody else has it.
pub(crate) unsafe fn list_mut<'a, T>(items: *mut T, count: usize) -> Option<&'a mut [T]> {
    match count {
        0 => Some(&mut []),
        // SAFETY: it is aligned and not too long, the rest is the caller's promise.
        _ => is_list(items, count).then(|| unsafe { std::slice::from_raw_parts_mut(items, count) }),
    }
}

/// Writes an item, if there is one, to the caller's place.
///
/// # Safety
/// `out` is null or a place for one.
pub(crate) unsafe fn written<T>(item: Option<T>, out: *mut T) -> nvir_status {
    let (Some(item), false) = (item, out.is_null()) else { return nvir_status::Usage };
    // SAFETY: by the caller's promise.
    unsafe { out.write(item) };
    nvir_status::Ok
}

/// Writes as much of a structure as the caller has room for.
///
/// # Safety
/// `out` is null or the caller's structure of `size` bytes.
pub(crate) unsafe fn place<T: Copy>(out: *mut T, size: u32, value: &T) {
    if !out.is_null() {
        let bytes = (size as usize).min(size_of::<T>());
        // SAFETY: both have that many bytes.
        unsafe {
            std::ptr::copy_nonoverlapping(std::ptr::from_ref(value).cast::<u8>(), out.cast::<u8>(), bytes)
        };
    }
}

/// Options, with the defaults where the caller's structure ends; the defaults for null. None if the size makes no sense.
///
/// # Safety
/// `options` is null or a structure that begins with its size.
pub(crate) unsafe fn copied(options: *const nvir_options) -> Option<nvir_options> {
    let mut all = nvir_options::DEFAULT;
    if options.is_null() {
        return Some(all);
    }
    // SAFETY: it begins with its size, by the caller's promise.
    let size = unsafe { options.cast::<u32>().read_unaligned() };
    if size < 4 || !size.is_multiple_of(4) {
        return None;
    }
    let bytes = (size as usize).min(size_of::<nvir_options>());
    // SAFETY: both have that many bytes, and every field is a number.
    unsafe {
        std::ptr::copy_nonoverlapping(options.cast::<u8>(), std::ptr::from_mut(&mut all).cast::<u8>(), bytes)
    };
    Some(all)
}
