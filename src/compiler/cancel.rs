//! Giving up on a compile.

use crate::diag::{Diagnostic, Fault};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

/// When a compile should end without a result. It looks between passes: a pass that has begun is finished.
#[derive(Clone, Debug, Default)]
pub struct Cancel {
    /// Set by any thread that no longer wants the result.
    pub flag: Option<Arc<AtomicBool>>,
    /// The time after which nobody wants it.
    pub deadline: Option<Instant>,
}

impl Cancel {
    /// When `deadline` has passed.
    pub fn at(deadline: Instant) -> Cancel {
        Cancel { flag: None, deadline: Some(deadline) }
    }

    /// When `flag` is set.
    pub fn when(flag: Arc<AtomicBool>) -> Cancel {
        Cancel { flag: Some(flag), deadline: None }
    }

    pub(super) fn is_due(&self) -> bool {
        self.flag.as_ref().is_some_and(|f| f.load(Relaxed))
            || self.deadline.is_some_and(|d| Instant::now() >= d)
    }

    pub(super) fn check(&self) -> Result<(), Box<Diagnostic>> {
        if !self.is_due() {
            return Ok(());
        }
        Err(Box::new(Diagnostic {
            fault: Fault::Cancelled,
            ..Diagnostic::error("the compile was cancelled")
        }))
    }
}
