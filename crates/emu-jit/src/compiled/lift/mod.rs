//! From micro-ops to a function of host code.
//!
//! A function takes the frame and the block that it begins with, and goes from block to block until something outside it is to be
//! done ([`Status`]). Each basic block has two forms, for warps all of whose lanes run and for others. In a block, instructions that
//! [`pure`] has code for form *runs* ([`run`]): a run is executed for a group of lanes, then for the next one, with registers in the
//! host's registers. At the end of a run what lives on is written to the warp's rows. Accesses to memory ([`memory`], [`scatter`]) and
//! the usual transfers of control ([`flow`]) are in line. All else is a call of the interpreter, one instruction each, for which the
//! warp's state is complete.

mod across;
mod flow;
mod group;
mod lane;
mod memory;
mod pure;
mod run;
mod scatter;
mod sides;
mod special;
mod vector;

use super::blocks::Blocks;
use super::constants;
use super::frame::{ELSEWHERE, STOP, Status, field};
use super::host::{Blob, Budget, Host, Refused};
use super::liveness::{Liveness, Set};
use crate::Threads;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, SigRef, Value, types};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use flow::Ways;
use group::mask_offset;
use memory::Pattern;
use nvir_emu::engine::Code;
use nvir_emu::engine::open::{self, Inst, Micro, PSrc, Row};
use pure::is_compiled;
use run::is_guarded;
use scatter::Request;
use vector::Emitter;

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
    pub(crate) blob: Blob,
    /// The block that begins at each instruction.
    pub(crate) numbers: Vec<u32>,
    /// Accesses to memory: the instructions that the slots of a block of threads are of.
    pub(crate) accesses: Vec<u32>,
    /// One above the highest register that it names.
    pub(crate) registers: usize,
}

/// Compiles what can be reached from `roots`, indices of instructions.
pub(crate) fn compile(code: &Code, roots: &[usize], of: Threads, keep: Keep) -> Result<Compiled, Refused> {
    let blocks = Blocks::new(code, roots);
    let length: usize = (0..blocks.count()).map(|b| blocks.instructions(b).len()).sum();
    if length > MAX_INSTRUCTIONS {
        return Err(Refused::Failed(format!("{length} instructions, more than {MAX_INSTRUCTIONS}")));
    }
    let liveness = Liveness::new(code, &blocks, of);
    let insts = constants::folded(code);
    let mut host = Host::new(Budget::PROCESS)?;
    let callback = host.callback();
    let config = host.config();
    let mut context = FunctionBuilderContext::new();
    let mut b = FunctionBuilder::new(host.function(), &mut context);
    let callback = b.import_signature(callback);
    let heads = (0..blocks.count())
        .map(|_| Head { any: b.create_block(), whole: b.create_block() })
        .collect::<Vec<_>>();
    let entry = b.create_block();
    b.append_block_params_for_function_params(entry);
    let frame = b.block_params(entry)[0];
    let first = b.block_params(entry)[1];
    let mut e = Emitter { b, named: 0 };
    for head in &heads {
        for block in [head.any, head.whole] {
            e.params(block, &[types::I64, types::I64]);
        }
        e.params(head.any, &[types::I32]);
    }
    e.b.switch_to_block(entry);
    let mut load = |at: usize| e.load(types::I64, frame, at);
    let state = State {
        frame,
        warp: load(field::WARP),
        block: load(field::BLOCK),
        regs: load(field::REGS),
        pool: load(field::POOL),
        tables: load(field::TABLES),
        until: load(field::UNTIL),
    };
    let ways = Ways::new(&mut e);
    let steps = e.load(types::I64, state.block, open::STEPS);
    let threads = e.load(types::I64, state.block, open::THREAD_STEPS);
    let active = e.load(types::I32, state.warp, open::ACTIVE);
    e.jump(ways.dispatch, &[first, steps, threads, active]);
    let mut lift = Lift {
        e,
        code,
        insts: &insts,
        blocks: &blocks,
        liveness: &liveness,
        keep,
        of,
        state,
        callback,
        accesses: Vec::new(),
        slots: vec![None; code.instructions().len()],
        heads,
        ways,
        now: Now { steps, threads, active: Active::All, more: 0, whole: 0 },
        pattern: None,
    };
    lift.ways();
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

/// Whether a run may have an instruction.
fn is_in_run(code: &Code, inst: &Inst, of: Threads) -> bool {
    match inst.micro {
        // Those of stages are others.
        Micro::S2r { reg, .. } => of == Threads::Kernel && !inst.sync && special::is_known(reg),
        _ => is_compiled(code, inst),
    }
}

/// Whether generated code executes an instruction without the interpreter, if nothing is unusual.
pub(crate) fn is_in_line(code: &Code, index: usize, of: Threads) -> bool {
    is_in_code(code, index, of) || code.row(index) != Row::Never
}

/// Whether it does so without any call.
pub(crate) fn is_in_code(code: &Code, index: usize, of: Threads) -> bool {
    let inst = &code.instructions()[index];
    is_in_run(code, inst, of)
        || across::is_known(code, inst)
        || of == Threads::Kernel && Request::of(inst).is_some()
        || flow::is_usual(inst, of)
}

/// What the function is called with, for as long as it runs.
#[derive(Clone, Copy)]
struct State {
    frame: Value,
    warp: Value,
    block: Value,
    regs: Value,
    pool: Value,
    /// [`Tables`](super::frame::Tables).
    tables: Value,
    /// How many instructions the block may execute.
    until: Value,
}

/// Where the two forms of a block begin. Both take what has been counted, the first one also the lanes that run.
#[derive(Clone, Copy)]
struct Head {
    any: Block,
    whole: Block,
}

/// Which lanes run in the form of a block that is written.
#[derive(Clone, Copy)]
enum Active {
    All,
    /// These, and how many they are.
    Mask(Value, Value),
}

/// What is true where code is being written.
#[derive(Clone, Copy)]
struct Now {
    /// Instructions that the block has executed, and the same times threads.
    steps: Value,
    threads: Value,
    active: Active,
    /// Instructions that are not among them yet; so many of them were executed by all lanes that run.
    more: i64,
    whole: i64,
}

struct Lift<'f, 'c> {
    e: Emitter<'f>,
    code: &'c Code,
    /// Those of the code, with the [`constants`] that they read.
    insts: &'c [Inst],
    blocks: &'c Blocks,
    liveness: &'c Liveness,
    keep: Keep,
    /// Graphics stages have memory and helpers of their own: the interpreter accesses it.
    of: Threads,
    state: State,
    callback: SigRef,
    /// The instructions of the slots, and the slot of each instruction.
    accesses: Vec<u32>,
    slots: Vec<Option<u32>>,
    /// Where each block begins.
    heads: Vec<Head>,
    ways: Ways,
    now: Now,
    /// What code of this form of the block has found out last of addresses in registers.
    pattern: Option<Pattern>,
}

impl<'c> Lift<'_, 'c> {
    fn inst(&self, index: usize) -> &'c Inst {
        &self.insts[index]
    }

    fn address(&mut self, index: usize) -> Value {
        self.e.int(self.code.address(index))
    }

    /// A block in both forms.
    fn block(&mut self, block: usize) {
        let Head { any, whole } = self.heads[block];
        self.e.b.switch_to_block(any);
        let [steps, threads, active] = self.e.values_of(any);
        let [partial, all] = [(); 2].map(|()| self.e.b.create_block());
        let is_whole = self.e.b.ins().icmp_imm_s(IntCC::Equal, active, -1);
        self.e.branch(is_whole, all, partial);
        self.e.b.switch_to_block(all);
        self.e.jump(whole, &[steps, threads]);
        self.e.b.switch_to_block(partial);
        let count = self.threads_of(active);
        self.now = Now { steps, threads, active: Active::Mask(active, count), more: 0, whole: 0 };
        self.form(block);

        self.e.b.switch_to_block(whole);
        let [steps, threads] = self.e.values_of(whole);
        self.now = Now { steps, threads, active: Active::All, more: 0, whole: 0 };
        self.form(block);
    }

    /// A block for warps with the lanes that run now.
    fn form(&mut self, block: usize) {
        let on_time = self.e.b.create_block();
        let late = self.e.icmp(IntCC::UnsignedGreaterThanOrEqual, self.now.steps, self.state.until);
        let status = self.e.int(Status::Slice as u32);
        let pc = self.address(self.blocks.bounds(block).0);
        let Now { steps, threads, .. } = self.now;
        self.e.branch_with(late, (self.ways.leave, &[status, pc, steps, threads]), (on_time, &[]));
        self.e.b.switch_to_block(on_time);

        let instructions = self.blocks.instructions(block);
        let live = match self.keep {
            Keep::Live => self.liveness.behind_each(self.code, self.blocks, block),
            Keep::All => vec![Set::ALL; instructions.len()],
        };
        let mut at = 0;
        self.pattern = None;
        while at < instructions.len() {
            let compiled = |&i: &usize| is_in_run(self.code, self.inst(i), self.of);
            let count = instructions[at..].iter().take_while(|i| compiled(i)).count();
            let index = instructions[at];
            if at + count + 1 == instructions.len()
                && let Some(sides) = self.sides(block)
            {
                self.both_sides(&instructions[at..at + count], &sides);
            }
            if count > 0 {
                self.run(&instructions[at..at + count], &live[at + count - 1]);
                instructions[at..at + count].iter().for_each(|&i| self.written(i));
                at += count;
                continue;
            }
            if self.inst(index).ends_block() {
                return self.control(block, index);
            }
            match Request::of(self.inst(index)).filter(|_| self.of == Threads::Kernel) {
                Some(request) => self.access(index, &request),
                None if self.code.row(index) != Row::Never => self.row(index),
                None => self.call(index),
            }
            self.written(index);
            at += 1;
        }
        self.fall_through(block);
    }

    /// The lanes that execute an instruction, a word.
    fn executing(&mut self, inst: &Inst) -> Value {
        let mut mask = match self.now.active {
            Active::All => None,
            Active::Mask(active, _) => Some(active),
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

    fn threads_of(&mut self, mask: Value) -> Value {
        let count = self.e.b.ins().popcnt(mask);
        self.e.b.ins().uextend(types::I64, count)
    }

    /// Counts instructions, of which so many were executed by all lanes that run; of the others, threads.
    fn count(&mut self, steps: usize, whole: usize, threads: Option<Value>) {
        self.now.more += steps as i64;
        self.now.whole += whole as i64;
        if let Some(more) = threads {
            self.now.threads = self.e.add(self.now.threads, more);
        }
    }

    /// What has been counted.
    fn counted(&mut self) -> [Value; 2] {
        let Now { more, whole, active, .. } = self.now;
        if more != 0 {
            self.now.steps = self.e.b.ins().iadd_imm_s(self.now.steps, more);
        }
        if whole != 0 {
            self.now.threads = match active {
                Active::All => self.e.b.ins().iadd_imm_s(self.now.threads, whole * open::LANES as i64),
                Active::Mask(_, count) => {
                    let threads = self.e.b.ins().imul_imm_s(count, whole);
                    self.e.add(self.now.threads, threads)
                }
            };
        }
        (self.now.more, self.now.whole) = (0, 0);
        [self.now.steps, self.now.threads]
    }

    /// Goes on in another block, with what has been counted until then.
    fn begin(&mut self, block: Block) {
        self.e.b.switch_to_block(block);
        [self.now.steps, self.now.threads] = self.e.values_of(block);
        (self.now.more, self.now.whole) = (0, 0);
    }

    /// A block that takes what has been counted.
    fn meeting(&mut self) -> Block {
        let block = self.e.b.create_block();
        self.e.params(block, &[types::I64, types::I64]);
        block
    }

    /// Has the interpreter execute an instruction, and returns if that ends something.
    fn call(&mut self, index: usize) {
        let done = self.meeting();
        self.skip_if_nobody(index, done);
        self.callback(index, field::STEP, index as u32);
        let counted = self.counted();
        self.e.jump(done, &counted);
        self.begin(done);
    }

    /// Has the interpreter execute an instruction on whole rows, which are those of the warp, mostly by kernels: these have 256 bits at a
    /// time or more. What is unusual is called as others are.
    fn row(&mut self, index: usize) {
        let inst = self.inst(index);
        let done = self.meeting();
        self.skip_if_nobody(index, done);
        self.counted();
        // It may change its own guard.
        let guarded = is_guarded(inst).then(|| {
            let mask = self.executing(inst);
            self.threads_of(mask)
        });
        let otherwise = if self.across(inst) { None } else { self.call_row(index) };
        self.count(1, usize::from(guarded.is_none()), guarded);
        let counted = self.counted();
        self.e.jump(done, &counted);
        if let Some((otherwise, before)) = otherwise {
            self.now = before;
            self.e.b.switch_to_block(otherwise);
            self.e.b.set_cold_block(otherwise);
            self.callback(index, field::STEP, index as u32);
            let counted = self.counted();
            self.e.jump(done, &counted);
        }
        self.begin(done);
    }

    /// Has kernels execute an instruction; where what is unusual begins, with what is true there, if anything may be.
    fn call_row(&mut self, index: usize) -> Option<(Block, Now)> {
        let callee = self.e.load(types::I64, self.state.frame, field::ROW);
        let argument = self.e.int(index as u32);
        let call = self.e.b.ins().call_indirect(self.callback, callee, &[self.state.frame, argument]);
        (self.code.row(index) == Row::Mostly).then(|| {
            let [usual, otherwise] = [(); 2].map(|()| self.e.b.create_block());
            let unusual = self.e.b.inst_results(call)[0];
            self.e.branch(unusual, otherwise, usual);
            self.e.b.switch_to_block(usual);
            (otherwise, self.now)
        })
    }

    /// An instruction with a guard that no lane executes is only counted.
    fn skip_if_nobody(&mut self, index: usize, behind: Block) {
        let inst = self.inst(index);
        if inst.is_for_all() || matches!(inst.micro, Micro::Illegal(_)) {
            return;
        }
        let some = self.e.b.create_block();
        let mask = self.executing(inst);
        let [steps, threads] = self.counted();
        let skipped = self.e.b.ins().iadd_imm_s(steps, 1);
        self.e.branch_with(mask, (some, &[]), (behind, &[skipped, threads]));
        self.e.b.switch_to_block(some);
    }

    /// Calls what executes an instruction and counts it, and returns if the warp does not go on.
    fn callback(&mut self, index: usize, which: usize, argument: u32) {
        let [result] = self.call_back(index, which, argument);
        let goes_on = self.e.b.create_block();
        self.e.branch(result, self.ways.outcome, goes_on);
        self.e.b.switch_to_block(goes_on);
        self.reload();
    }

    /// Calls back, with the warp's state complete.
    fn call_back(&mut self, index: usize, which: usize, argument: u32) -> [Value; 1] {
        let [steps, threads] = self.counted();
        self.e.store(steps, self.state.block, open::STEPS);
        self.e.store(threads, self.state.block, open::THREAD_STEPS);
        let pc = self.address(index);
        self.e.store(pc, self.state.warp, open::PC);
        let callee = self.e.load(types::I64, self.state.frame, which);
        let argument = self.e.int(argument);
        let call = self.e.b.ins().call_indirect(self.callback, callee, &[self.state.frame, argument]);
        [self.e.b.inst_results(call)[0]]
    }

    /// What was counted by what was called.
    fn reload(&mut self) {
        self.now.steps = self.e.load(types::I64, self.state.block, open::STEPS);
        self.now.threads = self.e.load(types::I64, self.state.block, open::THREAD_STEPS);
    }
}

const _: () = assert!(ELSEWHERE > STOP, "both are greater than any block's number");
