//! Micro-ops: the executable form of an instruction, operands resolved to rows, what is computed to a named operation.
//!
//! [`Micro::class`] is the table that says what an executor must expect of each.

pub use super::operand::*;

use super::compare::CmpOp;
use super::laneop::{LaneOp, RowOp};
use super::stageop::StageOp;
use super::surfop::{Clamp, SurfaceOp};
use super::texop::TexOp;
use super::wideop::WideOp;
use crate::state::lanes::Src;
use arrayvec::ArrayVec;

/// What a comparison compares.
#[derive(Clone, Copy, Debug)]
pub enum Cmp {
    Rows {
        op: CmpOp,
        a: Src,
        b: Src,
    },
    /// The high words of a wider comparison, whose lower words left their flags in CC.
    IntX {
        test: u8,
        signed: bool,
        a: Src,
        b: Src,
    },
    F64 {
        test: u8,
        a: Src2,
        b: Src2,
    },
    Preds {
        a: PSrc,
        b: PSrc,
        bop: Bop,
    },
    Cc(u8),
}

/// Transfers of control.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flow {
    Bra {
        target: u32,
        cc: u8,
        /// `.U`: taken by all running threads or by none; those of one that is not come to the test again.
        uniform: bool,
    },
    /// To `reg + base`, each thread to its own.
    Brx {
        reg: Src,
        base: i64,
        cc: u8,
    },
    Ssy(u32),
    Pbk(u32),
    Pcnt(u32),
    Pret(u32),
    Plongjmp(u32),
    Cal(u32),
    Brk(u8),
    Cont(u8),
    Ret(u8),
    Longjmp(u8),
    Exit(u8),
    /// Pixels are discarded; their threads go on as helpers. In a compute program they end.
    Kil(u8),
    /// All threads of quads run of which one does, until [`Flow::QuadPop`].
    QuadOn,
    QuadPop,
}

/// What an instruction does.
#[derive(Clone, Debug)]
pub enum Micro {
    /// A scheduling word, stepped over.
    Sched,
    /// What cannot run, and why.
    Illegal(&'static str),
    /// What names a register or constant that the launch does not have.
    OutOfBounds(Box<str>),
    Nop,
    /// MEMBAR: nothing but an order of accesses.
    Fence(Scope),
    /// An operation on 32-bit values of one lane.
    Lane {
        op: RowOp,
        dst: u8,
        src: [Src; 3],
    },
    /// On 64-bit values; a 32-bit destination takes the low word.
    Wide {
        op: WideOp,
        dst: u8,
        wide: bool,
        src: [Src2; 3],
    },
    /// A sum with carry in or out; `inv` complements the operands.
    Sum {
        dst: u8,
        src: [Src; 2],
        inv: [bool; 2],
        carry: CarryIn,
        sat: bool,
        shift: u8,
    },
    /// A product's half, plus `c`, with carry in or out.
    Mad {
        dst: u8,
        src: [Src; 3],
        signed: [bool; 2],
        hi: bool,
        neg: [bool; 2],
        carry: CarryIn,
        sat: bool,
    },
    /// A part of a minimum (`pick` true) or maximum of wide integers.
    MinMaxX {
        dst: u8,
        src: [Src; 2],
        signed: bool,
        pick: PSrc,
        part: MinMaxPart,
    },
    MinMax {
        dst: u8,
        src: [Src; 2],
        min: RowOp,
        max: RowOp,
        pick: PSrc,
    },
    MinMax64 {
        dst: u8,
        src: [Src2; 2],
        pick: PSrc,
    },
    Sel {
        dst: u8,
        src: [Src; 2],
        pick: PSrc,
    },
    Set {
        dst: SetDst,
        cmp: Cmp,
        with: PSrc,
        bop: Bop,
    },
    /// The swizzled sum of quads; two bits of `ops` a lane, the highest for the first: a+b, b-a, a-b, b.
    Fswz {
        dst: u8,
        src: [Src; 2],
        swizzle: u8,
        ops: u16,
        ftz: bool,
    },
    S2r {
        dst: u8,
        reg: u8,
    },
    P2r {
        dst: u8,
        src: Src,
        mask: Src,
        high: bool,
    },
    R2p {
        src: Src,
        mask: Src,
        high: bool,
    },
    B2r {
        dst: u8,
        pred: u8,
    },
    Lepc {
        dst: u8,
    },
    Vote {
        mode: VoteMode,
        dst: u8,
        pdst: u8,
        src: PSrc,
    },
    Shfl {
        mode: ShflMode,
        dst: u8,
        pdst: u8,
        src: [Src; 3],
    },
    Load {
        space: Space,
        width: Width,
        dst: u8,
        addr: Addr,
    },
    Store {
        space: Space,
        width: Width,
        src: u8,
        addr: Addr,
    },
    LoadLock {
        width: Width,
        dst: u8,
        pdst: u8,
        addr: Addr,
    },
    /// `cond`: the store may fail, and says so.
    StoreUnlock {
        width: Width,
        src: u8,
        pdst: u8,
        addr: Addr,
        cond: bool,
    },
    LoadConst {
        bank: u8,
        width: Width,
        dst: u8,
        base: Src,
        offset: i32,
        indexed: bool,
    },
    Atom {
        op: AtomOp,
        ty: AtomTy,
        dst: u8,
        addr: Addr,
        src: [u8; 2],
    },
    /// The result of a reduction goes to `dst` and `pdst` once the barrier is complete.
    Bar {
        mode: BarMode,
        id: Src,
        count: Option<Src>,
        pred: PSrc,
        dst: u8,
        pdst: u8,
    },
    Trap,
    Flow(Flow),
    Tex(Box<TexOp>),
    /// Coordinate, extent word, bias.
    SuClamp {
        dst: u8,
        pdst: u8,
        src: [Src; 3],
        how: Clamp,
    },
    SuBfm {
        dst: u8,
        pdst: u8,
        src: [Src; 3],
        three_d: bool,
    },
    Surface(Box<SurfaceOp>),
    /// What only graphics stages have.
    Stage(Box<StageOp>),
}

/// What an executor must expect of a micro-op.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// It computes each lane's registers, predicates and flags from those of the same lane.
    Pure,
    /// It also looks at other lanes, or at what the block is at: never faults.
    CrossLane,
    /// It reads or writes memory, inputs or outputs, or is a fault: the warp stays as it was if it faults.
    MayFault,
    /// It may change which lanes run, or where: it ends a basic block.
    Control,
}

impl Micro {
    /// An operation on 32-bit values of one lane.
    pub fn lane(op: LaneOp, dst: u8, src: [Src; 3]) -> Micro {
        Micro::Lane { op: RowOp::new(op), dst, src }
    }

    /// Its class.
    pub fn class(&self) -> Class {
        match self {
            Micro::Sched
            | Micro::Nop
            | Micro::Lane { .. }
            | Micro::Wide { .. }
            | Micro::Sum { .. }
            | Micro::Mad { .. }
            | Micro::MinMaxX { .. }
            | Micro::MinMax { .. }
            | Micro::MinMax64 { .. }
            | Micro::Sel { .. }
            | Micro::Set { .. }
            | Micro::P2r { .. }
            | Micro::R2p { .. }
            | Micro::SuClamp { .. }
            | Micro::SuBfm { .. } => Class::Pure,
            Micro::Fswz { .. }
            | Micro::Vote { .. }
            | Micro::Shfl { .. }
            | Micro::S2r { .. }
            | Micro::B2r { .. }
            | Micro::Lepc { .. }
            | Micro::Fence(_) => Class::CrossLane,
            Micro::Load { .. }
            | Micro::Store { .. }
            | Micro::LoadLock { .. }
            | Micro::StoreUnlock { .. }
            | Micro::LoadConst { .. }
            | Micro::Atom { .. }
            | Micro::Tex(_)
            | Micro::Surface(_)
            | Micro::Stage(_)
            | Micro::Trap
            | Micro::Illegal(_)
            | Micro::OutOfBounds(_) => Class::MayFault,
            Micro::Bar { .. } | Micro::Flow(_) => Class::Control,
        }
    }

    /// Where it may send lanes beside the next instruction, now or later.
    pub fn target(&self) -> Option<u32> {
        let Micro::Flow(flow) = self else { return None };
        match *flow {
            Flow::Bra { target, .. }
            | Flow::Ssy(target)
            | Flow::Pbk(target)
            | Flow::Pcnt(target)
            | Flow::Pret(target)
            | Flow::Plongjmp(target)
            | Flow::Cal(target) => Some(target),
            _ => None,
        }
    }
}

/// A run of registers: first and count.
pub(crate) type Regs = (u8, u8);

/// One decoded word.
#[derive(Clone, Debug)]
pub struct Inst {
    pub micro: Micro,
    /// How far it is to the next instruction.
    pub bytes: u8,
    pub guard: PSrc,
    /// `.S`.
    pub sync: bool,
    /// The lanes of each quad that execute it.
    pub quad: u8,
    /// The result's flags go to CC.
    pub cc: bool,
    /// `.X` of an instruction that has no carry: its zero flag continues the previous one.
    pub chain: bool,
    /// What it reads and writes, for the checks and for bounds.
    pub reads: ArrayVec<Regs, 8>,
    pub writes: ArrayVec<Regs, 4>,
    /// Predicates read (guard included) and written, one bit each.
    pub pred_reads: u8,
    pub pred_writes: u8,
    pub reads_cc: bool,
    /// Entries of the program's pool that it reads.
    pub uniforms: ArrayVec<u16, 8>,
    /// A basic block begins here.
    pub leader: bool,
}

impl Inst {
    pub fn new(micro: Micro) -> Inst {
        Inst {
            micro,
            bytes: 8,
            guard: PSrc::TRUE,
            sync: false,
            quad: 15,
            cc: false,
            chain: false,
            reads: ArrayVec::new(),
            writes: ArrayVec::new(),
            pred_reads: 0,
            pred_writes: 0,
            reads_cc: false,
            uniforms: ArrayVec::new(),
            leader: false,
        }
    }

    /// Whether the next instruction may have another mask, or be elsewhere: a basic block ends behind it.
    pub fn ends_block(&self) -> bool {
        self.sync || self.micro.class() == Class::Control
    }

    /// Whether all lanes that run execute it.
    pub fn is_for_all(&self) -> bool {
        self.guard == PSrc::TRUE && self.quad == 15
    }

    /// Whether no lane goes on with the next instruction.
    pub fn never_falls_through(&self) -> bool {
        const ALWAYS: u8 = 15;
        let Micro::Flow(flow) = self.micro else { return false };
        self.guard == PSrc::TRUE
            && match flow {
                Flow::Bra { cc, uniform, .. } => cc == ALWAYS && !uniform,
                Flow::Brx { cc, .. }
                | Flow::Exit(cc)
                | Flow::Ret(cc)
                | Flow::Brk(cc)
                | Flow::Cont(cc)
                | Flow::Longjmp(cc) => cc == ALWAYS,
                _ => false,
            }
    }

    /// Whether all that it reads and writes are its warp's registers, predicates and flags.
    pub(crate) fn is_of_registers(&self) -> bool {
        match self.micro {
            Micro::S2r { .. } | Micro::Fence(_) => false,
            _ => matches!(self.micro.class(), Class::Pure | Class::CrossLane) && !self.sync,
        }
    }

    /// Whether it may change global memory.
    pub fn writes_memory(&self) -> bool {
        match &self.micro {
            Micro::Store { space, .. } => *space == Space::Generic,
            Micro::Surface(op) => op.access.writes(),
            Micro::Atom { .. } => true,
            _ => false,
        }
    }

    /// One above the highest register it names.
    pub fn gprs(&self) -> u32 {
        self.reads.iter().chain(&self.writes).map(|&(r, n)| u32::from(r) + u32::from(n)).max().unwrap_or(0)
    }
}
