//! Why there is no shader.

use super::Source;
use crate::diag::{self, Diagnostics, Fault};
use std::fmt;

/// Why a compile gave no shader. [`fmt::Display`] gives each finding with its line and column, the line itself, and a
/// caret; [`CompileError::diagnostics`] the same as data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CompileError {
    diagnostics: Diagnostics,
    text: String,
}

impl CompileError {
    pub(super) fn new(diagnostics: Diagnostics, source: &Source<'_>) -> CompileError {
        let text = diag::render(&diagnostics, source.name, source.text, false);
        CompileError { diagnostics, text }
    }

    /// Whose fault it is.
    pub fn fault(&self) -> Fault {
        self.diagnostics.fault()
    }

    /// The findings, with spans (bytes) in the source's text: one at least.
    pub fn diagnostics(&self) -> &Diagnostics {
        &self.diagnostics
    }
}

impl From<Diagnostics> for CompileError {
    /// For programs that were not read from a text.
    fn from(diagnostics: Diagnostics) -> CompileError {
        let text = diagnostics.to_string();
        CompileError { diagnostics, text }
    }
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text.trim_end())
    }
}

impl std::error::Error for CompileError {}
