//! Words at which something may go wrong.

use nvir::random::Random;

/// A word: edges of numbers, and addresses in or near buffers.
pub(super) fn word(r: &mut Random, buffers: &[(u64, u64)]) -> u32 {
    match r.below(8) {
        0 => r.below(4) as u32,
        1 => (r.below(4) as u32).wrapping_neg(),
        2 => 1 << r.below(32),
        3 => (1u32 << r.below(32)).wrapping_sub(1 + r.below(2) as u32),
        4 => r.word() as u32,
        5 => near(r, buffers) as u32,
        6 => (near(r, buffers) >> 32) as u32,
        // Two halves of 16 bits.
        _ => (1 << r.below(16) | (1 << r.below(16)) << 16) - r.below(2) as u32,
    }
}

/// A value of a register of draws: small numbers, sizes, OpenGL's enumerations, floats.
pub(super) fn state(r: &mut Random, buffers: &[(u64, u64)]) -> u32 {
    const ENUMERATIONS: [u32; 10] =
        [0x200, 0x404, 0x900, 0x1500, 0x1b00, 0x1d00, 0x1e00, 0x4000, 0x8006, 0xc000];
    const FLOATS: [f32; 12] = [
        0.0,
        1.0,
        -1.0,
        0.5,
        64.0,
        -2.5,
        3e9,
        1e38,
        f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::MIN_POSITIVE,
    ];
    match r.below(6) {
        0 => (r.below(256) >> r.below(9)) as u32,
        1 => r.of_list(&ENUMERATIONS) + r.below(16) as u32,
        2 => r.of_list(&FLOATS).to_bits(),
        // A rectangle's side, or the largest size.
        3 => ((r.below(64) as u32) << 16 | r.below(4096) as u32) >> r.below(16),
        _ => word(r, buffers),
    }
}

/// What a word becomes.
pub(super) fn changed(r: &mut Random, old: u32, buffers: &[(u64, u64)]) -> u32 {
    match r.below(6) {
        0 => old ^ 1 << r.below(32),
        1 => old.wrapping_add(1 + r.below(16) as u32),
        2 => old.wrapping_sub(1 + r.below(16) as u32),
        3 => old ^ (r.word() as u32 & 0xffff) << (8 * r.below(3)),
        _ => word(r, buffers),
    }
}

/// An address in a buffer, at its start, around its end, or nowhere.
pub(super) fn near(r: &mut Random, buffers: &[(u64, u64)]) -> u64 {
    let &(address, bytes) = r.of_list(buffers);
    match r.below(8) {
        0 => address,
        1 => address + bytes - r.below(64) as u64,
        2 => address + bytes + r.below(4096) as u64,
        3 => r.word() >> 24,
        4 => address + r.below(bytes as usize) as u64,
        _ => address + (r.below(bytes as usize) as u64 & !0xff),
    }
}
