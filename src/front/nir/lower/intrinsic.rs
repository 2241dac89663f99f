//! Intrinsics: by the table, to what lowers them.

use super::super::ast::{self, Dest, Node, Place, RegDecl, RegRef, Src, SrcId};
use super::super::intrinsics::{self, Barrier, Kind};
use super::memory::Indices;
use super::value::{Comp, Word};
use super::{Lower, Reg, Shape, class, words};
use crate::diag::Diagnostic;
use crate::ir::{Aux, BarOp, Inst, MemRef, Op, Rnd, Scope, Space, Sv, Type};

/// What registers that are declared by an intrinsic are called among the others.
fn reg_number(index: u32) -> u32 {
    index | 1 << 31
}

impl<'a> Lower<'a, '_> {
    pub(super) fn intrinsic(&mut self, i: &'a ast::Intrinsic<'a>) {
        let srcs = self.fun.srcs(i.srcs);
        let ix = Indices(self.fun.indices(i.indices));
        let Some(info) = intrinsics::lookup(i.name) else {
            let d =
                Diagnostic::unsupported(format!("intrinsic `{}` is not supported", i.name)).at(self.span, "");
            // Nobody reads the suggestions of a thousand errors.
            let near = if self.module.diags.is_full() { None } else { intrinsics::nearest(i.name) };
            self.module.diags.push(d.did_you_mean(near));
            return self.undef(i.dest.as_ref());
        };
        if srcs.len() != usize::from(info.srcs) {
            let message = format!("`{}` takes {} sources, not {}", i.name, info.srcs, srcs.len());
            self.error(self.span, message);
            return self.undef(i.dest.as_ref());
        }
        let dest = match (&i.dest, info.kind) {
            (Some(dest), _) => *dest,
            (None, Kind::Store(mem)) => return self.store_intrinsic(mem, srcs, ix),
            (None, Kind::Barrier(barrier)) => return self.barrier(barrier, ix),
            (None, Kind::Image(image, op)) => return self.image(image, op, None, srcs, ix),
            (None, Kind::CopyDeref) => return self.copy_deref(srcs, ix),
            (None, Kind::MemcpyDeref) => return self.memcpy_deref(srcs, ix),
            (None, Kind::StoreReg) => return self.store_reg(&srcs[0], &srcs[1], None, ix),
            (None, Kind::StoreRegIndirect) => {
                let id = self.source_id(i.srcs, 2);
                return self.store_reg(&srcs[0], &srcs[1], Some(id), ix);
            }
            (None, Kind::Nothing) => return,
            (None, _) => return self.error(self.span, format!("`{}` has a result", i.name)),
        };
        match info.kind {
            Kind::Load(mem) => self.load_intrinsic(mem, &dest, srcs, ix),
            Kind::Atomic(mem, Some(op)) => self.atomic_intrinsic(mem, op, &dest, srcs, ix),
            Kind::Atomic(mem, None) | Kind::AtomicSwap(mem) => {
                match ix.text("atomic_op").and_then(intrinsics::atomic_op) {
                    Some(op) => self.atomic_intrinsic(mem, op, &dest, srcs, ix),
                    None => {
                        self.error(self.span, "the atomic operation is not known");
                        self.define_undef(&dest);
                    }
                }
            }
            Kind::Image(image, op) => self.image(image, op, Some(&dest), srcs, ix),
            Kind::System(value) => self.system(value, &dest),
            Kind::Subgroup(op) => self.subgroup(op, &dest, srcs, ix),
            Kind::SsboSize | Kind::UboSize => {
                let space = if info.kind == Kind::SsboSize { Space::Buffer } else { Space::Uniform };
                // Its driver describes no uniform blocks, it just binds them.
                if space == Space::Uniform && self.needs_kepler("sizes of uniform blocks").is_none() {
                    return self.define_undef(&dest);
                }
                let number = self.src_comp(&srcs[0], 0).word();
                let mem = self.numbered_by(MemRef::new(space), number);
                let size = self.e.comp(Inst::new(Op::BufSize, Type::U32).with_mem(mem));
                self.define(&dest, &[size]);
            }
            Kind::Param => {
                let shape = self.dest_shape(&dest);
                match self.param(ix.uint("param_idx") as usize) {
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
            Kind::Store(_) | Kind::Barrier(_) | Kind::CopyDeref | Kind::MemcpyDeref => {
                self.error(self.span, format!("`{}` has no result", i.name));
                self.define_undef(&dest);
            }
            Kind::StoreReg | Kind::StoreRegIndirect | Kind::Nothing => self.define_undef(&dest),
        }
    }

    fn undef(&mut self, dest: Option<&Dest>) {
        if let Some(dest) = dest {
            self.define_undef(dest);
        }
    }

    fn source_id(&self, srcs: ast::Range, i: u32) -> SrcId {
        self.fun.src_id(srcs, i)
    }

    // ---- barriers

    fn barrier(&mut self, barrier: Barrier, ix: Indices<'_>) {
        let (execution, memory) = match barrier {
            Barrier::Execution => (true, None),
            Barrier::Device => (false, Some(Scope::Gpu)),
            Barrier::Workgroup => (false, Some(Scope::Cta)),
            Barrier::Scoped => {
                let is = |name: &str, scope: &str| ix.text(name) == Some(scope);
                let semantics = ix.text("mem_semantics").unwrap_or("NONE");
                let modes = ix.text("mem_modes").unwrap_or("");
                let ordered = semantics != "NONE" && !matches!(modes, "" | "0");
                let memory = match ix.text("mem_scope").or_else(|| ix.text("memory_scope")) {
                    Some("DEVICE" | "QUEUE_FAMILY") if ordered => Some(Scope::Gpu),
                    Some("WORKGROUP") if ordered => Some(Scope::Cta),
                    _ => None,
                };
                let execution = is("exec_scope", "WORKGROUP") || is("execution_scope", "WORKGROUP");
                (execution, memory)
            }
        };
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
            self.e.b.push(Inst::new(Op::Membar, Type::U32).with_aux(Aux::Scope(scope)));
        }
        if execution {
            self.e.b.push(Inst::new(Op::Bar, Type::U32).with_aux(Aux::Bar(BarOp::Sync)).src(0));
        }
    }

    // ---- registers as intrinsics

    fn declare_reg(&mut self, dest: &Dest, ix: Indices<'_>) {
        let shape =
            Shape { bits: ix.uint("bit_size").min(64) as u8, comps: ix.uint("num_components").min(16) as u8 };
        self.define(dest, &[Comp::Word(Word::Imm(0))]);
        let Dest::Ssa(def) = dest else { return };
        if !matches!(shape.bits, 1 | 8 | 16 | 32 | 64) || shape.comps == 0 {
            return self.error(self.span, "no such size of a register");
        }
        let elems = ix.uint("num_array_elems");
        let number = reg_number(def.index);
        let indexed = self.fun.body.iter().any(|(node, _)| {
            let Node::Intrinsic(i) = node else { return false };
            let at = match i.name {
                "load_reg_indirect" => 0,
                "store_reg_indirect" => 1,
                _ => return false,
            };
            self.fun.srcs(i.srcs).get(at).is_some_and(|s| s.place == Place::Ssa(def.index))
        });
        let reg = if elems > 0 && (indexed || elems > 64) {
            let bytes = u64::from(elems) * u64::from(shape.comps) * u64::from(shape.bits.max(8)) / 8;
            Reg::Memory(self.private(u32::try_from(bytes).unwrap_or(u32::MAX), 16))
        } else {
            let n = elems.max(1) as usize * words(shape);
            Reg::Vars((0..n).map(|_| self.ssa.var(class(shape))).collect())
        };
        let decl = RegDecl { index: number, shape, elems, span: self.span };
        self.regs.insert(number, (decl, reg));
    }

    fn reg_of(&mut self, src: &Src, indirect: Option<SrcId>, ix: Indices<'_>) -> Option<RegRef> {
        let number = match src.place {
            Place::Ssa(index) => reg_number(index),
            Place::Reg(_) => 0,
        };
        if !self.regs.contains_key(&number) {
            self.error(src.span, "this is no register");
            return None;
        }
        Some(RegRef { index: number, base: ix.uint("base"), indirect })
    }

    fn load_reg(&mut self, dest: &Dest, reg: &Src, indirect: Option<SrcId>, ix: Indices<'_>) {
        let shape = self.dest_shape(dest);
        let Some(reg) = self.reg_of(reg, indirect, ix) else { return self.define_undef(dest) };
        let mut comps: Vec<Comp> =
            (0..usize::from(shape.comps)).map(|i| self.read_reg(&reg, i, self.span)).collect();
        for (name, op) in
            [("legacy_fabs", super::super::alu::Op::Fabs), ("legacy_fneg", super::super::alu::Op::Fneg)]
        {
            if ix.uint(name) != 0 {
                for c in &mut comps {
                    *c = self.unary(op, shape.bits, *c);
                }
            }
        }
        self.define(dest, &comps);
    }

    fn store_reg(&mut self, data: &Src, reg: &Src, indirect: Option<SrcId>, ix: Indices<'_>) {
        let Some(reg) = self.reg_of(reg, indirect, ix) else { return };
        let bits = self.src_shape(data).bits;
        let mut comps = self.src_comps(data);
        if ix.uint("legacy_fsat") != 0 {
            for c in &mut comps {
                *c = self.saturate(*c, bits);
            }
        }
        let mask = Self::deref_write_mask(ix);
        // The mask says which of the data's components are written, each to its own place.
        let written: Vec<Comp> =
            comps.iter().enumerate().filter(|(i, _)| mask >> i & 1 != 0).map(|(_, c)| *c).collect();
        self.write_reg(&reg, mask, &written);
    }

    // ---- conversions with types in their indices

    fn convert_types(&mut self, dest: &Dest, src: &Src, ix: Indices<'_>) {
        use super::super::alu::Op as N;
        let (from, to) = (ix.text("src_type").unwrap_or(""), ix.text("dest_type").unwrap_or(""));
        let base = |t: &str| t.trim_end_matches(|c: char| c.is_ascii_digit()).to_string();
        let shape = self.dest_shape(dest);
        let sbits = self.src_shape(src).bits;
        let op = match (base(from).as_str(), base(to).as_str()) {
            ("float", "float") => N::F2F,
            ("float", "int") => N::F2I,
            ("float", "uint") => N::F2U,
            ("int", "float") => N::I2F,
            ("uint", "float") => N::U2F,
            ("int", "int" | "uint") => N::I2I,
            ("uint", "int" | "uint") => N::U2U,
            _ => {
                self.error(self.span, "no such conversion");
                return self.define_undef(dest);
            }
        };
        let rounds = !matches!(ix.text("rounding_mode"), None | Some("undef"));
        if ix.text("saturate").is_some_and(|s| s != "0" && s != "false") || rounds && op != N::F2F {
            self.unsupported(self.span, "conversions that saturate or round are not supported in this form");
            return self.define_undef(dest);
        }
        let rnd = match ix.text("rounding_mode") {
            Some("ru") => Rnd::Up,
            Some("rd") => Rnd::Down,
            Some("rtz") => Rnd::Zero,
            _ => Rnd::Near,
        };
        let comps: Vec<Comp> = self.src_comps(src).to_vec();
        let mut out = Vec::new();
        for c in comps {
            out.push(if op == N::F2F {
                self.float_resize(c, sbits, shape.bits, rnd)
            } else {
                self.convert_one(op, sbits, shape.bits, c)
            });
        }
        self.define(dest, &out);
    }
}
