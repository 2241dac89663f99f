//! Images: memory in the layout that textures and surfaces want, and the way of texels to and from it.

use crate::context::{Context, STAGING_BYTES};
use crate::device::{Alloc, Domain, KIND_COLOR};
use crate::error::{Result, invalid};
use crate::memory::Shared;
use crate::transfer::Side;
use nvir::emu::image::{Arrangement, Level};
use nvir::emu::{Dim, ImageDesc};
use nvir::tiling::Order;
use std::sync::Arc;

/// An image of the card, or a part of one. Clones are the same memory.
#[derive(Clone, Debug)]
pub struct Image {
    pub(crate) shared: Arc<Shared>,
    layout: nvir::emu::Image,
}

impl Image {
    /// What it is and how it lies in memory.
    pub fn layout(&self) -> &nvir::emu::Image {
        &self.layout
    }

    /// One level, and of that one layer, face or slice, if one is named: what a launch binds as an image.
    ///
    /// # Errors
    /// There is no such level or layer.
    pub fn part(&self, level: u32, layer: Option<u32>) -> Result<Image> {
        let layout = self.layout.bind(level, layer).map_err(crate::Error::Invalid)?;
        Ok(Image { shared: self.shared.clone(), layout })
    }

    /// The same memory as another description of it has it: a part that somebody made of [`Image::layout`].
    pub fn with_layout(&self, layout: nvir::emu::Image) -> Image {
        Image { shared: self.shared.clone(), layout }
    }
}

/// Rows of a level that one copy takes.
struct Piece {
    layer: u32,
    slice: u32,
    first_row: u32,
    rows: u32,
}

impl Context {
    /// A zeroed image.
    ///
    /// # Errors
    /// No memory is left, or no card has such an image.
    pub fn image(&mut self, desc: ImageDesc, how: Arrangement) -> Result<Image> {
        self.image_of_kind(desc, how, KIND_COLOR)
    }

    /// The same in memory of a kind, if it lies in blocks.
    pub(crate) fn image_of_kind(&mut self, desc: ImageDesc, how: Arrangement, kind: u8) -> Result<Image> {
        self.alive()?;
        let Some(mut layout) = nvir::emu::Image::new(desc, how, 0) else {
            return invalid(format!("an image of {:?} with {} levels is too large", desc.size, desc.levels));
        };
        let tile_mode = match layout.levels[0].place.order {
            Order::Blocks(tile) => Some(tile.0),
            Order::Pitch => None,
        };
        let bytes = layout.bytes().max(1);
        let shared = self.alloc(Alloc { tile_mode, kind, ..Alloc::linear(bytes, Domain::Vram) })?;
        layout.address = shared.memory.address;
        Ok(Image { shared, layout })
    }

    /// Writes packed texels: rows without gaps, layer after layer, level after level.
    ///
    /// # Errors
    /// There are not as many bytes as the image has, or the context is lost.
    pub fn upload_image(&mut self, image: &Image, texels: &[u8]) -> Result<()> {
        self.alive()?;
        if texels.len() as u64 != image.layout.packed_bytes() {
            return invalid(format!("{} bytes for {} of texels", texels.len(), image.layout.packed_bytes()));
        }
        let mut rest = texels;
        for n in 0..image.layout.levels.len() {
            let Rows { level, bytes, row_bytes, grid, .. } = rows_of(image, n);
            let (mine, others) = rest.split_at(bytes as usize);
            rest = others;
            let mine = match grid {
                (0, 0) => mine.to_vec(),
                _ => samples(image, &level, mine, true),
            };
            let mut at = 0;
            for piece in pieces(image, n) {
                let size = piece.rows as usize * row_bytes as usize;
                self.stage(&mine[at..at + size])?;
                at += size;
                self.move_rows(image, n, &piece, true);
            }
        }
        self.finish()
    }

    /// Reads the packed texels of all levels, after everything that was queued.
    ///
    /// # Errors
    /// The context is lost.
    pub fn download_image(&mut self, image: &Image) -> Result<Vec<u8>> {
        self.alive()?;
        let mut all = Vec::with_capacity(image.layout.packed_bytes() as usize);
        for n in 0..image.layout.levels.len() {
            let Rows { level, row_bytes, grid, .. } = rows_of(image, n);
            let mut mine = Vec::new();
            for piece in pieces(image, n) {
                self.move_rows(image, n, &piece, false);
                self.finish()?;
                let from = mine.len();
                mine.resize(from + piece.rows as usize * row_bytes as usize, 0);
                self.device.read(&self.staging.memory, 0, &mut mine[from..])?;
            }
            match grid {
                (0, 0) => all.extend(mine),
                _ => all.extend(samples(image, &level, &mine, false)),
            }
        }
        Ok(all)
    }

    /// Moves rows between the memory that both sides see and the image.
    fn move_rows(&mut self, image: &Image, n: usize, piece: &Piece, up: bool) {
        self.using(&image.shared);
        let Rows { level, width, rows, row_bytes, .. } = rows_of(image, n);
        let place = level.place;
        let element = image.layout.desc.format.bytes();
        let base = image.layout.address + u64::from(piece.layer) * image.layout.layer_stride + place.offset;
        let host = Side::Rows { address: self.staging.memory.address, pitch: row_bytes };
        let card = match place.order {
            Order::Pitch => {
                let row = u64::from(piece.slice) * u64::from(rows) + u64::from(piece.first_row);
                Side::Rows { address: base + row * u64::from(place.pitch), pitch: place.pitch }
            }
            Order::Blocks(tile) => Side::Blocks {
                address: base,
                tile_mode: tile.0,
                size: [width, place.rows, place.slices],
                at: [0, piece.first_row, piece.slice],
            },
        };
        let (from, to) = if up { (host, card) } else { (card, host) };
        self.copy_rows(from, to, element, width, piece.rows);
    }
}

/// A level as rows of elements: samples of a pixel are elements beside and below each other.
struct Rows {
    level: Level,
    /// Elements of a row, rows, bytes of a row.
    width: u32,
    rows: u32,
    row_bytes: u32,
    /// Bytes of packed texels of all layers.
    bytes: u64,
    grid: (u32, u32),
}

fn rows_of(image: &Image, n: usize) -> Rows {
    let desc = &image.layout.desc;
    let level = image.layout.levels[n];
    let grid = desc.sample_grid();
    let [w, h, d] = level.size;
    let (width, rows) = (w << grid.0, h << grid.1);
    let bytes = u64::from(w) * u64::from(h) * u64::from(d) * u64::from(desc.format.bytes());
    Rows { level, width, rows, row_bytes: width * desc.format.bytes(), bytes, grid }
}

/// What one copy after the other takes, in packed order.
fn pieces(image: &Image, n: usize) -> impl Iterator<Item = Piece> {
    let Rows { level, rows, row_bytes, .. } = rows_of(image, n);
    let most = (STAGING_BYTES as u32 / row_bytes.max(1)).max(1);
    let slices = if image.layout.desc.dim == Dim::D3 { level.size[2] } else { 1 };
    (0..image.layout.layers()).flat_map(move |layer| {
        (0..slices).flat_map(move |slice| {
            (0..rows).step_by(most as usize).map(move |first_row| Piece {
                layer,
                slice,
                first_row,
                rows: most.min(rows - first_row),
            })
        })
    })
}

/// Texels sample by sample become rows in which the samples of a pixel lie as a grid, or the other way.
fn samples(image: &Image, level: &Level, bytes: &[u8], to_grid: bool) -> Vec<u8> {
    let element = image.layout.desc.format.bytes() as usize;
    let (ms_x, ms_y) = image.layout.desc.sample_grid();
    let [w, h, count] = level.size.map(|s| s as usize);
    let width = w << ms_x;
    let size = if to_grid { (width * (h << ms_y)) * element } else { w * h * count * element };
    let mut out = vec![0; size];
    for (s, (dx, dy)) in nvir::hw::samples::SAMPLE_POSITIONS.into_iter().enumerate().take(count) {
        for y in 0..h {
            for x in 0..w {
                let packed = ((s * h + y) * w + x) * element;
                let grid = (((y << ms_y) + dy as usize) * width + (x << ms_x) + dx as usize) * element;
                let (from, to) = if to_grid { (packed, grid) } else { (grid, packed) };
                out[to..to + element].copy_from_slice(&bytes[from..from + element]);
            }
        }
    }
    out
}
