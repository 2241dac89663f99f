//! A block: its warps, shared memory and barriers, and the loop that executes them.
//!
//! Warps run in turn, each until it waits, exits, or has used its slice; so the order is the same in every run. Slices
//! have different lengths, by a fixed sequence: warps that watch each other's memory would else see it at the same
//! point of a loop for ever.

use super::access;
use super::bound::Bound;
use super::check::Shadow;
use super::conflict::Tracker;
use super::exec::{self, Scratch};
use super::fault::{Fault, FaultKind, Note, Place};
use super::flow;
use super::inst::{AtomOp, AtomTy, BarMode, Body, Flow, Inst, PSrc, Space, Width};
use super::lanes::{LANES, Mask, Row, Src, lanes};
use super::race::{Clock, Watched};
use super::trap::{Other, Trap};
use super::warp::{State as WarpState, Wait, Warp};
use super::{Checks, Options, PcProfile, Side, going_on, stage, surface, texture, undef};
use nvir_hw::{special, window};
use rustc_hash::FxHashMap;

/// Instructions a warp executes at least before the next one's turn.
const SLICE: u64 = 128;

/// What a slice can have on top, less one.
const SLICE_VARIES: u64 = 1023;

/// Where the sequence of slices begins.
const FIRST_SLICE: u64 = 0x9e37_79b9_7f4a_7c15;

/// How many blocks there are, and how large they are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// Shared memory of a block.
    pub shared_bytes: u32,
}

/// What all blocks of a launch share.
pub(super) struct Env<'a> {
    pub bound: &'a Bound<'a>,
    pub shape: Shape,
    pub checks: Checks,
    /// The fault of a kind that ends a block.
    pub faults: u32,
    /// Every global access must be looked at on its own.
    pub observed: bool,
    pub tracker: Option<&'a Tracker>,
    pub profile: bool,
    pub first: Side,
    /// What is around the threads of a graphics stage; kernels have none.
    pub stage: Option<&'a stage::Context<'a>>,
}

impl<'a> Env<'a> {
    pub fn new(
        bound: &'a Bound<'a>,
        shape: Shape,
        options: &Options<'_>,
        tracker: Option<&'a Tracker>,
        stage: Option<&'a stage::Context<'a>>,
    ) -> Env<'a> {
        let checks = options.checks;
        let partial = || bound.memory.buffers.iter().any(|b| b.init.is_some());
        Env {
            bound,
            shape,
            checks,
            faults: options.faults,
            observed: tracker.is_some() || checks.global_race || checks.init && partial(),
            tracker,
            profile: options.profile,
            first: options.first,
            stage,
        }
    }

    pub fn track_read(&self, buffer: usize, word: usize, st: &State) -> Result<(), Trap> {
        self.tracker.map_or(Ok(()), |t| t.read(buffer, word, st.number))
    }

    pub fn track_write(&self, buffer: usize, word: usize, st: &State) -> Result<(), Trap> {
        self.tracker.map_or(Ok(()), |t| t.write(buffer, word, st.number))
    }

    pub fn track_atomic(
        &self,
        buffer: usize,
        word: usize,
        st: &State,
        reduction: Option<(AtomOp, AtomTy)>,
    ) -> Result<(), Trap> {
        match (self.tracker, reduction) {
            (None, _) => Ok(()),
            (Some(t), Some((op, ty))) => t.reduce(buffer, word, st.number, op, ty),
            (Some(t), None) => t.write(buffer, word, st.number),
        }
    }
}

/// A barrier.
#[derive(Clone, Debug, Default)]
struct Barrier {
    /// Threads, whole warps counted.
    arrived: u32,
    /// Threads it waits for; none: all of the block.
    expected: Option<u32>,
    waiting: Vec<u32>,
    popc: u32,
    any: bool,
    some_false: bool,
    mode: Option<BarMode>,
    first: Option<Other>,
    clock: Clock,
}

/// What tells notes apart: the address of the instruction, and of the other one where two are in conflict; of a fault that the
/// run went on after, its kind.
pub(super) type NoteKey = (u32, Option<u32>, Option<FaultKind>);

/// What the warps of a block share.
pub(super) struct State {
    pub ctaid: [u32; 3],
    /// The block's number in the grid.
    pub number: u32,
    pub shared: Vec<u32>,
    /// Shared-memory locks: address to thread.
    pub locks: FxHashMap<u32, u32>,
    /// The buffer of the last access.
    pub last_buffer: usize,
    /// Instructions issued by all warps: also the clock.
    pub steps: u64,
    pub thread_steps: u64,
    pub shadow: Option<Box<Shadow>>,
    pub profile: Option<Vec<PcProfile>>,
    /// What is reported without stopping: the warp that did it first, and how often.
    pub notes: FxHashMap<NoteKey, (u32, Trap, u64)>,
    /// Faults of each kind that the block went on after.
    pub faults: [u32; FaultKind::ALL.len()],
    /// What the current instruction's requests cost, with a profile.
    transactions: u64,
    conflicts: u64,
    warp_states: Vec<WarpState>,
    reductions: Vec<u32>,
    barriers: Vec<Barrier>,
    pub textures: texture::Seen,
    scratch: Scratch,
    /// Lanes that run for the sake of others only: what they store has no effect.
    pub ghosts: Mask,
    /// Inputs and outputs of the threads of a graphics stage.
    pub stage: Option<Box<stage::Io>>,
}

impl State {
    /// Reports something about one instruction without stopping the run.
    #[cold]
    pub fn note(&mut self, w: &Warp, trap: impl FnOnce() -> Trap) {
        self.notes.entry((w.at, None, None)).or_insert_with(|| (w.index, trap(), 0)).2 += 1;
    }

    /// Counts a memory request for the profile.
    pub fn request(&mut self, space: Space, a: &[u64; LANES], mask: Mask, width: Width) {
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

/// How a slice of a block ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Progress {
    Done,
    Running,
}

/// Receives the lines of a trace.
pub(super) type Trace<'a> = Option<&'a mut dyn FnMut(&str)>;

/// A block in execution.
pub(super) struct Block {
    /// In the grid.
    pub number: u64,
    warps: Vec<Warp>,
    pub st: State,
    next: usize,
    /// The state of the sequence of slices.
    slices: u64,
}

impl Block {
    pub fn new(env: &Env<'_>, number: u64) -> Block {
        let l = env.bound.launch;
        let threads = env.shape.block.iter().product::<u32>();
        let count = (threads as usize).div_ceil(LANES);
        let warps = (0..count).map(|i| {
            let left = threads as usize - i * LANES;
            let live = if left >= LANES { Mask::MAX } else { (1 << left) - 1 };
            let live = env.stage.map_or(live, |s| s.live(number));
            Warp::new(i as u32, live, l.entry, l.gprs.max(1) as usize, env.checks.init)
        });
        Block {
            number,
            warps: warps.collect(),
            st: State {
                ctaid: coordinates(env, number),
                number: number as u32,
                shared: vec![0; (env.shape.shared_bytes as usize).div_ceil(4)],
                locks: FxHashMap::default(),
                last_buffer: 0,
                steps: 0,
                thread_steps: 0,
                shadow: Shadow::new(env, number, count),
                profile: env.profile.then(|| vec![PcProfile::default(); env.bound.insts.len()]),
                notes: FxHashMap::default(),
                faults: [0; FaultKind::ALL.len()],
                transactions: 0,
                conflicts: 0,
                warp_states: vec![WarpState::Ready; count],
                reductions: vec![0; count],
                barriers: vec![Barrier::default(); 16],
                textures: texture::Seen::default(),
                scratch: Scratch::default(),
                ghosts: env.stage.map_or(0, |s| s.helpers(number)),
                stage: env.stage.map(|s| stage::Io::new(s, number)),
            },
            next: 0,
            slices: FIRST_SLICE,
        }
    }

    /// Makes a block of another launch of a graphics stage one of this, whose [`Block::restart`] then gives its warps; none if they
    /// have other registers.
    pub fn reuse(mut self: Box<Block>, env: &Env<'_>) -> Option<Box<Block>> {
        let gprs = env.bound.launch.gprs.max(1) as usize;
        let fits = |w: &Warp| w.regs.len() == gprs && w.undef.is_some() == env.checks.init;
        if !matches!(&self.warps[..], [w] if fits(w)) {
            return None;
        }
        let st = &mut self.st;
        st.last_buffer = 0;
        st.profile = env.profile.then(|| vec![PcProfile::default(); env.bound.insts.len()]);
        st.notes.clear();
        st.textures.clear();
        Some(self)
    }

    /// Makes of a block with one warp another one of a graphics stage, which has what [`Block::new`] would give it. Notes
    /// and the profile go on.
    pub fn restart(&mut self, env: &Env<'_>, number: u64) {
        let Some(context) = env.stage else { return };
        for w in &mut self.warps {
            w.restart(context.live(number), env.bound.launch.entry);
        }
        (self.number, self.next, self.slices) = (number, 0, FIRST_SLICE);
        let st = &mut self.st;
        st.ctaid = coordinates(env, number);
        st.number = number as u32;
        st.locks.clear();
        (st.steps, st.thread_steps) = (0, 0);
        st.shadow = Shadow::new(env, number, 1);
        st.faults = [0; FaultKind::ALL.len()];
        st.warp_states.fill(WarpState::Ready);
        st.reductions.fill(0);
        for barrier in st.barriers.iter_mut().filter(|b| b.arrived != 0) {
            *barrier = Barrier::default();
        }
        st.ghosts = context.helpers(number);
        if let Some(io) = &mut st.stage {
            io.begin(context, number);
        }
    }

    /// Runs until the block is done or has executed about `quantum` instructions, at most up to `limit` since its start.
    pub fn run(
        &mut self,
        env: &Env<'_>,
        quantum: u64,
        limit: u64,
        trace: &mut Trace<'_>,
    ) -> Result<Progress, Stop> {
        let end = self.st.steps.saturating_add(quantum);
        let count = self.warps.len();
        let mut idle = 0;
        while self.st.steps < end {
            if idle == count {
                if self.st.warp_states.iter().all(|s| *s == WarpState::Done) {
                    return Ok(Progress::Done);
                }
                return Err(self.deadlock(env));
            }
            let i = self.next;
            self.next = (i + 1) % count;
            if self.st.warp_states[i] != WarpState::Ready {
                idle += 1;
                continue;
            }
            idle = 0;
            let warp = &mut self.warps[i];
            warp.reduced(self.st.reductions[i]);
            // Marsaglia's xorshift.
            self.slices ^= self.slices << 13;
            self.slices ^= self.slices >> 7;
            self.slices ^= self.slices << 17;
            let slice = (self.st.steps + SLICE + (self.slices & SLICE_VARIES)).min(limit);
            let ended = run_warp(env, &mut self.st, warp, slice, trace);
            let pc = warp.at;
            if let Err(trap) = ended {
                if trap.0.conflict {
                    return Err(Stop::Conflict);
                }
                return Err(Stop::Fault(self.fault(env, i as u32, pc, &trap)));
            }
            let agreements = self.st.shadow.as_mut().and_then(|s| s.races.as_mut());
            for (key, trap) in agreements.into_iter().flat_map(|r| r.take_agreements()) {
                self.st.notes.entry(key).or_insert((i as u32, trap, 0)).2 += 1;
            }
            if self.st.steps >= limit && self.st.warp_states[i] == WarpState::Ready {
                let trap = Trap::new(
                    FaultKind::StepLimit,
                    first_lane(&self.warps[i]),
                    "the launch's limit is reached",
                );
                return Err(Stop::Fault(self.fault(env, i as u32, self.warps[i].pc, &trap)));
            }
        }
        Ok(Progress::Running)
    }

    /// Exchanges the record of who accessed global memory, which goes from block to block.
    pub fn exchange_global(&mut self, global: &mut Option<Box<Watched>>) {
        if let Some(races) = self.st.races() {
            races.exchange_global(global);
        }
    }

    fn place(&self, env: &Env<'_>, Other { block, warp, lane, pc }: Other) -> Place {
        let linear = warp * LANES as u32 + lane as u32;
        let [bx, by, _] = env.shape.block;
        Place {
            block: block.map_or(self.st.ctaid, |number| coordinates(env, number.into())),
            thread: [linear % bx, linear / bx % by, linear / bx / by],
            pc,
            instruction: env.bound.launch.program.text(pc),
            line: env.bound.launch.program.line(pc).map(str::to_string),
        }
    }

    fn fault(&self, env: &Env<'_>, warp: u32, pc: u32, trap: &Trap) -> Box<Fault> {
        let t = &trap.0;
        Box::new(Fault {
            kind: t.kind,
            kernel: env.bound.launch.kernel.clone(),
            place: self.place(env, Other { block: None, warp, lane: t.lane, pc: t.pc.unwrap_or(pc) }),
            detail: match env.stage {
                Some(s) => format!("{} ({})", t.detail, s.who(self.number, t.lane)),
                None => t.detail.clone(),
            },
            other: t.other.map(|o| self.place(env, o)),
        })
    }

    /// What the block reported without stopping.
    pub fn notes(&self, env: &Env<'_>) -> impl Iterator<Item = (NoteKey, Note)> {
        self.st.notes.iter().map(|(&key, (warp, trap, times))| {
            (key, Note { what: *self.fault(env, *warp, key.0, trap), times: *times })
        })
    }

    fn deadlock(&self, env: &Env<'_>) -> Stop {
        let waits = |i: usize| match self.st.warp_states[i] {
            WarpState::Barrier(id) => Some((i, id)),
            _ => None,
        };
        let mut waiting = (0..self.warps.len()).filter_map(waits);
        let Some((i, id)) = waiting.next() else { return Stop::Conflict };
        let b = &self.st.barriers[id as usize & 15];
        let detail = match b.expected {
            Some(n) => {
                format!("barrier {id} waits for {n} threads, {} arrived, and no warp can run", b.arrived)
            }
            None => format!("barrier {id} waits for all threads, {} arrived, and no warp can run", b.arrived),
        };
        let mut trap = Trap::new(FaultKind::Deadlock, first_lane(&self.warps[i]), detail);
        if let Some((j, _)) = waiting.find(|&(_, other)| other != id) {
            let w = &self.warps[j];
            trap = trap.with_other(Other { block: None, warp: w.index, lane: first_lane(w), pc: w.at });
        }
        Stop::Fault(self.fault(env, i as u32, self.warps[i].at, &trap))
    }
}

/// Where a block lies in the grid.
fn coordinates(env: &Env<'_>, number: u64) -> [u32; 3] {
    let [gx, gy] = [env.shape.grid[0], env.shape.grid[1]].map(u64::from);
    [number % gx, number / gx % gy, number / gx / gy].map(|v| v as u32)
}

/// Why a block stopped before its end.
#[derive(Debug)]
pub(super) enum Stop {
    Fault(Box<Fault>),
    /// Another block touches the same memory.
    Conflict,
}

pub(super) fn first_lane(w: &Warp) -> usize {
    lanes(if w.active != 0 { w.active } else { w.live }).next().unwrap_or(0)
}

/// Runs a warp until it waits, exits, or the block has executed `end` instructions. A fault is at [`Warp::at`].
fn run_warp(
    env: &Env<'_>,
    st: &mut State,
    w: &mut Warp,
    end: u64,
    trace: &mut Trace<'_>,
) -> Result<(), Trap> {
    let observed = trace.is_some() || env.profile;
    while st.steps < end {
        let pc = w.pc;
        w.at = pc;
        let Some(inst) = env.bound.launch.program.place(pc).and_then(|at| env.bound.insts.get(at)) else {
            return Err(bad_pc(w, pc, env.bound.launch.program.alignment()));
        };
        w.pc = pc.wrapping_add(u32::from(inst.bytes));
        if matches!(inst.body, Body::Sched) {
            continue;
        }
        let mut mask = w.active & w.pred(inst.guard);
        if inst.quad != 15 {
            mask &= Mask::from(inst.quad) * 0x1111_1111;
        }
        st.steps += 1;
        st.thread_steps += u64::from(mask.count_ones());
        if env.checks.init {
            while let Err(trap) = undef::before(env, &mut st.scratch, w, inst, pc, mask) {
                if !st.goes_on(env, w, &trap) {
                    return Err(trap);
                }
                undef::forgive(w, trap.0.lane);
            }
        }
        let depth = w.stack.len();
        if mask != 0 || matches!(inst.body, Body::Illegal(_)) {
            if !exec::execute(w, &env.bound.pool, &mut st.scratch, inst, mask) {
                going_on::special(env, st, w, inst, pc, mask)?;
            }
            if inst.sync {
                w.wait(Wait::Ssy, mask & w.active)?;
            }
        }
        if observed {
            observe(env, st, w, inst, pc, mask, depth, trace);
        }
        if w.active == 0 {
            w.unwind()?;
        }
        if w.state == WarpState::Done {
            st.settle_reads(env, w)?;
            st.warp_states[w.index as usize] = WarpState::Done;
            st.warp_exits();
        }
        if st.warp_states[w.index as usize] != WarpState::Ready {
            return Ok(());
        }
    }
    Ok(())
}

#[allow(clippy::too_many_arguments)]
fn observe(
    env: &Env<'_>,
    st: &mut State,
    w: &mut Warp,
    inst: &Inst,
    pc: u32,
    mask: Mask,
    depth: usize,
    trace: &mut Trace<'_>,
) {
    if let (Some(profile), Some(place)) = (&mut st.profile, env.bound.launch.program.place(pc)) {
        let p = &mut profile[place];
        p.issues += 1;
        p.threads += u64::from(mask.count_ones());
        let branch = matches!(inst.body, Body::Flow(Flow::Bra { .. } | Flow::Brx { .. }));
        p.stack = p.stack.max(w.stack.len() as u64);
        p.divergences += u64::from(branch && w.stack.len() > depth);
        p.transactions += std::mem::take(&mut st.transactions);
        p.bank_conflicts += std::mem::take(&mut st.conflicts);
    }
    if let Some(sink) = trace {
        sink(&super::trace::line(env, st, w, inst, pc, mask));
    }
}

fn bad_pc(w: &Warp, pc: u32, alignment: u32) -> Trap {
    let lane = first_lane(w);
    if !pc.is_multiple_of(alignment) {
        let detail = format!("code address {pc:#x} is not a multiple of {alignment}");
        Trap::new(FaultKind::Misaligned, lane, detail)
    } else {
        Trap::new(FaultKind::OutOfBounds, lane, format!("code address {pc:#x} is outside the code"))
    }
}

/// Everything that is not confined to registers.
pub(super) fn special(
    env: &Env<'_>,
    st: &mut State,
    w: &mut Warp,
    inst: &Inst,
    pc: u32,
    mask: Mask,
) -> Result<(), Trap> {
    let lane = lanes(mask).next().unwrap_or(0);
    match &inst.body {
        Body::Load { space, width, dst, addr } => {
            if env.stage.is_some() {
                return stage::load(env, st, w, mask, (*space, *width), *dst, addr);
            }
            access::load(env, st, w, mask, (*space, *width), *dst, addr)
        }
        Body::Store { space, width, src, addr } => {
            let mask = match space {
                Space::Generic => stage::stores(env, st, w, mask)?,
                _ => stage::declares_memory(env, lane).map(|()| mask)?,
            };
            access::store(env, st, w, mask, (*space, *width), *src, addr)
        }
        Body::LoadConst { bank, width, dst, base, offset, indexed } => {
            let load = |w: &mut Warp, mask| {
                access::load_const(env, w, mask, (*bank, *width), *dst, (*base, *offset, *indexed))
            };
            if env.stage.is_some() { stage::for_others(st.ghosts, w, mask, load) } else { load(w, mask) }
        }
        Body::LoadLock { width, dst, pdst, addr } => {
            access::load_lock(env, st, w, mask, *width, (*dst, *pdst), addr)
        }
        Body::StoreUnlock { width, src, pdst, addr, cond } => {
            access::store_unlock(env, st, w, mask, (*width, *cond), (*src, *pdst), addr)
        }
        Body::Atom { op, ty, dst, addr, src } => {
            let mask = stage::stores(env, st, w, mask)?;
            access::atomic(env, st, w, mask, (*op, *ty), (*dst, *src), addr)
        }
        Body::S2r { dst, reg } => {
            let mut row = Row::ZERO;
            for (l, v) in row.0.iter_mut().enumerate() {
                *v = special_register(env, st, w, *reg, l);
            }
            if *dst != super::inst::SINK {
                w.regs[*dst as usize].blend(mask, &row);
            }
            Ok(())
        }
        Body::Bar { mode, id, count, pred, dst, pdst } => {
            w.awaits = Some((*dst, *pdst, mask));
            st.barrier(env, w, pc, mask, *mode, (*id, *count), *pred)?;
            if st.warp_states[w.index as usize] == WarpState::Ready {
                w.reduced(st.reductions[w.index as usize]);
            }
            Ok(())
        }
        Body::Flow(f) => flow::execute(env, st, w, *f, mask),
        Body::Trap => Err(Trap::new(FaultKind::Trap, lane, "BPT.TRAP")),
        Body::Illegal(why) => Err(Trap::new(FaultKind::IllegalInstruction, lane, *why)),
        Body::OutOfBounds(why) => Err(Trap::new(FaultKind::OutOfBounds, lane, &**why)),
        Body::Fence(scope) => {
            st.fence(w, *scope);
            Ok(())
        }
        Body::Tex(op) => texture::execute(env, st, w, op, mask),
        Body::Surface(op) => {
            let mask = if op.access.writes() { stage::stores(env, st, w, mask)? } else { mask };
            surface::execute(env, st, w, op, mask)
        }
        Body::Stage(op) => stage::execute(env, st, w, op, mask),
        _ => Ok(()),
    }
}

/// The value of a special register. Numbers: envytools and nvdisasm.
fn special_register(env: &Env<'_>, st: &State, w: &Warp, reg: u8, lane: usize) -> u32 {
    let l = env.bound.launch;
    let linear = w.index * LANES as u32 + lane as u32;
    let [bx, by, bz] = env.shape.block;
    let tid = [linear % bx, linear / bx % by, linear / bx / by];
    let one = 1u32 << lane;
    let clock = l.clock.wrapping_add(st.steps);
    if let Some(value) = env.stage.and_then(|s| s.special_register(st.number.into(), st.ghosts, reg, lane)) {
        return value;
    }
    match reg {
        special::LANEID => lane as u32,
        special::CLOCK | special::CLOCKLO | special::GLOBALTIMERLO => clock as u32,
        special::CLOCKHI | special::GLOBALTIMERHI => (clock >> 32) as u32,
        // One multiprocessor with 64 warps.
        special::VIRTCFG => 1 << 20 | 64 << 8,
        special::VIRTID => (w.index & 63) << 8,
        special::TID => tid[0] & 0xffff | (tid[1] & 0x3ff) << 16 | tid[2] << 26,
        special::TID_X..=special::TID_Z => tid[(reg - special::TID_X) as usize],
        special::CTAID_X..=special::CTAID_Z => st.ctaid[(reg - special::CTAID_X) as usize],
        special::NTID => bx & 0xffff | (by & 0x3ff) << 16 | bz << 26,
        special::NTID_X..=special::NTID_Z => env.shape.block[(reg - special::NTID_X) as usize],
        special::GRIDID => l.grid_id,
        special::NCTAID_X..=special::NCTAID_Z => env.shape.grid[(reg - special::NCTAID_X) as usize],
        special::SWINLO => l.shared_window,
        special::SMEMSZ => env.shape.shared_bytes,
        special::LWINLO => l.local_window,
        special::SWINSZ | special::SMEMBANKS | special::LWINSZ => window::BYTES,
        special::EQMASK => one,
        special::LTMASK => one - 1,
        special::LEMASK => one | (one - 1),
        special::GTMASK => !(one | (one - 1)),
        special::GEMASK => !(one - 1),
        _ => 0,
    }
}

impl State {
    #[allow(clippy::too_many_arguments)]
    fn barrier(
        &mut self,
        env: &Env<'_>,
        w: &mut Warp,
        pc: u32,
        mask: Mask,
        mode: BarMode,
        (id, count): (Src, Option<Src>),
        pred: PSrc,
    ) -> Result<(), Trap> {
        let lane = lanes(mask).next().unwrap_or(0);
        let value = |s: Src| s.lane(&w.regs, &env.bound.pool, lane);
        let id_value = value(id);
        if id_value > 15 {
            let detail = format!("barrier {id_value}: index out of range (0 to 15)");
            return Err(Trap::new(FaultKind::IllegalInstruction, lane, detail));
        }
        let expected = count.map(value).filter(|&n| n != 0);
        if expected.is_some_and(|n| !n.is_multiple_of(LANES as u32)) {
            let detail = format!("{} threads, which is not a multiple of 32", expected.unwrap_or(0));
            return Err(Trap::new(FaultKind::DivergentBarrier, lane, detail));
        }
        let b = &mut self.barriers[id_value as usize];
        if env.checks.sync {
            let differs = |s: Src| lanes(mask).find(|&l| s.lane(&w.regs, &env.bound.pool, l) != value(s));
            if let Some(l) = differs(id).or(count.and_then(differs)) {
                return Err(Trap::new(
                    FaultKind::DivergentBarrier,
                    l,
                    "threads of one warp name different barriers",
                ));
            }
            if mask != w.live {
                let missing = w.live & !mask;
                let detail = format!(
                    "{} of the warp's {} threads arrive at barrier {id_value}",
                    mask.count_ones(),
                    w.live.count_ones()
                );
                let other = lanes(missing).next().unwrap_or(0);
                let pc = w.stack.iter().rev().find(|e| e.mask >> other & 1 != 0).map_or(pc, |e| e.pc);
                let other = Other { block: None, warp: w.index, lane: other, pc };
                return Err(Trap::new(FaultKind::DivergentBarrier, lane, detail).with_other(other));
            }
            if b.arrived != 0 && b.expected != expected {
                let detail = format!("barrier {id_value} is used with different thread counts");
                let trap = Trap::new(FaultKind::DivergentBarrier, lane, detail);
                return Err(match b.first {
                    Some(other) => trap.with_other(other),
                    None => trap,
                });
            }
        }
        self.settle_reads(env, w)?;
        let b = &mut self.barriers[id_value as usize];
        let votes = w.pred(pred) & mask;
        b.arrived += LANES as u32;
        b.expected = expected;
        b.popc += votes.count_ones();
        b.any |= votes != 0;
        b.some_false |= votes != mask;
        b.first.get_or_insert(Other { block: None, warp: w.index, lane, pc });
        if let Some(races) = self.shadow.as_mut().and_then(|s| s.races.as_mut()) {
            races.arrive(w.index, &mut b.clock);
        }
        if mode != BarMode::Arrive {
            b.mode = Some(mode);
            b.waiting.push(w.index);
            self.warp_states[w.index as usize] = WarpState::Barrier(id_value as u8);
        }
        self.complete(id_value as usize);
        Ok(())
    }

    /// Releases a barrier's warps if enough have arrived.
    fn complete(&mut self, id: usize) {
        let live = self.warp_states.iter().filter(|s| **s != WarpState::Done).count() as u32 * LANES as u32;
        let b = &mut self.barriers[id];
        if b.arrived == 0 || b.arrived < b.expected.unwrap_or(live) {
            return;
        }
        let b = std::mem::take(b);
        let result = match b.mode {
            Some(BarMode::Popc) => b.popc,
            Some(BarMode::And) => u32::from(!b.some_false),
            _ => u32::from(b.any),
        };
        for &w in &b.waiting {
            self.warp_states[w as usize] = WarpState::Ready;
            self.reductions[w as usize] = result;
            if let Some(races) = self.shadow.as_mut().and_then(|s| s.races.as_mut()) {
                races.leave(w, &b.clock);
            }
        }
    }

    /// A warp has exited: barriers for all threads no longer wait for it.
    fn warp_exits(&mut self) {
        for id in 0..self.barriers.len() {
            if self.barriers[id].expected.is_none() && self.barriers[id].arrived != 0 {
                self.complete(id);
            }
        }
    }
}
