//! Units become kernels: symbols, facts of the whole program, frames, code.
//!
//! A kernel's section has the kernel, then each function that it calls, directly or through others,
//! in the order of first calls, at multiples of 64 bytes. A function's frame lies above those of
//! what it calls, all above what units address themselves; what several kernels call is there for
//! each.

use super::facts::{self, head, row};
use super::file::{closed_head, facts_section};
use super::{Facts, Function, Launch, LinkError, MOST_FUNCTIONS, Reloc, Target, Unit};
use crate::chip::Chip;
use crate::image::crs;
use crate::isa::{self, MInst, Op, Operand};
use nvir_asm::cubin::{self, Kernel};
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt::Write;

/// What linking gives.
#[derive(Clone, Debug)]
pub struct Linked {
    /// What it runs on.
    pub chip: Chip,
    /// The kernels of all units, in their order.
    pub kernels: Vec<LinkedKernel>,
}

/// A kernel with all that it calls.
#[derive(Clone, Debug)]
pub struct LinkedKernel {
    /// What runs; [`Shader::assembled`](crate::Shader::assembled) makes a shader of it.
    pub kernel: Kernel,
    /// What is known of the whole.
    pub facts: Facts,
    /// What it asks of its launch.
    pub launch: Launch,
    /// The functions in its section, in their order, with their own facts.
    pub functions: Vec<(String, Facts)>,
}

impl Linked {
    /// The file: a cubin like those of programs that were compiled whole, with a table of facts of
    /// the closed world.
    pub fn write(&self) -> Vec<u8> {
        let kernels: Vec<Kernel> = self.kernels.iter().map(|k| k.kernel.clone()).collect();
        cubin::write::write_with(self.chip, &kernels, vec![facts_section(self.table())])
    }

    /// The table of facts as text: a line a kernel with all that it calls, then one for each of
    /// these alone.
    pub fn table(&self) -> String {
        let mut text = closed_head();
        for k in &self.kernels {
            let _ = writeln!(text, "{} | {}", head(&k.kernel.name, Some(&k.launch)), row(&k.facts));
            for (name, facts) in &k.functions {
                let _ = writeln!(text, "with {name} | {}", row(facts));
            }
        }
        text
    }
}

impl Unit {
    /// The table of facts as text, as the file has it.
    pub fn table(&self) -> String {
        facts::print(&self.functions)
    }
}

/// A function and where it comes from.
struct Symbol<'a> {
    function: &'a Function,
    file: &'a str,
    /// What it calls, in the order of its calls.
    callees: Vec<usize>,
}

/// Links units, each with the name by which errors call it.
///
/// # Errors
/// They do not go together; which, and why.
pub fn link(units: &[(String, Unit)]) -> Result<Linked, LinkError> {
    let Some((first, Unit { chip, .. })) = units.first() else { return Err(LinkError::NoKernel) };
    let chip = *chip;
    if let Some((file, unit)) = units.iter().find(|(_, u)| u.chip != chip) {
        return Err(LinkError::Chips {
            file: file.clone(),
            chip: unit.chip,
            first: first.clone(),
            first_chip: chip,
        });
    }
    let symbols = symbols(units)?;
    let order = callees_first(&symbols)?;
    let whole = whole_facts(&symbols, &order)?;
    let roots: Vec<usize> = (0..symbols.len()).filter(|&n| symbols[n].function.kernel.is_some()).collect();
    if roots.is_empty() {
        return Err(LinkError::NoKernel);
    }
    if roots.len() > MOST_FUNCTIONS {
        return Err(LinkError::Kernels(roots.len()));
    }
    let kernels = roots.into_iter().map(|root| kernel(chip, &symbols, &whole, &order, root));
    Ok(Linked { chip, kernels: kernels.collect::<Result<_, _>>()? })
}

/// All functions, each with what it calls.
fn symbols(units: &[(String, Unit)]) -> Result<Vec<Symbol<'_>>, LinkError> {
    let mut all: Vec<Symbol<'_>> = Vec::new();
    let mut by_name: FxHashMap<&str, usize> = FxHashMap::default();
    for (file, unit) in units {
        for function in &unit.functions {
            if let Some(other) = by_name.insert(&function.name, all.len()) {
                return Err(LinkError::Duplicate {
                    name: function.name.clone(),
                    first: all[other].file.to_string(),
                    second: file.clone(),
                });
            }
            all.push(Symbol { function, file, callees: Vec::new() });
        }
    }
    for n in 0..all.len() {
        let Symbol { function, file, .. } = all[n];
        let caller = || function.name.clone();
        for call in &function.calls {
            let name = call.name.clone();
            let Some(&callee) = by_name.get(call.name.as_str()) else {
                return Err(LinkError::Undefined { name, caller: caller(), file: file.to_string() });
            };
            let Function { kernel, facts, .. } = all[callee].function;
            if kernel.is_some() {
                return Err(LinkError::CallsKernel { name, caller: caller() });
            }
            if (call.params, call.results) != (facts.params, facts.results) {
                return Err(LinkError::Type {
                    name,
                    caller: caller(),
                    file: file.to_string(),
                    given: call.params,
                    wanted: call.results,
                    params: facts.params,
                    results: facts.results,
                });
            }
            all[n].callees.push(callee);
        }
    }
    Ok(all)
}

/// All functions, each after those that it calls.
fn callees_first(symbols: &[Symbol<'_>]) -> Result<Vec<usize>, LinkError> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let mut state = vec![State::New; symbols.len()];
    let mut order = Vec::with_capacity(symbols.len());
    for root in 0..symbols.len() {
        if state[root] != State::New {
            continue;
        }
        state[root] = State::Open;
        // Each function with how many of its callees have been looked at.
        let mut stack = vec![(root, 0)];
        while let Some((n, seen)) = stack.last_mut() {
            let n = *n;
            let Some(&callee) = symbols[n].callees.get(*seen) else {
                state[n] = State::Done;
                order.push(n);
                stack.pop();
                continue;
            };
            *seen += 1;
            match state[callee] {
                State::New => {
                    state[callee] = State::Open;
                    stack.push((callee, 0));
                }
                State::Open => {
                    let from = stack.iter().position(|s| s.0 == callee).unwrap_or(0);
                    let circle = stack[from..].iter().map(|s| s.0).chain([callee]);
                    return Err(LinkError::Recursion(
                        circle.map(|n| symbols[n].function.name.clone()).collect(),
                    ));
                }
                State::Done => {}
            }
        }
    }
    Ok(order)
}

/// Facts of each function with all that it calls.
fn whole_facts(symbols: &[Symbol<'_>], order: &[usize]) -> Result<Vec<Facts>, LinkError> {
    let mut whole: Vec<Facts> = symbols.iter().map(|s| s.function.facts).collect();
    for &n in order {
        let Symbol { function, callees, .. } = &symbols[n];
        let mut all = function.facts;
        for (call, &callee) in function.calls.iter().zip(callees) {
            let theirs = &whole[callee];
            if call.apart && theirs.barriers > 0 {
                return Err(LinkError::Barrier { caller: function.name.clone(), callee: call.name.clone() });
            }
            all = with(all, theirs, call.stack);
        }
        whole[n] = all;
    }
    Ok(whole)
}

/// Facts of a function that calls another where so many entries are on the stack.
fn with(caller: Facts, callee: &Facts, stack: u32) -> Facts {
    Facts {
        params: caller.params,
        results: caller.results,
        gprs: caller.gprs.max(callee.gprs),
        frame: caller.frame,
        memory: caller.memory.max(callee.memory),
        shared: caller.shared.max(callee.shared),
        barriers: caller.barriers.max(callee.barriers),
        stack: caller.stack.max(stack.saturating_add(1).saturating_add(callee.stack)),
        sysvals: caller.sysvals | callee.sysvals,
        diverges: caller.diverges || callee.diverges,
        returns: caller.returns.calling(callee.returns),
        effects: caller.effects.max(callee.effects),
    }
}

/// The functions of a kernel, in the order of first calls, the kernel first.
fn reached(symbols: &[Symbol<'_>], root: usize) -> Vec<usize> {
    let mut seen = FxHashSet::from_iter([root]);
    let mut order = vec![root];
    let mut k = 0;
    while k < order.len() {
        order.extend(symbols[order[k]].callees.iter().filter(|&&callee| seen.insert(callee)));
        k += 1;
    }
    order
}

/// One kernel with all that it calls.
fn kernel(
    chip: Chip,
    symbols: &[Symbol<'_>],
    whole: &[Facts],
    callees_first: &[usize],
    root: usize,
) -> Result<LinkedKernel, LinkError> {
    let function = symbols[root].function;
    let name = &function.name;
    let launch = function.kernel.clone().unwrap_or_default();
    let order = reached(symbols, root);
    for &n in &order {
        let Function { name: callee, facts, .. } = symbols[n].function;
        if facts.gprs > launch.limit {
            return Err(LinkError::Registers {
                kernel: name.clone(),
                function: callee.clone(),
                gprs: facts.gprs,
                limit: launch.limit,
            });
        }
    }
    let mut facts = whole[root];
    let limit = |limit| LinkError::Limit { kernel: name.clone(), limit };
    chip.check_shared(facts.shared.into()).map_err(limit)?;
    chip.check_local(facts.memory).map_err(limit)?;
    // Frames: where each begins and ends.
    let base = facts.memory.next_multiple_of(16);
    let mut frames: FxHashMap<usize, (u32, u32)> = FxHashMap::default();
    let mut most = base;
    let here: FxHashSet<usize> = order.iter().copied().collect();
    for &n in callees_first.iter().filter(|n| here.contains(n)) {
        let ends = symbols[n].callees.iter().filter_map(|c| frames.get(c)).map(|f| f.1);
        let start = ends.fold(base, u32::max);
        let end = start.saturating_add(symbols[n].function.facts.frame.next_multiple_of(16));
        frames.insert(n, (start, end));
        most = most.max(end);
    }
    let local = if most > base { most } else { facts.memory };
    chip.check_local(local).map_err(limit)?;
    facts.frame = most - base;
    let code = code(chip, symbols, &order, &frames)?;
    let block_size = launch.block_size.filter(|size| !size.contains(&0));
    Ok(LinkedKernel {
        kernel: Kernel {
            name: name.clone(),
            code,
            gprs: facts.gprs.max(Chip::MIN_LAUNCH_GPRS),
            barriers: facts.barriers,
            shared: facts.shared,
            stack: local,
            call_stack: crs::bytes(facts.stack),
            block_size,
            required_block: block_size,
            param_bytes: launch.input_bytes,
            ..Kernel::default()
        },
        facts,
        launch,
        functions: order[1..]
            .iter()
            .map(|&n| (symbols[n].function.name.clone(), symbols[n].function.facts))
            .collect(),
    })
}

/// Words of 64 bytes: what functions begin at a multiple of.
const GROUP: usize = 8;

/// The code of functions one behind the other, with everything filled in.
fn code(
    chip: Chip,
    symbols: &[Symbol<'_>],
    order: &[usize],
    frames: &FxHashMap<usize, (u32, u32)>,
) -> Result<Vec<u64>, LinkError> {
    let nop = isa::encode(chip, &MInst::new(Op::Nop), 0).unwrap_or(0);
    let mut words: Vec<u64> = Vec::new();
    let mut starts: FxHashMap<usize, u32> = FxHashMap::default();
    for &n in order {
        starts.insert(n, words.len() as u32 * 8);
        words.extend(&symbols[n].function.code);
        words.resize(words.len().next_multiple_of(GROUP), nop);
    }
    for &n in order {
        let Symbol { function, callees, .. } = &symbols[n];
        let start = starts.get(&n).copied().unwrap_or(0);
        let frame = frames.get(&n).map_or(0, |f| f.0);
        for r in &function.relocs {
            let place = |why| LinkError::Place { function: function.name.clone(), pc: r.pc, why };
            let pc = start + r.pc;
            let slot = words.get_mut(pc as usize / 8).ok_or_else(|| place("this is outside its code"))?;
            let new = match r.to {
                Target::Call(k) => {
                    let callee = callees.get(k as usize).and_then(|c| starts.get(c));
                    let callee = *callee.ok_or_else(|| place("nothing is called here"))?;
                    called(chip, *slot, pc, callee)
                }
                Target::Frame(at) => framed(chip, *slot, pc, frame.saturating_add(at)),
            };
            *slot = new.map_err(place)?;
        }
    }
    Ok(words)
}

/// A call of another address.
fn called(chip: Chip, word: u64, pc: u32, callee: u32) -> Result<u64, &'static str> {
    let mut m = isa::decode(chip, word, pc).filter(|m| m.op == Op::Cal).ok_or("this is not a call")?;
    let operand = m.operands.first_mut().ok_or("this is not a call")?;
    *operand = Operand::Target(callee);
    isa::encode(chip, &m, pc).map_err(|_| "the callee is too far away")
}

/// An access of local memory at another address.
fn framed(chip: Chip, word: u64, pc: u32, at: u32) -> Result<u64, &'static str> {
    let no_access = "this is not an access to local memory";
    let mut m = isa::decode(chip, word, pc).filter(|m| matches!(m.op, Op::Ldl | Op::Stl)).ok_or(no_access)?;
    let place = m.operands.iter_mut().find_map(|o| match o {
        Operand::Mem { offset, .. } => Some(offset),
        _ => None,
    });
    *place.ok_or(no_access)? = at as i32;
    isa::encode(chip, &m, pc).map_err(|_| "the frame is too far away")
}

/// The places of a function's code that its frame's address goes to: accesses of local memory at
/// fixed addresses among the `bytes` from `base` on.
pub(crate) fn frame_relocs(chip: Chip, words: &[u64], base: u32, bytes: u32) -> Vec<Reloc> {
    let access = |(pc, f)| {
        let m = isa::fetch::decode(chip, f, pc).filter(|m| matches!(m.op, Op::Ldl | Op::Stl))?;
        m.operands.iter().find_map(|o| match *o {
            Operand::Mem { base: isa::Reg::Z, offset } => {
                let at = u32::try_from(offset).ok()?.checked_sub(base)?;
                (at < bytes).then_some(Reloc { pc, to: Target::Frame(at) })
            }
            _ => None,
        })
    };
    // The first word of 64 bytes is no instruction where there are scheduling words.
    let is_inst = |pc: u32| !(chip.has_sched_words() && pc.is_multiple_of(8 * GROUP as u32));
    isa::fetch::sweep(chip, words).filter(|&(pc, _)| is_inst(pc)).filter_map(access).collect()
}
