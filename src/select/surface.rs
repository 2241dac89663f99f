//! Surface instructions, after their lowering.

use super::operand::args;
use super::{Cx, Result, Unencodable};
use crate::chip::Chip;
use crate::ir::madsp;
use crate::ir::{Aux, Inst, Order, SurfAccess, SurfShape, Type};
use crate::isa::{self, Kw, MInst, Mod, Operand, Reg};

impl Cx<'_> {
    pub(crate) fn suclamp(&self, i: &Inst) -> Result<MInst> {
        let Aux::Suclamp { mode, two_d, signed, imm } = i.aux else { return Err(Unencodable::Operand) };
        let kind = [Mod::Sd, Mod::Pl, Mod::Bl][usize::from(mode / 5).min(2)];
        let size = [Mod::R1, Mod::R2, Mod::R4, Mod::R8, Mod::R16][usize::from(mode % 5)];
        let m = self.inst(isa::Op::Suclamp).with_if(!two_d, Mod::D1).with_if(!signed, Mod::U32);
        // The first mode is not written.
        let m = if mode == 0 { m } else { m.with(kind).with(size) };
        let bias = Operand::Imm { bits: imm as u32, kind: isa::ImmKind::Int, mods: Default::default() };
        Ok(args(m, [self.pdst(i), self.dst(i), self.arg(i, 0, Type::U32)?, self.arg(i, 1, Type::U32)?, bias]))
    }

    pub(crate) fn subfm(&self, i: &Inst) -> Result<MInst> {
        let m = self.inst(isa::Op::Subfm).with_if(i.aux == Aux::Subfm { three_d: true }, Mod::D3);
        let m = args(m, [self.pdst(i), self.dst(i)]);
        self.three(m, i)
    }

    pub(crate) fn sueau(&self, i: &Inst) -> Result<MInst> {
        self.three(self.inst(isa::Op::Sueau).arg(self.dst(i)), i)
    }

    pub(crate) fn madsp(&self, i: &Inst) -> Result<MInst> {
        let Aux::Madsp(parts) = i.aux else { return Err(Unencodable::Operand) };
        let m = self.inst(isa::Op::Imadsp);
        let m = if parts == madsp::SD {
            m.with(Mod::Sd)
        } else {
            let [sign_a, sign_b] = [6, 7].map(|bit| usize::from(parts >> bit & 1));
            let pick = |n: u16, signed: usize, names: [&[Mod]; 2]| {
                names[signed].get(usize::from(n & 3)).copied().ok_or(Unencodable::Operand)
            };
            let first =
                [[Mod::U32, Mod::U24, Mod::U16h0, Mod::U16h1], [Mod::S32, Mod::S24, Mod::S16h0, Mod::S16h1]];
            m.with(pick(parts, sign_a, [&first[0], &first[1]])?)
                .with(pick(parts >> 2 & 1, sign_b, [&first[0][1..], &first[1][1..]])?)
                .with(pick(parts >> 4, sign_a | sign_b, [&first[0][..3], &first[1][..3]])?)
        };
        self.three(m.arg(self.dst(i)), i)
    }

    fn three(&self, m: MInst, i: &Inst) -> Result<MInst> {
        Ok(args(m, [self.arg(i, 0, Type::U32)?, self.arg(i, 1, Type::U32)?, self.arg(i, 2, Type::U32)?]))
    }

    fn pair_address(&self, i: &Inst) -> Result<Operand> {
        let v = *i.srcs.first().and_then(|s| s.values().first()).ok_or(Unencodable::Operand)?;
        Ok(Operand::Mem { base: Reg((self.reg)(v)), offset: 0 })
    }

    /// Slot, shape, coordinates.
    fn slot(&self, i: &Inst, shape: SurfShape) -> Result<[Operand; 3]> {
        let slot = match i.srcs.first().and_then(|s| s.as_imm()) {
            Some(n) => Operand::imm(n),
            None => self.arg(i, 0, Type::U32)?,
        };
        let shape = match shape {
            SurfShape::D1 => Kw::T1d,
            SurfShape::D2 => Kw::T2d,
            SurfShape::Layers => Kw::E2d,
        };
        Ok([slot, Operand::Word(shape), self.arg(i, 1, Type::U32)?])
    }

    pub(crate) fn surface_load(&self, i: &Inst) -> Result<MInst> {
        let s = i.surf().filter(|_| !i.srcs.is_empty()).ok_or(Unencodable::Operation)?;
        let machine = s.machine.ok_or(Unencodable::Operation)?;
        let size = match i.ty {
            Type::U8 => Mod::U8,
            Type::U16 => Mod::U16,
            Type::U32 => Mod::B32,
            Type::U64 => Mod::B64,
            Type::B128 => Mod::B128,
            _ => return Err(Unencodable::Operation),
        };
        let cached = |m: MInst| m.with(if s.order == Order::Weak { Mod::Ca } else { Mod::Cv });
        if self.chip == Chip::Gf100 {
            let [slot, shape, coords] = self.slot(i, machine.shape)?;
            if machine.access == SurfAccess::Address {
                let m = self.inst(isa::Op::Sulea).with(Mod::B).with(size).with(Mod::Clamp);
                return Ok(args(m, [self.pdst(i), self.dst(i), slot, shape, coords]));
            }
            let m = cached(self.inst(isa::Op::Suld).with(Mod::B)).with(size).with(Mod::Z);
            return Ok(args(m, [self.dst(i), slot, shape, coords]));
        }
        let m = cached(self.inst(isa::Op::Suldga).with(Mod::B)).with(size).with(Mod::Z).with(Mod::U8);
        let m = args(m, [self.dst(i), self.pair_address(i)?, self.arg(i, 1, Type::U32)?]);
        Ok(m.arg(self.pred_or_true(i, 2)?))
    }

    pub(crate) fn surface_store(&self, i: &Inst) -> Result<MInst> {
        let s = i.surf().filter(|_| !i.srcs.is_empty()).ok_or(Unencodable::Operation)?;
        let machine = s.machine.ok_or(Unencodable::Operation)?;
        let bytes = machine.access == SurfAccess::Bytes;
        if self.chip == Chip::Gf100 {
            let [slot, shape, coords] = self.slot(i, machine.shape)?;
            let m = self.inst(isa::Op::Sust);
            let m = if bytes {
                m.with(Mod::B).with(Mod::Wb).with(Mod::B32).with(Mod::Z)
            } else {
                m.with(Mod::P).with(Mod::Wb).with(Mod::Z)
            };
            return Ok(args(m, [slot, shape, coords, self.arg(i, 2, Type::U32)?]));
        }
        let m = self.inst(isa::Op::Sustga);
        let m =
            if bytes { m.with(Mod::B).with(Mod::Wb).with(Mod::B32) } else { m.with(Mod::P).with(Mod::Wb) };
        let m = m.with(Mod::Ign).with(Mod::U8);
        let m = args(m, [self.pair_address(i)?, self.arg(i, 1, Type::U32)?, self.arg(i, 2, Type::U32)?]);
        Ok(m.arg(self.pred_or_true(i, 3)?))
    }
}
