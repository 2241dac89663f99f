//! Why units cannot be read, or linked.

use crate::chip::{Chip, LimitError};
use nvir_asm::cubin::CubinError;

/// A file that is no unit.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum UnitError {
    /// It is no cubin.
    #[error(transparent)]
    Cubin(#[from] CubinError),
    /// A cubin that runs as it is: all that its kernels call was known when it was made.
    #[error("it is not relocatable: its kernels were compiled, or linked, with all that they call")]
    Closed,
    /// Somebody else's: there is nothing by which it could be checked.
    #[error("another compiler's relocatable cubin: it has no section `.nvir.facts`")]
    Foreign,
    /// Of another version of nvir.
    #[error("facts of schema {0}: this nvir reads {schema}", schema = super::SCHEMA)]
    Schema(String),
    /// The section of facts says something else than it may.
    #[error("section .nvir.facts, line {line}: {why}")]
    Facts {
        /// From 1.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// Code and facts do not go together.
    #[error("function `{function}`: {why}")]
    Function {
        /// The symbol.
        function: String,
        /// What is wrong with it.
        why: String,
    },
}

/// Why units do not go together.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LinkError {
    /// Units for different chips.
    #[error("{file} is for {chip}, {first} for {first_chip}")]
    Chips {
        /// The unit.
        file: String,
        /// What it is for.
        chip: Chip,
        /// The first unit.
        first: String,
        /// What that is for.
        first_chip: Chip,
    },
    /// Two functions of one name.
    #[error("`{name}` is defined in {first} and in {second}")]
    Duplicate {
        /// The symbol.
        name: String,
        /// A file that has it.
        first: String,
        /// Another one, or the same.
        second: String,
    },
    /// No unit has a function that is called.
    #[error("`{name}` is not defined; `{caller}` in {file} calls it")]
    Undefined {
        /// The symbol.
        name: String,
        /// Who calls it.
        caller: String,
        /// Where that is.
        file: String,
    },
    /// There is nothing to launch.
    #[error("no kernel, only functions")]
    NoKernel,
    /// The container has no room for the sections of so many.
    #[error("{0} kernels: a file has {most} at most", most = super::MOST_FUNCTIONS)]
    Kernels(usize),
    /// A kernel is called.
    #[error("`{caller}` calls `{name}`, which is a kernel: kernels are launched only")]
    CallsKernel {
        /// The kernel.
        name: String,
        /// Who calls it.
        caller: String,
    },
    /// Caller and callee have different ideas of the callee's type.
    #[error(
        "`{caller}` in {file} calls `{name}` with {given} words of arguments for {wanted} of results; it takes {params} and gives {results}"
    )]
    Type {
        /// The callee.
        name: String,
        /// Who calls it.
        caller: String,
        /// Where that is.
        file: String,
        /// Words that are passed.
        given: u32,
        /// Words that are expected back.
        wanted: u32,
        /// Words that the function takes.
        params: u32,
        /// Words that it gives.
        results: u32,
    },
    /// Frames and the call-return stack of such functions have no bound.
    #[error("recursion, whose stack has no bound: {}", .0.join(" calls "))]
    Recursion(
        /// The circle: each calls the next one, the last is the first.
        Vec<String>,
    ),
    /// Threads of the kernel's block cannot have so many registers.
    #[error("`{function}` needs {gprs} registers, and threads of `{kernel}` have {limit} at most")]
    Registers {
        /// The kernel.
        kernel: String,
        /// What it calls.
        function: String,
        /// Registers of that.
        gprs: u32,
        /// Registers that the kernel can have.
        limit: u32,
    },
    /// All lanes of a warp must come to a barrier together.
    #[error(
        "`{caller}` calls `{callee}` where lanes of a warp may have parted, and a barrier waits there for all of them"
    )]
    Barrier {
        /// Who calls.
        caller: String,
        /// What uses a barrier, itself or in what it calls.
        callee: String,
    },
    /// The chip does not have that much memory.
    #[error("`{kernel}`: {limit}")]
    Limit {
        /// The kernel.
        kernel: String,
        /// What it has too much of.
        limit: LimitError,
    },
    /// A relocation does not stand on an instruction of its kind, or what it wants does not fit in
    /// it.
    #[error("`{function}` at {pc:#x}: {why}")]
    Place {
        /// The function.
        function: String,
        /// The address in it, in bytes.
        pc: u32,
        /// What is wrong.
        why: &'static str,
    },
}
