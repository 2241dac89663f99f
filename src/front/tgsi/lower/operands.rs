//! Reading and writing operands, a component at a time.

use super::{Body, Failed, Parsed};
use crate::driver::Abi;
use crate::front::common::ssa::Var;
use crate::front::tgsi::ast::*;
use crate::ir::{self, Align, Class, Cond, MemRef, Op, Space, Sv, Type, ValueId};

/// Registers below this number have their variables in lists. Most programs have no others.
const NEAR: u32 = 256;

/// Bit patterns of the float operations that modifiers are made of.
const SIGN: u32 = 0x8000_0000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Write,
}

impl Body<'_> {
    /// A general value with the bits of an operand.
    pub(super) fn value(&mut self, s: ir::Src) -> ValueId {
        if s.is_plain_val()
            && let Some(v) = s.as_val()
        {
            return v;
        }
        self.b().mov(s)
    }

    /// The variable of a register's component.
    #[inline]
    pub(super) fn var(&mut self, file: File, index: u32, comp: usize) -> Var {
        if index >= NEAR || !matches!(file, File::Temp | File::Addr) {
            return self.far_var(file, index, comp);
        }
        let vars = if file == File::Addr { &mut self.addrs } else { &mut self.temps };
        let n = 4 * index as usize + comp;
        if n >= vars.len() {
            vars.resize_with(4 * (index as usize + 1), || self.ssa.var(Class::Gpr));
        }
        vars[n]
    }

    #[cold]
    fn far_var(&mut self, file: File, index: u32, comp: usize) -> Var {
        let ssa = &mut self.ssa;
        *self.far.entry((file, index, comp as u8)).or_insert_with(|| ssa.var(Class::Gpr))
    }

    /// The current value of a register's component that is no memory.
    #[inline]
    pub(super) fn read_var(&mut self, file: File, index: u32, comp: usize) -> ValueId {
        let var = self.var(file, index, comp);
        self.ssa.read(&mut self.f, self.block, var)
    }

    #[inline]
    pub(super) fn write_var(&mut self, file: File, index: u32, comp: usize, v: ValueId) {
        let var = self.var(file, index, comp);
        self.ssa.write(self.block, var, v);
    }

    /// The value that is added to an index.
    fn indirect(&mut self, i: &Indirect) -> Parsed<ValueId> {
        let reg = Reg {
            file: i.file,
            dim: None,
            index: Index { offset: i.index as i16, indirect: None },
            span: self.span,
        };
        let s = self.bits(&reg, i.comp as usize)?;
        Ok(self.value(s))
    }

    /// An index as a constant part and a dynamic part.
    #[inline]
    pub(super) fn index(&mut self, index: &Index) -> Parsed<(i32, Option<ValueId>)> {
        let dynamic = match &index.indirect {
            Some(i) => Some(self.indirect(i)?),
            None => None,
        };
        Ok((index.offset.into(), dynamic))
    }

    /// The number of a resource: a constant below 65536, and what is added to it.
    pub(super) fn resource(&mut self, index: &Index) -> Parsed<(u16, Option<ValueId>)> {
        let (offset, dynamic) = self.index(index)?;
        match (offset, dynamic) {
            (0.., _) => Ok((offset as u16, dynamic)),
            // A negative constant part: the sum is what counts.
            (_, Some(v)) => Ok((0, Some(self.b().add(Type::U32, v, offset as u32)))),
            (_, None) => Err(self.error("a resource number is negative", "expected 0 or more")),
        }
    }

    /// A place in the local memory that holds an array. What is read is inside the array whatever the index:
    /// compilers read an element before they test the index.
    #[inline]
    fn array_place(&mut self, reg: &Reg, comp: usize, access: Access) -> Parsed<Option<MemRef>> {
        if self.cx.storage.is_empty() {
            return Ok(None);
        }
        self.place_in_array(reg, comp, access)
    }

    fn place_in_array(&mut self, reg: &Reg, comp: usize, access: Access) -> Parsed<Option<MemRef>> {
        let named = self.cx.req.sanitize.private;
        let storage = &self.cx.storage;
        let at = |a: &super::storage::Array, offset: i64| {
            let m = MemRef::new(Space::Local).with_offset(offset as i32);
            let var = if named { storage.number(a) } else { 0 };
            m.with_align(Align::new(16, 4 * comp as u32)).with_var(var)
        };
        let (index, dynamic) = self.index(&reg.index)?;
        let Some(v) = dynamic else {
            return Ok(self.cx.storage.find(reg.file, index.max(0) as u32).map(|a| {
                at(&a, i64::from(a.base) + 16 * (i64::from(index) - i64::from(a.first)) + 4 * comp as i64)
            }));
        };
        let Some(a) = self.cx.storage.dynamic(self.cx.ast, reg) else {
            return Err(self.error("this register file cannot be indexed dynamically", ""));
        };
        let skip = index.wrapping_sub(a.first as i32);
        if access == Access::Write {
            let scaled = self.b().op2(Op::Shl, Type::U32, v, 4u32);
            let offset = i64::from(a.base) + 16 * i64::from(skip) + 4 * comp as i64;
            return Ok(Some(at(&a, offset).with_base(&[scaled])));
        }
        let v = if skip == 0 { v } else { self.b().add(Type::U32, v, skip as u32) };
        let v = self.b().op2(Op::Min, Type::U32, v, a.last - a.first);
        let scaled = self.b().op2(Op::Shl, Type::U32, v, 4u32);
        Ok(Some(at(&a, i64::from(a.base) + 4 * comp as i64).with_base(&[scaled])))
    }

    /// The 32 bits of a register's component, without modifiers: a value or an immediate.
    #[inline]
    pub(super) fn bits(&mut self, reg: &Reg, comp: usize) -> Parsed<ir::Src> {
        match reg.file {
            File::Temp if self.cx.storage.is_empty() => {
                Ok(self.read_var(File::Temp, reg.index.offset as u32, comp).into())
            }
            _ => self.bits_of_any(reg, comp),
        }
    }

    fn bits_of_any(&mut self, reg: &Reg, comp: usize) -> Parsed<ir::Src> {
        match reg.file {
            File::Temp | File::Addr => {
                if let Some(place) = self.array_place(reg, comp, Access::Read)? {
                    return Ok(self.b().ld_word(place).into());
                }
                Ok(self.read_var(reg.file, reg.index.offset as u32, comp).into())
            }
            File::Imm => self.immediate(reg, comp),
            File::Const | File::ConstBuf => self.constant(reg, comp),
            File::Sv => self.system_value(reg, comp),
            File::Null => Ok(0u32.into()),
            File::In if self.is_graphics() => self.read_input(reg, comp),
            File::Out if self.is_graphics() => self.read_output(reg, comp),
            _ => Err(self.error_at(
                reg.span,
                format!("{} cannot be read like this in a compute program", reg.file.name()),
                "expected TEMP, ADDR, IMM, CONST or SV",
            )),
        }
    }

    fn immediate(&mut self, reg: &Reg, comp: usize) -> Parsed<ir::Src> {
        let imms = &self.cx.ast.imms;
        let (index, dynamic) = self.index(&reg.index)?;
        let Some(v) = dynamic else {
            return match usize::try_from(index).ok().and_then(|i| imms.get(i)) {
                Some(imm) => Ok(imm.words[comp].into()),
                None => Err(self.error_at(
                    reg.span,
                    format!("IMM[{index}] is not declared"),
                    format!("the program has {} immediates", imms.len()),
                )),
            };
        };
        // A chain of choices: immediates are few.
        let mut choice = self.b().mov(0u32);
        for (n, imm) in imms.iter().enumerate() {
            let hit = self.b().setp(Cond::Eq, Type::U32, v, (n as i32).wrapping_sub(index) as u32);
            choice = self.b().sel(hit, imm.words[comp], choice);
        }
        Ok(choice.into())
    }

    fn constant(&mut self, reg: &Reg, comp: usize) -> Parsed<ir::Src> {
        let buffer = match &reg.dim {
            Some(d) => *d,
            None => Index { offset: 0, indirect: None },
        };
        let (index, dynamic) = self.index(&reg.index)?;
        let offset = index.wrapping_mul(16).wrapping_add(4 * comp as i32);
        let (n, which) = self.index(&buffer)?;
        let m = match which {
            None if n == 0 => MemRef::new(Space::Const).with_buffer(self.cx.req.abi.input_bank.into()),
            None if n < 0 || n as u32 > Abi::MAX_UBOS => {
                return Err(self.error_at(
                    reg.span,
                    format!("constant buffer {n} is out of range"),
                    format!("expected 0 to {}", Abi::MAX_UBOS),
                ));
            }
            None => MemRef::new(Space::Uniform).with_buffer(n as u16 - 1),
            Some(v) => {
                // Buffer n is uniform block n - 1.
                let mut m = MemRef::new(Space::Uniform);
                if n >= 1 {
                    m.buffer = n as u16 - 1;
                    m.index = Some(v);
                } else {
                    m.index = Some(self.b().add(Type::U32, v, (n - 1) as u32));
                }
                m
            }
        };
        let mut m = m.with_offset(offset).with_align(Align::new(16, 4 * comp as u32));
        m.readonly = true;
        if let Some(v) = dynamic {
            let scaled = self.b().op2(Op::Shl, Type::U32, v, 4u32);
            m.set_base(&[scaled]);
        }
        Ok(self.b().ld_word(m).into())
    }

    fn system_value(&mut self, reg: &Reg, comp: usize) -> Parsed<ir::Src> {
        let (index, dynamic) = self.index(&reg.index)?;
        if let Some(v) = dynamic {
            let mut choice = self.b().mov(0u32);
            let declared = (0..).zip(&self.cx.svs).filter(|(_, sv)| sv.is_some());
            for (n, _) in declared {
                let one = Reg { index: Index { offset: n, indirect: None }, ..*reg };
                let s = self.system_value(&one, comp)?;
                let hit = self.b().setp(Cond::Eq, Type::U32, v, i32::from(n).wrapping_sub(index) as u32);
                choice = self.b().sel(hit, s, choice);
            }
            return Ok(choice.into());
        }
        let Some(&Some(semantic)) = usize::try_from(index).ok().and_then(|n| self.cx.svs.get(n)) else {
            return Err(self.error_at(
                reg.span,
                format!("SV[{index}] is not declared"),
                "expected a system value that is declared with its meaning",
            ));
        };
        self.semantic(semantic, comp, reg)
    }

    fn semantic(&mut self, semantic: Semantic, comp: usize, reg: &Reg) -> Parsed<ir::Src> {
        use Semantic::*;
        let fixed = |c: usize| self.cx.block_size[c];
        let sv = match (semantic, comp) {
            (BlockId | ThreadId, 3) => return Ok(0u32.into()),
            (GridSize | BlockSize, 3) => return Ok(1u32.into()),
            (BlockSize, c) if fixed(c) != 0 => return Ok(fixed(c).into()),
            // A block of one thread goes on in x.
            (ThreadId, 0) if self.cx.whole_warps => Sv::TidX,
            (ThreadId, c) if fixed(c) == 1 => return Ok(0u32.into()),
            (BlockId, c) => [Sv::CtaidX, Sv::CtaidY, Sv::CtaidZ][c],
            (ThreadId, c) => [Sv::TidX, Sv::TidY, Sv::TidZ][c],
            (BlockSize, c) => [Sv::NtidX, Sv::NtidY, Sv::NtidZ][c],
            (GridSize, c) => [Sv::NctaidX, Sv::NctaidY, Sv::NctaidZ][c],
            (WorkDim, _) => Sv::WorkDim,
            (SubgroupSize, _) => return Ok(32u32.into()),
            (SubgroupInvocation, _) => Sv::Laneid,
            // Masks have 64 bits.
            (SubgroupEqMask | SubgroupGeMask | SubgroupGtMask | SubgroupLeMask | SubgroupLtMask, 1 | 3) => {
                return Ok(0u32.into());
            }
            (SubgroupEqMask, _) => Sv::LanemaskEq,
            (SubgroupGeMask, _) => Sv::LanemaskGe,
            (SubgroupGtMask, _) => Sv::LanemaskGt,
            (SubgroupLeMask, _) => Sv::LanemaskLe,
            (SubgroupLtMask, _) => Sv::LanemaskLt,
            (HelperInvocation, _) if !self.is_graphics() => return Ok(0u32.into()),
            _ if self.is_graphics() => return self.stage_value(semantic, comp, reg),
            _ => {
                return Err(self.error_at(
                    reg.span,
                    format!("{} does not exist in a compute program", semantic.name()),
                    "",
                ));
            }
        };
        Ok(self.b().sv(sv).into())
    }

    /// A 32-bit operand of type `ty` (float modifiers stand on the result, others are carried out).
    pub(super) fn operand(&mut self, src: &Src, comp: usize, ty: Ty) -> Parsed<ir::Src> {
        let mut s = self.bits(&src.reg, src.swizzle[comp] as usize)?;
        if !src.abs && !src.neg {
            return Ok(s);
        }
        if let (Some(bits), Ty::F32 | Ty::Any) = (s.as_imm(), ty) {
            let bits = if src.abs { bits & !SIGN } else { bits };
            return Ok(if src.neg { bits ^ SIGN } else { bits }.into());
        }
        match ty {
            Ty::F32 => {
                s = if src.abs { s.abs() } else { s };
                Ok(if src.neg { s.neg() } else { s })
            }
            Ty::Any => {
                if src.abs {
                    s = self.b().op2(Op::And, Type::U32, s, !SIGN).into();
                }
                if src.neg {
                    s = self.b().op2(Op::Xor, Type::U32, s, SIGN).into();
                }
                Ok(s)
            }
            _ => {
                if let Some(bits) = s.as_imm() {
                    let bits = if src.abs { (bits as i32).unsigned_abs() } else { bits };
                    return Ok(if src.neg { bits.wrapping_neg() } else { bits }.into());
                }
                for (on, op) in [(src.abs, Op::Abs), (src.neg, Op::Neg)] {
                    if on {
                        s = self.b().op1(op, Type::S32, s).into();
                    }
                }
                Ok(s)
            }
        }
    }

    /// A 64-bit operand: pair 0 (`.xy`) or 1 (`.zw`) after the swizzle.
    pub(super) fn operand64(&mut self, src: &Src, pair: usize, ty: Ty) -> Parsed<ir::Src> {
        let lo = self.bits(&src.reg, src.swizzle[2 * pair] as usize)?;
        let hi = self.bits(&src.reg, src.swizzle[2 * pair + 1] as usize)?;
        let mut s: ir::Src = match (lo.as_imm(), hi.as_imm()) {
            (Some(lo), Some(hi)) => {
                let bits = u64::from(lo) | u64::from(hi) << 32;
                return Ok(ir::Src::imm64(modified64(bits, src, ty)));
            }
            _ => [self.value(lo), self.value(hi)].into(),
        };
        if ty == Ty::F64 {
            s = if src.abs { s.abs() } else { s };
            return Ok(if src.neg { s.neg() } else { s });
        }
        for (on, op) in [(src.abs, Op::Abs), (src.neg, Op::Neg)] {
            if on {
                s = self.b().pair(ir::Inst::new(op, Type::S64).src(s)).into();
            }
        }
        Ok(s)
    }

    /// Writes one component of a destination.
    #[inline]
    pub(super) fn write(&mut self, reg: &Reg, comp: usize, v: ValueId) -> Parsed<()> {
        match reg.file {
            File::Temp | File::Addr => {
                if let Some(place) = self.array_place(reg, comp, Access::Write)? {
                    self.b().st(Type::U32, place, v);
                } else {
                    self.write_var(reg.file, reg.index.offset as u32, comp, v);
                }
                Ok(())
            }
            File::Null => Ok(()),
            File::Out if self.is_graphics() => self.write_output(reg, comp, v),
            _ => Err(self.not_writable(reg)),
        }
    }

    /// Writes to each component of a destination what was made for it, if anything was.
    pub(super) fn write_each(&mut self, dst: &Dst, made: impl Fn(usize) -> Option<ValueId>) -> Parsed<()> {
        dst.comps().try_for_each(|c| made(c).map_or(Ok(()), |v| self.write(&dst.reg, c, v)))
    }

    /// Writes to each component of a destination the one of a result that the swizzle names; `values` are those of the mask.
    pub(super) fn write_chosen(
        &mut self,
        dst: &Dst,
        mask: u8,
        swizzle: [u8; 4],
        values: &[ValueId],
    ) -> Parsed<()> {
        self.write_each(dst, |c| {
            let below = mask & ((1 << swizzle[c]) - 1);
            values.get(below.count_ones() as usize).copied().filter(|_| mask >> swizzle[c] & 1 != 0)
        })
    }

    fn not_writable(&self, reg: &Reg) -> Failed {
        self.error_at(
            reg.span,
            format!("{} cannot be written in a compute program", reg.file.name()),
            "expected TEMP or ADDR",
        )
    }
}

/// A 64-bit immediate with an operand's modifiers carried out.
fn modified64(bits: u64, src: &Src, ty: Ty) -> u64 {
    const SIGN: u64 = 1 << 63;
    if ty == Ty::F64 {
        let bits = if src.abs { bits & !SIGN } else { bits };
        return if src.neg { bits ^ SIGN } else { bits };
    }
    let bits = if src.abs { (bits as i64).unsigned_abs() } else { bits };
    if src.neg { bits.wrapping_neg() } else { bits }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chip;
    use crate::front::{Request, tgsi};

    /// The listing of a program that uses register `n`.
    fn using(n: u32) -> String {
        let text = format!(
            "COMP\nDCL BUFFER[0]\nDCL SV[0], THREAD_ID\nMOV TEMP[{n}].xy, SV[0].xyxx\n\
             UADD TEMP[{n}].x, TEMP[{n}].xxxx, TEMP[{n}].yyyy\nSTORE BUFFER[0].x, TEMP[{n}].xxxx, TEMP[{n}].yyyy\nEND"
        );
        let abi = Abi::nvc0(Chip::Gk110);
        let request = Request {
            text: &text,
            chip: Chip::Gk110,
            abi: &abi,
            entry: None,
            pointer_align: 4,
            private_bytes: 0,
            stage: Default::default(),
            sanitize: Default::default(),
            clip_plane_place: (15, 0x120),
            spec_constants: &Default::default(),
        };
        tgsi::program(&request).expect("valid text").to_string()
    }

    #[test]
    fn registers_of_all_numbers_are_alike() {
        assert_eq!(using(NEAR - 1), using(0));
        assert_eq!(using(NEAR), using(0));
        assert_eq!(using(32767), using(0));
    }
}
