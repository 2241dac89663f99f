//! What a client sees: the card, its buffers, and the calls of the kernel's driver.

pub(crate) mod backing;
pub(crate) mod buffers;
pub(crate) mod calls;
pub(crate) mod card;
pub(crate) mod gpu;
