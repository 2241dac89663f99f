//! Packets of a push buffer: a header, then words for methods. Source: Mesa `nvc0_winsys.h`.

use bitfield_struct::bitfield;

/// A packet's header.
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct Header {
    /// The first method's address / 4.
    #[bits(13)]
    pub word: u32,
    /// The subchannel.
    #[bits(3)]
    pub subchannel: u32,
    /// Words that follow; of [`kind::IMMEDIATE`] the data itself.
    #[bits(13)]
    pub count: u32,
    /// Which methods get the words: [`kind`].
    #[bits(3)]
    pub kind: u32,
}

/// Which methods get the words.
pub mod kind {
    /// Each the next.
    pub const INCREASING: u32 = 1;
    /// All the same.
    pub const SAME: u32 = 3;
    /// There are no words: the count is the data.
    pub const IMMEDIATE: u32 = 4;
    /// The first word one method, the others the next.
    pub const INCREASING_ONCE: u32 = 5;
}

impl Header {
    /// That of a packet for a method's address.
    pub const fn packet(kind: u32, subchannel: u32, method: u32, count: u32) -> Header {
        Header::new().with_kind(kind).with_subchannel(subchannel).with_word(method / 4).with_count(count)
    }

    /// The first method's address.
    pub const fn method(self) -> u32 {
        self.word() * 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_the_hardwares() {
        let header = Header::packet(kind::INCREASING_ONCE, 3, 0x238c, 2);
        assert_eq!(header.into_bits(), 5 << 29 | 2 << 16 | 3 << 13 | (0x238c / 4));
        assert_eq!(Header::from_bits(0x2002_2582).method(), 0x1608);
    }
}
