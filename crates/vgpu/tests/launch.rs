//! Launches of hand-written kernels from descriptors and registers, as a driver sets them up.

mod common;

use common::kernel::{self, Grid, Places};
use nvir::Chip;
use nvir::emu::{Checks, FaultKind};
use nvir_hw::method::{kepler_compute::LAUNCH_DESC_ADDRESS, shader::CODE_ADDRESS_LOW};
use nvir_hw::qmd::Qmd;
use nvir_vgpu::compute::{self, Context, Report, State};
use nvir_vgpu::shader::{Bank, Failure, Launcher, Options};
use nvir_vgpu::{Memory, Words};

const CODE: u64 = 0x1_0000_0000;
const DESCRIPTOR: u64 = 0x1_1000_0000;
const CONSTANTS: u64 = 0x1_2000_0000;
const TABLES: u64 = 0x1_3000_0000;
const OUT: u64 = 0x1_4000_0000;
/// Where kernels begin in the code segment.
const ENTRY: u32 = 0x1000;

struct Card {
    chip: Chip,
    state: State,
    memory: Memory,
    launcher: Launcher,
    /// What the descriptor says, or GF100's registers.
    kernel: Grid,
}

impl Card {
    fn new(chip: Chip, options: Options) -> Card {
        let mut memory = Memory::new();
        for (base, size) in [
            (CODE, 0x8_0000),
            (DESCRIPTOR, 0x1000),
            (CONSTANTS, 0x1_0000),
            (TABLES, 0x2_0000),
            (OUT, 0x1_0000),
        ] {
            memory.insert(base, size, Words::zeroed(size as usize / 4)).expect("free addresses");
        }
        let mut state = State::default();
        let places = Places { code: CODE, tables: TABLES, descriptor: DESCRIPTOR };
        for (method, value) in places.registers() {
            state.regs.set(method, value);
        }
        let kernel = Grid { gprs: 20, ..Grid::at(ENTRY) };
        Card { chip, state, memory, launcher: Launcher::new(options), kernel }
    }

    /// Assembles code at an address of the segment.
    fn code(&mut self, at: u32, lines: &[&str]) {
        let bytes = kernel::bytes(self.chip, at, lines);
        self.memory.write(CODE + u64::from(at), &bytes).expect("mapped");
    }

    fn bind(&mut self, n: usize, address: u64, size: u32) {
        if self.chip == Chip::Gf100 {
            self.state.bindings.banks[n] = Some(Bank { address, size });
        } else {
            self.describe(|d| {
                d.set_bank(n as u32, address, size);
            });
        }
    }

    /// Changes the descriptor in memory.
    fn describe(&mut self, change: impl FnOnce(&mut Qmd)) {
        let mut descriptor = Qmd::default();
        self.memory.read_words(DESCRIPTOR, &mut descriptor.0).expect("mapped");
        change(&mut descriptor);
        self.memory.write_words(DESCRIPTOR, &descriptor.0).expect("mapped");
    }

    fn launch(&mut self) -> Result<Report, Failure> {
        for (method, value) in self.kernel.registers() {
            self.state.regs.set(method, value);
        }
        if self.chip != Chip::Gf100 {
            let kernel = self.kernel;
            self.describe(|d| kernel.describe(d));
        }
        let Card { chip, state, memory, launcher, .. } = self;
        compute::launch(launcher, Context { chip: *chip, state, memory, log: None, ran: None })
    }

    fn out(&self, n: u64) -> u32 {
        self.memory.word(OUT + 4 * n).expect("mapped")
    }

    /// The fault of a launch.
    fn fault(&mut self) -> Failure {
        self.launch().expect_err("a fault")
    }
}

/// For every chip, with default options.
fn each(mut f: impl FnMut(&mut Card)) {
    for chip in Chip::ALL {
        f(&mut Card::new(chip, Options::default()));
    }
}

/// Puts OUT + 4 * (block * 40 + thread) into R2, R3, and that number into R0.
const PLACE: [&str; 6] = [
    "S2R R0, SR_CTAID.X",
    "S2R R1, SR_TID.X",
    "IMAD R0, R0, 0x28, R1",
    "SHL R2, R0, 0x2",
    "MOV32I R3, 0x40000000",
    "IADD R2, R2, R3",
];

fn with_place<'a>(rest: &[&'a str]) -> Vec<&'a str> {
    [&PLACE[..], &["MOV32I R3, 0x1"], rest].concat()
}

#[test]
fn kernels_work_on_memory_in_place_and_see_what_earlier_ones_wrote() {
    each(|card| {
        card.code(
            ENTRY,
            &with_place(&[
                "LD.E R5, [R2]",
                "MOV R6, c[0x0][0x8]",
                "IADD R5, R5, R6",
                "IADD R5, R5, R0",
                "ST.E [R2], R5",
                "EXIT",
            ]),
        );
        card.memory.set_word(CONSTANTS + 8, 1000).expect("mapped");
        card.bind(0, CONSTANTS, 256);
        (card.kernel.grid, card.kernel.block) = ([3, 1, 1], [40, 1, 1]);
        let first = card.launch().expect("no fault");
        assert_eq!((first.thread_instructions, first.nanoseconds), (13 * 120, first.warp_instructions));
        // Constants are memory at the launch, not when they are bound.
        card.memory.set_word(CONSTANTS + 8, 5).expect("mapped");
        card.launch().expect("no fault");
        for i in 0..121 {
            assert_eq!(card.out(i), if i < 120 { 1005 + 2 * i as u32 } else { 0 }, "{}: {i}", card.chip);
        }
    });
}

#[test]
fn code_that_was_overwritten_is_decoded_again_and_a_library_is_called() {
    each(|card| {
        card.code(0x7_0000, &["MOV32I R5, 0x11", "RET"]);
        card.code(ENTRY, &with_place(&["JCAL 0x70000", "ST.E [R2], R5", "EXIT"]));
        card.launch().expect("no fault");
        assert_eq!(card.out(0), 0x11);
        card.code(0x7_0000, &["MOV32I R5, 0x22", "RET"]);
        card.launch().expect("no fault");
        assert_eq!(card.out(0), 0x22);
        // What is launched again is the same kernel.
        card.launch().expect("no fault");
        let launches: Vec<u64> = card.launcher.profile().iter().map(|k| k.launches).collect();
        assert_eq!(launches, [1, 2]);
        assert_eq!(card.launcher.profile()[1].thread_instructions, 2 * 12);
    });
}

#[test]
fn constants_beyond_their_bank_are_zero_or_a_fault() {
    for chip in Chip::ALL {
        for strict in [false, true] {
            let mut card = Card::new(chip, Options { strict_constants: strict, ..Options::default() });
            card.code(ENTRY, &with_place(&["MOV R5, c[0x0][0x100]", "ST.E [R2], R5", "EXIT"]));
            card.memory.fill(CONSTANTS, 0x200, &[7]).expect("mapped");
            card.memory.set_word(OUT, 9).expect("mapped");
            card.bind(0, CONSTANTS, 256);
            let result = card.launch();
            assert_eq!(result.is_err(), strict, "{chip}");
            assert_eq!(card.out(0), if strict { 9 } else { 0 });
        }
    }
}

#[test]
fn shared_and_local_memory_are_behind_their_windows() {
    each(|card| {
        (card.kernel.shared, card.kernel.local, card.kernel.block) = (256, 32, [2, 1, 1]);
        card.code(
            ENTRY,
            &with_place(&[
                "S2R R8, SR_TID.X",
                "SHL R9, R8, 0x2",
                "STS [R9+0x10], R0",
                "STL [0x8], R8",
                "MOV32I R6, 0xfe000010",
                "MOV R7, RZ",
                "LD.E R10, [R6+0x4]",
                "MOV32I R6, 0xff000008",
                "LD.E R11, [R6]",
                "IADD R10, R10, R11",
                "ST.E [R2], R10",
                "EXIT",
            ]),
        );
        card.launch().expect("no fault");
        assert_eq!([card.out(0), card.out(1)], [1, 2], "{}", card.chip);
        card.kernel.local = 8;
        let fault = card.fault();
        assert_eq!(fault.fault.map(|f| f.kind), Some(FaultKind::OutOfBounds));
    });
}

#[test]
fn the_clock_goes_on_from_launch_to_launch() {
    each(|card| {
        card.code(
            ENTRY,
            &with_place(&[
                "S2R R5, SR_CLOCKLO",
                "S2R R6, SR_CLOCKLO",
                "IADD R6, -R5, R6",
                "ST.E [R2], R5",
                "ST.E [R2+0x4], R6",
                "EXIT",
            ]),
        );
        card.launch().expect("no fault");
        let first = [card.out(0), card.out(1)];
        card.launch().expect("no fault");
        assert!(first[1] > 0 && card.out(0) > first[0] + first[1], "{}", card.chip);
    });
}

#[test]
fn a_grid_of_nothing_does_nothing() {
    each(|card| {
        for grid in [[0, 1, 1], [1, 0, 1], [1, 1, 0]] {
            card.kernel.grid = grid;
            assert_eq!(card.launch(), Ok(Report::default()));
        }
    });
}

#[test]
fn what_no_card_launches_is_an_error_that_says_why() {
    each(|card| {
        card.code(ENTRY, &["EXIT"]);
        assert!(card.launch().is_ok());
        type Change = fn(&mut Card);
        let changes: [(Change, &str); 7] = [
            (|c| c.kernel.block = [1024, 2, 1], "2048 threads"),
            (|c| c.kernel.block = [0, 1, 1], "a block of 0 in x"),
            (|c| c.kernel.block = [1, 1, 65], "a block of 65 in z"),
            (|c| c.kernel.shared = 0xc001, "49153 bytes of shared memory"),
            (|c| c.kernel.local = 0x8_0001, "524289 bytes of local memory"),
            (|c| (c.kernel.gprs, c.kernel.block) = (63, [1024, 1, 1]), "1024 threads with 63 registers each"),
            (|c| c.bind(3, CONSTANTS + 2, 16), "c[0x3] is at"),
        ];
        for (change, says) in changes {
            let was = card.kernel;
            change(card);
            if card.kernel.gprs == 63 && card.chip != Chip::Gf100 {
                // They have twice the registers.
                assert!(card.launch().is_ok());
            } else {
                let error = card.fault();
                assert!(
                    error.message.contains(says) && error.message.contains("0x100001000"),
                    "{}",
                    error.message
                );
                assert!(error.fault.is_none());
            }
            card.kernel = was;
        }
    });
}

#[test]
fn code_that_is_not_there_is_an_error() {
    each(|card| {
        assert!(card.fault().message.contains("there is no code"));
        card.state.regs.set(CODE_ADDRESS_LOW, 0x9000_0000);
        assert!(card.fault().message.contains("not inside one buffer"), "{}", card.fault().message);
    });
    let mut card = Card::new(Chip::Gk104, Options::default());
    card.state.regs.set(LAUNCH_DESC_ADDRESS, 1);
    assert!(card.fault().message.contains("launch descriptor at 0x100"));
}

#[test]
fn a_fault_tells_the_place_with_the_code_around_it() {
    each(|card| {
        card.kernel.block = [8, 1, 1];
        card.code(
            ENTRY,
            &with_place(&[
                "MOV32I R3, 0x77",
                "ISETP.LT.AND P0, PT, R0, 0x5, PT",
                "@P0 EXIT",
                "ST.E [R2], R0",
                "MOV R9, R10",
                "EXIT",
            ]),
        );
        let failure = card.fault();
        let fault = failure.fault.as_ref().expect("the kernel ran");
        assert_eq!(
            (fault.kind, fault.place.thread, fault.place.block),
            (FaultKind::OutOfBounds, [5, 0, 0], [0; 3])
        );
        let at = failure.sass.iter().position(|(pc, _)| *pc == fault.place.pc).expect("it is shown");
        assert!(failure.sass[at].1.starts_with("ST.E [R2]"), "{failure}");
        assert!(
            failure.sass[at - 1].1.contains("EXIT") && failure.sass[at + 1].1.starts_with("MOV R9"),
            "{failure}"
        );
        let text = failure.to_string();
        assert!(text.contains("kernel at 0x100001000") && text.contains("\n  > "), "{text}");
    });
}

#[test]
fn checks_find_what_a_card_does_not() {
    for chip in Chip::ALL {
        // Two warps write different values to one word of shared memory.
        let lines = with_place(&["STS [0x10], R0", "EXIT"]);
        for (checks, faults) in [(Checks::default(), false), (Checks::ALL, true)] {
            let mut card = Card::new(chip, Options { checks, ..Options::default() });
            (card.kernel.shared, card.kernel.block) = (64, [64, 1, 1]);
            card.code(ENTRY, &lines);
            let kind = card.launch().err().and_then(|f| f.fault).map(|f| f.kind);
            assert_eq!(kind, faults.then_some(FaultKind::Race), "{chip}");
        }
    }
}

#[test]
fn faults_are_gathered_and_told_together() {
    for chip in Chip::ALL {
        // Every lane stores far away, twice; then to its own place.
        let lines =
            ["MOV R4, RZ", "MOV R5, RZ", "ST.E [R4], R0", "ST.E [R4+0x8], R0", "ST.E [R2], R0", "EXIT"];
        for (faults, said) in [(1, None), (1000, Some("64 faults at 2 instructions (64 "))] {
            let mut card = Card::new(chip, Options { faults, ..Options::default() });
            card.kernel.block = [32, 1, 1];
            card.code(ENTRY, &with_place(&lines));
            let failure = card.launch().expect_err("a fault");
            let text = failure.to_string();
            assert_eq!(text.contains("faults at"), said.is_some(), "{chip}: {text}");
            assert!(text.contains(said.unwrap_or("ST")), "{chip}: {text}");
            assert!(failure.fault.is_some() && !failure.sass.is_empty(), "{chip}");
        }
    }
}

#[test]
fn profiles_count_by_instruction() {
    for chip in Chip::ALL {
        let mut card = Card::new(chip, Options { profile: true, ..Options::default() });
        card.kernel.block = [64, 1, 1];
        card.code(ENTRY, &with_place(&["ST.E [R2], R0", "EXIT"]));
        (0..3).for_each(|_| {
            card.launch().expect("no fault");
        });
        let [kernel] = card.launcher.profile() else { panic!("one kernel") };
        assert_eq!((kernel.address, kernel.launches), (CODE + u64::from(ENTRY), 3));
        let profile = kernel.profile.as_ref().expect("it was asked for");
        assert_eq!(profile.by_op["ST"].issues, 6);
        assert_eq!(profile.by_op["ST"].threads, 192);
    }
}

#[test]
fn new_kernels_are_shown_once() {
    let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let sink = seen.clone();
    let on_kernel = move |k: &nvir_vgpu::shader::Kernel<'_>| {
        sink.lock().expect("no panic").push((k.code, k.entry, k.gprs, k.program.text(k.entry + 8)));
    };
    let mut card =
        Card::new(Chip::Gk110, Options { on_kernel: Some(Box::new(on_kernel)), ..Options::default() });
    card.code(ENTRY, &["EXIT"]);
    card.launch().expect("no fault");
    card.launch().expect("no fault");
    card.code(ENTRY, &["NOP", "EXIT"]);
    card.launch().expect("no fault");
    let seen = seen.lock().expect("no panic");
    let texts: Vec<&str> = seen.iter().map(|k| k.3.as_str()).collect();
    assert_eq!(texts, ["EXIT", "NOP"]);
    assert_eq!((seen[0].0, seen[0].1, seen[0].2), (CODE, ENTRY, 20));
}

#[test]
fn textures_are_found_by_handle_and_by_slot() {
    each(|card| {
        // Entry 5: 4 by 2 texels of R32_UINT, pitch-linear at OUT + 0x1000. Sampler 3 is all zeros.
        let texture = OUT + 0x1000;
        let entry = [
            0x0f | 4 << 6 | 4 << 9 | 4 << 12 | 4 << 15 | 2 << 18 | 6 << 27,
            texture as u32,
            1 | 7 << 14 | 1 << 18 | 1 << 31,
            64,
            4,
            2 | 1 << 16,
            0,
            0,
        ];
        card.memory.write_words(TABLES + 5 * 32, &entry).expect("mapped");
        card.memory.write_words(texture, &[10, 11, 12, 13]).expect("mapped");
        card.memory.write_words(texture + 64, &[20, 21, 22, 23]).expect("mapped");
        let texel = match card.chip {
            Chip::Gf100 => "TLD.LZ.P R8, R4, 0x2, 0x0, 2D, 0xf",
            Chip::Gk104 => "TLD.LZ.P R8, R4, 0xa, 0x0, 2D, 0xf",
            Chip::Gk110 => "TLD.LZ.P R8, R4, 0xa, 2D, 0xf",
        };
        card.code(
            ENTRY,
            &with_place(&["MOV32I R4, 0x2", "MOV32I R5, 0x1", texel, "ST.E.128 [R2], R8", "EXIT"]),
        );
        card.state.bindings.textures[2] = Some(5);
        card.memory.set_word(CONSTANTS + 0x28, 5 | 3 << 20).expect("mapped");
        card.bind(7, CONSTANTS, 256);
        card.launch().expect("no fault");
        assert_eq!([0, 1, 2, 3].map(|i| card.out(i)), [22, 0, 0, 1], "{}", card.chip);
        // Nothing is bound: zero.
        card.state.bindings.textures[2] = None;
        card.memory.set_word(CONSTANTS + 0x28, 0xfff_ffff).expect("mapped");
        card.launch().expect("no fault");
        assert_eq!([0, 1, 2, 3].map(|i| card.out(i)), [0; 4], "{}", card.chip);
        // An entry that is none.
        card.state.bindings.textures[2] = Some(6);
        card.memory.set_word(CONSTANTS + 0x28, 6).expect("mapped");
        let error = card.fault();
        assert!(error.message.contains("TIC entry 6: component sizes 0"), "{error}");
    });
}

#[test]
fn launches_of_one_submission_have_a_limit_together() {
    for chip in Chip::ALL {
        let (step_limit, submission_step_limit) = (1000, 2500);
        let mut card = Card::new(chip, Options { step_limit, submission_step_limit, ..Options::default() });
        // 900 instructions: 300 times round.
        card.code(
            ENTRY,
            &[
                "MOV32I R0, 0x12b",
                "IADD R0, R0, -0x1",
                "ISETP.GE.AND P0, PT, R0, RZ, PT",
                "@P0 BRA 0x1010",
                "EXIT",
            ],
        );
        if chip == Chip::Gf100 {
            card.code(ENTRY + 24, &["@P0 BRA 0x1008"]);
        }
        let ran = card.launch().expect("no fault").warp_instructions;
        assert_eq!(ran, 902, "{chip}");
        card.launch().expect("no fault");
        let fault = card.fault();
        assert_eq!(fault.fault.as_ref().map(|f| f.kind), Some(FaultKind::StepLimit));
        assert!(fault.message.contains("one submission's launches together"), "{fault}");
        // The next submission has as much again; and an endless launch has its own limit.
        card.launcher.begin();
        card.launch().expect("no fault");
        let first = if chip == Chip::Gf100 { ENTRY } else { ENTRY + 8 };
        card.code(ENTRY, &[&format!("BRA {first:#x}")]);
        let fault = card.fault();
        assert!(fault.message.contains("the launch's limit is reached"), "{fault}");
    }
}

#[test]
fn progress_is_told_block_by_block() {
    use nvir_vgpu::shader::Progress;
    for chip in Chip::ALL {
        let told = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let sink = told.clone();
        let on_progress = move |p: &Progress| sink.lock().expect("no panic").push(*p);
        let mut card =
            Card::new(chip, Options { on_progress: Some(Box::new(on_progress)), ..Options::default() });
        card.kernel.grid = [2, 1, 2];
        card.code(ENTRY, &["EXIT"]);
        card.launch().expect("no fault");
        let at = |done, ended| Progress { kernel: CODE + u64::from(ENTRY), done, blocks: 4, ended };
        let all = [at(1, false), at(2, false), at(3, false), at(4, false), at(4, true)];
        assert_eq!(*told.lock().expect("no panic"), all, "{chip}");
    }
}
