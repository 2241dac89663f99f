//! Code, decoded once and shared between launches.

use super::beginning::registers_to_clear;
use super::blocks;
use super::decode::{Pool, decode};
use super::micro::{Inst, Micro};
use super::reach;
use super::steps::{self, Step};
use crate::run::attached::Attached;
use nvir_base::Chip;
use nvir_isa::fetch::{self, Fetched};
use nvir_isa::{self as isa, MInst};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Code without gaps.
#[derive(Clone, Debug)]
struct Segment {
    /// The address of the first word, a multiple of 8.
    start: u32,
    words: Vec<u64>,
    /// Where its instructions begin in [`Code::insts`].
    first: usize,
}

impl Segment {
    fn word(&self, at: usize) -> Option<u64> {
        self.words.get(at.checked_sub(self.start as usize / 8)?).copied()
    }
}

/// Decoded machine code of one chip: micro-ops in basic blocks. Nothing of a launch is in it.
#[derive(Debug)]
pub struct Code {
    chip: Chip,
    /// The one that most instructions are fetched from comes first, the others by address.
    segments: Vec<Segment>,
    /// Instructions are looked up every `1 << step` bytes: 8, or 4 in code with short forms.
    step: u32,
    decoded: Vec<Option<MInst>>,
    pub(crate) insts: Vec<Inst>,
    /// One for each of them.
    pub(crate) steps: Vec<Step>,
    /// The registers up to the highest that any of them names.
    pub(crate) named: Range<usize>,
    /// Whether any of them is a barrier.
    pub(crate) has_barriers: bool,
    /// How many of them are in the primary segment, and its address.
    pub(crate) primary: (usize, u32),
    pub(crate) pool: Pool,
    /// What an engine has made of it.
    pub(crate) attached: Attached,
    /// See [`Code::cleared`]: of the first entry that was asked for.
    cleared: OnceLock<(u32, Vec<Range<usize>>)>,
}

/// Decoded machine code of one chip, with what is known of its source.
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) code: Arc<Code>,
    lines: BTreeMap<u32, String>,
}

impl Code {
    /// Addresses and the words from there on; the first are the primary ones.
    fn new(chip: Chip, segments: Vec<(u32, Vec<u64>)>) -> Code {
        let mut pool = Pool::new();
        let short = segments.iter().any(|(_, words)| fetch::has_short_forms(chip, words));
        let step = if short { 2 } else { 3 };
        let mut decoded = Vec::new();
        let mut insts = Vec::new();
        let mut all = Vec::new();
        for (start, words) in segments {
            let segment = Segment { start, words, first: insts.len() };
            for i in 0..(segment.words.len() * 8) >> step {
                let pc = start + ((i as u32) << step);
                let fetched = fetch::fetch_from(chip, |at| segment.word(at), pc);
                if reach::is_sched(chip, fetched, pc) {
                    decoded.push(None);
                    insts.push(Inst::new(Micro::Sched));
                    continue;
                }
                let m = fetched.and_then(|f| fetch::decode(chip, f, pc));
                let mut inst = match &m {
                    Some(m) => decode(chip, m, pc, &mut pool),
                    None => Inst::new(Micro::Illegal("unknown instruction")),
                };
                inst.bytes = fetched.map_or(8, |f| f.bytes as u8);
                insts.push(inst);
                decoded.push(m);
            }
            all.push(segment);
        }
        let primary = (all.get(1).map_or(insts.len(), |s| s.first), all.first().map_or(0, |s| s.start));
        let named = 0..insts.iter().map(Inst::gprs).max().unwrap_or(0) as usize;
        let has_barriers = insts.iter().any(|i| matches!(i.micro, Micro::Bar { .. }));
        let attached = Attached::default();
        let mut code = Code {
            chip,
            segments: all,
            step,
            decoded,
            insts,
            steps: Vec::new(),
            named,
            has_barriers,
            primary,
            pool,
            attached,
            cleared: OnceLock::new(),
        };
        blocks::mark_leaders(&mut code);
        code.steps = code.steps_of(&code.insts);
        code
    }

    /// Steps through instructions that stand for [`Code::insts`].
    pub(crate) fn steps_of(&self, insts: &[Inst]) -> Vec<Step> {
        let (index, address) = (|pc| self.index(pc), |at| self.address(at));
        steps::steps(insts, self.segment_starts(), self.step(), index, address)
    }

    /// Where the instruction at a code address is among [`Code::instructions`].
    #[inline]
    pub fn index(&self, pc: u32) -> Option<usize> {
        let (count, start) = self.primary;
        // An address between two instructions becomes a large number.
        let at = pc.wrapping_sub(start).rotate_right(self.step) as usize;
        if at < count { Some(at) } else { self.index_elsewhere(pc) }
    }

    #[inline(never)]
    fn index_elsewhere(&self, pc: u32) -> Option<usize> {
        let others = self.segments.get(1..)?;
        let s = &others[others.partition_point(|s| s.start <= pc).checked_sub(1)?];
        let at = (pc - s.start).rotate_right(self.step) as usize;
        (at < (s.words.len() * 8) >> self.step).then_some(s.first + at)
    }

    /// The registers that [`registers_to_clear`] says for an entry, or, for others than the first, all that are named.
    pub(crate) fn cleared(&self, entry: u32) -> &[Range<usize>] {
        let clear = || self.index(entry).map(|at| registers_to_clear(self, at));
        let (of, ranges) = self.cleared.get_or_init(|| (entry, clear().unwrap_or_default()));
        if *of == entry { ranges } else { std::slice::from_ref(&self.named) }
    }

    /// The inverse of [`Code::index`].
    pub fn address(&self, index: usize) -> u32 {
        match self.segments.iter().rev().find(|s| s.first <= index) {
            Some(s) => s.start + (((index - s.first) as u32) << self.step),
            None => 0,
        }
    }

    /// What code addresses are multiples of.
    pub(crate) fn alignment(&self) -> u32 {
        1 << self.step
    }

    /// Bytes between two instructions as a power of two.
    pub(crate) fn step(&self) -> u32 {
        self.step
    }

    /// Where each segment begins in [`Code::insts`].
    pub(super) fn segment_starts(&self) -> impl Iterator<Item = usize> + '_ {
        self.segments.iter().map(|s| s.first)
    }
}

impl From<Code> for Program {
    fn from(code: Code) -> Program {
        Program { code: Arc::new(code), lines: BTreeMap::new() }
    }
}

impl Program {
    /// `words` is the code section as the hardware fetches it, scheduling words included; address 0 is its
    /// first byte. Words that are no instruction become faults when they are executed.
    pub fn new(chip: Chip, words: &[u64]) -> Program {
        Program::from(Code::new(chip, vec![(0, words.to_vec())]))
    }

    /// What can be reached from `entry` of code that lies among other things: `word` gives the 64 bits at an address
    /// divided by 8, where there are some.
    ///
    /// Where a jump's targets are only known when it is executed, what follows is decoded, too.
    pub fn reachable(chip: Chip, entry: u32, word: impl Fn(usize) -> Option<u64>) -> Program {
        let mut ranges = reach::ranges(chip, entry, &word);
        let at = ranges.iter().position(|r| r.contains(&entry));
        ranges[..=at.unwrap_or(0)].rotate_right(1);
        let words = |r: std::ops::Range<u32>| {
            let all = (r.start as usize / 8..r.end.div_ceil(8) as usize).map_while(&word);
            (r.start, all.collect())
        };
        Program::from(Code::new(chip, ranges.into_iter().map(words).collect()))
    }

    /// Names the source line of code addresses: each entry holds from its address up to the next one.
    pub fn with_lines(mut self, lines: BTreeMap<u32, String>) -> Program {
        self.lines = lines;
        self
    }

    /// What it runs on.
    pub fn chip(&self) -> Chip {
        self.code.chip
    }

    /// Bytes of code.
    pub fn bytes(&self) -> usize {
        self.code.segments.iter().map(|s| s.words.len() * 8).sum()
    }

    /// The code: addresses, and the words that follow each other from there. The first holds the entry.
    pub fn code(&self) -> impl Iterator<Item = (u32, &[u64])> {
        self.code.segments.iter().map(|s| (s.start, s.words.as_slice()))
    }

    /// Whether an instruction may store to memory that other threads see.
    pub fn writes_memory(&self) -> bool {
        self.code.insts.iter().any(|i| i.writes_memory())
    }

    /// The source line of a code address.
    pub fn line(&self, pc: u32) -> Option<&str> {
        self.lines.range(..=pc).next_back().map(|(_, l)| l.as_str())
    }

    /// The instruction at a code address.
    pub fn instruction(&self, pc: u32) -> Option<&MInst> {
        self.code.decoded.get(self.code.index(pc)?)?.as_ref()
    }

    /// Why the word at a code address cannot run in a compute program, if it cannot.
    pub fn illegal(&self, pc: u32) -> Option<&'static str> {
        match self.code.insts.get(self.code.index(pc)?)?.micro {
            Micro::Illegal(why) => Some(why),
            _ => None,
        }
    }

    /// Whether a warp passes a code address without executing anything there: a scheduling word.
    pub fn is_scheduling_word(&self, pc: u32) -> bool {
        self.instruction(pc).is_none() && self.illegal(pc).is_none()
    }

    /// The SASS text at a code address, for reports.
    pub fn text(&self, pc: u32) -> String {
        let outside = || "<outside the code>".to_string();
        let Some(place) = self.code.index(pc) else { return outside() };
        if let Some(Some(m)) = self.code.decoded.get(place) {
            return isa::text::print(self.code.chip, m);
        }
        let word = |at| self.code.segments.iter().find_map(|s| s.word(at));
        match fetch::fetch_from(self.code.chip, word, pc) {
            Some(Fetched { word, bytes: 4 }) => format!("<unknown {word:#010x}>"),
            Some(f) if reach::is_sched(self.code.chip, Some(f), pc) => {
                format!("<scheduling {:#018x}>", f.word)
            }
            Some(Fetched { word, .. }) => format!("<unknown {word:#018x}>"),
            None => outside(),
        }
    }

    /// The SASS around a code address, for reports: addresses and text of up to `count` instructions before and after.
    pub fn around(&self, pc: u32, count: usize) -> Vec<(u32, String)> {
        let Some(place) = self.code.index(pc) else { return Vec::new() };
        let shown = |&at: &usize| self.code.decoded[at].is_some() || at == place;
        let near = |at: &usize| self.code.address(*at).abs_diff(pc) <= 64 * count as u32;
        let mut before: Vec<usize> = (0..place).rev().take_while(near).filter(shown).take(count).collect();
        before.reverse();
        let after = (place..self.code.insts.len()).take_while(near).filter(shown).take(count + 1);
        before
            .into_iter()
            .chain(after)
            .map(|at| (self.code.address(at), self.text(self.code.address(at))))
            .collect()
    }
}
