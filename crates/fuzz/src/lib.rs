//! Random programs and mutated inputs, and campaigns over them.
//!
//! A [`Target`] makes a case from a number and says what is wrong with what nvir makes of it: compiled programs are compared
//! with the interpreter of TGSI, the evaluator of IR, the arithmetic of the host or the PTX ISA; mutated inputs must end in a
//! result or a diagnostic, soon and in bounded memory. A case depends on its number alone, on every machine and whatever
//! ran before it: the number is all that a finding needs.
//!
//! [`runner`] runs ranges of cases, in threads and shards, watches time and memory, and groups what was found;
//! `tests/targets.rs` takes the first cases of each target; the program `nvir-fuzz` takes as many as one wants.
//! A new target is a file here and a line in [`TARGETS`].

mod compared;
mod config;
mod ir;
mod launches;
mod mutation;
pub mod nir;
mod nontermination;
pub mod ptx;
pub mod runner;
mod spirv;
mod tgsi;
mod vgpu;
mod whole_warp;

use runner::Tally;

/// One kind of case.
pub struct Target {
    /// As `nvir-fuzz` has it.
    pub name: &'static str,
    /// What is made and what it is compared with, in a line.
    pub about: &'static str,
    /// Why it cannot run here.
    pub missing: fn() -> Option<String>,
    /// Makes the case of that number and tries it. What is wrong with nvir is an `Err` or a panic.
    pub run: fn(case: u64, tally: &mut Tally) -> Result<(), String>,
    /// The input of a case, and the ending of a file for it.
    pub input: fn(case: u64) -> (Vec<u8>, &'static str),
    /// Cases that the tests take.
    pub short: u64,
    /// What at least one of twenty cases gets to, or the target has lost its way.
    pub reaches: &'static str,
}

/// A name, cases that the tests take, what they reach, the functions for a case and its input, what is made, and perhaps why it
/// cannot run here.
macro_rules! targets {
    (@missing) => { || None };
    (@missing $missing:path) => { $missing };
    ($($name:literal $short:literal $reaches:literal $run:path, $input:path $(, unless $missing:path)?: $about:literal;)*) => {
        /// All there are, in the order in which they are told about.
        pub const TARGETS: &[Target] = &[$(Target {
            name: $name,
            about: $about,
            missing: targets!(@missing $($missing)?),
            run: $run,
            input: $input,
            short: $short,
            reaches: $reaches,
        }),*];
    };
}

targets! {
    "tgsi" 40 "compared" tgsi::compute_case, tgsi::compute_input:
        "TGSI compute programs against the interpreter: memory, images, textures, loops, subroutines";
    "tgsi-stages" 70 "compared" tgsi::stages_case, tgsi::stages_input:
        "TGSI vertex and fragment programs against the interpreter: textures, derivatives, discard";
    "nir" 60 "compared" nir::case, nir::input:
        "NIR compute programs against the host's arithmetic: every ALU opcode at every size, branches, loops";
    "spirv" 60 "compared" spirv::case, spirv::input:
        "SPIR-V compute modules against the tree that they were made of: all widths, composites, control flow, calls, subgroups";
    "ir-passes" 150 "compared" ir::passes::case, ir::passes::input:
        "IR before and after each pass and each prefix of the pipeline, in the evaluator";
    "ir-registers" 800 "compared" ir::registers::case, ir::registers::input:
        "IR before and after register allocation, with 16 to 255 registers, in the evaluator";
    "ir-kernel" 150 "compared" ir::kernel::case, ir::kernel::input:
        "IR compiled to machine code, whole and in pieces that are linked, and emulated, against the evaluator";
    "endless-tgsi" 100 "ended" nontermination::tgsi, nontermination::tgsi_input:
        "TGSI that hardly ever comes back, in every construct, against an evaluator of warps and the interpreter";
    "endless-nir" 100 "ended" nontermination::nir, nontermination::nir_input:
        "NIR that hardly ever comes back, in every construct, against an evaluator of warps";
    "endless-ir" 100 "ended" nontermination::ir, nontermination::ir_input:
        "IR that hardly ever comes back, in every construct, against an evaluator of warps";
    "whole-warp" 40 "compared" whole_warp::case, whole_warp::input:
        "TGSI kernels whose tail runs with all lanes, against the interpreter: blocks of any shape, few registers";
    "engines" 30 "compared" whole_warp::engines, whole_warp::input:
        "the same by the compiled engine of the emulator, alone and block by block against the interpreter";
    "launches" 9 "ended" launches::case, launches::input:
        "machine code compiled by that engine and launched 256 times, alone and block by block against the interpreter";
    "mutants-tgsi" 1500 "accepted" mutation::programs::tgsi, mutation::programs::tgsi_input:
        "mutated TGSI: a result or a diagnostic with a place";
    "mutants-nir" 1500 "accepted" mutation::programs::nir, mutation::programs::nir_input:
        "mutated NIR";
    "mutants-spirv" 1500 "accepted" mutation::programs::spirv, mutation::programs::spirv_input:
        "mutated SPIR-V modules";
    "mutants-ir" 2500 "valid" mutation::programs::ir, mutation::programs::ir_input:
        "mutated IR";
    "mutants-sass" 2000 "assembled" mutation::code::sass, mutation::code::sass_input:
        "mutated SASS listings: assembled, printed, assembled again, run";
    "mutants-cubin" 2000 "read" mutation::code::cubin, mutation::code::cubin_input:
        "mutated cubins: read, printed, written again, run";
    "mutants-fixture" 2000 "parsed" mutation::fixtures::fixture, mutation::fixtures::fixture_input:
        "mutated fixtures";
    "vgpu-commands" 300 "more than one submission" vgpu::commands, vgpu::commands_input:
        "mutated command streams on the virtual GPU";
    "vgpu-draws" 100 "more than one submission" vgpu::draws, vgpu::draws_input:
        "recorded draws on the virtual GPU with mutated state: sizes, formats, strides, limits, levels, programs";
    "vgpu-recordings" 60 "replayed" vgpu::recording, vgpu::recording_input:
        "mutated recordings of the virtual GPU, replayed";
    "ptx" 4 "compared" ptx::case, ptx::input, unless ptx::missing:
        "PTX that NVIDIA's ptxas compiles and the emulator runs, against the PTX ISA; sixteen kernels a case";
}

/// The target of that name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|t| t.name == name)
}

/// The project's folder, where the seeds of mutants and recorded data lie.
fn project() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What the library says of itself when something is wrong in it.
fn own_fault(message: &str) -> Result<(), String> {
    match message.lines().find(|l| l.contains("internal error") || l.contains("bug in nvir")) {
        Some(line) => Err(line.to_string()),
        None => Ok(()),
    }
}
