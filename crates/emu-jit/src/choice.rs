//! Which engine a user asks for, and what becomes of programs then.

use nvir_emu::Program;
use nvir_emu::engine::Engine;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// An engine by its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Choice {
    /// `interpreter`.
    #[cfg_attr(not(feature = "cranelift"), default)]
    Interpreter,
    /// `compiled`: host code from what runs often.
    #[cfg_attr(feature = "cranelift", default)]
    Compiled,
    /// `both`: all of it as host code, compared with the interpreter after each basic block.
    Both,
}

/// What there is, with names.
const ALL: &[(&str, Choice)] = &[
    ("interpreter", Choice::Interpreter),
    #[cfg(feature = "cranelift")]
    ("compiled", Choice::Compiled),
    #[cfg(feature = "cranelift")]
    ("both", Choice::Both),
];

impl Choice {
    /// The engine; none: the interpreter.
    pub fn engine(self) -> Option<Arc<dyn Engine>> {
        #[cfg(feature = "cranelift")]
        {
            use crate::Compiled;
            use nvir_emu::engine::{Interpreter, Lockstep};
            match self {
                Choice::Interpreter => None,
                Choice::Compiled => Some(Arc::new(Compiled::Hot)),
                Choice::Both => Some(Arc::new(Lockstep::new(&Compiled::Exact, &Interpreter))),
            }
        }
        #[cfg(not(feature = "cranelift"))]
        None
    }
}

/// What a program is executed for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Threads {
    /// Blocks of a kernel.
    Kernel,
    /// A stage of a draw.
    Stage,
}

impl Choice {
    /// What executes a program, and why, in a few words, if warps have executed so many instructions of it without being watched.
    pub fn outlook(self, program: &Program, threads: Threads, executed: u64) -> String {
        #[cfg(feature = "cranelift")]
        match self {
            Choice::Interpreter => "interpreted, as was asked for".to_string(),
            Choice::Compiled => crate::compiled::outlook(program, threads, executed),
            Choice::Both => "compiled and interpreted, block by block".to_string(),
        }
        #[cfg(not(feature = "cranelift"))]
        {
            let _ = (program, threads, executed);
            "interpreted: this is built without the compiled engine".to_string()
        }
    }
}

impl FromStr for Choice {
    type Err = String;

    fn from_str(name: &str) -> Result<Choice, String> {
        let found = ALL.iter().find(|(n, _)| *n == name).map(|(_, choice)| *choice);
        let names = || ALL.iter().map(|(n, _)| *n).collect::<Vec<_>>().join(" or ");
        found.ok_or_else(|| format!("expected {}", names()))
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = ALL.iter().find(|(_, choice)| choice == self).map_or("interpreter", |(n, _)| *n);
        f.write_str(name)
    }
}
