//! Damaged files: an error, or kernels that end in a fault; never a panic.

use super::rig::*;
use nvir::compiler::OptLevel;
use nvir::image::separate::{self, Unit};
use nvir::random::Random;
use nvir::{Chip, emu};

const TEXT: &str = "program\nkernel k() {\nb0:\n rdsv u32 %r0 sv[tid.x]\n call u32 %r1 f1{%r0}\n add u32 %r2 %r1 %r0\n st u32 # g[%r2+0x0 align 4] %r0\n exit\n}\nsub f(%r0) -> r {\nb0:\n call u32 %r1 f2{%r0}\n add u32 %r2 %r1 %r0\n ret {%r2}\n}\nsub g(%r0) -> r {\nb0:\n add u32 %r1 %r0 0x1\n ret {%r1}\n}\n";

/// Reads, links, writes and runs what is left of a file; tells how far that went.
fn try_it(data: &[u8]) -> usize {
    let Ok(unit) = Unit::read(data) else { return 0 };
    let Ok(linked) = separate::link(&[("a".to_string(), unit)]) else { return 1 };
    linked.write();
    for k in &linked.kernels {
        let code = emu::Program::new(linked.chip, &k.kernel.code);
        let mut launch = emu::Launch::new(&code);
        launch.gprs = k.kernel.gprs;
        launch.local_bytes = k.kernel.stack;
        let mut options = emu::Options { step_limit: 1000, ..Default::default() };
        let _ = emu::run(&launch, &mut emu::Memory::new(), &mut options);
    }
    2
}

#[test]
fn no_damage_makes_it_panic() {
    for chip in Chip::ALL {
        let file = unit(&compiler(chip, OptLevel::O0), TEXT).write();
        assert_eq!(try_it(&file), 2);
        let mut random = Random::new(chip as u64);
        let mut reached = [0; 3];
        for round in 0..3000 {
            let mut data = file.clone();
            match round % 3 {
                // A bit, or a few bytes.
                0 => data[random.below(file.len())] ^= 1 << random.below(8),
                1 => (0..1 + random.below(8)).for_each(|_| {
                    let at = random.below(file.len());
                    data[at] = random.below(256) as u8;
                }),
                _ => data.truncate(random.below(file.len())),
            }
            reached[try_it(&data)] += 1;
        }
        assert!(reached.iter().all(|&n| n > 0), "{reached:?}");
    }
}

/// Words of the table exchanged for others.
#[test]
fn no_table_makes_it_panic() {
    let unit = unit(&compiler(Chip::Gk110, OptLevel::O0), TEXT);
    let file = unit.write();
    let at = file.windows(12).position(|w| w == b"nvir.facts 1").expect("the table");
    let table = unit.table();
    let words: Vec<&str> = table.split(' ').collect();
    let mut random = Random::new(7);
    let mut linked = 0;
    for _ in 0..3000 {
        let mut words = words.clone();
        for _ in 0..1 + random.below(3) {
            let (to, from) = (random.below(words.len()), random.below(words.len()));
            words[to] = match random.below(3) {
                0 => words[from],
                1 => ["0", "1", "999999999", "4294967295", "-1", "yes", "\n", "|", "call"][random.below(9)],
                _ => "",
            };
        }
        let mut text = words.join(" ").into_bytes();
        text.resize(table.len(), b' ');
        let mut data = file.clone();
        data[at..at + text.len()].copy_from_slice(&text);
        linked += usize::from(try_it(&data) == 2);
    }
    assert!(linked > 0);
}
