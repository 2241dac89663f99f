//! The raster operations: from fragments to memory.
//!
//! [`crate::image::texels`] says where the texels of a target lie. [`depth_stencil`] tests and updates depth and stencil
//! ([`depth_rows`] those of many quads at once, where only depths are tested), [`alpha`] has
//! what alpha does to coverage, [`color`] blends and writes; all work on quads of 2 x 2 pixels. Arithmetic is IEEE's of 32
//! or 64 bits with every rounding where the code says, so results are the same on every host.
//!
//! Quads whose pixels differ may be processed in any order, but two threads must not share a row of a surface: texels
//! smaller than a word are written with their neighbours.

pub(crate) mod alpha;
pub(crate) mod blend;
pub(crate) mod color;
pub(crate) mod depth_rows;
pub(crate) mod depth_stencil;

pub(crate) use nvir_hw::state::Compare;

/// Whether `new` passes against `old`. With NaN only [`Compare::NotEqual`] and [`Compare::Always`] do.
#[inline]
pub(crate) fn passes<T: PartialOrd>(compare: Compare, new: T, old: T) -> bool {
    match compare {
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

#[cfg(test)]
mod tests {
    use super::{Compare, passes};

    #[test]
    fn comparisons() {
        assert_eq!((Compare::from_code(0x1ff), Compare::from_code(0x208)), (None, None));
        let all = |new: f32, old: f32| -> Vec<u32> {
            (0..8).filter(|&n| passes(Compare::from_code(0x200 + n).unwrap(), new, old)).collect()
        };
        assert_eq!(all(1.0, 2.0), [1, 3, 5, 7]);
        assert_eq!(all(2.0, 2.0), [2, 3, 6, 7]);
        assert_eq!(all(3.0, 2.0), [4, 5, 6, 7]);
        assert_eq!(all(f32::NAN, 2.0), [5, 7]);
    }
}
