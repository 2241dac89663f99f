//! `nvir ir`: the reference of the intermediate representation's operations.

use crate::common;
use nvir::diag::closest;
use nvir::ir::op::{Op, reference};
use std::process::ExitCode;

/// Show the operations of the intermediate representation, from the table that its verifier enforces
#[derive(clap::Args)]
#[command(after_help = "Examples:
  nvir ir            all operations, with their types and what they do
  nvir ir set        operands, types, modifiers and suffixes of `set`")]
pub(crate) struct Args {
    /// An operation: its form, operands and types; without one, the list of all
    #[arg(value_name = "OP")]
    op: Option<String>,
}

pub(crate) fn run(args: Args) -> ExitCode {
    let Some(name) = args.op else {
        return common::write_output(None, reference::index().as_bytes());
    };
    match Op::from_name(&name.to_ascii_lowercase()) {
        Some(op) => common::write_output(None, reference::page(op).as_bytes()),
        None => {
            let names: Vec<&str> = Op::ALL.iter().map(|o| o.name()).collect();
            let near = closest(&name.to_ascii_lowercase(), &names);
            let near = near.map_or(String::new(), |n| format!("did you mean `{n}`? "));
            common::fault(format!(
                "the intermediate representation has no operation `{name}`; {near}`nvir ir` lists all"
            ))
        }
    }
}
