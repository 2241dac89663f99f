//! The basic blocks that are compiled: those that threads can reach from given places, and where they can go from each.

use super::frame::ELSEWHERE;
use nvir_emu::engine::Code;
use nvir_emu::engine::open::{Flow, Inst, Micro};

/// What waits on the divergence stack: SSY, PBK, PCNT, CAL and PRET, PLONGJMP.
const KINDS: usize = 5;
const SSY: u8 = 0;
const PBK: u8 = 1;
const PCNT: u8 = 2;
const RET: u8 = 3;
const JMP: u8 = 4;

/// Where the threads of a block can be next.
#[derive(Clone, Debug, Default)]
struct Successors {
    blocks: Vec<usize>,
    /// Kinds of entries of the stack at whose addresses, one bit each.
    kinds: u8,
}

/// Basic blocks, in the order of their addresses.
#[derive(Debug)]
pub(crate) struct Blocks {
    /// Indices of the instructions of each, without scheduling words.
    instructions: Vec<Vec<usize>>,
    /// The index of the leader of each, and of what follows its last instruction.
    bounds: Vec<(usize, usize)>,
    /// The number of the block that begins at an instruction.
    numbers: Vec<u32>,
    successors: Vec<Successors>,
    /// Blocks that entries of the divergence stack lead to.
    targets: [Vec<usize>; KINDS],
}

impl Blocks {
    /// Those that can be reached from `roots`, indices of instructions.
    pub(crate) fn new(code: &Code, roots: &[usize]) -> Blocks {
        let all = code.instructions();
        let mut numbers = vec![ELSEWHERE; all.len()];
        let mut found = Vec::new();
        let mut to_visit: Vec<usize> = roots.to_vec();
        while let Some(start) = to_visit.pop() {
            if all.get(start).is_none_or(|i| !i.leader) || numbers[start] != ELSEWHERE {
                continue;
            }
            numbers[start] = 0;
            found.push(start);
            let (instructions, end) = extent(code, start);
            for &i in &instructions {
                to_visit.extend(all[i].micro.target().and_then(|pc| code.index(pc)));
                if matches!(all[i].micro, Micro::Flow(Flow::Brx { .. })) {
                    to_visit.extend((0..all.len()).filter(|&i| all[i].leader));
                }
            }
            if !instructions.last().is_some_and(|&i| all[i].never_falls_through()) {
                to_visit.push(end);
            }
        }
        found.sort_unstable();
        found.iter().zip(0..).for_each(|(&start, n)| numbers[start] = n);
        let mut blocks = Blocks {
            instructions: Vec::new(),
            bounds: Vec::new(),
            numbers,
            successors: Vec::new(),
            targets: Default::default(),
        };
        for start in found {
            let (instructions, end) = extent(code, start);
            blocks.instructions.push(instructions);
            blocks.bounds.push((start, end));
        }
        for n in 0..blocks.count() {
            let successors = blocks.find_successors(code, n);
            blocks.successors.push(successors);
        }
        blocks.targets.iter_mut().for_each(|all| {
            all.sort_unstable();
            all.dedup();
        });
        blocks
    }

    /// The number of the block that begins at each instruction; [`ELSEWHERE`]: none.
    pub(crate) fn numbers(&self) -> &[u32] {
        &self.numbers
    }

    pub(crate) fn count(&self) -> usize {
        self.bounds.len()
    }

    /// The instructions of a block: their indices.
    pub(crate) fn instructions(&self, block: usize) -> &[usize] {
        &self.instructions[block]
    }

    /// The index of the first instruction of a block, and of what follows its last one.
    pub(crate) fn bounds(&self, block: usize) -> (usize, usize) {
        self.bounds[block]
    }

    /// The block that begins at an instruction.
    pub(crate) fn starting_at(&self, index: usize) -> Option<usize> {
        self.numbers.get(index).filter(|&&n| n != ELSEWHERE).map(|&n| n as usize)
    }

    /// The blocks that threads can be in behind a block.
    pub(crate) fn successors(&self, block: usize) -> impl Iterator<Item = usize> + '_ {
        let Successors { blocks, kinds } = &self.successors[block];
        let waiting = (0..KINDS).filter(move |k| kinds >> k & 1 != 0).flat_map(|k| &self.targets[k]);
        blocks.iter().chain(waiting).copied()
    }

    fn find_successors(&mut self, code: &Code, block: usize) -> Successors {
        let all = code.instructions();
        let mut found = Successors::default();
        let end = self.bounds[block].1;
        let Some(last) = self.instructions[block].last().map(|&i| &all[i]) else {
            found.blocks.extend(self.starting_at(end));
            return found;
        };
        if !last.never_falls_through() {
            found.blocks.extend(self.starting_at(end));
        }
        if last.sync {
            found.kinds |= 1 << SSY;
        }
        let Micro::Flow(flow) = last.micro else { return found };
        let at = |pc: u32| code.index(pc).and_then(|i| self.starting_at(i));
        let (kind, target) = match flow {
            Flow::Bra { target, .. } => {
                found.blocks.extend(at(target));
                return found;
            }
            Flow::Cal(target) => {
                found.blocks.extend(at(target));
                (RET, self.starting_at(end))
            }
            Flow::Ssy(pc) => (SSY, at(pc)),
            Flow::Pbk(pc) => (PBK, at(pc)),
            Flow::Pcnt(pc) => (PCNT, at(pc)),
            Flow::Pret(pc) => (RET, at(pc)),
            Flow::Plongjmp(pc) => (JMP, at(pc)),
            Flow::Brk(_) => return Successors { kinds: found.kinds | 1 << PBK, ..found },
            Flow::Cont(_) => return Successors { kinds: found.kinds | 1 << PCNT, ..found },
            Flow::Ret(_) => return Successors { kinds: found.kinds | 1 << RET, ..found },
            Flow::Longjmp(_) => return Successors { kinds: found.kinds | 1 << JMP, ..found },
            Flow::Brx { .. } | Flow::Exit(_) | Flow::Kil(_) | Flow::QuadOn | Flow::QuadPop => return found,
        };
        self.targets[usize::from(kind)].extend(target);
        found
    }
}

/// The instructions from a leader to the next one, which is given too.
fn extent(code: &Code, start: usize) -> (Vec<usize>, usize) {
    let all: &[Inst] = code.instructions();
    let mut instructions = Vec::new();
    let mut at = start;
    loop {
        if !matches!(all[at].micro, Micro::Sched) {
            instructions.push(at);
        }
        at = code.next(at);
        if all.get(at).is_none_or(|i| i.leader) {
            return (instructions, at);
        }
    }
}
