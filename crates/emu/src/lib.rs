//! The emulator: machine code of the three chips, executed as the hardware is documented to execute it.
//!
//! A [`Program`] is code decoded once; a [`Launch`] is one grid of it with its constant banks, textures and
//! sizes; [`run`] executes it against a [`Memory`] and ends with [`Stats`] or a [`Fault`]. Faults are values:
//! arbitrary bytes as code end in one, or at the step limit.
//!
//! ```
//! use nvir_base::Chip;
//! use nvir_emu as emu;
//! let program = emu::Program::new(Chip::Gk110, &[0x18000000001c003c]); // EXIT
//! let mut memory = emu::Memory::new();
//! let launch = emu::Launch::new(&program);
//! let stats = emu::run(&launch, &mut memory, &mut emu::Options::default()).unwrap();
//! assert_eq!(stats.thread_instructions, 1);
//! ```

mod bank;
mod check;
mod code;
mod cx;
pub mod engine;
mod fault;
pub mod image;
mod interpreter;
mod memory;
mod run;
pub mod stage;
mod state;
pub mod texel;
mod trap;
mod units;

pub use bank::Bank;
pub use code::cache::CodeCache;
pub use code::program::Program;
pub use fault::{Fault, FaultKind, Note, Place};
pub use image::{Dim, Filter, Format, Image, ImageDesc, MipFilter, Sampler, Wrap};
pub use memory::{MAX_BUFFER, Memory, MemoryError, Words};
use nvir_hw::window;
pub use run::grid::run;
pub use run::grid::thread_limit;
pub use texel::{Channels, decode as decode_texel, decode_channel, encode as encode_texel, field};
pub use units::texture::{FractionByte, Source, Texels, Texture, TextureSource};

/// Constant banks a launch can bind: `c[0x0]` to `c[0x11]`.
pub const CONST_BANKS: usize = 18;

/// Bytes a constant bank can have.
pub const CONST_BANK_BYTES: usize = nvir_base::chip::CONST_BANK_BYTES as usize;

/// One grid.
#[derive(Clone, Debug)]
pub struct Launch<'a> {
    /// The code.
    pub program: &'a Program,
    /// For reports.
    pub kernel: String,
    /// Byte address of the first instruction.
    pub entry: u32,
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z; their product is at most 1024.
    pub block: [u32; 3],
    /// General registers of a thread. A register at or above is a fault.
    pub gprs: u32,
    /// Shared memory of a block, bytes.
    pub shared_bytes: u32,
    /// First byte and bytes of the variables there, ascending, if memcheck is to find accesses that are not inside one of them.
    pub shared_variables: Vec<(u32, u32)>,
    /// Local memory of a thread, bytes.
    pub local_bytes: u32,
    /// `c[0x0]` to `c[0x11]`.
    pub consts: Vec<Bank>,
    /// A read of a constant at or above its bank's length gives zero; else it is a fault.
    pub zero_beyond_banks: bool,
    /// Textures: by the instruction's slot on GF100, by TIC index (bits 19:0 of the handle) on Kepler.
    pub textures: Vec<Option<Image>>,
    /// Samplers: by the instruction's slot on GF100, by TSC index (bits 31:20 of the handle) on Kepler.
    pub samplers: Vec<Sampler>,
    /// Tables of textures and samplers in place of those two.
    pub tables: Option<&'a dyn TextureSource>,
    /// The constant bank in which a Kepler texture instruction with an immediate index finds its handle, and
    /// the byte offset of handle 0 there: Mesa binds (7, 0x20); an instruction's index counts handles from
    /// the bank's start, so that this offset is already in it.
    pub texture_bank: u8,
    /// Surface slots of GF100.
    pub surfaces: Vec<Option<nvir_hw::surface::Slot>>,
    /// Where generic addressing finds shared memory: a 16 MiB window, high word zero.
    pub shared_window: u32,
    /// Where generic addressing finds local memory.
    pub local_window: u32,
    /// Value of `SR_GRIDID`.
    pub grid_id: u32,
    /// The clock (`SR_CLOCKLO`, `SR_CLOCKHI`) when each block begins; it counts the instructions that the block's warps
    /// issue. A caller that wants it to go on adds [`Stats::warp_instructions`] of earlier launches.
    pub clock: u64,
}

impl<'a> Launch<'a> {
    /// One thread with all registers of the chip, and nothing bound.
    pub fn new(program: &'a Program) -> Launch<'a> {
        Launch {
            program,
            kernel: String::new(),
            entry: 0,
            grid: [1; 3],
            block: [1; 3],
            gprs: program.chip().gprs(),
            shared_bytes: 0,
            shared_variables: Vec::new(),
            local_bytes: 0,
            consts: vec![Bank::default(); CONST_BANKS],
            zero_beyond_banks: false,
            textures: Vec::new(),
            samplers: Vec::new(),
            tables: None,
            texture_bank: 7,
            surfaces: Vec::new(),
            shared_window: window::SHARED,
            local_window: window::LOCAL,
            grid_id: 0,
            clock: 0,
        }
    }

    /// Writes `data` at byte `offset` of a constant bank, which grows as needed (up to [`CONST_BANK_BYTES`]).
    /// Bytes that would lie beyond the largest bank are dropped.
    pub fn set_const(&mut self, bank: usize, offset: usize, data: &[u8]) {
        if let Some(bank) = self.consts.get_mut(bank) {
            bank.set(offset, data);
        }
    }

    /// Puts a word into a constant bank at an offset (bytes).
    pub fn set_const_u32(&mut self, bank: usize, offset: usize, value: u32) {
        self.set_const(bank, offset, &value.to_le_bytes());
    }
}

/// What a run checks, in the spirit of compute-sanitizer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Checks {
    /// Alignment and bounds of every access. Off: bad reads give 0, bad writes are dropped.
    ///
    /// A read of a thread's own (local) memory outside its size is a [`Note`], not a fault, and gives 0: a compiler may
    /// compute `i < 6 && a[i] == 0` without a branch, and then nobody uses the value.
    pub memory: bool,
    /// Registers and memory that are read before anything wrote them.
    pub init: bool,
    /// Accesses to shared memory of two threads that nothing orders, at least one of which writes (`docs/emulator.md`). Two
    /// warps that write the same value to one place are only noted.
    pub race: bool,
    /// With `race`: those are faults, too.
    pub strict_race: bool,
    /// Accesses to global memory as well, also by threads of two blocks. The blocks of a launch run on one thread.
    pub global_race: bool,
    /// Barriers that only part of a warp or block reaches, and misuse of the divergence stack.
    pub sync: bool,
}

impl Default for Checks {
    fn default() -> Checks {
        Checks { memory: true, ..Checks::NONE }
    }
}

impl Checks {
    /// None of them.
    pub const NONE: Checks = Checks {
        memory: false,
        init: false,
        race: false,
        strict_race: false,
        global_race: false,
        sync: false,
    };
    /// All of them, but for races in global memory; two warps that write the same value are a note only.
    pub const ALL: Checks = Checks { memory: true, init: true, race: true, sync: true, ..Checks::NONE };
}

/// Checkers by name, between commas: `memcheck`, `initcheck`, `racecheck`, `racecheck=strict`, `racecheck=global`, `synccheck`,
/// `all`, `none`.
impl std::str::FromStr for Checks {
    type Err = String;

    fn from_str(list: &str) -> Result<Checks, String> {
        let mut checks = Checks::NONE;
        for name in list.split(',').map(str::trim) {
            match name {
                "memcheck" => checks.memory = true,
                "initcheck" => checks.init = true,
                "racecheck" => checks.race = true,
                "racecheck=strict" => (checks.race, checks.strict_race) = (true, true),
                "racecheck=global" => (checks.race, checks.global_race) = (true, true),
                "synccheck" => checks.sync = true,
                "all" => {
                    let Checks { strict_race, global_race, .. } = checks;
                    checks = Checks { strict_race, global_race, ..Checks::ALL };
                }
                "none" | "" => {}
                _ => {
                    return Err(format!(
                        "unknown checker `{name}`; available: memcheck, initcheck, racecheck, racecheck=strict, \
                         racecheck=global, synccheck, all, none"
                    ));
                }
            }
        }
        Ok(checks)
    }
}

/// How to run, as opposed to what.
pub struct Options<'a> {
    /// What is checked.
    pub checks: Checks,
    /// Instructions of warps that the whole launch may execute.
    pub step_limit: u64,
    /// Threads that execute blocks; 0: as many as there are cores. The result does not depend on it.
    pub threads: usize,
    /// Gets a line for every instruction that a warp executes: place, active mask, text, results.
    pub trace: Option<&'a mut dyn FnMut(&str)>,
    /// Told how many blocks have ended, and of how many, after each block and while long ones run. With several threads
    /// calls come from all of them, and a count may go back to zero: the launch begins again where it could not be shared.
    pub progress: Option<&'a (dyn Fn(u64, u64) + Sync)>,
    /// Whether [`Stats::profile`] is filled.
    pub profile: bool,
    /// The fault of a kind that ends a block's run: after those before it (bad accesses, races, reads of what nothing has
    /// written) the thread goes on without what it was to do, and they are in [`Stats::faults`]. 1: the first fault ends the
    /// launch, as an error. Above that the launch is no error: what ends it is the last of those faults.
    pub faults: u32,
    /// What executes code instead of the interpreter, where nothing is asked for that it does not do: checks other than of memory,
    /// traces, profiles, going on after faults, blocks on several threads.
    pub engine: Option<&'a dyn engine::Engine>,
    /// Which side of a divergent branch runs first. A card runs [`Side::Taken`]; a program that depends on it is worth
    /// a look, so the other can be tried.
    pub first: Side,
}

/// A side of a conditional branch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Side {
    /// The lanes that take the branch.
    #[default]
    Taken,
    /// The lanes that do not.
    FallThrough,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options {
            checks: Checks::default(),
            step_limit: 1 << 32,
            threads: 1,
            trace: None,
            progress: None,
            profile: false,
            faults: 1,
            engine: None,
            first: Side::default(),
        }
    }
}

/// What a run did.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Stats {
    /// Instructions issued by warps.
    pub warp_instructions: u64,
    /// The same, times the threads that were active and whose guard was true.
    pub thread_instructions: u64,
    /// By code address: what a checker saw that is no fault of the program.
    pub notes: Vec<Note>,
    /// With [`Options::faults`] above 1: what went wrong, by instruction and kind, the first place of each and how often.
    pub faults: Vec<Note>,
    /// What was counted, if that was asked for.
    pub profile: Option<Profile>,
}

/// Where a run spent its instructions.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Profile {
    /// By code address: issues, threads.
    pub by_pc: std::collections::BTreeMap<u32, PcProfile>,
    /// By SASS mnemonic.
    pub by_op: std::collections::BTreeMap<&'static str, PcProfile>,
    /// By source line, where the program carries lines.
    pub by_line: std::collections::BTreeMap<String, PcProfile>,
}

impl Profile {
    /// Adds what another run of the same code counted.
    pub fn add(&mut self, other: &Profile) {
        other.by_pc.iter().for_each(|(pc, p)| self.by_pc.entry(*pc).or_default().add(p));
        other.by_op.iter().for_each(|(op, p)| self.by_op.entry(op).or_default().add(p));
        other.by_line.iter().for_each(|(line, p)| self.by_line.entry(line.clone()).or_default().add(p));
    }
}

/// Counters of one instruction or operation.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PcProfile {
    /// Times that a warp issued it.
    pub issues: u64,
    /// Threads that executed it.
    pub threads: u64,
    /// Times that it made a warp's threads take different ways.
    pub divergences: u64,
    /// 128-byte segments of global memory that its requests touched.
    pub transactions: u64,
    /// Extra passes of shared memory for requests to the same bank.
    pub bank_conflicts: u64,
    /// Most entries that were on the divergence stack after it.
    pub stack: u64,
}

impl PcProfile {
    /// Adds what another run counted.
    pub fn add(&mut self, other: &PcProfile) {
        self.issues += other.issues;
        self.threads += other.threads;
        self.divergences += other.divergences;
        self.transactions += other.transactions;
        self.bank_conflicts += other.bank_conflicts;
        self.stack = self.stack.max(other.stack);
    }
}
