//! What a caller may assume of its callees, and a callee of its callers, as
//! [`functions`](crate::analysis::functions) has it.
//!
//! ```text
//! call u32 %r5 f0{%r3}        ->  call u32 %r5 f0{%r3} pure       goes if nobody reads it; two equal ones are one
//! call u32 # f1{}; ..         ->  call u32 # f1{}; exit           f1 never comes back
//! sub f(%r0)                  ->  sub f(%r0) given 0x0 to 0x3f align 4 uniform
//! ```
//!
//! What calls do is noted in them, what holds of parameters in the function: passes that come later
//! read it there. Parameters of functions that others may call, and effects of functions that are
//! elsewhere, stay unknown.

use super::Ctx;
use crate::analysis::functions::{Returns, Table, parameters};
use crate::ir::*;

pub(super) fn run(p: &mut Program, ctx: &mut Ctx<'_>) -> bool {
    if p.funcs.len() < 2 {
        return false;
    }
    let table = Table::new(p);
    let (mut noted, mut ended) = (0, 0);
    for f in p.funcs.values_mut() {
        noted += note_effects(f, &table);
        let ends = end_blocks(f, &table);
        if ends > 0 {
            super::flow::run(f, ctx);
        }
        ended += ends;
    }
    let facts = parameters(p, &table, &ctx.launch);
    let mut params = 0;
    for (id, f) in p.funcs.iter_mut() {
        let new = &facts[id];
        if !new.is_empty() && f.param_facts != *new {
            f.param_facts.clone_from(new);
            params += 1;
        }
    }
    ctx.count("calls: effects known", noted);
    ctx.count("calls: never return", ended);
    ctx.count("calls: functions with known parameters", params);
    noted + ended + params > 0
}

/// Notes in each call what it does besides giving results.
fn note_effects(f: &mut Function, table: &Table) -> usize {
    let mut noted = 0;
    for n in 0..f.layout.len() {
        let b = f.layout[n];
        for k in 0..f.blocks[b].body.len() {
            let i = f.blocks[b].body[k];
            let Some(Ext::Call(c)) = f.insts[i].ext.as_deref_mut() else { continue };
            let known = table.effects(c.func);
            if known < c.effects {
                c.effects = known;
                noted += 1;
            }
        }
    }
    noted
}

/// Ends threads behind calls that never come back. Not in loops, whose way round has to stay.
fn end_blocks(f: &mut Function, table: &Table) -> usize {
    let mut ended = 0;
    // Where the outermost loop around the block at hand ends.
    let mut exit = None;
    for n in 0..f.layout.len() {
        let b = f.layout[n];
        if exit == Some(b) {
            exit = None;
        }
        if let Merge::Loop { exit: end, .. } = f.blocks[b].merge {
            exit.get_or_insert(end);
        }
        if exit.is_some() {
            continue;
        }
        let never = |&i: &InstId| {
            let inst = &f.insts[i];
            inst.guard.is_none() && inst.call().is_some_and(|c| table.facts(c.func).returns == Returns::Never)
        };
        let Some(at) = f.blocks[b].body.iter().position(never) else { continue };
        let block = &mut f.blocks[b];
        if at + 1 == block.body.len() && block.term == Term::Exit {
            continue;
        }
        for i in block.body.split_off(at + 1) {
            let values = &mut f.values;
            f.insts[i].for_defs(|v| values[v].def = Def::None);
        }
        block.term = Term::Exit;
        block.merge = Merge::None;
        ended += 1;
    }
    ended
}
