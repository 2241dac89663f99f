//! Values of a warp: one [`Row`] holds a register of all 32 lanes, so that lane loops become vector code.

/// Threads of a warp.
pub(crate) const LANES: usize = 32;

/// A set of lanes.
pub(crate) type Mask = u32;

/// One 32-bit value for each lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(align(64))]
pub(crate) struct Row(pub [u32; LANES]);

impl Row {
    pub(crate) const ZERO: Row = Row([0; LANES]);

    pub(crate) const fn splat(v: u32) -> Row {
        Row([v; LANES])
    }

    /// Takes over the lanes of `mask` from `from`.
    #[inline]
    pub(crate) fn blend(&mut self, mask: Mask, from: &Row) {
        if mask == Mask::MAX {
            *self = *from;
            return;
        }
        for i in 0..LANES {
            let take = if mask & (1 << i) != 0 { u32::MAX } else { 0 };
            self.0[i] = (self.0[i] & !take) | (from.0[i] & take);
        }
    }

    /// The lanes for which `f` holds.
    #[inline]
    pub(crate) fn mask(&self, f: impl Fn(u32) -> bool) -> Mask {
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

/// What an operand does to a value on its way in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Tweak {
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

impl Tweak {
    /// Integer modifiers.
    pub(crate) fn int(neg: bool, abs: bool, inv: bool) -> Tweak {
        match (neg, abs, inv) {
            (_, _, true) => Tweak::Inv,
            (true, true, _) => Tweak::NegAbsInt,
            (true, false, _) => Tweak::NegInt,
            (false, true, _) => Tweak::AbsInt,
            _ => Tweak::None,
        }
    }

    /// Float modifiers (also right for the high word of a 64-bit float).
    pub(crate) fn float(neg: bool, abs: bool) -> Tweak {
        match (neg, abs) {
            (true, true) => Tweak::NegAbsF32,
            (true, false) => Tweak::NegF32,
            (false, true) => Tweak::AbsF32,
            _ => Tweak::None,
        }
    }

    pub(crate) fn apply(self, v: u32) -> u32 {
        match self {
            Tweak::None => v,
            Tweak::Inv => !v,
            Tweak::NegInt => v.wrapping_neg(),
            Tweak::AbsInt => (v as i32).unsigned_abs(),
            Tweak::NegAbsInt => (v as i32).unsigned_abs().wrapping_neg(),
            Tweak::NegF32 => v ^ 0x8000_0000,
            Tweak::AbsF32 => v & 0x7fff_ffff,
            Tweak::NegAbsF32 => v | 0x8000_0000,
        }
    }

    fn apply_row(self, from: &Row, to: &mut Row) {
        macro_rules! each {
            ($($t:ident)*) => {
                match self {
                    $(Tweak::$t => for i in 0..LANES { to.0[i] = Tweak::$t.apply(from.0[i]) },)*
                }
            };
        }
        each!(None Inv NegInt AbsInt NegAbsInt NegF32 AbsF32 NegAbsF32);
    }
}

/// A source operand: below 256 a register, from 256 on an entry of the launch's pool of uniform rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Src {
    pub row: u16,
    pub tweak: Tweak,
}

/// Pool entry 0 is zero: RZ.
pub(crate) const POOL: u16 = 256;

impl Src {
    pub(crate) const ZERO: Src = Src { row: POOL, tweak: Tweak::None };

    pub(crate) const fn row(row: u16) -> Src {
        Src { row, tweak: Tweak::None }
    }

    /// The operand's values; `scratch` holds them where they differ from what is stored.
    #[inline]
    pub(crate) fn get<'a>(self, regs: &'a [Row], pool: &'a [Row], scratch: &'a mut Row) -> &'a Row {
        let row = if self.row < POOL { &regs[self.row as usize] } else { &pool[(self.row - POOL) as usize] };
        if self.tweak == Tweak::None {
            return row;
        }
        self.tweak.apply_row(row, scratch);
        scratch
    }

    /// The operand's value in one lane.
    #[inline]
    pub(crate) fn lane(self, regs: &[Row], pool: &[Row], lane: usize) -> u32 {
        let row = if self.row < POOL { &regs[self.row as usize] } else { &pool[(self.row - POOL) as usize] };
        self.tweak.apply(row.0[lane])
    }
}

/// An operation on whole rows.
pub(crate) type LaneFn = fn(&Row, &Row, &Row, &mut Row);

/// Makes a [`LaneFn`] from an expression over one lane's three operands.
#[macro_export]
#[doc(hidden)]
macro_rules! lane_fn {
    (|$a:pat_param, $b:pat_param, $c:pat_param| $e:expr) => {{
        fn f(
            a: &$crate::lanes::Row,
            b: &$crate::lanes::Row,
            c: &$crate::lanes::Row,
            out: &mut $crate::lanes::Row,
        ) {
            for i in 0..$crate::lanes::LANES {
                let ($a, $b, $c) = (a.0[i], b.0[i], c.0[i]);
                out.0[i] = $e;
            }
        }
        f as $crate::lanes::LaneFn
    }};
}

/// Makes a comparison of two rows from an expression over one lane's operands.
#[macro_export]
#[doc(hidden)]
macro_rules! mask_fn {
    (|$a:pat_param, $b:pat_param| $e:expr) => {{
        fn f(a: &$crate::lanes::Row, b: &$crate::lanes::Row) -> u32 {
            let mut m = 0;
            for i in 0..$crate::lanes::LANES {
                let ($a, $b) = (a.0[i], b.0[i]);
                m |= u32::from($e) << i;
            }
            m
        }
        f as fn(&$crate::lanes::Row, &$crate::lanes::Row) -> u32
    }};
}
