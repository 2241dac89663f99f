//! `nvir new`: what it refuses, what it writes, and that it runs.

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("new").join(name);
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).expect("a folder");
    dir
}

fn put(dir: &Path, name: &str, text: &str) {
    std::fs::write(dir.join(name), text).expect("written");
}

fn get(dir: &Path, name: &str) -> String {
    std::fs::read_to_string(dir.join(name)).expect("it is there")
}

/// Exit status, standard output, standard error.
fn nvir(dir: &Path, args: &[&str]) -> (i32, String, String) {
    let mut c = Command::new(env!("CARGO_BIN_EXE_nvir"));
    let ran = c.args(args).current_dir(dir).env_remove("RUST_LOG").output().expect("starts");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (ran.status.code().expect("no signal"), text(ran.stdout), text(ran.stderr))
}

/// Everything that a kernel can bind, in the last argument of each kind.
const ALL: &str = "COMP
PROPERTY CS_FIXED_BLOCK_WIDTH 8
PROPERTY CS_FIXED_BLOCK_HEIGHT 2
PROPERTY CS_FIXED_BLOCK_DEPTH 1
DCL SV[0], THREAD_ID
DCL BUFFER[1]
DCL CONST[0][0..2]
DCL CONST[2][0..1]
DCL IMAGE[3], 2D_ARRAY, PIPE_FORMAT_R16G16_FLOAT, WR
DCL SAMP[2]
DCL SVIEW[2], 3D, FLOAT
DCL MEMORY[0], PRIVATE
DCL TEMP[0..2]
IMM[0] FLT32 {0.5, 0.5, 0.5, 0}
IMM[1] UINT32 {0, 4, 8, 0}
  0: TXL TEMP[0], IMM[0], SAMP[2], 3D
  1: ADD TEMP[0], TEMP[0], CONST[0][2]
  2: MUL TEMP[0], TEMP[0], CONST[2][1]
  3: STORE IMAGE[3], SV[0], TEMP[0], 2D_ARRAY
  4: STORE MEMORY[0].x, IMM[1].zzzz, TEMP[0].xxxx
  5: LOAD TEMP[1].x, MEMORY[0], IMM[1].zzzz
  6: STORE BUFFER[1].x, IMM[1].yyyy, TEMP[1].xxxx
  7: END
";

#[test]
fn what_can_not_be_written_is_refused_before_anything_is() {
    let dir = folder("refused");
    put(&dir, "k.tgsi", ALL);
    put(&dir, "k.toml", "mine");
    put(&dir, "m.spv", "\u{3}\u{2}#\u{7}");
    put(&dir, "s.sass", "EXIT;\n");
    put(&dir, "broken.nir", "shader: MESA_SHADER_KERNEL\n");
    put(&dir, "t.txt", "");
    for (args, code, part) in [
        (
            &["new", "k.tgsi"][..],
            1,
            "k.toml exists: choose another name with -o, or overwrite it with --force",
        ),
        (&["new", "k.tgsi", "-o", "k.json"], 2, "ends in .toml"),
        (&["new", "k.tgsi", "-e", "7", "-o", "e.toml"], 1, "7"),
        (&["new", "m.spv"], 1, "the header of a SPIR-V module has five words"),
        (&["new", "s.sass"], 1, "machine code does not say what it needs"),
        (&["new", "broken.nir"], 1, "error: "),
        (&["new", "none.nir"], 1, "none.nir: file not found"),
        (&["new", "t.txt"], 1, "unknown file type"),
        (&["new", "k.tgsi", "-o", "no/k.toml"], 1, "No such file"),
    ] {
        let (got, out, err) = nvir(&dir, args);
        assert!(
            got == code && err.contains(part) && out.is_empty(),
            "{args:?}: {got}, wanted {part}: {out}{err}"
        );
    }
    assert_eq!(get(&dir, "k.toml"), "mine");
    for name in ["e.toml", "m.toml", "s.toml", "broken.toml", "k.json"] {
        assert!(!dir.join(name).exists(), "{name}");
    }
    let (code, out, err) = nvir(&dir, &["new", "k.tgsi", "--force"]);
    assert_eq!((code, out.as_str(), err.as_str()), (0, "wrote k.toml\n", ""));
    assert_ne!(get(&dir, "k.toml"), "mine");
}

#[test]
fn a_fixture_names_all_that_a_kernel_binds_and_runs_at_once() {
    let dir = folder("all");
    put(&dir, "k.tgsi", ALL);
    let (code, out, err) = nvir(&dir, &["new", "k.tgsi"]);
    assert_eq!((code, out.as_str(), err.as_str()), (0, "wrote k.toml\n", ""));
    let text = get(&dir, "k.toml");
    for line in [
        "source = \"k.tgsi\"",
        "name = \"k\"",
        "grid = [1, 1, 1]",
        "block = [8, 2, 1]",
        "private_bytes = 16",
        "ssbo = { 1 = \"ssbo1\" }",
        "ubo = { 1 = \"ubo1\" }",
        "uniforms = \"uniforms\"",
        "images_bound = { 3 = \"image3\" }",
        "textures = { 2 = { image = \"texture2\" } }",
        "# Storage buffer 1, written.",
        "# Image 3, of the format that the program declares.",
        "type = \"2d_array\"",
        "format = \"rg16f\"",
        "type = \"3d\"",
        "init = { fill = 1.0 }",
        "# expect = { fill = 0 }    # uncomment, then `nvir test k.toml --bless` writes what is left here",
    ] {
        assert!(text.lines().any(|l| l == line), "no `{line}` in\n{text}");
    }
    let (code, out, err) = nvir(&dir, &["check", "k.toml"]);
    assert_eq!(code, 0, "{err}");
    assert_eq!(out, "ok k.toml\n1 valid, 0 invalid\n");
    assert!(!err.contains("does not use") && !err.contains("does not bind"), "{err}");
    let (code, out, err) = nvir(&dir, &["run", "k.toml"]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(!err.contains("does not bind"), "{err}");
    // The comments are true: with `expect`, values are written.
    let expected = text.replace("# expect", "expect");
    put(&dir, "k.toml", &expected);
    let (_, _, err) = nvir(&dir, &["test", "k.toml", "--bless", "-q"]);
    assert!(err.contains("blessed 1 tests of k.toml"), "{err}");
    let (code, out, err) = nvir(&dir, &["test", "k.toml"]);
    assert_eq!(code, 0, "{out}{err}");

    // From elsewhere, and to standard output.
    std::fs::create_dir(dir.join("sub")).expect("a folder");
    let (code, ..) = nvir(&dir, &["new", "k.tgsi", "-o", "sub/other.toml"]);
    assert_eq!(code, 0);
    assert!(get(&dir, "sub/other.toml").contains("source = \"../k.tgsi\"\n"));
    assert_eq!(nvir(&dir, &["run", "sub/other.toml"]).0, 0);
    let (_, out, _) = nvir(&dir, &["new", "k.tgsi", "-o", "-"]);
    assert!(out.contains("\n[[tests]]\n"), "{out}");
}

#[test]
fn pointers_are_told_from_offsets_and_scalars() {
    let dir = folder("pointers");
    // dst[i + shift] = src[i + shift] * factor, then a word far behind the end of what would be usual.
    put(
        &dir,
        "k.ir",
        "program block 4 1 1

kernel main() {
b0:
    rdsv u32 %r0 sv[tid.x]
    ld u32 %r1 c0[0x10]
    add u32 %r2 %r0 %r1
    ld u32 %r3 c0[0x0]
    ld u32 %r4 c0[0x4]
    ld f32 %r5 c0[0x8]
    add u32 %r6 %r3 %r2
    add u32 %r7 %r4 %r2
    ld u8 %r8 g[%r6+0x0]
    cvt f32 u32 %r9 %r8
    mul f32 %r10 %r9 %r5
    cvt u32 f32 %r11 %r10
    st u8 # g[%r7+0x0] %r11
    ld u32 %r12 g[%r3+0x4000 align 4]
    st u32 # g[%r4+0x4000 align 4] %r12
    exit
}
",
    );
    let (code, _, err) = nvir(&dir, &["new", "k.ir"]);
    assert_eq!((code, err.as_str()), (0, ""));
    let text = get(&dir, "k.toml");
    let args = "args = [
    { buffer = \"arg0\" },
    { buffer = \"arg1\" },
    { f32 = 1.0 },
    { u32 = 1, offset = 16 },
]";
    assert!(text.contains(args), "{text}");
    assert!(text.contains("pointer_bytes = 4\n") && text.contains("type = \"u8\"\nlen = "), "{text}");
    assert!(!text.contains("len = 1024\n"), "a kernel that goes beyond 1024 bytes gets more: {text}");
    assert_eq!(nvir(&dir, &["run", "k.toml"]).0, 0);

    // What runs with no sizes is written with a warning.
    put(
        &dir,
        "wild.ir",
        "program block 1 1 1\n\nkernel main() {\nb0:\n    mov u32 %r0 0x10\n    ld u32 %r1 g[%r0+0x0 align 4]\n    \
         st u32 # g[%r0+0x0 align 4] %r1\n    exit\n}\n",
    );
    let (code, out, err) = nvir(&dir, &["new", "wild.ir"]);
    assert_eq!((code, out.as_str()), (0, "wrote wild.toml\n"));
    assert!(err.contains("warning: wild.toml: on gf100 it does not run to its end: out_of_bounds"), "{err}");
}

/// OpenCL packs arguments of one and two bytes.
#[test]
fn arguments_of_bytes_lie_beside_each_other() {
    let dir = folder("bytes");
    std::fs::copy(root().join("nir-fixtures/cl.many_args.nir"), dir.join("k.nir")).expect("copied");
    let (code, _, err) = nvir(&dir, &["new", "k.nir"]);
    assert_eq!(code, 0, "{err}");
    let made = get(&dir, "k.toml");
    assert!(
        made.contains("    { u8 = 1 },\n    { u8 = 1 },\n    { u16 = 1 },\n    { u32 = 1 },\n"),
        "{made}"
    );
    let (code, out, err) = nvir(&dir, &["run", "k.toml"]);
    assert_eq!(code, 0, "{out}{err}");
}

#[test]
fn every_program_of_the_repository_gets_a_fixture_that_runs() {
    let dir = folder("repository");
    let mut ran = 0;
    let mut wrong = Vec::new();
    for from in ["tgsi", "tgsi/graphics", "nir-fixtures", "nir-fixtures/graphics"] {
        let mut files: Vec<PathBuf> = std::fs::read_dir(root().join(from))
            .expect("a folder")
            .map(|e| e.expect("an entry").path())
            .filter(|p| p.extension().is_some_and(|e| ["tgsi", "nir", "ir"].iter().any(|k| e == *k)))
            .collect();
        files.sort();
        // A part of the many: each runs on three chips, twice.
        for file in files.into_iter().step_by(3) {
            let name = file.file_name().expect("a name").to_string_lossy().into_owned();
            std::fs::copy(&file, dir.join(&name)).expect("copied");
            let (code, _, err) = nvir(&dir, &["new", &name, "--force"]);
            if code != 0 || err.contains("warning") {
                wrong.push(format!("{from}/{name}: {}", err.lines().next().unwrap_or_default()));
                continue;
            }
            let fixture = Path::new(&name).with_extension("toml");
            let (code, out, err) = nvir(&dir, &["run", fixture.to_str().expect("text")]);
            assert_eq!(code, 0, "{name}: {out}{err}");
            ran += 1;
        }
    }
    assert!(ran > 25 && wrong.len() * 10 < ran, "{ran} run; {wrong:#?}");
}
