//! The emulator as its users see it: programs, launches, faults and checkers, and the fixtures that
//! describe them.

#[path = "../common/mod.rs"]
mod common;

mod emu;
mod fixture_rules;
mod launch;
mod racecheck;
mod sanitize;
mod shared_atomics;
mod surfaces;
