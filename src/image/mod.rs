//! What a compile gives, and the containers it comes in.

pub mod cubin;
