//! Numbers of SASS text, and which of them an operand takes.

use super::float;
use crate::codec::Misfit;
use crate::row::{Bits, ImmEnc, Kind, Slot};
use crate::{ImmKind, Operand, SrcMods};

/// What a number is as operand `i` of this kind.
pub(super) fn number_as(text: &str, mods: SrcMods, kind: Kind, i: u8) -> Result<Operand, Misfit> {
    let integer = || word(int(text).ok_or(Misfit::Operands)?).ok_or(Misfit::Range(i));
    match kind {
        Kind::Imm { enc, .. } => {
            let kind = crate::codec::imm_kind(enc);
            let bits = match kind {
                ImmKind::Int => integer()?,
                ImmKind::F32 => f32_bits(text).ok_or(Misfit::Range(i))?,
                ImmKind::F64 => f64_high(text).ok_or(Misfit::Range(i))?,
            };
            Ok(Operand::Imm { bits, kind, mods })
        }
        Kind::TargetRel(_) | Kind::TargetNear(_) | Kind::TargetAbs(_) if mods == SrcMods::default() => {
            Ok(Operand::Target(integer()?))
        }
        _ => Err(Misfit::Operands),
    }
}

/// A number as 32 bits, if it is one with or without sign.
pub(super) fn word(n: i64) -> Option<u32> {
    (i64::from(i32::MIN)..=i64::from(u32::MAX)).contains(&n).then_some(n as u32)
}

/// Which numbers an operand takes.
pub(super) fn range(slot: &Slot) -> Option<String> {
    let signed = |at: Bits, shift: u8| (at.max() >> 1).wrapping_add(1) << shift;
    let multiple =
        |shift: u8| if shift > 0 { format!(", a multiple of {}", 1 << shift) } else { String::new() };
    Some(match slot.kind {
        Kind::Imm { at, enc } => match enc {
            // Either sign, see `word`.
            ImmEnc::Unsigned | ImmEnc::Decimal | ImmEnc::Signed | ImmEnc::SignedAsHex if at.width() == 32 => {
                "a number of 32 bits".to_string()
            }
            ImmEnc::Unsigned => format!("0 to {:#x}", at.max()),
            ImmEnc::Decimal => format!("0 to {}", at.max()),
            ImmEnc::Signed | ImmEnc::SignedAsHex => {
                format!("-{0:#x} to {1:#x}", signed(at, 0), at.max() >> 1)
            }
            ImmEnc::Negated => format!("-{:#x} to 0", at.max()),
            ImmEnc::Scaled(shift) => format!("0 to {:#x}{}", at.max() << shift, multiple(shift)),
            ImmEnc::F16 => "a number that 16 bits hold exactly".to_string(),
            ImmEnc::F32 | ImmEnc::F64 if at.width() < 32 => {
                format!("a number that the first {} bits of a float hold exactly", at.width())
            }
            ImmEnc::F32 | ImmEnc::F64 => "a number that a float can be".to_string(),
        },
        Kind::Const { bank, offset, shift, .. } => {
            format!(
                "banks 0 to {:#x}, offsets 0 to {:#x}{}",
                bank.max(),
                offset.max() << shift,
                multiple(shift)
            )
        }
        Kind::ConstOf { bank, offset, shift } => {
            format!("bank {bank:#x}, offsets 0 to {:#x}{}", offset.max() << shift, multiple(shift))
        }
        Kind::ConstInd { bank, offset, shift, .. } => {
            let low = signed(offset, shift);
            format!("banks 0 to {:#x}, offsets -{low:#x} to {:#x}{}", bank.max(), low - 1, multiple(shift))
        }
        Kind::Mem { offset, shift, .. } if offset.width() > 0 => {
            let low = signed(offset, shift);
            format!("an offset from -{low:#x} to {:#x}{}", low - 1, multiple(shift))
        }
        Kind::Attr { offset, shift, .. } if offset.width() > 0 => {
            format!("an offset up to {:#x}{}", offset.max() << shift, multiple(shift))
        }
        Kind::TargetRel(at) => format!("an address at most {:#x} bytes away", at.max() >> 1),
        Kind::TargetNear(at) => format!("an address at most {:#x} bytes away", (at.max() >> 1) << 2),
        Kind::TargetAbs(at) => format!("an address up to {:#x}", at.max()),
        _ => return None,
    })
}

/// The length of a decimal number without sign: digits, a fraction if a digit follows the point, an
/// exponent.
pub(super) fn decimal_len(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let mut len = digits(0);
    if len == 0 {
        return 0;
    }
    if bytes.get(len) == Some(&b'.') {
        let fraction = digits(len + 1);
        if fraction > 0 {
            len += 1 + fraction;
        }
    }
    if bytes.get(len) == Some(&b'e') {
        let sign = usize::from(matches!(bytes.get(len + 1), Some(b'+' | b'-')));
        let exponent = digits(len + 1 + sign);
        if exponent > 0 {
            len += 1 + sign + exponent;
        }
    }
    len
}

/// A whole number; one beyond 64 bits is as good as the largest.
pub(super) fn int(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(d) => (true, d),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let value = match digits.strip_prefix("0x") {
        Some(hex) if hex.bytes().all(|b| b.is_ascii_hexdigit()) && !hex.is_empty() => {
            i64::from_str_radix(hex, 16).unwrap_or(i64::MAX)
        }
        None if digits.bytes().all(|b| b.is_ascii_digit()) && !digits.is_empty() => {
            digits.parse().unwrap_or(i64::MAX)
        }
        _ => return None,
    };
    Some(if negative { -value } else { value })
}

fn f32_bits(text: &str) -> Option<u32> {
    if let Some(bits) = float_pattern(text) {
        return bits;
    }
    let nan = [("+QNAN", float::QNAN32), ("-QNAN", float::QNAN32 | SIGN)];
    if let Some((_, bits)) = nan.iter().find(|n| n.0 == text) {
        return Some(*bits);
    }
    let wide = special_float(text)?;
    let value = wide as f32;
    (value.is_infinite() == wide.is_infinite()).then_some(value.to_bits())
}

const SIGN: u32 = 1 << 31;

/// A float that is given by its bits: `0x7f800001`, `+QNAN(0x7fc00000)`. Inside is what they are,
/// or nothing if they cannot be read or are no such number.
fn float_pattern(text: &str) -> Option<Option<u32>> {
    let hex = |t: &str| u32::from_str_radix(t.strip_prefix("0x")?, 16).ok();
    if text.starts_with("0x") {
        return Some(hex(text));
    }
    let (name, bits) = text.strip_suffix(')')?.split_once('(')?;
    let negative = |bits: u32| bits & SIGN != 0;
    Some(hex(bits).filter(|&b| negative(b) == name.starts_with('-') && b & 0x7f80_0000 == 0x7f80_0000))
}

fn f64_high(text: &str) -> Option<u32> {
    if let Some(bits) = float_pattern(text) {
        return bits;
    }
    match text {
        "+SNAN" => return Some(float::SNAN64),
        "-SNAN" => return Some(float::SNAN64 | SIGN),
        "+QNAN" => return Some(float::QNAN64),
        "-QNAN" => return Some(float::QNAN64 | SIGN),
        _ => {}
    }
    // The low word of the operand is zero.
    let bits = special_float(text)?.to_bits();
    (bits as u32 == 0).then_some((bits >> 32) as u32)
}

fn special_float(text: &str) -> Option<f64> {
    let (negative, name) = match text.strip_prefix('-') {
        Some(n) => (true, n),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let value: f64 = match name {
        "INF" => f64::INFINITY,
        "QNAN" => f64::NAN,
        digits => digits.parse().ok().filter(|v: &f64| v.is_finite())?,
    };
    Some(if negative { -value } else { value })
}
