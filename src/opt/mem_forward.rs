//! Store-to-load forwarding, repeated loads and dead stores in shared and local memory; repeated
//! loads elsewhere.
//!
//! ```text
//! st u32 # l[%r1+0x8] %r2
//! ld u32 %r3 l[%r1+0x8]       ->  mov u32 %r3 %r2
//! st u32 # l[%r1+0x8] %r4         the first store is gone: nothing reads it in between
//! ```
//!
//! Within a block, and on into blocks that are reached from that one alone: what was stored to or
//! loaded from a place is known until something may write there. Places are compared by space,
//! buffer, base and offset; widths must agree, but for fixed places of private memory, of which each word is known by itself
//! ([`super::private_words`]). Other threads can write shared and global memory,
//! which only counts across barriers, atomics and calls: weak accesses promise no order in between.
//! A store to local memory is dead if the same place is stored again with nothing that may read it
//! in between, or if the thread ends, or if a kernel never reads local memory: nobody else sees it.
//! So is a store to an output that is stored again before a vertex is handed on. A store to shared
//! or global memory is never removed.
//!
//! Only weak, unguarded accesses take part; guarded stores end what is known of places that they
//! may touch.

use super::Ctx;
use super::private_words::{Loaded, PrivateWords, mask};
use crate::analysis::alias::{access_bytes, may_alias, may_clobber, same_base, spaces_meet};
use crate::ir::*;
use arrayvec::ArrayVec;
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntitySet, SecondaryMap};
use rustc_hash::FxHashMap;

/// What a place in memory holds.
#[derive(Clone)]
struct Held {
    mem: MemRef,
    bytes: u32,
    /// Its words.
    words: ArrayVec<Src, 4>,
    /// The store that put it there, if nothing has read it since.
    unread_store: Option<InstId>,
}

/// Places remembered at a time: bounds the work for each access.
const WINDOW: usize = 32;

pub(crate) fn run(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    let remembered = |i: InstId| f.insts[i].mem.is_some_and(|m| is_remembered(m.space));
    if !f.insts_in_order().any(|(_, i)| remembered(i)) {
        return false;
    }
    let mut pass = Forward::default();
    // What is known at the end of blocks that other blocks follow, and how many of these are to come.
    let mut ends: FxHashMap<BlockId, (Places, usize)> = FxHashMap::default();
    let before = only_predecessors(f);
    for n in 0..f.layout.len() {
        let b = f.layout[n];
        pass.held = before[b].expand().and_then(|p| known_behind(&mut ends, p)).unwrap_or_default();
        let body = std::mem::take(&mut f.blocks[b].body);
        let mut out = Vec::with_capacity(body.len());
        for i in body {
            pass.visit(f, i, &mut out);
            out.push(i);
        }
        f.blocks[b].body = out;
        if f.blocks[b].term == Term::Exit {
            let local = pass.held.others.iter().filter(|h| h.mem.space == Space::Local);
            pass.dead.extend(local.filter_map(|h| h.unread_store).chain(pass.held.private.unread()));
        }
        let followers = f.blocks[b].term.successors().filter(|&s| before[s].expand() == Some(b)).count();
        if followers > 0 && !pass.held.is_empty() {
            let mut known = std::mem::take(&mut pass.held);
            known.read_all();
            ends.insert(b, (known, followers));
        }
    }
    let Forward { local, mut dead, forwarded, .. } = pass;
    // Who calls a function that returns may read what it has stored.
    let returns = f.layout.iter().any(|&b| matches!(f.blocks[b].term, Term::Ret(_)));
    if !local.read && !returns && !local.stores.is_empty() {
        dead = local.stores;
        f.local_bytes = 0;
    }
    // A store of several words comes once for each.
    dead.sort_unstable();
    dead.dedup();
    let removed = dead.len();
    if removed > 0 {
        let mut gone = EntitySet::with_capacity(f.insts.len());
        dead.iter().for_each(|&i| {
            gone.insert(i);
        });
        for n in 0..f.layout.len() {
            let b = f.layout[n];
            f.blocks[b].body.retain(|&i| !gone.contains(i));
        }
    }
    ctx.count("mem_forward: loads", forwarded);
    ctx.count("mem_forward: dead stores", removed);
    forwarded + removed > 0
}

/// What is known behind a block, for one of those that follow it.
fn known_behind(ends: &mut FxHashMap<BlockId, (Places, usize)>, b: BlockId) -> Option<Places> {
    let (known, followers) = ends.get_mut(&b)?;
    *followers -= 1;
    if *followers == 0 { ends.remove(&b).map(|end| end.0) } else { Some(known.clone()) }
}

/// What is known of memory.
#[derive(Clone, Default)]
struct Places {
    /// Private memory at fixed places.
    private: PrivateWords,
    /// Other places, the newer ones last.
    others: Vec<Held>,
}

impl Places {
    fn is_empty(&self) -> bool {
        self.private.is_empty() && self.others.is_empty()
    }

    fn clear(&mut self) {
        self.private.clear();
        self.others.clear();
    }

    /// Everything may have been read.
    fn read_all(&mut self) {
        self.private.read_all();
        self.others.iter_mut().for_each(|h| h.unread_store = None);
    }

    /// Something may read what is held there.
    fn read(&mut self, m: &MemRef, bytes: u32) {
        if !is_fixed(m) && spaces_meet(m.space, Space::Local) {
            self.private.read_all();
        }
        for h in &mut self.others {
            if may_alias(&h.mem, h.bytes, m, bytes) {
                h.unread_store = None;
            }
        }
    }

    /// A store changes what is held there.
    fn clobber(&mut self, m: &MemRef, bytes: u32) {
        self.others.retain(|h| !may_clobber(m, bytes, &h.mem, h.bytes));
        if !is_fixed(m) && spaces_meet(m.space, Space::Local) {
            self.private.clear();
        }
    }

    /// The stores that nothing has read and one to this place covers.
    fn covered(&self, m: &MemRef, bytes: u32) -> impl Iterator<Item = InstId> {
        let at = move |h: &&Held| same_base(&h.mem, m) && h.mem.offset == m.offset && h.bytes <= bytes;
        self.others.iter().filter(at).filter_map(|h| h.unread_store)
    }

    fn remember(&mut self, new: Held) {
        if self.others.len() >= WINDOW {
            self.others.remove(0);
        }
        self.others.push(new);
    }

    /// The words that a load would give, if they are known.
    fn load(&self, m: &MemRef, bytes: u32) -> Option<ArrayVec<Src, 4>> {
        let holds = |h: &&Held| {
            let start = m.offset.wrapping_sub(h.mem.offset);
            same_base(&h.mem, m) && start >= 0 && start % 4 == 0 && start as u32 + bytes <= h.bytes
        };
        let h = self.others.iter().rev().find(holds)?;
        let first = (m.offset.wrapping_sub(h.mem.offset) / 4) as usize;
        h.words.get(first..first + bytes as usize / 4).map(|w| w.iter().copied().collect())
    }
}

/// The way through the blocks.
#[derive(Default)]
struct Forward {
    held: Places,
    local: Local,
    /// Stores that nothing reads.
    dead: Vec<InstId>,
    forwarded: usize,
}

impl Forward {
    /// Looks at an instruction; puts what it needs before it into `out`.
    fn visit(&mut self, f: &mut Function, i: InstId, out: &mut Vec<InstId>) {
        let inst = &f.insts[i];
        let Some(m) = inst.mem.filter(|_| matches!(inst.op, Op::Ld | Op::St)) else {
            self.local.look_at(i, inst);
            clobber_all(inst, &mut self.held);
            return;
        };
        match inst.op {
            _ if m.space.is_constant() => {}
            Op::Ld if is_fixed(&m) => self.load_private(f, i, m, out),
            Op::Ld => self.load(f, i, m),
            _ => self.store(inst, i, m),
        }
    }

    /// A load, which becomes a copy of what is known to be there.
    fn load(&mut self, f: &mut Function, i: InstId, m: MemRef) {
        let inst = &f.insts[i];
        let bytes = access_bytes(inst);
        let simple = is_simple(inst, &m, bytes);
        if simple && let Some(words) = self.held.load(&m, bytes) {
            let mut copy = Inst::new(if words.len() == 1 { Op::Mov } else { Op::Pcopy }, Type::U32);
            copy.srcs.extend(words);
            copy.dsts = inst.dsts;
            copy.loc = inst.loc;
            f.replace(i, copy);
            self.forwarded += 1;
            return;
        }
        self.local.look_at(i, inst);
        // It may read what stores have left.
        self.held.read(&m, bytes);
        if m.order != Order::Weak {
            clobber_all(inst, &mut self.held);
        } else if simple && is_remembered(m.space) {
            let words = inst.dsts.iter().map(|&d| Src::val(d)).take(4).collect();
            self.held.remember(Held { mem: m, bytes, words, unread_store: None });
        }
    }

    /// The same of a fixed place of private memory.
    fn load_private(&mut self, f: &mut Function, i: InstId, m: MemRef, out: &mut Vec<InstId>) {
        let bytes = access_bytes(&f.insts[i]);
        let plain = m.order == Order::Weak && f.insts[i].guard.is_none();
        let loc = f.insts[i].loc;
        let loaded = plain.then(|| self.held.private.load(f, m.offset, bytes, loc, out)).flatten();
        let inst = &f.insts[i];
        let mut copy = match loaded {
            Some(Loaded::Words(words)) => {
                let mut copy = Inst::new(if words.len() == 1 { Op::Mov } else { Op::Pcopy }, Type::U32);
                copy.srcs.extend(words);
                copy
            }
            Some(Loaded::Bits(value, first, bits)) => {
                let signed = matches!(inst.ty, Type::S8 | Type::S16);
                match value.as_imm() {
                    Some(x) => {
                        let x = x >> first & mask(bits);
                        let negative = signed && x >> (bits - 1) != 0;
                        Inst::new(Op::Mov, Type::U32).src(Src::imm(if negative {
                            x | !mask(bits)
                        } else {
                            x
                        }))
                    }
                    None => Inst::new(Op::Ext, if signed { Type::S32 } else { Type::U32 })
                        .src(value)
                        .src(Src::imm(first | bits << 8)),
                }
            }
            None => {
                self.local.look_at(i, inst);
                self.held.read(&m, bytes);
                let values: &[ValueId] = if plain { &inst.dsts } else { &[] };
                self.held.private.loaded(m.offset, bytes, values);
                if m.order != Order::Weak {
                    clobber_all(inst, &mut self.held);
                }
                return;
            }
        };
        (copy.dsts, copy.loc) = (inst.dsts, inst.loc);
        f.replace(i, copy);
        self.forwarded += 1;
    }

    /// A store to a fixed place of private memory.
    fn store_private(&mut self, inst: &Inst, i: InstId, m: MemRef, bytes: u32) {
        if inst.guard.is_some() {
            return self.held.private.forget_all(m.offset, bytes);
        }
        let values: ArrayVec<Src, 4> = match inst.srcs.iter().map(|s| &s.kind).next() {
            Some(&SrcKind::Imm(x)) => [Src::imm(x)].into_iter().collect(),
            Some(&SrcKind::Imm64(x)) => x.into_iter().map(Src::imm).collect(),
            _ => inst.srcs.iter().flat_map(|s| s.values()).take(4).map(|&v| Src::val(v)).collect(),
        };
        let plain = inst.srcs.iter().all(|s| s.mods == SrcMods::default());
        let values: &[Src] = if plain { &values } else { &[] };
        self.dead.extend(self.held.private.store(i, m.offset, bytes, values));
    }

    fn store(&mut self, inst: &Inst, i: InstId, m: MemRef) {
        let bytes = access_bytes(inst);
        let simple = is_simple(inst, &m, bytes);
        self.local.look_at(i, inst);
        if m.order != Order::Weak {
            self.held.clear();
            return;
        }
        if is_fixed(&m) {
            self.held.clobber(&m, bytes);
            return self.store_private(inst, i, m, bytes);
        }
        // A store over exactly the same place makes an unread one before it pointless.
        if simple && is_own(m.space) {
            self.dead.extend(self.held.covered(&m, bytes));
        }
        self.held.clobber(&m, bytes);
        let words: ArrayVec<Src, 4> =
            inst.srcs.iter().flat_map(|s| s.values()).map(|&v| Src::val(v)).collect();
        let plain = inst.srcs.iter().all(|s| s.mods == SrcMods::default());
        if simple && plain && words.len() as u32 * 4 == bytes && is_remembered(m.space) {
            let unread_store = is_own(m.space).then_some(i);
            self.held.remember(Held { mem: m, bytes, words, unread_store });
        }
    }
}

/// An access of whole words that nothing orders and that always happens.
fn is_simple(inst: &Inst, m: &MemRef, bytes: u32) -> bool {
    m.order == Order::Weak && inst.guard.is_none() && bytes >= 4
}

/// What a function does with local memory.
#[derive(Default)]
struct Local {
    stores: Vec<InstId>,
    /// Whether anything may read it.
    read: bool,
}

impl Local {
    fn look_at(&mut self, i: InstId, inst: &Inst) {
        let space = inst.mem.map(|m| m.space);
        match (inst.op, space) {
            (Op::St, Some(Space::Local)) if inst.mem.is_some_and(|m| m.order == Order::Weak) => {
                self.stores.push(i)
            }
            (_, Some(Space::Local | Space::Generic)) => self.read = true,
            _ => self.read |= inst.call().is_some(),
        }
    }
}

/// For each block that is reached from one other block only, and comes after it, that block.
fn only_predecessors(f: &Function) -> SecondaryMap<BlockId, PackedOption<BlockId>> {
    let mut only: SecondaryMap<BlockId, PackedOption<BlockId>> = SecondaryMap::new();
    let mut several: EntitySet<BlockId> = EntitySet::with_capacity(f.blocks.len());
    only.resize(f.blocks.len());
    for &b in &f.layout {
        for s in f.blocks[b].term.successors() {
            // What comes before was looked at, and is another block.
            if only[s].is_some() || several.contains(s) {
                only[s] = None.into();
                several.insert(s);
            } else {
                only[s] = b.into();
            }
        }
    }
    only
}

/// Whether nobody else sees what is stored until the thread says so: it ends, meets others, or
/// hands on a vertex.
fn is_own(space: Space) -> bool {
    matches!(space, Space::Local | Space::Output | Space::PatchOutput)
}

/// Whether it is remembered what a place in such memory holds: not where accesses are checked
/// against a buffer's size.
fn is_remembered(space: Space) -> bool {
    !matches!(space, Space::Buffer | Space::Const | Space::Uniform)
}

/// A place in private memory that no register says: an element of an array that may become a register.
fn is_fixed(m: &MemRef) -> bool {
    m.space == Space::Local && m.base().is_empty() && m.index.is_none()
}

/// Everything else that touches memory, orders accesses, or hands control away.
fn clobber_all(inst: &Inst, held: &mut Places) {
    let lanes_only = matches!(inst.op, Op::Vote | Op::Shfl | Op::Quadop | Op::Rdsv | Op::Tex);
    if lanes_only || !inst.op.is(op::EFFECT | op::READS) {
        return;
    }
    if inst.call().is_some() {
        held.clear();
        return;
    }
    // Nothing but this thread's own accesses reaches its local memory.
    let generic = inst.mem.is_some_and(|m| m.space == Space::Generic);
    held.others.retain(|h| h.mem.space == Space::Local && !generic);
    if generic {
        held.private.clear();
    }
}
