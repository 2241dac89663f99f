//! The folder that `nvir gpu` shares with the processes of a run while it waits for them: who comes first, and what went
//! wrong. Nothing, where no `nvir gpu` waits.

use std::env;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;

/// The variable that names the folder.
const VARIABLE: &str = "NVIR_VGPU_RUN";

/// One process at a time is inside, until it drops this.
pub(crate) struct Gate {
    /// Whether no process of the run was inside before.
    pub first: bool,
    _lock: File,
}

fn folder() -> Option<PathBuf> {
    env::var_os(VARIABLE).filter(|v| !v.is_empty()).map(PathBuf::from).filter(|p| p.is_dir())
}

/// Waits for a gate.
pub(crate) fn enter(name: &str) -> io::Result<Option<Gate>> {
    let Some(folder) = folder() else { return Ok(None) };
    let mut file = OpenOptions::new().append(true).create(true).open(folder.join(name))?;
    file.lock()?;
    let first = file.metadata()?.len() == 0;
    if first {
        file.write_all(b"taken")?;
    }
    Ok(Some(Gate { first, _lock: file }))
}

/// Leaves a note for whoever waits.
pub(crate) fn note(name: &str) {
    if let Some(folder) = folder() {
        // Without it, the message on standard error remains.
        let _ = File::create(folder.join(name));
    }
}
