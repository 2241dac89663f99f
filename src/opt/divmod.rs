//! Division and remainder by constants, as multiplications and shifts.
//!
//! ```text
//! div u32 %r1 %r0 0xa         ->  mulhi u32 %r2 %r0 0xcccccccd
//!                                 shr u32 %r1 %r2 0x3
//! mod u32 %r3 %r0 0x8         ->  and u32 %r3 %r0 0x7
//! ```
//!
//! Unsigned: `x / d == (x * m) >> (32 + s)` for all x up to `max` exactly if
//! `m = ceil(2^(32+s) / d)` and `max * (m * d - 2^(32+s)) < 2^(32+s)` (Granlund and Montgomery
//! 1994). The least `s` is taken; where no 32-bit `m` does for the values that the dividend can
//! have, the 33-bit multiplier is split off as an addition that cannot overflow. Signed division
//! rounds towards zero: the high product, corrected by the sign.
//!
//! Quantities of 64 bits that are not signed divide the same way, with multipliers of 64 bits.
//!
//! The remainder is `x - (x / d) * d`. A dividend known not to be negative divides as unsigned.
//! Division by zero is left as it is.

use super::Ctx;
use super::rewrite::{emit, gather, is_scalar, rewrite_each};
use crate::analysis::known_bits::KnownBits;
use crate::ir::*;
use rustc_hash::FxHashSet;

pub(super) fn run(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    let wide = gather(f, |inst| wide_divisor(inst).is_some());
    let divided = divide_wide(f, &wide);
    ctx.count("divmod: replaced, of 64 bits", wide.len());
    divide_words(f, ctx) | divided
}

/// The same for quantities of 64 bits.
fn divide_wide(f: &mut Function, wide: &[InstId]) -> bool {
    if wide.is_empty() {
        return false;
    }
    rewrite_each(f, |f, out, i| {
        let Some(d) = wide_divisor(&f.insts[i]) else { return false };
        let inst = f.insts[i].clone();
        let last = Sequence { f, out, loc: inst.loc }.divide64(&inst, d);
        f.replace(i, last);
        true
    })
}

/// The number that a division or remainder of 64 bits without a sign is by, if it is a constant.
fn wide_divisor(inst: &Inst) -> Option<u64> {
    let ok = matches!(inst.op, Op::Div | Op::Mod) && inst.ty == Type::U64 && inst.guard.is_none();
    let x = inst.srcs.first().filter(|s| ok && s.mods == SrcMods::default())?;
    let d = inst.srcs[1].as_imm64().filter(|&d| d != 0)?;
    matches!(x.kind, SrcKind::Pair(_)).then_some(d)
}

fn divide_words(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    let divisions = gather(f, |inst| divisor(f, inst).is_some());
    if divisions.is_empty() {
        return false;
    }
    // All is learnt before anything changes.
    let mut known = KnownBits::new(f, &ctx.launch);
    divisions.iter().for_each(|&i| known.learn_uses(f, &f.insts[i]));
    // What is divided and has a remainder as well: the quotient is there anyway.
    let divided: FxHashSet<(Src, u32)> = divisions
        .iter()
        .filter(|&&i| f.insts[i].op == Op::Div && f.insts[i].ty == Type::S32)
        .filter_map(|&i| Some((f.insts[i].srcs[0], divisor(f, &f.insts[i])?)))
        .collect();
    let mut replaced = 0;
    rewrite_each(f, |f, out, i| {
        let Some(d) = divisor(f, &f.insts[i]) else { return false };
        let inst = f.insts[i].clone();
        let max = known.of_src(&inst.srcs[0]).max;
        let with_quotient = divided.contains(&(inst.srcs[0], d));
        let last = Sequence { f, out, loc: inst.loc }.divide(&inst, d, max, with_quotient);
        f.replace(i, last);
        replaced += 1;
        true
    });
    ctx.count("divmod: replaced", replaced);
    replaced > 0
}

/// The number that an integer division or remainder is by, if it is a constant.
fn divisor(f: &Function, inst: &Inst) -> Option<u32> {
    let int = || matches!(inst.ty, Type::U32 | Type::S32);
    if !matches!(inst.op, Op::Div | Op::Mod) || !int() || !is_scalar(f, inst) {
        return None;
    }
    inst.srcs[1].as_imm().filter(|&d| d != 0)
}

/// Where the instructions of one division go.
struct Sequence<'a> {
    f: &'a mut Function,
    out: &'a mut Vec<InstId>,
    loc: Loc,
}

impl Sequence<'_> {
    fn op(&mut self, op: Op, ty: Type, srcs: &[Src]) -> Src {
        let mut inst = Inst::new(op, ty);
        inst.loc = self.loc;
        inst.srcs.extend(srcs.iter().copied());
        Src::val(emit(self.f, self.out, inst))
    }

    /// Everything but the last instruction, which takes the place of the division and is returned.
    fn divide(&mut self, inst: &Inst, d: u32, max: u32, with_quotient: bool) -> Inst {
        let x = inst.srcs[0];
        let signed = inst.ty == Type::S32 && (max > i32::MAX as u32 || d > i32::MAX as u32);
        let mut last = Inst::new(Op::Mov, Type::U32);
        last.dsts = inst.dsts;
        last.loc = inst.loc;
        let finish = |mut last: Inst, op: Op, ty: Type, srcs: &[Src]| {
            (last.op, last.ty, last.sty) = (op, ty, ty);
            last.srcs.extend(srcs.iter().copied());
            last
        };
        if inst.op == Op::Mod && !signed && d.is_power_of_two() {
            return finish(last, Op::And, Type::U32, &[x, Src::imm(d - 1)]);
        }
        let (sd, magnitude) = (d as i32, (d as i32).unsigned_abs());
        let power = signed && magnitude.is_power_of_two() && magnitude > 1;
        if inst.op == Op::Mod && power && !with_quotient {
            // The sign of the divisor does not matter.
            let sum = self.biased(x, magnitude.trailing_zeros());
            let whole = self.op(Op::And, Type::U32, &[sum, Src::imm(magnitude.wrapping_neg())]);
            return finish(last, Op::Sub, Type::U32, &[x, whole]);
        }
        let q = if signed { self.signed(x, sd) } else { self.unsigned(x, d, max) };
        if inst.op == Op::Div {
            return finish(last, Op::Mov, Type::U32, &[q]);
        }
        let m = self.op(Op::Mul, Type::U32, &[q, Src::imm(d.wrapping_neg())]);
        finish(last, Op::Add, Type::U32, &[m, x])
    }

    fn op64(&mut self, op: Op, srcs: &[Src]) -> Src {
        let mut inst = Inst::new(op, Type::U64);
        inst.loc = self.loc;
        inst.srcs.extend(srcs.iter().copied());
        let pair = [0, 1].map(|_| self.f.new_value(Class::Gpr));
        inst.dsts.extend(pair);
        let id = self.f.make(inst);
        self.out.push(id);
        Src { kind: SrcKind::Pair(pair), mods: SrcMods::default() }
    }

    /// Everything but the last instruction of a division of 64 bits.
    fn divide64(&mut self, inst: &Inst, d: u64) -> Inst {
        let x = inst.srcs[0];
        let mut last = Inst::new(Op::Mov, Type::U64);
        (last.dsts, last.loc) = (inst.dsts, inst.loc);
        let finish = |mut last: Inst, op: Op, srcs: &[Src]| {
            last.op = op;
            last.srcs.extend(srcs.iter().copied());
            last
        };
        if inst.op == Op::Mod && d.is_power_of_two() {
            return finish(last, Op::And, &[x, Src::imm64(d - 1)]);
        }
        let q = self.unsigned64(x, d);
        if inst.op == Op::Div {
            return finish(last, Op::Mov, &[q]);
        }
        let m = self.op64(Op::Mul, &[q, Src::imm64(d)]);
        finish(last, Op::Sub, &[x, m])
    }

    fn unsigned64(&mut self, x: Src, d: u64) -> Src {
        let shr =
            |seq: &mut Self, x: Src, n: u32| if n == 0 { x } else { seq.op64(Op::Shr, &[x, Src::imm(n)]) };
        if d.is_power_of_two() {
            return shr(self, x, d.trailing_zeros());
        }
        let even = d.trailing_zeros();
        // An even divisor: a dividend that is halved first has fewer bits.
        for (half, bits) in [(0, 64), (even, 64 - even)] {
            let exact = |s: u32| {
                let power = 1u128 << (64 + s);
                let m = power.div_ceil((d >> half).into());
                let error = m * u128::from(d >> half) - power;
                // error * 2^bits <= 2^(64 + s)
                (m < 1 << 64 && error <= 1 << (64 + s - bits)).then_some(m as u64)
            };
            if let Some((s, m)) = (0..64 - (d >> half).leading_zeros()).find_map(|s| Some((s, exact(s)?))) {
                let x = shr(self, x, half);
                let high = self.op64(Op::MulHi, &[x, Src::imm64(m)]);
                return shr(self, high, s);
            }
        }
        // A multiplier of 65 bits, as for words.
        let s = 64 - d.leading_zeros();
        // The divisor is odd here. 2^(64 + s) may not fit; its half does.
        let d = u128::from(d);
        let power = 1u128 << (63 + s);
        let m = (2 * (power / d) + 2 * (power % d) / d + 1) as u64;
        let high = self.op64(Op::MulHi, &[x, Src::imm64(m)]);
        let rest = self.op64(Op::Sub, &[x, high]);
        let half = self.op64(Op::Shr, &[rest, Src::imm(1)]);
        let mean = self.op64(Op::Add, &[half, high]);
        shr(self, mean, s - 1)
    }

    fn unsigned(&mut self, x: Src, d: u32, max: u32) -> Src {
        let shr = |seq: &mut Self, x: Src, n: u32| {
            if n == 0 { x } else { seq.op(Op::Shr, Type::U32, &[x, Src::imm(n)]) }
        };
        if d == 1 {
            return x;
        }
        if d > max {
            return Src::imm(0);
        }
        if d.is_power_of_two() {
            return shr(self, x, d.trailing_zeros());
        }
        for s in 0..32 {
            let power = 1u128 << (32 + s);
            let m = power.div_ceil(d.into());
            if m > u32::MAX.into() {
                break;
            }
            if u128::from(max) * (m * u128::from(d) - power) < power {
                let high = self.op(Op::MulHi, Type::U32, &[x, Src::imm(m as u32)]);
                return shr(self, high, s);
            }
        }
        // An even divisor: halve both first, and one bit less is enough.
        let even = d.trailing_zeros();
        if even > 0 {
            let half = self.op(Op::Shr, Type::U32, &[x, Src::imm(even)]);
            return self.unsigned(half, d >> even, max >> even);
        }
        // A multiplier that is rounded down takes the dividend plus one. The largest dividend stays
        // as it is: it has the quotient of the one before it, unless d divides it.
        let s = 31 - d.leading_zeros();
        let power = 1u64 << (32 + s);
        let (m, left) = (power / u64::from(d), power % u64::from(d));
        if left <= 1 << s && (max < u32::MAX || u32::MAX % d != 0) {
            let most = |seq: &mut Self| seq.op(Op::Min, Type::U32, &[x, Src::imm(u32::MAX - 1)]);
            let below = if max < u32::MAX { x } else { most(self) };
            let next = self.op(Op::Add, Type::U32, &[below, Src::imm(1)]);
            let high = self.op(Op::MulHi, Type::U32, &[next, Src::imm(m as u32)]);
            return shr(self, high, s);
        }
        // m = 2^32 + m': x * m >> 32 is x + high(x * m'), one bit too wide; their mean is not.
        let s = 32 - d.leading_zeros();
        let m = ((1u128 << (32 + s)).div_ceil(d.into()) - (1 << 32)) as u32;
        let high = self.op(Op::MulHi, Type::U32, &[x, Src::imm(m)]);
        let rest = self.op(Op::Sub, Type::U32, &[x, high]);
        let half = self.op(Op::Shr, Type::U32, &[rest, Src::imm(1)]);
        let mean = self.op(Op::Add, Type::U32, &[half, high]);
        shr(self, mean, s - 1)
    }

    fn signed(&mut self, x: Src, d: i32) -> Src {
        let ad = d.unsigned_abs();
        let negate = |seq: &mut Self, q: Src| if d < 0 { seq.op(Op::Neg, Type::S32, &[q]) } else { q };
        if ad == 1 {
            return negate(self, x);
        }
        if ad.is_power_of_two() {
            let k = ad.trailing_zeros();
            let sum = self.biased(x, k);
            let q = self.op(Op::Shr, Type::S32, &[sum, Src::imm(k)]);
            return negate(self, q);
        }
        // The least s for which ceil(2^(32+s) / d) is exact enough for |x| <= 2^31 (Hacker's
        // Delight, 10-1).
        let exact = |n: u32| {
            let power = 1u128 << (32 + n);
            let m = power / u128::from(ad) + 1;
            let error = (m * u128::from(ad) - power) << 31;
            (error <= power).then_some((n, m as u32, error == power))
        };
        let Some((s, m, just)) = (0..31).find_map(exact) else { return x };
        if d < 0 && just {
            // It is not enough for 2^31, which is among the dividends.
            let q = self.signed(x, -d);
            return negate(self, q);
        }
        // x / -d is -x / d: the product with -m. A multiplier of 32 bits was read with the other
        // sign: 2^32 * x is missing, or too much.
        let factor = Src::imm(if d < 0 { m.wrapping_neg() } else { m });
        let mut high = match (m > i32::MAX as u32, d < 0) {
            (false, _) => self.op(Op::MulHi, Type::S32, &[x, factor]),
            (true, negative) => {
                let mods = SrcMods { neg: negative, ..x.mods };
                self.op(Op::MadHi, Type::S32, &[x, factor, Src { mods, ..x }])
            }
        };
        // Floor to truncation: one more for a negative quotient, which begins as a negative
        // product.
        let sign = self.op(Op::Shr, Type::U32, &[if d < 0 { high } else { x }, Src::imm(31)]);
        if s > 0 {
            high = self.op(Op::Shr, Type::S32, &[high, Src::imm(s)]);
        }
        self.op(Op::Add, Type::U32, &[high, sign])
    }

    /// A dividend to which 2^k - 1 is added if it is negative: shifted by k it is rounded towards
    /// zero.
    fn biased(&mut self, x: Src, k: u32) -> Src {
        if k == 1 {
            let one = self.op(Op::Shr, Type::U32, &[x, Src::imm(31)]);
            return self.op(Op::Add, Type::U32, &[x, one]);
        }
        let sign = self.op(Op::Shr, Type::S32, &[x, Src::imm(31)]);
        if k <= SHORT {
            // The upper half of the sign times 2^k is the bias.
            return self.op(Op::MadHi, Type::U32, &[sign, Src::imm(1 << k), x]);
        }
        let bias = self.op(Op::Shr, Type::U32, &[sign, Src::imm(32 - k)]);
        self.op(Op::Add, Type::U32, &[x, bias])
    }
}

/// Powers of two up to this are factors that an instruction has room for.
const SHORT: u32 = 18;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chip;
    use crate::opt::{Session, Stage, fold};
    use crate::options::Options;
    use rustc_hash::FxHashMap;

    /// What the sequence for `x op d` computes for a dividend.
    fn run_on(op: Op, ty: Type, x: u32, d: u32) -> u32 {
        let mut f = Function::new("k");
        let b = f.new_block();
        let input = f.new_value(Class::Gpr);
        f.append(b, Inst::new(Op::Rdsv, Type::U32).with_aux(Aux::Sv(Sv::Gridid)).dst(input));
        let result = f.new_value(Class::Gpr);
        f.append(b, Inst::new(op, ty).dst(result).src(input).src(d));
        f.blocks[b].term = Term::Exit;
        let mut p = Program::new(f);
        let options = Options::default();
        let pass = crate::opt::find("divmod").expect("it exists");
        Session::new().run_pass(pass, Stage::Front, &mut p, Chip::Gk110, &options).expect("valid");
        let f = &p.funcs[p.entry];
        let mut value: FxHashMap<ValueId, u32> = FxHashMap::default();
        for (_, i) in f.insts_in_order() {
            let mut inst = f.insts[i].clone();
            assert!(!matches!(inst.op, Op::Div | Op::Mod), "it is replaced");
            if inst.op == Op::Rdsv {
                value.insert(input, x);
                continue;
            }
            for s in &mut inst.srcs {
                if let Some(v) = s.as_val() {
                    s.kind = SrcKind::Imm(value[&v]);
                }
            }
            value.insert(inst.dsts[0], fold::eval(&inst).expect("integer operations"));
        }
        value[&result]
    }

    fn all_are_exact(x: u32, d: u32) {
        assert_eq!(run_on(Op::Div, Type::U32, x, d), x / d, "{x} / {d}");
        assert_eq!(run_on(Op::Mod, Type::U32, x, d), x % d, "{x} % {d}");
        let (sx, sd) = (x as i32, d as i32);
        assert_eq!(run_on(Op::Div, Type::S32, x, d) as i32, sx.wrapping_div(sd), "{sx} / {sd}");
        assert_eq!(run_on(Op::Mod, Type::S32, x, d) as i32, sx.wrapping_rem(sd), "{sx} % {sd}");
    }

    #[test]
    fn random_divisors_of_any_length_are_exact_around_their_multiples() {
        let mut random = crate::random::Random::new(0);
        let mut next = || random.word() as u32;
        for _ in 0..400 {
            let d = (next() >> (next() % 32)).max(1);
            let d = if next() % 4 == 0 { d.wrapping_neg() } else { d };
            let multiple = (next() / d).wrapping_mul(d);
            let last = (u32::MAX / d).wrapping_mul(d);
            for x in [next(), multiple, multiple.wrapping_sub(1), last, last.wrapping_sub(1), u32::MAX] {
                all_are_exact(x, d);
            }
            let halves = (i32::MIN as i64 / i64::from(d as i32) * i64::from(d as i32)) as u32;
            for x in [halves, halves.wrapping_add(1), halves.wrapping_sub(1), i32::MIN as u32] {
                all_are_exact(x, d);
            }
        }
    }

    #[test]
    fn quotients_and_remainders_by_constants_are_exact() {
        let edges = [
            0,
            1,
            2,
            6,
            7,
            9,
            10,
            99,
            100,
            0x7ffffffe,
            0x7fffffff,
            0x80000000,
            0x80000001,
            0xfffffffe,
            u32::MAX,
        ];
        let divisors = [
            1,
            2,
            3,
            5,
            6,
            7,
            9,
            10,
            12,
            14,
            25,
            28,
            60,
            64,
            100,
            115,
            125,
            641,
            1000,
            0x10000,
            0x10001,
            19,
            95,
            255,
            257,
            0x40000,
            0x80000,
            0x4000_0000,
            0x7fffffff,
            0x80000000,
            0x80000001,
            0xaaaa_aaab,
            0xc000_0001,
            -3i32 as u32,
            -5i32 as u32,
            -10i32 as u32,
            -25i32 as u32,
            -641i32 as u32,
            -0x40000i32 as u32,
            0xfffffff0,
            0xfffffff9,
            0xfffffffe,
            u32::MAX,
        ];
        for d in divisors {
            let near = [d, d.wrapping_sub(1), d.wrapping_mul(2), d.wrapping_mul(3).wrapping_sub(1)];
            for x in edges.into_iter().chain(near) {
                all_are_exact(x, d);
            }
        }
    }
}
