//! Reads, writes, copies and fills of runs of bytes, by whole words where they can be.

use super::{Buffer, Memory, MemoryError};
use nvir_simd::Processor;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

type Result<T> = std::result::Result<T, MemoryError>;

/// Bytes that a copy moves through a buffer of its own at once.
const CHUNK: usize = 4096;

impl Buffer {
    fn mark_written(&self, addr: u64, size: u64) {
        let Some(init) = &self.init else { return };
        let (mut at, end) = ((addr - self.origin) as usize, (addr - self.origin + size) as usize);
        while at < end {
            let bits = (32 - at % 32).min(end - at);
            let mask = (u64::from(u32::MAX) >> (32 - bits)) as u32;
            init[at / 32].fetch_or(mask << (at % 32), Relaxed);
            at += bits;
        }
    }

    fn put(&self, addr: u64, data: &[u8]) {
        self.mark_written(addr, data.len() as u64);
        let words = &self.words[self.word(addr)..];
        let head = (addr.wrapping_neg() & 3).min(data.len() as u64) as usize;
        let (first, rest) = data.split_at(head);
        put_part(words, addr & 3, first);
        let words = &words[usize::from(head != 0)..];
        let mut chunks = rest.chunks_exact(4);
        let mut whole = 0;
        for (word, bytes) in words.iter().zip(&mut chunks) {
            word.store(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]), Relaxed);
            whole += 1;
        }
        put_part(&words[whole..], 0, chunks.remainder());
    }

    fn get(&self, addr: u64, out: &mut [u8]) {
        let words = &self.words[self.word(addr)..];
        let head = (addr.wrapping_neg() & 3).min(out.len() as u64) as usize;
        let (first, rest) = out.split_at_mut(head);
        get_part(words, addr & 3, first);
        let words = &words[usize::from(head != 0)..];
        let mut chunks = rest.chunks_exact_mut(4);
        let mut whole = 0;
        for (word, bytes) in words.iter().zip(&mut chunks) {
            bytes.copy_from_slice(&word.load(Relaxed).to_le_bytes());
            whole += 1;
        }
        get_part(&words[whole..], 0, chunks.into_remainder());
    }
}

/// Bytes inside the first word, from byte `at` on.
fn put_part(words: &[AtomicU32], at: u64, bytes: &[u8]) {
    let Some(word) = words.first().filter(|_| !bytes.is_empty()) else { return };
    let mut all = word.load(Relaxed).to_le_bytes();
    all[at as usize..][..bytes.len()].copy_from_slice(bytes);
    word.store(u32::from_le_bytes(all), Relaxed);
}

fn get_part(words: &[AtomicU32], at: u64, out: &mut [u8]) {
    let Some(word) = words.first().filter(|_| !out.is_empty()) else { return };
    let all = word.load(Relaxed).to_le_bytes();
    out.copy_from_slice(&all[at as usize..][..out.len()]);
}

impl Memory {
    fn holder(&self, addr: u64, size: u64) -> Result<&Buffer> {
        let at = self.find(addr, size).ok_or(MemoryError::Unmapped { addr, size })?;
        Ok(&self.buffers[at])
    }

    /// Whether `size` bytes at `addr` lie inside one buffer.
    pub fn contains(&self, addr: u64, size: u64) -> bool {
        self.find(addr, size).is_some()
    }

    /// The words from `addr`, a multiple of 4, to the end of its buffer.
    pub fn words_from(&self, addr: u64) -> Option<&[AtomicU32]> {
        let buffer = &self.buffers[self.find(addr, 4)?];
        (addr & 3 == 0).then(|| &buffer.words[buffer.word(addr)..])
    }

    /// The words of `size` bytes at `addr`, both multiples of 4.
    pub(crate) fn slice(&self, addr: u64, size: u64) -> Option<&[AtomicU32]> {
        let buffer = self.holder(addr, size).ok().filter(|_| (addr | size) & 3 == 0)?;
        Some(&buffer.words[buffer.word(addr)..][..(size / 4) as usize])
    }

    /// Copies `data` to `addr`.
    pub fn write(&self, addr: u64, data: &[u8]) -> Result<()> {
        self.holder(addr, data.len() as u64)?.put(addr, data);
        Ok(())
    }

    /// The `size` bytes at `addr`.
    pub fn read(&self, addr: u64, size: u64) -> Result<Vec<u8>> {
        let buffer = self.holder(addr, size)?;
        let mut bytes = vec![0; size as usize];
        buffer.get(addr, &mut bytes);
        Ok(bytes)
    }

    /// Fills `out` with the bytes at `addr`.
    pub fn read_into(&self, addr: u64, out: &mut [u8]) -> Result<()> {
        self.holder(addr, out.len() as u64)?.get(addr, out);
        Ok(())
    }

    /// The word at `addr`, a multiple of 4 or not.
    pub fn word(&self, addr: u64) -> Result<u32> {
        let buffer = self.holder(addr, 4)?;
        if addr & 3 == 0 {
            return Ok(buffer.words[buffer.word(addr)].load(Relaxed));
        }
        let mut bytes = [0; 4];
        buffer.get(addr, &mut bytes);
        Ok(u32::from_le_bytes(bytes))
    }

    /// Writes a word.
    pub fn set_word(&self, addr: u64, value: u32) -> Result<()> {
        let buffer = self.holder(addr, 4)?;
        if addr & 3 == 0 {
            buffer.mark_written(addr, 4);
            buffer.words[buffer.word(addr)].store(value, Relaxed);
        } else {
            buffer.put(addr, &value.to_le_bytes());
        }
        Ok(())
    }

    /// Fills `out` with the words at `addr`, a multiple of 4 or not.
    pub fn read_words(&self, addr: u64, out: &mut [u32]) -> Result<()> {
        let buffer = self.holder(addr, out.len() as u64 * 4)?;
        if addr & 3 == 0 {
            let words = &buffer.words[buffer.word(addr)..][..out.len()];
            let processor = Processor::detect();
            let (rows, rest) = words.as_chunks::<32>();
            let (row_outs, rest_out) = out.as_chunks_mut::<32>();
            rows.iter().zip(row_outs).for_each(|(from, to)| processor.load(from, to));
            rest_out.iter_mut().zip(rest).for_each(|(o, w)| *o = w.load(Relaxed));
            return Ok(());
        }
        for (i, o) in out.iter_mut().enumerate() {
            let mut bytes = [0; 4];
            buffer.get(addr + 4 * i as u64, &mut bytes);
            *o = u32::from_le_bytes(bytes);
        }
        Ok(())
    }

    /// Copies words to `addr`, a multiple of 4 or not.
    pub fn write_words(&self, addr: u64, data: &[u32]) -> Result<()> {
        let size = data.len() as u64 * 4;
        let buffer = self.holder(addr, size)?;
        if addr & 3 == 0 {
            buffer.mark_written(addr, size);
            let words = &buffer.words[buffer.word(addr)..];
            data.iter().zip(words).for_each(|(d, w)| w.store(*d, Relaxed));
        } else {
            data.iter().enumerate().for_each(|(i, d)| buffer.put(addr + 4 * i as u64, &d.to_le_bytes()));
        }
        Ok(())
    }

    /// Copies `size` bytes; where the two overlap, as if through a copy of the first. Each side lies in one buffer.
    pub fn copy(&self, from: u64, to: u64, size: u64) -> Result<()> {
        let (source, target) = (self.holder(from, size)?, self.holder(to, size)?);
        let backwards = from < to && to - from < size;
        let aligned = (from | to | size) & 3 == 0;
        if aligned && source.words.len() >= 4 {
            target.mark_written(to, size);
            let n = (size / 4) as usize;
            let a = &source.words[source.word(from)..][..n];
            let b = &target.words[target.word(to)..][..n];
            let one = |(a, b): (&AtomicU32, &AtomicU32)| b.store(a.load(Relaxed), Relaxed);
            if backwards {
                a.iter().zip(b).rev().for_each(one)
            } else {
                a.iter().zip(b).for_each(one)
            }
            return Ok(());
        }
        let mut scratch = [0; CHUNK];
        let mut done = 0;
        while done < size {
            let n = (size - done).min(CHUNK as u64);
            let at = if backwards { size - done - n } else { done };
            let scratch = &mut scratch[..n as usize];
            source.get(from + at, scratch);
            target.put(to + at, scratch);
            done += n;
        }
        Ok(())
    }

    /// Writes a pattern over and over, the last time perhaps a part of it.
    pub fn fill(&self, addr: u64, size: u64, pattern: &[u8]) -> Result<()> {
        let buffer = self.holder(addr, size)?;
        if pattern.is_empty() {
            return Ok(());
        }
        let whole = CHUNK.max(pattern.len()) / pattern.len() * pattern.len();
        let chunk: Vec<u8> = pattern
            .iter()
            .copied()
            .cycle()
            .take(whole.min(size.next_multiple_of(pattern.len() as u64) as usize))
            .collect();
        let mut done = 0;
        while done < size {
            let n = (size - done).min(chunk.len() as u64);
            buffer.put(addr + done, &chunk[..n as usize]);
            done += n;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(size: u64) -> (Memory, u64, Vec<u8>) {
        let mut m = Memory::new();
        let at = m.alloc(size, 2).unwrap();
        let data: Vec<u8> = (0..size).map(|i| (i * 7 + i / 256) as u8).collect();
        m.write(at, &data).unwrap();
        (m, at, data)
    }

    #[test]
    fn runs_at_every_alignment_touch_their_bytes_only() {
        for from in 0..9 {
            for size in 0..14 {
                let (m, at, mut data) = filled(40);
                let new: Vec<u8> = (0..size).map(|i| 0xf0 | i as u8).collect();
                m.write(at + from as u64, &new).unwrap();
                data[from..from + size].copy_from_slice(&new);
                assert_eq!(m.read(at, 40).unwrap(), data, "{from} {size}");
                let mut out = vec![0; size];
                m.read_into(at + from as u64, &mut out).unwrap();
                assert_eq!(out, new);
            }
        }
    }

    #[test]
    fn words_need_no_alignment() {
        let (m, at, _) = filled(64);
        for i in 0..6 {
            m.set_word(at + i, 0x1122_3344).unwrap();
            assert_eq!(m.word(at + i), Ok(0x1122_3344));
            m.write_words(at + 8 + i, &[1, u32::MAX]).unwrap();
            let mut out = [0; 2];
            m.read_words(at + 8 + i, &mut out).unwrap();
            assert_eq!(out, [1, u32::MAX]);
            assert_eq!(m.read(at + 8 + i, 8).unwrap(), [1, 0, 0, 0, 255, 255, 255, 255]);
        }
        assert!(m.word(at + 61).is_err() && m.set_word(at - 1, 0).is_err());
    }

    #[test]
    fn copies_may_overlap() {
        let size = 3 * CHUNK as u64;
        for (from, to, n) in
            [(0, 5, 9000), (5, 0, 9000), (2, 6, 8000), (6, 2, 8000), (2, 6, 8002), (1, 1, 100), (0, 9000, 3)]
        {
            let (m, at, mut data) = filled(size);
            m.copy(at + from as u64, at + to as u64, n as u64).unwrap();
            data.copy_within(from..from + n, to);
            assert!(m.read(at, size).unwrap() == data, "{from} {to} {n}");
        }
        let (m, at, _) = filled(16);
        assert!(m.copy(at, at + 8, 9).is_err() && m.copy(at + 8, at, 9).is_err());
    }

    #[test]
    fn patterns_repeat() {
        let (m, at, _) = filled(10000);
        m.fill(at + 1, 9997, &[1, 2, 3]).unwrap();
        let got = m.read(at, 10000).unwrap();
        assert_eq!(
            (got[0], got[9998], got[9999]),
            (0, ((9998 * 7 + 9998 / 256) & 255) as u8, ((9999 * 7 + 9999 / 256) & 255) as u8)
        );
        assert!(got[1..9998].iter().enumerate().all(|(i, b)| usize::from(*b) == i % 3 + 1));
        m.fill(at, 2, &[9; 7]).unwrap();
        assert_eq!(m.read(at, 3).unwrap(), [9, 9, 2]);
        assert!(m.fill(at, 10001, &[0]).is_err());
    }
}
