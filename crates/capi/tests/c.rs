//! The header is what the source says, and a C program works with nothing but the header and the library.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_header_is_what_the_source_says() {
    let config = cbindgen::Config::from_file(root().join("cbindgen.toml")).expect("valid");
    let made = cbindgen::Builder::new()
        .with_config(config)
        .with_src(root().join("src/lib.rs"))
        .generate()
        .expect("it parses");
    let mut text = Vec::new();
    made.write(&mut text);
    let path = root().join("include/nvir.h");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &text).expect("writable");
    }
    let there = std::fs::read(&path).expect("include/nvir.h is part of the project");
    assert!(there == text, "include/nvir.h is out of date: BLESS=1 cargo test -p nvir-capi");
}

/// Where cargo put the library: beside the folder of this test.
fn library() -> PathBuf {
    let exe = std::env::current_exe().expect("a test");
    exe.parent().and_then(Path::parent).expect("target/PROFILE").to_path_buf()
}

/// Builds a C program; `None` where there is no C compiler or no library yet, which is said.
fn built(source: &Path, flags: &[&str]) -> Option<PathBuf> {
    let lib = library();
    if !lib.join("libnvir.so").exists() {
        eprintln!("SKIPPED: no libnvir.so in {}: cargo build first", lib.display());
        return None;
    }
    let name = format!("{}{}", source.file_stem()?.to_string_lossy(), flags.len());
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let cc = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let made = Command::new(cc)
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-pthread"])
        .args(flags)
        .arg(source)
        .arg("-I")
        .arg(root().join("include"))
        .arg("-L")
        .arg(&lib)
        .arg(format!("-Wl,-rpath,{}", lib.display()))
        .arg("-lnvir")
        .arg("-o")
        .arg(&out)
        .output();
    match made {
        Ok(o) if o.status.success() => Some(out),
        Ok(o) => panic!("{}", String::from_utf8_lossy(&o.stderr)),
        Err(e) => {
            eprintln!("SKIPPED: no C compiler: {e}");
            None
        }
    }
}

fn run(program: &Path, args: &[&str]) -> Output {
    Command::new(program).args(args).current_dir(root().join("../..")).output().expect("it runs")
}

#[test]
fn the_example_compiles_and_says_what_the_library_says() {
    let Some(program) = built(&root().join("examples/compile.c"), &[]) else { return };
    let out = run(&program, &["gk110", "nir-fixtures/hand.atomics32_new.nir"]);
    let said = String::from_utf8_lossy(&out.stdout);
    if out.status.code() == Some(2) {
        panic!("{}", String::from_utf8_lossy(&out.stderr));
    }
    let text =
        std::fs::read_to_string(root().join("../../nir-fixtures/hand.atomics32_new.nir")).unwrap_or_default();
    let want = compiler::Compiler::new(compiler::Chip::Gk110).compile(&compiler::Source::nir(&text));
    let want = want.expect("it compiles");
    assert!(
        said.contains(&format!("{} bytes, first word {:016x}", want.code_bytes(), want.code[0])),
        "{said}"
    );
    assert!(said.contains(".chip gk110") && said.contains("EXIT;"), "{said}");
    for used in &want.resources.buffers.slots {
        assert!(said.contains(&format!("buffer {}:", used.slot)), "{said}");
    }
}

#[test]
fn an_error_has_its_place_in_c_too() {
    let Some(program) = built(&root().join("examples/compile.c"), &[]) else { return };
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wrong.tgsi");
    std::fs::write(&path, "COMP\nDCL TEMP[0]\n  0: MOVE TEMP[0], TEMP[0]\n  1: END\n").expect("writable");
    let out = run(&program, &["gf100", &path.to_string_lossy()]);
    let said = String::from_utf8_lossy(&out.stdout);
    assert_eq!(out.status.code(), Some(1), "{said}");
    assert!(said.contains("wrong.tgsi:3:6") && said.contains("\n3:6: [22, 26) "), "{said}");
}

#[test]
fn eight_threads_of_c_share_a_compiler() {
    let Some(program) = built(&root().join("tests/threads.c"), &[]) else { return };
    let out = run(&program, &["tgsi/get-num-groups.tgsi", "25"]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stdout));
    assert_eq!(String::from_utf8_lossy(&out.stdout), "8 threads, 800 shaders, one result\n");
}

#[test]
fn every_wrong_call_is_refused() {
    let Some(program) = built(&root().join("tests/misuse.c"), &[]) else { return };
    let out = run(&program, &[]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stdout));
}

/// Where valgrind is installed: no error, nothing lost.
#[test]
fn nothing_leaks_and_nothing_is_read_that_is_not_there() {
    let Some(program) = built(&root().join("tests/misuse.c"), &["-g"]) else { return };
    let out = Command::new("valgrind")
        .args(["-q", "--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=definite"])
        .arg(&program)
        .output();
    match out {
        Ok(o) => assert!(o.status.success(), "{}", String::from_utf8_lossy(&o.stderr)),
        Err(_) => eprintln!("SKIPPED: valgrind is not installed"),
    }
}
