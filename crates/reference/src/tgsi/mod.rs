//! The reference interpreter: TGSI executed on the syntax tree, as its documentation defines each opcode.
//!
//! It shares nothing with the compiler beyond the tree and the opcode table, so that the two check each other.
//!
//! Threads take turns: each runs until it waits at a barrier or at an operation of the warp, ends, or has had its turn
//! (kernels spin on memory that others write). A barrier opens when all threads of the block that have not
//! ended wait at it. An operation of the warp happens when no thread of the warp can run: the threads that wait at the
//! lowest such instruction do it together, as lanes of a machine that executes structured code do.
//!
//! Graphics stages run in groups that are what blocks are to kernels (`stage`); what needs the other pixels of a quad
//! (derivatives, lookups with an implicit level of detail) is an operation of the warp (`pixel`).
//!
//! What the documentation leaves open is done as the machine does it: results that are no number have the pattern
//! 0x7fffffff, conversions out of range saturate, division by zero gives all ones. Registers begin as zero.

pub mod alu;
mod image;
mod memory;
mod pixel;
mod stage;
mod texture;
mod thread;

use nvir::diag::{Diagnostic, Span};
use nvir::emu::{FaultKind, Image, Memory, Sampler};
use nvir::front::tgsi::ast::*;
pub use stage::{Graphics, run_stage};
use thread::{State, Thread};

/// One grid of a program.
pub struct Launch<'a> {
    /// What runs.
    pub program: &'a Program,
    /// The kernel, as [`Program::entry`] names it.
    pub kernel: Option<&'a str>,
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Kernel input: `MEMORY[n], INPUT` and `RES[32764]`.
    pub input: Vec<u8>,
    /// Constant buffers by number: `CONST[n][i]`.
    pub constants: Vec<Vec<u8>>,
    /// Storage buffers by number: address and bytes.
    pub buffers: Vec<(u64, u64)>,
    /// Images by number: `IMAGE[n]`.
    pub images: Vec<Option<Image>>,
    /// Textures by number, with the sampler of the same: `SVIEW[n]`, `SAMP[n]`.
    pub textures: Vec<Option<(Image, Sampler)>>,
    /// What a fragment shader reads as its framebuffer.
    pub framebuffer: Option<Image>,
    /// Shared memory of a block, bytes.
    pub shared_bytes: u32,
    /// Private memory of a thread, bytes.
    pub private_bytes: u32,
    /// Instructions that all threads together may execute.
    pub step_limit: u64,
}

impl<'a> Launch<'a> {
    /// One thread, nothing bound.
    pub fn new(program: &'a Program) -> Launch<'a> {
        Launch {
            program,
            kernel: None,
            grid: [1; 3],
            block: [1; 3],
            input: Vec::new(),
            constants: Vec::new(),
            buffers: Vec::new(),
            images: Vec::new(),
            textures: Vec::new(),
            framebuffer: None,
            shared_bytes: 0,
            private_bytes: 0,
            step_limit: 1 << 32,
        }
    }
}

/// What stopped a run.
#[derive(Clone, Debug)]
pub struct Fault {
    /// What it is.
    pub kind: FaultKind,
    /// What it is in words.
    pub message: String,
    /// The instruction.
    pub span: Span,
    /// The block in the grid.
    pub block: [u32; 3],
    /// The thread in the block.
    pub thread: [u32; 3],
}

impl Fault {
    /// For [`diag::render`](nvir::diag::render).
    pub fn diagnostic(&self) -> Diagnostic {
        let at = format!("block {:?}, thread {:?}", self.block, self.thread);
        Diagnostic::error(format!("{}: {}", self.kind.name(), self.message)).at(self.span, at)
    }
}

/// Why an instruction cannot be executed; the place is added by the scheduler.
#[derive(Debug)]
struct Trap(FaultKind, String);

/// What threads of a block share.
struct Block<'a> {
    launch: &'a Launch<'a>,
    memory: &'a mut Memory,
    shared: Vec<u8>,
    id: [u32; 3],
    /// What they are in a graphics stage.
    group: Option<stage::Group<'a>>,
}

/// Threads begin in step, one instruction each in turn, as lanes of a machine do: programs are out there whose threads
/// read what others of their warp are about to overwrite. After so many rounds turns get longer, and differ in length
/// without a pattern that loops could fall into step with.
const IN_STEP: u32 = 1 << 12;

/// The most instructions that a thread then runs at a stretch.
const TURN: u32 = 256;

/// Lanes of a warp.
const WARP: usize = 32;

/// Runs a launch to its end. `Err` with no fault to point at: the kernel is not there.
pub fn run(launch: &Launch<'_>, memory: &mut Memory) -> Result<(), Box<Fault>> {
    let fault = |kind, message: String| {
        Box::new(Fault { kind, message, span: Span::default(), block: [0; 3], thread: [0; 3] })
    };
    let entry = launch.program.entry(launch.kernel);
    let entry = entry.map_err(|d| fault(FaultKind::IllegalInstruction, d.to_string()))?;
    let threads = launch.block.iter().fold(1, |all: u32, &n| all.saturating_mul(n));
    if threads > 1024 || launch.shared_bytes > 1 << 20 || launch.private_bytes > 1 << 20 {
        return Err(fault(FaultKind::OutOfBounds, "the block is too large".into()));
    }
    let mut steps = launch.step_limit;
    let [gx, gy, gz] = launch.grid;
    for z in 0..gz {
        for y in 0..gy {
            for x in 0..gx {
                let shared = vec![0; launch.shared_bytes as usize];
                let mut block = Block { launch, memory, shared, id: [x, y, z], group: None };
                let mut threads = block.threads(entry);
                block.run(&mut threads, &mut steps)?;
            }
        }
    }
    Ok(())
}

impl<'a> Block<'a> {
    fn threads(&self, entry: u32) -> Vec<Thread<'a>> {
        let [bx, by, bz] = self.launch.block;
        let mut threads = Vec::new();
        for z in 0..bz {
            for y in 0..by {
                for x in 0..bx {
                    threads.push(Thread::new(self.launch, entry, [x, y, z]));
                }
            }
        }
        if self.launch.program.runs_whole_warps(entry) {
            // The block goes on in its last dimension with more than one thread.
            let asked = threads.len() as u32;
            for n in asked..asked.next_multiple_of(WARP as u32) {
                let id = match (by, bz) {
                    (1, 1) => [n, 0, 0],
                    (_, 1) => [n % bx, n / bx, 0],
                    _ => [n % bx, n / bx % by, n / bx / by],
                };
                let mut thread = Thread::new(self.launch, entry, id);
                thread.asked = false;
                threads.push(thread);
            }
        }
        threads
    }

    fn run(&mut self, threads: &mut [Thread<'_>], steps: &mut u64) -> Result<(), Box<Fault>> {
        let mut random = 1u32;
        let mut round = 0u32;
        loop {
            let mut moved = false;
            round = round.saturating_add(1);
            let turn = if round <= IN_STEP { 1 } else { TURN };
            for t in &mut *threads {
                if t.state != State::Ready {
                    continue;
                }
                moved = true;
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                for _ in 0..=(random >> 16) % turn {
                    if *steps == 0 {
                        return Err(
                            self.fault(t, Trap(FaultKind::StepLimit, "the launch runs too long".into()))
                        );
                    }
                    *steps -= 1;
                    if let Err(trap) = t.step(self) {
                        return Err(self.fault(t, trap));
                    }
                    if let Some(group) = &mut self.group {
                        group.take(t);
                    }
                    if t.state != State::Ready {
                        break;
                    }
                }
            }
            for warp in threads.chunks_mut(WARP) {
                match converge(self, warp) {
                    Ok(m) => moved |= m,
                    Err((lane, trap)) => return Err(self.fault(&warp[lane], trap)),
                }
                if let Some(group) = &mut self.group {
                    warp.iter_mut().for_each(|t| group.take(t));
                }
            }
            if threads.iter().all(|t| t.state == State::Ended) {
                return Ok(());
            }
            if threads.iter().all(|t| matches!(t.state, State::Ended | State::Barrier)) {
                threads.iter_mut().filter(|t| t.state == State::Barrier).for_each(|t| t.state = State::Ready);
                moved = true;
            }
            if !moved && let Some(t) = threads.iter().find(|t| t.state != State::Ended) {
                return Err(self.fault(t, Trap(FaultKind::Deadlock, "no thread can go on".into())));
            }
        }
    }

    fn fault(&self, t: &Thread<'_>, trap: Trap) -> Box<Fault> {
        Box::new(Fault { kind: trap.0, message: trap.1, span: t.span(), block: self.id, thread: t.id })
    }
}

/// Performs an operation of the warp, if no lane can run and some wait for one.
fn converge(block: &Block<'_>, warp: &mut [Thread<'_>]) -> Result<bool, (usize, Trap)> {
    if warp.iter().any(|t| t.state == State::Ready) {
        return Ok(false);
    }
    let waiting = |t: &Thread<'_>| t.state == State::Lane;
    let Some(pc) = warp.iter().filter(|t| waiting(t)).map(|t| t.pc).min() else { return Ok(false) };
    let lanes: Vec<usize> = (0..warp.len()).filter(|&l| waiting(&warp[l]) && warp[l].pc == pc).collect();
    let inst = &block.launch.program.inst(pc);
    if pixel::is_of_quad(block, inst) {
        pixel::operation(block, warp, &lanes, inst)?;
        for l in lanes {
            warp[l].state = State::Ready;
            warp[l].pc += 1;
        }
        return Ok(true);
    }
    let at = |lane: usize| move |trap: Trap| (lane, trap);
    let mut firsts = Vec::new();
    for &l in &lanes {
        firsts.push(warp[l].operand32(block, inst, 0, 0).map_err(at(l))?);
    }
    let ballot = lanes.iter().zip(&firsts).filter(|(_, v)| **v != 0).fold(0u32, |m, (l, _)| m | 1 << l);
    let truth = |yes: bool| if yes { u32::MAX } else { 0 };
    let mut results = Vec::new();
    for &l in &lanes {
        let mut r = [0; 4];
        match inst.op {
            Opcode::BALLOT => r = [ballot, 0, ballot, 0],
            Opcode::VOTE_ANY => r = [truth(ballot != 0); 4],
            Opcode::VOTE_ALL => r = [truth(ballot.count_ones() as usize == lanes.len()); 4],
            Opcode::VOTE_EQ => {
                r = [truth(ballot == 0 || ballot.count_ones() as usize == lanes.len()); 4];
            }
            _ => {
                let from = match inst.op {
                    Opcode::READ_INVOC => {
                        let n = warp[l].operand32(block, inst, 1, 0).map_err(at(l))? as usize & (WARP - 1);
                        if n < warp.len() { n } else { l }
                    }
                    _ => lanes[0],
                };
                for (c, r) in r.iter_mut().enumerate() {
                    *r = warp[from].operand32(block, inst, 0, c).map_err(at(l))?;
                }
            }
        }
        results.push(r);
    }
    for (&l, r) in lanes.iter().zip(results) {
        warp[l].write_result(&inst.dsts[0], r).map_err(at(l))?;
        warp[l].state = State::Ready;
        warp[l].pc += 1;
    }
    Ok(true)
}
