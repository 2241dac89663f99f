//! A stage of a draw, bound, and its launches.

use super::attributes::Slots;
use super::fragments::Inputs;
use super::results::{Layout, Results};
use super::{Input, State};
use crate::block::{Block, Env, Progress, Shape, Stop, Trace};
use crate::bound;
use crate::fault::{Fault, FaultKind, Note, Place};
use crate::grid::{Tally, caught, cores, on_threads, stats};
use crate::lanes::LANES;
use crate::memory::Memory;
use crate::race::Watched;
use crate::stage::context::{Context, Parts};
use crate::{Launch, Options, Stats};
use nvir_base::caught::catching;
use nvir_isa::header::Header;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Warps that a thread takes at least.
const CHUNK: u64 = 16;

/// A stage of a draw: code with all that it reads but its input. Constants are those at the time when it was made; textures and
/// samplers are decoded when they are first needed, once for all launches.
pub struct Bound<'a> {
    base: bound::Bound<'a>,
    header: &'a Header,
    state: State<'a>,
    outputs: Arc<Slots>,
    patch_outputs: Arc<Slots>,
    inputs: Inputs,
    layout: Layout,
    /// Whether warps may change memory, so that their order shows.
    in_order: bool,
}

impl<'a> Bound<'a> {
    /// Of `launch`, grid, block and shared memory are not looked at.
    pub fn new(
        launch: &'a Launch<'a>,
        header: &'a Header,
        memory: &'a Memory,
        state: State<'a>,
    ) -> Bound<'a> {
        let base = bound::Bound::new(launch, memory);
        Bound {
            in_order: base.insts.iter().any(|i| i.writes_memory()),
            base,
            header,
            state,
            outputs: Arc::new(Slots::outputs(header)),
            patch_outputs: Arc::new(Slots::patch_outputs(header)),
            inputs: Inputs::new(header),
            layout: Layout::new(header, launch.program.chip()),
        }
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
            chip: self.base.launch.program.chip(),
            header: self.header,
            state: self.state,
            outputs: &self.outputs,
            patch_outputs: &self.patch_outputs,
            inputs: &self.inputs,
            layout: self.layout,
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
        let shape = Shape { grid: [context.warps(), 1, 1], block: [LANES as u32, 1, 1], shared_bytes: 0 };
        let env = Env::new(&self.base, shape, options, None, Some(context));
        let cores = cores(options);
        let alone = self.in_order
            || cores < 2
            || warps < 2 * CHUNK
            || options.trace.is_some()
            || options.checks.global_race
            || options.faults > 1;
        let shared = if alone { None } else { parallel(&env, context, warps, results, options, cores) };
        let tally = match shared {
            Some(tally) => tally,
            None => {
                results.begin(context);
                let limit = options.step_limit;
                let progress = options.progress;
                let tell = move |done| {
                    if let Some(tell) = progress {
                        tell(done, warps);
                    }
                };
                range(&env, context, 0..warps, results, limit, &mut options.trace, &tell)?
            }
        };
        Ok(stats(self.base.launch, tally))
    }
}

/// Warps in order. Their results are added to those that are there.
fn range(
    env: &Env<'_>,
    context: &Context<'_>,
    warps: Range<u64>,
    results: &mut Results,
    limit: u64,
    trace: &mut Trace<'_>,
    tell: &dyn Fn(u64),
) -> Result<Tally, Box<Fault>> {
    let mut tally = Tally::default();
    let mut global = env.checks.global_race.then(|| Box::new(Watched::new()));
    let block = results.block.take().and_then(|b| b.reuse(env));
    let mut block = block.unwrap_or_else(|| Box::new(Block::new(env, warps.start)));
    for warp in warps {
        block.restart(env, warp);
        block.exchange_global(&mut global);
        let ran = loop {
            match block.run(env, u64::MAX, limit.saturating_sub(tally.steps), trace) {
                Ok(Progress::Running) => {}
                Ok(Progress::Done) => break Ok(()),
                Err(stop) => break Err(stop),
            }
        };
        block.exchange_global(&mut global);
        tally.count(env, &mut block);
        if let Some(io) = &mut block.st.stage {
            results.take(context, io);
        }
        match ran {
            Ok(()) => tell(warp + 1),
            Err(Stop::Fault(what)) if env.faults > 1 => {
                tally.end(warp, *what);
                break;
            }
            Err(Stop::Fault(fault)) => return Err(fault),
            Err(Stop::Conflict) => break,
        }
    }
    tally.profile(&mut block);
    results.block = Some(block);
    Ok(tally)
}

/// Warps on several threads; `None` if one faults, or all take more steps than they may: in order it shows which.
fn parallel(
    env: &Env<'_>,
    context: &Context<'_>,
    warps: u64,
    results: &mut Results,
    options: &Options<'_>,
    cores: usize,
) -> Option<Tally> {
    let each = warps.div_ceil(4 * cores as u64).max(CHUNK);
    let parts = warps.div_ceil(each) as usize;
    let mut all = std::mem::take(&mut results.parts);
    all.resize_with(all.len().max(parts), Results::default);
    let limit = options.step_limit;
    let one = |(n, part): (usize, &mut Results)| {
        let first = n as u64 * each;
        part.begin(context);
        // What panics here does so again in order, where it is reported.
        let run = || range(env, context, first..warps.min(first + each), part, limit, &mut None, &|_| {});
        catching(std::panic::AssertUnwindSafe(run)).ok()?.ok()
    };
    let tallies: Option<Vec<Option<Tally>>> =
        on_threads(options, cores, || all[..parts].par_iter_mut().enumerate().map(one).collect());
    let tallies: Option<Vec<Tally>> = tallies?.into_iter().collect();
    let tally = tallies.map(|t| t.into_iter().fold(Tally::default(), Tally::merge));
    let tally = tally.filter(|t| t.steps <= limit);
    if tally.is_some() {
        results.begin(context);
        all[..parts].iter().for_each(|part| results.append(part));
    }
    results.parts = all;
    tally
}

impl Tally {
    /// A fault that the run went on after, or that ended it.
    fn end(&mut self, warp: u64, what: Fault) {
        let key = (what.place.pc, what.other.as_ref().map(|o| o.pc), Some(what.kind));
        self.note(key, warp, Note { what, times: 1 });
    }
}
