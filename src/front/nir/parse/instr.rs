//! Instructions.

use super::super::alu;
use super::super::ast::*;
use super::super::cursor::Result;
use super::super::intrinsics;
use super::Parser;
use crate::diag::{Diagnostic, Span};
use arrayvec::ArrayVec;

impl<'s> Parser<'s> {
    /// After `block`: `block_3:` or `b3:`, and in later texts a comment.
    pub(super) fn block_label(&mut self) -> Result<u32> {
        let label = self.label()?;
        self.cur.expect(b':')?;
        Ok(label)
    }

    fn label(&mut self) -> Result<u32> {
        self.cur.space();
        let prefix = if self.cur.rest().starts_with(b"block_") { "block_" } else { "b" };
        self.prefixed(prefix, "a block's label such as `block_3` or `b3`")
    }

    /// Lines that begin with a destination.
    pub(super) fn assignment(&mut self, f: &mut Function<'s>) -> Result<Node<'s>> {
        self.cur.space();
        let start = self.cur.pos;
        let dest = self.dest(f)?;
        let span = Span::new(start, self.cur.pos);
        self.definition(f, dest, span)
    }

    /// After the destination.
    pub(super) fn definition(
        &mut self,
        f: &mut Function<'s>,
        dest: Dest,
        dest_span: Span,
    ) -> Result<Node<'s>> {
        self.cur.expect(b'=')?;
        self.cur.space();
        match self.cur.peek() {
            b'(' => return self.tex(f, dest),
            b'@' => {
                self.cur.pos += 1;
                return self.intrinsic(f, Some(dest));
            }
            _ => {}
        }
        if self.at_source() {
            return self.parallel_copy(f, dest);
        }
        let at = self.cur.pos;
        let word = self.cur.word();
        match word {
            "load_const" => {
                let def = ssa(dest, dest_span)?;
                self.load_const(f, def)
            }
            "intrinsic" => self.intrinsic(f, Some(dest)),
            "undefined" => Ok(Node::Undef(ssa(dest, dest_span)?)),
            "phi" => self.phi(f, dest),
            "deref_var" | "deref_array" | "deref_struct" | "deref_cast" | "deref_ptr_as_array" => {
                self.deref(f, dest, word)
            }
            _ => self.alu(f, dest, word, at),
        }
    }

    /// `(0x00000001, 0x00000002) = (0.000000, 0.000000)`: the bits are in the first list.
    fn load_const(&mut self, f: &mut Function<'s>, def: Def) -> Result<Node<'s>> {
        self.cur.expect(b'(')?;
        let mut values: ArrayVec<u64, 16> = ArrayVec::new();
        for i in 0..def.shape.comps {
            if i > 0 {
                self.cur.expect(b',')?;
            }
            self.cur.space();
            let value = if self.cur.peek().is_ascii_digit() {
                self.cur.number()?
            } else if self.cur.eat_word("true") {
                1
            } else if self.cur.eat_word("false") {
                0
            } else {
                self.cur.number()?
            };
            values.push(value);
        }
        self.cur.space();
        if !matches!(self.cur.peek(), b')' | b'=') {
            return Err(self.cur.expected(&format!("the end of {} values", def.shape.comps)));
        }
        self.cur.skip_line();
        Ok(Node::Const { def, values: f.push_consts(&values) })
    }

    fn alu(&mut self, f: &mut Function<'s>, dest: Dest, name: &'s str, at: usize) -> Result<Node<'s>> {
        let Some(info) = alu::lookup(name) else {
            if name.is_empty() {
                return Err(self.cur.expected("an opcode"));
            }
            let d = Diagnostic::error(format!("unknown opcode `{name}`"));
            let d = d.at(Span::new(at, at + name.len()), "not one of NIR's");
            // Nobody reads the suggestions of a thousand errors.
            let near = if self.diags.is_full() { None } else { alu::nearest(name) };
            return Err(Box::new(d.did_you_mean(near)));
        };
        let mut node =
            Alu { info, dest, exact: false, saturate: false, nsw: false, nuw: false, srcs: Range::default() };
        loop {
            match self.cur.peek() {
                b'!' => {
                    node.exact = true;
                    self.cur.pos += 1;
                }
                b'.' => {
                    self.cur.pos += 1;
                    match self.cur.word() {
                        "sat" => node.saturate = true,
                        "nsw" => node.nsw = true,
                        "nuw" => node.nuw = true,
                        _ => return Err(self.cur.expected("`sat`, `nsw` or `nuw`")),
                    }
                }
                _ => break,
            }
        }
        let mut srcs: ArrayVec<Src, 16> = ArrayVec::new();
        for i in 0..info.srcs.len() {
            if i > 0 {
                self.cur.expect(b',')?;
            }
            srcs.push(self.alu_src(f)?);
        }
        node.srcs = f.push_srcs(&srcs);
        Ok(Node::Alu(node))
    }

    /// After `intrinsic` or `@`: `NAME (sources) (indices)`, either list absent if empty in later texts.
    pub(super) fn intrinsic(&mut self, f: &mut Function<'s>, dest: Option<Dest>) -> Result<Node<'s>> {
        let name = self.cur.expect_word("an intrinsic's name")?;
        let info = intrinsics::lookup(name);
        let (mut srcs, mut indices) = (Range::default(), IndicesId::default());
        for _ in 0..2 {
            if !self.cur.eat(b'(') {
                break;
            }
            if self.cur.eat(b')') {
            } else if self.at_source() {
                let mut list: ArrayVec<Src, 16> = ArrayVec::new();
                loop {
                    if list.is_full() {
                        return Err(self.cur.expected("fewer sources"));
                    }
                    list.push(self.src(f)?);
                    if !self.cur.eat(b',') {
                        break;
                    }
                }
                self.cur.expect(b')')?;
                srcs = f.push_srcs(&list);
            } else {
                let list = self.indices(info.is_some())?;
                indices = f.push_indices(list);
            }
        }
        let span = self.span_of(name);
        let Some(info) = info else {
            return Ok(Node::Unknown(f.push_unknown(Unknown {
                kind: UnknownKind::Intrinsic,
                name,
                dest,
                span,
            })));
        };
        if srcs.len as usize != info.srcs.len() {
            let wanted = info.srcs.len();
            let d = Diagnostic::error(format!("`{name}` takes {wanted} sources, not {}", srcs.len));
            return Err(Box::new(d.at(span, "")));
        }
        Ok(Node::Intrinsic(Intrinsic { info, dest, srcs, indices }))
    }

    /// `block_0: ssa_1, block_3: ssa_9`.
    fn phi(&mut self, f: &mut Function<'s>, dest: Dest) -> Result<Node<'s>> {
        let mut srcs = Range::default();
        self.cur.space();
        if !self.cur.at_line_end() {
            loop {
                let label = self.label()?;
                self.cur.expect(b':')?;
                let src = self.src(f)?;
                srcs = f.push_phi_src(srcs, (label, src));
                if !self.cur.eat(b',') {
                    break;
                }
            }
        }
        Ok(Node::Phi { dest, srcs })
    }

    /// After the first `=`: `ssa_1; r2 = ssa_3`.
    fn parallel_copy(&mut self, f: &mut Function<'s>, first: Dest) -> Result<Node<'s>> {
        let mut list = Vec::new();
        let mut dest = first;
        loop {
            list.push((dest, self.src(f)?));
            if !self.cur.eat(b';') {
                break;
            }
            self.cur.space();
            dest = self.dest(f)?;
            self.cur.expect(b'=')?;
        }
        Ok(Node::ParallelCopy(f.push_copies(&list)))
    }

    /// After `call`: `NAME ssa_1, ssa_2`, with parameter names before the values in later texts.
    pub(super) fn call(&mut self, f: &mut Function<'s>) -> Result<Node<'s>> {
        self.cur.space();
        let callee = self.cur.until(b" \t\r");
        if callee.is_empty() {
            return Err(self.cur.expected("a function's name"));
        }
        let mut list = Vec::new();
        self.cur.space();
        if self.cur.peek() == b'(' {
            return Err(self.cur.expected("a call of a named function"));
        }
        while !self.cur.at_line_end() {
            if !self.at_source() {
                self.cur.expect_word("an argument")?;
            }
            list.push(self.src(f)?);
            if !self.cur.eat(b',') {
                break;
            }
        }
        Ok(Node::Call { callee, args: f.push_srcs(&list) })
    }

    /// `&name (shared uint)`, `&(*ssa_1)[ssa_2] (ssbo float)`, `&ssa_1->field (…)`, `(int *)ssa_1 (…)`.
    fn deref(&mut self, f: &mut Function<'s>, dest: Dest, op: &str) -> Result<Node<'s>> {
        let mut kind = match op {
            "deref_var" => {
                self.cur.expect(b'&')?;
                let line = self.cur.rest_of_line();
                let len = line.as_bytes().windows(2).position(|w| w == b" (").unwrap_or(line.len());
                self.cur.pos += len;
                DerefKind::Var(line[..len].trim())
            }
            "deref_struct" => {
                self.cur.expect(b'&')?;
                let parent = self.src(f)?;
                self.cur.expect(b'-')?;
                self.cur.expect(b'>')?;
                DerefKind::Struct { parent, field: self.cur.until(b" \t\r") }
            }
            "deref_cast" => {
                self.cur.expect(b'(')?;
                self.cur.until(b"*");
                self.cur.expect(b'*')?;
                self.cur.expect(b')')?;
                let parent = self.src(f)?;
                DerefKind::Cast { parent, stride: 0, align_mul: 0, align_offset: 0 }
            }
            _ => {
                self.cur.expect(b'&')?;
                self.cur.expect(b'(')?;
                self.cur.expect(b'*')?;
                let parent = self.src(f)?;
                self.cur.expect(b')')?;
                self.cur.expect(b'[')?;
                let index = if self.cur.eat(b'*') {
                    ArrayIndex::Wildcard
                } else if self.at_source() {
                    ArrayIndex::Src(self.src(f)?)
                } else {
                    ArrayIndex::Const(self.cur.signed()?)
                };
                self.cur.expect(b']')?;
                DerefKind::Array { parent, index, pointer: op == "deref_ptr_as_array" }
            }
        };
        self.cur.expect(b'(')?;
        let inside = self.cur.until(b")");
        self.cur.expect(b')')?;
        let (modes, ty) = inside.split_once(' ').unwrap_or((inside, ""));
        let modes = self.set(modes)?;
        let ty = ["highp ", "mediump ", "lowp "].iter().find_map(|p| ty.strip_prefix(p)).unwrap_or(ty);
        // A cast's stride and alignment stand in a comment before 23.1, in parentheses from then on.
        if let DerefKind::Cast { stride, align_mul, align_offset, .. } = &mut kind {
            let facts = self.cur.rest_of_line();
            *stride = fact(facts, "ptr_stride=");
            *align_mul = fact(facts, "align_mul=");
            *align_offset = fact(facts, "align_offset=");
        }
        self.cur.skip_line();
        Ok(Node::Deref(f.push_deref(Deref { dest, kind, modes, ty: self.types.named(ty) })))
    }
}

/// The definition that only a value can be, never a register.
fn ssa(dest: Dest, span: Span) -> Result<Def> {
    match dest {
        Dest::Ssa(def) => Ok(def),
        Dest::Reg(..) => Err(Box::new(
            Diagnostic::error("this instruction cannot write a register")
                .at(span, "expected a value such as `ssa_5`"),
        )),
    }
}

/// The number after `key`; 0 where there is none.
fn fact(text: &str, key: &str) -> u32 {
    let Some(at) = text.find(key) else { return 0 };
    let digits = &text[at + key.len()..];
    let len = digits.bytes().position(|b| !b.is_ascii_digit()).unwrap_or(digits.len());
    digits[..len].parse().unwrap_or(0)
}
