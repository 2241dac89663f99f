//! What the instructions of a function read and write, and what dies where.

use super::colour::per_value;
use crate::analysis::cfg::Cfg;
use crate::analysis::liveness::Liveness;
use crate::ir::{BlockId, Class, Function, ValueId};
use cranelift_entity::SecondaryMap;

/// A value that an instruction reads or writes.
#[derive(Clone, Copy)]
pub(super) struct Access {
    pub v: ValueId,
    pub class: Class,
    /// Nobody reads it after the instruction.
    pub dies: bool,
}

/// What instructions read and write, and what dies where. It is the same however a function is coloured.
pub(super) struct Accesses {
    /// For each instruction what it writes, then what it reads.
    list: Vec<Access>,
    /// For each instruction, of a block the last one first, where its part of the list begins, and where what it reads.
    parts: Vec<(u32, u32)>,
    /// For each block the number of its first part, and where its dead parameters begin and end.
    blocks: SecondaryMap<BlockId, (u32, u32, u32)>,
    /// Parameters that nobody reads.
    dead_params: Vec<ValueId>,
}

impl Accesses {
    pub(super) fn new(f: &Function, cfg: &Cfg, live: &Liveness) -> Accesses {
        let count = f.inst_count();
        let mut all = Accesses {
            list: Vec::with_capacity(4 * count),
            parts: Vec::with_capacity(count),
            blocks: SecondaryMap::with_capacity(f.blocks.len()),
            dead_params: Vec::new(),
        };
        let mut alive = per_value(f, 0);
        for (n, &b) in cfg.rpo().iter().enumerate() {
            all.block(f, b, live, n as u32 + 1, &mut alive);
        }
        all
    }

    /// A block, from its end on.
    fn block(
        &mut self,
        f: &Function,
        b: BlockId,
        live: &Liveness,
        stamp: u32,
        alive: &mut SecondaryMap<ValueId, u32>,
    ) {
        let block = &f.blocks[b];
        let first = self.parts.len() as u32;
        live.live_out(b).iter().for_each(|&v| alive[v] = stamp);
        block.term.for_uses(|v| alive[v] = stamp);
        for &i in block.body.iter().rev() {
            let inst = &f.insts[i];
            let defs = self.list.len();
            inst.for_defs(|v| {
                self.list.push(Access { v, class: f.class(v), dies: alive[v] != stamp });
            });
            let uses = self.list.len();
            self.parts.push((defs as u32, uses as u32));
            inst.for_uses(|v| {
                let dies = std::mem::replace(&mut alive[v], stamp) != stamp;
                self.list.push(Access { v, class: f.class(v), dies });
            });
        }
        let params: &[ValueId] = if b == f.entry() { &f.params } else { &[] };
        let dead = self.dead_params.len() as u32;
        self.dead_params.extend(params.iter().chain(&block.params).filter(|&&p| alive[p] != stamp));
        self.blocks[b] = (first, dead, self.dead_params.len() as u32);
    }

    /// What instruction `at` of a block of `count` instructions writes, and what it reads.
    pub(super) fn of(&self, b: BlockId, at: usize, count: usize) -> (&[Access], &[Access]) {
        let part = self.blocks[b].0 as usize + (count - 1 - at);
        let (defs, uses) = self.parts[part];
        let end = self.parts.get(part + 1).map_or(self.list.len(), |next| next.0 as usize);
        (&self.list[defs as usize..uses as usize], &self.list[uses as usize..end])
    }

    pub(super) fn dead_params(&self, b: BlockId) -> &[ValueId] {
        let (_, start, end) = self.blocks[b];
        &self.dead_params[start as usize..end as usize]
    }
}
