//! Draws.

use super::bind::{Bindings, DrawConstants};
use super::pass::Render;
use super::pipeline::{MAX_ARRAYS, Pipeline};
use crate::commands::{Subchannel::ThreeD, halves};
use crate::error::{Result, invalid};
use crate::memory::Slice;
use nvir::stage::Stage;
use nvir_hw::method::three_d::*;
use nvir_hw::word::{ArrayFetch, VertexBegin};

/// Bytes of an index.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum IndexFormat {
    /// One.
    U8,
    /// Two.
    U16,
    /// Four.
    U32,
}

/// Numbers of vertices in memory.
#[derive(Clone, Debug)]
pub struct Indices {
    /// Where they lie.
    pub slice: Slice,
    /// How.
    pub format: IndexFormat,
    /// Is added to each.
    pub base: i32,
}

/// What is drawn.
#[derive(Clone, Debug)]
pub enum Count {
    /// So many vertices, or indices, from a first one on; so many instances from a first one on.
    Direct {
        /// The first vertex, or index.
        first: u32,
        /// Vertices, or indices.
        count: u32,
        /// The first instance, for arrays of instances; programs count from 0.
        first_instance: u32,
        /// Instances.
        instances: u32,
    },
    /// As words in memory say when the draw is queued: count, instances, first, first instance; with indices count,
    /// instances, first, base, first instance. What is queued is executed, and waited for.
    Indirect(Slice),
}

/// A draw: a pipeline, vertices, and what its programs are given.
#[derive(Clone, Debug)]
pub struct Draw<'a> {
    /// Programs and state.
    pub pipeline: &'a Pipeline,
    /// What is drawn.
    pub count: Count,
    /// Numbers of the vertices; else they are those of the count.
    pub indices: Option<Indices>,
    /// The memory of [`PipelineDesc::arrays`](crate::PipelineDesc::arrays). What lies outside reads as zeros.
    pub arrays: Vec<Slice>,
    /// What is bound to the stages.
    pub bindings: Vec<(Stage, Bindings)>,
    /// User clip planes, for programs that were compiled for some: 8 at most.
    pub clip_planes: Vec<[f32; 4]>,
    /// Buffers of transform feedback, one for each of the pipeline's, written from their beginning.
    pub feedback: Vec<Slice>,
    /// Which it is of several: what programs read as the number of the draw.
    pub number: u32,
}

impl<'a> Draw<'a> {
    /// A draw of one instance of so many vertices, with nothing bound.
    pub fn new(pipeline: &'a Pipeline, count: u32) -> Draw<'a> {
        Draw {
            pipeline,
            count: Count::Direct { first: 0, count, first_instance: 0, instances: 1 },
            indices: None,
            arrays: Vec::new(),
            bindings: Vec::new(),
            clip_planes: Vec::new(),
            feedback: Vec::new(),
            number: 0,
        }
    }
}

/// A count as numbers.
struct Numbers {
    first: u32,
    count: u32,
    base: i32,
    first_instance: u32,
    instances: u32,
}

impl Render<'_> {
    /// Queues a draw.
    ///
    /// # Errors
    /// A binding that does not exist or does not fit, arrays that are missing, no memory, or the context is lost.
    pub fn draw(&mut self, draw: &Draw<'_>) -> Result<()> {
        self.context.alive()?;
        self.check(draw)?;
        let n = self.numbers(draw)?;
        if let Some(i) = &draw.indices {
            let (there, end) = (i.slice.bytes >> i.format as u32, u64::from(n.first) + u64::from(n.count));
            if n.count != 0 && end > there {
                return invalid(format!("indices {} to {end} of {there}", n.first));
            }
        }
        let pipeline = draw.pipeline;
        if self.context.bind_pipeline(pipeline, self.extent)? || self.moved {
            let from_zero = pipeline.desc.raster.depth_from_zero;
            for (n, v) in (0..).zip(&self.viewports) {
                self.context.viewport(n, v, from_zero);
            }
            self.moved = false;
        }
        let base = if draw.indices.is_some() { n.base } else { n.first as i32 };
        let constants = DrawConstants {
            vertex: [base as u32, n.first_instance, draw.number],
            samples: self.extent.samples,
            clip_planes: &draw.clip_planes,
        };
        self.context.bind_stages(pipeline, &draw.bindings, &constants)?;
        self.arrays(draw)?;
        self.feedback(draw);
        self.sequence(draw, &n)?;
        if !draw.feedback.is_empty() {
            self.context.commands.methods(ThreeD, TFB_ENABLE, &[0]);
        }
        self.context.queued()
    }

    fn check(&self, draw: &Draw<'_>) -> Result<()> {
        let desc = &draw.pipeline.desc;
        for (n, (stage, _)) in draw.bindings.iter().enumerate() {
            if desc.program(*stage).is_none() {
                return invalid(format!("bindings of the {} stage, which has no program", stage.name()));
            }
            if draw.bindings[..n].iter().any(|(s, _)| s == stage) {
                return invalid(format!("two bindings of the {} stage", stage.name()));
            }
        }
        if draw.arrays.len() != desc.arrays.len() || draw.feedback.len() != desc.feedback.len() {
            return invalid(format!(
                "{} arrays and {} buffers of transform feedback, where the pipeline has {} and {}",
                draw.arrays.len(),
                draw.feedback.len(),
                desc.arrays.len(),
                desc.feedback.len()
            ));
        }
        if draw.clip_planes.len() > 8 {
            return invalid(format!("{} clip planes: 8 are possible", draw.clip_planes.len()));
        }
        let indices = draw.indices.iter().map(|i| &i.slice);
        for slice in draw.arrays.iter().chain(&draw.feedback).chain(indices) {
            self.context.check(slice)?;
        }
        if let Some(i) = &draw.indices
            && !i.slice.address().is_multiple_of(1 << i.format as u64)
        {
            return invalid(format!("{:?} indices at {}", i.format, i.slice.offset));
        }
        if let Some(f) = draw.feedback.iter().find(|f| f.address() % 4 != 0 || f.bytes > u64::from(u32::MAX))
        {
            return invalid(format!("transform feedback to {} bytes at {}", f.bytes, f.offset));
        }
        Ok(())
    }

    /// The numbers of a count, which may lie in memory.
    fn numbers(&mut self, draw: &Draw<'_>) -> Result<Numbers> {
        let base = draw.indices.as_ref().map_or(0, |i| i.base);
        match &draw.count {
            Count::Direct { first, count, first_instance, instances } => Ok(Numbers {
                first: *first,
                count: *count,
                base,
                first_instance: *first_instance,
                instances: *instances,
            }),
            Count::Indirect(slice) => {
                let bytes = if draw.indices.is_some() { 20 } else { 16 };
                if slice.bytes != bytes || !slice.offset.is_multiple_of(4) {
                    return invalid(format!(
                        "a count of {} bytes at {}: it has {bytes}, at a multiple of 4",
                        slice.bytes, slice.offset
                    ));
                }
                let data = self.context.read(slice)?;
                let words: Vec<u32> = crate::commands::words(&data);
                let (base, last) = if bytes == 20 { (words[3] as i32, words[4]) } else { (0, words[3]) };
                let [count, instances, first] = [words[0], words[1], words[2]];
                Ok(Numbers { first, count, base, first_instance: last, instances })
            }
        }
    }

    /// Tells where arrays lie.
    fn arrays(&mut self, draw: &Draw<'_>) -> Result<()> {
        let enabled = self.context.graphics()?.arrays;
        let desc = &draw.pipeline.desc;
        for (n, (slice, array)) in (0..).zip(draw.arrays.iter().zip(&desc.arrays)) {
            self.context.using(&slice.buffer.shared);
            let c = &mut self.context.commands;
            let fetch = ArrayFetch::new().with_stride(array.stride).with_enable(slice.bytes != 0);
            let [high, low] = halves(slice.address());
            let divisor = array.instances.unwrap_or(0);
            c.methods(ThreeD, VERTEX_ARRAY_FETCH.at(n), &[fetch.into(), high, low, divisor]);
            let last = halves((slice.address() + slice.bytes).saturating_sub(1));
            c.methods(ThreeD, VERTEX_ARRAY_LIMIT_HIGH.at(n), &last);
        }
        let count = draw.arrays.len() as u32;
        for n in count..enabled.min(MAX_ARRAYS) {
            self.context.commands.methods(ThreeD, VERTEX_ARRAY_FETCH.at(n), &[0]);
        }
        self.context.graphics()?.arrays = count;
        Ok(())
    }

    /// Begins transform feedback.
    fn feedback(&mut self, draw: &Draw<'_>) {
        if draw.feedback.is_empty() {
            return;
        }
        self.context.commands.methods(ThreeD, TFB_ENABLE, &[1]);
        for n in 0..TFB_BUFFER_ENABLE.count {
            let Some(slice) = draw.feedback.get(n as usize) else {
                self.context.commands.methods(ThreeD, TFB_BUFFER_ENABLE.at(n), &[0]);
                continue;
            };
            self.context.using(&slice.buffer.shared);
            let [high, low] = halves(slice.address());
            let words = [u32::from(slice.bytes != 0), high, low, slice.bytes as u32, 0];
            self.context.commands.methods(ThreeD, TFB_BUFFER_ENABLE.at(n), &words);
        }
    }

    /// The sequences of vertices, one for each instance.
    fn sequence(&mut self, draw: &Draw<'_>, n: &Numbers) -> Result<()> {
        if n.count == 0 {
            return Ok(());
        }
        let topology = draw.pipeline.desc.topology.code();
        let base = if draw.indices.is_some() { n.base as u32 } else { 0 };
        if let Some(i) = &draw.indices {
            self.context.using(&i.slice.buffer.shared);
        }
        let c = &mut self.context.commands;
        c.methods(ThreeD, VB_ELEMENT_BASE, &[base, n.first_instance]);
        c.methods(ThreeD, VERTEX_ID_BASE, &[base]);
        if let Some(i) = &draw.indices {
            let [high, low] = halves(i.slice.address());
            let [last_high, last_low] = halves((i.slice.address() + i.slice.bytes).saturating_sub(1));
            c.methods(ThreeD, INDEX_ARRAY_START_HIGH, &[high, low, last_high, last_low, i.format as u32]);
        }
        for instance in 0..n.instances {
            let begin = VertexBegin::new().with_primitive(topology).with_next_instance(instance != 0);
            let c = &mut self.context.commands;
            c.methods(ThreeD, VERTEX_BEGIN_GL, &[begin.into()]);
            let method = if draw.indices.is_some() { INDEX_BATCH_FIRST } else { VERTEX_BUFFER_FIRST };
            c.methods(ThreeD, method, &[n.first, n.count]);
            c.methods(ThreeD, VERTEX_END_GL, &[0]);
            self.context.queued()?;
        }
        Ok(())
    }
}
