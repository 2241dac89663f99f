//! Instruction order and issue timing.
//!
//! | file | what |
//! | --- | --- |
//! | [`effects`] | what a machine instruction reads and writes |
//! | [`issue`] | Kepler's issue control: how long after an instruction the next one may issue |

pub mod effects;
pub mod issue;
