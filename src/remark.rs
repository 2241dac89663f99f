//! What a compile did not do and why, for people: no part of any result.

use crate::diag::Loc;

/// One thing that a pass would have done, had something been otherwise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Remark {
    /// Where in the source; the default where that is not known.
    pub loc: Loc,
    /// The pass, or `registers`.
    pub pass: &'static str,
    /// Such as `not merged: alignment 4 is proven, 8 needed`.
    pub message: String,
}
