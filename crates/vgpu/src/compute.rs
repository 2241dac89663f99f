//! The compute classes 90c0 (GF100), a0c0 (GK104) and a1c0 (GK110), apart from the launch itself.

use crate::registers::Registers;

/// Constant banks that GF100 can bind.
pub const BANKS: usize = 32;
/// Texture and sampler slots of GF100: their numbers have 8 bits in the binding methods.
pub const SLOTS: usize = 256;

/// A constant bank of GF100: memory, read when a launch reads it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bank {
    /// Of its first byte.
    pub address: u64,
    /// Bytes, as `CB_SIZE` said.
    pub size: u32,
}

/// What a launch finds in the subchannel. All but `regs` is GF100's: Kepler has everything in memory.
#[derive(Clone, Debug)]
pub struct State {
    /// All methods' registers.
    pub regs: Registers,
    /// By index: what `CB_BIND` bound.
    pub banks: [Option<Bank>; BANKS],
    /// By slot: the TIC entry that `BIND_TIC` bound.
    pub textures: Vec<Option<u32>>,
    /// By slot: the TSC entry that `BIND_TSC` bound.
    pub samplers: Vec<Option<u32>>,
}

impl Default for State {
    fn default() -> Self {
        State {
            regs: Registers::default(),
            banks: [None; BANKS],
            textures: vec![None; SLOTS],
            samplers: vec![None; SLOTS],
        }
    }
}
