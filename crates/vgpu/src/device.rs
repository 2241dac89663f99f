//! What engines share: memory, time, the limit of work, and whoever watches.

use crate::Memory;
use crate::engine::registers::Registers;
use crate::frames::{Drawn, Frames};
use crate::log::Log;
pub(crate) use crate::result::EngineResult;
use crate::shader::Launcher;
use crate::watch::{Done, Moment, Ran, Watching, What};
use nvir_base::Chip;
use nvir_emu::Note;
use std::fmt;

/// Where in a submission a method stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MethodLocation {
    /// Number of the submission since the card was made.
    pub submission: u64,
    /// GPU address of the word.
    pub address: u64,
    /// 0 to 7.
    pub subchannel: usize,
    /// Class number; 0 for methods of the channel itself.
    pub class: u32,
    /// Byte address of the method.
    pub method: u32,
}

impl fmt::Display for MethodLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MethodLocation { submission, address, subchannel, class, method } = self;
        let name = nvir_hw::method::name(*class, *method);
        write!(
            f,
            "submission {submission}, word at {address:#x}: subchannel {subchannel} class {class:04x} {name} ({method:04x})"
        )
    }
}

/// Bytes that a method wrote, or the span they lie in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Written {
    /// Of the first byte.
    pub address: u64,
    /// How many.
    pub bytes: u64,
    /// What they are.
    pub what: WriteKind,
    /// The method that wrote them.
    pub place: MethodLocation,
}

/// What was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteKind {
    /// What is the same in every run.
    Data,
    /// A time, which differs from run to run on a card with a clock.
    Time,
    /// Anything anywhere: a launch. Its address and bytes mean nothing.
    Launch,
}

/// One card's share of the engines.
pub(crate) struct Device {
    pub chip: Chip,
    pub memory: Memory,
    pub launcher: Launcher,
    pub log: Option<Log>,
    pub frames: Option<Frames>,
    pub watch: Option<Watching>,
    /// The programs that have run for the command, if somebody looks on who is told of it as a whole.
    pub ran: Option<Vec<Ran>>,
    /// What methods wrote in this submission, if somebody asked.
    pub written: Option<Vec<Written>>,
    /// What executes.
    pub place: MethodLocation,
    /// What the kernel that ended the channel did wrong.
    pub found: Vec<Note>,
    clock: Option<Box<dyn Fn() -> u64 + Send + Sync>>,
    /// Nanoseconds, where there is no clock.
    time: u64,
    /// Bytes that transfers, clears and blits have written so far.
    pub moved: u64,
    /// Units that are left for this submission.
    work: u64,
}

/// Work is counted before it is done, in units of about a nanosecond (`benches/transfers.rs` measures them); so this bounds a
/// submission without its kernels to four seconds.
pub(crate) const WORK_LIMIT: u64 = 1 << 32;

/// What things take.
pub(crate) mod work {
    /// Bytes that a unit copies from rows to rows; with blocks on a side; where only some bits are written.
    pub(crate) const LINEAR: u64 = 16;
    pub(crate) const BLOCKS: u64 = 2;
    pub(crate) const MASKED: u64 = 1;
    /// A word of commands.
    pub(crate) const WORD: u64 = 8;
    /// An instruction of a macro.
    pub(crate) const MACRO_STEP: u64 = 16;
    /// A row of a transfer.
    pub(crate) const ROW: u64 = 32;
    /// A texel of a blit that converts; of one that filters as well.
    pub(crate) const CONVERT: u64 = 96;
    pub(crate) const FILTER: u64 = 400;
    /// A draw, a vertex, a primitive, beside their programs, which have the limit of launches.
    pub(crate) const DRAW: u64 = 1 << 12;
    pub(crate) const VERTEX: u64 = 64;
    pub(crate) const PRIMITIVE: u64 = 64;
    /// Before a kernel's first instruction. Its instructions have a limit of their own.
    pub(crate) const LAUNCH: u64 = 1 << 14;
}

/// Writes of a submission that are kept, at most.
const MAX_WRITTEN: usize = 1 << 20;

/// Units of work that one nanosecond does.
const WORK_PER_NANOSECOND: u64 = 8;

/// Where time begins: zero means "never" to some.
const TIME_START: u64 = 1_000_000_000;

impl Device {
    pub(crate) fn new(
        chip: Chip,
        launcher: Launcher,
        clock: Option<Box<dyn Fn() -> u64 + Send + Sync>>,
    ) -> Device {
        Device {
            chip,
            memory: Memory::new(),
            launcher,
            log: None,
            frames: None,
            watch: None,
            ran: None,
            written: None,
            place: MethodLocation::default(),
            found: Vec::new(),
            clock,
            time: TIME_START,
            moved: 0,
            work: WORK_LIMIT,
        }
    }

    /// Executes a command of which nothing inside is looked at, for whoever looks on.
    pub(crate) fn command(
        &mut self,
        registers: &Registers,
        what: impl Fn() -> What,
        targets: impl Fn() -> Vec<Drawn>,
        execute: impl FnOnce(&mut Device) -> EngineResult,
    ) -> EngineResult {
        let Some(mut watch) = self.watch.take() else { return execute(self) };
        let place = self.place;
        watch.begin(Moment { place, memory: &self.memory, registers }, what(), targets());
        // The last may go on: contiguous writes of a method are one.
        let goes_on = |w: &Written| w.what == WriteKind::Data;
        let before = self.written.as_ref().map(|w| w.len() - usize::from(w.last().is_some_and(goes_on)));
        self.ran = Some(Vec::new());
        let result = execute(self);
        let programs = self.ran.take().unwrap_or_default();
        let written = self.written.as_ref().zip(before).map(|(w, before)| w[before..].to_vec());
        let done = Done { written, programs, ..Done::default() };
        watch.end(Moment { place, memory: &self.memory, registers }, what(), Vec::new(), &done);
        self.watch = Some(watch);
        result
    }

    /// A new submission has `limit` units.
    pub(crate) fn begin(&mut self, limit: u64) {
        self.work = limit;
        self.launcher.begin();
        if let Some(written) = &mut self.written {
            written.clear();
        }
    }

    /// Signalling fences behind a fault has units of its own.
    pub(crate) fn begin_fences(&mut self, limit: u64) {
        self.work = limit;
    }

    /// Takes units of work, before they are done.
    pub(crate) fn charge(&mut self, units: u64) -> EngineResult {
        self.work =
            self.work.checked_sub(units).ok_or("the submission takes more work than a submission may")?;
        self.advance(units / WORK_PER_NANOSECOND);
        Ok(())
    }

    pub(crate) fn advance(&mut self, nanoseconds: u64) {
        self.time = self.time.saturating_add(nanoseconds);
    }

    /// The time in nanoseconds. Every look at it takes some, so that who waits for it to pass does not wait for ever.
    pub(crate) fn now(&mut self) -> u64 {
        self.advance(32);
        self.clock.as_ref().map_or(self.time, |clock| clock())
    }

    /// Notes bytes that the current method writes.
    pub(crate) fn log_write(&mut self, address: u64, bytes: u64) {
        self.note(address, bytes, WriteKind::Data);
    }

    /// Notes a time that the current method writes.
    pub(crate) fn log_time(&mut self, address: u64, bytes: u64) {
        self.note(address, bytes, WriteKind::Time);
    }

    /// Notes that the current method launches a grid.
    pub(crate) fn log_launch(&mut self) {
        self.note(0, 0, WriteKind::Launch);
    }

    fn note(&mut self, address: u64, bytes: u64, what: WriteKind) {
        let place = self.place;
        let Some(written) = &mut self.written else { return };
        // Data of one packet, word by word: one write.
        if let Some(last) = written.last_mut()
            && last.what == what
            && what == WriteKind::Data
            && last.address.checked_add(last.bytes) == Some(address)
            && (last.place.submission, last.place.class, last.place.method)
                == (place.submission, place.class, place.method)
        {
            last.bytes += bytes;
            return;
        }
        if written.len() < MAX_WRITTEN {
            written.push(Written { address, bytes, what, place });
        }
    }
}
