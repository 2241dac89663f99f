//! Entries of the tables, which describe textures and samplers. Sources: Mesa `nvc0_tex.c`
//! (`gf100_create_texture_view`), `nvc0_state.c`; the words of Mesa's recordings.

use crate::error::{Error, Result};
use crate::tables::Entry;
use nvir::emu::{Dim, Image, Sampler};
use nvir::format::{Format, Kind};
use nvir::tiling::Order;
use nvir::{Chip, Shader};
use nvir_hw::format::texture::{Sizes, Type};
use nvir_hw::samples::Mode;
use nvir_hw::tic::{ANISOTROPY, Source, TextureType, Tic};
use nvir_hw::tsc::Tsc;

/// Sizes, types and sources of the components.
fn set_format(entry: &mut Tic, format: Format) {
    let format = format.layout();
    entry.set(Tic::COMPONENT_SIZES, Sizes::code(format.bits).unwrap_or(0));
    let one = if matches!(format.kind, Kind::Sint | Kind::Uint) { Source::OneInt } else { Source::OneFloat };
    for i in 0..4u8 {
        entry.set(Tic::DATA_TYPE.at(i.into()), Type(format.kind).code());
        let source = match (format.bits[usize::from(i)] != 0, i) {
            (true, 0 | 2) if format.bgra => Source::Channel(2 - i),
            (true, _) => Source::Channel(i),
            (false, 3) => one,
            (false, _) => Source::Zero,
        };
        entry.set(Tic::SOURCE.at(i.into()), source.code());
    }
}

/// The entry of a texture. `unnormalized`: coordinates count texels.
pub(crate) fn texture(image: &Image, unnormalized: bool) -> Result<Entry> {
    let unsupported = |why: String| Err(Error::Unsupported(why));
    let desc = &image.desc;
    let mut e = Tic::default();
    set_format(&mut e, desc.format);
    let [w, h, d] = desc.level_size(0);
    let level = &image.levels[0].place;
    let pitch = level.order == Order::Pitch;
    let kind = match desc.dim {
        Dim::Buffer => TextureType::Buffer,
        Dim::D2 if pitch => TextureType::D2NoMipmap,
        dim if pitch => return unsupported(format!("a texture of kind {dim:?} row by row")),
        Dim::D1 => TextureType::D1,
        Dim::D2 | Dim::D2Ms => TextureType::D2,
        Dim::D3 => TextureType::D3,
        Dim::Cube => TextureType::Cube,
        Dim::D1Array => TextureType::D1Array,
        Dim::D2Array => TextureType::D2Array,
        Dim::CubeArray => TextureType::CubeArray,
    };
    let layers = match desc.dim {
        Dim::Cube | Dim::D2 | Dim::D1 | Dim::D2Ms | Dim::Buffer => 1,
        Dim::CubeArray => d / 6,
        Dim::D3 | Dim::D1Array | Dim::D2Array => d,
    };
    let samples = if desc.dim == Dim::D2Ms { d } else { 1 };
    let last = desc.levels.max(1) - 1;
    e.set_address(image.address).set(Tic::TEXTURE_TYPE, kind.code());
    // A border comes from the sampler. The others are about quality, as Mesa has them.
    e.set(Tic::BORDER_SOURCE, 1).set(Tic::SECTOR_PROMOTION, 1).set(Tic::LOD_ANISO_QUALITY2, 1);
    e.set(Tic::ANISO_FINE_SPREAD_FUNC, 2).set(Tic::ANISO_COARSE_SPREAD_FUNC, 1);
    e.set(Tic::NORMALIZED_COORDS, u32::from(!unnormalized));
    match level.order {
        Order::Pitch => {
            e.set(Tic::MEMORY_LAYOUT, 1);
            e.set(Tic::PITCH, if desc.dim == Dim::Buffer { 0 } else { level.pitch });
        }
        Order::Blocks(tile) => {
            e.set(Tic::GOBS_PER_BLOCK_HEIGHT, tile.gobs_y()).set(Tic::GOBS_PER_BLOCK_DEPTH, tile.shift_z());
            e.set(Tic::LOD_ANISO_QUALITY, 1).set(Tic::LOD_ISO_QUALITY, 1);
        }
    }
    e.set(Tic::WIDTH, w).set(Tic::HEIGHT, h).set(Tic::DEPTH, layers).set(Tic::MAX_MIP_LEVEL, last);
    e.set(Tic::USE_TEXTURE_HEADER_VERSION2, u32::from(desc.dim != Dim::Buffer));
    e.set(Tic::RES_VIEW_MAX_MIP_LEVEL, last).set(Tic::MULTI_SAMPLE_COUNT, Mode::of(samples).code);
    Ok(e.0)
}

/// Whether headers of textures can be as all samplers want that the program uses them with: on GF100 they say whether coordinates
/// count texels, and there is one for each texture.
pub(crate) fn check_pairs(
    chip: Chip,
    shader: &Shader,
    bound: &[(u32, crate::image::Image, Sampler)],
) -> Result<()> {
    let unnormalized = |slot: u32| bound.iter().find(|b| b.0 == slot).map(|b| b.2.unnormalized);
    let differ = |&&[texture, sampler]: &&[u32; 2]| {
        chip == Chip::Gf100 && unnormalized(texture).zip(unnormalized(sampler)).is_some_and(|(a, b)| a != b)
    };
    match shader.resources.sampled_by_others.iter().find(differ) {
        None => Ok(()),
        Some([texture, sampler]) => Err(Error::Unsupported(format!(
            "texture {texture} is looked up by sampler {sampler}, too, and only one of them has normalized coordinates: on gf100 that is \
             a bit of the texture, which has no second header"
        ))),
    }
}

/// The entry of a sampler.
pub(crate) fn sampler(chip: Chip, s: &Sampler) -> Entry {
    // Eight bits of fraction.
    let fixed = |x: f32, low: f32, high: f32| (x.clamp(low, high) * 256.0) as i32 as u32;
    let mut e = Tsc::default();
    e.set(Tsc::SRGB_CONVERSION, 1).set(Tsc::FONT_FILTER_WIDTH, 1).set(Tsc::FONT_FILTER_HEIGHT, 1);
    for (i, wrap) in (0..).zip(s.wrap) {
        e.set(Tsc::ADDRESS.at(i), wrap.code());
    }
    if let Some(compare) = s.compare {
        e.set(Tsc::DEPTH_COMPARE, 1).set(Tsc::DEPTH_COMPARE_FUNC, compare.code());
    }
    e.set(Tsc::MAG_FILTER, s.mag.code())
        .set(Tsc::MIN_FILTER, s.min.code())
        .set(Tsc::MIP_FILTER, s.mip.code());
    let anisotropy = ANISOTROPY.partition_point(|&n| n <= s.max_anisotropy).max(1) - 1;
    e.set(Tsc::MAX_ANISOTROPY, anisotropy as u32);
    let bias = Tsc::MIP_LOD_BIAS;
    e.set(bias, fixed(s.lod_bias, -16.0, 15.996) & bias.mask());
    if chip != Chip::Gf100 {
        e.set(Tsc::CUBEMAP_INTERFACE_FILTERING, s.seamless.into());
        e.set(Tsc::FORCE_UNNORMALIZED_COORDS, s.unnormalized.into());
    }
    e.set(Tsc::MIN_LOD_CLAMP, fixed(s.min_lod, 0.0, 15.0))
        .set(Tsc::MAX_LOD_CLAMP, fixed(s.max_lod, 0.0, 15.0));
    for (i, word) in (0..).zip(s.border_bits.unwrap_or(s.border.map(f32::to_bits))) {
        e.set(Tsc::BORDER_COLOR.at(i), word);
    }
    e.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use nvir::emu::image::Arrangement;
    use nvir::emu::{ImageDesc, MipFilter};

    fn image(format: &str, size: [u32; 3]) -> Image {
        let format = format.parse().expect("a format");
        let desc = ImageDesc { dim: Dim::D2, format, size, levels: 1 };
        Image::new(desc, Arrangement::Driver, 0x1_0376_5000).expect("it is small")
    }

    #[test]
    fn the_entries_are_those_of_mesas_recordings() {
        let r32ui = texture(&image("r32ui", [32, 32, 1]), false).expect("it has a code");
        assert_eq!(
            r32ui,
            [0x300a_490f, 0x0376_5000, 0xd080_5001, 0x0030_0000, 0x8000_0020, 0x1_0020, 0x300_0000, 0]
        );
        let rgba8 = texture(&image("rgba8", [32, 32, 1]), false).expect("it has a code");
        assert_eq!(rgba8[0], 0x2c69_2488);
        let anisotropy = |max_anisotropy| {
            let s = Sampler { max_anisotropy, ..Sampler::default() };
            Tsc(sampler(Chip::Gk104, &s)).get(Tsc::MAX_ANISOTROPY)
        };
        assert_eq!([0, 1, 2, 3, 5, 15, 16, 99].map(anisotropy), [0, 0, 1, 1, 2, 6, 7, 7]);
        let s = Sampler { mip: MipFilter::Nearest, max_lod: 15.0, ..Sampler::default() };
        assert_eq!(sampler(Chip::Gf100, &s), [0x2_6000, 0x91, 0xf0_0000, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn every_format_has_a_component_size() {
        for f in Format::all() {
            assert!(Sizes::code(f.layout().bits).is_some(), "{f}");
        }
    }
}
