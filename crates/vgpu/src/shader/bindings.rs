//! What is bound to programs: constant banks, slots of textures and samplers.

use nvir_emu::{self as emu, Launch};
use nvir_hw::word::{BindTic, BindTsc, CbBind, StageCbBind};

/// Constant banks that can be bound.
pub(super) const BANKS: usize = 32;
/// Texture and sampler slots: their numbers have 8 bits in the binding methods.
pub(super) const SLOTS: usize = 256;

/// A constant bank: memory, read when a launch reads it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bank {
    /// Of its first byte.
    pub address: u64,
    /// Bytes, as `CB_SIZE` said.
    pub size: u32,
}

/// What methods bound to a program: of GF100's compute class, and of a stage of the 3D class.
#[derive(Clone, Debug)]
pub struct Bindings {
    /// By index: what `CB_BIND` bound.
    pub banks: [Option<Bank>; BANKS],
    /// By slot: the TIC entry that `BIND_TIC` bound. Kepler's programs name entries themselves.
    pub textures: Vec<Option<u32>>,
    /// By slot: the TSC entry that `BIND_TSC` bound.
    pub samplers: Vec<Option<u32>>,
}

impl Default for Bindings {
    fn default() -> Self {
        Bindings { banks: [None; BANKS], textures: vec![None; SLOTS], samplers: vec![None; SLOTS] }
    }
}

impl Bindings {
    /// CB_BIND of the compute class, of the bank that was defined last.
    pub(crate) fn bind_bank(&mut self, word: u32, bank: Bank) {
        let bind = CbBind::from_bits(word);
        self.banks[bind.index() as usize] = bind.valid().then_some(bank);
    }

    /// The same of a stage of the 3D class.
    pub(crate) fn bind_stage_bank(&mut self, word: u32, bank: Bank) {
        let bind = StageCbBind::from_bits(word);
        self.banks[bind.index() as usize] = bind.valid().then_some(bank);
    }

    /// BIND_TIC.
    pub(crate) fn bind_texture(&mut self, word: u32) {
        let bind = BindTic::from_bits(word);
        self.textures[bind.slot() as usize] = bind.valid().then_some(bind.entry());
    }

    /// BIND_TSC.
    pub(crate) fn bind_sampler(&mut self, word: u32) {
        let bind = BindTsc::from_bits(word);
        self.samplers[bind.slot() as usize] = bind.valid().then_some(bind.entry());
    }
}

/// Gives a launch its banks. An error: one is not where words are.
pub(crate) fn bind_banks(launch: &mut Launch<'_>, banks: &[Option<Bank>]) -> Result<(), String> {
    for (i, (bank, bound)) in launch.consts.iter_mut().zip(banks).enumerate() {
        let Some(Bank { address, size }) = *bound else { continue };
        if !address.is_multiple_of(4) {
            return Err(format!("c[{i:#x}] is at {address:#x}, which is not a multiple of 4"));
        }
        *bank = emu::Bank::Memory { address, size };
    }
    Ok(())
}
