//! Appending instructions to a block with little ceremony.
//!
//! ```
//! use nvir::ir::{build::Builder, Function, Sv, Type};
//! let mut f = Function::new("main");
//! let entry = f.new_block();
//! let mut b = Builder::new(&mut f, entry);
//! let tid = b.sv(Sv::TidX);
//! let twice = b.add(Type::U32, tid, tid);
//! assert_eq!(f.inst_count(), 2);
//! # let _ = twice;
//! ```

use super::*;

/// A function, a place at the end of one of its blocks, and the source location of what is being
/// built.
pub struct Builder<'f> {
    pub func: &'f mut Function,
    pub block: BlockId,
    pub loc: Loc,
}

impl<'f> Builder<'f> {
    pub fn new(func: &'f mut Function, block: BlockId) -> Builder<'f> {
        Builder { func, block, loc: Loc::default() }
    }

    /// Appends an instruction as it is.
    pub fn push(&mut self, mut inst: Inst) -> InstId {
        if inst.loc == Loc::default() {
            inst.loc = self.loc;
        }
        self.func.append(self.block, inst)
    }

    /// A new general value.
    pub fn gpr(&mut self) -> ValueId {
        self.func.new_value(Class::Gpr)
    }

    /// A new predicate value.
    pub fn pred(&mut self) -> ValueId {
        self.func.new_value(Class::Pred)
    }

    /// Appends with one new destination of the type's class. For one-word types.
    pub fn value(&mut self, mut inst: Inst) -> ValueId {
        let def = Def::Inst(self.func.insts.next_key());
        let d = self.func.values.push(ValueData { class: inst.ty.class(), def });
        inst.dsts.push(d);
        if inst.loc == Loc::default() {
            inst.loc = self.loc;
        }
        self.func.ops.insert(inst.op);
        let id = self.func.insts.push(inst);
        self.func.blocks[self.block].body.push(id);
        d
    }

    /// Appends with as many new general destinations as the instruction's type has words.
    pub fn values(&mut self, mut inst: Inst) -> List<ValueId, 5> {
        if inst.ty.words() == 1 && inst.dsts.is_empty() {
            return List::from_iter([self.value(inst)]);
        }
        for _ in 0..inst.ty.words() {
            let d = self.func.new_value(inst.ty.class());
            inst.dsts.push(d);
        }
        let all = inst.dsts;
        self.push(inst);
        all
    }

    /// Appends with two new destinations, for 64-bit types.
    pub fn pair(&mut self, inst: Inst) -> [ValueId; 2] {
        let d = self.values(inst);
        [d[0], d[1]]
    }

    pub(crate) fn op1(&mut self, op: Op, ty: Type, a: impl Into<Src>) -> ValueId {
        self.value(Inst::new(op, ty).src(a))
    }

    pub fn op2(&mut self, op: Op, ty: Type, a: impl Into<Src>, b: impl Into<Src>) -> ValueId {
        self.value(Inst::new(op, ty).src(a).src(b))
    }

    pub fn op3(
        &mut self,
        op: Op,
        ty: Type,
        a: impl Into<Src>,
        b: impl Into<Src>,
        c: impl Into<Src>,
    ) -> ValueId {
        self.value(Inst::new(op, ty).src(a).src(b).src(c))
    }

    pub fn mov(&mut self, a: impl Into<Src>) -> ValueId {
        self.op1(Op::Mov, Type::U32, a)
    }

    pub fn undef(&mut self, class: Class) -> ValueId {
        self.value(Inst::new(Op::Undef, class.move_type()))
    }

    pub fn add(&mut self, ty: Type, a: impl Into<Src>, b: impl Into<Src>) -> ValueId {
        self.op2(Op::Add, ty, a, b)
    }

    pub fn mul(&mut self, ty: Type, a: impl Into<Src>, b: impl Into<Src>) -> ValueId {
        self.op2(Op::Mul, ty, a, b)
    }

    /// `c ? a : b`, c a predicate.
    pub fn sel(&mut self, c: impl Into<Src>, a: impl Into<Src>, b: impl Into<Src>) -> ValueId {
        self.op3(Op::Sel, Type::U32, a, b, c)
    }

    /// A comparison into a predicate; operands of type `sty`.
    pub fn setp(&mut self, cond: Cond, sty: Type, a: impl Into<Src>, b: impl Into<Src>) -> ValueId {
        let mut i = Inst::new(Op::Set, Type::Pred).src(a).src(b);
        i.cond = cond;
        i.sty = sty;
        self.value(i)
    }

    /// A comparison into a register: all ones for `Type::U32`, 1.0 for `Type::F32`.
    pub fn set(&mut self, ty: Type, cond: Cond, sty: Type, a: impl Into<Src>, b: impl Into<Src>) -> ValueId {
        let mut i = Inst::new(Op::Set, ty).src(a).src(b);
        i.cond = cond;
        i.sty = sty;
        self.value(i)
    }

    /// A conversion between one-word types.
    pub fn cvt(&mut self, ty: Type, sty: Type, a: impl Into<Src>) -> ValueId {
        let mut i = Inst::new(Op::Cvt, ty).src(a);
        i.sty = sty;
        self.value(i)
    }

    pub fn sv(&mut self, sv: Sv) -> ValueId {
        self.value(Inst::new(Op::Rdsv, Type::U32).with_aux(Aux::Sv(sv)))
    }

    /// Loads one word.
    pub(crate) fn ld_word(&mut self, mem: MemRef) -> ValueId {
        self.value(Inst::new(Op::Ld, Type::U32).with_mem(mem))
    }

    /// Loads `ty.words()` values.
    pub fn ld(&mut self, ty: Type, mem: MemRef) -> List<ValueId, 5> {
        self.values(Inst::new(Op::Ld, ty).with_mem(mem))
    }

    pub fn st(&mut self, ty: Type, mem: MemRef, data: impl Into<Src>) {
        self.push(Inst::new(Op::St, ty).with_mem(mem).src(data));
    }

    pub fn atom(&mut self, op: AtomOp, ty: Type, mem: MemRef, data: &[Src]) -> List<ValueId, 5> {
        let mut i = Inst::new(Op::Atom, ty).with_mem(mem).with_aux(Aux::Atom(op));
        i.srcs.extend(data.iter().copied());
        self.values(i)
    }

    /// Ends the block.
    pub fn terminate(&mut self, term: Term) {
        let b = &mut self.func.blocks[self.block];
        b.term = term;
        b.term_loc = self.loc;
    }

    pub fn jump(&mut self, to: BlockId) {
        self.terminate(Term::Jump(Edge::to(to)));
    }

    pub fn branch(&mut self, cond: ValueId, then: BlockId, els: BlockId) {
        self.terminate(Term::Branch { cond, not: false, then: Edge::to(then), els: Edge::to(els) });
    }
}
