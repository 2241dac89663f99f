//! Replacing instructions by sequences in place.

use crate::ir::build::Builder;
use crate::ir::*;

/// Visits every instruction of a function in layout order. `f` either appends a replacement, which must define the
/// instruction's destinations, and says true; or leaves it and says false.
pub fn expand(func: &mut Function, mut f: impl FnMut(&mut Builder<'_>, &Inst) -> bool) -> bool {
    let mut changed = false;
    for n in 0..func.layout.len() {
        let block = func.layout[n];
        let body = std::mem::take(&mut func.blocks[block].body);
        func.blocks[block].body.reserve(body.len());
        for id in body {
            let inst = func.insts[id].clone();
            let mut b = Builder::new(func, block);
            b.loc = inst.loc;
            if f(&mut b, &inst) {
                changed = true;
            } else {
                func.blocks[block].body.push(id);
            }
        }
    }
    changed
}

/// Word `n` of an operand as an operand of its own. Modifiers other than `not` belong to the whole and are
/// dropped.
pub fn word(s: &Src, n: usize) -> Src {
    let kind = match s.kind {
        SrcKind::Imm(x) => SrcKind::Imm(if n == 0 { x } else { 0 }),
        SrcKind::Imm64(x) => SrcKind::Imm(x[n]),
        SrcKind::Const { bank, offset } => SrcKind::Const { bank, offset: offset + 4 * n as u16 },
        _ => SrcKind::Val(s.values()[n]),
    };
    Src { kind, mods: SrcMods { neg: false, abs: false, inv: s.mods.inv } }
}
