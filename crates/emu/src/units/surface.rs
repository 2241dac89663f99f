//! Surface instructions: Kepler's address arithmetic and accesses by address, GF100's accesses by slot.

use super::texels;
use crate::check::definedness;
use crate::check::shadow::Kind;
use crate::code::micro::{NULL, Width};
use crate::code::surfop::{Access, SurfaceOp, Target};
use crate::cx::Cx;
use crate::fault::FaultKind;
use crate::state::lanes::{LANES, LaneVec, Mask, lanes};
use crate::state::warp::Warp;
use crate::texel;
use crate::trap::Trap;
use nvir_base::format::{Format, Layout};
use nvir_hw::surface::{Slot, format_of};

pub(crate) fn execute(cx: &mut Cx<'_>, w: &mut Warp, op: &SurfaceOp, mask: Mask) -> Result<(), Trap> {
    let mut rows = [LaneVec::ZERO; 4];
    let (mut outside, mut targets) = (0, [None; LANES]);
    // Nothing is stored before all lanes may.
    for l in lanes(mask) {
        match target(cx, w, op, l)? {
            Some(to) => targets[l] = Some(to),
            None if op.trap => return Err(Trap::new(FaultKind::OutOfBounds, l, "outside the surface")),
            None => outside |= 1 << l,
        }
    }
    let kind = if op.coherent { Kind::AtomicRead } else { Kind::Read };
    for l in lanes(mask) {
        let Some((address, format)) = targets[l] else { continue };
        let reg = |k: usize| if op.data == NULL { 0 } else { w.regs[op.data as usize + k].0[l] };
        match op.access {
            Access::Load(width) => {
                let size = width.bytes();
                let Some(mut v) = texels::load(cx, (w, l), kind, (address, size))? else {
                    return Err(missing(cx, l, address, size));
                };
                match width {
                    Width::S8 => v[0] = nvir_base::num::int::sext(v[0], 8),
                    Width::S16 => v[0] = nvir_base::num::int::sext(v[0], 16),
                    _ => {}
                }
                rows.iter_mut().zip(v).for_each(|(row, v)| row.0[l] = v);
            }
            Access::Store(width) => {
                let v = std::array::from_fn(|k| if k < width.regs() as usize { reg(k) } else { 0 });
                texels::store(cx, (w, l), (address, width.bytes()), v)?;
            }
            Access::StoreTexel => {
                if let Some(format) = format {
                    let v = texel::encode(format, std::array::from_fn(reg));
                    texels::store(cx, (w, l), (address, format.bytes()), v)?;
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
    if op.data != NULL {
        for (k, row) in rows.iter().enumerate().take(written) {
            w.regs[op.data as usize + k].blend(mask, row);
        }
    }
    if let Access::Address { pdst, .. } = op.access {
        w.set_pred(pdst, mask, outside);
    }
    Ok(())
}

/// Where a lane's access goes, and the format that it goes through; none: outside. Faults if it cannot be.
fn target(
    cx: &mut Cx<'_>,
    w: &Warp,
    op: &SurfaceOp,
    l: usize,
) -> Result<Option<(u64, Option<Layout>)>, Trap> {
    let bound = cx.env.bound;
    let reg = |r: u8, k: usize| if r == NULL { 0 } else { w.regs[r as usize + k].0[l] };
    let (address, format) = match op.target {
        Target::Address { reg: r, wide, format, outside } => {
            let low = if wide { reg(r, 0) } else { reg(r, 0) & 0xff };
            let out = w.pred(outside) >> l & 1 != 0;
            let address = (u64::from(reg(r, 1)) << 8) + u64::from(low);
            ((!out).then_some(address), format_of(format.lane(&w.regs, &bound.pool, l)).map(Format::layout))
        }
        Target::Slot { slot, coord, dims, layered } => {
            let n = slot.lane(&w.regs, &bound.pool, l);
            let Some(image) = bound.launch.surfaces.get(n as usize).and_then(|s| s.as_ref()) else {
                return Err(Trap::new(FaultKind::OutOfBounds, l, format!("surface {n} is not bound")));
            };
            let at: [u32; 3] = std::array::from_fn(|i| if i < dims.into() { reg(coord, i) } else { 0 });
            let scale = if matches!(op.access, Access::StoreTexel) { image.texel.bytes() } else { 1 };
            let layer = if layered { at[2] } else { 0 };
            (slot_address(image, [at[0], at[1], layer], scale), Some(image.texel))
        }
    };
    let Some(address) = address else { return Ok(None) };
    let stored = match (op.access, format) {
        (Access::Store(width), _) => width.bytes(),
        (Access::StoreTexel, Some(format)) => {
            definedness::channels(w, op.data, format.channels(), l)?;
            format.bytes()
        }
        (Access::StoreTexel, None) => {
            let detail = "the surface's format is unknown";
            return Err(Trap::new(FaultKind::IllegalInstruction, l, detail));
        }
        _ => return Ok(Some((address, format))),
    };
    if !texels::is_mapped(cx, address, stored) {
        return Err(missing(cx, l, address, stored));
    }
    Ok(Some((address, format)))
}

fn missing(cx: &Cx<'_>, lane: usize, address: u64, size: u32) -> Trap {
    let near = cx.env.bound.memory.nearest(address);
    let detail = format!("{size} bytes at {address:#x}, outside every buffer{near}");
    Trap::new(FaultKind::OutOfBounds, lane, detail)
}

/// The address of a texel of a bound surface: x in units of `scale` bytes.
fn slot_address(slot: &Slot, [x, y, layer]: [u32; 3], scale: u32) -> Option<u64> {
    slot.byte(u64::from(x) * u64::from(scale), y.into(), u64::from(layer) << 8)
}
