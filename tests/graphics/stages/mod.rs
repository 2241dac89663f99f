//! Graphics stages in the emulator: what threads get and leave behind, on three chips, and what is a fault.

mod batch;
mod fixture;
mod fragment;
mod geometry;
mod vertex;

use nvir::emu::stage::{Attributes, Launch, Output, Raster, Work, run};
use nvir::emu::{self, Checks, Fault, FaultKind, Memory, Options, Program};
use nvir::image::listing;
use nvir::isa::header::Header;
use nvir::{Chip, diag};

/// Assembles one chip's instructions, also those that can only fault.
pub(crate) fn assemble(chip: Chip, lines: &[&str]) -> Vec<u64> {
    let text = format!(".chip {chip}\n.unchecked\n{}\n", lines.join("\n"));
    let done = listing::assemble(&text, chip, "main");
    let done = done.unwrap_or_else(|d| panic!("{}", diag::render(&d, "test", &text, false)));
    done.kernels.into_iter().next().expect("a kernel").code
}

/// What a run is besides its code and work.
pub(crate) struct Around<'a> {
    /// What it runs on.
    pub chip: Chip,
    /// What is checked.
    pub checks: Checks,
    /// State of the rasteriser.
    pub raster: Raster,
    /// What it reads and writes.
    pub memory: &'a mut Memory,
    /// Words at the beginning of c[0x0].
    pub constants: &'a [u32],
    /// By number.
    pub textures: Vec<emu::Image>,
}

/// Runs code with everything checked.
pub(crate) fn execute(
    chip: Chip,
    lines: &[&str],
    header: &Header,
    work: &Work,
) -> Result<Output, Box<Fault>> {
    let memory = &mut Memory::new();
    let raster = Raster::default();
    execute_in(
        lines,
        header,
        work,
        Around { chip, checks: Checks::ALL, raster, memory, constants: &[], textures: Vec::new() },
    )
}

/// The same with all that may be around.
pub(crate) fn execute_in(
    lines: &[&str],
    header: &Header,
    work: &Work,
    around: Around<'_>,
) -> Result<Output, Box<Fault>> {
    let program = Program::new(around.chip, &assemble(around.chip, lines));
    let mut base = emu::Launch::new(&program);
    base.gprs = 32;
    base.local_bytes = header.local_bytes;
    for (n, word) in around.constants.iter().enumerate() {
        base.set_const_u32(0, 4 * n, *word);
    }
    base.texture_bank = 15;
    base.set_const_u32(15, 0x20, 0);
    base.samplers = vec![emu::Sampler { mip: emu::MipFilter::Nearest, ..emu::Sampler::default() }];
    base.textures = around.textures.into_iter().map(Some).collect();
    let launch = Launch { raster: around.raster, ..Launch::new(base, header, work) };
    let mut options = Options { checks: around.checks, step_limit: 100_000, ..Options::default() };
    run(&launch, around.memory, &mut options).map(|(output, _)| output)
}

/// Runs code that must fault: its kind, and a part of what is said.
pub(crate) fn faults(chip: Chip, lines: &[&str], header: &Header, work: &Work, kind: FaultKind, said: &str) {
    let fault = execute(chip, lines, header, work).expect_err(said);
    assert_eq!(fault.kind, kind, "{chip}: {fault}");
    assert!(fault.to_string().contains(said), "{chip}: `{said}` is not in: {fault}");
}

/// Attributes from pairs of an address and floats.
pub(crate) fn attributes(values: &[(u32, &[f32])]) -> Attributes {
    let mut all = Attributes::new();
    for (address, floats) in values {
        all.put_all(*address, &floats.iter().map(|f| f.to_bits()).collect::<Vec<_>>());
    }
    all
}

/// What stands in attributes.
pub(crate) fn floats<const N: usize>(from: &Attributes, address: u32) -> [Option<f32>; N] {
    std::array::from_fn(|c| from.get(address + 4 * c as u32).map(f32::from_bits))
}

/// Declares addresses as read, and others as written.
pub(crate) fn declared(mut header: Header, reads: &[u32], writes: &[u32]) -> Header {
    reads.iter().for_each(|a| header.set_read(*a));
    writes.iter().for_each(|a| header.set_written(*a));
    header
}

/// Vertices with these values of GENERIC[0].x and on, from 0x80 on.
pub(crate) fn vertices(values: &[[f32; 4]]) -> Work {
    Work::Vertices(values.iter().map(|v| attributes(&[(0x80, v)])).collect())
}
