//! The cost model: an estimate of the cycles that IR will take as machine code, by the table of
//! latencies.
//!
//! A scheduler of the chip has several warps to choose from. What one of them waits for, the others
//! can use, so code of which a warp issues `n` instructions and waits `t` cycles for results costs
//! `max(n, t / warps)`, and operations that share a port cost its interval each. Waiting is the
//! longest chain of results, from the first value to the last, and what the ends of blocks drain.
//!
//! An operation counts as the instruction that it most likely becomes. That is rough, and good
//! enough to say whether branches and counters are much of a loop's time.

use crate::analysis::alias::spaces_meet;
use crate::chip::Chip;
use crate::ir::*;
use crate::isa;
use crate::isa::latency::{self, DRAIN, ROW_INTERVAL, Row};
use arrayvec::ArrayVec;
use cranelift_entity::SecondaryMap;

/// Instructions that the nearest cache holds. NVIDIA names no size, and none was measured on these
/// chips for this; 8 KB is on the safe side. What is longer goes on from the next cache, which a
/// developer of NVIDIA's forum saw cost a loop on Kepler 3 %.
pub(super) const CACHE: u32 = 8 * 1024 / 8;

/// Registers for what lives inside of a block only, beside those that live into it.
pub(crate) const BETWEEN: u32 = 8;

/// Instructions of a branch that may part lanes, beside those of its sides.
pub(super) const BRANCH: u32 = 2;

/// How many values live into the blocks of a function, about: from its definition each is alive up
/// to its last reader in the layout, and to the end of the loops that it is defined before and read
/// in.
pub(super) struct Alive(SecondaryMap<BlockId, u32>);

impl Alive {
    pub(super) fn new(f: &Function) -> Alive {
        let position = f.positions();
        // Where values are defined, and the last place where they are alive.
        let mut lives: SecondaryMap<ValueId, (u32, u32)> = SecondaryMap::with_capacity(f.values.len());
        lives.resize(f.values.len());
        // Headers and ends of the loops around a block.
        let mut loops: Vec<(u32, u32)> = Vec::new();
        for (at, &b) in (0..).zip(&f.layout) {
            while loops.pop_if(|l| l.1 <= at).is_some() {}
            let block = &f.blocks[b];
            if let Merge::Loop { exit, .. } = block.merge {
                loops.push((at, position[exit]));
            }
            let define = |v: ValueId, lives: &mut SecondaryMap<ValueId, (u32, u32)>| lives[v] = (at, at);
            let read = |v: ValueId, lives: &mut SecondaryMap<ValueId, (u32, u32)>| {
                let (from, to) = &mut lives[v];
                let outermost = loops.partition_point(|l| l.0 <= *from);
                *to = (*to).max(loops.get(outermost).map_or(at, |l| l.1.saturating_sub(1)));
            };
            block.params.iter().for_each(|&p| define(p, &mut lives));
            for &i in &block.body {
                f.insts[i].for_uses(|v| read(v, &mut lives));
                f.insts[i].for_defs(|v| define(v, &mut lives));
            }
            block.term.for_uses(|v| read(v, &mut lives));
        }
        let mut changes = vec![0i32; f.layout.len() + 2];
        for &(from, to) in lives.values().filter(|l| l.0 < l.1) {
            changes[from as usize + 1] += 1;
            changes[to as usize + 1] -= 1;
        }
        let mut alive = 0;
        let mut counts: SecondaryMap<BlockId, u32> = f.block_table();
        for (&b, change) in f.layout.iter().zip(changes) {
            alive += change;
            counts[b] = alive.unsigned_abs();
        }
        Alive(counts)
    }

    /// Values that live into a block.
    pub(super) fn at(&self, b: BlockId) -> u32 {
        self.0[b]
    }
}

/// Warps that a scheduler has to choose from, in functions with so many values alive.
pub(crate) fn warps_of_scheduler(chip: Chip, alive: u32, most: u32) -> u32 {
    (chip.resident_warps(alive.clamp(1, chip.gprs())).min(most) / chip.schedulers()).max(1)
}

/// What a piece of code costs.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Cost {
    /// Instructions issued.
    pub instructions: u32,
    rows: [u32; Row::COUNT + 1],
    /// The cycle in which the last result is there, if nobody else runs.
    pub waits: u32,
}

impl Cost {
    /// Cycles that issuing takes.
    pub(super) fn issue(&self) -> u32 {
        let ports = self.rows[..Row::COUNT].iter().max().map_or(0, |n| n * ROW_INTERVAL);
        self.instructions.max(ports)
    }

    /// Cycles of the scheduler's time, if it has so many warps.
    pub(super) fn cycles(&self, warps: u32) -> u32 {
        self.issue().max(self.waits / warps.max(1))
    }
}

/// Walks through code as a warp that runs alone and issues whatever is ready.
#[derive(Default)]
pub(crate) struct Walk {
    /// When values are there; at once where nothing is said.
    ready: SecondaryMap<ValueId, u32>,
    /// Values of which something is said.
    said: Vec<ValueId>,
    /// When a space was written last.
    written: [u32; Space::ALL.len()],
    /// What follows a branch does not begin before it.
    from: u32,
    pub cost: Cost,
}

impl Walk {
    /// With a table of all values of a function, for walks through much of it.
    pub(super) fn of_function(f: &Function) -> Walk {
        let mut walk = Walk::default();
        walk.ready.resize(f.values.len());
        walk
    }

    /// Goes back to the beginning, in the same tables: a walk takes as long as what it goes through.
    pub(super) fn restart(&mut self) {
        self.said.drain(..).for_each(|v| self.ready[v] = 0);
        *self = Walk {
            ready: std::mem::take(&mut self.ready),
            said: std::mem::take(&mut self.said),
            ..Walk::default()
        };
    }

    /// When a value is there.
    pub(super) fn ready(&self, v: ValueId) -> u32 {
        self.at(v).max(self.from)
    }

    fn at(&self, v: ValueId) -> u32 {
        self.ready[v]
    }

    /// Says when a value is there.
    pub(crate) fn set_ready(&mut self, v: ValueId, at: u32) {
        let ready = &mut self.ready[v];
        if *ready == 0 && at > 0 {
            self.said.push(v);
        }
        *ready = at;
    }

    /// How many instructions an operation most likely becomes.
    pub(super) fn length(inst: &Inst) -> u32 {
        machine(inst).1
    }

    /// What an instruction gives is there with its operands: it is part of who reads it.
    pub(super) fn skip(&mut self, inst: &Inst) {
        let mut start = self.from;
        inst.for_uses(|v| start = start.max(self.at(v)));
        inst.for_defs(|v| self.set_ready(v, start));
    }

    /// Gives a block's parameters what an edge brings.
    pub(super) fn pass(&mut self, params: &[ValueId], args: &[ValueId]) {
        let times: ArrayVec<u32, 8> = args.iter().take(8).map(|&a| self.ready(a)).collect();
        let more: Vec<u32> = args.iter().skip(8).map(|&a| self.ready(a)).collect();
        for (&p, at) in params.iter().zip(times.into_iter().chain(more)) {
            self.set_ready(p, at);
        }
    }

    /// Executes an instruction.
    pub(super) fn execute(&mut self, inst: &Inst) {
        let (op, count) = machine(inst);
        if count == 0 {
            return self.skip(inst);
        }
        let mut start = self.from;
        inst.for_uses(|v| start = start.max(self.at(v)));
        if let Some(m) = &inst.mem {
            let meets = Space::ALL.iter().filter(|&&s| spaces_meet(s, m.space));
            start = meets.fold(start, |at, &s| at.max(self.written[s as usize]));
            if inst.op.is(op::EFFECT) {
                self.written[m.space as usize] = start + 1;
            }
        } else if inst.op == Op::Bar {
            self.written = [start + 1; Space::ALL.len()];
        }
        let mut gives = false;
        inst.for_defs(|_| gives = true);
        let end = start + if gives { latency::typical(op) } else { 1 } + (count - 1) * ROW_INTERVAL / 2;
        inst.for_defs(|v| self.set_ready(v, end));
        self.cost.instructions += count;
        self.cost.rows[latency::row(op) as usize] += count;
        self.cost.waits = self.cost.waits.max(end);
    }

    /// Executes so many instructions of a branch on a condition, or of a jump.
    pub(super) fn branch(&mut self, condition: Option<ValueId>, instructions: u32) {
        let decided = condition.map_or(self.from, |c| self.ready(c));
        self.from = self.from.max(decided) + DRAIN;
        self.cost.instructions += instructions;
        self.cost.waits = self.cost.waits.max(self.from);
    }
}

/// The instruction that an operation most likely becomes, and how many of it.
fn machine(inst: &Inst) -> (isa::Op, u32) {
    use isa::Op as M;
    let float = inst.ty.is_float();
    let double = inst.ty == Type::F64;
    // A pair of words takes an instruction each, and its products four; double precision has half
    // the rate or less.
    let words = inst.ty.words().max(1) as u32;
    let products = if double { words } else { words * words };
    let pick = |of_f64: M, of_f32: M, of_int: M| match (double, float) {
        (true, _) => of_f64,
        (_, true) => of_f32,
        _ => of_int,
    };
    match inst.op {
        // No instruction, or the operand of one.
        Op::Undef | Op::Mov | Op::Neg | Op::Abs => (M::Mov, 0),
        Op::Mul | Op::MulZ => (pick(M::Dmul, M::Fmul, M::Imul), products),
        Op::MulHi => (M::Imul, products),
        Op::Mad | Op::MadHi => (pick(M::Dfma, M::Ffma, M::Imad), products),
        Op::Add | Op::Sub => (pick(M::Dadd, M::Fadd, M::Iadd), words),
        Op::Min | Op::Max => (pick(M::Dmnmx, M::Fmnmx, M::Imnmx), words),
        Op::Shl | Op::Shr | Op::Ext | Op::Ins | Op::ShlAdd | Op::ShfL | Op::ShfR => (M::Shl, words),
        Op::Popc | Op::Flo => (M::Popc, words),
        Op::Cvt => (M::F2f, 1),
        Op::Rcp | Op::Rsq | Op::Sin | Op::Cos | Op::Ex2 | Op::Lg2 => (M::Mufu, if double { 8 } else { 1 }),
        Op::Div | Op::Mod | Op::Sqrt => (M::Imad, 16 * words),
        Op::Set => (pick(M::Dsetp, M::Fsetp, M::Isetp), words),
        Op::Tex => (M::Tex, 1),
        Op::Ld => match inst.mem.map_or(Space::Const, |m| m.space) {
            Space::Const | Space::Uniform => {
                let fixed = inst.mem.is_some_and(|m| m.index.is_none() && m.base().is_empty());
                (M::Ldc, u32::from(!fixed))
            }
            Space::Shared => (M::Lds, 1),
            Space::Local => (M::Ldl, 1),
            Space::Buffer => (M::Ld, 3),
            Space::Input | Space::PatchInput => (M::Ald, 1),
            _ => (M::Ld, 1),
        },
        Op::St => match inst.mem.map_or(Space::Global, |m| m.space) {
            Space::Shared => (M::Sts, 1),
            Space::Local => (M::Stl, 1),
            Space::Buffer => (M::St, 3),
            _ => (M::St, 1),
        },
        Op::Atom => (M::Atom, 2),
        Op::Bar => (M::Bar, 1),
        _ => (M::Iadd, words),
    }
}
