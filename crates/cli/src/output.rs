//! Results in files: whole or not at all.
//!
//! [`write`] writes to a temporary file in the same folder and renames it, so that a full disk, a signal or a reader that comes
//! too early finds the old file or the new one, never a part. Links are followed, permissions and owners kept. What is not a
//! regular file (a device, a pipe, `/dev/stdout`) is written to directly. [`distinct`] refuses, before anything is written,
//! results that would replace each other or an input.

use crate::{common, out};
use nvir::input::{self, is_standard};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, Ordering};

/// Where a path leads.
enum Target {
    /// Written to as it is.
    Direct,
    /// A regular file with its name and what is known of it, or one that is not there yet.
    File(PathBuf, Option<Metadata>),
}

impl Target {
    /// Follows links, also to what is not there yet.
    fn of(path: &Path) -> io::Result<Target> {
        const MOST_LINKS: usize = 40;
        if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            return Ok(Target::Direct);
        }
        let mut path = path.to_path_buf();
        for _ in 0..MOST_LINKS {
            let Some(name) = path.file_name().map(ToOwned::to_owned) else { return Ok(Target::Direct) };
            let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let folder = folder.canonicalize()?;
            // Open files of a process: what looks like a regular file there is somebody's standard output.
            if folder.starts_with("/proc") {
                return Ok(Target::Direct);
            }
            path = folder.join(name);
            match path.symlink_metadata() {
                Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Target::File(path, None)),
                Err(e) => return Err(e),
                Ok(m) if m.is_symlink() => path = folder.join(path.read_link()?),
                Ok(m) if m.is_file() => return Ok(Target::File(path, Some(m))),
                Ok(_) => return Ok(Target::Direct),
            }
        }
        Err(io::Error::other("too many links"))
    }
}

/// Writes a file: all of it, or nothing and an error.
///
/// # Errors
/// What the system says; the file is then as it was.
pub(crate) fn write(path: &Path, data: &[u8]) -> io::Result<()> {
    match Target::of(path)? {
        Target::File(path, old) => replace(&path, old.as_ref(), data),
        Target::Direct => directly(path, data),
    }
}

fn directly(path: &Path, data: &[u8]) -> io::Result<()> {
    let mut to = OpenOptions::new().write(true).create(true).truncate(true).open(path)?;
    to.write_all(data)?;
    to.flush()
}

fn replace(path: &Path, old: Option<&Metadata>, data: &[u8]) -> io::Result<()> {
    if old.is_some() {
        // A file that may not be written to is not replaced either.
        OpenOptions::new().write(true).open(path)?;
    }
    let (mut file, temporary) = match temporary(path.parent().unwrap_or(Path::new("/"))) {
        Ok(made) => made,
        // The file may be ours and the folder not.
        Err(e) if old.is_some() && e.kind() == ErrorKind::PermissionDenied => return directly(path, data),
        Err(e) => return Err(e),
    };
    let kept = old.map_or(Ok(()), |old| keep(&file, old));
    let written = match kept {
        // Somebody else's, which we may write to.
        Err(_) => directly(path, data),
        Ok(()) => {
            let done = file.write_all(data).and_then(|()| file.flush());
            let done = done.and_then(|()| fs::rename(&temporary, path));
            if done.is_ok() {
                return Ok(());
            }
            done
        }
    };
    let _ = fs::remove_file(&temporary);
    written
}

/// Gives a new file the owner and permissions of the one that it replaces.
fn keep(new: &File, old: &Metadata) -> io::Result<()> {
    let now = new.metadata()?;
    if (now.uid(), now.gid()) != (old.uid(), old.gid()) {
        std::os::unix::fs::fchown(new, Some(old.uid()), Some(old.gid()))?;
    }
    new.set_permissions(old.permissions())
}

/// A new file of no length in a folder. Its name does not depend on the result's, which may be as long as names can be.
fn temporary(folder: &Path) -> io::Result<(File, PathBuf)> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let name = format!(".nvir-{}-{}.tmp", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = folder.join(name);
        match File::create_new(&path) {
            Ok(file) => return Ok((file, path)),
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
        }
    }
}

/// Writes a result to a file, or to standard output where none is named or it is `-`.
pub(crate) fn put(path: Option<&Path>, data: &[u8]) -> ExitCode {
    let Some(path) = path.filter(|p| !is_standard(p)) else {
        out::stdout(data);
        return ExitCode::SUCCESS;
    };
    match write(path, data) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            // `-o /dev/stdout`, or a FIFO.
            out::quit_if_pipe_is_closed(&e);
            common::system(Some(path), unwritable(&e))
        }
    }
}

/// Why a result was not written.
pub(crate) fn unwritable(e: &io::Error) -> String {
    match e.kind() {
        ErrorKind::NotFound => "the folder does not exist".into(),
        _ => input::why(e),
    }
}

/// One file, whatever it is called.
#[derive(PartialEq, Eq)]
enum Identity {
    /// Device and inode.
    There(u64, u64),
    NotYet(PathBuf),
}

impl Identity {
    /// None for what is not a regular file, such as /dev/null: writing to it replaces nothing.
    fn of(path: &Path) -> Option<Identity> {
        if is_standard(path) {
            return None;
        }
        match Target::of(path) {
            Ok(Target::Direct) => None,
            Ok(Target::File(_, Some(m))) => Some(Identity::There(m.dev(), m.ino())),
            Ok(Target::File(path, None)) => Some(Identity::NotYet(path)),
            // In a folder that is not there yet.
            Err(_) => std::path::absolute(path).ok().map(Identity::NotYet),
        }
    }
}

/// Refuses results that would go to one file, and a result that would go to an input's, by whatever path or link.
pub(crate) fn distinct<'a>(
    outputs: impl IntoIterator<Item = (&'a Path, &'a Path)>,
    inputs: &[PathBuf],
) -> Result<(), ExitCode> {
    let inputs: Vec<_> = inputs.iter().filter_map(|i| Some((Identity::of(i)?, i))).collect();
    let mut taken: std::collections::BTreeMap<String, &Path> = Default::default();
    for (output, from) in outputs {
        let Some(own) = Identity::of(output) else { continue };
        if let Some((_, input)) = inputs.iter().find(|(other, _)| *other == own) {
            let why = format!("the output would replace the input `{}`", input.display());
            return Err(common::usage_of(output, why));
        }
        let key = match &own {
            Identity::There(dev, ino) => format!("{dev} {ino}"),
            Identity::NotYet(path) => format!("{path:?}"),
        };
        if let Some(other) = taken.insert(key, from) {
            let why =
                format!("the results of `{}` and `{}` would have this name", other.display(), from.display());
            return Err(common::usage_of(output, why));
        }
    }
    Ok(())
}

/// The same of a command with one result.
pub(crate) fn not_an_input(output: Option<&Path>, inputs: &[PathBuf]) -> Result<(), ExitCode> {
    distinct(output.map(|o| (o, o)), inputs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn folder(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("nvir-output-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        dir
    }

    fn names(dir: &Path) -> Vec<String> {
        let mut all: Vec<_> =
            fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        all.sort();
        all
    }

    #[test]
    fn links_and_permissions_stay() {
        let dir = folder("links");
        let (real, link, dangling) = (dir.join("real"), dir.join("link"), dir.join("dangling"));
        fs::write(&real, "old").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o741)).unwrap();
        symlink("real", &link).unwrap();
        symlink("later", &dangling).unwrap();
        write(&link, b"new").unwrap();
        write(&dangling, b"there").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&real).unwrap(), b"new");
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o741);
        assert_eq!(fs::read(dir.join("later")).unwrap(), b"there");
        assert_eq!(names(&dir), ["dangling", "later", "link", "real"]);
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn what_cannot_be_written_leaves_nothing_behind() {
        let dir = folder("wrong");
        symlink("round", dir.join("round")).unwrap();
        for wrong in ["none/there", ".", "round"] {
            assert!(write(&dir.join(wrong), b"x").is_err(), "{wrong}");
        }
        assert_eq!(names(&dir), ["round"]);
        assert!(write(Path::new("/dev/full"), b"x").is_err());
        write(Path::new("/dev/null"), b"x").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn one_file_is_known_by_all_its_names() {
        let dir = folder("names");
        let at = |name: &str| dir.join(name);
        fs::write(at("a"), "").unwrap();
        fs::hard_link(at("a"), at("hard")).unwrap();
        symlink("a", at("soft")).unwrap();
        symlink("new", at("to-new")).unwrap();
        for (one, two, same) in [
            ("a", "hard", true),
            ("a", "./soft", true),
            ("new", "to-new", true),
            ("new", "newer", false),
            ("a", "new", false),
        ] {
            assert_eq!(Identity::of(&at(one)) == Identity::of(&at(two)), same, "{one} {two}");
        }
        assert!(Identity::of(Path::new("/dev/null")).is_none());
        fs::remove_dir_all(&dir).unwrap();
    }
}
