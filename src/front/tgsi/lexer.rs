//! Words, numbers and punctuation of TGSI text.
//!
//! Words are runs of letters, digits and `_`, so `2D_ARRAY` and `12` are words alike; the parser knows which it wants.
//! Skipped between tokens: white space, comments (`//`, `/* */`, `;` to the end of the line) and lines that begin
//! with `#`, which the C preprocessor leaves behind. The numbers of an immediate are read by [`Lexer::number`],
//! because only there can `.`, `-` and `+` be part of one.

use crate::diag::Span;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Word,
    /// One of `.,[](){}+-|:`
    Punct(u8),
    /// `..`
    Dots,
    /// A byte that no token begins with.
    Bad,
    End,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Token {
    pub kind: Kind,
    pub span: Span,
    /// It is the first of its line.
    pub first: bool,
}

pub struct Lexer<'s> {
    text: &'s str,
    pos: usize,
}

/// What a byte begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Letters, digits and `_`.
    Word,
    /// Blanks within a line.
    Blank,
    /// Line ends, and what may begin a comment.
    Separator,
    Punct,
    Other,
}

/// The class of every byte.
const CLASSES: [Class; 256] = {
    let mut classes = [Class::Other; 256];
    let mut b = 0;
    while b < 256 {
        classes[b] = match b as u8 {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' => Class::Word,
            b' ' | b'\t' | b'\r' | 0x0b | 0x0c => Class::Blank,
            b'\n' | b'#' | b';' | b'/' => Class::Separator,
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
    pub fn new(text: &'s str) -> Lexer<'s> {
        Lexer { text, pos: 0 }
    }

    /// Bytes of the text.
    pub fn len(&self) -> usize {
        self.text.len()
    }

    pub fn text(&self, span: Span) -> &'s str {
        &self.text[span.start as usize..span.end as usize]
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    /// Advances to the next `\n`, or the end.
    fn skip_line(&mut self) {
        let rest = &self.text.as_bytes()[self.pos..];
        self.pos += rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
    }

    /// Skips what separates tokens. Returns whether a line began meanwhile.
    #[inline(always)]
    fn skip(&mut self) -> bool {
        let first = self.pos == 0;
        // Mostly one blank, or nothing.
        self.pos += usize::from(self.byte(self.pos) == Some(b' '));
        match self.byte(self.pos).map(class) {
            Some(Class::Word | Class::Punct) => first,
            _ => first | self.skip_separators(),
        }
    }

    #[inline(never)]
    fn skip_separators(&mut self) -> bool {
        let mut first = self.pos == 0;
        while let Some(b) = self.byte(self.pos) {
            match class(b) {
                Class::Blank => {
                    self.pos += 1;
                    continue;
                }
                Class::Separator => {}
                _ => break,
            }
            match b {
                b'\n' => {
                    first = true;
                    self.pos += 1;
                }
                b'#' if first => self.skip_line(),
                b';' => self.skip_line(),
                b'/' if self.byte(self.pos + 1) == Some(b'/') => self.skip_line(),
                b'/' if self.byte(self.pos + 1) == Some(b'*') => {
                    let end =
                        self.text[self.pos + 2..].find("*/").map_or(self.text.len(), |n| self.pos + n + 4);
                    first |= self.text[self.pos..end].contains('\n');
                    self.pos = end;
                }
                _ => break,
            }
        }
        first
    }

    pub fn next(&mut self) -> Token {
        let first = self.skip();
        let start = self.pos;
        let Some(b) = self.byte(start) else {
            return Token { kind: Kind::End, span: Span::new(start, start), first };
        };
        let kind = match class(b) {
            Class::Word => {
                self.pos += 1;
                while self.byte(self.pos).is_some_and(is_word) {
                    self.pos += 1;
                }
                Kind::Word
            }
            Class::Punct if b == b'.' && self.byte(start + 1) == Some(b'.') => {
                self.pos += 2;
                Kind::Dots
            }
            Class::Punct => {
                self.pos += 1;
                Kind::Punct(b)
            }
            _ => {
                self.pos += self.text[start..].chars().next().map_or(1, char::len_utf8);
                Kind::Bad
            }
        };
        Token { kind, span: Span::new(start, self.pos), first }
    }

    /// Reads `[n]`, if it stands here without blanks and `n` is a decimal number of few digits.
    #[inline]
    pub fn bracketed(&mut self) -> Option<u32> {
        const DIGITS: usize = 5;
        let rest = self.text.as_bytes().get(self.pos..)?.strip_prefix(b"[")?;
        let mut n = 0;
        for (k, &b) in rest.iter().take(DIGITS + 1).enumerate() {
            match b {
                b'0'..=b'9' if k < DIGITS => n = 10 * n + u32::from(b - b'0'),
                b']' if k > 0 => {
                    self.pos += k + 2;
                    return Some(n);
                }
                _ => break,
            }
        }
        None
    }

    /// Reads `.` and the word after it, if both stand here without blanks.
    #[inline]
    pub fn dotted(&mut self) -> Option<&'s str> {
        let start = self.pos + 1;
        let mut end = start;
        if self.byte(self.pos) != Some(b'.') {
            return None;
        }
        while self.byte(end).is_some_and(is_word) {
            end += 1;
        }
        if end == start {
            return None;
        }
        self.pos = end;
        Some(&self.text[start..end])
    }

    /// Where the next token is looked for.
    pub fn pos(&self) -> usize {
        self.pos
    }

    /// Goes back to where [`Lexer::pos`] was.
    pub fn reset(&mut self, pos: usize) {
        self.pos = pos;
    }

    /// Reads a number that begins at or after `from`: everything up to `,`, `}`, white space or a foreign character.
    pub fn number(&mut self, from: u32) -> Span {
        self.pos = from as usize;
        self.skip();
        let start = self.pos;
        while self.byte(self.pos).is_some_and(|b| is_word(b) || b".+-#".contains(&b)) {
            self.pos += 1;
        }
        Span::new(start, self.pos)
    }
}
