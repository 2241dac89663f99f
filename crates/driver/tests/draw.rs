//! Drawing with the driver on the virtual GPU: every part of the interface, by the values of pixels.

mod common;

use common::{CHIPS, compile, context, words};
use nvir::Chip;
use nvir::emu::image::Arrangement;
use nvir::emu::image::Wrap;
use nvir::emu::{Dim, Filter, ImageDesc, Sampler};
use nvir::stage::{Semantic, Stage};
use nvir_driver::*;

/// Position and colour as they come.
const VERTEX: &str = "VERT
DCL IN[0]
DCL IN[1]
DCL OUT[0], POSITION
DCL OUT[1], GENERIC[0]
  0: MOV OUT[0], IN[0]
  1: MOV OUT[1], IN[1]
  2: END
";
/// The colour that vertices have.
const FRAGMENT: &str = "FRAG
DCL IN[0], GENERIC[0], PERSPECTIVE
DCL OUT[0], COLOR
  0: MOV OUT[0], IN[0]
  1: END
";

/// An image of colours.
fn target(c: &mut Context, format: &str, size: [u32; 2]) -> Image {
    let format = format.parse().expect("a format");
    let desc = ImageDesc { dim: Dim::D2, format, size: [size[0], size[1], 1], levels: 1 };
    c.image(desc, Arrangement::Driver).expect("memory")
}

/// Positions and colours: eight floats a vertex.
fn floats(c: &mut Context, data: &[f32]) -> Buffer {
    let bytes = words(data.iter().map(|f| f.to_bits()));
    let buffer = c.buffer(bytes.len() as u64).expect("memory");
    c.write(&buffer.whole(), &bytes).expect("it fits");
    buffer
}

/// Programs and the two attributes of [`VERTEX`].
fn pipeline_of(c: &mut Context, texts: &[&str]) -> PipelineDesc {
    let chip = c.chip();
    let programs = texts.iter().map(|t| c.program(&compile(chip, t)).expect("code")).collect();
    let attribute =
        |location, offset| VertexAttribute { location, array: 0, offset, format: VertexFormat::floats(4) };
    PipelineDesc {
        programs,
        arrays: vec![VertexArray { stride: 32, instances: None }],
        attributes: vec![attribute(0, 0), attribute(1, 16)],
        ..PipelineDesc::default()
    }
}

/// A rectangle of clip space at a depth, as two triangles of one colour.
fn rectangle([x0, y0, x1, y1]: [f32; 4], z: f32, color: [f32; 4]) -> Vec<f32> {
    let corners = [[x0, y0], [x1, y0], [x0, y1], [x0, y1], [x1, y0], [x1, y1]];
    corners.iter().flat_map(|&[x, y]| [[x, y, z, 1.0], color].concat()).collect()
}

const WHOLE: [f32; 4] = [-1.0, -1.0, 1.0, 1.0];

/// The pixels of an image of four bytes each.
fn pixels(c: &mut Context, image: &Image) -> Vec<u32> {
    let bytes = c.download_image(image).expect("done");
    bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

#[test]
fn a_rectangle_covers_its_pixels_and_no_other() {
    for chip in CHIPS {
        let mut c = context(chip);
        let image = target(&mut c, "rgba8", [16, 8]);
        let desc = pipeline_of(&mut c, &[VERTEX, FRAGMENT]);
        let p = c.pipeline(desc).expect("it fits together");
        // Columns 4 to 11, rows 0 to 3: y -1 is the first row.
        let array = floats(&mut c, &rectangle([-0.5, -1.0, 0.5, 0.0], 0.5, [1.0, 0.0, 0.5, 1.0]));
        let clear = [0.0, 0.0, 0.0, 0.25];
        let pass = Pass { colors: vec![Some(ColorTarget::cleared(&image, clear))], ..Pass::default() };
        let mut r = c.render(&pass).expect("targets");
        r.draw(&Draw { arrays: vec![array.whole()], ..Draw::new(&p, 6) }).expect("queued");
        drop(r);
        let got = pixels(&mut c, &image);
        for (i, &pixel) in got.iter().enumerate() {
            let (x, y) = (i % 16, i / 16);
            let inside = (4..12).contains(&x) && y < 4;
            assert_eq!(pixel, if inside { 0xff80_00ff } else { 0x4000_0000 }, "{chip}: {x}, {y}");
        }
    }
}

/// A pass over one image that is cleared to black.
fn over(image: &Image) -> Pass {
    Pass { colors: vec![Some(ColorTarget::cleared(image, [0.0; 4]))], ..Pass::default() }
}

/// A colour of four fractions as it is stored.
fn rgba8(color: [f32; 4]) -> u32 {
    color.iter().rev().fold(0, |w, c| w << 8 | (c * 255.0).round() as u32)
}

const RED: [f32; 4] = [1.0, 0.0, 0.0, 1.0];
const GREEN: [f32; 4] = [0.0, 1.0, 0.0, 1.0];
const BLUE: [f32; 4] = [0.0, 0.0, 1.0, 1.0];

#[test]
fn outputs_are_blended_and_masked() {
    for chip in CHIPS {
        let mut c = context(chip);
        let image = target(&mut c, "rgba8", [4, 4]);
        let desc = pipeline_of(&mut c, &[VERTEX, FRAGMENT]);
        let array = floats(&mut c, &rectangle(WHOLE, 0.5, [0.8, 0.4, 0.0, 0.5]));
        let mut of = |state: ColorState, constant: [f32; 4]| {
            let p = PipelineDesc { colors: vec![state], blend_constant: constant, ..desc.clone() };
            let p = c.pipeline(p).expect("it fits together");
            let clear = ColorTarget::cleared(&image, [0.2, 0.6, 1.0, 1.0]);
            let mut r = c.render(&Pass { colors: vec![Some(clear)], ..Pass::default() }).expect("a target");
            r.draw(&Draw { arrays: vec![array.whole()], ..Draw::new(&p, 6) }).expect("queued");
            drop(r);
            pixels(&mut c, &image)[5]
        };
        let blend = |b| ColorState { blend: Some(b), ..ColorState::default() };
        assert_eq!(of(ColorState::default(), [0.0; 4]), rgba8([0.8, 0.4, 0.0, 0.5]), "{chip}");
        assert_eq!(of(blend(Blend::OVER), [0.0; 4]), rgba8([0.5, 0.5, 0.5, 0.75]), "{chip}");
        assert_eq!(of(blend(Blend::ADD), [0.0; 4]), rgba8([1.0, 1.0, 1.0, 1.0]), "{chip}");
        let weighted = Equation {
            op: BlendOp::ReverseSubtract,
            source: Factor::ConstantColor,
            destination: Factor::One,
        };
        let separate = Blend { color: weighted, alpha: Equation { op: BlendOp::Min, ..weighted } };
        assert_eq!(of(blend(separate), [0.25, 0.5, 0.0, 0.0]), rgba8([0.0, 0.4, 1.0, 0.5]), "{chip}");
        let green = ColorState { write: [false, true, false, false], ..ColorState::default() };
        assert_eq!(of(green, [0.0; 4]), rgba8([0.2, 0.4, 1.0, 1.0]), "{chip}");
    }
}

#[test]
fn depth_and_stencil_decide_what_is_drawn() {
    for chip in CHIPS {
        for format in DepthFormat::ALL {
            let mut c = context(chip);
            let image = target(&mut c, "rgba8", [8, 8]);
            let depth = c.depth_image(format, [8, 8], 1, 1).expect("memory");
            let base = PipelineDesc {
                depth_stencil: DepthStencil {
                    depth: Some(Compare::Less),
                    write_depth: true,
                    ..DepthStencil::default()
                },
                ..pipeline_of(&mut c, &[VERTEX, FRAGMENT])
            };
            // The left half at 0.25, all at 0.5, the upper half at 0.75 behind both.
            let mut data = rectangle([-1.0, -1.0, 0.0, 1.0], 0.25, RED);
            data.extend(rectangle(WHOLE, 0.5, GREEN));
            data.extend(rectangle([-1.0, -1.0, 1.0, 0.0], 0.75, BLUE));
            let array = floats(&mut c, &data);
            let p = c.pipeline(base.clone()).expect("it fits together");
            let samples = c.query(Counter::Samples).expect("memory");
            let target = DepthTarget::cleared(&depth, 1.0);
            let mut r = c.render(&Pass { depth: Some(target.clone()), ..over(&image) }).expect("targets");
            r.begin(&samples).expect("queued");
            r.draw(&Draw { arrays: vec![array.whole()], ..Draw::new(&p, 18) }).expect("queued");
            r.end(&samples).expect("queued");
            drop(r);
            let got = pixels(&mut c, &image);
            for (i, &pixel) in got.iter().enumerate() {
                assert_eq!(pixel, rgba8(if i % 8 < 4 { RED } else { GREEN }), "{chip} {format:?}: {i}");
            }
            assert_eq!(c.count(&samples).expect("done"), 64, "{chip} {format:?}: samples that passed");
            let stored = c.download_image(depth.texels()).expect("done");
            let word = |n: usize| u32::from_le_bytes(std::array::from_fn(|i| stored[n + i]));
            match format {
                DepthFormat::Z16 => assert_eq!(stored[..2], 0x4000u16.to_le_bytes(), "{chip}"),
                DepthFormat::Z32 | DepthFormat::Z32S8 => assert_eq!(f32::from_bits(word(0)), 0.25, "{chip}"),
                DepthFormat::S8Z24 => assert_eq!(word(0), 0x40_0000 << 8, "{chip}"),
                DepthFormat::Z24X8 | DepthFormat::Z24S8 => assert_eq!(word(0), 0x40_0000, "{chip}"),
            }
            if !matches!(format, DepthFormat::S8Z24 | DepthFormat::Z24S8 | DepthFormat::Z32S8) {
                continue;
            }
            // The left half marks itself; what comes then is drawn where there is no mark.
            let face = |compare, reference, pass| {
                [StencilFace { compare, reference, pass, ..StencilFace::default() }; 2]
            };
            let state = |faces| PipelineDesc {
                depth_stencil: DepthStencil { stencil: Some(faces), ..DepthStencil::default() },
                ..base.clone()
            };
            let mark = c.pipeline(state(face(Compare::Always, 3, StencilOp::Replace))).expect("it fits");
            let test = c.pipeline(state(face(Compare::NotEqual, 3, StencilOp::Keep))).expect("it fits");
            let mut r = c.render(&Pass { depth: Some(target), ..over(&image) }).expect("targets");
            let half = array.slice(0, 6 * 32);
            r.draw(&Draw { arrays: vec![half], ..Draw::new(&mark, 6) }).expect("queued");
            r.draw(&Draw { arrays: vec![array.slice(6 * 32, 6 * 32)], ..Draw::new(&test, 6) })
                .expect("queued");
            drop(r);
            let got = pixels(&mut c, &image);
            for (i, &pixel) in got.iter().enumerate() {
                assert_eq!(
                    pixel,
                    rgba8(if i % 8 < 4 { RED } else { GREEN }),
                    "{chip} {format:?}: stencil at {i}"
                );
            }
        }
    }
}

#[test]
fn indices_instances_and_restarts() {
    for chip in CHIPS {
        let mut c = context(chip);
        let image = target(&mut c, "rgba8", [8, 4]);
        // A strip of columns 0 to 3, another one of columns 4 to 7, and one vertex in front that the base skips.
        let v = |x: f32, y: f32| vec![x, y, 0.5, 1.0, 0.0, 0.0, 0.0, 1.0];
        let mut data = v(9.0, 9.0);
        for x in [-1.0, -0.5, 0.0, 0.5] {
            data.extend([v(x, -1.0), v(x, 1.0)].concat());
        }
        let vertices = floats(&mut c, &data);
        let colors = floats(&mut c, &[RED, GREEN, BLUE].concat());
        let mut desc = pipeline_of(&mut c, &[VERTEX, FRAGMENT]);
        desc.arrays.push(VertexArray { stride: 16, instances: Some(2) });
        desc.attributes[1] =
            VertexAttribute { location: 1, array: 1, offset: 0, format: VertexFormat::floats(4) };
        desc.topology = Topology::TriangleStrip;
        for (format, restart, bytes) in [
            (IndexFormat::U8, 0xff, vec![7u8, 0, 1, 2, 3, 0xff, 4, 5, 6, 7]),
            (
                IndexFormat::U16,
                0xffff,
                [7u16, 0, 1, 2, 3, 0xffff, 4, 5, 6, 7].iter().flat_map(|i| i.to_le_bytes()).collect(),
            ),
            (IndexFormat::U32, 9, words([7, 0, 1, 2, 3, 9, 4, 5, 6, 7])),
        ] {
            let p = c.pipeline(PipelineDesc { restart: Some(restart), ..desc.clone() }).expect("it fits");
            let indices = c.buffer(bytes.len() as u64).expect("memory");
            c.write(&indices.whole(), &bytes).expect("it fits");
            let indices = Indices { slice: indices.whole(), format, base: 1 };
            for (first_instance, instances, want) in [(0, 1, RED), (0, 3, GREEN), (1, 3, BLUE), (2, 1, BLUE)]
            {
                let draw = |count| Draw {
                    count,
                    indices: Some(indices.clone()),
                    arrays: vec![vertices.whole(), colors.whole()],
                    ..Draw::new(&p, 0)
                };
                let direct = Count::Direct { first: 1, count: 9, first_instance, instances };
                let memory = c.buffer(20).expect("memory");
                let numbers = words([9, instances, 1, 1, first_instance]);
                c.write(&memory.whole(), &numbers).expect("it fits");
                for count in [direct, Count::Indirect(memory.whole())] {
                    let mut r = c.render(&over(&image)).expect("a target");
                    r.draw(&draw(count.clone())).expect("queued");
                    drop(r);
                    for (i, &pixel) in pixels(&mut c, &image).iter().enumerate() {
                        // The two strips leave columns 2 and 3, and those behind 6, alone.
                        let inside = matches!(i % 8, 0 | 1 | 4 | 5);
                        let want = if inside { rgba8(want) } else { 0 };
                        assert_eq!(pixel, want, "{chip} {format:?} {count:?}: {i}");
                    }
                }
            }
        }
    }
}

/// Looks up texture 0 at the first two components of the colour.
const TEXTURED: &str = "FRAG
DCL IN[0], GENERIC[0], PERSPECTIVE
DCL OUT[0], COLOR
DCL SAMP[0]
DCL SVIEW[0], 2D, FLOAT
  0: TEX OUT[0], IN[0], SAMP[0], 2D
  1: END
";

#[test]
fn what_one_pass_draws_another_looks_up() {
    for chip in CHIPS {
        let mut c = context(chip);
        let (small, image) = (target(&mut c, "rgba8", [2, 2]), target(&mut c, "rgba8", [4, 4]));
        let plain = pipeline_of(&mut c, &[VERTEX, FRAGMENT]);
        let plain = c.pipeline(plain).expect("it fits");
        let textured = pipeline_of(&mut c, &[VERTEX, TEXTURED]);
        let textured = c.pipeline(textured).expect("it fits");
        let mut data = rectangle([-1.0, -1.0, 0.0, 0.0], 0.5, RED);
        data.extend(rectangle([0.0, 0.0, 1.0, 1.0], 0.5, GREEN));
        let first = floats(&mut c, &data);
        // Coordinates 0 to 1 over the picture.
        let corners = [[-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [1.0f32, 1.0]];
        let coordinates: Vec<f32> = corners
            .iter()
            .flat_map(|&[x, y]| [x, y, 0.5, 1.0, (x + 1.0) / 2.0, (y + 1.0) / 2.0, 0.0, 0.0])
            .collect();
        let second = floats(&mut c, &coordinates);
        for filter in [Filter::Nearest, Filter::Linear] {
            let mut r = c.render(&over(&small)).expect("a target");
            r.draw(&Draw { arrays: vec![first.whole()], ..Draw::new(&plain, 12) }).expect("queued");
            drop(r);
            let sampler =
                Sampler { wrap: [Wrap::ClampToEdge; 3], mag: filter, min: filter, ..Sampler::default() };
            let bindings = Bindings { textures: vec![(0, small.clone(), sampler)], ..Bindings::default() };
            let mut r = c.render(&over(&image)).expect("a target");
            r.draw(&Draw {
                arrays: vec![second.whole()],
                bindings: vec![(Stage::Fragment, bindings)],
                ..Draw::new(&textured, 6)
            })
            .expect("queued");
            drop(r);
            let got = pixels(&mut c, &image);
            assert_eq!(got[0], rgba8(RED), "{chip} {filter:?}");
            assert_eq!(got[15], rgba8(GREEN), "{chip} {filter:?}");
            // A quarter and three quarters of the way.
            let middle =
                if filter == Filter::Nearest { rgba8(RED) } else { rgba8([0.5625, 0.0625, 0.0, 0.625]) };
            assert_eq!(got[5], middle, "{chip} {filter:?}: {:x}", got[5]);
        }
    }
}

/// Colours from uniforms, a uniform block and a storage buffer; counts its runs.
const RESOURCES: &str = "FRAG
DCL IN[0], POSITION, LINEAR
DCL OUT[0], COLOR
DCL CONST[0][0]
DCL CONST[1][0..1]
DCL BUFFER[0]
DCL TEMP[0..1]
IMM[0] UINT32 {0, 4, 1, 0}
  0: LOAD TEMP[0].x, BUFFER[0], IMM[0].xxxx
  1: ATOMUADD TEMP[1].x, BUFFER[0], IMM[0].yyyy, IMM[0].zzzz
  2: MOV OUT[0].x, CONST[0][0].xxxx
  3: MOV OUT[0].y, CONST[1][1].yyyy
  4: MOV OUT[0].z, TEMP[0].xxxx
  5: MOV OUT[0].w, CONST[1][0].xxxx
  6: END
";

#[test]
fn programs_read_uniforms_and_write_buffers() {
    for chip in CHIPS {
        let mut c = context(chip);
        let image = target(&mut c, "rgba8", [8, 8]);
        let desc = pipeline_of(&mut c, &[VERTEX, RESOURCES]);
        let p = c.pipeline(desc).expect("it fits");
        let array = floats(&mut c, &rectangle(WHOLE, 0.5, RED));
        let block = floats(&mut c, &[1.0, 0.0, 0.0, 0.0, 0.0, 0.4, 0.0, 0.0]);
        let storage = floats(&mut c, &[0.6, 0.0]);
        let of = |red: f32| Bindings {
            uniforms: red.to_le_bytes().to_vec(),
            uniform_blocks: vec![(0, block.whole())],
            buffers: vec![(0, storage.whole())],
            ..Bindings::default()
        };
        let runs = c.query(Counter::FragmentInvocations).expect("memory");
        let mut r = c.render(&over(&image)).expect("a target");
        r.begin(&runs).expect("queued");
        // Two halves in one pass, each with uniforms of its own.
        for (n, red) in [0.2, 0.8].into_iter().enumerate() {
            let at = [0, 4 * n as u32];
            let scissor = Some(Rect { at, size: [8, 4] });
            r.viewports(&[Viewport { scissor, ..Viewport::whole([8, 8]) }]).expect("it is finite");
            let bindings = vec![(Stage::Fragment, of(red))];
            r.draw(&Draw { arrays: vec![array.whole()], bindings, ..Draw::new(&p, 6) }).expect("queued");
        }
        r.end(&runs).expect("queued");
        drop(r);
        let got = pixels(&mut c, &image);
        assert_eq!([got[0], got[63]], [0.2, 0.8].map(|red| rgba8([red, 0.4, 0.6, 1.0])), "{chip}");
        let count = c.read(&storage.slice(4, 4)).expect("done");
        assert_eq!(u32::from_le_bytes(count.try_into().expect("4 bytes")), 64, "{chip}");
        assert_eq!(c.count(&runs).expect("done"), 64, "{chip}");
    }
}

/// A primitive goes to the layer that its number says; all corners have its colour.
const LAYERS: &str = "GEOM
PROPERTY GS_INPUT_PRIMITIVE TRIANGLES
PROPERTY GS_OUTPUT_PRIMITIVE TRIANGLE_STRIP
PROPERTY GS_MAX_OUTPUT_VERTICES 3
PROPERTY GS_INVOCATIONS 1
DCL IN[][0], POSITION
DCL IN[][1], GENERIC[0]
DCL IN[][2], PRIM_ID
DCL OUT[0], POSITION
DCL OUT[1], GENERIC[0]
DCL OUT[2], LAYER
DCL TEMP[0]
IMM[0] UINT32 {0, 1, 0, 0}
  0: USHR TEMP[0].x, IN[2].xxxx, IMM[0].yyyy
  1: MOV OUT[0], IN[0][0]
  2: MOV OUT[1], IN[0][1]
  3: MOV OUT[2].x, TEMP[0].xxxx
  4: EMIT IMM[0].xxxx
  5: MOV OUT[0], IN[1][0]
  6: MOV OUT[1], IN[1][1]
  7: MOV OUT[2].x, TEMP[0].xxxx
  8: EMIT IMM[0].xxxx
  9: MOV OUT[0], IN[2][0]
 10: MOV OUT[1], IN[2][1]
 11: MOV OUT[2].x, TEMP[0].xxxx
 12: EMIT IMM[0].xxxx
 13: ENDPRIM IMM[0].xxxx
 14: END
";

#[test]
fn geometry_programs_choose_layers_and_feedback_writes_what_they_make() {
    for chip in CHIPS {
        let mut c = context(chip);
        let desc = ImageDesc {
            dim: Dim::D2Array,
            format: "rgba8".parse().expect("a format"),
            size: [4, 4, 3],
            levels: 1,
        };
        let image = c.image(desc, Arrangement::Driver).expect("memory");
        let mut desc = pipeline_of(&mut c, &[VERTEX, LAYERS, FRAGMENT]);
        let position = |n| Some((Semantic::Position, n));
        desc.feedback = vec![Feedback {
            stream: 0,
            stride: 16,
            components: vec![position(0), None, position(1), Some((Semantic::Generic(0), 1))],
        }];
        let p = c.pipeline(desc).expect("it fits");
        let data = [RED, GREEN, BLUE].map(|color| rectangle(WHOLE, 0.5, color)).concat();
        let array = floats(&mut c, &data);
        let out = c.buffer(18 * 16).expect("memory");
        c.write(&out.whole(), &[0xee; 18 * 16]).expect("it fits");
        let counters = [Counter::FeedbackWritten(0), Counter::Generated(0), Counter::GeometryPrimitives];
        let queries = counters.map(|counter| c.query(counter).expect("memory"));
        let mut r = c.render(&over(&image)).expect("a target");
        for q in &queries {
            r.begin(q).expect("queued");
        }
        r.draw(&Draw { arrays: vec![array.whole()], feedback: vec![out.whole()], ..Draw::new(&p, 18) })
            .expect("queued");
        for q in &queries {
            r.end(q).expect("queued");
        }
        drop(r);
        let got = pixels(&mut c, &image);
        for (layer, color) in [RED, GREEN, BLUE].into_iter().enumerate() {
            assert!(
                got[16 * layer..16 * (layer + 1)].iter().all(|&p| p == rgba8(color)),
                "{chip}: layer {layer}"
            );
        }
        assert_eq!(queries.map(|q| c.count(&q).expect("done")), [6, 6, 6], "{chip}");
        let bytes = c.read(&out.whole()).expect("done");
        for (v, vertex) in bytes.chunks_exact(16).enumerate() {
            let word = |n: usize| u32::from_le_bytes(std::array::from_fn(|i| vertex[4 * n + i]));
            let [x, y, green] = [8 * v, 8 * v + 1, 8 * v + 5].map(|n| data[n].to_bits());
            assert_eq!([0, 1, 2, 3].map(word), [x, 0xeeee_eeee, y, green], "{chip}: vertex {v}");
        }
    }
}

/// A patch of four corners, whose inner points have colours between.
const CONTROL: &str = "TESS_CTRL
PROPERTY TCS_VERTICES_OUT 4
DCL IN[][0], POSITION
DCL IN[][1], GENERIC[0]
DCL SV[0], INVOCATIONID
DCL OUT[][0], POSITION
DCL OUT[][1], GENERIC[0]
DCL OUT[2], TESSOUTER
DCL OUT[3], TESSINNER
DCL ADDR[0]
IMM[0] FLT32 {4.0, 4.0, 4.0, 4.0}
  0: UARL ADDR[0].x, SV[0].xxxx
  1: MOV OUT[ADDR[0].x][0], IN[ADDR[0].x][0]
  2: MOV OUT[ADDR[0].x][1], IN[ADDR[0].x][1]
  3: MOV OUT[2], IMM[0]
  4: MOV OUT[3], IMM[0]
  5: END
";
const EVALUATION: &str = "TESS_EVAL
PROPERTY TES_PRIM_MODE 7
PROPERTY TES_SPACING 2
PROPERTY TES_VERTEX_ORDER_CW 0
PROPERTY TES_POINT_MODE 0
DCL IN[][0], POSITION
DCL IN[][1], GENERIC[0]
DCL SV[0], TESSCOORD
DCL OUT[0], POSITION
DCL OUT[1], GENERIC[0]
DCL TEMP[0..1]
  0: LRP TEMP[0], SV[0].xxxx, IN[1][0], IN[0][0]
  1: LRP TEMP[1], SV[0].xxxx, IN[3][0], IN[2][0]
  2: LRP OUT[0], SV[0].yyyy, TEMP[1], TEMP[0]
  3: LRP TEMP[0], SV[0].xxxx, IN[1][1], IN[0][1]
  4: LRP TEMP[1], SV[0].xxxx, IN[3][1], IN[2][1]
  5: LRP OUT[1], SV[0].yyyy, TEMP[1], TEMP[0]
  6: END
";

#[test]
fn patches_are_tessellated_with_and_without_a_control_program() {
    for chip in CHIPS {
        let mut c = context(chip);
        let image = target(&mut c, "rgba8", [8, 8]);
        let corner = |x: f32, y: f32| vec![x, y, 0.5, 1.0, (x + 1.0) / 2.0, (y + 1.0) / 2.0, 0.0, 1.0];
        let data = [corner(-1.0, -1.0), corner(1.0, -1.0), corner(-1.0, 1.0), corner(1.0, 1.0)].concat();
        let array = floats(&mut c, &data);
        for (texts, levels, triangles) in [
            (&[VERTEX, CONTROL, EVALUATION, FRAGMENT][..], ([1.0; 4], [1.0; 2]), 32),
            (&[VERTEX, EVALUATION, FRAGMENT], ([2.0; 4], [2.0; 2]), 8),
        ] {
            let desc = PipelineDesc {
                topology: Topology::Patches,
                patch_vertices: 4,
                levels,
                ..pipeline_of(&mut c, texts)
            };
            let p = c.pipeline(desc).expect("it fits");
            let made = c.query(Counter::Generated(0)).expect("memory");
            let mut r = c.render(&over(&image)).expect("a target");
            r.begin(&made).expect("queued");
            r.draw(&Draw { arrays: vec![array.whole()], ..Draw::new(&p, 4) }).expect("queued");
            r.end(&made).expect("queued");
            drop(r);
            assert_eq!(c.count(&made).expect("done"), triangles, "{chip}");
            for (i, &pixel) in pixels(&mut c, &image).iter().enumerate() {
                let at = |n: usize| (n as f32 + 0.5) / 8.0;
                let want = rgba8([at(i % 8), at(i / 8), 0.0, 1.0]);
                let off = |shift: u32| (pixel >> shift & 255).abs_diff(want >> shift & 255);
                assert!((0..4).all(|n| off(8 * n) <= 1), "{chip}: {i}: {pixel:08x} for {want:08x}");
            }
        }
    }
}

#[test]
fn samples_are_covered_one_by_one() {
    for chip in CHIPS {
        for (samples, offsets) in
            [(2, vec![4, 12]), (4, vec![6, 14, 2, 10]), (8, vec![1, 5, 3, 7, 9, 15, 11, 13])]
        {
            let mut c = context(chip);
            let size = [4, 2, samples];
            let desc =
                ImageDesc { dim: Dim::D2Ms, format: "rgba8".parse().expect("a format"), size, levels: 1 };
            let image = c.image(desc, Arrangement::Driver).expect("memory");
            let desc = pipeline_of(&mut c, &[VERTEX, FRAGMENT]);
            // Up to the middle of column 1.
            let array = floats(&mut c, &rectangle([-1.0, -1.0, -0.25, 1.0], 0.5, RED));
            for mask in [0xffff, 0b0110] {
                let multisample = Multisample { mask, ..Multisample::default() };
                let p = c.pipeline(PipelineDesc { multisample, ..desc.clone() }).expect("it fits");
                let mut r = c.render(&over(&image)).expect("a target");
                r.draw(&Draw { arrays: vec![array.whole()], ..Draw::new(&p, 6) }).expect("queued");
                drop(r);
                let got = pixels(&mut c, &image);
                for (i, &pixel) in got.iter().enumerate() {
                    let (sample, x) = (i / 8, i % 4);
                    let inside = x == 0 || x == 1 && offsets[sample] < 8;
                    let want = inside && mask >> sample & 1 != 0;
                    assert_eq!(
                        pixel,
                        if want { rgba8(RED) } else { 0 },
                        "{chip}: sample {sample} of {samples}, {x}"
                    );
                }
            }
        }
    }
}

#[test]
fn faces_are_culled_by_how_their_corners_go_round() {
    for chip in CHIPS {
        let mut c = context(chip);
        let image = target(&mut c, "rgba8", [4, 4]);
        let desc = pipeline_of(&mut c, &[VERTEX, FRAGMENT]);
        let array = floats(&mut c, &rectangle(WHOLE, 0.5, RED));
        // The corners go from left to right, then down: clockwise.
        for (front_clockwise, cull, drawn) in [
            (true, Some(Face::Back), true),
            (true, Some(Face::Front), false),
            (false, Some(Face::Back), false),
            (false, Some(Face::Front), true),
            (false, None, true),
        ] {
            let raster = Raster { front_clockwise, cull, ..Raster::default() };
            let p = c.pipeline(PipelineDesc { raster, ..desc.clone() }).expect("it fits");
            let mut r = c.render(&over(&image)).expect("a target");
            r.draw(&Draw { arrays: vec![array.whole()], ..Draw::new(&p, 6) }).expect("queued");
            drop(r);
            let want = if drawn { rgba8(RED) } else { 0 };
            assert_eq!(pixels(&mut c, &image), [want; 16], "{chip}: {front_clockwise} {cull:?}");
        }
    }
}

#[test]
fn depth_ranges_are_those_of_the_convention() {
    for chip in CHIPS {
        let mut c = context(chip);
        let image = target(&mut c, "rgba8", [2, 2]);
        let depth = c.depth_image(DepthFormat::Z32, [2, 2], 1, 1).expect("memory");
        let desc = PipelineDesc {
            depth_stencil: DepthStencil {
                depth: Some(Compare::Always),
                write_depth: true,
                ..DepthStencil::default()
            },
            ..pipeline_of(&mut c, &[VERTEX, FRAGMENT])
        };
        for (depth_from_zero, clamp_depth, z, range, want) in [
            (true, false, 0.25, [0.0, 1.0], Some(0.25)),
            (true, false, 0.25, [0.5, 1.0], Some(0.625)),
            (true, false, -0.25, [0.0, 1.0], None),
            (true, true, -0.25, [0.0, 1.0], Some(0.0)),
            (false, false, -0.5, [0.0, 1.0], Some(0.25)),
            (false, false, 1.5, [0.0, 1.0], None),
            (true, false, 0.25, [1.0, 0.0], Some(0.75)),
        ] {
            let raster = Raster { depth_from_zero, clamp_depth, ..Raster::default() };
            let p = c.pipeline(PipelineDesc { raster, ..desc.clone() }).expect("it fits");
            let array = floats(&mut c, &rectangle(WHOLE, z, RED));
            let target = DepthTarget { clear_depth: Some(0.125), ..DepthTarget::cleared(&depth, 0.0) };
            let mut r = c.render(&Pass { depth: Some(target), ..over(&image) }).expect("targets");
            r.viewports(&[Viewport { depth: range, ..Viewport::whole([2, 2]) }]).expect("it is finite");
            r.draw(&Draw { arrays: vec![array.whole()], ..Draw::new(&p, 6) }).expect("queued");
            drop(r);
            let stored = c.download_image(depth.texels()).expect("done");
            let got = f32::from_le_bytes(std::array::from_fn(|i| stored[i]));
            assert_eq!(
                got,
                want.unwrap_or(0.125),
                "{chip}: {z} in {range:?}, {depth_from_zero} {clamp_depth}"
            );
        }
    }
}

#[test]
fn calls_that_nobody_may_make_are_errors() {
    let mut c = context(Chip::Gk104);
    let image = target(&mut c, "rgba8", [4, 4]);
    let desc = pipeline_of(&mut c, &[VERTEX, FRAGMENT]);
    let fails = |r: Result<Pipeline>, why: &str| match r {
        Err(Error::Invalid(e) | Error::Unsupported(e)) => assert!(e.contains(why), "{e}"),
        other => panic!("{other:?} for {why}"),
    };
    let attribute = desc.attributes[0];
    for (bad, why) in [
        (PipelineDesc { programs: desc.programs[1..].to_vec(), ..desc.clone() }, "without a vertex program"),
        (
            PipelineDesc { programs: [&desc.programs[..], &desc.programs[..1]].concat(), ..desc.clone() },
            "two programs",
        ),
        (PipelineDesc { topology: Topology::Patches, ..desc.clone() }, "evaluation program"),
        (PipelineDesc { topology: Topology::Patches, patch_vertices: 33, ..desc.clone() }, "33 vertices"),
        (
            PipelineDesc { arrays: vec![VertexArray { stride: 4096, instances: None }], ..desc.clone() },
            "strides",
        ),
        (
            PipelineDesc { attributes: vec![VertexAttribute { location: 32, ..attribute }], ..desc.clone() },
            "locations",
        ),
        (
            PipelineDesc { attributes: vec![VertexAttribute { array: 1, ..attribute }], ..desc.clone() },
            "1 arrays",
        ),
        (PipelineDesc { attributes: vec![attribute, attribute], ..desc.clone() }, "twice"),
        (PipelineDesc { colors: vec![ColorState::default(); 9], ..desc.clone() }, "9 colour targets"),
        (
            PipelineDesc { feedback: vec![Feedback { stride: 6, ..Feedback::default() }], ..desc.clone() },
            "multiples of 4",
        ),
    ] {
        fails(c.pipeline(bad), why);
    }
    // Two programs that no code segment has room for together.
    let large = [VERTEX, FRAGMENT].map(|text| {
        let mut shader = compile(Chip::Gk104, text);
        shader.code.resize((9 << 20) / 8, 0);
        c.program(&shader).expect("one fits")
    });
    fails(c.pipeline(PipelineDesc { programs: large.to_vec(), ..desc.clone() }), "code in one pipeline");
    let compute = "COMP\nPROPERTY CS_FIXED_BLOCK_WIDTH 32\n  0: END\n";
    assert!(
        matches!(c.program(&compile(Chip::Gk104, compute)), Err(Error::Invalid(e)) if e.contains("kernel"))
    );
    assert!(
        matches!(c.kernel(&compile(Chip::Gk104, VERTEX)), Err(Error::Invalid(e)) if e.contains("vert program"))
    );
    assert!(matches!(c.program(&compile(Chip::Gk110, VERTEX)), Err(Error::Invalid(_))));
    let p = c.pipeline(desc.clone()).expect("it fits");
    let array = floats(&mut c, &rectangle(WHOLE, 0.5, RED));
    assert!(matches!(c.render(&Pass::default()), Err(Error::Invalid(_))));
    let buffer = c.image(
        ImageDesc {
            dim: Dim::Buffer,
            format: "rgba8".parse().expect("a format"),
            size: [4, 1, 1],
            levels: 1,
        },
        Arrangement::Driver,
    );
    assert!(matches!(c.render(&over(&buffer.expect("memory"))), Err(Error::Unsupported(_))));
    let mut r = c.render(&over(&image)).expect("a target");
    assert!(matches!(r.viewports(&[Viewport::whole([4, 4]); 17]), Err(Error::Invalid(_))));
    assert!(matches!(
        r.viewports(&[Viewport { at: [f32::NAN; 2], ..Viewport::whole([4, 4]) }]),
        Err(Error::Invalid(_))
    ));
    let good = Draw { arrays: vec![array.whole()], ..Draw::new(&p, 6) };
    let indices = |bytes, format| Some(Indices { slice: array.slice(0, bytes), format, base: 0 });
    for (bad, why) in [
        (Draw { arrays: vec![], ..good.clone() }, "0 arrays"),
        (Draw { arrays: vec![array.slice(190, 20)], ..good.clone() }, "20 bytes at 190"),
        (Draw { bindings: vec![(Stage::Geometry, Bindings::default())], ..good.clone() }, "geom stage"),
        (Draw { indices: indices(10, IndexFormat::U16), ..good.clone() }, "indices 0 to 6 of 5"),
        (Draw { clip_planes: vec![[0.0; 4]; 9], ..good.clone() }, "9 clip planes"),
        (Draw { count: Count::Indirect(array.slice(0, 20)), ..good.clone() }, "it has 16"),
        (
            Draw {
                bindings: vec![(
                    Stage::Fragment,
                    Bindings { uniform_blocks: vec![(0, array.slice(16, 16))], ..Bindings::default() },
                )],
                ..good.clone()
            },
            "multiple of 256",
        ),
    ] {
        let Err(e) = r.draw(&bad) else { panic!("{why}") };
        assert!(e.to_string().contains(why), "{e}");
    }
    // The pass goes on as if nothing had been.
    r.draw(&good).expect("queued");
    drop(r);
    assert_eq!(pixels(&mut c, &image), [rgba8(RED); 16]);
}
