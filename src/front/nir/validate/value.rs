//! Values and registers: defined once, and wherever they are used.

use super::super::ast::{Dest, Place, RegRef, Shape, Src};
use super::flow::BlockNumber;
use super::{Checker, number, shape};
use crate::diag::{Diagnostic, Span};

/// SSA numbers beyond this are no program's.
const MAX_NUMBER: u32 = 1 << 22;

/// What is known of a definition: its shape, and the node and block that make it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value {
    pub shape: Shape,
    pub node: u32,
    pub block: BlockNumber,
}

/// Definitions by number.
pub(super) struct Values(Vec<Option<Value>>);

pub(super) enum Problem {
    /// By this node already.
    Twice(u32),
    TooLarge,
}

impl Problem {
    pub(super) fn message(&self, name: &str) -> String {
        match self {
            Problem::Twice(_) => format!("value `{name}` is defined twice"),
            Problem::TooLarge => format!("value number out of range (0 to {})", MAX_NUMBER - 1),
        }
    }
}

impl Values {
    pub(super) fn with_capacity(values: usize) -> Values {
        Values(Vec::with_capacity(values))
    }

    pub(super) fn get(&self, number: u32) -> Option<Value> {
        self.0.get(number as usize).copied().flatten()
    }

    pub(super) fn define(&mut self, number: u32, value: Value) -> Result<(), Problem> {
        let at = number as usize;
        if number >= MAX_NUMBER {
            return Err(Problem::TooLarge);
        }
        if self.0.len() <= at {
            self.0.resize(at + 1, None);
        }
        match self.0[at] {
            Some(first) => Err(Problem::Twice(first.node)),
            None => {
                self.0[at] = Some(value);
                Ok(())
            }
        }
    }
}

/// What one message is enough for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Reported {
    Value(u32),
    Register(u32),
}

/// What the text calls a value, by the operand that names it.
pub(super) fn name(text: &str, number: u32, span: Span) -> String {
    let operand = text.get(span.start as usize..span.end as usize).unwrap_or("");
    let prefix = if operand.contains('%') { "%" } else { "ssa_" };
    format!("{prefix}{number}")
}

impl Checker<'_, '_> {
    /// The shape of a source, which must be there where it is read.
    pub(super) fn source(&mut self, src: &Src) -> Option<Shape> {
        match src.place {
            Place::Ssa(number) => {
                let Some(value) = self.values.get(number) else {
                    self.undefined(number, src.span);
                    return None;
                };
                let known = if value.block == self.block {
                    value.node < self.at
                } else {
                    self.flow.dominates(value.block, self.block)
                };
                if !known {
                    self.not_everywhere(number, value, self.block, src.span);
                }
                Some(value.shape)
            }
            Place::Reg(reg) => self.register(&reg, src.span),
        }
    }

    /// The shape of a source that is read at the end of a block.
    pub(super) fn source_at_end(&mut self, src: &Src, block: BlockNumber) -> Option<Shape> {
        match src.place {
            Place::Ssa(number) => {
                let Some(value) = self.values.get(number) else {
                    self.undefined(number, src.span);
                    return None;
                };
                if value.block != block && !self.flow.dominates(value.block, block) {
                    self.not_everywhere(number, value, block, src.span);
                }
                Some(value.shape)
            }
            Place::Reg(_) => {
                self.error(src.span, || "a phi reads values, not registers".into());
                None
            }
        }
    }

    #[cold]
    fn undefined(&mut self, number: u32, span: Span) {
        if self.reported.insert(Reported::Value(number)) {
            let text = self.text;
            self.error(span, || format!("value `{}` is not defined", name(text, number, span)));
        }
    }

    #[cold]
    fn not_everywhere(&mut self, number: u32, value: Value, block: BlockNumber, span: Span) {
        if !self.reported.insert(Reported::Value(number)) {
            return;
        }
        let (text, definition) = (self.text, self.fun.body[value.node as usize].1);
        self.findings.push(|| {
            let name = name(text, number, span);
            let why = if value.block == block {
                "is used before its definition"
            } else {
                "is not defined on every path to its use"
            };
            Diagnostic::error(format!("value `{name}` {why}")).at(span, "").label(definition, "defined here")
        });
    }

    /// The shape of a register, which must be declared and have the element.
    fn register(&mut self, reg: &RegRef, span: Span) -> Option<Shape> {
        let index = reg.index;
        let Some(&decl) = self.registers.get(&index) else {
            if self.reported.insert(Reported::Register(index)) {
                self.error(span, || format!("register `r{index}` is not declared"));
            }
            return None;
        };
        if reg.base >= decl.elems.max(1) {
            let base = reg.base;
            self.findings.push(|| {
                let elements = number(decl.elems.max(1) as usize, "element");
                Diagnostic::error(format!("`r{index}[{base}]` is out of bounds of {elements}"))
                    .at(span, "")
                    .label(decl.span, "declared here")
            });
        }
        if let Some(id) = reg.indirect {
            let src = *self.fun.src(id);
            if decl.elems == 0 {
                self.error(span, || format!("`r{index}` is not an array"));
            }
            if let Place::Reg(RegRef { indirect: Some(_), .. }) = src.place {
                self.error(src.span, || "an index of a register has no index itself".into());
            }
            let found = self.source(&src);
            self.scalar(&src, found, "register's index", 32);
        }
        Some(decl.shape)
    }

    /// The shape of what a destination takes: of a register, the components that the instruction writes.
    pub(super) fn dest(&mut self, dest: &Dest) -> Option<Shape> {
        match dest {
            Dest::Ssa(def) => Some(def.shape),
            Dest::Reg(reg, mask) => {
                let whole = self.register(reg, self.span)?;
                let all = ((1u32 << whole.comps) - 1) as u16;
                if *mask != u16::MAX && mask & !all != 0 {
                    let span = self.span;
                    self.error(span, || {
                        format!("the write mask names components that {} does not have", shape(whole))
                    });
                    return None;
                }
                Some(Shape { comps: (mask & all).count_ones() as u8, ..whole })
            }
        }
    }

    /// An operand that must be a scalar of so many bits.
    pub(super) fn scalar(&mut self, src: &Src, found: Option<Shape>, what: &str, bits: u8) {
        let wanted = Shape { bits, comps: 1 };
        if let Some(found) = found
            && found != wanted
        {
            self.error(src.span, || format!("the {what} must be {}, not {}", shape(wanted), shape(found)));
        }
    }

    /// What an `if` branches on.
    pub(super) fn condition(&mut self, src: &Src) {
        let Some(found) = self.source(src) else { return };
        if found.comps != 1 || found.bits == 64 {
            self.error(src.span, || {
                format!("the condition must be a scalar of 1, 8, 16 or 32 bits, not {}", shape(found))
            });
        }
        if self.deref_of(src).is_some() {
            self.error(src.span, || "a pointer is not a condition: compare it with 0".into());
        }
    }
}
