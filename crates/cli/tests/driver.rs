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

/// Why a test of a stage says nothing on a device: what no pipeline shows.
const UNSEEN: [&str; 4] = [
    "programs that read the framebuffer on gf100",
    "no vertex program writes PCOORD of a triangle",
    "patch 0 has levels for which the tessellator makes nothing of it",
    "the tessellator makes no point (0.25, 0.5) of patch 0",
];

#[test]
fn graphics_stages_give_in_a_pipeline_what_they_give_alone() {
    for (folder, least) in
        [("tgsi/graphics", 125), ("nir-fixtures/graphics", 80), ("spirv-fixtures/graphics", 140)]
    {
        let (code, out, _) = nvir(&["test", "--json", "--device", "virtual", folder]);
        let json: serde_json::Value = serde_json::from_str(&out).expect("JSON");
        let tests = json["tests"].as_array().expect("a list");
        let wrong: Vec<_> =
            tests.iter().filter(|t| t["ok"] != true).map(|t| (&t["name"], &t["message"])).collect();
        assert!(code == Some(0) && wrong.is_empty(), "{folder}: {wrong:#?}");
        let skipped = tests.iter().filter(|t| t["result"] == "skipped");
        let why: Vec<&str> = skipped.filter_map(|t| t["message"].as_str()).collect();
        assert!(why.iter().all(|w| w.is_empty() || UNSEEN.contains(w)), "{folder}: {why:?}");
        assert!(json["passed"].as_u64() >= Some(least), "{folder}: {}", json["passed"]);
    }
    let (_, out, _) =
        nvir(&["test", "--device", "virtual", "-t", "gk104", "tgsi/graphics/fs-point-coord.toml"]);
    assert!(out.starts_with("skipped fs-point-coord/sprite gk104: no vertex program writes PCOORD"), "{out}");
}

/// A stage of each kind with one expected value that is not there.
#[test]
fn a_wrong_value_of_a_stage_is_seen_in_the_pipeline() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wrong-stages");
    std::fs::create_dir_all(&folder).expect("a folder");
    let mut seen = 0;
    for (name, path) in [
        ("vs-branchy", &["GENERIC[0]"][..]),
        ("gs-invocations", &["streams", "0"]),
        ("tcs-basic", &["patch", "PATCH[1]"]),
        ("tes-quads", &["GENERIC[0]"]),
        ("fs-derivatives", &["COLOR[0]"]),
    ] {
        let folder_of = root.join("tgsi/graphics");
        let text =
            std::fs::read_to_string(folder_of.join(format!("{name}.json"))).expect("part of the project");
        let mut fixture: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let mut at = &mut fixture["tests"][0]["expect"];
        for key in path {
            at = &mut at[*key];
        }
        let first = first_number(at).unwrap_or_else(|| panic!("{name} has no number in {path:?}"));
        *first = serde_json::json!(first.as_f64().unwrap_or_default() + 1000.0);
        std::fs::write(folder.join(format!("{name}.json")), fixture.to_string()).expect("written");
        let source = fixture["source"].as_str().expect("a source");
        std::fs::copy(folder_of.join(source), folder.join(source)).expect("copied");
        let file = folder.join(format!("{name}.json")).display().to_string();
        for chip in ["gf100", "gk104", "gk110"] {
            let (code, out, _) = nvir(&["test", "--device", "virtual", "-t", chip, &file]);
            assert!(
                code == Some(1) && out.contains("FAILED") && out.contains("1 of "),
                "{name} {chip}: {out}"
            );
            seen += 1;
        }
    }
    assert_eq!(seen, 15);
}

fn first_number(tree: &mut serde_json::Value) -> Option<&mut serde_json::Value> {
    use serde_json::Value;
    match tree {
        Value::Number(_) => Some(tree),
        Value::Array(all) => all.iter_mut().find_map(first_number),
        Value::Object(all) => all.values_mut().find_map(first_number),
        _ => None,
    }
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
