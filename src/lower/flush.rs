//! Arithmetic on single floats takes subnormal numbers for zero and gives zero for them, where the driver wants that.
//!
//! OpenGL leaves it to the implementation, Mesa's nvc0 driver has graphics stages flush (`handleFTZ` in `nv50_ir`), and programs
//! that compare with zero depend on it. It is the last step of the phase, so that no optimisation finds operations that it must
//! keep apart; what it folds until then is folded with subnormal numbers.

use crate::ir::op::row;
use crate::ir::*;

/// Marks the operations of a function.
pub(crate) fn run(f: &mut Function) {
    for inst in f.insts.values_mut() {
        // Moves with a sign, and what only picks one of its operands, take bits as they are.
        let picks = matches!(inst.op, Op::Neg | Op::Abs | Op::Min | Op::Max | Op::Slct);
        if inst.sty == Type::F32 && !picks && inst.op.row().is(row::FTZ) {
            inst.ftz = true;
        }
    }
}
