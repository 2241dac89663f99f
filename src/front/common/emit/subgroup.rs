//! Operations between the lanes of a warp.
//!
//! Reductions and scans visit the active lanes one by one in a loop that is uniform: lanes that do not take part do not
//! disturb it, whatever the control flow was.

use super::Emit;
use super::alu::Lane;
use super::op::Op as N;
use super::value::{Comp, Pred, Shape, Word};
use crate::front::common::lanes;
use crate::ir::{Class, Cond, Inst, Merge, Op, ShflOp, Sv, Type, VoteOp};
use arrayvec::ArrayVec;

/// Operations between the lanes of a warp.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "variants are named as NIR's intrinsics")]
#[rustfmt::skip]
pub enum Subgroup {
    Ballot, InverseBallot, BallotBitfieldExtract, BallotBitCountReduce, BallotBitCountInclusive, BallotBitCountExclusive,
    BallotFindLsb, BallotFindMsb, Elect, WholeWarp, FirstInvocation, LastInvocation, VoteAll, VoteAny, VoteIeq, VoteFeq,
    ReadInvocation, ReadFirstInvocation, Shuffle, ShuffleXor, ShuffleUp, ShuffleDown, QuadBroadcast,
    QuadSwapHorizontal, QuadSwapVertical, QuadSwapDiagonal, QuadVoteAny, QuadVoteAll, Rotate, AsUniform, Reduce, InclusiveScan, ExclusiveScan,
}

/// What an operation takes.
#[derive(Clone, Copy)]
pub(crate) struct Group<'a> {
    /// The components of the first operand, and their bits.
    pub values: &'a [Comp],
    pub bits: u8,
    /// The second operand: a lane, a distance, a bit.
    pub second: Word,
    /// What it gives.
    pub shape: Shape,
    /// Lanes of a cluster; 0: all.
    pub cluster: u32,
    /// What reductions compute.
    pub reduction: Option<N>,
}

impl Emit<'_> {
    /// What an operation gives; why it is not there.
    pub(crate) fn subgroup(
        &mut self,
        op: Subgroup,
        group: &Group<'_>,
    ) -> Result<ArrayVec<Comp, 16>, &'static str> {
        let &Group { values, bits, second, shape, cluster, reduction } = group;
        let first = values.first().copied().unwrap_or(Comp::Word(Word::Imm(0)));
        let lane = |this: &mut Self| Word::Val(this.b.sv(Sv::Laneid));
        let mut result: ArrayVec<Comp, 16> = ArrayVec::new();
        match op {
            Subgroup::Ballot => {
                let p = self.truth(first, bits);
                let b = self.ballot(p);
                result.push(self.resize(Comp::Word(b), 32, shape.bits, false));
                while result.len() < shape.comps.into() {
                    result.push(Comp::constant(shape.bits, 0));
                }
            }
            Subgroup::InverseBallot => {
                let bit = self.b.sv(Sv::LanemaskEq);
                let at = self.op2(Op::And, Type::U32, first.word(), bit);
                let p = self.cmp(Cond::Ne, Type::U32, at, 0);
                result.push(self.boolean(p, shape.bits));
            }
            Subgroup::BallotBitfieldExtract => {
                let moved = self.shift(Op::Shr, 32, false, Comp::Word(first.word()), Comp::Word(second));
                let bit = self.op2(Op::And, Type::U32, moved.word(), 1);
                let p = self.cmp(Cond::Ne, Type::U32, bit, 0);
                result.push(self.boolean(p, shape.bits));
            }
            Subgroup::BallotBitCountReduce => {
                result.push(Comp::Word(self.op1(Op::Popc, Type::U32, first.word())));
            }
            Subgroup::BallotBitCountInclusive | Subgroup::BallotBitCountExclusive => {
                let up_to = op == Subgroup::BallotBitCountInclusive;
                let below = self.b.sv(if up_to { Sv::LanemaskLe } else { Sv::LanemaskLt });
                let bits = self.op2(Op::And, Type::U32, first.word(), below);
                result.push(Comp::Word(self.op1(Op::Popc, Type::U32, bits)));
            }
            Subgroup::BallotFindLsb => result.push(Comp::Word(self.lsb(first.word()))),
            Subgroup::BallotFindMsb => {
                result.push(Comp::Word(self.op1(Op::Flo, Type::U32, first.word())));
            }
            Subgroup::Elect => {
                let leader = self.first_lane();
                let me = lane(self);
                let p = self.cmp(Cond::Eq, Type::U32, leader, me);
                result.push(self.boolean(p, shape.bits));
            }
            Subgroup::WholeWarp => {
                let p = Pred::Val(self.b.value(Inst::new(Op::WholeWarp, Type::Pred)), false);
                result.push(self.boolean(p, shape.bits));
            }
            Subgroup::FirstInvocation => result.push(Comp::Word(self.first_lane())),
            Subgroup::LastInvocation => {
                let active = self.ballot(Pred::Const(true));
                result.push(Comp::Word(self.op1(Op::Flo, Type::U32, active)));
            }
            Subgroup::VoteAll | Subgroup::VoteAny => {
                let p = self.truth(first, bits);
                let p = self.vote(if op == Subgroup::VoteAll { VoteOp::All } else { VoteOp::Any }, p);
                result.push(self.boolean(p, shape.bits));
            }
            Subgroup::VoteIeq | Subgroup::VoteFeq => {
                let mut all = Pred::Const(true);
                for &c in values {
                    let p = self.equal_everywhere(c, bits, op == Subgroup::VoteFeq);
                    all = self.and(all, p);
                }
                result.push(self.boolean(all, shape.bits));
            }
            Subgroup::ReadFirstInvocation | Subgroup::ReadInvocation | Subgroup::Shuffle => {
                let from = if op == Subgroup::ReadFirstInvocation { self.first_lane() } else { second };
                result.extend(values.iter().map(|&c| self.shuffle(c, ShflOp::Idx, from)));
            }
            Subgroup::ShuffleXor | Subgroup::ShuffleUp | Subgroup::ShuffleDown => {
                let how = match op {
                    Subgroup::ShuffleXor => ShflOp::Bfly,
                    Subgroup::ShuffleUp => ShflOp::Up,
                    _ => ShflOp::Down,
                };
                result.extend(values.iter().map(|&c| self.shuffle(c, how, second)));
            }
            Subgroup::QuadSwapHorizontal | Subgroup::QuadSwapVertical | Subgroup::QuadSwapDiagonal => {
                let with = match op {
                    Subgroup::QuadSwapHorizontal => 1,
                    Subgroup::QuadSwapVertical => 2,
                    _ => 3,
                };
                result.extend(values.iter().map(|&c| self.shuffle(c, ShflOp::Bfly, Word::Imm(with))));
            }
            Subgroup::QuadBroadcast => {
                let me = lane(self);
                let quad = self.op2(Op::And, Type::U32, me, 28);
                let from = self.op2(Op::Or, Type::U32, quad, second);
                result.extend(values.iter().map(|&c| self.shuffle(c, ShflOp::Idx, from)));
            }
            Subgroup::QuadVoteAny | Subgroup::QuadVoteAll => {
                // Lanes that are not active do not vote.
                let any = op == Subgroup::QuadVoteAny;
                let p = self.truth(first, bits);
                let votes = self.ballot(if any { p } else { p.not() });
                let me = lane(self);
                let quad = self.op2(Op::And, Type::U32, me, 28);
                let mine = self.shift(Op::Shr, 32, false, Comp::Word(votes), Comp::Word(quad));
                let mine = self.op2(Op::And, Type::U32, mine.word(), 15);
                let p = self.cmp(if any { Cond::Ne } else { Cond::Eq }, Type::U32, mine, 0);
                result.push(self.boolean(p, shape.bits));
            }
            Subgroup::Rotate => {
                // Within the lane's cluster.
                let cluster = if cluster.is_power_of_two() && cluster < 32 { cluster } else { 32 };
                let me = lane(self);
                let there = self.op2(Op::Add, Type::U32, me, second);
                let there = self.op2(Op::And, Type::U32, there, cluster - 1);
                let base = self.op2(Op::And, Type::U32, me, 32 - cluster);
                let from = self.op2(Op::Or, Type::U32, base, there);
                result.extend(values.iter().map(|&c| self.shuffle(c, ShflOp::Idx, from)));
            }
            // The front-end that wrote it promises that all lanes have one value.
            Subgroup::AsUniform => result.extend(values.iter().copied()),
            Subgroup::Reduce | Subgroup::InclusiveScan | Subgroup::ExclusiveScan => {
                let n = reduction.ok_or("a reduction whose operation is not known")?;
                for &c in values {
                    let reduced = self.reduce(op, c, bits, n, cluster)?;
                    result.push(reduced);
                }
            }
        }
        Ok(result)
    }

    pub(crate) fn ballot(&mut self, p: Pred) -> Word {
        let p = self.pred_src(p);
        lanes::ballot(&mut self.b, p).into()
    }

    pub(crate) fn vote(&mut self, how: VoteOp, p: Pred) -> Pred {
        let p = self.pred_src(p);
        Pred::Val(lanes::vote(&mut self.b, how, p), false)
    }

    /// The lowest active lane.
    pub(crate) fn first_lane(&mut self) -> Word {
        let all = self.pred_src(Pred::Const(true));
        lanes::first(&mut self.b, all).into()
    }

    /// Whether all active lanes have the same value.
    pub(crate) fn equal_everywhere(&mut self, c: Comp, bits: u8, float: bool) -> Pred {
        if let Comp::Bool(p) | Comp::Word(Word::Mask(p)) = c {
            return self.vote(VoteOp::Uni, p);
        }
        let leader = self.first_lane();
        let theirs = self.shuffle(c, ShflOp::Idx, leader);
        let same = if float {
            self.float_equal(c, theirs, bits)
        } else {
            self.compare_ints(Cond::Eq, false, c, theirs, bits)
        };
        self.vote(VoteOp::All, same)
    }

    /// A component of another lane.
    pub(crate) fn shuffle(&mut self, c: Comp, how: ShflOp, by: Word) -> Comp {
        match c {
            Comp::Bool(p) => {
                let w = self.select(p, Word::Imm(1), Word::Imm(0));
                let w = self.shuffle_word(w, how, by);
                Comp::Bool(self.cmp(Cond::Ne, Type::U32, w, 0))
            }
            Comp::Word(w) => Comp::Word(self.shuffle_word(w, how, by)),
            Comp::Wide(lo, hi) => Comp::Wide(self.shuffle_word(lo, how, by), self.shuffle_word(hi, how, by)),
        }
    }

    fn shuffle_word(&mut self, w: Word, how: ShflOp, by: Word) -> Word {
        if let Word::Imm(_) = w {
            return w;
        }
        let (a, by) = (self.src(w), self.src(by));
        lanes::shuffle(&mut self.b, a, how, by).into()
    }

    /// Over the active lanes of the lane's cluster, or over those before it.
    fn reduce(&mut self, op: Subgroup, c: Comp, bits: u8, n: N, cluster: u32) -> Result<Comp, &'static str> {
        let identity = identity(n, bits).ok_or("a reduction by this operation and of this size")?;
        let cluster = match cluster {
            0 => 32,
            size if size.is_power_of_two() && size <= 32 => size,
            _ => return Err("clusters of other than 1, 2, 4, 8, 16 or 32 lanes"),
        };
        let acc = self.vars(Shape::scalar(bits));
        let rest = self.ssa.var(Class::Gpr);
        let start = Comp::constant(bits, identity);
        self.write_vars(&acc, start);
        let active = self.ballot(Pred::Const(true));
        self.write_vars(&[rest], Comp::Word(active));
        let me = Word::Val(self.b.sv(Sv::Laneid));

        let func = &mut *self.b.func;
        let [header, body, next, exit] = [(); 4].map(|()| func.detached_block());
        func.blocks[header].merge = Merge::Loop { exit, cont: next };
        self.go(header);
        self.begin(header);
        self.go(body);
        self.ssa.seal(self.b.func, body);
        self.begin(body);
        let left = self.read_vars(&[rest], 32).word();
        let lane = self.lsb(left);
        let theirs = self.shuffle(c, ShflOp::Idx, lane);
        let take = match op {
            Subgroup::Reduce if cluster == 32 => Pred::Const(true),
            Subgroup::Reduce => {
                let differ = self.op2(Op::Xor, Type::U32, lane, me);
                self.cmp(Cond::Lt, Type::U32, differ, cluster)
            }
            Subgroup::InclusiveScan => self.cmp(Cond::Le, Type::U32, lane, me),
            _ => self.cmp(Cond::Lt, Type::U32, lane, me),
        };
        let sum = self.read_vars(&acc, bits);
        let lane = Lane { op: n, bits, sbits: bits, exact: true, part: 0, srcs: &[sum, theirs] };
        let more = self.lane(&lane).ok_or("a reduction by this operation and of this size")?;
        let sum = self.select_comp(take, more, sum);
        self.write_vars(&acc, sum);
        let minus = self.op2(Op::Add, Type::U32, left, u32::MAX);
        let left = self.op2(Op::And, Type::U32, left, minus);
        self.write_vars(&[rest], Comp::Word(left));
        let done = self.cmp(Cond::Eq, Type::U32, left, 0);
        self.fork(done, exit, next);
        self.close_loop(header, next, exit);
        Ok(self.read_vars(&acc, bits))
    }
}

/// What a reduction begins with.
fn identity(op: N, bits: u8) -> Option<u64> {
    let ones = u64::MAX >> (64 - u32::from(bits.max(1)));
    let float = |x: f64| match bits {
        64 => x.to_bits(),
        16 => half::f16::from_f64(x).to_bits().into(),
        _ => (x as f32).to_bits().into(),
    };
    Some(match op {
        N::Iadd | N::Umax | N::Ior | N::Ixor => 0,
        N::Imul => 1,
        N::Imin => ones >> 1,
        N::Imax => ones ^ ones >> 1,
        N::Umin | N::Iand => ones,
        N::Fadd if bits > 8 => float(-0.0),
        N::Fmul if bits > 8 => float(1.0),
        N::Fmin if bits > 8 => float(f64::INFINITY),
        N::Fmax if bits > 8 => float(f64::NEG_INFINITY),
        _ => return None,
    })
}
