//! `nvir compile`: text to machine code.

use crate::common::{self, TextKind};
use crate::out;
use nvir::Chip;
use nvir::compiler::{self, Options, Report};
use nvir::image::{Image, cubin, listing};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

/// Compile a kernel
///
/// Reads TGSI, NIR or IR text and prints machine code as SASS text, or in another form.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  nvir compile fill.tgsi -t gk104 -e 25          the subroutine at instruction 25
  nvir compile k.nir --emit cubin -o k.cubin     for nvdisasm and cuobjdump
  nvir compile k.nir --passes dce,fold --emit ir --time-passes")]
pub struct Args {
    /// .tgsi, .nir or .ir text; `-` is standard input
    input: PathBuf,
    /// gf100, gk104 or gk110; also nvc0, nve4, nvf0; sm_20, sm_30, sm_35
    #[arg(short, long, default_value = "gk110", value_name = "CHIP")]
    target: Chip,
    /// Optimisation level
    #[arg(short = 'O', long = "opt", default_value_t = 3, value_parser = clap::value_parser!(u8).range(0..=3), value_name = "N")]
    opt: u8,
    /// The kernel: a NIR function's name, or the instruction number of a TGSI BGNSUB
    #[arg(short, long, value_name = "NAME")]
    entry: Option<String>,
    /// Where to write the result; default: standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The input's language, where its name does not tell
    #[arg(long, value_name = "LANGUAGE")]
    format: Option<TextKind>,
    /// What to write
    #[arg(long, default_value = "sass", value_name = "FORM")]
    emit: Form,
    /// Print the IR after these passes (names between commas, or `all`) to standard error
    #[arg(long, value_name = "PASSES")]
    print_after: Option<String>,
    /// Print the IR before these passes
    #[arg(long, value_name = "PASSES")]
    print_before: Option<String>,
    /// Run only these passes of the pipeline
    #[arg(long, value_name = "PASSES")]
    passes: Option<String>,
    /// Stop optimising after so many pass runs
    #[arg(long, value_name = "N")]
    bisect_limit: Option<u32>,
    /// Verify the IR after each pass
    #[arg(long)]
    verify_each: bool,
    /// Print how long each pass took to standard error
    #[arg(long)]
    time_passes: bool,
    /// Lower the register limit, spilling as needed
    #[arg(long, value_name = "N")]
    max_gprs: Option<u32>,
    /// Registers read before any write: 0 leave them, 1 initialise all at entry, 2 the possibly uninitialised
    /// ones at entry, 3 on the edges where they are missing
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(0..=3), value_name = "0|1|2|3")]
    init_regs: u8,
    /// What to assume of the alignment of a buffer argument's address, in bytes
    #[arg(long, default_value_t = 4, value_name = "BYTES")]
    pointer_align: u32,
    /// Bytes of private memory that a TGSI program addresses itself
    #[arg(long, default_value_t = 0, value_name = "BYTES")]
    private_bytes: u32,
    /// Threads of the largest block to be launched, where the program does not declare it
    #[arg(long, value_name = "N")]
    threads: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Form {
    /// SASS text
    Sass,
    /// One word a line in hexadecimal
    Hex,
    /// The code as it lies in memory
    Bin,
    /// NVIDIA's container of machine code
    Cubin,
    /// The optimised intermediate representation
    Ir,
    /// Its control flow graph for Graphviz
    Dot,
    /// Sizes, code words and bindings
    Json,
}

pub fn run(a: Args) -> ExitCode {
    let Some(kind) = TextKind::of(&a.input, a.format) else {
        return common::usage(format!("{}: say what it is with --format tgsi, nir or ir", a.input.display()));
    };
    if matches!(a.emit, Form::Bin | Form::Cubin) && a.output.is_none() && std::io::stdout().is_terminal() {
        return common::usage("binary forms are not written to a terminal: give --output");
    }
    let mut options = Options::new(a.target);
    options.opt_level = a.opt;
    options.max_gprs = a.max_gprs;
    options.init_regs = a.init_regs;
    options.passes = a.passes.as_ref().map(|_| common::names(&a.passes));
    options.bisect_limit = a.bisect_limit;
    options.verify_each = a.verify_each;
    options.print_before = common::names(&a.print_before);
    options.print_after = common::names(&a.print_after);
    options.time_passes = a.time_passes;
    options.pointer_align = a.pointer_align;
    options.private_bytes = a.private_bytes;
    options.threads = a.threads;
    if let Err(e) = options.check(a.target) {
        return common::usage(e);
    }
    let text = match common::read_text(&a.input) {
        Ok(t) => t,
        Err(code) => return code,
    };

    let name = a.input.to_string_lossy();
    let mut notes = Report::new();
    let result = common::program(kind, &text, a.entry.as_deref(), a.target, &options).and_then(|program| {
        match a.emit {
            Form::Ir => {
                Ok(compiler::optimised(program, a.target, &options, &mut notes)?.to_string().into_bytes())
            }
            Form::Dot => {
                Ok(nvir::ir::dot::program(&compiler::optimised(program, a.target, &options, &mut notes)?)
                    .into_bytes())
            }
            form => {
                let image = compiler::compile_with_report(program, a.target, &options, &mut notes)?;
                Ok(emit(form, &image))
            }
        }
    });
    out::stderr(&notes);
    match result {
        Ok(data) => common::write_output(a.output.as_deref(), &data),
        Err(d) => {
            common::report(&d, &name, &text);
            common::input_error()
        }
    }
}

fn emit(form: Form, image: &Image) -> Vec<u8> {
    match form {
        Form::Hex => image.code.iter().map(|w| format!("{w:016x}\n")).collect::<String>().into_bytes(),
        Form::Bin => image.bytes(),
        Form::Cubin => cubin::write(image.chip, &[image.kernel()]),
        Form::Json => json(image).into_bytes(),
        _ => listing::print(image.chip, &[image.kernel()], listing::Options::default()).into_bytes(),
    }
}

fn json(image: &Image) -> String {
    let value = serde_json::json!({
        "chip": image.chip.name(),
        "entry": image.entry_name,
        "instructions": image.instructions,
        "gprs": image.gprs,
        "local": image.local_bytes,
        "stack_bytes": image.stack_bytes,
        "shared": image.shared_bytes,
        "barriers": image.barriers,
        "code_bytes": image.code_bytes(),
        "library": image.library,
        "code": image.code.iter().map(|w| format!("0x{w:016x}")).collect::<Vec<_>>(),
        "relocations": image.relocations.iter()
            .map(|r| serde_json::json!({"at": r.at, "target": r.target})).collect::<Vec<_>>(),
        "bindings": image.bindings.iter()
            .map(|b| serde_json::json!({"kind": b.kind.name(), "slot": b.slot, "count": b.count})).collect::<Vec<_>>(),
    });
    format!("{value}\n")
}
