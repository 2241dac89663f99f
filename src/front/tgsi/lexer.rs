//! Words, numbers and punctuation of TGSI text.
//!
//! Words are runs of letters, digits and `_`, so `2D_ARRAY` and `12` are words alike; the parser knows which it wants.
//! Skipped between tokens: white space, comments (`//`, `/* */`, `;` to the end of the line) and lines that begin
//! with `#`, which the C preprocessor leaves behind. The numbers of an immediate are read by [`Lexer::number`],
//! because only there can `.`, `-` and `+` be part of one.

use crate::diag::Span;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Word,
    /// One of `.,[](){}+-|:`
    Punct,
    /// `..`
    Dots,
    /// A byte that no token begins with.
    Bad,
    End,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Token {
    pub kind: Kind,
    pub span: Span,
    /// It is the first of its line.
    pub first: bool,
}

/// A place between two tokens. What follows it is not made into a token before somebody asks: the parser looks at its
/// first byte.
#[derive(Clone, Copy)]
pub(super) struct Lexer<'s> {
    text: &'s str,
    /// Where the next token begins, or the end of the text.
    pos: usize,
    /// Where the last token ended.
    end: usize,
}

/// What a byte begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Letters, digits and `_`.
    Word,
    Punct,
    /// White space, what begins a comment, foreign characters.
    Other,
}

/// The component that a letter names; [`NONE`] for any other byte.
const COMPONENTS: [u8; 256] = {
    let mut components = [NONE; 256];
    let letters = *b"xyzwXYZW";
    let mut n = 0;
    while n < letters.len() {
        components[letters[n] as usize] = n as u8 % 4;
        n += 1;
    }
    components
};

const NONE: u8 = 4;

/// The class of every byte.
const CLASSES: [Class; 256] = {
    let mut classes = [Class::Other; 256];
    let mut b = 0;
    while b < 256 {
        classes[b] = match b as u8 {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' => Class::Word,
            b'.' | b',' | b'[' | b']' | b'(' | b')' | b'{' | b'}' | b'+' | b'-' | b'|' | b':' => Class::Punct,
            _ => Class::Other,
        };
        b += 1;
    }
    classes
};

fn class(b: u8) -> Class {
    CLASSES[usize::from(b)]
}

fn is_word(b: u8) -> bool {
    class(b) == Class::Word
}

impl<'s> Lexer<'s> {
    pub(super) fn new(text: &'s str) -> Lexer<'s> {
        let mut lexer = Lexer { text, pos: 0, end: 0 };
        lexer.skip();
        lexer
    }

    /// Bytes of the text.
    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// Where the next token begins.
    pub(super) fn pos(&self) -> u32 {
        self.pos as u32
    }

    /// Where the last token ended; 0 before the first.
    pub(super) fn end(&self) -> u32 {
        self.end as u32
    }

    /// What lies from `start` to the end of the last token.
    pub(super) fn span_from(&self, start: u32) -> Span {
        Span { start, end: self.end() }
    }

    pub(super) fn text(&self, span: Span) -> &'s str {
        &self.text[span.start as usize..span.end as usize]
    }

    /// A byte of the text; 0, which begins no token, after its end.
    fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(0)
    }

    pub(super) fn at_end(&self) -> bool {
        self.pos == self.text.len()
    }

    /// Whether the next token is this punctuation.
    #[inline]
    pub(super) fn at(&self, punct: u8) -> bool {
        self.byte(self.pos) == punct && (punct != b'.' || self.byte(self.pos + 1) != b'.')
    }

    /// Whether the next token is `..`.
    pub(super) fn at_dots(&self) -> bool {
        self.byte(self.pos) == b'.' && !self.at(b'.')
    }

    pub(super) fn at_digit(&self) -> bool {
        self.byte(self.pos).is_ascii_digit()
    }

    /// Goes past this punctuation, if it is the next token.
    #[inline]
    pub(super) fn eat(&mut self, punct: u8) -> bool {
        let yes = self.at(punct);
        if yes {
            self.consume(1);
        }
        yes
    }

    /// The next token, if it is a word; else nothing.
    #[inline]
    pub(super) fn word(&self) -> &'s str {
        let rest = &self.text.as_bytes()[self.pos..];
        let len = rest.iter().position(|&b| !is_word(b)).unwrap_or(rest.len());
        &self.text[self.pos..self.pos + len]
    }

    /// Goes past the next token, which has so many bytes.
    #[inline]
    pub(super) fn consume(&mut self, bytes: usize) {
        self.end = self.pos + bytes;
        self.pos = self.end;
        self.skip();
    }

    /// Goes past the next token, whatever it is.
    pub(super) fn advance(&mut self) {
        self.consume(self.kind().1);
    }

    /// What the next token is, and its bytes.
    fn kind(&self) -> (Kind, usize) {
        match class(self.byte(self.pos)) {
            _ if self.at_end() => (Kind::End, 0),
            Class::Word => (Kind::Word, self.word().len()),
            Class::Punct if self.at_dots() => (Kind::Dots, 2),
            Class::Punct => (Kind::Punct, 1),
            _ => (Kind::Bad, self.text[self.pos..].chars().next().map_or(1, char::len_utf8)),
        }
    }

    /// The next token.
    pub(super) fn token(&self) -> Token {
        let (kind, len) = self.kind();
        let first = self.end == 0 || self.text[self.end..self.pos].contains('\n');
        Token { kind, span: Span::new(self.pos, self.pos + len), first }
    }

    /// Advances to the next `\n`, or the end.
    fn skip_line(&mut self) {
        let rest = &self.text.as_bytes()[self.pos..];
        self.pos += rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
    }

    /// Skips what separates tokens.
    #[inline(always)]
    fn skip(&mut self) {
        // Mostly one blank, or nothing.
        self.pos += usize::from(self.byte(self.pos) == b' ');
        if !matches!(class(self.byte(self.pos)), Class::Word | Class::Punct) {
            self.skip_separators();
        }
    }

    #[inline(never)]
    fn skip_separators(&mut self) {
        let mut first = self.pos == 0;
        loop {
            match self.byte(self.pos) {
                b'\n' => {
                    first = true;
                    self.pos += 1;
                }
                b' ' | b'\t' | b'\r' | 0x0b | 0x0c => self.pos += 1,
                b'#' if first => self.skip_line(),
                b';' => self.skip_line(),
                b'/' if self.byte(self.pos + 1) == b'/' => self.skip_line(),
                b'/' if self.byte(self.pos + 1) == b'*' => {
                    let end =
                        self.text[self.pos + 2..].find("*/").map_or(self.text.len(), |n| self.pos + n + 4);
                    first |= self.text[self.pos..end].contains('\n');
                    self.pos = end;
                }
                _ => break,
            }
        }
    }

    // Several tokens that follow each other without blanks are read as one: its parts by what follows, and
    // `finish` ends it.

    /// Goes past so many bytes.
    #[inline]
    pub(super) fn part(&mut self, bytes: usize) {
        self.pos += bytes;
    }

    #[inline]
    pub(super) fn finish(&mut self) {
        self.consume(0);
    }

    /// Reads a decimal number of few digits, if one stands here: a word of nothing else.
    #[inline]
    pub(super) fn digits(&mut self) -> Option<u32> {
        const MOST: usize = 5;
        let start = self.pos;
        let mut n = 0;
        while let digit @ 0..=9 = self.byte(self.pos).wrapping_sub(b'0') {
            n = 10 * n + u32::from(digit);
            self.pos += 1;
            if self.pos > start + MOST {
                break;
            }
        }
        let len = self.pos - start;
        if len == 0 || len > MOST || is_word(self.byte(self.pos)) {
            self.pos = start;
            return None;
        }
        Some(n)
    }

    /// Reads `[n]`, if it stands here without blanks and `n` is a decimal number of few digits.
    #[inline]
    pub(super) fn bracketed(&mut self) -> Option<u32> {
        if self.byte(self.pos) != b'[' {
            return None;
        }
        let start = self.pos;
        self.pos += 1;
        let n = self.digits();
        if n.is_none() || self.byte(self.pos) != b']' {
            self.pos = start;
            return None;
        }
        self.pos += 1;
        n
    }

    /// Reads components, if they stand here: a word of one to four letters. A list shorter than four repeats its last.
    #[inline]
    pub(super) fn components(&mut self) -> Option<[u8; 4]> {
        let mut list = [0, 1, 2, 3].map(|n| COMPONENTS[usize::from(self.byte(self.pos + n))]);
        if list[0] == NONE {
            return None;
        }
        // Mostly without branches: how many letters there are is hard to foretell.
        let mut len = 1;
        for n in 1..4 {
            let there = len == n && list[n] != NONE;
            list[n] = if there { list[n] } else { list[n - 1] };
            len += usize::from(there);
        }
        if is_word(self.byte(self.pos + len)) {
            return None;
        }
        self.pos += len;
        Some(list)
    }

    /// Goes past the number that stands here: everything up to `,`, `}`, white space or a foreign character. It may be
    /// empty.
    pub(super) fn number(&mut self) -> Span {
        let start = self.pos;
        let mut end = start;
        while is_word(self.byte(end)) || b".+-#".contains(&self.byte(end)) {
            end += 1;
        }
        self.consume(end - start);
        Span::new(start, end)
    }
}
