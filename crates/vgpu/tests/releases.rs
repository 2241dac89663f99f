//! What a launch descriptor of Kepler has written when its last block has ended.

mod common;

use common::kernel::{self, Grid};
use common::{COMPUTE, Client, Commands};
use nvir::Chip;
use nvir_hw::method::{kepler_compute, shader};
use nvir_hw::qmd::Qmd;
use nvir_vgpu::{Error, ErrorKind, GemInfo};

/// What the kernel stores before any release.
const STORED: u32 = 100;

/// How a release is written: four words with the time, or one; with a reduction.
const ONE_WORD: u32 = 1 << 31;
const REDUCTION: u32 = 1 << 26;
const SIGNED: u32 = 1 << 24;

struct Rig {
    client: Client,
    text: GemInfo,
    out: GemInfo,
    descriptor: GemInfo,
    grid: Grid,
}

impl Rig {
    /// A kernel that stores [`STORED`] to the first word of `out`.
    fn new(chip: Chip) -> Rig {
        let client = Client::new(chip);
        let [text, out, descriptor] = [4096; 3].map(|bytes| client.buffer(bytes));
        let lines = [
            format!("MOV32I R2, {:#x}", out.offset as u32),
            format!("MOV32I R3, {:#x}", out.offset >> 32),
            format!("MOV32I R5, {STORED:#x}"),
            "ST.E [R2], R5".to_string(),
            "EXIT".to_string(),
        ];
        client.write_bytes(text.offset, &kernel::bytes(chip, 0, &lines));
        Rig { client, text, out, descriptor, grid: Grid::at(0) }
    }

    /// Launches with these releases: address from the start of `out`, how, payload.
    fn launch(&self, releases: [Option<(u64, u32, u32)>; 2]) -> Result<(), Error> {
        let mut d = Qmd::default();
        self.grid.describe(&mut d);
        for (i, release) in releases.iter().enumerate() {
            let Some((offset, how, payload)) = *release else { continue };
            let address = self.out.offset + offset;
            let i = i as u32;
            d.set(Qmd::RELEASE_ENABLE.at(i), 1).set(Qmd::RELEASE_PAYLOAD.at(i), payload);
            d.set(Qmd::RELEASE_ADDRESS_LOWER.at(i), address as u32);
            d.set(Qmd::RELEASE_ADDRESS_UPPER.at(i), (address >> 32) as u32);
            d.set(Qmd::RELEASE_STRUCTURE_SIZE.at(i), how >> 31);
            d.set(Qmd::RELEASE_REDUCTION_ENABLE.at(i), how >> 26 & 1);
            d.set(Qmd::RELEASE_REDUCTION_OP.at(i), how >> 20 & 7);
            d.set(Qmd::RELEASE_REDUCTION_FORMAT.at(i), how >> 24 & 3);
        }
        self.client.gpu().write(self.descriptor.offset, &d.0).expect("mapped");
        let mut commands = Commands::default();
        commands.address(COMPUTE, shader::CODE_ADDRESS_HIGH, self.text.offset);
        commands
            .inc(COMPUTE, kepler_compute::LAUNCH_DESC_ADDRESS, &[(self.descriptor.offset >> 8) as u32])
            .immediate(COMPUTE, kepler_compute::LAUNCH, 3);
        self.client.run(&commands)
    }

    fn out(&self, word: u64, count: usize) -> Vec<u32> {
        self.client.words(self.out.offset + 4 * word, count)
    }
}

fn each(mut f: impl FnMut(Rig)) {
    [Chip::Gk104, Chip::Gk110].into_iter().for_each(|chip| f(Rig::new(chip)));
}

#[test]
fn releases_are_written_after_the_kernel_with_the_time_where_it_is_asked_for() {
    each(|rig| {
        rig.launch([Some((0, ONE_WORD, 0x1234)), Some((32, 0, 0x5678))]).expect("no fault");
        assert_eq!(rig.out(0, 8), [0x1234, 0, 0, 0, 0, 0, 0, 0]);
        let first = rig.out(8, 4);
        assert_eq!(first[..2], [0x5678, 0]);
        rig.launch([None, Some((32, 0, 0x5679))]).expect("no fault");
        assert_eq!(rig.out(0, 1), [STORED]);
        let second = rig.out(8, 4);
        assert_eq!(second[..2], [0x5679, 0]);
        let time = |words: &[u32]| u64::from(words[2]) | u64::from(words[3]) << 32;
        assert!(0 < time(&first) && time(&first) < time(&second));
    });
}

#[test]
fn reductions_join_the_payload_with_what_the_kernel_stored() {
    let minus = |n: i32| -n as u32;
    each(|rig| {
        for (how, payload, expected) in [
            (0, 7, 107),
            (0, minus(101), u32::MAX),
            (1 << 20, 99, 99),
            (1 << 20, minus(1), 100),
            (1 << 20 | SIGNED, minus(1), minus(1)),
            (2 << 20, 99, 100),
            (2 << 20, minus(1), minus(1)),
            (2 << 20 | SIGNED, minus(1), 100),
            // Increments wrap to zero at the payload, decrements from zero and from above it to the payload.
            (3 << 20, 101, 101),
            (3 << 20, 100, 0),
            (4 << 20, 100, 99),
            (4 << 20, 99, 99),
            (5 << 20, 0x6c, 0x64),
            (6 << 20, 0x0b, 0x6f),
            (7 << 20, 0x0f, 0x6b),
        ] {
            rig.launch([Some((0, ONE_WORD | REDUCTION | how, payload)), None]).expect("no fault");
            assert_eq!(rig.out(0, 2), [expected, 0], "{how:#x} with {payload:#x}");
        }
    });
}

#[test]
fn a_grid_of_nothing_releases_too_and_a_fault_does_not() {
    each(|mut rig| {
        rig.grid.grid = [1, 0, 1];
        rig.launch([Some((4, ONE_WORD, 1)), None]).expect("no fault");
        assert_eq!(rig.out(0, 2), [0, 1]);
        // Registers that no chip gives.
        (rig.grid.grid, rig.grid.gprs) = ([1; 3], 255);
        rig.grid.block = [1024, 1, 1];
        let error = rig.launch([Some((4, ONE_WORD, 2)), None]).expect_err("a fault");
        assert_eq!((error.kind, rig.out(1, 1)), (ErrorKind::NoDevice, vec![1]));
    });
    each(|rig| {
        let error = rig.launch([Some((0x10_0000_0000, 0, 1)), None]).expect_err("a fault");
        assert!(error.kind == ErrorKind::NoDevice && error.message.contains("LAUNCH (02bc)"), "{error}");
    });
}
