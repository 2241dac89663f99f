//! The reference page of the IR's operations, written from their rows.
//!
//! ```text
//! shl: `d = a << b`: amounts of the width and above give 0; `.wrap`: the amount modulo the width
//!
//!   shl{.wrap}{.exact} TYPE d a b
//!     type      u32 s32 u64 s64
//!     d         of the type
//!     a         of the type
//!     b         a word
//! ```

use super::row::*;
use super::{Detail, Op, Reads, Results, Row, SourceTypes, Types};
use crate::ir::Space;
use std::fmt::Write;

/// One line an operation: its name, its types, what it does.
pub fn index() -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{:<10}{:<38}meaning", "operation", "types");
    for &op in Op::ALL {
        let row = op.row();
        let meaning = row.meaning.first().map_or("", |m| m.trim());
        let _ = writeln!(out, "{:<10}{:<38}{meaning}", row.name, short(row.types));
    }
    out
}

/// A set of types; a common one by what it has in common.
fn short(types: Types) -> String {
    let named = [(Types::ALL, "any"), (Types::DATA, "any but pred"), (Types::WHOLE, "32 bits and more")];
    match named.iter().find(|(set, _)| *set == types) {
        Some((_, name)) => name.to_string(),
        None => list(types),
    }
}

fn list(types: Types) -> String {
    types.iter().map(|t| t.name()).collect::<Vec<_>>().join(" ")
}

/// Everything about an operation.
pub fn page(op: Op) -> String {
    let row = op.row();
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{}: {}\n",
        row.name,
        row.meaning.iter().map(|m| m.trim()).collect::<Vec<_>>().join(" ")
    );
    let _ = writeln!(out, "  {}", form(row));
    let mut line = |what: &str, text: String| {
        let _ = writeln!(out, "    {what:<10}{text}");
    };
    line("type", list(row.types));
    if let SourceTypes::Of(types) = row.from {
        line("source", list(types));
    }
    let results = match row.results {
        Results::None => "nothing: `#`",
        Results::Value => "of the type",
        Results::MaybeValue => "of the type, or `#`",
        Results::ValuePred => "of the type; {d p} with a predicate",
        Results::MaybePred => "a predicate, or `#`",
        Results::Ballot => "a word, a predicate, or both",
        Results::Components => "a word for each bit of the mask",
        Results::Image => "what the image access gives",
        Results::Call => "the callee's results",
        Results::Copies => "a value for each word of the sources",
    };
    line("d", results.to_string());
    for (s, letter) in row.srcs.iter().zip(["a", "b", "c", "e"]) {
        line(letter, source(s));
    }
    if row.detail != Detail::None {
        line("detail", row.detail.text().to_string());
    }
    if row.is(MEMORY) {
        let spaces = Space::ALL.into_iter().filter(|&s| row.accesses(s));
        line("memory", spaces.map(|s| format!("{}[..]", s.name())).collect::<Vec<_>>().join(" "));
    }
    let kinds = [
        (COMMUTES, "a and b may be exchanged"),
        (CARRY_IN, "may take a carry as its last source (32-bit integers)"),
        (CARRY_OUT, "may give a carry as its last destination (32-bit integers)"),
        (EFFECT, "has an effect"),
        (READS, "reads what may change"),
        (CROSS, "concerns other lanes"),
        (FRONT, "removed by lowering"),
    ];
    for (_, text) in kinds.iter().filter(|(flag, _)| row.is(*flag)) {
        line("", text.to_string());
    }
    out
}

/// The operation as the listing writes it.
fn form(row: &Row) -> String {
    let mut text = row.name.to_string();
    if row.is(COND) {
        text += ".COND";
    }
    if row.is(LOGIC) {
        text += "{.and|.or|.xor}";
    }
    let behind = matches!(row.detail, Detail::Sv | Detail::Call | Detail::Tex | Detail::Surf);
    if !behind {
        text += row.detail.text();
    }
    if row.sat != Types::NONE {
        text += "{.sat}";
    }
    if row.is(FTZ) {
        text += "{.ftz}";
    }
    text += "{.exact}";
    if row.is(RND) {
        text += "{.rm|.rp|.rz}";
    }
    text += " TYPE";
    if row.from != SourceTypes::Same {
        text += " SOURCE";
    }
    text += if row.results == Results::None { " #" } else { " d" };
    if behind {
        text = format!("{text} {}", row.detail.text());
    }
    if row.is(MEMORY) {
        text += " MEMORY";
    }
    for (s, letter) in row.srcs.iter().zip(["a", "b", "c", "e"]) {
        text += &if s.optional { format!(" {{{letter}}}") } else { format!(" {letter}") };
    }
    text
}

fn source(s: &Source) -> String {
    let mut text = match s.reads {
        Reads::Ty => "of the type",
        Reads::Sty => "of the source type",
        Reads::Word => "a word",
        Reads::Pred => "a predicate; takes ~",
        Reads::Tuple => "what the machine instruction takes",
    }
    .to_string();
    let modifiers = [
        (s.float, "- and || of floats"),
        (s.neg, "- of 32-bit integers"),
        (s.abs, "|| of s32"),
        (s.not, "~ of integers"),
    ];
    for (_, name) in modifiers.iter().filter(|(on, _)| *on) {
        text += &format!("; takes {name}");
    }
    if s.below > 0 {
        text += &format!("; an immediate below {}", s.below);
    }
    if s.optional {
        text += "; may be missing";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_has_a_line_and_a_page_with_its_types() {
        let index = index();
        for &op in Op::ALL {
            assert!(index.lines().any(|l| l.split(' ').next() == Some(op.name())), "{op}");
            let page = page(op);
            let types = op.row().types.iter();
            types.for_each(|t| assert!(page.split_whitespace().any(|w| w == t.name()), "{op} {t}\n{page}"));
            assert!(!op.row().meaning.is_empty(), "{op}");
        }
    }
}
