//! Diagnostics: what every command says on standard error about its inputs, its command line and its results.
//!
//! Each of them is a [`Message`] and goes through [`say`], which writes it as `--message-format` asks: for people, with the
//! line and a caret; on one line, as editors and CI systems read it; or as a JSON object (`docs/json.md`).
//! Names and texts of inputs are made visible here, so that none of them can move a cursor or pretend to be another line.

use crate::out::{self, Color};
use nvir::diag::{self, Diagnostic, Diagnostics, Fault, Loc, Severity, line_column, visible, visible_lines};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::path::Path;
use std::sync::OnceLock;

/// How diagnostics are written.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, clap::ValueEnum)]
pub(crate) enum Format {
    /// With the line at fault and a caret
    #[default]
    Human,
    /// One line each: `file:line:column: error: text`
    Short,
    /// One JSON object a line (docs/json.md)
    Json,
}

static FORMAT: OnceLock<Format> = OnceLock::new();

impl Format {
    /// Sets the choice for the whole run; the first one counts.
    pub(crate) fn choose(self) {
        FORMAT.get_or_init(|| self);
    }

    fn chosen() -> Format {
        FORMAT.get().copied().unwrap_or_default()
    }
}

/// Version of the JSON objects; `docs/json.md` has the fields.
const SCHEMA: u64 = 1;

/// How bad something is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    Error,
    Warning,
    /// What a run noticed.
    Note,
    /// What the compiler did not do.
    Remark,
}

impl Level {
    const fn name(self) -> &'static str {
        match self {
            Level::Error => "error",
            Level::Warning => "warning",
            Level::Note => "note",
            Level::Remark => "remark",
        }
    }
}

/// Whose fault it is, for machines.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Of(Fault),
    /// The command line's.
    Usage,
    /// The system's: a full disk, no memory, no rights to write.
    System,
}

impl Class {
    const fn name(self) -> &'static str {
        match self {
            Class::Of(fault) => fault.name(),
            Class::Usage => "usage",
            Class::System => "system",
        }
    }
}

/// A file, and its text where there are places in it.
#[derive(Clone, Copy)]
pub(crate) struct Input<'a> {
    pub name: &'a str,
    pub text: &'a str,
}

/// One diagnostic. Its places are in the text of `input`.
pub(crate) struct Message<'a> {
    pub level: Level,
    pub class: Class,
    pub input: Option<Input<'a>>,
    pub what: Cow<'a, Diagnostic>,
}

impl<'a> Message<'a> {
    /// A sentence without a place.
    pub(crate) fn new(
        level: Level,
        class: Class,
        file: Option<&'a str>,
        text: impl Into<String>,
    ) -> Message<'a> {
        let what = Cow::Owned(Diagnostic::error(text));
        Message { level, class, input: file.map(|name| Input { name, text: "" }), what }
    }

    /// A finding of the library.
    pub(crate) fn of(what: &'a Diagnostic, input: Input<'a>) -> Message<'a> {
        let level = match what.severity {
            Severity::Error => Level::Error,
            Severity::Warning => Level::Warning,
        };
        Message { level, class: Class::Of(what.fault), input: Some(input), what: Cow::Borrowed(what) }
    }

    fn help(mut self, text: impl Into<String>) -> Message<'a> {
        self.what.to_mut().helps.push(text.into());
        self
    }
}

/// Writes a diagnostic to standard error.
pub(crate) fn say(m: &Message<'_>) {
    let text = match Format::chosen() {
        Format::Human if m.level != Level::Remark => human(m),
        Format::Human | Format::Short => short(m),
        Format::Json => format!("{}\n", object(m)),
    };
    out::stderr(&text);
}

/// All findings about an input.
pub(crate) fn all(d: &Diagnostics, name: &str, text: &str) {
    if Format::chosen() == Format::Human && !text.is_empty() {
        return out::stderr(&diag::render(d, name, text, Color::on_stderr()));
    }
    d.list.iter().for_each(|d| say(&Message::of(d, Input { name, text })));
    if d.dropped > 0 {
        let more = format!("and {} more", d.dropped);
        say(&Message::new(Level::Note, Class::Of(d.fault()), Some(name), more));
    }
}

/// An error that has no place in a file's text.
pub(crate) fn error(class: Class, file: Option<&Path>, text: impl std::fmt::Display) {
    sentence(Level::Error, class, file, text);
}

/// An error in a line of a file whose text is not at hand.
pub(crate) fn in_line(file: &Path, line: Option<usize>, text: &str) {
    let Some(line) = line else { return error(Class::Of(Fault::Input), Some(file), text) };
    let name = file.to_string_lossy();
    match Format::chosen() {
        Format::Human => error(Class::Of(Fault::Input), Some(Path::new(&format!("{name}:{line}"))), text),
        Format::Short => out::stderr(&format!("{}:{line}:1: error: {}\n", visible(&name), one_line(text))),
        Format::Json => {
            let mut value = object(&Message::new(Level::Error, Class::Of(Fault::Input), Some(&name), text));
            value["line"] = line.into();
            out::stderr(&format!("{value}\n"));
        }
    }
}

/// What is likely to be a mistake.
pub(crate) fn warning(file: Option<&Path>, text: impl std::fmt::Display) {
    sentence(Level::Warning, Class::Of(Fault::Input), file, text);
}

/// What a run noticed.
pub(crate) fn note(text: impl std::fmt::Display) {
    sentence(Level::Note, Class::Of(Fault::Input), None, text);
}

/// What the compiler did not do.
pub(crate) fn remark(input: Input<'_>, at: Loc, text: String) {
    let mut what = Diagnostic::warning(text);
    what.primary = at.0.map(|span| (span, String::new()));
    let what = Cow::Owned(what);
    say(&Message { level: Level::Remark, class: Class::Of(Fault::Input), input: Some(input), what });
}

fn sentence(level: Level, class: Class, file: Option<&Path>, text: impl std::fmt::Display) {
    let file = file.map(Path::to_string_lossy);
    say(&Message::new(level, class, file.as_deref(), text.to_string()));
}

/// What clap says of a command line: the first paragraph is the message, its tips and possible values are help.
pub(crate) fn usage(e: &clap::Error) {
    let text = e.render();
    if Format::chosen() == Format::Human {
        return out::stderr(&if Color::on_stderr() { text.ansi().to_string() } else { text.to_string() });
    }
    let text = text.to_string();
    let mut paragraphs = text.split("\n\n");
    let first = paragraphs.next().unwrap_or_default();
    let first = first.strip_prefix("error: ").unwrap_or(first);
    let (values, words): (Vec<&str>, Vec<&str>) =
        first.lines().map(str::trim).partition(|l| l.starts_with("[possible values"));
    let tips = paragraphs.flat_map(str::lines).filter_map(|l| l.trim().strip_prefix("tip: "));
    let m = Message::new(Level::Error, Class::Usage, None, words.join(" "));
    say(&tips.chain(values.iter().map(|v| v.trim_matches(['[', ']']))).fold(m, Message::help));
}

fn human(m: &Message<'_>) -> String {
    if let Some(input) = m.input.filter(|i| !i.text.is_empty()) {
        let found = Diagnostics::from(m.what.clone().into_owned());
        return diag::render(&found, input.name, input.text, Color::on_stderr());
    }
    let file = m.input.map_or(String::new(), |i| format!("{}: ", visible(i.name)));
    // A message of several lines, or with a name of several, stays one to the eye: no line but the first begins at the margin.
    let indented = |text: &str| visible_lines(text).trim_end().replace('\n', "\n  ");
    let mut text = format!("{}: {file}{}\n", m.level.name(), indented(&m.what.message));
    m.what.helps.iter().for_each(|h| text += &format!("help: {}\n", indented(h)));
    if m.class == Class::Usage {
        text += "\nFor more information, try '--help'.\n";
    }
    text
}

/// One line, whatever the texts are. Where there is no line, the file is all that is said of the place.
fn short(m: &Message<'_>) -> String {
    let place = m.input.map_or(String::new(), |i| match &m.what.primary {
        Some((span, _)) => {
            let (line, column) = line_column(i.text, span.start);
            format!("{}:{line}:{column}: ", visible(i.name))
        }
        None => format!("{}: ", visible(i.name)),
    });
    let label = m.what.primary.as_ref().map(|p| p.1.as_str()).filter(|l| !l.is_empty());
    let label = label.map_or(String::new(), |l| format!(": {}", one_line(l)));
    let helps: String = m.what.helps.iter().map(|h| format!("; {}", one_line(h))).collect();
    format!("{place}{}: {}{label}{helps}\n", m.level.name(), one_line(&m.what.message))
}

/// A text on one line.
pub(crate) fn one_line(text: &str) -> String {
    visible(&text.split_whitespace().collect::<Vec<_>>().join(" ")).into_owned()
}

fn object(m: &Message<'_>) -> Value {
    let source = m.input.map_or("", |i| i.text);
    let place = |offset: u32| {
        let (line, column) = line_column(source, offset);
        json!({"line": line, "column": column})
    };
    let mut value = json!({
        "schema": SCHEMA, "severity": m.level.name(), "class": m.class.name(), "file": m.input.map(|i| i.name),
        "line": null, "column": null, "end": null, "message": m.what.message, "label": null,
        "labels": m.what.labels.iter().map(|(span, text)| {
            let mut label = place(span.start);
            label["end"] = place(span.end);
            label["message"] = text.as_str().into();
            label
        }).collect::<Vec<_>>(),
        "helps": m.what.helps,
    });
    if let Some((span, label)) = &m.what.primary {
        let start = place(span.start);
        value["line"] = start["line"].clone();
        value["column"] = start["column"].clone();
        value["end"] = place(span.end);
        value["label"] = Some(label.as_str()).filter(|l| !l.is_empty()).into();
    }
    value
}
