//! Decoded kernels of code that lies in memory.

use crate::Program;
use crate::memory::Memory;
use nvir_base::Chip;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Bytes of code that are kept at most.
const MAX_BYTES: usize = 4 << 20;

/// Kernels that were decoded, by where they lie. One is decoded again when its code has changed; those that were not used for the
/// longest time go where they would be too many.
#[derive(Debug)]
pub struct CodeCache {
    kernels: FxHashMap<Key, Entry>,
    bytes: usize,
    limit: usize,
    /// Counts uses.
    now: u64,
    /// Keys by their last use.
    by_use: BTreeMap<u64, Key>,
}

/// Chip, base and entry.
type Key = (Chip, u64, u32);

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
        let key = (chip, base, entry);
        self.now += 1;
        if let Some(known) = self.kernels.get_mut(&key)
            && is_current(&known.program, memory, base)
        {
            self.by_use.remove(&known.used);
            self.by_use.insert(self.now, key);
            known.used = self.now;
            return known.program.clone();
        }
        self.remove(key);
        let word = |at: usize| {
            let mut words = [0; 2];
            memory.read_words(base.checked_add(8 * at as u64)?, &mut words).ok()?;
            Some(u64::from(words[0]) | u64::from(words[1]) << 32)
        };
        let kernel = Arc::new(Program::reachable(chip, entry, word));
        while self.bytes + kernel.bytes() > self.limit
            && let Some((_, &oldest)) = self.by_use.first_key_value()
        {
            self.remove(oldest);
        }
        self.bytes += kernel.bytes();
        self.by_use.insert(self.now, key);
        self.kernels.insert(key, Entry { program: kernel.clone(), used: self.now });
        kernel
    }

    fn remove(&mut self, key: Key) {
        if let Some(old) = self.kernels.remove(&key) {
            self.bytes -= old.program.bytes();
            self.by_use.remove(&old.used);
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
}
