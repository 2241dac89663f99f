use super::*;
use crate::listing;

/// The addresses of a kernel's instructions, without scheduling words.
struct Code {
    words: Vec<u64>,
    pcs: Vec<u32>,
}

fn code(text: &str) -> Code {
    let text = format!(".chip gk110\n.kernel k\n{text}\n");
    let words = listing::assemble(&text, Chip::Gk110, "k.sass").expect("it is right").kernels[0].code.clone();
    let pcs = Schedule::read(Chip::Gk110, &words).expect("it is code").code.iter().map(|i| i.pc).collect();
    Code { words, pcs }
}

impl Code {
    /// All instructions once; what asks memory for more than one pass is the last of its run.
    fn whole(&self, passes: &[(usize, u32)]) -> Vec<Run> {
        let (mut runs, mut first) = (Vec::new(), 0);
        for n in 0..self.pcs.len() {
            let more = passes.iter().find(|(at, _)| *at == n);
            if more.is_some() || n + 1 == self.pcs.len() {
                let passes = more.map_or(1, |&(_, passes)| passes);
                runs.push(Run { first: self.pcs[first], last: self.pcs[n], passes });
                first = n + 1;
            }
        }
        runs
    }

    /// Cycles of blocks of warps, so many at a time.
    fn cycles(&self, resident: u32, blocks: &[Vec<Vec<Run>>]) -> u64 {
        let warps = blocks[0].len() as u32;
        let mut m =
            Multiprocessor::new(Chip::Gk110, [(0, &self.words[..])], warps, resident).expect("it is code");
        blocks.iter().for_each(|b| m.block(b.clone()));
        m.finish()
    }
}

/// Counts: 4, a pair, 9, and what an EXIT takes.
const PLAIN: &str = ".sched 0x23 0x04 0x28 0x2f 0x20 0x20 0x20
    MOV R0, R1;
    IADD R2, R3, 0x1;
    IADD R4, R5, 0x1;
    EXIT;";

#[test]
fn a_warp_alone_takes_what_its_counts_say_and_a_pair_issues_at_once() {
    let c = code(PLAIN);
    assert_eq!(c.cycles(1, &[vec![c.whole(&[])]]), 4 + 9 + 16);
}

#[test]
fn warps_hide_each_others_counts_and_blocks_that_do_not_fit_come_later() {
    let c = code(PLAIN);
    let warp = c.whole(&[]);
    let alone = c.cycles(1, &[vec![warp.clone()]]);
    // Four schedulers; the fifth warp takes the free cycles of the first.
    assert!(c.cycles(1, &[vec![warp.clone(); 4]]) <= alone + 1, "the cores take five warps a cycle");
    assert!(c.cycles(1, &[vec![warp.clone(); 8]]) < alone + 4);
    let block = vec![warp; 4];
    let blocks = vec![block; 3];
    assert_eq!(c.cycles(3, &blocks).div_ceil(alone), 2, "they share the schedulers");
    assert!(c.cycles(1, &blocks) >= 3 * alone, "each waits for the one before");
}

#[test]
fn a_unit_of_few_lanes_is_shared_by_all_schedulers() {
    let slow = code(
        &(".sched 0x20 0x20 0x20 0x20 0x20 0x20 0x2f\n".to_string()
            + &"MUFU.RCP R0, R1;\n".repeat(6)
            + "EXIT;"),
    );
    let fast = code(
        &(".sched 0x20 0x20 0x20 0x20 0x20 0x20 0x2f\n".to_string()
            + &"FADD R0, R1, R2;\n".repeat(6)
            + "EXIT;"),
    );
    let four = |c: &Code| c.cycles(1, &[vec![c.whole(&[]); 4]]);
    // 24 warps of MUFU at one a cycle; of FADD six fit into one.
    assert_eq!((four(&slow), four(&fast)), (23 + 1 + 16, 6 + 16));
}

#[test]
fn what_reads_a_loads_result_waits_and_what_does_not_goes_on() {
    let load = |reader: &str| {
        let c =
            code(&format!(".sched 0x20 0x20 0x2f 0x20 0x20 0x20 0x20\n LD.E R0, [R2];\n {reader};\n EXIT;"));
        c.cycles(1, &[vec![c.whole(&[])]])
    };
    assert_eq!(load("IADD R4, R5, 0x1"), 1 + 1 + 16);
    assert_eq!(load("IADD R4, R0, 0x1"), 222 + 1 + 16);
    assert_eq!(load("MOV R0, R7"), 222 + 1 + 16, "it would be overwritten");
}

#[test]
fn passes_keep_the_unit_and_delay_the_result() {
    let c = code(".sched 0x20 0x20 0x2f 0x20 0x20 0x20 0x20\n LDS R0, [R2];\n IADD R4, R0, 0x1;\n EXIT;");
    assert_eq!(c.cycles(1, &[vec![c.whole(&[])]]), 24 + 1 + 16);
    assert_eq!(c.cycles(1, &[vec![c.whole(&[(0, 32)])]]), 24 + 31 + 1 + 16);
}

#[test]
fn texdepbar_waits_for_all_textures_but_the_last_ones() {
    let with = |left: u32| {
        let c = code(&format!(
            ".sched 0x20 0x3f 0x20 0x20 0x2f 0x20 0x20\n TEX.P R0, R4, 0x0, 2D, 0x1;\n TEX.P R1, R4, 0x0, 2D, 0x1;\n \
             TEXDEPBAR {left:#x};\n MOV R6, R0;\n EXIT;"
        ));
        c.cycles(1, &[vec![c.whole(&[])]])
    };
    assert_eq!(with(1), 110 + 2 + 16);
    assert_eq!(with(0), 2 + 110 + 2 + 16, "the unit takes a warp in two cycles");
}

#[test]
fn a_barrier_is_left_when_the_last_warp_has_come_or_ended() {
    let c = code(
        ".sched 0x20 0x20 0x20 0x20 0x2f 0x20 0x20\n LD.E R0, [R2];\n IADD R4, R0, 0x1;\n BAR.SYNC 0x0;\n MOV R6, R7;\n EXIT;",
    );
    let late = c.whole(&[]);
    let early = vec![Run { first: c.pcs[2], last: c.pcs[4], passes: 1 }];
    let ends = vec![Run { first: c.pcs[4], last: c.pcs[4], passes: 1 }];
    let all = c.cycles(1, &[vec![late.clone(), early.clone(), ends]]);
    assert!((222 + 16..222 + 24).contains(&all), "{all}");
    let c2 = code(".sched 0x20 0x20 0x2f 0x20 0x20 0x20 0x20\n BAR.ARV 0x1, 0x40;\n MOV R6, R7;\n EXIT;");
    assert_eq!(c2.cycles(1, &[vec![c2.whole(&[])]]), 1 + 1 + 16, "who arrives only does not wait");
}

#[test]
fn code_that_is_elsewhere_and_chips_without_counts_are_no_panic() {
    let c = code(PLAIN);
    let outside = vec![Run { first: 0x4000, last: 0x4008, passes: 1 }];
    assert_eq!(c.cycles(1, &[vec![outside, Vec::new()]]), 0);
    assert!(Multiprocessor::new(Chip::Gf100, [(0, &c.words[..])], 1, 1).is_err());
    assert!(Multiprocessor::new(Chip::Gk110, [(0, &[0u64; 8][..])], 1, 1).is_err());
}
