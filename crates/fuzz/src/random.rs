//! Decisions from a number: the same on every machine.

/// xorshift64*
pub struct Random(u64);

impl Random {
    /// The generator of case `index` of a kind of cases: each is made without those before it.
    pub fn of(kind: u64, index: u64) -> Random {
        let mut r = Random((kind ^ index.wrapping_mul(0x9e37_79b9_7f4a_7c15)) | 1);
        for _ in 0..4 {
            r.word();
        }
        r
    }

    pub fn word(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.word() >> 33) as usize % n.max(1)
    }

    /// True in one of `n` cases.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub fn of_list<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }

    /// Bytes for a generator that decides by bytes: from 1 to 16 KiB, small and large ones without a pattern.
    pub fn bytes(&mut self) -> Vec<u8> {
        let words = (1024 + (self.word() >> 50)) / 8;
        (0..words).flat_map(|_| self.word().to_le_bytes()).collect()
    }
}
