//! Kernels in IR, through the whole back end and the emulator: the values that they leave must be right on every
//! chip, at every level, and with few registers.

use nvir::compiler::{Compiler, InitRegs, OptLevel, Options};
use nvir::ir::parse;
use nvir::{Chip, emu, isa};

/// Buffer words that a launch leaves. The kernel's parameters are the addresses of `out` and of `input`, 32 bits each.
struct Run<'a> {
    body: &'a str,
    threads: u32,
    words: usize,
    input: &'a [u32],
    shared: u32,
}

impl Run<'_> {
    fn text(&self) -> String {
        if self.body.starts_with("program") {
            self.body.to_string()
        } else {
            format!("program\nkernel k() {{\n{}\n}}\n", self.body)
        }
    }

    fn on(&self, compiler: &Compiler) -> (Vec<u32>, String) {
        let chip = compiler.chip();
        let mut program = parse::program(&self.text()).unwrap_or_else(|d| panic!("{d:?}"));
        program.shared_bytes = self.shared;
        let image = compiler.compile(program).unwrap_or_else(|d| panic!("{chip}: {d}"));
        let listing = listing(chip, &image.code);
        let mut memory = emu::Memory::new();
        let out = memory.alloc(4 * self.words as u64, 4).expect("small");
        let input = memory.alloc(4 * self.input.len().max(1) as u64, 4).expect("small");
        let bytes: Vec<u8> = self.input.iter().flat_map(|w| w.to_le_bytes()).collect();
        memory.write(input, &bytes).expect("mapped");
        let code = emu::Program::new(chip, &image.code);
        let mut launch = emu::Launch::new(&code);
        launch.block = [self.threads, 1, 1];
        launch.gprs = image.gprs;
        launch.local_bytes = image.local_bytes;
        launch.shared_bytes = image.shared_bytes;
        launch.set_const_u32(0, 0, out as u32);
        launch.set_const_u32(0, 4, input as u32);
        // A zero behind the parameters.
        launch.set_const_u32(0, 0x40, 0);
        let abi = compiler.abi();
        for (n, size) in [self.threads, 1, 1, 1, 1, 1, 0, 1].into_iter().enumerate() {
            launch.set_const_u32(abi.aux_bank.into(), usize::from(abi.grid_info) + 4 * n, size);
        }
        for (n, (at, len)) in [(out, self.words), (input, self.input.len())].into_iter().enumerate() {
            let entry = usize::from(abi.buf_info) + 16 * n;
            launch.set_const(abi.aux_bank.into(), entry, &at.to_le_bytes());
            launch.set_const_u32(abi.aux_bank.into(), entry + 8, 4 * len as u32);
        }
        let mut run = emu::Options { step_limit: 1 << 22, ..Default::default() };
        if let Err(fault) = emu::run(&launch, &mut memory, &mut run) {
            panic!("{chip}: {fault:?}\n{listing}");
        }
        let bytes = memory.read(out, 4 * self.words as u64).expect("mapped");
        (bytes.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect(), listing)
    }

    fn gives(&self, want: impl Fn(usize) -> u32) {
        let want: Vec<u32> = (0..self.words).map(want).collect();
        for chip in Chip::ALL {
            for (level, max_gprs) in [(OptLevel::O0, None), (OptLevel::O3, None), (OptLevel::O3, Some(18))] {
                let options = Options { max_gprs, ..Options::at(level) };
                let (got, listing) = self.on(&Compiler::new(chip).with_options(options));
                assert!(
                    got == want,
                    "{chip} -O{level}, {max_gprs:?} registers\n got {got:x?}\nwant {want:x?}\n{listing}"
                );
            }
        }
    }
}

fn listing(chip: Chip, words: &[u64]) -> String {
    let line = |(n, &w): (usize, &u64)| {
        let pc = 8 * n as u32;
        let text = isa::decode(chip, w, pc).map(|m| isa::text::print(chip, &m));
        format!("{pc:5x} {w:016x} {}\n", text.unwrap_or_default())
    };
    words.iter().enumerate().map(line).collect()
}

fn run(body: &str) -> Run<'_> {
    Run { body, threads: 64, words: 64, input: &[], shared: 0 }
}

/// Stores `%r9` to word `tid` of the output.
const STORE: &str = "
    rdsv u32 %r100 sv[tid.x]
    ld u32 %r101 c0[0x0 align 4]
    shladd u32 %r102 %r100 0x2 %r101
    st u32 # g[%r102+0x0 align 4] %r9
    exit";

fn with_store(body: &str) -> String {
    format!("{body}{STORE}")
}

#[test]
fn sums_of_system_values_are_stored() {
    let body = with_store(
        "b0:
    rdsv u32 %r0 sv[tid.x]
    rdsv u32 %r1 sv[ntid.x]
    mad u32 %r9 %r0 %r1 0x12345",
    );
    run(&body).gives(|t| t as u32 * 64 + 0x12345);
}

#[test]
fn a_moved_number_is_saturated_and_flushed_without_optimisation_too() {
    for (op, value) in [
        ("neg.sat.ftz f32 %r9 0xbf800000", 0x3f80_0000),
        ("neg.sat f32 %r9 0x40000000", 0),
        ("abs.sat f32 %r9 0xc0000000", 0x3f80_0000),
        ("abs.ftz f32 %r9 0x80000001", 0),
        ("mov f32 %r9 0x80000001", 0x8000_0001),
        ("mov f32 %r9 -0x3f800000", 0xbf80_0000),
        ("mov f32 %r9 |0xbf800000|", 0x3f80_0000),
        ("mov f32 %r9 -0x80000000", 0),
        ("mov s32 %r9 -0x3f800000", 0xc080_0000),
        ("cvt f32 f16 %r9 0x5555", 0x42aa_a000),
        ("rdsv u32 %r0 sv[ntid.x]\n    cvt.sat f32 s32 %r9 %r0", 0x3f80_0000),
        ("rdsv u32 %r0 sv[ntid.x]\n    cvt f32 u32 %r9 -%r0", 0x4f80_0000),
        ("rdsv u32 %r0 sv[ntid.x]\n    cvt f32 s32 %r9 -%r0", 0xc280_0000),
    ] {
        run(&with_store(&format!("b0:\n    {op}"))).gives(|_| value);
    }
}

#[test]
fn both_arms_of_a_divergent_if_run_and_meet_again() {
    let body = "b0:
    rdsv u32 %r0 sv[tid.x]
    and u32 %r1 %r0 0x1
    set.eq pred u32 %p2 %r1 0x0
    if %p2 b1 b2 join b3
b1:
    mul u32 %r3 %r0 0x7
    jump b3(%r3)
b2:
    add u32 %r4 %r0 0x64
    jump b3(%r4)
b3(%r9):";
    run(&with_store(body)).gives(|t| if t % 2 == 0 { 7 * t as u32 } else { t as u32 + 100 });
}

#[test]
fn an_if_without_else_keeps_the_old_value_elsewhere() {
    let body = "b0:
    rdsv u32 %r0 sv[tid.x]
    set.lt pred u32 %p2 %r0 0xa
    mov u32 %r5 0x3e7
    if %p2 b1 b3(%r5) join b3
b1:
    mul u32 %r3 %r0 %r0
    jump b3(%r3)
b3(%r9):";
    run(&with_store(body)).gives(|t| if t < 10 { (t * t) as u32 } else { 999 });
}

#[test]
fn nested_ifs_end_at_a_common_place() {
    let body = "b0:
    rdsv u32 %r0 sv[tid.x]
    set.lt pred u32 %p1 %r0 0x20
    set.lt pred u32 %p2 %r0 0x8
    mov u32 %r3 0x1
    mov u32 %r4 0x2
    mov u32 %r5 0x3
    if %p1 b1 b4(%r5) join b4
b1:
    if %p2 b2 b3(%r4) join b3
b2:
    jump b3(%r3)
b3(%r6):
    jump b4(%r6)
b4(%r9):";
    run(&with_store(body)).gives(|t| {
        if t < 8 {
            1
        } else if t < 32 {
            2
        } else {
            3
        }
    });
}

/// Collatz steps of the thread number: every lane leaves the loop at another time.
#[test]
fn lanes_leave_a_loop_at_different_times() {
    let body = "b0:
    rdsv u32 %r0 sv[tid.x]
    add u32 %r1 %r0 0x1
    mov u32 %r2 0x0
    jump b1(%r1 %r2)
b1(%r3 %r4): loop exit b6 cont b5
    set.le pred u32 %p5 %r3 0x1
    if %p5 b6(%r4) b2
b2:
    add u32 %r6 %r4 0x1
    and u32 %r7 %r3 0x1
    set.ne pred u32 %p8 %r7 0x0
    if %p8 b3 b4 join b7
b3:
    mad u32 %r10 %r3 0x3 0x1
    jump b7(%r10)
b4:
    shr u32 %r11 %r3 0x1
    jump b7(%r11)
b7(%r12):
    jump b5
b5:
    jump b1(%r12 %r6)
b6(%r9):";
    let steps = |t: usize| {
        let (mut n, mut k) = (t as u32 + 1, 0);
        while n > 1 {
            n = if n % 2 == 1 { 3 * n + 1 } else { n / 2 };
            k += 1;
        }
        k
    };
    run(&with_store(body)).gives(steps);
}

#[test]
fn breaks_and_continues_inside_ifs_take_only_their_lanes() {
    // for (i = 0; ; i++) { if (i & 1) { if (tid & 1) continue; } s += i; if (i > tid) { if (s > 5) break; } }
    let body = "b0:
    rdsv u32 %r0 sv[tid.x]
    mov u32 %r1 0x0
    and u32 %r50 %r0 0x1
    set.ne pred u32 %p51 %r50 0x0
    jump b1(%r1 %r1)
b1(%r2 %r3): loop exit b8 cont b7
    jump b9
b9:
    and u32 %r4 %r2 0x1
    set.ne pred u32 %p5 %r4 0x0
    if %p5 b2 b3 join b3
b2:
    if %p51 b7(%r3) b3
b3:
    add u32 %r6 %r3 %r2
    set.gt pred u32 %p7 %r2 %r0
    if %p7 b4 b6 join b6
b4:
    set.gt pred u32 %p8 %r6 0x5
    if %p8 b8(%r6) b6
b6:
    jump b7(%r6)
b7(%r10):
    add u32 %r11 %r2 0x1
    jump b1(%r11 %r10)
b8(%r9):";
    let want = |t: usize| {
        let (t, mut s, mut i) = (t as u32, 0u32, 0u32);
        loop {
            if i & 1 == 1 && t & 1 == 1 {
                i += 1;
                continue;
            }
            s += i;
            if i > t && s > 5 {
                return s;
            }
            i += 1;
        }
    };
    run(&with_store(body)).gives(want);
}

#[test]
fn lanes_that_end_in_a_branch_do_not_hold_up_the_others() {
    let body = "b0:
    rdsv u32 %r0 sv[tid.x]
    and u32 %r1 %r0 0x3
    set.eq pred u32 %p2 %r1 0x3
    if %p2 b1 b2 join b2
b1:
    exit
b2:
    mov u32 %r9 0x5";
    run(&with_store(body)).gives(|t| if t % 4 == 3 { 0 } else { 5 });
}

#[test]
fn a_function_may_return_early_under_divergence() {
    let text = "program
kernel k() {
b0:
    rdsv u32 %r0 sv[tid.x]
    call u32 {%r9} f1{%r0}
    rdsv u32 %r100 sv[tid.x]
    ld u32 %r101 c0[0x0 align 4]
    shladd u32 %r102 %r100 0x2 %r101
    st u32 # g[%r102+0x0 align 4] %r9
    exit
}

sub helper(%r0) -> r {
b0:
    set.lt pred u32 %p1 %r0 0x14
    if %p1 b1 b2 join b2
b1:
    add u32 %r2 %r0 0x1
    ret {%r2}
b2:
    mul u32 %r3 %r0 0x2
    ret {%r3}
}
";
    run(text).gives(|t| if t < 20 { t as u32 + 1 } else { 2 * t as u32 });
}

#[test]
fn buffer_accesses_out_of_bounds_read_zero_and_write_nothing() {
    // Buffer 1 has 40 words; buffer 0 is the output, of 64 words. Thread t reads word t - 4 and writes word t + 2.
    let body = "b0:
    rdsv u32 %r0 sv[tid.x]
    shl u32 %r1 %r0 0x2
    ld u32 %r2 b1[%r1-0x10 align 4]
    st u32 # b0[%r1+0x8 align 4] %r2
    exit";
    let input: Vec<u32> = (0..40).map(|n| n + 1000).collect();
    let r = Run { input: &input, ..run(body) };
    r.gives(|w| match w.checked_sub(6) {
        Some(n) if n < 40 => n as u32 + 1000,
        _ => 0,
    });
}

#[test]
fn the_size_of_a_buffer_can_be_asked() {
    let input = [0; 17];
    let body = with_store("b0:\n    bufsize u32 %r9 b1[0x0 align 4]");
    Run { input: &input, ..run(&body) }.gives(|_| 68);
}

#[test]
fn warps_are_numbered_by_their_threads() {
    let body = with_store(
        "b0:
    rdsv u32 %r0 sv[warpid]
    rdsv u32 %r1 sv[nwarps]
    shladd u32 %r9 %r1 0x8 %r0",
    );
    run(&body).gives(|t| 0x200 + t as u32 / 32);
}

#[test]
fn operands_that_no_instruction_takes_are_moved_into_registers() {
    let body = with_store(
        "b0:
    rdsv u32 %r0 sv[tid.x]
    add u32 %r1 c0[0x0] c0[0x4]
    sub u32 %r2 0x12345678 %r0
    mad u32 %r3 0x7654321 0x1234567 %r2
    xor u32 %r4 0xffff0000 ~%r3
    sub u32 %r5 %r4 %r1
    add u32 %r6 %r5 %r1
    sel u32 %r9 %r6 0x5 0x1",
    );
    run(&body).gives(|t| {
        let r2 = 0x12345678u32.wrapping_sub(t as u32);
        0xffff0000 ^ !(0x7654321u32.wrapping_mul(0x1234567).wrapping_add(r2))
    });
}

/// The exit of the inner loop is short and has one way in, but lanes wait for it.
#[test]
fn signs_of_constants_change_on_their_way_into_registers() {
    let body = with_store(
        "b0:
    neg f32 %r1 c0[0x40]
    abs f32 %r2 -c0[0x40]
    rdsv u32 %r0 sv[tid.x]
    or u32 %r3 %r1 %r2
    or u32 %r9 %r3 %r0",
    );
    run(&body).gives(|t| 0x8000_0000 | t as u32);
}

#[test]
fn the_exit_of_a_loop_is_not_taken_for_an_arm_of_its_branch() {
    let body = "b0:
    rdsv u32 %r0 sv[tid.x]
    mov u32 %r1 0x0
    and u32 %r20 %r0 0x7
    jump b1(%r1 %r1)
b1(%r2 %r3): loop exit b6 cont b5
    set.ge pred u32 %p4 %r2 0x3
    if %p4 b6 b2
b2:
    jump b3(%r1 %r3)
b3(%r5 %r6): loop exit b5 cont b4
    set.ge pred u32 %p7 %r5 %r20
    if %p7 b5 b4
b4:
    mad u32 %r8 %r5 %r2 %r6
    add u32 %r9 %r5 0x1
    jump b3(%r9 %r8)
b5:
    add u32 %r10 %r2 0x1
    jump b1(%r10 %r6)
b6:
    add u32 %r11 %r3 0x5
    ld u32 %r101 c0[0x0 align 4]
    shladd u32 %r102 %r0 0x2 %r101
    st u32 # g[%r102+0x0 align 4] %r11
    exit";
    run(body).gives(|t| 5 + (0..3).map(|i| (0..t as u32 % 8).map(|j| i * j).sum::<u32>()).sum::<u32>());
}

#[test]
fn a_short_arm_that_leaves_takes_only_its_lanes() {
    let body = "b0:
    rdsv u32 %r0 sv[tid.x]
    mov u32 %r1 0x0
    jump b1(%r1)
b1(%r2): loop exit b5 cont b4
    jump b6
b6:
    mul u32 %r3 %r2 %r2
    set.gt pred u32 %p4 %r3 %r0
    if %p4 b2 b3 join b3
b2:
    sub u32 %r5 %r3 %r0
    shl u32 %r6 %r5 0x8
    jump b5(%r6 %r2)
b3:
    jump b4
b4:
    add u32 %r7 %r2 0x1
    jump b1(%r7)
b5(%r8 %r10):
    or u32 %r9 %r8 %r10";
    let want = |t: usize| {
        let n = (0u32..).find(|n| n * n > t as u32).unwrap_or(0);
        ((n * n - t as u32) << 8) | n
    };
    run(&with_store(body)).gives(want);
}

/// The least offset has no negation; 2^31 and a little less are not to be taken for signed numbers.
#[test]
fn an_offset_may_be_any_number_of_32_bits() {
    let body = "b0:
    rdsv u32 %r0 sv[tid.x]
    shl u32 %r1 %r0 0x2
    add u32 %r2 %r1 0x80000000
    ld u32 %r3 b1[%r2-0x80000000 align 4]
    ld u32 %r4 b1[%r1-0x80000000 align 4]
    ld u32 %r5 b1[%r1+0x7ffffffc align 4]
    ld u32 %r8 b1[%r1+0x7fffffe0 align 4]
    add u32 %r6 %r3 %r4
    add u32 %r7 %r6 %r5
    add u32 %r9 %r7 %r8
    st u32 # b0[%r2-0x80000000 align 4] %r9
    exit";
    let input: Vec<u32> = (0..64).map(|n| n + 1000).collect();
    Run { input: &input, ..run(body) }.gives(|t| t as u32 + 1000);
    let shared = with_store(
        "b0:
    rdsv u32 %r0 sv[tid.x]
    shl u32 %r1 %r0 0x2
    add u32 %r2 %r1 0x80000000
    st u32 # s[%r2-0x80000000 align 4] %r0
    ld u32 %r9 s[%r2-0x80000000 align 4]",
    );
    Run { shared: 256, ..run(&shared) }.gives(|t| t as u32);
}

/// It begins below zero and ends inside the buffer: not inside as a whole.
#[test]
fn a_uniform_block_beyond_the_last_compiles() {
    let text = "program\nkernel k() {\nb0:\n    ld u32 %r0 u40[0x4 align 4]\n    ld u32 %r1 c0[0x0 align 4]\n    st u32 # g[%r1+0x0 align 4] %r0\n    exit\n}\n";
    for chip in Chip::ALL {
        for level in [OptLevel::O0, OptLevel::O3] {
            let program = parse::program(text).unwrap_or_else(|d| panic!("{d:?}"));
            let compiler = Compiler::new(chip).with_options(Options::at(level));
            compiler.compile(program).unwrap_or_else(|d| panic!("{chip} -O{level}: {d}"));
        }
    }
}

#[test]
fn an_access_that_wraps_around_zero_reads_zeros() {
    let body = "b0:
    rdsv u32 %r0 sv[tid.x]
    shl u32 %r1 %r0 0x2
    ld u64 {%r2 %r3} b1[%r1-0x4 align 4]
    ld u64 {%r4 %r5} b1[0xfffffffc align 4]
    add u32 %r6 %r4 %r5
    mad u32 %r7 %r3 0x10000 %r2
    add u32 %r8 %r6 %r7
    st u32 # b0[%r1+0x0 align 4] %r8
    exit";
    let input: Vec<u32> = (0..64).map(|n| n + 1000).collect();
    Run { input: &input, ..run(body) }.gives(|t| match t as u32 {
        0 => 0,
        t => 999 + t + ((1000 + t) << 16),
    });
}

#[test]
fn a_choice_by_a_float_follows_every_condition() {
    for cond in ["never", "lt", "eq", "le", "gt", "ne", "ge", "num", "nan", "ltu", "gtu", "always"] {
        let body = with_store(&format!(
            "b0:
    rdsv u32 %r0 sv[tid.x]
    add u32 %r1 %r0 0xffffffe0
    cvt f32 s32 %r2 %r1
    slct.{cond} u32 f32 %r9 %r0 0x5 %r2"
        ));
        run(&body).gives(|t| {
            let holds = match cond {
                "lt" | "ltu" => t < 32,
                "eq" => t == 32,
                "le" => t <= 32,
                "gt" | "gtu" => t > 32,
                "ne" => t != 32,
                "ge" => t >= 32,
                "num" | "always" => true,
                _ => false,
            };
            if holds { t as u32 } else { 5 }
        });
    }
}

#[test]
fn bits_of_a_pair_are_counted_under_a_second_pair() {
    let body = with_store(
        "b0:
    rdsv u32 %r0 sv[tid.x]
    mov u32 %r1 0xffffffff
    popc u32 u64 %r9 {%r0 %r1} {%r1 %r0}",
    );
    run(&body).gives(|t| 2 * (t as u32).count_ones());
}

#[test]
fn parameters_and_results_beyond_the_registers_go_through_memory() {
    const WORDS: usize = 14;
    const PREDS: usize = 5;
    let list = |from: usize| -> String {
        let words = (0..WORDS).map(|k| format!("%r{}", from + k));
        let preds = (0..PREDS).map(|k| format!("%p{}", from + WORDS + k));
        words.chain(preds).collect::<Vec<_>>().join(" ")
    };
    // The kernel gives t, t + 1, ... and whether t is below 1, 2, ...; it sums what comes back by different factors.
    let mut kernel = String::from("b0:\n    rdsv u32 %r0 sv[tid.x]\n");
    for k in 0..WORDS {
        kernel += &format!("    add u32 %r{} %r0 {k:#x}\n", 200 + k);
    }
    for k in 0..PREDS {
        kernel += &format!("    set.lt pred u32 %p{} %r0 {:#x}\n", 200 + WORDS + k, k + 1);
    }
    kernel += &format!("    call u32 {{{}}} f1{{{}}}\n    mov u32 %r400 0x0\n", list(300), list(200));
    for k in 0..WORDS {
        kernel += &format!("    mad u32 %r{} %r{} {:#x} %r{}\n", 401 + k, 300 + k, 3 * k + 1, 400 + k);
    }
    for k in 0..PREDS {
        let (p, at) = (300 + WORDS + k, 401 + WORDS + 2 * k);
        kernel += &format!("    sel u32 %r{at} {:#x} 0x0 %p{p}\n", 1000 << k);
        kernel += &format!("    add u32 %r{} %r{at} %r{}\n", at + 1, at - 1);
    }
    kernel += &format!("    add u32 %r9 %r{} 0x0{STORE}", 400 + WORDS + 2 * PREDS);
    // The function turns both lists round.
    let turned = |from: usize, count: usize, class: char| -> String {
        (0..count).rev().map(|k| format!("%{class}{}", from + k)).collect::<Vec<_>>().join(" ")
    };
    let text = format!(
        "program\nkernel k() {{\n{kernel}\n}}\nsub f({}) -> {}{} {{\nb0:\n    ret {{{} {}}}\n}}\n",
        list(0),
        "r".repeat(WORDS),
        "p".repeat(PREDS),
        turned(0, WORDS, 'r'),
        turned(WORDS, PREDS, 'p'),
    );
    let want: Vec<u32> = (0..64)
        .map(|t| {
            let words: usize = (0..WORDS).map(|k| (t + WORDS - 1 - k) * (3 * k + 1)).sum();
            let preds: usize = (0..PREDS).filter(|k| t < PREDS - k).map(|k| 1000 << k).sum();
            (words + preds) as u32
        })
        .collect();
    for chip in Chip::ALL {
        for level in [OptLevel::O0, OptLevel::O1] {
            let options = Options { max_gprs: Some(16), ..Options::at(level) };
            let (got, listing) = run(&text).on(&Compiler::new(chip).with_options(options));
            assert!(listing.contains("STL"), "nothing goes through memory:\n{listing}");
            assert_eq!(got, want, "{chip} -O{level}\n{listing}");
        }
    }
}

#[test]
fn what_is_read_before_it_is_written_is_zero_as_the_option_says() {
    let nowhere = with_store(
        "b0:
    rdsv u32 %r0 sv[tid.x]
    undef u32 %r1
    mad u32 %r9 %r1 %r0 0x7",
    );
    // Written by the lower half of the threads. From -O1 on the others may have what those compute.
    let in_part = with_store(
        "b0:
    rdsv u32 %r0 sv[tid.x]
    undef u32 %r1
    set.lt pred u32 %p3 %r0 0x20
    if %p3 b1 b2(%r1) join b2
b1:
    add u32 %r4 %r0 0x64
    jump b2(%r4)
b2(%r5):
    add u32 %r9 %r5 0x7",
    );
    let lower = |t: u32| if t < 32 { t + 0x6b } else { 7 };
    let check = |body: &str, levels: &[OptLevel], want: &dyn Fn(u32) -> u32| {
        let want: Vec<u32> = (0..64).map(want).collect();
        for chip in Chip::ALL {
            for init_regs in [InitRegs::All, InitRegs::AtEntry, InitRegs::OnEdges] {
                for &level in levels {
                    let options = Options { init_regs, ..Options::at(level) };
                    let (got, listing) = run(body).on(&Compiler::new(chip).with_options(options));
                    assert_eq!(got, want, "{chip} -O{level} {init_regs:?}\n{listing}");
                }
            }
        }
    };
    check(&nowhere, &OptLevel::ALL, &|_| 7);
    check(&in_part, &[OptLevel::O0], &lower);
}
