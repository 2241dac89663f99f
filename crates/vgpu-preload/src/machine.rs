//! The cards of this process, and the one lock under which everything executes.

use crate::arena::{self, Arena};
use crate::ending;
use crate::fds::{self, Description};
use crate::folders;
use crate::frames;
use crate::kernels;
use crate::options::{Clock, options, say};
use crate::progress;
use crate::sys::{self, Errno, Fd, Result};
use nvir_vgpu::{Config, Gpu};
use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, TryLockError};
use std::time::{Duration, Instant};

/// The cards that were opened, by number. Held by whoever calls into the model.
static CARDS: Mutex<BTreeMap<u32, Gpu>> = Mutex::new(BTreeMap::new());
static OPENED: AtomicBool = AtomicBool::new(false);

fn cards() -> MutexGuard<'static, BTreeMap<u32, Gpu>> {
    CARDS.lock().unwrap_or_else(|e| e.into_inner())
}

/// Runs a call into the model, alone. A defect of ours is an error of the call, not the program's end.
pub(crate) fn call<T>(what: impl FnOnce() -> Result<T>) -> Result<T> {
    let _alone = cards();
    guarded(what)
}

/// As [`call`], without waiting for others.
pub(crate) fn guarded<T>(what: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(what)).unwrap_or_else(|_| {
        say("a defect of the virtual GPU itself, above; the call fails");
        Err(Errno(libc::EIO))
    })
}

/// Opens a card's device: a new descriptor of the client's.
pub(crate) fn open(card: u32, flags: i32) -> Result<i32> {
    watch_forks();
    OPENED.store(true, Relaxed);
    let fd = node(flags)?;
    let mut cards = cards();
    let file = guarded(|| Ok(cards.entry(card).or_insert_with(|| build(card)).open()))?;
    drop(cards);
    fds::add(fd, Arc::new(Description::Device { card, file }))
}

/// The real descriptor behind a device's or a buffer's.
pub(crate) fn node(flags: i32) -> Result<Fd> {
    sys::memory_file(c"nvir-vgpu", 0, flags & libc::O_CLOEXEC != 0)
}

fn build(card: u32) -> Gpu {
    let options = options();
    let start = Instant::now();
    let mut config = Config::new(options.chip);
    config.clock = match options.clock {
        Clock::Counter => None,
        Clock::Real => Some(Box::new(move || start.elapsed().as_nanos() as u64)),
    };
    config.log = options.log.clone().map(|l| Box::new(l) as Box<dyn Write + Send>);
    config.trace = options.trace().map(|t| Box::new(t) as Box<dyn Write + Send>);
    config.on_fault = Some(Box::new(move |fault| ending::report(card, fault)));
    config.on_frame = options.dump_frames.clone().map(|folder| frames::write(card, folder));
    config.frame = options.frame;
    config.launch.checks = options.checks;
    config.launch.faults = options.faults;
    config.launch.threads = options.threads;
    config.launch.engine = options.engine.engine();
    config.launch.on_note = Some(kernels::on_note());
    config.launch.on_kernel = options.dump_shaders.clone().map(|folder| kernels::dump(options.chip, folder));
    config.launch.profile = options.profile;
    config.launch.on_progress = progress::on_terminal();
    if let Some(limit) = options.limit {
        config.launch.step_limit = limit;
        config.launch.submission_step_limit = limit.saturating_mul(4);
    }
    Gpu::new(config, Box::new(Arena))
}

/// How long the end of the process waits for a launch that another thread is in.
const PATIENCE: Duration = Duration::from_secs(2);

/// Whether this process has opened a card.
pub(crate) fn opened() -> bool {
    OPENED.load(Relaxed)
}

/// The end of the process: writes what observers hold, and tells the profile.
pub(crate) fn finish() {
    let start = Instant::now();
    let cards = loop {
        match CARDS.try_lock() {
            Ok(cards) => break cards,
            Err(TryLockError::Poisoned(e)) => break e.into_inner(),
            Err(TryLockError::WouldBlock) if start.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(TryLockError::WouldBlock) => {
                if options().profile {
                    say("no profile: a launch has not ended");
                }
                return;
            }
        }
    };
    let _ = guarded(|| {
        cards.values().for_each(Gpu::flush);
        if options().profile {
            tell_profile(&cards);
        }
        Ok(())
    });
}

fn tell_profile(cards: &BTreeMap<u32, Gpu>) {
    for (card, gpu) in cards {
        say(&kernels::profile(*card, &gpu.profile(), &gpu.draw_profile()));
    }
}

/// Ends the process after a fault, from within a call.
pub(crate) fn exit_after_fault(gpu: &Gpu, card: u32) -> ! {
    if options().profile {
        say(&kernels::profile(card, &gpu.profile(), &gpu.draw_profile()));
    }
    gpu.flush();
    sys::exit(ending::status(1))
}

/// Ends a descriptor's part in what it was open on: the last one closes the device.
pub(crate) fn forget(what: Option<Arc<Description>>) {
    let Some(last) = what.and_then(Arc::into_inner) else { return };
    // What a panic leaves is forgotten.
    let _ = call(|| {
        let gpu = match &last {
            Description::Device { file, .. } => Some(file.gpu().clone()),
            _ => None,
        };
        drop(last);
        gpu.inspect(Gpu::flush);
        Ok(())
    });
}

thread_local! {
    /// What the thread that forks holds meanwhile: no other thread can be in the middle of something.
    static HELD: RefCell<Vec<Box<dyn Any>>> = const { RefCell::new(Vec::new()) };
}

fn watch_forks() {
    static ONCE: OnceLock<()> = OnceLock::new();
    ONCE.get_or_init(|| sys::at_fork(before_fork, in_parent, in_child));
}

extern "C" fn before_fork() {
    let _ = guarded(|| {
        let cards = cards();
        cards.values().for_each(Gpu::flush);
        let held: [Box<dyn Any>; 4] =
            [Box::new(cards), Box::new(fds::lock()), Box::new(folders::lock()), Box::new(arena::lock())];
        HELD.try_with(|h| h.borrow_mut().extend(held)).map_err(|_| Errno(libc::EAGAIN))
    });
}

extern "C" fn in_parent() {
    let _ = guarded(|| {
        let _ = HELD.try_with(|h| h.borrow_mut().clear());
        Ok(())
    });
}

extern "C" fn in_child() {
    fds::in_child();
    in_parent();
    let _ = guarded(|| {
        cards().values().for_each(Gpu::forked);
        Ok(())
    });
}
