//! `nvir diff`: two compiles beside each other, block by block.

use crate::code::{self, Texts};
use crate::out::Color;
use crate::{common, output};
use nvir::compiler::Options;
use nvir::image::cubin::Kernel;
use nvir::image::listing;
use nvir::{Chip, Compiler, Language, Observer, OptLevel, Source};
use similar::{Algorithm, ChangeTag, TextDiff, capture_diff_slices};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Show how two compiles differ
///
/// Two files, or one file at two levels, for two chips, or by two builds of nvir. Inputs are TGSI, NIR and IR text, SASS text,
/// words in hexadecimal, and cubins. Blocks are aligned first, then instructions in them; labels have no addresses, so code that
/// only moved is not a difference. Prints the blocks that differ and what changed in total.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  nvir diff k.tgsi -O 1 -O 3                  two levels
  nvir diff k.nir -t gk104 -t gk110           two chips
  nvir diff k.tgsi --build ../old/nvir        another build of nvir, and this one
  nvir diff k.cubin k.tgsi -t gk110           NVIDIA's code and ours
  nvir diff k.tgsi -O 0 -O 3 --emit ir        the optimised IR instead of machine code")]
pub(crate) struct Args {
    /// Input A
    a: PathBuf,
    /// Input B; default: A
    b: Option<PathBuf>,
    /// Chips of A and B, or of both; default: gk110
    #[arg(short, long, value_name = "CHIP")]
    target: Vec<Chip>,
    /// Optimisation levels of A and B, or of both; default: 3
    #[arg(short = 'O', long = "opt", value_parser = common::level(), value_name = "N")]
    opt: Vec<OptLevel>,
    /// Kernels of A and B, or of both
    #[arg(short, long, value_name = "NAME")]
    entry: Vec<String>,
    /// Compile A with another nvir
    #[arg(long, value_name = "PROGRAM")]
    build: Option<PathBuf>,
    /// What to compare
    #[arg(long, default_value = "sass", value_name = "FORM")]
    emit: Form,
    /// Show every block, and in it every line
    #[arg(long)]
    all: bool,
    /// Exit with 1 if there is a difference
    #[arg(long)]
    exit_code: bool,
    /// Print JSON (docs/json.md)
    #[arg(long)]
    json: bool,
    /// Where to write the result; default: standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Form {
    /// Machine code
    Sass,
    /// The optimised intermediate representation
    Ir,
}

/// One of the two.
struct Side<'a> {
    path: &'a Path,
    chip: Chip,
    level: OptLevel,
    entry: Option<&'a str>,
    build: Option<&'a Path>,
}

/// Lines between two labels.
struct Block {
    name: String,
    lines: Vec<String>,
}

pub(crate) fn run(a: Args) -> ExitCode {
    for (what, n) in [("-t", a.target.len()), ("-O", a.opt.len()), ("-e", a.entry.len())] {
        if n > 2 {
            return common::usage(format!("{what} is given {n} times, but there are two sides"));
        }
    }
    fn of<T: Clone>(list: &[T], n: usize) -> Option<T> {
        list.get(n).or(list.last()).cloned()
    }
    let side = |n: usize| Side {
        path: if n == 0 { &a.a } else { a.b.as_ref().unwrap_or(&a.a) },
        chip: of(&a.target, n).unwrap_or(Chip::Gk110),
        level: of(&a.opt, n).unwrap_or_default(),
        entry: a.entry.get(n).or(a.entry.last()).map(String::as_str),
        build: a.build.as_deref().filter(|_| n == 0),
    };
    let (one, two) = (side(0), side(1));
    let same =
        one.path == two.path && one.chip == two.chip && one.level == two.level && one.entry == two.entry;
    if same && a.build.is_none() {
        return common::usage("A and B are the same: give a second file, -t or -O twice, or --build");
    }
    let inputs: Vec<PathBuf> =
        [Some(&a.a), a.b.as_ref(), a.build.as_ref()].into_iter().flatten().cloned().collect();
    if let Err(code) = output::not_an_input(a.output.as_deref(), &inputs) {
        return code;
    }
    let (one, two) = match text(&one, a.emit).and_then(|one| Ok((one, text(&two, a.emit)?))) {
        Ok(both) => both,
        Err(code) => return code,
    };
    let (one, two) = (blocks(&one), blocks(&two));
    let compared: Vec<Compared> =
        aligned(&one, &two).into_iter().map(|(left, right)| Compared::of(left, right)).collect();
    let differ = compared.iter().any(Compared::differs);
    let color = a.output.is_none() && Color::on_stdout();
    let which = if a.all { Which::All } else { Which::Different };
    let text = if a.json { json(&compared, which) } else { shown(&compared, which, color) };
    match common::write_output(a.output.as_deref(), text.as_bytes()) {
        ExitCode::SUCCESS if a.exit_code && differ => common::input_error(),
        code => code,
    }
}

/// The listing of a side.
fn text(side: &Side<'_>, form: Form) -> Result<String, ExitCode> {
    let Side { path, chip, level, entry, build } = *side;
    if let Some(build) = build {
        return by_another(build, side, form);
    }
    if let Some(language) = Language::of(path) {
        let text = common::read_text(path)?;
        let name = path.to_string_lossy();
        let source = Source { language, text: &text, entry, name: &name };
        let compiler = Compiler::new(chip).with_options(Options::at(level));
        let result = match form {
            Form::Ir => compiler.optimised(&source, &mut Observer::default()).map(|p| p.to_string()),
            Form::Sass => compiler.compile(&source).map(|s| sass(chip, &s.kernel())),
        };
        return result.map_err(|e| common::report_error(&e, &source));
    }
    if form == Form::Ir {
        return Err(common::usage_of(path, "machine code has no IR"));
    }
    let data = common::read_bytes(path)?;
    let asked = code::Asked { path, chip, form: None, texts: Texts::Any };
    let read = asked.read(&data).map_err(|e| code::tell(e, path))?;
    let kernel = code::pick(read.kernels, entry).map_err(|e| common::fault_in(path, e))?;
    Ok(sass(read.chip, &kernel))
}

fn sass(chip: Chip, kernel: &Kernel) -> String {
    listing::print(chip, std::slice::from_ref(kernel), listing::Options::default())
}

/// What another build of nvir makes of it.
fn by_another(build: &Path, side: &Side<'_>, form: Form) -> Result<String, ExitCode> {
    let fault = |e: &dyn std::fmt::Display| common::fault_in(build, e);
    let mut command = Command::new(build);
    command.arg("compile").arg(side.path).args(["-t", side.chip.name(), "-O", &side.level.to_string()]);
    command.args(["--emit", if form == Form::Ir { "ir" } else { "sass" }, "--color", "never"]);
    if let Some(entry) = side.entry {
        command.args(["-e", entry]);
    }
    let ran = command.output().map_err(|e| fault(&e))?;
    if !ran.status.success() {
        return Err(fault(&String::from_utf8_lossy(&ran.stderr).trim()));
    }
    String::from_utf8(ran.stdout).map_err(|e| fault(&e))
}

/// A listing in blocks. Labels are numbered in order, since their names have addresses; issue control is left out.
fn blocks(text: &str) -> Vec<Block> {
    let label = |line: &str| -> Option<String> {
        let name = line.trim().strip_suffix(':')?;
        let plain = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "._$".contains(c));
        plain.then(|| name.to_string())
    };
    let mut names: HashMap<String, String> = HashMap::new();
    for line in text.lines() {
        if let Some(name) = label(line) {
            let n = names.len();
            names.entry(name).or_insert_with(|| format!("B{}", n + 1));
        }
    }
    let mut all = vec![Block { name: "entry".into(), lines: Vec::new() }];
    for line in text.lines() {
        if let Some(name) = label(line) {
            all.push(Block { name: names[&name].clone(), lines: Vec::new() });
            continue;
        }
        let line = line.trim();
        if line.is_empty() || line.starts_with(".sched") || line.starts_with("//") {
            continue;
        }
        if let Some(last) = all.last_mut() {
            last.lines.push(renamed(line, &names));
        }
    }
    all.retain(|b| !b.lines.is_empty());
    all
}

/// A line with the labels' other names.
fn renamed(line: &str, names: &HashMap<String, String>) -> String {
    let mut text = String::new();
    let mut word = String::new();
    for c in line.chars().chain(['\n']) {
        if c.is_alphanumeric() || "._$".contains(c) {
            word.push(c);
        } else {
            text += names.get(&word).unwrap_or(&word);
            word.clear();
            text.push(c);
        }
    }
    text.trim_end().to_string()
}

/// What a block is about: its operations, without operands.
fn shape(block: &Block) -> Vec<&str> {
    let op = |line: &'_ str| -> usize { line.find(' ').unwrap_or(line.len()) };
    block.lines.iter().map(|l| l.trim_start_matches(['@', '!'])).map(|l| &l[..op(l)]).collect()
}

/// Pairs of blocks in order: those of one shape first, what lies between in pairs from the beginning.
fn aligned<'b>(a: &'b [Block], b: &'b [Block]) -> Vec<(Option<&'b Block>, Option<&'b Block>)> {
    let (shapes_a, shapes_b): (Vec<_>, Vec<_>) =
        (a.iter().map(shape).collect(), b.iter().map(shape).collect());
    let mut pairs = Vec::new();
    for op in capture_diff_slices(Algorithm::Patience, &shapes_a, &shapes_b) {
        let (_, left, right) = op.as_tag_tuple();
        let (left, right) = (&a[left], &b[right]);
        pairs.extend((0..left.len().max(right.len())).map(|n| (left.get(n), right.get(n))));
    }
    pairs
}

/// Which blocks are shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    All,
    Different,
}

/// Two blocks that stand beside each other, line by line.
struct Compared {
    /// The blocks' names; none where one side has no such block.
    names: [Option<String>; 2],
    lines: Vec<(ChangeTag, String)>,
}

impl Compared {
    fn of(left: Option<&Block>, right: Option<&Block>) -> Compared {
        let lines = |side: Option<&Block>| -> String {
            side.map_or(String::new(), |b| b.lines.iter().map(|l| format!("{l}\n")).collect())
        };
        let (one, two) = (lines(left), lines(right));
        let diff = TextDiff::from_lines(&one, &two);
        let line = |c: similar::Change<&str>| (c.tag(), c.value().trim_end_matches('\n').to_string());
        let lines = diff.iter_all_changes().map(line).collect();
        Compared { names: [left, right].map(|b| b.map(|b| b.name.clone())), lines }
    }

    fn count(&self, tag: ChangeTag) -> usize {
        self.lines.iter().filter(|l| l.0 == tag).count()
    }

    fn differs(&self) -> bool {
        self.lines.iter().any(|l| l.0 != ChangeTag::Equal)
    }

    fn is_in(&self, which: Which) -> bool {
        which == Which::All || self.differs()
    }
}

/// How many lines are the same, in A only, in B only.
fn totals(all: &[Compared]) -> [usize; 3] {
    [ChangeTag::Equal, ChangeTag::Delete, ChangeTag::Insert].map(|tag| all.iter().map(|c| c.count(tag)).sum())
}

fn shown(compared: &[Compared], which: Which, color: bool) -> String {
    let mut text = String::new();
    for c in compared.iter().filter(|c| c.is_in(which)) {
        let name = |n: &Option<String>| n.clone().unwrap_or_else(|| "-".into());
        let head = format!("{} | {}:", name(&c.names[0]), name(&c.names[1]));
        text += &if color { format!("\x1b[1m{head}\x1b[0m\n") } else { format!("{head}\n") };
        c.lines.iter().for_each(|(tag, line)| text += &marked(*tag, line, color));
    }
    let [equal, removed, added] = totals(compared);
    text + &format!("{equal} lines are the same, {removed} in A only, {added} in B only\n")
}

/// Version of what `--json` writes; `docs/json.md` has the fields.
const SCHEMA: u64 = 1;

fn json(compared: &[Compared], which: Which) -> String {
    let blocks: Vec<_> = compared
        .iter()
        .filter(|c| c.is_in(which))
        .map(|c| {
            let lines: Vec<_> = c
                .lines
                .iter()
                .map(|(tag, text)| {
                    let side = match tag {
                        ChangeTag::Equal => "both",
                        ChangeTag::Delete => "a",
                        ChangeTag::Insert => "b",
                    };
                    serde_json::json!({"in": side, "text": text})
                })
                .collect();
            serde_json::json!({"a": c.names[0], "b": c.names[1], "lines": lines})
        })
        .collect();
    let [equal, removed, added] = totals(compared);
    let value = serde_json::json!({
        "schema": SCHEMA, "equal": equal, "only_a": removed, "only_b": added, "blocks": blocks,
    });
    format!("{value}\n")
}

fn marked(tag: ChangeTag, line: &str, color: bool) -> String {
    let (mark, code) = match tag {
        ChangeTag::Equal => (' ', ""),
        ChangeTag::Delete => ('-', "\x1b[31m"),
        ChangeTag::Insert => ('+', "\x1b[32m"),
    };
    let line = line.trim_end_matches('\n');
    if color && !code.is_empty() { format!("{code}{mark}{line}\x1b[0m\n") } else { format!("{mark}{line}\n") }
}

/// A pass run of a compile, as its report has it where everything is printed before and after each pass.
pub(crate) struct PassRun {
    pub pass: String,
    pub stage: String,
    pub before: String,
    pub after: String,
}

/// The runs in a report.
pub(crate) fn pass_runs(report: &str) -> Vec<PassRun> {
    let mut runs: Vec<PassRun> = Vec::new();
    // Which listing of the last run lines belong to.
    let mut after = None;
    for line in report.lines() {
        let Some(said) = line.strip_prefix("; ") else {
            if let (Some(run), Some(after)) = (runs.last_mut(), after) {
                let text = if after { &mut run.after } else { &mut run.before };
                text.push_str(line);
                text.push('\n');
            }
            continue;
        };
        let head = |mark: &str| said.strip_prefix(mark)?.strip_suffix(')')?.split_once(" (");
        if let Some((pass, stage)) = head("before ") {
            let (before, later) = (String::new(), String::new());
            runs.push(PassRun { pass: pass.into(), stage: stage.to_lowercase(), before, after: later });
            after = Some(false);
        } else {
            after = head("after ").map(|_| true);
        }
    }
    runs
}

/// The lines that differ, with three around them.
pub(crate) fn unified(before: &str, after: &str, color: bool) -> String {
    let diff = TextDiff::from_lines(before, after);
    let mut text = String::new();
    for (n, group) in diff.grouped_ops(3).iter().enumerate() {
        if n > 0 {
            text += "...\n";
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            text += &marked(change.tag(), change.value(), color);
        }
    }
    text
}
