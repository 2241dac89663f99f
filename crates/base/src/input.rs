//! Input files: reading them within bounds, what their names say, and the files below a folder.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The largest input that is read, in bytes. Devices and pipes may never end.
pub const MAX_BYTES: u64 = 256 << 20;

/// All bytes of a file, pipe or device; an error if there are more than [`MAX_BYTES`].
///
/// # Errors
/// Their text is [`why`]'s: the path is for the caller to say.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    File::open(path).and_then(read_from).map_err(|e| io::Error::new(e.kind(), why(&e)))
}

/// The same of a file that an input names, as a fixture does its source: it must be a regular one. Whoever runs others' inputs
/// has not chosen a pipe or device that is named there, and would wait for it without end.
///
/// # Errors
/// As [`read`].
pub fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    if path.metadata().is_ok_and(|m| !m.is_file() && !m.is_dir()) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "is not a regular file"));
    }
    read(path)
}

/// What is wrong with a file, in the words that every message about one has. `PATH: ` goes before
/// them.
pub fn why(e: &io::Error) -> String {
    match e.kind() {
        io::ErrorKind::NotFound => "file not found".into(),
        io::ErrorKind::IsADirectory => "is a folder, not a file".into(),
        // Without the number that the operating system has for it.
        _ => {
            let text = e.to_string();
            let text = text.split(" (os error ").next().unwrap_or(&text);
            let mut rest = text.chars();
            rest.next().map(|c| c.to_lowercase().chain(rest).collect()).unwrap_or_default()
        }
    }
}

/// The same of what is open already.
pub fn read_from(from: impl Read) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    from.take(MAX_BYTES + 1).read_to_end(&mut all)?;
    if all.len() as u64 > MAX_BYTES {
        let limit = format!("larger than {} MiB, the most that is read", MAX_BYTES >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, limit));
    }
    Ok(all)
}

/// `-`: standard input, or standard output.
pub fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}

/// A file's bytes, or standard input's for `-`.
///
/// # Errors
/// As [`read`].
pub fn read_any(path: &Path) -> io::Result<Vec<u8>> {
    if is_standard(path) { read_from(io::stdin().lock()) } else { read(path) }
}

/// A name for what has none of its own: the file's, without folder and ending.
pub fn stem(path: &Path) -> String {
    let stem = path.file_stem().and_then(|s| s.to_str()).unwrap_or("kernel");
    if stem == "-" { "kernel".to_string() } else { stem.to_string() }
}

/// Bytes as text. A byte order mark is no part of it.
pub fn text(bytes: &[u8]) -> Result<&str, String> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Err("not text in UTF-8: it begins like UTF-16".into());
    }
    std::str::from_utf8(bytes).map_err(|e| {
        let before = &bytes[..e.valid_up_to()];
        let line = before.iter().filter(|&&b| b == b'\n').count() + 1;
        format!("not text: byte {} (line {line}) is not valid UTF-8", e.valid_up_to())
    })
}

/// A file name's ending in lower case, without the dot.
pub fn ending(path: &Path) -> Option<String> {
    Some(path.extension()?.to_str()?.to_ascii_lowercase())
}

/// Whether a file name ends in one of these, in upper or lower case.
pub fn ends_in(path: &Path, endings: &[&str]) -> bool {
    ending(path).is_some_and(|e| endings.contains(&e.as_str()))
}

/// Files and folders that have been come to, by whatever path.
#[derive(Default)]
pub struct Seen(BTreeSet<PathBuf>);

impl Seen {
    /// Whether this is the first time.
    ///
    /// # Errors
    /// The file is gone.
    pub fn first(&mut self, path: &Path) -> io::Result<bool> {
        Ok(self.0.insert(path.canonicalize()?))
    }

    /// The same, without a note that it has been come to now.
    ///
    /// # Errors
    /// The file is gone.
    pub fn is_new(&self, path: &Path) -> io::Result<bool> {
        Ok(!self.0.contains(&path.canonicalize()?))
    }
}

/// Regular files below a folder that `wanted` accepts, in the order of their names: no pipes,
/// sockets or devices, which may never end. Links are followed, to each folder and file once.
///
/// # Errors
/// A folder cannot be read: which, and why.
pub fn walk(folder: &Path, wanted: &dyn Fn(&Path) -> bool, found: &mut Vec<PathBuf>) -> io::Result<()> {
    walk_new(folder, wanted, found, &mut Seen::default())
}

/// The same without what `seen` has from other folders.
///
/// # Errors
/// As [`walk`].
pub fn walk_new(
    folder: &Path,
    wanted: &dyn Fn(&Path) -> bool,
    found: &mut Vec<PathBuf>,
    seen: &mut Seen,
) -> io::Result<()> {
    if !seen.first(folder)? {
        return Ok(());
    }
    let named = |e: io::Error| io::Error::new(e.kind(), format!("{}: {}", folder.display(), why(&e)));
    let entries = std::fs::read_dir(folder).map_err(named)?;
    let mut entries: Vec<PathBuf> =
        entries.map(|e| e.map(|e| e.path())).collect::<io::Result<_>>().map_err(named)?;
    entries.sort();
    for e in entries {
        // A link that leads nowhere, or a file that went away since.
        let Ok(kind) = e.metadata().map(|m| m.file_type()) else { continue };
        if kind.is_dir() {
            walk_new(&e, wanted, found, seen)?;
        } else if kind.is_file() && wanted(&e) && seen.first(&e)? {
            found.push(e);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_ends_is_refused() {
        assert_eq!(read_from(&b"abc"[..]).unwrap(), b"abc");
        assert_eq!(read_from(io::repeat(7)).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }

    #[test]
    fn a_byte_order_mark_is_no_text() {
        assert_eq!(text(b"\xef\xbb\xbfCOMP"), Ok("COMP"));
        assert!(text(b"\xff\xfeC\0").unwrap_err().contains("UTF-16"));
        assert!(text(b"ab\ncd\xff").unwrap_err().contains("byte 5 (line 2)"));
    }

    #[test]
    fn only_regular_files_are_found_and_each_of_them_once() {
        let dir = std::env::temp_dir().join(format!("nvir-walk-{}", std::process::id()));
        std::fs::create_dir_all(dir.join("b")).unwrap();
        std::fs::write(dir.join("a.x"), "").unwrap();
        std::fs::write(dir.join("b/c.x"), "").unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(dir.join("s.x")).unwrap();
        for (to, name) in [("a.x", "z.x"), ("b", "y"), ("nowhere", "n.x"), (".", "here")] {
            std::os::unix::fs::symlink(to, dir.join(name)).unwrap();
        }
        let (mut found, mut seen) = (Vec::new(), Seen::default());
        walk_new(&dir, &|p| ends_in(p, &["x"]), &mut found, &mut seen).unwrap();
        assert_eq!(found, [dir.join("a.x"), dir.join("b/c.x")]);
        walk_new(&dir.join("b"), &|_| true, &mut found, &mut seen).unwrap();
        assert_eq!(found.len(), 2);
        std::fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn a_file_that_is_missing_has_one_wording() {
        let wrong = |path: &str| read(Path::new(path)).unwrap_err().to_string();
        assert_eq!(wrong("/nowhere/at/all"), "file not found");
        assert_eq!(wrong("/"), "is a folder, not a file");
        assert_eq!(wrong("/dev/null/x"), "not a directory");
    }

    #[test]
    fn what_an_input_names_must_be_a_regular_file() {
        let wrong = |path: &str| read_regular(Path::new(path)).unwrap_err().to_string();
        assert_eq!(wrong("/dev/zero"), "is not a regular file");
        assert_eq!(wrong("/nowhere/at/all"), "file not found");
        assert_eq!(wrong("/"), "is a folder, not a file");
    }

    #[test]
    fn endings_are_read_in_any_case() {
        assert!(ends_in(Path::new("a.TGSI"), &["tgsi", "nir"]));
        assert!(!ends_in(Path::new("tgsi"), &["tgsi"]));
    }
}
