//! Fault injection: defects on request ([`InjectedFault`]), which `nvir bisect` and `nvir reduce`
//! are tested with.

use crate::ir::{Class, Def, Function, InstId, Op, Program, Src, SrcKind, Type, ValueData};
use crate::options::InjectedFault;

/// Puts the defect into a program; whether there was a place for it.
pub(super) fn apply(defect: InjectedFault, program: &mut Program) -> bool {
    let f = &mut program.funcs[program.entry];
    match defect {
        InjectedFault::Fold => first(f, add_one),
        InjectedFault::Gvn => drop_last_store(f),
        InjectedFault::CopyProp => first(f, lose_operand),
    }
}

/// Tries instructions in order until one is done.
fn first(f: &mut Function, done: fn(&mut Function, InstId) -> bool) -> bool {
    let all: Vec<InstId> = f.insts_in_order().map(|(_, i)| i).collect();
    all.into_iter().any(|i| done(f, i))
}

fn add_one(f: &mut Function, i: InstId) -> bool {
    let inst = &mut f.insts[i];
    if inst.op != Op::Add || !matches!(inst.ty, Type::U32 | Type::S32) {
        return false;
    }
    for s in inst.srcs.iter_mut() {
        if let SrcKind::Imm(n) = &mut s.kind {
            *n = n.wrapping_add(1);
            return true;
        }
    }
    false
}

fn drop_last_store(f: &mut Function) -> bool {
    let stores: Vec<_> = f.insts_in_order().filter(|&(_, i)| f.insts[i].op == Op::St).collect();
    let [_, .., (b, i)] = stores[..] else { return false };
    f.blocks[b].body.retain(|&other| other != i);
    true
}

fn lose_operand(f: &mut Function, i: InstId) -> bool {
    if f.insts[i].op != Op::Add || f.insts[i].ty != Type::U32 {
        return false;
    }
    let Some(at) = f.insts[i].srcs.iter().position(Src::is_plain_val) else { return false };
    let lost = f.values.push(ValueData { class: Class::Gpr, def: Def::None });
    f.insts[i].srcs[at] = lost.into();
    true
}
