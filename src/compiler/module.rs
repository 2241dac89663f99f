//! SPIR-V modules as drivers have them: words, and a listing only where somebody asks for it.

use super::{Language, Source};
use crate::diag::{Diagnostics, Loc, Span};
use crate::front::spirv::{self, NoModule};
use std::sync::OnceLock;

/// A SPIR-V module, to be compiled without the listing that a [`Source`] has. The shader is the same but for
/// [`Shader::lines`](crate::Shader), which are bytes of the module: [`Module::listed`] makes lines of the listing of them.
///
/// ```no_run
/// # use nvir::{Chip, Compiler, compiler::Module};
/// # fn f(bytes: &[u8]) -> Result<(), Box<dyn std::error::Error>> {
/// let module = Module::new(bytes)?;
/// let shader = Compiler::new(Chip::Gk110).compile(&module.with_entry(Some("main")))?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Module<'a> {
    pub(super) words: Vec<u32>,
    pub(super) entry: Option<&'a str>,
    name: &'a str,
    listing: OnceLock<Listing>,
}

#[derive(Clone, Debug)]
struct Listing {
    text: String,
    /// Where among the words a line begins, and where it is.
    lines: Vec<(usize, Span)>,
}

impl<'a> Module<'a> {
    /// The module that a file's bytes are, in either order.
    ///
    /// # Errors
    /// Why they are none.
    pub fn new(data: &[u8]) -> Result<Module<'a>, NoModule> {
        let words = spirv::words(data)?;
        Ok(Module { words, entry: None, name: "shader.spv", listing: OnceLock::new() })
    }

    /// The same module with another entry point of it ([`Source::entry`]).
    pub fn with_entry(self, entry: Option<&'a str>) -> Module<'a> {
        Module { entry, ..self }
    }

    /// The same module by another name, which errors call it.
    pub fn with_name(self, name: &'a str) -> Module<'a> {
        Module { name, ..self }
    }

    /// Its listing, made when it is asked for first.
    pub fn text(&self) -> &str {
        &self.listing().text
    }

    /// The same program as a text.
    pub fn source(&self) -> Source<'_> {
        Source { language: Language::SpirV, text: self.text(), entry: self.entry, name: self.name }
    }

    /// Of bytes of the module, the line of the listing where they begin.
    pub fn listed(&self, loc: Loc) -> Loc {
        Loc(loc.0.map(|span| self.line(span)))
    }

    fn line(&self, bytes: Span) -> Span {
        let lines = &self.listing().lines;
        let after = lines.partition_point(|&(at, _)| at <= bytes.start as usize / 4);
        after.checked_sub(1).map_or(bytes, |n| lines[n].1)
    }

    /// Findings about bytes of the module as findings about its listing.
    pub(super) fn found(&self, mut diagnostics: Diagnostics) -> Diagnostics {
        for d in &mut diagnostics.list {
            d.primary.iter_mut().chain(&mut d.labels).for_each(|(span, _)| *span = self.line(*span));
        }
        diagnostics
    }

    fn listing(&self) -> &Listing {
        self.listing.get_or_init(|| {
            let mut lines = Vec::new();
            let text = spirv::listing_of(&self.words, |at, span| lines.push((at, span)));
            Listing { text, lines }
        })
    }
}
