//! `nvir run`: one fixture, shown.

use crate::common::{self, Warnings};
use crate::device::{Place, Where};
use crate::out::{self, Color, say, tell};
use nvir::Chip;
use nvir::compiler::{Compiler, DebugOptions, InitRegs, OptLevel, Options, Sanitize, Seeded};
use nvir::emu;
use nvir::fixture::FixtureError;
use nvir::fixture::env::Env;
use nvir::fixture::format::Test;
use nvir::fixture::run::{Outcome, Settings};
use nvir::fixture::values::Elem;
use nvir_driver::Device;
use std::path::PathBuf;
use std::process::ExitCode;

/// Compile a fixture's kernel, run it on the emulator and compare what it leaves
#[derive(clap::Args)]
#[command(after_help = "Examples:
  nvir run tgsi/get-num-groups.toml                       on every chip that the fixture allows
  nvir run k.toml --test small -t gk104 --dump out        and show a buffer
  nvir run k.toml --test small -t gk110 --trace 2>trace   every instruction with mask and results
  nvir run k.toml --profile                               where the time goes
  nvir run k.toml --check all                             all four checkers
  nvir run k.toml --check all --max-faults 100            and go on after a fault
  nvir run k.toml --device virtual                        through the driver, on the virtual GPU")]
pub struct Args {
    /// A fixture: .toml or .json
    fixture: PathBuf,
    /// Only this test
    #[arg(long, value_name = "NAME")]
    test: Option<String>,
    /// Only on this chip
    #[arg(short, long, value_name = "CHIP")]
    target: Vec<Chip>,
    /// Optimisation level
    #[arg(short = 'O', long = "opt", default_value = "3", value_parser = common::level(), value_name = "N")]
    opt: OptLevel,
    #[command(flatten)]
    how: How,
    /// Print this buffer after the run, in its own type or another: u8 i8 u16 ... f64, or x8 x16 x32 x64 for bits
    #[arg(long, value_name = "BUFFER[:TYPE]")]
    dump: Vec<String>,
    /// Print every instruction that a warp executes to standard error
    #[arg(long)]
    trace: bool,
    /// Count executed instructions by operation, address and source line
    #[arg(long)]
    profile: bool,
}

/// How kernels are compiled and run; shared with `test`.
#[derive(clap::Args)]
pub struct How {
    /// Lower the register limit, spilling as needed
    #[arg(long, value_name = "N")]
    pub max_gprs: Option<u32>,
    /// Registers read before any write: see `compile --help`
    #[arg(long, default_value = "3", value_parser = common::init_regs(), value_name = "0|1|2|3")]
    pub init_regs: InitRegs,
    /// Run only these passes of the pipeline
    #[arg(long, value_name = "PASSES")]
    pub passes: Option<String>,
    /// Stop optimising after so many pass runs
    #[arg(long, value_name = "N")]
    pub bisect_limit: Option<u32>,
    /// Verify the IR after each pass
    #[arg(long)]
    pub verify_each: bool,
    /// Checkers: memcheck, initcheck, racecheck, synccheck, all or none, between commas; racecheck=strict refuses
    /// also that two warps write the same value, racecheck=global looks at global memory, too (`all` does not)
    #[arg(long, default_value = "memcheck", value_name = "CHECKERS")]
    pub check: String,
    /// Go on after a fault (a bad access, a race, a read of what nothing has written) until a block has so many of a kind, and
    /// tell all of them by instruction
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..), value_name = "N")]
    pub max_faults: u32,
    /// Compile programs that check their accesses to these memories themselves: shared, global, private, all or none, between
    /// commas. What they report is told as `--check memcheck` tells it; see `compile --help`. With `zones`, nothing is checked, but
    /// variables in shared memory lie apart and memcheck finds accesses between them
    #[arg(long, default_value = "none", value_name = "MEMORIES")]
    pub sanitize: Sanitize,
    /// Warp instructions that one launch may execute
    #[arg(long, default_value_t = 1 << 28, value_name = "N")]
    pub step_limit: u64,
    /// Run through the driver, with the real command stream: on the virtual GPU (`virtual`), or on a card (its render
    /// node; see `nvir devices`). Checks and limits are the virtual GPU's; trace and profile are the emulator's alone
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<Where>,
}

impl How {
    /// The settings at an optimisation level.
    pub fn settings(&self, opt_level: OptLevel) -> Result<Settings, String> {
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
                seeded: seeded()?,
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
            ..Settings::default()
        })
    }
}

/// The defect that tests of `bisect` and `reduce` ask for: the name of its pass in NVIR_SEED_DEFECT.
fn seeded() -> Result<Option<Seeded>, String> {
    match std::env::var("NVIR_SEED_DEFECT") {
        Ok(pass) => {
            Seeded::of(&pass).map(Some).ok_or_else(|| format!("NVIR_SEED_DEFECT: no defect in `{pass}`"))
        }
        Err(_) => Ok(None),
    }
}

pub fn run(a: Args) -> ExitCode {
    let mut settings = match a.how.settings(a.opt) {
        Ok(s) => s,
        Err(e) => return common::usage(e),
    };
    if a.how.device.is_some() && (a.trace || a.profile) {
        return common::usage("--trace and --profile are the emulator's: they do not go with --device");
    }
    let place = match Place::open(a.how.device.as_ref()) {
        Ok(place) => place,
        Err(e) => return common::usage(e),
    };
    settings.profile = a.profile;
    settings.threads = if a.trace { 1 } else { 0 };
    let broken = |e: &FixtureError| {
        out::stderr(&e.render(Color::on_stderr()));
        common::input_error()
    };
    let loaded = match common::read_fixture(&a.fixture) {
        Ok(l) => l,
        Err(e) => return broken(&e),
    };
    let allowed = match loaded.chips() {
        Ok(c) => c,
        Err(e) => return broken(&e),
    };
    if let Some(name) = &a.test
        && !loaded.fixture.tests.iter().any(|t| &t.name == name)
    {
        let all = loaded.fixture.tests.iter().map(|t| format!("`{}`", t.name)).collect::<Vec<_>>().join(", ");
        return common::usage(format!("no test `{name}`; there are {all}"));
    }
    let mut ran = loaded.fixture.tests.iter().filter(|t| a.test.as_ref().is_none_or(|name| &t.name == name));
    let has = |t: &Test, d: &Dump| t.buffers.contains_key(&d.buffer);
    let dumps: Vec<Dump> = a.dump.iter().map(|text| Dump::new(text)).collect();
    if let Some((t, d)) = ran.find_map(|t| Some((t, dumps.iter().find(|d| !has(t, d))?))) {
        let all = t.buffers.keys().map(|b| format!("`{b}`")).collect::<Vec<_>>().join(", ");
        return common::usage(format!("no buffer `{}` in test `{}`; there are {all}", d.buffer, t.name));
    }
    let chips: Vec<Chip> = if a.target.is_empty() {
        allowed
    } else if let Some(chip) = a.target.iter().find(|c| !allowed.contains(c)) {
        return common::usage(format!("the fixture does not run on {chip}"));
    } else {
        a.target.clone()
    };
    let (mut passed, mut failed) = (0, 0);
    let mut warnings = Warnings::default();
    warnings.tell(&a.fixture, loaded.warnings());
    for chip in chips {
        let mut print = |line: &str| tell!("{line}");
        let mut trace: Option<&mut dyn FnMut(&str)> = if a.trace { Some(&mut print) } else { None };
        let dump = |test: &Test, env: &Env| {
            dumps.iter().for_each(|d| d.print(test, env));
        };
        if let Some(why) = place.refuses(chip) {
            say!("skipped {chip}: {why}");
            continue;
        }
        let machine = || place.machine(chip, &settings);
        for r in loaded.run_on(&machine, chip, a.test.as_deref(), &settings, &mut trace, dump) {
            warnings.tell(&a.fixture, r.warnings.iter().map(|w| format!("test `{}`: {w}", r.name)));
            for note in &r.stats.notes {
                tell!("note: {chip} {}: {note}", r.name);
            }
            let work = match &place {
                Place::Emulator => format!("{} thread instructions", r.stats.thread_instructions),
                Place::Virtual => "on the virtual GPU".into(),
                Place::Card(card) => format!("on {}", card.name()),
            };
            match &r.outcome {
                Outcome::Passed => {
                    passed += 1;
                    say!("ok {chip} {}: {work}", r.name);
                }
                Outcome::Skipped(why) => say!("skipped {chip} {}: {why}", r.name),
                Outcome::Failed(why) => {
                    failed += 1;
                    say!("FAILED {chip} {}: {why}", r.name);
                }
            }
            if let Some(profile) = &r.stats.profile {
                out::stdout(profile_text(profile).as_bytes());
            }
        }
    }
    say!("{passed} passed, {failed} failed");
    if failed == 0 { ExitCode::SUCCESS } else { common::input_error() }
}

/// What `--dump` asks for.
struct Dump {
    buffer: String,
    shown: Option<Shown>,
}

/// How elements are shown.
#[derive(Clone, Copy)]
enum Shown {
    Typed(Elem),
    /// Bits, in so many bytes.
    Bits(usize),
}

impl Dump {
    /// `out`, `out:f32` or `out:x16`.
    fn new(text: &str) -> Dump {
        let shown = |name: &str| {
            let bits = || {
                Some(Shown::Bits(
                    name.strip_prefix('x')?.parse::<usize>().ok().filter(|n| [8, 16, 32, 64].contains(n))?
                        / 8,
                ))
            };
            Elem::from_name(name).map(Shown::Typed).or_else(bits)
        };
        match text.rsplit_once(':').and_then(|(buffer, ty)| Some((buffer, shown(ty)?))) {
            Some((buffer, shown)) => Dump { buffer: buffer.to_string(), shown: Some(shown) },
            None => Dump { buffer: text.to_string(), shown: None },
        }
    }

    fn print(&self, test: &Test, env: &Env) {
        // Piece by piece: the text is several times as large as the buffer.
        const PIECE: u64 = 1 << 16;
        let name = &self.buffer;
        let Ok(b) = env.buffer(name) else { return };
        let shown =
            self.shown.or(test.buffers.get(name).map(|b| Shown::Typed(b.ty))).unwrap_or(Shown::Bits(4));
        let size = match shown {
            Shown::Typed(elem) => elem.size(),
            Shown::Bits(bytes) => bytes,
        };
        say!("{name} after {}:", test.name);
        for start in (0..b.size).step_by(PIECE as usize) {
            let bytes = match env.machine.read(b.address + start, PIECE.min(b.size - start)) {
                Ok(bytes) => bytes,
                Err(e) => return tell!("error: {name}: {e}"),
            };
            let mut text = String::new();
            for (i, row) in bytes.chunks(32).enumerate() {
                let value = |e: &[u8]| {
                    let bits = e.iter().rev().fold(0u64, |n, &b| n << 8 | u64::from(b));
                    match shown {
                        Shown::Typed(elem) if e.len() == size => {
                            elem.literal(bits).trim_matches('"').to_string()
                        }
                        _ => format!("{bits:0width$x}", width = 2 * e.len()),
                    }
                };
                let values: Vec<String> = row.chunks(size).map(value).collect();
                text += &format!("  {:06x}: {}\n", start as usize + i * 32, values.join(" "));
            }
            out::stdout(text.as_bytes());
        }
    }
}

/// Tables by operation and by address.
fn profile_text(p: &emu::Profile) -> String {
    use std::fmt::Write;
    let mut t = String::new();
    let mut row = |name: &str, c: &emu::PcProfile| {
        let _ = writeln!(
            t,
            "  {name:<40} {:>10} {:>12} {:>10} {:>12} {:>10}",
            c.issues, c.threads, c.divergences, c.transactions, c.bank_conflicts
        );
    };
    row("operation", &emu::PcProfile::default());
    for (op, c) in &p.by_op {
        row(op, c);
    }
    for (pc, c) in &p.by_pc {
        row(&format!("{pc:#06x}"), c);
    }
    let head = format!(
        "  {:<40} {:>10} {:>12} {:>10} {:>12} {:>10}\n",
        "", "issues", "threads", "diverged", "transactions", "conflicts"
    );
    let body = t.split_once('\n').map_or("", |(_, rest)| rest);
    head + body
}
