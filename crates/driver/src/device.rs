//! What the driver needs of a card: memory, channels, submission. The calls are those of the nouveau kernel driver.

use crate::Result;
use nvir::Chip;

/// Multiprocessors of a card whose kernel driver does not tell (Mesa `nvc0_screen.c`), and of the virtual one.
pub(crate) fn usual_multiprocessors(chip: Chip) -> u32 {
    match chip {
        Chip::Gk104 => 8,
        Chip::Gf100 | Chip::Gk110 => 16,
    }
}

/// Where memory lies.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Domain {
    /// The card's own memory.
    Vram,
    /// Memory of the host that the card can address, and whose caches agree with the processor's.
    Host,
}

/// What [`Device::alloc`] is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Alloc {
    /// Bytes, rounded up to pages.
    pub bytes: u64,
    /// Of the GPU address; a power of two.
    pub align: u32,
    /// Where.
    pub domain: Domain,
    /// Of an image in blocks: the block's size as the hardware has it (bits 7:4 log2 of its height in gobs, 11:8 of its
    /// depth). Memory without it is linear.
    pub tile_mode: Option<u32>,
    /// The kind of memory in blocks, which says what texels are: colours, or one of depth
    /// (Mesa `nvc0_miptree.c`). Without effect for linear memory.
    pub kind: u8,
}

/// The kind of memory whose blocks hold colours, without compression.
pub(crate) const KIND_COLOR: u8 = 0xfe;

impl Alloc {
    /// Linear memory.
    pub fn linear(bytes: u64, domain: Domain) -> Alloc {
        Alloc { bytes, align: 4096, domain, tile_mode: None, kind: KIND_COLOR }
    }
}

/// A piece of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Memory {
    /// The device's name for it.
    pub handle: u32,
    /// GPU address of the first byte.
    pub address: u64,
    /// Bytes.
    pub bytes: u64,
    /// Where it lies.
    pub domain: Domain,
}

/// A range of commands in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Push {
    /// Index into the submission's memory.
    pub memory: u32,
    /// Bytes from its first byte on: a multiple of 4.
    pub offset: u64,
    /// Bytes: a multiple of 4, below 8 MiB.
    pub bytes: u32,
}

/// A card, as the nouveau kernel driver offers it.
///
/// Implementations: [`crate::RenderNode`] for cards, [`crate::VirtualDevice`] for a virtual GPU in this process.
pub trait Device: Send + Sync {
    /// Which chip it has.
    fn chip(&self) -> Chip;

    /// What people call it.
    fn name(&self) -> String;

    /// Multiprocessors.
    fn multiprocessors(&self) -> u32;

    /// The time in nanoseconds, of the clock that time stamps have.
    fn time(&self) -> Result<u64>;

    /// Zeroed memory.
    fn alloc(&self, what: Alloc) -> Result<Memory>;

    /// Gives memory back. Submissions that use it still have it.
    fn free(&self, handle: u32);

    /// Copies bytes to memory that the processor sees ([`Domain::Host`]); whoever calls waits for the card first.
    fn write(&self, memory: &Memory, offset: u64, bytes: &[u8]) -> Result<()>;

    /// Copies bytes from memory that the processor sees.
    fn read(&self, memory: &Memory, offset: u64, bytes: &mut [u8]) -> Result<()>;

    /// A new channel, with no objects.
    fn open_channel(&self) -> Result<u32>;

    /// Ends a channel.
    fn close_channel(&self, channel: u32);

    /// Makes an object of an engine's class, under a handle of the caller's choice.
    fn object(&self, channel: u32, handle: u32, class: u32) -> Result<()>;

    /// Lets a channel execute ranges as one stream. The memory is all that the commands use.
    ///
    /// # Errors
    /// [`crate::Error::Lost`]: the channel is gone.
    fn submit(&self, channel: u32, memory: &[Memory], pushes: &[Push]) -> Result<()>;

    /// Waits until no submission uses the memory any more.
    fn wait(&self, memory: &Memory) -> Result<()>;
}
