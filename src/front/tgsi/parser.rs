//! TGSI text to syntax tree.
//!
//! The grammar is a list of statements (declarations, immediates, properties, instructions) without separators: a
//! statement ends where its operands do, and `BGNSUB UMUL TEMP[0], ...` on one line are two. After an error the
//! parser goes on with the next line, so that several errors are reported at once.

use arrayvec::ArrayVec;
use std::borrow::Cow;

use super::ast::*;
use super::flow;
use super::lexer::{Kind, Lexer, Token};
use crate::diag::{Diagnostic, Diagnostics, Span, closest};
use crate::ir::List;

/// Parses a program; on failure everything that is wrong with it, up to a limit.
///
/// Guaranteed of the result: nesting and labels match ([`Program::partner`]), and each instruction has the operands
/// that its opcode takes.
pub fn parse(text: &str) -> Result<Program, Diagnostics> {
    let mut lexer = Lexer::new(text);
    let token = lexer.next();
    let mut p = Parser { lexer, token, prev: Span::default(), diags: Diagnostics::default() };
    let program = p.program();
    if p.diags.has_errors() { Err(p.diags) } else { Ok(program) }
}

/// Registers are numbered in 16 bits with sign.
const MAX_INDEX: u64 = 32767;

/// The names that `compute.c` of 2011 defines for the preprocessor.
const RES_MACROS: &[(&str, i32)] =
    &[("RGLOBAL", 32767), ("RLOCAL", 32766), ("RPRIVATE", 32765), ("RINPUT", 32764)];

/// What a failed rule returns: the diagnostic, not yet reported.
type Failed = Box<Diagnostic>;
type Parsed<T> = Result<T, Failed>;

struct Parser<'s> {
    lexer: Lexer<'s>,
    token: Token,
    /// The token before.
    prev: Span,
    diags: Diagnostics,
}

impl<'s> Parser<'s> {
    // Tokens.

    fn text(&self) -> &'s str {
        self.lexer.text(self.token.span)
    }

    fn advance(&mut self) -> Token {
        self.prev = self.token.span;
        let next = self.lexer.next();
        std::mem::replace(&mut self.token, next)
    }

    fn at(&self, punct: u8) -> bool {
        self.token.kind == Kind::Punct(punct)
    }

    fn eat(&mut self, punct: u8) -> bool {
        let yes = self.at(punct);
        if yes {
            self.advance();
        }
        yes
    }

    fn expect(&mut self, punct: u8) -> Parsed<()> {
        if self.eat(punct) {
            return Ok(());
        }
        Err(self.unexpected(&format!("`{}`", punct as char)))
    }

    /// "expected X, found Y" at the current token.
    fn unexpected(&self, wanted: &str) -> Failed {
        let found = match self.token.kind {
            Kind::End => "the end of the text".to_owned(),
            _ => format!("`{}`", shorten(self.text())),
        };
        // What is missing at the end of a line is missed there, not where the next line begins.
        let span = if self.token.first && self.prev.end > 0 {
            Span { start: self.prev.end, end: self.prev.end }
        } else {
            self.token.span
        };
        Box::new(
            Diagnostic::error(format!("expected {wanted}, found {found}"))
                .at(span, format!("expected {wanted}")),
        )
    }

    /// The current word in upper case.
    fn word(&self) -> Option<Cow<'s, str>> {
        (self.token.kind == Kind::Word).then(|| upper_case(self.text()))
    }

    fn at_number(&self) -> bool {
        self.token.kind == Kind::Word && self.text().starts_with(|c: char| c.is_ascii_digit())
    }

    /// A word that one of the lists in [`names`](super::names) knows.
    fn name<T>(&mut self, what: &str, parse: fn(&str) -> Option<T>, all: &[&str]) -> Parsed<T> {
        let Some(word) = self.word() else { return Err(self.unexpected(what)) };
        match parse(&word) {
            Some(v) => {
                self.advance();
                Ok(v)
            }
            None if self.token.first && self.prev.end > 0 => Err(self.unexpected(what)),
            None => Err(self.unknown(what, &word, all)),
        }
    }

    fn unknown(&self, what: &str, word: &str, all: &[&str]) -> Failed {
        let mut d = Diagnostic::error(format!("`{}` is not {what}", shorten(self.text())))
            .at(self.token.span, format!("expected {what}"));
        if let Some(near) = closest(word, all) {
            d = d.help(format!("there is `{near}`"));
        }
        Box::new(d)
    }

    fn uint(&mut self, what: &str) -> Parsed<u32> {
        let Some(word) = self.word() else { return Err(self.unexpected(what)) };
        match short_uint(&word).or_else(|| parse_uint(&word)) {
            Some(v) if v <= u64::from(u32::MAX) => {
                self.advance();
                Ok(v as u32)
            }
            _ => Err(self.unexpected(what)),
        }
    }

    fn register_index(&mut self) -> Parsed<u32> {
        let span = self.token.span;
        let v = self.uint("a register number")?;
        if u64::from(v) > MAX_INDEX {
            let d = Diagnostic::error(format!("register number {v} is too large"))
                .at(span, format!("expected at most {MAX_INDEX}"));
            return Err(Box::new(d));
        }
        Ok(v)
    }

    // Statements.

    fn program(&mut self) -> Program {
        let mut program = Program {
            stage: Stage::Compute,
            decls: Vec::new(),
            imms: Vec::new(),
            props: Vec::new(),
            // Instructions take more bytes of text than that.
            code: Vec::with_capacity(self.lexer.len() / 40),
            partner: Vec::new(),
        };
        match self.name(
            "a program kind (COMP, VERT, FRAG, GEOM, TESS_CTRL or TESS_EVAL)",
            Stage::parse,
            Stage::NAMES,
        ) {
            Ok(stage) => program.stage = stage,
            Err(d) => {
                self.diags.push(*d);
                self.recover(0);
            }
        }
        while self.token.kind != Kind::End {
            let start = self.token.span.start;
            if let Err(d) = self.statement(&mut program) {
                self.diags.push(*d);
                if self.diags.list.len() >= Diagnostics::LIMIT {
                    return program;
                }
                self.recover(start);
            }
        }
        if program.code.is_empty() && !self.diags.has_errors() {
            let end = Span { start: self.prev.end, end: self.prev.end };
            self.diags.push(
                Diagnostic::error("the program has no instructions").at(end, "expected an instruction"),
            );
        }
        // Labels and nesting mean nothing when instructions are missing.
        if !self.diags.has_errors() {
            program.partner = flow::resolve(&program.code, &mut self.diags);
        }
        program
    }

    /// Skips to the first line that begins after `start`, where the failed statement began.
    fn recover(&mut self, start: u32) {
        while self.token.kind != Kind::End && !(self.token.first && self.token.span.start > start) {
            self.advance();
        }
    }

    fn statement(&mut self, program: &mut Program) -> Parsed<()> {
        let Some(mut word) = self.word() else {
            return Err(self.unexpected("an instruction, DCL, IMM or PROPERTY"));
        };
        if self.at_number() {
            self.uint("an instruction number")?;
            self.expect(b':')?;
            match self.word() {
                Some(w) => word = w,
                None => return Err(self.unexpected("an instruction")),
            }
        }
        match &*word {
            "DCL" => {
                let d = self.declaration(program.stage)?;
                program.decls.push(d);
            }
            "IMM" => {
                let imm = self.immediate(program.imms.len())?;
                program.imms.push(imm);
            }
            "PROPERTY" => {
                let p = self.property()?;
                program.props.push(p);
            }
            _ => {
                self.instruction(&word, &mut program.code)?;
            }
        }
        Ok(())
    }

    fn property(&mut self) -> Parsed<(Property, u32)> {
        self.advance();
        let p = self.name("a property", Property::parse, Property::NAMES)?;
        let words = p.words();
        let value = if words.is_empty() || self.at_number() {
            self.uint("a number")?
        } else {
            let Some(word) = self.word() else { return Err(self.unexpected("a word")) };
            match words.iter().position(|&w| w == word) {
                Some(i) => {
                    self.advance();
                    i as u32
                }
                None => return Err(self.unknown("a value of this property", &word, words)),
            }
        };
        Ok((p, value))
    }

    fn immediate(&mut self, count: usize) -> Parsed<Imm> {
        let start = self.advance().span;
        if self.eat(b'[') {
            let span = self.token.span;
            let n = self.uint("the number of the immediate")?;
            if n as usize != count {
                let d =
                    Diagnostic::error("immediates are not in order").at(span, format!("expected {count}"));
                return Err(Box::new(d));
            }
            self.expect(b']')?;
        }
        let ty = self.name("an immediate type", ImmType::parse, ImmType::NAMES)?;
        if !self.at(b'{') {
            return Err(self.unexpected("`{`"));
        }
        let mut words = [0; 4];
        let mut from = self.token.span.end;
        let mut i = 0;
        let wide = matches!(ty, ImmType::Flt64 | ImmType::Int64 | ImmType::Uint64);
        loop {
            let span = self.lexer.number(from);
            let text = self.lexer.text(span);
            let Some(bits) = parse_number(text, ty) else {
                self.token = Token { kind: Kind::Word, span, first: false };
                if text.is_empty() {
                    self.advance();
                }
                let what = format!("a number of type {}", ty.name());
                return Err(self.unexpected(&what));
            };
            words[i] = bits as u32;
            i += 1;
            if wide {
                words[i] = (bits >> 32) as u32;
                i += 1;
            }
            self.token = Token { kind: Kind::Word, span, first: false };
            self.advance();
            if i == 4 || self.at(b'}') {
                break;
            }
            if !self.at(b',') {
                return Err(self.unexpected("`,` or `}`"));
            }
            from = self.token.span.end;
        }
        self.expect(b'}')?;
        Ok(Imm { ty, words, span: start.to(self.prev) })
    }

    // Declarations.

    fn declaration(&mut self, stage: Stage) -> Parsed<Decl> {
        let start = self.advance().span;
        let file = self.name("a register file", File::parse, File::NAMES)?;
        let (mut first, mut last, empty) = self.decl_bracket()?;
        let mut dim = None;
        if self.at(b'[') {
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
            span: start,
        };
        match file {
            File::Image => self.image_attributes(&mut d)?,
            File::Sview => self.view_attributes(&mut d)?,
            File::Res => self.res_attributes(&mut d)?,
            _ => {
                while self.eat(b',') {
                    self.attribute(&mut d, stage)?;
                }
            }
        }
        d.span = start.to(self.prev);
        Ok(d)
    }

    /// `[n]`, `[n..m]` or `[]`; the flag says that it was empty.
    fn decl_bracket(&mut self) -> Parsed<(u32, u32, bool)> {
        self.expect(b'[')?;
        if self.eat(b']') {
            return Ok((0, 0, true));
        }
        let first = self.register_index()?;
        let mut last = first;
        if self.token.kind == Kind::Dots {
            self.advance();
            let span = self.token.span;
            last = self.register_index()?;
            if last < first {
                let d =
                    Diagnostic::error("the range is empty").at(span, format!("expected at least {first}"));
                return Err(Box::new(d));
            }
        }
        self.expect(b']')?;
        Ok((first, last, false))
    }

    /// One attribute after a comma.
    fn attribute(&mut self, d: &mut Decl, stage: Stage) -> Parsed<()> {
        const WHAT: &str = "an attribute of this register";
        let Some(word) = self.word() else { return Err(self.unexpected(WHAT)) };
        if word == "ARRAY" {
            self.advance();
            self.expect(b'(')?;
            d.array = self.uint("an array number")?;
            return self.expect(b')');
        }
        if word == "STREAM" {
            self.advance();
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
            _ => return self.semantic_attribute(d, &word, stage),
        }
        self.advance();
        Ok(())
    }

    fn semantic_attribute(&mut self, d: &mut Decl, word: &str, stage: Stage) -> Parsed<()> {
        // COLOR is both a meaning and, after it, an interpolation.
        if d.semantic.is_none()
            && let Some(s) = Semantic::parse(word)
        {
            self.advance();
            let mut index = 0;
            if self.eat(b'[') {
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
            let what = if stage == Stage::Compute { "a semantic" } else { "a semantic or interpolation" };
            return Err(self.unknown(what, word, Semantic::NAMES));
        }
        self.advance();
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
        while self.eat(b',') {
            match self.word().as_deref() {
                Some("WR") => writable = true,
                Some("RAW") => raw = true,
                Some(w) if w.starts_with("PIPE_FORMAT_") => format = known_format(w),
                _ => return Err(self.unexpected("WR, RAW or a format (PIPE_FORMAT_...)")),
            }
            self.advance();
        }
        d.kind = DeclKind::Image { target, format, writable, raw };
        Ok(())
    }

    /// `, 2D, FLOAT [, FLOAT, FLOAT, FLOAT]`
    fn view_attributes(&mut self, d: &mut Decl) -> Parsed<()> {
        self.expect(b',')?;
        let target = self.target()?;
        self.expect(b',')?;
        let mut returns = [self.return_type()?; 4];
        let mut n = 1;
        while n < 4 && self.eat(b',') {
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
        while self.eat(b',') {
            match self.word().as_deref() {
                Some("WR") => writable = true,
                Some("RAW") => raw = true,
                _ => return Err(self.unexpected("WR or RAW")),
            }
            self.advance();
        }
        d.kind = DeclKind::Res { target, writable, raw };
        Ok(())
    }

    // Instructions.

    /// Appends an instruction, which is made where it stays: it is large. One with an error may be left incomplete.
    fn instruction(&mut self, word: &str, code: &mut Vec<Inst>) -> Parsed<()> {
        let Some((op, saturate, precise)) = opcode(word) else {
            let names: Vec<&str> = Opcode::ALL.iter().map(|o| o.name()).chain(["DCL", "IMM"]).collect();
            return Err(self.unknown("an instruction", word, &names));
        };
        let start = self.advance().span;
        let info = op.info();
        code.push(Inst {
            op,
            saturate,
            precise,
            dsts: ArrayVec::new(),
            srcs: ArrayVec::new(),
            texture: None,
            memory: None,
            label: None,
            span: start,
        });
        let inst = code.last_mut().expect("just pushed");
        for i in 0..info.dsts.len() + info.srcs.len() {
            if i > 0 {
                self.expect(b',')?;
            }
            if i < info.dsts.len() { inst.dsts.push(self.dst()?) } else { inst.srcs.push(self.src()?) }
        }
        match info.shape {
            Shape::Tex => {
                self.expect(b',')?;
                let target = self.target()?;
                let offsets = self.offsets()?;
                inst.texture = Some(Box::new(Texture { target, offsets }));
            }
            Shape::Sample => {
                let offsets = self.offsets()?;
                inst.texture = Some(Box::new(Texture { target: Target::Unknown, offsets }));
            }
            Shape::Mem if self.at(b',') => inst.memory = Some(Box::new(self.qualifiers()?)),
            Shape::Flow if self.eat(b':') => inst.label = Some(self.uint("a label")?),
            _ => {}
        }
        inst.span = start.to(self.prev);
        Ok(())
    }

    fn offsets(&mut self) -> Parsed<ArrayVec<Src, 4>> {
        let mut offsets = ArrayVec::new();
        while self.eat(b',') {
            let src = self.src()?;
            if offsets.try_push(src).is_err() {
                let d = Diagnostic::error("too many texture offsets").at(src.reg.span, "expected at most 4");
                return Err(Box::new(d));
            }
        }
        Ok(offsets)
    }

    fn qualifiers(&mut self) -> Parsed<Memory> {
        let mut m = Memory::default();
        while self.eat(b',') {
            let Some(word) = self.word() else {
                return Err(self.unexpected("a memory qualifier, texture target or format"));
            };
            match &*word {
                "COHERENT" => m.coherent = true,
                "RESTRICT" => m.restrict = true,
                "VOLATILE" => m.volatile = true,
                "STREAM_CACHE_POLICY" => m.streaming = true,
                w if w.starts_with("PIPE_FORMAT_") => m.format = known_format(w),
                w => match Target::parse(w) {
                    Some(t) => m.target = Some(t),
                    None => return Err(self.unexpected("a memory qualifier, texture target or format")),
                },
            }
            self.advance();
        }
        Ok(m)
    }

    // Operands.

    /// `.xyzw`: the components, in any order; all of them where nothing stands.
    fn mask(&mut self) -> Parsed<u8> {
        if !self.eat(b'.') {
            return Ok(0xf);
        }
        let comps = self.components("a write mask of x, y, z and w")?;
        Ok(comps.iter().fold(0, |m, &c| m | 1 << c))
    }

    fn components(&mut self, what: &str) -> Parsed<Comps> {
        if self.token.kind == Kind::Word
            && let Some(list) = parse_components(self.text())
        {
            self.advance();
            return Ok(list);
        }
        Err(self.unexpected(what))
    }

    fn dst(&mut self) -> Parsed<Dst> {
        if let Some((reg, comps)) = self.plain_reg() {
            let mask = if comps.is_empty() { 0xf } else { comps.iter().fold(0, |m, &c| m | 1 << c) };
            return Ok(Dst { reg, mask });
        }
        let mut reg = self.reg()?;
        let mask = self.mask()?;
        reg.span = reg.span.to(self.prev);
        Ok(Dst { reg, mask })
    }

    /// `[-] [|] FILE[..] [.swizzle] [|]`; a swizzle shorter than four repeats its last component.
    fn src(&mut self) -> Parsed<Src> {
        if let Some((reg, comps)) = self.plain_reg() {
            return Ok(Src { reg, swizzle: swizzle(&comps), neg: false, abs: false });
        }
        let start = self.token.span;
        let mut neg = false;
        if self.eat(b'-') {
            neg = true;
        } else {
            self.eat(b'+');
        }
        let abs = self.eat(b'|');
        let mut reg = self.reg()?;
        let mut comps = List::new();
        if self.eat(b'.') {
            comps = self.components("a swizzle of x, y, z and w")?;
        }
        if abs {
            self.expect(b'|')?;
        }
        reg.span = start.to(self.prev);
        Ok(Src { reg, swizzle: swizzle(&comps), neg, abs })
    }

    /// A register as most are written, `FILE[n]` or `FILE[m][n]` with components or without, read in one piece.
    /// Of anything else nothing is read.
    fn plain_reg(&mut self) -> Option<(Reg, Comps)> {
        let (start, before) = (self.token, self.lexer.pos());
        let file = File::parse(self.lexer.text(start.span))?;
        let read = |lexer: &mut Lexer<'s>| {
            let index = |n: u32| {
                let offset = i32::try_from(n).ok().filter(|_| u64::from(n) <= MAX_INDEX)?;
                Some(Index { offset, indirect: None })
            };
            let first = index(lexer.bracketed()?)?;
            let second = lexer.bracketed();
            let comps = match lexer.dotted() {
                Some(word) => parse_components(word)?,
                None => Comps::new(),
            };
            let span = Span { start: start.span.start, end: lexer.pos() as u32 };
            let (dim, index) = match second {
                Some(n) => (Some(first), index(n)?),
                None => (None, first),
            };
            Some((Reg { file, dim, index, span }, comps))
        };
        if let Some((reg, comps)) = read(&mut self.lexer) {
            let token = self.lexer.next();
            if !matches!(token.kind, Kind::Punct(b'[' | b'(' | b'.')) {
                self.prev = reg.span;
                self.token = token;
                return Some((reg, comps));
            }
        }
        self.lexer.reset(before);
        None
    }

    fn reg(&mut self) -> Parsed<Reg> {
        let start = self.token.span;
        if self.token.kind == Kind::Word
            && let Some(&(_, index)) =
                RES_MACROS.iter().find(|(name, _)| name.eq_ignore_ascii_case(self.text()))
        {
            self.advance();
            let index = Index { offset: index, indirect: None };
            return Ok(Reg { file: File::Res, dim: None, index, span: start });
        }
        let file = self.name("a register", File::parse, File::NAMES)?;
        if !self.at(b'[') {
            return Err(self.unexpected("`[`"));
        }
        let mut index = self.index()?;
        let mut dim = None;
        if self.at(b'[') {
            dim = Some(index);
            index = self.index()?;
        }
        Ok(Reg { file, dim, index, span: start.to(self.prev) })
    }

    /// `[4]`, `[ADDR[0].x]`, `[ADDR[0].x+4]`, each perhaps with `(array)`.
    fn index(&mut self) -> Parsed<Index> {
        self.expect(b'[')?;
        let mut index = if self.at_number() {
            Index { offset: self.register_index()? as i32, indirect: None }
        } else {
            self.indirect()?
        };
        self.expect(b']')?;
        if self.eat(b'(') {
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
        if self.eat(b'.') {
            let comps = self.components("x, y, z or w")?;
            comp = comps[0];
        }
        let negative = self.at(b'-');
        let mut offset = 0;
        if negative || self.at(b'+') {
            self.advance();
            offset = self.register_index()? as i32;
        }
        let indirect = Some(Indirect { file, index, comp, array: 0 });
        Ok(Index { offset: if negative { -offset } else { offset }, indirect })
    }
}

/// Components by their numbers, as written.
type Comps = List<u8, 4>;

fn parse_components(word: &str) -> Option<Comps> {
    let mut comps = Comps::new();
    for b in word.bytes() {
        if comps.is_full() {
            return None;
        }
        comps.push(component(b)?);
    }
    Some(comps)
}

/// The components that an operand reads: a list shorter than four repeats its last.
fn swizzle(comps: &Comps) -> [u8; 4] {
    match comps.last() {
        None => [0, 1, 2, 3],
        Some(&last) => std::array::from_fn(|i| comps.get(i).copied().unwrap_or(last)),
    }
}

fn component(b: u8) -> Option<u8> {
    match b {
        b'x' | b'X' => Some(0),
        b'y' | b'Y' => Some(1),
        b'z' | b'Z' => Some(2),
        b'w' | b'W' => Some(3),
        _ => None,
    }
}

fn known_format(name: &str) -> Option<Box<str>> {
    (name != "PIPE_FORMAT_NONE").then(|| name.into())
}

/// A mnemonic with its suffixes: the opcode, whether it saturates, whether it is precise.
fn opcode(word: &str) -> Option<(Opcode, bool, bool)> {
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

/// A decimal number of few digits, as most are.
fn short_uint(word: &str) -> Option<u64> {
    if word.len() > 9 || word.is_empty() {
        return None;
    }
    word.bytes().try_fold(0, |n, b| b.is_ascii_digit().then(|| 10 * n + u64::from(b - b'0')))
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
