//! What a machine instruction reads and writes: registers with the width of each operand,
//! predicates, carry, memory.

use crate::{Kw, MInst, Mod, Op, Operand, Reg};

/// A resource of one thread that instructions depend on each other by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resource {
    /// A general register.
    Gpr(u8),
    /// A predicate register.
    Pred(u8),
    /// The condition code.
    Carry,
}

impl Resource {
    /// Position in tables of all resources: below [`Resource::COUNT`].
    pub const fn index(self) -> usize {
        match self {
            Resource::Pred(n) => n as usize,
            Resource::Carry => 7,
            Resource::Gpr(n) => 8 + n as usize,
        }
    }

    /// The general register at a position, if it is one.
    pub const fn register(index: u16) -> Option<u8> {
        if index >= 8 { Some((index - 8) as u8) } else { None }
    }

    /// One more than the largest [`Resource::index`].
    pub const COUNT: usize = 8 + 256;

    /// The inverse of [`Resource::index`].
    pub const fn from_index(index: u16) -> Resource {
        match index {
            0..7 => Resource::Pred(index as u8),
            7 => Resource::Carry,
            _ => Resource::Gpr((index - 8) as u8),
        }
    }
}

/// As SASS text names it.
impl std::fmt::Display for Resource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Resource::Gpr(n) => write!(f, "R{n}"),
            Resource::Pred(n) => write!(f, "P{n}"),
            Resource::Carry => f.write_str("CC"),
        }
    }
}

/// How an instruction relates to memory and to other threads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum MemoryEffect {
    /// It accesses no memory.
    None,
    /// It loads.
    Read,
    /// It stores, or does both.
    Write,
    /// Keeps its place among all memory accesses.
    Barrier,
}

/// How many registers an operand is.
#[derive(Clone, Copy)]
enum Width {
    One,
    Two,
    /// One that is written, two that are read.
    TwoSources,
    /// As many as the suffix says.
    Access,
    /// As many as the types in the suffixes.
    Conversion,
    /// A vector; more than there are is safe for textures and surfaces.
    Texture,
    /// The same with derivatives.
    Derivatives,
    /// A 64-bit address that is written.
    Address,
}

/// What the operands of an operation are.
#[derive(Clone, Copy)]
struct Form {
    /// So many of the first ones are written; [`Form::VARIES`] where it depends on them.
    destinations: u8,
    width: Width,
}

impl Form {
    const VARIES: u8 = u8::MAX;

    const fn new(op: Op) -> Form {
        use Op::*;
        let destinations = match op {
            St | Stl | Sts | Stsul | Red | Cctl | Cctll | Cctls | Membar | Texdepbar | Sust | Sustga
            | Nop | Ast | Kil | Bra | Brx | Jmp | Jmx | Cal | Jcal | Ret | Pret | Ssy | Sync | Pbk | Brk
            | Pcnt | Cont | Plongjmp | Longjmp | Exit | Bpt | Rtt | Ide | Ram | Sam | Stp => 0,
            Isetp | Fsetp | Dsetp | Psetp | Csetp | Vsetp | Ldslk | Shfl | Suclamp | Subfm | Sulea => 2,
            Bar | Vote | B2r => Form::VARIES,
            _ => 1,
        };
        let width = match op {
            Dadd | Dmul | Dfma | Dmnmx => Width::Two,
            Dset | Dsetp | Dchk => Width::TwoSources,
            F2f | F2i | I2f | I2i => Width::Conversion,
            Ld | Ldl | Lds | Ldc | Ldu | Ldslk | Ldg | St | Stl | Sts | Stsul | Stscul | Atom | Red | Ald
            | Ast => Width::Access,
            Sulea => Width::Address,
            Txd => Width::Derivatives,
            Tex | Texs | Tld | Tld4 | Txq | Txa | Tmml | Suld | Sust | Suldga | Sustga | Sured | Suq => {
                Width::Texture
            }
            _ => Width::One,
        };
        Form { destinations, width }
    }

    const ALL: [Form; Op::ALL.len()] = {
        let mut all = [Form::new(Op::Nop); Op::ALL.len()];
        let mut n = 0;
        while n < all.len() {
            all[n] = Form::new(Op::ALL[n]);
            n += 1;
        }
        all
    };

    /// How many of the first operands are written.
    fn destinations(self, m: &MInst) -> usize {
        let first_is = |f: fn(&Operand) -> bool| usize::from(m.operands.first().is_some_and(f));
        match m.op {
            _ if self.destinations != Form::VARIES => self.destinations.into(),
            Op::Bar => 2 * first_is(|o| matches!(o, Operand::Pred(_))),
            Op::Vote => 1 + first_is(|o| matches!(o, Operand::Reg { .. })),
            _ => m.operands.len().min(2),
        }
    }

    /// Registers of an operand that is written, and of one that is read.
    fn widths(self, m: &MInst) -> (u8, u8) {
        match self.width {
            Width::One => (1, 1),
            Width::Two => (2, 2),
            Width::TwoSources => (1, 2),
            Width::Conversion => conversion_widths(m),
            Width::Access => (access_width(m), access_width(m)),
            Width::Texture => (texture_width(m), 4),
            Width::Derivatives => (texture_width(m), 8),
            Width::Address => (2, 4),
        }
    }
}

/// Registers of an operand, and what the number of the first is a multiple of. (1, 1) where it is a
/// single one, or where how many there are is not known: the sources of textures and surfaces,
/// which also begin at any register.
pub fn vector(m: &MInst, operand: usize) -> (u8, u8) {
    let form = Form::ALL[m.op as usize];
    let (written, source) = form.widths(m);
    let is_source = operand >= form.destinations(m).min(m.operands.len());
    let tuple = |n: u8| (n, n.next_power_of_two());
    match (form.width, m.operands.get(operand)) {
        (Width::Texture | Width::Derivatives | Width::Address, Some(Operand::Reg { .. })) if !is_source => {
            (written.max(1), 1)
        }
        (Width::Texture | Width::Derivatives | Width::Address, _) => (1, 1),
        // Behind the data of an attribute stands the register with the vertex.
        (_, Some(Operand::Reg { .. })) if matches!(m.op, Op::Ald | Op::Ast) => {
            let second = m.operands[..operand].iter().any(|o| matches!(o, Operand::Reg { .. }));
            tuple(if second { 1 } else { written })
        }
        (_, Some(Operand::Reg { .. } | Operand::Const { .. })) => {
            tuple(if is_source { source } else { written })
        }
        (_, Some(Operand::Mem { .. })) if m.has(Mod::E) => tuple(2),
        _ => (1, 1),
    }
}

/// Bytes that an access to memory moves; none for what is no access.
pub fn access_bytes(m: &MInst) -> Option<u32> {
    let access = matches!(Form::ALL[m.op as usize].width, Width::Access);
    let narrow = m.mods.iter().find_map(|k| match k {
        Mod::U8 | Mod::S8 => Some(1),
        Mod::U16 | Mod::S16 => Some(2),
        _ => None,
    });
    access.then(|| narrow.unwrap_or(4 * u32::from(access_width(m))))
}

/// Registers of a memory access's data.
pub fn access_width(m: &MInst) -> u8 {
    m.mods.iter().fold(1, |w, k| match k {
        Mod::B64 | Mod::U64 | Mod::S64 => 2,
        Mod::B96 => 3,
        Mod::B128 | Mod::U128 => 4,
        _ => w,
    })
}

/// The types of a conversion, as registers: of the result and of the source.
fn conversion_widths(m: &MInst) -> (u8, u8) {
    let wide = |k: &Mod| match k {
        Mod::U64 | Mod::S64 | Mod::F64 => Some(2),
        Mod::U8 | Mod::S8 | Mod::U16 | Mod::S16 | Mod::F16 | Mod::U32 | Mod::S32 | Mod::F32 => Some(1),
        _ => None,
    };
    let mut types = m.mods.iter().filter_map(wide);
    let to = types.next().unwrap_or(1);
    (to, types.next().unwrap_or(1))
}

/// Components that a texture instruction writes: its last operand is their mask.
fn texture_width(m: &MInst) -> u8 {
    match (m.op, m.operands.last()) {
        (Op::Suld | Op::Suldga | Op::Sured | Op::Suq, _) => access_width(m).max(1),
        (_, Some(&Operand::Imm { bits, .. })) => (bits & 15).count_ones() as u8,
        _ => 4,
    }
}

/// What the mask of P2R or R2P, the last operand, selects: predicates by bits 6:0, the condition
/// code by 15:12.
fn state_word(m: &MInst, mut f: impl FnMut(Resource)) {
    let mask = match m.operands.last() {
        Some(&Operand::Imm { bits, .. }) => bits,
        _ => u32::MAX,
    };
    (0..7).filter(|p| mask >> p & 1 != 0).for_each(|p| f(Resource::Pred(p)));
    if mask & 0xf000 != 0 {
        f(Resource::Carry);
    }
}

/// What an instruction does with a resource.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// It is read.
    Read,
    /// It is written.
    Write,
}

/// Where an instruction names a register or a predicate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slot {
    /// The guard.
    Guard,
    /// An operand, by its position.
    Operand(u8),
    /// Nowhere: the operation implies it.
    Implied,
}

/// Calls `f` with everything that the instruction reads, then with what it writes: where it is
/// named, the first register and how many follow each other, or a predicate or the condition code;
/// and `bank` with each bank of constant memory.
#[inline(always)]
pub fn named(m: &MInst, mut f: impl FnMut(Slot, Resource, u8, Access), mut bank: impl FnMut(u8)) {
    use Access::{Read, Write};
    if m.guard.num != 7 {
        f(Slot::Guard, Resource::Pred(m.guard.num), 1, Read);
    }
    let mut address = 1;
    for k in &m.mods {
        match k {
            Mod::X | Mod::Xlo | Mod::Xmed | Mod::Xhi => f(Slot::Implied, Resource::Carry, 1, Read),
            Mod::E => address = 2,
            _ => {}
        }
    }
    let form = Form::ALL[m.op as usize];
    let destinations = form.destinations(m).min(m.operands.len());
    let (written, source) = form.widths(m);
    let (results, sources) = m.operands.split_at(destinations);
    for (k, o) in (destinations as u8..).zip(sources) {
        let slot = Slot::Operand(k);
        let mut register = |reg: Reg, width| {
            if reg != Reg::Z {
                f(slot, Resource::Gpr(reg.0), width, Read);
            }
        };
        match *o {
            Operand::Reg { reg, .. } => register(reg, source),
            Operand::Mem { base, .. } => register(base, if is_surface(m.op) { 2 } else { address }),
            Operand::Const { bank: n, base, .. } => {
                bank(n);
                register(base, 1);
            }
            Operand::Attr { base, .. } => register(base, 1),
            Operand::Pred(p) if p.num != 7 => f(slot, Resource::Pred(p.num), 1, Read),
            Operand::Word(Kw::Cc) | Operand::CcTest(_) => f(Slot::Implied, Resource::Carry, 1, Read),
            Operand::Word(Kw::Pr) if m.op == Op::P2r => state_word(m, |r| f(Slot::Implied, r, 1, Read)),
            _ => {}
        }
    }
    for (k, o) in (0..).zip(results) {
        let slot = Slot::Operand(k);
        match *o {
            Operand::Reg { reg, cc, .. } => {
                if reg != Reg::Z {
                    f(slot, Resource::Gpr(reg.0), written, Write);
                }
                if cc {
                    f(Slot::Implied, Resource::Carry, 1, Write);
                }
            }
            Operand::Pred(p) if p.num != 7 => f(slot, Resource::Pred(p.num), 1, Write),
            Operand::Word(Kw::Pr) => state_word(m, |r| f(Slot::Implied, r, 1, Write)),
            _ => {}
        }
    }
}

/// Calls `f` with everything that the instruction reads, then with what it writes, and `bank` with
/// each bank of constant memory that it reads.
#[inline]
fn touches(m: &MInst, mut f: impl FnMut(Resource, Access), bank: impl FnMut(u8)) {
    let each = |_, first, width, access| match first {
        Resource::Gpr(r) => (0..width).for_each(|k| f(Resource::Gpr(r.saturating_add(k)), access)),
        r => f(r, access),
    };
    named(m, each, bank);
}

/// What instructions touch, one after the other, as [`Resource::index`].
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Touched {
    resources: Vec<u16>,
    /// A mask of the banks of constant memory that any of them reads.
    pub banks: u32,
}

/// The part of [`Touched`] that one instruction touches: what it reads, then what it writes.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Touches {
    start: u32,
    reads: u16,
    writes: u16,
}

impl Touched {
    /// Makes room for so many instructions.
    pub fn reserve(&mut self, instructions: usize) {
        self.resources.reserve(4 * instructions);
    }

    /// Appends what an instruction touches.
    pub fn add(&mut self, m: &MInst) -> Touches {
        let start = self.resources.len();
        let mut reads = 0;
        let touch = |_, first: Resource, width: u8, access| {
            let first = first.index() as u16;
            for k in 0..u16::from(width) {
                self.resources.push((first + k).min(Resource::COUNT as u16 - 1));
            }
            reads += if access == Access::Read { u16::from(width) } else { 0 };
        };
        named(m, touch, |bank| self.banks |= 1u32.checked_shl(bank.into()).unwrap_or(0));
        Touches { start: start as u32, reads, writes: (self.resources.len() - start) as u16 - reads }
    }

    /// What is read, as [`Resource::index`].
    pub fn reads(&self, t: Touches) -> &[u16] {
        &self.resources[t.start as usize..][..usize::from(t.reads)]
    }

    /// What is written, as [`Resource::index`].
    pub fn writes(&self, t: Touches) -> &[u16] {
        &self.resources[t.start as usize + usize::from(t.reads)..][..usize::from(t.writes)]
    }
}

/// Calls `f` with everything that the instruction reads.
pub fn reads(m: &MInst, mut f: impl FnMut(Resource)) {
    let read = |r, access| {
        if access == Access::Read {
            f(r);
        }
    };
    touches(m, read, |_| ());
}

/// Calls `f` with everything that the instruction writes.
pub fn writes(m: &MInst, mut f: impl FnMut(Resource)) {
    let write = |r, access| {
        if access == Access::Write {
            f(r);
        }
    };
    touches(m, write, |_| ());
}

fn is_surface(op: Op) -> bool {
    matches!(op, Op::Suld | Op::Sust | Op::Suldga | Op::Sustga | Op::Sured)
}

/// Whether the result is waited for with TEXDEPBAR on Kepler.
pub const fn is_texture(op: Op) -> bool {
    use Op::*;
    matches!(op, Tex | Texs | Tld | Tld4 | Txd | Txq | Txa | Tmml | Ldg)
}

pub use nvir_hw::special::THREAD_KILL;

/// What an instruction does to memory, or to what else must keep its order.
pub fn memory(m: &MInst) -> MemoryEffect {
    use Op::*;
    match m.op {
        Ld | Ldl | Lds | Ldu | Suld | Suldga => {
            if m.has(Mod::Cv) {
                MemoryEffect::Barrier
            } else {
                MemoryEffect::Read
            }
        }
        // Which lanes are killed: before KIL it is another answer.
        S2r if m.operands.iter().any(|o| matches!(o, Operand::Sreg(THREAD_KILL))) => MemoryEffect::Read,
        // Outputs read back, stored, and handed on.
        Ald if m.has(Mod::O) => MemoryEffect::Read,
        St | Stl | Sts | Sust | Sustga | Ast => MemoryEffect::Write,
        Out | Kil => MemoryEffect::Barrier,
        Atom | Red | Ldslk | Stsul | Stscul | Sured | Membar | Bar | Cctl | Cctll | Cctls | B2r => {
            MemoryEffect::Barrier
        }
        _ => MemoryEffect::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sets(m: &MInst) -> (Vec<Resource>, Vec<Resource>) {
        let (mut r, mut w) = (Vec::new(), Vec::new());
        reads(m, |x| r.push(x));
        writes(m, |x| w.push(x));
        (r, w)
    }

    #[test]
    fn a_wide_load_reads_its_address_pair_and_writes_every_word() {
        let m = MInst::new(Op::Ld).with(Mod::E).with(Mod::B128);
        let m = m.r(Reg(4)).arg(Operand::Mem { base: Reg(2), offset: 0 });
        let (r, w) = sets(&m);
        assert_eq!(r, [Resource::Gpr(2), Resource::Gpr(3)]);
        assert_eq!(w, [4, 5, 6, 7].map(Resource::Gpr));
    }

    #[test]
    fn a_comparison_of_doubles_reads_pairs_and_writes_a_predicate() {
        let m = MInst::new(Op::Dsetp).with(Mod::Lt).with(Mod::And);
        let m = m.arg(Operand::pred(0)).arg(Operand::pred(7)).r(Reg(2)).r(Reg(4)).arg(Operand::pred(1));
        let (r, w) = sets(&m);
        assert_eq!(
            r,
            [2, 3, 4, 5].map(Resource::Gpr).into_iter().chain([Resource::Pred(1)]).collect::<Vec<_>>()
        );
        assert_eq!(w, [Resource::Pred(0)]);
    }

    #[test]
    fn the_mask_of_p2r_and_r2p_says_which_predicates_and_whether_the_condition_code() {
        let (pr, mask) = (Operand::Word(Kw::Pr), |bits| Operand::imm(bits));
        let save = |bits| MInst::new(Op::P2r).r(Reg(0)).arg(pr).r(Reg::Z).arg(mask(bits));
        assert_eq!(sets(&save(0xf000)), (vec![Resource::Carry], vec![Resource::Gpr(0)]));
        assert_eq!(sets(&save(0x05)).0, [Resource::Pred(0), Resource::Pred(2)]);
        let restore = |bits| MInst::new(Op::R2p).arg(pr).r(Reg(0)).arg(mask(bits));
        assert_eq!(sets(&restore(0xf000)), (vec![Resource::Gpr(0)], vec![Resource::Carry]));
        assert_eq!(sets(&restore(0x40)).1, [Resource::Pred(6)]);
        let all = MInst::new(Op::R2p).arg(pr).r(Reg(0)).r(Reg(1));
        assert_eq!(sets(&all).1.len(), 8);
    }

    #[test]
    fn rz_and_pt_are_no_resources() {
        let m = MInst::new(Op::Iadd).r(Reg::Z).r(Reg::Z).r(Reg::Z);
        assert_eq!(sets(&m), (Vec::new(), Vec::new()));
    }
}
