//! `nvir gpu`: a program on the virtual GPU.

mod library;
mod wait;

use crate::common;
use crate::output::unwritable;
use clap::{Args as _, FromArgMatches};
use nvir::emu::Checks;
use nvir::{Chip, input};
use nvir_emu_jit::Choice;
use nvir_vgpu::output::{self, Kind};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, path};

/// Run a program on a virtual GPU: OpenGL and OpenCL through Mesa's own driver
///
/// The program, its children and Mesa's stock `nouveau` driver see a card of this chip in /dev/dri; what they submit is
/// executed on the CPU. `nvir gpu` ends with the program's exit status, or with --error-exitcode's after a fault, or with 1 if a
/// file that was asked for is incomplete. It computes, draws, copies and blits. Needs Mesa with its nouveau driver (Debian: libgl1-mesa-dri, mesa-opencl-icd), and no rights.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  nvir gpu -t gk104 -- eglinfo -B                           what Mesa reports of the card
  nvir gpu -t gf100 --log - -- ./client                     every command and launch, on standard error
  nvir gpu -t gk110 --check all -- ./client                 every kernel under all four checkers
  nvir gpu --trace a.trace -- ./client; nvir replay a.trace record, and execute the recording again
  nvir gpu --dump-frames frames -- ./client                 a picture of every target after each submission
  nvir gpu --error-exitcode 9 --faults-json f.json -- ./client   for scripts: did a kernel or command fault?
  nvir gpu -- shader_runner x.shader_test -auto -fbo        a test of piglit's; `scripts/piglit` runs all
  nvir gpu -t gk110 -- clinfo                               OpenCL by rusticl, where Mesa has it

It sets LD_PRELOAD (before what is there), NOUVEAU_CHIPSET, a variable for each option (NVIR_VGPU_LOG
and so on), and where the environment does not: NOUVEAU_ENABLE_CL, RUSTICL_ENABLE, OCL_ICD_VENDORS
(rusticl), MESA_SHADER_CACHE_DISABLE, PIGLIT_PLATFORM, and EGL_PLATFORM=surfaceless without a display.
Statically linked and setuid programs cannot be run: nothing can be preloaded into them.")]
pub(crate) struct Args {
    /// The card's chip
    #[arg(short, long, default_value = "gk110", value_name = "CHIP")]
    target: Chip,
    /// Write submissions, methods by name, launches and failed calls to this file, device or pipe; `-`: standard error. Of the
    /// files that exist only a log is replaced, and when there is something to write
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Record all submissions, with memory before and after, to this file, device or pipe; further processes and cards add .2,
    /// .3 and so on. Of the files that exist only a recording is replaced, and when there is something to record
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// End with this status if a kernel or command faulted in any process, whatever the program returns
    #[arg(long, value_parser = clap::value_parser!(u8).range(1..), value_name = "N")]
    error_exitcode: Option<u8>,
    /// Write all faults to this file as JSON (docs/json.md)
    #[arg(long, value_name = "FILE")]
    faults_json: Option<PathBuf>,
    /// Checkers for every kernel: memcheck, initcheck, racecheck, synccheck, all or none, separated by commas; racecheck=strict
    /// also reports that two warps write the same value, racecheck=global looks at global memory, too (`all` does not)
    #[arg(long, value_name = "CHECKERS")]
    check: Option<String>,
    /// Continue after a fault of a checker until a block has N of a kind, and report all of them by instruction
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..), value_name = "N")]
    max_faults: u32,
    /// Count launches, instructions and estimated cycles of each kernel; printed on standard error at the end
    #[arg(long)]
    profile: bool,
    /// Write each kernel's code as a cubin and as SASS into this folder, and each program of a
    /// graphics stage as SASS and as a .bin of header and code
    #[arg(long, value_name = "DIR")]
    dump_shaders: Option<PathBuf>,
    /// Write a PNG of every target at the end of each submission that draws or clears, into this folder:
    /// frame-NUMBER-TARGET-color.png, or -depth and -stencil
    #[arg(long, value_name = "DIR")]
    dump_frames: Option<PathBuf>,
    /// Of these frames, counted from 1, write one only
    #[arg(long, requires = "dump_frames", value_parser = clap::value_parser!(u64).range(1..), value_name = "N")]
    frame: Option<u64>,
    /// After a fault in a kernel or command, which is reported on standard error: `continue`, but the program gets no more
    /// results; `refuse` its submissions, as the kernel does, which ends it by an assertion in libdrm; `exit` with status 1
    #[arg(long, default_value = "continue", value_parser = ["continue", "refuse", "exit"], value_name = "WHAT")]
    on_fault: String,
    /// The cards' time: a `counter` that work advances, so that runs repeat, or the system's `real` clock
    #[arg(long, default_value = "counter", value_parser = ["counter", "real"], value_name = "WHAT")]
    clock: String,
    /// Threads that execute the blocks of a launch; 0: one a core. More than one pays for long launches only
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=256), value_name = "N")]
    threads: u32,
    /// What executes programs: the `interpreter`; host code, `compiled` from what runs often; or `both`, which compares them after
    /// each basic block and stops at the first difference
    #[arg(long, default_value_t, value_name = "ENGINE")]
    engine: Choice,
    /// Warp instructions that a launch may execute before it is considered endless, which is a fault: 2^32 by default, some
    /// minutes. All launches of one submission together: four times as many
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..), value_name = "N")]
    limit: Option<u64>,
    /// The number of cards
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=16), value_name = "N")]
    devices: u32,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

pub(crate) fn run(a: Args) -> ExitCode {
    let mut command = match command(&a) {
        Ok(command) => command,
        Err(why) => return why,
    };
    let failed = |command: &Command, e: std::io::Error| {
        common::fault(format!("{}: {e}", Path::new(command.get_program()).display()))
    };
    // With nothing to add to the program's end, it takes the place of this process.
    if !a.has_results() {
        let e = command.exec();
        return failed(&command, e);
    }
    let run = match wait::Run::new() {
        Ok(run) => run,
        Err(e) => return common::fault(format!("{}: {e}", env::temp_dir().display())),
    };
    command.env("NVIR_VGPU_RUN", run.folder()).env("NVIR_VGPU_PARENT", std::process::id().to_string());
    if a.error_exitcode.is_some() || a.faults_json.is_some() {
        command.env("NVIR_VGPU_FAULTS_JSON", run.faults());
    }
    let wanted = wait::Wanted {
        error_exitcode: a.error_exitcode,
        faults_json: a.faults_json.as_deref(),
        frames: a.dump_frames.as_deref().map(|folder| (folder, a.frame)),
    };
    let ended = run.wait(&mut command, &wanted);
    ended.unwrap_or_else(|e| failed(&command, e))
}

/// Records what a program submits, and ends as it does.
pub(crate) fn record(chip: Chip, trace: &Path, program: &[OsString]) -> ExitCode {
    let own = ["gpu", "--target", chip.name(), "--trace"].map(OsString::from);
    let all = own.into_iter().chain([trace.into(), "--".into()]).chain(program.iter().cloned());
    let parsed = Args::augment_args(clap::Command::new("gpu")).try_get_matches_from(all);
    match parsed.and_then(|matches| Args::from_arg_matches(&matches)) {
        Ok(args) => run(args),
        Err(e) => common::usage(e),
    }
}

impl Args {
    /// Whether files may be incomplete in the end, or faults change the status.
    fn has_results(&self) -> bool {
        let files = [&self.log, &self.trace, &self.faults_json, &self.dump_shaders, &self.dump_frames];
        self.error_exitcode.is_some() || files.iter().any(|f| f.is_some())
    }
}

/// The program with its environment.
fn command(a: &Args) -> Result<Command, ExitCode> {
    let fault = |e: String| common::fault(e);
    if let Some(check) = &a.check {
        check.parse::<Checks>().map_err(common::usage)?;
    }
    let library = library::unpacked().map_err(fault)?;
    let (name, arguments) = a.program.split_first().ok_or_else(|| common::usage("no program"))?;
    let program = find(name).map_err(fault)?;
    can_be_loaded_before(&program).map_err(fault)?;
    let mut command = Command::new(&program);
    command.arg0(name).args(arguments);

    let mut preload = library.into_os_string();
    if let Some(old) = env::var_os("LD_PRELOAD").filter(|o| !o.is_empty()) {
        preload.push(":");
        preload.push(old);
    }
    let chipset = format!("{:x}", a.target.chipset());
    command.env("LD_PRELOAD", preload).env("NOUVEAU_CHIPSET", chipset);
    command.env("NVIR_VGPU_DEVICES", a.devices.to_string());
    command.env("NVIR_VGPU_ON_FAULT", &a.on_fault);
    command.env("NVIR_VGPU_CLOCK", &a.clock);
    command.env("NVIR_VGPU_THREADS", a.threads.to_string());
    command.env("NVIR_VGPU_ENGINE", a.engine.to_string());
    if let Some(limit) = a.limit {
        command.env("NVIR_VGPU_LIMIT", limit.to_string());
    }
    // With this one set, Mesa does not wait for what it reads back.
    command.env_remove("NOUVEAU_DISABLE_FENCES");

    if let Some(log) = &a.log {
        command.env("NVIR_VGPU_LOG", written(log, Kind::Log).map_err(fault)?);
    }
    if let Some(trace) = &a.trace {
        if trace == Path::new("-") {
            return Err(common::usage("--trace needs a file; `-` is not one"));
        }
        command.env("NVIR_VGPU_TRACE", written(trace, Kind::Recording).map_err(fault)?);
    }
    if let Some(path) = &a.faults_json {
        written(path, Kind::Faults).map_err(fault)?;
    }
    if let Some(code) = a.error_exitcode {
        command.env("NVIR_VGPU_ERROR_EXITCODE", code.to_string());
    }
    if let Some(check) = &a.check {
        command.env("NVIR_VGPU_CHECK", check);
    }
    command.env("NVIR_VGPU_MAX_FAULTS", a.max_faults.to_string());
    if a.profile {
        command.env("NVIR_VGPU_PROFILE", "1");
    }
    for (dir, variable) in
        [(&a.dump_shaders, "NVIR_VGPU_DUMP_SHADERS"), (&a.dump_frames, "NVIR_VGPU_DUMP_FRAMES")]
    {
        let Some(dir) = dir else { continue };
        let wrong = |e: std::io::Error| {
            let why = match e.kind() {
                ErrorKind::AlreadyExists => "exists and is not a folder".to_string(),
                _ => unwritable(&e),
            };
            fault(format!("{}: {why}", dir.display()))
        };
        fs::create_dir_all(dir).map_err(wrong)?;
        command.env(variable, path::absolute(dir).map_err(wrong)?);
    }
    if let Some(frame) = a.frame {
        command.env("NVIR_VGPU_FRAME", frame.to_string());
    }
    for (name, value) in defaults() {
        if env::var_os(name).is_none() {
            command.env(name, value);
        }
    }
    Ok(command)
}

/// Variables that make Mesa, OpenCL and piglit use the card, for a program that has not set them.
fn defaults() -> Vec<(&'static str, &'static str)> {
    let mut all = vec![
        ("NOUVEAU_ENABLE_CL", "1"),
        ("RUSTICL_ENABLE", "nouveau"),
        // What is cached hides what the compiler does.
        ("MESA_SHADER_CACHE_DISABLE", "true"),
        ("PIGLIT_PLATFORM", "surfaceless_egl"),
    ];
    const RUSTICL: &str = "/etc/OpenCL/vendors/rusticl.icd";
    if Path::new(RUSTICL).exists() {
        all.push(("OCL_ICD_VENDORS", RUSTICL));
    }
    if ["DISPLAY", "WAYLAND_DISPLAY"].iter().all(|d| env::var_os(d).is_none_or(|v| v.is_empty())) {
        all.push(("EGL_PLATFORM", "surfaceless"));
    }
    all
}

/// The file of a program, as a shell looks for it.
fn find(name: &OsStr) -> Result<PathBuf, String> {
    let executable =
        |p: &Path| p.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0);
    if name.to_string_lossy().contains('/') {
        let path = PathBuf::from(name);
        return match path.metadata() {
            Err(e) if e.kind() == ErrorKind::NotFound => {
                Err(format!("{}: program not found", path.display()))
            }
            Err(e) => Err(format!("{}: {}", path.display(), input::why(&e))),
            Ok(_) if executable(&path) => Ok(path),
            Ok(_) => Err(format!("{}: not executable", path.display())),
        };
    }
    let folders = env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
    let found = env::split_paths(&folders).map(|f| f.join(name)).find(|p| executable(p));
    found.ok_or_else(|| format!("{}: program not found in PATH", name.display()))
}

/// The absolute path of what the program's processes are to write: nothing of another kind. `-` stays.
fn written(path: &Path, kind: Kind) -> Result<OsString, String> {
    let wrong = |e: std::io::Error| format!("{}: {}", path.display(), unwritable(&e));
    output::found(path, kind).map_err(wrong)?;
    if path == Path::new("-") {
        return Ok(path.into());
    }
    Ok(path::absolute(path).map_err(wrong)?.into_os_string())
}

/// Whether the dynamic linker loads a library before this program.
fn can_be_loaded_before(program: &Path) -> Result<(), String> {
    let unreadable = |e: std::io::Error| format!("{}: {}", program.display(), input::why(&e));
    let mode = program.metadata().map_err(unreadable)?.permissions().mode();
    if mode & 0o6000 != 0 {
        return Err(format!("{}: a setuid or setgid program ignores LD_PRELOAD", program.display()));
    }
    // The first page holds the header and, as linkers lay out files, the program headers.
    let mut start = Vec::new();
    match File::open(program) {
        Ok(f) => f.take(4096).read_to_end(&mut start).map_err(unreadable)?,
        Err(_) => return Ok(()), // may be executed, but not read
    };
    if static_elf(&start) {
        return Err(format!("{}: statically linked; nothing can be preloaded into it", program.display()));
    }
    Ok(())
}

/// Whether this is the start of a 64-bit ELF program without an interpreter: without a dynamic linker.
fn static_elf(start: &[u8]) -> bool {
    const INTERPRETER: &[u8] = &3u32.to_le_bytes();
    let half = |at: usize| start.get(at..at + 2).map(|b| usize::from(u16::from_le_bytes([b[0], b[1]])));
    let offset = start.get(32..40).map(|b| u64::from_le_bytes(std::array::from_fn(|i| b[i])));
    let (Some(offset), Some(size), Some(count)) = (offset, half(54), half(56)) else { return false };
    if !start.starts_with(b"\x7fELF\x02\x01") || size == 0 {
        return false;
    }
    let Some(headers) = usize::try_from(offset).ok().and_then(|o| start.get(o..)) else { return false };
    let headers: Vec<&[u8]> = headers.chunks_exact(size).take(count).collect();
    headers.len() == count && !headers.iter().any(|h| h.starts_with(INTERPRETER))
}
