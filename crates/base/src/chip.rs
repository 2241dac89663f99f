//! The three chips and what differs between them outside the instruction set.

use std::fmt;
use std::str::FromStr;

/// A code generation target.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Chip {
    /// Fermi, compute capability 2.0.
    Gf100,
    /// Kepler, compute capability 3.0: Fermi's word layout with scheduling words.
    Gk104,
    /// Kepler, compute capability 3.5 and 3.7: a layout of its own, 255 registers.
    Gk110,
}

/// Bytes of a bank of constant memory.
pub const CONST_BANK_BYTES: u32 = 64 << 10;

/// The most bytes of call-return stack that a launch can provide: headers have 24 bits (NAK
/// `sph.rs`).
pub const MAX_CALL_STACK_BYTES: u32 = 0xff_ffff;

impl Chip {
    /// Where CUDA's driver puts a kernel's parameters: the offset in constant bank 0. Source:
    /// ptxas's code and sections.
    pub const fn cuda_params(self) -> u32 {
        match self {
            Chip::Gf100 => 0x20,
            Chip::Gk104 | Chip::Gk110 => 0x140,
        }
    }

    /// All chips, oldest first.
    pub const ALL: [Chip; 3] = [Chip::Gf100, Chip::Gk104, Chip::Gk110];

    /// The name used on the command line, in fixtures and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Chip::Gf100 => "gf100",
            Chip::Gk104 => "gk104",
            Chip::Gk110 => "gk110",
        }
    }

    /// The number by which the kernel driver knows the chip: what `GETPARAM` gives, NV*xx*. Source:
    /// envytools `pcat.rst`.
    pub fn chipset(self) -> u32 {
        match self {
            Chip::Gf100 => 0xc0,
            Chip::Gk104 => 0xe4,
            Chip::Gk110 => 0xf0,
        }
    }

    /// The target whose code a chip with this number executes, itself or a relative: Fermi; GK104,
    /// GK106, GK107; GK110, GK110B, GK208.
    pub fn of_chipset(number: u32) -> Option<Chip> {
        Some(match number {
            0xc0 | 0xc1 | 0xc3 | 0xc4 | 0xc8 | 0xce | 0xcf | 0xd7 | 0xd9 => Chip::Gf100,
            0xe4 | 0xe6 | 0xe7 => Chip::Gk104,
            0xf0 | 0xf1 | 0x106 | 0x108 => Chip::Gk110,
            _ => return None,
        })
    }

    /// The most registers that [`Chip::gprs`] gives.
    pub const MAX_GPRS: u32 = 255;

    /// General registers that an instruction can name, without RZ. Source: envytools `isa.rst`,
    /// Mesa `nv50_ir_target_nvc0.cpp` (`getFileSize`).
    #[inline]
    pub fn gprs(self) -> u32 {
        match self {
            Chip::Gf100 | Chip::Gk104 => 63,
            Chip::Gk110 => Self::MAX_GPRS,
        }
    }

    /// Blocks that a grid has in x, y and z at most. Source: CUDA programming guide, technical
    /// specifications by compute capability (as all limits below that name no other); Mesa
    /// `nvc0_screen.c` (PIPE_COMPUTE_CAP_MAX_GRID_SIZE).
    pub fn max_grid(self) -> [u32; 3] {
        match self {
            Chip::Gf100 => [0xffff; 3],
            Chip::Gk104 | Chip::Gk110 => [0x7fff_ffff, 0xffff, 0xffff],
        }
    }

    /// Threads that a block has in x, y and z at most.
    pub(crate) fn max_block(self) -> [u32; 3] {
        [1024, 1024, 64]
    }

    /// Threads of the largest block.
    pub fn max_block_threads(self) -> u32 {
        1024
    }

    /// Bytes of shared memory of a block, at most.
    pub fn max_shared(self) -> u32 {
        48 << 10
    }

    /// Bytes of local memory of a thread, at most.
    pub fn max_local(self) -> u32 {
        512 << 10
    }

    /// Execution barriers of a block.
    pub fn max_barriers(self) -> u32 {
        16
    }

    /// Threads assumed for a block whose size the program does not declare.
    pub(crate) fn default_block_threads(self) -> u32 {
        match self {
            Chip::Gf100 => 512,
            Chip::Gk104 | Chip::Gk110 => 1024,
        }
    }

    /// Whether a grid of these blocks can be launched with so many registers a thread; the reason,
    /// if not.
    pub fn check_launch(self, grid: [u32; 3], block: [u32; 3], gprs: u32) -> Result<(), LimitError> {
        self.check_axes("grid", grid, self.max_grid())?;
        self.check_block(block)?;
        let threads = block.into_iter().product();
        let limit = self.register_limit(Some(threads));
        if gprs > limit {
            return Err(LimitError::Registers { chip: self, threads, gprs, limit });
        }
        Ok(())
    }

    /// Whether a block can have this size.
    pub fn check_block(self, block: [u32; 3]) -> Result<(), LimitError> {
        self.check_axes("block", block, self.max_block())?;
        // Each factor has at most 11 bits now.
        let threads = block.into_iter().product();
        if threads > self.max_block_threads() {
            return Err(LimitError::Threads { chip: self, block, threads, max: self.max_block_threads() });
        }
        Ok(())
    }

    fn check_axes(self, what: &'static str, size: [u32; 3], max: [u32; 3]) -> Result<(), LimitError> {
        let mut axes = ['x', 'y', 'z'].into_iter().zip(size.into_iter().zip(max));
        match axes.find(|&(_, (size, max))| size == 0 || size > max) {
            Some((axis, (size, max))) => Err(LimitError::Size { chip: self, what, axis, size, max }),
            None => Ok(()),
        }
    }

    /// Whether a block can have so many bytes of shared memory: the number, if so.
    pub fn check_shared(self, bytes: u64) -> Result<u32, LimitError> {
        let max = self.max_shared();
        if bytes > max.into() { Err(LimitError::Shared { chip: self, bytes, max }) } else { Ok(bytes as u32) }
    }

    /// Whether a thread can have so many bytes of local memory.
    pub fn check_local(self, bytes: u32) -> Result<(), LimitError> {
        let max = self.max_local();
        if bytes > max { Err(LimitError::Local { chip: self, bytes, max }) } else { Ok(()) }
    }

    /// 32-bit registers of a multiprocessor, shared by its resident threads.
    pub fn register_file(self) -> u32 {
        match self {
            Chip::Gf100 => 32768,
            Chip::Gk104 | Chip::Gk110 => 65536,
        }
    }

    /// Registers of a thread that a launch names at least: drivers give every kernel four. Source:
    /// NAK `ir.rs`; Mesa's `nv50_ir` counts four at least, too.
    pub const MIN_LAUNCH_GPRS: u32 = 4;

    /// How registers are handed out: the registers of a thread in multiples of the first, warps in
    /// multiples of the second. Source: CUDA occupancy calculator (2.0: 64 registers a warp, warps
    /// in twos; 3.0 and 3.5: 256 and fours); on Kepler also NAK, whose test launches blocks of
    /// every size.
    fn register_units(self) -> (u32, u32) {
        match self {
            Chip::Gf100 => (2, 2),
            Chip::Gk104 | Chip::Gk110 => (8, 4),
        }
    }

    /// The bound on general registers for blocks of `threads` threads (`None`: not declared).
    pub fn register_limit(self, threads: Option<u32>) -> u32 {
        let (registers, warps) = self.register_units();
        let threads = threads.unwrap_or(self.default_block_threads()).clamp(1, self.max_block_threads());
        let each = self.register_file() / threads.next_multiple_of(32 * warps);
        self.gprs().min(each / registers * registers)
    }

    /// Warps that a multiprocessor holds at once, at most.
    #[inline]
    pub fn most_warps(self) -> u32 {
        match self {
            Chip::Gf100 => 48,
            Chip::Gk104 | Chip::Gk110 => 64,
        }
    }

    /// Schedulers of a multiprocessor, each with its share of the resident warps. Source: CUDA C
    /// programming guide.
    #[inline]
    pub fn schedulers(self) -> u32 {
        match self {
            Chip::Gf100 => 2,
            Chip::Gk104 | Chip::Gk110 => 4,
        }
    }

    /// Warps of kernels with so many registers a thread that a multiprocessor holds at once, where
    /// its other limits (blocks, shared memory) allow it.
    pub fn resident_warps(self, gprs: u32) -> u32 {
        let (registers, warps) = self.register_units();
        let most = self.most_warps();
        let fit = self.register_file() / 32 / gprs.max(1).next_multiple_of(registers);
        (fit / warps * warps).min(most)
    }

    /// The most registers a thread with which a multiprocessor still holds as many warps as with
    /// `gprs`, whatever their blocks.
    pub fn gprs_of_warps(self, gprs: u32) -> u32 {
        let warps = self.resident_warps(gprs);
        (gprs..=self.gprs()).take_while(|&n| self.resident_warps(n) >= warps).last().unwrap_or(gprs)
    }

    /// The same for blocks of `threads` threads (`None`: not declared) and `shared` bytes: other limits may let fewer warps be
    /// resident than registers do.
    pub fn gprs_of_occupancy(self, threads: Option<u32>, gprs: u32, shared: u32) -> u32 {
        if threads.is_none() {
            return self.gprs_of_warps(gprs);
        }
        let (warps, (unit, _)) = (self.occupancy(threads, gprs, shared), self.register_units());
        let units = (gprs.next_multiple_of(unit)..=self.gprs() + unit).step_by(unit as usize);
        let most = units.take_while(|&n| self.occupancy(threads, n, shared) >= warps).last();
        most.unwrap_or(gprs).min(self.gprs()).max(gprs)
    }

    /// The most warps that a multiprocessor holds of blocks of `threads` threads (`None`: not
    /// declared) and `shared` bytes, whatever their registers.
    pub fn resident_warps_of_blocks(self, threads: Option<u32>, shared: u32) -> u32 {
        let (blocks, unit) = match self {
            Chip::Gf100 => (8, 128),
            Chip::Gk104 | Chip::Gk110 => (16, 256),
        };
        let threads = threads.unwrap_or(self.default_block_threads()).clamp(1, self.max_block_threads());
        let by_shared = self.max_shared() / shared.max(1).next_multiple_of(unit);
        threads.div_ceil(32) * blocks.min(by_shared.max(1))
    }

    /// Warps that a multiprocessor holds at once: whole blocks of `threads` threads with `gprs`
    /// registers each and `shared` bytes. `None`: blocks may have any size, as far as the largest
    /// that is launched by default fits as often.
    pub fn occupancy(self, threads: Option<u32>, gprs: u32, shared: u32) -> u32 {
        let most = self.resident_warps(gprs).min(self.resident_warps_of_blocks(threads, shared));
        let Some(threads) = threads else { return most };
        let block = threads.clamp(1, self.max_block_threads()).div_ceil(32);
        most / block * block
    }

    /// The most registers below `gprs` with which more warps of such blocks are resident, if there
    /// are any.
    pub fn occupancy_step(self, threads: Option<u32>, gprs: u32, shared: u32) -> Option<u32> {
        let warps = self.occupancy(threads, gprs, shared);
        (1..gprs).rev().take(32).find(|&n| self.occupancy(threads, n, shared) > warps)
    }

    /// Whether every eighth word of the code is a scheduling word.
    #[inline]
    pub fn has_sched_words(self) -> bool {
        self != Chip::Gf100
    }
}

impl fmt::Display for Chip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A launch, or a program's declaration, that no launch on the chip can satisfy.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LimitError {
    /// An extent of a grid or block.
    #[error("a {what} of {size} in {axis}: {chip} takes 1 to {max} there")]
    Size {
        /// Whose limit it is.
        chip: Chip,
        /// Grid or block.
        what: &'static str,
        /// `x`, `y` or `z`.
        axis: char,
        /// What was asked for.
        size: u32,
        /// What there is.
        max: u32,
    },
    /// Threads of a block.
    #[error("a block of {block:?} has {threads} threads: {chip} launches at most {max}")]
    Threads {
        /// Whose limit it is.
        chip: Chip,
        /// Its extents.
        block: [u32; 3],
        /// Their product.
        threads: u32,
        /// What there is.
        max: u32,
    },
    /// Shared memory of a block.
    #[error("{bytes} bytes of shared memory: a block on {chip} has at most {max}")]
    Shared {
        /// Whose limit it is.
        chip: Chip,
        /// What was asked for.
        bytes: u64,
        /// What there is.
        max: u32,
    },
    /// Local memory of a thread.
    #[error("{bytes} bytes of local memory: a thread on {chip} has at most {max}")]
    Local {
        /// Whose limit it is.
        chip: Chip,
        /// What was asked for.
        bytes: u32,
        /// What there is.
        max: u32,
    },
    /// A number among the options.
    #[error("{what} is {value}: {chip} takes {min} to {max}")]
    Number {
        /// Whose limit it is.
        chip: Chip,
        /// Its name.
        what: &'static str,
        /// What was asked for.
        value: u32,
        /// The least that is taken.
        min: u32,
        /// The most.
        max: u32,
    },
    /// Registers of a block's threads.
    #[error(
        "{threads} threads of {gprs} registers do not fit: {chip} has {limit} for each thread of such a block"
    )]
    Registers {
        /// Whose limit it is.
        chip: Chip,
        /// Threads of the block.
        threads: u32,
        /// What each of them needs.
        gprs: u32,
        /// What each of them can have.
        limit: u32,
    },
}

/// The name is none of a chip (`docs/commands.md`).
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("unknown chip `{0}`: use gf100, gk104 or gk110 (also nvc0, nve4, nvf0; sm_20, sm_30, sm_35)")]
pub struct UnknownChip(pub String);

impl FromStr for Chip {
    type Err = UnknownChip;

    fn from_str(s: &str) -> Result<Chip, UnknownChip> {
        match s.to_ascii_lowercase().as_str() {
            "gf100" | "nvc0" | "c0" | "sm_20" => Ok(Chip::Gf100),
            "gk104" | "nve4" | "e4" | "sm_30" => Ok(Chip::Gk104),
            "gk110" | "nvf0" | "f0" | "sm_35" | "sm_37" => Ok(Chip::Gk110),
            _ => Err(UnknownChip(s.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resident_warps_are_those_of_the_occupancy_calculator() {
        for (chip, gprs, warps) in [
            (Chip::Gf100, 20, 48),
            (Chip::Gf100, 21, 46),
            (Chip::Gf100, 22, 46),
            (Chip::Gf100, 24, 42),
            (Chip::Gf100, 63, 16),
            (Chip::Gk104, 32, 64),
            (Chip::Gk104, 33, 48),
            (Chip::Gk110, 40, 48),
            (Chip::Gk110, 41, 40),
            (Chip::Gk110, 48, 40),
            (Chip::Gk110, 57, 32),
            (Chip::Gk110, 128, 16),
            (Chip::Gk110, 129, 12),
            (Chip::Gk110, 255, 8),
        ] {
            assert_eq!(chip.resident_warps(gprs), warps, "{chip} with {gprs} registers");
        }
    }

    #[test]
    fn registers_that_cost_no_warp_depend_on_the_blocks_too() {
        // 16 blocks of two warps are the most: 64 registers for each thread.
        assert_eq!(Chip::Gk110.gprs_of_occupancy(Some(64), 48, 0), 64);
        assert_eq!(Chip::Gk110.gprs_of_occupancy(None, 48, 0), 48);
        for chip in Chip::ALL {
            for threads in [1, 32, 64, 96, 128, 256, 1000] {
                for gprs in 1..=chip.gprs() {
                    for shared in [0, 3000, 20_000] {
                        let warps = chip.occupancy(Some(threads), gprs, shared);
                        let keeps = |n: &u32| chip.occupancy(Some(threads), *n, shared) >= warps;
                        let most = (gprs..=chip.gprs()).take_while(keeps).last();
                        assert_eq!(
                            Some(chip.gprs_of_occupancy(Some(threads), gprs, shared)),
                            most,
                            "{chip} {threads} {gprs}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn a_step_of_occupancy_is_the_next_place_where_warps_are_gained() {
        assert_eq!(Chip::Gk110.occupancy_step(None, 33, 0), Some(32));
        assert_eq!(Chip::Gk110.occupancy_step(None, 32, 0), None);
        // 73 to 80 registers: 24 warps; 65 to 72: 28.
        assert_eq!(Chip::Gk110.occupancy_step(None, 80, 0), Some(72));
        // 121 to 168 registers: between 16 and 12 warps there is one step, at 128.
        assert_eq!(Chip::Gk110.occupancy_step(None, 160, 0), Some(128));
        assert_eq!(Chip::Gk110.occupancy_step(None, 168, 0), None, "farther than anybody goes");
        assert_eq!(Chip::Gf100.occupancy_step(None, 24, 0), Some(22));
        assert_eq!(Chip::Gf100.occupancy_step(None, 22, 0), Some(20));
        assert_eq!(Chip::Gf100.occupancy_step(Some(256), 24, 4096), Some(20), "whole blocks");
        assert_eq!(Chip::Gf100.occupancy_step(Some(64), 32, 0), None, "eight blocks are resident at most");
    }

    #[test]
    fn registers_of_a_block_follow_the_cards_units() {
        // Facts measured on cards (NAK): the table of page nak-kepler, section 4.
        for (threads, gprs) in [
            (1, 255),
            (256, 255),
            (257, 168),
            (288, 168),
            (416, 128),
            (544, 96),
            (608, 96),
            (672, 80),
            (736, 80),
            (800, 72),
            (896, 72),
            (992, 64),
            (1024, 64),
        ] {
            assert_eq!(Chip::Gk110.register_limit(Some(threads)), gprs, "{threads} threads");
            assert_eq!(Chip::Gk104.register_limit(Some(threads)), gprs.min(63), "{threads} threads");
        }
        for (threads, gprs) in [(1, 63), (512, 63), (513, 56), (576, 56), (672, 46), (960, 34), (1024, 32)] {
            assert_eq!(Chip::Gf100.register_limit(Some(threads)), gprs, "{threads} threads");
        }
        assert_eq!(Chip::Gk110.register_limit(None), 64);
        assert_eq!(Chip::Gf100.register_limit(None), 63);
    }

    #[test]
    fn every_block_size_fits_with_its_limit_and_not_with_the_next_unit() {
        for chip in Chip::ALL {
            let (registers, warps) = chip.register_units();
            for threads in 1..=1024u32 {
                let limit = chip.register_limit(Some(threads));
                let needs = |gprs: u32| threads.div_ceil(32).next_multiple_of(warps) * 32 * gprs;
                assert!(
                    needs(limit.next_multiple_of(registers)) <= chip.register_file(),
                    "{chip}, {threads}"
                );
                let more = limit / registers * registers + registers;
                assert!(limit == chip.gprs() || needs(more) > chip.register_file(), "{chip}, {threads}");
                assert!(chip.check_launch([1; 3], [threads, 1, 1], limit).is_ok());
                if limit < chip.gprs() {
                    assert!(chip.check_launch([1; 3], [threads, 1, 1], limit + 1).is_err());
                }
            }
        }
    }

    #[test]
    fn blocks_and_shared_memory_bound_what_is_resident() {
        assert_eq!(Chip::Gk110.resident_warps_of_blocks(Some(32), 0), 16);
        assert_eq!(Chip::Gf100.resident_warps_of_blocks(Some(64), 0), 16);
        assert_eq!(Chip::Gk110.resident_warps_of_blocks(Some(256), 24 << 10), 16);
        assert_eq!(Chip::Gk110.resident_warps_of_blocks(Some(256), (24 << 10) + 1), 8);
        assert_eq!(Chip::Gk110.resident_warps_of_blocks(Some(33), 48 << 10), 2);
    }

    #[test]
    fn only_whole_blocks_are_resident() {
        for (chip, threads, gprs, shared, warps) in [
            // 48 warps by registers; a block of 32, of 12, of 8.
            (Chip::Gk110, Some(1024), 40, 0, 32),
            (Chip::Gk110, Some(384), 40, 0, 48),
            (Chip::Gk110, Some(256), 40, 0, 48),
            (Chip::Gk110, None, 40, 0, 48),
            (Chip::Gk104, Some(256), 32, 16 << 10, 24),
            (Chip::Gk110, Some(32), 16, 0, 16),
            (Chip::Gf100, Some(192), 20, 0, 48),
            (Chip::Gf100, Some(256), 21, 0, 40),
        ] {
            assert_eq!(
                chip.occupancy(threads, gprs, shared),
                warps,
                "{chip}: {threads:?} of {gprs}, {shared}"
            );
        }
    }

    #[test]
    fn launches_beyond_a_limit_are_refused_by_name() {
        let why = |chip: Chip, grid, block, shared, gprs| {
            let launch = chip.check_launch(grid, block, gprs).and(chip.check_shared(shared));
            launch.map_err(|e| e.to_string()).err().unwrap_or_default()
        };
        let one = [1, 1, 1];
        for chip in Chip::ALL {
            for (block, says) in [
                ([0, 1, 1], "a block of 0 in x"),
                ([1, 0, 1], "a block of 0 in y"),
                ([1025, 1, 1], "a block of 1025 in x"),
                ([1, 1, 65], "a block of 65 in z"),
                ([0x8000_0000, 2, 1], "a block of 2147483648 in x"),
                ([1024, 2, 1], "has 2048 threads"),
                ([32, 32, 2], "has 2048 threads"),
            ] {
                assert!(why(chip, one, block, 0, 16).contains(says), "{}", why(chip, one, block, 0, 16));
            }
            for (grid, says) in [
                ([0, 1, 1], "a grid of 0 in x"),
                ([1, 65536, 1], "a grid of 65536 in y"),
                ([1, 1, 65536], "a grid of 65536 in z"),
                ([0x8000_0000, 1, 1], "a grid of 2147483648 in x"),
            ] {
                assert!(why(chip, grid, one, 0, 16).contains(says), "{}", why(chip, grid, one, 0, 16));
            }
            assert!(why(chip, one, one, 49153, 16).contains("49153 bytes of shared memory"));
            assert_eq!(why(chip, one, [1024, 1, 1], 49152, 16), "");
            assert_eq!(why(chip, one, [16, 1, 64], 49152, 16), "");
            assert_eq!(why(chip, [65535; 3], one, 0, 16), "");
        }
        assert!(why(Chip::Gf100, [65536, 1, 1], one, 0, 16).contains("gf100 takes 1 to 65535"));
        assert_eq!(why(Chip::Gk104, [65536, 1, 1], one, 0, 16), "");
        assert!(why(Chip::Gk110, one, [672, 1, 1], 0, 81).contains("has 80 for each thread"));
    }
}
