//! A launch of a stage while it runs, as all warps see it: which thread a lane is, and where its inputs are.

use super::batch::{
    AttributeBuffer, DomainPoint, Fragments, Input, Inputs, Layout, Primitives, Quad, Slots, State,
};
use crate::state::lanes::{LANES, LaneVec, Mask};
use nvir_base::stage::{Stage, attribute};
use nvir_hw::special;
use nvir_isa::header::Header;
use std::sync::Arc;

/// Where inputs begin in the physical addresses that AL2P gives, and outputs. The hardware's are not known; these are unlike any
/// logical address.
pub(super) const PHYSICAL_INPUTS: u32 = 0x2000;
pub(super) const PHYSICAL_OUTPUTS: u32 = 0x6000;

/// The handle of a primitive's vertex 0; the others follow.
pub(super) const FIRST_VERTEX: u32 = 0x1000;

/// The handle of a vertex that the primitive does not have: its attributes are zero, and have no value for initcheck.
pub(super) const NO_VERTEX: u32 = FIRST_VERTEX - 1;

/// Which thread a lane of a warp is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Thread {
    /// The number of its vertex, patch, point, primitive or quad.
    pub item: u32,
    /// Its number among those of the item.
    pub invocation: u32,
}

/// What a launch of a stage works on.
pub(crate) struct Context<'a> {
    pub stage: Stage,
    pub header: &'a Header,
    pub input: &'a Input<'a>,
    pub state: State<'a>,
    pub outputs: &'a Arc<Slots>,
    pub patch_outputs: &'a Arc<Slots>,
    pub inputs: &'a Inputs,
    pub layout: Layout,
    /// Threads of an item: consecutive lanes of one warp.
    pub group: u32,
    /// Items of a warp.
    pub groups: u32,
    items: u32,
    /// By lane: its item among those of the warp, and its invocation.
    places: [(u8, u8); LANES],
}

/// What a launch is bound to, as far as stages see it.
pub(crate) struct Parts<'a> {
    pub header: &'a Header,
    pub state: State<'a>,
    pub outputs: &'a Arc<Slots>,
    pub patch_outputs: &'a Arc<Slots>,
    pub inputs: &'a Inputs,
    pub layout: Layout,
}

impl<'a> Context<'a> {
    pub(crate) fn new(parts: Parts<'a>, input: &'a Input<'a>) -> Result<Context<'a>, String> {
        let Parts { header, state, outputs, patch_outputs, inputs, layout } = parts;
        let threads = u32::from(header.threads);
        let (stage, items, group) = match input {
            Input::Vertices(v) => (Stage::Vertex, v.len(), 1),
            Input::Patches(p) => (Stage::TessControl, p.ids.len(), threads),
            Input::Points { points, .. } => (Stage::TessEval, points.len(), 1),
            Input::Primitives(p) => (Stage::Geometry, p.ids.len(), threads),
            Input::Quads(f) => (Stage::Fragment, f.quads.len(), 4),
        };
        if stage != header.stage() {
            return Err(format!(
                "the header is of a {} shader, the work is for a {stage} shader",
                header.stage()
            ));
        }
        if !(1..=LANES as u32).contains(&group) {
            return Err(format!("the header asks for {group} threads an item: 1 to {LANES}"));
        }
        let items = u32::try_from(items).map_err(|_| "more than 2^32 items".to_string())?;
        if !matches!(state.samples, 1 | 2 | 4 | 8) {
            return Err(format!("{} samples: 1, 2, 4 or 8", state.samples));
        }
        input.check(inputs)?;
        let places = std::array::from_fn(|l| ((l as u32 / group) as u8, (l as u32 % group) as u8));
        let groups = LANES as u32 / group;
        Ok(Context {
            stage,
            header,
            input,
            state,
            outputs,
            patch_outputs,
            inputs,
            layout,
            group,
            groups,
            items,
            places,
        })
    }

    pub(crate) fn warps(&self) -> u32 {
        self.items.div_ceil(self.groups)
    }

    /// The thread in a lane, if there is one.
    #[inline]
    pub(crate) fn thread(&self, warp: u64, lane: usize) -> Option<Thread> {
        let (group, invocation) = self.places[lane];
        let item = warp * u64::from(self.groups) + u64::from(group);
        let there = u32::from(group) < self.groups && item < self.items.into();
        there.then_some(Thread { item: item as u32, invocation: invocation.into() })
    }

    /// The lanes of a warp that have threads.
    pub(crate) fn live(&self, warp: u64) -> Mask {
        let first = warp * u64::from(self.groups);
        let items = u64::from(self.items).saturating_sub(first).min(self.groups.into()) as u32;
        match items * self.group {
            0 => 0,
            threads => Mask::MAX >> (LANES as u32 - threads),
        }
    }

    /// The quads of a warp of a fragment stage.
    pub(crate) fn quads(&self, warp: u64) -> &'a [Quad] {
        let Input::Quads(f) = self.input else { return &[] };
        let first = (warp as usize * LANES / 4).min(f.quads.len());
        &f.quads[first..f.quads.len().min(first + LANES / 4)]
    }

    /// The triangles and quads of a fragment stage.
    pub(crate) fn fragments(&self) -> Option<&'a Fragments> {
        if let Input::Quads(f) = self.input { Some(f) } else { None }
    }

    /// The lanes of a warp that run for the sake of others only, from the start.
    pub(crate) fn helpers(&self, warp: u64) -> Mask {
        let quads = self.quads(warp).iter().enumerate();
        quads.fold(0, |m, (n, q)| m | u32::from(!q.live & 15) << (4 * n))
    }

    /// What a thread works on, for reports.
    pub(crate) fn describe(&self, warp: u64, lane: usize) -> String {
        let Some(Thread { item, invocation }) = self.thread(warp, lane) else {
            return "no thread".to_string();
        };
        match self.input {
            Input::Vertices(v) => {
                let number = v.slots().slot(attribute::VERTEX_ID);
                format!("vertex {}", number.map_or(item, |slot| v.get(item as usize, slot)))
            }
            Input::Patches(_) => format!("patch {item}, invocation {invocation}"),
            Input::Points { points, .. } => format!("point {item} of patch {}", points[item as usize].patch),
            Input::Primitives(_) => format!("primitive {item}, invocation {invocation}"),
            Input::Quads(f) => {
                let [x, y] = f.quads[item as usize].at;
                format!("pixel ({}, {})", x + (invocation & 1), y + (invocation >> 1))
            }
        }
    }

    /// The primitive of a thread, where the stage has primitives, and its number among them.
    pub(crate) fn primitive(&self, thread: Thread) -> Option<(&'a Primitives<'a>, usize)> {
        match self.input {
            Input::Patches(all) | Input::Primitives(all) => Some((all, thread.item as usize)),
            Input::Points { patches, points } => {
                Some((patches, points.get(thread.item as usize)?.patch as usize))
            }
            Input::Vertices(_) | Input::Quads(_) => None,
        }
    }

    /// What the tessellator made, for a thread of an evaluation stage.
    pub(crate) fn point(&self, thread: Thread) -> Option<DomainPoint> {
        let Input::Points { points, .. } = self.input else { return None };
        points.get(thread.item as usize).copied()
    }

    /// The word at an address of a row of attributes, with whether it has a value.
    pub(crate) fn word(&self, from: &AttributeBuffer, row: usize, address: u32) -> (u32, bool) {
        match from.slots().slot(address) {
            Some(slot) if row < from.len() => (from.get(row, slot), from.is_defined(row, slot)),
            Some(_) => (0, false),
            None => (self.state.defaults.word(address), self.state.defaults.defined),
        }
    }

    /// The word at an address of the vertices of a warp, with the lanes in which it has a value.
    pub(crate) fn vertex_row(&self, from: &AttributeBuffer, warp: u64, address: u32) -> (LaneVec, Mask) {
        match from.slots().slot(address) {
            Some(slot) => {
                let (row, defined) = from.group(warp as usize, slot);
                (*row, defined)
            }
            None => {
                let defined = if self.state.defaults.defined { Mask::MAX } else { 0 };
                (LaneVec::splat(self.state.defaults.word(address)), defined)
            }
        }
    }

    /// Whether an input is the number of the primitive, which no vertex has.
    pub(crate) fn is_primitive_id(address: u32) -> bool {
        address == attribute::PRIMITIVE_ID
    }

    /// A special register that graphics stages have. Source: envytools and Mesa 22.3.6, nv50_ir_target_nvc0.cpp.
    pub(crate) fn special_register(&self, warp: u64, helpers: Mask, reg: u8, lane: usize) -> Option<u32> {
        Some(match reg {
            special::PRIM_TYPE => {
                let primitive = self.primitive(self.thread(warp, lane).unwrap_or_default());
                (primitive.map_or(0, |(p, n)| p.count(n)) & 0xff) << 8
            }
            special::INVOCATION_ID => self.thread(warp, lane).unwrap_or_default().invocation,
            special::Y_DIRECTION => 1f32.to_bits(),
            special::THREAD_KILL => 0u32.wrapping_sub(helpers >> lane & 1),
            _ => return None,
        })
    }

    /// Whether implicit derivatives are those of quads of pixels.
    pub(crate) fn has_quads(&self) -> bool {
        self.stage == Stage::Fragment
    }
}
