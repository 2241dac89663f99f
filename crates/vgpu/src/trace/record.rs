//! Writes recordings.

use super::has_contents;
use crate::Memory;
use crate::file::calls::{BufferUse, GemNew, Push};
use crate::log::Log;
use nvir_base::Chip;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

/// Equal words between two that differ, which join them into one record.
const JOIN: usize = 4;
/// Words of a record, at most.
const MAX_WORDS: usize = 1024;

struct Known {
    handle: u32,
    /// What memory held when it was last looked at; `None`: contents are not recorded.
    words: Option<Vec<u32>>,
}

/// Writes a recording while a card works.
pub(crate) struct Recorder {
    to: Log,
    known: BTreeMap<u64, Known>,
}

impl Recorder {
    pub(crate) fn new(to: Box<dyn Write + Send>, chip: Chip) -> Recorder {
        let mut recorder = Recorder { to: Log::new(to), known: BTreeMap::new() };
        recorder.to.line(format_args!("trace 1\nchip {:x}", chip.chipset()));
        recorder
    }

    pub(crate) fn flush(&mut self) {
        self.to.flush();
    }

    /// GEM_NEW.
    pub(crate) fn buffer(&mut self, handle: u32, address: u64, bytes: u64, asked: &GemNew) {
        let GemNew { domain, tile_mode, tile_flags, align, .. } = asked;
        self.to.line(format_args!(
            "bo {handle} va {address:x} size {bytes:x} domain {domain:x} tile_mode {tile_mode:x} tile_flags {tile_flags:x} align {align:x}"
        ));
        let words = has_contents(bytes, *domain).then(|| vec![0; (bytes / 4) as usize]);
        self.known.insert(address, Known { handle, words });
    }

    /// The end of a buffer.
    pub(crate) fn free(&mut self, address: u64) {
        if let Some(known) = self.known.remove(&address) {
            self.to.line(format_args!("free {} va {address:x}", known.handle));
        }
    }

    /// GROBJ_ALLOC.
    pub(crate) fn object(&mut self, handle: u32, class: u32) {
        self.to.line(format_args!("object {handle:x} class {class:x}"));
    }

    /// What the processor wrote since the last look.
    pub(crate) fn before(&mut self, memory: &Memory) {
        self.changes(memory, "cpu");
    }

    /// A submission with the ranges of its commands: address and bytes.
    pub(crate) fn submission(
        &mut self,
        memory: &Memory,
        index: u64,
        uses: (&[BufferUse], &[u64]),
        pushes: (&[Push], &[(u64, u32)]),
    ) {
        let mut line = format!("submit {index}");
        for (u, address) in uses.0.iter().zip(uses.1) {
            let (r, w, v) = (u.read_domains, u.write_domains, u.valid_domains);
            let _ = write!(line, " {address:x}:{r:x}:{w:x}:{v:x}");
        }
        self.to.line(format_args!("{line}"));
        for (push, &(address, bytes)) in pushes.0.iter().zip(pushes.1) {
            let mut words = vec![0; bytes as usize / 4];
            // Ranges were checked: they are inside buffers.
            let _ = memory.read_words(address, &mut words);
            let prefetch = u32::from(push.no_prefetch);
            self.to.line(format_args!("push {address:x} {bytes:x} {prefetch}{}", text(&words)));
        }
    }

    /// What the submission changed.
    pub(crate) fn after(&mut self, memory: &Memory) {
        self.changes(memory, "gpu");
    }

    fn changes(&mut self, memory: &Memory, kind: &str) {
        let mut lines = Vec::new();
        for (&address, known) in &mut self.known {
            let (Some(old), Some(now)) = (&mut known.words, memory.words_from(address)) else { continue };
            let differs = |old: &[u32], i: usize| old[i] != now[i].load(Relaxed);
            let end = old.len().min(now.len());
            let mut at = 0;
            while at < end {
                at += same(&old[at..end], &now[at..end]);
                if at == end {
                    break;
                }
                let (first, mut last) = (at, at);
                while at < end && at - last <= JOIN && at - first < MAX_WORDS {
                    if differs(old, at) {
                        last = at;
                    }
                    at += 1;
                }
                at = last + 1;
                for i in first..at {
                    old[i] = now[i].load(Relaxed);
                }
                let (place, bytes) = (address + 4 * first as u64, 4 * (at - first));
                lines.push(format!("{kind} {place:x} {bytes:x}{}", text(&old[first..at])));
            }
        }
        lines.iter().for_each(|line| self.to.line(format_args!("{line}")));
    }
}

/// How many words at the beginning are as they were.
fn same(old: &[u32], now: &[AtomicU32]) -> usize {
    /// Compared together, since a branch for each word takes longer.
    const TOGETHER: usize = 64;
    let differ = |(old, now): (&u32, &AtomicU32)| old ^ now.load(Relaxed);
    let chunks = old.chunks_exact(TOGETHER).zip(now.chunks_exact(TOGETHER));
    let whole = chunks.take_while(|(old, now)| old.iter().zip(*now).fold(0, |all, w| all | differ(w)) == 0);
    let first = whole.count() * TOGETHER;
    first + old[first..].iter().zip(&now[first..]).take_while(|&w| differ(w) == 0).count()
}

/// Words as a record has them, each behind a space.
fn text(words: &[u32]) -> String {
    let mut out = String::new();
    for same in words.chunk_by(|a, b| a == b) {
        let _ = match same.len() {
            1 => write!(out, " {:x}", same[0]),
            n => write!(out, " {:x} *{n}", same[0]),
        };
    }
    out
}
