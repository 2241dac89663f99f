//! Reading the IR listing ([`super::print`]); errors point at the place and say what was expected.
//!
//! Value and block numbers are kept, so that printing gives the text back. A comment runs from `;`
//! to the end of the line.

use super::op::{Detail, row};
use super::*;
use crate::diag::{Diagnostic, Span};
use crate::format::{Format, UnknownFormat};
use rustc_hash::FxHashMap;

/// Numbers of values and blocks in a text of that many bytes stay below this, so that what a text
/// costs is bounded by its length: there is a table entry for each number. Passes leave gaps, but
/// few listings have fewer bytes than numbers.
fn max_number(bytes: usize) -> u32 {
    (4096 + 64 * bytes.min(1 << 16)) as u32
}

type Result<T> = std::result::Result<T, Diagnostic>;

/// Reads a whole program.
pub fn program(text: &str) -> Result<Program> {
    let mut p = Parser { text, at: 0, calls: Vec::new() };
    p.expect("program")?;
    let mut program = Program::new(Function::new(""));
    program.funcs.clear();
    loop {
        if p.eat("block") {
            program.block_size = Some([p.extent()?, p.extent()?, p.extent()?]);
        } else if p.eat("wholewarps") {
            program.whole_warps = true;
        } else if p.eat("shared") {
            program.shared_bytes = p.number()?;
        } else if p.eat("input") {
            program.input_bytes = p.number()?;
        } else if p.eat("private") {
            program.private_bytes = p.number()?;
        } else {
            break;
        }
    }
    while matches!(p.peek_word(), "stage" | "input" | "output" | "system" | "property") {
        let at = p.at;
        let line = p.rest().lines().next().unwrap_or("");
        p.at += line.len();
        let interface = program.interface.get_or_insert_default();
        interface::read_line(interface, line).map_err(|wanted| {
            p.error_at(at, "this says nothing of the stage", &format!("expected {wanted}"))
        })?;
    }
    let mut entry = None;
    while !p.at_end() {
        let start = p.at;
        let kernel = p.eat("kernel");
        let library = !kernel && p.eat("library");
        let declared = !kernel && !library && p.eat("extern");
        if !kernel && !library && !declared {
            p.expect("sub")?;
        }
        let mut f = if declared { p.declaration()? } else { p.function()? };
        f.library = library;
        let id = program.funcs.push(f);
        if kernel && entry.replace(id).is_some() {
            return Err(p.error_at(start, "a program has one kernel", "a second `kernel`"));
        }
    }
    if entry.is_none() {
        // Functions alone: somebody else calls them.
        entry = program.funcs.iter().find(|(_, f)| is_callable(f)).map(|(id, _)| id);
        let callable = program.funcs.values_mut().filter(|f| is_callable(f));
        callable.for_each(|f| f.linkage = Linkage::Visible);
    }
    program.entry = entry.ok_or_else(|| p.error("a program has a `kernel`"))?;
    if let Some(&(f, span)) = p.calls.iter().find(|(f, _)| program.funcs.get(*f).is_none()) {
        let what = format!("call of f{}, which does not exist", f.as_u32());
        return Err(Diagnostic::error(what).at(span, "this calls it"));
    }
    Ok(program)
}

/// A function that somebody else might call.
fn is_callable(f: &Function) -> bool {
    f.linkage == Linkage::Internal && !f.library
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    /// The functions that are called, and where.
    calls: Vec<(FuncId, Span)>,
}

/// A function being read: numbers seen so far.
struct Body {
    func: Function,
    defined: FxHashMap<u32, ()>,
}

impl<'a> Parser<'a> {
    fn skip(&mut self) {
        let bytes = self.text.as_bytes();
        while let Some(&b) = bytes.get(self.at) {
            match b {
                b' ' | b'\t' | b'\n' | b'\r' | b',' => self.at += 1,
                b';' => self.at += self.text[self.at..].find('\n').unwrap_or(self.text.len() - self.at),
                _ => break,
            }
        }
    }

    fn rest(&mut self) -> &'a str {
        self.skip();
        &self.text[self.at..]
    }

    fn at_end(&mut self) -> bool {
        self.rest().is_empty()
    }

    /// The word (letters, digits, `_`, `.`) that comes next, not consumed.
    fn peek_word(&mut self) -> &'a str {
        let rest = self.rest();
        let end =
            rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '.').unwrap_or(rest.len());
        &rest[..end]
    }

    fn error(&mut self, expected: &str) -> Diagnostic {
        let rest = self.rest();
        let len = self.peek_word().len().max(rest.chars().next().map_or(0, char::len_utf8));
        let found =
            if rest.is_empty() { "the end of the text".into() } else { format!("`{}`", &rest[..len]) };
        Diagnostic::error(format!("IR text: found {found}"))
            .at(Span::new(self.at, self.at + len), format!("expected {expected}"))
    }

    fn error_at(&self, at: usize, message: &str, label: &str) -> Diagnostic {
        Diagnostic::error(format!("IR text: {message}")).at(Span::new(at, self.at.max(at)), label)
    }

    fn eat(&mut self, word: &str) -> bool {
        let hit = self.peek_word() == word;
        if hit {
            self.at += word.len();
        }
        hit
    }

    fn expect(&mut self, word: &str) -> Result<()> {
        if self.eat(word) { Ok(()) } else { Err(self.error(&format!("`{word}`"))) }
    }

    fn eat_char(&mut self, c: char) -> bool {
        let hit = self.rest().starts_with(c);
        if hit {
            self.at += c.len_utf8();
        }
        hit
    }

    fn expect_char(&mut self, c: char) -> Result<()> {
        if self.eat_char(c) { Ok(()) } else { Err(self.error(&format!("`{c}`"))) }
    }

    fn word(&mut self, what: &str) -> Result<&'a str> {
        let w = self.peek_word();
        if w.is_empty() {
            return Err(self.error(what));
        }
        self.at += w.len();
        Ok(w)
    }

    fn number64(&mut self) -> Result<u64> {
        let w = self.peek_word();
        let value = match w.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16),
            None => w.parse(),
        };
        let value = value.map_err(|_| self.error("a number"))?;
        self.at += w.len();
        Ok(value)
    }

    fn number<T: TryFrom<u64>>(&mut self) -> Result<T> {
        let at = self.at;
        let n = self.number64()?;
        T::try_from(n).map_err(|_| self.error_at(at, "a number is out of range", "too large here"))
    }

    /// Threads of a block in one dimension, or `any`: 0.
    fn extent(&mut self) -> Result<u32> {
        if self.eat("any") {
            return Ok(0);
        }
        let at = self.at;
        match self.number()? {
            0 => Err(self.error_at(at, "a block of no threads", "expected 1 or more, or `any`")),
            n => Ok(n),
        }
    }

    fn signed<T: TryFrom<i64>>(&mut self) -> Result<T> {
        let negative = self.eat_char('-');
        let at = self.at;
        let n = self.number::<u32>()?;
        let n = if negative { -i64::from(n) } else { i64::from(n) };
        T::try_from(n).map_err(|_| self.error_at(at, "a number is out of range", "too large here"))
    }

    /// A number directly behind a letter, as in `b5`.
    fn tagged<T: TryFrom<u64>>(&mut self, tag: char, what: &str) -> Result<T> {
        let w = self.peek_word();
        let n = w.strip_prefix(tag).and_then(|n| n.parse::<u64>().ok()).and_then(|n| T::try_from(n).ok());
        let n = n.ok_or_else(|| self.error(what))?;
        self.at += w.len();
        Ok(n)
    }

    /// Refuses numbers of values and blocks that are out of proportion.
    fn in_range(&self, n: u32, at: usize, what: &str) -> Result<()> {
        let limit = max_number(self.text.len());
        if n < limit {
            return Ok(());
        }
        Err(self.error_at(
            at,
            &format!("{what} numbers of a text of this length stay below {limit}"),
            "this one does not",
        ))
    }

    fn block_id(&mut self, body: &mut Body) -> Result<BlockId> {
        let at = self.at;
        let n: u32 = self.tagged('b', "a block (`b0`)")?;
        self.in_range(n, at, "block")?;
        while body.func.blocks.len() <= n as usize {
            body.func.detached_block();
        }
        Ok(BlockId::from_u32(n))
    }

    fn value(&mut self, body: &mut Body) -> Result<ValueId> {
        self.skip();
        let at = self.at;
        self.expect_char('%')?;
        let w = self.peek_word();
        let class = match w.chars().next() {
            Some('r') => Class::Gpr,
            Some('p') => Class::Pred,
            Some('c') => Class::Carry,
            _ => return Err(self.error("`r`, `p` or `c` and a number")),
        };
        let n: u32 = self.tagged(class.letter(), "a value number")?;
        self.in_range(n, at, "value")?;
        while body.func.values.len() <= n as usize {
            body.func.new_value(Class::Gpr);
        }
        let v = ValueId::from_u32(n);
        if body.defined.insert(n, ()).is_none() {
            body.func.values[v].class = class;
        } else if body.func.values[v].class != class {
            return Err(self.error_at(at, "a value has one class", "it had another class before"));
        }
        Ok(v)
    }

    /// Values up to a closing character, which is consumed.
    fn list(&mut self, body: &mut Body, close: char) -> Result<Vec<ValueId>> {
        let mut list = Vec::new();
        while !self.eat_char(close) {
            list.push(self.value(body)?);
        }
        Ok(list)
    }

    /// `#`, one value, or several in braces.
    fn group(&mut self, body: &mut Body) -> Result<Vec<ValueId>> {
        if self.eat_char('#') {
            Ok(Vec::new())
        } else if self.eat_char('{') {
            self.list(body, '}')
        } else {
            Ok(vec![self.value(body)?])
        }
    }

    /// A function that is compiled separately.
    fn declaration(&mut self) -> Result<Function> {
        let mut f = self.head()?.func;
        f.linkage = Linkage::Declared;
        f.new_block();
        Ok(f)
    }

    /// Name, parameters and results.
    fn head(&mut self) -> Result<Body> {
        let name = self.word("a function's name")?;
        let mut body = Body { func: Function::new(name), defined: FxHashMap::default() };
        self.expect_char('(')?;
        let params = self.list(&mut body, ')')?;
        for &v in &params {
            self.define(&mut body, v, Def::Func)?;
        }
        body.func.params = params;
        if self.eat_char('-') {
            self.expect_char('>')?;
            let at = self.at;
            for c in self.word("result classes")?.chars() {
                let class = [Class::Gpr, Class::Pred, Class::Carry].into_iter().find(|k| k.letter() == c);
                body.func.results.push(class.ok_or_else(|| {
                    self.error_at(at, "result classes are letters r, p, c", "not one of them")
                })?);
            }
        }
        Ok(body)
    }

    fn function(&mut self) -> Result<Function> {
        let mut body = self.head()?;
        if self.eat("in") {
            for _ in 0..body.func.results.len() {
                body.func.result_regs.push(self.number()?);
            }
        }
        if self.eat("local") {
            body.func.local_bytes = self.number()?;
        }
        // What holds of each parameter, in their order.
        while self.eat("given") {
            let min = self.number()?;
            self.expect("to")?;
            let max = self.number()?;
            self.expect("align")?;
            let align = self.align()?;
            body.func.param_facts.push(ParamFact { align, min, max, uniform: self.eat("uniform") });
        }
        self.expect_char('{')?;
        while !self.eat_char('}') {
            self.block(&mut body)?;
        }
        for &b in &body.func.layout {
            let block = &body.func.blocks[b];
            let mut merge = block.merge;
            let named = block.term.successors().chain(merge.blocks_mut().map(|b| *b));
            if let Some(missing) = named.into_iter().find(|&t| body.func.blocks[t].term_loc.0.is_none()) {
                let message = format!("b{} is named but not defined", missing.as_u32());
                return Err(self.error_at(self.at, &message, "the function ends here"));
            }
        }
        if body.func.layout.is_empty() {
            return Err(self.error("at least one block"));
        }
        Ok(body.func)
    }

    fn define(&mut self, body: &mut Body, v: ValueId, def: Def) -> Result<()> {
        if body.func.values[v].def != Def::None {
            let message = format!("%{}{} is defined twice", body.func.class(v).letter(), v.as_u32());
            return Err(self.error_at(self.at, &message, "second definition before here"));
        }
        body.func.values[v].def = def;
        Ok(())
    }

    fn block(&mut self, body: &mut Body) -> Result<()> {
        self.skip();
        let at = self.at;
        let b = self.block_id(body)?;
        if std::mem::replace(&mut body.func.blocks[b].term_loc, Loc(Some(Span::new(at, self.at)))).0.is_some()
        {
            return Err(self.error_at(at, "a block is defined twice", "second definition"));
        }
        body.func.layout.push(b);
        if self.eat_char('(') {
            let params = self.list(body, ')')?;
            for &v in &params {
                self.define(body, v, Def::Block(b))?;
            }
            body.func.blocks[b].params = params;
        }
        self.expect_char(':')?;
        if self.eat("loop") {
            self.expect("exit")?;
            let exit = self.block_id(body)?;
            self.expect("cont")?;
            let cont = self.block_id(body)?;
            body.func.blocks[b].merge = Merge::Loop { exit, cont };
        }
        loop {
            if let Some(term) = self.term(body)? {
                body.func.blocks[b].term = term;
                break;
            }
            let inst = self.inst(body)?;
            let mut defs = Vec::new();
            inst.for_defs(|v| defs.push(v));
            let id = body.func.insts.next_key();
            for v in defs {
                self.define(body, v, Def::Inst(id))?;
            }
            body.func.append(b, inst);
        }
        if self.eat("join") {
            let join = self.block_id(body)?;
            body.func.blocks[b].merge = Merge::If { join };
        }
        Ok(())
    }

    fn edge(&mut self, body: &mut Body) -> Result<Edge> {
        let to = self.block_id(body)?;
        let args = if self.eat_char('(') { self.list(body, ')')? } else { Vec::new() };
        Ok(Edge { to, args })
    }

    fn term(&mut self, body: &mut Body) -> Result<Option<Term>> {
        Ok(Some(if self.eat("jump") {
            Term::Jump(self.edge(body)?)
        } else if self.eat("if") {
            let not = self.eat_char('!');
            let cond = self.value(body)?;
            Term::Branch { cond, not, then: self.edge(body)?, els: self.edge(body)? }
        } else if self.eat("ret") {
            Term::Ret(if self.eat_char('{') { self.list(body, '}')? } else { Vec::new() })
        } else if self.eat("exit") {
            Term::Exit
        } else if self.eat("unreachable") {
            Term::Unreachable
        } else {
            return Ok(None);
        }))
    }

    fn ty(&mut self) -> Option<Type> {
        let w = self.peek_word();
        let ty = Type::ALL.into_iter().find(|t| t.name() == w)?;
        self.at += w.len();
        Some(ty)
    }

    fn inst(&mut self, body: &mut Body) -> Result<Inst> {
        self.skip();
        let start = self.at;
        let guard = if self.eat_char('@') {
            let not = self.eat_char('!');
            Some(Guard { pred: self.value(body)?, not })
        } else {
            None
        };
        let at = self.at;
        let word = self.word("an instruction or the end of the block")?;
        // The longest operation name that the word begins with: some contain points.
        let op = Op::ALL
            .iter()
            .copied()
            .filter(|o| word.strip_prefix(o.name()).is_some_and(|r| r.is_empty() || r.starts_with('.')))
            .max_by_key(|o| o.name().len())
            .ok_or_else(|| self.error_at(at, &format!("no operation `{word}`"), "`nvir ir` lists all"))?;
        let mut i = Inst::new(op, Type::U32);
        i.guard = guard;
        self.modifiers(&mut i, &word[op.name().len()..], at)?;
        i.ty = self.ty().ok_or_else(|| self.error("a type"))?;
        i.sty = self.ty().unwrap_or(i.ty);
        let dsts = self.group(body)?;
        let row = op.row();
        if row.detail == Detail::Call {
            let func = FuncId::from_u32(self.tagged('f', "a function (`f1`)")?);
            self.calls.push((func, Span::new(at, self.at)));
            self.expect_char('{')?;
            let args = self.list(body, '}')?;
            let known = [Effects::None, Effects::Reads].into_iter().find(|e| self.eat(e.name()));
            let effects = known.unwrap_or(Effects::Any);
            i.ext = Some(Box::new(Ext::Call(Call { effects, ..Call::new(func, args, dsts) })));
        } else {
            if dsts.len() > 5 {
                return Err(self.error_at(start, "too many destinations", "at most five"));
            }
            i.dsts.extend(dsts);
        }
        if row.detail == Detail::Sv {
            self.expect("sv")?;
            self.expect_char('[')?;
            let at = self.at;
            let name = self.word("a system value")?;
            let sv = Sv::from_name(name)
                .ok_or_else(|| self.error_at(at, "no such system value", "unknown name"))?;
            i.aux = Aux::Sv(sv);
            self.expect_char(']')?;
        }
        if op.is(op::MEMORY) {
            i.mem = Some(self.mem(body)?);
            if self.eat("known") {
                i.known = self.align()?;
            }
        }
        match row.detail {
            Detail::Tex => i.ext = Some(Box::new(Ext::Tex(self.tex(body)?))),
            Detail::Surf => i.ext = Some(Box::new(Ext::Surf(self.surf(body)?))),
            _ => {}
        }
        while let Some(s) = self.src(body)? {
            if i.srcs.is_full() {
                return Err(self.error_at(start, "too many operands", "at most four"));
            }
            i.srcs.push(s);
        }
        i.loc = Loc(Some(Span::new(start, self.at)));
        Ok(i)
    }

    fn modifiers(&mut self, i: &mut Inst, text: &str, at: usize) -> Result<()> {
        let mut parts = text.split('.').skip(1).peekable();
        let op = i.op;
        let bad = |p: &mut Self, m: &str| p.error_at(at, &format!("`{op}` has no modifier `{m}`"), "here");
        let row = op.row();
        if row.is(row::COND) {
            let name = parts.next().unwrap_or("");
            i.cond = Cond::ALL.into_iter().find(|c| c.name() == name).ok_or_else(|| bad(self, name))?;
        }
        if row.is(row::LOGIC)
            && let Some(l) = parts.peek().and_then(|&n| Logic::ALL.into_iter().find(|l| l.name() == n))
        {
            i.logic = l;
            parts.next();
        }
        fn number<T: std::str::FromStr>(m: &str, tag: char) -> Option<T> {
            m.strip_prefix(tag)?.parse().ok()
        }
        while let Some(m) = parts.next() {
            if let Some(r) = Rnd::ALL.into_iter().find(|r| r.name() == m) {
                i.rnd = r;
                continue;
            }
            match (row.detail, m) {
                (_, "sat") => i.sat = true,
                (_, "ftz") => i.ftz = true,
                (_, "exact") => i.exact = true,
                (Detail::Part, "int") => i.aux = Aux::Integral,
                (Detail::Wrap, "wrap") => i.aux = Aux::Wrap,
                (Detail::Shift, "shift") => i.aux = Aux::Shift,
                (Detail::Subfm, "3d") => i.aux = Aux::Subfm { three_d: true },
                (Detail::Atom, m) => i.aux = Aux::Atom(AtomOp::from_name(m).ok_or_else(|| bad(self, m))?),
                (Detail::Bar, m) => i.aux = Aux::Bar(BarOp::from_name(m).ok_or_else(|| bad(self, m))?),
                (Detail::Scope, m) => i.aux = Aux::Scope(Scope::from_name(m).ok_or_else(|| bad(self, m))?),
                (Detail::Vote, m) => i.aux = Aux::Vote(VoteOp::from_name(m).ok_or_else(|| bad(self, m))?),
                (Detail::Shfl, m) => i.aux = Aux::Shfl(ShflOp::from_name(m).ok_or_else(|| bad(self, m))?),
                (Detail::Part, m) => i.aux = Aux::Byte(number(m, 'b').ok_or_else(|| bad(self, m))?),
                (Detail::Count, m) => i.aux = Aux::Count(number(m, 'n').ok_or_else(|| bad(self, m))?),
                (Detail::Madsp, m) => i.aux = Aux::Madsp(number(m, 'm').ok_or_else(|| bad(self, m))?),
                (Detail::Pixel, m) => i.aux = Aux::Pixel(PixelOp::from_name(m).ok_or_else(|| bad(self, m))?),
                (Detail::Emit, m) => i.aux = Aux::Emit(EmitOp::from_name(m).ok_or_else(|| bad(self, m))?),
                (Detail::Fact, m) => i.aux = Aux::Fact(Fact::from_name(m).ok_or_else(|| bad(self, m))?),
                (Detail::Interp, m) => {
                    let mode = InterpMode::from_name(m).ok_or_else(|| bad(self, m))?;
                    let at = parts.next().unwrap_or("");
                    let at = InterpAt::from_name(at).ok_or_else(|| bad(self, at))?;
                    i.aux = Aux::Interp(Interp { mode, at });
                }
                (Detail::Quad, m) => {
                    let lane = number(m, 'q').ok_or_else(|| bad(self, m))?;
                    let ops = parts.next().and_then(|n| n.parse().ok()).ok_or_else(|| bad(self, m))?;
                    i.aux = Aux::Quad { lane, ops };
                }
                (Detail::Suclamp, m) => {
                    let mode = number(m, 'm').ok_or_else(|| bad(self, m))?;
                    let two_d = parts.next_if_eq(&"2d").is_some();
                    let signed = parts.next_if_eq(&"s").is_some();
                    // A negative amount begins with `n`.
                    let n = parts.next().unwrap_or("0");
                    let amount = n.strip_prefix('n').map_or_else(|| n.to_string(), |n| format!("-{n}"));
                    let imm = amount.parse().map_err(|_| bad(self, n))?;
                    i.aux = Aux::Suclamp { mode, two_d, signed, imm };
                }
                _ => return Err(bad(self, m)),
            }
        }
        if row.detail == Detail::Subfm && i.aux == Aux::None {
            i.aux = Aux::Subfm { three_d: false };
        }
        Ok(())
    }

    /// `16`, or `16+4`: modulus and rest.
    fn align(&mut self) -> Result<Align> {
        let at = self.at;
        let mul: u64 = self.number()?;
        if !mul.is_power_of_two() || mul > 1 << 32 {
            return Err(self.error_at(at, "an alignment is a power of two up to 2^32", "not one"));
        }
        let rest = if self.eat_char('+') { self.number()? } else { 0 };
        Ok(Align { log2: mul.trailing_zeros() as u8, rest })
    }

    fn mem(&mut self, body: &mut Body) -> Result<MemRef> {
        let at = self.at;
        let word = self.word("a memory operand (`g[..]`)")?;
        let (letter, number) = word.split_at(1);
        let space = Space::ALL
            .into_iter()
            .find(|s| s.name() == letter)
            .ok_or_else(|| self.error_at(at, "no such memory space", "one of g s l c b x u a o p q"))?;
        let mut m = MemRef::new(space);
        if !number.is_empty() {
            m.buffer =
                number.parse().map_err(|_| self.error_at(at, "no such buffer", "a number up to 65535"))?;
        } else if self.eat_char('(') {
            m.index = Some(self.value(body)?);
            self.expect_char('+')?;
            m.buffer = self.number()?;
            self.expect_char(')')?;
        }
        self.expect_char('[')?;
        if matches!(self.rest().chars().next(), Some('%' | '{')) {
            let at = self.at;
            let base = self.group(body)?;
            if base.len() > 2 {
                return Err(self.error_at(at, "an address has at most two words", "too many"));
            }
            m.set_base(&base);
            if self.eat_char('-') {
                m.offset = (self.number::<u32>()? as i32).wrapping_neg();
            } else {
                self.expect_char('+')?;
                m.offset = self.number::<u32>()? as i32;
            }
        } else {
            m.offset = self.number::<u32>()? as i32;
        }
        while !self.eat_char(']') {
            if self.eat("align") {
                m.align = self.align()?;
            } else if self.eat("coherent") {
                m.order = Order::Coherent;
            } else if self.eat("volatile") {
                m.order = Order::Volatile;
            } else if self.eat("readonly") {
                m.readonly = true;
            } else {
                return Err(self.error("`]`, `align`, `coherent`, `volatile` or `readonly`"));
            }
        }
        Ok(m)
    }

    /// The next source operand, if the next thing is one.
    fn src(&mut self, body: &mut Body) -> Result<Option<Src>> {
        let rest = self.rest();
        let first = rest.trim_start_matches(['-', '~', '|']).chars().next();
        let constant =
            rest.trim_start_matches(['-', '~', '|']).strip_prefix('c').and_then(|r| r.chars().next());
        let is_src = matches!(first, Some('%' | '{')) || first.is_some_and(|c| c.is_ascii_digit());
        if !is_src && !constant.is_some_and(|c| c.is_ascii_digit()) {
            return Ok(None);
        }
        let mods = SrcMods { neg: self.eat_char('-'), inv: self.eat_char('~'), abs: self.eat_char('|') };
        let kind = if matches!(self.rest().chars().next(), Some('%' | '{')) {
            let at = self.at;
            let list = self.group(body)?;
            if !(1..=4).contains(&list.len()) {
                return Err(self.error_at(at, "a tuple has one to four values", "this one does not"));
            }
            Src::tuple(&list).kind
        } else if self.rest().starts_with('c') {
            let bank = self.tagged('c', "a constant bank")?;
            self.expect_char('[')?;
            let offset = self.number()?;
            self.expect_char(']')?;
            SrcKind::Const { bank, offset }
        } else {
            let at = self.at;
            let n = self.number64()?;
            if self.eat_char(':') {
                self.expect("64")?;
                SrcKind::Imm64([n as u32, (n >> 32) as u32])
            } else {
                let n = u32::try_from(n);
                SrcKind::Imm(
                    n.map_err(|_| self.error_at(at, "a 32-bit immediate is too large", "write `:64`"))?,
                )
            }
        };
        if mods.abs {
            self.expect_char('|')?;
        }
        Ok(Some(Src { kind, mods }))
    }

    fn named<T>(&mut self, what: &str, from: impl Fn(&str) -> Option<T>) -> Result<T> {
        let w = self.peek_word();
        let value = from(w).ok_or_else(|| self.error(what))?;
        self.at += w.len();
        Ok(value)
    }

    fn braced(&mut self, body: &mut Body) -> Result<Vec<ValueId>> {
        self.expect_char('=')?;
        self.expect_char('{')?;
        self.list(body, '}')
    }

    fn tex(&mut self, body: &mut Body) -> Result<Tex> {
        self.expect_char('[')?;
        let op = self.named("a texture operation", TexOp::from_name)?;
        let dim = self.named("a texture target", Dim::from_name)?;
        let mut t = Tex {
            op,
            dim,
            array: self.eat("array"),
            shadow: self.eat("shadow"),
            level_zero: self.eat("lz"),
            indirect: self.eat("indirect"),
            machine_offsets: self.eat("offsets"),
            texture: self.tagged('t', "a texture (`t0`)")?,
            sampler: self.tagged('s', "a sampler (`s0`)")?,
            mask: 0,
            component: 0,
            offset: None,
            ty: Type::F32,
            operands: Vec::new(),
        };
        self.expect("mask")?;
        t.mask = self.number()?;
        self.expect("comp")?;
        t.component = self.number()?;
        t.ty = self.ty().ok_or_else(|| self.error("a type"))?;
        if self.eat("at") {
            t.offset = Some([self.signed()?, self.signed()?, self.signed()?]);
        }
        while !self.eat_char(']') {
            let role = self.named("an operand's role or `]`", TexRole::from_name)?;
            t.operands.push((role, self.braced(body)?));
        }
        Ok(t)
    }

    fn image_format(&mut self) -> Result<Format> {
        let word = self.peek_word();
        let (start, end) = (self.at, self.at + word.len());
        self.at = end;
        word.parse().map_err(|e: UnknownFormat| e.at(Span::new(start, end)))
    }

    fn surf(&mut self, body: &mut Body) -> Result<Surf> {
        self.expect_char('[')?;
        let dim = self.named("an image target", Dim::from_name)?;
        let array = self.eat("array");
        let image = self.tagged('i', "an image (`i0`)")?;
        self.expect("mask")?;
        let mask = self.number()?;
        let ty = self.ty().ok_or_else(|| self.error("a type"))?;
        let mut s = Surf {
            dim,
            array,
            image,
            index: None,
            handle: None,
            format: None,
            mask,
            ty,
            atom: None,
            coords: Vec::new(),
            sample: None,
            data: Vec::new(),
            order: Order::Weak,
            machine: None,
        };
        while !self.eat_char(']') {
            if self.eat("format") {
                s.format = Some(self.image_format()?);
            } else if self.eat("atom") {
                s.atom = Some(self.named("an atomic operation", AtomOp::from_name)?);
            } else if self.eat("coherent") {
                s.order = Order::Coherent;
            } else if self.eat("volatile") {
                s.order = Order::Volatile;
            } else if self.eat("machine") {
                let shape = self.named("a shape (`1d`, `2d`, `layers`)", SurfShape::from_name)?;
                let access = self.named("`texel`, `bytes` or `address`", SurfAccess::from_name)?;
                s.machine = Some(SurfMachine { shape, access });
            } else if self.eat("index") {
                s.index = self.braced(body)?.first().copied();
            } else if self.eat("handle") {
                s.handle = self.braced(body)?.first().copied();
            } else if self.eat("sample") {
                s.sample = self.braced(body)?.first().copied();
            } else if self.eat("coords") {
                s.coords = self.braced(body)?;
            } else if self.eat("data") {
                s.data = self.braced(body)?;
            } else {
                return Err(self.error("`]` or a detail of the image access"));
            }
        }
        Ok(s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[track_caller]
    fn round_trips(text: &str) {
        match program(text) {
            Ok(p) => assert_eq!(p.to_string(), text),
            Err(d) => panic!("{d:?}"),
        }
    }

    #[test]
    fn every_form_of_operand_prints_as_it_was_read() {
        round_trips(
            "program block 64 1 1 shared 1024

kernel main() local 16 {
b0:
    rdsv u32 %r0 sv[tid.x]
    set.lt pred u32 %p1 %r0 0x10
    set.geu.or f32 %r2 |%r0| -c3[0x10] ~%p1
    add u32 {%r3 %c4} %r0 -%r2
    add u32 %r5 %r0 0x0 %c4
    mad f64 {%r6 %r7} -{%r0 %r2} {%r3 %r5} 0x3ff0000000000000:64
    cvt.b1.sat.rz u8 u32 %r8 %r0
    @!%p1 st b128 # g[{%r6 %r7}-0x8 align 16+8 volatile] {%r0 %r2 %r3 %r5}
    ld u32 %r9 c(%r0+1)[%r2+0x10 readonly]
    atom.cas u32 %r10 s[0x40] %r0 %r2
    suclamp.m3.2d.s.n5 u32 {%r11 %p12} %r0 %r2 %r3
    tex f32 {%r13 %r14} [txl 2d array shadow t3 s4 mask 0x3 comp 0 f32 at 1 -2 0 coord={%r0 %r2} lod={%r3}]
    sust u32 # [2d i1 mask 0xf u32 format rgba8_snorm coherent coords={%r0 %r2} data={%r0 %r0 %r0 %r0}]
    call u32 {%r15 %r16} f1{%r0 %p1}
    shf.l u32 %r17 %r0 0x3 %r2
    if !%p1 b1(%r0) b2 join b2
b1(%r18): loop exit b2 cont b1
    bar.sync u32 #
    if %p1 b1(%r18) b2
b2:
    exit
}

sub helper(%r0 %p1) -> rr {
b0:
    ret {%r0 %r0}
}
",
        );
    }

    #[test]
    fn errors_name_the_place_and_what_was_expected() {
        let e = program("program\nkernel main() {\nb0:\n    frob u32 # %r0\n    exit\n}\n")
            .expect_err("no such operation");
        assert_eq!(e.message, "IR text: no operation `frob`");
        let e = program("program\nkernel main() {\nb0:\n    mov u32 %r99999999 0x0\n")
            .expect_err("number too large");
        assert_eq!(e.message, "IR text: value numbers of a text of this length stay below 7616");
        let e = program("program\nkernel main() {\nb1048576:\n    exit\n}\n")
            .expect_err("a table of a million blocks");
        assert!(e.message.starts_with("IR text: block numbers of a text of this length"), "{}", e.message);
        let e = program("program\nkernel main() {\nb0:\n mov u32 %r1 0x0\n mov u32 %r1 0x0\n exit\n}")
            .expect_err("twice");
        assert_eq!(e.message, "IR text: %r1 is defined twice");
        let e = program("program\nstage frag\ninput GENERIC[0] xyzw over_w\nkernel main() {\nb0:\n exit\n}")
            .expect_err("no mode of an attribute");
        let label = e.primary.map(|(_, label)| label);
        assert_eq!(label.as_deref(), Some("expected a mode of interpolation"));
    }

    #[test]
    fn truncated_text_is_an_error_and_never_a_panic() {
        let text = "program\n\nkernel main() {\nb0:\n    add u32 {%r3 %c4} %r0 -%r2\n    exit\n}\n";
        for end in 0..text.len() - 2 {
            assert!(program(&text[..end]).is_err(), "{:?}", &text[..end]);
        }
    }
}
