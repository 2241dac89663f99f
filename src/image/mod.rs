//! What a compile gives: the code of a kernel with its subroutines, and what a launch must provide.
//!
//! The code section begins with the kernel; branches and calls are relative: it runs
//! wherever it is loaded, at a multiple of 256 bytes. On Kepler the
//! first word of every 64 bytes is a scheduling word.

pub(crate) mod crs;
pub mod fixup;
pub(crate) mod layout;
mod resources;
pub mod separate;
pub mod stage;

use crate::chip::{Chip, LimitError};
use crate::diag::Loc;
use crate::driver;
use crate::driver::sanitizer::Sanitizer;
pub use nvir_asm::{cubin, listing, raw};
pub use resources::{Access, ConstantBank, Resources, Use, Uses};

pub use crate::emit::code::Made;

use crate::isa::{fetch, sched_word};

/// A compiled kernel: its code, what a launch must provide, and what is worth knowing about it.
#[derive(Clone, Debug)]
pub struct Shader {
    /// What it runs on.
    pub chip: Chip,
    /// Name of the kernel.
    pub entry_name: String,
    /// 64-bit words, scheduling words among them.
    pub code: Vec<u64>,
    /// Source locations: (address of an instruction, where it comes from), ascending; holds until
    /// the next one.
    pub lines: Vec<(u32, Loc)>,
    /// Why an instruction is there, by address, ascending: those that stand for no instruction of
    /// the source, such as moves of registers and control flow.
    pub made: Vec<(u32, Made)>,
    /// General registers a thread needs: the highest number used, plus one; all components of a
    /// fragment shader's colours count.
    pub gprs: u32,
    /// Bytes of local memory of a thread.
    pub local_bytes: u32,
    /// Bytes of call-return stack that a launch must provide for each warp ([`crs`]); 0: what is on
    /// the chip is enough.
    pub stack_bytes: u32,
    /// Bytes of shared memory of a block that the kernel declares.
    pub shared_bytes: u32,
    /// Execution barriers used: the highest number, plus one.
    pub barriers: u32,
    /// Instructions of the kernel and its subroutines, without scheduling words, padding and the
    /// library.
    pub instructions: u32,
    /// Instructions of library routines that are linked in.
    pub library: u32,
    /// Instructions that store registers to local memory, and that load them again.
    pub spills: u32,
    /// Instructions that load registers from local memory.
    pub fills: u32,
    /// Estimated cycles that one warp takes, by the latency model, loops counted a fixed number of
    /// times.
    pub cycles: u64,
    /// Threads of a block in x, y and z as the program declares them, 0 in a dimension that it
    /// leaves to the launch; `None`: it leaves all of them. The code is for these sizes only: see
    /// [`Shader::launch_block`].
    pub block_size: Option<[u32; 3]>,
    /// Blocks must be launched as whole warps: see [`Shader::launch_block`].
    pub whole_warps: bool,
    /// Bytes of kernel input that a launch must provide: what the program declares or reads at
    /// fixed addresses.
    pub input_bytes: u32,
    /// What it uses, and how.
    pub resources: Resources,
    /// It checks its own accesses: what the driver provides for that, and how its report is read.
    pub sanitizer: Option<Box<Sanitizer>>,
    /// What a graphics shader has besides; kernels have none.
    pub stage: Option<Box<stage::Graphics>>,
}

impl Shader {
    /// Bytes of the code section.
    pub fn code_bytes(&self) -> u32 {
        self.code.len() as u32 * 8
    }

    /// Bytes of shared memory that a block of a launch is given, which adds so many: none if it
    /// lies elsewhere.
    pub fn launch_shared(&self, added: u32) -> u32 {
        if self.sanitizer.as_ref().is_some_and(|s| s.moved) {
            0
        } else {
            self.shared_bytes.saturating_add(added)
        }
    }

    /// Whether a launch can add so many bytes of shared memory to the kernel's own: all of it, in
    /// bytes. Red zones do not count if shared memory lies elsewhere.
    ///
    /// # Errors
    /// The chip does not have as much.
    pub fn check_shared(&self, added: u64) -> Result<u32, LimitError> {
        let all = u64::from(self.shared_bytes) + added;
        let zones = self.sanitizer.as_ref().filter(|s| s.moved).map_or(0, |s| s.red_zone_bytes);
        self.chip.check_shared(all.saturating_sub(zones.into()))?;
        Ok(u32::try_from(all).unwrap_or(u32::MAX))
    }

    /// The count of registers that a launch is given.
    pub fn launch_gprs(&self) -> u32 {
        self.gprs.max(Chip::MIN_LAUNCH_GPRS)
    }

    /// The block that the machine is told to launch for one of `block` threads. The driver's bank
    /// has `block` itself.
    ///
    /// # Errors
    /// The code is for another size of blocks.
    pub fn launch_block(&self, block: [u32; 3]) -> Result<[u32; 3], String> {
        self.block_size.map_or(Ok(()), |declared| driver::check_block(declared, block))?;
        Ok(if self.whole_warps { driver::whole_warps(block) } else { block })
    }

    /// The size of every block, where each of its dimensions is declared.
    pub(crate) fn whole_block(&self) -> Option<[u32; 3]> {
        self.block_size.filter(|size| !size.contains(&0))
    }

    /// Why the kernel cannot be put into a container that says nothing of how blocks are launched.
    ///
    /// # Errors
    /// It wants whole warps.
    pub fn check_container(&self) -> Result<(), String> {
        match self.whole_warps {
            true => Err("NVIDIA's container cannot say that blocks are launched as whole warps".into()),
            false => Ok(()),
        }
    }

    /// The image of a kernel that was assembled: nothing is known of how it came about.
    pub fn assembled(chip: Chip, kernel: cubin::Kernel) -> Shader {
        let is_sched = |pc: u32, w: u64| {
            pc.is_multiple_of(sched_word::GROUP_BYTES) && sched_word::decode(chip, w).is_some()
        };
        let instructions = fetch::sweep(chip, &kernel.code).filter(|&(pc, f)| !is_sched(pc, f.word)).count();
        Shader {
            chip,
            entry_name: kernel.name,
            code: kernel.code,
            lines: Vec::new(),
            made: Vec::new(),
            gprs: kernel.gprs,
            local_bytes: kernel.stack,
            stack_bytes: kernel.call_stack,
            shared_bytes: kernel.shared,
            barriers: kernel.barriers,
            instructions: instructions as u32,
            library: 0,
            spills: 0,
            fills: 0,
            cycles: 0,
            block_size: kernel.required_block,
            whole_warps: false,
            input_bytes: kernel.param_bytes,
            resources: Resources::default(),
            sanitizer: None,
            stage: None,
        }
    }

    /// The kernel as listings and cubins have it.
    pub fn kernel(&self) -> cubin::Kernel {
        cubin::Kernel {
            name: self.entry_name.clone(),
            code: self.code.clone(),
            gprs: self.launch_gprs(),
            barriers: self.barriers,
            shared: self.shared_bytes,
            stack: self.local_bytes,
            call_stack: self.stack_bytes,
            block_size: self.whole_block(),
            required_block: self.whole_block(),
            param_bytes: self.input_bytes,
            ..cubin::Kernel::default()
        }
    }

    /// Warps of this kernel that a multiprocessor holds at once, in whole blocks of `threads`
    /// threads (`None`: the declared size, or the largest block that the chip launches by default).
    pub fn resident_warps(&self, threads: Option<u32>) -> u32 {
        let threads = threads.or(self.whole_block().map(|size| size.iter().product()));
        self.chip.occupancy(threads, self.launch_gprs(), self.launch_shared(0))
    }

    /// The code section as it lies in memory.
    pub fn bytes(&self) -> Vec<u8> {
        self.code.iter().flat_map(|w| w.to_le_bytes()).collect()
    }

    /// Where the instruction at `pc` comes from, where that is known.
    pub fn loc(&self, pc: u32) -> Loc {
        let after = self.lines.partition_point(|&(at, _)| at <= pc);
        after.checked_sub(1).map_or(Loc::default(), |i| self.lines[i].1)
    }

    /// Why the instruction at `pc` is there.
    pub fn made(&self, pc: u32) -> Made {
        self.made.binary_search_by_key(&pc, |m| m.0).map_or(Made::Selected, |at| self.made[at].1)
    }
}
