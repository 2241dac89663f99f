//! Functions that call each other: the order of allocation.

use super::RaError;
use crate::ir::{FuncId, Function, Program};
use cranelift_entity::SecondaryMap;

/// Functions that a function calls, once for each call.
pub fn callees(f: &Function) -> impl Iterator<Item = FuncId> + '_ {
    f.insts_in_order().filter_map(|(_, i)| f.insts[i].call().map(|c| c.func))
}

/// All functions of a program, each after those that it calls.
pub fn callees_first(program: &Program) -> Result<Vec<FuncId>, RaError> {
    #[derive(Clone, Copy, PartialEq, Default)]
    enum State {
        #[default]
        New,
        Open,
        Done,
    }
    let mut state: SecondaryMap<FuncId, State> = SecondaryMap::new();
    let mut order = Vec::new();
    for root in program.funcs.keys() {
        if state[root] != State::New {
            continue;
        }
        state[root] = State::Open;
        let mut stack = vec![(root, callees(&program.funcs[root]).collect::<Vec<_>>())];
        while let Some((id, rest)) = stack.last_mut() {
            let id = *id;
            match rest.pop() {
                Some(c) if state[c] == State::New => {
                    state[c] = State::Open;
                    stack.push((c, callees(&program.funcs[c]).collect()));
                }
                Some(c) if state[c] == State::Open => {
                    return Err(RaError::Recursion(program.funcs[c].name.clone()));
                }
                Some(_) => {}
                None => {
                    state[id] = State::Done;
                    order.push(id);
                    stack.pop();
                }
            }
        }
    }
    Ok(order)
}
