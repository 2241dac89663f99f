//! The card, and what a client does with it.

use crate::{Backing, Error};
use nvir::Chip;
use std::fmt;
use std::io::Write;
use std::sync::{Arc, Mutex};

/// What card to make, and what to tell about it.
pub struct Config {
    pub chip: Chip,
    /// Bytes of video memory that the card claims to have, and refuses to exceed.
    pub vram_bytes: u64,
    /// The same for system memory that it can address.
    pub gart_bytes: u64,
    /// The time in nanoseconds, for time stamps and GETPARAM. None: a counter that work advances, so that runs repeat.
    pub clock: Option<Box<dyn Fn() -> u64 + Send + Sync>>,
    /// Gets submissions, methods by name, launches and faults, as text.
    pub log: Option<Box<dyn Write + Send>>,
    /// Gets a recording.
    pub trace: Option<Box<dyn Write + Send>>,
    pub launch: crate::launch::Options,
    /// Gets each fault's text once (place and reason), when it happens.
    pub on_fault: Option<Box<dyn Fn(&str) + Send + Sync>>,
}

impl Config {
    /// A card with 1 GiB of video memory and 4 GiB of system memory, and no observers.
    pub fn new(chip: Chip) -> Config {
        Config {
            chip,
            vram_bytes: 1 << 30,
            gart_bytes: 4 << 30,
            clock: None,
            log: None,
            trace: None,
            launch: crate::launch::Options::default(),
            on_fault: None,
        }
    }
}

/// One virtual card. Clones are the same card.
#[derive(Clone)]
pub struct Gpu {
    card: Arc<Mutex<Card>>,
}

struct Card {}

/// One open file description of the card's device: buffer handles and channels belong to it, and end with it.
pub struct File {
    gpu: Gpu,
}

/// What `CHANNEL_ALLOC` returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChannelInfo {
    pub channel: u32,
    /// Where push buffers may lie.
    pub pushbuf_domains: u32,
    /// The buffer of the channel's notifiers, which the client closes.
    pub notifier_handle: u32,
}

/// What `GEM_NEW` asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GemNew {
    pub domain: u32,
    /// Bytes, rounded up to pages.
    pub size: u64,
    /// Of the GPU address; 0 is a page.
    pub align: u32,
    pub tile_mode: u32,
    pub tile_flags: u32,
}

/// What `GEM_NEW` and `GEM_INFO` return.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GemInfo {
    pub handle: u32,
    /// Exactly one of VRAM and GART.
    pub domain: u32,
    /// Bytes.
    pub size: u64,
    /// The GPU address.
    pub offset: u64,
    /// What the client gives to `mmap` as the offset.
    pub map_handle: u64,
    pub tile_mode: u32,
    pub tile_flags: u32,
}

/// A buffer that a submission names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BufferUse {
    pub handle: u32,
    pub read_domains: u32,
    pub write_domains: u32,
    pub valid_domains: u32,
}

/// One range of commands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Push {
    /// Index into the submission's buffers.
    pub bo_index: u32,
    /// Bytes from the buffer's start.
    pub offset: u64,
    /// Bytes, without the flag that the kernel's interface has in bit 23.
    pub bytes: u32,
    /// That flag.
    pub no_prefetch: bool,
}

/// Bytes that are free.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Space {
    pub vram: u64,
    pub gart: u64,
}

/// A buffer on its way from one file to another; keeps it alive.
#[derive(Clone)]
pub struct SharedBuffer {
    _card: Gpu,
}

impl Gpu {
    pub fn new(_config: Config, _backing: Box<dyn Backing>) -> Gpu {
        Gpu { card: Arc::new(Mutex::new(Card {})) }
    }

    /// What `open` of the device does.
    pub fn open(&self) -> File {
        File { gpu: self.clone() }
    }

    /// Writes what observers still hold.
    pub fn flush(&self) {}
}

type Result<T> = std::result::Result<T, Error>;

impl File {
    /// The card that was opened.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// `GETPARAM`. Unknown parameters are errors.
    pub fn getparam(&self, param: u64) -> Result<u64> {
        Err(Error::invalid(format!("parameter {param} does not exist")))
    }

    /// `CHANNEL_ALLOC`. The two arguments name engines or memory on other chips and mean nothing here.
    pub fn channel_alloc(&self, _fb_ctxdma: u32, _tt_ctxdma: u32) -> Result<ChannelInfo> {
        Err(Error::invalid("no channels"))
    }

    /// `CHANNEL_FREE`.
    pub fn channel_free(&self, _channel: u32) -> Result<()> {
        Ok(())
    }

    /// `GROBJ_ALLOC`: the class that `handle` stands for.
    pub fn object_alloc(&self, _channel: u32, _handle: u32, _class: u32) -> Result<()> {
        Ok(())
    }

    /// `NOTIFIEROBJ_ALLOC`: the offset in the notifier buffer.
    pub fn notifier_alloc(&self, _channel: u32, _handle: u32, _size: u32) -> Result<u32> {
        Ok(0)
    }

    /// `GPUOBJ_FREE`.
    pub fn object_free(&self, _channel: u32, _handle: u32) -> Result<()> {
        Ok(())
    }

    /// `GEM_NEW`.
    pub fn gem_new(&self, _request: GemNew) -> Result<GemInfo> {
        Err(Error::invalid("no buffers"))
    }

    /// `GEM_INFO`.
    pub fn gem_info(&self, handle: u32) -> Result<GemInfo> {
        Err(Error::not_found(format!("there is no buffer {handle}")))
    }

    /// `GEM_CLOSE`. The buffer ends with the last handle or [`SharedBuffer`].
    pub fn gem_close(&self, handle: u32) -> Result<()> {
        Err(Error::not_found(format!("there is no buffer {handle}")))
    }

    /// `GEM_CPU_PREP`: buffers are always idle.
    pub fn cpu_prep(&self, handle: u32, _flags: u32) -> Result<()> {
        self.gem_info(handle).map(|_| ())
    }

    /// `GEM_CPU_FINI`.
    pub fn cpu_fini(&self, handle: u32) -> Result<()> {
        self.gem_info(handle).map(|_| ())
    }

    /// `GEM_PUSHBUF`: executes the ranges as one stream. Without ranges it only tells the space.
    pub fn submit(&self, _channel: u32, _buffers: &[BufferUse], _pushes: &[Push]) -> Result<Space> {
        Ok(Space::default())
    }

    /// For `PRIME_HANDLE_TO_FD`: the buffer, to be kept with the new descriptor.
    pub fn export(&self, handle: u32) -> Result<SharedBuffer> {
        Err(Error::not_found(format!("there is no buffer {handle}")))
    }

    /// For `PRIME_FD_TO_HANDLE`: the handle of the buffer in this file, the old one if it has one already. An error if the
    /// buffer is another card's.
    pub fn import(&self, _buffer: &SharedBuffer) -> Result<u32> {
        Err(Error::invalid("no buffers"))
    }

    /// `GEM_FLINK`: the buffer's global name, which any file of this card can open.
    pub fn flink(&self, handle: u32) -> Result<u32> {
        Err(Error::not_found(format!("there is no buffer {handle}")))
    }

    /// `GEM_OPEN`: a handle for a name.
    pub fn open_name(&self, name: u32) -> Result<GemInfo> {
        Err(Error::not_found(format!("there is no buffer named {name}")))
    }
}

impl fmt::Debug for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gpu").finish_non_exhaustive()
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("File").finish_non_exhaustive()
    }
}
