//! `library!()`: the bytes of `libnvir_vgpu.so`, which Cargo has built before the crate that asks, since that depends on
//! `nvir-vgpu-preload`.
//!
//! Cargo installs programs and no libraries, and on stable toolchains it tells nobody where a cdylib of a dependency is. But
//! it tells rustc in which folders dependencies are (`-L dependency=`), and the library is in one of them. A build script
//! would not do: it runs before dependencies are built.

use proc_macro::{Group, Literal, Punct, Spacing, TokenStream, TokenTree};
use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The library as `(b"...", "0123456789abcdef")`: what a loader needs of it, and a hash of that. Both are empty where nothing
/// is linked, as in `cargo check`, and on systems that the library is not for.
#[proc_macro]
pub fn library(_: TokenStream) -> TokenStream {
    let bytes = newest(&folders(std::env::args_os())).and_then(|p| fs::read(p).ok()).unwrap_or_default();
    let bytes = loadable(bytes);
    let mut hash = DefaultHasher::new();
    bytes.hash(&mut hash);
    let hash = if bytes.is_empty() { String::new() } else { format!("{:016x}", hash.finish()) };
    let inner: TokenStream = [
        TokenTree::from(Literal::byte_string(&bytes)),
        Punct::new(',', Spacing::Alone).into(),
        Literal::string(&hash).into(),
    ]
    .into_iter()
    .collect();
    TokenTree::from(Group::new(proc_macro::Delimiter::Parenthesis, inner)).into()
}

/// Where rustc looks for dependencies, by its arguments.
fn folders(mut args: impl Iterator<Item = OsString>) -> Vec<PathBuf> {
    let mut found = Vec::new();
    while let Some(arg) = args.next() {
        let Some(arg) = arg.to_str().map(str::to_string) else { continue };
        let value = if arg == "-L" { args.next() } else { arg.strip_prefix("-L").map(OsString::from) };
        let value = value.and_then(|v| Some(v.to_str()?.strip_prefix("dependency=")?.to_string()));
        found.extend(value.map(PathBuf::from));
    }
    found
}

/// The library's file. Of a package that does not lie in a folder of this machine's (`cargo install --git`), Cargo adds a
/// hash to the name.
fn newest(folders: &[PathBuf]) -> Option<PathBuf> {
    let is_library = |p: &Path| {
        let name = p.file_name().and_then(|n| n.to_str()).unwrap_or_default();
        let rest = name.strip_prefix("libnvir_vgpu").and_then(|rest| rest.strip_suffix(".so"));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    let age = |p: &PathBuf| p.metadata().and_then(|m| m.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    let entries = folders.iter().filter_map(|f| fs::read_dir(f).ok()).flatten().flatten().map(|e| e.path());
    entries.filter(|p| is_library(p)).max_by_key(age)
}

/// An ELF library without what no loader reads, as `strip` leaves it: what lies behind all segments (sections of debuggers),
/// and the table of sections. What is not a 64-bit little-endian ELF file stays.
fn loadable(mut bytes: Vec<u8>) -> Vec<u8> {
    if let Some(end) = end_of_segments(&bytes) {
        bytes.truncate(end);
        // Offset of the section headers, their size and number, and the index of their names.
        bytes[40..48].fill(0);
        bytes[58..64].fill(0);
    }
    bytes
}

/// Where the last byte of a segment lies in the file, plus one.
fn end_of_segments(elf: &[u8]) -> Option<usize> {
    let number = |at: usize, size: usize| -> Option<usize> {
        let bytes = elf.get(at..at.checked_add(size)?)?;
        usize::try_from(bytes.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b))).ok()
    };
    if !elf.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let (table, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
    let mut end = 64;
    for i in 0..count {
        let header = table.checked_add(i * size)?;
        end = end.max(number(header + 8, 8)?.checked_add(number(header + 32, 8)?)?);
        end = end.max(header + size);
    }
    (end <= elf.len()).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_dependencies_are_found_among_arguments() {
        let args =
            ["rustc", "-L", "dependency=/a", "-L", "native=/b", "-Ldependency=/c d", "--extern", "x=/e"];
        assert_eq!(folders(args.iter().map(OsString::from)), ["/a", "/c d"].map(PathBuf::from));
        assert_eq!(folders(["rustc", "-L"].iter().map(OsString::from)), Vec::<PathBuf>::new());
    }

    #[test]
    fn a_library_keeps_its_segments_and_nothing_else() {
        let mut elf = vec![0u8; 200];
        elf[..6].copy_from_slice(b"\x7fELF\x02\x01");
        elf[32] = 64; // one program header
        elf[54] = 56;
        elf[56] = 1;
        elf[64 + 8] = 100; // of 50 bytes at 100
        elf[64 + 32] = 50;
        elf[40] = 160; // section headers
        elf[60] = 1;
        let short = loadable(elf.clone());
        assert_eq!((short.len(), short[40], short[60]), (150, 0, 0));
        // A segment that ends behind the file, and what is not a library, stay as they are.
        elf[64 + 32] = 101;
        assert_eq!(loadable(elf.clone()), elf);
        assert_eq!(loadable(b"\x7fELF".to_vec()), b"\x7fELF");
        assert_eq!(loadable(Vec::new()), b"");
    }
}
