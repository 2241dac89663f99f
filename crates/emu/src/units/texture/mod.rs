//! Texture instructions: operands by role, sampling, gathers, fetches and queries.
//!
//! Sources are runs of registers in the machine's order (see `lower::textures`); [`TexOp::args`] lists them flat. The
//! level of detail of a lookup without an explicit one comes from how coordinates change over a quad of pixels; in stages
//! without pixels it is that of level zero.

mod blend;
mod coordinates;
pub(crate) mod descriptors;
mod lookup;
mod operands;
mod plain;
mod rows;
mod source;
mod taps;

pub use source::{Channel, Field, Source, Texels, Texture, TextureSource};

use crate::code::micro::NULL;
use crate::code::texop::{Lod, TexKind, TexOp};
use crate::cx::{Cx, Env};
use crate::fault::FaultKind;
use crate::image::{MipFilter, Sampler};
use crate::state::lanes::{LANES, LaneVec, Mask, lanes};
use crate::state::warp::Warp;
use crate::trap::Trap;
use descriptors::Ready;
use lookup::Lookup;
use nvir_base::Chip;
use nvir_base::num::float::NAN32;
use operands::Roles;
use std::sync::Arc;

/// The operands of one lane.
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
    fn args_of(&self, roles: &Roles, env: &Env<'_>, w: &Warp, lane: usize) -> Args {
        let fermi = env.bound.launch.program.chip() == Chip::Gf100;
        let word = |at: usize| match self.args.get(at) {
            Some(&r) if r != NULL => w.regs[r as usize].0[lane],
            _ => 0,
        };
        let role = |at: Option<usize>| at.map_or(0, word);
        let handle = roles.handle.map(|(at, low)| word(at) >> low);
        let (texture, sampler) = match (fermi, handle) {
            (true, None) => (self.texture, self.sampler),
            (true, Some(handle)) => (handle >> 7, handle & 0x7f),
            (false, handle) => {
                let handle = handle.unwrap_or_else(|| {
                    let bank = env.bound.banks.get(env.bound.launch.texture_bank as usize);
                    bank.map_or(0, |b| b.word(self.texture as usize * 4))
                });
                (handle & 0xfffff, handle >> 20)
            }
        };
        let dims = usize::from(self.dims);
        let several = |at: usize, n: usize, i: usize| if i < n { word(at + i) } else { 0 };
        let four = matches!(self.kind, TexKind::Gather { four: true, .. });
        Args {
            layer: role(roles.layer) & 0xffff,
            coord: std::array::from_fn(|i| several(roles.coord, dims, i)),
            sample: role(roles.sample),
            lod: role(roles.level),
            offset: match roles.offset {
                Some((at, low)) => [word(at) >> low, if four { word(at + 1) } else { 0 }],
                None => [0; 2],
            },
            reference: role(roles.reference),
            derivatives: match roles.derivatives {
                Some(at) => std::array::from_fn(|i| several(at, 2 * dims, i)),
                None => [0; 4],
            },
            texture,
            sampler,
        }
    }

    /// Where its operands stand.
    fn roles(&self, env: &Env<'_>) -> Roles {
        Roles::of(self, env.bound.launch.program.chip())
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

pub(crate) fn execute(cx: &mut Cx<'_>, w: &mut Warp, op: &TexOp, mask: Mask) -> Result<(), Trap> {
    if !execute_rows(cx, w, op, mask) {
        let rows = each_lane(cx, w, op, mask)?;
        write(w, op, mask, &rows);
    }
    Ok(())
}

/// The same for all lanes at once, if the lookup is one of those that can be; else nothing is done.
pub(crate) fn execute_rows(cx: &mut Cx<'_>, w: &mut Warp, op: &TexOp, mask: Mask) -> bool {
    let rows = rows::look_up(cx, w, op, mask);
    if let Some(rows) = &rows {
        write(w, op, mask, rows);
    }
    rows.is_some()
}

fn write(w: &mut Warp, op: &TexOp, mask: Mask, rows: &[LaneVec; 4]) {
    if op.dst != NULL {
        let written = (0..4).filter(|c| op.mask >> c & 1 != 0);
        for (i, c) in written.enumerate() {
            w.regs[op.dst as usize + i].blend(mask, &rows[c]);
        }
    }
}

/// The bits of a filter's sum. All NaN are one: which of several comes through sums depends on the host.
#[inline(always)]
fn canonical(sum: f32) -> u32 {
    if sum.is_nan() { NAN32 } else { sum.to_bits() }
}

/// What lanes find, each by itself.
fn each_lane(cx: &mut Cx<'_>, w: &Warp, op: &TexOp, mask: Mask) -> Result<[LaneVec; 4], Trap> {
    let mut rows = [LaneVec::ZERO; 4];
    let mut last: Option<(u32, u32, Arc<Ready>, Sampler)> = None;
    let env = cx.env;
    let helpers = w.quad_helpers | cx.block.helpers;
    let roles = op.roles(env);
    let mut moved: Option<Option<[Footprint; LANES]>> = None;
    let plain = op.dims == 2 && !(op.cube || op.array || op.shadow || op.offset || env.observed);
    for l in lanes(mask) {
        let args = op.args_of(&roles, env, w, l);
        let (ready, sampler) = match &last {
            Some((t, s, ready, sampler)) if (*t, *s) == (args.texture, args.sampler) => (ready, sampler),
            _ => {
                let sampled =
                    !matches!(op.kind, TexKind::Fetch { .. } | TexKind::QuerySize | TexKind::QueryType);
                let refused = |why| Trap::new(FaultKind::OutOfBounds, l, why);
                let ready = match cx.block.textures.texture(env.bound, args.texture) {
                    Ok(ready) => ready,
                    // What it finds is used by nobody.
                    Err(_) if helpers >> l & 1 != 0 => continue,
                    Err(why) => return Err(refused(why)),
                };
                let sampler = if sampled {
                    cx.block.textures.sampler(env.bound, args.sampler).map_err(refused)?
                } else {
                    Sampler::default()
                };
                let (_, _, ready, sampler) = last.insert((args.texture, args.sampler, ready, sampler));
                (&*ready, &*sampler)
            }
        };
        let texture = &ready.texture;
        let footprint = if op.kind != TexKind::QueryLod && !depends_on_footprint(texture, sampler) {
            None
        } else {
            let moved = moved.get_or_insert_with(|| footprints(env, w, op, mask));
            moved.as_ref().map(|f| f[l])
        };
        let plain = ready.plain.as_ref().filter(|p| plain && !p.integer);
        let v = Lookup { warp: w, lane: l, texture, plain, sampler, op, footprint }.run(cx, &args)?;
        rows.iter_mut().zip(v).for_each(|(row, v)| row.0[l] = v);
    }
    Ok(rows)
}

/// Whether levels, filters or the places of a filter depend on how coordinates move.
fn depends_on_footprint(texture: &Texture, sampler: &Sampler) -> bool {
    let is_spread = texture.max_anisotropy.max(sampler.max_anisotropy) > 1;
    is_spread || sampler.min != sampler.mag || sampler.mip != MipFilter::None
}

/// How far coordinates move from a pixel to its neighbours in x and y.
type Footprint = [[f32; 3]; 2];

/// The footprint of each lane, where lookups need one: from its row and its column of the quad, or the other ones where a thread
/// of those does not take part; zero where both lack one. On cubes each lane sees the others on its own face.
fn footprints(env: &Env<'_>, w: &Warp, op: &TexOp, mask: Mask) -> Option<[Footprint; LANES]> {
    let quads = env.stage.is_some_and(|s| s.has_quads()) || !w.quads.is_empty();
    let wanted = matches!(op.kind, TexKind::Sample(Lod::Implicit | Lod::Bias) | TexKind::QueryLod);
    if !quads || !wanted {
        return None;
    }
    // The pairs of rows and of columns.
    const PAIRS: [[(usize, usize); 2]; 2] = [[(0, 1), (2, 3)], [(0, 2), (1, 3)]];
    let roles = op.roles(env);
    let mut all = [[[0.0; 3]; 2]; LANES];
    for (quad, footprints) in all.chunks_exact_mut(4).enumerate() {
        let first = 4 * quad;
        let runs = |l: usize| mask >> (first + l) & 1 != 0;
        if !(0..4).any(runs) {
            continue;
        }
        let coord: [[f32; 3]; 4] =
            std::array::from_fn(|l| op.args_of(&roles, env, w, first + l).coord.map(f32::from_bits));
        for (l, footprint) in footprints.iter_mut().enumerate() {
            let seen = |c: [f32; 3]| if op.cube { lookup::on_face(coord[l], c) } else { c };
            let difference = |(a, b): (usize, usize)| -> Option<[f32; 3]> {
                (runs(a) && runs(b)).then(|| {
                    let (from, to) = (seen(coord[a]), seen(coord[b]));
                    std::array::from_fn(|i| to[i] - from[i])
                })
            };
            let of = |axis: usize, own: usize| {
                let pairs = PAIRS[axis];
                difference(pairs[own]).or_else(|| difference(pairs[1 - own])).unwrap_or([0.0; 3])
            };
            *footprint = [of(0, l >> 1), of(1, l & 1)];
        }
    }
    Some(all)
}
