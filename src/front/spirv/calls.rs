//! Calls, before they are taken apart: nothing recurses, and what becomes of all calls of an entry point is of bounded size.

use super::module::Module;
use crate::diag::Diagnostic;
use spirv::Op;
use std::collections::BTreeSet;

/// Instructions that a program may always have when its calls have been taken apart; more, if the module has many itself.
const ALWAYS: u64 = 1 << 16;
/// How often larger than its module such a program may be.
const GROWTH: u64 = 16;
/// Calls within calls.
const DEEPEST: u32 = 1 << 10;

type R<T> = Result<T, Box<Diagnostic>>;

/// The function that a call names, which has a body.
pub(super) fn callee(m: &Module, call: usize) -> R<usize> {
    let id = m.code.operands(call)[0];
    let Some(&callee) = m.function_of.get(&id) else {
        return Err(Box::new(m.error(call, format!("{} is not a function", m.name(id)))));
    };
    if m.functions[callee].blocks.is_empty() {
        let what = format!("the function {} is not in the module", m.name(id));
        return Err(Box::new(m.unsupported(call, what)));
    }
    Ok(callee)
}

/// A function, and those that it calls, directly or not.
pub(super) fn reached(m: &Module, entry: usize) -> BTreeSet<usize> {
    let mut found = BTreeSet::from([entry]);
    let mut open = vec![entry];
    while let Some(f) = open.pop() {
        for n in m.functions[f].blocks.iter().flat_map(|b| b.insts.clone()) {
            if m.code.insts[n].op == Op::FunctionCall
                && let Some(&callee) = m.function_of.get(&m.code.operands(n)[0])
                && found.insert(callee)
            {
                open.push(callee);
            }
        }
    }
    found
}

/// What is known of a function.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    /// The walk is in it.
    Open,
    /// Its instructions with those of all that it calls, and how deep calls nest in it.
    Done {
        size: u64,
        depth: u32,
    },
}

/// A function that the walk is in, its calls, and what was added up of them.
struct Visit {
    function: usize,
    calls: Vec<usize>,
    next: usize,
    size: u64,
    depth: u32,
}

/// Checks the calls below a function.
pub(super) fn check(m: &Module, entry: usize) -> R<()> {
    let limit = ALWAYS.max(GROWTH * m.code.insts.len() as u64);
    let mut states = vec![State::New; m.functions.len()];
    let mut open = vec![visit(m, entry, &mut states)];
    while let Some(top) = open.last_mut() {
        let Some(&call) = top.calls.get(top.next) else {
            let (function, size, depth) = (top.function, top.size, top.depth);
            if size > limit {
                let what =
                    format!("the program has more than {limit} instructions when calls are taken apart");
                return Err(Box::new(m.unsupported(m.functions[function].at, what)));
            }
            states[function] = State::Done { size, depth };
            open.pop();
            continue;
        };
        let callee = callee(m, call)?;
        match states[callee] {
            State::New => open.push(visit(m, callee, &mut states)),
            State::Open => {
                let what = format!("{} calls itself, which is not supported", m.name(m.functions[callee].id));
                return Err(Box::new(m.unsupported(call, what)));
            }
            State::Done { size, depth } => {
                top.next += 1;
                top.size = top.size.saturating_add(size);
                top.depth = top.depth.max(depth + 1);
                if top.depth > DEEPEST {
                    return Err(Box::new(
                        m.unsupported(call, format!("calls nest more than {DEEPEST} deep")),
                    ));
                }
            }
        }
    }
    Ok(())
}

fn visit(m: &Module, function: usize, states: &mut [State]) -> Visit {
    states[function] = State::Open;
    let insts = || m.functions[function].blocks.iter().flat_map(|b| b.insts.clone());
    let calls = insts().filter(|&n| m.code.insts[n].op == Op::FunctionCall).collect();
    Visit { function, calls, next: 0, size: insts().count() as u64, depth: 0 }
}
