//! Machine code in every form that commands read: a cubin, words in hexadecimal text or in binary, SASS text, and what
//! cuobjdump and nvdisasm print.
//!
//! What a file is shows in its contents; the name decides only where they do not:
//!
//! | contents | what it is |
//! | --- | --- |
//! | begins as ELF files do | a cubin |
//! | text of words | words in hexadecimal |
//! | another text | SASS, or the output of NVIDIA's tools, where the command reads these |
//! | binary, named `.bin` or `.raw` | words of 8 bytes |
//! | binary, three quarters of whose words are instructions of the chip | words of 8 bytes |
//! | another binary | refused; `--format raw` reads it |
//!
//! A file that is named `.cubin` must be one.

use crate::common;
use nvir::diag::{Diagnostic, Diagnostics, Span, closest};
use nvir::image::cubin::{Cubin, Kernel};
use nvir::image::listing;
use nvir::image::raw::{self, BadRaw, Raw};
use nvir::isa::fetch;
use nvir::isa::header::Header;
use nvir::{Chip, Language, input, isa};
use std::path::Path;
use std::process::ExitCode;

/// A form of machine code, as `--format` names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Form {
    /// NVIDIA's container
    Cubin,
    /// Words in hexadecimal text
    Hex,
    /// Little-endian words of 8 bytes
    Raw,
    /// SASS text
    Sass,
}

/// What an input is, as `--format` says it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Text(Language),
    Code(Form),
}

impl Kind {
    /// A language or a form of machine code by its name.
    pub fn parse(name: &str) -> Result<Kind, String> {
        const ALL: [&str; 7] = ["tgsi", "nir", "ir", "cubin", "hex", "raw", "sass"];
        let form = || <Form as clap::ValueEnum>::from_str(name, true).ok().map(Kind::Code);
        common::language(name).ok().map(Kind::Text).or_else(form).ok_or_else(|| {
            let near = closest(name, &ALL).map_or(String::new(), |n| format!("did you mean `{n}`? "));
            format!("unknown file type; {near}available: {}", ALL.join(", "))
        })
    }

    pub fn language(self) -> Option<Language> {
        match self {
            Kind::Text(language) => Some(language),
            Kind::Code(_) => None,
        }
    }

    pub fn form(self) -> Option<Form> {
        match self {
            Kind::Code(form) => Some(form),
            Kind::Text(_) => None,
        }
    }
}

/// Which texts a command takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Texts {
    /// Words alone.
    Words,
    /// Words, SASS, and the output of NVIDIA's tools.
    Any,
}

/// What is asked of a file.
pub struct Asked<'a> {
    pub path: &'a Path,
    /// Where the contents do not say it.
    pub chip: Chip,
    pub form: Option<Form>,
    pub texts: Texts,
}

/// What was read.
pub struct Code {
    pub chip: Chip,
    /// What stands in front of a graphics shader's words.
    pub header: Option<Header>,
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

impl Wrong {
    /// Says it on standard error.
    pub fn tell(self, path: &Path) -> ExitCode {
        match self {
            Wrong::Whole(why) => common::fault_in(path, why),
            Wrong::Found(d, text) => {
                common::report(&d, &path.to_string_lossy(), &text);
                common::input_error()
            }
        }
    }
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
        let kernel = Kernel { name: common::stem(self.path), code, ..Kernel::default() };
        Ok(Code { chip: self.chip, header, kernels: vec![kernel] })
    }

    fn text(&self, data: &[u8]) -> Result<Code, Wrong> {
        let line = match raw::read(data) {
            Ok(raw) => return self.words(raw),
            Err(e) if self.texts == Texts::Words => return Err(bad(&e, data)),
            Err(e) => e,
        };
        let text = input::text(data).map_err(Wrong::Whole)?;
        let name = common::stem(self.path);
        if listing::is_dump(text) {
            let dump = listing::read_dump(text, self.chip, &name);
            return Ok(Code { chip: dump.chip, header: None, kernels: dump.kernels });
        }
        let named = |endings: &[&str]| input::ends_in(self.path, endings);
        match self.sass(data) {
            Err(_) if named(&["hex", "words"]) => Err(bad(&line, data)),
            // Whoever pipes a text, or names it so, wants to know what is wrong in it.
            Err(Wrong::Found(..)) if !named(&["sass"]) && !crate::output::is_standard(self.path) => {
                let what = "unknown file type: neither TGSI, NIR or IR by its name, nor a fixture or machine code; use --format";
                Err(Wrong::Whole(what.into()))
            }
            read => read,
        }
    }

    fn sass(&self, data: &[u8]) -> Result<Code, Wrong> {
        let text = input::text(data).map_err(Wrong::Whole)?;
        let read = listing::assemble(text, self.chip, &common::stem(self.path))
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
