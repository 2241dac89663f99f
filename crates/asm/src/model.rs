//! What an instruction waits for, along straight code: results that are not there yet, sources that
//! are still held, and ports that are busy. The figures are those of [`latency`].

use nvir_isa::Op;
use nvir_isa::effects::Resource;
use nvir_isa::latency::{self, Queue, Row, SCOREBOARD};
use nvir_isa::row::Unit;

/// Time, in cycles from the start of the code.
pub type Cycle = u64;

/// Longer than anything is waited for.
const LONG: Cycle = 4 * SCOREBOARD as Cycle;

/// Cycles until what an operation writes, as [`Resource::index`], may be read.
pub fn latency_of(op: Op, r: u16) -> u32 {
    // By a look-up: which of them it is, is hard to foresee.
    const CARRY: u16 = Resource::Carry.index() as u16;
    let by_class = [latency::predicate(op), latency::CARRY, latency::result(op)];
    by_class[usize::from(r >= CARRY) + usize::from(r > CARRY)]
}

/// The state of a warp between two instructions of straight code.
pub(crate) struct Model {
    /// The cycle from which each resource may be read.
    ready: [Cycle; Resource::COUNT],
    /// The cycle from which each resource is held by nobody.
    free: [Cycle; Resource::COUNT],
    ports: Ports,
    /// The cycle from which nothing of fixed latency is pending.
    settled: Cycle,
    /// Time starts so late that nothing is pending, and jumps as far to forget what is.
    now: Cycle,
}

impl Default for Model {
    fn default() -> Model {
        let (ready, free) = ([0; Resource::COUNT], [0; Resource::COUNT]);
        Model { ready, free, ports: Ports::default(), settled: 0, now: LONG }
    }
}

impl Model {
    /// The present cycle.
    pub(crate) fn now(&self) -> Cycle {
        self.now
    }

    /// Cycles until no result of fixed latency, no source and no port is waited for.
    pub(crate) fn pending(&self) -> Cycle {
        self.settled.max(self.ports.idle_at()).saturating_sub(self.now)
    }

    /// Lets time go on.
    pub(crate) fn advance(&mut self, cycles: u32) {
        self.now += Cycle::from(cycles);
    }

    /// Lets time go on until a cycle, unless that is over.
    pub(crate) fn advance_to(&mut self, at: Cycle) {
        self.now = self.now.max(at);
    }

    /// Forgets all that is pending: at labels and behind jumps nothing is.
    pub(crate) fn forget(&mut self) {
        self.now += LONG;
    }

    /// The first cycle, not before the present one, at which an instruction that reads and writes
    /// these resources may issue.
    pub(crate) fn earliest(&self, op: Op, port: &Port, reads: &[u16], writes: &[u16]) -> Cycle {
        let mut at = self.now.max(self.ports.free_at(port));
        if !latency::waits_for_sources(op) {
            at = reads.iter().fold(at, |at, &r| at.max(self.ready[usize::from(r)]));
        }
        if !latency::writes_late(op) {
            for &r in writes {
                at = at.max(self.ready[usize::from(r)]).max(self.free[usize::from(r)]);
            }
        }
        at
    }

    /// Issues an instruction now.
    pub(crate) fn issue(&mut self, op: Op, port: &Port, reads: &[u16], writes: &[u16]) {
        self.ports.issue(port, self.now);
        if latency::holds_sources(op) {
            let until = self.now + Cycle::from(latency::HOLD);
            reads.iter().for_each(|&r| self.free[usize::from(r)] = until);
            self.settled = self.settled.max(until);
        }
        for &r in writes {
            let latency = latency_of(op, r);
            self.ready[usize::from(r)] = self.now + Cycle::from(latency);
            self.free[usize::from(r)] = 0;
            if latency < SCOREBOARD {
                self.settled = self.settled.max(self.ready[usize::from(r)]);
            }
        }
    }
}

/// Which ports an instruction needs.
#[derive(Clone, Copy, Debug)]
pub struct Port {
    row: Row,
    queue: Option<Queue>,
    indexed: bool,
    double: bool,
    waits_for_double: bool,
}

impl Port {
    /// Those of an operation; `indexed` for an LDC with a register in its address.
    pub(crate) const fn new(op: Op, indexed: bool) -> Port {
        Port {
            row: latency::row(op),
            queue: latency::queue(op),
            indexed,
            double: matches!(latency::unit(op), Unit::Double) || matches!(op, Op::Dsetp),
            waits_for_double: latency::waits_for_double(op),
        }
    }

    /// Whether the two are equal.
    pub(crate) const fn same(&self, other: &Port) -> bool {
        let queues = match (self.queue, other.queue) {
            (Some(a), Some(b)) => a as u8 == b as u8,
            (a, b) => a.is_none() && b.is_none(),
        };
        self.row as u8 == other.row as u8
            && queues
            && self.indexed == other.indexed
            && self.double == other.double
            && self.waits_for_double == other.waits_for_double
    }

    /// Whether two that issue together would need the same port.
    pub(crate) const fn collides(&self, other: &Port) -> bool {
        !matches!(self.row, Row::None) && self.row as u8 == other.row as u8
            || self.queue.is_some() && other.queue.is_some()
    }
}

/// When each port was used last.
#[derive(Clone, Default)]
pub struct Ports {
    /// The first cycle in which a row is free again.
    rows: [Cycle; Row::COUNT + 1],
    /// The first cycle for each queue.
    queues: [Cycle; 4],
    constants: Cycle,
    double: Cycle,
}

impl Ports {
    /// The cycle from which the port is free.
    pub fn free_at(&self, p: &Port) -> Cycle {
        let mut at = self.rows[p.row as usize];
        if let Some(q) = p.queue {
            at = at.max(self.queues[q as usize]);
        }
        if p.row == Row::Constant {
            at = at.max(self.constants);
        }
        if p.waits_for_double {
            at = at.max(self.double);
        }
        at
    }

    /// The cycle from which all are free.
    fn idle_at(&self) -> Cycle {
        let all = self.rows.iter().chain(&self.queues).copied();
        all.fold(self.constants.max(self.double), Cycle::max)
    }

    /// An instruction takes the port.
    pub fn issue(&mut self, p: &Port, now: Cycle) {
        if p.row != Row::None {
            self.rows[p.row as usize] = now + Cycle::from(latency::ROW_INTERVAL);
        }
        if let Some(q) = p.queue {
            for second in Queue::ALL {
                let at = now + Cycle::from(latency::queue_interval(q, second));
                let free = &mut self.queues[second as usize];
                *free = at.max(*free);
            }
        }
        if p.indexed {
            self.constants = now + Cycle::from(latency::INDEXED_INTERVAL);
        }
        if p.double {
            self.double = now + Cycle::from(latency::DOUBLE_INTERVAL);
        }
    }
}
