//! What the kernel of a graphics stage keeps while it is lowered: outputs whose values are wanted later, the vertex that is
//! being made, whether the invocation has become a helper.

use super::convert::saturate;
use super::emit::Emit;
use super::emit::value::{Comp, Pred, Word};
use super::graphics;
use super::ssa::Var;
use crate::chip::Chip;
use crate::ir::{Class, EmitOp, Guard, Interface, Sv, Term, ValueId};
use crate::stage::{Semantic, Stage};
use rustc_hash::FxHashMap;

/// Where user clip planes are held against a position.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clipping {
    /// The output that they are held against.
    pub source: Semantic,
    pub planes: u8,
    /// The bank of constants, and the offset of the first plane.
    pub place: (u8, u16),
}

/// See the module's documentation.
#[derive(Default)]
pub(crate) struct Kept {
    /// By component.
    outputs: FxHashMap<(Semantic, u8), Var>,
    vertex: Option<Var>,
    demoted: Option<Var>,
}

fn read(e: &mut Emit<'_>, var: Var) -> ValueId {
    e.ssa.read(e.b.func, e.b.block, var)
}

fn write(e: &mut Emit<'_>, var: Var, value: ValueId) {
    e.ssa.write(e.b.block, var, value);
}

impl Kept {
    /// What holds when the kernel begins. `asks_helper`: it asks whether it has become a helper.
    pub(crate) fn begin(e: &mut Emit<'_>, stage: Stage, asks_helper: bool) -> Kept {
        let mut kept = Kept::default();
        if stage == Stage::Geometry {
            let var = e.ssa.var(Class::Gpr);
            let first = e.b.mov(0u32);
            write(e, var, first);
            kept.vertex = Some(var);
        }
        if asks_helper && stage == Stage::Fragment {
            let var = e.ssa.var(Class::Pred);
            let no = e.pred_val(Pred::Const(false));
            write(e, var, no);
            kept.demoted = Some(var);
        }
        kept
    }

    // ---- outputs

    fn output(&mut self, e: &mut Emit<'_>, semantic: Semantic, component: u8) -> Var {
        *self.outputs.entry((semantic, component)).or_insert_with(|| e.ssa.var(Class::Gpr))
    }

    pub(crate) fn read_output(&mut self, e: &mut Emit<'_>, semantic: Semantic, component: u8) -> ValueId {
        let var = self.output(e, semantic, component);
        read(e, var)
    }

    pub(crate) fn write_output(&mut self, e: &mut Emit<'_>, semantic: Semantic, component: u8, v: ValueId) {
        let var = self.output(e, semantic, component);
        write(e, var, v);
    }

    /// Ends a fragment shader, which leaves these components of its outputs in registers.
    pub(crate) fn leave_fragment(
        &mut self,
        e: &mut Emit<'_>,
        interface: &Interface,
        chip: Chip,
        components: impl Iterator<Item = (Semantic, u8)>,
    ) -> Term {
        let mut results: Vec<(u8, Semantic, u8)> = components
            .filter_map(|(semantic, c)| {
                graphics::result_register(interface, chip, semantic, c).map(|reg| (reg, semantic, c))
            })
            .collect();
        results.sort_unstable_by_key(|r| r.0);
        results.dedup_by_key(|r| r.0);
        let mut values = Vec::with_capacity(results.len());
        for (reg, semantic, c) in results {
            let mut v = self.read_output(e, semantic, c);
            if semantic == Semantic::Depth {
                v = e.b.value(saturate(v));
            }
            values.push((reg, v));
        }
        graphics::return_in(e.b.func, &values)
    }

    /// What is stored when a vertex is complete.
    pub(crate) fn complete_vertex(
        &mut self,
        e: &mut Emit<'_>,
        clipping: Option<Clipping>,
        vertex: Option<ValueId>,
    ) {
        let Some(c) = clipping else { return };
        let position = [0, 1, 2, 3].map(|n| self.read_output(e, c.source, n));
        graphics::clip_distances(&mut e.b, c.planes, c.place, position, vertex);
    }

    // ---- vertices of geometry shaders

    /// The vertex being made; none in functions that make none.
    pub(crate) fn vertex(&self, e: &mut Emit<'_>) -> Option<ValueId> {
        self.vertex.map(|var| read(e, var))
    }

    /// Ends a geometry shader.
    pub(crate) fn leave_geometry(&self, e: &mut Emit<'_>) -> Term {
        match self.vertex(e) {
            Some(vertex) => graphics::return_in(e.b.func, &[(0, vertex)]),
            None => Term::Exit,
        }
    }

    /// Ends a vertex or a strip; `room`: vertices that the shader makes at most. Strips exist in stream 0 only; with room for
    /// no vertex there is nothing to emit.
    pub(crate) fn emit_vertex(
        &mut self,
        e: &mut Emit<'_>,
        what: EmitOp,
        stream: u32,
        room: u16,
        clipping: Option<Clipping>,
    ) {
        let emits = what == EmitOp::Emit;
        if emits && room == 0 || !emits && stream != 0 {
            return;
        }
        let Some(var) = self.vertex else { return };
        let vertex = read(e, var);
        if emits {
            self.complete_vertex(e, clipping, Some(vertex));
        }
        let next = graphics::emit_vertex(&mut e.b, what, vertex, stream.into());
        write(e, var, next);
    }

    // ---- helpers

    /// Makes the invocation a helper where a condition holds.
    pub(crate) fn discard(&self, e: &mut Emit<'_>, p: Pred) {
        let guard = match p {
            Pred::Const(false) => return,
            Pred::Const(true) => None,
            Pred::Val(pred, not) => Some(Guard { pred, not }),
        };
        graphics::discard(&mut e.b, guard);
        if let Some(var) = self.demoted {
            let before = read(e, var);
            let either = e.or(Pred::Val(before, false), p);
            let now = e.pred_val(either);
            write(e, var, now);
        }
    }

    /// Whether the invocation of a fragment shader is a helper: was one from the beginning, or is `now`.
    pub(crate) fn helper(&self, e: &mut Emit<'_>, now: bool) -> Word {
        let start = e.b.sv(Sv::Helper);
        match self.demoted.filter(|_| now) {
            Some(var) => {
                let since = read(e, var);
                let start = e.truth(Comp::Word(start.into()), 32);
                Word::Mask(e.or(start, Pred::Val(since, false)))
            }
            None => start.into(),
        }
    }
}

/// What an atomic gives in a loop of a fragment shader: zero to helpers.
pub(crate) fn atomic_in_loop(e: &mut Emit<'_>, result: Comp, bits: u8) -> Comp {
    let helps = graphics::is_helper(&mut e.b);
    e.select_comp(Pred::Val(helps, false), Comp::constant(bits, 0), result)
}
