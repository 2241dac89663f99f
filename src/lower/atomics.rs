//! Atomics that a chip does not have for a memory space, as loops.
//!
//! Shared memory has no atomic instructions on these chips, but a load that locks a word and a
//! store that unlocks it. On Kepler the store may fail, too:
//!
//! ```text
//! atom.add u32 %r1 s[%r0+0x0] %r2           mov pred %p0 false
//!                                           jump b1(%p0)
//!                                       b1(%p1): loop exit b6 cont b5
//!                                           jump b2
//!                                       b2:
//!                                           ldlk u32 {%r1 %p3} s[%r0+0x0]
//!                                           if %p3 b3 b4(%p1) join b4
//!                                       b3:
//!                                           add u32 %r4 %r1 %r2
//!                                           stul u32 %p5 s[%r0+0x0] %r4
//!                                           jump b4(%p5)
//!                                       b4(%p6):
//!                                           if %p6 b6 b5
//!                                       b5:
//!                                           jump b1(%p6)
//!                                       b6:
//! ```
//!
//! That is four instructions a try, since a lane that goes round has a `%p6` that is false, which
//! needs no other register: `LDSLK P0`, `@P0 IADD`, `@P0 STSCUL P1`, `@!P1 BRA`. On Fermi, `stul`
//! is guarded by `%p3` instead, and `%p3` leaves the loop.
//!
//! A pair of words is locked and unlocked by instructions of 64 bits. Lanes that got the lock give
//! it back before any lane tries again, whichever side of a branch runs first, so lanes of one warp
//! cannot wait for each other. Global memory has most operations; the others compare and swap until
//! nobody interfered.

use super::blocks;
use crate::chip::Chip;
use crate::ir::build::Builder;
use crate::ir::expand::word;
use crate::ir::*;

/// Lowers the atomics of a function that the chip does not have.
pub fn run(f: &mut Function, chip: Chip) -> bool {
    if !f.insts_in_order().any(|(_, i)| needs_loop(&f.insts[i], chip)) {
        return false;
    }
    let mut layout = Vec::with_capacity(f.layout.len());
    for mut block in std::mem::take(&mut f.layout) {
        layout.push(block);
        for i in std::mem::take(&mut f.blocks[block].body) {
            if !needs_loop(&f.insts[i], chip) {
                f.blocks[block].body.push(i);
                continue;
            }
            // What follows goes into a block behind the loop.
            let inst = f.insts[i].clone();
            let end = f.blocks[block].body.len();
            let tail = blocks::split(f, block, end);
            layout.extend(if inst.mem.is_some_and(|m| m.space == Space::Shared) {
                lock_loop(f, block, tail, &inst, chip)
            } else {
                swap_loop(f, block, tail, &inst)
            });
            block = tail;
        }
    }
    f.layout = layout;
    true
}

fn operation(i: &Inst) -> AtomOp {
    if let Aux::Atom(op) = i.aux { op } else { AtomOp::Add }
}

/// Whether the chip has the operation for global memory. Sources: envytools `isa.rst`, Mesa's
/// emitters; 64-bit operations beyond add, exchange and compare-and-swap came with GK110. NAK's
/// card raised an illegal encoding for 64-bit atomics on Kepler A, while CUDA's tables promise
/// these three for both chips: unsettled.
fn native(op: AtomOp, ty: Type, chip: Chip) -> bool {
    let wide = ty.words() == 2;
    match op {
        AtomOp::Add => matches!(ty, Type::U32 | Type::S32 | Type::F32 | Type::U64 | Type::S64),
        AtomOp::Exch | AtomOp::Cas => !ty.is_float() || ty == Type::F32 && op == AtomOp::Exch,
        AtomOp::Min | AtomOp::Max => !ty.is_float() && (!wide || chip == Chip::Gk110),
        AtomOp::And | AtomOp::Or | AtomOp::Xor => !wide || chip == Chip::Gk110,
        AtomOp::Inc | AtomOp::Dec => !wide,
        AtomOp::Load | AtomOp::Sub | AtomOp::Fmin | AtomOp::Fmax | AtomOp::Fadd => false,
    }
}

fn needs_loop(i: &Inst, chip: Chip) -> bool {
    let (Op::Atom, Some(m)) = (i.op, &i.mem) else { return false };
    match m.space {
        Space::Shared => true,
        Space::Global | Space::Generic => !native(operation(i), i.ty, chip),
        _ => false,
    }
}

type Words = List<ValueId, 5>;

/// What the operation makes of the old value.
fn combine(b: &mut Builder<'_>, i: &Inst, old: &Words) -> Words {
    let ty = i.ty;
    let x = Src::tuple(old);
    let data = i.srcs.first().copied().unwrap_or(x);
    let values = |b: &mut Builder<'_>, op: Op| b.values(Inst::new(op, ty).src(x).src(data));
    let choose = |b: &mut Builder<'_>, p: ValueId, s: Src, t: Src| -> Words {
        (0..ty.words()).map(|n| b.sel(p, word(&s, n), word(&t, n))).collect()
    };
    let number = |n: u64| if ty.words() == 2 { Src::imm64(n) } else { Src::imm(n as u32) };
    match operation(i) {
        AtomOp::Add | AtomOp::Fadd => values(b, Op::Add),
        AtomOp::Sub => values(b, Op::Sub),
        AtomOp::Min | AtomOp::Fmin => values(b, Op::Min),
        AtomOp::Max | AtomOp::Fmax => values(b, Op::Max),
        AtomOp::And => values(b, Op::And),
        AtomOp::Or => values(b, Op::Or),
        AtomOp::Xor => values(b, Op::Xor),
        AtomOp::Load => *old,
        AtomOp::Exch => super::library::words(b, &data, ty.words()).into_iter().collect(),
        AtomOp::Cas => {
            let swap = i.srcs.get(1).copied().unwrap_or(data);
            let unsigned = if ty.words() == 2 { Type::U64 } else { Type::U32 };
            let p = b.setp(Cond::Eq, unsigned, x, data);
            choose(b, p, swap, x)
        }
        AtomOp::Inc => {
            let p = b.setp(Cond::Ge, ty.unsigned(), x, data);
            let next = b.values(Inst::new(Op::Add, ty).src(x).src(number(1)));
            choose(b, p, number(0), Src::tuple(&next))
        }
        AtomOp::Dec => {
            let zero = b.setp(Cond::Eq, ty.unsigned(), x, number(0));
            let above = b.setp(Cond::Gt, ty.unsigned(), x, data);
            let wrap = b.op2(Op::Or, Type::Pred, zero, above);
            let less = b.values(Inst::new(Op::Sub, ty).src(x).src(number(1)));
            choose(b, wrap, data, Src::tuple(&less))
        }
    }
}

/// Makes the instruction's destinations copies of the old value, at the start of `tail`.
fn give_old(f: &mut Function, tail: BlockId, i: &Inst, old: &[ValueId]) {
    let copies: Vec<InstId> =
        i.dsts.iter().zip(old).map(|(&d, &v)| f.make(Inst::new(Op::Mov, Type::U32).dst(d).src(v))).collect();
    f.blocks[tail].body.splice(0..0, copies);
}

/// Where a loop stands: from `start` to `end`, in threads where the guard holds.
struct Frame {
    inserted: Vec<BlockId>,
    start: BlockId,
    end: BlockId,
    /// A guarded atomic becomes an `if`: its join.
    join: Option<BlockId>,
}

fn frame(f: &mut Function, before: BlockId, tail: BlockId, i: &Inst) -> Frame {
    let Some(g) = i.guard else {
        return Frame { inserted: Vec::new(), start: before, end: tail, join: None };
    };
    // A block of its own, since a loop's header cannot head an `if` as well.
    let [header, start, end] = std::array::from_fn(|_| f.detached_block());
    f.blocks[before].term = Term::Jump(Edge::to(header));
    // Threads that skip the atomic have no old value: any will do, since a guarded instruction's
    // destinations are undefined where it is skipped.
    let undefined = i.dsts.iter().map(|_| {
        let u = f.new_value(Class::Gpr);
        f.append(header, Inst::new(Op::Undef, Type::U32).dst(u));
        u
    });
    let args = undefined.collect();
    f.blocks[header].term =
        Term::Branch { cond: g.pred, not: g.not, then: Edge::to(start), els: Edge { to: tail, args } };
    f.blocks[header].merge = Merge::If { join: tail };
    Frame { inserted: vec![header, start], start, end, join: Some(tail) }
}

/// Ends the frame: `old` reaches the instruction's destinations. Gives the blocks to insert, in
/// order.
fn close(f: &mut Function, mut frame: Frame, i: &Inst, old: &[ValueId]) -> Vec<BlockId> {
    frame.inserted.push(frame.end);
    match frame.join {
        None => give_old(f, frame.end, i, old),
        Some(join) => {
            let params: Vec<ValueId> = i.dsts.iter().map(|_| f.add_block_param(join, Class::Gpr)).collect();
            f.blocks[frame.end].term = Term::Jump(Edge { to: join, args: old[..i.dsts.len()].to_vec() });
            give_old(f, join, i, &params);
            frame.inserted.push(join);
        }
    }
    frame.inserted
}

fn lock_loop(f: &mut Function, before: BlockId, tail: BlockId, i: &Inst, chip: Chip) -> Vec<BlockId> {
    let mut frame = frame(f, before, tail, i);
    let [header, attempt, cont] = std::array::from_fn(|_| f.detached_block());
    let may_fail = chip != Chip::Gf100;
    let mut b = Builder::new(f, frame.start);
    b.loc = i.loc;
    let no: Vec<ValueId> =
        may_fail.then(|| b.value(Inst::new(Op::Mov, Type::Pred).src(0u32))).into_iter().collect();
    b.terminate(Term::Jump(Edge { to: header, args: no }));
    // Whether the store succeeded, before it was tried: no, in every round.
    let unlocked: Vec<ValueId> =
        may_fail.then(|| f.add_block_param(header, Class::Pred)).into_iter().collect();
    f.blocks[header].merge = Merge::Loop { exit: frame.end, cont };
    f.blocks[header].term = Term::Jump(Edge::to(attempt));
    f.blocks[cont].term = Term::Jump(Edge::to(header));
    frame.inserted.extend([header, attempt]);
    let mem = i.mem.unwrap_or(MemRef::new(Space::Shared));
    // A pair of words is locked, and stored if the lock was kept, as one.
    let plain = |op: Op| {
        let ty = if i.ty.words() == 2 { Type::U64 } else { Type::U32 };
        let mut p = Inst::new(op, ty).with_mem(mem.with_align(Align::multiple_of(4 * ty.words() as u32)));
        p.loc = i.loc;
        p
    };

    let mut b = Builder::new(f, attempt);
    b.loc = i.loc;
    let old: Words = (0..i.ty.words()).map(|_| b.gpr()).collect();
    let locked = b.pred();
    let mut load = plain(Op::LdLock);
    load.dsts.extend(old.iter().copied());
    b.push(load.dst(locked));
    if !may_fail {
        // What has the lock can store: no branch is needed.
        let new = combine(&mut b, i, &old);
        let mut store = plain(Op::StUnlock).src(Src::tuple(&new));
        store.guard = Some(Guard { pred: locked, not: false });
        b.push(store);
        b.branch(locked, frame.end, cont);
        frame.inserted.push(cont);
        return close(f, frame, i, &old);
    }

    let [got, after] = std::array::from_fn(|_| b.func.detached_block());
    b.terminate(Term::Branch {
        cond: locked,
        not: false,
        then: Edge::to(got),
        els: Edge { to: after, args: unlocked },
    });
    f.blocks[attempt].merge = Merge::If { join: after };

    let mut b = Builder::new(f, got);
    b.loc = i.loc;
    let new = combine(&mut b, i, &old);
    let done = b.pred();
    b.push(plain(Op::StUnlock).src(Src::tuple(&new)).dst(done));
    b.terminate(Term::Jump(Edge { to: after, args: vec![done] }));

    let finished = f.add_block_param(after, Class::Pred);
    f.blocks[after].term =
        Term::Branch { cond: finished, not: false, then: Edge::to(frame.end), els: Edge::to(cont) };
    f.blocks[cont].term = Term::Jump(Edge { to: header, args: vec![finished] });
    frame.inserted.extend([got, after, cont]);
    close(f, frame, i, &old)
}

fn swap_loop(f: &mut Function, before: BlockId, tail: BlockId, i: &Inst) -> Vec<BlockId> {
    let mut frame = frame(f, before, tail, i);
    let [header, attempt, cont] = std::array::from_fn(|_| f.detached_block());
    let words = i.ty.words();
    let ty = if words == 2 { Type::U64 } else { Type::U32 };
    let mem = i.mem.unwrap_or(MemRef::new(Space::Global));
    let mut coherent = mem;
    if coherent.order == Order::Weak {
        coherent.order = Order::Coherent;
    }
    // An atomic traps where it is misaligned, and so does the load.
    if coherent.proven() < ty.bytes() {
        coherent.align = Align::multiple_of(ty.bytes());
    }

    let mut b = Builder::new(f, frame.start);
    b.loc = i.loc;
    let first = b.ld(ty, coherent);
    b.terminate(Term::Jump(Edge { to: header, args: first.to_vec() }));

    let old: Words = (0..words).map(|_| f.add_block_param(header, Class::Gpr)).collect();
    f.blocks[header].merge = Merge::Loop { exit: frame.end, cont };
    f.blocks[header].term = Term::Jump(Edge::to(attempt));

    let mut b = Builder::new(f, attempt);
    b.loc = i.loc;
    let new = combine(&mut b, i, &old);
    let seen = b.atom(AtomOp::Cas, ty, mem, &[Src::tuple(&old), Src::tuple(&new)]);
    let same = b.setp(Cond::Eq, ty, Src::tuple(&seen), Src::tuple(&old));
    b.branch(same, frame.end, cont);
    f.blocks[cont].term = Term::Jump(Edge { to: header, args: seen.to_vec() });
    frame.inserted.extend([header, attempt, cont]);
    close(f, frame, i, &old)
}
