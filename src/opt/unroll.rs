//! Loops that run a few times, known in advance, become that many copies of their body.
//!
//! ```text
//!     jump b1(0)
//! b1(%r1): loop exit b3 cont b2           set.ge pred %p2 0 2         false
//!     set.ge pred s32 %p2 %r1 0x2    ->   ...                         with 0 for %r1
//!     branch %p2 b3 b2                    set.ge pred %p2 1 2         false
//! b2: ...                                 ...                         with 1 for %r1
//!     add u32 %r4 %r1 0x1                 set.ge pred %p2 2 2         true
//!     jump b1(%r4)                        jump b3
//! ```
//!
//! The loop must be left in one place, by a branch at its own level whose condition follows from
//! one parameter of the header and constants, and go round in one place. The number of rounds is
//! found by evaluating that condition. Only innermost loops are looked at, and only where it is
//! estimated to pay (`opt/unroll_cost.rs`): each copy saves the branch, its comparison, the counter
//! and what the end of a block waits for, addresses and indices become constants, and loads of
//! several rounds are under way at once; but the copies take room in the instruction cache. Where
//! all copies are too many, the loop stays with some of them:
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
//! No registers are lost by that: the copies compute what the rounds did, in the same order.
//!
//! Safe because the copies are what would be executed, in that order, by all lanes: the condition
//! is the same for all.

use super::Ctx;
use super::cost::{Alive, BETWEEN, CACHE, warps_of_scheduler};
use super::flow::constructs;
use super::rewrite::{imm_src, is_scalar};
use super::unroll_cost::{self, Counted};
use crate::ir::*;
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;

/// Rounds up to which they are counted.
const ROUNDS: usize = 1024;
/// Instructions that all copies together may have: other code wants to be in the cache as well.
const LARGEST: usize = CACHE as usize / 4;
/// Operations between a header's parameter and the condition.
const DEPTH: usize = 8;

/// Why not, where nothing better is known.
const SHAPE: &str = "it is not of the form that is looked for";
const UNKNOWN: &str = "how often it iterates is not known in advance";

pub(crate) fn run(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    let is_header = |b: &BlockId| matches!(f.blocks[*b].merge, Merge::Loop { .. });
    let headers: Vec<BlockId> = f.layout.iter().copied().filter(is_header).collect();
    if headers.is_empty() {
        return false;
    }
    let around = constructs(f);
    let mut position: SecondaryMap<BlockId, u32> = f.block_table();
    f.layout.iter().enumerate().for_each(|(n, &b)| position[b] = n as u32);
    let mut entries: SecondaryMap<BlockId, Vec<BlockId>> = f.block_table();
    for &b in &f.layout {
        for s in f.blocks[b].term.successors().filter(|&s| is_header(&s)) {
            entries[s].push(b);
        }
    }
    let mut found: Vec<Counted> = Vec::new();
    for h in headers {
        match counted(f, h, &entries[h], &around, &position) {
            Ok(l) => found.push(l),
            Err(why) => {
                let loc = f.blocks[h].body.first().map_or(f.blocks[h].term_loc, |&i| f.insts[i].loc);
                ctx.missed("unroll", loc, || format!("not unrolled: {why}"));
            }
        }
    }
    if found.is_empty() {
        return false;
    }
    let alive = Alive::new(f);
    let mut unrolled = 0;
    // The copies stand in front of the header that they are of, or behind the loop that they belong
    // to.
    let mut before: SecondaryMap<BlockId, Vec<BlockId>> = SecondaryMap::new();
    for l in &found {
        let most = l.blocks.iter().map(|&b| alive.at(b)).max().unwrap_or(0);
        let warps = warps_of_scheduler(ctx.chip, most + BETWEEN, ctx.warps);
        let choice = unroll_cost::choose(f, l, warps, LARGEST);
        let Some(copies) = choice.copies else {
            let first = f.blocks[l.blocks[0]].body.first();
            let loc = first.map_or(f.blocks[l.blocks[0]].term_loc, |&i| f.insts[i].loc);
            ctx.missed("unroll", loc, || format!("not unrolled: copies are not worth their size ({choice})"));
            continue;
        };
        ctx.note(format!("{copies} copies for {} rounds: {choice}, {warps} warps", l.rounds));
        unrolled += 1;
        if copies == l.rounds {
            before[l.blocks[0]] = unroll(f, l);
        } else {
            before[l.exit] = repeat(f, l, copies);
        }
    }
    if unrolled == 0 {
        return false;
    }
    let layout = std::mem::take(&mut f.layout);
    for b in layout {
        f.layout.append(&mut before[b]);
        f.layout.push(b);
    }
    super::flow::run(f, ctx);
    ctx.count("unroll: loops", unrolled);
    true
}

fn counted(
    f: &Function,
    h: BlockId,
    entries: &[BlockId],
    around: &SecondaryMap<BlockId, PackedOption<BlockId>>,
    position: &SecondaryMap<BlockId, u32>,
) -> Result<Counted, &'static str> {
    let Merge::Loop { exit, cont } = f.blocks[h].merge else { return Err(SHAPE) };
    let blocks: Vec<BlockId> = f.layout[position[h] as usize..position[exit] as usize].to_vec();
    let (mut latch, mut leaves, mut continues, mut size) = (None, None, None, 0);
    for &b in &blocks {
        let block = &f.blocks[b];
        if b != h && matches!(block.merge, Merge::Loop { .. }) {
            return Err("there is a loop in it");
        }
        if matches!(block.term, Term::Ret(_)) {
            return Err("it is left by a return");
        }
        size += block.body.len();
        for s in block.term.successors() {
            let ends = [(h, &mut latch), (exit, &mut leaves), (cont, &mut continues)];
            for (_, from) in ends.into_iter().filter(|e| e.0 == s) {
                if from.replace(b).is_some() {
                    return Err("it is left, or continued, in several places");
                }
            }
        }
    }
    let (latch, leaves) = latch.zip(leaves).ok_or("it is not left by a branch, or never iterates")?;
    let outermost = |b: BlockId| b == h || around[b].expand() == Some(h);
    if size.max(blocks.len()) > LARGEST {
        return Err("its body has more than 256 instructions");
    }
    if !outermost(leaves) {
        return Err("it is left inside of an `if`");
    }
    // A copy goes on behind itself, which nothing inside an `if` of it may do.
    let goes_on = |b: BlockId| outermost(b) && (b == leaves || matches!(f.blocks[b].term, Term::Jump(_)));
    if !goes_on(latch) || !continues.is_none_or(goes_on) {
        return Err("it is continued inside an `if`");
    }
    let Term::Branch { cond, not, then, .. } = &f.blocks[leaves].term else { return Err(SHAPE) };
    let by_then = then.to == exit;
    let again = f.blocks[latch].term.edges().find(|e| e.to == h).ok_or(SHAPE)?;
    let &[from] = entries.iter().filter(|&&p| p != latch).collect::<Vec<_>>().as_slice() else {
        return Err("it is entered in several places");
    };
    let first = f.blocks[*from].term.edges().find(|e| e.to == h).ok_or(SHAPE)?;
    // The one parameter that the condition depends on.
    let param = depends_on(f, *cond, h, DEPTH).ok_or(UNKNOWN)?;
    let k = f.blocks[h].params.iter().position(|&p| p == param).ok_or(SHAPE)?;
    let mut x = constant(f, first.args[k]).ok_or("its counter does not begin with a constant")?;
    let mut rounds = 0;
    loop {
        let holds = value(f, *cond, param, x, DEPTH).ok_or(UNKNOWN)? & 1 != 0;
        if (holds != *not) == by_then {
            break;
        }
        rounds += 1;
        if rounds > ROUNDS {
            return Err("more than 1024 rounds");
        }
        x = value(f, again.args[k], param, x, DEPTH).ok_or(UNKNOWN)?;
    }
    if rounds == 0 {
        return Err("it is left at once");
    }
    Ok(Counted { blocks, exit, from: *from, latch, leaves, by_then, rounds })
}

/// The only parameter of block `h` that a value is computed from, if all else are constants.
fn depends_on(f: &Function, v: ValueId, h: BlockId, depth: usize) -> Option<ValueId> {
    if f.values[v].def == Def::Block(h) {
        return Some(v);
    }
    let d = f.def_inst(v).filter(|d| depth > 0 && is_scalar(f, d) && d.is_pure())?;
    let mut values = d.srcs.iter().filter_map(Src::as_val);
    let mut found = None;
    values.try_for_each(|s| {
        if constant(f, s).is_some() {
            return Some(());
        }
        let p = depends_on(f, s, h, depth - 1)?;
        (found.is_none_or(|other| other == p)).then(|| found = Some(p))
    })?;
    found
}

fn constant(f: &Function, v: ValueId) -> Option<u32> {
    let d = f.def_inst(v).filter(|d| d.op == Op::Mov && is_scalar(f, d))?;
    imm_src(d, 0)
}

/// What a value is if a parameter is `x`.
fn value(f: &Function, v: ValueId, param: ValueId, x: u32, depth: usize) -> Option<u32> {
    if v == param {
        return Some(x);
    }
    let d = f.def_inst(v).filter(|d| depth > 0 && is_scalar(f, d) && d.is_pure())?;
    super::fold::eval_with(d, |n| match d.srcs[n].kind {
        SrcKind::Val(v) => d.src_type(n).modified(value(f, v, param, x, depth - 1)?, d.srcs[n].mods),
        _ => imm_src(d, n),
    })
}

/// Makes the copies and returns their blocks. The loop itself is what is left when its condition to
/// leave holds; what follows that in the loop is unreachable afterwards.
fn unroll(f: &mut Function, l: &Counted) -> Vec<BlockId> {
    let h = l.blocks[0];
    let mut copies = Vec::with_capacity(l.rounds * l.blocks.len());
    // The block with the edge to the copy that is next.
    let mut open = l.from;
    for _ in 0..l.rounds {
        let copy = copy_blocks(f, &l.blocks);
        open = put_behind(f, l, &copy, open);
        copies.extend(copy);
    }
    f.blocks[h].merge = Merge::None;
    decide(f, l.leaves, l.by_then);
    if l.latch != l.leaves {
        f.blocks[l.latch].term = Term::Unreachable;
    }
    copies
}

/// Puts a copy of a loop, which is not left, where a block goes to the header; gives the block that
/// goes there from the copy.
fn put_behind(f: &mut Function, l: &Counted, copy: &[BlockId], open: BlockId) -> BlockId {
    let h = l.blocks[0];
    let [header, leaves, latch] = [h, l.leaves, l.latch].map(|b| l.in_copy(copy, b));
    f.blocks[header].merge = Merge::None;
    decide(f, leaves, !l.by_then);
    f.blocks[open].term.edges_mut().filter(|e| e.to == h).for_each(|e| e.to = header);
    // The copy's own way round leads on.
    f.blocks[latch].term.edges_mut().filter(|e| e.to == header).for_each(|e| e.to = h);
    latch
}

/// Makes a round of a loop several, and returns the blocks of those behind the first.
fn repeat(f: &mut Function, l: &Counted, copies: usize) -> Vec<BlockId> {
    let h = l.blocks[0];
    let Merge::Loop { exit, cont } = f.blocks[h].merge else { return Vec::new() };
    let mut more = Vec::new();
    let mut open = l.latch;
    // The first copy is one of the loop as it was.
    let all: Vec<Vec<BlockId>> = (1..copies).map(|_| copy_blocks(f, &l.blocks)).collect();
    for copy in all {
        open = put_behind(f, l, &copy, open);
        if cont != h {
            // That of the last round.
            f.blocks[h].merge = Merge::Loop { exit, cont: l.in_copy(&copy, cont) };
        }
        more.extend(copy);
    }
    more
}

/// Makes a branch a jump along its first or second edge.
fn decide(f: &mut Function, b: BlockId, by_then: bool) {
    let block = &mut f.blocks[b];
    if let Term::Branch { then, els, .. } = &block.term {
        block.term = Term::Jump(if by_then { then.clone() } else { els.clone() });
    }
    if matches!(block.merge, Merge::If { .. }) {
        block.merge = Merge::None;
    }
}

/// Copies of blocks with everything in them, in the same order. Edges and constructs among them are
/// among the copies.
fn copy_blocks(f: &mut Function, blocks: &[BlockId]) -> Vec<BlockId> {
    let mut values: SecondaryMap<ValueId, PackedOption<ValueId>> = SecondaryMap::new();
    let copies: Vec<BlockId> = blocks.iter().map(|_| f.detached_block()).collect();
    for (&b, &c) in blocks.iter().zip(&copies) {
        for p in f.blocks[b].params.clone() {
            values[p] = f.add_block_param(c, f.class(p)).into();
        }
        for i in f.blocks[b].body.clone() {
            let mut defs = Vec::new();
            f.insts[i].for_defs(|v| defs.push(v));
            for v in defs {
                values[v] = f.new_value(f.class(v)).into();
            }
        }
    }
    let value = |v: ValueId| values[v].expand().unwrap_or(v);
    let block = |b: BlockId| blocks.iter().position(|&o| o == b).map_or(b, |k| copies[k]);
    for (&b, &c) in blocks.iter().zip(&copies) {
        for i in f.blocks[b].body.clone() {
            let mut inst = f.insts[i].clone();
            inst.map_uses(value);
            inst.map_defs(value);
            f.append(c, inst);
        }
        let mut term = f.blocks[b].term.clone();
        term.map_uses(value);
        term.edges_mut().for_each(|e| e.to = block(e.to));
        let mut merge = f.blocks[b].merge;
        merge.blocks_mut().for_each(|t| *t = block(*t));
        let loc = f.blocks[b].term_loc;
        let copy = &mut f.blocks[c];
        (copy.term, copy.merge, copy.term_loc) = (term, merge, loc);
    }
    copies
}
