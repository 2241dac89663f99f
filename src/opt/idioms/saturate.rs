//! Recognises saturating addition and subtraction, written as a sum and comparisons that ask
//! whether it overflowed.
//!
//! Mesa asks the sum itself, once for each sign of what is added:
//!
//! ```text
//! add u32 %s %a %b
//! ext s32 %e %s 0x800             bytes only
//! set.ge pred s32 %p %b 0x1
//! set.lt pred s32 %q %e %a
//! sel u32 %h 0x7f %s %q
//! set.lt pred s32 %t %a %e        add u32 %s %a %b
//! sel u32 %l 0x80 %s %t           min s32 %m %s 0x7f
//! sel u32 %r %h %l %p         ->  max s32 %r %m 0xffffff80       of words: addsat s32 %r %a %b
//! ```
//!
//! Of bytes and halves in words, whose values fit their signs, the sum of the words is exact, so
//! its bounds are all there is to it. The upper bits differ below (0x80 becomes 0xffffff80), so
//! nobody may read them: that is followed from the end of the function through what keeps low bits
//! low. Of a difference, `%b` below zero is asked for instead. Where `%b` is a constant, one of the
//! two inner choices is all there is.
//!
//! Without signs:
//!
//! ```text
//! and u32 %e (add u32 %s %a %b) 0xff
//! set.lt pred u32 %q %e %a
//! sel u32 %r 0xff %s %q       ->  min u32 %r %s 0xff             %a and %b at most 0xff
//!
//! sub u32 %d %a %b
//! set.lt pred u32 %q %a %b        max u32 %m %a %b
//! sel u32 %r 0x0 %d %q        ->  sub u32 %r %m %b
//! ```

use crate::analysis::known_bits::KnownBits;
use crate::ir::*;
use crate::opt::Ctx;
use crate::opt::rewrite::{emit, is_scalar, rewrite_each, scalar_def_by};
use cranelift_entity::SecondaryMap;
use rustc_hash::FxHashMap;

pub(crate) fn run(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    let Some(mut finder) = Finder::new(f, ctx) else { return false };
    let mut found = 0;
    rewrite_each(f, |f, out, i| {
        let Some(new) = finder.visit(f, out, i) else { return false };
        f.replace(i, new);
        found += 1;
        true
    });
    ctx.count("saturate: recognised", found);
    found > 0
}

/// What saturates: `a + b` or `a - b` in so many bits with a sign.
#[derive(Clone, Copy)]
struct Sum {
    a: ValueId,
    b: Src,
    minus: bool,
    bits: u32,
}

/// One of the two inner choices: the limit where the sum is on the wrong side of `a`.
#[derive(Clone, Copy, PartialEq)]
struct Bound {
    sum: ValueId,
    a: ValueId,
    bits: u32,
    /// The greatest value is the limit, or the least.
    upper: bool,
}

struct Finder {
    /// How many of a value's low bits anybody reads.
    read: SecondaryMap<ValueId, u8>,
    known: KnownBits,
    /// What came out, and the bits that it fits into with its sign.
    done: FxHashMap<ValueId, u32>,
}

impl Finder {
    /// Nothing, if there is nothing to look at.
    fn new(f: &Function, ctx: &Ctx<'_>) -> Option<Finder> {
        let mut choices = Vec::new();
        for (_, i) in f.insts_in_order() {
            let inst = &f.insts[i];
            if inst.op == Op::Sel
                && inst.ty != Type::Pred
                && (limit(inst).is_some() || inst.srcs[2].as_val().is_some())
            {
                choices.push(i);
            }
        }
        // A sum that is compared with a limit or what it is of.
        let begins = |&i: &InstId| {
            let limited = [Type::S32, Type::U32].into_iter().find_map(|of| limited(f, &f.insts[i], of));
            limited.and_then(|l| operands(scalar_def_by(f, &l.3, &[Op::Add, Op::Sub])?)).is_some()
        };
        if !choices.iter().any(begins) {
            return None;
        }
        let mut known = KnownBits::new(f, &ctx.launch);
        // All is learnt before anything changes: what comparisons with a limit's sum read.
        for &i in &choices {
            let compared = scalar_def_by(f, &f.insts[i].srcs[2], &[Op::Set]);
            compared.into_iter().for_each(|d| known.learn_uses(f, d));
            if let Some((_, s)) = limit(&f.insts[i])
                && let Some(sum) = scalar_def_by(f, &s, &[Op::Add, Op::Sub])
            {
                known.learn_uses(f, sum);
            }
        }
        Some(Finder { read: low_bits(f), known, done: FxHashMap::default() })
    }

    /// What an instruction becomes.
    fn visit(&mut self, f: &mut Function, out: &mut Vec<InstId>, i: InstId) -> Option<Inst> {
        let inst = &f.insts[i];
        match inst.op {
            // It has its sign already.
            Op::Ext if inst.ty == Type::S32 && is_scalar(f, inst) => {
                let x = inst.srcs[0];
                let bits = self.done.get(&x.as_val().filter(|_| x.is_plain_val())?)?;
                (inst.srcs[1].as_imm()? == bits << 8).then(|| crate::opt::rewrite::as_mov(inst, x))
            }
            Op::Sel if inst.ty != Type::Pred && is_scalar(f, inst) => {
                let inst = inst.clone();
                self.signed(f, out, &inst).or_else(|| self.unsigned(f, out, &inst))
            }
            _ => None,
        }
    }

    fn signed(&mut self, f: &mut Function, out: &mut Vec<InstId>, inst: &Inst) -> Option<Inst> {
        let (sum, wanted): (Sum, &[bool]) = match bound(f, inst) {
            // One is enough for a constant of its sign.
            Some(x) => {
                let sum = self.sum(f, &x)?;
                let b = signed_constant(&sum)?;
                let up = (b > 0) != sum.minus;
                if b == 0 || up != x.upper {
                    return None;
                }
                (sum, if up { &[true] } else { &[false] })
            }
            None => (self.both(f, inst)?, &[true, false]),
        };
        let last = |op: Op, ty: Type, x: Src, y: Src| {
            let mut new = Inst::new(op, ty).src(x).src(y);
            (new.dsts, new.loc) = (inst.dsts, inst.loc);
            new
        };
        let a = Src::val(sum.a);
        if sum.bits == 32 {
            return Some(last(if sum.minus { Op::SubSat } else { Op::AddSat }, Type::S32, a, sum.b));
        }
        if u32::from(self.read[inst.dsts[0]]) > sum.bits {
            return None;
        }
        let op = if sum.minus { Op::Sub } else { Op::Add };
        let b = signed_constant(&sum).map_or(sum.b, |b| Src::imm(b as u32));
        let mut x = Inst::new(op, Type::U32).src(a).src(b);
        x.loc = inst.loc;
        let most = (1i32 << (sum.bits - 1)) - 1;
        let clamp = |upper: bool| if upper { (Op::Min, most) } else { (Op::Max, -most - 1) };
        for &upper in wanted {
            let value = Src::val(emit(f, out, x));
            let (op, limit) = clamp(upper);
            x = last(op, Type::S32, value, Src::imm(limit as u32));
            x.dsts = Inst::new(op, Type::S32).dsts;
        }
        x.dsts = inst.dsts;
        self.done.insert(inst.dsts[0], sum.bits);
        Some(x)
    }

    /// A choice between both bounds, by the sign of what is added.
    fn both(&self, f: &Function, inst: &Inst) -> Option<Sum> {
        let choice = |n: usize| bound(f, scalar_def_by(f, &inst.srcs[n], &[Op::Sel])?);
        let (x, y) = (choice(0)?, choice(1)?);
        if x.upper == y.upper || x != (Bound { upper: x.upper, ..y }) {
            return None;
        }
        let sum = self.sum(f, &x)?;
        let test = scalar_def_by(f, &inst.srcs[2], &[Op::Set]).filter(|t| plain_test(t, Type::S32))?;
        let k = test.srcs[1].as_imm()? as i32;
        // Whether the first is for what is not negative. Zero belongs to either.
        let positive = match (test.cond, k) {
            (Cond::Ge, 0 | 1) | (Cond::Gt, -1 | 0) => true,
            (Cond::Lt, 0 | 1) | (Cond::Le, -1 | 0) => false,
            _ => return None,
        };
        (test.srcs[0] == sum.b && (positive != sum.minus) == x.upper).then_some(sum)
    }

    /// What the sum of a bound is of, if it is exact in a word or as wide as one.
    fn sum(&self, f: &Function, x: &Bound) -> Option<Sum> {
        let def = scalar_def_by(f, &Src::val(x.sum), &[Op::Add, Op::Sub])?;
        let (p, q) = operands(def)?;
        let is_a = |s: &Src| s.is_plain_val() && s.as_val() == Some(x.a);
        let negated = |s: &Src| {
            let d = scalar_def_by(f, s, &[Op::Neg]).filter(|d| is_word(d) && s.is_plain_val())?;
            d.srcs[0].is_plain_val().then_some(d.srcs[0])
        };
        let mut all = Vec::new();
        if is_a(&p) {
            all.push((q, def.op == Op::Sub));
        }
        if is_a(&q) && def.op == Op::Add {
            all.push((p, false));
        }
        let minus: Vec<(Src, bool)> =
            all.iter().filter(|s| !s.1).filter_map(|s| Some((negated(&s.0)?, true))).collect();
        // A difference is asked about what it takes, so that comes first.
        let (b, minus) = *minus.first().or(all.first())?;
        let sum = Sum { a: x.a, b, minus, bits: x.bits };
        let fits = x.bits == 32 || self.fits(f, &Src::val(x.a), x.bits) && self.fits(f, &b, x.bits);
        (fits && (b.is_plain_val() || signed_constant(&sum).is_some())).then_some(sum)
    }

    /// Whether a value is one of so many bits with its sign.
    fn fits(&self, f: &Function, s: &Src, bits: u32) -> bool {
        if s.as_imm().is_some() {
            return true;
        }
        let Some(v) = s.as_val().filter(|_| s.is_plain_val()) else { return false };
        if self.known.of_src(s).max < 1 << (bits - 1) || self.done.get(&v).is_some_and(|&n| n <= bits) {
            return true;
        }
        let Some(d) = f.def_inst(v).filter(|d| d.guard.is_none()) else { return false };
        match d.op {
            Op::Ld => d.ty == Type::S8 || d.ty == Type::S16 && bits == 16,
            Op::Ext => d.ty == Type::S32 && d.srcs[1].as_imm().is_some_and(|k| k >> 8 <= bits && k >> 8 > 0),
            _ => false,
        }
    }

    fn unsigned(&mut self, f: &mut Function, out: &mut Vec<InstId>, inst: &Inst) -> Option<Inst> {
        let (x, lesser, greater, other) = limited(f, inst, Type::U32)?;
        let s = other.as_val().filter(|_| other.is_plain_val())?;
        let def = scalar_def_by(f, &other, &[Op::Add, Op::Sub])?;
        let (p, q) = operands(def)?;
        let mut new = Inst::new(Op::Min, Type::U32);
        (new.dsts, new.loc) = (inst.dsts, inst.loc);
        if x == 0 {
            // a - b, or 0 where a < b.
            let b = if def.op == Op::Sub {
                q
            } else {
                let d = scalar_def_by(f, &q, &[Op::Neg]).filter(|d| is_word(d) && q.is_plain_val())?;
                d.srcs[0]
            };
            let same = p == lesser && b == greater && p.is_plain_val() && b.is_plain_val();
            if !same {
                return None;
            }
            let mut most = Inst::new(Op::Max, Type::U32).src(p).src(b);
            most.loc = inst.loc;
            let most = Src::val(emit(f, out, most));
            new.op = Op::Sub;
            return Some(new.src(most).src(b));
        }
        if x != 0xff && x != 0xffff || def.op != Op::Add {
            return None;
        }
        // The sum's low bits below one of what it is of.
        let cut = scalar_def_by(f, &lesser, &[Op::And]).filter(|d| is_word(d))?;
        let low =
            cut.srcs[0].is_plain_val() && cut.srcs[0].as_val() == Some(s) && cut.srcs[1].as_imm() == Some(x);
        let small = [p, q].iter().all(|s| match s.as_imm() {
            Some(k) => k <= x,
            None => s.is_plain_val() && self.known.of_src(s).max <= x,
        });
        (low && lesser.is_plain_val() && small && (greater == p || greater == q))
            .then(|| new.src(other).src(Src::imm(x)))
    }
}

/// The two operands of a sum or difference without more to it.
fn operands(def: &Inst) -> Option<(Src, Src)> {
    (is_word(def) && def.srcs.len() == 2).then(|| (def.srcs[0], def.srcs[1]))
}

fn is_word(inst: &Inst) -> bool {
    matches!(inst.ty, Type::U32 | Type::S32) && !inst.sat
}

fn plain_test(t: &Inst, of: Type) -> bool {
    t.ty == Type::Pred && t.sty == of && t.srcs.len() == 2
}

/// The constant among the two that a choice is between, and the other one.
fn limit(inst: &Inst) -> Option<(u32, Src)> {
    let [x, y] = [inst.srcs[0], inst.srcs[1]];
    x.as_imm().map(|k| (k, y)).or_else(|| y.as_imm().map(|k| (k, x)))
}

fn is_limit(x: u32) -> bool {
    matches!(
        x,
        0 | 0x7f
            | 0x80
            | 0xff
            | 0xffff_ff80
            | 0x7fff
            | 0x8000
            | 0xffff
            | 0xffff_8000
            | 0x7fff_ffff
            | 0x8000_0000
    )
}

/// A choice of a constant where one operand is less than another one: the constant, the two, and
/// what is chosen otherwise.
fn limited(f: &Function, inst: &Inst, of: Type) -> Option<(u32, Src, Src, Src)> {
    let (x, other) = limit(inst).filter(|l| is_limit(l.0))?;
    let test = scalar_def_by(f, &inst.srcs[2], &[Op::Set]).filter(|t| plain_test(t, of))?;
    if !inst.srcs[2].is_plain_val() {
        return None;
    }
    let [p, q] = [test.srcs[0], test.srcs[1]];
    let first = inst.srcs[0].as_imm().is_some();
    let (lesser, greater) = match (test.cond, first) {
        (Cond::Lt, true) | (Cond::Ge, false) => (p, q),
        (Cond::Gt, true) | (Cond::Le, false) => (q, p),
        _ => return None,
    };
    Some((x, lesser, greater, other))
}

/// An inner choice of a sum with signs.
fn bound(f: &Function, inst: &Inst) -> Option<Bound> {
    if !is_scalar(f, inst) || inst.ty == Type::Pred {
        return None;
    }
    let (x, lesser, greater, other) = limited(f, inst, Type::S32)?;
    let sum = other.as_val().filter(|_| other.is_plain_val())?;
    let (bits, upper) = match x {
        0x7f => (8, true),
        0x80 | 0xffff_ff80 => (8, false),
        0x7fff => (16, true),
        0x8000 | 0xffff_8000 => (16, false),
        0x7fff_ffff => (32, true),
        0x8000_0000 => (32, false),
        _ => return None,
    };
    // The sum is less than what it began with, or the other way round.
    let (cut, a) = if upper { (lesser, greater) } else { (greater, lesser) };
    let whole = if bits == 32 {
        cut.as_val() == Some(sum)
    } else {
        let d = scalar_def_by(f, &cut, &[Op::Ext]).filter(|d| d.ty == Type::S32)?;
        d.srcs[1].as_imm() == Some(bits << 8) && d.srcs[0].is_plain_val() && d.srcs[0].as_val() == Some(sum)
    };
    let a = a.as_val().filter(|_| whole && cut.is_plain_val() && a.is_plain_val())?;
    Some(Bound { sum, a, bits, upper })
}

/// What is added or taken, if it is a constant.
fn signed_constant(sum: &Sum) -> Option<i32> {
    let free = 32 - sum.bits;
    Some((sum.b.as_imm()? << free) as i32 >> free)
}

/// How many low bits of each value are read, at most: from the last reader to the first definition.
/// What goes into other blocks' parameters counts as read as a whole.
fn low_bits(f: &Function) -> SecondaryMap<ValueId, u8> {
    let mut read: SecondaryMap<ValueId, u8> = SecondaryMap::with_capacity(f.values.len());
    read.resize(f.values.len());
    for &b in f.layout.iter().rev() {
        f.blocks[b].term.for_uses(|v| read[v] = 32);
        for &i in f.blocks[b].body.iter().rev() {
            let inst = &f.insts[i];
            let all = inst.dsts.first().map_or(0, |&d| read[d]);
            let imm = |n: usize| inst.srcs.get(n).and_then(Src::as_imm);
            let word = is_scalar(f, inst) && is_word(inst);
            let bits = match inst.op {
                Op::Add | Op::Sub | Op::Mul | Op::Mad | Op::Xor | Op::Or | Op::Not | Op::Neg | Op::Mov
                    if word =>
                {
                    Some(all)
                }
                Op::And if word => Some(imm(1).map_or(all, |m| all.min((32 - m.leading_zeros()) as u8))),
                Op::Sel if word => Some(all),
                Op::Shl if word => imm(1).filter(|&k| k < 32).map(|k| all.saturating_sub(k as u8)),
                Op::Ext if word => imm(1).map(|k| ((k & 0xff) + (k >> 8 & 0xff)).min(32) as u8),
                Op::St if matches!(inst.ty, Type::U8 | Type::S8) => Some(8),
                Op::St if matches!(inst.ty, Type::U16 | Type::S16) => Some(16),
                _ => None,
            };
            // Conditions, amounts and addresses are read as a whole, and so is what nothing is
            // known about.
            let data = match inst.op {
                Op::Sel | Op::And | Op::Add | Op::Sub | Op::Mul | Op::Xor | Op::Or => 2,
                Op::Mad => 3,
                _ => 1,
            };
            let mut low = [None; 3];
            if let Some(bits) = bits {
                for (n, s) in inst.srcs.iter().take(data).enumerate() {
                    // An absolute value depends on the sign.
                    if let Some(v) = s.as_val().filter(|_| !s.mods.abs) {
                        low[n] = Some((v, bits, read[v]));
                    }
                }
            }
            inst.for_uses(|v| read[v] = 32);
            // The same value may stand in another place as well.
            for (n, &(v, bits, before)) in low.iter().enumerate().filter_map(|(n, l)| Some((n, l.as_ref()?)))
            {
                let mut places = 0;
                inst.for_uses(|u| places += u32::from(u == v));
                let mine = low.iter().flatten().filter(|l| l.0 == v).count() as u32;
                let first = low[..n].iter().flatten().all(|l| l.0 != v);
                if first && places == mine {
                    read[v] = before.max(bits);
                }
            }
        }
    }
    read
}
