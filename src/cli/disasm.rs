//! `nvir disasm`: machine code to SASS text.

use super::common;
use nvir::Chip;
use nvir::isa;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Show machine code as SASS text
#[derive(clap::Args)]
pub struct Args {
    /// Words in binary, hexadecimal text, or a cubin; `-` is standard input
    input: PathBuf,
    /// The chip that the words are for; a cubin says its own
    #[arg(short, long, default_value = "gk110")]
    target: Chip,
    /// One hexadecimal word a line in, one instruction a line out
    #[arg(long)]
    words: bool,
    /// The address of every word with --words, and of the first one without
    #[arg(long, default_value = "0", value_parser = common::number)]
    base: u32,
}

pub fn run(args: Args) -> ExitCode {
    if args.words { words(&args) } else { ExitCode::from(2) }
}

fn words(args: &Args) -> ExitCode {
    let text = match common::read_text(&args.input) {
        Ok(t) => t,
        Err(e) => return e,
    };
    let mut out = String::new();
    for (n, line) in text.lines().enumerate() {
        let digits = line.trim();
        let Ok(word) = u64::from_str_radix(digits.trim_start_matches("0x"), 16) else {
            eprintln!(
                "error: {}:{}:1: expected a word of up to 16 hexadecimal digits",
                args.input.display(),
                n + 1
            );
            return common::input_error();
        };
        match isa::decode_row(args.target, word, args.base) {
            Some((m, row)) => isa::text::print_row(&mut out, &m, Some(row)),
            None => {
                let _ = write!(out, "<unknown {word:#018x}>");
            }
        }
        out.push('\n');
    }
    common::write_output(None, out.as_bytes())
}
