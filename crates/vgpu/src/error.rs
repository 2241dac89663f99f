//! Why a call fails.

/// What Linux would return as `errno`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ErrorKind {
    /// An argument that no caller may give.
    Invalid,
    /// A handle, channel or name that does not exist.
    NotFound,
    /// No memory, addresses or handles left.
    NoMemory,
    /// The channel is dead after a fault.
    NoDevice,
}

impl ErrorKind {
    /// Linux's number.
    pub const fn errno(self) -> i32 {
        match self {
            ErrorKind::NotFound => 2,
            ErrorKind::NoMemory => 12,
            ErrorKind::NoDevice => 19,
            ErrorKind::Invalid => 22,
        }
    }
}

/// A call that failed: nothing has changed, except that a fault of a submission ends its channel and leaves memory as
/// it was at that moment.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// What a kernel would answer.
    pub kind: ErrorKind,
    /// MethodLocation and reason, for people.
    pub message: String,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error { kind, message: message.into() }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Invalid, message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::NotFound, message)
    }
}
