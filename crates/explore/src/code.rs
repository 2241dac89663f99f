//! What is known of a kernel's machine code by looking at it: blocks, which registers are alive where, and issue.
//!
//! Liveness is that of any compiler: backwards over the graph until nothing changes. A call reads what the subroutine reads, and
//! keeps alive what is read later and the subroutine does not write; inside of it, what callers keep is not counted.

use nvir::asm::cfg::{self, Graph};
use nvir::asm::check::{Schedule, Totals, Unreadable};
use nvir::image::cubin::Kernel;
use nvir::image::stage::SlotLocation;
use nvir::isa::effects::{self, Resource};
use nvir::isa::{self, MInst, Op, fetch};
use nvir::{Chip, Shader};
use std::collections::BTreeMap;

/// Registers, predicates and the condition code, a bit each.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Set([u64; Resource::COUNT.div_ceil(64)]);

impl Set {
    fn insert(&mut self, r: usize) {
        self.0[r / 64] |= 1 << (r % 64);
    }

    fn remove(&mut self, r: usize) {
        self.0[r / 64] &= !(1 << (r % 64));
    }

    fn contains(&self, r: usize) -> bool {
        self.0[r / 64] & 1 << (r % 64) != 0
    }

    fn with(self, o: Set) -> Set {
        Set(std::array::from_fn(|k| self.0[k] | o.0[k]))
    }

    fn without(self, o: Set) -> Set {
        Set(std::array::from_fn(|k| self.0[k] & !o.0[k]))
    }

    fn both(self, o: Set) -> Set {
        Set(std::array::from_fn(|k| self.0[k] & o.0[k]))
    }

    fn gprs(&self) -> u32 {
        let all: u32 = self.0.iter().map(|w| w.count_ones()).sum();
        all - (self.0[0] & 0xff).count_ones()
    }
}

/// An instruction.
pub(crate) struct Row {
    pub(crate) pc: u32,
    pub(crate) word: u64,
    pub(crate) text: String,
    pub(crate) block: usize,
    /// General registers that hold something which is read later, before it or behind it, whichever is more.
    pub(crate) alive: u32,
}

/// A stretch of code through which a register holds a value: rows `from` to `to`, both included.
pub(crate) struct Range {
    /// As in [`Resource::index`].
    pub(crate) register: usize,
    pub(crate) from: usize,
    pub(crate) to: usize,
}

/// The issue of an instruction.
pub(crate) struct Issue {
    /// Cycles to the next instruction; 0 where both issue together.
    pub(crate) count: u32,
    /// The cycle at which one warp issues it, with what memory takes as a rule, each instruction taken once.
    pub(crate) cycle: u64,
    /// What it waits for, in words.
    pub(crate) why: String,
}

/// How the instructions of some code issue, by address; what code without issue control says of it is an error.
fn issues(chip: Chip, code: &[u64]) -> Result<(BTreeMap<u32, Issue>, Totals), Unreadable> {
    let s = Schedule::read(chip, code)?;
    let waits = s.waits();
    let mut waits = waits.iter().peekable();
    let mut all = BTreeMap::new();
    for ((n, i), cycle) in s.code.iter().enumerate().zip(s.issue_cycles()) {
        let why = waits.next_if(|w| w.at == n).map_or(String::new(), |w| w.describe(&s));
        all.insert(i.pc, Issue { count: s.cycles_of(n), cycle, why });
    }
    Ok((all, s.totals()))
}

/// Machine code as the page shows it.
pub(crate) struct Code {
    pub(crate) rows: Vec<Row>,
    pub(crate) graph: Graph,
    pub(crate) ranges: Vec<Range>,
    /// How it issues, by address; none where the hardware decides, or words are no code.
    pub(crate) issues: Option<BTreeMap<u32, Issue>>,
    pub(crate) totals: Option<Totals>,
    /// Why there is no issue control.
    pub(crate) no_issue: Option<String>,
}

impl Code {
    /// Looks at a kernel; a shader of ours knows which registers are its results.
    pub(crate) fn of(chip: Chip, kernel: &Kernel, shader: Option<&Shader>) -> Code {
        let graph = Graph::of(chip, kernel);
        let words: BTreeMap<u32, u64> =
            fetch::sweep(chip, &kernel.code).map(|(pc, f)| (pc, f.word)).collect();
        let mut rows = Vec::new();
        let mut insts: Vec<Option<MInst>> = Vec::new();
        for (block, b) in graph.blocks.iter().enumerate() {
            for (pc, text) in &b.code {
                let word = words.get(pc).copied().unwrap_or(0);
                insts.push(isa::decode(chip, word, *pc));
                let text = text.trim_end_matches(';').to_string();
                rows.push(Row { pc: *pc, word, text, block, alive: 0 });
            }
        }
        let alive = Alive::of(&graph, &insts, results(shader));
        let ranges = alive.ranges(&mut rows);
        let (issues, totals, no_issue) = match issues(chip, &kernel.code) {
            Ok((issues, totals)) => (Some(issues), Some(totals), None),
            Err(e) => (None, None, Some(e.to_string())),
        };
        Code { rows, graph, ranges, issues, totals, no_issue }
    }
}

/// The registers that a fragment shader leaves its results in.
fn results(shader: Option<&Shader>) -> Set {
    let mut set = Set::default();
    for slot in shader.and_then(|s| s.stage.as_ref()).iter().flat_map(|g| &g.outputs) {
        if let SlotLocation::Register(first) = slot.location {
            for k in 0..slot.mask.count_ones() as usize {
                set.insert((Resource::Gpr(0).index() + first as usize + k).min(Resource::COUNT - 1));
            }
        }
    }
    set
}

/// What is alive before and behind each instruction.
struct Alive {
    before: Vec<Set>,
    behind: Vec<Set>,
}

struct Block {
    rows: std::ops::Range<usize>,
    next: Vec<usize>,
    /// The subroutine that it belongs to, as the block that begins it.
    part: usize,
}

/// The part of what no entry reaches.
const NOWHERE: usize = usize::MAX;

/// What each subroutine may write, with those that it calls: in as many rounds as calls nest.
fn written(
    blocks: &[Block],
    entries: &[usize],
    calls: &BTreeMap<usize, usize>,
    effects: &[[Set; 2]],
) -> BTreeMap<usize, Set> {
    let mut written: BTreeMap<usize, Set> = entries.iter().map(|&e| (e, Set::default())).collect();
    loop {
        let old = written.clone();
        for b in blocks {
            for k in b.rows.clone() {
                let called = calls.get(&k).and_then(|to| old.get(to)).copied().unwrap_or_default();
                if let Some(all) = written.get_mut(&b.part) {
                    *all = all.with(effects[k][1]).with(called);
                }
            }
        }
        if written == old {
            return written;
        }
    }
}

impl Alive {
    fn of(graph: &Graph, insts: &[Option<MInst>], results: Set) -> Alive {
        let mut blocks: Vec<Block> = Vec::new();
        let mut row = 0;
        for b in &graph.blocks {
            blocks.push(Block { rows: row..row + b.code.len(), next: Vec::new(), part: NOWHERE });
            row += b.code.len();
        }
        let mut before = vec![Vec::new(); blocks.len()];
        for &(from, to, _) in &graph.edges {
            blocks[from].next.push(to);
            before[to].push(from);
        }
        for &entry in &graph.entries {
            let mut open = vec![entry];
            while let Some(b) = open.pop() {
                if blocks[b].part == NOWHERE {
                    blocks[b].part = entry;
                    open.extend(&blocks[b].next);
                }
            }
        }
        // Which block each call leads to, by row.
        let mut calls: BTreeMap<usize, usize> = BTreeMap::new();
        for (k, (_, text)) in graph.blocks.iter().flat_map(|b| &b.code).enumerate() {
            if cfg::operation(text) == "CAL"
                && let Some(&to) = cfg::target(text).and_then(|l| graph.labels.get(l))
            {
                calls.insert(k, to);
            }
        }
        let effects: Vec<[Set; 2]> = insts.iter().map(effects).collect();
        let written = written(&blocks, &graph.entries, &calls, &effects);
        let none = vec![Set::default(); insts.len()];
        let mut alive = Alive { before: none.clone(), behind: none };
        // What is read behind the calls of each subroutine.
        let mut wanted: BTreeMap<usize, Set> = BTreeMap::new();
        let mut waiting = vec![true; blocks.len()];
        let mut open: Vec<usize> = (0..blocks.len()).collect();
        while let Some(n) = open.pop() {
            waiting[n] = false;
            let b = &blocks[n];
            let mut set = Set::default();
            for &next in &b.next {
                set = blocks[next].rows.clone().next().map_or(set, |k| set.with(alive.before[k]));
            }
            let old = b.rows.clone().next().map(|k| alive.before[k]);
            let mut again: Vec<usize> = Vec::new();
            for k in b.rows.clone().rev() {
                match insts[k].as_ref().map(|m| m.op) {
                    Some(Op::Exit) => set = set.with(results),
                    Some(Op::Ret) => set = set.with(wanted.get(&b.part).copied().unwrap_or_default()),
                    _ => {}
                }
                alive.behind[k] = set;
                if let Some(to) = calls.get(&k) {
                    let writes = written.get(to).copied().unwrap_or_default();
                    let reads = blocks[*to].rows.clone().next().map_or(Set::default(), |k| alive.before[k]);
                    let want = wanted.entry(*to).or_default();
                    let more = want.with(set.both(writes));
                    if more != *want {
                        *want = more;
                        // Its returns are looked at again.
                        again.extend((0..blocks.len()).filter(|&x| blocks[x].part == *to));
                    }
                    set = set.without(writes).with(reads);
                }
                let [reads, writes] = effects[k];
                let sure = insts[k].as_ref().is_some_and(|m| m.guard.is_true());
                set = if sure { set.without(writes) } else { set };
                set = set.with(reads);
                alive.before[k] = set;
            }
            if old.is_some_and(|old| old != set) {
                again.extend(&before[n]);
                if graph.entries.contains(&n) {
                    let callers = calls.iter().filter(|(_, to)| **to == n).map(|(k, _)| *k);
                    again.extend(callers.map(|k| blocks.partition_point(|b| b.rows.end <= k)));
                }
            }
            for x in again {
                if !std::mem::replace(&mut waiting[x], true) {
                    open.push(x);
                }
            }
        }
        alive
    }

    /// Fills in how many are alive, and gives the ranges by register.
    fn ranges(&self, rows: &mut [Row]) -> Vec<Range> {
        for (k, row) in rows.iter_mut().enumerate() {
            row.alive = self.before[k].gprs().max(self.behind[k].gprs());
        }
        let mut ranges = Vec::new();
        for register in 0..Resource::COUNT {
            let mut from = None;
            for k in 0..rows.len() {
                let (read, kept) = (self.before[k].contains(register), self.behind[k].contains(register));
                if (read || kept) && from.is_none() {
                    from = Some(k);
                }
                // It ends with its last reader, or where something else begins.
                let goes_on = kept && k + 1 < rows.len() && self.before[k + 1].contains(register);
                if let Some(first) = from.filter(|_| !goes_on) {
                    ranges.push(Range { register, from: first, to: k });
                    from = None;
                }
            }
        }
        ranges
    }
}

/// What an instruction reads and writes.
fn effects(m: &Option<MInst>) -> [Set; 2] {
    let mut sets = [Set::default(); 2];
    if let Some(m) = m {
        effects::reads(m, |r| sets[0].insert(r.index()));
        effects::writes(m, |r| sets[1].insert(r.index()));
        // Nobody reads what is written to it.
        sets[1].remove(Resource::Gpr(255).index());
    }
    sets
}
