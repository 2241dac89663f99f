//! `nvir disasm`: machine code to SASS text.

use crate::common;
use nvir::Chip;
use nvir::image::cubin::{Cubin, Kernel};
use nvir::image::listing;
use nvir::image::raw::{self, BadRaw, Raw};
use nvir::isa;
use nvir::isa::fetch;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Show machine code as SASS text
#[derive(clap::Args)]
#[command(after_help = "\
The input is a cubin, hexadecimal text (words between white space), or little-endian words in binary; which of them
it is shows in its first bytes. A graphics shader's header (20 words of 8 digits, or 10 of 16) in front of the words is
shown in words, as comments. The output has labels and directives and can be given to `nvir asm`.

With --words a line of gf100 may hold two short forms of 4 bytes, which become `A {short}; B {short}`, or with up to
eight digits one. A word that ends in the middle of an instruction is shown as unknown: give it with its neighbours,
without --words.")]
pub struct Args {
    /// Machine code; `-` is standard input
    input: PathBuf,
    /// The chip that the words are for; a cubin says its own
    #[arg(short, long, default_value = "gk110")]
    target: Chip,
    /// One hexadecimal word a line in, one instruction a line out
    #[arg(long)]
    words: bool,
    /// The address of every word with --words
    #[arg(long, default_value = "0", value_parser = common::number, requires = "words")]
    base: u32,
    /// Only this kernel of a cubin
    #[arg(short, long, conflicts_with = "words")]
    kernel: Option<String>,
    /// Show addresses and words beside the instructions
    #[arg(short = 'x', long, conflicts_with = "words")]
    hex: bool,
    /// Take the first words for code even if they are a graphics shader's header
    #[arg(long, conflicts_with = "words")]
    no_header: bool,
    /// Where the result goes; default is standard output
    #[arg(short, long)]
    output: Option<PathBuf>,
}

pub fn run(args: Args) -> ExitCode {
    let text = if args.words { words(&args) } else { listing(&args) };
    match text {
        Ok(text) => common::write_output(args.output.as_deref(), text.as_bytes()),
        Err(code) => code,
    }
}

fn words(args: &Args) -> Result<String, ExitCode> {
    let text = common::read_text(&args.input)?;
    let mut out = String::new();
    for (n, line) in text.lines().enumerate() {
        let word = raw::word(line.trim()).ok_or_else(|| not_a_word(args, n))?;
        let start = out.len();
        if print_word(&mut out, args, word, digits(line).len()).is_none() {
            out.truncate(start);
            let _ = write!(out, "<unknown {word:#018x}>");
        }
        out.push('\n');
    }
    Ok(out)
}

/// Appends the instructions of a word that was written with so many digits; none if it is not made of whole ones.
fn print_word(out: &mut String, args: &Args, word: u64, digits: usize) -> Option<()> {
    let print = |out: &mut String, at: u32| {
        let fetched = fetch::fetch(args.target, &[word], at)?;
        let (m, row) = isa::decode_row(args.target, fetched.word, args.base.wrapping_add(at))?;
        isa::text::print_row(out, args.target, &m, Some(row));
        (m.bytes() == fetched.bytes).then_some(at + fetched.bytes)
    };
    if print(out, 0)? == 4 && digits > 8 {
        out.push_str("; ");
        print(out, 4)?;
    }
    Some(())
}

fn digits(text: &str) -> &str {
    let digits = text.trim();
    digits.strip_prefix("0x").unwrap_or(digits)
}

fn not_a_word(args: &Args, line: usize) -> ExitCode {
    common::fault(format!(
        "{}:{}:1: expected a word of up to 16 hexadecimal digits",
        args.input.display(),
        line + 1
    ))
}

fn listing(args: &Args) -> Result<String, ExitCode> {
    let data = common::read_bytes(&args.input)?;
    let options = listing::Options { words: args.hex };
    if data.starts_with(b"\x7fELF") {
        let fault = |e: &dyn std::fmt::Display| common::fault(format!("{}: {e}", args.input.display()));
        let cubin = Cubin::read(&data).map_err(|e| fault(&e))?;
        let kernels = match &args.kernel {
            Some(name) => vec![cubin.kernel(name).map_err(|e| fault(&e))?.clone()],
            None => cubin.kernels,
        };
        return Ok(listing::print(cubin.chip, &kernels, options));
    }
    let read = if args.no_header {
        raw::code(&data).map(|code| Raw { header: None, code })
    } else {
        raw::read(&data)
    };
    let Raw { header, code } = read.map_err(|e| match e {
        BadRaw::Line(line) => not_a_word(args, line - 1),
        e => common::fault(format!("{}: {e}", args.input.display())),
    })?;
    let name = common::stem(&args.input);
    let mut out = String::new();
    for line in header.iter().flat_map(|h| h.describe().lines().map(str::to_string).collect::<Vec<_>>()) {
        let _ = writeln!(out, "// {line}");
    }
    out.push_str(&listing::print(args.target, &[Kernel { name, code, ..Kernel::default() }], options));
    Ok(out)
}
