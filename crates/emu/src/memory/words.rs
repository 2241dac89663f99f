//! Where the words of a buffer lie.

use std::ops::Deref;
use std::sync::atomic::AtomicU32;

/// The words of a buffer, little-endian.
#[derive(Debug)]
pub enum Words {
    /// Words of its own.
    Owned(Vec<AtomicU32>),
    /// Memory that others see, too: a mapping that lives as long as the process.
    Static(&'static [AtomicU32]),
}

impl Words {
    /// `count` zero words.
    pub fn zeroed(count: usize) -> Words {
        // Pages that nobody touches cost nothing.
        Words::Owned(vec![0u32; count].into_iter().map(AtomicU32::new).collect())
    }
}

impl Deref for Words {
    type Target = [AtomicU32];

    #[inline]
    fn deref(&self) -> &[AtomicU32] {
        match self {
            Words::Owned(words) => words,
            Words::Static(words) => words,
        }
    }
}
