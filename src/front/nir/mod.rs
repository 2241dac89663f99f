//! NIR text.
