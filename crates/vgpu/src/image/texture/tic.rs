//! Textures: entries of the TIC table.

use super::format;
use nvir_base::tiling::{self, Extent, Order, TileMode};
use nvir_emu::image::Level;
use nvir_emu::{Dim, Source, Texture};
use nvir_hw::samples::Mode;
use nvir_hw::tic::{ANISOTROPY, TextureType, Tic};

/// Texels of a side, at most.
const MAX_EXTENT: u32 = 1 << 16;

/// The texture that an entry describes.
///
/// # Errors
/// What is wrong with the entry.
pub fn texture(entry: &Tic) -> Result<Texture, String> {
    let mut sources = [Source::Zero; 4];
    for (i, source) in (0..).zip(&mut sources) {
        let code = entry.get(Tic::SOURCE.at(i));
        *source = Source::from_code(code).ok_or_else(|| format!("component {i} has source {code}"))?;
    }
    let types = std::array::from_fn(|i| entry.get(Tic::DATA_TYPE.at(i as u32)));
    let srgb = entry.get(Tic::SRGB_CONVERSION) != 0;
    let texels = format::texels(entry.get(Tic::COMPONENT_SIZES), types, &sources, srgb)?;
    let [width, height, depth] = [Tic::WIDTH, Tic::HEIGHT, Tic::DEPTH].map(|field| entry.get(field));
    let layers = depth.max(1);
    let kind = entry.get(Tic::TEXTURE_TYPE);
    let kind = TextureType::from_code(kind).ok_or_else(|| format!("texture type {kind} does not exist"))?;
    let (dim, size) = match kind {
        TextureType::D1 => (Dim::D1, [width, 1, 1]),
        TextureType::D2 | TextureType::D2NoMipmap => (Dim::D2, [width, height, 1]),
        TextureType::D3 => (Dim::D3, [width, height, layers]),
        TextureType::Cube => (Dim::Cube, [width, height, 6]),
        TextureType::D1Array => (Dim::D1Array, [width, 1, layers]),
        TextureType::D2Array => (Dim::D2Array, [width, height, layers]),
        TextureType::Buffer => (Dim::Buffer, [width, 1, 1]),
        TextureType::CubeArray => (Dim::CubeArray, [width, height, 6 * layers]),
    };
    if size[0] == 0 || size[1] == 0 {
        return Err(format!("{width} by {height} texels"));
    }
    if dim != Dim::Buffer && (size[0] > MAX_EXTENT || size[1] > MAX_EXTENT) {
        return Err(format!("{width} by {height} texels: a side has at most {MAX_EXTENT}"));
    }
    // Texels of a texture without normalised coordinates are samples: it is read to be resolved.
    let scaled = entry.get(Tic::NORMALIZED_COORDS) == 0;
    let mode = if scaled { 0 } else { entry.get(Tic::MULTI_SAMPLE_COUNT) };
    let Mode { samples, grid, .. } = Mode::from_code(mode);
    let mut texture = Texture {
        dim: if dim == Dim::D2 && samples > 1 { Dim::D2Ms } else { dim },
        address: entry.address(),
        levels: Vec::new(),
        layer_stride: 0,
        first_z: 0,
        samples,
        grid,
        texels,
        sources,
        layers,
        scaled,
        max_anisotropy: ANISOTROPY[entry.get(Tic::MAX_ANISOTROPY) as usize % 8],
    };
    if entry.get(Tic::MEMORY_LAYOUT) != 0 || dim == Dim::Buffer {
        let [_, by] = texture.texels.block();
        let place = tiling::Level {
            order: Order::Pitch,
            offset: 0,
            pitch: entry.get(Tic::PITCH),
            rows: size[1].div_ceil(by),
            slices: size[2],
        };
        texture.levels = vec![Level { size, place }];
        return Ok(texture);
    }
    let there = entry.get(Tic::MAX_MIP_LEVEL);
    let first = entry.get(Tic::RES_VIEW_MIN_MIP_LEVEL);
    let last = entry.get(Tic::RES_VIEW_MAX_MIP_LEVEL).min(there);
    let tile = entry.get(Tic::GOBS_PER_BLOCK_HEIGHT) << 4 | entry.get(Tic::GOBS_PER_BLOCK_DEPTH) << 8;
    let mut levels = place(&mut texture, size, TileMode(tile), there);
    if first > last {
        return Err(format!("levels {first} to {last}"));
    }
    texture.levels = levels.drain(first as usize..=last as usize).collect();
    Ok(texture)
}

/// The levels in blocks: the entry has the size of the first one's, the others have what the driver chooses.
fn place(texture: &mut Texture, size: [u32; 3], tile: TileMode, last: u32) -> Vec<Level> {
    let ([bx, by], bytes) = (texture.texels.block(), texture.texels.bytes());
    let three_d = texture.dim == Dim::D3;
    let at = |level: u32| {
        let mip = |s: u32| (s >> level).max(1);
        [mip(size[0]), mip(size[1]), if three_d { mip(size[2]) } else { size[2] }]
    };
    let (ms_x, ms_y) = texture.grid;
    let extents = (0..=last).map(|l| {
        let [w, h, d] = at(l);
        Extent {
            row_bytes: (w.div_ceil(bx) << ms_x) * bytes,
            rows: h.div_ceil(by) << ms_y,
            slices: three_d.then_some(d),
        }
    });
    let layout = tiling::block_linear_from(tile, extents);
    texture.layer_stride = layout.layer_stride;
    (0..).map(at).zip(layout.levels).map(|(size, place)| Level { size, place }).collect()
}
