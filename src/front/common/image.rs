//! Operations on images.

use crate::format::{Format, Kind};
use crate::ir::build::Builder;
use crate::ir::{Dim, Ext, Inst, List, Op, Order, Surf, Type, ValueId};

/// An access to image 0 of that dimension, in layers if it is an array, without coordinates and data, of the type that its
/// format has.
pub(crate) fn access((dim, array): (Dim, bool), format: Option<Format>, order: Order) -> Surf {
    Surf {
        dim,
        array,
        image: 0,
        index: None,
        handle: None,
        format,
        mask: 0,
        ty: channel_type(format),
        atom: None,
        coords: Vec::new(),
        sample: None,
        data: Vec::new(),
        order,
        machine: None,
    }
}

/// The type of channels where the access does not say one.
pub(crate) fn channel_type(format: Option<Format>) -> Type {
    match format.map(Format::kind) {
        Some(Kind::Sint) => Type::S32,
        Some(Kind::Uint) => Type::U32,
        _ => Type::F32,
    }
}

/// Appends the access; so many words that it gives.
pub(crate) fn emit(b: &mut Builder<'_>, op: Op, surf: Surf, results: usize) -> List<ValueId, 5> {
    // The type of the instruction is that of one component.
    let ty = if surf.ty == Type::B128 { Type::U32 } else { surf.ty };
    let mut inst = Inst::new(op, ty);
    for _ in 0..results {
        inst.dsts.push(b.gpr());
    }
    inst.ext = Some(Box::new(Ext::Surf(surf)));
    let values = inst.dsts;
    b.push(inst);
    values
}
