//! `nvir compile`: text to machine code.

use crate::common;
use crate::out;
use nvir::Chip;
use nvir::compiler::{DebugOptions, Options, Report, StageOptions};
use nvir::image::fixup::{Condition, DefaultColor, Fixup};
use nvir::image::stage::{Attribute, Graphics, Place, Slot};
use nvir::image::{Uses, cubin, listing};
use nvir::{Cancel, Compiler, InitRegs, Language, OptLevel, Shader, Source};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

/// Compile a kernel
///
/// Reads TGSI, NIR or IR text and prints machine code as SASS text, or in another form.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  nvir compile fill.tgsi -t gk104 -e 25          the subroutine at instruction 25
  nvir compile k.nir --emit cubin -o k.cubin     for nvdisasm and cuobjdump
  nvir compile k.nir --passes dce,fold --emit ir --time-passes")]
pub struct Args {
    /// .tgsi, .nir or .ir text; `-` is standard input
    input: PathBuf,
    /// gf100, gk104 or gk110; also nvc0, nve4, nvf0; sm_20, sm_30, sm_35
    #[arg(short, long, default_value = "gk110", value_name = "CHIP")]
    target: Chip,
    /// Optimisation level
    #[arg(short = 'O', long = "opt", default_value = "3", value_parser = common::level(), value_name = "N")]
    opt: OptLevel,
    /// The kernel: a NIR function's name, or the instruction number of a TGSI BGNSUB
    #[arg(short, long, value_name = "NAME")]
    entry: Option<String>,
    /// Where to write the result; default: standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The input's language, where its name does not tell
    #[arg(long, value_parser = common::language, value_name = "tgsi|nir|ir")]
    format: Option<Language>,
    /// What to write
    #[arg(long, default_value = "sass", value_name = "FORM")]
    emit: Form,
    /// Print the IR after these passes (names between commas, or `all`) to standard error
    #[arg(long, value_name = "PASSES")]
    print_after: Option<String>,
    /// Print the IR before these passes
    #[arg(long, value_name = "PASSES")]
    print_before: Option<String>,
    /// Run only these passes of the pipeline
    #[arg(long, value_name = "PASSES")]
    passes: Option<String>,
    /// Stop optimising after so many pass runs
    #[arg(long, value_name = "N")]
    bisect_limit: Option<u32>,
    /// Verify the IR after each pass
    #[arg(long)]
    verify_each: bool,
    /// Print how long each pass took to standard error
    #[arg(long)]
    time_passes: bool,
    /// Lower the register limit, spilling as needed
    #[arg(long, value_name = "N")]
    max_gprs: Option<u32>,
    /// Registers read before any write: 0 leave them, 1 initialise all at entry, 2 the possibly uninitialised
    /// ones at entry, 3 on the edges where they are missing
    #[arg(long, default_value = "3", value_parser = common::init_regs(), value_name = "0|1|2|3")]
    init_regs: InitRegs,
    /// What to assume of the alignment of a buffer argument's address, in bytes
    #[arg(long, default_value_t = 4, value_name = "BYTES")]
    pointer_align: u32,
    /// Bytes of private memory that a TGSI program addresses itself
    #[arg(long, default_value_t = 0, value_name = "BYTES")]
    private_bytes: u32,
    /// Threads of the largest block to be launched, where the program does not declare it
    #[arg(long, value_name = "N")]
    threads: Option<u32>,
    /// Threads of every block to be launched in x, y and z, where the program does not declare it: the code is for that
    /// size alone
    #[arg(long, value_parser = block, value_name = "X,Y,Z")]
    block: Option<[u32; 3]>,
    /// Dimensions of every grid to be launched: 1 to 3
    #[arg(long, value_name = "N")]
    work_dim: Option<u32>,
    /// What the text of a graphics stage does not say, as KEY=VALUE between commas: vertices-out, domain (triangles, quads,
    /// isolines), spacing (equal, odd, even), ccw, points, early-tests, post-depth-coverage, clip-distances,
    /// cull-distances; and clip-planes, how many user clip planes there are
    #[arg(long, value_parser = common::stage_info, value_name = "LIST")]
    stage_info: Option<StageOptions>,
}

/// `64`, `8,8` or `8,8,1`.
fn block(text: &str) -> Result<[u32; 3], String> {
    let mut size = [1; 3];
    let parts: Vec<&str> = text.split(',').collect();
    if parts.len() > 3 {
        return Err("a block has three dimensions at most".into());
    }
    for (to, part) in size.iter_mut().zip(parts) {
        *to = part.parse().map_err(|_| format!("`{part}` is no number of threads"))?;
    }
    Ok(size)
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Form {
    /// SASS text
    Sass,
    /// One word a line in hexadecimal
    Hex,
    /// The same; a graphics stage's header in front of it, as lies in memory
    Words,
    /// The code as it lies in memory
    Bin,
    /// NVIDIA's container of machine code
    Cubin,
    /// The optimised intermediate representation
    Ir,
    /// Its control flow graph for Graphviz
    Dot,
    /// Sizes, code words and bindings
    Json,
}

pub fn run(a: Args) -> ExitCode {
    let Some(language) = common::language_of(&a.input, a.format) else {
        return common::usage(format!("{}: say what it is with --format tgsi, nir or ir", a.input.display()));
    };
    if matches!(a.emit, Form::Bin | Form::Cubin) && a.output.is_none() && std::io::stdout().is_terminal() {
        return common::usage("binary forms are not written to a terminal: give --output");
    }
    let options = Options {
        opt_level: a.opt,
        init_regs: a.init_regs,
        max_gprs: a.max_gprs,
        threads: a.threads,
        block_size: a.block,
        work_dim: a.work_dim,
        pointer_align: a.pointer_align,
        private_bytes: a.private_bytes,
        stage: a.stage_info.unwrap_or_default(),
        debug: DebugOptions {
            passes: a.passes.as_ref().map(|_| common::names(&a.passes)),
            bisect_limit: a.bisect_limit,
            verify_each: a.verify_each,
            print_before: common::names(&a.print_before),
            print_after: common::names(&a.print_after),
            time_passes: a.time_passes,
            ..DebugOptions::default()
        },
    };
    let compiler = Compiler::new(a.target).with_options(options);
    if let Err(e) = compiler.check() {
        return common::usage(e);
    }
    let text = match common::read_text(&a.input) {
        Ok(t) => t,
        Err(code) => return code,
    };

    let name = a.input.to_string_lossy();
    let source = Source { language, text: &text, entry: a.entry.as_deref(), name: &name };
    let mut notes = Report::new();
    let result = match a.emit {
        Form::Ir => compiler.optimised(&source, &mut notes).map(|p| p.to_string().into_bytes()),
        Form::Dot => compiler.optimised(&source, &mut notes).map(|p| nvir::ir::dot::program(&p).into_bytes()),
        form => {
            compiler.compile_reporting(&source, Cancel::NEVER, &mut notes).map(|shader| emit(form, &shader))
        }
    };
    out::stderr(&notes);
    match result {
        Ok(data) => common::write_output(a.output.as_deref(), &data),
        Err(e) => common::report_error(&e, &source),
    }
}

fn emit(form: Form, shader: &Shader) -> Vec<u8> {
    match form {
        Form::Hex => shader.code.iter().map(|w| format!("{w:016x}\n")).collect::<String>().into_bytes(),
        Form::Words => words(shader).into_bytes(),
        Form::Bin => shader.bytes(),
        Form::Cubin => cubin::write(shader.chip, &[shader.kernel()]),
        Form::Json => json(shader).into_bytes(),
        _ => listing::print(shader.chip, &[shader.kernel()], listing::Options::default()).into_bytes(),
    }
}

/// Words of 64 bits in hexadecimal, the header's in pairs, low half first.
fn words(shader: &Shader) -> String {
    let header = shader.stage.as_ref().map(|s| s.header.encode());
    let header = header.iter().flatten().copied().collect::<Vec<u32>>();
    let pairs = header.chunks(2).map(|p| p.iter().rev().fold(0, |w, &half| w << 32 | u64::from(half)));
    pairs.chain(shader.code.iter().copied()).map(|w| format!("{w:016x}\n")).collect()
}

fn json(shader: &Shader) -> String {
    let mut value = serde_json::json!({
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
    format!("{value}\n")
}

/// What a driver must know of a graphics stage.
fn stage_json(g: &Graphics) -> serde_json::Value {
    let slot = |s: &Slot| {
        let name = match s.what {
            Attribute::Vertex(n) => format!("IN[{n}]"),
            Attribute::Semantic(s) => s.to_string(),
        };
        let (kind, at) = match s.place {
            Place::Vertex(a) => ("vertex", Some(a)),
            Place::Patch(a) => ("patch", Some(a)),
            Place::Register(r) => ("register", Some(r)),
            Place::Nowhere => ("nowhere", None),
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
