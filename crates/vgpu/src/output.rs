//! Files that recordings and logs are written to. What stands there already is replaced only if it is of the same kind.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What is written to a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// See [`crate::trace`].
    Recording,
    /// Submissions, methods, launches and failed calls, as text behind a first line [`LOG_HEADER`].
    Log,
    /// Faults as JSON behind a first line [`FAULTS_HEADER`].
    Faults,
}

/// First line of a log.
pub const LOG_HEADER: &str = "nvir-vgpu log 1";

/// First line of a file of faults.
pub const FAULTS_HEADER: &str = "{\"schema\": 1, \"faults\": [";

impl Kind {
    /// What all files of this kind begin with, whatever their version.
    fn start(self) -> &'static str {
        match self {
            Kind::Recording => "trace ",
            Kind::Log => "nvir-vgpu log ",
            Kind::Faults => "{\"schema\": ",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Kind::Recording => "a recording",
            Kind::Log => "a log of the virtual GPU",
            Kind::Faults => "a list of faults",
        }
    }
}

/// What stands at a path that is to be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// Nothing.
    Nothing,
    /// An empty regular file, which may be written.
    Empty,
    /// A regular file of this kind, which may be replaced.
    Same,
    /// A device or a pipe, which is written to and stays.
    Stream,
}

/// What stands at a path. No file is created, opened for writing, or waited for.
///
/// # Errors
/// A regular file of another kind, a folder, or a path that cannot be looked at.
pub fn found(path: &Path, kind: Kind) -> io::Result<Found> {
    if standard(path).is_some() {
        return Ok(Found::Stream);
    }
    let metadata = match path.metadata() {
        Ok(metadata) => metadata,
        // A link to nothing is made a file; a folder that is missing is an error.
        Err(e) if e.kind() == ErrorKind::NotFound => {
            let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
            return folder.metadata().map(|_| Found::Nothing);
        }
        Err(e) => return Err(e),
    };
    if metadata.is_dir() {
        return Err(io::Error::from(ErrorKind::IsADirectory));
    }
    if !metadata.is_file() {
        return Ok(Found::Stream);
    }
    if metadata.len() == 0 {
        return Ok(Found::Empty);
    }
    let mut start = Vec::new();
    File::open(path)?.take(kind.start().len() as u64).read_to_end(&mut start)?;
    if start == kind.start().as_bytes() {
        return Ok(Found::Same);
    }
    Err(io::Error::other(format!("the file exists and is not {}; it is left as it is", kind.name())))
}

/// Opens a device or a pipe, or a file to be appended to, which is created if it is not there.
///
/// # Errors
/// What the system says.
pub fn append(path: &Path) -> io::Result<File> {
    match standard(path) {
        Some(Standard::Output) => io::stdout().as_fd().try_clone_to_owned().map(File::from),
        Some(Standard::Error) => io::stderr().as_fd().try_clone_to_owned().map(File::from),
        None => OpenOptions::new().append(true).create(true).open(path),
    }
}

enum Standard {
    Output,
    Error,
}

/// Names of what is open already. Opened again, a regular file behind one would be written from its start.
fn standard(path: &Path) -> Option<Standard> {
    let name: &OsStr = path.as_os_str();
    match name.as_bytes() {
        b"/dev/stdout" | b"/dev/fd/1" | b"/proc/self/fd/1" => Some(Standard::Output),
        b"-" | b"/dev/stderr" | b"/dev/fd/2" | b"/proc/self/fd/2" => Some(Standard::Error),
        _ => None,
    }
}

/// Replaces a file of the same kind, or an empty one, or makes a new one; devices and pipes are opened.
///
/// # Errors
/// As [`found`], and what the system says.
pub fn replace(path: &Path, kind: Kind) -> io::Result<File> {
    match found(path, kind)? {
        Found::Stream => append(path),
        // The file stays the same one: it may be a link's target, or have rights of its own.
        Found::Empty | Found::Same => OpenOptions::new().write(true).truncate(true).open(path),
        // Whoever was faster keeps what is theirs.
        Found::Nothing if path.is_symlink() => {
            OpenOptions::new().write(true).create(true).truncate(false).open(path)
        }
        Found::Nothing => OpenOptions::new().write(true).create_new(true).open(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn only_the_same_kind_is_replaced() {
        let folder = std::env::temp_dir().join(format!("nvir-output-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let at = |name: &str| folder.join(name);
        let put = |name: &str, text: &str| fs::write(at(name), text).expect("written");
        put("photo", "\u{89}PNG");
        put("short", "trac");
        put("log", "nvir-vgpu log 1\n");
        put("recording", "trace 1\nchip f0\n");
        put("empty", "");
        for (name, kind) in [
            ("photo", Kind::Recording),
            ("photo", Kind::Log),
            ("short", Kind::Recording),
            ("log", Kind::Recording),
            ("recording", Kind::Log),
            ("recording", Kind::Faults),
        ] {
            let before = fs::read(at(name)).expect("there");
            let e = replace(&at(name), kind).expect_err(name);
            assert!(e.to_string().contains("it is left as it is"), "{e}");
            assert_eq!(fs::read(at(name)).expect("there"), before, "{name}");
        }
        assert!(replace(&folder, Kind::Log).is_err(), "a folder");
        assert!(found(&at("no/such"), Kind::Log).is_err(), "a folder that is missing");
        assert_eq!(found(&at("new"), Kind::Log).expect("may be made"), Found::Nothing);
        assert!(!at("new").exists(), "looking makes nothing");
        for (name, kind, is) in [
            ("log", Kind::Log, Found::Same),
            ("recording", Kind::Recording, Found::Same),
            ("empty", Kind::Faults, Found::Empty),
        ] {
            assert_eq!(found(&at(name), kind).expect(name), is);
            drop(replace(&at(name), kind).expect(name));
            assert_eq!(fs::metadata(at(name)).expect("there").len(), 0, "{name}");
        }
        assert_eq!(found(Path::new("/dev/null"), Kind::Log).expect("a device"), Found::Stream);
        drop(replace(Path::new("/dev/null"), Kind::Log).expect("written to"));
        std::os::unix::fs::symlink("target", at("link")).expect("a link");
        drop(replace(&at("link"), Kind::Log).expect("made"));
        assert!(at("target").is_file() && at("link").is_symlink());
        fs::remove_dir_all(&folder).expect("removed");
    }
}
