//! Launches of Kepler: a descriptor in memory.

use super::request::{Request, State};
use crate::Memory;
use crate::engine::query::{Reduction, Release};
use crate::engine::registers::Registers;
use crate::shader::Bank;
use nvir_hw::method::kepler_compute::LAUNCH_DESC_ADDRESS;
use nvir_hw::method::shader::{CODE_ADDRESS_HIGH, TEX_CB_INDEX};
use nvir_hw::qmd::{BANKS, Qmd};

/// The constant bank that holds handles of textures.
pub(crate) fn texture_bank(regs: &Registers) -> u8 {
    (regs.get(TEX_CB_INDEX) & 0x1f) as u8
}

/// What the descriptor asks that the registers name: LAUNCH_DESC_ADDRESS is its address / 256.
pub(super) fn request(state: &State, memory: &Memory) -> Result<Request, String> {
    let address = u64::from(state.regs.get(LAUNCH_DESC_ADDRESS)) << 8;
    let mut descriptor = Qmd::default();
    memory
        .read_words(address, &mut descriptor.0)
        .map_err(|e| format!("launch descriptor at {address:#x}: {e}"))?;
    Ok(parse(&descriptor, state.regs.address(CODE_ADDRESS_HIGH)))
}

fn parse(d: &Qmd, code: u64) -> Request {
    Request {
        code,
        entry: d.get(Qmd::PROGRAM_OFFSET),
        grid: d.grid(),
        block: d.block(),
        gprs: d.get(Qmd::REGISTER_COUNT),
        shared: d.get(Qmd::SHARED_MEMORY_SIZE),
        // Mesa needs the first only; the second grows down from the end of the window.
        local: u64::from(d.get(Qmd::SHADER_LOCAL_MEMORY_LOW_SIZE))
            + u64::from(d.get(Qmd::SHADER_LOCAL_MEMORY_HIGH_SIZE)),
        banks: (0..BANKS).map(|i| d.bank(i).map(|(address, size)| Bank { address, size })).collect(),
        releases: [0, 1].map(|i| {
            (d.get(Qmd::RELEASE_ENABLE.at(i)) != 0).then(|| Release {
                address: d.release_address(i),
                payload: d.get(Qmd::RELEASE_PAYLOAD.at(i)),
                with_time: d.get(Qmd::RELEASE_STRUCTURE_SIZE.at(i)) == 0,
                reduction: (d.get(Qmd::RELEASE_REDUCTION_ENABLE.at(i)) != 0).then(|| Reduction {
                    op: d.get(Qmd::RELEASE_REDUCTION_OP.at(i)),
                    signed: d.get(Qmd::RELEASE_REDUCTION_FORMAT.at(i)) == 1,
                }),
            })
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ZERO: Request = Request {
        code: 0x10_0000_0000,
        entry: 0,
        grid: [0; 3],
        block: [0; 3],
        gprs: 0,
        shared: 0,
        local: 0,
        banks: Vec::new(),
        releases: [None; 2],
    };

    /// The request of a descriptor whose bits are all zero but for some words.
    fn of(some: &[(usize, u32)]) -> Request {
        let mut d = Qmd::default();
        some.iter().for_each(|&(at, word)| d.0[at] = word);
        parse(&d, ZERO.code)
    }

    fn with(change: impl Fn(&mut Request)) -> Request {
        let mut r = Request { banks: vec![None; BANKS as usize], ..ZERO };
        change(&mut r);
        r
    }

    #[test]
    fn every_field_is_where_the_descriptor_has_it() {
        assert_eq!(of(&[(8, 0x1234_5678)]), with(|r| r.entry = 0x1234_5678));
        assert_eq!(of(&[(12, u32::MAX)]), with(|r| r.grid[0] = 0x7fff_ffff));
        assert_eq!(of(&[(13, 0x1234_5678)]), with(|r| r.grid = [0, 0x5678, 0x1234]));
        assert_eq!(of(&[(17, u32::MAX)]), with(|r| r.shared = 0x3_ffff));
        assert_eq!(of(&[(18, 0x1234_5678)]), with(|r| r.block[0] = 0x1234));
        assert_eq!(of(&[(19, 0x1234_5678)]), with(|r| r.block = [0, 0x5678, 0x1234]));
        assert_eq!(of(&[(45, u32::MAX)]), with(|r| r.local = 0xff_ffff));
        assert_eq!(of(&[(46, 0x7f00_0010)]), with(|r| (r.local, r.gprs) = (0x10, 0x7f)));
        assert_eq!(of(&[(45, 0x20), (46, 0x10)]), with(|r| r.local = 0x30));
        for i in 0..BANKS as usize {
            let words = [(20, 1 << i), (29 + 2 * i, 0x8765_4300), (30 + 2 * i, 0x1000 << 15 | 0x21)];
            let bank = Bank { address: 0x21_8765_4300, size: 0x1000 };
            assert_eq!(of(&words), with(|r| r.banks[i] = Some(bank)));
            // Without its bit it is not valid.
            assert_eq!(of(&words[1..]), with(|_| {}));
        }
        assert_eq!(of(&[(20, 1), (30, 0xffff_8000)]).banks[0], Some(Bank { address: 0, size: 0x1_ffff }));
        // These have no effect here: invalidation, cache sizes, call stacks, and releases without their bit.
        for word in (0..6).chain([7]).chain(9..12).chain(14..17).chain(21..29).chain(47..64) {
            assert_eq!(of(&[(word, u32::MAX)]), with(|_| {}), "word {word}");
        }
        assert_eq!(of(&[(6, !0xc00)]), with(|_| {}));
    }

    #[test]
    fn releases_are_where_the_descriptor_has_them() {
        for i in 0..2 {
            let at = 23 + 3 * i;
            let release = |how, more: Release| {
                let words = [(6, 0x400 << i), (at, 0x8765_4320), (at + 1, how), (at + 2, 0x1234)];
                assert_eq!(of(&words), with(|r| r.releases[i] = Some(more)), "{how:x}");
            };
            let plain =
                Release { address: 0x21_8765_4320, payload: 0x1234, with_time: false, reduction: None };
            release(0x8000_0021, plain);
            release(0x21, Release { with_time: true, ..plain });
            // Without its bit, a reduction is none.
            release(0x8170_0021, plain);
            for op in 0..8 {
                for signed in [false, true] {
                    let how = 0x8400_0021 | op << 20 | u32::from(signed) << 24;
                    release(how, Release { reduction: Some(Reduction { op, signed }), ..plain });
                }
            }
        }
    }

    #[test]
    fn a_descriptor_without_memory_is_an_error() {
        let mut state = State::default();
        state.regs.set(LAUNCH_DESC_ADDRESS, 0x123);
        let error = request(&state, &Memory::new()).expect_err("no memory");
        assert!(error.contains("0x12300"), "{error}");
    }
}
