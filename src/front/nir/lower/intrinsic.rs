//! Intrinsics: by the table, to what lowers them.

use super::super::alu::{Base, Op as N};
use super::super::ast::{self, Dest, Node, Place, RegDecl, RegRef, Src, SrcId, UnknownKind};
use super::super::indices::Indices;
use super::super::intrinsics::{self, Barrier, Kind};
use super::super::names::{self, Rounding, Scope as NirScope, TexOpcode};
use super::{Lower, Reg, Shape};
use crate::diag::Diagnostic;
use crate::front::common::emit::value::{Comp, Word};
use crate::front::common::lanes;
use crate::ir::{Aux, Inst, MemRef, Op, Rnd, Scope, Space, Sv, Type};
use crate::stage::Stage;

/// What registers that are declared by an intrinsic are called among the others.
fn reg_number(index: u32) -> u32 {
    index | 1 << 31
}

impl<'a> Lower<'a, '_> {
    pub(super) fn intrinsic(&mut self, i: &ast::Intrinsic) {
        let fun = self.fun;
        let (srcs, ix, info) = (fun.srcs(i.srcs), fun.indices(i.indices), i.info);
        let dest = match (&i.dest, info.kind) {
            (Some(dest), _) => *dest,
            (None, Kind::Store(mem)) => return self.store_intrinsic(mem, srcs, ix),
            (None, Kind::Barrier(barrier)) => return self.barrier(barrier, ix),
            (None, Kind::Image(image, op)) => return drop(self.image(image, op, None, srcs, ix)),
            (None, Kind::CopyDeref) => return self.copy_deref(srcs, ix),
            (None, Kind::MemcpyDeref) => return self.memcpy_deref(srcs, ix),
            (None, Kind::StoreReg) => return self.store_reg(&srcs[0], &srcs[1], None, ix),
            (None, Kind::StoreRegIndirect) => {
                let id = self.source_id(i.srcs, 2);
                return self.store_reg(&srcs[0], &srcs[1], Some(id), ix);
            }
            (None, Kind::StoreIo(io)) => return self.store_io(io, &info.name, srcs, ix),
            (None, Kind::Discard) => return self.discard(&info.name, None),
            (None, Kind::DiscardIf) => return self.discard(&info.name, srcs.first()),
            (None, kind @ (Kind::EmitVertex | Kind::EndPrimitive)) => {
                return self.emit_vertex(kind, &info.name, ix);
            }
            (None, Kind::Nothing) => return,
            (None, _) => return,
        };
        match info.kind {
            Kind::Load(mem) => self.load_intrinsic(mem, &dest, srcs, ix),
            Kind::Atomic(mem, Some(op)) => self.atomic_intrinsic(mem, op, &dest, srcs, ix),
            Kind::Atomic(mem, None) | Kind::AtomicSwap(mem) => match ix.atomic_op {
                Some(op) => self.atomic_intrinsic(mem, op, &dest, srcs, ix),
                None => {
                    self.error(self.span, "the atomic operation is not known");
                    self.define_undef(&dest);
                }
            },
            Kind::Image(image, op) => {
                let made = self.image(image, op, Some(&dest), srcs, ix);
                self.finish(&dest, made);
            }
            Kind::LoadIo(io) => self.load_io(io, &info.name, &dest, srcs, ix),
            Kind::Barycentric(what) => self.barycentric(what, &info.name, &dest, srcs, ix),
            Kind::System(value) => self.system(value, &info.name, &dest),
            Kind::InterpolateDeref(_) => {
                match self.stage() {
                    Stage::Fragment => self.error(self.span, "only inputs are interpolated"),
                    _ => self.not_here(&info.name),
                }
                self.define_undef(&dest);
            }
            Kind::Subgroup(op) => self.subgroup(op, &dest, srcs, ix),
            Kind::SsboSize | Kind::UboSize => {
                let space = if info.kind == Kind::SsboSize { Space::Buffer } else { Space::Uniform };
                // Drivers describe no uniform blocks to graphics stages and to gf100, they just bind them.
                if space == Space::Uniform && self.stage().is_graphics() {
                    self.not_here(&info.name);
                    return self.define_undef(&dest);
                }
                if space == Space::Uniform && self.needs_kepler("sizes of uniform blocks").is_none() {
                    return self.define_undef(&dest);
                }
                let number = match space {
                    Space::Uniform => self.block_number(&srcs[0]),
                    _ => Some(self.src_comp(&srcs[0], 0).word()),
                };
                let Some(number) = number else {
                    self.unsupported(self.span, "the size of the default uniform block is not known");
                    return self.define_undef(&dest);
                };
                let mem = self.e.numbered_by(MemRef::new(space), number);
                let size = self.e.comp(Inst::new(Op::BufSize, Type::U32).with_mem(mem));
                self.define(&dest, &[size]);
            }
            Kind::Ddx | Kind::Ddy => {
                let bits = self.dest_shape(&dest).bits;
                let of = self.src_comps(&srcs[0]).into_iter();
                let comps: Option<Vec<Comp>> =
                    of.map(|c| self.derivative(c, bits, info.kind == Kind::Ddy)).collect();
                match comps {
                    Some(comps) => self.define(&dest, &comps),
                    None => {
                        self.not_here(&info.name);
                        self.define_undef(&dest);
                    }
                }
            }
            Kind::Param => {
                let shape = self.dest_shape(&dest);
                match self.param(ix.param as usize) {
                    Some((have, comps)) if have == shape => self.define(&dest, &comps),
                    _ => {
                        self.error(self.span, "the function has no such parameter");
                        self.define_undef(&dest);
                    }
                }
            }
            Kind::DerefModeIs => self.mode_is(&dest, &srcs[0], ix),
            Kind::BufferArrayLength => self.array_length(&dest, &srcs[0]),
            Kind::ShaderClock => {
                let lo = self.e.b.sv(Sv::ClockLo);
                let hi = self.e.b.sv(Sv::ClockHi);
                self.define(&dest, &[Comp::Word(lo.into()), Comp::Word(hi.into())]);
            }
            Kind::DeclReg => self.declare_reg(&dest, ix),
            Kind::LoadReg => self.load_reg(&dest, &srcs[0], None, ix),
            Kind::LoadRegIndirect => {
                let id = self.source_id(i.srcs, 1);
                self.load_reg(&dest, &srcs[0], Some(id), ix);
            }
            Kind::ConvertAluTypes => self.convert_types(&dest, &srcs[0], ix),
            Kind::Store(_)
            | Kind::StoreIo(_)
            | Kind::Barrier(_)
            | Kind::CopyDeref
            | Kind::MemcpyDeref
            | Kind::Discard
            | Kind::DiscardIf
            | Kind::EmitVertex
            | Kind::EndPrimitive
            | Kind::StoreReg
            | Kind::StoreRegIndirect
            | Kind::Nothing => {}
        }
    }

    /// What the parser does not know.
    pub(super) fn unknown(&mut self, unknown: &ast::Unknown<'_>) {
        let name = unknown.name;
        let d = match unknown.kind {
            UnknownKind::Intrinsic => Diagnostic::unsupported(format!("intrinsic `{name}` is not supported")),
            UnknownKind::TexOpcode => {
                Diagnostic::unsupported(format!("texture operation `{name}` is not supported"))
            }
            UnknownKind::TexRole => {
                Diagnostic::unsupported(format!("textures with `{name}` are not supported"))
            }
        };
        // Nobody reads the suggestions of a thousand errors.
        let near = match unknown.kind {
            _ if self.module.diags.is_full() => None,
            UnknownKind::Intrinsic => intrinsics::nearest(name),
            UnknownKind::TexOpcode => names::nearest::<TexOpcode>(name),
            UnknownKind::TexRole => None,
        };
        self.module.diags.push(d.at(unknown.span, "").did_you_mean(near));
        if let Some(dest) = &unknown.dest {
            self.define_undef(dest);
        }
    }

    fn source_id(&self, srcs: ast::Range, i: u32) -> SrcId {
        self.fun.src_id(srcs, i)
    }

    // ---- barriers

    fn barrier(&mut self, barrier: Barrier, ix: &Indices) {
        let (execution, memory) = match barrier {
            Barrier::Execution => (true, None),
            Barrier::Device => (false, Some(Scope::Gpu)),
            Barrier::Workgroup => (false, Some(Scope::Cta)),
            Barrier::Scoped => {
                let ordered = !ix.semantics.is_empty() && !ix.modes.is_empty();
                let memory = match ix.memory_scope {
                    NirScope::Device | NirScope::QueueFamily if ordered => Some(Scope::Gpu),
                    NirScope::Workgroup if ordered => Some(Scope::Cta),
                    _ => None,
                };
                let execution = ix.execution_scope == NirScope::Workgroup;
                (execution, memory)
            }
        };
        if execution && self.stage().is_graphics() && self.stage() != Stage::TessControl {
            return self.not_here("a barrier of a block");
        }
        // A barrier of a block orders what its threads did before by itself, so a fence for the block in front of it is not
        // needed (PTX ISA, `bar.sync`).
        let fence = |i: &Inst| i.op == Op::Membar && i.aux == Aux::Scope(Scope::Cta);
        if execution {
            let func = &mut *self.e.b.func;
            let body = &mut func.blocks[self.e.b.block].body;
            while body.last().is_some_and(|&last| fence(&func.insts[last])) {
                body.pop();
            }
        }
        if let Some(scope) = memory.filter(|&scope| !(execution && scope == Scope::Cta)) {
            lanes::fence(&mut self.e.b, scope);
        }
        if execution {
            lanes::barrier(&mut self.e.b);
        }
    }

    // ---- registers as intrinsics

    fn declare_reg(&mut self, dest: &Dest, ix: &Indices) {
        let shape = Shape { bits: ix.bit_size as u8, comps: ix.num_components as u8 };
        self.define(dest, &[Comp::Word(Word::Imm(0))]);
        let Dest::Ssa(def) = dest else { return };
        let elems = ix.num_array_elems;
        let number = reg_number(def.index);
        let indexed = self.fun.body.iter().any(|(node, _)| {
            let Node::Intrinsic(i) = node else { return false };
            let at = match i.info.kind {
                Kind::LoadRegIndirect => 0,
                Kind::StoreRegIndirect => 1,
                _ => return false,
            };
            self.fun.srcs(i.srcs).get(at).is_some_and(|s| s.place == Place::Ssa(def.index))
        });
        let reg = if elems > 0 && (indexed || elems > 64) {
            let bytes = u64::from(elems) * u64::from(shape.comps) * u64::from(shape.bits.max(8)) / 8;
            Reg::Memory(self.private(u32::try_from(bytes).unwrap_or(u32::MAX), 16))
        } else {
            let n = elems.max(1) as usize * shape.words();
            Reg::Vars((0..n).map(|_| self.e.ssa.var(shape.class())).collect())
        };
        let decl = RegDecl { index: number, shape, elems, span: self.span };
        self.regs.insert(number, (decl, reg));
    }

    fn reg_of(&mut self, src: &Src, indirect: Option<SrcId>, ix: &Indices) -> Option<RegRef> {
        let number = match src.place {
            Place::Ssa(index) => reg_number(index),
            Place::Reg(_) => 0,
        };
        self.regs.contains_key(&number).then_some(RegRef { index: number, base: ix.base, indirect })
    }

    fn load_reg(&mut self, dest: &Dest, reg: &Src, indirect: Option<SrcId>, ix: &Indices) {
        let shape = self.dest_shape(dest);
        let Some(reg) = self.reg_of(reg, indirect, ix) else { return self.define_undef(dest) };
        let mut comps: Vec<Comp> = (0..usize::from(shape.comps)).map(|i| self.read_reg(&reg, i)).collect();
        for (asked, op) in [(ix.abs, N::Fabs), (ix.neg, N::Fneg)] {
            if asked {
                for c in &mut comps {
                    *c = self.e.unary(op, shape.bits, *c);
                }
            }
        }
        self.define(dest, &comps);
    }

    fn store_reg(&mut self, data: &Src, reg: &Src, indirect: Option<SrcId>, ix: &Indices) {
        let Some(reg) = self.reg_of(reg, indirect, ix) else { return };
        let bits = self.src_shape(data).bits;
        let mut comps = self.src_comps(data);
        if ix.sat {
            for c in &mut comps {
                *c = self.e.saturate(*c, bits);
            }
        }
        let mask = ix.write_mask.unwrap_or(u16::MAX);
        // The mask says which of the data's components are written, each to its own place.
        let written: Vec<Comp> =
            comps.iter().enumerate().filter(|(i, _)| mask >> i & 1 != 0).map(|(_, c)| *c).collect();
        self.write_reg(&reg, mask, &written);
    }

    // ---- conversions with types in their indices

    fn convert_types(&mut self, dest: &Dest, src: &Src, ix: &Indices) {
        let shape = self.dest_shape(dest);
        let sbits = self.src_shape(src).bits;
        let op = match (ix.src_type.map(|t| t.base), ix.dest_type.map(|t| t.base)) {
            (Some(Base::Float), Some(Base::Float)) => N::F2F,
            (Some(Base::Float), Some(Base::Int)) => N::F2I,
            (Some(Base::Float), Some(Base::Uint)) => N::F2U,
            (Some(Base::Int), Some(Base::Float)) => N::I2F,
            (Some(Base::Uint), Some(Base::Float)) => N::U2F,
            (Some(Base::Int), Some(Base::Int | Base::Uint)) => N::I2I,
            (Some(Base::Uint), Some(Base::Int | Base::Uint)) => N::U2U,
            _ => {
                self.error(self.span, "no such conversion");
                return self.define_undef(dest);
            }
        };
        if ix.saturate || ix.rounding != Rounding::Any && op != N::F2F {
            self.unsupported(self.span, "conversions that saturate or round are not supported in this form");
            return self.define_undef(dest);
        }
        let rnd = match ix.rounding {
            Rounding::Up => Rnd::Up,
            Rounding::Down => Rnd::Down,
            Rounding::Zero => Rnd::Zero,
            Rounding::Any | Rounding::Near => Rnd::Near,
        };
        let comps: Vec<Comp> = self.src_comps(src).to_vec();
        let mut out = Vec::new();
        for c in comps {
            out.push(if op == N::F2F {
                self.e.float_resize(c, sbits, shape.bits, rnd)
            } else {
                self.e.convert_one(op, sbits, shape.bits, c)
            });
        }
        self.define(dest, &out);
    }
}
