//! Why a call of the driver fails.

/// A call that failed. The context is as before, unless it is lost.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument that no caller may give.
    #[error("{0}")]
    Invalid(String),
    /// The device cannot do it.
    #[error("{0}")]
    Unsupported(String),
    /// No memory is left, on the device or in its tables.
    #[error("{0}")]
    OutOfMemory(String),
    /// A fault ended the context; where and why, as far as the device tells. All later calls of the context fail likewise.
    #[error("the device is lost: {0}")]
    Lost(String),
    /// The operating system refused a call.
    #[error("{0}")]
    System(String),
}

/// What calls give.
pub type Result<T, E = Error> = std::result::Result<T, E>;

pub(crate) fn invalid<T>(why: impl Into<String>) -> Result<T> {
    Err(Error::Invalid(why.into()))
}
