//! Recordings: what a client submitted, and memory before and after each submission, as text.
//!
//! One record a line, fields separated by one space, numbers in hex unless said otherwise:
//!
//! ```text
//! trace 1                                     first line: version (decimal)
//! chip f0                                     chipset
//! bo H va A size S domain D tile_mode T tile_flags F align N    GEM_NEW: handle (decimal), address, bytes
//! free H va A                                 the buffer's last handle was closed
//! object HANDLE class CLASS                   GROBJ_ALLOC
//! cpu A N WORDS                               N bytes that the processor changed, before a submission
//! submit I A:R:W:V ...                        submission I (decimal); its buffers: address, read, write, valid domains
//! push A N P WORDS                            a range of commands: address, bytes, whether prefetch was forbidden
//! gpu A N WORDS                               N bytes that differ after the submission, behind its ranges
//! ```
//!
//! WORDS are 32-bit words; `W *K` (K decimal) is K times W. Memory starts as zero. Buffers that hold nothing but commands,
//! and local memory, are left out; commands stand in `push`.

mod read;
mod record;

pub use read::{Reader, Record, TraceError};
pub(crate) use record::Recorder;

/// Buffers of this many bytes in GART that the processor can see are push buffers.
const PUSH_BUFFER_BYTES: u64 = 0x8_0000;
const PUSH_BUFFER_DOMAIN: u32 = crate::domain::GART | crate::domain::MAPPABLE;

/// Buffers from this size on hold local memory.
const HUGE: u64 = 64 << 20;

/// Whether a recording has a buffer's contents.
pub(crate) fn has_contents(bytes: u64, domain: u32) -> bool {
    bytes < HUGE && !(bytes == PUSH_BUFFER_BYTES && domain == PUSH_BUFFER_DOMAIN)
}
