//! Operations on textures.

use crate::ir::build::Builder;
use crate::ir::{Dim, Ext, Inst, List, Op, Tex, TexOp, Type, ValueId};

/// An operation on texture 0 of that dimension, in layers if it is an array, with sampler 0, that gives nothing yet and has no
/// operands.
pub(crate) fn access(op: TexOp, (dim, array): (Dim, bool), ty: Type) -> Tex {
    Tex {
        op,
        dim,
        array,
        shadow: false,
        texture: 0,
        sampler: 0,
        mask: 0,
        component: 0,
        level_zero: false,
        offset: None,
        ty,
        operands: Vec::new(),
        indirect: false,
        machine_offsets: false,
    }
}

/// Offsets in texels that an instruction holds itself: three constants from -8 to 7 at most. `None`: they need an operand.
pub(crate) fn near_offset(offsets: impl IntoIterator<Item = Option<u32>>) -> Option<[i8; 3]> {
    let mut all = [0; 3];
    for (to, n) in all.iter_mut().zip(offsets) {
        *to = n.map(|n| n as i32).filter(|n| (-8..8).contains(n))? as i8;
    }
    Some(all)
}

/// Appends the operation; what it gives for each component of its mask.
pub(crate) fn emit(b: &mut Builder<'_>, tex: Tex) -> List<ValueId, 5> {
    let mut inst = Inst::new(Op::Tex, tex.ty);
    for _ in 0..tex.mask.count_ones() {
        inst.dsts.push(b.gpr());
    }
    inst.ext = Some(Box::new(Ext::Tex(tex)));
    let values = inst.dsts;
    b.push(inst);
    values
}
