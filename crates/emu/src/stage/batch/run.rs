//! A stage of a draw, bound, and its launches.

use super::attributes::Slots;
use super::fragments::Inputs;
use super::input::{Input, State};
use super::layout::Layout;
use super::results::Results;
use crate::check::race::Watched;
use crate::code::micro::{Flow, Micro};
use crate::cx::{Env, Trace};
use crate::engine::Exec;
use crate::fault::{Fault, FaultKind, Note, Place};
use crate::launch::Launch;
use crate::memory::Memory;
use crate::options::Options;
use crate::run::block::{Block, Progress, Stop};
use crate::run::bound;
use crate::run::grid::{Counters, caught, cores, on_threads, stats};
use crate::stage::context::{Context, Parts};
use crate::state::block::Shape;
use crate::state::lanes::LANES;
use crate::stats::Stats;
use nvir_base::Chip;
use nvir_base::caught::catching;
use nvir_base::stage::{Stage, attribute};
use nvir_isa::header::Header;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Warps that a thread takes at least.
const CHUNK: u64 = 16;

/// What follows from the header of a program: made once, for any number of draws.
#[derive(Clone, Debug)]
pub struct Interface {
    /// The header.
    pub header: Header,
    /// The words that it declares as read of a vertex, with the number of one that is fetched, by which faults name it; and
    /// those of the buffers that the program leaves.
    pub inputs: Arc<Slots>,
    outputs: Arc<Slots>,
    patch_outputs: Arc<Slots>,
    fragment_inputs: Inputs,
    layout: Layout,
}

impl Interface {
    /// Of a header, on a chip.
    pub fn new(header: Header, chip: Chip) -> Interface {
        let number = (header.stage() == Stage::Vertex).then_some(attribute::VERTEX_ID);
        Interface {
            inputs: Arc::new(Slots::new(Slots::inputs(&header).addresses().chain(number))),
            outputs: Arc::new(Slots::outputs(&header)),
            patch_outputs: Arc::new(Slots::patch_outputs(&header)),
            fragment_inputs: Inputs::new(&header),
            layout: Layout::new(&header, chip),
            header,
        }
    }

    pub(super) fn fragment_inputs(&self) -> &Inputs {
        &self.fragment_inputs
    }
}

/// A stage of a draw: code with all that it reads but its input. Constants are those at the time when it was made; textures and
/// samplers are decoded when they are first needed, once for all launches.
pub struct Bound<'a> {
    base: bound::Bound<'a>,
    interface: Arc<Interface>,
    state: State<'a>,
    /// Whether warps may change memory, so that their order shows.
    in_order: bool,
}

impl<'a> Bound<'a> {
    /// Of `launch`, grid, block and shared memory are not looked at.
    pub fn new(launch: &'a Launch<'a>, header: &Header, memory: &'a Memory, state: State<'a>) -> Bound<'a> {
        let interface = Interface::new(header.clone(), launch.program.chip());
        Bound::with(launch, Arc::new(interface), memory, state)
    }

    /// The same with an interface that is there already.
    pub fn with(
        launch: &'a Launch<'a>,
        interface: Arc<Interface>,
        memory: &'a Memory,
        state: State<'a>,
    ) -> Bound<'a> {
        let base = bound::Bound::new(launch, memory);
        Bound { in_order: launch.program.writes_memory(), base, interface, state }
    }

    /// Executes a launch. What it leaves does not depend on the number of threads: with programs that store to memory warps run one
    /// after the other.
    ///
    /// # Errors
    /// As [`crate::run`], of the first warp in order; besides: inputs that the header does not declare, vertices that a primitive
    /// does not have, emission beyond the maximum, a handle that is not the last one. `results` is incomplete then.
    pub fn run(
        &self,
        input: &Input<'_>,
        results: &mut Results,
        options: &mut Options<'_>,
    ) -> Result<Stats, Box<Fault>> {
        caught(&self.base.launch.kernel, || {
            let context = self.context(input).map_err(|detail| self.refuse(detail))?;
            self.execute(&context, results, options)
        })
    }

    /// The fault of a launch that cannot be.
    pub(crate) fn refuse(&self, detail: String) -> Box<Fault> {
        let kernel = self.base.launch.kernel.clone();
        Box::new(Fault {
            kind: FaultKind::IllegalInstruction,
            kernel,
            place: Place::default(),
            detail,
            other: None,
        })
    }

    pub(crate) fn context<'b>(&'b self, input: &'b Input<'b>) -> Result<Context<'b>, String> {
        let parts = Parts {
            header: &self.interface.header,
            state: self.state,
            outputs: &self.interface.outputs,
            patch_outputs: &self.interface.patch_outputs,
            inputs: &self.interface.fragment_inputs,
            layout: self.interface.layout,
        };
        Context::new(parts, input)
    }

    fn execute(
        &self,
        context: &Context<'_>,
        results: &mut Results,
        options: &mut Options<'_>,
    ) -> Result<Stats, Box<Fault>> {
        let warps = u64::from(context.warps());
        if warps == 0 {
            // As where the tests before the program leave no fragment.
            results.begin(context);
            return Ok(stats(self.base.launch, Counters::default()));
        }
        let shape = Shape { grid: [context.warps(), 1, 1], block: [LANES as u32, 1, 1], shared_bytes: 0 };
        let env = options.env(&self.base, shape, None, Some(context));
        let cores = cores(options);
        let alone = self.in_order
            || cores < 2
            || warps < 2 * CHUNK
            || options.trace.is_some()
            || options.checks.global_race
            || options.faults > 1;
        let exec = options.executor(&env);
        let run = (&env, exec.as_deref());
        let shared = if alone { None } else { parallel(run, context, warps, results, options, cores) };
        let counters = match shared {
            Some(counters) => counters,
            None => {
                results.begin(context);
                let limit = options.step_limit;
                let progress = options.progress;
                let tell = move |done| {
                    if let Some(tell) = progress {
                        tell(done, warps);
                    }
                };
                range(run, context, 0..warps, results, limit, &mut options.trace, &tell)?
            }
        };
        Ok(stats(self.base.launch, counters))
    }
}

/// Warps in order. Their results are added to those that are there.
fn range(
    (env, exec): (&Env<'_>, Option<&dyn Exec>),
    context: &Context<'_>,
    warps: Range<u64>,
    results: &mut Results,
    limit: u64,
    trace: &mut Trace<'_>,
    tell: &dyn Fn(u64),
) -> Result<Counters, Box<Fault>> {
    let mut counters = Counters::default();
    let mut global = env.checks.global_race.then(|| Box::new(Watched::new()));
    let block = results.block.take().and_then(|b| b.reuse(env));
    let mut block = block.unwrap_or_else(|| Box::new(Block::new(env, warps.start)));
    let ends = trace.is_none() && exec.is_none_or(|e| e.only_executes()) && ends_at_once(env);
    for warp in warps {
        if ends && counters.steps < limit {
            counters.steps += 1;
            counters.threads += u64::from(context.live(warp).count_ones());
            results.take_ended(context, warp, env.bound.launch.gprs);
            tell(warp + 1);
            continue;
        }
        block.restart(env, warp);
        block.exchange_global(&mut global);
        let ran = loop {
            match block.run(env, exec, u64::MAX, limit.saturating_sub(counters.steps), trace) {
                Ok(Progress::Running) => {}
                Ok(Progress::Done) => break Ok(()),
                Err(stop) => break Err(stop),
            }
        };
        block.exchange_global(&mut global);
        counters.count(env, &mut block);
        if let Some(io) = &mut block.st.stage {
            results.take(context, io);
        }
        match ran {
            Ok(()) => tell(warp + 1),
            Err(Stop::Fault(what)) if env.faults > 1 => {
                counters.end(warp, *what);
                break;
            }
            Err(Stop::Fault(fault)) => return Err(fault),
            Err(Stop::Conflict) => break,
        }
    }
    counters.profile(&mut block);
    results.block = Some(block);
    Ok(counters)
}

/// Whether warps of fragments end with their first instruction and nothing watches them, as where only depths are drawn: they leave
/// the registers that they began with.
fn ends_at_once(env: &Env<'_>) -> bool {
    let insts = &env.bound.insts[..];
    let Launch { program, entry, .. } = env.bound.launch;
    let is_watched = env.checks.init || env.checks.global_race || env.profile;
    if is_watched || env.stage.is_none_or(|s| s.stage != Stage::Fragment) {
        return false;
    }
    let mut at = program.code.index(*entry);
    while let Some(sched) = at.filter(|&at| insts.get(at).is_some_and(|i| matches!(i.micro, Micro::Sched))) {
        at = Some(program.code.next(sched));
    }
    let first = at.and_then(|at| insts.get(at));
    first.is_some_and(|i| matches!(i.micro, Micro::Flow(Flow::Exit(_))) && i.never_falls_through() && !i.sync)
}

/// Warps on several threads; `None` if one faults, or all take more steps than they may: in order it shows which.
fn parallel(
    (env, exec): (&Env<'_>, Option<&dyn Exec>),
    context: &Context<'_>,
    warps: u64,
    results: &mut Results,
    options: &Options<'_>,
    cores: usize,
) -> Option<Counters> {
    let each = warps.div_ceil(4 * cores as u64).max(CHUNK);
    let parts = warps.div_ceil(each) as usize;
    let mut all = std::mem::take(&mut results.parts);
    all.resize_with(all.len().max(parts), Results::default);
    let limit = options.step_limit;
    let one = |(n, part): (usize, &mut Results)| {
        let first = n as u64 * each;
        part.begin(context);
        // What panics here does so again in order, where it is reported.
        let run =
            || range((env, exec), context, first..warps.min(first + each), part, limit, &mut None, &|_| {});
        catching(std::panic::AssertUnwindSafe(run)).ok()?.ok()
    };
    let all_counters: Option<Vec<Option<Counters>>> =
        on_threads(options, cores, || all[..parts].par_iter_mut().enumerate().map(one).collect());
    let all_counters: Option<Vec<Counters>> = all_counters?.into_iter().collect();
    let counters = all_counters.map(|t| t.into_iter().fold(Counters::default(), Counters::merge));
    let counters = counters.filter(|t| t.steps <= limit);
    if counters.is_some() {
        results.begin(context);
        all[..parts].iter().for_each(|part| results.append(part));
    }
    results.parts = all;
    counters
}

impl Counters {
    /// A fault that the run went on after, or that ended it.
    fn end(&mut self, warp: u64, what: Fault) {
        let key = (what.place.pc, what.other.as_ref().map(|o| o.pc), Some(what.kind));
        self.note(key, warp, Note { what, times: 1 });
    }
}

#[cfg(test)]
mod tests {
    use super::super::{
        AttributeBuffer, Defaults, FragmentResults, Fragments, Linkage, Plane, Quad, Sides, Slots, Triangle,
    };
    use super::*;
    use crate::Program;
    use crate::engine::{Code, Cx, Engine, Interpreter, Warp, Yield};
    use crate::trap::Trap;
    use nvir_isa as isa;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    /// Runs so many quads, some of whose pixels are helpers: what they leave, and the counts or the fault's kind.
    fn run(line: &str, quads: u32, options: Options<'_>) -> (FragmentResults, Result<(u64, u64), FaultKind>) {
        let mut header = Header::new(Stage::Fragment);
        header.set_color_mask(0, 15);
        // Scheduling words come before the first instruction.
        let mut code = vec![0x0800_0000_0000_0000];
        for line in [line, "EXIT"] {
            let pc = code.len() as u32 * 8;
            let m = isa::text::parse(Chip::Gk110, line, pc, &|_| None).expect(line);
            code.push(isa::encode(Chip::Gk110, &m, pc).expect(line));
        }
        let program = Program::new(Chip::Gk110, &code);
        let (memory, defaults) = (Memory::new(), Defaults::zero());
        let mut launch = Launch::new(&program);
        // Too few for the last component.
        launch.gprs = 3;
        let state = State { flat_shade: false, samples: 1, defaults: &defaults };
        let bound = Bound::new(&launch, &header, &memory, state);
        let mut vertices = AttributeBuffer::new(Slots::new([]).into());
        vertices.resize(3);
        let link = Linkage::new(&header, vertices.slots(), &defaults, Sides::One);
        let mut fragments = Fragments::new();
        let number = fragments.triangle(
            &link,
            &vertices,
            &Triangle {
                corners: [0, 1, 2],
                flat: 0,
                weights: [Plane::constant(0.0); 2],
                depth: Plane::constant(0.5),
                inverse_w: [1.0; 3],
                front: true,
                id: 0,
                layer: 0,
                viewport: 0,
            },
        );
        (0..quads).for_each(|n| fragments.quad(Quad::new(number, [2 * n, 0], [1, 1, (n % 2) as u8, 0])));
        let mut options = options;
        let mut results = Results::new();
        let ended = bound.run(&Input::Quads(&fragments), &mut results, &mut options);
        let counts = ended.map(|s| (s.warp_instructions, s.thread_instructions)).map_err(|f| f.kind);
        (results.fragments, counts)
    }

    /// Counts the times that warps come to it.
    #[derive(Debug, Default)]
    struct Counting(Arc<AtomicU32>);

    impl Engine for Counting {
        fn prepare(&self, _: &Arc<Code>) -> Option<Arc<dyn Exec>> {
            Some(Arc::new(Counting(self.0.clone())))
        }
    }

    impl Exec for Counting {
        fn run(&self, _: &mut Cx<'_>, _: &mut Warp, _: u64) -> Result<Yield, Trap> {
            self.0.fetch_add(1, Relaxed);
            Ok(Yield::Step)
        }
    }

    #[test]
    fn who_looks_on_sees_fragments_that_only_end() {
        let engine = Counting::default();
        let watched = run("EXIT", 19, Options { engine: Some(&engine), threads: 1, ..Options::default() });
        // Three warps, each at a scheduling word and at the end.
        assert_eq!(engine.0.load(Relaxed), 6);
        let alone = run("EXIT", 19, Options { engine: Some(&Interpreter), threads: 1, ..Options::default() });
        assert_eq!(watched, alone);
    }

    #[test]
    fn fragments_that_only_end_leave_what_they_leave_when_watched() {
        for quads in [1, 8, 19] {
            // A profile has every warp executed.
            let profiled = || Options { profile: true, threads: 1, ..Options::default() };
            let wanted = run("EXIT", quads, profiled());
            assert_eq!(wanted.1, Ok((u64::from(quads.div_ceil(8)), u64::from(4 * quads))));
            assert_eq!(run("EXIT", quads, Options { threads: 1, ..Options::default() }), wanted);
            assert_eq!(run("EXIT", quads, Options { threads: 2, ..Options::default() }), wanted);
            assert_eq!(wanted.0.defined(0, 0, 2) & wanted.0.live(0), 3);
            assert_eq!(wanted.0.defined(0, 0, 3), 0);
            // Others are executed.
            let moved = run("MOV R0, 0x1", quads, Options::default());
            assert_eq!(moved.0.color(0, 0, 0), Some(&[1; 4]));
            let guarded = run("@P0 EXIT", quads, Options::default());
            assert_eq!(guarded.1.map(|c| c.0), Ok(2 * u64::from(quads.div_ceil(8))));
        }
        let limited = Options { step_limit: 2, threads: 1, ..Options::default() };
        assert_eq!(run("EXIT", 19, limited).1, Err(FaultKind::StepLimit));
    }
}
