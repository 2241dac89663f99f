//! Whole warps: kernels whose tail runs with all lanes of every warp
//! ([`Op::WholeWarp`](crate::ir::Op::WholeWarp)).
//!
//! All that the compiler does for them is here: the rules, which the verifier asks for
//! ([`verify`]), and the lowering, which the pipeline does before every pass ([`lower()`]), so that
//! no pass has to know them. What they are for and why it is right is in `docs/whole-warps.md`; the
//! size of block to launch is [`driver::whole_warps`](crate::driver::whole_warps)'s to say.

mod lower;
pub(crate) mod verify;

pub(crate) use lower::run as lower;
