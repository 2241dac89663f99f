//! The SPIR-V front-end: modules of shaders and kernels to IR.
//!
//! What it reads is a module's [`listing()`], a line an instruction, which has its words; or the words alone, where nothing is to
//! be said about them. What is supported is in `docs/spirv.md`.
//!
//! - `listing`, `grammar`, `read`: from bytes to a text, from that to instructions
//! - `capability`, `module`, `declare`, `types`, `constants`: declarations; `rules`, `validate`: what lowering relies on in
//!   declarations and in functions
//! - `by_id`: a table by the numbers of ids
//! - `used`: what functions do with inputs and outputs
//! - `calls`, `kill`, `graph`, `order`, `loops`, `structure`: control flow, from labels and branches to nested constructs
//! - `math`: routines for functions of OpenCL.std
//! - `lower`: instructions to IR, by what all front-ends share ([`emit`](crate::front::common::emit))

mod by_id;
mod calls;
mod capability;
mod constants;
mod declare;
mod grammar;
mod graph;
mod kill;
mod listing;
mod loops;
mod lower;
mod math;
mod module;
mod order;
mod read;
mod rules;
mod structure;
mod types;
mod used;
mod validate;

pub use listing::{NoModule, is_module, listing, source_line};
pub(crate) use listing::{listing_of, words};

use super::Request;
use crate::diag::{Diagnostic, Diagnostics};
use crate::ir::Program;
use module::{Entry, Given, Module};

/// The program of the entry point that is asked for.
pub fn program(request: &Request<'_>) -> Result<Program, Diagnostics> {
    of(read::words(request.text)?, request)
}

/// The same of a module's words. The request has no text; diagnostics and instructions name bytes of the module.
pub(crate) fn program_of_words(words: &[u32], request: &Request<'_>) -> Result<Program, Diagnostics> {
    of(read::of_words(words)?, request)
}

fn of(code: read::Words, request: &Request<'_>) -> Result<Program, Diagnostics> {
    let m = module::module(code, request.spec_constants)?;
    let entry = entry(&m, request.entry)?;
    rules::check(&m)?;
    validate::check(&m)?;
    lower::program(&m, entry, request)
}

/// The names of all entry points.
pub fn kernels(text: &str) -> Result<Vec<String>, Diagnostics> {
    let m = module::module(read::words(text)?, &Given::new())?;
    Ok(m.entries.iter().map(|e| e.name.clone()).collect())
}

/// The entry point of that name, or the only one that can be compiled.
fn entry<'m>(m: &'m Module, name: Option<&str>) -> Result<&'m Entry, Diagnostics> {
    let known = |e: &&Entry| lower::interface::stage(e.model).is_some();
    let named = || m.entries.iter().filter(|e| name.is_none_or(|name| e.name == name));
    match named().find(known).or_else(|| named().next()) {
        Some(entry) if known(&entry) => Ok(entry),
        Some(entry) => {
            let what = format!("entry points of the execution model {:?} are not supported", entry.model);
            Err(m.unsupported(entry.at, what).into())
        }
        None => {
            let message = match name {
                Some(name) => format!("there is no entry point `{name}`"),
                None => "there is no entry point".to_string(),
            };
            let names: Vec<&str> = m.entries.iter().map(|e| e.name.as_str()).take(8).collect();
            Err(Diagnostic::error(message).help(format!("entry points here: {}", names.join(", "))).into())
        }
    }
}
