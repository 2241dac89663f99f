//! The counts that the rules ask for in code as it stands: its order and pairs.

use super::Schedule;
use super::state::{Hazard, State};
use nvir_isa::effects::Resource;
use nvir_isa::latency::{self, Queue, Row};
use nvir_isa::{MInst, Op};

/// Why an instruction cannot issue earlier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// Nothing: one group issues in a cycle.
    Order,
    /// It reads what an earlier instruction writes.
    Reads(usize, Resource),
    /// The same, and the hardware waits, too.
    Scoreboard(usize, Resource),
    /// It writes what an earlier instruction writes.
    Overwrites(usize, Resource),
    /// It writes what an earlier memory instruction still keeps.
    Held(usize, Resource),
    /// The port of its unit is busy with an earlier instruction.
    Unit(usize),
    /// An earlier memory instruction or barrier.
    Memory(usize),
    /// The instruction before it lets nothing follow so soon.
    Neighbour(usize),
}

/// What lies between two groups of instructions that issue together.
#[derive(Clone, Debug)]
pub struct Wait {
    /// The number of the first instruction of the second group.
    pub at: usize,
    /// Cycles from the first group to the second as the code has them.
    pub count: u32,
    /// As the rules ask for. None between blocks, where other things decide.
    pub want: Option<u32>,
    /// What asks for most.
    pub why: Why,
}

impl Wait {
    /// In words: what is waited for, and for how long if the count is not as asked. Nothing where the
    /// group follows in the next cycle.
    pub fn describe(&self, s: &Schedule) -> String {
        let pc = |n: usize| s.code[n].pc;
        let Some(want) = self.want else { return String::new() };
        let why = match self.why {
            Why::Order => String::new(),
            Why::Reads(by, what) | Why::Scoreboard(by, what) => format!("{what} of {:04x}", pc(by)),
            Why::Overwrites(by, what) => format!("{what}, which {:04x} writes", pc(by)),
            Why::Held(by, what) => format!("{what}, which {:04x} still reads", pc(by)),
            Why::Unit(by) => format!("the unit, busy with {:04x}", pc(by)),
            Why::Memory(by) => format!("memory, busy with {:04x}", pc(by)),
            Why::Neighbour(by) => format!("{:04x}, which lets nothing follow sooner", pc(by)),
        };
        match self.count.cmp(&want) {
            std::cmp::Ordering::Equal => why,
            _ if why.is_empty() => format!("nothing: {want} would do"),
            _ => format!("{why}: {want} asked for"),
        }
    }
}

/// When instructions of each kind issued last.
#[derive(Default)]
struct Gaps {
    rows: [Option<(u32, usize)>; Row::COUNT],
    queues: [Option<(u32, usize)>; 4],
    double: Option<(u32, usize)>,
    indexed: Option<(u32, usize)>,
}

const QUEUES: [Queue; 4] = [Queue::Load, Queue::Shuffle, Queue::Store, Queue::Barrier];

impl Gaps {
    fn issue(&mut self, m: &MInst, n: usize, cycle: u32) {
        let now = Some((cycle, n));
        if let Some(last) = self.rows.get_mut(latency::row(m.op) as usize) {
            *last = now;
        }
        if let Some(k) = latency::queue(m.op).and_then(|q| QUEUES.iter().position(|&x| x == q)) {
            self.queues[k] = now;
        }
        if latency::pair_set(m.op).any(latency::PairSet::DOUBLE) || m.op == Op::Dset {
            self.double = now;
        }
        if latency::is_indexed_constant(m) {
            self.indexed = now;
        }
    }

    /// Calls `f` with each cycle before which an instruction may not issue, and why.
    fn until(&self, m: &MInst, mut f: impl FnMut(u32, Why)) {
        let mut after = |last: Option<(u32, usize)>, cycles: u32, why: fn(usize) -> Why| {
            if let Some((cycle, n)) = last {
                f(cycle + cycles, why(n));
            }
        };
        let row = self.rows.get(latency::row(m.op) as usize);
        after(row.copied().flatten(), latency::ROW_INTERVAL, Why::Unit);
        if latency::waits_for_double(m.op) {
            after(self.double, latency::DOUBLE_INTERVAL, Why::Unit);
        }
        if m.op == Op::Ldc {
            after(self.indexed, latency::INDEXED_INTERVAL, Why::Unit);
        }
        if let Some(q) = latency::queue(m.op) {
            for (last, first) in self.queues.iter().zip(QUEUES) {
                after(*last, latency::queue_interval(first, q), Why::Memory);
            }
        }
    }
}

/// The wait so far, and what asks for it.
struct Most {
    until: u32,
    why: Why,
}

impl Most {
    fn raise(&mut self, until: u32, why: Why) {
        if until > self.until {
            *self = Most { until, why };
        }
    }
}

impl Schedule {
    /// What the rules ask for between all groups, in the order of the code.
    pub fn waits(&self) -> Vec<Wait> {
        let mut out = Vec::with_capacity(self.code.len());
        let mut state = State::new(self);
        let mut gaps = Gaps::default();
        let mut cycle = 0;
        let mut groups = self.groups().peekable();
        while let (Some(g), Some(h)) = (groups.next(), groups.peek().cloned()) {
            if self.code[g.start].label {
                state.forget(g.start);
                gaps = Gaps::default();
            }
            for n in g.clone() {
                state.issue(n, cycle);
                gaps.issue(&self.code[n].inst, n, cycle);
            }
            let count = self.cycles_of(g.end - 1);
            let at = h.start;
            if g.clone().any(|n| latency::transfers(&self.code[n].inst)) {
                state.forget(g.end);
                gaps = Gaps::default();
                out.push(Wait { at, count, want: None, why: Why::Order });
                cycle += count;
                continue;
            }
            if self.code[at].label {
                out.push(Wait { at, count, want: None, why: Why::Order });
                cycle += count;
                continue;
            }
            let Most { until, why } = self.most(g.clone(), h, cycle, &state, &gaps);
            let mut want = until - cycle;
            if self.code[g.start].inst.op == Op::Texdepbar {
                let longest = latency::TEXTURE_BARRIER[latency::TEXTURE_BARRIER.len() - 1];
                want = latency::TEXTURE_BARRIER.into_iter().find(|&c| c >= want).unwrap_or(longest);
            }
            out.push(Wait { at, count, want: Some(want.min(MOST)), why });
            cycle += if want > MOST { want } else { count };
        }
        out
    }

    /// The first cycle at which the group `h` may issue, if `g` did at `cycle`.
    fn most(
        &self,
        g: std::ops::Range<usize>,
        h: std::ops::Range<usize>,
        cycle: u32,
        state: &State<'_>,
        gaps: &Gaps,
    ) -> Most {
        let mut most = Most { until: cycle + 1, why: Why::Order };
        for n in h.clone() {
            let m = &self.code[n].inst;
            for x in g.clone() {
                most.raise(cycle + latency::neighbours(&self.code[x].inst, m), Why::Neighbour(x));
            }
            gaps.until(m, |until, why| most.raise(until, why));
            state.pending(n, |p| {
                let why = match p.hazard {
                    _ if p.scoreboard => Why::Scoreboard(p.by, p.what),
                    Hazard::Read => Why::Reads(p.by, p.what),
                    Hazard::Overwrite => Why::Overwrites(p.by, p.what),
                    Hazard::Held => Why::Held(p.by, p.what),
                };
                let more = p.until > cycle + 1 && self.is_late_pair(h.clone(), p.what);
                most.raise(p.until + u32::from(more), why);
            });
        }
        most
    }

    /// Whether a pair issues a cycle later for what it waits for: with a guarded RET as its second,
    /// and for registers with a guarded NOP.
    fn is_late_pair(&self, h: std::ops::Range<usize>, what: Resource) -> bool {
        if h.len() < 2 || latency::pair_set(self.code[h.start].inst.op).any(latency::PairSet::MEMORY) {
            return false;
        }
        let second = &self.code[h.start + 1].inst;
        let register = matches!(what, Resource::Gpr(_));
        !second.guard.is_true() && (second.op == Op::Ret || second.op == Op::Nop && register)
    }
}

/// The most that a count says.
const MOST: u32 = 32;
