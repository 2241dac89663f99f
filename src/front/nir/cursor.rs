//! The lexer: a position in a text, and the few things that NIR is made of.
//!
//! NIR's grammar is one of lines, so a newline is never skipped silently: [`Cursor::space`] passes over blanks
//! and comments up to the end of the line, [`Cursor::next_line`] goes to the next one. Every step is bounded by
//! the bytes it passes over.

use crate::diag::{Diagnostic, Span};

pub(super) type Result<T> = std::result::Result<T, Box<Diagnostic>>;

pub(super) struct Cursor<'s> {
    pub text: &'s str,
    pub pos: usize,
}

impl<'s> Cursor<'s> {
    pub(super) fn new(text: &'s str) -> Cursor<'s> {
        Cursor { text, pos: 0 }
    }

    pub(super) fn at_end(&self) -> bool {
        self.pos >= self.text.len()
    }

    /// The byte here; 0 at the end (a NUL in a text is no token either).
    pub(super) fn peek(&self) -> u8 {
        self.text.as_bytes().get(self.pos).copied().unwrap_or(0)
    }

    pub(super) fn peek_at(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.pos + ahead).copied().unwrap_or(0)
    }

    /// What is left.
    pub(super) fn rest(&self) -> &'s [u8] {
        &self.text.as_bytes()[self.pos.min(self.text.len())..]
    }

    /// What is left of the line.
    pub(super) fn rest_of_line(&self) -> &'s str {
        &self.text[self.pos..self.pos + line_len(self.rest())]
    }

    pub(super) fn at_line_end(&self) -> bool {
        self.at_end() || self.peek() == b'\n'
    }

    /// Passes over blanks and comments, not over the end of the line (though a `/*` comment may span lines).
    #[inline]
    pub(super) fn space(&mut self) {
        // Mostly there is a blank, or nothing to pass over.
        let mut next = self.peek();
        if next == b' ' {
            self.pos += 1;
            next = self.peek();
        }
        if matches!(next, b' ' | b'\t' | b'\r' | b'/') {
            self.long_space();
        }
    }

    #[cold]
    fn long_space(&mut self) {
        loop {
            match self.peek() {
                b' ' | b'\t' | b'\r' => self.pos += 1,
                b'/' if self.peek_at(1) == b'*' => self.block_comment(),
                b'/' if self.peek_at(1) == b'/' => self.skip_line(),
                _ => return,
            }
        }
    }

    fn block_comment(&mut self) {
        let body = &self.rest()[2..];
        self.pos += match body.windows(2).position(|w| w == b"*/") {
            Some(len) => len + 4,
            None => body.len() + 2,
        };
    }

    /// Goes to the end of the line.
    pub(super) fn skip_line(&mut self) {
        self.pos += line_len(self.rest());
    }

    /// Goes to the first line, from here on, that holds something else than blanks and comments.
    pub(super) fn next_line(&mut self) {
        loop {
            self.space();
            if self.peek() != b'\n' || self.at_end() {
                return;
            }
            self.pos += 1;
        }
    }

    /// Passes over `byte` if it comes next.
    #[inline]
    pub(super) fn eat(&mut self, byte: u8) -> bool {
        self.space();
        let hit = self.peek() == byte && !self.at_end();
        self.pos += usize::from(hit);
        hit
    }

    /// Passes over the word if it comes next.
    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        self.space();
        let hit = self.rest().starts_with(word.as_bytes())
            && !self.text.as_bytes().get(self.pos + word.len()).is_some_and(|&b| is_word(b));
        self.pos += if hit { word.len() } else { 0 };
        hit
    }

    #[inline]
    pub(super) fn expect(&mut self, byte: u8) -> Result<()> {
        if self.eat(byte) { Ok(()) } else { Err(self.expected(&format!("`{}`", byte as char))) }
    }

    /// Letters, digits and underscores; empty if there are none.
    pub(super) fn word(&mut self) -> &'s str {
        self.space();
        let rest = self.rest();
        let len = rest.iter().position(|&b| !is_word(b)).unwrap_or(rest.len());
        self.pos += len;
        &self.text[self.pos - len..self.pos]
    }

    pub(super) fn expect_word(&mut self, what: &str) -> Result<&'s str> {
        let word = self.word();
        if word.is_empty() { Err(self.expected(what)) } else { Ok(word) }
    }

    /// Up to (not including) the first of `stops` or the end of the line, trimmed.
    pub(super) fn until(&mut self, stops: &[u8]) -> &'s str {
        self.until_any(|b| stops.contains(&b))
    }

    /// The same with a test for the stops.
    #[inline]
    pub(super) fn until_any(&mut self, stops: impl Fn(u8) -> bool) -> &'s str {
        let rest = self.rest();
        let len = rest.iter().position(|&b| b == b'\n' || stops(b)).unwrap_or(rest.len());
        self.pos += len;
        self.text[self.pos - len..self.pos].trim_ascii()
    }

    /// A number without sign, decimal or after `0x` hexadecimal.
    pub(super) fn number(&mut self) -> Result<u64> {
        self.space();
        let (radix, skip) = if self.rest().starts_with(b"0x") { (16, 2) } else { (10, 0) };
        if radix == 10
            && let Some((n, len)) = short_number(self.rest())
        {
            self.pos += len;
            return Ok(n);
        }
        let digits = &self.rest()[skip..];
        let len = digits.iter().position(|b| !b.is_ascii_alphanumeric()).unwrap_or(digits.len());
        let start = self.pos + skip;
        match u64::from_str_radix(&self.text[start..start + len], radix) {
            Ok(n) => {
                self.pos = start + len;
                Ok(n)
            }
            Err(_) => Err(self.expected("a number")),
        }
    }

    pub(super) fn number32(&mut self) -> Result<u32> {
        self.space();
        let start = self.pos;
        let n = self.number()?;
        u32::try_from(n).map_err(|_| {
            Box::new(
                Diagnostic::error("a number is too large")
                    .at(Span::new(start, self.pos), "at most 32 bits here"),
            )
        })
    }

    pub(super) fn signed(&mut self) -> Result<i64> {
        self.space();
        let negative = self.peek() == b'-';
        self.pos += usize::from(negative || self.peek() == b'+');
        let n = self.number()? as i64;
        Ok(if negative { n.wrapping_neg() } else { n })
    }

    /// The span of what is next, for a message: a word, else one character.
    pub(super) fn here(&self) -> Span {
        let rest = &self.text[self.pos.min(self.text.len())..];
        let word = rest.bytes().position(|b| !is_word(b)).unwrap_or(rest.len());
        let len = if word > 0 { word } else { rest.chars().next().map_or(0, char::len_utf8) };
        Span::new(self.pos, self.pos + len)
    }

    #[cold]
    pub(super) fn expected(&mut self, what: &str) -> Box<Diagnostic> {
        self.space();
        let found = if self.at_end() {
            "the end of the text".to_string()
        } else if self.at_line_end() {
            "the end of the line".to_string()
        } else {
            let span = self.here();
            format!("`{}`", &self.text[span.start as usize..span.end as usize])
        };
        Box::new(
            Diagnostic::error(format!("expected {what}, found {found}"))
                .at(self.here(), format!("expected {what}")),
        )
    }
}

/// Has the first search ask what the processor can do: where it is virtual, that takes 50 us.
pub(super) fn prepare() {
    line_len(b"");
}

/// How much of a text is its first line.
fn line_len(text: &[u8]) -> usize {
    memchr::memchr(b'\n', text).unwrap_or(text.len())
}

/// A decimal number of up to 18 digits that a text begins with, and how many they are.
#[inline]
pub(super) fn digits(text: &[u8]) -> Option<(u64, usize)> {
    let (mut n, mut len) = (0u64, 0);
    for &b in text {
        let digit = b.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        n = n.wrapping_mul(10).wrapping_add(digit.into());
        len += 1;
    }
    (1..=18).contains(&len).then_some((n, len))
}

/// The same where no letter follows.
#[inline]
pub(super) fn short_number(text: &[u8]) -> Option<(u64, usize)> {
    digits(text).filter(|&(_, len)| !text.get(len).is_some_and(u8::is_ascii_alphabetic))
}

/// Letters, digits and the underscore.
static WORD: [bool; 256] = {
    let (mut table, mut b) = ([false; 256], 0);
    while b < 256 {
        table[b] = (b as u8).is_ascii_alphanumeric() || b == b'_' as usize;
        b += 1;
    }
    table
};

pub(super) fn is_word(b: u8) -> bool {
    WORD[usize::from(b)]
}
