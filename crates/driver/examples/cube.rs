//! A lit cube with a texture, drawn by a card that need not exist: `cargo run -p nvir-driver --example cube -- cube.png`.
//! With the path of a nouveau render node behind it, that card draws.

use nvir::emu::image::Arrangement;
use nvir::emu::{Dim, Filter, ImageDesc, Sampler};
use nvir::stage::Stage;
use nvir::{Chip, Compiler, Source};
use nvir_driver::{
    Bindings, ColorTarget, Compare, Context, DepthFormat, DepthStencil, DepthTarget, Draw, IndexFormat,
    Indices, Pass, PipelineDesc, Program, RenderNode, VertexArray, VertexAttribute, VertexFormat,
    VirtualDevice,
};
use std::error::Error;

/// Turns a corner and its normal.
const VERTEX: &str = include_str!("../../../scenes/cube.vert.tgsi");
/// Light from one side on a texture.
const FRAGMENT: &str = include_str!("../../../scenes/cube.frag.tgsi");

const SIZE: [u32; 2] = [512, 512];

type Matrix = [[f32; 4]; 4];

/// The product of two matrices of columns.
fn times(a: Matrix, b: Matrix) -> Matrix {
    b.map(|column| std::array::from_fn(|row| (0..4).map(|k| a[k][row] * column[k]).sum()))
}

/// Where the cube is turned to, and from there to the clip space: depths from 0 to 1, the first row on top.
fn matrices() -> (Matrix, Matrix) {
    let ((sx, cx), (sy, cy)) = (0.6f32.sin_cos(), 0.75f32.sin_cos());
    let about_x = [[1.0, 0.0, 0.0, 0.0], [0.0, cx, sx, 0.0], [0.0, -sx, cx, 0.0], [0.0, 0.0, 0.0, 1.0]];
    let about_y = [[cy, 0.0, -sy, 0.0], [0.0, 1.0, 0.0, 0.0], [sy, 0.0, cy, 0.0], [0.0, 0.0, 0.0, 1.0]];
    let away = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, -4.0, 1.0]];
    let (near, far, f) = (1.0, 10.0, 1.0 / 0.45f32.tan());
    let depth = far / (near - far);
    let lens =
        [[f, 0.0, 0.0, 0.0], [0.0, -f, 0.0, 0.0], [0.0, 0.0, depth, -1.0], [0.0, 0.0, near * depth, 0.0]];
    let turned = times(about_x, about_y);
    (times(lens, times(away, turned)), turned)
}

/// Position, normal and texture coordinates of four corners of each face, and the corners of two triangles of each.
fn faces() -> (Vec<f32>, Vec<u16>) {
    let (mut corners, mut indices) = (Vec::new(), Vec::new());
    for face in 0..6 {
        let (axis, sign) = (face / 2, if face % 2 == 0 { -1.0 } else { 1.0 });
        for (s, t) in [(-1.0, -1.0), (1.0, -1.0), (-1.0, 1.0), (1.0, 1.0)] {
            let (mut position, mut normal) = ([0.0; 3], [0.0; 3]);
            (position[axis], position[(axis + 1) % 3], position[(axis + 2) % 3]) = (sign, s * sign, t);
            normal[axis] = sign;
            corners.extend(position.into_iter().chain(normal).chain([(s + 1.0) / 2.0, (t + 1.0) / 2.0]));
        }
        indices.extend([0, 1, 2, 2, 1, 3].map(|i| 4 * face as u16 + i));
    }
    (corners, indices)
}

fn bytes(floats: impl IntoIterator<Item = f32>) -> Vec<u8> {
    floats.into_iter().flat_map(f32::to_le_bytes).collect()
}

/// A program for the context's chip.
fn program(context: &mut Context, text: &str) -> Result<Program, Box<dyn Error>> {
    let shader = Compiler::new(context.chip()).compile(&Source::tgsi(text))?;
    Ok(context.program(&shader)?)
}

/// The cube's pixels: red, green, blue, alpha of each.
fn draw(context: &mut Context) -> Result<Vec<u8>, Box<dyn Error>> {
    let image = |size: [u32; 2]| -> Result<ImageDesc, Box<dyn Error>> {
        Ok(ImageDesc { dim: Dim::D2, format: "rgba8".parse()?, size: [size[0], size[1], 1], levels: 1 })
    };
    // Memory: corners, indices, a checkerboard, the targets.
    let (corners, indices) = faces();
    let corners = bytes(corners);
    let vertices = context.buffer(corners.len() as u64)?;
    context.write(&vertices.whole(), &corners)?;
    let data: Vec<u8> = indices.iter().flat_map(|i| i.to_le_bytes()).collect();
    let index_buffer = context.buffer(data.len() as u64)?;
    context.write(&index_buffer.whole(), &data)?;
    let texture = context.image(image([4, 4])?, Arrangement::Driver)?;
    let checker = |i: usize| {
        if (i / 4 + i).is_multiple_of(2) { [0x20, 0x70, 0xd0, 0xff] } else { [0xf0, 0xc0, 0x30, 0xff] }
    };
    context.upload_image(&texture, &(0..16).flat_map(checker).collect::<Vec<u8>>())?;
    let target = context.image(image(SIZE)?, Arrangement::Driver)?;
    let depth = context.depth_image(DepthFormat::Z24S8, SIZE, 1, 1)?;

    // A pipeline: programs, how vertices are fetched, the depth test.
    let attribute = |location, offset, floats| VertexAttribute {
        location,
        array: 0,
        offset,
        format: VertexFormat::floats(floats),
    };
    let programs = vec![program(context, VERTEX)?, program(context, FRAGMENT)?];
    let pipeline = context.pipeline(PipelineDesc {
        programs,
        arrays: vec![VertexArray { stride: 32, instances: None }],
        attributes: vec![attribute(0, 0, 3), attribute(1, 12, 3), attribute(2, 24, 2)],
        depth_stencil: DepthStencil {
            depth: Some(Compare::Less),
            write_depth: true,
            ..DepthStencil::default()
        },
        ..PipelineDesc::default()
    })?;

    // What the programs are given.
    let (to_clip, turned) = matrices();
    let uniforms = bytes(to_clip.into_iter().chain(turned).flatten());
    let sampler = Sampler { min: Filter::Linear, mag: Filter::Linear, ..Sampler::default() };
    let vertex = Bindings { uniforms, ..Bindings::default() };
    let fragment = Bindings { textures: vec![(0, texture, sampler)], ..Bindings::default() };

    // A pass that clears and draws.
    let mut pass = context.render(&Pass {
        colors: vec![Some(ColorTarget::cleared(&target, [0.05, 0.05, 0.1, 1.0]))],
        depth: Some(DepthTarget::cleared(&depth, 1.0)),
        size: None,
    })?;
    pass.draw(&Draw {
        indices: Some(Indices { slice: index_buffer.whole(), format: IndexFormat::U16, base: 0 }),
        arrays: vec![vertices.whole()],
        bindings: vec![(Stage::Vertex, vertex), (Stage::Fragment, fragment)],
        ..Draw::new(&pipeline, indices.len() as u32)
    })?;
    drop(pass);
    Ok(context.download_image(&target)?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().unwrap_or_else(|| "cube.png".into());
    let mut context = match arguments.next() {
        Some(node) => Context::new(RenderNode::open(std::path::Path::new(&node))?)?,
        None => Context::new(VirtualDevice::new(Chip::Gk110))?,
    };
    let pixels = draw(&mut context)?;
    let mut encoder = png::Encoder::new(std::fs::File::create(&path)?, SIZE[0], SIZE[1]);
    encoder.set_color(png::ColorType::Rgba);
    encoder.write_header()?.write_image_data(&pixels)?;
    println!("{path}: {} x {}, drawn on {}", SIZE[0], SIZE[1], context.device().name());
    Ok(())
}
