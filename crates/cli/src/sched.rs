//! `nvir sched`: the issue control of anybody's code, held against the rules.

use crate::code::{self, Kind, Texts};
use crate::{common, output};
use nvir::asm::check::{Issued, Schedule, Violation, Wait};
use nvir::compiler::Options;
use nvir::image::cubin::Kernel;
use nvir::{Chip, Compiler, OptLevel, Source, input, isa};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Check and measure the scheduling words of Kepler's code: cycles, pairs, places that break a rule
///
/// Reads cubins, words in hexadecimal or binary, SASS listings (nvir's, cuobjdump's with -sass, nvdisasm's with -hex), and
/// TGSI, NIR and IR, which it compiles.
#[derive(clap::Args)]
#[command(after_help = "\
The rules are what ptxas keeps in all its code for sm_35; docs/scheduling.md has them. `counts` are the cycles that the \
scheduling words ask for, each instruction taken once; `cycles` are those with what memory, textures and special functions \
take as a rule. `asked` is the share of counts inside blocks that are exactly what the rules ask for. `banks` are pairs whose \
registers lie in one bank, which costs time and breaks no rule.

Exit status: 1 if a rule is broken, or an input cannot be read.

Examples:
  nvir sched kernel.cubin -v                     cycle, count, pair and what is waited for beside each instruction
  nvir compile k.nir --emit words | nvir sched -
  nvir sched k.nir -t gk104 -O 2 --json")]
pub(crate) struct Args {
    /// Files, or folders of .cubin, .sass, .tgsi, .nir and .ir; `-` is standard input: words or a listing
    #[arg(required = true, value_name = "FILE")]
    paths: Vec<PathBuf>,
    /// The chip of words and listings that do not say it, and what TGSI, NIR and IR are compiled for: gk104 or gk110
    #[arg(short, long, default_value = "gk110", value_name = "CHIP")]
    target: Chip,
    /// Optimisation level of what is compiled
    #[arg(short = 'O', long = "opt", default_value = "3", value_parser = common::level(), value_name = "N")]
    opt: OptLevel,
    /// What the inputs are, where neither their names nor their contents show it
    #[arg(long, value_parser = Kind::parse, value_name = "tgsi|nir|ir|cubin|hex|raw|sass")]
    format: Option<Kind>,
    /// Only this kernel
    #[arg(short, long, value_name = "NAME")]
    kernel: Option<String>,
    /// Where to write the result; default: standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Show the code: cycle, count, pair mark, and what each instruction waits for
    #[arg(short, long)]
    verbose: bool,
    /// Print JSON (docs/json.md)
    #[arg(long)]
    json: bool,
}

/// A kernel and what was found in it.
struct Checked {
    file: String,
    name: String,
    schedule: Schedule,
    violations: Vec<Violation>,
    /// Pairs whose registers lie in one bank.
    banks: usize,
    waits: Vec<Wait>,
}

impl Checked {
    fn of(file: String, name: String, schedule: Schedule) -> Checked {
        let (advice, violations): (Vec<_>, Vec<_>) =
            schedule.violations().into_iter().partition(|v| v.rule.is_advice());
        let waits = schedule.waits();
        Checked { file, name, schedule, violations, banks: advice.len(), waits }
    }

    /// Counts inside blocks, and how many are exactly what the rules ask for. Not the first: what comes before the code is
    /// waited for there.
    fn asked(&self) -> (usize, usize) {
        let places = self.waits.iter().skip(1).filter_map(|w| Some((w.count, w.want?)));
        places.fold((0, 0), |(n, exact), (count, want)| (n + 1, exact + usize::from(count == want)))
    }

    /// The byte address of an instruction.
    fn pc(&self, n: usize) -> u32 {
        self.schedule.code[n].pc
    }
}

pub(crate) fn run(a: Args) -> ExitCode {
    let wanted = |f: &Path| input::ends_in(f, &["cubin", "sass", "tgsi", "nir", "ir"]);
    let files = match common::find(&a.paths, ".cubin, .sass, .tgsi, .nir or .ir file", &wanted) {
        Ok(f) => f,
        Err(code) => return code,
    };
    if let Err(code) = output::not_an_input(a.output.as_deref(), &files) {
        return code;
    }
    let mut all = Vec::new();
    let mut failed = false;
    for file in &files {
        match check(&a, file) {
            Ok(kernels) => all.extend(kernels),
            Err(_) => failed = true,
        }
    }
    if let (Some(name), true, false) = (&a.kernel, all.is_empty(), failed) {
        return common::fault(format!("unknown kernel `{name}`"));
    }
    let text = if a.json { json(&all, a.verbose) } else { text(&all, a.verbose) };
    let written = common::write_output(a.output.as_deref(), text.as_bytes());
    if failed || all.iter().any(|k| !k.violations.is_empty()) { common::input_error() } else { written }
}

/// The kernels of a file; what is wrong with it has been said.
fn check(a: &Args, file: &Path) -> Result<Vec<Checked>, ExitCode> {
    let (chip, mut kernels) = kernels(a, file)?;
    if kernels.iter().all(|k| k.code.is_empty()) {
        return Err(common::fault_in(file, "no machine code in it"));
    }
    kernels.retain(|k| a.kernel.as_ref().is_none_or(|name| *name == k.name));
    let mut out = Vec::with_capacity(kernels.len());
    for k in kernels {
        let s =
            Schedule::read(chip, &k.code).map_err(|e| common::fault_in(file, format!("{}: {e}", k.name)))?;
        out.push(Checked::of(file.to_string_lossy().into_owned(), k.name, s));
    }
    Ok(out)
}

fn kernels(a: &Args, file: &Path) -> Result<(Chip, Vec<Kernel>), ExitCode> {
    let data = common::read_bytes(file)?;
    if let Some(language) = common::language_of(file, a.format.and_then(Kind::language)) {
        let text = input::text(&data).map_err(|e| common::fault_in(file, e))?;
        let compiler =
            Compiler::new(a.target).with_options(Options { opt_level: a.opt, ..Options::default() });
        let source = Source { language, text, entry: None, name: &file.to_string_lossy() };
        let shader = compiler.compile(&source).map_err(|e| common::report_error(&e, &source))?;
        return Ok((a.target, vec![Kernel { name: input::stem(file), ..shader.kernel() }]));
    }
    let form = a.format.and_then(Kind::form);
    let asked = code::Asked { path: file, chip: a.target, form, texts: Texts::Any };
    let read = asked.read(&data).map_err(|e| code::tell(e, file))?;
    Ok((read.chip, read.kernels))
}

/// Cells in columns: the first to the left, the others to the right.
fn columns(out: &mut String, rows: &[Vec<String>]) {
    let count = rows.first().map_or(0, Vec::len);
    let widths: Vec<usize> =
        (0..count).map(|c| rows.iter().map(|r| r[c].chars().count()).max().unwrap_or(0)).collect();
    for row in rows {
        let _ = write!(out, "{:<w$}", row[0], w = widths[0]);
        for (cell, &w) in row.iter().zip(&widths).skip(1) {
            let _ = write!(out, "  {cell:>w$}");
        }
        out.push('\n');
    }
}

fn percent(part: usize, all: usize) -> String {
    if all == 0 { "-".to_string() } else { format!("{:.1} %", 100.0 * part as f64 / all as f64) }
}

fn text(all: &[Checked], verbose: bool) -> String {
    let head = ["kernel", "instrs", "pairs", "paired", "counts", "cycles", "asked", "banks", "violations"];
    let mut rows = vec![head.map(String::from).to_vec()];
    let row = |name: String, n: [u64; 6], asked: (usize, usize)| {
        let [instructions, pairs, counts, cycles, banks, violations] = n;
        vec![
            name,
            instructions.to_string(),
            pairs.to_string(),
            percent(2 * pairs as usize, instructions as usize),
            counts.to_string(),
            cycles.to_string(),
            percent(asked.1, asked.0),
            banks.to_string(),
            violations.to_string(),
        ]
    };
    let (mut sum, mut sum_asked) = ([0; 6], (0, 0));
    for k in all {
        let t = k.schedule.totals();
        let n = [
            t.instructions as u64,
            t.pairs as u64,
            t.counts,
            t.cycles,
            k.banks as u64,
            k.violations.len() as u64,
        ];
        let asked = k.asked();
        sum.iter_mut().zip(n).for_each(|(s, n)| *s += n);
        sum_asked = (sum_asked.0 + asked.0, sum_asked.1 + asked.1);
        rows.push(row(k.name.clone(), n, asked));
    }
    if all.len() > 1 {
        rows.push(row(format!("total: {} kernels", all.len()), sum, sum_asked));
    }
    let mut out = String::new();
    columns(&mut out, &rows);
    for k in all {
        if verbose {
            let _ = writeln!(out, "\n{}: {}", k.file, k.name);
            code(&mut out, k);
        } else {
            for v in &k.violations {
                let _ = writeln!(out, "{}: {}: {}", k.file, k.name, v.describe(&k.schedule));
            }
        }
    }
    out
}

/// An instruction a line.
fn code(out: &mut String, k: &Checked) {
    let s = &k.schedule;
    let mut cycle = 0;
    let mut waits = k.waits.iter().peekable();
    let mut violations = k.violations.iter().peekable();
    let _ = writeln!(out, "{:>6} {:>5}      {:<5} {:<52} waits for", "cycle", "count", "at", "instruction");
    for (n, i) in s.code.iter().enumerate() {
        let mark = match (i.is_dual(), n > 0 && s.code[n - 1].is_dual()) {
            (true, _) => '{',
            (false, true) => '}',
            _ => ' ',
        };
        let wait = waits.next_if(|w| w.at == n).map_or(String::new(), |w| w.describe(s));
        let label = if i.label { ':' } else { ' ' };
        let text = isa::text::print(s.chip, &i.inst);
        let count = s.cycles_of(n);
        let line = format!("{cycle:>6} {count:>5}  {mark}  {label}{:04x}  {text:<52} {wait}", i.pc);
        let _ = writeln!(out, "{}", line.trim_end());
        cycle += u64::from(count);
        while let Some(v) = violations.next_if(|v| v.at <= n) {
            let _ = writeln!(out, "{:>14}^ {}", "", v.describe(s));
        }
    }
}

/// Version of what `--json` writes; `docs/json.md` has the fields.
const SCHEMA: u64 = 1;

fn json(all: &[Checked], verbose: bool) -> String {
    let kernels: Vec<_> = all.iter().map(|k| kernel_json(k, verbose)).collect();
    let sum = |f: fn(&Checked) -> u64| all.iter().map(f).sum::<u64>();
    let totals = serde_json::json!({
        "kernels": all.len(),
        "instructions": sum(|k| k.schedule.totals().instructions as u64),
        "pairs": sum(|k| k.schedule.totals().pairs as u64),
        "counts": sum(|k| k.schedule.totals().counts),
        "cycles": sum(|k| k.schedule.totals().cycles),
        "places": sum(|k| k.asked().0 as u64),
        "as_asked": sum(|k| k.asked().1 as u64),
        "bank_conflicts": sum(|k| k.banks as u64),
        "violations": sum(|k| k.violations.len() as u64),
    });
    format!("{}\n", serde_json::json!({ "schema": SCHEMA, "kernels": kernels, "totals": totals }))
}

fn kernel_json(k: &Checked, verbose: bool) -> serde_json::Value {
    let t = k.schedule.totals();
    let (places, exact) = k.asked();
    let violation = |v: &Violation| {
        serde_json::json!({
            "rule": v.rule.name(), "at": k.pc(v.at), "by": k.pc(v.by), "what": v.what.map(|r| r.to_string()),
            "short": v.short, "text": v.describe(&k.schedule),
        })
    };
    let mut value = serde_json::json!({
        "file": k.file, "kernel": k.name, "chip": k.schedule.chip.name(), "instructions": t.instructions,
        "pairs": t.pairs, "paired": t.share(), "counts": t.counts, "cycles": t.cycles, "places": places,
        "as_asked": exact, "bank_conflicts": k.banks,
        "violations": k.violations.iter().map(violation).collect::<Vec<_>>(),
    });
    if verbose {
        value["code"] = code_json(k);
    }
    value
}

fn code_json(k: &Checked) -> serde_json::Value {
    let s = &k.schedule;
    let mut waits = k.waits.iter().peekable();
    let mut cycle = 0;
    let line = |(n, i): (usize, &Issued)| {
        let wait = waits.next_if(|w| w.at == n);
        let at = cycle;
        cycle += u64::from(s.cycles_of(n));
        serde_json::json!({
            "at": i.pc, "cycle": at, "count": s.cycles_of(n), "dual": i.is_dual(), "label": i.label,
            "text": isa::text::print(s.chip, &i.inst), "asked": wait.and_then(|w| w.want),
            "waits_for": wait.map(|w| w.describe(s)).filter(|r| !r.is_empty()),
        })
    };
    s.code.iter().enumerate().map(line).collect()
}
