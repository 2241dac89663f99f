//! Arithmetic of TGSI, by the operations of [`crate::softmath`].

use super::thread::{Thread, illegal};
use super::{Block, Trap};
use crate::softmath::{self, Op, Want, extract, half_pair, insert, mask, number, packed, value};
use nvir::front::tgsi::ast::*;

/// Bits of a float result: no number has only one pattern.
pub(super) fn fbits(x: f32) -> u32 {
    if x.is_nan() { 0x7fff_ffff } else { x.to_bits() }
}

/// The operation that an opcode is, if it is one with its operands as they are.
fn plain(op: Opcode) -> Option<Op> {
    use Opcode::*;
    Some(match op {
        MOV | UARL => Op::mov,
        UCMP => Op::bcsel,
        ADD | DADD => Op::fadd,
        SUB => Op::fsub,
        MUL | DMUL => Op::fmul,
        DDIV => Op::fdiv,
        MAD | FMA | DMAD | DFMA => Op::ffma,
        MIN | DMIN => Op::fmin,
        MAX | DMAX => Op::fmax,
        FRC | DFRAC => Op::ffract,
        FLR | DFLR => Op::ffloor,
        CEIL | DCEIL => Op::fceil,
        ROUND | DROUND => Op::fround_even,
        TRUNC | DTRUNC => Op::ftrunc,
        LDEXP | DLDEXP => Op::ldexp,
        SLT => Op::slt,
        SGE => Op::sge,
        SEQ => Op::seq,
        SNE => Op::sne,
        FSLT | DSLT => Op::flt,
        FSGE | DSGE => Op::fge,
        FSEQ | DSEQ => Op::feq,
        FSNE | DSNE => Op::fneu,
        RCP | DRCP => Op::frcp,
        RSQ | DRSQ => Op::frsq,
        SQRT | DSQRT => Op::fsqrt,
        EX2 => Op::fexp2,
        LG2 => Op::flog2,
        POW => Op::fpow,
        SIN => Op::fsin,
        COS => Op::fcos,
        UADD | U64ADD => Op::iadd,
        UMUL | U64MUL => Op::imul,
        UMAD => Op::imad,
        UDIV | U64DIV => Op::udiv,
        UMOD | U64MOD => Op::umod,
        IDIV | I64DIV => Op::idiv,
        MOD | I64MOD => Op::irem,
        IMUL_HI => Op::imul_high,
        UMUL_HI => Op::umul_high,
        UMAX | U64MAX => Op::umax,
        UMIN | U64MIN => Op::umin,
        IMAX | I64MAX => Op::imax,
        IMIN | I64MIN => Op::imin,
        INEG | I64NEG => Op::ineg,
        IABS | I64ABS => Op::iabs,
        ISSG | I64SSG => Op::isign,
        USEQ | U64SEQ => Op::ieq,
        USNE | U64SNE => Op::ine,
        USLT | U64SLT => Op::ult,
        USGE | U64SGE => Op::uge,
        ISLT | I64SLT => Op::ilt,
        ISGE | I64SGE => Op::ige,
        NOT => Op::inot,
        AND => Op::iand,
        OR => Op::ior,
        XOR => Op::ixor,
        SHL | U64SHL => Op::ishl,
        USHR | U64SHR => Op::ushr,
        ISHR | I64SHR => Op::ishr,
        BREV => Op::bitfield_reverse,
        POPC => Op::bit_count,
        LSB => Op::find_lsb,
        UMSB => Op::ufind_msb,
        IMSB => Op::ifind_msb,
        I2F | I2D | I642F | I642D => Op::i2f,
        U2F | U2D | U642F | U642D => Op::u2f,
        F2D | D2F => Op::f2f,
        F2I | F2I64 | D2I | D2I64 => Op::f2i,
        F2U | F2U64 | D2U | D2U64 => Op::f2u,
        I2I64 => Op::i2i,
        U2I64 => Op::u2u,
        _ => return None,
    })
}

/// What a component, or a pair of 64 bits, of an opcode whose components do not mix must be: operands as bits, with their
/// modifiers carried out.
pub fn component(op: Opcode, s: [u64; 4]) -> Option<Want> {
    use Opcode::*;
    let info = op.info();
    let size = |ty: &Ty| if ty.is_64() { 64 } else { 32 };
    let mut sizes = [32; 4];
    sizes.iter_mut().zip(info.srcs).for_each(|(n, ty)| *n = size(ty));
    let (bits, from) = (size(info.dsts.first()?), sizes[0]);
    let top = 1 << (from - 1);
    let [a, b, c, d] = s;
    let [x, y, z, _] = s.map(|v| value(v, from));
    let to_word = |x: f64| Op::f2i.eval(32, &[64], &[x.to_bits()]);
    let small = |n: u64| n <= 255;
    let field = |fits: bool, v: u64| if fits { Want::Bits(v) } else { Want::Any(v) };
    Some(match op {
        ARL => to_word(x.floor()),
        ARR => to_word(x.round_ties_even()),
        CMP => Want::Bits(if x < 0.0 { b } else { c }),
        ABS => Want::exact(x.abs()),
        DABS => Want::Bits(a & !top),
        DNEG => Want::Bits(a ^ top),
        SSG | DSSG => Want::zero(f64::from(u8::from(x > 0.0)) - f64::from(u8::from(x < 0.0))),
        CLAMP => Want::zero(x.max(y).min(z)),
        DIV => {
            // As GLSL has it: for divisors from 2^-126 to 2^126.
            let quotient = f64::from(x as f32 / y as f32);
            let tiny = |v: f64| v != 0.0 && v.abs() < f64::from(f32::MIN_POSITIVE) * 4.0;
            let usual = (2f64.powi(-126)..=2f64.powi(126)).contains(&y.abs()) && !tiny(x) && !tiny(quotient);
            if usual { Want::Float(quotient, 3.0, 0.0) } else { Want::Any(fbits(quotient as f32).into()) }
        }
        LRP => {
            let (p, q, r) = (x as f32, y as f32, z as f32);
            let size = x.abs() * (y.abs() + z.abs()) + z.abs();
            near(p.mul_add(q - r, r), 2.0, size * 2e-7, size < 1e38 && y.abs() < 1e38 && z.abs() < 1e38)
        }
        SGT => Op::slt.eval(32, &sizes, &[b, a]),
        SLE => Op::sge.eval(32, &sizes, &[b, a]),
        IBFE | UBFE => field(small(b) && small(c), extract(a, b, c, op == IBFE)),
        BFI => field(small(c) && small(d), insert(a, b, c, d)),
        _ => {
            let want = plain(op)?.eval(bits, &sizes, &s);
            match op {
                // TGSI leaves less open: division by zero, and what becomes of no number and of infinities.
                UDIV | UMOD | LDEXP | DLDEXP | FRC | DFRAC => strict(want, bits, op),
                F2I | F2U | D2I | D2U | F2I64 | F2U64 | D2I64 | D2U64 if x.is_nan() => strict(want, bits, op),
                _ => want,
            }
        }
    })
}

/// What is left open is what it would be.
fn strict(want: Want, bits: u32, op: Opcode) -> Want {
    match (want, op.info().dsts[0]) {
        (Want::Any(v), Ty::F32 | Ty::F64) => Want::zero(value(v, bits)),
        (Want::Any(v), _) => Want::Bits(v),
        (want, _) => want,
    }
}

/// A float that may differ by so many units in the last place or so much, where that says something.
fn near(x: f32, ulps: f64, abs: f64, says: bool) -> Want {
    if says { Want::Float(x.into(), ulps, abs) } else { Want::Any(fbits(x).into()) }
}

/// A sum of products in order.
fn dot(a: &[f32], b: &[f32], plus: Option<f32>) -> Want {
    let mut sum = a[0] * b[0];
    for (&a, &b) in a.iter().zip(b).skip(1) {
        sum = a.mul_add(b, sum);
    }
    let products = a.iter().zip(b).map(|(&a, &b)| (f64::from(a) * f64::from(b)).abs());
    let size = products.sum::<f64>() + f64::from(plus.unwrap_or(0.0).abs());
    near(plus.map_or(sum, |x| sum + x), 2.0, size * 4e-7, size < 1e38)
}

/// Component `c` of opcodes whose components have formulas of their own, from whole vectors.
pub fn vector(op: Opcode, s: [[u32; 4]; 3], c: usize) -> Option<Want> {
    use Opcode::*;
    let [a, b, d] = s.map(|v| v.map(f32::from_bits));
    let raw = u64::from(s[0][0]);
    let word = |x: u32| Want::Bits(x.into());
    let float = |x: f32| Want::zero(x.into());
    let of = |op: Op, s: &[f32]| {
        let s: Vec<u64> = s.iter().map(|x| x.to_bits().into()).collect();
        op.eval(32, &[32; 2], &s)
    };
    let wide = a.map(f64::from);
    let field = |bits: u32, sign| {
        let n = c as u32 % (32 / bits);
        let most = (mask(bits) >> u32::from(sign)) as f32;
        let part = number(raw >> (n * bits), bits, sign) as f32;
        near((part * (1.0 / most)).max(-1.0), 1.0, 0.0, true)
    };
    Some(match (op, c) {
        (DP2, _) => dot(&a[..2], &b, None),
        (DP3, _) => dot(&a[..3], &b, None),
        (DP4, _) => dot(&a, &b, None),
        (DP2A, _) => dot(&a[..2], &b, Some(d[0])),
        (DPH, _) => dot(&a[..3], &b, Some(b[3])),
        (PK2H, _) => half_pair(wide[0], wide[1], softmath::float::Mode::Near),
        (PK2US, _) => packed(&wide[..2], false),
        (PK4B, _) => packed(&wide, true),
        (PK4UB, _) => packed(&wide, false),
        (UP2H, _) => Want::exact(value(raw >> (16 * (c & 1)) & 0xffff, 16)),
        (UP2US, _) => field(16, false),
        (UP4UB, _) => field(8, false),
        (UP4B, _) => field(8, true),
        (DST, 0) | (LIT, 0 | 3) | (EXP | LOG | SCS | XPD, 3) => float(1.0),
        (DST, 1) => float(a[1] * b[1]),
        (DST, 2) => word(s[0][2]),
        (DST, _) => word(s[1][3]),
        (LIT, 1) => float(a[0].max(0.0)),
        (LIT, _) if a[0] > 0.0 => of(Op::fpow, &[a[1].max(0.0), a[3].clamp(-128.0, 128.0)]),
        (LIT, _) => float(0.0),
        (EXP, 0) => of(Op::fexp2, &[a[0].floor()]),
        (EXP, 1) => float(a[0] - a[0].floor()),
        (EXP, _) => of(Op::fexp2, &[a[0]]),
        (LOG, 2) => of(Op::flog2, &[a[0].abs()]),
        (LOG, _) => {
            // Near a power of two the rounded logarithm decides.
            let x = wide[0].abs();
            let whole = x.log2().floor();
            let says = (1e-30..1e30).contains(&x) && (1e-5..1.0 - 1e-5).contains(&x.log2().fract().abs());
            let (r, ulps) = if c == 0 { (whole, 0.0) } else { (x / whole.exp2(), 4.0) };
            near(r as f32, ulps, 0.0, says)
        }
        (SCS, 0) => of(Op::fcos, &[a[0]]),
        (SCS, 1) => of(Op::fsin, &[a[0]]),
        (SCS, _) => float(0.0),
        (XPD, _) => {
            let (i, j) = ((c + 1) % 3, (c + 2) % 3);
            let size = (wide[i] * f64::from(b[j])).abs() + (wide[j] * f64::from(b[i])).abs();
            near(a[i].mul_add(b[j], -(a[j] * b[i])), 2.0, size * 2e-7, size < 1e38)
        }
        _ => return None,
    })
}

/// A float clamped to 0 and 1; not a number counts as 0.
pub(super) fn saturated(x: u32) -> u32 {
    let f = f32::from_bits(x);
    if f > 0.0 { f.min(1.0).to_bits() } else { 0 }
}

impl Thread<'_> {
    pub(super) fn arithmetic(&mut self, block: &Block<'_>, inst: &Inst<'_>) -> Result<(), Trap> {
        let info = inst.op.info();
        let dst = inst.dsts[0];
        let wide = |t: &Ty| t.is_64();
        let mut r = [0u32; 4];
        if inst.op == Opcode::DFRACEXP {
            let (bits, e) = softmath::float::F64.parts(self.operand64(block, inst, 0, 0)?);
            let (lo, hi) = (bits as u32, (bits >> 32) as u32);
            self.write_result(&dst, [lo, hi, lo, hi])?;
            return self.write_result(&inst.dsts[1], [e as u32; 4]);
        }
        match info.shape {
            Shape::Vec | Shape::Dot(_) => {
                let mut s = [[0; 4]; 3];
                for (n, v) in s.iter_mut().enumerate().take(inst.srcs.len()) {
                    for (c, w) in v.iter_mut().enumerate() {
                        *w = self.operand32(block, inst, n, c)?;
                    }
                }
                for c in dst.comps() {
                    r[c] = vector(inst.op, s, c).ok_or_else(|| unknown(inst))?.bits(32) as u32;
                }
            }
            Shape::Scalar => r = [self.component(block, inst, [0; 4])? as u32; 4],
            _ if info.dsts.iter().any(wide) || info.srcs.iter().any(wide) => {
                let compares = info.srcs.len() > 1;
                for (n, c) in dst.comps().enumerate() {
                    let unit = if info.dsts[0].is_64() || compares { c / 2 } else { n };
                    if unit > 1 {
                        continue;
                    }
                    let narrow = if info.srcs[0].is_64() { 2 * unit } else { unit };
                    let at = |ty: &Ty| if ty.is_64() { unit } else { narrow };
                    let mut places = [0; 4];
                    places.iter_mut().zip(info.srcs).for_each(|(p, ty)| *p = at(ty));
                    let v = self.component(block, inst, places)?;
                    r[c] = if info.dsts[0].is_64() && c & 1 != 0 { (v >> 32) as u32 } else { v as u32 };
                }
            }
            _ => {
                for c in dst.comps() {
                    r[c] = self.component(block, inst, [c; 4])? as u32;
                }
            }
        }
        if inst.saturate && matches!(info.dsts[0], Ty::F32 | Ty::Any) {
            r = r.map(saturated);
        }
        self.write_result(&dst, r)
    }

    /// The result of operands' components, or pairs, at these places.
    fn component(&self, block: &Block<'_>, inst: &Inst<'_>, places: [usize; 4]) -> Result<u64, Trap> {
        let info = inst.op.info();
        let mut s = [0; 4];
        for (n, ty) in info.srcs.iter().enumerate() {
            s[n] = if ty.is_64() {
                self.operand64(block, inst, n, places[n])?
            } else {
                self.operand32(block, inst, n, places[n])?.into()
            };
        }
        let want = component(inst.op, s).ok_or_else(|| unknown(inst))?;
        Ok(want.bits(if info.dsts[0].is_64() { 64 } else { 32 }))
    }
}

fn unknown(inst: &Inst<'_>) -> Trap {
    illegal(format!("{} is not interpreted", inst.op.name()))
}
