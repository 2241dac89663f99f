//! Loops that run so many times, known in advance, become that many copies of their body.
//!
//! ```text
//!     jump b1(0)
//! b1(%r1): loop exit b3 cont b2           st u32 # g[%r9+0x0] 0
//!     set.ge pred s32 %p2 %r1 0x2    ->   st u32 # g[%r9+0x0] 1
//!     branch %p2 b3 b2                    set.ge pred %p2 2 2         true
//! b2: st u32 # g[%r9+0x0] %r1             jump b3
//!     add u32 %r4 %r1 0x1
//!     jump b1(%r4)
//! ```
//!
//! The loop must go round in one place and be left in one place at its own level, by a branch whose
//! condition follows from constants in each round ([`super::rounds`]); it may be left inside of it
//! as well, and then what all copies are is a region that can be left early. Lanes that begin their
//! next round early meet where they did: at the end of each copy. What a copy computes from
//! constants alone is not made. Of loops in loops the inner ones come first, unless their rounds
//! depend on the counter of the outer one.
//!
//! It is done where it is estimated to pay (`opt/unroll_cost.rs`): each copy saves the branch, its
//! comparison, the counter and what the end of a block waits for, addresses and indices become
//! constants, and loads of several rounds are under way at once; but the copies take room in the
//! instruction cache. Where every element of the private arrays has a known address in copies of the
//! loops around its accesses, the copies are made for that: then the arrays are registers
//! ([`super::mem_forward`]). Where all copies are too many, the loop stays with some of them:
//!
//! ```text
//! b1(%r1): loop exit b3 cont b2           b1(%r1): loop exit b3 cont b9
//!     branch %p2 b3 b2               ->       branch %p2 b3 b2
//! b2: ...                                 b2: ...
//!     add u32 %r4 %r1 0x1                     add u32 %r4 %r1 0x1
//!     jump b1(%r4)                        b9: ...                         with %r4 for %r1
//!                                             add u32 %r9 %r4 0x1
//!                                             jump b1(%r9)
//! ```
//!
//! Where it is not known how many there are, several may be done at once as well
//! (`opt/unroll_rest.rs`).
//!
//! No registers are lost by that: the copies compute what the rounds did, in the same order.
//!
//! Safe because the copies are what would be executed, in that order, by all lanes: the condition
//! is the same for all.

use super::Ctx;
use super::cost::{Alive, BETWEEN, warps_of_scheduler};
use super::flow::constructs;
use super::rewrite::map_uses_in;
use super::rounds::{Loop, Rounds};
use super::unroll_copy::{repeat, unroll};
use super::unroll_cost::{self, Form, Limits};
use crate::ir::*;
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntitySet, SecondaryMap};
use rustc_hash::FxHashMap;

/// Loops around loops that are looked at.
const NESTS: usize = 4;

pub(crate) fn run(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    if !f.layout.iter().any(|&b| matches!(f.blocks[b].merge, Merge::Loop { .. })) {
        return false;
    }
    // What is dead or the same costs nothing in copies.
    let cleaned = super::dce::run(f, ctx);
    let mut limits = Limits::new(f, ctx);
    let mut unrolled = 0;
    for _ in 0..NESTS {
        let Level { count, nested } = level(f, ctx, &mut limits);
        if count > 0 {
            super::flow::run(f, ctx);
        }
        unrolled += count;
        if !nested {
            break;
        }
    }
    if !ctx.graphics {
        let (position, around) = (f.positions(), constructs(f));
        let (_, loops) = find(f, None, &around, &position);
        let several = super::unroll_rest::run(f, ctx, loops.values().flatten().cloned().collect());
        if several > 0 {
            super::flow::run(f, ctx);
        }
        unrolled += several;
    }
    ctx.count("unroll: loops", unrolled);
    if unrolled > 0 {
        super::copy_prop::run(f, ctx);
        super::fold::run(f, ctx);
        super::algebra::run(f, ctx);
        super::gvn::run(f, ctx);
    }
    unrolled > 0 || cleaned
}

/// What was done to loops that are not in one another.
struct Level {
    count: usize,
    /// Some of these loops were in another one, or around one.
    nested: bool,
}

fn level(f: &mut Function, ctx: &mut Ctx<'_>, limits: &mut Limits) -> Level {
    let position = f.positions();
    let around = constructs(f);
    let (headers, loops) = find(f, Some(ctx), &around, &position);
    let mut done = Level { count: 0, nested: false };
    if loops.values().all(Option::is_none) {
        return done;
    }
    let read = read_beyond_addresses(f);
    let alive = Alive::new(f);
    let mut rounds = Rounds::new(f, &position, &read, &loops, limits.steps);
    // Headers of loops around those that were chosen: their turn comes next.
    let mut later: EntitySet<BlockId> = EntitySet::with_capacity(f.blocks.len());
    let mut chosen: Vec<(&Loop, Form)> = Vec::new();
    let private = unroll_cost::of_private_arrays(f, &loops, &mut rounds, limits);
    // Inner loops come later in the layout.
    for &h in headers.iter().rev() {
        let parent = parent_loop(f, &around, h);
        if later.contains(h) {
            later.extend(parent);
            continue;
        }
        let Some(l) = &loops[h] else { continue };
        if private.contains(h) {
            ctx.note(format!("{h}: private arrays become registers"));
            later.extend(parent);
            done.nested |= parent.is_some();
            chosen.push((l, Form::Copies));
            continue;
        }
        let most = l.blocks.iter().map(|&b| alive.at(b)).max().unwrap_or(0);
        let warps = warps_of_scheduler(ctx.chip, most + BETWEEN, ctx.warps);
        let choice = unroll_cost::choose(f, l, &mut rounds, warps, limits);
        rounds.forget(f, l);
        let Some(form) = choice.form else {
            ctx.missed("unroll", first_loc(f, h), || format!("not unrolled: {choice}"));
            continue;
        };
        ctx.note(format!("{choice}, {warps} warps"));
        later.extend(parent);
        done.nested |= parent.is_some() || l.nest;
        chosen.push((l, form));
    }
    limits.steps = rounds.steps;
    done.count = chosen.len();
    let leave_early = chosen.iter().map(|&(l, _)| l).filter(|l| l.breaks);
    pass_on_at_exits(f, &leave_early.collect::<Vec<_>>(), &position);
    // The copies stand in front of the header that they are of, or behind the loop that they belong
    // to.
    let mut before: SecondaryMap<BlockId, Vec<BlockId>> = SecondaryMap::new();
    for (l, form) in chosen {
        match form {
            Form::Copies => before[l.header()] = unroll(f, l, &mut rounds),
            Form::Part(n) => before[l.exit] = repeat(f, l, n),
        }
    }
    if done.count > 0 {
        let layout = std::mem::take(&mut f.layout);
        for b in layout {
            f.layout.append(&mut before[b]);
            f.layout.push(b);
        }
    }
    done
}

fn first_loc(f: &Function, h: BlockId) -> Loc {
    f.blocks[h].body.first().map_or(f.blocks[h].term_loc, |&i| f.insts[i].loc)
}

/// The header of the loop around a loop.
fn parent_loop(
    f: &Function,
    around: &SecondaryMap<BlockId, PackedOption<BlockId>>,
    h: BlockId,
) -> Option<BlockId> {
    let mut at = around[h].expand();
    while let Some(b) = at
        && !matches!(f.blocks[b].merge, Merge::Loop { .. })
    {
        at = around[b].expand();
    }
    at
}

/// Values that something else than an address reads.
fn read_beyond_addresses(f: &Function) -> EntitySet<ValueId> {
    let mut read = EntitySet::with_capacity(f.values.len());
    for &b in &f.layout {
        for &i in &f.blocks[b].body {
            read.extend(f.insts[i].srcs.iter().flat_map(Src::values).copied());
        }
        f.blocks[b].term.for_uses(|v| {
            read.insert(v);
        });
    }
    read
}

/// Headers in the order of the layout, and the loops of the form that is looked for. Says why others
/// are not, if there is whom to tell.
fn find(
    f: &Function,
    mut ctx: Option<&mut Ctx<'_>>,
    around: &SecondaryMap<BlockId, PackedOption<BlockId>>,
    position: &SecondaryMap<BlockId, u32>,
) -> (Vec<BlockId>, SecondaryMap<BlockId, Option<Loop>>) {
    let is_header = |b: &BlockId| matches!(f.blocks[*b].merge, Merge::Loop { .. });
    let headers: Vec<BlockId> = f.layout.iter().copied().filter(is_header).collect();
    let mut entries: SecondaryMap<BlockId, Vec<BlockId>> = f.block_table();
    for &b in &f.layout {
        for s in f.blocks[b].term.successors().filter(is_header) {
            entries[s].push(b);
        }
    }
    let mut loops: SecondaryMap<BlockId, Option<Loop>> = f.block_table();
    let mut looked_at = 0;
    for &h in headers.iter().rev() {
        match shape(f, h, &entries[h], around, position, &mut looked_at) {
            Ok(l) => loops[h] = Some(l),
            Err(why) => {
                if let Some(ctx) = &mut ctx {
                    ctx.missed("unroll", first_loc(f, h), || format!("not unrolled: {why}"));
                }
            }
        }
    }
    (headers, loops)
}

/// Blocks that are looked at for each block of the function: loops may be nested deep.
const LOOKS: usize = 4;

fn shape(
    f: &Function,
    h: BlockId,
    entries: &[BlockId],
    around: &SecondaryMap<BlockId, PackedOption<BlockId>>,
    position: &SecondaryMap<BlockId, u32>,
    looked_at: &mut usize,
) -> Result<Loop, &'static str> {
    const SHAPE: &str = "it is not of the form that is looked for";
    let Merge::Loop { exit, cont } = f.blocks[h].merge else { return Err(SHAPE) };
    let blocks = f.layout.get(position[h] as usize..position[exit] as usize).ok_or(SHAPE)?;
    *looked_at += blocks.len();
    if *looked_at > f.layout.len() * LOOKS {
        return Err("loops are nested too deep");
    }
    let outermost = |b: BlockId| b == h || around[b].expand() == Some(h);
    let goes_on = |b: BlockId| matches!(f.blocks[b].term, Term::Jump(_));
    let (mut latch, mut exits, mut continues, mut nest) = (None, 0, Vec::new(), false);
    for &b in blocks {
        let block = &f.blocks[b];
        nest |= b != h && matches!(block.merge, Merge::Loop { .. });
        if matches!(block.term, Term::Ret(_)) {
            return Err("it is left by a return");
        }
        for s in block.term.successors() {
            exits += usize::from(s == exit);
            if s == h && latch.replace(b).is_some() {
                return Err("it is continued in several places");
            }
            if s == cont && cont != h {
                continues.push(b);
            }
        }
    }
    let latch = latch.ok_or("it never iterates")?;
    if exits == 0 {
        return Err("it is never left");
    }
    let leaves = |b: BlockId| f.blocks[b].term.successors().any(|s| s == exit);
    // A copy goes on behind itself, which nothing inside an `if` of it may do.
    let behind = |b: BlockId| outermost(b) && (goes_on(b) || leaves(b));
    if !behind(latch) {
        return Err("it is continued inside an `if`");
    }
    let skips = continues.len() > 1 || !continues.iter().all(|&b| behind(b));
    let breaks = exits > 1;
    if skips && (breaks || !outermost(cont)) {
        return Err("it is left, and continued, in several places");
    }
    // What some lanes go past says nothing about all of them.
    let first = continues.iter().map(|&b| position[b]).min().filter(|_| skips).unwrap_or(u32::MAX);
    let passed = |b: BlockId| position[b] <= first || position[b] >= position[cont];
    let sure: Vec<BlockId> = blocks.iter().copied().filter(|&b| outermost(b) && passed(b)).collect();
    let &[from] = entries.iter().filter(|&&p| p != latch).collect::<Vec<_>>().as_slice() else {
        return Err("it is entered in several places");
    };
    let blocks = blocks.to_vec();
    Ok(Loop { blocks, exit, cont, from: *from, latch, sure, breaks, skips, nest })
}

/// Where loops can be left in several places, what is computed in them and read behind them becomes
/// a parameter of where they lead to: each copy brings its own.
fn pass_on_at_exits(f: &mut Function, loops: &[&Loop], position: &SecondaryMap<BlockId, u32>) {
    if loops.is_empty() {
        return;
    }
    // Where values are read last.
    let mut last: SecondaryMap<ValueId, u32> = SecondaryMap::with_capacity(f.values.len());
    last.resize(f.values.len());
    for (at, &b) in (0..).zip(&f.layout) {
        for &i in &f.blocks[b].body {
            f.insts[i].for_uses(|v| last[v] = at);
        }
        f.blocks[b].term.for_uses(|v| last[v] = at);
    }
    // What is read instead of a value, and from which place on.
    let mut instead: FxHashMap<ValueId, (u32, ValueId)> = FxHashMap::default();
    for l in loops {
        let end = position[l.exit];
        let mut defined = Vec::new();
        for &b in &l.blocks {
            defined.extend_from_slice(&f.blocks[b].params);
            f.blocks[b].body.iter().for_each(|&i| f.insts[i].for_defs(|v| defined.push(v)));
        }
        defined.retain(|&v| last[v] >= end);
        for v in defined {
            let class = f.class(v);
            instead.insert(v, (end, f.add_block_param(l.exit, class)));
            for &b in &l.blocks {
                let edges = f.blocks[b].term.edges_mut();
                edges.filter(|e| e.to == l.exit).for_each(|e| e.args.push(v));
            }
        }
    }
    if instead.is_empty() {
        return;
    }
    for (at, b) in (0..).zip(f.layout.clone()) {
        let read = |v: ValueId| match instead.get(&v) {
            Some(&(from, p)) if at >= from => p,
            _ => v,
        };
        map_uses_in(f, b, read);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_that_bring_nothing_new_are_not_looked_at_again() {
        let text = "program\n\nkernel main() {\n\
            b0:\n    rdsv u32 %r0 sv[tid.x]\n    mov u32 %r1 0x0\n    jump b1(%r1 %r0)\n\
            b1(%r2 %r3): loop exit b3 cont b2\n    set.ge pred s32 %p4 %r2 0x64\n    if %p4 b3 b2\n\
            b2:\n    st u32 # g[%r3+0x0] %r2\n    and u32 %r5 %r2 0x1\n    add u32 %r6 %r3 0x4\n\
            \x20   jump b1(%r5 %r6)\n\
            b3:\n    exit\n}\n";
        let program = crate::ir::parse::program(text).expect("it is a program");
        let f = program.funcs.values().next().expect("it has a function");
        let (position, around) = (f.positions(), constructs(f));
        let (headers, loops) = find(f, None, &around, &position);
        let read = read_beyond_addresses(f);
        let mut rounds = Rounds::new(f, &position, &read, &loops, 1000);
        let l = loops[headers[0]].as_ref().expect("it is of the form that is looked for");
        assert_eq!(rounds.count_rounds(f, l, None), None);
        assert!(rounds.steps > 980, "{} instructions", 1000 - rounds.steps);
    }
}
