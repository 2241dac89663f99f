//! What the driver sends to the card: a recording of it replays, and says what Mesa's nvc0 says for the same work, but for
//! what is listed here with its reason.

mod common;

use nvir::Chip;
use nvir_driver::{
    ColorTarget, Context, Draw, Launch, Pass, PipelineDesc, Raster, VertexArray, VertexAttribute,
    VertexFormat, VirtualDevice,
};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::{Arc, Mutex};

/// Three buffers of 1 KiB and 256 threads that add two of them, as `traces/clients/glcs.c add` does it.
const ADD: &str = "COMP
PROPERTY CS_FIXED_BLOCK_WIDTH 64
PROPERTY CS_FIXED_BLOCK_HEIGHT 1
PROPERTY CS_FIXED_BLOCK_DEPTH 1
DCL SV[0], THREAD_ID
DCL SV[1], BLOCK_ID
DCL BUFFER[0]
DCL BUFFER[1]
DCL BUFFER[2]
DCL TEMP[0..2]
IMM[0] UINT32 {2, 64, 0, 0}
  0: UMAD TEMP[0].x, SV[1].xxxx, IMM[0].yyyy, SV[0].xxxx
  1: SHL TEMP[0].x, TEMP[0].xxxx, IMM[0].xxxx
  2: LOAD TEMP[1].x, BUFFER[0], TEMP[0].xxxx
  3: LOAD TEMP[2].x, BUFFER[1], TEMP[0].xxxx
  4: UADD TEMP[1].x, TEMP[1].xxxx, TEMP[2].xxxx
  5: STORE BUFFER[2].x, TEMP[0].xxxx, TEMP[1].xxxx
  6: END
";

/// What Mesa 22.3.6 writes of compute, upload and copy classes from the screen's creation to the results of `add`, with the
/// value if it is neither an address nor data nor a size of the work: measured on a virtual GPU.
const MESA: [(Chip, &str); 3] = [
    (
        Chip::Gf100,
        "OBJECT MP_LIMIT=10 CALL_LIMIT_LOG=f UNK02A0=8000 UNK02C4=1 GLOBAL_BASE TEMP_ADDRESS_HIGH TEMP_ADDRESS_LOW
         TEMP_SIZE_HIGH=0 TEMP_SIZE_LOW=3080000 WARP_TEMP_ALLOC=0 LOCAL_BASE=ff000000 CACHE_SPLIT=3 SHARED_BASE=fe000000
         SHARED_SIZE=0 CODE_ADDRESS_HIGH CODE_ADDRESS_LOW TIC_ADDRESS_HIGH TIC_ADDRESS_LOW TIC_LIMIT=7ff TSC_ADDRESS_HIGH
         TSC_ADDRESS_LOW TSC_LIMIT=7ff CB_SIZE CB_ADDRESS_HIGH CB_ADDRESS_LOW CB_POS CB_DATA(0) OFFSET_OUT_HIGH
         OFFSET_OUT_LOW LINE_LENGTH_IN LINE_COUNT=1 EXEC=100110 DATA OFFSET_IN_HIGH OFFSET_IN_LOW FLUSH=110 CB_BIND=f01
         BIND_TSC CP_START_ID LOCAL_POS_ALLOC=0 LOCAL_NEG_ALLOC=0 WARP_CSTACK_SIZE=800 THREADS_ALLOC=40 BARRIER_ALLOC=0
         CP_GPR_ALLOC GRIDID=1 UNK036C=0 BLOCKDIM_YX=10040 BLOCKDIM_Z=1 GRIDDIM_YX=10004 GRIDDIM_Z=1 COMPUTE_BEGIN=0
         UNK0A08=0 LAUNCH=1000 COMPUTE_END=0 UNK0360=1 IMAGE_ADDRESS_HIGH(0)=0 IMAGE_ADDRESS_LOW(0)=0 IMAGE_WIDTH(0)=0
         IMAGE_HEIGHT(0)=0 IMAGE_FORMAT(0)=14000 IMAGE_TILE_MODE(0)=0",
    ),
    (
        Chip::Gk104,
        "OBJECT TEMP_ADDRESS_HIGH TEMP_ADDRESS_LOW MP_TEMP_SIZE(0)=0 MP_TEMP_SIZE_LOW(0)=408000 MP_TEMP_SIZE_MASK(0)=ff
         MP_TEMP_SIZE(1)=0 MP_TEMP_SIZE_LOW(1)=408000 MP_TEMP_SIZE_MASK(1)=ff LOCAL_BASE=ff000000 SHARED_BASE=fe000000
         CODE_ADDRESS_HIGH CODE_ADDRESS_LOW UNK0310=300 TIC_ADDRESS_HIGH TIC_ADDRESS_LOW TIC_LIMIT=7ff TSC_ADDRESS_HIGH
         TSC_ADDRESS_LOW TSC_LIMIT=7ff TEX_CB_INDEX=7 UPLOAD_DST_ADDRESS_HIGH UPLOAD_DST_ADDRESS_LOW
         UPLOAD_LINE_LENGTH_IN UPLOAD_LINE_COUNT=1 UPLOAD_EXEC UPLOAD_DATA FLUSH LAUNCH_DESC_ADDRESS LAUNCH=3 SERIALIZE=0
         SRC_ADDRESS_HIGH SRC_ADDRESS_LOW DST_ADDRESS_HIGH DST_ADDRESS_LOW X_COUNT EXEC=186",
    ),
    (
        Chip::Gk110,
        "OBJECT TEMP_ADDRESS_HIGH TEMP_ADDRESS_LOW MP_TEMP_SIZE(0)=0 MP_TEMP_SIZE_LOW(0)=408000 MP_TEMP_SIZE_MASK(0)=ff
         MP_TEMP_SIZE(1)=0 MP_TEMP_SIZE_LOW(1)=408000 MP_TEMP_SIZE_MASK(1)=ff LOCAL_BASE=ff000000 SHARED_BASE=fe000000
         CODE_ADDRESS_HIGH CODE_ADDRESS_LOW UNK0310=400 TIC_ADDRESS_HIGH TIC_ADDRESS_LOW TIC_LIMIT=7ff TSC_ADDRESS_HIGH
         TSC_ADDRESS_LOW TSC_LIMIT=7ff UNK0248 SERIALIZE=0 TEX_CB_INDEX=7 UPLOAD_DST_ADDRESS_HIGH UPLOAD_DST_ADDRESS_LOW
         UPLOAD_LINE_LENGTH_IN UPLOAD_LINE_COUNT=1 UPLOAD_EXEC UPLOAD_DATA FLUSH LAUNCH_DESC_ADDRESS LAUNCH=3
         SRC_ADDRESS_HIGH SRC_ADDRESS_LOW DST_ADDRESS_HIGH DST_ADDRESS_LOW X_COUNT EXEC=186",
    ),
];

/// What we write and Mesa does not, and the other way, each with its reason.
const OURS_ALONE: [(&str, &str); 6] = [
    (
        "QUERY_ADDRESS_HIGH",
        "fences are the compute class's: this driver has no use for a 3D class, which Mesa's fences are",
    ),
    ("QUERY_ADDRESS_LOW", "as QUERY_ADDRESS_HIGH"),
    ("QUERY_SEQUENCE", "as QUERY_ADDRESS_HIGH"),
    ("QUERY_GET", "as QUERY_ADDRESS_HIGH"),
    ("SERIALIZE", "on GF100, too: the next command may change constants that the launch reads"),
    (
        "IMAGE_",
        "Mesa resets the eight slots after a launch, this driver sets them before one: both leave them empty",
    ),
];
const MESAS_ALONE: [(&str, &str); 4] = [
    (
        "CB_POS",
        "constants are written as all memory is, in order with launches; Mesa updates parts of a bound bank",
    ),
    ("CB_DATA(0)", "as CB_POS"),
    (
        "BIND_TSC",
        "Mesa binds sampler 0 of its own for texel fetches; a kernel without textures has none here",
    ),
    ("IMAGE_", "as above"),
];

struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(|e| e.into_inner()).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The log and the recording of what `work` does.
fn logged(chip: Chip, work: impl FnOnce(&mut Context)) -> (String, Vec<u8>) {
    let (log, trace) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(Vec::new())));
    let mut config = nvir_vgpu::Config::new(chip);
    config.log = Some(Box::new(Shared(log.clone())));
    config.trace = Some(Box::new(Shared(trace.clone())));
    let mut c = Context::new(VirtualDevice::with_config(config)).expect("a channel");
    work(&mut c);
    drop(c);
    let take = |all: Arc<Mutex<Vec<u8>>>| all.lock().unwrap_or_else(|e| e.into_inner()).clone();
    (String::from_utf8(take(log)).expect("text"), take(trace))
}

/// Runs `add`; the log and the recording.
fn run(chip: Chip) -> (String, Vec<u8>) {
    logged(chip, |c| add(c, chip))
}

fn add(c: &mut Context, chip: Chip) {
    let kernel = c.kernel(&common::compile(chip, ADD)).expect("code");
    let buffers: Vec<_> = (0..3).map(|n| (n, c.buffer(1024).expect("memory").whole())).collect();
    c.write(&buffers[0].1, &common::words((0..256).map(|i| 3 * i + 1))).expect("it fits");
    c.write(&buffers[1].1, &common::words((0..256).map(|i| 1000 - i))).expect("it fits");
    let out = buffers[2].1.clone();
    c.launch(&Launch { buffers, ..Launch::new(&kernel, [4, 1, 1], [64, 1, 1]) }).expect("queued");
    assert_eq!(c.read(&out).expect("done"), common::words((0..256).map(|i| 2 * i + 1001)), "{chip}");
}

/// The methods of a log, by name, with the values of those that are written one at a time.
fn methods(log: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in log.lines().filter(|l| l.starts_with("  ")) {
        let mut fields = line.split_whitespace();
        let Some(name) = fields.nth(3) else { panic!("{line}") };
        let value = fields.nth(1).unwrap_or("").trim_start_matches('0');
        all.entry(name.into()).or_default().insert(if value.is_empty() { "0".into() } else { value.into() });
    }
    all
}

#[test]
fn our_stream_says_what_mesas_says_but_for_a_list_of_reasons() {
    let excused = |list: &[(&str, &str)], name: &str| {
        list.iter().any(|(n, _)| name == *n || n.ends_with('_') && name.starts_with(n))
    };
    for (chip, mesa) in MESA {
        let ours = methods(&run(chip).0);
        let mesa: BTreeMap<&str, Option<&str>> = mesa
            .split_whitespace()
            .map(|m| m.split_once('=').map_or((m, None), |(n, v)| (n, Some(v))))
            .collect();
        let mut wrong = Vec::new();
        for (name, values) in &ours {
            match mesa.get(name.as_str()) {
                Some(Some(value)) if !values.contains(*value) => {
                    wrong.push(format!("{name} is never {value}: {values:?}"));
                }
                Some(_) => {}
                None if excused(&OURS_ALONE, name) => {}
                None => wrong.push(format!("only we write {name}")),
            }
        }
        let missing = mesa.keys().filter(|n| !ours.contains_key(**n) && !excused(&MESAS_ALONE, n));
        wrong.extend(missing.map(|n| format!("we do not write {n}")));
        assert!(wrong.is_empty(), "{chip}:\n{}", wrong.join("\n"));
    }
}

#[test]
fn a_recording_of_our_driver_replays_byte_for_byte() {
    for chip in Chip::ALL {
        let (_, trace) = run(chip);
        let options = nvir_vgpu::replay::Options::default();
        let report = nvir_vgpu::replay::replay(&trace[..], options, &mut |_| ());
        let report = report.unwrap_or_else(|e| panic!("{chip}: {e}"));
        assert!(report.passed() && report.submissions >= 2 && report.compared > 1024, "{chip}: {report:?}");
    }
}

/// The registers of the 3D class, once for every family, as Mesa 22.3.6 has them at the draw of `scenes/triangle.toml` in OpenGL
/// (the same on three chips): measured on a virtual GPU.
const MESA_DRAW: &str = "
    COND_MODE=1 WATCHDOG_TIMER=17 ZETA_COMP_ENABLE=0 RT_COMP_ENABLE(0)=0 RT_CONTROL=fac6881 CSAA_ENABLE=0
    MULTISAMPLE_ENABLE=0 MULTISAMPLE_MODE=0 MULTISAMPLE_CTRL=0 LINE_WIDTH_SEPARATE=1 BLEND_SEPARATE_ALPHA=1
    BLEND_ENABLE_COMMON=0 SHADE_MODEL=1d01 CALL_LIMIT_LOG=8 ZCULL_STATCTRS_ENABLE=1 ATTRIBUTE_DEFAULT=e
    VERTEX_ID_GEN_MODE=1000 PS_OUTPUT_SAMPLE_MASK_USAGE=3 BLEND_FLOAT_OPTION=1 CB_SIZE=10000 WARP_TEMP_ALLOC=0
    LOCAL_BASE=ff000000 VERTEX_QUARANTINE_SIZE=3 TIC_LIMIT=7ff TSC_LIMIT=7ff SCREEN_Y_CONTROL=0
    WINDOW_OFFSET_X=0 WINDOW_OFFSET_Y=0 ZCULL_REGION=3f CLIP_RECTS_MODE=0 CLIP_RECT_HORIZ(0)=0
    CLIP_RECT_VERT(0)=0 CLIP_RECTS_EN=0 CLIPID_ENABLE=0 CLEAR_FLAGS=0 VIEWPORT_TRANSFORM_EN=1
    DEPTH_RANGE_NEAR(0)=0 DEPTH_RANGE_FAR(0)=3f800000 VIEW_VOLUME_CLIP_CTRL=2 SCISSOR_ENABLE(0)=1
    SCISSOR_HORIZ(0)=40000000 SCISSOR_VERT(0)=40000000 RASTERIZE_ENABLE=1 RT_SEPARATE_FRAG_DATA=1 LAYER=0
    PATCH_VERTICES=3 SP_SELECT(2)=20 SP_SELECT(0)=0 POINT_COORD_REPLACE=0 POINT_RASTER_RULES=0 EDGEFLAG=1
    CB_BIND(0)=f1 LINKED_TSC=0 SCREEN_SCISSOR_HORIZ=400000 SCREEN_SCISSOR_VERT=400000 RT_HORIZ(0)=40
    RT_VERT(0)=40 RT_FORMAT(0)=d5 RT_TILE_MODE(0)=30 RT_ARRAY_MODE(0)=1 RT_LAYER_STRIDE(0)=0 RT_BASE_LAYER(0)=0
    ZETA_ENABLE=0 SAMPLE_SHADING=1 CLEAR_COLOR(0)=3dcccccd CLEAR_COLOR(1)=3dcccccd CLEAR_COLOR(2)=3dcccccd
    CLEAR_COLOR(3)=3f800000 CLEAR_BUFFERS=3c LOGIC_OP_ENABLE=0 BLEND_INDEPENDENT=0 COLOR_MASK_COMMON=1
    COLOR_MASK(0)=1111 DEPTH_TEST_ENABLE=0 DEPTH_BOUNDS_EN=0 STENCIL_ENABLE=0 ALPHA_TEST_ENABLE=0
    PROVOKING_VERTEX_LAST=1 VERTEX_TWO_SIDE_ENABLE=0 VERT_COLOR_CLAMP_EN=0 FRAG_COLOR_CLAMP_EN=0
    LINE_SMOOTH_ENABLE=0 LINE_WIDTH_ALIASED=3f800000 LINE_STIPPLE_ENABLE=0 VP_POINT_SIZE=0 POINT_SIZE=3f800000
    POINT_SPRITE_ENABLE=1 POINT_SMOOTH_ENABLE=0 POLYGON_SMOOTH_ENABLE=0 CULL_FACE_ENABLE=0 FRONT_FACE=900
    CULL_FACE=405 POLYGON_STIPPLE_ENABLE=0 POLYGON_OFFSET_POINT_ENABLE=0 POLYGON_OFFSET_LINE_ENABLE=0
    POLYGON_OFFSET_FILL_ENABLE=0 DEPTH_CLIP_NEGATIVE_Z=0 PIXEL_CENTER_INTEGER=0 BLEND_COLOR(0)=0
    POLYGON_STIPPLE_PATTERN(0)=ffffffff VIEWPORT_TRANSLATE_X(0)=42000000 VIEWPORT_TRANSLATE_Y(0)=42000000
    VIEWPORT_TRANSLATE_Z(0)=3f000000 VIEWPORT_SCALE_X(0)=42000000 VIEWPORT_SCALE_Y(0)=42000000
    VIEWPORT_SCALE_Z(0)=3f000000 VIEWPORT_HORIZ(0)=400000 VIEWPORT_VERT(0)=400000 MEM_BARRIER=1011
    SP_SELECT(1)=11 SP_GPR_ALLOC(1)=4 TESS_LEVEL_OUTER(0)=3f800000 TESS_LEVEL_INNER(0)=3f800000 SP_SELECT(5)=51
    SP_GPR_ALLOC(5)=4 ZCULL_TEST_MASK=0 VERTEX_ATTRIB_FORMAT(0)=38200000 VERTEX_ATTRIB_FORMAT(1)=38200800
    VERTEX_ARRAY_FETCH(0)=1020 VERTEX_ARRAY_FETCH(1)=0 VERTEX_BEGIN_GL=4 VERTEX_BUFFER_FIRST=0
    VERTEX_BUFFER_COUNT=3 VERTEX_END_GL=0";

/// Where ours are otherwise, each with its reason: the value that we write, or none.
const OURS_AT_DRAW: [(&str, Option<&str>, &str); 18] = [
    ("WATCHDOG_TIMER", None, "the time that a warp may take is left as it is at reset"),
    ("BLEND_SEPARATE_ALPHA", None, "blending is that of each target, as BLEND_INDEPENDENT says"),
    ("ZCULL_STATCTRS_ENABLE", None, "nobody reads what the culling of depth tiles counts"),
    (
        "CB_SIZE",
        Some("1000"),
        "the last bank that is bound is the driver's, of the fragment stage; Mesa's is its table of constants",
    ),
    ("CLIP_RECTS_MODE", None, "window rectangles are off"),
    ("CLIP_RECT_HORIZ(0)", None, "window rectangles are off"),
    ("CLIP_RECT_VERT(0)", None, "window rectangles are off"),
    ("SCISSOR_HORIZ(0)", Some("ffff0000"), "both are larger than any target"),
    ("SCISSOR_VERT(0)", Some("ffff0000"), "both are larger than any target"),
    ("PATCH_VERTICES", None, "written with pipelines that have patches"),
    (
        "POINT_COORD_REPLACE",
        Some("4"),
        "coordinates in points begin in the first row, which is the top one here",
    ),
    ("RT_LAYER_STRIDE(0)", Some("1000"), "there is one layer; Mesa has no stride for it"),
    ("BLEND_INDEPENDENT", Some("1"), "targets have blending of their own"),
    ("COLOR_MASK_COMMON", Some("0"), "targets have masks of their own"),
    ("POLYGON_STIPPLE_PATTERN(0)", None, "polygon stipple is off"),
    ("TESS_LEVEL_OUTER(0)", None, "written with pipelines that tessellate"),
    ("TESS_LEVEL_INNER(0)", None, "written with pipelines that tessellate"),
    ("VERTEX_ARRAY_FETCH(1)", None, "arrays that were never there are not switched off"),
];

/// Draws the triangle with OpenGL's conventions.
fn triangle(c: &mut Context) {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenes/");
    let programs = ["position-color.vert.tgsi", "color.frag.tgsi"].map(|name| {
        let text = std::fs::read_to_string(format!("{root}{name}")).expect("the program");
        c.program(&common::compile(c.chip(), &text)).expect("code")
    });
    let attribute =
        |location, offset| VertexAttribute { location, array: 0, offset, format: VertexFormat::floats(4) };
    let pipeline = c.pipeline(PipelineDesc {
        programs: programs.to_vec(),
        arrays: vec![VertexArray { stride: 32, instances: None }],
        attributes: vec![attribute(0, 0), attribute(1, 16)],
        raster: Raster {
            front_clockwise: true,
            depth_from_zero: false,
            last_vertex_provokes: true,
            ..Raster::default()
        },
        ..PipelineDesc::default()
    });
    let pipeline = pipeline.expect("it fits together");
    let array = c.buffer(96).expect("memory");
    let format = "rgba8".parse().expect("a format");
    let desc = nvir::emu::ImageDesc { dim: nvir::emu::Dim::D2, format, size: [64, 64, 1], levels: 1 };
    let image = c.image(desc, Default::default()).expect("memory");
    let colors = vec![Some(ColorTarget::cleared(&image, [0.1, 0.1, 0.1, 1.0]))];
    let mut pass = c.render(&Pass { colors, ..Pass::default() }).expect("a target");
    pass.draw(&Draw { arrays: vec![array.whole()], ..Draw::new(&pipeline, 3) }).expect("queued");
}

#[test]
fn registers_at_a_draw_are_mesas_but_for_a_list_of_reasons() {
    for chip in Chip::ALL {
        let (log, _) = logged(chip, triangle);
        // What the 3D class has at the draw.
        let mut ours: BTreeMap<&str, &str> = BTreeMap::new();
        for line in log.lines().filter(|l| l.starts_with("  ")) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [_, "0", _, name, _, value, ..] = fields[..] else { continue };
            let value = value.trim_start_matches('0');
            ours.insert(name, if value.is_empty() { "0" } else { value });
            if name == "VERTEX_END_GL" {
                break;
            }
        }
        let mut wrong = Vec::new();
        for register in MESA_DRAW.split_whitespace() {
            let (name, mesa) = register.split_once('=').expect("a value");
            let got = ours.get(name).copied();
            match OURS_AT_DRAW.iter().find(|(n, ..)| *n == name) {
                Some((_, want, _)) if got == *want && got != Some(mesa) => {}
                None if got == Some(mesa) => {}
                _ => wrong.push(format!("{name}: {got:?}, Mesa {mesa}")),
            }
        }
        assert!(wrong.is_empty(), "{chip}: {wrong:#?}");
    }
}
