//! Integer operations that Rust has no single operator for.

/// `a + b + carry_in`, with the carry out and whether the signed sum overflowed.
#[inline]
pub fn add_carry(a: u32, b: u32, carry: bool) -> (u32, bool, bool) {
    let wide = u64::from(a) + u64::from(b) + u64::from(carry);
    let sum = wide as u32;
    (sum, wide >> 32 != 0, (a ^ sum) & (b ^ sum) & 0x8000_0000 != 0)
}

/// SHL without `.W`: 32 and more shift everything out.
#[inline]
pub fn shl(a: u32, by: u32) -> u32 {
    if by < 32 { a << by } else { 0 }
}

/// SHR.U32 without `.W`.
#[inline]
pub fn shr_u(a: u32, by: u32) -> u32 {
    if by < 32 { a >> by } else { 0 }
}

/// SHR without `.W`: fills with the sign.
#[inline]
pub fn shr_s(a: u32, by: u32) -> u32 {
    ((a as i32) >> by.min(31)) as u32
}

/// BFE: `b` is position (bits 7:0) and length (15:8). Bits above bit 31 read as the sign (or 0
/// unsigned).
#[inline]
pub fn bfe(a: u32, b: u32, signed: bool) -> u32 {
    let (pos, len) = (b & 0xff, b >> 8 & 0xff);
    if len == 0 {
        return 0;
    }
    let wide = if signed { i64::from(a as i32) } else { i64::from(a) };
    let wide = wide >> pos.min(63);
    if len >= 32 {
        return wide as u32;
    }
    let up = 64 - len;
    if signed {
        // The sign is the field's highest bit, or bit 31 where the field reaches beyond it.
        ((wide << up) >> up) as u32
    } else {
        (wide as u32) & ((1 << len) - 1)
    }
}

/// BFI: the low bits of `a` into `c` at position (bits 7:0) and length (15:8) of `b`.
#[inline]
pub fn bfi(a: u32, b: u32, c: u32) -> u32 {
    let (pos, len) = (b & 0xff, (b >> 8 & 0xff).min(32));
    if pos >= 32 || len == 0 {
        return c;
    }
    let mask = ((1u64 << len) - 1) << pos;
    ((u64::from(a) << pos & mask) | (u64::from(c) & !mask)) as u32
}

/// What [`flo`] gives of the bit that it finds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// Its number, from the lowest on.
    Bit,
    /// The number of shifts left that bring it to bit 31.
    Shift,
}

/// FLO: the highest bit that is set (unsigned), or that differs from the sign (signed); 0xffffffff
/// if there is none. (NAK's model says 32 where there is none, but its test on a card never tries
/// that; PTX's bfind.shiftamt and NIR say 0xffffffff.)
#[inline]
pub fn flo(a: u32, signed: bool, give: Found) -> u32 {
    let a = if signed && (a as i32) < 0 { !a } else { a };
    match (a, give) {
        (0, _) => u32::MAX,
        (_, Found::Shift) => a.leading_zeros(),
        (_, Found::Bit) => 31 - a.leading_zeros(),
    }
}

/// How PRMT selects its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Permute {
    /// Nibble i of the selector: byte 0..7 of `hi:lo`, with bit 3 the byte's sign in all its bits.
    #[default]
    Index,
    F4e,
    B4e,
    Rc8,
    Ecl,
    Ecr,
    Rc16,
}

/// PRMT: bytes of `lo` (0 to 3) and `hi` (4 to 7) chosen by `sel`. Source: PTX ISA, `prmt`.
pub fn prmt(lo: u32, sel: u32, hi: u32, mode: Permute) -> u32 {
    let all = (u64::from(hi) << 32 | u64::from(lo)).to_le_bytes();
    let s = sel as usize & 3;
    let pick: [usize; 4] = match mode {
        Permute::Index => {
            let mut out = [0; 4];
            for (i, byte) in out.iter_mut().enumerate() {
                let nibble = sel >> (4 * i) & 15;
                let b = all[nibble as usize & 7];
                *byte = if nibble & 8 != 0 { ((b as i8) >> 7) as u8 } else { b };
            }
            return u32::from_le_bytes(out);
        }
        Permute::F4e => [s, s + 1, s + 2, s + 3],
        Permute::B4e => [s, (s + 7) % 8, (s + 6) % 8, (s + 5) % 8],
        Permute::Rc8 => [s; 4],
        Permute::Ecl => [s, 1.max(s), 2.max(s), 3],
        Permute::Ecr => [0, 1.min(s), 2.min(s), s],
        Permute::Rc16 => {
            let h = (s & 1) * 2;
            [h, h + 1, h, h + 1]
        }
    };
    u32::from_le_bytes(pick.map(|i| all[i]))
}

/// A factor of [`mul_wide`].
#[inline]
pub fn factor(a: u32, signed: bool) -> i64 {
    if signed { i64::from(a as i32) } else { i64::from(a) }
}

/// The 64 bits of a product of two words, each of its own sign.
#[inline]
pub fn mul_wide(a: i64, b: i64) -> u64 {
    a.wrapping_mul(b) as u64
}

/// Sign-extends the low `bits` bits.
#[inline]
pub fn sext(a: u32, bits: u32) -> u32 {
    ((a << (32 - bits)) as i32 >> (32 - bits)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bit_fields_outside_the_word_read_as_sign_or_zero() {
        assert_eq!(bfe(0x8765_4321, 0x0804, false), 0x32);
        assert_eq!(bfe(0x8765_4321, 0x081c, true), 0xffff_fff8);
        assert_eq!(bfe(0x8765_4321, 0x081c, false), 0x8);
        assert_eq!(bfe(0x8765_4321, 0x0020, true), 0);
        assert_eq!(bfe(0x8765_4321, 0x0440, true), u32::MAX);
        assert_eq!(bfe(0x8765_4321, 0xff00, false), 0x8765_4321);
        assert_eq!(bfi(0xff, 0x0408, 0), 0xf00);
        assert_eq!(bfi(0xff, 0x2000, 7), 0xff);
        assert_eq!(bfi(0xff, 0x081c, 0), 0xf000_0000);
        assert_eq!(bfi(0xff, 0x0820, 5), 5);
    }

    #[test]
    fn leading_bit_is_counted_from_either_end() {
        assert_eq!(flo(0, false, Found::Bit), u32::MAX);
        assert_eq!(flo(1, false, Found::Bit), 0);
        assert_eq!(flo(0x8000_0000, false, Found::Shift), 0);
        assert_eq!(flo(u32::MAX, true, Found::Bit), u32::MAX);
        assert_eq!(flo(0xffff_fff0, true, Found::Bit), 3);
    }

    #[test]
    fn bytes_are_permuted_as_the_ptx_manual_shows() {
        let (lo, hi) = (0x3322_1100, 0x7766_5544);
        assert_eq!(prmt(lo, 0x7531, hi, Permute::Index), 0x7755_3311);
        assert_eq!(prmt(0x80, 0x8, 0, Permute::Index), 0x8080_80ff);
        assert_eq!(prmt(lo, 2, hi, Permute::F4e), 0x5544_3322);
        assert_eq!(prmt(lo, 2, hi, Permute::B4e), 0x7700_1122);
        assert_eq!(prmt(lo, 2, hi, Permute::Rc8), 0x2222_2222);
        assert_eq!(prmt(lo, 2, hi, Permute::Ecl), 0x3322_2222);
        assert_eq!(prmt(lo, 2, hi, Permute::Ecr), 0x2222_1100);
        assert_eq!(prmt(lo, 1, hi, Permute::Rc16), 0x3322_3322);
    }
}
