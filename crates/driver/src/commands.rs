//! The stream of commands: packets of methods for the engines on a channel's subchannels.

use crate::memory::Shared;
use nvir_hw::Class;
use nvir_hw::push::{Header, kind};
use std::sync::Arc;

/// Words of one packet, at most.
const MAX_COUNT: usize = 2047;

/// Where an engine is bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Subchannel {
    /// Drawing.
    ThreeD = Class::ThreeD.subchannel() as isize,
    Compute = Class::Compute.subchannel() as isize,
    /// Uploads, and GF100's copies.
    Upload = Class::P2mf.subchannel() as isize,
    /// Kepler's copies.
    Copy = Class::Copy.subchannel() as isize,
}

/// A part of the stream.
#[derive(Debug)]
pub(crate) enum Part {
    Words(Vec<u32>),
    /// Words in somebody's memory: offset and bytes.
    Memory(Arc<Shared>, u64, u32),
}

/// Commands that are not submitted yet.
#[derive(Debug, Default)]
pub(crate) struct Commands {
    pub parts: Vec<Part>,
}

impl Commands {
    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Words of the parts that are ours.
    pub(crate) fn words(&self) -> usize {
        let words = |p: &Part| if let Part::Words(w) = p { w.len() } else { 0 };
        self.parts.iter().map(words).sum()
    }

    fn buffer(&mut self) -> &mut Vec<u32> {
        if !matches!(self.parts.last(), Some(Part::Words(_))) {
            self.parts.push(Part::Words(Vec::new()));
        }
        match self.parts.last_mut() {
            Some(Part::Words(words)) => words,
            _ => unreachable!("it was just made"),
        }
    }

    fn packet(&mut self, kind: u32, at: Subchannel, method: u32, count: usize, data: &[u32]) {
        let words = self.buffer();
        words.push(Header::packet(kind, at as u32, method, count as u32).into());
        words.extend_from_slice(data);
    }

    /// Words for a method and those that follow it; at most 2047.
    pub(crate) fn methods(&mut self, at: Subchannel, method: u32, data: &[u32]) {
        debug_assert!(data.len() <= MAX_COUNT);
        self.packet(kind::INCREASING, at, method, data.len(), data);
    }

    /// A 64-bit address for two methods: high word, low word.
    pub(crate) fn address(&mut self, at: Subchannel, method: u32, address: u64) {
        self.methods(at, method, &halves(address));
    }

    /// Any number of words for one method.
    pub(crate) fn data(&mut self, at: Subchannel, method: u32, data: &[u32]) {
        for part in data.chunks(MAX_COUNT) {
            self.packet(kind::SAME, at, method, part.len(), part);
        }
    }

    /// A word for a method, then data for the next one, in one packet: at most 2046 words.
    pub(crate) fn start_with_data(&mut self, at: Subchannel, method: u32, start: u32, data: &[u32]) {
        debug_assert!(data.len() < MAX_COUNT);
        self.packet(kind::INCREASING_ONCE, at, method, data.len() + 1, &[start]);
        self.buffer().extend_from_slice(data);
    }

    /// The same with the data in memory: offset and bytes.
    pub(crate) fn start_with_memory(
        &mut self,
        at: Subchannel,
        method: u32,
        start: u32,
        from: (Arc<Shared>, u64, u32),
    ) {
        let (memory, offset, bytes) = from;
        self.packet(kind::INCREASING_ONCE, at, method, bytes as usize / 4 + 1, &[start]);
        self.parts.push(Part::Memory(memory, offset, bytes));
    }
}

/// The high and the low word.
pub(crate) fn halves(x: u64) -> [u32; 2] {
    [(x >> 32) as u32, x as u32]
}

/// Bytes as words; the last one is filled with zeros.
pub(crate) fn words(bytes: &[u8]) -> Vec<u32> {
    let word = |b: &[u8]| b.iter().rev().fold(0, |w, &b| w << 8 | u32::from(b));
    bytes.chunks(4).map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nvir_hw::method::{m2mf, shader::CODE_ADDRESS_HIGH, upload::UPLOAD_EXEC};

    #[test]
    fn packets_have_the_headers_of_the_hardware() {
        let mut c = Commands::default();
        c.methods(Subchannel::Compute, CODE_ADDRESS_HIGH, &[1, 0x22_0000]);
        c.data(Subchannel::Upload, m2mf::DATA, &vec![7; 2050]);
        c.start_with_data(Subchannel::Compute, UPLOAD_EXEC, 0x41, &[9, 8]);
        let Part::Words(w) = &c.parts[0] else { panic!("words") };
        assert_eq!(w[..3], [0x2002_2582, 1, 0x22_0000]);
        assert_eq!(w[3], 0x67ff_40c1);
        assert_eq!(w[3 + 2048], 0x6003_40c1);
        assert_eq!(w[3 + 2048 + 4..], [0xa003_206c, 0x41, 9, 8]);
        assert_eq!(words(&[1, 2, 3, 4, 5]), [0x0403_0201, 5]);
    }
}
