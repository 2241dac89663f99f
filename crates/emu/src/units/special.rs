//! Special registers.

use crate::cx::Cx;
use crate::state::lanes::{LANES, LaneVec, Mask};
use crate::state::warp::Warp;
use nvir_hw::{special, window};

/// The numbers of a block's threads: x, y and z of each warp. They are the same in all blocks of a launch.
pub(crate) struct ThreadNumbers(Vec<[LaneVec; 3]>);

impl ThreadNumbers {
    /// Of blocks of this size.
    pub(crate) fn new(size: [u32; 3]) -> ThreadNumbers {
        let threads = size.iter().product::<u32>() as usize;
        let mut warps = vec![[LaneVec::ZERO; 3]; threads.div_ceil(LANES)];
        let mut at = [0; 3];
        for (w, warp) in warps.iter_mut().enumerate() {
            for l in 0..LANES.min(threads - w * LANES) {
                (0..3).for_each(|axis| warp[axis].0[l] = at[axis]);
                for axis in 0..3 {
                    at[axis] += 1;
                    if at[axis] < size[axis] {
                        break;
                    }
                    at[axis] = 0;
                }
            }
        }
        ThreadNumbers(warps)
    }

    /// Those of a warp.
    #[inline]
    pub(crate) fn rows(&self, warp: u32) -> &[LaneVec; 3] {
        static NONE: [LaneVec; 3] = [LaneVec::ZERO; 3];
        self.0.get(warp as usize).unwrap_or(&NONE)
    }
}

/// Whether S2R gives the lanes of a kernel's warp what [`kernel_row`] does.
pub(crate) fn is_of_kernels(reg: u8) -> bool {
    matches!(
        reg,
        special::TID_X..=special::TID_Z
            | special::CTAID_X..=special::CTAID_Z
            | special::NTID_X..=special::NTID_Z
            | special::NCTAID_X..=special::NCTAID_Z
    )
}

/// Sets what S2R gives the lanes of a kernel's warp, for the numbers and sizes of threads and blocks.
#[inline(always)]
pub(crate) fn kernel_row(cx: &mut Cx<'_>, w: &mut Warp, mask: Mask, dst: u8, reg: u8) {
    let to = &mut w.regs[dst as usize];
    let same;
    let row = match reg {
        special::TID_X..=special::TID_Z => &cx.env.threads.rows(w.index)[(reg - special::TID_X) as usize],
        _ => {
            let value = of_block(cx, reg);
            // A row that is made first is copied: 2 % of a short kernel.
            if mask == Mask::MAX {
                to.0.fill(value);
                return;
            }
            same = LaneVec::splat(value);
            &same
        }
    };
    if mask == Mask::MAX { *to = *row } else { to.merge(cx.block.scratch.take(mask), row) }
}

/// What S2R gives all lanes; those that have no thread, anything.
pub(crate) fn special_row(cx: &Cx<'_>, w: &Warp, reg: u8) -> LaneVec {
    let each = || LaneVec(std::array::from_fn(|l| special_register(cx, w, reg, l)));
    if cx.env.stage.is_some() {
        return each();
    }
    match reg {
        special::TID_X..=special::TID_Z => cx.env.threads.rows(w.index)[(reg - special::TID_X) as usize],
        special::LANEID | special::TID | special::EQMASK..=special::GEMASK => each(),
        _ => LaneVec::splat(special_register(cx, w, reg, 0)),
    }
}

/// What S2R gives a lane. Numbers: envytools and nvdisasm.
fn special_register(cx: &Cx<'_>, w: &Warp, reg: u8, lane: usize) -> u32 {
    let l = cx.env.bound.launch;
    let linear = w.index * LANES as u32 + lane as u32;
    let [bx, by, bz] = cx.env.shape.block;
    let tid = [linear % bx, linear / bx % by, linear / bx / by];
    let one = 1u32 << lane;
    let clock = l.clock.wrapping_add(cx.block.steps);
    if let Some(value) =
        cx.env.stage.and_then(|s| s.special_register(cx.block.number.into(), cx.block.helpers, reg, lane))
    {
        return value;
    }
    match reg {
        special::LANEID => lane as u32,
        special::CLOCK | special::CLOCKLO | special::GLOBALTIMERLO => clock as u32,
        special::CLOCKHI | special::GLOBALTIMERHI => (clock >> 32) as u32,
        // One multiprocessor with 64 warps.
        special::VIRTCFG => 1 << 20 | 64 << 8,
        special::VIRTID => (w.index & 63) << 8,
        special::TID => tid[0] & 0xffff | (tid[1] & 0x3ff) << 16 | tid[2] << 26,
        special::TID_X..=special::TID_Z => tid[(reg - special::TID_X) as usize],
        special::NTID => bx & 0xffff | (by & 0x3ff) << 16 | bz << 26,
        special::GRIDID => l.grid_id,
        special::SWINLO => l.shared_window,
        special::SMEMSZ => cx.env.shape.shared_bytes,
        special::LWINLO => l.local_window,
        special::SWINSZ | special::SMEMBANKS | special::LWINSZ => window::BYTES,
        special::EQMASK => one,
        special::LTMASK => one - 1,
        special::LEMASK => one | (one - 1),
        special::GTMASK => !(one | (one - 1)),
        special::GEMASK => !(one - 1),
        _ => of_block(cx, reg),
    }
}

/// What is the same in all threads of a block: its numbers, and the sizes of blocks and of the grid. 0 for other registers.
#[inline]
fn of_block(cx: &Cx<'_>, reg: u8) -> u32 {
    match reg {
        special::CTAID_X..=special::CTAID_Z => cx.block.ctaid[(reg - special::CTAID_X) as usize],
        special::NTID_X..=special::NTID_Z => cx.env.shape.block[(reg - special::NTID_X) as usize],
        special::NCTAID_X..=special::NCTAID_Z => cx.env.shape.grid[(reg - special::NCTAID_X) as usize],
        _ => 0,
    }
}
