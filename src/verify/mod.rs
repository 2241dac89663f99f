//! The verifier: what every pass may rely on, checked.
//!
//! In every phase:
//! - the layout lists each block once, the entry first, and nothing jumps to the entry;
//! - every edge gives an argument of the right class for each parameter of its target;
//! - a value has one definition, [`Def`] agrees with it, and it dominates every use;
//! - an instruction is what its operation's row allows ([`op`]): types, operands, modifiers,
//!   details, destinations; what it says of an alignment is true, as far as that shows;
//! - a carry is read in the block that defines it, and no other carry is defined in between, nor
//!   stands there what lowering may expand;
//! - constructs nest, as [`Merge`] says, and the layout keeps each one's blocks together;
//! - the lanes that were asked for are told apart once, by the kernel's first branch
//!   ([`crate::whole_warp`]).
//!
//! In phase `Ssa` further: no operation, memory space or 64-bit integer arithmetic that lowering
//! removes; every load and store proves the alignment that its width needs. In phase `Legal`
//! further: no edge with arguments is critical; every instruction encodes for the chip that
//! [`for_chip`] is given, which the selector is asked.
//!
//! A violation in IR text is the input's fault, with its place ([`Violation::diagnostic`]); after a
//! pass it is a bug of ours.

mod inst;

use crate::analysis::cfg::Cfg;
use crate::chip::Chip;
use crate::diag::Diagnostic;
use crate::ir::*;
use crate::select;
use cranelift_entity::{EntitySet, SecondaryMap};

/// A broken invariant.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{function}, {place}: {message}")]
pub struct Violation {
    /// The function.
    pub function: String,
    /// Block and instruction.
    pub place: String,
    /// What is wrong.
    pub message: String,
    /// Where that is in the text that the program was read from.
    pub loc: Loc,
}

impl Violation {
    /// What to tell whoever wrote text that is not IR.
    pub(crate) fn into_diagnostic(self) -> Diagnostic {
        let d = Diagnostic::error(self.message);
        if let Some(span) = self.loc.0 { d.at(span, "here") } else { d }
    }

    /// What to tell whoever wrote the text.
    pub fn diagnostic(self) -> Diagnostic {
        let d = Diagnostic::error(format!("invalid IR in `{}`: {}", self.function, self.message));
        match self.loc.0 {
            Some(span) => d.at(span, self.message),
            None => d,
        }
    }
}

/// What a program is held against.
#[derive(Clone, Copy)]
struct Rules {
    phase: Phase,
    /// Whose machine instructions there must be in phase `Legal`.
    chip: Option<Chip>,
}

/// Checks all functions of a program but for what depends on a chip, and that calls agree with
/// their callees.
pub fn program(p: &Program, phase: Phase) -> Result<(), Violation> {
    by_rules(p, Rules { phase, chip: None })
}

/// The same; in phase `Legal`, that every instruction encodes for the chip, too.
pub fn for_chip(p: &Program, phase: Phase, chip: Chip) -> Result<(), Violation> {
    by_rules(p, Rules { phase, chip: Some(chip) })
}

fn by_rules(p: &Program, rules: Rules) -> Result<(), Violation> {
    for (_, f) in p.funcs.iter() {
        function(f, rules)?;
        for (b, i) in f.insts_in_order() {
            if p.interface.is_none() && f.insts[i].is_of_graphics() {
                let v = Verifier { f, rules, at: Some((b, Some(i))) };
                return v
                    .fail("this belongs to graphics stages: the program says of no stage that it is for it");
            }
            let Some(c) = f.insts[i].call() else { continue };
            let callee = p.funcs.get(c.func);
            let same = |values: &[ValueId], classes: Vec<Class>| {
                values.len() == classes.len() && values.iter().zip(classes).all(|(&v, k)| f.class(v) == k)
            };
            let ok = callee.is_some_and(|g| {
                same(&c.args, g.params.iter().map(|&v| g.class(v)).collect())
                    && same(&c.results, g.results.clone())
            });
            if !ok {
                let v = Verifier { f, rules, at: Some((b, Some(i))) };
                return v.fail("a call's arguments or results do not agree with its function");
            }
        }
    }
    rules_of_whole_warps(p, rules)?;
    let entry = &p.funcs[p.entry];
    let named = entry.result_regs.len() == entry.results.len();
    if p.has_kernel() && (!entry.params.is_empty() || !entry.results.is_empty() && !named) {
        return Verifier { f: entry, rules, at: None }
            .fail("the kernel has parameters, or results without registers");
    }
    let mut taken = [false; 256];
    if entry.result_regs.iter().any(|&r| std::mem::replace(&mut taken[usize::from(r)], true)) {
        return Verifier { f: entry, rules, at: None }.fail("two results of the kernel have one register");
    }
    Ok(())
}

/// Checks what a kernel may do with the lanes that were asked for, by itself: front-ends leave that
/// to it, so a violation is the input's fault.
pub fn whole_warps(p: &Program) -> Result<(), Violation> {
    rules_of_whole_warps(p, Rules { phase: Phase::Front, chip: None })
}

fn rules_of_whole_warps(p: &Program, rules: Rules) -> Result<(), Violation> {
    match crate::whole_warp::verify::broken(p) {
        None => Ok(()),
        Some((f, at, rule)) => Verifier { f, rules, at: Some(at) }.fail(rule),
    }
}

/// Checks one function by itself.
fn function(f: &Function, rules: Rules) -> Result<(), Violation> {
    let mut v = Verifier { f, rules, at: None };
    v.layout()?;
    v.edges()?;
    let cfg = Cfg::new(f);
    v.definitions(&cfg)?;
    for (b, i) in f.insts_in_order() {
        v.at = Some((b, Some(i)));
        v.inst(&f.insts[i])?;
    }
    v.carries()?;
    v.structure()?;
    if rules.phase == Phase::Legal {
        v.critical_edges(&cfg)?;
    }
    Ok(())
}

struct Verifier<'a> {
    f: &'a Function,
    rules: Rules,
    at: Option<(BlockId, Option<InstId>)>,
}

impl Verifier<'_> {
    fn fail<T>(&self, message: impl Into<String>) -> Result<T, Violation> {
        let place = match self.at {
            None => "the function".to_string(),
            Some((b, None)) => format!("{b}, terminator"),
            Some((b, Some(i))) => format!("{b}, `{}`", print::InstText(self.f, &self.f.insts[i])),
        };
        let loc = match self.at {
            Some((_, Some(i))) => self.f.insts[i].loc,
            Some((b, None)) => self.f.blocks[b].term_loc,
            None => self.f.layout.first().map_or(Loc::default(), |&b| self.f.blocks[b].term_loc),
        };
        Err(Violation { function: self.f.name.clone(), place, message: message.into(), loc })
    }

    fn layout(&mut self) -> Result<(), Violation> {
        if self.f.layout.is_empty() {
            return self.fail("there is no block");
        }
        let mut seen = EntitySet::new();
        for &b in &self.f.layout {
            if self.f.blocks.get(b).is_none() || !seen.insert(b) {
                return self.fail(format!("the layout lists {b} twice, or it does not exist"));
            }
        }
        for &b in &self.f.layout {
            self.at = Some((b, None));
            let mut merge = self.f.blocks[b].merge;
            let named: Vec<BlockId> =
                self.f.blocks[b].term.successors().chain(merge.blocks_mut().map(|b| *b)).collect();
            for t in named {
                if !seen.contains(t) {
                    return self.fail(format!("{t} is not in the layout"));
                }
                if t == self.f.entry() {
                    return self.fail("the entry is jumped to");
                }
            }
        }
        if !self.f.blocks[self.f.entry()].params.is_empty() {
            return self.fail("the entry block has parameters");
        }
        Ok(())
    }

    fn edges(&mut self) -> Result<(), Violation> {
        for &b in &self.f.layout {
            self.at = Some((b, None));
            let term = &self.f.blocks[b].term;
            for e in term.edges() {
                let params = &self.f.blocks[e.to].params;
                if e.args.len() != params.len() {
                    return self.fail(format!(
                        "{} arguments for {} parameters of {}",
                        e.args.len(),
                        params.len(),
                        e.to
                    ));
                }
                for (&a, &p) in e.args.iter().zip(params) {
                    if self.f.values.get(a).is_none_or(|d| d.class != self.f.class(p)) {
                        return self.fail(format!("argument {a} is not of the class of {p}"));
                    }
                }
            }
            match term {
                Term::Branch { cond, .. }
                    if self.f.values.get(*cond).is_none_or(|d| d.class != Class::Pred) =>
                {
                    return self.fail("the condition is not a predicate");
                }
                Term::Ret(values) => {
                    let classes = values.iter().map(|&v| self.f.values.get(v).map(|d| d.class));
                    let regs = &self.f.result_regs;
                    if !regs.is_empty() && regs.len() != values.len() {
                        return self.fail("registers are named for some of the results only");
                    }
                    if !classes.eq(self.f.results.iter().map(|&c| Some(c))) {
                        return self.fail("the returned values do not agree with the function's results");
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// One definition each, [`Def`] agrees, definitions dominate uses.
    fn definitions(&mut self, cfg: &Cfg) -> Result<(), Violation> {
        // Where a value is defined: block, and position in it (parameters: 0).
        let mut place: SecondaryMap<ValueId, Option<(BlockId, u32)>> = SecondaryMap::new();
        let entry = self.f.entry();
        for &v in &self.f.params {
            if self.f.values[v].def != Def::Func || place[v].replace((entry, 0)).is_some() {
                return self.fail(format!("parameter {v} is defined elsewhere"));
            }
        }
        for &b in &self.f.layout {
            self.at = Some((b, None));
            for &v in &self.f.blocks[b].params {
                if self.f.values[v].def != Def::Block(b) || place[v].replace((b, 0)).is_some() {
                    return self.fail(format!("parameter {v} is defined elsewhere"));
                }
            }
            for (n, &i) in self.f.blocks[b].body.iter().enumerate() {
                self.at = Some((b, Some(i)));
                let mut bad = None;
                self.f.insts[i].for_defs(|v| {
                    let known = self.f.values.get(v).is_some_and(|d| d.def == Def::Inst(i));
                    if !known || place[v].replace((b, n as u32 + 1)).is_some() {
                        bad = Some(v);
                    }
                });
                if let Some(v) = bad {
                    return self.fail(format!("{v} is defined twice, or the arena names another definition"));
                }
            }
        }
        for &b in cfg.rpo() {
            let check = |v: ValueId, at: u32| match place[v] {
                Some((d, n)) if d == b => n <= at,
                Some((d, _)) => cfg.dominates(d, b),
                None => false,
            };
            let body = &self.f.blocks[b].body;
            for (n, &i) in body.iter().enumerate() {
                let mut bad = None;
                self.f.insts[i].for_uses(|v| {
                    if !check(v, n as u32) {
                        bad = Some(v);
                    }
                });
                if let Some(v) = bad {
                    self.at = Some((b, Some(i)));
                    return self.unreached(v);
                }
            }
            let mut bad = None;
            self.f.blocks[b].term.for_uses(|v| {
                if !check(v, body.len() as u32) {
                    bad = Some(v);
                }
            });
            if let Some(v) = bad {
                self.at = Some((b, None));
                return self.unreached(v);
            }
        }
        Ok(())
    }

    fn unreached(&self, v: ValueId) -> Result<(), Violation> {
        let Some(data) = self.f.values.get(v) else { return self.fail("there is no such value") };
        let name = format!("%{}{}", data.class.letter(), v.as_u32());
        match data.def {
            Def::None => self.fail(format!("{name} is read and nowhere defined")),
            _ => self.fail(format!("{name} is read where its definition does not reach")),
        }
    }

    /// Carries stay in their block, and only the latest is read.
    fn carries(&mut self) -> Result<(), Violation> {
        for &b in &self.f.layout {
            let mut live = None;
            for &i in &self.f.blocks[b].body {
                let inst = &self.f.insts[i];
                let mut bad = false;
                inst.for_uses(|v| bad |= self.f.class(v) == Class::Carry && live != Some(v));
                if bad {
                    self.at = Some((b, Some(i)));
                    return self
                        .fail("the carry it reads is of another block, or another one was defined since");
                }
                inst.for_defs(|v| {
                    if self.f.class(v) == Class::Carry {
                        live = Some(v);
                    }
                });
                if inst.call().is_some() || self.rules.phase == Phase::Front && inst::may_expand(inst) {
                    live = None;
                }
            }
            let mut bad = false;
            self.f.blocks[b].term.for_uses(|v| bad |= self.f.class(v) == Class::Carry);
            bad |= self.f.blocks[b].params.iter().any(|&v| self.f.class(v) == Class::Carry);
            if bad {
                self.at = Some((b, None));
                return self.fail("a carry crosses a block boundary");
            }
        }
        Ok(())
    }

    /// Constructs nest: one walk over the layout with a stack of open ones.
    fn structure(&mut self) -> Result<(), Violation> {
        struct Open {
            header: BlockId,
            end: BlockId,
            /// Continue target, for loops.
            cont: Option<BlockId>,
        }
        let mut position: SecondaryMap<BlockId, u32> = SecondaryMap::new();
        for (n, &b) in self.f.layout.iter().enumerate() {
            position[b] = n as u32;
        }
        // The first place in the layout from which control goes forward to a block.
        let mut from: SecondaryMap<BlockId, u32> = SecondaryMap::with_default(u32::MAX);
        let mut open: Vec<Open> = Vec::new();
        // Innermost loops among the open constructs: indices.
        let mut loops: Vec<usize> = Vec::new();
        for (n, &b) in self.f.layout.iter().enumerate() {
            self.at = Some((b, None));
            while open.last().is_some_and(|o| o.end == b) {
                if open.pop().is_some_and(|o| o.cont.is_some()) {
                    loops.pop();
                }
            }
            if let Some(o) = open.last()
                && from[b] < position[o.header]
            {
                return self.fail(format!("control gets into the construct of {} past it", o.header));
            }
            let block = &self.f.blocks[b];
            let new = match block.merge {
                Merge::None => None,
                Merge::If { join } => {
                    if !matches!(block.term, Term::Branch { .. }) {
                        return self.fail("the header of an if does not end in a branch");
                    }
                    Some(Open { header: b, end: join, cont: None })
                }
                Merge::Loop { exit, cont } => {
                    if position[cont] < n as u32 || position[cont] >= position[exit] {
                        return self.fail("a loop's continue block is outside it");
                    }
                    Some(Open { header: b, end: exit, cont: Some(cont) })
                }
            };
            if let Some(new) = new {
                let within = open.last().is_none_or(|o| position[new.end] < position[o.end]);
                if position[new.end] <= n as u32 || !within {
                    return self
                        .fail(format!("the construct's end {} is not inside the one around it", new.end));
                }
                if new.cont.is_some() {
                    loops.push(open.len());
                }
                open.push(new);
            }
            let innermost = loops.last().map(|&l| &open[l]);
            if matches!(block.term, Term::Branch { .. }) && !matches!(block.merge, Merge::If { .. }) {
                let leaves =
                    |s: BlockId| innermost.is_some_and(|l| l.header == s || l.end == s || l.cont == Some(s));
                if !block.term.successors().any(leaves) {
                    return self.fail("a branch with two arms is not the header of an if");
                }
            }
            for s in block.term.successors() {
                let to = position[s];
                from[s] = from[s].min(n as u32);
                let ok = if to > n as u32 {
                    open.last().is_none_or(|o| to <= position[o.end])
                        || innermost.is_some_and(|l| l.end == s || l.cont == Some(s))
                } else {
                    innermost.is_some_and(|l| {
                        l.header == s && l.cont.is_some_and(|c| c == s || position[c] <= n as u32)
                    })
                };
                if !ok {
                    return self.fail(format!(
                        "the edge to {s} leaves its construct other than by its end, a break or a continue"
                    ));
                }
            }
        }
        Ok(())
    }

    fn critical_edges(&mut self, cfg: &Cfg) -> Result<(), Violation> {
        for &b in cfg.rpo() {
            let term = &self.f.blocks[b].term;
            if !matches!(term, Term::Branch { .. }) {
                continue;
            }
            if let Some(e) = term.edges().find(|e| !e.args.is_empty() && cfg.preds(e.to).len() > 1) {
                self.at = Some((b, None));
                return self.fail(format!("the edge to {} has arguments and is critical", e.to));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, phase: Phase) -> Result<(), Violation> {
        let p = parse::program(&format!("program\nkernel k() {{\n{body}\n}}\n")).expect("valid text");
        program(&p, phase)
    }

    #[track_caller]
    fn refuses(body: &str, phase: Phase, part: &str) {
        let v = check(body, phase).expect_err("it is invalid");
        assert!(v.to_string().contains(part), "{v}");
    }

    #[test]
    fn a_structured_loop_with_a_break_inside_an_if_is_valid() {
        let text = "b0:
    rdsv u32 %r0 sv[tid.x]
    jump b1(%r0)
b1(%r1): loop exit b5 cont b4
    set.lt pred s32 %p2 %r1 0x4
    jump b2
b2:
    if %p2 b5 b3 join b3
b3:
    jump b4
b4:
    add u32 %r3 %r1 0x1
    jump b1(%r3)
b5:
    exit";
        assert_eq!(check(text, Phase::Front), Ok(()));
    }

    #[test]
    fn uses_must_be_dominated() {
        refuses(
            "b0:\n rdsv u32 %r0 sv[tid.x]\n set.lt pred u32 %p1 %r0 0x4\n if %p1 b1 b2 join b2\nb1:\n mov u32 %r2 %r0\n jump b2\nb2:\n st u32 # g[%r0+0x0] %r2\n exit",
            Phase::Front,
            "does not reach",
        );
        refuses("b0:\n mov u32 %r1 %r2\n mov u32 %r2 0x0\n exit", Phase::Front, "does not reach");
    }

    #[test]
    fn operands_must_fit_their_operation() {
        refuses("b0:\n add u32 %r1 0x1\n exit", Phase::Front, "1 sources");
        refuses(
            "b0:\n mov u32 %r0 0x0\n add u32 %p1 %r0 %r0\n exit",
            Phase::Front,
            "destinations of the type",
        );
        refuses(
            "b0:\n mov u32 %r0 0x0\n add u64 {%r1 %r2} %r0 0x0\n exit",
            Phase::Front,
            "1 words instead of 2",
        );
        refuses("b0:\n mov u32 %r0 0x0\n sel u32 %r1 %r0 %r0 %r0\n exit", Phase::Front, "wrong class");
        refuses("b0:\n ld u32 %r0 b0[0x0]\n exit", Phase::Ssa, "removed by lowering");
        refuses("b0:\n mov u32 %r0 0x0\n div u32 %r1 %r0 %r0\n exit", Phase::Ssa, "removed by lowering");
    }

    #[test]
    fn a_size_of_an_image_has_as_many_words_as_its_mask() {
        let text =
            |mask: u32| format!("b0:\n suq u32 {{%r0 %r1}} [2d i0 mask {mask} u32 format r32f]\n exit");
        assert_eq!(check(&text(3), Phase::Front), Ok(()));
        refuses(&text(8), Phase::Front, "as many destinations as the mask has components");
    }

    #[test]
    fn a_word_of_constant_memory_lies_at_a_multiple_of_four() {
        let text = |at: u32| {
            format!(
                "b0:\n rdsv u32 %r0 sv[tid.x]\n sust u32 # [2d i0 mask 0xf u32 format r32ui machine 2d texel] \
                 {{%r0 %r0}} c7[{at:#x}] {{%r0 %r0 %r0 %r0}}\n exit"
            )
        };
        assert_eq!(check(&text(0x4a0), Phase::Ssa), Ok(()));
        refuses(&text(0x4a3), Phase::Ssa, "not a multiple of 4");
    }

    #[test]
    fn a_carry_is_not_read_after_another_one() {
        refuses(
            "b0:\n mov u32 %r0 0x0\n add u32 {%r1 %c2} %r0 %r0\n add u32 {%r3 %c4} %r0 %r0\n add u32 %r5 %r0 %r0 %c2\n exit",
            Phase::Ssa,
            "another one was defined since",
        );
    }

    #[test]
    fn edges_must_not_enter_a_construct_past_its_header() {
        let text = |first: &str| {
            format!(
                "b0:\n rdsv u32 %r0 sv[tid.x]\n set.lt pred u32 %p1 %r0 0x4\n jump {first}\nb1: loop exit b4 cont b1\n jump b2\n\
                 b2:\n jump b3\nb3:\n if %p1 b4 b1\nb4:\n exit"
            )
        };
        assert_eq!(check(&text("b1"), Phase::Front), Ok(()));
        refuses(&text("b2"), Phase::Front, "into the construct of b1 past it");
    }

    #[test]
    fn edges_must_not_leave_their_construct_sideways() {
        refuses(
            "b0:\n rdsv u32 %r0 sv[tid.x]\n set.lt pred u32 %p1 %r0 0x4\n if %p1 b1 b2 join b2\nb1:\n jump b3\nb2:\n jump b3\nb3:\n exit",
            Phase::Front,
            "leaves its construct",
        );
        refuses("b0:\n jump b1\nb1:\n jump b2\nb2:\n jump b1", Phase::Front, "leaves its construct");
    }

    #[test]
    fn edge_arguments_agree_with_parameters() {
        refuses("b0:\n jump b1\nb1(%r0):\n exit", Phase::Front, "0 arguments for 1 parameters");
    }
}
