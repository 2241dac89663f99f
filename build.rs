//! A number for the sources that this compiler is built from, for the keys of shader caches.

use std::path::{Path, PathBuf};

/// The library, and crates of the workspace whose facts decide what it emits. In a package of the library alone these are
/// missing: there Cargo's version says which they are.
const FOLDERS: [&str; 5] = ["src", "crates/base/src", "crates/hw/src", "crates/isa/src", "crates/asm/src"];

fn main() {
    let mut files = Vec::new();
    for folder in FOLDERS.into_iter().map(Path::new).filter(|folder| folder.exists()) {
        println!("cargo:rerun-if-changed={}", folder.display());
        find(folder, &mut files);
    }
    files.sort();
    // FNV-1a, 64 bits.
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for file in files {
        let text = std::fs::read(&file).unwrap_or_default();
        for byte in file.to_string_lossy().bytes().chain(text) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
    println!("cargo:rustc-env=NVIR_BUILD_ID={hash:016x}");
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { find(&path, files) } else { files.push(path) }
    }
}
