//! Plain textures: images of one or two dimensions, layers and faces of them, and buffers, whose texels are fields of at most four
//! words, as most programs that draw have them. Their memory is found once a launch, and a texel is a load. What they give is bit for
//! bit what [`super::lookup`] gives, which has all rules.

use super::canonical;
use super::coordinates::{clamped, floor, weight, wrapped};
use super::source::{Channel, Field, Texture};
use crate::image::{Dim, Filter, Sampler};
use crate::memory::Memory;
use crate::texel::Channels;
use nvir_base::format::Kind;
use nvir_base::tiling::NarrowSlice;
use nvir_hw::tic::Source;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

/// Where a component of a result comes from.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Component {
    Field(Field),
    /// The same for all texels.
    Same(f32),
}

/// The same of texels of at most a word whose fields are bytes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fraction {
    /// From this bit on.
    Byte(u32),
    Same(f32),
}

/// A level.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level {
    pub size: [u32; 2],
    pub layers: u32,
    pub slice: NarrowSlice,
    /// Of its first byte in the buffer.
    pub first: u64,
}

/// A texture in a buffer that has all of it.
#[derive(Clone, Debug)]
pub(super) struct Plain {
    pub buffer: usize,
    pub levels: Vec<Level>,
    /// Of a texel: 1 to 16, a power of two.
    pub bytes: u32,
    pub layer_stride: u32,
    /// Texels have integers, which are fetched and not filtered.
    pub integer: bool,
    pub components: [Component; 4],
    /// The same, if all are of this kind.
    pub fractions: Option<[Fraction; 4]>,
    /// The channel that comparisons look at.
    pub depth: Component,
}

/// The values of eight bits.
static FRACTIONS: [f32; 256] = {
    let mut table = [0.0; 256];
    let mut n = 0;
    while n < 256 {
        table[n] = n as f32 / 255.0;
        n += 1;
    }
    table
};

impl Plain {
    /// A texture, if it is one.
    pub(super) fn new(texture: &Texture, memory: &Memory) -> Option<Plain> {
        let bytes = texture.texels.bytes();
        let channels = texture.texels.channels()?;
        let flat = !matches!(texture.dim, Dim::D3 | Dim::D2Ms) && texture.grid == (0, 0);
        if !flat || !matches!(bytes, 1 | 2 | 4 | 8 | 16) {
            return None;
        }
        let aligned = |n: u64| n.is_multiple_of(bytes.into());
        let layer_stride = u32::try_from(texture.layer_stride).ok().filter(|&n| aligned(n.into()))?;
        let buffer = memory.find(texture.address, 1)?;
        let memory = &memory.buffers[buffer];
        let (origin, end) = (memory.origin, memory.base + memory.size);
        let level = |l: &crate::image::Level| {
            let first = texture.address.checked_add(l.place.offset)?;
            let [w, h, layers] = l.size;
            let layers = layers.max(1);
            let span = l.place.bytes().checked_add(u64::from(layer_stride) * u64::from(layers - 1))?;
            let fits = first.checked_add(span)? <= end && u32::try_from(span).is_ok();
            let aligned = aligned(first) && aligned(l.place.pitch.into());
            // Every texel is inside, whatever the description says of rows.
            let inside = w.checked_mul(bytes)? <= l.place.pitch && h <= l.place.rows;
            let slice = l.place.slice(0).narrow(l.place.bytes())?;
            let fits = fits && inside && texture.first_z == 0;
            (fits && aligned).then_some(Level { size: [w, h], layers, slice, first: first - origin })
        };
        let component = |channel: Channel| match channel {
            Channel::Field(field) => Component::Field(field),
            Channel::Same(bits) => Component::Same(f32::from_bits(bits)),
        };
        let components = texture.sources.map(|source| match source {
            Source::Channel(n) => component(channels[usize::from(n & 3)]),
            Source::Zero => Component::Same(0.0),
            Source::OneInt => Component::Same(f32::from_bits(1)),
            Source::OneFloat => Component::Same(1.0),
        });
        let depth = component(channels[texture.texels.depth() & 3]);
        let fraction = |component: &Component| match *component {
            Component::Field(Field { low, bits: 8, kind: Kind::Unorm, srgb: false }) if bytes <= 4 => {
                Some(Fraction::Byte(low))
            }
            Component::Field(_) => None,
            Component::Same(v) => Some(Fraction::Same(v)),
        };
        let fractions = match components.each_ref().map(fraction) {
            [Some(r), Some(g), Some(b), Some(a)] => Some([r, g, b, a]),
            _ => None,
        };
        let is_integer =
            |c: &Channel| matches!(c, Channel::Field(f) if matches!(f.kind, Kind::Uint | Kind::Sint));
        let integer = texture.texels.integer() || channels.iter().any(is_integer);
        let levels = texture.levels.iter().map(level).collect::<Option<Vec<_>>>()?;
        Some(Plain { buffer, levels, bytes, layer_stride, integer, components, fractions, depth })
    }

    /// The words of memory from the one that a level begins in.
    pub(super) fn words<'a>(&self, memory: &'a Memory, level: &Level) -> Option<&'a [AtomicU32]> {
        memory.buffers[self.buffer].words.get((level.first / 4) as usize..)
    }

    /// The components of a texel that begins at a byte.
    #[inline(never)]
    fn texel(&self, words: &[AtomicU32], at: u64) -> [f32; 4] {
        let count = (self.bytes as usize).div_ceil(4);
        let mut texel = [0; 4];
        for (n, word) in texel.iter_mut().enumerate().take(count) {
            *word = words.get(at as usize / 4 + n).map_or(0, |w| w.load(Relaxed));
        }
        texel[0] >>= at % 4 * 8;
        self.components.map(|c| match c {
            Component::Field(field) => f32::from_bits(field.of(texel)),
            Component::Same(v) => v,
        })
    }

    /// One level at a place, filtered.
    pub(super) fn plane(
        &self,
        memory: &Memory,
        sampler: &Sampler,
        (coord, scaled): ([f32; 2], bool),
        level: usize,
        filter: Filter,
    ) -> Option<Channels> {
        let level = self.levels.get(level)?;
        let words = &memory.buffers[self.buffer].words;
        let border = sampler.border_bits.map_or(sampler.border, |bits| bits.map(f32::from_bits));
        let texel = |x: Option<i64>, y: Option<i64>| -> [f32; 4] {
            let (Some(x), Some(y)) = (x, y) else { return border };
            let offset = level.slice.column(x as u32 * self.bytes).wrapping_add(level.slice.line(y as u32));
            let at = level.first + u64::from(offset);
            let Some(fractions) = &self.fractions else { return self.texel(words, at) };
            let word = words.get(at as usize / 4).map_or(0, |w| w.load(Relaxed)) >> (at % 4 * 8);
            fractions.map(|c| match c {
                Fraction::Byte(shift) => FRACTIONS[(word >> shift & 0xff) as usize],
                Fraction::Same(v) => v,
            })
        };
        let size = level.size;
        let at = [0, 1].map(|i| {
            let scale = if scaled { 1.0 } else { size[i] as f32 };
            clamped(sampler.wrap[i], coord[i] * scale, size[i])
        });
        let [wrap_x, wrap_y, _] = sampler.wrap;
        let [w, h] = size.map(i64::from);
        if filter == Filter::Nearest {
            let [x, y] = at.map(floor);
            return Some(texel(wrapped(x, w, wrap_x, true), wrapped(y, h, wrap_y, true)).map(f32::to_bits));
        }
        let base = at.map(|v| v - 0.5);
        let low = base.map(floor);
        let both = |at: i64, size, wrap| {
            [wrapped(at, size, wrap, false), wrapped(at.saturating_add(1), size, wrap, false)]
        };
        let (xs, ys) = (both(low[0], w, wrap_x), both(low[1], h, wrap_y));
        let [fx, fy] = base.map(weight);
        let mut sum = [0f32; 4];
        for (y, wy) in ys.into_iter().zip([1.0 - fy, fy]) {
            for (x, wx) in xs.into_iter().zip([1.0 - fx, fx]) {
                let weight = wx * wy;
                if weight != 0.0 {
                    sum.iter_mut().zip(texel(x, y)).for_each(|(s, t)| *s += weight * t);
                }
            }
        }
        Some(sum.map(canonical))
    }
}
