//! The steps of a warp or of one of its threads, as the script `steps.js` shows them.

use nvir_emu::Program;
use nvir_emu::engine::steps::{Access, Row, Step, Steps};
use serde_json::{Value, json};

/// What a thread did: registers as numbers.
pub fn of_thread(steps: &Steps, program: &Program, lane: usize, cut: bool) -> Value {
    of(
        steps,
        program,
        cut,
        1,
        &|row| json!(row[lane]),
        &|mask| json!(mask >> lane & 1),
        &|mask| mask >> lane & 1 != 0,
        lane,
    )
}

/// What a warp did: registers as a number where all threads have the same, else as 32; predicates as masks.
pub fn of_warp(steps: &Steps, program: &Program, cut: bool) -> Value {
    of(steps, program, cut, 32, &uniform, &|mask| json!(mask), &|mask| mask != 0, 0)
}

fn uniform(row: &Row) -> Value {
    if row.iter().all(|v| *v == row[0]) { json!(row[0]) } else { json!(row) }
}

#[expect(clippy::too_many_arguments, reason = "how a thread and a warp differ")]
fn of(
    all: &Steps,
    program: &Program,
    cut: bool,
    lanes: u32,
    register: &dyn Fn(&Row) -> Value,
    predicate: &dyn Fn(u32) -> Value,
    runs: &dyn Fn(u32) -> bool,
    lane: usize,
) -> Value {
    let access = |a: &Access, mask: u32| {
        let address = |lane: usize| format!("{:#x}", a.addresses[lane]);
        let running = || (0..32).filter(|l| mask >> l & 1 != 0).map(|l| a.addresses[l]);
        let same = running().all(|v| Some(v) == running().next());
        let addresses = match lanes {
            1 => json!(address(lane)),
            _ if same => json!(running().next().map(|v| format!("{v:#x}"))),
            _ => json!((0..32).map(|l| (mask >> l & 1 != 0).then(|| address(l))).collect::<Vec<_>>()),
        };
        json!([a.space, a.writes, a.bytes, addresses])
    };
    let step = |s: &Step| {
        // Of an instruction that the thread does not execute there is nothing to tell.
        let runs = runs(s.mask);
        let registers = s.registers.iter().filter(|_| runs).map(|(r, row)| json!([r, register(row)]));
        let predicates = s.predicates.iter().filter(|_| runs).map(|(p, mask)| json!([p, predicate(*mask)]));
        json!([
            s.pc,
            format!("{:08x}", s.mask),
            registers.collect::<Vec<_>>(),
            predicates.collect::<Vec<_>>(),
            s.depth,
            s.access.as_ref().filter(|_| runs).map(|a| access(a, s.mask)),
        ])
    };
    json!({
        "lanes": lanes,
        "start": {
            "registers": all.registers.iter().map(register).collect::<Vec<_>>(),
            "predicates": all.predicates.iter().map(|p| predicate(*p)).collect::<Vec<_>>(),
        },
        "program": listing(program),
        "steps": all.steps.iter().map(step).collect::<Vec<_>>(),
        "cut": cut,
    })
}

/// Addresses and texts of a program's instructions.
pub fn listing(program: &Program) -> Vec<Value> {
    let words = program.code().flat_map(|(at, words)| (at..).step_by(8).zip(words));
    let there = words.filter(|(pc, _)| program.instruction(*pc).is_some());
    there.map(|(pc, _)| json!([pc, program.text(pc)])).collect()
}
