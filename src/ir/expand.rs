//! Replacing instructions by sequences in place.

use crate::ir::build::Builder;
use crate::ir::*;

/// Visits those instructions of a function that are wanted, in layout order. `f` either appends a
/// replacement, which must define the instruction's destinations, and says true; or leaves it and
/// says false.
pub fn expand(
    func: &mut Function,
    wanted: impl Fn(&Inst) -> bool,
    mut f: impl FnMut(&mut Builder<'_>, &Inst) -> bool,
) -> bool {
    let mut changed = false;
    for n in 0..func.layout.len() {
        let block = func.layout[n];
        let Some(first) = func.blocks[block].body.iter().position(|&i| wanted(&func.insts[i])) else {
            continue;
        };
        let rest = func.blocks[block].body.split_off(first);
        for id in rest {
            if !wanted(&func.insts[id]) {
                func.blocks[block].body.push(id);
                continue;
            }
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

/// Word `n` of an operand as an operand of its own. Modifiers other than `not` belong to the whole
/// and are dropped.
pub fn word(s: &Src, n: usize) -> Src {
    let kind = match s.kind {
        SrcKind::Imm(x) => SrcKind::Imm(if n == 0 { x } else { 0 }),
        SrcKind::Imm64(x) => SrcKind::Imm(x[n]),
        SrcKind::Const { bank, offset } => SrcKind::Const { bank, offset: offset + 4 * n as u16 },
        _ => SrcKind::Val(s.values()[n]),
    };
    Src { kind, mods: SrcMods { neg: false, abs: false, inv: s.mods.inv } }
}
