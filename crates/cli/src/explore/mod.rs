//! `nvir explore`: a page that shows what the compiler did.
//!
//! ```text
//! INPUT --side--> Side: source, steps, code, what a run counted
//!                   code--> blocks, live registers, issue
//!                   data--> JSON --page--> one HTML file
//! ```
//!
//! | file | what |
//! | --- | --- |
//! | `side` | one compile, or one kernel of machine code |
//! | `code` | what is known of machine code: blocks, what is alive, issue |
//! | `data` | the JSON in the page |
//! | `page` | the page around it, whose style and script are in `page.css` and `*.js` |
//! | `serve` | the page by HTTP, made again when its input changes |

mod code;
mod data;
mod page;
mod serve;
mod side;

use crate::code::Kind;
use crate::out::say;
use crate::{common, output};
use nvir::compiler::StageOptions;
use nvir::diag::{Diagnostics, visible};
use nvir::{Chip, InitRegs, OptLevel};
use side::Side;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Write a page that shows what the compiler did
///
/// One HTML file that needs nothing else: the source, the IR after each pass that changed it, and the machine code beside each
/// other; what is under the pointer lights up what it became and where it came from. Also the control flow graph, live registers,
/// what each instruction waits for and, if INPUT is a fixture, how often each was executed.
#[derive(clap::Args)]
#[command(after_help = "\
Keys in the page: ? lists them. j and k or arrows move, left and right go from pass to pass, / searches, n and N go on.

Each --against adds a compile whose machine code stands beside the first: a level, a chip, both between commas, or a file: another \
source, or machine code of any compiler (.cubin, .sass, words).

Exit status: 1 if the input cannot be read or compiled, and then no page is written.

Examples:
  nvir explore k.tgsi                              writes k.html
  nvir explore k.nir -O 2 -t gk104 -o page.html
  nvir explore tgsi/get-num-groups.toml            with the counts of its first test
  nvir explore k.nir --against -O1                 two levels
  nvir explore k.nir --against gk104               two chips
  nvir explore k.nir --against k.cubin             NVIDIA's code beside ours
  nvir explore k.tgsi --serve                      compiles again whenever the file is saved")]
pub struct Args {
    /// .tgsi, .nir or .ir text, a fixture, or machine code: .cubin, .sass, words
    #[arg(value_name = "INPUT")]
    input: PathBuf,
    /// Where to write the page; `-` is standard output; default: the input's name with .html, in this folder
    #[arg(short, long, value_name = "FILE", conflicts_with = "serve")]
    output: Option<PathBuf>,
    /// gf100, gk104 or gk110; default: gk110, of a fixture the last that it runs on
    #[arg(short, long, value_name = "CHIP")]
    target: Option<Chip>,
    /// Optimisation level
    #[arg(short = 'O', long = "opt", default_value = "3", value_parser = common::level(), value_name = "N")]
    opt: OptLevel,
    /// The kernel: a NIR function's name, or the instruction number of a TGSI BGNSUB; of a fixture, instead of its test's
    #[arg(short, long, value_name = "NAME")]
    entry: Option<String>,
    /// The fixture's test that is run for its counts; default: the first
    #[arg(long, value_name = "NAME")]
    test: Option<String>,
    /// What to show beside it: a level (-O1), a chip, both between commas, or a file
    #[arg(long, value_name = "WHAT", allow_hyphen_values = true, value_parser = Against::parse)]
    against: Option<Against>,
    /// What the input is, where neither its name nor its contents show it
    #[arg(long, value_parser = Kind::parse, value_name = "tgsi|nir|ir|cubin|hex|raw|sass")]
    format: Option<Kind>,
    /// Lower the register limit, spilling as needed
    #[arg(long, value_name = "N")]
    max_gprs: Option<u32>,
    /// Registers read before any write, as in `nvir compile`
    #[arg(long, default_value = "3", value_parser = common::init_regs(), value_name = "0|1|2|3")]
    init_regs: InitRegs,
    /// What the text of a graphics stage does not say, as in `nvir compile`
    #[arg(long, value_parser = common::stage_info, value_name = "LIST")]
    stage_info: Option<StageOptions>,
    /// Serve the page to this machine's browsers, and make it again when a file changes; ends with Ctrl-C
    #[arg(long)]
    serve: bool,
    /// The port for --serve; default: one that is free
    #[arg(long, value_name = "N", default_value_t = 0, requires = "serve")]
    port: u16,
}

/// What the second side is.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Against {
    /// The same input otherwise.
    Options {
        chip: Option<Chip>,
        level: Option<OptLevel>,
    },
    File(PathBuf),
}

impl Against {
    /// `-O1`, `O1`, `gk104`, `gk104,-O1`, or a file.
    fn parse(text: &str) -> Result<Against, String> {
        let (mut chip, mut level) = (None, None);
        for part in text.split(',') {
            let digit = part.trim_start_matches('-').strip_prefix('O').map(str::trim);
            if let Some(n) = digit.and_then(|d| d.parse::<usize>().ok()) {
                let found =
                    OptLevel::ALL.get(n).ok_or_else(|| format!("level {n} is out of range (0 to 3)"))?;
                level = Some(*found);
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
#[derive(Clone)]
pub struct Found {
    pub name: String,
    pub text: String,
    pub what: Diagnostics,
}

impl Found {
    /// In lines that say where.
    pub fn lines(&self) -> String {
        nvir::diag::render(&self.what, &self.name, &self.text, false).trim_end().to_string()
    }
}

/// Why there is no page.
pub enum Failed {
    /// A file is at fault as a whole.
    File(PathBuf, String),
    /// A text is, in places.
    Found(Found),
    /// What was asked for is.
    Usage(String),
}

impl Failed {
    /// Of something about a file.
    fn of(path: &Path, why: impl std::fmt::Display) -> Failed {
        Failed::File(path.to_path_buf(), why.to_string())
    }

    /// In words.
    fn text(&self) -> String {
        match self {
            Failed::File(path, why) => format!("error: {}: {why}", path.display()),
            Failed::Found(found) if found.text.is_empty() => format!("error: {}: {}", found.name, found.what),
            Failed::Found(found) => found.lines(),
            Failed::Usage(text) => text.clone(),
        }
    }

    fn tell(self) -> ExitCode {
        match self {
            Failed::File(path, why) => common::fault_in(&path, why),
            Failed::Found(Found { name, text, what }) => {
                common::report(&what, &name, &text);
                common::input_error()
            }
            Failed::Usage(why) => common::usage(why),
        }
    }
}

/// The sides of the page.
fn sides(a: &Args) -> Result<Vec<Side>, Failed> {
    let asked = |path: &Path| side::Asked {
        path: path.to_path_buf(),
        chip: a.target,
        level: a.opt,
        entry: a.entry.clone(),
        test: a.test.clone(),
        format: a.format,
        max_gprs: a.max_gprs,
        init_regs: a.init_regs,
        stage: a.stage_info.unwrap_or_default(),
    };
    let first = Side::of(&asked(&a.input))?;
    let second = match &a.against {
        None => None,
        Some(Against::Options { chip, level }) => {
            if first.level.is_none() {
                return Err(Failed::Usage("machine code has no levels: give a file to --against".into()));
            }
            let other = side::Asked {
                chip: chip.or(Some(first.chip)),
                level: level.unwrap_or(a.opt),
                ..asked(&a.input)
            };
            Some(Side::of(&other)?)
        }
        Some(Against::File(path)) => {
            // A kernel of the same name, if the file has several.
            let name = a.entry.clone().or_else(|| Some(first.entry.clone()).filter(|_| side::is_code(path)));
            let other =
                side::Asked { chip: Some(first.chip), entry: name, test: None, format: None, ..asked(path) };
            Some(Side::of(&other)?)
        }
    };
    let same = |b: &Side| b.title == first.title && b.input == first.input;
    if second.as_ref().is_some_and(same) {
        return Err(Failed::Usage("--against is the same compile: another level, chip or file".into()));
    }
    Ok(std::iter::once(first).chain(second).collect())
}

pub fn run(a: Args) -> ExitCode {
    if a.serve {
        return serve::run(&a);
    }
    let page = (!a.output.as_deref().is_some_and(output::is_standard)).then(|| page_name(&a));
    if let Err(code) = output::not_an_input(page.as_deref(), &watched(&a)) {
        return code;
    }
    let sides = match sides(&a) {
        Ok(sides) => sides,
        Err(e) => return e.tell(),
    };
    if let Some(found) = sides.iter().find_map(|s| s.error.clone()) {
        return Failed::Found(found).tell();
    }
    let html = page::html(&data::json(&sides, None), None);
    let code = common::write_output(page.as_deref(), html.as_bytes());
    if let Some(path) = page.filter(|_| code == ExitCode::SUCCESS) {
        say!("wrote {}", visible(&path.to_string_lossy()));
    }
    code
}

/// The file that the page goes to.
fn page_name(a: &Args) -> PathBuf {
    a.output.clone().unwrap_or_else(|| common::with_ending(&a.input, "html"))
}

/// The files that the page is made of, as far as they are known before they are read.
fn watched(a: &Args) -> Vec<PathBuf> {
    let mut all = crate::watch::inputs(&a.input);
    if let Some(Against::File(path)) = &a.against {
        all.push(path.clone());
    }
    all
}
