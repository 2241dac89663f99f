//! What both front-ends make of inputs, outputs and the operations of graphics stages.

use super::convert::convert;
use super::texture;
use crate::chip::Chip;
use crate::ir::build::Builder;
use crate::ir::{
    Align, Aux, Class, Cond, Dim, EmitOp, Fact, Function, Guard, Inst, Interface, Interp, InterpAt,
    InterpMode, List, MemRef, Op, PixelOp, Rnd, Space, Src, Sv, Term, Tex, TexOp, TexRole, Type, ValueId,
};
use crate::stage::{Semantic, Stage};

/// A place among attributes: an address in bytes, what is added to it, the vertex.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// Input or output.
    pub space: Space,
    /// In bytes.
    pub address: u32,
    /// A multiple of 16.
    pub offset: Option<ValueId>,
    /// Of which vertex, where there are several.
    pub vertex: Option<ValueId>,
}

impl Place {
    /// Where a meaning lies that has one place.
    pub(crate) fn of(space: Space, semantic: Semantic) -> Place {
        Place { space, address: semantic.address().unwrap_or_default(), offset: None, vertex: None }
    }

    /// The memory operand of a component.
    pub(crate) fn component(&self, c: u32) -> MemRef {
        let mut m = MemRef::new(self.space).with_offset((self.address + 4 * c) as i32);
        m.index = self.vertex;
        if let Some(offset) = self.offset {
            m.set_base(&[offset]);
        }
        m.align = Align::new(16, (self.address + 4 * c) & 15);
        m
    }
}

/// The vertex `n` (+ `dynamic`) of the primitive or patch, for loads of its inputs.
pub(crate) fn input_vertex(b: &mut Builder<'_>, n: u32, dynamic: Option<ValueId>) -> ValueId {
    let mut inst = Inst::new(Op::Vertex, Type::U32);
    if n > 255 {
        let sum = match dynamic {
            Some(v) => b.add(Type::U32, v, n),
            None => b.mov(n),
        };
        inst.srcs.extend([Src::imm(0), Src::val(sum)]);
    } else {
        inst.srcs.push(Src::imm(n));
        inst.srcs.extend(dynamic.map(Src::val));
    }
    b.value(inst)
}

/// The output vertex `n` (+ `dynamic`) of the patch, for loads of what tessellation control wrote there: its lane.
pub(crate) fn output_vertex(b: &mut Builder<'_>, n: u32, dynamic: Option<ValueId>) -> ValueId {
    let (lane, own) = (b.sv(Sv::Laneid), b.sv(Sv::InvocationId));
    let first = b.op2(Op::Sub, Type::U32, lane, own);
    let vertex = match dynamic {
        Some(v) => b.add(Type::U32, first, v),
        None => first,
    };
    if n == 0 { vertex } else { b.add(Type::U32, vertex, n) }
}

/// Whether a stage has an input or output of a semantic.
pub(crate) fn exists(stage: Stage, input: bool, s: Semantic) -> bool {
    use Semantic::*;
    match (stage, input) {
        (Stage::Compute, _) | (Stage::Vertex, true) => true,
        (Stage::Fragment, false) => matches!(s, Color(_) | Depth | Stencil | SampleMask),
        (Stage::TessControl, false) | (Stage::TessEval, true) => s.address().is_some(),
        (Stage::Fragment, true) => s.address().is_some() && !s.is_per_patch(),
        _ => (s.address().is_some() || s == EdgeFlag) && !s.is_per_patch(),
    }
}

/// An interpolated input. `offset`: as [`pixel_offset`] gives it.
pub(crate) fn interpolated(
    b: &mut Builder<'_>,
    mem: MemRef,
    how: Interp,
    offset: Option<ValueId>,
) -> ValueId {
    let ty = if how.mode == InterpMode::Flat { Type::U32 } else { Type::F32 };
    let mut inst = Inst::new(Op::Interp, ty).with_aux(Aux::Interp(how)).with_mem(mem);
    if let (InterpAt::Offset, Some(offset)) = (how.at, offset) {
        inst.srcs.extend([Src::imm(0), Src::val(offset)]);
    }
    b.value(inst)
}

/// A distance from the pixel's middle, in pixels, as interpolation takes it. It is clamped to where the hardware can go,
/// -0.5 to 0.4375.
pub(crate) fn pixel_offset(b: &mut Builder<'_>, x: Src, y: Src) -> ValueId {
    let [x, y] = [x, y].map(|v| {
        let most = b.op2(Op::Min, Type::F32, v, Src::f32(0.4375));
        let clamped = b.op2(Op::Max, Type::F32, most, Src::f32(-0.5));
        let scaled = b.mul(Type::F32, clamped, Src::f32(4096.0));
        b.cvt(Type::S32, Type::F32, scaled)
    });
    b.op3(Op::Ins, Type::U32, y, 0x1010u32, x)
}

/// Where a sample lies, likewise; the pixel's middle where there is one sample only.
pub(crate) fn sample_offset(b: &mut Builder<'_>, sample: Src) -> ValueId {
    let sample = match sample.as_val() {
        Some(v) if sample.is_plain_val() => v,
        _ => b.mov(sample),
    };
    let choice = Inst::new(Op::SelFact, Type::U32).src(sample).src(0u32);
    let which = b.value(choice.with_aux(Aux::Fact(Fact::Multisample)));
    b.value(Inst::new(Op::Pixel, Type::U32).src(which).with_aux(Aux::Pixel(PixelOp::SampleOffset)))
}

/// The difference between neighbours in a quad, right minus left or lower minus upper.
pub(crate) fn derivative(b: &mut Builder<'_>, v: Src, vertical: bool) -> ValueId {
    // Modifiers are carried out first: lanes read each other's registers.
    let v = match v.as_val().filter(|_| v.is_plain_val()) {
        Some(v) => v,
        None => b.value(Inst::new(Op::Mov, Type::F32).src(v)),
    };
    let aux = if vertical { Aux::Quad { lane: 5, ops: 0xa5 } } else { Aux::Quad { lane: 4, ops: 0x99 } };
    b.value(Inst::new(Op::Quadop, Type::F32).src(v).src(v).with_aux(aux))
}

/// Whether the invocation is a helper by now. In helpers atomics have no effect and give anything: loops that try until nobody
/// else was faster would not end there, but if they give the same value twice, so front-ends make it zero in loops.
pub(crate) fn is_helper(b: &mut Builder<'_>) -> ValueId {
    let killed = b.sv(Sv::ThreadKill);
    b.setp(Cond::Ne, Type::U32, killed, 0u32)
}

/// Discards the fragment, where a condition holds or always.
pub(crate) fn discard(b: &mut Builder<'_>, guard: Option<Guard>) {
    let mut inst = Inst::new(Op::Discard, Type::U32);
    inst.guard = guard;
    b.push(inst);
}

/// All ones where the fragment belongs to a front face, as 1.0 and -1.0.
pub(crate) fn face_as_float(b: &mut Builder<'_>) -> ValueId {
    let front = b.sv(Sv::FrontFace);
    let one = b.op2(Op::Or, Type::U32, front, 1u32);
    let sign = b.op1(Op::Neg, Type::S32, one);
    b.cvt(Type::F32, Type::S32, sign)
}

/// What a component of an attribute reads as that the attribute does not have.
pub(crate) fn missing(component: u32) -> Src {
    if component == 3 { Src::f32(1.0) } else { Src::imm(0) }
}

/// Ends a vertex or a strip of a geometry shader; the vertex being made after that.
pub(crate) fn emit_vertex(b: &mut Builder<'_>, what: EmitOp, vertex: ValueId, stream: Src) -> ValueId {
    b.value(Inst::new(Op::Emit, Type::U32).src(vertex).src(stream).with_aux(Aux::Emit(what)))
}

/// Ends a kernel that leaves values in these registers.
pub(crate) fn return_in(f: &mut Function, results: &[(u8, ValueId)]) -> Term {
    f.results = vec![Class::Gpr; results.len()];
    f.result_regs = results.iter().map(|r| r.0).collect();
    Term::Ret(results.iter().map(|r| r.1).collect())
}

/// The register in which a fragment shader leaves a component of an output; `None` for what it cannot leave.
///
/// Colours stand in the order of their numbers, four registers each and none for those that are missing; then the coverage
/// mask; then the depth, which on Kepler leaves room for the mask.
pub(crate) fn result_register(
    interface: &Interface,
    chip: Chip,
    output: Semantic,
    component: u8,
) -> Option<u8> {
    let outputs = || interface.outputs.iter().map(|a| a.semantic);
    let colors = |below: u8| {
        let mut numbers: Vec<u8> = outputs()
            .filter_map(|s| match s {
                Semantic::Color(n) if n < below => Some(n),
                _ => None,
            })
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        4 * numbers.len() as u8
    };
    let end = colors(u8::MAX);
    match output {
        Semantic::Color(n) => Some(colors(n) + component),
        Semantic::SampleMask => Some(end),
        Semantic::Depth => {
            let mask = outputs().any(|s| s == Semantic::SampleMask);
            Some(end + u8::from(mask || chip != Chip::Gf100))
        }
        _ => None,
    }
}

/// Clip distances of user clip planes: the planes, which the driver keeps, times the position in the space of the clip
/// vertex. `bank`: the bank of constants and the offset of the first plane.
pub(crate) fn clip_distances(
    b: &mut Builder<'_>,
    planes: u8,
    bank: (u8, u16),
    position: [ValueId; 4],
    vertex: Option<ValueId>,
) {
    for n in 0..planes {
        let term = |c: usize| Src::cbuf(bank.0, bank.1 + 16 * u16::from(n) + 4 * c as u16);
        let mut sum = b.mul(Type::F32, position[0], term(0));
        for (c, &p) in position.iter().enumerate().skip(1) {
            sum = b.op3(Op::Mad, Type::F32, p, term(c), sum);
        }
        let place = Place { vertex, ..Place::of(Space::Output, Semantic::ClipDist(n / 4)) };
        b.st(Type::U32, place.component(u32::from(n % 4)), sum);
    }
}

/// The output primitive of a geometry shader as [`Properties::strips`](crate::ir::Properties) has it, from OpenGL's number.
pub(crate) fn strips(primitive: u8) -> u8 {
    match primitive {
        0 => 1,
        3 => 2,
        _ => 3,
    }
}

/// The clip distances that user clip planes add to the outputs.
pub(crate) fn declare_clip_distances(interface: &mut Interface, planes: u8) {
    for n in 0..planes.div_ceil(4) {
        let mask = (1u16 << (planes - 4 * n).min(4)) as u8 - 1;
        interface.outputs.push(crate::ir::Attribute::new(Semantic::ClipDist(n), mask));
    }
    interface.properties.clip_planes = planes;
}

/// Whether code for user clip planes belongs into a stage's program: it makes positions, and no clip distances itself.
pub(crate) fn takes_clip_planes(interface: &Interface) -> bool {
    let distances = interface.outputs.iter().any(|a| matches!(a.semantic, Semantic::ClipDist(_)));
    matches!(interface.stage, Stage::Vertex | Stage::TessEval | Stage::Geometry)
        && !distances
        && interface.properties.no_clip_planes == 0
}

/// The output that user clip planes are held against.
pub(crate) fn clip_source(interface: &Interface) -> Option<Semantic> {
    let has = |s: Semantic| interface.outputs.iter().any(|a| a.semantic == s);
    [Semantic::ClipVertex, Semantic::Position].into_iter().find(|&s| has(s))
}

/// Whether an output stays in the shader: a clip vertex leaves the last stage before the rasteriser as clip distances, which
/// the driver asks for by user clip planes. In front of a stage that reads it, it is an attribute like others.
pub(crate) fn stays(interface: &Interface, semantic: Semantic) -> bool {
    let p = &interface.properties;
    let last = interface.stage == Stage::Geometry || p.clip_planes > 0 || p.clip_vertex_read == 0;
    semantic == Semantic::ClipVertex && interface.stage != Stage::TessControl && last
}

/// The components of `mask` of what the framebuffer holds at the fragment: a fetch from a multisampled array that the driver
/// binds.
pub(crate) fn framebuffer_fetch(b: &mut Builder<'_>, mask: u8) -> List<ValueId, 5> {
    let at = |semantic| Place::of(Space::Input, semantic);
    let linear = Interp { mode: InterpMode::Linear, at: InterpAt::Center };
    let mut coords: Vec<ValueId> = (0..2)
        .map(|c| {
            let v = interpolated(b, at(Semantic::Position).component(c), linear, None);
            b.value(convert(Type::S32, Type::F32, Rnd::Zero, v))
        })
        .collect();
    let flat = Interp { mode: InterpMode::Flat, at: InterpAt::Center };
    coords.push(interpolated(b, at(Semantic::Layer).component(0), flat, None));
    let sample = b.sv(Sv::SampleId);
    let tex = Tex {
        texture: Tex::FRAMEBUFFER,
        sampler: Tex::FRAMEBUFFER,
        mask,
        operands: vec![(TexRole::Coord, coords), (TexRole::Sample, vec![sample])],
        ..texture::access(TexOp::Fetch, (Dim::Ms, true), Type::F32)
    };
    texture::emit(b, tex)
}

/// Whether a predicate holds where a float is below zero; not where it is no number.
pub(crate) fn below_zero(b: &mut Builder<'_>, v: Src) -> ValueId {
    b.setp(Cond::Lt, Type::F32, v, Src::f32(0.0))
}
