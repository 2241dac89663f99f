//! Rewrite utilities: looking at and changing a function, for several passes.

use crate::ir::*;
use cranelift_entity::SecondaryMap;
use std::cell::OnceCell;

/// How often each value is read, by instructions, terminators and edges.
pub(crate) type UseCounts = SecondaryMap<ValueId, u32>;

/// Counts every value read in a function.
pub(crate) fn count_uses(f: &Function) -> UseCounts {
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

/// Lets a block read other values.
pub(crate) fn map_uses_in(f: &mut Function, b: BlockId, mut to: impl FnMut(ValueId) -> ValueId) {
    let Function { blocks, insts, .. } = f;
    let block = &mut blocks[b];
    block.body.iter().for_each(|&i| insts[i].map_uses(&mut to));
    block.term.map_uses(to);
}

/// Lets all blocks read other values.
pub(crate) fn map_uses(f: &mut Function, mut to: impl FnMut(ValueId) -> ValueId) {
    for n in 0..f.layout.len() {
        map_uses_in(f, f.layout[n], &mut to);
    }
}

/// Of each block, the edges into it and the constructs that name it.
pub(crate) struct BlockCounts {
    pub(crate) preds: SecondaryMap<BlockId, u32>,
    pub(crate) named: SecondaryMap<BlockId, u32>,
}

impl BlockCounts {
    pub(crate) fn of(f: &Function) -> BlockCounts {
        let mut counts = BlockCounts { preds: f.block_table(), named: f.block_table() };
        for &b in &f.layout {
            f.blocks[b].term.successors().for_each(|s| counts.preds[s] += 1);
            let mut merge = f.blocks[b].merge;
            merge.blocks_mut().for_each(|&mut t| counts.named[t] += 1);
        }
        counts
    }
}

/// The value of source `n` if it is an immediate of 32 bits, its modifiers applied.
pub(crate) fn imm_src(inst: &Inst, n: usize) -> Option<u32> {
    let s = inst.srcs.get(n)?;
    match s.kind {
        SrcKind::Imm(x) if s.mods == SrcMods::default() => Some(x),
        SrcKind::Imm(x) => inst.src_type(n).modified(x, s.mods),
        _ => None,
    }
}

/// A `mov` into the same destination, guarded like nothing: the result of simplifying a pure
/// one-word instruction.
pub(crate) fn as_mov(inst: &Inst, src: Src) -> Inst {
    let ty = if inst.ty == Type::Pred { Type::Pred } else { Type::U32 };
    let mut mov = Inst::new(Op::Mov, ty).src(src);
    mov.dsts.push(inst.dsts[0]);
    mov.loc = inst.loc;
    mov
}

/// Whether an instruction does nothing but compute one 32-bit or predicate value from its operands:
/// what passes that look for patterns may take apart. Guards, carries and multi-word results are
/// excluded.
pub(crate) fn is_scalar(f: &Function, inst: &Inst) -> bool {
    (inst.guard.is_none() & (inst.dsts.len() == 1) & (inst.ty.words() == 1)) && !takes_carry(f, inst)
}

/// Whether an instruction reads the carry flag: its last source, beyond those that it needs.
fn takes_carry(f: &Function, inst: &Inst) -> bool {
    // One branch that is seldom taken instead of two that are hard to foresee.
    let more = inst.srcs.len() > usize::from(BEFORE_CARRY[inst.op as usize]);
    more && matches!(inst.srcs.last(), Some(&Src { kind: SrcKind::Val(v), .. }) if f.class(v) == Class::Carry)
}

/// How many sources an operation has at least before a carry; no list is so long where it takes
/// none.
static BEFORE_CARRY: [u8; Op::ALL.len()] = {
    let mut least = [u8::MAX; Op::ALL.len()];
    let mut k = 0;
    while k < least.len() {
        if Op::ALL[k].is(op::CARRY_IN) {
            least[k] = Op::ALL[k].least_sources();
        }
        k += 1;
    }
    least
};

/// Whether an instruction reads or writes the carry flag, which pins its place. What it writes is
/// its last destination, beyond those of its type.
pub(crate) fn touches_carry(f: &Function, inst: &Inst) -> bool {
    let gives = || inst.dsts.len() > 1 && inst.dsts.last().is_some_and(|&d| f.class(d) == Class::Carry);
    takes_carry(f, inst) || inst.op.is(op::CARRY_OUT) && gives()
}

/// The defining instruction of a plain value operand, if it is a scalar computation (see
/// [`is_scalar`]).
pub(crate) fn scalar_def<'f>(f: &'f Function, s: &Src) -> Option<&'f Inst> {
    let inst = f.def_inst(s.as_val()?)?;
    is_scalar(f, inst).then_some(inst)
}

/// [`scalar_def`], if it is one of these operations: asked first, since it seldom is.
pub(crate) fn scalar_def_by<'f>(f: &'f Function, s: &Src, ops: &[Op]) -> Option<&'f Inst> {
    let inst = f.def_inst(s.as_val()?)?;
    (ops.contains(&inst.op) && is_scalar(f, inst)).then_some(inst)
}

/// Removes the block parameters that do not stay, with their arguments; gives their number.
pub(crate) fn remove_params(f: &mut Function, stays: impl Fn(ValueId) -> bool) -> usize {
    if f.layout.iter().all(|&b| f.blocks[b].params.iter().all(|&p| stays(p))) {
        return 0;
    }
    for n in 0..f.layout.len() {
        let b = f.layout[n];
        let mut term = std::mem::replace(&mut f.blocks[b].term, Term::Unreachable);
        for e in term.edges_mut() {
            let mut params = f.blocks[e.to].params.iter();
            e.args.retain(|_| params.next().is_some_and(|&p| stays(p)));
        }
        f.blocks[b].term = term;
    }
    let mut removed = 0;
    let Function { blocks, layout, values, .. } = f;
    for &b in &*layout {
        blocks[b].params.retain(|&p| {
            if !stays(p) {
                removed += 1;
                values[p].def = Def::None;
            }
            stays(p)
        });
    }
    removed
}

/// The instructions that a pass wants to look at, in layout order: most have few, and the walk over
/// all is short.
pub(crate) fn gather(f: &Function, mut wanted: impl FnMut(&Inst) -> bool) -> Vec<InstId> {
    let mut found = Vec::with_capacity(16);
    for &b in &f.layout {
        found.extend(f.blocks[b].body.iter().copied().filter(|&i| wanted(&f.insts[i])));
    }
    found
}

/// Runs `visit` over all instructions in layout order. `visit` may append new instructions to its
/// list, which will stand before the one that it looks at; until the block is done they stand in no
/// body. Returns whether any visit did something.
pub(crate) fn rewrite_each(
    f: &mut Function,
    mut visit: impl FnMut(&mut Function, &mut Vec<InstId>, InstId) -> bool,
) -> bool {
    let mut changed = false;
    let (mut body, mut fresh) = (Vec::new(), Vec::new());
    for n in 0..f.layout.len() {
        let b = f.layout[n];
        body.clear();
        body.extend_from_slice(&f.blocks[b].body);
        // The body is made anew from the first insertion on.
        let mut out: Vec<InstId> = Vec::new();
        for (k, &i) in body.iter().enumerate() {
            changed |= visit(f, &mut fresh, i);
            if !fresh.is_empty() {
                if out.is_empty() {
                    out.reserve(body.len() + fresh.len());
                    out.extend_from_slice(&body[..k]);
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

/// [`Vec::retain`] from a place on, for a closure that is large and looks at much: it is compiled
/// once, in place.
#[inline]
pub(crate) fn retain(body: &mut Vec<InstId>, from: usize, mut keep: impl FnMut(InstId) -> bool) {
    let mut kept = from;
    for k in from..body.len() {
        let i = body[k];
        if keep(i) {
            body[kept] = i;
            kept += 1;
        }
    }
    body.truncate(kept);
}

/// Makes an instruction with one new destination of its type's class and puts it into `out`.
pub(crate) fn emit(f: &mut Function, out: &mut Vec<InstId>, inst: Inst) -> ValueId {
    let d = f.new_value(inst.ty.class());
    let id = f.make(inst.dst(d));
    out.push(id);
    d
}

/// Exchanges an instruction and keeps the use counts exact.
pub(crate) fn replace_counted(f: &mut Function, uses: &mut UseCounts, i: InstId, new: Inst) {
    new.for_uses(|v| uses[v] += 1);
    f.insts[i].for_uses(|v| uses[v] -= 1);
    f.replace(i, new);
}

/// Use counts that are made when somebody asks for the first time, and are kept exact from then on.
#[derive(Default)]
pub(crate) struct LazyUses {
    counts: OnceCell<UseCounts>,
    /// Whether the function has carries.
    carries: OnceCell<bool>,
}

impl LazyUses {
    /// How often a value is read.
    pub(crate) fn count(&self, f: &Function, v: ValueId) -> u32 {
        self.counts.get_or_init(|| count_uses(f))[v]
    }

    /// Whether a comparison may be made at another place. One of 64-bit integers gives a carry when
    /// it is lowered, so not where there are others.
    pub(crate) fn may_move(&self, f: &Function, set: &Inst) -> bool {
        let carries = || f.values.values().any(|v| v.class == Class::Carry);
        set.compares_at_once() || !self.carries.get_or_init(carries)
    }

    /// Exchanges an instruction.
    pub(crate) fn replace(&mut self, f: &mut Function, i: InstId, new: Inst) {
        match self.counts.get_mut() {
            Some(uses) => replace_counted(f, uses, i, new),
            None => f.replace(i, new),
        }
    }

    /// [`emit`]. What stands in no body yet cannot be counted later.
    pub(crate) fn emit(&mut self, f: &mut Function, out: &mut Vec<InstId>, inst: Inst) -> ValueId {
        self.counts.get_or_init(|| count_uses(f));
        if let Some(uses) = self.counts.get_mut() {
            inst.for_uses(|v| uses[v] += 1);
        }
        emit(f, out, inst)
    }
}
