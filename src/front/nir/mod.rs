//! NIR text.

use super::Request;
use crate::diag::{Diagnostic, Diagnostics};
use crate::ir::Program;

/// The program of the kernel that is asked for.
pub fn program(request: &Request<'_>) -> Result<Program, Diagnostics> {
    let _ = request;
    Err(Diagnostic::error("this front-end makes no IR yet").into())
}
