//! `nvir asm`: SASS text to machine code.

use super::common;
use nvir::Chip;
use nvir::diag::{Diagnostic, Diagnostics, Span};
use nvir::isa;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Assemble SASS text
#[derive(clap::Args)]
pub struct Args {
    /// SASS text; `-` is standard input
    input: PathBuf,
    /// The chip to assemble for
    #[arg(short, long, default_value = "gk110")]
    target: Chip,
    /// Where the result goes; default is standard output
    #[arg(short, long)]
    output: Option<PathBuf>,
    /// One instruction a line in, one hexadecimal word a line out
    #[arg(long)]
    words: bool,
    /// The address of every instruction with --words
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
    let mut found = Diagnostics::default();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        match word(args, line.trim_end()) {
            Ok(w) => {
                let _ = writeln!(out, "{w:016x}");
            }
            Err(e) => {
                let span = Span::new(start + e.at, start + e.at + e.len);
                found.push(Diagnostic::error("this is no instruction").at(span, e.message));
            }
        }
        start += line.len();
    }
    if found.is_empty() {
        return common::write_output(args.output.as_deref(), out.as_bytes());
    }
    common::report(&found, &args.input.display().to_string(), &text);
    common::input_error()
}

fn word(args: &Args, line: &str) -> Result<u64, isa::text::ParseError> {
    if let Some(digits) = line.strip_prefix("<unknown 0x").and_then(|l| l.strip_suffix('>')) {
        return u64::from_str_radix(digits, 16).map_err(|_| isa::text::ParseError {
            at: 11,
            len: digits.len(),
            message: "expected 16 hexadecimal digits".to_string(),
        });
    }
    let m = isa::text::parse(args.target, line, args.base, &|_| None)?;
    isa::encode(args.target, &m, args.base).map_err(|e| isa::text::ParseError {
        at: 0,
        len: line.len(),
        message: e.to_string(),
    })
}
