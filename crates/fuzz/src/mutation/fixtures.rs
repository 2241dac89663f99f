//! Fixtures: what they say about kernels, launches and memory.

use super::mutate::{self, Grammar};
use super::seeds::{self, FixtureSeed};
use super::{Seeds, programs};
use crate::own_fault;
use crate::runner::Tally;
use nvir_fixture::format::Fixture;
use nvir_fixture::run::Loaded;

const FIXTURE: Grammar = Grammar {
    words: &[
        "true",
        "null",
        "\"\"",
        "\"a\"",
        "[]",
        "{}",
        "[[]]",
        "\"u8\"",
        "\"f64\"",
        "\"i16\"",
        "\"u64\"",
        "\"nan\"",
        "\"-inf\"",
        "\"0xffffffffffffffff\"",
        "\"0x\"",
        "grid",
        "block",
        "size",
        "len",
        "offset",
        "shared",
        "bytes",
        "shared_dynamic",
        "private_bytes",
        "stage",
        "header",
        "vertices",
        "patches",
        "primitives",
        "triangle",
        "quads",
        "inputs",
        "system",
        "invocations",
        "varyings",
        "window",
        "cover",
        "samples",
        "count",
        "vertices_in",
        "nir_tess",
        "nir_fs",
        "clip_planes",
        "\"frag\"",
        "\"POSITION\"",
        "\"GENERIC[31]\"",
        "\"IN[0]\"",
        "\"cut\"",
        "input_bytes",
        "pointer_bytes",
        "pointer_bytes = 0\n",
        "pointer_align",
        "pointer_align = 0\n",
        "levels",
        "launches",
        "fill",
        "words",
        "hex",
        "file",
        "tolerance",
        "init",
        "expect",
        "type",
        "format",
        "ulp",
        "\"1d\"",
        "\"2d\"",
        "\"3d\"",
        "\"cube\"",
        "\"buffer\"",
        "\"2d_array\"",
        "\"1d_array\"",
        "\"cube_array\"",
        "\"2d_ms\"",
        "\"r8_unorm\"",
        "\"r32_uint\"",
        "\"rgba32_float\"",
        "\"r11g11b10_float\"",
        "\"r16g16b16a16_snorm\"",
        "[4294967295, 1, 1]",
        "[1, 65536, 1]",
        "[65535, 65535, 65535]",
        "[1024, 1, 1]",
        "[0, 1, 1]",
        "[16384, 16384, 1]",
        "[33, 32, 1]",
        "{ u32 = 4294967295 }",
        "{ shared = 4294967295 }",
        "{ bytes = \"00\", offset = 65535 }",
        "{ fill = \"nan\" }",
        "{ words = [1, 2] }",
        "\"illegal_instruction\"",
        "\"gf100\"",
        "\"..\"",
        "\"/\"",
        "1e400",
        "-0.0",
        "=",
        "#",
    ],
    nests: &[("[", "]"), ("{", "}"), ("[[tests]]", "")],
    depth: 10_000,
};

static SEEDS: Seeds<FixtureSeed> =
    Seeds::new("toml", seeds::fixtures, |a, b, r| mutate::text(&a.text, &b.text, &FIXTURE, r).into_bytes());

pub(crate) fn fixture_input(case: u64) -> (Vec<u8>, &'static str) {
    SEEDS.input(case)
}

pub(crate) fn fixture(case: u64, tally: &mut Tally) -> Result<(), String> {
    let (mutant, mut r) = SEEDS.mutant(case);
    let seed = &SEEDS.all()[mutant.seed];
    let fixture = match Fixture::parse(&seed.path, mutant.text()) {
        Ok(f) => f,
        Err(e) => return own_fault(&e.to_string()),
    };
    tally.count("parsed");
    match Loaded::new(&seed.path, fixture, seed.source.clone()) {
        Ok(loaded) => {
            let chips = match loaded.chips() {
                Ok(c) if !c.is_empty() => c,
                _ => return Ok(()),
            };
            let chip = *r.of_list(&chips);
            programs::run(&loaded, chip, &mut r, tally)
        }
        Err(e) => own_fault(&e.to_string()),
    }
}
