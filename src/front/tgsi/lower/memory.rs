//! LOAD, STORE, atomics and size queries on buffers and memories; barriers; communication in a warp.
//!
//! A buffer access is of space `b`: its bounds check is a lowering pass's. Components of a buffer that follow each
//! other are one access, so they are checked together, as in NIR. In other memory they are single words here; where
//! alignment allows it the optimiser makes them wide again.

use super::{Body, Failed, Parsed};
use crate::front::common::{graphics, lanes};
use crate::front::tgsi::ast::*;
use crate::ir::{
    self, Align, AtomOp, Cond, Inst as IrInst, MemRef, Op, Order, Scope, ShflOp, Space, Sv, Type, ValueId,
    VoteOp,
};
use crate::stage::Stage;
use arrayvec::ArrayVec;

/// What a resource operand names.
pub(super) enum Resource {
    /// Byte-addressed; the address is added to the reference.
    Bytes(MemRef),
    /// An image by number, or by a handle.
    Image { number: u16, index: Option<ValueId>, handle: Option<ValueId>, raw: bool },
}

impl Body<'_> {
    pub(super) fn memory(&mut self, inst: &Inst<'_>) -> Parsed<()> {
        match inst.op {
            Opcode::STORE => self.store(inst),
            Opcode::LOAD => self.load(inst),
            Opcode::RESQ => self.size_query(inst),
            op if op.is_atomic() => self.atomic(inst),
            _ => Err(self.no_lowering(inst, "")),
        }
    }

    /// What a resource operand names, with the ordering that the instruction asks for.
    pub(super) fn resource_operand(
        &mut self,
        inst: &Inst<'_>,
        reg: &Reg,
        swizzle: [u8; 4],
    ) -> Parsed<Resource> {
        let order = match &inst.memory {
            Some(m) if m.volatile => Order::Volatile,
            Some(m) if m.coherent => Order::Coherent,
            _ => Order::Weak,
        };
        let bytes = |space: Space| {
            let mut m = MemRef::new(space);
            m.order = order;
            m
        };
        match reg.file {
            File::Memory => {
                Ok(Resource::Bytes(self.memory_kind(self.cx.ast.memory_kind(reg.index.offset as u32), order)))
            }
            File::Buffer => {
                let (number, index) = self.resource(&reg.index)?;
                let mut m = bytes(Space::Buffer).with_buffer(number);
                m.index = index;
                Ok(Resource::Bytes(m))
            }
            File::HwAtomic => {
                // Counter buffers come after the storage buffers; counters are words.
                let after = self.cx.ast.counter_buffers();
                let dim = reg.dim.unwrap_or(Index { offset: 0, indirect: None });
                let (number, index) = self.resource(&dim)?;
                let mut m = bytes(Space::Buffer).with_buffer(number.saturating_add(after as u16));
                m.index = index;
                let (offset, dynamic) = self.index(&reg.index)?;
                m.offset = offset * 4;
                if let Some(v) = dynamic {
                    let scaled = self.b().op2(Op::Shl, Type::U32, v, 2u32);
                    m.set_base(&[scaled]);
                }
                Ok(Resource::Bytes(m))
            }
            File::Res => self.res_operand(reg, bytes(Space::Buffer)),
            File::Image => {
                let (number, index) = self.resource(&reg.index)?;
                Ok(Resource::Image { number, index, handle: None, raw: false })
            }
            File::Const | File::Temp | File::Imm | File::ConstBuf => {
                let handle = self.bits(reg, swizzle[0] as usize)?;
                let handle = Some(self.value(handle));
                Ok(Resource::Image { number: 0, index: None, handle, raw: false })
            }
            _ => Err(self.no_resource(reg)),
        }
    }

    fn no_resource(&self, reg: &Reg) -> Failed {
        self.error_at(
            reg.span,
            format!("{} is not a memory", reg.file.name()),
            "expected BUFFER, IMAGE, MEMORY, HWATOMIC or RES",
        )
    }

    fn memory_kind(&self, kind: MemoryKind, order: Order) -> MemRef {
        let abi = self.cx.req.abi;
        let mut m = MemRef::new(match kind {
            MemoryKind::Global => Space::Global,
            MemoryKind::Shared => Space::Shared,
            MemoryKind::Private => Space::Local,
            MemoryKind::Input => Space::Const,
        });
        if kind == MemoryKind::Input {
            m.buffer = abi.input_bank.into();
            m.offset = abi.input_offset.into();
            m.readonly = true;
        } else {
            m.order = order;
        }
        m.var = u16::from(kind == MemoryKind::Private && self.cx.req.sanitize.private);
        m
    }

    /// A resource of the 2011 dialect.
    fn res_operand(&mut self, reg: &Reg, buffer: MemRef) -> Parsed<Resource> {
        if let Some(kind) = Program::res_memory(&reg.index) {
            return Ok(Resource::Bytes(self.memory_kind(kind, buffer.order)));
        }
        let decl = self.cx.ast.decl(File::Res, reg.index.offset.max(0) as u32);
        let (target, raw) = match decl.map(|d| &d.kind) {
            Some(&DeclKind::Res { target, raw, .. }) => (target, raw),
            _ => {
                return Err(self.error_at(
                    reg.span,
                    format!("RES[{}] is not declared", reg.index.offset),
                    "expected a declared resource",
                ));
            }
        };
        let (number, index) = self.resource(&reg.index)?;
        if target == Target::Buffer {
            let mut m = buffer.with_buffer(number);
            m.index = index;
            return Ok(Resource::Bytes(m));
        }
        Ok(Resource::Image { number, index, handle: None, raw })
    }

    /// Adds a byte address to a reference.
    fn addressed(&mut self, mut m: MemRef, address: &Src) -> Parsed<MemRef> {
        let s = self.operand(address, 0, Ty::U32)?;
        match (s.as_imm(), m.base32()) {
            (Some(x), _) if m.space != Space::Global || m.base32().is_some() => {
                m.offset = m.offset.wrapping_add(x as i32);
            }
            (_, None) => {
                let v = self.value(s);
                m.set_base(&[v]);
            }
            (_, Some(base)) => {
                let sum = self.b().add(Type::U32, base, s);
                m.set_base(&[sum]);
            }
        }
        Ok(m.with_align(Align::multiple_of(4)))
    }

    /// The address of a counter: the operand counts words.
    fn counter(&mut self, mut m: MemRef, address: &Src) -> Parsed<MemRef> {
        let s = self.operand(address, 0, Ty::U32)?;
        match s.as_imm() {
            Some(x) => m.offset = m.offset.wrapping_add((x as i32).wrapping_mul(4)),
            None => {
                let scaled = self.b().op2(Op::Shl, Type::U32, s, 2u32);
                let base = match m.base32() {
                    Some(base) => self.b().add(Type::U32, base, scaled),
                    None => scaled,
                };
                m.set_base(&[base]);
            }
        }
        Ok(m.with_align(Align::multiple_of(4)))
    }

    fn place(&mut self, m: MemRef, reg: &Reg, address: &Src) -> Parsed<MemRef> {
        if reg.file == File::HwAtomic { self.counter(m, address) } else { self.addressed(m, address) }
    }

    fn load(&mut self, inst: &Inst<'_>) -> Parsed<()> {
        let (dst, res) = (inst.dsts[0], inst.srcs[0]);
        let m = match self.resource_operand(inst, &res.reg, res.swizzle)? {
            Resource::Bytes(m) => m,
            image => return self.image_load(inst, image),
        };
        let m = self.place(m, &res.reg, &inst.srcs[1])?;
        // The resource's swizzle chooses among the words at the address.
        let mut words: [Option<ValueId>; 4] = [None; 4];
        let mask = dst.comps().fold(0, |mask, c| mask | 1 << res.swizzle[c]);
        for (first, n) in accesses(&m, mask) {
            let values = self.b().ld(words_type(n), word(m, first));
            for (w, &v) in words[first..].iter_mut().zip(&values) {
                *w = Some(v);
            }
        }
        self.write_each(&dst, |c| words[res.swizzle[c] as usize])
    }

    fn store(&mut self, inst: &Inst<'_>) -> Parsed<()> {
        let dst = inst.dsts[0];
        let m = match self.resource_operand(inst, &dst.reg, [0, 1, 2, 3])? {
            Resource::Bytes(m) => m,
            image => return self.image_store(inst, image),
        };
        if m.space == Space::Const {
            return Err(self.error("the kernel input cannot be written", "this is a store"));
        }
        let m = self.place(m, &dst.reg, &inst.srcs[0])?;
        for (first, n) in accesses(&m, dst.mask) {
            let mut data: ArrayVec<ValueId, 4> = ArrayVec::new();
            for c in first..first + n {
                let s = self.operand(&inst.srcs[1], c, Ty::Any)?;
                data.push(self.value(s));
            }
            self.b().st(words_type(n), word(m, first), ir::Src::tuple(&data));
        }
        Ok(())
    }

    fn atomic(&mut self, inst: &Inst<'_>) -> Parsed<()> {
        let (op, ty) = atomic(inst.op);
        let res = inst.srcs[0];
        let target = self.resource_operand(inst, &res.reg, res.swizzle)?;
        let mut data = Vec::new();
        for (s, &t) in inst.srcs[2..].iter().zip(&inst.op.info().srcs[2..]) {
            let s = self.operand(s, 0, t)?;
            data.push(ir::Src::val(self.value(s)));
        }
        let old = match target {
            Resource::Bytes(m) => {
                if m.space == Space::Const {
                    return Err(self.error("the kernel input cannot be written", "this is an atomic"));
                }
                let m = self.place(m, &res.reg, &inst.srcs[1])?;
                if m.space == Space::Local {
                    self.private_atomic(op, ty, m, &data)
                } else {
                    self.b().atom(op, ty, m, &data)[0]
                }
            }
            image => self.image_atomic(inst, image, op, &data)?,
        };
        let old = self.atomic_result(old);
        self.write_each(&inst.dsts[0], |_| Some(old))
    }

    /// What an atomic gives: zero to helpers, in loops and in subroutines, which loops may call.
    fn atomic_result(&mut self, result: ValueId) -> ValueId {
        let fragment = self.cx.registers.interface.stage == Stage::Fragment;
        if !fragment || self.loops == 0 && self.binding.is_none() {
            return result;
        }
        let mut b = self.b();
        let helps = graphics::is_helper(&mut b);
        b.sel(helps, 0u32, result)
    }

    /// No other thread sees private memory, so that a load and a store are an atomic operation there.
    fn private_atomic(&mut self, op: AtomOp, ty: Type, m: MemRef, data: &[ir::Src]) -> ValueId {
        let old = self.b().ld_word(m);
        let a = data.first().copied().unwrap_or(ir::Src::imm(0));
        let new = match op {
            AtomOp::Add => self.b().add(ty, old, a),
            AtomOp::Min => self.b().op2(Op::Min, ty, old, a),
            AtomOp::Max => self.b().op2(Op::Max, ty, old, a),
            AtomOp::And => self.b().op2(Op::And, ty, old, a),
            AtomOp::Or => self.b().op2(Op::Or, ty, old, a),
            AtomOp::Xor => self.b().op2(Op::Xor, ty, old, a),
            AtomOp::Cas => {
                let same = self.b().setp(Cond::Eq, Type::U32, old, a);
                self.b().sel(same, data[1], old)
            }
            AtomOp::Inc => {
                let next = self.b().add(Type::U32, old, 1u32);
                let wraps = self.b().setp(Cond::Ge, Type::U32, old, a);
                self.b().sel(wraps, 0u32, next)
            }
            AtomOp::Dec => {
                let next = self.b().add(Type::U32, old, u32::MAX);
                let zero = self.b().setp(Cond::Eq, Type::U32, old, 0u32);
                let above = self.b().setp(Cond::Gt, Type::U32, old, a);
                let wraps = self.b().op2(Op::Or, Type::Pred, zero, above);
                self.b().sel(wraps, a, next)
            }
            _ => self.value(a),
        };
        self.b().st(Type::U32, m, new);
        old
    }

    fn size_query(&mut self, inst: &Inst<'_>) -> Parsed<()> {
        let (dst, res) = (inst.dsts[0], inst.srcs[0]);
        match self.resource_operand(inst, &res.reg, res.swizzle)? {
            Resource::Bytes(m) if m.space == Space::Buffer => {
                let size = self.b().value(IrInst::new(Op::BufSize, Type::U32).with_mem(m));
                self.write_each(&dst, |_| Some(size))
            }
            Resource::Bytes(_) => Err(self.error("this memory has no size", "expected BUFFER, IMAGE or RES")),
            image => self.image_size(inst, image),
        }
    }

    pub(super) fn sync(&mut self, inst: &Inst<'_>) -> Parsed<()> {
        /// Bits of MEMBAR's operand that concern the block alone: shared memory, thread group.
        const BLOCK_BITS: u32 = 0x18;
        const SHARED_ONLY: u32 = 0x8;
        let scope = match inst.op {
            Opcode::BARRIER => {
                lanes::barrier(&mut self.b());
                return Ok(());
            }
            Opcode::MEMBAR => match self.operand(&inst.srcs[0], 0, Ty::U32)?.as_imm() {
                Some(bits) if bits == SHARED_ONLY || bits & BLOCK_BITS & !SHARED_ONLY != 0 => Scope::Cta,
                _ => Scope::Gpu,
            },
            _ => {
                let reg = inst.srcs[0].reg;
                match self.resource_operand(inst, &reg, [0; 4])? {
                    Resource::Bytes(m) if m.space == Space::Shared => Scope::Cta,
                    _ => Scope::Gpu,
                }
            }
        };
        lanes::fence(&mut self.b(), scope);
        Ok(())
    }

    pub(super) fn lane(&mut self, inst: &Inst<'_>) -> Parsed<()> {
        let dst = inst.dsts[0];
        match inst.op {
            Opcode::CLOCK => {
                let words = [self.b().sv(Sv::ClockLo), self.b().sv(Sv::ClockHi)];
                self.write_each(&dst, |c| Some(words[c & 1]))
            }
            Opcode::BALLOT => {
                let p = self.truth(inst)?;
                let lanes = lanes::ballot(&mut self.b(), p.into());
                let none = self.b().mov(0u32);
                self.write_each(&dst, |c| Some(if c & 1 == 0 { lanes } else { none }))
            }
            Opcode::VOTE_ANY | Opcode::VOTE_ALL | Opcode::VOTE_EQ => {
                let p = self.truth(inst)?;
                let mode = match inst.op {
                    Opcode::VOTE_ANY => VoteOp::Any,
                    Opcode::VOTE_ALL => VoteOp::All,
                    _ => VoteOp::Uni,
                };
                let yes = lanes::vote(&mut self.b(), mode, p.into());
                let v = self.b().sel(yes, u32::MAX, 0u32);
                self.write_each(&dst, |_| Some(v))
            }
            _ => {
                let lane = match inst.op {
                    Opcode::READ_INVOC => {
                        let s = self.operand(&inst.srcs[1], 0, Ty::U32)?;
                        self.value(s)
                    }
                    _ => {
                        let all = self.b().op1(Op::Mov, Type::Pred, 1u32);
                        lanes::first(&mut self.b(), all.into())
                    }
                };
                let mut results = [None; 4];
                for c in dst.comps() {
                    let s = self.operand(&inst.srcs[0], c, Ty::Any)?;
                    let v = self.value(s);
                    results[c] = Some(lanes::shuffle(&mut self.b(), v.into(), ShflOp::Idx, lane.into()));
                }
                self.write_each(&dst, |c| results[c])
            }
        }
    }

    /// The first operand as a truth value: any bit is set.
    fn truth(&mut self, inst: &Inst<'_>) -> Parsed<ValueId> {
        let s = self.operand(&inst.srcs[0], 0, Ty::U32)?;
        Ok(self.b().setp(Cond::Ne, Type::U32, s, 0u32))
    }
}

/// The accesses that reach the words of a mask, as first word and number of words: those of a buffer that follow each
/// other are one access.
fn accesses(m: &MemRef, mask: u8) -> impl Iterator<Item = (usize, usize)> {
    let widest = if m.space == Space::Buffer { 4 } else { 1 };
    let mut rest = mask;
    std::iter::from_fn(move || {
        let first = rest.trailing_zeros();
        let n = rest.checked_shr(first)?.trailing_ones().min(widest);
        rest &= !(((1 << n) - 1) << first);
        Some((first as usize, n as usize))
    })
}

/// The type of an access of one to four words.
fn words_type(n: usize) -> Type {
    Type::of_words(n).unwrap_or(Type::U32)
}

/// The reference to word `n` after a place.
fn word(mut m: MemRef, n: usize) -> MemRef {
    m.offset = m.offset.wrapping_add(4 * n as i32);
    m
}

fn atomic(op: Opcode) -> (AtomOp, Type) {
    match op {
        Opcode::ATOMUADD => (AtomOp::Add, Type::U32),
        Opcode::ATOMFADD => (AtomOp::Add, Type::F32),
        Opcode::ATOMCAS => (AtomOp::Cas, Type::U32),
        Opcode::ATOMAND => (AtomOp::And, Type::U32),
        Opcode::ATOMOR => (AtomOp::Or, Type::U32),
        Opcode::ATOMXOR => (AtomOp::Xor, Type::U32),
        Opcode::ATOMUMIN => (AtomOp::Min, Type::U32),
        Opcode::ATOMUMAX => (AtomOp::Max, Type::U32),
        Opcode::ATOMIMIN => (AtomOp::Min, Type::S32),
        Opcode::ATOMIMAX => (AtomOp::Max, Type::S32),
        Opcode::ATOMINC_WRAP => (AtomOp::Inc, Type::U32),
        Opcode::ATOMDEC_WRAP => (AtomOp::Dec, Type::U32),
        _ => (AtomOp::Exch, Type::U32),
    }
}
