//! The parser: a text to its [`Shader`], or diagnostics for every line that is not NIR.
//!
//! Two printers' forms are read, and any mixture of them: Mesa's up to 22.3 (`vec4 32 ssa_5 = iadd …`,
//! `intrinsic load_ssbo (…) (…)`, `block block_3:`) and from 23.1 on (`32x4 %5 = iadd …`, `@load_ssbo (…) (…)`,
//! `b3:`, constants repeated after their uses). A line at fault gives one diagnostic and is skipped; structure
//! that does not match is a diagnostic of its own. Nothing here recurses over the text's nesting.

mod header;
mod index;
mod instr;
mod operand;
mod texture;
mod variable;
mod words;

pub(super) use operand::WHOLE;

use super::ast::*;
use super::cursor::{Cursor, Result};
use super::names::Mode;
use super::types::Types;
use crate::diag::{Diagnostic, Diagnostics, Span, closest};
use rustc_hash::FxHashMap;

/// Parses a text. On success there is at least one function.
pub fn parse(text: &str) -> std::result::Result<Shader<'_>, Diagnostics> {
    if u32::try_from(text.len()).is_err() {
        return Err(Diagnostic::error("the text is larger than 4 GiB").into());
    }
    let mut parser = Parser {
        cur: Cursor::new(text),
        diags: Diagnostics::default(),
        types: Types::default(),
        literals: Vec::new(),
        waiting: FxHashMap::default(),
        bodiless: 0,
        lines: memchr::memchr_iter(b'\n', text.as_bytes()).count(),
    };
    let shader = parser.shader();
    if shader.functions.iter().all(|f| !f.defined) && parser.diags.is_empty() {
        let at = parser.cur.here();
        parser.diags.push(Diagnostic::error("no function in this text").at(at, "expected `impl NAME {`"));
    }
    if parser.diags.has_errors() { Err(parser.diags) } else { Ok(shader) }
}

pub(super) struct Parser<'s> {
    cur: Cursor<'s>,
    diags: Diagnostics,
    types: Types<'s>,
    literals: Vec<Literal>,
    /// By the names of functions, those that were declared and have no body yet.
    waiting: FxHashMap<&'s str, Vec<usize>>,
    /// How many these are.
    bodiless: usize,
    /// Lines of the text, until the first body has been given room for them: most texts have one.
    lines: usize,
}

/// What a `}` would close.
enum Open {
    Then(Span),
    Else(Span),
    Loop(Span),
    Continue(Span),
}

impl Open {
    fn span(&self) -> Span {
        match self {
            Open::Then(s) | Open::Else(s) | Open::Loop(s) | Open::Continue(s) => *s,
        }
    }
}

impl<'s> Parser<'s> {
    /// Notes an error and leaves the line.
    #[cold]
    fn recover(&mut self, error: Diagnostic) {
        self.diags.push(error);
        self.cur.skip_line();
    }

    fn report<T>(&mut self, result: Result<T>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.recover(*error);
                None
            }
        }
    }

    /// Only blanks and comments may follow on the line.
    fn end_of_line(&mut self) -> Result<()> {
        self.cur.space();
        if self.cur.at_line_end() { Ok(()) } else { Err(self.cur.expected("the end of the line")) }
    }

    fn shader(&mut self) -> Shader<'s> {
        let mut shader = Shader::default();
        loop {
            self.cur.next_line();
            if self.cur.at_end() {
                self.types.resolve(&shader.structs);
                shader.types = std::mem::take(&mut self.types);
                shader.literals = std::mem::take(&mut self.literals);
                return shader;
            }
            let start = self.cur.pos;
            let word = self.cur.word();
            let result = match word {
                "decl_var" => self.variable(start, Mode::ShaderTemp).map(|var| shader.vars.push(var)),
                "decl_function" => self.function_decl(start).map(|f| {
                    self.waiting.entry(f.name).or_default().push(shader.functions.len());
                    self.bodiless += 1;
                    shader.functions.push(f);
                }),
                "impl" => self.function_impl(&mut shader, start),
                "struct" if !self.cur.rest_of_line().contains(':') => {
                    self.structure().map(|s| shader.structs.push(s))
                }
                _ => {
                    self.cur.pos = start;
                    self.header_line(&mut shader)
                }
            };
            let result = result.and_then(|()| self.end_of_line());
            self.report(result);
        }
    }

    /// `impl NAME {` up to its `}`.
    fn function_impl(&mut self, shader: &mut Shader<'s>, start: usize) -> Result<()> {
        self.cur.space();
        let name = self.cur.until(b" \t\r{");
        let span = Span::new(start, self.cur.pos);
        if name.is_empty() {
            return Err(self.cur.expected("a function's name"));
        }
        self.cur.expect(b'{')?;
        // Two functions of one name cannot be told apart by their calls; each implements the first declaration
        // that has no body yet.
        let declared = self.waiting.get_mut(name).and_then(Vec::pop);
        self.bodiless -= usize::from(declared.is_some());
        let mut function = match declared {
            Some(at) => std::mem::take(&mut shader.functions[at]),
            None => {
                if self.bodiless > 0 && !self.waiting.contains_key(name) && !self.diags.is_full() {
                    self.undeclared(name, span);
                }
                Function::new(name, span)
            }
        };
        function.span = span;
        function.defined = true;
        function.reserve(std::mem::take(&mut self.lines));
        self.body(&mut function);
        match declared {
            Some(at) => shader.functions[at] = function,
            None => shader.functions.push(function),
        }
        Ok(())
    }

    /// A body without a declaration, which is wrong if a declaration has no body.
    fn undeclared(&mut self, name: &'s str, span: Span) {
        let mut waiting: Vec<&str> =
            self.waiting.iter().filter(|(_, places)| !places.is_empty()).map(|(name, _)| *name).collect();
        waiting.sort_unstable();
        let d = Diagnostic::error(format!("function `{name}` is not declared")).at(span, "");
        self.diags.push(d.did_you_mean(closest(name, &waiting)));
    }

    fn body(&mut self, f: &mut Function<'s>) {
        let mut open: Vec<Open> = Vec::new();
        loop {
            self.cur.next_line();
            let start = self.cur.pos;
            if self.cur.at_end() {
                let at = open.last().map_or(f.span, Open::span);
                let end = self.cur.here();
                self.diags.push(
                    Diagnostic::error("the text ends inside a function")
                        .at(end, "expected `}`")
                        .label(at, "to close what begins here"),
                );
                return;
            }
            if self.cur.peek() == b'}' {
                self.cur.pos += 1;
                if open.is_empty() {
                    return;
                }
                let result = self.close(f, &mut open, start);
                self.report(result);
                continue;
            }
            let result = self.line(f, &mut open, start);
            let result = result.and_then(|()| self.end_of_line());
            self.report(result);
        }
    }

    /// What follows a `}` of an `if` or a `loop`.
    fn close(&mut self, f: &mut Function<'s>, open: &mut Vec<Open>, start: usize) -> Result<()> {
        let span = Span::new(start, start + 1);
        let top = open.pop();
        if self.cur.eat_word("else") {
            self.cur.eat(b'{');
            let node = match top {
                Some(Open::Then(s)) => {
                    open.push(Open::Else(s));
                    Node::Else
                }
                other => {
                    open.extend(other);
                    return Err(mismatch("`else` without its `if`", span, open));
                }
            };
            f.body.push((node, span));
        } else if self.cur.eat_word("continue") {
            self.cur.eat(b'{');
            match top {
                Some(Open::Loop(s)) => open.push(Open::Continue(s)),
                other => {
                    open.extend(other);
                    return Err(mismatch("`continue` without its `loop`", span, open));
                }
            }
            f.body.push((Node::Continue, span));
        } else {
            if matches!(top, Some(Open::Then(_))) {
                f.body.push((Node::Else, span));
            }
            f.body.push((Node::End, span));
        }
        self.end_of_line()
    }

    /// A line of a body that does not begin with `}`.
    fn line(&mut self, f: &mut Function<'s>, open: &mut Vec<Open>, start: usize) -> Result<()> {
        // Most lines are one of these.
        let node = match self.plain_dest() {
            Some(def) => Some(self.definition(f, Dest::Ssa(def), Span::new(start, self.cur.pos))?),
            None if self.cur.peek() == b'@' => {
                self.cur.pos += 1;
                Some(self.intrinsic(f, None)?)
            }
            None => None,
        };
        if let Some(node) = node {
            f.body.push((node, Span::new(start, self.cur.pos)));
            return Ok(());
        }
        let word = self.cur.word();
        let node = match word {
            "block" => Some(Node::Block(self.block_label()?)),
            "if" => {
                let cond = self.src(f)?;
                self.cur.eat(b'{');
                open.push(Open::Then(Span::new(start, self.cur.pos)));
                Some(Node::If(cond))
            }
            "loop" => {
                self.cur.eat(b'{');
                open.push(Open::Loop(Span::new(start, self.cur.pos)));
                Some(Node::Loop)
            }
            "decl_var" => {
                let var = self.variable(start, Mode::FunctionTemp)?;
                f.vars.push(var);
                return Ok(());
            }
            "decl_reg" => {
                let reg = self.register(start)?;
                f.regs.push(reg);
                return Ok(());
            }
            "preamble" => {
                self.cur.skip_line();
                return Ok(());
            }
            "intrinsic" => Some(self.intrinsic(f, None)?),
            "call" => Some(self.call(f)?),
            "break" => Some(Node::Jump(Jump::Break)),
            "continue" => Some(Node::Jump(Jump::Continue)),
            "return" => Some(Node::Jump(Jump::Return)),
            "halt" => Some(Node::Jump(Jump::Halt)),
            "goto" => {
                self.cur.skip_line();
                Some(Node::Jump(Jump::Goto))
            }
            // Divergence marks stand before blocks and loops as well as before definitions.
            "div" | "con" => {
                let after = self.cur.pos;
                match self.cur.word() {
                    "block" => Some(Node::Block(self.block_label()?)),
                    "loop" => {
                        self.cur.eat(b'{');
                        open.push(Open::Loop(Span::new(start, self.cur.pos)));
                        Some(Node::Loop)
                    }
                    _ => {
                        self.cur.pos = after;
                        None
                    }
                }
            }
            _ => {
                self.cur.pos = start;
                None
            }
        };
        let node = match node {
            Some(node) => node,
            None => self.assignment(f)?,
        };
        f.body.push((node, Span::new(start, self.cur.pos)));
        Ok(())
    }
}

#[cold]
fn mismatch(what: &str, span: Span, open: &[Open]) -> Box<Diagnostic> {
    let mut d = Diagnostic::error(what).at(span, "this closes something else");
    if let Some(top) = open.last() {
        d = d.label(top.span(), "which begins here");
    }
    Box::new(d)
}
