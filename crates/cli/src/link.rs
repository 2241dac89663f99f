//! `nvir link`: kernels of functions that were compiled separately.

use crate::{common, out, output};
use nvir::image::separate::{self, Unit};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

/// Link what was compiled separately
///
/// Reads the relocatable cubins that `nvir compile --separate` writes, and writes a cubin with all their kernels, each with
/// the functions that it calls. Registers, local and shared memory, barriers and the call-return stack are computed of the whole.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  nvir compile --separate a.ir -o a.cubin
  nvir compile --separate b.ir -o b.cubin
  nvir link a.cubin b.cubin -o k.cubin           kernels that run
  nvir link a.cubin b.cubin --facts              what is known of each function, and of the whole")]
pub(crate) struct Args {
    /// Relocatable cubins that nvir made
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// Where to write the cubin; default: standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print the tables of facts, of each input and of the kernels, and write no cubin
    #[arg(long, conflicts_with = "output")]
    facts: bool,
}

pub(crate) fn run(a: Args) -> ExitCode {
    if a.output.is_none() && !a.facts && std::io::stdout().is_terminal() {
        return common::usage("a cubin is not written to a terminal: give --output");
    }
    if let Err(code) = output::not_an_input(a.output.as_deref(), &a.inputs) {
        return code;
    }
    let mut units = Vec::new();
    for input in &a.inputs {
        let name = input.display().to_string();
        let data = match common::read_bytes(input) {
            Ok(data) => data,
            Err(code) => return code,
        };
        match Unit::read(&data) {
            Ok(unit) => units.push((name, unit)),
            Err(e) => return common::fault_in(input, e),
        }
    }
    let linked = match separate::link(&units) {
        Ok(linked) => linked,
        Err(e) => return common::fault(e),
    };
    if !a.facts {
        return common::write_output(a.output.as_deref(), &linked.write());
    }
    let mut text = String::new();
    for (name, unit) in &units {
        text += &format!("// {name}\n{}", unit.table());
    }
    text += &format!("// linked\n{}", linked.table());
    out::stdout(text.as_bytes());
    ExitCode::SUCCESS
}
