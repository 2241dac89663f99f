//! What generated code is called with, and what it calls back.

use super::access;
use nvir_emu::engine::open::{self, LANES, LaneVec, Raw};
use nvir_emu::engine::{Code, Cx, Trap, Turns, Warp, Yield};
use std::any::Any;
use std::ffi::c_void;
use std::mem::offset_of;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What generated code returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum Status {
    /// The block has executed as many instructions as it may.
    Slice,
    /// The instruction at which the warp is is one for the interpreter, or no compiled block begins there.
    Step,
    /// No lane runs, and none waits on the divergence stack.
    Ended,
    /// [`Frame::outcome`] says why.
    Outcome,
    /// The warp is at a barrier, which it has not arrived at.
    Barrier,
    /// The warp waits at a barrier.
    Waits,
}

/// The number of a block, or that generated code is to return with [`Status::Step`] or [`Status::Outcome`].
pub(crate) const ELSEWHERE: u32 = u32::MAX;
pub(crate) const STOP: u32 = u32::MAX - 1;

/// A function of generated code: the frame, and the block that it begins with.
pub(crate) type Entry = unsafe extern "C" fn(*mut c_void, u32) -> u32;

/// What generated code calls: the frame, the index of the instruction.
type Callback = unsafe extern "C" fn(*mut c_void, u32) -> u32;

/// What generated code looks up.
#[repr(C, align(64))]
pub(crate) struct Tables {
    /// Lanes of a group as a vector of masks, for each of their sixteen sets.
    sets: [[u32; 4]; 16],
    /// [`LANE_ROWS`]: what S2R gives each lane of every warp.
    lanes: [LaneVec; LANE_ROWS.len()],
}

/// The special registers that are the same in every warp.
pub(crate) const LANE_ROWS: [u8; 6] = [
    open::special::LANEID,
    open::special::EQMASK,
    open::special::LTMASK,
    open::special::LEMASK,
    open::special::GTMASK,
    open::special::GEMASK,
];

static TABLES: Tables = {
    let mut sets = [[0; 4]; 16];
    let mut set = 0;
    while set < 16 {
        let mut lane = 0;
        while lane < 4 {
            sets[set][lane] = if set >> lane & 1 != 0 { u32::MAX } else { 0 };
            lane += 1;
        }
        set += 1;
    }
    let mut lanes = [LaneVec::ZERO; 6];
    let mut lane = 0;
    while lane < LANES {
        let one = 1 << lane;
        let values = [lane as u32, one, one - 1, one | (one - 1), !(one | (one - 1)), !(one - 1)];
        let mut row = 0;
        while row < values.len() {
            lanes[row].0[lane] = values[row];
            row += 1;
        }
        lane += 1;
    }
    Tables { sets, lanes }
};

/// The state of a run of generated code.
#[repr(C)]
pub(crate) struct Frame<'a, 'c> {
    raw: Raw,
    tables: *const Tables,
    /// The block that begins at each instruction.
    numbers: *const u32,
    /// Executes an instruction that does not transfer control, and counts it: 0, or [`STOP`].
    step: Callback,
    /// Executes one of [`open::Row`], and counts nothing: 0; or does nothing, since it is one for `step`.
    row: Callback,
    /// As `step`, for an access to memory, with the number of its slot.
    access: Callback,
    /// Executes one that may transfer control: the block that follows, [`ELSEWHERE`] or [`STOP`].
    control: Callback,
    until: u64,
    cx: *mut Cx<'c>,
    warp: *mut Warp,
    code: &'a Code,
    blocks: &'a [u32],
    /// The instructions that the slots are of.
    accesses: &'a [u32],
    outcome: Option<Result<Yield, Trap>>,
    panic: Option<Box<dyn Any + Send>>,
}

/// Where generated code finds what it needs of a [`Frame`].
pub(crate) mod field {
    use super::{Frame, Raw, Tables, offset_of};

    macro_rules! raw {
        ($($name:ident $field:ident)*) => {
            $(pub(crate) const $name: usize = offset_of!(Frame<'_, '_>, raw) + offset_of!(Raw, $field);)*
        };
    }
    raw!(WARP warp BLOCK block REGS regs POOL pool SHARED shared SHARED_BYTES shared_bytes SLOTS slots);
    raw!(BARRIERS barriers WARP_STATES warp_states);
    raw!(LOCAL local LOCAL_ROWS local_rows STACK stack STACK_ROOM stack_room SIZES sizes THREADS threads);
    pub(crate) const TABLES: usize = offset_of!(Frame<'_, '_>, tables);
    pub(crate) const NUMBERS: usize = offset_of!(Frame<'_, '_>, numbers);
    pub(crate) const STEP: usize = offset_of!(Frame<'_, '_>, step);
    pub(crate) const ROW: usize = offset_of!(Frame<'_, '_>, row);
    pub(crate) const ACCESS: usize = offset_of!(Frame<'_, '_>, access);
    pub(crate) const CONTROL: usize = offset_of!(Frame<'_, '_>, control);
    pub(crate) const UNTIL: usize = offset_of!(Frame<'_, '_>, until);
    /// In the tables: rows of what is the same in every warp.
    pub(crate) const LANES: usize = offset_of!(Tables, lanes);
}

/// What a function of generated code was made of and is called with.
#[derive(Clone, Copy)]
pub(crate) struct Function<'a> {
    pub(crate) entry: Entry,
    /// The block that begins at each instruction.
    pub(crate) numbers: &'a [u32],
    /// The accesses that have slots.
    pub(crate) accesses: &'a [u32],
}

impl Function<'_> {
    /// The block that a warp is at the beginning of, if it is at one's.
    pub(crate) fn block(&self, code: &Code, warp: &Warp) -> Option<u32> {
        let number = self.numbers[code.index(warp.pc)?];
        (number != ELSEWHERE).then_some(number)
    }
}

/// Runs the warp whose turn it is from a block on by generated code, and others when their turns come. None: the one whose turn it is now
/// is not at the beginning of a block.
///
/// # Safety
/// The function is one that [`super::lift`] made of the code that `cx` executes, and its memory is there.
pub(crate) unsafe fn enter(
    function: Function<'_>,
    cx: &mut Cx<'_>,
    turns: &mut Turns<'_>,
    block: u32,
) -> Result<Option<Yield>, Trap> {
    let code = cx.code();
    cx.prepare_slots(function.accesses.len());
    let (warp, until) = turns.current();
    let (cx, warp): (*mut Cx<'_>, *mut Warp) = (cx, warp);
    let mut frame = Frame {
        // SAFETY: both come from references of this function, which uses them through these pointers only.
        raw: unsafe { (*cx).raw(&mut *warp) },
        tables: &TABLES,
        numbers: function.numbers.as_ptr(),
        step,
        row,
        access: access_memory,
        control,
        until,
        cx,
        warp,
        code,
        blocks: function.numbers,
        accesses: function.accesses,
        outcome: None,
        panic: None,
    };
    let mut block = block;
    // SAFETY: as above; generated code does not run yet.
    let mut is_first = unsafe { (*cx).steps() == 0 };
    if is_first {
        frame.look_ahead(false);
    }
    loop {
        // SAFETY: the caller says that the function is of this code. It reads and writes the fields of the frame by `field`, the rows
        // of registers that the code names, which the launch has (launches that lack one are interpreted), and otherwise what `Raw`
        // and its slots say that may be accessed.
        let status = unsafe { (function.entry)((&raw mut frame).cast(), block) };
        if let Some(panic) = frame.panic {
            std::panic::resume_unwind(panic);
        }
        // SAFETY: as above; generated code has returned.
        let (cx, last) = unsafe { (&mut *cx, &mut *frame.warp) };
        let end = match frame.outcome.take() {
            Some(outcome) => Some(outcome?),
            None if status == Status::Slice as u32 => Some(Yield::Slice),
            None if status == Status::Waits as u32 => Some(Yield::Wait),
            None if status == Status::Ended as u32 => open::after_block(cx, last)?,
            None if status == Status::Barrier as u32 => {
                let at = code.index(last.pc);
                match at.and_then(|at| open::transfer(cx, last, &code.instructions()[at])) {
                    Some(end) => end?,
                    None => Some(Yield::Step),
                }
            }
            None => Some(Yield::Step),
        };
        match end {
            // It goes on, as the last one to arrive at a barrier, and nothing that the frame has has moved.
            None => {}
            Some(end) => {
                if end == Yield::Step || !turns.next(cx) {
                    return Ok(Some(end));
                }
                let (warp, until) = turns.current();
                (frame.raw, frame.warp, frame.until) = (cx.raw(warp), warp, until);
                frame.look_ahead(std::mem::take(&mut is_first));
            }
        }
        // SAFETY: as above.
        match function.block(code, unsafe { &*frame.warp }) {
            Some(next) => block = next,
            None => return Ok(end.is_none().then_some(Yield::Step)),
        }
    }
}

impl<'c> Frame<'_, 'c> {
    /// Has the interpreter do something; whether the warp goes on.
    fn interpret(&mut self, act: impl FnOnce(&mut Cx<'c>, &mut Warp) -> Result<Option<Yield>, Trap>) -> bool {
        // SAFETY: `enter` made these pointers of references that nobody else uses while generated code runs.
        let (cx, warp) = unsafe { (&mut *self.cx, &mut *self.warp) };
        match catch_unwind(AssertUnwindSafe(|| act(cx, warp))) {
            Ok(Ok(None)) => return true,
            Ok(end) => self.outcome = Some(end.map(|end| end.unwrap_or(Yield::Step))),
            // It must not unwind through generated code.
            Err(panic) => self.panic = Some(panic),
        }
        false
    }

    /// Has the interpreter execute one instruction that does not transfer control.
    fn execute(&mut self, index: u32) -> u32 {
        let index = index as usize;
        if !self.interpret(|cx, warp| open::execute_one(cx, warp, index).map(|()| None)) {
            return STOP;
        }
        if open::may_move_state(&self.code.instructions()[index].micro) {
            self.look();
        }
        0
    }

    /// Has the host fetch what the warp whose turn begins, and the one behind it, will access if they go on where the last one was:
    /// one core does not hide the time that memory takes as a card does. If the last one was the first of its block, also what the first
    /// ones of the next block will access if they are as far from it as it was from the block before.
    fn look_ahead(&mut self, was_first: bool) {
        let mut before = 0;
        for n in 0..self.accesses.len() {
            // SAFETY: there are as many slots as accesses.
            let slot = unsafe { &mut *self.raw.slots.add(n) };
            let (last, step) = (std::mem::take(&mut slot.last), slot.step as u64);
            // The parts of a structure are accessed one after the other, and are in the same lines.
            if last == 0 || step > LINE || last / LINE == before {
                continue;
            }
            before = last / LINE;
            let span = step * LANES as u64;
            let lines = |first: u64, warps| {
                (0..warps * span).step_by(LINE as usize).map(move |n| first.wrapping_add(n))
            };
            lines(last + span, 2).for_each(fetch);
            if was_first {
                let first = std::mem::replace(&mut slot.first, last);
                lines(last.wrapping_add(last.wrapping_sub(first)), 2).for_each(fetch);
            }
        }
    }

    /// What has been executed may have moved something.
    fn look(&mut self) {
        // SAFETY: as in `interpret`.
        self.raw = unsafe { (*self.cx).raw(&mut *self.warp) };
    }
}

/// Bytes of a line of the host's caches, or of a part of one.
const LINE: u64 = 64;

/// Has the host fetch the line of an address into its caches, if there is memory.
fn fetch(address: u64) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: it is a hint, for any address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::without_provenance(address as usize));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// The frame that generated code gives back.
///
/// # Safety
/// It is the one that [`enter`] called the generated code with.
unsafe fn frame<'f>(frame: *mut c_void) -> &'f mut Frame<'f, 'f> {
    // SAFETY: as above; generated code does not use it while it waits for a callback.
    unsafe { &mut *frame.cast() }
}

unsafe extern "C" fn row(f: *mut c_void, index: u32) -> u32 {
    // SAFETY: generated code gives its own frame.
    let f = unsafe { frame(f) };
    // SAFETY: as in `interpret`.
    let (cx, warp) = unsafe { (&mut *f.cx, &mut *f.warp) };
    // What panics does so again as a step, from where it is handed on.
    let done = catch_unwind(AssertUnwindSafe(|| open::execute_row(cx, warp, index as usize)));
    u32::from(!done.unwrap_or(false))
}

unsafe extern "C" fn step(f: *mut c_void, index: u32) -> u32 {
    // SAFETY: generated code gives its own frame.
    let f = unsafe { frame(f) };
    f.execute(index)
}

unsafe extern "C" fn access_memory(f: *mut c_void, slot: u32) -> u32 {
    // SAFETY: generated code gives its own frame.
    let f = unsafe { frame(f) };
    let index = f.accesses[slot as usize];
    let inst = &f.code.instructions()[index as usize];
    let slot = slot as usize;
    // SAFETY: the frame's state is that of the warp, which is at this instruction.
    if unsafe { access::access(&*f.cx, &f.raw, inst, slot) } {
        return 0;
    }
    if let Some(addr) = access::global_address(inst) {
        // SAFETY: as in `interpret`.
        let found = unsafe { (*f.cx).remember(&*f.warp, addr, slot) };
        // SAFETY: as above.
        if found && unsafe { access::access(&*f.cx, &f.raw, inst, slot) } {
            return 0;
        }
    }
    f.execute(index)
}

unsafe extern "C" fn control(f: *mut c_void, index: u32) -> u32 {
    // SAFETY: generated code gives its own frame.
    let f = unsafe { frame(f) };
    let inst = &f.code.instructions()[index as usize];
    let act = |cx: &mut Cx<'_>, warp: &mut Warp| match open::transfer(cx, warp, inst) {
        Some(end) => end,
        None => open::step(cx, warp),
    };
    if !f.interpret(act) {
        return STOP;
    }
    f.look();
    // SAFETY: as in `interpret`.
    let pc = unsafe { (*f.warp).pc };
    f.code.index(pc).and_then(|at| f.blocks.get(at)).copied().unwrap_or(ELSEWHERE)
}
