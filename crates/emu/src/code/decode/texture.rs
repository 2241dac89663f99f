//! Texture and surface instructions.

use super::{Decoder, Res};
use crate::code::laneop::LaneOp;
use crate::code::micro::{Micro, NULL, PSrc, Width};
use crate::code::surfop::{Access, Clamp, Order, SurfaceOp, Target};
use crate::code::texop::{Lod, TexKind, TexOp};
use crate::state::lanes::Src;
use nvir_base::Chip;
use nvir_isa::{Kw, Mod, Op, Operand, Reg};

/// Coordinates, cube, array.
fn shape(k: Kw) -> Option<(u8, bool, bool)> {
    Some(match k {
        Kw::T1d => (1, false, false),
        Kw::Array1d => (1, false, true),
        Kw::T2d => (2, false, false),
        Kw::Array2d => (2, false, true),
        Kw::T3d => (3, false, false),
        Kw::Array3d => (3, false, true),
        Kw::Cube => (3, true, false),
        Kw::ArrayCube => (3, true, true),
        _ => return None,
    })
}

impl Decoder<'_> {
    pub(super) fn texture(&mut self) -> Res<Micro> {
        let Operand::Reg { reg: dst, .. } = self.take()? else { return Err("a register was expected") };
        let mut runs = Vec::new();
        while let Some(Operand::Reg { reg, .. }) = self.peek() {
            self.next += 1;
            runs.push(reg);
        }
        let mut numbers = Vec::new();
        let mut word = None;
        while let Some(o) = self.peek() {
            self.next += 1;
            match o {
                Operand::Imm { bits, .. } => numbers.push(bits),
                Operand::Word(k) => word = Some(k),
                _ => return Err("a texture number was expected"),
            }
        }
        let mask = *numbers.last().ok_or("a component mask is missing")? as u8 & 15;
        let texture = numbers.first().copied().unwrap_or(0);
        let sampler = if numbers.len() > 2 { numbers[1] } else { texture };
        // A gather names its component by a letter, which for blue is also the letter of `.B`.
        let letters = self.m.mods.iter().filter(|m| **m == Mod::B).count();
        let gather_b = self.m.op == Op::Tld4 && self.m.mods.first() == Some(&Mod::B);
        let indirect = letters > usize::from(gather_b);
        let (dims, cube, array) = word.and_then(shape).unwrap_or((0, false, false));
        let kind = match self.m.op {
            Op::Tex => TexKind::Sample(if self.has(Mod::Lz) {
                Lod::Zero
            } else if self.has(Mod::Ll) || self.has(Mod::Lla) {
                Lod::Level
            } else if self.has(Mod::Lb) || self.has(Mod::Lba) {
                Lod::Bias
            } else {
                Lod::Implicit
            }),
            Op::Tld => TexKind::Fetch { level: self.has(Mod::Ll), ms: self.has(Mod::Ms) },
            Op::Tld4 => {
                let letters = [Mod::R, Mod::G, Mod::B, Mod::A];
                let first = self.m.mods.first().and_then(|m| letters.iter().position(|l| l == m));
                TexKind::Gather { component: first.unwrap_or(0) as u8, four: self.has(Mod::Ptp) }
            }
            Op::Txd => TexKind::Grad,
            Op::Tmml => TexKind::QueryLod,
            _ => match word {
                Some(Kw::TexHeaderDimension) => TexKind::QuerySize,
                Some(Kw::TexHeaderTextureType) => TexKind::QueryType,
                _ => return Err("this texture query has no documented meaning"),
            },
        };
        let (shadow, offset) = (self.has(Mod::Dc), self.has(Mod::Aoffi) || self.has(Mod::Ptp));
        let mut op = TexOp {
            kind,
            dims,
            cube,
            array,
            shadow,
            offset,
            indirect,
            texture,
            sampler,
            mask,
            dst: NULL,
            args: Vec::new(),
        };
        self.texture_args(&mut op, &runs)?;
        op.dst = self.write_regs(dst, mask.count_ones())?;
        Ok(Micro::Tex(Box::new(op)))
    }

    /// The registers that the runs stand for.
    fn texture_args(&mut self, op: &mut TexOp, runs: &[Reg]) -> Res<()> {
        let query = matches!(op.kind, TexKind::QuerySize | TexKind::QueryType);
        let grad = op.kind == TexKind::Grad;
        let fermi = self.chip == Chip::Gf100;
        let dims = usize::from(op.dims);
        let count = usize::from;
        let head = if fermi {
            count(op.indirect || op.array && !query)
        } else {
            count(op.indirect) + count(op.array && !query || grad && op.offset)
        };
        let rest = match op.kind {
            TexKind::Grad => 0,
            TexKind::Sample(lod) => count(matches!(lod, Lod::Bias | Lod::Level)),
            TexKind::Fetch { level, ms } => count(level) + count(ms),
            TexKind::QuerySize | TexKind::QueryType => 1,
            _ => 0,
        };
        let offsets = if grad || !op.offset {
            0
        } else {
            1 + count(matches!(op.kind, TexKind::Gather { four: true, .. }))
        };
        let rest = rest + offsets + count(op.shadow);
        let derivatives = if grad { 2 * dims } else { 0 };
        let total = head + dims + rest + derivatives + count(fermi && grad && op.offset);
        let first = if query {
            total
        } else if fermi {
            head + dims + count(grad && op.offset)
        } else {
            total.min(4)
        };
        for (reg, n) in [(0, first), (1, total - first)] {
            let reg = runs.get(reg).copied().unwrap_or(Reg::Z);
            self.read_regs(reg, n as u32)?;
            op.args.extend((0..n).map(|k| if reg == Reg::Z { NULL } else { reg.0 + k as u8 }));
        }
        Ok(())
    }

    fn surface_width(&self) -> Width {
        // The coordinate's type comes last and looks like a size; the first one counts.
        let size = self.m.mods.iter().find_map(|m| match m {
            Mod::U8 => Some(Width::U8),
            Mod::S8 => Some(Width::S8),
            Mod::U16 => Some(Width::U16),
            Mod::S16 => Some(Width::S16),
            Mod::B32 => Some(Width::B32),
            Mod::B64 => Some(Width::B64),
            Mod::B128 => Some(Width::B128),
            _ => None,
        });
        size.unwrap_or(Width::B32)
    }

    pub(super) fn surface(&mut self) -> Res<Micro> {
        match self.m.op {
            Op::Suclamp => {
                let pdst = self.pdst()?;
                let dst = self.dst()?;
                let src = [self.int()?, self.int()?, Src::ZERO];
                let bias = self.imm_value()?;
                let bias = self.imm(bias)?;
                let order = match () {
                    _ if self.has(Mod::Pl) => Order::Pitch,
                    _ if self.has(Mod::Bl) => Order::Blocks,
                    _ => Order::Described,
                };
                let rounds = [Mod::R1, Mod::R2, Mod::R4, Mod::R8, Mod::R16];
                let round = rounds.iter().position(|&m| self.has(m)).unwrap_or(0) as u32;
                let how = Clamp { order, round, one_d: self.has(Mod::D1), signed: !self.has(Mod::U32) };
                Ok(Micro::SuClamp { dst, pdst, src: [src[0], src[1], bias], how })
            }
            Op::Subfm => {
                let pdst = self.pdst()?;
                let dst = self.dst()?;
                let three_d = self.has(Mod::D3);
                Ok(Micro::SuBfm { dst, pdst, src: [self.int()?, self.int()?, self.int()?], three_d })
            }
            Op::Sueau => {
                let dst = self.dst()?;
                let src = [self.int()?, self.int()?, self.int()?];
                Ok(Micro::lane(LaneOp::SurfaceAddress, dst, src))
            }
            Op::Suldga | Op::Sustga => self.surface_by_address(),
            Op::Suld | Op::Sust | Op::Sulea => self.surface_by_slot(),
            _ => Err("this surface instruction has no documented meaning"),
        }
    }

    fn surface_by_address(&mut self) -> Res<Micro> {
        let load = self.m.op == Op::Suldga;
        let width = self.surface_width();
        let trap = self.named("TRAP");
        let formatted = self.has(Mod::P);
        // The last suffix says what the low word of the address counts.
        let wide = !matches!(self.m.mods.last(), Some(Mod::U8 | Mod::S8));
        let mut data = NULL;
        if load {
            data = self.dst_n(width.regs())?;
        }
        let Operand::Mem { base, .. } = self.take()? else { return Err("an address was expected") };
        self.read_regs(base, 2)?;
        let format = self.int()?;
        if !load {
            data = self.src_regs(if formatted { 4 } else { width.regs() })?;
        }
        let outside = if self.left() > 0 { self.psrc()? } else { PSrc { num: 7, not: true } };
        let access = match (load, formatted) {
            (true, _) => Access::Load(width),
            (false, true) => Access::StoreTexel,
            (false, false) => Access::Store(width),
        };
        let target = Target::Address { reg: base.0, wide, format, outside };
        Ok(Micro::Surface(Box::new(SurfaceOp { access, target, data, trap, coherent: self.has(Mod::Cv) })))
    }

    fn surface_by_slot(&mut self) -> Res<Micro> {
        let width = self.surface_width();
        let trap = self.named("TRAP");
        let formatted = self.has(Mod::P);
        let (mut data, mut pdst) = (NULL, 7);
        match self.m.op {
            Op::Suld => data = self.dst_n(width.regs())?,
            Op::Sulea => {
                pdst = self.pdst()?;
                data = self.dst_n(2)?;
            }
            _ => {}
        }
        let slot = self.int()?;
        let (dims, layered) = match self.take()? {
            Operand::Word(Kw::T1d) => (1, false),
            Operand::Word(Kw::T2d) => (2, false),
            Operand::Word(Kw::T3d) => (3, false),
            Operand::Word(Kw::E2d) => (3, true),
            _ => return Err("a surface's shape was expected"),
        };
        let coord = self.src_regs(dims.into())?;
        let access = match self.m.op {
            Op::Suld => Access::Load(width),
            Op::Sulea => Access::Address { width, pdst },
            _ => {
                data = self.src_regs(if formatted { 4 } else { width.regs() })?;
                if formatted { Access::StoreTexel } else { Access::Store(width) }
            }
        };
        let target = Target::Slot { slot, coord, dims, layered };
        Ok(Micro::Surface(Box::new(SurfaceOp { access, target, data, trap, coherent: self.has(Mod::Cv) })))
    }
}
