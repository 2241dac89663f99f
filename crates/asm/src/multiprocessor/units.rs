//! What instructions of warps share on a multiprocessor, and how long memory takes to answer.

use nvir_base::Chip;
use nvir_isa::latency::{self, Row};
use nvir_isa::row::Unit;
use nvir_isa::{MInst, Mod, Op};

/// Parts of a cycle in which units are occupied: a warp is a whole number of them in each.
pub(super) const PARTS: u64 = 30;

/// A shared unit. Its lanes take a warp in `32 / lanes` cycles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shared {
    /// Simple arithmetic of floats and integers: 192 and 160 lanes.
    Cores,
    /// Each of [`Row`] by itself.
    Row(Row),
    Double,
    /// Addresses of memory, shared memory and lane exchange.
    Memory,
    Texture,
    /// The schedulers have it themselves.
    None,
}

impl Shared {
    pub(super) const COUNT: usize = Row::COUNT + 4;

    pub(super) fn of(m: &MInst) -> Shared {
        match (latency::row(m.op), latency::unit(m.op)) {
            (Row::None, Unit::Double) => Shared::Double,
            (Row::None, Unit::Shared | Unit::Memory | Unit::Constant | Unit::Attribute) => Shared::Memory,
            (Row::None, Unit::Texture) => Shared::Texture,
            (Row::None, Unit::Flow) => Shared::None,
            (Row::None, Unit::Alu | Unit::Compare | Unit::Sfu) => Shared::Cores,
            (Row::Constant, _) => Shared::Memory,
            (row, _) => Shared::Row(row),
        }
    }

    /// Its number below [`Shared::COUNT`], if it is one that is waited for.
    pub(super) fn index(self) -> Option<usize> {
        match self {
            Shared::Row(row) => Some(row as usize),
            Shared::Cores => Some(Row::COUNT),
            Shared::Double => Some(Row::COUNT + 1),
            Shared::Memory => Some(Row::COUNT + 2),
            Shared::Texture => Some(Row::COUNT + 3),
            Shared::None => None,
        }
    }

    /// For how many [`PARTS`] an instruction of a warp occupies it. Source: CUDA C programming guide, throughput of native
    /// arithmetic instructions, compute capability 3.0 and 3.5; texture: GK110 whitepaper (16 units, each four texels of one
    /// lane a cycle).
    pub(super) fn parts(self, chip: Chip, m: &MInst) -> u64 {
        let is_float =
            matches!(m.op, Op::Fadd | Op::Fadd32i | Op::Fmul | Op::Fmul32i | Op::Ffma | Op::Ffma32i);
        let lanes = match self {
            Shared::Cores if is_float => 192,
            Shared::Cores => 160,
            Shared::Double if chip == Chip::Gk110 => 64,
            Shared::Double => 8,
            Shared::Row(Row::Shift) if chip == Chip::Gk110 => 64,
            Shared::Row(_) | Shared::Memory => 32,
            Shared::Texture => 16,
            Shared::None => return 0,
        };
        32 * PARTS / lanes
    }
}

/// How an instruction's results come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Answer {
    /// After the cycles that the code itself waits.
    Counted,
    /// After these cycles from its issue, and one more for each further pass; readers wait.
    Late(u64),
    /// The same, but only TEXDEPBAR waits.
    Texture(u64),
}

/// Cycles from issue to result of memory, where what is asked for lies in the cache that is nearest to its kind: global memory in the
/// second level, local memory in the first, textures in theirs. Source: Mei and Chu, Dissecting GPU Memory Hierarchy through
/// Microbenchmarking (2016), GeForce GTX 780.
const GLOBAL: u64 = 222;
const LOCAL: u64 = 47;
const TEXTURE: u64 = 110;

impl Answer {
    pub(super) fn of(m: &MInst) -> Answer {
        match (latency::unit(m.op), m.op) {
            (Unit::Texture, Op::Texdepbar) => Answer::Counted,
            // What is read through the texture unit as plain memory is read once, as a rule.
            (Unit::Texture, Op::Ldg) => Answer::Texture(GLOBAL),
            (Unit::Texture, _) => Answer::Texture(TEXTURE),
            (Unit::Memory, Op::Ldl) => Answer::Late(LOCAL),
            (Unit::Memory, _) => Answer::Late(GLOBAL),
            (Unit::Shared, Op::Shfl) => Answer::Counted,
            (Unit::Shared, _) => Answer::Late(latency::result(m.op).into()),
            _ => Answer::Counted,
        }
    }
}

/// Whether the warp waits for the others of its block.
pub(super) fn waits_for_block(m: &MInst) -> bool {
    m.op == Op::Bar && !m.mods.contains(&Mod::Arv)
}
