//! Instructions that only graphics stages have.

use super::batch::Input;
use super::context::{Context, FIRST_VERTEX, NO_VERTEX, PHYSICAL_INPUTS, PHYSICAL_OUTPUTS, Thread};
use super::fragment::{self, Ipa};
use super::io::Io;
use crate::code::micro::{NULL, Width};
use crate::code::stageop::{At, StageOp as Op};
use crate::cx::{Cx, Env};
use crate::fault::FaultKind;
use crate::state::block::BlockState;
use crate::state::lanes::{LANES, LaneVec, Mask, Src, lanes};
use crate::state::warp::Warp;
use crate::trap::Trap;
use nvir_base::stage::{ATTRIBUTE_BYTES, Stage};
use nvir_isa::header::Topology;

/// The operands that must have a value: addresses, handles, numbers. Data may lack one.
pub(crate) fn reads_registers(op: &Op) -> [Option<Src>; 3] {
    match *op {
        Op::Load { at, vertex, .. } | Op::Store { at, vertex, .. } => [Some(at.base), vertex, None],
        Op::Vertex { base, .. } | Op::Physical { base, .. } | Op::Pixel { base, .. } => {
            [Some(base), None, None]
        }
        Op::Out { handle, stream, .. } => [Some(handle), Some(stream), None],
        Op::Interpolate { at, offset, .. } => [Some(at.base), offset, None],
    }
}

fn fault(kind: FaultKind, lane: usize, detail: String) -> Trap {
    Trap::new(kind, lane, detail)
}

/// Executes an instruction for the lanes of a mask.
pub(crate) fn execute(cx: &mut Cx<'_>, w: &mut Warp, op: &Op, mask: Mask) -> Result<(), Trap> {
    if fragment::at_centres(cx, w, op, mask) {
        return Ok(());
    }
    let lane = lanes(mask).next().unwrap_or(0);
    let (Some(context), Some(mut io)) = (cx.env.stage, cx.block.stage.take()) else {
        let detail = "this instruction cannot run in a compute program".to_string();
        return Err(fault(FaultKind::IllegalInstruction, lane, detail));
    };
    let mut this = InOut { env: cx.env, context, block: cx.block, io: &mut io };
    let result = this.execute(w, op, mask);
    cx.block.stage = Some(io);
    result
}

/// One warp at one instruction.
struct InOut<'a> {
    env: &'a Env<'a>,
    context: &'a Context<'a>,
    block: &'a mut BlockState,
    io: &'a mut Io,
}

fn put(w: &mut Warp, dst: u8, mask: Mask, row: &LaneVec) {
    if dst != NULL {
        w.regs[dst as usize].blend(mask, row);
    }
}

/// Word `k` of a result has no value in some lanes.
fn mark(w: &mut Warp, dst: u8, k: usize, undefined: Mask) {
    let pc = w.at;
    if let Some(u) = &mut w.undef {
        lanes(undefined).for_each(|l| u.set_word(dst, k, l, u32::MAX, pc));
    }
}

impl InOut<'_> {
    fn execute(&mut self, w: &mut Warp, op: &Op, mask: Mask) -> Result<(), Trap> {
        let mut row = LaneVec::ZERO;
        match *op {
            Op::Load { width, dst, at, vertex } => return self.load(w, mask, width, dst, at, vertex),
            Op::Store { width, src, at, vertex } => return self.store(w, mask, width, src, at, vertex),
            Op::Out { dst, handle, stream, emit, cut } => {
                return self.out(w, mask, dst, (handle, stream), (emit, cut));
            }
            Op::Vertex { dst, base, n } => {
                for l in lanes(mask) {
                    let n = self.value(w, base, l).wrapping_add(n as u32);
                    let Some((all, primitive)) = self.context.primitive(self.thread(l)?) else {
                        let detail = format!("a {} shader has no primitives", self.context.stage);
                        return Err(fault(FaultKind::IllegalInstruction, l, detail));
                    };
                    // OpenGL leaves the attributes of other vertices undefined: programs read them and drop what they read.
                    row.0[l] = all.vertex(primitive, n).map_or(NO_VERTEX, |_| FIRST_VERTEX + n);
                }
                put(w, dst, mask, &row);
            }
            Op::Physical { dst, base, offset, output } => {
                for l in lanes(mask) {
                    let address = self.value(w, base, l).wrapping_add(offset as u32);
                    if address >= ATTRIBUTE_BYTES {
                        let detail =
                            format!("a[{address:#x}], outside the {ATTRIBUTE_BYTES:#x} bytes of attributes");
                        return Err(fault(FaultKind::OutOfBounds, l, detail));
                    }
                    row.0[l] = address + if output { PHYSICAL_OUTPUTS } else { PHYSICAL_INPUTS };
                }
                put(w, dst, mask, &row);
            }
            Op::Interpolate { dst, at, mode, sample, sat, w: multiplier, offset } => {
                let pool = &self.env.bound.pool;
                let base = at.base.get(&w.regs, pool, &mut row);
                let addresses = base.0.map(|v| v.wrapping_add(at.offset as u32));
                let (mut scratch, mut scratch2, mut out) = (LaneVec::ZERO, LaneVec::ZERO, LaneVec::ZERO);
                let ipa = Ipa {
                    addresses: &addresses,
                    uniform: at.base == Src::ZERO,
                    mode,
                    sample,
                    sat,
                    multiplier: multiplier.get(&w.regs, pool, &mut scratch),
                    offset: offset.unwrap_or(Src::ZERO).get(&w.regs, pool, &mut scratch2),
                };
                let undefined =
                    fragment::interpolate(self.env.processor, self.context, self.io, mask, ipa, &mut out)?;
                put(w, dst, mask, &out);
                mark(w, dst, 0, undefined);
            }
            Op::Pixel { dst, info, base, n } => {
                for l in lanes(mask) {
                    let operand = self.value(w, base, l).wrapping_add(n as u32);
                    row.0[l] = fragment::pixel(self.context, self.io.warp, l, info, operand)?;
                }
                put(w, dst, mask, &row);
            }
        }
        Ok(())
    }

    fn value(&self, w: &Warp, src: Src, lane: usize) -> u32 {
        src.lane(&w.regs, &self.env.bound.pool, lane)
    }

    fn thread(&self, lane: usize) -> Result<Thread, Trap> {
        let thread = self.context.thread(self.io.warp, lane);
        thread
            .ok_or_else(|| fault(FaultKind::IllegalInstruction, lane, "this lane has no thread".to_string()))
    }

    /// The logical address of a lane's access.
    fn address(&self, w: &Warp, lane: usize, at: At, width: Width) -> Result<u32, Trap> {
        let mut a = self.value(w, at.base, lane).wrapping_add(at.offset as u32);
        let outside = |what: String| fault(FaultKind::OutOfBounds, lane, what);
        if at.physical {
            let first = if at.output { PHYSICAL_OUTPUTS } else { PHYSICAL_INPUTS };
            let logical = a.wrapping_sub(first);
            if logical >= ATTRIBUTE_BYTES {
                let side = if at.output { "an output" } else { "an input" };
                return Err(outside(format!("{a:#x} is not a physical address of {side} that AL2P gives")));
            }
            a = logical;
        }
        let (bytes, align) = (width.bytes(), width.align());
        if !a.is_multiple_of(align) {
            let detail = format!("{bytes} bytes at a[{a:#x}], which is not a multiple of {align}");
            return Err(fault(FaultKind::Misaligned, lane, detail));
        }
        if a.checked_add(bytes).is_none_or(|end| end > ATTRIBUTE_BYTES) {
            let detail =
                format!("{bytes} bytes at a[{a:#x}], outside the {ATTRIBUTE_BYTES:#x} bytes of attributes");
            return Err(outside(detail));
        }
        Ok(a)
    }

    fn load(
        &self,
        w: &mut Warp,
        mask: Mask,
        width: Width,
        dst: u8,
        at: At,
        vertex: Option<Src>,
    ) -> Result<(), Trap> {
        let mut rows = [LaneVec::ZERO; 4];
        let mut undefined = [0; 4];
        let n = width.regs() as usize;
        let whole = match self.context.input {
            Input::Vertices(v) if at.base == Src::ZERO && !at.patch && !at.output && vertex.is_none() => {
                Some(v)
            }
            _ => None,
        };
        if let Some(vertices) = whole {
            let first = lanes(mask).next().unwrap_or(0);
            let a = self.address(w, first, at, width)?;
            for (k, a) in (a..).step_by(4).take(n).enumerate() {
                if !self.context.header.reads(a) {
                    return Err(self.undeclared(first, "reads input", a));
                }
                let (row, defined) = self.context.vertex_row(vertices, self.io.warp, a);
                (rows[k], undefined[k]) = (row, mask & !defined);
            }
        } else {
            for l in lanes(mask) {
                let a = self.address(w, l, at, width)?;
                let vertex = vertex.map(|v| self.value(w, v, l));
                let thread = self.thread(l)?;
                for (k, a) in (a..).step_by(4).take(n).enumerate() {
                    let (value, defined) = if at.output {
                        self.read_output(l, thread, a, at.patch, vertex)?
                    } else {
                        self.read_input(l, thread, a, at.patch, vertex)?
                    };
                    rows[k].0[l] = value;
                    undefined[k] |= u32::from(!defined) << l;
                }
            }
        }
        for k in 0..n {
            if dst != NULL {
                w.regs[dst as usize + k].blend(mask, &rows[k]);
                mark(w, dst, k, undefined[k]);
            }
        }
        Ok(())
    }

    fn undeclared(&self, lane: usize, what: &str, a: u32) -> Trap {
        fault(FaultKind::OutOfBounds, lane, format!("{what} a[{a:#x}], which the header does not declare"))
    }

    fn none_here(&self, lane: usize, what: &str) -> Trap {
        fault(FaultKind::IllegalInstruction, lane, format!("{what} in a {} shader", self.context.stage))
    }

    fn read_input(
        &self,
        lane: usize,
        thread: Thread,
        a: u32,
        patch: bool,
        vertex: Option<u32>,
    ) -> Result<(u32, bool), Trap> {
        let context = self.context;
        if context.stage == Stage::Fragment {
            return Err(self.none_here(lane, "reads an input without IPA"));
        }
        if patch {
            let primitive = context.primitive(thread).filter(|_| context.stage == Stage::TessEval);
            let (all, n) = primitive.ok_or_else(|| self.none_here(lane, "reads inputs of a patch"))?;
            return Ok(all.patches.map_or((0, false), |p| context.word(p, n, a)));
        }
        if !context.header.reads(a) {
            return Err(self.undeclared(lane, "reads input", a));
        }
        let Some((all, n)) = context.primitive(thread) else {
            let Input::Vertices(vertices) = context.input else { return Ok((0, false)) };
            return match vertex {
                None => Ok(context.word(vertices, thread.item as usize, a)),
                Some(_) => Err(self.none_here(lane, "names the vertex of an input")),
            };
        };
        if Context::is_primitive_id(a) {
            return Ok((all.ids[n], true));
        }
        let vertex = vertex.ok_or_else(|| {
            let detail = format!("reads input a[{a:#x}] without a handle of a vertex, which VILD gives");
            fault(FaultKind::IllegalInstruction, lane, detail)
        })?;
        match all.vertex(n, vertex.wrapping_sub(FIRST_VERTEX)) {
            None if vertex == NO_VERTEX => Ok((0, false)),
            Some(vertex) => Ok(context.word(all.vertices, vertex, a)),
            None => {
                let detail = format!("{vertex:#x} is not a vertex handle that VILD gives");
                Err(fault(FaultKind::OutOfBounds, lane, detail))
            }
        }
    }

    fn read_output(
        &self,
        lane: usize,
        thread: Thread,
        a: u32,
        patch: bool,
        vertex: Option<u32>,
    ) -> Result<(u32, bool), Trap> {
        let context = self.context;
        if context.stage == Stage::Fragment {
            return Err(self.none_here(lane, "reads outputs back"));
        }
        if patch {
            if context.stage != Stage::TessControl {
                return Err(self.none_here(lane, "reads output of a patch"));
            }
            let words = u32::from(context.header.patch_words);
            if a / 4 >= words {
                let detail = format!(
                    "reads output a[{a:#x}] of the patch, of which the header declares {words} words"
                );
                return Err(fault(FaultKind::OutOfBounds, lane, detail));
            }
            return Ok(self.io.patches[self.patch_word(lane, a)]);
        }
        if !context.header.reads_back(a) {
            return Err(self.undeclared(lane, "reads back output", a));
        }
        let other = vertex.unwrap_or(lane as u32) as usize;
        let group = context.group as usize;
        let same =
            other < LANES && context.thread(self.io.warp, other).is_some() && other / group == lane / group;
        if !same || context.stage != Stage::TessControl && other != lane {
            let detail =
                format!("reads back outputs of lane {other}, which has no part in this lane's outputs");
            return Err(fault(FaultKind::OutOfBounds, lane, detail));
        }
        match (context.point(thread), a) {
            (Some(point), 0x2f0 | 0x2f4) => Ok((point.at[(a == 0x2f4) as usize].to_bits(), true)),
            _ => Ok(match context.outputs.slot(a) {
                Some(slot) => (self.io.out[slot].0[other], self.io.written[slot] >> other & 1 != 0),
                None => (0, false),
            }),
        }
    }

    /// Where a word of a lane's patch is.
    fn patch_word(&self, lane: usize, a: u32) -> usize {
        lane / self.context.group as usize * self.context.patch_outputs.len() + a as usize / 4
    }

    fn store(
        &mut self,
        w: &Warp,
        mask: Mask,
        width: Width,
        src: u8,
        at: At,
        vertex: Option<Src>,
    ) -> Result<(), Trap> {
        let context = self.context;
        let words = width.regs();
        let mut addresses = [0; LANES];
        // Nothing is written before all lanes may write.
        for l in lanes(mask) {
            let a = self.address(w, l, At { output: true, ..at }, width)?;
            if context.stage == Stage::Fragment {
                return Err(self.none_here(l, "writes an output with AST"));
            }
            self.thread(l)?;
            let handle = vertex.map_or(0, |v| self.value(w, v, l));
            if context.stage == Stage::Geometry && handle != self.io.handles[l] {
                let detail = format!(
                    "writes vertex {handle:#x}, but the handle that OUT gave last is {:#x}",
                    self.io.handles[l]
                );
                return Err(fault(FaultKind::IllegalInstruction, l, detail));
            }
            if at.patch && context.stage != Stage::TessControl {
                return Err(self.none_here(l, "writes output of a patch"));
            }
            addresses[l] = a;
        }
        let uniform = at.base == Src::ZERO && !at.patch;
        for k in 0..words as usize {
            let value = if src == NULL { &LaneVec::ZERO } else { &w.regs[src as usize + k] };
            let undefined = w.undef.as_ref().map_or(0, |u| u.lanes_of_word(src, k, mask));
            if uniform {
                let a = addresses[lanes(mask).next().unwrap_or(0)] + 4 * k as u32;
                self.store_word(w, mask, a, value, undefined);
                continue;
            }
            for l in lanes(mask) {
                let a = addresses[l] + 4 * k as u32;
                if at.patch && context.patch_outputs.slot(a).is_some() {
                    let to = self.patch_word(l, a);
                    self.io.patches[to] = (value.0[l], undefined >> l & 1 == 0);
                } else if at.patch {
                    self.drop(w, l, a);
                } else {
                    self.store_word(w, 1 << l, a, value, undefined);
                }
            }
        }
        Ok(())
    }

    /// Writes an output of some lanes. What the header does not declare goes nowhere.
    fn store_word(&mut self, w: &Warp, mask: Mask, a: u32, value: &LaneVec, undefined: Mask) {
        let Some(slot) = self.context.outputs.slot(a) else {
            return self.drop(w, lanes(mask).next().unwrap_or(0), a);
        };
        self.io.out[slot].blend(mask, value);
        self.io.written[slot] = self.io.written[slot] & !mask | mask & !undefined;
    }

    /// A store to an output that is not declared: initcheck notes it.
    fn drop(&mut self, w: &Warp, lane: usize, a: u32) {
        if self.env.checks.init {
            let what = format!("writes output a[{a:#x}], which the header does not declare: it goes nowhere");
            self.block.note(w, || fault(FaultKind::OutOfBounds, lane, what));
        }
    }

    fn out(
        &mut self,
        w: &mut Warp,
        mask: Mask,
        dst: u8,
        (handle, stream): (Src, Src),
        (emit, cut): (bool, bool),
    ) -> Result<(), Trap> {
        let header = self.context.header;
        for l in lanes(mask) {
            if self.context.stage != Stage::Geometry {
                return Err(self.none_here(l, "emits vertices"));
            }
            let (handle, stream) = (self.value(w, handle, l), self.value(w, stream, l));
            let illegal = |detail: String| Err(fault(FaultKind::IllegalInstruction, l, detail));
            if handle != self.io.handles[l] {
                return illegal(format!(
                    "OUT takes handle {handle:#x}, but the last one is {:#x}",
                    self.io.handles[l]
                ));
            }
            if stream > 3 || header.streams >> stream & 1 == 0 {
                return illegal(format!("stream {stream}, which the header does not declare"));
            }
            if cut && stream != 0 && header.topology != Some(Topology::Points) {
                return illegal(format!("ends a strip of stream {stream}: only stream 0 has strips"));
            }
        }
        // The hardware drops what is emitted beyond the maximum.
        let full = |io: &Io, l: usize| io.emitted[l] >= header.max_vertices.into();
        if emit
            && self.env.checks.init
            && let Some(l) = lanes(mask).find(|&l| full(self.io, l))
        {
            let most = header.max_vertices;
            let what =
                format!("emits more than the {most} vertices that the header declares: it goes nowhere");
            self.block.note(w, || fault(FaultKind::OutOfBounds, l, what));
        }
        let mut row = LaneVec::ZERO;
        for l in lanes(mask) {
            let stream = self.value(w, stream, l) as u8;
            if emit && !full(self.io, l) {
                self.io.emit(l, stream);
            }
            if cut {
                self.io.cut(l, stream);
            }
            // Odd steps, so that a handle is no number of vertices.
            self.io.handles[l] = self.io.handles[l].wrapping_add(0x51);
            row.0[l] = self.io.handles[l];
        }
        put(w, dst, mask, &row);
        Ok(())
    }
}
