//! Arithmetic of the interpreter, on the host's own integers and floats.

use half::f16;

use super::thread::{Thread, illegal};
use super::{Block, Trap};
use nvir::front::tgsi::ast::*;
use nvir::num::Round;
use nvir::num::conv::{self, Float, Int};

/// Bits of a float result: no number has only one pattern.
pub(super) fn fbits(x: f32) -> u32 {
    if x.is_nan() { 0x7fff_ffff } else { x.to_bits() }
}

fn dbits(x: f64) -> u64 {
    if x.is_nan() { 0x7fff_ffff_ffff_ffff } else { x.to_bits() }
}

fn truth(yes: bool) -> u32 {
    if yes { u32::MAX } else { 0 }
}

fn one(yes: bool) -> u32 {
    if yes { 1f32.to_bits() } else { 0 }
}

/// A function of doubles, rounded to 32 bits.
fn wide(x: f32, f: impl Fn(f64) -> f64) -> u32 {
    fbits(f(f64::from(x)) as f32)
}

/// A float as an integer: towards zero, into the range. TGSI leaves open what NaN gives; here as on the machine.
fn to_int(from: Float, bits: u64, width: u32, signed: bool) -> u64 {
    conv::f2i(from, bits, Int::new(width, signed), Round::Rz, false)
}

/// A field of a word; one that reaches beyond bit 31 has what lies inside, continued by the sign or zeros.
fn extract(v: u32, position: u32, length: u32, signed: bool) -> u32 {
    let (p, n) = (position & 0xff, length & 0xff);
    if n == 0 {
        return 0;
    }
    let wide = if signed { i64::from(v as i32) } else { i64::from(v) };
    let v = (wide >> p.min(63)) as u32;
    match 32u32.saturating_sub(n) {
        0 => v,
        unused if signed => ((v << unused) as i32 >> unused) as u32,
        unused => v << unused >> unused,
    }
}

fn insert(base: u32, v: u32, position: u32, length: u32) -> u32 {
    let (p, n) = (position & 0xff, length & 0xff);
    let field = if n >= 32 { u64::MAX } else { (1u64 << n) - 1 };
    let mask = if p >= 32 { 0 } else { (field << p) as u32 };
    let v = if p >= 32 { 0 } else { v << p };
    (base & !mask) | (v & mask)
}

/// One component of a 32-bit operation (of equal floats, zeros of both signs perhaps, the smaller one has the sign) on up to four operands.
fn scalar(op: Opcode, s: [u32; 4]) -> Option<u32> {
    use Opcode::*;
    let [a, b, c, d] = s;
    let (ia, ib) = (a as i32, b as i32);
    let [x, y, z, _] = s.map(f32::from_bits);
    Some(match op {
        MOV | UARL => a,
        ARL => x.floor() as i32 as u32,
        ARR => x.round_ties_even() as i32 as u32,
        CMP => {
            if x < 0.0 {
                b
            } else {
                c
            }
        }
        UCMP => {
            if a != 0 {
                b
            } else {
                c
            }
        }
        ADD => fbits(x + y),
        SUB => fbits(x - y),
        MUL => fbits(x * y),
        DIV => fbits(x / y),
        MAD | FMA => fbits(x.mul_add(y, z)),
        LRP => fbits(x.mul_add(y - z, z)),
        MIN => {
            if x == y {
                a | b
            } else {
                fbits(x.min(y))
            }
        }
        MAX => {
            if x == y {
                a & b
            } else {
                fbits(x.max(y))
            }
        }
        ABS => a & 0x7fff_ffff,
        SSG => fbits(f32::from(u8::from(x > 0.0)) - f32::from(u8::from(x < 0.0))),
        FRC => fbits(x - x.floor()),
        FLR => fbits(x.floor()),
        CEIL => fbits(x.ceil()),
        ROUND => fbits(x.round_ties_even()),
        TRUNC => fbits(x.trunc()),
        CLAMP => fbits(x.max(y).min(z)),
        LDEXP => wide(x, |x| x * 2f64.powi(ib.clamp(-400, 400))),
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
        RCP => wide(x, |x| 1.0 / x),
        RSQ => wide(x, |x| 1.0 / x.sqrt()),
        SQRT => fbits(x.sqrt()),
        EX2 => wide(x, f64::exp2),
        LG2 => wide(x, f64::log2),
        POW => wide(x, |x| x.powf(f64::from(y))),
        SIN => wide(x, f64::sin),
        COS => wide(x, f64::cos),
        UADD => a.wrapping_add(b),
        UMUL => a.wrapping_mul(b),
        UMAD => a.wrapping_mul(b).wrapping_add(c),
        UDIV => a.checked_div(b).unwrap_or(u32::MAX),
        UMOD => a.checked_rem(b).unwrap_or(u32::MAX),
        IDIV => {
            if b == 0 {
                u32::MAX
            } else {
                ia.wrapping_div(ib) as u32
            }
        }
        MOD => {
            if b == 0 {
                u32::MAX
            } else {
                ia.wrapping_rem(ib) as u32
            }
        }
        IMUL_HI => ((i64::from(ia) * i64::from(ib)) >> 32) as u32,
        UMUL_HI => ((u64::from(a) * u64::from(b)) >> 32) as u32,
        UMAX => a.max(b),
        UMIN => a.min(b),
        IMAX => ia.max(ib) as u32,
        IMIN => ia.min(ib) as u32,
        INEG => a.wrapping_neg(),
        IABS => ia.unsigned_abs(),
        ISSG => ia.signum() as u32,
        USEQ => truth(a == b),
        USNE => truth(a != b),
        USLT => truth(a < b),
        USGE => truth(a >= b),
        ISLT => truth(ia < ib),
        ISGE => truth(ia >= ib),
        NOT => !a,
        AND => a & b,
        OR => a | b,
        XOR => a ^ b,
        SHL => a << (b & 31),
        USHR => a >> (b & 31),
        ISHR => (ia >> (b & 31)) as u32,
        IBFE => extract(a, b, c, true),
        UBFE => extract(a, b, c, false),
        BFI => insert(a, b, c, d),
        BREV => a.reverse_bits(),
        POPC => a.count_ones(),
        LSB => {
            if a == 0 {
                u32::MAX
            } else {
                a.trailing_zeros()
            }
        }
        UMSB => 31u32.wrapping_sub(a.leading_zeros()),
        IMSB => 31u32.wrapping_sub((if ia < 0 { !a } else { a }).leading_zeros()),
        I2F => fbits(ia as f32),
        U2F => fbits(a as f32),
        F2I => to_int(Float::F32, a.into(), 32, true) as u32,
        F2U => to_int(Float::F32, a.into(), 32, false) as u32,
        _ => return None,
    })
}

/// One pair of an operation with a 64-bit operand or result; `w` are the 32-bit operands.
fn pair(op: Opcode, s: [u64; 3], w: [u32; 3]) -> Option<u64> {
    use Opcode::*;
    let [a, b, _] = s;
    let (ia, ib) = (a as i64, b as i64);
    let [x, y, z] = s.map(f64::from_bits);
    let f = f32::from_bits(w[0]);
    let word = |v: u32| u64::from(v);
    Some(match op {
        DADD => dbits(x + y),
        DMUL => dbits(x * y),
        DDIV => dbits(x / y),
        DMAD | DFMA => dbits(x.mul_add(y, z)),
        DMIN => {
            if x == y {
                a | b
            } else {
                dbits(x.min(y))
            }
        }
        DMAX => {
            if x == y {
                a & b
            } else {
                dbits(x.max(y))
            }
        }
        DABS => a & !(1 << 63),
        DNEG => a ^ 1 << 63,
        DRCP => dbits(1.0 / x),
        DSQRT => dbits(x.sqrt()),
        DRSQ => dbits(1.0 / x.sqrt()),
        DFRAC => dbits(x - x.floor()),
        DTRUNC => dbits(x.trunc()),
        DCEIL => dbits(x.ceil()),
        DFLR => dbits(x.floor()),
        DROUND => dbits(x.round_ties_even()),
        DSSG => dbits(f64::from(u8::from(x > 0.0)) - f64::from(u8::from(x < 0.0))),
        DLDEXP => dbits(ldexp(x, w[1] as i32)),
        DSLT => word(truth(x < y)),
        DSGE => word(truth(x >= y)),
        DSEQ => word(truth(x == y)),
        DSNE => word(truth(x != y)),
        U64ADD => a.wrapping_add(b),
        U64MUL => a.wrapping_mul(b),
        U64DIV => a.checked_div(b).unwrap_or(u64::MAX),
        U64MOD => a.checked_rem(b).unwrap_or(u64::MAX),
        I64DIV => {
            if b == 0 {
                u64::MAX
            } else {
                ia.wrapping_div(ib) as u64
            }
        }
        I64MOD => {
            if b == 0 {
                u64::MAX
            } else {
                ia.wrapping_rem(ib) as u64
            }
        }
        I64ABS => ia.unsigned_abs(),
        I64NEG => a.wrapping_neg(),
        I64SSG => ia.signum() as u64,
        I64MIN => ia.min(ib) as u64,
        I64MAX => ia.max(ib) as u64,
        U64MIN => a.min(b),
        U64MAX => a.max(b),
        U64SHL => a << (w[1] & 63),
        U64SHR => a >> (w[1] & 63),
        I64SHR => (ia >> (w[1] & 63)) as u64,
        U64SEQ => word(truth(a == b)),
        U64SNE => word(truth(a != b)),
        U64SLT => word(truth(a < b)),
        U64SGE => word(truth(a >= b)),
        I64SLT => word(truth(ia < ib)),
        I64SGE => word(truth(ia >= ib)),
        F2D => dbits(f64::from(f)),
        I2D => f64::from(w[0] as i32).to_bits(),
        U2D => f64::from(w[0]).to_bits(),
        D2F => word(fbits(x as f32)),
        D2I => word(to_int(Float::F64, a, 32, true) as u32),
        D2U => word(to_int(Float::F64, a, 32, false) as u32),
        F2I64 => to_int(Float::F32, w[0].into(), 64, true),
        F2U64 => to_int(Float::F32, w[0].into(), 64, false),
        I2I64 => i64::from(w[0] as i32) as u64,
        U2I64 => word(w[0]),
        D2I64 => to_int(Float::F64, a, 64, true),
        D2U64 => to_int(Float::F64, a, 64, false),
        I642F => word(fbits(ia as f32)),
        U642F => word(fbits(a as f32)),
        I642D => (ia as f64).to_bits(),
        U642D => (a as f64).to_bits(),
        _ => return None,
    })
}

/// `x * 2^n` with one rounding.
fn ldexp(x: f64, n: i32) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return x;
    }
    let n = n.clamp(-2200, 2200);
    // Steps that stay in range, the one that may round last.
    let (mut x, mut n) = (x, n);
    while n > 1000 {
        x *= 2f64.powi(1000);
        n -= 1000;
    }
    if n >= -1000 {
        return x * 2f64.powi(n);
    }
    // Normalise first, so that only the last step can reach denormals.
    let (m, e) = frexp(x);
    let total = e + n;
    if total < -1100 {
        return m * 0.0;
    }
    m * 2f64.powi(-500) * 2f64.powi((total + 500).max(-1074))
}

/// Significand in [0.5, 1) and exponent; zeros, infinities and NaNs as they are.
fn frexp(x: f64) -> (f64, i32) {
    if x == 0.0 || !x.is_finite() {
        return (x, 0);
    }
    let (x, less) = if x.abs() < f64::MIN_POSITIVE { (x * 2f64.powi(54), 54) } else { (x, 0) };
    let e = (x.to_bits() >> 52 & 0x7ff) as i32;
    (f64::from_bits(x.to_bits() & !(0x7ff << 52) | 0x3fe << 52), e - 1022 - less)
}

fn half(x: u32) -> u32 {
    let h = f16::from_f32(f32::from_bits(x));
    u32::from(if h.is_nan() { 0x7fff } else { h.to_bits() })
}

/// A float as a normalised field of `width` bits.
fn normalised(x: u32, width: u32, signed: bool) -> u32 {
    let x = f32::from_bits(x);
    if signed {
        let max = ((1u32 << (width - 1)) - 1) as f32;
        // Not a number counts as the lowest value.
        let x = if x > -1.0 { x.min(1.0) } else { -1.0 };
        ((x * max).round_ties_even() as i32 as u32) & ((1 << width) - 1)
    } else {
        let x = if x > 0.0 { x.min(1.0) } else { 0.0 };
        (x * ((1u64 << width) - 1) as f32).round_ties_even() as u32
    }
}

/// A float clamped to 0 and 1; not a number counts as 0.
pub(super) fn saturated(x: u32) -> u32 {
    let f = f32::from_bits(x);
    if f > 0.0 { f.min(1.0).to_bits() } else { 0 }
}

impl Thread<'_> {
    pub fn arithmetic(&mut self, block: &Block<'_>, inst: &Inst<'_>) -> Result<(), Trap> {
        let info = inst.op.info();
        let dst = inst.dsts[0];
        let unknown = || illegal(format!("{} is not interpreted", inst.op.name()));
        let wide = |t: &Ty| t.is_64();
        let mut r = [0u32; 4];
        if inst.op == Opcode::DFRACEXP {
            let (m, e) = frexp(f64::from_bits(self.operand64(block, inst, 0, 0)?));
            let bits = m.to_bits();
            let (lo, hi) = (bits as u32, (bits >> 32) as u32);
            self.write_result(&dst, [lo, hi, lo, hi])?;
            return self.write_result(&inst.dsts[1], [e as u32; 4]);
        }
        match info.shape {
            Shape::Vec => {
                for c in dst.comps() {
                    r[c] = self.vector(block, inst, c)?.ok_or_else(unknown)?;
                }
            }
            Shape::Dot(n) => r = [self.dot(block, inst, n.into())?; 4],
            Shape::Scalar => r = [scalar(inst.op, self.operands32(block, inst, 0)?).ok_or_else(unknown)?; 4],
            _ if info.dsts.iter().any(wide) || info.srcs.iter().any(wide) => {
                let compares = info.srcs.len() > 1;
                for (n, c) in dst.comps().enumerate() {
                    let unit = if info.dsts[0].is_64() || compares { c / 2 } else { n };
                    if unit > 1 {
                        continue;
                    }
                    let mut s = [0; 3];
                    let mut w = [0; 3];
                    for (i, ty) in info.srcs.iter().enumerate() {
                        if ty.is_64() {
                            s[i] = self.operand64(block, inst, i, unit)?;
                        } else {
                            let c = if info.srcs[0].is_64() { 2 * unit } else { unit };
                            w[i] = self.operand32(block, inst, i, c)?;
                        }
                    }
                    let v = pair(inst.op, s, w).ok_or_else(unknown)?;
                    r[c] = if info.dsts[0].is_64() && c & 1 != 0 { (v >> 32) as u32 } else { v as u32 };
                }
            }
            _ => {
                for c in dst.comps() {
                    r[c] = scalar(inst.op, self.operands32(block, inst, c)?).ok_or_else(unknown)?;
                }
            }
        }
        if inst.saturate && matches!(info.dsts[0], Ty::F32 | Ty::Any) {
            r = r.map(saturated);
        }
        self.write_result(&dst, r)
    }

    fn operands32(&self, block: &Block<'_>, inst: &Inst<'_>, c: usize) -> Result<[u32; 4], Trap> {
        let mut s = [0; 4];
        for (n, s) in s.iter_mut().enumerate().take(inst.srcs.len()) {
            *s = self.operand32(block, inst, n, c)?;
        }
        Ok(s)
    }

    fn float(&self, block: &Block<'_>, inst: &Inst<'_>, n: usize, c: usize) -> Result<f32, Trap> {
        Ok(f32::from_bits(self.operand32(block, inst, n, c)?))
    }

    fn dot(&self, block: &Block<'_>, inst: &Inst<'_>, n: usize) -> Result<u32, Trap> {
        let mut sum = self.float(block, inst, 0, 0)? * self.float(block, inst, 1, 0)?;
        for c in 1..n {
            sum = self.float(block, inst, 0, c)?.mul_add(self.float(block, inst, 1, c)?, sum);
        }
        Ok(fbits(sum))
    }

    /// Component `c` of an opcode whose components have formulas of their own.
    fn vector(&self, block: &Block<'_>, inst: &Inst<'_>, c: usize) -> Result<Option<u32>, Trap> {
        use Opcode::*;
        let raw = |n, c| self.operand32(block, inst, n, c);
        let f = |n, c| self.float(block, inst, n, c);
        let fields = |n: u32, signed: bool| -> Result<u32, Trap> {
            let width = 32 / n;
            let mut all = 0;
            for i in 0..n {
                all |= normalised(raw(0, i as usize)?, width, signed) << (i * width);
            }
            Ok(all)
        };
        let one = 1f32.to_bits();
        Ok(Some(match (inst.op, c) {
            (PK2H, _) => half(raw(0, 0)?) | half(raw(0, 1)?) << 16,
            (PK2US, _) => fields(2, false)?,
            (PK4B, _) => fields(4, true)?,
            (PK4UB, _) => fields(4, false)?,
            (UP2H, _) => fbits(f16::from_bits((raw(0, 0)? >> (16 * (c & 1))) as u16).to_f32()),
            (UP2US, _) => fbits((raw(0, 0)? >> (16 * (c & 1)) & 0xffff) as f32 * (1.0 / 65535.0)),
            (UP4UB, _) => fbits((raw(0, 0)? >> (8 * c) & 0xff) as f32 * (1.0 / 255.0)),
            (UP4B, _) => fbits(((raw(0, 0)? >> (8 * c)) as i8 as f32 * (1.0 / 127.0)).max(-1.0)),
            (DST, 0) | (LIT, 0 | 3) | (EXP | LOG | SCS | XPD, 3) => one,
            (DST, 1) => fbits(f(0, 1)? * f(1, 1)?),
            (DST, 2) => raw(0, 2)?,
            (DST, _) => raw(1, 3)?,
            (LIT, 1) => fbits(f(0, 0)?.max(0.0)),
            (LIT, _) => {
                let power = f64::from(f(0, 1)?.max(0.0)).powf(f64::from(f(0, 3)?.clamp(-128.0, 128.0)));
                if f(0, 0)? > 0.0 { fbits(power as f32) } else { 0 }
            }
            (EXP, 0) => wide(f(0, 0)?.floor(), f64::exp2),
            (EXP, 1) => fbits(f(0, 0)? - f(0, 0)?.floor()),
            (EXP, _) => wide(f(0, 0)?, f64::exp2),
            (LOG, 2) => wide(f(0, 0)?.abs(), f64::log2),
            (LOG, 0) => wide(f(0, 0)?.abs(), |x| x.log2().floor()),
            (LOG, _) => wide(f(0, 0)?.abs(), |x| x / x.log2().floor().exp2()),
            (SCS, 0) => wide(f(0, 0)?, f64::cos),
            (SCS, 1) => wide(f(0, 0)?, f64::sin),
            (SCS, _) => 0,
            (XPD, _) => {
                let (i, j) = ((c + 1) % 3, (c + 2) % 3);
                fbits(f(0, i)?.mul_add(f(1, j)?, -(f(0, j)? * f(1, i)?)))
            }
            (DP2A, _) => fbits(f32::from_bits(self.dot(block, inst, 2)?) + f(2, 0)?),
            (DPH, _) => fbits(f32::from_bits(self.dot(block, inst, 3)?) + f(1, 3)?),
            _ => return Ok(None),
        }))
    }
}
