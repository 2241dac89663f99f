//! Operations of scalars, by the names and meanings of NIR's opcodes. What ends in the size of its result there does not here.

use super::float::{F64, Fmt, Mode};
use super::{
    Want, clamp, extract, half_flushed, half_pair, insert, mask, number, permuted, round, signed, value,
};
use Want::{Any, Bits};

macro_rules! ops {
    ($($name:ident)*) => {
        /// An operation of scalars.
        #[allow(non_camel_case_types, missing_docs)]
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Op {
            $($name),*
        }

        const ALL: &[(&str, Op)] = &[$((stringify!($name), Op::$name)),*];
    };
}

ops! {
    // Comparisons, into truth values of the result's size.
    feq fneu flt fge fltu fgeu fequ fneo funord ford ieq ine ilt ige ult uge bitnz bitz
    // Conversions.
    f2f f2f_rtz f2i f2u f2b i2f i2i i2b u2f u2u b2f b2i b2b
    // Integers.
    mov bcsel icsel_eqz i32csel_gt i32csel_ge iadd iadd3 isub imul imad idiv irem imod udiv umod ineg iabs isign
    inot iand ior ixor ishl ishr ushr urol uror shfr imin imax umin umax imul_high umul_high imul_2x32_64 umul_2x32_64
    umul_low imul_16x16 imul_32x16 umul_32x16 imul24 umul24 umad24 imul24_relaxed umul24_relaxed
    umad24_relaxed uadd_carry usub_borrow iadd_sat isub_sat uadd_sat usub_sat ihadd irhadd uhadd urhadd uabs_isub
    uabs_usub sdot_4x8_iadd sdot_2x16_iadd udot_4x8_uadd udot_2x16_uadd sudot_4x8_iadd sdot_4x8_iadd_sat
    sdot_2x16_iadd_sat sudot_4x8_iadd_sat udot_4x8_uadd_sat udot_2x16_uadd_sat sad_u8x4 msad_4x8
    // Bits.
    bit_count bitfield_reverse find_lsb ufind_msb ifind_msb ufind_msb_rev ifind_msb_rev uclz bitfield_select bfm bfi
    bitfield_insert ubitfield_extract ibitfield_extract ubfe ibfe extract_u8 extract_i8 extract_u16 extract_i16
    insert_u8 insert_u16 pack_64_2x32_split pack_32_2x16_split pack_32_4x8_split unpack_64_2x32_split_x
    unpack_32_2x16_split_x unpack_64_2x32_split_y unpack_32_2x16_split_y prmt_nv bf2f f2bf
    // Floats.
    fadd fsub fmul fmulz ffma ffmaz flrp fdiv frcp frsq fsqrt fneg fabs fcanonicalize fsat fsat_signed fclamp_pos fsign
    fmin fmax ffloor fceil ftrunc fround_even ffract fmod frem fexp2 flog2 fpow fsin fcos fcsel fcsel_gt fcsel_ge
    fcsel_eqn seq sne slt sge fisfinite fisnormal fquantize2f16 ldexp frexp_exp frexp_sig
    pack_half_2x16_split pack_half_2x16_rtz_split unpack_half_2x16_split_x unpack_half_2x16_split_y
    unpack_half_2x16_split_x_flush_to_zero unpack_half_2x16_split_y_flush_to_zero
}

/// Other names.
const ALIASES: &[(&str, Op)] = &[
    ("f2fmp", Op::f2f),
    ("f2f16_rtne", Op::f2f),
    ("f2f16_rtz", Op::f2f_rtz),
    ("i2imp", Op::i2i),
    ("f2imp", Op::f2i),
    ("f2ump", Op::f2u),
    ("i2fmp", Op::i2f),
    ("u2fmp", Op::u2f),
    ("b8csel", Op::bcsel),
    ("b16csel", Op::bcsel),
    ("b32csel", Op::bcsel),
    ("amul", Op::imul),
    ("umul_16x16", Op::umul_low),
    ("fsat_signed_mali", Op::fsat_signed),
    ("fclamp_pos_mali", Op::fclamp_pos),
];

impl Op {
    /// The operation of that name, with the size of its result or without.
    pub fn named(name: &str) -> Option<Op> {
        let find = |name: &str| ALL.iter().chain(ALIASES).find(|(n, _)| *n == name).map(|(_, op)| *op);
        find(name).or_else(|| {
            let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
            find(stem).filter(|_| matches!(&name[stem.len()..], "1" | "8" | "16" | "32" | "64"))
        })
    }

    /// What it gives in `dbits` bits, of operands of so many bits.
    pub fn eval(self, dbits: u32, sbits: &[u32], s: &[u64]) -> Want {
        let n = Operands { dbits, sbits, s };
        n.comparison(self)
            .or_else(|| n.conversion(self))
            .or_else(|| n.integer(self))
            .or_else(|| n.bits(self))
            .or_else(|| n.float(self))
            .expect("each operation is in one of these")
    }
}

#[derive(Clone, Copy)]
struct Operands<'a> {
    dbits: u32,
    sbits: &'a [u32],
    s: &'a [u64],
}

/// The first or the second of two.
fn choose<T>(first: bool, a: T, b: T) -> T {
    if first { a } else { b }
}

/// The smaller or larger number; of a number and none the number; -0 is less than +0.
pub(super) fn extreme(x: f64, y: f64, larger: bool) -> f64 {
    f64::from_bits(F64.pick(x.to_bits(), y.to_bits(), larger))
}

impl Operands<'_> {
    fn width(self, n: usize) -> u32 {
        self.sbits.get(n).copied().unwrap_or(32)
    }

    fn raw(self, n: usize) -> u64 {
        self.s.get(n).copied().unwrap_or(0)
    }

    fn signed(self, n: usize) -> i128 {
        number(self.raw(n), self.width(n), true)
    }

    fn value(self, n: usize) -> f64 {
        value(self.raw(n), self.width(n).max(16))
    }

    fn comparison(self, op: Op) -> Option<Want> {
        use Op::*;
        let (x, y) = (self.value(0), self.value(1));
        let (p, q) = (self.raw(0), self.raw(1));
        let nan = x.is_nan() || y.is_nan();
        let (i, j) = (self.signed(0), self.signed(1));
        let bit = p >> (q & u64::from(self.width(0) - 1)) & 1 != 0;
        let holds = match op {
            feq => x == y,
            fneu => x != y,
            flt => x < y,
            fge => x >= y,
            fltu => nan || x < y,
            fgeu => nan || x >= y,
            fequ => nan || x == y,
            fneo => !nan && x != y,
            funord => nan,
            ford => !nan,
            ieq => p == q,
            ine => p != q,
            ilt => i < j,
            ige => i >= j,
            ult => p < q,
            uge => p >= q,
            bitnz => bit,
            bitz => !bit,
            _ => return None,
        };
        Some(Want::boolean(holds, self.dbits))
    }

    fn conversion(self, op: Op) -> Option<Want> {
        use Op::*;
        let (from, to, x) = (self.width(0), self.dbits, self.raw(0));
        let int = |sign| number(x, from, sign);
        let of_int = |n: i128| Bits(Fmt::of(to).of_int(n < 0, n.unsigned_abs() as u64, Mode::Near));
        Some(match op {
            f2f => Want::exact(self.value(0)),
            f2f_rtz => match Fmt::of(to).from(Fmt::of(from).num(x), Mode::Zero) {
                half if self.value(0).is_nan() => Any(half),
                half => Bits(half),
            },
            f2i | f2u => self.to_int(op == f2i),
            f2b => Want::boolean(self.value(0) != 0.0, to),
            i2f => of_int(int(true)),
            u2f => of_int(int(false)),
            i2i => Bits(int(true) as u64 & mask(to)),
            u2u => Bits(x & mask(to)),
            b2f => Want::exact(choose(x != 0, 1.0, 0.0)),
            b2i => Bits(u64::from(x != 0)),
            i2b | b2b => Want::boolean(x != 0, to),
            _ => return None,
        })
    }

    /// Beyond the result's range C does not define it, and one bit holds too little to be of use. The machine gives the number that
    /// is nearest; of no number zero, or the highest bit where 64 bits are on either side (PTX ISA, cvt).
    fn to_int(self, sign: bool) -> Want {
        let (from, to) = (self.width(0).max(16), self.dbits);
        match Fmt::of(from).to_int(self.raw(0), Mode::Zero) {
            None => Any(choose(from == 64 || to == 64, 1 << (to - 1), 0)),
            Some((neg, n)) => {
                let n = choose(neg, -(n as i128), n as i128);
                let fits = clamp(n, to, sign);
                if to > 1 && number(fits, to, sign) == n { Bits(fits) } else { Any(fits) }
            }
        }
    }

    fn integer(self, op: Op) -> Option<Want> {
        use Op::*;
        let b = self.width(0);
        let (x, y, z) = (self.raw(0), self.raw(1), self.raw(2));
        let (i, j, k) = (self.signed(0), self.signed(1), self.signed(2));
        let (p, q, r) = (i128::from(x), i128::from(y), i128::from(z));
        let n = (y & u64::from(b - 1)) as u32;
        let parts =
            |x: u64, size: u32, sign: bool| (0..32 / size).map(move |i| number(x >> (i * size), size, sign));
        let dot = |size, a, b| -> i128 { parts(x, size, a).zip(parts(y, size, b)).map(|(a, b)| a * b).sum() };
        let low = |x: u64, bits| number(x, bits, false);
        let sext = |x: u64, bits| number(x, bits, true);
        let small = |v: i128| (-(1 << 23)..1 << 23).contains(&v);
        let fit = |v, sign| i128::from(clamp(v, b, sign));
        let word = |v, sign| i128::from(clamp(v, 32, sign));
        let relaxed =
            |fits: bool, v: i128| choose(fits, Bits as fn(u64) -> Want, Any)(v as u64 & mask(self.dbits));
        let result: i128 = match op {
            mov => p,
            bcsel => choose(x != 0, q, r),
            icsel_eqz => choose(x == 0, q, r),
            i32csel_gt => choose(i > 0, q, r),
            i32csel_ge => choose(i >= 0, q, r),
            iadd => i + j,
            iadd3 => i + j + k,
            isub => i - j,
            imul => i * j,
            imad => i * j + k,
            // As the machine's routines have it.
            idiv | irem | imod | udiv | umod if y == 0 => return Some(Any(mask(self.dbits))),
            idiv => i / j,
            irem => i % j,
            imod => ((i % j) + j) % j,
            udiv => p / q,
            umod => p % q,
            ineg => -i,
            iabs => i.abs(),
            isign => i.signum(),
            inot => !p,
            iand => p & q,
            ior => p | q,
            ixor => p ^ q,
            ishl => p << n,
            ishr => i >> n,
            ushr => p >> n,
            urol => p << n | p >> ((b - n) % b),
            uror => p >> n | p << ((b - n) % b),
            shfr => (p << 32 | q) >> (z & 31),
            imin => i.min(j),
            imax => i.max(j),
            umin => p.min(q),
            umax => p.max(q),
            imul_high => (i * j) >> b,
            umul_high => return Some(Bits(((u128::from(x) * u128::from(y)) >> b) as u64)),
            imul_2x32_64 => i * j,
            umul_2x32_64 => p * q,
            umul_low => low(x, 16) * low(y, 16),
            imul_16x16 => sext(x, 16) * sext(y, 16),
            imul_32x16 => i * sext(y, 16),
            umul_32x16 => p * low(y, 16),
            imul24 => sext(x, 24) * sext(y, 24),
            umul24 => low(x, 24) * low(y, 24),
            umad24 => low(x, 24) * low(y, 24) + r,
            imul24_relaxed => return Some(relaxed(small(i) && small(j), i * j)),
            umul24_relaxed => return Some(relaxed((p | q) >> 24 == 0, p * q)),
            umad24_relaxed => return Some(relaxed((p | q) >> 24 == 0, p * q + r)),
            uadd_carry => i128::from(p + q > i128::from(mask(b))),
            usub_borrow => i128::from(p < q),
            iadd_sat => fit(i + j, true),
            isub_sat => fit(i - j, true),
            uadd_sat => fit(p + q, false),
            usub_sat => fit(p - q, false),
            ihadd => (i + j) >> 1,
            irhadd => (i + j + 1) >> 1,
            uhadd => (p + q) >> 1,
            urhadd => (p + q + 1) >> 1,
            uabs_isub => (i - j).abs(),
            uabs_usub => (p - q).abs(),
            sdot_4x8_iadd => dot(8, true, true) + k,
            sdot_2x16_iadd => dot(16, true, true) + k,
            udot_4x8_uadd => dot(8, false, false) + r,
            udot_2x16_uadd => dot(16, false, false) + r,
            sudot_4x8_iadd => dot(8, true, false) + k,
            sdot_4x8_iadd_sat => word(dot(8, true, true) + k, true),
            sdot_2x16_iadd_sat => word(dot(16, true, true) + k, true),
            sudot_4x8_iadd_sat => word(dot(8, true, false) + k, true),
            // The table calls the accumulator signed, the operation does not.
            udot_4x8_uadd_sat => word(dot(8, false, false) + r, false),
            udot_2x16_uadd_sat => word(dot(16, false, false) + r, false),
            sad_u8x4 | msad_4x8 => {
                let pairs = parts(x, 8, false).zip(parts(y, 8, false));
                pairs.filter(|&(a, _)| op == sad_u8x4 || a != 0).map(|(a, b)| (a - b).abs()).sum::<i128>() + r
            }
            _ => return None,
        };
        Some(Bits(result as u64 & mask(self.dbits)))
    }

    fn bits(self, op: Op) -> Option<Want> {
        use Op::*;
        let b = self.width(0);
        let (x, y, z, w) = (self.raw(0), self.raw(1), self.raw(2), self.raw(3));
        let highest = |x: u64| if x == 0 { -1 } else { 63 - i64::from(x.leading_zeros()) };
        let unsigned = highest(x);
        // Of a negative number the highest zero counts.
        let signed = highest(choose(signed(x, b) < 0, !x & mask(b), x));
        let from_top = |bit: i64| choose(bit < 0, -1, i64::from(b) - 1 - bit) as u64;
        // Part `y` of a word, if there is such.
        let part =
            |size: u32, of: &dyn Fn(u64) -> u64| match y.checked_mul(size.into()).filter(|&n| n < b.into()) {
                Some(at) => Some(Bits(of(at) & mask(self.dbits))),
                None => Some(Any(0)),
            };
        let extracted = |size, sign| part(size, &|at| number(x >> at, size, sign) as u64);
        let inserted = |size| part(size, &|at| (x & mask(size)) << at);
        // Beyond the word a field is not defined.
        let inside = |position: u64, length: u64, r: u64| {
            let fits = position <= 32 && length <= 32 && position + length <= 32;
            Some(choose(fits, Bits as fn(u64) -> Want, Any)(r & mask(self.dbits)))
        };
        let r: u64 = match op {
            bit_count => x.count_ones().into(),
            bitfield_reverse => x.reverse_bits() >> (64 - b),
            find_lsb => choose(x == 0, u64::MAX, x.trailing_zeros().into()),
            ufind_msb => unsigned as u64,
            ifind_msb => signed as u64,
            // Counted from bit 31 whatever the size, which makes sense for 32 bits.
            ufind_msb_rev | ifind_msb_rev if b != 32 => return Some(Any(0)),
            ufind_msb_rev => from_top(unsigned),
            ifind_msb_rev => from_top(signed),
            uclz => u64::from(x.leading_zeros()) - u64::from(64 - b),
            bitfield_select => x & y | !x & z,
            bfm => ((1 << (x & 31)) - 1) << (y & 31),
            bfi => choose(x == 0, z, z & !x | y << (x.trailing_zeros() & 63) & x),
            bitfield_insert => return inside(z, w, insert(x, y, z, w)),
            ubitfield_extract => return inside(y, z, extract(x, y, z, false)),
            ibitfield_extract => return inside(y, z, extract(x, y, z, true)),
            ubfe => extract(x, y & 31, z & 31, false),
            // What goes beyond the word ends with it.
            ibfe => extract(x, y & 31, (z & 31).min(32 - (y & 31)), true),
            extract_u8 => return extracted(8, false),
            extract_i8 => return extracted(8, true),
            extract_u16 => return extracted(16, false),
            extract_i16 => return extracted(16, true),
            insert_u8 => return inserted(8),
            insert_u16 => return inserted(16),
            pack_64_2x32_split => x | y << 32,
            pack_32_2x16_split => x | y << 16,
            pack_32_4x8_split => x | y << 8 | z << 16 | w << 24,
            unpack_64_2x32_split_x | unpack_32_2x16_split_x => x,
            unpack_64_2x32_split_y => x >> 32,
            unpack_32_2x16_split_y => x >> 16,
            prmt_nv => (0..4).fold(0, |r, i| r | permuted(y | z << 32, x >> (4 * i) & 15) << (8 * i)),
            bf2f => x << 16,
            f2bf if f32::from_bits(x as u32).is_nan() => return Some(Any(0x7fff)),
            f2bf => (x + 0x7fff + (x >> 16 & 1)) >> 16,
            _ => return None,
        };
        Some(Bits(r & mask(self.dbits)))
    }

    fn float(self, op: Op) -> Option<Want> {
        use Op::*;
        let (exact, zero) = (Want::exact, Want::zero);
        let b = self.width(0);
        let fmt = Fmt::of(b);
        let (x, y, z) = (self.value(0), self.value(1), self.value(2));
        let raw = |n: usize| Bits(self.raw(n));
        let word = self.raw(0);
        // What is left open where something does not hold.
        let defined = |yes: bool, want: Want| if yes { want } else { Any(want.bits(self.dbits)) };
        // What the special function unit and products with its results are good for.
        let close = |x: f64, ulp: f64| Want::Float(x, ulp, choose(b == 32, 3e-38, 0.0));
        let approximate = |r: f64, relative: f64| Want::Float(r, 1.0, r.abs() * relative + 3e-38);
        // The unit takes single floats and gives such, and flushes subnormal ones.
        let single = |f: fn(f64) -> f64| f64::from(f(f64::from(x as f32)) as f32);
        let normal = b != 32 || x == 0.0 || x.abs() >= 1.2e-38;
        let least = 2f64.powi(2 - (1 << (fmt.exp - 1)));
        let fma = |x: f64, y: f64, z: f64| match b {
            32 => f64::from((x as f32).mul_add(y as f32, z as f32)),
            _ => x.mul_add(y, z),
        };
        // Products and sums may be fused or not.
        let loose = |r: f64, terms: f64| Want::Float(r, 1.0, terms.abs() * 2f64.powi(1 - fmt.frac as i32));
        let none = x == 0.0 || y == 0.0;
        Some(match op {
            fadd => exact(x + y),
            fsub => exact(x - y),
            fmul => exact(x * y),
            fmulz => choose(none, zero(0.0), exact(x * y)),
            ffma if b == 16 => Want::Float(fma(x, y, z), 1.0, 0.0),
            ffma => exact(fma(x, y, z)),
            ffmaz => choose(none, zero(z), exact(fma(x, y, z))),
            flrp => {
                let (p, q) = (x * (1.0 - z), y * z);
                let finite = |v: f64| v.is_finite() && value(round(v, b), b).is_finite();
                defined(finite(p) && finite(q), loose(p + q, p.abs() + q.abs() + x.abs()))
            }
            fdiv if b == 64 => exact(x / y),
            fdiv => defined(y.is_normal() && x.is_finite(), close(x / y, 2.5)),
            frcp if b == 64 => exact(1.0 / x),
            // Subnormal divisors and results are flushed.
            frcp => defined(normal && (b != 32 || x.abs() <= 8e37), close(1.0 / x, 1.0)),
            // Of the units in the last place the host makes one.
            frsq => defined(normal, Want::Float(1.0 / x.sqrt(), 2.0, 0.0)),
            fsqrt if b == 64 => exact(x.sqrt()),
            fsqrt => defined(normal, Want::Float(x.sqrt(), 3.0, 0.0)),
            fneg => exact(-x),
            fabs => exact(x.abs()),
            fcanonicalize => exact(x),
            fsat => zero(choose(x.is_nan(), 0.0, x.clamp(0.0, 1.0))),
            fsat_signed => zero(choose(x.is_nan(), -1.0, x.clamp(-1.0, 1.0))),
            fclamp_pos => zero(x.max(0.0)),
            fsign if x.is_nan() => zero(0.0),
            fsign => choose(x == 0.0, raw(0), exact(x.signum())),
            fmin | fmax => zero(extreme(x, y, op == fmax)),
            ffloor => exact(x.floor()),
            fceil => exact(x.ceil()),
            ftrunc => exact(x.trunc()),
            fround_even => exact(x.round_ties_even()),
            ffract => defined(x.is_finite(), zero(x - x.floor())),
            fmod | frem => {
                let q = x / y;
                // Defined by way of the quotient: where that is near a whole number, either will do.
                let near = (q - q.round()).abs() < 1e-3;
                let whole = choose(op == fmod, q.floor(), q.trunc());
                let far = q.is_finite() && q.abs() <= 1000.0 && !near && y.abs() >= 1e-30;
                defined(far, loose(x - y * whole, x.abs() + (y * whole).abs()))
            }
            fexp2 => approximate(single(f64::exp2), 2e-7 * (4.0 + x.abs())),
            flog2 => {
                let r = single(f64::log2);
                defined(x == 0.0 || x.abs() >= 1.2e-38, Want::Float(r, 1.0, 5e-7 * (1.0 + r.abs())))
            }
            fpow if y == 0.0 => exact(1.0),
            fpow => {
                let (x, y) = (x as f32, y as f32);
                let e = f64::from(x.log2()) * f64::from(y);
                let usual = x.is_normal() && x > 1.2e-38 && x < 3e38 && y.abs() < 1e30 && e.abs() <= 120.0;
                let r = f64::from(f64::from(x).powf(y.into()) as f32);
                defined(usual, approximate(r, 2e-6 * (1.0 + e.abs())))
            }
            // The unit's error is absolute, and its range reduction is of one step.
            fsin => defined(x.is_finite() && x.abs() < 100.0, Want::Float(single(f64::sin), 2.0, 2e-5)),
            fcos => defined(x.is_finite() && x.abs() < 100.0, Want::Float(single(f64::cos), 2.0, 2e-5)),
            fcsel => raw(choose(x != 0.0, 1, 2)),
            fcsel_gt => raw(choose(x > 0.0, 1, 2)),
            fcsel_ge => raw(choose(x >= 0.0, 1, 2)),
            fcsel_eqn => raw(choose(x.is_nan(), 1, 2)),
            seq => exact(f64::from(x == y)),
            sne => exact(f64::from(x != y)),
            slt => exact(f64::from(x < y)),
            sge => exact(f64::from(x >= y)),
            fisfinite => Want::boolean(x.is_finite(), self.dbits),
            fisnormal => Want::boolean(x.is_finite() && x.abs() >= least, self.dbits),
            fquantize2f16 if x.abs() < 2f64.powi(-14) => exact(f64::copysign(0.0, x)),
            fquantize2f16 => exact(value(round(x, 16), 16)),
            ldexp => {
                let r = value(fmt.scale(word, self.raw(1) as u32 as i32), b);
                // Subnormal results may be flushed or not.
                defined(r.abs() >= least || r == 0.0 || r.is_nan(), exact(r))
            }
            frexp_sig => defined(x.is_finite(), Bits(fmt.parts(word).0)),
            frexp_exp => defined(x.is_finite(), Bits(fmt.parts(word).1 as u32 as u64)),
            pack_half_2x16_split => half_pair(x, y, Mode::Near),
            pack_half_2x16_rtz_split => half_pair(x, y, Mode::Zero),
            unpack_half_2x16_split_x => exact(value(word & 0xffff, 16)),
            unpack_half_2x16_split_y => exact(value(word >> 16, 16)),
            unpack_half_2x16_split_x_flush_to_zero => half_flushed(word),
            unpack_half_2x16_split_y_flush_to_zero => half_flushed(word >> 16),
            _ => return None,
        })
    }
}
