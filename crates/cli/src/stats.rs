//! `nvir stats`: sizes and compile times of many inputs, as shader-db reports them.

mod compare;

use crate::report::one_line;
use crate::{common, output};
use nvir::asm::check::{Schedule, Totals};
use nvir::compiler::{DebugOptions, Domain, Sanitize, StageOptions, TessInfo};
use nvir::diag::visible;
use nvir::{Chip, Compiler, Language, OptLevel, Options, Shader, Source, input};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

/// Version of what `--json` writes here; `docs/json.md` has the fields. It grows when a field goes or means something else.
pub(crate) const SCHEMA: u64 = 1;

/// Compile every .tgsi and .nir below the paths and print their sizes and compile times
///
/// An input that does not compile is a row with its error.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  nvir stats shaders/ --json > before.json           and after a change again, to another file; then
  nvir stats --compare before.json after.json        helped, hurt, geometric means, worst
  nvir stats --compare a.json b.json --max-regression 0.5 --max-worst cycles=10    exit status 1 past a limit
  nvir stats k.tgsi --kernels                        a row for each kernel of the file
  nvir stats k.tgsi --sweep-gprs 16,24,32,63 --csv   a row for each register limit

`warps` are those that a multiprocessor holds at once: whole blocks of the declared size, or as many as registers and shared \
memory allow. `cycles` are those of one warp by the counts of the scheduling words, each instruction taken once; `latency` adds what \
memory, textures and special functions take as a rule, and `paired` is the share of instructions that issue together with \
another, both on Kepler.")]
pub(crate) struct Args {
    /// Files, or folders of them; with --compare two files that --json wrote
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// gf100, gk104 or gk110; also nvc0, nve4, nvf0; sm_20, sm_30, sm_35
    #[arg(short, long, default_value = "gk110", value_name = "CHIP")]
    target: Chip,
    /// Optimisation level
    #[arg(short = 'O', long = "opt", default_value = "3", value_parser = common::level(), value_name = "N")]
    opt: OptLevel,
    /// Lower the register limit, spilling as needed
    #[arg(long, value_name = "N", help_heading = "Limits and launch")]
    max_gprs: Option<u32>,
    /// Print JSON (docs/json.md)
    #[arg(long, help_heading = "Output")]
    json: bool,
    /// Where to write the result; default: standard output
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    /// The same rows as comma-separated values
    #[arg(long, conflicts_with = "json", help_heading = "Output")]
    csv: bool,
    /// A row for each kernel of an input, rather than for the default one
    #[arg(long, help_heading = "Output")]
    kernels: bool,
    /// A row for each of these register limits
    #[arg(
        long,
        value_delimiter = ',',
        conflicts_with = "max_gprs",
        value_name = "N,N,...",
        help_heading = "Limits and launch"
    )]
    sweep_gprs: Vec<u32>,
    /// Compare two files that --json wrote, before and after
    #[arg(long, conflicts_with_all = ["csv", "kernels", "sweep_gprs", "max_gprs"], help_heading = "Comparison")]
    compare: bool,
    /// Exit with 1 where the geometric mean of a metric (instructions, cycles, gprs ...; without a name: of any but the compile
    /// time) is worse by more than so many percent
    #[arg(long, requires = "compare", value_parser = compare::limit, value_name = "[METRIC=]PCT", help_heading = "Comparison")]
    max_regression: Vec<compare::Limit>,
    /// The same for the input that a metric got worst for
    #[arg(long, requires = "compare", value_parser = compare::limit, value_name = "[METRIC=]PCT", help_heading = "Comparison")]
    max_worst: Vec<compare::Limit>,
    /// Compile each input so often; the time shown is the median
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000), value_name = "N", help_heading = "Measurement")]
    repeat: u32,
    /// Inputs compiled at once; 0: one a core
    #[arg(long, default_value = "0", value_parser = common::jobs(), value_name = "N", help_heading = "Measurement")]
    jobs: usize,
    /// Compile programs that check their accesses to these memories themselves: shared, global, private, all or none, between
    /// commas; see `compile --help`
    #[arg(long, default_value = "none", value_name = "MEMORIES", help_heading = "Limits and launch")]
    sanitize: Sanitize,
    /// Verify the IR after each pass
    #[arg(long, help_heading = "Measurement")]
    verify_each: bool,
    /// What the text of a graphics stage does not say, as KEY=VALUE between commas: vertices-out, domain (triangles, quads,
    /// isolines), spacing (equal, odd, even), ccw, points, early-tests, post-depth-coverage, clip-distances,
    /// cull-distances; clip-planes, the number of user clip planes; clip-vertex-read; and flush-subnormals. Default: patches of three vertices, divided into
    /// triangles, since what is measured hardly depends on it
    #[arg(long, value_parser = common::stage_info, value_name = "LIST", help_heading = "Limits and launch")]
    stage_info: Option<StageOptions>,
}

/// Of NIR's tessellation shaders, which do not say it.
const ASSUMED: StageOptions = StageOptions {
    tess: Some(TessInfo {
        vertices_out: 3,
        domain: Some(Domain::Triangles),
        spacing: None,
        ccw: false,
        point_mode: false,
    }),
    geometry: None,
    fragment: None,
    distances: None,
    clip_planes: 0,
    clip_vertex_read: false,
    flush_subnormals: false,
};

/// What a row is about.
#[derive(Clone)]
struct Job {
    file: PathBuf,
    /// With `--kernels`.
    entry: Option<String>,
    /// Of a sweep.
    max_gprs: Option<u32>,
}

struct Row {
    input: String,
    entry: Option<String>,
    max_gprs: Option<u32>,
    result: Result<(Shader, Option<Totals>), String>,
    /// Microseconds.
    time: f64,
}

/// What the issue control of a kernel says.
fn issued(shader: &Shader) -> Option<Totals> {
    Some(Schedule::read(shader.chip, &shader.code).ok()?.totals())
}

pub(crate) fn run(a: Args) -> ExitCode {
    if a.compare {
        let how = compare::How {
            json: a.json,
            output: a.output.as_deref(),
            mean: &a.max_regression,
            worst: &a.max_worst,
        };
        return compare::run(&a.paths, &how);
    }
    let debug = DebugOptions { verify_each: a.verify_each, ..DebugOptions::default() };
    let stage = a.stage_info.unwrap_or(ASSUMED);
    let sanitize = a.sanitize;
    let options =
        Options { opt_level: a.opt, max_gprs: a.max_gprs, stage, sanitize, debug, ..Options::default() };
    let compiler =
        |max_gprs: Option<u32>| Compiler::new(a.target).with_options(Options { max_gprs, ..options.clone() });
    let limits: Vec<Option<u32>> = match &a.sweep_gprs[..] {
        [] => vec![a.max_gprs],
        all => all.iter().copied().map(Some).collect(),
    };
    if let Some(e) = limits.iter().find_map(|&limit| compiler(limit).check().err()) {
        return common::usage(e);
    }
    let files = match common::find(&a.paths, ".tgsi, .nir or .spv file", &|f| {
        input::ends_in(f, &["tgsi", "nir", "spv"])
    }) {
        Ok(f) => f,
        Err(code) => return code,
    };
    if let Some(other) = files.iter().find(|f| Language::of(f).is_none()) {
        return common::fault_in(other, "expected a .tgsi, .nir, .spv or .ir file, or a folder");
    }
    if let Err(code) = output::not_an_input(a.output.as_deref(), &files) {
        return code;
    }
    let entries = |file: &PathBuf| -> Vec<Option<String>> {
        let names = if a.kernels { kernels(file, &compiler(None)) } else { None };
        names.map_or(vec![None], |names| names.into_iter().map(Some).collect())
    };
    let jobs: Vec<Job> = files
        .iter()
        .flat_map(|file| entries(file).into_iter().map(move |entry| (file, entry)))
        .flat_map(|(file, entry)| {
            limits.iter().map(move |&max_gprs| Job { file: file.clone(), entry: entry.clone(), max_gprs })
        })
        .collect();
    let bar = common::progress(jobs.len());
    let rows = common::in_parallel(a.jobs, &jobs, |job| {
        let row = measure(job, &compiler(job.max_gprs), a.repeat);
        bar.inc(1);
        row
    });
    bar.finish_and_clear();
    let text = match (a.json, a.csv) {
        (true, _) => json(&rows, a.target),
        (_, true) => csv(&values(&rows, a.target)),
        _ => table(&rows),
    };
    common::write_output(a.output.as_deref(), text.as_bytes())
}

/// The names of a file's kernels; none where it has no names or cannot be read, which its row then says.
fn kernels(file: &Path, compiler: &Compiler) -> Option<Vec<String>> {
    let bytes = input::read(file).ok()?;
    let language = Language::of(file)?;
    let text = language.text(&bytes).ok()?;
    let names = compiler.kernels(&Source { language, text: &text, entry: None, name: "" }).ok()?;
    Some(names).filter(|n| !n.is_empty())
}

fn measure(job: &Job, compiler: &Compiler, repeat: u32) -> Row {
    let Job { file, entry, max_gprs } = job.clone();
    let input = file.to_string_lossy().into_owned();
    let row = |result, time| Row { input: input.clone(), entry: entry.clone(), max_gprs, result, time };
    let failed = |why: String| row(Err(why), 0.0);
    let bytes = match input::read(&file) {
        Ok(b) => b,
        Err(e) => return failed(e.to_string()),
    };
    let Some(language) = Language::of(&file) else {
        return failed("neither .tgsi, .nir, .ir nor .spv".into());
    };
    let text = match language.text(&bytes) {
        Ok(t) => t,
        Err(e) => return failed(e),
    };
    let source = Source { language, text: &text, entry: entry.as_deref(), name: &input };
    let mut times = Vec::new();
    let mut result = Err(String::new());
    for _ in 0..repeat {
        let start = Instant::now();
        let shader = compiler.compile(&source);
        times.push(start.elapsed().as_secs_f64() * 1e6);
        result = shader.map_err(|e| {
            let d = e.diagnostics();
            let place = d.list.first().and_then(|d| d.primary.as_ref()).map_or(String::new(), |(span, _)| {
                let (line, column) = nvir::diag::line_column(&text, span.start);
                format!("{line}:{column}: ")
            });
            format!("{place}{}", d.to_string().replace('\n', "; "))
        });
    }
    times.sort_by(f64::total_cmp);
    let result = result.map(|shader| {
        let issued = issued(&shader);
        (shader, issued)
    });
    row(result, times[times.len() / 2])
}

/// A row in JSON, and in CSV.
fn values(rows: &[Row], chip: Chip) -> Vec<serde_json::Value> {
    rows.iter()
        .map(|r| match &r.result {
            Ok((i, issued)) => serde_json::json!({
                "input": r.input, "chip": chip.name(), "ok": true, "error": null, "instructions": i.instructions,
                "gprs": i.gprs, "local": i.local_bytes, "shared": i.shared_bytes, "code_bytes": i.code_bytes(),
                "stack_bytes": i.stack_bytes, "resident_warps": i.resident_warps(None), "most_warps": chip.most_warps(),
                "spills": i.spills, "fills": i.fills, "cycles": i.cycles, "compile_us": r.time, "library": i.library,
                "latency_cycles": issued.map(|t| t.cycles), "pairs": issued.map(|t| t.pairs),
                "paired": issued.map(|t| t.share()),
            }),
            Err(e) => serde_json::json!({
                "input": r.input, "chip": chip.name(), "ok": false, "error": e, "instructions": 0, "gprs": 0,
                "local": 0, "shared": 0, "code_bytes": 0, "spills": 0, "fills": 0, "cycles": 0, "compile_us": r.time,
                "library": 0, "stack_bytes": 0, "resident_warps": 0, "most_warps": chip.most_warps(), "latency_cycles": null,
                "pairs": null, "paired": null,
            }),
        })
        .zip(rows)
        .map(|(mut value, r)| {
            value["entry"] = r.entry.clone().into();
            value["max_gprs"] = r.max_gprs.into();
            value
        })
        .collect()
}

/// A line of names, then a line for each row; names first, numbers in the order of their names.
fn csv(rows: &[serde_json::Value]) -> String {
    const NAMES: [&str; 4] = ["input", "entry", "chip", "ok"];
    let keys =
        rows.first().and_then(|r| r.as_object()).map(|r| r.keys().map(String::as_str).collect::<Vec<_>>());
    let rest = keys.unwrap_or_default().into_iter().filter(|k| !NAMES.contains(k) && *k != "error");
    let columns: Vec<&str> = NAMES.into_iter().chain(rest).chain(["error"]).collect();
    let field = |value: &serde_json::Value| match value {
        serde_json::Value::Null => String::new(),
        serde_json::Value::String(s) if s.contains([',', '"', '\n', '\r']) => {
            format!("\"{}\"", s.replace('"', "\"\""))
        }
        serde_json::Value::String(s) => s.clone(),
        other => other.to_string(),
    };
    let mut text = format!("{}\n", columns.join(","));
    for row in rows {
        text += &columns.iter().map(|c| field(&row[*c])).collect::<Vec<_>>().join(",");
        text.push('\n');
    }
    text
}

fn json(rows: &[Row], chip: Chip) -> String {
    let t = Sums::of(rows);
    let totals = serde_json::json!({
        "inputs": rows.len(), "ok": t.ok, "instructions": t.instructions, "gprs": t.gprs, "local": t.local,
        "code_bytes": t.code_bytes, "spills": t.spills, "fills": t.fills, "cycles": t.cycles, "compile_us": t.time,
        "resident_warps": t.warps, "latency_cycles": t.latency, "pairs": t.pairs, "paired": t.share(),
    });
    format!("{}\n", serde_json::json!({ "schema": SCHEMA, "rows": values(rows, chip), "totals": totals }))
}

#[derive(Default)]
struct Sums {
    ok: usize,
    instructions: u64,
    gprs: u64,
    local: u64,
    code_bytes: u64,
    spills: u64,
    fills: u64,
    cycles: u64,
    time: f64,
    warps: u64,
    /// Of kernels whose chip has issue control: cycles with typical latencies, instructions of any kind, and pairs.
    latency: u64,
    issued: usize,
    pairs: usize,
}

impl Sums {
    /// Instructions in pairs, of all: 0 to 1; none where there is no issue control.
    fn share(&self) -> Option<f64> {
        (self.issued > 0).then(|| 2.0 * self.pairs as f64 / self.issued as f64)
    }

    fn of(rows: &[Row]) -> Sums {
        let mut t = Sums::default();
        for r in rows {
            t.time += r.time;
            if let Ok((i, issued)) = &r.result {
                t.warps += u64::from(i.resident_warps(None));
                if let Some(issued) = issued {
                    t.latency += issued.cycles;
                    t.issued += issued.instructions;
                    t.pairs += issued.pairs;
                }
                t.ok += 1;
                t.instructions += u64::from(i.instructions);
                t.gprs += u64::from(i.gprs);
                t.local += u64::from(i.local_bytes);
                t.code_bytes += u64::from(i.code_bytes());
                t.spills += u64::from(i.spills);
                t.fills += u64::from(i.fills);
                t.cycles += i.cycles;
            }
        }
        t
    }
}

/// A share of 0 to 1.
fn percent(share: Option<f64>) -> String {
    share.map_or("-".into(), |s| format!("{:.1} %", 100.0 * s))
}

fn table(rows: &[Row]) -> String {
    let head = [
        "input", "instrs", "gprs", "warps", "local", "shared", "bytes", "spills", "fills", "cycles",
        "latency", "paired", "us",
    ];
    let line = |cells: [String; 13]| {
        let mut s = format!("{:<60}", cells[0]);
        for c in &cells[1..] {
            s += &format!(" {c:>8}");
        }
        s.trim_end().to_string() + "\n"
    };
    let mut out = line(head.map(String::from));
    for r in rows {
        let mut name =
            Path::new(&r.input).file_name().map_or(r.input.clone(), |n| n.to_string_lossy().into_owned());
        if let Some(entry) = &r.entry {
            name += &format!(" {entry}");
        }
        if let Some(limit) = r.max_gprs {
            name += &format!(" ({limit} registers)");
        }
        let name = visible(&name).into_owned();
        out += &match &r.result {
            Ok((i, issued)) => line([
                name,
                i.instructions.to_string(),
                i.gprs.to_string(),
                i.resident_warps(None).to_string(),
                i.local_bytes.to_string(),
                i.shared_bytes.to_string(),
                i.code_bytes().to_string(),
                i.spills.to_string(),
                i.fills.to_string(),
                i.cycles.to_string(),
                issued.map_or("-".into(), |t| t.cycles.to_string()),
                percent(issued.map(|t| t.share())),
                format!("{:.0}", r.time),
            ]),
            Err(e) => format!("{name:<60} error: {}\n", one_line(e)),
        };
    }
    let t = Sums::of(rows);
    out += &line([
        format!("total: {} of {} compiled", t.ok, rows.len()),
        t.instructions.to_string(),
        t.gprs.to_string(),
        t.warps.to_string(),
        t.local.to_string(),
        String::new(),
        t.code_bytes.to_string(),
        t.spills.to_string(),
        t.fills.to_string(),
        t.cycles.to_string(),
        if t.issued > 0 { t.latency.to_string() } else { "-".into() },
        percent(t.share()),
        format!("{:.0}", t.time),
    ]);
    out
}
