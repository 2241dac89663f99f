//! Runs ranges of cases of a target: in threads, watched for time and memory, with what was found grouped by reason.

use crate::Target;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};

/// What a case may take, of processor time; a build without optimisation gets more, and so does a target that makes a finding
/// smaller before it reports it.
const TIME: Duration = Duration::from_secs(if cfg!(debug_assertions) { 60 } else { 20 });

/// What the process may take, in KiB: 4 GiB.
const MEMORY: u64 = 4 << 20;

thread_local! {
    /// The last panic of this thread, with its place.
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// How often cases came how far, by name.
#[derive(Clone, Default, Debug)]
pub struct Tally(pub BTreeMap<&'static str, u64>);

impl Tally {
    /// One more.
    pub fn count(&mut self, what: &'static str) {
        *self.0.entry(what).or_default() += 1;
    }

    /// How many.
    pub fn get(&self, what: &str) -> u64 {
        self.0.get(what).copied().unwrap_or(0)
    }

    fn add(&mut self, other: &Tally) {
        other.0.iter().for_each(|(name, n)| *self.0.entry(name).or_default() += n);
    }
}

/// How a range is run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Threads; 0 is one.
    pub threads: usize,
    /// Where the inputs of findings are left.
    pub keep: Option<PathBuf>,
    /// Parts of messages of findings that are counted and not reported.
    pub known: Vec<String>,
    /// When no further case is begun.
    pub until: Option<Instant>,
}

/// What is wrong, the same for some cases.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The first case.
    pub first: u64,
    /// How many cases.
    pub times: u64,
    /// Of the first case.
    pub message: String,
}

/// What a range came to.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Cases that ran.
    pub cases: u64,
    /// What they got to.
    pub tally: Tally,
    /// By a message without its numbers.
    pub findings: BTreeMap<String, Finding>,
    /// The case that took the most processor time.
    pub slowest: (Duration, u64),
}

impl Report {
    /// What another range gave as well.
    pub fn add(&mut self, other: &Report) {
        self.cases += other.cases;
        self.tally.add(&other.tally);
        self.slowest = self.slowest.max(other.slowest);
        for (class, f) in &other.findings {
            let own = self.findings.entry(class.clone()).or_insert_with(|| Finding { times: 0, ..f.clone() });
            own.times += f.times;
            if f.first < own.first {
                (own.first, own.message) = (f.first, f.message.clone());
            }
        }
    }
}

/// Processor time of a thread of this process, where the system tells.
fn cpu_time(thread: &str) -> Option<Duration> {
    let text = std::fs::read_to_string(format!("/proc/self/task/{thread}/schedstat")).ok()?;
    Some(Duration::from_nanos(text.split_whitespace().next()?.parse().ok()?))
}

fn this_thread() -> String {
    let link = std::fs::read_link("/proc/thread-self").unwrap_or_default();
    link.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned())
}

/// A line of this process's status, in KiB.
fn status(key: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix(key));
    line.and_then(|l| l.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// The most memory that the process ever had, in MiB.
pub fn peak_memory() -> u64 {
    status("VmHWM:") >> 10
}

/// The same message for the same reason: without numbers, and no more than its beginning.
pub fn class(message: &str) -> String {
    let mut out = String::new();
    let mut number = false;
    for c in message.lines().next().unwrap_or("").chars().take(160) {
        if c.is_ascii_digit() {
            if !number {
                out.push('N');
            }
            number = true;
        } else {
            number = false;
            out.push(c);
        }
    }
    out
}

/// Panics of cases are findings, told with their place, and not printed: there may be thousands.
fn keep_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !RUNS.get() {
                return before(info);
            }
            let place = info.location().map_or_else(String::new, |l| format!("{}:{}", l.file(), l.line()));
            let text = info.payload_as_str().unwrap_or("");
            PANIC.with_borrow_mut(|p| *p = format!("panic at {place}: {text}"));
        }));
    });
}

thread_local! {
    /// Whether this thread runs a case. Threads that a case starts have panics of their own, which reach it as its own.
    static RUNS: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// One case, whatever it does.
pub fn run_case(target: &Target, case: u64, tally: &mut Tally) -> Result<(), String> {
    keep_panics();
    PANIC.with_borrow_mut(String::clear);
    RUNS.set(true);
    let result = catch_unwind(AssertUnwindSafe(|| (target.run)(case, tally)));
    RUNS.set(false);
    // The library makes errors of its panics: such a one is a finding though nobody saw it.
    let panic = PANIC.with_borrow(String::clone);
    match result {
        Ok(Ok(())) if panic.is_empty() => Ok(()),
        Ok(Ok(())) | Err(_) => Err(panic),
        Ok(Err(why)) if panic.is_empty() => Err(why),
        Ok(Err(why)) => Err(format!("{panic} ({why})")),
    }
}

/// A case at work.
struct Running {
    thread: String,
    started: Instant,
    cpu: Option<Duration>,
    case: u64,
}

type Slots = Arc<Vec<Mutex<Option<Running>>>>;

fn locked<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs cases; `progress` is told how many are done.
pub fn run(target: &Target, cases: Range<u64>, options: &Options, progress: impl Fn(u64) + Sync) -> Report {
    let threads = options.threads.max(1);
    let slots: Slots = Arc::new((0..threads).map(|_| Mutex::default()).collect());
    let stop = Arc::new(AtomicBool::new(false));
    watch(target, slots.clone(), stop.clone(), options.keep.clone());
    let (next, done) = (AtomicU64::new(cases.start), AtomicU64::new(0));
    let total = Mutex::new(Report::default());
    std::thread::scope(|scope| {
        for slot in slots.iter() {
            let one = || {
                let report = work(target, &cases, &next, slot, options, &|| {
                    progress(done.fetch_add(1, Relaxed) + 1);
                });
                locked(&total).add(&report);
            };
            // Generators and front-ends recurse no deeper than inputs nest, but a debug build has large frames.
            let started = std::thread::Builder::new().stack_size(16 << 20).spawn_scoped(scope, one);
            started.expect("the system gives a thread");
        }
    });
    stop.store(true, Relaxed);
    total.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn work(
    target: &Target,
    cases: &Range<u64>,
    next: &AtomicU64,
    slot: &Mutex<Option<Running>>,
    options: &Options,
    done: &dyn Fn(),
) -> Report {
    let thread = this_thread();
    let mut report = Report::default();
    loop {
        let case = next.fetch_add(1, Relaxed);
        if case >= cases.end || options.until.is_some_and(|t| Instant::now() >= t) {
            return report;
        }
        let cpu = cpu_time(&thread);
        *locked(slot) = Some(Running { thread: thread.clone(), started: Instant::now(), cpu, case });
        let result = run_case(target, case, &mut report.tally);
        *locked(slot) = None;
        if let (Some(a), Some(b)) = (cpu, cpu_time(&thread)) {
            report.slowest = report.slowest.max((b.saturating_sub(a), case));
        }
        report.cases += 1;
        if let Err(message) = result {
            if options.known.iter().any(|k| message.contains(k)) {
                report.tally.count("known");
            } else {
                let found = report.findings.entry(class(&message));
                let found =
                    found.or_insert_with(|| Finding { first: case, times: 0, message: message.clone() });
                found.times += 1;
                if found.times == 1 {
                    keep(target, case, &message, options.keep.as_ref());
                }
            }
        }
        done();
    }
}

/// Leaves a case's input and what is wrong with it in a folder.
fn keep(target: &Target, case: u64, message: &str, folder: Option<&PathBuf>) {
    let Some(folder) = folder else { return };
    let (input, ending) = (target.input)(case);
    let stem = folder.join(format!("{}-{case}", target.name));
    let written = std::fs::write(stem.with_extension(ending), input)
        .and_then(|()| std::fs::write(stem.with_extension("txt"), message));
    if let Err(e) = written {
        eprintln!("error: {}: {e}", folder.display());
    }
}

/// Ends the process when a case takes too long or too much: what hangs cannot be stopped otherwise.
fn watch(target: &Target, slots: Slots, stop: Arc<AtomicBool>, folder: Option<PathBuf>) {
    let (name, input) = (target.name, target.input);
    let watching = move || {
        while !stop.load(Relaxed) {
            std::thread::sleep(Duration::from_millis(20));
            let memory = status("VmRSS:");
            for slot in slots.iter() {
                let guard = locked(slot);
                let Some(r) = &*guard else { continue };
                // Something that waits takes no processor time.
                let waits = r.started.elapsed() / 20;
                let time = match (r.cpu, cpu_time(&r.thread)) {
                    (Some(a), Some(b)) => b.saturating_sub(a).max(waits),
                    _ => r.started.elapsed(),
                };
                if time > TIME || memory > MEMORY {
                    let (data, ending) = input(r.case);
                    let folder = folder.clone().unwrap_or_else(std::env::temp_dir);
                    let file = folder.join(format!("{name}-{}.{ending}", r.case));
                    let _ = std::fs::write(&file, data);
                    eprintln!(
                        "{name}: case {} takes {time:?}, the process {} MiB: {}",
                        r.case,
                        memory >> 10,
                        file.display()
                    );
                    std::process::abort();
                }
            }
        }
    };
    let _ = std::thread::Builder::new().spawn(watching);
}
