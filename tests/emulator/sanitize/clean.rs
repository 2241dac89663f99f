//! Fixtures of the project under the sanitizer.

use super::{WAYS, settings};
use nvir::compiler::Sanitize;
use nvir::input;
use nvir_fixture::run::{Loaded, Outcome};
use std::path::Path;

#[test]
fn every_fixture_of_a_kernel_has_the_same_values_and_no_fault() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for folder in ["tgsi", "nir-fixtures"] {
        input::walk(&root.join(folder), &|f| input::ends_in(f, &["toml", "json"]), &mut files)
            .expect("readable");
    }
    // Stages have no sanitizer.
    files.retain(|f| !f.components().any(|c| c.as_os_str() == "graphics"));
    assert!(files.len() >= 16, "only {} fixtures found", files.len());
    for way in WAYS {
        let settings = settings(way, Sanitize::ALL);
        for file in &files {
            let loaded = Loaded::read(file).unwrap_or_else(|e| panic!("{e}"));
            for chip in loaded.chips().expect("chips") {
                for r in loaded.run(chip, None, &settings, &mut None, |_, _| ()) {
                    if let Outcome::Failed(why) = r.outcome {
                        panic!("{} {chip} {way:?}, {}: {why}", file.display(), r.name);
                    }
                }
            }
        }
    }
}
