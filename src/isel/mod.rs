//! IR instructions to machine instructions.
