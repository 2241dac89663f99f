//! One side of the page: a compile with its steps, or a kernel of machine code.

use crate::{Failed, Found, Subject, warp};
use nvir::asm::file::{self, Texts, Wrong};
use nvir::compiler::{CompileError, Options};
use nvir::emu::Profile;
use nvir::image::cubin::Kernel;
use nvir::opt::snapshot::Step;
use nvir::remark::Remark;
use nvir::{Chip, Compiler, Language, Observer, OptLevel, Shader, Source, input};
use nvir_fixture::run::{Loaded, Outcome, Settings};
use nvir_fixture::{Fixture, kernel};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A text that was compiled.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Text {
    pub(crate) name: String,
    pub(crate) language: &'static str,
    pub(crate) text: String,
}

/// How often instructions were executed.
pub(crate) struct Counts {
    /// The test, and how it ended.
    pub(crate) test: String,
    pub(crate) outcome: String,
    pub(crate) profile: Profile,
}

/// One side.
pub(crate) struct Side {
    /// What it is, in a few words.
    pub(crate) title: String,
    /// The file that it is made of.
    pub(crate) input: PathBuf,
    pub(crate) entry: String,
    pub(crate) chip: Chip,
    /// None of machine code.
    pub(crate) level: Option<OptLevel>,
    pub(crate) text: Option<Text>,
    pub(crate) steps: Vec<Step>,
    pub(crate) remarks: Vec<Remark>,
    /// What the compile gave.
    pub(crate) shader: Option<Shader>,
    /// The machine code.
    pub(crate) kernel: Kernel,
    pub(crate) counts: Option<Counts>,
    /// The steps of a warp, with what it is.
    pub(crate) warp: Option<Value>,
    /// Why there is no code.
    pub(crate) error: Option<Found>,
}

/// Whether a file holds machine code by its name.
pub(crate) fn is_code(path: &Path) -> bool {
    input::ends_in(path, &["cubin", "sass", "hex", "bin", "words"])
}

impl Side {
    /// Compiles, or reads.
    pub(crate) fn new(asked: &Subject) -> Result<Side, Failed> {
        if Fixture::may_be(&asked.path) && asked.language.is_none() && asked.form.is_none() {
            return Side::of_fixture(asked);
        }
        let path = &asked.path;
        let data = input::read_any(path).map_err(|e| Failed::file(path, input::why(&e)))?;
        let by_name = || Language::of(path).filter(|_| asked.form.is_none());
        match asked.language.or_else(by_name) {
            Some(language) => {
                let text = language.text(&data).map_err(|e| Failed::file(path, e))?;
                Side::compile(asked, language, &text)
            }
            None => Side::read(asked, &data),
        }
    }

    fn empty(asked: &Subject, chip: Chip) -> Side {
        Side {
            title: format!("{chip} -O{}", asked.level),
            input: asked.path.clone(),
            entry: String::new(),
            chip,
            level: Some(asked.level),
            text: None,
            steps: Vec::new(),
            remarks: Vec::new(),
            shader: None,
            kernel: Kernel::default(),
            counts: None,
            warp: None,
            error: None,
        }
    }

    fn compiled(mut self, result: Result<Shader, CompileError>, observer: Observer, text: Text) -> Side {
        self.steps = observer.steps.unwrap_or_default();
        self.remarks = observer.remarks.unwrap_or_default();
        match result {
            Ok(shader) => {
                self.kernel = shader.kernel();
                self.entry = shader.entry_name.clone();
                self.shader = Some(shader);
            }
            Err(e) => {
                let (name, text) = (text.name.clone(), text.text.clone());
                self.error = Some(Found { name, what: e.diagnostics().clone(), text });
            }
        }
        self.text = Some(text);
        self
    }

    fn compile(asked: &Subject, language: Language, text: &str) -> Result<Side, Failed> {
        let chip = asked.chip.unwrap_or(Chip::Gk110);
        let compiler = Compiler::new(chip).with_options(options(asked));
        compiler.check().map_err(|e| Failed::Usage(e.to_string()))?;
        let name = asked.path.to_string_lossy().into_owned();
        let source = Source { language, text, entry: asked.entry.as_deref(), name: &name };
        let mut observer = Observer::with_steps();
        let result = compiler.observed(&source, &mut observer);
        let text = Text { name, language: language_name(language), text: text.to_string() };
        Ok(Side::empty(asked, chip).compiled(result, observer, text))
    }

    /// A kernel of a cubin, a listing or words.
    fn read(asked: &Subject, data: &[u8]) -> Result<Side, Failed> {
        let path = &asked.path;
        let fault = |e: &dyn std::fmt::Display| Failed::file(path, e);
        let chip = asked.chip.unwrap_or(Chip::Gk110);
        let file = file::Asked { path, chip, form: asked.form, texts: Texts::Any };
        let file::Code { chip, kernels, .. } = file.read(data).map_err(|e| match e {
            Wrong::Whole(why) => fault(&why),
            Wrong::Found(what, text) => {
                Failed::Found(Found { name: path.to_string_lossy().into_owned(), what, text })
            }
        })?;
        let kernel = file::pick(kernels, asked.entry.as_deref()).map_err(|e| fault(&e))?;
        if kernel.code.is_empty() {
            return Err(fault(&"no machine code in it"));
        }
        Ok(Side::empty(asked, chip).of_kernel(kernel))
    }

    fn of_kernel(self, kernel: Kernel) -> Side {
        let file = self.input.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        Side {
            title: format!("{} {file}", self.chip),
            entry: kernel.name.clone(),
            level: None,
            kernel,
            ..self
        }
    }

    fn of_fixture(asked: &Subject) -> Result<Side, Failed> {
        let failed = |e: nvir_fixture::FixtureError| {
            Failed::Found(Found { name: e.path.to_string_lossy().into_owned(), what: e.what, text: e.text })
        };
        let loaded = Loaded::read(&asked.path).map_err(failed)?;
        let chips = loaded.chips().map_err(failed)?;
        let chip = match asked.chip {
            Some(chip) if !chips.contains(&chip) => {
                return Err(Failed::Usage(format!("the fixture does not run on {chip}")));
            }
            Some(chip) => chip,
            None => chips.last().copied().unwrap_or(Chip::Gk110),
        };
        let tests = &loaded.fixture.tests;
        let test = match &asked.test {
            Some(name) => tests.iter().find(|t| t.name == *name).ok_or_else(|| {
                let all = tests.iter().map(|t| format!("`{}`", t.name)).collect::<Vec<_>>().join(", ");
                Failed::Usage(format!("unknown test `{name}`; available: {all}"))
            })?,
            None => tests.first().ok_or_else(|| Failed::file(&asked.path, "no tests in it"))?,
        };
        // What is counted is the last launch.
        let (last, private_bytes) = loaded.kernels_of(test).pop().unwrap_or_default();
        let entry = asked.entry.clone().or_else(|| last.clone());
        let settings = Settings { options: options(asked), profile: true, ..Settings::default() };
        let mut side = Side::empty(asked, chip);
        let mut observer = Observer::with_steps();
        match loaded.compile(entry.as_deref(), private_bytes, chip, &settings, &mut observer) {
            Some(result) => {
                let result = result.map_err(|e| Failed::file(&asked.path, e))?;
                let (language, text) = loaded.source_text().unwrap_or((Language::Tgsi, ""));
                let name = loaded.source_path().to_string_lossy().into_owned();
                let text = Text { name, language: language_name(language), text: text.to_string() };
                side = side.compiled(result, observer, text);
            }
            None => {
                let kernel = loaded.kernel(entry.as_deref(), private_bytes, chip, &settings);
                let kernel = match kernel.map_err(|e| Failed::file(&asked.path, e))? {
                    kernel::Kernel::Ours { shader, .. } => shader.kernel(),
                    kernel::Kernel::Cuda { file, name } => {
                        file.kernel(&name).map_err(|e| Failed::file(&asked.path, e))?.clone()
                    }
                };
                side = side.of_kernel(kernel);
            }
        }
        if side.error.is_none() && entry == last {
            let name = test.name.clone();
            let which = asked.warp.unwrap_or_default();
            side.warp = warp::steps(&loaded, &name, chip, &settings, which);
            if let (Some(which), None) = (asked.warp, &side.warp) {
                return Err(Failed::Usage(format!("the last launch of test `{name}` has no {which}")));
            }
            let reports = loaded.run(chip, Some(&name), &settings, &mut None, |_, _| ());
            if let Some(r) = reports.into_iter().next()
                && let Some(profile) = r.stats.profile
            {
                let outcome = match r.outcome {
                    Outcome::Passed => "passed".to_string(),
                    Outcome::Skipped(why) => format!("skipped: {why}"),
                    Outcome::Failed(why) => format!("failed: {why}"),
                };
                side.counts = Some(Counts { test: name, outcome, profile });
            }
        }
        Ok(side)
    }
}

fn options(asked: &Subject) -> Options {
    Options {
        max_gprs: asked.max_gprs,
        init_regs: asked.init_regs,
        stage: asked.stage,
        ..Options::at(asked.level)
    }
}

fn language_name(language: Language) -> &'static str {
    match language {
        Language::Tgsi => "TGSI",
        Language::Nir => "NIR",
        Language::Ir => "IR",
        Language::SpirV => "SPIR-V",
    }
}
