//! What is proven of the bits and the range of every value.
//!
//! ```text
//! rdsv u32 %r0 sv[tid.x]        0 ..= 63 where the block size is declared as 64
//! shl u32 %r1 %r0 0x4           bits 3:0 are 0: a multiple of 16
//! or u32 %r2 %r1 0x4            bit 2 was 0 before: the same as an addition; 4 modulo 16
//! ```
//!
//! Facts are found for what is asked ([`KnownBits::learn`]): a value, and what it is computed from.
//! Only where a block's parameter is met, the whole function is gone through. A value that has not
//! been computed yet (the argument of a loop's back edge) counts as anything convenient then, and
//! the function is gone through again until nothing changes; a parameter that still changes in the
//! third round loses its range, in the fifth everything, which bounds the work. The facts hold
//! where the value's definition was executed; an undefined value has no facts.

use crate::ir::*;
use cranelift_entity::SecondaryMap;

/// Facts about a 32-bit value: bits known to be 0 and to be 1, and its unsigned range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bits {
    pub zero: u32,
    pub one: u32,
    pub min: u32,
    pub max: u32,
}

impl Bits {
    /// Nothing is known.
    pub(crate) const ANY: Bits = Bits { zero: 0, one: 0, min: 0, max: u32::MAX };

    pub(crate) const fn constant(x: u32) -> Bits {
        Bits { zero: !x, one: x, min: x, max: x }
    }

    pub(crate) const fn range(min: u32, max: u32) -> Bits {
        Bits { zero: 0, one: 0, min, max }.tighten()
    }

    pub(crate) const fn aligned(a: Align) -> Bits {
        let log2 = if a.log2 > 31 { 31 } else { a.log2 };
        let mask = (1u32 << log2) - 1;
        Bits { zero: mask & !a.rest, one: mask & a.rest, min: 0, max: u32::MAX }.tighten()
    }

    /// Lets each kind of fact strengthen the other.
    const fn tighten(mut self) -> Bits {
        // Bits above the highest one that the range can set are 0.
        let lead = self.max.leading_zeros();
        if lead > 0 {
            self.zero |= if lead == 32 { u32::MAX } else { !(u32::MAX >> lead) };
        }
        if self.one > self.min {
            self.min = self.one;
        }
        if !self.zero < self.max {
            self.max = !self.zero;
        }
        if self.min == self.max {
            self.zero = !self.min;
            self.one = self.min;
        }
        self
    }

    pub(crate) const fn as_constant(&self) -> Option<u32> {
        if self.zero | self.one == u32::MAX { Some(self.one) } else { None }
    }

    /// The alignment that the known low bits prove.
    pub(crate) const fn align(&self) -> Align {
        let known = (self.zero | self.one).trailing_ones();
        let log2 = if known > 31 { 31 } else { known };
        Align { log2: log2 as u8, rest: self.one & ((1 << log2) - 1) }
    }

    /// Bits that may be 1.
    pub(crate) const fn possible(&self) -> u32 {
        !self.zero
    }

    /// As a fact about a parameter.
    pub(crate) const fn fact(&self, uniform: bool) -> ParamFact {
        ParamFact { align: self.align(), min: self.min, max: self.max, uniform }
    }

    const fn of_param(p: &ParamFact) -> Bits {
        let aligned = Bits::aligned(p.align);
        Bits { min: p.min, max: p.max, ..aligned }.tighten()
    }

    /// True of both.
    pub(super) fn meet(self, o: Bits) -> Bits {
        Bits {
            zero: self.zero & o.zero,
            one: self.one & o.one,
            min: self.min.min(o.min),
            max: self.max.max(o.max),
        }
    }

    fn bits_only(self) -> Bits {
        Bits { min: 0, max: u32::MAX, ..self }.tighten()
    }

    fn not(self) -> Bits {
        Bits { zero: self.one, one: self.zero, min: !self.max, max: !self.min }
    }

    fn plus(self, o: Bits) -> Bits {
        let most = (!self.zero).wrapping_add(!o.zero);
        let least = self.one.wrapping_add(o.one);
        let carry_zero = !(most ^ self.zero ^ o.zero);
        let carry_one = least ^ self.one ^ o.one;
        let known = (self.zero | self.one) & (o.zero | o.one) & (carry_zero | carry_one);
        let (min, max) = match (self.min.checked_add(o.min), self.max.checked_add(o.max)) {
            (Some(min), Some(max)) => (min, max),
            _ => (0, u32::MAX),
        };
        Bits { zero: !most & known, one: least & known, min, max }.tighten()
    }

    fn neg(self) -> Bits {
        self.not().plus(Bits::constant(1)).bits_only()
    }

    fn times(self, o: Bits) -> Bits {
        if let (Some(a), Some(b)) = (self.as_constant(), o.as_constant()) {
            return Bits::constant(a.wrapping_mul(b));
        }
        // The low n bits of a product depend on the low n bits of the factors; trailing zeros add
        // up.
        let known = (self.zero | self.one).trailing_ones().min((o.zero | o.one).trailing_ones()).min(31);
        let mask = (1u32 << known) - 1;
        let low = self.one.wrapping_mul(o.one) & mask;
        let zeros = (self.zero.trailing_ones() + o.zero.trailing_ones()).min(32);
        let zero = if zeros == 32 { u32::MAX } else { (1u32 << zeros) - 1 };
        let (min, max) = match self.max.checked_mul(o.max) {
            Some(max) => (self.min.wrapping_mul(o.min), max),
            None => (0, u32::MAX),
        };
        Bits { zero: (!low & mask) | zero, one: low & !zero, min, max }.tighten()
    }

    fn and(self, o: Bits) -> Bits {
        Bits { zero: self.zero | o.zero, one: self.one & o.one, min: 0, max: self.max.min(o.max) }.tighten()
    }

    fn or(self, o: Bits) -> Bits {
        let (one, zero) = (self.one | o.one, self.zero & o.zero);
        Bits { zero, one, min: self.min.max(o.min), max: u32::MAX }.tighten()
    }

    fn xor(self, o: Bits) -> Bits {
        let one = self.one & o.zero | self.zero & o.one;
        let zero = self.zero & o.zero | self.one & o.one;
        Bits { zero, one, min: 0, max: u32::MAX }.tighten()
    }

    fn shl(self, n: u32) -> Bits {
        if n >= 32 {
            return Bits::constant(0);
        }
        let fits = self.max.leading_zeros() >= n;
        let (min, max) = if fits { (self.min << n, self.max << n) } else { (0, u32::MAX) };
        Bits { zero: self.zero << n | ((1 << n) - 1), one: self.one << n, min, max }.tighten()
    }

    fn shr(self, n: u32) -> Bits {
        if n >= 32 {
            return Bits::constant(0);
        }
        let top = if n == 0 { 0 } else { !(u32::MAX >> n) };
        Bits { zero: self.zero >> n | top, one: self.one >> n, min: self.min >> n, max: self.max >> n }
            .tighten()
    }

    fn sar(self, n: u32) -> Bits {
        let n = n.min(31);
        if self.zero >> 31 == 1 {
            return self.shr(n);
        }
        Bits {
            zero: ((self.zero as i32) >> n) as u32,
            one: ((self.one as i32) >> n) as u32,
            min: 0,
            max: u32::MAX,
        }
        .tighten()
    }

    fn umin(self, o: Bits) -> Bits {
        Bits {
            zero: self.zero & o.zero,
            one: self.one & o.one,
            min: self.min.min(o.min),
            max: self.max.min(o.max),
        }
        .tighten()
    }

    fn umax(self, o: Bits) -> Bits {
        Bits {
            zero: self.zero & o.zero,
            one: self.one & o.one,
            min: self.min.max(o.min),
            max: self.max.max(o.max),
        }
        .tighten()
    }
}

/// What a program states about its launch.
#[derive(Clone, Copy, Debug, Default)]
pub struct Launch {
    /// Threads of a block in x, y and z, where declared.
    pub block_size: Option<[u32; 3]>,
    /// Blocks in x at most, where the chip is known.
    pub max_grid_x: Option<u32>,
}

/// Facts about values of a function, as it was when they were learnt.
pub(crate) struct KnownBits {
    map: SecondaryMap<ValueId, Option<Bits>>,
    launch: Launch,
    /// What is known of parameters.
    params: Vec<(ValueId, Bits)>,
    /// Everything has been learnt.
    whole: bool,
    work: Vec<ValueId>,
}

impl KnownBits {
    /// Nothing is learnt yet.
    pub(crate) fn new(f: &Function, launch: &Launch) -> KnownBits {
        KnownBits::with_params(f, launch, &f.param_facts)
    }

    /// The same with other facts about the function's parameters than it has itself.
    pub(crate) fn with_params(f: &Function, launch: &Launch, facts: &[ParamFact]) -> KnownBits {
        let mut map = SecondaryMap::with_capacity(f.values.len());
        map.resize(f.values.len());
        let params: Vec<_> = f.params.iter().zip(facts).map(|(&p, fact)| (p, Bits::of_param(fact))).collect();
        params.iter().for_each(|&(p, bits)| map[p] = Some(bits));
        KnownBits { map, launch: *launch, params, whole: false, work: Vec::new() }
    }

    /// Finds the facts about a value, for [`KnownBits::of`] to tell.
    pub(crate) fn learn(&mut self, f: &Function, v: ValueId) {
        if self.whole {
            return;
        }
        self.work.push(v);
        while let Some(&v) = self.work.last() {
            if self.map[v].is_some() {
                self.work.pop();
                continue;
            }
            match f.values[v].def {
                Def::Inst(i) => {
                    let inst = &f.insts[i];
                    self.define(f, inst);
                    if self.map[v].is_none() {
                        let unknown =
                            inst.srcs.iter().flat_map(|s| s.values()).filter(|&&u| self.map[u].is_none());
                        self.work.extend(unknown);
                    }
                }
                Def::Block(_) => return self.learn_all(f),
                Def::Func | Def::None => self.map[v] = Some(Bits::ANY),
            }
        }
    }

    /// The same for every value that an instruction reads.
    pub(crate) fn learn_uses(&mut self, f: &Function, inst: &Inst) {
        inst.for_uses(|v| self.learn(f, v));
    }

    fn learn_all(&mut self, f: &Function) {
        self.whole = true;
        self.map.clear();
        self.map.resize(f.values.len());
        for &p in &f.params {
            self.map[p] = Some(Bits::ANY);
        }
        self.params.iter().for_each(|&(p, bits)| self.map[p] = Some(bits));
        for round in 0.. {
            let mut changed = false;
            let mut looped = false;
            for &b in &f.layout {
                let block = &f.blocks[b];
                for &i in &block.body {
                    self.define(f, &f.insts[i]);
                }
                for e in block.term.edges() {
                    let params = &f.blocks[e.to].params;
                    for (&p, &a) in params.iter().zip(&e.args) {
                        let arg = self.map[a];
                        let Some(arg) = arg else {
                            looped = true;
                            continue;
                        };
                        let new = match self.map[p] {
                            None => arg,
                            Some(old) => old.meet(arg),
                        };
                        if self.map[p] != Some(new) {
                            // Something seen earlier may have been computed from the stronger fact.
                            changed = true;
                            self.map[p] = Some(match round {
                                0 | 1 => new,
                                2 | 3 => new.bits_only(),
                                _ => Bits::ANY,
                            });
                        }
                    }
                }
            }
            let again = changed && (round > 0 || has_back_edge(f)) || looped && round == 0;
            if !again {
                break;
            }
        }
    }

    /// What has been learnt about a value.
    pub(crate) fn bits(&self, v: ValueId) -> Bits {
        self.map.get(v).copied().flatten().unwrap_or(Bits::ANY)
    }

    /// What has been learnt about a 32-bit operand.
    pub(crate) fn of_src(&self, s: &Src) -> Bits {
        self.src(s, 0).unwrap_or(Bits::ANY)
    }

    /// The alignment that is proven of a memory operand: what stands on it, or what has been learnt
    /// about its base.
    pub(crate) fn align(&self, m: &MemRef) -> Align {
        // The register that gives the bank gives the address in it, too.
        if m.index.is_some() && m.space == Space::Const {
            return m.align;
        }
        let base = m.base();
        let from_base = match base.first() {
            None => Bits::constant(0),
            Some(&lo) => self.bits(lo),
        };
        m.align.strongest(from_base.align().plus(m.offset))
    }

    /// Word `n` of an operand; `None` where it has not been computed yet.
    fn src(&self, s: &Src, n: usize) -> Option<Bits> {
        let bits = match s.kind {
            SrcKind::Imm(x) => Bits::constant(x),
            SrcKind::Imm64(x) => Bits::constant(x[n.min(1)]),
            SrcKind::Const { .. } => Bits::ANY,
            _ => match s.values().get(n) {
                Some(&v) => self.map[v]?,
                None => Bits::ANY,
            },
        };
        if s.mods.abs {
            return Some(Bits::ANY);
        }
        let bits = if s.mods.inv { bits.not() } else { bits };
        Some(if s.mods.neg { bits.neg() } else { bits })
    }

    fn define(&mut self, f: &Function, inst: &Inst) {
        match inst.dsts.as_slice() {
            [] => {}
            &[d] if f.values[d].class == Class::Gpr => {
                self.map[d] = self.result(inst).map(|b| b.meet_facts(inst.known));
            }
            &[lo, hi] if matches!(inst.ty, Type::U64 | Type::S64) => {
                let (l, h) = self.pair(inst);
                self.map[lo] = l;
                self.map[hi] = h;
            }
            // An addition that gives a carry too.
            &[d, c] if f.values[c].class == Class::Carry && f.values[d].class == Class::Gpr => {
                self.map[d] = self.result(inst);
                self.map[c] = Some(Bits::ANY);
            }
            all => all.iter().for_each(|&d| self.map[d] = Some(Bits::ANY)),
        }
        if let Some(c) = inst.call() {
            c.results.iter().for_each(|&d| self.map[d] = Some(Bits::ANY));
        }
    }

    /// `None`: not known yet, because an operand is not.
    fn result(&self, inst: &Inst) -> Option<Bits> {
        let s = |n: usize| self.src(&inst.srcs[n], 0);
        let float = inst.ty.is_float();
        if inst.guard.is_some() {
            return Some(Bits::ANY);
        }
        Some(match inst.op {
            Op::Mov if inst.ty != Type::Pred && !float => s(0)?,
            Op::Mov if inst.srcs[0].mods == SrcMods::default() => s(0)?,
            Op::Sel => s(0)?.meet(s(1)?),
            Op::Slct if !float => s(0)?.meet(s(1)?),
            Op::Add if !float && inst.srcs.len() == 2 && !inst.sat => s(0)?.plus(s(1)?),
            Op::Sub if !float && inst.srcs.len() == 2 && !inst.sat => s(0)?.plus(s(1)?.neg()),
            Op::Mul if !float => s(0)?.times(s(1)?),
            Op::Mad if !float && inst.srcs.len() == 3 && !inst.sat => s(0)?.times(s(1)?).plus(s(2)?),
            Op::ShlAdd => s(0)?.shl(inst.srcs[1].as_imm().unwrap_or(0)).plus(s(2)?),
            Op::And => s(0)?.and(s(1)?),
            Op::Or => s(0)?.or(s(1)?),
            Op::Xor => s(0)?.xor(s(1)?),
            Op::Not => s(0)?.not(),
            Op::Shl | Op::Shr => {
                let (a, by) = (s(0)?, s(1)?);
                match by.as_constant() {
                    Some(n) => {
                        let n = if inst.aux == Aux::Wrap { n & 31 } else { n };
                        match inst.op {
                            Op::Shl => a.shl(n),
                            _ if inst.ty.is_signed() => a.sar(n),
                            _ => a.shr(n),
                        }
                    }
                    None if inst.op == Op::Shl => {
                        let zeros = a.zero.trailing_ones().min(31);
                        Bits { zero: (1 << zeros) - 1, ..Bits::ANY }.tighten()
                    }
                    None if !inst.ty.is_signed() => Bits::range(0, a.max),
                    None => Bits::ANY,
                }
            }
            Op::Ext if inst.ty == Type::U32 => match inst.srcs[1].as_imm() {
                Some(x) => {
                    let (pos, len) = (x & 0xff, x >> 8 & 0xff);
                    let mask = if len >= 32 { u32::MAX } else { (1 << len) - 1 };
                    s(0)?.shr(pos).and(Bits::constant(mask))
                }
                None => Bits::ANY,
            },
            Op::Min if inst.ty == Type::U32 => s(0)?.umin(s(1)?),
            Op::Max if inst.ty == Type::U32 => s(0)?.umax(s(1)?),
            Op::Div if inst.ty == Type::U32 => {
                let (a, b) = (s(0)?, s(1)?);
                a.max.checked_div(b.min).map_or(Bits::ANY, |max| Bits::range(a.min / b.max, max))
            }
            Op::Mod if inst.ty == Type::U32 => {
                let (a, b) = (s(0)?, s(1)?);
                if b.min > 0 { Bits::range(0, a.max.min(b.max - 1)) } else { Bits::ANY }
            }
            Op::Popc => Bits::range(0, 32),
            Op::Set if inst.ty == Type::F32 => Bits { zero: !0x3f80_0000, one: 0, min: 0, max: 0x3f80_0000 },
            Op::Cvt if !float && !inst.sty.is_float() => {
                let a = s(0)?;
                match (inst.sty, inst.ty) {
                    (Type::U8, Type::U32 | Type::S32) => match inst.aux {
                        Aux::Byte(n) => a.shr(8 * u32::from(n)).and(Bits::constant(0xff)),
                        _ => a.and(Bits::constant(0xff)),
                    },
                    (Type::U16, Type::U32 | Type::S32) => match inst.aux {
                        Aux::Byte(n) => a.shr(16 * u32::from(n)).and(Bits::constant(0xffff)),
                        _ => a.and(Bits::constant(0xffff)),
                    },
                    (Type::U32, Type::U32) | (Type::S32, Type::S32) if inst.aux == Aux::None && !inst.sat => {
                        a
                    }
                    _ => Bits::ANY,
                }
            }
            Op::Ld => match inst.ty {
                Type::U8 => Bits::range(0, 0xff),
                Type::U16 => Bits::range(0, 0xffff),
                _ => Bits::ANY,
            },
            Op::Rdsv => match inst.aux {
                Aux::Sv(sv) => system_value(sv, &self.launch),
                _ => Bits::ANY,
            },
            _ => Bits::ANY,
        })
    }

    /// The two words of a 64-bit result. Carries run upwards, so the low word is what the 32-bit
    /// operation gives.
    fn pair(&self, inst: &Inst) -> (Option<Bits>, Option<Bits>) {
        let both = |op: fn(Bits, Bits) -> Bits| {
            let word = |n| Some(op(self.src(&inst.srcs[0], n)?, self.src(&inst.srcs[1], n)?));
            (word(0), word(1))
        };
        let low = |bits: Option<Bits>| (bits, Some(Bits::ANY));
        if inst.guard.is_some() {
            return low(Some(Bits::ANY));
        }
        match inst.op {
            Op::Mov => (self.src(&inst.srcs[0], 0), self.src(&inst.srcs[0], 1)),
            Op::And => both(Bits::and),
            Op::Or => both(Bits::or),
            Op::Xor => both(Bits::xor),
            Op::Add => low(both(Bits::plus).0),
            Op::Mul => low(both(Bits::times).0),
            Op::Cvt if inst.sty == Type::U32 => (self.src(&inst.srcs[0], 0), Some(Bits::constant(0))),
            Op::Cvt if inst.sty == Type::S32 => low(self.src(&inst.srcs[0], 0)),
            Op::Shl => match inst.srcs[1].as_imm().map(|n| if inst.aux == Aux::Wrap { n & 63 } else { n }) {
                Some(n) if n < 32 => low(self.src(&inst.srcs[0], 0).map(|b| b.shl(n).bits_only())),
                Some(_) => (Some(Bits::constant(0)), Some(Bits::ANY)),
                None => low(Some(Bits::ANY)),
            },
            _ => low(Some(Bits::ANY)),
        }
    }
}

impl Bits {
    fn meet_facts(self, known: Align) -> Bits {
        if known == Align::ANY {
            return self;
        }
        let k = Bits::aligned(known);
        Bits { zero: self.zero | k.zero, one: self.one | k.one, ..self }.tighten()
    }
}

fn has_back_edge(f: &Function) -> bool {
    let mut seen = cranelift_entity::EntitySet::new();
    f.layout.iter().any(|&b| {
        seen.insert(b);
        f.blocks[b].term.successors().any(|s| seen.contains(s))
    })
}

/// Ranges of special registers: those that the hardware guarantees for any launch (CUDA C
/// programming guide, technical specifications of compute capabilities 2.x and 3.x), or the
/// declared block size.
fn system_value(sv: Sv, launch: &Launch) -> Bits {
    let tid = |dim: usize, limit: u32| {
        let size = launch.block_size.map_or(limit, |s| s[dim].clamp(1, limit));
        Bits::range(0, size - 1)
    };
    let ntid = |dim: usize, limit: u32| match launch.block_size {
        Some(s) => Bits::constant(s[dim]),
        None => Bits::range(1, limit),
    };
    let grid_x = launch.max_grid_x.unwrap_or(0x7fff_ffff);
    match sv {
        Sv::TidX => tid(0, 1024),
        Sv::TidY => tid(1, 1024),
        Sv::TidZ => tid(2, 64),
        Sv::NtidX => ntid(0, 1024),
        Sv::NtidY => ntid(1, 1024),
        Sv::NtidZ => ntid(2, 64),
        Sv::CtaidX => Bits::range(0, grid_x - 1),
        Sv::CtaidY | Sv::CtaidZ => Bits::range(0, 0xfffe),
        Sv::NctaidX => Bits::range(1, grid_x),
        Sv::NctaidY | Sv::NctaidZ => Bits::range(1, 0xffff),
        Sv::Laneid => Bits::range(0, 31),
        Sv::WarpId => Bits::range(0, 63),
        Sv::NumWarps => Bits::range(1, 64),
        Sv::WorkDim => Bits::range(1, 3),
        _ => Bits::ANY,
    }
}
