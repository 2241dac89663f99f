//! Registers of which a basic block itself says what they hold.
//!
//! Compilers keep distances of shifts and places of fields in registers (`MOV32I R10, 2`, then `SHF.L R9, R6, R10, R7`). Generated code
//! shifts vectors by distances that it knows, and calls kernels for others.

use nvir_emu::engine::Code;
use nvir_emu::engine::open::{Inst, LaneOp, Micro, Modifier, NULL, POOL, Src, Uniform};
use std::collections::BTreeMap;

/// The instructions of code, in which lane operations read an immediate instead of a register that an instruction before them, in the
/// same basic block, has set to it. All lanes that run had it set, and within a block no lane begins to run.
pub(crate) fn folded(code: &Code) -> Vec<Inst> {
    let mut insts = code.instructions().to_vec();
    let mut known: BTreeMap<u8, Src> = BTreeMap::new();
    for inst in &mut insts {
        if inst.leader {
            known.clear();
        }
        if let Micro::Lane { src, .. } = &mut inst.micro {
            for src in src.iter_mut().filter(|src| src.row < POOL) {
                if let Some(immediate) = known.get(&(src.row as u8)) {
                    src.row = immediate.row;
                }
            }
        }
        for &(first, count) in &inst.writes {
            known.retain(|&r, _| r < first || r - first >= count);
        }
        if let Some((dst, immediate)) = set(code, inst) {
            known.insert(dst, immediate);
        }
    }
    insts
}

/// The register that an instruction sets to an immediate in all lanes that run.
fn set(code: &Code, inst: &Inst) -> Option<(u8, Src)> {
    let Micro::Lane { op, dst, src: [from, ..] } = &inst.micro else { return None };
    let everywhere = inst.is_for_all() && !inst.sync;
    let immediate = || {
        let uniform = code.uniforms().get(usize::from(from.row.checked_sub(POOL)?))?;
        matches!(uniform, Uniform::Imm(_)).then_some(*from)
    };
    let plain = op.op == LaneOp::Mov && from.modifier == Modifier::None && *dst != NULL;
    if everywhere && plain { Some((*dst, immediate()?)) } else { None }
}
