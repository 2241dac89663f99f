//! What stops a run: the kind, the place, and the other access where there are two.

use nvir_base::diag::visible;
use std::fmt;

/// What can go wrong, as fixtures name it (`docs/fixtures.md`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FaultKind {
    /// An address (or a register of a pair or quad, or a code address) that is not a multiple of the access's size.
    Misaligned,
    /// Outside every buffer, the shared or local memory, a constant bank, or the code.
    OutOfBounds,
    /// A register or memory that nothing has written is read.
    Uninitialized,
    /// Two threads access the same memory, at least one writes, and nothing orders them.
    Race,
    /// Threads of one warp (or of one block, for a counted barrier) disagree about a barrier.
    DivergentBarrier,
    /// Every warp that has not exited waits.
    Deadlock,
    /// A pop of an empty or differently typed divergence stack, or one that grows without bound.
    Stack,
    /// `BPT.TRAP`.
    Trap,
    /// A word that no row decodes, or an instruction that cannot run in a compute program.
    IllegalInstruction,
    /// More instructions than the launch allows.
    StepLimit,
    /// The emulator itself is wrong: a violated invariant. Nothing that a program does makes it right.
    Defect,
}

impl FaultKind {
    /// All kinds.
    pub const ALL: [FaultKind; 11] = [
        FaultKind::Misaligned,
        FaultKind::OutOfBounds,
        FaultKind::Uninitialized,
        FaultKind::Race,
        FaultKind::DivergentBarrier,
        FaultKind::Deadlock,
        FaultKind::Stack,
        FaultKind::Trap,
        FaultKind::IllegalInstruction,
        FaultKind::StepLimit,
        FaultKind::Defect,
    ];

    /// The names that fixtures use, in the order of [`FaultKind::ALL`].
    pub const NAMES: [&str; FaultKind::ALL.len()] = [
        "misaligned",
        "out_of_bounds",
        "uninitialized",
        "race",
        "divergent_barrier",
        "deadlock",
        "stack",
        "trap",
        "illegal_instruction",
        "step_limit",
        "defect",
    ];

    /// The name that fixtures use.
    pub fn name(self) -> &'static str {
        FaultKind::NAMES[self as usize]
    }

    /// By the name that fixtures use.
    pub fn from_name(name: &str) -> Option<FaultKind> {
        FaultKind::ALL.into_iter().find(|k| k.name() == name)
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One thread at one instruction.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Place {
    /// Of the block in the grid.
    pub block: [u32; 3],
    /// Of the thread in the block.
    pub thread: [u32; 3],
    /// Byte address in the code section.
    pub pc: u32,
    /// SASS text.
    pub instruction: String,
    /// The source line, where the program carries lines.
    pub line: Option<String>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([bx, by, bz], [tx, ty, tz]) = (self.block, self.thread);
        write!(
            f,
            "block ({bx},{by},{bz}) thread ({tx},{ty},{tz}) at {:#06x}: {}",
            self.pc, self.instruction
        )?;
        match &self.line {
            Some(line) => write!(f, " [{}]", visible(line)),
            None => Ok(()),
        }
    }
}

/// Why a run stopped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// What went wrong.
    pub kind: FaultKind,
    /// Of the kernel, as the launch names it.
    pub kernel: String,
    /// Where.
    pub place: Place,
    /// What was wrong: the address, its region, the barrier.
    pub detail: String,
    /// The earlier access of a race, or the barrier that other threads wait at.
    pub other: Option<Place>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kernel = visible(&self.kernel);
        write!(f, "{}: {} (kernel {kernel}, {}", self.kind, self.detail, self.place)?;
        match &self.other {
            Some(other) => write!(f, "; other: {other})"),
            None => f.write_str(")"),
        }
    }
}

impl std::error::Error for Fault {}

/// What a checker reports without stopping the run: the first place in order of blocks, and how often it happened there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// What it would be, were it a fault.
    pub what: Fault,
    /// Threads that did it, over the whole run.
    pub times: u64,
}

impl Note {
    /// How many faults there were, of which kinds, and a line for each instruction.
    pub fn summary(faults: &[Note]) -> String {
        let mut counts: std::collections::BTreeMap<FaultKind, u64> = Default::default();
        for n in faults {
            *counts.entry(n.what.kind).or_default() += n.times;
        }
        let total: u64 = counts.values().sum();
        let counts: Vec<String> = counts.iter().map(|(kind, n)| format!("{n} {kind}")).collect();
        let lines: String = faults.iter().map(|n| format!("\n  {n}")).collect();
        format!("{total} faults at {} instructions ({}){lines}", faults.len(), counts.join(", "))
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.what)?;
        if self.times > 1 { write!(f, "; {} times", self.times) } else { Ok(()) }
    }
}
