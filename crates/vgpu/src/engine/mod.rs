//! The engines of the channel.

pub(crate) mod three_d;
