//! The 3D classes 9097 (GF100), a097 (GK104), a197 (GK110): drawing.
//!
//! Registers are the only truth ([`regs`] has views of them). In the order of a draw: [`draw`] takes
//! vertices from BEGIN to END, [`fetch`] reads their attributes, [`assemble`] makes primitives,
//! [`pipeline`] runs the stages ([`bindings`] has their programs) with the [`tessellator`] and
//! transform [`feedback`] between them, [`fragments`] takes primitives through [`clip`] and
//! [`raster`] and runs the fragment program, [`output`] does what comes after it on the [`target`]s,
//! by the operations of [`rop`]. [`clear`] fills targets, [`query`] counts, [`describe`] says what is on.

mod assemble;
mod bindings;
mod clear;
mod clip;
mod describe;
mod draw;
mod feedback;
mod fetch;
mod fragments;
mod links;
mod output;
mod pipeline;
mod query;
mod raster;
mod regs;
mod rop;
mod state;
mod target;
mod tessellator;
mod watched;

use super::registers::Registers;
use super::upload::Inline;
use super::{Engine, condition, constants, query as reports};
use crate::device::{Device, EngineResult};
use crate::watch::What;
use draw::Scratch;
use feedback::Feedback;
use nvir_base::Chip;
use nvir_hw::method::condition::COND_ADDRESS_HIGH;
use nvir_hw::method::query::QUERY_GET;
use nvir_hw::method::three_d::*;
use nvir_hw::method::{self, Effect, Group};
use pipeline::Pipeline;
use query::Counters;
use state::{Sequence, State};

/// The class of a channel.
pub(crate) struct ThreeD {
    chip: Chip,
    state: State,
    /// Kepler's data in the stream.
    inline: Option<Inline>,
    /// Between BEGIN and END.
    in_sequence: bool,
    /// What is drawn there; none if the condition says so.
    sequence: Option<Sequence>,
    /// The number of the last sequence's instance.
    instance: u32,
    /// Sequences so far.
    draws: u64,
    counters: Counters,
    feedback: Feedback,
    scratch: Scratch,
    pipeline: Pipeline,
}

impl ThreeD {
    pub(crate) fn new(chip: Chip, regs: Registers) -> ThreeD {
        ThreeD {
            chip,
            state: State { regs, bindings: Default::default(), current: fetch::Current::default() },
            inline: (chip != Chip::Gf100).then(Inline::default),
            in_sequence: false,
            sequence: None,
            instance: 0,
            draws: 0,
            counters: Counters::default(),
            feedback: Feedback::default(),
            scratch: Scratch::default(),
            pipeline: Pipeline::default(),
        }
    }

    /// QUERY_GET.
    fn report(&self, device: &mut Device) -> EngineResult {
        reports::get(device, &self.state.regs, |get| self.counters.report(get, &self.feedback))
    }

    /// A method that does something, and is none of those that many classes have.
    fn act(&mut self, device: &mut Device, at: u32, value: u32) -> EngineResult {
        let State { regs, bindings, current } = &mut self.state;
        match at {
            VERTEX_BEGIN_GL => return self.begin(device, value),
            VERTEX_END_GL => return self.end(device),
            VERTEX_BUFFER_COUNT => return self.draw_arrays(device, value),
            INDEX_BATCH_COUNT => return self.draw_indices(device, value),
            VB_ELEMENT_U8 => return self.draw_inline(device, &[value], 4),
            VB_ELEMENT_U16 => return self.draw_inline(device, &[value], 2),
            VB_ELEMENT_U32 => return self.draw_inline(device, &[value], 1),
            DRAW_TFB_BYTES => return self.draw_feedback(device, value),
            CLEAR_BUFFERS if condition::holds(device, regs, COND_ADDRESS_HIGH)? => {
                let what = || What::Clear(clear::describe(regs));
                return device.command(regs, what, || clear::targets(regs), |d| clear::clear(d, regs));
            }
            CLEAR_BUFFERS => return Ok(()),
            COUNTER_RESET => {
                if value == COUNTER_SAMPLES {
                    self.counters.samples = 0;
                }
                return Ok(());
            }
            _ => {}
        }
        if let Some(n) = VTX_ATTR_DATA.index(at) {
            return current.data(regs, n, value);
        }
        if let Some(stage) = CB_BIND.index(at) {
            bindings[stage as usize].bind_stage_bank(value, constants::bank(regs));
        } else if let Some(stage) = BIND_TIC.index(at) {
            bindings[stage as usize].bind_texture(value);
        } else if let Some(stage) = BIND_TSC.index(at) {
            bindings[stage as usize].bind_sampler(value);
        } else if BIND_TIC2.index(at).or(BIND_TSC2.index(at)).is_none() {
            return Err("drawing by this method is not implemented".into());
        }
        Ok(())
    }
}

/// What COUNTER_RESET resets.
const COUNTER_SAMPLES: u32 = 1;

impl Engine for ThreeD {
    fn registers(&mut self) -> &mut Registers {
        &mut self.state.regs
    }

    fn method(&mut self, device: &mut Device, at: u32, value: u32) -> EngineResult {
        if let Some(inline) = &mut self.inline
            && inline.method(device, &self.state.regs, at, value)?
        {
            return Ok(());
        }
        if constants::is_data(at) {
            return constants::data(device, &mut self.state.regs, &[value]);
        }
        let Some((found, n)) = method::find(nvir_hw::Class::ThreeD.table(self.chip), at) else {
            return Ok(());
        };
        match found.group {
            Group::VertexInput => self.arrays_change(),
            Group::Feedback if TFB_BUFFER_OFFSET.index(at).is_some() => {
                self.feedback.seek(n as usize, value);
            }
            _ => {}
        }
        if found.effect != Effect::Action {
            // A driver that drops an array leaves the bit that its elements are instances.
            if let Some(array) = VERTEX_ARRAY_FETCH.index(at)
                && !nvir_hw::word::ArrayFetch::from_bits(value).enable()
            {
                self.state.regs.set(VERTEX_ARRAY_PER_INSTANCE.at(array), 0);
            }
            return Ok(());
        }
        if at == QUERY_GET {
            return self.report(device);
        }
        self.act(device, at, value)
    }

    fn bulk(&mut self, device: &mut Device, at: u32, words: &[u32]) -> EngineResult<bool> {
        match at {
            VB_ELEMENT_U8 => self.draw_inline(device, words, 4)?,
            VB_ELEMENT_U16 => self.draw_inline(device, words, 2)?,
            VB_ELEMENT_U32 => self.draw_inline(device, words, 1)?,
            _ if constants::is_data(at) => constants::data(device, &mut self.state.regs, words)?,
            _ => return self.inline.as_mut().map_or(Ok(false), |inline| inline.bulk(device, at, words)),
        }
        Ok(true)
    }
}
