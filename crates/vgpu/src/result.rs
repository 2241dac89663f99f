//! How engines say that a channel ends.

/// What a channel ends with, without the place.
pub(crate) type EngineResult<T = ()> = Result<T, String>;
