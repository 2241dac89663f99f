//! Instructions that only graphics stages have: inputs, outputs, vertices, pixels.

use super::{Decoder, Res};
use crate::code::micro::Micro;
use crate::code::stageop::{At, IpaMode, IpaSample, PixelInfo, StageOp};
use crate::state::lanes::Src;
use nvir_base::Chip;
use nvir_isa::{Mod, Op, Operand, Reg};

impl Decoder<'_> {
    /// `a[base + offset]`.
    fn attribute(&mut self, output: bool) -> Res<At> {
        let Operand::Attr { base, offset } = self.take()? else { return Err("an attribute was expected") };
        let patch = self.has(Mod::P);
        // On Kepler a register holds what AL2P gave. Mesa's code for GK104 has that without the bit of PHYS, and runs on cards.
        let physical = self.has(Mod::Phys) || self.chip != Chip::Gf100 && base != Reg::Z && !patch;
        Ok(At { base: self.reg_src(base)?, offset, patch, output, physical })
    }

    /// A register that may be left out.
    fn last_register(&mut self) -> Res<Option<Src>> {
        match self.peek() {
            Some(Operand::Reg { reg: Reg::Z, .. }) | None => Ok(None),
            Some(_) => self.int().map(Some),
        }
    }

    /// `[base + n]`.
    fn indexed(&mut self) -> Res<(Src, i32)> {
        let Operand::Mem { base, offset } = self.take()? else { return Err("a number was expected") };
        Ok((self.reg_src(base)?, offset))
    }

    pub(super) fn stage(&mut self) -> Res<Micro> {
        let op = match self.m.op {
            Op::Ald => {
                let width = self.width()?;
                let dst = self.vector_dst(width)?;
                let at = self.attribute(self.has(Mod::O))?;
                StageOp::Load { width, dst, at, vertex: self.last_register()? }
            }
            Op::Ast => {
                let width = self.width()?;
                let at = self.attribute(true)?;
                let src = self.vector_src(width)?;
                StageOp::Store { width, src, at, vertex: self.last_register()? }
            }
            Op::Vild => {
                let dst = self.dst()?;
                let (base, n) = self.indexed()?;
                StageOp::Vertex { dst, base, n }
            }
            Op::Al2p => {
                let dst = self.dst()?;
                let base = match self.peek() {
                    Some(Operand::Reg { .. }) => self.int()?,
                    _ => Src::ZERO,
                };
                let offset = if self.left() > 0 { self.imm_value()? as i32 } else { 0 };
                StageOp::Physical { dst, base, offset, output: self.has(Mod::O) }
            }
            Op::Out => {
                let both = self.has(Mod::EmitThenCut);
                let (emit, cut) = (both || self.has(Mod::Emit), both || self.has(Mod::Cut));
                if !emit && !cut {
                    return Err("OUT that neither emits nor cuts has no documented meaning");
                }
                let dst = self.dst()?;
                StageOp::Out { dst, handle: self.int()?, stream: self.int()?, emit, cut }
            }
            Op::Ipa => {
                let mode = match () {
                    _ if self.has(Mod::Pass) => IpaMode::Pass,
                    _ if self.has(Mod::Constant) => IpaMode::Constant,
                    _ if self.has(Mod::Sc) => IpaMode::Color,
                    _ => IpaMode::Multiply,
                };
                let sample = match () {
                    _ if self.has(Mod::Centroid) => IpaSample::Centroid,
                    _ if self.has(Mod::Offset) => IpaSample::Offset,
                    _ => IpaSample::Centre,
                };
                let sat = self.has(Mod::Sat);
                let dst = self.dst()?;
                let at = self.attribute(false)?;
                StageOp::Interpolate {
                    dst,
                    at,
                    mode,
                    sample,
                    sat,
                    w: self.int()?,
                    offset: self.last_register()?,
                }
            }
            _ => {
                let info = match () {
                    _ if self.has(Mod::Covmask) => PixelInfo::Coverage,
                    _ if self.has(Mod::Covered) => return Err("PIXLD.COVERED has no documented meaning"),
                    _ if self.has(Mod::Offset) => PixelInfo::SampleOffset,
                    _ if self.has(Mod::CentroidOffset) => PixelInfo::CentroidOffset,
                    _ if self.has(Mod::MyIndex) => PixelInfo::SampleId,
                    _ => PixelInfo::Count,
                };
                let dst = self.dst()?;
                if matches!(self.peek(), Some(Operand::Pred(_))) {
                    return Err("the predicate of PIXLD has no documented meaning");
                }
                let (base, n) = self.indexed()?;
                StageOp::Pixel { dst, info, base, n }
            }
        };
        Ok(Micro::Stage(Box::new(op)))
    }
}
