//! Random numbers that are the same on every machine: splitmix64.

pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.word() % n
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }

    /// A value of so many bits: any, small, near the ends of a range, a number of moderate size as a float.
    pub fn special(&mut self, bits: u32) -> u64 {
        let all = u64::MAX >> (64 - bits);
        let v = match self.below(8) {
            0 => self.below(40),
            1 => (self.below(40)).wrapping_neg(),
            2 => 1 << self.below(bits.into()),
            3 => (1u64 << self.below(bits.into())).wrapping_sub(1 + self.below(2)),
            4 | 5 if bits == 32 => (((self.word() % 4096) as f32 - 2048.0) / 16.0).to_bits().into(),
            4 | 5 if bits == 64 => (((self.word() % 65536) as f64 - 32768.0) / 256.0).to_bits(),
            6 if bits == 32 => {
                let all: [u32; 10] = [
                    0,
                    0x8000_0000,
                    0x7f80_0000,
                    0xff80_0000,
                    0x7fff_ffff,
                    1,
                    0x8000_0001,
                    0x7f7f_ffff,
                    0x0080_0000,
                    0x3f80_0000,
                ];
                self.pick(&all).into()
            }
            6 if bits == 64 => {
                let all = [
                    0,
                    1 << 63,
                    0x7ff0 << 48,
                    0xfff0 << 48,
                    0x7ff8 << 48,
                    1,
                    0x000f << 48,
                    0x7fef << 48,
                    0x3ff0 << 48,
                ];
                self.pick(&all)
            }
            _ => self.word(),
        };
        v & all
    }
}
