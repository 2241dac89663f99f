//! The languages that nvir reads and writes, their words from the tables by which it does.

use super::language::*;
use nvir::Chip;
use nvir::format::Format;
use nvir::front::nir::{alu, intrinsics, names as nir};
use nvir::front::tgsi::ast as tgsi;
use nvir::ir;
use nvir::isa;
use nvir::isa::names as sass;

const BLOCK_COMMENT: fn() -> Rule = || Rule(COMMENT, Found::Span(r"/\*", r"\*/"));
const LINE_COMMENT: fn() -> Rule = || pattern(COMMENT, "//.*$", r"+//.*$+");
const HEX: fn() -> Rule = || pattern(NUMBER, r"\b0x[0-9a-fA-F]+\b", r"/\<0x\x\+\>/");
/// Also `1.5e-3`, `1.#INF`.
const DECIMAL: fn() -> Rule = || {
    pattern(
        NUMBER,
        r"\b[0-9]+(?:\.[0-9]+|\.#[A-Z]+)?(?:[eE][-+]?[0-9]+)?\b",
        r"/\<\d\+\%(\.\d\+\|\.#\u\+\)\?\%([eE][-+]\?\d\+\)\?\>/",
    )
};

pub(crate) fn all() -> [Language; 4] {
    [tgsi_text(), nir_text(), ir_text(), sass_text()]
}

fn tgsi_text() -> Language {
    let meanings = [tgsi::Semantic::NAMES, tgsi::Target::NAMES, tgsi::Property::NAMES, tgsi::PRIMITIVES];
    let more = [tgsi::COORD_ORIGINS, tgsi::PIXEL_CENTERS, tgsi::Interpolate::NAMES, tgsi::Location::NAMES];
    let kinds = [tgsi::MemoryKind::NAMES, tgsi::ReturnType::NAMES, tgsi::ImmType::NAMES];
    let formats = Format::all().map(|f| f.gallium_name().to_uppercase()).chain(["NONE".to_string()]);
    // What the parser takes without a table.
    let rest = ["ARRAY", "STREAM", "LOCAL", "INVARIANT", "ATOMIC", "SHARED", "WR", "RAW"];
    let access = ["COHERENT", "RESTRICT", "VOLATILE", "STREAM_CACHE_POLICY"];
    Language {
        id: "tgsi",
        title: "TGSI",
        endings: &["tgsi"],
        any_case: true,
        comment: "//",
        rules: vec![
            LINE_COMMENT(),
            BLOCK_COMMENT(),
            pattern(COMMENT, ";.*$", "/;.*$/"),
            pattern(COMMENT, r"^\s*#.*$", r"/^\s*#.*$/"),
            pattern(LABEL, r"^\s*[0-9]+:", r"/^\s*\d\+:/"),
            pattern(LABEL, r":\s*[0-9]+\b", r"/:\s*\d\+\>/"),
            words(KEYWORD, ["DCL", "IMM", "PROPERTY"]),
            words_with(
                OPCODE,
                tgsi::Opcode::ALL.iter().map(|o| o.name()),
                "(?:_SAT)?(?:_PRECISE)?",
                &["", "_SAT", "_PRECISE", "_SAT_PRECISE"],
            ),
            words(REGISTER, tgsi::File::NAMES.iter().chain(&["RGLOBAL", "RLOCAL", "RPRIVATE", "RINPUT"])),
            words(TYPE, tgsi::Stage::NAMES),
            words(CONSTANT, formats.map(|f| format!("PIPE_FORMAT_{f}"))),
            words(
                CONSTANT,
                meanings.iter().chain(&more).chain(&kinds).copied().flatten().chain(&rest).chain(&access),
            ),
            pattern(SUFFIX, r"\.[xyzw]{1,4}\b", r"/\.[xyzw]\{1,4}\>/"),
            HEX(),
            DECIMAL(),
            words(NUMBER, ["INF", "NAN"]),
            pattern(PUNCTUATION, r"[-+|.,:()\[\]{}]", r"/[-+|.,:()[\]{}]/"),
        ],
    }
}

/// Words of a list of NIR's.
fn named<T: nir::Named>() -> impl Iterator<Item = &'static str> {
    T::NAMES.iter().map(|(name, _)| *name)
}

fn nir_text() -> Language {
    let structure = ["shader", "decl_var", "decl_function", "decl_overload", "impl", "block", "loop", "if"];
    let flow =
        ["else", "continue", "break", "return", "halt", "preds", "succs", "intrinsic", "load_const", "phi"];
    let undefined = ["undefined", "undef", "ssa_undef", "call"];
    let derefs = ["deref_var", "deref_array", "deref_struct", "deref_cast", "deref_ptr_as_array"];
    let mode_words = named::<nir::Mode>().chain(named::<nir::Access>()).chain(named::<nir::Scope>());
    let mode_words =
        mode_words.chain(named::<nir::Rounding>()).chain(named::<nir::TexRole>()).chain(named::<ir::Dim>());
    let mode_words = mode_words.chain(named::<nir::Primitive>()).chain(named::<nir::Stage>());
    let formats = Format::all().map(Format::gallium_name).chain(["none"]);
    Language {
        id: "nir",
        title: "NIR",
        endings: &["nir"],
        any_case: false,
        comment: "//",
        rules: vec![
            BLOCK_COMMENT(),
            LINE_COMMENT(),
            pattern(CONSTANT, r"\bINTERP_MODE_[A-Z_]+\b", r"/\<INTERP_MODE_[A-Z_]\+\>/"),
            pattern(LABEL, r"\bblock_[0-9]+\b|\bb[0-9]+\b", r"/\<block_\d\+\>\|\<b\d\+\>/"),
            pattern(REGISTER, r"%[0-9]+\b|\bssa_[0-9]+\b|\br[0-9]+\b", r"/%\d\+\>\|\<ssa_\d\+\>\|\<r\d\+\>/"),
            words(KEYWORD, structure.iter().chain(&flow).chain(&undefined).chain(&derefs)),
            pattern(NAME, r"\b[a-z][a-z0-9_]*=", r"/\<[a-z][a-z0-9_]*=/"),
            words(INTRINSIC, intrinsics::names()),
            words(OPCODE, alu::names().chain(named::<nir::TexOpcode>())),
            words(CONSTANT, mode_words.chain(formats).map(str::to_string)),
            pattern(
                TYPE,
                r"\b(?:[iu]|u?int|bool|float|con|div)?(?:8|16|32|64|1)x?[0-9]*\b",
                r"/\<\%([iu]\|u\?int\|bool\|float\|con\|div\)\?\%(8\|16\|32\|64\|1\)x\?\d*\>/",
            ),
            HEX(),
            DECIMAL(),
            pattern(NAME, r"[@#$]?\b[A-Za-z_][A-Za-z0-9_@#$]*", r"/[@#$]\?\<\h[A-Za-z0-9_@#$]*/"),
            pattern(
                PUNCTUATION,
                r#"[-+=*&|!?<>^~%/\\:;.,'"@#$()\[\]{}]"#,
                r#"/[-+=*&|!?<>^~%\/\\:;.,'"@#$()[\]{}]/"#,
            ),
        ],
    }
}

fn ir_text() -> Language {
    let top = [
        "program",
        "block",
        "wholewarps",
        "shared",
        "input",
        "private",
        "stage",
        "kernel",
        "library",
        "extern",
    ];
    let sub = [
        "sub", "in", "local", "given", "to", "align", "uniform", "loop", "exit", "cont", "join", "jump", "if",
    ];
    let ends = [
        "ret",
        "unreachable",
        "call",
        "known",
        "sv",
        "coherent",
        "volatile",
        "readonly",
        "at",
        "mask",
        "comp",
    ];
    let details =
        ["array", "shadow", "lz", "indirect", "offsets", "format", "atom", "machine", "index", "handle"];
    let operands = ["sample", "coords", "data", "lane", "from"];
    let shapes = ir::Dim::ALL.iter().map(|d| d.name()).chain(ir::TexOp::ALL.iter().map(|o| o.name()));
    let shapes = shapes
        .chain(ir::TexRole::ALL.iter().map(|r| r.name()))
        .chain(ir::AtomOp::ALL.iter().map(|o| o.name()));
    let shapes = shapes.chain(ir::SurfShape::ALL.iter().map(|s| s.name()));
    let shapes = shapes.chain(ir::SurfAccess::ALL.iter().map(|s| s.name()));
    Language {
        id: "nvir",
        title: "nvir IR",
        endings: &["ir"],
        any_case: false,
        comment: ";",
        rules: vec![
            pattern(COMMENT, ";.*$", "/;.*$/"),
            pattern(
                FUNCTION,
                r"\b(?:kernel|sub)\s+[A-Za-z0-9_.$@]+\(",
                r"/\<\%(kernel\|sub\)\s\+[A-Za-z0-9_.$@]\+(/",
            ),
            // What a stage gets and gives.
            pattern(CONSTANT, r"\b[A-Z][A-Z0-9_]*\b", r"/\<\u[A-Z0-9_]*\>/"),
            pattern(REGISTER, r"[%][rpc][0-9]+\b", r"/%[rpc]\d\+\>/"),
            pattern(CONSTANT, r"\bsv\[[a-z0-9_.]+\]", r"/\<sv\[[a-z0-9_.]\+\]/"),
            pattern(REGISTER, r"\b[a-z]+[0-9]*\[", r"/\<[a-z]\+\d*\[/"),
            pattern(LABEL, r"\bb[0-9]+\b", r"/\<b\d\+\>/"),
            pattern(FUNCTION, r"\bf[0-9]+\b", r"/\<f\d\+\>/"),
            pattern(SUFFIX, r"\.[a-z][a-z0-9_]*\b", r"/\.[a-z][a-z0-9_]*\>/"),
            words(TYPE, ir::Type::ALL.iter().map(|t| t.name())),
            words(OPCODE, ir::op::Op::ALL.iter().map(|o| o.name())),
            words(KEYWORD, top.iter().chain(&sub).chain(&ends).chain(&details).chain(&operands)),
            words(CONSTANT, shapes.chain(Format::all().map(Format::name)).map(str::to_string)),
            HEX(),
            DECIMAL(),
            pattern(NAME, r"\b[a-z_][A-Za-z0-9_]*\b", r"/\<[a-z_][A-Za-z0-9_]*\>/"),
            pattern(PUNCTUATION, r"[-+=|~!@#>:.,()\[\]{}]", r"/[-+=|~!@#>:.,()[\]{}]/"),
        ],
    }
}

fn sass_text() -> Language {
    let special =
        Chip::ALL.iter().flat_map(|&chip| (0..=u8::MAX).filter_map(move |n| sass::special(chip, n)));
    let tests = sass::CC_TESTS.iter().map(|t| format!("CC.{t}"));
    // The assembler names its directives where it refuses one.
    let refused =
        nvir::image::listing::assemble(".unknown\n", Chip::Gk110, "k").expect_err("there is no such one");
    let label = refused.list[0].primary.as_ref().map(|p| p.1.clone()).expect("it has a place");
    let directives: Vec<&str> = label.split_whitespace().filter_map(|w| w.strip_prefix('.')).collect();
    let directives: Vec<&str> = directives.iter().map(|w| w.trim_end_matches(',')).collect();
    assert!(directives.len() > 10, "{label}");
    Language {
        id: "sass",
        title: "SASS",
        endings: &["sass"],
        any_case: false,
        comment: "//",
        rules: vec![
            LINE_COMMENT(),
            BLOCK_COMMENT(),
            pattern(LABEL, r"^\s*[.A-Za-z_$][A-Za-z0-9_.$]*:", r"/^\s*[.A-Za-z_$][A-Za-z0-9_.$]*:/"),
            pattern(LABEL, r"\.L_[A-Za-z0-9_.$]+|`\([^)]*\)", r"/\.L_[A-Za-z0-9_.$]\+\|`([^)]*)/"),
            pattern(
                DIRECTIVE,
                format!(r"^\s*\.(?:{})\b", directives.join("|")),
                format!(r"/^\s*\.\%({}\)\>/", directives.join(r"\|")),
            ),
            pattern(REGISTER, r"@!?P[0-6T]\b", r"/@!\?P[0-6T]\>/"),
            pattern(REGISTER, r"\bR(?:[0-9]+|Z)\b|\bP[0-6T]\b", r"/\<R\%(\d\+\|Z\)\>\|\<P[0-6T]\>/"),
            words(REGISTER, special),
            pattern(REGISTER, r"\bSR[0-9]+\b|\b[acv]\[", r"/\<SR\d\+\>\|\<[acv]\[/"),
            words(CONSTANT, tests),
            words(OPCODE, isa::Op::ALL.iter().map(|o| o.name())),
            words(CONSTANT, isa::Kw::ALL.iter().map(|k| k.name())),
            pattern(SUFFIX, r"\.[A-Z0-9][A-Z0-9_]*\b", r"/\.[A-Z0-9][A-Z0-9_]*\>/"),
            pattern(SUFFIX, r"\{(?:short|form 0x[0-9a-f]+)\}", r"/{\%(short\|form 0x\x\+\)}/"),
            HEX(),
            DECIMAL(),
            pattern(NUMBER, r"[-+](?:INF|[QS]NAN)", r"/[-+]\%(INF\|[QS]NAN\)/"),
            pattern(NUMBER, r"\b[0-9a-f]+\b", r"/\<\x\+\>/"),
            pattern(NAME, r"\b[A-Za-z_$][A-Za-z0-9_.$]*", r"/\<[A-Za-z_$][A-Za-z0-9_.$]*/"),
            pattern(PUNCTUATION, r"[-+|~!.,;:()\[\]{}]", r"/[-+|~!.,;:()[\]{}]/"),
        ],
    }
}
