//! What a machine instruction reads and writes: registers with the width of each operand, predicates, carry, memory.

use crate::isa::{Kw, MInst, Mod, Op, Operand, Reg};

/// A resource of one thread that instructions depend on each other by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resource {
    Gpr(u8),
    Pred(u8),
    Carry,
}

impl Resource {
    /// Position in tables of all resources: below [`Resource::COUNT`].
    pub const fn index(self) -> usize {
        match self {
            Resource::Gpr(n) => n as usize,
            Resource::Pred(n) => 256 + n as usize,
            Resource::Carry => 263,
        }
    }

    pub const COUNT: usize = 264;
}

/// How an instruction relates to memory and to other threads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum MemoryEffect {
    None,
    Read,
    Write,
    /// Keeps its place among all memory accesses.
    Barrier,
}

/// Operands that an operation writes: how many of the first ones.
fn destinations(m: &MInst) -> usize {
    use Op::*;
    match m.op {
        St | Stl | Sts | Stsul | Red | Cctl | Cctll | Cctls | Membar | Texdepbar | Sust | Sustga | Nop
        | Ast | Kil | Bra | Brx | Jmp | Jmx | Cal | Jcal | Ret | Pret | Ssy | Sync | Pbk | Brk | Pcnt
        | Cont | Plongjmp | Longjmp | Exit | Bpt | Rtt | Ide | Ram | Sam | Stp => 0,
        Isetp | Fsetp | Dsetp | Psetp | Csetp | Vsetp | Ldslk | Shfl | Suclamp | Subfm | Sulea => 2,
        Bar => 2 * usize::from(matches!(m.operands.first(), Some(Operand::Pred(_)))),
        Vote => 1 + usize::from(matches!(m.operands.first(), Some(Operand::Reg { .. }))),
        B2r => m.operands.len().min(2),
        _ => 1,
    }
}

/// Registers of a memory access's data.
fn access_width(m: &MInst) -> u8 {
    m.mods.iter().fold(1, |w, k| match k {
        Mod::B64 | Mod::U64 | Mod::S64 => 2,
        Mod::B96 | Mod::B128 | Mod::U128 => 4,
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

/// Registers of operand `n` of an instruction; more than it has is safe for textures and surfaces.
fn width(m: &MInst, n: usize, is_dst: bool) -> u8 {
    use Op::*;
    match m.op {
        Dadd | Dmul | Dfma | Dmnmx => 2,
        Dset | Dsetp | Dchk => 1 + u8::from(!is_dst),
        F2f | F2i | I2f | I2i => {
            let (to, from) = conversion_widths(m);
            if is_dst { to } else { from }
        }
        Ld | Ldl | Lds | Ldc | Ldu | Ldslk | Ldg | St | Stl | Sts | Stsul | Stscul | Atom | Red | Ald
        | Ast => access_width(m),
        Shf => 1,
        // A 64-bit address.
        Sulea if is_dst => 2,
        Txd if !is_dst => 8,
        Tex | Texs | Tld | Tld4 | Txd | Txq | Txa | Tmml | Suld | Sust | Suldga | Sustga | Sured | Suq
        | Sulea => {
            if is_dst && n == 0 {
                texture_width(m)
            } else {
                4
            }
        }
        _ => 1,
    }
}

/// Components that a texture instruction writes: its last operand is their mask.
fn texture_width(m: &MInst) -> u8 {
    match (m.op, m.operands.last()) {
        (Op::Suld | Op::Suldga | Op::Sured | Op::Suq, _) => access_width(m).max(1),
        (_, Some(&Operand::Imm { bits, .. })) => (bits & 15).count_ones() as u8,
        _ => 4,
    }
}

fn gprs(reg: Reg, width: u8, f: &mut impl FnMut(Resource)) {
    if reg != Reg::Z {
        for k in 0..width {
            f(Resource::Gpr(reg.0.saturating_add(k)));
        }
    }
}

/// Calls `f` with everything that the instruction reads.
pub fn reads(m: &MInst, mut f: impl FnMut(Resource)) {
    let pair = m.has(Mod::E);
    if m.guard.num != 7 {
        f(Resource::Pred(m.guard.num));
    }
    if m.mods.iter().any(|k| matches!(k, Mod::X | Mod::Xlo | Mod::Xmed | Mod::Xhi)) {
        f(Resource::Carry);
    }
    let first_source = destinations(m);
    for (n, o) in m.operands.iter().enumerate() {
        match *o {
            Operand::Reg { reg, .. } if n >= first_source => gprs(reg, width(m, n, false), &mut f),
            Operand::Pred(p) if n >= first_source && p.num != 7 => f(Resource::Pred(p.num)),
            Operand::Mem { base, .. } => gprs(base, if pair || is_surface(m.op) { 2 } else { 1 }, &mut f),
            Operand::Const { base, .. } | Operand::Attr { base, .. } => gprs(base, 1, &mut f),
            Operand::Word(Kw::Cc) | Operand::CcTest(_) => f(Resource::Carry),
            Operand::Word(Kw::Pr) if m.op == Op::P2r => (0..7).for_each(|p| f(Resource::Pred(p))),
            _ => {}
        }
    }
}

/// Calls `f` with everything that the instruction writes.
pub fn writes(m: &MInst, mut f: impl FnMut(Resource)) {
    for (n, o) in m.operands.iter().enumerate().take(destinations(m)) {
        match *o {
            Operand::Reg { reg, cc, .. } => {
                gprs(reg, width(m, n, true), &mut f);
                if cc {
                    f(Resource::Carry);
                }
            }
            Operand::Pred(p) if p.num != 7 => f(Resource::Pred(p.num)),
            Operand::Word(Kw::Pr) => (0..7).for_each(|p| f(Resource::Pred(p))),
            _ => {}
        }
    }
}

fn is_surface(op: Op) -> bool {
    matches!(op, Op::Suld | Op::Sust | Op::Suldga | Op::Sustga | Op::Sured)
}

/// Whether the result is waited for with TEXDEPBAR on Kepler.
pub fn is_texture(op: Op) -> bool {
    use Op::*;
    matches!(op, Tex | Texs | Tld | Tld4 | Txd | Txq | Txa | Tmml | Ldg)
}

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
        St | Stl | Sts | Sust | Sustga => MemoryEffect::Write,
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
    fn rz_and_pt_are_no_resources() {
        let m = MInst::new(Op::Iadd).r(Reg::Z).r(Reg::Z).r(Reg::Z);
        assert_eq!(sets(&m), (Vec::new(), Vec::new()));
    }
}
