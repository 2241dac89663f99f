//! Mutants of everything that is read: TGSI, NIR, SPIR-V, IR, SASS text, fixtures, cubins. Whatever is done to an input, there
//! is a result or a diagnostic, soon and in bounded memory: never a panic, nor an error that the library reports of itself.

pub(crate) mod code;
pub(crate) mod fixtures;
pub(crate) mod module;
pub(crate) mod mutate;
pub(crate) mod programs;
mod seeds;

use nvir::random::Random;
use std::sync::OnceLock;

/// An input made from a seed.
struct Mutant {
    /// Which seed.
    seed: usize,
    data: Vec<u8>,
}

impl Mutant {
    fn text(&self) -> &str {
        std::str::from_utf8(&self.data).expect("made from text")
    }
}

/// Seeds of a format, which are read and compiled once.
struct Seeds<T> {
    format: &'static str,
    read: fn() -> Vec<T>,
    all: OnceLock<Vec<T>>,
    make: fn(seed: &T, other: &T, r: &mut Random) -> Vec<u8>,
}

impl<T> Seeds<T> {
    const fn new(
        format: &'static str,
        read: fn() -> Vec<T>,
        make: fn(seed: &T, other: &T, r: &mut Random) -> Vec<u8>,
    ) -> Seeds<T> {
        Seeds { format, read, all: OnceLock::new(), make }
    }

    fn all(&self) -> &[T] {
        self.all.get_or_init(self.read)
    }

    /// The mutant of that number, and the generator to go on with.
    fn mutant(&self, case: u64) -> (Mutant, Random) {
        let kind = self.format.bytes().fold(0u64, |h, b| h.wrapping_mul(31) + u64::from(b));
        let mut r = Random::of(kind << 32 ^ 0x2545_f491_4f6c_dd1d, case);
        let all = self.all();
        let (seed, other) = (r.below(all.len()), r.of_list(all));
        let data = (self.make)(&all[seed], other, &mut r);
        (Mutant { seed, data }, r)
    }

    fn input(&self, case: u64) -> (Vec<u8>, &'static str) {
        (self.mutant(case).0.data, self.format)
    }
}
