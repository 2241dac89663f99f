//! Code, decoded once and shared between launches.

use crate::Chip;
use std::collections::BTreeMap;

/// Decoded machine code of one chip.
#[derive(Clone, Debug)]
pub struct Program {
    chip: Chip,
    words: Vec<u64>,
    lines: BTreeMap<u32, String>,
}

impl Program {
    /// `words` is the code section as the hardware fetches it, scheduling words included; address 0 is its
    /// first byte. Words that are no instruction become faults when they are executed.
    pub fn new(chip: Chip, words: &[u64]) -> Program {
        Program { chip, words: words.to_vec(), lines: BTreeMap::new() }
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
}
