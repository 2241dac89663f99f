//! Runs mutants and says what went wrong: panics, defects that the library reports of itself, too much time, too
//! much memory.

use super::mutate::Random;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, Once};
use std::time::{Duration, Instant};

/// What a mutant may take, of processor time; a build without optimisation gets more.
const TIME: Duration = Duration::from_secs(if cfg!(debug_assertions) { 30 } else { 10 });

/// What the process may take, in KiB: 4 GiB.
const MEMORY: u64 = 4 << 20;

thread_local! {
    /// Where the last panic of this thread was.
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// How often a mutant came how far, by name.
#[derive(Default)]
pub struct Tally(BTreeMap<&'static str, u64>);

impl Tally {
    pub fn count(&mut self, what: &'static str) {
        *self.0.entry(what).or_default() += 1;
    }

    fn get(&self, what: &str) -> u64 {
        self.0.get(what).copied().unwrap_or(0)
    }
}

/// An input made from a seed.
pub struct Mutant {
    pub seed: usize,
    pub data: Vec<u8>,
}

impl Mutant {
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.data).expect("made from text")
    }
}

/// A mutant at work.
struct Running {
    started: Instant,
    cpu: Option<Duration>,
    index: u64,
    data: Arc<Vec<u8>>,
}

/// One campaign: mutants of one format.
pub struct Campaign {
    pub format: &'static str,
    /// How many mutants where nothing else is asked for.
    pub count: u64,
    /// What at least one of ten mutants must get to.
    pub reaches: &'static str,
}

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|s| s.parse().ok())
}

/// Processor time of a thread of this process, where the system tells.
pub fn cpu_time(thread: &str) -> Option<Duration> {
    let text = std::fs::read_to_string(format!("/proc/self/task/{thread}/schedstat")).ok()?;
    Some(Duration::from_nanos(text.split_whitespace().next()?.parse().ok()?))
}

pub fn this_thread() -> String {
    let link = std::fs::read_link("/proc/thread-self").unwrap_or_default();
    link.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned())
}

/// A line of this process's status, in KiB.
fn status(key: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix(key));
    line.and_then(|l| l.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// The same message for the same reason: numbers and quoted pieces of input left out.
fn class(message: &str) -> String {
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

/// Panics are told with their place, and not printed: there may be thousands.
fn quiet_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let place = info.location().map_or_else(String::new, |l| format!("{}:{}", l.file(), l.line()));
            if place.contains("tests/") {
                return before(info);
            }
            let text = info.payload_as_str().unwrap_or("");
            PANIC.with_borrow_mut(|p| *p = format!("{place}: {text}"));
        }));
    });
}

fn folder() -> PathBuf {
    let folder = std::env::var_os("NVIR_FUZZ_FOLDER").map_or_else(std::env::temp_dir, PathBuf::from);
    std::fs::create_dir_all(&folder).expect("a folder for findings");
    folder
}

impl Campaign {
    fn file(&self, index: u64) -> PathBuf {
        folder().join(format!("nvir-fuzz-{index}.{}", self.format))
    }

    fn seed(&self) -> u64 {
        let name = self.format.bytes().fold(0u64, |h, b| h.wrapping_mul(31) + u64::from(b));
        variable("NVIR_FUZZ_SEED").unwrap_or(1).wrapping_mul(0x2545_f491_4f6c_dd1d) ^ name << 32
    }

    /// Makes mutants and tries each; `test` says what is wrong with how it was received.
    pub fn run(
        &self,
        make: impl Fn(&mut Random) -> Mutant,
        test: impl Fn(&Mutant, &mut Random, &mut Tally) -> Result<(), String>,
    ) {
        quiet_panics();
        let first = variable("NVIR_FUZZ_FIRST").unwrap_or(0);
        let long = variable("NVIR_FUZZ_PROGRAMS");
        let count = long.unwrap_or(self.count);
        let known = std::env::var("NVIR_FUZZ_KNOWN").unwrap_or_default();
        let known: Vec<&str> = known.split(';').filter(|k| !k.is_empty()).collect();
        let running: Arc<Mutex<Option<Running>>> = Arc::default();
        self.watch(running.clone());
        let thread = this_thread();
        let mut tally = Tally::default();
        let mut found: BTreeMap<String, (u64, u64, String)> = BTreeMap::new();
        let mut slowest = (Duration::ZERO, 0);
        for index in first..first + count {
            let mut r = Random::of(self.seed(), index);
            let mutant = make(&mut r);
            let data = Arc::new(mutant.data.clone());
            if long.is_some() {
                // A stack that overflows takes the process with it: this is what it worked on.
                let at = folder().join(format!("nvir-fuzz-now.{}", self.format));
                std::fs::write(at, &*data).expect("writable");
            }
            let before = cpu_time(&thread);
            *running.lock().expect("not poisoned") =
                Some(Running { started: Instant::now(), cpu: before, index, data: data.clone() });
            PANIC.with_borrow_mut(String::clear);
            let result = catch_unwind(AssertUnwindSafe(|| test(&mutant, &mut r, &mut tally)));
            let place = PANIC.with_borrow(String::clone);
            let result = match result {
                Ok(Ok(())) if place.is_empty() => Ok(()),
                Ok(Ok(())) | Err(_) => Err(format!("panic at {place}")),
                Ok(Err(why)) if place.is_empty() => Err(why),
                Ok(Err(why)) => Err(format!("panic at {place} ({why})")),
            };
            *running.lock().expect("not poisoned") = None;
            if let (Some(a), Some(b)) = (before, cpu_time(&thread)) {
                slowest = slowest.max((b.saturating_sub(a), index));
            }
            tally.count("mutants");
            if long.is_some() && (index + 1).is_multiple_of(5000) {
                println!("{}: to {index} of seed {:#x}: {:?}", self.format, self.seed(), tally.0);
            }
            if let Err(why) = result {
                if known.iter().any(|k| why.contains(k)) {
                    tally.count("known");
                    continue;
                }
                let entry = found.entry(class(&why)).or_insert((0, index, why));
                entry.0 += 1;
                if entry.0 == 1 {
                    std::fs::write(self.file(index), &*data).expect("writable");
                    if long.is_some() {
                        println!("{}: mutant {index}: {}", self.format, entry.2);
                    }
                }
            }
        }
        let peak = status("VmHWM:") >> 10;
        println!("{}: {:?}; slowest {slowest:?}; {peak} MiB", self.format, tally.0);
        let list: String = found
            .values()
            .map(|(n, index, why)| format!("{n} times, first {}: {why}\n", self.file(*index).display()))
            .collect();
        assert!(found.is_empty(), "{}: {} findings\n{list}", self.format, found.len());
        let reached = tally.get(self.reaches);
        assert!(reached * 10 >= count, "only {reached} of {count} mutants: {}", self.reaches);
    }

    /// Ends the process when a mutant takes too long or too much, and leaves it in a file.
    fn watch(&self, running: Arc<Mutex<Option<Running>>>) {
        let thread = this_thread();
        let (format, seed) = (self.format, self.seed());
        let folder = folder();
        std::thread::spawn(move || {
            // Ends with the campaign, which holds the other reference.
            while Arc::strong_count(&running) > 1 {
                std::thread::sleep(Duration::from_millis(20));
                let memory = status("VmRSS:");
                let Ok(guard) = running.lock() else { return };
                let Some(r) = &*guard else { continue };
                // Something that waits takes no processor time.
                let waits = r.started.elapsed() / 20;
                let time = match (r.cpu, cpu_time(&thread)) {
                    (Some(a), Some(b)) => b.saturating_sub(a).max(waits),
                    _ => r.started.elapsed(),
                };
                if time > TIME || memory > MEMORY {
                    let file = folder.join(format!("nvir-fuzz-{}.{format}", r.index));
                    let _ = std::fs::write(&file, &**r.data);
                    eprintln!(
                        "{format}: mutant {} of seed {seed:#x} takes {time:?}, the process {} MiB: {}\n\
                         NVIR_FUZZ_FIRST={} goes on behind it",
                        r.index,
                        memory >> 10,
                        file.display(),
                        r.index + 1
                    );
                    std::process::abort();
                }
            }
        });
    }
}
