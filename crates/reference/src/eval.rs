//! Evaluation of a program for one thread, directly on the IR: what tests compare the other ways with.
//!
//! [`run`] follows values; [`Machine::step`] evaluates one instruction with operands from wherever its caller has
//! them, so that an allocated program can be evaluated on registers by the same rules.
//!
//! Covered: scalar operations that [`nvir::opt::fold`] knows, carries, doubles, predicates, moves, loads and stores
//! (global, shared and local memory apart, constant buffers with pseudo-random contents), special registers (fixed
//! values), calls. Operations across lanes and textures are not.

use crate::softmath::{self, mask, number};
use arrayvec::ArrayVec;
use cranelift_entity::SecondaryMap;
use nvir::ir::*;
use nvir::num::float;
use nvir::opt::fold;
use rustc_hash::FxHashMap;
use std::cmp::Ordering;

/// Bits of a carry: the carry itself, and whether the whole sum was zero.
const CARRY: u32 = 1;
const ZERO: u32 = 2;

/// Why there is no result.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EvalError {
    /// The operation has no meaning for a single thread.
    #[error("cannot evaluate `{0}`")]
    Unsupported(Op),
    /// An access is not aligned to its width.
    #[error("an address that is not aligned")]
    Misaligned,
    /// [`Machine::steps`] are used up.
    #[error("too many steps")]
    Steps,
    /// Control reached `unreachable`.
    #[error("control reached a place marked as unreachable")]
    Unreachable,
}

/// Memory of the program: words by space and byte address, 0 where nothing was written.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Machine {
    /// By space and byte address.
    pub words: FxHashMap<(Space, u64), u32>,
    /// Instructions that may still be evaluated.
    pub steps: u64,
}

/// Values that an instruction gives, in the order of its destinations.
pub type Results = ArrayVec<u32, 5>;

/// A word of a constant buffer. The first two of bank 0 are a 64-bit address, a multiple of 64 KiB.
pub fn constant(bank: u8, offset: u32) -> u32 {
    match (bank, offset) {
        (0, 0) => return 0x1000_0000,
        (0, 4) => return 0,
        _ => {}
    }
    (offset ^ (bank as u32) << 20).wrapping_mul(0x9e37_79b1).rotate_left(13).wrapping_mul(0x85eb_ca6b)
}

/// A special register: of one thread of a launch that may be.
pub fn special(sv: Sv) -> u32 {
    const LANE: u32 = 13;
    match sv {
        Sv::TidX => 45,
        Sv::TidY | Sv::WarpId => 3,
        Sv::TidZ => 1,
        Sv::NtidX => 64,
        Sv::NtidY => 4,
        Sv::NtidZ | Sv::WorkDim => 3,
        Sv::CtaidX => 0x4321,
        Sv::CtaidY => 0x123,
        Sv::CtaidZ => 7,
        Sv::NctaidX => 0x5000,
        Sv::NctaidY => 0x200,
        Sv::NctaidZ => 9,
        Sv::Laneid => LANE,
        Sv::LanemaskEq => 1 << LANE,
        Sv::LanemaskLt => (1 << LANE) - 1,
        Sv::LanemaskLe => (2 << LANE) - 1,
        Sv::LanemaskGt => !0 << LANE << 1,
        Sv::LanemaskGe => !0 << LANE,
        Sv::NumWarps => 24,
        sv => (sv as u32 + 1).wrapping_mul(0x0101_4321),
    }
}

impl Machine {
    /// Empty memory, and instructions that may be evaluated.
    pub fn new(steps: u64) -> Machine {
        Machine { words: FxHashMap::default(), steps }
    }

    /// Counts a step.
    pub(crate) fn tick(&mut self) -> Result<(), EvalError> {
        self.steps = self.steps.checked_sub(1).ok_or(EvalError::Steps)?;
        Ok(())
    }

    fn address(m: &MemRef, read: &dyn Fn(ValueId) -> u32) -> u64 {
        let base = m.base();
        let words: ArrayVec<u32, 2> = base.iter().map(|&v| read(v)).collect();
        match words[..] {
            [] => m.offset as u32 as u64,
            [a] => a.wrapping_add(m.offset as u32) as u64,
            [lo, hi, ..] => (lo as u64 | (hi as u64) << 32).wrapping_add(m.offset as i64 as u64),
        }
    }

    fn load_word(&self, space: Space, buffer: u16, address: u64) -> u32 {
        match space {
            Space::Const => constant(buffer as u8, address as u32),
            _ => self.words.get(&(space, address)).copied().unwrap_or(0),
        }
    }

    fn memory(&mut self, inst: &Inst, read: &dyn Fn(ValueId) -> u32) -> Result<Results, EvalError> {
        let unsupported = || EvalError::Unsupported(inst.op);
        let m = inst.mem.as_ref().ok_or_else(unsupported)?;
        let address = Self::address(m, read);
        let (bytes, words) = (inst.ty.bytes() as u64, inst.ty.words());
        if bytes == 0 || bytes < 4 && inst.op == Op::Atom {
            return Err(unsupported());
        }
        let unit = if words == 3 { 16 } else { bytes };
        if address % unit != 0 {
            return Err(EvalError::Misaligned);
        }
        let mut out = Results::new();
        match inst.op {
            Op::Ld if bytes < 4 => {
                let word = self.load_word(m.space, m.buffer, address & !3) >> (8 * (address % 4));
                let above = 32 - 8 * bytes as u32;
                out.push(match inst.ty {
                    Type::S8 | Type::S16 => ((word << above) as i32 >> above) as u32,
                    _ => word << above >> above,
                });
            }
            Op::St if bytes < 4 => {
                let (first, mask) = (8 * (address % 4), (1 << (8 * bytes)) - 1);
                let x = operand(&inst.srcs[0], read).first().copied().unwrap_or(0);
                let old = self.load_word(m.space, m.buffer, address & !3);
                self.words.insert((m.space, address & !3), old & !(mask << first) | (x & mask) << first);
            }
            Op::Ld => {
                out.extend((0..words as u64).map(|k| self.load_word(m.space, m.buffer, address + 4 * k)));
            }
            Op::St => {
                let data = operand(&inst.srcs[0], read);
                // An immediate zero is zero in every word.
                for (k, x) in data.into_iter().chain([0; 4]).take(words).enumerate() {
                    self.words.insert((m.space, address + 4 * k as u64), x);
                }
            }
            Op::Atom => {
                let Aux::Atom(op) = inst.aux else { return Err(unsupported()) };
                let data: ArrayVec<u32, 8> =
                    inst.srcs.iter().flat_map(|s| operand(s, read).into_iter().take(words)).collect();
                let old: ArrayVec<u32, 4> =
                    (0..words as u64).map(|k| self.load_word(m.space, m.buffer, address + 4 * k)).collect();
                let new: ArrayVec<u32, 4> = match op {
                    AtomOp::Add if words == 1 => [old[0].wrapping_add(data[0])].into_iter().collect(),
                    AtomOp::Exch => data.iter().copied().take(words).collect(),
                    AtomOp::Cas if old[..] == data[..words] => data[words..].iter().copied().collect(),
                    AtomOp::Cas => old.clone(),
                    _ => return Err(unsupported()),
                };
                for (k, x) in new.into_iter().enumerate() {
                    self.words.insert((m.space, address + 4 * k as u64), x);
                }
                out.extend(old);
            }
            _ => return Err(unsupported()),
        }
        out.truncate(inst.dsts.len());
        Ok(out)
    }

    /// Evaluates an instruction that is not a call. Nothing is returned if its guard does not hold.
    pub fn step(&mut self, inst: &Inst, read: &dyn Fn(ValueId) -> u32) -> Result<Option<Results>, EvalError> {
        self.tick()?;
        if let Some(g) = &inst.guard
            && (read(g.pred) != 0) == g.not
        {
            return Ok(None);
        }
        if inst.mem.is_some() {
            return self.memory(inst, read).map(Some);
        }
        let unsupported = EvalError::Unsupported(inst.op);
        let mut out = Results::new();
        match inst.op {
            Op::Undef => out.push(0),
            // One thread alone: it was asked for.
            Op::WholeWarp => out.push(1),
            Op::Pcopy => {
                let words = |s: &Src| s.values().len().max(1);
                out.extend(inst.srcs.iter().flat_map(|s| operand(s, read).into_iter().take(words(s))));
            }
            Op::Membar | Op::Texbar | Op::Bar => {}
            Op::Rdsv => match inst.aux {
                Aux::Sv(sv) => out.push(special(sv)),
                _ => return Err(unsupported),
            },
            _ if is_wide(inst) => {
                let d = wide(inst, read).ok_or(unsupported)?;
                out.push(d as u32);
                if inst.ty.words() == 2 {
                    out.push((d >> 32) as u32);
                }
            }
            Op::Add | Op::Mul | Op::Mad if inst.ty == Type::F64 => {
                let x: ArrayVec<u64, 4> = inst.srcs.iter().map(|s| double(s, read)).collect();
                // Of no number the machine keeps an operand's bits: a rule of its own.
                let round = fold::rounding(inst.rnd);
                let d = match inst.op {
                    Op::Add => float::add64(x[0], x[1], round),
                    Op::Mul => float::mul64(x[0], x[1], round),
                    _ => float::fma64(x[0], x[1], x[2], round),
                };
                out.extend([d as u32, (d >> 32) as u32]);
            }
            _ if inst.ty.words() == 1
                && (inst.dsts.len() == 2 || inst.op != Op::Set && carry_in(inst).is_some()) =>
            {
                out = sum_with_carry(inst, read).ok_or(unsupported)?;
            }
            Op::Cvt if inst.sty == Type::Pred => {
                let one = match inst.ty {
                    Type::F16 => 0x3c00,
                    Type::F32 => 1f32.to_bits(),
                    _ => 1,
                };
                out.push(if single(&inst.srcs[0], read) & 1 != 0 { one } else { 0 });
            }
            Op::Set if carry_in(inst).is_some() => {
                out.push(compare_with_carry(inst, read).ok_or(unsupported)?);
            }
            _ => {
                let mut plain = inst.clone();
                plain.guard = None;
                for s in &mut plain.srcs {
                    if s.values().len() > 1 {
                        return Err(unsupported);
                    }
                    s.kind = SrcKind::Imm(raw(s, read));
                }
                out.push(fold::eval(&plain).ok_or(unsupported)?);
            }
        }
        Ok(Some(out))
    }
}

/// The high part of a 64-bit comparison, whose low part has left a borrow.
fn compare_with_carry(inst: &Inst, read: &dyn Fn(ValueId) -> u32) -> Option<u32> {
    let flags = single(&inst.srcs[3], read);
    let word = |n: usize| {
        let x = single(&inst.srcs[n], read);
        if inst.sty == Type::S32 { x as i32 as i64 } else { x as i64 }
    };
    // The low words differ by a borrow, by nothing, or by something positive.
    let difference = word(0) - word(1) - (flags & CARRY == 0) as i64;
    let order = difference.cmp(&0).then(if flags & ZERO == 0 { Ordering::Greater } else { Ordering::Equal });
    let holds = match inst.cond.ordered() {
        Cond::Lt => order.is_lt(),
        Cond::Le => order.is_le(),
        Cond::Gt => order.is_gt(),
        Cond::Ge => order.is_ge(),
        Cond::Eq => order.is_eq(),
        Cond::Ne => order.is_ne(),
        _ => return None,
    };
    let p = single(&inst.srcs[2], read) & 1 != 0;
    let holds = match inst.logic {
        Logic::And => holds & p,
        Logic::Or => holds | p,
        Logic::Xor => holds ^ p,
    };
    let yes = match inst.ty {
        Type::Pred => 1,
        Type::F32 => 1f32.to_bits(),
        _ => u32::MAX,
    };
    Some(if holds { yes } else { 0 })
}

/// The carry that an instruction reads: what stands behind its operation's sources.
fn carry_in(inst: &Inst) -> Option<&Src> {
    inst.srcs.get(inst.op.row().srcs.len()).filter(|_| inst.op.is(op::CARRY_IN))
}

/// The result of a sum of single words that reads or gives a carry, and the carry if it is given.
fn sum_with_carry(inst: &Inst, read: &dyn Fn(ValueId) -> u32) -> Option<Results> {
    let source = |n: usize| single(&inst.srcs[n], read);
    let flags = carry_in(inst).map(|c| single(c, read));
    // Only what a shift and a negated addend give is the carry of a difference.
    let negated = |n: usize| inst.srcs[n].mods.neg;
    if negated(0) || negated(1) || inst.op != Op::ShlAdd && inst.srcs.get(2).is_some_and(|s| s.mods.neg) {
        return None;
    }
    // The summand before the last is not wider than a word.
    let first = |op: Op| {
        let mut part = inst.clone();
        (part.op, part.srcs) = (op, (0..2).map(|n| Src::imm(source(n))).collect());
        part.dsts.truncate(1);
        part.guard = None;
        fold::eval(&part)
    };
    let (a, b) = match inst.op {
        Op::Add | Op::Sub => (source(0), source(1)),
        Op::Mad => (first(Op::Mul)?, source(2)),
        Op::MadHi => (first(Op::MulHi)?, source(2)),
        Op::ShlAdd => (first(Op::Shl)?, single(&Src { mods: SrcMods::default(), ..inst.srcs[2] }, read)),
        _ => return None,
    };
    let difference = inst.op == Op::Sub || inst.op == Op::ShlAdd && negated(2);
    let (b, carry) = if difference { (!b, 1) } else { (b, 0) };
    let sum = u64::from(a) + u64::from(b) + flags.map_or(carry, |f| u64::from(f & CARRY));
    let mut out = Results::new();
    out.push(sum as u32);
    if inst.dsts.len() > 1 {
        let zero = sum as u32 == 0 && flags.is_none_or(|f| f & ZERO != 0);
        out.push((sum >> 32) as u32 | if zero { ZERO } else { 0 });
    }
    Some(out)
}

/// Whether an instruction computes with pairs of words other than doubles' arithmetic.
fn is_wide(inst: &Inst) -> bool {
    let wide = |t: Type| t.words() == 2;
    let arithmetic = matches!(inst.op, Op::Add | Op::Sub | Op::Mul | Op::Mad) && inst.ty == Type::F64;
    (wide(inst.ty) || wide(inst.sty)) && !arithmetic && !matches!(inst.op, Op::ShfL | Op::ShfR)
}

/// The result of an operation on pairs of words; the machine's rules for shift amounts.
fn wide(inst: &Inst, read: &dyn Fn(ValueId) -> u32) -> Option<u64> {
    let source = |n: usize| {
        let ty = inst.src_type(n);
        let s = inst.srcs.get(n)?;
        Some(match ty {
            Type::F64 => double(s, read),
            Type::Pred => u64::from(single(s, read) & 1),
            _ if ty.words() == 2 => {
                let w = operand(s, read);
                let x = u64::from(w[0]) | u64::from(w[1]) << 32;
                let x = if s.mods.inv { !x } else { x };
                let x = if s.mods.abs { (x as i64).unsigned_abs() } else { x };
                if s.mods.neg { x.wrapping_neg() } else { x }
            }
            _ if ty.is_signed() => single(s, read) as i32 as u64,
            _ if ty.is_float() || ty.bytes() < 4 => return None,
            _ => single(s, read).into(),
        })
    };
    let s: ArrayVec<u64, 4> = (0..inst.srcs.len()).map(source).collect::<Option<_>>()?;
    let (a, b) = (*s.first()?, s.get(1).copied().unwrap_or(0));
    if inst.ty == Type::F64 {
        return match inst.op {
            Op::Mov => Some(a),
            Op::Neg => Some(a ^ 1 << 63),
            Op::Abs => Some(a & !(1 << 63)),
            Op::Sel => Some(if s[2] != 0 { a } else { b }),
            _ => None,
        };
    }
    let by_sign = |yes, no| if inst.ty == Type::S64 { yes } else { no };
    let plain = match inst.op {
        Op::Sel => return Some(if s[2] != 0 { a } else { b }),
        Op::Shl | Op::Shr => {
            let n = if inst.aux == Aux::Wrap { b & 63 } else { b & mask(32) };
            return Some(match inst.op {
                Op::Shl => (u128::from(a) << n.min(64)) as u64,
                _ => (number(a, 64, inst.ty == Type::S64) >> n.min(64)) as u64,
            });
        }
        Op::Set if s.len() == 2 && !inst.sty.is_float() => {
            let number = |x| number(x, 64, inst.sty == Type::S64);
            let order = number(a).cmp(&number(b));
            let holds = inst.cond as u8 & 1 << (order as i8 + 1) != 0;
            return Some(match inst.ty {
                Type::Pred => u64::from(holds),
                Type::F32 => u64::from(if holds { 1f32.to_bits() } else { 0 }),
                _ => u64::from(if holds { u32::MAX } else { 0 }),
            });
        }
        Op::Cvt if inst.sty.is_float() || inst.ty.is_float() || inst.sat || inst.aux != Aux::None => {
            return None;
        }
        Op::Mov | Op::Cvt => softmath::Op::mov,
        Op::Add if s.len() == 2 => softmath::Op::iadd,
        Op::Sub if s.len() == 2 => softmath::Op::isub,
        Op::Mul => softmath::Op::imul,
        Op::Mad => softmath::Op::imad,
        Op::MulHi => by_sign(softmath::Op::imul_high, softmath::Op::umul_high),
        Op::Div if inst.ty != Type::S64 => softmath::Op::udiv,
        Op::Mod if inst.ty != Type::S64 => softmath::Op::umod,
        Op::And => softmath::Op::iand,
        Op::Or => softmath::Op::ior,
        Op::Xor => softmath::Op::ixor,
        Op::Not => softmath::Op::inot,
        Op::Neg => softmath::Op::ineg,
        Op::Abs => softmath::Op::iabs,
        Op::Min => by_sign(softmath::Op::imin, softmath::Op::umin),
        Op::Max => by_sign(softmath::Op::imax, softmath::Op::umax),
        _ => return None,
    };
    Some(plain.eval(64, &[64; 4], &s).bits(64))
}

/// The bits of a one-word operand before its modifiers.
fn raw(s: &Src, read: &dyn Fn(ValueId) -> u32) -> u32 {
    match s.kind {
        SrcKind::Val(v) => read(v),
        SrcKind::Imm(x) => x,
        SrcKind::Const { bank, offset } => constant(bank, offset as u32),
        _ => 0,
    }
}

/// A one-word integer or predicate operand.
fn single(s: &Src, read: &dyn Fn(ValueId) -> u32) -> u32 {
    let x = raw(s, read);
    let x = if s.mods.inv { !x } else { x };
    let x = if s.mods.abs { (x as i32).unsigned_abs() } else { x };
    if s.mods.neg { x.wrapping_neg() } else { x }
}

fn double(s: &Src, read: &dyn Fn(ValueId) -> u32) -> u64 {
    let w = operand(s, read);
    let x = w[0] as u64 | (w[1] as u64) << 32;
    let x = if s.mods.abs { x & !(1 << 63) } else { x };
    if s.mods.neg { x ^ 1 << 63 } else { x }
}

/// The words of an operand, without modifiers; two of a constant, whatever is wanted.
fn operand(s: &Src, read: &dyn Fn(ValueId) -> u32) -> ArrayVec<u32, 4> {
    match s.kind {
        SrcKind::Imm64(w) => w.into_iter().collect(),
        SrcKind::Imm(_) => [raw(s, read)].into_iter().collect(),
        SrcKind::Const { bank, offset } => {
            [0, 4].into_iter().map(|k| constant(bank, u32::from(offset) + k)).collect()
        }
        _ => s.values().iter().map(|&v| read(v)).collect(),
    }
}

/// Runs a program from its entry; memory is in `machine` afterwards.
pub fn run(program: &Program, machine: &mut Machine) -> Result<(), EvalError> {
    function(program, program.entry, &[], machine).map(|_| ())
}

/// The results of a function; none if the thread ended in it.
fn function(
    p: &Program,
    id: FuncId,
    args: &[u32],
    machine: &mut Machine,
) -> Result<Option<Vec<u32>>, EvalError> {
    let f = &p.funcs[id];
    let mut values: SecondaryMap<ValueId, u32> = SecondaryMap::with_capacity(f.values.len());
    f.params.iter().zip(args).for_each(|(&v, &x)| values[v] = x);
    let mut b = f.entry();
    loop {
        for &i in &f.blocks[b].body {
            let inst = &f.insts[i];
            if let Some(call) = inst.call() {
                machine.tick()?;
                let args: Vec<u32> = call.args.iter().map(|&v| values[v]).collect();
                let Some(results) = function(p, call.func, &args, machine)? else { return Ok(None) };
                call.results.iter().zip(results).for_each(|(&v, x)| values[v] = x);
                continue;
            }
            if let Some(results) = machine.step(inst, &|v| values[v])? {
                inst.dsts.iter().zip(results).for_each(|(&d, x)| values[d] = x);
            }
        }
        machine.tick()?;
        let edge = match &f.blocks[b].term {
            Term::Jump(e) => e,
            Term::Branch { cond, not, then, els } => {
                if (values[*cond] != 0) != *not {
                    then
                } else {
                    els
                }
            }
            Term::Ret(results) => return Ok(Some(results.iter().map(|&v| values[v]).collect())),
            Term::Exit => return Ok(None),
            Term::Unreachable => return Err(EvalError::Unreachable),
        };
        let args: Vec<u32> = edge.args.iter().map(|&v| values[v]).collect();
        f.blocks[edge.to].params.iter().zip(args).for_each(|(&p, x)| values[p] = x);
        b = edge.to;
    }
}
