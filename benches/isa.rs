//! How fast words are decoded and encoded: `cargo bench --bench isa`.

use divan::{Bencher, counter::ItemsCount};
use nvir::Chip;
use nvir::isa;

fn main() {
    divan::main();
}

/// A deterministic sequence of words (splitmix64).
fn words(n: usize) -> Vec<u64> {
    let mut state = 0u64;
    let next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    std::iter::repeat_with(next).take(n).collect()
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
