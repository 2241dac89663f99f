//! The windows through which generic accesses reach shared and local memory, where Mesa's driver
//! puts them.

/// Of shared memory: `SHARED_BASE`.
pub const SHARED: u32 = 0xfe00_0000;
/// Of local memory: `LOCAL_BASE`.
pub const LOCAL: u32 = 0xff00_0000;
/// Bytes of each.
pub const BYTES: u32 = 1 << 24;
/// Where a window begins: a multiple of its size.
pub const MASK: u32 = !(BYTES - 1);
