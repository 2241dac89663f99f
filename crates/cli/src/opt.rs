//! `nvir opt`: single optimiser passes on IR text.

use crate::{common, out, output};
use nvir::Chip;
use nvir::compiler::{DebugOptions, OptLevel, Options};
use nvir::ir::parse;
use nvir::opt::{self, Session, Stage};
use nvir::verify;
use std::path::PathBuf;
use std::process::ExitCode;

/// Run optimiser passes on IR text
///
/// Reads a program in the IR listing, runs the passes named (or a stage's whole pipeline) and prints the result.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  nvir opt k.ir --passes=gvn,dce                 two passes
  nvir compile k.tgsi --emit ir | nvir opt - --stage legal --passes operand")]
pub(crate) struct Args {
    /// IR text; `-` is standard input
    input: PathBuf,
    /// Passes to run, in this order; default: the stage's pipeline
    #[arg(long, value_delimiter = ',', value_name = "PASSES")]
    passes: Vec<String>,
    /// The phase that the program is in
    #[arg(long, default_value = "front", value_name = "STAGE")]
    stage: StageName,
    /// gf100, gk104 or gk110; also nvc0, nve4, nvf0; sm_20, sm_30, sm_35
    #[arg(short, long, default_value = "gk110", value_name = "CHIP")]
    target: Chip,
    /// Optimisation level of the pipeline
    #[arg(short = 'O', long = "opt", default_value = "3", value_parser = common::level(), value_name = "N")]
    opt: OptLevel,
    /// Where to write the result; default: standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print how long each pass took, and what it did, to standard error
    #[arg(long)]
    time_passes: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum StageName {
    /// As front-ends make it
    Front,
    /// After lowering for the chip
    Ssa,
    /// Each instruction encodes
    Legal,
}

pub(crate) fn run(args: Args) -> ExitCode {
    let passes: Result<Vec<_>, _> = args.passes.iter().map(|name| opt::named(name)).collect();
    let passes = match passes {
        Ok(p) => p,
        Err(e) => return common::usage(e),
    };
    if let Err(code) = output::not_an_input(args.output.as_deref(), std::slice::from_ref(&args.input)) {
        return code;
    }
    let text = match common::read_text(&args.input) {
        Ok(text) => text,
        Err(code) => return code,
    };
    let name = args.input.display().to_string();
    let stage = match args.stage {
        StageName::Front => Stage::Front,
        StageName::Ssa => Stage::Ssa,
        StageName::Legal => Stage::Legal,
    };
    let read = parse::program(&text).and_then(|p| {
        verify::for_chip(&p, stage.phase(), args.target).map_err(|v| v.diagnostic())?;
        Ok(p)
    });
    let mut program = match read {
        Ok(p) => p,
        Err(d) => {
            common::report(&d.into(), &name, &text);
            return common::input_error();
        }
    };
    let debug = DebugOptions { verify_each: true, time_passes: args.time_passes, ..DebugOptions::default() };
    let options = Options { opt_level: args.opt, debug, ..Options::default() };
    let mut session = Session::new();
    let done = if passes.is_empty() {
        session.run(stage, &mut program, args.target, &options)
    } else {
        let mut done = Ok(());
        for pass in passes {
            done = done
                .and_then(|()| session.run_pass(pass, stage, &mut program, args.target, &options).map(drop));
        }
        done
    };
    if let Err(broken) = done {
        return common::fault_in(&args.input, broken);
    }
    if args.time_passes {
        out::stderr(&session.report());
    }
    common::write_output(args.output.as_deref(), program.to_string().as_bytes())
}
