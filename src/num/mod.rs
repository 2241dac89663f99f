//! Machine arithmetic, once: what instructions compute, for the emulator and for constant folding alike.
