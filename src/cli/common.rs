//! What several commands share: reading inputs, reporting what is wrong with them, exit codes.

use nvir::Chip;
use nvir::compile::Options;
use nvir::diag::{self, Diagnostics};
use nvir::front::{self, Language, Request};
use nvir::ir::Program;
use nvir::ir::verify::{self, Phase};
use std::io::{IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The input is at fault.
pub fn input_error() -> ExitCode {
    ExitCode::from(1)
}

/// Wrong usage.
pub fn usage(message: impl std::fmt::Display) -> ExitCode {
    eprintln!("error: {message}\n\nFor more information, try '--help'.");
    ExitCode::from(2)
}

/// Says on standard error what is wrong with an input.
pub fn report(d: &Diagnostics, name: &str, text: &str) {
    let color = std::io::stderr().is_terminal();
    eprint!("{}", diag::render(d, name, text, color));
}

/// A file's bytes, or standard input's for `-`.
pub fn read_bytes(path: &Path) -> Result<Vec<u8>, ExitCode> {
    let read = if path == Path::new("-") {
        let mut all = Vec::new();
        std::io::stdin().lock().read_to_end(&mut all).map(|_| all)
    } else {
        std::fs::read(path)
    };
    read.map_err(|e| {
        eprintln!("error: {}: {e}", path.display());
        input_error()
    })
}

/// The same as text.
pub fn read_text(path: &Path) -> Result<String, ExitCode> {
    String::from_utf8(read_bytes(path)?).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        eprintln!("error: {}: not text: byte {at} is no UTF-8", path.display());
        input_error()
    })
}

/// Writes a result to a file or to standard output. A closed pipe is not an error.
pub fn write_output(path: Option<&Path>, data: &[u8]) -> ExitCode {
    let written = match path {
        Some(p) => std::fs::write(p, data).map_err(|e| format!("{}: {e}", p.display())),
        None => match std::io::stdout().lock().write_all(data) {
            Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(e.to_string()),
            _ => Ok(()),
        },
    };
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("error: {e}");
            input_error()
        }
    }
}

/// What kind of text an input is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum TextKind {
    Tgsi,
    Nir,
    Ir,
}

impl TextKind {
    /// By an explicit choice, or the file name's ending.
    pub fn of(path: &Path, explicit: Option<TextKind>) -> Option<TextKind> {
        explicit.or_else(|| match Language::of(path) {
            Some(Language::Tgsi) => Some(TextKind::Tgsi),
            Some(Language::Nir) => Some(TextKind::Nir),
            None if path.extension().is_some_and(|e| e == "ir") => Some(TextKind::Ir),
            None => None,
        })
    }
}

/// The program of a text's kernel.
pub fn program(
    kind: TextKind,
    text: &str,
    entry: Option<&str>,
    chip: Chip,
    options: &Options,
) -> Result<Program, Diagnostics> {
    let language = match kind {
        TextKind::Tgsi => Language::Tgsi,
        TextKind::Nir => Language::Nir,
        TextKind::Ir => {
            let program = nvir::ir::parse::program(text)?;
            verify::program(&program, Phase::Front).map_err(|v| v.diagnostic())?;
            return Ok(program);
        }
    };
    let request = Request {
        text,
        chip,
        abi: &options.abi,
        entry,
        pointer_align: options.pointer_align,
        private_bytes: options.private_bytes,
    };
    front::program(language, &request)
}

/// A list of names between commas.
pub fn names(list: &Option<String>) -> Vec<String> {
    list.iter().flat_map(|l| l.split(',')).map(|n| n.trim().to_string()).filter(|n| !n.is_empty()).collect()
}

/// Fixtures, or files of some kind, below paths.
pub fn find(paths: &[PathBuf], wanted: &dyn Fn(&Path) -> bool) -> Result<Vec<PathBuf>, ExitCode> {
    let mut found = Vec::new();
    for p in paths {
        let result = if p.is_dir() {
            nvir::fixture::run::walk(p, wanted, &mut found)
        } else if p.exists() {
            found.push(p.clone());
            Ok(())
        } else {
            Err(std::io::Error::other("not found"))
        };
        if let Err(e) = result {
            eprintln!("error: {}: {e}", p.display());
            return Err(input_error());
        }
    }
    Ok(found)
}

/// A progress bar on standard error if that is a terminal.
pub fn progress(len: usize) -> indicatif::ProgressBar {
    if !std::io::stderr().is_terminal() {
        return indicatif::ProgressBar::hidden();
    }
    let bar = indicatif::ProgressBar::new(len as u64);
    if let Ok(style) = indicatif::ProgressStyle::with_template("{bar:40} {pos}/{len} {wide_msg} {eta}") {
        bar.set_style(style);
    }
    bar
}

/// Runs jobs on a number of threads (0: one a core) and gives their results in order.
pub fn in_parallel<T: Sync, R: Send>(jobs: usize, items: &[T], f: impl Fn(&T) -> R + Sync) -> Vec<R> {
    use rayon::prelude::*;
    match rayon::ThreadPoolBuilder::new().num_threads(jobs).stack_size(16 << 20).build() {
        Ok(pool) => pool.install(|| items.par_iter().map(&f).collect()),
        Err(_) => items.iter().map(f).collect(),
    }
}

/// A number on the command line, decimal or hexadecimal.
pub fn number(text: &str) -> Result<u32, String> {
    match text.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => text.parse(),
    }
    .map_err(|e| e.to_string())
}

/// A name for what has none of its own: the file's, without folder and ending.
pub fn stem(path: &Path) -> String {
    let stem = path.file_stem().and_then(|s| s.to_str()).unwrap_or("kernel");
    if stem == "-" { "kernel".to_string() } else { stem.to_string() }
}
