//! What an input is, as `--format` says it, and machine code in every form that commands read (`asm::file`).

use crate::common;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use nvir::Language;
pub(crate) use nvir::asm::file::{Asked, Code, Form, Texts, Wrong, not_a_word, pick};
use nvir::diag::closest;
use std::path::Path;
use std::process::ExitCode;

fn form_named(name: &str) -> Option<Form> {
    Form::ALL.into_iter().find(|f| f.name().eq_ignore_ascii_case(name))
}

/// A form of machine code on the command line.
pub(crate) fn form() -> impl TypedValueParser<Value = Form> {
    let value = |form: Form| {
        PossibleValue::new(form.name()).help(match form {
            Form::Cubin => "NVIDIA's container",
            Form::Hex => "Words in hexadecimal text",
            Form::Raw => "Little-endian words of 8 bytes",
            Form::Sass => "SASS text",
        })
    };
    let known = PossibleValuesParser::new(Form::ALL.map(value));
    known.try_map(|name| form_named(&name).ok_or("unknown form"))
}

/// What an input is, as `--format` says it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Text(Language),
    Code(Form),
}

impl Kind {
    /// A language or a form of machine code by its name.
    pub(crate) fn parse(name: &str) -> Result<Kind, String> {
        const ALL: [&str; 8] = ["tgsi", "nir", "ir", "spv", "cubin", "hex", "raw", "sass"];
        let code = || form_named(name).map(Kind::Code);
        common::language(name).ok().map(Kind::Text).or_else(code).ok_or_else(|| {
            let near = closest(name, &ALL).map_or(String::new(), |n| format!("did you mean `{n}`? "));
            format!("unknown file type; {near}available: {}", ALL.join(", "))
        })
    }

    pub(crate) fn language(self) -> Option<Language> {
        match self {
            Kind::Text(language) => Some(language),
            Kind::Code(_) => None,
        }
    }

    pub(crate) fn form(self) -> Option<Form> {
        match self {
            Kind::Code(form) => Some(form),
            Kind::Text(_) => None,
        }
    }
}

/// Says on standard error why a file is not read.
pub(crate) fn tell(wrong: Wrong, path: &Path) -> ExitCode {
    match wrong {
        Wrong::Whole(why) => common::fault_in(path, why),
        Wrong::Found(d, text) => {
            common::report(&d, &path.to_string_lossy(), &text);
            common::input_error()
        }
    }
}
