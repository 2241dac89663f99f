//! The control flow graph as Graphviz text: a cluster for each function, a node for each block.

use super::*;
use std::fmt::Write;

/// A digraph of the whole program.
pub fn program(p: &Program) -> String {
    let mut out = String::from("digraph program {\n    node [shape=box fontname=monospace]\n");
    for (id, f) in p.funcs.iter() {
        let n = id.as_u32();
        let _ = writeln!(out, "    subgraph cluster{n} {{\n        label={:?}", f.name);
        for &b in &f.layout {
            let mut text = format!("b{}:\\l", b.as_u32());
            for &i in &f.blocks[b].body {
                text += &escape(&print::InstText(f, &f.insts[i]).to_string());
                text += "\\l";
            }
            let _ = writeln!(out, "        f{n}b{} [label=\"{text}\"]", b.as_u32());
            let labels: &[&str] =
                if matches!(f.blocks[b].term, Term::Branch { .. }) { &["then", "else"] } else { &[""] };
            for (to, label) in f.blocks[b].term.successors().zip(labels) {
                let _ =
                    writeln!(out, "        f{n}b{} -> f{n}b{} [label=\"{label}\"]", b.as_u32(), to.as_u32());
            }
        }
        out.push_str("    }\n");
    }
    out.push_str("}\n");
    out
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_block_and_edge_is_drawn() {
        let p = super::parse::program(
            "program\nkernel k() {\nb0:\n    rdsv u32 %r0 sv[tid.x]\n    set.lt pred u32 %p1 %r0 0x4\n    if %p1 b1 b2 join b2\nb1:\n    jump b2\nb2:\n    exit\n}\n",
        )
        .expect("valid text");
        let dot = super::program(&p);
        for part in
            ["f0b0 -> f0b1 [label=\"then\"]", "f0b0 -> f0b2 [label=\"else\"]", "f0b1 -> f0b2", "set.lt pred"]
        {
            assert!(dot.contains(part), "{part} is missing in {dot}");
        }
    }
}
