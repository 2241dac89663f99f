//! Scenes on a device: what a fixture says of passes and draws, as the driver has it.

use super::{OnDevice, failed};
use nvir::stage::Stage;
use nvir_driver as driver;
use nvir_driver::{Context, Slice};
use nvir_fixture::backend::Bindings;
use nvir_fixture::format::{Bound, Item};
use nvir_fixture::kernel::LaunchError;
use nvir_fixture::scene::ScenePass;
use nvir_fixture::scene::format::{self as said, Counter};
use nvir_fixture::values::Elem;
use std::collections::BTreeMap;

/// A draw with everything that it borrows later.
struct Prepared {
    pipeline: driver::Pipeline,
    count: driver::Count,
    indices: Option<driver::Indices>,
    arrays: Vec<Slice>,
    feedback: Vec<Slice>,
    bindings: Vec<(Stage, driver::Bindings)>,
}

impl OnDevice {
    /// Draws a pass; what it counted of what it must count.
    pub(super) fn draw_pass(&mut self, scene: &ScenePass<'_>) -> Result<BTreeMap<Counter, u64>, LaunchError> {
        let targets = self.targets(scene).map_err(LaunchError::Setup)?;
        let mut programs = BTreeMap::new();
        for (name, shader) in scene.shaders {
            programs.insert(name, self.context.get_mut().program(shader).map_err(failed)?);
        }
        let mut draws = Vec::new();
        for (n, draw) in scene.pass.draws.iter().enumerate() {
            let at = |why: String| LaunchError::Setup(format!("draws[{n}]: {why}"));
            let desc = pipeline(draw, &programs).map_err(at)?;
            let pipeline = self.context.get_mut().pipeline(desc).map_err(|e| at(e.to_string()))?;
            draws.push(self.prepared(scene, draw, &scene.bindings[n], pipeline).map_err(at)?);
        }
        let context = self.context.get_mut();
        let queries = scene.pass.counts.keys().map(|&c| Ok((c, context.query(counter(c))?)));
        let queries: Vec<_> = queries.collect::<Result<_, driver::Error>>().map_err(failed)?;
        let drawn = draw(context, scene, &targets, &queries, draws);
        drawn.map_err(failed)?;
        context.finish().map_err(failed)?;
        let counted = queries.iter().map(|(c, q)| Ok((*c, context.count(q)?)));
        counted.collect::<Result<_, driver::Error>>().map_err(failed)
    }

    fn targets(&self, scene: &ScenePass<'_>) -> Result<driver::Pass, String> {
        let color = |(n, c): (usize, &said::Color)| {
            let layout = scene.image(&c.image)?;
            let image = self.part(&layout)?;
            let clear = c.clear.as_ref().map(|items| clear(items, &layout)).transpose();
            let clear = clear.map_err(|e| format!("colors[{n}].clear: {e}"))?;
            Ok(Some(driver::ColorTarget { image, srgb: c.srgb, clear }))
        };
        let depth = |d: &said::Depth| {
            let layout = scene.image(&Bound::Whole(d.image.clone()))?;
            let image = self.depths.get(&layout.address);
            let image = image.ok_or_else(|| format!("depth: `{}` is an image of colours", d.image))?;
            let image = match d.layer {
                None => image.clone(),
                Some(layer) => image.layer(layer).map_err(|e| e.to_string())?,
            };
            Ok::<_, String>(driver::DepthTarget {
                image,
                clear_depth: d.clear,
                clear_stencil: d.clear_stencil,
            })
        };
        Ok(driver::Pass {
            colors: scene.pass.colors.iter().enumerate().map(color).collect::<Result<_, String>>()?,
            depth: scene.pass.depth.as_ref().map(depth).transpose()?,
            size: scene.pass.size,
        })
    }

    /// The memory of a buffer.
    fn memory(&self, scene: &ScenePass<'_>, name: &str, offset: u64) -> Result<Slice, String> {
        let b = scene.buffer(name)?;
        let bytes = b
            .size
            .checked_sub(offset)
            .ok_or_else(|| format!("byte {offset} of `{name}`: it has {}", b.size))?;
        self.slice(b.address + offset, bytes)
    }

    fn prepared(
        &self,
        scene: &ScenePass<'_>,
        draw: &said::Draw,
        bindings: &[(Stage, Bindings)],
        pipeline: driver::Pipeline,
    ) -> Result<Prepared, String> {
        let indices = match &draw.indices {
            None => None,
            Some(i) => {
                let format = match scene.buffer(&i.buffer)?.elem() {
                    Elem::U8 => driver::IndexFormat::U8,
                    Elem::U16 => driver::IndexFormat::U16,
                    _ => driver::IndexFormat::U32,
                };
                Some(driver::Indices { slice: self.memory(scene, &i.buffer, 0)?, format, base: i.base })
            }
        };
        let count = match &draw.indirect {
            Some(place) => {
                let whole = self.memory(scene, &place.buffer, place.offset)?;
                let bytes = if indices.is_some() { 20 } else { 16 };
                driver::Count::Indirect(Slice { bytes: whole.bytes.min(bytes), ..whole })
            }
            None => driver::Count::Direct {
                first: draw.first,
                count: draw.vertices.unwrap_or(0),
                first_instance: draw.first_instance,
                instances: draw.instances.unwrap_or(1),
            },
        };
        let bind = |(stage, b): &(Stage, Bindings)| Ok((*stage, self.given(b)?));
        Ok(Prepared {
            pipeline,
            count,
            indices,
            arrays: draw
                .arrays
                .iter()
                .map(|a| self.memory(scene, &a.buffer, a.offset))
                .collect::<Result<_, _>>()?,
            feedback: draw
                .feedback
                .iter()
                .map(|f| self.memory(scene, &f.buffer, 0))
                .collect::<Result<_, _>>()?,
            bindings: bindings.iter().map(bind).collect::<Result<_, String>>()?,
        })
    }
}

fn draw(
    context: &mut Context,
    scene: &ScenePass<'_>,
    targets: &driver::Pass,
    queries: &[(Counter, driver::Query)],
    draws: Vec<Prepared>,
) -> driver::Result<()> {
    let mut render = context.render(targets)?;
    let viewport = |v: &said::Viewport| driver::Viewport {
        at: v.at,
        size: v.size,
        depth: v.depth.unwrap_or([0.0, 1.0]),
        scissor: v.scissor.map(|[x, y, w, h]| driver::Rect { at: [x, y], size: [w, h] }),
    };
    render.viewports(&scene.pass.viewports.iter().map(viewport).collect::<Vec<_>>())?;
    for (_, query) in queries {
        render.begin(query)?;
    }
    for (p, said) in draws.into_iter().zip(&scene.pass.draws) {
        render.draw(&driver::Draw {
            pipeline: &p.pipeline,
            count: p.count,
            indices: p.indices,
            arrays: p.arrays,
            bindings: p.bindings,
            clip_planes: said.clip_planes.clone(),
            feedback: p.feedback,
            number: 0,
        })?;
    }
    queries.iter().try_for_each(|(_, query)| render.end(query))
}

/// A colour that a target is filled with: bits for integers.
fn clear(items: &[Item; 4], image: &nvir::emu::Image) -> Result<driver::ClearColor, String> {
    use nvir::format::Kind;
    let elem = match image.desc.format.layout().kind {
        Kind::Uint => Elem::U32,
        Kind::Sint => Elem::I32,
        Kind::Float | Kind::Unorm | Kind::Snorm => Elem::F32,
    };
    let mut bits = [0; 4];
    for (bits, item) in bits.iter_mut().zip(items) {
        *bits = elem.encode(item)? as u32;
    }
    Ok(driver::ClearColor::Bits(bits))
}

fn counter(c: Counter) -> driver::Counter {
    match c {
        Counter::Samples => driver::Counter::Samples,
        Counter::Vertices => driver::Counter::Vertices,
        Counter::Primitives => driver::Counter::Primitives,
        Counter::VertexInvocations => driver::Counter::VertexInvocations,
        Counter::ControlInvocations => driver::Counter::ControlInvocations,
        Counter::EvaluationInvocations => driver::Counter::EvaluationInvocations,
        Counter::GeometryInvocations => driver::Counter::GeometryInvocations,
        Counter::GeometryPrimitives => driver::Counter::GeometryPrimitives,
        Counter::ClipperIn => driver::Counter::ClipperIn,
        Counter::ClipperOut => driver::Counter::ClipperOut,
        Counter::FragmentInvocations => driver::Counter::FragmentInvocations,
        Counter::Generated => driver::Counter::Generated(0),
        Counter::FeedbackWritten => driver::Counter::FeedbackWritten(0),
    }
}

/// The entry of a list that is for target `n`: a single one is for all.
fn of_target<T>(all: &[T], n: usize) -> Option<&T> {
    if all.len() == 1 { all.first() } else { all.get(n) }
}

fn pipeline(
    d: &said::Draw,
    programs: &BTreeMap<&String, driver::Program>,
) -> Result<driver::PipelineDesc, String> {
    let program = |name: &String| programs.get(name).cloned().ok_or_else(|| format!("no program `{name}`"));
    let array = |a: &said::Array| driver::VertexArray { stride: a.stride, instances: a.instances };
    let attribute = |a: &said::Attribute| driver::VertexAttribute {
        location: a.location,
        array: a.array,
        offset: a.offset,
        format: a.format.0,
    };
    let feedback = |f: &said::Feedback| {
        let components = f.components()?;
        let stride = f.stride.unwrap_or(4 * components.len() as u32);
        Ok(driver::Feedback { stream: f.stream, stride, components })
    };
    let color = |n: usize| {
        let write =
            of_target(&d.write, n).map_or([true; 4], |mask| ['r', 'g', 'b', 'a'].map(|c| mask.contains(c)));
        driver::ColorState { blend: of_target(&d.blend, n).map(blend), write }
    };
    let targets = [&d.blend.len(), &d.write.len()].into_iter().max().copied().unwrap_or(0);
    let targets = if targets == 1 { 8 } else { targets };
    let (outer, inner) = match d.levels {
        None => ([1.0; 4], [1.0; 2]),
        Some([a, b, c, d, e, f]) => ([a, b, c, d], [e, f]),
    };
    let front = d.stencil.as_ref().map(stencil);
    let back = d.stencil_back.as_ref().map(stencil);
    Ok(driver::PipelineDesc {
        programs: d.programs.iter().map(program).collect::<Result<_, _>>()?,
        arrays: d.arrays.iter().map(array).collect(),
        attributes: d.attributes.iter().map(attribute).collect(),
        topology: d.topology.map_or(driver::Topology::Triangles, |n| n.0),
        patch_vertices: d.patch_vertices.unwrap_or(3),
        restart: d.indices.as_ref().and_then(|i| i.restart),
        raster: driver::Raster {
            discard: d.discard,
            cull: d.cull.map(|n| n.0),
            front_clockwise: d.front_clockwise,
            fill: d.fill.map_or(driver::Fill::Faces, |n| n.0),
            last_vertex_provokes: d.last_vertex_provokes,
            flat_colors: d.flat_colors,
            clamp_depth: d.clamp_depth,
            depth_from_zero: !d.depth_from_minus_one,
            depth_offset: d.depth_offset.map(|[slope, units, clamp]| driver::DepthOffset {
                slope,
                units,
                clamp,
            }),
            line_width: d.line_width.unwrap_or(1.0),
            point_size: d.point_size.unwrap_or(1.0),
        },
        depth_stencil: driver::DepthStencil {
            depth: d.depth_test.map(|n| n.0),
            write_depth: !d.depth_keep,
            bounds: d.depth_bounds,
            stencil: front.map(|front| [front, back.unwrap_or(front)]),
        },
        colors: (0..targets).map(color).collect(),
        blend_constant: d.blend_constant,
        multisample: driver::Multisample {
            per_sample: d.per_sample,
            alpha_to_coverage: d.alpha_to_coverage,
            alpha_to_one: d.alpha_to_one,
            mask: d.sample_mask.unwrap_or(0xffff),
        },
        feedback: d.feedback.iter().map(feedback).collect::<Result<_, String>>()?,
        levels: (outer, inner),
    })
}

fn stencil(s: &said::Stencil) -> driver::StencilFace {
    let op = |op: Option<said::Named<driver::StencilOp>>| op.map_or(driver::StencilOp::Keep, |n| n.0);
    driver::StencilFace {
        compare: s.compare.map_or(driver::Compare::Always, |n| n.0),
        reference: s.reference,
        read_mask: s.read_mask.unwrap_or(0xff),
        write_mask: s.write_mask.unwrap_or(0xff),
        fail: op(s.fail),
        depth_fail: op(s.depth_fail),
        pass: op(s.pass),
    }
}

fn blend(b: &said::Blend) -> driver::Blend {
    let op = b.op.map_or(driver::BlendOp::Add, |n| n.0);
    driver::Blend {
        color: driver::Equation { op, source: b.source.0, destination: b.destination.0 },
        alpha: driver::Equation {
            op: b.alpha_op.map_or(op, |n| n.0),
            source: b.alpha_source.unwrap_or(b.source).0,
            destination: b.alpha_destination.unwrap_or(b.destination).0,
        },
    }
}
