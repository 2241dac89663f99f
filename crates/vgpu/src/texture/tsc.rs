//! Samplers: entries of the TSC table. Sources: envytools `g80_texture.xml` (G80_TSC), Mesa `nvc0_state.c`.

use super::ENTRY_WORDS;
use nvir_base::Chip;
use nvir_emu::image::Compare;
use nvir_emu::{Filter, MipFilter, Sampler, Wrap};

/// The sampler that an entry describes. Every entry is one.
pub fn sampler(chip: Chip, words: &[u32; ENTRY_WORDS]) -> Sampler {
    let field = |word: usize, low: u32, bits: u32| words[word] >> low & ((1 << bits) - 1);
    let kepler = chip != Chip::Gf100;
    // A sign, 4 or 5 bits, and 8 of fraction.
    let fixed = |v: u32, bits: u32| ((v << (32 - bits)) as i32 >> (32 - bits)) as f32 / 256.0;
    Sampler {
        wrap: [0, 3, 6].map(|low| wrap(field(0, low, 3))),
        compare: (field(0, 9, 1) != 0).then(|| compare(field(0, 10, 3))),
        mag: filter(field(1, 0, 2)),
        min: filter(field(1, 4, 2)),
        mip: match field(1, 6, 2) {
            2 => MipFilter::Nearest,
            3 => MipFilter::Linear,
            _ => MipFilter::None,
        },
        seamless: kepler && field(1, 9, 1) != 0,
        lod_bias: fixed(field(1, 12, 13), 13),
        unnormalized: kepler && field(1, 25, 1) != 0,
        min_lod: fixed(field(2, 0, 12), 32),
        max_lod: fixed(field(2, 12, 12), 32),
        border: std::array::from_fn(|i| f32::from_bits(words[4 + i])),
        border_bits: Some(std::array::from_fn(|i| words[4 + i])),
    }
}

fn filter(code: u32) -> Filter {
    if code == 2 { Filter::Linear } else { Filter::Nearest }
}

fn wrap(code: u32) -> Wrap {
    match code {
        0 => Wrap::Repeat,
        1 => Wrap::MirroredRepeat,
        2 => Wrap::ClampToEdge,
        3 => Wrap::ClampToBorder,
        4 => Wrap::Clamp,
        5 => Wrap::MirrorClampToEdge,
        6 => Wrap::MirrorClampToBorder,
        _ => Wrap::MirrorClamp,
    }
}

/// In the order of OpenGL.
fn compare(code: u32) -> Compare {
    match code {
        0 => Compare::Never,
        1 => Compare::Less,
        2 => Compare::Equal,
        3 => Compare::Lequal,
        4 => Compare::Greater,
        5 => Compare::Notequal,
        6 => Compare::Gequal,
        _ => Compare::Always,
    }
}
