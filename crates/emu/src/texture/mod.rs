//! Texture instructions: operands by role, sampling, gathers, fetches and queries.
//!
//! Sources are runs of registers in the machine's order (see `lower::textures`); [`TexOp::args`] lists them flat. The
//! level of detail of a lookup without an explicit one comes from how coordinates change over a quad of pixels; in stages
//! without pixels it is that of level zero.

mod lookup;
mod source;

pub use source::{Source, Texels, Texture, TextureSource};

use super::block::{Env, State};
use super::fault::FaultKind;
use super::image::Sampler;
use super::inst::SINK;
use super::lanes::{LANES, Mask, Row, lanes};
use super::trap::Trap;
use super::warp::Warp;
use lookup::Lookup;
use nvir_base::Chip;
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Where the level of detail comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lod {
    Implicit,
    Zero,
    Bias,
    Level,
}

/// What a texture instruction does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TexKind {
    Sample(Lod),
    /// The level is an operand, or zero.
    Fetch {
        level: bool,
        ms: bool,
    },
    /// The component; four pairs of offsets.
    Gather {
        component: u8,
        four: bool,
    },
    Grad,
    /// Width, height, depth or layers, levels.
    QuerySize,
    /// The third component is the number of samples.
    QueryType,
    QueryLod,
}

/// A texture instruction.
#[derive(Clone, Debug)]
pub(crate) struct TexOp {
    pub kind: TexKind,
    /// Coordinates: 1, 2, 3; a cube has 3.
    pub dims: u8,
    pub cube: bool,
    pub array: bool,
    pub shadow: bool,
    pub offset: bool,
    /// `.B`: the texture is named by a register.
    pub indirect: bool,
    pub texture: u32,
    pub sampler: u32,
    pub mask: u8,
    pub dst: u8,
    /// Registers in the machine's order; [`SINK`] is zero.
    pub args: Vec<u8>,
}

/// The operands of one lane.
#[derive(Default)]
struct Args {
    layer: u32,
    coord: [u32; 3],
    sample: u32,
    lod: u32,
    offset: [u32; 2],
    reference: u32,
    derivatives: [u32; 4],
    texture: u32,
    sampler: u32,
}

impl TexOp {
    fn args_of(&self, env: &Env<'_>, w: &Warp, lane: usize) -> Args {
        let fermi = env.bound.launch.program.chip() == Chip::Gf100;
        let mut list = self.args.iter().map(|&r| if r == SINK { 0 } else { w.regs[r as usize].0[lane] });
        let mut next = || list.next().unwrap_or(0);
        let mut a = Args { texture: self.texture, sampler: self.sampler, ..Args::default() };
        let grad = self.kind == TexKind::Grad;
        let query = matches!(self.kind, TexKind::QuerySize | TexKind::QueryType);
        if fermi {
            if self.array && !query || self.indirect {
                let word = next();
                a.layer = word & 0xffff;
                if self.indirect {
                    (a.texture, a.sampler) = (word >> 23, word >> 16 & 0x7f);
                }
            }
        } else {
            let handle = if self.indirect {
                next()
            } else {
                let bank = env.bound.banks.get(env.bound.launch.texture_bank as usize);
                bank.map_or(0, |b| b.word(self.texture as usize * 4))
            };
            (a.texture, a.sampler) = (handle & 0xfffff, handle >> 20);
            if self.array && !query || grad && self.offset {
                let word = next();
                a.layer = word & 0xffff;
                if grad && self.offset {
                    a.offset[0] = word >> 16;
                }
            }
        }
        if query {
            a.lod = next();
            return a;
        }
        a.coord.iter_mut().take(self.dims.into()).for_each(|c| *c = next());
        if grad {
            if fermi && self.offset {
                a.offset[0] = next();
            }
            a.derivatives.iter_mut().take(usize::from(self.dims) * 2).for_each(|d| *d = next());
            return a;
        }
        if matches!(self.kind, TexKind::Fetch { ms: true, .. }) {
            a.sample = next();
        }
        if matches!(self.kind, TexKind::Sample(Lod::Bias | Lod::Level) | TexKind::Fetch { level: true, .. }) {
            a.lod = next();
        }
        if self.offset {
            a.offset[0] = next();
            if matches!(self.kind, TexKind::Gather { four: true, .. }) {
                a.offset[1] = next();
            }
        }
        if self.shadow {
            a.reference = next();
        }
        a
    }

    /// Signed texel offsets: nibbles, in gathers bytes.
    fn offsets(&self, a: &Args, pair: usize) -> [i32; 3] {
        if !self.offset {
            return [0; 3];
        }
        if matches!(self.kind, TexKind::Gather { .. }) {
            let half = a.offset[pair / 2] >> (16 * (pair % 2));
            return [half as u8 as i8 as i32, (half >> 8) as u8 as i8 as i32, 0];
        }
        std::array::from_fn(|i| (a.offset[0] << (28 - 4 * i)) as i32 >> 28)
    }
}

pub(super) fn execute(
    env: &Env<'_>,
    st: &mut State,
    w: &mut Warp,
    op: &TexOp,
    mask: Mask,
) -> Result<(), Trap> {
    let mut rows = [Row::ZERO; 4];
    let mut last: Option<(u32, u32, Arc<Texture>, Sampler)> = None;
    let footprints = footprints(env, w, op, mask);
    for l in lanes(mask) {
        let args = op.args_of(env, w, l);
        let (texture, sampler) = match &last {
            Some((t, s, texture, sampler)) if (*t, *s) == (args.texture, args.sampler) => (texture, sampler),
            _ => {
                let sampled =
                    !matches!(op.kind, TexKind::Fetch { .. } | TexKind::QuerySize | TexKind::QueryType);
                let refused = |why| Trap::new(FaultKind::OutOfBounds, l, why);
                let texture = match st.textures.texture(env, args.texture) {
                    Ok(texture) => texture,
                    // What it finds is used by nobody.
                    Err(_) if (w.phantoms | st.ghosts) >> l & 1 != 0 => continue,
                    Err(why) => return Err(refused(why)),
                };
                let sampler = if sampled {
                    st.textures.sampler(env, args.sampler).map_err(refused)?
                } else {
                    Sampler::default()
                };
                let (_, _, texture, sampler) = last.insert((args.texture, args.sampler, texture, sampler));
                (&*texture, &*sampler)
            }
        };
        let footprint = footprints.as_ref().map(|f| f[l / 4]);
        let v = Lookup { env, warp: w, lane: l, texture, sampler, op, footprint }.run(st, &args)?;
        rows.iter_mut().zip(v).for_each(|(row, v)| row.0[l] = v);
    }
    if op.dst != SINK {
        let written = (0..4).filter(|c| op.mask >> c & 1 != 0);
        for (i, c) in written.enumerate() {
            w.regs[op.dst as usize + i].blend(mask, &rows[c]);
        }
    }
    Ok(())
}

/// How far coordinates move from a pixel to its neighbours in x and y.
type Footprint = [[f32; 3]; 2];

/// The footprint of each quad of a warp, where lookups need one: from the first row and column, or the other one where a
/// thread of it does not take part; zero where both lack one.
fn footprints(env: &Env<'_>, w: &Warp, op: &TexOp, mask: Mask) -> Option<[Footprint; LANES / 4]> {
    let quads = env.stage.is_some_and(|s| s.has_quads()) || !w.quads.is_empty();
    let wanted = matches!(op.kind, TexKind::Sample(Lod::Implicit | Lod::Bias) | TexKind::QueryLod);
    if !quads || !wanted {
        return None;
    }
    let mut all = [[[0.0; 3]; 2]; LANES / 4];
    for (quad, footprint) in all.iter_mut().enumerate() {
        let first = 4 * quad;
        let runs = |l: usize| mask >> (first + l) & 1 != 0;
        for (moved, pairs) in footprint.iter_mut().zip([[(0, 1), (2, 3)], [(0, 2), (1, 3)]]) {
            let Some((a, b)) = pairs.into_iter().find(|&(a, b)| runs(a) && runs(b)) else { continue };
            let coord = |l: usize| op.args_of(env, w, first + l).coord.map(f32::from_bits);
            let (mut a, mut b) = (coord(a), coord(b));
            if op.cube {
                (a, b) = (lookup::on_face(a, a), lookup::on_face(a, b));
            }
            *moved = std::array::from_fn(|i| b[i] - a[i]);
        }
    }
    Some(all)
}

/// The textures and samplers of a launch or draw that lookups have needed so far: each is decoded once.
#[derive(Debug, Default)]
pub(super) struct Descriptors(Mutex<Seen>);

/// Textures and samplers by their index. Each block keeps those that it has met, so that it need not ask again.
#[derive(Debug, Default)]
pub(super) struct Seen {
    textures: FxHashMap<u32, Arc<Texture>>,
    samplers: FxHashMap<u32, Sampler>,
}

impl Seen {
    fn texture(&mut self, env: &Env<'_>, index: u32) -> Result<Arc<Texture>, String> {
        if let Some(known) = self.textures.get(&index) {
            return Ok(known.clone());
        }
        let texture = env.bound.descriptors.texture(env, index)?;
        self.textures.insert(index, texture.clone());
        Ok(texture)
    }

    fn sampler(&mut self, env: &Env<'_>, index: u32) -> Result<Sampler, String> {
        if let Some(known) = self.samplers.get(&index) {
            return Ok(*known);
        }
        let sampler = env.bound.descriptors.sampler(env, index)?;
        self.samplers.insert(index, sampler);
        Ok(sampler)
    }

    /// Forgets them, for another launch.
    pub fn clear(&mut self) {
        self.textures.clear();
        self.samplers.clear();
    }
}

impl Descriptors {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        // Entries are whole even if a thread panicked while it held the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn texture(&self, env: &Env<'_>, index: u32) -> Result<Arc<Texture>, String> {
        let mut seen = self.seen();
        if let Some(known) = seen.textures.get(&index) {
            return Ok(known.clone());
        }
        let launch = env.bound.launch;
        let made = match launch.tables {
            Some(tables) => tables.texture(env.bound.memory, index)?,
            None => {
                let image = launch.textures.get(index as usize).and_then(|t| t.as_ref());
                image.ok_or_else(|| format!("texture {index} is not bound"))?.into()
            }
        };
        let made = Arc::new(made);
        seen.textures.insert(index, made.clone());
        Ok(made)
    }

    fn sampler(&self, env: &Env<'_>, index: u32) -> Result<Sampler, String> {
        let launch = env.bound.launch;
        let Some(tables) = launch.tables else {
            return Ok(launch.samplers.get(index as usize).copied().unwrap_or_default());
        };
        let mut seen = self.seen();
        if let Some(known) = seen.samplers.get(&index) {
            return Ok(*known);
        }
        let made = tables.sampler(env.bound.memory, index)?;
        seen.samplers.insert(index, made);
        Ok(made)
    }
}
