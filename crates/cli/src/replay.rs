//! `nvir replay`: recordings of what a program submitted, executed again and compared.

use crate::common;
use crate::out;
use crate::output::unwritable;
use nvir::emu::{Note, Place};
use nvir::input;
use nvir_emu_jit::Choice;
use nvir_vgpu::frames::OnFrame;
use nvir_vgpu::output::{self, Found, Kind, LOG_HEADER};
use nvir_vgpu::replay::{Options, Report, replay};
use serde_json::json;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

/// Execute recordings of a virtual GPU and compare memory after every submission
///
/// Prints a line `ok TRACE` or `FAILED TRACE: why` for each, with the first words that differ from the recording and the method
/// that wrote them. Times that the GPU writes are not compared.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Recordings, as `nvir gpu --trace` writes them
    #[arg(required = true)]
    traces: Vec<PathBuf>,
    /// Write submissions, methods and launches of one recording to this file, device or pipe; `-`: standard error. Of the files
    /// that exist only a log is replaced
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Write a PNG of every target at the end of each submission that draws or clears, into this folder, for each recording
    #[arg(long, visible_alias = "png", value_name = "DIR")]
    dump_frames: Option<PathBuf>,
    /// Of these frames, counted from 1, write one only
    #[arg(long, requires = "dump_frames", value_parser = clap::value_parser!(u64).range(1..), value_name = "N")]
    frame: Option<u64>,
    /// In these pictures the first row of a target is the top one, as Vulkan and nvir's own driver have it; else the viewport says
    /// which row is, as OpenGL has it
    #[arg(long, requires = "dump_frames")]
    top_first: bool,
    /// End with this status, not 1, if a kernel or command of a recording faults
    #[arg(long, value_parser = clap::value_parser!(u8).range(1..), value_name = "N")]
    error_exitcode: Option<u8>,
    /// How many words that differ to print for each recording
    #[arg(long, default_value = "4", value_name = "N")]
    differences: usize,
    /// What executes programs: the `interpreter`; host code, `compiled` from what runs often; or `both`, which compares them after
    /// each basic block and stops at the first difference
    #[arg(long, default_value_t, value_name = "ENGINE")]
    engine: Choice,
    /// Print also how many bytes transfers, clears and blits moved, and how long all submissions took
    #[arg(long)]
    speed: bool,
    /// Print JSON instead of lines
    #[arg(long)]
    json: bool,
}

/// Version of what `--json` writes; `docs/json.md` has the fields.
const SCHEMA: u64 = 1;

pub(crate) fn run(a: Args) -> ExitCode {
    if a.log.is_some() && a.traces.len() > 1 {
        return common::usage("--log takes one recording");
    }
    if let Err(code) = crate::output::not_an_input(a.log.as_deref(), &a.traces) {
        return code;
    }
    let total = a.traces.iter().filter_map(|t| t.metadata().ok()).map(|m| m.len()).sum::<u64>();
    let bar = common::progress(usize::try_from(total).unwrap_or(usize::MAX));
    let mut before = 0;
    let (mut failed, mut faulted) = (false, false);
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
        faulted |= matches!(&result, Ok(report) if report.fault.is_some());
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
    match a.error_exitcode {
        Some(code) if faulted => ExitCode::from(code),
        _ if failed => ExitCode::from(1),
        _ => ExitCode::SUCCESS,
    }
}

fn one(trace: &Path, a: &Args, progress: &mut dyn FnMut(u64)) -> Result<Report, String> {
    let file = File::open(trace).map_err(|e| input::why(&e))?;
    let mut options = Options { differences: a.differences, engine: a.engine.engine(), ..Options::default() };
    let log = a
        .log
        .as_ref()
        .map(|path| Log::new(path).map_err(|e| format!("{}: {}", path.display(), unwritable(&e))));
    let log = log.transpose()?;
    options.log = log.clone().map(|l| Box::new(l) as Box<dyn Write + Send>);
    let frames = a.dump_frames.as_deref().map(|folder| Frames::new(folder, trace));
    options.on_frame = frames.as_ref().map(Frames::writer);
    options.frame = a.frame;
    options.top_first = a.top_first;
    let report = replay(BufReader::new(file), options, progress).map_err(|e| e.to_string())?;
    if let Some(frames) = frames {
        frames.written(a.frame)?;
    }
    match (&a.log, log.and_then(|l| l.failure())) {
        (Some(path), Some(e)) => {
            Err(format!("{}: {}; the log is incomplete", path.display(), unwritable(&e)))
        }
        _ => Ok(report),
    }
}

/// Pictures of a recording's targets: how many frames were written, or the first failure.
struct Frames {
    folder: PathBuf,
    prefix: String,
    state: Arc<Mutex<io::Result<u64>>>,
}

impl Frames {
    fn new(folder: &Path, trace: &Path) -> Frames {
        let name = trace.file_stem().unwrap_or_default().to_string_lossy();
        Frames { folder: folder.into(), prefix: format!("{name}-"), state: Arc::new(Mutex::new(Ok(0))) }
    }

    fn writer(&self) -> OnFrame {
        let (folder, prefix, state) = (self.folder.clone(), self.prefix.clone(), self.state.clone());
        Box::new(move |frame| {
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            if let Ok(count) = &*state {
                *state = frame.write(&folder, &prefix).map(|()| count + 1);
            }
        })
    }

    /// What is missing.
    fn written(self, frame: Option<u64>) -> Result<(), String> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = self.folder.display();
        match &*state {
            Err(e) => Err(format!("{folder}: {}; frames are missing", unwritable(e))),
            Ok(0) => {
                let what = frame.map_or("no frame".into(), |n| format!("no frame {n}"));
                Err(format!("{folder}: {what} was drawn; nothing is written"))
            }
            Ok(_) => Ok(()),
        }
    }
}

/// A log's file. Clones are the same file, which remembers the first failure: whoever writes to it does not.
#[derive(Clone)]
struct Log(Arc<Mutex<(BufWriter<File>, Option<io::Error>)>>);

impl Log {
    fn new(path: &Path) -> io::Result<Log> {
        let stream = output::found(path, Kind::Log)? == Found::Stream;
        let mut file = BufWriter::new(output::replace(path, Kind::Log)?);
        if !stream {
            writeln!(file, "{LOG_HEADER}")?;
        }
        Ok(Log(Arc::new(Mutex::new((file, None)))))
    }

    fn failure(&self) -> Option<io::Error> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1.take()
    }

    fn with<T>(&self, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<T>) -> io::Result<T> {
        let (file, failure) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        write(file).map_err(|e| {
            failure.get_or_insert(e);
            io::ErrorKind::Other.into()
        })
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.with(|file| file.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.with(BufWriter::flush)
    }
}

fn text(trace: &Path, result: &Result<Report, String>, speed: bool) -> String {
    let name = trace.display();
    let report = match result {
        Err(e) => return format!("FAILED {name}: {e}\n"),
        Ok(report) if report.passed() => {
            let speed = if speed { speed_of(report) } else { String::new() };
            return format!("ok {name}: {} submissions{speed}\n", report.submissions);
        }
        Ok(report) => report,
    };
    let mut text = format!("FAILED {name}:");
    if let Some((submission, fault)) = &report.fault {
        text += &format!(" fault in submission {submission}");
        text += &format!("\n  {fault}");
    } else {
        text += &format!(" {} words differ from the recording", report.wrong);
    }
    text.push('\n');
    report.differences.iter().for_each(|d| text += &format!("  {d}\n"));
    text
}

/// Bytes that were moved, the time of all submissions, and the quotient.
fn speed_of(report: &Report) -> String {
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
        "fault": report.fault.as_ref().map(|(submission, text)| json!({
            "submission": submission, "text": text, "found": report.found.iter().map(found).collect::<Vec<_>>(),
        })),
        "differences": differences,
    })
}

/// What a kernel did wrong.
fn found(n: &Note) -> serde_json::Value {
    let place = |p: &Place| json!({"block": p.block, "thread": p.thread, "pc": p.pc, "instruction": p.instruction, "line": p.line});
    let f = &n.what;
    json!({
        "kind": f.kind.name(), "detail": f.detail, "kernel": f.kernel, "times": n.times, "place": place(&f.place),
        "other": f.other.as_ref().map(place),
    })
}
