//! `nvir disasm`: machine code to SASS text.

use crate::code::{self, Form, Texts};
use crate::{common, output};
use nvir::Chip;
use nvir::image::cubin::Kernel;
use nvir::image::listing;
use nvir::image::raw;
use nvir::isa;
use nvir::isa::fetch;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Show machine code as SASS text
#[derive(clap::Args)]
#[command(after_help = "\
The input is a cubin, hexadecimal text (words between white space), or little-endian words of 8 bytes in binary; which of
them shows in its contents. A file named .cubin must be one, and binary words must be instructions of the chip (three
quarters of them) unless the file is named .bin or .raw; --format decides otherwise. A graphics shader's header (20 words of 8 digits, or 10 of 16) in front of the words is
shown in words, as comments. The output has labels and directives and can be given to `nvir asm`.

With --words a line of gf100 may hold two short forms of 4 bytes, which become `A {short}; B {short}`, or with up to
eight digits one. A word that ends in the middle of an instruction is shown as unknown: give it with its neighbours,
without --words.")]
pub(crate) struct Args {
    /// Machine code; `-` is standard input
    input: PathBuf,
    /// The chip that the words are for; a cubin says its own
    #[arg(short, long, default_value = "gk110", value_name = "CHIP")]
    target: Chip,
    /// One hexadecimal word a line in, one instruction a line out
    #[arg(long)]
    words: bool,
    /// The address of every word with --words
    #[arg(long, default_value = "0", value_parser = common::number, requires = "words")]
    base: u32,
    /// What the input is, where its contents do not show it
    #[arg(long, value_name = "FORM", value_parser = code::form(), conflicts_with = "words")]
    format: Option<Form>,
    /// Only this kernel of a cubin
    #[arg(short, long, conflicts_with = "words", value_name = "NAME")]
    kernel: Option<String>,
    /// Show addresses and words beside the instructions
    #[arg(short = 'x', long, conflicts_with = "words")]
    hex: bool,
    /// Take the first words for code even if they are a graphics shader's header
    #[arg(long, conflicts_with = "words")]
    no_header: bool,
    /// Print JSON (docs/json.md)
    #[arg(long, conflicts_with_all = ["words", "hex"])]
    json: bool,
    /// Where to write the result; default: standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn run(args: Args) -> ExitCode {
    if let Err(code) = output::not_an_input(args.output.as_deref(), std::slice::from_ref(&args.input)) {
        return code;
    }
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
        let not_a_word = || code::tell(code::not_a_word(&text, n + 1), &args.input);
        let word = raw::word(line.trim()).ok_or_else(not_a_word)?;
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

/// Version of what `--json` writes; `docs/json.md` has the fields.
const SCHEMA: u64 = 1;

fn json(read: &code::Code) -> String {
    let kernel = |k: &Kernel| {
        let text = listing::print(read.chip, std::slice::from_ref(k), listing::Options { words: true });
        let code: Vec<_> = text.lines().filter_map(line_json).collect();
        serde_json::json!({
            "name": k.name, "registers": k.gprs, "code": code,
        })
    };
    let kernels: Vec<_> = read.kernels.iter().map(kernel).collect();
    let header = read.header.as_ref().map(crate::header::json);
    let chip = read.chip.name();
    format!("{}\n", serde_json::json!({"schema": SCHEMA, "chip": chip, "header": header, "kernels": kernels}))
}

/// `/*0008*/  EXIT;  /* 0x18000000001c003c */`
fn line_json(line: &str) -> Option<serde_json::Value> {
    let (pc, rest) = line.strip_prefix("/*")?.split_once("*/")?;
    let (text, word) = rest.rsplit_once("/*")?;
    let word = word.trim_end_matches("*/").trim();
    Some(serde_json::json!({"pc": u32::from_str_radix(pc, 16).ok()?, "word": word, "text": text.trim()}))
}

fn listing(args: &Args) -> Result<String, ExitCode> {
    let data = common::read_bytes(&args.input)?;
    let asked = code::Asked { path: &args.input, chip: args.target, form: args.format, texts: Texts::Words };
    let mut read = asked.read(&data).map_err(|e| code::tell(e, &args.input))?;
    if let Some(name) = &args.kernel {
        let kernel = code::pick(read.kernels, Some(name)).map_err(|e| common::fault_in(&args.input, e))?;
        read.kernels = vec![kernel];
    }
    // The words as they stand: a header is part of the code.
    if let Some(header) = read.header.take_if(|_| args.no_header) {
        let words = header.words();
        read.kernels.iter_mut().for_each(|k| k.code = words.iter().chain(&k.code).copied().collect());
    }
    if args.json {
        return Ok(json(&read));
    }
    let mut out = String::new();
    for line in read.header.iter().flat_map(|h| h.describe().lines().map(str::to_string).collect::<Vec<_>>())
    {
        let _ = writeln!(out, "// {line}");
    }
    out.push_str(&listing::print(read.chip, &read.kernels, listing::Options { words: args.hex }));
    Ok(out)
}
