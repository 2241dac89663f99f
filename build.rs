//! A number for the sources that this compiler is built from, for the keys of shader caches.

use std::path::{Path, PathBuf};

fn main() {
    println!("cargo:rerun-if-changed=src");
    let mut files = Vec::new();
    find(Path::new("src"), &mut files);
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
