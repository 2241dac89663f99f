//! The card, and what a client does with it.

use crate::device::{Device, Written};
use crate::file::buffers::Buffers;
use crate::file::calls::{BufferUse, ChannelFault, ChannelInfo, GemInfo, GemNew, Push, Space};
use crate::file::card::{Card, param};
use crate::frames::{Frames, OnFrame};
use crate::log::Log;
use crate::shader::{KernelProfile, Launcher};
use crate::trace::Recorder;
use crate::watch::{Watch, Watching};
use crate::{Backing, Error, ErrorKind};
use nvir_base::Chip;
use std::fmt;
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard};

/// Who is told of faults.
pub type OnFault = Box<dyn Fn(&ChannelFault) + Send + Sync>;

/// What card to make, and what to tell about it.
pub struct Config {
    /// Which chip the card has.
    pub chip: Chip,
    /// Bytes of video memory that the card claims to have, and refuses to exceed.
    pub vram_bytes: u64,
    /// The same for system memory that it can address.
    pub gart_bytes: u64,
    /// Where GPU addresses of buffers begin. The windows of shared and local memory, below 4 GiB, are left out.
    pub first_address: u64,
    /// The time in nanoseconds, for time stamps and GETPARAM. None: a counter that work advances, so that runs repeat.
    pub clock: Option<Box<dyn Fn() -> u64 + Send + Sync>>,
    /// Gets submissions, methods by name, launches and faults, as text.
    pub log: Option<Box<dyn Write + Send>>,
    /// Gets a recording.
    pub trace: Option<Box<dyn Write + Send>>,
    /// How kernels run.
    pub launch: crate::shader::Options,
    /// Work that one submission may take beside its kernels, about a unit a nanosecond; more is a fault.
    pub work_limit: u64,
    /// Gets each fault once, when it happens.
    pub on_fault: Option<OnFault>,
    /// Gets each frame, when its submission has ended.
    pub on_frame: Option<OnFrame>,
    /// The only frame that is wanted, counted from 1; `None`: all.
    pub frame: Option<u64>,
    /// In frames the first row in memory is the top one; else that is what the viewport says.
    pub top_first: bool,
    /// Looks on.
    pub watch: Option<Box<dyn Watch>>,
}

impl Config {
    /// A card with 1 GiB of video memory and 4 GiB of system memory, and no observers.
    pub fn new(chip: Chip) -> Config {
        Config {
            chip,
            vram_bytes: 1 << 30,
            gart_bytes: 4 << 30,
            first_address: crate::file::buffers::FIRST,
            clock: None,
            log: None,
            trace: None,
            launch: crate::shader::Options::default(),
            work_limit: crate::device::WORK_LIMIT,
            on_fault: None,
            on_frame: None,
            frame: None,
            top_first: false,
            watch: None,
        }
    }
}

/// One virtual card. Clones are the same card.
#[derive(Clone)]
pub struct Gpu {
    shared: Arc<Shared>,
}

struct Shared {
    card: Mutex<Card>,
    on_fault: Option<OnFault>,
}

/// One open file description of the card's device: buffer handles and channels belong to it, and end with it.
pub struct File {
    gpu: Gpu,
    id: u32,
}

/// A buffer on its way from one file to another; keeps it alive.
pub struct SharedBuffer {
    gpu: Gpu,
    address: u64,
}

impl Drop for SharedBuffer {
    fn drop(&mut self) {
        self.gpu.card().unshare(self.address);
    }
}

impl Gpu {
    /// A card with nothing on it.
    pub fn new(config: Config, backing: Box<dyn Backing>) -> Gpu {
        let mut device = Device::new(config.chip, Launcher::new(config.launch), config.clock);
        device.log = config.log.map(Log::new);
        device.frames = config.on_frame.map(|tell| Frames::new(tell, config.frame, config.top_first));
        device.watch = config.watch.map(Watching::new);
        let recorder = config.trace.map(|to| Recorder::new(to, config.chip));
        let mut card = Card::new(
            device,
            Buffers::new(backing, config.vram_bytes, config.gart_bytes, config.first_address),
            recorder,
        );
        card.work_limit = config.work_limit;
        Gpu { shared: Arc::new(Shared { card: Mutex::new(card), on_fault: config.on_fault }) }
    }

    pub(crate) fn card(&self) -> MutexGuard<'_, Card> {
        self.shared.card.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// What `open` of the device does.
    pub fn open(&self) -> File {
        File { gpu: self.clone(), id: self.card().open() }
    }

    /// Which chip the card has.
    pub fn chip(&self) -> Chip {
        self.card().device.chip
    }

    /// Writes what observers still hold.
    pub fn flush(&self) {
        let mut card = self.card();
        if let Some(log) = &mut card.device.log {
            log.flush();
        }
        if let Some(recorder) = &mut card.recorder {
            recorder.flush();
        }
    }

    /// What kernels did so far, in the order of their first launches.
    pub fn profile(&self) -> Vec<KernelProfile> {
        self.card().device.launcher.profile().to_vec()
    }

    /// What draws did so far, if they are profiled.
    pub fn draw_profile(&self) -> crate::shader::DrawProfiles {
        self.card().device.launcher.draws().clone()
    }

    /// For a process that was forked off: launches run on one thread from now on, since no other came along, and the
    /// profile begins anew.
    pub fn forked(&self) {
        self.card().device.launcher.forked();
    }

    /// The words at a GPU address, as the processor sees them. An error: they are not inside one buffer.
    pub fn read(&self, address: u64, words: &mut [u32]) -> Result<()> {
        self.card().device.memory.read_words(address, words).map_err(|e| Error::invalid(e.to_string()))
    }

    /// Writes words at a GPU address, as the processor does it.
    pub fn write(&self, address: u64, words: &[u32]) -> Result<()> {
        self.card().device.memory.write_words(address, words).map_err(|e| Error::invalid(e.to_string()))
    }

    /// The bytes at a GPU address, as the processor sees them. An error: they are not inside one buffer.
    pub fn read_bytes(&self, address: u64, count: u64) -> Result<Vec<u8>> {
        self.card().device.memory.read(address, count).map_err(|e| Error::invalid(e.to_string()))
    }

    /// Writes bytes at a GPU address, as the processor does it.
    pub fn write_bytes(&self, address: u64, bytes: &[u8]) -> Result<()> {
        self.card().device.memory.write(address, bytes).map_err(|e| Error::invalid(e.to_string()))
    }

    /// From now on every submission keeps a list of what its methods write.
    pub fn keep_writes(&self) {
        self.card().device.written = Some(Vec::new());
    }

    /// What the methods of the last submission wrote, in order.
    pub fn writes(&self) -> Vec<Written> {
        self.card().device.written.clone().unwrap_or_default()
    }
}

type Result<T> = std::result::Result<T, Error>;

impl Drop for File {
    fn drop(&mut self) {
        self.gpu.card().close(self.id);
    }
}

impl File {
    /// The card that was opened.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// `GETPARAM`. Unknown parameters are errors.
    pub fn getparam(&self, param: u64) -> Result<u64> {
        self.gpu.card().getparam(param)
    }

    /// Bytes of the card's own memory.
    pub fn vram_bytes(&self) -> Result<u64> {
        self.getparam(param::VRAM_BYTES)
    }

    /// `CHANNEL_ALLOC`. The two arguments name engines or memory on other chips and mean nothing here.
    pub fn channel_alloc(&self, _fb_ctxdma: u32, _tt_ctxdma: u32) -> Result<ChannelInfo> {
        self.gpu.card().channel_alloc(self.id)
    }

    /// `CHANNEL_FREE`.
    pub fn channel_free(&self, channel: u32) -> Result<()> {
        self.gpu.card().channel_free(self.id, channel)
    }

    /// `GROBJ_ALLOC`: the class that `handle` stands for.
    pub fn object_alloc(&self, channel: u32, handle: u32, class: u32) -> Result<()> {
        self.gpu.card().object_alloc(self.id, channel, handle, class)
    }

    /// `NOTIFIEROBJ_ALLOC`: the offset in the notifier buffer. Nothing is ever written there.
    pub fn notifier_alloc(&self, channel: u32, _handle: u32, size: u32) -> Result<u32> {
        self.gpu.card().notifier_alloc(self.id, channel, size)
    }

    /// `GPUOBJ_FREE`. Handles that are not known are accepted.
    pub fn object_free(&self, channel: u32, handle: u32) -> Result<()> {
        self.gpu.card().object_free(self.id, channel, handle)
    }

    /// Gives an object of a channel a name of the client's, as NVIF has it. A name that stands for another object stands for this one
    /// from now on.
    pub fn object_name(&self, name: u64, channel: u32, handle: u32) -> Result<()> {
        self.gpu.card().object_name(self.id, name, channel, handle)
    }

    /// Frees the object with a client's name. Names that are not known are accepted.
    pub fn object_delete(&self, name: u64) -> Result<()> {
        self.gpu.card().object_delete(self.id, name)
    }

    /// `GEM_NEW`.
    pub fn gem_new(&self, request: GemNew) -> Result<GemInfo> {
        self.gpu.card().gem_new(self.id, request, None)
    }

    /// A new buffer at a GPU address of the caller's choice, a multiple of a page: for replays.
    pub fn gem_new_at(&self, request: GemNew, address: u64) -> Result<GemInfo> {
        self.gpu.card().gem_new(self.id, request, Some(address))
    }

    /// `GEM_INFO`.
    pub fn gem_info(&self, handle: u32) -> Result<GemInfo> {
        self.gpu.card().gem_info(self.id, handle)
    }

    /// `GEM_CLOSE`. The buffer ends with the last handle or [`SharedBuffer`].
    pub fn gem_close(&self, handle: u32) -> Result<()> {
        self.gpu.card().gem_close(self.id, handle)
    }

    /// `GEM_CPU_PREP`: buffers are always idle.
    pub fn cpu_prep(&self, handle: u32, _flags: u32) -> Result<()> {
        self.gem_info(handle).map(|_| ())
    }

    /// `GEM_CPU_FINI`.
    pub fn cpu_fini(&self, handle: u32) -> Result<()> {
        self.gem_info(handle).map(|_| ())
    }

    /// `GEM_PUSHBUF`: executes the ranges as one stream before it returns. Without ranges it only tells the space. A fault
    /// is [`ErrorKind::NoDevice`], for this submission and all later ones of the channel; what came before it has been
    /// done, and fences behind it are signalled.
    pub fn submit(&self, channel: u32, buffers: &[BufferUse], pushes: &[Push]) -> Result<Space> {
        let (result, fault) = {
            let mut card = self.gpu.card();
            (card.submit(self.id, channel, buffers, pushes), card.fault.take())
        };
        if let (Some(fault), Some(tell)) = (&fault, &self.gpu.shared.on_fault) {
            debug_assert!(matches!(&result, Err(e) if e.kind == ErrorKind::NoDevice));
            tell(fault);
        }
        result
    }

    /// For `PRIME_HANDLE_TO_FD`: the buffer, to be kept with the new descriptor.
    pub fn export(&self, handle: u32) -> Result<SharedBuffer> {
        let address = self.gpu.card().share(self.id, handle)?;
        Ok(SharedBuffer { gpu: self.gpu.clone(), address })
    }

    /// For `PRIME_FD_TO_HANDLE`: the handle of the buffer in this file, the old one if it has one already. An error if the
    /// buffer is another card's.
    pub fn import(&self, buffer: &SharedBuffer) -> Result<u32> {
        if !Arc::ptr_eq(&self.gpu.shared, &buffer.gpu.shared) {
            return Err(Error::invalid("the buffer is another card's"));
        }
        self.gpu.card().adopt(self.id, buffer.address)
    }

    /// `GEM_FLINK`: the buffer's global name, which any file of this card can open.
    pub fn flink(&self, handle: u32) -> Result<u32> {
        self.gpu.card().name(self.id, handle)
    }

    /// `GEM_OPEN`: a handle for a name.
    pub fn open_name(&self, name: u32) -> Result<GemInfo> {
        self.gpu.card().open_name(self.id, name)
    }
}

impl fmt::Debug for SharedBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedBuffer").field("address", &self.address).finish_non_exhaustive()
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
