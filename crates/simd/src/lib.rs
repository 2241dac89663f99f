//! Functions compiled for what the processor has, and chosen once.
//!
//! A [`Kernel`] is an ordinary loop over arrays, of which the compiler makes vector code. [`Processor::compiled`] gives a pointer to it as
//! compiled for the features that were found, so that a call costs no more than any other. This crate has the only `unsafe` that
//! that takes; what computes has none.
//!
//! ```
//! use nvir_simd::{Features, Kernel, Processor};
//! struct Add;
//! impl Kernel<[u32; 32], [u32; 32], (), (), ()> for Add {
//!     #[inline(always)]
//!     fn run<F: Features>(sum: &mut [u32; 32], more: &[u32; 32], _: &(), _: &(), _: u32) {
//!         (0..32).for_each(|i| sum[i] += more[i]);
//!     }
//! }
//! let add = Processor::detect().compiled::<Add, _, _, _, _, _>();
//! let mut sum = [1; 32];
//! add(&mut sum, &[2; 32], &(), &(), 0);
//! assert_eq!(sum, [3; 32]);
//! ```

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// What a kernel may rely on where it is compiled.
pub trait Features {
    /// `f32::mul_add` and `f64::mul_add` are single instructions: elsewhere they are calls.
    const FMA: bool;

    /// The highest bits of 32 words, the first word's as bit 0.
    fn sign_bits(words: &[u32; 32]) -> u32;
}

/// What every processor of this architecture has.
#[derive(Clone, Copy, Debug)]
pub struct Baseline;

impl Features for Baseline {
    const FMA: bool = cfg!(any(target_arch = "aarch64", target_feature = "fma"));

    #[inline(always)]
    fn sign_bits(words: &[u32; 32]) -> u32 {
        #[cfg(target_arch = "x86_64")]
        #[expect(unsafe_code, reason = "see below")]
        // SAFETY: every x86-64 has SSE2.
        unsafe {
            sse2::sign_bits(words)
        }
        #[cfg(not(target_arch = "x86_64"))]
        sign_bits_anywhere(words)
    }
}

/// AVX2 with what all processors have that have it. Nobody outside can name it: who is given it runs on a processor where it was found.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug)]
struct Avx2;

#[cfg(target_arch = "x86_64")]
impl Features for Avx2 {
    const FMA: bool = true;

    #[inline(always)]
    fn sign_bits(words: &[u32; 32]) -> u32 {
        #[expect(unsafe_code, reason = "see below")]
        // SAFETY: AVX2 was found.
        unsafe {
            avx2::sign_bits(words)
        }
    }
}

/// What is computed, for all processors. `run` and what it calls should be `#[inline(always)]`: what is not part of the compiled
/// function is compiled without its features.
pub trait Kernel<A: ?Sized, B: ?Sized, C: ?Sized, D: ?Sized, R> {
    /// Computes it.
    fn run<F: Features>(a: &mut A, b: &B, c: &C, d: &D, n: u32) -> R;
}

/// A kernel as compiled for a processor.
pub type Compiled<A, B, C, D, R> = fn(&mut A, &B, &C, &D, u32) -> R;

/// A set of features that the processor has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Processor(Set);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Set {
    Baseline,
    /// Only where it was found.
    #[cfg(target_arch = "x86_64")]
    Avx2,
}

impl Processor {
    /// The most that it has.
    #[inline]
    pub fn detect() -> Processor {
        #[cfg(target_arch = "x86_64")]
        {
            macro_rules! has {
                ($($feature:tt)*) => { true $(&& std::arch::is_x86_feature_detected!($feature))* };
            }
            if has!("avx2" "fma" "bmi1" "bmi2" "lzcnt" "popcnt") {
                return Processor(Set::Avx2);
            }
        }
        Processor::BASELINE
    }

    /// What every processor has.
    pub const BASELINE: Processor = Processor(Set::Baseline);

    /// All sets that this processor has, for tests.
    pub fn all() -> Vec<Processor> {
        let mut all = vec![Processor::BASELINE, Processor::detect()];
        all.dedup();
        all
    }

    /// The kernel as compiled for it.
    pub fn compiled<K, A, B, C, D, R>(self) -> Compiled<A, B, C, D, R>
    where
        A: ?Sized,
        B: ?Sized,
        C: ?Sized,
        D: ?Sized,
        K: Kernel<A, B, C, D, R>,
    {
        match self.0 {
            Set::Baseline => K::run::<Baseline>,
            #[cfg(target_arch = "x86_64")]
            #[expect(unsafe_code, reason = "see below")]
            // SAFETY: only `detect` makes this value, after it has found all features that the function is compiled for; a processor
            // does not lose them. (Where they are known, a pointer to such a function is like any other.)
            Set::Avx2 => unsafe { avx2::pointer::<K, A, B, C, D, R>() },
        }
    }
}

/// Rows of words. What kernels read next is written in as large pieces as they read it: the processor could not forward it else.
impl Processor {
    /// Copies a row.
    #[inline]
    pub fn copy(self, from: &[u32; 32], to: &mut [u32; 32]) {
        self.compiled::<Copy, _, _, _, _, _>()(to, from, &(), &(), 0);
    }

    /// Makes all words of a row the same.
    #[inline]
    pub fn fill(self, word: u32, to: &mut [u32; 32]) {
        self.compiled::<Fill, _, _, _, _, _>()(to, &(), &(), &(), word);
    }

    /// Takes over the words of a row whose bits are set in a mask.
    #[inline]
    pub fn merge(self, mask: u32, from: &[u32; 32], to: &mut [u32; 32]) {
        self.compiled::<Merge, _, _, _, _, _>()(to, from, &(), &(), mask);
    }

    /// Loads words that follow each other.
    #[inline]
    pub fn load<W: Word>(self, from: &[W; 32], to: &mut [u32; 32]) {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            #[expect(unsafe_code, reason = "see below")]
            // SAFETY: both are 128 bytes, and AVX was found.
            Set::Avx2 => unsafe { x86::move_by_32(from.as_ptr().cast(), to.as_mut_ptr()) },
            Set::Baseline => from.iter().zip(to).for_each(|(from, to)| *to = from.word()),
        }
    }

    /// Loads words by their places in bytes, of which the lowest two bits do not count.
    ///
    /// # Panics
    /// If one is outside.
    #[inline]
    pub fn gather<W: Word>(self, from: &[W], places: &[u32; 32], to: &mut [u32; 32]) {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            #[expect(unsafe_code, reason = "see below")]
            Set::Avx2 => {
                let highest = self.compiled::<Highest, _, _, _, _, _>()(&mut (), places, &(), &(), 0);
                assert!(((highest >> 2) as usize) < from.len(), "a place behind the last word");
                // SAFETY: no place is outside, and AVX2 was found.
                unsafe { x86::gather_by_8(from.as_ptr().cast(), places, to) }
            }
            Set::Baseline => {
                places.iter().zip(to).for_each(|(place, to)| *to = from[(place >> 2) as usize].word());
            }
        }
    }

    /// Stores words that other threads may access, each with relaxed order.
    #[inline]
    pub fn store(self, from: &[u32; 32], to: &[AtomicU32; 32]) {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            #[expect(unsafe_code, reason = "see below")]
            // SAFETY: both are 128 bytes, AVX was found, and atomic words may be written through a shared reference.
            Set::Avx2 => unsafe { x86::move_by_32(from.as_ptr(), to.as_ptr().cast_mut().cast()) },
            Set::Baseline => from.iter().zip(to).for_each(|(from, to)| to.store(*from, Relaxed)),
        }
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for u32 {}
    impl Sealed for super::AtomicU32 {}
}

/// A word of memory: one's own, or one that other threads may access.
pub trait Word: sealed::Sealed {
    /// Its value, read with relaxed order.
    fn word(&self) -> u32;
}

impl Word for u32 {
    fn word(&self) -> u32 {
        *self
    }
}

impl Word for AtomicU32 {
    fn word(&self) -> u32 {
        self.load(Relaxed)
    }
}

struct Copy;

impl Kernel<[u32; 32], [u32; 32], (), (), ()> for Copy {
    #[inline(always)]
    fn run<F: Features>(to: &mut [u32; 32], from: &[u32; 32], _: &(), _: &(), _: u32) {
        *to = *from;
    }
}

struct Fill;

impl Kernel<[u32; 32], (), (), (), ()> for Fill {
    #[inline(always)]
    fn run<F: Features>(to: &mut [u32; 32], _: &(), _: &(), _: &(), word: u32) {
        *to = [word; 32];
    }
}

struct Merge;

impl Kernel<[u32; 32], [u32; 32], (), (), ()> for Merge {
    #[inline(always)]
    fn run<F: Features>(to: &mut [u32; 32], from: &[u32; 32], _: &(), _: &(), mask: u32) {
        if mask == u32::MAX {
            *to = *from;
            return;
        }
        let take = std::array::from_fn(|i| 0u32.wrapping_sub(mask >> i & 1));
        // The compiler is not to see that it could use masked stores, from which the processor cannot forward either.
        let take: [u32; 32] = std::hint::black_box(take);
        *to = std::array::from_fn(|i| from[i] & take[i] | to[i] & !take[i]);
    }
}

struct Highest;

impl Kernel<(), [u32; 32], (), (), u32> for Highest {
    #[inline(always)]
    fn run<F: Features>(_: &mut (), words: &[u32; 32], _: &(), _: &(), _: u32) -> u32 {
        words.iter().fold(0, |highest, w| highest.max(*w))
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::{Avx2, Compiled, Kernel};
    use std::arch::x86_64::{
        _mm256_movemask_epi8, _mm256_packs_epi16, _mm256_packs_epi32, _mm256_permutevar8x32_epi32,
        _mm256_setr_epi32,
    };

    /// Narrowing with saturation keeps signs. It works on halves: four words of each eight come first.
    #[target_feature(enable = "avx2")]
    #[inline]
    pub(super) fn sign_bits(w: &[u32; 32]) -> u32 {
        let w = w.map(|w| w as i32);
        let eight = |i: usize| {
            _mm256_setr_epi32(w[i], w[i + 1], w[i + 2], w[i + 3], w[i + 4], w[i + 5], w[i + 6], w[i + 7])
        };
        let sixteen = |i: usize| _mm256_packs_epi32(eight(i), eight(i + 8));
        let halves = _mm256_packs_epi16(sixteen(0), sixteen(16));
        let order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
        _mm256_movemask_epi8(_mm256_permutevar8x32_epi32(halves, order)) as u32
    }

    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
    fn run<K, A, B, C, D, R>(a: &mut A, b: &B, c: &C, d: &D, n: u32) -> R
    where
        A: ?Sized,
        B: ?Sized,
        C: ?Sized,
        D: ?Sized,
        K: Kernel<A, B, C, D, R>,
    {
        K::run::<Avx2>(a, b, c, d, n)
    }

    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn pointer<K, A, B, C, D, R>() -> Compiled<A, B, C, D, R>
    where
        A: ?Sized,
        B: ?Sized,
        C: ?Sized,
        D: ?Sized,
        K: Kernel<A, B, C, D, R>,
    {
        run::<K, A, B, C, D, R>
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::asm;

    // Other threads may access the words. The compiler does not look into instructions that are written as text, and they move each
    // aligned word whole, as relaxed loads and stores do. (Processors with AVX move aligned 16 bytes whole; of larger pieces and of
    // unaligned ones, at least each aligned word.)

    /// Loads words by their places in bytes, of which the lowest two bits do not count.
    ///
    /// # Safety
    /// There are words at all places from `from` on; the processor has AVX2.
    #[expect(unsafe_code, reason = "see the caller")]
    #[target_feature(enable = "avx2")]
    #[inline]
    pub(super) unsafe fn gather_by_8(from: *const u32, places: &[u32; 32], to: &mut [u32; 32]) {
        for (places, to) in places.chunks_exact(8).zip(to.chunks_exact_mut(8)) {
            // SAFETY: as the caller promises; eight words are at `places` and at `to`. Neither stack nor flags are touched.
            unsafe {
                asm!(
                    "vmovdqu {place}, [{places}]",
                    "vpsrld {place}, {place}, 2",
                    "vpcmpeqd {all}, {all}, {all}",
                    "vpxor {word}, {word}, {word}",
                    "vpgatherdd {word}, [{from} + 4 * {place}], {all}",
                    "vmovdqu [{to}], {word}",
                    from = in(reg) from,
                    places = in(reg) places.as_ptr(),
                    to = in(reg) to.as_mut_ptr(),
                    place = out(ymm_reg) _,
                    all = out(ymm_reg) _,
                    word = out(ymm_reg) _,
                    options(nostack, preserves_flags),
                );
            }
        }
    }

    /// Moves 32 words, one or both of which may be words that other threads access.
    ///
    /// # Safety
    /// 128 bytes at `from` can be read, and at `to` written; the processor has AVX.
    #[expect(unsafe_code, reason = "see the caller")]
    #[target_feature(enable = "avx")]
    #[inline]
    pub(super) unsafe fn move_by_32(from: *const u32, to: *mut u32) {
        // SAFETY: as the caller promises. Neither stack nor flags are touched.
        unsafe {
            asm!(
                "vmovdqu {a}, [{from}]",
                "vmovdqu {b}, [{from} + 32]",
                "vmovdqu {c}, [{from} + 64]",
                "vmovdqu {d}, [{from} + 96]",
                "vmovdqu [{to}], {a}",
                "vmovdqu [{to} + 32], {b}",
                "vmovdqu [{to} + 64], {c}",
                "vmovdqu [{to} + 96], {d}",
                from = in(reg) from,
                to = in(reg) to,
                a = out(ymm_reg) _,
                b = out(ymm_reg) _,
                c = out(ymm_reg) _,
                d = out(ymm_reg) _,
                options(nostack, preserves_flags),
            );
        }
    }
}

#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline(always)]
fn sign_bits_anywhere(words: &[u32; 32]) -> u32 {
    words.iter().enumerate().fold(0, |bits, (i, w)| bits | w >> 31 << i)
}

#[cfg(target_arch = "x86_64")]
mod sse2 {
    use std::arch::x86_64::{_mm_movemask_epi8, _mm_packs_epi16, _mm_packs_epi32, _mm_setr_epi32};

    /// Narrowing with saturation keeps signs.
    #[target_feature(enable = "sse2")]
    #[inline]
    pub(super) fn sign_bits(w: &[u32; 32]) -> u32 {
        let w = w.map(|w| w as i32);
        let four = |i: usize| _mm_setr_epi32(w[i], w[i + 1], w[i + 2], w[i + 3]);
        let eight = |i: usize| _mm_packs_epi32(four(i), four(i + 4));
        let half = |i: usize| _mm_movemask_epi8(_mm_packs_epi16(eight(i), eight(i + 8))) as u32;
        half(0) | half(16) << 16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sign_bits_are_those_of_each_word() {
        struct SignBits;
        impl Kernel<(), [u32; 32], (), (), u32> for SignBits {
            #[inline(always)]
            fn run<F: Features>(_: &mut (), words: &[u32; 32], _: &(), _: &(), _: u32) -> u32 {
                F::sign_bits(words)
            }
        }
        for processor in Processor::all() {
            let compiled = processor.compiled::<SignBits, _, _, _, _, _>();
            let sign_bits = |words: &[u32; 32]| compiled(&mut (), words, &(), &(), 0);
            let mut seed = 1u32;
            for _ in 0..100 {
                let words = std::array::from_fn(|_| {
                    seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    [seed, 0, 0x7fff_ffff, 0x8000_0000, 0x8000, 0xffff, seed >> 1, u32::MAX]
                        [seed as usize >> 13 & 7]
                });
                assert_eq!(sign_bits(&words), sign_bits_anywhere(&words), "{words:x?}");
            }
            let one = |at: usize| std::array::from_fn(|i| if i == at { 0x8000_0000 } else { 0x7fff_8000 });
            (0..32).for_each(|at| assert_eq!(sign_bits(&one(at)), 1 << at));
        }
    }

    #[test]
    fn rows_are_moved_whole() {
        let row: [u32; 32] = std::array::from_fn(|i| 0x0101_0101 * i as u32 + 7);
        for processor in Processor::all() {
            // Words that lie at no multiple of 32.
            let words: [AtomicU32; 35] = std::array::from_fn(|_| AtomicU32::new(1));
            let middle: &[AtomicU32; 32] = words[1..].first_chunk().expect("32 words");
            processor.store(&row, middle);
            let (mut loaded, mut copied) = ([0; 32], [0; 32]);
            processor.load(middle, &mut loaded);
            processor.copy(&loaded, &mut copied);
            assert_eq!((loaded, copied), (row, row));
            let places = std::array::from_fn(|i| (i as u32 * 52 + 7) % 128);
            processor.gather(&words[1..33], &places, &mut loaded);
            assert_eq!(loaded, places.map(|p| row[(p >> 2) as usize]));
            processor.gather(&row, &places, &mut copied);
            assert_eq!(copied, loaded);
            processor.fill(9, &mut copied);
            assert_eq!(copied, [9; 32]);
            processor.merge(0x8000_0105, &row, &mut copied);
            assert_eq!(copied, std::array::from_fn(|i| if [0, 2, 8, 31].contains(&i) { row[i] } else { 9 }));
            assert_eq!([0, 33, 34].map(|i| words[i].load(Relaxed)), [1; 3]);
        }
    }

    #[test]
    fn places_behind_the_last_word_are_refused() {
        for processor in Processor::all() {
            let gathered = |last: u32| {
                let mut places = [0; 32];
                places[17] = last;
                std::panic::catch_unwind(|| processor.gather(&[1u32; 40], &places, &mut [0; 32])).is_ok()
            };
            assert_eq!([159, 160, u32::MAX].map(gathered), [true, false, false]);
        }
    }

    struct Fma;

    impl Kernel<[f32; 32], [f32; 32], [f32; 32], (), bool> for Fma {
        #[inline(always)]
        fn run<F: Features>(a: &mut [f32; 32], b: &[f32; 32], c: &[f32; 32], _: &(), n: u32) -> bool {
            (0..32).for_each(|i| a[i] = a[i].mul_add(b[i], c[i]) + n as f32);
            F::FMA
        }
    }

    #[test]
    fn all_forms_compute_the_same() {
        let forms = Processor::all();
        assert_eq!(forms[0], Processor::BASELINE);
        for processor in forms {
            let mut a = std::array::from_fn(|i| 1.0 + i as f32 * f32::EPSILON);
            let b = a;
            processor.compiled::<Fma, _, _, _, _, _>()(&mut a, &b, &[-1.0; 32], &(), 0);
            // Rounded once: the square of 1 + i e is 1 + 2 i e + (i e)^2.
            assert!((0..32).all(|i| {
                let e = i as f64 * f64::from(f32::EPSILON);
                a[i] == (2.0 * e + e * e) as f32
            }));
        }
    }
}
