//! Store merging: neighbouring stores of bytes and half-words with known values become one store.
//!
//! ```text
//! st u16 # l[0x50 align 16] 0x7
//! st u16 # l[0x52 align 16+2] 0x1     ->  st u32 # l[0x50 align 16] 0x10007
//! ```
//!
//! Words go on from there in [`super::mem_combine`]. The later store takes the bytes of both, so
//! between the two nothing may read or write those of the earlier one; the lower address must be
//! proven to be a multiple of the width of both. Stores that are guarded combine with others under
//! the same guard. Only stores that nobody else may see in between, those without an order, are
//! looked at.

use super::Ctx;
use super::rewrite::imm_src;
use crate::analysis::alias::{access_bytes, may_alias, same_base};
use crate::ir::*;

/// How many stores are kept open at a time: bounds the work for each access.
const WINDOW: usize = 16;

/// A store that a later one may take with it.
struct Open {
    inst: InstId,
    mem: MemRef,
    bytes: u32,
    value: u32,
}

pub(crate) fn run(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    let mut combined = 0;
    let mut open: Vec<Open> = Vec::new();
    for n in 0..f.layout.len() {
        let b = f.layout[n];
        open.clear();
        let mut gone: Vec<InstId> = Vec::new();
        for k in 0..f.blocks[b].body.len() {
            let i = f.blocks[b].body[k];
            let inst = &f.insts[i];
            let Some(m) = inst.mem else {
                if inst.op.is(op::EFFECT | op::READS) {
                    open.clear();
                }
                continue;
            };
            if !matches!(inst.op, Op::Ld | Op::St) || m.order != Order::Weak {
                open.clear();
                continue;
            }
            let bytes = access_bytes(inst);
            open.retain(|o| !may_alias(&o.mem, o.bytes, &m, bytes));
            let Some(value) = narrow(f, inst) else { continue };
            let mut newest = Open { inst: i, mem: m, bytes, value };
            while let Some(k) = open.iter().position(|o| joins(f, o, &newest)) {
                let other = open.remove(k);
                gone.push(other.inst);
                newest = join(f, &other, &newest);
                combined += 1;
            }
            if newest.bytes < 4 {
                open.push(newest);
            }
            if open.len() > WINDOW {
                open.remove(0);
            }
        }
        if !gone.is_empty() {
            gone.sort_unstable();
            f.blocks[b].body.retain(|i| gone.binary_search(i).is_err());
        }
    }
    ctx.count("store_merge: combined", combined);
    combined > 0
}

/// The value that an instruction stores, if it is a constant of less than a word.
fn narrow(f: &Function, inst: &Inst) -> Option<u32> {
    let mask = match inst.ty {
        Type::U8 | Type::S8 => 0xff,
        Type::U16 | Type::S16 => 0xffff,
        _ => return None,
    };
    if inst.op != Op::St || inst.ext.is_some() {
        return None;
    }
    let s = inst.srcs.first().filter(|s| s.mods == SrcMods::default())?;
    let value = match s.kind {
        SrcKind::Imm(x) => Some(x),
        SrcKind::Val(v) => f
            .def_inst(v)
            .filter(|d| d.op == Op::Mov && d.guard.is_none() && matches!(d.ty, Type::U32 | Type::S32))
            .and_then(|d| imm_src(d, 0)),
        _ => None,
    };
    value.map(|x| x & mask)
}

/// Whether two stores lie side by side, and may be one.
fn joins(f: &Function, earlier: &Open, later: &Open) -> bool {
    let (low, high) = ordered(earlier, later);
    earlier.bytes == later.bytes
        && same_base(&low.mem, &high.mem)
        && low.mem.var == high.mem.var
        && low.mem.offset.checked_add(low.bytes as i32) == Some(high.mem.offset)
        && low.mem.proven() >= 2 * low.bytes
        && f.insts[earlier.inst].guard == f.insts[later.inst].guard
}

fn ordered<'a>(x: &'a Open, y: &'a Open) -> (&'a Open, &'a Open) {
    if x.mem.offset < y.mem.offset { (x, y) } else { (y, x) }
}

/// Makes the later store one of both.
fn join(f: &mut Function, earlier: &Open, later: &Open) -> Open {
    let (low, high) = ordered(earlier, later);
    let value = low.value | high.value << (8 * low.bytes);
    let mut inst = f.insts[later.inst].clone();
    inst.ty = if low.bytes == 1 { Type::U16 } else { Type::U32 };
    inst.sty = inst.ty;
    inst.srcs[0] = Src::imm(value);
    inst.mem = Some(low.mem);
    f.replace(later.inst, inst);
    Open { inst: later.inst, mem: low.mem, bytes: 2 * low.bytes, value }
}
