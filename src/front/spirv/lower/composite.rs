//! Vectors, matrices, structures, arrays as values.

use super::{Lower, R};
use crate::front::common::emit::op::Op as N;
use crate::front::common::emit::value::{Comp, Word};
use crate::front::spirv::types::Type;
use crate::ir::{Cond, Op as IrOp, Type as IrType};
use spirv::Op;

impl Lower<'_, '_> {
    /// Instructions on composites; whether it is one.
    pub(super) fn composites(&mut self, op: Op) -> R<bool> {
        let x = self.operands();
        let ty = self.ty();
        match op {
            Op::CompositeConstruct => {
                let mut comps = Vec::new();
                let vector = matches!(self.m.ty(ty), Some(Type::Vector { .. }));
                for (i, &id) in x.iter().enumerate() {
                    let part = self.type_of(id)?;
                    let fits = match self.m.part(ty, i as u32) {
                        // Vectors are also made of shorter ones.
                        Some(scalar) if vector => part == scalar || self.m.part(part, 0) == Some(scalar),
                        expected => expected == Some(part),
                    };
                    if !fits {
                        return self.fail("a part has another type than the composite's");
                    }
                    comps.extend(self.comps(id)?.iter().copied());
                }
                self.define(comps)?;
            }
            Op::CompositeExtract => {
                let (first, part) = self.path(self.type_of(x[0])?, &x[1..])?;
                if part != ty {
                    return self.fail("the result has another type than the part");
                }
                let count = self.m.info(part).map_or(0, |info| info.comps);
                let whole = self.comps(x[0])?;
                let Some(comps) = whole.get(first as usize..(first + count) as usize) else {
                    return self.fail("the path leads outside the composite");
                };
                self.define_of_type(comps)?;
            }
            Op::CompositeInsert => {
                if self.type_of(x[1])? != ty {
                    return self.fail("the result has another type than the composite");
                }
                let (first, part) = self.path(ty, &x[2..])?;
                if self.type_of(x[0])? != part {
                    return self.fail("the object has another type than the part");
                }
                let object = self.comps(x[0])?;
                let mut comps = self.comps(x[1])?.to_vec();
                let Some(place) = comps.get_mut(first as usize..first as usize + object.len()) else {
                    return self.fail("the path leads outside the composite");
                };
                place.copy_from_slice(&object);
                self.define(comps)?;
            }
            Op::VectorShuffle => {
                let (a, b) = (self.comps(x[0])?, self.comps(x[1])?);
                let part = self.m.part(ty, 0);
                for id in &x[..2] {
                    let source = self.type_of(*id)?;
                    if !matches!(self.m.ty(source), Some(Type::Vector { .. }))
                        || self.m.part(source, 0) != part
                    {
                        return self.fail("a vector has another component type than the result");
                    }
                }
                let bits = self.shape_of(ty)?.bits;
                let mut comps = Vec::new();
                for &n in &x[2..] {
                    comps.push(match n as usize {
                        _ if n == u32::MAX => self.e.undef(bits),
                        n if n < a.len() => a[n],
                        n if n - a.len() < b.len() => b[n - a.len()],
                        _ => return self.fail("a component is in neither vector"),
                    });
                }
                self.define(comps)?;
            }
            Op::VectorExtractDynamic => {
                if self.m.part(self.type_of(x[0])?, 0) != Some(ty) {
                    return self.fail("the result is not a component of the vector");
                }
                let v = self.comps(x[0])?;
                let index = self.word(x[1])?.word();
                let c = self.one_of(&v, index);
                self.define([c])?;
            }
            Op::VectorInsertDynamic => {
                if self.type_of(x[0])? != ty || self.m.part(ty, 0) != Some(self.type_of(x[1])?) {
                    return self.fail("the operands do not make a vector");
                }
                let v = self.comps(x[0])?;
                let c = self.scalar(x[1])?;
                let index = self.word(x[2])?.word();
                let mut comps = Vec::new();
                for (i, &old) in v.iter().enumerate() {
                    let p = self.e.cmp(Cond::Eq, IrType::U32, index, i as u32);
                    comps.push(self.e.select_comp(p, c, old));
                }
                self.define(comps)?;
            }
            Op::CopyLogical => {
                let comps = self.comps(x[0])?.to_vec();
                if self.widths(self.type_of(x[0])?)? != self.widths(ty)? {
                    return self.fail("the types do not match");
                }
                self.define(comps)?;
            }
            Op::Transpose
            | Op::OuterProduct
            | Op::MatrixTimesScalar
            | Op::VectorTimesScalar
            | Op::VectorTimesMatrix
            | Op::MatrixTimesVector
            | Op::MatrixTimesMatrix
            | Op::Dot => self.linear(op)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The component of a number; beyond the last, any.
    pub(super) fn one_of(&mut self, comps: &[Comp], index: Word) -> Comp {
        if let Word::Imm(n) = index {
            return comps[(n as usize).min(comps.len() - 1)];
        }
        // A bit of the index chooses between neighbours, the next between those that were chosen.
        let mut left = comps.to_vec();
        let mut bit = 1;
        while left.len() > 1 {
            let masked = self.e.op2(IrOp::And, IrType::U32, index, bit);
            let p = self.e.cmp(Cond::Ne, IrType::U32, masked, 0);
            left = left.chunks(2).map(|pair| self.e.select_comp(p, pair[pair.len() - 1], pair[0])).collect();
            bit *= 2;
        }
        left[0]
    }

    /// The first scalar of a part, and the part's type.
    fn path(&self, mut ty: u32, path: &[u32]) -> R<(u32, u32)> {
        let mut first = 0u32;
        for &n in path {
            if self.m.parts(ty).is_none_or(|parts| n >= parts) {
                return self.fail(format!("a {} has no part {n}", self.m.type_name(ty)));
            }
            first = first.saturating_add(self.m.comps_before(ty, n));
            ty = self.m.part(ty, n).unwrap_or(0);
        }
        Ok((first, ty))
    }

    /// The columns of a matrix, or a vector as one.
    fn columns(&mut self, id: u32) -> R<Vec<Vec<Comp>>> {
        let ty = self.type_of(id)?;
        if !self.m.is_float(ty) {
            return self.fail("an operand is not a vector or matrix of floats");
        }
        let rows = match self.m.ty(ty) {
            Some(Type::Matrix { column, .. }) => self.m.parts(*column).unwrap_or(1),
            Some(Type::Vector { len, .. }) => u32::from(*len),
            _ => 1,
        };
        Ok(self.comps(id)?.chunks(rows as usize).map(<[Comp]>::to_vec).collect())
    }

    fn linear(&mut self, op: Op) -> R<()> {
        let x = self.operands();
        let ty = self.ty();
        let bits = match self.m.scalar_type(ty) {
            Some(Type::Float { bits }) => *bits,
            _ => return self.fail("the result is not of floats"),
        };
        let a = self.columns(x[0])?;
        let b = if x.len() > 1 { self.columns(x[1])? } else { Vec::new() };
        for &id in x {
            let scalar = self.m.scalar_type(self.type_of(id)?);
            if scalar != Some(&Type::Float { bits }) {
                return self.fail("the operands are of floats of other bits");
            }
        }
        let exact = self.exact_here();
        let rows = |m: &[Vec<Comp>]| -> Vec<Vec<Comp>> {
            (0..m[0].len()).map(|r| m.iter().map(|column| column[r]).collect()).collect()
        };
        let unfit = |this: &Self| this.fail("the operands' sizes do not fit");
        let mut comps = Vec::new();
        match op {
            Op::Transpose => comps = rows(&a).concat(),
            Op::Dot => {
                if a[0].len() != b[0].len() {
                    return unfit(self);
                }
                comps.push(self.e.dot(bits, exact, &a[0], &b[0]));
            }
            Op::VectorTimesScalar | Op::MatrixTimesScalar => {
                if b.len() != 1 || b[0].len() != 1 {
                    return unfit(self);
                }
                for &c in a.iter().flatten() {
                    comps.push(self.lane(N::Fmul, bits, bits, &[c, b[0][0]])?);
                }
            }
            Op::OuterProduct => {
                for &y in &b[0] {
                    for &x in &a[0] {
                        comps.push(self.lane(N::Fmul, bits, bits, &[x, y])?);
                    }
                }
            }
            Op::VectorTimesMatrix => {
                for column in &b {
                    if column.len() != a[0].len() {
                        return unfit(self);
                    }
                    comps.push(self.e.dot(bits, exact, &a[0], column));
                }
            }
            _ => {
                let rows = rows(&a);
                for column in &b {
                    if column.len() != a.len() {
                        return unfit(self);
                    }
                    for row in &rows {
                        comps.push(self.e.dot(bits, exact, row, column));
                    }
                }
            }
        }
        self.define(comps)
    }
}
