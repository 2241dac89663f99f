//! From phase `Ssa` to phase `Legal`: every instruction becomes one machine instruction.
//!
//! What a machine instruction can take is [`select::legal`]'s to say. Here operands are moved into
//! registers, one after the other, until it says yes:
//!
//! ```text
//! add u32 %r2 c0[0x0] c0[0x4]       mov u32 %r3 c0[0x4]
//!                                   add u32 %r2 c0[0x0] %r3
//! ```
//!
//! Before that, the few operations that are written in another form than the machine's take that
//! form: `neg` and `abs`, logic on predicates through `sel` and `set`, widening and narrowing of
//! integers, moves of tuples.
//!
//! Critical edges with arguments are split, so that register assignment has a place for moves.

use crate::chip::Chip;
use crate::ir::build::Builder;
use crate::ir::expand::word;
use crate::ir::*;
use crate::select;
use cranelift_entity::SecondaryMap;

/// An instruction that no sequence of moves makes encodable.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[error("the chip has no instruction for `{what}`")]
pub struct Illegal {
    /// What it would have taken.
    pub what: String,
    /// Where the source has it.
    pub loc: Loc,
}

/// Legalises a function.
pub fn run(f: &mut Function, chip: Chip) -> Result<(), Illegal> {
    for n in 0..f.layout.len() {
        let block = f.layout[n];
        // Up to the first that has to change, all stay where they are.
        let Some(first) = f.blocks[block].body.iter().position(|&id| !is_legal(f, chip, id)) else {
            continue;
        };
        let rest = f.blocks[block].body.split_off(first);
        for id in rest {
            instruction(f, chip, block, id)?;
        }
    }
    split_critical_edges(f);
    Ok(())
}

fn is_legal(f: &Function, chip: Chip, id: InstId) -> bool {
    let i = &f.insts[id];
    !has_shared_factor(f, i) && select::is_final(chip, f, i)
}

/// Appends an instruction to a block, in legal form.
fn instruction(f: &mut Function, chip: Chip, block: BlockId, id: InstId) -> Result<(), Illegal> {
    if has_shared_factor(f, &f.insts[id]) {
        let mut inst = f.insts[id].clone();
        let mut b = Builder::new(f, block);
        b.loc = inst.loc;
        materialise(&mut b, &mut inst, 1);
        f.insts[id] = inst;
    }
    if select::is_final(chip, f, &f.insts[id]) {
        f.blocks[block].body.push(id);
        return Ok(());
    }
    let inst = f.insts[id].clone();
    let mut b = Builder::new(f, block);
    b.loc = inst.loc;
    let mut rewritten = inst;
    let before = b.func.blocks[block].body.len();
    if rephrase(&mut b, &mut rewritten) {
        // What stands there instead is nearer to the machine, but may want registers too.
        let parts = f.blocks[block].body.split_off(before);
        return parts.into_iter().try_for_each(|part| instruction(f, chip, block, part));
    }
    if !operands(&mut b, chip, &mut rewritten) {
        let inst = &f.insts[id];
        return Err(Illegal { what: describe(inst), loc: inst.loc });
    }
    f.ops.insert(rewritten.op);
    f.insts[id] = rewritten;
    f.blocks[block].body.push(id);
    Ok(())
}

/// Whether a part of a multiply-add of 64 bits, as addresses of elements have it, has a constant
/// factor and a constant-buffer word as addend. Only one of them can stand in the instruction: the
/// factor gets a register here, which several sums may share, and the operand pass puts one of them
/// back.
fn has_shared_factor(f: &Function, i: &Inst) -> bool {
    (i.op == Op::MadHi || i.op == Op::Mad && i.dsts.len() > 1)
        && !i.ty.is_float()
        && i.ty.words() == 1
        && matches!(i.srcs[1].kind, SrcKind::Imm(_))
        && i.srcs[2].as_val().and_then(|v| f.def_inst(v)).is_some_and(|d| {
            d.op == Op::Ld && d.mem.is_some_and(|m| m.space == Space::Const && m.base().is_empty())
        })
}

fn describe(i: &Inst) -> String {
    let mut text = format!("{} {}", i.op, i.ty);
    if i.sty != i.ty {
        text += &format!(" {}", i.sty);
    }
    text
}

/// Puts an operation into the machine's form. True if the instruction has been replaced altogether;
/// otherwise `i` may have been changed.
fn rephrase(b: &mut Builder<'_>, i: &mut Inst) -> bool {
    match (i.op, i.ty) {
        // A move neither saturates nor flushes subnormal numbers.
        (Op::Mov | Op::Neg | Op::Abs, ty) if !i.sat && !i.ftz && signed(i).immediate(ty).is_some() => {
            i.srcs[0] = signed(i).immediate(ty).unwrap_or(i.srcs[0]);
            i.op = Op::Mov;
            ty.words() > 1 && rephrase(b, i)
        }
        (Op::Mov, ty) if ty.words() > 1 && i.srcs[0].mods == SrcMods::default() => {
            for (n, &d) in i.dsts.clone().iter().enumerate() {
                let s = word(&i.srcs[0], n);
                b.push(Inst::new(Op::Mov, Type::U32).src(s).dst(d));
            }
            true
        }
        (Op::Sel, ty) if ty.words() > 1 => {
            for (n, &d) in i.dsts.clone().iter().enumerate() {
                let (x, y) = (word(&i.srcs[0], n), word(&i.srcs[1], n));
                b.push(Inst::new(Op::Sel, Type::U32).src(x).src(y).src(i.srcs[2]).dst(d));
            }
            true
        }
        // Modifiers of a move of floats: x + -0 is x, with its sign changed.
        (Op::Mov, ty) if (i.srcs[0].mods.abs || i.srcs[0].mods.neg) && !ty.is_float() => {
            materialise(b, i, 0);
            false
        }
        (Op::Mov, _) if i.srcs[0].mods == SrcMods::default() => false,
        (Op::Mov | Op::Neg | Op::Abs, Type::F32 | Type::F64) => {
            i.srcs[0] = signed(i);
            // No addition of doubles takes both a constant and the zero.
            let constant = matches!(i.srcs[0].kind, SrcKind::Const { .. }) && i.ty == Type::F64;
            if constant || matches!(i.srcs[0].kind, SrcKind::Imm(_)) {
                i.srcs[0] = in_registers(b, i.ty, i.srcs[0]);
            }
            i.srcs.push(zero_of(i.ty).neg());
            i.op = Op::Add;
            false
        }
        (Op::Neg, _) => {
            i.op = Op::Sub;
            i.srcs.insert(0, Src::imm(0));
            false
        }
        (Op::Abs, _) => {
            i.op = Op::Cvt;
            i.ty = Type::S32;
            i.sty = Type::S32;
            i.srcs[0] = i.srcs[0].abs();
            false
        }
        // c ? a : b on predicates.
        (Op::Sel, Type::Pred) => {
            let (x, y, c) = (i.srcs[0], i.srcs[1], i.srcs[2]);
            let logic = |op, x: Src, y: Src| Inst::new(op, Type::Pred).src(x).src(y);
            let taken = b.value(logic(Op::And, c, x));
            let other = b.value(logic(Op::And, c.inv(), y));
            b.push(logic(Op::Or, taken.into(), other.into()).dst(i.dsts[0]));
            true
        }
        (Op::Set, _) if i.sty == Type::Pred => {
            compare_predicates(b, i);
            true
        }
        (Op::Cvt, _) => convert(b, i),
        // An access of three words is two.
        (Op::Ld | Op::St, Type::B96) => in_two_parts(b, i),
        (Op::Ld, _) => read_constant(b, i),
        _ => false,
    }
}

/// Comparison of predicates: with equality, or not.
fn compare_predicates(b: &mut Builder<'_>, i: &Inst) {
    let (x, y) = (i.srcs[0], i.srcs[1]);
    let equal = matches!(i.cond, Cond::Eq | Cond::Equ);
    let holds = Inst::new(Op::Xor, Type::Pred).src(if equal { x.inv() } else { x }).src(y);
    if i.ty == Type::Pred {
        b.push(holds.dst(i.dsts[0]));
        return;
    }
    let p = b.value(holds);
    let one = if i.ty == Type::F32 { Src::f32(1.0) } else { Src::imm(!0) };
    b.push(Inst::new(Op::Sel, Type::U32).src(one).src(0u32).src(p).dst(i.dsts[0]));
}

/// An access of three words, as two. False if it names no memory.
fn in_two_parts(b: &mut Builder<'_>, i: &Inst) -> bool {
    let Some(mem) = i.mem else { return false };
    if i.op == Op::Ld {
        for (ty, first, n) in [(Type::U64, 0, 2), (Type::U32, 2, 1)] {
            let mut part = part_of(i, &mem, ty, 4 * first as i32);
            part.dsts = i.dsts.iter().copied().skip(first).take(n).collect();
            b.push(part);
        }
        return true;
    }
    let words: Vec<Src> = (0..3).map(|n| word(&i.srcs[0], n)).collect();
    if let Some(pair) = as_pair(&words) {
        let mut part = part_of(i, &mem, Type::U64, 0);
        part.srcs.push(pair);
        b.push(part);
    }
    let mut part = part_of(i, &mem, Type::U32, 8);
    part.srcs.push(words[2]);
    b.push(part);
    true
}

/// Words of constant memory at a fixed place, as operands of moves. False for other loads.
fn read_constant(b: &mut Builder<'_>, i: &Inst) -> bool {
    let Some(m) = i.mem else { return false };
    let fixed = m.space == Space::Const && m.base().is_empty() && m.index.is_none();
    let (Ok(offset), Ok(bank)) = (u16::try_from(m.offset), u8::try_from(m.buffer)) else {
        return false;
    };
    if !fixed || i.ty.bytes() < 4 || offset % 4 != 0 || i.guard.is_some() {
        return false;
    }
    for (n, &d) in i.dsts.iter().enumerate() {
        let s = Src::cbuf(bank, offset + 4 * n as u16);
        b.push(Inst::new(Op::Mov, Type::U32).src(s).dst(d));
    }
    true
}

/// The source of a move, negation or absolute value, the operation as its modifier.
fn signed(i: &Inst) -> Src {
    match i.op {
        Op::Neg => i.srcs[0].neg(),
        Op::Abs => i.srcs[0].abs(),
        _ => i.srcs[0],
    }
}

/// An access like `i`, of another type and further on, without data.
fn part_of(i: &Inst, mem: &MemRef, ty: Type, delta: i32) -> Inst {
    let mut further = *mem;
    further.offset = mem.offset.wrapping_add(delta);
    further.align = mem.align.plus(delta);
    let mut part = Inst::new(i.op, ty).with_mem(further);
    part.guard = i.guard;
    part.loc = i.loc;
    part
}

fn as_pair(words: &[Src]) -> Option<Src> {
    Some(Src::tuple(&[words[0].as_val()?, words[1].as_val()?]))
}

fn zero_of(ty: Type) -> Src {
    if ty == Type::F64 { Src::f64(0.0) } else { Src::f32(0.0) }
}

/// Conversions between integers are extractions of a field; floats of one type that do not round
/// are moves.
fn convert(b: &mut Builder<'_>, i: &mut Inst) -> bool {
    if i.sty == Type::Pred {
        let one = match i.ty {
            Type::F16 => Src::imm(0x3c00),
            Type::F32 => Src::f32(1.0),
            // The high word; the low one is 0 in any case.
            Type::F64 => Src::imm(0x3ff0_0000),
            _ => Src::imm(1),
        };
        let (&last, rest) = i.dsts.split_last().expect("verified: a conversion has a result");
        for &d in rest {
            b.push(Inst::new(Op::Mov, Type::U32).src(0u32).dst(d));
        }
        b.push(Inst::new(Op::Sel, Type::U32).src(one).src(0u32).src(i.srcs[0]).dst(last));
        return true;
    }
    // No card converts a float to a byte, or a double to less than a word: ptxas and NAK take the
    // word first.
    if i.sty.is_float() && !i.ty.is_float() && (i.ty.bits() == 8 || i.sty == Type::F64 && i.ty.bits() < 32) {
        let word = if i.ty.is_signed() { Type::S32 } else { Type::U32 };
        let mut first = i.clone();
        first.ty = word;
        first.dsts = Default::default();
        let whole = b.value(first);
        let mut rest = Inst::new(Op::Cvt, i.ty).src(whole).dst(i.dsts[0]);
        (rest.sty, rest.sat, rest.guard, rest.loc) = (word, true, i.guard, i.loc);
        b.push(rest);
        return true;
    }
    if i.ty.is_float() || i.sty.is_float() {
        if i.ty == i.sty && i.aux != Aux::Integral && i.ty != Type::F16 {
            i.op = Op::Add;
            i.srcs.push(zero_of(i.ty).neg());
            i.aux = Aux::None;
            // Nothing is rounded, but downwards 0 and -0 would be -0.
            i.rnd = Rnd::Near;
        }
        return false;
    }
    false
}

/// Moves operands into registers until the instruction is legal; false if that does not help.
fn operands(b: &mut Builder<'_>, chip: Chip, i: &mut Inst) -> bool {
    if select::legal(chip, b.func, i) {
        return true;
    }
    // An address out of the field's range.
    if let Some(m) = &i.mem
        && (m.offset != 0 || m.space == Space::Const)
    {
        let mut near = i.clone();
        if let Some(m) = &mut near.mem {
            m.offset = 0;
        }
        // Only if the offset is at fault: try the others first.
        if movable(i).next().is_none() || !can_move_all(b, chip, i) {
            rebase(b, i);
            if select::legal(chip, b.func, i) {
                return true;
            }
        }
    }
    // The fewest moves that help: one operand, from the last to the first, then all together.
    // Constant memory before immediates: the same word is wanted more often than the same number.
    let candidates: arrayvec::ArrayVec<usize, 4> = movable(i).collect();
    let from_memory = |n: &&usize| matches!(i.srcs[**n].kind, SrcKind::Const { .. });
    let memory: arrayvec::ArrayVec<usize, 4> = candidates.iter().filter(from_memory).copied().collect();
    let others = candidates.iter().filter(|n| !from_memory(n)).rev();
    for &n in memory.iter().rev().chain(others) {
        if would_be_legal(b, chip, i, &[n]) {
            materialise(b, i, n);
            return true;
        }
    }
    for skip in candidates.iter().copied() {
        let rest: arrayvec::ArrayVec<usize, 4> = candidates.iter().copied().filter(|&n| n != skip).collect();
        if rest.len() > 1 && would_be_legal(b, chip, i, &rest) {
            rest.iter().for_each(|&n| materialise(b, i, n));
            return true;
        }
    }
    if would_be_legal(b, chip, i, &candidates) {
        candidates.iter().for_each(|&n| materialise(b, i, n));
        return true;
    }
    // A result clamped by an instruction of its own.
    if i.sat && i.ty == Type::F32 && i.dsts.len() == 1 {
        let d = i.dsts[0];
        i.sat = false;
        let whole = b.gpr();
        let mut first = i.clone();
        first.dsts[0] = whole;
        if !operands(b, chip, &mut first) {
            return false;
        }
        b.push(first);
        let mut clamp = Inst::new(Op::Add, Type::F32).src(whole).src(Src::f32(0.0).neg()).dst(d);
        clamp.sat = true;
        clamp.guard = i.guard;
        clamp.loc = i.loc;
        *i = clamp;
        return select::legal(chip, b.func, i);
    }
    false
}

/// Operands that a move could change: immediates, constants, and registers with modifiers.
fn movable(i: &Inst) -> impl Iterator<Item = usize> {
    i.srcs
        .iter()
        .enumerate()
        .filter(|(_, s)| s.values().is_empty() || s.mods != SrcMods::default())
        .map(|(n, _)| n)
}

fn can_move_all(b: &Builder<'_>, chip: Chip, i: &Inst) -> bool {
    let all: arrayvec::ArrayVec<usize, 4> = movable(i).collect();
    would_be_legal(b, chip, i, &all)
}

/// Whether the instruction would be legal with these operands in registers. Which values stand
/// there does not matter, only their class: any general value does.
fn would_be_legal(b: &Builder<'_>, chip: Chip, i: &Inst, moved: &[usize]) -> bool {
    let Some(some) = general_value(b.func, i) else { return false };
    let mut trial = i.clone();
    for &n in moved {
        let words = i.src_type(n).words();
        if i.src_type(n) == Type::Pred {
            return false;
        }
        trial.srcs[n] = Src::tuple(&[some; 4][..words]);
    }
    select::legal(chip, b.func, &trial)
}

fn general_value(f: &Function, i: &Inst) -> Option<ValueId> {
    let mut found = None;
    i.for_defs(|v| {
        if f.class(v) == Class::Gpr {
            found = Some(v);
        }
    });
    i.for_uses(|v| {
        if f.class(v) == Class::Gpr {
            found = Some(v);
        }
    });
    found.or_else(|| f.values.iter().find(|(_, d)| d.class == Class::Gpr).map(|(v, _)| v))
}

/// An operand's words, moved into registers; what its modifiers do is left to do, but for an
/// inversion.
fn in_registers(b: &mut Builder<'_>, ty: Type, s: Src) -> Src {
    let words: arrayvec::ArrayVec<ValueId, 4> =
        (0..ty.words()).map(|k| b.op1(Op::Mov, Type::U32, word(&s, k))).collect();
    Src { mods: SrcMods { inv: false, ..s.mods }, ..Src::tuple(&words) }
}

/// Puts the value of operand `n`, with its modifiers, into a register of its own.
fn materialise(b: &mut Builder<'_>, i: &mut Inst, n: usize) {
    let ty = i.src_type(n);
    let s = i.srcs[n].immediate(ty).unwrap_or(i.srcs[n]);
    let plain = s.mods == SrcMods::default();
    i.srcs[n] = if plain || s.mods.inv {
        in_registers(b, ty, s)
    } else if ty.is_float() {
        let value = if matches!(s.kind, SrcKind::Const { .. }) { in_registers(b, ty, s) } else { s };
        let copy = Inst::new(Op::Add, ty).src(value).src(zero_of(ty).neg());
        Src::tuple(&b.values(copy))
    } else if s.mods.abs {
        let mut copy =
            Inst::new(Op::Cvt, Type::S32).src(Src { mods: SrcMods { abs: true, ..SrcMods::default() }, ..s });
        copy.sty = Type::S32;
        let magnitude = b.value(copy);
        if s.mods.neg { b.op2(Op::Sub, Type::U32, 0u32, magnitude).into() } else { magnitude.into() }
    } else {
        let value = Src { mods: SrcMods::default(), ..s };
        b.op2(Op::Sub, Type::U32, 0u32, value).into()
    };
}

/// Adds the offset of an address to its base.
fn rebase(b: &mut Builder<'_>, i: &mut Inst) {
    let Some(m) = &mut i.mem else { return };
    let offset = m.offset;
    match *m.base() {
        [] => {
            let base = b.mov(offset as u32);
            m.rebase(&[base], offset.wrapping_neg());
        }
        [base] => {
            let base = b.add(Type::U32, base, offset as u32);
            m.rebase(&[base], offset.wrapping_neg());
        }
        [lo, hi, ..] => {
            let (low, carry) = (b.gpr(), b.func.new_value(Class::Carry));
            b.push(Inst::new(Op::Add, Type::U32).src(lo).src(offset as u32).dst(low).dst(carry));
            let high = if offset < 0 { !0u32 } else { 0 };
            let high = b.value(Inst::new(Op::Add, Type::U32).src(hi).src(high).src(carry));
            m.rebase(&[low, high], offset.wrapping_neg());
        }
    }
}

/// Gives every edge with arguments from a branch to a block with several predecessors a block of
/// its own.
fn split_critical_edges(f: &mut Function) {
    let mut preds: SecondaryMap<BlockId, u32> = f.block_table();
    for &b in &f.layout {
        f.blocks[b].term.successors().for_each(|s| preds[s] += 1);
    }
    let mut layout = Vec::with_capacity(f.layout.len());
    let mut loops = OpenLoops::default();
    for mut b in std::mem::take(&mut f.layout) {
        layout.push(b);
        loops.enter(b, f.blocks[b].merge);
        let Term::Branch { then, els, .. } = &f.blocks[b].term else { continue };
        let critical = [then, els].map(|e| !e.args.is_empty() && preds[e.to] > 1);
        if !critical.contains(&true) {
            continue;
        }
        let opened = f.open_if(b, critical, &loops);
        if let Some((header, _)) = opened
            && header != b
        {
            layout.push(header);
            b = header;
        }
        let mut term = std::mem::replace(&mut f.blocks[b].term, Term::Unreachable);
        let loc = f.blocks[b].term_loc;
        for e in term.edges_mut() {
            if e.args.is_empty() || preds[e.to] < 2 {
                continue;
            }
            let middle = f.detached_block();
            let onward = Edge { to: e.to, args: std::mem::take(&mut e.args) };
            f.blocks[middle].term = Term::Jump(onward);
            f.blocks[middle].term_loc = loc;
            e.to = middle;
            layout.push(middle);
        }
        layout.extend(opened.map(|(_, join)| join));
        f.blocks[b].term = term;
    }
    f.layout = layout;
}
