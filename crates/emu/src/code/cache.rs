//! Decoded kernels of code that lies in memory.

use crate::code::program::Program;
use crate::memory::Memory;
use nvir_base::Chip;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Bytes of code that are kept at most.
const MAX_BYTES: usize = 4 << 20;

/// Kernels with the same entry that are kept at most: all of them are looked at.
const MAX_ALIKE: usize = 16;

/// Kernels that were decoded, by their contents: a program is found again wherever it lies, and after others were in its place. Those
/// that were not used for the longest time go where they would be too many.
#[derive(Debug)]
pub struct CodeCache {
    kernels: FxHashMap<Key, Vec<Entry>>,
    bytes: usize,
    limit: usize,
    /// Counts uses.
    now: u64,
    /// Keys by the last use of one of their kernels.
    by_use: BTreeMap<u64, Key>,
}

/// Chip and entry: with the words at their distances from it they are all that decoding depends on.
type Key = (Chip, u32);

#[derive(Debug)]
struct Entry {
    program: Arc<Program>,
    used: u64,
}

impl Default for CodeCache {
    fn default() -> CodeCache {
        let (kernels, by_use) = Default::default();
        CodeCache { kernels, bytes: 0, limit: MAX_BYTES, now: 0, by_use }
    }
}

impl CodeCache {
    /// The kernel that begins `entry` bytes behind `base`, from which code counts its addresses.
    pub fn get(&mut self, chip: Chip, memory: &Memory, base: u64, entry: u32) -> Arc<Program> {
        let key = (chip, entry);
        self.now += 1;
        let alike = self.kernels.get_mut(&key).into_iter().flatten();
        if let Some(known) = alike.rev().find(|e| is_current(&e.program, memory, base)) {
            self.by_use.remove(&known.used);
            self.by_use.insert(self.now, key);
            known.used = self.now;
            return known.program.clone();
        }
        let word = |at: usize| {
            let mut words = [0; 2];
            memory.read_words(base.checked_add(8 * at as u64)?, &mut words).ok()?;
            Some(u64::from(words[0]) | u64::from(words[1]) << 32)
        };
        let program = Arc::new(Program::reachable(chip, entry, word));
        if let Some(all) = self.kernels.get(&key)
            && all.len() >= MAX_ALIKE
            && let Some(oldest) = all.iter().map(|e| e.used).min()
        {
            self.remove(oldest);
        }
        while self.bytes + program.bytes() > self.limit
            && let Some((&oldest, _)) = self.by_use.first_key_value()
        {
            self.remove(oldest);
        }
        self.bytes += program.bytes();
        self.by_use.insert(self.now, key);
        self.kernels.entry(key).or_default().push(Entry { program: program.clone(), used: self.now });
        program
    }

    /// Drops the kernel that was last used at a time.
    fn remove(&mut self, used: u64) {
        let Some(key) = self.by_use.remove(&used) else { return };
        let Some(all) = self.kernels.get_mut(&key) else { return };
        if let Some(at) = all.iter().position(|e| e.used == used) {
            self.bytes -= all.remove(at).program.bytes();
        }
        if all.is_empty() {
            self.kernels.remove(&key);
        }
    }
}

/// Whether memory still holds the code that was decoded.
fn is_current(kernel: &Program, memory: &Memory, base: u64) -> bool {
    kernel.code().all(|(start, code)| {
        // Nothing was there; so look again.
        let Some(words) = memory.slice(base + u64::from(start), code.len() as u64 * 8) else { return false };
        let same = |(pair, word): (&[_], &u64)| {
            let [lo, hi] =
                [&pair[0], &pair[1]].map(|w: &std::sync::atomic::AtomicU32| u64::from(w.load(Relaxed)));
            lo | hi << 32 == *word
        };
        !code.is_empty() && words.chunks_exact(2).zip(code).all(same)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXIT: u64 = 0x1800_0000_001c_003c;
    const NOP: u64 = 0x8580_0000_001c_3c02;

    #[test]
    fn a_kernel_is_decoded_again_only_when_its_code_changes() {
        let mut memory = Memory::new();
        let base = memory.alloc(0x1000, 4096).unwrap();
        let mut cache = CodeCache::default();
        let put = |at: u64, word: u64| memory.write(base + at, &word.to_le_bytes()).unwrap();
        put(0x108, EXIT);
        let mut get = |entry| cache.get(Chip::Gk110, &memory, base, entry);
        let first = get(0x108);
        assert_eq!(first.text(0x108), "EXIT");
        put(0x110, NOP);
        assert!(Arc::ptr_eq(&first, &get(0x108)));
        put(0x108, NOP);
        put(0x110, EXIT);
        let second = get(0x108);
        assert!(!Arc::ptr_eq(&first, &second));
        assert_eq!(second.text(0x110), "EXIT");
        assert!(!Arc::ptr_eq(&second, &get(0x110)));
        // What was there before is still known.
        put(0x108, EXIT);
        assert!(Arc::ptr_eq(&first, &get(0x108)));
        // Where there is no memory there is no code.
        assert_eq!(get(0x1008).text(0x1008), "<outside the code>");
        assert_eq!(get(0x1008).bytes(), 0);
    }

    #[test]
    fn what_was_not_used_for_the_longest_time_goes_first() {
        let mut memory = Memory::new();
        let base = memory.alloc(0x3000, 4096).unwrap();
        let mut cache = CodeCache { limit: 2 * 8, ..CodeCache::default() };
        for at in [0x108u64, 0x1108, 0x2108] {
            memory.write(base + at, &EXIT.to_le_bytes()).unwrap();
        }
        let mut get = |entry| cache.get(Chip::Gk110, &memory, base, entry);
        let (first, second) = (get(0x108), get(0x1108));
        assert!(Arc::ptr_eq(&first, &get(0x108)));
        get(0x2108);
        assert!(Arc::ptr_eq(&first, &get(0x108)));
        assert!(!Arc::ptr_eq(&second, &get(0x1108)));
        assert_eq!((cache.kernels.len(), cache.by_use.len(), cache.bytes), (2, 2, 16));
    }

    #[test]
    fn code_is_known_wherever_it_lies() {
        let mut memory = Memory::new();
        let mut cache = CodeCache::default();
        let [a, b] = [(); 2].map(|()| memory.alloc(0x1000, 4096).unwrap());
        for base in [a, b] {
            memory.write(base + 8, &EXIT.to_le_bytes()).unwrap();
        }
        let first = cache.get(Chip::Gk110, &memory, a, 8);
        assert!(Arc::ptr_eq(&first, &cache.get(Chip::Gk110, &memory, b, 8)));
        assert!(!Arc::ptr_eq(&first, &cache.get(Chip::Gk104, &memory, b, 8)));
        // Other code with the same entry is kept, but not without end.
        for n in 0..2 * MAX_ALIKE as u64 {
            memory.write(b + 8, &NOP.to_le_bytes()).unwrap();
            memory.write(b + 16, &(n << 32 | 1).to_le_bytes()).unwrap();
            cache.get(Chip::Gk110, &memory, b, 8);
        }
        assert_eq!(cache.kernels[&(Chip::Gk110, 8)].len(), MAX_ALIKE);
        assert_eq!(cache.by_use.len(), MAX_ALIKE + 1);
    }
}
