//! What a driver does with the compiler, without a card: compile many shaders from several threads, keep them in a
//! cache, and read from each [`Shader`] what a launch has to set up.
//!
//!     cargo run --manifest-path examples/driver/Cargo.toml -- gk104 tgsi nir-fixtures

use nvir::compiler::CacheKey;
use nvir::diag::Fault;
use nvir::{Chip, Compiler, Language, Shader, Source};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const THREADS: usize = 8;

/// A shader program: its file, language and text.
struct Program {
    file: PathBuf,
    language: Language,
    text: String,
}

impl Program {
    fn source<'a>(&'a self, name: &'a str) -> Source<'a> {
        Source { language: self.language, text: &self.text, entry: None, name }
    }
}

type Compiled = Result<Shader, (Fault, String)>;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [chip, folders @ ..] = &args[..] else {
        eprintln!("usage: driver CHIP FOLDER...");
        return ExitCode::from(2);
    };
    let chip: Chip = match chip.parse() {
        Ok(chip) => chip,
        Err(e) => {
            eprintln!("{e}");
            return ExitCode::from(2);
        }
    };
    let mut programs = Vec::new();
    for folder in folders {
        find(Path::new(folder), &mut programs);
    }
    programs.sort_by(|a, b| a.file.cmp(&b.file));

    // One compiler for all threads: it has no state.
    let compiler = Compiler::new(chip);
    let one = compile_all(&compiler, &programs, 1);
    let eight = compile_all(&compiler, &programs, THREADS);
    let bytes = |all: &[Compiled]| -> Vec<Option<Vec<u8>>> {
        all.iter().map(|c| c.as_ref().ok().map(Shader::bytes)).collect()
    };
    if bytes(&one) != bytes(&eight) {
        eprintln!("{THREADS} threads make other code than one");
        return ExitCode::FAILURE;
    }

    let mut cache: BTreeMap<CacheKey, &Shader> = BTreeMap::new();
    let mut faults: BTreeMap<String, usize> = BTreeMap::new();
    for (program, compiled) in programs.iter().zip(&one) {
        match compiled {
            Ok(shader) => {
                println!("{}: {}", program.file.display(), facts(shader));
                cache.insert(compiler.cache_key(&program.source("")), shader);
            }
            Err((fault, why)) => {
                println!("{}: {fault:?}: {}", program.file.display(), why.lines().next().unwrap_or(""));
                *faults.entry(format!("{fault:?}")).or_default() += 1;
            }
        }
    }
    println!("{} programs, {} different shaders, errors: {faults:?}", programs.len(), cache.len());
    if faults.contains_key("Defect") { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn find(path: &Path, programs: &mut Vec<Program>) {
    if path.is_dir() {
        for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
            find(&entry.path(), programs);
        }
    } else if let Some(language) = Language::of(path)
        && let Ok(text) = std::fs::read_to_string(path)
    {
        programs.push(Program { file: path.to_path_buf(), language, text });
    }
}

fn compile_all(compiler: &Compiler, programs: &[Program], threads: usize) -> Vec<Compiled> {
    let next = AtomicUsize::new(0);
    let mut done: Vec<(usize, Compiled)> = std::thread::scope(|scope| {
        let work = || {
            let mut mine = Vec::new();
            loop {
                let n = next.fetch_add(1, Relaxed);
                let Some(program) = programs.get(n) else { return mine };
                let name = program.file.to_string_lossy();
                let result = compiler.compile(&program.source(&name));
                mine.push((n, result.map_err(|e| (e.fault(), e.to_string()))));
            }
        };
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|t| t.join().unwrap_or_default()).collect()
    });
    done.sort_by_key(|d| d.0);
    done.into_iter().map(|d| d.1).collect()
}

/// What a launch needs, and what there is to know.
fn facts(shader: &Shader) -> String {
    let uses = &shader.resources;
    let banks: Vec<String> = uses
        .constants
        .iter()
        .map(|c| match c.bytes {
            Some(bytes) => format!("c{}[{bytes}]", c.bank),
            None => format!("c{}[*]", c.bank),
        })
        .collect();
    let slots = |uses: &nvir::image::Uses| {
        let how = |read, written| if read && written { "rw" } else if written { "w" } else { "r" };
        let mut all: Vec<String> =
            uses.slots.iter().map(|u| format!("{}{}", u.slot, how(u.read, u.written))).collect();
        all.extend(uses.indexed.map(|a| format!("*{}", how(a.read, a.written))));
        all.join(",")
    };
    format!(
        "{} bytes of code, {} registers, {} local, {} stack, {} shared, {} barriers, block {:?}, {} input, {} warps; \
         {}; buffers {}; uniforms {}; images {}; textures {}; samplers {}; {} spills, {} cycles, {} lines",
        shader.code_bytes(),
        shader.launch_gprs(),
        shader.local_bytes,
        shader.stack_bytes,
        shader.shared_bytes,
        shader.barriers,
        shader.block_size,
        shader.input_bytes,
        shader.resident_warps(None),
        banks.join(" "),
        slots(&uses.buffers),
        slots(&uses.uniforms),
        slots(&uses.images),
        slots(&uses.textures),
        slots(&uses.samplers),
        shader.spills,
        shader.cycles,
        shader.lines.len(),
    )
}
