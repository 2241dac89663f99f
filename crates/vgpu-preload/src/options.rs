//! The variables that say which cards there are and what is told about them.

use nvir_base::Chip;
use nvir_emu::Checks;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

/// More cards than this are not simulated.
const MAX_CARDS: u32 = 16;

/// More threads than this are not of use.
const MAX_THREADS: u32 = 256;

/// Tests want to see two.
const DEFAULT_CARDS: u32 = if cfg!(test) { 2 } else { 1 };

/// What a client sees of a fault of its channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnFault {
    /// Nothing: submissions succeed, but only fences are signalled.
    Continue,
    /// Its submissions fail, as with the kernel's driver. libdrm ends the program then.
    Refuse,
    /// The process ends with status 1.
    Exit,
}

/// What time cards tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clock {
    /// A count that work advances: runs repeat.
    Counter,
    /// The system's.
    Real,
}

/// What the variables ask for.
pub struct Options {
    pub on_fault: OnFault,
    pub chip: Chip,
    pub cards: u32,
    pub clock: Clock,
    /// Threads that execute blocks of a launch; 0: one a core.
    pub threads: usize,
    /// Instructions of warps that a launch may execute, where it was said.
    pub limit: Option<u64>,
    pub checks: Checks,
    /// The fault of a kind that ends a block's run.
    pub faults: u32,
    /// Whether kernels are profiled, and told of when the process ends.
    pub profile: bool,
    /// Where each kernel's code is written.
    pub dump_shaders: Option<PathBuf>,
    /// Where submissions, methods, launches and failed calls are told.
    pub log: Option<Output>,
    trace: Option<PathBuf>,
}

/// Reads the variables at the first call. Without a valid choice there are no cards, and standard error says why.
pub fn options() -> &'static Options {
    static OPTIONS: OnceLock<Options> = OnceLock::new();
    OPTIONS.get_or_init(|| {
        Options::read().unwrap_or_else(|why| {
            say(&why);
            Options { cards: 0, ..Options::default() }
        })
    })
}

/// Tells the person at the terminal something.
pub fn say(text: &str) {
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
            limit: None,
            checks: Checks::default(),
            faults: 1,
            profile: false,
            dump_shaders: None,
            log: None,
            trace: None,
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
    found.ok_or_else(|| all.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(" or "))
}

fn number(text: &str, most: u32) -> Result<u32, String> {
    let n = text.parse().ok().filter(|n| *n <= most);
    n.ok_or_else(|| format!("a number up to {most}"))
}

impl Options {
    fn read() -> Result<Options, String> {
        let mut o = Options::default();
        let chip = |text: &str| {
            let name = text.strip_prefix("0x").unwrap_or(text);
            name.parse().map_err(|_| "there are c0, e4 and f0".to_string())
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
        let instructions =
            |t: &str| t.parse().ok().filter(|n| *n > 0).ok_or("not a number from 1".to_string());
        o.limit = chosen("NVIR_VGPU_LIMIT", instructions)?;
        set(&mut o.checks, chosen("NVIR_VGPU_CHECK", str::parse)?);
        set(&mut o.faults, chosen("NVIR_VGPU_MAX_FAULTS", |t| number(t, u32::MAX).map(|n| n.max(1)))?);
        set(&mut o.profile, chosen("NVIR_VGPU_PROFILE", |t| one_of(t, &switch))?);
        o.dump_shaders = variable("NVIR_VGPU_DUMP_SHADERS").map(PathBuf::from);
        o.trace = variable("NVIR_VGPU_TRACE").map(PathBuf::from);
        o.log = variable("NVIR_VGPU_LOG").map(|name| Output::log(&name)).transpose()?;
        Ok(o)
    }

    /// A new file for a card's recording: the name that was given, or with `.2`, `.3` and so on before its extension, as
    /// other processes and cards write, too. Never one that exists.
    pub fn trace(&self) -> Option<Output> {
        let path = self.trace.as_ref()?;
        (1..10000).map(|n| numbered(path, n)).find_map(|path| {
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => Some(Some(Output::new(file, false))),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => None,
                Err(e) => {
                    say(&format!("NVIR_VGPU_TRACE={}: {e}", path.display()));
                    Some(None)
                }
            }
        })?
    }
}

fn numbered(path: &Path, n: u32) -> PathBuf {
    if n == 1 {
        return path.to_path_buf();
    }
    let mut name = path.file_stem().unwrap_or_default().to_os_string();
    name.push(format!(".{n}"));
    if let Some(ending) = path.extension() {
        name.push(".");
        name.push(ending);
    }
    path.with_file_name(name)
}

fn set<T>(to: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *to = value;
    }
}

/// A variable that is set to something.
fn variable(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|v| !v.is_empty())
}

/// A file that observers write to. Clones are the same file. A process that was forked off goes on writing a log, but not
/// its parent's recording.
#[derive(Clone)]
pub struct Output {
    file: Arc<Mutex<BufWriter<File>>>,
    /// The only process that may write.
    only: Option<u32>,
}

impl Output {
    fn new(file: File, shared: bool) -> Output {
        let only = if shared { None } else { Some(crate::sys::process()) };
        Output { file: Arc::new(Mutex::new(BufWriter::new(file))), only }
    }

    fn log(name: &OsStr) -> Result<Output, String> {
        let file = match name.as_bytes() {
            b"-" => io::stderr().as_fd().try_clone_to_owned().map(File::from),
            _ => OpenOptions::new().append(true).create(true).open(name),
        };
        Ok(Output::new(file.map_err(|e| format!("NVIR_VGPU_LOG={}: {e}", name.display()))?, true))
    }

    /// Adds a line and has it written.
    pub fn line(&self, text: &str) {
        let mut to = self.clone();
        // An observer's full disk is no reason to fail.
        let _ = to.write_all(format!("{text}\n").as_bytes());
        let _ = to.flush();
    }

    fn forbidden(&self) -> bool {
        self.only.is_some_and(|p| p != crate::sys::process())
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.forbidden() {
            return Ok(bytes.len());
        }
        self.file.lock().unwrap_or_else(|e| e.into_inner()).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.forbidden() {
            return Ok(());
        }
        self.file.lock().unwrap_or_else(|e| e.into_inner()).flush()
    }
}
