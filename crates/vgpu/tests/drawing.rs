//! Draws of hand-written programs, command by command: what lies in the target is computed by hand.

mod common;

use common::kernel;
use common::{Client, Commands, THREE_D};
use nvir::Chip;
use nvir_base::stage::{Stage, attribute};
use nvir_hw::method::three_d::*;
use nvir_hw::method::{query, shader};
use nvir_isa::header::{Header, Interpolation};
use nvir_vgpu::GemInfo;

/// Where headers are: code follows 80 bytes behind, at a multiple of 64.
const VERTEX: u32 = 0x1030;
const FRAGMENT: u32 = 0x2030;
/// Pixels of a row and rows of the target, which is linear RGBA8.
const SIDE: usize = 8;
const POINTS: u32 = 0;
const LINES: u32 = 1;
const TRIANGLES: u32 = 4;
const STRIP: u32 = 5;
const QUADS: u32 = 7;

const RED: [f32; 4] = [1.0, 0.0, 0.0, 1.0];
const GREEN: [f32; 4] = [0.0, 1.0, 0.0, 1.0];

/// A card with a target, vertices, and programs that pass a colour from the vertices on.
struct Scene {
    client: Client,
    target: GemInfo,
    vertices: GemInfo,
    push: Commands,
}

impl Scene {
    fn new(chip: Chip) -> Scene {
        let client = Client::new(chip);
        let (code, target) = (client.buffer(0x4000), client.buffer(0x4000));
        let vertices = client.buffer(0x4000);
        let mut vertex = Header::new(Stage::Vertex);
        let mut fragment = Header::new(Stage::Fragment);
        for c in [0, 4, 8, 12] {
            vertex.set_read(0x80 + c);
            vertex.set_read(0x90 + c);
            vertex.set_written(attribute::POSITION + c);
            vertex.set_written(0x80 + c);
            fragment.set_interpolation(0x80 + c, Interpolation::Flat);
        }
        fragment.set_color_mask(0, 0xf);
        let pass = [
            "ALD.128 R0, a[0x80]",
            "AST.128 a[0x70], R0",
            "ALD.128 R0, a[0x90]",
            "AST.128 a[0x80], R0",
            "EXIT",
        ];
        let flat = [0, 1, 2, 3].map(|n| format!("IPA.CONSTANT R{n}, a[{:#x}], RZ", 0x80 + 4 * n));
        let flat: Vec<&str> = flat.iter().map(String::as_str).chain(["EXIT"]).collect();
        for (at, header, lines) in [(VERTEX, &vertex, &pass[..]), (FRAGMENT, &fragment, &flat)] {
            let words: Vec<u8> = header.encode().iter().flat_map(|w| w.to_le_bytes()).collect();
            client.write_bytes(code.offset + u64::from(at), &words);
            client.write_bytes(code.offset + u64::from(at) + 80, &kernel::bytes(chip, at + 80, lines));
        }
        let mut push = Commands::default();
        push.address(THREE_D, shader::CODE_ADDRESS_HIGH, code.offset);
        for (stage, select, start) in [(1, 0x11, VERTEX), (5, 0x51, FRAGMENT)] {
            push.inc(THREE_D, SP_SELECT.at(stage), &[select, start]);
            push.inc(THREE_D, SP_GPR_ALLOC.at(stage), &[8]);
        }
        let size = SIDE as u32;
        push.address(THREE_D, RT_ADDRESS_HIGH.at(0), target.offset);
        push.inc(THREE_D, RT_HORIZ.at(0), &[4 * size, size, 0xd5, 1 << 12, 1, 0, 0]);
        push.inc(THREE_D, RT_CONTROL, &[0xfac_6881]).inc(THREE_D, RT_SEPARATE_FRAG_DATA, &[1]);
        push.inc(THREE_D, SCREEN_SCISSOR_HORIZ, &[size << 16, size << 16]);
        push.inc(THREE_D, VIEWPORT_HORIZ.at(0), &[size << 16, size << 16, 0, 1f32.to_bits()]);
        push.inc(THREE_D, VIEW_VOLUME_CLIP_CTRL, &[2]).inc(THREE_D, RASTERIZE_ENABLE, &[1]);
        push.inc(THREE_D, POLYGON_MODE_FRONT, &[0x1b02, 0x1b02]).inc(THREE_D, ATTRIBUTE_DEFAULT, &[0xe]);
        push.inc(THREE_D, COLOR_MASK.at(0), &[0x1111]).inc(THREE_D, COLOR_MASK_COMMON, &[1]);
        // Positions are window coordinates; vertices are 32 bytes of position and colour.
        push.inc(THREE_D, VIEWPORT_TRANSFORM_EN, &[0]);
        push.inc(THREE_D, VERTEX_ATTRIB_FORMAT.at(0), &[0x3820_0000, 0x3820_0000 | 16 << 7]);
        push.inc(THREE_D, VERTEX_ARRAY_FETCH.at(0), &[1 << 12 | 32]);
        push.address(THREE_D, VERTEX_ARRAY_START_HIGH.at(0), vertices.offset);
        push.address(THREE_D, VERTEX_ARRAY_LIMIT_HIGH.at(0), vertices.offset + 0x3fff);
        Scene { client, target, vertices, push }
    }

    /// Puts vertices into the array.
    fn vertices(&mut self, all: &[([f32; 2], [f32; 4])]) {
        let words = all.iter().flat_map(|([x, y], c)| [*x, *y, 0.5, 1.0].into_iter().chain(*c));
        let words: Vec<u32> = words.map(f32::to_bits).collect();
        self.client.gpu().write(self.vertices.offset, &words).unwrap();
    }

    fn set(&mut self, method: u32, values: &[u32]) -> &mut Scene {
        self.push.inc(THREE_D, method, values);
        self
    }

    fn draw(&mut self, primitive: u32, first: u32, count: u32) -> &mut Scene {
        self.set(VERTEX_BEGIN_GL, &[primitive])
            .set(VERTEX_BUFFER_FIRST, &[first, count])
            .set(VERTEX_END_GL, &[0])
    }

    /// Submits what there is.
    fn run(&mut self) {
        let push = std::mem::take(&mut self.push);
        self.client.run(&push).unwrap_or_else(|e| panic!("{e}"));
    }

    /// The fault of what there is.
    fn fault(&mut self) -> String {
        let push = std::mem::take(&mut self.push);
        self.client.run(&push).expect_err("a fault").message
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

/// The corners of a rectangle, as a strip.
fn rectangle(x: [f32; 2], y: [f32; 2], c: [f32; 4]) -> [([f32; 2], [f32; 4]); 4] {
    [([x[0], y[0]], c), ([x[1], y[0]], c), ([x[0], y[1]], c), ([x[1], y[1]], c)]
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
        let next = STRIP | 1 << 26;
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
