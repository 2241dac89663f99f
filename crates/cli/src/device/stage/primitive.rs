//! Primitives of a geometry program.

use super::capture::Capture;
use super::{OnDevice, Subject, elements, failed, fetching, given, hand_through, runs};
use nvir::emu::stage::{Emitted, Output, Primitive};
use nvir::hw::state::Topology;
use nvir::isa::header;
use nvir_driver::{Counter, Draw, PipelineDesc, Raster};
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
        let corners = header.topology.map_or(1, header::Topology::vertices) as u64;
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
        let counters: Vec<Counter> = streams.iter().map(|&n| Counter::FeedbackWritten(n)).collect();
        let mut out: [Vec<Emitted>; 4] = Default::default();
        let mut first = 0;
        for (number, run) in runs(all) {
            let each = u64::from(header.threads.max(1)) * u64::from(header.max_vertices) * corners;
            // Primitives before those of the run are its first; what comes of them is counted in a draw of their own.
            let size = size as u32;
            let indices = s.numbered(number, run.len(), first, size)?;
            let records = capture.records(self, (u64::from(number) + run.len() as u64) * each)?;
            let indices = self.indices(&indices, 0)?;
            let counted = |device: &mut OnDevice, primitives: u32| {
                let draw = Draw {
                    indices: Some(indices.clone()),
                    arrays: vec![array.clone()],
                    feedback: records.buffers.clone(),
                    ..s.draw(&pipeline, primitives * size)
                };
                device.draw_alone(&draw, &counters)
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
