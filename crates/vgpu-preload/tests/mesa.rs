//! Mesa's own driver on the virtual GPU, on each chip: the client in `examples/gl_client` compares what it gets, piglit
//! judges, and programs that others wrote run. Where `NVIR_MESA` names what `contrib/mesa/build` made, the client runs with
//! nvir as the driver's compiler, too.
//!
//! Skips, and says so, what is not installed.

#[path = "../examples/gl_client/main.rs"]
mod gl_client;

use libtest_mimic::{Arguments, Failed, Trial};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Makes this program the client, so that it is there whatever part of the tests is built.
const CLIENT: &str = "NVIR_TEST_GL_CLIENT";

const CHIPS: [&str; 3] = ["c0", "e4", "f0"];

/// Where distributions have Mesa's drivers.
const DRIVERS: [&str; 4] =
    ["/usr/lib/x86_64-linux-gnu/dri", "/usr/lib/aarch64-linux-gnu/dri", "/usr/lib64/dri", "/usr/lib/dri"];

/// Where distributions have piglit's program for shader tests.
const PIGLIT: [&str; 3] = [
    "/usr/lib/x86_64-linux-gnu/piglit/bin/shader_runner",
    "/usr/lib/piglit/bin/shader_runner",
    "/usr/lib64/piglit/bin/shader_runner",
];

/// The OpenCL implementation that works with nouveau.
const RUSTICL: &str = "/etc/OpenCL/vendors/rusticl.icd";

/// This program, which Cargo puts where it has put the library.
fn me() -> Result<PathBuf, Failed> {
    std::env::current_exe().map_err(|e| e.to_string().into())
}

/// The library that was built before this test, since its package depends on itself.
fn library() -> Result<PathBuf, Failed> {
    let path = me()?.with_file_name("libnvir_vgpu.so");
    if path.is_file() { Ok(path) } else { Err(format!("{} is missing", path.display()).into()) }
}

/// A program on the virtual GPU.
fn preloaded(program: impl AsRef<OsStr>, chip: &str) -> Result<Command, Failed> {
    let mut command = Command::new(program);
    command
        .env("LD_PRELOAD", library()?)
        .env("NOUVEAU_CHIPSET", chip)
        .env("MESA_SHADER_CACHE_DISABLE", "true");
    command.env("RUSTICL_ENABLE", "nouveau").env("NOUVEAU_ENABLE_CL", "1").env("OCL_ICD_VENDORS", RUSTICL);
    command.env("EGL_PLATFORM", "surfaceless");
    Ok(command)
}

/// Runs the client's rows on a chip.
fn client(chip: &str, variables: &[(&str, &str)]) -> Result<(), Failed> {
    let mut command = preloaded(me()?, chip)?;
    command.env(CLIENT, "1").envs(variables.iter().copied());
    let out = command.output().map_err(|e| e.to_string())?;
    let text = String::from_utf8_lossy(&out.stdout);
    if out.status.success() && text.to_ascii_lowercase().contains(&format!("| nv{chip} |")) {
        return Ok(());
    }
    Err(format!("{}\n{text}{}", out.status, String::from_utf8_lossy(&out.stderr)).into())
}

/// The variables that programs use the Mesa with that `contrib/mesa/build` made in the folder `NVIR_MESA`.
fn mesa_with_nvir() -> Option<Vec<(String, String)>> {
    let text = std::fs::read_to_string(PathBuf::from(std::env::var_os("NVIR_MESA")?).join("env")).ok()?;
    Some(text.lines().filter_map(|l| l.split_once('=')).map(|(n, v)| (n.into(), v.into())).collect())
}

/// Runs the client with the driver that has nvir in it; what it writes of the two compilers.
fn client_with_nvir(chip: &str, variables: &[(&str, &str)]) -> Result<String, Failed> {
    let mesa = mesa_with_nvir().ok_or("there is no Mesa with nvir")?;
    let name: String =
        variables.iter().map(|(name, value)| format!("{name}-{}-", value.replace('/', "_"))).collect();
    let log = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}{chip}.log"));
    _ = std::fs::remove_file(&log);
    let file = log.to_string_lossy();
    let mut all: Vec<(&str, &str)> = mesa.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    all.push(("NVIR_LOG", &file));
    all.extend(variables);
    client(chip, &all)?;
    Ok(std::fs::read_to_string(&log).unwrap_or_default())
}

/// With both compilers: both compile each of the client's compute shaders, from the language that the driver is told to use,
/// and what ours makes gives the right values. Programs that the driver makes for itself are TGSI.
fn compared(chip: &str, language: &str, variables: &[(&str, &str)]) -> Result<(), Failed> {
    let log = client_with_nvir(chip, &[&[("NVIR", "compare")], variables].concat())?;
    let all = || log.lines().filter(|l| l.starts_with("nvir compare: "));
    let rows: Vec<_> = all().filter(|l| l.contains(" compute ")).collect();
    let form = format!(" {} compute {language} result 0 0 ", kernel_chip(chip));
    let total = format!("nvir total: compute {} shaders", rows.len());
    if all().all(|r| r.contains(" result 0 0 "))
        && rows.len() >= 8
        && rows.iter().all(|r| r.contains(&form))
        && log.contains(&total)
    {
        return Ok(());
    }
    Err(log.into())
}

/// nvir's name of a chipset.
fn kernel_chip(chip: &str) -> &str {
    match chip {
        "c0" => "gf100",
        "e4" => "gk104",
        _ => "gk110",
    }
}

/// With one compiler: it makes every program of the client, and nothing else is said.
fn alone(chip: &str, compiler: &str, variables: &[(&str, &str)]) -> Result<(), Failed> {
    let log = client_with_nvir(chip, variables)?;
    let (begins, made) = (format!("nvir made: {} ", kernel_chip(chip)), format!(" by {compiler} result 0 "));
    let shaders = log.lines().filter(|l| l.contains(" compute ")).count();
    let all_made = log.lines().all(|l| l.starts_with(&begins) && l.contains(&made));
    if all_made && shaders >= 8 { Ok(()) } else { Err(log.into()) }
}

/// Builds one of the clients that are in C.
fn cc(client: &str, result: &Path, options: &[&OsStr]) -> Result<(), Failed> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(client);
    let mut cc = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    cc.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-o"]).arg(result).arg(source).args(options);
    let out = cc.output().map_err(|e| format!("cc: {e}"))?;
    if out.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&out.stderr).into_owned().into()) }
}

/// With a library that refuses every program: the driver falls back to Mesa's compiler only if it is asked to, and what is
/// wrong is said once, however often the driver tries.
fn refused(chip: &str) -> Result<(), Failed> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("refusing_{chip}"));
    std::fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
    let include = root.join("../capi/include");
    cc(
        "refusing.c",
        &folder.join("libnvir.so"),
        &["-shared".as_ref(), "-fPIC".as_ref(), "-I".as_ref(), include.as_ref()],
    )?;
    let mut path = folder.to_string_lossy().into_owned();
    for (_, folders) in mesa_with_nvir().unwrap_or_default().iter().filter(|(n, _)| n == "LD_LIBRARY_PATH") {
        path = format!("{path}:{folders}");
    }
    let library = ("LD_LIBRARY_PATH", &*path);
    client_with_nvir(chip, &[library, ("NVIR_FALLBACK", "1")])?;
    let said = match client_with_nvir(chip, &[library]) {
        Ok(_) => return Err("the client ran without code".into()),
        Err(failed) => failed.message().unwrap_or_default().to_string(),
    };
    if said.matches("nvir: this is refused").count() == 1 { Ok(()) } else { Err(said.into()) }
}

/// Eight contexts in eight threads compile and draw at once, with the driver that has nvir in it where it is there.
fn contexts(chip: &str) -> Result<(), Failed> {
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("contexts_{chip}"));
    cc("contexts.c", &program, &["-lEGL", "-lGLESv2", "-lpthread"].map(OsStr::new))?;
    for variables in [Some(Vec::new()), mesa_with_nvir()].into_iter().flatten() {
        let mut command = preloaded(&program, chip)?;
        command.envs(variables);
        let out = command.output().map_err(|e| e.to_string())?;
        let said = String::from_utf8_lossy(&out.stdout);
        if !out.status.success() || !said.contains("8 contexts, 12 programs each, 0 components wrong") {
            return Err(format!("{}\n{said}{}", out.status, String::from_utf8_lossy(&out.stderr)).into());
        }
    }
    Ok(())
}

/// A sample of piglit's compute shader tests, at least 60.
fn piglit(chip: &str, options: &[&OsStr]) -> Result<(), Failed> {
    let library = library()?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).ok_or("no root")?;
    let mut command = Command::new("python3");
    command
        .arg(root.join("scripts/piglit"))
        .args([chip, "--every", "25", "--library"])
        .arg(library)
        .args(options);
    let out = command.output().map_err(|e| e.to_string())?;
    let text = String::from_utf8_lossy(&out.stdout);
    let tests = text.lines().find_map(|l| l.split_once(" tests in ")?.0.parse::<u32>().ok());
    if out.status.success() && tests.is_some_and(|n| n >= 60) {
        return Ok(());
    }
    Err(format!("{}\n{text}{}", out.status, String::from_utf8_lossy(&out.stderr)).into())
}

const MODERNGL: &str = "moderngl";
const PYOPENCL: &str = "pyopencl, numpy, mako";

/// A client in Python, which prints `ok` as its last line.
fn python(chip: &str, modules: &str, name: &str) -> Result<(), Failed> {
    let client = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(name);
    let python = python_with(modules).ok_or("there is no such Python")?;
    let out = preloaded(python, chip)?.arg(client).output().map_err(|e| e.to_string())?;
    let text = String::from_utf8_lossy(&out.stdout);
    if out.status.success() && text.trim_end().ends_with("ok") {
        return Ok(());
    }
    Err(format!("{}\n{text}{}", out.status, String::from_utf8_lossy(&out.stderr)).into())
}

/// What `clinfo` says of the card through rusticl.
fn clinfo(chip: &str) -> Result<(), Failed> {
    let out = preloaded("clinfo", chip)?.output().map_err(|e| e.to_string())?;
    let text = String::from_utf8_lossy(&out.stdout);
    let name = format!("NV{}", chip.to_uppercase());
    if out.status.success()
        && text.lines().any(|l| l.trim_start().starts_with("Device Name") && l.ends_with(&name))
    {
        return Ok(());
    }
    Err(format!("{}\n{text}{}", out.status, String::from_utf8_lossy(&out.stderr)).into())
}

/// A Python that has modules: the one that `PYTHON` names, the first in PATH, or the system's.
fn python_with(modules: &str) -> Option<OsString> {
    let named = std::env::var_os("PYTHON");
    let all = named.into_iter().chain(["python3", "/usr/bin/python3"].map(OsString::from));
    let mut all = all.filter(|python| {
        let import = Command::new(python).args(["-c", &format!("import {modules}")]).output();
        import.is_ok_and(|o| o.status.success())
    });
    all.next()
}

fn program(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|p| p.join(name).is_file())
}

/// What a test needs that may not be there: its name, and what to install.
struct Needed {
    there: bool,
    what: &'static str,
}

impl Needed {
    fn of(there: bool, what: &'static str) -> Needed {
        if !there {
            eprintln!("SKIPPED: {what} is not installed");
        }
        Needed { there, what }
    }
}

fn main() -> ExitCode {
    if std::env::var_os(CLIENT).is_some() {
        return gl_client::main();
    }
    let arguments = Arguments::from_args();
    let driver = Needed::of(
        DRIVERS.iter().any(|d| Path::new(d).join("nouveau_dri.so").exists()),
        "Mesa with nouveau_dri.so (Debian: libegl1 libgl1-mesa-dri)",
    );
    let tests = Needed::of(PIGLIT.iter().any(|p| Path::new(p).exists()), "piglit (Debian: piglit)");
    let rusticl = Needed::of(
        program("clinfo") && Path::new(RUSTICL).exists(),
        "clinfo with rusticl (Debian: clinfo mesa-opencl-icd)",
    );
    let moderngl =
        Needed::of(python_with(MODERNGL).is_some(), "Python with moderngl (Debian: python3-moderngl)");
    let pyopencl = Needed::of(
        Path::new(RUSTICL).exists() && python_with(PYOPENCL).is_some(),
        "Python with pyopencl and rusticl (pip: pyopencl numpy mako; Debian: mesa-opencl-icd)",
    );
    let egl = Needed::of(
        driver.there && Path::new("/usr/include/GLES3/gl3.h").exists(),
        "OpenGL ES to build with (Debian: libegl-dev libgles-dev)",
    );
    let nvir = Needed::of(
        mesa_with_nvir().is_some(),
        "Mesa with nvir (contrib/mesa/build, then NVIR_MESA=its folder)",
    );
    // Later versions have no variable for the folder of drivers, and no TGSI.
    let folder = mesa_with_nvir().is_some_and(|all| all.iter().any(|(name, _)| name == "LIBGL_DRIVERS_PATH"));
    let tgsi = Needed::of(folder, "Mesa 22.3 with nvir");
    type Run = fn(&str) -> Result<(), Failed>;
    let kinds: [(&str, &[&Needed], Run); 15] = [
        ("client", &[&driver], |chip| client(chip, &[])),
        ("checked_client", &[&driver], |chip| client(chip, &[("NVIR_VGPU_CHECK", "all")])),
        ("client_on_threads", &[&driver], |chip| client(chip, &[("NVIR_VGPU_THREADS", "0")])),
        ("nvir_from_nir", &[&driver, &nvir], |chip| compared(chip, "nir", &[])),
        ("nvir_from_tgsi", &[&driver, &tgsi], |chip| compared(chip, "tgsi", &[("NV50_PROG_USE_TGSI", "1")])),
        ("refused_by_nvir", &[&driver, &nvir], refused),
        ("nvir_in_mesa", &[&driver, &nvir], |chip| alone(chip, "nvir", &[])),
        ("nvir_with_nir_of_mesa", &[&driver, &nvir], |chip| alone(chip, "nvir", &[("NVIR_NIR", "0")])),
        ("without_nvir", &[&driver, &nvir], |chip| alone(chip, "mesa", &[("NVIR", "0")])),
        ("piglit", &[&driver, &tests], |chip| piglit(chip, &[])),
        ("piglit_with_nvir", &[&driver, &tests, &nvir], |chip| {
            let mesa = std::env::var_os("NVIR_MESA").ok_or("there is no Mesa with nvir")?;
            piglit(chip, &["--mesa".as_ref(), mesa.as_ref()])
        }),
        ("contexts", &[&driver, &egl], contexts),
        ("clinfo", &[&driver, &rusticl], clinfo),
        ("moderngl", &[&driver, &moderngl], |chip| python(chip, MODERNGL, "moderngl_client.py")),
        ("pyopencl", &[&driver, &pyopencl], |chip| python(chip, PYOPENCL, "pyopencl_client.py")),
    ];
    let mut trials = Vec::new();
    for (name, needs, run) in kinds {
        for chip in CHIPS {
            let missing = needs.iter().find(|n| !n.there);
            let trial = Trial::test(format!("{name}_{chip}"), move || run(chip));
            let kind =
                missing.map_or(String::new(), |n| n.what.split(" (").next().unwrap_or_default().to_string());
            trials.push(trial.with_ignored_flag(missing.is_some()).with_kind(kind));
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}
