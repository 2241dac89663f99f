//! Surface instructions: Kepler's address arithmetic and accesses by address, GF100's accesses by slot.
//!
//! How the hardware packs coordinates between SUCLAMP, SUBFM and SUEAU is not documented. What is known is what goes
//! in (the driver's words) and what comes out (the low 8 bits of an address, and the rest in units of 256 bytes):
//! the packing here is ours, and agrees with [`super::image::surface_info`].
//!
//! | instruction | gives |
//! |---|---|
//! | SUCLAMP of x (not `.PL`) | bytes / 64 in bits 15:0, the rest at bit 16, out of bounds in bit 31 |
//! | SUCLAMP of y, z or `.PL` | the coordinate, out of bounds in bit 31 (`.PL`: only in the predicate) |
//! | IMADSP | rows * pitch / 64 + x / 64 |
//! | SUBFM x, y, z | the low 8 bits of the address; predicate: any of them is out of bounds |
//! | SUEAU offset, low, base | base + offset / 4 |

use super::block::{Env, State};
use super::fault::FaultKind;
use super::image::{Image, extent, format_of};
use super::inst::{PSrc, SINK, Width};
use super::lanes::{Mask, Row, Src, lanes};
use super::texel;
use super::trap::Trap;
use super::warp::Warp;

/// Out of bounds, in a clamped coordinate.
const OUTSIDE: u32 = 1 << 31;

/// SUCLAMP: the packed coordinate, and whether it was outside.
pub fn clamp(a: u32, word: u32, bias: i32, signed: bool, plain: bool) -> (u32, bool) {
    let (last, shift) = extent(word);
    let a = a.wrapping_add(bias as u32);
    let (v, outside) = match (signed && (a as i32) < 0, a > last) {
        (true, _) => (0, true),
        (_, true) => (last, true),
        _ => (a, false),
    };
    if plain {
        return (v, outside);
    }
    let flag = if outside { OUTSIDE } else { 0 };
    let packed = match shift {
        Some(s) => {
            let bytes = v << s;
            bytes >> 6 & 0xffff | (bytes & 63) << 16
        }
        None => v & 0xffff,
    };
    (packed | flag, outside)
}

/// SUBFM: the low byte of the address, and whether any coordinate was outside.
pub fn low_byte(x: u32, y: u32, z: u32) -> (u32, bool) {
    ((x & 3) << 6 | x >> 16 & 63, (x | y | z) & OUTSIDE != 0)
}

/// SUEAU.
pub fn upper_address(offset: u32, base: u32) -> u32 {
    base.wrapping_add(offset >> 2)
}

/// What an access by address or slot does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    Load(Width),
    Store(Width),
    /// Through the format, these channels.
    StoreTexel(u8),
    /// The address of a texel, and whether it is outside.
    Address {
        width: Width,
        pdst: u8,
    },
}

/// Where a surface access goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// A pair: low bits and address / 256; with `wide` the low word is a 32-bit offset. `outside` suppresses it.
    Address { reg: u8, wide: bool, format: Src, outside: PSrc },
    /// A bound slot and the first of `dims` coordinates; the third of an array is its layer's offset / 256.
    Slot { slot: Src, coord: u8, dims: u8, layered: bool },
}

/// SULDGA, SUSTGA; SULD, SUST, SULEA.
#[derive(Clone, Copy, Debug)]
pub struct SurfaceOp {
    pub access: Access,
    pub target: Target,
    pub data: u8,
    /// `.TRAP`: outside is a fault.
    pub trap: bool,
}

pub(super) fn execute(
    env: &Env<'_>,
    st: &mut State,
    w: &mut Warp,
    op: &SurfaceOp,
    mask: Mask,
) -> Result<(), Trap> {
    let mut rows = [Row::ZERO; 4];
    let mut outside_lanes = 0;
    for l in lanes(mask) {
        let reg = |r: u8, k: usize| if r == SINK { 0 } else { w.regs[r as usize + k].0[l] };
        let (address, format) = match op.target {
            Target::Address { reg: r, wide, format, outside } => {
                let low = if wide { reg(r, 0) } else { reg(r, 0) & 0xff };
                let out = w.pred(outside) >> l & 1 != 0;
                let address = (u64::from(reg(r, 1)) << 8) + u64::from(low);
                ((!out).then_some(address), format_of(format.lane(&w.regs, &env.pool, l)))
            }
            Target::Slot { slot, coord, dims, layered } => {
                let n = slot.lane(&w.regs, &env.pool, l);
                let Some(image) = env.launch.surfaces.get(n as usize).and_then(|s| s.as_ref()) else {
                    return Err(Trap::new(FaultKind::OutOfBounds, l, format!("surface {n} is not bound")));
                };
                let at: [u32; 3] = std::array::from_fn(|i| if i < dims.into() { reg(coord, i) } else { 0 });
                let texels = matches!(op.access, Access::StoreTexel(_));
                (slot_address(image, at, layered, texels), Some(image.desc.format))
            }
        };
        let Some(address) = address else {
            outside_lanes |= 1 << l;
            if op.trap {
                return Err(Trap::new(FaultKind::OutOfBounds, l, "outside the surface"));
            }
            continue;
        };
        let missing = |size: u32| {
            let detail =
                format!("{size} bytes at {address:#x}, outside every buffer{}", env.memory.nearest(address));
            Err(Trap::new(FaultKind::OutOfBounds, l, detail))
        };
        match op.access {
            Access::Load(width) => {
                let size = width.bytes();
                let Some(mut v) = texel::load(env, st, address, size)? else { return missing(size) };
                match width {
                    Width::S8 => v[0] = crate::num::int::sext(v[0], 8),
                    Width::S16 => v[0] = crate::num::int::sext(v[0], 16),
                    _ => {}
                }
                rows.iter_mut().zip(v).for_each(|(row, v)| row.0[l] = v);
            }
            Access::Store(width) => {
                let size = width.bytes();
                let v = std::array::from_fn(|k| if k < width.regs() as usize { reg(op.data, k) } else { 0 });
                if !texel::store(env, st, address, size, v)? {
                    return missing(size);
                }
            }
            Access::StoreTexel(_) => {
                let Some(format) = format else {
                    return Err(Trap::new(
                        FaultKind::IllegalInstruction,
                        l,
                        "the surface's format is unknown",
                    ));
                };
                let v = texel::encode(format, std::array::from_fn(|k| reg(op.data, k)));
                if !texel::store(env, st, address, format.bytes(), v)? {
                    return missing(format.bytes());
                }
            }
            Access::Address { .. } => {
                (rows[0].0[l], rows[1].0[l]) = (address as u32, (address >> 32) as u32);
            }
        }
    }
    let written = match op.access {
        Access::Load(width) => width.regs() as usize,
        Access::Address { .. } => 2,
        _ => 0,
    };
    if op.data != SINK {
        for (k, row) in rows.iter().enumerate().take(written) {
            w.regs[op.data as usize + k].blend(mask, row);
        }
    }
    if let Access::Address { pdst, .. } = op.access {
        w.set_pred(pdst, mask, outside_lanes);
    }
    Ok(())
}

/// The address of a texel of a bound surface: x in bytes (in texels for formatted stores), rows of all slices.
fn slot_address(image: &Image, [x, y, z]: [u32; 3], layered: bool, texels: bool) -> Option<u64> {
    let level = image.levels.first()?;
    let cpp = image.desc.format.bytes();
    let (ms_x, ms_y) = image.desc.sample_grid();
    let [w, h, d] = level.size;
    let width = u64::from(w << ms_x) * u64::from(cpp);
    let x = u64::from(x) * u64::from(if texels { cpp } else { 1 });
    let slices = if layered || image.desc.dim != super::image::Dim::D3 { 1 } else { d };
    let offset = u64::from(if layered { z } else { 0 }) << 8;
    let inside = x < width && u64::from(y) < u64::from(h << ms_y) * u64::from(slices);
    let inside = inside && offset < level.layer * u64::from(d.max(1));
    inside.then(|| image.address + level.offset + offset + u64::from(y) * u64::from(level.pitch) + x)
}

#[cfg(test)]
mod tests {
    use super::super::image::{Dim, Image, ImageDesc, surface_info};
    use super::super::memory::Memory;
    use super::*;

    /// The address that a driver's sequence of instructions makes of coordinates.
    fn address(info: &[u32; 16], [x, y, z]: [u32; 3]) -> Option<u64> {
        let (x, _) = clamp(x, info[2], 0, true, false);
        let (y, _) = clamp(y, info[4], 0, true, false);
        let (z, _) = clamp(z, info[6], 0, true, false);
        let rows = (z & 0xffff) * (info[7] & 0xffff) + (y & 0xffff);
        let offset = rows * (info[3] & 0xffff) + (x & 0xffff);
        let (low, outside) = low_byte(x, y, z);
        (!outside).then(|| (u64::from(upper_address(offset, info[0])) << 8) + u64::from(low & 0xff))
    }

    #[test]
    fn the_instructions_together_give_the_texels_address() {
        let mut memory = Memory::new();
        for (dim, size) in [(Dim::D2, [100, 37, 1]), (Dim::D3, [9, 5, 4]), (Dim::D1, [300, 1, 1])] {
            for format in ["r8ui", "rg16f", "rgba32f"] {
                let desc = ImageDesc { dim, format: format.parse().unwrap(), size, levels: 1 };
                let image = Image::alloc(&mut memory, desc).unwrap();
                let info = surface_info(crate::Chip::Gk110, &image);
                for at in [[0, 0, 0], [size[0] - 1, size[1] - 1, size[2] - 1], [size[0] / 2, size[1] / 2, 0]]
                {
                    assert_eq!(
                        address(&info, at),
                        image.texel(0, at).map(|o| image.address + o),
                        "{dim:?} {at:?}"
                    );
                }
                assert_eq!(address(&info, [size[0], 0, 0]), None);
                assert_eq!(address(&info, [0, u32::MAX, 0]), None);
            }
        }
    }
}
