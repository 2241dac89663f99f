//! Addresses and words: from blocks with labels to the code section.

use super::fixup::{self, Condition, Fixup};
use crate::chip::Chip;
use crate::diag::Loc;
use crate::emit::code::{Code, Line, Made};
use crate::ir::{Fact, FuncId};
use crate::isa::sched_word::{self, Issue, SLOTS, address};
use crate::isa::{self, MInst, Mod, Op, Operand, Reg};
use nvir_asm::issue::{self, Issued};

/// The code section with its line table.
pub(crate) struct Section {
    pub words: Vec<u64>,
    pub lines: Vec<(u32, Loc)>,
    /// Why instructions are there, of those that no instruction of the IR became.
    pub made: Vec<(u32, Made)>,
    /// What depends on the state of the rasteriser.
    pub fixups: Vec<Fixup>,
    /// Addresses of calls of functions that are compiled separately.
    pub calls: Vec<(u32, FuncId)>,
    /// Instructions, and those of the library apart.
    pub instructions: u32,
    pub library: u32,
    /// Cycles from the first issue to the last, if every instruction is executed once.
    pub cycles: u64,
}

/// An instruction that has no encoding where it stands: a branch too far, or a defect of selection.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[error("no encoding for `{inst}` at {pc:#x}: {why}")]
pub(crate) struct LayoutError {
    pub inst: String,
    pub pc: u32,
    pub why: isa::EncodeError,
    pub loc: Loc,
}

/// Lays the code out from address 0.
pub(crate) fn section(chip: Chip, code: &Code) -> Result<Section, LayoutError> {
    // The number of the first instruction at or after the start of each block.
    let mut first = Vec::with_capacity(code.blocks.len() + 1);
    let mut count = 0u32;
    let mut library = 0;
    for b in &code.blocks {
        first.push(count);
        let n = (b.body.len() + b.tail.len()) as u32;
        count += n;
        library += if b.library { n } else { 0 };
    }
    first.push(count);
    let label_address = |label: u32| -> u32 {
        let block = code.labels.get(label as usize).copied().unwrap_or(u32::MAX);
        address(chip, first.get(block as usize).copied().unwrap_or(count))
    };

    let all = || code.blocks.iter().flat_map(|b| b.lines());
    let targets = code.targets();
    let places = code.blocks.iter().zip(&targets).enumerate().flat_map(|(n, (b, &target))| {
        b.lines().enumerate().map(move |(k, l)| Issued {
            inst: &l.inst,
            touches: l.touches,
            label: target && k == 0,
            to: code.direction(n, l),
        })
    });
    let issues = issue::control(places, &code.touched, count as usize, chip.has_sched_words());
    let cycles = issues.iter().map(|i| u64::from(i.cycles())).sum();
    let mut words: Vec<u64> = Vec::with_capacity(count as usize + count as usize / SLOTS + 1);
    let mut lines: Vec<(u32, Loc)> = Vec::with_capacity(count as usize);
    let mut made = Vec::new();
    let mut fixups = Vec::new();
    let mut calls = Vec::new();
    let mut groups = issues.chunks(SLOTS);
    for (n, line) in all().enumerate() {
        if chip.has_sched_words()
            && n % SLOTS == 0
            && let Some(group) = groups.next()
        {
            let mut slots = [Issue::UNKNOWN; SLOTS];
            slots[..group.len()].copy_from_slice(group);
            words.extend(sched_word::encode(chip, slots));
        }
        let pc = 8 * words.len() as u32;
        let resolved;
        let inst = match line.inst.operands.first() {
            Some(&Operand::Target(label)) => {
                resolved = with_target(&line.inst, label_address(label));
                &resolved
            }
            _ => &line.inst,
        };
        let word = isa::encode(chip, inst, pc).map_err(|why| LayoutError {
            inst: isa::text::print(chip, inst),
            pc,
            why,
            loc: line.loc,
        })?;
        words.push(word);
        if line.inst.op == Op::Cal && !code.external.is_empty() {
            // Labels were made in this order.
            let found = match line.inst.operands.first() {
                Some(&Operand::Target(label)) => {
                    code.external.binary_search_by_key(&label, |(l, _)| l.0).ok()
                }
                _ => None,
            };
            calls.extend(found.map(|k| (pc, code.external[k].1)));
        }
        fixups.extend(fixup(chip, pc, line));
        if lines.last().is_none_or(|l| l.1 != line.loc) {
            lines.push((pc, line.loc));
        }
        if line.made != Made::Selected {
            made.push((pc, line.made));
        }
    }
    Ok(Section { words, lines, made, fixups, calls, instructions: count - library, library, cycles })
}

/// What the driver may have to change about an instruction.
fn fixup(chip: Chip, pc: u32, line: &Line) -> Option<Fixup> {
    let m = &line.inst;
    match line.fact {
        Some(Fact::PerSample) => return Some(Fixup::Selection { pc, when: Condition::PerSample }),
        Some(Fact::Multisample) => return Some(Fixup::Selection { pc, when: Condition::Multisampled }),
        None if m.op != Op::Ipa => return None,
        None => {}
    }
    let mode = match () {
        () if m.has(Mod::Pass) => fixup::MODE_PASS,
        () if m.has(Mod::Constant) => fixup::MODE_CONSTANT,
        () if m.has(Mod::Sc) => fixup::MODE_COLOR,
        () => fixup::MODE_MULTIPLY,
    };
    let sample = if m.has(Mod::Centroid) { 1 } else { 2 * u8::from(m.has(Mod::Offset)) };
    let w = match m.operands.get(2) {
        Some(&Operand::Reg { reg, .. }) => reg.0,
        _ => Reg::Z.0,
    };
    let w = if w == Reg::Z.0 { fixup::zero(chip) } else { w };
    Some(Fixup::Interpolation { pc, mode, sample, w })
}

fn with_target(m: &MInst, address: u32) -> MInst {
    let mut m = m.clone();
    m.operands[0] = Operand::Target(address);
    m
}
