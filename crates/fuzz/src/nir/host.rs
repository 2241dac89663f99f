//! What NIR's opcodes mean, in the host's arithmetic: written from their definitions, sharing nothing with the compiler.

use half::f16;

/// What a component of a result must be.
#[derive(Clone, Copy, Debug)]
pub enum Want {
    Bits(u64),
    /// A float of the result's size, with what it may differ by: units in the last place, and an absolute amount.
    Float(f64, f64, f64),
    /// Not defined for these operands.
    Any,
}
use Want::{Any, Bits};

pub fn mask(bits: u32) -> u64 {
    if bits == 64 { u64::MAX } else { (1 << bits) - 1 }
}

fn sext(x: u64, bits: u32) -> i128 {
    i128::from((x << (64 - bits)) as i64 >> (64 - bits))
}

/// A float's value.
pub fn value(x: u64, bits: u32) -> f64 {
    match bits {
        16 => f16::from_bits(x as u16).to_f64(),
        32 => f32::from_bits(x as u32).into(),
        _ => f64::from_bits(x),
    }
}

/// The nearest float of that size, ties to even.
pub fn round(x: f64, bits: u32) -> u64 {
    match bits {
        16 => {
            // By way of 32 bits rounded to odd, so that the second rounding sees what the first one dropped.
            let near = x as f32;
            let mut r = near.to_bits();
            if f64::from(near) != x && !x.is_nan() && near.is_finite() {
                if f64::from(near).abs() > x.abs() {
                    r -= 1;
                }
                r |= 1;
            }
            f16::from_f32(f32::from_bits(r)).to_bits().into()
        }
        32 => (x as f32).to_bits().into(),
        _ => x.to_bits(),
    }
}

fn round_to_zero(x: f64, bits: u32) -> u64 {
    let r = round(x, bits);
    if x.is_finite() && value(r, bits).abs() > x.abs() { r - 1 } else { r }
}

fn exact(x: f64) -> Want {
    Want::Float(x, 0.0, 0.0)
}

/// 1 or 0, or all ones or zero.
fn boolean(b: bool, bits: u32) -> Want {
    Bits(if b { mask(bits) } else { 0 })
}

/// The name without the bits of a result at its end, where the name has them: `ieq16`, `u2u8`.
fn stem<'a>(name: &'a str, stems: &[&'a str]) -> Option<&'a str> {
    stems.iter().copied().find(|s| match name.strip_prefix(*s) {
        Some(rest) => matches!(rest, "" | "1" | "8" | "16" | "32" | "64"),
        None => false,
    })
}

/// An opcode that works component by component; `None`: not one of these.
pub fn component(name: &str, dbits: u32, sbits: &[u32], s: &[u64]) -> Option<Want> {
    comparison(name, dbits, sbits, s)
        .or_else(|| conversion(name, dbits, sbits, s))
        .or_else(|| integer(name, dbits, sbits, s))
        .or_else(|| bits(name, dbits, sbits, s))
        .or_else(|| float(name, dbits, sbits, s))
}

fn comparison(name: &str, dbits: u32, sbits: &[u32], s: &[u64]) -> Option<Want> {
    const STEMS: &[&str] = &[
        "feq", "fneu", "flt", "fge", "fltu", "fgeu", "fequ", "fneo", "funord", "ford", "ieq", "ine", "ilt",
        "ige", "ult", "uge", "bitnz", "bitz",
    ];
    let stem = stem(name, STEMS)?;
    let b = sbits[0];
    let (x, y) = (value(s[0], b.max(16)), value(s[1], b.max(16)));
    let nan = x.is_nan() || y.is_nan();
    let (i, j) = (sext(s[0], b), sext(s[1], sbits[1]));
    let bit = s[0] >> (s[1] & u64::from(b - 1)) & 1 != 0;
    Some(boolean(
        match stem {
            "feq" => x == y,
            "fneu" => x != y,
            "flt" => x < y,
            "fge" => x >= y,
            "fltu" => nan || x < y,
            "fgeu" => nan || x >= y,
            "fequ" => nan || x == y,
            "fneo" => !nan && x != y,
            "funord" => nan,
            "ford" => !nan,
            "ieq" => s[0] == s[1],
            "ine" => s[0] != s[1],
            "ilt" => i < j,
            "ige" => i >= j,
            "ult" => s[0] < s[1],
            "uge" => s[0] >= s[1],
            "bitnz" => bit,
            _ => !bit,
        },
        dbits,
    ))
}

fn conversion(name: &str, dbits: u32, sbits: &[u32], s: &[u64]) -> Option<Want> {
    let (from, x) = (*sbits.first()?, *s.first()?);
    let stem = match name {
        "f2fmp" => "f2f",
        "i2imp" => "i2i",
        "f2imp" => "f2i",
        "f2ump" => "f2u",
        "i2fmp" => "i2f",
        "u2fmp" => "u2f",
        "f2f16_rtne" => "f2f",
        "f2f16_rtz" => {
            return Some(Bits(round_to_zero(value(x, from), 16)))
                .filter(|_| !value(x, from).is_nan())
                .or(Some(Any));
        }
        name => {
            stem(name, &["f2f", "f2i", "f2u", "f2b", "i2f", "i2i", "i2b", "u2f", "u2u", "b2f", "b2i", "b2b"])?
        }
    };
    let signed = sext(x, from);
    let f = value(x, from.max(16));
    Some(match stem {
        "f2f" => exact(f),
        "f2i" | "f2u" => {
            let t = f.trunc();
            let (low, high) = if stem == "f2i" {
                (-(2f64.powi(dbits as i32 - 1)), 2f64.powi(dbits as i32 - 1))
            } else {
                (0.0, 2f64.powi(dbits as i32))
            };
            // Beyond the result's range C does not define it. One bit holds too little to be of use.
            if dbits > 1 && t >= low && t < high { Bits(t as i128 as u64 & mask(dbits)) } else { Any }
        }
        "f2b" => boolean(f != 0.0, dbits),
        "i2f" => integer_to_float(signed, dbits),
        "u2f" => integer_to_float(i128::from(x), dbits),
        "i2i" => Bits(signed as u64 & mask(dbits)),
        "u2u" => Bits(x & mask(dbits)),
        "b2f" => exact(if x != 0 { 1.0 } else { 0.0 }),
        "b2i" => Bits(u64::from(x != 0)),
        _ => boolean(x != 0, dbits),
    })
}

fn integer_to_float(x: i128, bits: u32) -> Want {
    match bits {
        // Rust rounds once.
        32 => Bits((x as f32).to_bits().into()),
        64 => Bits((x as f64).to_bits()),
        _ => Bits(round(x.clamp(-(1 << 40), 1 << 40) as f64, 16)),
    }
}

fn integer(name: &str, dbits: u32, sbits: &[u32], s: &[u64]) -> Option<Want> {
    let b = sbits.first().copied().unwrap_or(32);
    let get = |n: usize| s.get(n).copied().unwrap_or(0);
    let (x, y, z) = (get(0), get(1), get(2));
    let bits_of = |n: usize| sbits.get(n).copied().unwrap_or(32);
    let (i, j, k) = (sext(x, b), sext(y, bits_of(1)), sext(z, bits_of(2)));
    let (p, q) = (i128::from(x), i128::from(y));
    let (low, high) = (-(1i128 << (b - 1)), (1i128 << (b - 1)) - 1);
    let n = (y & u64::from(b - 1)) as u32;
    let parts = |x: u64, size: u32, signed: bool| -> Vec<i128> {
        (0..32 / size)
            .map(|i| {
                let part = x >> (i * size) & mask(size);
                if signed { sext(part, size) } else { part.into() }
            })
            .collect()
    };
    let dot = |size, signed0, signed1| -> i128 {
        parts(x, size, signed0).iter().zip(parts(y, size, signed1)).map(|(a, b)| a * b).sum()
    };
    let (i32s, u32s) = (i128::from(i32::MIN)..=i128::from(i32::MAX), 0..=i128::from(u32::MAX));
    let word24 = |x: u64| i128::from(x & 0xff_ffff);
    let small = |v: i128| (-(1 << 23)..1 << 23).contains(&v);
    let r: i128 = match name {
        "mov" => p,
        "bcsel" | "b8csel" | "b16csel" | "b32csel" => {
            if x != 0 {
                q
            } else {
                z.into()
            }
        }
        "icsel_eqz" => {
            if x == 0 {
                q
            } else {
                z.into()
            }
        }
        "i32csel_gt" => {
            if i > 0 {
                q
            } else {
                z.into()
            }
        }
        "i32csel_ge" => {
            if i >= 0 {
                q
            } else {
                z.into()
            }
        }
        "iadd" => i + j,
        "iadd3" => i + j + k,
        "isub" => i - j,
        "imul" | "amul" => i * j,
        "imad" => i * j + k,
        "idiv" | "irem" | "imod" | "udiv" | "umod" if y == 0 => return Some(Any),
        "idiv" => i / j,
        "irem" => i % j,
        "imod" => ((i % j) + j) % j,
        "udiv" => p / q,
        "umod" => p % q,
        "ineg" => -i,
        "iabs" => i.abs(),
        "isign" => i.signum(),
        "inot" => !p,
        "iand" => p & q,
        "ior" => p | q,
        "ixor" => p ^ q,
        "ishl" => p << n,
        "ishr" => i >> n,
        "ushr" => p >> n,
        "urol" => p << n | p >> ((b - n) % b),
        "uror" => p >> n | p << ((b - n) % b),
        "shfr" => (i128::from(x) << 32 | q) >> (z & 31),
        "imin" => i.min(j),
        "imax" => i.max(j),
        "umin" => p.min(q),
        "umax" => p.max(q),
        "imul_high" => (i * j) >> b,
        "umul_high" => return Some(Bits(((u128::from(x) * u128::from(y)) >> b) as u64)),
        "imul_2x32_64" => i * j,
        "umul_2x32_64" => p * q,
        "umul_low" | "umul_16x16" => (p & 0xffff) * (q & 0xffff),
        "imul_16x16" => sext(x & 0xffff, 16) * sext(y & 0xffff, 16),
        "imul_32x16" => i * sext(y & 0xffff, 16),
        "umul_32x16" => p * (q & 0xffff),
        "imul24" => sext(x & 0xff_ffff, 24) * sext(y & 0xff_ffff, 24),
        "umul24" => word24(x) * word24(y),
        "umad24" => word24(x) * word24(y) + i128::from(z),
        "imul24_relaxed" if small(i) && small(j) => i * j,
        "umul24_relaxed" if p >> 24 == 0 && q >> 24 == 0 => p * q,
        "umad24_relaxed" if p >> 24 == 0 && q >> 24 == 0 => p * q + i128::from(z),
        "imul24_relaxed" | "umul24_relaxed" | "umad24_relaxed" => return Some(Any),
        "uadd_carry" => i128::from(p + q > i128::from(mask(b))),
        "usub_borrow" => i128::from(p < q),
        "iadd_sat" => (i + j).clamp(low, high),
        "isub_sat" => (i - j).clamp(low, high),
        "uadd_sat" => (p + q).min(mask(b).into()),
        "usub_sat" => (p - q).max(0),
        "ihadd" => (i + j) >> 1,
        "irhadd" => (i + j + 1) >> 1,
        "uhadd" => (p + q) >> 1,
        "urhadd" => (p + q + 1) >> 1,
        "uabs_isub" => (i - j).abs(),
        "uabs_usub" => (p - q).abs(),
        "sdot_4x8_iadd" => dot(8, true, true) + k,
        "sdot_2x16_iadd" => dot(16, true, true) + k,
        "udot_4x8_uadd" => dot(8, false, false) + i128::from(z),
        "udot_2x16_uadd" => dot(16, false, false) + i128::from(z),
        "sudot_4x8_iadd" => dot(8, true, false) + k,
        "sdot_4x8_iadd_sat" => (dot(8, true, true) + k).clamp(*i32s.start(), *i32s.end()),
        "sdot_2x16_iadd_sat" => (dot(16, true, true) + k).clamp(*i32s.start(), *i32s.end()),
        "sudot_4x8_iadd_sat" => (dot(8, true, false) + k).clamp(*i32s.start(), *i32s.end()),
        // The table calls the accumulator signed, the operation does not.
        "udot_4x8_uadd_sat" => (dot(8, false, false) + i128::from(z)).clamp(*u32s.start(), *u32s.end()),
        "udot_2x16_uadd_sat" => (dot(16, false, false) + i128::from(z)).clamp(*u32s.start(), *u32s.end()),
        "sad_u8x4" | "msad_4x8" => {
            let differences = parts(x, 8, false).into_iter().zip(parts(y, 8, false));
            let counted = differences.filter(|&(a, _)| name == "sad_u8x4" || a != 0);
            counted.map(|(a, b)| (a - b).abs()).sum::<i128>() + i128::from(z)
        }
        _ => return None,
    };
    Some(Bits(r as u64 & mask(dbits)))
}

fn bits(name: &str, dbits: u32, sbits: &[u32], s: &[u64]) -> Option<Want> {
    let b = *sbits.first()?;
    let get = |n: usize| s.get(n).copied().unwrap_or(0);
    let (x, y, z, w) = (get(0), get(1), get(2), get(3));
    let highest = |x: u64| if x == 0 { -1 } else { 63 - i64::from(x.leading_zeros()) };
    let unsigned = highest(x);
    // Of a negative number the highest zero counts.
    let signed = highest(if sext(x, b) < 0 { !x & mask(b) } else { x });
    let from_top = |bit: i64| if bit < 0 { -1 } else { i64::from(b) - 1 - bit };
    let extract = |x: u64, size: u32, signed: bool| -> Option<u64> {
        let at = y.checked_mul(size.into()).filter(|at| *at < u64::from(b))?;
        let part = x >> at & mask(size);
        Some(if signed { sext(part, size) as u64 } else { part })
    };
    let field = |offset: u64, count: u64, signed: bool| -> u64 {
        if count == 0 {
            return 0;
        }
        let part = x >> offset & mask(count as u32);
        if signed { sext(part, count as u32) as u64 } else { part }
    };
    let some = |r: Option<u64>| r.map_or(Any, |r| Bits(r & mask(dbits)));
    let r: u64 = match name {
        "bit_count" => x.count_ones().into(),
        "bitfield_reverse" => x.reverse_bits() >> (64 - b),
        "find_lsb" => {
            if x == 0 {
                u64::MAX
            } else {
                x.trailing_zeros().into()
            }
        }
        "ufind_msb" => unsigned as u64,
        "ifind_msb" => signed as u64,
        // Counted from bit 31 whatever the size, which makes sense for 32 bits.
        "ufind_msb_rev" | "ifind_msb_rev" if b != 32 => return Some(Any),
        "ufind_msb_rev" => from_top(unsigned) as u64,
        "ifind_msb_rev" => from_top(signed) as u64,
        "uclz" => u64::from(x.leading_zeros()) - u64::from(64 - b),
        "bitfield_select" => x & y | !x & z,
        "bfm" => mask((x & 31) as u32) << (y & 31),
        "bfi" => {
            if x == 0 {
                z
            } else {
                z & !x | y << x.trailing_zeros() & x
            }
        }
        "bitfield_insert" => {
            let (offset, count) = (z, w);
            if offset > 32 || count > 32 || offset + count > 32 {
                return Some(Any);
            }
            let ones = mask(count as u32) << offset;
            if count == 0 { x } else { x & !ones | y << offset & ones }
        }
        "ubitfield_extract" | "ibitfield_extract" => {
            if y > 32 || z > 32 || y + z > 32 {
                return Some(Any);
            }
            field(y, z, name.starts_with('i'))
        }
        "ubfe" | "ibfe" => {
            let (offset, count) = (y & 31, z & 31);
            let signed = name.starts_with('i');
            // What goes beyond the word ends with it.
            field(offset, count.min(32 - offset), signed)
        }
        "extract_u8" => return Some(some(extract(x, 8, false))),
        "extract_i8" => return Some(some(extract(x, 8, true))),
        "extract_u16" => return Some(some(extract(x, 16, false))),
        "extract_i16" => return Some(some(extract(x, 16, true))),
        "insert_u8" => return Some(some(extract(x, 8, false).map(|_| (x & 0xff) << (y * 8)))),
        "insert_u16" => return Some(some(extract(x, 16, false).map(|_| (x & 0xffff) << (y * 16)))),
        "pack_64_2x32_split" => x | y << 32,
        "pack_32_2x16_split" => x | y << 16,
        "pack_32_4x8_split" => x | y << 8 | z << 16 | w << 24,
        "unpack_64_2x32_split_x" | "unpack_32_2x16_split_x" => x,
        "unpack_64_2x32_split_y" => x >> 32,
        "unpack_32_2x16_split_y" => x >> 16,
        "prmt_nv" => (0..4).fold(0, |r, i| {
            let selector = x >> (4 * i) & 15;
            let byte = (y | z << 32) >> (8 * (selector & 7)) & 0xff;
            let byte = if selector & 8 == 0 { byte } else { mask(8) * (byte >> 7) };
            r | byte << (8 * i)
        }),
        "bf2f" => x << 16,
        "f2bf" => {
            if f32::from_bits(x as u32).is_nan() {
                return Some(Any);
            }
            (x + 0x7fff + (x >> 16 & 1)) >> 16
        }
        _ => return None,
    };
    Some(Bits(r & mask(dbits)))
}

fn float(name: &str, dbits: u32, sbits: &[u32], s: &[u64]) -> Option<Want> {
    let b = *sbits.first()?;
    let get = |n: usize| {
        let bits = sbits.get(n).copied().unwrap_or(32);
        value(s.get(n).copied().unwrap_or(0), bits.max(16))
    };
    let (x, y, z) = (get(0), get(1), get(2));
    let bits = |n: usize| Bits(s[n]);
    // What the special function unit and products with its results are good for.
    let close = |x: f64, ulp: f64| Want::Float(x, ulp, if b == 32 { 3e-38 } else { 0.0 });
    let zero = |r: f64| if r == 0.0 { Want::Float(0.0, 0.0, f64::MIN_POSITIVE) } else { exact(r) };
    let approximate = |r: f64, relative: f64| Want::Float(r, 1.0, r.abs() * relative + 3e-38);
    let single = |f: fn(f32) -> f32| f64::from(f(x as f32));
    let fma = |x: f64, y: f64, z: f64| match b {
        32 => f64::from((x as f32).mul_add(y as f32, z as f32)),
        _ => x.mul_add(y, z),
    };
    // Products and sums may be fused or not.
    let loose = |r: f64, terms: f64| {
        let unit = match b {
            16 => 2f64.powi(-10),
            32 => 2f64.powi(-23),
            _ => 2f64.powi(-52),
        };
        Want::Float(r, 1.0, terms.abs() * unit * 2.0)
    };
    Some(match name {
        "fadd" => exact(x + y),
        "fsub" => exact(x - y),
        "fmul" => exact(x * y),
        "fmulz" => {
            if x == 0.0 || y == 0.0 {
                zero(0.0)
            } else {
                exact(x * y)
            }
        }
        "ffma" => {
            if b == 16 {
                Want::Float(fma(x, y, z), 1.0, 0.0)
            } else {
                exact(fma(x, y, z))
            }
        }
        "ffmaz" => {
            if x == 0.0 || y == 0.0 {
                zero(z)
            } else {
                exact(fma(x, y, z))
            }
        }
        "flrp" => {
            let (p, q) = (x * (1.0 - z), y * z);
            if p.is_finite()
                && q.is_finite()
                && value(round(p, b), b).is_finite()
                && value(round(q, b), b).is_finite()
            {
                loose(p + q, p.abs() + q.abs() + x.abs())
            } else {
                Any
            }
        }
        "fdiv" => match b {
            64 => exact(x / y),
            _ if !y.is_normal() || !x.is_finite() => Any,
            _ => close(x / y, 2.5),
        },
        "frcp" => match b {
            64 => exact(1.0 / x),
            // Subnormal divisors and results are flushed.
            32 if x != 0.0 && (x.abs() < 1.2e-38 || x.abs() > 8e37) => Any,
            _ => close(1.0 / x, 1.0),
        },
        "frsq" => match b {
            32 if x != 0.0 && x.abs() < 1.2e-38 => Any,
            _ => Want::Float(1.0 / x.sqrt(), 2.0, 0.0), // of which the host makes one
        },
        "fsqrt" => match b {
            64 => exact(x.sqrt()),
            32 if x != 0.0 && x.abs() < 1.2e-38 => Any,
            _ => Want::Float(x.sqrt(), 3.0, 0.0),
        },
        "fneg" => exact(-x),
        "fabs" => exact(x.abs()),
        "fcanonicalize" => exact(x),
        "fsat" => zero(if x.is_nan() { 0.0 } else { x.clamp(0.0, 1.0) }),
        "fsat_signed" | "fsat_signed_mali" => zero(if x.is_nan() { -1.0 } else { x.clamp(-1.0, 1.0) }),
        "fclamp_pos" | "fclamp_pos_mali" => zero(x.max(0.0)),
        "fsign" => {
            if x.is_nan() {
                zero(0.0)
            } else if x == 0.0 {
                bits(0)
            } else {
                exact(x.signum())
            }
        }
        "fmin" => zero(x.min(y)),
        "fmax" => zero(x.max(y)),
        "ffloor" => exact(x.floor()),
        "fceil" => exact(x.ceil()),
        "ftrunc" => exact(x.trunc()),
        "fround_even" => exact(x.round_ties_even()),
        "ffract" => {
            if x.is_finite() {
                zero(x - x.floor())
            } else {
                Any
            }
        }
        "fmod" | "frem" => {
            let q = x / y;
            // Defined by way of the quotient: where that is near a whole number, either will do.
            if !q.is_finite() || q.abs() > 1000.0 || (q - q.round()).abs() < 1e-3 || y.abs() < 1e-30 {
                return Some(Any);
            }
            let q = if name == "fmod" { q.floor() } else { q.trunc() };
            loose(x - y * q, x.abs() + (y * q).abs())
        }
        "fexp2" => {
            let r = single(f32::exp2);
            approximate(r, 2e-7 * (4.0 + x.abs()))
        }
        "flog2" => {
            let r = single(f32::log2);
            if x != 0.0 && x.abs() < 1.2e-38 { Any } else { Want::Float(r, 1.0, 5e-7 * (1.0 + r.abs())) }
        }
        "fpow" if y == 0.0 => exact(1.0),
        "fpow" => {
            if !(x.is_normal() && x > 1.2e-38 && x < 3e38 && y.abs() < 1e30) {
                return Some(Any);
            }
            let r = f64::from((x as f32).powf(y as f32));
            let e = f64::from((x as f32).log2()) * y;
            if e.abs() > 120.0 { Any } else { approximate(r, 2e-6 * (1.0 + e.abs())) }
        }
        "fsin" | "fcos" => {
            // The unit's error is absolute, and its range reduction is of one step.
            let r = single(if name == "fsin" { f32::sin } else { f32::cos });
            if x.is_finite() && x.abs() < 100.0 { Want::Float(r, 2.0, 2e-5) } else { Any }
        }
        "fcsel" => {
            if x != 0.0 {
                bits(1)
            } else {
                bits(2)
            }
        }
        "fcsel_gt" => {
            if x > 0.0 {
                bits(1)
            } else {
                bits(2)
            }
        }
        "fcsel_ge" => {
            if x >= 0.0 {
                bits(1)
            } else {
                bits(2)
            }
        }
        "fcsel_eqn" => {
            if x.is_nan() {
                bits(1)
            } else {
                bits(2)
            }
        }
        "seq" => exact(f64::from(x == y)),
        "sne" => exact(f64::from(x != y)),
        "slt" => exact(f64::from(x < y)),
        "sge" => exact(f64::from(x >= y)),
        "fisfinite" | "fisfinite32" => boolean(x.is_finite(), dbits),
        "fisnormal" => {
            let least = match b {
                16 => 2f64.powi(-14),
                32 => f32::MIN_POSITIVE.into(),
                _ => f64::MIN_POSITIVE,
            };
            boolean(x.is_finite() && x.abs() >= least, dbits)
        }
        "fquantize2f16" => {
            if x.abs() < 2f64.powi(-14) {
                exact(f64::copysign(0.0, x))
            } else {
                exact(value(round(x, 16), 16))
            }
        }
        "ldexp" => {
            let n = s[1] as u32 as i32;
            let n = n.clamp(-3000, 3000);
            let r = x * 2f64.powi(n / 3) * 2f64.powi(n / 3) * 2f64.powi(n - n / 3 * 2);
            let least = match b {
                16 => 2f64.powi(-14),
                32 => f32::MIN_POSITIVE.into(),
                _ => f64::MIN_POSITIVE,
            };
            // Subnormal results may be flushed or not.
            if r.abs() < least && r != 0.0 { Any } else { exact(r) }
        }
        "frexp_exp" | "frexp_sig" => {
            if !x.is_finite() {
                return Some(Any);
            }
            let (mut sig, mut exp) = (x, 0);
            while sig != 0.0 && sig.abs() < 0.5 {
                sig *= 2.0;
                exp -= 1;
            }
            while sig.abs() >= 1.0 {
                sig /= 2.0;
                exp += 1;
            }
            if name == "frexp_sig" { exact(sig) } else { Bits(exp as u32 as u64) }
        }
        "pack_half_2x16_split" => half_pair(x, y, round),
        "pack_half_2x16_rtz_split" => half_pair(x, y, round_to_zero),
        "unpack_half_2x16_split_x" => exact(value(s[0] & 0xffff, 16)),
        "unpack_half_2x16_split_y" => exact(value(s[0] >> 16, 16)),
        "unpack_half_2x16_split_x_flush_to_zero" => flushed(s[0] & 0xffff),
        "unpack_half_2x16_split_y_flush_to_zero" => flushed(s[0] >> 16),
        _ => return None,
    })
}

fn half_pair(x: f64, y: f64, how: fn(f64, u32) -> u64) -> Want {
    if x.is_nan() || y.is_nan() { Any } else { Bits(how(x, 16) | how(y, 16) << 16) }
}

/// Subnormal halves may be flushed to zero or kept.
fn flushed(half: u64) -> Want {
    let x = value(half, 16);
    if x != 0.0 && x.abs() < 2f64.powi(-14) { Any } else { exact(x) }
}

/// An opcode over whole vectors; `None`: not one of these.
pub fn horizontal(name: &str, dbits: u32, dcomps: usize, sbits: &[u32], s: &[Vec<u64>]) -> Option<Vec<Want>> {
    let b = *sbits.first()?;
    if let Some(n) = name.strip_prefix("vec") {
        n.parse::<u32>().ok()?;
        return Some(s.iter().map(|v| Bits(v[0])).collect());
    }
    let floats = |n: usize| -> Vec<f64> { s[n].iter().map(|&x| value(x, b.max(16))).collect() };
    let sum = |terms: Vec<f64>| {
        let unit = match b {
            16 => 2f64.powi(-11),
            32 => 2f64.powi(-24),
            _ => 2f64.powi(-53),
        };
        let magnitude: f64 = terms.iter().map(|t| t.abs()).sum();
        // The order is not laid down, so beyond the range anything can come.
        if magnitude.is_finite() && value(round(magnitude, b), b).is_finite() {
            Want::Float(terms.iter().sum(), 1.0, magnitude * unit * terms.len() as f64)
        } else {
            Any
        }
    };
    if let Some(rest) = name.strip_prefix("fdot") {
        let products = floats(0).iter().zip(floats(1)).map(|(x, y)| x * y).collect();
        let copies = if rest.ends_with("_replicated") { dcomps } else { 1 };
        return Some(vec![sum(products); copies]);
    }
    if name.starts_with("fdph") {
        let (x, y) = (floats(0), floats(1));
        let terms = vec![x[0] * y[0], x[1] * y[1], x[2] * y[2], y[3]];
        return Some(vec![sum(terms); if name == "fdph" { 1 } else { dcomps }]);
    }
    if name.starts_with("fsum") {
        return Some(vec![sum(floats(0))]);
    }
    let float_equal = || floats(0).iter().zip(floats(1)).all(|(x, y)| *x == y);
    if name.starts_with("fall_equal") {
        return Some(vec![exact(f64::from(float_equal()))]);
    }
    if name.starts_with("fany_nequal") {
        return Some(vec![exact(f64::from(!float_equal()))]);
    }
    for (part, float, all) in [
        ("all_fequal", true, true),
        ("any_fnequal", true, false),
        ("all_iequal", false, true),
        ("any_inequal", false, false),
    ] {
        if name.starts_with('b') && name.contains(part) {
            let equal = if float { float_equal() } else { s[0] == s[1] };
            return Some(vec![boolean(equal == all, dbits)]);
        }
    }
    let v = &s[0];
    let joined =
        |v: &[u64], bits: u32| v.iter().rev().fold(0u64, |r, x| r.checked_shl(bits).unwrap_or(0) | x);
    let split = |x: u64, bits: u32| {
        (0..dcomps as u32).map(|i| Bits(x >> (i * bits) & mask(bits))).collect::<Vec<_>>()
    };
    let normalised = |size: u32, signed: bool| -> Want {
        let top = (mask(size) >> u32::from(signed)) as f64;
        let parts: Vec<u64> = floats(0)
            .iter()
            .map(|x| {
                let x = if x.is_nan() { 0.0 } else { x.clamp(if signed { -1.0 } else { 0.0 }, 1.0) };
                (x as f32 * top as f32).round_ties_even() as i64 as u64 & mask(size)
            })
            .collect();
        if floats(0).iter().any(|x| x.is_nan()) { Any } else { Bits(joined(&parts, size)) }
    };
    let unnormalised = |size: u32, signed: bool| -> Vec<Want> {
        let top = (mask(size) >> u32::from(signed)) as f64;
        (0..32 / size)
            .map(|i| {
                let part = v[0] >> (i * size) & mask(size);
                let x = if signed { (sext(part, size) as f64 / top).max(-1.0) } else { part as f64 / top };
                Want::Float(x, 1.0, 0.0)
            })
            .collect()
    };
    Some(match name {
        "pack_64_2x32" | "pack_double_2x32_dxil" => vec![Bits(joined(v, 32))],
        "pack_64_4x16" | "pack_32_2x16" => vec![Bits(joined(v, 16))],
        "pack_32_4x8" => vec![Bits(joined(v, 8))],
        "unpack_64_2x32" | "unpack_double_2x32_dxil" => split(v[0], 32),
        "unpack_64_4x16" | "unpack_32_2x16" => split(v[0], 16),
        "unpack_32_4x8" => split(v[0], 8),
        "pack_uvec2_to_uint" => vec![Bits(v[0] & 0xffff | v[1] << 16 & 0xffff_0000)],
        // The components are not masked; what they have beyond their byte is not defined.
        "pack_uvec4_to_uint" => vec![if v.iter().all(|x| *x < 256) { Bits(joined(v, 8)) } else { Any }],
        "pack_uint_2x16" => vec![Bits(v[0].min(0xffff) | v[1].min(0xffff) << 16)],
        "pack_sint_2x16" => {
            let part = |x: u64| sext(x, 32).clamp(-0x8000, 0x7fff) as u64 & 0xffff;
            vec![Bits(part(v[0]) | part(v[1]) << 16)]
        }
        "pack_snorm_2x16" => vec![normalised(16, true)],
        "pack_snorm_4x8" => vec![normalised(8, true)],
        "pack_unorm_2x16" => vec![normalised(16, false)],
        "pack_unorm_4x8" => vec![normalised(8, false)],
        "unpack_snorm_2x16" => unnormalised(16, true),
        "unpack_snorm_4x8" => unnormalised(8, true),
        "unpack_unorm_2x16" => unnormalised(16, false),
        "unpack_unorm_4x8" => unnormalised(8, false),
        "pack_half_2x16" => vec![half_pair(floats(0)[0], floats(0)[1], round)],
        "unpack_half_2x16" => vec![exact(value(v[0] & 0xffff, 16)), exact(value(v[0] >> 16, 16))],
        "unpack_half_2x16_flush_to_zero" => vec![flushed(v[0] & 0xffff), flushed(v[0] >> 16)],
        "mqsad_4x8" => {
            let window = s[1][0] | s[1][1] << 32;
            let one = |i: usize| {
                component("msad_4x8", 32, &[32; 3], &[v[0], window >> (8 * i) & 0xffff_ffff, s[2][i]])
            };
            return (0..4).map(one).collect();
        }
        _ => {
            // Opcodes of one component in the notation of vectors.
            let first: Vec<u64> = s.iter().map(|v| v[0]).collect();
            return component(name, dbits, sbits, &first).map(|w| vec![w]);
        }
    })
}

/// Whether a component of that size is what it must be.
pub fn agrees(want: Want, got: u64, bits: u32) -> bool {
    match want {
        Want::Any => true,
        Want::Bits(w) => got == w,
        Want::Float(x, ulp, abs) => {
            let (near, g) = (round(x, bits), value(got, bits));
            let w = value(near, bits);
            if w.is_nan() {
                return g.is_nan();
            }
            if got == near {
                return true;
            }
            if ulp == 0.0 && abs == 0.0 || g.is_nan() {
                return false;
            }
            if w.is_infinite() || g.is_infinite() {
                // Just beyond the largest number.
                return ulp > 0.0 && round(x * 0.999, bits) != near && g.signum() == w.signum();
            }
            let unit = (value(near + 1, bits) - w).abs().min((w - value(near.wrapping_sub(1), bits)).abs());
            let unit = if unit.is_finite() { unit } else { 0.0 };
            (g - w).abs() <= (ulp * unit).max(abs) + unit * f64::from(u8::from(ulp > 0.0)) * 0.5
        }
    }
}
