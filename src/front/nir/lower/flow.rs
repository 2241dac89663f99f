//! Structure: `if` and `loop` to blocks with their [`Merge`], jumps, calls.

use super::super::ast::{self, Jump, Node, Src};
use super::{Frame, Lower, Shape, Signature};
use crate::front::common::emit::value::{Comp, Pred};
use crate::ir::{self, BlockId, Merge, Term};
use crate::stage::Stage;
use arrayvec::ArrayVec;
use rustc_hash::FxHashMap;

impl<'a> Lower<'a, '_> {
    // ---- control flow

    /// Goes on in a block, from where the code ends that was lowered last.
    fn fall_to(&mut self, to: BlockId) {
        if self.e.reachable {
            self.end_of_block();
            self.e.go(to);
        }
    }

    pub(super) fn begin_if(&mut self, frames: &mut Vec<Frame>, cond: &Src) {
        if !self.e.reachable {
            return frames.push(Frame::Dead);
        }
        let bits = self.src_shape(cond).bits;
        let c = self.src_comp(cond, 0);
        let p = self.e.truth(c, bits);
        self.end_of_block();
        let header = self.e.b.block;
        let func = &mut *self.e.b.func;
        let [then, els, join] = [(); 3].map(|()| func.detached_block());
        self.e.fork(p, then, els);
        let func = &mut *self.e.b.func;
        self.e.ssa.seal(func, then);
        self.e.ssa.seal(func, els);
        frames.push(Frame::If { header, els, join });
        self.e.begin(then);
    }

    pub(super) fn begin_else(&mut self, frames: &[Frame]) {
        let Some(&Frame::If { els, join, .. }) = frames.last() else { return };
        self.fall_to(join);
        self.e.begin(els);
    }

    /// For each loop of the body, the node that ends it.
    pub(super) fn loop_ends(&self) -> FxHashMap<u32, u32> {
        let mut ends = FxHashMap::default();
        let mut open = Vec::new();
        for (at, (node, _)) in self.fun.body.iter().enumerate() {
            let at = at as u32;
            match node {
                Node::If(_) => open.push(None),
                Node::Loop => {
                    ends.insert(at, u32::MAX);
                    open.push(Some(at));
                }
                Node::End => {
                    if let Some(begin) = open.pop().flatten() {
                        ends.insert(begin, at);
                    }
                }
                _ => {}
            }
        }
        ends
    }

    /// A loop whose nodes go from `at` to `end`.
    pub(super) fn begin_loop(&mut self, frames: &mut Vec<Frame>, at: u32, end: u32) {
        if !self.e.reachable {
            return frames.push(Frame::Dead);
        }
        self.end_of_block();
        let func = &mut *self.e.b.func;
        let [header, body, exit] = [(); 3].map(|()| func.detached_block());
        self.e.go(header);
        self.e.ssa.begin_loop(header, at, end);
        self.e.begin(header);
        self.e.go(body);
        self.e.ssa.seal(self.e.b.func, body);
        self.e.begin(body);
        frames.push(Frame::Loop { header, exit, cont: None, continuing: false });
        self.kept.loops += 1;
    }

    /// What a loop's `continue`s go to.
    fn continue_block(&mut self, frames: &mut [Frame]) -> Option<BlockId> {
        let func = &mut *self.e.b.func;
        frames.iter_mut().rev().find_map(|f| match f {
            Frame::Loop { cont, .. } => Some(*cont.get_or_insert_with(|| func.detached_block())),
            _ => None,
        })
    }

    /// The code between a loop's body and its next turn, which `continue` goes to as well.
    pub(super) fn begin_continue(&mut self, frames: &mut [Frame]) {
        let Some(Frame::Loop { .. }) = frames.last() else { return };
        let Some(cont) = self.continue_block(frames) else { return };
        self.fall_to(cont);
        self.e.ssa.seal(self.e.b.func, cont);
        self.e.begin(cont);
        self.e.reachable = self.e.ssa.is_reached(cont);
        if let Some(Frame::Loop { continuing, .. }) = frames.last_mut() {
            *continuing = true;
        }
    }

    pub(super) fn end(&mut self, frames: &mut Vec<Frame>) {
        match frames.pop() {
            Some(Frame::If { header, join, .. }) => {
                self.fall_to(join);
                self.e.ssa.seal(self.e.b.func, join);
                self.e.b.func.blocks[header].merge = Merge::If { join };
                self.e.begin_end(join);
            }
            Some(Frame::Loop { header, exit, cont, continuing }) => {
                self.end_loop(header, exit, cont, continuing);
            }
            Some(Frame::Dead) | None => {}
        }
    }

    fn end_loop(&mut self, header: BlockId, exit: BlockId, cont: Option<BlockId>, continuing: bool) {
        self.kept.loops -= 1;
        let back = match cont {
            // The continue construct's own code ends here.
            Some(cont) if continuing => {
                self.fall_to(header);
                cont
            }
            Some(cont) => {
                self.fall_to(cont);
                self.e.ssa.seal(self.e.b.func, cont);
                self.e.begin(cont);
                self.e.go(header);
                cont
            }
            None => {
                self.fall_to(header);
                header
            }
        };
        self.e.ssa.seal(self.e.b.func, header);
        self.e.ssa.seal(self.e.b.func, exit);
        self.e.b.func.blocks[header].merge = Merge::Loop { exit, cont: back };
        self.e.begin_end(exit);
    }

    pub(super) fn jump(&mut self, frames: &mut [Frame], jump: Jump) {
        self.end_of_block();
        match jump {
            Jump::Break => {
                let exit = frames.iter().rev().find_map(|f| match f {
                    Frame::Loop { exit, .. } => Some(*exit),
                    _ => None,
                });
                if let Some(exit) = exit {
                    self.e.go(exit);
                }
            }
            Jump::Continue => {
                if let Some(cont) = self.continue_block(frames) {
                    self.e.go(cont);
                }
            }
            Jump::Return => self.leave(),
            Jump::Halt if self.is_entry => self.leave(),
            Jump::Halt => {
                if matches!(self.stage(), Stage::Geometry | Stage::Fragment) {
                    self.unsupported(self.span, "only the entry point ends shaders of this stage");
                }
                self.e.b.terminate(Term::Exit);
                self.e.reachable = false;
            }
            Jump::Goto => self.error(self.span, "unstructured control flow"),
        }
    }

    pub(super) fn leave(&mut self) {
        let term = if self.is_entry { self.end_stage() } else { Term::Ret(Vec::new()) };
        self.e.b.terminate(term);
        self.e.reachable = false;
    }

    // ---- calls

    pub(super) fn call(&mut self, callee: &'a str, args: ast::Range) {
        let Some(&index) = self.module.by_name.get(callee) else {
            return self.error(self.span, format!("there is no function `{callee}` with a body"));
        };
        let srcs = self.fun.srcs(args);
        let mut shapes = Vec::new();
        let mut values = Vec::new();
        for src in srcs {
            shapes.push(self.src_shape(src));
            for c in self.src_comps(src) {
                values.extend(self.e.values(c));
            }
        }
        let known = self.module.ids.contains_key(&index);
        if !known {
            self.module.signatures.insert(index, Signature { shapes: shapes.clone() });
            self.module.pending.push(index);
        }
        if self.module.signature(index).shapes != shapes {
            return self.error(self.span, format!("the arguments do not fit `{callee}`"));
        }
        let func = self.module.id(index);
        self.module.calls.push((self.index, index, self.span));
        let mut inst = ir::Inst::new(ir::Op::Call, ir::Type::U32);
        inst.ext = Some(Box::new(ir::Ext::Call(ir::Call::new(func, values, Vec::new()))));
        self.e.b.push(inst);
    }

    /// Parameter `i` of this function.
    pub(super) fn param(&mut self, i: usize) -> Option<(Shape, ArrayVec<Comp, 16>)> {
        let shape = *self.signature.shapes.get(i)?;
        let first: usize = self.signature.shapes[..i].iter().map(|s| s.words()).sum();
        let values = &self.e.b.func.params[first..first + shape.words()];
        let comps = match shape.bits {
            1 => values.iter().map(|&v| Comp::Bool(Pred::Val(v, false))).collect(),
            64 => values.chunks(2).map(|v| Comp::Wide(v[0].into(), v[1].into())).collect(),
            _ => values.iter().map(|&v| Comp::Word(v.into())).collect(),
        };
        Some((shape, comps))
    }
}
