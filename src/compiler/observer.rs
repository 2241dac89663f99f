//! What is compiled, and who looks on.

use super::{Cancel, Module, Source};
use crate::ir::Program;
use crate::opt::snapshot::Step;
use crate::remark::Remark;

/// Text that a compile was asked to give besides its shader: IR listings, times, notes.
pub type Report = String;

/// What is compiled.
pub enum Input<'a> {
    /// A text.
    Text(&'a Source<'a>),
    /// A SPIR-V module.
    Module(&'a Module<'a>),
    /// A program whose IR is in its first phase, and valid.
    Program(Program),
}

impl<'a> From<&'a Source<'a>> for Input<'a> {
    fn from(source: &'a Source<'a>) -> Input<'a> {
        Input::Text(source)
    }
}

impl<'a> From<&'a Module<'a>> for Input<'a> {
    fn from(module: &'a Module<'a>) -> Input<'a> {
        Input::Module(module)
    }
}

impl From<Program> for Input<'_> {
    fn from(program: Program) -> Self {
        Input::Program(program)
    }
}

/// Who looks on while something is compiled: what is wanted of it besides the result, which does not depend on that. Of a
/// program that does not compile it is there as far as the compile came.
#[derive(Debug, Default)]
pub struct Observer {
    /// When the compile should end without a result.
    pub cancel: Cancel,
    /// What [`DebugOptions`](super::DebugOptions) ask to print is added here.
    pub report: Report,
    /// What passes did not do and why, in the order of the source, each once; if this is `Some`.
    pub remarks: Option<Vec<Remark>>,
    /// The program after each step that changed it; if this is `Some`.
    pub steps: Option<Vec<Step>>,
}

impl Observer {
    /// One that ends the compile.
    pub fn with_cancel(cancel: Cancel) -> Observer {
        Observer { cancel, ..Observer::default() }
    }

    /// One that asks for remarks.
    pub fn with_remarks() -> Observer {
        Observer { remarks: Some(Vec::new()), ..Observer::default() }
    }

    /// One that asks for steps and remarks.
    pub fn with_steps() -> Observer {
        Observer { steps: Some(Vec::new()), ..Observer::with_remarks() }
    }
}
