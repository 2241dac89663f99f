//! From the primitives of the last stage to memory: rasteriser, fragment program, raster operations.

use super::assemble::{Primitives, Shape};
use super::bindings::Slot;
use super::clip::Corner;
use super::links::{Links, Points};
use super::output::{FragmentState, Output, Place, Work};
use super::pipeline::{Draw, Stages};
use super::raster::{self, Kind, Outcome, Rasterizer, Varying};
use super::regs::View;
use super::target::Targets;
use super::watched::{self, Probe};
use crate::device::EngineResult;
use crate::shader::Failure;
use nvir_base::stage::attribute;
use nvir_emu::stage::batch::{self, AttributeBuffer, Input, Plane, Results, Slots};

/// Quads that are shaded at once, about.
const BATCH: usize = 1 << 13;

/// Viewports that there are.
const VIEWPORTS: usize = 16;

/// Primitives behind the last stage of vertices.
pub(super) struct Source<'a> {
    pub vertices: &'a mut AttributeBuffer,
    pub primitives: &'a Primitives,
    pub shape: Shape,
}

/// Buffers that are kept from draw to draw.
#[derive(Default)]
pub(super) struct Back {
    batch: raster::Batch,
    fragments: batch::Fragments,
    results: Results,
    /// Vertices that the rasteriser made: of clipped pieces, and corners of points.
    made: AttributeBuffer,
    output: Output,
    places: Vec<Place>,
    links: Option<Links>,
}

/// Where the rasteriser finds what it needs of a vertex.
struct CornerSlots {
    position: [Option<usize>; 4],
    distances: [Option<usize>; 8],
    size: Option<usize>,
    viewport: Option<usize>,
    layer: Option<usize>,
    /// Where a geometry program writes the numbers of its primitives.
    primitive_id: Option<usize>,
}

impl CornerSlots {
    fn new(view: View<'_>, slots: &Slots) -> CornerSlots {
        let (clip, cull) = view.distances();
        let slot = |address: u32| slots.slot(address);
        CornerSlots {
            position: [0, 4, 8, 12].map(|c| slot(attribute::POSITION + c)),
            distances: std::array::from_fn(|i| {
                ((clip | cull) >> i & 1 != 0).then(|| slot(attribute::CLIP_DISTANCE + 4 * i as u32))?
            }),
            size: if view.point_size().0 { slot(attribute::POINT_SIZE) } else { None },
            viewport: slot(attribute::VIEWPORT_INDEX),
            layer: if view.layer().from_primitive() { slot(attribute::LAYER) } else { None },
            primitive_id: slot(attribute::PRIMITIVE_ID),
        }
    }

    fn corner(&self, vertices: &AttributeBuffer, row: usize, size: f32) -> Corner {
        let float = |slot: Option<usize>, default: f32| {
            slot.map_or(default, |slot| f32::from_bits(vertices.get(row, slot)))
        };
        let [x, y, z, w] = self.position;
        Corner {
            position: [float(x, 0.0), float(y, 0.0), float(z, 0.0), float(w, 1.0)],
            distances: self.distances.map(|slot| float(slot, 0.0)),
            point_size: float(self.size, size),
        }
    }
}

/// What of a draw stays the same over its primitives.
struct Setup<'a> {
    view: View<'a>,
    slots: CornerSlots,
    links: Links,
    targets: Targets<'a>,
    state: FragmentState,
    /// The layer of primitives that name none.
    layer: u32,
}

impl Back {
    /// Draws primitives.
    pub(super) fn draw(
        &mut self,
        stages: &mut Stages<'_>,
        draw: &Draw<'_>,
        source: &mut Source<'_>,
    ) -> Result<(), Failure> {
        let view = View(&draw.state.regs);
        let Some(program) = stages.program(Slot::Fragment) else {
            return Err(Failure::from(String::from("a draw without a fragment program")));
        };
        let interface = program.interface.clone();
        let header = &interface.header;
        clamp_colors(view, source.vertices);
        let targets = Targets::new(view, stages.memory, header)?;
        if targets.extent.is_empty() {
            return Ok(());
        }
        let slots = source.vertices.slots().clone();
        let points = match source.shape {
            Shape::Point => Points::Some,
            _ if view.draws_points() => Points::Some,
            _ => Points::None,
        };
        let setup = Setup {
            view,
            slots: CornerSlots::new(view, &slots),
            links: Links::of(self.links.take(), view, (&interface, &slots), points, stages.defaults),
            layer: if view.layer().from_primitive() { 0 } else { view.layer().number() },
            state: FragmentState::new(view)?,
            targets,
        };
        let corners = view.provoking().corner(source.primitives.size);
        let point_size = view.point_size().1;
        let result = self.primitives(stages, &setup, source, (corners, point_size));
        self.links = Some(setup.links);
        result
    }

    /// Rasterises primitives, whose provoking vertex and size of points are given.
    fn primitives(
        &mut self,
        stages: &mut Stages<'_>,
        setup: &Setup<'_>,
        source: &Source<'_>,
        (corners, point_size): (usize, f32),
    ) -> Result<(), Failure> {
        let mut rasterizers: [Option<Rasterizer>; VIEWPORTS] = [const { None }; VIEWPORTS];
        self.batch.clear();
        for n in 0..source.primitives.len() {
            let rows = source.primitives.get(n);
            let viewport = setup.viewport(source.vertices, rows[corners]);
            let rasterizer = match &mut rasterizers[viewport as usize] {
                Some(rasterizer) => rasterizer,
                none => {
                    let state =
                        setup.view.raster(viewport, setup.targets.extent, setup.targets.zeta_format())?;
                    none.insert(Rasterizer::new(&state))
                }
            };
            // The quads from here on are this primitive's.
            let mut first = self.batch.quads.len();
            let corner = |i: usize| setup.slots.corner(source.vertices, rows[i] as usize, point_size);
            let from = raster::Source { primitive: n as u32, flags: source.primitives.flags[n] };
            let outcome = match source.shape {
                Shape::Point => rasterizer.point(&corner(0), from, &mut self.batch),
                Shape::Line => rasterizer.line([&corner(0), &corner(1)], from, &mut self.batch),
                Shape::Triangle | Shape::Patch => {
                    let corners = [corner(0), corner(1), corner(2)];
                    let [a, b, c] = &corners;
                    rasterizer.triangle([a, b, c], from, &mut self.batch)
                }
            };
            stages.counters.clipper_in += 1;
            stages.counters.clipper_out += u64::from(outcome == Outcome::Drawn);
            while rasterizer.is_unfinished() {
                self.shade(stages, setup, source)?;
                first = 0;
                rasterizer.resume(&mut self.batch);
            }
            let wanted = stages
                .watch
                .as_ref()
                .is_some_and(|w| watched::touches(&self.batch.quads[first..], &w.wanted));
            if wanted || self.batch.quads.len() >= BATCH || self.batch.shapes.len() >= BATCH {
                self.shade(stages, setup, source)?;
            }
        }
        self.shade(stages, setup, source)
    }

    /// Runs the fragment program for the quads so far, and writes what it leaves.
    fn shade(
        &mut self,
        stages: &mut Stages<'_>,
        setup: &Setup<'_>,
        source: &Source<'_>,
    ) -> Result<(), Failure> {
        let Back { batch, fragments, results, made, output, places, .. } = self;
        if batch.quads.is_empty() {
            batch.clear();
            return Ok(());
        }
        fragments.clear();
        made.reset(&setup.links.made_slots);
        places.clear();
        for shape in &batch.shapes {
            let place = setup.place(shape, source);
            setup.triangle(shape, source, made, fragments, stages);
            places.push(place);
        }
        let (view, state, targets) = (setup.view, &setup.state, &setup.targets);
        let work = Work { state, targets, batch, places };
        if let Some(watch) = &mut stages.watch {
            watch.touch(watched::rectangle(&batch.quads));
        }
        let wanted = stages.watch.as_ref().map(|w| &w.wanted).filter(|w| watched::touches(&batch.quads, w));
        let probe = wanted.map(|wanted| Probe::new(&work, wanted)).transpose()?;
        stages.counters.fragment_invocations += output.prepare(&work, fragments)?;
        stages.run(Slot::Fragment, &Input::Quads(fragments), results)?;
        let passed = output.write(&work, fragments, &results.fragments)?;
        stages.counters.samples += if view.counts_samples() { passed } else { 0 };
        if let Some(probe) = probe {
            stages.tell(probe, &work, fragments, output, results)?;
        }
        batch.clear();
        Ok(())
    }
}

impl Stages<'_> {
    /// Tells who looks on of the fragments of a batch that ran last.
    fn tell(
        &mut self,
        probe: Probe,
        work: &Work<'_, '_>,
        fragments: &batch::Fragments,
        output: &Output,
        results: &Results,
    ) -> EngineResult {
        let (Some(watch), Some(program)) = (&mut self.watch, &self.programs[Slot::Fragment.binding()]) else {
            return Ok(());
        };
        let launch = self.launches[Slot::Fragment.binding()].saturating_sub(1);
        let with = (output, &results.fragments);
        probe.tell(work, (program, fragments), with, launch, |fragment| watch.who.fragment(fragment))
    }
}

impl Setup<'_> {
    fn viewport(&self, vertices: &AttributeBuffer, row: u32) -> u32 {
        let word = self.slots.viewport.map_or(0, |slot| vertices.get(row as usize, slot));
        if word < VIEWPORTS as u32 { word } else { 0 }
    }

    /// The row whose flat inputs, layer and viewport a shape has.
    fn flat(&self, shape: &raster::Shape, source: &Source<'_>) -> u32 {
        let rows = source.primitives.get(shape.primitive as usize);
        rows[self.view.provoking().corner(rows.len())]
    }

    fn place(&self, shape: &raster::Shape, source: &Source<'_>) -> Place {
        let row = self.flat(shape, source);
        let layer = self.written(self.slots.layer, source, row).unwrap_or(self.layer);
        Place {
            layer: if layer < self.targets.layers { layer } else { 0 },
            range: self.view.depth_range(self.viewport(source.vertices, row)),
        }
    }

    fn written(&self, slot: Option<usize>, source: &Source<'_>, row: u32) -> Option<u32> {
        slot.map(|slot| source.vertices.get(row as usize, slot))
    }

    /// Adds what a shape's fragments are interpolated over.
    fn triangle(
        &self,
        shape: &raster::Shape,
        source: &Source<'_>,
        made: &mut AttributeBuffer,
        fragments: &mut batch::Fragments,
        stages: &Stages<'_>,
    ) {
        let rows = source.primitives.get(shape.primitive as usize);
        let flat = self.flat(shape, source);
        let plane = |[dx, dy, a]: [f64; 3]| Plane { a, dx, dy };
        let mut triangle = batch::Triangle {
            corners: [0; 3],
            flat,
            weights: shape.weights.map(plane),
            depth: plane(shape.depth),
            inverse_w: shape.window.map(|w| w[3]),
            front: shape.front,
            id: self
                .written(self.slots.primitive_id, source, flat)
                .unwrap_or(source.primitives.ids[shape.primitive as usize]),
            // Programs read what was written, even where there is no such layer or viewport.
            layer: self.written(self.slots.layer, source, flat).unwrap_or(self.layer),
            viewport: self.written(self.slots.viewport, source, flat).unwrap_or(0),
        };
        let is_point = shape.kind == Kind::Point && !self.links.point_coordinates.is_empty();
        let whole = shape.corners.map(|c| match c {
            Varying::Vertex(n) => Some(rows[n as usize]),
            Varying::Mixed(_) => None,
        });
        if let ([Some(a), Some(b), Some(c)], false) = (whole, is_point) {
            triangle.corners = [a, b, c];
            fragments.triangle(&self.links.vertices, source.vertices, &triangle);
            return;
        }
        let mut copy = |row: u32| {
            let to = made.push();
            made.copy(to as usize, source.vertices, row as usize, stages.defaults);
            to
        };
        triangle.flat = copy(flat);
        triangle.corners = shape.corners.map(|corner| match corner {
            Varying::Vertex(n) => copy(rows[n as usize]),
            Varying::Mixed(_) => copy(rows[0]),
        });
        for (to, corner) in triangle.corners.into_iter().zip(shape.corners) {
            if let Varying::Mixed(weights) = corner {
                self.mix(rows, weights, source.vertices, made, to as usize);
            }
        }
        if is_point {
            let coordinates = [[0.0f32, 0.0], [1.0, 0.0], [0.0, 1.0]];
            for (row, [s, t]) in triangle.corners.into_iter().zip(coordinates) {
                for &address in &self.links.point_coordinates {
                    for (c, value) in [s, t, 0.0, 1.0].into_iter().enumerate() {
                        if let Some(slot) = self.links.made_slots.slot(address + 4 * c as u32) {
                            made.set(row as usize, slot, value.to_bits());
                        }
                    }
                }
            }
        }
        fragments.triangle(&self.links.made, made, &triangle);
    }

    /// Gives a row what lies between the vertices of a primitive, in clip space.
    fn mix(
        &self,
        rows: &[u32],
        [b1, b2]: [f64; 2],
        vertices: &AttributeBuffer,
        made: &mut AttributeBuffer,
        to: usize,
    ) {
        for address in vertices.slots().addresses() {
            let (Some(from), Some(slot)) =
                (vertices.slots().slot(address), self.links.made_slots.slot(address))
            else {
                continue;
            };
            let value = |n: usize| {
                let row = rows.get(n).unwrap_or(&rows[0]);
                f64::from(f32::from_bits(vertices.get(*row as usize, from)))
            };
            let (v0, v1, v2) = (value(0), value(1), value(2));
            made.set(to, slot, ((v0 + (v1 - v0) * b1 + (v2 - v0) * b2) as f32).to_bits());
        }
    }
}

/// VERT_COLOR_CLAMP_EN.
fn clamp_colors(view: View<'_>, vertices: &mut AttributeBuffer) {
    if !view.clamps_vertex_colors() {
        return;
    }
    let colors = (attribute::COLOR..attribute::CLIP_DISTANCE).step_by(4);
    let slots: Vec<usize> = colors.filter_map(|a| vertices.slots().slot(a)).collect();
    for slot in slots {
        for row in 0..vertices.len() {
            let v = f32::from_bits(vertices.get(row, slot));
            vertices.set(row, slot, if v > 0.0 { v.min(1.0) } else { 0.0 }.to_bits());
        }
    }
}
