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
//! A result is needed if one call's value for it has a reader; a parameter if the body reads it. Removing either may
//! make others unneeded, so this repeats until nothing changes; each round removes something.
//!
//! Safe because calls name their callee: all callers are known.

use super::Ctx;
use super::edit::count_uses;
use crate::ir::*;
use cranelift_entity::SecondaryMap;

pub fn run(p: &mut Program, ctx: &mut Ctx<'_>) -> bool {
    let mut changed = false;
    while p.funcs.len() > 1 {
        for f in p.funcs.values_mut() {
            changed |= super::dce::run(f, ctx);
        }
        if !round(p, ctx) {
            break;
        }
        changed = true;
    }
    changed
}

fn round(p: &mut Program, ctx: &mut Ctx<'_>) -> bool {
    let mut params: SecondaryMap<FuncId, Vec<bool>> = SecondaryMap::new();
    let mut results: SecondaryMap<FuncId, Vec<bool>> = SecondaryMap::new();
    for (id, f) in p.funcs.iter() {
        results[id] = vec![id == p.entry; f.results.len()];
    }
    for (id, f) in p.funcs.iter() {
        let uses = count_uses(f);
        params[id] = f.params.iter().map(|&v| uses[v] > 0 || id == p.entry).collect();
        for (_, i) in f.insts_in_order() {
            if let Some(c) = f.insts[i].call() {
                for (n, &r) in c.results.iter().enumerate() {
                    results[c.func][n] |= uses[r] > 0;
                }
            }
        }
    }
    let dead = |list: &[bool]| list.iter().filter(|&&needed| !needed).count();
    let removed: usize = p.funcs.keys().map(|id| dead(&params[id]) + dead(&results[id])).sum();
    if removed == 0 {
        return false;
    }
    for (id, f) in p.funcs.iter_mut() {
        for n in 0..f.layout.len() {
            let b = f.layout[n];
            if let Term::Ret(values) = &mut f.blocks[b].term {
                keep(values, &results[id]);
            }
            for k in 0..f.blocks[b].body.len() {
                let i = f.blocks[b].body[k];
                let Some(Ext::Call(c)) = f.insts[i].ext.as_deref_mut() else { continue };
                keep(&mut c.args, &params[c.func]);
                for (n, &r) in c.results.iter().enumerate() {
                    if !results[c.func][n] {
                        f.values[r].def = Def::None;
                    }
                }
                keep(&mut c.results, &results[c.func]);
            }
        }
        for (n, &v) in f.params.iter().enumerate() {
            if !params[id][n] {
                f.values[v].def = Def::None;
            }
        }
        keep(&mut f.params, &params[id]);
        keep(&mut f.results, &results[id]);
    }
    ctx.count("dead_params: removed", removed);
    true
}

/// Keeps the elements that are needed.
fn keep<T>(list: &mut Vec<T>, needed: &[bool]) {
    let mut n = 0;
    list.retain(|_| {
        n += 1;
        needed[n - 1]
    });
}
