//! Words of common instructions, by form: what is the same for all instructions of an operation with the same suffixes
//! and kinds of operands is worked out once.
//!
//! ```text
//! IADD R3, R1, c[0x0][0x4]   form: IADD, no suffix, register register constant
//!                            template: the fixed bits; registers at 2 and 10; the third operand by its slot
//! ```
//!
//! A program has some dozen forms. The template of one says where its plain registers and predicates go, so that most
//! instructions are put together without a branch that depends on them. Whatever has no template, or details that it does
//! not cover (register modifiers, `.S`), is encoded by looking for a row, which is what says the truth.

use super::codec::{encode_groups, encode_operand, encode_pred, shape};
use super::row::{Bit, Bits, Kind, Row};
use super::table::Table;
use super::{MInst, Mod, Op, Operand, Reg, Sel};
use arrayvec::ArrayVec;
use std::sync::OnceLock;

/// Operands and suffixes of an instruction that can have a template.
const MAX_OPERANDS: usize = 6;
const MAX_MODS: usize = 3;

/// Everything that the choice of a template depends on: operation, suffixes, kinds of operands.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Form(u64);

const MOD_BITS: u32 = 9;
const OP_BITS: u32 = 8;
const SHAPE_BITS: u32 = 4 * MAX_OPERANDS as u32;
const _: () = assert!(Mod::ALL.len() < 1 << MOD_BITS && Op::ALL.len() <= 1 << OP_BITS);
const _: () = assert!(SHAPE_BITS + OP_BITS + MAX_MODS as u32 * MOD_BITS <= u64::BITS);

impl Form {
    fn of(m: &MInst) -> Option<Form> {
        // Every field is named, so that a new one has to be considered. Guards are in no form: each is put in anew.
        let MInst { op: _, guard: _, sync: _, mods: _, operands: _, form: _ } = m;
        if m.sync | (m.form != 0) | (m.mods.len() > MAX_MODS) | (m.operands.len() > MAX_OPERANDS) {
            return None;
        }
        let mods = m.mods.iter().fold(0, |all, &k| all << MOD_BITS | (1 + k as u64));
        Some(Form((mods << OP_BITS | m.op as u64) << SHAPE_BITS | shape(m)))
    }

    /// The first place in the table of templates.
    fn place(self) -> usize {
        (self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - PLACES.ilog2())) as usize
    }
}

/// Where a plain register goes.
#[derive(Clone, Copy, Debug)]
struct Register {
    operand: u8,
    shift: u8,
    mask: u8,
    /// Numbers from here on do not exist, RZ excepted.
    limit: u8,
}

/// Plain registers of an instruction that can have a template.
const REGISTERS: usize = 4;

/// Where a predicate goes, and its negation.
#[derive(Clone, Copy, Debug)]
struct Predicate {
    operand: u8,
    at: Bits,
    not: Bit,
}

/// What instructions of one form have in common.
#[derive(Debug)]
struct Template {
    /// The number of the row, the first that has the suffixes and kinds of operands.
    row: u16,
    /// The word with all operands zero and without a guard.
    word: u64,
    /// Plain registers: none or always the same number, so that no loop ends where it is hard to foresee. Those that are too
    /// many put nothing of the first one's number.
    registers: Option<[Register; REGISTERS]>,
    predicates: ArrayVec<Predicate, MAX_OPERANDS>,
    /// Operands that are left to their slots.
    others: ArrayVec<u8, MAX_OPERANDS>,
    /// Some words of this form are not the row's.
    partial: bool,
}

impl Template {
    fn of(table: &Table, m: &MInst) -> Option<Template> {
        let shape = shape(m);
        let fitting = |&n: &usize| {
            let row = &table.rows()[n];
            row.shape == shape && row.variant == 0 && encode_groups(row, &m.mods, 0).is_ok()
        };
        let number = table.range(m.op).find(fitting)?;
        let row = &table.rows()[number];
        if row.tied {
            return None;
        }
        let (suffixes, _) = encode_groups(row, &m.mods, 0).ok()?;
        let mut registers = ArrayVec::<Register, REGISTERS>::new();
        let (mut predicates, mut others) = (ArrayVec::new(), ArrayVec::new());
        for (operand, slot) in (0..).zip(&row.slots) {
            match slot.kind {
                Kind::Reg(at) if slot.sel.is_none() && at.n2 == 0 => {
                    let (shift, max) = (at.lo, at.max() as u8);
                    registers.try_push(Register { operand, shift, mask: max, limit: max }).ok()?;
                }
                Kind::Pred { at, not } => predicates.push(Predicate { operand, at, not }),
                _ => others.push(operand),
            }
        }
        let registers = registers.first().copied().map(|first| {
            let none = Register { mask: 0, limit: u8::MAX, ..first };
            std::array::from_fn(|n| registers.get(n).copied().unwrap_or(none))
        });
        Some(Template {
            row: number as u16,
            word: row.bits | row.free_default | suffixes,
            registers,
            predicates,
            others,
            partial: !row.except.is_empty() || row.mask & row.field_mask() != 0,
        })
    }

    /// The word of an instruction of this form, if it has no details that the template does not cover.
    fn fill(&self, rows: &[Row], m: &MInst, pc: u32) -> Option<u64> {
        let row = &rows[usize::from(self.row)];
        let mut word = self.word;
        let mut special = false;
        if let Some(registers) = &self.registers {
            for p in registers {
                let &Operand::Reg { reg, mods, sel, cc } = m.operands.get(usize::from(p.operand))? else {
                    return None;
                };
                // RZ is all ones in a field of any width.
                let missing = (reg.0 >= p.limit) & (reg != Reg::Z);
                special |= missing | cc | (mods.bits() != 0) | !matches!(sel, Sel::Whole);
                word |= u64::from(reg.0 & p.mask) << p.shift;
            }
        }
        for p in &self.predicates {
            let &Operand::Pred(pred) = m.operands.get(usize::from(p.operand))? else { return None };
            special |= (pred.num > 7) | (pred.not & !p.not.exists());
            word |= p.at.put(u64::from(pred.num & 7)) | (p.not.mask() * u64::from(pred.not));
        }
        for &n in &self.others {
            let (slot, operand) = (row.slots.get(usize::from(n))?, m.operands.get(usize::from(n))?);
            word |= encode_operand(slot, operand, n, Some(pc)).ok()?;
        }
        word |= if m.guard.is_true() { row.unguarded } else { encode_pred(row.guard.as_ref()?, m.guard)? };
        (!special & (!self.partial || row.matches(word))).then_some(word)
    }
}

/// Places for templates: a power of two, several times as many as programs have forms.
const PLACES: usize = 512;

/// Places after the first that are looked at.
const PROBES: usize = 4;

/// The templates that were wanted so far. One that finds its places taken is not kept.
pub(super) struct Templates(Box<[OnceLock<Known>]>);

/// A form, and its template if it can have one.
type Known = (Form, Option<Template>);

impl Default for Templates {
    fn default() -> Templates {
        Templates((0..PLACES).map(|_| OnceLock::new()).collect())
    }
}

/// The word of an instruction at byte address `pc` of the code, if there is a template for it.
pub(super) fn encode(table: &Table, m: &MInst, pc: u32) -> Option<u64> {
    let form = Form::of(m)?;
    let first = form.place();
    for k in 0..PROBES {
        let place = &table.templates.0[(first + k) % PLACES];
        let (known, template) = place.get_or_init(|| (form, Template::of(table, m)));
        if *known == form {
            return template.as_ref()?.fill(table.rows(), m, pc);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SrcMods, codec, encode};
    use nvir_base::Chip;

    fn add(a: u8) -> MInst {
        MInst::new(Op::Iadd).r(Reg(1)).r(Reg(a)).r(Reg(3))
    }

    #[test]
    fn what_one_instruction_of_a_form_can_be_encoded_with_another_need_not() {
        for chip in Chip::ALL {
            assert!(encode(chip, &add(2), 0).is_ok());
            let last = if chip == Chip::Gk110 { 254 } else { 62 };
            assert!(encode(chip, &add(last), 0).is_ok());
            assert_eq!(encode(chip, &add(last + 1), 0).is_ok(), chip == Chip::Gk110);
        }
    }

    #[test]
    fn every_word_of_a_template_is_what_the_rows_say() {
        let mut state = 0x0123_4567_89ab_cdefu64;
        let mut random = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        for chip in Chip::ALL {
            let (table, mut by_template) = (Table::for_chip(chip), 0);
            for row in table.rows() {
                for _ in 0..40 {
                    let word = random() & !row.mask | row.bits;
                    let Some((m, _)) = codec::decode_row(chip, word, 8) else { continue };
                    if let Some(word) = super::encode(table, &m, 8) {
                        assert_eq!(codec::encode_by_rows(chip, &m, 8), Ok(word), "{chip} {m:?}");
                        by_template += 1;
                    }
                }
            }
            assert!(by_template > 300, "{chip}: {by_template}");
        }
    }

    #[test]
    fn details_that_a_template_does_not_cover_are_encoded_all_the_same() {
        for chip in Chip::ALL {
            let plain = encode(chip, &add(2), 0).unwrap();
            let mut negated = add(2);
            let mods = SrcMods { neg: true, ..SrcMods::default() };
            negated.operands[1] = Operand::Reg { reg: Reg(2), mods, sel: Sel::Whole, cc: false };
            let word = encode(chip, &negated, 0).unwrap();
            assert_ne!(word, plain);
            let back = codec::decode(chip, word, 0).and_then(|m| encode(chip, &m, 0).ok());
            assert_eq!(back, Some(word));
        }
    }
}
