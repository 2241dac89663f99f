//! A card behind the nouveau kernel driver: its render node.

mod sys;

use crate::device::{Alloc, Device, Domain, Memory, Push, usual_multiprocessors};
use crate::error::{Error, Result};
use nvir::Chip;
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

/// Bits of domains.
const VRAM: u32 = 2;
const GART: u32 = 4;
const MAPPABLE: u32 = 8;
const COHERENT: u32 = 16;

/// Parameters of `GETPARAM`.
const CHIPSET: u64 = 11;
const GRAPH_UNITS: u64 = 13;
const TIME: u64 = 14;

/// `CHANNEL_ALLOC`'s first two words: on Kepler "an engine", which one (1: graphics and compute); on Fermi names that the
/// driver ignores.
const ENGINE: [u32; 2] = [u32::MAX, 1];
const FERMI_NAMES: [u32; 2] = [0xbeef_0201, 0xbeef_0202];

/// The open render node of a card that is a Fermi or Kepler of ours.
#[derive(Debug)]
pub struct RenderNode {
    fd: OwnedFd,
    chip: Chip,
    units: u32,
    /// Buffers as the processor sees them, by handle.
    mappings: Mutex<BTreeMap<u32, Arc<sys::Mapping>>>,
}

/// A render node that is there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// `/dev/dri/renderD128` and so on.
    pub path: PathBuf,
    /// The kernel driver's name, or why it cannot be asked.
    pub driver: Result<String, String>,
    /// NVIDIA's number of the chip, where the driver is nouveau.
    pub chipset: Option<u32>,
}

impl Found {
    /// The chip, if it is one that the compiler knows.
    pub fn chip(&self) -> Option<Chip> {
        self.chipset.and_then(Chip::of_chipset)
    }
}

/// The render nodes that there are, by name.
pub fn devices() -> Vec<Found> {
    let Ok(folder) = std::fs::read_dir("/dev/dri") else { return Vec::new() };
    let paths = folder.filter_map(|e| Some(e.ok()?.path()));
    let node = |p: &PathBuf| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with("renderD"));
    let mut paths: Vec<PathBuf> = paths.filter(node).collect();
    paths.sort();
    paths
        .into_iter()
        .map(|path| {
            let asked = open(&path).and_then(|fd| {
                let name = sys::driver_name(&fd).map_err(|e| system("VERSION", e))?;
                let chipset = (name == "nouveau").then(|| param(&fd, CHIPSET)).transpose()?;
                Ok((name, chipset.map(|c| c as u32)))
            });
            match asked {
                Ok((name, chipset)) => Found { path, driver: Ok(name), chipset },
                Err(e) => Found { path, driver: Err(e.to_string()), chipset: None },
            }
        })
        .collect()
}

fn system(what: &str, e: Errno) -> Error {
    match e {
        Errno::NOMEM | Errno::NOSPC => Error::OutOfMemory(format!("{what}: {e}")),
        _ => Error::System(format!("{what}: {e}")),
    }
}

fn open(path: &Path) -> Result<OwnedFd> {
    rustix::fs::open(path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
        .map_err(|e| Error::System(format!("{}: {e}", path.display())))
}

fn param(fd: &OwnedFd, param: u64) -> Result<u64> {
    let mut p = sys::GetParam { param, value: 0 };
    p.call(fd).map_err(|e| system(&format!("GETPARAM {param}"), e))?;
    Ok(p.value)
}

impl RenderNode {
    /// Opens a render node.
    ///
    /// # Errors
    /// It cannot be opened, another driver serves it, or its chip is none that code can be made for: with its number.
    pub fn open(path: &Path) -> Result<RenderNode> {
        let fd = open(path)?;
        let name = sys::driver_name(&fd).map_err(|e| system(&format!("{}: VERSION", path.display()), e))?;
        if name != "nouveau" {
            return Err(Error::Unsupported(format!("{}: the driver is {name}, not nouveau", path.display())));
        }
        let chipset = param(&fd, CHIPSET)? as u32;
        let Some(chip) = Chip::of_chipset(chipset) else {
            let all = Chip::ALL.map(|c| format!("{c} (NV{:X})", c.chipset())).join(", ");
            let path = path.display();
            return Err(Error::Unsupported(format!("{path}: the chip is NV{chipset:X}; supported: {all}")));
        };
        // Not all kernels tell.
        let units = param(&fd, GRAPH_UNITS).map(|v| (v >> 8) as u32 & 0xffff).ok().filter(|&n| n != 0);
        let units = units.unwrap_or(usual_multiprocessors(chip));
        Ok(RenderNode { fd, chip, units, mappings: Mutex::default() })
    }

    fn mappings(&self) -> MutexGuard<'_, BTreeMap<u32, Arc<sys::Mapping>>> {
        self.mappings.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn mapping(&self, memory: &Memory) -> Result<Arc<sys::Mapping>> {
        let known = self.mappings().get(&memory.handle).cloned();
        known.ok_or_else(|| {
            Error::Invalid(format!("buffer {} is not one that the processor sees", memory.handle))
        })
    }
}

impl Device for RenderNode {
    fn chip(&self) -> Chip {
        self.chip
    }

    fn name(&self) -> String {
        format!("nouveau {}", self.chip)
    }

    fn multiprocessors(&self) -> u32 {
        self.units
    }

    fn time(&self) -> Result<u64> {
        param(&self.fd, TIME)
    }

    fn alloc(&self, what: Alloc) -> Result<Memory> {
        let domain = match what.domain {
            Domain::Vram => VRAM,
            Domain::Host => GART | MAPPABLE | COHERENT,
        };
        let mut new = sys::GemNew {
            domain,
            size: what.bytes,
            align: what.align,
            tile_mode: what.tile_mode.unwrap_or(0),
            tile_flags: if what.tile_mode.is_some() { u32::from(what.kind) << 8 } else { 0 },
            ..sys::GemNew::default()
        };
        new.call(&self.fd).map_err(|e| system(&format!("GEM_NEW of {} bytes", what.bytes), e))?;
        let memory = Memory { handle: new.handle, address: new.offset, bytes: new.size, domain: what.domain };
        if what.domain == Domain::Host {
            match sys::Mapping::new(&self.fd, new.map_handle, new.size as usize) {
                Ok(mapping) => self.mappings().insert(new.handle, Arc::new(mapping)),
                Err(e) => {
                    self.free(new.handle);
                    return Err(system("mmap", e));
                }
            };
        }
        Ok(memory)
    }

    fn free(&self, handle: u32) {
        self.mappings().remove(&handle);
        // Only a handle that is not ours fails.
        let _ = sys::GemClose { handle, pad: 0 }.call(&self.fd);
    }

    fn write(&self, memory: &Memory, offset: u64, bytes: &[u8]) -> Result<()> {
        match self.mapping(memory)?.write(offset as usize, bytes) {
            true => Ok(()),
            false => Err(Error::Invalid(format!("{} bytes at {offset} of {}", bytes.len(), memory.bytes))),
        }
    }

    fn read(&self, memory: &Memory, offset: u64, bytes: &mut [u8]) -> Result<()> {
        match self.mapping(memory)?.read(offset as usize, bytes) {
            true => Ok(()),
            false => Err(Error::Invalid(format!("{} bytes at {offset} of {}", bytes.len(), memory.bytes))),
        }
    }

    fn open_channel(&self) -> Result<u32> {
        let [fb, tt] = if self.chip == Chip::Gf100 { FERMI_NAMES } else { ENGINE };
        let mut new = sys::ChannelAlloc { fb, tt, ..sys::ChannelAlloc::default() };
        new.call(&self.fd).map_err(|e| system("CHANNEL_ALLOC", e))?;
        if new.notifier != 0 {
            self.free(new.notifier);
        }
        Ok(new.channel as u32)
    }

    fn close_channel(&self, channel: u32) {
        // Only a channel that is not ours fails.
        let _ = sys::ChannelFree { channel: channel as i32 }.call(&self.fd);
    }

    fn object(&self, channel: u32, handle: u32, class: u32) -> Result<()> {
        let mut new = sys::ObjectAlloc { channel: channel as i32, handle, class: class as i32 };
        new.call(&self.fd).map_err(|e| system(&format!("GROBJ_ALLOC of class {class:x}"), e))
    }

    fn submit(&self, channel: u32, memory: &[Memory], pushes: &[Push]) -> Result<()> {
        let buffer = |m: &Memory| {
            let domain = if m.domain == Domain::Vram { VRAM } else { GART };
            sys::RawBuffer {
                user: 0,
                handle: m.handle,
                read: domain,
                write: domain,
                valid: domain,
                presumed_valid: 1,
                presumed_domain: domain,
                presumed_offset: m.address,
            }
        };
        let mut buffers: Vec<_> = memory.iter().map(buffer).collect();
        let push =
            |p: &Push| sys::RawPush { buffer: p.memory, pad: 0, offset: p.offset, bytes: p.bytes.into() };
        let pushes: Vec<_> = pushes.iter().map(push).collect();
        sys::submit(&self.fd, channel, &mut buffers, &pushes).map_err(|e| match e {
            Errno::NODEV | Errno::IO | Errno::NOENT => Error::Lost(format!("GEM_PUSHBUF: {e}")),
            _ => system("GEM_PUSHBUF", e),
        })
    }

    fn wait(&self, memory: &Memory) -> Result<()> {
        // For writing: no submission may read it either.
        const WRITE: u32 = 4;
        let mut prep = sys::CpuPrep { handle: memory.handle, flags: WRITE };
        prep.call(&self.fd).map_err(|e| system("GEM_CPU_PREP", e))
    }
}
