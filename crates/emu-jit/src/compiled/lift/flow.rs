//! Transfers of control: between blocks, by the divergence stack, and out of the function.
//!
//! What is unusual (no entry to wait at, no room for another one, conditions on flags, computed jumps, barriers) is left to the
//! interpreter, with nothing changed.

use super::super::frame::{ELSEWHERE, STOP, Status, field};
use super::group::Group;
use super::vector::Emitter;
use super::{Active, Lift};
use crate::Threads;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, BlockCall, InstBuilder, JumpTableData, Value, types};
use nvir_emu::engine::Code;
use nvir_emu::engine::open::{self, BarMode, Barrier, Entry, Flow, Inst, LANES, Micro, NULL, PSrc, Wait};
use std::mem::offset_of;

/// The condition that always holds.
pub(super) const ALWAYS: u8 = 15;

/// Parts of the function that all its blocks share. What has been counted is always among what they take, as `counts`.
#[derive(Clone, Copy)]
pub(super) struct Ways {
    /// Returns: status, address, counts.
    pub(super) leave: Block,
    /// Returns with what a callback has left in the frame, which has counted.
    pub(super) outcome: Block,
    /// Goes to the block of a number: counts, lanes that run. If there is none the warp is at its address.
    pub(super) dispatch: Block,
    /// Lanes wait at an entry: its kind, the lanes, addresses of this and the next instruction, number of the next block, counts
    /// before this instruction, lanes that run.
    wait: Block,
    /// No lane runs: the next address, counts.
    unwind: Block,
}

impl Ways {
    pub(super) fn new(e: &mut Emitter<'_>) -> Ways {
        const COUNTS: usize = 2;
        let mut block = |before: usize, after: usize| {
            let block = e.b.create_block();
            e.params(block, &vec![types::I32; before]);
            e.params(block, &[types::I64; COUNTS]);
            e.params(block, &vec![types::I32; after]);
            block
        };
        let (leave, dispatch, wait, unwind) = (block(2, 0), block(1, 1), block(5, 1), block(1, 0));
        Ways { leave, outcome: e.b.create_block(), dispatch, wait, unwind }
    }
}

/// What a transfer of control does, where it has code.
#[derive(Clone, Copy)]
enum Way {
    /// Lanes that execute it go to an address; `parts`: the others need not.
    Branch { target: u32, parts: bool },
    /// An entry goes on the stack.
    Push(Wait, u32),
    /// Lanes wait at an entry.
    Wait(Wait),
    /// A subroutine.
    Call(u32),
    /// Threads end.
    Exit,
}

/// Whether a transfer of control has code.
pub(super) fn is_usual(inst: &Inst, of: Threads) -> bool {
    way(inst, of).is_some()
}

fn way(inst: &Inst, of: Threads) -> Option<Way> {
    let whole = inst.is_for_all();
    let flow = match inst.micro {
        Micro::Nop if inst.sync => return Some(Way::Wait(Wait::Ssy)),
        Micro::Flow(flow) if !inst.sync => flow,
        _ => return None,
    };
    Some(match flow {
        Flow::Bra { target, cc: ALWAYS, uniform } => Way::Branch { target, parts: !uniform },
        Flow::Ssy(pc) if whole => Way::Push(Wait::Ssy, pc),
        Flow::Pbk(pc) if whole => Way::Push(Wait::Pbk, pc),
        Flow::Pcnt(pc) if whole => Way::Push(Wait::Pcnt, pc),
        Flow::Pret(pc) if whole => Way::Push(Wait::Ret, pc),
        Flow::Plongjmp(pc) if whole => Way::Push(Wait::Jmp, pc),
        Flow::Cal(target) if whole => Way::Call(target),
        Flow::Brk(ALWAYS) => Way::Wait(Wait::Pbk),
        Flow::Cont(ALWAYS) => Way::Wait(Wait::Pcnt),
        Flow::Ret(ALWAYS) => Way::Wait(Wait::Ret),
        Flow::Longjmp(ALWAYS) => Way::Wait(Wait::Jmp),
        // Stages leave results.
        Flow::Exit(ALWAYS) if of == Threads::Kernel => Way::Exit,
        _ => return None,
    })
}

/// The number of a barrier at which all lanes that run wait for all threads of the block, if it is one.
fn plain_barrier(code: &Code, inst: &Inst) -> Option<u32> {
    let Micro::Bar { mode: BarMode::Sync, id, count: None, pred: PSrc::TRUE, dst: NULL, pdst } = inst.micro
    else {
        return None;
    };
    let whole = inst.is_for_all() && !inst.sync && pdst == PSrc::TRUE.num;
    Group::known(code, id).filter(|&id| whole && id < 16)
}

impl Lift<'_, '_> {
    /// What the blocks share.
    pub(super) fn ways(&mut self) {
        let ways = self.ways;
        self.dispatch();
        self.wait_at_entry();
        self.unwind();

        self.e.b.switch_to_block(ways.leave);
        self.e.b.set_cold_block(ways.leave);
        let [status, pc, steps, threads] = self.e.values_of(ways.leave);
        self.e.store(pc, self.state.warp, open::PC);
        self.store_counts(steps, threads);
        self.e.b.ins().return_(&[status]);

        self.e.b.switch_to_block(ways.outcome);
        self.e.b.set_cold_block(ways.outcome);
        let status = self.e.int(Status::Outcome as u32);
        self.e.b.ins().return_(&[status]);
    }

    fn store_counts(&mut self, steps: Value, threads: Value) {
        self.e.store(steps, self.state.block, open::STEPS);
        self.e.store(threads, self.state.block, open::THREAD_STEPS);
    }

    fn dispatch(&mut self) {
        let dispatch = self.ways.dispatch;
        let other = self.e.b.create_block();
        self.e.b.switch_to_block(other);
        self.e.b.set_cold_block(other);
        let [number, steps, threads, active] = self.e.values_of(dispatch);
        let elsewhere = self.e.b.create_block();
        let stops = self.e.b.ins().icmp_imm_s(IntCC::Equal, number, i64::from(STOP as i32));
        self.e.branch(stops, self.ways.outcome, elsewhere);
        self.e.b.switch_to_block(elsewhere);
        self.store_counts(steps, threads);
        let status = self.e.int(Status::Step as u32);
        self.e.b.ins().return_(&[status]);

        let pool = &mut self.e.b.func.dfg.value_lists;
        let args = [steps, threads, active].map(BlockArg::from);
        let all: Vec<BlockCall> =
            self.heads.iter().map(|head| BlockCall::new(head.any, args, pool)).collect();
        let other = BlockCall::new(other, [], pool);
        let table = self.e.b.create_jump_table(JumpTableData::new(other, &all));
        self.e.b.switch_to_block(dispatch);
        self.e.b.ins().br_table(number, table);
    }

    /// The warp goes on with the block at an address that is known when it executes; its own is that one.
    fn go_to(&mut self, pc: Value, counts: [Value; 2], active: Value) {
        let (count, start, shift) = self.code.primary();
        let from_start = self.e.b.ins().iadd_imm_s(pc, -i64::from(start as i32));
        // An address between two instructions becomes a large number.
        let index = self.e.b.ins().rotr_imm_u(from_start, i64::from(shift));
        let [inside, elsewhere] = [(); 2].map(|()| self.e.b.create_block());
        let is_inside = self.e.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, index, count as i64);
        self.e.branch(is_inside, inside, elsewhere);
        let [steps, threads] = counts;
        self.e.b.switch_to_block(elsewhere);
        let number = self.e.int(ELSEWHERE);
        self.e.jump(self.ways.dispatch, &[number, steps, threads, active]);
        self.e.b.switch_to_block(inside);
        let numbers = self.e.load(types::I64, self.state.frame, field::NUMBERS);
        let at = self.e.b.ins().uextend(types::I64, index);
        let at = self.e.b.ins().ishl_imm_u(at, 2);
        let at = self.e.add(numbers, at);
        let number = self.e.load(types::I32, at, 0);
        self.e.jump(self.ways.dispatch, &[number, steps, threads, active]);
    }

    /// An entry of the stack.
    fn entry(&mut self, stack: Value, number: Value) -> Value {
        let number = self.e.b.ins().uextend(types::I64, number);
        let offset = self.e.b.ins().imul_imm_s(number, size_of::<Entry>() as i64);
        self.e.add(stack, offset)
    }

    /// From the top down to the nearest entry of a kind that is for the lanes; not below that of a caller, but for LONGJMP.
    fn wait_at_entry(&mut self) {
        let wait = self.ways.wait;
        self.e.b.switch_to_block(wait);
        let [kind, lanes, here, next, number, steps, threads, active] = self.e.values_of(wait);
        let stack = self.e.load(types::I64, self.state.frame, field::STACK);
        let depth = self.e.load(types::I32, self.state.warp, open::DEPTH);
        let [look, inside, found, not_here, below, slow, some, none] =
            [(); 8].map(|()| self.e.b.create_block());
        self.e.params(look, &[types::I32]);
        self.e.jump(look, &[depth]);

        self.e.b.switch_to_block(look);
        let [above] = self.e.values_of(look);
        self.e.branch(above, inside, slow);
        self.e.b.switch_to_block(inside);
        let at = self.e.b.ins().iadd_imm_s(above, -1);
        let entry = self.entry(stack, at);
        let is = self.e.load(types::I32, entry, offset_of!(Entry, wait));
        let mask = self.e.load(types::I32, entry, offset_of!(Entry, mask));
        let missing = self.e.b.ins().band_not(lanes, mask);
        let differs = self.e.xor(is, kind);
        let differs = self.e.or(differs, missing);
        self.e.branch(differs, not_here, found);

        self.e.b.switch_to_block(not_here);
        let is_call = self.e.b.ins().icmp_imm_u(IntCC::Equal, is, Wait::Ret as i64);
        let stays = self.e.b.ins().icmp_imm_u(IntCC::NotEqual, kind, Wait::Jmp as i64);
        let ends = self.e.and(is_call, stays);
        self.e.branch(ends, slow, below);
        self.e.b.switch_to_block(below);
        self.e.jump(look, &[at]);

        self.e.b.switch_to_block(slow);
        self.e.b.set_cold_block(slow);
        let status = self.e.int(Status::Step as u32);
        self.e.jump(self.ways.leave, &[status, here, steps, threads]);

        self.e.b.switch_to_block(found);
        let waiting = self.e.load(types::I32, entry, offset_of!(Entry, waiting));
        let waiting = self.e.or(waiting, lanes);
        self.e.store(waiting, entry, offset_of!(Entry, waiting));
        let left = self.e.b.ins().band_not(active, lanes);
        self.e.store(left, self.state.warp, open::ACTIVE);
        self.e.store(here, self.state.warp, open::AT);
        self.e.store(next, self.state.warp, open::PC);
        let steps = self.e.b.ins().iadd_imm_s(steps, 1);
        let count = self.threads_of(lanes);
        let threads = self.e.add(threads, count);
        self.e.branch(left, some, none);
        self.e.b.switch_to_block(some);
        self.e.jump(self.ways.dispatch, &[number, steps, threads, left]);
        self.e.b.switch_to_block(none);
        self.e.jump(self.ways.unwind, &[next, steps, threads]);
    }

    /// Takes entries from the stack until lanes run: those of the entry that have not ended and do not wait further below.
    fn unwind(&mut self) {
        let unwind = self.ways.unwind;
        self.e.b.switch_to_block(unwind);
        let [next, steps, threads] = self.e.values_of(unwind);
        let depth = self.e.load(types::I32, self.state.warp, open::DEPTH);
        let [pop, empty, look, inside, done, run] = [(); 6].map(|()| self.e.b.create_block());
        self.e.branch(depth, pop, empty);

        self.e.b.switch_to_block(empty);
        let status = self.e.int(Status::Ended as u32);
        self.e.jump(self.ways.leave, &[status, next, steps, threads]);

        self.e.b.switch_to_block(pop);
        let stack = self.e.load(types::I64, self.state.frame, field::STACK);
        let left = self.e.b.ins().iadd_imm_s(depth, -1);
        self.e.store(left, self.state.warp, open::DEPTH);
        let entry = self.entry(stack, left);
        let mask = self.e.load(types::I32, entry, offset_of!(Entry, mask));
        let pc = self.e.load(types::I32, entry, offset_of!(Entry, pc));
        let live = self.e.load(types::I32, self.state.warp, open::LIVE);
        let mask = self.e.and(mask, live);
        self.e.params(look, &[types::I32, types::I32]);
        self.e.jump(look, &[left, mask]);
        self.e.b.switch_to_block(look);
        let [above, mask] = self.e.values_of(look);
        self.e.branch(above, inside, done);
        self.e.b.switch_to_block(inside);
        let at = self.e.b.ins().iadd_imm_s(above, -1);
        let entry = self.entry(stack, at);
        let waiting = self.e.load(types::I32, entry, offset_of!(Entry, waiting));
        let rest = self.e.b.ins().band_not(mask, waiting);
        self.e.jump(look, &[at, rest]);

        self.e.b.switch_to_block(done);
        self.e.branch_with(mask, (run, &[]), (unwind, &[pc, steps, threads]));
        self.e.b.switch_to_block(run);
        self.e.store(mask, self.state.warp, open::ACTIVE);
        self.e.store(pc, self.state.warp, open::PC);
        self.go_to(pc, [steps, threads], mask);
    }

    /// To a block, with the lanes that run now.
    pub(super) fn go(&mut self, block: usize) {
        let [steps, threads] = self.counted();
        match self.now.active {
            Active::All => self.e.jump(self.heads[block].whole, &[steps, threads]),
            Active::Mask(active, _) => self.e.jump(self.heads[block].any, &[steps, threads, active]),
        }
    }

    /// To what follows a block.
    pub(super) fn fall_through(&mut self, block: usize) {
        let end = self.blocks.bounds(block).1;
        if let Some(next) = self.blocks.starting_at(end) {
            return self.go(next);
        }
        let [steps, threads] = self.counted();
        let (status, pc) = (self.e.int(Status::Step as u32), self.address(end));
        self.e.jump(self.ways.leave, &[status, pc, steps, threads]);
    }

    /// The block at an address.
    fn target(&self, pc: u32) -> Option<usize> {
        self.blocks.starting_at(self.code.index(pc)?)
    }

    /// The last instruction of a block, that may change which lanes run.
    pub(super) fn control(&mut self, block: usize, index: usize) {
        let inst = self.inst(index);
        if matches!(inst.micro, Micro::Bar { .. }) {
            return self.barrier(block, index);
        }
        let Some(way) = way(inst, self.of) else { return self.control_by_interpreter(block, index) };
        let target = match way {
            Way::Branch { target, .. } | Way::Call(target) => self.target(target),
            Way::Push(..) | Way::Wait(_) | Way::Exit => Some(block),
        };
        let Some(target) = target else { return self.control_by_interpreter(block, index) };
        let whole = inst.is_for_all();
        let active = match self.now.active {
            Active::All => self.e.int(u32::MAX),
            Active::Mask(active, _) => active,
        };
        match way {
            Way::Branch { .. } if whole => {
                self.count(1, 1, None);
                return self.go(target);
            }
            Way::Push(wait, pc) => {
                let pc = self.e.int(pc);
                self.push(index, wait, active, pc);
                self.count(1, 1, None);
                return self.fall_through(block);
            }
            Way::Call(_) => {
                let next = self.address(self.blocks.bounds(block).1);
                self.push(index, Wait::Ret, active, next);
                self.count(1, 1, None);
                return self.go(target);
            }
            Way::Branch { .. } | Way::Wait(_) | Way::Exit => {}
        }
        // Of these there are some that concern nobody.
        let lanes = self.executing(inst);
        let next = self.blocks.bounds(block).1;
        if let Way::Branch { parts, .. } = way {
            return self.branch(block, index, (target, parts), lanes, active);
        }
        let (counts, next_pc, here) = (self.counted(), self.address(next), self.address(index));
        if !whole {
            let [some, nobody] = [(); 2].map(|()| self.e.b.create_block());
            self.e.branch(lanes, some, nobody);
            self.e.b.switch_to_block(nobody);
            let now = self.now;
            self.count(1, 0, None);
            self.fall_through(block);
            self.now = now;
            self.e.b.switch_to_block(some);
        }
        let [steps, threads] = counts;
        if let Way::Wait(wait) = way {
            if wait == Wait::Ssy && whole {
                self.meet(index, active);
            }
            let number = self.blocks.starting_at(next).map_or(ELSEWHERE, |n| n as u32);
            let (kind, number) = (self.e.int(wait as u32), self.e.int(number));
            let args = [kind, lanes, here, next_pc, number, steps, threads, active];
            return self.e.jump(self.ways.wait, &args);
        }
        let live = self.e.load(types::I32, self.state.warp, open::LIVE);
        let live = self.e.b.ins().band_not(live, lanes);
        let left = self.e.b.ins().band_not(active, lanes);
        self.e.store(live, self.state.warp, open::LIVE);
        self.e.store(left, self.state.warp, open::ACTIVE);
        self.e.store(here, self.state.warp, open::AT);
        let ended = self.threads_of(lanes);
        self.count(1, 0, Some(ended));
        let [steps, threads] = self.counted();
        if whole {
            return self.e.jump(self.ways.unwind, &[next_pc, steps, threads]);
        }
        let [some, none] = [(); 2].map(|()| self.e.b.create_block());
        self.e.branch(left, some, none);
        self.e.b.switch_to_block(none);
        self.e.jump(self.ways.unwind, &[next_pc, steps, threads]);
        self.e.b.switch_to_block(some);
        let count = self.threads_of(left);
        self.now.active = Active::Mask(left, count);
        self.fall_through(block);
    }

    /// Where lanes that come to `.S` mostly meet: where the nearest SSY before it that leads behind it says.
    fn join(&self, index: usize) -> Option<usize> {
        let ends = |i: &Inst| match i.micro {
            Micro::Flow(Flow::Ssy(pc)) => self.code.index(pc).filter(|&at| at > index),
            _ => None,
        };
        let join = self.code.instructions()[..index].iter().rev().find_map(ends)?;
        self.blocks.starting_at(join)
    }

    /// All lanes of an entry come to `.S` at once: to where they meet is a jump. The entry must be the one that is
    /// expected; else it goes on here.
    fn meet(&mut self, index: usize, active: Value) {
        // Stages run lanes that wait, between QUADON and QUADPOP.
        let Some(join) = self.join(index).filter(|_| self.of == Threads::Kernel) else { return };
        let [some, met, others] = [(); 3].map(|()| self.e.b.create_block());
        let depth = self.e.load(types::I32, self.state.warp, open::DEPTH);
        self.e.branch(depth, some, others);
        self.e.b.switch_to_block(some);
        let stack = self.e.load(types::I64, self.state.frame, field::STACK);
        let left = self.e.b.ins().iadd_imm_s(depth, -1);
        let entry = self.entry(stack, left);
        let (kind, pc) = (self.e.int(Wait::Ssy as u32), self.address(self.blocks.bounds(join).0));
        let mut differs = self.e.int(0);
        for (expected, offset) in
            [(kind, offset_of!(Entry, wait)), (active, offset_of!(Entry, mask)), (pc, offset_of!(Entry, pc))]
        {
            let is = self.e.load(types::I32, entry, offset);
            let is = self.e.xor(is, expected);
            differs = self.e.or(differs, is);
        }
        self.e.branch(differs, others, met);
        self.e.b.switch_to_block(met);
        let here = self.address(index);
        self.e.store(left, self.state.warp, open::DEPTH);
        self.e.store(here, self.state.warp, open::AT);
        let now = self.now;
        self.count(1, 1, None);
        self.go(join);
        self.now = now;
        self.e.b.switch_to_block(others);
    }

    /// A branch that some lanes may take: together, nobody, or those that do not wait until the others wait.
    fn branch(
        &mut self,
        block: usize,
        index: usize,
        (target, parts): (usize, bool),
        lanes: Value,
        active: Value,
    ) {
        let [together, others, some, nobody] = [(); 4].map(|()| self.e.b.create_block());
        self.counted();
        let now = self.now;
        let all = self.e.icmp(IntCC::Equal, lanes, active);
        self.e.branch(all, together, others);
        self.e.b.switch_to_block(together);
        self.count(1, 1, None);
        self.go(target);

        self.e.b.switch_to_block(others);
        self.now = now;
        if parts {
            self.e.branch(lanes, some, nobody);
            self.e.b.switch_to_block(some);
            let next = self.address(self.blocks.bounds(block).1);
            let stay = self.e.b.ins().band_not(active, lanes);
            self.push(index, Wait::Div, stay, next);
            self.e.store(lanes, self.state.warp, open::ACTIVE);
            let count = self.threads_of(lanes);
            self.count(1, 0, Some(count));
            let [steps, threads] = self.counted();
            self.e.jump(self.heads[target].any, &[steps, threads, lanes]);
            self.now = now;
            self.e.b.switch_to_block(nobody);
            self.count(1, 0, None);
        } else {
            let count = self.threads_of(lanes);
            self.count(1, 0, Some(count));
        }
        self.fall_through(block);
    }

    /// Puts an entry on the stack; without room the instruction is the interpreter's.
    fn push(&mut self, index: usize, wait: Wait, mask: Value, pc: Value) {
        let [room, full] = [(); 2].map(|()| self.e.b.create_block());
        let [steps, threads] = self.counted();
        let depth = self.e.load(types::I32, self.state.warp, open::DEPTH);
        let most = self.e.load(types::I32, self.state.frame, field::STACK_ROOM);
        let fits = self.e.icmp(IntCC::UnsignedLessThan, depth, most);
        self.e.branch(fits, room, full);
        self.e.b.switch_to_block(full);
        self.e.b.set_cold_block(full);
        let (status, here) = (self.e.int(Status::Step as u32), self.address(index));
        self.e.jump(self.ways.leave, &[status, here, steps, threads]);

        self.e.b.switch_to_block(room);
        let stack = self.e.load(types::I64, self.state.frame, field::STACK);
        let entry = self.entry(stack, depth);
        let (kind, nobody) = (self.e.int(wait as u32), self.e.int(0));
        for (value, offset) in [
            (kind, offset_of!(Entry, wait)),
            (mask, offset_of!(Entry, mask)),
            (pc, offset_of!(Entry, pc)),
            (nobody, offset_of!(Entry, waiting)),
        ] {
            self.e.store(value, entry, offset);
        }
        let depth = self.e.b.ins().iadd_imm_s(depth, 1);
        self.e.store(depth, self.state.warp, open::DEPTH);
    }

    /// A barrier: the warp mostly leaves there.
    fn barrier(&mut self, block: usize, index: usize) {
        let behind = self.meeting();
        let now = self.now;
        self.skip_if_nobody(index, behind);
        if let Some(id) = plain_barrier(self.code, self.inst(index)) {
            self.arrive(block, index, id);
        }
        let (status, here) = (self.e.int(Status::Barrier as u32), self.address(index));
        let [steps, threads] = self.counted();
        self.e.jump(self.ways.leave, &[status, here, steps, threads]);
        self.now = now;
        self.begin(behind);
        self.fall_through(block);
    }

    /// A warp arrives at a barrier of all threads and waits, unless it is the last one: then it goes on here.
    fn arrive(&mut self, block: usize, index: usize, id: u32) {
        let [last, waits] = [(); 2].map(|()| self.e.b.create_block());
        let barriers = self.e.load(types::I64, self.state.frame, field::BARRIERS);
        let field = |offset: usize| id as usize * size_of::<Barrier>() + offset;
        let arrived = self.e.load(types::I32, barriers, field(offset_of!(Barrier, arrived)));
        let arrived = self.e.b.ins().iadd_imm_s(arrived, LANES as i64);
        let left = self.e.load(types::I32, self.state.block, open::WARPS_LEFT);
        let all = self.e.b.ins().imul_imm_s(left, LANES as i64);
        let is_last = self.e.icmp(IntCC::UnsignedGreaterThanOrEqual, arrived, all);
        let now = self.now;
        self.e.branch(is_last, last, waits);
        self.e.b.switch_to_block(waits);
        let active = match self.now.active {
            Active::All => self.e.int(u32::MAX),
            Active::Mask(active, _) => active,
        };
        let votes = self.e.load(types::I32, barriers, field(offset_of!(Barrier, popc)));
        let more = self.e.b.ins().popcnt(active);
        let votes = self.e.add(votes, more);
        let [none, any, mode] = [(types::I32, 0), (types::I8, 1), (types::I8, BarMode::Sync as i64)]
            .map(|(ty, v)| self.e.b.ins().iconst(ty, v));
        for (value, offset) in [
            (arrived, offset_of!(Barrier, arrived)),
            (none, offset_of!(Barrier, expected)),
            (votes, offset_of!(Barrier, popc)),
            (any, offset_of!(Barrier, any)),
            (mode, offset_of!(Barrier, mode)),
        ] {
            self.e.store(value, barriers, field(offset));
        }
        let states = self.e.load(types::I64, self.state.frame, field::WARP_STATES);
        let warp = self.e.load(types::I32, self.state.warp, open::INDEX);
        let warp = self.e.b.ins().uextend(types::I64, warp);
        let warp = self.e.b.ins().imul_imm_s(warp, open::WARP_STATE as i64);
        let state = self.e.add(states, warp);
        for (offset, byte) in [open::AT_BARRIER, id as u8].into_iter().enumerate() {
            let byte = self.e.b.ins().iconst(types::I8, i64::from(byte));
            self.e.store(byte, state, offset);
        }
        let here = self.address(index);
        self.e.store(here, self.state.warp, open::AT);
        self.count(1, 1, None);
        let (status, next) = (self.e.int(Status::Waits as u32), self.address(self.blocks.bounds(block).1));
        let [steps, threads] = self.counted();
        self.e.jump(self.ways.leave, &[status, next, steps, threads]);
        self.now = now;
        self.e.b.switch_to_block(last);
    }

    fn control_by_interpreter(&mut self, block: usize, index: usize) {
        let behind = self.meeting();
        let now = self.now;
        self.skip_if_nobody(index, behind);
        let [number] = self.call_back(index, field::CONTROL, index as u32);
        self.reload();
        let active = self.e.load(types::I32, self.state.warp, open::ACTIVE);
        let [steps, threads] = self.counted();
        self.e.jump(self.ways.dispatch, &[number, steps, threads, active]);
        self.now = now;
        self.begin(behind);
        self.fall_through(block);
    }
}
