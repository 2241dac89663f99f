//! Code, decoded once and shared between launches.

use super::inst::{Body, Inst};
use super::resolve::{Pool, resolve};
use crate::Chip;
use crate::isa::fetch::{self, Fetched};
use crate::isa::{self, MInst, sched_word};
use std::collections::BTreeMap;

/// Decoded machine code of one chip.
#[derive(Clone, Debug)]
pub struct Program {
    chip: Chip,
    words: Vec<u64>,
    lines: BTreeMap<u32, String>,
    /// Instructions are looked up every `1 << step` bytes: 8, or 4 in code with short forms.
    step: u32,
    decoded: Vec<Option<MInst>>,
    pub(super) insts: Vec<Inst>,
    pub(super) pool: Pool,
}

impl Program {
    /// `words` is the code section as the hardware fetches it, scheduling words included; address 0 is its
    /// first byte. Words that are no instruction become faults when they are executed.
    pub fn new(chip: Chip, words: &[u64]) -> Program {
        let mut pool = Pool::new();
        let step = if fetch::has_short_forms(chip, words) { 2 } else { 3 };
        let places = (words.len() * 8) >> step;
        let mut decoded = Vec::with_capacity(places);
        let mut insts = Vec::with_capacity(places);
        for i in 0..places {
            let pc = (i << step) as u32;
            let fetched = fetch::fetch(chip, words, pc);
            if pc.is_multiple_of(sched_word::GROUP_BYTES)
                && fetched.is_some_and(|f| sched_word::decode(chip, f.word).is_some())
            {
                decoded.push(None);
                insts.push(Inst::new(Body::Sched));
                continue;
            }
            let m = fetched.and_then(|f| fetch::decode(chip, f, pc));
            let mut inst = match &m {
                Some(m) => resolve(chip, m, pc, &mut pool),
                None => Inst::new(Body::Illegal("the word is no instruction")),
            };
            inst.bytes = fetched.map_or(8, |f| f.bytes as u8);
            insts.push(inst);
            decoded.push(m);
        }
        Program { chip, words: words.to_vec(), lines: BTreeMap::new(), step, decoded, insts, pool }
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

    /// Where the instruction at a code address is in [`Program::insts`]; an address between two is outside.
    #[inline]
    pub(super) fn place(&self, pc: u32) -> usize {
        pc.rotate_right(self.step) as usize
    }

    /// The inverse of [`Program::place`].
    pub(super) fn address(&self, place: usize) -> u32 {
        (place as u32) << self.step
    }

    /// What code addresses are multiples of.
    pub(super) fn alignment(&self) -> u32 {
        1 << self.step
    }

    /// The instruction at a code address.
    pub fn instruction(&self, pc: u32) -> Option<&MInst> {
        self.decoded.get(self.place(pc))?.as_ref()
    }

    /// Why the word at a code address cannot run in a compute program, if it cannot.
    pub fn illegal(&self, pc: u32) -> Option<&'static str> {
        match self.insts.get(self.place(pc))?.body {
            Body::Illegal(why) => Some(why),
            _ => None,
        }
    }

    /// The SASS text at a code address, for reports.
    pub fn text(&self, pc: u32) -> String {
        let outside = || "<outside the code>".to_string();
        match self.decoded.get(self.place(pc)) {
            Some(Some(m)) => isa::text::print(self.chip, m),
            Some(None) => match fetch::fetch(self.chip, &self.words, pc) {
                Some(Fetched { word, bytes: 4 }) => format!("<unknown {word:#010x}>"),
                Some(Fetched { word, .. }) => format!("<unknown {word:#018x}>"),
                None => outside(),
            },
            None => outside(),
        }
    }
}
