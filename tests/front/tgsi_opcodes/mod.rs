//! Every opcode of the table, one at a time: on every chip, unoptimised and optimised, it gives what the host computes
//! and what the reference interpreter gives, with every way of writing its operands; or else a diagnostic names it.

mod arithmetic;
// Shared with the random programs, which use more of it.
#[allow(dead_code)]
#[path = "../../../crates/fuzz/src/tgsi/case.rs"]
mod case;
mod effects;
mod pictures;

use nvir::front::tgsi::ast::{Opcode, Shape};
use nvir::{Chip, Compiler, Options, Source};

/// What stops the program on a chip before it runs, as a report.
fn refusal(text: &str, chip: Chip) -> Option<String> {
    let compiler = Compiler::new(chip).with_options(Options { private_bytes: 64, ..Options::default() });
    compiler.front(&Source::tgsi(text).with_name("test.tgsi")).err().map(|e| e.to_string())
}

#[test]
fn opcodes_of_graphics_are_refused_by_name_and_place() {
    for &op in Opcode::ALL.iter().filter(|op| op.info().shape == Shape::Graphics) {
        let info = op.info();
        let dst = info.dsts.iter().map(|_| "TEMP[0]".to_owned());
        let operands: Vec<String> = dst.chain(info.srcs.iter().map(|_| "TEMP[1].xxxx".to_owned())).collect();
        let text = format!("COMP\nDCL TEMP[0..1]\n  0: {} {}\n  1: END\n", op.name(), operands.join(", "));
        for chip in Chip::ALL {
            let report = refusal(&text, chip).unwrap_or_else(|| panic!("{} is accepted", op.name()));
            assert!(
                report.contains(&format!("{} ", op.name())) && report.contains("test.tgsi:3:"),
                "{report}"
            );
        }
    }
}

#[test]
fn every_opcode_is_tested() {
    let tested = arithmetic::opcodes().chain(effects::opcodes());
    let graphics = Opcode::ALL.iter().copied().filter(|op| op.info().shape == Shape::Graphics);
    let mut seen: Vec<Opcode> = tested.chain(graphics).collect();
    let missing: Vec<&str> = Opcode::ALL.iter().filter(|op| !seen.contains(op)).map(|op| op.name()).collect();
    assert!(missing.is_empty(), "not tested: {missing:?}");
    let all = seen.len();
    seen.sort_by_key(|op| *op as u32);
    seen.dedup();
    assert_eq!(seen.len(), all, "an opcode is tested twice");
}
