//! `nvir frame`: the files that it writes, and what it refuses. The page itself is tested where it is made, in `crates/frame`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("frame").join(name);
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).expect("a folder");
    dir
}

fn frame(dir: &Path, args: &[&str]) -> Output {
    let mut c = Command::new(env!("CARGO_BIN_EXE_nvir"));
    c.arg("frame").args(args).current_dir(dir).env_remove("RUST_LOG").output().expect("nvir runs")
}

/// A recording of the repository, copied.
fn recording(dir: &Path, name: &str) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vgpu/tests/recordings/scenes").join(name);
    std::fs::copy(from, dir.join("k.trace")).expect("a recording");
}

#[test]
fn a_page_is_written() {
    let dir = folder("page");
    recording(&dir, "draws.e4.trace");
    let out = frame(&dir, &["k.trace", "--pixel", "2,2"]);
    let said = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{said}");
    assert_eq!(said.trim(), "wrote k.html");
    let html = std::fs::read(dir.join("k.html")).expect("the page");
    assert!(
        frame(&dir, &["k.trace", "--pixel", "2,2", "-o", "-"]).stdout == html,
        "the same on standard output"
    );
    let upwards = |args: &[&str]| {
        let out = frame(&dir, &[&["k.trace", "-o", "-"], args].concat());
        String::from_utf8(out.stdout).expect("text").contains("\"upwards\":true")
    };
    assert!(upwards(&[]) && !upwards(&["--top-first"]));
    let part = frame(&dir, &["k.trace", "--first", "1", "--count", "1", "-o", "part.html"]);
    assert!(part.status.success());
    let text = std::fs::read_to_string(dir.join("part.html")).expect("the page");
    assert_eq!(text.matches("\"submission\":").count(), 1);
}

#[test]
fn what_is_wrong_is_said() {
    let dir = folder("wrong");
    recording(&dir, "draws.c0.trace");
    std::fs::write(dir.join("bad.trace"), "no").expect("written");
    for (args, code, said) in [
        (&["missing.trace"][..], 1, "missing.trace: file not found"),
        (&["missing.trace", "--serve"], 1, "missing.trace: file not found"),
        (&["bad.trace"], 1, "bad.trace"),
        (&["k.trace", "--first", "100000"], 1, "there is no command 100000"),
        (&["k.trace", "--pixel", "7"], 2, "expected X,Y"),
        (&["k.trace", "--pixel", "7,70000"], 2, "expected X,Y"),
        (&["k.trace", "--count", "0"], 2, "count"),
        (&["k.trace", "--port", "80"], 2, "--serve"),
        (&["k.trace", "--serve", "-o", "x.html"], 2, "cannot be used"),
        (&["k.trace", "-o", "k.trace"], 2, "k.trace"),
        (&["k.trace", "--", "true"], 2, "cannot be used"),
        (&["--", "no-such-program"], 1, "no-such-program: program not found"),
        (&["--", "true"], 1, "the program submits nothing"),
        (&[], 2, "RECORDING"),
    ] {
        let out = frame(&dir, args);
        let text = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(code), "{args:?}: {text}");
        assert!(text.contains(said), "{args:?}: {text}");
    }
    assert!(!dir.join("bad.html").exists() && !dir.join("x.html").exists());
}

/// The repository's cube with something wrong in it, recorded; the page's data.
fn cube(dir: &Path, test: Option<&str>, change: impl Fn(String) -> String) -> serde_json::Value {
    let scenes = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenes");
    for name in ["cube.vert.tgsi", "cube.frag.tgsi", "cube.png"] {
        std::fs::copy(scenes.join(name), dir.join(name)).expect("copied");
    }
    let text = std::fs::read_to_string(scenes.join("cube.toml")).expect("the scene");
    let changed = change(text.clone());
    assert_eq!(changed == text, test.is_some(), "the fault is in it");
    std::fs::write(dir.join("cube.toml"), changed).expect("written");
    let mut args = vec!["cube.toml", "-t", "gk104", "--pixel", "64,40", "-o", "-"];
    args.extend(test.iter().flat_map(|t| ["--test", t]));
    let out = frame(dir, &args);
    let page = String::from_utf8(out.stdout).expect("text");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let data =
        page.split("type=\"application/json\"").nth(1).and_then(|p| p.split_once('>')).expect("data").1;
    serde_json::from_str(data.split("</script>").next().expect("an end")).expect("JSON")
}

/// The only draw.
fn draw(data: &serde_json::Value) -> &serde_json::Value {
    data["commands"].as_array().expect("commands").iter().find(|c| c["kind"] == "draw").expect("a draw")
}

/// What the draw's state says.
fn state(data: &serde_json::Value, group: &str, name: &str) -> String {
    let rows = draw(data)["state"].as_array().expect("state");
    let row = rows.iter().find(|r| r[0] == group && r[1] == name);
    row.unwrap_or_else(|| panic!("{group} {name}"))[2].as_str().expect("text").to_string()
}

/// The fragments of the pixel in the middle of the upper face, in order.
fn fragments(data: &serde_json::Value) -> &[serde_json::Value] {
    data["pixels"][0]["fragments"].as_array().expect("fragments")
}

fn number(bits: &serde_json::Value) -> f32 {
    f32::from_bits(u32::try_from(bits.as_u64().expect("bits")).expect("a word"))
}

#[test]
fn the_page_leads_to_what_is_wrong_with_a_scene() {
    // As it should be: the back face, then the upper one over it, which is what the target has.
    let dir = folder("right");
    let right = cube(&dir, Some("cube"), |t| t);
    let all = fragments(&right);
    assert_eq!(all.len(), 2);
    assert!(all.iter().any(|f| f["outcome"] == "written" && f["zeta"][0][0] == 0x3f80_0000));
    let color = |f: &serde_json::Value| -> Vec<f32> {
        f["texels"][0][1].as_array().expect("a texel").iter().map(number).collect()
    };

    // The wrong stride: it stands in the state, and the second vertex has parts of the first one.
    let stride = cube(&folder("stride"), None, |t| t.replace("stride = 32 }", "stride = 28 }"));
    assert_eq!(state(&stride, "attribute 0", "stride"), "28");
    let column = |data: &serde_json::Value, name: &str| -> String {
        let inputs = draw(data)["vertices"][0]["inputs"]["columns"].as_array().expect("inputs").clone();
        inputs.iter().find(|c| c[0] == name).expect("the input")[1].as_str().expect("base 64").to_string()
    };
    let (good, bad) = (column(&right, "attribute 0.x"), column(&stride, "attribute 0.x"));
    assert!(
        good.starts_with("AACAvwAAgL8") && bad.starts_with("AACAvwAAAAA"),
        "-1, -1 and -1, 0: {good} {bad}"
    );

    // The depth buffer is not cleared: every fragment fails against a depth of 0.
    let depth =
        cube(&folder("depth"), None, |t| t.replace("clear = 1.0, clear_stencil = 0", "clear_stencil = 0"));
    let all = fragments(&depth);
    assert_eq!(all.len(), 2);
    for f in all {
        let outcome = f["outcome"].as_str().expect("text");
        assert!(outcome.starts_with("failed depth") && f["zeta"][0][0] == 0, "{f}");
    }

    // The wrong side is culled: fewer primitives come to the rasteriser, and the face that is left is the other one.
    let culled = cube(&folder("culled"), None, |t| t + "cull = \"front\"\n");
    assert_eq!(state(&culled, "raster", "culls"), "Front");
    let counts = draw(&culled)["counts"].as_array().expect("counts");
    let dropped = counts.iter().find(|c| c[0] == "primitives clipped or culled").expect("a count");
    assert_eq!(dropped[1], 6);
    assert!(fragments(&culled).iter().all(|f| f["front"] == false) && fragments(&culled).len() == 1);

    // A blend factor: what is in the target is added rather than covered, as state, output, before and after say.
    let blend = cube(&folder("blend"), None, |t| {
        t + "blend = [{ source = \"source_alpha\", destination = \"one\" }]\n"
    });
    assert!(state(&blend, "color 0", "blend").contains("One"), "{}", state(&blend, "color 0", "blend"));
    let f = fragments(&blend).iter().rfind(|f| f["outcome"] == "written").expect("one that is written");
    let before = number(&f["texels"][0][0][0]);
    let (after, output) = (color(f)[0], number(&f["colors"][0][0]));
    assert!(before > 0.01 && (after - (before + output).min(1.0)).abs() < 0.005, "{before} {output} {after}");

    // A NaN: normals are zero, and the program does not hide it. The steps say which instruction made the first.
    let dir = folder("nan");
    let nan = cube(&dir, None, |t| {
        let program = std::fs::read_to_string(dir.join("cube.frag.tgsi")).expect("the program");
        let bare = program.replace("MAX TEMP[0].x, TEMP[0].xxxx, IMM[1].yyyy", "MOV TEMP[0].x, TEMP[0].xxxx");
        assert_ne!(program, bare);
        std::fs::write(dir.join("bare.tgsi"), bare).expect("written");
        t.replace("cube.frag.tgsi", "bare.tgsi").replace("offset = 12,", "offset = 12000,")
    });
    let f = fragments(&nan).iter().rfind(|f| f["outcome"] == "written").expect("one that is written");
    assert!(number(&f["colors"][0][0]).is_nan(), "{}", f["colors"]);
    let steps = &f["steps"];
    assert_eq!(steps["cut"], false);
    let listing = steps["program"].to_string();
    assert!(listing.contains("MUFU.RSQ"), "{listing}");
    let is_nan = |v: &serde_json::Value| v.as_u64().is_some_and(|b| f32::from_bits(b as u32).is_nan());
    fn any(v: &serde_json::Value, is: &impl Fn(&serde_json::Value) -> bool) -> bool {
        match v {
            serde_json::Value::Array(all) => all.iter().any(|v| any(v, is)),
            serde_json::Value::Object(all) => all.values().any(|v| any(v, is)),
            one => is(one),
        }
    }
    assert!(any(&steps["steps"], &is_nan), "{steps}");
}

#[test]
fn a_fixture_is_recorded_and_what_is_not_possible_is_said() {
    let dir = folder("fixture");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = |name: &str| root.join(name).to_str().expect("a path").to_string();
    let out = frame(&dir, &[&path("scenes/triangle.toml"), "-o", "t.html"]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    assert!(std::fs::read_to_string(dir.join("t.html")).expect("the page").contains("triangle"));
    for (args, code, said) in [
        (
            &[path("scenes/blend.toml")][..],
            2,
            "--test names one of the fixture's tests: `over and sum`, `two targets`",
        ),
        (&[path("scenes/triangle.toml"), "--test".into(), "t".into()], 2, "`triangle`"),
        (&[path("scenes/none.toml")], 1, "file not found"),
        (
            &[path("crates/vgpu/tests/recordings/scenes/draws.c0.trace"), "-t".into(), "gk104".into()],
            2,
            "own chip",
        ),
    ] {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let out = frame(&dir, &args);
        let text = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.code() == Some(code) && text.contains(said), "{args:?}: {text}");
    }
}
