//! The JSON in the page. Texts and places stand in tables once; everything else is numbers.
//!
//! A step's IR is told as what to do with the one before: `keep, drop, add, line...`, again and again.

use crate::Found;
use crate::code::Code;
use crate::side::{Side, Text};
use nvir::diag::{Loc, Span};
use nvir::image::Made;
use nvir::ir::Phase;
use serde_json::{Value, json};
use similar::{Algorithm, DiffOp, capture_diff_slices};
use std::collections::HashMap;
use std::hash::Hash;

/// Version of the page's data.
const SCHEMA: u32 = 1;

/// Things by number, each once.
struct Table<T> {
    all: Vec<T>,
    numbers: HashMap<T, u32>,
}

impl<T: Clone + Eq + Hash> Table<T> {
    fn new() -> Table<T> {
        Table { all: Vec::new(), numbers: HashMap::new() }
    }

    fn number(&mut self, x: T) -> u32 {
        let next = self.all.len() as u32;
        *self.numbers.entry(x).or_insert_with_key(|x| {
            self.all.push(x.clone());
            next
        })
    }
}

/// Where the lines of a text begin.
struct Lines(Vec<u32>);

impl Lines {
    fn of(text: &str) -> Lines {
        let ends = text.bytes().zip(1u32..).filter(|(b, _)| *b == b'\n').map(|(_, at)| at);
        Lines(std::iter::once(0).chain(ends).collect())
    }

    /// Line from 1, and the bytes before it in the line.
    fn place(&self, at: u32) -> (u32, u32) {
        let line = self.0.partition_point(|&start| start <= at).max(1);
        (line as u32, at - self.0[line - 1])
    }
}

/// What all sides share.
struct Shared {
    texts: Table<String>,
    /// Source and span.
    places: Table<(u32, Option<Span>)>,
    sources: Vec<Text>,
}

impl Shared {
    fn text(&mut self, text: &str) -> u32 {
        self.texts.number(text.to_string())
    }

    fn place(&mut self, source: u32, loc: Loc) -> u32 {
        match loc.0 {
            Some(span) => self.places.number((source, Some(span))),
            None => 0,
        }
    }

    /// The number of a side's source.
    fn source(&mut self, text: &Text) -> u32 {
        let at = self.sources.iter().position(|t| t == text);
        at.unwrap_or_else(|| {
            self.sources.push(text.clone());
            self.sources.len() - 1
        }) as u32
    }
}

/// The page's data; `made_by` is the program's version, `live` is its version where it is served.
pub(crate) fn json(sides: &[Side], made_by: &str, live: Option<u64>) -> Value {
    let mut shared = Shared { texts: Table::new(), places: Table::new(), sources: Vec::new() };
    shared.text("");
    shared.places.number((u32::MAX, None));
    let codes: Vec<Code> = sides.iter().map(|s| Code::of(s.chip, &s.kernel, s.shader.as_ref())).collect();
    let shown: Vec<Value> = sides.iter().zip(&codes).map(|(s, c)| side(&mut shared, s, c)).collect();
    let pairs = match &codes[..] {
        [a, b] => Some(aligned(a, b)),
        _ => None,
    };
    let lines: Vec<Lines> = shared.sources.iter().map(|t| Lines::of(&t.text)).collect();
    let mut places = Vec::with_capacity(3 * shared.places.all.len());
    for &(source, span) in &shared.places.all {
        match span.zip(lines.get(source as usize)) {
            Some((span, lines)) => {
                let (line, column) = lines.place(span.start);
                places.extend([i64::from(source), i64::from(line), i64::from(column)]);
            }
            None => places.extend([-1, 0, 0]),
        }
    }
    let sources = shared.sources.iter().map(
        |t| json!({"name": t.name, "language": t.language, "lines": t.text.lines().collect::<Vec<_>>()}),
    );
    json!({
        "schema": SCHEMA,
        "version": made_by,
        "title": sides.first().map_or(String::new(), |s| s.input.display().to_string()),
        "sources": sources.collect::<Vec<_>>(),
        "texts": shared.texts.all,
        "places": places,
        "sides": shown,
        "pairs": pairs,
        "live": live,
    })
}

fn side(shared: &mut Shared, s: &Side, code: &Code) -> Value {
    let source = s.text.as_ref().map(|t| shared.source(t));
    let at = source.unwrap_or(u32::MAX);
    let mut lines: Table<(u32, u32)> = Table::new();
    let mut before: Vec<u32> = Vec::new();
    let mut steps = Vec::with_capacity(s.steps.len());
    for step in &s.steps {
        let now: Vec<u32> = step
            .text
            .lines()
            .zip(&step.places)
            .map(|(line, loc)| {
                let line = (shared.text(line), shared.place(at, *loc));
                lines.number(line)
            })
            .collect();
        let phase = match step.phase {
            Phase::Front => "front",
            Phase::Ssa => "ssa",
            Phase::Legal => "legal",
        };
        let changes = changes(&before, &now);
        steps.push(json!({"name": step.name, "phase": phase, "notes": step.notes, "ops": changes}));
        before = now;
    }
    let ir: Vec<u32> = lines.all.iter().flat_map(|&(text, place)| [text, place]).collect();
    let remarks: Vec<Value> = s
        .remarks
        .iter()
        .map(|r| json!({"place": shared.place(at, r.loc), "pass": r.pass, "message": r.message}))
        .collect();
    json!({
        "title": s.title,
        "entry": s.entry,
        "chip": s.chip.name(),
        "source": source,
        "facts": facts(s, code),
        "ir": ir,
        "steps": steps,
        "remarks": remarks,
        "sass": sass(shared, at, s, code),
        "counts": s.counts.as_ref().map(|c| json!({"test": c.test, "outcome": c.outcome})),
        "warp": s.warp,
        "error": s.error.as_ref().map(Found::lines),
    })
}

/// Figures for the head of the page: name, value, and what it means.
fn facts(s: &Side, code: &Code) -> Vec<Value> {
    let mut all = Vec::new();
    if code.rows.is_empty() {
        return all;
    }
    let mut fact = |name: &str, value: String, help: &str| all.push(json!([name, value, help]));
    fact("instructions", code.rows.len().to_string(), "without scheduling words");
    let gprs = s.kernel.gprs;
    if gprs > 0 {
        fact("registers", gprs.to_string(), "general registers of a thread");
        let warps = match &s.shader {
            Some(shader) => shader.resident_warps(None),
            None => s.chip.occupancy(None, gprs, s.kernel.shared),
        };
        fact(
            "warps",
            format!("{warps} of {}", s.chip.most_warps()),
            "resident on a multiprocessor: whole blocks of the declared size, as registers and shared memory allow",
        );
    }
    let most = code.rows.iter().map(|r| r.alive).max().unwrap_or(0);
    fact("alive", most.to_string(), "most registers that hold something at once");
    if let Some(t) = &code.totals {
        fact("counts", t.counts.to_string(), "cycles by the scheduling words, each instruction taken once");
        fact(
            "cycles",
            t.cycles.to_string(),
            "the same with what memory, textures and special functions take as a rule",
        );
        let share = format!("{} ({:.0} %)", t.pairs, 100.0 * t.share());
        fact("pairs", share, "instructions that issue together, and their share of all");
    }
    if let Some(shader) = &s.shader {
        if shader.spills + shader.fills > 0 {
            let text = format!("{} + {}", shader.spills, shader.fills);
            fact(
                "spills",
                text,
                "instructions that store registers to local memory, and that load them again",
            );
        }
        if shader.library > 0 {
            fact("library", shader.library.to_string(), "instructions of library routines");
        }
        for (name, bytes) in [("local", shader.local_bytes), ("shared", shader.shared_bytes)] {
            if bytes > 0 {
                fact(name, format!("{bytes} B"), "bytes of that memory");
            }
        }
    }
    if let Some(c) = &s.counts {
        let all: u64 = c.profile.by_pc.values().map(|p| p.issues).sum();
        fact("executed", all.to_string(), "instructions that warps issued in the test's last launch");
    }
    if let Some(why) = &code.no_issue {
        fact("issue", "by hardware".to_string(), why);
    }
    all
}

/// Machine code in columns, a number an instruction.
fn sass(shared: &mut Shared, source: u32, s: &Side, code: &Code) -> Value {
    let rows = &code.rows;
    let mut places = Vec::with_capacity(rows.len());
    let mut made = Vec::with_capacity(rows.len());
    let mut texts = Vec::with_capacity(rows.len());
    for row in rows {
        let loc = s.shader.as_ref().map_or(Loc::default(), |x| x.loc(row.pc));
        places.push(shared.place(source, loc));
        let cause = s.shader.as_ref().map_or(Made::Selected, |x| x.made(row.pc));
        made.push(shared.text(cause.describe().unwrap_or("")));
        texts.push(shared.text(&row.text));
    }
    let issues = code.issues.as_ref().map(|all| {
        let of = |row: &crate::code::Row| all.get(&row.pc);
        let why: Vec<u32> = rows.iter().map(|r| shared.text(of(r).map_or("", |i| i.why.as_str()))).collect();
        json!({
            "count": rows.iter().map(|r| of(r).map(|i| i.count)).collect::<Vec<_>>(),
            "cycle": rows.iter().map(|r| of(r).map(|i| i.cycle)).collect::<Vec<_>>(),
            "why": why,
        })
    });
    let counts = s.counts.as_ref().map(|c| {
        let of = |row: &crate::code::Row| c.profile.by_pc.get(&row.pc);
        json!({
            "issues": rows.iter().map(|r| of(r).map_or(0, |p| p.issues)).collect::<Vec<_>>(),
            "threads": rows.iter().map(|r| of(r).map_or(0, |p| p.threads)).collect::<Vec<_>>(),
            "transactions": rows.iter().map(|r| of(r).map_or(0, |p| p.transactions)).collect::<Vec<_>>(),
            "conflicts": rows.iter().map(|r| of(r).map_or(0, |p| p.bank_conflicts)).collect::<Vec<_>>(),
        })
    });
    let mut labels = vec![""; code.graph.blocks.len()];
    for (name, &block) in &code.graph.labels {
        labels[block] = name;
    }
    let mut first = 0;
    let starts: Vec<usize> = code
        .graph
        .blocks
        .iter()
        .map(|b| {
            first += b.code.len();
            first - b.code.len()
        })
        .collect();
    json!({
        "pc": rows.iter().map(|r| r.pc).collect::<Vec<_>>(),
        "word": rows.iter().map(|r| format!("{:016x}", r.word)).collect::<Vec<_>>(),
        "text": texts,
        "place": places,
        "made": made,
        "alive": rows.iter().map(|r| r.alive).collect::<Vec<_>>(),
        "block": rows.iter().map(|r| r.block).collect::<Vec<_>>(),
        "issue": issues,
        "counts": counts,
        "starts": starts,
        "labels": labels,
        "edges": code.graph.edges,
        "entries": code.graph.entries,
        "ranges": code.ranges.iter().flat_map(|r| [r.register, r.from, r.to]).collect::<Vec<_>>(),
    })
}

/// How one list becomes another: `keep, drop, add, line...`, again and again.
fn changes(a: &[u32], b: &[u32]) -> Vec<u32> {
    let mut out = Vec::new();
    for op in capture_diff_slices(Algorithm::Patience, a, b) {
        match op {
            DiffOp::Equal { len, .. } => out.extend([len as u32, 0, 0]),
            _ => {
                let (_, old, new) = op.as_tag_tuple();
                out.extend([0, old.len() as u32, new.len() as u32]);
                out.extend(&b[new]);
            }
        }
    }
    out
}

/// Rows of two kernels beside each other, as pairs of their numbers; -1 where there is nothing. Operations decide, not operands.
fn aligned(a: &Code, b: &Code) -> Vec<i64> {
    fn shape(row: &crate::code::Row) -> &str {
        let text = row.text.as_str();
        let text = if text.starts_with('@') { text.split_once(' ').map_or(text, |t| t.1) } else { text };
        text.trim_start().split(' ').next().unwrap_or(text)
    }
    let shapes = |c: &Code| c.rows.iter().map(|r| shape(r).to_string()).collect::<Vec<_>>();
    let (one, two) = (shapes(a), shapes(b));
    let mut out = Vec::with_capacity(2 * one.len().max(two.len()));
    for op in capture_diff_slices(Algorithm::Patience, &one, &two) {
        let (_, left, right) = op.as_tag_tuple();
        for k in 0..left.len().max(right.len()) {
            let at = |r: &std::ops::Range<usize>| if k < r.len() { (r.start + k) as i64 } else { -1 };
            out.extend([at(&left), at(&right)]);
        }
    }
    out
}

/// The data of a page that has nothing to show but why.
pub(crate) fn nothing(input: &std::path::Path, why: &str, made_by: &str, version: u64) -> Value {
    json!({
        "schema": SCHEMA,
        "version": made_by,
        "title": input.display().to_string(),
        "sources": [],
        "texts": [""],
        "places": [-1, 0, 0],
        "sides": [],
        "pairs": null,
        "live": version,
        "error": why,
    })
}
