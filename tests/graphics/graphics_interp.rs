//! The reference interpreter in graphics stages: small programs whose values are worked out here, and, where the corpus is,
//! programs whose values rasterisers gave.
//!
//! `NVIR_CORPUS` names the folder with `gfx`, else `../shared/corpus`.

use nvir_fixture::format::Item;
use nvir_fixture::stage::format::Tree;
use nvir_fixture::{Fixture, Outcome, run::Loaded};
use std::path::{Path, PathBuf};

fn outcomes(loaded: &Loaded) -> Vec<Outcome> {
    loaded.interpret(None, 1 << 20, |_, _| ()).into_iter().map(|(_, outcome)| outcome).collect()
}

/// Interprets a program on one test; why it fails, if it does.
fn interpreted(text: &str, test: &str) -> Result<(), String> {
    let json = format!("{{\"source\":\"case.tgsi\",\"tests\":[{{\"name\":\"case\",{test}}}]}}");
    let fixture = Fixture::parse(Path::new("case.json"), &json).expect("a fixture");
    let loaded = Loaded::new(Path::new("case.json"), fixture, text.into()).expect("nothing is missing");
    match outcomes(&loaded).remove(0) {
        Outcome::Passed => Ok(()),
        Outcome::Failed(why) => Err(why),
        Outcome::Skipped(why) => panic!("skipped: {why}"),
    }
}

fn pass(text: &str, test: &str) {
    interpreted(text, test).unwrap_or_else(|why| panic!("{text}{why}"));
}

/// A rasteriser divided 0 by 0 in a linear input of `fs-interpolate-at`, which no program makes NaN.
fn forgive(tree: &mut Tree) {
    match tree {
        Tree::Item(Item::Text(text)) if text == "nan" => *tree = Tree::Nothing,
        Tree::List(list) => list.iter_mut().for_each(forgive),
        Tree::Table(table) => table.values_mut().for_each(forgive),
        _ => {}
    }
}

#[test]
fn rasterisers_and_the_interpreter_agree() {
    let folder = std::env::var_os("NVIR_CORPUS").map(PathBuf::from);
    let folder =
        folder.unwrap_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/corpus")));
    let folder = folder.join("gfx");
    if !folder.is_dir() {
        eprintln!("SKIPPED: no corpus with gfx: NVIR_CORPUS names its folder");
        return;
    }
    let mut files = Vec::new();
    nvir::input::walk(&folder, &|f| f.to_string_lossy().ends_with(".tgsi.json"), &mut files)
        .expect("readable");
    assert!(files.len() >= 24, "{} fixtures", files.len());
    let mut wrong = String::new();
    for file in files {
        let mut loaded = Loaded::read(&file).unwrap_or_else(|e| panic!("{e}"));
        for expect in loaded.fixture.tests.iter_mut().filter_map(|t| t.expect.as_mut()) {
            forgive(expect);
        }
        for outcome in outcomes(&loaded) {
            if outcome != Outcome::Passed {
                wrong += &format!("{}: {outcome:?}\n", file.display());
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

const VERTEX: &str = "VERT
DCL IN[0]
DCL SV[0], VERTEXID
DCL SV[1], BASEVERTEX
DCL SV[2], DRAWID
DCL SV[3], VERTEXID_NOBASE
DCL OUT[0], POSITION
DCL OUT[1].xy, GENERIC[3]
DCL TEMP[0]
  0: MUL OUT[0], IN[0], IN[0].yyyy
  1: UADD TEMP[0].x, SV[0].xxxx, SV[1].xxxx
  2: MOV OUT[1].x, TEMP[0].xxxx
  3: UADD OUT[1].y, SV[2].xxxx, SV[3].xxxx
  4: END
";

#[test]
fn vertices_get_their_inputs_and_numbers() {
    let inputs = r#""vertices":{"count":2,"inputs":{"IN[0]":[[1.0,2.0,3.0,4.0],[0.5,-1.0,0.0,1.0]]},
        "system":{"VERTEXID":[10,11],"BASEVERTEX":[4,4],"DRAWID":[7,7]}}"#;
    let good =
        r#""expect":{"POSITION":[[2.0,4.0,6.0,8.0],[-0.5,1.0,0.0,-1.0]],"GENERIC[3]":[[14,13],[15,14]]}"#;
    pass(VERTEX, &format!("{inputs},{good}"));
    let bad = r#""expect":{"GENERIC[3]":[[14,13],[15,15]]}"#;
    let why = interpreted(VERTEX, &format!("{inputs},{bad}")).expect_err("it differs");
    assert!(why.contains("GENERIC[3], vertex 1, y is 14"), "{why}");
    let other = VERTEX.replace("VERT\n", "GEOM\n");
    let why = interpreted(&other, &format!("{inputs},{good}")).expect_err("it is another stage");
    assert!(why.contains("another stage"), "{why}");
}

#[test]
fn invocations_of_a_patch_see_each_other_across_a_barrier() {
    let text = "TESS_CTRL
PROPERTY TCS_VERTICES_OUT 3
DCL IN[][0], GENERIC[0]
DCL SV[0], INVOCATIONID
DCL SV[1], VERTICESIN
DCL OUT[][0], GENERIC[1]
DCL OUT[1], TESSOUTER
DCL OUT[2], PATCH[0]
DCL ADDR[0..1]
DCL TEMP[0]
IMM[0] UINT32 {1, 3, 0, 0}
  0: UARL ADDR[0].x, SV[0].xxxx
  1: MOV OUT[ADDR[0].x][0], IN[ADDR[0].x][0]
  2: BARRIER
  3: UADD TEMP[0].x, SV[0].xxxx, IMM[0].xxxx
  4: UMOD TEMP[0].x, TEMP[0].xxxx, IMM[0].yyyy
  5: UARL ADDR[1].x, TEMP[0].xxxx
  6: MOV TEMP[0].x, OUT[ADDR[1].x][0].xxxx
  7: BARRIER
  8: MOV OUT[ADDR[0].x][0].y, TEMP[0].xxxx
  9: MOV OUT[1].x, IN[0][0].xxxx
 10: UADD OUT[2].x, SV[1].xxxx, IMM[0].xxxx
 11: MOV OUT[2].y, OUT[1].xxxx
 12: END
";
    pass(
        text,
        r#""patches":{"count":2,"vertices_in":3,"vertices_out":3,
            "inputs":{"GENERIC[0]":[[[1,9],[2,9],[3,9]],[[4,9],[5,9],[6,9]]]}},
        "expect":{"vertex":{"GENERIC[1]":[[[1,2],[2,3],[3,1]],[[4,5],[5,6],[6,4]]]},
            "patch":{"TESSOUTER":[[1],[4]],"PATCH[0]":[[4,1],[4,4]]}}"#,
    );
}

#[test]
fn points_of_a_patch_know_where_they_lie() {
    let text = "TESS_EVAL
PROPERTY TES_PRIM_MODE 4
DCL IN[][0], GENERIC[0]
DCL IN[1], PATCH[0]
DCL SV[0], TESSCOORD
DCL SV[1], TESSINNER
DCL OUT[0], GENERIC[0]
DCL OUT[1], GENERIC[1]
  0: MUL OUT[0], SV[0].xyzz, IN[1].xxxx
  1: MOV OUT[1].x, IN[1][0].yyyy
  2: MOV OUT[1].y, SV[1].xxxx
  3: END
";
    pass(
        text,
        r#""patches":{"count":2,"vertices_in":2,"inputs":{"GENERIC[0]":[[[1,2],[3,4]],[[5,6],[7,8]]]},
            "patch_inputs":{"PATCH[0]":[[1.0],[2.0]],"TESSINNER":[[3],[4]]},
            "invocations":{"patch":[1,0],"TESSCOORD":[[0.25,0.5,0.25],[0.5,0.5,0.0]]}},
        "expect":{"GENERIC[0]":[[0.5,1.0,0.5],[0.5,0.5,0.0]],"GENERIC[1]":[[8,4],[4,3]]}"#,
    );
}

#[test]
fn primitives_emit_vertices_and_end_strips() {
    let text = "GEOM
PROPERTY GS_INPUT_PRIMITIVE LINES
PROPERTY GS_OUTPUT_PRIMITIVE LINE_STRIP
PROPERTY GS_MAX_OUTPUT_VERTICES 3
PROPERTY GS_INVOCATIONS 2
DCL IN[][0], GENERIC[0]
DCL SV[0], INVOCATIONID
DCL OUT[0], GENERIC[0]
IMM[0] UINT32 {0, 10, 0, 0}
  0: UADD OUT[0].x, IN[0][0].xxxx, SV[0].xxxx
  1: EMIT IMM[0].xxxx
  2: UADD OUT[0].x, IN[1][0].xxxx, IMM[0].yyyy
  3: EMIT IMM[0].xxxx
  4: ENDPRIM IMM[0].xxxx
  5: MOV OUT[0].x, IMM[0].yyyy
  6: EMIT IMM[0].xxxx
  7: EMIT IMM[0].xxxx
  8: END
";
    let vertex = |n: u32| format!(r#"{{"GENERIC[0]":[{n}]}}"#);
    let invocation = |a, b| format!(r#"{},{},"cut",{},"cut""#, vertex(a), vertex(b), vertex(10));
    pass(
        text,
        &format!(
            r#""primitives":{{"count":2,"vertices_in":2,"invocations":2,"inputs":{{"GENERIC[0]":[[[1],[2]],[[3],[4]]]}}}},
            "expect":{{"streams":{{"0":[{},{},{},{}]}}}}"#,
            invocation(1, 12),
            invocation(2, 12),
            invocation(3, 14),
            invocation(4, 14)
        ),
    );
}

const TRIANGLE: &str = r#""triangle":{"window":[[0.0,0.0,0.5,1.0],[4.0,0.0,0.5,0.5],[0.0,4.0,0.5,1.0]],"front":false,
    "flat_vertex":1,"primitive_id":5,
    "varyings":{"GENERIC[0]":[[0.0],[4.0],[0.0]],"GENERIC[1]":[[8],[9],[10]],"COLOR[0]":[[1.0],[2.0],[3.0]]}}"#;

#[test]
fn inputs_lie_between_the_corners_of_the_triangle() {
    let text = "FRAG
DCL IN[0], GENERIC[0], PERSPECTIVE
DCL IN[1], GENERIC[0], LINEAR
DCL IN[2], GENERIC[1], CONSTANT
DCL IN[3], POSITION, LINEAR
DCL IN[4], FACE, CONSTANT
DCL IN[5], COLOR, COLOR
DCL SV[0], FACE
DCL SV[1], PRIM_ID
DCL OUT[0], COLOR
DCL OUT[1], COLOR[1]
DCL OUT[2], COLOR[2]
DCL OUT[3], POSITION
  0: MOV OUT[0].x, IN[0].xxxx
  1: MOV OUT[0].y, IN[1].xxxx
  2: MOV OUT[0].z, IN[2].xxxx
  3: MOV OUT[0].w, IN[4].xxxx
  4: MOV OUT[1], IN[3]
  5: MOV OUT[2].x, SV[0].xxxx
  6: MOV OUT[2].y, SV[1].xxxx
  7: MOV OUT[2].z, IN[5].xxxx
  8: MOV OUT[3].z, -IN[3].xxxx
  9: END
";
    // At (1.5, 0.5) the weights are 0.5, 0.375 and 0.125; 1/w is 0.8125.
    let at = |flat: &str, color: f32| {
        format!(
            r#"{TRIANGLE},"quads":[{{"at":[0,0],"cover":[1,1,0,1]}}],"tolerance":{{"abs":1e-6}},"flat_shade":{flat},
        "expect":{{"COLOR[0]":[[null,[{},1.5,9,-1.0],null,null]],"COLOR[1]":[[null,[1.5,0.5,0.5,0.8125],null,null]],
        "COLOR[2]":[[null,[0,5,{color:?}],null,null]],"DEPTH":[[null,0.0,null,null]],"KILLED":[[0,0,null,0]]}}"#,
            4.0 * 0.375 * 0.5 / 0.8125
        )
    };
    let smooth = (0.5 + 2.0 * 0.375 * 0.5 + 3.0 * 0.125) / 0.8125;
    pass(text, &at("false", smooth));
    pass(text, &at("true", 2.0));
}

#[test]
fn discarded_pixels_go_on_for_their_neighbours() {
    let text = "FRAG
DCL IN[0], POSITION, LINEAR
DCL IN[1], GENERIC[0], LINEAR
DCL OUT[0], COLOR
DCL OUT[1], COLOR[1]
DCL BUFFER[0]
DCL TEMP[0..1]
IMM[0] FLT32 {1.0, 0.0, 0.25, -0.125}
IMM[1] UINT32 {0, 4, 1, 0}
  0: ADD TEMP[0].x, IN[0].xxxx, -IMM[0].xxxx
  1: KILL_IF TEMP[0].xxxx
  2: MUL TEMP[0], IN[0].xyyy, IN[0].xyyy
  3: DDX OUT[0].x, TEMP[0].xxxx
  4: DDY OUT[0].y, TEMP[0].yyyy
  5: READ_HELPER TEMP[1].x
  6: DDX TEMP[1].y, IN[0].xxxx
  7: MOV OUT[0].z, TEMP[1].yyyy
  8: ATOMUADD TEMP[1].z, BUFFER[0], IMM[1].xxxx, IMM[1].zzzz
  9: STORE BUFFER[0].x, IMM[1].yyyy, IMM[1].zzzz
 10: MOV OUT[0].w, TEMP[1].xxxx
 11: INTERP_OFFSET OUT[1].x, IN[1], IMM[0].zwww
 12: INTERP_CENTROID OUT[1].y, IN[1].xxxx
 13: END
";
    // The left pixels are discarded; of the right ones, the upper one is not covered. Squares of 0.5 and 1.5 differ by 2.
    pass(
        text,
        &format!(
            r#"{TRIANGLE},"quads":[{{"at":[0,0],"cover":[1,1,1,0]}}],
        "buffers":{{"b":{{"type":"u32","len":2,"init":[0,0],"expect":[1,1]}}}},"ssbo":{{"0":"b"}},
        "expect":{{"KILLED":[[1,0,1,null]],"COLOR[0]":[[null,[2.0,2.0,1.0,0],null,null]],
        "COLOR[1]":[[null,[1.75,1.5],null,null]]}}"#
        ),
    );
}

#[test]
fn the_quad_gives_lookups_their_level_of_detail() {
    let text = "FRAG
DCL IN[0], GENERIC[0], LINEAR
DCL OUT[0], COLOR
DCL OUT[1], COLOR[1]
DCL OUT[2], COLOR[2]
DCL SAMP[0]
DCL SVIEW[0], 2D, FLOAT
IMM[0] FLT32 {0.0, 0.0, 0.0, -1.0}
DCL TEMP[0]
  0: MOV TEMP[0], IMM[0].xxxx
  1: MOV TEMP[0].x, IN[0].xxxx
  2: TEX OUT[0], TEMP[0], SAMP[0], 2D
  3: MOV TEMP[0].w, IMM[0].wwww
  4: TXB OUT[1], TEMP[0], SAMP[0], 2D
  5: LODQ OUT[2].xy, TEMP[0], SAMP[0], 2D
  6: END
";
    // Four texels wide, and a quarter of the texture from pixel to pixel of the linear input: level 0; half of it: level 1.
    for (scale, plain, biased, lod) in [(1.0, 1.0, 1.0, 0.0), (2.0, 0.5, 1.0, 1.0), (4.0, 0.25, 0.5, 2.0)] {
        let triangle = TRIANGLE.replace("[4.0],[0.0]]", &format!("[{scale:?}],[0.0]]"));
        let texels = [1.0f32; 16].iter().chain(&[0.5; 4]).chain(&[0.25]);
        let texels: String = texels.map(|v| format!("{:08x}", v.to_bits().swap_bytes())).collect();
        let test = format!(
            r#"{triangle},"quads":[{{"at":[0,0],"cover":[1,1,1,1]}}],
            "images":{{"t":{{"type":"2d","format":"r32f","size":[4,4,1],"levels":3,"init":{{"hex":"{texels}"}}}}}},
            "textures":{{"0":{{"image":"t","min":"nearest","mag":"nearest","mip":"nearest"}}}},
            "expect":{{"COLOR[0]":[[[{plain:?}],[{plain:?}],[{plain:?}],[{plain:?}]]],
            "COLOR[1]":[[[{biased:?}],[{biased:?}],null,null]],"COLOR[2]":[[[{lod:?},{lod:?}],null,null,null]]}}"#
        );
        pass(text, &test);
    }
}
