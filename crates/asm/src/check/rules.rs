//! Where code breaks a rule that ptxas keeps without exception.

use super::state::{Hazard, State};
use super::{Schedule, target};
use nvir_isa::effects::{Resource, is_texture};
use nvir_isa::latency::Direction;
use nvir_isa::sched_word::{Issue, SLOTS};
use nvir_isa::{Op, Operand, latency};
use std::fmt;

/// What is broken.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Rule {
    /// A result of fixed latency is read before it is there.
    Read,
    /// A result is overwritten before it is there.
    Overwrite,
    /// A source that a memory instruction still keeps is overwritten.
    Held,
    /// A texture's result is touched without a `TEXDEPBAR` for it.
    Texture,
    /// Control leaves a block while results may be pending.
    BlockEnd,
    /// The control byte has no meaning there.
    Byte,
    /// A pair begins in the last slot of a scheduling word, or with the last instruction.
    PairSlot,
    /// The second of a pair is branched to.
    PairLabel,
    /// Three instructions at once.
    PairThree,
    /// The second of a pair reads what the first writes.
    PairReads,
    /// Both of a pair write the same.
    PairWrites,
    /// Units that do not pair.
    PairUnits,
    /// Two lines of constant memory.
    PairConstants,
    /// Registers that only one of them reads, in the same bank. This costs time; ptxas does it in
    /// 0.1 % of its pairs.
    PairBanks,
}

impl Rule {
    /// All.
    pub const ALL: [Rule; 14] = [
        Rule::Read,
        Rule::Overwrite,
        Rule::Held,
        Rule::Texture,
        Rule::BlockEnd,
        Rule::Byte,
        Rule::PairSlot,
        Rule::PairLabel,
        Rule::PairThree,
        Rule::PairReads,
        Rule::PairWrites,
        Rule::PairUnits,
        Rule::PairConstants,
        Rule::PairBanks,
    ];

    /// For scripts.
    pub fn name(self) -> &'static str {
        match self {
            Rule::Read => "read",
            Rule::Overwrite => "overwrite",
            Rule::Held => "held",
            Rule::Texture => "texture",
            Rule::BlockEnd => "block-end",
            Rule::Byte => "byte",
            Rule::PairSlot => "pair-slot",
            Rule::PairLabel => "pair-label",
            Rule::PairThree => "pair-three",
            Rule::PairReads => "pair-reads",
            Rule::PairWrites => "pair-writes",
            Rule::PairUnits => "pair-units",
            Rule::PairConstants => "pair-constants",
            Rule::PairBanks => "pair-banks",
        }
    }

    /// Whether ptxas has exceptions: what breaks it is worth knowing, but no violation.
    pub fn is_advice(self) -> bool {
        self == Rule::PairBanks
    }
}

/// A place where a rule is broken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// The number of the instruction that issues too early, or is the second of a pair.
    pub at: usize,
    /// The number of the one that it should wait for, or the first of the pair; the same if there
    /// is none.
    pub by: usize,
    /// What both touch.
    pub what: Option<Resource>,
    /// Cycles that are missing; 0 where no number of cycles would do.
    pub short: u32,
}

impl Violation {
    /// In words, with the instructions.
    pub fn describe(&self, s: &Schedule) -> String {
        struct Inst<'a>(&'a Schedule, usize);
        impl fmt::Display for Inst<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let i = &self.0.code[self.1];
                write!(f, "`{}` at {:04x}", nvir_isa::text::print(self.0.chip, &i.inst), i.pc)
            }
        }
        let (at, by, short) = (Inst(s, self.at), Inst(s, self.by), self.short);
        let what = self.what.map_or_else(|| "a register".to_string(), |r| r.to_string());
        match self.rule {
            Rule::Read => format!("{at} reads {what} {short} cycles before {by} has written it"),
            Rule::Overwrite => format!("{at} overwrites {what} {short} cycles before {by} has written it"),
            Rule::Held => format!("{at} overwrites {what} {short} cycles before {by} has read it"),
            Rule::Texture => format!("{at} touches {what} without a TEXDEPBAR for {by}"),
            Rule::BlockEnd => format!("{at} ends a block {short} cycles before the next one may begin"),
            Rule::Byte => format!("{at} has control byte {:#04x}", s.code[self.at].issue.into_bits()),
            Rule::PairSlot => {
                format!("{at} begins a pair in the last place of its scheduling word or of the code")
            }
            Rule::PairLabel => format!("{at} is second of a pair and branched to"),
            Rule::PairThree => format!("{at} is second of a pair and begins another"),
            Rule::PairReads => format!("{at} reads {what}, which {by} writes, and issues together with it"),
            Rule::PairWrites => format!("{at} writes {what}, as does {by}, and issues together with it"),
            Rule::PairUnits => format!("{at} issues together with {by}: such units do not pair"),
            Rule::PairConstants => {
                format!("{at} issues together with {by} and reads another line of constants")
            }
            Rule::PairBanks => format!("{at} issues together with {by} and reads other registers of a bank"),
        }
    }
}

/// Textures that are under way, along straight code.
struct Textures {
    /// For each register the number of the texture instruction that writes it, counted from 1, and
    /// its place in the code.
    writer: [(u32, u32); 256],
    issued: u32,
    /// So many of the first are complete, or not known about.
    complete: u32,
}

impl Textures {
    fn forget(&mut self) {
        self.complete = self.issued;
    }

    /// The instruction whose result is still under way.
    fn pending(&self, r: u16) -> Option<usize> {
        let Resource::Gpr(r) = Resource::from_index(r) else { return None };
        let (number, at) = self.writer[usize::from(r)];
        (number > self.complete).then_some(at as usize)
    }

    fn issue(&mut self, s: &Schedule, n: usize) {
        let m = &s.code[n].inst;
        if m.op == Op::Texdepbar {
            let left = match m.operands.first() {
                Some(&Operand::Imm { bits, .. }) => bits,
                _ => 0,
            };
            self.complete = self.complete.max(self.issued.saturating_sub(left));
        }
        self.issued += u32::from(is_texture(m.op));
        for &r in s.writes(n) {
            if let Resource::Gpr(r) = Resource::from_index(r) {
                self.writer[usize::from(r)] = if is_texture(m.op) { (self.issued, n as u32) } else { (0, 0) };
            }
        }
    }
}

impl Schedule {
    /// Every place where a rule is broken, [`Rule::is_advice`] among them, in the order of the
    /// code.
    pub fn violations(&self) -> Vec<Violation> {
        let mut found = Vec::new();
        let mut state = State::new(self);
        let mut textures = Textures { writer: [(0, 0); 256], issued: 0, complete: 0 };
        let mut cycle = 0;
        for (n, i) in self.code.iter().enumerate() {
            if i.label {
                state.forget(n);
                textures.forget();
            }
            let start = found.len();
            let mut add = |v: Violation| {
                // An instruction may read a register twice.
                if !found[start..].contains(&v) {
                    found.push(v);
                }
            };
            state.pending(n, |p| {
                if p.until > cycle && !p.scoreboard {
                    let rule = match p.hazard {
                        Hazard::Read => Rule::Read,
                        Hazard::Overwrite => Rule::Overwrite,
                        Hazard::Held => Rule::Held,
                    };
                    add(Violation { rule, at: n, by: p.by, what: Some(p.what), short: p.until - cycle });
                }
            });
            for &r in self.reads(n).iter().chain(self.writes(n)) {
                if let Some(by) = textures.pending(r).filter(|_| !is_texture(i.inst.op)) {
                    let what = Some(Resource::from_index(r));
                    add(Violation { rule: Rule::Texture, at: n, by, what, short: 0 });
                }
            }
            self.control(n, &mut add);
            state.issue(n, cycle);
            textures.issue(self, n);
            cycle += self.cycles_of(n);
            if latency::transfers(&i.inst) || i.inst.op == Op::Membar {
                state.forget(n + 1);
                textures.forget();
            }
        }
        found
    }

    /// What an instruction's own count breaks.
    fn control(&self, n: usize, add: &mut impl FnMut(Violation)) {
        let i = &self.code[n];
        let alone = |rule, short| Violation { rule, at: n, by: n, what: None, short };
        let bits = i.issue.into_bits();
        let known = i.is_dual()
            || i.issue == Issue::UNKNOWN
            || matches!(bits >> 5, 1 | 2)
            || i.inst.op == Op::Texdepbar && bits & 0x83 == 0x82;
        if !known {
            add(alone(Rule::Byte, 0));
        }
        let to = target(&i.inst).filter(|&t| t <= i.pc).map_or(Direction::On, |_| Direction::Back);
        let short = latency::least_drain(&i.inst, to, self.double).saturating_sub(self.cycles_of(n));
        if i.is_dual() {
            self.pair(n, add);
        } else if short > 0 {
            add(alone(Rule::BlockEnd, short));
        }
    }

    /// What a pair breaks whose first is the `n`th.
    fn pair(&self, n: usize, add: &mut impl FnMut(Violation)) {
        let a = &self.code[n];
        let alone = |rule, at| Violation { rule, at, by: n, what: None, short: 0 };
        let Some(b) = self.code.get(n + 1) else {
            return add(alone(Rule::PairSlot, n));
        };
        if a.slot() == SLOTS as u32 {
            add(alone(Rule::PairSlot, n));
        }
        if b.label {
            add(alone(Rule::PairLabel, n + 1));
        }
        if b.is_dual() {
            add(alone(Rule::PairThree, n + 1));
        }
        let shared = |rule, list: &[u16]| {
            let r = self.writes(n).iter().find(|r| list.contains(r))?;
            Some(Violation { rule, at: n + 1, by: n, what: Some(Resource::from_index(*r)), short: 0 })
        };
        shared(Rule::PairReads, self.reads(n + 1)).into_iter().for_each(&mut *add);
        shared(Rule::PairWrites, self.writes(n + 1)).into_iter().for_each(&mut *add);
        let units = latency::units_pair(latency::pair_set(a.inst.op), latency::pair_set(b.inst.op));
        if a.inst.sync || !units {
            add(alone(Rule::PairUnits, n + 1));
        }
        let lines = (latency::constant_line(&a.inst), latency::constant_line(&b.inst));
        if matches!(lines, (Some(x), Some(y)) if x != y) {
            add(alone(Rule::PairConstants, n + 1));
        }
        if self.conflicts(n) {
            add(alone(Rule::PairBanks, n + 1));
        }
    }

    /// Whether the `n`th instruction and the next read registers of one bank that the other does
    /// not read.
    pub fn conflicts(&self, n: usize) -> bool {
        let both = [&self.code[n], &self.code[n + 1]];
        if !both.iter().all(|i| latency::reads_banks(i.inst.op)) {
            return false;
        }
        let banks = |mine: &[u16], other: &[u16]| {
            let own = mine.iter().filter(|r| !other.contains(r));
            own.fold(0u8, |mask, &r| match Resource::from_index(r) {
                Resource::Gpr(r) => mask | 1 << latency::bank(r),
                _ => mask,
            })
        };
        let (a, b) = (self.reads(n), self.reads(n + 1));
        banks(a, b) & banks(b, a) != 0
    }
}
