//! Launches: what a descriptor or the registers ask, run by the emulator.

use crate::{Memory, compute::State};
use nvir::Chip;

/// How launches run, for the life of a card.
#[derive(Debug, Default)]
pub struct Options {}

/// What stays from launch to launch.
#[derive(Debug)]
pub struct Launcher {}

/// What a launch sees.
pub struct Context<'a> {
    pub chip: Chip,
    pub state: &'a State,
    pub memory: &'a mut Memory,
    /// The card's time when the launch begins, nanoseconds.
    pub time: u64,
    /// Gets lines for the log, if there is one.
    pub log: Option<&'a mut dyn FnMut(&str)>,
}

/// What a launch did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Report {
    pub warp_instructions: u64,
    /// By how much the card's time advances.
    pub nanoseconds: u64,
}

impl Launcher {
    pub fn new(_options: Options) -> Launcher {
        Launcher {}
    }

    /// Runs the grid that a write of LAUNCH starts: on GF100 from the registers and bindings, on Kepler from the descriptor
    /// at LAUNCH_DESC_ADDRESS. The error is a sentence with place and reason; the channel ends with it.
    pub fn launch(&mut self, _context: Context<'_>) -> Result<Report, String> {
        Err("launches are not there yet".into())
    }
}
