//! Integer arithmetic, moves and predicates.

use super::{Cx, Res};
use crate::inst::{Body, Bop, CarryIn, Cmp, MinMaxPart, ShflMode, VoteMode};
use crate::lanes::{LaneFn, Mask, Row, Src, Tweak};
use crate::undef::Route;
use crate::warp::{FLAGS, PREDS};
use crate::{lane_fn, mask_fn};
use nvir_base::num::int::{self, Permute};
use nvir_isa::{Kw, Mod, Op, Operand};

/// Takes the negation off an operand.
fn split_neg(s: Src) -> (Src, bool) {
    match s.tweak {
        Tweak::NegInt => (Src { tweak: Tweak::None, ..s }, true),
        _ => (s, false),
    }
}

impl Cx<'_> {
    fn carry(&mut self, or: CarryIn) -> CarryIn {
        if self.has(Mod::X) {
            self.inst.reads_cc = true;
            CarryIn::Flag
        } else {
            or
        }
    }

    pub(super) fn int_arith(&mut self) -> Res<Body> {
        let sat = self.has(Mod::Sat);
        match self.m.op {
            Op::Iadd | Op::Iadd32i | Op::Isub => {
                let dst = self.dst()?;
                let (a, na) = {
                    let a = self.int()?;
                    split_neg(a)
                };
                let (b, mut nb) = {
                    let b = self.int()?;
                    split_neg(b)
                };
                nb ^= self.m.op == Op::Isub;
                let one = na || nb || self.has(Mod::Po);
                let carry = self.carry(if one { CarryIn::One } else { CarryIn::Zero });
                if !self.inst.cc && !sat && carry != CarryIn::Flag {
                    let f: LaneFn = match (na, nb, carry) {
                        (false, false, CarryIn::Zero) => lane_fn!(|a, b, _c| a.wrapping_add(b)),
                        (false, false, _) => lane_fn!(|a, b, _c| a.wrapping_add(b).wrapping_add(1)),
                        (false, true, _) => lane_fn!(|a, b, _c| a.wrapping_sub(b)),
                        (true, false, _) => lane_fn!(|a, b, _c| b.wrapping_sub(a)),
                        (true, true, _) => lane_fn!(|a, b, _c| (!a).wrapping_add(!b).wrapping_add(1)),
                    };
                    return Ok(Body::Map { f, dst, src: [a, b, Src::ZERO] });
                }
                Ok(Body::Sum { dst, src: [a, b], inv: [na, nb], carry, sat, shift: 0 })
            }
            Op::Iscadd | Op::Iscadd32i => {
                let dst = self.dst()?;
                let (a, na) = {
                    let a = self.int()?;
                    split_neg(a)
                };
                let (b, nb) = {
                    let b = self.int()?;
                    split_neg(b)
                };
                let shift = self.imm_value()? as u8 & 31;
                let carry = if na || nb { CarryIn::One } else { CarryIn::Zero };
                if !self.inst.cc && !na && !nb {
                    let n = self.imm(shift.into())?;
                    let f = lane_fn!(|a, b, c| (a << (c & 31)).wrapping_add(b));
                    return Ok(Body::Map { f, dst, src: [a, b, n] });
                }
                Ok(Body::Sum { dst, src: [a, b], inv: [na, nb], carry, sat, shift })
            }
            Op::Imadsp => self.imadsp(),
            _ => {
                let mul = matches!(self.m.op, Op::Imul | Op::Imul32i);
                let types: Vec<Mod> =
                    self.m.mods.iter().copied().filter(|m| matches!(m, Mod::U32 | Mod::S32)).collect();
                let signed = match types[..] {
                    [] => [true, true],
                    [a] => [a == Mod::S32; 2],
                    [a, b, ..] => [a == Mod::S32, b == Mod::S32],
                };
                let dst = self.dst()?;
                let (a, na) = {
                    let a = self.int()?;
                    split_neg(a)
                };
                let (b, nb) = {
                    let b = self.int()?;
                    split_neg(b)
                };
                let (c, nc) = if mul {
                    (Src::ZERO, false)
                } else {
                    let c = self.int()?;
                    split_neg(c)
                };
                let (hi, np) = (self.has(Mod::Hi), na != nb);
                let carry = self.carry(if self.has(Mod::Po) { CarryIn::One } else { CarryIn::Zero });
                let src = [a, b, c];
                if !self.inst.cc && !sat && carry == CarryIn::Zero && !nc {
                    let f: LaneFn =
                        match (hi, np, signed) {
                            (false, false, _) => lane_fn!(|a, b, c| a.wrapping_mul(b).wrapping_add(c)),
                            (false, true, _) => lane_fn!(|a, b, c| c.wrapping_sub(a.wrapping_mul(b))),
                            (true, false, [false, false]) => {
                                lane_fn!(|a, b, c| ((int::mul_wide(a, b, false, false) >> 32) as u32)
                                    .wrapping_add(c))
                            }
                            (true, false, [true, true]) => {
                                lane_fn!(|a, b, c| ((int::mul_wide(a, b, true, true) >> 32) as u32)
                                    .wrapping_add(c))
                            }
                            (true, false, [true, false]) => {
                                lane_fn!(|a, b, c| ((int::mul_wide(a, b, true, false) >> 32) as u32)
                                    .wrapping_add(c))
                            }
                            (true, false, [false, true]) => {
                                lane_fn!(|a, b, c| ((int::mul_wide(a, b, false, true) >> 32) as u32)
                                    .wrapping_add(c))
                            }
                            (true, true, _) => {
                                return Ok(Body::Mad { dst, src, signed, hi, neg: [np, nc], carry, sat });
                            }
                        };
                    return Ok(Body::Map { f, dst, src });
                }
                Ok(Body::Mad { dst, src, signed, hi, neg: [np, nc], carry, sat })
            }
        }
    }

    /// IMADSP: 24-bit and 16-bit operands for surface addresses.
    fn imadsp(&mut self) -> Res<Body> {
        let kinds: Vec<u64> = self.m.mods.iter().filter_map(|m| part(m.name())).collect();
        if self.named("SD") {
            let dst = self.dst()?;
            let src = [self.int()?, self.int()?, self.int()?];
            return Ok(Body::Scalar { f: madsp_described, param: 0, dst, src });
        }
        let [a, b, c] = kinds[..] else { return Err("IMADSP needs three operand formats") };
        // The disassemblers name the second format the wrong way round. NAK found so on cards (Mesa `hw_tests.rs`), and
        // Mesa's nvc0, which multiplies a layer that SUCLAMP packed (its low byte again in bits 23:16) with the
        // layers' stride, would address no array image right otherwise.
        let b = match b {
            LOW16 => LOW24,
            LOW24 => LOW16,
            SIGNED_LOW16 => SIGNED_LOW24,
            _ => SIGNED_LOW16,
        };
        let dst = self.dst()?;
        let src = [self.int()?, self.int()?, self.int()?];
        let f = |p: u64, a: u32, b: u32, c: u32| {
            let (a, b, c) = (take(p & 7, a), take(p >> 3 & 7, b), take(p >> 6 & 7, c));
            a.wrapping_mul(b).wrapping_add(c)
        };
        Ok(Body::Scalar { f, param: a | b << 3 | c << 6, dst, src })
    }

    pub(super) fn int_misc(&mut self) -> Res<Body> {
        let signed = !self.has(Mod::U32);
        let z = Src::ZERO;
        match self.m.op {
            Op::Imnmx => {
                let dst = self.dst()?;
                let src = [self.int()?, self.int()?];
                let pick = self.psrc_or_true()?;
                let parts = [
                    (Mod::Xlo, MinMaxPart::Low),
                    (Mod::Xmed, MinMaxPart::Middle),
                    (Mod::Xhi, MinMaxPart::High),
                ];
                if let Some(&(_, part)) = parts.iter().find(|(m, _)| self.has(*m)) {
                    self.inst.reads_cc = part != MinMaxPart::High;
                    return Ok(Body::MinMaxX { dst, src, signed, pick, part });
                }
                let (min, max): (LaneFn, LaneFn) = if signed {
                    (
                        lane_fn!(|a, b, _c| (a as i32).min(b as i32) as u32),
                        lane_fn!(|a, b, _c| (a as i32).max(b as i32) as u32),
                    )
                } else {
                    (lane_fn!(|a, b, _c| a.min(b)), lane_fn!(|a, b, _c| a.max(b)))
                };
                Ok(Body::MinMax { dst, src, min, max, pick })
            }
            Op::Iset | Op::Isetp => {
                let dst = self.set_dst(self.m.op == Op::Iset)?;
                let (a, b) = (self.int()?, self.int()?);
                let test = self.test();
                let cmp = if self.has(Mod::X) {
                    self.inst.reads_cc = true;
                    Cmp::IntX { test, signed, a, b }
                } else {
                    Cmp::Rows { f: compare(test, signed), a, b }
                };
                self.set(dst, cmp)
            }
            Op::Icmp => {
                let dst = self.dst()?;
                let src = [self.int()?, self.int()?, self.int()?];
                self.inst.route = Route::Move(3);
                let param = u64::from(self.test()) | u64::from(signed) << 8;
                let f = |p: u64, a: u32, b: u32, c: u32| {
                    if holds(p as u8 & 15, p >> 8 != 0, c, 0) { a } else { b }
                };
                Ok(Body::Scalar { f, param, dst, src })
            }
            Op::Isad => {
                let dst = self.dst()?;
                let src = [self.int()?, self.int()?, self.int()?];
                let f: LaneFn = if signed {
                    lane_fn!(|a, b, c| (a as i32).abs_diff(b as i32).wrapping_add(c))
                } else {
                    lane_fn!(|a, b, c| a.abs_diff(b).wrapping_add(c))
                };
                Ok(Body::Map { f, dst, src })
            }
            Op::Bfe => {
                let dst = self.dst()?;
                let src = [self.int()?, self.int()?, z];
                self.inst.route = Route::Move(1);
                let f: LaneFn = match (signed, self.has(Mod::Brev)) {
                    (true, false) => lane_fn!(|a, b, _c| int::bfe(a, b, true)),
                    (false, false) => lane_fn!(|a, b, _c| int::bfe(a, b, false)),
                    (true, true) => lane_fn!(|a, b, _c| int::bfe(a.reverse_bits(), b, true)),
                    (false, true) => lane_fn!(|a, b, _c| int::bfe(a.reverse_bits(), b, false)),
                };
                Ok(Body::Map { f, dst, src })
            }
            Op::Bfi => {
                let dst = self.dst()?;
                let src = [self.int()?, self.int()?, self.int()?];
                self.inst.route = Route::Move(5);
                Ok(Body::Map { f: lane_fn!(|a, b, c| int::bfi(a, b, c)), dst, src })
            }
            Op::Shl | Op::Shr => self.shift(signed),
            Op::Shf => self.funnel(),
            Op::Lop | Op::Lop32i => {
                let dst = self.dst()?;
                let src = [self.int()?, self.int()?, z];
                self.inst.chain = self.has(Mod::X);
                self.inst.reads_cc = self.inst.chain;
                let (f, route): (LaneFn, Route) = if self.has(Mod::PassB) {
                    (lane_fn!(|_a, b, _c| b), Route::Move(2))
                } else {
                    match self.bops().next() {
                        Some(Bop::Or) => (lane_fn!(|a, b, _c| a | b), Route::Or),
                        Some(Bop::Xor) => (lane_fn!(|a, b, _c| a ^ b), Route::Xor),
                        _ => (lane_fn!(|a, b, _c| a & b), Route::And),
                    }
                };
                self.inst.route = route;
                Ok(Body::Map { f, dst, src })
            }
            Op::Flo => {
                let dst = self.dst()?;
                let src = [self.int()?, z, z];
                let f: LaneFn = match (signed, self.has(Mod::Sh)) {
                    (true, true) => lane_fn!(|a, _b, _c| int::flo(a, true, true)),
                    (true, false) => lane_fn!(|a, _b, _c| int::flo(a, true, false)),
                    (false, true) => lane_fn!(|a, _b, _c| int::flo(a, false, true)),
                    (false, false) => lane_fn!(|a, _b, _c| int::flo(a, false, false)),
                };
                Ok(Body::Map { f, dst, src })
            }
            Op::Popc => {
                let dst = self.dst()?;
                let a = self.int()?;
                let b = if self.left() > 0 { self.int()? } else { self.imm(u32::MAX)? };
                Ok(Body::Map { f: lane_fn!(|a, b, _c| (a & b).count_ones()), dst, src: [a, b, z] })
            }
            _ => {
                let dst = self.dst()?;
                let src = [self.int()?, self.int()?, self.int()?];
                self.inst.route = Route::Move(5);
                let f: LaneFn = if self.has(Mod::F4e) {
                    lane_fn!(|a, b, c| int::prmt(a, b, c, Permute::F4e))
                } else if self.has(Mod::B4e) {
                    lane_fn!(|a, b, c| int::prmt(a, b, c, Permute::B4e))
                } else if self.has(Mod::Rc8) {
                    lane_fn!(|a, b, c| int::prmt(a, b, c, Permute::Rc8))
                } else if self.has(Mod::Ecl) {
                    lane_fn!(|a, b, c| int::prmt(a, b, c, Permute::Ecl))
                } else if self.has(Mod::Ecr) {
                    lane_fn!(|a, b, c| int::prmt(a, b, c, Permute::Ecr))
                } else if self.has(Mod::Rc16) {
                    lane_fn!(|a, b, c| int::prmt(a, b, c, Permute::Rc16))
                } else {
                    lane_fn!(|a, b, c| int::prmt(a, b, c, Permute::Index))
                };
                Ok(Body::Map { f, dst, src })
            }
        }
    }

    fn shift(&mut self, signed: bool) -> Res<Body> {
        let dst = self.dst()?;
        let src = [self.int()?, self.int()?, Src::ZERO];
        if self.has(Mod::X) {
            // The part of a multi-word shift that takes its neighbour's bits from CC has no documented meaning.
            return Err("shifts with .X");
        }
        let wrap = self.has(Mod::W);
        self.inst.route = Route::Move(1);
        let f: LaneFn = match (self.m.op, signed, wrap, self.has(Mod::Brev)) {
            (Op::Shl, _, false, _) => lane_fn!(|a, b, _c| int::shl(a, b)),
            (Op::Shl, _, true, _) => lane_fn!(|a, b, _c| a << (b & 31)),
            (_, false, false, false) => lane_fn!(|a, b, _c| int::shr_u(a, b)),
            (_, false, true, false) => lane_fn!(|a, b, _c| a >> (b & 31)),
            (_, true, false, false) => lane_fn!(|a, b, _c| int::shr_s(a, b)),
            (_, true, true, false) => lane_fn!(|a, b, _c| (a as i32 >> (b & 31)) as u32),
            (_, false, false, true) => lane_fn!(|a, b, _c| int::shr_u(a.reverse_bits(), b)),
            (_, false, true, true) => lane_fn!(|a, b, _c| a.reverse_bits() >> (b & 31)),
            (_, true, false, true) => lane_fn!(|a, b, _c| int::shr_s(a.reverse_bits(), b)),
            (_, true, true, true) => lane_fn!(|a, b, _c| (a.reverse_bits() as i32 >> (b & 31)) as u32),
        };
        Ok(Body::Map { f, dst, src })
    }

    /// SHF: operands low word, shift, high word. A left shift gives the high word, a right shift the low one
    /// (`.HI`: the high one).
    fn funnel(&mut self) -> Res<Body> {
        let left = self.named("L");
        let (wide, signed) = (self.has(Mod::U64) || self.has(Mod::S64), self.has(Mod::S64));
        let wrap = self.has(Mod::W);
        let dst = self.dst()?;
        let src = [self.int()?, self.int()?, self.int()?];
        let bits = [left, wide, signed, wrap, self.has(Mod::Hi)];
        self.inst.route = Route::Move(5);
        let param = bits.iter().enumerate().fold(0, |p, (i, &b)| p | u64::from(b) << i);
        Ok(Body::Scalar { f: funnel, param, dst, src })
    }

    pub(super) fn moves(&mut self) -> Res<Body> {
        let z = Src::ZERO;
        match self.m.op {
            Op::Mov | Op::Mov32i => {
                let dst = self.dst()?;
                let a = self.int()?;
                if self.left() > 0 {
                    self.inst.quad = self.imm_value()? as u8 & 15;
                }
                self.inst.route = Route::Move(1);
                Ok(Body::Map { f: lane_fn!(|a, _b, _c| a), dst, src: [a, z, z] })
            }
            Op::Sel => {
                let dst = self.dst()?;
                let src = [self.int()?, self.int()?];
                Ok(Body::Sel { dst, src, pick: self.psrc_or_true()? })
            }
            Op::S2r => {
                let dst = self.dst()?;
                let Operand::Sreg(reg) = self.take()? else { return Err("a special register was expected") };
                Ok(Body::S2r { dst, reg })
            }
            Op::P2r => {
                let high = self.named("H1");
                let dst = self.dst()?;
                self.state_word()?;
                let src = self.int()?;
                let selected = self.selected();
                self.inst.pred_reads = (selected & PREDS) as u8;
                self.inst.reads_cc = selected & FLAGS != 0;
                Ok(Body::P2r { dst, src, mask: self.int()?, high })
            }
            Op::R2p => {
                let high = self.named("H1");
                self.state_word()?;
                let src = self.int()?;
                let selected = self.selected();
                self.inst.pred_writes = (selected & PREDS) as u8;
                self.inst.cc = selected & FLAGS != 0;
                Ok(Body::R2p { src, mask: self.int()?, high })
            }
            Op::B2r => {
                if !self.has(Mod::Result) {
                    return Err("B2R reads barrier state that only a debugger has");
                }
                let dst = self.dst()?;
                let pred = if self.left() > 0 { self.pdst()? } else { 7 };
                Ok(Body::B2r { dst, pred })
            }
            Op::Lepc => Ok(Body::Lepc { dst: self.dst()? }),
            Op::Pset | Op::Psetp => {
                let dst = self.set_dst(self.m.op == Op::Pset)?;
                let bop = self.bops().next().unwrap_or(Bop::And);
                let (a, b) = (self.psrc()?, self.psrc()?);
                self.set(dst, Cmp::Preds { a, b, bop })
            }
            Op::Cset | Op::Csetp => {
                let dst = self.set_dst(self.m.op == Op::Cset)?;
                let test = self.m.mods.iter().find_map(|m| nvir_isa::names::cc_test(m.name()));
                let test = test.ok_or("unknown condition-code test")?;
                self.take()?;
                self.inst.reads_cc = true;
                self.set(dst, Cmp::Cc(test))
            }
            Op::Vote => {
                let mode = if self.has(Mod::All) {
                    VoteMode::All
                } else if self.has(Mod::Any) {
                    VoteMode::Any
                } else {
                    VoteMode::Eq
                };
                let dst = if matches!(self.peek(), Some(Operand::Reg { .. })) { self.dst()? } else { 255 };
                // The predicate destination is not written where it is PT and there is a register.
                let pdst = if self.left() > 1 { self.pdst()? } else { 7 };
                Ok(Body::Vote { mode, dst, pdst, src: self.psrc()? })
            }
            Op::Shfl => {
                let mode = if self.has(Mod::Up) {
                    ShflMode::Up
                } else if self.has(Mod::Down) {
                    ShflMode::Down
                } else if self.has(Mod::Bfly) {
                    ShflMode::Bfly
                } else {
                    ShflMode::Idx
                };
                let pdst = self.pdst()?;
                let dst = self.dst()?;
                let src = [self.int()?, self.int()?, self.int()?];
                Ok(Body::Shfl { mode, dst, pdst, src })
            }
            _ => Err("barrier registers cannot be written"),
        }
    }

    /// The operand `PR` of P2R and R2P: predicates and condition code as one word.
    fn state_word(&mut self) -> Res<()> {
        match self.take()? {
            Operand::Word(Kw::Pr) => Ok(()),
            _ => Err("PR was expected"),
        }
    }

    /// What the mask of P2R and R2P, the next operand, can select.
    fn selected(&self) -> u32 {
        match self.peek() {
            Some(Operand::Imm { bits, .. }) => bits,
            _ => u32::MAX,
        }
    }
}

const WHOLE: u64 = 0;
const LOW16: u64 = 1;
const SIGNED_LOW16: u64 = 2;
const HIGH16: u64 = 3;
const LOW24: u64 = 5;
const SIGNED_LOW24: u64 = 6;

/// IMADSP.SD: bits 31:26 of the second operand say which parts are read, of itself too. Source: NAK's tests on cards
/// (Mesa `hw_tests.rs`).
fn madsp_described(_: u64, a: u32, b: u32, c: u32) -> u32 {
    let first = [WHOLE, LOW24, LOW16, HIGH16][(b >> 30) as usize];
    let second = [LOW16, LOW24][(b >> 28 & 1) as usize];
    let third = [WHOLE, LOW24, LOW16, WHOLE][(b >> 26 & 3) as usize];
    take(first, a).wrapping_mul(take(second, b)).wrapping_add(take(third, c))
}

/// The operand formats of IMADSP.
fn part(name: &str) -> Option<u64> {
    Some(match name {
        "U32" | "S32" => WHOLE,
        "U16H0" => LOW16,
        "S16H0" => SIGNED_LOW16,
        "U16H1" => HIGH16,
        "S16H1" => 4,
        "U24" => LOW24,
        "S24" => SIGNED_LOW24,
        _ => return None,
    })
}

fn take(kind: u64, v: u32) -> u32 {
    match kind {
        1 => v & 0xffff,
        SIGNED_LOW16 => int::sext(v, 16),
        HIGH16 => v >> 16,
        4 => (v as i32 >> 16) as u32,
        LOW24 => v & 0x00ff_ffff,
        SIGNED_LOW24 => int::sext(v, 24),
        _ => v,
    }
}

fn funnel(p: u64, lo: u32, by: u32, hi: u32) -> u32 {
    let on = |bit: u32| p >> bit & 1 != 0;
    let (left, wide, signed, wrap, high) = (on(0), on(1), on(2), on(3), on(4));
    let limit = if wide { 64 } else { 32 };
    let by = if wrap { by & (limit - 1) } else { by.min(limit) };
    let v = u64::from(hi) << 32 | u64::from(lo);
    if left {
        return (u128::from(v) << by >> 32) as u32;
    }
    let r = if signed { (i128::from(v as i64) >> by) as u64 } else { (u128::from(v) >> by) as u64 };
    if high { (r >> 32) as u32 } else { r as u32 }
}

/// An integer comparison of one pair.
fn holds(test: u8, signed: bool, a: u32, b: u32) -> bool {
    let order = if signed { (a as i32).cmp(&(b as i32)) } else { a.cmp(&b) };
    let bit = match order {
        std::cmp::Ordering::Less => 1,
        std::cmp::Ordering::Equal => 2,
        std::cmp::Ordering::Greater => 4,
    };
    test & bit != 0
}

/// The row comparison of a test.
fn compare(test: u8, signed: bool) -> fn(&Row, &Row) -> Mask {
    match (test & 7, signed) {
        (0, _) => |_, _| 0,
        (1, true) => mask_fn!(|a, b| (a as i32) < b as i32),
        (1, false) => mask_fn!(|a, b| a < b),
        (2, _) => mask_fn!(|a, b| a == b),
        (3, true) => mask_fn!(|a, b| a as i32 <= b as i32),
        (3, false) => mask_fn!(|a, b| a <= b),
        (4, true) => mask_fn!(|a, b| a as i32 > b as i32),
        (4, false) => mask_fn!(|a, b| a > b),
        (5, _) => mask_fn!(|a, b| a != b),
        (6, true) => mask_fn!(|a, b| a as i32 >= b as i32),
        (6, false) => mask_fn!(|a, b| a >= b),
        (_, _) => |_, _| Mask::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn funnel_shifts_join_two_words() {
        let flags = |left, wide, signed, wrap, hi| {
            u64::from(left)
                | u64::from(wide) << 1
                | u64::from(signed) << 2
                | u64::from(wrap) << 3
                | u64::from(hi) << 4
        };
        let (f, t) = (false, true);
        assert_eq!(funnel(flags(t, f, f, f, f), 0x8000_0000, 1, 1), 3);
        assert_eq!(funnel(flags(t, f, f, t, f), 0x8000_0000, 33, 1), 3);
        assert_eq!(funnel(flags(t, f, f, f, f), 7, 40, 1), 7);
        assert_eq!(funnel(flags(f, t, t, f, f), 0, 36, 0x8000_0000), 0xf800_0000);
        assert_eq!(funnel(flags(f, t, t, f, t), 0, 36, 0x8000_0000), 0xffff_ffff);
        assert_eq!(funnel(flags(f, f, f, f, f), 0x10, 4, 0xf), 0xf000_0001);
    }
}
