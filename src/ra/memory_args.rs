//! Calls with more parameters or results than go into registers: the rest goes through local
//! memory.
//!
//! There is no recursion, so a function's words for parameters and results have fixed addresses,
//! below its spill slots. A caller stores the surplus arguments before the call and loads the
//! surplus results after it. Surplus predicates travel as 0 or 1.

use crate::ir::{
    Align, Class, Cond, Def, Ext, FuncId, Function, Inst, InstId, Linkage, MemRef, Op, Program, Space, Src,
    Term, Type, ValueId,
};

/// Parameters, and results, that go in predicate registers, at most.
const PREDS: usize = 3;

/// Which of a list of values travel in registers.
fn in_registers(classes: &[Class], gprs: usize) -> Vec<bool> {
    let mut left = [gprs, PREDS];
    let mut take = |c: Class| {
        let n = &mut left[(c == Class::Pred) as usize];
        let fits = *n > 0;
        *n = n.saturating_sub(1);
        fits
    };
    classes.iter().map(|&c| take(c)).collect()
}

/// Moves surplus parameters and results of a function to local memory from `base` on; gives the end
/// of what that takes. `gprs`: how many of each may be in general registers.
pub(super) fn demote(p: &mut Program, id: FuncId, gprs: usize, base: u32) -> u32 {
    let f = &p.funcs[id];
    // Nobody calls what leaves its results in registers that are named, but from elsewhere.
    if !f.result_regs.is_empty() || f.linkage != Linkage::Internal {
        return base;
    }
    let params: Vec<Class> = f.params.iter().map(|&v| f.class(v)).collect();
    let (keep_params, keep_results) = (in_registers(&params, gprs), in_registers(&f.results, gprs));
    if keep_params.iter().chain(&keep_results).all(|&k| k) {
        return base;
    }
    let mut next = base.next_multiple_of(4);
    let mut places = |keep: &[bool]| -> Vec<Option<u32>> {
        let mut place = |&kept: &bool| {
            let at = next;
            next += if kept { 0 } else { 4 };
            (!kept).then_some(at)
        };
        keep.iter().map(&mut place).collect()
    };
    let (params, results) = (places(&keep_params), places(&keep_results));
    callee(&mut p.funcs[id], &params, &results);
    for caller in p.funcs.keys().collect::<Vec<_>>() {
        let f = &p.funcs[caller];
        if f.insts_in_order().any(|(_, i)| f.insts[i].call().is_some_and(|c| c.func == id)) {
            rewrite_calls(&mut p.funcs[caller], id, &params, &results);
        }
    }
    next
}

fn local(offset: u32) -> MemRef {
    MemRef::new(Space::Local).with_offset(offset as i32).with_align(Align::multiple_of(4))
}

/// Appends a store of a value that is no carry to local memory.
pub(super) fn store(f: &mut Function, v: ValueId, offset: u32, body: &mut Vec<InstId>) {
    let mut data = v;
    if f.class(v) == Class::Pred {
        data = f.new_value(Class::Gpr);
        let sel = Inst::new(Op::Sel, Type::U32).src(0).src(1).src(Src::val(v).inv()).dst(data);
        body.push(f.make(sel));
    }
    body.push(f.make(Inst::new(Op::St, Type::U32).with_mem(local(offset)).src(data)));
}

/// Appends a load from local memory that defines a value that is no carry.
pub(super) fn load(f: &mut Function, v: ValueId, offset: u32, body: &mut Vec<InstId>) {
    let pred = f.class(v) == Class::Pred;
    let word = if pred { f.new_value(Class::Gpr) } else { v };
    body.push(f.make(Inst::new(Op::Ld, Type::U32).with_mem(local(offset)).dst(word)));
    if pred {
        let mut set = Inst::new(Op::Set, Type::Pred).src(word).src(0).dst(v);
        set.sty = Type::U32;
        set.cond = Cond::Ne;
        body.push(f.make(set));
    }
}

/// Values without a place in memory.
fn kept<T: Copy>(all: &[T], places: &[Option<u32>]) -> Vec<T> {
    all.iter().zip(places).filter(|p| p.1.is_none()).map(|p| *p.0).collect()
}

fn callee(f: &mut Function, params: &[Option<u32>], results: &[Option<u32>]) {
    let mut start = Vec::new();
    for (v, place) in f.params.clone().into_iter().zip(params) {
        if let Some(offset) = place {
            f.values[v].def = Def::None;
            load(f, v, *offset, &mut start);
        }
    }
    f.params = kept(&f.params, params);
    f.param_facts = kept(&f.param_facts, params);
    let entry = f.entry();
    f.blocks[entry].body.splice(0..0, start);
    f.results = kept(&f.results, results);
    for b in f.layout.clone() {
        let Term::Ret(values) = f.blocks[b].term.clone() else { continue };
        let mut end = Vec::new();
        for (&v, place) in values.iter().zip(results) {
            if let Some(offset) = place {
                store(f, v, *offset, &mut end);
            }
        }
        f.blocks[b].body.extend(end);
        f.blocks[b].term = Term::Ret(kept(&values, results));
    }
}

fn rewrite_calls(f: &mut Function, id: FuncId, params: &[Option<u32>], results: &[Option<u32>]) {
    for b in f.layout.clone() {
        let old = std::mem::take(&mut f.blocks[b].body);
        let mut body = Vec::with_capacity(old.len());
        for i in old {
            let Some(call) = f.insts[i].call().filter(|c| c.func == id).cloned() else {
                body.push(i);
                continue;
            };
            for (&v, place) in call.args.iter().zip(params) {
                if let Some(offset) = place {
                    store(f, v, *offset, &mut body);
                }
            }
            if let Some(Ext::Call(c)) = f.insts[i].ext.as_deref_mut() {
                c.args = kept(&call.args, params);
                c.results = kept(&call.results, results);
            }
            body.push(i);
            for (&v, place) in call.results.iter().zip(results) {
                if let Some(offset) = place {
                    load(f, v, *offset, &mut body);
                }
            }
        }
        f.blocks[b].body = body;
    }
}
