//! Input files: reading them within bounds, what their names say, and the files below a folder.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The largest input that is read, in bytes. Devices and pipes may never end.
pub const MAX_BYTES: u64 = 256 << 20;

/// All bytes of a file, pipe or device; an error if there are more than [`MAX_BYTES`].
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_from(File::open(path)?)
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

/// Bytes as text. A byte order mark is no part of it.
pub fn text(bytes: &[u8]) -> Result<&str, String> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Err("not text in UTF-8: it begins like UTF-16".into());
    }
    std::str::from_utf8(bytes).map_err(|e| {
        let before = &bytes[..e.valid_up_to()];
        let line = before.iter().filter(|&&b| b == b'\n').count() + 1;
        format!("not text: byte {} (line {line}) is no UTF-8", e.valid_up_to())
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

/// Files below a folder that `wanted` accepts, in the order of their names. Links are followed, into each folder once.
pub fn walk(folder: &Path, wanted: &dyn Fn(&Path) -> bool, found: &mut Vec<PathBuf>) -> io::Result<()> {
    into(folder, wanted, found, &mut BTreeSet::new())
}

fn into(
    folder: &Path,
    wanted: &dyn Fn(&Path) -> bool,
    found: &mut Vec<PathBuf>,
    seen: &mut BTreeSet<PathBuf>,
) -> io::Result<()> {
    if !seen.insert(folder.canonicalize()?) {
        return Ok(());
    }
    let named = |e: io::Error| io::Error::new(e.kind(), format!("{}: {e}", folder.display()));
    let entries = std::fs::read_dir(folder).map_err(named)?;
    let mut entries: Vec<PathBuf> =
        entries.map(|e| e.map(|e| e.path())).collect::<io::Result<_>>().map_err(named)?;
    entries.sort();
    for e in entries {
        if e.is_dir() {
            into(&e, wanted, found, seen)?;
        } else if wanted(&e) {
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
    fn endings_are_read_in_any_case() {
        assert!(ends_in(Path::new("a.TGSI"), &["tgsi", "nir"]));
        assert!(!ends_in(Path::new("tgsi"), &["tgsi"]));
    }
}
