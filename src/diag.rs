//! Diagnostics: what is wrong with an input, and where.
//!
//! A [`Diagnostic`] carries byte spans into its source; [`render`] turns it into the text that the program
//! prints: `file:line:column`, the line, a caret and what was expected. Parsers collect several of them in
//! [`Diagnostics`], which stops growing at a limit, so that no input can make an endless report.

use std::fmt;

/// A half-open range of byte offsets into a source text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug, PartialOrd, Ord)]
pub struct Span {
    pub start: u32,
    pub end: u32,
}

impl Span {
    pub const fn new(start: usize, end: usize) -> Span {
        Span { start: start as u32, end: end as u32 }
    }

    /// The smallest span that covers both.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// How bad it is. An error means that there is no result.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Severity {
    Error,
    Warning,
}

/// One finding about an input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    pub severity: Severity,
    pub message: String,
    /// The place at fault, with what was expected there or why it is wrong (may be empty).
    pub primary: Option<(Span, String)>,
    /// Further places that explain it.
    pub labels: Vec<(Span, String)>,
    /// What would be right, one sentence each.
    pub helps: Vec<String>,
}

impl Diagnostic {
    pub fn error(message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Error,
            message: message.into(),
            primary: None,
            labels: Vec::new(),
            helps: Vec::new(),
        }
    }

    pub fn warning(message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(message) }
    }

    /// Points at the place at fault.
    pub fn at(mut self, span: Span, label: impl Into<String>) -> Diagnostic {
        self.primary = Some((span, label.into()));
        self
    }

    /// Points at a further place.
    pub fn label(mut self, span: Span, label: impl Into<String>) -> Diagnostic {
        self.labels.push((span, label.into()));
        self
    }

    pub fn help(mut self, text: impl Into<String>) -> Diagnostic {
        self.helps.push(text.into());
        self
    }
}

/// The findings about one input: never empty when returned as an error.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Diagnostics {
    pub list: Vec<Diagnostic>,
    /// Findings beyond the limit, which were counted but not kept.
    pub dropped: usize,
}

impl Diagnostics {
    /// How many findings are kept.
    pub const LIMIT: usize = 20;

    pub fn push(&mut self, d: Diagnostic) {
        if self.list.len() < Self::LIMIT { self.list.push(d) } else { self.dropped += 1 }
    }

    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|d| d.severity == Severity::Error)
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(d: Diagnostic) -> Diagnostics {
        Diagnostics { list: vec![d], dropped: 0 }
    }
}

impl fmt::Display for Diagnostics {
    /// The messages alone, one a line, for callers that have no source at hand.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, d) in self.list.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            f.write_str(&d.message)?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}

/// Line and column (both from 1, columns in characters) of a byte offset.
pub fn line_column(source: &str, offset: u32) -> (usize, usize) {
    let mut at = (offset as usize).min(source.len());
    while !source.is_char_boundary(at) {
        at -= 1;
    }
    let before = &source.as_bytes()[..at];
    let line = before.iter().filter(|&&b| b == b'\n').count() + 1;
    let start = before.iter().rposition(|&b| b == b'\n').map_or(0, |p| p + 1);
    (line, source[start..at].chars().count() + 1)
}
