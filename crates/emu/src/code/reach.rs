//! Which code a kernel can reach: it may lie anywhere in a segment of many programs.

use super::decode::{Pool, decode};
use super::micro::{Flow, Micro};
use nvir_base::Chip;
use nvir_isa::fetch::{self, Fetched};
use nvir_isa::sched_word;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Instructions that a kernel can reach at most; what lies beyond is no code.
const MAX_INSTRUCTIONS: usize = 1 << 20;

/// Gaps up to this many bytes between reachable instructions are decoded with them.
const MAX_GAP: u32 = 256;

/// Behind code with computed jumps, bytes that are taken for code at most.
const MAX_TAIL: u32 = 1 << 16;

/// Whether what was fetched is a scheduling word.
pub(crate) fn is_sched(chip: Chip, fetched: Option<Fetched>, pc: u32) -> bool {
    pc.is_multiple_of(sched_word::GROUP_BYTES)
        && fetched.is_some_and(|f| sched_word::decode(chip, f.word).is_some())
}

/// Ranges of addresses, multiples of 8, in order; one of them holds `entry`.
pub(crate) fn ranges(chip: Chip, entry: u32, word: &impl Fn(usize) -> Option<u64>) -> Vec<Range<u32>> {
    // Address to bytes.
    let mut seen = FxHashMap::default();
    let mut pool = Pool::new();
    let mut to_visit = vec![entry];
    let mut computed = false;
    while let Some(start) = to_visit.pop() {
        let mut pc = start;
        while seen.len() < MAX_INSTRUCTIONS && !seen.contains_key(&pc) {
            let fetched = fetch::fetch_from(chip, word, pc);
            seen.insert(pc, fetched.map_or(8, |f| f.bytes));
            let Some(f) = fetched else { break };
            let next = pc.wrapping_add(f.bytes);
            if !is_sched(chip, fetched, pc) {
                let Some(m) = fetch::decode(chip, f, pc) else { break };
                pool.clear();
                let inst = decode(chip, &m, pc, &mut pool);
                to_visit.extend(inst.micro.target());
                computed |= matches!(inst.micro, Micro::Flow(Flow::Brx { .. }));
                if inst.never_falls_through() {
                    break;
                }
            }
            pc = next;
        }
    }
    let mut all: Vec<(u32, u32)> = seen.into_iter().collect();
    all.sort_unstable();
    let mut ranges: Vec<Range<u32>> = Vec::new();
    for (pc, bytes) in all {
        let end = pc.saturating_add(bytes).saturating_add(7) & !7;
        let pc = pc & !7;
        match ranges.last_mut() {
            Some(r) if pc.saturating_sub(r.end) <= MAX_GAP => r.end = r.end.max(end),
            _ => ranges.push(pc..end),
        }
    }
    if computed {
        extend(&mut ranges, entry, word);
    }
    ranges
}

/// Takes what follows the range around `entry` for code, up to the first zero word.
fn extend(ranges: &mut Vec<Range<u32>>, entry: u32, word: &impl Fn(usize) -> Option<u64>) {
    let Some(r) = ranges.iter_mut().find(|r| r.contains(&entry)) else { return };
    let limit = r.end.saturating_add(MAX_TAIL);
    while r.end < limit && word(r.end as usize / 8).is_some_and(|w| w != 0) {
        r.end += 8;
    }
    let mut merged: Vec<Range<u32>> = Vec::new();
    for r in ranges.drain(..) {
        match merged.last_mut() {
            Some(last) if r.start <= last.end => last.end = last.end.max(r.end),
            _ => merged.push(r),
        }
    }
    *ranges = merged;
}

#[cfg(test)]
mod tests {
    use super::*;
    use nvir_isa as isa;

    /// Code of GK110 at an address, without scheduling words.
    fn place(code: &mut Vec<u64>, at: u32, lines: &[&str]) {
        for (i, line) in lines.iter().enumerate() {
            let pc = at + 8 * i as u32;
            let m = isa::text::parse(Chip::Gk110, line, pc, &|_| None).expect("it parses");
            let index = pc as usize / 8;
            if code.len() <= index {
                code.resize(index + 1, 0);
            }
            code[index] = isa::encode(Chip::Gk110, &m, pc).expect("it encodes");
        }
    }

    #[test]
    fn only_what_can_be_reached_is_code() {
        let mut code = Vec::new();
        place(&mut code, 0x1008, &["MOV R0, RZ", "RET", "NOP"]);
        place(&mut code, 0x8008, &["JCAL 0x1008", "@P0 BRA 0x8808", "EXIT", "NOP"]);
        place(&mut code, 0x8808, &["BRA 0x8008"]);
        let word = |at: usize| code.get(at).copied();
        let got = ranges(Chip::Gk110, 0x8008, &word);
        assert_eq!(got, [0x1008..0x1018, 0x8008..0x8020, 0x8808..0x8810]);
        // Nothing is there.
        assert_eq!(ranges(Chip::Gk110, 0x80000, &word), std::slice::from_ref(&(0x80000..0x80008)));
        assert_eq!(ranges(Chip::Gk110, u32::MAX - 3, &word).len(), 1);
    }

    #[test]
    fn what_follows_a_computed_jump_is_code() {
        let mut code = Vec::new();
        place(&mut code, 0x8008, &["BRX R0", "MOV R0, R1", "EXIT", "MOV R2, R3"]);
        let word = |at: usize| code.get(at).copied();
        assert_eq!(ranges(Chip::Gk110, 0x8008, &word), std::slice::from_ref(&(0x8008..0x8028)));
    }
}
