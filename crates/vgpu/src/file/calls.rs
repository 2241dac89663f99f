//! What a client's calls take and give.

use crate::device::MethodLocation;
use nvir_emu::Note;

/// What ended a channel.
#[derive(Clone, Debug)]
pub struct ChannelFault {
    /// MethodLocation and reason, for people.
    pub text: String,
    /// The method that was executed.
    pub place: MethodLocation,
    /// What the kernel of a launch did wrong, by instruction; empty if no kernel was running.
    pub found: Vec<Note>,
}

/// What `CHANNEL_ALLOC` returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChannelInfo {
    /// Its number, in this file.
    pub channel: u32,
    /// Where push buffers may lie.
    pub pushbuf_domains: u32,
    /// The buffer of the channel's notifiers, which the client closes.
    pub notifier_handle: u32,
}

/// What `GEM_NEW` asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GemNew {
    /// Where it may lie: bits of [`crate::domain`].
    pub domain: u32,
    /// Bytes, rounded up to pages.
    pub size: u64,
    /// Of the GPU address; 0 is a page.
    pub align: u32,
    /// Kept for `GEM_INFO`: blocks of a tiled image.
    pub tile_mode: u32,
    /// Kept for `GEM_INFO`: bits 15:8 the memory kind.
    pub tile_flags: u32,
}

/// What `GEM_NEW` and `GEM_INFO` return.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GemInfo {
    /// In this file.
    pub handle: u32,
    /// Exactly one of VRAM and GART.
    pub domain: u32,
    /// Bytes.
    pub size: u64,
    /// The GPU address.
    pub offset: u64,
    /// What the client gives to `mmap` as the offset.
    pub map_handle: u64,
    /// As [`GemNew`] said.
    pub tile_mode: u32,
    /// As [`GemNew`] said.
    pub tile_flags: u32,
}

/// A buffer that a submission names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BufferUse {
    /// In this file.
    pub handle: u32,
    /// Where the card may read it. This and the next two are recorded and have no effect.
    pub read_domains: u32,
    /// Where the card may write it.
    pub write_domains: u32,
    /// Where it may lie.
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

/// Bytes that the buffers of one submission may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Space {
    /// In video memory.
    pub vram: u64,
    /// In system memory that the card can address.
    pub gart: u64,
}
