//! Variables, their initial values, structures.

use super::super::ast::*;
use super::super::cursor::Result;
use super::super::locations;
use super::super::names::{Access, Interpolation, Mode, Named, Set};
use super::Parser;
use super::operand::component;
use crate::diag::Span;
use crate::format::Format;

/// Words before a variable's mode; that of a temporary is not written.
#[rustfmt::skip]
const QUALIFIERS: &[&str] = &[
    "bindless", "centroid", "sample", "patch", "invariant", "per_view", "per_primitive", "per_vertex", "ray_query",
    "fb_fetch_output",
];

/// Words for a variable's precision, which changes nothing here.
const PRECISIONS: [&str; 3] = ["highp", "mediump", "lowp"];

/// What the words for modes of interpolation begin with.
const INTERP_MODE: &str = "INTERP_MODE_";

/// Where a declaration puts a variable: its location, the first component there, and the numbers of
/// place and binding.
type Slot = (Option<u32>, u8, (u32, u32));

impl<'s> Parser<'s> {
    /// After `decl_var`: `[qualifiers] MODE INTERP_MODE_… [qualifiers] TYPE NAME [(location, …)] [= …]`. Variables
    /// whose mode is not written have `temporary`.
    pub(super) fn variable(&mut self, start: usize, temporary: Mode) -> Result<Variable<'s>> {
        let line = self.cur.rest_of_line();
        let line_at = self.cur.pos;
        let (head, init) = match find(line, b'=', " = ") {
            Some(at) => (&line[..at], Some(line[at + 3..].trim())),
            None => (line, None),
        };
        let head = head.trim_end();
        // A location's list is the last thing before the initialiser; names may hold parentheses of their own.
        let open = rfind(head, b'(', " (").filter(|&at| head[at..].contains(')'));
        let (words, place) = match open {
            Some(at) => (&head[..at], Some(&head[at + 2..])),
            None => (head, None),
        };
        // Assembly programs have variables without a name.
        let Some((rest, name)) = last_word(words) else {
            return Err(self.cur.expected("a variable's mode, type and name"));
        };
        let Some((qualifiers, ty)) = last_word(rest.trim_end()) else {
            self.cur.pos = line_at;
            return Err(self.cur.expected("a variable's mode, type and name"));
        };
        // The mode is the word before the interpolation mode.
        let found = find(qualifiers, b'I', INTERP_MODE);
        let (before, interpolation, after) = match found {
            Some(at) => {
                let after = &qualifiers[at + INTERP_MODE.len()..];
                let (word, rest) = cut(after, b' ');
                (&qualifiers[..at], self.named(word)?, rest)
            }
            None => (qualifiers, Interpolation::None, ""),
        };
        let mut io = Attribute { interpolation, ..Attribute::default() };
        let mut last = None;
        for word in before.split_ascii_whitespace() {
            io.patch |= word == "patch";
            io.sample |= word == "sample";
            io.centroid |= matches!(word, "centroid" | "sample");
            last = Some(word);
        }
        let mode = match last {
            Some(word) if !QUALIFIERS.contains(&word) => self.named(word)?,
            _ => temporary,
        };
        // Only those that something outside sets or reads have places; names of others may look so.
        let placed = matches!(
            mode,
            Mode::ShaderIn | Mode::ShaderOut | Mode::Uniform | Mode::Ubo | Mode::Ssbo | Mode::Image
        );
        let list = place.filter(|_| placed);
        let mut place = None;
        if let Some(list) = list {
            let (location, component, numbers) = self.place(list)?;
            io = Attribute { location, component, compact: list.trim_end().ends_with(") compact"), ..io };
            place = Some(numbers);
        }
        // Access qualifiers, an image's format, the precision.
        let (mut access, mut image_format) = (Access::default(), None);
        for word in after.split_ascii_whitespace() {
            match Access::of(word) {
                Some(qualifier) => access = access.with(qualifier),
                None if word == "none" || PRECISIONS.contains(&word) => {}
                None => {
                    let format = Format::from_gallium(word).map_err(|e| e.at(self.span_of(word)))?;
                    image_format = Some(format);
                }
            }
        }
        // Uniforms get their values from outside, and what inline samplers have there is none.
        let stored = matches!(mode, Mode::ShaderTemp | Mode::FunctionTemp | Mode::Shared | Mode::Constant);
        let init = match init {
            Some(text) if stored => Some(self.initialiser(text)?),
            _ => None,
        };
        self.cur.skip_line();
        Ok(Variable {
            mode,
            access,
            format: image_format,
            ty: self.types.named(ty),
            name,
            place,
            io,
            init,
            span: Span::new(start, line_at + line.trim_end().len()),
        })
    }

    /// `VARYING_SLOT_VAR0.zw, 1, 0)`: the location, its first component, and the numbers of place and binding.
    fn place(&mut self, list: &'s str) -> Result<Slot> {
        let (inside, _) = cut(list, b')');
        let (first, numbers) = cut(inside, b',');
        let (name, letters) = cut(first.trim_ascii(), b'.');
        let location = locations::number(name);
        // Those that have no location have -1, and later versions may have locations that nobody here knows.
        let word = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if !word && !matches!(name, "-1" | "~0") {
            return Err(self.unknown("location", name, || None));
        }
        let component = letters.bytes().next().map_or(Some(0), component);
        let Some(component) = component else { return Err(self.unknown("component", letters, || None)) };
        let (place, binding) = cut(numbers, b',');
        match place.trim_ascii().parse().ok().zip(binding.trim_ascii().parse().ok()) {
            Some(place) => Ok((location, component, place)),
            None => Err(self.unknown("place", inside, || None)),
        }
    }

    /// `null`, `&name`, or `{ { 0x00000001, 0x00000002 }, { true } }`: every element and member in braces of its own,
    /// columns of a matrix and components without.
    fn initialiser(&mut self, text: &'s str) -> Result<Init> {
        if text == "null" {
            return Ok(Init::Zero);
        }
        if text.starts_with('&') {
            return Ok(Init::Address);
        }
        let start = self.literals.len() as u32;
        for word in text.split(['{', '}', ',', ' ', '\t']).filter(|w| !w.is_empty()) {
            let value = literal(word).ok_or_else(|| self.unknown("value", word, || None))?;
            self.literals.push(value);
        }
        Ok(Init::Values(Range { start, len: self.literals.len() as u32 - start }))
    }

    /// After `struct`: `NAME {`, a line `TYPE FIELD;` a field, `}`.
    pub(super) fn structure(&mut self) -> Result<Struct<'s>> {
        self.cur.space();
        let name = self.cur.until(b"{");
        self.cur.expect(b'{')?;
        let mut fields = Vec::new();
        loop {
            self.cur.next_line();
            if self.cur.eat(b'}') {
                return Ok(Struct { name, fields });
            }
            let field = self.cur.until(b";");
            let Some((ty, name)) = field.rsplit_once(' ') else {
                return Err(self.cur.expected("a field (`TYPE NAME;`) or `}`"));
            };
            fields.push((self.types.named(ty), name));
            self.cur.expect(b';')?;
        }
    }
}

/// What is before and behind the first of a byte; all of the text and nothing where there is none.
fn cut(text: &str, byte: u8) -> (&str, &str) {
    debug_assert!(byte.is_ascii());
    memchr::memchr(byte, text.as_bytes()).map_or((text, ""), |at| (&text[..at], &text[at + 1..]))
}

/// What is before and behind the last blank.
fn last_word(text: &str) -> Option<(&str, &str)> {
    memchr::memrchr(b' ', text.as_bytes()).map(|at| (&text[..at], &text[at + 1..]))
}

/// Where a short word is for the first time, by a byte in it that is rare.
fn find(text: &str, rare: u8, word: &str) -> Option<usize> {
    memchr::memchr_iter(rare, text.as_bytes()).find_map(|at| word_around(text, at, rare, word))
}

/// The same for the last time.
fn rfind(text: &str, rare: u8, word: &str) -> Option<usize> {
    memchr::memrchr_iter(rare, text.as_bytes()).find_map(|at| word_around(text, at, rare, word))
}

fn word_around(text: &str, at: usize, rare: u8, word: &str) -> Option<usize> {
    let start = at.checked_sub(word.bytes().position(|b| b == rare)?)?;
    text.as_bytes()[start..].starts_with(word.as_bytes()).then_some(start)
}

/// `0x0000001f`, `true`, `-1.500000`, `inf`.
fn literal(word: &str) -> Option<Literal> {
    if let Some(hex) = word.strip_prefix("0x") {
        return u64::from_str_radix(hex, 16).ok().map(Literal::Bits);
    }
    match word {
        "true" => Some(Literal::Bits(1)),
        "false" => Some(Literal::Bits(0)),
        _ => word.parse().ok().map(Literal::Float),
    }
}
