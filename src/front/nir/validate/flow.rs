//! Blocks, and how control flows between them, as the structure says: a list of blocks with an `if` or a `loop` between
//! each two. Sources: Mesa `nir.h`, "NIR control flow", `nir_validate.c`.
//!
//! Code may stand outside a labelled block, in one without a name. The last block of a function may be followed by one
//! more, empty one: the printer shows the function's end so.
//!
//! A block's immediate dominator is known when it begins: it is the nearest common dominator of its predecessors, and the
//! edges back to a loop's header come from blocks that the header dominates.

use super::super::ast::{Jump, Node};
use super::Findings;
use crate::diag::{Diagnostic, Span};
use rustc_hash::FxHashMap;

/// A block by its place in the order of the text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) struct BlockNumber(u32);

impl BlockNumber {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Clone, Copy, Debug)]
struct Block {
    label: Option<u32>,
    /// The first node, which may be the label.
    first: u32,
    reachable: bool,
    /// Immediate dominator (the first block: itself), how many there are above, and one of them that is far up.
    idom: BlockNumber,
    depth: u32,
    jump: BlockNumber,
    /// Numbers of the blocks that it dominates, in an order in which these lie together.
    dominates: (u32, u32),
}

/// The blocks of a function.
#[derive(Default)]
pub(super) struct Flow {
    blocks: Vec<Block>,
    labels: FxHashMap<u32, (BlockNumber, Span)>,
    /// From, to; sorted by the second at the end.
    edges: Vec<(BlockNumber, BlockNumber)>,
    /// For each block where its predecessors begin in `edges`.
    starts: Vec<u32>,
}

impl Flow {
    /// The block that a node is in, which is behind the last one's or in it.
    pub(super) fn block_of(&self, mut last: BlockNumber, node: u32) -> BlockNumber {
        while self.blocks.get(last.index() + 1).is_some_and(|b| b.first <= node) {
            last.0 += 1;
        }
        last
    }

    pub(super) fn len(&self) -> usize {
        self.blocks.len()
    }

    pub(super) fn labelled(&self, label: u32) -> Option<BlockNumber> {
        self.labels.get(&label).map(|(block, _)| *block)
    }

    pub(super) fn label(&self, block: BlockNumber) -> Option<u32> {
        self.blocks[block.index()].label
    }

    /// The first node of a block.
    pub(super) fn first(&self, block: BlockNumber) -> u32 {
        self.blocks[block.index()].first
    }

    pub(super) fn predecessors(&self, block: BlockNumber) -> &[(BlockNumber, BlockNumber)] {
        let [start, end] = [0, 1].map(|i| self.starts[block.index() + i] as usize);
        &self.edges[start..end]
    }

    /// Whether every way to a block leads through another; there is none to code that nothing reaches.
    pub(super) fn dominates(&self, above: BlockNumber, below: BlockNumber) -> bool {
        let [a, b] = [above, below].map(|b| &self.blocks[b.index()]);
        !b.reachable || a.reachable && (a.dominates.0..a.dominates.1).contains(&b.dominates.0)
    }

    /// The nearest common dominator.
    fn common(&self, a: BlockNumber, b: BlockNumber) -> BlockNumber {
        let block = |b: BlockNumber| &self.blocks[b.index()];
        let (mut a, mut b) = if block(a).depth >= block(b).depth { (a, b) } else { (b, a) };
        while block(a).depth > block(b).depth {
            let (near, far) = (block(a).idom, block(a).jump);
            a = if block(far).depth >= block(b).depth { far } else { near };
        }
        // Equally deep, and so are the ends of their jumps.
        while a != b {
            let same = block(a).jump == block(b).jump;
            (a, b) = if same { (block(a).idom, block(b).idom) } else { (block(a).jump, block(b).jump) };
        }
        a
    }

    fn push(&mut self, label: Option<u32>, first: u32, predecessors: &[BlockNumber]) -> BlockNumber {
        let number = BlockNumber(self.blocks.len() as u32);
        let live = predecessors.iter().copied().filter(|p| self.blocks[p.index()].reachable);
        let idom = live.reduce(|a, b| self.common(a, b));
        let reachable = idom.is_some() || number.0 == 0;
        let idom = idom.unwrap_or_default();
        let (mut depth, mut jump) = (0, idom);
        if number.0 > 0 {
            let above = self.blocks[idom.index()];
            let far = self.blocks[above.jump.index()];
            depth = above.depth + 1;
            if above.depth - far.depth == far.depth - self.blocks[far.jump.index()].depth {
                jump = above.jump;
            }
        }
        self.blocks.push(Block { label, first, reachable, idom, depth, jump, dominates: (0, 0) });
        self.edges.extend(predecessors.iter().map(|&p| (p, number)));
        number
    }

    /// Once all blocks and edges are known.
    fn finish(&mut self) {
        let count = self.blocks.len();
        self.starts = vec![0; count + 2];
        for (_, to) in &self.edges {
            self.starts[to.index() + 2] += 1;
        }
        for i in 1..self.starts.len() {
            self.starts[i] += self.starts[i - 1];
        }
        let mut sorted = self.edges.clone();
        for &edge in &self.edges {
            let at = &mut self.starts[edge.1.index() + 1];
            sorted[*at as usize] = edge;
            *at += 1;
        }
        self.edges = sorted;
        // A block's dominator stands before it, so sizes are found backwards and places forwards.
        let mut size = vec![1u32; count];
        for i in (1..count).rev() {
            size[self.blocks[i].idom.index()] += size[i];
        }
        let mut next = vec![1; count];
        for i in 0..count {
            let start = match i {
                0 => 0,
                _ => {
                    let place = &mut next[self.blocks[i].idom.index()];
                    *place += size[i];
                    *place - size[i]
                }
            };
            self.blocks[i].dominates = (start, start + size[i]);
            next[i] = start + 1;
        }
    }
}

/// A construct that is open.
enum Frame {
    If {
        head: BlockNumber,
        /// Where the first arm ends, if not with a jump.
        then: Option<BlockNumber>,
    },
    Loop {
        header: Option<BlockNumber>,
        breaks: Vec<BlockNumber>,
        continues: Vec<BlockNumber>,
        /// In its continue construct.
        continuing: bool,
    },
}

/// What the next node is in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Block(BlockNumber),
    /// Behind a jump, in its block.
    Jumped(Span),
    /// Where a block begins.
    Between,
}

pub(super) struct Builder<'f> {
    text: &'f str,
    pub(super) findings: &'f mut Findings,
    flow: Flow,
    frames: Vec<Frame>,
    place: Place,
    /// Predecessors of the block that begins next.
    pending: Vec<BlockNumber>,
    /// A block behind another at the outermost level, which must be the function's end: label and place.
    end: Option<(u32, Span)>,
}

impl<'f> Builder<'f> {
    pub(super) fn new(text: &'f str, findings: &'f mut Findings) -> Builder<'f> {
        Builder {
            text,
            findings,
            flow: Flow::default(),
            frames: Vec::new(),
            place: Place::Between,
            pending: Vec::new(),
            end: None,
        }
    }

    pub(super) fn finish(mut self) -> Flow {
        self.here(u32::MAX);
        self.flow.finish();
        self.flow
    }

    /// The block here; one without a name begins if none has.
    pub(super) fn here(&mut self, node: u32) -> BlockNumber {
        match self.place {
            Place::Block(block) => block,
            Place::Jumped(_) | Place::Between => self.open(None, node),
        }
    }

    fn open(&mut self, label: Option<u32>, node: u32) -> BlockNumber {
        let block = self.flow.push(label, node, &self.pending);
        self.pending.clear();
        self.place = Place::Block(block);
        if let Some(Frame::Loop { header: header @ None, .. }) = self.frames.last_mut() {
            *header = Some(block);
        }
        block
    }

    /// Where a list of blocks ends, if not with a jump.
    fn close(&mut self, node: u32) -> Option<BlockNumber> {
        let end = match self.place {
            Place::Jumped(_) => None,
            _ => Some(self.here(node)),
        };
        self.place = Place::Between;
        self.pending.clear();
        end
    }

    pub(super) fn node(&mut self, at: u32, node: &Node<'_>, span: Span) {
        if let Some((label, end)) = self.end.take() {
            self.consecutive(label, end);
        }
        match node {
            Node::Block(label) => self.label(at, *label, span),
            Node::If(_) => {
                let head = self.here(at);
                self.frames.push(Frame::If { head, then: None });
                self.between([head]);
            }
            Node::Else => {
                let end = self.close(at);
                if let Some(Frame::If { head, then }) = self.frames.last_mut() {
                    *then = end;
                    let head = *head;
                    self.between([head]);
                }
            }
            Node::Loop => {
                let before = self.here(at);
                self.frames.push(Frame::Loop {
                    header: None,
                    breaks: Vec::new(),
                    continues: Vec::new(),
                    continuing: false,
                });
                self.between([before]);
            }
            Node::Continue => {
                let end = self.close(at);
                if let Some(Frame::Loop { continues, continuing, .. }) = self.frames.last_mut() {
                    *continuing = true;
                    let from = std::mem::take(continues);
                    self.between(from.into_iter().chain(end));
                }
            }
            Node::End => self.end_construct(at),
            Node::Jump(jump) => self.jump(at, *jump, span),
            _ => {
                if let Place::Jumped(jump) = self.place {
                    self.findings.push(|| {
                        Diagnostic::error("an instruction follows the jump that ends its block")
                            .at(span, "")
                            .label(jump, "the jump")
                    });
                }
                self.here(at);
            }
        }
    }

    /// The next block has these predecessors.
    fn between(&mut self, predecessors: impl IntoIterator<Item = BlockNumber>) {
        self.place = Place::Between;
        self.pending.clear();
        self.pending.extend(predecessors);
    }

    fn label(&mut self, at: u32, label: u32, span: Span) {
        if self.place != Place::Between {
            if self.frames.is_empty() {
                self.end = Some((label, span));
            } else {
                self.consecutive(label, span);
            }
        }
        if let Place::Block(before) = self.place {
            self.pending.push(before);
        }
        let block = self.open(Some(label), at);
        if let Some((_, first)) = self.flow.labels.get(&label) {
            let (text, first) = (self.text, *first);
            self.findings.push(|| {
                Diagnostic::error(format!("`{}` is the label of two blocks", block_name(text, label)))
                    .at(span, "")
                    .label(first, "the first one")
            });
        } else {
            self.flow.labels.insert(label, (block, span));
        }
    }

    fn consecutive(&mut self, label: u32, span: Span) {
        let text = self.text;
        self.findings.push(|| {
            let name = block_name(text, label);
            Diagnostic::error(format!(
                "`{name}` follows another block without an `if` or `loop` between them"
            ))
            .at(span, "")
        });
    }

    fn end_construct(&mut self, at: u32) {
        let end = self.close(at);
        match self.frames.pop() {
            Some(Frame::If { then, .. }) => self.between(then.into_iter().chain(end)),
            Some(Frame::Loop { header, breaks, continues, .. }) => {
                if let Some(header) = header {
                    let back = continues.into_iter().chain(end);
                    self.flow.edges.extend(back.map(|from| (from, header)));
                }
                self.between(breaks);
            }
            None => {}
        }
    }

    fn jump(&mut self, at: u32, jump: Jump, span: Span) {
        if let Place::Jumped(first) = self.place {
            self.findings.push(|| {
                Diagnostic::error("a jump follows the jump that ends its block")
                    .at(span, "")
                    .label(first, "the first one")
            });
        }
        let from = self.here(at);
        self.place = Place::Jumped(span);
        let word = match jump {
            Jump::Break => "break",
            Jump::Continue => "continue",
            Jump::Return | Jump::Halt | Jump::Goto => return,
        };
        let innermost = self.frames.iter_mut().rev().find_map(|f| match f {
            Frame::Loop { breaks, continues, continuing, .. } => Some((breaks, continues, *continuing)),
            Frame::If { .. } => None,
        });
        match innermost {
            Some((breaks, ..)) if jump == Jump::Break => breaks.push(from),
            Some((_, continues, false)) => continues.push(from),
            Some(_) => self
                .findings
                .push(|| Diagnostic::error("`continue` inside a continue construct").at(span, "")),
            None => self.findings.push(|| Diagnostic::error(format!("`{word}` outside a loop")).at(span, "")),
        }
    }
}

/// What the text calls a block.
pub(super) fn block_name(text: &str, label: u32) -> String {
    let prefix = if text.contains("block block_") { "block_" } else { "b" };
    format!("{prefix}{label}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chain of dominators with short branches, as a tree whose depths are large.
    #[test]
    fn the_nearest_common_dominator_is_found_at_any_depth() {
        let mut flow = Flow::default();
        let mut chain = vec![flow.push(None, 0, &[])];
        let mut leaves = Vec::new();
        for i in 1..300 {
            let above = chain[i - 1];
            chain.push(flow.push(None, 0, &[above]));
            leaves.push(flow.push(None, 0, &[above]));
        }
        flow.finish();
        for (i, j) in [(0, 298), (5, 6), (17, 200), (297, 298), (128, 256)] {
            assert_eq!(flow.common(leaves[i], leaves[j]), chain[i], "{i} {j}");
            assert_eq!(flow.common(leaves[j], chain[i]), chain[i], "{i} {j}");
            assert!(flow.dominates(chain[i], leaves[j]) && !flow.dominates(leaves[i], leaves[j]));
            assert!(!flow.dominates(chain[j], chain[i]));
        }
    }
}
