//! Launch descriptors of Kepler: QMD 00_06, 64 words. Source of the fields: Mesa's `cla0c0qmd.h`.

use super::Request;
use crate::Memory;
use crate::compute::{Bank, State};
use crate::query::{Reduction, Release};
use nvir_hw::method::kepler_compute::LAUNCH_DESC_ADDRESS;
use nvir_hw::method::shader::{CODE_ADDRESS_HIGH, TEX_CB_INDEX};

/// Words of a descriptor.
const WORDS: usize = 64;
/// Constant banks that a descriptor has.
const BANKS: usize = 8;
/// Two releases of three words each: address, how, payload.
const RELEASE: usize = 23;

/// The constant bank that holds handles of textures.
pub(super) fn texture_bank(state: &State) -> u8 {
    (state.regs.get(TEX_CB_INDEX) & 0x1f) as u8
}

/// What the descriptor asks that the registers name: LAUNCH_DESC_ADDRESS is its address / 256.
pub(super) fn request(state: &State, memory: &Memory) -> Result<Request, String> {
    let address = u64::from(state.regs.get(LAUNCH_DESC_ADDRESS)) << 8;
    let mut words = [0; WORDS];
    memory.read_words(address, &mut words).map_err(|e| format!("launch descriptor at {address:#x}: {e}"))?;
    Ok(parse(&words, state.regs.address(CODE_ADDRESS_HIGH)))
}

fn parse(words: &[u32; WORDS], code: u64) -> Request {
    let field = |word: usize, low: u32, bits: u32| words[word] >> low & (u32::MAX >> (32 - bits));
    let bank = |i: usize| {
        let high = u64::from(field(30 + 2 * i, 0, 8)) << 32;
        let address = high | u64::from(words[29 + 2 * i]);
        (field(20, i as u32, 1) != 0).then(|| Bank { address, size: field(30 + 2 * i, 15, 17) })
    };
    Request {
        code,
        entry: words[8],
        grid: [field(12, 0, 31), field(13, 0, 16), field(13, 16, 16)],
        block: [field(18, 16, 16), field(19, 0, 16), field(19, 16, 16)],
        gprs: field(46, 24, 8),
        shared: field(17, 0, 18),
        // Mesa needs the first only; the second grows down from the end of the window.
        local: u64::from(field(45, 0, 24)) + u64::from(field(46, 0, 24)),
        banks: (0..BANKS).map(bank).collect(),
        releases: [0, 1].map(|i| {
            let word = RELEASE + 3 * i;
            (field(6, 10 + i as u32, 1) != 0).then(|| Release {
                address: u64::from(field(word + 1, 0, 8)) << 32 | u64::from(words[word]),
                payload: words[word + 2],
                with_time: field(word + 1, 31, 1) == 0,
                reduction: (field(word + 1, 26, 1) != 0)
                    .then(|| Reduction { op: field(word + 1, 20, 3), signed: field(word + 1, 24, 2) == 1 }),
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
        let mut words = [0; WORDS];
        some.iter().for_each(|&(at, word)| words[at] = word);
        parse(&words, ZERO.code)
    }

    fn with(change: impl Fn(&mut Request)) -> Request {
        let mut r = Request { banks: vec![None; BANKS], ..ZERO };
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
        for i in 0..BANKS {
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
            let at = RELEASE + 3 * i;
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
