//! Components of a warp's lookup as rows: texels decoded, compared, and added up by their weights.

use super::canonical;
use super::plain::{Component, Fraction};
use super::source::{Field, Source};
use super::taps::{Floats, Taps, Words};
use crate::image::Compare;
use crate::state::lanes::{LANES, LaneVec};
use nvir_base::format::Kind;
use nvir_base::num::conv::half_to_float;
use nvir_base::srgb;
use nvir_simd::{Features, Kernel, Processor};
use std::sync::atomic::AtomicU32;

/// How much each of the four texels counts. (Loops: functions of arrays would be compiled without the processor's features.)
#[inline(always)]
fn products(taps: &Taps) -> [Floats; 4] {
    let mut weights = [[0.0; LANES]; 4];
    let [xs, ys] = &taps.weights;
    for (n, weights) in weights.iter_mut().enumerate() {
        for ((weight, x), y) in weights.iter_mut().zip(xs).zip(ys) {
            let x = if n & 1 != 0 { *x } else { 1.0 - x };
            let y = if n & 2 != 0 { *y } else { 1.0 - y };
            *weight = x * y;
        }
    }
    weights
}

/// Fractions of eight bits, of one texel, or of four by their weights; of words, or of narrower ones. Which components are wanted is
/// a bit each.
pub(super) struct Fractions<const LINEAR: bool, const WORDS: bool>;

impl<const LINEAR: bool, const WORDS: bool> Kernel<[LaneVec; 4], [Words; 4], Taps, [Fraction; 4], ()>
    for Fractions<LINEAR, WORDS>
{
    #[inline(always)]
    fn run<F: Features>(
        found: &mut [LaneVec; 4],
        texels: &[Words; 4],
        taps: &Taps,
        components: &[Fraction; 4],
        wanted: u32,
    ) {
        let weights = if LINEAR { products(taps) } else { [[0.0; LANES]; 4] };
        for (c, found) in found.iter_mut().enumerate().filter(|(c, _)| wanted >> c & 1 != 0) {
            let component = components[c];
            let value = |n: usize, l: usize| match component {
                Fraction::Byte(shift) => {
                    let shift = if WORDS { shift } else { shift + taps.places[n][l] % 4 * 8 };
                    (texels[n][l] >> shift & 0xff) as i32 as f32 / 255.0
                }
                Fraction::Same(v) => v,
            };
            for (l, found) in found.0.iter_mut().enumerate() {
                *found = if LINEAR {
                    // Weights are not negative: a texel that does not count adds zero.
                    let mut sum = weights[0][l] * value(0, l);
                    sum += weights[1][l] * value(1, l);
                    sum += weights[2][l] * value(2, l);
                    sum += weights[3][l] * value(3, l);
                    sum.to_bits()
                } else {
                    value(0, l).to_bits()
                };
            }
        }
    }
}

/// The field of each lane's texel, of the words that it is in; `true`: several texels share a word.
struct Decode;

impl Kernel<Words, Words, (Field, bool), Words, ()> for Decode {
    #[inline(always)]
    fn run<F: Features>(
        values: &mut Words,
        words: &Words,
        &(field, narrow): &(Field, bool),
        places: &Words,
        _: u32,
    ) {
        let Field { low, bits, kind, srgb } = field;
        let all = u32::MAX >> (32 - bits);
        if narrow {
            for ((value, word), place) in values.iter_mut().zip(words).zip(places) {
                *value = word >> (low + place % 4 * 8) & all;
            }
        } else {
            values.iter_mut().zip(words).for_each(|(value, word)| *value = word >> (low % 32) & all);
        }
        match (kind, bits) {
            (Kind::Unorm, 8) if srgb => {
                values.iter_mut().for_each(|v| *v = srgb::to_linear(*v as u8).to_bits())
            }
            (Kind::Unorm, 1..32) if !srgb => {
                let largest = all as f32;
                values.iter_mut().for_each(|v| *v = (*v as i32 as f32 / largest).to_bits());
            }
            (Kind::Float | Kind::Uint | Kind::Sint, 32) => {}
            (Kind::Float, 16) => values.iter_mut().for_each(|v| *v = half_to_float(*v)),
            _ => values.iter_mut().for_each(|v| *v = field.decode(*v)),
        }
    }
}

/// Takes over words where a mask is set.
struct Replace;

impl Kernel<Words, Words, Words, (), ()> for Replace {
    #[inline(always)]
    fn run<F: Features>(values: &mut Words, mask: &Words, by: &Words, _: &(), _: u32) {
        for ((value, mask), by) in values.iter_mut().zip(mask).zip(by) {
            *value = *value & !mask | by & mask;
        }
    }
}

/// What comparisons of references with depths give: 1 or 0.
pub(super) struct Compared;

impl Kernel<Words, Floats, Compare, (), ()> for Compared {
    #[inline(always)]
    fn run<F: Features>(depths: &mut Words, references: &Floats, compare: &Compare, _: &(), _: u32) {
        let mut each = |hit: fn(f32, f32) -> bool| {
            for (depth, r) in depths.iter_mut().zip(references) {
                let hit = hit(*r, f32::from_bits(*depth));
                *depth = if hit { 1f32.to_bits() } else { 0 };
            }
        };
        match compare {
            Compare::Never => each(|_, _| false),
            Compare::Less => each(|r, d| r < d),
            Compare::Equal => each(|r, d| r == d),
            Compare::Lequal => each(|r, d| r <= d),
            Compare::Greater => each(|r, d| r > d),
            Compare::Notequal => each(|r, d| r != d),
            Compare::Gequal => each(|r, d| r >= d),
            Compare::Always => each(|_, _| true),
        }
    }
}

/// Four texels by their weights; those that do not count may be anything.
pub(super) struct Sum;

impl Kernel<Words, [Words; 4], Taps, (), ()> for Sum {
    #[inline(always)]
    fn run<F: Features>(sums: &mut Words, texels: &[Words; 4], taps: &Taps, _: &(), _: u32) {
        let weights = products(taps);
        for (l, sum) in sums.iter_mut().enumerate() {
            let part = |n: usize| {
                let weight = weights[n][l];
                if weight != 0.0 { weight * f32::from_bits(texels[n][l]) } else { 0.0 }
            };
            *sum = canonical(0.0 + part(0) + part(1) + part(2) + part(3));
        }
    }
}

/// The texels that lanes look at in a level, of any fields, perhaps with a border.
pub(super) struct Looked<'a> {
    /// Of a texel.
    pub bytes: u32,
    pub processor: Processor,
    /// From the word that the level begins in.
    pub words: &'a [AtomicU32],
    pub taps: &'a Taps,
    /// How many texels lanes look at: one or four.
    pub corners: usize,
    /// Where the border is in place of a texel, if it can be.
    pub border: Option<[Words; 4]>,
}

impl Looked<'_> {
    /// A component of each texel, or the border's.
    pub(super) fn channel(&self, component: Component, border: u32) -> [Words; 4] {
        let processor = self.processor;
        let mut texels = [[0; LANES]; 4];
        for (n, texels) in texels.iter_mut().enumerate().take(self.corners) {
            match component {
                Component::Same(v) => *texels = [v.to_bits(); LANES],
                Component::Field(field) => {
                    let mut stored = [0; LANES];
                    let words = self.words.get(field.low as usize / 32..).unwrap_or(&[]);
                    processor.gather(words, &self.taps.places[n], &mut stored);
                    let form = processor.compiled::<Decode, _, _, _, _, _>();
                    form(texels, &stored, &(field, self.bytes < 4), &self.taps.places[n], 0);
                }
            }
            if let Some(outside) = &self.border {
                let form = processor.compiled::<Replace, _, _, _, _, _>();
                form(texels, &outside[n], &[border; LANES], &(), 0);
            }
        }
        texels
    }

    /// A component of the result where texels were compared: as if they had the results in their first three channels and 1 in the
    /// last.
    pub(super) fn comparison(&self, source: Source, c: usize, compared: &[Words; 4]) -> [Words; 4] {
        const ONE: u32 = 1f32.to_bits();
        let mut texels = match source {
            Source::Channel(0..=2) => *compared,
            Source::Channel(_) | Source::OneFloat => [[ONE; LANES]; 4],
            Source::Zero => [[0; LANES]; 4],
            Source::OneInt => [[1; LANES]; 4],
        };
        // The border's result is not sent through the sources.
        for (n, outside) in self.border.iter().flatten().enumerate() {
            let form = self.processor.compiled::<Replace, _, _, _, _, _>();
            form(&mut texels[n], outside, if c == 3 { &[ONE; LANES] } else { &compared[n] }, &(), 0);
        }
        texels
    }
}
