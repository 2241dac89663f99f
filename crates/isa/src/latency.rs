//! The timing of Kepler's operations, one table: which unit executes an operation, how long its
//! results take, how often it may issue, and what may issue with it.
//!
//! The figures are what ptxas 11.8 keeps for sm_35, measured over 226,782 instructions of its
//! output; GK104 has the same words and, as far as NVIDIA's listings for it go, the same figures.
//! Shader inputs and outputs are not in ptxas's code: their latencies are those of NAK
//! (`sm30_instr_latencies.rs`). All times are in cycles from issue to issue. The scheduler, the
//! checker of schedules, `nvir isa` and the emulator's profile read this table and no other.

use super::effects::is_texture;
use super::names;
use super::row::Unit;
use super::{MInst, Mod, Op, Operand, Reg};

/// What the timing of an operation goes by.
#[derive(Clone, Copy)]
struct Timing {
    unit: Unit,
    row: Row,
    memory: Option<Queue>,
    result: u32,
    predicate: u32,
    typical: u32,
    pair: PairSet,
}

/// By operation.
const TIMINGS: [Timing; Op::ALL.len()] = {
    let mut all = [Timing::new(Op::Nop); Op::ALL.len()];
    let mut n = 0;
    while n < all.len() {
        all[n] = Timing::new(Op::ALL[n]);
        n += 1;
    }
    all
};

/// The unit of an operation.
pub const fn unit(op: Op) -> Unit {
    TIMINGS[op as usize].unit
}

/// Stands for a time that no count covers: the hardware's scoreboard waits for the result.
pub const SCOREBOARD: u32 = 1000;

/// Cycles from the issue of an operation to the issue of the first instruction that may read its
/// register result. [`SCOREBOARD`] where the hardware waits; a texture's result is there after its
/// `TEXDEPBAR`, hence 0.
pub fn result(op: Op) -> u32 {
    TIMINGS[op as usize].result
}

/// The same for a predicate that the operation sets, read as a guard or as data.
pub fn predicate(op: Op) -> u32 {
    TIMINGS[op as usize].predicate
}

/// The same for the condition code: `.CC` to `.X`.
pub const CARRY: u32 = 13;

/// Cycles that a register result takes on a card as a rule, never less than [`result`] where that
/// is a count: memory and special functions take longer than what counts make sure of. What a
/// scheduler should keep between the two.
pub fn typical(op: Op) -> u32 {
    TIMINGS[op as usize].typical
}

/// Cycles for which an instruction of [`holds_sources`] keeps them: nothing overwrites them before.
pub const HOLD: u32 = 15;

/// Whether an instruction reads its registers and its guard late, so that they must not be
/// overwritten for [`HOLD`] cycles: memory instructions but LDC.
pub fn holds_sources(op: Op) -> bool {
    TIMINGS[op as usize].memory.is_some_and(|q| q != Queue::Barrier)
}

/// Whether an operation writes so late that it may follow any earlier writer of its result, and any
/// instruction that holds it, in the next cycle.
pub fn writes_late(op: Op) -> bool {
    op == Op::S2r || result(op) == SCOREBOARD || unit(op) == Unit::Texture
}

/// Whether an operation waits by itself for what it reads.
pub fn waits_for_sources(op: Op) -> bool {
    is_texture(op)
}

/// Operations that share an issue port of one in [`ROW_INTERVAL`] cycles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Row {
    /// Integer multiplication.
    Multiply,
    /// Shifts and bit fields.
    Shift,
    /// Counting bits.
    Count,
    /// Reads of special registers.
    SpecialRegister,
    /// The special function unit.
    Special,
    /// Range reduction before it.
    Range,
    /// Conversions.
    Convert,
    /// Loads of constants.
    Constant,
    /// One in every cycle.
    None,
}

impl Row {
    /// How many share something.
    pub const COUNT: usize = Row::None as usize;
}

/// Cycles between two operations of a [`Row`].
pub const ROW_INTERVAL: u32 = 4;

/// The row of an operation.
pub const fn row(op: Op) -> Row {
    TIMINGS[op as usize].row
}

/// How memory instructions and barriers keep apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Queue {
    /// LD, LDS, LDL and their like.
    Load,
    /// SHFL: what follows it waits no longer than behind a load.
    Shuffle,
    /// Stores, atomics, cache control.
    Store,
    /// BAR and MEMBAR.
    Barrier,
}

impl Queue {
    /// All of them.
    pub const ALL: [Queue; 4] = [Queue::Load, Queue::Shuffle, Queue::Store, Queue::Barrier];
}

/// The queue of an operation, if it is a memory instruction or a barrier.
pub const fn queue(op: Op) -> Option<Queue> {
    TIMINGS[op as usize].memory
}

/// Cycles between two instructions of queues.
pub fn queue_interval(first: Queue, second: Queue) -> u32 {
    let reads = |q| matches!(q, Queue::Load | Queue::Shuffle);
    match first {
        Queue::Shuffle => 4,
        _ if reads(first) && reads(second) => 4,
        _ => 15,
    }
}

/// Cycles from an FP64 operation to one that waits for the unit; see [`waits_for_double`].
pub const DOUBLE_INTERVAL: u32 = 4;

/// Whether an operation keeps [`DOUBLE_INTERVAL`] behind FP64 ones.
pub const fn waits_for_double(op: Op) -> bool {
    matches!(op, Op::F2f | Op::F2i | Op::I2f | Op::Dmnmx | Op::Dset | Op::Dsetp)
}

/// Cycles from an LDC with a register in its address to the next LDC.
pub const INDEXED_INTERVAL: u32 = 16;

/// Whether an instruction is such an LDC.
pub fn is_indexed_constant(m: &MInst) -> bool {
    let indexed = |o: &Operand| matches!(o, Operand::Const { base, .. } if *base != Reg::Z);
    m.op == Op::Ldc && m.operands.iter().any(indexed)
}

/// Cycles from a texture instruction to one that is none.
pub const BEHIND_TEXTURE: u32 = 18;

/// The fewest cycles from an instruction to anything, apart from [`BEHIND_TEXTURE`].
pub fn behind(m: &MInst) -> u32 {
    match m.op {
        Op::Texdepbar => 4,
        Op::Membar | Op::Cal | Op::Jcal => 16,
        _ if reads_clock(m) => 16,
        _ => 1,
    }
}

/// The fewest cycles from one instruction to the next in the code, whatever they touch.
pub fn neighbours(first: &MInst, second: &MInst) -> u32 {
    if keeps_away(second) {
        return 16;
    }
    match first.op {
        Op::Bar if second.op == Op::B2r => 15,
        op if is_texture(op) && !is_texture(second.op) => BEHIND_TEXTURE,
        _ => behind(first),
    }
}

/// Whether an instruction keeps 16 cycles behind any other.
pub fn keeps_away(m: &MInst) -> bool {
    matches!(m.op, Op::Cal | Op::Jcal) || reads_clock(m)
}

/// Whether an instruction reads a clock: 16 cycles before and behind it.
pub fn reads_clock(m: &MInst) -> bool {
    m.op == Op::S2r && m.operands.iter().any(|o| matches!(*o, Operand::Sreg(n) if names::is_clock(n)))
}

/// Cycles from the last instruction of a block to what runs next: afterwards nothing of fixed
/// latency is pending.
pub const DRAIN: u32 = 16;
/// [`DRAIN`] in a function with FP64 or 64-bit conversions.
pub(crate) const DRAIN_DOUBLE: u32 = 12;
/// The same behind a branch that is always taken.
pub const DRAIN_BRANCH: u32 = 15;

/// Whether a function that has this instruction drains in [`DRAIN_DOUBLE`] cycles.
pub fn is_double(m: &MInst) -> bool {
    let wide = |k: &Mod| matches!(k, Mod::F64 | Mod::U64 | Mod::S64);
    unit(m.op) == Unit::Double
        || m.op == Op::Dsetp
        || matches!(m.op, Op::F2f | Op::F2i | Op::I2f | Op::I2i) && m.mods.iter().any(wide)
}

/// Whether control may go elsewhere after the instruction, or come back later.
pub fn transfers(m: &MInst) -> bool {
    use Op::*;
    m.sync
        || matches!(m.op, Bra | Brx | Jmp | Jmx | Cal | Jcal | Ret | Brk | Cont | Longjmp | Exit | Kil | Bpt)
}

/// The fewest cycles behind a guarded branch that leads on, as ptxas keeps them where nothing is
/// pending.
pub const BEHIND_GUARDED: u32 = 3;

/// Cycles behind an instruction that [`transfers`] control, `double` in a function of
/// [`is_double`]. What has issued takes `pending` cycles more until nothing waits for it.
pub fn drain(m: &MInst, to: Direction, double: bool, pending: u64) -> u32 {
    let all = match m.op {
        Op::Brx => DRAIN_BRANCH,
        // Where the code ends, FP64 makes nothing shorter.
        Op::Exit | Op::Ret if double => DRAIN_BRANCH,
        _ if double => DRAIN_DOUBLE,
        Op::Bra if m.guard.is_true() || to == Direction::Back => DRAIN_BRANCH,
        _ => DRAIN,
    };
    if may_lead_on(m, to) { pending.clamp(BEHIND_GUARDED.into(), all.into()) as u32 } else { all }
}

/// Whether it is a guarded branch or break that leads on: who stays is in the same straight code.
fn may_lead_on(m: &MInst, to: Direction) -> bool {
    matches!(m.op, Op::Bra | Op::Brk | Op::Cont) && !m.guard.is_true() && to == Direction::On && !m.sync
}

/// Where an instruction leads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// To itself or what stands before it.
    Back,
    /// Behind it, or nowhere that it names.
    On,
}

/// The fewest cycles behind an instruction that [`transfers`] control that ptxas keeps anywhere.
/// Guarded branches and breaks that lead on may be left after any number: what is behind them waits
/// for itself. `double` as in [`drain`].
pub fn least_drain(m: &MInst, to: Direction, double: bool) -> u32 {
    use Op::*;
    match m.op {
        _ if !transfers(m) => 0,
        Exit | Ret | Brx => DRAIN_BRANCH,
        _ if may_lead_on(m, to) => 0,
        _ if double => DRAIN_DOUBLE,
        Cal | Jcal => DRAIN,
        _ => DRAIN_BRANCH,
    }
}

/// Cycles that a count on TEXDEPBAR can say, ascending. 4 is written like any other.
pub const TEXTURE_BARRIER: [u32; 5] = [4, 7, 11, 15, 19];

/// What decides whether two instructions may issue together: a set of the kinds below.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PairSet(u16);

impl PairSet {
    /// Never issues with another.
    pub(crate) const ALONE: PairSet = PairSet(0);
    /// Multiplication, shifts, conversions, special functions, LDC, S2R: no two.
    pub(crate) const SLOW: PairSet = PairSet(1);
    /// What reads or writes predicates as data: no two, and none with [`PairSet::COMPARE`].
    pub(crate) const PREDICATE: PairSet = PairSet(2);
    /// Minimum, maximum and comparison into a register.
    pub(crate) const COMPARE: PairSet = PairSet(4);
    /// Memory: no two.
    pub const MEMORY: PairSet = PairSet(8);
    /// Double precision: second only, behind memory, simple arithmetic, a multiplication or a
    /// special function.
    pub const DOUBLE: PairSet = PairSet(16);
    /// Textures: second only, behind arithmetic.
    pub const TEXTURE: PairSet = PairSet(32);
    /// Control flow: second only.
    pub const FLOW: PairSet = PairSet(64);
    /// Float and integer arithmetic, logic and moves: with everything.
    pub(crate) const SIMPLE: PairSet = PairSet(128);
    /// Those of [`PairSet::SLOW`] that double precision may follow.
    const BEFORE_DOUBLE: PairSet = PairSet(256);
    /// Never second.
    const FIRST_ONLY: PairSet = PairSet(512);

    const NAMES: [&str; 8] =
        ["slow", "predicate", "compare", "memory", "double", "texture", "flow", "simple"];

    const fn or(self, other: PairSet) -> PairSet {
        PairSet(self.0 | other.0)
    }

    /// Whether it has any of these kinds.
    pub const fn any(self, kinds: PairSet) -> bool {
        self.0 & kinds.0 != 0
    }

    /// Whether the two are equal.
    pub const fn same(self, other: PairSet) -> bool {
        self.0 == other.0
    }

    /// Whether one of the two has any of the kinds `a` and the other one any of the kinds `b`.
    const fn met(self, other: PairSet, a: PairSet, b: PairSet) -> bool {
        self.any(a) && other.any(b) || self.any(b) && other.any(a)
    }

    /// The kinds in words: `slow and predicate`, or `alone`.
    pub fn name(self) -> String {
        let kinds = Self::NAMES.iter().enumerate().filter(|(n, _)| self.0 >> n & 1 != 0);
        let all: Vec<&str> = kinds.map(|(_, &name)| name).collect();
        if all.is_empty() { "alone".to_owned() } else { all.join(" and ") }
    }
}

/// The set of an operation; empty if it never issues with another.
pub const fn pair_set(op: Op) -> PairSet {
    TIMINGS[op as usize].pair
}

/// Whether the units allow `first` to issue together with `second`; what they touch is not looked
/// at.
pub const fn units_pair(first: PairSet, second: PairSet) -> bool {
    let second_only = PairSet::DOUBLE.or(PairSet::TEXTURE).or(PairSet::FLOW);
    let arithmetic = PairSet::SIMPLE.or(PairSet::SLOW).or(PairSet::PREDICATE).or(PairSet::COMPARE);
    !first.same(PairSet::ALONE)
        && !second.same(PairSet::ALONE)
        && !first.any(second_only)
        && !second.any(PairSet::FIRST_ONLY)
        && !first.met(second, PairSet::SLOW, PairSet::SLOW)
        && !first.met(second, PairSet::PREDICATE, PairSet::PREDICATE.or(PairSet::COMPARE))
        && !first.met(second, PairSet::MEMORY, PairSet::MEMORY)
        && (!second.any(PairSet::DOUBLE)
            || first.any(PairSet::MEMORY.or(PairSet::SIMPLE).or(PairSet::BEFORE_DOUBLE)))
        && (!second.any(PairSet::TEXTURE) || first.any(arithmetic))
}

/// The bank and the 16-byte line of constant memory that an instruction reads; two that issue
/// together read the same.
pub fn constant_line(m: &MInst) -> Option<(u8, i32)> {
    m.operands.iter().find_map(|o| match *o {
        Operand::Const { bank, offset, .. } => Some((bank, offset >> 4)),
        _ => None,
    })
}

/// The register bank of a register, one of four: two arithmetic instructions that issue together
/// have no registers of one bank that only one of them reads.
pub fn bank(register: u8) -> u8 {
    register & 1 | register >> 1 & 2
}

/// Whether the banks of registers matter for an operation: not for memory and textures.
pub fn reads_banks(op: Op) -> bool {
    !pair_set(op).any(PairSet::MEMORY.or(PairSet::TEXTURE))
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

const fn row_of(op: Op) -> Row {
    use Op::*;
    match op {
        Imad | Imul | Imul32i | Imad32i | Imadsp => Row::Multiply,
        Shl | Shr | Bfe | Bfi | Iscadd | Iscadd32i | Icmp => Row::Shift,
        Popc | Flo => Row::Count,
        S2r => Row::SpecialRegister,
        Mufu => Row::Special,
        Rro => Row::Range,
        F2f | F2i | I2f | I2i => Row::Convert,
        Ldc => Row::Constant,
        _ => Row::None,
    }
}

const fn queue_of(op: Op) -> Option<Queue> {
    use Op::*;
    match op {
        Ld | Lds | Ldl | Ldu | Suld | Suldga | Ldslk => Some(Queue::Load),
        Shfl => Some(Queue::Shuffle),
        St | Sts | Stl | Stsul | Stscul | Atom | Red | Sust | Sustga | Sured | Cctl | Cctll | Cctls => {
            Some(Queue::Store)
        }
        Bar | Membar => Some(Queue::Barrier),
        _ => None,
    }
}

const fn pair_set_of(op: Op) -> PairSet {
    use Op::*;
    let (slow, predicate) = (PairSet::SLOW, PairSet::PREDICATE);
    match op {
        Imad | Mufu => slow.or(PairSet::BEFORE_DOUBLE),
        Imul | Imul32i | Imad32i | Imadsp | Iscadd | Iscadd32i | Shf | Shl | Shr | Bfe | Bfi | Icmp | I2f
        | F2f | F2i | I2i | Rro | Ldc => slow,
        Vadd | Vabsdiff | Vmnmx | Vset | Vmad => slow,
        S2r => slow.or(predicate),
        Isetp | Fsetp | Psetp | Sel | Vote | P2r | R2p | Fchk => predicate,
        Csetp => predicate.or(PairSet::FIRST_ONLY),
        Imnmx | Fmnmx | Iset | Fset => PairSet::COMPARE,
        Ld | St | Lds | Sts | Ldl | Stl | Atom | Red | Cctl | Shfl | Ldslk | Stscul => PairSet::MEMORY,
        Dadd | Dmul | Dfma | Dmnmx | Dsetp => PairSet::DOUBLE,
        Tex | Texs | Tld | Tld4 | Txd | Txq | Ldg => PairSet::TEXTURE,
        Bra | Exit | Brk | Ret | Nop | Ssy | Pbk => PairSet::FLOW,
        Fadd | Fmul | Ffma | Fadd32i | Fmul32i | Ffma32i | Iadd | Iadd32i | Isub | Lop | Lop32i | Mov
        | Mov32i | Prmt | Isad | Flo | Popc | Fcmp => PairSet::SIMPLE,
        _ => PairSet::ALONE,
    }
}

impl Timing {
    const fn new(op: Op) -> Timing {
        let unit = unit_of(op);
        let result = match op {
            Op::Fswz => 16,
            Op::Lds | Op::Shfl => 24,
            Op::Ldslk | Op::Stsul | Op::Stscul => 28,
            Op::Ald | Op::Vild | Op::Isberd | Op::Pixld | Op::Out => 24,
            _ => match unit {
                Unit::Double => 10,
                Unit::Memory => SCOREBOARD,
                Unit::Texture => 0,
                Unit::Attribute => 15,
                _ => 9,
            },
        };
        let predicate = match op {
            Op::Dsetp | Op::Dchk => 14,
            Op::Shfl | Op::Ldslk | Op::Stsul | Op::Stscul => 28,
            _ if result > 13 && result < SCOREBOARD => result,
            _ => 13,
        };
        let typical = match op {
            Op::Ldl => 100,
            Op::Atom | Op::Suld | Op::Suldga => 250,
            Op::Lds => 48,
            Op::Ldc => 40,
            Op::Shfl => 32,
            Op::Mufu => 20,
            Op::Ldslk | Op::Stscul => 64,
            _ => match unit {
                Unit::Memory => 200,
                Unit::Texture => 150,
                _ => result,
            },
        };
        Timing {
            unit,
            row: row_of(op),
            memory: queue_of(op),
            result,
            predicate,
            typical,
            pair: pair_set_of(op),
        }
    }
}
