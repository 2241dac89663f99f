//! The TGSI front-end: text to syntax tree to IR.
//!
//! [`parse()`] reads all three dialects (Mesa 22.3's dumps, the 2016 dialect with `MEMORY[n]` and immediates between
//! subroutines, the 2011 dialect with `RES[n]`) into one [`ast::Program`].

#[expect(missing_docs, reason = "fields and variants are named as the text has them")]
pub mod ast;
mod duplicates;
mod flow;
pub mod interface;
mod lexer;
mod lower;
#[expect(missing_docs, reason = "variants are named as the text has them")]
mod names;
#[expect(missing_docs, reason = "variants are mnemonics")]
mod opcode;
mod parser;

pub(crate) use opcode::prepare;
pub use parser::parse;

use super::Request;
use crate::diag::Diagnostics;
use crate::ir::Program;

/// The program of the kernel that is asked for.
pub fn program(request: &Request<'_>) -> Result<Program, Diagnostics> {
    lower::lower(&parse(request.text)?, request)
}

/// The names of all kernels: `main` for code outside subroutines, and the numbers of BGNSUBs that nothing calls.
pub fn kernels(text: &str) -> Result<Vec<String>, Diagnostics> {
    Ok(parse(text)?.kernels())
}
