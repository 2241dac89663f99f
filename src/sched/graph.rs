//! Which instructions of straight code must stay in their order, and how far apart.

use super::live_ranges::{LiveRanges, RangeId};
use crate::analysis::alias::spaces_meet;
use crate::emit::code::Line;
use crate::ir::Space;
use crate::isa::effects::{MemoryEffect, Resource, access_width, memory};
use crate::isa::latency;
use crate::isa::row::Unit;
use crate::isa::{MInst, Op, Operand};
use nvir_asm::model::latency_of;

/// An earlier instruction that must come first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub earlier: u32,
    /// Cycles from one to the other as a card takes them, at least what counts ask for.
    pub cycles: u32,
}

/// The edges of a block, by the later instruction. Built once and used for all blocks of a program.
#[derive(Default)]
pub(super) struct Graph {
    edges: Vec<Edge>,
    /// Where the edges of each instruction start; one more entry than instructions.
    starts: Vec<u32>,
    users: Users,
    memory: MemoryOrder,
}

/// Who touched each live range last.
#[derive(Default)]
struct Users {
    last: Vec<Touch>,
    readers: Vec<Reader>,
}

const NOBODY: u32 = u32::MAX;

/// The last instruction that wrote a live range, and those that have read it since.
#[derive(Clone, Copy)]
struct Touch {
    writer: u32,
    /// Cycles until the result of the writer is there.
    cycles: u32,
    /// The last reader, in [`Users::readers`].
    readers: u32,
}

#[derive(Clone, Copy)]
struct Reader {
    who: u32,
    /// Cycles for which it holds what it reads.
    holds: u32,
    /// The reader before it.
    before: u32,
}

impl Users {
    fn read(&mut self, n: u32, range: RangeId, holds: u32, edges: &mut Vec<Edge>) {
        let reader = self.readers.len() as u32;
        let t = &mut self.last[range as usize];
        if t.writer != NOBODY {
            edges.push(Edge { earlier: t.writer, cycles: t.cycles });
        }
        let before = std::mem::replace(&mut t.readers, reader);
        self.readers.push(Reader { who: n, holds, before });
    }

    fn write(&mut self, n: u32, range: RangeId, r: u16, m: &MInst, edges: &mut Vec<Edge>) {
        let t = &mut self.last[range as usize];
        if t.writer != NOBODY {
            edges.push(Edge { earlier: t.writer, cycles: t.cycles.max(1) });
        }
        let mut reader = t.readers;
        *t = Touch { writer: n, cycles: typical(m.op, r), readers: NOBODY };
        while reader != NOBODY {
            let Reader { who, holds, before } = self.readers[reader as usize];
            if who != n {
                let cycles = if latency::writes_late(m.op) { 0 } else { holds };
                edges.push(Edge { earlier: who, cycles });
            }
            reader = before;
        }
    }
}

impl Graph {
    /// For blocks of so many instructions at most.
    pub(super) fn new(instructions: usize) -> Graph {
        Graph {
            edges: Vec::with_capacity(8 * instructions),
            starts: Vec::with_capacity(instructions + 1),
            users: Users {
                last: Vec::with_capacity(2 * instructions),
                readers: Vec::with_capacity(4 * instructions),
            },
            memory: MemoryOrder::default(),
        }
    }

    /// The edges to an instruction.
    pub(super) fn edges(&self, n: usize) -> &[Edge] {
        &self.edges[self.starts[n] as usize..self.starts[n + 1] as usize]
    }

    /// Reads the instructions of a block.
    pub(super) fn build(&mut self, lines: &[&Line], ranges: &LiveRanges) {
        self.edges.clear();
        self.starts.clear();
        self.starts.push(0);
        self.users.readers.clear();
        self.users.last.clear();
        self.users.last.resize(ranges.list.len(), Touch { writer: NOBODY, cycles: 0, readers: NOBODY });
        self.memory.clear();
        let (mut fence, mut since) = (NOBODY, 0);
        let mut carries = ranges.carries.iter().peekable();
        for (n, line) in (0u32..).zip(lines) {
            let m = &line.inst;
            let is_fence = is_fence(m);
            if is_fence {
                self.edges.extend((since..n).map(|earlier| Edge { earlier, cycles: 1 }));
            }
            if fence != NOBODY {
                self.edges.push(Edge { earlier: fence, cycles: 1 });
            }
            if is_fence {
                (fence, since) = (n, n + 1);
            }
            if let Some(&&(first, last)) = carries.peek()
                && first == n
            {
                carries.next();
                self.before_chain(lines, ranges, first, last);
            }
            let effect = memory(m);
            if effect != MemoryEffect::None {
                let access = Access::new(n, line, effect, ranges, &self.users);
                self.memory.add(access, &mut self.edges);
            }
            let holds = if latency::holds_sources(m.op) { latency::HOLD } else { 0 };
            for &range in ranges.reads(n as usize) {
                self.users.read(n, range, holds, &mut self.edges);
            }
            for &range in ranges.writes(n as usize) {
                self.users.write(n, range, ranges.list[range as usize].register, m, &mut self.edges);
            }
            self.starts.push(self.edges.len() as u32);
        }
    }
}

impl Graph {
    /// A chain of condition codes begins when all that its instructions need besides has issued: what makes it may need the
    /// condition code, too.
    fn before_chain(&mut self, lines: &[&Line], ranges: &LiveRanges, first: u32, last: u32) {
        let mut needed: Vec<RangeId> = Vec::new();
        for n in (first + 1..=last).rev() {
            let written = ranges.writes(n as usize);
            if n != last && !written.iter().any(|r| needed.contains(r)) {
                continue;
            }
            needed.retain(|r| !written.contains(r) || !lines[n as usize].inst.guard.is_true());
            needed.extend(ranges.reads(n as usize));
        }
        for range in needed {
            let t = self.users.last[range as usize];
            if t.writer != NOBODY {
                let cycles = t.cycles.saturating_sub(latency::CARRY).max(1);
                self.edges.push(Edge { earlier: t.writer, cycles });
            }
        }
    }
}

/// Cycles until what an operation writes is there on a card, as a rule.
fn typical(op: Op, r: u16) -> u32 {
    match Resource::register(r) {
        Some(_) => latency::typical(op),
        None => latency_of(op, r),
    }
}

/// Whether everything before it stays before it, and everything behind it behind.
fn is_fence(m: &MInst) -> bool {
    m.sync
        || latency::unit(m.op) == Unit::Flow && m.op != Op::Bar
        || m.op == Op::Texdepbar
        || latency::reads_clock(m)
}

/// An access to memory.
#[derive(Clone, Copy)]
struct Access {
    who: u32,
    effect: MemoryEffect,
    /// Where it is, if that is certain.
    space: Option<Space>,
    /// The live range of the base, and who wrote it last.
    base: (RangeId, u32),
    /// Bytes from the base.
    start: i64,
    bytes: i64,
}

impl Access {
    fn new(who: u32, line: &Line, effect: MemoryEffect, ranges: &LiveRanges, users: &Users) -> Access {
        let m = &line.inst;
        let address = m.operands.iter().find_map(|o| match *o {
            Operand::Mem { base, offset } => Some((base, offset)),
            _ => None,
        });
        let space = match m.op {
            Op::Lds | Op::Sts => Some(Space::Shared),
            Op::Ldl | Op::Stl => Some(Space::Local),
            _ => line.space,
        };
        let simple = matches!(m.op, Op::Ld | Op::St | Op::Lds | Op::Sts | Op::Ldl | Op::Stl);
        let Some((base, offset)) = address.filter(|_| simple) else {
            return Access { who, effect, space, base: (NOBODY, who), start: 0, bytes: 0 };
        };
        let register = Resource::Gpr(base.0).index() as u16;
        let of_base = |&range: &RangeId| ranges.list[range as usize].register == register;
        let base = ranges.reads(who as usize).iter().copied().find(of_base).unwrap_or(NOBODY);
        let version = users.last.get(base as usize).map_or(NOBODY, |t| t.writer);
        let bytes = 4 * i64::from(access_width(m));
        Access { who, effect, space, base: (base, version), start: offset.into(), bytes }
    }

    /// Whether the two must stay in their order.
    fn meets(&self, other: &Access) -> bool {
        if self.effect == MemoryEffect::Read && other.effect == MemoryEffect::Read {
            return false;
        }
        let spaces = match (self.space, other.space) {
            (Some(a), Some(b)) => spaces_meet(a, b),
            _ => true,
        };
        let apart = self.bytes > 0
            && other.bytes > 0
            && self.base == other.base
            && self.space == other.space
            && (self.start + self.bytes <= other.start || other.start + other.bytes <= self.start);
        spaces && !apart
    }
}

/// The accesses that later ones may have to stay behind.
#[derive(Default)]
struct MemoryOrder {
    /// Since the last one that all stay behind.
    open: Vec<Access>,
    /// That one.
    barrier: Option<u32>,
}

impl MemoryOrder {
    /// With more open than that, the next access stays behind all of them.
    const MOST: usize = 64;

    fn clear(&mut self) {
        self.open.clear();
        self.barrier = None;
    }

    fn add(&mut self, access: Access, edges: &mut Vec<Edge>) {
        let edge = |earlier| Edge { earlier, cycles: 1 };
        edges.extend(self.barrier.map(edge));
        if access.effect == MemoryEffect::Barrier || self.open.len() >= Self::MOST {
            edges.extend(self.open.drain(..).map(|a| edge(a.who)));
            self.barrier = Some(access.who);
        } else {
            edges.extend(self.open.iter().filter(|a| a.meets(&access)).map(|a| edge(a.who)));
            self.open.push(access);
        }
    }
}
