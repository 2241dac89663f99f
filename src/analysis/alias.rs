//! Whether two memory accesses may touch the same bytes.
//!
//! What is certain: different spaces are different memory, except that a generic address may be in
//! any of them and storage buffers lie in global memory (the same memory may even be bound twice).
//! Two accesses through the same base whose byte ranges do not meet are apart, also where the sum
//! wraps around. Everything else may alias.

use crate::ir::{Inst, MemRef, Space};

/// Bytes that an access touches.
pub(crate) fn access_bytes(inst: &Inst) -> u32 {
    inst.ty.bytes().max(1)
}

/// Whether two accesses, of `a_bytes` and `b_bytes`, may touch a common byte.
pub(crate) fn may_alias(a: &MemRef, a_bytes: u32, b: &MemRef, b_bytes: u32) -> bool {
    if !spaces_meet(a.space, b.space) {
        return false;
    }
    if same_base(a, b) {
        let distance = b.offset.wrapping_sub(a.offset) as u32;
        return distance < a_bytes || distance.wrapping_neg() < b_bytes;
    }
    true
}

/// Whether a store to `store` can change what a load from `load` gives.
pub(crate) fn may_clobber(store: &MemRef, store_bytes: u32, load: &MemRef, load_bytes: u32) -> bool {
    !load.readonly && !load.space.is_constant() && may_alias(store, store_bytes, load, load_bytes)
}

/// Whether two accesses go through the same memory object and base address, so that only offsets
/// tell them apart.
pub(crate) fn same_base(a: &MemRef, b: &MemRef) -> bool {
    a.space == b.space && a.buffer == b.buffer && a.index == b.index && a.base() == b.base()
}

/// Whether two spaces have memory in common.
pub(crate) fn spaces_meet(a: Space, b: Space) -> bool {
    let global = |s| matches!(s, Space::Global | Space::Buffer);
    let window = |s| matches!(s, Space::Global | Space::Buffer | Space::Shared | Space::Local);
    a == b
        || global(a) && global(b)
        || a == Space::Generic && window(b)
        || b == Space::Generic && window(a)
        || matches!((a, b), (Space::Const, Space::Uniform) | (Space::Uniform, Space::Const))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::*;
    use cranelift_entity::EntityRef;

    fn at(space: Space, base: Option<usize>, offset: i32) -> MemRef {
        let base: Vec<ValueId> = base.iter().map(|&n| ValueId::new(n)).collect();
        MemRef::new(space).with_base(&base).with_offset(offset)
    }

    #[test]
    fn same_base_is_told_apart_by_offset_alone() {
        let a = at(Space::Global, Some(1), 0);
        assert!(!may_alias(&a, 4, &at(Space::Global, Some(1), 4), 4));
        assert!(may_alias(&a, 8, &at(Space::Global, Some(1), 4), 4));
        assert!(may_alias(&a, 4, &at(Space::Global, Some(1), -4), 8));
        assert!(!may_alias(&a, 4, &at(Space::Global, Some(1), -4), 4));
    }

    #[test]
    fn other_bases_and_generic_addresses_may_be_anywhere() {
        let a = at(Space::Global, Some(1), 0);
        assert!(may_alias(&a, 4, &at(Space::Global, Some(2), 64), 4));
        assert!(may_alias(&a, 4, &at(Space::Generic, Some(2), 64), 4));
        assert!(may_alias(&a, 4, &at(Space::Buffer, Some(2), 64), 4));
        assert!(!may_alias(&a, 4, &at(Space::Shared, Some(1), 0), 4));
        assert!(!may_clobber(&a, 4, &at(Space::Const, Some(1), 0), 4));
    }
}
