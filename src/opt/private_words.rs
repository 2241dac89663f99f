//! What fixed places of private memory hold, word by word: elements of arrays and members of structures that may become
//! registers. Bytes and halves that are stored into a word change a part of what is known of it.

use crate::ir::*;
use arrayvec::ArrayVec;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Words remembered at a time: loops over arrays are unrolled to make them registers.
const MOST: usize = 512;

/// Bytes of a word that a store has changed.
#[derive(Clone, Copy)]
struct Part {
    first: u32,
    bytes: u32,
    value: Src,
    /// The store, if nothing has read it since.
    unread: Option<InstId>,
}

/// A word of private memory.
#[derive(Clone, Default)]
struct Word {
    /// What was stored or loaded as a whole, if that is known.
    whole: Option<Src>,
    /// The store that did, if nothing has read it since.
    unread: Option<InstId>,
    /// Parts stored since, the newer ones last. They may overlap.
    parts: ArrayVec<Part, 4>,
    /// Numbers what is remembered.
    age: u32,
}

/// What a load gives.
pub(super) enum Loaded {
    /// Values of registers, or immediates.
    Words(ArrayVec<Src, 4>),
    /// Bits of a value: the first one, and how many.
    Bits(Src, u32, u32),
}

/// The words that are known.
#[derive(Clone, Default)]
pub(super) struct PrivateWords {
    words: BTreeMap<i32, Word>,
    /// Of stores that nothing has read, the words that nothing has overwritten.
    unread: FxHashMap<InstId, u32>,
    next: u32,
}

/// Whether an access is to whole words, or within one.
fn is_regular(offset: i32, bytes: u32) -> bool {
    let within = offset.rem_euclid(4) as u32;
    if bytes >= 4 { within == 0 && bytes.is_multiple_of(4) } else { within + bytes <= 4 }
}

fn words_of(offset: i32, bytes: u32) -> impl Iterator<Item = i32> {
    let first = offset.saturating_sub(offset.rem_euclid(4));
    let end = offset.saturating_add_unsigned(bytes);
    (first..end).step_by(4)
}

impl PrivateWords {
    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Everything may have been read and changed.
    pub(super) fn clear(&mut self) {
        self.words.clear();
        self.unread.clear();
    }

    /// Anything may have been read.
    pub(super) fn read_all(&mut self) {
        self.unread.clear();
        for w in self.words.values_mut() {
            w.unread = None;
            w.parts.iter_mut().for_each(|p| p.unread = None);
        }
    }

    /// The stores that nothing has read.
    pub(super) fn unread(&self) -> impl Iterator<Item = InstId> {
        let stores = self
            .words
            .values()
            .flat_map(|w| w.unread.into_iter().chain(w.parts.iter().filter_map(|p| p.unread)));
        stores.filter(|i| self.unread.contains_key(i))
    }

    fn read(&mut self, at: i32) {
        let Some(w) = self.words.get_mut(&at) else { return };
        for i in w.unread.take().into_iter().chain(w.parts.iter_mut().filter_map(|p| p.unread.take())) {
            self.unread.remove(&i);
        }
    }

    /// What happens there is not known.
    pub(super) fn forget_all(&mut self, offset: i32, bytes: u32) {
        words_of(offset, bytes).for_each(|at| self.forget(at));
    }

    fn forget(&mut self, at: i32) {
        self.read(at);
        self.words.remove(&at);
    }

    fn remember(&mut self, at: i32, mut word: Word) {
        if self.words.len() >= MOST && !self.words.contains_key(&at) {
            let oldest = self.words.iter().min_by_key(|(_, w)| w.age).map(|(&at, _)| at);
            oldest.into_iter().for_each(|at| self.forget(at));
        }
        word.age = self.next;
        self.next += 1;
        self.words.insert(at, word);
    }

    /// A store that always happens; `values`: its words, or the value of which it stores a part, if they are known. Gives the
    /// stores that it makes pointless.
    pub(super) fn store(
        &mut self,
        i: InstId,
        offset: i32,
        bytes: u32,
        values: &[Src],
    ) -> ArrayVec<InstId, 8> {
        let mut dead = ArrayVec::new();
        if !is_regular(offset, bytes) {
            self.forget_all(offset, bytes);
            return dead;
        }
        self.unread.insert(i, (bytes / 4).max(1));
        if bytes < 4 {
            self.store_part(i, offset, bytes, values, &mut dead);
            return dead;
        }
        for (n, at) in words_of(offset, bytes).enumerate() {
            if let Some(old) = self.words.remove(&at) {
                let stores = old.unread.into_iter().chain(old.parts.iter().filter_map(|p| p.unread));
                stores.for_each(|i| self.overwrite(i, &mut dead));
            }
            let whole = values.get(n).copied().filter(|_| values.len() as u32 * 4 == bytes);
            self.remember(at, Word { whole, unread: Some(i), ..Word::default() });
        }
        dead
    }

    fn store_part(
        &mut self,
        i: InstId,
        offset: i32,
        bytes: u32,
        values: &[Src],
        dead: &mut ArrayVec<InstId, 8>,
    ) {
        let first = offset.rem_euclid(4) as u32;
        let at = offset - first as i32;
        let mut word = self.words.remove(&at).unwrap_or_default();
        word.parts.retain(|p| {
            let covered = p.first >= first && p.first + p.bytes <= first + bytes;
            if let Some(i) = p.unread.filter(|_| covered) {
                self.overwrite(i, dead);
            }
            !covered
        });
        let (&[value], false) = (values, word.parts.is_full()) else {
            // Neither it nor what it changes is known any more.
            self.unread.remove(&i);
            let stores = word.unread.into_iter().chain(word.parts.iter().filter_map(|p| p.unread));
            stores.for_each(|i| _ = self.unread.remove(&i));
            return;
        };
        word.parts.push(Part { first, bytes, value, unread: Some(i) });
        self.remember(at, word);
    }

    /// One word more of a store is overwritten.
    fn overwrite(&mut self, i: InstId, dead: &mut ArrayVec<InstId, 8>) {
        if let Some(left) = self.unread.get_mut(&i) {
            *left = left.saturating_sub(1);
            if *left == 0 && dead.try_push(i).is_ok() {
                self.unread.remove(&i);
            }
        }
    }

    /// A load, what it gives being known or not; puts what joins parts of a word into `out`.
    pub(super) fn load(
        &self,
        f: &mut Function,
        offset: i32,
        bytes: u32,
        loc: Loc,
        out: &mut Vec<InstId>,
    ) -> Option<Loaded> {
        if !is_regular(offset, bytes) {
            return None;
        }
        if bytes >= 4 {
            let known = |at| self.words.get(&at).is_some_and(Word::is_known);
            if bytes > 16 || !words_of(offset, bytes).all(known) {
                return None;
            }
            let words = words_of(offset, bytes).filter_map(|at| self.words[&at].joined(f, loc, out));
            return Some(Loaded::Words(words.collect()));
        }
        let first = offset.rem_euclid(4) as u32;
        let word = self.words.get(&(offset - first as i32))?;
        for p in word.parts.iter().rev() {
            if p.first <= first && first + bytes <= p.first + p.bytes {
                return Some(Loaded::Bits(p.value, 8 * (first - p.first), 8 * bytes));
            }
            if p.first < first + bytes && first < p.first + p.bytes {
                let whole = word.is_known().then(|| word.joined(f, loc, out))?;
                return Some(Loaded::Bits(whole?, 8 * first, 8 * bytes));
            }
        }
        Some(Loaded::Bits(word.whole?, 8 * first, 8 * bytes))
    }

    /// What a load finds that was not known; it reads what was stored.
    pub(super) fn loaded(&mut self, offset: i32, bytes: u32, values: &[ValueId]) {
        words_of(offset, bytes).for_each(|at| self.read(at));
        if bytes < 4 || !is_regular(offset, bytes) || values.len() as u32 * 4 != bytes {
            return;
        }
        for (at, &v) in words_of(offset, bytes).zip(values) {
            self.remember(at, Word { whole: Some(Src::val(v)), ..Word::default() });
        }
    }
}

impl Word {
    /// Whether every byte is known.
    fn is_known(&self) -> bool {
        let stored = self.parts.iter().fold(0, |all, p| all | mask(8 * p.bytes) << (8 * p.first));
        self.whole.is_some() || stored == u32::MAX
    }

    /// All of it as one value.
    fn joined(&self, f: &mut Function, loc: Loc, out: &mut Vec<InstId>) -> Option<Src> {
        let mut word = match self.whole {
            Some(whole) => whole,
            None => self.is_known().then(|| Src::imm(0))?,
        };
        for p in &self.parts {
            let (first, bits) = (8 * p.first, 8 * p.bytes);
            word = match (word.as_imm(), p.value.as_imm()) {
                (Some(old), Some(new)) => {
                    Src::imm(old & !(mask(bits) << first) | (new & mask(bits)) << first)
                }
                _ => {
                    let d = f.new_value(Class::Gpr);
                    let place = Src::imm(first | bits << 8);
                    let mut ins = Inst::new(Op::Ins, Type::U32).src(p.value).src(place).src(word).dst(d);
                    ins.loc = loc;
                    out.push(f.make(ins));
                    Src::val(d)
                }
            };
        }
        Some(word)
    }
}

/// So many ones.
pub(super) fn mask(bits: u32) -> u32 {
    u32::MAX.checked_shr(32 - bits).unwrap_or(0)
}
