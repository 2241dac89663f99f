//! Instruction order and issue timing.
//!
//! | file | what |
//! | --- | --- |
//! | [`order`] | list scheduling of straight code |
//! | [`texbar`] | barriers for texture results, on Kepler |
//! | [`issue`] | Kepler's issue control: how long after an instruction the next one may issue |
//! | [`check`] | finished code against the rules of issue control |

pub mod check;
pub mod issue;
pub mod order;
pub mod texbar;
