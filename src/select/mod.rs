//! Instruction selection: one IR instruction of the `Legal` phase to one machine instruction.
//!
//! [`select`] is the only place that knows which machine instruction performs an IR operation. It
//! serves code emission, with the registers that were assigned, and every question of the kind "may
//! this operand stand here?" ([`legal`]), with a placeholder register. What an operand field can
//! hold is asked of the rows ([`isa::fits`]), so no rule of legality stands twice.
//!
//! ```text
//! add u32 %r3 %r1 c0[0x4]   ->  IADD R3, R1, c[0x0][0x4]
//! set pred %p0 lt s32 %r1 7 ->  ISETP.LT.AND P0, PT, R1, 0x7, PT
//! ```
//!
//! Operands of commutative operations are put into the order that the machine takes. An immediate
//! zero is RZ. An immediate too wide for the short form selects the form with 32 bits, where there
//! is one.

mod arith;
mod attribute;
mod convert;
mod float;
mod form;
mod lanes;
mod logic;
mod memory;
mod operand;
mod surface;
mod texture;

pub(crate) use lanes::special_register;

use crate::chip::Chip;
use crate::ir::{Aux, Function, Inst, Op, Type, ValueId};
use crate::isa::{self, MInst, Pred};

/// Why no machine instruction performs an IR instruction as it stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum Unencodable {
    #[error("no machine instruction performs the operation on this type")]
    Operation,
    #[error("an operand is of a kind that the machine instruction cannot take")]
    Operand,
}

/// The number of the register assigned to a value: a general register, 255 for RZ, or a predicate,
/// 7 for PT.
pub(crate) type Assigned<'a> = &'a dyn Fn(ValueId) -> u8;

/// The context of one selection.
pub(crate) struct Cx<'a> {
    pub chip: Chip,
    pub func: &'a Function,
    pub reg: Assigned<'a>,
    /// The predicate of every instruction that is selected.
    pub guard: Pred,
}

type Result<T> = std::result::Result<T, Unencodable>;

/// The machine instruction that performs `inst`. Its operands may still not fit: [`isa::fits`]
/// tells.
pub(crate) fn select(chip: Chip, func: &Function, inst: &Inst, reg: Assigned<'_>) -> Result<MInst> {
    let guard = inst.guard.map_or(Pred::T, |g| Pred { num: reg(g.pred), not: g.not });
    Cx { chip, func, reg, guard }.operation(inst)
}

/// Whether `inst` is one machine instruction as it stands.
pub(crate) fn legal(chip: Chip, func: &Function, inst: &Inst) -> bool {
    form::legal(
        chip,
        func,
        inst,
        || matches!(&select(chip, func, inst, &|_| 0), Ok(m) if isa::fits(chip, m).is_ok()),
    )
}

/// Whether `inst` is what it will be emitted as: one machine instruction, or an operation that
/// register assignment resolves.
pub(crate) fn is_final(chip: Chip, func: &Function, inst: &Inst) -> bool {
    matches!(inst.op, Op::Undef | Op::Call | Op::Pcopy) || legal(chip, func, inst)
}

/// Why `inst` is not what it will be emitted as ([`is_final`]), if so.
pub(crate) fn check(chip: Chip, func: &Function, inst: &Inst) -> std::result::Result<(), Unencodable> {
    if is_final(chip, func, inst) {
        return Ok(());
    }
    Err(select(chip, func, inst, &|_| 0).err().unwrap_or(Unencodable::Operand))
}

impl Cx<'_> {
    /// An instruction without operands yet.
    #[inline(always)]
    fn inst(&self, op: isa::Op) -> MInst {
        MInst::new(op).guarded(self.guard)
    }

    fn operation(&self, i: &Inst) -> Result<MInst> {
        match i.op {
            Op::Mov => self.mov(i),
            Op::Sel => self.sel(i),
            Op::Slct => self.slct(i),

            Op::Add if i.ty == Type::F64 => self.fadd(i, isa::Op::Dadd, isa::Op::Dadd, false),
            Op::Sub if i.ty == Type::F64 => self.fadd(i, isa::Op::Dadd, isa::Op::Dadd, true),
            Op::Mul if i.ty == Type::F64 => self.fmul(i, isa::Op::Dmul, isa::Op::Dmul),
            Op::Mad if i.ty == Type::F64 => self.ffma(i, isa::Op::Dfma),
            Op::Min | Op::Max if i.ty == Type::F64 => self.fminmax(i, isa::Op::Dmnmx),
            Op::Add if i.ty == Type::F32 => self.fadd(i, isa::Op::Fadd, isa::Op::Fadd32i, false),
            Op::Sub if i.ty == Type::F32 => self.fadd(i, isa::Op::Fadd, isa::Op::Fadd32i, true),
            Op::Mul | Op::MulZ if i.ty == Type::F32 => self.fmul(i, isa::Op::Fmul, isa::Op::Fmul32i),
            Op::Mad if i.ty == Type::F32 => self.ffma(i, isa::Op::Ffma),
            Op::Min | Op::Max if i.ty == Type::F32 => self.fminmax(i, isa::Op::Fmnmx),
            Op::Rcp | Op::Rsq | Op::Sin | Op::Cos | Op::Ex2 | Op::Lg2 | Op::Rcp64h | Op::Rsq64h => {
                self.mufu(i)
            }
            Op::PreSin | Op::PreEx2 => self.rro(i),

            Op::Add | Op::Sub | Op::AddSat | Op::SubSat => self.iadd(i),
            Op::Mul | Op::MulHi => self.imul(i),
            Op::Mad | Op::MadHi => self.imad(i),
            Op::ShlAdd => self.iscadd(i),
            Op::Sad => self.isad(i),
            Op::Min | Op::Max => self.iminmax(i),

            Op::And | Op::Or | Op::Xor if i.ty == Type::Pred => self.psetp(i),
            Op::And | Op::Or | Op::Xor => self.lop(i),
            Op::Not => self.not(i),
            Op::Shl | Op::Shr => self.shift(i),
            Op::ShfL | Op::ShfR => self.shf(i),
            Op::Ext => self.bfe(i),
            Op::Ins => self.bfi(i),
            Op::Brev => self.brev(i),
            Op::Popc => self.popc(i),
            Op::Flo => self.flo(i),
            Op::Prmt => self.prmt(i),

            Op::Cvt => self.cvt(i),
            Op::Set => self.set(i),

            Op::Ld => self.ld(i),
            Op::St => self.st(i),
            Op::Atom => self.atom(i),
            Op::LdLock => self.ldslk(i),
            Op::StUnlock => self.stul(i),
            Op::Membar => self.membar(i),
            Op::Cctl => self.cctl(i),

            Op::Rdsv => self.s2r(i),
            Op::Bar => self.bar(i),
            Op::Vote => self.vote(i),
            Op::Shfl => self.shfl(i),
            Op::Quadop => self.quadop(i),

            Op::Interp => self.ipa(i),
            Op::Vertex => self.vild(i),
            Op::AttrAddr => self.al2p(i),
            Op::Emit => self.out(i),
            Op::Discard => Ok(self.inst(isa::Op::Kil)),
            Op::Pixel => self.pixld(i),
            Op::SelFact => self.sel_fact(i),

            Op::Tex => self.tex(i),
            Op::Suld => self.surface_load(i),
            Op::Sust => self.surface_store(i),
            Op::Suclamp => self.suclamp(i),
            Op::Subfm => self.subfm(i),
            Op::Sueau => self.sueau(i),
            Op::Madsp => self.madsp(i),
            Op::Texbar => match i.aux {
                Aux::Count(n) => Ok(self.inst(isa::Op::Texdepbar).arg(isa::Operand::imm(n.into()))),
                _ => Err(Unencodable::Operand),
            },

            Op::Undef
            | Op::Div
            | Op::Mod
            | Op::MulZ
            | Op::Neg
            | Op::Abs
            | Op::Sqrt
            | Op::Ldexp
            | Op::BufSize
            | Op::Suq
            | Op::Sured
            | Op::Call
            | Op::WholeWarp
            | Op::Pcopy => Err(Unencodable::Operation),
        }
    }
}
