//! Classes and methods of the engines that the driver uses. Sources: envytools `rnndb`, Mesa's `nv*_compute.xml.h`,
//! `nv*_m2mf.xml.h`, `nve4_copy.xml.h`.

use nvir::Chip;

/// The compute class of a chip.
pub(crate) fn compute_class(chip: Chip) -> u32 {
    match chip {
        Chip::Gf100 => 0x90c0,
        Chip::Gk104 => 0xa0c0,
        Chip::Gk110 => 0xa1c0,
    }
}

/// The class of uploads: M2MF, which also copies, or P2MF.
pub(crate) fn upload_class(chip: Chip) -> u32 {
    match chip {
        Chip::Gf100 => 0x9039,
        Chip::Gk104 => 0xa040,
        Chip::Gk110 => 0xa140,
    }
}

/// The class of Kepler's copies.
pub(crate) const COPY_CLASS: u32 = 0xa0b5;

/// Binds the class that is written.
pub(crate) const OBJECT: u32 = 0x0;

/// Compute classes 90c0, a0c0, a1c0.
pub(crate) mod compute {
    pub const SERIALIZE: u32 = 0x110;
    /// Waits for what came before to be in memory, and forgets constants and code that are cached.
    pub const FLUSH: u32 = 0x1698;
    pub const FLUSH_CODE: u32 = 0x1;
    pub const FLUSH_GLOBAL: u32 = 0x110;
    pub const FLUSH_CONSTANTS: u32 = 0x1000;
    pub const TSC_FLUSH: u32 = 0x1330;
    pub const TIC_FLUSH: u32 = 0x1334;
    pub const TEX_CACHE_CTL: u32 = 0x1338;
    pub const LOCAL_BASE: u32 = 0x77c;
    pub const SHARED_BASE: u32 = 0x214;
    pub const CODE_ADDRESS: u32 = 0x1608;
    /// Local memory of all threads: address; bytes in two words on GF100.
    pub const TEMP_ADDRESS: u32 = 0x790;
    pub const TSC_ADDRESS: u32 = 0x155c;
    pub const TIC_ADDRESS: u32 = 0x1574;
    /// Address, sequence, what to write.
    pub const QUERY_ADDRESS: u32 = 0x1b00;
    /// The sequence, one word, when all before has been done.
    pub const QUERY_FENCE: u32 = 0x1000_f010;
    /// Sequence, 0, and the time in nanoseconds, when all before has been done.
    pub const QUERY_TIME: u32 = 0x5002;

    // GF100.
    pub const MP_LIMIT: u32 = 0x758;
    pub const CALL_LIMIT_LOG: u32 = 0xd64;
    pub const UNK_2A0: u32 = 0x2a0;
    pub const GLOBAL_BASE_MODE: u32 = 0x2c4;
    pub const GLOBAL_BASE: u32 = 0x2c8;
    pub const WARP_TEMP_ALLOC: u32 = 0x7a0;
    pub const CACHE_SPLIT: u32 = 0x308;
    pub const CB_SIZE: u32 = 0x2380;
    pub const CB_BIND: u32 = 0x1694;
    pub const BIND_TSC: u32 = 0x228;
    pub const BIND_TIC: u32 = 0x22c;
    pub const IMAGE: u32 = 0x2700;
    pub const IMAGE_STEP: u32 = 0x20;
    pub const CP_START_ID: u32 = 0x3b4;
    pub const LOCAL_POS_ALLOC: u32 = 0x204;
    pub const SHARED_SIZE: u32 = 0x24c;
    pub const CP_GPR_ALLOC: u32 = 0x2c0;
    pub const GRIDID: u32 = 0x780;
    pub const UNK_36C: u32 = 0x36c;
    pub const BLOCKDIM: u32 = 0x3ac;
    pub const GRIDDIM: u32 = 0x238;
    pub const BEGIN: u32 = 0x29c;
    pub const UNK_A08: u32 = 0xa08;
    pub const LAUNCH_FERMI: u32 = 0x368;
    pub const END: u32 = 0xa04;
    pub const UNK_360: u32 = 0x360;

    // Kepler.
    /// Bytes of local memory of a multiprocessor in two words, and a mask; twice.
    pub const MP_TEMP_SIZE: u32 = 0x2e4;
    pub const UNK_310: u32 = 0x310;
    pub const UNK_248: u32 = 0x248;
    pub const TEX_CB_INDEX: u32 = 0x2608;
    pub const LAUNCH_DESC_ADDRESS: u32 = 0x2b4;
    pub const LAUNCH: u32 = 0x2bc;
}

/// Uploads: P2MF a040 and a140, and Kepler's compute classes.
pub(crate) mod upload {
    pub const LINE_LENGTH: u32 = 0x180;
    pub const DST_ADDRESS: u32 = 0x188;
    pub const EXEC: u32 = 0x1b0;
    /// Rows follow each other.
    pub const LINEAR: u32 = 0x1001;
    /// The same in the compute class.
    pub const LINEAR_COMPUTE: u32 = 0x41;
}

/// M2MF 9039.
pub(crate) mod m2mf {
    pub const TILING_IN: u32 = 0x204;
    pub const TILING_OUT: u32 = 0x220;
    pub const OFFSET_OUT: u32 = 0x238;
    pub const EXEC: u32 = 0x300;
    pub const DATA: u32 = 0x304;
    pub const OFFSET_IN: u32 = 0x30c;
    pub const PITCH_IN: u32 = 0x314;
    pub const LINE_LENGTH: u32 = 0x31c;
    pub const POSITION_IN: u32 = 0x344;
    pub const POSITION_OUT: u32 = 0x34c;
    /// The data come in the stream.
    pub const PUSH: u32 = 0x1;
    pub const LINEAR_IN: u32 = 0x10;
    pub const LINEAR_OUT: u32 = 0x100;
    /// Without a time.
    pub const PLAIN: u32 = 0x10_0000;
    /// Lines of one copy, at most.
    pub const MAX_LINES: u32 = 2047;
    /// Bytes of a line, at most.
    pub const MAX_LINE: u64 = 1 << 17;
}

/// The copy engine a0b5.
pub(crate) mod copy {
    /// Source and destination.
    pub const ADDRESSES: u32 = 0x400;
    /// Pitches, elements of a line, lines.
    pub const PITCHES: u32 = 0x410;
    pub const X_COUNT: u32 = 0x418;
    pub const EXEC: u32 = 0x300;
    pub const SWIZZLE: u32 = 0x708;
    /// Block size, elements of a line, lines, slices, slice, position.
    pub const DST_BLOCKS: u32 = 0x70c;
    pub const SRC_BLOCKS: u32 = 0x728;
    /// Waits for the copy before, and flushes.
    pub const PLAIN: u32 = 0x6;
    pub const SRC_LINEAR: u32 = 0x80;
    pub const DST_LINEAR: u32 = 0x100;
    pub const LINES: u32 = 0x200;
    pub const ELEMENTS: u32 = 0x400;
    /// Gobs have eight rows.
    pub const GOB_ROWS_8: u32 = 0x1000;
}
