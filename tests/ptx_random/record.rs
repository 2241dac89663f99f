//! The recorded set.
