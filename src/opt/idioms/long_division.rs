//! Recognises long division of 64 bits, written out bit by bit.
//!
//! Mesa writes a division of 64-bit integers as 64 steps, the upper 32 of them behind an `if` that
//! asks whether they can do anything. A step subtracts the shifted divisor where that is not too
//! much:
//!
//! ```text
//! shl u64 {%r2 %r3} {%r0 %r1} 0x5                 the divisor, shifted
//! neg s64 {%r4 %r5} {%r2 %r3}
//! add u64 {%r6 %r7} {%n %m} {%r4 %r5}
//! set.ge pred u64 %p8 {%n %m} {%r2 %r3}
//! set.ge pred s32 %p9 0x1a %r10                   %r10 is the divisor's highest bit: the shift lost nothing
//! and pred %p11 %p8 %p9
//! sel u32 %r12 %r6 %n %p11                        what remains
//! sel u32 %r13 %r7 %m %p11
//! or u32 %r14 %q 0x20
//! sel u32 %r15 %r14 %q %p11                       the quotient
//! ```
//!
//! After all steps the values are those of `div` and `mod`, which are computed where the last steps
//! begin; the steps lose their readers. Proof: a chain of steps for the shifts k, k-1 .. 0, each of
//! which is taken exactly where the shifted divisor is at most what remains and did not overflow,
//! leaves less than the divisor if what it starts with is less than the divisor shifted by k + 1.
//! The upper half begins with k = 31 and any word; the lower half begins with what the upper half
//! left, or with words that the `if` found to be below the divisor already. A divisor that is
//! constant leaves out the steps that would overflow.
//!
//! Divided by zero, the steps give a quotient of all ones, as `div` does, and leave the dividend as
//! it is: `mod` does not, so that is chosen where nothing shows that the divisor is something else.

use crate::ir::*;
use crate::opt::Ctx;
use crate::opt::rewrite::{gather, map_uses};
use rustc_hash::FxHashMap;

/// Steps of each half.
const STEPS: usize = 32;

pub(crate) fn run(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    // Few functions divide so; those that do have a comparison of 64 bits for each of the lower
    // steps.
    if gather(f, |i| i.op == Op::Set && i.sty == Type::U64 && i.cond == Cond::Ge).is_empty() {
        return false;
    }
    let chains = Chains::find(f);
    let found: Vec<Division> = chains.wide.iter().filter_map(|c| chains.division(f, c)).collect();
    let mut replaced: FxHashMap<ValueId, ValueId> = FxHashMap::default();
    for d in &found {
        d.insert(f, &mut replaced);
    }
    if found.is_empty() {
        return false;
    }
    let new = |v: ValueId| replaced.get(&v).copied().unwrap_or(v);
    map_uses(f, new);
    ctx.count("long_division: recognised", found.len());
    true
}

/// Two words of a quantity, or one and zero; constants as immediates.
type Words = [Src; 2];

/// An operand's words, if it is plain; copies of constants are constants.
fn words(f: &Function, s: &Src, wide: bool) -> Option<Words> {
    if s.mods != SrcMods::default() || matches!(s.kind, SrcKind::Const { .. }) {
        return None;
    }
    Some(match s.kind {
        SrcKind::Imm(x) => [Src::imm(x), Src::imm(0)],
        SrcKind::Imm64(x) => x.map(Src::imm),
        _ => {
            let v = s.values();
            let high = if wide { constant_or_value(f, Src::val(*v.get(1)?)) } else { Src::imm(0) };
            [constant_or_value(f, Src::val(*v.first()?)), high]
        }
    })
}

fn constant_or_value(f: &Function, s: Src) -> Src {
    let copied = s.as_val().and_then(|v| f.def_inst(v)).filter(|d| d.op == Op::Mov && d.guard.is_none());
    match copied.and_then(|d| d.srcs[0].as_imm()) {
        Some(x) => Src::imm(x),
        None => s,
    }
}

fn constant(w: Words) -> Option<u64> {
    Some(u64::from(w[0].as_imm()?) | u64::from(w[1].as_imm()?) << 32)
}

/// One conditional subtraction.
struct Step {
    /// The instruction that subtracts.
    at: InstId,
    /// What is left before it, and what it may subtract.
    before: Words,
    less: Words,
    /// The value that must not be greater than a constant for it to be taken, if there is one.
    bound: Option<(ValueId, u32)>,
    taken: ValueId,
    /// What is left after it; nothing if only the quotient's last bit is asked for.
    after: Option<[ValueId; 2]>,
}

/// Steps each of which goes on with what the one before left.
struct Chain {
    block: BlockId,
    steps: Vec<Step>,
}

/// What a complete chain does.
struct Whole {
    before: Words,
    divisor: Words,
    /// The bits of the quotient, if anybody reads them.
    quotient: Option<ValueId>,
}

struct Chains {
    wide: Vec<Chain>,
    /// Of words, by what they leave.
    narrow: FxHashMap<ValueId, Chain>,
    /// Choices by their condition.
    choices: FxHashMap<ValueId, Vec<InstId>>,
    /// Edges to each block: where from, and with what.
    edges: FxHashMap<BlockId, Vec<(BlockId, Vec<ValueId>)>>,
}

impl Chains {
    fn find(f: &Function) -> Chains {
        let mut this = Chains {
            wide: Vec::new(),
            narrow: FxHashMap::default(),
            choices: FxHashMap::default(),
            edges: FxHashMap::default(),
        };
        let mut by_sum: FxHashMap<ValueId, InstId> = FxHashMap::default();
        for &b in &f.layout {
            for e in f.blocks[b].term.edges() {
                this.edges.entry(e.to).or_default().push((b, e.args.clone()));
            }
            for &i in &f.blocks[b].body {
                let inst = &f.insts[i];
                let plain = inst.op == Op::Sel && inst.ty.words() == 1 && inst.guard.is_none();
                if plain
                    && inst.srcs[2].is_plain_val()
                    && let Some(p) = inst.srcs[2].as_val()
                {
                    this.choices.entry(p).or_default().push(i);
                    if let Some(v) = inst.srcs[0].as_val() {
                        by_sum.insert(v, i);
                    }
                }
            }
        }
        // Comparisons by what they compare, for last steps that subtract nothing.
        let mut tests: FxHashMap<ValueId, Vec<InstId>> = FxHashMap::default();
        for &b in &f.layout {
            // Chains of this block by the low word of what they have left so far.
            let mut open: FxHashMap<(ValueId, bool), Chain> = FxHashMap::default();
            for &i in &f.blocks[b].body {
                if is_test(&f.insts[i])
                    && let Some(v) = f.insts[i].srcs[0].values().first()
                {
                    tests.entry(*v).or_default().push(i);
                }
                let Some((step, after, wide)) = step(f, &by_sum, i) else { continue };
                let before = step.before[0].as_val().and_then(|v| open.remove(&(v, wide)));
                let goes_on = before.filter(|c| {
                    let left = c.steps.last().and_then(|s| s.after);
                    left.is_some_and(|l| {
                        (0..1 + usize::from(wide)).all(|n| step.before[n].as_val() == Some(l[n]))
                    })
                });
                let mut chain = goes_on.unwrap_or(Chain { block: b, steps: Vec::new() });
                let key = (after, wide);
                chain.steps.push(step);
                open.insert(key, chain);
            }
            for ((left, wide), mut chain) in open {
                if wide {
                    chain.steps.extend(tests.get(&left).and_then(|t| last_test(f, &chain, t)));
                    this.wide.push(chain);
                } else {
                    this.narrow.insert(left, chain);
                }
            }
        }
        // The order in which a table gives its entries is nobody's business.
        this.wide.sort_by_key(|c| c.steps[0].at);
        this
    }

    /// Whether a chain divides, and by what.
    fn whole(&self, f: &Function, chain: &Chain, wide: bool) -> Option<Whole> {
        let (first, last) = (chain.steps.first()?, chain.steps.last()?);
        let divisor = last.less;
        let known = constant(divisor);
        let steps = match known {
            Some(0) => return None,
            Some(d) => STEPS.min(1 + d.leading_zeros() as usize - if wide { 0 } else { 32 }),
            None => STEPS,
        };
        if chain.steps.len() != steps {
            return None;
        }
        for (k, step) in chain.steps.iter().enumerate() {
            let by = (steps - 1 - k) as u32;
            let shifted = match known {
                Some(d) => constant(step.less) == Some(d << by),
                None => by == 0 && step.less == divisor || is_shifted(f, step.less, divisor, by, wide),
            };
            // The shift of a word that is alone loses nothing.
            let short = known.is_some() || by == 0 || wide && divisor[1].as_imm() == Some(0);
            let bounded = match step.bound {
                None => short,
                Some((v, most)) => {
                    let top = divisor[usize::from(wide)];
                    most == 31 - by
                        && f.def_inst(v).is_some_and(|d| {
                            d.op == Op::Flo
                                && d.ty == Type::U32
                                && d.sty == Type::U32
                                && d.aux == Aux::None
                                && constant_or_value(f, d.srcs[0]) == top
                        })
                }
            };
            if !shifted || !bounded {
                return None;
            }
        }
        Some(Whole { before: first.before, divisor, quotient: self.quotient(f, chain) })
    }

    /// The word that gets the bit of each step that is taken.
    fn quotient(&self, f: &Function, chain: &Chain) -> Option<ValueId> {
        let mut so_far = Src::imm(0);
        let steps = chain.steps.len();
        for (k, step) in chain.steps.iter().enumerate() {
            let bit = 1u32 << (steps - 1 - k);
            let with_bit = |s: &Src| match s.as_imm() {
                Some(x) => so_far.as_imm() == Some(0) && x == bit,
                None => s.as_val().and_then(|v| f.def_inst(v)).is_some_and(|d| {
                    d.op == Op::Or && d.srcs[0] == so_far && d.srcs[1].as_imm() == Some(bit)
                }),
            };
            let next = self.choices.get(&step.taken)?.iter().find(|&&i| {
                let inst = &f.insts[i];
                inst.srcs[1] == so_far && with_bit(&inst.srcs[0])
            })?;
            so_far = Src::val(f.insts[*next].dsts[0]);
        }
        so_far.as_val()
    }

    /// The division that a chain of 64 bits ends.
    fn division(&self, f: &Function, chain: &Chain) -> Option<Division> {
        let low = self.whole(f, chain, true)?;
        let block = chain.block;
        let [n_lo, h] = low.before;
        let d = low.divisor;
        let last = chain.steps.last()?;
        let position = match h.as_val() {
            Some(v) => f.blocks[block].params.iter().position(|&p| p == v),
            None => None,
        };
        let division = |dividend, quotient, at| Division {
            block,
            at,
            dividend,
            divisor: d,
            quotient,
            remainder: last.after,
            nonzero: constant(d).is_some() || is_nonzero(f, d) || self.was_tested(f, block, d),
        };
        let Some(position) = position else {
            // Nothing to do above: the dividend's upper word is below the divisor, whatever that
            // is.
            let small = h.as_imm() == Some(0) || d[1].as_imm().is_some_and(|x| x != 0);
            (constant(d).is_some() && small).then_some(())?;
            return Some(division([n_lo, h], [low.quotient, None], Some(chain.steps[0].at)));
        };
        // The upper half: an arm, or the way around it.
        let [one, other] = self.edges.get(&block)?.as_slice() else { return None };
        let (arm, around) = [(one, other), (other, one)].into_iter().find_map(|(a, b)| {
            let chain = self.narrow.get(&a.1[position]).filter(|c| c.block == a.0)?;
            Some(((a, self.whole(f, chain, false)?), b))
        })?;
        let ((arm, high), n_hi) = (arm, around.1[position]);
        let n_hi = constant_or_value(f, Src::val(n_hi));
        if high.before[0] != n_hi || high.divisor[0] != d[0] {
            return None;
        }
        // Where the condition stands.
        let head = self.sole(arm.0)?;
        let direct =
            around.0 == head || f.blocks[around.0].params.is_empty() && self.sole(around.0) == Some(head);
        let Term::Branch { cond, not: false, then, els } = &f.blocks[head].term else { return None };
        if !direct || then.to != arm.0 || els.to == arm.0 || !self.may_be_needed(f, *cond, n_hi, d) {
            return None;
        }
        // The upper bits of the quotient: those of the arm, or none.
        let upper = high.quotient.and_then(|q| {
            let n = arm.1.iter().position(|&a| a == q)?;
            let none = constant_or_value(f, Src::val(around.1[n])).as_imm() == Some(0);
            none.then_some(f.blocks[block].params[n])
        });
        let early = [n_lo, n_hi, d[0], d[1]].iter().all(|s| match s.as_val().map(|v| f.values[v].def) {
            Some(Def::Inst(i)) => !f.blocks[block].body.contains(&i),
            _ => true,
        });
        early.then(|| division([n_lo, n_hi], [low.quotient, upper], None))
    }

    /// The only block that leads to another.
    fn sole(&self, b: BlockId) -> Option<BlockId> {
        match self.edges.get(&b)?.as_slice() {
            [(from, _)] => Some(*from),
            _ => None,
        }
    }

    /// Whether a condition is that the upper half has something to do: no upper word of the
    /// divisor, and no more in the lower one than in the dividend's upper.
    fn may_be_needed(&self, f: &Function, cond: ValueId, n_hi: Src, d: Words) -> bool {
        let at_least = |v: ValueId| {
            comparison(f, v).is_some_and(|(c, ty, a, b)| {
                (c, ty) == (Cond::Ge, Type::U32) && a == [n_hi, Src::imm(0)] && b == [d[0], Src::imm(0)]
            })
        };
        let zero = |v: ValueId| {
            comparison(f, v).is_some_and(|(c, ty, a, b)| {
                c == Cond::Eq && ty.words() == 1 && !ty.is_float() && a[0] == d[1] && b[0].as_imm() == Some(0)
            })
        };
        if d[1].as_imm() == Some(0) {
            return at_least(cond);
        }
        let both = f.def_inst(cond).filter(|i| i.op == Op::And && i.ty == Type::Pred && i.srcs.len() == 2);
        let parts = both.and_then(|i| Some([i.srcs[0].as_val()?, i.srcs[1].as_val()?]));
        let plain = both.is_some_and(|i| i.srcs.iter().all(|s| s.is_plain_val()));
        parts.is_some_and(|[a, b]| plain && (zero(a) && at_least(b) || zero(b) && at_least(a)))
    }

    /// Whether the way to a block has a test that the divisor is not zero.
    fn was_tested(&self, f: &Function, block: BlockId, d: Words) -> bool {
        let mut b = block;
        for _ in 0..8 {
            // Around the `if` of the upper half.
            let from = match self.edges.get(&b).map(Vec::as_slice) {
                Some([(from, _)]) => *from,
                Some([(x, _), (y, _)]) => match (self.sole(*x), self.sole(*y)) {
                    (p, q) if p.is_some() && p == q || p == Some(*y) => p.unwrap_or(*y),
                    (_, q) if q == Some(*x) => *x,
                    _ => return false,
                },
                _ => return false,
            };
            if let Term::Branch { cond, not, then, els } = &f.blocks[from].term
                && then.to != els.to
                && let Some((c @ (Cond::Eq | Cond::Ne), ty, x, y)) = comparison(f, *cond)
                && ty.words() == 2
                && x == d
                && constant(y) == Some(0)
            {
                let zero = if (c == Cond::Eq) != *not { then.to } else { els.to };
                let other = if (c == Cond::Eq) != *not { els.to } else { then.to };
                if zero != b && other == b {
                    return true;
                }
            }
            b = from;
        }
        false
    }
}

/// The comparison that a predicate is: condition, type, operands.
fn comparison(f: &Function, v: ValueId) -> Option<(Cond, Type, Words, Words)> {
    let i = f.def_inst(v).filter(|i| i.op == Op::Set && i.ty == Type::Pred && i.srcs.len() == 2)?;
    let wide = i.sty.words() == 2;
    i.guard.is_none().then_some(())?;
    Some((i.cond, i.sty, words(f, &i.srcs[0], wide)?, words(f, &i.srcs[1], wide)?))
}

/// Whether a bit of a word is set by construction.
fn is_nonzero(f: &Function, d: Words) -> bool {
    d.iter().any(|s| {
        let or = s.as_val().and_then(|v| f.def_inst(v)).filter(|i| i.op == Op::Or && i.ty.words() == 1);
        or.is_some_and(|i| i.srcs.iter().any(|s| s.as_imm().is_some_and(|x| x != 0)))
            || s.as_imm().is_some_and(|x| x != 0)
    })
}

/// Whether words are the divisor shifted to the left.
fn is_shifted(f: &Function, w: Words, divisor: Words, by: u32, wide: bool) -> bool {
    let Some(i) = w[0].as_val().and_then(|v| f.def_inst(v)) else { return false };
    let all = (0..i.dsts.len()).all(|n| w[n].as_val() == Some(i.dsts[n]));
    i.op == Op::Shl
        && i.guard.is_none()
        && i.ty.words() == 1 + usize::from(wide)
        && i.dsts.len() == i.ty.words()
        && all
        && i.srcs[1].as_imm() == Some(by)
        && words(f, &i.srcs[0], wide) == Some(divisor)
}

/// Whether an instruction is the comparison of a step of 64 bits.
fn is_test(i: &Inst) -> bool {
    i.op == Op::Set && i.ty == Type::Pred && i.sty == Type::U64 && i.cond == Cond::Ge && i.srcs.len() == 2
}

/// The last step of a chain whose remainder nobody reads: a comparison with half of what the step
/// before may subtract.
fn last_test(f: &Function, chain: &Chain, tests: &[InstId]) -> Option<Step> {
    let last = chain.steps.last()?;
    let before = last.after?.map(Src::val);
    tests.iter().find_map(|&at| {
        let taken = f.insts[at].dsts[0];
        let (.., left, less) = comparison(f, taken)?;
        let half = match constant(last.less) {
            Some(x) => constant(less).is_some_and(|half| x == half << 1 && half >> 63 == 0),
            None => is_shifted(f, last.less, less, 1, true),
        };
        (left == before && half).then_some(Step { at, before, less, bound: None, taken, after: None })
    })
}

/// The step whose difference an instruction computes, the low word of what it leaves, and whether
/// it is one of 64 bits.
fn step(f: &Function, by_sum: &FxHashMap<ValueId, InstId>, at: InstId) -> Option<(Step, ValueId, bool)> {
    let add = &f.insts[at];
    if add.op != Op::Add || add.srcs.len() != 2 || add.ty.is_float() || add.guard.is_some() || add.sat {
        return None;
    }
    let wide = add.ty.words() == 2;
    if add.dsts.len() != add.ty.words() {
        return None;
    }
    let choices = |n: usize| by_sum.get(&add.dsts[n]).map(|&i| &f.insts[i]);
    let (low, high) = (choices(0)?, if wide { Some(choices(1)?) } else { None });
    let taken = low.srcs[2].as_val()?;
    if high.is_some_and(|h| h.srcs[2] != low.srcs[2]) {
        return None;
    }
    let (before, less) = (0..2).find_map(|n| {
        let before = words(f, &add.srcs[n], wide)?;
        let kept = constant_or_value(f, low.srcs[1]) == before[0]
            && high.is_none_or(|h| constant_or_value(f, h.srcs[1]) == before[1]);
        kept.then_some(())?;
        Some((before, negated(f, &add.srcs[1 - n], wide)?))
    })?;
    let fits = |v: ValueId| {
        let ty = if wide { Type::U64 } else { Type::U32 };
        comparison(f, v).is_some_and(|c| c == (Cond::Ge, ty, before, less))
    };
    let bound = if fits(taken) {
        None
    } else {
        let both =
            f.def_inst(taken).filter(|i| i.op == Op::And && i.ty == Type::Pred && i.srcs.len() == 2)?;
        let plain = both.srcs.iter().all(|s| s.is_plain_val());
        let (x, y) = (both.srcs[0].as_val()?, both.srcs[1].as_val()?);
        let other = if fits(x) { y } else { x };
        if !plain || !fits(x) && !fits(y) {
            return None;
        }
        let (Cond::Ge, Type::S32, most, [top, _]) = comparison(f, other)? else { return None };
        Some((top.as_val()?, most[0].as_imm()?))
    };
    let after = [low.dsts[0], high.map_or(low.dsts[0], |h| h.dsts[0])];
    Some((Step { at, before, less, bound, taken, after: Some(after) }, after[0], wide))
}

/// The words whose negation an operand is.
fn negated(f: &Function, s: &Src, wide: bool) -> Option<Words> {
    let w = words(f, s, wide)?;
    if let Some(x) = constant(w) {
        let x = if wide { x.wrapping_neg() } else { u64::from((x as u32).wrapping_neg()) };
        return Some([Src::imm(x as u32), Src::imm((x >> 32) as u32)]);
    }
    let i = f.def_inst(w[0].as_val()?)?;
    let whole =
        i.dsts.len() == 1 + usize::from(wide) && (0..i.dsts.len()).all(|n| w[n].as_val() == Some(i.dsts[n]));
    (whole && i.op == Op::Neg && i.guard.is_none() && !i.ty.is_float()).then_some(())?;
    words(f, &i.srcs[0], wide)
}

/// A division that was found.
struct Division {
    block: BlockId,
    /// The instruction that it is computed before; at the beginning of the block if there is none.
    at: Option<InstId>,
    dividend: Words,
    divisor: Words,
    /// The words of quotient and remainder that the steps compute; none that nobody computes.
    quotient: [Option<ValueId>; 2],
    remainder: Option<[ValueId; 2]>,
    /// The divisor is certainly not zero.
    nonzero: bool,
}

impl Division {
    /// Computes quotient and remainder, and notes what they take the place of.
    fn insert(&self, f: &mut Function, replaced: &mut FxHashMap<ValueId, ValueId>) {
        let mut out = Vec::new();
        let loc = f.insts[self.at.unwrap_or_else(|| f.blocks[self.block].body[0])].loc;
        let mut make = |f: &mut Function, mut inst: Inst, n: usize| -> Vec<ValueId> {
            inst.loc = loc;
            let class = if inst.ty == Type::Pred { Class::Pred } else { Class::Gpr };
            let dsts: Vec<ValueId> = (0..n).map(|_| f.new_value(class)).collect();
            inst.dsts.extend(dsts.iter().copied());
            let i = f.make(inst);
            out.push(i);
            dsts
        };
        let mut operand = |f: &mut Function, w: Words| match constant(w) {
            Some(x) => Src::imm64(x),
            None => {
                let words = w.map(|s| match s.as_val() {
                    Some(v) => v,
                    None => make(f, Inst::new(Op::Mov, Type::U32).src(s), 1)[0],
                });
                Src { kind: SrcKind::Pair(words), mods: SrcMods::default() }
            }
        };
        let (n, d) = (operand(f, self.dividend), operand(f, self.divisor));
        if self.quotient[0].is_some() {
            let q = make(f, Inst::new(Op::Div, Type::U64).src(n).src(d), 2);
            replaced.extend(self.quotient.iter().zip(q).filter_map(|(old, new)| Some(((*old)?, new))));
        }
        if let Some(old) = self.remainder {
            let mut r = make(f, Inst::new(Op::Mod, Type::U64).src(n).src(d), 2);
            if !self.nonzero {
                let mut set = Inst::new(Op::Set, Type::Pred).src(d).src(Src::imm64(0));
                (set.cond, set.sty) = (Cond::Eq, Type::U64);
                let p = make(f, set, 1)[0];
                let mut choose = |f: &mut Function, k: usize| {
                    make(f, Inst::new(Op::Sel, Type::U32).src(self.dividend[k]).src(r[k]).src(p), 1)[0]
                };
                r = vec![choose(f, 0), choose(f, 1)];
            }
            replaced.extend(old.into_iter().zip(r));
        }
        let body = &mut f.blocks[self.block].body;
        let place = self.at.and_then(|at| body.iter().position(|&i| i == at)).unwrap_or(0);
        body.splice(place..place, out);
    }
}
