//! Operations between the lanes of a warp.

use super::super::ast::{Dest, Src};
use super::super::indices::Indices;
use super::Lower;
use crate::front::common::emit::subgroup::{Group, Subgroup};
use crate::front::common::emit::value::{Comp, Word};
use arrayvec::ArrayVec;

impl Lower<'_, '_> {
    pub(super) fn subgroup(&mut self, op: Subgroup, dest: &Dest, srcs: &[Src], ix: &Indices) {
        let values: ArrayVec<Comp, 16> = srcs.first().map(|s| self.src_comps(s)).unwrap_or_default();
        let group = Group {
            values: &values,
            bits: srcs.first().map_or(32, |s| self.src_shape(s).bits),
            second: srcs.get(1).map_or(Word::Imm(0), |s| self.src_comp(s, 0).word()),
            shape: self.dest_shape(dest),
            cluster: ix.cluster_size,
            reduction: ix.reduction_op.map(|info| info.op),
        };
        match self.e.subgroup(op, &group) {
            Ok(comps) => self.define(dest, &comps),
            Err(why) => {
                self.unsupported(self.span, format!("{why} is not supported"));
                self.define_undef(dest);
            }
        }
    }
}
