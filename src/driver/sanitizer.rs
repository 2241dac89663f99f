//! What a launch of a sanitized program needs of its driver, and what it reports.
//!
//! A sanitized program ([`Options::sanitize`](crate::Options::sanitize)) checks its own accesses.
//! The driver provides, and says in its constant bank where it is ([`Words`]):
//!
//! - the *report*: zeroed memory of [`Sanitizer::report_bytes`];
//! - the *ranges*: a table of the memory that the program may reach by address, [`ranges`];
//! - the *shared region*: [`Sanitizer::region_bytes`] of zeroed memory, in which each block of the
//!   grid has its shared memory.
//!
//! ```text
//! report    0  u32  failed checks of all threads
//!           16 u32  the same of each check
//!           .. 32 bytes of each check, about its first failure: how many failures of all checks came before it, address low,
//!              address high, block x y z, thread x | y << 16, thread z
//! ranges    16 bytes each, ascending: first address, end (64 bits each)
//! ```
//!
//! [`Sanitizer::findings`] reads the report.

use crate::diag::Loc;
use std::fmt;

/// Bytes of the report before the counts of checks.
pub const HEADER_BYTES: u32 = 16;
/// Bytes of the record of a check.
pub(crate) const RECORD_BYTES: u32 = 32;

/// Bytes that nothing uses behind a variable in shared memory, where red zones are asked for.
pub const RED_ZONE: u32 = 16;

/// The shared memory of a block begins at a multiple of this in the region.
pub const REGION_ALIGN: u32 = 256;

/// No region is larger: 1 GiB.
pub(crate) const MAX_REGION: u64 = 1 << 30;

/// What the program reads at [`Abi::sanitizer`](super::Abi::sanitizer) of the driver's bank.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Words {
    /// Address of the report.
    pub report: u64,
    /// Address of its records: [`Sanitizer::records_at`] bytes behind.
    pub records: u64,
    /// Address and entries of the table of global memory.
    pub global: (u64, u32),
    /// The same of variables in shared memory, whose addresses are offsets.
    pub variables: (u64, u32),
    /// Bytes of a block's shared memory, with what the launch adds.
    pub shared_bytes: u32,
    /// Address of the shared region.
    pub region: u64,
    /// Bytes from the shared memory of one block to that of the next.
    pub stride: u32,
}

impl Words {
    /// Byte offsets from [`Abi::sanitizer`](super::Abi::sanitizer).
    pub(crate) const REPORT: u16 = 0;
    /// Of [`Words::records`].
    pub(crate) const RECORDS: u16 = 8;
    /// Of [`Words::global`]: address, entries.
    pub const GLOBAL: u16 = 16;
    /// Of [`Words::variables`]: address, entries.
    pub(crate) const VARIABLES: u16 = 28;
    /// Of [`Words::shared_bytes`].
    pub(crate) const SHARED_BYTES: u16 = 40;
    /// Of [`Words::region`].
    pub(crate) const REGION: u16 = 44;
    /// Of [`Words::stride`].
    pub(crate) const STRIDE: u16 = 52;

    /// The words in their order.
    pub fn words(&self) -> [u32; 14] {
        let [low, high] = [|a: u64| a as u32, |a: u64| (a >> 32) as u32];
        [
            low(self.report),
            high(self.report),
            low(self.records),
            high(self.records),
            low(self.global.0),
            high(self.global.0),
            self.global.1,
            low(self.variables.0),
            high(self.variables.0),
            self.variables.1,
            self.shared_bytes,
            low(self.region),
            high(self.region),
            self.stride,
        ]
    }
}

/// The bytes of a table of ranges (first address, bytes): sorted, without the empty ones; what
/// overlaps is one.
pub fn ranges(all: &[(u64, u64)]) -> Vec<u8> {
    let mut all: Vec<[u64; 2]> =
        all.iter().map(|&(start, size)| [start, start.saturating_add(size)]).collect();
    all.retain(|[start, end]| start < end);
    all.sort_unstable();
    all.dedup_by(|next, last| {
        let overlap = next[0] < last[1];
        last[1] = if overlap { last[1].max(next[1]) } else { last[1] };
        overlap
    });
    all.iter().flatten().flat_map(|n| n.to_le_bytes()).collect()
}

/// Gives the address of memory with these bytes at its beginning and so many in all.
pub(crate) type Allocate<'a> = dyn FnMut(&[u8], u64) -> Result<u64, String> + 'a;

/// What a checked access goes to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Memory {
    /// Shared memory of the block.
    Shared,
    /// Global memory, by address.
    Global,
    /// The storage buffer of that number; none: a computed one, which the record has.
    Buffer(Option<u32>),
    /// The thread's own.
    Private,
}

/// What a checked access does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Access {
    /// Loads.
    Read,
    /// Stores.
    Write,
    /// Both at once.
    Atomic,
}

/// A check in the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Site {
    /// What is accessed.
    pub memory: Memory,
    /// How.
    pub access: Access,
    /// Bytes that the access, or several of one instruction of the source together, take.
    pub bytes: u32,
    /// First byte and bytes of the variable that it is for, where that is known.
    pub variable: Option<(u32, u32)>,
    /// Where in the source it comes from.
    pub loc: Loc,
    /// The same in words, from [`Sanitizer::locate`].
    pub line: Option<String>,
}

/// What a shader has that checks itself.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sanitizer {
    /// Of the kernel.
    pub kernel: String,
    /// The checks, by the number that records have.
    pub sites: Vec<Site>,
    /// Shared memory lies in the region: a launch gives the block none.
    pub moved: bool,
    /// Bytes of shared memory that the kernel declares.
    pub shared_bytes: u32,
    /// First byte and bytes of variables in shared memory.
    pub variables: Vec<(u32, u32)>,
    /// Variables lie apart, also those that a launch adds.
    pub zones: bool,
    /// Bytes of shared memory between them.
    pub red_zone_bytes: u32,
}

impl Sanitizer {
    /// Bytes from the report's beginning to its records.
    pub(crate) fn records_at(&self) -> u64 {
        u64::from(HEADER_BYTES) + (4 * self.sites.len() as u64).next_multiple_of(16)
    }

    /// Bytes of the report.
    pub fn report_bytes(&self) -> u64 {
        self.records_at() + u64::from(RECORD_BYTES) * self.sites.len() as u64
    }

    /// Bytes from one block's shared memory to the next's, for blocks with so many bytes.
    pub fn stride(&self, shared_bytes: u32) -> u32 {
        if self.moved { shared_bytes.next_multiple_of(REGION_ALIGN) + REGION_ALIGN } else { 0 }
    }

    /// Bytes of the shared region of a grid.
    ///
    /// # Errors
    /// It would be larger than [`MAX_REGION`].
    pub(crate) fn region_bytes(&self, grid: [u32; 3], shared_bytes: u32) -> Result<u64, String> {
        let blocks = grid.iter().try_fold(1u64, |n, &d| n.checked_mul(d.into()));
        let bytes = blocks.and_then(|n| n.checked_mul(self.stride(shared_bytes).into()));
        bytes.filter(|&n| n <= MAX_REGION).ok_or_else(|| {
            let [x, y, z] = grid;
            format!(
                "a grid of {x} x {y} x {z} blocks with {shared_bytes} bytes of shared memory is too large to be sanitized: \
                 together they may have {MAX_REGION} bytes"
            )
        })
    }

    /// The table of variables in shared memory: those of the kernel, and those that the launch
    /// adds.
    pub fn variables(&self, added: &[(u32, u32)]) -> Vec<u8> {
        let all: Vec<(u64, u64)> =
            self.variables.iter().chain(added).map(|&(start, bytes)| (start.into(), bytes.into())).collect();
        ranges(&all)
    }

    /// Provides what a launch of `grid` needs that adds `shared_added` bytes to a block's shared
    /// memory, with the variables `added`, and may reach the memory in `global` (first address,
    /// bytes) by address. `place` is asked for memory with these bytes at its beginning and so many
    /// in all, zeroed behind them, at a multiple of [`REGION_ALIGN`].
    ///
    /// # Errors
    /// The shared region would be too large, or what `place` says.
    pub fn provide(
        &self,
        grid: [u32; 3],
        shared_added: u32,
        added: &[(u32, u32)],
        global: &[(u64, u64)],
        allocate: &mut Allocate<'_>,
    ) -> Result<Words, String> {
        let shared_bytes = self.shared_bytes.saturating_add(shared_added);
        let region = self.region_bytes(grid, shared_bytes)?;
        let report = allocate(&[], self.report_bytes())?;
        let mut table = |bytes: Vec<u8>| -> Result<(u64, u32), String> {
            Ok((allocate(&bytes, bytes.len().max(16) as u64)?, bytes.len() as u32 / 16))
        };
        let (global, variables) = (table(ranges(global))?, table(self.variables(added))?);
        Ok(Words {
            report,
            records: report + self.records_at(),
            global,
            variables,
            shared_bytes,
            region: allocate(&[], region.max(16))?,
            stride: self.stride(shared_bytes),
        })
    }

    /// Says of each check where in the source it is: `name:line: text`.
    pub fn locate(&mut self, name: &str, text: &str) {
        let starts: Vec<u32> = std::iter::once(0)
            .chain(text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i as u32 + 1))
            .collect();
        for site in &mut self.sites {
            let Some(span) = site.loc.0 else { continue };
            let line = starts.partition_point(|&s| s <= span.start);
            let from = (starts[line - 1] as usize).min(text.len());
            let content: String = text[from..].lines().next().unwrap_or("").trim().chars().take(80).collect();
            site.line = Some(format!("{name}:{line}: {content}"));
        }
    }

    /// What a launch has found: a finding for each check that has failed, in the order of their
    /// first failures.
    pub fn findings(&self, report: &[u8], launch: &Facts<'_>) -> Vec<Finding> {
        let word =
            |at: usize| report.get(at..at + 4).map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        let mut found: Vec<(u32, Finding)> = Vec::new();
        for (number, site) in self.sites.iter().enumerate() {
            let times = word(HEADER_BYTES as usize + 4 * number);
            if times == 0 {
                continue;
            }
            let at = self.records_at() as usize + number * RECORD_BYTES as usize;
            let field = |k: usize| word(at + 4 * k);
            let address = u64::from(field(1)) | u64::from(field(2)) << 32;
            let block = [field(3), field(4), field(5)];
            let thread = [field(6) & 0xffff, field(6) >> 16, field(7)];
            found.push((field(0), self.finding(site, times, address, (block, thread), launch)));
        }
        found.sort_by_key(|f| f.0);
        found.into_iter().map(|f| f.1).collect()
    }

    fn finding(
        &self,
        site: &Site,
        times: u32,
        address: u64,
        place: ([u32; 3], [u32; 3]),
        launch: &Facts<'_>,
    ) -> Finding {
        let mut f = Finding {
            kind: Kind::OutOfBounds,
            kernel: self.kernel.clone(),
            site: site.clone(),
            address,
            region: String::new(),
            place,
            times,
        };
        let (kind, region) = match site.memory {
            Memory::Global => (Kind::OutOfBounds, "outside every buffer".to_string()),
            Memory::Private => {
                (Kind::OutOfBounds, outside("local memory", site.variable, launch.private_bytes))
            }
            Memory::Shared => {
                f.address = address & 0xffff_ffff;
                let (start, end) = (f.address, f.address + u64::from(site.bytes));
                let all = self.variables.iter().chain(launch.added);
                let mut known = all.map(|&(at, n)| (u64::from(at), u64::from(at) + u64::from(n))).peekable();
                let inside = end <= launch.shared_bytes.into();
                let hole = known.peek().is_some() && !known.any(|(from, to)| start < to && from < end);
                match inside && hole {
                    true => (Kind::RedZone, "in a red zone of shared memory".to_string()),
                    false => {
                        (Kind::OutOfBounds, outside("shared memory", site.variable, launch.shared_bytes))
                    }
                }
            }
            Memory::Buffer(number) => {
                let number = number.unwrap_or((address >> 32) as u32);
                f.address = address & 0xffff_ffff;
                match launch.buffers.iter().find(|b| b.0 == number).map_or(0, |b| b.1) {
                    0 => (Kind::Unbound, format!("of storage buffer {number}, which is not bound")),
                    size => (Kind::OutOfBounds, format!("outside storage buffer {number} of {size} bytes")),
                }
            }
        };
        (f.kind, f.region) = (kind, region);
        f
    }
}

fn outside(what: &str, variable: Option<(u32, u32)>, bytes: u32) -> String {
    match variable {
        Some((start, size)) => format!("outside a variable of {size} bytes at {start:#x} in {what}"),
        None => format!("outside {what} of {bytes} bytes"),
    }
}

/// What is known of a launch, to read its report.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts<'a> {
    /// Storage buffers: number and bytes.
    pub buffers: &'a [(u32, u64)],
    /// Bytes of a block's shared memory.
    pub shared_bytes: u32,
    /// First byte and bytes of the variables that the launch has added to it.
    pub added: &'a [(u32, u32)],
    /// Bytes of a thread's own memory.
    pub private_bytes: u32,
}

/// What is wrong with an access.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// Not inside its memory or variable as a whole.
    OutOfBounds,
    /// Between two variables.
    RedZone,
    /// A storage buffer that the launch does not bind.
    Unbound,
}

/// A check that has failed: the first thread, and how often.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// What is wrong.
    pub kind: Kind,
    /// Of the kernel.
    pub kernel: String,
    /// Which check.
    pub site: Site,
    /// Of the first byte: of shared and private memory and of storage buffers, the offset there.
    pub address: u64,
    /// The memory, in words.
    region: String,
    /// Block and thread of the first failure.
    pub place: ([u32; 3], [u32; 3]),
    /// Threads and rounds in which it failed.
    pub times: u32,
}

impl Finding {
    /// Whether valid programs do it: storage buffers are robust (reads give 0, writes are dropped),
    /// and compilers read private memory before they test the index.
    pub fn is_note(&self) -> bool {
        match self.site.memory {
            Memory::Buffer(_) => true,
            Memory::Private => self.site.access == Access::Read,
            Memory::Shared | Memory::Global => false,
        }
    }

    /// What was wrong, without the place:
    /// `write of 4 bytes at 0x100, outside shared memory of 256 bytes`.
    pub fn detail(&self) -> String {
        let access = match self.site.access {
            Access::Read => "read",
            Access::Write => "write",
            Access::Atomic => "atomic",
        };
        let (bytes, at) = (self.site.bytes, self.address);
        format!("{access} of {bytes} bytes at {at:#x}, {}", self.region)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([bx, by, bz], [tx, ty, tz]) = self.place;
        write!(f, "out_of_bounds: {} (kernel {}, ", self.detail(), self.kernel)?;
        write!(f, "block ({bx},{by},{bz}) thread ({tx},{ty},{tz})")?;
        if let Some(line) = &self.site.line {
            write!(f, " [{line}]")?;
        }
        f.write_str(")")?;
        if self.times > 1 { write!(f, "; {} times", self.times) } else { Ok(()) }
    }
}
