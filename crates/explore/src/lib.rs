//! A page that shows what the compiler did: the source, the IR after each pass that changed it, and
//! the machine code beside each other. It is what `nvir explore` writes and serves.
//!
//! ```text
//! Page --side--> Side: source, steps, code, what a run counted
//!                  code--> blocks, live registers, issue
//!                  data--> JSON --page--> one HTML file
//! ```
//!
//! | file | what |
//! | --- | --- |
//! | `side` | one compile, or one kernel of machine code |
//! | `warp` | the steps of one warp of a fixture's test |
//! | `code` | what is known of machine code: blocks, what is alive, issue |
//! | `data` | the JSON in the page |
//! | `page` | the page around it, whose parts are in `body.html`, `page.css` and `*.js`, as a file or served |
//!
//! The crate writes no file and prints nothing; that is for who calls it.

#![warn(clippy::print_stdout, clippy::print_stderr)]

mod code;
mod data;
mod page;
mod side;
mod warp;

pub use page::Server;
pub use warp::WarpId;

use nvir::asm::file::Form;
use nvir::compiler::StageOptions;
use nvir::diag::Diagnostics;
use nvir::{Chip, InitRegs, Language, OptLevel};
use side::Side;
use std::path::{Path, PathBuf};

/// What is compiled, or read, for one side of a page.
#[derive(Clone, Debug)]
pub struct Subject {
    /// TGSI, NIR or IR text, a fixture, or machine code; `-` is standard input.
    pub path: PathBuf,
    /// None: GK110, of a fixture the last that it runs on.
    pub chip: Option<Chip>,
    /// Of what is compiled.
    pub level: OptLevel,
    /// The kernel: a NIR function's name, or the number of a TGSI BGNSUB; of a fixture, instead of
    /// its test's.
    pub entry: Option<String>,
    /// The fixture's test that is run for its counts; none: the first.
    pub test: Option<String>,
    /// The warp of the test's last launch whose steps are shown; none: the first of the first block.
    pub warp: Option<WarpId>,
    /// What text the input is, where its name does not show it.
    pub language: Option<Language>,
    /// What machine code the input is, where its contents do not show it.
    pub form: Option<Form>,
    /// As in [`nvir::Options::max_gprs`].
    pub max_gprs: Option<u32>,
    /// As in [`nvir::Options::init_regs`].
    pub init_regs: InitRegs,
    /// As in [`nvir::Options::stage`].
    pub stage: StageOptions,
}

impl Subject {
    /// A file, compiled as `nvir compile` does.
    pub fn new(path: impl Into<PathBuf>) -> Subject {
        Subject {
            path: path.into(),
            chip: None,
            level: OptLevel::O3,
            entry: None,
            test: None,
            warp: None,
            language: None,
            form: None,
            max_gprs: None,
            init_regs: InitRegs::default(),
            stage: StageOptions::default(),
        }
    }
}

/// What stands beside the first side.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Against {
    /// The same input otherwise.
    Options {
        /// None: the same.
        chip: Option<Chip>,
        /// None: the same.
        level: Option<OptLevel>,
    },
    /// Another source, or machine code of any compiler.
    File(PathBuf),
}

impl std::str::FromStr for Against {
    type Err = String;

    /// `-O1`, `O1`, `gk104`, `gk104,-O1`, or a file.
    fn from_str(text: &str) -> Result<Against, String> {
        let (mut chip, mut level) = (None, None);
        for part in text.split(',') {
            let name = part.trim_start_matches('-').strip_prefix('O').map(str::trim);
            let is_level = |n: &&str| *n == OptLevel::Os.name() || n.parse::<usize>().is_ok();
            if let Some(name) = name.filter(is_level) {
                level = Some(name.parse()?);
            } else if let Ok(c) = part.parse() {
                chip = Some(c);
            } else if text.starts_with('-') {
                return Err(format!("`{part}` is not a level, a chip or a file"));
            } else {
                return Ok(Against::File(text.into()));
            }
        }
        Ok(Against::Options { chip, level })
    }
}

/// What is wrong in a text.
#[derive(Clone, Debug)]
pub struct Found {
    /// The text's file.
    pub name: String,
    /// The text; empty where only the message knows the place.
    pub text: String,
    /// What is wrong.
    pub what: Diagnostics,
}

impl Found {
    /// In lines that say where.
    fn lines(&self) -> String {
        nvir::diag::render(&self.what, &self.name, &self.text, false).trim_end().to_string()
    }
}

/// Why there is no page.
#[derive(Clone, Debug)]
pub enum Failed {
    /// A file is at fault as a whole.
    File(PathBuf, String),
    /// A text is, in places.
    Found(Found),
    /// What was asked for is.
    Usage(String),
}

impl Failed {
    /// A file and what is wrong with it.
    fn file(path: &Path, why: impl std::fmt::Display) -> Failed {
        Failed::File(path.to_path_buf(), why.to_string())
    }

    /// In words, for a page.
    fn text(&self) -> String {
        match self {
            Failed::File(path, why) => format!("error: {}: {why}", path.display()),
            Failed::Found(found) if found.text.is_empty() => format!("error: {}: {}", found.name, found.what),
            Failed::Found(found) => found.lines(),
            Failed::Usage(text) => text.clone(),
        }
    }
}

/// What a page is of.
#[derive(Clone, Debug)]
pub struct Page {
    /// The first side.
    pub subject: Subject,
    /// The second.
    pub against: Option<Against>,
    /// The version of the program, for the page's foot.
    pub version: String,
}

impl Page {
    /// The page: one HTML file that needs nothing else.
    ///
    /// # Errors
    /// An input cannot be read or compiled, or both sides are the same.
    pub fn html(&self) -> Result<String, Failed> {
        let sides = self.sides()?;
        match sides.iter().find_map(|s| s.error.clone()) {
            Some(found) => Err(Failed::Found(found)),
            None => Ok(page::whole(&data::json(&sides, &self.version, None), None)),
        }
    }

    /// The files that the sides are named after; a fixture is made of more.
    pub fn inputs(&self) -> impl Iterator<Item = &Path> {
        let other = match &self.against {
            Some(Against::File(path)) => Some(path),
            _ => None,
        };
        std::iter::once(&self.subject.path).chain(other).map(PathBuf::as_path)
    }

    fn sides(&self) -> Result<Vec<Side>, Failed> {
        let first = Side::new(&self.subject)?;
        let subject = self.subject.clone();
        let second = match &self.against {
            None => return Ok(vec![first]),
            Some(Against::Options { .. }) if first.level.is_none() => {
                return Err(Failed::Usage("machine code has no levels: give a file to --against".into()));
            }
            Some(Against::Options { chip, level }) => {
                let (chip, level) = (chip.or(Some(first.chip)), level.unwrap_or(subject.level));
                Subject { chip, level, ..subject }
            }
            Some(Against::File(path)) => {
                // A kernel of the same name, if the file has several.
                let entry = subject
                    .entry
                    .clone()
                    .or_else(|| Some(first.entry.clone()).filter(|_| side::is_code(path)));
                let (path, chip) = (path.clone(), Some(first.chip));
                Subject { path, chip, entry, test: None, language: None, form: None, ..subject }
            }
        };
        let second = Side::new(&second)?;
        if second.title == first.title && second.input == first.input {
            return Err(Failed::Usage("--against is the same compile: another level, chip or file".into()));
        }
        Ok(vec![first, second])
    }
}
