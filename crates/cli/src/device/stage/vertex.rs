//! Vertices: as points, which nothing draws.

use super::capture::Capture;
use super::{OnDevice, Subject, failed, fetching};
use nvir::emu::stage::{Attributes, Output};
use nvir::hw::state::Topology;
use nvir::stage::{attribute, vertex_input};
use nvir_driver::{Count, Draw, PipelineDesc, Raster, VertexArray};
use nvir_fixture::kernel::LaunchError;

/// Instances in front of one whose number is not 0.
const MAX_INSTANCES: u32 = 4096;

impl OnDevice {
    pub(super) fn vertices(&mut self, s: &Subject<'_>, all: &[Attributes]) -> Result<Output, LaunchError> {
        let header = s.run.header;
        let read = (0..32).filter(|&n| (0..4).any(|c| header.reads(vertex_input(n) + 4 * c)));
        let inputs: Vec<u32> = read.collect();
        let capture = Capture::new(header, vec![0])?;
        let desc = |stride: u32| {
            let mut desc = PipelineDesc {
                programs: vec![s.program.clone()],
                topology: Topology::Points,
                raster: Raster { discard: true, ..Raster::default() },
                feedback: capture.feedback(),
                ..fetching(inputs.len())
            };
            desc.attributes.iter_mut().zip(&inputs).for_each(|(a, &n)| a.location = n);
            desc.arrays = vec![VertexArray { stride, instances: None }];
            desc
        };
        let element = |v: &Attributes| {
            let word = |at| v.get(at).unwrap_or(0);
            inputs
                .iter()
                .flat_map(|&n| (0..4).map(move |c| vertex_input(n) + 4 * c))
                .map(word)
                .collect::<Vec<_>>()
        };
        let array = self.words(&all.iter().flat_map(element).collect::<Vec<_>>())?;
        let number = |v: &Attributes, at| v.get(at).unwrap_or(0);
        let ids: Vec<[u32; 2]> = all
            .iter()
            .map(|v| [number(v, attribute::VERTEX_ID), number(v, attribute::INSTANCE_ID)])
            .collect();
        let [base, first_instance, _] = s.run.draw;
        let stride = 16 * inputs.len() as u32;
        let counted = ids.iter().zip(0..).all(|(&id, n)| id == [n, 0]);
        if counted && base == 0 && first_instance == 0 {
            let records = capture.records(self, all.len() as u64)?;
            let pipeline = self.context.get_mut().pipeline(desc(stride)).map_err(failed)?;
            let draw = Draw {
                arrays: vec![array],
                feedback: records.buffers.clone(),
                ..s.draw(&pipeline, all.len() as u32)
            };
            self.draw_alone(&draw, &[])?;
            return Ok(Output::Vertices(records.read(self, 0, 0, all.len() as u64)?));
        }
        // A draw for each, in which all vertices have the same input; of its instances the last is the one.
        let before: u64 = ids.iter().map(|id| u64::from(id[1])).sum();
        if let Some([_, instance]) = ids.iter().find(|id| id[1] >= MAX_INSTANCES) {
            return Err(LaunchError::Unseen(format!(
                "instance {instance}: a draw of a test has at most {MAX_INSTANCES}"
            )));
        }
        if before > 0 && s.stores() {
            return Err(LaunchError::Unseen(
                "the program changes memory, and instances before those of the test would, too".into(),
            ));
        }
        let records = capture.records(self, before + all.len() as u64)?;
        let pipeline = self.context.get_mut().pipeline(desc(0)).map_err(failed)?;
        let names: Vec<u32> = ids.iter().map(|id| id[0].wrapping_sub(base)).collect();
        let indices = self.indices(&names, base as i32)?;
        let (mut at, mut last) = (0, Vec::new());
        for (n, [_, instance]) in ids.iter().enumerate() {
            let element = array.buffer.slice(n as u64 * u64::from(stride), stride.into());
            let draw = Draw {
                count: Count::Direct { first: n as u32, count: 1, first_instance, instances: instance + 1 },
                indices: Some(indices.clone()),
                arrays: vec![element],
                feedback: records.behind(at),
                ..s.draw(&pipeline, 1)
            };
            self.draw_alone(&draw, &[])?;
            at += u64::from(*instance) + 1;
            last.push(at - 1);
        }
        let captured = records.read(self, 0, 0, at)?;
        Ok(Output::Vertices(last.iter().map(|&n| captured[n as usize].clone()).collect()))
    }
}
