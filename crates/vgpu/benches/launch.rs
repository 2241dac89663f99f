//! What a launch costs beside the emulator's own time: submissions with launches of an empty kernel, while the card has more
//! or less memory in buffers of 2 MiB, as Mesa's allocator makes them.

#[path = "../tests/common/mod.rs"]
mod common;

use common::{COMPUTE, Client, Commands};
use divan::Bencher;
use divan::counter::ItemsCount;
use nvir::emu::{Launch, Memory, Options, Program};
use nvir::{Chip, isa};
use nvir_hw::method::{kepler_compute, shader};
use nvir_hw::qmd::Qmd;
use nvir_vgpu::Config;

const CHIP: Chip = Chip::Gk110;
/// Launches of a submission.
const LAUNCHES: usize = 100;
const SLAB: u64 = 2 << 20;

fn main() {
    divan::main();
}

/// A kernel that does nothing.
fn empty() -> [u64; 2] {
    let exit = isa::text::parse(CHIP, "EXIT", 8, &|_| None).expect("it parses");
    [0x0800_0000_0000_0000, isa::encode(CHIP, &exit, 8).expect("it encodes")]
}

fn halves(words: &[u64]) -> Vec<u32> {
    words.iter().flat_map(|w| [*w as u32, (*w >> 32) as u32]).collect()
}

#[divan::bench(args = [64, 2048])]
fn submitted(bencher: Bencher<'_, '_>, mebibytes: u64) {
    let client = Client::with(Config { vram_bytes: 4 << 30, ..Config::new(CHIP) });
    let slabs = (mebibytes << 20) / SLAB;
    (0..slabs).for_each(|_| {
        client.buffer(SLAB);
    });
    // A text buffer of usual size, with the kernel at its end.
    let (bytes, entry) = (512 << 10, (512 << 10) - 64);
    let text = client.buffer(bytes);
    client.gpu().write(text.offset + entry, &halves(&empty())).expect("mapped");
    let mut descriptor = Qmd::default();
    descriptor.set_grid([1; 3]).set_block([1; 3]);
    descriptor.set(Qmd::PROGRAM_OFFSET, entry as u32).set(Qmd::REGISTER_COUNT, 16);
    let descriptor = client.filled(4096, &descriptor.0);
    let mut commands = Commands::default();
    commands.address(COMPUTE, shader::CODE_ADDRESS_HIGH, text.offset);
    for _ in 0..LAUNCHES {
        commands
            .inc(COMPUTE, kepler_compute::LAUNCH_DESC_ADDRESS, &[(descriptor.offset >> 8) as u32])
            .immediate(COMPUTE, kepler_compute::LAUNCH, 3);
    }
    let launches = ItemsCount::new(LAUNCHES);
    bencher.counter(launches).bench_local(|| client.run(&commands).expect("no fault"));
}

/// The same in the emulator alone.
#[divan::bench]
fn emulated(bencher: Bencher<'_, '_>) {
    let program = Program::new(CHIP, &empty());
    let mut memory = Memory::new();
    let launch = Launch::new(&program);
    let mut run = || nvir::emu::run(&launch, &mut memory, &mut Options { threads: 1, ..Options::default() });
    bencher.counter(ItemsCount::new(LAUNCHES)).bench_local(|| {
        for _ in 0..LAUNCHES {
            run().expect("no fault");
        }
    });
}
