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
type Slot = (Option<u32>, u8, Option<(u32, u32)>);

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
        let Some((rest, name)) = words.rsplit_once(' ') else {
            return Err(self.cur.expected("a variable's mode, type and name"));
        };
        let Some((qualifiers, ty)) = rest.trim_end().rsplit_once(' ') else {
            self.cur.pos = line_at;
            return Err(self.cur.expected("a variable's mode, type and name"));
        };
        // The mode is the word before the interpolation mode.
        let found = find(qualifiers, b'I', INTERP_MODE);
        let (before, interpolation, after) = match found {
            Some(at) => {
                let after = &qualifiers[at + INTERP_MODE.len()..];
                let (word, rest) = after.split_once(' ').unwrap_or((after, ""));
                (&qualifiers[..at], self.named(word)?, rest)
            }
            None => (qualifiers, Interpolation::None, ""),
        };
        let has = |qualifier| before.split_whitespace().any(|w| w == qualifier);
        let mode = match before.split_whitespace().last() {
            Some(word) if !QUALIFIERS.contains(&word) => self.named(word)?,
            _ => temporary,
        };
        // Only those that something outside sets or reads have places; names of others may look so.
        let placed = matches!(
            mode,
            Mode::ShaderIn | Mode::ShaderOut | Mode::Uniform | Mode::Ubo | Mode::Ssbo | Mode::Image
        );
        let list = place.filter(|_| placed);
        let (location, component, place) = match list {
            Some(list) => self.place(list)?,
            None => (None, 0, None),
        };
        // Access qualifiers, an image's format, the precision.
        let (mut access, mut image_format) = (Access::default(), None);
        for word in after.split_whitespace() {
            match Access::of(word) {
                Some(qualifier) => access = access.with(qualifier),
                None if word == "none" || PRECISIONS.contains(&word) => {}
                None => {
                    let format = Format::from_gallium(word).map_err(|e| e.at(self.span_of(word)))?;
                    image_format = Some(format);
                }
            }
        }
        let io = Attribute {
            location,
            component,
            interpolation,
            patch: has("patch"),
            centroid: has("centroid") || has("sample"),
            sample: has("sample"),
            compact: list.is_some_and(|list| list.trim_end().ends_with(") compact")),
        };
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
        let inside = list.split(')').next().unwrap_or("");
        let mut parts = inside.split(',').map(str::trim);
        let (first, numbers) = (parts.next().unwrap_or(""), [parts.next(), parts.next()]);
        let (name, letters) = first.split_once('.').unwrap_or((first, ""));
        let location = locations::number(name);
        // Those that have no location have -1, and later versions may have locations that nobody here knows.
        let word = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if !word && !matches!(name, "-1" | "~0") {
            return Err(self.unknown("location", name, || None));
        }
        let component = letters.bytes().next().map_or(Some(0), component);
        let Some(component) = component else { return Err(self.unknown("component", letters, || None)) };
        let place = match numbers {
            [Some(place), Some(binding)] if parts.next().is_none() => {
                place.parse().ok().zip(binding.parse().ok())
            }
            _ => None,
        };
        match place {
            Some(_) => Ok((location, component, place)),
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
