//! Recordings of the repository as frames.

use nvir_frame::{COMMANDS, Frame};
use std::path::{Path, PathBuf};

/// Recordings of scenes, by name and chip: Mesa drew them on the virtual GPU.
pub(crate) fn scenes() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vgpu/tests/recordings/scenes");
    let entries = std::fs::read_dir(folder).expect("recordings").map(|e| e.expect("an entry").path());
    let mut all: Vec<PathBuf> = entries.filter(|p| p.extension().is_some_and(|e| e == "trace")).collect();
    all.sort();
    assert!(all.len() > 30);
    all
}

pub(crate) fn scene(name: &str) -> PathBuf {
    scenes().into_iter().find(|p| p.ends_with(name)).expect("a scene")
}

pub(crate) fn frame(path: impl Into<PathBuf>) -> Frame {
    Frame {
        path: path.into(),
        first: 0,
        count: COMMANDS,
        pixels: Vec::new(),
        engine: None,
        profile: false,
        samples: false,
        top_first: false,
        version: "1".into(),
    }
}
