//! Fixtures through the driver: on the virtual GPU in the process, and through the render node that `nvir gpu` shows.

use std::path::Path;
use std::process::Command;

fn nvir(arguments: &[&str]) -> (Option<i32>, String, String) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let ran = Command::new(env!("CARGO_BIN_EXE_nvir")).args(arguments).current_dir(root).output();
    let ran = ran.expect("the program starts");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (ran.status.code(), text(ran.stdout), text(ran.stderr))
}

/// Fixtures in a folder itself: those of graphics stages lie in one below.
fn kernels(folder: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let entries = std::fs::read_dir(root.join(folder)).expect("part of the project");
    let names = entries.map(|e| format!("{folder}/{}", e.expect("readable").file_name().to_string_lossy()));
    names.filter(|n| n.ends_with(".toml") || n.ends_with(".json")).collect()
}

/// The last line counts.
fn last(out: &str) -> &str {
    out.lines().last().unwrap_or("")
}

#[test]
fn every_fixture_gives_through_the_driver_what_it_gives_in_the_emulator() {
    for folder in ["tgsi", "nir-fixtures"] {
        let files = kernels(folder);
        let with = |arguments: &[&str]| {
            nvir(&arguments.iter().copied().chain(files.iter().map(String::as_str)).collect::<Vec<_>>())
        };
        let (_, emulator, _) = with(&["test", "-q"]);
        let (code, driver, _) = with(&["test", "-q", "--device", "virtual"]);
        assert_eq!(code, Some(0), "{driver}");
        assert_eq!(last(&driver), last(&emulator));
        assert!(last(&driver).contains(" 0 failed") && !last(&driver).starts_with("0 "), "{driver}");
    }
}

/// The driver launches kernels, and draws nothing.
#[test]
fn graphics_stages_are_skipped_on_a_device() {
    let (code, out, _) = nvir(&["test", "-q", "--device", "virtual", "tgsi/graphics"]);
    assert_eq!(code, Some(0), "{out}");
    assert!(last(&out).starts_with("0 passed, 0 failed, ") && !last(&out).contains(" 0 skipped"), "{out}");
}

#[test]
fn a_fault_on_a_device_is_told_with_its_place() {
    let (code, out, _) =
        nvir(&["run", "--device", "virtual", "-t", "gk104", "crates/cli/tests/data/fault.toml"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.starts_with("FAILED gk104 wild: ") && out.contains("0x10"), "{out}");
}

#[test]
fn devices_that_are_not_there_are_refused_by_name() {
    for (device, why) in [
        ("vrtual", "neither `virtual` nor a path"),
        ("/dev/dri/renderD999", "/dev/dri/renderD999: No such file"),
        ("/dev/null", "/dev/null: VERSION: "),
    ] {
        let (code, out, err) = nvir(&["run", "--device", device, "tgsi/get-num-groups.toml"]);
        assert_eq!(code, Some(2), "{out}{err}");
        assert!(err.contains(why), "{err}");
    }
    let (code, _, err) = nvir(&["run", "--device", "virtual", "--trace", "tgsi/get-num-groups.toml"]);
    assert_eq!((code, err.contains("--trace and --profile are the emulator's")), (Some(2), true), "{err}");
}

/// The kernel driver's calls, all of them, on the virtual card that is shown to programs.
#[test]
fn fixtures_run_through_a_render_node() {
    let program = env!("CARGO_BIN_EXE_nvir");
    for chip in ["gf100", "gk104", "gk110"] {
        let (_, listed, err) = nvir(&["gpu", "-t", chip, "--", program, "devices"]);
        assert_eq!(listed, format!("virtual gf100 gk104 gk110\n/dev/dri/renderD128 {chip}\n"), "{err}");
        let run = [
            "gpu",
            "-t",
            chip,
            "--",
            program,
            "test",
            "-q",
            "--device",
            "/dev/dri/renderD128",
            "nir-fixtures",
        ];
        let (code, out, err) = nvir(&run);
        assert_eq!(code, Some(0), "{out}{err}");
        assert!(last(&out).contains(" 0 failed") && !last(&out).starts_with("0 "), "{out}");
    }
}
