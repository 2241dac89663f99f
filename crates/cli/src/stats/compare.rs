//! `nvir stats --compare A.json B.json`: what changed between two runs, as shader-db's report says it.
//!
//! Rows are matched by input, kernel, chip and register limit. Every number that rows of both files have is compared; which
//! direction is better stands in [`METRICS`].

use crate::common;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What is compared, in this order, and whether more of it is better.
const METRICS: &[(&str, bool)] = &[
    ("instructions", false),
    ("cycles", false),
    ("latency_cycles", false),
    ("gprs", false),
    ("resident_warps", true),
    ("code_bytes", false),
    ("library", false),
    ("local", false),
    ("shared", false),
    ("spills", false),
    ("fills", false),
    (TIME, false),
];

/// Differs from run to run, so it is limited only where it is named.
const TIME: &str = "compile_us";

/// How much worse something may become, in percent.
#[derive(Clone, Debug)]
pub(super) struct Limit {
    /// `None`: every one but the compile time.
    metric: Option<&'static str>,
    percent: f64,
}

/// `2.5`, or `cycles=2.5`.
pub(super) fn limit(text: &str) -> Result<Limit, String> {
    let (metric, number) = match text.split_once('=') {
        None => (None, text),
        Some((name, number)) => {
            let known: Vec<&str> = METRICS.iter().map(|m| m.0).collect();
            let found = METRICS.iter().find(|m| m.0 == name);
            let found =
                found.ok_or_else(|| format!("unknown metric `{name}`; available: {}", known.join(", ")))?;
            (Some(found.0), number)
        }
    };
    let percent = number.trim_end_matches('%').parse::<f64>().ok().filter(|p| p.is_finite() && *p >= 0.0);
    let percent = percent.ok_or_else(|| format!("`{number}` is not a percentage of 0 or more"))?;
    Ok(Limit { metric, percent })
}

/// How a comparison is shown, and what it must not exceed.
pub(super) struct How<'a> {
    pub json: bool,
    pub output: Option<&'a Path>,
    /// Of the geometric mean over all inputs.
    pub mean: &'a [Limit],
    /// Of any single input.
    pub worst: &'a [Limit],
}

/// A row's names: input, kernel; chip and register limit where a file has the same kernel for several.
type Key = (String, String, String, u64);

/// One input in both files.
struct Pair {
    name: String,
    category: String,
    before: Value,
    after: Value,
}

pub(super) fn run(paths: &[PathBuf], how: &How<'_>) -> ExitCode {
    if let Err(code) = crate::output::not_an_input(how.output, paths) {
        return code;
    }
    let [a, b] = paths else {
        return common::usage("--compare takes two files that `nvir stats --json` wrote: before and after");
    };
    let (a, b) = match read(a).and_then(|a| Ok((a, read(b)?))) {
        Ok(both) => both,
        Err(code) => return code,
    };
    let [a, b] = keyed([a, b]);
    let c = Comparison::of(a, b);
    let broken = c.broken_limits(how);
    let text = if how.json { c.json(&broken) } else { c.text(&broken) };
    match common::write_output(how.output, text.as_bytes()) {
        ExitCode::SUCCESS if !broken.is_empty() => common::input_error(),
        code => code,
    }
}

fn read(path: &Path) -> Result<Vec<Value>, ExitCode> {
    let fault = |why: String| common::fault_in(path, why);
    let text = common::read_text(path)?;
    let mut file: Value = serde_json::from_str(&text).map_err(|e| fault(e.to_string()))?;
    let schema = file["schema"].as_u64().unwrap_or(super::SCHEMA);
    if schema > super::SCHEMA {
        return Err(fault(format!("schema {schema}: this program knows {} at most", super::SCHEMA)));
    }
    match file["rows"].take() {
        Value::Array(rows) => match rows.iter().position(|r| !r["input"].is_string()) {
            Some(n) => Err(fault(format!("row {n} has no `input`"))),
            None => Ok(rows),
        },
        _ => Err(fault("no `rows`: it is not what `nvir stats --json` writes".into())),
    }
}

/// The rows of both files by their names.
fn keyed(files: [Vec<Value>; 2]) -> [BTreeMap<Key, Value>; 2] {
    let name = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_string();
    let key = |row: &Value| -> Key {
        (name(row, "input"), name(row, "entry"), name(row, "chip"), row["max_gprs"].as_u64().unwrap_or(0))
    };
    let several = |same: &dyn Fn(&Key) -> Key| {
        files.iter().any(|rows| {
            let all: BTreeSet<Key> = rows.iter().map(key).collect();
            all.iter().map(same).collect::<BTreeSet<Key>>().len() < all.len()
        })
    };
    let (chips, limits) = (
        several(&|k| (k.0.clone(), k.1.clone(), String::new(), k.3)),
        several(&|k| (k.0.clone(), k.1.clone(), k.2.clone(), 0)),
    );
    files.map(|rows| {
        let short = |(input, entry, chip, limit): Key| {
            (input, entry, if chips { chip } else { String::new() }, if limits { limit } else { 0 })
        };
        rows.into_iter().map(|row| (short(key(&row)), row)).collect()
    })
}

/// What two files have in common, and what not.
struct Comparison {
    /// Compiled in both.
    pairs: Vec<Pair>,
    /// Compiled before only.
    lost: Vec<String>,
    /// Compiled after only.
    gained: Vec<String>,
    only_before: usize,
    only_after: usize,
}

/// One metric over some pairs.
#[derive(Default)]
struct Summary {
    inputs: usize,
    before: f64,
    after: f64,
    helped: usize,
    hurt: usize,
    /// Sum of the logarithms of after / before, where neither is 0, and how many those are.
    logs: (f64, usize),
}

impl Summary {
    fn add(&mut self, before: f64, after: f64, more_is_better: bool) {
        self.inputs += 1;
        self.before += before;
        self.after += after;
        let worse = if more_is_better { before - after } else { after - before };
        self.helped += usize::from(worse < 0.0);
        self.hurt += usize::from(worse > 0.0);
        if before > 0.0 && after > 0.0 {
            self.logs.0 += (after / before).ln();
            self.logs.1 += 1;
        }
    }

    /// The geometric mean of after / before.
    fn mean(&self) -> f64 {
        if self.logs.1 == 0 { 1.0 } else { (self.logs.0 / self.logs.1 as f64).exp() }
    }
}

/// Change in percent; from nothing to something is infinite.
fn percent(before: f64, after: f64) -> f64 {
    if before == after { 0.0 } else { 100.0 * (after / before - 1.0) }
}

/// What a comparison's text names of the worst of each metric.
const WORST: usize = 5;

impl Comparison {
    fn of(before: BTreeMap<Key, Value>, mut after: BTreeMap<Key, Value>) -> Comparison {
        let mut c = Comparison {
            pairs: Vec::new(),
            lost: Vec::new(),
            gained: Vec::new(),
            only_before: 0,
            only_after: 0,
        };
        let root = common_folder(before.keys().chain(after.keys()).map(|k| k.0.as_str()));
        for (key, a) in before {
            let Some(b) = after.remove(&key) else {
                c.only_before += 1;
                continue;
            };
            let (input, entry, chip, limit) = key;
            let mut name = input.clone();
            for part in [entry, chip].iter().filter(|part| !part.is_empty()) {
                name += &format!(" {part}");
            }
            if limit != 0 {
                name += &format!(" ({limit} registers)");
            }
            match (a["ok"] == true, b["ok"] == true) {
                (true, true) => {
                    let category = category(&input, &root);
                    c.pairs.push(Pair { name, category, before: a, after: b });
                }
                (true, false) => c.lost.push(format!("{name}: {}", b["error"].as_str().unwrap_or_default())),
                (false, true) => c.gained.push(name),
                (false, false) => {}
            }
        }
        c.only_after = after.len();
        c
    }

    /// Values of a metric of each pair that has it.
    fn values(&self, metric: &'static str) -> impl Iterator<Item = (&Pair, f64, f64)> {
        self.pairs
            .iter()
            .filter_map(move |p| Some((p, p.before[metric].as_f64()?, p.after[metric].as_f64()?)))
    }

    fn summary(&self, metric: &'static str, more: bool, category: Option<&str>) -> Summary {
        let mut s = Summary::default();
        let wanted = self.values(metric).filter(|(p, ..)| category.is_none_or(|c| p.category == c));
        wanted.for_each(|(_, a, b)| s.add(a, b, more));
        s
    }

    /// The pairs that got worse, the worst first, by the share; with that in percent.
    fn worst(&self, metric: &'static str, more: bool) -> Vec<(&Pair, f64, f64, f64)> {
        let mut all: Vec<_> = self
            .values(metric)
            .map(|(p, a, b)| (p, a, b, if more { percent(b, a) } else { percent(a, b) }))
            .filter(|w| w.3 > 0.0)
            .collect();
        all.sort_by(|x, y| y.3.total_cmp(&x.3).then_with(|| x.0.name.cmp(&y.0.name)));
        all
    }

    /// What is worse than a limit allows, a sentence each.
    fn broken_limits(&self, how: &How<'_>) -> Vec<String> {
        let mut broken = Vec::new();
        let applies = |limits: &[Limit], metric: &'static str| {
            let own = limits.iter().rev().find(|l| l.metric == Some(metric));
            own.or_else(|| limits.iter().rev().find(|l| l.metric.is_none() && metric != TIME))
                .map(|l| l.percent)
        };
        for &(metric, more) in METRICS {
            if let Some(limit) = applies(how.mean, metric) {
                let mean = self.summary(metric, more, None).mean();
                let worse = 100.0 * (if more { 1.0 / mean } else { mean } - 1.0);
                if worse > limit {
                    broken.push(format!("{metric}: geometric mean worse by {worse:.2} %, limit {limit} %"));
                }
            }
            if let Some(limit) = applies(how.worst, metric)
                && let Some((p, a, b, worse)) = self.worst(metric, more).first()
                && *worse > limit
            {
                let by = if worse.is_finite() { format!(" by {worse:.2} %") } else { String::new() };
                broken.push(format!("{metric}: {} worse{by} ({a} -> {b}), limit {limit} %", p.name));
            }
        }
        let limited = !how.mean.is_empty() || !how.worst.is_empty();
        if limited && !self.lost.is_empty() {
            broken.push(format!("{} no longer compile", self.lost.len()));
        }
        broken
    }

    fn categories(&self) -> Vec<&str> {
        let mut all: Vec<&str> = self.pairs.iter().map(|p| p.category.as_str()).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The metrics that differ anywhere.
    fn changed(&self) -> impl Iterator<Item = (&'static str, bool, Summary)> {
        METRICS.iter().filter_map(|&(metric, more)| {
            let s = self.summary(metric, more, None);
            (s.helped + s.hurt > 0).then_some((metric, more, s))
        })
    }

    fn text(&self, broken: &[String]) -> String {
        let mut t = String::new();
        let _ = writeln!(t, "{} compiled in both", self.pairs.len());
        for (n, what) in [(self.only_before, "before"), (self.only_after, "after")] {
            if n > 0 {
                let _ = writeln!(t, "{n} in the file {what} only");
            }
        }
        for (list, what) in [(&self.lost, "no longer compile"), (&self.gained, "compile now")] {
            if !list.is_empty() {
                let _ = writeln!(t, "{} {what}:", list.len());
                list.iter().take(20).for_each(|n| t += &format!("  {n}\n"));
            }
        }
        if self.changed().next().is_none() {
            t += "no difference\n";
        } else {
            t += &head("");
            for &(metric, more) in METRICS {
                let s = self.summary(metric, more, None);
                if s.inputs > 0 {
                    t += &line(metric, &s);
                }
            }
        }
        for (metric, more, _) in self.changed() {
            let worst = self.worst(metric, more);
            if metric != TIME && !worst.is_empty() {
                let _ = writeln!(t, "\nworst {metric}:");
                for (p, a, b, worse) in worst.iter().take(WORST) {
                    let by = if worse.is_finite() { format!("{worse:+.2} %") } else { "from none".into() };
                    let _ = writeln!(t, "  {by:>10}  {a} -> {b}  {}", p.name);
                }
            }
        }
        let categories = self.categories();
        if categories.len() > 1 {
            for (metric, more, _) in self.changed().filter(|c| c.0 != TIME) {
                t += &format!("\n{}", head(&format!("{metric} by category")));
                for c in &categories {
                    let s = self.summary(metric, more, Some(c));
                    if s.helped + s.hurt > 0 {
                        t += &line(c, &s);
                    }
                }
            }
        }
        if !broken.is_empty() {
            t += "\npast the limit:\n";
            broken.iter().for_each(|b| t += &format!("  {b}\n"));
        }
        t
    }

    fn json(&self, broken: &[String]) -> String {
        let one = |s: &Summary| {
            json!({
                "inputs": s.inputs, "before": s.before, "after": s.after, "helped": s.helped, "hurt": s.hurt,
                "geomean": s.mean(),
            })
        };
        let metrics: serde_json::Map<String, Value> = METRICS
            .iter()
            .map(|&(metric, more)| {
                let mut value = one(&self.summary(metric, more, None));
                let worst = self.worst(metric, more);
                value["worst"] = worst
                    .iter()
                    .take(WORST)
                    .map(|(p, a, b, w)| json!({"name": p.name, "before": a, "after": b, "percent": w.is_finite().then_some(w)}))
                    .collect();
                let categories = self.categories();
                let by: serde_json::Map<String, Value> = categories
                    .iter()
                    .map(|c| (c.to_string(), one(&self.summary(metric, more, Some(c)))))
                    .collect();
                value["categories"] = by.into();
                (metric.to_string(), value)
            })
            .collect();
        let all = json!({
            "schema": super::SCHEMA, "compared": self.pairs.len(), "lost": self.lost, "gained": self.gained,
            "only_before": self.only_before, "only_after": self.only_after, "metrics": metrics, "past_limit": broken,
        });
        format!("{all}\n")
    }
}

fn head(title: &str) -> String {
    format!(
        "{title:<28} {:>14} {:>14} {:>10} {:>8} {:>7} {:>6}\n",
        "before", "after", "change", "geomean", "helped", "hurt"
    )
}

fn line(name: &str, s: &Summary) -> String {
    let change = percent(s.before, s.after);
    let change = if change.is_finite() { format!("{change:+.2} %") } else { "from none".into() };
    format!(
        "{name:<28} {:>14} {:>14} {change:>10} {:>8.4} {:>7} {:>6}\n",
        s.before.round(),
        s.after.round(),
        s.mean(),
        s.helped,
        s.hurt
    )
}

/// The folder that all inputs lie below.
fn common_folder<'a>(mut names: impl Iterator<Item = &'a str>) -> PathBuf {
    let first = names.next().and_then(|n| Path::new(n).parent()).unwrap_or(Path::new("")).to_path_buf();
    names.fold(first, |root, name| {
        let mut root = root;
        while !Path::new(name).starts_with(&root) && root.pop() {}
        root
    })
}

/// The first folder of an input below the common one, or its language.
fn category(input: &str, root: &Path) -> String {
    let path = Path::new(input);
    let below = path.strip_prefix(root).unwrap_or(path);
    let mut parts = below.components();
    match (parts.next(), parts.next()) {
        (Some(first), Some(_)) => first.as_os_str().to_string_lossy().into_owned(),
        _ => format!("*.{}", path.extension().unwrap_or_default().to_string_lossy()),
    }
}
