//! Lines of text, to whoever gave a writer: the log of what clients submit and what happens, and recordings.

use std::fmt;
use std::io::Write;

/// Gets lines. A writer that fails is given up; its end is flushed.
pub(crate) struct Log {
    to: Option<Box<dyn Write + Send>>,
}

impl Log {
    pub(crate) fn new(to: Box<dyn Write + Send>) -> Log {
        Log { to: Some(to) }
    }

    pub(crate) fn line(&mut self, line: fmt::Arguments<'_>) {
        if let Some(to) = &mut self.to
            && writeln!(to, "{line}").is_err()
        {
            self.to = None;
        }
    }

    pub(crate) fn flush(&mut self) {
        if let Some(to) = &mut self.to {
            let _ = to.flush();
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.flush();
    }
}
