//! `--png`: pictures of the images that tests leave.

use crate::output;
use crate::report::{self, Class};
use crate::test::report::stem;
use nvir::{Chip, OptLevel};
use nvir_fixture::env::Env;
use nvir_fixture::format::Test;
use nvir_fixture::picture;
use nvir_fixture::run::Loaded;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Where pictures of images go, and whether all could be written.
pub(crate) struct Pictures<'a> {
    folder: Option<&'a Path>,
    failed: AtomicBool,
}

impl<'a> Pictures<'a> {
    pub(crate) fn new(folder: Option<&'a Path>) -> Pictures<'a> {
        Pictures { folder, failed: AtomicBool::new(false) }
    }

    /// Writes those of a test.
    pub(crate) fn write(&self, loaded: &Loaded, test: &Test, env: &Env, chip: Chip, level: Option<OptLevel>) {
        let Some(folder) = self.folder else { return };
        let stem = stem(&loaded.path);
        let level = level.map_or(String::new(), |l| format!("-O{l}"));
        let written = picture::of_test(test, env, loaded.folder()).and_then(|pictures| {
            std::fs::create_dir_all(folder).map_err(|e| output::unwritable(&e))?;
            pictures.iter().try_for_each(|p| {
                let name = format!("{stem}-{}-{chip}{level}-{}.png", test.name, p.name);
                // Names of tests are any text.
                let name: String = name
                    .chars()
                    .map(|c| if "/\\:".contains(c) || c.is_whitespace() { '_' } else { c })
                    .collect();
                let path = folder.join(name);
                let why = |e: String| format!("{}: {e}", path.display());
                output::write(&path, &p.png().map_err(why)?).map_err(|e| why(output::unwritable(&e)))
            })
        });
        if let Err(why) = written {
            self.failed.store(true, Ordering::Relaxed);
            report::error(Class::System, Some(folder), why);
        }
    }

    /// Whether none failed.
    pub(crate) fn all_written(&self) -> bool {
        !self.failed.load(Ordering::Relaxed)
    }
}
