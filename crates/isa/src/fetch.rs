//! Where instructions lie in code: 8 bytes each, but for the short forms of GF100, which have 4.
//!
//! Code is a list of 64-bit words, the first byte in the lowest bits. On GF100 an instruction may
//! begin at any multiple of 4; bit 3 of its first byte says how long it is, so a long one after a
//! single short one lies in two words.

use super::MInst;
use nvir_base::Chip;

/// Set in the first byte of an instruction of 4 bytes.
const SHORT_BIT: u64 = 1 << 3;

/// What stands for the half word that is left over at the end: `NOP {short}`.
const FILLER: u32 = 0x0000_1c08;

/// The bits of an instruction, and how many bytes they take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fetched {
    /// The high half is zero if they are 4.
    pub word: u64,
    /// Its length: 4 or 8.
    pub bytes: u32,
}

impl Fetched {
    /// An instruction of 8 bytes.
    pub const fn long(word: u64) -> Fetched {
        Fetched { word, bytes: 8 }
    }

    /// A short form of 4 bytes.
    pub const fn half(word: u32) -> Fetched {
        Fetched { word: word as u64, bytes: 4 }
    }
}

/// Instructions that a warp executed one after the other, in the order of the code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    /// The address of the first.
    pub first: u32,
    /// The address of the last.
    pub last: u32,
    /// Passes that the last one's request to memory took: one for each 128-byte segment of global memory, or each word of the bank
    /// of shared memory that most of its words lie in. At least 1.
    pub passes: u32,
}

/// Whether instructions of this code may begin in the middle of a word. Up to the first short form
/// all begin with one.
pub fn has_short_forms(chip: Chip, words: &[u64]) -> bool {
    chip == Chip::Gf100 && words.iter().any(|w| w & SHORT_BIT != 0)
}

/// The bits at a byte address, a multiple of 4, as an instruction; the last 4 bytes of the code are
/// all that is left where a longer one begins there. None outside the code.
pub fn fetch(chip: Chip, words: &[u64], pc: u32) -> Option<Fetched> {
    fetch_from(chip, |at| words.get(at).copied(), pc)
}

/// The same where `word` knows the words by their number.
pub fn fetch_from(chip: Chip, word: impl Fn(usize) -> Option<u64>, pc: u32) -> Option<Fetched> {
    if chip != Chip::Gf100 {
        return pc.is_multiple_of(8).then(|| word(pc as usize / 8)).flatten().map(Fetched::long);
    }
    let half = |pc: u32| {
        let word = pc.is_multiple_of(4).then(|| word(pc as usize / 8)).flatten()?;
        Some((word >> (pc % 8 * 8)) as u32)
    };
    let first = half(pc)?;
    if u64::from(first) & SHORT_BIT != 0 {
        return Some(Fetched::half(first));
    }
    Some(match half(pc.checked_add(4)?) {
        Some(second) => Fetched::long(u64::from(second) << 32 | u64::from(first)),
        None => Fetched::half(first),
    })
}

/// The instructions of code one after another, with their addresses.
pub fn sweep(chip: Chip, words: &[u64]) -> impl Iterator<Item = (u32, Fetched)> {
    let mut pc = 0;
    std::iter::from_fn(move || {
        let found = fetch(chip, words, pc)?;
        let at = pc;
        pc += found.bytes;
        Some((at, found))
    })
}

/// The words of instructions one after another: the inverse of [`sweep`]. If half a word is left, a
/// NOP fills it.
pub fn pack(insts: &[Fetched]) -> Vec<u64> {
    if insts.iter().all(|i| i.bytes == 8) {
        return insts.iter().map(|i| i.word).collect();
    }
    let high = |i: &Fetched| (i.bytes == 8).then_some((i.word >> 32) as u32);
    let halves: Vec<u32> = insts.iter().flat_map(|i| std::iter::once(i.word as u32).chain(high(i))).collect();
    let word = |pair: &[u32]| u64::from(pair[0]) | u64::from(pair.get(1).copied().unwrap_or(FILLER)) << 32;
    halves.chunks(2).map(word).collect()
}

/// The instruction that was fetched at an address.
pub fn decode(chip: Chip, fetched: Fetched, pc: u32) -> Option<MInst> {
    super::decode(chip, fetched.word, pc).filter(|m| m.bytes() == fetched.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXIT: u64 = 0x8000_0000_0000_1de7;
    const SHORT_EXIT: u32 = 0x8800_1dff;

    #[test]
    fn a_long_instruction_after_a_short_one_lies_in_two_words() {
        let insts =
            [Fetched::half(FILLER), Fetched::long(EXIT), Fetched::half(SHORT_EXIT), Fetched::long(EXIT)];
        let words = pack(&insts);
        assert_eq!(words.len(), 3);
        assert_eq!(sweep(Chip::Gf100, &words).map(|f| f.0).collect::<Vec<_>>(), [0, 4, 12, 16]);
        assert_eq!(sweep(Chip::Gf100, &words).map(|f| f.1).collect::<Vec<_>>(), insts);
        assert!(has_short_forms(Chip::Gf100, &words));
        assert!(!has_short_forms(Chip::Gf100, &[EXIT, EXIT]));
        // Other chips have words only.
        assert_eq!(sweep(Chip::Gk104, &words).map(|f| f.1.word).collect::<Vec<_>>(), words);
    }

    #[test]
    fn half_a_word_that_is_left_over_does_nothing() {
        let words = pack(&[Fetched::half(SHORT_EXIT)]);
        let text: Vec<String> = sweep(Chip::Gf100, &words)
            .map(|(pc, f)| {
                crate::text::print(Chip::Gf100, &decode(Chip::Gf100, f, pc).expect("an instruction"))
            })
            .collect();
        assert_eq!(text, ["EXIT {short}", "NOP {short}"]);
    }

    #[test]
    fn a_long_instruction_that_the_code_ends_in_is_none() {
        let words = [u64::from(FILLER) | EXIT << 32];
        let (pc, last) = sweep(Chip::Gf100, &words).nth(1).expect("the last half");
        assert_eq!((pc, last), (4, Fetched::half(EXIT as u32)));
        assert_eq!(decode(Chip::Gf100, last, pc), None);
        assert_eq!(fetch(Chip::Gf100, &words, 8), None);
    }

    #[test]
    fn two_short_instructions_are_no_instruction_of_eight_bytes() {
        assert_eq!(crate::decode(Chip::Gf100, pack(&[Fetched::half(FILLER); 2])[0], 0), None);
    }
}
