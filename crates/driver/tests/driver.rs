//! The driver on the virtual GPU: data there and back, launches, limits, and what happens when something is wrong.

mod common;

use common::{CHIPS, compile, context, words};
use nvir::compiler::{Options, Sanitize};
use nvir::emu::image::Arrangement;
use nvir::emu::{Dim, Filter, ImageDesc, Sampler};
use nvir::tiling;
use nvir::{Chip, Compiler, Source, emu};
use nvir_driver::{Context, Device, Error, Grid, Launch, VirtualDevice};
use std::sync::Arc;

/// `BUFFER[0][i] = 3 * CONST[0] + BUFFER[0][i]` for each thread.
const SCALE: &str = "COMP
PROPERTY CS_FIXED_BLOCK_WIDTH 32
PROPERTY CS_FIXED_BLOCK_HEIGHT 1
PROPERTY CS_FIXED_BLOCK_DEPTH 1
DCL SV[0], THREAD_ID
DCL SV[1], BLOCK_ID
DCL BUFFER[0]
DCL CONST[0][0]
DCL TEMP[0..1]
IMM[0] UINT32 {2, 32, 3, 0}
  0: UMAD TEMP[0].x, SV[1].xxxx, IMM[0].yyyy, SV[0].xxxx
  1: SHL TEMP[0].x, TEMP[0].xxxx, IMM[0].xxxx
  2: LOAD TEMP[1].x, BUFFER[0], TEMP[0].xxxx
  3: UMAD TEMP[1].x, CONST[0][0].xxxx, IMM[0].zzzz, TEMP[1].xxxx
  4: STORE BUFFER[0].x, TEMP[0].xxxx, TEMP[1].xxxx
  5: END
";

/// Bytes that differ from place to place.
fn pattern(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i * 7 + i / 251) as u8).collect()
}

#[test]
fn bytes_come_back_from_any_place_in_a_buffer() {
    for chip in CHIPS {
        let mut c = context(chip);
        // More than goes with the commands, and more than the memory in between.
        for bytes in [1, 3, 4, 4095, 4097, 70_001, (4 << 20) + 13] {
            let buffer = c.buffer(bytes + 100).expect("memory");
            let data = pattern(bytes as usize);
            for offset in [0, 1, 64, 99] {
                let part = buffer.slice(offset, bytes);
                c.write(&part, &data).expect("it fits");
                assert!(c.read(&part).expect("it is there") == data, "{chip}: {bytes} at {offset}");
            }
        }
        let a = c.buffer(1 << 20).expect("memory");
        let data = pattern(1 << 19);
        c.write(&a.slice(0, 1 << 19), &data).expect("it fits");
        c.copy(&a.slice(0, 1 << 19), &a.slice(1 << 19, 1 << 19)).expect("they are apart");
        assert!(c.read(&a.slice(1 << 19, 1 << 19)).expect("it is there") == data, "{chip}");
    }
}

#[test]
fn calls_that_nobody_may_make_are_errors_and_change_nothing() {
    let mut c = context(Chip::Gk104);
    let buffer = c.buffer(100).expect("memory");
    assert!(matches!(c.write(&buffer.slice(90, 20), &[0; 20]), Err(Error::Invalid(_))));
    assert!(matches!(c.write(&buffer.slice(u64::MAX, 20), &[0; 20]), Err(Error::Invalid(_))));
    assert!(matches!(c.write(&buffer.whole(), &[0; 20]), Err(Error::Invalid(_))));
    assert!(matches!(c.copy(&buffer.slice(0, 20), &buffer.slice(10, 20)), Err(Error::Invalid(_))));
    assert!(matches!(c.buffer(0), Err(Error::Invalid(_))));
    assert!(matches!(c.buffer(1 << 60), Err(Error::OutOfMemory(_))));
    let other = compile(Chip::Gk110, SCALE);
    assert!(matches!(c.kernel(&other), Err(Error::Invalid(_))));
    let kernel = c.kernel(&compile(Chip::Gk104, SCALE)).expect("code");
    for bad in [
        Launch::new(&kernel, [1, 1, 1], [64, 1, 1]),
        Launch::new(&kernel, [1, 1, 1], [16, 1, 1]),
        Launch::new(&kernel, [1, 1, 1], [32, 2, 1]),
        Launch::new(&kernel, [1, 1 << 16, 1], [32, 1, 1]),
        Launch::new(&kernel, [1, 1, 1], [0, 1, 1]),
        Launch { shared_bytes: 1 << 20, ..Launch::new(&kernel, [1, 1, 1], [32, 1, 1]) },
        Launch { buffers: vec![(32, buffer.whole())], ..Launch::new(&kernel, [1, 1, 1], [32, 1, 1]) },
        Launch { buffers: vec![(0, buffer.slice(0, 101))], ..Launch::new(&kernel, [1, 1, 1], [32, 1, 1]) },
        Launch { input: &[0; 65537], ..Launch::new(&kernel, [1, 1, 1], [32, 1, 1]) },
        Launch { grid: Grid::Indirect(buffer.slice(2, 12)), ..Launch::new(&kernel, [1, 1, 1], [32, 1, 1]) },
    ] {
        assert!(matches!(c.launch(&bad), Err(Error::Invalid(_))), "{bad:?}");
    }
    c.finish().expect("the context is as before");
}

/// Code is for the block that its program declares: another is refused on every chip, before anything is queued, also where the
/// grid is in memory; a dimension that is not declared is the launch's.
#[test]
fn blocks_are_of_the_size_that_the_program_declares() {
    // The size in y for each thread, in a program that declares the width only.
    let text = SCALE
        .replace("PROPERTY CS_FIXED_BLOCK_HEIGHT 1\nPROPERTY CS_FIXED_BLOCK_DEPTH 1\n", "")
        .replace("DCL CONST", "DCL SV[2], BLOCK_SIZE\nDCL CONST")
        .replace("UMAD TEMP[1].x, CONST[0][0].xxxx, IMM[0].zzzz, TEMP[1].xxxx", "MOV TEMP[1].x, SV[2].yyyy");
    for chip in CHIPS {
        let mut c = context(chip);
        let shader = compile(chip, &text);
        assert_eq!(shader.block_size, Some([32, 0, 0]), "{chip}");
        let (kernel, buffer) = (c.kernel(&shader).expect("code"), c.buffer(128).expect("memory"));
        c.write(&buffer.whole(), &[7; 128]).expect("it fits");
        let sizes = c.buffer(12).expect("memory");
        c.write(&sizes.whole(), &words([1, 1, 1])).expect("it fits");
        let bound =
            |block| Launch { buffers: vec![(0, buffer.whole())], ..Launch::new(&kernel, [1, 1, 1], block) };
        for block in [[16, 1, 1], [64, 1, 1], [1, 32, 1], [31, 2, 1]] {
            for grid in [Grid::Blocks([1, 1, 1]), Grid::Indirect(sizes.whole())] {
                let why = c.launch(&Launch { grid, ..bound(block) }).expect_err("another block").to_string();
                assert!(why.contains("the program declares 32 in x"), "{chip}: {why}");
            }
        }
        assert_eq!(c.read(&buffer.whole()).expect("nothing ran"), [7; 128], "{chip}");
        c.launch(&bound([32, 3, 1])).expect("queued");
        assert_eq!(c.read(&buffer.whole()).expect("done"), words([3; 32]), "{chip}");
    }
}

#[test]
fn launches_see_what_came_before_and_those_behind_see_them() {
    for chip in CHIPS {
        let mut c = context(chip);
        let kernel = c.kernel(&compile(chip, SCALE)).expect("code");
        let buffer = c.buffer(4 * 64).expect("memory");
        c.write(&buffer.whole(), &words(0..64)).expect("it fits");
        for round in 1..=100u32 {
            let input = round.to_le_bytes();
            let launch = Launch::new(&kernel, [2, 1, 1], [32, 1, 1]);
            c.launch(&Launch { input: &input, buffers: vec![(0, buffer.whole())], ..launch })
                .expect("queued");
        }
        assert_eq!(c.read(&buffer.whole()).expect("done"), words((0..64).map(|i| i + 3 * 5050)), "{chip}");
    }
}

#[test]
fn a_grid_in_memory_is_read_when_the_launch_begins() {
    for chip in CHIPS {
        let mut c = context(chip);
        let kernel = c.kernel(&compile(chip, SCALE)).expect("code");
        let (buffer, sizes) = (c.buffer(4 * 96).expect("memory"), c.buffer(64).expect("memory"));
        for (grid, reached) in [([2u32, 1, 1], 64), ([0, 1, 1], 0), ([3, 1, 1], 96), ([1, 1, 0], 0)] {
            c.write(&buffer.whole(), &words(0..96)).expect("it fits");
            c.write(&sizes.slice(8, 12), &words(grid)).expect("it fits");
            let launch = Launch::new(&kernel, [1, 1, 1], [32, 1, 1]);
            let grid = Grid::Indirect(sizes.slice(8, 12));
            let (input, buffers) = (1u32.to_le_bytes(), vec![(0, buffer.whole())]);
            c.launch(&Launch { grid, input: &input, buffers, ..launch }).expect("queued");
            let want = words((0..96).map(|i| if i < reached { i + 3 } else { i }));
            assert_eq!(c.read(&buffer.whole()).expect("done"), want, "{chip}: {reached}");
        }
    }
}

#[test]
fn kernels_that_check_themselves_report_through_the_driver() {
    for chip in CHIPS {
        let mut c = context(chip);
        let options = Options { sanitize: Sanitize::ALL, ..Options::default() };
        let shader =
            Compiler::new(chip).with_options(options).compile(&Source::tgsi(SCALE)).expect("it compiles");
        let kernel = c.kernel(&shader).expect("code");
        let buffer = c.buffer(256).expect("memory");
        c.write(&buffer.whole(), &words(0..64)).expect("it fits");
        let input = 1u32.to_le_bytes();
        let mut launch = |grid: u32, bytes: u64| {
            let buffers = vec![(0, buffer.slice(0, bytes))];
            c.launch(&Launch { input: &input, buffers, ..Launch::new(&kernel, [grid, 1, 1], [32, 1, 1]) })
                .expect("queued");
            c.findings().expect("done")
        };
        assert_eq!(launch(2, 256), [], "{chip}");
        // The second block is outside, in its load and its store.
        let found = launch(2, 128);
        let told: Vec<_> = found.iter().map(|f| (f.place.0, f.times, f.address, f.detail())).collect();
        assert_eq!(found.len(), 2, "{chip}: {told:?}");
        for ((block, times, address, detail), (access, line)) in
            told.iter().zip([("read", "LOAD"), ("write", "STORE")])
        {
            assert_eq!((*block, *times), ([1, 0, 0], 32), "{chip}: {detail}");
            assert!((128..256).contains(address), "{chip}: {detail}");
            assert!(detail.starts_with(&format!("{access} of 4 bytes")), "{chip}, {line}: {detail}");
        }
        assert_eq!(launch(1, 128), [], "{chip}: reports are told once");
        let want = words((0..64).map(|i| if i < 32 { i + 9 } else { i + 3 }));
        assert_eq!(c.read(&buffer.whole()).expect("done"), want, "{chip}");
        let grid = Grid::Indirect(buffer.slice(0, 12));
        let unknown = Launch { grid, input: &input, ..Launch::new(&kernel, [1, 1, 1], [32, 1, 1]) };
        assert!(matches!(c.launch(&unknown), Err(Error::Unsupported(_))), "{chip}");
    }
}

#[test]
fn more_kernels_than_the_code_segment_holds_run_one_after_the_other() {
    for chip in CHIPS {
        let mut c = context(chip);
        let mut shader = compile(chip, SCALE);
        // Code that nobody comes to, so that four kernels fill the largest segment.
        shader.code.resize(4 << 20 >> 3, 0);
        let kernels: Vec<_> = (0..6).map(|_| c.kernel(&shader).expect("code")).collect();
        let buffer = c.buffer(128).expect("memory");
        for kernel in kernels.iter().chain(&kernels) {
            let (input, buffers) = (1u32.to_le_bytes(), vec![(0, buffer.whole())]);
            let launch = Launch::new(kernel, [1, 1, 1], [32, 1, 1]);
            c.launch(&Launch { input: &input, buffers, ..launch }).expect("queued");
        }
        assert_eq!(c.read(&buffer.whole()).expect("done"), words([36; 32]), "{chip}");
    }
}

#[test]
fn local_memory_grows_with_the_kernel_that_needs_it() {
    // TEMP[ADDR] of 1,000 vectors: 16,000 bytes a thread.
    let text = "COMP
PROPERTY CS_FIXED_BLOCK_WIDTH 32
DCL SV[0], THREAD_ID
DCL BUFFER[0]
DCL TEMP[0..1]
DCL TEMP[2..1001], ARRAY(1), LOCAL
DCL ADDR[0]
IMM[0] UINT32 {2, 31, 0, 0}
  0: UADD TEMP[1].x, SV[0].xxxx, IMM[0].yyyy
  1: UARL ADDR[0].x, TEMP[1].xxxx
  2: MOV TEMP[ADDR[0].x+2](1).x, SV[0].xxxx
  3: MOV TEMP[1].x, TEMP[ADDR[0].x+2](1).xxxx
  4: SHL TEMP[0].x, SV[0].xxxx, IMM[0].xxxx
  5: STORE BUFFER[0].x, TEMP[0].xxxx, TEMP[1].xxxx
  6: END
";
    for chip in CHIPS {
        let mut c = context(chip);
        let shader = compile(chip, text);
        assert!(shader.local_bytes > 2048, "{}", shader.local_bytes);
        let (kernel, buffer) = (c.kernel(&shader).expect("code"), c.buffer(128).expect("memory"));
        let launch = Launch::new(&kernel, [1, 1, 1], [32, 1, 1]);
        c.launch(&Launch { buffers: vec![(0, buffer.whole())], ..launch }).expect("queued");
        assert_eq!(c.read(&buffer.whole()).expect("done"), words(0..32), "{chip}");
    }
}

#[test]
fn a_fault_ends_one_context_with_its_reason_and_no_other() {
    let text = "COMP
DCL MEMORY[0]
DCL TEMP[0]
IMM[0] UINT32 {16, 0, 0, 0}
  0: STORE MEMORY[0].x, IMM[0].xxxx, IMM[0].yyyy
  1: END
"
    .replace("DCL MEMORY[0]", "DCL MEMORY[0], GLOBAL");
    for chip in CHIPS {
        let device: Arc<dyn Device> = Arc::new(VirtualDevice::new(chip));
        let mut lost = Context::on(device.clone()).expect("a channel");
        let mut other = Context::on(device).expect("a channel");
        let kernel = lost.kernel(&compile(chip, &text)).expect("code");
        lost.launch(&Launch::new(&kernel, [1, 1, 1], [1, 1, 1])).expect("queued");
        let Err(Error::Lost(why)) = lost.finish() else { panic!("{chip}: it went well") };
        assert!(why.contains("0x10"), "{chip}: {why}");
        assert!(matches!(lost.buffer(16), Err(Error::Lost(_))));
        let buffer = other.buffer(16).expect("memory");
        other.write(&buffer.whole(), &[7; 16]).expect("it fits");
        assert_eq!(other.read(&buffer.whole()).expect("done"), [7; 16]);
    }
}

#[test]
fn time_goes_on_from_stamp_to_stamp() {
    for chip in CHIPS {
        let mut c = context(chip);
        let before = c.device().time().expect("a clock");
        let kernel = c.kernel(&compile(chip, SCALE)).expect("code");
        let first = c.stamp().expect("queued");
        c.launch(&Launch::new(&kernel, [8, 1, 1], [32, 1, 1])).expect("queued");
        let second = c.stamp().expect("queued");
        let fence = c.fence().expect("submitted");
        c.wait(fence).expect("done");
        let (first, second) = (c.time(&first).expect("done"), c.time(&second).expect("done"));
        assert!(before < first && first < second, "{chip}: {before} {first} {second}");
    }
}

/// For code of another ABI: the banks are what the caller says, and nothing else.
#[test]
fn constant_banks_can_be_given_as_bytes() {
    for chip in CHIPS {
        let mut c = context(chip);
        let mut shader = compile(chip, SCALE);
        shader.block_size = None;
        let (kernel, buffer) = (c.kernel(&shader).expect("code"), c.buffer(128).expect("memory"));
        let abi = nvir::driver::Abi::nvc0(chip);
        // The buffer's entry in the driver's bank, and the uniform.
        let mut own = vec![0; 0x300];
        own[usize::from(abi.buf_info)..][..8].copy_from_slice(&buffer.address().to_le_bytes());
        own[usize::from(abi.buf_info) + 8..][..4].copy_from_slice(&128u32.to_le_bytes());
        let banks = vec![(0, 7u32.to_le_bytes().to_vec()), (abi.aux_bank, own)];
        let launch = Launch::new(&kernel, [1, 1, 1], [32, 1, 1]);
        c.launch(&Launch { banks, reached: vec![buffer.clone()], ..launch.clone() }).expect("queued");
        assert_eq!(c.read(&buffer.whole()).expect("done"), words([21; 32]), "{chip}");
        for bad in [vec![(18, vec![0; 4])], vec![(0, vec![0; 65537])]] {
            assert!(matches!(c.launch(&Launch { banks: bad, ..launch.clone() }), Err(Error::Invalid(_))));
        }
    }
}

/// Texels go to where the layout says they are, whatever the kind of image, and come back.
#[test]
fn images_lie_as_textures_and_surfaces_want_them() {
    for chip in CHIPS {
        for (dim, size, levels) in [
            (Dim::D1, [33, 1, 1], 3),
            (Dim::D2, [67, 35, 1], 4),
            (Dim::D3, [17, 9, 5], 3),
            (Dim::Cube, [8, 8, 6], 2),
            (Dim::D1Array, [20, 1, 3], 2),
            (Dim::D2Array, [40, 3, 3], 3),
            (Dim::CubeArray, [4, 4, 12], 1),
            (Dim::Buffer, [77, 1, 1], 1),
            (Dim::D2Ms, [6, 5, 4], 1),
            (Dim::D2, [3, 5000, 1], 1),
        ] {
            for format in ["r8", "rgba8", "rgba32ui"] {
                for how in [Arrangement::Driver, Arrangement::Linear] {
                    let format = format.parse().expect("a format");
                    image_case(chip, ImageDesc { dim, format, size, levels }, how);
                }
            }
        }
    }
}

fn image_case(chip: Chip, desc: ImageDesc, how: Arrangement) {
    let mut c = context(chip);
    let image = c.image(desc, how).expect("memory");
    let texels = pattern(image.layout().packed_bytes() as usize);
    c.upload_image(&image, &texels).expect("it fits");
    assert!(c.download_image(&image).expect("done") == texels, "{chip}: {desc:?} {how:?}");
    // The same with no engine: the emulator's own way.
    let mut memory = emu::Memory::new();
    let model = emu::Image::alloc(&mut memory, desc, how).expect("memory");
    model.upload(&mut memory, &texels).expect("it fits");
    let want = memory.read(model.address, model.bytes()).expect("mapped");
    let got = common::raw(&mut c, image.layout().address, model.bytes());
    assert!(got == want, "{chip}: {desc:?} {how:?} lies elsewhere");
    assert!(
        how == Arrangement::Linear
            || desc.dim == Dim::Buffer
            || matches!(model.levels[0].place.order, tiling::Order::Blocks(_))
    );
}

#[test]
fn more_textures_than_the_tables_hold_are_all_sampled() {
    let text = "COMP
PROPERTY CS_FIXED_BLOCK_WIDTH 1
DCL BUFFER[0]
DCL SVIEW[0], 2D, FLOAT
DCL SAMP[0]
DCL TEMP[0]
IMM[0] FLT32 {0.25, 0.75, 0.0, 0.0}
IMM[1] UINT32 {0, 0, 0, 0}
  0: TXL TEMP[0], IMM[0].xyzz, SAMP[0], 2D
  1: STORE BUFFER[0].x, IMM[1].xxxx, TEMP[0].xxxx
  2: END
";
    for chip in CHIPS {
        let mut c = context(chip);
        let (kernel, buffer) = (c.kernel(&compile(chip, text)).expect("code"), c.buffer(4).expect("memory"));
        let format = "r32f".parse().expect("a format");
        let image =
            c.image(ImageDesc { dim: Dim::D2, format, size: [2, 2, 1], levels: 1 }, Arrangement::Driver);
        let image = image.expect("memory");
        c.upload_image(&image, &[1.0f32, 2.0, 3.0, 4.0].map(f32::to_le_bytes).concat()).expect("it fits");
        // Samplers that differ in something that does not matter here.
        for n in 0..2100 {
            let how = Sampler { max_lod: n as f32 / 256.0, mag: Filter::Nearest, ..Sampler::default() };
            let launch = Launch::new(&kernel, [1, 1, 1], [1, 1, 1]);
            let textures = vec![(0, image.clone(), how)];
            c.launch(&Launch { textures, buffers: vec![(0, buffer.whole())], ..launch }).expect("queued");
        }
        assert_eq!(c.read(&buffer.whole()).expect("done"), 3.0f32.to_le_bytes(), "{chip}");
    }
}

/// One texture, read by its own sampler and by another: `BUFFER[0] = both`.
#[test]
fn a_texture_has_one_kind_of_coordinates_on_gf100() {
    let text = "COMP
PROPERTY CS_FIXED_BLOCK_WIDTH 1
DCL BUFFER[0]
DCL SVIEW[0], 2D, FLOAT
DCL SVIEW[1], 2D, FLOAT
DCL SAMP[0..1]
DCL TEMP[0..1]
IMM[0] FLT32 {0.75, 0.25, 1.5, 0.0}
IMM[1] UINT32 {0, 0, 0, 0}
  0: SAMPLE_L TEMP[0], IMM[0].xyww, SVIEW[0], SAMP[0], IMM[0].wwww
  1: SAMPLE_L TEMP[1], IMM[0].zyww, SVIEW[0], SAMP[1], IMM[0].wwww
  2: MOV TEMP[0].y, TEMP[1].xxxx
  3: STORE BUFFER[0].xy, IMM[1].xxxx, TEMP[0].xyxx
  4: END
";
    for chip in CHIPS {
        let mut c = context(chip);
        let (kernel, buffer) = (c.kernel(&compile(chip, text)).expect("code"), c.buffer(8).expect("memory"));
        let format = "r32f".parse().expect("a format");
        let desc = ImageDesc { dim: Dim::D2, format, size: [2, 2, 1], levels: 1 };
        let image = c.image(desc, Arrangement::Driver).expect("memory");
        c.upload_image(&image, &[1.0f32, 2.0, 3.0, 4.0].map(f32::to_le_bytes).concat()).expect("it fits");
        let texels = Sampler { unnormalized: true, ..Sampler::default() };
        for (second, want) in [(texels, [2.0f32, 2.0]), (Sampler::default(), [2.0, 2.0])] {
            let textures = vec![(0, image.clone(), Sampler::default()), (1, image.clone(), second)];
            let launch = Launch::new(&kernel, [1, 1, 1], [1, 1, 1]);
            let result = c.launch(&Launch { textures, buffers: vec![(0, buffer.whole())], ..launch });
            if chip == Chip::Gf100 && second.unnormalized {
                let Err(Error::Unsupported(why)) = result else { panic!("{result:?}") };
                assert!(why.contains("texture 0") && why.contains("sampler 1"), "{why}");
                continue;
            }
            result.expect("queued");
            assert_eq!(c.read(&buffer.whole()).expect("done"), want.map(f32::to_le_bytes).concat(), "{chip}");
        }
    }
}
