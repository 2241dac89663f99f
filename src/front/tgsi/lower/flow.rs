//! Control flow: IF, loops, SWITCH, calls.
//!
//! A switch is a region that a break leaves early, with an `if` for each case: a case's body runs where its value is
//! equal or where the case before it fell through. The values are compared when the switch begins, so that a DEFAULT
//! may stand anywhere. CONT inside a switch breaks out of it with a flag set, and continues the loop from there,
//! because a construct may only be left for the one around it.

use super::{Body, Parsed};
use crate::front::common::ssa::Var;
use crate::front::tgsi::ast::*;
use crate::ir::{self, BlockId, Call, Class, Cond, Ext, Inst as IrInst, Merge, Op, Term, Type, ValueId};

/// A construct whose end has not come yet.
pub(super) enum Open {
    If {
        join: BlockId,
        /// Where the ELSE goes, until it has come.
        els: Option<BlockId>,
    },
    Loop {
        header: BlockId,
        cont: BlockId,
        exit: BlockId,
    },
    Switch(Switch),
    /// A construct in code that cannot be reached.
    Dead,
}

pub(super) struct Switch {
    exit: BlockId,
    /// For each CASE and DEFAULT in order: its value is equal (all ones), or no other's is.
    hits: Vec<ValueId>,
    /// The next one of them.
    next: usize,
    /// All ones where a case was entered and fell through.
    fell: Var,
    /// Where the body of the case at hand ends.
    join: Option<BlockId>,
    /// All ones where a CONT left the switch.
    continues: Var,
    /// There is such a CONT.
    has_continue: bool,
}

impl Body<'_> {
    pub(super) fn flow(&mut self, at: u32, inst: &Inst<'_>) -> Parsed<()> {
        match inst.op {
            Opcode::IF | Opcode::UIF | Opcode::IF_ASKED if !self.live => self.open.push(Open::Dead),
            Opcode::BGNLOOP | Opcode::SWITCH if !self.live => self.open.push(Open::Dead),
            Opcode::IF | Opcode::UIF => {
                let cond = self.condition(inst);
                let cond = self.opened(cond)?;
                self.begin_if(at, cond);
            }
            Opcode::IF_ASKED => {
                let asked = self.b().value(IrInst::new(Op::WholeWarp, Type::Pred));
                self.begin_if(at, asked);
            }
            Opcode::ELSE => self.begin_else(),
            Opcode::ENDIF => self.end_if(),
            Opcode::BGNLOOP => self.begin_loop(at),
            Opcode::ENDLOOP => self.end_loop(),
            Opcode::SWITCH => {
                let begun = self.begin_switch(at, inst);
                self.opened(begun)?;
            }
            Opcode::CASE | Opcode::DEFAULT => self.next_case(),
            Opcode::ENDSWITCH => self.end_switch(),
            _ if !self.live => {}
            Opcode::BRK => self.leave_to_exit(),
            Opcode::CONT => self.leave_to_next(),
            Opcode::BREAKC | Opcode::CALLNZ => {
                let cond = self.condition(inst)?;
                let join = self.open_if(cond, None);
                match inst.op {
                    Opcode::BREAKC => self.leave_to_exit(),
                    _ => self.call(at),
                }
                self.close_if(join);
            }
            Opcode::CAL => self.call(at),
            Opcode::RET => self.leave(),
            // The end of all, wherever it stands; what a stage leaves in registers is known to the main code.
            Opcode::END if self.binding.is_none() => self.leave(),
            Opcode::END => self.end(Term::Exit),
            _ => {}
        }
        Ok(())
    }

    /// What could not be opened for an error is open all the same, so that its parts and its end are not taken for those
    /// of the construct around it.
    fn opened<T>(&mut self, begun: Parsed<T>) -> Parsed<T> {
        if begun.is_err() {
            self.open.push(Open::Dead);
        }
        begun
    }

    /// Whether the operand of an IF and its kin holds. A float is true unless it is zero: NaN is, too.
    fn condition(&mut self, inst: &Inst<'_>) -> Parsed<ValueId> {
        let float = inst.op == Opcode::IF;
        let s = self.operand(&inst.srcs[0], 0, if float { Ty::F32 } else { Ty::U32 })?;
        let s = if float { s } else { self.value(s).into() };
        let (cond, ty) = if float { (Cond::Neu, Type::F32) } else { (Cond::Ne, Type::U32) };
        Ok(self.b().setp(cond, ty, s, 0u32))
    }

    fn new_block(&mut self) -> BlockId {
        self.f.detached_block()
    }

    /// Continues in a block, which takes its place in the layout.
    fn enter(&mut self, block: BlockId) {
        self.f.layout.push(block);
        self.ssa.seal(&mut self.f, block);
        self.block = block;
        self.live = self.ssa.is_reached(block);
    }

    fn jump(&mut self, to: BlockId) {
        if self.live {
            self.ssa.jump(&mut self.f, self.block, to);
            self.live = false;
        }
    }

    /// Begins the arm of an `if`; returns where its arms meet. Without `els`, the false edge goes there.
    fn open_if(&mut self, cond: ValueId, els: Option<BlockId>) -> BlockId {
        let (then, join) = (self.new_block(), self.new_block());
        self.f.blocks[self.block].merge = Merge::If { join };
        self.f.blocks[self.block].term_loc = ir::Loc(Some(self.span));
        self.ssa.branch(&mut self.f, self.block, cond, then, els.unwrap_or(join));
        self.enter(then);
        join
    }

    fn close_if(&mut self, join: BlockId) {
        self.jump(join);
        self.enter(join);
    }

    fn begin_if(&mut self, at: u32, cond: ValueId) {
        let partner = self.cx.ast.partner[at as usize];
        let els = (self.cx.ast.code[partner as usize].op == Opcode::ELSE).then(|| self.new_block());
        let join = self.open_if(cond, els);
        self.open.push(Open::If { join, els });
    }

    fn begin_else(&mut self) {
        if let Some(Open::If { join, els }) = self.open.last_mut()
            && let (join, Some(els)) = (*join, els.take())
        {
            self.jump(join);
            self.enter(els);
        }
    }

    fn end_if(&mut self) {
        if let Some(Open::If { join, .. }) = self.open.pop() {
            self.close_if(join);
        }
    }

    fn begin_loop(&mut self, at: u32) {
        let [header, start, cont, exit] = [(); 4].map(|()| self.new_block());
        self.jump(header);
        self.ssa.begin_loop(header, at, self.cx.ast.partner[at as usize]);
        self.f.layout.push(header);
        self.f.blocks[header].merge = Merge::Loop { exit, cont };
        self.ssa.jump(&mut self.f, header, start);
        self.enter(start);
        self.open.push(Open::Loop { header, cont, exit });
        self.loops += 1;
    }

    fn end_loop(&mut self) {
        let Some(Open::Loop { header, cont, exit }) = self.open.pop() else { return };
        self.loops -= 1;
        self.jump(cont);
        if self.ssa.is_reached(cont) {
            self.enter(cont);
            self.jump(header);
        } else {
            // Nothing goes round: what is left is a region that can be left early.
            self.ssa.seal(&mut self.f, cont);
            self.f.blocks[header].merge = Merge::Loop { exit, cont: header };
        }
        self.ssa.seal(&mut self.f, header);
        self.enter(exit);
    }

    /// BRK: to the exit of the loop or switch around.
    fn leave_to_exit(&mut self) {
        let exit = self.open.iter().rev().find_map(|o| match o {
            Open::Loop { exit, .. } | Open::Switch(Switch { exit, .. }) => Some(*exit),
            _ => None,
        });
        if let Some(exit) = exit {
            self.jump(exit);
        }
    }

    /// CONT: to the next round of the loop around.
    fn leave_to_next(&mut self) {
        let Some(n) = self.open.iter().rposition(|o| matches!(o, Open::Loop { .. } | Open::Switch(_))) else {
            return;
        };
        match &mut self.open[n] {
            Open::Loop { cont, .. } => {
                let cont = *cont;
                self.jump(cont);
            }
            Open::Switch(s) => {
                let (exit, flag) = (s.exit, s.continues);
                s.has_continue = true;
                let yes = self.b().mov(u32::MAX);
                self.ssa.write(self.block, flag, yes);
                self.jump(exit);
            }
            _ => {}
        }
    }

    fn begin_switch(&mut self, at: u32, inst: &Inst<'_>) -> Parsed<()> {
        let selector = self.operand(&inst.srcs[0], 0, Ty::U32)?;
        let selector = self.value(selector);
        let ast = self.cx.ast;
        let mut hits = Vec::new();
        let mut default = None;
        let mut any: Option<ValueId> = None;
        let mut next = ast.partner[at as usize];
        while ast.code[next as usize].op != Opcode::ENDSWITCH {
            let case = &ast.inst(next);
            if case.op == Opcode::DEFAULT {
                if default.replace(hits.len()).is_some() {
                    self.span = case.span;
                    return Err(self.error("a switch has two DEFAULTs", "expected one at most"));
                }
                hits.push(selector);
            } else {
                let v = self.operand(&case.srcs[0], 0, Ty::U32)?;
                let hit = self.b().set(Type::U32, Cond::Eq, Type::U32, selector, v);
                hits.push(hit);
                any = Some(match any {
                    None => hit,
                    Some(a) => self.b().op2(Op::Or, Type::U32, a, hit),
                });
            }
            next = ast.partner[next as usize];
        }
        if let Some(n) = default {
            hits[n] = match any {
                None => self.b().mov(u32::MAX),
                Some(a) => self.b().op1(Op::Not, Type::U32, a),
            };
        }
        let [header, start, exit] = [(); 3].map(|()| self.new_block());
        let (fell, continues) = (self.ssa.var(Class::Gpr), self.ssa.var(Class::Gpr));
        let no = self.b().mov(0u32);
        self.ssa.write(self.block, fell, no);
        self.ssa.write(self.block, continues, no);
        self.jump(header);
        self.f.blocks[header].merge = Merge::Loop { exit, cont: header };
        self.enter(header);
        self.jump(start);
        self.enter(start);
        // Code before the first CASE is never executed.
        self.live = false;
        let switch = Switch { exit, hits, next: 0, fell, join: None, continues, has_continue: false };
        self.open.push(Open::Switch(switch));
        Ok(())
    }

    fn next_case(&mut self) {
        let Some(Open::Switch(s)) = self.open.last_mut() else { return };
        let (join, fell, hit) = (s.join.take(), s.fell, s.hits[s.next]);
        s.next += 1;
        match join {
            Some(join) => self.close_if(join),
            None => self.live = true,
        }
        if !self.live {
            return;
        }
        let before = self.ssa.read(&mut self.f, self.block, fell);
        let run = self.b().op2(Op::Or, Type::U32, before, hit);
        let cond = self.b().setp(Cond::Ne, Type::U32, run, 0u32);
        let join = self.open_if(cond, None);
        let yes = self.b().mov(u32::MAX);
        self.ssa.write(self.block, fell, yes);
        if let Some(Open::Switch(s)) = self.open.last_mut() {
            s.join = Some(join);
        }
    }

    fn end_switch(&mut self) {
        let Some(Open::Switch(s)) = self.open.pop() else { return };
        match s.join {
            Some(join) => self.close_if(join),
            // A switch without cases.
            None => self.live = true,
        }
        self.jump(s.exit);
        self.enter(s.exit);
        if self.live && s.has_continue {
            let v = self.ssa.read(&mut self.f, self.block, s.continues);
            let cond = self.b().setp(Cond::Ne, Type::U32, v, 0u32);
            let join = self.open_if(cond, None);
            self.leave_to_next();
            self.close_if(join);
        }
    }

    fn call(&mut self, at: u32) {
        let sub = self.cx.ast.partner[at as usize];
        let (Some(binding), Some(&func)) = (self.cx.calls.binding(sub), self.cx.funcs.get(&sub)) else {
            return;
        };
        let args = binding.params.iter().map(|&(f, i, c)| self.read_var(f, i, c.into())).collect();
        let results: Vec<ValueId> = binding.results.iter().map(|_| self.f.new_value(Class::Gpr)).collect();
        let mut call = IrInst::new(Op::Call, Type::U32);
        call.ext = Some(Box::new(Ext::Call(Call::new(func, args, results.clone()))));
        self.b().push(call);
        for (&(file, i, c), v) in binding.results.iter().zip(results) {
            self.write_var(file, i, c.into(), v);
        }
    }
}
