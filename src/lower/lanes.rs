//! Reading another lane's register on GF100, which has votes but no shuffle: one ballot a bit.
//!
//! ```text
//! shfl.idx u32 %r3 %r1 %r2 0x1f        and u32 %r4 %r1 0x1
//!                                      set.ne pred u32 %p5 %r4 0x0
//!                                      vote.any u32 %r6 %p5          bit 0 of all lanes
//!                                      shr.wrap u32 %r7 %r6 %r2      that of the lane to read
//!                                      ins u32 %r8 %r7 0x100 0x0     ... and so on, 32 times
//! ```
//!
//! Like SHFL with segments of 32 lanes: a lane that would read past the end of the warp reads
//! itself.

use crate::chip::Chip;
use crate::ir::build::Builder;
use crate::ir::expand::expand;
use crate::ir::*;

/// Lowers the shuffles of a function if the chip has none.
pub fn run(f: &mut Function, chip: Chip) -> bool {
    chip == Chip::Gf100 && expand(f, |i| i.op == Op::Shfl, shuffle)
}

fn shuffle(b: &mut Builder<'_>, i: &Inst) -> bool {
    let (Aux::Shfl(how), &[value, by, _], [dst]) = (i.aux, &i.srcs[..], &i.dsts[..]) else { return false };
    let me = b.sv(Sv::Laneid);
    let from: Src = match how {
        ShflOp::Idx => by,
        ShflOp::Bfly => b.op2(Op::Xor, Type::U32, me, by).into(),
        ShflOp::Down => b.add(Type::U32, me, by).into(),
        ShflOp::Up => b.op2(Op::Sub, Type::U32, me, by).into(),
    };
    let mut read: Src = Src::imm(0);
    for bit in 0..32 {
        let mine = b.op2(Op::And, Type::U32, value, 1u32 << bit);
        let set = b.setp(Cond::Ne, Type::U32, mine, 0u32);
        let all = b.value(Inst::new(Op::Vote, Type::U32).src(set).with_aux(Aux::Vote(VoteOp::Any)));
        let theirs = b.value(Inst::new(Op::Shr, Type::U32).src(all).src(from).with_aux(Aux::Wrap));
        read = b.value(Inst::new(Op::Ins, Type::U32).src(theirs).src(bit | 1 << 8).src(read)).into();
    }
    if matches!(how, ShflOp::Up | ShflOp::Down) {
        // Below lane 0 is far above lane 31, too.
        let outside = b.setp(Cond::Gt, Type::U32, from, 31u32);
        read = b.sel(outside, value, read).into();
    }
    b.push(Inst::new(Op::Mov, Type::U32).src(read).dst(*dst));
    true
}
