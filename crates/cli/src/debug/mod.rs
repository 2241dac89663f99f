//! `nvir debug`: steps through the warps of a fixture's test or of a recording, forwards and backwards.
//!
//! A debugger is an engine of the emulator that executes nothing: before each instruction it looks at the warp and asks what to
//! do ([`session`]), then has the interpreter execute it. Executions are deterministic, so an instruction is known by its number,
//! and going back means to begin again and to stop earlier ([`hook`]).

mod command;
mod condition;
mod hook;
mod input;
mod session;
mod show;
mod target;

use crate::common;
use input::Input;
use nvir::Chip;
use nvir::compiler::OptLevel;
use std::path::PathBuf;
use std::process::ExitCode;
use target::Target;

/// Step through the warps of a fixture or a recording
///
/// Stops before the first instruction, then does what is asked: `help` lists what there is. Every instruction has a number, and
/// all can be reached again, backwards too, since executions repeat exactly. A fault stops before the instruction that faults.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  nvir debug k.toml --test small -t gk110
  nvir debug frame.trace                          every program of a recording
  nvir debug k.toml --script steps.txt            commands from a file, then from the terminal
  echo 'break fault
  run
  regs' | nvir debug k.toml -O 0

Commands, of which a beginning is enough:
  run, step, next, rstep, rnext, rrun, break 0x48 if R3 == 7, watch g[0x1000], regs, stack, list, x s[0] 8, help")]
pub(crate) struct Args {
    /// A fixture (.toml or .json), or a recording as `nvir gpu --trace` writes it
    #[arg(value_name = "FIXTURE|RECORDING")]
    input: PathBuf,
    /// This test of the fixture; needed where there are several
    #[arg(long, value_name = "NAME")]
    test: Option<String>,
    /// The chip; default: the last that the fixture allows
    #[arg(short, long, value_name = "CHIP")]
    target: Option<Chip>,
    /// Optimisation level
    #[arg(short = 'O', long = "opt", default_value = "3", value_parser = common::level(), value_name = "N")]
    opt: OptLevel,
    /// Lower the register limit, spilling as needed
    #[arg(long, value_name = "N")]
    max_gprs: Option<u32>,
    /// Checkers whose faults stop: see `run --help`
    #[arg(long, default_value = "memcheck", value_name = "CHECKERS")]
    check: String,
    /// Commands from this file first; then from standard input, if that is a terminal
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
}

pub(crate) fn run(a: Args) -> ExitCode {
    match prepared(&a) {
        Ok((target, input)) => hook::debug(&target, input),
        Err(code) => code,
    }
}

fn prepared(a: &Args) -> Result<(Target, Input), ExitCode> {
    let script = a.script.as_deref().map(common::read_text).transpose()?;
    let target = Target::load(a)?;
    Ok((target, Input::new(script)))
}
