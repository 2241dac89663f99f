//! Machine code before it has addresses: instructions in blocks, branch targets as labels.

use crate::diag::Loc;
use crate::ir::{Fact, FuncId, Space};
use crate::isa::effects::{Touched, Touches};
use crate::isa::latency::Direction;
use crate::isa::{MInst, Op, Operand};

/// A place in the code: an index into [`Code::labels`]. Until layout, [`Operand::Target`] holds
/// such an index.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Label(pub u32);

/// Why an instruction is there, if no instruction of the IR became it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Made {
    /// An instruction of the IR did.
    #[default]
    Selected,
    /// What the kernel or stage needs from its beginning, and the source does not ask for in any
    /// line.
    Setup,
    /// A register that has to be elsewhere.
    Move,
    /// A register is kept in local memory.
    Spill,
    /// It comes back from there.
    Fill,
    /// Control flow: the divergence stack, branches, joins, ends.
    Flow,
    /// What textures read has to be there.
    Wait,
    /// A routine of the library that is linked in.
    Library,
}

impl Made {
    /// In words, for people; none of what the source asks for.
    pub const fn describe(self) -> Option<&'static str> {
        match self {
            Made::Selected => None,
            Made::Setup => Some("prologue"),
            Made::Move => Some("register move"),
            Made::Spill => Some("spill to local memory"),
            Made::Fill => Some("fill from local memory"),
            Made::Flow => Some("control flow"),
            Made::Wait => Some("wait for textures"),
            Made::Library => Some("library routine"),
        }
    }
}

/// An instruction and where it comes from.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Line {
    pub inst: MInst,
    pub loc: Loc,
    /// Why it is there.
    pub made: Made,
    /// What decides about a choice that the driver makes when it uses the shader.
    pub fact: Option<Fact>,
    /// The memory that it accesses, where that is known: instructions do not say.
    pub space: Option<Space>,
    /// Bit 0 and 1: the first and second source of a choice have no other reader.
    pub once: u8,
    /// What it touches, once that is noted.
    pub touches: Touches,
}

impl Line {
    pub(crate) fn new(inst: MInst, loc: Loc) -> Line {
        Line {
            inst,
            loc,
            made: Made::Selected,
            fact: None,
            space: None,
            once: 0,
            touches: Touches::default(),
        }
    }

    /// One that no instruction of the IR became.
    pub(crate) fn made(made: Made, inst: MInst, loc: Loc) -> Line {
        Line { made, ..Line::new(inst, loc) }
    }
}

/// Straight-line code: entered at its start, left at its end (a conditional branch or exit may
/// leave in the tail).
#[derive(Clone, PartialEq, Default, Debug)]
pub(crate) struct MBlock {
    /// Instructions that a scheduler may reorder, as far as their dependences allow.
    pub body: Vec<Line>,
    /// Control flow, in its order.
    pub tail: Vec<Line>,
    /// Whether control may run on into the next block.
    pub falls: bool,
    /// Whether the branch at its end may part the lanes of a warp.
    pub parts: bool,
    /// Part of the library of helper routines.
    pub library: bool,
}

impl MBlock {
    pub(crate) fn lines(&self) -> impl DoubleEndedIterator<Item = &Line> + Clone {
        self.body.iter().chain(&self.tail)
    }
}

/// The code of a program, the kernel first.
#[derive(Clone, PartialEq, Default, Debug)]
pub(crate) struct Code {
    pub blocks: Vec<MBlock>,
    /// The block that each label stands before.
    pub labels: Vec<u32>,
    /// Whether any function but the kernel is there, or called.
    pub calls: bool,
    /// Labels that stand nowhere, of functions that are compiled separately.
    pub external: Vec<(Label, FuncId)>,
    /// What [`Line::touches`] are parts of.
    pub touched: Touched,
}

impl Code {
    /// A label that stands nowhere yet.
    pub(crate) fn new_label(&mut self) -> Label {
        self.labels.push(u32::MAX);
        Label(self.labels.len() as u32 - 1)
    }

    /// Puts a label before the next block that is pushed.
    pub(crate) fn bind(&mut self, label: Label) {
        self.labels[label.0 as usize] = self.blocks.len() as u32;
    }

    /// Notes what each instruction touches, for the passes of [`crate::sched`]: several ask.
    pub(crate) fn note_touches(&mut self) {
        self.touched.reserve(self.blocks.iter().map(|b| b.body.len() + b.tail.len()).sum());
        for block in &mut self.blocks {
            for line in block.body.iter_mut().chain(&mut block.tail) {
                line.touches = self.touched.add(&line.inst);
            }
        }
    }

    /// The block that an instruction's first operand names, if that is a label; it may be one
    /// behind the last.
    pub(crate) fn target(&self, line: &Line) -> Option<usize> {
        match line.inst.operands.first() {
            Some(&Operand::Target(label)) => self.labels.get(label as usize).map(|&b| b as usize),
            _ => None,
        }
    }

    /// The blocks where lanes may go on that leave by `.S`, BRK or CONT, ascending.
    pub(crate) fn meeting_points(&self) -> Vec<usize> {
        let pushes = |l: &&Line| matches!(l.inst.op, Op::Ssy | Op::Pbk | Op::Pcnt);
        let lines = self.blocks.iter().flat_map(|b| &b.tail).filter(pushes);
        let mut points: Vec<usize> =
            lines.filter_map(|l| self.target(l)).filter(|&b| b < self.blocks.len()).collect();
        points.sort_unstable();
        points.dedup();
        points
    }

    /// Drops instructions that do nothing: branches to what follows anyway.
    pub(crate) fn remove_idle_branches(&mut self) {
        for n in 0..self.blocks.len() {
            let block = &self.blocks[n];
            let Some(last) = block.tail.last() else { continue };
            if last.inst.op != Op::Bra || !last.inst.guard.is_true() {
                continue;
            }
            if let Some(Operand::Target(l)) = last.inst.operands.first() {
                let target = self.labels[*l as usize] as usize;
                let between_empty = target > n
                    && self.blocks[n + 1..target].iter().all(|b| b.body.is_empty() && b.tail.is_empty());
                if between_empty {
                    let block = &mut self.blocks[n];
                    block.tail.pop();
                    block.falls = true;
                }
            }
        }
    }

    /// For each block, whether control may come to it from elsewhere than the block before it.
    pub(crate) fn targets(&self) -> Vec<bool> {
        let mut targets = vec![false; self.blocks.len()];
        for line in self.blocks.iter().flat_map(MBlock::lines) {
            if let Some(&Operand::Target(label)) = line.inst.operands.first()
                && let Some(&block) = self.labels.get(label as usize)
                && let Some(t) = targets.get_mut(block as usize)
            {
                *t = true;
            }
        }
        for n in 1..targets.len() {
            targets[n] |= targets[n - 1] && self.blocks[n - 1].lines().next().is_none();
        }
        targets
    }

    /// Makes one block of those that control runs through one after the other, for the scheduler: it takes them one
    /// by one.
    pub(crate) fn join_blocks(&mut self) {
        let targets = self.targets();
        let joins = |n: usize, b: &MBlock, next: &MBlock| {
            b.tail.is_empty() && b.falls && b.library == next.library && !targets[n + 1]
        };
        let pairs = self.blocks.windows(2).enumerate();
        let joined: Vec<bool> = pairs.map(|(n, w)| joins(n, &w[0], &w[1])).collect();
        if !joined.contains(&true) {
            return;
        }
        let mut places = Vec::with_capacity(self.blocks.len() + 1);
        let mut blocks: Vec<MBlock> = Vec::with_capacity(self.blocks.len());
        for (n, block) in self.blocks.drain(..).enumerate() {
            match blocks.last_mut() {
                Some(last) if n > 0 && joined[n - 1] => {
                    last.body.extend(block.body);
                    (last.tail, last.falls, last.parts) = (block.tail, block.falls, block.parts);
                }
                _ => blocks.push(block),
            }
            places.push(blocks.len() as u32 - 1);
        }
        places.push(blocks.len() as u32);
        self.blocks = blocks;
        for label in &mut self.labels {
            *label = places.get(*label as usize).copied().unwrap_or(*label);
        }
    }

    /// Where a line of the `n`th block leads.
    pub(crate) fn direction(&self, n: usize, line: &Line) -> Direction {
        let block = match line.inst.operands.first() {
            Some(&Operand::Target(label)) => self.labels.get(label as usize),
            _ => None,
        };
        if block.is_some_and(|&b| b as usize <= n) { Direction::Back } else { Direction::On }
    }

    /// Lets the last instruction of a block carry the `.S` of a `NOP.S` after it, where the machine
    /// allows that.
    pub(crate) fn fold_syncs(&mut self, can_sync: impl Fn(&MInst) -> bool) {
        for block in &mut self.blocks {
            if block.tail.len() != 1 || !is_plain_sync(&block.tail[0].inst) {
                continue;
            }
            if let Some(last) = block.body.last_mut() {
                last.inst.sync = true;
                if can_sync(&last.inst) {
                    if let Some(l) = block.body.pop() {
                        block.tail[0] = l;
                    }
                } else {
                    last.inst.sync = false;
                }
            }
        }
    }
}

fn is_plain_sync(m: &MInst) -> bool {
    m.op == Op::Nop && m.sync && m.guard.is_true()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(ops: &[Op], tail: &[Op], falls: bool) -> MBlock {
        let lines = |ops: &[Op]| ops.iter().map(|&op| Line::new(MInst::new(op), Loc::default())).collect();
        MBlock { body: lines(ops), tail: lines(tail), falls, ..MBlock::default() }
    }

    #[test]
    fn blocks_become_one_where_control_runs_through_them_alone() {
        let mut code = Code::default();
        let target = code.new_label();
        let behind = code.new_label();
        let mut branch = block(&[Op::Iadd], &[Op::Bra], true);
        branch.tail[0].inst.operands.push(Operand::Target(target.0));
        code.blocks = vec![
            block(&[Op::Mov], &[], true),
            block(&[Op::Shl], &[], true),
            branch,
            block(&[Op::Fadd], &[], true),
            block(&[Op::Fmul], &[], true),
            block(&[], &[Op::Exit], false),
        ];
        code.labels = vec![4, 6];
        code.join_blocks();
        let ops: Vec<Vec<Op>> = code.blocks.iter().map(|b| b.lines().map(|l| l.inst.op).collect()).collect();
        let want: [&[Op]; 3] = [&[Op::Mov, Op::Shl, Op::Iadd, Op::Bra], &[Op::Fadd], &[Op::Fmul, Op::Exit]];
        assert_eq!(ops, want);
        assert_eq!(
            code.labels,
            [2, 3],
            "{target:?} stands before what it stood before, {behind:?} behind the last"
        );
        assert_eq!(code.blocks.iter().map(|b| b.falls).collect::<Vec<_>>(), [true, true, false]);
    }
}
