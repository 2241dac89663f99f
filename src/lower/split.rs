//! Memory accesses that are wider than their proven alignment allows, in parts that it does allow.
//!
//! ```text
//! ld b128 {%r1 %r2 %r3 %r4} g[%r0+0x0 align 8]     ld u64 {%r1 %r2} g[%r0+0x0 align 8]
//!                                                  ld u64 {%r3 %r4} g[%r0+0x8 align 8]
//! ```
//!
//! Accesses of 96 bits always become 64 and 32 bits: the machine wants 16-byte alignment for them,
//! and no compiler uses them on memory (attributes combine to them later, `opt/mem_combine.rs`).
//! Words that are not even word-aligned are put together from halves or bytes. Atomics are left
//! alone: they trap where they are misaligned. Volatile accesses are split too, where there is no
//! other way.

use crate::ir::build::Builder;
use crate::ir::expand::{expand, word};
use crate::ir::*;

/// The widest read of a constant bank: ptxas and Mesa never use more (facts of Kepler's LDC).
const MAX_CONST_BYTES: u32 = 8;

/// The widest access that alignment and space allow.
fn unit(m: &MemRef) -> u32 {
    m.align.bytes().min(if m.space == Space::Const { MAX_CONST_BYTES } else { 16 })
}

/// Whether an access has to be split.
pub fn concerns(i: &Inst, m: &MemRef) -> bool {
    matches!(i.op, Op::Ld | Op::St) && (i.ty.bytes() > unit(m) || i.ty == Type::B96)
}

/// Splits a function's accesses.
pub fn run(f: &mut Function) -> bool {
    expand(
        f,
        |i| i.mem.as_ref().is_some_and(|m| concerns(i, m)),
        |b, i| {
            let Some(m) = i.mem else { return false };
            let unit = unit(&m);
            if unit >= 4 {
                by_words(b, i, &m, unit)
            } else {
                by_bytes(b, i, &m, unit)
            }
            true
        },
    )
}

/// An access `delta` bytes further on.
fn part(i: &Inst, m: &MemRef, ty: Type, delta: u32) -> Inst {
    let mut p = Inst::new(i.op, ty);
    p.guard = i.guard;
    p.mem = Some(m.with_offset(m.offset.wrapping_add(delta as i32)).with_align(m.align.plus(delta as i32)));
    p
}

fn by_words(b: &mut Builder<'_>, i: &Inst, m: &MemRef, unit: u32) {
    let words = i.ty.words() as u32;
    let mut at = 0;
    while at < words {
        let fits = |n: u32| n <= words - at && 4 * n <= unit && m.align.plus(4 * at as i32).bytes() >= 4 * n;
        let n = [4, 2, 1].into_iter().find(|&n| fits(n)).unwrap_or(1);
        let ty = Type::of_words(n as usize).unwrap_or(Type::U32);
        let mut p = part(i, m, ty, 4 * at);
        let range = at as usize..(at + n) as usize;
        if i.op == Op::Ld {
            p.dsts.extend(i.dsts[range].iter().copied());
        } else {
            p.srcs.push(source_words(b, &i.srcs[0], range));
        }
        b.push(p);
        at += n;
    }
}

/// Some words of what a store writes, as one operand.
fn source_words(b: &mut Builder<'_>, s: &Src, range: std::ops::Range<usize>) -> Src {
    if range.len() == 1 {
        return word(s, range.start);
    }
    let values: Vec<ValueId> = range.map(|n| super::library::words(b, &word(s, n), 1)[0]).collect();
    Src::tuple(&values)
}

fn by_bytes(b: &mut Builder<'_>, i: &Inst, m: &MemRef, unit: u32) {
    let ty = if unit == 2 { Type::U16 } else { Type::U8 };
    let total = i.ty.bytes();
    // Words, or for a 16-bit access its only half.
    let word_bytes = total.min(4);
    for w in 0..total / word_bytes {
        if i.op == Op::Ld {
            let mut whole: Option<ValueId> = None;
            for at in (0..word_bytes).step_by(unit as usize) {
                let d = b.gpr();
                b.push(part(i, m, ty, 4 * w + at).dst(d));
                let shifted = if at == 0 { d } else { b.op2(Op::Shl, Type::U32, d, 8 * at) };
                whole = Some(match whole {
                    None => shifted,
                    Some(sum) => b.op2(Op::Or, Type::U32, sum, shifted),
                });
            }
            let Some(whole) = whole else { continue };
            let d = i.dsts[w as usize];
            if i.ty.is_signed() && total < 4 {
                let mut c = Inst::new(Op::Cvt, Type::S32).dst(d).src(whole);
                c.sty = i.ty;
                b.push(c);
            } else {
                b.push(Inst::new(Op::Mov, Type::U32).dst(d).src(whole));
            }
        } else {
            let data = source_words(b, &i.srcs[0], w as usize..w as usize + 1);
            for at in (0..word_bytes).step_by(unit as usize) {
                let piece: Src = if at == 0 { data } else { b.op2(Op::Shr, Type::U32, data, 8 * at).into() };
                let mut p = part(i, m, ty, 4 * w + at);
                p.srcs.push(piece);
                b.push(p);
            }
        }
    }
}
