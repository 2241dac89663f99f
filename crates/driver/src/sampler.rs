//! Entries of the tables: how the hardware is told of a texture and of a sampler. Sources: envytools `g80_texture.xml`,
//! Mesa `nvc0_tex.c` (`gf100_create_texture_view`), `nvc0_state.c`; the words of Mesa's recordings.

use crate::error::{Error, Result};
use crate::tables::Entry;
use nvir::Chip;
use nvir::emu::image::Compare;
use nvir::emu::{Dim, Filter, Image, MipFilter, Sampler, Wrap};
use nvir::format::{Format, Kind};
use nvir::tiling::Order;

/// Numbers of component sizes.
const SIZES: [([u8; 4], u32); 11] = [
    ([32, 32, 32, 32], 0x01),
    ([16, 16, 16, 16], 0x03),
    ([32, 32, 0, 0], 0x04),
    ([8, 8, 8, 8], 0x08),
    ([10, 10, 10, 2], 0x09),
    ([16, 16, 0, 0], 0x0c),
    ([32, 0, 0, 0], 0x0f),
    ([8, 8, 0, 0], 0x18),
    ([16, 0, 0, 0], 0x1b),
    ([8, 0, 0, 0], 0x1d),
    ([11, 11, 10, 0], 0x21),
];

/// Word 0: sizes, types and sources of the components.
fn format_word(format: Format) -> u32 {
    let format = format.layout();
    let sizes = SIZES.iter().find(|s| s.0 == format.bits).map_or(0, |s| s.1);
    let kind = match format.kind {
        Kind::Snorm => 1,
        Kind::Unorm => 2,
        Kind::Sint => 3,
        Kind::Uint => 4,
        Kind::Float => 7,
    };
    let types = (0..4).map(|i| kind << (6 + 3 * i)).sum::<u32>();
    let one = if matches!(format.kind, Kind::Sint | Kind::Uint) { 6 } else { 7 };
    // Zero, one, or a component: those of memory are numbered from 2 on.
    let source = |i: u32| match (format.bits[i as usize] != 0, i) {
        (true, 0 | 2) if format.bgra => 2 + (2 - i),
        (true, _) => 2 + i,
        (false, 3) => one,
        (false, _) => 0,
    };
    sizes | types | (0..4).map(|i| source(i) << (18 + 3 * i)).sum::<u32>()
}

/// The entry of a texture. `unnormalized`: coordinates count texels.
pub(crate) fn texture(image: &Image, unnormalized: bool) -> Result<Entry> {
    let unsupported = |why: String| Err(Error::Unsupported(why));
    let desc = &image.desc;
    let format = format_word(desc.format);
    let [w, h, d] = desc.level_size(0);
    let level = &image.levels[0].place;
    let pitch = level.order == Order::Pitch;
    let kind = match desc.dim {
        Dim::Buffer => 6,
        Dim::D2 if pitch => 7,
        dim if pitch => return unsupported(format!("a texture of kind {dim:?} row by row")),
        Dim::D1 => 0,
        Dim::D2 | Dim::D2Ms => 1,
        Dim::D3 => 2,
        Dim::Cube => 3,
        Dim::D1Array => 4,
        Dim::D2Array => 5,
        Dim::CubeArray => 8,
    };
    let layers = match desc.dim {
        Dim::Cube | Dim::D2 | Dim::D1 | Dim::D2Ms | Dim::Buffer => 1,
        Dim::CubeArray => d / 6,
        Dim::D3 | Dim::D1Array | Dim::D2Array => d,
    };
    let (ms_x, ms_y) = desc.sample_grid();
    let last = desc.levels.max(1) - 1;
    let mut e = [0; 8];
    e[0] = format;
    e[1] = image.address as u32;
    // A border comes from the sampler.
    e[2] = (image.address >> 32) as u32 & 0xff | 0x5000_1000 | kind << 14 | u32::from(!unnormalized) << 31;
    match level.order {
        Order::Pitch => {
            e[2] |= 1 << 18;
            e[3] = if desc.dim == Dim::Buffer { 0 } else { level.pitch };
        }
        Order::Blocks(tile) => {
            e[2] |= tile.gobs_y() << 22 | tile.shift_z() << 25;
            e[3] = 0x0030_0000;
        }
    }
    e[4] = w | if desc.dim == Dim::Buffer { 0 } else { 1 << 31 };
    e[5] = h | layers << 16 | last << 28;
    e[6] = 0x0300_0000;
    let mode = ms_x + ms_y;
    e[7] = last << 4 | mode << 12;
    Ok(e)
}

/// The entry of a sampler.
pub(crate) fn sampler(chip: Chip, s: &Sampler) -> Entry {
    let kepler = chip != Chip::Gf100;
    let wraps = s.wrap.iter().enumerate().map(|(i, w)| wrap(*w) << (3 * i)).sum::<u32>();
    let compare = s.compare.map_or(0, |c| 1 << 9 | compare(c) << 10);
    let filter = |f: Filter| if f == Filter::Linear { 2 } else { 1 };
    let mip = match s.mip {
        MipFilter::None => 1,
        MipFilter::Nearest => 2,
        MipFilter::Linear => 3,
    };
    // Eight bits of fraction.
    let fixed = |x: f32, low: f32, high: f32| (x.clamp(low, high) * 256.0) as i32 as u32;
    let mut e = [0; 8];
    e[0] = 0x2_6000 | wraps | compare;
    e[1] = filter(s.mag) | filter(s.min) << 4 | mip << 6 | (fixed(s.lod_bias, -16.0, 15.996) & 0x1fff) << 12;
    if kepler {
        e[1] |= u32::from(s.seamless) << 9 | u32::from(s.unnormalized) << 25;
    }
    e[2] = fixed(s.min_lod, 0.0, 15.0) | fixed(s.max_lod, 0.0, 15.0) << 12;
    e[4..].copy_from_slice(&s.border_bits.unwrap_or(s.border.map(f32::to_bits)));
    e
}

fn wrap(w: Wrap) -> u32 {
    match w {
        Wrap::Repeat => 0,
        Wrap::MirroredRepeat => 1,
        Wrap::ClampToEdge => 2,
        Wrap::ClampToBorder => 3,
        Wrap::Clamp => 4,
        Wrap::MirrorClampToEdge => 5,
        Wrap::MirrorClampToBorder => 6,
        Wrap::MirrorClamp => 7,
    }
}

fn compare(c: Compare) -> u32 {
    match c {
        Compare::Never => 0,
        Compare::Less => 1,
        Compare::Equal => 2,
        Compare::Lequal => 3,
        Compare::Greater => 4,
        Compare::Notequal => 5,
        Compare::Gequal => 6,
        Compare::Always => 7,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nvir::emu::ImageDesc;
    use nvir::emu::image::Arrangement;

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
        let s = Sampler { mip: MipFilter::Nearest, max_lod: 15.0, ..Sampler::default() };
        assert_eq!(sampler(Chip::Gf100, &s), [0x2_6000, 0x91, 0xf0_0000, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn every_format_has_a_component_size() {
        for f in Format::all() {
            assert_ne!(format_word(f) & 0x3f, 0, "{f}");
        }
    }
}
