//! Instructions that only graphics stages have.

use super::output::{Emitted, Io};
use super::{At, Context, FIRST_VERTEX, Op, PHYSICAL_INPUTS, PHYSICAL_OUTPUTS, Thread, Work, fragment};
use crate::fault::FaultKind;
use crate::inst::{SINK, Width};
use crate::lanes::{LANES, Mask, Row, Src, lanes};
use crate::trap::Trap;
use crate::warp::Warp;
use nvir_base::Chip;
use nvir_base::stage::{ATTRIBUTE_BYTES, Stage, attribute};
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

/// One warp at one instruction.
struct Cx<'a, 'b> {
    context: &'b Context<'a>,
    chip: Chip,
    pool: &'b [Row],
}

/// Executes an instruction for the lanes of a mask.
pub(crate) fn execute(
    context: &Context<'_>,
    chip: Chip,
    pool: &[Row],
    io: &mut Io,
    w: &mut Warp,
    op: &Op,
    mask: Mask,
) -> Result<(), Trap> {
    let cx = Cx { context, chip, pool };
    match *op {
        Op::Load { width, dst, at, vertex } => cx.load(io, w, mask, width, dst, at, vertex),
        Op::Store { width, src, at, vertex } => cx.store(io, w, mask, width, src, at, vertex),
        Op::Vertex { dst, base, n } => {
            let mut row = Row::ZERO;
            for l in lanes(mask) {
                let n = cx.value(w, base, l).wrapping_add(n as u32);
                let primitive = context.primitive(cx.thread(io, l)?);
                let Some(primitive) = primitive else {
                    let detail = format!("a {} shader has no primitives", context.stage);
                    return Err(fault(FaultKind::IllegalInstruction, l, detail));
                };
                let count = primitive.vertices.len() as u32;
                if n >= count {
                    let detail = format!("vertex {} of a primitive that has {count}", n as i32);
                    return Err(fault(FaultKind::OutOfBounds, l, detail));
                }
                row.0[l] = FIRST_VERTEX + n;
            }
            put(w, dst, mask, &row);
            Ok(())
        }
        Op::Physical { dst, base, offset, output } => {
            let mut row = Row::ZERO;
            for l in lanes(mask) {
                let address = cx.value(w, base, l).wrapping_add(offset as u32);
                if address >= ATTRIBUTE_BYTES {
                    let detail =
                        format!("a[{address:#x}], outside the {ATTRIBUTE_BYTES:#x} bytes of attributes");
                    return Err(fault(FaultKind::OutOfBounds, l, detail));
                }
                row.0[l] = address + if output { PHYSICAL_OUTPUTS } else { PHYSICAL_INPUTS };
            }
            put(w, dst, mask, &row);
            Ok(())
        }
        Op::Out { dst, handle, stream, emit, cut } => cx.out(io, w, mask, dst, (handle, stream), (emit, cut)),
        Op::Interpolate { dst, at, mode, sample, sat, w: multiplier, offset } => {
            let mut row = Row::ZERO;
            let mut undefined = 0;
            for l in lanes(mask) {
                let address = cx.value(w, at.base, l).wrapping_add(at.offset as u32);
                let operands = (cx.value(w, multiplier, l), offset.map_or(0, |o| cx.value(w, o, l)));
                let thread = cx.thread(io, l)?;
                let value = fragment::interpolate(context, l, thread, address, mode, sample, sat, operands)?;
                row.0[l] = value.unwrap_or(0);
                undefined |= u32::from(value.is_none()) << l;
            }
            put(w, dst, mask, &row);
            mark(w, dst, 0, undefined);
            Ok(())
        }
        Op::Pixel { dst, info, base, n } => {
            let mut row = Row::ZERO;
            for l in lanes(mask) {
                let operand = cx.value(w, base, l).wrapping_add(n as u32);
                row.0[l] = fragment::pixel(context, l, cx.thread(io, l)?, info, operand)?;
            }
            put(w, dst, mask, &row);
            Ok(())
        }
    }
}

fn put(w: &mut Warp, dst: u8, mask: Mask, row: &Row) {
    if dst != SINK {
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

impl Cx<'_, '_> {
    fn value(&self, w: &Warp, src: Src, lane: usize) -> u32 {
        src.lane(&w.regs, self.pool, lane)
    }

    fn thread(&self, io: &Io, lane: usize) -> Result<Thread, Trap> {
        let thread = self.context.thread(io.warp, lane);
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
        } else if at.base != Src::ZERO && !at.patch && self.chip != Chip::Gf100 {
            let detail = format!("{} takes an index only as a physical address, which AL2P gives", self.chip);
            return Err(fault(FaultKind::IllegalInstruction, lane, detail));
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

    #[expect(clippy::too_many_arguments, reason = "the operands of one instruction")]
    fn load(
        &self,
        io: &Io,
        w: &mut Warp,
        mask: Mask,
        width: Width,
        dst: u8,
        at: At,
        vertex: Option<Src>,
    ) -> Result<(), Trap> {
        let mut rows = [Row::ZERO; 4];
        let mut undefined = [0; 4];
        let n = width.regs() as usize;
        for l in lanes(mask) {
            let a = self.address(w, l, at, width)?;
            let vertex = vertex.map(|v| self.value(w, v, l));
            let thread = self.thread(io, l)?;
            for (k, a) in (a..).step_by(4).take(n).enumerate() {
                let value = if at.output {
                    self.read_output(io, l, thread, a, at.patch, vertex)?
                } else {
                    self.read_input(l, thread, a, at.patch, vertex)?
                };
                rows[k].0[l] = value.unwrap_or(0);
                undefined[k] |= u32::from(value.is_none()) << l;
            }
        }
        for k in 0..n {
            if dst != SINK {
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
    ) -> Result<Option<u32>, Trap> {
        let context = self.context;
        if context.stage == Stage::Fragment {
            return Err(self.none_here(lane, "reads an input without IPA"));
        }
        if patch {
            let primitive = context.primitive(thread).filter(|_| context.stage == Stage::TessEval);
            let primitive = primitive.ok_or_else(|| self.none_here(lane, "reads inputs of a patch"))?;
            return Ok(primitive.patch.get(a));
        }
        if !context.header.reads(a) {
            return Err(self.undeclared(lane, "reads input", a));
        }
        let Some(primitive) = context.primitive(thread) else {
            let Work::Vertices(vertices) = context.work else { return Ok(None) };
            return match vertex {
                None => Ok(vertices[thread.item as usize].get(a)),
                Some(_) => Err(self.none_here(lane, "names the vertex of an input")),
            };
        };
        if a == attribute::PRIMITIVE_ID {
            return Ok(Some(primitive.id));
        }
        let vertex = vertex.ok_or_else(|| {
            let detail = format!("reads input a[{a:#x}] without a handle of a vertex, which VILD gives");
            fault(FaultKind::IllegalInstruction, lane, detail)
        })?;
        match primitive.vertices.get(vertex.wrapping_sub(FIRST_VERTEX) as usize) {
            Some(vertex) => Ok(vertex.get(a)),
            None => {
                let detail = format!("{vertex:#x} is not a vertex handle that VILD gives");
                Err(fault(FaultKind::OutOfBounds, lane, detail))
            }
        }
    }

    fn read_output(
        &self,
        io: &Io,
        lane: usize,
        thread: Thread,
        a: u32,
        patch: bool,
        vertex: Option<u32>,
    ) -> Result<Option<u32>, Trap> {
        let context = self.context;
        if context.stage == Stage::Fragment {
            return Err(self.none_here(lane, "reads outputs back"));
        }
        if patch {
            self.patch_output(lane, a, "reads output")?;
            return Ok(io.patches[lane / context.group as usize].get(a));
        }
        if !context.header.reads_back(a) {
            return Err(self.undeclared(lane, "reads back output", a));
        }
        let other = vertex.unwrap_or(lane as u32) as usize;
        let group = context.group as usize;
        let same = context.thread(io.warp, other.min(LANES)).is_some() && other / group == lane / group;
        if !same || context.stage != Stage::TessControl && other != lane {
            let detail =
                format!("reads back outputs of lane {other}, which has no part in this lane's outputs");
            return Err(fault(FaultKind::OutOfBounds, lane, detail));
        }
        match (context.work, a) {
            (Work::Points { points, .. }, 0x2f0 | 0x2f4) => {
                Ok(Some(points[thread.item as usize].at[(a == 0x2f4) as usize].to_bits()))
            }
            _ => Ok(io.out[other].get(a)),
        }
    }

    /// Faults if a patch has no output at an address.
    fn patch_output(&self, lane: usize, a: u32, what: &str) -> Result<(), Trap> {
        if self.context.stage != Stage::TessControl {
            return Err(self.none_here(lane, &format!("{what} of a patch")));
        }
        let words = u32::from(self.context.header.patch_words);
        if a / 4 >= words {
            let detail = format!("{what} a[{a:#x}] of the patch, of which the header declares {words} words");
            return Err(fault(FaultKind::OutOfBounds, lane, detail));
        }
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "the operands of one instruction")]
    fn store(
        &self,
        io: &mut Io,
        w: &Warp,
        mask: Mask,
        width: Width,
        src: u8,
        at: At,
        vertex: Option<Src>,
    ) -> Result<(), Trap> {
        let context = self.context;
        for l in lanes(mask) {
            let a = self.address(w, l, At { output: true, ..at }, width)?;
            if context.stage == Stage::Fragment {
                return Err(self.none_here(l, "writes an output with AST"));
            }
            self.thread(io, l)?;
            let handle = vertex.map_or(0, |v| self.value(w, v, l));
            if context.stage == Stage::Geometry && handle != io.handles[l] {
                let detail = format!(
                    "writes vertex {handle:#x}, but the handle that OUT gave last is {:#x}",
                    io.handles[l]
                );
                return Err(fault(FaultKind::IllegalInstruction, l, detail));
            }
            for (k, a) in (a..).step_by(4).take(width.regs() as usize).enumerate() {
                let undefined = w.undef.as_ref().is_some_and(|u| u.word(src, k, l) != 0);
                let value = if src == SINK { 0 } else { w.regs[src as usize + k].0[l] };
                let value = (!undefined).then_some(value);
                if at.patch {
                    self.patch_output(l, a, "writes output")?;
                    io.patches[l / context.group as usize].put(a, value);
                } else if context.header.writes(a) {
                    io.out[l].put(a, value);
                } else {
                    return Err(self.undeclared(l, "writes output", a));
                }
            }
        }
        Ok(())
    }

    fn out(
        &self,
        io: &mut Io,
        w: &mut Warp,
        mask: Mask,
        dst: u8,
        (handle, stream): (Src, Src),
        (emit, cut): (bool, bool),
    ) -> Result<(), Trap> {
        let header = self.context.header;
        let mut row = Row::ZERO;
        for l in lanes(mask) {
            if self.context.stage != Stage::Geometry {
                return Err(self.none_here(l, "emits vertices"));
            }
            let (handle, stream) = (self.value(w, handle, l), self.value(w, stream, l));
            let illegal = |detail: String| Err(fault(FaultKind::IllegalInstruction, l, detail));
            if handle != io.handles[l] {
                return illegal(format!(
                    "OUT takes handle {handle:#x}, but the last one is {:#x}",
                    io.handles[l]
                ));
            }
            if stream > 3 || header.streams >> stream & 1 == 0 {
                return illegal(format!("stream {stream}, which the header does not declare"));
            }
            if cut && stream != 0 && header.topology != Some(Topology::Points) {
                return illegal(format!("ends a strip of stream {stream}: only stream 0 has strips"));
            }
            if emit {
                if io.emitted[l] >= header.max_vertices.into() {
                    let detail = format!(
                        "emits more than the {} vertices that the header declares",
                        header.max_vertices
                    );
                    return Err(fault(FaultKind::OutOfBounds, l, detail));
                }
                io.emitted[l] += 1;
                let vertex = Emitted::Vertex(io.out[l].clone());
                io.events[l].push((stream, vertex));
                io.out[l].clear();
            }
            if cut {
                io.events[l].push((stream, Emitted::Cut));
            }
            // Odd steps, so that a handle is no number of vertices.
            io.handles[l] = handle.wrapping_add(0x51);
            row.0[l] = io.handles[l];
        }
        put(w, dst, mask, &row);
        Ok(())
    }
}
