//! The commit that the program is built from, for `--version`. Outside a repository, or without git, there is none.

use std::path::Path;
use std::process::Command;

fn git(args: &[&str]) -> Option<String> {
    let ran = Command::new("git").args(args).output().ok()?;
    let text = ran.status.success().then(|| String::from_utf8(ran.stdout).ok())??;
    Some(text.trim().to_string()).filter(|t| !t.is_empty())
}

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // Another repository around an unpacked archive has nothing to say.
    let ours = git(&["ls-files", "--error-unmatch", "build.rs"]).is_some();
    let commit = git(&["rev-parse", "--short=12", "HEAD"]).filter(|_| ours);
    let date = git(&["show", "-s", "--format=%cs", "HEAD"]).filter(|_| ours);
    let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let version = match (commit, date) {
        (Some(commit), Some(date)) => format!("{version} ({commit} {date})"),
        _ => version,
    };
    println!("cargo:rustc-env=NVIR_VERSION={version}");
    // A commit changes one of these; files that are not there would make every build start again.
    for file in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", file]).filter(|p| Path::new(p).exists()) {
            println!("cargo:rerun-if-changed={path}");
        }
    }
}
