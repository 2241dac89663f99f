//! Functions that call each other: the order of allocation.

use super::RaError;
use super::prepare::Facts;
use crate::ir::{FuncId, Program};
use cranelift_entity::SecondaryMap;

/// All functions of a program, each after those that it calls.
pub(crate) fn callees_first(
    program: &Program,
    facts: &SecondaryMap<FuncId, Facts>,
) -> Result<Vec<FuncId>, RaError> {
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
        // Each function with how many of its callees are still to be looked at.
        let mut stack = vec![(root, facts[root].callees.len())];
        while let Some((id, left)) = stack.last_mut() {
            let id = *id;
            let Some(next) = left.checked_sub(1) else {
                state[id] = State::Done;
                order.push(id);
                stack.pop();
                continue;
            };
            *left = next;
            let callee = facts[id].callees[next];
            match state[callee] {
                State::New => {
                    state[callee] = State::Open;
                    stack.push((callee, facts[callee].callees.len()));
                }
                State::Open => return Err(RaError::Recursion(program.funcs[callee].name.clone())),
                State::Done => {}
            }
        }
    }
    Ok(order)
}
