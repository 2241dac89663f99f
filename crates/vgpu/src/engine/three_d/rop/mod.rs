//! The raster operations: from fragments to memory.
//!
//! [`crate::image::texels`] says where the texels of a target lie. [`depth_stencil`] tests and updates depth and stencil, [`alpha`] has
//! what alpha does to coverage, [`color`] blends and writes; all work on quads of 2 x 2 pixels. Arithmetic is IEEE's of 32
//! or 64 bits with every rounding where the code says, so results are the same on every host.
//!
//! Quads whose pixels differ may be processed in any order, but two threads must not share a row of a surface: texels
//! smaller than a word are written with their neighbours.

pub(crate) mod alpha;
pub(crate) mod blend;
pub(crate) mod color;
pub(crate) mod depth_stencil;

/// Comparisons of depth, stencil and alpha.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Compare {
    Never,
    Less,
    Equal,
    LessOrEqual,
    Greater,
    NotEqual,
    GreaterOrEqual,
    Always,
}

impl Compare {
    /// By GL's numbers, 0x200 to 0x207.
    pub(super) fn from_code(code: u32) -> Option<Compare> {
        use Compare::*;
        let all = [Never, Less, Equal, LessOrEqual, Greater, NotEqual, GreaterOrEqual, Always];
        all.get(code.checked_sub(0x200)? as usize).copied()
    }

    /// Whether `new` passes against `old`. With NaN only [`Compare::NotEqual`] and [`Compare::Always`] do.
    #[inline]
    pub(super) fn passes<T: PartialOrd>(self, new: T, old: T) -> bool {
        match self {
            Compare::Never => false,
            Compare::Less => new < old,
            Compare::Equal => new == old,
            Compare::LessOrEqual => new <= old,
            Compare::Greater => new > old,
            Compare::NotEqual => new != old,
            Compare::GreaterOrEqual => new >= old,
            Compare::Always => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Compare;

    #[test]
    fn comparisons() {
        assert_eq!((Compare::from_code(0x1ff), Compare::from_code(0x208)), (None, None));
        let passes = |new: f32, old: f32| -> Vec<u32> {
            (0..8).filter(|&n| Compare::from_code(0x200 + n).unwrap().passes(new, old)).collect()
        };
        assert_eq!(passes(1.0, 2.0), [1, 3, 5, 7]);
        assert_eq!(passes(2.0, 2.0), [2, 3, 6, 7]);
        assert_eq!(passes(3.0, 2.0), [4, 5, 6, 7]);
        assert_eq!(passes(f32::NAN, 2.0), [5, 7]);
    }
}
