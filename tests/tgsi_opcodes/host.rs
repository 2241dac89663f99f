//! What each arithmetic opcode computes, in the host's arithmetic, as the documentation of TGSI defines it.

use half::f16;
use nvir::front::tgsi::ast::Opcode;

/// What a result must be.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Want {
    /// These bits.
    Bits(u64),
    /// This float of 32 bits, NaN for NaN, either zero for zero.
    Float(f32),
    Double(f64),
    /// Near this value: so many units in the last place of it, or this far.
    Near(f64, f64, f64),
    NearDouble(f64),
    /// The documentation leaves it open.
    Open,
}

impl Want {
    pub fn accepts(self, got: u64) -> bool {
        match self {
            Want::Bits(b) => b == got,
            Want::Float(x) => same(f64::from(x), f64::from(f32::from_bits(got as u32))),
            Want::Double(x) => same(x, f64::from_bits(got)),
            Want::Near(x, ulps, abs) => {
                let got = f64::from(f32::from_bits(got as u32));
                let unit = f64::from(f32::EPSILON) * x.abs().max(f64::from(f32::MIN_POSITIVE));
                let overflow = x.abs() > f64::from(f32::MAX) * (1.0 - f64::from(f32::EPSILON) * ulps);
                same(x, got) || (x - got).abs() <= unit * ulps + abs || overflow && got.abs() >= 3.4e38
            }
            Want::NearDouble(x) => {
                let got = f64::from_bits(got);
                same(x, got) || (x - got).abs() <= 2.0 * f64::EPSILON * x.abs()
            }
            Want::Open => true,
        }
    }
}

fn same(a: f64, b: f64) -> bool {
    a == b || a.is_nan() && b.is_nan()
}

fn truth(yes: bool) -> Want {
    Want::Bits(if yes { u32::MAX.into() } else { 0 })
}

fn one(yes: bool) -> Want {
    Want::Float(if yes { 1.0 } else { 0.0 })
}

fn word(x: u32) -> Want {
    Want::Bits(x.into())
}

fn int(x: i32) -> Want {
    word(x as u32)
}

/// The result of a function unit: good to a few units where operand and result are normal numbers.
fn unit(x: f32, ulps: f64, f: impl Fn(f64) -> f64) -> Want {
    let y = f(f64::from(x));
    let tiny = |v: f64| v != 0.0 && v.abs() < f64::from(f32::MIN_POSITIVE) * 4.0;
    if tiny(x.into()) || tiny(y) { Want::Open } else { Want::Near(y, ulps, 0.0) }
}

/// A power: its error grows with the exponent of the result.
fn power(x: f32, y: f32) -> Want {
    let (x, y) = (f64::from(x), f64::from(y));
    let log = x.log2() * y;
    if y == 0.0 {
        return Want::Float(1.0);
    }
    if !(x > 0.0 && log.abs() < 120.0) || x < 1e-30 {
        return Want::Open;
    }
    let r = x.powf(y);
    Want::Near(r, 16.0, r * 1e-6 * (1.0 + log.abs() + y.abs()))
}

/// Opcodes whose components do not mix; operands as bits with their modifiers carried out.
pub fn component(op: Opcode, s: [u64; 4]) -> Option<Want> {
    use Opcode::*;
    let [a, b, c, d] = s.map(|v| v as u32);
    let [ia, ib] = [a, b].map(|v| v as i32);
    let [x, y, z, _] = [a, b, c, d].map(f32::from_bits);
    let [la, lb, _, _] = s;
    let [sa, sb, _, _] = s.map(|v| v as i64);
    let [p, q, r, _] = s.map(f64::from_bits);
    Some(match op {
        MOV | UARL => word(a),
        ARL if x.abs() < 2e9 => int(x.floor() as i32),
        ARR if x.abs() < 2e9 => int(x.round_ties_even() as i32),
        F2I if x.abs() < 2e9 => int(x as i32),
        F2U if (0.0..4e9).contains(&x) => word(x as u32),
        F2I64 if x.abs() < 9e18 => Want::Bits(x as i64 as u64),
        F2U64 if (0.0..1.8e19).contains(&x) => Want::Bits(x as u64),
        D2I if p.abs() < 2147483647.0 => int(p as i32),
        D2U if (0.0..4294967295.0).contains(&p) => word(p as u32),
        D2I64 if p.abs() < 9e18 => Want::Bits(p as i64 as u64),
        D2U64 if (0.0..1.8e19).contains(&p) => Want::Bits(p as u64),
        // As on the machine: PTX ISA, cvt.
        F2I | F2U if x.is_nan() => word(0),
        D2I | D2U if p.is_nan() => word(1 << 31),
        F2I64 | F2U64 if x.is_nan() => Want::Bits(1 << 63),
        D2I64 | D2U64 if p.is_nan() => Want::Bits(1 << 63),
        ARL | ARR | F2I | F2U | F2I64 | F2U64 | D2I | D2U | D2I64 | D2U64 => Want::Open,
        CMP => word(if x < 0.0 { b } else { c }),
        UCMP => word(if a != 0 { b } else { c }),
        ADD => Want::Float(x + y),
        SUB => Want::Float(x - y),
        MUL => Want::Float(x * y),
        DIV => {
            // As GLSL has it: for divisors from 2^-126 to 2^126.
            if (2f32.powi(-126)..=2f32.powi(126)).contains(&y.abs()) {
                unit(x, 3.0, |x| x / f64::from(y))
            } else {
                Want::Open
            }
        }
        MAD | FMA => Want::Float(x.mul_add(y, z)),
        LRP => {
            let r = f64::from(x).mul_add(f64::from(y) - f64::from(z), z.into());
            let size = f64::from(x.abs()) * (f64::from(y.abs()) + f64::from(z.abs())) + f64::from(z.abs());
            if size < 1e38 && y.abs() < 1e38 && z.abs() < 1e38 {
                Want::Near(r, 2.0, size * 2e-7)
            } else {
                Want::Open
            }
        }
        MIN => Want::Float(x.min(y)),
        MAX => Want::Float(x.max(y)),
        ABS => Want::Float(x.abs()),
        SSG => Want::Float(f32::from(u8::from(x > 0.0)) - f32::from(u8::from(x < 0.0))),
        FRC => Want::Float(x - x.floor()),
        FLR => Want::Float(x.floor()),
        CEIL => Want::Float(x.ceil()),
        ROUND => Want::Float(x.round_ties_even()),
        TRUNC => Want::Float(x.trunc()),
        CLAMP => Want::Float(x.max(y).min(z)),
        LDEXP => Want::Float((f64::from(x) * 2f64.powi(ib.clamp(-400, 400))) as f32),
        SLT => one(x < y),
        SGE => one(x >= y),
        SEQ => one(x == y),
        SNE => one(x != y),
        SGT => one(x > y),
        SLE => one(x <= y),
        FSLT => truth(x < y),
        FSGE => truth(x >= y),
        FSEQ => truth(x == y),
        FSNE => truth(x != y),
        RCP => unit(x, 2.0, |x| 1.0 / x),
        RSQ => unit(x, 4.0, |x| 1.0 / x.sqrt()),
        SQRT => unit(x, 4.0, f64::sqrt),
        EX2 if x.abs() < 126.0 => Want::Near(f64::from(x).exp2(), 4.0, 0.0),
        EX2 => unit(x, 4.0, f64::exp2),
        LG2 if x > 1e-30 => Want::Near(f64::from(x).log2(), 4.0, 3e-7),
        LG2 => Want::Open,
        POW => power(x, y),
        SIN if x.abs() < 100.0 => Want::Near(f64::from(x).sin(), 0.0, 2e-5),
        COS if x.abs() < 100.0 => Want::Near(f64::from(x).cos(), 0.0, 2e-5),
        SIN | COS => Want::Open,
        UADD => word(a.wrapping_add(b)),
        UMUL => word(a.wrapping_mul(b)),
        UMAD => word(a.wrapping_mul(b).wrapping_add(c)),
        UDIV => word(a.checked_div(b).unwrap_or(u32::MAX)),
        UMOD => word(a.checked_rem(b).unwrap_or(u32::MAX)),
        IDIV | MOD if b == 0 => Want::Open,
        IDIV => int(ia.wrapping_div(ib)),
        MOD => int(ia.wrapping_rem(ib)),
        IMUL_HI => word(((i64::from(ia) * i64::from(ib)) >> 32) as u32),
        UMUL_HI => word(((u64::from(a) * u64::from(b)) >> 32) as u32),
        UMAX => word(a.max(b)),
        UMIN => word(a.min(b)),
        IMAX => int(ia.max(ib)),
        IMIN => int(ia.min(ib)),
        INEG => int(ia.wrapping_neg()),
        IABS => int(ia.wrapping_abs()),
        ISSG => int(ia.signum()),
        USEQ => truth(a == b),
        USNE => truth(a != b),
        USLT => truth(a < b),
        USGE => truth(a >= b),
        ISLT => truth(ia < ib),
        ISGE => truth(ia >= ib),
        NOT => word(!a),
        AND => word(a & b),
        OR => word(a | b),
        XOR => word(a ^ b),
        SHL => word(a.wrapping_shl(b)),
        USHR => word(a.wrapping_shr(b)),
        ISHR => int(ia.wrapping_shr(b)),
        IBFE | UBFE if b > 255 || c > 255 => Want::Open,
        IBFE | UBFE if c == 0 => word(0),
        // What lies beyond bit 31 is the sign or zero.
        UBFE => word((u64::from(a).checked_shr(b).unwrap_or(0) & ((1u64 << c.min(32)) - 1)) as u32),
        IBFE => {
            let field = i64::from(ia) >> b.min(63);
            let unused = 64 - c.min(32);
            word((field << unused >> unused) as u32)
        }
        BFI if c > 255 || d > 255 => Want::Open,
        BFI if c >= 32 => word(a),
        BFI if d >= 32 => word(b << c | a & !(u32::MAX << c)),
        BFI => {
            let mask = (((1u64 << d) - 1) << c) as u32;
            word(((u64::from(b) << c) as u32 & mask) | a & !mask)
        }
        BREV => word(a.reverse_bits()),
        POPC => word(a.count_ones()),
        LSB => int(if a == 0 { -1 } else { a.trailing_zeros() as i32 }),
        UMSB => int(31 - a.leading_zeros() as i32),
        IMSB => int(31 - (a ^ (ia >> 31) as u32).leading_zeros() as i32),
        I2F => Want::Float(ia as f32),
        U2F => Want::Float(a as f32),
        F2D => Want::Double(x.into()),
        I2D => Want::Double(ia.into()),
        U2D => Want::Double(a.into()),
        D2F => Want::Float(p as f32),
        I2I64 => Want::Bits(i64::from(ia) as u64),
        U2I64 => Want::Bits(a.into()),
        I642F => Want::Float(sa as f32),
        U642F => Want::Float(la as f32),
        I642D => Want::Double(sa as f64),
        U642D => Want::Double(la as f64),
        DADD => Want::Double(p + q),
        DMUL => Want::Double(p * q),
        DDIV => Want::Double(p / q),
        DMAD | DFMA => Want::Double(p.mul_add(q, r)),
        DMIN => Want::Double(p.min(q)),
        DMAX => Want::Double(p.max(q)),
        DABS => Want::Bits(la & !(1 << 63)),
        DNEG => Want::Bits(la ^ 1 << 63),
        DRCP => Want::Double(1.0 / p),
        DSQRT => Want::Double(p.sqrt()),
        DRSQ => Want::NearDouble(1.0 / p.sqrt()),
        DFRAC => Want::Double(p - p.floor()),
        DTRUNC => Want::Double(p.trunc()),
        DCEIL => Want::Double(p.ceil()),
        DFLR => Want::Double(p.floor()),
        DROUND => Want::Double(p.round_ties_even()),
        DSSG => Want::Double(f64::from(u8::from(p > 0.0)) - f64::from(u8::from(p < 0.0))),
        DLDEXP => ldexp(p, ib),
        DSLT => truth(p < q),
        DSGE => truth(p >= q),
        DSEQ => truth(p == q),
        DSNE => truth(p != q),
        U64ADD => Want::Bits(la.wrapping_add(lb)),
        U64MUL => Want::Bits(la.wrapping_mul(lb)),
        U64DIV | U64MOD | I64DIV | I64MOD if lb == 0 => Want::Open,
        U64DIV => Want::Bits(la / lb),
        U64MOD => Want::Bits(la % lb),
        I64DIV => Want::Bits(sa.wrapping_div(sb) as u64),
        I64MOD => Want::Bits(sa.wrapping_rem(sb) as u64),
        I64ABS => Want::Bits(sa.wrapping_abs() as u64),
        I64NEG => Want::Bits(sa.wrapping_neg() as u64),
        I64SSG => Want::Bits(sa.signum() as u64),
        I64MIN => Want::Bits(sa.min(sb) as u64),
        I64MAX => Want::Bits(sa.max(sb) as u64),
        U64MIN => Want::Bits(la.min(lb)),
        U64MAX => Want::Bits(la.max(lb)),
        U64SHL => Want::Bits(la.wrapping_shl(b)),
        U64SHR => Want::Bits(la.wrapping_shr(b)),
        I64SHR => Want::Bits(sa.wrapping_shr(b) as u64),
        U64SEQ => truth(la == lb),
        U64SNE => truth(la != lb),
        U64SLT => truth(la < lb),
        U64SGE => truth(la >= lb),
        I64SLT => truth(sa < sb),
        I64SGE => truth(sa >= sb),
        _ => return None,
    })
}

/// `x * 2^n`, rounded once: steps down of 2^-969 leave what rounds to the last one.
fn ldexp(x: f64, n: i32) -> Want {
    let power = |k: i32| f64::from_bits(((k + 1023) as u64) << 52);
    let (mut x, mut n) = (x, n);
    for _ in 0..2 {
        let step = if n > 1023 {
            1023
        } else if n < -1022 {
            -969
        } else {
            0
        };
        x *= power(step);
        n -= step;
    }
    Want::Double(x * power(n.clamp(-1022, 1023)))
}

/// Component `c` of opcodes whose components have formulas of their own, from whole vectors of floats.
pub fn vector(op: Opcode, s: [[f32; 4]; 3], c: usize) -> Option<Want> {
    use Opcode::*;
    let [a, b, d] = s;
    let raw = a[0].to_bits();
    let dot = |n: usize, plus: f32| {
        let exact: f64 = (0..n).map(|i| f64::from(a[i]) * f64::from(b[i])).sum::<f64>() + f64::from(plus);
        let size: f64 =
            (0..n).map(|i| (f64::from(a[i]) * f64::from(b[i])).abs()).sum::<f64>() + f64::from(plus.abs());
        if size < 1e38 { Want::Near(exact, 2.0, size * 4e-7) } else { Want::Open }
    };
    Some(match (op, c) {
        (DP2, _) => dot(2, 0.0),
        (DP3, _) => dot(3, 0.0),
        (DP4, _) => dot(4, 0.0),
        (DP2A, _) => dot(2, d[0]),
        (DPH, _) => dot(3, b[3]),
        (PK2H, _) if a[0].is_nan() || a[1].is_nan() => Want::Open,
        (PK2H, _) => {
            word(u32::from(f16::from_f32(a[0]).to_bits()) | u32::from(f16::from_f32(a[1]).to_bits()) << 16)
        }
        (PK2US, _) => packed(&a[..2], false),
        (PK4UB, _) => packed(&a, false),
        (PK4B, _) => packed(&a, true),
        (UP2H, _) => Want::Float(f16::from_bits((raw >> (16 * (c & 1))) as u16).to_f32()),
        (UP2US, _) => Want::Near(f64::from(raw >> (16 * (c & 1)) & 0xffff) / 65535.0, 1.0, 0.0),
        (UP4UB, _) => Want::Near(f64::from(raw >> (8 * c) & 0xff) / 255.0, 1.0, 0.0),
        (UP4B, _) => Want::Near((f64::from((raw >> (8 * c)) as i8) / 127.0).max(-1.0), 1.0, 0.0),
        (DST, 0) | (LIT, 0 | 3) | (EXP | LOG | SCS | XPD, 3) => Want::Float(1.0),
        (DST, 1) => Want::Float(a[1] * b[1]),
        (DST, 2) => word(a[2].to_bits()),
        (DST, _) => word(b[3].to_bits()),
        (LIT, 1) => Want::Float(a[0].max(0.0)),
        (LIT, _) if a[0] <= 0.0 || a[0].is_nan() => Want::Float(0.0),
        (LIT, _) => power(a[1].max(0.0), a[3].clamp(-128.0, 128.0)),
        (EXP, 0) => component(EX2, [a[0].floor().to_bits().into(), 0, 0, 0])?,
        (EXP, 1) => Want::Float(a[0] - a[0].floor()),
        (EXP, _) => component(EX2, [raw.into(), 0, 0, 0])?,
        (LOG, 2) => component(LG2, [a[0].abs().to_bits().into(), 0, 0, 0])?,
        (LOG, _) => {
            // Near a power of two the rounded logarithm decides.
            let x = f64::from(a[0].abs());
            let near = x.log2().fract().abs();
            if !(1e-30..1e30).contains(&x) || !(1e-5..1.0 - 1e-5).contains(&near) {
                Want::Open
            } else if c == 0 {
                Want::Float(x.log2().floor() as f32)
            } else {
                Want::Near(x / x.log2().floor().exp2(), 4.0, 0.0)
            }
        }
        (SCS, 0) => component(COS, [raw.into(), 0, 0, 0])?,
        (SCS, 1) => component(SIN, [raw.into(), 0, 0, 0])?,
        (SCS, _) => Want::Float(0.0),
        (XPD, _) => {
            let (i, j) = ((c + 1) % 3, (c + 2) % 3);
            let wide = |x: f32, y: f32| f64::from(x) * f64::from(y);
            let (l, r) = (wide(a[i], b[j]), wide(a[j], b[i]));
            if l.abs() + r.abs() < 1e38 {
                Want::Near(l - r, 2.0, (l.abs() + r.abs()) * 2e-7)
            } else {
                Want::Open
            }
        }
        _ => return None,
    })
}

/// Normalised fields; a value half way between two may round either way.
fn packed(all: &[f32], signed: bool) -> Want {
    let width = 32 / all.len() as u32;
    let max = if signed { (1u32 << (width - 1)) - 1 } else { ((1u64 << width) - 1) as u32 };
    let mut word = 0;
    for (i, &x) in all.iter().enumerate() {
        if x.is_nan() {
            return Want::Open;
        }
        let x = f64::from(x).clamp(if signed { -1.0 } else { 0.0 }, 1.0) * f64::from(max);
        if (x.fract().abs() - 0.5).abs() < 1e-2 {
            return Want::Open;
        }
        let field = x.round() as i64 as u32 & (((1u64 << width) - 1) as u32);
        word |= field << (i as u32 * width);
    }
    Want::Bits(word.into())
}
