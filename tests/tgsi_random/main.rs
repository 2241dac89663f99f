//! Random TGSI programs: what the compiler makes of them computes what the reference interpreter does.
//!
//! A short run is part of the tests. For a long one, with a budget in seconds:
//!
//! ```text
//! NVIR_FUZZ_SECONDS=600 cargo test --release --test tgsi_random -- --nocapture
//! ```
//!
//! A failure prints the program, a smaller one, the first pass that matters, and the seed; `NVIR_FUZZ_SEED=0x...` repeats it, and with
//! `NVIR_FUZZ_MINIMIZE=1` looks for a smaller program that fails.

mod generate;
mod reduce;

use arbtest::arbtest;
use generate::{THREADS, WORDS};
use nvir::compile::{self, Options};
use nvir::driver::Abi;
use nvir::emu;
use nvir::front::tgsi::{self, interp};
use nvir::front::{Language, Request};
use nvir::{Chip, diag};

const BYTES: u64 = (THREADS * WORDS * 4) as u64;
const SHARED: u32 = THREADS * 16;

fn budget(share: u64) -> u64 {
    let seconds = std::env::var("NVIR_FUZZ_SECONDS").ok().and_then(|s| s.parse::<u64>().ok());
    seconds.map_or(2_000, |s| s * 1000) / share
}

/// Memory with the input and the output buffer.
fn memory(input: &[u8]) -> (emu::Memory, [u64; 2]) {
    let mut m = emu::Memory::new();
    let at = [(); 2].map(|()| m.alloc(BYTES, 256).expect("small"));
    m.write(at[0], input).expect("inside");
    (m, at)
}

fn words(m: &emu::Memory, at: u64) -> Vec<u32> {
    let bytes = m.read(at, BYTES).expect("inside");
    bytes.chunks(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect()
}

fn interpreted(text: &str, input: &[u8]) -> Result<Vec<u32>, String> {
    let program = tgsi::parse(text).map_err(|d| diag::render(&d, "random", text, false))?;
    let (mut m, at) = memory(input);
    let mut launch = interp::Launch::new(&program);
    launch.block = [THREADS, 1, 1];
    launch.shared_bytes = SHARED;
    launch.buffers = at.map(|a| (a, BYTES)).to_vec();
    launch.step_limit = 1 << 24;
    interp::run(&launch, &mut m).map_err(|f| diag::render(&f.diagnostic().into(), "random", text, false))?;
    Ok(words(&m, at[1]))
}

fn compiled(text: &str, input: &[u8], chip: Chip, options: &Options) -> Result<Vec<u32>, String> {
    let abi = Abi::nvc0(chip);
    let request = Request { text, chip, abi: &abi, entry: None, pointer_align: 4, private_bytes: 0 };
    let render = |d: diag::Diagnostics| diag::render(&d, "random", text, false);
    let program = nvir::front::program(Language::Tgsi, &request).map_err(render)?;
    let image = compile::compile(program, chip, options).map_err(render)?;
    let code = emu::Program::new(chip, &image.code);
    let (mut m, at) = memory(input);
    let mut launch = emu::Launch::new(&code);
    launch.entry = image.entry;
    launch.block = [THREADS, 1, 1];
    launch.gprs = image.gprs.max(1);
    launch.local_bytes = image.local_bytes;
    launch.shared_bytes = SHARED;
    let aux = usize::from(abi.aux_bank);
    for (n, a) in at.into_iter().enumerate() {
        let table = [a as u32, (a >> 32) as u32, BYTES as u32, 0];
        for (i, w) in table.into_iter().enumerate() {
            launch.set_const_u32(aux, usize::from(abi.buf_info) + 16 * n + 4 * i, w);
        }
    }
    for (i, w) in [THREADS, 1, 1, 1, 1, 1].into_iter().enumerate() {
        launch.set_const_u32(aux, usize::from(abi.grid_info) + 4 * i, w);
    }
    launch.set_const_u32(0, 0, 0);
    let mut run = emu::Options { step_limit: 1 << 22, ..emu::Options::default() };
    emu::run(&launch, &mut m, &mut run).map_err(|f| f.to_string())?;
    Ok(words(&m, at[1]))
}

fn options(chip: Chip, opt_level: u8) -> Options {
    let mut options = Options::new(chip);
    options.opt_level = opt_level;
    options.threads = Some(THREADS);
    options
}

/// What the compiled program does otherwise than the interpreter; nothing if the interpreter refuses the program.
fn difference(text: &str, input: &[u8], chip: Chip, options: &Options) -> Option<String> {
    let want = interpreted(text, input).ok()?;
    match compiled(text, input, chip, options) {
        Err(e) => Some(e),
        Ok(got) => {
            let n = (0..want.len()).find(|&n| got[n] != want[n])?;
            let (thread, word) = (n as u32 / WORDS, n as u32 % WORDS);
            Some(format!("thread {thread}, word {word}: {:#x}, the interpreter says {:#x}", got[n], want[n]))
        }
    }
}

/// Words with many special values among them.
fn input(u: &mut arbitrary::Unstructured<'_>) -> arbitrary::Result<Vec<u8>> {
    const SPECIAL: [u32; 12] = [
        0,
        1,
        2,
        31,
        0x8000_0000,
        u32::MAX,
        0x3f80_0000,
        0xbf80_0000,
        0x7f80_0000,
        0x7fc0_0000,
        0x0000_0001,
        0x7fef_ffff,
    ];
    let mut state: u32 = u.arbitrary()?;
    let mut bytes = Vec::new();
    for _ in 0..THREADS * WORDS {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let pick = (state >> 8) as usize;
        let word = if pick & 3 == 0 { SPECIAL[(pick >> 2) % SPECIAL.len()] } else { state ^ state >> 16 };
        bytes.extend(word.to_le_bytes());
    }
    Ok(bytes)
}

/// One random program: on every chip, unoptimised and optimised, it leaves what the interpreter leaves.
fn check(u: &mut arbitrary::Unstructured<'_>) -> arbitrary::Result<()> {
    let data = input(u)?;
    let text = generate::program(u)?;
    interpreted(&text, &data).unwrap_or_else(|e| panic!("{text}\n{e}"));
    for chip in Chip::ALL {
        for level in [0, 3] {
            let options = options(chip, level);
            if let Some(why) = difference(&text, &data, chip, &options) {
                let small = reduce::reduce(&text, |t| difference(t, &data, chip, &options).is_some());
                let smaller = difference(&small, &data, chip, &options).unwrap_or_default();
                let pass = (0..400).find(|&n| {
                    let limited = Options { bisect_limit: Some(n), ..options.clone() };
                    difference(&small, &data, chip, &limited).is_some()
                });
                panic!(
                    "{text}\n{chip} -O{level}: {why}\n\n{small}\n{smaller}\nfirst wrong with --bisect-limit {pass:?}"
                );
            }
        }
    }
    Ok(())
}

#[test]
fn compiled_programs_compute_what_the_interpreter_computes() {
    /// Bytes that a program of the short run is made from.
    const SIZE: u64 = 1200;
    let seed = std::env::var("NVIR_FUZZ_SEED").ok();
    let seed = seed.and_then(|s| u64::from_str_radix(s.trim_start_matches("0x"), 16).ok());
    match seed {
        Some(seed) if std::env::var_os("NVIR_FUZZ_MINIMIZE").is_some() => {
            arbtest(check).seed(seed).budget_ms(6_000).minimize().run();
        }
        Some(seed) => arbtest(check).seed(seed).run(),
        None if std::env::var_os("NVIR_FUZZ_SECONDS").is_some() => {
            arbtest(check).size_min(1 << 10).size_max(1 << 14).budget_ms(budget(2)).run();
        }
        None => (1..=31).for_each(|n| arbtest(check).seed(n << 32 | SIZE).run()),
    }
}

#[test]
fn mutated_texts_end_in_a_result_or_diagnostics() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tgsi");
    let mut texts: Vec<String> = std::fs::read_dir(folder)
        .expect("the folder is there")
        .filter_map(|e| e.ok().map(|e| e.path()))
        .filter(|p| p.extension().is_some_and(|e| e == "tgsi"))
        .filter_map(|p| std::fs::read_to_string(p).ok())
        .collect();
    texts.sort();
    arbtest(|u| {
        let mut text = u.choose(&texts)?.clone();
        for _ in 0..u.int_in_range(1..=6)? {
            let at = text.floor_char_boundary(u.int_in_range(0..=text.len())?);
            let end = text.floor_char_boundary((at + u.int_in_range(0..=12)?).min(text.len()));
            let other = u.choose(&texts)?;
            let from = other.floor_char_boundary(u.int_in_range(0..=other.len())?);
            let to = other.floor_char_boundary((from + u.int_in_range(0..=12)?).min(other.len()));
            text.replace_range(at..end, &other[from..to]);
            if u.ratio(1, 16)? {
                let cut = text.floor_char_boundary(u.int_in_range(0..=text.len())?);
                text.truncate(cut);
            }
        }
        for chip in Chip::ALL {
            let abi = Abi::nvc0(chip);
            let request =
                Request { text: &text, chip, abi: &abi, entry: None, pointer_align: 4, private_bytes: 64 };
            match nvir::front::program(Language::Tgsi, &request) {
                Ok(program) => {
                    if let Err(v) = nvir::ir::verify::program(&program, nvir::ir::verify::Phase::Front) {
                        panic!("{text}\n{v}");
                    }
                }
                Err(d) => drop(diag::render(&d, "mutated", &text, false)),
            }
        }
        Ok(())
    })
    .size_min(1 << 8)
    .size_max(1 << 10)
    .budget_ms(budget(2));
}
