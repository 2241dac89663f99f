//! The kernel's calls: the one place that is not safe. Sources of numbers and structures: Linux `drm.h`, `nouveau_drm.h`,
//! libdrm `nouveau/nouveau_ioctl.h`.
#![allow(unsafe_code)]

use rustix::fd::{AsFd, BorrowedFd};
use rustix::io::Errno;
use rustix::ioctl::{Opcode, Updater, ioctl, opcode};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::ffi::c_void;
use std::ptr::NonNull;

/// The group of DRM's calls.
const GROUP: u8 = b'd';

/// A structure that a call takes: integers of fixed sizes without padding or pointers, so that all bits are valid and known.
///
/// # Safety
/// The type is `repr(C)`, has no padding and no pointers, and `OPCODE` is the call whose structure it is.
unsafe trait Arguments {
    const OPCODE: Opcode;
}

fn call<A: Arguments>(fd: BorrowedFd<'_>, arguments: &mut A) -> Result<(), Errno> {
    let what = Call(arguments);
    // SAFETY: by the contract of `Arguments`, the kernel reads and writes just this structure.
    unsafe { ioctl(fd, what) }
}

struct Call<'a, A>(&'a mut A);

// SAFETY: the pointer is to a structure of the size that the opcode has in it, borrowed for the call.
unsafe impl<A: Arguments> rustix::ioctl::Ioctl for Call<'_, A> {
    type Output = ();
    const IS_MUTATING: bool = true;

    fn opcode(&self) -> Opcode {
        A::OPCODE
    }

    fn as_ptr(&mut self) -> *mut c_void {
        std::ptr::from_mut(self.0).cast()
    }

    unsafe fn output_from_ptr(_: rustix::ioctl::IoctlOutput, _: *mut c_void) -> Result<(), Errno> {
        Ok(())
    }
}

macro_rules! arguments {
    ($(#[$doc:meta])* $name:ident = $how:ident $number:literal, $bytes:literal { $($field:ident: $ty:ty),* $(,)? }) => {
        $(#[$doc])*
        #[repr(C)]
        #[derive(Clone, Copy, Default, Debug)]
        pub(super) struct $name { $(pub $field: $ty),* }
        const _: () = assert!(size_of::<$name>() == $bytes && $bytes == 0 $(+ size_of::<$ty>())*);
        // SAFETY: the assertion says that there is no padding; the fields are integers.
        unsafe impl Arguments for $name {
            const OPCODE: Opcode = opcode::$how::<$name>(GROUP, $number);
        }
        impl $name {
            /// Makes the call.
            pub(super) fn call(&mut self, fd: impl AsFd) -> Result<(), Errno> {
                call(fd.as_fd(), self)
            }
        }
    };
}

arguments!(GemClose = write 0x09, 8 { handle: u32, pad: u32 });
arguments!(GetParam = read_write 0x40, 16 { param: u64, value: u64 });
arguments!(ChannelAlloc = read_write 0x42, 88 {
    fb: u32, tt: u32, channel: i32, pushbuf_domains: u32, notifier: u32, subchannels: [u32; 16], count: u32,
});
arguments!(ChannelFree = write 0x43, 4 { channel: i32 });
arguments!(ObjectAlloc = write 0x44, 12 { channel: i32, handle: u32, class: i32 });
arguments!(
    /// The first seven fields are also what `GEM_INFO` tells.
    GemNew = read_write 0x80, 48 {
        handle: u32, domain: u32, size: u64, offset: u64, map_handle: u64, tile_mode: u32, tile_flags: u32,
        channel_hint: u32, align: u32,
    }
);
arguments!(CpuPrep = write 0x82, 8 { handle: u32, flags: u32 });
arguments!(Pushbuf = read_write 0x81, 64 {
    channel: u32, buffer_count: u32, buffers: u64, reloc_count: u32, push_count: u32, relocs: u64, pushes: u64,
    suffix0: u32, suffix1: u32, vram: u64, gart: u64,
});

/// A buffer of a submission.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct RawBuffer {
    pub user: u64,
    pub handle: u32,
    pub read: u32,
    pub write: u32,
    pub valid: u32,
    pub presumed_valid: u32,
    pub presumed_domain: u32,
    pub presumed_offset: u64,
}

/// A range of commands.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct RawPush {
    pub buffer: u32,
    pub pad: u32,
    pub offset: u64,
    pub bytes: u64,
}

const _: () = assert!(size_of::<RawBuffer>() == 40 && size_of::<RawPush>() == 24);

/// `GEM_PUSHBUF`.
pub(super) fn submit(
    fd: impl AsFd,
    channel: u32,
    buffers: &mut [RawBuffer],
    pushes: &[RawPush],
) -> Result<(), Errno> {
    // The kernel reads these lists, and writes to the first, during the call, in which they are borrowed.
    let mut all = Pushbuf {
        channel,
        buffer_count: buffers.len() as u32,
        buffers: buffers.as_mut_ptr().expose_provenance() as u64,
        push_count: pushes.len() as u32,
        pushes: pushes.as_ptr().expose_provenance() as u64,
        ..Pushbuf::default()
    };
    all.call(fd)
}

#[repr(C)]
struct Version {
    numbers: [i32; 3],
    name_len: usize,
    name: *mut u8,
    date_len: usize,
    date: *mut u8,
    text_len: usize,
    text: *mut u8,
}

/// `VERSION`: the driver's name.
pub(super) fn driver_name(fd: impl AsFd) -> Result<String, Errno> {
    const OPCODE: Opcode = opcode::read_write::<Version>(GROUP, 0);
    let mut name = [0u8; 64];
    let null = std::ptr::null_mut();
    let mut version = Version {
        numbers: [0; 3],
        name_len: name.len(),
        name: name.as_mut_ptr(),
        date_len: 0,
        date: null,
        text_len: 0,
        text: null,
    };
    // SAFETY: the opcode is that of the structure, whose one pointer is to as many bytes as it says.
    unsafe { ioctl(fd.as_fd(), Updater::<OPCODE, Version>::new(&mut version))? };
    let length = version.name_len.min(name.len());
    Ok(String::from_utf8_lossy(&name[..length]).into_owned())
}

/// A buffer as the processor sees it.
#[derive(Debug)]
pub(super) struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: it is memory that no thread owns, and it is copied from and to, never borrowed.
unsafe impl Send for Mapping {}
// SAFETY: as above; copies that overlap in time mix bytes, as they do for a card.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `bytes` of a device from `offset` on.
    pub(super) fn new(fd: impl AsFd, offset: u64, bytes: usize) -> Result<Mapping, Errno> {
        let how = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at a place of the system's choice touches no memory that there is.
        let start = unsafe { mmap(std::ptr::null_mut(), bytes, how, MapFlags::SHARED, fd, offset)? };
        Ok(Mapping { start: NonNull::new(start.cast()).ok_or(Errno::NOMEM)?, bytes })
    }

    /// Copies bytes to the buffer; `false`: they do not fit.
    #[must_use]
    pub(super) fn write(&self, offset: usize, bytes: &[u8]) -> bool {
        let fits = offset.checked_add(bytes.len()).is_some_and(|end| end <= self.bytes);
        if fits {
            // SAFETY: the destination is inside the mapping, and no Rust memory lies there.
            unsafe {
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.start.as_ptr().add(offset), bytes.len())
            };
        }
        fits
    }

    /// Copies bytes from the buffer; `false`: there are not so many.
    #[must_use]
    pub(super) fn read(&self, offset: usize, bytes: &mut [u8]) -> bool {
        let fits = offset.checked_add(bytes.len()).is_some_and(|end| end <= self.bytes);
        if fits {
            // SAFETY: the source is inside the mapping, and no Rust memory lies there.
            unsafe {
                std::ptr::copy_nonoverlapping(
                    self.start.as_ptr().add(offset),
                    bytes.as_mut_ptr(),
                    bytes.len(),
                )
            };
        }
        fits
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this is what was mapped, and nobody has pointers into it. It fails for no argument that was mapped.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}
