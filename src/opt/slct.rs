//! Compare-and-select forming: a select by a comparison with zero becomes `slct`, which compares by
//! itself.
//!
//! ```text
//! set.lt pred f32 %p1 %r0 0x0
//! sel u32 %r2 %r3 %r4 %p1         ->  slct.lt u32 f32 %r2 %r3 %r4 %r0
//! ```
//!
//! Only if nobody else reads the comparison than choices behind it in its block, and if all of them
//! encode so ([`crate::select::legal`]): the comparison disappears, and what it read lives until
//! the last choice instead of the predicate. A choice between a value and what is made of it stays:
//! that becomes one instruction under the predicate (`emit/predicated_update`).

use super::Ctx;
use super::rewrite::{LazyUses, is_scalar};
use crate::ir::*;
use crate::select;
use rustc_hash::FxHashMap;

pub(super) fn run(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    let mut uses = LazyUses::default();
    let mut chosen = 0;
    // Comparisons with zero of the block and, for each, the choices by it.
    let mut found: Vec<(ValueId, Test, Vec<InstId>)> = Vec::new();
    let mut place: FxHashMap<ValueId, usize> = FxHashMap::default();
    for n in 0..f.layout.len() {
        let b = f.layout[n];
        found.clear();
        place.clear();
        for &i in &f.blocks[b].body {
            let inst = &f.insts[i];
            match inst.op {
                Op::Set => {
                    if let Some(test) = test(f, inst) {
                        place.insert(inst.dsts[0], found.len());
                        found.push((inst.dsts[0], test, Vec::new()));
                    }
                }
                Op::Sel if !found.is_empty() && inst.ty != Type::Pred && is_scalar(f, inst) => {
                    if let Some(&at) = inst.srcs[2].as_val().and_then(|p| place.get(&p)) {
                        found[at].2.push(i);
                    }
                }
                _ => {}
            }
        }
        for (p, test, choices) in &found {
            if choices.is_empty()
                || uses.count(f, *p) as usize != choices.len()
                || choices.iter().any(|&i| is_update(f, &uses, &f.insts[i]))
            {
                continue;
            }
            let new: Vec<Inst> = choices.iter().map(|&i| test.choice(&f.insts[i])).collect();
            if new.iter().all(|inst| select::legal(ctx.chip, f, inst)) {
                chosen += new.len();
                choices.iter().zip(new).for_each(|(&i, inst)| uses.replace(f, i, inst));
            }
        }
    }
    ctx.count("slct: compared", chosen);
    chosen > 0
}

/// A comparison with zero.
struct Test {
    of: Src,
    cond: Cond,
    ty: Type,
    ftz: bool,
}

/// What an instruction compares with zero, if that is all it does.
fn test(f: &Function, inst: &Inst) -> Option<Test> {
    let single = inst.ty == Type::Pred && inst.srcs.len() == 2 && is_scalar(f, inst);
    if !single || !matches!(inst.sty, Type::F32 | Type::U32 | Type::S32) {
        return None;
    }
    let zero = |s: &Src| match s.as_imm() {
        Some(x) => x == 0 || inst.sty == Type::F32 && x == 1 << 31,
        None => false,
    };
    let (mut of, mut cond) = match (zero(&inst.srcs[0]), zero(&inst.srcs[1])) {
        (false, true) => (inst.srcs[0], inst.cond),
        (true, false) => (inst.srcs[1], inst.cond.swap()),
        _ => return None,
    };
    if inst.sty == Type::F32 && of.mods.neg {
        of.mods.neg = false;
        cond = cond.swap();
    }
    Some(Test { of, cond, ty: inst.sty, ftz: inst.ftz })
}

/// Whether one arm of a choice is computed from the other, for it alone.
fn is_update(f: &Function, uses: &LazyUses, sel: &Inst) -> bool {
    let arms = [sel.srcs[0].as_val(), sel.srcs[1].as_val()];
    (0..2).any(|k| {
        let new = arms[k].and_then(|v| f.def_inst(v).filter(|_| uses.count(f, v) == 1));
        new.is_some_and(|d| d.srcs.iter().any(|s| s.as_val().is_some() && s.as_val() == arms[1 - k]))
    })
}

impl Test {
    /// A choice by this comparison that makes it itself.
    fn choice(&self, sel: &Inst) -> Inst {
        let (mut then, mut els) = (sel.srcs[0], sel.srcs[1]);
        if sel.srcs[2].mods.inv {
            std::mem::swap(&mut then, &mut els);
        }
        let mut new = Inst::new(Op::Slct, sel.ty).src(then).src(els).src(self.of);
        (new.sty, new.cond, new.ftz) = (self.ty, self.cond, self.ftz);
        (new.dsts, new.loc) = (sel.dsts, sel.loc);
        new
    }
}
