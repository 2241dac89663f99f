//! Two engines held against each other, basic block by basic block.

use super::{Engine, Exec, Turns, run};
use crate::code::micro::{Flow, Micro};
use crate::code::program::Code;
use crate::cx::Cx;
use crate::fault::FaultKind;
use crate::interpreter::Yield;
use crate::run::conflict::Snapshot;
use crate::state::block::{Barrier, BlockState};
use crate::state::lanes::LANES;
use crate::state::warp::Warp;
use crate::trap::Trap;
use std::sync::Arc;

/// Executes each basic block by two engines from the same state, and compares the warp, what the block shares and memory. Where they
/// differ the run ends with [`FaultKind::Defect`]. It copies all memory for each basic block that stores: it is for tests.
#[derive(Debug)]
pub struct Lockstep<'a> {
    first: &'a dyn Engine,
    second: &'a dyn Engine,
}

impl<'a> Lockstep<'a> {
    /// What `first` does is held against what `second` does, with which the run goes on.
    pub const fn new(first: &'a dyn Engine, second: &'a dyn Engine) -> Lockstep<'a> {
        Lockstep { first, second }
    }
}

impl Engine for Lockstep<'_> {
    fn prepare(&self, code: &Arc<Code>) -> Option<Arc<dyn Exec>> {
        Some(Arc::new(Both { first: self.first.prepare(code), second: self.second.prepare(code) }))
    }

    // It takes memory back.
    fn shares_memory(&self) -> bool {
        false
    }
}

/// The executors of one code; none: the interpreter.
struct Both {
    first: Option<Arc<dyn Exec>>,
    second: Option<Arc<dyn Exec>>,
}

/// Everything that a block of code can change.
struct Everything {
    warp: Warp,
    block: BlockState,
    /// Of code that stores.
    memory: Option<Snapshot>,
}

/// Whether the code up to where the next basic block begins, behind the instruction that a warp comes to, may change global memory.
fn stores(cx: &Cx<'_>, w: &Warp) -> bool {
    let (code, insts) = (cx.code(), &cx.env.bound.insts[..]);
    let mut at = code.index(w.pc);
    let mut executes = false;
    while let Some(inst) = at.and_then(|at| insts.get(at)) {
        // A computed jump may lead into the middle of a basic block.
        if inst.writes_memory() || matches!(inst.micro, Micro::Flow(Flow::Brx { .. })) {
            return true;
        }
        executes |= !matches!(inst.micro, Micro::Sched);
        at = at.map(|at| code.next(at)).filter(|&at| !executes || insts.get(at).is_some_and(|i| !i.leader));
    }
    false
}

impl Everything {
    fn take(cx: &Cx<'_>, w: &Warp, stores: bool) -> Everything {
        let memory = stores.then(|| Snapshot::take(cx.env.bound.memory));
        Everything { warp: w.clone(), block: cx.block.clone(), memory }
    }

    fn restore(&self, cx: &mut Cx<'_>, w: &mut Warp) {
        *w = self.warp.clone();
        *cx.block = self.block.clone();
        if let Some(memory) = &self.memory {
            memory.restore(cx.env.bound.memory);
        }
    }

    /// What is not the same in the other one, if anything.
    fn difference(&self, other: &Everything) -> Option<String> {
        let (a, b) = (&self.warp, &other.warp);
        for (r, (x, y)) in a.regs.iter().zip(&b.regs).enumerate() {
            if let Some(l) = (0..LANES).find(|&l| x.0[l] != y.0[l]) {
                return Some(format!("R{r} of lane {l} is {:#x} and {:#x}", x.0[l], y.0[l]));
            }
        }
        let differ = |what: &str, same: bool| (!same).then(|| what.to_string());
        let Everything { block: p, memory, .. } = self;
        let q = &other.block;
        differ("predicates", a.preds == b.preds)
            .or_else(|| differ("the condition code", a.cc == b.cc))
            .or_else(|| differ("where the warp is", (a.pc, a.active, a.live) == (b.pc, b.active, b.live)))
            .or_else(|| differ("the divergence stack", a.stack == b.stack && a.quads == b.quads))
            .or_else(|| differ("local memory", a.local == b.local))
            .or_else(|| differ("the warp", Warp { at: b.at, ..a.clone() } == *b))
            .or_else(|| differ("shared memory", p.shared == q.shared && p.locks == q.locks))
            .or_else(|| differ("counts", (p.steps, p.thread_steps) == (q.steps, q.thread_steps)))
            .or_else(|| differ("barriers", p.warp_states == q.warp_states && p.reductions == q.reductions))
            .or_else(|| {
                differ(
                    "who has arrived",
                    p.barriers.iter().map(Barrier::counts).eq(q.barriers.iter().map(Barrier::counts)),
                )
            })
            .or_else(|| differ("helper invocations", p.helpers == q.helpers))
            .or_else(|| differ("outputs", p.stage == q.stage))
            .or_else(|| differ("global memory", *memory == other.memory))
    }
}

impl Exec for Both {
    fn run(&self, cx: &mut Cx<'_>, w: &mut Warp, until: u64) -> Result<Yield, Trap> {
        loop {
            let pc = w.pc;
            let stores = stores(cx, w);
            let before = Everything::take(cx, w, stores);
            // A block at least.
            let next = (cx.block.steps + 1).min(until);
            let first_ended = run(self.first.as_deref(), cx, &mut Turns::one(w, next));
            let first = Everything::take(cx, w, stores);
            before.restore(cx, w);
            let ended = run(self.second.as_deref(), cx, &mut Turns::one(w, next));
            let what = match first.difference(&Everything::take(cx, w, stores)) {
                None if first_ended == ended => None,
                None => Some(format!("one ends with {first_ended:?}, the other with {ended:?}")),
                what => what,
            };
            if let Some(what) = what {
                let detail = format!("two engines differ after the code at {pc:#x}: {what}");
                return Err(Trap::new(FaultKind::Defect, w.first_lane(), detail));
            }
            if ended != Ok(Yield::Slice) || cx.block.steps >= until {
                return ended;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Interpreter, SingleSteps};
    use super::*;
    use crate::{Launch, Memory, Options, Program, Stats, interpreter};
    use nvir_base::Chip;
    use nvir_isa as isa;

    /// What an executor of these tests does to the interpreter's work.
    #[derive(Clone, Copy, PartialEq, Debug)]
    enum Fake {
        /// A bit of R2 is wrong.
        Wrong,
        /// It looks at how slices end, and at what faults leave.
        Checks,
    }

    impl Engine for Fake {
        fn prepare(&self, code: &Arc<Code>) -> Option<Arc<dyn Exec>> {
            Some(Arc::new(Run(*self, code.clone())))
        }
    }

    struct Run(Fake, Arc<Code>);

    impl Exec for Run {
        fn run(&self, cx: &mut Cx<'_>, w: &mut Warp, until: u64) -> Result<Yield, Trap> {
            match self.0 {
                Fake::Wrong => {
                    let ended = interpreter::run(cx, w, until);
                    w.regs[2].0[5] ^= 1;
                    ended
                }
                Fake::Checks => loop {
                    let before = Everything::take(cx, w, true);
                    match interpreter::step(cx, w) {
                        Err(trap) => {
                            let mut after = Everything::take(cx, w, true);
                            // The instruction at fault has been counted.
                            after.block.steps = before.block.steps;
                            after.block.thread_steps = before.block.thread_steps;
                            assert_eq!(before.difference(&after), None, "{trap:?}");
                            return Err(trap);
                        }
                        Ok(Some(end)) => return Ok(end),
                        Ok(None) => {}
                    }
                    let at = self.1.index(w.pc);
                    if at.is_some_and(|at| self.1.insts[at].leader) && cx.block.steps >= until {
                        return Ok(Yield::Slice);
                    }
                },
            }
        }
    }

    fn program(lines: &[&str]) -> Program {
        let encode = |(n, line): (usize, &&str)| {
            let m = isa::text::parse(Chip::Gf100, line, 8 * n as u32, &|_| None).expect(line);
            isa::encode(Chip::Gf100, &m, 8 * n as u32).expect(line)
        };
        Program::new(Chip::Gf100, &lines.iter().enumerate().map(encode).collect::<Vec<_>>())
    }

    /// Two blocks of two warps; words of a buffer afterwards, if nothing faulted.
    fn execute(lines: &[&str], engine: Option<&dyn Engine>) -> (Result<Stats, String>, Vec<u32>) {
        let program = program(lines);
        let mut memory = Memory::new();
        let buffer = memory.alloc(512, 256).unwrap();
        let mut launch = Launch::new(&program);
        (launch.grid, launch.block, launch.shared_bytes, launch.local_bytes) =
            ([2, 1, 1], [50, 1, 1], 256, 16);
        launch.gprs = 16;
        launch.set_const_u32(0, 0, buffer as u32);
        launch.set_const_u32(0, 4, (buffer >> 32) as u32);
        let mut options = Options { engine, step_limit: 100_000, ..Options::default() };
        let stats = crate::run(&launch, &mut memory, &mut options).map_err(|f| f.to_string());
        let mut words = vec![0; 128];
        memory.read_words(buffer, &mut words).unwrap();
        (stats, words)
    }

    /// A loop of 4 to 67 rounds for each thread, that adds the clock to the sum of a word of shared memory; then a barrier.
    const LOOP: [&str; 21] = [
        "S2R R0, SR_TID.X",
        "S2R R1, SR_CTAID.X",
        "IMUL R1, R1, 0x32",
        "IADD R1, R0, R1",
        "IADD R3, R0, 0x4",
        "MOV R2, RZ",
        "PBK 0x78",
        "IADD R2, R2, R3",
        "S2R R4, SR_CLOCKLO",
        "LOP.XOR R2, R2, R4",
        "IADD R3, R3, -0x1",
        "ISETP.EQ.AND P0, PT, R3, RZ, PT",
        "@P0 BRK",
        "STS [0x10], R2",
        "BRA 0x38",
        "BAR.SYNC 0x0",
        "MOV R4, c[0x0][0x0]",
        "MOV R5, c[0x0][0x4]",
        "ISCADD R4, R1, R4, 0x2",
        "ST.E [R4], R2",
        "EXIT",
    ];

    #[test]
    fn engines_that_agree_give_what_one_gives() {
        let alone = execute(&LOOP, None);
        assert!(alone.0.is_ok(), "{:?}", alone.0);
        let lockstep = Lockstep::new(&Interpreter, &Interpreter);
        let (first, second) =
            (Lockstep::new(&SingleSteps, &Interpreter), Lockstep::new(&Interpreter, &SingleSteps));
        for engine in [&Interpreter as &dyn Engine, &lockstep, &first, &second, &SingleSteps, &Fake::Checks] {
            assert_eq!(execute(&LOOP, Some(engine)), alone, "{engine:?}");
        }
    }

    /// Sums of 64 bits whose flags are read, replaced or left, for all lanes and for some; then stores of what the flags were.
    const SUMS: [&str; 30] = [
        "S2R R0, SR_TID.X",
        "S2R R1, SR_CTAID.X",
        "IMUL R1, R1, 0x32",
        "IADD R1, R0, R1",
        "IADD R2, R1, -0x10",
        "MOV R3, RZ",
        "SSY 0xb0",
        "IADD R2.CC, R2, 0x8",
        "IADD.X R3, R3, RZ",
        "IADD R2.CC, R2, R0",
        "IADD.X R3, R3, -0x1",
        "P2R R6, PR, RZ, 0x7f",
        "ISETP.LT.AND P0, PT, R0, 0x15, PT",
        "@P0 IADD R4.CC, R2, R3",
        "@P0 IADD.X R5, R3, R1",
        "@!P0 BRA 0x90",
        "ISUB R4.CC, R2, R1",
        "NOP.S",
        "IADD R4.CC, R4, -0x4",
        "IADD.X R3, R5, R2",
        "IADD.X R5, R3, R2",
        "NOP.S",
        "IADD.X R7, R6, R5",
        "LOP.XOR R2, R4, R3",
        "IADD R2, R2, R7",
        "MOV R4, c[0x0][0x0]",
        "MOV R5, c[0x0][0x4]",
        "ISCADD R4, R1, R4, 0x2",
        "ST.E [R4], R2",
        "EXIT",
    ];

    #[test]
    fn sums_of_64_bits_are_those_of_single_steps() {
        let single = execute(&SUMS, Some(&SingleSteps));
        assert!(single.0.is_ok(), "{:?}", single.0);
        let lockstep = Lockstep::new(&SingleSteps, &Interpreter);
        for engine in [&Interpreter as &dyn Engine, &lockstep] {
            assert_eq!(execute(&SUMS, Some(engine)), single, "{engine:?}");
        }
    }

    #[test]
    fn warps_end_where_single_steps_end() {
        // Entries that nobody waits at are left on the stack.
        let lines = [
            "S2R R0, SR_TID.X",
            "ISETP.LT.AND P0, PT, R0, 0x7, PT",
            "PBK 0x48",
            "SSY 0x40",
            "@P0 BRA 0x30",
            "EXIT",
            "@P0 EXIT",
            "NOP.S",
            "BRK",
            "EXIT",
        ];
        let single = execute(&lines, Some(&SingleSteps));
        assert!(single.0.is_ok(), "{:?}", single.0);
        for pair in [[&SingleSteps as &dyn Engine, &Interpreter], [&Interpreter, &SingleSteps]] {
            assert_eq!(execute(&lines, Some(&Lockstep::new(pair[0], pair[1]))), single);
        }
    }

    #[test]
    fn an_engine_that_is_wrong_is_found_at_the_first_block() {
        for pair in [[&Fake::Wrong as &dyn Engine, &Interpreter], [&Interpreter, &Fake::Wrong]] {
            let (ended, _) = execute(&LOOP, Some(&Lockstep::new(pair[0], pair[1])));
            let said = ended.unwrap_err();
            assert!(said.contains("two engines differ after the code at 0x0: R2 of lane 5"), "{said}");
        }
    }

    #[test]
    fn a_fault_leaves_the_warp_and_memory_as_before_the_instruction() {
        // The last lanes go wrong, when others might have been served.
        let ways: [&[&str]; 8] = [
            &["ST.E [R4], R0"],
            &["ST.E.64 [R4], R0"],
            &["STS [R6], R0"],
            &["STL [R6], R0"],
            &["ATOM.E.ADD R8, [R4], R0"],
            &["LD.E R8, [R4]"],
            &["LDSLK P1, R8, [R6]"],
            &["@P2 NOP.S"],
        ];
        for way in ways {
            let head = [
                "S2R R0, SR_TID.X",
                "MOV R4, c[0x0][0x0]",
                "MOV R5, c[0x0][0x4]",
                "ISCADD R4, R0, R4, 0x5",
                "SHL R6, R0, 0x4",
                "ISETP.NE.AND P2, PT, R0, RZ, PT",
            ];
            let lines = [&head[..], way, &["EXIT"]].concat();
            let (alone, words) = execute(&lines, None);
            let said = alone.expect_err("it faults");
            assert_eq!(execute(&lines, Some(&Fake::Checks)), (Err(said.clone()), words.clone()), "{way:?}");
            assert!(words.iter().all(|w| *w == 0), "{way:?}: {words:?}");
            let lockstep = Lockstep::new(&Interpreter, &SingleSteps);
            assert_eq!(execute(&lines, Some(&lockstep)).0, Err(said));
        }
    }

    #[test]
    fn a_limit_is_looked_at_where_blocks_begin() {
        let code = program(&LOOP);
        let mut launch = Launch::new(&code);
        (launch.block, launch.gprs, launch.shared_bytes) = ([32, 1, 1], 16, 256);
        for limit in 1..60 {
            let mut options = Options { step_limit: limit, ..Options::default() };
            let fault = crate::run(&launch, &mut Memory::new(), &mut options).unwrap_err();
            let at = code.code.index(fault.place.pc).unwrap();
            assert!(code.code.insts[at].leader, "{limit}: {fault}");
        }
    }
}
