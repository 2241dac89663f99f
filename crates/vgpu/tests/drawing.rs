//! Draws of hand-written programs, command by command: what lies in the target is computed by hand.

mod common;

use common::scene::{self, LINES, NEXT_INSTANCE, POINTS, QUADS, STRIP, TRIANGLES, rectangle};
use common::{THREE_D, Text, scene::Order};
use nvir::Chip;
use nvir_hw::method::query;
use nvir_hw::method::three_d::*;
use nvir_vgpu::Config;
use nvir_vgpu::frames::{Frame, Pixels};
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex};

/// Pixels of a row and rows of the target, which is linear RGBA8.
const SIDE: usize = 8;

const RED: [f32; 4] = [1.0, 0.0, 0.0, 1.0];
const GREEN: [f32; 4] = [0.0, 1.0, 0.0, 1.0];

/// A small scene whose target is read as letters.
struct Scene(scene::Scene);

impl Deref for Scene {
    type Target = scene::Scene;

    fn deref(&self) -> &scene::Scene {
        &self.0
    }
}

impl DerefMut for Scene {
    fn deref_mut(&mut self) -> &mut scene::Scene {
        &mut self.0
    }
}

impl Scene {
    fn new(chip: Chip) -> Scene {
        Scene::with(Config::new(chip))
    }

    fn with(config: Config) -> Scene {
        Scene(scene::Scene::new(config, SIDE as u32, Order::Linear, 512))
    }

    /// The target as rows of letters.
    fn picture(&self) -> String {
        let words = self.client.words(self.target.offset, SIDE * SIDE);
        let letter = |w: &u32| match *w {
            0 => '.',
            0xff00_00ff => 'r',
            0xff00_ff00 => 'g',
            0xff00_ffff => 'y',
            _ => '?',
        };
        words.chunks(SIDE).map(|row| row.iter().map(letter).collect::<String>()).collect::<Vec<_>>().join(" ")
    }

    fn clear(&self) {
        self.client.gpu().write(self.target.offset, &[0; SIDE * SIDE]).unwrap();
    }
}

#[test]
fn a_triangle_covers_what_is_inside_and_its_top_left_edges() {
    for chip in Chip::ALL {
        let mut s = Scene::new(chip);
        s.vertices(&[([0.0, 0.0], RED), ([8.0, 0.0], RED), ([0.0, 8.0], RED)]);
        s.draw(TRIANGLES, 0, 3).run();
        let want = "rrrrrrr. rrrrrr.. rrrrr... rrrr.... rrr..... rr...... r....... ........";
        assert_eq!(s.picture(), want, "{chip}");
        // The other half has the pixels of the shared edge.
        s.vertices(&[([8.0, 0.0], GREEN), ([8.0, 8.0], GREEN), ([0.0, 8.0], GREEN)]);
        s.draw(TRIANGLES, 0, 3).run();
        let want = "rrrrrrrg rrrrrrgg rrrrrggg rrrrgggg rrrggggg rrgggggg rggggggg gggggggg";
        assert_eq!(s.picture(), want, "{chip}");
    }
}

#[test]
fn strips_go_on_over_draws_and_flat_colours_are_the_provoking_vertexs() {
    for chip in Chip::ALL {
        let mut s = Scene::new(chip);
        let mut all = rectangle([0.0, 8.0], [0.0, 4.0], RED);
        all[3].1 = GREEN;
        s.vertices(&all);
        // Two draws of two vertices; the last vertex is the provoking one.
        s.set(PROVOKING_VERTEX_LAST, &[1]).set(VERTEX_BEGIN_GL, &[STRIP]);
        s.set(VERTEX_BUFFER_FIRST, &[0, 2]).set(VERTEX_BUFFER_FIRST, &[2, 2]).set(VERTEX_END_GL, &[0]).run();
        let want = "rrrrrrrg rrrrrggg rrrggggg rggggggg ........ ........ ........ ........";
        assert_eq!(s.picture(), want, "{chip}");
        s.clear();
        s.set(PROVOKING_VERTEX_LAST, &[0]).draw(STRIP, 0, 4).run();
        assert_eq!(s.picture(), "rrrrrrrr rrrrrrrr rrrrrrrr rrrrrrrr ........ ........ ........ ........");
    }
}

#[test]
fn indices_of_three_sizes_restart_and_have_a_base() {
    for chip in Chip::ALL {
        let mut s = Scene::new(chip);
        let mut all = vec![([0.0; 2], RED)];
        all.extend(rectangle([0.0, 4.0], [0.0, 2.0], RED));
        all.extend(rectangle([4.0, 8.0], [2.0, 4.0], GREEN));
        s.vertices(&all);
        let indices = s.client.filled(4096, &[]);
        let want = "rrrr.... rrrr.... ....gggg ....gggg ........ ........ ........ ........";
        for format in 0..3 {
            let restart = [0xff, 0xffff, u32::MAX][format];
            let list = [9, 0, 1, 2, 3, restart, 4, 5, 6, 7];
            let size = 1 << format;
            let bytes: Vec<u8> = list.iter().flat_map(|i| i.to_le_bytes()[..size].to_vec()).collect();
            s.client.write_bytes(indices.offset, &[bytes, vec![0; 4]].concat());
            s.clear();
            s.push.address(THREE_D, INDEX_ARRAY_START_HIGH, indices.offset);
            s.push.address(THREE_D, INDEX_ARRAY_LIMIT_HIGH, indices.offset + 0xfff);
            s.set(INDEX_FORMAT, &[format as u32]).set(PRIM_RESTART_ENABLE, &[1, restart]);
            s.set(VB_ELEMENT_BASE, &[1]).set(VERTEX_BEGIN_GL, &[STRIP]);
            s.set(INDEX_BATCH_FIRST, &[1, 9]).set(VERTEX_END_GL, &[0]).run();
            assert_eq!(s.picture(), want, "{chip} format {format}");
        }
        // In the stream: one, then two in each word, then four.
        s.clear();
        s.set(PRIM_RESTART_ENABLE, &[1, 0xff]).set(VERTEX_BEGIN_GL, &[STRIP]);
        s.push.same(THREE_D, VB_ELEMENT_U32, &[0]).same(THREE_D, VB_ELEMENT_U16, &[2 << 16 | 1]);
        s.push.same(THREE_D, VB_ELEMENT_U8, &[0x0504_ff03]).same(THREE_D, VB_ELEMENT_U32, &[6, 7]);
        s.set(VERTEX_END_GL, &[0]).run();
        assert_eq!(s.picture(), want, "{chip} in the stream");
    }
}

#[test]
fn instances_count_on_and_dropped_arrays_forget_them() {
    for chip in Chip::ALL {
        let mut s = Scene::new(chip);
        s.vertices(&rectangle([0.0, 8.0], [0.0, 8.0], RED));
        let colors = s.client.filled(4096, &[RED, GREEN].concat().map_to_bits());
        s.set(VERTEX_ATTRIB_FORMAT.at(1), &[0x3820_0001]).set(VERTEX_ARRAY_FETCH.at(1), &[1 << 12 | 16]);
        s.push.address(THREE_D, VERTEX_ARRAY_START_HIGH.at(1), colors.offset);
        s.push.address(THREE_D, VERTEX_ARRAY_LIMIT_HIGH.at(1), colors.offset + 31);
        s.set(VERTEX_ARRAY_DIVISOR.at(1), &[2]).set(VERTEX_ARRAY_PER_INSTANCE.at(1), &[1]);
        let all = |letter: &str| vec![letter.repeat(SIDE); SIDE].join(" ");
        // Instances 0 and 1 are red, the third green.
        let next = STRIP | NEXT_INSTANCE;
        s.draw(STRIP, 0, 4).draw(next, 0, 4).run();
        assert_eq!(s.picture(), all("r"), "{chip}");
        s.draw(next, 0, 4).run();
        assert_eq!(s.picture(), all("g"), "{chip}");
        // An array that is switched off forgets its instances: vertex 1 is green, and provokes.
        s.set(VERTEX_ARRAY_FETCH.at(1), &[0]).set(VERTEX_ARRAY_FETCH.at(1), &[1 << 12 | 16]);
        s.vertices(&[([0.0, 0.0], RED), ([8.0, 0.0], RED), ([0.0, 8.0], RED), ([8.0, 8.0], RED)]);
        s.clear();
        s.draw(TRIANGLES, 1, 3).run();
        assert!(s.picture().ends_with("gg"), "{chip}: {}", s.picture());
    }
}

trait MapToBits {
    fn map_to_bits(&self) -> Vec<u32>;
}

impl MapToBits for [f32] {
    fn map_to_bits(&self) -> Vec<u32> {
        self.iter().map(|v| v.to_bits()).collect()
    }
}

#[test]
fn scissors_masks_and_blending_decide_what_is_written() {
    for chip in Chip::ALL {
        let mut s = Scene::new(chip);
        s.vertices(
            &[rectangle([0.0, 8.0], [0.0, 8.0], RED), rectangle([0.0, 8.0], [0.0, 8.0], GREEN)].concat(),
        );
        s.set(SCISSOR_ENABLE.at(0), &[1, 6 << 16 | 2, 4 << 16 | 1]).draw(STRIP, 0, 4);
        // Added: yellow.
        s.set(BLEND_ENABLE.at(0), &[1]).set(BLEND_EQUATION_RGB, &[0x8006, 0x4001, 0x4001]);
        s.set(BLEND_EQUATION_ALPHA, &[0x8006, 0x4001]).set(BLEND_FUNC_DST_ALPHA, &[0x4001]);
        s.set(SCISSOR_HORIZ.at(0), &[4 << 16 | 1]).draw(STRIP, 4, 4);
        // Only green and alpha of red are 1.
        s.set(BLEND_ENABLE.at(0), &[0])
            .set(COLOR_MASK.at(0), &[0x1110])
            .set(SCISSOR_HORIZ.at(0), &[8 << 16 | 7]);
        s.draw(STRIP, 4, 4).run();
        let row = ".gyyrr.g";
        assert_eq!(s.picture(), format!("{0} {row} {row} {row} {0} {0} {0} {0}", "........"), "{chip}");
    }
}

#[test]
fn depth_and_stencil_are_tested_and_samples_are_counted() {
    for chip in Chip::ALL {
        let mut s = Scene::new(chip);
        // Z24S8, linear: depth 1, stencil 5 in the left half.
        let left = |x: usize| if x < 4 { 5 << 24 } else { 0 };
        let zeta: Vec<u32> = (0..64).map(|i| 0x00ff_ffff | left(i % 8)).collect();
        let zeta = s.client.filled(4096, &zeta);
        let report = s.client.buffer(4096);
        s.vertices(&rectangle([0.0, 8.0], [0.0, 8.0], RED));
        s.push.address(THREE_D, ZETA_ADDRESS_HIGH, zeta.offset);
        s.set(ZETA_FORMAT, &[0x16, 1 << 12, 0]).set(ZETA_HORIZ, &[32, 8, 1]).set(ZETA_ENABLE, &[1]);
        s.set(DEPTH_TEST_ENABLE, &[1]).set(DEPTH_TEST_FUNC, &[0x201]).set(DEPTH_WRITE_ENABLE, &[1]);
        s.set(STENCIL_ENABLE, &[1, 0x1e00, 0x1e03, 0x1e02, 0x202, 5, 0xff, 0xff]);
        s.set(SAMPLECNT_ENABLE, &[1]).draw(STRIP, 0, 4);
        let get = [(report.offset >> 32) as u32, report.offset as u32, 9, 0x0100_f002];
        s.set(query::QUERY_ADDRESS_HIGH, &get).run();
        assert_eq!(s.picture(), ["rrrr...."; 8].join(" "), "{chip}");
        // Depth 0.5 and stencil 6 where it passed.
        assert_eq!(s.client.words(zeta.offset + 12, 2), [0x0680_0000, 0x00ff_ffff], "{chip}");
        assert_eq!(s.client.words(report.offset, 2), [9, 32], "{chip}");
        // Again: stencil 6 is not 5.
        s.clear();
        s.draw(STRIP, 0, 4).run();
        assert_eq!(s.picture(), ["........"; 8].join(" "), "{chip}");
    }
}

/// Alpha is 0 in half of the pixels, which the alpha test drops.
#[test]
fn samples_are_counted_with_the_tests_of_depth() {
    for chip in Chip::ALL {
        let mut s = Scene::new(chip);
        let zeta = s.client.filled(4096, &[0x00ff_ffff; 64]);
        let report = s.client.buffer(4096);
        let (left, right) = ([0.0, 4.0], [4.0, 8.0]);
        s.vertices(
            &[rectangle(left, [0.0, 8.0], RED), rectangle(right, [0.0, 8.0], [1.0, 0.0, 0.0, 0.0])].concat(),
        );
        s.push.address(THREE_D, ZETA_ADDRESS_HIGH, zeta.offset);
        s.set(ZETA_FORMAT, &[0x16, 1 << 12, 0]).set(ZETA_HORIZ, &[32, 8, 1]).set(ZETA_ENABLE, &[1]);
        s.set(DEPTH_TEST_ENABLE, &[1]).set(DEPTH_TEST_FUNC, &[0x203]).set(DEPTH_WRITE_ENABLE, &[1]);
        s.set(ALPHA_TEST_ENABLE, &[1]).set(ALPHA_TEST_REF, &[0.5f32.to_bits(), 0x204]);
        s.set(SAMPLECNT_ENABLE, &[1]);
        for (early, at) in [0, 16].into_iter().enumerate() {
            let get = [(report.offset >> 32) as u32, (report.offset + at) as u32, 9, 0x0100_f002];
            s.set(FORCE_EARLY_FRAGMENT_TESTS, &[early as u32]).set(COUNTER_RESET, &[1]);
            s.draw(STRIP, 0, 4).draw(STRIP, 4, 4).set(query::QUERY_ADDRESS_HIGH, &get).run();
            assert_eq!(s.picture(), ["rrrr...."; 8].join(" "), "{chip}");
        }
        // Before the program runs all have passed, and their depths are written.
        let counts = [0, 16].map(|at| s.client.words(report.offset + at, 2)[1]);
        assert_eq!((counts, s.client.words(zeta.offset + 16, 1)[0]), ([32, 64], 0x0080_0000), "{chip}");
    }
}

#[test]
fn points_lines_and_quads() {
    for chip in Chip::ALL {
        let mut s = Scene::new(chip);
        s.vertices(&[([1.5, 1.5], RED), ([4.5, 1.5], RED), ([7.5, 1.5], GREEN)]);
        s.set(LINE_WIDTH_ALIASED, &[1f32.to_bits()])
            .set(POINT_SIZE, &[1f32.to_bits()])
            .set(POINT_SPRITE_ENABLE, &[1]);
        s.draw(LINES, 0, 2).draw(POINTS, 2, 1).run();
        let want = "........ .rrr...g ........ ........ ........ ........ ........ ........";
        assert_eq!(s.picture(), want, "{chip}");
        s.clear();
        s.vertices(&[([0.0, 0.0], RED), ([2.0, 0.0], RED), ([2.0, 2.0], RED), ([0.0, 2.0], RED)]);
        s.draw(QUADS, 0, 4).run();
        assert_eq!(s.picture(), "rr...... rr...... ........ ........ ........ ........ ........ ........");
    }
}

#[test]
fn feedback_writes_what_fits_and_counts_what_does_not() {
    for chip in Chip::ALL {
        let mut s = Scene::new(chip);
        let (buffer, report) = (s.client.buffer(4096), s.client.buffer(4096));
        s.vertices(&[([1.0, 2.0], RED), ([3.0, 4.0], RED), ([5.0, 6.0], RED), ([7.0, 8.0], RED)]);
        let at = |a: u64| [(a >> 32) as u32, a as u32];
        // x and y of points, 8 bytes a vertex, room for three.
        s.set(TFB_BUFFER_ENABLE.at(0), &[1, at(buffer.offset)[0], at(buffer.offset)[1], 24, 0]);
        s.set(TFB_STREAM.at(0), &[0, 2, 8]).set(TFB_VARYING_LOCS.at(0), &[0x1d1c]).set(TFB_ENABLE, &[1]);
        s.set(RASTERIZE_ENABLE, &[0]).draw(POINTS, 0, 4);
        for (n, what) in
            [0x0580_5002, 0x0680_5002, 0x0300_5002, 0x0d00_5002, 0x0900_5002].into_iter().enumerate()
        {
            let [high, low] = at(report.offset + 16 * n as u64);
            s.set(query::QUERY_ADDRESS_HIGH, &[high, low, 0x77, what]);
        }
        s.run();
        let want = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 0.0].map_to_bits();
        assert_eq!(s.client.words(buffer.offset, 7), want, "{chip}");
        let reports: Vec<u32> =
            (0..5).map(|n| s.client.words(report.offset + 16 * n, 2)).map(|w| w[0]).collect();
        let bytes = s.client.words(report.offset + 48, 2);
        assert_eq!((reports, bytes), (vec![3, 4, 1, 0x77, 4], vec![0x77, 24]), "{chip}");
        assert_eq!(s.picture(), ["........"; 8].join(" "), "{chip}");
    }
}

/// Many more vertices than a batch, with strips that go over its end.
#[test]
fn long_strips_go_over_batches() {
    let mut s = Scene::new(Chip::Gk104);
    let mut all = Vec::new();
    for i in 0..200 {
        let x = i as f32 * 8.0 / 199.0;
        all.extend([([x, 0.0], RED), ([x, 8.0], RED)]);
    }
    s.vertices(&all);
    s.set(VERTEX_BEGIN_GL, &[STRIP]);
    // Back and forth over the same 400 vertices; then all pixels but none twice in the last strip.
    for _ in 0..100 {
        s.set(VERTEX_BUFFER_FIRST, &[0, 399]);
    }
    s.set(VERTEX_END_GL, &[0]).run();
    assert_eq!(s.picture(), ["rrrrrrrr"; 8].join(" "));
}

/// A checker looks at every access, so that each lane is looked up by itself.
#[test]
fn filters_that_depend_on_how_coordinates_move_are_those_of_each_lane_by_itself() {
    const SIDE: u32 = 64;
    let texels: Vec<u32> = (0..32 * 32u32).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
    for chip in Chip::ALL {
        let draw = |watched: bool, filters: [u32; 2]| {
            let mut config = Config::new(chip);
            config.launch.checks.global_race = watched;
            let mut s = scene::Scene::new(config, SIDE, Order::Blocks, 64);
            // From a quarter of a texel a pixel to some texels.
            let places = [[0.0, 0.0], [0.12, 0.03], [0.05, 0.2], [2.5, 1.9]];
            let corners = rectangle([0.0, SIDE as f32], [0.0, SIDE as f32], [0.0; 4]);
            let corners: Vec<scene::Vertex> =
                corners.iter().zip(places).map(|((at, _), [x, y])| (*at, [x, y, 0.0, 0.0])).collect();
            s.vertices(&corners);
            let buffer = s.client.filled(4096, &texels);
            s.program(5, scene::FRAGMENT, &scene::Program::textured(chip)).texture(&buffer, 32, filters);
            s.draw(STRIP, 0, 4).run();
            s.client.words(s.target.offset, (SIDE * 128) as usize)
        };
        let pictures = [[1, 1], [2, 2], [1, 2], [2, 1]].map(|filters| {
            let picture = draw(false, filters);
            assert_eq!(picture, draw(true, filters), "{chip} {filters:?}");
            picture
        });
        let [nearest, linear, both, ..] = &pictures;
        assert!(nearest != linear && both != nearest && both != linear, "{chip}");
    }
}

#[test]
fn what_cannot_be_drawn_is_a_fault_that_says_why() {
    type Change = fn(&mut Scene);
    let cases: [(Change, &str); 9] = [
        (
            |s| {
                s.set(VERTEX_BUFFER_COUNT, &[3]);
            },
            "a draw outside of BEGIN and END",
        ),
        (
            |s| {
                s.set(VERTEX_BEGIN_GL, &[0x1f]);
            },
            "there is no primitive 0x1f",
        ),
        (
            |s| {
                s.set(VERTEX_BEGIN_GL, &[4]).set(VERTEX_BEGIN_GL, &[4]);
            },
            "begins before the last one has ended",
        ),
        (
            |s| {
                s.set(RT_FORMAT.at(0), &[0x11]).draw(4, 0, 3);
            },
            "colour target 0: there is no format 0x11",
        ),
        (
            |s| {
                s.set(SP_SELECT.at(1), &[0x10]).draw(4, 0, 3);
            },
            "a draw without a vertex program",
        ),
        (
            |s| {
                s.set(SP_START_ID.at(5), &[0x3000]).draw(4, 0, 3);
            },
            "the frag program at",
        ),
        (
            |s| {
                s.set(VERTEX_ATTRIB_FORMAT.at(0), &[0x3fe0_0000]).draw(4, 0, 3);
            },
            "attribute 0: no such size",
        ),
        (
            |s| {
                s.set(VERTEX_BEGIN_GL, &[4]).set(VERTEX_BUFFER_COUNT, &[u32::MAX]);
            },
            "more work",
        ),
        (
            |s| {
                s.set(RT_ADDRESS_HIGH.at(0), &[0x77]).draw(4, 0, 3);
            },
            "is not inside one buffer",
        ),
    ];
    for chip in Chip::ALL {
        for (change, want) in &cases {
            let mut s = Scene::new(chip);
            s.vertices(&[([0.0, 0.0], RED), ([8.0, 0.0], RED), ([0.0, 8.0], RED)]);
            change(&mut s);
            let said = s.fault();
            assert!(said.contains(want), "{chip}: {said}, not {want}");
        }
    }
}

/// A scene whose frames are kept, or the one with a number.
fn with_frames(frame: Option<u64>) -> (Scene, Arc<Mutex<Vec<Frame>>>) {
    let frames: Arc<Mutex<Vec<Frame>>> = Arc::default();
    let mut config = Config::new(Chip::Gk110);
    let to = frames.clone();
    config.on_frame = Some(Box::new(move |frame| to.lock().unwrap().push(frame.clone())));
    config.frame = frame;
    (Scene::with(config), frames)
}

/// A strip over the pixels from 1 to 3 of the rows 2 and 3, and a clear, and what draws nothing.
fn three_submissions(s: &mut Scene) {
    s.vertices(&rectangle([1.0, 4.0], [2.0, 4.0], RED));
    s.set(VIEWPORT_SCALE_Y.at(0), &[1f32.to_bits()]).draw(STRIP, 0, 4).run();
    s.set(RT_CONTROL, &[0xfac_6881]).run();
    s.set(CLEAR_COLOR.at(0), &[0, 1f32.to_bits(), 0, 1f32.to_bits()]).set(CLEAR_BUFFERS, &[0x3c]).run();
}

#[test]
fn frames_are_the_targets_of_submissions_that_draw() {
    let (mut s, frames) = with_frames(None);
    three_submissions(&mut s);
    let frames = frames.lock().unwrap();
    assert_eq!(frames.iter().map(|f| f.number).collect::<Vec<_>>(), [1, 2]);
    let [picture] = &frames[0].pictures[..] else { panic!("{:?}", frames[0]) };
    assert_eq!((picture.name.as_str(), picture.width, picture.height), ("1-color", 8, 8));
    let Pixels::Rgba8(pixels) = &picture.pixels else { panic!("{picture:?}") };
    for (n, pixel) in pixels.iter().enumerate() {
        let inside = (1..4).contains(&(n % SIDE)) && (2..4).contains(&(n / SIDE));
        assert_eq!(*pixel, if inside { [255, 0, 0, 255] } else { [0; 4] }, "{n}");
    }
    let Pixels::Rgba8(pixels) = &frames[1].pictures[0].pixels else { panic!("{:?}", frames[1]) };
    assert!(pixels.iter().all(|p| *p == [0, 255, 0, 255]), "{pixels:?}");
}

#[test]
fn one_frame_is_shown_alone_and_depth_and_stencil_are_pictures() {
    let (mut s, frames) = with_frames(Some(2));
    let zeta = s.client.filled(4096, &[0x8140_0000; 64]);
    let at = [(zeta.offset >> 32) as u32, zeta.offset as u32];
    s.set(ZETA_ADDRESS_HIGH, &[at[0], at[1], 0x16, 1 << 12, 0]).set(ZETA_HORIZ, &[32, 8, 1]);
    // A viewport of OpenGL's framebuffers: the last row is the top one.
    s.set(VIEWPORT_TRANSFORM_EN, &[1]).set(VIEWPORT_SCALE_Y.at(0), &[4f32.to_bits()]);
    s.set(CLEAR_BUFFERS, &[0x3c]).run();
    s.client.gpu().write(zeta.offset + 4, &[0x7f80_0000]).unwrap();
    s.set(SCREEN_SCISSOR_HORIZ, &[1 << 16, 1 << 16]).set(CLEAR_DEPTH, &[0]).set(CLEAR_BUFFERS, &[1]).run();
    s.set(CLEAR_BUFFERS, &[0x3c]).run();
    let frames = frames.lock().unwrap();
    let [Frame { number: 2, pictures }] = &frames[..] else { panic!("{frames:?}") };
    assert_eq!(pictures.iter().map(|p| p.name.as_str()).collect::<Vec<_>>(), ["1-depth", "1-stencil"]);
    let (Pixels::Gray16(depth), Pixels::Gray8(stencil)) = (&pictures[0].pixels, &pictures[1].pixels) else {
        panic!("{pictures:?}")
    };
    // The bottom row: what was cleared, what was written, what was there.
    assert_eq!(depth[56..59], [0, 0x8000, 0x4000]);
    assert_eq!(stencil[56..59], [0x81, 0x7f, 0x81]);
    assert!(depth[..56].iter().all(|d| *d == 0x4000));
}

#[test]
fn draws_are_logged_with_their_state_and_profiled() {
    let log = Text::default();
    let mut config = Config::new(Chip::Gk110);
    config.log = Some(Box::new(log.clone()));
    config.launch.profile = true;
    let mut s = Scene::with(config);
    s.vertices(&rectangle([1.0, 4.0], [2.0, 4.0], RED));
    s.add().set(CULL_FACE_ENABLE, &[1]).set(CULL_FACE, &[0x404]).set(COLOR_MASK.at(0), &[0x1011]);
    s.draw(POINTS, 0, 1).draw(STRIP, 0, 4).draw(STRIP, 0, 3).run();
    s.client.gpu().flush();
    let log = log.get();
    let from = log
        .find("draw 2 of a triangle strip, instance 0: 4 vertices, 2 primitives, 6 fragments")
        .expect(&log);
    let lines: Vec<&str> = log[from..].lines().skip(1).take(2).collect();
    let target = format!(
        "  color 0: rgba8_unorm 8x8 at {:#x}, blend Add(One, One) alpha Add(One, One), writes rga",
        s.target.offset
    );
    assert_eq!(
        lines,
        [target.as_str(), "  raster: pixels (0, 0) to (8, 8), front CounterClockwise, culls Front"]
    );
    let draws = s.client.gpu().draw_profile();
    assert_eq!((draws.count, draws.vertices, draws.primitives), (3, 8, 4));
    let [strip, part, point] = &draws.heaviest[..] else { panic!("{draws:?}") };
    assert_eq!((strip.number, part.number, point.number), (2, 3, 1));
    assert_eq!(
        (strip.what, strip.vertices, strip.primitives, strip.fragments),
        ("a triangle strip", 4, 2, 6)
    );
    // Five instructions a vertex and a pixel; and those of helper invocations.
    assert_eq!(strip.instructions[0], 5 * 4);
    assert!(strip.instructions[4] >= 5 * 6 && strip.instructions[1..4] == [0; 3], "{strip:?}");
    assert_eq!(draws.instructions, draws.heaviest.iter().map(|d| d.all_instructions()).sum::<u64>());
}

#[test]
fn checkers_tell_of_attributes_beyond_their_arrays() {
    let notes: Arc<Mutex<Vec<String>>> = Arc::default();
    let mut config = Config::new(Chip::Gk110);
    config.launch.checks = "all".parse().unwrap();
    let to = notes.clone();
    config.launch.on_note = Some(Box::new(move |note| to.lock().unwrap().push(note.to_string())));
    let mut s = Scene::with(config);
    s.vertices(&rectangle([1.0, 4.0], [2.0, 4.0], RED));
    s.draw(STRIP, 0, 4).run();
    assert!(notes.lock().unwrap().is_empty(), "{notes:?}");
    // The array ends behind the position of the third vertex.
    let limit = s.vertices.offset + 2 * u64::from(scene::VERTEX_BYTES) + 15;
    s.push.address(THREE_D, VERTEX_ARRAY_LIMIT_HIGH.at(0), limit);
    s.draw(STRIP, 0, 4).run();
    let notes = notes.lock().unwrap();
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(
        notes[0].contains(
            "attribute 0 of vertex 3 (element 3) lies beyond its array (kernel draw 2, of the vertex"
        ),
        "{notes:?}"
    );
    assert!(notes[1].contains("attribute 1 of vertex 2 (element 2) lies beyond its array"), "{notes:?}");
}

#[test]
fn faults_of_programs_name_draw_and_vertex_or_pixel() {
    let read = |header, lines: &[&str]| scene::Program::new(header, lines);
    for chip in Chip::ALL {
        let mut s = Scene::new(chip);
        s.vertices(&rectangle([2.0, 4.0], [4.0, 6.0], RED));
        s.draw(STRIP, 0, 4).run();
        let header = scene::fragment_header(nvir_isa::header::Interpolation::Flat);
        s.program(5, scene::FRAGMENT, &read(header, &["MOV R0, RZ", "LD R0, [R0]", "EXIT"]));
        let fault = s.draw(STRIP, 0, 4).fault();
        assert!(fault.contains("draw 2: out_of_bounds") && fault.contains("pixel (2, 4)"), "{fault}");
        let mut s = Scene::new(chip);
        s.vertices(&rectangle([2.0, 4.0], [4.0, 6.0], RED));
        let header = scene::Program::pass().header;
        s.program(1, scene::VERTEX, &read(header, &["MOV R0, RZ", "LD R0, [R0]", "EXIT"]));
        let fault = s.draw(STRIP, 0, 4).fault();
        assert!(fault.contains("draw 1: out_of_bounds") && fault.contains("vertex 0"), "{fault}");
        // The vertex's own number, not its place in the batch.
        let mut s = Scene::new(chip);
        s.vertices(&rectangle([2.0, 4.0], [4.0, 6.0], RED));
        s.program(
            1,
            scene::VERTEX,
            &read(scene::Program::pass().header, &["MOV R0, RZ", "LD R0, [R0]", "EXIT"]),
        );
        let fault = s.set(VERTEX_ID_GEN_MODE, &[1 << 12]).draw(STRIP, 1, 3).fault();
        assert!(fault.contains("(vertex 1)"), "{fault}");
    }
}

#[test]
fn programs_of_stages_are_shown_once() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = seen.clone();
    let mut config = Config::new(Chip::Gf100);
    config.launch.on_kernel = Some(Box::new(move |k: &nvir_vgpu::shader::Kernel<'_>| {
        let reads = k.header.is_some_and(|h| h.reads(0x80));
        sink.lock().unwrap().push((k.stage(), reads, k.program.text(k.entry)));
    }));
    let mut s = Scene::with(config);
    s.vertices(&rectangle([0.0, 4.0], [0.0, 4.0], RED));
    s.draw(STRIP, 0, 4).draw(STRIP, 0, 4).run();
    let seen = seen.lock().unwrap();
    let [(vertex, true, first), (fragment, true, last)] = &seen[..] else { panic!("{seen:?}") };
    assert_eq!((*vertex, *fragment), (nvir::stage::Stage::Vertex, nvir::stage::Stage::Fragment));
    assert!(first.starts_with("ALD") && last.starts_with("IPA"), "{seen:?}");
}

/// Warps of one batch run on any thread; blending and tests do what was drawn in order.
#[test]
fn threads_change_no_byte() {
    const WIDE: u32 = 256;
    let picture = |threads| {
        let mut config = Config::new(Chip::Gk104);
        config.launch.threads = threads;
        let mut s = scene::Scene::new(config, WIDE, Order::Blocks, 4 * 900);
        let mut random = nvir::random::Random::new(3);
        let mut all = Vec::new();
        for _ in 0..900 {
            let at: [f32; 3] = [0; 3].map(|_| random.below(WIDE) as f32);
            let color = [0; 4].map(|_| random.below(9) as f32 / 16.0);
            all.extend(rectangle([at[0], at[0] + 60.0], [at[1], at[1] + 0.25 * at[2]], color));
        }
        s.vertices(&all);
        s.add().program(5, scene::FRAGMENT, &scene::Program::smooth()).draw(QUADS, 0, 4 * 900);
        s.run();
        s.client.words(s.target.offset, (WIDE * WIDE) as usize)
    };
    let one = picture(1);
    assert!(one.iter().filter(|w| **w != 0).count() > 30_000, "much is drawn");
    assert!(one == picture(4), "four threads");
}
