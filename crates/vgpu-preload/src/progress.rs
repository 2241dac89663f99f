//! How far long launches have come, for the person at the terminal.

use nvir_vgpu::shader::{OnProgress, Progress};
use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Launches that are shorter show nothing.
const LONG: Duration = Duration::from_secs(1);
/// How often the line changes.
const STEP: Duration = Duration::from_millis(200);

/// Goes to the line's start and clears it.
const CLEAR: &str = "\r\x1b[K";

/// The launch that runs.
#[derive(Default)]
struct Line {
    began: Option<Instant>,
    /// When the line was last written, if it is there.
    shown: Option<Duration>,
}

impl Line {
    /// What to write now.
    fn next(&mut self, now: Instant, progress: &Progress) -> Option<String> {
        let took = now - *self.began.get_or_insert(now);
        let Progress { kernel, done, blocks, ended } = *progress;
        if ended {
            self.began = None;
            return self.shown.take().map(|_| CLEAR.to_string());
        }
        if took < self.shown.map_or(LONG, |shown| shown + STEP) {
            return None;
        }
        self.shown = Some(took);
        let (percent, s) = (u128::from(done) * 100 / u128::from(blocks.max(1)), took.as_secs_f32());
        Some(format!(
            "{CLEAR}nvir-vgpu: kernel at {kernel:#x}: {done} of {blocks} blocks, {percent} %, {s:.1} s"
        ))
    }
}

/// Shows progress on standard error, if that is a terminal: one line, which goes when the launch ends.
pub(crate) fn on_terminal() -> Option<OnProgress> {
    io::stderr().is_terminal().then(|| {
        let line = Mutex::new(Line::default());
        Box::new(move |progress: &Progress| {
            let mut line = line.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(text) = line.next(Instant::now(), progress) {
                // A terminal that has gone is no reason to fail.
                let _ = io::stderr().write_all(text.as_bytes());
            }
        }) as OnProgress
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_launch_has_a_line_that_goes_with_it() {
        let start = Instant::now();
        let mut line = Line::default();
        let mut at = |ms, done, ended| {
            line.next(
                start + Duration::from_millis(ms),
                &Progress { kernel: 0x1_0000_1000, done, blocks: 200, ended },
            )
        };
        // A short one has none.
        assert_eq!([at(0, 1, false), at(900, 199, false), at(990, 200, true)], [None, None, None]);
        assert_eq!([at(2000, 1, false), at(2999, 2, false)], [None, None]);
        let text = at(3100, 31, false).expect("more than a second");
        assert_eq!(text, "\r\x1b[Knvir-vgpu: kernel at 0x100001000: 31 of 200 blocks, 15 %, 1.1 s");
        assert_eq!(at(3150, 32, false), None);
        assert!(at(3350, 40, false).is_some_and(|t| t.contains("40 of 200 blocks, 20 %")));
        assert_eq!(at(3360, 200, true).as_deref(), Some(CLEAR));
        // The next one begins anew.
        assert_eq!([at(3400, 1, false), at(4300, 2, false), at(4350, 3, true)], [None, None, None]);
    }
}
