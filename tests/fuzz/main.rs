//! Mutants of everything that is read: TGSI, NIR, IR, SASS text, fixtures, cubins. Whatever is done to an input, there
//! is a result or a diagnostic, soon and in bounded memory: never a panic, nor an error that the library reports of itself.
//!
//! `NVIR_FUZZ_PROGRAMS=100000 NVIR_FUZZ_SEED=7 cargo test --release --test fuzz -- tgsi` makes as many mutants of a format.
//! A mutant depends on seed and number alone: `NVIR_FUZZ_FIRST=1234 NVIR_FUZZ_PROGRAMS=1` makes that one again.
//! `NVIR_FUZZ_FOLDER` is where those that failed are left (`nvir-fuzz-NUMBER.FORMAT`; `nvir-fuzz-now.FORMAT` is the one
//! that a process died of), `NVIR_FUZZ_CORPUS` a folder of further seeds, `NVIR_FUZZ_KNOWN` what is counted, not
//! reported (parts of messages between semicolons).

mod campaign;
mod code;
mod fixtures;
mod mutate;
mod programs;
mod seeds;

/// What the library says of itself when something is wrong in it.
fn own_fault(message: &str) -> Result<(), String> {
    match message.lines().find(|l| l.contains("internal error") || l.contains("bug in nvir")) {
        Some(line) => Err(line.to_string()),
        None => Ok(()),
    }
}
