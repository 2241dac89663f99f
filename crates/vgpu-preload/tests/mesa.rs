//! Mesa's own driver on the virtual GPU: the client in `examples/gl_client` compares what it gets, on each chip.
//!
//! Skips, and says so, where Mesa with its nouveau driver is not installed.

use libtest_mimic::{Arguments, Failed, Trial};
use std::path::{Path, PathBuf};
use std::process::Command;

const CHIPS: [&str; 3] = ["c0", "e4", "f0"];

/// Where distributions have Mesa's drivers.
const DRIVERS: [&str; 4] =
    ["/usr/lib/x86_64-linux-gnu/dri", "/usr/lib/aarch64-linux-gnu/dri", "/usr/lib64/dri", "/usr/lib/dri"];

/// The folder of this build: with the library and the client in it.
fn build() -> PathBuf {
    let me = std::env::current_exe().unwrap();
    me.ancestors().nth(2).unwrap().to_path_buf()
}

/// The newest of a file's places in the build.
fn newest(places: &[&str]) -> Option<PathBuf> {
    let age = |p: &PathBuf| p.metadata().and_then(|m| m.modified()).ok();
    places.iter().map(|p| build().join(p)).filter(|p| p.is_file()).max_by_key(age)
}

/// Runs the client's rows on a chip.
fn client(chip: &str, variables: &[(&str, &str)]) -> Result<(), Failed> {
    let library =
        newest(&["libnvir_vgpu.so", "deps/libnvir_vgpu.so"]).ok_or("there is no libnvir_vgpu.so")?;
    let client = newest(&["examples/gl_client"]).ok_or("there is no gl_client")?;
    let mut command = Command::new(client);
    command.env("LD_PRELOAD", library).env("NOUVEAU_CHIPSET", chip).env("MESA_SHADER_CACHE_DISABLE", "true");
    command.envs(variables.iter().copied());
    let out = command.output().map_err(|e| e.to_string())?;
    let text = String::from_utf8_lossy(&out.stdout);
    if out.status.success() && text.to_ascii_lowercase().contains(&format!("| nv{chip} |")) {
        return Ok(());
    }
    Err(format!("{}\n{text}{}", out.status, String::from_utf8_lossy(&out.stderr)).into())
}

fn main() {
    let arguments = Arguments::from_args();
    let driver = DRIVERS.iter().any(|d| Path::new(d).join("nouveau_dri.so").exists());
    if !driver {
        eprintln!(
            "SKIPPED: there is no nouveau_dri.so: install Mesa (Debian: libegl1 libgl1-mesa-dri) to run these tests"
        );
    }
    let trials = CHIPS.map(|chip| Trial::test(format!("client_{chip}"), move || client(chip, &[])));
    libtest_mimic::run(&arguments, trials.map(|t| t.with_ignored_flag(!driver)).into()).exit();
}
