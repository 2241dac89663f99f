//! Texture instructions.
//!
//! Which texture it is stands in the instruction; what kind it is (dimension, array) only in the newer printer's
//! form. In the older one it follows from the sampler variable that covers the number, or failing that from the
//! number of coordinates.

use super::super::ast::{self, TexArg, TexValue};
use super::Lower;
use super::deref::Pointer;
use super::value::{Comp, Word};
use crate::diag::{Diagnostic, closest};
use crate::ir::{Dim, Ext, Inst, Op, Tex, TexOp, TexRole, Type, ValueId};
use arrayvec::ArrayVec;

/// Dimension, array, shadow: of a sampler type's name, `usampler2DArrayShadow`.
pub(super) fn sampler_kind(ty: &str) -> Option<(Dim, bool)> {
    let at = ["sampler", "texture", "image"].iter().find_map(|k| ty.find(k).map(|i| i + k.len()))?;
    let name = ty[at..].split('[').next()?;
    let array = name.contains("Array");
    let name = name.replace("Array", "").replace("Shadow", "");
    Some((dimension(&name)?, array))
}

/// `2D`, `Cube`, `2D-MSAA`, …
pub(super) fn dimension(name: &str) -> Option<Dim> {
    Some(match name {
        "1D" => Dim::D1,
        "2D" | "2DRect" | "Rect" | "Subpass" | "ExternalOES" => Dim::D2,
        "3D" => Dim::D3,
        "Cube" => Dim::Cube,
        "Buffer" | "Buf" => Dim::Buffer,
        "2DMS" | "2D-MSAA" | "Subpass-MSAA" => Dim::Ms,
        _ => return None,
    })
}

/// Operands that instructions may have; the numbers of texture and sampler, gathered component and offsets besides.
const OPERANDS: &[&str] = &[
    "coord",
    "projector",
    "comparator",
    "offset",
    "bias",
    "lod",
    "min_lod",
    "ms_index",
    "ddx",
    "ddy",
    "texture_deref",
    "sampler_deref",
    "texture_offset",
    "sampler_offset",
    "texture_handle",
    "sampler_handle",
];

impl<'a> Lower<'a, '_> {
    pub(super) fn texture(&mut self, tex: &'a ast::Tex<'a>) {
        let args = self.fun.tex_args(tex.args);
        let shape = self.dest_shape(&tex.dest);
        if tex.op == "samples_identical" {
            // "No" is always a right answer.
            return self.define(&tex.dest, &[Comp::constant(shape.bits, 0)]);
        }
        for arg in args {
            let known = match arg.value {
                TexValue::Src(_) => OPERANDS.contains(&arg.kind),
                TexValue::Flag => arg.kind != "sparse",
                _ => true,
            };
            if !known {
                self.unsupported(arg.span, format!("textures with `{}` are not supported", arg.kind));
                return self.define_undef(&tex.dest);
            }
        }
        match self.texture_inst(tex, args, shape.comps) {
            Some(comps) => {
                let comps: ArrayVec<Comp, 16> = match shape.bits {
                    32 => comps,
                    16 if tex.ty.starts_with("float") => {
                        comps.into_iter().map(|c| Comp::Word(self.half_of(c, crate::ir::Rnd::Near))).collect()
                    }
                    _ => comps,
                };
                self.define(&tex.dest, &comps);
            }
            None => self.define_undef(&tex.dest),
        }
    }

    /// The sampler variable that covers a texture number.
    fn sampler_variable(&self, number: u32) -> Option<(Dim, bool)> {
        self.module.shader.vars.iter().find_map(|v| {
            let kind = sampler_kind(v.ty)?;
            let (_, binding) = v.place?;
            let len =
                v.ty.split_once('[')
                    .map_or(1, |(_, rest)| rest.split(']').next().and_then(|n| n.parse().ok()).unwrap_or(1));
            (v.mode == "uniform" && (binding..binding.saturating_add(len)).contains(&number)).then_some(kind)
        })
    }

    fn texture_inst(
        &mut self,
        tex: &'a ast::Tex<'a>,
        args: &'a [TexArg<'a>],
        comps: u8,
    ) -> Option<ArrayVec<Comp, 16>> {
        let src = |kind: &str| {
            args.iter().find_map(|a| match &a.value {
                TexValue::Src(s) if a.kind == kind => Some(s),
                _ => None,
            })
        };
        let number = |kind: &str| {
            args.iter().find_map(|a| match a.value {
                TexValue::Int(n) if a.kind == kind => u16::try_from(n).ok(),
                _ => None,
            })
        };
        let (mut texture, mut sampler) = (number("texture").unwrap_or(0), number("sampler").unwrap_or(0));
        let coord = match src("coord") {
            Some(s) => self.src_comps(s),
            None => ArrayVec::new(),
        };
        // Derefs of sampler variables name them by binding.
        let (mut texture_index, mut sampler_index) = (Word::Imm(0), Word::Imm(0));
        let mut kind = None;
        for (name, base, index) in [
            ("texture_deref", &mut texture, &mut texture_index),
            ("sampler_deref", &mut sampler, &mut sampler_index),
        ] {
            let Some(s) = src(name) else { continue };
            match self.pointer(s) {
                Some(Pointer::Opaque { binding, index: i, ty, .. }) => {
                    (*base, *index) = (binding as u16, i);
                    kind = kind.or(sampler_kind(ty));
                }
                _ => {
                    self.error(s.span, "this is not a pointer to a sampler");
                    return None;
                }
            }
        }
        let flag = args.iter().filter(|a| matches!(a.value, TexValue::Flag)).find_map(|a| dimension(a.kind));
        let kind = kind.or_else(|| self.sampler_variable(texture.into()));
        let (dim, array) = match (flag, kind) {
            (Some(dim), kind) => {
                // The layer is a coordinate more than the dimension has.
                let plain = coordinates(dim);
                let array = if coord.is_empty() { kind.is_some_and(|k| k.1) } else { coord.len() > plain };
                (dim, array)
            }
            (None, Some(kind)) => kind,
            (None, None) => match coord.len() {
                1 => (Dim::D1, false),
                3 => (Dim::D3, false),
                _ => (Dim::D2, false),
            },
        };
        let min_lod = src("min_lod").map(|s| self.src_comp(s, 0));
        let op = match tex.op {
            // Without derivatives the level would be the bias or zero.
            "tex" | "txb" if min_lod.is_some() => TexOp::Lod,
            "tex" => TexOp::Sample,
            "txb" => TexOp::Bias,
            "txl" => TexOp::Lod,
            "txd" => TexOp::Grad,
            "txf" | "txf_ms" => TexOp::Fetch,
            "tg4" => TexOp::Gather,
            "txs" | "query_levels" => TexOp::Size,
            "texture_samples" => TexOp::Samples,
            "lod" => TexOp::LodQuery,
            op => {
                const KNOWN: [&str; 11] = [
                    "tex",
                    "txb",
                    "txl",
                    "txd",
                    "txf",
                    "txf_ms",
                    "tg4",
                    "txs",
                    "query_levels",
                    "texture_samples",
                    "lod",
                ];
                let d = Diagnostic::unsupported(format!("texture operation `{op}` is not supported"));
                let d = d.at(self.span, "").did_you_mean(closest(op, &KNOWN));
                self.module.diags.push(d);
                return None;
            }
        };
        if min_lod.is_some() && op != TexOp::Lod {
            self.unsupported(self.span, format!("`{}` with `min_lod` is not supported", tex.op));
            return None;
        }
        let shadow = src("comparator").is_some();
        let ty = match tex.ty.trim_end_matches(|c: char| c.is_ascii_digit()) {
            "int" => Type::S32,
            "uint" | "bool" => Type::U32,
            _ => Type::F32,
        };
        let all = (1u16 << comps.min(4)) - 1;
        let mask = if tex.op == "query_levels" { 8 } else { all as u8 };
        let mut t = Tex {
            op,
            dim,
            array,
            shadow,
            texture,
            sampler,
            mask,
            component: number("gather_component").unwrap_or(0) as u8 & 3,
            level_zero: false,
            offset: None,
            ty,
            operands: Vec::new(),
            indirect: false,
            machine_offsets: false,
        };
        let coord = match src("offset") {
            Some(offset) if op == TexOp::Fetch => self.shifted(coord, array, offset),
            _ => coord,
        };
        if !coord.is_empty() {
            let mut values: Vec<ValueId> = Vec::new();
            let projector = src("projector").map(|s| self.src_comp(s, 0).word());
            for (i, c) in coord.iter().enumerate() {
                let mut w = c.word();
                if let Some(q) = projector
                    && !(array && i + 1 == coord.len())
                {
                    w = self.quotient(32, false, w.into(), q.into()).word();
                }
                values.push(self.e.val(w));
            }
            t.operands.push((TexRole::Coord, values));
        }
        if let Some(s) = src("comparator") {
            let mut w = self.src_comp(s, 0).word();
            if let Some(q) = src("projector") {
                let q = self.src_comp(q, 0).word();
                w = self.quotient(32, false, w.into(), q.into()).word();
            }
            let v = self.e.val(w);
            t.operands.push((TexRole::Compare, vec![v]));
        }
        for (kind, role) in [
            ("lod", TexRole::Lod),
            ("bias", TexRole::Bias),
            ("ddx", TexRole::Ddx),
            ("ddy", TexRole::Ddy),
            ("ms_index", TexRole::Sample),
        ] {
            let Some(s) = src(kind) else { continue };
            if kind == "bias" && op == TexOp::Lod {
                continue;
            }
            let comps = self.src_comps(s);
            let zero = comps.iter().all(|c| c.as_const() == Some(0));
            if kind == "lod" && zero && matches!(op, TexOp::Lod | TexOp::Fetch) && dim != Dim::Buffer {
                t.level_zero = true;
                continue;
            }
            if kind == "lod" && matches!(dim, Dim::Buffer | Dim::Ms) && op != TexOp::Size {
                continue;
            }
            let values = comps.iter().map(|c| self.e.val(c.word())).collect();
            t.operands.push((role, values));
        }
        if let Some(least) = min_lod {
            let bias = match src("bias") {
                Some(s) => self.src_comp(s, 0),
                None => Comp::constant(32, 0),
            };
            let level = self.e.op2(Op::Max, Type::F32, bias.word(), least.word());
            let level = self.e.val(level);
            t.operands.push((TexRole::Lod, vec![level]));
        }
        if op == TexOp::Size && src("lod").is_none() {
            let zero = self.e.val(Word::Imm(0));
            t.operands.push((TexRole::Lod, vec![zero]));
        }
        if op != TexOp::Fetch {
            self.texel_offsets(&mut t, args, src("offset"))?;
        }
        for (index, base, role) in [
            (src("texture_offset"), texture_index, TexRole::Index),
            (src("sampler_offset"), sampler_index, TexRole::SamplerIndex),
        ] {
            let w = match index {
                Some(s) => self.src_comp(s, 0).word(),
                None => base,
            };
            match w {
                Word::Imm(n) if role == TexRole::Index => t.texture = t.texture.wrapping_add(n as u16),
                Word::Imm(n) => t.sampler = t.sampler.wrapping_add(n as u16),
                w => {
                    let v = self.e.val(w);
                    t.operands.push((role, vec![v]));
                }
            }
        }
        if let Some(s) = src("texture_handle").or(src("sampler_handle")) {
            self.needs_kepler("textures that a handle names")?;
            let c = self.src_comp(s, 0);
            let (lo, hi) = self.e.words64(c);
            let values = vec![self.e.val(lo), self.e.val(hi)];
            t.operands.push((TexRole::Handle, values));
        }
        if !matches!(
            op,
            TexOp::Sample | TexOp::Bias | TexOp::Lod | TexOp::Grad | TexOp::Gather | TexOp::LodQuery
        ) {
            t.operands.retain(|(role, _)| *role != TexRole::SamplerIndex);
        }
        let mut inst = Inst::new(Op::Tex, ty);
        let mut out = ArrayVec::new();
        for _ in 0..mask.count_ones() {
            let d = self.e.b.gpr();
            inst.dsts.push(d);
            out.push(Comp::Word(d.into()));
        }
        inst.ext = Some(Box::new(Ext::Tex(t)));
        self.e.b.push(inst);
        Some(out)
    }

    /// A texel's coordinates moved by an offset.
    fn shifted(
        &mut self,
        mut coord: ArrayVec<Comp, 16>,
        array: bool,
        offset: &ast::Src,
    ) -> ArrayVec<Comp, 16> {
        let offsets = self.src_comps(offset);
        let dimensions = coord.len() - usize::from(array && !coord.is_empty());
        for (c, offset) in coord.iter_mut().take(dimensions).zip(offsets) {
            *c = Comp::Word(self.e.op2(Op::Add, Type::U32, c.word(), offset.word()));
        }
        coord
    }

    fn texel_offsets(&mut self, t: &mut Tex, args: &[TexArg<'_>], offset: Option<&ast::Src>) -> Option<()> {
        let pairs = args.iter().find_map(|a| match a.value {
            TexValue::Offsets(pairs) => Some(pairs),
            _ => None,
        });
        if let Some(pairs) = pairs {
            let values = pairs.iter().flat_map(|&(x, y)| [x as u32, y as u32]);
            let values: Vec<ValueId> = values.map(|n| self.e.val(Word::Imm(n))).collect();
            t.operands.push((TexRole::Offset, values));
            return Some(());
        }
        let Some(s) = offset else { return Some(()) };
        let comps = self.src_comps(s);
        let constant: Option<ArrayVec<i8, 3>> = comps
            .iter()
            .take(3)
            .map(|c| c.as_const().map(|n| n as u32 as i32).filter(|n| (-8..8).contains(n)).map(|n| n as i8))
            .collect();
        match constant {
            Some(list) => {
                let mut offsets = [0; 3];
                offsets[..list.len()].copy_from_slice(&list);
                if offsets != [0; 3] {
                    t.offset = Some(offsets);
                }
            }
            None if t.op == TexOp::Gather => {
                let values = comps.iter().map(|c| self.e.val(c.word())).collect();
                t.operands.push((TexRole::Offset, values));
            }
            None => {
                self.error(
                    s.span,
                    "only gathers and fetches take offsets that are not constants from -8 to 7",
                );
                return None;
            }
        }
        Some(())
    }
}

/// Coordinates of a texel, without layer.
pub(super) fn coordinates(dim: Dim) -> usize {
    match dim {
        Dim::Buffer | Dim::D1 => 1,
        Dim::D2 | Dim::Ms => 2,
        Dim::D3 | Dim::Cube => 3,
    }
}
