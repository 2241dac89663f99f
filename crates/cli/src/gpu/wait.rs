//! Waiting for a program whose faults or files change the exit status. What its processes have to say they leave in a
//! folder: only so does it arrive whatever they end by, and whatever the program makes of the status of its children.

use crate::out::errln;
use nvir_vgpu::output::{self, FAULTS_HEADER, Kind};
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use std::env;
use std::fs::{self, DirBuilder};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, id};

/// What the end of a run decides beside the program's status.
pub(super) struct Wanted<'a> {
    pub(super) error_exitcode: Option<u8>,
    pub(super) faults_json: Option<&'a Path>,
    /// Where frames are written, and the only one.
    pub(super) frames: Option<(&'a Path, Option<u64>)>,
}

/// The folder of a run, which goes with it.
pub(super) struct Run(PathBuf);

impl Run {
    pub(super) fn new() -> io::Result<Run> {
        let base = env::temp_dir();
        for n in 0.. {
            let path = base.join(format!("nvir-gpu-{}-{n}", id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && n < 1000 => {}
                other => return other.map(|()| Run(path)),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    pub(super) fn folder(&self) -> &Path {
        &self.0
    }

    /// Where processes list their faults.
    pub(super) fn faults(&self) -> PathBuf {
        self.0.join("faults.json")
    }

    /// Starts the program and waits for it: the status that it ended with, by its end or by what it left behind.
    pub(super) fn wait(&self, command: &mut Command, wanted: &Wanted<'_>) -> io::Result<ExitCode> {
        // A terminal sends these to the program, too, which decides what they mean; others come to us alone.
        let mut signals = Signals::new([SIGINT, SIGQUIT, SIGTERM, SIGHUP])?;
        let mut child = command.spawn()?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let handle = signals.handle();
        let forward = std::thread::spawn(move || {
            for signal in signals.forever() {
                let signal = match signal {
                    SIGTERM => Signal::TERM,
                    SIGHUP => Signal::HUP,
                    _ => continue,
                };
                // It may have ended.
                let _ = pid.map(|pid| kill_process(pid, signal));
            }
        });
        let status = child.wait()?;
        handle.close();
        let _ = forward.join();
        let faults = fs::read(self.faults()).unwrap_or_default();
        let mut lost = self.0.join("lost").exists();
        if let Some((folder, frame)) = wanted.frames
            && !self.0.join("frames").exists()
        {
            let what = frame.map_or("no frame".into(), |n| format!("no frame {n}"));
            errln!("error: {}: {what} was drawn; nothing is written", folder.display());
            lost = true;
        }
        if let Some(path) = wanted.faults_json
            && let Err(e) = write_faults(path, &faults)
        {
            errln!("error: {}: {e}", path.display());
            lost = true;
        }
        Ok(ExitCode::from(match (wanted.error_exitcode, code(status)) {
            (Some(n), _) if !faults.is_empty() => n,
            (_, 0) if lost => 1,
            (_, code) => code,
        }))
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The document, which has no faults if none were written.
fn write_faults(path: &Path, faults: &[u8]) -> io::Result<()> {
    let mut file = output::replace(path, Kind::Faults)?;
    match faults {
        b"" => writeln!(file, "{FAULTS_HEADER}\n]}}"),
        faults => file.write_all(faults),
    }
}

/// As shells have it: 128 and the signal, if one ended the program.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|s| 128 + s));
    code.and_then(|c| u8::try_from(c).ok()).unwrap_or(1)
}
