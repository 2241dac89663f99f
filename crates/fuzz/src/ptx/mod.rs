//! Random PTX: what NVIDIA's ptxas makes of it computes in the emulator what the PTX ISA says, by an evaluator that
//! shares nothing with the emulator. Needs ptxas (`CUDA_BIN` or `PATH`); `tests/ptx_recorded.rs` runs 320 kernels that it
//! made once.

mod eval;
mod float;
mod generate;
mod int;
mod program;
pub mod record;
mod video;

use crate::runner::Tally;
use nvir::emu::{self, Memory, Options};
use nvir::image::cubin::{Cubin, link};
use nvir::random::Random;
use program::{Kernel, Stmt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Kernels of a module: ptxas takes as long to start as for a dozen of them.
const MODULE: u64 = 16;

/// ptxas, if it is there.
pub fn ptxas() -> Option<PathBuf> {
    let folders = std::env::var_os("CUDA_BIN").into_iter().chain(std::env::var_os("PATH"));
    folders
        .flat_map(|f| std::env::split_paths(&f).collect::<Vec<_>>())
        .map(|f| f.join("ptxas"))
        .find(|f| f.is_file())
}

/// What ptxas makes of a text.
pub fn assemble(ptxas: &Path, text: &str, level: u64) -> Result<Vec<u8>, String> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let n = NUMBER.fetch_add(1, Relaxed);
    let stem = std::env::temp_dir().join(format!("nvir-ptx-{}-{n}", std::process::id()));
    let (source, target) = (stem.with_extension("ptx"), stem.with_extension("cubin"));
    let made = std::fs::write(&source, text).map_err(|e| e.to_string()).and_then(|()| {
        let output = Command::new(ptxas)
            .args(["-arch=sm_35", &format!("-O{level}"), "-o"])
            .args([&target, &source])
            .output()
            .map_err(|e| e.to_string())?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        std::fs::read(&target).map_err(|e| e.to_string())
    });
    let _ = (std::fs::remove_file(&source), std::fs::remove_file(&target));
    made
}

/// What a kernel of a cubin leaves in the emulator.
pub fn emulate(file: &Cubin, name: &str, threads: u32, input: &[u32]) -> Result<Vec<u32>, String> {
    let kernel = file.kernel(name).map_err(|e| e.to_string())?;
    let kernel = link::link(kernel, file.chip, |_| Some(0)).map_err(|e| e.to_string())?;
    let mut memory = Memory::new();
    let bytes: Vec<u8> = input.iter().flat_map(|w| w.to_le_bytes()).collect();
    let alloc = |m: &mut Memory, n: u64| m.alloc(n, 16).map_err(|e| e.to_string());
    let input = alloc(&mut memory, bytes.len() as u64)?;
    memory.write(input, &bytes).map_err(|e| e.to_string())?;
    let size = u64::from(program::out_bytes(threads));
    let output = alloc(&mut memory, size)?;
    let params: Vec<u8> = [input, output].iter().flat_map(|a| a.to_le_bytes()).collect();
    let code = emu::Program::new(file.chip, &kernel.code);
    let launch = nvir_fixture::cuda::launch(&code, &kernel, [1; 3], [threads, 1, 1], &params, 0);
    let mut options = Options { step_limit: 1 << 24, ..Options::default() };
    emu::run(&launch, &mut memory, &mut options).map_err(|e| e.to_string())?;
    let left = memory.read(output, size).map_err(|e| e.to_string())?;
    Ok(left.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect())
}

/// The first word that differs.
pub fn difference(k: &Kernel, got: &[u32], want: &[u32]) -> Option<String> {
    let n = (0..want.len()).find(|&n| got.get(n) != want.get(n))?;
    let per = program::outputs() as usize;
    let place = format!("thread {}, word {} ({})", n / per, n % per, program::output_name(n % per));
    Some(format!(
        "{}, seed {:#x}: word {n}, {place}: {:#x}, the PTX ISA says {:#x}",
        k.name, k.seed, got[n], want[n]
    ))
}

/// What is wrong with one kernel by itself.
fn wrong(ptxas: &Path, k: &Kernel, level: u64) -> Option<String> {
    let input = generate::inputs(k);
    let data = assemble(ptxas, &program::module(std::slice::from_ref(k)), level).ok()?;
    let file = Cubin::read(&data).ok()?;
    let want = eval::run(k, &input);
    match emulate(&file, &k.name, k.threads, &input) {
        Err(e) => Some(e),
        Ok(got) => difference(k, &got, &want),
    }
}

/// Takes statements out of a list, and out of what they contain, for as long as the kernel stays wrong.
fn reduce(k: &Kernel, fails: &dyn Fn(&Kernel) -> bool) -> Kernel {
    let mut k = k.clone();
    let mut size = 16;
    while size > 0 {
        let mut n = 0;
        while n < size_of(&k.body) {
            let mut smaller = k.clone();
            for _ in 0..size {
                remove(&mut smaller.body, &mut n.clone());
            }
            if size_of(&smaller.body) < size_of(&k.body) && fails(&smaller) {
                k = smaller;
            } else {
                n += size;
            }
        }
        size /= 2;
    }
    k
}

fn size_of(all: &[Stmt]) -> usize {
    all.iter()
        .map(|s| match s {
            Stmt::If(_, _, a, b) => 1 + size_of(a) + size_of(b),
            Stmt::Loop { body, .. } => 1 + size_of(body),
            _ => 1,
        })
        .sum()
}

/// Removes statement `n`, counted in the order of the text.
fn remove(all: &mut Vec<Stmt>, n: &mut usize) -> bool {
    for i in 0..all.len() {
        if *n == 0 {
            // Parts of a chain of carries mean nothing without the others.
            let carry = |i: &program::Inst| {
                let cc = program::Reg(program::File::Carry, 0);
                i.dst.contains(&cc) || i.src.contains(&program::Src::Reg(cc))
            };
            if matches!(&all[i], Stmt::Inst(i) if carry(i)) {
                return true;
            }
            all.remove(i);
            return true;
        }
        *n -= 1;
        let done = match &mut all[i] {
            Stmt::If(_, _, a, b) => remove(a, n) || remove(b, n),
            Stmt::Loop { body, .. } => remove(body, n),
            _ => false,
        };
        if done {
            return true;
        }
    }
    false
}

/// The kernels of a case, and the level at which they are compiled.
fn module(case: u64) -> (Vec<Kernel>, u64) {
    let mut rng = Random::new(0x9e37_79b9_7f4a_7c15 ^ case);
    let level = rng.pick(&[0, 1, 2, 3, 3, 3]);
    let kernels = (0..MODULE)
        .map(|i| {
            let size = 4 + rng.below(80) as usize;
            generate::kernel(&format!("k{i}"), rng.word(), 64, size)
        })
        .collect();
    (kernels, level)
}

/// Why it cannot run here.
pub fn missing() -> Option<String> {
    ptxas().is_none().then(|| "ptxas is neither in CUDA_BIN nor in PATH".into())
}

/// The input of a case.
pub fn input(case: u64) -> (Vec<u8>, &'static str) {
    (program::module(&module(case).0).into_bytes(), "ptx")
}

/// Makes a case and tries it.
pub fn case(case: u64, tally: &mut Tally) -> Result<(), String> {
    let ptxas = ptxas().ok_or("there is no ptxas")?;
    let (kernels, level) = module(case);
    let text = program::module(&kernels);
    let data = assemble(&ptxas, &text, level).map_err(|e| {
        let number = |e: &str| e.split("line ").nth(1)?.split(';').next()?.parse::<usize>().ok();
        let said = e.lines().filter(|l| l.contains("error")).map(|l| {
            let line = number(l).and_then(|n| text.lines().nth(n - 1)).unwrap_or_default();
            format!("ptxas refuses `{line}`: {l}\n")
        });
        said.collect::<String>()
    })?;
    let file = Cubin::read(&data).map_err(|e| format!("a cubin of ptxas is refused: {e}"))?;
    for k in &kernels {
        let input = generate::inputs(k);
        let want = eval::run(k, &input);
        let why = match emulate(&file, &k.name, k.threads, &input) {
            Err(e) => Some(e),
            Ok(got) => difference(k, &got, &want),
        };
        if let Some(why) = why {
            let small = reduce(k, &|k| wrong(&ptxas, k, level).is_some());
            let again = wrong(&ptxas, &small, level).unwrap_or_default();
            return Err(format!("-O{level}: {why}\n{}{again}", program::kernel_body(&small)));
        }
    }
    tally.count("compared");
    Ok(())
}
