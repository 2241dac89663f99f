//! A launch from the first block to the last.

use super::block::{Block, Env, NoteKey, Progress, Stop};
use super::conflict::{MAX_BLOCKS, Snapshot, Tracker};
use super::fault::{Fault, FaultKind, Note, Place};
use super::inst::{Body, Inst};
use super::lanes::Row;
use super::memory::Memory;
use super::race::Watched;
use super::resolve::Uniform;
use super::{CONST_BANKS, Launch, Options, PcProfile, Profile, Stats, bank, stage};
use nvir_base::caught::catching;
use rayon::prelude::*;
use std::borrow::Cow;
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
struct Tally {
    steps: u64,
    threads: u64,
    profile: Option<Vec<PcProfile>>,
    /// What the warps of a graphics stage wrote.
    stage: Vec<stage::Io>,
    /// The block that was first, and what it noted.
    notes: BTreeMap<NoteKey, (u64, Note)>,
}

impl Tally {
    fn add(&mut self, env: &Env<'_>, mut block: Block) {
        self.stage.extend(block.st.stage.take().map(|io| *io));
        for (key, note) in block.notes(env) {
            self.note(key, block.number, note);
        }
        self.steps += block.st.steps;
        self.threads += block.st.thread_steps;
        if let Some(p) = block.st.profile {
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
    Ok(caught(launch, None, memory, options)?.0)
}

/// Executes a launch of a graphics stage, whose blocks are warps: what they counted, and what each wrote.
pub(super) fn run_stage(
    launch: &Launch<'_>,
    context: &stage::Context<'_>,
    memory: &mut Memory,
    options: &mut Options<'_>,
) -> Result<(Stats, Vec<stage::Io>), Box<Fault>> {
    caught(launch, Some(context), memory, options)
}

fn caught(
    launch: &Launch<'_>,
    context: Option<&stage::Context<'_>>,
    memory: &mut Memory,
    options: &mut Options<'_>,
) -> Result<(Stats, Vec<stage::Io>), Box<Fault>> {
    catching(|| execute(launch, context, memory, options)).unwrap_or_else(|said| {
        Err(Box::new(Fault {
            kind: FaultKind::Defect,
            kernel: launch.kernel.clone(),
            place: Place::default(),
            detail: format!("{said}: this is a bug in nvir, please report it with the kernel"),
            other: None,
        }))
    })
}

fn execute(
    launch: &Launch<'_>,
    context: Option<&stage::Context<'_>>,
    memory: &mut Memory,
    options: &mut Options<'_>,
) -> Result<(Stats, Vec<stage::Io>), Box<Fault>> {
    let blocks = blocks(launch).map_err(|detail| {
        Box::new(Fault {
            kind: FaultKind::IllegalInstruction,
            kernel: launch.kernel.clone(),
            place: Place::default(),
            detail,
            other: None,
        })
    })?;

    let banks = bank::View::all(&launch.consts, memory, launch.zero_beyond_banks);
    let (insts, pool) = link(launch, &banks);
    let cores = if options.threads == 0 { default_threads() } else { options.threads };
    // Asked last: it looks at every buffer, of which there may be thousands.
    let too_large = || memory.buffers.iter().map(|b| b.size).sum::<u64>() > MAX_PARALLEL_BYTES;
    let in_order_only = context.is_some()
        || !(2..=MAX_BLOCKS).contains(&blocks)
        || cores < 2
        || options.trace.is_some()
        || options.checks.global_race
        || too_large();
    let mut tally = None;
    if !in_order_only {
        let snapshot = Snapshot::take(memory);
        let tracker = Tracker::new(memory);
        let env = environment(launch, context, &insts, &pool, banks, memory, options, Some(&tracker));
        tally = parallel(&env, blocks, options, cores);
        if tally.is_none() {
            snapshot.restore(memory);
        }
    }
    let tally = match tally {
        Some(t) => t,
        None => {
            let env = environment(launch, context, &insts, &pool, banks, memory, options, None);
            in_order(&env, blocks, options)?
        }
    };
    let profile = tally.profile.map(|p| named(launch, &p));
    let (faults, notes): (Vec<_>, Vec<_>) = tally.notes.into_iter().partition(|(key, _)| key.2.is_some());
    let [faults, notes] = [faults, notes].map(|all| all.into_iter().map(|(_, (_, note))| note).collect());
    let (warp_instructions, thread_instructions) = (tally.steps, tally.threads);
    let stats = Stats { warp_instructions, thread_instructions, notes, faults, profile };
    Ok((stats, tally.stage))
}

#[expect(clippy::too_many_arguments, reason = "the parts of one structure")]
fn environment<'a>(
    launch: &'a Launch<'a>,
    stage: Option<&'a stage::Context<'a>>,
    insts: &'a [Inst],
    pool: &[Row],
    banks: [bank::View<'a>; CONST_BANKS],
    memory: &'a Memory,
    options: &Options<'_>,
    tracker: Option<&'a Tracker>,
) -> Env<'a> {
    let checks = options.checks;
    let partial = || memory.buffers.iter().any(|b| b.init.is_some());
    Env {
        launch,
        program: launch.program,
        insts,
        pool: pool.to_vec(),
        memory,
        banks,
        checks,
        faults: options.faults,
        observed: tracker.is_some() || checks.global_race || checks.init && partial(),
        tracker,
        profile: options.profile,
        first: options.first,
        stage,
    }
}

/// The values of the program's uniforms; instructions that name a register or a constant that this launch does
/// not have become faults.
fn link<'a>(launch: &'a Launch<'_>, banks: &[bank::View<'_>; CONST_BANKS]) -> (Cow<'a, [Inst]>, Vec<Row>) {
    let program = launch.program;
    let mut missing = vec![None; program.pool.uniforms.len()];
    let mut pool = Vec::with_capacity(missing.len());
    for (u, missing) in program.pool.uniforms.iter().zip(&mut missing) {
        pool.push(Row::splat(match *u {
            Uniform::Imm(v) => v,
            Uniform::Const(bank, at) => {
                let view = banks.get(bank as usize).copied().unwrap_or(bank::View::none(false));
                *missing = view.refuses(at, 4).map(|why| format!("4 bytes at c[{bank:#x}][{at:#x}]; {why}"));
                view.word(at as usize)
            }
        }));
    }
    let bad = |i: &Inst| {
        if i.gprs() > launch.gprs {
            Some(format!("R{}; the launch gives {} registers to a thread", i.gprs() - 1, launch.gprs))
        } else {
            i.uniforms.iter().find_map(|&u| missing[u as usize].clone())
        }
    };
    if !program.insts.iter().any(|i| bad(i).is_some()) {
        return (Cow::Borrowed(&program.insts), pool);
    }
    let patch = |i: &Inst| match bad(i) {
        None => i.clone(),
        Some(why) => {
            let mut j = Inst::new(Body::OutOfBounds(why.into()));
            j.guard = i.guard;
            j.bytes = i.bytes;
            j
        }
    };
    (Cow::Owned(program.insts.iter().map(patch).collect()), pool)
}

/// All blocks one after the other; one that runs long takes turns with those behind it.
fn in_order(env: &Env<'_>, blocks: u64, options: &mut Options<'_>) -> Result<Tally, Box<Fault>> {
    let limit = options.step_limit;
    let mut done = 0;
    let mut tally = Tally::default();
    let mut resident: VecDeque<Block> = VecDeque::new();
    let mut global = env.checks.global_race.then(|| Box::new(Watched::new()));
    let mut next = 0;
    loop {
        let mut block = match resident.len() {
            n if next < blocks && n < RESIDENT => {
                next += 1;
                Block::new(env, next - 1)
            }
            0 => return Ok(tally),
            _ => match resident.pop_front() {
                Some(b) => b,
                None => return Ok(tally),
            },
        };
        let others = resident.iter().map(|b| b.st.steps).sum::<u64>() + tally.steps;
        block.exchange_global(&mut global);
        let ran = block.run(env, TURN, limit.saturating_sub(others), &mut options.trace);
        block.exchange_global(&mut global);
        match ran {
            Ok(Progress::Done) => {
                done += 1;
                tally.add(env, block);
            }
            Ok(Progress::Running) => resident.push_back(block),
            Err(Stop::Fault(what)) if env.faults > 1 => {
                let key = (what.place.pc, what.other.as_ref().map(|o| o.pc), Some(what.kind));
                let number = block.number;
                tally.add(env, block);
                tally.note(key, number, Note { what: *what, times: 1 });
                resident.into_iter().for_each(|b| tally.add(env, b));
                return Ok(tally);
            }
            Err(Stop::Fault(f)) => return Err(f),
            Err(Stop::Conflict) => return Ok(tally),
        }
        if let Some(tell) = options.progress {
            tell(done, blocks);
        }
    }
}

/// All blocks on several threads; `None` if their order could show, or anything faults: then no further block begins.
fn parallel(env: &Env<'_>, blocks: u64, options: &Options<'_>, cores: usize) -> Option<Tally> {
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
        let one = |mut tally: Tally, number: u64| {
            if failed.load(Relaxed) {
                return None;
            }
            let mut block = Block::new(env, number);
            while !failed.load(Relaxed) {
                let before = block.st.steps;
                // What panics here does so again in order, where it is reported.
                let Ok(ended) = catching(|| block.run(env, TURN, limit, &mut None)) else {
                    failed.store(true, Relaxed);
                    return None;
                };
                let total = steps.fetch_add(block.st.steps - before, Relaxed) + block.st.steps - before;
                match ended {
                    Ok(Progress::Done) if total <= limit => {
                        tally.add(env, block);
                        tell(1);
                        return Some(tally);
                    }
                    Ok(Progress::Running) if total <= limit => tell(0),
                    _ => failed.store(true, Relaxed),
                }
            }
            None
        };
        // `None` ends the walk over the blocks that have not begun, too.
        let all = (0..blocks).into_par_iter().try_fold(Tally::default, one);
        all.try_reduce(Tally::default, |a, b| Some(a.merge(b)))
    };
    if options.threads == 0 {
        return work();
    }
    // Without threads, in order.
    rayon::ThreadPoolBuilder::new().num_threads(cores).build().ok()?.install(work)
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

impl Tally {
    fn merge(mut self, other: Tally) -> Tally {
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
    fn note(&mut self, key: NoteKey, number: u64, note: Note) {
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
        let pc = launch.program.address(i);
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
