//! What the instructions of a block keep in registers, apart from which registers they are.
//!
//! A *web* is a definition with everything that reads it: a register of its own, as far as the block goes. What comes
//! into the block or leaves it, and what is named implicitly, keeps its register (it is *pinned*); everything else
//! may move to another one. Webs that an instruction names as a vector move together and keep their alignment: a
//! *group*.

use super::live::Set;
use crate::emit::code::Line;
use crate::isa::effects::{self, Access, Resource, Slot, Touched};
use crate::isa::{MInst, Mod, Op, Operand, Pred, Reg};

/// A web, by its number in the block.
pub type WebId = u32;

pub const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
pub struct Web {
    /// The register, predicate or condition code that it has in the code, as [`Resource::index`].
    pub register: u16,
    /// How many instructions name it: twice those that read and write it.
    pub names: u32,
    /// It keeps its register.
    pub pinned: bool,
    /// It is read after the block.
    pub leaves: bool,
    /// It is there when the block starts.
    pub enters: bool,
    /// The first and the last instruction that name it.
    pub first: u32,
    pub last: u32,
    /// The web that it has become one with, or itself.
    pub is: WebId,
    /// The group that it is part of: another web of it, or itself.
    group: WebId,
    /// Registers that the group's place is a multiple of, if this web stands for it.
    align: u8,
}

/// Where an instruction names a web.
#[derive(Clone, Copy)]
struct Name {
    slot: Slot,
    /// The register in the code, as [`Resource::index`].
    register: u16,
    web: WebId,
}

/// The webs of a block. Built once and used for all blocks of a program.
#[derive(Default)]
pub struct Webs {
    pub webs: Vec<Web>,
    /// What each instruction reads, then what it writes.
    touched: Vec<WebId>,
    /// Where each instruction's reads and writes start.
    starts: Vec<(u32, u32)>,
    names: Vec<Name>,
    named: Vec<u32>,
    /// By [`Resource::index`]: the web that is there.
    current: Vec<WebId>,
    /// One more than the last register that one has in the code, as [`Resource::index`].
    end: u16,
    /// Webs in the order of their groups, and where each one's group is.
    members: Vec<WebId>,
    places: Vec<(u32, u32)>,
}

/// Whether webs may move.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Moves {
    Allowed,
    /// Each register is one web.
    Forbidden,
}

impl Webs {
    /// For blocks of so many instructions at most.
    pub fn new(instructions: usize) -> Webs {
        Webs {
            webs: Vec::with_capacity(2 * instructions),
            touched: Vec::with_capacity(6 * instructions),
            starts: Vec::with_capacity(instructions + 1),
            names: Vec::with_capacity(4 * instructions),
            named: Vec::with_capacity(instructions + 1),
            current: vec![NONE; Resource::COUNT],
            end: 0,
            members: Vec::with_capacity(2 * instructions),
            places: Vec::with_capacity(2 * instructions),
        }
    }

    /// What an instruction reads.
    pub fn reads(&self, k: usize) -> &[WebId] {
        let (reads, writes) = self.starts[k];
        &self.touched[reads as usize..writes as usize]
    }

    /// What an instruction writes.
    pub fn writes(&self, k: usize) -> &[WebId] {
        &self.touched[self.starts[k].1 as usize..self.starts[k + 1].0 as usize]
    }

    /// All webs that move with this one, itself among them, by register.
    pub fn group(&self, web: WebId) -> &[WebId] {
        let (start, end) = self.places[self.root(web) as usize];
        &self.members[start as usize..end as usize]
    }

    /// One more than the last register that a web has in the code, as [`Resource::index`].
    pub fn end(&self) -> u16 {
        self.end
    }

    /// Registers that the place of a web's group is a multiple of.
    pub fn align(&self, web: WebId) -> u16 {
        self.webs[self.root(web) as usize].align.into()
    }

    /// The web that stands for a group.
    fn root(&self, mut web: WebId) -> WebId {
        while self.webs[web as usize].group != web {
            web = self.webs[web as usize].group;
        }
        web
    }

    /// Reads the instructions of a block, of which `after` is read later.
    pub fn build(&mut self, lines: &[&Line], touched: &Touched, after: &Set, moves: Moves) {
        self.webs.clear();
        self.touched.clear();
        self.starts.clear();
        self.names.clear();
        self.named.clear();
        self.current.fill(NONE);
        for (k, line) in (0u32..).zip(lines) {
            self.named.push(self.names.len() as u32);
            let reads = self.touched.len() as u32;
            if moves == Moves::Forbidden {
                touched.reads(line.touches).iter().for_each(|&r| self.fixed(k, r));
                self.starts.push((reads, self.touched.len() as u32));
                touched.writes(line.touches).iter().for_each(|&r| self.fixed(k, r));
            } else {
                self.line(k, &line.inst, reads);
            }
        }
        self.starts.push((self.touched.len() as u32, 0));
        self.named.push(self.names.len() as u32);
        self.end = 0;
        for (web, w) in (0..).zip(&mut self.webs) {
            self.end = self.end.max(w.register + 1);
            if self.current[usize::from(w.register)] == web && after.has(w.register) {
                (w.leaves, w.pinned) = (true, true);
            }
        }
        self.collect();
    }

    /// Names a register that is one web from the start to the end of the block.
    fn fixed(&mut self, k: u32, r: u16) {
        let web = self.present(k, r);
        self.name(k, web);
        self.touched.push(web);
    }

    fn line(&mut self, k: u32, m: &MInst, reads: u32) {
        let mut writes = NONE;
        // A predicated write leaves what was there where it is not executed, and some forms add to their destination.
        let replaces = m.guard.is_true() && !matches!(m.op, Op::Ffma32i | Op::Imad32i);
        let swaps = m.op == Op::Atom && m.has(Mod::Cas);
        let mut swap: WebId = NONE;
        let each = |slot: Slot, first: Resource, width: u8, access: Access| {
            if access == Access::Write && writes == NONE {
                writes = self.touched.len() as u32;
            }
            let r = first.index() as u16;
            let mut leader = NONE;
            for r in r..(r + u16::from(width)).min(Resource::COUNT as u16) {
                let web = match access {
                    Access::Write if replaces && r != CARRY => self.fresh(k, r),
                    _ => self.present(k, r),
                };
                self.name(k, web);
                self.touched.push(web);
                if slot == Slot::Implied {
                    self.webs[web as usize].pinned = true;
                }
                if leader == NONE {
                    leader = web;
                    self.names.push(Name { slot, register: r, web });
                } else {
                    self.join(leader, web, width);
                }
            }
            // The two values of a compare-and-swap follow each other.
            let value = || matches!(slot, Slot::Operand(n) if matches!(m.operands[usize::from(n)], Operand::Reg { .. }));
            if swaps && access == Access::Read && leader != NONE && value() {
                if swap != NONE {
                    self.join(swap, leader, 2 * width);
                }
                swap = leader;
            }
        };
        effects::named(m, each, |_| ());
        self.starts.push((reads, if writes == NONE { self.touched.len() as u32 } else { writes }));
    }

    fn name(&mut self, k: u32, web: WebId) {
        let w = &mut self.webs[web as usize];
        w.names += 1;
        w.last = k;
    }

    /// The web in a register; what nobody has written came into the block.
    fn present(&mut self, k: u32, r: u16) -> WebId {
        let web = self.current[usize::from(r)];
        if web != NONE {
            return web;
        }
        let web = self.fresh(k, r);
        let w = &mut self.webs[web as usize];
        (w.pinned, w.enters) = (true, true);
        web
    }

    fn fresh(&mut self, k: u32, r: u16) -> WebId {
        let web = self.webs.len() as WebId;
        self.webs.push(Web {
            register: r,
            names: 0,
            pinned: false,
            leaves: false,
            enters: false,
            first: k,
            last: k,
            is: web,
            group: web,
            align: 1,
        });
        self.current[usize::from(r)] = web;
        web
    }

    /// The web that stands for a group; the ways to it get shorter.
    fn find(&mut self, mut web: WebId) -> WebId {
        loop {
            let next = self.webs[web as usize].group;
            if next == web {
                return web;
            }
            let after = self.webs[next as usize].group;
            self.webs[web as usize].group = after;
            web = after;
        }
    }

    /// Two webs are parts of one vector of so many registers.
    fn join(&mut self, a: WebId, b: WebId, width: u8) {
        let (a, b) = (self.find(a), self.find(b));
        let align = self.webs[a as usize].align.max(self.webs[b as usize].align);
        let of_width = if width > 2 { 4 } else { width };
        let (a, b) = (a.min(b), a.max(b));
        self.webs[b as usize].group = a;
        self.webs[a as usize].align = align.max(of_width);
    }

    /// Groups have their members together; one that is pinned pins all.
    fn collect(&mut self) {
        let n = self.webs.len();
        self.places.clear();
        self.places.resize(n, (0, 0));
        for web in 0..n as WebId {
            let root = self.root(web);
            // Shorter ways from now on; a root comes before its members.
            self.webs[web as usize].group = root;
            self.places[root as usize].1 += 1;
            let pinned = self.webs[web as usize].pinned;
            self.webs[root as usize].pinned |= pinned;
        }
        let mut end = 0;
        for p in &mut self.places {
            let size = p.1;
            *p = (end, end);
            end += size;
        }
        self.members.clear();
        self.members.resize(n, 0);
        for web in 0..n as WebId {
            let root = self.webs[web as usize].group;
            let pinned = self.webs[root as usize].pinned;
            self.webs[web as usize].pinned = pinned;
            let p = &mut self.places[root as usize];
            self.members[p.1 as usize] = web;
            p.1 += 1;
        }
        self.unite();
    }

    /// Webs that will share a register whatever happens become one, so that they keep their order: those that are pinned
    /// to it, and those that have the same place in a group.
    fn unite(&mut self) {
        let mut united = false;
        self.current.fill(NONE);
        for web in 0..self.webs.len() as WebId {
            united |= self.webs[web as usize].pinned && self.unite_with_first(web);
        }
        for root in 0..self.webs.len() {
            let (start, end) = self.places[root];
            if end - start < 2 || self.webs[root].pinned {
                continue;
            }
            let members = start as usize..end as usize;
            for m in members.clone() {
                let r = self.register_of(m);
                self.current[r] = NONE;
            }
            members.for_each(|m| united |= self.unite_with_first(self.members[m]));
        }
        if united {
            let webs = &self.webs;
            let one = |web: &mut WebId| *web = webs[*web as usize].is;
            self.touched.iter_mut().for_each(one);
            self.names.iter_mut().for_each(|n| one(&mut n.web));
        }
    }

    fn register_of(&self, member: usize) -> usize {
        self.webs[self.members[member] as usize].register.into()
    }

    /// Unites a web with the first one that has been asked for with its register, if it is not that itself.
    fn unite_with_first(&mut self, web: WebId) -> bool {
        let w = self.webs[web as usize];
        let first = &mut self.current[usize::from(w.register)];
        if *first == NONE {
            *first = web;
            return false;
        }
        self.webs[web as usize].is = *first;
        let into = &mut self.webs[*first as usize];
        into.names += w.names;
        into.last = into.last.max(w.last);
        into.leaves |= w.leaves;
        true
    }

    /// Rewrites an instruction for the registers that webs have now, by [`Resource::index`]; whether that changes it.
    pub fn rewrite(&self, k: usize, m: &mut MInst, register: impl Fn(WebId) -> u16) -> bool {
        let mut changed = false;
        for name in &self.names[self.named[k] as usize..self.named[k + 1] as usize] {
            let new = register(name.web);
            if name.register == new {
                continue;
            }
            changed = true;
            let (gpr, pred) = (Resource::register(new).map(Reg), new as u8);
            match name.slot {
                Slot::Guard => m.guard = Pred { num: pred, ..m.guard },
                Slot::Implied => {}
                Slot::Operand(n) => match (&mut m.operands[usize::from(n)], gpr) {
                    (Operand::Pred(p), _) => *p = Pred { num: pred, ..*p },
                    (Operand::Reg { reg, .. }, Some(r)) => *reg = r,
                    (
                        Operand::Mem { base, .. } | Operand::Const { base, .. } | Operand::Attr { base, .. },
                        Some(r),
                    ) => *base = r,
                    _ => {}
                },
            }
        }
        changed
    }
}

const CARRY: u16 = Resource::Carry.index() as u16;
