//! How long a kernel's blocks take on one multiprocessor of a Kepler card: a model that is played
//! with what their warps executed.
//!
//! Each scheduler issues, in every cycle, one instruction or one pair of one of its warps, in turn
//! among those that are ready. A warp is ready when the count of its last instruction is over, what it
//! reads has come from memory, and no other warp occupies the unit that it needs. As many blocks are
//! resident as registers, shared memory and threads allow; the next one begins where one has ended.
//!
//! What is left out: caches (all requests hit the nearest one of their kind), the bandwidth of memory
//! beyond the passes of a request, fetches of instructions, and other multiprocessors. Figures compare
//! two codes for one launch; they are not a promise of a card's time. Code that ptxas 11.8 makes at -O3
//! takes 0.82 of the cycles of what it makes at -O1 by this model (geometric mean of 16 kernels: tiles,
//! reductions, gathers, hashes, divisions, doubles), and in none of them more than 1.01.

mod units;

use crate::check::{Schedule, Unreadable};
use nvir_base::Chip;
use nvir_isa::Op;
use nvir_isa::fetch::Run;
use nvir_isa::{MInst, Operand};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use units::{Answer, PARTS, Shared};

/// Time, in cycles from the beginning of the launch.
type Cycle = u64;

/// What is known of an instruction before it is executed.
struct Line {
    /// Cycles to the next one.
    count: u32,
    /// Whether the next one issues with it.
    is_dual: bool,
    /// The unit that it occupies, and for how many [`PARTS`] of a cycle.
    unit: Option<usize>,
    parts: u64,
    answer: Answer,
    waits_for_block: bool,
    /// TEXDEPBAR: how many of the last texture instructions it does not wait for.
    textures: Option<usize>,
    /// What it reads and writes, as [`nvir_isa::effects::Resource::index`]; in the table of all.
    touches: std::ops::Range<u32>,
    /// Where among them what it writes begins.
    writes: u32,
}

/// A warp of a resident block.
#[derive(Default)]
struct Warp {
    runs: Vec<Run>,
    /// The run that it is in, the instruction, and the last of the run.
    run: usize,
    at: usize,
    last: usize,
    /// From when on its next instruction may issue.
    ready: Cycle,
    state: State,
    /// What has not come from memory: until when.
    pending: Vec<(u16, Cycle)>,
    /// The same of texture instructions, in their order.
    textures: VecDeque<Cycle>,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Ended,
    Runs,
    AtBarrier,
}

/// The model of one launch.
pub struct Multiprocessor {
    chip: Chip,
    lines: Vec<Line>,
    resources: Vec<u16>,
    /// The number of the instruction at an address.
    index: FxHashMap<u32, usize>,
    /// Warps by place, those of a block side by side: every fourth is one scheduler's.
    warps: Vec<Warp>,
    warps_of_block: usize,
    /// By scheduler, the warp that issued last.
    turns: Vec<usize>,
    /// From when on units are free, in [`PARTS`] of cycles.
    units: [u64; Shared::COUNT],
    now: Cycle,
    /// The cycle from which everything has ended.
    end: Cycle,
}

impl Multiprocessor {
    /// One for blocks of `warps` warps, so many of which are resident at a time (at least one of each), that execute this code: addresses, and the words
    /// that follow each other from there.
    ///
    /// # Errors
    /// A chip without issue control; words that are no code of it.
    pub fn new<'w>(
        chip: Chip,
        code: impl IntoIterator<Item = (u32, &'w [u64])>,
        warps: u32,
        blocks: u32,
    ) -> Result<Multiprocessor, Unreadable> {
        let mut m = Multiprocessor {
            chip,
            lines: Vec::new(),
            resources: Vec::new(),
            index: FxHashMap::default(),
            warps: Vec::new(),
            warps_of_block: warps.max(1) as usize,
            turns: vec![0; chip.schedulers() as usize],
            units: [0; Shared::COUNT],
            now: 0,
            end: 0,
        };
        m.warps.resize_with(m.warps_of_block * blocks.max(1) as usize, Warp::default);
        for (start, words) in code {
            let schedule = Schedule::read(chip, words)?;
            for (n, issued) in schedule.code.iter().enumerate() {
                m.index.insert(start + issued.pc, m.lines.len());
                m.add(&schedule, n, &issued.inst);
            }
        }
        Ok(m)
    }

    fn add(&mut self, schedule: &Schedule, n: usize, inst: &MInst) {
        let first = self.resources.len() as u32;
        self.resources.extend_from_slice(schedule.reads(n));
        let writes = self.resources.len() as u32;
        self.resources.extend_from_slice(schedule.writes(n));
        let unit = Shared::of(inst);
        let textures = match inst.operands.first() {
            Some(&Operand::Imm { bits, .. }) if inst.op == Op::Texdepbar => Some(bits as usize),
            _ => None,
        };
        self.lines.push(Line {
            count: schedule.cycles_of(n),
            is_dual: schedule.code[n].is_dual() && n + 1 < schedule.code.len(),
            unit: unit.index(),
            parts: unit.parts(self.chip, inst),
            answer: Answer::of(inst),
            waits_for_block: units::waits_for_block(inst),
            textures,
            touches: first..self.resources.len() as u32,
            writes,
        });
    }

    /// A block begins as soon as there is room for it, after all that were given before. `warps`: what each of its warps executed; what is at addresses
    /// outside the code is left out.
    pub fn block(&mut self, warps: Vec<Vec<Run>>) {
        let first = loop {
            if let Some(first) = self.room() {
                break first;
            }
            self.advance();
        };
        let places = first..first + self.warps_of_block;
        let begin = self.warps[places.clone()].iter().fold(self.now, |at, w| at.max(w.ready));
        for (place, runs) in places.zip(warps) {
            let mut warp = Warp { runs, ready: begin, state: State::Runs, ..Warp::default() };
            if !self.enter(&mut warp, 0) {
                warp.state = State::Ended;
            }
            self.warps[place] = warp;
        }
    }

    /// Plays to the end; the cycles that the launch took.
    pub fn finish(&mut self) -> u64 {
        while self.warps.iter().any(|w| w.state != State::Ended) {
            self.advance();
        }
        self.end
    }

    /// The first place of a block that has ended.
    fn room(&self) -> Option<usize> {
        let mut blocks = self.warps.chunks(self.warps_of_block);
        let ended = |block: &[Warp]| block.iter().all(|w| w.state == State::Ended);
        blocks.position(ended).map(|n| n * self.warps_of_block)
    }

    /// Puts a warp at the beginning of a run, or of the first one behind it that is in the code; whether there is one.
    fn enter(&self, warp: &mut Warp, run: usize) -> bool {
        for (n, run) in warp.runs.iter().enumerate().skip(run) {
            if let (Some(&at), Some(&last)) = (self.index.get(&run.first), self.index.get(&run.last)) {
                (warp.run, warp.at, warp.last) = (n, at, last.max(at));
                return true;
            }
        }
        false
    }

    /// Plays one cycle in which something issues.
    fn advance(&mut self) {
        let mut next = Cycle::MAX;
        let mut has_issued = false;
        let schedulers = self.turns.len();
        for s in 0..schedulers {
            let places = self.warps.len().saturating_sub(s).div_ceil(schedulers);
            let behind = self.turns[s] + 1;
            let chosen = (0..places).map(|n| (behind + n) % places).find(|&n| {
                let from = self.may_issue(s + n * schedulers);
                next = next.min(from);
                from <= self.now
            });
            if let Some(n) = chosen {
                self.turns[s] = n;
                self.issue(s + n * schedulers);
                has_issued = true;
            }
        }
        if has_issued {
            self.now += 1;
        } else if next != Cycle::MAX {
            self.now = next;
        } else {
            self.release_all();
        }
    }

    /// The cycle from which a warp may issue, as far as it is known.
    fn may_issue(&self, place: usize) -> Cycle {
        let w = &self.warps[place];
        if w.state != State::Runs {
            return Cycle::MAX;
        }
        let free = |at: usize| self.lines[at].unit.map_or(0, |u| self.units[u] / PARTS);
        let second = if self.is_pair(w) { free(w.at + 1) } else { 0 };
        w.ready.max(free(w.at)).max(second)
    }

    /// Whether a warp's next two instructions issue together.
    fn is_pair(&self, w: &Warp) -> bool {
        w.at < w.last && self.lines[w.at].is_dual
    }

    /// A warp issues its next instruction, or pair.
    fn issue(&mut self, place: usize) {
        let mut w = std::mem::take(&mut self.warps[place]);
        let mut waits = false;
        for is_second in [false, true].into_iter().take(1 + usize::from(self.is_pair(&w))) {
            let line = &self.lines[w.at];
            let passes = if w.at == w.last { w.runs[w.run].passes.max(1).into() } else { 1 };
            if let Some(unit) = line.unit {
                self.units[unit] = self.units[unit].max(self.now * PARTS) + line.parts * passes;
            }
            w.ready = self.now + Cycle::from(line.count.max(u32::from(!line.is_dual || is_second)));
            match line.answer {
                Answer::Counted => {}
                Answer::Late(cycles) => {
                    let written = &self.resources[line.writes as usize..line.touches.end as usize];
                    w.pending.extend(written.iter().map(|&r| (r, self.now + cycles + passes - 1)));
                }
                Answer::Texture(cycles) => w.textures.push_back(self.now + cycles),
            }
            waits |= line.waits_for_block;
            if w.at < w.last {
                w.at += 1;
            } else {
                let next = w.run + 1;
                if !self.enter(&mut w, next) {
                    w.state = State::Ended;
                    self.end = self.end.max(w.ready);
                    break;
                }
            }
        }
        if w.state == State::Runs {
            self.wait_for_memory(&mut w);
            w.state = if waits { State::AtBarrier } else { State::Runs };
        }
        self.warps[place] = w;
        self.release(place / self.warps_of_block);
    }

    /// A warp's next instruction, or pair, waits for what it touches.
    fn wait_for_memory(&self, w: &mut Warp) {
        let now = self.now;
        w.pending.retain(|&(_, until)| until > now);
        let last = w.at + usize::from(self.is_pair(w));
        for line in &self.lines[w.at..=last] {
            let touched = &self.resources[line.touches.start as usize..line.touches.end as usize];
            let late = w.pending.iter().filter(|(r, _)| touched.contains(r)).map(|&(_, until)| until);
            w.ready = late.fold(w.ready, Cycle::max);
            if let Some(left) = line.textures {
                let waited = w.textures.len().saturating_sub(left);
                w.ready = w.textures.drain(..waited).fold(w.ready, Cycle::max);
            }
        }
    }

    /// If all warps of a block that go on are at a barrier, they leave it.
    fn release(&mut self, block: usize) {
        let first = block * self.warps_of_block;
        let warps = &mut self.warps[first..first + self.warps_of_block];
        if warps.iter().any(|w| w.state == State::Runs) {
            return;
        }
        for w in warps.iter_mut().filter(|w| w.state == State::AtBarrier) {
            (w.state, w.ready) = (State::Runs, w.ready.max(self.now + 1));
        }
    }

    /// Where nobody can go on, barriers are for a part of the block: their warps leave them.
    fn release_all(&mut self) {
        for w in self.warps.iter_mut().filter(|w| w.state == State::AtBarrier) {
            w.state = State::Runs;
        }
    }
}

#[cfg(test)]
mod tests;
