//! A launch from the first block to the last.

use super::block::{Block, Progress, Stop};
use crate::check::race::Watched;
use crate::cx::Env;
use crate::fault::{Fault, FaultKind, Note, Place};
use crate::launch::Launch;
use crate::memory::Memory;
use crate::options::Options;
use crate::run::bound::Bound;
use crate::run::conflict::{MAX_BLOCKS, Snapshot, Tracker};
use crate::state::block::Shape;
use crate::stats::{PcProfile, Profile, Stats};
use crate::trap::NoteKey;
use nvir_base::caught::catching;
use rayon::prelude::*;
use std::collections::{BTreeMap, VecDeque};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Blocks that take turns when the first does not end by itself (it may wait for another one).
const RESIDENT: usize = 16;

/// Instructions a block executes before another one's turn.
const TURN: u64 = 1 << 20;

/// Blocks run on several threads only below that much memory: it takes a copy and as much again for tags.
const MAX_PARALLEL_BYTES: u64 = 256 << 20;

/// The most threads of a block.
const MAX_THREADS: u64 = 1024;

/// What the blocks of a run counted.
#[derive(Default)]
pub(crate) struct Counters {
    pub steps: u64,
    pub threads: u64,
    profile: Option<Vec<PcProfile>>,
    /// The block that was first, and what it noted.
    notes: BTreeMap<NoteKey, (u64, Note)>,
}

impl Counters {
    /// A block has ended.
    fn add(&mut self, env: &Env<'_>, block: &mut Block) {
        self.count(env, block);
        self.profile(block);
    }

    /// Takes what a block counted, but for the profile, which may go on in another one.
    pub(crate) fn count(&mut self, env: &Env<'_>, block: &mut Block) {
        if !block.st.notes.is_empty() {
            for (key, note) in block.notes(env) {
                self.note(key, block.number, note);
            }
            block.st.notes.clear();
        }
        self.steps += block.st.steps;
        self.threads += block.st.thread_steps;
    }

    /// Takes a block's profile.
    pub(crate) fn profile(&mut self, block: &mut Block) {
        if let Some(p) = block.st.profile.take() {
            match &mut self.profile {
                None => self.profile = Some(p),
                Some(all) => all.iter_mut().zip(&p).for_each(|(a, b)| a.add(b)),
            }
        }
    }
}

impl Launch<'_> {
    /// Whether the machine takes the launch, whatever the program does: [`run`] of one that it does not take is a fault.
    ///
    /// # Errors
    /// Why it does not, in a sentence.
    pub fn check(&self) -> Result<(), String> {
        blocks(self).map(drop)
    }
}

/// The blocks of a launch that the machine takes.
fn blocks(launch: &Launch<'_>) -> Result<u64, String> {
    let threads = launch.block.iter().fold(1, |all: u64, &n| all.saturating_mul(n.into()));
    if launch.block.iter().any(|&n| n > 1024) || !(1..=MAX_THREADS).contains(&threads) {
        return Err(format!("a block of {threads} threads cannot be launched: 1 to {MAX_THREADS}"));
    }
    if launch.shared_bytes > 1 << 24 || launch.local_bytes > 1 << 24 {
        return Err("shared and local memory are at most 16 MiB, the size of their windows".to_string());
    }
    let blocks = launch.grid.iter().try_fold(1u64, |n, &g| n.checked_mul(g.into()));
    blocks.ok_or_else(|| "the grid has more than 2^64 blocks".to_string())
}

/// Executes a launch. On a fault, the effects of what ran before it stay in `memory`.
///
/// # Errors
/// What the program does wrong, with its place; a launch that the machine does not take; a defect of the emulator
/// ([`FaultKind::Defect`]). It never panics and prints nothing.
pub fn run(launch: &Launch<'_>, memory: &mut Memory, options: &mut Options<'_>) -> Result<Stats, Box<Fault>> {
    caught(&launch.kernel, || execute(launch, memory, options))
}

/// What `work` gives; a panic as a fault of a kernel of this name.
pub(crate) fn caught<T>(kernel: &str, work: impl FnOnce() -> Result<T, Box<Fault>>) -> Result<T, Box<Fault>> {
    catching(work).unwrap_or_else(|said| {
        Err(Box::new(Fault {
            kind: FaultKind::Defect,
            kernel: kernel.to_string(),
            place: Place::default(),
            detail: format!("{said}: this is a bug in nvir, please report it with the kernel"),
            other: None,
        }))
    })
}

fn execute(launch: &Launch<'_>, memory: &mut Memory, options: &mut Options<'_>) -> Result<Stats, Box<Fault>> {
    let blocks = blocks(launch).map_err(|detail| {
        Box::new(Fault {
            kind: FaultKind::IllegalInstruction,
            kernel: launch.kernel.clone(),
            place: Place::default(),
            detail,
            other: None,
        })
    })?;

    let profile = options.profile;
    let timeline = options.timeline.as_mut().is_some_and(|shown| profile && shown.begin(launch));
    let bound = Bound::new(launch, memory);
    let shape = Shape { grid: launch.grid, block: launch.block, shared_bytes: launch.shared_bytes };
    let cores = cores(options);
    // Asked last: it looks at every buffer, of which there may be thousands.
    let too_large = || memory.buffers.iter().map(|b| b.size).sum::<u64>() > MAX_PARALLEL_BYTES;
    let in_order_only = !(2..=MAX_BLOCKS).contains(&blocks)
        || cores < 2
        || options.trace.is_some()
        || timeline
        || options.checks.global_race
        || options.engine.is_some_and(|engine| !engine.shares_memory())
        || too_large();
    let mut counters = None;
    if !in_order_only {
        let snapshot = Snapshot::take(memory);
        let tracker = Tracker::new(memory);
        let env = options.env(&bound, shape, Some(&tracker), None);
        counters = parallel(&env, blocks, options, cores);
        if counters.is_none() {
            snapshot.restore(memory);
        }
    }
    let counters = match counters {
        Some(t) => t,
        None => in_order(&Env { timeline, ..options.env(&bound, shape, None, None) }, blocks, options)?,
    };
    Ok(stats(launch, counters))
}

/// What a run tells of what it counted.
pub(crate) fn stats(launch: &Launch<'_>, counters: Counters) -> Stats {
    let profile = counters.profile.map(|p| named(launch, &p));
    let (faults, notes): (Vec<_>, Vec<_>) = counters.notes.into_iter().partition(|(key, _)| key.2.is_some());
    let [faults, notes] = [faults, notes].map(|all| all.into_iter().map(|(_, (_, note))| note).collect());
    let (warp_instructions, thread_instructions) = (counters.steps, counters.threads);
    Stats { warp_instructions, thread_instructions, notes, faults, profile }
}

/// How many threads a run may use.
pub(crate) fn cores(options: &Options<'_>) -> usize {
    if options.threads == 0 { default_threads() } else { options.threads }
}

/// Works in the pool that there is, or with so many threads as are asked for; `None` where they cannot be made.
pub(crate) fn on_threads<T: Send>(
    options: &Options<'_>,
    cores: usize,
    work: impl FnOnce() -> T + Send,
) -> Option<T> {
    if options.threads == 0 {
        return Some(work());
    }
    Some(rayon::ThreadPoolBuilder::new().num_threads(cores).build().ok()?.install(work))
}

/// All blocks one after the other; one that runs long takes turns with those behind it.
fn in_order(env: &Env<'_>, blocks: u64, options: &mut Options<'_>) -> Result<Counters, Box<Fault>> {
    let exec = options.executor(env);
    let limit = options.step_limit;
    let mut done = 0;
    let mut counters = Counters::default();
    let mut resident: VecDeque<Box<Block>> = VecDeque::new();
    let mut ended: Option<Box<Block>> = None;
    let mut global = env.checks.global_race.then(|| Box::new(Watched::new()));
    let mut next = 0;
    loop {
        let mut block = match resident.len() {
            n if next < blocks && n < RESIDENT => {
                next += 1;
                another(env, &mut ended, next - 1)
            }
            0 => return Ok(counters),
            _ => match resident.pop_front() {
                Some(b) => b,
                None => return Ok(counters),
            },
        };
        let others = resident.iter().map(|b| b.st.steps).sum::<u64>() + counters.steps;
        block.exchange_global(&mut global);
        let ran = block.run(env, exec.as_deref(), TURN, limit.saturating_sub(others), &mut options.trace);
        block.exchange_global(&mut global);
        match ran {
            Ok(Progress::Done) => {
                done += 1;
                counters.add(env, &mut block);
                if let Some(timeline) = options.timeline.as_deref_mut().filter(|_| env.timeline) {
                    timeline.block(std::mem::take(&mut block.st.executed.warps));
                }
                ended = Some(block);
            }
            Ok(Progress::Running) => resident.push_back(block),
            Err(Stop::Fault(what)) if env.faults > 1 => {
                let key = (what.place.pc, what.other.as_ref().map(|o| o.pc), Some(what.kind));
                let number = block.number;
                counters.add(env, &mut block);
                counters.note(key, number, Note { what: *what, times: 1 });
                resident.iter_mut().for_each(|b| counters.add(env, b));
                return Ok(counters);
            }
            Err(Stop::Fault(f)) => return Err(f),
            Err(Stop::Conflict) => return Ok(counters),
        }
        if let Some(tell) = options.progress {
            tell(done, blocks);
        }
    }
}

/// A block that begins: made of one that has ended, if there is one.
fn another(env: &Env<'_>, ended: &mut Option<Box<Block>>, number: u64) -> Box<Block> {
    match ended.take() {
        Some(mut block) => {
            block.restart(env, number);
            block
        }
        None => Box::new(Block::new(env, number)),
    }
}

/// All blocks on several threads; `None` if their order could show, or anything faults: then no further block begins.
fn parallel(env: &Env<'_>, blocks: u64, options: &Options<'_>, cores: usize) -> Option<Counters> {
    let exec = options.executor(env);
    let exec = exec.as_deref();
    let failed = AtomicBool::new(false);
    let steps = AtomicU64::new(0);
    let done = AtomicU64::new(0);
    let (limit, progress) = (options.step_limit, options.progress);
    let tell = |more| {
        if let Some(tell) = progress {
            tell(done.fetch_add(more, Relaxed) + more, blocks);
        }
    };
    let work = || {
        let one = |(mut counters, mut ended): (Counters, Option<Box<Block>>), number: u64| {
            if failed.load(Relaxed) {
                return None;
            }
            let mut block = another(env, &mut ended, number);
            while !failed.load(Relaxed) {
                let before = block.st.steps;
                // What panics here does so again in order, where it is reported.
                let Ok(ended) = catching(|| block.run(env, exec, TURN, limit, &mut None)) else {
                    failed.store(true, Relaxed);
                    return None;
                };
                let total = steps.fetch_add(block.st.steps - before, Relaxed) + block.st.steps - before;
                match ended {
                    Ok(Progress::Done) if total <= limit => {
                        counters.add(env, &mut block);
                        tell(1);
                        return Some((counters, Some(block)));
                    }
                    Ok(Progress::Running) if total <= limit => tell(0),
                    _ => failed.store(true, Relaxed),
                }
            }
            None
        };
        // `None` ends the walk over the blocks that have not begun, too.
        let all = (0..blocks).into_par_iter().try_fold(Default::default, one);
        all.map(|part| part.map(|(counters, _)| counters))
            .try_reduce(Counters::default, |a, b| Some(a.merge(b)))
    };
    // Without threads, in order.
    on_threads(options, cores, work)?
}

/// How many threads may work at once where the address space is limited (`ulimit -v`): a thread that gets neither stack nor heap
/// ends the process. None: as many as there are cores.
pub fn thread_limit() -> Option<usize> {
    /// A stack and a heap, with room for what the work itself needs.
    const BYTES: usize = 128 << 20;
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|l| l.strip_prefix("Max address space"))?;
    let bytes: usize = line.split_whitespace().next()?.parse().ok()?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Some((bytes / BYTES).clamp(1, cores))
}

/// The threads of the pool that this is called in, or of the process's own, which is made with the first call; one where no
/// threads can be made, as with little memory.
fn default_threads() -> usize {
    static USABLE: OnceLock<bool> = OnceLock::new();
    let made = || {
        let mut pool = rayon::ThreadPoolBuilder::new();
        if let Some(most) = thread_limit() {
            pool = pool.num_threads(most);
        }
        // Without a cause, there is a pool already.
        thread_limit() != Some(1)
            && pool.build_global().map_or_else(|e| std::error::Error::source(&e).is_none(), |()| true)
    };
    if rayon::current_thread_index().is_some() || *USABLE.get_or_init(made) {
        rayon::current_num_threads()
    } else {
        1
    }
}

impl Counters {
    pub(crate) fn merge(mut self, other: Counters) -> Counters {
        self.steps += other.steps;
        self.threads += other.threads;
        match (&mut self.profile, other.profile) {
            (Some(a), Some(b)) => a.iter_mut().zip(&b).for_each(|(a, b)| a.add(b)),
            (a, b) => *a = a.take().or(b),
        }
        for (key, (number, note)) in other.notes {
            self.note(key, number, note);
        }
        self
    }

    /// Takes a block's note: the one of the lowest block is kept.
    pub(crate) fn note(&mut self, key: NoteKey, number: u64, note: Note) {
        use std::collections::btree_map::Entry;
        match self.notes.entry(key) {
            Entry::Vacant(e) => {
                e.insert((number, note));
            }
            Entry::Occupied(mut e) => {
                let (first, kept) = e.get_mut();
                let times = kept.times + note.times;
                if number < *first {
                    (*first, *kept) = (number, note);
                }
                kept.times = times;
            }
        }
    }
}

fn named(launch: &Launch<'_>, counts: &[PcProfile]) -> Profile {
    let mut profile = Profile::default();
    for (i, p) in counts.iter().enumerate().filter(|(_, p)| p.issues != 0) {
        let pc = launch.program.code.address(i);
        profile.by_pc.insert(pc, *p);
        if let Some(m) = launch.program.instruction(pc) {
            profile.by_op.entry(m.op.name()).or_default().add(p);
        }
        if let Some(line) = launch.program.line(pc) {
            profile.by_line.entry(line.to_string()).or_default().add(p);
        }
    }
    profile
}
