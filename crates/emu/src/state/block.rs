//! What the warps of a block share.

use super::lanes::{LANES, Mask, Scratch, lanes};
use super::warp::{State as WarpState, Warp};
use crate::check::race::Clock;
use crate::check::shadow::Shadow;
use crate::code::operand::{BarMode, Space, Width};
use crate::fault::FaultKind;
use crate::options::MOST_RUNS;
use crate::run::attached::Slot;
use crate::stage::Io;
use crate::stats::PcProfile;
use crate::trap::{NoteKey, Other, Trap};
use crate::units::texture::descriptors::Seen;
use nvir_isa::fetch::Run;
use rustc_hash::FxHashMap;

/// How many blocks there are, and how large they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// Shared memory of a block.
    pub shared_bytes: u32,
}

/// A barrier. The states of warps say which wait for it. An engine's code may change its first six fields.
#[derive(Clone, Debug, Default)]
pub struct Barrier {
    /// Threads, whole warps counted.
    pub arrived: u32,
    /// Threads it waits for; 0: all of the block.
    pub expected: u32,
    /// Threads whose predicate is true; whether there is one, and one whose is false.
    pub popc: u32,
    /// See `popc`.
    pub any: bool,
    /// See `popc`.
    pub some_false: bool,
    /// Of the last warp to arrive.
    pub mode: BarMode,
    /// Who arrived first, with `synccheck`.
    pub(crate) first: Option<Other>,
    pub(crate) clock: Clock,
}

impl Barrier {
    /// What engines must agree on.
    pub(crate) fn counts(&self) -> (u32, u32, u32, bool, bool, BarMode) {
        (self.arrived, self.expected, self.popc, self.any, self.some_false, self.mode)
    }
}

/// The barriers of a block.
pub(crate) const BARRIERS: usize = 16;

/// What the warps of a block share.
#[derive(Clone)]
pub(crate) struct BlockState {
    pub ctaid: [u32; 3],
    /// The block's number in the grid.
    pub number: u32,
    pub shared: Vec<u32>,
    /// Shared-memory locks: address to thread.
    pub locks: FxHashMap<u32, u32>,
    /// The buffer of the last access.
    pub last_buffer: usize,
    /// What an engine remembers of the launch's memory, by instruction.
    pub slots: Vec<Slot>,
    /// The same by instruction, as far as there is room.
    pub buffer_hints: BufferHints,
    /// Instructions issued by all warps: also the clock.
    pub steps: u64,
    pub thread_steps: u64,
    pub shadow: Option<Box<Shadow>>,
    pub profile: Option<Vec<PcProfile>>,
    /// What warps executed, if somebody is to be shown it.
    pub executed: Executed,
    /// What is reported without stopping: the warp that did it first, and how often.
    pub notes: FxHashMap<NoteKey, (u32, Trap, u64)>,
    /// Faults of each kind that the block went on after.
    pub faults: [u32; FaultKind::ALL.len()],
    /// What the current instruction's requests cost, with a profile.
    pub transactions: u64,
    pub conflicts: u64,
    pub warp_states: Vec<WarpState>,
    /// Those that have not ended.
    pub warps_left: u32,
    /// Whether the code has any barrier.
    pub has_barriers: bool,
    pub reductions: Vec<u32>,
    pub barriers: Vec<Barrier>,
    pub textures: Seen,
    pub scratch: Scratch,
    /// Lanes that run for the sake of others only: what they store has no effect.
    pub helpers: Mask,
    /// Inputs and outputs of the threads of a graphics stage.
    pub stage: Option<Box<Io>>,
}

/// What the warps of a block executed.
#[derive(Clone, Debug)]
pub(crate) struct Executed {
    /// By warp; none if nothing is to be written down, or if it was too much.
    pub warps: Vec<Vec<Run>>,
    /// Runs that may still be written down.
    left: u32,
}

impl Executed {
    pub(crate) fn new(warps: usize) -> Executed {
        Executed { warps: vec![Vec::new(); warps], left: MOST_RUNS }
    }

    /// A warp executes the instruction at `at`, before which the one at `before` stands.
    pub(crate) fn add(&mut self, warp: u32, at: u32, before: Option<u32>, passes: u32) {
        let Some(runs) = self.warps.get_mut(warp as usize) else { return };
        match runs.last_mut() {
            Some(run) if Some(run.last) == before && run.passes == 1 => {
                (run.last, run.passes) = (at, passes);
            }
            _ if self.left == 0 => self.warps.clear(),
            _ => {
                runs.push(Run { first: at, last: at, passes });
                self.left -= 1;
            }
        }
    }
}

/// The buffers that instructions accessed last, as far as there is room.
#[derive(Clone, Debug)]
pub(crate) struct BufferHints([usize; 64]);

impl BufferHints {
    /// That of the instruction at this address.
    #[inline]
    pub(crate) fn at(&mut self, pc: u32) -> &mut usize {
        let count = self.0.len();
        &mut self.0[pc as usize / 8 % count]
    }
}

impl Default for BufferHints {
    fn default() -> BufferHints {
        BufferHints([0; 64])
    }
}

impl BlockState {
    /// Reports something about one instruction without stopping the run.
    #[cold]
    pub(crate) fn note(&mut self, w: &Warp, trap: impl FnOnce() -> Trap) {
        self.notes.entry((w.at, None, None)).or_insert_with(|| (w.index, trap(), 0)).2 += 1;
    }

    /// Counts a memory request for the profile.
    pub(crate) fn request(&mut self, space: Space, a: &[u64; LANES], mask: Mask, width: Width) {
        if self.profile.is_none() {
            return;
        }
        if space == Space::Shared {
            // 32 banks of 4 bytes; lanes that read the same word are served together.
            let mut words: Vec<u64> = lanes(mask).map(|l| a[l] / 4).collect();
            words.sort_unstable();
            words.dedup();
            let mut banks = [0u64; 32];
            words.iter().for_each(|w| banks[(w % 32) as usize] += 1);
            let passes = banks.iter().copied().max().unwrap_or(0);
            self.conflicts += passes.saturating_sub(1);
        } else {
            let size = u64::from(width.bytes());
            let mut segments: Vec<u64> =
                lanes(mask).flat_map(|l| [a[l] / 128, a[l].saturating_add(size - 1) / 128]).collect();
            segments.sort_unstable();
            segments.dedup();
            self.transactions += segments.len() as u64;
        }
    }
}
