//! What the driver sends to the card: a recording of it replays, and says what Mesa's nvc0 says for the same work, but for
//! what is listed here with its reason.

mod common;

use nvir::Chip;
use nvir_driver::{Context, Launch, VirtualDevice};
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

/// Runs `add`; the log and the recording.
fn run(chip: Chip) -> (String, Vec<u8>) {
    let (log, trace) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(Vec::new())));
    let mut config = nvir_vgpu::Config::new(chip);
    config.log = Some(Box::new(Shared(log.clone())));
    config.trace = Some(Box::new(Shared(trace.clone())));
    let mut c = Context::new(VirtualDevice::with_config(config)).expect("a channel");
    let kernel = c.kernel(&common::compile(chip, ADD)).expect("code");
    let buffers: Vec<_> = (0..3).map(|n| (n, c.buffer(1024).expect("memory").whole())).collect();
    c.write(&buffers[0].1, &common::words((0..256).map(|i| 3 * i + 1))).expect("it fits");
    c.write(&buffers[1].1, &common::words((0..256).map(|i| 1000 - i))).expect("it fits");
    let out = buffers[2].1.clone();
    c.launch(&Launch { buffers, ..Launch::new(&kernel, [4, 1, 1], [64, 1, 1]) }).expect("queued");
    assert_eq!(c.read(&out).expect("done"), common::words((0..256).map(|i| 2 * i + 1001)), "{chip}");
    drop(c);
    let take = |all: Arc<Mutex<Vec<u8>>>| all.lock().unwrap_or_else(|e| e.into_inner()).clone();
    (String::from_utf8(take(log)).expect("text"), take(trace))
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
