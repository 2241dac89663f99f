//! Functions with registers assigned, as machine code.

pub(crate) mod code;
mod flow;
mod predicated_update;
mod rotate_loops;

use crate::analysis::divergence::UniformBranches;
use crate::chip::Chip;
use crate::emit::code::{Code, Label, Line, Made};
use crate::ir::{
    Aux, BlockId, FuncId, Function, Inst, InstId, Linkage, Loc, Program, SrcKind, SrcMods, Stage, Term, Type,
    ValueId,
};
use crate::isa::{self, MInst, Mod, Op, Operand, Pred, Reg};
use crate::ra::{Allocation, Move, Phys, ProgramAllocation};
use crate::select::{select, special_register};
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntitySet, SecondaryMap};
use flow::Body;
use std::cell::RefCell;

/// An instruction that nothing can be selected for, though legalisation should have seen to it.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[error("`{func}`: {why}: {inst}")]
pub(crate) struct EmitError {
    pub func: String,
    pub inst: String,
    pub why: String,
    pub loc: Loc,
}

/// Emits a function, and those that it calls and nobody else may call, directly or through others,
/// in the order of first calls. Others are called by labels that stand nowhere: [`Code::external`].
/// Functions without an entry in `uniform` have divergent branches only.
pub(crate) fn emit_function(
    chip: Chip,
    program: &Program,
    root: FuncId,
    alloc: &ProgramAllocation,
    uniform: &UniformBranches,
    rotate_loops: bool,
) -> Result<Code, EmitError> {
    let mut code = Code::default();
    let mut starts: SecondaryMap<FuncId, Option<Label>> = SecondaryMap::new();
    let mut order = vec![root];
    let root_label = code.new_label();
    if program.funcs[root].linkage == Linkage::Internal {
        starts[root] = Some(root_label);
    }
    let mut k = 0;
    while k < order.len() {
        let f = &program.funcs[order[k]];
        for (_, i) in f.insts_in_order() {
            if let Some(c) = f.insts[i].call()
                && starts[c.func].is_none()
            {
                let label = code.new_label();
                starts[c.func] = Some(label);
                if program.funcs[c.func].linkage == Linkage::Internal {
                    order.push(c.func);
                } else {
                    code.external.push((label, c.func));
                }
            }
        }
        k += 1;
    }
    for &id in &order {
        let f = &program.funcs[id];
        let emitter = Emitter {
            chip,
            stage: program.stage(),
            f,
            alloc: &alloc.funcs[id],
            uniform: uniform[id].as_ref(),
            starts: &starts,
            once: once(f),
            error: RefCell::new(None),
        };
        let start = if id == root { root_label } else { starts[id].unwrap_or(root_label) };
        flow::emit(f, &emitter, id == program.entry && program.has_kernel(), start, &mut code);
        if let Some(e) = emitter.error.into_inner() {
            return Err(e);
        }
    }
    code.calls =
        order.len() > 1 || !code.external.is_empty() || !program.has_kernel() || root != program.entry;
    code.remove_idle_branches();
    if rotate_loops {
        rotate_loops::run(&mut code);
    }
    predicated_update::run(&mut code);
    code.fold_syncs(|m| can_sync(chip, m));
    Ok(code)
}

/// Whether an instruction may carry `.S`. Compilers never put it on what is predicated, goes
/// through the texture unit, moves several registers, or transfers control itself.
fn can_sync(chip: Chip, m: &MInst) -> bool {
    use isa::row::Unit;
    let plain = matches!(
        isa::latency::unit(m.op),
        Unit::Alu | Unit::Compare | Unit::Sfu | Unit::Shared | Unit::Memory
    );
    let wide = m.mods.iter().any(|k| matches!(k, Mod::B64 | Mod::B128 | Mod::U64 | Mod::S64 | Mod::F64));
    let surface =
        matches!(m.op, Op::Suld | Op::Sust | Op::Suldga | Op::Sustga | Op::Sured | Op::Membar | Op::Cctl);
    plain && !wide && !surface && m.guard.is_true() && isa::fits(chip, m).is_ok()
}

/// The values that are read once, in the block in which they are made, if there are choices. What
/// comes from outside a loop is read in each round, and moved about in between.
fn once(f: &Function) -> SecondaryMap<ValueId, bool> {
    let mut once = SecondaryMap::new();
    if !f.ops.contains(crate::ir::Op::Sel) {
        return once;
    }
    /// Where a value is made, and whether it has been read there.
    #[derive(Clone, Copy, Default)]
    struct Made {
        home: PackedOption<BlockId>,
        read: bool,
    }
    let mut made: SecondaryMap<ValueId, Made> = SecondaryMap::new();
    made.resize(f.values.len());
    once.resize(f.values.len());
    for &b in &f.layout {
        let home = PackedOption::from(b);
        let mut read = |made: &mut SecondaryMap<ValueId, Made>, v: ValueId| {
            once[v] = made[v].home == home && !made[v].read;
            made[v].read = true;
        };
        for &i in &f.blocks[b].body {
            let inst = &f.insts[i];
            inst.for_uses(|v| read(&mut made, v));
            inst.dsts.iter().for_each(|&d| made[d].home = home);
        }
        f.blocks[b].term.for_uses(|v| read(&mut made, v));
    }
    once
}

struct Emitter<'a> {
    chip: Chip,
    stage: Stage,
    f: &'a Function,
    alloc: &'a Allocation,
    uniform: Option<&'a EntitySet<BlockId>>,
    starts: &'a SecondaryMap<FuncId, Option<Label>>,
    /// Values with one reader, in functions with choices.
    once: SecondaryMap<ValueId, bool>,
    /// The first instruction that could not be selected.
    error: RefCell<Option<EmitError>>,
}

fn number(p: Phys) -> u8 {
    match p {
        Phys::Gpr(n) | Phys::Pred(n) => n,
        Phys::Carry => 0,
    }
}

impl Body for Emitter<'_> {
    fn is_empty(&self, b: BlockId) -> bool {
        self.alloc.block_start(b).is_empty()
            && self.alloc.block_end(b).is_empty()
            && self.f.blocks[b].body.iter().all(|&i| {
                self.alloc.before(i).is_empty() && self.alloc.after(i).is_empty() && self.is_nothing(i)
            })
    }

    fn is_divergent(&self, b: BlockId) -> bool {
        !self.uniform.is_some_and(|u| u.contains(b))
    }

    fn condition(&self, b: BlockId) -> u8 {
        match &self.f.blocks[b].term {
            Term::Branch { cond, .. } => self.alloc.term_reg(b, *cond).map_or(7, number),
            _ => 7,
        }
    }

    fn emit(&self, b: BlockId, out: &mut Vec<Line>) {
        let block = &self.f.blocks[b];
        out.reserve(block.body.len() * 5 / 4);
        let setup = b == self.f.entry();
        self.moves(
            self.alloc.block_start(b),
            block.body.first().map_or(block.term_loc, |&i| self.f.insts[i].loc),
            out,
        );
        for &i in &block.body {
            let inst = &self.f.insts[i];
            self.moves(self.alloc.before(i), inst.loc, out);
            if !self.is_nothing(i) {
                self.inst(i, inst, setup, out);
            }
            self.moves(self.alloc.after(i), inst.loc, out);
        }
        self.moves(self.alloc.block_end(b), block.term_loc, out);
    }
}

impl Emitter<'_> {
    fn reg(&self, i: InstId, v: ValueId) -> u8 {
        // A value without a register is a destination that nobody reads.
        self.alloc
            .reg(i, v)
            .map_or_else(|| if self.f.class(v) == crate::ir::Class::Pred { 7 } else { Reg::Z.0 }, number)
    }

    /// `undef`, and a `mov` of a register to itself.
    fn is_nothing(&self, id: InstId) -> bool {
        let i = &self.f.insts[id];
        match i.op {
            crate::ir::Op::Undef => true,
            // The lanes of a patch are in one warp.
            crate::ir::Op::Bar => self.stage == Stage::TessControl,
            crate::ir::Op::Mov if i.guard.is_none() && i.srcs[0].mods == SrcMods::default() => {
                matches!(i.srcs[0].kind, SrcKind::Val(v) if self.reg(id, v) == self.reg(id, i.dsts[0]))
            }
            _ => false,
        }
    }

    /// Emits an instruction; `setup` where it stands in the kernel's first block.
    fn inst(&self, id: InstId, inst: &Inst, setup: bool, out: &mut Vec<Line>) {
        if let Some(call) = inst.call() {
            let label = self.starts[call.func].map_or(u32::MAX, |l| l.0);
            out.push(Line::new(MInst::new(Op::Cal).arg(Operand::Target(label)), inst.loc));
            return;
        }
        let m = select(self.chip, self.f, inst, &|v| self.reg(id, v));
        // Whether the operands fit is checked where the word is made.
        match m {
            Ok(m) => {
                let fact = if let Aux::Fact(fact) = inst.aux { Some(fact) } else { None };
                // No store meets what nothing writes.
                let space =
                    inst.mem.as_ref().map(|m| if m.readonly { crate::ir::Space::Const } else { m.space });
                let made = match () {
                    () if self.f.library => Made::Library,
                    () if setup && inst.loc.0.is_none() => Made::Setup,
                    () => Made::Selected,
                };
                let once = self.read_once(inst);
                out.push(Line { fact, space, once, ..Line::made(made, m, inst.loc) });
            }
            Err(why) => {
                let mut error = self.error.borrow_mut();
                error.get_or_insert_with(|| EmitError {
                    func: self.f.name.clone(),
                    inst: format!("{inst:?}"),
                    why: why.to_string(),
                    loc: inst.loc,
                });
            }
        }
    }

    /// Which sources of a choice nobody else reads.
    fn read_once(&self, inst: &Inst) -> u8 {
        if inst.op != crate::ir::Op::Sel {
            return 0;
        }
        let once = |n: usize| inst.srcs[n].as_val().is_some_and(|v| self.once[v]);
        u8::from(once(0)) | u8::from(once(1)) << 1
    }

    fn moves(&self, moves: &[Move], loc: Loc, out: &mut Vec<Line>) {
        for &m in moves {
            let made = match m {
                Move::Load { .. } => Made::Fill,
                Move::Store { .. } => Made::Spill,
                _ => Made::Move,
            };
            each_move(m, &mut |inst| out.push(Line::made(made, inst, loc)));
        }
    }
}

/// The machine instructions of a move.
fn each_move(m: Move, out: &mut dyn FnMut(MInst)) {
    let pt = Operand::Pred(Pred::T);
    let psetp = |op: Mod, d: u8, a: Operand, b: Operand| {
        MInst::new(Op::Psetp).with(op).with(Mod::And).arg(Operand::pred(d)).arg(pt).arg(a).arg(b).arg(pt)
    };
    let xor = |d: u8, a: u8, b: u8| MInst::new(Op::Lop).with(Mod::Xor).r(Reg(d)).r(Reg(a)).r(Reg(b));
    let width = |words: u8| {
        Type::of_words(words.into()).and_then(|t| match t {
            Type::U64 => Some(Mod::B64),
            Type::B128 => Some(Mod::B128),
            _ => None,
        })
    };
    let local = |offset: u32| Operand::Mem { base: Reg::Z, offset: offset as i32 };
    match m {
        Move::Copy { dst: Phys::Pred(d), src: Phys::Pred(s) } => {
            out(psetp(Mod::And, d, pt, Operand::pred(s)))
        }
        Move::Copy { dst, src } => out(MInst::new(Op::Mov).r(Reg(number(dst))).r(Reg(number(src)))),
        Move::Swap(Phys::Pred(a), Phys::Pred(b)) => {
            for (d, x, y) in [(a, a, b), (b, a, b), (a, a, b)] {
                out(psetp(Mod::Xor, d, Operand::pred(x), Operand::pred(y)));
            }
        }
        Move::Swap(a, b) => {
            let (a, b) = (number(a), number(b));
            for (d, x, y) in [(a, a, b), (b, a, b), (a, a, b)] {
                out(xor(d, x, y));
            }
        }
        Move::Load { dst, words, offset } => {
            let m = width(words).into_iter().fold(MInst::new(Op::Ldl), MInst::with);
            out(m.r(Reg(dst)).arg(local(offset)));
        }
        Move::Store { src, words, offset } => {
            let m = width(words).into_iter().fold(MInst::new(Op::Stl), MInst::with);
            out(m.arg(local(offset)).r(Reg(src)));
        }
        Move::Imm { dst, bits: 0 } => out(MInst::new(Op::Mov).r(Reg(dst)).r(Reg::Z)),
        Move::Imm { dst, bits } => out(MInst::new(Op::Mov32i).r(Reg(dst)).arg(Operand::imm(bits))),
        Move::Cbuf { dst, bank, offset } => {
            out(MInst::new(Op::Mov).r(Reg(dst)).arg(Operand::cbuf(bank, offset.into())));
        }
        Move::Sreg { dst, sv } => {
            let n = special_register(sv).unwrap_or(0);
            out(MInst::new(Op::S2r).r(Reg(dst)).arg(Operand::Sreg(n)));
        }
    }
}
