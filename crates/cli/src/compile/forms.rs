//! Forms of compiled code for people: SASS text with source lines, its control flow graph, remarks.

use crate::report::{self, Input};
use nvir::asm::cfg::Graph;
use nvir::diag::{line_column, visible};
use nvir::front::spirv;
use nvir::image::listing::{self, address};
use nvir::remark::Remark;
use nvir::{Language, Shader, Source};
use serde_json::{Value, json};
use std::fmt::Write;

/// SASS text.
pub(crate) fn sass(shader: &Shader, options: listing::Options) -> String {
    listing::print(shader.chip, std::slice::from_ref(&shader.kernel()), options)
}

/// SASS text, each run of instructions under the source line that it comes from.
pub(crate) fn sass_with_lines(shader: &Shader, source: &Source<'_>, options: listing::Options) -> String {
    let addressed = sass(shader, listing::Options { words: true });
    let plain = sass(shader, options);
    let texts: Vec<&str> = source.text.lines().collect();
    let mut out = String::new();
    let mut last = None;
    // Both listings have the same lines.
    for (with, line) in addressed.lines().zip(plain.lines()) {
        let scheduling = with.contains(".sched");
        if let Some(pc) = address(with).filter(|_| !scheduling) {
            let at = shader.loc(pc).0.map(|span| line_column(source.text, span.start).0);
            if at != last {
                let said = match at {
                    Some(n) => {
                        format!("{}:{n}: {}", visible(source.name), texts.get(n - 1).unwrap_or(&"").trim())
                    }
                    None => "no source line".to_string(),
                };
                let _ = writeln!(out, "// {said}");
                last = at;
            }
        }
        out.push_str(line);
        out.push('\n');
    }
    out
}

/// Says on standard error what a compiler did not do with a source: a line each.
pub(crate) fn remarks(all: &[Remark], source: &Source<'_>) {
    let input = Input { name: source.name, text: source.text };
    for r in all {
        let from = source_line(r, source).map_or(String::new(), |line| format!(" ({})", visible(line)));
        report::remark(input, r.loc, format!("{}{from} [{}]", r.message, r.pass));
    }
}

/// Where a remark is in the language that a SPIR-V module was compiled from.
fn source_line<'a>(r: &Remark, source: &Source<'a>) -> Option<&'a str> {
    let span = r.loc.0.filter(|_| source.language == Language::SpirV)?;
    spirv::source_line(source.text.get(span.start as usize..)?.lines().next()?)
}

pub(crate) fn remark_json(r: &Remark, source: &Source<'_>) -> Value {
    let place = r.loc.0.map(|span| line_column(source.text, span.start));
    let mut value = json!({"pass": r.pass, "message": r.message, "line": place.map(|p| p.0), "column": place.map(|p| p.1)});
    if let Some(line) = source_line(r, source) {
        value["source"] = line.into();
    }
    value
}

/// The control flow graph of machine code for Graphviz.
pub(crate) fn cfg(shader: &Shader) -> String {
    let Graph { blocks, edges, .. } = Graph::of(shader.chip, &shader.kernel());
    let mut out = format!(
        "digraph \"{}\" {{\n    node [shape=box, fontname=monospace];\n",
        escaped(&shader.entry_name)
    );
    for (n, b) in blocks.iter().enumerate() {
        let lines: String =
            b.code.iter().map(|(pc, text)| format!("{pc:04x}  {}\\l", escaped(text))).collect();
        let _ = writeln!(out, "    b{n} [label=\"{lines}\"];");
    }
    for (from, to, what) in edges {
        let label = if what.is_empty() { String::new() } else { format!(" [label=\"{what}\"]") };
        let _ = writeln!(out, "    b{from} -> b{to}{label};");
    }
    out + "}\n"
}

fn escaped(text: &str) -> String {
    visible(text).replace('\\', "\\\\").replace('"', "\\\"")
}
