//! Programs, functions and blocks: the arenas, and the structure that divergence needs.

use super::inst::{Align, Edge, Inst};
use super::interface::Interface;
use super::op::OpSet;
use super::types::Class;
use super::{BlockId, FuncId, InstId, ValueId};
use crate::diag::Loc;
use crate::stage::Stage;
use cranelift_entity::{PrimaryMap, SecondaryMap};

/// What defines a value. Kept by [`Function::append`] and its siblings; the verifier compares it
/// with the code.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Def {
    Inst(InstId),
    /// Parameter of a block.
    Block(BlockId),
    /// Parameter of the function.
    Func,
    /// Not defined (yet, or any more).
    None,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ValueData {
    pub class: Class,
    pub def: Def,
}

/// How a block ends. A divergent branch is one whose condition may differ between the lanes of a
/// warp.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Term {
    Jump(Edge),
    /// To `then` where `cond` (a predicate) holds, negated if `not`.
    Branch {
        cond: ValueId,
        not: bool,
        then: Edge,
        els: Edge,
    },
    /// Return from a function that was called, with its results; from the entry: like `Exit`, with
    /// the results of its stage.
    Ret(Vec<ValueId>),
    /// The thread ends.
    Exit,
    /// Control never gets here.
    Unreachable,
}

impl Term {
    /// Calls `f` with every value read: condition, edge arguments, results.
    pub fn for_uses(&self, mut f: impl FnMut(ValueId)) {
        match self {
            Term::Jump(e) => e.args.iter().for_each(|&v| f(v)),
            Term::Branch { cond, then, els, .. } => {
                f(*cond);
                then.args.iter().chain(&els.args).for_each(|&v| f(v));
            }
            Term::Ret(values) => values.iter().for_each(|&v| f(v)),
            Term::Exit | Term::Unreachable => {}
        }
    }

    /// Replaces every value read by `f` of it; the same places as [`Term::for_uses`].
    pub fn map_uses(&mut self, mut f: impl FnMut(ValueId) -> ValueId) {
        match self {
            Term::Jump(e) => e.args.iter_mut().for_each(|v| *v = f(*v)),
            Term::Branch { cond, then, els, .. } => {
                *cond = f(*cond);
                then.args.iter_mut().chain(&mut els.args).for_each(|v| *v = f(*v));
            }
            Term::Ret(values) => values.iter_mut().for_each(|v| *v = f(*v)),
            Term::Exit | Term::Unreachable => {}
        }
    }

    pub fn edges(&self) -> impl DoubleEndedIterator<Item = &Edge> {
        let (a, b) = match self {
            Term::Jump(e) => (Some(e), None),
            Term::Branch { then, els, .. } => (Some(then), Some(els)),
            _ => (None, None),
        };
        a.into_iter().chain(b)
    }

    pub(crate) fn edges_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut Edge> {
        let (a, b) = match self {
            Term::Jump(e) => (Some(e), None),
            Term::Branch { then, els, .. } => (Some(then), Some(els)),
            _ => (None, None),
        };
        a.into_iter().chain(b)
    }

    /// Blocks that control may go to next, in order, a block twice where both edges lead there.
    pub fn successors(&self) -> impl DoubleEndedIterator<Item = BlockId> + '_ {
        self.edges().map(|e| e.to)
    }
}

/// The structure that the divergence stack is managed by. It stands on the header of the construct.
///
/// - `If { join }`: the block ends in a branch, and all lanes that leave its arms by falling out of
///   them meet in `join` (machine: SSY before, `.S` at the ends of the arms).
/// - `Loop { exit, cont }`: the block begins a loop (or a region that can be left early, if nothing
///   jumps back). An edge to `exit` from inside is a break, an edge to `cont` a continue. What
///   stands from `cont` on to the exit ends in the jump back to the header (`cont` may be the
///   header itself). Machine: PBK/BRK and PCNT/CONT.
///
/// Constructs nest: code inside one leaves it only through its join or exit, an enclosing loop's
/// `exit` or `cont`, or by ending the thread or the function. Joins and exits are dominated by
/// their header. A block that is loop header and ends in the branch of an `if` is not allowed: the
/// header jumps to the latter.
///
/// Every branch is the header of an `if`, unless it has no arms: an edge, or both, goes to the
/// exit, the continue block or the header of the innermost loop, and all who do not take it go on
/// together. What never comes back (an endless loop, an arm that ends the thread or leaves a loop,
/// a loop that is only left by ending the thread) changes nothing about that: each construct has an
/// end in the layout, which says what is inside it, whether or not control can get there. An end
/// that no edge reaches is an empty block that ends in `Unreachable`; nothing is emitted for it.
/// Where one side of an `if` comes back, its join is where that side goes on, with a single edge to
/// it. A loop whose `cont` is never reached has its header as `cont`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Merge {
    #[default]
    None,
    If {
        join: BlockId,
    },
    Loop {
        exit: BlockId,
        cont: BlockId,
    },
}

impl Merge {
    /// The blocks named, for renumbering.
    pub(crate) fn blocks_mut(&mut self) -> impl Iterator<Item = &mut BlockId> {
        let (a, b) = match self {
            Merge::None => (None, None),
            Merge::If { join } => (Some(join), None),
            Merge::Loop { exit, cont } => (Some(exit), Some(cont)),
        };
        a.into_iter().chain(b)
    }
}

/// The loops around a block, while one walks through the layout.
#[derive(Default)]
pub struct OpenLoops(Vec<[BlockId; 3]>);

impl OpenLoops {
    /// Goes on to a block: all blocks, in the order of the layout. A header is inside its own loop.
    pub fn enter(&mut self, b: BlockId, merge: Merge) {
        while self.0.last().is_some_and(|l| l[1] == b) {
            self.0.pop();
        }
        if let Merge::Loop { exit, cont } = merge {
            self.0.push([b, exit, cont]);
        }
    }

    /// Whether the block is in a loop.
    pub(crate) fn any(&self) -> bool {
        !self.0.is_empty()
    }

    /// Whether an edge to a block leaves the innermost loop or its round: a break, a continue, or
    /// the way round.
    pub(crate) fn left_by(&self, to: BlockId) -> bool {
        self.0.last().is_some_and(|l| l.contains(&to))
    }
}

/// A basic block.
#[derive(Clone, PartialEq, Debug)]
pub struct Block {
    pub params: Vec<ValueId>,
    pub body: Vec<InstId>,
    pub term: Term,
    pub term_loc: Loc,
    pub merge: Merge,
}

/// Who may call a function, and where its body is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Linkage {
    /// It is here, and all its callers are.
    #[default]
    Internal,
    /// It is here, and functions that are compiled separately may call it.
    Visible,
    /// It is compiled separately. The body is a block that ends in `Unreachable`, which stands for
    /// nothing.
    Declared,
}

/// What holds of a parameter because it holds of the argument at each call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParamFact {
    pub align: Align,
    /// The least and the largest value, unsigned.
    pub min: u32,
    pub max: u32,
    /// All lanes that a call is made with pass the same.
    pub uniform: bool,
}

/// A function: the kernel, or a subroutine.
#[derive(Clone, Debug)]
pub struct Function {
    pub name: String,
    pub linkage: Linkage,
    pub params: Vec<ValueId>,
    /// Classes of the values that `Ret` gives.
    pub results: Vec<Class>,
    /// The general register that each of them must be left in: the entry of a graphics stage. Empty
    /// where it does not matter.
    pub result_regs: Vec<u8>,
    /// The general register that each parameter comes in: a function that is called from elsewhere.
    /// Empty where it does not matter.
    pub param_regs: Vec<u8>,
    /// What holds of each parameter whoever calls, if anything does
    /// ([`functions`](crate::analysis::functions)).
    pub param_facts: Vec<ParamFact>,
    pub values: PrimaryMap<ValueId, ValueData>,
    pub insts: PrimaryMap<InstId, Inst>,
    pub blocks: PrimaryMap<BlockId, Block>,
    /// Blocks that exist, in emission order; the first is the entry, which nothing jumps to. Every
    /// block comes after its immediate dominator, and the blocks of a construct are contiguous with
    /// its join or exit after them.
    pub layout: Vec<BlockId>,
    /// Part of the library of helper routines (division and the like), counted apart in statistics.
    pub library: bool,
    /// Bytes of local memory that the function's own accesses use, from 0.
    pub local_bytes: u32,
    /// Operations that have occurred, so that passes for others need not look: none occurs that is
    /// not in it.
    pub ops: OpSet,
}

impl Function {
    pub fn new(name: impl Into<String>) -> Function {
        Function {
            name: name.into(),
            linkage: Linkage::default(),
            params: Vec::new(),
            results: Vec::new(),
            result_regs: Vec::new(),
            param_regs: Vec::new(),
            param_facts: Vec::new(),
            values: PrimaryMap::new(),
            insts: PrimaryMap::new(),
            blocks: PrimaryMap::new(),
            layout: Vec::new(),
            library: false,
            local_bytes: 0,
            ops: OpSet::default(),
        }
    }

    /// Makes room for so many more instructions, and a value of each.
    pub fn reserve(&mut self, insts: usize) {
        self.insts.reserve(insts);
        self.values.reserve(insts);
    }

    /// The places of blocks in the layout.
    pub(crate) fn positions(&self) -> SecondaryMap<BlockId, u32> {
        let mut positions = self.block_table();
        for (at, &b) in (0..).zip(&self.layout) {
            positions[b] = at;
        }
        positions
    }

    /// A table over all blocks, in its final size.
    pub(crate) fn block_table<T: Clone + Default>(&self) -> SecondaryMap<BlockId, T> {
        let mut table = SecondaryMap::with_capacity(self.blocks.len());
        table.resize(self.blocks.len());
        table
    }

    /// The entry block.
    ///
    /// # Panics
    /// If the function has no block yet.
    pub fn entry(&self) -> BlockId {
        self.layout[0]
    }

    pub fn new_value(&mut self, class: Class) -> ValueId {
        self.values.push(ValueData { class, def: Def::None })
    }

    pub fn class(&self, v: ValueId) -> Class {
        self.values[v].class
    }

    /// The instruction that defines a value, if one does.
    pub fn def_inst(&self, v: ValueId) -> Option<&Inst> {
        match self.values[v].def {
            Def::Inst(i) => Some(&self.insts[i]),
            _ => None,
        }
    }

    pub fn add_param(&mut self, class: Class) -> ValueId {
        let v = self.values.push(ValueData { class, def: Def::Func });
        self.params.push(v);
        v
    }

    /// A new block without predecessors, ending in `Unreachable`, at the end of the layout.
    pub fn new_block(&mut self) -> BlockId {
        let b = self.detached_block();
        self.layout.push(b);
        b
    }

    /// A new block that is not in the layout yet.
    pub(crate) fn detached_block(&mut self) -> BlockId {
        self.blocks.push(Block {
            params: Vec::new(),
            body: Vec::with_capacity(16),
            term: Term::Unreachable,
            term_loc: Loc::default(),
            merge: Merge::None,
        })
    }

    /// Before edges of a branch get blocks: if an edge that leaves the innermost loop does, its
    /// block is an arm, so a branch without a construct becomes the header of an `if`. The other
    /// edge, if it stays in the loop, becomes one to the join, from where it goes on; otherwise
    /// nobody reaches the join. Returns the block that ends in the branch then, and the join: the
    /// first, if it is not `b`, goes behind `b` in the layout, the second behind the arms.
    pub(crate) fn open_if(
        &mut self,
        b: BlockId,
        split: [bool; 2],
        loops: &OpenLoops,
    ) -> Option<(BlockId, BlockId)> {
        let Term::Branch { then, els, .. } = &self.blocks[b].term else { return None };
        let leaves = [then, els].map(|e| loops.left_by(e.to));
        let is_if = matches!(self.blocks[b].merge, Merge::If { .. });
        if is_if || !(0..2).any(|k| split[k] && leaves[k]) {
            return None;
        }
        let stays = leaves.iter().position(|&l| !l);
        let join = self.detached_block();
        let mut header = b;
        if self.blocks[b].merge != Merge::None {
            header = self.detached_block();
            let block = &mut self.blocks[b];
            let body = std::mem::take(&mut block.body);
            let term = std::mem::replace(&mut block.term, Term::Jump(Edge::to(header)));
            let term_loc = block.term_loc;
            let new = &mut self.blocks[header];
            (new.body, new.term, new.term_loc) = (body, term, term_loc);
        }
        let block = &mut self.blocks[header];
        block.merge = Merge::If { join };
        let term_loc = block.term_loc;
        if let Some(edge) = stays.and_then(|k| block.term.edges_mut().nth(k)) {
            let onward = std::mem::replace(edge, Edge::to(join));
            self.blocks[join].term = Term::Jump(onward);
            self.blocks[join].term_loc = term_loc;
        }
        Some((header, join))
    }

    pub fn add_block_param(&mut self, b: BlockId, class: Class) -> ValueId {
        let v = self.values.push(ValueData { class, def: Def::Block(b) });
        self.blocks[b].params.push(v);
        v
    }

    /// Puts an instruction into the arena and makes it the definition of its destinations; it
    /// stands in no block yet.
    pub fn make(&mut self, inst: Inst) -> InstId {
        let id = self.insts.next_key();
        let values = &mut self.values;
        inst.for_defs(|v| values[v].def = Def::Inst(id));
        self.ops.insert(inst.op);
        self.insts.push(inst)
    }

    /// Appends an instruction to a block.
    pub fn append(&mut self, b: BlockId, inst: Inst) -> InstId {
        let id = self.make(inst);
        self.blocks[b].body.push(id);
        id
    }

    /// Exchanges an instruction in place; destinations that it keeps stay defined by it.
    pub fn replace(&mut self, id: InstId, inst: Inst) {
        let values = &mut self.values;
        self.insts[id].for_defs(|v| values[v].def = Def::None);
        inst.for_defs(|v| values[v].def = Def::Inst(id));
        self.ops.insert(inst.op);
        self.insts[id] = inst;
    }

    /// Instructions in layout order.
    pub fn insts_in_order(&self) -> impl Iterator<Item = (BlockId, InstId)> + '_ {
        self.layout.iter().flat_map(|&b| self.blocks[b].body.iter().map(move |&i| (b, i)))
    }

    /// Instructions in all blocks, terminators not counted.
    pub fn inst_count(&self) -> usize {
        self.layout.iter().map(|&b| self.blocks[b].body.len()).sum()
    }
}

/// A variable in shared or private memory: what accesses that name it
/// ([`MemRef::var`](super::MemRef::var)) may touch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Extent {
    pub space: super::Space,
    /// Of the first byte.
    pub start: u32,
    pub bytes: u32,
}

/// A kernel with its subroutines, and what a launch must provide.
#[derive(Clone, Debug)]
pub struct Program {
    pub funcs: PrimaryMap<FuncId, Function>,
    /// The kernel.
    pub entry: FuncId,
    /// Threads of a block in x, y and z, where declared; 0 in a dimension that is left to the
    /// launch.
    pub block_size: Option<[u32; 3]>,
    /// Blocks are launched as whole warps in one dimension
    /// ([`driver::whole_warps`](crate::driver::whole_warps)), and the code knows: what lowering
    /// makes of [`Op::WholeWarp`](super::Op::WholeWarp).
    pub whole_warps: bool,
    /// Bytes of shared memory that the kernel declares.
    pub shared_bytes: u32,
    /// Bytes of kernel input (0: none, or not known).
    pub input_bytes: u32,
    /// Bytes of a thread's private memory that the program addresses itself, from 0; indirectly
    /// addressed registers and spills lie above it.
    pub private_bytes: u32,
    /// What a graphics stage takes and gives; compute kernels have none.
    pub interface: Option<Box<Interface>>,
    /// Variables, where their memory is sanitized.
    pub extents: Vec<Extent>,
    /// Bytes of the shared memory that keep variables apart: they are moved with it to where there
    /// is no limit.
    pub red_zone_bytes: u32,
    /// Pointers to shared memory come from outside: a launch adds variables to those that are
    /// declared.
    pub shared_pointers: bool,
}

impl Program {
    /// What stage of the pipeline it is for.
    pub fn stage(&self) -> Stage {
        self.interface.as_ref().map_or(Stage::Compute, |i| i.stage)
    }

    /// Whether the entry is a kernel: a text that is compiled separately may consist of functions
    /// only.
    pub(crate) fn has_kernel(&self) -> bool {
        self.funcs[self.entry].linkage == Linkage::Internal
    }

    /// The size of every block, where each of its dimensions is declared.
    pub(crate) fn whole_block(&self) -> Option<[u32; 3]> {
        self.block_size.filter(|size| !size.contains(&0))
    }

    /// The size of blocks as the machine is told, where it is known: what special registers count
    /// in.
    pub(crate) fn launched_block(&self) -> Option<[u32; 3]> {
        self.whole_block().map(|size| if self.whole_warps { crate::driver::whole_warps(size) } else { size })
    }

    /// A program of one function, which is its entry.
    pub fn new(entry: Function) -> Program {
        let mut funcs = PrimaryMap::new();
        let entry = funcs.push(entry);
        Program {
            funcs,
            entry,
            block_size: None,
            whole_warps: false,
            shared_bytes: 0,
            input_bytes: 0,
            private_bytes: 0,
            interface: None,
            extents: Vec::new(),
            red_zone_bytes: 0,
            shared_pointers: false,
        }
    }
}
