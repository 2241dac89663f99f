//! Where commands come from: a script, a terminal, a pipe.

use crate::out::outln;
use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;
use std::io::{BufRead, IsTerminal, stdin};
use std::vec::IntoIter;

const PROMPT: &str = "(nvir) ";

pub(super) struct Input {
    script: IntoIter<String>,
    /// On a terminal.
    editor: Option<DefaultEditor>,
    /// Whether standard input is read though it is not a terminal.
    pipe: bool,
}

impl Input {
    pub(super) fn new(script: Option<String>) -> Input {
        let terminal = stdin().is_terminal();
        let pipe = !terminal && script.is_none();
        let lines: Vec<String> = script.iter().flat_map(|s| s.lines()).map(str::to_string).collect();
        let editor = terminal.then(DefaultEditor::new).and_then(Result::ok);
        Input { script: lines.into_iter(), editor, pipe }
    }

    /// Whether somebody sits there, for whom an empty line repeats the last command.
    pub(super) fn interactive(&self) -> bool {
        self.script.len() == 0 && self.editor.is_some()
    }

    /// The next line; none at the end.
    pub(super) fn line(&mut self) -> Option<String> {
        // What is not typed is shown, so that the output can be read alone.
        if let Some(line) = self.script.next() {
            outln!("{PROMPT}{line}");
            return Some(line);
        }
        if let Some(editor) = &mut self.editor {
            return loop {
                match editor.readline(PROMPT) {
                    Ok(line) => {
                        // A history that is full is no reason to stop.
                        let _ = editor.add_history_entry(&line);
                        break Some(line);
                    }
                    // Ctrl-C leaves the line, Ctrl-D the program.
                    Err(ReadlineError::Interrupted) => {}
                    Err(_) => break None,
                }
            };
        }
        let mut line = String::new();
        if !self.pipe || !matches!(stdin().lock().read_line(&mut line), Ok(1..)) {
            return None;
        }
        let line = line.trim_end().to_string();
        outln!("{PROMPT}{line}");
        Some(line)
    }
}
