//! Numbers as nvdisasm writes float immediates: C's `%.20g`, from 10^9 on `%.20e`, with names for
//! what is not finite.

use std::fmt::Write;

const DIGITS: usize = 20;

/// The NaNs that the names alone stand for, without sign: of an f32 (all bits of a 20-bit
/// immediate, as compilers write it), and as the high word of an f64.
pub(super) const QNAN32: u32 = 0x7ff0_0000;
pub(super) const QNAN64: u32 = 0x7ff8_0000;
pub(super) const SNAN64: u32 = 0x7ff4_0000;

/// A NaN by its name; one with another payload says all its bits. nvdisasm leaves them out.
fn write_nan(out: &mut String, name: &str, bits: u32, usual: u32) {
    const SIGN: u32 = 1 << 31;
    out.push(if bits & SIGN != 0 { '-' } else { '+' });
    out.push_str(name);
    if bits & !SIGN != usual {
        let _ = write!(out, "({bits:#x})");
    }
    out.push(' ');
}

/// Writes an f32 immediate; nvdisasm widens it first, which makes every NaN quiet.
pub(crate) fn write_f32(out: &mut String, bits: u32) {
    let value = f32::from_bits(bits);
    if value.is_nan() {
        write_nan(out, "QNAN", bits, QNAN32);
    } else {
        write(out, f64::from(value));
    }
}

/// Writes an f64 immediate.
pub(crate) fn write_f64(out: &mut String, bits: u64) {
    const QUIET: u64 = 1 << 51;
    let value = f64::from_bits(bits);
    if value.is_nan() {
        let (name, usual) = if bits & QUIET != 0 { ("QNAN", QNAN64) } else { ("SNAN", SNAN64) };
        write_nan(out, name, (bits >> 32) as u32, usual);
    } else {
        write(out, value);
    }
}

fn write(out: &mut String, value: f64) {
    if value.is_infinite() {
        out.push_str(if value < 0.0 { "-INF " } else { "+INF " });
    } else if value == 0.0 {
        out.push_str(if value.is_sign_negative() { "-0.0 " } else { "0" });
    } else if value.abs() >= 1e9 {
        let text = format!("{value:.DIGITS$e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let _ = write!(out, "{mantissa}e+{exponent:0>2}");
    } else {
        write_general(out, value);
    }
}

/// `%.20g` of what is below 10^9: twenty significant digits without trailing zeros, an exponent
/// where it is below -4.
fn write_general(out: &mut String, value: f64) {
    let text = format!("{:.*e}", DIGITS - 1, value);
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(m) => ("-", m),
        None => ("", mantissa),
    };
    let digits: String = mantissa.chars().filter(|&c| c != '.').collect();
    let digits = digits.trim_end_matches('0');
    out.push_str(sign);
    if exponent < -4 {
        out.push_str(&digits[..1]);
        if digits.len() > 1 {
            out.push('.');
            out.push_str(&digits[1..]);
        }
        let _ = write!(out, "e-{:02}", -exponent);
    } else if exponent < 0 {
        out.push_str("0.");
        out.extend(std::iter::repeat_n('0', (-exponent - 1) as usize));
        out.push_str(digits);
    } else {
        let whole = exponent as usize + 1;
        if digits.len() <= whole {
            out.push_str(digits);
            out.extend(std::iter::repeat_n('0', whole - digits.len()));
        } else {
            out.push_str(&digits[..whole]);
            out.push('.');
            out.push_str(&digits[whole..]);
        }
    }
}

#[cfg(test)]
mod tests {
    fn text(v: f64) -> String {
        let mut s = String::new();
        super::write_f64(&mut s, v.to_bits());
        s
    }

    #[test]
    fn floats_are_written_as_by_printf_20g() {
        assert_eq!(text(0.5), "0.5");
        assert_eq!(text(-2.0), "-2");
        assert_eq!(text(f64::from(f32::from_bits(8))), "1.1210387714598536567e-44");
        assert_eq!(text(f64::from(f32::from_bits(0x800000))), "1.175494350822287508e-38");
        assert_eq!(text(998244352.0), "998244352");
        assert_eq!(text(123456789.0), "123456789");
        assert_eq!(text(0.0001), "0.00010000000000000000479");
        assert_eq!(text(-0.0), "-0.0 ");
    }

    #[test]
    fn large_floats_are_written_with_all_digits() {
        assert_eq!(text(1e9), "1.00000000000000000000e+09");
        assert_eq!(text(f64::from(-1e10f32)), "-1.00000000000000000000e+10");
        assert_eq!(text(18446744073709551616.0), "1.84467440737095516160e+19");
    }
}
