//! Attributes at computed addresses: Kepler takes the address as the machine keeps it.
//!
//! ```text
//! ld u32 %r2 a[%r1+0x80]  ->  attraddr u32 %r3 a[%r1+0x80]
//!                             ld u32 %r2 a[%r3+0x0]
//! ```
//!
//! Per-patch attributes and interpolated inputs take a register as it is on all chips.

use crate::ir::expand::expand;
use crate::ir::*;

/// The first vertex that a geometry shader makes is number 0, which stores need not name.
pub(crate) fn first_vertex(f: &mut Function) {
    let ids: Vec<InstId> = f.insts_in_order().map(|(_, i)| i).collect();
    for i in ids {
        let Some(m) = f.insts[i].mem.filter(|m| m.space == Space::Output) else { continue };
        let zero = |v: ValueId| {
            f.def_inst(v).is_some_and(|d| d.op == Op::Mov && d.srcs.first().and_then(Src::as_imm) == Some(0))
        };
        if f.insts[i].op == Op::St && m.index.is_some_and(zero) {
            let mut m = m;
            m.index = None;
            f.insts[i].mem = Some(m);
        }
    }
}

pub(crate) fn physical_addresses(f: &mut Function) {
    let computed = |i: &Inst| {
        let attribute = |m: MemRef| matches!(m.space, Space::Input | Space::Output) && !m.base().is_empty();
        matches!(i.op, Op::Ld | Op::St) && i.mem.is_some_and(attribute)
    };
    expand(f, computed, |b, i| {
        let Some(m) = i.mem else { return false };
        let mut place = m;
        place.index = None;
        let physical = b.value(Inst::new(Op::AttrAddr, Type::U32).with_mem(place));
        let mut access = i.clone();
        access.mem = Some(m.with_offset(0).with_base(&[physical]));
        b.push(access);
        true
    });
}
