//! Random numbers that are the same on every machine: SplitMix64 (Steele, Lea and Flood 2014). Random tests and made-up inputs
//! are told by a seed.

/// A generator.
#[derive(Clone, Debug)]
pub struct Random(u64);

/// Integers that [`Random::below`] gives.
pub trait Integer: Copy {
    /// Of a number that fits.
    fn of(n: u64) -> Self;
    /// As a number.
    fn number(self) -> u64;
}

macro_rules! integers {
    ($($t:ty)*) => {
        $(impl Integer for $t {
            fn of(n: u64) -> $t {
                n as $t
            }

            fn number(self) -> u64 {
                self as u64
            }
        })*
    };
}

integers!(u8 u16 u32 u64 usize i32);

impl Random {
    /// The generator of a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The generator of case `index` of a kind of cases: each is made without those before it.
    pub fn of(kind: u64, index: u64) -> Random {
        Random(Random(kind ^ Random(index).word()).word())
    }

    /// Any 64 bits.
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// From 0 to `n` - 1; 0 below 0.
    pub fn below<N: Integer>(&mut self, n: N) -> N {
        N::of(self.word() % n.number().max(1))
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// One of a list, which is not empty.
    pub fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        *self.of_list(list)
    }

    /// One of a list, which is not empty.
    pub fn of_list<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }

    /// A number of any length.
    pub fn any_length(&mut self) -> u64 {
        self.word() >> self.below(64)
    }

    /// Bytes for a generator that decides by bytes: from 1 to 16 KiB, small and large ones without a pattern.
    pub fn decisions(&mut self) -> Vec<u8> {
        let n = (1024 + (self.word() >> 50)) / 8;
        (0..n).flat_map(|_| self.word().to_le_bytes()).collect()
    }

    /// So many bytes.
    pub fn bytes(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| self.word() as u8).collect()
    }

    /// Bits of a format of so many bits, with many of what rounding and ranges are about: small numbers, powers of two and what
    /// is beside them, and floats: of moderate size, the largest and the smallest, infinities and NaN.
    pub fn special(&mut self, bits: u32) -> u64 {
        const SINGLES: [u32; 10] = [
            0,
            1 << 31,
            0x7f80_0000,
            0xff80_0000,
            !0 >> 1,
            1,
            0x8000_0001,
            0x7f7f_ffff,
            1 << 23,
            0x3f80_0000,
        ];
        const DOUBLES: [u64; 9] =
            [0, 1 << 63, 0x7ff0 << 48, 0xfff0 << 48, 0x7ff8 << 48, 1, 0xf << 48, 0x7fef << 48, 0x3ff0 << 48];
        let v = match self.below(8) {
            0 => self.below(40),
            1 => self.below(40u64).wrapping_neg(),
            2 => 1 << self.below(bits),
            3 => (1u64 << self.below(bits)).wrapping_sub(1 + self.below(2)),
            4 | 5 if bits == 32 => ((self.below(4096u32) as f32 - 2048.0) / 16.0).to_bits().into(),
            4 | 5 if bits == 64 => ((self.below(65536u32) as f64 - 32768.0) / 256.0).to_bits(),
            6 if bits == 32 => self.pick(&SINGLES).into(),
            6 if bits == 64 => self.pick(&DOUBLES),
            _ => self.word(),
        };
        v & u64::MAX >> (64 - bits)
    }
}
