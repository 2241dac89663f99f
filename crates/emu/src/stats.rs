//! What a launch did.

use crate::fault::Note;
use std::collections::BTreeMap;

/// What a run did.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Stats {
    /// Instructions issued by warps.
    pub warp_instructions: u64,
    /// The same, times the threads that were active and whose guard was true.
    pub thread_instructions: u64,
    /// By code address: what a checker saw that is no fault of the program.
    pub notes: Vec<Note>,
    /// With [`Options::faults`](crate::Options::faults) above 1: what went wrong, by instruction and kind, the first place of each and how often.
    pub faults: Vec<Note>,
    /// What was counted, if that was asked for.
    pub profile: Option<Profile>,
}

/// Where a run spent its instructions.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Profile {
    /// By code address: issues, threads.
    pub by_pc: BTreeMap<u32, PcProfile>,
    /// By SASS mnemonic.
    pub by_op: BTreeMap<&'static str, PcProfile>,
    /// By source line, where the program carries lines.
    pub by_line: BTreeMap<String, PcProfile>,
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
