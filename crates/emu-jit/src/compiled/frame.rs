//! What generated code is called with, and what it calls back.

use super::access;
use nvir_emu::engine::open::{self, Raw};
use nvir_emu::engine::{Code, Cx, Trap, Warp, Yield};
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
    /// Control is where no compiled block begins.
    Elsewhere,
    /// [`Frame::outcome`] says why.
    Outcome,
}

/// The number of a block, or that generated code is to return with [`Status::Elsewhere`] or [`Status::Outcome`].
pub(crate) const ELSEWHERE: u32 = u32::MAX;
pub(crate) const STOP: u32 = u32::MAX - 1;

/// A function of generated code: the frame, and the block that it begins with.
pub(crate) type Entry = unsafe extern "C" fn(*mut c_void, u32) -> u32;

/// What generated code calls: the frame, the index of the instruction.
type Callback = unsafe extern "C" fn(*mut c_void, u32) -> u32;

/// Lanes of a group as a vector of masks, for each of their sixteen sets.
#[repr(align(16))]
struct GroupMasks([[u32; 4]; 16]);

static GROUP_MASKS: GroupMasks = GroupMasks({
    let mut all = [[0; 4]; 16];
    let mut set = 0;
    while set < 16 {
        let mut lane = 0;
        while lane < 4 {
            all[set][lane] = if set >> lane & 1 != 0 { u32::MAX } else { 0 };
            lane += 1;
        }
        set += 1;
    }
    all
});

/// The state of a run of generated code.
#[repr(C)]
pub(crate) struct Frame<'a, 'c> {
    raw: Raw,
    masks: *const [[u32; 4]; 16],
    /// Executes an instruction that does not transfer control: 0, or [`STOP`].
    step: Callback,
    /// The same for a load or store, with the number of its slot.
    access: Callback,
    /// Executes one that may transfer control: the block that follows, [`ELSEWHERE`] or [`STOP`].
    control: Callback,
    until: u64,
    cx: *mut Cx<'c>,
    warp: *mut Warp,
    code: &'a Code,
    /// The block that begins at each instruction.
    numbers: &'a [u32],
    /// The instructions that the slots are of.
    accesses: &'a [u32],
    outcome: Option<Result<Yield, Trap>>,
    panic: Option<Box<dyn Any + Send>>,
}

/// Where generated code finds what it needs of a [`Frame`].
pub(crate) mod field {
    use super::{Frame, Raw, offset_of};

    macro_rules! raw {
        ($($name:ident $field:ident)*) => {
            $(pub(crate) const $name: i32 = (offset_of!(Frame<'_, '_>, raw) + offset_of!(Raw, $field)) as i32;)*
        };
    }
    raw!(WARP warp BLOCK block REGS regs POOL pool SHARED shared SHARED_BYTES shared_bytes SLOTS slots);
    pub(crate) const MASKS: i32 = offset_of!(Frame<'_, '_>, masks) as i32;
    pub(crate) const STEP: i32 = offset_of!(Frame<'_, '_>, step) as i32;
    pub(crate) const ACCESS: i32 = offset_of!(Frame<'_, '_>, access) as i32;
    pub(crate) const CONTROL: i32 = offset_of!(Frame<'_, '_>, control) as i32;
    pub(crate) const UNTIL: i32 = offset_of!(Frame<'_, '_>, until) as i32;
}

/// What a function of generated code was made of and is called with.
#[derive(Clone, Copy)]
pub(crate) struct Function<'a> {
    pub entry: Entry,
    pub numbers: &'a [u32],
    /// The loads and stores that have slots.
    pub accesses: &'a [u32],
}

/// Runs a warp from a block on by generated code.
///
/// # Safety
/// The function is one that [`crate::compiled::lift`] made of the code that `cx` executes, and its memory is there.
pub(crate) unsafe fn enter(
    function: Function<'_>,
    cx: &mut Cx<'_>,
    warp: &mut Warp,
    block: u32,
    until: u64,
) -> Result<Yield, Trap> {
    let code = cx.code();
    cx.prepare_slots(function.accesses.len());
    let (cx, warp): (*mut Cx<'_>, *mut Warp) = (cx, warp);
    let mut frame = Frame {
        // SAFETY: both come from references of this function, which uses them through these pointers only.
        raw: unsafe { (*cx).raw(&mut *warp) },
        masks: &GROUP_MASKS.0,
        step,
        access: access_memory,
        control,
        until,
        cx,
        warp,
        code,
        numbers: function.numbers,
        accesses: function.accesses,
        outcome: None,
        panic: None,
    };
    // SAFETY: the caller says that the function is of this code. It reads and writes the fields of the frame by `field`, the rows of
    // registers that the code names, which the launch has (launches that lack one are interpreted), and otherwise what `Raw` and its
    // slots say that may be accessed.
    let status = unsafe { (function.entry)((&raw mut frame).cast(), block) };
    if let Some(panic) = frame.panic {
        std::panic::resume_unwind(panic);
    }
    match frame.outcome {
        Some(outcome) => outcome,
        None if status == Status::Slice as u32 => Ok(Yield::Slice),
        None => Ok(Yield::Step),
    }
}

impl Frame<'_, '_> {
    /// Executes the instruction at the warp's address by the interpreter; whether the warp goes on.
    fn interpret(&mut self) -> bool {
        // SAFETY: `enter` made these pointers of references that nobody else uses while generated code runs.
        let (cx, warp) = unsafe { (&mut *self.cx, &mut *self.warp) };
        let done = catch_unwind(AssertUnwindSafe(|| (open::step(cx, warp), cx.raw(warp))));
        match done {
            Ok((Ok(None), raw)) => {
                self.raw = raw;
                return true;
            }
            Ok((end, _)) => self.outcome = Some(end.map(|end| end.unwrap_or(Yield::Step))),
            // It must not unwind through generated code.
            Err(panic) => self.panic = Some(panic),
        }
        false
    }
}

/// The frame that generated code gives back.
///
/// # Safety
/// It is the one that [`enter`] called the generated code with.
unsafe fn frame<'f>(frame: *mut c_void) -> &'f mut Frame<'f, 'f> {
    // SAFETY: as above; generated code does not use it while it waits for a callback.
    unsafe { &mut *frame.cast() }
}

unsafe extern "C" fn step(f: *mut c_void, _: u32) -> u32 {
    // SAFETY: generated code gives its own frame.
    let f = unsafe { frame(f) };
    if f.interpret() { 0 } else { STOP }
}

unsafe extern "C" fn access_memory(f: *mut c_void, slot: u32) -> u32 {
    // SAFETY: generated code gives its own frame.
    let f = unsafe { frame(f) };
    let inst = &f.code.instructions()[f.accesses[slot as usize] as usize];
    let slot = slot as usize;
    // SAFETY: the frame's state is that of the warp, which is at this instruction.
    if unsafe { access::access(&f.raw, inst, slot) } {
        return 0;
    }
    if let Some(addr) = access::global_address(inst) {
        // SAFETY: as in `interpret`.
        let found = unsafe { (*f.cx).remember(&*f.warp, addr, slot) };
        // SAFETY: as above.
        if found && unsafe { access::access(&f.raw, inst, slot) } {
            return 0;
        }
    }
    if f.interpret() { 0 } else { STOP }
}

unsafe extern "C" fn control(f: *mut c_void, index: u32) -> u32 {
    // SAFETY: generated code gives its own frame.
    let f = unsafe { frame(f) };
    // SAFETY: as in `interpret`.
    let (cx, warp) = unsafe { (&mut *f.cx, &mut *f.warp) };
    match open::transfer(cx, warp, &f.code.instructions()[index as usize]) {
        Some(Ok(None)) => {}
        Some(end) => {
            f.outcome = Some(end.map(|end| end.unwrap_or(Yield::Step)));
            return STOP;
        }
        None if f.interpret() => {}
        None => return STOP,
    }
    // SAFETY: as in `interpret`.
    let pc = unsafe { (*f.warp).pc };
    f.code.index(pc).and_then(|at| f.numbers.get(at)).copied().unwrap_or(ELSEWHERE)
}
