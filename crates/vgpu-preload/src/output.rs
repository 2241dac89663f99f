//! Files that observers write to: logs and recordings. A file is made when there is something to write.

use crate::ending;
use crate::gate;
use crate::options::say;
use nvir_base::input::why;
use nvir_vgpu::output::{self, Found, Kind, LOG_HEADER};
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

/// A file that observers write to. Clones are the same file. A process that was forked off goes on writing a log, but not
/// its parent's recording.
#[derive(Clone)]
pub(crate) struct Output {
    shared: Arc<Shared>,
    /// The only process that may write.
    only: Option<u32>,
}

struct Shared {
    variable: &'static str,
    path: PathBuf,
    kind: Kind,
    state: Mutex<State>,
}

enum State {
    /// Nothing was written yet.
    New,
    Open(PathBuf, BufWriter<File>),
    /// It could not be opened or written, which was reported.
    Lost,
}

impl Output {
    /// A log, which all processes append to.
    pub(crate) fn log(path: PathBuf) -> Output {
        Output::new("NVIR_VGPU_LOG", path, Kind::Log, None)
    }

    /// A card's recording, which is this process's.
    pub(crate) fn recording(path: PathBuf) -> Output {
        Output::new("NVIR_VGPU_TRACE", path, Kind::Recording, Some(crate::sys::process()))
    }

    fn new(variable: &'static str, path: PathBuf, kind: Kind, only: Option<u32>) -> Output {
        Output { shared: Arc::new(Shared { variable, path, kind, state: Mutex::new(State::New) }), only }
    }

    /// Adds a line and has it written.
    pub(crate) fn line(&self, text: &str) {
        let mut to = self.clone();
        // What fails is reported.
        let _ = to.write_all(format!("{text}\n").as_bytes());
        let _ = to.flush();
    }

    fn forbidden(&self) -> bool {
        self.only.is_some_and(|p| p != crate::sys::process())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(|e| e.into_inner())
    }
}

impl Shared {
    fn open(&self) -> Result<(PathBuf, File), (PathBuf, io::Error)> {
        match self.kind {
            Kind::Recording => recording(&self.path),
            _ => log(&self.path).map(|file| (self.path.clone(), file)).map_err(|e| (self.path.clone(), e)),
        }
    }

    /// Reports once that something is missing, and gives the file up.
    fn lost(&self, state: &mut State, path: &Path, e: &io::Error) -> io::Error {
        if let State::Open(_, file) = std::mem::replace(state, State::Lost) {
            // Without another try to write what is left.
            drop(file.into_parts());
        }
        let what = if self.kind == Kind::Recording { "recording" } else { "log" };
        say(&format!("{}={}: {}; the {what} is incomplete", self.variable, path.display(), why(e)));
        ending::lost();
        e.kind().into()
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.forbidden() {
            return Ok(bytes.len());
        }
        let mut state = self.state();
        if matches!(*state, State::New) {
            match self.shared.open() {
                Ok((path, file)) => *state = State::Open(path, BufWriter::new(file)),
                Err((path, e)) => return Err(self.shared.lost(&mut state, &path, &e)),
            }
        }
        let State::Open(path, file) = &mut *state else { return Err(ErrorKind::Other.into()) };
        match file.write(bytes) {
            Ok(n) => Ok(n),
            Err(e) => {
                let path = path.clone();
                Err(self.shared.lost(&mut state, &path, &e))
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.forbidden() {
            return Ok(());
        }
        let mut state = self.state();
        let State::Open(path, file) = &mut *state else { return Ok(()) };
        match file.flush() {
            Ok(()) => Ok(()),
            Err(e) => {
                let path = path.clone();
                Err(self.shared.lost(&mut state, &path, &e))
            }
        }
    }
}

/// A log to append to. The first process of a run of `nvir gpu` replaces that of an earlier run.
fn log(path: &Path) -> io::Result<File> {
    let gate = gate::enter("log")?;
    match output::found(path, Kind::Log)? {
        Found::Stream => return output::append(path),
        Found::Same if gate.as_ref().is_some_and(|g| g.first) => drop(output::replace(path, Kind::Log)?),
        Found::Nothing | Found::Empty | Found::Same => {}
    }
    let mut file = output::append(path)?;
    file.lock()?;
    if file.metadata()?.len() == 0 {
        writeln!(file, "{LOG_HEADER}")?;
    }
    file.unlock()?;
    Ok(file)
}

/// A new file for a card's recording: the name that was given, or with `.2`, `.3` and so on before its extension, as other
/// processes and cards write, too. Never one that exists, except that the first of a run of `nvir gpu` replaces a recording
/// of an earlier run.
fn recording(path: &Path) -> Result<(PathBuf, File), (PathBuf, io::Error)> {
    let wrong = |e| (path.to_path_buf(), e);
    let gate = gate::enter("trace").map_err(wrong)?;
    if gate.as_ref().is_some_and(|g| g.first) {
        return output::replace(path, Kind::Recording).map(|file| (path.to_path_buf(), file)).map_err(wrong);
    }
    if matches!(output::found(path, Kind::Recording), Ok(Found::Stream)) {
        return output::append(path).map(|file| (path.to_path_buf(), file)).map_err(wrong);
    }
    for path in (1..10000).map(|n| numbered(path, n)) {
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => return Ok((path, file)),
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            Err(e) => return Err((path, e)),
        }
    }
    Err(wrong(io::Error::other("all numbers up to 9999 are taken")))
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
