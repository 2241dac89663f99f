//! What methods do: a file or folder for each class.

pub mod compute;
mod condition;
mod constants;
pub(crate) mod copy;
pub(crate) mod m2mf;
pub(crate) mod p2mf;
pub(crate) mod query;
pub mod registers;
pub(crate) mod three_d;
pub(crate) mod twod;
mod upload;

use crate::device::{Device, EngineResult};
use registers::Registers;

/// What a subchannel's methods go to.
pub(crate) trait Engine {
    /// What was written to the methods: what macros read.
    fn registers(&mut self) -> &mut Registers;

    /// Does what a method says whose register holds the value already.
    fn method(&mut self, device: &mut Device, method: u32, value: u32) -> EngineResult;

    /// Takes all words of a packet for one method at once, where they are data. Whether they were.
    fn bulk(&mut self, _device: &mut Device, _method: u32, _words: &[u32]) -> EngineResult<bool> {
        Ok(false)
    }
}
