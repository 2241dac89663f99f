//! Rematerialisation: values that are cheaper to compute again than to keep: constants,
//! constant-buffer words, special registers.

use super::Move;
use crate::ir::{Aux, Def, Function, Inst, Op, Space, Src, SrcKind, SrcMods, Sv, Type, ValueId};

/// How to make a value again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Remat {
    /// Any bits will do.
    Undef,
    Imm(u32),
    Cbuf {
        bank: u8,
        offset: u16,
    },
    Sreg(Sv),
}

impl Remat {
    /// The move that puts it into a general register; none where any bits will do.
    pub(super) fn to(self, dst: u8) -> Option<Move> {
        match self {
            Remat::Undef => None,
            Remat::Imm(bits) => Some(Move::Imm { dst, bits }),
            Remat::Cbuf { bank, offset } => Some(Move::Cbuf { dst, bank, offset }),
            Remat::Sreg(sv) => Some(Move::Sreg { dst, sv }),
        }
    }
}

/// Whether an instruction gives a value that [`of_value`] knows how to make again.
pub(crate) fn is_constant(inst: &Inst) -> bool {
    of_inst(inst).is_some()
}

/// How to make a general value again at any place, if that takes no other register.
pub(crate) fn of_value(f: &Function, v: ValueId) -> Option<Remat> {
    match f.values[v].def {
        Def::Inst(i) => of_inst(&f.insts[i]),
        _ => None,
    }
}

fn of_inst(inst: &Inst) -> Option<Remat> {
    if inst.guard.is_some() || inst.dsts.len() != 1 || inst.ty == Type::Pred {
        return None;
    }
    match inst.op {
        Op::Undef => Some(Remat::Undef),
        Op::Mov => match inst.srcs.first() {
            Some(Src { kind: SrcKind::Imm(bits), mods }) if *mods == SrcMods::default() => {
                Some(Remat::Imm(*bits))
            }
            Some(Src { kind: SrcKind::Const { bank, offset }, mods }) if *mods == SrcMods::default() => {
                Some(Remat::Cbuf { bank: *bank, offset: *offset })
            }
            _ => None,
        },
        Op::Ld => {
            let m = inst.mem.as_ref()?;
            let direct = m.space == Space::Const && m.base().is_empty() && m.index.is_none();
            if !direct || inst.ty.bytes() != 4 || m.offset % 4 != 0 {
                return None;
            }
            Some(Remat::Cbuf { bank: u8::try_from(m.buffer).ok()?, offset: u16::try_from(m.offset).ok()? })
        }
        Op::Rdsv => match inst.aux {
            Aux::Sv(sv) if !sv.is_volatile() => Some(Remat::Sreg(sv)),
            _ => None,
        },
        _ => None,
    }
}
