//! The command line (INTERFACE section 1); nothing else prints.

use std::process::ExitCode;

pub fn main() -> ExitCode {
    ExitCode::from(2)
}
