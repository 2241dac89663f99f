//! Control flow graphs of machine code, whoever made it, by its listing.
//!
//! Pops of the divergence stack go where the innermost push of their kind says, as far as that is
//! known in advance.

use crate::cubin::Kernel;
use crate::listing::{self, address};
use nvir_base::Chip;
use std::collections::{BTreeMap, BTreeSet};

/// A basic block of machine code.
#[derive(Clone, Debug)]
pub struct Block {
    /// Address and text of each instruction.
    pub code: Vec<(u32, String)>,
}

/// A control flow graph of machine code.
#[derive(Clone, Debug)]
pub struct Graph {
    /// In the order of the code.
    pub blocks: Vec<Block>,
    /// From, to, and what way it is: `taken`, `break`, `continue`, `join`, or nothing for what
    /// follows anyway.
    pub edges: BTreeSet<(usize, usize, &'static str)>,
    /// Blocks at which control arrives from nowhere in the graph: the kernel, then what is called.
    pub entries: Vec<usize>,
    /// The block of each label.
    pub labels: BTreeMap<String, usize>,
}

impl Graph {
    /// The graph of a kernel.
    pub fn of(chip: Chip, kernel: &Kernel) -> Graph {
        let text = listing::print(chip, std::slice::from_ref(kernel), listing::Options { words: true });
        let (blocks, labels) = blocks(&text);
        let mut entries: Vec<usize> = (!blocks.is_empty()).then_some(0).into_iter().collect();
        for (_, text) in blocks.iter().flat_map(|b| &b.code).filter(|(_, text)| operation(text) == "CAL") {
            entries
                .extend(target(text).and_then(|l| labels.get(l)).filter(|n| !entries.contains(n)).copied());
        }
        let edges = edges(&blocks, &labels, &entries);
        Graph { blocks, edges, entries, labels }
    }
}

/// What the divergence stack has: the instruction that pushed it, and where a pop goes.
type Stack = Vec<(&'static str, String)>;

/// Operations that end a block.
const ENDS: [&str; 8] = ["BRA", "BRK", "CONT", "RET", "EXIT", "SYNC", "BRX", "JMP"];

/// The blocks of a listing with words, and which of them each label is.
fn blocks(text: &str) -> (Vec<Block>, BTreeMap<String, usize>) {
    let mut blocks: Vec<Block> = Vec::new();
    let mut labels = BTreeMap::new();
    let mut new = true;
    for line in text.lines() {
        let body = line.strip_prefix("/*").and_then(|l| l.split_once("*/")).map_or(line, |l| l.1);
        let body = body.split("/*").next().unwrap_or(body).trim();
        if let Some(label) = body.strip_suffix(':') {
            new = true;
            labels.insert(label.to_string(), blocks.len());
            continue;
        }
        let Some(pc) = address(line).filter(|_| !body.starts_with('.') && !body.is_empty()) else { continue };
        if new {
            blocks.push(Block { code: Vec::new() });
        }
        if let Some(b) = blocks.last_mut() {
            b.code.push((pc, body.to_string()));
        }
        new = ENDS.contains(&operation(body)) || joins(body);
    }
    labels.retain(|_, n| *n < blocks.len());
    (blocks, labels)
}

/// The name without guard and suffixes.
pub fn operation(text: &str) -> &str {
    let text = if text.starts_with('@') { text.split_once(' ').map_or("", |t| t.1) } else { text };
    text.trim_start().split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default()
}

/// Whether an instruction meets the others at the target of an SSY: `.S`.
fn joins(text: &str) -> bool {
    text.split([' ', ';']).any(|w| w.split('.').skip(1).any(|s| s == "S"))
}

/// The label that an instruction names.
pub fn target(text: &str) -> Option<&str> {
    text.split([' ', ';', '(', ')', ',']).find(|w| w.starts_with(".L"))
}

fn edges(
    blocks: &[Block],
    labels: &BTreeMap<String, usize>,
    entries: &[usize],
) -> BTreeSet<(usize, usize, &'static str)> {
    let mut edges = BTreeSet::new();
    let mut stacks: Vec<Option<Stack>> = vec![None; blocks.len()];
    let mut open: Vec<(usize, Stack)> = entries.iter().rev().map(|&n| (n, Vec::new())).collect();
    while let Some((n, mut stack)) = open.pop() {
        if stacks[n].is_some() {
            continue;
        }
        stacks[n] = Some(stack.clone());
        let mut go = |to: usize, what: &'static str, stack: &Stack| {
            edges.insert((n, to, what));
            open.push((to, stack.clone()));
        };
        let mut falls = true;
        for (_, text) in &blocks[n].code {
            let guarded = text.starts_with('@');
            let op = operation(text);
            let at = target(text).and_then(|l| labels.get(l)).copied();
            // What pops: the entries above the one that is meant go as well.
            let popped = |kind: &str, stack: &Stack| {
                let at = stack.iter().rposition(|e| e.0 == kind)?;
                Some((*labels.get(&stack[at].1)?, stack[..at].to_vec()))
            };
            let push = |kind: &'static str, stack: &mut Stack| {
                if let Some(label) = target(text) {
                    stack.push((kind, label.to_string()));
                }
            };
            match op {
                "SSY" => push("SSY", &mut stack),
                "PBK" => push("PBK", &mut stack),
                "PCNT" => push("PCNT", &mut stack),
                "BRA" | "JMP" => {
                    if let Some(to) = at {
                        go(to, if guarded { "taken" } else { "" }, &stack);
                    }
                    falls = guarded;
                }
                "BRK" | "CONT" | "SYNC" => {
                    let (kind, name) = match op {
                        "BRK" => ("PBK", "break"),
                        "CONT" => ("PCNT", "continue"),
                        _ => ("SSY", "join"),
                    };
                    if let Some((to, rest)) = popped(kind, &stack) {
                        go(to, name, &rest);
                    }
                    falls = guarded;
                }
                "EXIT" | "RET" | "BRX" => falls = guarded,
                _ => {}
            }
            if joins(text)
                && let Some((to, rest)) = popped("SSY", &stack)
            {
                go(to, "join", &rest);
                falls = guarded;
            }
        }
        if falls && n + 1 < blocks.len() {
            go(n + 1, "", &stack);
        }
    }
    edges
}
