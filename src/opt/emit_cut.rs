//! Emit-and-cut merging: the cut that ends a strip goes into the emit of its last vertex.
//!
//! ```text
//! emit.vertex u32 %r1 %r0 0x0   ->   emit.both u32 %r2 %r0 0x0
//! emit.cut u32 %r2 %r1 0x0
//! ```
//!
//! Safe where nothing is emitted between, and nobody else takes the vertex after the first: what is
//! written to outputs after it belongs to the next one, which is the same.

use super::{Ctx, rewrite};
use crate::ir::*;

pub(crate) fn run(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    let uses = rewrite::count_uses(f);
    let mut joined = 0;
    for n in 0..f.layout.len() {
        let b = f.layout[n];
        // A vertex after which nothing has been emitted.
        let mut last: Option<InstId> = None;
        let mut body = std::mem::take(&mut f.blocks[b].body);
        rewrite::retain(&mut body, 0, |i| {
            let inst = &f.insts[i];
            if inst.op != Op::Emit {
                return true;
            }
            let vertex = last.filter(|&v| ends(&f.insts[v], inst) && uses[f.insts[v].dsts[0]] == 1);
            last = Some(i);
            let Some(vertex) = vertex else { return true };
            let mut both = f.insts[vertex].clone().with_aux(Aux::Emit(EmitOp::EmitCut));
            both.dsts = inst.dsts;
            f.replace(vertex, both);
            joined += 1;
            false
        });
        f.blocks[b].body = body;
    }
    ctx.count("emit_cut: joined", joined);
    joined > 0
}

/// Whether an emission is the end of the strip whose last vertex is the other.
fn ends(vertex: &Inst, end: &Inst) -> bool {
    matches!((&vertex.aux, &end.aux), (Aux::Emit(EmitOp::Emit), Aux::Emit(EmitOp::Cut)))
        && vertex.guard.is_none()
        && end.guard.is_none()
        && end.srcs[0].is_plain_val()
        && end.srcs[0].as_val() == Some(vertex.dsts[0])
        && vertex.srcs[1] == end.srcs[1]
}
