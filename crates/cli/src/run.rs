//! `nvir run`: one fixture, shown; or a program with what the command line binds, which is a fixture that is not written down.

use crate::common::{self, Warnings};
use crate::device::{Place, Where};
use crate::dump::{self, Dump};
use crate::out::{self, errln, outln};
use crate::pictures::Pictures;
use crate::report as diagnostics;
use crate::test::report::{self, Line};
use crate::{launch, profile, program, watch};
use nvir::Chip;
use nvir::compiler::{Compiler, DebugOptions, InitRegs, InjectedFault, OptLevel, Options, Sanitize};
use nvir::diag::visible;
use nvir_driver::Device;
use nvir_emu_jit::Choice;
use nvir_fixture::env::Env;
use nvir_fixture::format::Test;
use nvir_fixture::run::{Loaded, Outcome, Settings, TestReport};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;

/// Run a fixture, or launch a program without one
///
/// Compiles the kernel of a fixture, runs it on the emulator and compares what it leaves. Of a program (.tgsi, .nir, .ir, .sass,
/// .hex or .cubin), options say what is launched on which buffers, and those that it changed are printed.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  nvir run k.tgsi --block 64 --ssbo 0=u32[64]:iota         a program; prints what it changed
  nvir run k.nir --grid 4 --block 64 --arg buffer:x=f32[256]:random=1 --arg f32:0.5
  nvir run tgsi/get-num-groups.toml                       on every chip that the fixture allows
  nvir run k.toml --test small -t gk104 --dump out        and show a buffer
  nvir run k.toml --test small -t gk110 --trace 2>trace   every instruction with mask and results
  nvir run k.toml --profile                               where the time goes
  nvir run k.toml --check all                             all four checkers
  nvir run k.toml --check all --max-faults 100            and go on after a fault
  nvir run k.toml --device virtual                        through the driver, on the virtual GPU
  nvir run scenes/cube.toml --png pictures                a scene, and the pictures of its images")]
pub(crate) struct Args {
    /// A fixture (.toml or .json), or a program with the options below
    #[arg(value_name = "FIXTURE|PROGRAM")]
    input: PathBuf,
    /// Only this test
    #[arg(long, value_name = "NAME")]
    test: Option<String>,
    /// Only on this chip; default: all that the fixture allows; of a program without a fixture gk110
    #[arg(short, long, value_name = "CHIP")]
    target: Vec<Chip>,
    /// Optimisation level
    #[arg(short = 'O', long = "opt", default_value = "3", value_parser = common::level(), value_name = "N")]
    opt: OptLevel,
    #[command(flatten)]
    how: How,
    /// Print this buffer or image after the run, in its own type or another: u8 i8 u16 ... f64, or x8 x16 x32 x64 for bits.
    /// Default of a program without a fixture: all that changed
    #[arg(long, value_name = "BUFFER[:TYPE]")]
    dump: Vec<String>,
    /// Print every instruction that a warp executes to standard error
    #[arg(long)]
    trace: bool,
    /// Count what is executed: by instruction (with its SASS and source line), by source line and by operation, with the cycles of
    /// issue that Kepler's scheduling words ask for
    #[arg(long)]
    profile: bool,
    /// Print JSON instead of lines
    #[arg(long)]
    json: bool,
    /// Run again whenever the fixture, its program or another file of it changes, until Ctrl-C
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    launch: launch::Options,
}

/// How kernels are compiled and run; shared with `test`.
#[derive(clap::Args)]
pub(crate) struct How {
    /// Lower the register limit, spilling as needed
    #[arg(long, value_name = "N", help_heading = "Limits and launch")]
    pub max_gprs: Option<u32>,
    /// Registers read before any write: see `compile --help`
    #[arg(long, default_value = "3", value_parser = common::init_regs(), value_name = "0|1|2|3", help_heading = "Limits and launch")]
    pub init_regs: InitRegs,
    /// Run only these passes of the pipeline
    #[arg(long, value_name = "PASSES", help_heading = "Passes")]
    pub passes: Option<String>,
    /// Stop optimising after so many pass runs
    #[arg(long, value_name = "N", help_heading = "Passes")]
    pub bisect_limit: Option<u32>,
    /// Verify the IR after each pass
    #[arg(long, help_heading = "Passes")]
    pub verify_each: bool,
    /// Checkers: memcheck, initcheck, racecheck, synccheck, all or none, between commas; racecheck=strict
    /// also reports that two warps write the same value, racecheck=global looks at global memory, too (`all` does not)
    #[arg(long, default_value = "memcheck", value_name = "CHECKERS", help_heading = "Checks")]
    pub check: String,
    /// Go on after a fault (a bad access, a race, a read of what nothing has written) until a block has so many of a kind, and
    /// report all of them by instruction
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..), value_name = "N", help_heading = "Checks")]
    pub max_faults: u32,
    /// Compile programs that check their accesses to these memories themselves: shared, global, private, all or none, between
    /// commas. What they find is reported as by `--check memcheck`; see `compile --help`. With `zones`, nothing is checked, but
    /// variables in shared memory lie apart and memcheck finds accesses between them
    #[arg(long, default_value = "none", value_name = "MEMORIES", help_heading = "Checks")]
    pub sanitize: Sanitize,
    /// Warp instructions that one launch may execute
    #[arg(long, default_value_t = 1 << 28, value_name = "N", help_heading = "Limits and launch")]
    pub step_limit: u64,
    /// What executes programs: the `interpreter`; host code, `compiled` from what runs often; or `both`, which compares them after
    /// each basic block and stops at the first difference
    #[arg(long, default_value_t, value_name = "ENGINE", help_heading = "Limits and launch")]
    pub engine: Choice,
    /// Run through the driver, with the real command stream: on the virtual GPU (`virtual`), or on a card (its render
    /// node; see `nvir devices`). Checks and limits are the virtual GPU's; trace and profile are the emulator's alone
    #[arg(long, value_name = "DEVICE", help_heading = "Limits and launch")]
    pub device: Option<Where>,
    /// Write a picture of each image that a test leaves to a folder, and where the test expects something of it that and the
    /// difference: FIXTURE-TEST-CHIP-IMAGE.png
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub png: Option<PathBuf>,
}

impl How {
    /// The settings at an optimisation level.
    pub(crate) fn settings(&self, opt_level: OptLevel) -> Result<Settings, String> {
        let checks = self.check.parse()?;
        let options = Options {
            opt_level,
            init_regs: self.init_regs,
            max_gprs: self.max_gprs,
            sanitize: self.sanitize,
            debug: DebugOptions {
                passes: self.passes.as_ref().map(|_| common::names(&self.passes)),
                bisect_limit: self.bisect_limit,
                verify_each: self.verify_each,
                inject: seeded()?,
                ..DebugOptions::default()
            },
            ..Options::default()
        };
        Compiler::new(Chip::Gk110).with_options(options.clone()).check().map_err(|e| e.to_string())?;
        Ok(Settings {
            options,
            checks,
            faults: self.max_faults,
            step_limit: self.step_limit,
            engine: self.engine.engine(),
            ..Settings::default()
        })
    }
}

/// The defect that tests of `bisect` and `reduce` ask for: the name of its pass in NVIR_SEED_DEFECT.
fn seeded() -> Result<Option<InjectedFault>, String> {
    match std::env::var("NVIR_SEED_DEFECT") {
        Ok(pass) => InjectedFault::in_pass(&pass)
            .map(Some)
            .ok_or_else(|| format!("NVIR_SEED_DEFECT: no defect in `{pass}`")),
        Err(_) => Ok(None),
    }
}

pub(crate) fn run(a: Args) -> ExitCode {
    let files = || watch::inputs(&a.input).into_iter().chain(a.launch.files()).collect();
    watch::rounds(a.watch, files, || once(&a))
}

/// What is to run: a fixture from its file, or one that the options describe.
fn load(a: &Args) -> Result<Loaded, ExitCode> {
    let loaded = match (program::is_program(&a.input), a.launch.any()) {
        (true, true) => a.launch.loaded(&a.input, a.target.first().copied()),
        (false, true) => {
            let why =
                "--grid, --block, --entry and what is bound are for programs: a fixture says these itself";
            return Err(common::usage(format!("{}: {why}", a.input.display())));
        }
        (_, false) => common::read_fixture(&a.input),
    };
    loaded.map_err(|e| common::broken_fixture(&e))
}

/// The chips to run on, those that the command line names or the fixture allows.
fn chips(a: &Args, loaded: &Loaded) -> Result<Vec<Chip>, ExitCode> {
    let allowed = loaded.chips().map_err(|e| common::broken_fixture(&e))?;
    if let Some(chip) = a.target.iter().find(|c| !allowed.contains(c)) {
        let what = if a.launch.any() { "program" } else { "fixture" };
        return Err(common::usage(format!("the {what} does not run on {chip}")));
    }
    Ok(match a.target.as_slice() {
        [] if a.launch.any() => allowed.into_iter().next_back().into_iter().collect(),
        [] => allowed,
        named => named.to_vec(),
    })
}

/// What is to be printed of a test; an error if it has no such buffer.
fn dumps(a: &Args, loaded: &Loaded) -> Result<Vec<Dump>, ExitCode> {
    let dumps: Vec<Dump> = a.dump.iter().map(|text| Dump::new(text)).collect();
    let mut ran = loaded.fixture.tests.iter().filter(|t| a.test.as_ref().is_none_or(|name| &t.name == name));
    if let Some((t, d)) = ran.find_map(|t| Some((t, dumps.iter().find(|d| !d.fits(t))?))) {
        let names = t.buffers.keys().chain(t.images.keys()).map(|b| format!("`{b}`"));
        let all = names.collect::<Vec<_>>().join(", ");
        let there = if all.is_empty() { ", which has none".into() } else { format!("; available: {all}") };
        return Err(common::usage(format!("unknown buffer `{}` in test `{}`{there}", d.name, t.name)));
    }
    Ok(dumps)
}

/// A run with what it prints.
struct Run<'a> {
    args: &'a Args,
    loaded: &'a Loaded,
    place: Place,
    settings: Settings,
    dumps: Vec<Dump>,
    pictures: Pictures<'a>,
    warnings: Warnings,
    counts: report::Counts,
    /// With `--json`.
    tests: Vec<Value>,
}

fn once(a: &Args) -> ExitCode {
    match prepared(a) {
        Ok(code) | Err(code) => code,
    }
}

fn prepared(a: &Args) -> Result<ExitCode, ExitCode> {
    let mut settings = a.how.settings(a.opt).map_err(common::usage)?;
    if a.how.device.is_some() && (a.trace || a.profile) {
        return Err(common::usage("--trace and --profile are the emulator's: they do not go with --device"));
    }
    let place = Place::open(a.how.device.as_ref()).map_err(common::usage)?;
    settings.profile = a.profile;
    settings.threads = if a.trace { 1 } else { 0 };
    let loaded = load(a)?;
    let chips = chips(a, &loaded)?;
    if let Some(name) = &a.test
        && !loaded.fixture.tests.iter().any(|t| &t.name == name)
    {
        let all = loaded.fixture.tests.iter().map(|t| format!("`{}`", t.name)).collect::<Vec<_>>().join(", ");
        return Err(common::usage(format!("unknown test `{name}`; available: {all}")));
    }
    let (dumps, warnings) = (dumps(a, &loaded)?, Warnings::default());
    let (counts, tests) = (report::Counts::default(), Vec::new());
    let pictures = Pictures::new(a.how.png.as_deref());
    let mut run = Run { args: a, loaded: &loaded, place, settings, dumps, pictures, warnings, counts, tests };
    // Nothing is compared where no fixture says what to expect.
    if !a.launch.any() {
        run.warnings.tell(&a.input, loaded.warnings());
    }
    chips.into_iter().for_each(|chip| run.on(chip));
    Ok(run.end())
}

impl Run<'_> {
    fn on(&mut self, chip: Chip) {
        let a = self.args;
        if let Some(why) = self.place.refuses(chip) {
            if !a.json {
                outln!("skipped {chip}: {why}");
            }
            return;
        }
        let mut print = |line: &str| errln!("{line}");
        let mut trace: Option<&mut dyn FnMut(&str)> = if a.trace { Some(&mut print) } else { None };
        let mut dumped: Vec<(String, Vec<Value>)> = Vec::new();
        let dump = |test: &Test, env: &Env| {
            let all =
                if a.launch.any() && a.dump.is_empty() { changed(test, env) } else { self.dumps.clone() };
            self.pictures.write(self.loaded, test, env, chip, None);
            match a.json {
                true => dumped.push((test.name.clone(), all.iter().map(|d| d.json(test, env)).collect())),
                false => all.iter().for_each(|d| d.print(test, env)),
            }
        };
        let backend = || self.place.backend(self.loaded, chip, &self.settings);
        let reports = self.loaded.run_on(&backend, chip, a.test.as_deref(), &self.settings, &mut trace, dump);
        for r in reports {
            self.warnings.tell(&a.input, r.warnings.iter().map(|w| format!("test `{}`: {w}", r.name)));
            for note in &r.stats.notes {
                diagnostics::note(format!("{chip} {}: {note}", r.name));
            }
            self.counts.add(&r.outcome);
            match a.json {
                true => {
                    // A test that does not compile leaves nothing.
                    let at = dumped.iter().position(|(name, _)| *name == r.name);
                    let buffers = at.map_or(Vec::new(), |at| dumped.swap_remove(at).1);
                    self.tests.push(self.json(&r, buffers));
                }
                false => self.print(&r),
            }
        }
    }

    fn print(&self, r: &TestReport) {
        let chip = r.chip;
        let work = match &self.place {
            Place::Emulator if self.loaded.is_scene() => "on the virtual GPU".into(),
            Place::Emulator => format!("{} thread instructions", r.stats.thread_instructions),
            Place::Virtual | Place::Recorded(_) => "on the virtual GPU".into(),
            Place::Card(card) => format!("on {}", card.name()),
        };
        match &r.outcome {
            Outcome::Passed => outln!("ok {chip} {}: {work}", visible(&r.name)),
            Outcome::Skipped(why) => outln!("skipped {chip} {}: {why}", visible(&r.name)),
            Outcome::Failed(why) => outln!("FAILED {chip} {}: {why}", visible(&r.name)),
        }
        out::stdout(profile::text(&r.profiles, r.model_cycles, self.args.how.engine).as_bytes());
    }

    fn json(&self, r: &TestReport, buffers: Vec<Value>) -> Value {
        let warnings: Vec<String> = if self.args.launch.any() { Vec::new() } else { self.loaded.warnings() };
        let mut line = Line {
            fixture: &self.args.input,
            name: format!("{}/{} {}", report::stem(&self.args.input), r.name, r.chip),
            test: &r.name,
            level: Some(self.args.opt),
            outcome: &r.outcome,
            report: Some((r, &self.place, self.args.how.engine)),
            warnings: warnings.iter().chain(&r.warnings).collect(),
        }
        .json();
        line["buffers"] = json!(buffers);
        if self.args.profile {
            line["profile"] = json!(profile::json(&r.profiles));
        }
        line
    }

    /// The last line, or the document.
    fn end(self) -> ExitCode {
        match self.args.json {
            true => out::stdout(report::document(self.tests, &self.counts).as_bytes()),
            false if self.args.launch.any() => {}
            false => outln!("{} passed, {} failed", self.counts.passed, self.counts.failed),
        }
        match self.counts.failed == 0 && self.pictures.all_written() {
            true => ExitCode::SUCCESS,
            false => common::input_error(),
        }
    }
}

/// The buffers and images that a launch without a fixture changed.
fn changed(test: &Test, env: &Env) -> Vec<Dump> {
    let names = launch::before(test).and_then(|before| dump::changed(&before, env));
    match names {
        Ok(names) => {
            if names.is_empty() {
                diagnostics::note("the launch changed no buffer or image");
            }
            names.iter().map(|n| Dump::of(n)).collect()
        }
        Err(e) => {
            diagnostics::error(diagnostics::Class::System, None, e);
            Vec::new()
        }
    }
}
