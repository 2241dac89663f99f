//! Resolves nesting and labels: fills [`Program::partner`], and says what does not match.
//!
//! One pass with an explicit stack, so that depth is bounded by memory alone.

use super::ast::*;
use crate::diag::{Diagnostic, Diagnostics, Span};

/// An open construct.
struct Open {
    /// The instruction that began it.
    at: u32,
    /// The last IF, ELSE, SWITCH, CASE or DEFAULT of it, which waits for its partner.
    last: u32,
    kind: Kind,
    /// BRKs and CONTs that wait for the end: head of a list through `partner`, `NONE` at its end.
    exits: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    If,
    Else,
    Loop,
    Switch,
    Sub,
}

const NONE: u32 = u32::MAX;

impl Kind {
    /// The instruction that ends it.
    fn end(self) -> &'static str {
        match self {
            Kind::If | Kind::Else => "ENDIF",
            Kind::Loop => "ENDLOOP",
            Kind::Switch => "ENDSWITCH",
            Kind::Sub => "ENDSUB",
        }
    }
}

struct Matcher<'a> {
    code: &'a [Head],
    partner: Vec<u32>,
    stack: Vec<Open>,
    /// Positions in `stack` of the loops and switches, innermost last.
    breakable: Vec<u32>,
    /// Positions in `stack` of the loops, innermost last.
    loops: Vec<u32>,
    calls: Vec<u32>,
    diags: &'a mut Diagnostics,
}

/// Matches IF with ENDIF and so on, and labels with subroutines.
pub(super) fn resolve(code: &[Head], diags: &mut Diagnostics) -> Vec<u32> {
    let partner = (0..code.len() as u32).collect();
    let mut m = Matcher {
        code,
        partner,
        stack: Vec::new(),
        breakable: Vec::new(),
        loops: Vec::new(),
        calls: Vec::new(),
        diags,
    };
    for at in 0..code.len() as u32 {
        m.visit(at);
    }
    while let Some(open) = m.pop() {
        let inst = &code[open.at as usize];
        m.diags.push(
            Diagnostic::error(format!("{} has no {}", inst.op.name(), open.kind.end()))
                .at(inst.span, format!("expected {} after its body", open.kind.end())),
        );
    }
    m.labels();
    m.partner
}

impl Matcher<'_> {
    fn span(&self, at: u32) -> Span {
        self.code[at as usize].span
    }

    fn visit(&mut self, at: u32) {
        match self.code[at as usize].op {
            Opcode::IF | Opcode::UIF | Opcode::IF_ASKED => self.push(at, Kind::If),
            Opcode::ELSE => {
                if let Some(top) = self.expect(at, &[Kind::If]) {
                    let open = &mut self.stack[top];
                    self.partner[open.last as usize] = at;
                    open.last = at;
                    open.kind = Kind::Else;
                }
            }
            Opcode::ENDIF => self.close(at, &[Kind::If, Kind::Else]),
            Opcode::BGNLOOP => self.push(at, Kind::Loop),
            Opcode::ENDLOOP => self.close(at, &[Kind::Loop]),
            Opcode::SWITCH => self.push(at, Kind::Switch),
            Opcode::CASE | Opcode::DEFAULT => {
                if let Some(top) = self.expect(at, &[Kind::Switch]) {
                    let open = &mut self.stack[top];
                    self.partner[open.last as usize] = at;
                    open.last = at;
                }
            }
            Opcode::ENDSWITCH => self.close(at, &[Kind::Switch]),
            Opcode::BRK | Opcode::BREAKC => {
                let to = self.breakable.last().copied();
                self.exit(at, to, "a loop or switch");
            }
            Opcode::CONT => {
                let to = self.loops.last().copied();
                self.exit(at, to, "a loop");
            }
            Opcode::BGNSUB => {
                if let Some(open) = self.stack.last() {
                    let d = Diagnostic::error("a subroutine begins inside another construct")
                        .at(self.span(at), format!("expected {} first", open.kind.end()))
                        .label(self.span(open.at), "which begins here");
                    self.diags.push(d);
                }
                self.push(at, Kind::Sub);
            }
            Opcode::ENDSUB => self.close(at, &[Kind::Sub]),
            Opcode::CAL | Opcode::CALLNZ => self.calls.push(at),
            _ => {}
        }
    }

    fn push(&mut self, at: u32, kind: Kind) {
        let depth = self.stack.len() as u32;
        if matches!(kind, Kind::Loop | Kind::Switch) {
            self.breakable.push(depth);
        }
        if kind == Kind::Loop {
            self.loops.push(depth);
        }
        self.stack.push(Open { at, last: at, kind, exits: NONE });
    }

    fn pop(&mut self) -> Option<Open> {
        let open = self.stack.pop()?;
        let depth = self.stack.len() as u32;
        if self.breakable.last() == Some(&depth) {
            self.breakable.pop();
        }
        if self.loops.last() == Some(&depth) {
            self.loops.pop();
        }
        // Exits of a construct that is never closed stay tied to themselves.
        let mut exit = open.exits;
        while exit != NONE {
            exit = std::mem::replace(&mut self.partner[exit as usize], exit);
        }
        Some(open)
    }

    /// The top of the stack, if it is one of `kinds`; otherwise a diagnostic.
    fn expect(&mut self, at: u32, kinds: &[Kind]) -> Option<usize> {
        let found = self.stack.last().map(|o| (o.kind, o.at));
        if let Some((kind, _)) = found
            && kinds.contains(&kind)
        {
            return Some(self.stack.len() - 1);
        }
        let name = self.code[at as usize].op.name();
        let d = match found {
            None => {
                Diagnostic::error(format!("{name} closes nothing")).at(self.span(at), "nothing is open here")
            }
            Some((kind, begin)) => Diagnostic::error(format!("{name} does not match what is open"))
                .at(self.span(at), format!("expected {}", kind.end()))
                .label(self.span(begin), "this is open"),
        };
        self.diags.push(d);
        None
    }

    fn close(&mut self, at: u32, kinds: &[Kind]) {
        if self.expect(at, kinds).is_none() {
            return;
        }
        let Some(top) = self.stack.last_mut() else { return };
        let mut exit = std::mem::replace(&mut top.exits, NONE);
        while exit != NONE {
            exit = std::mem::replace(&mut self.partner[exit as usize], at);
        }
        if let Some(open) = self.pop() {
            self.partner[open.last as usize] = at;
            if matches!(open.kind, Kind::Loop | Kind::Sub) {
                self.partner[at as usize] = open.at;
            }
        }
    }

    /// Ties an exit to the construct at position `to` of the stack.
    fn exit(&mut self, at: u32, to: Option<u32>, what: &str) {
        match to {
            Some(to) => {
                let open = &mut self.stack[to as usize];
                self.partner[at as usize] = std::mem::replace(&mut open.exits, at);
            }
            None => {
                let name = self.code[at as usize].op.name();
                let d =
                    Diagnostic::error(format!("{name} outside {what}")).at(self.span(at), "nothing to leave");
                self.diags.push(d);
            }
        }
    }

    fn labels(&mut self) {
        for &at in &self.calls {
            let inst = &self.code[at as usize];
            let d = match inst.detail {
                Detail::Label(to) if self.code.get(to as usize).is_some_and(|i| i.op == Opcode::BGNSUB) => {
                    self.partner[at as usize] = to;
                    continue;
                }
                Detail::Label(to) => Diagnostic::error(format!("no subroutine begins at instruction {to}"))
                    .at(inst.span, "expected the number of a BGNSUB"),
                _ => Diagnostic::error("a call without a label").at(inst.span, "expected `:` and a number"),
            };
            self.diags.push(d.help("labels count instructions from 0, declarations and immediates left out"));
        }
    }
}
