//! The variables that say which cards there are and what is reported about them.

use crate::output::Output;
use nvir_base::Chip;
use nvir_base::input::why;
use nvir_emu::Checks;
use nvir_emu_jit::Choice;
use nvir_vgpu::output::{self, Kind};
use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::OnceLock;

/// More cards than this are not simulated.
const MAX_CARDS: u32 = 16;

/// More threads than this are not of use.
const MAX_THREADS: u32 = 256;

/// Tests want to see two.
const DEFAULT_CARDS: u32 = if cfg!(test) { 2 } else { 1 };

/// What a client sees of a fault of its channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OnFault {
    /// Nothing: submissions succeed, but only fences are signalled.
    Continue,
    /// Its submissions fail, as with the kernel's driver. libdrm ends the program then.
    Refuse,
    /// The process ends with status 1.
    Exit,
}

/// What time cards tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Clock {
    /// A count that work advances: runs repeat.
    Counter,
    /// The system's.
    Real,
}

/// What the variables ask for.
pub(crate) struct Options {
    pub on_fault: OnFault,
    pub chip: Chip,
    pub cards: u32,
    pub clock: Clock,
    /// Threads that execute blocks of a launch; 0: one a core.
    pub threads: usize,
    /// What executes programs.
    pub engine: Choice,
    /// Instructions of warps that a launch may execute, where it was said.
    pub limit: Option<u64>,
    pub checks: Checks,
    /// The fault of a kind that ends a block's run.
    pub faults: u32,
    /// Whether kernels are profiled, and the profile printed when the process ends.
    pub profile: bool,
    /// Where each kernel's code is written.
    pub dump_shaders: Option<PathBuf>,
    /// Where pictures of targets are written, and the only frame that is wanted.
    pub dump_frames: Option<PathBuf>,
    pub frame: Option<u64>,
    /// Where submissions, methods, launches and failed calls are written.
    pub log: Option<Output>,
    trace: Option<PathBuf>,
    /// Where faults are written as JSON.
    pub faults_json: Option<PathBuf>,
    /// What the process ends with after a fault, whatever the program returns.
    pub error_exitcode: Option<u8>,
}

/// Reads the variables at the first call. Without a valid choice there are no cards, and standard error says why.
pub(crate) fn options() -> &'static Options {
    static OPTIONS: OnceLock<Options> = OnceLock::new();
    OPTIONS.get_or_init(|| {
        Options::read().unwrap_or_else(|why| {
            say(&why);
            Options { cards: 0, ..Options::default() }
        })
    })
}

/// Tells the person at the terminal something.
pub(crate) fn say(text: &str) {
    let text: String = text.lines().map(|l| format!("nvir-vgpu: {l}\n")).collect();
    // A closed standard error is no reason to fail.
    let _ = io::stderr().write_all(text.as_bytes());
}

impl Default for Options {
    fn default() -> Options {
        Options {
            on_fault: OnFault::Continue,
            chip: Chip::Gk110,
            cards: DEFAULT_CARDS,
            clock: Clock::Counter,
            threads: 1,
            engine: Choice::default(),
            limit: None,
            checks: Checks::default(),
            faults: 1,
            profile: false,
            dump_shaders: None,
            dump_frames: None,
            frame: None,
            log: None,
            trace: None,
            faults_json: None,
            error_exitcode: None,
        }
    }
}

/// A variable's text as a choice; the error names both.
fn chosen<T>(name: &str, choice: impl FnOnce(&str) -> Result<T, String>) -> Result<Option<T>, String> {
    let Some(value) = variable(name) else { return Ok(None) };
    let text = value.to_string_lossy();
    choice(&text).map(Some).map_err(|why| format!("{name}={text}: {why}"))
}

fn one_of<T: Copy>(text: &str, all: &[(&str, T)]) -> Result<T, String> {
    let found = all.iter().find(|(name, _)| *name == text).map(|(_, choice)| *choice);
    let names = || all.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(" or ");
    found.ok_or_else(|| format!("expected {}", names()))
}

fn number(text: &str, most: u32) -> Result<u32, String> {
    let n = text.parse().ok().filter(|n| *n <= most);
    n.ok_or_else(|| format!("expected a number from 0 to {most}"))
}

impl Options {
    fn read() -> Result<Options, String> {
        let mut o = Options::default();
        let chip = |text: &str| {
            let name = text.strip_prefix("0x").unwrap_or(text);
            name.parse().map_err(|_| "unknown chip; available: c0, e4, f0".to_string())
        };
        let on_fault =
            [("continue", OnFault::Continue), ("refuse", OnFault::Refuse), ("exit", OnFault::Exit)];
        let clock = [("counter", Clock::Counter), ("real", Clock::Real)];
        let switch = [("1", true), ("0", false)];
        set(&mut o.chip, chosen("NOUVEAU_CHIPSET", chip)?);
        set(&mut o.cards, chosen("NVIR_VGPU_DEVICES", |t| number(t, MAX_CARDS))?);
        set(&mut o.on_fault, chosen("NVIR_VGPU_ON_FAULT", |t| one_of(t, &on_fault))?);
        set(&mut o.clock, chosen("NVIR_VGPU_CLOCK", |t| one_of(t, &clock))?);
        set(&mut o.threads, chosen("NVIR_VGPU_THREADS", |t| Ok(number(t, MAX_THREADS)? as usize))?);
        set(&mut o.engine, chosen("NVIR_VGPU_ENGINE", str::parse)?);
        let positive =
            |t: &str| t.parse().ok().filter(|n| *n > 0).ok_or("expected a number from 1".to_string());
        o.limit = chosen("NVIR_VGPU_LIMIT", positive)?;
        set(&mut o.checks, chosen("NVIR_VGPU_CHECK", str::parse)?);
        set(&mut o.faults, chosen("NVIR_VGPU_MAX_FAULTS", |t| number(t, u32::MAX).map(|n| n.max(1)))?);
        set(&mut o.profile, chosen("NVIR_VGPU_PROFILE", |t| one_of(t, &switch))?);
        o.dump_shaders = variable("NVIR_VGPU_DUMP_SHADERS").map(PathBuf::from);
        o.dump_frames = variable("NVIR_VGPU_DUMP_FRAMES").map(PathBuf::from);
        o.frame = chosen("NVIR_VGPU_FRAME", positive)?;
        o.trace = variable("NVIR_VGPU_TRACE").map(PathBuf::from);
        o.log = writable("NVIR_VGPU_LOG", Kind::Log)?.map(Output::log);
        o.faults_json = writable("NVIR_VGPU_FAULTS_JSON", Kind::Faults)?;
        let status =
            |t: &str| t.parse().ok().filter(|n| *n > 0).ok_or("expected a number from 1 to 255".to_string());
        o.error_exitcode = chosen("NVIR_VGPU_ERROR_EXITCODE", status)?;
        Ok(o)
    }

    /// A new file for a card's recording.
    pub(crate) fn trace(&self) -> Option<Output> {
        self.trace.clone().map(Output::recording)
    }
}

fn set<T>(to: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *to = value;
    }
}

/// A path that may be written to: what stands there is of the same kind, or a device or a pipe.
fn writable(name: &str, kind: Kind) -> Result<Option<PathBuf>, String> {
    let Some(path) = variable(name).map(PathBuf::from) else { return Ok(None) };
    output::found(&path, kind).map_err(|e| format!("{name}={}: {}", path.display(), why(&e)))?;
    Ok(Some(path))
}

/// A variable that is set to something.
fn variable(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|v| !v.is_empty())
}
