//! The command line (INTERFACE section 1); nothing else prints.
//!
//! A file for each command, with its `Args` and `run`. Standard output holds only the result; diagnostics and
//! logging go to standard error. Exit status: 0 done, 1 the input is at fault, 2 wrong usage.

mod asm;
mod common;
mod compile;
mod disasm;
mod interp;
mod ir;
mod isa;
mod opt;
mod run;
mod stats;
mod test;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Shader code generator and emulator for NVIDIA Fermi and Kepler.
///
/// Compiles TGSI and NIR text to the machine code of GF100, GK104 and GK110, and runs machine code on the CPU.
#[derive(Parser)]
#[command(name = "nvir", version, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "Examples:
  nvir compile kernel.tgsi -t gk104                 SASS text of a kernel
  nvir compile kernel.nir --emit ir --print-after all   follow it through the passes
  nvir run tgsi/get-num-groups.toml                 compile a fixture's kernel, run it, compare its results
  nvir test tgsi -t gk110 -O 3                      every fixture below a folder
  nvir stats shaders/ --json                        sizes and compile times, for scripts
  RUST_LOG=nvir=debug nvir compile kernel.tgsi      what the compiler thinks";

#[derive(Subcommand)]
enum Command {
    Compile(compile::Args),
    Opt(opt::Args),
    Asm(asm::Args),
    Disasm(disasm::Args),
    Interp(interp::Args),
    Ir(ir::Args),
    Isa(isa::Args),
    Run(run::Args),
    Test(test::Args),
    Stats(stats::Args),
}

pub fn main() -> ExitCode {
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or("warn")).init();
    match Cli::parse().command {
        Command::Compile(a) => compile::run(a),
        Command::Opt(a) => opt::run(a),
        Command::Asm(a) => asm::run(a),
        Command::Disasm(a) => disasm::run(a),
        Command::Interp(a) => interp::run(a),
        Command::Ir(a) => ir::run(a),
        Command::Isa(a) => isa::run(a),
        Command::Run(a) => run::run(a),
        Command::Test(a) => test::run(a),
        Command::Stats(a) => stats::run(a),
    }
}
