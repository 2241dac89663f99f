//! The IR listing.
//!
//! It keeps nv50_ir's look: operation, modifiers behind points, type, destination, operands.
//! Several destinations or the words of a tuple stand in braces, `#` is no destination.
//! [`super::parse`] reads it back to the same program, numbers included.
//!
//! ```text
//! program block 64 1 1 shared 1024
//!
//! kernel main() {
//! b0:
//!     rdsv u32 %r0 sv[tid.x]
//!     set.lt pred u32 %p1 %r0 0x10
//!     if %p1 b1 b2 join b3
//! b1:
//!     ld u64 {%r2 %r3} g[{%r4 %r5}+0x8 align 8]
//!     jump b3(%r2)
//! ...
//! ```

use super::op::row;
use super::*;
use std::fmt::{self, Display, Formatter, Write};

impl Class {
    /// The letter of values of this class in the listing.
    pub const fn letter(self) -> char {
        match self {
            Class::Gpr => 'r',
            Class::Pred => 'p',
            Class::Carry => 'c',
        }
    }
}

/// A value with its class: `%r5`.
struct Val<'a>(&'a Function, ValueId);

impl Display for Val<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let class = self.0.values.get(self.1).map_or('?', |v| v.class.letter());
        write!(f, "%{class}{}", self.1.as_u32())
    }
}

/// Several values: one bare, others in braces, none as `#`.
fn values(f: &mut Formatter<'_>, func: &Function, list: &[ValueId]) -> fmt::Result {
    match list {
        [] => f.write_str("#"),
        [v] => write!(f, "{}", Val(func, *v)),
        many => braces(f, func, many),
    }
}

fn braces(f: &mut Formatter<'_>, func: &Function, list: &[ValueId]) -> fmt::Result {
    f.write_char('{')?;
    for (i, v) in list.iter().enumerate() {
        write!(f, "{}{}", if i > 0 { " " } else { "" }, Val(func, *v))?;
    }
    f.write_char('}')
}

fn src(f: &mut Formatter<'_>, func: &Function, s: &Src) -> fmt::Result {
    if s.mods.neg {
        f.write_char('-')?;
    }
    if s.mods.inv {
        f.write_char('~')?;
    }
    if s.mods.abs {
        f.write_char('|')?;
    }
    match s.kind {
        SrcKind::Imm(x) => write!(f, "{x:#x}")?,
        SrcKind::Imm64([lo, hi]) => write!(f, "{:#x}:64", u64::from(lo) | u64::from(hi) << 32)?,
        SrcKind::Const { bank, offset } => write!(f, "c{bank}[{offset:#x}]")?,
        _ => values(f, func, s.values())?,
    }
    if s.mods.abs {
        f.write_char('|')?;
    }
    Ok(())
}

fn align(f: &mut Formatter<'_>, a: Align) -> fmt::Result {
    write!(f, "{}", 1u64 << a.log2)?;
    if a.rest != 0 { write!(f, "+{}", a.rest) } else { Ok(()) }
}

fn mem(f: &mut Formatter<'_>, func: &Function, m: &MemRef) -> fmt::Result {
    f.write_str(m.space.name())?;
    if let Some(index) = m.index {
        write!(f, "({}+{})", Val(func, index), m.buffer)?;
    } else if matches!(m.space, Space::Const | Space::Buffer | Space::Uniform) {
        write!(f, "{}", m.buffer)?;
    }
    f.write_char('[')?;
    let base = m.base();
    if base.is_empty() {
        write!(f, "{:#x}", m.offset)?;
    } else {
        values(f, func, &base)?;
        let sign = if m.offset < 0 { '-' } else { '+' };
        write!(f, "{sign}{:#x}", m.offset.unsigned_abs())?;
    }
    if m.align != Align::ANY {
        f.write_str(" align ")?;
        align(f, m.align)?;
    }
    match m.order {
        Order::Weak => {}
        Order::Coherent => f.write_str(" coherent")?,
        Order::Volatile => f.write_str(" volatile")?,
    }
    if m.readonly {
        f.write_str(" readonly")?;
    }
    f.write_char(']')
}

fn modifiers(f: &mut Formatter<'_>, i: &Inst) -> fmt::Result {
    let row = i.op.row();
    if row.is(row::COND) {
        write!(f, ".{}", i.cond.name())?;
    }
    if row.is(row::LOGIC) && i.srcs.len() > 2 {
        write!(f, ".{}", i.logic.name())?;
    }
    match i.aux {
        Aux::None | Aux::Sv(_) => {}
        Aux::Atom(x) => write!(f, ".{}", x.name())?,
        Aux::Bar(x) => write!(f, ".{}", x.name())?,
        Aux::Scope(x) => write!(f, ".{}", x.name())?,
        Aux::Vote(x) => write!(f, ".{}", x.name())?,
        Aux::Shfl(x) => write!(f, ".{}", x.name())?,
        Aux::Byte(n) => write!(f, ".b{n}")?,
        Aux::Integral => f.write_str(".int")?,
        Aux::Wrap => f.write_str(".wrap")?,
        Aux::Shift => f.write_str(".shift")?,
        Aux::Quad { lane, ops } => write!(f, ".q{lane}.{ops}")?,
        Aux::Count(n) => write!(f, ".n{n}")?,
        Aux::Suclamp { mode, two_d, signed, imm } => {
            write!(f, ".m{mode}{}{}", if two_d { ".2d" } else { "" }, if signed { ".s" } else { "" })?;
            write!(f, ".{}{}", if imm < 0 { "n" } else { "" }, imm.unsigned_abs())?;
        }
        Aux::Subfm { three_d } => f.write_str(if three_d { ".3d" } else { "" })?,
        Aux::Madsp(n) => write!(f, ".m{n}")?,
        Aux::Interp(x) => write!(f, ".{}.{}", x.mode.name(), x.at.name())?,
        Aux::Pixel(x) => write!(f, ".{}", x.name())?,
        Aux::Emit(x) => write!(f, ".{}", x.name())?,
        Aux::Fact(x) => write!(f, ".{}", x.name())?,
    }
    for (on, name) in [(i.sat, "sat"), (i.ftz, "ftz"), (i.exact, "exact")] {
        if on {
            write!(f, ".{name}")?;
        }
    }
    if i.rnd != Rnd::Near {
        write!(f, ".{}", i.rnd.name())?;
    }
    Ok(())
}

fn tex(f: &mut Formatter<'_>, func: &Function, t: &Tex) -> fmt::Result {
    write!(f, "[{} {}", t.op.name(), t.dim.name())?;
    for (on, name) in [
        (t.array, "array"),
        (t.shadow, "shadow"),
        (t.level_zero, "lz"),
        (t.indirect, "indirect"),
        (t.machine_offsets, "offsets"),
    ] {
        if on {
            write!(f, " {name}")?;
        }
    }
    write!(f, " t{} s{} mask {:#x} comp {} {}", t.texture, t.sampler, t.mask, t.component, t.ty)?;
    if let Some([x, y, z]) = t.offset {
        write!(f, " at {x} {y} {z}")?;
    }
    for (role, list) in &t.operands {
        write!(f, " {}=", role.name())?;
        braces(f, func, list)?;
    }
    f.write_char(']')
}

fn surf(f: &mut Formatter<'_>, func: &Function, s: &Surf) -> fmt::Result {
    write!(f, "[{}", s.dim.name())?;
    if s.array {
        f.write_str(" array")?;
    }
    write!(f, " i{} mask {:#x} {}", s.image, s.mask, s.ty)?;
    if let Some(format) = s.format {
        write!(f, " format {format}")?;
    }
    if let Some(atom) = s.atom {
        write!(f, " atom {}", atom.name())?;
    }
    match s.order {
        Order::Weak => {}
        Order::Coherent => f.write_str(" coherent")?,
        Order::Volatile => f.write_str(" volatile")?,
    }
    if let Some(m) = s.machine {
        write!(f, " machine {} {}", m.shape.name(), m.access.name())?;
    }
    let one = |v: &Option<ValueId>| v.iter().copied().collect::<Vec<_>>();
    for (name, list) in [
        ("index", one(&s.index)),
        ("handle", one(&s.handle)),
        ("coords", s.coords.clone()),
        ("sample", one(&s.sample)),
        ("data", s.data.clone()),
    ] {
        if !list.is_empty() {
            write!(f, " {name}=")?;
            braces(f, func, &list)?;
        }
    }
    f.write_char(']')
}

/// An instruction of a function, as one line.
pub(crate) struct InstText<'a>(pub &'a Function, pub &'a Inst);

impl Display for InstText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let InstText(func, i) = *self;
        if let Some(g) = i.guard {
            write!(f, "@{}{} ", if g.not { "!" } else { "" }, Val(func, g.pred))?;
        }
        f.write_str(i.op.name())?;
        modifiers(f, i)?;
        write!(f, " {}", i.ty)?;
        if i.sty != i.ty {
            write!(f, " {}", i.sty)?;
        }
        f.write_char(' ')?;
        match i.call() {
            Some(c) => values(f, func, &c.results)?,
            None => values(f, func, &i.dsts)?,
        }
        if let Aux::Sv(sv) = i.aux {
            write!(f, " sv[{}]", sv.name())?;
        }
        if let Some(m) = &i.mem {
            f.write_char(' ')?;
            mem(f, func, m)?;
        }
        if i.known != Align::ANY {
            f.write_str(" known ")?;
            align(f, i.known)?;
        }
        match i.ext.as_deref() {
            None => {}
            Some(Ext::Call(c)) => {
                write!(f, " f{}", c.func.as_u32())?;
                braces(f, func, &c.args)?;
                if c.effects != Effects::Any {
                    write!(f, " {}", c.effects.name())?;
                }
            }
            Some(Ext::Tex(t)) => {
                f.write_char(' ')?;
                tex(f, func, t)?;
            }
            Some(Ext::Surf(s)) => {
                f.write_char(' ')?;
                surf(f, func, s)?;
            }
        }
        for s in &i.srcs {
            f.write_char(' ')?;
            src(f, func, s)?;
        }
        Ok(())
    }
}

struct EdgeText<'a>(&'a Function, &'a Edge);

impl Display for EdgeText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let EdgeText(func, e) = *self;
        write!(f, "b{}", e.to.as_u32())?;
        if e.args.is_empty() { Ok(()) } else { params(f, func, &e.args) }
    }
}

fn params(f: &mut Formatter<'_>, func: &Function, list: &[ValueId]) -> fmt::Result {
    f.write_char('(')?;
    for (i, v) in list.iter().enumerate() {
        write!(f, "{}{}", if i > 0 { " " } else { "" }, Val(func, *v))?;
    }
    f.write_char(')')
}

fn term(f: &mut Formatter<'_>, func: &Function, b: &Block) -> fmt::Result {
    match &b.term {
        Term::Jump(e) => write!(f, "jump {}", EdgeText(func, e))?,
        Term::Branch { cond, not, then, els } => {
            let (then, els) = (EdgeText(func, then), EdgeText(func, els));
            write!(f, "if {}{} {then} {els}", if *not { "!" } else { "" }, Val(func, *cond))?;
        }
        Term::Ret(list) if list.is_empty() => f.write_str("ret")?,
        Term::Ret(list) => {
            f.write_str("ret ")?;
            braces(f, func, list)?;
        }
        Term::Exit => f.write_str("exit")?,
        Term::Unreachable => f.write_str("unreachable")?,
    }
    if let Merge::If { join } = b.merge {
        write!(f, " join b{}", join.as_u32())?;
    }
    Ok(())
}

impl Display for Function {
    /// The body, from the parameters to the closing brace.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        params(f, self, &self.params)?;
        if !self.results.is_empty() {
            f.write_str(" -> ")?;
            self.results.iter().try_for_each(|c| f.write_char(c.letter()))?;
            if !self.result_regs.is_empty() {
                f.write_str(" in")?;
                self.result_regs.iter().try_for_each(|r| write!(f, " {r}"))?;
            }
        }
        if self.linkage == Linkage::Declared {
            return f.write_char('\n');
        }
        if self.local_bytes != 0 {
            write!(f, " local {}", self.local_bytes)?;
        }
        for fact in &self.param_facts {
            write!(f, " given {:#x} to {:#x} align ", fact.min, fact.max)?;
            align(f, fact.align)?;
            f.write_str(if fact.uniform { " uniform" } else { "" })?;
        }
        f.write_str(" {\n")?;
        for &b in &self.layout {
            let block = &self.blocks[b];
            write!(f, "b{}", b.as_u32())?;
            if !block.params.is_empty() {
                params(f, self, &block.params)?;
            }
            f.write_str(":")?;
            if let Merge::Loop { exit, cont } = block.merge {
                write!(f, " loop exit b{} cont b{}", exit.as_u32(), cont.as_u32())?;
            }
            f.write_char('\n')?;
            for &i in &block.body {
                writeln!(f, "    {}", InstText(self, &self.insts[i]))?;
            }
            f.write_str("    ")?;
            term(f, self, block)?;
            f.write_char('\n')?;
        }
        f.write_str("}\n")
    }
}

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("program")?;
        if let Some(size) = self.block_size {
            f.write_str(" block")?;
            for n in size {
                if n == 0 { f.write_str(" any")? } else { write!(f, " {n}")? }
            }
        }
        if self.whole_warps {
            f.write_str(" wholewarps")?;
        }
        for (name, n) in
            [("shared", self.shared_bytes), ("input", self.input_bytes), ("private", self.private_bytes)]
        {
            if n != 0 {
                write!(f, " {name} {n}")?;
            }
        }
        f.write_char('\n')?;
        if let Some(interface) = &self.interface {
            f.write_str(&interface.to_string())?;
        }
        for (id, func) in self.funcs.iter() {
            let kind = match func.linkage {
                Linkage::Declared => "extern",
                Linkage::Visible => "sub",
                Linkage::Internal if id == self.entry => "kernel",
                Linkage::Internal if func.library => "library",
                Linkage::Internal => "sub",
            };
            write!(f, "\n{kind} {func}")?;
        }
        Ok(())
    }
}

/// Where each line of a program's listing comes from.
pub fn places(p: &Program) -> Vec<Loc> {
    let head = p.interface.as_ref().map_or(0, |i| i.to_string().lines().count());
    let mut places = vec![Loc::default(); 1 + head];
    for func in p.funcs.values() {
        places.extend([Loc::default(); 2]);
        if func.linkage == Linkage::Declared {
            continue;
        }
        for &b in &func.layout {
            let block = &func.blocks[b];
            places.push(Loc::default());
            places.extend(block.body.iter().map(|&i| func.insts[i].loc));
            places.push(block.term_loc);
        }
        places.push(Loc::default());
    }
    places
}
