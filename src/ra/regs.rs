//! Physical registers and sets of them.

use crate::ir::Class;
use std::fmt;

/// A physical register of one thread.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phys {
    /// General register, never RZ.
    Gpr(u8),
    /// Predicate 0 to 6.
    Pred(u8),
    /// The carry bit of the condition code.
    Carry,
}

impl Phys {
    /// The register of a class by its number.
    pub const fn new(class: Class, number: u8) -> Phys {
        match class {
            Class::Gpr => Phys::Gpr(number),
            Class::Pred => Phys::Pred(number),
            Class::Carry => Phys::Carry,
        }
    }

    /// Its class.
    pub const fn class(self) -> Class {
        match self {
            Phys::Gpr(_) => Class::Gpr,
            Phys::Pred(_) => Class::Pred,
            Phys::Carry => Class::Carry,
        }
    }

    /// The number within its class.
    pub const fn number(self) -> u8 {
        match self {
            Phys::Gpr(n) | Phys::Pred(n) => n,
            Phys::Carry => 0,
        }
    }

    /// Position in tables of all registers: below [`Phys::COUNT`].
    pub const fn index(self) -> usize {
        match self {
            Phys::Gpr(n) => n as usize,
            Phys::Pred(n) => 256 + n as usize,
            Phys::Carry => 264,
        }
    }

    /// One more than the largest [`Phys::index`].
    pub const COUNT: usize = 265;
}

impl fmt::Debug for Phys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Phys::Gpr(n) => write!(f, "R{n}"),
            Phys::Pred(n) => write!(f, "P{n}"),
            Phys::Carry => f.write_str("CC"),
        }
    }
}

/// A set of registers.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct RegSet([u64; 5]);

impl RegSet {
    /// Adds a register.
    pub fn insert(&mut self, r: Phys) {
        self.0[r.index() / 64] |= 1 << (r.index() % 64);
    }

    /// Takes a register out.
    pub fn remove(&mut self, r: Phys) {
        self.0[r.index() / 64] &= !(1 << (r.index() % 64));
    }

    /// Whether it holds the register.
    pub fn contains(&self, r: Phys) -> bool {
        self.0[r.index() / 64] >> (r.index() % 64) & 1 != 0
    }

    /// Adds all of another set.
    pub fn union(&mut self, other: &RegSet) {
        self.0.iter_mut().zip(other.0).for_each(|(a, b)| *a |= b);
    }

    /// Its registers in order of their indices.
    pub fn iter(&self) -> impl Iterator<Item = Phys> + '_ {
        let gprs = (0..=255).map(Phys::Gpr);
        let preds = (0..8).map(Phys::Pred);
        gprs.chain(preds).chain([Phys::Carry]).filter(|&r| self.contains(r))
    }

    /// The highest general register + 1; 0 without any.
    pub(crate) fn gprs_end(&self) -> u32 {
        let word = (0..4).rev().find(|&k| self.0[k] != 0);
        word.map_or(0, |k| 64 * k as u32 + 64 - self.0[k].leading_zeros())
    }

    /// Registers of one class.
    pub fn count(&self, class: Class) -> u32 {
        match class {
            Class::Gpr => self.0[..4].iter().map(|w| w.count_ones()).sum(),
            Class::Pred => (self.0[4] & 0xff).count_ones(),
            Class::Carry => (self.0[4] >> 8 & 1) as u32,
        }
    }
}

impl fmt::Debug for RegSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
