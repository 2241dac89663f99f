//! Instruction order and issue timing.
//!
//! | file | what |
//! | --- | --- |
//! | [`effects`] | what a machine instruction reads and writes |
//! | [`order`] | list scheduling of straight code |
//! | [`texbar`] | barriers for texture results, on Kepler |
//! | [`issue`] | Kepler's issue control: how long after an instruction the next one may issue |

pub mod effects;
pub mod issue;
pub mod order;
pub mod texbar;
