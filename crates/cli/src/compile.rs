//! `nvir compile`: text to machine code.

pub(crate) mod forms;

use crate::out::{self, Color};
use crate::{common, diff, output};
use nvir::Chip;
use nvir::compiler::{DebugOptions, Module, Options, Sanitize, StageOptions};
use nvir::diag::{Diagnostic, visible};
use nvir::front::spirv;
use nvir::image::fixup::{Condition, DefaultColor, Fixup};
use nvir::image::stage::{Attribute, Graphics, Slot, SlotLocation};
use nvir::image::{Uses, cubin, listing};
use nvir::remark::Remark;
use nvir::{CompileError, Compiler, InitRegs, Language, Observer, OptLevel, Shader, Source};
use std::borrow::Cow;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Compile a kernel
///
/// Reads TGSI, NIR or IR text and prints machine code as SASS text, or in another form. Several inputs are compiled one after
/// the other; with --output, each to its own file in that folder.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  nvir compile fill.tgsi -t gk104 -e 25          the subroutine at instruction 25
  nvir compile k.nir --emit cubin -o k.cubin     for nvdisasm and cuobjdump
  nvir compile k.nir --lines --words             with source lines, addresses and words
  nvir compile k.nir --remarks                   what was not done, and why
  nvir compile k.nir --print-changed             what each pass changed
  nvir compile k.nir --emit cfg | dot -Tsvg      its control flow graph
  nvir compile shaders/*.tgsi --emit cubin -o out
  nvir compile k.nir --passes dce,fold --emit ir --time-passes")]
pub(crate) struct Args {
    /// .tgsi, .nir or .ir text, or a SPIR-V module; `-` is standard input
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// gf100, gk104 or gk110; also nvc0, nve4, nvf0; sm_20, sm_30, sm_35
    #[arg(short, long, default_value = "gk110", value_name = "CHIP")]
    target: Chip,
    /// Optimisation level
    #[arg(short = 'O', long = "opt", default_value = "3", value_parser = common::level(), value_name = "N")]
    opt: OptLevel,
    /// The kernel: a NIR function's name, or the instruction number of a TGSI BGNSUB
    #[arg(short, long, value_name = "NAME")]
    entry: Option<String>,
    /// Where to write the result; a folder if there are several; default: standard output
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    /// The input's language, where its name does not tell
    #[arg(long, value_parser = common::language, value_name = "tgsi|nir|ir|spv")]
    format: Option<Language>,
    /// What to write
    #[arg(long, default_value = "sass", value_name = "FORM", help_heading = "Output")]
    emit: Form,
    /// Write a relocatable cubin for `nvir link`: functions of the text may be called by others, and what it declares with
    /// `extern` may be elsewhere (docs/separate.md)
    #[arg(long, conflicts_with_all = ["emit", "lines", "words", "remarks"], help_heading = "Output")]
    separate: bool,
    /// SASS text with the source line of each instruction
    #[arg(long, help_heading = "Output")]
    lines: bool,
    /// SASS text with addresses and words
    #[arg(long, help_heading = "Output")]
    words: bool,
    /// Say what was not done and why (loops that stay, accesses that are not merged, values that are spilled), with places, on
    /// standard error; with `--emit json` as part of the result
    #[arg(long, help_heading = "Output")]
    remarks: bool,
    /// Print what each pass changed to standard error, as a difference
    #[arg(long, conflicts_with_all = ["print_after", "print_before"], help_heading = "Passes")]
    print_changed: bool,
    /// Print the IR after these passes (names between commas, or `all`) to standard error
    #[arg(long, value_name = "PASSES", help_heading = "Passes")]
    print_after: Option<String>,
    /// Print the IR before these passes
    #[arg(long, value_name = "PASSES", help_heading = "Passes")]
    print_before: Option<String>,
    /// Run only these passes of the pipeline
    #[arg(long, value_name = "PASSES", help_heading = "Passes")]
    passes: Option<String>,
    /// Stop optimising after so many pass runs
    #[arg(long, value_name = "N", help_heading = "Passes")]
    bisect_limit: Option<u32>,
    /// Verify the IR after each pass
    #[arg(long, help_heading = "Passes")]
    verify_each: bool,
    /// Print how long each pass took to standard error
    #[arg(long, help_heading = "Passes")]
    time_passes: bool,
    /// Lower the register limit, spilling as needed
    #[arg(long, value_name = "N", help_heading = "Limits and launch")]
    max_gprs: Option<u32>,
    /// Registers read before any write: 0 leave them, 1 initialise all at entry, 2 the possibly uninitialised
    /// ones at entry, 3 on the edges where they are missing
    #[arg(long, default_value = "3", value_parser = common::init_regs(), value_name = "0|1|2|3", help_heading = "Limits and launch")]
    init_regs: InitRegs,
    /// What to assume of the alignment of a buffer argument's address, in bytes
    #[arg(long, default_value_t = 4, value_name = "BYTES", help_heading = "Limits and launch")]
    pointer_align: u32,
    /// Bytes of private memory that a TGSI program addresses itself
    #[arg(long, default_value_t = 0, value_name = "BYTES", help_heading = "Limits and launch")]
    private_bytes: u32,
    /// The value of a specialisation constant of SPIR-V, by its SpecId: `ID=NUMBER` (of a float, its bits)
    #[arg(long, value_name = "ID=NUMBER", value_parser = spec_constant, help_heading = "Limits and launch")]
    spec: Vec<(u32, u64)>,
    /// Make a program that checks its accesses to these memories itself and reports those that fail: shared, global, private, all or
    /// none, between commas. The driver must provide memory for the report and for shared memory (docs/sanitizer.md)
    #[arg(long, default_value = "none", value_name = "MEMORIES", help_heading = "Limits and launch")]
    sanitize: Sanitize,
    /// Threads of the largest block to be launched, where the program does not declare it
    #[arg(long, value_name = "N", help_heading = "Limits and launch")]
    threads: Option<u32>,
    /// Threads of every block to be launched in x, y and z, where the program does not declare it: the code is for that
    /// size alone
    #[arg(long, value_parser = crate::launch::sizes, value_name = "X,Y,Z")]
    block: Option<[u32; 3]>,
    /// Dimensions of every grid to be launched: 1 to 3
    #[arg(long, value_name = "N", help_heading = "Limits and launch")]
    work_dim: Option<u32>,
    /// What the text of a graphics stage does not say, as KEY=VALUE between commas: vertices-out, domain (triangles, quads,
    /// isolines), spacing (equal, odd, even), ccw, points, early-tests, post-depth-coverage, clip-distances,
    /// cull-distances; clip-planes, the number of user clip planes; clip-vertex-read; and flush-subnormals
    #[arg(long, value_parser = common::stage_info, value_name = "LIST", help_heading = "Limits and launch")]
    stage_info: Option<StageOptions>,
    /// Compile again whenever an input changes, until Ctrl-C
    #[arg(long)]
    watch: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Form {
    /// SASS text
    Sass,
    /// One word a line in hexadecimal
    Hex,
    /// The same; a graphics stage's header in front of it, as it lies in memory
    Words,
    /// The code as it lies in memory
    Bin,
    /// NVIDIA's container of machine code
    Cubin,
    /// The optimised intermediate representation
    Ir,
    /// Its control flow graph for Graphviz
    Dot,
    /// The control flow graph of the machine code for Graphviz
    Cfg,
    /// Sizes, code words and bindings
    Json,
}

impl Form {
    fn ending(self) -> &'static str {
        match self {
            Form::Sass => "sass",
            Form::Hex | Form::Words => "hex",
            Form::Bin => "bin",
            Form::Cubin => "cubin",
            Form::Ir => "ir",
            Form::Dot | Form::Cfg => "dot",
            Form::Json => "json",
        }
    }
}

pub(crate) fn run(mut a: Args) -> ExitCode {
    if a.separate {
        a.emit = Form::Cubin;
    }
    a.output = a.output.filter(|o| !nvir::input::is_standard(o));
    crate::watch::rounds(a.watch, || a.inputs.clone(), || once(&a))
}

fn once(a: &Args) -> ExitCode {
    for input in &a.inputs {
        if input.is_dir() {
            return common::fault_in(input, "is a folder, not a file; name the files in it");
        }
        if common::language_of(input, a.format).is_none() {
            return match std::fs::metadata(input) {
                Err(e) if !nvir::input::is_standard(input) => common::fault_in(input, nvir::input::why(&e)),
                _ => common::usage_of(input, "unknown file type; use --format tgsi, nir or ir"),
            };
        }
    }
    let several = a.inputs.len() > 1;
    if matches!(a.emit, Form::Bin | Form::Cubin) && a.output.is_none() {
        if several {
            return common::usage("binary forms of several inputs are files: give a folder with --output");
        }
        if std::io::stdout().is_terminal() {
            return common::usage("binary forms are not written to a terminal: give --output");
        }
    }
    if (a.lines || a.words) && a.emit != Form::Sass {
        return common::usage("--lines and --words are about SASS text");
    }
    let all = || vec!["all".to_string()];
    let options = Options {
        opt_level: a.opt,
        init_regs: a.init_regs,
        max_gprs: a.max_gprs,
        threads: a.threads,
        block_size: a.block,
        work_dim: a.work_dim,
        pointer_align: a.pointer_align,
        private_bytes: a.private_bytes,
        spec_constants: a.spec.iter().copied().collect(),
        stage: a.stage_info.unwrap_or_default(),
        sanitize: a.sanitize,
        debug: DebugOptions {
            passes: a.passes.as_ref().map(|_| common::names(&a.passes)),
            bisect_limit: a.bisect_limit,
            verify_each: a.verify_each,
            print_before: if a.print_changed { all() } else { common::names(&a.print_before) },
            print_after: if a.print_changed { all() } else { common::names(&a.print_after) },
            time_passes: a.time_passes,
            ..DebugOptions::default()
        },
    };
    let compiler = Compiler::new(a.target).with_options(options);
    if let Err(e) = compiler.check() {
        return common::usage(e);
    }
    let folder = a.output.as_ref().filter(|p| several || p.is_dir());
    let file = |input: &PathBuf| folder.map(|f| f.join(common::with_ending(input, a.emit.ending())));
    let outputs: Vec<Option<PathBuf>> = a.inputs.iter().map(|i| file(i).or(a.output.clone())).collect();
    let from = outputs.iter().zip(&a.inputs).filter_map(|(o, i)| Some((o.as_deref()?, i.as_path())));
    if let Err(code) = output::distinct(from, &a.inputs) {
        return code;
    }
    if let Some(path) = folder
        && let Err(e) = std::fs::create_dir_all(path)
    {
        return common::system(Some(path), nvir::input::why(&e));
    }
    let mut code = ExitCode::SUCCESS;
    for (input, output) in a.inputs.iter().zip(&outputs) {
        let one = compile(a, input, &compiler, output.as_deref());
        if one != ExitCode::SUCCESS {
            code = one;
        }
    }
    code
}

/// `ID=NUMBER`, decimal, negative or with `0x`.
fn spec_constant(text: &str) -> Result<(u32, u64), String> {
    let (id, value) = text.split_once('=').ok_or("expected `ID=NUMBER`")?;
    let id = id.parse().map_err(|_| format!("`{id}` is not a SpecId"))?;
    let number = match value.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => value.parse::<u64>().ok().or_else(|| value.parse::<i64>().ok().map(|n| n as u64)),
    };
    Ok((id, number.ok_or_else(|| format!("`{value}` is not a number of 64 bits"))?))
}

fn compile(a: &Args, input: &Path, compiler: &Compiler, output: Option<&Path>) -> ExitCode {
    let Some(language) = common::language_of(input, a.format) else { return common::input_error() };
    let bytes = match common::read_bytes(input) {
        Ok(bytes) => bytes,
        Err(code) => return code,
    };
    let name = input.to_string_lossy();
    let given = match Given::of(a, language, &name, &bytes) {
        Ok(given) => given,
        Err(why) => return common::fault_in(input, why),
    };
    let mut observer = if a.remarks { Observer::with_remarks() } else { Observer::default() };
    let result = match a.emit {
        Form::Ir => compiler.optimised(&given.source(), &mut observer).map(|p| p.to_string().into_bytes()),
        Form::Dot => {
            let program = compiler.optimised(&given.source(), &mut observer);
            program.map(|p| nvir::ir::dot::program(&p).into_bytes())
        }
        Form::Cubin if a.separate => compiler.unit(&given.source(), &mut observer).map(|unit| unit.write()),
        form => {
            let shader = given.compile(compiler, &mut observer);
            if let (Ok(shader), Form::Cubin) = (&shader, form)
                && let Err(why) = shader.check_container()
            {
                common::report(&Diagnostic::unsupported(why).into(), &name, given.source().text);
                return common::input_error();
            }
            let print = listing::Options { words: a.words };
            shader.map(|shader| match form {
                Form::Sass if a.lines => forms::sass_with_lines(&shader, &given.source(), print).into_bytes(),
                Form::Sass => forms::sass(&shader, print).into_bytes(),
                Form::Json => json(&shader, &given.source(), observer.remarks.as_deref()).into_bytes(),
                form => emit(form, &shader),
            })
        }
    };
    let Observer { report: mut notes, remarks, .. } = observer;
    if a.print_changed {
        notes = changed(&notes)
            + notes.rsplit_once("\n\n").map_or("", |(_, times)| if a.time_passes { times } else { "" });
    }
    out::stderr(&notes);
    if let Some(remarks) = remarks.filter(|_| a.emit != Form::Json) {
        forms::remarks(&remarks, &given.source());
    }
    match result {
        Ok(data) => {
            // Text of several inputs says which is which.
            let head = a.inputs.len() > 1
                && output.is_none()
                && matches!(a.emit, Form::Sass | Form::Hex | Form::Words);
            let head = if head { format!("// {}\n", visible(&name)).into_bytes() } else { Vec::new() };
            common::write_output(output, &[head, data].concat())
        }
        Err(e) => common::report_error(&e, &given.source()),
    }
}

/// What is compiled.
enum Given<'a> {
    Text {
        text: Cow<'a, str>,
        language: Language,
        entry: Option<&'a str>,
        name: &'a str,
    },
    /// Of which nothing is said that has a place, unless it is an error.
    Module(Module<'a>),
}

impl<'a> Given<'a> {
    /// An input's bytes, or why they are nothing to be compiled.
    fn of(a: &'a Args, language: Language, name: &'a str, bytes: &'a [u8]) -> Result<Given<'a>, String> {
        let (entry, module) = (a.entry.as_deref(), spirv::is_module(bytes));
        let places =
            a.lines || a.remarks || a.separate || matches!(a.emit, Form::Ir | Form::Dot | Form::Json);
        if language == Language::SpirV && module && !places {
            let module = Module::new(bytes).map_err(|e| e.to_string())?;
            return Ok(Given::Module(module.with_entry(entry).with_name(name)));
        }
        Ok(Given::Text { text: common::text_of(bytes)?, language, entry, name })
    }

    fn compile(&self, compiler: &Compiler, observer: &mut Observer) -> Result<Shader, CompileError> {
        match self {
            Given::Text { .. } => compiler.observed(&self.source(), observer),
            Given::Module(module) => compiler.observed(module, observer),
        }
    }

    /// Its text: of a module the listing, which is made now.
    fn source(&self) -> Source<'_> {
        match self {
            Given::Text { text, language, entry, name } => {
                Source { language: *language, text, entry: *entry, name }
            }
            Given::Module(module) => module.source(),
        }
    }
}

/// Of what was printed before and after each pass, what it changed.
fn changed(report: &str) -> String {
    let mut text = String::new();
    for r in diff::pass_runs(report).iter().filter(|r| r.before != r.after) {
        text += &format!(
            "; {} ({}) changed\n{}\n",
            r.pass,
            r.stage,
            diff::unified(&r.before, &r.after, Color::on_stderr())
        );
    }
    text
}

fn emit(form: Form, shader: &Shader) -> Vec<u8> {
    match form {
        Form::Hex => shader.code.iter().map(|w| format!("{w:016x}\n")).collect::<String>().into_bytes(),
        Form::Words => words(shader).into_bytes(),
        Form::Bin => shader.bytes(),
        Form::Cubin => cubin::write(shader.chip, &[shader.kernel()]),
        Form::Cfg => forms::cfg(shader).into_bytes(),
        _ => listing::print(shader.chip, &[shader.kernel()], listing::Options::default()).into_bytes(),
    }
}

/// Words of 64 bits in hexadecimal, the header's in pairs, low half first.
fn words(shader: &Shader) -> String {
    let header = shader.stage.iter().flat_map(|s| s.header.words());
    header.chain(shader.code.iter().copied()).map(|w| format!("{w:016x}\n")).collect()
}

/// Version of what `--emit json` writes; `docs/json.md` has the fields.
const SCHEMA: u64 = 1;

fn json(shader: &Shader, source: &Source<'_>, remarks: Option<&[Remark]>) -> String {
    let lines = shader.lines.iter().map(|&(pc, loc)| {
        let place = loc.0.map(|span| nvir::diag::line_column(source.text, span.start));
        serde_json::json!({"pc": pc, "line": place.map(|p| p.0), "column": place.map(|p| p.1)})
    });
    let mut value = serde_json::json!({
        "schema": SCHEMA,
        "launch_gprs": shader.launch_gprs(),
        "block_size": shader.block_size,
        "whole_warps": shader.whole_warps,
        "spills": shader.spills,
        "fills": shader.fills,
        "cycles": shader.cycles,
        "lines": lines.collect::<Vec<_>>(),
        "chip": shader.chip.name(),
        "entry": shader.entry_name,
        "instructions": shader.instructions,
        "gprs": shader.gprs,
        "local": shader.local_bytes,
        "stack_bytes": shader.stack_bytes,
        "shared": shader.shared_bytes,
        "barriers": shader.barriers,
        "code_bytes": shader.code_bytes(),
        "library": shader.library,
        "code": shader.code.iter().map(|w| format!("0x{w:016x}")).collect::<Vec<_>>(),
        "input_bytes": shader.input_bytes,
        "resident_warps": shader.resident_warps(None),
        // Branches and calls are relative.
        "relocations": [],
        "bindings": bindings(shader),
    });
    if let Some(stage) = &shader.stage {
        value["stage"] = stage_json(stage);
    }
    if let Some(remarks) = remarks {
        value["remarks"] = remarks.iter().map(|r| forms::remark_json(r, source)).collect();
    }
    format!("{value}\n")
}

/// What a driver must know of a graphics stage.
fn stage_json(g: &Graphics) -> serde_json::Value {
    let slot = |s: &Slot| {
        let name = match s.what {
            Attribute::Vertex(n) => format!("IN[{n}]"),
            Attribute::Semantic(s) => s.to_string(),
        };
        let (kind, at) = match s.location {
            SlotLocation::Vertex(a) => ("vertex", Some(a)),
            SlotLocation::Patch(a) => ("patch", Some(a)),
            SlotLocation::Register(r) => ("register", Some(r)),
            SlotLocation::Nowhere => ("nowhere", None),
        };
        serde_json::json!({"name": name, "mask": s.mask, "space": kind, "at": at})
    };
    let fixup = |f: &Fixup| match *f {
        Fixup::Interpolation { pc, mode, sample, w } => {
            serde_json::json!({"kind": "interpolation", "pc": pc, "mode": mode, "sample": sample, "w": w})
        }
        Fixup::Selection { pc, when } => {
            let when = match when {
                Condition::PerSample => "per_sample",
                Condition::Multisampled => "multisampled",
            };
            serde_json::json!({"kind": "selection", "pc": pc, "when": when})
        }
    };
    let color = |c: &Option<DefaultColor>| {
        c.map(|c| serde_json::json!({"interpolation": c.interpolation.name(), "mask": c.mask}))
    };
    serde_json::json!({
        "stage": g.stage.name(),
        "header": crate::header::json(&g.header),
        "inputs": g.inputs.iter().map(slot).collect::<Vec<_>>(),
        "outputs": g.outputs.iter().map(slot).collect::<Vec<_>>(),
        "fixups": g.fixups.iter().map(fixup).collect::<Vec<_>>(),
        "clip_enable": g.clip_enable,
        "cull_enable": g.cull_enable,
        "clip_mode": g.clip_mode,
        "clip_planes": g.clip_planes,
        "edge_flag": g.edge_flag,
        "needs_vertex_id": g.needs_vertex_id,
        "needs_draw_parameters": g.needs_draw_parameters,
        "writes_layer": g.writes_layer,
        "tess_mode": g.tess_mode,
        "colors": g.colors.iter().map(color).collect::<Vec<_>>(),
        "zcull_flags": g.zcull_flags(),
        "early_tests": g.early_tests,
        "reads_sample_mask": g.reads_sample_mask,
        "reads_framebuffer": g.reads_framebuffer,
        "post_depth_coverage": g.post_depth_coverage,
    })
}

/// What a driver must bind; `count` is 0 where the number is computed.
fn bindings(shader: &Shader) -> Vec<serde_json::Value> {
    let uses = &shader.resources;
    let mut all: Vec<_> = uses
        .constants
        .iter()
        .map(|c| {
            serde_json::json!({"kind": "constant", "slot": c.bank, "count": 1, "read": true, "written": false, "bytes": c.bytes})
        })
        .collect();
    let mut add = |kind: &str, uses: &Uses| {
        let one = |slot: u32, count: u32, read: bool, written: bool| serde_json::json!({"kind": kind, "slot": slot, "count": count, "read": read, "written": written});
        all.extend(uses.slots.iter().map(|u| one(u.slot, 1, u.read, u.written)));
        all.extend(uses.indexed.map(|a| one(0, 0, a.read, a.written)));
    };
    add("buffer", &uses.buffers);
    add("uniform", &uses.uniforms);
    add("image", &uses.images);
    add("texture", &uses.textures);
    add("sampler", &uses.samplers);
    all
}
