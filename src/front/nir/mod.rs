//! NIR text as a front-end: what Mesa's `nir_print_shader` writes.
//!
//! [`parse()`] makes an [`ast`], `validate` checks it as Mesa's `nir_validate` would, [`program`] lowers the kernel that
//! is asked for. What NIR has of opcodes and
//! intrinsics stands in two tables, [`alu`] and [`intrinsics`]; what its other words mean, in [`names`] and [`types`].

#[expect(missing_docs, reason = "variants are NIR's opcodes")]
pub mod alu;
#[expect(missing_docs, reason = "fields and variants are named as the text has them")]
pub mod ast;
mod cursor;
#[expect(missing_docs, reason = "fields and variants are named as the text has them")]
pub mod indices;
mod interface;
#[expect(missing_docs, reason = "variants are NIR's intrinsics")]
pub mod intrinsics;
mod io;
pub mod locations;
mod lower;
#[expect(missing_docs, reason = "fields and variants are named as the text has them")]
pub mod names;
mod operands;
pub mod options;
mod parse;
#[expect(missing_docs, reason = "fields and variants are named as the text has them")]
pub mod types;
mod validate;

pub use parse::parse;

use super::Request;
use crate::diag::Diagnostics;
use crate::ir::Program;

/// Makes the tables of names.
pub(crate) fn prepare() {
    alu::prepare();
    intrinsics::prepare();
    cursor::prepare();
}

/// The program of the kernel that is asked for.
pub fn program(request: &Request<'_>) -> Result<Program, Diagnostics> {
    let mut shader = parse(request.text)?;
    validate::shader(request.text, &shader)?;
    io::lower(&mut shader)?;
    lower::program(&shader, request)
}

/// The names of all kernels: entry points, or where none is marked, functions without parameters.
pub fn kernels(text: &str) -> Result<Vec<String>, Diagnostics> {
    let shader = parse(text)?;
    let named = |wanted: &dyn Fn(&ast::Function<'_>) -> bool| -> Vec<String> {
        shader.functions.iter().filter(|f| f.defined && wanted(f)).map(|f| f.name.to_string()).collect()
    };
    let marked = named(&|f| f.entrypoint);
    Ok(if marked.is_empty() { named(&|f| f.params == 0) } else { marked })
}
