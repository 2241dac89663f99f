//! From micro-ops to a function of host code.
//!
//! A function takes the frame and the block that it begins with, and goes from block to block until something outside it is to be
//! done ([`Status`](crate::compiled::frame::Status)). Each basic block has two forms, for warps all of whose lanes run and for others. In a block, instructions that
//! [`pure`] has code for form *runs*: a run is executed for a group of lanes, then for the next one, with registers in the host's
//! registers. At the end of a run what lives on is written to the warp's rows. All else is a call of the interpreter, one instruction each, for
//! which the warp's state is complete.

mod group;
mod lane;
mod memory;
mod pure;
mod vector;

use crate::compiled::access;
use crate::compiled::blocks::Blocks;
use crate::compiled::frame::{ELSEWHERE, STOP, Status, field};
use crate::compiled::host::{Blob, Host, Refused};
use crate::compiled::liveness::{Liveness, Set, masks_written};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockCall, InstBuilder, JumpTable, JumpTableData, SigRef, Value, types};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use group::{Group, Places, mask_offset, spread};
use nvir_emu::engine::Code;
use nvir_emu::engine::open::{self, Flow, Inst, Micro, PSrc};
use pure::is_compiled;
use vector::{Emitter, GROUP, GROUP_BYTES, WORDS};

/// Code with more instructions is interpreted: compiling would take seconds.
const MAX_INSTRUCTIONS: usize = 20_000;

/// Which registers, predicates and flags are written to the warp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Keep {
    /// Those that may be read.
    Live,
    /// All, so that another engine's can be compared.
    All,
}

/// Compiled code.
pub(crate) struct Compiled {
    pub blob: Blob,
    /// The block that begins at each instruction.
    pub numbers: Vec<u32>,
    /// Loads and stores: the instructions that the slots of a block of threads are of.
    pub accesses: Vec<u32>,
    /// One above the highest register that it names.
    pub registers: usize,
}

/// Compiles what can be reached from `roots`, indices of instructions.
pub(crate) fn compile(code: &Code, roots: &[usize], stage: bool, keep: Keep) -> Result<Compiled, Refused> {
    let blocks = Blocks::new(code, roots);
    let length: usize = (0..blocks.count()).map(|b| blocks.instructions(b).len()).sum();
    if length > MAX_INSTRUCTIONS {
        return Err(Refused::Failed(format!("{length} instructions, more than {MAX_INSTRUCTIONS}")));
    }
    let liveness = Liveness::new(code, &blocks, stage);
    let mut host = Host::new()?;
    let callback = host.callback();
    let config = host.config();
    let mut context = FunctionBuilderContext::new();
    let mut b = FunctionBuilder::new(host.function(), &mut context);
    let callback = b.import_signature(callback);
    let heads = (0..blocks.count()).map(|_| b.create_block()).collect();
    let [entry, outcome, elsewhere, dispatch] = [(); 4].map(|()| b.create_block());
    b.append_block_params_for_function_params(entry);
    b.append_block_param(dispatch, types::I32);
    let frame = b.block_params(entry)[0];
    let first = b.block_params(entry)[1];
    let mut e = Emitter { b, named: 0 };
    e.b.switch_to_block(entry);
    let mut load = |at: i32| e.load(types::I64, frame, at as usize);
    let state = State {
        frame,
        warp: load(field::WARP),
        block: load(field::BLOCK),
        regs: load(field::REGS),
        pool: load(field::POOL),
        sets: load(field::MASKS),
    };
    e.jump(dispatch, &[first]);
    let mut lift = Lift {
        e,
        code,
        blocks: &blocks,
        liveness: &liveness,
        keep,
        stage,
        state,
        callback,
        accesses: Vec::new(),
        slots: vec![None; code.instructions().len()],
        heads,
        outcome,
        elsewhere,
        dispatch,
    };
    lift.ends();
    for block in 0..blocks.count() {
        lift.block(block);
    }
    let Lift { e: Emitter { mut b, named }, accesses, .. } = lift;
    b.seal_all_blocks();
    b.finalize(config);
    let all = (0..blocks.count()).flat_map(|b| blocks.instructions(b)).map(|&i| &code.instructions()[i]);
    let registers = all.map(Inst::gprs).max().unwrap_or(0).max(named) as usize;
    let blob = host.finish()?;
    Ok(Compiled { blob, numbers: blocks.numbers().to_vec(), accesses, registers })
}

/// What the function is called with, for as long as it runs.
#[derive(Clone, Copy)]
struct State {
    frame: Value,
    warp: Value,
    block: Value,
    regs: Value,
    pool: Value,
    /// Vectors of masks for each set of a group's lanes.
    sets: Value,
}

/// Which lanes run in the form of a block that is written.
#[derive(Clone, Copy)]
enum Active {
    All,
    Mask(Value),
}

struct Lift<'f, 'c> {
    e: Emitter<'f>,
    code: &'c Code,
    blocks: &'c Blocks,
    liveness: &'c Liveness,
    keep: Keep,
    /// Graphics stages have memory and helpers of their own: the interpreter accesses it.
    stage: bool,
    state: State,
    callback: SigRef,
    /// The instructions of the slots, and the slot of each instruction.
    accesses: Vec<u32>,
    slots: Vec<Option<u32>>,
    /// Where each block begins.
    heads: Vec<Block>,
    /// Return with what a callback has left in the frame.
    outcome: Block,
    /// Return since the warp is at no block.
    elsewhere: Block,
    /// Goes to the block of a number.
    dispatch: Block,
}

impl<'c> Lift<'_, 'c> {
    fn inst(&self, index: usize) -> &'c Inst {
        &self.code.instructions()[index]
    }

    /// The ways out of the function, and the way to its blocks.
    fn ends(&mut self) {
        let table = self.table();
        self.e.b.switch_to_block(self.dispatch);
        let number = self.e.b.block_params(self.dispatch)[0];
        self.e.b.ins().br_table(number, table);
        for (block, status) in [(self.outcome, Status::Outcome), (self.elsewhere, Status::Elsewhere)] {
            self.e.b.switch_to_block(block);
            self.e.b.set_cold_block(block);
            self.leave(status);
        }
    }

    fn table(&mut self) -> JumpTable {
        let other = self.e.b.create_block();
        self.e.b.switch_to_block(other);
        self.e.b.set_cold_block(other);
        let number = self.e.b.block_params(self.dispatch)[0];
        let stops = self.e.b.ins().icmp_imm_s(IntCC::Equal, number, i64::from(STOP as i32));
        self.e.branch(stops, self.outcome, self.elsewhere);
        let pool = &mut self.e.b.func.dfg.value_lists;
        let mut call = |block| BlockCall::new(block, [], pool);
        let other = call(other);
        let all: Vec<BlockCall> = self.heads.iter().map(|&head| call(head)).collect();
        self.e.b.create_jump_table(JumpTableData::new(other, &all))
    }

    fn leave(&mut self, status: Status) {
        let status = self.e.int(status as u32);
        self.e.b.ins().return_(&[status]);
    }

    /// The warp is at an instruction.
    fn put_pc(&mut self, index: usize) {
        let pc = self.e.int(self.code.address(index));
        self.e.store(pc, self.state.warp, open::PC);
    }

    fn block(&mut self, block: usize) {
        let State { frame, block: shared, warp, .. } = self.state;
        self.e.b.switch_to_block(self.heads[block]);
        let [late, goes_on, full, partial] = [(); 4].map(|()| self.e.b.create_block());
        let steps = self.e.load(types::I64, shared, open::STEPS);
        let until = self.e.load(types::I64, frame, field::UNTIL as usize);
        let is_late = self.e.icmp(IntCC::UnsignedGreaterThanOrEqual, steps, until);
        self.e.branch(is_late, late, goes_on);

        self.e.b.switch_to_block(late);
        self.e.b.set_cold_block(late);
        self.put_pc(self.blocks.bounds(block).0);
        self.leave(Status::Slice);

        self.e.b.switch_to_block(goes_on);
        let active = self.e.load(types::I32, warp, open::ACTIVE);
        let all = self.e.b.ins().icmp_imm_s(IntCC::Equal, active, -1);
        self.e.branch(all, full, partial);
        for (start, active) in [(full, Active::All), (partial, Active::Mask(active))] {
            self.e.b.switch_to_block(start);
            self.form(block, active);
        }
    }

    /// A block for warps with these lanes.
    fn form(&mut self, block: usize, active: Active) {
        let instructions = self.blocks.instructions(block);
        let live = match self.keep {
            Keep::Live => self.liveness.behind_each(self.code, self.blocks, block),
            Keep::All => vec![Set::ALL; instructions.len()],
        };
        let mut at = 0;
        while at < instructions.len() {
            let compiled = |&i: &usize| is_compiled(self.code, self.inst(i));
            let count = instructions[at..].iter().take_while(|i| compiled(i)).count();
            if count > 0 {
                self.run(&instructions[at..at + count], &live[at + count - 1], active);
                at += count;
            } else if self.inst(instructions[at]).ends_block() {
                return self.control(block, instructions[at], active);
            } else if !self.stage && access::is_access(self.inst(instructions[at])) {
                self.access(instructions[at], active);
                at += 1;
            } else {
                self.call(instructions[at], active);
                at += 1;
            }
        }
        self.fall_through(block);
    }

    /// To what follows a block.
    fn fall_through(&mut self, block: usize) {
        let end = self.blocks.bounds(block).1;
        match self.blocks.starting_at(end) {
            Some(next) => self.e.jump(self.heads[next], &[]),
            None => {
                self.put_pc(end);
                self.leave(Status::Elsewhere);
            }
        }
    }

    /// The lanes that execute an instruction, a word.
    fn executing(&mut self, inst: &Inst, active: Active) -> Value {
        let mut mask = match active {
            Active::All => None,
            Active::Mask(active) => Some(active),
        };
        if inst.guard != PSrc::TRUE {
            let num = usize::from(inst.guard.num & 7);
            let mut pred = if num == 7 {
                self.e.int(u32::MAX)
            } else {
                self.e.load(types::I32, self.state.warp, mask_offset(num))
            };
            if inst.guard.not {
                pred = self.e.not(pred);
            }
            mask = Some(mask.map_or(pred, |m| self.e.and(m, pred)));
        }
        if inst.quad != 15 {
            let quad = self.e.int(u32::from(inst.quad) * 0x1111_1111);
            mask = Some(mask.map_or(quad, |m| self.e.and(m, quad)));
        }
        mask.unwrap_or_else(|| self.e.int(u32::MAX))
    }

    /// Counts instructions, and those of threads.
    fn count(&mut self, steps: usize, threads: Value) {
        for (offset, more) in [(open::STEPS, None), (open::THREAD_STEPS, Some(threads))] {
            let old = self.e.load(types::I64, self.state.block, offset);
            let new = match more {
                None => self.e.b.ins().iadd_imm_s(old, steps as i64),
                Some(more) => self.e.add(old, more),
            };
            self.e.store(new, self.state.block, offset);
        }
    }

    fn threads_of(&mut self, mask: Value) -> Value {
        let count = self.e.b.ins().popcnt(mask);
        self.e.b.ins().uextend(types::I64, count)
    }

    /// Has the interpreter execute an instruction, and returns if that ends something.
    fn call(&mut self, index: usize, active: Active) {
        let done = self.e.b.create_block();
        self.skip_if_nobody(index, active, done);
        let stopped = self.callback(index, field::STEP, 0);
        self.e.branch(stopped, self.outcome, done);
        self.e.b.switch_to_block(done);
    }

    /// An instruction with a guard that no lane executes is only counted.
    fn skip_if_nobody(&mut self, index: usize, active: Active, behind: Block) {
        let inst = self.inst(index);
        if inst.guard == PSrc::TRUE && inst.quad == 15 || matches!(inst.micro, Micro::Illegal(_)) {
            return;
        }
        let [skipped, some] = [(); 2].map(|()| self.e.b.create_block());
        let mask = self.executing(inst, active);
        self.e.branch(mask, some, skipped);
        self.e.b.switch_to_block(skipped);
        let none = self.e.long(0);
        self.count(1, none);
        self.e.jump(behind, &[]);
        self.e.b.switch_to_block(some);
    }

    fn callback(&mut self, index: usize, which: i32, argument: u32) -> Value {
        self.put_pc(index);
        let callee = self.e.load(types::I64, self.state.frame, which as usize);
        let argument = self.e.int(argument);
        let call = self.e.b.ins().call_indirect(self.callback, callee, &[self.state.frame, argument]);
        self.e.b.inst_results(call)[0]
    }

    /// The last instruction of a block, that may change which lanes run.
    fn control(&mut self, block: usize, index: usize, active: Active) {
        let inst = self.inst(index);
        let behind = self.e.b.create_block();
        if let Micro::Flow(Flow::Bra { target, cc: 15, .. }) = inst.micro
            && let Some(target) = self.code.index(target).and_then(|i| self.blocks.starting_at(i))
            && !inst.sync
        {
            self.jump_together(inst, target, active);
        }
        self.skip_if_nobody(index, active, behind);
        let next = self.callback(index, field::CONTROL, index as u32);
        self.e.jump(self.dispatch, &[next]);
        self.e.b.switch_to_block(behind);
        self.fall_through(block);
    }

    /// A branch that all lanes that run take.
    fn jump_together(&mut self, inst: &Inst, target: usize, active: Active) {
        let [all, others] = [(); 2].map(|()| self.e.b.create_block());
        let mask = self.executing(inst, active);
        let whole = match active {
            Active::All => self.e.int(u32::MAX),
            Active::Mask(active) => active,
        };
        let together = self.e.icmp(IntCC::Equal, mask, whole);
        self.e.branch(together, all, others);
        self.e.b.switch_to_block(all);
        let threads = self.threads_of(mask);
        self.count(1, threads);
        self.e.jump(self.heads[target], &[]);
        self.e.b.switch_to_block(others);
    }

    /// Instructions that are executed for one group of lanes after the other.
    fn run(&mut self, indices: &[usize], live: &Set, active: Active) {
        let insts: Vec<&Inst> = indices.iter().map(|&i| self.inst(i)).collect();
        let is_guarded = |i: &&&Inst| i.guard != PSrc::TRUE || i.quad != 15;
        let guarded = insts.iter().filter(is_guarded).count();
        let written = insts.iter().fold(0, |m, i| m | masks_written(i)) & live.masks;
        let masks: Vec<usize> =
            (0..crate::compiled::liveness::MASKS).filter(|n| written >> n & 1 != 0).collect();

        // Of the loop: the group's offset, counts of guarded instructions, and masks that are written.
        let [head, latch, done] = [(); 3].map(|()| self.e.b.create_block());
        self.e.b.append_block_param(head, types::I64);
        for block in [head, latch, done] {
            self.e.b.append_block_param(block, WORDS);
            masks.iter().for_each(|_| {
                self.e.b.append_block_param(block, types::I32);
            });
        }
        let (offset, counts, none) = (self.e.long(0), self.e.all(0), self.e.int(0));
        let mut args = vec![offset, counts];
        args.extend(masks.iter().map(|_| none));
        self.e.jump(head, &args);

        self.e.b.switch_to_block(head);
        let params = self.e.b.block_params(head).to_vec();
        let offset = params[0];
        let carried = &params[1..];
        let lane = self.e.b.ins().ushr_imm_u(offset, (GROUP_BYTES / GROUP as i64).ilog2() as i64);
        let lane = self.e.b.ins().ireduce(types::I32, lane);
        let active_lanes = match active {
            Active::All => None,
            Active::Mask(active) => {
                let body = self.e.b.create_block();
                let set = self.e.b.ins().ushr(active, lane);
                let set = self.e.b.ins().band_imm_u(set, (1 << GROUP) - 1);
                let args: Vec<_> = carried.iter().map(|&v| v.into()).collect();
                self.e.b.ins().brif(set, body, &[], latch, &args);
                self.e.b.switch_to_block(body);
                Some(spread(&mut self.e, active, lane, self.state.sets))
            }
        };
        let State { warp, pool, sets, regs, .. } = self.state;
        let rows = self.e.add(regs, offset);
        let places = Places { warp, pool, sets, rows, lane };
        let mut counts = carried[0];
        let mut group = Group::new(&mut self.e, self.code, places);
        for inst in &insts {
            if let Some(mut guard) = group.enter(inst) {
                if let Some(active) = active_lanes {
                    guard = group.e.and(guard, active);
                }
                counts = group.e.sub(counts, guard);
            }
            group.execute(inst);
        }
        group.write_back(|r| live.has(r), active_lanes);
        let mut args = vec![counts];
        for (&n, &old) in masks.iter().zip(&carried[1..]) {
            let mask = group.mask(n);
            let set = group.e.b.ins().vhigh_bits(types::I32, mask);
            let set = group.e.b.ins().ishl(set, lane);
            args.push(group.e.or(old, set));
        }
        self.e.jump(latch, &args);

        self.e.b.switch_to_block(latch);
        let carried: Vec<_> = self.e.b.block_params(latch).iter().map(|&v| v.into()).collect();
        let next = self.e.b.ins().iadd_imm_s(offset, GROUP_BYTES);
        let more = self.e.b.ins().icmp_imm_s(IntCC::UnsignedLessThan, next, vector::ROW as i64);
        let again: Vec<_> = [next.into()].into_iter().chain(carried.iter().copied()).collect();
        self.e.b.ins().brif(more, head, &again, done, &carried);

        self.e.b.switch_to_block(done);
        let results = self.e.b.block_params(done).to_vec();
        for (&n, &new) in masks.iter().zip(&results[1..]) {
            let mut value = new;
            if let Active::Mask(active) = active {
                let old = self.e.load(types::I32, warp, mask_offset(n));
                let kept = self.e.b.ins().band_not(old, active);
                let new = self.e.and(new, active);
                value = self.e.or(kept, new);
            }
            self.e.store(value, warp, mask_offset(n));
        }
        let plain = (insts.len() - guarded) as i64;
        let mut threads = match active {
            Active::All => self.e.long(plain * open::LANES as i64),
            Active::Mask(active) => {
                let threads = self.threads_of(active);
                self.e.b.ins().imul_imm_s(threads, plain)
            }
        };
        if guarded > 0 {
            let counted = self.e.sum_of_lanes(results[0]);
            let counted = self.e.b.ins().uextend(types::I64, counted);
            threads = self.e.add(threads, counted);
        }
        self.count(insts.len(), threads);
    }
}

const _: () = assert!(ELSEWHERE > STOP, "both are greater than any block's number");
