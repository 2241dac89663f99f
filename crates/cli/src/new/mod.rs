//! `nvir new`: a fixture for a program's bindings, ready to run.
//!
//! ```text
//! program --needs--> slots, shapes, pointers --fixture--> Fixture --tried on every chip--> --text--> TOML
//! ```
//!
//! The fixture is tried before it is written: buffers that are too small for what the kernel addresses become larger, and chips
//! for which the program does not compile are left out.

mod fixture;
mod needs;
mod text;

use crate::common;
use crate::out::{self, Color, errln, outln};
use crate::program::Program;
use fixture::Draft;
use nvir::emu::FaultKind;
use nvir::{Chip, input};
use nvir_fixture::format::{Data, Item, Test};
use nvir_fixture::run::{Failure, Loaded, Outcome, Settings};
use nvir_fixture::values::Elem;
use nvir_fixture::{Fixture, FixtureError};
use std::io::Write;
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;

/// Write a fixture for a program's bindings, ready to run
///
/// Reads what the program binds (arguments, storage buffers, uniforms, images with their types and formats, textures, memories,
/// inputs of graphics stages), and writes a fixture that gives it all of that: sizes and values are for you to change. The fixture
/// is tried before it is written, and if the program does not run with it, a warning says why.
#[derive(clap::Args)]
#[command(after_help = "\
Exit status: 1 if the program cannot be read or compiled; then nothing is written.

Examples:
  nvir new k.tgsi                    writes k.toml
  nvir new k.nir -e main -o t.toml   of one kernel of several
  nvir new k.tgsi && nvir run k.toml")]
pub(crate) struct Args {
    /// .tgsi, .nir or .ir text, or a .cubin
    #[arg(value_name = "PROGRAM")]
    input: PathBuf,
    /// Where to write the fixture; `-` is standard output; default: the program's name with .toml, beside it
    #[arg(short, long, value_name = "FIXTURE")]
    output: Option<PathBuf>,
    /// The kernel: a NIR function's name, the instruction number of a TGSI BGNSUB, a kernel of a cubin
    #[arg(short, long, value_name = "NAME")]
    entry: Option<String>,
    /// Overwrite a file that exists
    #[arg(long)]
    force: bool,
}

/// Elements of a buffer at most, where a kernel goes beyond its end.
const MOST: u32 = 1 << 20;

pub(crate) fn run(a: Args) -> ExitCode {
    let to = a.output.clone().unwrap_or_else(|| a.input.with_extension("toml"));
    let written = to != Path::new("-");
    if written && !input::ends_in(&to, &["toml"]) {
        return common::usage(format!("{}: a fixture that is written here ends in .toml", to.display()));
    }
    if written && !a.force && to.symlink_metadata().is_ok() {
        return common::fault(format!(
            "{} exists: choose another name with -o, or overwrite it with --force",
            to.display()
        ));
    }
    let (draft, warnings) = match draft(&a, &to) {
        Ok(made) => made,
        Err(e) => {
            out::stderr(&e.render(Color::on_stderr()));
            return common::input_error();
        }
    };
    let text = text::toml(&draft, &to);
    if !written {
        out::stdout(text.as_bytes());
    } else if let Err(e) = write(&to, &text, a.force) {
        return common::fault(format!("{}: {e}", to.display()));
    } else {
        outln!("wrote {}", to.display());
    }
    for w in warnings {
        errln!("warning: {}: {w}", to.display());
    }
    ExitCode::SUCCESS
}

/// Writes a file that, unless forced, was not there.
fn write(to: &Path, text: &str, force: bool) -> std::io::Result<()> {
    let mut options = std::fs::File::options();
    options.write(true).create(true).truncate(true).create_new(!force);
    options.open(to)?.write_all(text.as_bytes())
}

/// The fixture, and why the program does not run with it, if that is so.
fn draft(a: &Args, to: &Path) -> Result<(Draft, Vec<String>), FixtureError> {
    let fault = |e: String| FixtureError::new(&a.input, e);
    if !crate::program::is_program(&a.input) {
        return Err(fault("unknown file type: .tgsi, .nir, .ir or .cubin is expected".into()));
    }
    let program = Program::read(&a.input, a.entry.as_deref(), None)?;
    let folder = to.parent().filter(|_| to != Path::new("-")).unwrap_or(Path::new(""));
    let source = relative(folder, &a.input).map_err(|e| fault(e.to_string()))?;
    let mut draft = Draft::of(&program, source).map_err(fault)?;
    let warnings = attempt(&mut draft, &program, folder)?;
    Ok((draft, warnings))
}

/// How values are changed where a program does not run with those that were guessed.
const ATTEMPTS: [fn(&mut Test); 4] = [
    |_| (),
    // Loops that count to 1.0 as an integer, offsets that are no multiple of a word.
    |test| constants(test, Some(1)),
    |test| constants(test, None),
    // What the kernel's own memory has room for.
    |test| test.block = test.block.map(|_| [1; 3]),
];

/// Changes the fixture until it runs on every chip for which it compiles; what is wrong if it does not.
fn attempt(draft: &mut Draft, program: &Program, folder: &Path) -> Result<Vec<String>, FixtureError> {
    let mut first = None;
    for change in ATTEMPTS {
        let mut fixture = draft.fixture.clone();
        fixture.tests.iter_mut().for_each(change);
        if program.block().is_some() {
            fixture.tests.iter_mut().zip(&draft.fixture.tests).for_each(|(t, own)| t.block = own.block);
        }
        let tried = on_all(fixture, program, folder)?;
        if tried.compiled.is_empty() {
            return Err(FixtureError::new(&program.path, tried.wrong.join("\n")));
        }
        if !tried.faults {
            return Ok(tried.take(draft));
        }
        first.get_or_insert(tried);
    }
    Ok(first.map_or(Vec::new(), |tried| tried.take(draft)))
}

/// What became of a fixture on all chips.
struct Tried {
    fixture: Fixture,
    compiled: Vec<Chip>,
    /// In words; of chips that are left out, too.
    wrong: Vec<String>,
    /// It does not run to its end somewhere.
    faults: bool,
}

impl Tried {
    fn take(mut self, draft: &mut Draft) -> Vec<String> {
        if self.compiled.len() < Chip::ALL.len() {
            self.fixture.targets = Some(self.compiled.iter().map(|c| c.name().to_string()).collect());
        }
        draft.fixture = self.fixture;
        self.wrong
    }
}

/// Runs a fixture on every chip, with larger buffers where the program goes beyond their ends.
fn on_all(fixture: Fixture, program: &Program, folder: &Path) -> Result<Tried, FixtureError> {
    let settings = Settings { step_limit: 1 << 18, threads: 0, ..Settings::default() };
    let small = fixture.clone();
    let mut tried = Tried { fixture, compiled: Vec::new(), wrong: Vec::new(), faults: false };
    for chip in program.chips() {
        loop {
            let loaded = Loaded::new(&folder.join("new.toml"), tried.fixture.clone(), program.data.clone())?;
            let Some(report) = loaded.run(chip, None, &settings, &mut None, |_, _| ()).pop() else { break };
            let Outcome::Failed(why) = report.outcome else {
                tried.compiled.push(chip);
                break;
            };
            let beyond = report.failure == Some(Failure::Fault(Some(FaultKind::OutOfBounds)));
            if beyond && grow(&mut tried.fixture) {
                continue;
            }
            if report.failure == Some(Failure::Compile) {
                tried.wrong.push(format!("{chip} is left out: {why}"));
                break;
            }
            // Larger buffers do not help.
            tried.fixture = small.clone();
            tried.compiled.push(chip);
            tried.faults = true;
            let why = why.lines().next().unwrap_or_default();
            tried.wrong.push(format!("on {chip} it does not run to its end: {why}"));
            break;
        }
    }
    Ok(tried)
}

/// Sets every constant to an integer, or to zero.
fn constants(test: &mut Test, value: Option<i64>) {
    for name in test.ubo.values().chain(&test.uniforms) {
        let Some(b) = test.buffers.get_mut(name) else { continue };
        (b.ty, b.init) = (Elem::U32, value.map(|n| Data::Fill(Item::Int(n))));
    }
    for arg in &mut test.args {
        let words = [&mut arg.u32, &mut arg.f32, &mut arg.u64];
        words.into_iter().flatten().for_each(|item| *item = Item::Int(value.unwrap_or(0)));
    }
}

/// Makes the buffers that are reached by addresses larger; false if they are as large as they may become.
fn grow(fixture: &mut Fixture) -> bool {
    let mut grown = false;
    for test in &mut fixture.tests {
        for name in test.args.iter().filter_map(|a| a.buffer.as_ref()) {
            let Some(buffer) = test.buffers.get_mut(name) else { continue };
            if buffer.len < MOST {
                buffer.len = (buffer.len.saturating_mul(16)).min(MOST);
                grown = true;
            }
        }
    }
    grown
}

/// The way from a folder to a file: as it is, where both begin alike, else from the root.
fn relative(folder: &Path, file: &Path) -> std::io::Result<PathBuf> {
    if file.parent() == Some(folder) {
        return Ok(file.file_name().map_or_else(|| file.to_path_buf(), PathBuf::from));
    }
    let here = std::path::absolute(".")?;
    let (folder, file) = (here.join(folder).canonicalize()?, here.join(file).canonicalize()?);
    let common = folder.components().zip(file.components()).take_while(|(a, b)| a == b).count();
    let up = folder.components().skip(common).map(|_| Component::ParentDir);
    Ok(up.chain(file.components().skip(common)).collect())
}
