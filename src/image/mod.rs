//! What a compile gives: the code of a kernel with its subroutines, and what a launch must provide.
//!
//! The code section begins with the kernel; every branch target is an absolute byte address in it. On Kepler the
//! first word of every 64 bytes is a scheduling word.

pub mod crs;
pub mod cubin;
pub mod layout;
pub mod listing;

use crate::chip::Chip;
use crate::diag::Loc;
use crate::isa::{fetch, sched_word};

/// A compiled kernel.
#[derive(Clone, Debug)]
pub struct Image {
    pub chip: Chip,
    /// Name of the kernel.
    pub entry_name: String,
    /// Address of the kernel's first word.
    pub entry: u32,
    /// 64-bit words, scheduling words among them.
    pub code: Vec<u64>,
    /// Source locations: (address of an instruction, where it comes from), ascending; holds until the next one.
    pub lines: Vec<(u32, Loc)>,
    /// General registers a thread needs: the highest number used, plus one.
    pub gprs: u32,
    /// Bytes of local memory of a thread.
    pub local_bytes: u32,
    /// Bytes of call-return stack that a launch must provide for each warp ([`crs`]); 0: what is on the chip is enough.
    pub stack_bytes: u32,
    /// Bytes of shared memory of a block that the kernel declares.
    pub shared_bytes: u32,
    /// Execution barriers used: the highest number, plus one.
    pub barriers: u32,
    /// Instructions of the kernel and its subroutines, without scheduling words, padding and the library.
    pub instructions: u32,
    /// Instructions of library routines that are linked in.
    pub library: u32,
    /// Instructions that store registers to local memory, and that load them again.
    pub spills: u32,
    pub fills: u32,
    /// Estimated cycles that one warp takes, by the latency model, loops counted a fixed number of times.
    pub cycles: u64,
    /// Threads of a block, where the program declares them.
    pub block_size: Option<[u32; 3]>,
    /// Bytes of kernel input (0: none, or not known).
    pub input_bytes: u32,
    pub bindings: Vec<Binding>,
    pub relocations: Vec<Relocation>,
}

/// What kind of resource a kernel uses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum BindingKind {
    /// A bank of constant memory.
    Constant,
    /// A storage buffer.
    Buffer,
    /// A uniform block.
    Uniform,
    Texture,
    Image,
}

impl BindingKind {
    pub const fn name(self) -> &'static str {
        match self {
            BindingKind::Constant => "constant",
            BindingKind::Buffer => "buffer",
            BindingKind::Uniform => "uniform",
            BindingKind::Texture => "texture",
            BindingKind::Image => "image",
        }
    }
}

/// A resource that the driver must bind. Where the number is dynamic, `count` is unknown (0).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Binding {
    pub kind: BindingKind,
    pub slot: u32,
    /// Slots from `slot` on; 0: indexed dynamically.
    pub count: u32,
}

/// An address in the code that moves when the code section is not loaded at address 0: absolute branch targets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Relocation {
    /// Address of the word to patch.
    pub at: u32,
    /// What it holds when the code section is at 0.
    pub target: u32,
}

impl Image {
    pub fn code_bytes(&self) -> u32 {
        self.code.len() as u32 * 8
    }

    /// The count of registers that a launch is given.
    pub fn launch_gprs(&self) -> u32 {
        self.gprs.max(Chip::MIN_LAUNCH_GPRS)
    }

    /// The image of a kernel that was assembled: nothing is known of how it came about.
    pub fn assembled(chip: Chip, kernel: cubin::Kernel) -> Image {
        let is_sched = |pc: u32, w: u64| {
            pc.is_multiple_of(sched_word::GROUP_BYTES) && sched_word::decode(chip, w).is_some()
        };
        let instructions = fetch::sweep(chip, &kernel.code).filter(|&(pc, f)| !is_sched(pc, f.word)).count();
        Image {
            chip,
            entry_name: kernel.name,
            entry: 0,
            code: kernel.code,
            lines: Vec::new(),
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
            block_size: kernel.block_size,
            input_bytes: kernel.param_bytes,
            bindings: Vec::new(),
            relocations: Vec::new(),
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
            block_size: self.block_size,
            param_bytes: self.input_bytes,
            ..cubin::Kernel::default()
        }
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
}
