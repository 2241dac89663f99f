//! ALU opcodes: their sources and results; what they compute is with the other front-ends' ([`emit`](crate::front::common::emit)).

use super::super::alu::{Base, Op as N};
use super::super::ast;
use super::{Lower, Shape};
use crate::front::common::emit::alu::{Lane, Lowered};
use crate::front::common::emit::value::{Comp, Word};
use arrayvec::ArrayVec;

impl Lower<'_, '_> {
    pub(super) fn alu(&mut self, alu: &ast::Alu) {
        let srcs = self.fun.srcs(alu.srcs);
        let sizes: ArrayVec<Shape, 16> = srcs.iter().map(|s| self.src_shape(s)).collect();
        let dest = self.dest_shape(&alu.dest);
        let info = alu.info;
        let comps = if info.dest.comps != 0 { info.dest.comps } else { dest.comps };
        let sbits = sizes.first().map_or(dest.bits, |s| s.bits);
        let mut result: ArrayVec<Comp, 16> = ArrayVec::new();
        if info.srcs.iter().any(|ty| ty.comps > 1) || info.dest.comps > 1 {
            let gather: ArrayVec<ArrayVec<Comp, 16>, 4> = srcs
                .iter()
                .zip(&info.srcs)
                .take(4)
                .map(|(s, ty)| {
                    let n = if ty.comps != 0 { ty.comps } else { comps };
                    (0..usize::from(n)).map(|c| self.alu_src(s, ty.base, c)).collect()
                })
                .collect();
            if info.op == N::Vec {
                result.extend(srcs.iter().map(|s| self.alu_src(s, Base::Uint, 0)));
            } else {
                let vectors: ArrayVec<&[Comp], 4> = gather.iter().map(|v| &v[..]).collect();
                match self.e.horizontal(info.op, dest.bits, sbits, comps, alu.exact, &vectors) {
                    Some(r) => result = r,
                    None => return self.unsupported_op(alu),
                }
            }
        } else {
            for c in 0..usize::from(comps) {
                let lane_srcs: ArrayVec<Comp, 16> =
                    srcs.iter().zip(&info.srcs).map(|(s, ty)| self.alu_src(s, ty.base, c)).collect();
                let lane = Lane {
                    op: info.op,
                    bits: dest.bits,
                    sbits,
                    exact: alu.exact,
                    part: info.part,
                    srcs: &lane_srcs,
                };
                match self.lane(&lane) {
                    Some(r) => {
                        self.note_promise(alu, &lane, r);
                        result.push(r);
                    }
                    None => return self.unsupported_op(alu),
                }
            }
        }
        if alu.saturate {
            for r in &mut result {
                *r = self.e.saturate(*r, dest.bits);
            }
        }
        // Replicated results, and a mask over registers, may be wider than what was computed.
        if let Some(&last) = result.last() {
            while result.len() < usize::from(dest.comps) {
                result.push(last);
            }
        }
        self.define(&alu.dest, &result);
    }

    fn unsupported_op(&mut self, alu: &ast::Alu) {
        let message = format!("`{}` has no meaning on this hardware with these sizes", alu.info.name);
        self.unsupported(self.span, message);
        self.define_undef(&alu.dest);
    }

    /// A component of a source, modifiers applied.
    fn alu_src(&mut self, src: &ast::Src, base: Base, component: usize) -> Comp {
        let at = match src.swizzle {
            Some(s) => match s.get(component).or_else(|| s.get(s.len() - 1)) {
                Some(c) => c,
                None => component,
            },
            None => component,
        };
        let mut value = self.src_comp(src, at);
        let bits = self.src_shape(src).bits;
        if src.abs {
            let op = if base == Base::Float { N::Fabs } else { N::Iabs };
            value = self.e.unary(op, bits, value);
        }
        if src.neg {
            let op = if base == Base::Float { N::Fneg } else { N::Ineg };
            value = self.e.unary(op, bits, value);
        }
        value
    }

    /// What is known of sums: one that the text says does not wrap is used so where it becomes an address, and one of
    /// an address among constants is one, too.
    fn note_promise(&mut self, alu: &ast::Alu, lane: &Lane<'_>, result: Comp) {
        if lane.op == N::Iadd && lane.srcs.iter().any(|&s| self.is_constant_pointer(s)) {
            self.note_constant_pointer(result);
        }
        if alu.nsw
            && lane.op == N::Iadd
            && lane.bits == 32
            && !lane.srcs.contains(&result)
            && let Comp::Word(Word::Val(sum)) = result
        {
            self.e.note_unwrapped(sum);
        }
    }

    /// One component of a result.
    pub(super) fn lane(&mut self, l: &Lane<'_>) -> Lowered {
        match l.op {
            N::Ddx | N::Ddy => self.derivative(l.src(0), l.bits, l.op == N::Ddy),
            _ => self.e.lane(l),
        }
    }
}
