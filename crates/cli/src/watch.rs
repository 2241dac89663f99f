//! `--watch`, and what `explore --serve` looks at: files, whose changes are seen however an editor saves them.
//!
//! Files are looked at by name, several times a second, so one that is replaced by another of its name (how most editors save)
//! has changed, and one that is away for a moment is not forgotten.

use crate::common;
use crate::out::errln;
use nvir::input;
use nvir_fixture::Fixture;
use nvir_fixture::format::Data;
use std::collections::BTreeSet;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

/// How often files are looked at.
const LOOK: Duration = Duration::from_millis(150);

/// What is known of a file without reading it: a file saved under another name and renamed is another inode.
type Stamp = Option<(u64, u64, Option<SystemTime>)>;

/// Files, as they were when they were last looked at.
pub(crate) struct Watch {
    files: Vec<(PathBuf, Stamp)>,
}

fn stamp(path: &Path) -> Stamp {
    let of = |m: Metadata| (m.ino(), m.len(), m.modified().ok());
    std::fs::metadata(path).ok().map(of)
}

impl Watch {
    /// Looks at files for the first time.
    pub(crate) fn new(mut files: Vec<PathBuf>) -> Watch {
        files.sort();
        files.dedup();
        Watch { files: files.into_iter().map(|f| (stamp(&f), f)).map(|(s, f)| (f, s)).collect() }
    }

    /// Whether any of the files is there.
    pub(crate) fn any(&self) -> bool {
        self.files.iter().any(|(_, s)| s.is_some())
    }

    /// Those of another list that are not in this one.
    fn appeared(&self, next: &Watch) -> BTreeSet<PathBuf> {
        let known = |f: &Path| self.files.binary_search_by(|(name, _)| name.as_path().cmp(f)).is_ok();
        next.files.iter().map(|(f, _)| f).filter(|f| !known(f.as_path())).cloned().collect()
    }

    /// Those that are not as they were.
    fn changed(&self) -> Vec<PathBuf> {
        self.files.iter().filter(|(f, s)| stamp(f) != *s).map(|(f, _)| f.clone()).collect()
    }

    /// Waits until a file changes, and for a moment longer until nothing more does: an editor may write in several steps.
    /// Gives those that changed.
    pub(crate) fn wait(&self) -> Vec<PathBuf> {
        loop {
            std::thread::sleep(LOOK);
            if self.changed().is_empty() {
                continue;
            }
            for _ in 0..4 {
                let now = Watch::new(self.files.iter().map(|(f, _)| f.clone()).collect());
                std::thread::sleep(LOOK / 3);
                if now.changed().is_empty() {
                    break;
                }
            }
            let changed = self.changed();
            // A file may be as it was again: one that was renamed away and back.
            if !changed.is_empty() {
                return changed;
            }
        }
    }
}

/// The files that a fixture is made of, as far as it can be read: itself, its source, and those with contents. Any other file is
/// made of itself.
pub(crate) fn inputs(path: &Path) -> Vec<PathBuf> {
    let mut all = vec![path.to_path_buf()];
    if !Fixture::may_be(path) {
        return all;
    }
    let Ok(fixture) = Fixture::read(path) else { return all };
    let folder = path.parent().unwrap_or(Path::new(""));
    all.push(folder.join(&fixture.source));
    for test in &fixture.tests {
        let buffers = test.buffers.values().flat_map(|b| [&b.init, &b.expect]);
        let images = test.images.values().flat_map(|i| [&i.init, &i.expect]);
        all.extend(buffers.chain(images).filter_map(|data| match data {
            Some(Data::File(file)) => Some(folder.join(file)),
            _ => None,
        }));
    }
    all
}

/// The fixtures below paths with the files that they are made of, and the folders, in which others may appear.
pub(crate) fn below(paths: &[PathBuf]) -> Vec<PathBuf> {
    let mut fixtures = Vec::new();
    let mut folders = Vec::new();
    for path in paths {
        if path.is_dir() {
            // What cannot be read is reported by who runs it.
            let _ = input::walk(path, &Fixture::may_be, &mut fixtures);
            below_folder(path, &mut folders, &mut BTreeSet::new());
        } else {
            fixtures.push(path.clone());
        }
    }
    folders.into_iter().chain(fixtures.iter().flat_map(|f| inputs(f))).collect()
}

fn below_folder(folder: &Path, found: &mut Vec<PathBuf>, seen: &mut BTreeSet<PathBuf>) {
    if !folder.canonicalize().is_ok_and(|f| seen.insert(f)) {
        return;
    }
    found.push(folder.to_path_buf());
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|e| e.path()).filter(|e| e.is_dir()).for_each(|e| below_folder(&e, found, seen));
}

/// Runs a command once, or with `--watch` again whenever a file changes, until Ctrl-C ends the program. `files` are those that
/// the next round reads; each round but the first begins with a line on standard error.
pub(crate) fn rounds(
    watch: bool,
    files: impl Fn() -> Vec<PathBuf>,
    mut round: impl FnMut() -> ExitCode,
) -> ExitCode {
    if !watch {
        return round();
    }
    let mut watched = Watch::new(files());
    if watched.files.iter().any(|(f, _)| f == Path::new("-")) {
        return common::usage("--watch: standard input cannot be watched");
    }
    let first = round();
    // What is wrong with the command line stays wrong.
    if first == ExitCode::from(2) || !watched.any() {
        return first;
    }
    loop {
        let changed = watched.wait();
        let next = Watch::new(files());
        let mut names: BTreeSet<PathBuf> = changed.into_iter().filter(|f| !f.is_dir()).collect();
        // A folder changes with every file in it, also with those that nobody reads.
        if names.is_empty() {
            names = watched.appeared(&next);
        }
        watched = next;
        if !names.is_empty() {
            let names: Vec<String> = names.iter().map(|f| f.display().to_string()).collect();
            errln!("--- changed: {}", names.join(", "));
            round();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_replaced_by_an_equal_one_has_changed() {
        let dir = std::env::temp_dir().join(format!("nvir-watch-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a folder");
        let (a, b, gone) = (dir.join("a"), dir.join("b"), dir.join("gone"));
        std::fs::write(&a, "x").expect("written");
        let watch = Watch::new(vec![gone.clone(), a.clone(), a.clone()]);
        assert!(watch.any() && watch.changed().is_empty());
        assert!(!Watch::new(vec![gone]).any());
        std::fs::write(&b, "x").expect("written");
        let times = std::fs::metadata(&a).and_then(|m| m.modified()).expect("a time");
        std::fs::File::options().write(true).open(&b).and_then(|f| f.set_modified(times)).expect("set");
        std::fs::rename(&b, &a).expect("renamed");
        assert_eq!(watch.changed(), std::slice::from_ref(&a));
        std::fs::remove_dir_all(&dir).expect("removed");
        assert_eq!(watch.changed(), [a]);
    }
}
