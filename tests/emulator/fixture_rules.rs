//! Mistakes of fixtures: each is an error with its place, whoever reads the fixture, and never a fault that a test can expect.

use nvir::Chip;
use nvir_fixture::run::{Failure, Loaded, Outcome, Settings};
use nvir_fixture::{Fixture, FixtureError};
use std::path::Path;

const KERNEL: &str = r#"source = "k.tgsi"
[[tests]]
name = "t"
grid = [1, 1, 1]
block = [32, 1, 1]
args = [{ buffer = "a" }, { u32 = 5 }]
ssbo = { 0 = "a" }
images_bound = { 0 = "i" }
textures = { 0 = { image = "i" } }
[tests.buffers.a]
type = "u32"
len = 4
[tests.images.i]
type = "2d"
format = "rgba8"
size = [8, 8]
"#;

const FRAGMENT: &str = r#"{"source": "k.tgsi",
"tests": [{"name": "t",
"triangle": {"window": [[0, 0, 0, 1], [8, 0, 0, 1], [0, 8, 0, 1]],
 "flat_vertex": 0,
 "varyings": {"GENERIC[0]": [[0.0], [1.0], [0.0]]}},
"quads": [{"at": [2, 0],
 "cover": [1, 1, 1, 1]}],
"expect": {"COLOR[0]": [[null, null, null, null]], "KILLED": [[0, 0, 0, 0]]}}]}
"#;

const PATCHES: &str = r#"source = "k.nir"
[[tests]]
name = "t"
[tests.patches]
count = 1
vertices_in = 3
[tests.patches.inputs]
POSITION = [[[0.0], [1.0], [0.0]]]
"#;

// Cases: behind `=` a part of the base, then lines of what stands in its place (with `+`, behind it), with the line at fault and
// what is said of it: `line | text | message`. `\n` ends a line.

const KERNELS: &str = r#"
= source = "k.tgsi"
2 | +\ntargets = [] | targets: no chip is listed
3 | +\ntargets = ["gk110",\n"nvf0"] | targets[1]: gk110 is listed twice
2 | +\ntargets = ["gk120"] | targets[0]: unknown chip `gk120`
2 | +\npointer_bytes = 3 | a buffer argument has 4 or 8 bytes, not 3
2 | +\npointer_bytes = 0 | a buffer argument has 4 or 8 bytes, not 0
2 | +\npointer_align = 12 | 12 is not a power of two from 1 to 65536
2 | +\npointer_align = 0 | 0 is not a power of two
2 | +\ninput_bytes = 65537 | a constant bank has 65536
7 | +\ninput_bytes = 7 | args[1]: it ends at byte 8 of the kernel input: `input_bytes` is 7
2 | +\nclip_planes = [[1, 0, 0, 0]] | only vertex, tessellation evaluation and geometry
2 | +\nheader = "0" | it is for machine code
2 | +\nstage = "frag" | the fixture's stage is frag, the test is of a kernel (test `t`)
2 | +\nnir_info = { clip_distances = 1 } | TGSI says all of it
2 | source = "k.nir"\nnir_gs = { input = 4, output = 5, vertices_out = 3, vertices_in = 3, invocations = 1, streams = 1 } | nir_gs: no test is of such a stage
= "t"
3 | "" | name: a test needs a name
3 | " \t" | name: a test needs a name
= [[tests]]\n
7 | +name = "t"\ngrid = [1, 1, 1]\nblock = [1, 1, 1]\n[[tests]]\n | another test has the same name
= grid = [1, 1, 1]\n
2 |  | primitives or triangle are missing
= block = [32, 1, 1]\n
2 |  | primitives or triangle are missing
= grid = [1, 1, 1]
5 | grid = [1,\n0, 1] | grid[1]: the grid is 0 in y
= block = [32, 1, 1]
5 | block = [32, 1, 0] | block[2]: the block is 0 in z
= grid = [1, 1, 1]\nblock = [32, 1, 1]
4 | launches = [] | launches: nothing is launched
= block = [32, 1, 1]
2 | launches = [{ grid = [1, 1, 1], block = [32, 1, 1] }] | `grid and block` beside `launches`
= grid = [1, 1, 1]\nblock = [32, 1, 1]
4 | launches = [{ grid = [1, 1, 1], block = [0, 1, 1] }] | launches[0].block[0]: the block is 0 in x
= { u32 = 5 }
6 | { u32 = 5, offset = 2 } | args[1]: bytes 2 to 5 overlap argument 0, which has 0 to 3
= args = [{ buffer = "a" }, { u32 = 5 }]
6 | args = [{ u8 = 1, offset = 9 }, { bytes = "00112233", offset = 8 }] | args[1]: bytes 8 to 11 overlap argument 0
6 | args = [{ bytes = "00112233", offset = 8 }, { u8 = 1, offset = 9 }] | args[1]: bytes 9 to 9 overlap argument 0
= { u32 = 5 }
6 | { u32 = 5, u64 = 1 } | exactly one of
6 | { offset = 8 } | exactly one of
6 | { u8 = 256 } | 256 does not fit into 8 bits
6 | { bytes = "" } | an argument of no bytes
6 | { shared = 0 } | shared memory of 0 bytes
6 | { u32 = 5, offset = 65534 } | it ends at byte 65538 of the kernel input
6 | { u32 = 5, offset = 4294967295 } | it ends at byte 4294967299
= { buffer = "a" }
6 | { buffer = "b" } | args[0]: the test has no buffer `b`
= ssbo = { 0 = "a" }
7 | ssbo = { 0 = "b" } | ssbo[0]: the test has no buffer `b`
7 | ssbo = { 32 = "a" } | ssbo[32]: index out of range (0 to 31)
7 | ssbo = { 00 = "a" } | `00` is not a number
7 | ubo = { 14 = "a" } | index out of range (0 to 13)
7 | uniforms = "b" | uniforms: the test has no buffer `b`
= images_bound = { 0 = "i" }
8 | images_bound = { 8 = "i" } | index out of range (0 to 7)
8 | images_bound = { 0 = { image = "j" } } | the test has no image `j`
8 | images_bindless = { 512 = "i" } | index out of range (0 to 511)
= { image = "i" }
9 | { image = "j" } | textures[0]: the test has no image `j`
9 | { image = "i", min = "cubic" } | cubic
9 | { image = "i", wrap = ["repeat", "repeat", "repeat", "repeat"] } | at most three
= block = [32, 1, 1]
6 | +\nsamples = 4 | samples: only fragment shaders have it
6 | +\nper_sample = true | only fragment shaders have it
6 | +\nflat_shade = true | only fragment shaders have it
6 | +\nframebuffer = "i" | only fragment shaders have it
6 | +\ntolerance = { ulp = 1 } | have their own
= len = 4
13 | +\ntolerance = { abs = -1 } | buffers.a.tolerance.abs: -1 is not a distance
13 | +\ntolerance = { ulp = nan } | is not a distance
13 | +\ntolerance = { unorm_lsb = 1 } | only images have normalised channels
= size = [8, 8]
16 | size = [8, 0] | images.i.size: 2d: a size of [8, 0, 1]: no extent is 0
16 | size = [8, 8, 2] | it has a width and a height only
16 | size = [16385, 8] | an extent is at most 16384
17 | +\nlevels = 99 | levels: 99 levels: an image of this size has 1 to 4
17 | +\nlevels = 5 | 5 levels
17 | +\nlevels = 0 | 0 levels
17 | +\nlayout = "tiled" | unknown layout `tiled`
= format = "rgba8"
15 | format = "rgba9" | images.i.format
= type = "2d"
14 | type = "4d" | unknown image type `4d`
= type = "2d"\nformat = "rgba8"\nsize = [8, 8]
16 | type = "cube"\nformat = "rgba8"\nsize = [8, 8, 5] | a cube has 6 square faces
16 | type = "cube"\nformat = "rgba8"\nsize = [8, 4, 6] | a cube has 6 square faces
16 | type = "cube_array"\nformat = "rgba8"\nsize = [8, 8, 8] | each cube has 6
16 | type = "2d_ms"\nformat = "rgba8"\nsize = [8, 8, 3] | 1, 2, 4 or 8 samples
17 | type = "2d_ms"\nformat = "rgba8"\nsize = [8, 8, 4]\nlevels = 2 | 2 levels
16 | type = "1d"\nformat = "rgba8"\nsize = [8, 8] | it has a width only
17 | type = "buffer"\nformat = "rgba8"\nsize = [8]\nlevels = 2 | 2 levels
# Bound nowhere, wrong all the same.
= images_bound = { 0 = "i" }\ntextures = { 0 = { image = "i" } }\n[tests.buffers.a]\ntype = "u32"\nlen = 4\n[tests.images.i]\ntype = "2d"
14 | [tests.buffers.a]\ntype = "u32"\nlen = 4\n[tests.images.i]\ntype = "cube" | images.i.size: cube: a size of [8, 8, 1]: a cube has 6 square faces
"#;

const FRAGMENTS: &str = r#"
= "quads"
6 | "samples": 3,\n"quads" | samples: 3 is not a number of samples (1, 2, 4 or 8)
6 | "samples": 0,\n"quads" | 0 is not a number of samples
6 | "samples": 2, "sample": [2],\n"quads" | sample[0]: sample 2: index out of range (0 to 1)
6 | "sample": [99],\n"quads" | sample 99: index out of range (0 to 0)
6 | "sample": [0, 0],\n"quads" | sample: 2 numbers for 1 quads
= [1, 1, 1, 1]
7 | [1, 1, 2, 1] | quads[0].cover[2]: cover 2 is out of range (0 to 1, a bit for each of 1 samples)
= [1, 1, 1, 1]}]
7 | [4096, 1, 1, 1]}],\n"samples": 8 | cover 4096 is out of range (0 to 255, a bit for each of 8 samples)
= [2, 0]
6 | [2, 1] | quads[0].at[1]: a quad begins at even numbers up to 65536, not at 1
6 | [65538, 0] | quads[0].at[0]: a quad begins at even numbers up to 65536, not at 65538
= [8, 0, 0, 1]
3 | [0, 0, 0, 1] | the triangle has no area
3 | [1e308, 0, 0, 1] | the triangle has no area
= "flat_vertex": 0
3 | "flat_vertex": 7 | flat inputs are of vertex 7
= "quads": [{"at": [2, 0],\n "cover": [1, 1, 1, 1]}]
6 | "quads": [] | no pixel is run
= "quads"
6 | "args": [{"u32": 1}],\n"quads" | args: only kernels have it
6 | "shared_dynamic": 64,\n"quads" | shared_dynamic: only kernels have it
= "source": "k.tgsi"
1 | "clip_planes": [[1, 0, 0, 0]], "source": "k.tgsi" | clip_planes: only vertex
1 | "input_bytes": 8, "source": "k.tgsi" | arguments are for kernels
= "quads"
6 | "framebuffer": "f",\n"quads" | the test has no image `f`
6 | "framebuffer": "f",\n"images": {"f": {"type": "2d_ms", "format": "rgba8", "size": [8, 8, 4]}}, "quads" | with the test's samples (1)
6 | "framebuffer": "f",\n"images": {"f": {"type": "3d", "format": "rgba8", "size": [8, 8, 4]}}, "quads" | a framebuffer is `2d`
= "expect": {"COLOR[0]": [[null, null, null, null]], "KILLED": [[0, 0, 0, 0]]}
8 | "tolerance": {"ulp": 1} | tolerance: there is no `expect`
"#;

const OF_PATCHES: &str = r#"
= vertices_in = 3
8 | +\nsystem = { VERTICESIN = 3 }\ninvocations = { patch = [0, 1], TESSCOORD = [[0.0, 0.0], [1.0, 0.0]] } | patches.invocations.patch[1]: patch 1: index out of range (0 to 0)
7 | +\npatch_inputs = { TESSOUTER = [[1.0]] } | `invocations` is missing
= name = "t"
4 | +\nsamples = 2 | not a tesc shader
= source = "k.nir"
2 | +\nnir_tess = { vertices_out = 33 } | 33 is out of range (0 to 32)
2 | +\nnir_tess = { primitive_mode = 4 } | primitive_mode 4
2 | +\nnir_fs = { depth_layout = 5 } | no test is of such a stage
2 | +\nnir_info = { clip_distances = 5, cull_distances = 4 } | 8 together at most
"#;

fn refused(base: &str, name: &str, cases: &str) {
    Fixture::parse(Path::new(name), base).unwrap_or_else(|e| panic!("{e}"));
    let mut from = String::new();
    for case in cases.lines().filter(|l| !l.is_empty() && !l.starts_with('#')) {
        let case = case.replace("\\n", "\n");
        if let Some(part) = case.strip_prefix("= ") {
            assert!(base.contains(part), "{part}");
            from = part.to_string();
            continue;
        }
        let fields: Vec<&str> = case.split(" | ").collect();
        let [line, to, says] = fields[..] else { panic!("{case}") };
        let to = to.strip_prefix('+').map_or(to.to_string(), |more| from.clone() + more);
        let text = base.replacen(&from, &to, 1);
        let e: FixtureError = Fixture::parse(Path::new(name), &text).expect_err(&to);
        let said = e.to_string();
        assert!(said.starts_with(&format!("{name}:{line}:")) && said.contains(says), "{to}: {said}");
    }
}

#[test]
fn values_that_nothing_can_mean_are_refused_with_their_place() {
    refused(KERNEL, "k.toml", KERNELS);
    refused(FRAGMENT, "k.json", FRAGMENTS);
    refused(PATCHES, "k.toml", OF_PATCHES);
}

#[test]
fn every_mistake_is_said_at_once() {
    let text =
        KERNEL.replace("len = 4", "len = 4\ntolerance = { ulp = -1 }").replace("0 = \"a\"", "0 = \"z\"");
    let e = Fixture::parse(Path::new("k.toml"), &text).expect_err("two mistakes");
    assert_eq!(e.what.list.len(), 2);
    let said = e.to_string();
    assert!(said.contains("no buffer `z`; 13:") && said.contains("-1 is not a distance"), "{said}");
    let shown = e.render(false);
    assert!(shown.contains("k.toml:7:") && shown.contains("k.toml:13:") && shown.contains('^'), "{shown}");
}

#[test]
fn a_fixture_that_was_not_read_from_text_is_looked_at_too() {
    let mut fixture = Fixture::parse(Path::new("k.toml"), KERNEL).expect("a fixture");
    fixture.pointer_bytes = Some(3);
    let e = Loaded::new(Path::new("k.toml"), fixture, b"COMP\n  0: END\n".to_vec()).err().expect("refused");
    assert!(e.to_string().contains("a buffer argument has 4 or 8 bytes, not 3"), "{e}");
}

fn loaded(name: &str, text: &str, source: &str) -> Loaded {
    let fixture = Fixture::parse(Path::new(name), text).unwrap_or_else(|e| panic!("{e}"));
    Loaded::new(Path::new(name), fixture, source.as_bytes().to_vec()).unwrap_or_else(|e| panic!("{e}"))
}

/// How the only test ends: by what kind of failure, and why.
fn ended(loaded: &Loaded, chip: Chip) -> (Option<Failure>, String) {
    let report = loaded.run(chip, None, &Settings::default(), &mut None, |_, _| ()).remove(0);
    let why = match report.outcome {
        Outcome::Failed(why) => why,
        _ => String::new(),
    };
    (report.failure, why)
}

/// `BUFFER[0] = BLOCK_SIZE` of a dimension.
fn block_size(properties: &[(&str, u32)], component: &str) -> String {
    let declared: String =
        properties.iter().map(|(d, n)| format!("PROPERTY CS_FIXED_BLOCK_{d} {n}\n")).collect();
    format!(
        "COMP\n{declared}DCL SV[0], BLOCK_SIZE\nDCL BUFFER[0]\nIMM[0] UINT32 {{0, 0, 0, 0}}\n\
         STORE BUFFER[0].x, IMM[0].xxxx, SV[0].{component}\nEND\n"
    )
}

fn launching(sizes: &str, expect: u32) -> String {
    format!(
        "source = \"k.tgsi\"\n[[tests]]\nname = \"t\"\n{sizes}\nssbo = {{ 0 = \"o\" }}\n[tests.buffers.o]\n\
         type = \"u32\"\nlen = 1\nexpect = [{expect}]\n"
    )
}

fn one(block: [u32; 3]) -> String {
    format!("grid = [1, 1, 1]\nblock = {block:?}")
}

/// The block of a launch is the one that the program declares, in every dimension that it declares: its code is for that.
#[test]
fn a_block_of_another_size_than_declared_is_no_launch() {
    let (w, h, d) = ("WIDTH", "HEIGHT", "DEPTH");
    let whole: &[(&str, u32)] = &[(w, 32), (h, 2), (d, 1)];
    type Case<'a> = (&'a [(&'a str, u32)], [u32; 3], &'a str);
    let cases: [Case<'_>; 9] = [
        (&[(w, 32)], [16, 1, 1], "a block of [16, 1, 1]: the program declares 32 in x"),
        (&[(w, 32)], [64, 1, 1], "declares 32 in x"),
        (&[(w, 32), (h, 0)], [1, 32, 1], "declares 32 in x"),
        (&[(h, 2)], [32, 1, 1], "declares 2 in y"),
        (&[(d, 4)], [32, 1, 1], "declares 4 in z"),
        (whole, [32, 1, 1], "declares 2 in y"),
        (whole, [64, 1, 1], "declares 32 in x"),
        (whole, [32, 2, 2], "declares 1 in z"),
        (whole, [2, 32, 1], "declares 32 in x"),
    ];
    for (declared, block, says) in cases {
        let program = block_size(declared, "xxxx");
        // Not even as a fault.
        for fault in ["", "\nfault = \"illegal_instruction\""] {
            let loaded = loaded("k.toml", &launching(&(one(block) + fault), block[0]), &program);
            for chip in Chip::ALL {
                let (failure, why) = ended(&loaded, chip);
                assert_eq!(failure, Some(Failure::Setup), "{chip} {declared:?} {block:?}: {why}");
                assert!(why.contains(says) && why.contains("k.toml:2: "), "{chip}: {why}");
                let (found, _) = loaded.check(chip, &Settings::default());
                assert!(found.len() == 1 && found[0].message.contains(says), "{chip}: {found:?}");
                assert_eq!(found[0].line, Some(2));
            }
            let said = loaded.interpret(None, 1 << 20, |_, _| ()).remove(0).1;
            assert!(matches!(&said, Outcome::Failed(why) if why.contains(says)), "{said:?}");
        }
    }
}

#[test]
fn a_dimension_that_is_not_declared_is_the_launchs() {
    let (w, h, d) = ("WIDTH", "HEIGHT", "DEPTH");
    type Case<'a> = (&'a [(&'a str, u32)], [u32; 3], &'a str, u32);
    let cases: [Case<'_>; 7] = [
        (&[(w, 32)], [32, 2, 3], "yyyy", 2),
        (&[(w, 32)], [32, 2, 3], "xxxx", 32),
        (&[(w, 32), (h, 0), (d, 0)], [32, 2, 3], "zzzz", 3),
        (&[(h, 2)], [7, 2, 3], "xxxx", 7),
        (&[(w, 0), (h, 0), (d, 0)], [5, 7, 1], "yyyy", 7),
        (&[], [5, 7, 1], "xxxx", 5),
        (&[(w, 5), (h, 7), (d, 1)], [5, 7, 1], "yyyy", 7),
    ];
    for (declared, block, component, value) in cases {
        let loaded = loaded("k.toml", &launching(&one(block), value), &block_size(declared, component));
        for chip in Chip::ALL {
            assert_eq!(ended(&loaded, chip), (None, String::new()), "{chip} {declared:?}");
            assert_eq!(loaded.check(chip, &Settings::default()).0, [], "{chip}");
        }
        let said = loaded.interpret(None, 1 << 20, |_, _| ()).remove(0).1;
        assert_eq!(said, Outcome::Passed, "{declared:?}");
    }
}

#[test]
fn each_of_several_launches_has_its_own_block() {
    let program = block_size(&[("WIDTH", 32)], "xxxx");
    let launches = |second: u32| {
        format!(
            "launches = [{{ grid = [1, 1, 1], block = [32, 1, 1] }}, {{ grid = [1, 1, 1], block = [{second}, 1, 1] }}]"
        )
    };
    assert_eq!(ended(&loaded("k.toml", &launching(&launches(32), 32), &program), Chip::Gk110).0, None);
    let (failure, why) = ended(&loaded("k.toml", &launching(&launches(33), 32), &program), Chip::Gk110);
    assert_eq!(failure, Some(Failure::Setup));
    assert!(why.contains("launch 2: a block of [33, 1, 1]"), "{why}");
}

#[test]
fn whole_warps_are_of_the_declared_block_too() {
    let program = block_size(&[("WIDTH", 5)], "yyyy")
        .replace("STORE", "IF_ASKED\nSTORE")
        .replace("END\n", "ENDIF\nEND\n");
    let right = loaded("k.toml", &launching(&one([5, 7, 1]), 7), &program);
    let wrong = loaded("k.toml", &launching(&one([6, 7, 1]), 7), &program);
    for chip in Chip::ALL {
        assert_eq!(ended(&right, chip), (None, String::new()), "{chip}");
        let (failure, why) = ended(&wrong, chip);
        assert!(failure == Some(Failure::Setup) && why.contains("declares 5 in x"), "{why}");
    }
}

const PIXELS: &str = "FRAG\nPROPERTY FS_COLOR0_WRITES_ALL_CBUFS 1\nDCL IN[0], GENERIC[0], PERSPECTIVE\nDCL OUT[0], COLOR\n\
                      MOV OUT[0], IN[0]\nEND\n";

#[test]
fn a_varying_with_a_float_is_of_floats_alone() {
    let expect = "\"COLOR[0]\": [[[0.625, 3.0], [0.875, 3.0], [0.625, 3.0], [0.875, 3.0]]]";
    let text = FRAGMENT
        .replace("[[0.0], [1.0], [0.0]]", "[[0, 3], [2.0, 3], [0, 3]]")
        .replace("\"COLOR[0]\": [[null, null, null, null]]", expect);
    for chip in Chip::ALL {
        assert_eq!(ended(&loaded("k.json", &text, PIXELS), chip), (None, String::new()), "{chip}");
        let other = text.replace("[0.625, 3.0]", "[0.625, 0.0]");
        assert_eq!(ended(&loaded("k.json", &other, PIXELS), chip).0, Some(Failure::Values), "{chip}");
    }
}

/// What the program reads and the test does not give is the test's mistake, whatever value it would be.
#[test]
fn inputs_that_are_missing_are_said() {
    let right = loaded("k.json", FRAGMENT, PIXELS);
    let without = FRAGMENT.replace(",\n \"varyings\": {\"GENERIC[0]\": [[0.0], [1.0], [0.0]]}", "");
    let other = FRAGMENT.replace("GENERIC[0]", "GENERIC[1]");
    for chip in Chip::ALL {
        assert_eq!(ended(&right, chip), (None, String::new()), "{chip}");
        for text in [&without, &other] {
            let (failure, why) = ended(&loaded("k.json", text, PIXELS), chip);
            assert_eq!(failure, Some(Failure::Setup), "{why}");
            assert!(why.contains("reads GENERIC[0], which `varyings` does not give"), "{why}");
        }
    }
    let vertices = "VERT\nDCL IN[0]\nDCL IN[1]\nDCL OUT[0], POSITION\nADD OUT[0], IN[0], IN[1]\nEND\n";
    let text = "{\"source\": \"k.tgsi\", \"tests\": [{\"name\": \"t\", \"vertices\": {\"count\": 1, \
                \"inputs\": {\"IN[0]\": [[1.0]]}}, \"expect\": {\"POSITION\": [[1.0]]}}]}";
    let (failure, why) = ended(&loaded("k.json", text, vertices), Chip::Gk104);
    assert_eq!(failure, Some(Failure::Setup));
    assert!(why.contains("reads IN[1], which `inputs` does not give"), "{why}");
}

/// A name that is no output, or a list of another length, is found without running anything.
#[test]
fn what_cannot_be_compared_is_said_by_a_check() {
    for (from, to, says) in [
        ("\"COLOR[0]\"", "\"COLOUR\"", "no semantic `COLOUR`"),
        ("\"COLOR[0]\"", "\"GENERIC[0]\"", "is not a result of a fragment shader"),
        ("[[0, 0, 0, 0]]", "[[0, 0, 0, 0], [0, 0, 0, 0]]", "KILLED has 2 values for 1"),
        ("[[0, 0, 0, 0]]", "[[0, 0, 0]]", "KILLED has 3 values for 4"),
        ("[[0, 0, 0, 0]]", "[null]", "nothing is compared"),
    ] {
        let text =
            FRAGMENT.replacen(from, to, 1).replace("[null, null, null, null]", "[null, null, null, [1.0]]");
        let text = if to == "[null]" { FRAGMENT.replacen(from, to, 1) } else { text };
        let (found, _) = loaded("k.json", &text, PIXELS).check(Chip::Gk110, &Settings::default());
        assert!(found.len() == 1 && found[0].message.contains(says), "{to}: {found:?}");
    }
    let (found, _) = loaded("k.json", FRAGMENT, PIXELS).check(Chip::Gk110, &Settings::default());
    assert_eq!(found, []);
}

#[test]
fn bytes_that_end_inside_an_element_are_refused() {
    for key in ["init", "expect"] {
        let text =
            launching(&one([1, 1, 1]), 1).replace("expect = [1]", &format!("{key} = {{ hex = \"0011\" }}"));
        let (found, _) =
            loaded("k.toml", &text, &block_size(&[], "xxxx")).check(Chip::Gk110, &Settings::default());
        assert!(
            found.len() == 1 && found[0].message.contains("2 bytes: not a multiple of an element's 4"),
            "{found:?}"
        );
    }
}

#[test]
fn what_a_block_declares_is_in_the_result() {
    use nvir::{Compiler, Source};
    for (declared, says) in [
        (&[("WIDTH", 32)][..], Some([32, 0, 0])),
        (&[("HEIGHT", 3), ("DEPTH", 2)], Some([0, 3, 2])),
        (&[("WIDTH", 8), ("HEIGHT", 3), ("DEPTH", 2)], Some([8, 3, 2])),
        (&[("WIDTH", 0)], None),
        (&[], None),
    ] {
        let text = block_size(declared, "xxxx");
        for chip in Chip::ALL {
            let compiler = Compiler::new(chip);
            let shader = compiler.compile(&Source::tgsi(&text)).expect("it compiles");
            assert_eq!(shader.block_size, says, "{chip}");
            // Its listing says the same.
            let program = compiler.front(&Source::tgsi(&text)).expect("it compiles");
            let listing = program.to_string();
            let again = nvir::ir::parse::program(&listing).expect("its own listing");
            assert_eq!((again.block_size, again.to_string()), (says, listing), "{chip}");
        }
    }
    // What the caller says of blocks fills in what the program leaves open, and nothing else.
    let options = nvir::Options { block_size: Some([8, 4, 1]), ..Default::default() };
    let compiler = Compiler::new(Chip::Gk110).with_options(options);
    let shader = compiler.compile(&Source::tgsi(&block_size(&[("WIDTH", 32)], "xxxx"))).expect("it compiles");
    assert_eq!(shader.block_size, Some([32, 4, 1]));
}
