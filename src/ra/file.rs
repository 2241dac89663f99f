//! One class's registers during colouring: who is where, and which are kept for a tuple if
//! possible.

use super::hints::NONE;
use crate::ir::ValueId;
use cranelift_entity::packed_option::PackedOption;

/// A set of up to 256 register numbers.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Mask(pub [u64; 4]);

impl Mask {
    /// The registers below `n`.
    pub(super) fn below(n: usize) -> Mask {
        Mask(std::array::from_fn(|k| match n.saturating_sub(64 * k) {
            0 => 0,
            m if m < 64 => (1 << m) - 1,
            _ => u64::MAX,
        }))
    }

    pub(super) fn without(&self, other: &Mask) -> Mask {
        Mask(std::array::from_fn(|k| self.0[k] & !other.0[k]))
    }

    /// The members, from the lowest on.
    pub(super) fn iter(self) -> impl Iterator<Item = u8> {
        self.0.into_iter().enumerate().flat_map(|(k, mut w)| {
            std::iter::from_fn(move || {
                let r = (w != 0).then(|| (64 * k as u32 + w.trailing_zeros()) as u8);
                w &= w.wrapping_sub(1);
                r
            })
        })
    }

    pub(super) fn set(&mut self, r: u8) {
        self.0[r as usize / 64] |= 1 << (r % 64);
    }

    pub(super) fn clear(&mut self, r: u8) {
        self.0[r as usize / 64] &= !(1 << (r % 64));
    }

    pub(super) fn has(&self, r: u8) -> bool {
        self.0[r as usize / 64] >> (r % 64) & 1 != 0
    }

    /// How many of the registers of an aligned place of at most four are members.
    pub(super) fn count(&self, base: u8, words: usize) -> u32 {
        (self.0[base as usize / 64] >> (base % 64) & ((1 << words) - 1)).count_ones()
    }

    /// The lowest member that is in none of the others.
    pub(crate) fn lowest_without(&self, others: &[&Mask]) -> Option<u8> {
        (0..4).find_map(|k| {
            let w = others.iter().fold(self.0[k], |w, o| w & !o.0[k]);
            (w != 0).then(|| (64 * k as u32 + w.trailing_zeros()) as u8)
        })
    }

    /// The highest member that is in none of the others.
    pub(crate) fn highest_without(&self, others: &[&Mask]) -> Option<u8> {
        (0..4).rev().find_map(|k| {
            let w = others.iter().fold(self.0[k], |w, o| w & !o.0[k]);
            (w != 0).then(|| (64 * k as u32 + 63 - w.leading_zeros()) as u8)
        })
    }

    /// The highest member + 1.
    pub(super) fn end(&self) -> u32 {
        (0..4).rev().find(|&k| self.0[k] != 0).map_or(0, |k| 64 * k as u32 + 64 - self.0[k].leading_zeros())
    }

    pub(super) fn union(&self, other: &Mask) -> Mask {
        let mut m = *self;
        m.0.iter_mut().zip(other.0).for_each(|(a, b)| *a |= b);
        m
    }
}

/// The registers of one class.
pub(super) struct File {
    /// How many there are.
    pub n: usize,
    occ: [PackedOption<ValueId>; 256],
    pub free: Mask,
    /// Kept for a tuple (its number + 1), not strictly.
    kept: [u32; 256],
    pub kept_mask: Mask,
    /// Every register that ever held something.
    pub used: Mask,
}

impl File {
    pub(super) fn new(n: usize) -> File {
        File {
            n,
            occ: [None.into(); 256],
            free: Mask::below(n),
            kept: [0; 256],
            kept_mask: Mask::default(),
            used: Mask::default(),
        }
    }

    pub(super) fn clear(&mut self) {
        self.occ[..self.n].fill(None.into());
        self.free = Mask::below(self.n);
        self.clear_kept();
    }

    /// Registers that something is in.
    pub(super) fn taken(&self) -> Mask {
        Mask::below(self.n).without(&self.free)
    }

    /// What is in registers, from the lowest on.
    pub(super) fn values(&self) -> impl Iterator<Item = ValueId> + '_ {
        self.taken().iter().filter_map(|r| self.at(r))
    }

    pub(crate) fn clear_kept(&mut self) {
        for r in self.kept_mask.iter() {
            self.kept[r as usize] = 0;
        }
        self.kept_mask = Mask::default();
    }

    pub(super) fn at(&self, r: u8) -> Option<ValueId> {
        self.occ[r as usize].expand()
    }

    pub(super) fn put(&mut self, r: u8, v: ValueId) {
        debug_assert!(self.occ[r as usize].is_none(), "register {r} is taken");
        self.occ[r as usize] = v.into();
        self.free.clear(r);
        self.used.set(r);
        self.kept[r as usize] = 0;
        self.kept_mask.clear(r);
    }

    pub(super) fn take(&mut self, r: u8) {
        self.occ[r as usize] = None.into();
        self.free.set(r);
    }

    /// Keeps a register for a tuple.
    pub(super) fn keep(&mut self, r: u8, tuple: u32) {
        self.kept[r as usize] = tuple + 1;
        self.kept_mask.set(r);
    }

    /// Whether a register is free and not kept for another tuple.
    pub(super) fn open(&self, r: u8, tuple: Option<u32>) -> bool {
        let kept = self.kept[r as usize];
        r != NONE
            && (r as usize) < self.n
            && self.free.has(r)
            && (kept == 0 || tuple.is_some_and(|w| kept == w + 1))
    }

    /// Whether a register is kept for a tuple other than `tuple`.
    pub(crate) fn kept_for_other(&self, r: u8, tuple: u32) -> bool {
        !matches!(self.kept[r as usize], 0) && self.kept[r as usize] != tuple + 1
    }
}
