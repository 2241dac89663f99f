//! Machine code in every form that it comes in: a cubin, words in hexadecimal text or in binary,
//! SASS text, and what cuobjdump and nvdisasm print.
//!
//! What a file is shows in its contents; the name decides only where they do not:
//!
//! | contents | what it is |
//! | --- | --- |
//! | begins as ELF files do | a cubin |
//! | text of words | words in hexadecimal |
//! | another text | SASS, or the output of NVIDIA's tools, where these are asked for ([`Texts`]) |
//! | binary, named `.bin` or `.raw` | words of 8 bytes |
//! | binary, three quarters of whose words are instructions of the chip | words of 8 bytes |
//! | another binary | refused; with [`Form::Raw`] it is read |
//!
//! A file that is named `.cubin` must be one. `-` is standard input and has no name.

use crate::cubin::{Cubin, Kernel};
use crate::listing;
use crate::raw::{self, BadRaw, Raw};
use nvir_base::diag::{Diagnostic, Diagnostics, Span};
use nvir_base::{Chip, input};
use nvir_isa::header::Header;
use nvir_isa::{self as isa, fetch};
use std::path::Path;

/// A form of machine code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// NVIDIA's container.
    Cubin,
    /// Words in hexadecimal text.
    Hex,
    /// Little-endian words of 8 bytes.
    Raw,
    /// SASS text.
    Sass,
}

impl Form {
    /// All of them.
    pub const ALL: [Form; 4] = [Form::Cubin, Form::Hex, Form::Raw, Form::Sass];

    /// Its name, as `--format` has it.
    pub fn name(self) -> &'static str {
        match self {
            Form::Cubin => "cubin",
            Form::Hex => "hex",
            Form::Raw => "raw",
            Form::Sass => "sass",
        }
    }
}

/// Which texts are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Texts {
    /// Words alone.
    Words,
    /// Words, SASS, and the output of NVIDIA's tools.
    Any,
}

/// What is asked of a file.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Its name.
    pub path: &'a Path,
    /// What it is for, where the contents do not say it.
    pub chip: Chip,
    /// What it is, where its contents do not show it.
    pub form: Option<Form>,
    /// Which texts it may be.
    pub texts: Texts,
}

/// What was read.
#[derive(Clone, Debug)]
pub struct Code {
    /// What it is for.
    pub chip: Chip,
    /// What stands in front of a graphics shader's words.
    pub header: Option<Header>,
    /// In the order of the file.
    pub kernels: Vec<Kernel>,
}

/// Why a file is not read.
#[derive(Debug)]
pub enum Wrong {
    /// A sentence about the file.
    Whole(String),
    /// Places in this text.
    Found(Diagnostics, String),
}

/// What is wrong with a line (from 1) of a text of words.
pub fn not_a_word(text: &str, line: usize) -> Wrong {
    let before: usize = text.split_inclusive('\n').take(line - 1).map(str::len).sum();
    let length = text[before..].lines().next().map_or(0, str::len);
    let what = Diagnostic::error("expected a word of up to 16 hexadecimal digits");
    Wrong::Found(what.at(Span::new(before, before + length), "").into(), text.to_string())
}

fn bad(e: &BadRaw, data: &[u8]) -> Wrong {
    match (e, input::text(data)) {
        (BadRaw::Line(line), Ok(text)) => not_a_word(text, *line),
        _ => Wrong::Whole(e.to_string()),
    }
}

impl Asked<'_> {
    /// The kernels of a file's contents.
    ///
    /// # Errors
    /// Contents of no form, or not of the one that is asked for.
    pub fn read(&self, data: &[u8]) -> Result<Code, Wrong> {
        match self.form {
            Some(Form::Cubin) => self.cubin(data),
            Some(Form::Hex) if !raw::is_text(data) => Err(Wrong::Whole("not hexadecimal text".into())),
            Some(Form::Hex) => self.words(raw::read(data).map_err(|e| bad(&e, data))?),
            Some(Form::Raw) => self.words(raw::binary(data).map_err(|e| bad(&e, data))?),
            Some(Form::Sass) => self.sass(data),
            None if data.starts_with(b"\x7fELF") => self.cubin(data),
            None if input::ends_in(self.path, &["cubin"]) => Err(Wrong::Whole(
                "not an ELF file, which a cubin is; if it is machine code without a container, use --format raw or hex".into(),
            )),
            None if data.is_empty() => Err(Wrong::Whole("the file is empty".into())),
            None if raw::is_text(data) => self.text(data),
            None => self.binary(data),
        }
    }

    fn cubin(&self, data: &[u8]) -> Result<Code, Wrong> {
        let file = Cubin::read(data).map_err(|e| Wrong::Whole(e.to_string()))?;
        Ok(Code { chip: file.chip, header: None, kernels: file.kernels })
    }

    fn words(&self, Raw { header, code }: Raw) -> Result<Code, Wrong> {
        let kernel = Kernel { name: input::stem(self.path), code, ..Kernel::default() };
        Ok(Code { chip: self.chip, header, kernels: vec![kernel] })
    }

    fn text(&self, data: &[u8]) -> Result<Code, Wrong> {
        let line = match raw::read(data) {
            Ok(raw) => return self.words(raw),
            Err(e) if self.texts == Texts::Words => return Err(bad(&e, data)),
            Err(e) => e,
        };
        let text = input::text(data).map_err(Wrong::Whole)?;
        let name = input::stem(self.path);
        if listing::is_dump(text) {
            let dump = listing::read_dump(text, self.chip, &name);
            return Ok(Code { chip: dump.chip, header: None, kernels: dump.kernels });
        }
        let named = |endings: &[&str]| input::ends_in(self.path, endings);
        match self.sass(data) {
            Err(_) if named(&["hex", "words"]) => Err(bad(&line, data)),
            // Whoever pipes a text, or names it so, wants to know what is wrong in it.
            Err(Wrong::Found(..)) if !named(&["sass"]) && !input::is_standard(self.path) => {
                let what = "unknown file type: neither TGSI, NIR or IR by its name, nor a fixture or machine code; use --format";
                Err(Wrong::Whole(what.into()))
            }
            read => read,
        }
    }

    fn sass(&self, data: &[u8]) -> Result<Code, Wrong> {
        let text = input::text(data).map_err(Wrong::Whole)?;
        let read = listing::assemble(text, self.chip, &input::stem(self.path))
            .map_err(|d| Wrong::Found(d, text.to_string()))?;
        Ok(Code { chip: read.chip, header: None, kernels: read.kernels })
    }

    fn binary(&self, data: &[u8]) -> Result<Code, Wrong> {
        let raw = raw::binary(data).map_err(|e| bad(&e, data))?;
        let named = input::ends_in(self.path, &["bin", "raw"]);
        let (known, all) = instructions(self.chip, &raw.code);
        // Of random words up to 55 % mean something on gf100 and gk110. Of code all do, but for one scheduling word in eight.
        if !named && 4 * known < 3 * all {
            return Err(Wrong::Whole(format!(
                "neither an ELF file nor hexadecimal text, and only {known} of its {all} words are instructions of {}; \
                 use --format raw to read it nevertheless",
                self.chip
            )));
        }
        self.words(raw)
    }
}

/// How many of the instructions of some code mean something, and how many there are.
fn instructions(chip: Chip, code: &[u64]) -> (usize, usize) {
    let known =
        |(pc, f): (u32, fetch::Fetched)| isa::decode(chip, f.word, pc).is_some_and(|m| m.bytes() == f.bytes);
    fetch::sweep(chip, code).fold((0, 0), |(n, all), at| (n + usize::from(known(at)), all + 1))
}

/// The kernel that is asked for by its name, or the only one.
///
/// # Errors
/// There is none of that name; there are several and no name: with those that there are.
pub fn pick(kernels: Vec<Kernel>, entry: Option<&str>) -> Result<Kernel, String> {
    let all = kernels.iter().map(|k| format!("`{}`", k.name)).collect::<Vec<_>>().join(", ");
    let only = kernels.len() == 1;
    let mut kernels = kernels;
    match entry.map(|name| kernels.iter().position(|k| k.name == name)) {
        Some(Some(at)) => Ok(kernels.swap_remove(at)),
        None if only => Ok(kernels.swap_remove(0)),
        Some(None) => Err(format!("unknown kernel `{}`; available: {all}", entry.unwrap_or_default())),
        None => Err(format!("several kernels; choose one with -e: {all}")),
    }
}
