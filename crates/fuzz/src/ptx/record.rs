//! The recorded set: kernels of the generator as ptxas made them, with what they must leave. It needs no ptxas.
//!
//! `tests/data/ptx/recorded.bin` is a sequence of modules: `u32` bytes of the cubin, the cubin, `u32` number of kernels,
//! and for each kernel its seed (`u64`), what the first `SHOWN` threads leave in registers, and a sum (`u64`, FNV-1a)
//! of everything that the kernel leaves. Inputs come from the seed. All numbers are little-endian.

use super::program::{self, Kernel};
use super::{assemble, difference, emulate, eval, generate, ptxas};
use nvir::image::cubin::Cubin;
use nvir::random::Random;
use object::{Object, ObjectSection, ObjectSymbol};

const MODULES: u64 = 20;
const KERNELS: u64 = 16;
const THREADS: u32 = 32;
/// Threads whose registers are recorded by value, and the words of a thread's registers and predicates.
const SHOWN: usize = 4;
const REGISTERS: usize = 37;

fn path() -> std::path::PathBuf {
    crate::project().join("tests/data/ptx/recorded.bin")
}

fn sum(words: &[u32]) -> u64 {
    words
        .iter()
        .flat_map(|w| w.to_le_bytes())
        .fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

fn shown(left: &[u32]) -> Vec<u32> {
    left.chunks(program::outputs() as usize)
        .take(SHOWN)
        .flat_map(|t| t[..REGISTERS].iter().copied())
        .collect()
}

/// The kernel that a seed stands for, as far as its inputs and sizes go.
fn named(n: u64, seed: u64) -> Kernel {
    Kernel { name: format!("k{n}"), threads: THREADS, body: Vec::new(), seed }
}

fn record(ptxas: &std::path::Path) {
    let mut data = Vec::new();
    for m in 0..MODULES {
        let mut rng = Random::new(0x7ec0_4d00 + m);
        let kernels: Vec<Kernel> = (0..KERNELS)
            .map(|n| generate::kernel(&format!("k{n}"), rng.word(), THREADS, 8 + rng.below(24) as usize))
            .collect();
        let level = [3, 3, 1, 2][m as usize % 4];
        let cubin = assemble(ptxas, &program::module(&kernels), level).expect("ptxas takes it");
        let file = object::File::parse(&*cubin).expect("an ELF file");
        let ours = |name: &str| kernels.iter().any(|k| k.name == name);
        // No subroutine of NVIDIA's: no code and no function but ours.
        for s in file.sections() {
            let name = s.name().unwrap_or_default();
            assert!(
                name.strip_prefix(".text").is_none_or(|n| n.strip_prefix('.').is_some_and(ours)),
                "{name}"
            );
        }
        for s in file.symbols() {
            let name = s.name().unwrap_or_default();
            assert!(s.kind() != object::SymbolKind::Text || ours(name), "{name}");
        }
        data.extend((cubin.len() as u32).to_le_bytes());
        data.extend(&cubin);
        data.extend((kernels.len() as u32).to_le_bytes());
        for k in &kernels {
            let left = eval::run(k, &generate::inputs(k));
            // What is recorded is true now; a disagreement says more here than later.
            let read = Cubin::read(&cubin).expect("a cubin");
            let got = emulate(&read, &k.name, k.threads, &generate::inputs(k)).expect("it runs");
            if let Some(why) = difference(k, &got, &left) {
                eprintln!("module {m}: {why}\n{}", program::kernel_body(k));
            }
            data.extend(k.seed.to_le_bytes());
            data.extend(shown(&left).iter().flat_map(|w| w.to_le_bytes()));
            data.extend(sum(&left).to_le_bytes());
        }
    }
    std::fs::create_dir_all(path().parent().expect("a folder")).expect("it can be made");
    std::fs::write(path(), data).expect("it can be written");
}

/// Takes `n` bytes off the front.
fn take<'a>(data: &mut &'a [u8], n: usize) -> &'a [u8] {
    let (front, rest) = data.split_at(n);
    *data = rest;
    front
}

fn number(data: &mut &[u8], bytes: usize) -> u64 {
    take(data, bytes).iter().rev().fold(0, |n, &b| n << 8 | u64::from(b))
}

/// Runs the recorded kernels: how many there are, and what is wrong. With `NVIR_PTX_RECORD` they are made anew first.
pub fn check() -> (usize, Vec<String>) {
    if std::env::var_os("NVIR_PTX_RECORD").is_some() {
        record(&ptxas().expect("recording needs ptxas"));
    }
    let data = std::fs::read(path()).expect("the recorded set is there");
    let mut rest = data.as_slice();
    let mut cases = Vec::new();
    while !rest.is_empty() {
        let size = number(&mut rest, 4) as usize;
        let file = std::rc::Rc::new(Cubin::read(take(&mut rest, size)).expect("a cubin"));
        for n in 0..number(&mut rest, 4) {
            let seed = number(&mut rest, 8);
            let values: Vec<u32> = (0..SHOWN * REGISTERS).map(|_| number(&mut rest, 4) as u32).collect();
            cases.push((file.clone(), named(n, seed), values, number(&mut rest, 8)));
        }
    }
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|(file, k, values, all)| {
            let left = match emulate(file, &k.name, k.threads, &generate::inputs(k)) {
                Ok(left) => left,
                Err(e) => return Some(format!("{} of seed {:#x}: {e}", k.name, k.seed)),
            };
            let got = shown(&left);
            let at = (0..values.len()).find(|&n| got[n] != values[n]);
            let why = match at {
                Some(n) => {
                    let (t, r) = (n / REGISTERS, program::output_name(n % REGISTERS));
                    format!("thread {t}, {r}: {:#x}, the PTX ISA says {:#x}", got[n], values[n])
                }
                None if sum(&left) != *all => "other threads, or memory".to_owned(),
                None => return None,
            };
            Some(format!("{} of seed {:#x}: {why}", k.name, k.seed))
        })
        .collect();
    (cases.len(), wrong)
}
