//! The library that makes a program see the card. It is a part of this program, and is written to a private folder of the
//! user's when it is first needed, from where the dynamic linker loads it.

use nvir_vgpu_embed::library;
use std::env;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The library, and a hash of it.
static LIBRARY: (&[u8], &str) = library!();

/// Libraries of other builds that are older are removed.
const OLD: Duration = Duration::from_secs(30 * 24 * 3600);

/// The library's file.
pub(super) fn unpacked() -> Result<PathBuf, String> {
    let (bytes, hash) = LIBRARY;
    if bytes.is_empty() {
        return Err("this build of nvir has no virtual GPU for programs: it needs Linux with glibc".into());
    }
    unpack(&folders(), &format!("libnvir_vgpu-{hash}.so"), bytes)
}

/// Where to try, in order.
fn folders() -> Vec<PathBuf> {
    let variable = |name: &str| env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let cache = variable("XDG_CACHE_HOME").or_else(|| variable("HOME").map(|home| home.join(".cache")));
    let own = format!("nvir-{}", user());
    let mut all: Vec<PathBuf> =
        [cache, variable("XDG_RUNTIME_DIR")].into_iter().flatten().map(|p| p.join("nvir")).collect();
    all.push(env::temp_dir().join(own));
    all
}

fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The file in the first folder that will do.
fn unpack(folders: &[PathBuf], name: &str, bytes: &[u8]) -> Result<PathBuf, String> {
    let mut wrong = String::new();
    for folder in folders {
        match unpack_in(folder, name, bytes) {
            Ok(path) => return Ok(path),
            Err(e) => wrong += &format!("\n  {}: {e}", folder.display()),
        }
    }
    Err(format!("the virtual GPU's library cannot be written to a private folder:{wrong}"))
}

fn unpack_in(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<PathBuf> {
    // The dynamic linker has no way to quote them.
    if folder.as_os_str().as_encoded_bytes().iter().any(|b| b": \t\n".contains(b)) {
        return Err(io::Error::other("LD_PRELOAD cannot hold a path with a colon or a space"));
    }
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent)?;
    }
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
        other => other?,
    }
    private(folder, fs::Metadata::is_dir)?;
    let path = folder.join(name);
    // Whoever else writes it writes the same, and it gets its name when it is whole.
    if private(&path, fs::Metadata::is_file).is_ok() && fs::read(&path).is_ok_and(|there| there == bytes) {
        return Ok(path);
    }
    let new = folder.join(format!(".{name}.{}", std::process::id()));
    let _ = fs::remove_file(&new);
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&new)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| fs::rename(&new, &path));
    if let Err(e) = written {
        let _ = fs::remove_file(&new);
        return Err(e);
    }
    remove_old(folder, name);
    Ok(path)
}

/// Nobody but this user may have written it, or may write it.
fn private(path: &Path, kind: fn(&fs::Metadata) -> bool) -> io::Result<()> {
    let metadata = fs::symlink_metadata(path)?;
    match metadata {
        m if !kind(&m) => Err(io::Error::other("something else has this name")),
        m if m.uid() != user() => Err(io::Error::other("it belongs to another user")),
        m if m.mode() & 0o022 != 0 => Err(io::Error::other("others may write to it")),
        _ => Ok(()),
    }
}

/// Removes what other builds left long ago.
fn remove_old(folder: &Path, name: &str) {
    let ours =
        |n: &OsStr| n.to_string_lossy().trim_start_matches('.').starts_with("libnvir_vgpu-") && n != name;
    for entry in fs::read_dir(folder).into_iter().flatten().flatten().filter(|e| ours(&e.file_name())) {
        let age = entry.metadata().and_then(|m| m.modified()).ok().and_then(|m| m.elapsed().ok());
        if age.is_some_and(|age| age > OLD) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn only_private_folders_are_used() {
        let base = env::temp_dir().join(format!("nvir-unpack-{}", std::process::id()));
        let at = |name: &str| base.join(name);
        let unpack = |name: &str| unpack(&[at(name)], "libnvir_vgpu-1.so", b"bytes");
        fs::create_dir_all(at("open")).expect("a folder");
        fs::set_permissions(at("open"), fs::Permissions::from_mode(0o777)).expect("changed");
        fs::write(at("file"), "").expect("written");
        symlink(&base, at("link")).expect("a link");
        for (name, why) in [
            ("open", "others may write to it"),
            ("file", "something else has this name"),
            ("link", "something else has this name"),
            ("a b", "a colon or a space"),
            ("a:b", "a colon or a space"),
        ] {
            let e = unpack(name).expect_err(name);
            assert!(e.contains(why), "{name}: {e}");
        }
        assert!(!at("a b").exists() && fs::read_dir(at("open")).expect("there").next().is_none());
        // The next folder does.
        let path =
            super::unpack(&[at("open"), at("new/deep")], "libnvir_vgpu-1.so", b"bytes").expect("unpacked");
        assert_eq!(
            (path.as_path(), fs::read(&path).expect("there").as_slice()),
            (&*at("new/deep/libnvir_vgpu-1.so"), &b"bytes"[..])
        );
        assert_eq!(fs::metadata(at("new/deep")).expect("there").mode() & 0o777, 0o700);
        // What is there is used if it is right, and else replaced.
        let inode = || fs::metadata(&path).expect("there").ino();
        let before = inode();
        unpack("new/deep").expect("there");
        assert_eq!(inode(), before);
        fs::write(&path, "other").expect("written");
        unpack("new/deep").expect("unpacked");
        assert_eq!(fs::read(&path).expect("there"), b"bytes");
        assert_eq!(fs::read_dir(at("new/deep")).expect("there").count(), 1);
        fs::remove_dir_all(&base).expect("removed");
    }

    #[test]
    fn the_library_is_in_the_program() {
        if cfg!(all(target_os = "linux", target_env = "gnu")) {
            assert!(LIBRARY.0.starts_with(b"\x7fELF") && LIBRARY.1.len() == 16, "{} bytes", LIBRARY.0.len());
        }
    }
}
