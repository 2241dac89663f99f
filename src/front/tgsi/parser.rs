//! TGSI text to syntax tree.
//!
//! The grammar is a list of statements (declarations, immediates, properties, instructions) without separators: a
//! statement ends where its operands do, and `BGNSUB UMUL TEMP[0], ...` on one line are two. After an error the
//! parser goes on with the next line, so that several errors are reported at once.

use arrayvec::ArrayVec;
use std::borrow::Cow;

use super::ast::*;
use super::duplicates;
use super::flow;
use super::lexer::{Kind, Lexer, Token};
use crate::diag::{Diagnostic, Diagnostics, Span, closest};
use crate::format::Format;

/// Parses a program; on failure everything that is wrong with it, up to a limit.
///
/// Guaranteed of the result: nesting and labels match ([`Program::partner`]), and each instruction has the operands
/// that its opcode takes.
pub fn parse(text: &str) -> Result<Program, Diagnostics> {
    let mut p =
        Parser { lexer: Lexer::new(text), program: Program::default(), diags: Diagnostics::default() };
    p.program();
    if p.diags.has_errors() { Err(p.diags) } else { Ok(p.program) }
}

/// Registers are numbered in 16 bits with sign.
const MAX_INDEX: u32 = i16::MAX as u32;

/// The names that `compute.c` of 2011 defines for the preprocessor.
const RES_MACROS: &[(&str, i16)] =
    &[("RGLOBAL", 32767), ("RLOCAL", 32766), ("RPRIVATE", 32765), ("RINPUT", 32764)];

/// What a failed rule returns: the diagnostic, not yet reported.
type Failed = Box<Diagnostic>;
type Parsed<T> = Result<T, Failed>;

struct Parser<'s> {
    lexer: Lexer<'s>,
    program: Program,
    diags: Diagnostics,
}

impl<'s> Parser<'s> {
    // Tokens.

    #[inline]
    fn expect(&mut self, punct: u8) -> Parsed<()> {
        if self.lexer.eat(punct) { Ok(()) } else { Err(self.missing(punct)) }
    }

    #[cold]
    fn missing(&self, punct: u8) -> Failed {
        self.unexpected(&format!("`{}`", punct as char))
    }

    /// "expected X, found Y" at the current token.
    #[cold]
    fn unexpected(&self, wanted: &str) -> Failed {
        let token = self.lexer.token();
        // What is missing at the end of a line is missed there, not where the next line begins.
        let missing = token.first && self.lexer.end() > 0;
        let span = if missing { self.lexer.span_from(self.lexer.end()) } else { token.span };
        self.unexpected_token(token, span, wanted)
    }

    fn unexpected_token(&self, token: Token, span: Span, wanted: &str) -> Failed {
        let found = match token.kind {
            Kind::End => "the end of the text".to_owned(),
            _ => format!("`{}`", shorten(self.lexer.text(token.span)).escape_debug()),
        };
        Box::new(
            Diagnostic::error(format!("expected {wanted}, found {found}"))
                .at(span, format!("expected {wanted}")),
        )
    }

    /// The current word in upper case.
    fn word(&self) -> Option<Cow<'s, str>> {
        let word = self.lexer.word();
        (!word.is_empty()).then(|| upper_case(word))
    }

    /// A word that one of the lists in [`names`](super::names) knows.
    fn name<T>(&mut self, what: &str, parse: fn(&str) -> Option<T>, all: &[&str]) -> Parsed<T> {
        let word = self.lexer.word();
        match parse(word).or_else(|| parse(&upper_case(word))) {
            Some(v) => {
                self.lexer.consume(word.len());
                Ok(v)
            }
            None => Err(self.no_name(what, word, all)),
        }
    }

    /// Why the current token is none of the names.
    #[cold]
    fn no_name(&self, what: &str, word: &str, all: &[&str]) -> Failed {
        if word.is_empty() || self.lexer.token().first && self.lexer.end() > 0 {
            return self.unexpected(what);
        }
        self.unknown(what, &upper_case(word), all)
    }

    /// The current word, which is written `word` in upper case, is none of the names.
    #[cold]
    fn unknown(&self, what: &str, word: &str, all: &[&str]) -> Failed {
        let d = Diagnostic::error(format!("`{}` is not {what}", shorten(self.lexer.word())))
            .at(self.lexer.token().span, format!("expected {what}"));
        Box::new(d.did_you_mean(closest(word, all)))
    }

    #[inline]
    fn uint(&mut self, what: &str) -> Parsed<u32> {
        match self.lexer.digits() {
            Some(v) => {
                self.lexer.finish();
                Ok(v)
            }
            None => self.long_uint(what),
        }
    }

    #[inline(never)]
    fn long_uint(&mut self, what: &str) -> Parsed<u32> {
        let word = self.lexer.word();
        match parse_uint(&upper_case(word)) {
            Some(v) if v <= u64::from(u32::MAX) => {
                self.lexer.consume(word.len());
                Ok(v as u32)
            }
            _ => Err(self.unexpected(what)),
        }
    }

    fn register_index(&mut self) -> Parsed<u16> {
        let start = self.lexer.pos();
        let v = self.uint("a register number")?;
        if v > MAX_INDEX {
            let d = Diagnostic::error(format!("register number {v} is too large"))
                .at(self.lexer.span_from(start), format!("expected at most {MAX_INDEX}"));
            return Err(Box::new(d));
        }
        Ok(v as u16)
    }

    // Statements.

    fn program(&mut self) {
        self.program.make_room(self.lexer.len());
        let start = self.lexer.pos();
        match self.name(
            "a program kind (COMP, VERT, FRAG, GEOM, TESS_CTRL or TESS_EVAL)",
            Stage::parse,
            Stage::NAMES,
        ) {
            Ok(stage) => {
                self.program.stage = stage;
                self.program.stage_span = self.lexer.span_from(start);
            }
            Err(d) => {
                self.diags.push(*d);
                self.recover(0);
            }
        }
        while !self.lexer.at_end() {
            let start = self.lexer.pos();
            if let Err(d) = self.statement() {
                self.diags.push(*d);
                if self.diags.list.len() >= Diagnostics::LIMIT {
                    return;
                }
                self.recover(start);
            }
        }
        if self.diags.has_errors() {
            // Labels and nesting mean nothing when instructions are missing.
            return;
        }
        if self.program.code.is_empty() {
            let end = self.lexer.span_from(self.lexer.end());
            self.diags.push(
                Diagnostic::error("the program has no instructions").at(end, "expected an instruction"),
            );
        }
        duplicates::check(&self.program, &mut self.diags);
        self.program.partner = flow::resolve(&self.program.code, &mut self.diags);
    }

    /// Skips to the first line that begins after `start`, where the failed statement began.
    fn recover(&mut self, start: u32) {
        loop {
            let token = self.lexer.token();
            if token.kind == Kind::End || token.first && token.span.start > start {
                return;
            }
            self.lexer.advance();
        }
    }

    fn statement(&mut self) -> Parsed<()> {
        let start = self.lexer.pos();
        let mut wanted = "an instruction, DCL, IMM or PROPERTY";
        if self.lexer.at_digit() {
            self.uint("an instruction number")?;
            self.expect(b':')?;
            wanted = "an instruction";
        }
        let word = self.lexer.word();
        if word.is_empty() {
            let token = self.lexer.token();
            // Nothing is missing where the statement before ended.
            let number = self.lexer.end() > start;
            return Err(match number {
                true => self.unexpected(wanted),
                false => self.unexpected_token(token, token.span, wanted),
            });
        }
        match Keyword::parse(word).or_else(|| Keyword::parse(&upper_case(word))) {
            Some(Keyword::Dcl) => self.declaration(),
            Some(Keyword::Imm) => self.immediate(),
            Some(Keyword::Property) => self.property(),
            Some(Keyword::Instruction(mnemonic)) => self.instruction(word.len(), mnemonic),
            None => {
                let names: Vec<&str> = Opcode::ALL.iter().map(|o| o.name()).chain(["DCL", "IMM"]).collect();
                Err(self.unknown("an instruction", &upper_case(word), &names))
            }
        }
    }

    fn property(&mut self) -> Parsed<()> {
        let start = self.lexer.pos();
        self.lexer.consume("PROPERTY".len());
        let p = self.name("a property", Property::parse, Property::NAMES)?;
        let words = p.words();
        let value = if words.is_empty() || self.lexer.at_digit() {
            self.uint("a number")?
        } else {
            let Some(word) = self.word() else { return Err(self.unexpected("a word")) };
            match words.iter().position(|&w| w == word) {
                Some(i) => {
                    self.lexer.consume(word.len());
                    i as u32
                }
                None => return Err(self.unknown("a value of this property", &word, words)),
            }
        };
        self.program.props.push((p, value, self.lexer.span_from(start)));
        Ok(())
    }

    fn immediate(&mut self) -> Parsed<()> {
        let start = self.lexer.pos();
        self.lexer.consume("IMM".len());
        if self.lexer.eat(b'[') {
            let from = self.lexer.pos();
            let n = self.uint("the number of the immediate")?;
            let count = self.program.imms.len();
            if n as usize != count {
                let d = Diagnostic::error("immediates are not in order")
                    .at(self.lexer.span_from(from), format!("expected {count}"));
                return Err(Box::new(d));
            }
            self.expect(b']')?;
        }
        let ty = self.name("an immediate type", ImmType::parse, ImmType::NAMES)?;
        self.expect(b'{')?;
        let mut words = [0; 4];
        let mut i = 0;
        let wide = matches!(ty, ImmType::Flt64 | ImmType::Int64 | ImmType::Uint64);
        loop {
            let span = self.lexer.number();
            let Some(bits) = parse_number(self.lexer.text(span), ty) else {
                return Err(self.no_number(span, ty));
            };
            words[i] = bits as u32;
            i += 1;
            if wide {
                words[i] = (bits >> 32) as u32;
                i += 1;
            }
            if i == 4 || self.lexer.at(b'}') {
                break;
            }
            if !self.lexer.eat(b',') {
                return Err(self.unexpected("`,` or `}`"));
            }
        }
        self.expect(b'}')?;
        self.program.imms.push(Imm { ty, words, span: self.lexer.span_from(start) });
        Ok(())
    }

    /// What stands at `span` is no number of this type; where nothing stands, what follows it.
    #[cold]
    fn no_number(&mut self, span: Span, ty: ImmType) -> Failed {
        let mut token = Token { kind: Kind::Word, span, first: false };
        if span.start == span.end {
            token = self.lexer.token();
            self.lexer.advance();
        }
        self.unexpected_token(token, token.span, &format!("a number of type {}", ty.name()))
    }

    // Declarations.

    fn declaration(&mut self) -> Parsed<()> {
        let start = self.lexer.pos();
        self.lexer.consume("DCL".len());
        let file = self.name("a register file", File::parse, File::NAMES)?;
        let (mut first, mut last, empty) = self.decl_bracket()?;
        let mut dim = None;
        if self.lexer.at(b'[') {
            // `IN[][3]`: the first index counts vertices.
            dim = (!empty).then_some(first);
            (first, last, _) = self.decl_bracket()?;
        }
        let mask = self.mask()?;
        let kind = match file {
            File::Memory => DeclKind::Memory(MemoryKind::Global),
            File::Buffer => DeclKind::Buffer { atomic: false },
            _ => DeclKind::Plain,
        };
        let mut d = Decl {
            file,
            dim,
            first,
            last,
            mask,
            array: 0,
            semantic: None,
            streams: [0; 4],
            local: false,
            invariant: false,
            interpolate: None,
            location: None,
            kind,
            span: Span::default(),
        };
        match file {
            File::Image => self.image_attributes(&mut d)?,
            File::Sview => self.view_attributes(&mut d)?,
            File::Res => self.res_attributes(&mut d)?,
            _ => {
                while self.lexer.eat(b',') {
                    self.attribute(&mut d)?;
                }
            }
        }
        d.span = self.lexer.span_from(start);
        self.program.decls.push(d);
        Ok(())
    }

    /// `[n]`, `[n..m]` or `[]`; the flag says that it was empty.
    fn decl_bracket(&mut self) -> Parsed<(u32, u32, bool)> {
        self.expect(b'[')?;
        if self.lexer.eat(b']') {
            return Ok((0, 0, true));
        }
        let first = self.register_index()?;
        let mut last = first;
        if self.lexer.at_dots() {
            self.lexer.consume("..".len());
            let start = self.lexer.pos();
            last = self.register_index()?;
            if last < first {
                let d = Diagnostic::error("empty range")
                    .at(self.lexer.span_from(start), format!("expected at least {first}"));
                return Err(Box::new(d));
            }
        }
        self.expect(b']')?;
        Ok((first.into(), last.into(), false))
    }

    /// One attribute after a comma.
    fn attribute(&mut self, d: &mut Decl) -> Parsed<()> {
        const WHAT: &str = "an attribute of this register";
        let Some(word) = self.word() else { return Err(self.unexpected(WHAT)) };
        if word == "ARRAY" {
            self.lexer.consume(word.len());
            self.expect(b'(')?;
            d.array = self.uint("an array number")?;
            return self.expect(b')');
        }
        if word == "STREAM" {
            self.lexer.consume(word.len());
            self.expect(b'(')?;
            for i in 0..4 {
                if i > 0 {
                    self.expect(b',')?;
                }
                d.streams[i] = self.uint("a stream number")?.min(255) as u8;
            }
            return self.expect(b')');
        }
        match (&*word, &mut d.kind) {
            ("LOCAL", _) => d.local = true,
            ("INVARIANT", _) => d.invariant = true,
            ("ATOMIC", DeclKind::Buffer { atomic }) => *atomic = true,
            // A marker of a later dialect: the buffer lies in the local memory of a 2D engine.
            ("SHARED", DeclKind::Buffer { .. }) => {}
            (_, DeclKind::Memory(kind)) => match MemoryKind::parse(&word) {
                Some(k) => *kind = k,
                None => return Err(self.unknown("a kind of memory", &word, MemoryKind::NAMES)),
            },
            _ => return self.semantic_attribute(d, &word),
        }
        self.lexer.advance();
        Ok(())
    }

    fn semantic_attribute(&mut self, d: &mut Decl, word: &str) -> Parsed<()> {
        // COLOR is both a meaning and, after it, an interpolation.
        if d.semantic.is_none()
            && let Some(s) = Semantic::parse(word)
        {
            self.lexer.advance();
            let mut index = 0;
            if self.lexer.eat(b'[') {
                index = self.uint("a semantic index")?;
                self.expect(b']')?;
            }
            d.semantic = Some((s, index));
            return Ok(());
        }
        if d.interpolate.is_none()
            && let Some(i) = Interpolate::parse(word)
        {
            d.interpolate = Some(i);
        } else if let Some(l) = Location::parse(word) {
            d.location = Some(l);
        } else {
            let what = if self.program.stage == Stage::Compute {
                "a semantic"
            } else {
                "a semantic or interpolation"
            };
            return Err(self.unknown(what, word, Semantic::NAMES));
        }
        self.lexer.advance();
        Ok(())
    }

    fn target(&mut self) -> Parsed<Target> {
        self.name("a texture target", Target::parse, Target::NAMES)
    }

    /// `, 2D [, PIPE_FORMAT_...] [, WR] [, RAW]`
    fn image_attributes(&mut self, d: &mut Decl) -> Parsed<()> {
        self.expect(b',')?;
        let target = self.target()?;
        let (mut format, mut writable, mut raw) = (None, false, false);
        while self.lexer.eat(b',') {
            match self.word().as_deref() {
                Some("WR") => writable = true,
                Some("RAW") => raw = true,
                Some(w) if w.starts_with("PIPE_FORMAT_") => format = self.format(w)?,
                _ => return Err(self.unexpected("WR, RAW or a format (PIPE_FORMAT_...)")),
            }
            self.lexer.advance();
        }
        d.kind = DeclKind::Image { target, format, writable, raw };
        Ok(())
    }

    /// What the current word, which is written `name` in upper case, says of an image's format.
    fn format(&self, name: &str) -> Parsed<Option<Format>> {
        if name == "PIPE_FORMAT_NONE" {
            return Ok(None);
        }
        let format = Format::from_pipe(name).map_err(|e| e.at(self.lexer.token().span))?;
        Ok(Some(format))
    }

    /// `, 2D, FLOAT [, FLOAT, FLOAT, FLOAT]`
    fn view_attributes(&mut self, d: &mut Decl) -> Parsed<()> {
        self.expect(b',')?;
        let target = self.target()?;
        self.expect(b',')?;
        let mut returns = [self.return_type()?; 4];
        let mut n = 1;
        while n < 4 && self.lexer.eat(b',') {
            returns[n] = self.return_type()?;
            n += 1;
        }
        d.kind = DeclKind::View { target, returns };
        Ok(())
    }

    fn return_type(&mut self) -> Parsed<ReturnType> {
        self.name("a return type", ReturnType::parse, ReturnType::NAMES)
    }

    /// `, BUFFER [, RAW] [, WR]`
    fn res_attributes(&mut self, d: &mut Decl) -> Parsed<()> {
        self.expect(b',')?;
        let target = self.target()?;
        let (mut writable, mut raw) = (false, false);
        while self.lexer.eat(b',') {
            match self.word().as_deref() {
                Some("WR") => writable = true,
                Some("RAW") => raw = true,
                _ => return Err(self.unexpected("WR or RAW")),
            }
            self.lexer.advance();
        }
        d.kind = DeclKind::Res { target, writable, raw };
        Ok(())
    }

    // Instructions.

    /// Appends an instruction, whose mnemonic of `len` bytes is known.
    fn instruction(&mut self, len: usize, (op, saturate, precise): Mnemonic) -> Parsed<()> {
        let start = self.lexer.pos();
        self.lexer.consume(len);
        let info = op.info();
        let (dsts, srcs) = (self.program.dsts.len() as u32, self.program.srcs.len() as u32);
        for i in 0..info.dsts.len() {
            if i > 0 {
                self.expect(b',')?;
            }
            let dst = self.dst()?;
            self.program.dsts.push(dst);
        }
        for i in info.dsts.len()..info.dsts.len() + info.srcs.len() {
            if i > 0 {
                self.expect(b',')?;
            }
            let src = self.src()?;
            self.program.srcs.push(src);
        }
        let detail = match info.shape {
            Shape::Tex => {
                self.expect(b',')?;
                let target = self.target()?;
                self.texture(target)?
            }
            Shape::Sample => self.texture(Target::Unknown)?,
            Shape::Mem if self.lexer.at(b',') => {
                let qualifiers = self.qualifiers()?;
                self.program.memories.push(qualifiers);
                Detail::Memory(self.program.memories.len() as u32 - 1)
            }
            Shape::Flow if self.lexer.eat(b':') => Detail::Label(self.uint("a label")?),
            _ => Detail::None,
        };
        let span = self.lexer.span_from(start);
        self.program.code.push(Head { op, saturate, precise, dsts, srcs, detail, span });
        Ok(())
    }

    /// What follows the operands and perhaps the target of a texture instruction: its offsets.
    fn texture(&mut self, target: Target) -> Parsed<Detail> {
        let mut offsets = ArrayVec::new();
        while self.lexer.eat(b',') {
            let src = self.src()?;
            if offsets.try_push(src).is_err() {
                let d = Diagnostic::error("too many texture offsets").at(src.reg.span, "expected at most 4");
                return Err(Box::new(d));
            }
        }
        self.program.textures.push(Texture { target, offsets });
        Ok(Detail::Texture(self.program.textures.len() as u32 - 1))
    }

    fn qualifiers(&mut self) -> Parsed<Memory> {
        let mut m = Memory::default();
        while self.lexer.eat(b',') {
            let Some(word) = self.word() else {
                return Err(self.unexpected("a memory qualifier, texture target or format"));
            };
            match &*word {
                "COHERENT" => m.coherent = true,
                "RESTRICT" => m.restrict = true,
                "VOLATILE" => m.volatile = true,
                "STREAM_CACHE_POLICY" => m.streaming = true,
                w if w.starts_with("PIPE_FORMAT_") => m.format = self.format(w)?,
                w => match Target::parse(w) {
                    Some(t) => m.target = Some(t),
                    None => return Err(self.unexpected("a memory qualifier, texture target or format")),
                },
            }
            self.lexer.consume(word.len());
        }
        Ok(m)
    }

    // Operands.

    /// `.xyzw`: the components, in any order; all of them where nothing stands.
    fn mask(&mut self) -> Parsed<u8> {
        if !self.lexer.eat(b'.') {
            return Ok(0xf);
        }
        Ok(mask(self.components("a write mask of x, y, z and w")?))
    }

    fn components(&mut self, what: &str) -> Parsed<[u8; 4]> {
        let Some(comps) = self.lexer.components() else { return Err(self.unexpected(what)) };
        self.lexer.finish();
        Ok(comps)
    }

    fn dst(&mut self) -> Parsed<Dst> {
        if let Some((reg, comps)) = self.plain_reg() {
            return Ok(Dst { reg, mask: comps.map_or(0xf, mask) });
        }
        let start = self.lexer.pos();
        let mut reg = self.reg()?;
        let mask = self.mask()?;
        reg.span = self.lexer.span_from(start);
        Ok(Dst { reg, mask })
    }

    /// `[-] [|] FILE[..] [.swizzle] [|]`; a swizzle shorter than four repeats its last component.
    fn src(&mut self) -> Parsed<Src> {
        if let Some((reg, comps)) = self.plain_reg() {
            let swizzle = comps.unwrap_or(Src::IDENTITY);
            return Ok(Src { reg, swizzle, neg: false, abs: false });
        }
        let start = self.lexer.pos();
        let neg = self.lexer.eat(b'-');
        if !neg {
            self.lexer.eat(b'+');
        }
        let abs = self.lexer.eat(b'|');
        let mut reg = self.reg()?;
        let mut swizzle = Src::IDENTITY;
        if self.lexer.eat(b'.') {
            swizzle = self.components("a swizzle of x, y, z and w")?;
        }
        if abs {
            self.expect(b'|')?;
        }
        reg.span = self.lexer.span_from(start);
        Ok(Src { reg, swizzle, neg, abs })
    }

    /// A register as most are written, `FILE[n]` or `FILE[m][n]` with components or without, read in one piece.
    /// Of anything else nothing is read.
    #[inline(always)]
    fn plain_reg(&mut self) -> Option<(Reg, Option<[u8; 4]>)> {
        let mut lexer = self.lexer;
        let word = lexer.word();
        let file = File::parse(word)?;
        lexer.part(word.len());
        let plain = |n: u32| i16::try_from(n).ok().map(|offset| Index { offset, indirect: None });
        let first = plain(lexer.bracketed()?)?;
        let (dim, index) = match lexer.bracketed() {
            Some(n) => (Some(first), plain(n)?),
            None => (None, first),
        };
        let mut comps = None;
        if lexer.at(b'.') {
            lexer.part(1);
            comps = Some(lexer.components()?);
        }
        lexer.finish();
        if !lexer.at(b',') && (lexer.at(b'[') || lexer.at(b'(') || lexer.at(b'.')) {
            return None;
        }
        let span = lexer.span_from(self.lexer.pos());
        self.lexer = lexer;
        Some((Reg { file, dim, index, span }, comps))
    }

    fn reg(&mut self) -> Parsed<Reg> {
        let start = self.lexer.pos();
        let word = self.lexer.word();
        if let Some(&(_, offset)) = RES_MACROS.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)) {
            self.lexer.consume(word.len());
            let index = Index { offset, indirect: None };
            return Ok(Reg { file: File::Res, dim: None, index, span: self.lexer.span_from(start) });
        }
        let file = self.name("a register", File::parse, File::NAMES)?;
        let mut index = self.index()?;
        let mut dim = None;
        if self.lexer.at(b'[') {
            dim = Some(index);
            index = self.index()?;
        }
        Ok(Reg { file, dim, index, span: self.lexer.span_from(start) })
    }

    /// `[4]`, `[ADDR[0].x]`, `[ADDR[0].x+4]`, each perhaps with `(array)`.
    fn index(&mut self) -> Parsed<Index> {
        self.expect(b'[')?;
        let mut index = if self.lexer.at_digit() {
            Index { offset: self.register_index()? as i16, indirect: None }
        } else {
            self.indirect()?
        };
        self.expect(b']')?;
        if self.lexer.eat(b'(') {
            let array = self.uint("an array number")?;
            if let Some(i) = &mut index.indirect {
                i.array = array;
            }
            self.expect(b')')?;
        }
        Ok(index)
    }

    /// `FILE[n] [.c] [+n | -n]`
    fn indirect(&mut self) -> Parsed<Index> {
        let file = self.name("a number or an address register", File::parse, File::NAMES)?;
        self.expect(b'[')?;
        let index = self.register_index()?;
        self.expect(b']')?;
        let mut comp = 0;
        if self.lexer.eat(b'.') {
            comp = self.components("x, y, z or w")?[0];
        }
        let mut offset = 0;
        if self.lexer.eat(b'-') {
            offset = -(self.register_index()? as i16);
        } else if self.lexer.eat(b'+') {
            offset = self.register_index()? as i16;
        }
        Ok(Index { offset, indirect: Some(Indirect { file, index, comp, array: 0 }) })
    }
}

/// The components of a list as bits.
fn mask(list: [u8; 4]) -> u8 {
    list.iter().fold(0, |m, &c| m | 1 << c)
}

/// What a statement begins with.
enum Keyword {
    Dcl,
    Imm,
    Property,
    Instruction(Mnemonic),
}

impl Keyword {
    /// The keyword that a word in upper case is.
    fn parse(word: &str) -> Option<Keyword> {
        match word {
            "DCL" => Some(Keyword::Dcl),
            "IMM" => Some(Keyword::Imm),
            "PROPERTY" => Some(Keyword::Property),
            _ => mnemonic(word).map(Keyword::Instruction),
        }
    }
}

/// An opcode, whether it saturates, whether it is precise.
type Mnemonic = (Opcode, bool, bool);

/// A mnemonic in upper case with its suffixes.
fn mnemonic(word: &str) -> Option<Mnemonic> {
    if let Some(op) = Opcode::parse(word) {
        return Some((op, false, false));
    }
    let (word, precise) = word.strip_suffix("_PRECISE").map_or((word, false), |w| (w, true));
    let (word, saturate) = word.strip_suffix("_SAT").map_or((word, false), |w| (w, true));
    Opcode::parse(word).map(|op| (op, saturate, precise))
}

/// The first characters of what may be very long.
fn shorten(text: &str) -> String {
    const MOST: usize = 40;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// Text in upper case, which it mostly is already.
fn upper_case(text: &str) -> Cow<'_, str> {
    if text.bytes().any(|b| b.is_ascii_lowercase()) { text.to_ascii_uppercase().into() } else { text.into() }
}

/// Decimal or, after `0X`, hexadecimal.
fn parse_uint(word: &str) -> Option<u64> {
    match word.strip_prefix("0X") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None if word.bytes().all(|b| b.is_ascii_digit()) => word.parse().ok(),
        None => None,
    }
}

/// The bits of a number; 64-bit types fill both words.
fn parse_number(text: &str, ty: ImmType) -> Option<u64> {
    let upper = upper_case(text);
    let (negative, digits) = match upper.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, upper.strip_prefix('+').unwrap_or(&upper)),
    };
    let int = parse_uint(digits);
    match ty {
        // Bit patterns are written in hexadecimal.
        ImmType::Flt32 if digits.starts_with("0X") => int.filter(|&v| v <= u64::from(u32::MAX) && !negative),
        ImmType::Flt64 if digits.starts_with("0X") => int.filter(|_| !negative),
        ImmType::Flt32 => parse_float(&upper, digits).map(|f: f32| u64::from(f.to_bits())),
        ImmType::Flt64 => parse_float(&upper, digits).map(|f: f64| f.to_bits()),
        ImmType::Uint32 | ImmType::Int32 => {
            let v = int.filter(|&v| v <= u64::from(u32::MAX))? as u32;
            Some(u64::from(if negative { v.wrapping_neg() } else { v }))
        }
        ImmType::Uint64 | ImmType::Int64 => int.map(|v| if negative { v.wrapping_neg() } else { v }),
    }
}

/// `text` is the number, `digits` the same without its sign. Windows' spellings of infinity and NaN are accepted.
fn parse_float<F: std::str::FromStr>(text: &str, digits: &str) -> Option<F> {
    let sign = if text.starts_with('-') { "-" } else { "" };
    if digits.starts_with("NAN") || digits.contains("#QNAN") || digits.contains("#IND") {
        return format!("{sign}NAN").parse().ok();
    }
    if digits.contains("#INF") {
        return format!("{sign}INF").parse().ok();
    }
    text.parse().ok()
}
