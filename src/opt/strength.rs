//! Cheaper operations for multiplications by constants.
//!
//! ```text
//! mul u32 %r1 %r0 0x5         ->  shladd u32 %r1 %r0 0x2 %r0
//! mul u32 %r2 %r0 0x7         ->  shladd u32 %r2 %r0 0x3 -%r0
//! mad u32 %r3 %r0 0xc %r4     ->  shladd u32 %r5 %r0 0x1 %r0      where %r4 is a constant-buffer word, which
//!                                 shladd u32 %r3 %r5 0x2 %r4      a mad with an immediate cannot take
//! ```
//!
//! On Kepler a multiplication or a shift issues at a fifth of an addition's rate, and a shift-add
//! at the addition's (CUDA C programming guide, arithmetic throughput). A product that one
//! shift-add computes always becomes that. A product by `(2^n ± 1) * 2^m` that is added to
//! something becomes two, if the multiply-add needed a second instruction anyway to bring its
//! addend into a register.

use super::Ctx;
use super::rewrite::{emit, is_scalar, rewrite_each};
use crate::ir::*;

pub(crate) fn run(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    let mut replaced = 0;
    rewrite_each(f, |f, out, i| {
        let inst = &f.insts[i];
        let int = || matches!(inst.ty, Type::U32 | Type::S32);
        if !matches!(inst.op, Op::Mul | Op::Mad) || !int() || !is_scalar(f, inst) || inst.sat {
            return false;
        }
        if !inst.srcs[0].is_plain_val() {
            return false;
        }
        let (Some(x), Some(k)) = (inst.srcs[0].as_val(), inst.srcs[1].as_imm()) else { return false };
        let mut last = Inst::new(Op::ShlAdd, Type::U32);
        last.dsts = inst.dsts;
        last.loc = inst.loc;
        if inst.op == Op::Mul {
            let Some(sum) = one_shift_add(x, k) else { return false };
            last.srcs.extend(sum);
        } else {
            let addend = inst.srcs[2];
            let m = k.trailing_zeros();
            if k == 0 || !addend.is_plain_val() || !is_constant_word(f, &addend) {
                return false;
            }
            let Some(sum) = one_shift_add(x, k >> m) else { return false };
            let mut inner = Inst::new(Op::ShlAdd, Type::U32);
            inner.srcs.extend(sum);
            inner.loc = last.loc;
            let inner = emit(f, out, inner);
            if m == 0 {
                last.op = Op::Add;
                last.srcs.extend([Src::val(inner), addend]);
            } else {
                last.srcs.extend([Src::val(inner), Src::imm(m), addend]);
            }
        }
        f.replace(i, last);
        replaced += 1;
        true
    });
    ctx.count("strength: replaced", replaced);
    replaced > 0
}

/// Operands of a shift-add that multiplies by `k`, which is `2^n + 1` or `2^n - 1`.
fn one_shift_add(x: ValueId, k: u32) -> Option<[Src; 3]> {
    let value = Src::val(x);
    if k < 3 {
        return None;
    }
    if (k - 1).is_power_of_two() {
        return Some([value, Src::imm((k - 1).trailing_zeros()), value]);
    }
    let above = k.checked_add(1).filter(|a| a.is_power_of_two())?;
    Some([value, Src::imm(above.trailing_zeros()), value.neg()])
}

/// Whether an operand is a word that instructions read straight from a constant buffer.
fn is_constant_word(f: &Function, s: &Src) -> bool {
    let Some(d) = s.as_val().and_then(|v| f.def_inst(v)) else { return false };
    d.op == Op::Ld
        && d.mem.is_some_and(|m| m.space == Space::Const && m.index.is_none() && m.base().is_empty())
}
