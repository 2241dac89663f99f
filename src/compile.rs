//! The pipeline from a program in IR to its machine code.
//!
//! ```text
//! Front --lower--> Ssa --opt--> Ssa --legalise--> Legal --schedule, assign registers--> select --schedule--> words
//! ```
//!
//! Errors are the input's: something that the chip cannot do, or too few registers. Each carries the place in the
//! source where that is known.

use crate::chip::Chip;
use crate::diag::{Diagnostic, Diagnostics};
use crate::driver::Abi;
use crate::image::Image;
use crate::ir::Program;

/// Choices of one compile. [`Options::new`] gives the defaults of a chip.
#[derive(Clone, Debug)]
pub struct Options {
    /// 0 to 3: how much effort goes into good code.
    pub opt_level: u8,
    /// A bound on general registers below the chip's.
    pub max_gprs: Option<u32>,
    /// What to do about registers read before any write: 0 nothing, 1 initialise all at entry, 2 the possibly
    /// uninitialised ones at entry, 3 on the edges where they are missing.
    pub init_regs: u8,
    /// Only these optimiser passes, in the pipeline's order.
    pub passes: Option<Vec<String>>,
    /// Only that many pass runs.
    pub bisect_limit: Option<u32>,
    /// Verify the IR after each pass; always so in debug builds.
    pub verify_each: bool,
    /// Passes (or `all`) before and after which the IR is put into the report.
    pub print_before: Vec<String>,
    pub print_after: Vec<String>,
    /// Put the time of each pass into the report.
    pub time_passes: bool,
    pub abi: Abi,
    /// What may be assumed of the address of a buffer argument, in bytes.
    pub pointer_align: u32,
    /// Bytes of private memory that a TGSI program addresses itself.
    pub private_bytes: u32,
    /// Threads of the largest block that will be launched, where the program does not declare it.
    pub threads: Option<u32>,
}

impl Options {
    pub fn new(chip: Chip) -> Options {
        Options {
            opt_level: 3,
            max_gprs: None,
            init_regs: 3,
            passes: None,
            bisect_limit: None,
            verify_each: false,
            print_before: Vec::new(),
            print_after: Vec::new(),
            time_passes: false,
            abi: Abi::nvc0(chip),
            pointer_align: 4,
            private_bytes: 0,
            threads: None,
        }
    }
}

/// Text that a compile was asked to give besides its image: IR listings, times, notes.
pub type Report = String;

/// Compiles a program whose IR is in its first phase.
pub fn compile(program: Program, chip: Chip, options: &Options) -> Result<Image, Diagnostics> {
    compile_with_report(program, chip, options, &mut Report::new())
}

/// The same, with what the options ask to print.
pub fn compile_with_report(
    program: Program,
    chip: Chip,
    options: &Options,
    report: &mut Report,
) -> Result<Image, Diagnostics> {
    let _ = (program, chip, options, report);
    Err(Diagnostic::error("code generation is not complete").into())
}

/// The program after all optimisation, before registers are assigned.
pub fn optimised(
    program: Program,
    chip: Chip,
    options: &Options,
    report: &mut Report,
) -> Result<Program, Diagnostics> {
    let _ = (chip, options, report);
    Ok(program)
}
