//! A block: its warps in turn.
//!
//! Each runs until it waits, exits, or has used its slice; so the order is the same in every run. Slices
//! have different lengths, by a fixed sequence: warps that watch each other's memory would else see it at the same
//! point of a loop for ever.

use crate::check::race::Watched;
use crate::check::shadow::Shadow;
use crate::cx::{Cx, Env, Trace};
use crate::engine::{self, Exec, Yield};
use crate::fault::{Fault, FaultKind, Note, Place};
use crate::stage::Io;
use crate::state::block::{BARRIERS, Barrier, BlockState, Executed};
use crate::state::lanes::{LANES, LaneVec, Mask, Scratch};
use crate::state::warp::{State as WarpState, Warp};
use crate::stats::PcProfile;
use crate::trap::{NoteKey, Other, Trap};
use crate::units::texture::descriptors::Seen;
use rustc_hash::FxHashMap;

/// Instructions a warp executes at least before the next one's turn.
const SLICE: u64 = 128;

/// What a slice can have on top, less one.
const SLICE_VARIES: u64 = 1023;

/// Where the sequence of slices begins.
const FIRST_SLICE: u64 = 0x9e37_79b9_7f4a_7c15;

/// How a slice of a block ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Progress {
    Done,
    Running,
}

/// A block in execution.
pub(crate) struct Block {
    /// In the grid.
    pub number: u64,
    warps: Vec<Warp>,
    pub st: BlockState,
    order: Order,
}

impl Block {
    pub(crate) fn new(env: &Env<'_>, number: u64) -> Block {
        let l = env.bound.launch;
        let threads = env.shape.block.iter().product::<u32>();
        let count = (threads as usize).div_ceil(LANES);
        let warps = (0..count as u32)
            .map(|i| Warp::new(i, live(env, number, i), l.entry, l.gprs.max(1) as usize, env.checks.init));
        Block {
            number,
            warps: warps.collect(),
            st: BlockState {
                ctaid: coordinates(env, number),
                number: number as u32,
                shared: vec![0; (env.shape.shared_bytes as usize).div_ceil(4)],
                locks: FxHashMap::default(),
                last_buffer: 0,
                slots: Vec::new(),
                buffer_hints: Default::default(),
                steps: 0,
                thread_steps: 0,
                shadow: shadow(env, number, count),
                profile: env.profile.then(|| vec![PcProfile::default(); env.bound.insts.len()]),
                executed: Executed::new(if env.timeline { count } else { 0 }),
                notes: FxHashMap::default(),
                faults: [0; FaultKind::ALL.len()],
                transactions: 0,
                conflicts: 0,
                warp_states: vec![WarpState::Ready; count],
                warps_left: count as u32,
                has_barriers: l.program.code.has_barriers,
                reductions: vec![0; count],
                barriers: vec![Barrier::default(); BARRIERS],
                textures: Seen::default(),
                scratch: Scratch::default(),
                helpers: env.stage.map_or(0, |s| s.helpers(number)),
                stage: env.stage.map(|s| Io::new(s, number)),
            },
            order: Order::START,
        }
    }

    /// Makes a block of another launch of a graphics stage one of this, whose [`Block::restart`] then gives its warps; none if they
    /// have other registers.
    pub(crate) fn reuse(mut self: Box<Block>, env: &Env<'_>) -> Option<Box<Block>> {
        let gprs = env.bound.launch.gprs.max(1) as usize;
        let [w] = &mut self.warps[..] else { return None };
        if w.regs.len() != gprs || w.undef.is_some() != env.checks.init {
            return None;
        }
        w.regs.fill(LaneVec::ZERO);
        let st = &mut self.st;
        st.has_barriers = env.bound.launch.program.code.has_barriers;
        st.last_buffer = 0;
        st.slots.clear();
        st.profile = env.profile.then(|| vec![PcProfile::default(); env.bound.insts.len()]);
        st.notes.clear();
        st.textures.clear();
        Some(self)
    }

    /// Makes of a block another one of the same launch, which has what [`Block::new`] would give it. Notes and the profile go on.
    pub(crate) fn restart(&mut self, env: &Env<'_>, number: u64) {
        let launch = env.bound.launch;
        let code = &launch.program.code;
        let all = std::slice::from_ref(&code.named);
        // A stage's results are what its warps leave in registers; behind a fault, a lane goes on without what it has not loaded.
        let by_code = env.stage.is_none() && env.faults <= 1;
        let few = if by_code { code.cleared(launch.entry) } else { all };
        for w in &mut self.warps {
            let live = live(env, number, w.index);
            if cfg!(debug_assertions) {
                // Where the code does read one that is not cleared, it shall show.
                let there = w.regs.len();
                w.regs[..code.named.end.min(there)].fill(LaneVec::splat(0xdead_beef));
            }
            w.restart(live, launch.entry, if live == Mask::MAX { few } else { all });
        }
        (self.number, self.order) = (number, Order::START);
        let st = &mut self.st;
        st.ctaid = coordinates(env, number);
        st.number = number as u32;
        if !st.shared.is_empty() {
            st.shared.fill(0);
        }
        st.locks.clear();
        (st.steps, st.thread_steps) = (0, 0);
        st.shadow = shadow(env, number, self.warps.len());
        if env.profile && st.profile.is_none() {
            st.profile = Some(vec![PcProfile::default(); env.bound.insts.len()]);
        }
        if env.timeline {
            st.executed = Executed::new(st.warp_states.len());
        }
        st.faults = [0; FaultKind::ALL.len()];
        st.warp_states.fill(WarpState::Ready);
        st.warps_left = st.warp_states.len() as u32;
        if st.has_barriers {
            st.reductions.fill(0);
            for barrier in st.barriers.iter_mut().filter(|b| b.arrived != 0) {
                *barrier = Barrier::default();
            }
        }
        if let Some(context) = env.stage {
            st.helpers = context.helpers(number);
            if let Some(io) = &mut st.stage {
                io.begin(context, number);
            }
        }
    }

    /// Runs until the block is done or has executed about `quantum` instructions, at most up to `limit` since its start.
    pub(crate) fn run(
        &mut self,
        env: &Env<'_>,
        exec: Option<&dyn Exec>,
        quantum: u64,
        limit: u64,
        trace: &mut Trace<'_>,
    ) -> Result<Progress, Stop> {
        let end = self.st.steps.saturating_add(quantum);
        loop {
            let mut turns = Turns { warps: &mut self.warps, order: self.order, turn: None, end, limit };
            let mut cx = Cx { env, block: &mut self.st, trace: reborrow(trace) };
            let begins = turns.next(&mut cx);
            let ended = if begins { engine::run(exec, &mut cx, &mut turns) } else { Ok(Yield::Slice) };
            self.order = turns.order;
            let Some((i, _)) = turns.turn else { break };
            if let Err(trap) = ended {
                if trap.0.conflict {
                    return Err(Stop::Conflict);
                }
                return Err(Stop::Fault(self.fault(env, i as u32, self.warps[i].at, &trap)));
            }
            if let Some(races) = self.st.shadow.as_mut().and_then(|s| s.races.as_mut()) {
                for (key, trap) in races.take_same_values() {
                    self.st.notes.entry(key).or_insert((i as u32, trap, 0)).2 += 1;
                }
            }
            if self.st.steps >= limit && self.st.warp_states[i] == WarpState::Ready {
                let trap = Trap::new(
                    FaultKind::StepLimit,
                    self.warps[i].first_lane(),
                    "the launch's limit is reached",
                );
                return Err(Stop::Fault(self.fault(env, i as u32, self.warps[i].pc, &trap)));
            }
        }
        match self.st.warps_left {
            _ if self.st.steps >= end => Ok(Progress::Running),
            0 => Ok(Progress::Done),
            _ => Err(self.deadlock(env)),
        }
    }

    /// Exchanges the record of who accessed global memory, which goes from block to block.
    pub(crate) fn exchange_global(&mut self, global: &mut Option<Box<Watched>>) {
        if let Some(races) = self.st.shadow.as_mut().and_then(|s| s.races.as_mut()) {
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
                Some(s) => format!("{} ({})", t.detail, s.describe(self.number, t.lane)),
                None => t.detail.clone(),
            },
            other: t.other.map(|o| self.place(env, o)),
        })
    }

    /// What the block reported without stopping.
    pub(crate) fn notes(&self, env: &Env<'_>) -> impl Iterator<Item = (NoteKey, Note)> {
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
        let expected = match b.expected {
            0 => "all".to_string(),
            n => n.to_string(),
        };
        let detail =
            format!("barrier {id} waits for {expected} threads, {} arrived, and no warp can run", b.arrived);
        let mut trap = Trap::new(FaultKind::Deadlock, self.warps[i].first_lane(), detail);
        if let Some((j, _)) = waiting.find(|&(_, other)| other != id) {
            let w = &self.warps[j];
            trap = trap.with_other(Other { block: None, warp: w.index, lane: w.first_lane(), pc: w.at });
        }
        Stop::Fault(self.fault(env, i as u32, self.warps[i].at, &trap))
    }
}

/// Whose turn is next, and for how long.
#[derive(Clone, Copy, Debug)]
struct Order {
    next: usize,
    /// The state of the sequence of slices.
    slices: u64,
}

impl Order {
    const START: Order = Order { next: 0, slices: FIRST_SLICE };
}

/// The turns of a block's warps. An executor may go on to the next one by itself.
pub struct Turns<'b> {
    warps: &'b mut [Warp],
    order: Order,
    /// Whose turn it is, and how many instructions the block has executed when its slice is over.
    turn: Option<(usize, u64)>,
    /// Instructions of the block after which others have their turns, and those that it may execute at all.
    end: u64,
    limit: u64,
}

impl<'b> Turns<'b> {
    /// One warp's, which no other follows.
    pub fn one(warp: &'b mut Warp, until: u64) -> Turns<'b> {
        let warps = std::slice::from_mut(warp);
        Turns { warps, order: Order::START, turn: Some((0, until)), end: 0, limit: u64::MAX }
    }

    /// The warp whose turn it is, and how many instructions the block has executed when its slice is over.
    #[inline]
    pub fn current(&mut self) -> (&mut Warp, u64) {
        let (warp, until) = self.turn.unwrap_or_default();
        (&mut self.warps[warp], until)
    }

    /// A turn is over: whether another one begins. None does if no warp can run, or if the block is to be looked at.
    pub fn next(&mut self, cx: &mut Cx<'_>) -> bool {
        let st = &mut *cx.block;
        let is_ready = |warp: usize| st.warp_states[warp] == WarpState::Ready;
        let stops = st.steps >= self.limit && self.turn.is_some_and(|(warp, _)| is_ready(warp));
        if stops || st.steps >= self.end || st.shadow.is_some() && self.turn.is_some() {
            return false;
        }
        let (count, Order { next, slices }) = (self.warps.len(), &mut self.order);
        for _ in 0..count {
            let warp = *next;
            *next = if warp + 1 == count { 0 } else { warp + 1 };
            if !is_ready(warp) {
                continue;
            }
            self.warps[warp].reduced(st.reductions[warp]);
            // Marsaglia's xorshift.
            *slices ^= *slices << 13;
            *slices ^= *slices >> 7;
            *slices ^= *slices << 17;
            self.turn = Some((warp, (st.steps + SLICE + (*slices & SLICE_VARIES)).min(self.limit)));
            return true;
        }
        false
    }
}

/// The threads that a warp of a block has.
fn live(env: &Env<'_>, number: u64, warp: u32) -> Mask {
    if let Some(context) = env.stage {
        return context.live(number);
    }
    let threads = env.shape.block.iter().product::<u32>();
    match threads - warp * LANES as u32 {
        left if left >= LANES as u32 => Mask::MAX,
        left => (1 << left) - 1,
    }
}

/// What checkers need of a block.
fn shadow(env: &Env<'_>, number: u64, warps: usize) -> Option<Box<Shadow>> {
    Shadow::new(env.checks, env.shape.grid, env.shape.shared_bytes, number, warps)
}

/// Where a block lies in the grid.
fn coordinates(env: &Env<'_>, number: u64) -> [u32; 3] {
    let [gx, gy] = [env.shape.grid[0], env.shape.grid[1]].map(u64::from);
    [number % gx, number / gx % gy, number / gx / gy].map(|v| v as u32)
}

/// Why a block stopped before its end.
#[derive(Debug)]
pub(crate) enum Stop {
    Fault(Box<Fault>),
    /// Another block touches the same memory.
    Conflict,
}

/// The same sink for a shorter time.
fn reborrow<'a>(trace: &'a mut Trace<'_>) -> Trace<'a> {
    match trace {
        Some(sink) => Some(&mut **sink),
        None => None,
    }
}
