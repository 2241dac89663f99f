//! From machine instructions to micro-ops.
//!
//! Runs once for each word of a program. What has no meaning in a compute program (or is malformed: a pair in an
//! odd register, an operand of the wrong kind) becomes [`Micro::Illegal`], which faults when it is executed.

mod conv;
mod float;
mod flow;
mod int;
mod memory;
mod stage;
mod texture;
mod video;

use super::micro::{Bop, Flow, Inst, Micro, NULL, PSrc, Scope, Src2};
use crate::state::lanes::{Modifier, POOL, Src};
use nvir_base::Chip;
use nvir_isa::row::Style;
use nvir_isa::{MInst, Mod, Op, Operand, Pred, Reg, Sel, codec};
use rustc_hash::FxHashMap;

pub(crate) type Res<T> = Result<T, &'static str>;

/// A value that is the same in all threads of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Uniform {
    /// Known from the code.
    Imm(u32),
    /// Bank and byte offset.
    Const(u8, u32),
}

/// The uniform values a program uses. Entry 0 is zero.
#[derive(Clone, Debug)]
pub(crate) struct Pool {
    pub uniforms: Vec<Uniform>,
    index: FxHashMap<Uniform, u16>,
}

impl Pool {
    pub(crate) fn new() -> Pool {
        let zero = Uniform::Imm(0);
        Pool { uniforms: vec![zero], index: FxHashMap::from_iter([(zero, 0)]) }
    }

    /// Forgets what was used.
    pub(crate) fn clear(&mut self) {
        self.uniforms.truncate(1);
        self.index.retain(|_, at| *at == 0);
    }

    fn get(&mut self, u: Uniform) -> Res<u16> {
        if let Some(&i) = self.index.get(&u) {
            return Ok(POOL + i);
        }
        let i = u16::try_from(self.uniforms.len()).ok().filter(|&i| i < u16::MAX - POOL);
        let i = i.ok_or("the program has too many constants")?;
        self.uniforms.push(u);
        self.index.insert(u, i);
        Ok(POOL + i)
    }
}

/// The micro-op of one instruction at `pc`.
pub(crate) fn decode(chip: Chip, m: &MInst, pc: u32, pool: &mut Pool) -> Inst {
    let mut decoder = Decoder { chip, m, pool, inst: Inst::new(Micro::Nop), next: 0 };
    match decoder.dispatch(pc) {
        Ok(micro) => {
            let mut inst = decoder.inst;
            inst.micro = micro;
            inst.guard = PSrc { num: m.guard.num & 7, not: m.guard.not };
            inst.pred_reads |= 1 << inst.guard.num;
            inst.pred_reads &= 0x7f;
            inst.pred_writes &= 0x7f;
            inst.sync = m.sync;
            inst
        }
        Err(why) => {
            let mut inst = Inst::new(Micro::Illegal(why));
            inst.guard = PSrc { num: m.guard.num & 7, not: m.guard.not };
            inst
        }
    }
}

/// The state of decoding one instruction: operands are taken in text order.
struct Decoder<'a> {
    chip: Chip,
    m: &'a MInst,
    pool: &'a mut Pool,
    inst: Inst,
    next: usize,
}

impl Decoder<'_> {
    fn has(&self, m: Mod) -> bool {
        self.m.has(m)
    }

    /// Whether there is a suffix with this spelling.
    fn named(&self, name: &str) -> bool {
        self.m.mods.iter().any(|m| m.name() == name)
    }

    fn peek(&self) -> Option<Operand> {
        self.m.operands.get(self.next).copied()
    }

    fn take(&mut self) -> Res<Operand> {
        let o = self.peek().ok_or("an operand is missing")?;
        self.next += 1;
        Ok(o)
    }

    /// Operands that are left.
    fn left(&self) -> usize {
        self.m.operands.len() - self.next.min(self.m.operands.len())
    }

    /// A destination of `n` registers.
    fn dst_n(&mut self, n: u32) -> Res<u8> {
        let Operand::Reg { reg, cc, .. } = self.take()? else { return Err("a register was expected") };
        self.inst.cc |= cc;
        self.write_regs(reg, n)
    }

    fn write_regs(&mut self, reg: Reg, n: u32) -> Res<u8> {
        if reg == Reg::Z || n == 0 {
            return Ok(NULL);
        }
        if u32::from(reg.0) + n > 255 {
            return Err("a register vector reaches beyond the last register");
        }
        self.inst.writes.try_push((reg.0, n as u8)).map_err(|_| "too many results")?;
        Ok(reg.0)
    }

    fn dst(&mut self) -> Res<u8> {
        self.dst_n(1)
    }

    /// A destination pair.
    fn dst2(&mut self) -> Res<u8> {
        let reg = self.dst_n(2)?;
        if reg != NULL && reg % 2 != 0 { Err("a register pair starts at an odd register") } else { Ok(reg) }
    }

    fn read_regs(&mut self, reg: Reg, n: u32) -> Res<()> {
        if reg == Reg::Z || n == 0 {
            return Ok(());
        }
        if u32::from(reg.0) + n > 255 {
            return Err("a register vector reaches beyond the last register");
        }
        self.inst.reads.try_push((reg.0, n as u8)).map_err(|_| "too many operands")
    }

    /// A register operand as its number (NULL for RZ), `n` registers read.
    fn src_regs(&mut self, n: u32) -> Res<u8> {
        let Operand::Reg { reg, .. } = self.take()? else { return Err("a register was expected") };
        self.read_regs(reg, n)?;
        Ok(reg.0)
    }

    fn reg_src(&mut self, reg: Reg) -> Res<Src> {
        if reg == Reg::Z {
            return Ok(Src::ZERO);
        }
        self.read_regs(reg, 1)?;
        Ok(Src::row(reg.0.into()))
    }

    fn imm(&mut self, bits: u32) -> Res<Src> {
        Ok(Src::row(self.pool.get(Uniform::Imm(bits))?))
    }

    /// A constant that every launch must have.
    fn constant(&mut self, bank: u8, at: u32) -> Res<Src> {
        let row = self.pool.get(Uniform::Const(bank, at))?;
        self.inst.uniforms.try_push(row - POOL).map_err(|_| "too many operands")?;
        Ok(Src::row(row))
    }

    /// A 32-bit operand whose modifiers are integer (`float` false) or float ones.
    fn src(&mut self, float: bool) -> Res<Src> {
        let o = self.take()?;
        let (src, mods) = match o {
            Operand::Reg { reg, mods, .. } => (self.reg_src(reg)?, mods),
            Operand::Imm { bits, mods, .. } => (self.imm(bits)?, mods),
            Operand::Const { bank, base: Reg::Z, offset, mods, .. } => {
                let at = u32::try_from(offset).map_err(|_| "a negative constant offset")?;
                (self.constant(bank, at)?, mods)
            }
            _ => return Err("a register, constant or immediate was expected"),
        };
        let modifier = if float {
            Modifier::float(mods.neg, mods.abs)
        } else {
            Modifier::int(mods.neg, mods.abs, mods.inv)
        };
        Ok(Src { modifier, ..src })
    }

    fn int(&mut self) -> Res<Src> {
        self.src(false)
    }

    fn f32(&mut self) -> Res<Src> {
        self.src(true)
    }

    /// A 64-bit operand; the modifiers are float ones, on the high word.
    fn f64(&mut self) -> Res<Src2> {
        let o = self.take()?;
        let (lo, hi, mods) = match o {
            Operand::Reg { reg: Reg::Z, mods, .. } => (Src::ZERO, Src::ZERO, mods),
            Operand::Reg { reg, mods, .. } => {
                if reg.0 % 2 != 0 {
                    return Err("a register pair starts at an odd register");
                }
                self.read_regs(reg, 2)?;
                (Src::row(reg.0.into()), Src::row(u16::from(reg.0) + 1), mods)
            }
            Operand::Imm { bits, mods, .. } => (Src::ZERO, self.imm(bits)?, mods),
            Operand::Const { bank, base: Reg::Z, offset, mods, .. } => {
                let at = u32::try_from(offset).map_err(|_| "a negative constant offset")?;
                if at % 8 != 0 {
                    return Err("a 64-bit constant is not aligned to 8 bytes");
                }
                (self.constant(bank, at)?, self.constant(bank, at + 4)?, mods)
            }
            _ => return Err("a register pair, constant or immediate was expected"),
        };
        Ok(Src2 { lo, hi: Src { modifier: Modifier::float(mods.neg, mods.abs), ..hi } })
    }

    fn pred_operand(&mut self) -> Res<Pred> {
        match self.take()? {
            Operand::Pred(p) if p.num <= 7 => Ok(p),
            _ => Err("a predicate was expected"),
        }
    }

    /// A predicate destination; 7 drops it.
    fn pdst(&mut self) -> Res<u8> {
        let p = self.pred_operand()?;
        self.inst.pred_writes |= 1 << p.num;
        Ok(p.num)
    }

    fn psrc(&mut self) -> Res<PSrc> {
        let p = self.pred_operand()?;
        self.inst.pred_reads |= 1 << p.num;
        Ok(PSrc { num: p.num, not: p.not })
    }

    /// A predicate source that may be left out (PT).
    fn psrc_or_true(&mut self) -> Res<PSrc> {
        if matches!(self.peek(), Some(Operand::Pred(_))) { self.psrc() } else { Ok(PSrc::TRUE) }
    }

    /// The part that is meant of the next operand, an immediate: the row says it, not the operand.
    fn part_of_immediate(&self) -> Sel {
        let row = codec::row_of(self.chip, self.m).ok();
        match row.and_then(|r| r.slots.get(self.next)).map(|s| s.style) {
            Some(Style::Part(sel)) => sel,
            _ => Sel::Whole,
        }
    }

    /// An unsigned immediate.
    fn imm_value(&mut self) -> Res<u32> {
        match self.take()? {
            Operand::Imm { bits, .. } => Ok(bits),
            _ => Err("an immediate was expected"),
        }
    }

    /// The logic operations among the suffixes, in order.
    fn bops(&self) -> impl Iterator<Item = Bop> + '_ {
        self.m.mods.iter().filter_map(|m| match m {
            Mod::And => Some(Bop::And),
            Mod::Or => Some(Bop::Or),
            Mod::Xor => Some(Bop::Xor),
            _ => None,
        })
    }

    /// The comparison among the suffixes as the hardware's bits (see [`nvir_base::num::float::Test`]).
    fn test(&self) -> u8 {
        self.test_or(Mod::F)
    }

    /// The comparison, or the one that an instruction without its suffix makes.
    fn test_or(&self, unwritten: Mod) -> u8 {
        self.m.mods.iter().find_map(|m| test_of(*m)).or(test_of(unwritten)).unwrap_or(0)
    }

    fn dispatch(&mut self, pc: u32) -> Res<Micro> {
        use Op::*;
        if codec::no_card_has(self.m) {
            return Err("no card has this combination of suffixes");
        }
        match self.m.op {
            Fadd | Fadd32i | Fmul | Fmul32i | Ffma | Ffma32i => self.fma_like(),
            Fmnmx | Fset | Fsetp | Fcmp | Fchk | Mufu | Rro | Fswz => self.float_misc(),
            Dadd | Dmul | Dfma | Dmnmx | Dset | Dsetp | Dchk => self.double(),
            Iadd | Iadd32i | Isub | Imul | Imul32i | Imad | Imad32i | Imadsp | Iscadd | Iscadd32i => {
                self.int_arith()
            }
            Imnmx | Iset | Isetp | Icmp | Isad | Bfe | Bfi | Shl | Shr | Shf | Lop | Lop32i | Flo | Popc
            | Prmt => self.int_misc(),
            F2f | F2i | I2f | I2i => self.conversion(),
            Vadd | Vabsdiff | Vmnmx | Vset | Vsel | Vshl | Vshr | Vmad | Vadd2 | Vadd4 | Vabsdiff2
            | Vabsdiff4 | Vmnmx2 | Vmnmx4 | Vset2 | Vset4 | Vsel2 | Vsel4 | Vavrg2 | Vavrg4 | Vsetp => {
                self.video()
            }
            Mov | Mov32i | Sel | S2r | P2r | R2p | B2r | R2b | Lepc | Pset | Psetp | Cset | Csetp | Vote
            | Shfl => self.moves(),
            Ld | Ldu | Ldl | Lds | Ldslk | Ldc | Ldg | St | Stl | Sts | Stsul | Stscul | Atom | Red => {
                self.memory()
            }
            Cctl | Cctll | Cctls | Texdepbar | Nop | Rtt | Ide => Ok(Micro::Nop),
            Membar => Ok(Micro::Fence(if self.has(Mod::Cta) { Scope::Block } else { Scope::Device })),
            Sam => Ok(Micro::Flow(Flow::QuadOn)),
            Ram => Ok(Micro::Flow(Flow::QuadPop)),
            Ald | Ast | Al2p | Vild | Out | Ipa | Pixld => self.stage(),
            Bra | Brx | Jmp | Jmx | Cal | Jcal | Ret | Pret | Ssy | Sync | Pbk | Brk | Pcnt | Cont
            | Plongjmp | Longjmp | Exit | Kil | Bpt | Bar => self.flow(pc),
            Tex | Tld | Tld4 | Txd | Txq | Tmml => self.texture(),
            Suclamp | Subfm | Sueau | Suldga | Sustga | Sulea | Suld | Sust | Sured | Suq => self.surface(),
            _ => Err("this instruction cannot run in a compute program"),
        }
    }
}

/// A comparison suffix as bits: less 1, equal 2, greater 4, unordered 8.
fn test_of(m: Mod) -> Option<u8> {
    Some(match m {
        Mod::F => 0,
        Mod::Lt => 1,
        Mod::Eq => 2,
        Mod::Le => 3,
        Mod::Gt => 4,
        Mod::Ne => 5,
        Mod::Ge => 6,
        Mod::Num => 7,
        Mod::Nan => 8,
        Mod::Ltu => 9,
        Mod::Equ => 10,
        Mod::Leu => 11,
        Mod::Gtu => 12,
        Mod::Neu => 13,
        Mod::Geu => 14,
        Mod::T => 15,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use nvir_isa::Table;

    /// What no compute program gets from a compiler, or what nothing public defines: executing it is a fault that says so.
    const NOT_EXECUTED: &[(&str, &[Op])] = &[
        ("nothing public defines what they do in graphics", &[Op::Fcco, Op::Votevtg, Op::Txa]),
        ("predicates of PIXLD are undocumented", &[Op::Pixld]),
        ("the driver's", &[Op::Getcrsptr, Op::Getlmembase, Op::Setcrsptr, Op::Setlmembase, Op::Stp]),
        ("barrier registers, which only a trap handler saves", &[Op::B2r, Op::R2b]),
        (
            "not a video instruction of the PTX ISA",
            &[Op::Vsetp, Op::Vsel2, Op::Vsel4, Op::Vshl2, Op::Vshl4, Op::Vshr2, Op::Vshr4],
        ),
        ("locks on global memory, which atomics do without", &[Op::Ldlk, Op::Stul]),
        (
            "queries and reductions of surfaces whose results nothing public defines",
            &[Op::Sured, Op::Suq, Op::Txq],
        ),
        ("BAR.SCAN and BAR.SYNCALL are undocumented", &[Op::Bar]),
        // ptxas loads the target into a register.
        (
            "targets in constant memory",
            &[
                Op::Bra,
                Op::Brx,
                Op::Jmp,
                Op::Jmx,
                Op::Cal,
                Op::Jcal,
                Op::Pret,
                Op::Ssy,
                Op::Pbk,
                Op::Pcnt,
                Op::Plongjmp,
            ],
        ),
    ];

    #[test]
    fn every_row_is_executed_or_named_as_not() {
        let mut state = 1u64;
        let mut random = move || {
            state ^= state >> 12;
            state ^= state << 25;
            state ^= state >> 27;
            state.wrapping_mul(0x2545_f491_4f6c_dd1d)
        };
        for chip in Chip::ALL {
            for row in Table::for_chip(chip).rows() {
                let unknown_sum = row.short && row.op == Op::Vmad;
                let named = unknown_sum || NOT_EXECUTED.iter().any(|(_, ops)| ops.contains(&row.op));
                // Few bits set, so that vectors start at aligned registers often enough.
                let executed = (0..400).any(|_| {
                    let word = random() & random() & !row.mask | row.bits;
                    let found = codec::decode_row(chip, word, 8).filter(|f| std::ptr::eq(f.1, row));
                    found.is_some_and(|(m, _)| {
                        !matches!(decode(chip, &m, 8, &mut Pool::new()).micro, Micro::Illegal(_))
                    })
                });
                assert!(executed || named, "{chip}: no word of {} {:016x} can be executed", row.op, row.bits);
            }
        }
    }

    /// What the back end believes that instructions touch is at least what executing them touches.
    #[test]
    fn every_register_that_is_touched_is_known_to_the_scheduler() {
        use nvir_isa::effects::{self, Resource};
        let mut state = 7u64;
        let mut random = move || {
            state ^= state >> 12;
            state ^= state << 25;
            state ^= state >> 27;
            state.wrapping_mul(0x2545_f491_4f6c_dd1d)
        };
        let mut wrong: std::collections::BTreeMap<String, String> = Default::default();
        for chip in Chip::ALL {
            for row in Table::for_chip(chip).rows() {
                for _ in 0..200 {
                    let word = random() & random() & !row.mask | row.bits;
                    let Some((m, _)) = codec::decode_row(chip, word, 8) else { continue };
                    let inst = decode(chip, &m, 8, &mut Pool::new());
                    if matches!(inst.micro, Micro::Illegal(_)) {
                        continue;
                    }
                    let (mut reads, mut writes) = (Vec::new(), Vec::new());
                    effects::reads(&m, |r| reads.push(r));
                    effects::writes(&m, |r| writes.push(r));
                    let gprs = |l: &[(u8, u8)]| -> Vec<Resource> {
                        l.iter().flat_map(|&(r, n)| (r..r + n).map(Resource::Gpr)).collect()
                    };
                    let preds = |mask: u8| (0..7).filter(move |p| mask >> p & 1 != 0).map(Resource::Pred);
                    let cc = |on: bool| on.then_some(Resource::Carry);
                    let read =
                        gprs(&inst.reads).into_iter().chain(preds(inst.pred_reads)).chain(cc(inst.reads_cc));
                    let write =
                        gprs(&inst.writes).into_iter().chain(preds(inst.pred_writes)).chain(cc(inst.cc));
                    let mut missing: Vec<String> =
                        read.filter(|r| !reads.contains(r)).map(|r| format!("reads {r:?}")).collect();
                    missing.extend(write.filter(|r| !writes.contains(r)).map(|r| format!("writes {r:?}")));
                    if !missing.is_empty() {
                        let text = nvir_isa::text::print(chip, &m);
                        wrong
                            .entry(m.op.to_string())
                            .or_insert_with(|| format!("{text}: {}", missing.join(", ")));
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
