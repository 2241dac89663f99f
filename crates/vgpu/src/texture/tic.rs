//! Textures: entries of the TIC table. Sources: envytools `g80_texture.xml` (G80_TIC), Mesa `nvc0_tex.c`
//! (`gf100_create_texture_view`).

use super::ENTRY_WORDS;
use super::format;
use nvir_base::tiling::{self, Extent, Order, TileMode};
use nvir_emu::image::Level;
use nvir_emu::{Dim, Source, Texture};

/// Texels of a side, at most.
const MAX_EXTENT: u32 = 1 << 16;

/// The texture that an entry describes.
///
/// # Errors
/// What is wrong with the entry.
pub fn texture(words: &[u32; ENTRY_WORDS]) -> Result<Texture, String> {
    let field = |word: usize, low: u32, bits: u32| words[word] >> low & (u32::MAX >> (32 - bits));
    let mut sources = [Source::Zero; 4];
    for (i, source) in sources.iter_mut().enumerate() {
        *source = match field(0, 18 + 3 * i as u32, 3) {
            0 => Source::Zero,
            n @ 2..=5 => Source::Channel(n as u8 - 2),
            6 => Source::OneInt,
            7 => Source::OneFloat,
            n => return Err(format!("component {i} has source {n}")),
        };
    }
    let types = std::array::from_fn(|i| field(0, 6 + 3 * i as u32, 3));
    let texels = format::texels(field(0, 0, 6), types, &sources, field(2, 10, 1) != 0)?;
    let [width, height, depth] = [field(4, 0, 30), field(5, 0, 16), field(5, 16, 12)];
    let layers = depth.max(1);
    let kind = field(2, 14, 4);
    let (dim, size) = match kind {
        0 => (Dim::D1, [width, 1, 1]),
        1 | 7 => (Dim::D2, [width, height, 1]),
        2 => (Dim::D3, [width, height, layers]),
        3 => (Dim::Cube, [width, height, 6]),
        4 => (Dim::D1Array, [width, 1, layers]),
        5 => (Dim::D2Array, [width, height, layers]),
        6 => (Dim::Buffer, [width, 1, 1]),
        8 => (Dim::CubeArray, [width, height, 6 * layers]),
        _ => return Err(format!("texture type {kind} does not exist")),
    };
    if size[0] == 0 || size[1] == 0 {
        return Err(format!("{width} by {height} texels"));
    }
    if dim != Dim::Buffer && (size[0] > MAX_EXTENT || size[1] > MAX_EXTENT) {
        return Err(format!("{width} by {height} texels: a side has at most {MAX_EXTENT}"));
    }
    let (samples, grid) = samples(field(7, 12, 4));
    let mut texture = Texture {
        dim: if dim == Dim::D2 && samples > 1 { Dim::D2Ms } else { dim },
        address: u64::from(field(2, 0, 8)) << 32 | u64::from(words[1]),
        levels: Vec::new(),
        layer_stride: 0,
        first_z: 0,
        samples,
        grid,
        texels,
        sources,
        layers,
        scaled: field(2, 31, 1) == 0,
    };
    if field(2, 18, 1) != 0 || dim == Dim::Buffer {
        let [_, by] = texture.texels.block();
        let place = tiling::Level {
            order: Order::Pitch,
            offset: 0,
            pitch: field(3, 0, 20),
            rows: size[1].div_ceil(by),
            slices: size[2],
        };
        texture.levels = vec![Level { size, place }];
        return Ok(texture);
    }
    let (first, last) = (field(7, 0, 4), field(7, 4, 4).min(field(5, 28, 4)));
    let mut levels =
        place(&mut texture, size, TileMode(field(2, 22, 3) << 4 | field(2, 25, 3) << 8), field(5, 28, 4));
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

/// How many samples a pixel has in a mode, and the logarithms of their grid.
fn samples(mode: u32) -> (u32, (u32, u32)) {
    match mode {
        // 2, 4 and 8 samples; the others are Direct3D's order, and samples for coverage only.
        1 | 5 => (2, (1, 0)),
        2 | 6 | 8 | 9 => (4, (1, 1)),
        3 | 4 | 10 | 11 => (8, (2, 1)),
        _ => (1, (0, 0)),
    }
}
