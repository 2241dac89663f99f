//! Loads, stores and atomics.

use super::{Decoder, Res};
use crate::code::micro::{Addr, AtomOp, AtomTy, Micro, Space, Width};
use crate::state::lanes::Src;
use nvir_isa::{Mod, Op, Operand, Reg};

impl Decoder<'_> {
    pub(super) fn width(&self) -> Res<Width> {
        let table = [
            (Mod::U8, Width::U8),
            (Mod::S8, Width::S8),
            (Mod::U16, Width::U16),
            (Mod::S16, Width::S16),
            (Mod::B64, Width::B64),
            (Mod::B96, Width::B96),
            (Mod::B128, Width::B128),
            (Mod::U128, Width::B128),
        ];
        if self.named("U.128") || self.named("128") {
            return Ok(Width::B128);
        }
        Ok(table.iter().find(|(m, _)| self.has(*m)).map_or(Width::B32, |w| w.1))
    }

    /// `[base + offset]`; `.E` makes the base a pair.
    fn addr(&mut self, wide: bool) -> Res<Addr> {
        let Operand::Mem { base, offset } = self.take()? else { return Err("an address was expected") };
        let offset = offset.into();
        let coherent =
            matches!(self.m.op, Op::Ld | Op::St) && [Mod::Cg, Mod::Cv, Mod::Wt].iter().any(|&m| self.has(m));
        if base == Reg::Z {
            return Ok(Addr { base: Src::ZERO, base_hi: None, offset, coherent });
        }
        if !wide {
            return Ok(Addr { base: self.reg_src(base)?, base_hi: None, offset, coherent });
        }
        if base.0 % 2 != 0 {
            return Err("a 64-bit address is in an odd register");
        }
        self.read_regs(base, 2)?;
        let base_hi = Some(Src::row(u16::from(base.0) + 1));
        Ok(Addr { base: Src::row(base.0.into()), base_hi, offset, coherent })
    }

    /// The alignment of a vector's first register.
    fn aligned(reg: u8, n: u32) -> Res<u8> {
        let align = n.next_power_of_two().min(4) as u8;
        if reg != 255 && !reg.is_multiple_of(align) {
            Err("a register vector is not aligned")
        } else {
            Ok(reg)
        }
    }

    pub(super) fn vector_dst(&mut self, width: Width) -> Res<u8> {
        Self::aligned(self.dst_n(width.regs())?, width.regs())
    }

    pub(super) fn vector_src(&mut self, width: Width) -> Res<u8> {
        Self::aligned(self.src_regs(width.regs())?, width.regs())
    }

    pub(super) fn memory(&mut self) -> Res<Micro> {
        let wide = self.has(Mod::E);
        let width = self.width()?;
        let space = match self.m.op {
            Op::Ldl | Op::Stl => Space::Local,
            Op::Lds | Op::Sts => Space::Shared,
            _ => Space::Generic,
        };
        match self.m.op {
            Op::Ld | Op::Ldu | Op::Ldl | Op::Lds | Op::Ldg => {
                let dst = self.vector_dst(width)?;
                Ok(Micro::Load { space, width, dst, addr: self.addr(wide)? })
            }
            Op::St | Op::Stl | Op::Sts => {
                let addr = self.addr(wide)?;
                Ok(Micro::Store { space, width, src: self.vector_src(width)?, addr })
            }
            Op::Ldslk => {
                let pdst = self.pdst()?;
                let dst = self.vector_dst(width)?;
                Ok(Micro::LoadLock { width, dst, pdst, addr: self.addr(false)? })
            }
            Op::Stscul | Op::Stsul => {
                let cond = self.m.op == Op::Stscul;
                let pdst = if cond { self.pdst()? } else { 7 };
                let addr = self.addr(false)?;
                Ok(Micro::StoreUnlock { width, src: self.vector_src(width)?, pdst, addr, cond })
            }
            Op::Ldc => {
                let dst = self.vector_dst(width)?;
                let Operand::Const { bank, base, offset, .. } = self.take()? else {
                    return Err("a constant was expected");
                };
                let base = self.reg_src(base)?;
                let indexed = self.has(Mod::Is) || self.has(Mod::Isl);
                Ok(Micro::LoadConst { bank, width, dst, base, offset, indexed })
            }
            _ => self.atomic(wide),
        }
    }

    fn atomic(&mut self, wide: bool) -> Res<Micro> {
        let table = [
            (Mod::Add, AtomOp::Add),
            (Mod::Min, AtomOp::Min),
            (Mod::Max, AtomOp::Max),
            (Mod::Inc, AtomOp::Inc),
            (Mod::Dec, AtomOp::Dec),
            (Mod::And, AtomOp::And),
            (Mod::Or, AtomOp::Or),
            (Mod::Xor, AtomOp::Xor),
            (Mod::Exch, AtomOp::Exch),
            (Mod::Cas, AtomOp::Cas),
            (Mod::Safeadd, AtomOp::Safeadd),
        ];
        let op = table.iter().find(|(m, _)| self.has(*m)).ok_or("unsupported atomic operation")?.1;
        let ty = if self.has(Mod::U64) || self.has(Mod::B64) {
            AtomTy::U64
        } else if self.has(Mod::S64) {
            AtomTy::S64
        } else if self.has(Mod::F32) {
            AtomTy::F32 { ftz: self.has(Mod::Ftz) }
        } else if self.has(Mod::S32) {
            AtomTy::S32
        } else if self.m.mods.iter().any(|m| m.name().contains("128")) {
            return Err("unsupported atomic operation");
        } else {
            AtomTy::U32
        };
        let n = if matches!(ty, AtomTy::U64 | AtomTy::S64) { 2 } else { 1 };
        let float = matches!(ty, AtomTy::F32 { .. });
        if op == AtomOp::Safeadd
            || float && !matches!(op, AtomOp::Add | AtomOp::Exch | AtomOp::Min | AtomOp::Max)
        {
            return Err("unsupported atomic operation");
        }
        let returns = self.m.op == Op::Atom && matches!(self.peek(), Some(Operand::Reg { .. }));
        let dst = if returns { Self::aligned(self.dst_n(n)?, n)? } else { crate::code::micro::NULL };
        let addr = self.addr(wide)?;
        let a = Self::aligned(self.src_regs(n)?, n)?;
        let b = if op == AtomOp::Cas { Self::aligned(self.src_regs(n)?, n)? } else { a };
        Ok(Micro::Atom { op, ty, dst, addr, src: [a, b] })
    }
}
