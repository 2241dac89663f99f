//! Kernels of lane operations: they read operands from rows of registers and of uniform values, and
//! write the destination's row. What they compute is defined by [`super::laneop`].

use crate::state::lanes::{LaneVec, Modifier, POOL, Src};
use nvir_simd::{Compiled, Features, Kernel, Processor};
use std::marker::PhantomData;

/// A lane operation on whole rows.
pub(crate) trait RowKernel {
    /// How many operands it reads: the first ones.
    const OPERANDS: usize;

    /// The results of all lanes.
    fn rows<F: Features>(operands: [&LaneVec; 3], out: &mut LaneVec);
}

/// A kernel of a lane operation: registers, uniform rows, operands, the lanes that it writes ([`LaneVec::expand`]), destination.
pub(crate) type RowFn = Compiled<[LaneVec], [LaneVec], [Src; 3], LaneVec, ()>;

/// What is executed by full and by other warps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Forms {
    pub full: RowFn,
    pub partial: RowFn,
}

impl Forms {
    fn new<K: RowKernel, const MODIFIED: bool>(processor: Processor) -> Forms {
        Forms {
            full: processor.compiled::<Row<K, MODIFIED, false>, _, _, _, _, _>(),
            partial: processor.compiled::<Row<K, MODIFIED, true>, _, _, _, _, _>(),
        }
    }
}

/// The kernels of a lane operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kernels {
    /// For operands without modifiers.
    pub plain: Forms,
    /// For operands whose modifiers are bits that change.
    modified: Option<Forms>,
}

impl Kernels {
    pub(super) fn without_modifiers<K: RowKernel>(processor: Processor) -> Kernels {
        Kernels { plain: Forms::new::<K, false>(processor), modified: None }
    }

    pub(super) fn with_modifiers<K: RowKernel>(processor: Processor) -> Kernels {
        Kernels {
            modified: Some(Forms::new::<K, true>(processor)),
            ..Kernels::without_modifiers::<K>(processor)
        }
    }

    /// Those for such operands, if there are any.
    pub(super) fn forms(&self, src: &[Src]) -> Option<Forms> {
        if src.iter().all(|s| s.modifier == Modifier::None) {
            return Some(self.plain);
        }
        self.modified.filter(|_| src.iter().all(|s| s.modifier.bits().is_some()))
    }
}

/// The operand with this number, if there are as many. By value: the destination may be an operand as well.
#[inline(always)]
fn operand<K: RowKernel, const MODIFIED: bool>(
    regs: &[LaneVec],
    pool: &[LaneVec],
    src: &[Src; 3],
    n: usize,
) -> LaneVec {
    match MODIFIED {
        _ if n >= K::OPERANDS => LaneVec::ZERO,
        false => stored(regs, pool, src[n]),
        true => changed(regs, pool, src[n]),
    }
}

/// An operand's row as it is stored.
#[inline(always)]
pub(super) fn stored(regs: &[LaneVec], pool: &[LaneVec], src: Src) -> LaneVec {
    if src.row < POOL { regs[src.row as usize] } else { pool[(src.row - POOL) as usize] }
}

/// An operand's row, with modifiers that change bits.
#[inline(always)]
pub(super) fn changed(regs: &[LaneVec], pool: &[LaneVec], src: Src) -> LaneVec {
    let (keep, flip) = src.modifier.bits().unwrap_or((u32::MAX, 0));
    let mut row = stored(regs, pool, src);
    row.0.iter_mut().for_each(|v| *v = *v & keep ^ flip);
    row
}

struct Row<K, const MODIFIED: bool, const PARTIAL: bool>(PhantomData<K>);

impl<K: RowKernel, const MODIFIED: bool, const PARTIAL: bool>
    Kernel<[LaneVec], [LaneVec], [Src; 3], LaneVec, ()> for Row<K, MODIFIED, PARTIAL>
{
    #[inline(always)]
    fn run<F: Features>(regs: &mut [LaneVec], pool: &[LaneVec], src: &[Src; 3], take: &LaneVec, dst: u32) {
        let a = operand::<K, MODIFIED>(regs, pool, src, 0);
        let b = operand::<K, MODIFIED>(regs, pool, src, 1);
        let c = operand::<K, MODIFIED>(regs, pool, src, 2);
        let mut out = LaneVec::ZERO;
        K::rows::<F>([&a, &b, &c], &mut out);
        let dst = &mut regs[dst as usize];
        if PARTIAL { dst.merge(take, &out) } else { *dst = out }
    }
}
