//! A launch from the first block to the last.

use super::block::{Block, Env, Progress, Stop, Trace};
use super::conflict::{MAX_BLOCKS, Snapshot, Tracker};
use super::fault::{Fault, FaultKind, Place};
use super::inst::{Body, Inst};
use super::lanes::Row;
use super::memory::Memory;
use super::resolve::Uniform;
use super::{Launch, Note, Options, PcProfile, Profile, Stats, access};
use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Blocks that take turns when the first does not end by itself (it may wait for another one).
const RESIDENT: usize = 16;

/// Instructions a block executes before another one's turn.
const TURN: u64 = 1 << 20;

/// The most threads of a block.
const MAX_THREADS: u64 = 1024;

/// What the blocks of a run counted.
#[derive(Default)]
struct Tally {
    steps: u64,
    threads: u64,
    profile: Option<Vec<PcProfile>>,
    /// By place, that of the first block, whichever ended first.
    notes: BTreeMap<(u32, Option<u32>), (u32, Note)>,
}

impl Tally {
    fn note(&mut self, block: u32, note: Note) {
        match self.notes.entry(note.places()) {
            Entry::Vacant(e) => {
                e.insert((block, note));
            }
            Entry::Occupied(mut e) if e.get().0 > block => {
                e.insert((block, note));
            }
            Entry::Occupied(_) => {}
        }
    }

    fn add(&mut self, block: Block) {
        let number = block.st.number;
        block.st.notes.into_iter().for_each(|n| self.note(number, n));
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

/// Executes a launch. On a fault, the effects of what ran before it stay in `memory`.
pub fn run(launch: &Launch<'_>, memory: &mut Memory, options: &mut Options<'_>) -> Result<Stats, Box<Fault>> {
    let threads: u64 = launch.block.iter().map(|&n| u64::from(n)).product();
    let refuse = |detail: String| {
        let place = Place::default();
        Err(Box::new(Fault {
            kind: FaultKind::IllegalInstruction,
            kernel: launch.kernel.clone(),
            place,
            detail,
            other: None,
        }))
    };
    if launch.block.iter().any(|&n| n > 1024) || !(1..=MAX_THREADS).contains(&threads) {
        return refuse(format!("a block of {threads} threads cannot be launched: 1 to {MAX_THREADS}"));
    }
    if launch.shared_bytes > 1 << 24 || launch.local_bytes > 1 << 24 {
        return refuse("shared and local memory are at most 16 MiB, the size of their windows".to_string());
    }
    let blocks = launch.grid.iter().try_fold(1u64, |n, &g| n.checked_mul(g.into()));
    let Some(blocks) = blocks else { return refuse("the grid has more than 2^64 blocks".to_string()) };

    let (insts, pool) = link(launch);
    let cores = if options.threads == 0 { rayon::current_num_threads() } else { options.threads };
    let in_order_only = !(2..=MAX_BLOCKS).contains(&blocks) || cores < 2 || options.trace.is_some();
    let mut tally = None;
    if !in_order_only {
        let snapshot = Snapshot::take(memory);
        let tracker = Tracker::new(memory);
        let env = environment(launch, &insts, &pool, memory, options, Some(&tracker));
        tally = parallel(&env, blocks, options, cores);
        if tally.is_none() {
            snapshot.restore(memory);
        }
    }
    let tally = match tally {
        Some(t) => t,
        None => {
            let env = environment(launch, &insts, &pool, memory, options, None);
            let limit = options.step_limit;
            in_order(&env, blocks, limit, &mut options.trace)?
        }
    };
    let profile = tally.profile.map(|p| named(launch, &p));
    let notes = tally.notes.into_values().map(|(_, n)| n).collect();
    Ok(Stats { warp_instructions: tally.steps, thread_instructions: tally.threads, profile, notes })
}

fn environment<'a>(
    launch: &'a Launch<'a>,
    insts: &'a [Inst],
    pool: &[Row],
    memory: &'a Memory,
    options: &Options<'_>,
    tracker: Option<&'a Tracker>,
) -> Env<'a> {
    let checks = options.checks;
    let partial = memory.buffers.iter().any(|b| b.init.is_some());
    Env {
        launch,
        program: launch.program,
        insts,
        pool: pool.to_vec(),
        memory,
        checks,
        observed: tracker.is_some() || checks.init && partial,
        tracker,
        profile: options.profile,
        first: options.first,
    }
}

/// The values of the program's uniforms; instructions that name a register or a constant that this launch does
/// not have become faults.
fn link<'a>(launch: &'a Launch<'_>) -> (Cow<'a, [Inst]>, Vec<Row>) {
    let program = launch.program;
    let mut missing = vec![false; program.pool.uniforms.len()];
    let mut pool = Vec::with_capacity(missing.len());
    for (u, missing) in program.pool.uniforms.iter().zip(&mut missing) {
        pool.push(Row::splat(match *u {
            Uniform::Imm(v) => v,
            Uniform::Const(bank, at) => {
                let data = launch.consts.get(bank as usize).map_or(&[][..], |b| b.as_slice());
                *missing = at as usize >= data.len();
                access::const_word(data, at as usize)
            }
        }));
    }
    let bad = |i: &Inst| {
        if i.gprs() > launch.gprs {
            Some("a register outside those that the launch gives to a thread")
        } else if i.uniforms.iter().any(|&u| missing[u as usize]) {
            Some("a constant outside its bank")
        } else {
            None
        }
    };
    if !program.insts.iter().any(|i| bad(i).is_some()) {
        return (Cow::Borrowed(&program.insts), pool);
    }
    let patch = |i: &Inst| match bad(i) {
        None => i.clone(),
        Some(why) => {
            let mut j = Inst::new(Body::OutOfBounds(why));
            j.guard = i.guard;
            j
        }
    };
    (Cow::Owned(program.insts.iter().map(patch).collect()), pool)
}

/// All blocks one after the other; one that runs long takes turns with those behind it.
fn in_order(env: &Env<'_>, blocks: u64, limit: u64, trace: &mut Trace<'_>) -> Result<Tally, Box<Fault>> {
    let mut tally = Tally::default();
    let mut resident: VecDeque<Block> = VecDeque::new();
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
        match block.run(env, TURN, limit.saturating_sub(others), trace) {
            Ok(Progress::Done) => tally.add(block),
            Ok(Progress::Running) => resident.push_back(block),
            Err(Stop::Fault(f)) => return Err(f),
            Err(Stop::Conflict) => return Ok(tally),
        }
    }
}

/// All blocks on several threads; `None` if their order could show, or anything faults.
fn parallel(env: &Env<'_>, blocks: u64, options: &Options<'_>, cores: usize) -> Option<Tally> {
    let failed = AtomicBool::new(false);
    let steps = AtomicU64::new(0);
    let limit = options.step_limit;
    let work = || {
        let one = |mut tally: Tally, number: u64| {
            let mut block = Block::new(env, number);
            while !failed.load(Relaxed) {
                let before = block.st.steps;
                let ended = block.run(env, TURN, limit, &mut None);
                let total = steps.fetch_add(block.st.steps - before, Relaxed) + block.st.steps - before;
                match ended {
                    Ok(Progress::Done) if total <= limit => {
                        tally.add(block);
                        return tally;
                    }
                    Ok(Progress::Running) if total <= limit => {}
                    _ => failed.store(true, Relaxed),
                }
            }
            tally
        };
        (0..blocks).into_par_iter().fold(Tally::default, one).reduce(Tally::default, Tally::merge)
    };
    let tally = match rayon::ThreadPoolBuilder::new().num_threads(cores).build() {
        Ok(pool) if options.threads != 0 => pool.install(work),
        _ => work(),
    };
    (!failed.load(Relaxed)).then_some(tally)
}

impl Tally {
    fn merge(mut self, other: Tally) -> Tally {
        self.steps += other.steps;
        self.threads += other.threads;
        other.notes.into_values().for_each(|(block, n)| self.note(block, n));
        match (&mut self.profile, other.profile) {
            (Some(a), Some(b)) => a.iter_mut().zip(&b).for_each(|(a, b)| a.add(b)),
            (a, b) => *a = a.take().or(b),
        }
        self
    }
}

fn named(launch: &Launch<'_>, counts: &[PcProfile]) -> Profile {
    let mut profile = Profile::default();
    for (i, p) in counts.iter().enumerate().filter(|(_, p)| p.issues != 0) {
        let pc = i as u32 * 8;
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
