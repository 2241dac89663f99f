//! What a program says twice: registers that are declared again, properties that are set again.
//!
//! Mesa's `tgsi_sanity` refuses the first. It is older than inputs and outputs whose parts are declared apart or again,
//! which Mesa's linker makes (piglit's `tcs-input-array-dvec4-index-rd`), so those are not looked at.

use super::ast::*;
use crate::diag::{Diagnostic, Diagnostics, Span};

/// Reports everything that is said twice.
pub(super) fn check(ast: &Program, diags: &mut Diagnostics) {
    let mut found: Vec<(Span, Span, String)> = properties(ast);
    // Registers of which parts are declared apart are few: component by component only where registers come twice.
    let mut registers = Vec::new();
    declarations(ast, 0xf, &mut registers);
    if !registers.is_empty() {
        (0..4).for_each(|component| declarations(ast, 1 << component, &mut found));
    }
    found.sort_by_key(|(again, first, _)| (*again, *first));
    // A register with four components is found four times.
    found.dedup_by_key(|(again, ..)| *again);
    for (again, first, message) in found {
        diags.push(Diagnostic::error(message).at(again, "").label(first, "first here"));
    }
}

fn properties(ast: &Program) -> Vec<(Span, Span, String)> {
    let mut first: Vec<Option<Span>> = vec![None; Property::ALL.len()];
    let twice = |&(p, _, here): &(Property, u32, Span)| match &mut first[p as usize] {
        Some(first) => Some((here, *first, format!("property {} is set twice", p.name()))),
        none => {
            *none = Some(here);
            None
        }
    };
    ast.props.iter().filter_map(twice).collect()
}

/// Declarations of registers of which one of these components was declared before.
fn declarations(ast: &Program, mask: u8, found: &mut Vec<(Span, Span, String)>) {
    // Mesa itself declares inputs and outputs again, with the same meaning.
    let attribute = |d: &Decl| matches!(d.file, File::In | File::Out);
    let mut list: Vec<&Decl> = ast.decls.iter().filter(|d| d.mask & mask != 0 && !attribute(d)).collect();
    let space = |d: &Decl| (d.file as u8, d.dim);
    list.sort_by_key(|d| (space(d), d.first, d.span));
    // Of those so far in its space, the one that reaches furthest.
    let mut furthest: Option<&Decl> = None;
    for d in list {
        match furthest.filter(|f| space(f) == space(d)) {
            Some(f) if d.first <= f.last => {
                let (first, again) = if f.span < d.span { (f, d) } else { (d, f) };
                let message = format!("{}[{}] is declared twice", d.file.name(), d.first);
                found.push((again.span, first.span, message));
                if d.last > f.last {
                    furthest = Some(d);
                }
            }
            _ => furthest = Some(d),
        }
    }
}
