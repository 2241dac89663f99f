//! The virtual GPU in this process.

use crate::device::{Alloc, Device, Domain, Memory, Push, usual_multiprocessors};
use crate::{Error, Result};
use nvir::Chip;
use nvir_vgpu::{BufferUse, Config, ErrorKind, File, GemNew, Gpu, Owned, domain};

/// A virtual card: everything that is submitted has been executed when the call returns.
#[derive(Debug)]
pub struct VirtualDevice {
    file: File,
}

/// Addresses of memory begin here, so that programs with pointers of 32 bits work.
const FIRST_ADDRESS: u64 = 1 << 20;

/// The parameter of `GETPARAM` for the time.
const PTIMER_TIME: u64 = 14;

impl VirtualDevice {
    /// A card with a chip.
    pub fn new(chip: Chip) -> VirtualDevice {
        VirtualDevice::with_config(Config::new(chip))
    }

    /// The same with observers, limits and checks. Addresses begin low whatever the configuration says.
    pub fn with_config(mut config: Config) -> VirtualDevice {
        config.first_address = FIRST_ADDRESS;
        VirtualDevice { file: Gpu::new(config, Box::new(Owned::default())).open() }
    }

    /// The card.
    pub fn gpu(&self) -> &Gpu {
        self.file.gpu()
    }
}

fn error(e: nvir_vgpu::Error) -> Error {
    match e.kind {
        ErrorKind::NoDevice => Error::Lost(e.message),
        ErrorKind::NoMemory => Error::OutOfMemory(e.message),
        ErrorKind::Invalid | ErrorKind::NotFound => Error::Invalid(e.message),
    }
}

impl Device for VirtualDevice {
    fn chip(&self) -> Chip {
        self.gpu().chip()
    }

    fn name(&self) -> String {
        format!("virtual {}", self.chip())
    }

    fn multiprocessors(&self) -> u32 {
        usual_multiprocessors(self.chip())
    }

    fn time(&self) -> Result<u64> {
        self.file.getparam(PTIMER_TIME).map_err(error)
    }

    fn alloc(&self, what: Alloc) -> Result<Memory> {
        let request = GemNew {
            domain: match what.domain {
                Domain::Vram => domain::VRAM,
                Domain::Host => domain::GART | domain::MAPPABLE | domain::COHERENT,
            },
            size: what.bytes,
            align: what.align,
            tile_mode: what.tile_mode.unwrap_or(0),
            tile_flags: if what.tile_mode.is_some() { u32::from(what.kind) << 8 } else { 0 },
        };
        let info = self.file.gem_new(request).map_err(error)?;
        let domain = if info.domain == domain::VRAM { Domain::Vram } else { Domain::Host };
        Ok(Memory { handle: info.handle, address: info.offset, bytes: info.size, domain })
    }

    fn free(&self, handle: u32) {
        // Only a handle that is not ours fails.
        let _ = self.file.gem_close(handle);
    }

    fn write(&self, memory: &Memory, offset: u64, bytes: &[u8]) -> Result<()> {
        self.gpu().write_bytes(memory.address + offset, bytes).map_err(error)
    }

    fn read(&self, memory: &Memory, offset: u64, bytes: &mut [u8]) -> Result<()> {
        let there = self.gpu().read_bytes(memory.address + offset, bytes.len() as u64).map_err(error)?;
        bytes.copy_from_slice(&there);
        Ok(())
    }

    fn open_channel(&self) -> Result<u32> {
        let info = self.file.channel_alloc(u32::MAX, 1).map_err(error)?;
        self.free(info.notifier_handle);
        Ok(info.channel)
    }

    fn close_channel(&self, channel: u32) {
        // Only a channel that is not ours fails.
        let _ = self.file.channel_free(channel);
    }

    fn object(&self, channel: u32, handle: u32, class: u32) -> Result<()> {
        self.file.object_alloc(channel, handle, class).map_err(error)
    }

    fn submit(&self, channel: u32, memory: &[Memory], pushes: &[Push]) -> Result<()> {
        let named = |m: &Memory| {
            let domain = if m.domain == Domain::Vram { domain::VRAM } else { domain::GART };
            BufferUse { handle: m.handle, read_domains: domain, write_domains: domain, valid_domains: domain }
        };
        let buffers: Vec<BufferUse> = memory.iter().map(named).collect();
        let push = |p: &Push| nvir_vgpu::Push {
            bo_index: p.memory,
            offset: p.offset,
            bytes: p.bytes,
            no_prefetch: false,
        };
        let pushes: Vec<nvir_vgpu::Push> = pushes.iter().map(push).collect();
        self.file.submit(channel, &buffers, &pushes).map(|_| ()).map_err(error)
    }

    fn wait(&self, memory: &Memory) -> Result<()> {
        self.file.cpu_prep(memory.handle, 0).map_err(error)
    }
}
