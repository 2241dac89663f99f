//! What several passes need to look at and to change a function.

use crate::ir::*;
use cranelift_entity::SecondaryMap;

/// How often each value is read, by instructions, terminators and edges.
pub type UseCounts = SecondaryMap<ValueId, u32>;

/// Counts every value read in a function.
pub fn count_uses(f: &Function) -> UseCounts {
    let mut uses = UseCounts::with_capacity(f.values.len());
    uses.resize(f.values.len());
    for &b in &f.layout {
        let block = &f.blocks[b];
        for &i in &block.body {
            f.insts[i].for_uses(|v| uses[v] += 1);
        }
        block.term.for_uses(|v| uses[v] += 1);
    }
    uses
}

/// The type that an instruction reads its source number `n` as.
pub fn src_type(inst: &Inst, n: usize) -> Type {
    match (inst.op, n) {
        (Op::Set, 2) | (Op::Sel, 2) | (Op::Vote, 0) => Type::Pred,
        (Op::Set | Op::Cvt, _) | (Op::Slct, 2) => inst.sty,
        (Op::Shl | Op::Shr | Op::Ext | Op::Ins, 1) => Type::U32,
        (Op::ShlAdd, 1) => Type::U32,
        _ => inst.ty,
    }
}

/// The value of source `n` if it is an immediate of 32 bits, its modifiers applied.
pub fn imm_src(inst: &Inst, n: usize) -> Option<u32> {
    let s = inst.srcs.get(n)?;
    match s.kind {
        SrcKind::Imm(x) if s.mods == SrcMods::default() => Some(x),
        SrcKind::Imm(x) => s.mods.apply(x, src_type(inst, n)),
        _ => None,
    }
}

/// A `mov` into the same destination, guarded like nothing: the result of simplifying a pure one-word instruction.
pub fn as_mov(inst: &Inst, src: Src) -> Inst {
    let ty = if inst.ty == Type::Pred { Type::Pred } else { Type::U32 };
    let mut mov = Inst::new(Op::Mov, ty).src(src);
    mov.dsts.push(inst.dsts[0]);
    mov.loc = inst.loc;
    mov
}

/// Whether an instruction does nothing but compute one 32-bit or predicate value from its operands: what passes
/// that look for patterns may take apart. Guards, carries and multi-word results are excluded.
pub fn is_scalar(f: &Function, inst: &Inst) -> bool {
    inst.guard.is_none()
        && inst.dsts.len() == 1
        && inst.ty.words() == 1
        && f.values[inst.dsts[0]].class != Class::Carry
        && inst.srcs.iter().all(|s| match s.kind {
            SrcKind::Val(v) => f.values[v].class != Class::Carry,
            _ => true,
        })
}

/// Whether an instruction reads or writes the carry flag, which pins its place.
pub fn touches_carry(f: &Function, inst: &Inst) -> bool {
    inst.op.is(op::CARRY)
        && (inst.dsts.iter().any(|&d| f.values[d].class == Class::Carry)
            || inst
                .srcs
                .iter()
                .any(|s| matches!(s.kind, SrcKind::Val(v) if f.values[v].class == Class::Carry)))
}

/// The defining instruction of a plain value operand, if it is a scalar computation (see [`is_scalar`]).
pub fn scalar_def<'f>(f: &'f Function, s: &Src) -> Option<&'f Inst> {
    let inst = f.def_inst(s.as_val()?)?;
    is_scalar(f, inst).then_some(inst)
}

/// Runs `visit` over all instructions in layout order; it may exchange the one that it looks at. Returns whether any visit
/// did something.
pub fn change_each(f: &mut Function, mut visit: impl FnMut(&mut Function, InstId) -> bool) -> bool {
    let mut changed = false;
    for n in 0..f.layout.len() {
        let b = f.layout[n];
        for k in 0..f.blocks[b].body.len() {
            let i = f.blocks[b].body[k];
            changed |= visit(f, i);
        }
    }
    changed
}

/// Runs `visit` over all instructions in layout order. `visit` may append new instructions to its list, which will
/// stand before the one that it looks at; until the block is done they stand in no body. Returns whether any visit
/// did something.
pub fn rewrite_each(
    f: &mut Function,
    mut visit: impl FnMut(&mut Function, &mut Vec<InstId>, InstId) -> bool,
) -> bool {
    let mut changed = false;
    let mut fresh = Vec::new();
    for n in 0..f.layout.len() {
        let b = f.layout[n];
        let len = f.blocks[b].body.len();
        // The body is made anew from the first insertion on.
        let mut out: Vec<InstId> = Vec::new();
        for k in 0..len {
            let i = f.blocks[b].body[k];
            changed |= visit(f, &mut fresh, i);
            if !fresh.is_empty() {
                if out.is_empty() {
                    out.reserve(len + fresh.len());
                    out.extend_from_slice(&f.blocks[b].body[..k]);
                }
                out.append(&mut fresh);
            } else if out.is_empty() {
                continue;
            }
            out.push(i);
        }
        if !out.is_empty() {
            f.blocks[b].body = out;
        }
    }
    changed
}

/// Makes an instruction with one new destination of its type's class and puts it into `out`.
pub fn emit(f: &mut Function, out: &mut Vec<InstId>, inst: Inst) -> ValueId {
    let d = f.new_value(inst.ty.class());
    let id = f.make(inst.dst(d));
    out.push(id);
    d
}

/// Exchanges an instruction and keeps the use counts exact.
pub fn replace_counted(f: &mut Function, uses: &mut UseCounts, i: InstId, new: Inst) {
    new.for_uses(|v| uses[v] += 1);
    f.insts[i].for_uses(|v| uses[v] -= 1);
    f.replace(i, new);
}

/// [`emit`], keeping the use counts exact.
pub fn emit_counted(f: &mut Function, uses: &mut UseCounts, out: &mut Vec<InstId>, inst: Inst) -> ValueId {
    inst.for_uses(|v| uses[v] += 1);
    emit(f, out, inst)
}
