//! Which registers, predicates and flags a thread may still read: all else need not be written.
//!
//! Control flow is that of one thread. Where it depends on the divergence stack, a thread may go to every address that anything
//! pushes of that kind. What other lanes read of a thread (SHFL, FSWZ) counts as read everywhere, and where whole quads may be
//! made to run everything does.

use super::blocks::Blocks;
use crate::Threads;
use nvir_emu::engine::Code;
use nvir_emu::engine::open::{CarryIn, Class, Cmp, Flow, Inst, Micro};

/// Predicates P0 to P6, then zero, sign, carry, overflow.
pub(crate) const MASKS: usize = 11;

/// The first flag among the masks.
pub(crate) const FIRST_FLAG: usize = 7;

/// All flags.
pub(crate) const ALL_FLAGS: u16 = 0xf << FIRST_FLAG;

/// A set of registers and masks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Set {
    regs: [u64; 4],
    pub(crate) masks: u16,
}

impl Set {
    pub(crate) const ALL: Set = Set { regs: [u64::MAX; 4], masks: (1 << MASKS) - 1 };

    pub(crate) fn add_regs(&mut self, first: u8, count: u8) {
        (usize::from(first)..usize::from(first) + usize::from(count))
            .for_each(|r| self.regs[(r / 64) & 3] |= 1 << (r % 64));
    }

    fn remove_regs(&mut self, first: u8, count: u8) {
        (usize::from(first)..usize::from(first) + usize::from(count))
            .for_each(|r| self.regs[(r / 64) & 3] &= !(1 << (r % 64)));
    }

    pub(crate) fn has(&self, reg: u8) -> bool {
        self.regs[usize::from(reg) / 64] >> (reg % 64) & 1 != 0
    }

    fn union(&mut self, other: &Set) {
        self.regs.iter_mut().zip(&other.regs).for_each(|(a, b)| *a |= b);
        self.masks |= other.masks;
    }
}

/// What is live where each basic block begins, by its number.
#[derive(Debug)]
pub(crate) struct Liveness {
    entry: Vec<Set>,
    /// What is live everywhere.
    always: Set,
    of: Threads,
}

/// Whether a transfer of control tests the condition code.
fn reads_flags(flow: &Flow) -> bool {
    const ALWAYS: u8 = 15;
    match *flow {
        Flow::Bra { cc, .. } | Flow::Brx { cc, .. } => cc != ALWAYS,
        Flow::Brk(cc) | Flow::Cont(cc) | Flow::Ret(cc) | Flow::Longjmp(cc) => cc != ALWAYS,
        Flow::Exit(cc) | Flow::Kil(cc) => cc != ALWAYS,
        _ => false,
    }
}

/// Predicates and flags that an instruction may read.
pub(crate) fn masks_read(inst: &Inst) -> u16 {
    let flags = match &inst.micro {
        Micro::P2r { .. } => return (1 << MASKS) - 1,
        Micro::Flow(flow) if reads_flags(flow) => ALL_FLAGS,
        Micro::Sum { carry: CarryIn::Flag, .. } | Micro::Mad { carry: CarryIn::Flag, .. } => ALL_FLAGS,
        Micro::Set { cmp: Cmp::IntX { .. } | Cmp::Cc(_), .. } | Micro::MinMaxX { .. } => ALL_FLAGS,
        _ if inst.chain || inst.reads_cc => ALL_FLAGS,
        _ => 0,
    };
    u16::from(inst.pred_reads) & 0x7f | flags
}

/// Predicates and flags that an instruction may write.
pub(crate) fn masks_written(inst: &Inst) -> u16 {
    u16::from(inst.pred_writes) & 0x7f | if inst.cc { ALL_FLAGS } else { 0 }
}

/// What an instruction surely writes in every lane that executes it.
fn kills(inst: &Inst, of: Threads) -> (bool, u16) {
    let all = inst.is_for_all();
    let class = inst.micro.class();
    let plain = match inst.micro {
        Micro::R2p { .. } => false,
        Micro::Load { .. } | Micro::LoadConst { .. } => of == Threads::Kernel,
        _ => matches!(class, Class::Pure | Class::CrossLane),
    };
    if !all || !plain {
        return (false, 0);
    }
    (true, masks_written(inst))
}

impl Liveness {
    pub(crate) fn new(code: &Code, blocks: &Blocks, of: Threads) -> Liveness {
        let insts = code.instructions();
        let mut always = Set::default();
        let all = (0..blocks.count()).flat_map(|b| blocks.instructions(b));
        for inst in all.map(|&i| &insts[i]) {
            match &inst.micro {
                Micro::Shfl { .. } | Micro::Fswz { .. } => {
                    inst.reads.iter().for_each(|&(r, n)| always.add_regs(r, n));
                }
                Micro::Flow(Flow::QuadOn) if of == Threads::Stage => always = Set::ALL,
                Micro::Flow(Flow::Brx { .. }) => always = Set::ALL,
                // Neighbours' coordinates count.
                Micro::Tex(_) if of == Threads::Stage => {
                    inst.reads.iter().for_each(|&(r, n)| always.add_regs(r, n))
                }
                _ => {}
            }
        }
        let mut this = Liveness { entry: vec![always; blocks.count()], always, of };
        loop {
            let mut changed = false;
            for block in (0..blocks.count()).rev() {
                let mut live = this.at_end(code, blocks, block);
                for &i in blocks.instructions(block).iter().rev() {
                    this.before(&insts[i], &mut live);
                }
                changed |= live != this.entry[block];
                this.entry[block] = live;
            }
            if !changed {
                return this;
            }
        }
    }

    /// What is live behind a block.
    pub(crate) fn at_end(&self, code: &Code, blocks: &Blocks, block: usize) -> Set {
        // What a shader leaves in registers is its result.
        let exits = |&i: &usize| matches!(code.instructions()[i].micro, Micro::Flow(Flow::Exit(_)));
        if self.of == Threads::Stage && blocks.instructions(block).last().is_some_and(exits) {
            return Set::ALL;
        }
        let mut live = self.always;
        blocks.successors(block).for_each(|b| live.union(&self.entry[b]));
        live
    }

    /// From what is live behind an instruction to what is live before it.
    fn before(&self, inst: &Inst, live: &mut Set) {
        let (regs, masks) = kills(inst, self.of);
        if regs {
            inst.writes.iter().for_each(|&(r, n)| live.remove_regs(r, n));
        }
        live.masks &= !masks;
        inst.reads.iter().for_each(|&(r, n)| live.add_regs(r, n));
        live.masks |= masks_read(inst);
        live.union(&self.always);
    }

    /// What is live where a block begins.
    pub(crate) fn at_start(&self, block: usize) -> Set {
        self.entry[block]
    }

    /// What is live behind each instruction of a block.
    pub(crate) fn behind_each(&self, code: &Code, blocks: &Blocks, block: usize) -> Vec<Set> {
        let mut live = self.at_end(code, blocks, block);
        let mut behind = Vec::new();
        for &i in blocks.instructions(block).iter().rev() {
            behind.push(live);
            self.before(&code.instructions()[i], &mut live);
        }
        behind.reverse();
        behind
    }
}
