//! `nvir passes`: what the optimiser can do.

use crate::common;
use nvir::OptLevel;
use nvir::opt::{PASSES, Stage, pipeline};
use serde_json::json;
use std::process::ExitCode;

/// List the passes of the optimiser with a line each, and the pipelines that they make
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The pipeline of this optimisation level
    #[arg(short = 'O', long = "opt", default_value = "3", value_parser = common::level(), value_name = "N")]
    opt: OptLevel,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const STAGES: [(Stage, &str); 3] = [(Stage::Front, "front"), (Stage::Ssa, "ssa"), (Stage::Legal, "legal")];

pub(crate) fn run(a: Args) -> ExitCode {
    let stage = |stage| pipeline(stage, a.opt).iter().map(|&n| PASSES[n].name).collect::<Vec<_>>();
    let text = if a.json {
        let passes: Vec<_> = PASSES.iter().map(|p| json!({"name": p.name, "summary": p.summary})).collect();
        let pipelines: serde_json::Map<_, _> =
            STAGES.iter().map(|&(s, name)| (name.to_string(), stage(s).into())).collect();
        format!("{}\n", json!({"schema": 1, "opt": a.opt as u8, "passes": passes, "pipeline": pipelines}))
    } else {
        let mut text: String = PASSES.iter().map(|p| format!("{:<18} {}\n", p.name, p.summary)).collect();
        text += &format!("\nThe pipeline at -O{}:\n", a.opt);
        for (s, name) in STAGES {
            text += format!("{name:<18} {}", stage(s).join(" ")).trim_end();
            text += "\n";
        }
        text
    };
    common::write_output(None, text.as_bytes())
}
