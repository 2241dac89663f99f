//! Words out of fixed lists, and what is said of those that are not in them.

use super::super::cursor::Result;
use super::super::names::{Named, Set, nearest};
use super::Parser;
use crate::diag::{Diagnostic, Span};

impl<'s> Parser<'s> {
    /// Where a part of the text stands.
    pub(super) fn span_of(&self, part: &'s str) -> Span {
        let start = (part.as_ptr() as usize).saturating_sub(self.cur.text.as_ptr() as usize);
        Span::new(start, start + part.len())
    }

    /// What a word means.
    pub(super) fn named<T: Named>(&mut self, word: &'s str) -> Result<T> {
        T::of(word).ok_or_else(|| self.unknown(T::WHAT, word, || nearest::<T>(word)))
    }

    /// What words with `|` between them mean together.
    pub(super) fn set<T: Set>(&mut self, words: &'s str) -> Result<T> {
        words.split('|').try_fold(T::default(), |set, word| Ok(set.with(self.named(word)?)))
    }

    /// The word that has no meaning, and what was probably meant.
    #[cold]
    pub(super) fn unknown(
        &self,
        what: &str,
        word: &'s str,
        nearest: impl FnOnce() -> Option<&'static str>,
    ) -> Box<Diagnostic> {
        let d = Diagnostic::error(format!("unknown {what} `{word}`")).at(self.span_of(word), "");
        // Nobody reads the suggestions of a thousand errors.
        Box::new(d.did_you_mean(if self.diags.is_full() { None } else { nearest() }))
    }
}
