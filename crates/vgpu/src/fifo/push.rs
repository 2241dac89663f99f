//! Push buffers: a stream of packets, which may lie in several ranges and continue from one to the next.
//!
//! A packet begins with a [`Header`].

use nvir_hw::push::{Header, kind};

/// How the method address goes on from word to word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// To the next method.
    Next,
    /// It stays.
    Same,
}

/// Words for one subchannel: a packet, or the part of one that lies in a range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Run<'a> {
    pub subchannel: usize,
    /// Byte address of the first word's method.
    pub method: u32,
    pub step: Step,
    data: Data<'a>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Data<'a> {
    Stream(&'a [u32]),
    /// From the header itself.
    Immediate([u32; 1]),
}

impl Run<'_> {
    pub(super) fn words(&self) -> &[u32] {
        match &self.data {
            Data::Stream(words) => words,
            Data::Immediate(word) => word,
        }
    }
}

/// The packet that a stream is in.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Parser {
    subchannel: usize,
    method: u32,
    /// Words that are still to come.
    left: u32,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Kind {
    #[default]
    Next,
    Same,
    /// The first word to one method, all others to the one behind it.
    Once,
}

impl Parser {
    /// Takes the next run from the front of `words`. `None`: there are no more words.
    pub(super) fn next<'a>(&mut self, words: &mut &'a [u32]) -> Result<Option<Run<'a>>, String> {
        while self.left == 0 {
            let Some((&first, rest)) = words.split_first() else { return Ok(None) };
            *words = rest;
            let header = Header::from_bits(first);
            let (count, subchannel, method) = (header.count(), header.subchannel() as usize, header.method());
            let kind = match header.kind() {
                _ if first == 0 => continue,
                kind::INCREASING => Kind::Next,
                kind::SAME => Kind::Same,
                kind::IMMEDIATE => {
                    let data = Data::Immediate([count]);
                    return Ok(Some(Run { subchannel, method, step: Step::Next, data }));
                }
                kind::INCREASING_ONCE => Kind::Once,
                _ => return Err(format!("{first:#010x} is not a packet header")),
            };
            *self = Parser { subchannel, method, left: count, kind };
        }
        if words.is_empty() {
            return Ok(None);
        }
        let count = if self.kind == Kind::Once { 1 } else { words.len().min(self.left as usize) };
        let (data, rest) = words.split_at(count);
        *words = rest;
        self.left -= count as u32;
        let step = if self.kind == Kind::Same { Step::Same } else { Step::Next };
        let run = Run { subchannel: self.subchannel, method: self.method, step, data: Data::Stream(data) };
        match self.kind {
            Kind::Next => self.method += 4 * count as u32,
            Kind::Same => {}
            Kind::Once => {
                self.method += 4;
                self.kind = Kind::Same;
            }
        }
        Ok(Some(run))
    }

    /// Words that the packet still wants.
    pub(super) fn missing(&self) -> u32 {
        self.left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every word with its subchannel and method.
    fn methods(ranges: &[&[u32]]) -> Result<Vec<(usize, u32, u32)>, String> {
        let mut parser = Parser::default();
        let mut out = Vec::new();
        for range in ranges {
            let mut words = *range;
            while let Some(run) = parser.next(&mut words)? {
                for (i, &word) in run.words().iter().enumerate() {
                    let method = run.method + if run.step == Step::Next { 4 * i as u32 } else { 0 };
                    out.push((run.subchannel, method, word));
                }
            }
        }
        match parser.missing() {
            0 => Ok(out),
            n => Err(format!("{n} missing")),
        }
    }

    #[test]
    fn packets_of_every_kind() {
        let stream =
            [0x2003_2100, 1, 2, 3, 0, 0x6002_4001, 4, 5, 0xa003_6002, 6, 7, 8, 0x9fff_8003, 0x2000_0000, 0];
        let want = [
            (1, 0x400, 1),
            (1, 0x404, 2),
            (1, 0x408, 3),
            (2, 4, 4),
            (2, 4, 5),
            (3, 8, 6),
            (3, 12, 7),
            (3, 12, 8),
            (4, 12, 0x1fff),
        ];
        assert_eq!(methods(&[&stream]).unwrap(), want);
        // Wherever the stream is cut.
        for cut in 0..stream.len() {
            assert_eq!(methods(&[&stream[..cut], &[], &stream[cut..]]).unwrap(), want);
        }
    }

    #[test]
    fn what_is_no_packet() {
        assert_eq!(methods(&[&[0x4001_0000]]).unwrap_err(), "0x40010000 is not a packet header");
        assert_eq!(methods(&[&[1]]).unwrap_err(), "0x00000001 is not a packet header");
        assert_eq!(methods(&[&[0x2003_2100, 1]]).unwrap_err(), "2 missing");
        assert_eq!(methods(&[&[0x2001_0000]]).unwrap_err(), "1 missing");
    }
}
