//! Texture instructions.

use super::super::ast::*;
use super::super::cursor::Result;
use super::super::names::{Named, TexOpcode, TexRole, ValueType};
use super::Parser;
use crate::diag::Span;
use crate::ir::Dim;
use arrayvec::ArrayVec;

type Sources = ArrayVec<(TexRole, Src), 32>;

impl<'s> Parser<'s> {
    /// After `=`: `(float32)txl ssa_1 (coord), ssa_2 (lod), 0 (texture), 0 (sampler)`.
    pub(super) fn tex(&mut self, f: &mut Function<'s>, dest: Dest) -> Result<Node<'s>> {
        self.cur.expect(b'(')?;
        let ty_at = self.cur.pos;
        let Some(ty) = ValueType::of(self.cur.word()) else {
            self.cur.pos = ty_at;
            return Err(self.cur.expected("a type such as `float32`"));
        };
        self.cur.expect(b')')?;
        let name = self.cur.expect_word("a texture operation")?;
        if name == "tex" && self.cur.peek_at(1) == b'(' {
            self.cur.until(b")");
            self.cur.expect(b')')?;
        }
        let op = TexOpcode::of(name);
        let mut tex = Tex {
            op: op.unwrap_or(TexOpcode::Tex),
            ty,
            dest,
            srcs: Range::default(),
            texture: 0,
            sampler: 0,
            component: 0,
            offsets: None,
            dim: None,
        };
        let mut srcs = Sources::new();
        let mut strange = None;
        // The printer sets the numbers apart from the sources even where there are none.
        self.cur.eat(b',');
        loop {
            let word = self.tex_operand(f, &mut tex, &mut srcs)?;
            strange = strange.or(word);
            if !self.cur.eat(b',') {
                break;
            }
        }
        let mut unknown = |kind, name, span| {
            Ok(Node::Unknown(f.push_unknown(Unknown { kind, name, dest: Some(dest), span })))
        };
        match (op, strange) {
            // Whatever it is asked about has one answer.
            (Some(TexOpcode::SamplesIdentical), _) | (Some(_), None) => {}
            (_, Some((name, span))) => return unknown(UnknownKind::TexRole, name, span),
            (None, None) => return unknown(UnknownKind::TexOpcode, name, self.span_of(name)),
        }
        tex.srcs = f.push_tex_srcs(&srcs);
        Ok(Node::Tex(f.push_tex(tex)))
    }

    /// One of `ssa_1 (coord)`, `0 (texture)`, `{ (0, 1), … } (offsets)`, and words such as `2D`. Gives back the name of
    /// what has no meaning here.
    fn tex_operand(
        &mut self,
        f: &mut Function<'s>,
        tex: &mut Tex,
        srcs: &mut Sources,
    ) -> Result<Option<(&'s str, Span)>> {
        self.cur.space();
        let start = self.cur.pos;
        if self.at_source() {
            let src = self.src(f)?;
            let role = self.tex_role()?;
            return match TexRole::of(role) {
                Some(_) if srcs.is_full() => Err(self.cur.expected("fewer operands")),
                Some(known) => {
                    srcs.push((known, src));
                    Ok(None)
                }
                None => Ok(Some((role, Span::new(start, self.cur.pos)))),
            };
        }
        if self.cur.peek() == b'{' {
            tex.offsets = Some(self.tex_offsets()?);
            self.tex_role()?;
            return Ok(None);
        }
        // A number has a role after it; a bare word, such as the dimension `2D`, has none.
        let word = self.cur.until(b",(");
        let role = self.cur.peek() == b'(';
        match word.parse::<i64>() {
            Ok(n) if role => self.tex_number(tex, n, word)?,
            _ if !word.is_empty() && !role => {
                // `until` runs on into a comment; what a flag is called ends before it.
                let flag = word.split(" /").next().unwrap_or(word).trim();
                if flag == "sparse" {
                    return Ok(Some((flag, self.span_of(flag))));
                }
                tex.dim = tex.dim.or(Dim::of(flag));
            }
            _ => {
                self.cur.pos = start;
                return Err(self.cur.expected("an operand such as `ssa_1 (coord)`"));
            }
        }
        Ok(None)
    }

    /// `(coord)`
    fn tex_role(&mut self) -> Result<&'s str> {
        self.cur.expect(b'(')?;
        let role = self.cur.expect_word("an operand's kind such as `coord`")?;
        self.cur.expect(b')')?;
        Ok(role)
    }

    fn tex_number(&mut self, tex: &mut Tex, n: i64, word: &'s str) -> Result<()> {
        let ok = match self.tex_role()? {
            "texture" => u16::try_from(n).map(|n| tex.texture = n).is_ok(),
            "sampler" => u16::try_from(n).map(|n| tex.sampler = n).is_ok(),
            "gather_component" => {
                tex.component = n as u8 & 3;
                (0..4).contains(&n)
            }
            _ => true,
        };
        if ok {
            Ok(())
        } else {
            Err(self.unknown("number of a texture, sampler or component", word, || None))
        }
    }

    /// `{ (0, -1), (2, 3), (4, 5), (-8, 7) }`
    fn tex_offsets(&mut self) -> Result<[(i8, i8); 4]> {
        self.cur.expect(b'{')?;
        let mut pairs = [(0, 0); 4];
        for (i, pair) in pairs.iter_mut().enumerate() {
            if i > 0 {
                self.cur.expect(b',')?;
            }
            self.cur.expect(b'(')?;
            let x = self.tex_offset()?;
            self.cur.expect(b',')?;
            *pair = (x, self.tex_offset()?);
            self.cur.expect(b')')?;
        }
        self.cur.expect(b'}')?;
        Ok(pairs)
    }

    fn tex_offset(&mut self) -> Result<i8> {
        self.cur.space();
        let start = self.cur.pos;
        let n = self.cur.signed()?;
        i8::try_from(n).map_err(|_| {
            self.cur.pos = start;
            self.cur.expected("an offset from -128 to 127")
        })
    }
}
