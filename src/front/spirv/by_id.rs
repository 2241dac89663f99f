//! A table by the numbers of ids. A module's ids are dense, so its place is looked up instead of searched.

use std::ops::Index;

#[derive(Clone, Debug)]
pub(super) struct ById<T> {
    /// By id: the place of its item, plus one.
    places: Vec<u32>,
    items: Vec<T>,
}

impl<T> Default for ById<T> {
    fn default() -> ById<T> {
        ById { places: Vec::new(), items: Vec::new() }
    }
}

impl<T> ById<T> {
    pub(super) fn get(&self, id: u32) -> Option<&T> {
        let place = self.places.get(id as usize)?.checked_sub(1)?;
        self.items.get(place as usize)
    }

    pub(super) fn contains(&self, id: u32) -> bool {
        self.get(id).is_some()
    }

    /// The first item of an id stays: it is defined once.
    pub(super) fn insert(&mut self, id: u32, item: T) {
        let id = id as usize;
        if self.places.len() <= id {
            self.places.resize(id + 1, 0);
        }
        if self.places[id] == 0 {
            self.items.push(item);
            self.places[id] = self.items.len() as u32;
        }
    }

    /// The item of an id, which is put in if there is none.
    pub(super) fn get_or_default(&mut self, id: u32) -> &mut T
    where
        T: Default,
    {
        if !self.contains(id) {
            self.insert(id, T::default());
        }
        &mut self.items[self.places[id as usize] as usize - 1]
    }

    /// All ids that have an item, in their order.
    pub(super) fn ids(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.places).filter(|&(_, &place)| place != 0).map(|(id, _)| id)
    }
}

impl<T> Index<u32> for ById<T> {
    type Output = T;

    fn index(&self, id: u32) -> &T {
        &self.items[self.places[id as usize] as usize - 1]
    }
}

/// A set of ids: a bit for each.
#[derive(Clone, Debug, Default)]
pub(super) struct Ids(Vec<u64>);

impl Ids {
    pub(super) fn contains(&self, id: u32) -> bool {
        self.0.get(id as usize / 64).is_some_and(|word| word >> (id % 64) & 1 != 0)
    }

    pub(super) fn insert(&mut self, id: u32) {
        let word = id as usize / 64;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (id % 64);
    }

    pub(super) fn remove(&mut self, id: u32) {
        if let Some(word) = self.0.get_mut(id as usize / 64) {
            *word &= !(1 << (id % 64));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_in_is_found_by_its_id_and_nothing_else_is() {
        let mut table = ById::default();
        table.insert(7, "seven");
        table.insert(2, "two");
        table.insert(7, "again");
        assert_eq!((table.get(7), table.get(2), table[2]), (Some(&"seven"), Some(&"two"), "two"));
        assert!(!table.contains(0) && !table.contains(8) && table.get(u32::MAX).is_none());
        assert_eq!(table.ids().collect::<Vec<_>>(), [2, 7]);
    }

    #[test]
    fn a_set_has_what_was_put_in_and_not_taken_out() {
        let mut set = Ids::default();
        assert!(set.is_empty() && !set.contains(0));
        [63, 64, 200].into_iter().for_each(|id| set.insert(id));
        set.remove(64);
        set.remove(u32::MAX);
        let has: Vec<u32> = (0..300).filter(|&id| set.contains(id)).collect();
        assert_eq!(has, [63, 200]);
        [63, 200].into_iter().for_each(|id| set.remove(id));
        assert!(set.is_empty() && !set.contains(u32::MAX));
    }
}
