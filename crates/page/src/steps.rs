//! The steps of a warp or of one of its threads, as the script `steps.js` shows them.

use nvir_emu::Program;
use nvir_emu::engine::steps::{Access, Row, Step, Steps};
use serde_json::{Value, json};

/// What a thread did: registers as numbers, predicates as 0 and 1.
pub fn of_thread(steps: &Steps, program: &Program, lane: usize, cut: bool) -> Value {
    of(steps, program, Some(lane), cut)
}

/// What a warp did: registers as a number where all threads have the same, else as 32; predicates as masks.
pub fn of_warp(steps: &Steps, program: &Program, cut: bool) -> Value {
    of(steps, program, None, cut)
}

/// Of one lane, or of all.
fn of(all: &Steps, program: &Program, lane: Option<usize>, cut: bool) -> Value {
    let register = |row: &Row| match lane {
        Some(lane) => json!(row[lane]),
        None if row.iter().all(|v| *v == row[0]) => json!(row[0]),
        None => json!(row),
    };
    let mine = |mask: u32| lane.map_or(mask, |lane| mask >> lane & 1);
    let access = |a: &Access, mask: u32| {
        let runs = |lane: &usize| mask >> lane & 1 != 0;
        let address = |lane: usize| format!("{:#x}", a.addresses[lane]);
        let first = lane.or_else(|| (0..32).find(runs)).unwrap_or_default();
        let same = (0..32).filter(runs).all(|lane| a.addresses[lane] == a.addresses[first]);
        let addresses = match lane.is_some() || same {
            true => json!(address(first)),
            false => json!((0..32).map(|lane| runs(&lane).then(|| address(lane))).collect::<Vec<_>>()),
        };
        json!([a.space, a.writes, a.bytes, addresses])
    };
    let step = |s: &Step| {
        // Of an instruction that the thread does not execute there is nothing to tell.
        let runs = mine(s.mask) != 0;
        let registers = s.registers.iter().filter(|_| runs).map(|(r, row)| json!([r, register(row)]));
        let predicates = s.predicates.iter().filter(|_| runs).map(|(p, mask)| json!([p, mine(*mask)]));
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
        "lanes": if lane.is_some() { 1 } else { 32 },
        "start": {
            "registers": all.registers.iter().map(register).collect::<Vec<_>>(),
            "predicates": all.predicates.iter().map(|p| mine(*p)).collect::<Vec<_>>(),
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
