//! `nvir frame`: the page of `nvir_frame` as a file, or served; what is not recorded yet is recorded first.

use crate::device::Place;
use crate::out::{self, outln};
use crate::{common, gpu, output};
use nvir::diag::visible;
use nvir::{Chip, input};
use nvir_emu_jit::Choice;
use nvir_fixture::Fixture;
use nvir_fixture::run::{Failure, Outcome, Settings};
use nvir_frame::{COMMANDS, Frame, Server};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

/// Write a page that shows what a recording, a scene or a program draws
///
/// One HTML file that needs nothing else: the list of draws, clears, blits, copies and launches; for each its state with what
/// changed since the last draw, the targets before and after, vertices in and out of the stages, outlines, programs, counts; for
/// each pixel every fragment that touched it, with its inputs, outputs, the test that it failed and the values before and after.
#[derive(clap::Args)]
#[command(after_help = "\
Keys in the page: ? lists them. j and k go from command to command, b and a show the target before and after, w outlines.

A large recording's fragments are too many for a file: --pixel puts single pixels in, with the steps of their threads, and --serve
finds any pixel's fragments, and the steps of any fragment or vertex, when somebody clicks.

Exit status: 1 if the recording cannot be read or draws nothing, and then no page is written.

Examples:
  nvir frame frame.trace                            writes frame.html
  nvir frame frame.trace --serve                    pixels and steps when they are clicked
  nvir frame frame.trace --pixel 120,80             with the steps of what touched this pixel
  nvir frame frame.trace --profile                  cycles of each program and instruction
  nvir frame big.trace --first 4000 --count 500     a part of a long recording
  nvir frame scenes/cube.toml -t gk104              a scene, or any fixture that the driver runs
  nvir frame -o cube.html -- ./client               records a program on the virtual GPU first")]
pub(crate) struct Args {
    /// A recording, as `nvir gpu --trace` writes it; or a fixture (.toml or .json), which is recorded on the virtual GPU
    #[arg(value_name = "RECORDING|FIXTURE", required_unless_present = "program", conflicts_with = "program")]
    recording: Option<PathBuf>,
    /// Where to write the page; `-` is standard output; default: the recording's or program's name with .html, in this folder
    #[arg(short, long, value_name = "FILE", conflicts_with = "serve")]
    output: Option<PathBuf>,
    /// Put the history of this pixel into the page, with the steps of its fragments' threads; x counts from the left, y in the
    /// order of rows in memory, which the page tells under the pointer
    #[arg(long, value_parser = pixel, value_name = "X,Y")]
    pixel: Vec<[u32; 2]>,
    /// The first command that is shown, counted from 0
    #[arg(long, default_value_t = 0, value_name = "N")]
    first: u64,
    /// Show so many commands at most
    #[arg(long, default_value_t = COMMANDS, value_parser = clap::value_parser!(u64).range(1..), value_name = "N")]
    count: u64,
    /// Show each sample of multisampled targets by itself, too, not only their mean; the page gets larger
    #[arg(long)]
    samples: bool,
    /// Count issues and estimated cycles of each instruction, by draw and launch; they stand beside the programs' code
    #[arg(long, conflicts_with = "engine")]
    profile: bool,
    /// The first row of a target is the top one, as Vulkan and nvir's own driver have it (fixtures are shown so); else the viewport
    /// says which row is, as OpenGL has it
    #[arg(long)]
    top_first: bool,
    /// What executes programs: the `interpreter`; host code, `compiled` from what runs often; or `both`, which compares them
    #[arg(long, default_value_t, value_name = "ENGINE")]
    engine: Choice,
    /// Serve the page to this machine's browsers; ends with Ctrl-C
    #[arg(long)]
    serve: bool,
    /// The port for --serve; default: one that is free
    #[arg(long, value_name = "N", default_value_t = 0, requires = "serve")]
    port: u16,
    /// The chip of the card that a program or fixture is recorded on; default: gk110, or the last that the fixture allows
    #[arg(short, long, value_name = "CHIP")]
    target: Option<Chip>,
    /// Of a fixture: the test that is recorded; default: its only one
    #[arg(long, value_name = "NAME", conflicts_with = "program")]
    test: Option<String>,
    /// A program and its arguments, which is recorded on the virtual GPU
    #[arg(last = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

/// `120,80`.
fn pixel(text: &str) -> Result<[u32; 2], String> {
    let both = text.split_once(',').and_then(|(x, y)| Some([x.parse().ok()?, y.parse().ok()?]));
    both.filter(|at| at.iter().all(|&v| v < 1 << 16)).ok_or_else(|| "expected X,Y, such as 120,80".into())
}

/// A folder that goes with this process.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn run(a: Args) -> ExitCode {
    let recorded = match &a.recording {
        Some(path) if Fixture::has_name(path) => fixture(&a, path).map(Some),
        Some(_) if a.target.is_some() || a.test.is_some() => Err(common::usage(
            "--target and --test are for what is recorded first: a recording has its own chip",
        )),
        Some(_) => Ok(None),
        None => program(&a).map(Some),
    };
    let (path, _temporary) = match (recorded, &a.recording) {
        (Ok(Some((path, temporary))), _) => (path, Some(temporary)),
        (Ok(None), Some(path)) => (path.clone(), None),
        (Ok(None), None) => return common::usage("no recording and no program"),
        (Err(code), _) => return code,
    };
    let frame = Frame {
        path,
        first: a.first,
        count: a.count,
        pixels: a.pixel.clone(),
        engine: a.engine.engine(),
        profile: a.profile,
        samples: a.samples,
        top_first: a.top_first || a.recording.as_deref().is_some_and(Fixture::has_name),
        version: env!("NVIR_VERSION").to_string(),
    };
    let to = a.output.clone().unwrap_or_else(|| common::with_ending(&frame.path, "html"));
    let to = Some(to).filter(|to| !input::is_standard(to));
    if !a.serve
        && let Err(code) = output::not_an_input(to.as_deref(), std::slice::from_ref(&frame.path))
    {
        return code;
    }
    let size = frame.path.metadata().map_or(0, |m| m.len());
    let bar = common::progress(usize::try_from(size).unwrap_or(usize::MAX));
    let data = frame.data(&mut |bytes| bar.set_position(bytes));
    bar.finish_and_clear();
    let data = match data {
        Ok(data) => data,
        Err(why) => return common::fault_in(&frame.path, why),
    };
    if a.serve {
        return serve(&frame, data, a.port);
    }
    let code = common::write_output(to.as_deref(), Frame::page(&data).as_bytes());
    if let Some(path) = to.filter(|_| code == ExitCode::SUCCESS) {
        outln!("wrote {}", visible(&path.to_string_lossy()));
    }
    code
}

/// A file for the recording of something of that name, in a folder that goes with this process.
fn temporary(name: &Path) -> Result<(PathBuf, Temporary), ExitCode> {
    let folder = env::temp_dir().join(format!("nvir-frame-{}", std::process::id()));
    let failed =
        |e: std::io::Error| common::fault(format!("{}: {}", folder.display(), output::unwritable(&e)));
    fs::create_dir_all(&folder).map_err(failed)?;
    let temporary = Temporary(folder.clone());
    let name = name.file_name().unwrap_or(name.as_os_str());
    Ok((folder.join(name).with_extension("trace"), temporary))
}

/// Records a test of a fixture.
fn fixture(a: &Args, path: &Path) -> Result<(PathBuf, Temporary), ExitCode> {
    let broken = |e| common::broken_fixture(&e);
    let loaded = common::read_fixture(path).map_err(broken)?;
    let chips = loaded.chips().map_err(broken)?;
    let chip = match a.target {
        Some(chip) if !chips.contains(&chip) => {
            return Err(common::usage(format!("the fixture does not run on {chip}")));
        }
        chip => chip.or(chips.last().copied()).unwrap_or(Chip::Gk110),
    };
    let tests = &loaded.fixture.tests;
    let test = match (&a.test, &tests[..]) {
        (Some(name), _) => tests.iter().find(|t| t.name == *name),
        (None, [only]) => Some(only),
        (None, _) => None,
    };
    let Some(test) = test else {
        let all = tests.iter().map(|t| format!("`{}`", visible(&t.name))).collect::<Vec<_>>().join(", ");
        return Err(common::usage(format!("--test names one of the fixture's tests: {all}")));
    };
    let (trace, temporary) = temporary(path)?;
    let place = Place::Recorded(trace.clone());
    let settings = Settings::default();
    let backend = || place.backend(&loaded, chip, &settings);
    for report in loaded.run_on(&backend, chip, Some(&test.name), &settings, &mut None, |_, _| ()) {
        match report.outcome {
            Outcome::Passed => {}
            // What differs from what is expected is a reason to look at it.
            Outcome::Failed(why) if report.failure == Some(Failure::Values) => {
                crate::report::warning(Some(path), format!("test `{}`: {why}", visible(&report.name)));
            }
            Outcome::Failed(why) | Outcome::Skipped(why) => return Err(common::fault_in(path, why)),
        }
    }
    Ok((trace, temporary))
}

/// Records the program.
fn program(a: &Args) -> Result<(PathBuf, Temporary), ExitCode> {
    let Some(program) = a.program.first() else { return Err(common::usage("no recording and no program")) };
    let (trace, temporary) = temporary(Path::new(program))?;
    let code = gpu::record(a.target.unwrap_or(Chip::Gk110), &trace, &a.program);
    if !trace.exists() {
        return Err(if code == ExitCode::SUCCESS {
            common::fault("the program submits nothing")
        } else {
            code
        });
    }
    Ok((trace, temporary))
}

fn serve(frame: &Frame, data: serde_json::Value, port: u16) -> ExitCode {
    let server = match Server::start(frame, data, port) {
        Ok(server) => server,
        Err(e) => return common::system(None, format!("port {port}: {}", input::why(&e))),
    };
    let mut signals = match Signals::new([SIGINT, SIGTERM]) {
        Ok(signals) => signals,
        Err(e) => return common::system(None, e.to_string()),
    };
    outln!("{}", server.url());
    out::stderr("Ctrl-C ends it\n");
    signals.forever().next();
    ExitCode::SUCCESS
}
