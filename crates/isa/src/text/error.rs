//! What is wrong with an instruction's text.

use crate::codec::Misfit;
use crate::{Mod, Op};
use nvir_base::diag::{Diagnostic, Span, closest};

/// What is wrong with a line of SASS, and where: a byte offset and length in the text.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{what}: {message}")]
pub struct ParseError {
    /// What it is, in two or three words.
    pub what: &'static str,
    /// Byte offset of what is wrong.
    pub at: usize,
    /// Its bytes.
    pub len: usize,
    /// What was expected.
    pub message: String,
}

/// Titles of errors.
pub(super) const UNKNOWN_MNEMONIC: &str = "unknown mnemonic";
pub(super) const UNKNOWN_SUFFIX: &str = "unknown suffix";
pub(super) const INVALID_SUFFIX: &str = "invalid suffix";
pub(super) const INVALID_OPERAND: &str = "invalid operand";
pub(super) const SYNTAX: &str = "syntax error";
pub(super) const OUT_OF_RANGE: &str = "value out of range";

impl ParseError {
    /// An instruction that is not encoded: where it is written, and its bytes.
    pub fn misfit(misfit: Misfit, at: usize, len: usize) -> ParseError {
        ParseError { what: title(misfit), at, len, message: misfit.to_string() }
    }

    /// The error in a text whose line, which was read, begins at `start`.
    pub fn diagnostic(&self, line: &str, start: usize) -> Diagnostic {
        let word = line.get(self.at..self.at + self.len).unwrap_or("");
        let names: Vec<&str> = match self.what {
            UNKNOWN_MNEMONIC => Op::ALL.iter().map(|o| o.name()).collect(),
            UNKNOWN_SUFFIX => Mod::ALL.iter().map(|m| m.name()).collect(),
            _ => Vec::new(),
        };
        let title = if names.is_empty() { self.what.to_string() } else { format!("{} `{word}`", self.what) };
        let span = Span::new(start + self.at, start + self.at + self.len);
        Diagnostic::error(title).at(span, self.message.as_str()).did_you_mean(closest(word, &names))
    }
}

/// A misfit in two or three words.
fn title(misfit: Misfit) -> &'static str {
    match misfit {
        Misfit::Op => "unsupported mnemonic",
        Misfit::Operands | Misfit::Combination => "invalid operands",
        Misfit::Mods | Misfit::Sync => INVALID_SUFFIX,
        Misfit::Guard => "invalid predicate",
        Misfit::Register(_) => "register out of range",
        Misfit::Range(_) => OUT_OF_RANGE,
        Misfit::Modifier(_) | Misfit::Name(_) => INVALID_OPERAND,
    }
}
