//! Phis: first in their block, with a source for each predecessor.

use super::super::ast::{Dest, Node, Src};
use super::super::names::Mode;
use super::flow::{BlockNumber, Flow, block_name};
use super::{Checker, Shape};
use crate::diag::{Diagnostic, Span};

/// Marks that say which blocks precede that of the phi.
#[derive(Default)]
pub(super) struct Predecessors {
    /// The block that the marks are of, plus 1.
    of: u32,
    /// By block: the last `of` that it precedes, and the last phi that has a source for it, plus 1.
    marks: Vec<(u32, u32)>,
}

/// Predecessors that a message names, at most.
const NAMED: usize = 8;

impl Checker<'_, '_> {
    pub(super) fn phi(&mut self, dest: &Dest, srcs: &[(u32, Src)]) {
        self.phi_place();
        let Dest::Ssa(def) = dest else {
            let span = self.span;
            return self.error(span, || "a phi defines a value, not a register".into());
        };
        self.mark();
        let (of, phi) = (self.phis.of, self.at + 1);
        let (mut wrong, mut seen) = (false, 0);
        for (label, src) in srcs {
            let from = self.flow.labelled(*label);
            let mark = from.map(|b| &mut self.phis.marks[b.index()]).filter(|mark| mark.0 == of);
            match (from, mark) {
                (Some(from), Some(mark)) => {
                    if mark.1 == phi {
                        wrong = true;
                        self.phi_error(src.span, *label, "has two sources of this phi");
                    } else {
                        mark.1 = phi;
                        seen += 1;
                    }
                    let found = self.source_at_end(src, from);
                    self.phi_shape(def.shape, found, src);
                }
                (from, _) => {
                    wrong = true;
                    let why = match from {
                        Some(_) => "is not a predecessor of this phi's block",
                        None => "is not a block of this function",
                    };
                    self.phi_error(src.span, *label, why);
                }
            }
        }
        if !wrong && seen < self.flow.predecessors(self.block).len() {
            self.missing(phi);
        }
    }

    /// Phis stand behind the label and other phis only.
    fn phi_place(&mut self) {
        let first = self.flow.first(self.block);
        let before = self.at.checked_sub(1).filter(|_| self.at > first);
        let allowed = before.is_none_or(|at| {
            let node = &self.fun.body[at as usize].0;
            matches!(node, Node::Phi { .. }) || at == first && matches!(node, Node::Block(_))
        });
        if !allowed {
            let span = self.span;
            self.error(span, || "a phi follows another instruction in its block".into());
        }
    }

    /// Marks the predecessors of this block, once for all of its phis.
    fn mark(&mut self) {
        let of = self.block.index() as u32 + 1;
        if self.phis.of == of {
            return;
        }
        self.phis.of = of;
        self.phis.marks.resize(self.flow.len(), (0, 0));
        for (from, _) in self.flow.predecessors(self.block) {
            self.phis.marks[from.index()].0 = of;
        }
    }

    fn phi_shape(&mut self, wanted: Shape, found: Option<Shape>, src: &Src) {
        self.same(src.span, "phi", Some(wanted), found);
        if let Some(deref) = self.deref_of(src)
            && [Mode::ShaderIn, Mode::ShaderOut, Mode::Uniform].iter().any(|&m| deref.modes.has(m))
        {
            let modes = deref.modes;
            self.error(src.span, || format!("a pointer to `{modes}` cannot be a phi's source"));
        }
    }

    #[cold]
    fn phi_error(&mut self, span: Span, label: u32, why: &str) {
        let (text, flow, block) = (self.text, &self.flow, self.block);
        self.findings.push(|| {
            Diagnostic::error(format!("`{}` {why}", block_name(text, label)))
                .at(span, "")
                .help(predecessors(text, flow, block))
        });
    }

    #[cold]
    fn missing(&mut self, phi: u32) {
        let (text, flow, block, span) = (self.text, &self.flow, self.block, self.span);
        let marks = &self.phis.marks;
        self.findings.push(|| {
            let from = flow.predecessors(block).iter().find(|(b, _)| marks[b.index()].1 != phi);
            let of = match from.and_then(|(b, _)| flow.label(*b)) {
                Some(label) => format!("`{}`", block_name(text, label)),
                None => "a predecessor without a label".into(),
            };
            let d = Diagnostic::error(format!("the phi has no source for {of}"));
            d.at(span, "").help(predecessors(text, flow, block))
        });
    }
}

/// Which blocks precede one, in words.
fn predecessors(text: &str, flow: &Flow, block: BlockNumber) -> String {
    let all = flow.predecessors(block);
    let name = |b: BlockNumber| flow.label(b).map_or("(no label)".into(), |n| block_name(text, n));
    let names: Vec<String> = all.iter().take(NAMED).map(|(b, _)| name(*b)).collect();
    match all.len() {
        0 => "the block has no predecessors".into(),
        n if n > NAMED => format!("predecessors: {} and {} more", names.join(", "), n - NAMED),
        _ => format!("predecessors: {}", names.join(", ")),
    }
}
