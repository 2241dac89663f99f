//! What is done to a SPIR-V module: to its instructions and their words. Most changes keep the grammar, so that mutants reach
//! what lies behind it.

use super::mutate;
use nvir::random::Random;

/// Words before the first instruction; one of them is the bound of ids.
const HEADER: usize = 5;
const BOUND: usize = 3;

/// Numbers at which something ends.
const EDGES: &[u32] = &[
    0,
    1,
    2,
    3,
    4,
    7,
    8,
    16,
    17,
    31,
    32,
    33,
    63,
    64,
    65,
    255,
    256,
    1023,
    1024,
    65535,
    1 << 16,
    1 << 31,
    u32::MAX,
];

/// A module's header and its instructions.
struct Module {
    header: Vec<u32>,
    insts: Vec<Vec<u32>>,
}

impl Module {
    fn read(data: &[u8]) -> Module {
        let words: Vec<u32> = data.as_chunks().0.iter().map(|&b| u32::from_le_bytes(b)).collect();
        let (header, mut rest) = words.split_at(HEADER.min(words.len()));
        let mut insts = Vec::new();
        while let Some(&first) = rest.first() {
            let count = (first >> 16).max(1) as usize;
            let (inst, behind) = rest.split_at(count.min(rest.len()));
            insts.push(inst.to_vec());
            rest = behind;
        }
        Module { header: header.to_vec(), insts }
    }

    /// The module's bytes; each instruction has as many words as it has.
    fn write(mut self) -> Vec<u8> {
        for inst in &mut self.insts {
            inst[0] = inst[0] & 0xffff | (inst.len() as u32) << 16;
        }
        let words = self.header.iter().chain(self.insts.iter().flatten());
        words.flat_map(|w| w.to_le_bytes()).collect()
    }

    /// An id that nothing has.
    fn fresh(&mut self) -> u32 {
        match self.header.get_mut(BOUND) {
            Some(bound) => {
                *bound = bound.wrapping_add(1);
                bound.wrapping_sub(1)
            }
            None => 0,
        }
    }
}

/// A module with one to some changes.
pub(crate) fn module(seed: &[u8], other: &[u8], r: &mut Random) -> Vec<u8> {
    if r.one_in(16) {
        return mutate::bytes(seed, other, r);
    }
    let (mut m, others) = (Module::read(seed), Module::read(other));
    let count = match r.below(8) {
        0 => 1 + r.below(12),
        1 | 2 => 2,
        _ => 1,
    };
    for _ in 0..count {
        if !m.insts.is_empty() && !others.insts.is_empty() {
            change(&mut m, &others, r);
        }
    }
    m.write()
}

fn change(m: &mut Module, others: &Module, r: &mut Random) {
    let at = r.below(m.insts.len());
    match r.below(24) {
        0 => {
            m.insts.remove(at);
        }
        1 => {
            let to = r.below(m.insts.len());
            m.insts.swap(at, to);
        }
        2 if at + 1 < m.insts.len() => m.insts.swap(at, at + 1),
        3 => {
            // Once more, as a value of its own if that is where its result stands.
            let mut inst = m.insts[at].clone();
            let id = m.fresh();
            if let Some(result) = inst.get_mut(2) {
                *result = id;
            }
            m.insts.insert(at + 1, inst);
        }
        4 => m.insts.insert(at, r.of_list(&others.insts).clone()),
        5 if r.one_in(8) => m.insts.truncate(at),
        6 => {
            // A word more or less.
            let inst = &mut m.insts[at];
            if r.one_in(2) && inst.len() > 1 {
                inst.pop();
            } else {
                inst.push(r.below(64) as u32);
            }
        }
        7 | 8 => {
            // Another operation of the same form.
            let len = m.insts[at].len();
            for _ in 0..16 {
                let list = if r.one_in(2) { &others.insts } else { &m.insts };
                let from = r.of_list(list);
                if from.len() == len {
                    m.insts[at][0] = from[0];
                    break;
                }
            }
        }
        9 if r.one_in(12) => {
            let end = (at + 1 + r.below(6)).min(m.insts.len());
            let piece = m.insts[at..end].to_vec();
            m.insts.splice(at..at, std::iter::repeat_n(piece, 1 << r.below(8)).flatten());
        }
        _ => word(m, at, r),
    }
}

/// Changes an operand.
fn word(m: &mut Module, at: usize, r: &mut Random) {
    let len = m.insts[at].len();
    if len < 2 {
        return;
    }
    let k = 1 + r.below(len - 1);
    let old = m.insts[at][k];
    m.insts[at][k] = match r.below(10) {
        0 => old ^ 1 << r.below(32),
        1 => *r.of_list(EDGES),
        2 => old.wrapping_add(1),
        3 => old.wrapping_sub(1),
        // An operand of another instruction, from the same place if it is of the same kind.
        n => {
            let opcode = |inst: &[u32]| inst[0] & 0xffff;
            let mut new = old;
            for _ in 0..32 {
                let from = r.of_list(&m.insts);
                let same = opcode(from) == opcode(&m.insts[at]);
                if (same || n < 7) && from.len() > k && from[k] != old {
                    new = from[k];
                    break;
                }
            }
            new
        }
    };
}
