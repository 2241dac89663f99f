//! How fast words are decoded and encoded: `cargo bench --bench isa`.

use divan::{Bencher, counter::ItemsCount};
use nvir::Chip;
use nvir::isa;

fn main() {
    divan::main();
}

/// A deterministic sequence of words.
fn words(n: usize) -> Vec<u64> {
    let mut random = nvir::random::Random::new(0);
    std::iter::repeat_with(|| random.word()).take(n).collect()
}

const N: usize = 100_000;

#[divan::bench(args = Chip::ALL)]
fn decode_random_words(bencher: Bencher<'_, '_>, chip: Chip) {
    let words = words(N);
    bencher
        .counter(ItemsCount::new(N))
        .bench(|| words.iter().filter(|&&w| isa::decode(chip, w, 0).is_some()).count());
}

#[divan::bench(args = Chip::ALL)]
fn encode_what_decodes(bencher: Bencher<'_, '_>, chip: Chip) {
    let insts: Vec<_> = words(N).into_iter().filter_map(|w| isa::decode(chip, w, 0)).collect();
    bencher
        .counter(ItemsCount::new(insts.len()))
        .bench(|| insts.iter().filter(|m| isa::encode(chip, m, 0).is_ok()).count());
}
