//! `nvir asm`: SASS text to machine code.

use crate::common;
use nvir::Chip;
use nvir::diag::{Diagnostic, Diagnostics};
use nvir::image::{cubin, listing};
use nvir::isa::fetch::{self, Fetched};
use nvir::isa::{self, text::ParseError};
use std::fmt::Write;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

/// Assemble SASS text
#[derive(clap::Args)]
#[command(after_help = "\
The text is what `nvir disasm` prints: an instruction a line, labels, and directives such as .kernel, .registers,
.shared, .param and .sched; only the instructions are needed. On gf100 `{short}` after an instruction asks for its
form of 4 bytes; with --words two of these share a line, `A {short}; B {short}`, and one alone becomes 8 digits.

Operands with which an instruction faults whenever it is executed are errors: barrier 16, DADD R1, BRA 0x7. The directive
.unchecked takes them in a kernel, as `nvir disasm` writes it where code has such operands; --words takes them, too.")]
pub(crate) struct Args {
    /// SASS text; `-` is standard input
    input: PathBuf,
    /// The chip to assemble for, where the text has no .chip
    #[arg(short, long, default_value = "gk110")]
    target: Chip,
    /// Where the result goes; default is standard output
    #[arg(short, long)]
    output: Option<PathBuf>,
    /// Form of the result; default by the output's ending, hex otherwise
    #[arg(long, value_enum, conflicts_with = "words")]
    emit: Option<Emit>,
    /// One instruction a line in, one hexadecimal word a line out
    #[arg(long)]
    words: bool,
    /// The address of every instruction with --words
    #[arg(long, default_value = "0", value_parser = common::number, requires = "words")]
    base: u32,
}

/// Forms of machine code.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Emit {
    /// A hexadecimal word a line
    #[value(alias = "words")]
    Hex,
    /// Little-endian words
    Bin,
    /// NVIDIA's container
    Cubin,
}

pub(crate) fn run(args: Args) -> ExitCode {
    let inputs = std::slice::from_ref(&args.input);
    if let Err(code) = crate::output::not_an_input(args.output.as_deref(), inputs) {
        return code;
    }
    let text = match common::read_text(&args.input) {
        Ok(t) => t,
        Err(code) => return code,
    };
    let result = if args.words { words(&args, &text).map(String::into_bytes) } else { code(&args, &text) };
    match result {
        Ok(data) => {
            let binary = !args.words && emit(&args) != Emit::Hex;
            if binary && args.output.is_none() && std::io::stdout().is_terminal() {
                return common::usage("machine code is not for a terminal: give --output FILE");
            }
            common::write_output(args.output.as_deref(), &data)
        }
        Err(found) => {
            common::report(&found, &args.input.display().to_string(), &text);
            common::input_error()
        }
    }
}

fn emit(args: &Args) -> Emit {
    let ending = args.output.as_ref().and_then(|o| o.extension()).and_then(|e| e.to_str());
    args.emit.unwrap_or(match ending {
        Some("cubin") => Emit::Cubin,
        Some("bin") => Emit::Bin,
        _ => Emit::Hex,
    })
}

fn code(args: &Args, text: &str) -> Result<Vec<u8>, Diagnostics> {
    let assembly = listing::assemble(text, args.target, &nvir::input::stem(&args.input))?;
    let words = assembly.kernels.iter().flat_map(|k| &k.code);
    Ok(match emit(args) {
        Emit::Cubin => cubin::write(assembly.chip, &assembly.kernels),
        Emit::Bin => words.flat_map(|w| w.to_le_bytes()).collect(),
        Emit::Hex => words
            .fold(String::new(), |mut out, w| {
                let _ = writeln!(out, "{w:016x}");
                out
            })
            .into_bytes(),
    })
}

fn words(args: &Args, text: &str) -> Result<String, Diagnostics> {
    let mut out = String::new();
    let mut found = Diagnostics::default();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        match word(args, line.trim_end()) {
            Ok(Fetched { word, bytes }) => {
                let _ = writeln!(out, "{word:0digits$x}", digits = 2 * bytes as usize);
            }
            Err(e) => {
                found.push(match found.is_full() {
                    true => Diagnostic::error(e.what),
                    false => e.diagnostic(line, start),
                });
            }
        }
        start += line.len();
    }
    if found.is_empty() { Ok(out) } else { Err(found) }
}

fn word(args: &Args, line: &str) -> Result<Fetched, ParseError> {
    if let Some(digits) = line.strip_prefix("<unknown 0x").and_then(|l| l.strip_suffix('>')) {
        return u64::from_str_radix(digits, 16).map(Fetched::long).map_err(|_| ParseError {
            what: "invalid word",
            at: "<unknown 0x".len(),
            len: digits.len(),
            message: "expected 16 hexadecimal digits".to_string(),
        });
    }
    let (first, second) = match line.split_once(';') {
        Some((first, second)) if !second.trim().is_empty() => (first, Some(second)),
        _ => (line, None),
    };
    let low = instruction(args, first, args.base)?;
    let Some(second) = second else { return Ok(low) };
    let at = line.len() - second.len();
    let high = instruction(args, second, args.base.wrapping_add(4));
    let high = high.map_err(|e| ParseError { at: at + e.at, ..e })?;
    if low.bytes + high.bytes != 8 {
        let message = "only two instructions of 4 bytes can share a word".to_string();
        return Err(ParseError { what: "invalid instruction", at, len: second.len(), message });
    }
    Ok(Fetched::long(fetch::pack(&[low, high])[0]))
}

fn instruction(args: &Args, text: &str, pc: u32) -> Result<Fetched, ParseError> {
    let m = isa::text::parse(args.target, text, pc, &|_| None)?;
    let word = isa::encode(args.target, &m, pc);
    let word = word.map_err(|e| ParseError::misfit(e, 0, text.len()))?;
    Ok(Fetched { word, bytes: m.bytes() })
}
