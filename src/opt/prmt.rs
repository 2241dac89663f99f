//! PRMT and BFI forming: shifts, masks and a sum that move bytes or a field of one word into
//! another become one instruction.
//!
//! ```text
//! shr u32 %r2 %r0 0x18
//! ext u32 %r3 %r0 0x808
//! shl u32 %r4 %r3 0x10
//! add u32 %r5 %r2 %r4         ->  prmt u32 %r5 %r0 0x4143 0x0
//! and u32 %r6 %r0 0xffffffc7
//! shl u32 %r7 %r1 0x3
//! and u32 %r8 %r7 0x38
//! or u32 %r9 %r6 %r8          ->  ins u32 %r9 %r1 0x303 %r0
//! ```
//!
//! Where each byte of a sum comes from is followed through what only the sum reads, until an
//! operation does anything but move whole bytes; what of two words, or of one and zero, is taken.
//! Safe because a byte of the sum then has one part that may be other than zero: nothing is carried
//! from one to the next, and a sum is what an `or` is.

use super::rewrite::{UseCounts, imm_src, is_scalar, scalar_def};
use crate::ir::*;

/// One instruction for a sum of parts of words, if it is shorter. `funnels`: the chip shifts pairs
/// of words.
pub(super) fn form(f: &Function, funnels: bool, inst: &Inst, uses: &UseCounts) -> Option<Inst> {
    if !is_join(inst) || !is_scalar(f, inst) {
        return None;
    }
    permuted(f, funnels, inst, uses).or_else(|| inserted(f, inst, uses))
}

/// Whether an operation joins two words whose bits lie apart.
pub(crate) fn is_join(inst: &Inst) -> bool {
    matches!(inst.op, Op::Or | Op::Xor | Op::Add)
        && matches!(inst.ty, Type::U32 | Type::S32)
        && inst.srcs.len() == 2
        && !inst.sat
}

/// Whether an operation takes a part of a word.
pub(crate) fn takes_part(op: Op) -> bool {
    matches!(op, Op::And | Op::Shl | Op::Shr | Op::Ext)
}

/// What a byte of a word is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Byte {
    Zero,
    Of(ValueId, u8),
}

type Word = [Byte; 4];

/// So many operations are looked through.
const MOST: u32 = 16;

/// What is behind a sum.
struct Tree<'f> {
    f: &'f Function,
    funnels: bool,
    uses: &'f UseCounts,
    /// Operations that may still be looked through.
    left: u32,
    /// Instructions that the operations looked through would take: a shift is part of a sum.
    takes: u32,
}

fn permuted(f: &Function, funnels: bool, inst: &Inst, uses: &UseCounts) -> Option<Inst> {
    let mut tree = Tree { f, funnels, uses, left: MOST, takes: 0 };
    let word = tree.open(inst)?;
    let mut sources: [Option<ValueId>; 2] = [None; 2];
    for byte in word {
        let Byte::Of(v, _) = byte else { continue };
        let place = sources.iter().position(|s| s.is_none_or(|s| s == v))?;
        sources[place] = Some(v);
    }
    let [Some(first), second] = sources else { return None };
    // A byte that is zero: of the second operand if that is zero, or one that is known to be of
    // either.
    let known = |n: u32, v: ValueId| (0..4).find(|&k| zeros(f, v)[k as usize]).map(|k| 4 * n + k);
    let zero = match second {
        None => Some(4),
        Some(second) => known(0, first).or_else(|| known(1, second)),
    };
    let mut selector = 0;
    for (k, byte) in word.into_iter().enumerate() {
        let place = match byte {
            Byte::Zero => zero?,
            Byte::Of(v, n) => u32::from(n) + if v == first { 0 } else { 4 },
        };
        selector |= place << (4 * k);
    }
    if tree.takes < 2 || selector == 0x3210 {
        return None;
    }
    let second = second.map_or(Src::imm(0), Src::from);
    let mut new = Inst::new(Op::Prmt, Type::U32).src(first).src(selector).src(second);
    (new.dsts, new.loc) = (inst.dsts, inst.loc);
    Some(new)
}

impl Tree<'_> {
    /// Where the bytes of an operand come from; none if it is no word to take bytes of.
    fn word(&mut self, s: &Src) -> Option<Word> {
        if s.as_imm() == Some(0) {
            return Some([Byte::Zero; 4]);
        }
        let v = s.as_val().filter(|_| s.is_plain_val())?;
        let before = self.takes;
        let opened = match scalar_def(self.f, s) {
            Some(d) if self.uses[v] == 1 => self.open(d),
            _ => None,
        };
        opened.or_else(|| {
            self.takes = before;
            let zeros = zeros(self.f, v);
            Some([0, 1, 2, 3].map(|k| if zeros[usize::from(k)] { Byte::Zero } else { Byte::Of(v, k) }))
        })
    }

    /// Where the bytes of a result come from, if the operation moves whole bytes.
    fn open(&mut self, d: &Inst) -> Option<Word> {
        self.left = self.left.checked_sub(1)?;
        self.takes += 1;
        if is_join(d) {
            let (a, b) = (self.word(&d.srcs[0])?, self.word(&d.srcs[1])?);
            let mut joined = [Byte::Zero; 4];
            for (k, byte) in joined.iter_mut().enumerate() {
                *byte = match (a[k], b[k]) {
                    (byte, Byte::Zero) | (Byte::Zero, byte) => byte,
                    _ => return None,
                };
            }
            self.takes -= self.shared(d).min(self.takes);
            return Some(joined);
        }
        let (mask, down) = part_of(d)?;
        if down % 8 != 0 || mask.to_le_bytes().iter().any(|m| !matches!(m, 0 | 0xff)) {
            return None;
        }
        let from = self.word(&d.srcs[0])?;
        let mut moved = [Byte::Zero; 4];
        for (k, byte) in (0..).zip(&mut moved) {
            let kept = mask >> (8 * k) & 1 != 0;
            let source = usize::try_from(k + down / 8).ok().and_then(|n| from.get(n));
            *byte = source.filter(|_| kept).copied().unwrap_or(Byte::Zero);
        }
        Some(moved)
    }

    /// How many shifts that a sum of two words reads would be part of it.
    fn shared(&self, d: &Inst) -> u32 {
        let shift = |n: usize| {
            let by = scalar_def(self.f, &d.srcs[n])?;
            Some((by.op, imm_src(by, 1)?))
        };
        match [shift(0), shift(1)] {
            [Some((Op::Shl, a)), Some((Op::Shr, b))] | [Some((Op::Shr, a)), Some((Op::Shl, b))]
                if self.funnels && a.wrapping_add(b) == 32 =>
            {
                2
            }
            shifts => u32::from(d.op == Op::Add && shifts.iter().flatten().any(|s| s.0 == Op::Shl)),
        }
    }
}

/// What an operation on one word takes of it: which bits of the result may be other than zero, and
/// by how many bits the source is shifted down.
fn part_of(d: &Inst) -> Option<(u32, i32)> {
    let x = imm_src(d, 1)?;
    let unsigned = d.ty == Type::U32;
    match d.op {
        _ if d.srcs.len() != 2 || d.ty.words() != 1 || !d.srcs[0].is_plain_val() => None,
        Op::And => Some((x, 0)),
        Op::Shl if x < 32 => Some((u32::MAX << x, -(x as i32))),
        Op::Shr if x < 32 && unsigned => Some((u32::MAX >> x, x as i32)),
        Op::Ext if unsigned => {
            let (at, bits) = (x & 0xff, x >> 8 & 0xff);
            (at < 32 && (1..32).contains(&bits)).then(|| (((1 << bits) - 1) & u32::MAX >> at, at as i32))
        }
        _ => None,
    }
}

/// The bytes of a value that are zero, as far as the operation that makes it says.
fn zeros(f: &Function, v: ValueId) -> [bool; 4] {
    let mask = match f.def_inst(v).filter(|d| d.dsts.len() == 1) {
        Some(Inst { op: Op::Ld, ty: Type::U8, .. }) => 0xff,
        Some(Inst { op: Op::Ld, ty: Type::U16, .. }) => 0xffff,
        Some(d) if is_scalar(f, d) => part_of(d).map_or(u32::MAX, |p| p.0),
        _ => u32::MAX,
    };
    mask.to_le_bytes().map(|m| m == 0)
}

/// `(x & !mask) | field`: the low bits of a word in place of a field of another one.
fn inserted(f: &Function, inst: &Inst, uses: &UseCounts) -> Option<Inst> {
    let dies = |s: &Src| {
        let d = scalar_def(f, s).filter(|_| s.is_plain_val())?;
        s.as_val().filter(|&v| uses[v] == 1).map(|_| d)
    };
    let field = |keep: u32, from: Src, mask: u32, down: i32| {
        let (at, bits) = (mask.trailing_zeros(), mask.count_ones());
        let whole = (1..32).contains(&bits) && mask >> at == u32::MAX >> (32 - bits);
        (whole && keep == !mask && down == -(at as i32)).then_some((from, at | bits << 8))
    };
    [0, 1].into_iter().find_map(|n| {
        let kept = dies(&inst.srcs[n]).filter(|d| d.op == Op::And)?;
        let (keep, _) = part_of(kept)?;
        let outer = dies(&inst.srcs[1 - n])?;
        let (mask, down) = part_of(outer)?;
        // A mask behind a shift, or in front of one.
        let further = dies(&outer.srcs[0]).and_then(|inner| {
            let (of_inner, further) = part_of(inner)?;
            let apart = down <= 0 && further <= 0 && (down == 0 || further == 0);
            apart.then(|| (inner.srcs[0], mask & of_inner << -down, down + further))
        });
        let (from, place) = further
            .and_then(|(from, mask, down)| field(keep, from, mask, down))
            .or_else(|| field(keep, outer.srcs[0], mask, down))?;
        let mut new = Inst::new(Op::Ins, Type::U32).src(from).src(place).src(kept.srcs[0]);
        (new.dsts, new.loc) = (inst.dsts, inst.loc);
        Some(new)
    })
}
