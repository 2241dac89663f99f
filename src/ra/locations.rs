//! Block live-in and live-out locations: in which registers values are where blocks begin and end.

use crate::ir::{BlockId, ValueId};
use cranelift_entity::SecondaryMap;

/// For each block a list of values and their registers, in order of the values. All lists are parts
/// of one.
#[derive(Default)]
pub(crate) struct BlockLocations {
    list: Vec<(ValueId, u8)>,
    parts: SecondaryMap<BlockId, (u32, u32)>,
}

impl BlockLocations {
    pub(crate) fn with_blocks(blocks: usize) -> BlockLocations {
        let mut parts = SecondaryMap::new();
        parts.resize(blocks);
        BlockLocations { list: Vec::with_capacity(8 * blocks), parts }
    }

    /// The values of a block.
    pub(crate) fn in_block(&self, b: BlockId) -> &[(ValueId, u8)] {
        let (start, end) = self.parts[b];
        &self.list[start as usize..end as usize]
    }

    /// The register of a value.
    pub(super) fn get(&self, b: BlockId, v: ValueId) -> Option<u8> {
        let list = self.in_block(b);
        list.binary_search_by_key(&v, |e| e.0).ok().map(|k| list[k].1)
    }

    /// Sets the list of a block: those in order, and others, perhaps some of the same.
    pub(super) fn set(
        &mut self,
        b: BlockId,
        in_order: impl Iterator<Item = (ValueId, u8)>,
        others: &mut Vec<(ValueId, u8)>,
    ) {
        let start = self.list.len() as u32;
        if others.is_empty() {
            self.list.extend(in_order);
            self.parts[b] = (start, self.list.len() as u32);
            return;
        }
        others.sort_unstable();
        others.dedup();
        let mut others = others.iter().copied().peekable();
        for entry in in_order {
            while let Some(before) = others.next_if(|o| o.0 <= entry.0) {
                if before.0 < entry.0 {
                    self.list.push(before);
                }
            }
            self.list.push(entry);
        }
        self.list.extend(others);
        self.parts[b] = (start, self.list.len() as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_in_order_and_name_every_value_once() {
        let v = ValueId::from_u32;
        let b = BlockId::from_u32(1);
        let mut locations = BlockLocations::with_blocks(2);
        let mut others = vec![(v(9), 9), (v(3), 3), (v(1), 1), (v(3), 3), (v(4), 4)];
        locations.set(b, [(v(2), 2), (v(4), 4), (v(6), 6)].into_iter(), &mut others);
        let numbers: Vec<u8> = locations.in_block(b).iter().map(|e| e.1).collect();
        assert_eq!(numbers, [1, 2, 3, 4, 6, 9]);
        assert_eq!((locations.get(b, v(6)), locations.get(b, v(5))), (Some(6), None));
        assert!(locations.in_block(BlockId::from_u32(0)).is_empty());
    }
}
