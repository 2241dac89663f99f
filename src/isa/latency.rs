//! Which unit executes an operation, and how long its results take.
//!
//! The figures are the distances that ptxas keeps for sm_35 between an instruction and the first reader of its
//! result, in cycles (measured over its output; facts: shared table of the project). GK104 has the same pipelines.

use super::Op;
use super::row::Unit;

/// What the timing of an operation goes by.
#[derive(Clone, Copy)]
struct Timing {
    unit: Unit,
    result: u8,
    predicate: u8,
    issue: u8,
}

/// By operation.
const TIMINGS: [Timing; Op::ALL.len()] = {
    let mut all = [Timing::of(Op::Nop); Op::ALL.len()];
    let mut n = 0;
    while n < all.len() {
        all[n] = Timing::of(Op::ALL[n]);
        n += 1;
    }
    all
};

/// The unit of an operation.
pub fn unit(op: Op) -> Unit {
    TIMINGS[op as usize].unit
}

/// Cycles from the issue of an operation to the issue of the first instruction that may read its register result.
/// Longer operations are waited for by the hardware's scoreboard: 32 is the most that a scheduling word can say.
pub fn result(op: Op) -> u32 {
    TIMINGS[op as usize].result.into()
}

/// The same for a predicate that the operation sets, read as a guard or as data.
pub fn predicate(op: Op) -> u32 {
    TIMINGS[op as usize].predicate.into()
}

/// The same for the condition code: `.CC` to `.X`.
pub const CARRY: u32 = 13;

/// Cycles before the next instruction may issue, whatever it is.
pub fn issue(op: Op) -> u32 {
    TIMINGS[op as usize].issue.into()
}

const fn unit_of(op: Op) -> Unit {
    use Op::*;
    match op {
        Dadd | Dmul | Dfma | Dmnmx | Dset => Unit::Double,
        Dsetp | Fsetp | Isetp | Psetp | Csetp | Fchk | Dchk | Fcco | Vsetp => Unit::Compare,
        Mufu => Unit::Sfu,
        Lds | Ldslk | Sts | Stsul | Stscul | Shfl | Cctls => Unit::Shared,
        Ld | Ldu | Ldl | St | Stl | Atom | Red | Cctl | Cctll | Membar | Suld | Sust | Suldga | Sustga
        | Sured | Suq | Sulea => Unit::Memory,
        Ldc => Unit::Constant,
        Tex | Texs | Tld | Tld4 | Txd | Txq | Txa | Tmml | Ldg | Texdepbar => Unit::Texture,
        Ald | Ast | Al2p | Vild | Out | Isberd | Pixld | Ipa => Unit::Attribute,
        Bra | Brx | Jmp | Jmx | Cal | Jcal | Ret | Pret | Ssy | Sync | Pbk | Brk | Pcnt | Cont | Plongjmp
        | Longjmp | Exit | Kil | Bpt | Rtt | Ide | Ram | Sam | Bar => Unit::Flow,
        _ => Unit::Alu,
    }
}

impl Timing {
    const fn of(op: Op) -> Timing {
        let unit = unit_of(op);
        let result = match unit {
            _ if matches!(op, Op::Fswz) => 16,
            Unit::Alu | Unit::Sfu | Unit::Constant => 9,
            Unit::Double => 10,
            Unit::Compare => 13,
            Unit::Shared => 24,
            Unit::Memory => 32,
            Unit::Texture => 18,
            Unit::Attribute => 15,
            Unit::Flow => 16,
        };
        let predicate = match op {
            Op::Dsetp => 14,
            Op::Shfl | Op::Ldslk | Op::Stsul | Op::Stscul => 28,
            _ if result < 13 => 13,
            _ => result,
        };
        let issue = match op {
            Op::Bar | Op::Exit | Op::Bra | Op::Ret => 16,
            _ if matches!(unit, Unit::Texture) => 18,
            _ => 1,
        };
        Timing { unit, result, predicate, issue }
    }
}
