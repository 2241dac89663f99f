//! What an engine in another crate sees: code as micro-ops, where the state of a warp lies, and how to have the interpreter execute
//! a single instruction. Generated code reads and writes that state directly; nothing else of the emulator is open to it.

pub use crate::code::compare::CmpOp;
pub use crate::code::decode::Uniform;
pub use crate::code::laneop::{Funnel, LaneOp, Part, RowOp};
pub use crate::code::micro::{
    Addr, AtomOp, AtomTy, BarMode, Bop, CarryIn, Class, Cmp, FloatOp, Flow, Fp, Inst, Micro, MinMaxPart,
    NULL, NumType, PSrc, Scope, SetDst, ShflMode, Space, Src2, VoteMode, Width,
};
pub use crate::code::stageop::StageOp;
pub use crate::code::wideop::{Conv, WideOp};
pub use crate::interpreter::pure::shuffle;
pub use crate::interpreter::{after_block, execute_one, execute_row, run, step, transfer};
pub use crate::run::attached::{Attached, Slot};
pub use crate::state::block::Barrier;
pub use crate::state::lanes::{LANES, LaneVec, Mask, Modifier, POOL, Src};
pub use crate::state::stack::{Entry, Wait};
pub use nvir_hw::special;

use super::{Code, Cx, Warp};
use crate::code::program::Program;
use crate::code::rows::Rows;
use crate::state::block::BlockState;
use crate::state::warp::State as WarpState;
use std::mem::offset_of;

/// Bytes from the begin of [`Raw::warp`] to the code address, `u32`.
pub const PC: usize = offset_of!(Warp, pc);
/// From there to the address of the instruction that it executes or has executed last, `u32`.
pub const AT: usize = offset_of!(Warp, at);
/// From there to the mask of lanes that have not ended, `u32`.
pub const LIVE: usize = offset_of!(Warp, live);
/// From there to the number of entries of the divergence stack, `u32`.
pub const DEPTH: usize = offset_of!(Warp, stack.len);
/// From there to the mask of lanes that run, `u32`.
pub const ACTIVE: usize = offset_of!(Warp, active);
/// From there to the masks of the predicates, eight `u32`.
pub const PREDICATES: usize = offset_of!(Warp, preds);
/// From there to the masks of the condition code's flags, each a `u32`: zero, sign, carry, overflow.
pub const FLAGS: [usize; 4] = [
    offset_of!(Warp, cc.zero),
    offset_of!(Warp, cc.sign),
    offset_of!(Warp, cc.carry),
    offset_of!(Warp, cc.overflow),
];
/// Bytes from the begin of [`Raw::block`] to the number of instructions that its warps have executed, `u64`.
pub const STEPS: usize = offset_of!(BlockState, steps);
/// From there to the same times threads, `u64`.
pub const THREAD_STEPS: usize = offset_of!(BlockState, thread_steps);
/// From there to its place in the grid, three `u32`.
pub const CTAID: usize = offset_of!(BlockState, ctaid);

/// From there to how many of its warps have not ended, `u32`.
pub const WARPS_LEFT: usize = offset_of!(BlockState, warps_left);
/// Bytes from the begin of [`Raw::warp`] to its number in the block, `u32`.
pub const INDEX: usize = offset_of!(Warp, index);
/// Bytes of a warp's state in [`Raw::warp_states`]: the first one is [`AT_BARRIER`] where the second one is a barrier's number.
pub const WARP_STATE: usize = size_of::<WarpState>();
/// See [`WARP_STATE`].
pub const AT_BARRIER: u8 = 1;

/// What a block does with a word that others may access at the same time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tracked {
    /// It loads it.
    Read,
    /// It stores to it.
    Write,
}

/// Where the state of a warp and its block lies. It holds until anything else uses the warp or the block; then ask again.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Raw {
    /// [`PC`] and the others say what is where.
    pub warp: *mut Warp,
    /// [`STEPS`] and [`THREAD_STEPS`] say what is where.
    pub block: *mut u8,
    /// The divergence stack from the bottom; [`DEPTH`] says how many entries there are.
    pub stack: *mut Entry,
    /// For how many entries there is room.
    pub stack_room: u32,
    /// Threads of a block along each axis, and blocks of the grid.
    pub sizes: [u32; 6],
    /// Rows of the warp's threads' numbers along each axis.
    pub threads: *const LaneVec,
    /// As many rows as the launch gives registers to a thread; none of its code names more.
    pub regs: *mut LaneVec,
    /// A row for each of [`Code::uniforms`].
    pub pool: *const LaneVec,
    /// The block's barriers, sixteen.
    pub barriers: *mut Barrier,
    /// What each of its warps waits for.
    pub warp_states: *mut u8,
    /// Shared memory.
    pub shared: *mut u32,
    /// Bytes of it that any thread may access at multiples of 4, without anything else being looked at; 0 if each access is.
    pub shared_bytes: u64,
    /// Rows of local memory, one for each word.
    pub local: *mut LaneVec,
    /// How many there are: accesses to these need no look.
    pub local_rows: u64,
    /// As many as [`Cx::prepare_slots`] was asked for.
    pub slots: *mut Slot,
}

/// Whether what [`Raw`] says may be another after an instruction. Registers stay where they are, and so do inputs and outputs of stages
/// and what lookups find.
pub fn may_move_state(micro: &Micro) -> bool {
    !(matches!(micro, Micro::Tex(_) | Micro::Stage(_)) || micro.class() == Class::Pure)
}

/// Whether [`execute_row`] executes an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Row {
    /// It concerns registers, predicates and flags only, cannot be at fault, and does nothing if no lane executes it.
    Always,
    /// If nothing is unusual.
    Mostly,
    /// Others.
    Never,
}

impl Code {
    /// The instructions, as [`Code::index`] counts them. Where one is longer than the distance of two indices, the next ones are
    /// what would be executed there.
    pub fn instructions(&self) -> &[Inst] {
        &self.insts
    }

    /// The values that are the same in all threads: [`Src::row`] from [`POOL`] on.
    pub fn uniforms(&self) -> &[Uniform] {
        &self.pool.uniforms
    }

    /// What an engine has made of the code.
    pub fn attached(&self) -> &Attached {
        &self.attached
    }

    /// Most code: as many of the instructions as there are, from this address on, at multiples of two to this many bytes.
    pub fn primary(&self) -> (usize, u32, u32) {
        (self.primary.0, self.primary.1, self.step())
    }

    /// Whether, or when, [`execute_row`] executes an instruction.
    pub fn row(&self, index: usize) -> Row {
        let inst = &self.insts[index];
        match &self.steps[index].rows {
            Rows::Lane { .. } => Row::Always,
            Rows::Registers => Row::Always,
            Rows::Unit => match &inst.micro {
                Micro::Tex(op) if op.has_rows() => Row::Mostly,
                Micro::Stage(op) if matches!(**op, StageOp::Interpolate { .. }) => Row::Mostly,
                _ => Row::Never,
            },
            _ => Row::Never,
        }
    }

    /// The index of the instruction behind one.
    pub fn next(&self, index: usize) -> usize {
        index + (usize::from(self.insts[index].bytes) >> self.step())
    }
}

impl Program {
    /// The code.
    pub fn decoded(&self) -> &Code {
        &self.code
    }
}

impl Warp {
    /// How many registers a thread has: its rows.
    #[inline]
    pub fn registers(&self) -> usize {
        self.regs.len()
    }
}

impl<'a> Cx<'a> {
    /// The code that is executed.
    #[inline]
    pub fn code(&self) -> &'a Code {
        &self.env.bound.launch.program.code
    }

    /// The address at which the code is entered.
    pub fn entry(&self) -> u32 {
        self.env.bound.launch.entry
    }

    /// Whether the warp is one of a graphics stage.
    #[inline]
    pub fn is_stage(&self) -> bool {
        self.env.stage.is_some()
    }

    /// Instructions that the block's warps have executed.
    pub fn steps(&self) -> u64 {
        self.block.steps
    }

    /// Makes room for what the engine remembers of global memory.
    #[inline]
    pub fn prepare_slots(&mut self, count: usize) {
        if self.block.slots.len() != count {
            self.block.slots.clear();
            self.block.slots.resize(count, Slot::EMPTY);
        }
    }

    /// Remembers the buffer that the first running lane's access to global memory is in; whether that is another one than before. It is
    pub fn remember(&mut self, warp: &Warp, addr: &Addr, slot: usize) -> bool {
        let env = self.env;
        let lane = warp.first_lane();
        let word = |s: Src| u64::from(s.lane(&warp.regs, &env.bound.pool, lane));
        let a = match addr.base_hi {
            Some(hi) => (word(addr.base) | word(hi) << 32).wrapping_add(addr.offset as u64),
            None => u64::from((word(addr.base) as u32).wrapping_add(addr.offset as u32)),
        };
        if env.stage.is_some() {
            return false;
        }
        let Some(slot) = self.block.slots.get_mut(slot) else { return false };
        let known = a.wrapping_sub(slot.base) < slot.size.max(slot.tracked);
        let Some(buffer) = (!known).then(|| env.bound.memory.find(a, 1)).flatten() else { return false };
        *slot = Slot::of(&env.bound.memory.buffers[buffer]);
        if env.observed {
            (slot.buffer, slot.tracked, slot.size) = (buffer, slot.size, 0);
        }
        true
    }

    /// The block accesses words of the buffer of a slot, from this byte of it on: whether it may, together with other blocks.
    pub fn track(&self, slot: usize, byte: u64, words: usize, does: Tracked) -> bool {
        let Some(slot) = self.block.slots.get(slot) else { return false };
        let buffer = &self.env.bound.memory.buffers[slot.buffer];
        let first = buffer.word(buffer.base + byte);
        let track = |word| match does {
            Tracked::Read => self.track_read(slot.buffer, word),
            Tracked::Write => self.track_write(slot.buffer, word),
        };
        (first..first + words).all(|word| track(word).is_ok())
    }

    /// Where everything lies now.
    #[inline]
    pub fn raw(&mut self, warp: &mut Warp) -> Raw {
        let bound = self.env.bound;
        let looked_at = self.block.shadow.is_some() || !bound.launch.shared_variables.is_empty();
        let plain_local = warp.undef.is_none() && self.env.stage.is_none();
        let rows = (bound.launch.local_bytes as usize / 4).min(warp.local.len());
        let ([bx, by, bz], [gx, gy, gz]) = (self.env.shape.block, self.env.shape.grid);
        Raw {
            stack: warp.stack.room.as_mut_ptr(),
            stack_room: warp.stack.room.len() as u32,
            sizes: [bx, by, bz, gx, gy, gz],
            threads: self.env.threads.rows(warp.index).as_ptr(),
            regs: warp.regs.as_mut_ptr(),
            local: warp.local.as_mut_ptr(),
            local_rows: if plain_local { rows as u64 } else { 0 },
            warp,
            pool: bound.pool.as_ptr(),
            barriers: self.block.barriers.as_mut_ptr(),
            warp_states: self.block.warp_states.as_mut_ptr().cast(),
            shared: self.block.shared.as_mut_ptr(),
            shared_bytes: if looked_at { 0 } else { self.env.shape.shared_bytes.into() },
            slots: self.block.slots.as_mut_ptr(),
            block: (&raw mut *self.block).cast(),
        }
    }
}
