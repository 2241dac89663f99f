//! Diagnostics: what is wrong with an input, and where.
//!
//! A [`Diagnostic`] carries byte spans into its source; [`render`] turns it into the text that the
//! program prints: `file:line:column`, the line, a caret and what was expected. Parsers collect
//! several of them in [`Diagnostics`], which stops growing at a limit, so that no input can make an
//! endless report.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::fmt;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

/// A half-open range of byte offsets into a source text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug, PartialOrd, Ord)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
}

impl Span {
    /// From byte `start` up to byte `end`, which is not part of it.
    pub const fn new(start: usize, end: usize) -> Span {
        Span { start: start as u32, end: end as u32 }
    }

    /// The smallest span that covers both.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// Where in the source text something comes from, where that is known.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Loc(pub Option<Span>);

/// How bad it is. An error means that there is no result.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Severity {
    /// There is no result.
    Error,
    /// There is a result, which may not be what was wanted.
    Warning,
}

/// Whose fault a finding is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Fault {
    /// Nobody's: the caller did not want to wait any longer.
    Cancelled,
    /// The chip's or the compiler's: the input is right but asks for something that is not there.
    Unsupported,
    /// The input's.
    #[default]
    Input,
    /// The compiler's: a violated invariant.
    Defect,
}

impl Fault {
    /// A word for it, as machines read it.
    pub const fn name(self) -> &'static str {
        match self {
            Fault::Cancelled => "cancelled",
            Fault::Unsupported => "unsupported",
            Fault::Input => "input",
            Fault::Defect => "defect",
        }
    }
}

/// One finding about an input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// Whose fault it is.
    pub fault: Fault,
    /// What is wrong, in one sentence.
    pub message: String,
    /// The place at fault, with what was expected there or why it is wrong (may be empty).
    pub primary: Option<(Span, String)>,
    /// Further places that explain it.
    pub labels: Vec<(Span, String)>,
    /// What would be right, one sentence each.
    pub helps: Vec<String>,
}

impl Diagnostic {
    /// The input is wrong.
    #[cold]
    pub fn error(message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Error,
            fault: Fault::Input,
            message: message.into(),
            primary: None,
            labels: Vec::new(),
            helps: Vec::new(),
        }
    }

    /// The input is right, but what it asks for is not there.
    #[cold]
    pub fn unsupported(message: impl Into<String>) -> Diagnostic {
        Diagnostic { fault: Fault::Unsupported, ..Diagnostic::error(message) }
    }

    /// A defect of nvir itself: never the input's fault, but better told than died of.
    pub fn defect(what: impl fmt::Display) -> Diagnostic {
        Diagnostic { fault: Fault::Defect, ..Diagnostic::error(format!("internal error: {what}")) }
            .help("this is a bug in nvir: please report it with the input and the command line")
    }

    /// The input is odd, but there is a result.
    #[cold]
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

    /// Names what was probably meant.
    pub fn did_you_mean(self, nearest: Option<&str>) -> Diagnostic {
        match nearest {
            Some(near) => self.help(format!("did you mean `{near}`?")),
            None => self,
        }
    }

    /// Says what would be right.
    pub fn help(mut self, text: impl Into<String>) -> Diagnostic {
        self.helps.push(text.into());
        self
    }
}

/// The findings about one input: never empty when returned as an error.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Diagnostics {
    /// In the order in which they were found.
    pub list: Vec<Diagnostic>,
    /// Findings beyond the limit, which were counted but not kept.
    pub dropped: usize,
}

impl Diagnostics {
    /// How many findings are kept.
    pub const LIMIT: usize = 20;

    /// Keeps a finding, or counts it when there are enough.
    pub fn push(&mut self, d: Diagnostic) {
        if self.is_full() { self.dropped += 1 } else { self.list.push(d) }
    }

    /// Whether further findings are counted only.
    pub fn is_full(&self) -> bool {
        self.list.len() >= Self::LIMIT
    }

    /// Whether there is no result.
    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|d| d.severity == Severity::Error)
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Whose fault the errors are: a defect counts more than the input, and that more than what is
    /// not supported.
    pub fn fault(&self) -> Fault {
        self.list.iter().filter(|d| d.severity == Severity::Error).map(|d| d.fault).max().unwrap_or_default()
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(d: Diagnostic) -> Diagnostics {
        Diagnostics { list: vec![d], dropped: 0 }
    }
}

impl From<Box<Diagnostic>> for Diagnostics {
    fn from(d: Box<Diagnostic>) -> Diagnostics {
        Diagnostics::from(*d)
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

/// Text of an input as it may be shown on one line of a terminal or a log: control characters, line
/// breaks and characters that change the direction of text are written as Rust does (`\n`,
/// `\u{1b}`), so that a name cannot move the cursor or pretend to be a line of its own.
///
/// ```
/// assert_eq!(nvir_base::diag::visible("a\nok b\x1b[2J"), "a\\nok b\\u{1b}[2J");
/// ```
pub fn visible(text: &str) -> Cow<'_, str> {
    shown(text, |_| false)
}

/// The same of text with several lines, which stay lines.
pub fn visible_lines(text: &str) -> Cow<'_, str> {
    shown(text, |c| matches!(c, '\n' | '\t'))
}

/// Characters that terminals and viewers act upon instead of showing them: controls, line and
/// paragraph separators, marks of direction, and characters without width that make two names look
/// the same.
fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

fn shown(text: &str, stays: impl Fn(char) -> bool) -> Cow<'_, str> {
    let bad = |c: char| acts(c) && !stays(c);
    // Bytes below 0x20 and above 0x7e are the only ones that such a character has: most text is
    // done at once.
    if text.bytes().all(|b| (b' '..0x7f).contains(&b)) || !text.contains(bad) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if bad(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    Cow::Owned(out)
}

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

/// The text of all findings: for each one its message, `file:line:column`, the line, a caret and
/// labels, then help.
///
/// Of a long line a window around the place is shown.
pub fn render(diags: &Diagnostics, file: &str, source: &str, color: bool) -> String {
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let file = visible(file);
    let mut out = String::new();
    for d in &diags.list {
        out.push_str(&renderer.render(&[group(&escaped(d), &file, source)]));
        out.push('\n');
    }
    if diags.dropped > 0 {
        out.push_str(&format!("and {} more\n", diags.dropped));
    }
    out
}

/// A finding whose texts hold nothing but what is seen.
fn escaped(d: &Diagnostic) -> Cow<'_, Diagnostic> {
    let labels = d.primary.iter().chain(&d.labels).map(|l| &l.1);
    if labels.chain(&d.helps).chain([&d.message]).all(|t| matches!(visible_lines(t), Cow::Borrowed(_))) {
        return Cow::Borrowed(d);
    }
    let text = |t: &String| visible_lines(t).into_owned();
    let label = |l: &(Span, String)| (l.0, text(&l.1));
    Cow::Owned(Diagnostic {
        message: text(&d.message),
        primary: d.primary.as_ref().map(label),
        labels: d.labels.iter().map(label).collect(),
        helps: d.helps.iter().map(text).collect(),
        ..*d
    })
}

fn group<'a>(d: &'a Diagnostic, file: &'a str, source: &str) -> Group<'a> {
    let level = match d.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let mut group = level.primary_title(d.message.as_str()).elements(std::iter::empty::<Origin<'_>>());
    let primary = d.primary.iter().map(|p| (p, AnnotationKind::Primary));
    for ((span, text), kind) in primary.chain(d.labels.iter().map(|l| (l, AnnotationKind::Context))) {
        let (line, column) = line_column(source, span.start);
        let (snippet, cut) = snippet(*span, text, kind, source, line);
        if cut {
            // The renderer would count columns from where the window begins.
            group = group.element(Origin::path(file).line(line).char_column(column)).element(snippet);
        } else {
            group = group.element(snippet.path(file));
        }
    }
    if d.primary.is_none() {
        group = group.element(Origin::path(file));
    }
    group.elements(d.helps.iter().map(|h| Level::HELP.message(h.as_str())))
}

/// How much of a line is shown before and after the place, in bytes.
const BEFORE: usize = 80;
const AFTER: usize = 120;

/// The line that `span` begins on, or a window of it; the flag says that its beginning was cut off.
fn snippet<'a>(
    span: Span,
    label: &'a str,
    kind: AnnotationKind,
    source: &str,
    line: usize,
) -> (Snippet<'a, annotate_snippets::Annotation<'a>>, bool) {
    let start = floor(source, span.start as usize);
    let from = floor(source, start.saturating_sub(BEFORE));
    let to = floor(source, (start + AFTER).min(source.len()));
    let begin = source[from..start].rfind('\n').map_or(from, |n| from + n + 1);
    let end = source[start..to].find('\n').map_or(to, |n| start + n);
    let mut text = String::new();
    if begin == from && begin > 0 && source.as_bytes()[begin - 1] != b'\n' {
        text.push_str("...");
    }
    let shift = text.len();
    // One byte for one byte, so that places stay where they are.
    text.extend(source[begin..end].chars().map(|c| if c.is_ascii_control() { ' ' } else { c }));
    if end == to && end < source.len() && source.as_bytes()[end] != b'\n' {
        text.push_str("...");
    }
    let at = start - begin + shift;
    let stop = floor(source, (span.end as usize).clamp(start, end.max(start))) - begin + shift;
    let annotation = kind.span(at..stop.max(at));
    let annotation = if label.is_empty() { annotation } else { annotation.label(label) };
    (Snippet::source(text).line_start(line).annotation(annotation), shift > 0)
}

/// The last character boundary at or before `at`.
fn floor(source: &str, at: usize) -> usize {
    source.floor_char_boundary(at.min(source.len()))
}

/// The word of `all` that is nearest to `word`, if one is near enough to be what was meant. Of
/// those equally near, the one of the same letters, then the one that begins most like it: ends of
/// words are what is mistyped most.
pub fn closest<'a>(word: &str, all: &[&'a str]) -> Option<&'a str> {
    const LONGEST: usize = 40;
    if word.len() > LONGEST {
        return None;
    }
    let limit = 1 + word.len() / 4;
    let letters = |w: &str| {
        let mut all = w.as_bytes().to_vec();
        all.sort_unstable();
        all
    };
    let mine = letters(word);
    let same = |w: &str| word.bytes().zip(w.bytes()).take_while(|(a, b)| a == b).count();
    all.iter()
        .filter(|w| w.len().abs_diff(word.len()) <= limit)
        .map(|w| (edit_distance(word.as_bytes(), w.as_bytes()), letters(w) != mine, Reverse(same(w)), *w))
        .min()
        .filter(|m| m.0 <= limit)
        .map(|m| m.3)
}

/// How many bytes must be added, removed, changed or exchanged with their neighbour to make one
/// word the other.
fn edit_distance(a: &[u8], b: &[u8]) -> usize {
    let mut above: Vec<usize> = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    let mut row = above.clone();
    for (i, x) in a.iter().enumerate() {
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let changed = last[j] + usize::from(x != y);
            row[j + 1] = changed.min(row[j] + 1).min(last[j + 1] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && *y == a[i - 1] {
                row[j + 1] = row[j + 1].min(above[j - 1] + 1);
            }
        }
        // The oldest row is written over next.
        std::mem::swap(&mut above, &mut last);
        std::mem::swap(&mut last, &mut row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::closest;

    #[test]
    fn the_nearest_word_is_the_one_that_was_meant() {
        assert_eq!(closest("UMADD", &["UADD", "UMAD", "FADD"]), Some("UMAD"));
        assert_eq!(closest("FAMD", &["FADD", "FMAD", "FA"]), Some("FMAD"));
        assert_eq!(closest("R12_UINT", &["R32_UINT", "R16_UINT", "R1_UNORM"]), Some("R16_UINT"));
        assert_eq!(closest("mvo", &["mul", "mov", "move"]), Some("mov"));
    }

    #[test]
    fn what_is_near_nothing_has_no_nearest_word() {
        assert_eq!(closest("XYZZY", &["MOV", "ADD"]), None);
        assert_eq!(closest("", &["MOV"]), None);
        assert_eq!(closest(&"A".repeat(50), &["A"]), None);
        assert_eq!(closest("MOV", &[]), None);
    }
}
