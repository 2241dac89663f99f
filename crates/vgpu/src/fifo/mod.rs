//! From a range of commands to methods of engines: packets, channels, macros.

mod call;
pub(crate) mod channel;
mod engines;
mod log;
mod mme;
mod push;
mod semaphore;
