//! Code, decoded once and shared between launches.

use super::inst::{Body, Inst};
use super::resolve::{Pool, resolve};
use crate::Chip;
use crate::isa::{self, MInst};
use std::collections::BTreeMap;

/// Decoded machine code of one chip.
#[derive(Clone, Debug)]
pub struct Program {
    chip: Chip,
    words: Vec<u64>,
    lines: BTreeMap<u32, String>,
    decoded: Vec<Option<MInst>>,
    pub(super) insts: Vec<Inst>,
    pub(super) pool: Pool,
}

impl Program {
    /// `words` is the code section as the hardware fetches it, scheduling words included; address 0 is its
    /// first byte. Words that are no instruction become faults when they are executed.
    pub fn new(chip: Chip, words: &[u64]) -> Program {
        let mut pool = Pool::new();
        let mut decoded = Vec::with_capacity(words.len());
        let mut insts = Vec::with_capacity(words.len());
        for (i, &word) in words.iter().enumerate() {
            let pc = (i as u32).wrapping_mul(8);
            if pc.is_multiple_of(isa::sched_word::GROUP_BYTES)
                && isa::sched_word::decode(chip, word).is_some()
            {
                decoded.push(None);
                insts.push(Inst::new(Body::Sched));
                continue;
            }
            let m = isa::decode(chip, word, pc);
            insts.push(match &m {
                Some(m) => resolve(chip, m, pc, &mut pool),
                None => Inst::new(Body::Illegal("the word is no instruction")),
            });
            decoded.push(m);
        }
        Program { chip, words: words.to_vec(), lines: BTreeMap::new(), decoded, insts, pool }
    }

    /// Names the source line of code addresses: each entry holds from its address up to the next one.
    pub fn with_lines(mut self, lines: BTreeMap<u32, String>) -> Program {
        self.lines = lines;
        self
    }

    pub fn chip(&self) -> Chip {
        self.chip
    }

    /// Bytes of code.
    pub fn bytes(&self) -> usize {
        self.words.len() * 8
    }

    /// The source line of a code address.
    pub fn line(&self, pc: u32) -> Option<&str> {
        self.lines.range(..=pc).next_back().map(|(_, l)| l.as_str())
    }

    /// The instruction at a code address.
    pub fn instruction(&self, pc: u32) -> Option<&MInst> {
        self.decoded.get(pc as usize / 8)?.as_ref()
    }

    /// Why the word at a code address cannot run in a compute program, if it cannot.
    pub fn illegal(&self, pc: u32) -> Option<&'static str> {
        match self.insts.get(pc as usize / 8)?.body {
            Body::Illegal(why) => Some(why),
            _ => None,
        }
    }

    /// The SASS text at a code address, for reports.
    pub fn text(&self, pc: u32) -> String {
        match (self.instruction(pc), self.words.get(pc as usize / 8)) {
            (Some(m), _) => isa::text::print(self.chip, m),
            (None, Some(word)) => format!("<unknown {word:#018x}>"),
            (None, None) => "<outside the code>".to_string(),
        }
    }
}
