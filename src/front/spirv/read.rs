//! From the listing of a module, or its words, to its instructions.
//!
//! Nothing is interpreted but the grammar: each instruction has as many words as it says, the operands that its opcode takes,
//! and a result id of its own below the bound.

use super::grammar::{Misfit, Operand, Row, opcode};
use crate::diag::{Diagnostic, Diagnostics, Span};
use spirv::Op;

/// The first word of a module.
pub(super) const MAGIC: u32 = 0x0723_0203;
/// Words before the first instruction.
pub(super) const HEADER: usize = 5;
/// The universal limit of ids (SPIR-V, section 2.17).
const MAX_BOUND: u32 = 0x3f_ffff;

/// There are ids behind other operands.
const NOT_LEADING: u16 = u16::MAX;

/// An instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inst {
    pub(super) op: Op,
    /// Its first word among the module's.
    pub(super) at: u32,
    pub(super) words: u16,
    /// How many of its words behind the first are all its ids; [`NOT_LEADING`]: some stand behind other operands.
    leading: u16,
    /// 0: it has none.
    pub(super) ty: u32,
    /// 0: it has none.
    pub(super) result: u32,
    /// Its line in the listing.
    pub(super) span: Span,
}

impl Inst {
    /// Words before the operands: the opcode's, the type's and the result's.
    fn head(&self) -> usize {
        1 + usize::from(self.ty != 0) + usize::from(self.result != 0)
    }
}

/// The instructions of a module.
#[derive(Debug)]
pub(super) struct Words {
    pub(super) words: Vec<u32>,
    pub(super) insts: Vec<Inst>,
    /// By id: the number of the instruction that defines it, plus one.
    defs: Vec<u32>,
    /// Instructions that are not among them, since their opcodes are not known.
    pub(super) unknown: Vec<Diagnostic>,
}

impl Words {
    /// The operands of an instruction behind its type and result.
    pub(super) fn operands(&self, n: usize) -> &[u32] {
        let inst = &self.insts[n];
        let at = inst.at as usize;
        &self.words[at + inst.head()..at + usize::from(inst.words)]
    }

    /// Where among the words the operands of an instruction are, from one of them on.
    pub(super) fn operand_range(&self, n: usize, from: usize) -> std::ops::Range<usize> {
        let inst = &self.insts[n];
        let at = inst.at as usize;
        at + inst.head() + from..at + usize::from(inst.words)
    }

    /// The number of the instruction that defines an id.
    pub(super) fn def(&self, id: u32) -> Option<usize> {
        self.defs.get(id as usize)?.checked_sub(1).map(|n| n as usize)
    }

    /// The type of the value that an id is.
    pub(super) fn type_of(&self, id: u32) -> Option<u32> {
        self.def(id).map(|n| self.insts[n].ty).filter(|&ty| ty != 0)
    }

    /// Words of a switch's literals, by the type of its selector.
    pub(super) fn selector_words(&self, n: usize) -> usize {
        let wide = || {
            let selector = *self.operands(n).first()?;
            let ty = self.def(self.type_of(selector)?)?;
            Some(self.insts[ty].op == Op::TypeInt && self.operands(ty).first().is_some_and(|&bits| bits > 32))
        };
        if self.insts[n].op == Op::Switch && wide() == Some(true) { 2 } else { 1 }
    }

    /// Calls `f` with each operand of an instruction.
    pub(super) fn walk(&self, n: usize, f: impl FnMut(Operand)) -> Result<(), Misfit> {
        match Row::of(self.insts[n].op) {
            Some(row) => row.walk(self.behind_opcode(n), self.selector_words(n), f),
            None => Ok(()),
        }
    }

    /// The ids that an instruction names, if all of them stand in front of its other operands.
    pub(super) fn leading_ids(&self, n: usize) -> Option<&[u32]> {
        let Inst { leading, at, .. } = self.insts[n];
        let first = at as usize + 1;
        (leading != NOT_LEADING).then(|| &self.words[first..first + usize::from(leading)])
    }

    fn behind_opcode(&self, n: usize) -> &[u32] {
        let inst = &self.insts[n];
        let at = inst.at as usize;
        &self.words[at + 1..at + usize::from(inst.words)]
    }
}

/// The eight hexadecimal digits of a word, the first in the lowest byte.
pub(super) fn to_digits(word: u32) -> u64 {
    // Bytes are spread over 16 bits each, and their halves over bytes.
    let x = u64::from(word.swap_bytes());
    let x = (x | x << 16) & 0x0000_ffff_0000_ffff;
    let x = (x | x << 8) & 0x00ff_00ff_00ff_00ff;
    let x = (x << 8 | x >> 4) & 0x0f0f_0f0f_0f0f_0f0f;
    // Letters are those from 10 on, and stand 39 behind where digits would go on.
    let letters = (x + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101;
    x + 0x3030_3030_3030_3030 + letters * 39
}

/// The word of eight hexadecimal digits, if they are such.
fn from_digits(digits: [u8; 8]) -> u32 {
    let x = u64::from_le_bytes(digits);
    let x = (x & 0x0f0f_0f0f_0f0f_0f0f) + (x >> 6 & 0x0101_0101_0101_0101) * 9;
    let x = (x << 4 | x >> 8) & 0x00ff_00ff_00ff_00ff;
    let x = (x | x >> 8) & 0x0000_ffff_0000_ffff;
    ((x | x >> 16) as u32).swap_bytes()
}

/// The words of a line of a listing: what stands behind the last semicolon.
fn line_words(line: &str, words: &mut Vec<u32>) -> Option<()> {
    let line = line.as_bytes();
    let hex = &line[line.iter().rposition(|&b| b == b';')? + 1..];
    // As a listing has them: a blank and eight digits each.
    let (chunks, rest) = hex.as_chunks::<9>();
    if rest.trim_ascii().is_empty() && chunks.iter().all(|c| c[0] == b' ') {
        let before = words.len();
        let mut wrong = 0;
        words.extend(chunks.iter().map(|&[_, ref digits @ ..]| {
            let word = from_digits(*digits);
            wrong |= to_digits(word) ^ u64::from_le_bytes(*digits);
            word
        }));
        if wrong == 0 {
            return Some(());
        }
        words.truncate(before);
    }
    for word in std::str::from_utf8(hex).ok()?.split_ascii_whitespace() {
        words.push(u32::from_str_radix(word, 16).ok()?);
    }
    Some(())
}

/// The instructions of a listing ([`super::listing`]).
pub(super) fn words(text: &str) -> Result<Words, Diagnostics> {
    let mut lines = Vec::new();
    let mut words = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let shown = line.trim_ascii_end();
        let span = Span::new(start, start + shown.len());
        start += line.len();
        if shown.is_empty() {
            continue;
        }
        let at = words.len();
        if line_words(line, &mut words).is_none() {
            let what = "this is not a line of a SPIR-V listing: it does not end in words behind `;`";
            return Err(Diagnostic::error(what).at(span, "").into());
        }
        lines.push((at, span));
    }
    let first = lines.first().map_or(Span::new(0, 0), |&(_, span)| span);
    let mut line = 0;
    let place = |at: usize, _| {
        while lines.get(line + 1).is_some_and(|&(start, _)| start <= at) {
            line += 1;
        }
        lines[line].1
    };
    split(words, first, place)
}

/// The instructions of a module's words. They come from where the words are in its bytes.
pub(super) fn of_words(words: &[u32]) -> Result<Words, Diagnostics> {
    let place = |at: usize, count: usize| Span::new(4 * at, 4 * (at + count));
    split(words.to_vec(), place(0, HEADER), place)
}

/// Checks the header, which is at `first`, and finds the instructions. `place` says where one is from, by its place among the
/// words and how many it has.
fn split(
    words: Vec<u32>,
    first: Span,
    place: impl FnMut(usize, usize) -> Span,
) -> Result<Words, Diagnostics> {
    let header = |message: &str| Err(Diagnostic::error(message).at(first, "").into());
    let &[magic, version, _, bound, schema, ..] = words.as_slice() else {
        return header("the header of a SPIR-V module has five words");
    };
    if magic != MAGIC {
        return header("this is not a SPIR-V module: it does not begin with 0x07230203");
    }
    let [patch, minor, major, zero] = version.to_le_bytes();
    if (zero, major, patch) != (0, 1, 0) || minor > 6 {
        return header("the version of SPIR-V is none of 1.0 to 1.6");
    }
    if schema != 0 {
        return header("the header's schema is not 0");
    }
    if bound == 0 || bound > MAX_BOUND {
        return header("the bound of ids is not from 1 to 4194303");
    }
    // An instruction has three words or four, and few ids have none.
    let (insts, ids) = (words.len() / 3, words.len().min(bound as usize));
    let insts = Vec::with_capacity(insts);
    let mut all = Words { words, insts, defs: Vec::with_capacity(ids), unknown: Vec::new() };
    all.split(place, bound)?;
    Ok(all)
}

impl Words {
    /// Finds the instructions.
    fn split(&mut self, mut place: impl FnMut(usize, usize) -> Span, bound: u32) -> Result<(), Diagnostics> {
        let mut diags = Diagnostics::default();
        let (mut switches, mut misfits) = (Vec::new(), Vec::new());
        let mut at = HEADER;
        while at < self.words.len() {
            let first = self.words[at];
            let (count, number) = ((first >> 16) as usize, first & 0xffff);
            let span = place(at, count);
            let fatal = |message: String| Err(Diagnostic::error(message).at(span, "").into());
            if count == 0 {
                return fatal(format!("the instruction at byte {} has no words", 4 * at));
            }
            if at + count > self.words.len() {
                return fatal(format!(
                    "the instruction at byte {} has {count} words, and the module ends before",
                    4 * at
                ));
            }
            let operands = &self.words[at + 1..at + count];
            let op = opcode(number);
            let known = op.and_then(|op| Row::of(op).map(|row| (op, row)));
            let Some((op, row)) = known else {
                let fault = match op {
                    Some(op) => Diagnostic::unsupported(format!("Op{op:?} is not supported")),
                    None => Diagnostic::error(format!("there is no opcode {number}")),
                };
                self.unknown.push(fault.at(span, ""));
                at += count;
                continue;
            };
            let (typed, named) = row.results();
            let (ty, result) = match (typed, named) {
                (true, true) => (operands.first().copied(), operands.get(1).copied()),
                (_, true) => (Some(0), operands.first().copied()),
                _ => (Some(0), Some(0)),
            };
            let n = self.insts.len();
            let (Some(ty), Some(result)) = (ty, result) else {
                return fatal(format!("Op{op:?} has too few operands"));
            };
            let leading = row.leading_ids(operands.len()).map_or(NOT_LEADING, |ids| ids as u16);
            self.insts.push(Inst { op, at: at as u32, words: count as u16, leading, ty, result, span });
            let wrong = |message: String| Diagnostic::error(message).at(span, "");
            if typed && ty == 0 || named && result == 0 {
                return fatal(format!("Op{op:?} has the id 0"));
            }
            if result >= bound || ty >= bound {
                diags.push(wrong(format!("%{} is not below the bound of ids", result.max(ty))));
            } else if named {
                if self.defs.len() <= result as usize {
                    self.defs.resize(result as usize + 1, 0);
                }
                match &mut self.defs[result as usize] {
                    def @ 0 => *def = n as u32 + 1,
                    _ => diags.push(wrong(format!("%{result} is defined twice"))),
                }
            }
            if op == Op::Switch {
                // The type of its selector may stand behind it.
                switches.push(n);
            } else if let Err(misfit) = row.check(operands, 1) {
                misfits.push((n, misfit));
            }
            at += count;
        }
        let wide = |&n: &usize| Some((n, self.walk(n, |_| {}).err()?));
        misfits.extend(switches.iter().filter_map(wide));
        misfits.sort_unstable_by_key(|m| m.0);
        for (n, misfit) in misfits {
            let op = self.insts[n].op;
            let what = match misfit {
                Misfit::Short => "has too few operands".to_string(),
                Misfit::Long => "has too many operands".to_string(),
                Misfit::Endless => "has a string that does not end".to_string(),
                Misfit::Opcode(number) => format!("computes nothing: there is no opcode {number}"),
            };
            diags.push(Diagnostic::error(format!("Op{op:?} {what}")).at(self.insts[n].span, ""));
        }
        if diags.has_errors() { Err(diags) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_from_the_digits_that_are_written() {
        let mut random = 1u32;
        for _ in 0..1000 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let digits = to_digits(random).to_le_bytes();
            assert_eq!(std::str::from_utf8(&digits).unwrap(), format!("{random:08x}"));
            assert_eq!(from_digits(digits), random);
        }
    }

    #[test]
    fn what_is_no_word_is_refused_and_other_ways_to_write_one_are_not() {
        let read = |line: &str| {
            let mut words = Vec::new();
            line_words(line, &mut words).map(|()| words)
        };
        assert_eq!(read("%1 = OpX ; 0004003b 00000006\n"), Some(vec![0x4003b, 6]));
        assert_eq!(read("; 0004003B 6\n"), Some(vec![0x4003b, 6]));
        assert_eq!(read("; 0004003b 0000000g\n"), None);
        assert_eq!(read("; 0004003b 0000000:\n"), None);
        assert_eq!(read("; 0004003b 0000006\u{ff}\n"), None);
        assert_eq!(read("no semicolon"), None);
    }
}
