//! Programs: TGSI, NIR, SPIR-V, IR. What compiles also runs, in the emulator and under the interpreter.

use super::Seeds;
use super::module;
use super::mutate::{self, Grammar};
use super::seeds::{self, Seed};
use crate::own_fault;
use crate::runner::Tally;
use nvir::Chip;
use nvir::compiler::{Compiler, DebugOptions, Language, OptLevel, Options, Source};
use nvir::diag::{self, Diagnostic, Diagnostics};
use nvir::emu;
use nvir::ir::Phase;
use nvir::ir::{Program, parse};
use nvir::random::Random;
use nvir::verify;
use nvir_fixture::format::Fixture;
use nvir_fixture::run::{Loaded, Outcome, Settings};
use std::path::Path;

/// Instructions of warps that a launch may execute, and of threads under the interpreter.
const STEPS: u64 = 1 << 14;

/// Loops that never end, alone, inside each other, behind a break, in an arm; what the fixtures lack.
pub(crate) const TGSI: &[&str] = &[
    "COMP\nPROPERTY CS_FIXED_BLOCK_WIDTH 8\nDCL SV[0], THREAD_ID\nDCL BUFFER[0]\nDCL TEMP[0..3], LOCAL\nIMM[0] UINT32 {1, 4, 0, 7}\n\
     0: BGNLOOP\n1: USEQ TEMP[0].x, SV[0].xxxx, IMM[0].xxxx\n2: UIF TEMP[0].xxxx\n3: BRK\n4: ENDIF\n5: BGNLOOP\n6: ENDLOOP\n7: ENDLOOP\n\
     8: STORE BUFFER[0].x, IMM[0].zzzz, TEMP[0].xxxx\n9: END\n",
    "COMP\nDCL SV[0], BLOCK_ID\nDCL MEMORY[0], SHARED\nDCL BUFFER[0], ATOMIC\nDCL TEMP[0..7], ARRAY(1), LOCAL\nDCL ADDR[0]\n\
     IMM[0] UINT32 {1, 4, 0, 7}\nIMM[1] FLT32 {1.0, -0.5, 0.0, 2.0}\n0: SWITCH SV[0].xxxx\n1: CASE IMM[0].xxxx\n2: BGNLOOP\n\
     3: UADD TEMP[1].x, TEMP[1].xxxx, IMM[0].xxxx\n4: UIF TEMP[1].xxxx\n5: CONT\n6: ELSE\n7: BRK\n8: ENDIF\n9: ENDLOOP\n\
     10: DEFAULT\n11: CAL :18\n12: ENDSWITCH\n13: BARRIER\n14: ATOMUADD TEMP[2].x, MEMORY[0], IMM[0].zzzz, TEMP[1].xxxx\n\
     15: UARL ADDR[0].x, TEMP[2].xxxx\n16: MOV TEMP[ADDR[0].x+1](1), IMM[1]\n17: END\n18: BGNSUB\n19: DADD TEMP[3].xy, TEMP[3].xyxy, IMM[1].xyzw\n\
     20: RET\n21: ENDSUB\n",
];

const TGSI_GRAMMAR: Grammar = Grammar {
    words: &[
        "TEMP",
        "TEMP[0]",
        "TEMP[4294967295]",
        "TEMP[ADDR[0].x+1]",
        "TEMP[ADDR[0].x](1)",
        "ADDR[0].x",
        "IMM[0]",
        "CONST[1][2]",
        "SV[0]",
        "IN[0]",
        "OUT[0]",
        "BUFFER[0]",
        "BUFFER[31]",
        "IMAGE[0]",
        "MEMORY[0]",
        "SAMP[0]",
        "SVIEW[0]",
        "RES[0]",
        "HWATOMIC[0]",
        ".x",
        ".xyzw",
        ".wzyx",
        ".zw",
        "xxxx",
        "yxwz",
        "-",
        "|",
        "_SAT",
        "_PRECISE",
        "BGNLOOP",
        "ENDLOOP",
        "BRK",
        "CONT",
        "UIF",
        "IF",
        "ELSE",
        "ENDIF",
        "SWITCH",
        "CASE",
        "DEFAULT",
        "ENDSWITCH",
        "CAL :0",
        "CAL :5",
        "BGNSUB",
        "ENDSUB",
        "RET",
        "END",
        "BARRIER",
        "MEMBAR",
        "KILL",
        "EMIT",
        "MOV",
        "UADD",
        "UDIV",
        "IMOD",
        "UMAD",
        "DMUL",
        "DDIV",
        "DSQRT",
        "DFRAC",
        "U64DIV",
        "I64MOD",
        "F2D",
        "D2I",
        "POW",
        "LOAD",
        "STORE",
        "ATOMCAS",
        "ATOMFADD",
        "RESQ",
        "TXL",
        "TXF",
        "TXQ",
        "TG4",
        "SAMPLE",
        "IBFE",
        "BFI",
        "UBFE",
        "LIT",
        "DST",
        "DP4",
        "VOTE_ANY",
        "BALLOT",
        "READ_INVOC",
        "CLOCK",
        "UARL",
        "ARL",
        "2D",
        "3D",
        "CUBE_ARRAY",
        "SHADOW2D_ARRAY",
        "2D_MSAA",
        "BUFFER",
        "PIPE_FORMAT_R32_UINT",
        "PIPE_FORMAT_NONE",
        "VOLATILE",
        "COHERENT",
        "WR",
        "RAW",
        "SHARED",
        "PRIVATE",
        "ARRAY(1)",
        "LOCAL",
        "DCL",
        "IMM",
        "UINT32",
        "FLT64",
        "THREAD_ID",
        "BLOCK_SIZE",
        "GRID_SIZE",
        "FRAG",
        "VERT",
        "GEOM",
        "TESS_CTRL",
        "TESS_EVAL",
        "POSITION",
        "GENERIC[0]",
        "COLOR[1]",
        "CLIPDIST[1]",
        "PATCH[0]",
        "TESSOUTER",
        "TESSCOORD",
        "PRIM_ID",
        "LAYER",
        "SAMPLEMASK",
        "SAMPLEPOS",
        "HELPER_INVOCATION",
        "LINEAR",
        "PERSPECTIVE",
        "CONSTANT",
        "CENTROID",
        "SAMPLE",
        "IN[ADDR[0].x][0]",
        "IN[1][0]",
        "IN[0..31]",
        "OUT[ADDR[0].x+1]",
        "OUT[0..3]",
        "KILL_IF",
        "ENDPRIM",
        "INTERP_OFFSET",
        "INTERP_SAMPLE",
        "INTERP_CENTROID",
        "DDX",
        "DDY",
        "FBFETCH",
        "READ_HELPER",
        "STREAM(1, 2, 3, 0)",
        "GS_MAX_OUTPUT_VERTICES 1024",
        "TCS_VERTICES_OUT 33",
        "NUM_CLIPDIST_ENABLED 8",
        "PROPERTY",
        "/*",
        "{",
        "}",
        "(",
        ")",
    ],
    nests: &[
        ("UIF TEMP[0].xxxx", "ENDIF"),
        ("IF TEMP[0].xxxx", "ELSE\nENDIF"),
        ("BGNLOOP", "ENDLOOP"),
        ("BGNLOOP", "BRK\nENDLOOP"),
        ("BGNLOOP\nUIF TEMP[0].xxxx\nBRK\nENDIF", "ENDLOOP"),
        ("SWITCH TEMP[0].xxxx\nCASE TEMP[1].xxxx", "BRK\nDEFAULT\nENDSWITCH"),
        ("UIF TEMP[0].xxxx\nBGNLOOP", "ENDLOOP\nENDIF"),
        ("BGNSUB", "RET\nENDSUB"),
    ],
    depth: 5000,
};

/// Texts in the newer printer's form and with the rarer things.
pub(crate) const NIR: &[&str] = &[
    "shader: MESA_SHADER_KERNEL\ndecl_var shared INTERP_MODE_NONE none int[8] s\ndecl_function f (64 p, 32)\n\n\
     impl f {\n    block b0:  // preds:\n    64   %0 = @load_param (param_idx=0)\n    32   %1 = @load_param (param_idx=1)\n\
     \x20   64   %2 = deref_cast (int *)%0 (global int)  (ptr_stride=4, align_mul=4, align_offset=0)\n\
     \x20   64   %3 = deref_ptr_as_array &(*%2)[%1] (global int)\n         @store_deref (%3, %1) (wrmask=x, access=none)\n\
     \x20   // succs: b1\n    block b1:\n}\n\ndecl_function main () (entrypoint)\n\nimpl main {\n    block b0:\n\
     \x20   32   %0 = load_const (0x00000004)\n    64   %1 = @load_kernel_input (%0 (0x4)) (base=0, range=8)\n\
     \x20   con 32 %2 = @reduce (%0 (0x4)) (reduction_op=iadd, cluster_size=8)\n    call f p %1, %2\n\
     \x20   32   %3 = deref_var &s (shared int[8])\n    32   %4 = deref_array &(*%3)[%2] (shared int)\n\
     \x20   32   %5 = @deref_atomic (%4, %0) (access=none, atomic_op=iadd)\n\
     \x20   32x4 %6 = (float32)txl %1 (texture_handle), %0 (coord), %0 (lod), 0 (texture), 0 (sampler), 1D\n\
     \x20   @barrier (exec_scope=WORKGROUP, mem_scope=WORKGROUP, mem_semantics=ACQ|REL, mem_modes=shared)\n\
     \x20   64   %7 = @global_atomic_swap (%1, %1, %1) (atomic_op=cmpxchg)\n    block b1:\n}\n",
    "shader: MESA_SHADER_COMPUTE\nworkgroup-size: 64, 1, 1\ndecl_function main (0 params)\nimpl main {\n\
     decl_reg vec4 32 r0[4]\ndecl_reg vec1 1 r1\nblock block_0:\nvec1 32 ssa_0 = load_const (0x00000001 = 0.0)\n\
     vec1 1 ssa_1 = load_const (true)\nr1 = mov ssa_1\nr0[1 + ssa_0].yw = iadd.sat ssa_0.xx, r0[2].xy\nloop {\n\
     block block_1:\nvec1 32 ssa_2 = phi block_0: ssa_0, block_4: ssa_5\nif ssa_1 {\nblock block_2:\nbreak\n} else {\n\
     block block_3:\n}\nblock block_4:\nvec1 32 ssa_5 = isub ssa_2, ssa_0\n}\nblock block_5:\n\
     vec2 64 ssa_9 = undefined\nvec2 64 ssa_10 = fmul! ssa_9.yx, -abs(ssa_9)\n\
     vec1 8 ssa_11 = u2u8 ssa_0\nvec1 8 ssa_12 = idiv ssa_11, ssa_11\nhalt\nblock block_6:\n}\n",
];

const NIR_GRAMMAR: Grammar = Grammar {
    words: &[
        "0",
        "1",
        "255",
        "4294967295",
        "ssa_0",
        "ssa_4294967295",
        "%0",
        "r0",
        "r0[1 + ssa_0]",
        "vec16 64",
        "vec1 1",
        "vec3 8",
        "16x8",
        "64x16",
        "1",
        "iadd",
        "fdot4",
        "pack_64_4x16",
        "bcsel",
        "f2i64",
        "unpack_32_4x8",
        "intrinsic load_ssbo",
        "@shuffle",
        "@load_reg",
        "MESA_SHADER_FRAGMENT",
        "MESA_SHADER_GEOMETRY",
        "MESA_SHADER_TESS_CTRL",
        "VARYING_SLOT_POS",
        "VARYING_SLOT_VAR31.zw",
        "VARYING_SLOT_CLIP_DIST0",
        "VARYING_SLOT_TESS_LEVEL_OUTER",
        "FRAG_RESULT_DEPTH",
        "INTERP_MODE_FLAT",
        "fddx",
        "intrinsic load_interpolated_input",
        "intrinsic load_per_vertex_input",
        "intrinsic load_barycentric_at_offset",
        "intrinsic store_output",
        "intrinsic store_per_vertex_output",
        "intrinsic discard () ()",
        "intrinsic terminate_if",
        "intrinsic emit_vertex",
        "intrinsic end_primitive",
        "intrinsic load_tess_coord",
        "base=31",
        "component=3",
        "io location=34 slots=3",
        "vec4[32]",
        "loop {",
        "} continue {",
        "if ssa_0 {",
        "}",
        "else",
        "break",
        "continue",
        "halt",
        "(",
        ")",
        "(true)",
        "align_mul=3",
        "align_offset=99999999",
        "wrmask=",
        "access=volatile|coherent",
        "block_0",
        "\n",
        "é",
        "/*",
        "//",
        "\0",
        "undefined",
        "phi",
        "deref_array &(*ssa_0)[*]",
        "call main",
        "0x",
        "mat4",
        "int[4294967295][4294967295]",
    ],
    nests: &[
        ("if ssa_0 {\nblock block_900:", "} else {\nblock block_901:\n}\nblock block_902:"),
        ("loop {\nblock block_903:", "}\nblock block_904:"),
        ("loop {\nblock block_905:", "break\n}\nblock block_906:"),
        ("if %0 {", "} else {\n}"),
        ("loop {", "}"),
        ("loop {", "break\n}"),
        ("loop {\nif %0 {\nbreak\n} else {\n}", "}"),
    ],
    depth: 5000,
};

const IR_GRAMMAR: Grammar = Grammar {
    words: &[
        "%r0",
        "%r1",
        "%p2",
        "%c3",
        "{%r0 %r1}",
        "{%r0 %r1 %r2 %r3}",
        "#",
        "0x0",
        "0xffffffff",
        "0x123456789abcdef:64",
        "c0[0x4]",
        "c18[0x0]",
        "c15[0x10000]",
        "g[%r0+0x0]",
        "g[{%r0 %r1}+0x8 align 8]",
        "s[%r0-0x4]",
        "l[0x0 align 16]",
        "b0[%r1]",
        "b(%r1+2)[0x0]",
        "u1[0x10]",
        "sv[tid.x]",
        "sv[clock]",
        "stage frag",
        "stage vert",
        "stage geom",
        "stage tesc",
        "stage tese",
        "input GENERIC[31] xyzw persp",
        "input POSITION xyzw linear",
        "input COLOR[0] xyzw color",
        "output COLOR[7] xyzw",
        "output DEPTH x",
        "output POSITION xyzw",
        "property max_vertices 1024",
        "property vertices_in 32",
        "property clip_planes 8",
        "a[0x80 align 16]",
        "a[%r0+0x70]",
        "a(%r1+0)[0x80 align 16]",
        "o[0x2fc align 4]",
        "interp.persp.center",
        "interp.flat.center",
        "interp.linear.offset",
        "vertex",
        "emit",
        "discard",
        "quad",
        "-> rrrr in 0 1 2 3",
        "-",
        "~",
        "|%r0|",
        "u8",
        "s8",
        "u16",
        "s16",
        "u32",
        "s32",
        "f16",
        "f32",
        "u64",
        "s64",
        "f64",
        "pred",
        "b32",
        "b96",
        "b128",
        ".ftz",
        ".sat",
        ".rz",
        ".hi",
        ".wrap",
        "mov",
        "add",
        "sub",
        "mul",
        "mad",
        "div",
        "mod",
        "shl",
        "shr",
        "min",
        "max",
        "and",
        "or",
        "xor",
        "not",
        "neg",
        "abs",
        "set.lt",
        "set.neu",
        "sel",
        "cvt",
        "rcp",
        "rsq",
        "sin",
        "ex2",
        "lg2",
        "sqrt",
        "pow",
        "popcnt",
        "bfind",
        "ext",
        "ins",
        "perm",
        "shladd",
        "lea",
        "ld",
        "st",
        "atom",
        "bar",
        "membar",
        "shfl.idx",
        "vote.all",
        "call",
        "rdsv",
        "bufsize",
        "tex",
        "texq",
        "suld",
        "sust",
        "sured",
        "undef",
        "nop",
        "exit",
        "ret",
        "jump b0",
        "jump b1",
        "if %p1 b1 b2 join b3",
        "if %p1 b0 b1",
        "unreachable",
        "join b1",
        "loop exit b2 cont b1",
        "kernel k() {",
        "sub f(%r0) -> r {",
        "}",
        "block 64 1 1",
        "block 64 any any",
        "shared 4294967295",
        "input 4294967295",
        "local 99999999",
        "@%p1",
        "@!%p1",
        "coherent",
        "volatile",
        "readonly",
    ],
    nests: &[],
    depth: 0,
};

pub(crate) fn rendered(d: &Diagnostics, text: &str) -> String {
    diag::render(d, "k", text, false)
}

/// Parts of messages about a program as a whole, in which no place is at fault.
const WHOLE: &[&str] = &[
    "which subroutine is the kernel is not said",
    "there is no kernel",
    "there is no entry point",
    "a block of",
    "bytes of shared memory: a block",
    "bytes of local memory: a thread",
    "bytes of kernel input: a constant bank",
    "a result in register",
    "a program has a `kernel`",
    "is declared only",
    "the kernel is ambiguous",
    "calls itself",
    "the listing has no instruction",
];

/// An input that is refused: by its own fault, and the report says where.
pub(crate) fn refused(d: &Diagnostics, text: &str, tally: &mut Tally) -> Result<(), String> {
    let report = rendered(d, text);
    own_fault(&report)?;
    tally.count("refused");
    if d.list.is_empty() {
        return Err("refused without a diagnostic".into());
    }
    let placeless = |d: &&Diagnostic| d.primary.is_none() && !WHOLE.iter().any(|w| d.message.contains(w));
    if let Some(d) = d.list.iter().find(placeless) {
        return Err(format!("without a place: {}", d.message));
    }
    if report.len() > 60_000 {
        return Err(format!("a report of {} bytes", report.len()));
    }
    Ok(())
}

fn compiler(chip: Chip, level: OptLevel, r: &mut Random) -> Compiler {
    let max_gprs = r.one_in(6).then(|| 16 + r.below(20) as u32);
    let debug = DebugOptions { verify_each: r.one_in(3), ..DebugOptions::default() };
    Compiler::new(chip).with_options(Options { max_gprs, debug, ..Options::at(level) })
}

/// Compiles at both ends of the levels.
fn compiled(
    program: &Program,
    text: &str,
    chip: Chip,
    r: &mut Random,
    tally: &mut Tally,
) -> Result<bool, String> {
    let mut all = true;
    for level in [OptLevel::O0, OptLevel::O3] {
        match compiler(chip, level, r).compile(program.clone()) {
            Ok(_) => tally.count("compiled"),
            Err(d) => {
                refused(d.diagnostics(), text, tally).map_err(|e| format!("{chip} -O{level}: {e}"))?;
                all = false;
            }
        }
    }
    Ok(all)
}

/// Runs the kernel, in the emulator and (TGSI) under the interpreter. Faults and wrong values are what mutants do.
pub(crate) fn run(loaded: &Loaded, chip: Chip, r: &mut Random, tally: &mut Tally) -> Result<(), String> {
    let mut checks = emu::Checks::default();
    if r.one_in(3) {
        checks = emu::Checks::ALL;
    } else if r.one_in(4) {
        checks.memory = false;
    }
    let settings = Settings {
        options: Options::at(*r.of_list(&OptLevel::ALL)),
        checks,
        step_limit: STEPS,
        profile: r.one_in(8),
        ..Settings::default()
    };
    let only = loaded.fixture.tests.get(r.below(loaded.fixture.tests.len())).map(|t| t.name.clone());
    for report in loaded.run(chip, only.as_deref(), &settings, &mut None, |_, _| ()).iter().take(3) {
        if let Outcome::Failed(why) = &report.outcome {
            own_fault(why).map_err(|e| format!("{chip} run: {e}"))?;
        }
        if report.stats.warp_instructions > 0 {
            tally.count("ended");
        }
        tally.count("run");
    }
    for (_, outcome) in loaded.interpret(only.as_deref(), STEPS, |_, _| ()).iter().take(3) {
        if let Outcome::Failed(why) = outcome {
            own_fault(why).map_err(|e| format!("interpreter: {e}"))?;
        }
        tally.count("interpreted");
    }
    Ok(())
}

/// A fixture whose blocks are of the size that a program declares: launches of another are refused.
fn fitting(fixture: &Fixture, declared: Option<[u32; 3]>) -> Fixture {
    let mut fixture = fixture.clone();
    let sizes = fixture.tests.iter_mut().flat_map(|t| {
        t.block.iter_mut().chain(t.launches.iter_mut().flatten().map(|launch| &mut launch.block))
    });
    for block in sizes {
        for (n, declared) in block.iter_mut().zip(declared.unwrap_or_default()).filter(|(_, d)| *d != 0) {
            *n = declared;
        }
    }
    fixture
}

pub(crate) fn launch(
    fixture: &Fixture,
    source: &str,
    data: &[u8],
    chip: Chip,
    r: &mut Random,
    tally: &mut Tally,
) -> Result<(), String> {
    let fixture = Fixture { source: source.into(), ..fixture.clone() };
    let loaded = Loaded::new(Path::new("k.toml"), fixture, data.to_vec()).map_err(|e| e.to_string())?;
    run(&loaded, chip, r, tally)
}

static TGSI_SEEDS: Seeds<Seed<String>> = Seeds::new(
    "tgsi",
    || seeds::programs("tgsi"),
    |a, b, r| mutate::text(&a.data, &b.data, &TGSI_GRAMMAR, r).into_bytes(),
);

static NIR_SEEDS: Seeds<Seed<String>> = Seeds::new(
    "nir",
    || seeds::programs("nir"),
    |a, b, r| mutate::text(&a.data, &b.data, &NIR_GRAMMAR, r).into_bytes(),
);

static SPIRV_SEEDS: Seeds<Seed<Vec<u8>>> =
    Seeds::new("spv", seeds::modules, |a, b, r| module::module(&a.data, &b.data, r));

static IR_SEEDS: Seeds<Seed<String>> =
    Seeds::new("ir", seeds::ir, |a, b, r| mutate::text(&a.data, &b.data, &IR_GRAMMAR, r).into_bytes());

pub(crate) fn tgsi_input(case: u64) -> (Vec<u8>, &'static str) {
    TGSI_SEEDS.input(case)
}

pub(crate) fn nir_input(case: u64) -> (Vec<u8>, &'static str) {
    NIR_SEEDS.input(case)
}

pub(crate) fn spirv_input(case: u64) -> (Vec<u8>, &'static str) {
    SPIRV_SEEDS.input(case)
}

pub(crate) fn ir_input(case: u64) -> (Vec<u8>, &'static str) {
    IR_SEEDS.input(case)
}

pub(crate) fn tgsi(case: u64, tally: &mut Tally) -> Result<(), String> {
    front(Language::Tgsi, &TGSI_SEEDS, case, tally)
}

pub(crate) fn nir(case: u64, tally: &mut Tally) -> Result<(), String> {
    front(Language::Nir, &NIR_SEEDS, case, tally)
}

pub(crate) fn spirv(case: u64, tally: &mut Tally) -> Result<(), String> {
    front(Language::SpirV, &SPIRV_SEEDS, case, tally)
}

fn front<T>(language: Language, seeds: &Seeds<Seed<T>>, case: u64, tally: &mut Tally) -> Result<(), String> {
    let (mutant, mut r) = seeds.mutant(case);
    let fixture = &seeds.all()[mutant.seed].fixture;
    let Ok(text) = language.text(&mutant.data) else {
        tally.count("refused");
        return Ok(());
    };
    let text = text.as_ref();
    let chip = *r.of_list(&Chip::ALL);
    let entry = fixture.kernel.as_ref().map(|k| k.to_string());
    let entry = entry.as_deref().filter(|_| !r.one_in(8));
    let given = if language == Language::SpirV { r.below(3) } else { 0 };
    let spec_constants = (0..given).map(|id| (id as u32, r.word() >> r.below(64))).collect();
    let options = Options {
        pointer_align: *r.of_list(&[1, 4, 16, 65536]),
        private_bytes: *r.of_list(&[0, 0, 16, 4096]),
        spec_constants,
        stage: seeds::stage(fixture),
        ..Options::default()
    };
    let source = Source { language, text, entry, name: "mutant" };
    let program = match Compiler::new(chip).with_options(options).front(&source) {
        Ok(p) => p,
        Err(e) => return refused(e.diagnostics(), text, tally),
    };
    verify::program(&program, Phase::Front).map_err(|v| format!("after the front-end: {v}"))?;
    tally.count("accepted");
    if compiled(&program, text, chip, &mut r, tally)? && r.one_in(2) {
        let fixture = fitting(fixture, program.block_size);
        launch(&fixture, &format!("k.{}", seeds.format), &mutant.data, chip, &mut r, tally)?;
    }
    Ok(())
}

pub(crate) fn ir(case: u64, tally: &mut Tally) -> Result<(), String> {
    let (mutant, mut r) = IR_SEEDS.mutant(case);
    let text = mutant.text();
    let program = match parse::program(text) {
        Ok(p) => p,
        Err(d) => return refused(&d.into(), text, tally),
    };
    tally.count("parsed");
    // The verifier is what every IR text that is compiled must pass.
    if verify::program(&program, Phase::Front).is_err() {
        return Ok(());
    }
    tally.count("valid");
    let printed = program.to_string();
    match parse::program(&printed) {
        Ok(again) if again.to_string() == printed => {}
        Ok(_) => return Err("its own listing is another program".into()),
        Err(d) => return Err(format!("its own listing is refused: {}", rendered(&d.into(), &printed))),
    }
    let chip = *r.of_list(&Chip::ALL);
    if compiled(&program, text, chip, &mut r, tally)? && r.one_in(2) {
        let fixture = fitting(&IR_SEEDS.all()[mutant.seed].fixture, program.block_size);
        launch(&fixture, "k.ir", &mutant.data, chip, &mut r, tally)?;
    }
    Ok(())
}
