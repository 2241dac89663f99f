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

pub mod endless;
pub mod ir;
pub mod mutants;
pub mod nir;
pub mod ptx;
pub mod runner;
mod setting;
pub mod tgsi;
pub mod vgpu;
pub mod whole_warp;

use runner::Tally;

/// One kind of case.
pub struct Target {
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

fn nothing() -> Option<String> {
    None
}

/// All there are, in the order in which they are told about.
pub const TARGETS: &[Target] = &[
    Target {
        name: "tgsi",
        about: "TGSI compute programs against the interpreter: memory, images, textures, loops, subroutines",
        missing: nothing,
        run: tgsi::compute_case,
        input: tgsi::compute_input,
        short: 40,
        reaches: "compared",
    },
    Target {
        name: "tgsi-stages",
        about: "TGSI vertex and fragment programs against the interpreter: textures, derivatives, discard",
        missing: nothing,
        run: tgsi::stages_case,
        input: tgsi::stages_input,
        short: 70,
        reaches: "compared",
    },
    Target {
        name: "nir",
        about: "NIR compute programs against the host's arithmetic: every ALU opcode at every size, branches, loops",
        missing: nothing,
        run: nir::case,
        input: nir::input,
        short: 60,
        reaches: "compared",
    },
    Target {
        name: "ir-passes",
        about: "IR before and after each pass and each prefix of the pipeline, in the evaluator",
        missing: nothing,
        run: ir::passes::case,
        input: ir::passes::input,
        short: 150,
        reaches: "compared",
    },
    Target {
        name: "ir-registers",
        about: "IR before and after register allocation, with 16 to 255 registers, in the evaluator",
        missing: nothing,
        run: ir::registers::case,
        input: ir::registers::input,
        short: 800,
        reaches: "compared",
    },
    Target {
        name: "ir-kernel",
        about: "IR compiled to machine code, whole and in pieces that are linked, and emulated, against the evaluator",
        missing: nothing,
        run: ir::kernel::case,
        input: ir::kernel::input,
        short: 150,
        reaches: "compared",
    },
    Target {
        name: "endless-tgsi",
        about: "TGSI that hardly ever comes back, in every construct, against an evaluator of warps and the interpreter",
        missing: nothing,
        run: endless::tgsi,
        input: endless::tgsi_input,
        short: 100,
        reaches: "ended",
    },
    Target {
        name: "endless-nir",
        about: "NIR that hardly ever comes back, in every construct, against an evaluator of warps",
        missing: nothing,
        run: endless::nir,
        input: endless::nir_input,
        short: 100,
        reaches: "ended",
    },
    Target {
        name: "endless-ir",
        about: "IR that hardly ever comes back, in every construct, against an evaluator of warps",
        missing: nothing,
        run: endless::ir,
        input: endless::ir_input,
        short: 100,
        reaches: "ended",
    },
    Target {
        name: "whole-warp",
        about: "TGSI kernels whose tail runs with all lanes, against the interpreter: blocks of any shape, few registers",
        missing: nothing,
        run: whole_warp::case,
        input: whole_warp::input,
        short: 40,
        reaches: "compared",
    },
    Target {
        name: "mutants-tgsi",
        about: "mutated TGSI: a result or a diagnostic with a place",
        missing: nothing,
        run: mutants::programs::tgsi,
        input: mutants::programs::tgsi_input,
        short: 1500,
        reaches: "accepted",
    },
    Target {
        name: "mutants-nir",
        about: "mutated NIR",
        missing: nothing,
        run: mutants::programs::nir,
        input: mutants::programs::nir_input,
        short: 1500,
        reaches: "accepted",
    },
    Target {
        name: "mutants-ir",
        about: "mutated IR",
        missing: nothing,
        run: mutants::programs::ir,
        input: mutants::programs::ir_input,
        short: 2500,
        reaches: "valid",
    },
    Target {
        name: "mutants-sass",
        about: "mutated SASS listings: assembled, printed, assembled again, run",
        missing: nothing,
        run: mutants::code::sass,
        input: mutants::code::sass_input,
        short: 2000,
        reaches: "assembled",
    },
    Target {
        name: "mutants-cubin",
        about: "mutated cubins: read, printed, written again, run",
        missing: nothing,
        run: mutants::code::cubin,
        input: mutants::code::cubin_input,
        short: 2000,
        reaches: "read",
    },
    Target {
        name: "mutants-fixture",
        about: "mutated fixtures",
        missing: nothing,
        run: mutants::fixtures::fixture,
        input: mutants::fixtures::fixture_input,
        short: 2000,
        reaches: "parsed",
    },
    Target {
        name: "vgpu-commands",
        about: "mutated command streams on the virtual GPU",
        missing: nothing,
        run: vgpu::commands,
        input: vgpu::commands_input,
        short: 300,
        reaches: "more than one submission",
    },
    Target {
        name: "vgpu-recordings",
        about: "mutated recordings of the virtual GPU, replayed",
        missing: nothing,
        run: vgpu::recording,
        input: vgpu::recording_input,
        short: 60,
        reaches: "replayed",
    },
    Target {
        name: "ptx",
        about: "PTX that NVIDIA's ptxas compiles and the emulator runs, against the PTX ISA; sixteen kernels a case",
        missing: ptx::missing,
        run: ptx::case,
        input: ptx::input,
        short: 4,
        reaches: "compared",
    },
];

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
