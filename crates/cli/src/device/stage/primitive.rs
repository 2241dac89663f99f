//! Primitives of a geometry program.

use super::capture::Capture;
use super::{OnDevice, Subject, check_number, elements, failed, fetching, given, hand_through, runs};
use nvir::emu::stage::{Emitted, Output, Primitive};
use nvir::hw::state::Topology;
use nvir::isa::header;
use nvir_driver::{Counter, Draw, Pass, PipelineDesc, Raster};
use nvir_fixture::kernel::LaunchError;

impl OnDevice {
    pub(super) fn primitives(&mut self, s: &Subject<'_>, all: &[Primitive]) -> Result<Output, LaunchError> {
        let header = s.run.header;
        let size = all[0].vertices.len();
        let topology = match size {
            1 => Topology::Points,
            2 => Topology::Lines,
            3 => Topology::Triangles,
            4 => Topology::LinesAdjacency,
            6 => Topology::TrianglesAdjacency,
            n => return Err(LaunchError::Unseen(format!("no primitive has {n} vertices"))),
        };
        let corners: u64 = match header.topology {
            Some(header::Topology::Lines) => 2,
            Some(header::Topology::Triangles) => 3,
            Some(header::Topology::Points) | None => 1,
        };
        let streams: Vec<u32> = (0..4).filter(|n| header.streams.max(1) >> n & 1 != 0).collect();
        let capture = Capture::new(header, streams.clone())?;
        let semantics = given(all.iter().flat_map(|p| &p.vertices));
        let through = self.helper(&hand_through(&semantics))?;
        let pipeline = PipelineDesc {
            programs: vec![through, s.program.clone()],
            topology,
            raster: Raster { discard: true, last_vertex_provokes: true, ..Raster::default() },
            feedback: capture.feedback(),
            ..fetching(semantics.len())
        };
        let pipeline = self.context.get_mut().pipeline(pipeline).map_err(failed)?;
        let array = self.words(&elements(&semantics, all.iter().flat_map(|p| &p.vertices)))?;
        let mut out: [Vec<Emitted>; 4] = Default::default();
        let mut first = 0;
        for (number, run) in runs(all) {
            check_number(number)?;
            if number > 0 && s.stores() {
                return Err(LaunchError::Unseen(format!(
                    "primitive {number} of a program that changes memory: those before it would, too"
                )));
            }
            let each = u64::from(header.threads.max(1)) * u64::from(header.max_vertices) * corners;
            // Primitives before those of the run are its first; what comes of them is counted in a draw of their own.
            let size = size as u32;
            let before = (0..number).flat_map(|_| 0..size);
            let own = 0..size * run.len() as u32;
            let indices: Vec<u32> = before.chain(own).map(|n| first + n).collect();
            let records = capture.records(self, (u64::from(number) + run.len() as u64) * each)?;
            let indices = self.indices(&indices, 0)?;
            let counted = |device: &mut OnDevice, primitives: u32| {
                let context = device.context.get_mut();
                let queries = streams.iter().map(|&n| context.query(Counter::FeedbackWritten(n)));
                let queries = queries.collect::<Result<Vec<_>, _>>().map_err(failed)?;
                let mut render =
                    context.render(&Pass { size: Some([1, 1]), ..Pass::default() }).map_err(failed)?;
                queries.iter().try_for_each(|q| render.begin(q)).map_err(failed)?;
                let draw = Draw {
                    indices: Some(indices.clone()),
                    arrays: vec![array.clone()],
                    feedback: records.buffers.clone(),
                    ..s.draw(&pipeline, primitives * size)
                };
                render.draw(&draw).map_err(failed)?;
                queries.iter().try_for_each(|q| render.end(q)).map_err(failed)?;
                drop(render);
                queries.iter().map(|q| context.count(q).map_err(failed)).collect::<Result<Vec<u64>, _>>()
            };
            let skipped = if number == 0 { vec![0; streams.len()] } else { counted(self, number)? };
            let written = counted(self, number + run.len() as u32)?;
            for (n, &stream) in streams.iter().enumerate() {
                let vertices = records.read(self, n, skipped[n] * corners, written[n] * corners)?;
                for primitive in vertices.chunks(corners as usize) {
                    out[stream as usize].extend(primitive.iter().cloned().map(Emitted::Vertex));
                    out[stream as usize].push(Emitted::Cut);
                }
            }
            first += size * run.len() as u32;
        }
        Ok(Output::Streams(out))
    }
}
