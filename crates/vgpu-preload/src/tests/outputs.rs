//! Files that the variables name, and the exit status, where no `nvir gpu` waits: what stands there already, what does not fit.

use super::launches::{folder, run, said};
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::process::Command;

#[test]
fn files_of_other_kinds_survive() {
    let folder = folder("foreign");
    fs::create_dir_all(&folder).unwrap();
    let photo = folder.join("photo.png");
    fs::write(&photo, "photo").unwrap();
    let name = photo.to_str().unwrap();
    for variable in ["NVIR_VGPU_LOG", "NVIR_VGPU_FAULTS_JSON"] {
        let out = run("writes", &[(variable, name)]);
        let errors = said(&out).1;
        let says = format!("nvir-vgpu: {variable}={name}: the file exists and is not a l");
        assert!(errors.contains(&says) && !out.status.success(), "there is no card: {errors}");
    }
    // A recording takes the next name.
    let (line, errors) = said(&run("writes", &[("NVIR_VGPU_TRACE", name)]));
    assert_eq!(
        (line.as_deref(), errors.contains("nvir-vgpu:")),
        (Some("Ok(()) Ok(()) 42"), false),
        "{errors}"
    );
    assert!(fs::read(folder.join("photo.2.png")).unwrap().starts_with(b"trace 1\n"));
    assert_eq!(fs::read(&photo).unwrap(), b"photo");
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_process_that_opens_no_card_leaves_nothing() {
    let folder = folder("no-card");
    fs::create_dir_all(&folder).unwrap();
    let mut c = Command::new(std::env::current_exe().unwrap());
    c.args(["--exact", "tests::launches::client"]);
    for (name, file) in
        [("TRACE", "a.trace"), ("LOG", "a.log"), ("FAULTS_JSON", "f.json"), ("DUMP_SHADERS", "k")]
    {
        c.env(format!("NVIR_VGPU_{name}"), folder.join(file));
    }
    assert!(c.output().unwrap().status.success());
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn what_does_not_fit_is_reported_and_is_the_status() {
    for (variable, value, why) in [
        ("NVIR_VGPU_TRACE", "/dev/full", "no space left on device"),
        ("NVIR_VGPU_LOG", "/dev/full", "no space left on device"),
        ("NVIR_VGPU_TRACE", "/no/such/a.trace", "file not found"),
        ("NVIR_VGPU_DUMP_SHADERS", "/dev/null/x", "not a directory"),
    ] {
        let out = run("writes", &[(variable, value)]);
        let (line, errors) = said(&out);
        assert_eq!(line.as_deref(), Some("Ok(()) Ok(()) 42"), "the program goes on: {errors}");
        assert!(errors.contains(why), "{errors}");
        assert_eq!(errors.matches(&format!("nvir-vgpu: {variable}={value}: ")).count(), 1, "{errors}");
        assert_eq!(out.status.code(), Some(1), "{errors}");
    }
    for variable in ["NVIR_VGPU_TRACE", "NVIR_VGPU_LOG"] {
        let out = run("writes", &[(variable, "/dev/null")]);
        assert_eq!(out.status.code(), Some(0), "{}", said(&out).1);
    }
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
}

#[test]
fn faults_are_the_status_if_asked() {
    let code = |kernel, more: &[(&str, &str)]| {
        run(kernel, &[&[("NVIR_VGPU_ERROR_EXITCODE", "9")], more].concat()).status.code()
    };
    assert_eq!(code("writes nowhere", &[]), Some(9));
    assert_eq!(code("is empty", &[]), Some(9), "a fault without a kernel");
    assert_eq!(code("writes nowhere", &[("NVIR_VGPU_ON_FAULT", "exit")]), Some(9));
    assert_eq!(
        code("writes nowhere", &[("NVIR_VGPU_TRACE", "/dev/full")]),
        Some(9),
        "before what does not fit"
    );
    assert_eq!(code("writes", &[]), Some(0));
    assert_eq!(code("races", &[]), Some(0), "nobody looks for races");
    assert_eq!(code("races", &[("NVIR_VGPU_CHECK", "racecheck")]), Some(9));
}

#[test]
fn faults_are_listed() {
    let folder = folder("faults");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("f.json");
    for kernel in ["writes nowhere", "is empty"] {
        run(kernel, &[("NVIR_VGPU_FAULTS_JSON", path.to_str().unwrap())]);
    }
    let all: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let [nowhere, empty] = &all["faults"].as_array().unwrap()[..] else { panic!("{all}") };
    assert_eq!(nowhere["kind"], "out_of_bounds");
    assert_eq!(nowhere["address"].as_u64().map(|a| a >> 32), Some(0x77), "{nowhere}");
    assert_eq!(
        (&nowhere["instruction"], &nowhere["pc"]),
        (&"ST.E [R2], R4".into(), &0x28.into()),
        "{nowhere}"
    );
    assert_eq!(
        (&empty["kind"], &empty["kernel"], &empty["method"]),
        (&"command".into(), &serde_json::Value::Null, &"LAUNCH".into())
    );
    assert!(empty["message"].as_str().is_some_and(|m| m.contains("there is no code")), "{empty}");
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_log_names_what_happens_and_a_recording_repeats_it() {
    let folder = folder("outputs");
    fs::create_dir_all(&folder).unwrap();
    let path = |name: &str| folder.join(name).to_str().unwrap().to_string();
    let (log, trace) = (path("log"), path("a.trace"));
    for _ in 0..2 {
        run("writes", &[("NVIR_VGPU_LOG", &log), ("NVIR_VGPU_TRACE", &trace), ("NVIR_VGPU_DEVICES", "1")]);
    }
    let text = fs::read_to_string(&log).unwrap();
    assert!(text.starts_with("nvir-vgpu log 1\n") && text.matches("nvir-vgpu log").count() == 1, "{text}");
    assert_eq!(text.matches("submission 0: channel 1").count(), 2, "processes append: {text}");
    for part in
        ["submission 0: channel 1", "LAUNCH_DESC_ADDRESS", "grid [1, 1, 1], block [64, 1, 1], 16 registers"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let (first, second) = (fs::read(&trace).unwrap(), fs::read(path("a.2.trace")).unwrap());
    assert!(first.starts_with(b"trace 1\nchip f0\n"));
    assert!(first == second, "the same run has the same recording");
    fs::remove_dir_all(&folder).unwrap();
}
