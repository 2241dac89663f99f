//! Storage buffers and uniform blocks as global and constant memory.
//!
//! The driver's constant bank describes storage buffer `n` as {address low, high, size, 0}. An
//! access is checked against the size: outside, loads give 0 and stores and atomics do nothing.
//!
//! ```text
//! ld u32 %r2 b1[%r0]          add u32 %r3 %r0 0x3                      last byte of the access
//!                             set pred %p4 ge u32 %r3 c7[0x2b8]
//!                             add u32 {%r5 %c6} %r0 c7[0x2b0]; add u32 %r7 0x0 c7[0x2b4] %c6
//!                             @!%p4 ld u32 %r8 g[{%r5 %r7}]
//!                             sel u32 %r2 0x0 %r8 %p4
//! ```
//!
//! Uniform blocks are constant banks as far as they are bound to one and the number is known;
//! others go through the table that describes them like storage buffers.

use crate::analysis::known_bits::{KnownBits, Launch};
use crate::driver::Abi;
use crate::ir::build::Builder;
use crate::ir::expand::expand;
use crate::ir::*;
use rustc_hash::FxHashMap;

/// Lowers all accesses to storage buffers and uniform blocks of a function.
/// `start_align`: what is known of the address where a buffer begins, a power of two.
pub fn run(f: &mut Function, abi: &Abi, start_align: u32, launch: &Launch) -> bool {
    let concerned = |i: &Inst| i.op == Op::BufSize || i.mem.as_ref().is_some_and(is_buffer);
    let sums = Sums::new(f, launch);
    expand(f, concerned, |b, i| {
        let Some(mut mem) = i.mem else { return false };
        mem.align = sums.align(&mem);
        match (i.op, mem.space) {
            (Op::BufSize, _) => {
                let table = Table::for_operand(b, &mem, abi);
                let size = table.word(b, 2);
                b.push(Inst::new(Op::Mov, Type::U32).src(size).dst(i.dsts[0]));
            }
            (_, Space::Buffer) => {
                let table = Table::for_operand(b, &mem, abi);
                guarded(b, i, &mem, &table, start_align, &sums);
            }
            (_, Space::Uniform) => uniform(b, i, &mem, abi, start_align, &sums),
            _ => return false,
        }
        true
    })
}

fn is_buffer(m: &MemRef) -> bool {
    matches!(m.space, Space::Buffer | Space::Uniform)
}

/// Where a buffer is described: `c[bank][offset + index]`.
pub(crate) struct Table {
    bank: u8,
    offset: u16,
    index: Option<ValueId>,
}

impl Table {
    /// The entry of the buffer that a memory operand names.
    pub(crate) fn for_operand(b: &mut Builder<'_>, mem: &MemRef, abi: &Abi) -> Table {
        let (start, count) = match (mem.space, abi.ubo_info) {
            (Space::Uniform, Some(table)) => (table, Abi::MAX_UBOS),
            _ => (abi.buf_info, Abi::MAX_BUFFERS),
        };
        Table::entry(b, mem, abi, start, count)
    }

    fn entry(b: &mut Builder<'_>, mem: &MemRef, abi: &Abi, start: u16, count: u32) -> Table {
        let offset = start + 16 * mem.buffer.min(count as u16 - 1);
        // A dynamic number is clamped, so that it reads a description in any case.
        let index = mem.index.map(|n| {
            let last = count - 1 - u32::from(mem.buffer).min(count - 1);
            let n = b.op2(Op::Min, Type::U32, n, last);
            b.op2(Op::Shl, Type::U32, n, 4u32)
        });
        Table { bank: abi.aux_bank, offset, index }
    }

    /// Word `n` of the description.
    pub(crate) fn word(&self, b: &mut Builder<'_>, n: u16) -> Src {
        match self.index {
            None => Src::cbuf(self.bank, self.offset + 4 * n),
            Some(index) => {
                let m = MemRef::new(Space::Const)
                    .with_buffer(self.bank.into())
                    .with_base(&[index])
                    .with_offset((self.offset + 4 * n).into())
                    .with_align(Align::multiple_of(4));
                b.ld(Type::U32, m)[0].into()
            }
        }
    }
}

/// An access through a description, with the bounds check.
fn guarded(b: &mut Builder<'_>, i: &Inst, mem: &MemRef, table: &Table, start_align: u32, sums: &Sums) {
    let words = [0, 1, 2].map(|n| table.word(b, n));
    let (base, offset, outside) = checked(b, mem, i.ty.bytes(), words, sums);

    let log2 = mem.align.log2.min(start_align.trailing_zeros() as u8);
    let align = Align { log2, rest: mem.align.rest & ((1 << log2) - 1) };
    let mut global = MemRef::new(Space::Global).with_base(&base).with_offset(offset).with_align(align);
    global.order = mem.order;
    global.readonly = mem.readonly;
    let mut access = i.clone();
    access.mem = Some(global);
    unless(b, outside, access);
}

/// An access where `bad` does not hold, and its own condition does; its results are zeros where
/// `bad` holds.
pub(crate) fn unless(b: &mut Builder<'_>, bad: ValueId, mut access: Inst) {
    let guard = match access.guard {
        None => Guard { pred: bad, not: true },
        Some(own) => {
            let own = Src { mods: SrcMods { inv: own.not, ..SrcMods::default() }, ..Src::val(own.pred) };
            let both = Inst::new(Op::And, Type::Pred).src(own).src(Src::val(bad).inv());
            Guard { pred: b.value(both), not: false }
        }
    };
    access.guard = Some(guard);
    let results = access.dsts;
    access.dsts = results.iter().map(|&d| b.func.new_value(b.func.class(d))).collect();
    let loaded = access.dsts;
    b.push(access);
    let failed = if guard.not { Src::val(guard.pred) } else { Src::val(guard.pred).inv() };
    for (&d, v) in results.iter().zip(loaded) {
        b.push(Inst::new(Op::Sel, Type::U32).src(0u32).src(v).src(failed).dst(d));
    }
}

/// What is known of the sums of base and offset that accesses to buffers use.
pub(crate) struct Sums {
    known: Option<KnownBits>,
    /// Accesses through each buffer, base, and part of the offset that is added to the base first.
    count: FxHashMap<(Space, u16, Option<ValueId>, ValueId, u32), u32>,
}

impl Sums {
    pub(crate) fn new(f: &Function, launch: &Launch) -> Sums {
        let mut sums = Sums { known: None, count: FxHashMap::default() };
        for (_, i) in f.insts_in_order() {
            let inst = &f.insts[i];
            let Some(m) = inst.mem.as_ref().filter(|m| is_buffer(m)) else { continue };
            let Some(base) = m.base32() else { continue };
            sums.known.get_or_insert_with(|| KnownBits::new(f, launch)).learn(f, base);
            if let Some((first, _)) = sums.split(base, m.offset, inst.ty.bytes()) {
                *sums.count.entry((m.space, m.buffer, m.index, base, first)).or_insert(0) += 1;
            }
        }
        sums
    }

    /// What is known of an access' offset into the buffer, from the access and from its base.
    fn align(&self, mem: &MemRef) -> Align {
        match &self.known {
            _ if mem.base().is_empty() => Align::new(1 << 31, mem.offset as u32),
            Some(known) => known.align(mem),
            None => mem.align,
        }
    }

    /// Splits an offset into a part to be added to the base, which may wrap around, and the rest,
    /// with which the last byte of the access is not below that sum: because of the base's range,
    /// or because it is a multiple of a power of two within which the rest stays.
    fn split(&self, base: ValueId, offset: i32, bytes: u32) -> Option<(u32, u32)> {
        let known = self.known.as_ref()?.bits(base);
        if let Ok(offset) = u32::try_from(offset)
            && let Some(reach) = offset.checked_add(bytes - 1)
            && known.max.checked_add(reach).is_some()
        {
            return Some((0, offset));
        }
        let window = 1u32 << known.zero.trailing_ones().min(16);
        let rest = offset as u32 & (window - 1);
        (rest + bytes <= window).then_some((offset as u32 & !(window - 1), rest))
    }

    /// Accesses that share a sum.
    fn sharing(&self, mem: &MemRef, base: ValueId, first: u32) -> u32 {
        self.count.get(&(mem.space, mem.buffer, mem.index, base, first)).copied().unwrap_or(0)
    }

    /// Whether the base is known to be so small that what is left of a buffer is a signed number.
    fn small(&self, base: ValueId) -> bool {
        self.known.as_ref().is_some_and(|k| k.bits(base).max <= i32::MAX as u32)
    }
}

/// The address of an access and whether it lies beyond `size`.
///
/// Offsets into a buffer are 32-bit numbers that wrap around, so a constant part may not be added
/// to the 64-bit address unless it is known not to wrap. The last byte of the access serves for
/// both otherwise: it is what is compared, and, inside the buffer, as far above the first as the
/// access is wide.
///
/// Several accesses through one base that does not wrap share what they have in common: an access
/// of `n` bytes at `base + k` is inside if `base <= size` and `size - base >= k + n`, one
/// comparison for each access. No buffer has 2 GiB (Mesa's nvc0 allows 128 MiB,
/// PIPE_CAP_MAX_SHADER_BUFFER_SIZE), so where the base is below that, too, the difference is a
/// signed number, and the second condition implies the first.
pub(crate) fn checked(
    b: &mut Builder<'_>,
    mem: &MemRef,
    bytes: u32,
    [lo, hi, size]: [Src; 3],
    sums: &Sums,
) -> ([ValueId; 2], i32, ValueId) {
    let reach = bytes - 1;
    let Some(base) = mem.base32() else {
        // Loads, so that value numbering shares them among accesses.
        let [lo, hi, size] = [lo, hi, size].map(|s| loaded(b, s));
        let outside = b.setp(Cond::Le, Type::U32, size, (mem.offset as u32).saturating_add(reach));
        return ([lo, hi], mem.offset, outside);
    };
    let split = sums.split(base, mem.offset, bytes);
    let signed = |end: u32| end <= i32::MAX as u32;
    let small = split.is_some_and(|s| s.0 == 0 && signed(s.1 + bytes)) && sums.small(base);
    if let Some((first, rest)) = split
        && sums.sharing(mem, base, first) > if small { 1 } else { 2 }
    {
        let base = if first == 0 { base } else { b.add(Type::U32, base, first) };
        let outside = if small {
            let left = b.op2(Op::Sub, Type::U32, size, base);
            b.setp(Cond::Lt, Type::S32, left, rest + bytes)
        } else {
            short(b, size, base, rest + bytes)
        };
        return (add_wide(b, base.into(), lo, hi), rest as i32, outside);
    }
    let grows = split.is_some_and(|(first, _)| first == 0);
    if !grows && straddles(mem.align, reach) {
        let first = if mem.offset == 0 { base } else { b.add(Type::U32, base, mem.offset as u32) };
        let outside = short(b, size, first, bytes);
        return (add_wide(b, first.into(), lo, hi), 0, outside);
    }
    let last = b.add(Type::U32, base, (mem.offset as u32).wrapping_add(reach));
    let outside = b.setp(Cond::Ge, Type::U32, last, size);
    if grows || mem.offset == 0 {
        (add_wide(b, base.into(), lo, hi), mem.offset, outside)
    } else {
        (add_wide(b, last.into(), lo, hi), -(reach as i32), outside)
    }
}

/// Whether an access may begin below the end of the 32-bit numbers and end above zero: its last
/// byte alone does not tell then that it is inside.
fn straddles(align: Align, reach: u32) -> bool {
    // The last address that the alignment allows is so far below the end.
    (1u64 << align.log2) - u64::from(align.rest) <= reach.into()
}

/// Whether less than `bytes` of a buffer are left from `base` on.
fn short(b: &mut Builder<'_>, size: Src, base: ValueId, bytes: u32) -> ValueId {
    let left = b.op2(Op::Sub, Type::U32, size, base);
    // What is left exceeds the whole if the subtraction went below zero.
    let beyond = b.setp(Cond::Gt, Type::U32, left, size);
    let mut short = Inst::new(Op::Set, Type::Pred).src(left).src(bytes).src(beyond);
    (short.cond, short.sty, short.logic) = (Cond::Lt, Type::U32, Logic::Or);
    b.value(short)
}

/// An operand in a register.
fn loaded(b: &mut Builder<'_>, s: Src) -> ValueId {
    match s.kind {
        SrcKind::Const { bank, offset } => {
            let align = Align::new(1 << 16, offset.into());
            let word = MemRef::new(Space::Const)
                .with_buffer(bank.into())
                .with_offset(offset.into())
                .with_align(align);
            b.ld(Type::U32, word)[0]
        }
        _ => b.mov(s),
    }
}

/// `{lo, hi} + zero-extended offset`.
pub(crate) fn add_wide(b: &mut Builder<'_>, offset: Src, lo: Src, hi: Src) -> [ValueId; 2] {
    let (low, carry) = (b.func.new_value(Class::Gpr), b.func.new_value(Class::Carry));
    b.push(Inst::new(Op::Add, Type::U32).src(offset).src(lo).dst(low).dst(carry));
    let high = b.value(Inst::new(Op::Add, Type::U32).src(hi).src(0u32).src(carry));
    [low, high]
}

/// A read of a uniform block.
fn uniform(b: &mut Builder<'_>, i: &Inst, mem: &MemRef, abi: &Abi, start_align: u32, sums: &Sums) {
    let bound = mem.buffer < u16::from(abi.bound_ubos);
    let dynamic = mem.index.is_some();
    match abi.ubo_info {
        Some(start) if dynamic || !bound => {
            let table = Table::entry(b, mem, abi, start, Abi::MAX_UBOS);
            let mut mem = *mem;
            mem.readonly = true;
            guarded(b, i, &mem, &table, start_align, sums);
        }
        _ => {
            let mut access = i.clone();
            let mut bank = *mem;
            bank.space = Space::Const;
            // As in the table, a number beyond the last block's means that.
            bank.buffer = mem.buffer.min(Abi::MAX_UBOS as u16 - 1) + u16::from(abi.first_ubo_bank);
            // The machine takes the dynamic part of a bank's number from the high half of the
            // offset's register.
            if let Some(index) = mem.index {
                let offset = mem.base32().map_or(Src::imm(0), Src::val);
                bank.set_base(&[]);
                bank.index = Some(b.op3(Op::Ins, Type::U32, index, 0x1010u32, offset));
            }
            access.mem = Some(bank);
            b.push(access);
        }
    }
}
