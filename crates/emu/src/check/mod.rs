//! Checkers: races, what nothing has written, going on after a fault; and traces.

pub(crate) mod access;
pub(crate) mod definedness;
pub(crate) mod race;
pub(crate) mod resume;
pub(crate) mod shadow;
pub(crate) mod trace;
