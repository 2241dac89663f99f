//! Each engine by itself: commands in, memory out.

mod common;

use common::{COMPUTE, COPY, Client, Commands, MEMORY, THREE_D, TWO_D, classes};
use nvir::Chip;
use nvir::tiling::{Level, Order, TileMode};
use nvir_hw::method::{bindings, channel, copy, m2mf, macros, query, three_d, two_d, upload};
use nvir_hw::push::{Header, kind};

const KEPLERS: [Chip; 2] = [Chip::Gk104, Chip::Gk110];

fn level(row_bytes: u32, rows: u32, slices: u32, mode: u32) -> Level {
    Level {
        order: Order::Blocks(TileMode(mode)),
        offset: 0,
        pitch: row_bytes.next_multiple_of(64),
        rows,
        slices,
    }
}

/// Bytes that differ from place to place.
fn noise(count: usize) -> Vec<u8> {
    (0..count as u32).map(|i| (i.wrapping_mul(0x9e37_79b1) >> 24) as u8).collect()
}

#[test]
fn constants_are_written_where_they_are_put() {
    for chip in Chip::ALL {
        let c = Client::new(chip);
        let b = c.buffer(4096);
        let mut push = Commands::default();
        push.inc(THREE_D, bindings::CB_SIZE, &[0x100, (b.offset >> 32) as u32, b.offset as u32])
            .once(THREE_D, bindings::CB_POS, &[8, 11, 12, 13])
            .inc(THREE_D, bindings::CB_DATA.at(0), &[14, 15]);
        c.run(&push).unwrap();
        assert_eq!(c.words(b.offset, 8), [0, 0, 11, 12, 13, 14, 15, 0], "{chip}");
    }
}

#[test]
fn a_packet_may_take_its_data_from_another_range() {
    let c = Client::new(Chip::Gk110);
    let b = c.buffer(4096);
    let mut push = Commands::default();
    push.inc(THREE_D, bindings::CB_SIZE, &[0x100, (b.offset >> 32) as u32, b.offset as u32]);
    let header = Header::packet(kind::INCREASING_ONCE, THREE_D, bindings::CB_POS, 3).into();
    c.run_ranges(&[&push.0, &[header], &[16, 0x1111], &[], &[0x2222]]).unwrap();
    assert_eq!(c.words(b.offset + 16, 2), [0x1111, 0x2222]);
    let e = c.run_ranges(&[&[header, 0]]).unwrap_err();
    assert!(e.message.ends_with("the submission ends in a packet that wants 2 words more"), "{e}");
}

#[test]
fn queries_write_sequences_and_times() {
    for chip in Chip::ALL {
        let c = Client::new(chip);
        let b = c.filled(4096, &[u32::MAX; 16]);
        let get = |what: u32| [(b.offset >> 32) as u32, b.offset as u32 + 16 * (what >> 28), 77, what];
        let mut push = Commands::default();
        push.inc(THREE_D, query::QUERY_ADDRESS_HIGH, &get(0x1000_f010)).inc(
            THREE_D,
            query::QUERY_ADDRESS_HIGH,
            &get(0x5002),
        );
        c.run(&push).unwrap();
        let words = c.words(b.offset, 8);
        assert_eq!(words[..2], [77, 0]);
        assert_eq!(words[4..], [77, u32::MAX, u32::MAX, u32::MAX]);
        let time = u64::from(words[3]) << 32 | u64::from(words[2]);
        let now = c.file.getparam(14).unwrap();
        assert!(time >= 1_000_000_000 && time < now, "{time} {now}");
        // Bytes of feedback are 32 bits behind the sequence.
        let mut push = Commands::default();
        push.inc(THREE_D, query::QUERY_ADDRESS_HIGH, &get(0x0d00_5002));
        c.run(&push).unwrap();
        assert_eq!(c.words(b.offset, 2), [77, 0]);
        // Primitives generated: a count of 64 bits.
        let mut push = Commands::default();
        push.inc(THREE_D, query::QUERY_ADDRESS_HIGH, &get(0x0900_5002));
        c.run(&push).unwrap();
        assert_eq!(c.words(b.offset, 2), [0, 0]);
    }
}

#[test]
fn uploads_write_rows_and_blocks() {
    for chip in KEPLERS {
        for sub in [MEMORY, COMPUTE, THREE_D] {
            let c = Client::new(chip);
            let b = c.filled(8192, &[0xeeee_eeee; 2048]);
            // 5 bytes at an odd address: the rest of the second word is dropped.
            let mut push = Commands::default();
            push.address(sub, upload::UPLOAD_DST_ADDRESS_HIGH, b.offset + 3)
                .inc(sub, upload::UPLOAD_LINE_LENGTH_IN, &[5, 1])
                .once(sub, upload::UPLOAD_EXEC, &[0x1001, 0x4433_2211, 0x9988_7755]);
            c.run(&push).unwrap();
            assert_eq!(c.bytes(b.offset, 9), [0xee, 0xee, 0xee, 0x11, 0x22, 0x33, 0x44, 0x55, 0xee]);
            // Two rows of 6 bytes at a pitch.
            let mut push = Commands::default();
            push.address(sub, upload::UPLOAD_DST_ADDRESS_HIGH, b.offset + 64)
                .inc(sub, upload::UPLOAD_LINE_LENGTH_IN, &[6, 2])
                .inc(sub, upload::UPLOAD_DST_PITCH, &[8])
                .once(sub, upload::UPLOAD_EXEC, &[0x1001, 0x0403_0201, 0x0807_0605, 0x0c0b_0a09]);
            c.run(&push).unwrap();
            assert_eq!(
                c.bytes(b.offset + 64, 16),
                [1, 2, 3, 4, 5, 6, 0xee, 0xee, 7, 8, 9, 10, 11, 12, 0xee, 0xee]
            );
            // A block-linear image of 100 bytes by 20 rows: 8 bytes at 60, 13 and the row below.
            let mut push = Commands::default();
            push.address(sub, upload::UPLOAD_DST_ADDRESS_HIGH, b.offset + 4096)
                .inc(sub, upload::UPLOAD_LINE_LENGTH_IN, &[8, 2])
                .inc(sub, upload::UPLOAD_DST_TILE_MODE, &[0x10, 100, 20, 1, 0, 60, 13])
                .once(sub, upload::UPLOAD_EXEC, &[0x1000, 1, 2, 3, 4]);
            c.run(&push).unwrap();
            let l = level(100, 20, 1, 0x10);
            for (x, y, want) in [(60, 13, 1), (64, 13, 2), (60, 14, 3), (64, 14, 4)] {
                assert_eq!(c.words(b.offset + 4096 + l.byte(x, y, 0), 1), [want], "{x} {y}");
            }
        }
    }
}

/// The words of M2MF for a block-linear side.
struct Tiled {
    mode: u32,
    row_bytes: u32,
    rows: u32,
    slices: u32,
    z: u32,
    x: u32,
    y: u32,
}

fn m2mf_side(push: &mut Commands, out: bool, address: u64, t: &Tiled) {
    let (tiling, offset, position) = if out {
        (m2mf::TILING_MODE_OUT, m2mf::OFFSET_OUT_HIGH, m2mf::TILING_POSITION_OUT_X)
    } else {
        (m2mf::TILING_MODE_IN, m2mf::OFFSET_IN_HIGH, m2mf::TILING_POSITION_IN_X)
    };
    push.inc(MEMORY, tiling, &[t.mode, t.row_bytes, t.rows, t.slices, t.z])
        .address(MEMORY, offset, address)
        .inc(MEMORY, position, &[t.x, t.y]);
}

#[test]
fn m2mf_copies_between_rows_and_blocks() {
    let c = Client::new(Chip::Gf100);
    let (linear, tiled, back) = (c.buffer(65536), c.buffer(65536), c.buffer(65536));
    let data = noise(16384);
    c.write_bytes(linear.offset, &data);
    // 150 bytes by 30 rows into slice 1 of an image of 200 by 40 by 3, at 7, 5.
    let t = Tiled { mode: 0x120, row_bytes: 200, rows: 40, slices: 3, z: 1, x: 7, y: 5 };
    let mut push = Commands::default();
    push.address(MEMORY, m2mf::OFFSET_IN_HIGH, linear.offset + 1).inc(MEMORY, m2mf::PITCH_IN, &[160]).inc(
        MEMORY,
        m2mf::LINE_LENGTH_IN,
        &[150, 30],
    );
    m2mf_side(&mut push, true, tiled.offset, &t);
    push.inc(MEMORY, m2mf::EXEC, &[0x0010_0010]);
    // And back, to rows without gaps.
    m2mf_side(&mut push, false, tiled.offset, &t);
    push.address(MEMORY, m2mf::OFFSET_OUT_HIGH, back.offset).inc(MEMORY, m2mf::PITCH_OUT, &[150]).inc(
        MEMORY,
        m2mf::EXEC,
        &[0x0010_0100],
    );
    c.run(&push).unwrap();
    let l = level(200, 40, 3, 0x120);
    let image = c.bytes(tiled.offset, 65536);
    let got = c.bytes(back.offset, 150 * 30 + 1);
    for y in 0..30u64 {
        for x in 0..150u64 {
            let want = data[(1 + y * 160 + x) as usize];
            assert_eq!(image[l.byte(7 + x, 5 + y, 1) as usize], want, "{x} {y}");
            assert_eq!(got[(y * 150 + x) as usize], want, "{x} {y}");
        }
    }
    assert_eq!(got[150 * 30], 0);
    let (touched, want) =
        (image.iter().filter(|b| **b != 0).count(), data.iter().filter(|b| **b == 0).count());
    assert!(touched <= 4500 && touched + want >= 4400, "{touched}");
    // Data from the stream.
    let mut push = Commands::default();
    push.address(MEMORY, m2mf::OFFSET_OUT_HIGH, back.offset + 9)
        .inc(MEMORY, m2mf::LINE_LENGTH_IN, &[7, 1])
        .inc(MEMORY, m2mf::EXEC, &[0x0010_0111]);
    push.same(MEMORY, m2mf::DATA, &[0x0403_0201, 0xff07_0605]);
    c.run(&push).unwrap();
    assert_eq!(c.bytes(back.offset + 8, 9), [got[8], 1, 2, 3, 4, 5, 6, 7, got[16]]);
}

#[test]
fn the_copy_engine_copies_bytes_and_elements() {
    for chip in KEPLERS {
        let c = Client::new(chip);
        let (linear, tiled, back) = (c.buffer(65536), c.buffer(65536), c.buffer(65536));
        let data = noise(32768);
        c.write_bytes(linear.offset, &data);
        // A line.
        let mut push = Commands::default();
        push.address(COPY, copy::SRC_ADDRESS_HIGH, linear.offset + 5).address(
            COPY,
            copy::DST_ADDRESS_HIGH,
            back.offset + 2,
        );
        push.inc(COPY, copy::X_COUNT, &[1001, 99]).immediate(COPY, copy::EXEC, 0x186);
        c.run(&push).unwrap();
        assert_eq!(c.bytes(back.offset, 1004)[2..1003], data[5..1006]);
        assert_eq!(c.bytes(back.offset, 1004)[1003], 0);
        // 17 by 9 elements of 2 components of 2 bytes to 3, 4 of an image of 40 by 30 by 2, slice 1.
        let mut push = Commands::default();
        push.inc(COPY, copy::SWIZZLE, &[0x0111_3210])
            .inc(COPY, copy::DST_BLOCK_DIMENSIONS, &[0x1000 | 0x110, 40, 30, 2, 1, 4 << 16 | 3])
            .address(COPY, copy::SRC_ADDRESS_HIGH, linear.offset)
            .address(COPY, copy::DST_ADDRESS_HIGH, tiled.offset)
            .inc(COPY, copy::SRC_PITCH, &[300, 0, 17, 9])
            .immediate(COPY, copy::EXEC, 0x686);
        // And back.
        push.inc(COPY, copy::SRC_BLOCK_DIMENSIONS, &[0x1000 | 0x110, 40, 30, 2, 1, 4 << 16 | 3])
            .address(COPY, copy::SRC_ADDRESS_HIGH, tiled.offset)
            .address(COPY, copy::DST_ADDRESS_HIGH, back.offset)
            .inc(COPY, copy::SRC_PITCH, &[0, 136])
            .immediate(COPY, copy::EXEC, 0x706);
        c.run(&push).unwrap();
        let size = 4;
        let l = level(40 * size as u32, 30, 2, 0x110);
        let (image, got) = (c.bytes(tiled.offset, 65536), c.bytes(back.offset, 4096));
        for y in 0..9 {
            for x in 0..17 * size {
                let want = data[(y * 300 + x) as usize];
                assert_eq!(image[l.byte(3 * size + x, 4 + y, 1) as usize], want, "{x} {y}");
                assert_eq!(got[(y * 136 + x) as usize], want, "{x} {y}");
            }
        }
        let mut push = Commands::default();
        push.inc(COPY, copy::SWIZZLE, &[0x0330_3201]).immediate(COPY, copy::EXEC, 0x686);
        assert!(c.run(&push).unwrap_err().message.contains("components are not copied as they are"));
    }
}

/// Render target 0, linear or block-linear.
fn target(push: &mut Commands, address: u64, words: [u32; 5]) {
    let [width, height, format, mode, layers] = words;
    push.inc(
        THREE_D,
        three_d::RT_ADDRESS_HIGH.at(0),
        &[(address >> 32) as u32, address as u32, width, height, format, mode, layers, 64, 0],
    );
}

#[test]
fn clears_fill_the_scissors_rectangle() {
    for chip in Chip::ALL {
        let c = Client::new(chip);
        let b = c.buffer(65536);
        let mut push = Commands::default();
        // R32UI, 8 pixels a row at 64 bytes, linear.
        target(&mut push, b.offset, [64, 4, 0xe4, 0x1000, 1]);
        push.inc(THREE_D, three_d::CLEAR_COLOR.at(0), &[0x1234, 5, 6, 7]);
        push.inc(THREE_D, three_d::SCREEN_SCISSOR_HORIZ, &[3 << 16 | 2, 2 << 16 | 1]).inc(
            THREE_D,
            three_d::CLEAR_BUFFERS,
            &[0x3c],
        );
        c.run(&push).unwrap();
        let image = c.words(b.offset, 64);
        for (i, word) in image.iter().enumerate() {
            let (x, y) = (i % 16, i / 16);
            let inside = (2..5).contains(&x) && (1..3).contains(&y);
            assert_eq!(*word, if inside { 0x1234 } else { 0 }, "{chip} {x} {y}");
        }
        // Window rectangles cut it, too: what is inside the first.
        let mut push = Commands::default();
        push.inc(THREE_D, three_d::CLEAR_COLOR.at(0), &[0x77]);
        push.inc(THREE_D, three_d::CLIP_RECT_HORIZ.at(0), &[9 << 16 | 4, 2 << 16]);
        push.inc(THREE_D, three_d::CLIP_RECTS_EN, &[1, 0]);
        push.inc(THREE_D, three_d::CLEAR_BUFFERS, &[0x3c]).inc(THREE_D, three_d::CLIP_RECTS_EN, &[0]);
        c.run(&push).unwrap();
        assert_eq!(c.words(b.offset + 64 + 8, 4), [0x1234, 0x1234, 0x77, 0]);
        assert_eq!(c.words(b.offset + 128 + 8, 4), [0x1234, 0x1234, 0x1234, 0]);
        // Two channels of RGBA8, block-linear, layer 2: 1.0 and 0.5 in red and blue.
        let mut push = Commands::default();
        target(&mut push, b.offset + 4096, [20, 10, 0xd5, 0x10, 4]);
        push.inc(THREE_D, three_d::RT_LAYER_STRIDE.at(0), &[4096 / 4]);
        push.inc(THREE_D, three_d::CLEAR_COLOR.at(0), &[1f32.to_bits(), 0, 0.5f32.to_bits(), 0]);
        push.inc(THREE_D, three_d::SCREEN_SCISSOR_HORIZ, &[0xffff << 16, 0xffff << 16]).inc(
            THREE_D,
            three_d::CLEAR_BUFFERS,
            &[0x14 | 2 << 10],
        );
        c.gpu().write(b.offset + 4096 + 8192, &[0x0910_0810; 1024]).unwrap();
        c.run(&push).unwrap();
        let l = level(80, 10, 1, 0x10);
        let words = c.words(b.offset + 4096 + 8192, 1024);
        let inside = |x: u64, y: u64| words[(l.byte(4 * x, y, 0) / 4) as usize];
        assert_eq!([inside(0, 0), inside(19, 9), inside(7, 8)], [0x0980_08ff; 3]);
        assert_eq!(words.iter().filter(|w| **w == 0x0980_08ff).count(), 200);
        // Depth and stencil: only stencil.
        let mut push = Commands::default();
        push.inc(
            THREE_D,
            three_d::ZETA_ADDRESS_HIGH,
            &[(b.offset >> 32) as u32, b.offset as u32 + 32768, 0x14, 0, 0],
        );
        push.inc(THREE_D, three_d::ZETA_HORIZ, &[4, 4, 1])
            .inc(THREE_D, three_d::CLEAR_DEPTH, &[1f32.to_bits()])
            .inc(THREE_D, three_d::CLEAR_STENCIL, &[0xab]);
        push.inc(THREE_D, three_d::CLEAR_BUFFERS, &[2]);
        c.run(&push).unwrap();
        assert_eq!(c.words(b.offset + 32768, 4), [0xab; 4]);
        push.inc(THREE_D, three_d::CLEAR_BUFFERS, &[1]);
        c.run(&push).unwrap();
        assert_eq!(c.words(b.offset + 32768, 4), [0xffff_ffab; 4]);
    }
}

/// Both ends of a blit: format, linear, block dimensions, depth, layer, pitch, width, height, address.
fn surface(push: &mut Commands, at: u32, format: u32, pitch: u32, size: [u32; 2], address: u64) {
    let (high, low) = ((address >> 32) as u32, address as u32);
    push.inc(TWO_D, at, &[format, 1, 0, 1, 0, pitch, size[0], size[1], high, low]);
}

/// A blit of the whole destination.
fn blit(push: &mut Commands, control: u32, size: [u32; 2], step: [f64; 2], first: [f64; 2]) {
    push.inc(TWO_D, two_d::OPERATION, &[3]);
    run_blit(push, control, size, step, first);
}

/// A blit of two texels by an operation.
fn operation(push: &mut Commands, operation: u32) {
    push.inc(TWO_D, two_d::OPERATION, &[operation]);
    run_blit(push, 0, [2, 1], [1.0, 1.0], [0.0, 0.0]);
}

fn run_blit(push: &mut Commands, control: u32, size: [u32; 2], step: [f64; 2], first: [f64; 2]) {
    let fixed = |v: f64| {
        let bits = (v * 4_294_967_296.0) as i64;
        [bits as u32, (bits >> 32) as u32]
    };
    push.inc(TWO_D, two_d::CLIP_ENABLE, &[0]).inc(TWO_D, two_d::BLIT_CONTROL, &[control]);
    push.inc(TWO_D, two_d::BLIT_DST_X, &[0, 0, size[0], size[1]]);
    let words: Vec<u32> = [step[0], step[1], first[0], first[1]].into_iter().flat_map(fixed).collect();
    push.inc(TWO_D, two_d::BLIT_DU_DX_FRACT, &words);
}

#[test]
fn blits_convert_and_scale() {
    for chip in Chip::ALL {
        let c = Client::new(chip);
        let (from, to) = (c.buffer(4096), c.buffer(4096));
        let texels: Vec<u32> =
            [[0.0f32, 0.5, 1.0, 1.0], [1.0, 0.25, 0.0, 0.0]].iter().flatten().map(|v| v.to_bits()).collect();
        c.gpu().write(from.offset, &texels).unwrap();
        // RGBA32F to BGRA8, mirrored.
        let mut push = Commands::default();
        surface(&mut push, two_d::SRC_FORMAT, 0xc0, 32, [2, 1], from.offset);
        surface(&mut push, two_d::DST_FORMAT, 0xcf, 8, [2, 1], to.offset);
        blit(&mut push, 0, [2, 1], [-1.0, 1.0], [1.0, 0.0]);
        c.run(&push).unwrap();
        assert_eq!(c.bytes(to.offset, 8), [0, 64, 255, 0, 255, 128, 0, 255], "{chip}");
        // Twice as wide, bilinear, to R8.
        let mut push = Commands::default();
        surface(&mut push, two_d::DST_FORMAT, 0xf3, 64, [4, 1], to.offset);
        blit(&mut push, 0x10, [4, 1], [0.5, 1.0], [0.0, 0.0]);
        c.run(&push).unwrap();
        assert_eq!(c.bytes(to.offset, 4), [0, 64, 191, 255], "{chip}");
        // Nearest, clipped.
        let mut push = Commands::default();
        push.inc(TWO_D, two_d::CLIP_X, &[1, 0, 2, 1]);
        blit(&mut push, 0, [4, 1], [0.5, 1.0], [0.0, 0.0]);
        let clip = Header::packet(kind::INCREASING, TWO_D, two_d::CLIP_ENABLE, 1).into_bits();
        let at = push.0.iter().position(|w| *w == clip).unwrap();
        push.0[at + 1] = 1;
        c.gpu().write(to.offset, &[0x7777_7777]).unwrap();
        c.run(&push).unwrap();
        assert_eq!(c.bytes(to.offset, 4), [0x77, 0, 255, 0x77], "{chip}");
        // Integers are not converted to fractions.
        let mut push = Commands::default();
        surface(&mut push, two_d::DST_FORMAT, 0xe4, 64, [1, 1], to.offset);
        blit(&mut push, 0, [1, 1], [1.0, 1.0], [0.0, 0.0]);
        assert!(c.run(&push).unwrap_err().message.contains("a blit from format 0xc0 to 0xe4"));
    }
}

/// A window is read back from its last row on: the position of a pixel is half a step's size behind
/// its first edge, not half a step.
#[test]
fn flipped_blits_begin_with_the_last_row() {
    for chip in Chip::ALL {
        let c = Client::new(chip);
        let from = c.filled(4096, &[1, 2, 3, 4]);
        let to = c.buffer(4096);
        let mut push = Commands::default();
        surface(&mut push, two_d::SRC_FORMAT, 0xe4, 4, [1, 4], from.offset);
        surface(&mut push, two_d::DST_FORMAT, 0xe4, 4, [1, 4], to.offset);
        blit(&mut push, 0, [1, 4], [1.0, -1.0], [0.0, 3.0]);
        c.run(&push).unwrap();
        assert_eq!(c.words(to.offset, 4), [4, 3, 2, 1], "{chip}");
    }
}

#[test]
fn blits_join_and_multiply() {
    for chip in Chip::ALL {
        let c = Client::new(chip);
        let from = c.filled(4096, &[0x1234_5678, 0x9abc_def0]);
        let to = c.filled(4096, &[0x0102_0304, 0x0506_0708]);
        let mut push = Commands::default();
        // Only the stencil of Z24S8: the mask is the pattern.
        push.immediate(TWO_D, two_d::SET_DST_COLOR_RENDER_TO_ZETA_SURFACE, 1);
        push.inc(TWO_D, two_d::ROP, &[0xca]);
        push.inc(TWO_D, two_d::PATTERN_COLOR_FORMAT, &[2, 0, 0, 0xff00_0000, !0, !0]);
        surface(&mut push, two_d::SRC_FORMAT, 0xcf, 8, [2, 1], from.offset);
        surface(&mut push, two_d::DST_FORMAT, 0xcf, 8, [2, 1], to.offset);
        operation(&mut push, 4);
        c.run(&push).unwrap();
        assert_eq!(c.words(to.offset, 2), [0x1202_0304, 0x9a06_0708], "{chip}");
        // Red alone of RGBA, alpha halved.
        let mut push = Commands::default();
        push.inc(TWO_D, two_d::BETA4, &[0x80ff_0000]);
        surface(&mut push, two_d::SRC_FORMAT, 0xd5, 8, [2, 1], from.offset);
        surface(&mut push, two_d::DST_FORMAT, 0xd5, 8, [2, 1], to.offset);
        operation(&mut push, 5);
        c.run(&push).unwrap();
        assert_eq!(c.words(to.offset, 2), [0x0900_0078, 0x4d00_00f0], "{chip}");
        // R8 alone is grey, unless green and blue are multiplied away.
        let r8 = c.filled(4096, &[0xc8]);
        let mut push = Commands::default();
        surface(&mut push, two_d::SRC_FORMAT, 0xf3, 8, [2, 1], r8.offset);
        blit(&mut push, 0, [1, 1], [1.0, 1.0], [0.0, 0.0]);
        push.inc(TWO_D, two_d::BETA4, &[0xffff_0000]).inc(
            TWO_D,
            two_d::DST_ADDRESS_LOW,
            &[to.offset as u32 + 4],
        );
        operation(&mut push, 5);
        c.run(&push).unwrap();
        assert_eq!(c.words(to.offset, 2), [0xffc8_c8c8, 0xff00_00c8], "{chip}");
        // Patterns of two colours are not there.
        let mut push = Commands::default();
        push.inc(TWO_D, two_d::PATTERN_BITMAP.at(0), &[1, 0]);
        operation(&mut push, 4);
        assert!(c.run(&push).unwrap_err().message.contains("a pattern of two colours"));
    }
}

#[test]
fn macros_write_methods() {
    for chip in Chip::ALL {
        let c = Client::new(chip);
        let b = c.buffer(4096);
        let mut push = Commands::default();
        push.inc(THREE_D, bindings::CB_SIZE, &[0x100, (b.offset >> 32) as u32, b.offset as u32]);
        // Macro 3: CB_POS = first parameter; then the second one to CB_DATA(0), and what CB_SIZE says to CB_DATA(1).
        let imm = |op: u32, how: u32, dst: u32, a: u32, value: u32| {
            op | how << 4 | dst << 8 | a << 11 | value << 14
        };
        let code = [
            imm(1, 2, 0, 0, 0x1000 | (bindings::CB_POS / 4)),
            imm(1, 4, 0, 1, 0),
            imm(1, 0, 2, 0, 0),
            imm(1, 4, 0, 2, 0) | 1 << 7,
            imm(5, 4, 0, 0, bindings::CB_SIZE / 4),
        ];
        push.inc(THREE_D, macros::MACRO_UPLOAD_POS, &[0])
            .same(THREE_D, macros::MACRO_UPLOAD_DATA, &code)
            .inc(THREE_D, macros::MACRO_ID, &[3, 0]);
        push.once(THREE_D, macros::MACRO.at(3), &[20, 0xabcd]);
        c.run(&push).unwrap();
        assert_eq!(c.words(b.offset + 16, 4), [0, 0xabcd, 0x100, 0], "{chip}");
        let mut push = Commands::default();
        push.inc(THREE_D, macros::MACRO.at(3), &[20]);
        let e = c.run(&push).unwrap_err();
        assert!(
            e.message.contains("MACRO_3 (3818): macro 3: word 0x2 reads a parameter that was not given"),
            "{e}"
        );
    }
}

#[test]
fn semaphores_release_and_check() {
    let c = Client::new(Chip::Gk104);
    let b = c.buffer(4096);
    let (high, low) = ((b.offset >> 32) as u32, b.offset as u32);
    let mut push = Commands::default();
    push.inc(THREE_D, channel::SEMAPHORE_ADDRESS_HIGH, &[high, low, 9, 0x0100_0002]).inc(
        THREE_D,
        channel::SEMAPHORE_ADDRESS_HIGH,
        &[high, low, 9, 0x1001],
    );
    push.inc(THREE_D, channel::SEMAPHORE_ADDRESS_HIGH, &[high, low, 8, 0x1004]);
    c.run(&push).unwrap();
    assert_eq!(c.words(b.offset, 2), [9, 0]);
    let mut push = Commands::default();
    push.inc(THREE_D, channel::SEMAPHORE_ADDRESS_HIGH, &[high, low, 10, 0x1004]);
    assert!(c.run(&push).unwrap_err().message.contains("the wait for 0xa"));
}

#[test]
fn a_fault_says_where_it_was_and_ends_the_channel_but_not_its_fences() {
    let c = Client::new(Chip::Gk110);
    let b = c.buffer(4096);
    let fence = [(b.offset >> 32) as u32, b.offset as u32, 5, 0x1000_f010];
    let mut push = Commands::default();
    push.inc(THREE_D, three_d::CLIPID_FILL, &[4]).inc(THREE_D, query::QUERY_ADDRESS_HIGH, &fence);
    let e = c.run(&push).unwrap_err();
    assert_eq!(e.kind, nvir_vgpu::ErrorKind::NoDevice);
    assert!(
        e.message.contains(
            "subchannel 0 class a197 CLIPID_FILL (19d4): drawing by this method is not implemented"
        ),
        "{e}"
    );
    assert_eq!(c.words(b.offset, 1), [5]);
    let e = c.run(&Commands::default().inc(THREE_D, bindings::CB_SIZE, &[1]).clone()).unwrap_err();
    assert!(e.message.starts_with("channel 1 is lost: submission 1"), "{e}");
    // Another channel works.
    let channel = c.file.channel_alloc(0, 0).unwrap().channel;
    assert_eq!(channel, 2);
    let c = Client { channel, ..c };
    c.run(Commands::default().inc(THREE_D, channel::OBJECT, &[classes(Chip::Gk110)[0]]).inc(
        THREE_D,
        query::QUERY_ADDRESS_HIGH,
        &fence,
    ))
    .unwrap();
}

#[test]
fn work_is_bounded() {
    let c = Client::new(Chip::Gf100);
    let b = c.buffer(4096);
    // 2^32 rows of 4 bytes to one place.
    let mut push = Commands::default();
    push.address(MEMORY, m2mf::OFFSET_IN_HIGH, b.offset)
        .address(MEMORY, m2mf::OFFSET_OUT_HIGH, b.offset + 8)
        .inc(MEMORY, m2mf::PITCH_IN, &[0, 0, 4, u32::MAX]);
    push.inc(MEMORY, m2mf::EXEC, &[0x0010_0110]);
    let e = c.run(&push).unwrap_err();
    assert!(e.message.contains("EXEC (0300): the submission takes more work"), "{e}");
}

#[test]
fn transfers_release_semaphores_when_they_are_done() {
    for chip in Chip::ALL {
        let c = Client::new(chip);
        let (a, b) = (c.filled(4096, &[1, 2, 3, 4]), c.filled(4096, &[u32::MAX; 64]));
        let at = |offset: u64| [((b.offset + offset) >> 32) as u32, (b.offset + offset) as u32];
        // 16 bytes with a word behind them; then no bytes, and four words.
        let mut push = Commands::default();
        if chip == Chip::Gf100 {
            let [high, low] = at(64);
            push.address(MEMORY, m2mf::OFFSET_IN_HIGH, a.offset).address(
                MEMORY,
                m2mf::OFFSET_OUT_HIGH,
                b.offset,
            );
            push.inc(MEMORY, m2mf::LINE_LENGTH_IN, &[16, 1]).inc(
                MEMORY,
                m2mf::QUERY_ADDRESS_HIGH,
                &[high, low, 77, 0, 0, 1],
            );
            push.inc(MEMORY, m2mf::EXEC, &[0x10_2110]).inc(MEMORY, m2mf::QUERY_ADDRESS_LOW, &[low + 16, 78]);
            push.inc(MEMORY, m2mf::LINE_LENGTH_IN, &[0, 0]).inc(MEMORY, m2mf::EXEC, &[0x2110]);
        } else {
            let [high, low] = at(64);
            push.address(COPY, copy::SRC_ADDRESS_HIGH, a.offset)
                .address(COPY, copy::DST_ADDRESS_HIGH, b.offset)
                .inc(COPY, copy::X_COUNT, &[16]);
            push.inc(COPY, copy::QUERY_ADDRESS_HIGH, &[high, low, 77]).inc(COPY, copy::EXEC, &[0x18a]);
            push.inc(COPY, copy::QUERY_ADDRESS_LOW, &[low + 16, 78]).inc(COPY, copy::EXEC, &[0x190]);
        }
        c.run(&push).unwrap();
        assert_eq!(c.words(b.offset, 5), [1, 2, 3, 4, u32::MAX], "{chip}");
        let words = c.words(b.offset + 64, 9);
        assert_eq!(words[..6], [77, u32::MAX, u32::MAX, u32::MAX, 78, 0], "{chip}");
        assert!(words[6] >= 1_000_000_000 && words[7] == 0 && words[8] == u32::MAX, "{words:?}");
        // The same for data in the stream: not before they have come.
        let sub = if chip == Chip::Gf100 { MEMORY } else { COMPUTE };
        let mut push = Commands::default();
        let [high, low] = at(128);
        if chip == Chip::Gf100 {
            push.address(MEMORY, m2mf::OFFSET_OUT_HIGH, b.offset + 128).inc(
                MEMORY,
                m2mf::LINE_LENGTH_IN,
                &[8, 1],
            );
            push.inc(MEMORY, m2mf::QUERY_ADDRESS_HIGH, &[high, low, 79]).inc(
                MEMORY,
                m2mf::EXEC,
                &[0x10_2111],
            );
            push.same(sub, m2mf::DATA, &[5]).same(sub, m2mf::DATA, &[6]);
        } else {
            push.address(sub, upload::UPLOAD_DST_ADDRESS_HIGH, b.offset + 128).inc(
                sub,
                upload::UPLOAD_LINE_LENGTH_IN,
                &[8, 1],
            );
            push.inc(sub, upload::UPLOAD_QUERY_ADDRESS_HIGH, &[high, low, 79]).inc(
                sub,
                upload::UPLOAD_EXEC,
                &[0x1021],
            );
            push.same(sub, upload::UPLOAD_DATA, &[5]).same(sub, upload::UPLOAD_DATA, &[6]);
        }
        c.run(&push).unwrap();
        assert_eq!(c.words(b.offset + 128, 3), [79, 6, u32::MAX], "{chip}");
    }
}

/// What has an effect that is not there ends the channel, and the message names the method.
#[test]
fn effects_that_are_not_there_are_faults() {
    let run = |chip: Chip, sub: u32, writes: &[(u32, &[u32])]| {
        let c = Client::new(chip);
        let b = c.buffer(65536);
        let mut push = Commands::default();
        push.address(THREE_D, three_d::RT_ADDRESS_HIGH.at(0), b.offset).inc(
            THREE_D,
            three_d::RT_HORIZ.at(0),
            &[16, 16, 0xd5, 0x1000, 1],
        );
        push.inc(TWO_D, two_d::DST_FORMAT, &[0xd5, 1, 0, 1, 0, 64, 16, 16]).address(
            TWO_D,
            two_d::DST_ADDRESS_HIGH,
            b.offset,
        );
        push.inc(TWO_D, two_d::SRC_FORMAT, &[0xd5, 1, 0, 1, 0, 64, 16, 16]).address(
            TWO_D,
            two_d::SRC_ADDRESS_HIGH,
            b.offset,
        );
        push.inc(TWO_D, two_d::OPERATION, &[3]);
        c.run(&push).unwrap();
        let mut push = Commands::default();
        for (method, words) in writes {
            push.inc(sub, *method, words);
        }
        c.run(&push).unwrap_err().message
    };
    /// A chip, a register block, methods with their words, what the fault says.
    type Row<'a> = (Chip, u32, Vec<(u32, &'a [u32])>, &'a str);
    let mut rows: Vec<Row<'_>> = vec![(
        Chip::Gf100,
        MEMORY,
        vec![(m2mf::COND_MODE, &[9]), (m2mf::EXEC, &[0x110])],
        "9039 EXEC (0300): condition 9",
    )];
    for chip in Chip::ALL {
        rows.extend([
            (chip, THREE_D, vec![(three_d::VERTEX_DATA, &[0u32][..])], "VERTEX_DATA (1640): drawing"),
            (chip, THREE_D, vec![(three_d::CLIPID_FILL, &[1])], "CLIPID_FILL (19d4): drawing"),
            (
                chip,
                THREE_D,
                vec![(three_d::CLEAR_FLAGS, &[1]), (three_d::CLEAR_BUFFERS, &[0x3c])],
                "CLEAR_BUFFERS (19d0): CLEAR_FLAGS",
            ),
            (chip, TWO_D, vec![(two_d::DRAW_POINT16, &[0])], "DRAW_POINT16 (05e0): drawing in 2D"),
            (
                chip,
                TWO_D,
                vec![(two_d::DRAW_POINT32_X.at(1), &[0])],
                "DRAW_POINT32_X(1) (0608): drawing in 2D",
            ),
            (chip, TWO_D, vec![(two_d::SIFC_DATA, &[0])], "SIFC_DATA (0860): drawing in 2D"),
            (
                chip,
                TWO_D,
                vec![(two_d::OPERATION, &[1]), (two_d::BLIT_SRC_Y_INT, &[0])],
                "BLIT_SRC_Y_INT (08dc): 2D operation 1",
            ),
            (
                chip,
                TWO_D,
                vec![(two_d::COLOR_KEY_ENABLE, &[1]), (two_d::BLIT_SRC_Y_INT, &[0])],
                "BLIT_SRC_Y_INT (08dc): colour keys",
            ),
            (
                chip,
                TWO_D,
                vec![(two_d::OPERATION, &[2]), (two_d::BLIT_SRC_Y_INT, &[0])],
                "BLIT_SRC_Y_INT (08dc): 2D operation 2",
            ),
        ]);
    }
    for chip in KEPLERS {
        rows.extend([
            (chip, COPY, vec![(copy::EXEC, &[0x1182u32][..])], "a0b5 EXEC (0300): EXEC 0x1182: physical"),
            (
                chip,
                COPY,
                vec![(copy::EXEC, &[0x8_0182])],
                "a0b5 EXEC (0300): EXEC 0x80182: physical addresses and reductions",
            ),
            (chip, COPY, vec![(copy::EXEC, &[0x198])], "a0b5 EXEC (0300): EXEC 0x198: no such semaphore"),
            (
                chip,
                COPY,
                vec![(copy::SWIZZLE, &[0x4444]), (copy::EXEC, &[0x586])],
                "EXEC (0300): components are not copied as they are",
            ),
            (chip, MEMORY, vec![(upload::UPLOAD_EXEC, &[3])], "UPLOAD_EXEC (01b0): reductions"),
        ]);
    }
    for (chip, sub, writes, want) in rows {
        let message = run(chip, sub, &writes);
        assert!(message.contains(want), "{chip}: {message}\n{want}");
    }
}
