//! Samplers: entries of the TSC table.

use nvir_base::Chip;
use nvir_emu::image::Compare;
use nvir_emu::{Filter, MipFilter, Sampler, Wrap};
use nvir_hw::tic::ANISOTROPY;
use nvir_hw::tsc::Tsc;

/// The sampler that an entry describes. Every entry is one.
pub fn sampler(chip: Chip, entry: &Tsc) -> Sampler {
    let kepler = chip != Chip::Gf100;
    // A sign, 4 bits, and 8 of fraction; or without a sign.
    let signed = |v: u32| ((v << 19) as i32 >> 19) as f32 / 256.0;
    let unsigned = |v: u32| v as f32 / 256.0;
    let border = std::array::from_fn(|i| entry.get(Tsc::BORDER_COLOR.at(i as u32)));
    Sampler {
        wrap: [0, 1, 2].map(|i| Wrap::from_code(entry.get(Tsc::ADDRESS.at(i)))),
        compare: (entry.get(Tsc::DEPTH_COMPARE) != 0)
            .then(|| Compare::from_code(entry.get(Tsc::DEPTH_COMPARE_FUNC))),
        mag: Filter::from_code(entry.get(Tsc::MAG_FILTER)),
        min: Filter::from_code(entry.get(Tsc::MIN_FILTER)),
        mip: MipFilter::from_code(entry.get(Tsc::MIP_FILTER)),
        seamless: kepler && entry.get(Tsc::CUBEMAP_INTERFACE_FILTERING) != 0,
        lod_bias: signed(entry.get(Tsc::MIP_LOD_BIAS)),
        unnormalized: kepler && entry.get(Tsc::FORCE_UNNORMALIZED_COORDS) != 0,
        max_anisotropy: ANISOTROPY[entry.get(Tsc::MAX_ANISOTROPY) as usize % 8],
        min_lod: unsigned(entry.get(Tsc::MIN_LOD_CLAMP)),
        max_lod: unsigned(entry.get(Tsc::MAX_LOD_CLAMP)),
        border: border.map(f32::from_bits),
        border_bits: Some(border),
    }
}
