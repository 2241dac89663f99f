//! The header is what the source says, and a C program works with nothing but the header and the library.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

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

/// Where Cargo put the libraries before it ran this test, whose package depends on them: beside it.
fn library() -> PathBuf {
    let exe = std::env::current_exe().expect("a test");
    exe.parent().expect("a folder").to_path_buf()
}

/// Builds a C program; `None` where there is no C compiler, which is said.
fn built(source: &Path, flags: &[&str]) -> Option<PathBuf> {
    // Of its own: a test cannot run a program that another one is writing.
    static PROGRAMS: AtomicU32 = AtomicU32::new(0);
    let lib = library();
    let name = format!("{}{}", source.file_stem()?.to_string_lossy(), PROGRAMS.fetch_add(1, Relaxed));
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
    let mut command = Command::new(program);
    // Cargo's own value names folders with libraries of earlier builds first.
    command.args(args).current_dir(root().join("../..")).env("LD_LIBRARY_PATH", library());
    command.output().expect("it runs")
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
fn a_module_goes_in_as_bytes() {
    let Some(program) = built(&root().join("examples/compile.c"), &[]) else { return };
    let file = "spirv-fixtures/cf-phi-swap.spv";
    let out = run(&program, &["gk104", file]);
    let said = String::from_utf8_lossy(&out.stdout);
    let data = std::fs::read(root().join("../..").join(file)).expect("part of the project");
    let text = compiler::front::spirv::listing(&data).expect("a module");
    let want = compiler::Compiler::new(compiler::Chip::Gk104).compile(&compiler::Source::spirv(&text));
    let want = want.expect("it compiles");
    let first = format!("{} bytes, first word {:016x}", want.code_bytes(), want.code[0]);
    assert!(said.contains(&first), "{said}");

    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wrong.spv");
    std::fs::write(&path, &data[1..]).expect("writable");
    let out = run(&program, &["gk104", &path.to_string_lossy()]);
    let said = String::from_utf8_lossy(&out.stdout);
    assert_eq!(out.status.code(), Some(1), "{said}");
    assert!(said.contains("this is not a SPIR-V module"), "{said}");
}

#[test]
fn the_example_says_what_a_graphics_stage_needs() {
    let Some(program) = built(&root().join("examples/compile.c"), &[]) else { return };
    for (chip, name, said_besides) in [
        (compiler::Chip::Gf100, "fs-flat-shade", "flat: word 14 of the header is 0000aa55, the code differs"),
        (compiler::Chip::Gk110, "vs-clip-vertex", "output 0: semantic 1[0] mask f at a[0x70]"),
    ] {
        let file = format!("tgsi/graphics/{name}.tgsi");
        let out = run(&program, &[chip.name(), &file]);
        let said = String::from_utf8_lossy(&out.stdout);
        let text = std::fs::read_to_string(root().join("../..").join(&file)).expect("part of the project");
        let want =
            compiler::Compiler::new(chip).compile(&compiler::Source::tgsi(&text)).expect("it compiles");
        let stage = want.stage.expect("a graphics stage");
        let words: Vec<String> = stage.header.encode().iter().map(|w| format!("{w:08x}")).collect();
        assert!(said.contains(&format!("header: {}\n", words.join(" "))), "{said}");
        assert!(said.contains(said_besides), "{said}");
        assert_eq!(said.matches("\noutput ").count(), stage.outputs.len(), "{said}");
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
        .env("LD_LIBRARY_PATH", library())
        .output();
    match out {
        Ok(o) => assert!(o.status.success(), "{}", String::from_utf8_lossy(&o.stderr)),
        Err(_) => eprintln!("SKIPPED: valgrind is not installed"),
    }
}

/// Compares a file that is made from a table, or writes it.
fn made(path: &Path, text: &str) {
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, text).expect("writable");
    }
    let there = std::fs::read_to_string(path).unwrap_or_default();
    assert!(there == text, "{} is out of date: BLESS=1 cargo test -p nvir-capi", path.display());
}

#[test]
fn header_and_page_of_nir_options_are_what_the_library_says() {
    let mut header = String::from(
        "/* What to ask of Mesa's NIR: fields of nir_shader_compiler_options (Mesa 22.3 and 25.0) as constants.\n \
         * Made from the library's table; docs/nir-options.md has the reasons. */\n\
         #ifndef NVIR_NIR_OPTIONS_H\n#define NVIR_NIR_OPTIONS_H\n\n",
    );
    let mut page = String::from(
        "# What to ask of Mesa's NIR\n\n\
         nvir reads NIR as `nir_print_shader` writes it. What Mesa lowers before, nvir has to recognise again, or pays for; so \
         a driver\nleaves these fields of `nir_shader_compiler_options` (Mesa 22.3 and 25.0) at 0, which means that the opcodes come \
         through, or sets them\nas the table says. `nvir_nir_options.h` has the same as constants, `nvir::NIR_OPTIONS` as \
         data.\n\n| field | value | opcodes that come through | what nvir makes of them |\n| --- | --- | --- | --- |\n",
    );
    for o in compiler::NIR_OPTIONS {
        header += &format!("#define NVIR_NIR_{} {}\n", o.name.to_uppercase(), o.value);
        let opcodes: Vec<String> = o.opcodes.iter().map(|op| format!("`{op}`")).collect();
        page += &format!("| `{}` | {} | {} | {} |\n", o.name, o.value, opcodes.join(", "), o.why);
    }
    header += "\n#endif\n";
    made(&root().join("include/nvir_nir_options.h"), &header);
    made(&root().join("../../docs/nir-options.md"), &page);
}

/// As a distribution installs it, and as a build system finds it.
#[test]
fn an_installed_library_is_found_by_pkg_config() {
    let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join("installed");
    let _ = std::fs::remove_dir_all(&prefix);
    // What `cargo build` puts into one folder. The program is another package's, and is not run here.
    let made = prefix.join("made");
    std::fs::create_dir_all(&made).expect("a folder");
    for name in ["libnvir.so", "libnvir.a", "libnvir_vgpu.so"] {
        std::os::unix::fs::symlink(library().join(name), made.join(name)).expect("a link");
    }
    std::fs::write(made.join("nvir"), "").expect("written");
    let install = Command::new(root().join("../../scripts/install")).arg(&prefix).arg(&made).output();
    let install = install.expect("it runs");
    assert!(install.status.success(), "{}", String::from_utf8_lossy(&install.stderr));
    let asked = Command::new("pkg-config")
        .args(["--cflags", "--libs", "nvir"])
        .env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"))
        .output();
    let flags = match asked {
        Ok(o) => String::from_utf8_lossy(&o.stdout).into_owned(),
        Err(e) => return eprintln!("SKIPPED: no pkg-config: {e}"),
    };
    let out = prefix.join("compile");
    let made = Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".into()))
        .arg(root().join("examples/compile.c"))
        .args(flags.split_whitespace())
        .arg("-o")
        .arg(&out)
        .output();
    let Ok(made) = made else { return eprintln!("SKIPPED: no C compiler") };
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let ran = Command::new(&out)
        .args(["gk110", "nir-fixtures/hand.atomics32_new.nir"])
        .env("LD_LIBRARY_PATH", prefix.join("lib"))
        .current_dir(root().join("../.."))
        .output()
        .expect("it runs");
    assert!(
        String::from_utf8_lossy(&ran.stdout).contains("EXIT;"),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
}
