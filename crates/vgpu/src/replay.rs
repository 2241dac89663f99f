//! Replays recordings: executes their submissions on a new card and compares all memory after each.

use crate::device::{WriteKind, Written};
use crate::trace::{Reader, Record, TraceError, has_contents};
use crate::{BufferUse, Config, File, GemNew, Gpu, Owned, Push};
use nvir_base::Chip;
use std::collections::BTreeMap;
use std::fmt;
use std::io::BufRead;
use std::sync::{Arc, Mutex, PoisonError};

/// Words that are compared at once.
const CHUNK: usize = 1 << 14;

/// What a replay found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// How many were executed.
    pub submissions: u64,
    /// Bytes of memory that were compared, over all submissions.
    pub compared: u64,
    /// Words that were not as recorded, over all submissions.
    pub wrong: u64,
    /// The first of them.
    pub differences: Vec<Difference>,
    /// Bytes that transfers, clears and blits wrote.
    pub moved: u64,
    /// The time that all submissions took, kernels included.
    pub executing: std::time::Duration,
    /// What ended the replay early: the recording's submission, and the fault.
    pub fault: Option<(u64, String)>,
    /// What the kernel did wrong then, by kind and instruction.
    pub found: Vec<nvir_emu::Note>,
}

impl Report {
    /// Whether everything was as recorded.
    pub fn passed(&self) -> bool {
        self.wrong == 0 && self.fault.is_none()
    }
}

/// A word that is not as recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// The recording's number.
    pub submission: u64,
    /// Of the word.
    pub address: u64,
    /// The buffer's address.
    pub buffer: u64,
    /// The buffer's handle in the recording.
    pub handle: u32,
    /// What the recording has.
    pub expected: u32,
    /// What was there after the submission.
    pub found: u32,
    /// What wrote it, or might have.
    pub writer: Writer,
}

/// Where a word that is wrong may come from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Writer {
    /// The last method that wrote there.
    Method(Box<Written>),
    /// No method did, but there were launches; the last.
    Launch(Box<Written>),
    /// No method did; the one that wrote nearest to it in the buffer.
    Near(Box<Written>),
    /// Nothing wrote into the buffer.
    Nobody,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { submission, address, buffer, handle, expected, found, writer } = self;
        write!(
            f,
            "submission {submission}: {address:#x} (buffer {handle} at {buffer:#x} + {:#x}): expected {expected:08x}, found {found:08x}; ",
            address - buffer
        )?;
        match writer {
            Writer::Method(w) => write!(f, "written by {}", w.place),
            Writer::Launch(w) => write!(f, "written by no method, but the last launch was {}", w.place),
            Writer::Near(w) => write!(
                f,
                "nothing wrote there; nearest was {}, {:#x} bytes at {:#x}",
                w.place, w.bytes, w.address
            ),
            Writer::Nobody => write!(f, "nothing wrote there"),
        }
    }
}

/// How to replay.
pub struct Options {
    /// Differences that are kept.
    pub differences: usize,
    /// Gets the card's log.
    pub log: Option<Box<dyn std::io::Write + Send>>,
    /// Gets each frame, or only the one with this number.
    pub on_frame: Option<crate::frames::OnFrame>,
    /// See `on_frame`.
    pub frame: Option<u64>,
    /// See [`Config::top_first`].
    pub top_first: bool,
    /// See [`Config::watch`].
    pub watch: Option<Box<dyn crate::watch::Watch>>,
    /// See [`Config::work_limit`]; `None`: the card's own.
    pub work_limit: Option<u64>,
    /// Instructions of warps that a launch may execute; `None`: the card's own.
    pub step_limit: Option<u64>,
    /// The most memory that buffers may take together, bytes.
    pub memory_limit: u64,
    /// What executes programs; `None`: the interpreter.
    pub engine: Option<Arc<dyn nvir_emu::engine::Engine>>,
    /// See [`crate::shader::Options::profile`].
    pub profile: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            differences: 20,
            log: None,
            on_frame: None,
            frame: None,
            top_first: false,
            watch: None,
            work_limit: None,
            step_limit: None,
            memory_limit: 16 << 30,
            engine: None,
            profile: false,
        }
    }
}

/// A buffer of the recording.
struct Buffer {
    handle: u32,
    /// In our file.
    ours: u32,
    /// What it should hold, if the recording has it.
    words: Option<Vec<u32>>,
    bytes: u64,
}

/// A submission that is being read.
struct Submission {
    index: u64,
    buffers: Vec<(u64, [u32; 3])>,
    pushes: Vec<(u64, bool, Vec<u32>)>,
}

struct Replay {
    file: File,
    channel: u32,
    buffers: BTreeMap<u64, Buffer>,
    /// Address and handle of the channel's own buffer, which a recording may close. It gives way to a client's that was made
    /// before the client's channel.
    notifier: Option<(u64, u32)>,
    submission: Option<Submission>,
    /// The one that was executed and is not compared yet.
    executed: Option<u64>,
    keep: usize,
    report: Report,
}

/// Executes and compares a recording. `progress` gets the bytes that were read so far.
///
/// # Errors
/// A recording that cannot be read, or whose records contradict each other.
pub fn replay<R: BufRead>(
    from: R,
    options: Options,
    progress: &mut dyn FnMut(u64),
) -> Result<Report, TraceError> {
    let mut reader = Reader::new(from)?;
    let chipset = reader.chipset();
    let chip: Chip =
        format!("{chipset:x}").parse().map_err(|_| reader.error(format!("chip {chipset:x} is not known")))?;
    let mut config = Config::new(chip);
    config.log = options.log;
    config.on_frame = options.on_frame;
    config.top_first = options.top_first;
    config.frame = options.frame;
    config.watch = options.watch;
    config.vram_bytes = options.memory_limit;
    config.gart_bytes = options.memory_limit;
    config.work_limit = options.work_limit.unwrap_or(config.work_limit);
    config.launch.engine = options.engine;
    config.launch.profile = options.profile;
    config.launch.step_limit = options.step_limit.unwrap_or(config.launch.step_limit);
    let found: Arc<Mutex<Vec<nvir_emu::Note>>> = Arc::default();
    let to = found.clone();
    config.on_fault = Some(Box::new(move |fault| {
        to.lock().unwrap_or_else(PoisonError::into_inner).extend(fault.found.iter().cloned());
    }));
    let gpu = Gpu::new(config, Box::new(Owned::default()));
    gpu.keep_writes();
    let file = gpu.open();
    let setup = |e: crate::Error| TraceError::Line { line: 2, message: e.message };
    let info = file.channel_alloc(u32::MAX, 0).map_err(setup)?;
    let notifier = file.gem_info(info.notifier_handle).map_err(setup)?.offset;
    let mut replay = Replay {
        file,
        channel: info.channel,
        buffers: BTreeMap::new(),
        notifier: Some((notifier, info.notifier_handle)),
        submission: None,
        executed: None,
        keep: options.differences,
        report: Report::default(),
    };
    while let Some(record) = reader.next_record()? {
        replay.record(record).map_err(|message| reader.error(message))?;
        progress(reader.bytes());
        if replay.report.fault.is_some() {
            break;
        }
    }
    replay.execute().map_err(|message| reader.error(message))?;
    replay.compare();
    gpu.flush();
    replay.report.found = std::mem::take(&mut *found.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(replay.report)
}

impl Replay {
    fn record(&mut self, record: Record) -> Result<(), String> {
        if !matches!(record, Record::Push { .. }) {
            self.execute()?;
            // What comes now is behind the fault, and not there to compare.
            if self.report.fault.is_some() {
                return Ok(());
            }
        }
        if !matches!(record, Record::Gpu { .. }) {
            self.compare();
        }
        match record {
            Record::Buffer { handle, address, bytes, domain, tile_mode, tile_flags, align } => {
                let request = GemNew { domain, size: bytes, align, tile_mode, tile_flags };
                let end = address.saturating_add(bytes);
                if let Some((_, handle)) = self.notifier.filter(|(at, _)| (address..end).contains(at)) {
                    self.file.gem_close(handle).map_err(|e| e.message)?;
                    self.notifier = None;
                }
                let info = self.file.gem_new_at(request, address).map_err(|e| e.message)?;
                let words = has_contents(info.size, domain).then(|| vec![0; (info.size / 4) as usize]);
                self.buffers.insert(address, Buffer { handle, ours: info.handle, words, bytes: info.size });
            }
            Record::Free { address, .. } if self.notifier.is_some_and(|(at, _)| at == address) => {}
            Record::Free { address, .. } => {
                let buffer = self
                    .buffers
                    .remove(&address)
                    .ok_or_else(|| format!("there is no buffer at {address:#x}"))?;
                self.file.gem_close(buffer.ours).map_err(|e| e.message)?;
            }
            Record::Object { handle, class } => {
                self.file.object_alloc(self.channel, handle, class).map_err(|e| e.message)?;
            }
            Record::Cpu { address, words } => {
                self.expect(address, &words)?;
                self.file.gpu().write(address, &words).map_err(|e| e.message)?;
            }
            Record::Submit { index, buffers } => {
                self.submission = Some(Submission { index, buffers, pushes: Vec::new() });
            }
            Record::Push { address, no_prefetch, words } => {
                let submission = self.submission.as_mut().ok_or("`push` without `submit`")?;
                submission.pushes.push((address, no_prefetch, words));
            }
            Record::Gpu { address, words } => {
                if self.executed.is_none() {
                    return Err("`gpu` without a submission".into());
                }
                self.expect(address, &words)?;
            }
        }
        Ok(())
    }

    /// The buffer that holds so many bytes at an address, and where they begin in it.
    fn find(&mut self, address: u64, bytes: u64) -> Result<(u64, &mut Buffer), String> {
        let found = self.buffers.range_mut(..=address).next_back();
        let inside = found.filter(|(base, b)| bytes <= b.bytes && address - **base <= b.bytes - bytes);
        inside
            .map(|(base, b)| (address - base, b))
            .ok_or_else(|| format!("{bytes:#x} bytes at {address:#x} are in no buffer"))
    }

    /// Notes what memory holds from now on.
    fn expect(&mut self, address: u64, words: &[u32]) -> Result<(), String> {
        if !address.is_multiple_of(4) {
            return Err(format!("address {address:#x} is not a multiple of 4"));
        }
        let (offset, buffer) = self.find(address, words.len() as u64 * 4)?;
        let Some(expected) = &mut buffer.words else {
            return Err(format!("{address:#x} is in a buffer whose contents are not recorded"));
        };
        expected[(offset / 4) as usize..][..words.len()].copy_from_slice(words);
        Ok(())
    }

    /// Executes the submission that was read.
    fn execute(&mut self) -> Result<(), String> {
        let Some(submission) = self.submission.take() else { return Ok(()) };
        let mut uses = Vec::new();
        let mut places = BTreeMap::new();
        for (address, [read_domains, write_domains, valid_domains]) in submission.buffers {
            let buffer =
                self.buffers.get(&address).ok_or_else(|| format!("there is no buffer at {address:#x}"))?;
            places.insert(address, uses.len() as u32);
            uses.push(BufferUse { handle: buffer.ours, read_domains, write_domains, valid_domains });
        }
        let mut pushes = Vec::new();
        for (address, no_prefetch, words) in submission.pushes {
            let bytes = words.len() as u32 * 4;
            let (offset, buffer) = self.find(address, bytes.into())?;
            // Commands in other buffers are there already, or will be when their turn comes.
            let write = buffer.words.is_none();
            let bo_index = places.get(&(address - offset)).copied();
            let bo_index = bo_index
                .ok_or_else(|| format!("commands at {address:#x} are in no buffer of the submission"))?;
            pushes.push(Push { bo_index, offset, bytes, no_prefetch });
            if write {
                self.file.gpu().write(address, &words).map_err(|e| e.message)?;
            }
        }
        self.report.submissions += 1;
        self.executed = Some(submission.index);
        let started = std::time::Instant::now();
        let result = self.file.submit(self.channel, &uses, &pushes);
        self.report.executing += started.elapsed();
        self.report.moved = self.file.gpu().card().device.moved;
        match result {
            Ok(_) => Ok(()),
            Err(e) if e.kind == crate::ErrorKind::NoDevice => {
                // What the rest would have done is not there to compare.
                self.executed = None;
                self.report.fault = Some((submission.index, e.message));
                Ok(())
            }
            Err(e) => Err(e.message),
        }
    }

    /// Compares all memory after a submission, times excepted, and makes it what it should be.
    fn compare(&mut self) {
        let Some(submission) = self.executed.take() else { return };
        let writes = self.file.gpu().writes();
        for w in writes.iter().filter(|w| w.what == WriteKind::Time) {
            self.accept(w.address, w.bytes);
        }
        let Replay { file, buffers, report, keep, .. } = self;
        let mut found = vec![0; CHUNK];
        for (&base, buffer) in buffers.iter() {
            let Some(expected) = &buffer.words else { continue };
            report.compared += expected.len() as u64 * 4;
            for (i, expected) in expected.chunks(CHUNK).enumerate() {
                let at = base + (i * CHUNK * 4) as u64;
                let found = &mut found[..expected.len()];
                if file.gpu().read(at, found).is_err() || found == expected {
                    continue;
                }
                for (k, (&expected, &found)) in expected.iter().zip(found.iter()).enumerate() {
                    if expected == found {
                        continue;
                    }
                    report.wrong += 1;
                    if report.differences.len() < *keep {
                        let address = at + 4 * k as u64;
                        let writer = writer(&writes, address, base..base + buffer.bytes);
                        let handle = buffer.handle;
                        let buffer = base;
                        report.differences.push(Difference {
                            submission,
                            address,
                            buffer,
                            handle,
                            expected,
                            found,
                            writer,
                        });
                    }
                }
                // Later differences are then errors of their own.
                let _ = file.gpu().write(at, expected);
            }
        }
    }

    /// Takes bytes as recorded, whatever the card wrote.
    fn accept(&mut self, address: u64, bytes: u64) {
        let first = address & !3;
        let count = ((address + bytes).next_multiple_of(4) - first) / 4;
        let Ok((offset, buffer)) = self.find(first, count * 4) else { return };
        let Some(words) = &buffer.words else { return };
        let words = words[(offset / 4) as usize..][..count as usize].to_vec();
        let _ = self.file.gpu().write(first, &words);
    }
}

/// Who wrote a word last.
fn writer(writes: &[Written], address: u64, buffer: std::ops::Range<u64>) -> Writer {
    let data = || writes.iter().filter(|w| w.what != WriteKind::Launch);
    let covers = |w: &&Written| w.address < address + 4 && address < w.address.saturating_add(w.bytes);
    if let Some(w) = data().rfind(covers) {
        return Writer::Method(Box::new(*w));
    }
    if let Some(w) = writes.iter().rfind(|w| w.what == WriteKind::Launch) {
        return Writer::Launch(Box::new(*w));
    }
    let near = data().filter(|w| buffer.contains(&w.address)).min_by_key(|w| w.address.abs_diff(address));
    near.map_or(Writer::Nobody, |w| Writer::Near(Box::new(*w)))
}
