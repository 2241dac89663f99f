//! Scenes: those of the repository on three chips and at both ends of the levels, pictures, blessing, and what is refused.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

fn nvir(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_nvir")).args(args).current_dir(folder).output().expect("nvir runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A folder with the programs of the repository's scenes.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    for file in std::fs::read_dir(root().join("scenes")).expect("scenes").flatten() {
        if file.path().extension().is_some_and(|e| e == "tgsi") {
            std::fs::copy(file.path(), folder.join(file.file_name())).expect("copied");
        }
    }
    folder
}

#[test]
fn all_scenes_leave_what_they_should() {
    let out = nvir(&root(), &["test", "scenes", "-O0", "-O3", "--quiet"]);
    let told = text(&out.stdout);
    assert!(out.status.success(), "{told}{}", text(&out.stderr));
    let scenes = std::fs::read_dir(root().join("scenes")).expect("scenes").flatten();
    let scenes = scenes.filter(|f| f.path().extension().is_some_and(|e| e == "toml")).count();
    let passed: usize = told.split_whitespace().next().and_then(|n| n.parse().ok()).expect("a count");
    assert!(scenes >= 10 && passed >= 6 * scenes, "{scenes} files, {told}");
    assert!(told.contains(" 0 failed, 0 skipped"), "{told}");
}

/// A scene of one draw: keys of the file, the pass and the draw that replace or join what is there.
fn scene(images: &str, pass: &str, draw: &str) -> String {
    format!(
        "programs.vertex.source = \"position-color.vert.tgsi\"
programs.fragment.source = \"color.frag.tgsi\"
[[tests]]
name = \"t\"
buffers.corners = {{ type = \"f32\", len = 24, init = [
  -1.0, -1.0, 0.5, 1.0,  1.0, 0.0, 0.0, 1.0,  3.0, -1.0, 0.5, 1.0,  1.0, 0.0, 0.0, 1.0,
  -1.0, 3.0, 0.5, 1.0,  1.0, 0.0, 0.0, 1.0] }}
{images}
[[tests.passes]]
colors = [{{ image = \"target\", clear = [0.0, 0.0, 0.0, 0.0] }}]
{pass}
[[tests.passes.draws]]
programs = [\"vertex\", \"fragment\"]
arrays = [{{ buffer = \"corners\", stride = 32 }}]
attributes = [{{ location = 0, format = \"float32x4\" }}, {{ location = 1, offset = 16, format = \"float32x4\" }}]
{draw}
"
    )
}

const TARGET: &str =
    "images.target = { type = \"2d\", format = \"rgba8\", size = [2, 2], expect = { fill = 0xff0000ff } }";

#[test]
fn what_no_scene_can_mean_is_an_error_with_its_place() {
    let folder = folder("scene-errors");
    let file = folder.join("s.toml");
    let run = |what: &str| {
        std::fs::write(&file, what).expect("written");
        let out = nvir(&folder, &["run", "s.toml", "-t", "gk104"]);
        (out.status.success(), text(&out.stdout) + &text(&out.stderr))
    };
    assert!(run(&scene(TARGET, "", "vertices = 3")).0);
    for (images, pass, draw, why) in [
        (TARGET, "", "", "`vertices` or `indirect` is missing"),
        (TARGET, "", "vertices = 3\nindirect = { buffer = \"corners\" }", "a draw has one of them"),
        (TARGET, "", "vertices = 3\ntopology = \"tiangles\"", "unknown name `tiangles`"),
        (TARGET, "", "vertices = 3\ncull = \"left\"", "expected one of front, back, both"),
        (TARGET, "", "vertices = 3\ndepth_keep = true", "it needs `depth_test`"),
        (TARGET, "", "vertices = 3\nwrite = [\"rgx\"]", "`x` is not one of r, g, b, a"),
        (TARGET, "", "vertices = 3\nbindings.vertex = {}", "expected one of vert, tesc"),
        (TARGET, "", "vertices = 3\nbindings.frag.ubo.0 = \"none\"", "the test has no buffer `none`"),
        (TARGET, "", "vertices = 3\nbindings.geom = {}", "geom stage, which has no program"),
        (
            TARGET,
            "",
            "vertices = 3\nindices = { buffer = \"corners\" }",
            "indices are u8, u16 or u32, not f32",
        ),
        (TARGET, "", "vertices = 3\ntopology = \"patches\"", "without a tessellation evaluation program"),
        (
            TARGET,
            "",
            "vertices = 3\nfeedback = [{ buffer = \"corners\", outputs = [\"POSITION\"] }]",
            "expected NAME.x",
        ),
        (TARGET, "", "vertices = 3\nlines_width = 2.0", "did you mean `line_width`"),
        (TARGET, "depth = { image = \"target\" }", "vertices = 3", "`target` is an image of colours"),
        (TARGET, "depth = { image = \"none\" }", "vertices = 3", "the test has no image `none`"),
        (TARGET, "counts = { fragments = 1 }", "vertices = 3", "unknown variant `fragments`"),
        (TARGET, "counts = { samples = 5 }", "vertices = 3", "counted 4 samples, expected 5"),
        (TARGET, "viewports = [{ size = [nan, 1.0] }]", "vertices = 3", "is not finite"),
        (
            "images.target = { type = \"2d\", format = \"rgba8\", size = [2, 2], expect = { fill = 1 } }",
            "",
            "vertices = 3",
            "texel 0 is 0xff0000ff, expected 0x00000001",
        ),
        (
            "images.target = { type = \"3d\", format = \"z16\", size = [2, 2, 2] }",
            "",
            "vertices = 3",
            "images of depths are 2d",
        ),
    ] {
        let (passed, told) = run(&scene(images, pass, draw));
        assert!(!passed && told.contains(why), "{why}: {told}");
    }
    let no_source = scene(TARGET, "", "vertices = 3").replace("programs.", "others.");
    assert!(run(&no_source).1.contains("unknown field `others`"));
    let both = format!("source = \"color.frag.tgsi\"\n{}", scene(TARGET, "", "vertices = 3"));
    assert!(run(&both).1.contains("a scene has `programs` instead"));
    let kernel = "source = \"color.frag.tgsi\"\n[[tests]]\nname = \"t\"\npasses = []\n";
    assert!(run(kernel).1.contains("its programs are named by `programs`"));
    let absent = scene(TARGET, "", "vertices = 3").replace("color.frag.tgsi", "none.tgsi");
    assert!(run(&absent).1.contains("none.tgsi: file not found"));
    let wrong =
        scene(TARGET, "", "vertices = 3").replace("\"color.frag.tgsi\"", "\"position-color.vert.tgsi\"");
    assert!(run(&wrong).1.contains("two programs for the vert stage"));
}

#[test]
fn pictures_are_written_blessed_and_compared() {
    let folder = folder("scene-pictures");
    let image = "images.target = { type = \"2d\", format = \"bgra8\", size = [2, 2], expect = { file = \"new.png\" } }";
    std::fs::write(folder.join("s.toml"), scene(image, "", "vertices = 3")).expect("written");
    let out = nvir(&folder, &["test", "s.toml"]);
    assert!(text(&out.stdout).contains("`new.png` does not exist; `nvir test --bless` writes it"));
    assert!(!folder.join("new.png").exists());
    nvir(&folder, &["test", "s.toml", "--bless"]);
    let out = nvir(&folder, &["test", "s.toml", "--png", "out/pictures", "-t", "gk110"]);
    assert!(out.status.success(), "{}", text(&out.stdout));
    // Red, whatever the order of bytes in the image.
    for name in ["new.png", "out/pictures/s-t-gk110-target.png", "out/pictures/s-t-gk110-target.expected.png"]
    {
        assert_eq!(pixels(&folder.join(name)), [[255, 0, 0, 255]; 4].as_flattened(), "{name}");
    }
    let difference = folder.join("out/pictures/s-t-gk110-target.difference.png");
    assert_eq!(pixels(&difference), [[0, 0, 0, 255]; 4].as_flattened());
    // Another picture is a difference, in words and to be looked at.
    let green = scene(image, "", "vertices = 3\nwrite = [\"ga\"]");
    std::fs::write(folder.join("s.toml"), green).expect("written");
    let out = nvir(&folder, &["test", "s.toml", "--png", "out/pictures", "-t", "gk110"]);
    assert!(text(&out.stdout).contains("4 texels wrong"), "{}", text(&out.stdout));
    assert_eq!(pixels(&difference), [[255, 0, 0, 255]; 4].as_flattened());
    // A picture of another size, and one of numbers.
    let small = image.replace("[2, 2]", "[2, 1]");
    std::fs::write(folder.join("s.toml"), scene(&small, "", "vertices = 3")).expect("written");
    assert!(text(&nvir(&folder, &["test", "s.toml"]).stdout).contains("2 x 2 pixels: the image has 2 x 1"));
    let floats = image.replace("bgra8", "rgba32f");
    std::fs::write(folder.join("s.toml"), scene(&floats, "", "vertices = 3")).expect("written");
    assert!(text(&nvir(&folder, &["test", "s.toml"]).stdout).contains("whose channels are bytes"));
    // A folder that cannot be made.
    std::fs::write(folder.join("file"), "").expect("written");
    std::fs::write(folder.join("s.toml"), scene(image, "", "vertices = 3")).expect("written");
    let out = nvir(&folder, &["test", "s.toml", "--png", "file/below", "-t", "gk110"]);
    assert!(!out.status.success() && text(&out.stderr).contains("file/below"), "{}", text(&out.stderr));
}

/// The bytes of a picture's pixels.
fn pixels(path: &Path) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().expect("a PNG");
    let mut all = vec![0; reader.output_buffer_size().expect("small")];
    reader.next_frame(&mut all).expect("pixels");
    all
}
