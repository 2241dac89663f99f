//! `--profile`: what launches counted, beside the code and by source line.
//!
//! ```text
//! cycles = sum over instructions of (issues * cycles that its scheduling word asks for before the next)
//! ```
//!
//! These are cycles of issue of all warps, one after the other. A multiprocessor has several schedulers, and memory takes
//! its time, which the words do not know.

use nvir::asm::check::Schedule;
use nvir::emu::{PcProfile, Program};
use nvir::isa;
use nvir_emu_jit::{Choice, Threads};
use nvir_fixture::run::Profiled;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Cycles to the next instruction by address, as the code's own scheduling words ask for; why there are none.
fn counts(program: &Program) -> Result<BTreeMap<u32, u32>, String> {
    let mut all = BTreeMap::new();
    for (start, words) in program.code() {
        let schedule = Schedule::read(program.chip(), words).map_err(|e| e.to_string())?;
        all.extend(schedule.code.iter().enumerate().map(|(n, i)| (start + i.pc, schedule.cycles_of(n))));
    }
    Ok(all)
}

/// A row of a table: an instruction, or all of a line.
struct Row {
    counted: PcProfile,
    cycles: Option<u64>,
}

/// A kernel's counts with its code.
struct Kernel<'a> {
    name: &'a str,
    program: &'a Program,
    is_stage: bool,
    by_pc: BTreeMap<u32, Row>,
    /// Why there are no cycles.
    no_cycles: Option<String>,
}

impl<'a> Kernel<'a> {
    fn of(p: &'a Profiled) -> Kernel<'a> {
        let (counts, no_cycles) = match counts(&p.program) {
            Ok(counts) => (Some(counts), None),
            Err(why) => (None, Some(why)),
        };
        let row = |(&pc, &counted): (&u32, &PcProfile)| {
            let count = counts.as_ref().map(|c| u64::from(c.get(&pc).copied().unwrap_or(0)));
            (pc, Row { counted, cycles: count.map(|c| c * counted.issues) })
        };
        let by_pc = p.profile.by_pc.iter().map(row).collect();
        let name = p.kernel.as_deref().unwrap_or("main");
        Kernel { name, program: &p.program, is_stage: p.is_stage, by_pc, no_cycles }
    }

    fn issues(&self) -> u64 {
        self.by_pc.values().map(|r| r.counted.issues).sum()
    }

    /// What executes it when nothing is counted, and why. (With a profile all is interpreted.)
    fn engine(&self, engine: Choice) -> String {
        let threads = if self.is_stage { Threads::Stage } else { Threads::Kernel };
        engine.outlook(self.program, threads, self.issues())
    }

    fn cycles(&self) -> Option<u64> {
        self.by_pc.values().map(|r| r.cycles).sum()
    }

    fn sass(&self, pc: u32) -> String {
        self.program.instruction(pc).map_or(String::new(), |m| isa::text::print(self.program.chip(), m))
    }

    /// By source line, in the source's order; none of code that knows no lines.
    fn lines(&self) -> Vec<(&'a str, Row)> {
        let mut all: BTreeMap<(usize, &str), Row> = BTreeMap::new();
        for (&pc, row) in &self.by_pc {
            let Some(line) = self.program.line(pc) else { continue };
            let number = line.split(':').nth(1).and_then(|n| n.parse().ok()).unwrap_or(0);
            let none = Row { counted: PcProfile::default(), cycles: row.cycles.map(|_| 0) };
            let sum = all.entry((number, line)).or_insert(none);
            sum.counted.add(&row.counted);
            sum.cycles = sum.cycles.zip(row.cycles).map(|(a, b)| a + b);
        }
        all.into_iter().map(|((_, line), row)| (line, row)).collect()
    }

    /// By mnemonic.
    fn operations(&self) -> Vec<(&'static str, Row)> {
        let mut all: BTreeMap<&str, Row> = BTreeMap::new();
        for (&pc, row) in &self.by_pc {
            let Some(m) = self.program.instruction(pc) else { continue };
            let none = Row { counted: PcProfile::default(), cycles: row.cycles.map(|_| 0) };
            let sum = all.entry(m.op.name()).or_insert(none);
            sum.counted.add(&row.counted);
            sum.cycles = sum.cycles.zip(row.cycles).map(|(a, b)| a + b);
        }
        all.into_iter().collect()
    }
}

const HEAD: [&str; 6] = ["issues", "threads", "diverged", "transactions", "conflicts", "cycles"];

fn cells(row: &Row) -> [String; 6] {
    let c = &row.counted;
    let numbers =
        [c.issues, c.threads, c.divergences, c.transactions, c.bank_conflicts].map(|n| n.to_string());
    let [a, b, d, e, f] = numbers;
    [a, b, d, e, f, row.cycles.map_or("-".into(), |n| n.to_string())]
}

/// Columns of numbers to the right, and a text on both sides.
fn table(out: &mut String, first: &str, last: &str, rows: &[(String, [String; 6], String)]) {
    let head = HEAD.map(str::to_string);
    let width = |k: usize| rows.iter().map(|r| r.1[k].len()).chain([HEAD[k].len()]).max().unwrap_or(0);
    let left = rows.iter().map(|r| r.0.chars().count()).chain([first.len()]).max().unwrap_or(0);
    let top = (first.to_string(), head, last.to_string());
    for (name, cells, text) in std::iter::once(&top).chain(rows) {
        let mut line = format!("  {name:<left$}");
        for (k, cell) in cells.iter().enumerate() {
            let _ = write!(line, "  {cell:>w$}", w = width(k));
        }
        let _ = write!(line, "  {text}");
        out.push_str(line.trim_end());
        out.push('\n');
    }
}

/// Tables by instruction, by source line and by operation.
pub(crate) fn text(all: &[Profiled], model: Option<u64>, engine: Choice) -> String {
    let mut out = String::new();
    for p in all {
        let k = Kernel::of(p);
        let issues = k.issues();
        let cycles = match (k.cycles(), &k.no_cycles) {
            (Some(n), _) => {
                format!("{n} cycles of issue by the scheduling words, all warps one after the other")
            }
            (None, Some(why)) => format!("cycles of issue are not available: {why}"),
            (None, None) => String::new(),
        };
        let _ = writeln!(
            out,
            "profile of {} on {}: {issues} warp instructions; {cycles}",
            k.name,
            k.program.chip()
        );
        let _ = writeln!(out, "  without a profile {}", k.engine(engine));
        let rows: Vec<_> = k
            .by_pc
            .iter()
            .map(|(&pc, row)| {
                let line = k.program.line(pc).unwrap_or_default().to_string();
                (format!("{pc:04x}  {}", k.sass(pc)), cells(row), line)
            })
            .collect();
        table(&mut out, "at    instruction", "source", &rows);
        let lines = k.lines();
        if !lines.is_empty() {
            out.push_str("by source line:\n");
            let rows: Vec<_> = lines
                .iter()
                .map(|(line, row)| (share(row, issues), cells(row), (*line).to_string()))
                .collect();
            table(&mut out, "share", "source", &rows);
        }
        out.push_str("by operation:\n");
        let rows: Vec<_> =
            k.operations().iter().map(|(op, row)| ((*op).to_string(), cells(row), String::new())).collect();
        table(&mut out, "operation", "", &rows);
    }
    if let Some(cycles) = model {
        let _ = writeln!(
            out,
            "on one multiprocessor its launches take {cycles} cycles, by a model of several warps"
        );
    }
    out
}

/// The part of all issues, in per cent.
fn share(row: &Row, all: u64) -> String {
    format!("{:5.1} %", 100.0 * row.counted.issues as f64 / all.max(1) as f64)
}

/// Cycles of issue of all kernels; none without a profile, or where a chip's hardware decides.
pub(crate) fn issue_cycles(all: &[Profiled]) -> Option<u64> {
    if all.is_empty() { None } else { all.iter().map(|p| Kernel::of(p).cycles()).sum() }
}

/// What executes each kernel when nothing is counted, and why; none without a profile.
pub(crate) fn engines(all: &[Profiled], engine: Choice) -> Option<Vec<Value>> {
    let one = |p: &Profiled| {
        let k = Kernel::of(p);
        json!({ "kernel": k.name, "engine": k.engine(engine) })
    };
    if all.is_empty() { None } else { Some(all.iter().map(one).collect()) }
}

/// The same tables for `--json`.
pub(crate) fn json(all: &[Profiled]) -> Vec<Value> {
    let row = |r: &Row| {
        let c = &r.counted;
        json!({
            "issues": c.issues, "threads": c.threads, "divergences": c.divergences, "transactions": c.transactions,
            "bank_conflicts": c.bank_conflicts, "cycles": r.cycles,
        })
    };
    let kernel = |p: &Profiled| {
        let k = Kernel::of(p);
        let code: Vec<Value> = k
            .by_pc
            .iter()
            .map(|(&pc, r)| {
                let mut v = row(r);
                (v["pc"], v["sass"], v["source"]) = (json!(pc), json!(k.sass(pc)), json!(k.program.line(pc)));
                v
            })
            .collect();
        let lines: Vec<Value> = k
            .lines()
            .iter()
            .map(|(line, r)| {
                let mut v = row(r);
                v["source"] = json!(line);
                v
            })
            .collect();
        json!({ "kernel": k.name, "issue_cycles": k.cycles(), "code": code, "lines": lines })
    };
    all.iter().map(kernel).collect()
}
