//! A fault as seen from inside a warp, before anybody looked up names.

use crate::fault::FaultKind;

/// What went wrong in one lane.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trap(pub Box<Inner>);

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Inner {
    pub kind: FaultKind,
    pub lane: usize,
    pub detail: String,
    pub other: Option<Other>,
    /// The place, where it is not the instruction that stopped.
    pub pc: Option<u32>,
    /// Blocks touched the same memory: the launch must run again in order. Never seen by a caller.
    pub conflict: bool,
}

/// The other thread of a pair, and where it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Other {
    /// The number of its block, if that is another one.
    pub block: Option<u32>,
    pub warp: u32,
    pub lane: usize,
    pub pc: u32,
}

impl Trap {
    /// A fault of a lane.
    pub fn new(kind: FaultKind, lane: usize, detail: impl Into<String>) -> Trap {
        Trap(Box::new(Inner { kind, lane, detail: detail.into(), other: None, pc: None, conflict: false }))
    }

    /// With the access that it collides with.
    pub fn with_other(mut self, other: Other) -> Trap {
        self.0.other = Some(other);
        self
    }

    /// Blocks on several threads touch the same memory: the grid runs again in order.
    pub fn conflict() -> Trap {
        let mut t = Trap::new(FaultKind::Race, 0, "blocks touch the same memory");
        t.0.conflict = true;
        t
    }
}

impl From<crate::state::warp::StackError> for Trap {
    fn from((kind, detail): crate::state::warp::StackError) -> Trap {
        Trap::new(kind, 0, detail)
    }
}

/// What tells notes apart: the address of the instruction, and of the other one where two are in conflict; of a fault that the
/// run went on after, its kind.
pub(crate) type NoteKey = (u32, Option<u32>, Option<FaultKind>);
