//! `nvir replay`: recordings of what a program submitted, executed again and compared.

use crate::common;
use crate::out::{self, tell};
use nvir_vgpu::replay::{Options, Report, replay};
use serde_json::json;
use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Execute recordings of a virtual GPU and compare memory after every submission
///
/// Prints a line `ok TRACE` or `FAILED TRACE: why` for each, with the first words that are not as recorded and the method that
/// wrote them. Times that the GPU writes are not compared.
#[derive(clap::Args)]
pub struct Args {
    /// Recordings, as `nvir gpu --trace` writes them
    #[arg(required = true)]
    traces: Vec<PathBuf>,
    /// Write submissions, methods and launches here, of one recording
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Words that differ to print for each recording
    #[arg(long, default_value = "4", value_name = "N")]
    differences: usize,
    /// Print also how many bytes transfers, clears and blits moved, and how long all submissions took
    #[arg(long)]
    speed: bool,
    /// Print JSON instead of lines
    #[arg(long)]
    json: bool,
}

/// Version of what `--json` writes; `docs/json.md` has the fields.
const SCHEMA: u64 = 1;

pub fn run(a: Args) -> ExitCode {
    if a.log.is_some() && a.traces.len() > 1 {
        return common::usage("--log takes one recording");
    }
    if let Err(code) = crate::output::not_an_input(a.log.as_deref(), &a.traces) {
        return code;
    }
    let total = a.traces.iter().filter_map(|t| t.metadata().ok()).map(|m| m.len()).sum::<u64>();
    let bar = common::progress(usize::try_from(total).unwrap_or(usize::MAX));
    let mut before = 0;
    let mut failed = false;
    let mut rows = Vec::new();
    for trace in &a.traces {
        bar.set_message(trace.display().to_string());
        let mut last = 0;
        let result = one(trace, &a, &mut |bytes| {
            last = bytes;
            bar.set_position(before + bytes);
        });
        before += last;
        let passed = matches!(&result, Ok(report) if report.passed());
        failed |= !passed;
        if a.json {
            rows.push(row(trace, &result));
        } else {
            bar.suspend(|| out::stdout(text(trace, &result, a.speed).as_bytes()));
        }
    }
    bar.finish_and_clear();
    if a.json {
        out::stdout(format!("{}\n", json!({ "schema": SCHEMA, "traces": rows })).as_bytes());
    }
    if failed { ExitCode::from(1) } else { ExitCode::SUCCESS }
}

fn one(trace: &Path, a: &Args, progress: &mut dyn FnMut(u64)) -> Result<Report, String> {
    let file = File::open(trace).map_err(|e| e.to_string())?;
    let mut options = Options { differences: a.differences, ..Options::default() };
    if let Some(path) = &a.log {
        match File::create(path) {
            Ok(to) => options.log = Some(Box::new(BufWriter::new(to))),
            Err(e) => tell!("error: {}: {e}", path.display()),
        }
    }
    replay(BufReader::new(file), options, progress).map_err(|e| e.to_string())
}

fn text(trace: &Path, result: &Result<Report, String>, speed: bool) -> String {
    let name = trace.display();
    let report = match result {
        Err(e) => return format!("FAILED {name}: {e}\n"),
        Ok(report) if report.passed() => {
            let speed = if speed { told_speed(report) } else { String::new() };
            return format!("ok {name}: {} submissions{speed}\n", report.submissions);
        }
        Ok(report) => report,
    };
    let mut text = format!("FAILED {name}:");
    if let Some((submission, fault)) = &report.fault {
        text += &format!(" fault in submission {submission}");
        text += &format!("\n  {fault}");
    } else {
        text += &format!(" {} words are not as recorded", report.wrong);
    }
    text.push('\n');
    report.differences.iter().for_each(|d| text += &format!("  {d}\n"));
    text
}

/// Bytes that were moved, the time of all submissions, and the quotient.
fn told_speed(report: &Report) -> String {
    let (bytes, seconds) = (report.moved as f64, report.executing.as_secs_f64());
    format!(", {:.1} MB in {seconds:.3} s, {:.2} GB/s", bytes / 1e6, bytes / 1e9 / seconds.max(1e-9))
}

fn row(trace: &Path, result: &Result<Report, String>) -> serde_json::Value {
    let name = trace.display().to_string();
    let report = match result {
        Err(e) => return json!({ "trace": name, "ok": false, "error": e }),
        Ok(report) => report,
    };
    let differences: Vec<_> = report
        .differences
        .iter()
        .map(|d| {
            json!({
                "submission": d.submission,
                "address": d.address,
                "buffer": d.buffer,
                "expected": d.expected,
                "found": d.found,
                "text": d.to_string(),
            })
        })
        .collect();
    json!({
        "trace": name,
        "ok": report.passed(),
        "submissions": report.submissions,
        "compared_bytes": report.compared,
        "wrong_words": report.wrong,
        "moved_bytes": report.moved,
        "seconds": report.executing.as_secs_f64(),
        "fault": report.fault.as_ref().map(|(submission, text)| json!({ "submission": submission, "text": text })),
        "differences": differences,
    })
}
