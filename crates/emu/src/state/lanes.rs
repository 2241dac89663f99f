//! Values of a warp: one [`LaneVec`] holds a register of all 32 lanes, so that lane loops become vector code.

/// Threads of a warp.
pub const LANES: usize = 32;

/// A set of lanes.
pub type Mask = u32;

/// One 32-bit value for each lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(align(64))]
pub struct LaneVec(pub [u32; LANES]);

impl LaneVec {
    pub const ZERO: LaneVec = LaneVec([0; LANES]);

    /// What [`LaneVec::expand`] makes of all lanes.
    pub(crate) const ALL: LaneVec = LaneVec([u32::MAX; LANES]);

    pub const fn splat(v: u32) -> LaneVec {
        LaneVec([v; LANES])
    }

    /// All ones in the lanes of a mask, zero in others.
    #[inline(always)]
    pub fn expand(mask: Mask) -> LaneVec {
        LaneVec(std::array::from_fn(|i| if mask & 1 << i != 0 { u32::MAX } else { 0 }))
    }

    /// Takes over the lanes of `mask` from `from`.
    #[inline]
    pub fn blend(&mut self, mask: Mask, from: &LaneVec) {
        if mask == Mask::MAX {
            *self = *from;
            return;
        }
        for i in 0..LANES {
            let take = if mask & (1 << i) != 0 { u32::MAX } else { 0 };
            self.0[i] = (self.0[i] & !take) | (from.0[i] & take);
        }
    }

    /// Takes over lanes as [`LaneVec::expand`] gives them. Where that comes from memory, the compiler cannot see that it could use masked
    /// stores, which some processors execute slowly.
    #[inline(always)]
    pub(crate) fn merge(&mut self, take: &LaneVec, from: &LaneVec) {
        for i in 0..LANES {
            self.0[i] = (from.0[i] & take.0[i]) | (self.0[i] & !take.0[i]);
        }
    }

    /// The lanes for which `f` holds.
    #[inline]
    pub fn mask(&self, f: impl Fn(u32) -> bool) -> Mask {
        let mut m = 0;
        for (i, &v) in self.0.iter().enumerate() {
            m |= u32::from(f(v)) << i;
        }
        m
    }
}

/// The lanes of a mask, lowest first.
pub(crate) fn lanes(mask: Mask) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let i = rest.trailing_zeros() as usize;
        rest &= rest.wrapping_sub(1);
        (i < LANES).then_some(i)
    })
}

/// A source modifier: what an operand does to a value on its way in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Modifier {
    #[default]
    None,
    Inv,
    NegInt,
    AbsInt,
    NegAbsInt,
    NegF32,
    AbsF32,
    NegAbsF32,
}

impl Modifier {
    /// Integer modifiers.
    pub fn int(neg: bool, abs: bool, inv: bool) -> Modifier {
        match (neg, abs, inv) {
            (_, _, true) => Modifier::Inv,
            (true, true, _) => Modifier::NegAbsInt,
            (true, false, _) => Modifier::NegInt,
            (false, true, _) => Modifier::AbsInt,
            _ => Modifier::None,
        }
    }

    /// Float modifiers (also right for the high word of a 64-bit float).
    pub fn float(neg: bool, abs: bool) -> Modifier {
        match (neg, abs) {
            (true, true) => Modifier::NegAbsF32,
            (true, false) => Modifier::NegF32,
            (false, true) => Modifier::AbsF32,
            _ => Modifier::None,
        }
    }

    pub fn apply(self, v: u32) -> u32 {
        match self {
            Modifier::None => v,
            Modifier::Inv => !v,
            Modifier::NegInt => v.wrapping_neg(),
            Modifier::AbsInt => (v as i32).unsigned_abs(),
            Modifier::NegAbsInt => (v as i32).unsigned_abs().wrapping_neg(),
            Modifier::NegF32 => v ^ 0x8000_0000,
            Modifier::AbsF32 => v & 0x7fff_ffff,
            Modifier::NegAbsF32 => v | 0x8000_0000,
        }
    }

    /// The modifier as the bits that it keeps and those that it then flips, if that is all it does.
    #[inline]
    pub fn bits(self) -> Option<(u32, u32)> {
        const SIGN: u32 = 0x8000_0000;
        Some(match self {
            Modifier::None => (u32::MAX, 0),
            Modifier::Inv => (u32::MAX, u32::MAX),
            Modifier::NegF32 => (u32::MAX, SIGN),
            Modifier::AbsF32 => (!SIGN, 0),
            Modifier::NegAbsF32 => (!SIGN, SIGN),
            Modifier::NegInt | Modifier::AbsInt | Modifier::NegAbsInt => return None,
        })
    }

    fn apply_row(self, from: &LaneVec, to: &mut LaneVec) {
        macro_rules! each {
            ($($t:ident)*) => {
                match self {
                    $(Modifier::$t => for i in 0..LANES { to.0[i] = Modifier::$t.apply(from.0[i]) },)*
                }
            };
        }
        each!(None Inv NegInt AbsInt NegAbsInt NegF32 AbsF32 NegAbsF32);
    }
}

/// A source operand: below 256 a register, from 256 on an entry of the launch's pool of uniform rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Src {
    pub row: u16,
    pub modifier: Modifier,
}

/// Pool entry 0 is zero: RZ.
pub const POOL: u16 = 256;

impl Src {
    pub const ZERO: Src = Src { row: POOL, modifier: Modifier::None };

    /// The first three uniform rows.
    pub const POOLED: [Src; 3] = [Src::row(POOL), Src::row(POOL + 1), Src::row(POOL + 2)];

    pub const fn row(row: u16) -> Src {
        Src { row, modifier: Modifier::None }
    }

    /// The operand's values; `scratch` holds them where they differ from what is stored.
    #[inline]
    pub fn get<'a>(self, regs: &'a [LaneVec], pool: &'a [LaneVec], scratch: &'a mut LaneVec) -> &'a LaneVec {
        let row = if self.row < POOL { &regs[self.row as usize] } else { &pool[(self.row - POOL) as usize] };
        if self.modifier == Modifier::None {
            return row;
        }
        self.modifier.apply_row(row, scratch);
        scratch
    }

    /// The operand's values, if they are those that are stored.
    #[inline]
    pub fn unmodified<'a>(self, regs: &'a [LaneVec], pool: &'a [LaneVec]) -> Option<&'a LaneVec> {
        let row = if self.row < POOL { &regs[self.row as usize] } else { &pool[(self.row - POOL) as usize] };
        (self.modifier == Modifier::None).then_some(row)
    }

    /// The operand's values.
    #[inline]
    pub fn value(self, regs: &[LaneVec], pool: &[LaneVec]) -> LaneVec {
        let mut changed = LaneVec::ZERO;
        *self.get(regs, pool, &mut changed)
    }

    /// The operand's value in one lane.
    #[inline]
    pub fn lane(self, regs: &[LaneVec], pool: &[LaneVec], lane: usize) -> u32 {
        let row = if self.row < POOL { &regs[self.row as usize] } else { &pool[(self.row - POOL) as usize] };
        self.modifier.apply(row.0[lane])
    }
}

/// Rows that operands with modifiers and results pass through.
#[derive(Clone, Debug)]
pub(crate) struct Scratch {
    pub a: LaneVec,
    pub b: LaneVec,
    pub out: LaneVec,
    pub out2: LaneVec,
    /// The lanes that a kernel is to write, and the mask of which this is made.
    take: (Mask, LaneVec),
}

impl Scratch {
    /// A mask as kernels want it. It is the same for many instructions.
    #[inline(always)]
    pub(crate) fn take(&mut self, mask: Mask) -> &LaneVec {
        if self.take.0 != mask {
            self.take = (mask, LaneVec::expand(mask));
        }
        &self.take.1
    }
}

impl Default for Scratch {
    fn default() -> Scratch {
        let zero = LaneVec::ZERO;
        Scratch { a: zero, b: zero, out: zero, out2: zero, take: (0, zero) }
    }
}

/// Values near the ends of every format among random ones, for tests of operations.
#[cfg(test)]
pub(crate) fn hard_values(seed: &mut u32) -> LaneVec {
    const HARD: [u32; 12] = [
        0,
        1,
        31,
        32,
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_0001,
        0x0000_0400,
        0x8000_0000,
        0x7fff_ffff,
        u32::MAX,
        0x3f80_0000,
    ];
    LaneVec(std::array::from_fn(|_| {
        *seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let pick = *seed >> 8 & 15;
        HARD.get(pick as usize).copied().unwrap_or(*seed ^ *seed >> 13)
    }))
}
