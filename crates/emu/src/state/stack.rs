//! The divergence stack as data: entries that lie one behind the other, where an engine's code can push and pop, too.

use super::lanes::Mask;
use std::ops::{Deref, DerefMut};

/// What an entry of the divergence stack waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Wait {
    /// Its threads' turn, behind a divergent branch.
    Div,
    /// `.S`.
    Ssy,
    /// BRK.
    Pbk,
    /// CONT.
    Pcnt,
    /// RET.
    Ret,
    /// LONGJMP.
    Jmp,
}

/// One entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Entry {
    /// What it waits for.
    pub wait: Wait,
    /// The threads that it is for.
    pub mask: Mask,
    /// Where they go on.
    pub pc: u32,
    /// Threads that wait here.
    pub waiting: Mask,
}

impl Entry {
    const NONE: Entry = Entry { wait: Wait::Div, mask: 0, pc: 0, waiting: 0 };
}

/// The entries; the last is the top.
#[derive(Clone, Debug, Default)]
pub struct Stack {
    /// As many as there is room for.
    pub(crate) room: Vec<Entry>,
    /// How many of them there are.
    pub(crate) len: u32,
}

impl Stack {
    /// Puts an entry on top.
    #[inline]
    pub fn push(&mut self, entry: Entry) {
        const LEAST: usize = 16;
        let at = self.len as usize;
        if at == self.room.len() {
            self.room.resize((2 * at).max(LEAST), Entry::NONE);
        }
        self.room[at] = entry;
        self.len += 1;
    }

    /// Takes the top entry.
    #[inline]
    pub fn pop(&mut self) -> Option<Entry> {
        let top = self.last().copied();
        self.len = self.len.saturating_sub(1);
        top
    }

    /// Leaves so many entries, if there are more.
    pub fn truncate(&mut self, depth: usize) {
        self.len = self.len.min(depth as u32);
    }

    /// Leaves no entry.
    pub fn clear(&mut self) {
        self.len = 0;
    }
}

impl Deref for Stack {
    type Target = [Entry];

    fn deref(&self) -> &[Entry] {
        &self.room[..self.len as usize]
    }
}

impl DerefMut for Stack {
    fn deref_mut(&mut self) -> &mut [Entry] {
        &mut self.room[..self.len as usize]
    }
}

impl PartialEq for Stack {
    fn eq(&self, other: &Stack) -> bool {
        **self == **other
    }
}
