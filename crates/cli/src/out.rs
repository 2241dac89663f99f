//! Standard output and standard error: everything that the program writes there goes through this file.
//!
//! A reader that has gone away (`| head`) ends the program at once and quietly, with the status of a program that
//! SIGPIPE ends. Any other failure, such as a full disk, is an error: status 1.

use crate::report::{self, Class};
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::OnceLock;

/// When output is coloured.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, clap::ValueEnum)]
pub(crate) enum Color {
    /// If it goes to a terminal; never with NO_COLOR set or TERM=dumb
    #[default]
    Auto,
    Always,
    Never,
}

static COLOR: OnceLock<Color> = OnceLock::new();

impl Color {
    /// Sets the choice for the whole run; the first one counts.
    pub(crate) fn choose(self) {
        COLOR.get_or_init(|| self);
    }

    fn on(terminal: bool) -> bool {
        match COLOR.get().copied().unwrap_or_default() {
            Color::Always => true,
            Color::Never => false,
            // https://no-color.org: any value but the empty one.
            Color::Auto => terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()) && !dumb(),
        }
    }

    /// Whether diagnostics are coloured.
    pub(crate) fn on_stderr() -> bool {
        Color::on(io::stderr().is_terminal())
    }

    /// Whether results (the help) are coloured.
    pub(crate) fn on_stdout() -> bool {
        Color::on(io::stdout().is_terminal())
    }
}

/// A terminal that knows no control sequences.
pub(crate) fn dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|t| t == "dumb")
}

/// What a shell reports of a program that SIGPIPE (13) has ended.
const BROKEN_PIPE: i32 = 128 + 13;

/// Ends the program if its reader has gone away.
pub(crate) fn quit_if_pipe_is_closed(e: &io::Error) {
    if e.kind() == ErrorKind::BrokenPipe {
        std::process::exit(BROKEN_PIPE);
    }
}

/// Writes a result to standard output.
pub(crate) fn stdout(data: &[u8]) {
    let mut to = io::stdout().lock();
    if let Err(e) = to.write_all(data).and_then(|()| to.flush()) {
        quit_if_pipe_is_closed(&e);
        report::error(Class::System, None, format!("standard output: {}", nvir::input::why(&e)));
        std::process::exit(1);
    }
}

/// Writes to standard error. There is nobody to tell if that fails.
pub(crate) fn stderr(text: &str) {
    if let Err(e) = io::stderr().lock().write_all(text.as_bytes()) {
        quit_if_pipe_is_closed(&e);
        std::process::exit(1);
    }
}

/// Text with its line break. No name in it acts upon a terminal; those that may hold line breaks are made visible where they
/// are put in.
pub(crate) fn line(text: std::fmt::Arguments<'_>) -> String {
    nvir::diag::visible_lines(&text.to_string()).into_owned() + "\n"
}

/// A line of a result.
macro_rules! outln {
    ($($t:tt)*) => { $crate::out::stdout($crate::out::line(format_args!($($t)*)).as_bytes()) };
}

/// A line on standard error.
macro_rules! errln {
    ($($t:tt)*) => { $crate::out::stderr(&$crate::out::line(format_args!($($t)*))) };
}

pub(super) use {errln, outln};
