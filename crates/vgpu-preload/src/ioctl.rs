//! The kernel's interface: DRM's calls and nouveau's, version 1.3.1. Structures are those of `drm.h` and `nouveau_drm.h`
//! on 64-bit machines.

use crate::fds::{self, Description};
use crate::machine;
use crate::nvif;
use crate::options::{OnFault, options};
use crate::sys::{self, Errno, Result};
use crate::tree;
use nvir_vgpu::{BufferUse, Error, ErrorKind, File, GemInfo, GemNew, Push};
use std::sync::Arc;

pub(crate) const EINVAL: Errno = Errno(libc::EINVAL);

/// What the driver calls itself. From 1.1.1 on clients ask how many multiprocessors the card has, and may take compressed kinds of
/// memory, which are the same to this card. From 1.3.1 on they make objects by NVIF; Mesa 24.1 and later refuse older drivers.
const VERSION: [u32; 3] = [1, 3, 1];
const NAME: &[u8] = b"nouveau";
const DATE: &[u8] = b"20120801";
const DESCRIPTION: &[u8] = b"nVidia Riva/TNT/GeForce/Quadro/Tesla/Tegra K1+";

/// Limits of the kernel's driver on one submission.
const MAX_BUFFERS: u32 = 1024;
const MAX_PUSHES: u32 = 512;

/// Type of DRM's calls in bits 15:8 of the request.
const DRM: u32 = b'd' as u32;
/// Numbers from here on are the driver's.
const DRIVER: u32 = 0x40;

mod nr {
    pub(super) const VERSION: u32 = 0x00;
    pub(super) const GET_UNIQUE: u32 = 0x01;
    pub(super) const GEM_CLOSE: u32 = 0x09;
    pub(super) const GEM_FLINK: u32 = 0x0a;
    pub(super) const GEM_OPEN: u32 = 0x0b;
    pub(super) const GET_CAP: u32 = 0x0c;
    pub(super) const PRIME_HANDLE_TO_FD: u32 = 0x2d;
    pub(super) const PRIME_FD_TO_HANDLE: u32 = 0x2e;

    use super::DRIVER;
    pub(super) const GETPARAM: u32 = DRIVER;
    pub(super) const CHANNEL_ALLOC: u32 = DRIVER + 0x02;
    pub(super) const CHANNEL_FREE: u32 = DRIVER + 0x03;
    pub(super) const GROBJ_ALLOC: u32 = DRIVER + 0x04;
    pub(super) const NOTIFIEROBJ_ALLOC: u32 = DRIVER + 0x05;
    pub(super) const GPUOBJ_FREE: u32 = DRIVER + 0x06;
    pub(super) const NVIF: u32 = DRIVER + 0x07;
    pub(super) const GEM_NEW: u32 = DRIVER + 0x40;
    pub(super) const GEM_PUSHBUF: u32 = DRIVER + 0x41;
    pub(super) const GEM_CPU_PREP: u32 = DRIVER + 0x42;
    pub(super) const GEM_CPU_FINI: u32 = DRIVER + 0x43;
    pub(super) const GEM_INFO: u32 = DRIVER + 0x44;
}

/// The bytes of a call's structure, which the kernel copies in and out: of the longest one, a list of classes.
pub(crate) struct Args {
    bytes: [u8; nvif::LONGEST],
    /// What the client gave of it. The rest is zero.
    size: usize,
}

impl Args {
    /// An error where the client's structure is shorter.
    pub(crate) fn at_least(&self, size: usize) -> Result<()> {
        if self.size < size { Err(EINVAL) } else { Ok(()) }
    }

    pub(crate) fn u8(&self, at: usize) -> u8 {
        self.bytes[at]
    }

    pub(crate) fn u32(&self, at: usize) -> u32 {
        word(&self.bytes, at)
    }

    pub(crate) fn u64(&self, at: usize) -> u64 {
        long(&self.bytes, at)
    }

    pub(crate) fn set(&mut self, at: usize, bytes: &[u8]) {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    pub(crate) fn set_u32(&mut self, at: usize, v: u32) {
        self.set(at, &v.to_le_bytes());
    }

    pub(crate) fn set_u64(&mut self, at: usize, v: u64) {
        self.set(at, &v.to_le_bytes());
    }

    /// `struct drm_nouveau_gem_info`, at the start of its calls.
    fn set_info(&mut self, i: GemInfo) {
        self.set_u32(0, i.handle);
        self.set_u32(4, i.domain);
        self.set_u64(8, i.size);
        self.set_u64(16, i.offset);
        self.set_u64(24, i.map_handle);
        self.set_u32(32, i.tile_mode);
        self.set_u32(36, i.tile_flags);
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]))
}

/// A call on a descriptor of ours: what `ioctl` returns.
pub(crate) fn call(what: &Description, request: u32, address: u64) -> Result<i32> {
    let (direction, size) = (request >> 30, (request >> 16 & 0x3fff) as usize);
    let Description::Device { card, file } = what else { return Err(Errno(libc::ENOTTY)) };
    if request >> 8 & 0xff != DRM {
        return Err(Errno(libc::ENOTTY));
    }
    let mut args = Args { bytes: [0; nvif::LONGEST], size };
    let bytes = args.bytes.get_mut(..size).ok_or(EINVAL)?;
    if direction & 1 != 0 {
        sys::read_client(address, bytes)?;
    }
    let number = request & 0xff;
    let done = match number {
        nr::PRIME_HANDLE_TO_FD => export(file, &mut args),
        nr::PRIME_FD_TO_HANDLE => import(file, &mut args),
        _ => machine::call(|| execute(*card, file, number, &mut args)),
    };
    done.inspect_err(|e| log(&format!("call {number:#04x} fails: errno {}", e.0)))?;
    if direction & 2 != 0 {
        sys::write_client(address, &args.bytes[..size])?;
    }
    Ok(0)
}

pub(crate) fn log(text: &str) {
    if let Some(to) = &options().log {
        to.line(text);
    }
}

/// The errno of a refused call; the reason goes to the log.
pub(crate) fn refused(e: Error) -> Errno {
    log(&e.to_string());
    Errno(e.kind.errno())
}

fn execute(card: u32, file: &File, number: u32, a: &mut Args) -> Result<()> {
    match number {
        nr::VERSION => version(a),
        nr::GET_UNIQUE => {
            let unique = format!("pci:{}", tree::slot(card));
            text(a, 0, unique.as_bytes())
        }
        nr::GET_CAP => capability(a),
        nr::GEM_CLOSE => file.gem_close(a.u32(0)).map_err(refused),
        nr::GEM_FLINK => {
            let name = file.flink(a.u32(0)).map_err(refused)?;
            a.set_u32(4, name);
            Ok(())
        }
        nr::GEM_OPEN => {
            let info = file.open_name(a.u32(0)).map_err(refused)?;
            a.set_u32(4, info.handle);
            a.set_u64(8, info.size);
            Ok(())
        }
        nr::GETPARAM => {
            let value = file.getparam(a.u64(0)).map_err(refused)?;
            a.set_u64(8, value);
            Ok(())
        }
        nr::CHANNEL_ALLOC => {
            let info = file.channel_alloc(a.u32(0), a.u32(4)).map_err(refused)?;
            a.set_u32(8, info.channel);
            a.set_u32(12, info.pushbuf_domains);
            a.set_u32(16, info.notifier_handle);
            a.set_u32(84, 0); // no subchannel is bound
            Ok(())
        }
        nr::CHANNEL_FREE => file.channel_free(a.u32(0)).map_err(refused),
        nr::GROBJ_ALLOC => file.object_alloc(a.u32(0), a.u32(4), a.u32(8)).map_err(refused),
        nr::NOTIFIEROBJ_ALLOC => {
            let offset = file.notifier_alloc(a.u32(0), a.u32(4), a.u32(8)).map_err(refused)?;
            a.set_u32(12, offset);
            Ok(())
        }
        nr::GPUOBJ_FREE => file.object_free(a.u32(0), a.u32(4)).map_err(refused),
        nr::NVIF => nvif::call(file, a),
        nr::GEM_NEW => {
            let request = GemNew {
                domain: a.u32(4),
                size: a.u64(8),
                align: a.u32(44),
                tile_mode: a.u32(32),
                tile_flags: a.u32(36),
            };
            let info = file.gem_new(request).map_err(refused)?;
            a.set_info(info);
            Ok(())
        }
        nr::GEM_PUSHBUF => submit(card, file, a),
        nr::GEM_CPU_PREP => file.cpu_prep(a.u32(0), a.u32(4)).map_err(refused),
        nr::GEM_CPU_FINI => file.cpu_fini(a.u32(0)).map_err(refused),
        nr::GEM_INFO => {
            let info = file.gem_info(a.u32(0)).map_err(refused)?;
            a.set_info(info);
            Ok(())
        }
        _ => Err(EINVAL),
    }
}

fn version(a: &mut Args) -> Result<()> {
    for (i, n) in VERSION.iter().enumerate() {
        a.set_u32(4 * i, *n);
    }
    text(a, 16, NAME)?;
    text(a, 32, DATE)?;
    text(a, 48, DESCRIPTION)
}

/// A length and an address of so many bytes: gives as much as fits, and the whole length.
fn text(a: &mut Args, at: usize, what: &[u8]) -> Result<()> {
    let room = usize::try_from(a.u64(at)).unwrap_or(usize::MAX).min(what.len());
    if a.u64(at + 8) != 0 {
        sys::write_client(a.u64(at + 8), &what[..room])?;
    }
    a.set_u64(at, what.len() as u64);
    Ok(())
}

fn capability(a: &mut Args) -> Result<()> {
    let value = match a.u64(0) {
        0x5 => 3, // PRIME: import and export
        0x6 => 1, // time stamps are monotonic
        // Displays, modifiers, and synchronisation objects: there are none.
        0x1..=0x4 | 0x7..=0x15 => 0,
        _ => return Err(EINVAL),
    };
    a.set_u64(8, value);
    Ok(())
}

/// `struct drm_prime_handle`: handle, flags, descriptor.
fn export(file: &File, a: &mut Args) -> Result<()> {
    let (handle, flags) = (a.u32(0), a.u32(4) as i32);
    let (info, buffer) = machine::call(|| {
        let info = file.gem_info(handle).map_err(refused)?;
        Ok((info, file.export(handle).map_err(refused)?))
    })?;
    let fd = machine::node(flags)?;
    sys::resize(&fd, info.size)?; // what a client finds by seeking to the end
    let what = Description::Buffer { buffer, map_handle: info.map_handle, bytes: info.size };
    let fd = fds::add(fd, Arc::new(what))?;
    a.set_u32(8, fd as u32);
    Ok(())
}

fn import(file: &File, a: &mut Args) -> Result<()> {
    let what = fds::find(a.u32(8) as i32).ok_or(Errno(libc::EBADF))?;
    let handle = match &*what {
        Description::Buffer { buffer, .. } => machine::call(|| file.import(buffer).map_err(refused)),
        Description::Device { .. } => Err(EINVAL),
    };
    machine::forget(Some(what));
    a.set_u32(0, handle?);
    Ok(())
}

fn submit(card: u32, file: &File, a: &mut Args) -> Result<()> {
    let (buffers, relocs, pushes) = (a.u32(4), a.u32(16), a.u32(20));
    if buffers > MAX_BUFFERS || pushes > MAX_PUSHES || relocs != 0 {
        log(&format!("a submission of {buffers} buffers, {relocs} relocations and {pushes} ranges"));
        return Err(EINVAL);
    }
    let buffers = records::<40>(a.u64(8), buffers)?
        .iter()
        .map(|b| BufferUse {
            handle: word(b, 8),
            read_domains: word(b, 12),
            write_domains: word(b, 16),
            valid_domains: word(b, 20),
        })
        .collect::<Vec<_>>();
    let pushes = records::<24>(a.u64(32), pushes)?
        .iter()
        .map(|p| Push {
            bo_index: word(p, 0),
            offset: long(p, 8),
            bytes: word(p, 16) & 0x7f_ffff,
            no_prefetch: word(p, 16) & 1 << 23 != 0,
        })
        .collect::<Vec<_>>();
    let done = file.submit(a.u32(0), &buffers, &pushes);
    file.gpu().flush();
    let space = match done {
        // libdrm is not prepared for a refusal, and ends the program; the person at the terminal has been told.
        Err(e) if e.kind == ErrorKind::NoDevice && options().on_fault != OnFault::Refuse => {
            if options().on_fault == OnFault::Exit {
                machine::exit_after_fault(file.gpu(), card);
            }
            file.submit(a.u32(0), &[], &[])
        }
        done => done,
    };
    let space = space.map_err(refused)?;
    a.set_u32(40, 0);
    a.set_u32(44, 0);
    a.set_u64(48, space.vram);
    a.set_u64(56, space.gart);
    Ok(())
}

/// An array in the client's memory.
fn records<const N: usize>(address: u64, count: u32) -> Result<Vec<[u8; N]>> {
    let mut bytes = vec![0; N * count as usize];
    sys::read_client(address, &mut bytes)?;
    Ok(bytes.chunks_exact(N).map(|c| std::array::from_fn(|i| c[i])).collect())
}
