//! What has to be waited for, along straight code.

use super::Schedule;
use nvir_isa::effects::Resource;
use nvir_isa::{Op, latency};

/// Why an instruction waits for an earlier one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Hazard {
    /// It reads what that writes.
    Read,
    /// It writes what that writes.
    Overwrite,
    /// It writes what that still keeps as a source.
    Held,
}

/// Something that an instruction waits for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    /// The first cycle at which it may issue.
    pub until: u32,
    /// The number of the earlier instruction.
    pub by: usize,
    pub what: Resource,
    pub hazard: Hazard,
    /// Whether the hardware waits, too: the cycle is far beyond what counts can say.
    pub scoreboard: bool,
}

/// The last instruction that touched a resource, and its cycle.
#[derive(Clone, Copy, Default)]
struct Last {
    /// Its number and 1; what is below [`State::since`] is forgotten.
    number: u32,
    cycle: u32,
}

/// Writers, and memory instructions that keep their sources.
pub(super) struct State<'a> {
    schedule: &'a Schedule,
    written: [Last; Resource::COUNT],
    held: [Last; Resource::COUNT],
    /// How many instructions at the start of the code are forgotten.
    since: u32,
}

/// Cycles from the issue of an instruction to that of the first reader of a resource that it
/// writes.
fn latency_of(op: Op, r: Resource) -> u32 {
    match r {
        Resource::Gpr(_) => latency::result(op),
        Resource::Pred(_) => latency::predicate(op),
        Resource::Carry => latency::CARRY,
    }
}

impl<'a> State<'a> {
    pub(super) fn new(schedule: &'a Schedule) -> State<'a> {
        let none = [Last::default(); Resource::COUNT];
        State { schedule, written: none, held: none, since: 0 }
    }

    /// Forgets all instructions before the `n`th.
    pub(super) fn forget(&mut self, n: usize) {
        self.since = n as u32;
    }

    /// The instruction, if it is not forgotten, and its cycle.
    fn last(&self, l: Last) -> Option<(usize, u32)> {
        (l.number > self.since).then(|| (l.number as usize - 1, l.cycle))
    }

    /// Calls `f` with what the `n`th instruction has to wait for.
    pub(super) fn pending(&self, n: usize, mut f: impl FnMut(Pending)) {
        let op = |n: usize| self.schedule.code[n].inst.op;
        let written = |r: u16, hazard| {
            let (by, cycle) = self.last(self.written[usize::from(r)])?;
            let what = Resource::from_index(r);
            let cycles = latency_of(op(by), what);
            let scoreboard = cycles >= latency::SCOREBOARD;
            Some(Pending { until: cycle + cycles, by, what, hazard, scoreboard })
        };
        if !latency::waits_for_sources(op(n)) {
            self.schedule.reads(n).iter().filter_map(|&r| written(r, Hazard::Read)).for_each(&mut f);
        }
        if latency::writes_late(op(n)) {
            return;
        }
        for &r in self.schedule.writes(n) {
            written(r, Hazard::Overwrite).into_iter().for_each(&mut f);
            if let Some((by, cycle)) = self.last(self.held[usize::from(r)]) {
                let (until, what) = (cycle + latency::HOLD, Resource::from_index(r));
                f(Pending { until, by, what, hazard: Hazard::Held, scoreboard: false });
            }
        }
    }

    /// Notes that the `n`th instruction issued.
    pub(super) fn issue(&mut self, n: usize, cycle: u32) {
        let now = Last { number: n as u32 + 1, cycle };
        if latency::holds_sources(self.schedule.code[n].inst.op) {
            for &r in self.schedule.reads(n) {
                self.held[usize::from(r)] = now;
            }
        }
        for &r in self.schedule.writes(n) {
            self.written[usize::from(r)] = now;
            self.held[usize::from(r)] = Last::default();
        }
    }
}
