//! `nvir isa`: the instruction set reference.

use crate::common;
use nvir::Chip;
use nvir::diag::closest;
use nvir::isa::{Op, reference};
use std::process::ExitCode;

/// Show the instruction set of a chip, from the tables that encode it
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The chip
    #[arg(short, long, default_value = "gk110")]
    target: Chip,
    /// An operation: its forms with every field; without one, the list of all
    mnemonic: Option<String>,
}

pub(crate) fn run(args: Args) -> ExitCode {
    let Some(name) = args.mnemonic else {
        return common::write_output(None, reference::index(args.target).as_bytes());
    };
    let op = Op::ALL.iter().find(|o| o.name().eq_ignore_ascii_case(&name));
    match op.and_then(|&op| reference::page(args.target, op)) {
        Some(page) => common::write_output(None, page.as_bytes()),
        None => {
            let names: Vec<&str> = Op::ALL.iter().map(|o| o.name()).collect();
            let near = closest(&name.to_ascii_uppercase(), &names);
            let near = near.map_or(String::new(), |n| format!("did you mean `{n}`? "));
            common::fault(format!(
                "{0} has no operation `{name}`; {near}`nvir isa -t {0}` lists all",
                args.target
            ))
        }
    }
}
