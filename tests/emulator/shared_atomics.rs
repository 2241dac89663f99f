//! Atomics on shared memory: what lanes of one warp and of several warps make of a word that all of them want, however the
//! lanes came there, and how many instructions a try takes.

use crate::common::numbered;
use nvir::compiler::{Compiler, OptLevel, Options};
use nvir::ir::parse;
use nvir::{Chip, emu, isa};

const THREADS: u32 = 96;

/// Words that threads of one block leave at the address that is the only parameter, and the machine code in lines.
fn run(compiler: &Compiler, body: &str, words: usize) -> (Vec<u32>, Vec<String>) {
    let chip = compiler.chip();
    let text = format!("program\nkernel k() {{\n{}\n}}\n", numbered(body));
    let mut program = parse::program(&text).unwrap_or_else(|d| panic!("{d:?}\n{text}"));
    program.shared_bytes = 64;
    let shader = compiler.compile(program).unwrap_or_else(|d| panic!("{chip}: {d}\n{text}"));
    let is_word = |n: usize| !chip.has_sched_words() || !n.is_multiple_of(8);
    let lines: Vec<String> = (0..shader.code.len())
        .filter(|&n| is_word(n))
        .filter_map(|n| Some(isa::text::print(chip, &isa::decode(chip, shader.code[n], 8 * n as u32)?)))
        .collect();
    let mut memory = emu::Memory::new();
    let out = memory.alloc(4 * words as u64, 4).expect("small");
    let code = emu::Program::new(chip, &shader.code);
    let mut launch = emu::Launch::new(&code);
    launch.block = [THREADS, 1, 1];
    launch.gprs = shader.gprs;
    launch.local_bytes = shader.local_bytes;
    launch.shared_bytes = shader.shared_bytes;
    launch.set_const_u32(0, 0, out as u32);
    let mut options = emu::Options { step_limit: 1 << 22, ..Default::default() };
    if let Err(fault) = emu::run(&launch, &mut memory, &mut options) {
        panic!("{chip}: {fault:?}\n{}", lines.join("\n"));
    }
    let bytes = memory.read(out, 4 * words as u64).expect("mapped");
    (bytes.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect(), lines)
}

/// Sixteen words of shared memory are `initial`; then the body runs, which begins in `b1` and ends in `b9`; then thread 0
/// stores the first four of them behind `THREADS` words at `%out`.
fn kernel(initial: [u32; 4], body: &str) -> String {
    let [a, b, c, d] = initial;
    format!(
        "b0:
    ld u32 %out c0[0x0 align 4]
    rdsv u32 %tid sv[tid.x]
    set.eq pred u32 %pfirst %tid 0x0
    @%pfirst st u32 # s[0x0 align 4] {a:#x}
    @%pfirst st u32 # s[0x4 align 4] {b:#x}
    @%pfirst st u32 # s[0x8 align 4] {c:#x}
    @%pfirst st u32 # s[0xc align 4] {d:#x}
    bar.sync u32 #
    jump b1
b1:
{body}
b9:
    bar.sync u32 #
    set.eq pred u32 %plast %tid 0x0
    ld u32 %w s[0x0 align 4]
    ld u32 %x s[0x4 align 4]
    ld u32 %y s[0x8 align 4]
    ld u32 %z s[0xc align 4]
    @%plast st u32 # g[%out+0x180 align 4] %w
    @%plast st u32 # g[%out+0x184 align 4] %x
    @%plast st u32 # g[%out+0x188 align 4] %y
    @%plast st u32 # g[%out+0x18c align 4] %z
    exit"
    )
}

/// The same on all chips, with and without optimisation, in few registers.
fn gives(initial: [u32; 4], body: &str, check: impl Fn(&[u32])) {
    for chip in Chip::ALL {
        for (level, max_gprs) in [(OptLevel::O0, None), (OptLevel::O3, None), (OptLevel::O3, Some(16))] {
            let compiler = Compiler::new(chip).with_options(Options { max_gprs, ..Options::at(level) });
            let (words, _) = run(&compiler, &kernel(initial, body), THREADS as usize + 4);
            println!("{chip} -O{level} {max_gprs:?}: {words:x?}");
            check(&words);
        }
    }
}

fn end(words: &[u32]) -> [u32; 4] {
    std::array::from_fn(|n| words[THREADS as usize + n])
}

#[test]
fn each_lane_gets_a_count_of_its_own() {
    // Who gets n writes 7 n to word n.
    let body = "
    atom.add u32 %old s[0x4 align 4] 0x1
    shladd u32 %at %old 0x2 %out
    mul u32 %v %old 0x7
    st u32 # g[%at+0x0 align 4] %v
    jump b9";
    gives([1, 0, 3, 4], body, |words| {
        assert!((0..THREADS).all(|n| words[n as usize] == 7 * n), "{words:x?}");
        assert_eq!(end(words), [1, THREADS, 3, 4]);
    });
}

#[test]
fn operations_leave_what_all_lanes_together_make_of_a_word() {
    let sum: u32 = (0..THREADS).sum();
    for (op, old, want) in [
        ("add u32", 5, 5 + sum),
        ("sub u32", 5, 5u32.wrapping_sub(sum)),
        ("min s32", 7, 0),
        ("min u32", u32::MAX, 0),
        ("max s32", u32::MAX, THREADS - 1),
        ("max u32", 3, THREADS - 1),
        ("and u32", u32::MAX, 0),
        ("or u32", 0x100, 0x17f),
        ("xor u32", 0x8000_0000, 0x8000_0000),
    ] {
        let body = format!("atom.{op} %old s[0x8 align 4] %tid\n jump b9");
        gives([0, 1, old, 3], &body, |words| assert_eq!(end(words), [0, 1, want, 3], "{op}"));
        let body = format!("atom.{op} # s[0x8 align 4] %tid\n jump b9");
        gives([0, 1, old, 3], &body, |words| assert_eq!(end(words), [0, 1, want, 3], "{op}, unread"));
    }
    // Counters that wrap.
    let body = "atom.inc u32 %old s[0x0 align 4] 0x31\n atom.dec u32 %o s[0x8 align 4] 0x31\n jump b9";
    gives([0, 1, 2, 3], body, |words| {
        assert_eq!(end(words), [THREADS % 50, 1, (2 + 50 * 3 - THREADS) % 50, 3]);
    });
}

#[test]
fn an_exchange_gives_each_value_to_one_lane() {
    let body = "
    add u32 %v %tid 0x1
    atom.exch u32 %old s[0x0 align 4] %v
    atom.add u32 # s[0x4 align 4] %old
    jump b9";
    gives([1000, 0, 0, 0], body, |words| {
        let [last, sum, ..] = end(words);
        assert_eq!(last + sum, 1000 + (1..=THREADS).sum::<u32>());
        assert!((1..=THREADS).contains(&last));
    });
}

#[test]
fn pairs_of_words_are_locked_as_one() {
    // The carry goes into the upper word.
    let body = "
    atom.add u64 {%a %b} s[0x8 align 8] {%tid %tid}
    jump b9";
    let sum: u64 = (0..u64::from(THREADS)).map(|t| t << 32 | t).sum::<u64>() + 0xffff_fff0;
    gives([9, 8, 0xffff_fff0, 0], body, |words| {
        assert_eq!(end(words), [9, 8, sum as u32, (sum >> 32) as u32]);
    });
}

#[test]
fn lanes_that_come_by_different_ways_and_more_than_once_wait_for_each_other() {
    // Thread t comes t & 3 times; odd ones through the other arm, with a guard there.
    let body = "
    and u32 %n %tid 0x3
    and u32 %odd %tid 0x1
    set.ne pred u32 %podd %odd 0x0
    mov u32 %zero 0x0
    jump b2(%zero)
b2(%k): loop exit b9 cont b6
    set.ge pred u32 %pdone %k %n
    if %pdone b9 b3
b3:
    if %podd b4 b5 join b7
b4:
    set.ne pred u32 %pagain %tid 0x5
    @%pagain atom.add u32 # s[0x0 align 4] 0x1
    jump b7
b5:
    atom.add u32 %before s[0x0 align 4] 0x1
    atom.max u32 # s[0x8 align 4] %before
    jump b7
b7:
    jump b6
b6:
    add u32 %next %k 0x1
    jump b2(%next)";
    let calls: u32 = (0..THREADS).filter(|&t| t != 5).map(|t| t & 3).sum();
    gives([0, 1, 0, 3], body, |words| {
        let [count, one, most, three] = end(words);
        assert_eq!((count, one, three), (calls, 1, 3));
        assert!(most < calls && most >= THREADS / 2, "{most}");
    });
}

#[test]
fn a_compare_and_swap_succeeds_once_for_each_lane() {
    // Each thread counts by itself, until nobody interfered.
    let body = "
    mov u32 %start 0x0
    jump b2(%start)
b2(%seen): loop exit b9 cont b4
    add u32 %next %seen 0x1
    atom.cas u32 %old s[0xc align 4] %seen %next
    set.eq pred u32 %psame %old %seen
    if %psame b9 b4
b4:
    jump b2(%old)";
    gives([0, 1, 2, 0], body, |words| assert_eq!(end(words), [0, 1, 2, THREADS]));
}

#[test]
fn a_try_takes_four_instructions() {
    for (op, instructions) in
        [("add u32", 4), ("max s32", 4), ("exch u32", 3), ("xor u32", 4), ("inc u32", 6), ("add u64", 5)]
    {
        for chip in Chip::ALL {
            let data = if op.ends_with("64") { "{%tid %tid}" } else { "%tid" };
            let dst = if op.ends_with("64") { "{%a %b}" } else { "%old" };
            let body = kernel([0; 4], &format!("atom.{op} {dst} s[0x8 align 8] {data}\n jump b9"));
            let (_, lines) = run(&Compiler::new(chip), &body, THREADS as usize + 4);
            let lock = lines.iter().position(|l| l.contains("LDSLK")).expect("it locks");
            let round = lines[lock..].iter().position(|l| l.contains("BRA")).expect("it goes round") + 1;
            assert_eq!(round, instructions, "{chip}: {op}\n{}", lines.join("\n"));
        }
    }
}
