//! Types of operations, and classes of values.
//!
//! A value is what one register holds: a 32-bit scalar, a predicate, or the carry flag ([`Class`]).
//! How its bits are read is a matter of the operation, so types ([`Type`]) stand on instructions.
//! Wider quantities are tuples of values in one operand, low word first.

use std::fmt;

/// What kind of register holds a value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Class {
    /// A 32-bit general register (`%r`).
    Gpr,
    /// A predicate register (`%p`).
    Pred,
    /// The carry bit of the condition code (`%c`): one a thread, never live across a block
    /// boundary.
    Carry,
}

impl Class {
    /// The type of a `mov` or `undef` that gives one such value.
    pub const fn move_type(self) -> Type {
        match self {
            Class::Pred => Type::Pred,
            _ => Type::U32,
        }
    }
}

/// How an operation reads or writes its operands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Type {
    Pred,
    U8,
    S8,
    U16,
    S16,
    F16,
    U32,
    S32,
    F32,
    U64,
    S64,
    F64,
    B96,
    B128,
}

impl Type {
    pub const ALL: [Type; 14] = [
        Type::Pred,
        Type::U8,
        Type::S8,
        Type::U16,
        Type::S16,
        Type::F16,
        Type::U32,
        Type::S32,
        Type::F32,
        Type::U64,
        Type::S64,
        Type::F64,
        Type::B96,
        Type::B128,
    ];

    /// Bytes in memory; 0 for a predicate.
    pub const fn bytes(self) -> u32 {
        match self {
            Type::Pred => 0,
            Type::U8 | Type::S8 => 1,
            Type::U16 | Type::S16 | Type::F16 => 2,
            Type::U32 | Type::S32 | Type::F32 => 4,
            Type::U64 | Type::S64 | Type::F64 => 8,
            Type::B96 => 12,
            Type::B128 => 16,
        }
    }

    /// Values in an operand of this type: types below 32 bits take one whole register.
    pub const fn words(self) -> usize {
        match self {
            Type::U64 | Type::S64 | Type::F64 => 2,
            Type::B96 => 3,
            Type::B128 => 4,
            _ => 1,
        }
    }

    pub const fn bits(self) -> u32 {
        if matches!(self, Type::Pred) { 1 } else { self.bytes() * 8 }
    }

    pub const fn is_float(self) -> bool {
        matches!(self, Type::F16 | Type::F32 | Type::F64)
    }

    pub const fn is_signed(self) -> bool {
        matches!(self, Type::S8 | Type::S16 | Type::S32 | Type::S64)
    }

    /// The unsigned integer or plain type of the same size: what a load or store of it needs to
    /// know.
    pub const fn unsigned(self) -> Type {
        match self {
            Type::S8 => Type::U8,
            Type::S16 | Type::F16 => Type::U16,
            Type::S32 | Type::F32 => Type::U32,
            Type::S64 | Type::F64 => Type::U64,
            t => t,
        }
    }

    /// The type of a memory access of `n` whole 32-bit words, 1 to 4.
    pub const fn of_words(n: usize) -> Option<Type> {
        match n {
            1 => Some(Type::U32),
            2 => Some(Type::U64),
            3 => Some(Type::B96),
            4 => Some(Type::B128),
            _ => None,
        }
    }

    pub const fn class(self) -> Class {
        if matches!(self, Type::Pred) { Class::Pred } else { Class::Gpr }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Type::Pred => "pred",
            Type::U8 => "u8",
            Type::S8 => "s8",
            Type::U16 => "u16",
            Type::S16 => "s16",
            Type::F16 => "f16",
            Type::U32 => "u32",
            Type::S32 => "s32",
            Type::F32 => "f32",
            Type::U64 => "u64",
            Type::S64 => "s64",
            Type::F64 => "f64",
            Type::B96 => "b96",
            Type::B128 => "b128",
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
