//! Candidates by class, the most urgent first: bits by rank, and above them bits for the words that have any.

use super::tables::Rank;
use nvir_asm::issue_class;

/// Bits of a word.
const BITS: usize = u64::BITS as usize;

/// Candidates for which nothing else is asked, in tables that are made once.
#[derive(Default)]
pub(super) struct Ready {
    /// By class its levels, one behind the other, the bits of candidates first.
    words: Vec<u64>,
    /// Where in a class each level begins.
    levels: Vec<usize>,
    /// Words of a class.
    size: usize,
    /// A mask of the classes that have candidates.
    pub present: u64,
}

impl Ready {
    /// There are so many ranks, and no candidates.
    pub(super) fn start(&mut self, ranks: usize) {
        self.levels.clear();
        self.size = 0;
        let mut bits = ranks.max(1);
        loop {
            let words = bits.div_ceil(BITS);
            self.levels.push(self.size);
            self.size += words;
            if words == 1 {
                break;
            }
            bits = words;
        }
        self.words.clear();
        self.words.resize(self.size * issue_class::COUNT, 0);
        self.present = 0;
    }

    pub(super) fn insert(&mut self, class: usize, rank: Rank) {
        let mut bit = rank as usize;
        for level in &self.levels {
            let word = &mut self.words[class * self.size + level + bit / BITS];
            let before = std::mem::replace(word, *word | 1 << (bit % BITS));
            if before != 0 {
                return;
            }
            bit /= BITS;
        }
        self.present |= 1 << class;
    }

    pub(super) fn remove(&mut self, class: usize, rank: Rank) {
        let mut bit = rank as usize;
        for level in &self.levels {
            let word = &mut self.words[class * self.size + level + bit / BITS];
            *word &= !(1 << (bit % BITS));
            if *word != 0 {
                return;
            }
            bit /= BITS;
        }
        self.present &= !(1 << class);
    }

    /// The most urgent candidate of a class.
    pub(super) fn first(&self, class: usize) -> Option<Rank> {
        if self.present >> class & 1 == 0 {
            return None;
        }
        let mut at = 0;
        for level in self.levels.iter().rev() {
            let word = self.words[class * self.size + level + at];
            at = at * BITS + word.trailing_zeros() as usize;
        }
        Some(at as Rank)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_rank_of_a_class_comes_first_whatever_was_put_in_and_taken_out() {
        let mut ready = Ready::default();
        for ranks in [1usize, 64, 65, 5000, 300_000] {
            ready.start(ranks);
            let mut all: [std::collections::BTreeSet<Rank>; 2] = Default::default();
            let mut random = 7u64;
            for _ in 0..3000 {
                random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let (class, rank) = ((random >> 20 & 1) as usize, ((random >> 33) % ranks as u64) as Rank);
                if random >> 21 & 1 == 0 || !all[class].remove(&rank) {
                    all[class].insert(rank);
                    ready.insert(class, rank);
                } else {
                    ready.remove(class, rank);
                }
                assert_eq!(ready.first(class), all[class].first().copied());
                assert_eq!(ready.present >> class & 1 != 0, !all[class].is_empty());
            }
        }
    }
}
