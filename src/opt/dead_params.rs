//! Parameters that a subroutine does not read, and results that no caller reads.
//!
//! ```text
//! sub f(%r0 %r1) -> rr { b0: add u32 %r2 %r0 0x4   ret {%r2 %r1} }
//! call {%r5 %r6} f{%r3 %r4}          and %r6 is never read
//! ->
//! sub f(%r0) -> r { b0: add u32 %r2 %r0 0x4   ret %r2 }
//! call %r5 f{%r3}
//! ```
//!
//! A result is needed if one call's value for it has a reader; a parameter if the body reads it.
//! Removing either may make others unneeded, in the function itself, its callers and what it calls;
//! only those are looked at again.
//!
//! Safe because calls name their callee: all callers are known. Functions that are linked
//! separately stay as they are.

use super::Ctx;
use super::rewrite::{UseCounts, count_uses};
use crate::ir::*;
use cranelift_entity::SecondaryMap;
use std::collections::VecDeque;

pub(super) fn run(p: &mut Program, ctx: &mut Ctx<'_>) -> bool {
    if !may_have(p) {
        return false;
    }
    let mut changed = false;
    // Where each function is called.
    let mut sites: SecondaryMap<FuncId, Vec<(FuncId, InstId)>> = SecondaryMap::new();
    let mut calls: SecondaryMap<FuncId, Vec<InstId>> = SecondaryMap::new();
    let mut uses: SecondaryMap<FuncId, UseCounts> = SecondaryMap::new();
    for (id, f) in p.funcs.iter_mut() {
        changed |= super::dce::run(f, ctx);
        uses[id] = count_uses(f);
        for (_, i) in f.insts_in_order() {
            if let Some(c) = f.insts[i].call() {
                sites[c.func].push((id, i));
                calls[id].push(i);
            }
        }
    }
    let mut removed = 0;
    let mut worklist: VecDeque<FuncId> = p.funcs.keys().collect();
    let mut waiting: SecondaryMap<FuncId, bool> = SecondaryMap::with_default(true);
    // Functions in which something has been taken out: looked at when all that is known has been
    // taken out of them.
    let mut dirty: Vec<FuncId> = Vec::new();
    while !worklist.is_empty() {
        while let Some(id) = worklist.pop_front() {
            waiting[id] = false;
            let f = &p.funcs[id];
            // Of others, not all callers are known.
            let fixed = id == p.entry || f.linkage != Linkage::Internal;
            let params: Vec<bool> = f.params.iter().map(|&v| uses[id][v] > 0 || fixed).collect();
            let mut results = vec![fixed; f.results.len()];
            for &(caller, i) in &sites[id] {
                let Some(c) = p.funcs[caller].insts[i].call() else { continue };
                for (needed, &r) in results.iter_mut().zip(&c.results) {
                    *needed |= uses[caller][r] > 0;
                }
            }
            let dead = |list: &[bool]| list.iter().filter(|&&needed| !needed).count();
            let (dead_params, dead_results) = (dead(&params), dead(&results));
            if dead_params + dead_results == 0 {
                continue;
            }
            removed += dead_params + dead_results;
            for &(caller, i) in &sites[id] {
                let g = &mut p.funcs[caller];
                let Some(Ext::Call(c)) = g.insts[i].ext.as_deref_mut() else { continue };
                keep(&mut c.args, &params);
                for (&r, _) in c.results.iter().zip(&results).filter(|(_, needed)| !**needed) {
                    g.values[r].def = Def::None;
                }
                keep(&mut c.results, &results);
                if dead_params > 0 {
                    dirty.push(caller);
                }
            }
            let f = &mut p.funcs[id];
            for (&v, _) in f.params.iter().zip(&params).filter(|(_, needed)| !**needed) {
                f.values[v].def = Def::None;
            }
            keep(&mut f.params, &params);
            if !f.param_facts.is_empty() {
                keep(&mut f.param_facts, &params);
            }
            keep(&mut f.results, &results);
            if dead_results > 0 {
                for n in 0..f.layout.len() {
                    let b = f.layout[n];
                    if let Term::Ret(values) = &mut f.blocks[b].term {
                        keep(values, &results);
                    }
                }
                dirty.push(id);
            }
        }
        dirty.sort_unstable();
        dirty.dedup();
        for d in dirty.drain(..) {
            super::dce::run(&mut p.funcs[d], ctx);
            let before = std::mem::replace(&mut uses[d], count_uses(&p.funcs[d]));
            let mut wake = |id: FuncId| {
                if !std::mem::replace(&mut waiting[id], true) {
                    worklist.push_back(id);
                }
            };
            wake(d);
            for &i in &calls[d] {
                let Some(c) = p.funcs[d].insts[i].call() else { continue };
                if c.results.iter().any(|&r| before[r] > 0 && uses[d][r] == 0) {
                    wake(c.func);
                }
            }
        }
    }
    if removed > 0 {
        ctx.count("dead_params: removed", removed);
    }
    changed || removed > 0
}

/// Whether it is worth a look. Routines of the library read what they take: of those, only results
/// may be unread.
fn may_have(p: &Program) -> bool {
    let routines = || p.funcs.iter().filter(|&(id, _)| id != p.entry);
    if routines().any(|(_, f)| !f.library) {
        return true;
    }
    routines().any(|(_, f)| f.results.len() > 1)
        && p.funcs.values().any(|f| {
            let uses = count_uses(f);
            let unread =
                |i: InstId| f.insts[i].call().is_some_and(|c| c.results.iter().any(|&r| uses[r] == 0));
            f.insts_in_order().any(|(_, i)| unread(i))
        })
}

/// Keeps the elements that are needed.
fn keep<T>(list: &mut Vec<T>, needed: &[bool]) {
    let mut n = 0;
    list.retain(|_| {
        n += 1;
        needed[n - 1]
    });
}
