//! Checks finished code of Kepler against the rules of issue control, whoever made it.
//!
//! ```text
//! nvir compile, ptxas, Mesa, ...  --words-->  Schedule  --> violations: where a rule is broken
//!                                                       --> waits:      what the rules ask for between groups
//!                                                       --> totals:     cycles and pairs
//! ```
//!
//! It shares the table of times ([`nvir_isa::latency`]) with the scheduler, but nothing else: it
//! starts from words. The rules are what ptxas never breaks; `docs/scheduling.md` has them for
//! people. At a label, and behind what transfers control, nothing of fixed latency is pending,
//! since ends of blocks wait for it: what is known begins anew there.
//!
//! | file | what |
//! | --- | --- |
//! | `state` | what an instruction has to wait for, along straight code |
//! | `rules` | violations |
//! | `waits` | the counts that the rules ask for, and why |
//! | `totals` | cycles of one warp |

pub mod rules;
mod state;
pub mod totals;
pub mod waits;

pub use rules::{Rule, Violation};
pub use totals::Totals;
pub use waits::{Wait, Why};

use nvir_base::Chip;
use nvir_isa::effects::{Touched, Touches};
use nvir_isa::sched_word::{self, GROUP_BYTES, Issue, SLOTS};
use nvir_isa::{self as isa, MInst, Op, Operand, latency};

/// An instruction of finished code.
#[derive(Clone, Debug)]
pub struct Issued {
    /// Its byte address.
    pub pc: u32,
    /// What it is; targets are byte addresses.
    pub inst: MInst,
    /// When the next one issues.
    pub issue: Issue,
    /// Whether something branches, or comes back, to it.
    pub label: bool,
    touches: Touches,
}

impl Issued {
    /// Its place among the seven of its scheduling word, from 1.
    pub fn slot(&self) -> u32 {
        self.pc % GROUP_BYTES / 8
    }

    /// Whether it issues together with the next one.
    pub fn is_dual(&self) -> bool {
        self.issue == Issue::DUAL
    }
}

/// The instructions of a code section with their issue control.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// What it is for.
    pub chip: Chip,
    /// In their order, without padding behind the last.
    pub code: Vec<Issued>,
    touched: Touched,
    /// Whether there is FP64, which makes ends of blocks shorter.
    double: bool,
}

/// Words that are no code with issue control.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unreadable {
    /// Fermi decides by itself.
    #[error("{0} has no scheduling words: its hardware decides when an instruction issues")]
    Chip(Chip),
    /// The first of eight words is no scheduling word.
    #[error(
        "{word:#018x} at {pc:#06x} is not a scheduling word of {chip}, which stands at every multiple of 64"
    )]
    Control {
        /// What it should be for.
        chip: Chip,
        /// Its byte address.
        pc: u32,
        /// What stands there.
        word: u64,
    },
    /// A word that is no instruction.
    #[error("{word:#018x} at {pc:#06x} is not an instruction of {chip}")]
    Instruction {
        /// What it should be for.
        chip: Chip,
        /// Its byte address.
        pc: u32,
        /// What stands there.
        word: u64,
    },
}

impl Schedule {
    /// Reads a code section from address 0, scheduling words included.
    ///
    /// # Errors
    /// A chip without issue control; the first word that is not what has to stand there.
    pub fn read(chip: Chip, words: &[u64]) -> Result<Schedule, Unreadable> {
        if !chip.has_sched_words() {
            return Err(Unreadable::Chip(chip));
        }
        let mut s = Schedule {
            chip,
            code: Vec::with_capacity(words.len()),
            touched: Touched::default(),
            double: false,
        };
        s.touched.reserve(words.len());
        for (group, at) in words.chunks(SLOTS + 1).zip((0..).step_by(GROUP_BYTES as usize)) {
            let Some(control) = sched_word::decode(chip, group[0]) else {
                // Behind the end of the code ptxas leaves the word out.
                if isa::decode(chip, group[0], at).is_some_and(|m| is_padding(&m, at)) {
                    break;
                }
                return Err(Unreadable::Control { chip, pc: at, word: group[0] });
            };
            for ((&word, issue), pc) in group[1..].iter().zip(control).zip((at + 8..).step_by(8)) {
                let inst = isa::decode(chip, word, pc).ok_or(Unreadable::Instruction { chip, pc, word })?;
                let touches = s.touched.add(&inst);
                s.code.push(Issued { pc, inst, issue, label: false, touches });
            }
        }
        s.trim();
        s.labels();
        s.double = s.code.iter().any(|i| latency::is_double(&i.inst));
        Ok(s)
    }

    /// Drops what never runs at the end.
    fn trim(&mut self) {
        while self.code.last().is_some_and(|i| is_padding(&i.inst, i.pc)) {
            self.code.pop();
        }
    }

    fn labels(&mut self) {
        for n in 0..self.code.len() {
            let Some(mut to) = target(&self.code[n].inst) else { continue };
            // Some point at the scheduling word before what they mean.
            to += if to.is_multiple_of(GROUP_BYTES) { 8 } else { 0 };
            if let Ok(at) = self.code.binary_search_by_key(&to, |i| i.pc) {
                self.code[at].label = true;
            }
        }
    }

    /// What an instruction reads, as [`nvir_isa::effects::Resource::index`].
    pub(crate) fn reads(&self, n: usize) -> &[u16] {
        self.touched.reads(self.code[n].touches)
    }

    /// What it writes.
    pub(crate) fn writes(&self, n: usize) -> &[u16] {
        self.touched.writes(self.code[n].touches)
    }

    /// Cycles from an instruction to the next in the code.
    pub fn cycles_of(&self, n: usize) -> u32 {
        self.code[n].issue.cycles()
    }

    /// The instructions that issue together, one or two, as the range of their numbers.
    pub fn groups(&self) -> impl Iterator<Item = std::ops::Range<usize>> {
        let mut next = 0;
        std::iter::from_fn(move || {
            let first = next;
            let dual = self.code.get(first)?.is_dual() && first + 1 < self.code.len();
            next = first + 1 + usize::from(dual);
            Some(first..next)
        })
    }
}

/// Checks code that nvir made; chips without issue control have nothing to check.
///
/// # Errors
/// The first place that breaks a rule, in words.
pub fn verify(chip: Chip, words: &[u64]) -> Result<(), String> {
    if !chip.has_sched_words() {
        return Ok(());
    }
    let schedule = Schedule::read(chip, words).map_err(|e| e.to_string())?;
    match schedule.violations().iter().find(|v| !v.rule.is_advice()) {
        Some(v) => Err(v.describe(&schedule)),
        None => Ok(()),
    }
}

/// Whether an instruction at an address only fills the end of a code section: a NOP, a branch to
/// itself.
fn is_padding(m: &MInst, pc: u32) -> bool {
    m.guard.is_true() && !m.sync && (m.op == Op::Nop || m.op == Op::Bra && target(m) == Some(pc))
}

/// Where an instruction with a target leads.
fn target(m: &MInst) -> Option<u32> {
    m.operands.iter().find_map(|o| match *o {
        Operand::Target(t) => Some(t),
        _ => None,
    })
}
