//! Operands that have an encoding, but with which every execution of the instruction faults: a
//! vector in an odd register, the seventeenth barrier, an address that is never aligned.
//!
//! Tools that show or change single words take them, as NVIDIA's do; a text that somebody writes is
//! held to these rules. What an operand is, its row ([`Slot::domain`]) and [`effects`] say; the
//! rules here are the same for all operations.

use super::effects;
use super::row::{Domain, Row, Slot};
use super::{MInst, Operand, Reg};
use nvir_base::Chip;
use std::fmt;

/// What is wrong with an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "fields of a variant: the numbers that its text names")]
pub enum Why {
    /// More than a card takes.
    TooLarge { most: u32 },
    /// No multiple of what it must be.
    NoMultiple { step: u32 },
    /// A vector of so many registers that does not begin at such a multiple.
    Register { count: u8, step: u8 },
    /// A vector that has no place behind its first register.
    PastLast { count: u8, last: u32 },
    /// An address of memory, a constant or an attribute that is not aligned.
    Address { bytes: u32, step: u32 },
    /// A branch into the middle of an instruction.
    Target { step: u32 },
}

/// An operand, counted from 0, with which the instruction never executes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The operand, counted from 0 in text order.
    pub operand: usize,
    /// What is wrong with it.
    pub why: Why,
}

impl Why {
    /// In two or three words.
    pub const fn title(self) -> &'static str {
        match self {
            Why::TooLarge { .. } | Why::NoMultiple { .. } => "value out of range",
            Why::Register { .. } => "misaligned register",
            Why::PastLast { .. } => "register out of range",
            Why::Address { .. } => "misaligned address",
            Why::Target { .. } => "misaligned branch target",
        }
    }
}

/// What would be right.
impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Why::TooLarge { most } => write!(f, "expected 0 to {most:#x}"),
            Why::NoMultiple { step } => write!(f, "expected a multiple of {step}"),
            Why::Register { count, step } => {
                write!(f, "expected a multiple of {step}: the operand is {count} registers")
            }
            Why::PastLast { count, last } => {
                write!(f, "the operand is {count} registers, and the last is R{last}")
            }
            Why::Address { bytes, step } => {
                write!(f, "expected a multiple of {step}: the access has {bytes} bytes")
            }
            Why::Target { step } => write!(f, "expected a multiple of {step}"),
        }
    }
}

/// Whether cards execute an instruction of this row, whatever its registers hold.
pub fn check(chip: Chip, m: &MInst, row: &Row) -> Result<(), Fault> {
    for (operand, (o, slot)) in m.operands.iter().zip(&row.slots).enumerate() {
        one(chip, m, operand, o, slot).map_err(|why| Fault { operand, why })?;
    }
    Ok(())
}

fn one(chip: Chip, m: &MInst, operand: usize, o: &Operand, slot: &Slot) -> Result<(), Why> {
    let vector = effects::vector(m, operand);
    match *o {
        Operand::Imm { bits, .. } => in_domain(slot.domain, bits),
        Operand::Reg { reg, .. } => register(chip, reg, vector),
        Operand::Mem { base, offset } => {
            register(chip, base, vector)?;
            address(m, base, offset)
        }
        Operand::Const { base: Reg::Z, offset, .. } if vector.0 > 1 => {
            aligned(offset, 4 * u32::from(vector.0), 4 * u32::from(vector.1))
        }
        Operand::Const { base, offset, .. } => address(m, base, offset),
        Operand::Attr { base: Reg::Z, offset } => {
            let bytes = effects::access_bytes(m).unwrap_or(4);
            aligned(offset, bytes, step(bytes))
        }
        Operand::Target(t) => {
            // Fermi's short forms have 4 bytes.
            let step = if chip == Chip::Gf100 { 4 } else { 8 };
            if t.is_multiple_of(step) { Ok(()) } else { Err(Why::Target { step }) }
        }
        _ => Ok(()),
    }
}

fn in_domain(Domain { most, step }: Domain, bits: u32) -> Result<(), Why> {
    match bits {
        n if n > most => Err(Why::TooLarge { most }),
        n if !n.is_multiple_of(step) => Err(Why::NoMultiple { step }),
        _ => Ok(()),
    }
}

fn register(chip: Chip, reg: Reg, (count, step): (u8, u8)) -> Result<(), Why> {
    if reg == Reg::Z {
        return Ok(());
    }
    if !reg.0.is_multiple_of(step) {
        return Err(Why::Register { count, step });
    }
    let last = chip.gprs() - 1;
    if u32::from(reg.0) + u32::from(count) - 1 > last { Err(Why::PastLast { count, last }) } else { Ok(()) }
}

/// An address that no register changes.
fn address(m: &MInst, base: Reg, offset: i32) -> Result<(), Why> {
    match effects::access_bytes(m) {
        Some(bytes) if base == Reg::Z => aligned(offset, bytes, step(bytes)),
        _ => Ok(()),
    }
}

fn aligned(offset: i32, bytes: u32, step: u32) -> Result<(), Why> {
    if (offset as u32).is_multiple_of(step) { Ok(()) } else { Err(Why::Address { bytes, step }) }
}

/// Three of a thing are aligned as four are.
fn step(count: u32) -> u32 {
    count.next_power_of_two()
}
