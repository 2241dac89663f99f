//! Putting addresses into a kernel once its global variables have a place.

use super::read::{Kernel, RelocKind};
use nvir_base::chip::Chip;

/// A relocation that cannot be applied.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LinkError {
    /// The section that it lies in is not in the file.
    #[error("a relocation against section `{0}`, which has no address here")]
    Section(String),
    /// An offset (bytes) beyond its section.
    #[error("a relocation at {0:#x}, outside its section")]
    Place(u64),
}

/// Bit of a MOV32I word at which its 32-bit immediate begins (envytools `gf100.c`, `gk110.c`).
fn immediate_bit(chip: Chip) -> u32 {
    if chip == Chip::Gk110 { 23 } else { 26 }
}

/// A copy of the kernel with its relocations applied; `address` gives the address of a section.
pub fn link(kernel: &Kernel, chip: Chip, address: impl Fn(&str) -> Option<u64>) -> Result<Kernel, LinkError> {
    let mut linked = kernel.clone();
    for r in &kernel.relocs {
        let base = address(&r.section).ok_or_else(|| LinkError::Section(r.section.clone()))?;
        let value = base.wrapping_add(r.value).wrapping_add_signed(r.addend);
        let outside = LinkError::Place(r.offset);
        match (r.bank, r.kind) {
            (None, RelocKind::Lo | RelocKind::Hi) => {
                let word = linked.code.get_mut(r.offset as usize / 8).ok_or(outside)?;
                let half = if r.kind == RelocKind::Lo { value as u32 } else { (value >> 32) as u32 };
                let bit = immediate_bit(chip);
                *word = *word & !(0xffff_ffffu64 << bit) | u64::from(half) << bit;
            }
            (None, _) => {
                let word = linked.code.get_mut(r.offset as usize / 8).ok_or(outside)?;
                *word = word.wrapping_add(value);
            }
            (Some(bank), kind) => {
                let bytes = if kind == RelocKind::Abs64 { 8 } else { 4 };
                let value = if kind == RelocKind::Hi { value >> 32 } else { value };
                let data = linked.banks.iter_mut().find(|(b, _)| *b == bank).map(|(_, d)| d);
                let at = r.offset as usize;
                let place = data.and_then(|d| d.get_mut(at..at.checked_add(bytes)?)).ok_or(outside)?;
                let mut old = [0; 8];
                old[..bytes].copy_from_slice(place);
                let sum = u64::from_le_bytes(old).wrapping_add(value);
                place.copy_from_slice(&sum.to_le_bytes()[..bytes]);
            }
        }
    }
    Ok(linked)
}
