//! Attributes of many vertices in one flat buffer, by the words that a header declares.

use crate::state::lanes::{LANES, LaneVec, Mask};
use nvir_base::stage::ATTRIBUTE_BYTES;
use nvir_isa::header::Header;
use std::fmt;
use std::sync::Arc;

/// Words of an attribute space.
pub(crate) const WORDS: usize = ATTRIBUTE_BYTES as usize / 4;

/// An address that has no slot.
const NONE: u16 = u16::MAX;

/// Which words of an attribute space there are, in ascending order of their addresses.
///
/// ```
/// use nvir_emu::stage::batch::Slots;
/// let slots = Slots::new([0x84, 0x80, 0x70]);
/// assert_eq!((slots.len(), slots.slot(0x80), slots.slot(0x88)), (3, Some(1), None));
/// assert_eq!(slots.addresses().collect::<Vec<_>>(), [0x70, 0x80, 0x84]);
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Slots {
    by_word: [u16; WORDS],
    addresses: Vec<u16>,
}

impl Slots {
    /// The words at these byte addresses. What is no multiple of 4 or lies outside the attribute space is dropped.
    pub fn new(addresses: impl IntoIterator<Item = u32>) -> Slots {
        let mut there = [false; WORDS];
        for a in addresses.into_iter().filter(|a| a.is_multiple_of(4)) {
            if let Some(word) = there.get_mut(a as usize / 4) {
                *word = true;
            }
        }
        let mut slots = Slots { by_word: [NONE; WORDS], addresses: Vec::new() };
        for word in (0..WORDS).filter(|&w| there[w]) {
            slots.by_word[word] = slots.addresses.len() as u16;
            slots.addresses.push(4 * word as u16);
        }
        slots
    }

    fn declared(declares: impl Fn(u32) -> bool) -> Slots {
        Slots::new((0..ATTRIBUTE_BYTES).step_by(4).filter(|&a| declares(a)))
    }

    /// What a header declares as read of a vertex (not of a patch).
    pub fn inputs(header: &Header) -> Slots {
        Slots::declared(|a| header.reads(a))
    }

    /// What a header declares as written of a vertex.
    pub fn outputs(header: &Header) -> Slots {
        Slots::declared(|a| header.writes(a))
    }

    /// What a header declares as written of a patch.
    pub fn patch_outputs(header: &Header) -> Slots {
        Slots::declared(|a| a / 4 < header.patch_words.into())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.addresses.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.addresses.is_empty()
    }

    /// The slot of a byte address.
    pub fn slot(&self, address: u32) -> Option<usize> {
        let slot = *self.by_word.get(address as usize / 4)?;
        (slot != NONE).then_some(slot.into())
    }

    /// The byte addresses, in the order of slots.
    pub fn addresses(&self) -> impl Iterator<Item = u32> + '_ {
        self.addresses.iter().map(|&a| a.into())
    }
}

impl Default for Slots {
    fn default() -> Slots {
        Slots::new([])
    }
}

impl fmt::Debug for Slots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.addresses()).finish()
    }
}

/// The values of words that no stage gives: what a stage reads where the one before has no output (`ATTRIBUTE_DEFAULT`), and
/// what a declared output holds that the program does not write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Defaults {
    words: Box<[u32; WORDS]>,
    pub(crate) defined: bool,
}

impl Defaults {
    /// All are zero.
    pub fn zero() -> Defaults {
        Defaults::new(|_| 0)
    }

    /// By byte address.
    pub fn new(word: impl Fn(u32) -> u32) -> Defaults {
        Defaults { words: Box::new(std::array::from_fn(|w| word(4 * w as u32))), defined: true }
    }

    /// Zero, and no value at all for initcheck.
    pub fn undefined() -> Defaults {
        Defaults { defined: false, ..Defaults::zero() }
    }

    /// The word at a byte address; outside the attribute space zero.
    pub fn word(&self, address: u32) -> u32 {
        self.words.get(address as usize / 4).copied().unwrap_or(0)
    }
}

/// Attributes of any number of vertices, or of patches: for each 32 of them a row of 32 words a slot, one after the other in one
/// buffer, which keeps its memory when it is cleared.
///
/// Words that were never set are zero and undefined, which only initcheck sees.
///
/// ```
/// use nvir_emu::stage::batch::{AttributeBuffer, Slots};
/// use std::sync::Arc;
/// let mut all = AttributeBuffer::new(Arc::new(Slots::new([0x80, 0x84])));
/// let vertex = all.push() as usize;
/// all.set(vertex, 1, 7);
/// assert_eq!((all.get(vertex, 1), all.lookup(vertex, 0x84), all.lookup(vertex, 0x80)), (7, Some(7), None));
/// ```
#[derive(Clone, Default, Debug)]
pub struct AttributeBuffer {
    slots: Arc<Slots>,
    rows: Vec<LaneVec>,
    /// Which words of a row have a value.
    defined: Vec<Mask>,
    len: usize,
}

impl AttributeBuffer {
    /// No vertices.
    pub fn new(slots: Arc<Slots>) -> AttributeBuffer {
        AttributeBuffer { slots, ..AttributeBuffer::default() }
    }

    /// No vertices, of other slots.
    pub fn reset(&mut self, slots: &Arc<Slots>) {
        if !Arc::ptr_eq(&self.slots, slots) {
            self.slots = slots.clone();
        }
        self.clear();
    }

    /// No vertices, of the same slots.
    pub fn clear(&mut self) {
        self.rows.clear();
        self.defined.clear();
        self.len = 0;
    }

    /// What there is of a vertex.
    pub fn slots(&self) -> &Arc<Slots> {
        &self.slots
    }

    /// How many vertices there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds vertices, or drops the last ones.
    pub fn resize(&mut self, vertices: usize) {
        let slots = self.slots.len();
        if vertices < self.len {
            // Those that come back later begin without values.
            for at in vertices..self.len.min(vertices.next_multiple_of(LANES)) {
                for slot in 0..slots {
                    let i = self.index(at, slot);
                    self.rows[i].0[at % LANES] = 0;
                    self.defined[i] &= !(1 << (at % LANES));
                }
            }
        }
        let rows = vertices.div_ceil(LANES) * slots;
        self.rows.resize(rows, LaneVec::ZERO);
        self.defined.resize(rows, 0);
        self.len = vertices;
    }

    /// One more vertex: its number.
    #[inline]
    pub fn push(&mut self) -> u32 {
        if self.len.is_multiple_of(LANES) {
            let rows = self.rows.len() + self.slots.len();
            self.rows.resize(rows, LaneVec::ZERO);
            self.defined.resize(rows, 0);
        }
        self.len += 1;
        (self.len - 1) as u32
    }

    #[inline]
    fn index(&self, vertex: usize, slot: usize) -> usize {
        debug_assert!(vertex < self.len && slot < self.slots.len(), "vertex {vertex}, slot {slot}");
        vertex / LANES * self.slots.len() + slot
    }

    /// A word.
    #[inline]
    pub fn get(&self, vertex: usize, slot: usize) -> u32 {
        self.rows[self.index(vertex, slot)].0[vertex % LANES]
    }

    /// Gives a word a value.
    #[inline]
    pub fn set(&mut self, vertex: usize, slot: usize, word: u32) {
        let at = self.index(vertex, slot);
        self.rows[at].0[vertex % LANES] = word;
        self.defined[at] |= 1 << (vertex % LANES);
    }

    /// Whether a word was given a value.
    #[inline]
    pub fn is_defined(&self, vertex: usize, slot: usize) -> bool {
        self.defined[self.index(vertex, slot)] >> (vertex % LANES) & 1 != 0
    }

    /// The word at a byte address, if there is one that has a value.
    pub fn lookup(&self, vertex: usize, address: u32) -> Option<u32> {
        let slot = self.slots.slot(address)?;
        self.is_defined(vertex, slot).then(|| self.get(vertex, slot))
    }

    /// The word at a byte address, or what stands for one that there is not.
    pub fn word(&self, vertex: usize, address: u32, defaults: &Defaults) -> u32 {
        self.slots.slot(address).map_or_else(|| defaults.word(address), |slot| self.get(vertex, slot))
    }

    /// A slot of vertices `32 * group` to `32 * group + 31`; of those that there are not, anything.
    pub fn row(&self, group: usize, slot: usize) -> &[u32; LANES] {
        &self.rows[group * self.slots.len() + slot].0
    }

    /// The same to be written: all of it counts as given a value.
    pub fn row_mut(&mut self, group: usize, slot: usize) -> &mut [u32; LANES] {
        let at = group * self.slots.len() + slot;
        self.defined[at] = Mask::MAX;
        &mut self.rows[at].0
    }

    /// Gives a vertex the values of another buffer's, by address.
    pub fn copy(&mut self, to: usize, from: &AttributeBuffer, vertex: usize, defaults: &Defaults) {
        for slot in 0..self.slots.len() {
            let address = u32::from(self.slots.addresses[slot]);
            let (word, defined) = match from.slots.slot(address) {
                Some(slot) => (from.get(vertex, slot), from.is_defined(vertex, slot)),
                None => (defaults.word(address), defaults.defined),
            };
            let at = self.index(to, slot);
            self.rows[at].0[to % LANES] = word;
            self.defined[at] = self.defined[at] & !(1 << (to % LANES)) | u32::from(defined) << (to % LANES);
        }
    }

    /// A row of a group with the lanes that have a value.
    pub(crate) fn group(&self, group: usize, slot: usize) -> (&LaneVec, Mask) {
        let at = group * self.slots.len() + slot;
        (&self.rows[at], self.defined[at])
    }

    /// Adds the first `count` lanes of rows, one a slot. The vertices so far fill their groups.
    pub(crate) fn push_group(&mut self, rows: &[LaneVec], defined: &[Mask], count: usize) {
        debug_assert!(self.len.is_multiple_of(LANES), "{} vertices do not fill their groups", self.len);
        self.rows.extend_from_slice(rows);
        self.defined.extend_from_slice(defined);
        self.len += count;
    }

    /// Adds a vertex whose words come from `word`, with whether they have a value.
    pub(crate) fn push_with(&mut self, word: impl Fn(usize) -> (u32, bool)) {
        let to = self.push() as usize;
        for slot in 0..self.slots.len() {
            let (word, defined) = word(slot);
            let at = self.index(to, slot);
            self.rows[at].0[to % LANES] = word;
            self.defined[at] |= u32::from(defined) << (to % LANES);
        }
    }

    /// Adds all vertices of a buffer that has the same slots.
    pub(crate) fn append(&mut self, other: &AttributeBuffer) {
        if self.len.is_multiple_of(LANES) {
            self.rows.extend_from_slice(&other.rows);
            self.defined.extend_from_slice(&other.defined);
            self.len += other.len;
            return;
        }
        for v in 0..other.len {
            self.push_with(|slot| (other.get(v, slot), other.is_defined(v, slot)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_that_are_cut_and_grow_again_forget() {
        let mut all = AttributeBuffer::new(Arc::new(Slots::new([0x80, 0x2fc])));
        all.resize(40);
        for v in 0..40 {
            all.set(v, 1, v as u32 + 1);
        }
        all.resize(33);
        all.resize(40);
        assert_eq!((all.lookup(32, 0x2fc), all.lookup(33, 0x2fc), all.get(33, 1)), (Some(33), None, 0));
        assert_eq!((all.lookup(32, 0x80), all.lookup(32, 0x84)), (None, None));
        all.clear();
        all.push();
        assert_eq!(all.lookup(0, 0x2fc), None);
    }

    #[test]
    fn appended_buffers_are_one_after_the_other() {
        let slots = Arc::new(Slots::new([0, 4, 0x402, 0x404]));
        assert_eq!(slots.len(), 2);
        let part = |first: u32, count: u32| {
            let mut part = AttributeBuffer::new(slots.clone());
            for v in first..first + count {
                let at = part.push() as usize;
                part.set(at, (v % 2) as usize, v);
            }
            part
        };
        let mut all = part(0, 32);
        for (first, count) in [(32, 7), (39, 30), (69, 1)] {
            all.append(&part(first, count));
        }
        assert_eq!(all.len(), 70);
        for v in 0..70usize {
            assert_eq!(all.lookup(v, 4 * (v as u32 % 2)), Some(v as u32));
            assert!(!all.is_defined(v, 1 - v % 2));
        }
    }

    #[test]
    fn copies_go_by_address_and_take_defaults() {
        let mut from = AttributeBuffer::new(Arc::new(Slots::new([0x70, 0x80])));
        from.push();
        from.set(0, 1, 5);
        let mut to = AttributeBuffer::new(Arc::new(Slots::new([0x80, 0x8c, 0x70])));
        to.resize(1);
        to.copy(0, &from, 0, &Defaults::new(|a| a + 1));
        assert_eq!([0x70, 0x80, 0x8c].map(|a| to.lookup(0, a)), [None, Some(5), Some(0x8d)]);
        assert_eq!(from.word(0, 0x8c, &Defaults::zero()), 0);
    }
}
