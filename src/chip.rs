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

impl Chip {
    pub const ALL: [Chip; 3] = [Chip::Gf100, Chip::Gk104, Chip::Gk110];

    /// The name used on the command line, in fixtures and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Chip::Gf100 => "gf100",
            Chip::Gk104 => "gk104",
            Chip::Gk110 => "gk110",
        }
    }

    /// General registers that an instruction can name, without RZ. Source: envytools `isa.rst`, Mesa
    /// `nv50_ir_target_nvc0.cpp` (`getFileSize`).
    pub fn gprs(self) -> u32 {
        match self {
            Chip::Gf100 | Chip::Gk104 => 63,
            Chip::Gk110 => 255,
        }
    }

    /// Blocks that a grid has in x at most; in y and z 65535. Source: Mesa `nvc0_screen.c` (PIPE_COMPUTE_CAP_MAX_GRID_SIZE).
    pub fn max_grid_x(self) -> u32 {
        match self {
            Chip::Gf100 => 0xffff,
            Chip::Gk104 | Chip::Gk110 => 0x7fff_ffff,
        }
    }

    /// 32-bit registers of a multiprocessor, shared by its resident threads. Source: CUDA programming guide.
    pub fn register_file(self) -> u32 {
        match self {
            Chip::Gf100 => 32768,
            Chip::Gk104 | Chip::Gk110 => 65536,
        }
    }

    /// Warps of kernels with so many registers a thread that a multiprocessor's register file holds at once. Registers
    /// are given to warps in units of 64 on Fermi and 256 on Kepler. Source: CUDA
    /// occupancy calculator (compute capabilities 2.0, 3.0, 3.5).
    pub fn resident_warps(self, gprs: u32) -> u32 {
        let (unit, most) = match self {
            Chip::Gf100 => (64, 48),
            Chip::Gk104 | Chip::Gk110 => (256, 64),
        };
        (self.register_file() / (32 * gprs.max(1)).next_multiple_of(unit)).min(most)
    }

    /// The most registers below `gprs` with which one more warp is resident, if there are any.
    pub fn occupancy_step(self, gprs: u32) -> Option<u32> {
        let warps = self.resident_warps(gprs);
        (1..gprs).rev().take(32).find(|&n| self.resident_warps(n) > warps)
    }

    /// Threads assumed for a block whose size the program does not declare (INTERFACE section 3).
    pub fn default_block_threads(self) -> u32 {
        match self {
            Chip::Gf100 => 512,
            Chip::Gk104 | Chip::Gk110 => 1024,
        }
    }

    /// The largest block that can be launched, in threads.
    pub fn max_block_threads(self) -> u32 {
        1024
    }

    /// Whether every eighth word of the code is a scheduling word.
    pub fn has_sched_words(self) -> bool {
        self != Chip::Gf100
    }

    /// The bound on general registers for blocks of `threads` threads (`None`: not declared), at least 1.
    pub fn register_limit(self, threads: Option<u32>) -> u32 {
        let threads = threads.unwrap_or(self.default_block_threads()).max(1);
        self.gprs().min(self.register_file() / threads).max(1)
    }
}

impl fmt::Display for Chip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The chip's name was not one of those that INTERFACE lists.
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
            (Chip::Gf100, 63, 16),
            (Chip::Gk104, 32, 64),
            (Chip::Gk104, 33, 51),
            (Chip::Gk110, 128, 16),
            (Chip::Gk110, 255, 8),
        ] {
            assert_eq!(chip.resident_warps(gprs), warps, "{chip} with {gprs} registers");
        }
        assert_eq!(Chip::Gk110.occupancy_step(33), Some(32));
        assert_eq!(Chip::Gk110.occupancy_step(32), None);
        assert_eq!(Chip::Gf100.occupancy_step(24), Some(22));
    }
}
