//! Definitions and sources.

use super::super::ast::*;
use super::super::cursor::{Result, digits, short_number};
use super::Parser;
use super::header::valid;
use crate::diag::{Diagnostic, Span};

/// Where components cannot be chosen.
pub(in super::super) const WHOLE: &str =
    "only operands of arithmetic choose components: this needs a `mov` of them";

/// How deep registers may index registers (`r0[r1[…]]`): deeper than any printer goes.
const INDEX_DEPTH: u32 = 4;

impl<'s> Parser<'s> {
    /// `vec4 32` or `32x4` or `32`.
    pub(super) fn shape(&mut self) -> Result<Shape> {
        self.cur.space();
        let start = self.cur.pos;
        let word = self.cur.word();
        let shape = if let Some(comps) = word.strip_prefix("vec") {
            let bits = self.cur.number32().unwrap_or(0);
            Some(Shape { bits: u8::try_from(bits).unwrap_or(0), comps: comps.parse().unwrap_or(0) })
        } else {
            let (bits, comps) = word.split_once('x').unwrap_or((word, "1"));
            bits.parse().ok().zip(comps.parse().ok()).map(|(bits, comps)| Shape { bits, comps })
        };
        match shape {
            Some(shape) if valid(shape) => Ok(shape),
            Some(_) => Err(Box::new(Diagnostic::error("no such size in NIR").at(
                Span::new(start, self.cur.pos),
                "components have 1, 8, 16, 32 or 64 bits, vectors 1 to 5, 8 or 16 components",
            ))),
            None => {
                self.cur.pos = start;
                Err(self.cur.expected("an instruction"))
            }
        }
    }

    /// A number right after `prefix`.
    pub(super) fn prefixed(&mut self, prefix: &str, what: &str) -> Result<u32> {
        self.cur.space();
        let rest = self.cur.rest();
        if rest.starts_with(prefix.as_bytes()) && rest.get(prefix.len()).is_some_and(u8::is_ascii_digit) {
            self.cur.pos += prefix.len();
            self.cur.number32()
        } else {
            Err(self.cur.expected(what))
        }
    }

    /// Whether an SSA value comes next, and the length of its prefix.
    fn ssa_prefix(&self) -> Option<&'static str> {
        if self.cur.peek() == b'%' && self.cur.peek_at(1).is_ascii_digit() {
            Some("%")
        } else if self.cur.rest().starts_with(b"ssa_") {
            Some("ssa_")
        } else {
            None
        }
    }

    fn at_register(&self) -> bool {
        self.cur.peek() == b'r' && self.cur.peek_at(1).is_ascii_digit()
    }

    /// Whether a source without modifiers comes next.
    pub(super) fn at_source(&mut self) -> bool {
        self.cur.space();
        self.ssa_prefix().is_some() || self.at_register()
    }

    /// The destination before a `=`.
    pub(super) fn dest(&mut self, f: &mut Function<'s>) -> Result<Dest> {
        match self.plain_dest() {
            Some(def) => Ok(Dest::Ssa(def)),
            None => self.any_dest(f),
        }
    }

    /// `vec4 32 ssa_5` or `32x4 %5` with nothing else around it, as nearly all are; none: nothing is passed over.
    pub(super) fn plain_dest(&mut self) -> Option<Def> {
        let rest = self.cur.rest();
        let (first, mut len) = match rest.strip_prefix(b"vec") {
            Some(rest) => short_number(rest).map(|(n, len)| (n, 3 + len))?,
            None => digits(rest)?,
        };
        let vec = rest[0] == b'v';
        let second = match rest.get(len) {
            Some(b' ') if vec => {
                // Sizes are aligned to the right.
                len += 1 + usize::from(rest.get(len + 1) == Some(&b' '));
                Some(short_number(&rest[len..])?)
            }
            Some(b'x') if !vec => {
                len += 1;
                Some(short_number(&rest[len..])?)
            }
            _ => None,
        };
        len += second.map_or(0, |(_, len)| len);
        let second = second.map_or(1, |(n, _)| n);
        let (comps, bits) = if vec { (first, second) } else { (second, first) };
        let shape = Shape { bits: u8::try_from(bits).ok()?, comps: u8::try_from(comps).ok()? };
        let rest = rest.get(len..)?.strip_prefix(b" ")?;
        let value = rest.strip_prefix(b"ssa_").or_else(|| rest.strip_prefix(b"%"))?;
        let (index, value_len) = short_number(value)?;
        let index = u32::try_from(index).ok()?;
        let end = rest.len() - value.len() + value_len;
        if !valid(shape) || rest.get(end) != Some(&b' ') {
            return None;
        }
        self.cur.pos += len + 1 + end;
        Some(Def { index, shape })
    }

    fn any_dest(&mut self, f: &mut Function<'s>) -> Result<Dest> {
        while self.cur.eat_word("div") || self.cur.eat_word("con") {}
        if self.at_register() {
            let reg = self.reg_ref(f, 0)?;
            let mask = if self.cur.peek() == b'.' { self.mask()? } else { u16::MAX };
            return Ok(Dest::Reg(reg, mask));
        }
        let shape = self.shape()?;
        while self.cur.eat_word("div") || self.cur.eat_word("con") {}
        self.cur.space();
        let Some(prefix) = self.ssa_prefix() else {
            return Err(self.cur.expected("a value such as `ssa_5` or `%5`"));
        };
        let index = self.prefixed(prefix, "a value's number")?;
        // The newer printer may append the name of a variable.
        if self.cur.peek() == b'.' {
            self.cur.until(b" \t=");
        }
        Ok(Dest::Ssa(Def { index, shape }))
    }

    fn mask(&mut self) -> Result<u16> {
        let start = self.cur.pos;
        let letters = self.swizzle()?;
        let mut mask = 0;
        for i in 0..letters.len() {
            mask |= 1 << letters.get(i).unwrap_or(0);
        }
        if mask == 0 {
            self.cur.pos = start;
            return Err(self.cur.expected("components"));
        }
        Ok(mask)
    }

    /// After a `.`: letters of `xyzw` or of `a` to `p`.
    fn swizzle(&mut self) -> Result<Swizzle> {
        self.cur.pos += 1;
        let start = self.cur.pos;
        let letters = self.cur.word();
        let mut swizzle = Swizzle::EMPTY;
        for letter in letters.bytes() {
            match component(letter) {
                Some(c) if swizzle.len() < 16 => swizzle.push(c),
                _ => {
                    self.cur.pos = start;
                    return Err(self.cur.expected("at most 16 components of `xyzw` or `a` to `p`"));
                }
            }
        }
        if swizzle.is_empty() {
            return Err(self.cur.expected("components"));
        }
        Ok(swizzle)
    }

    /// `r3`, `r3[2]`, `r3[2 + ssa_7]`.
    fn reg_ref(&mut self, f: &mut Function<'s>, depth: u32) -> Result<RegRef> {
        let index = self.prefixed("r", "a register")?;
        let (mut base, mut indirect) = (0, None);
        if self.cur.peek() == b'[' {
            self.cur.pos += 1;
            base = self.cur.number32()?;
            if self.cur.eat(b'+') {
                if depth == INDEX_DEPTH {
                    return Err(self.cur.expected("an index that nests less"));
                }
                let src = self.plain_src(f, depth + 1)?;
                indirect = Some(SrcId(f.push_srcs(&[src]).start));
            }
            self.cur.expect(b']')?;
        }
        Ok(RegRef { index, base, indirect })
    }

    /// The number of `ssa_5` or `%5`; none: nothing is passed over.
    #[inline]
    fn plain_value(&mut self) -> Option<u32> {
        let (prefix, rest) = match self.cur.rest() {
            [b'%', rest @ ..] => (1, rest),
            [b's', b's', b'a', b'_', rest @ ..] => (4, rest),
            _ => return None,
        };
        let (n, len) = short_number(rest)?;
        let n = u32::try_from(n).ok()?;
        self.cur.pos += prefix + len;
        Some(n)
    }

    /// A value or register, with the constant that the newer printer repeats after it.
    fn plain_src(&mut self, f: &mut Function<'s>, depth: u32) -> Result<Src> {
        self.cur.space();
        let start = self.cur.pos;
        let place = if let Some(n) = self.plain_value() {
            Place::Ssa(n)
        } else if let Some(prefix) = self.ssa_prefix() {
            Place::Ssa(self.prefixed(prefix, "a value's number")?)
        } else if self.at_register() {
            Place::Reg(self.reg_ref(f, depth)?)
        } else {
            return Err(self.cur.expected("a value such as `ssa_5` or `%5`"));
        };
        let span = Span::new(start, self.cur.pos);
        self.repeated_constant();
        Ok(Src { place, neg: false, abs: false, swizzle: None, span })
    }

    /// ` (0x3, 0x4)`, ` (true)`, ` (1.000000)`, ` (-inf)` after a use; other parentheses are left alone.
    #[inline]
    fn repeated_constant(&mut self) {
        if self.cur.peek() == b' ' && self.cur.peek_at(1) == b'(' {
            self.constant_in_parentheses();
        }
    }

    fn constant_in_parentheses(&mut self) {
        let inside = &self.cur.rest()[2..];
        let number = inside.first().is_some_and(|b| b.is_ascii_digit() || matches!(b, b'-' | b'+'));
        let word =
            |w: &[u8]| inside.starts_with(w) && inside.get(w.len()).is_some_and(|b| matches!(b, b',' | b')'));
        if number || word(b"true") || word(b"false") || word(b"inf") || word(b"nan") {
            self.cur.until(b")");
            self.cur.eat(b')');
        }
    }

    /// A source without modifiers, as intrinsics and textures have. What follows a `.` is a variable's name, which may look
    /// like components: it is kept then, since somebody may mean them. The older form has no such names.
    pub(super) fn src(&mut self, f: &mut Function<'s>) -> Result<Src> {
        let mut src = self.plain_src(f, 0)?;
        if self.cur.peek() == b'.' {
            if self.cur.text.as_bytes()[src.span.start as usize] != b'%' {
                self.cur.until(b" \t\r,;)]{");
                let span = Span::new(src.span.start as usize, self.cur.pos);
                return Err(Box::new(Diagnostic::error(WHOLE).at(span, "")));
            }
            let name = &self.cur.until(b" \t\r,;)]{")[1..];
            let components: Option<Vec<_>> = name.bytes().map(component).collect();
            src.swizzle = components.filter(|c| c.len() <= 16).map(|c| {
                let mut swizzle = Swizzle::EMPTY;
                c.into_iter().for_each(|c| swizzle.push(c));
                swizzle
            });
            self.repeated_constant();
        }
        Ok(src)
    }

    /// `-abs(ssa_5.xy)`.
    pub(super) fn alu_src(&mut self, f: &mut Function<'s>) -> Result<Src> {
        self.cur.space();
        let start = self.cur.pos;
        let neg = self.cur.eat(b'-');
        let abs = self.cur.rest().starts_with(b"abs(");
        self.cur.pos += if abs { 4 } else { 0 };
        let mut src = self.plain_src(f, 0)?;
        if self.cur.peek() == b'.' {
            self.debug_name();
        }
        if self.cur.peek() == b'.' {
            src.swizzle = Some(self.swizzle()?);
        }
        if abs {
            self.cur.expect(b')')?;
        }
        Ok(Src { neg, abs, span: Span::new(start, self.cur.pos), ..src })
    }

    /// Passes over `.name` that the newer printer puts between a value and its components: what has letters
    /// other than components', or has components after it.
    fn debug_name(&mut self) {
        let rest = &self.cur.rest()[1..];
        let len = rest.iter().position(|&b| !super::super::cursor::is_word(b)).unwrap_or(rest.len());
        let name = &rest[..len];
        let components = len <= 16 && name.iter().all(|&b| component(b).is_some());
        if !name.is_empty() && (!components || rest.get(len) == Some(&b'.')) {
            self.cur.pos += 1 + len;
            self.repeated_constant();
        }
    }
}

/// Index of a component's letter.
pub(super) fn component(letter: u8) -> Option<u8> {
    match letter {
        b'x' => Some(0),
        b'y' => Some(1),
        b'z' => Some(2),
        b'w' => Some(3),
        b'a'..=b'p' => Some(letter - b'a'),
        _ => None,
    }
}
