//! The compiler as a driver meets it: text in, a [`Shader`] out.
//!
//! A [`Compiler`] holds what is the same for many shaders: the chip, what the driver puts where ([`Abi`]), and the
//! options. It has no state: share it between threads.
//!
//! ```
//! use nvir::{Chip, Compiler, Source};
//! let text = "COMP
//! PROPERTY CS_FIXED_BLOCK_WIDTH 32
//! PROPERTY CS_FIXED_BLOCK_HEIGHT 1
//! PROPERTY CS_FIXED_BLOCK_DEPTH 1
//! DCL SV[0], THREAD_ID
//! DCL BUFFER[0]
//! DCL TEMP[0..1]
//! IMM[0] UINT32 {2, 0, 0, 0}
//!   0: SHL TEMP[0].x, SV[0].xxxx, IMM[0].xxxx
//!   1: STORE BUFFER[0].x, TEMP[0].xxxx, SV[0].xxxx
//!   2: END
//! ";
//! let shader = Compiler::new(Chip::Gk110).compile(&Source::tgsi(text)).unwrap();
//! assert_eq!(shader.block_size, Some([32, 1, 1]));
//! assert!(shader.resources.buffers.slots[0].written);
//!
//! // What is wrong has a place.
//! let error = Compiler::new(Chip::Gk110).compile(&Source::tgsi("COMP\n  0: MOVE TEMP[0], TEMP[0]\n")).unwrap_err();
//! assert_eq!(error.fault(), nvir::diag::Fault::Input);
//! assert!(error.to_string().contains("shader.tgsi:2:6"), "{error}");
//! ```

mod cache;
mod cancel;
mod error;
mod module;
mod observer;
mod pipeline;
mod remarks;
mod resources;
mod separate;
mod stage;

pub use crate::options::{BadOption, DebugOptions, InitRegs, InjectedFault, OptLevel, Options, Sanitize};
pub use crate::options::{Distances, Domain, FragmentInfo, GeometryInfo, Spacing, StageOptions, TessInfo};
pub use cache::CacheKey;
pub use cancel::Cancel;
pub use error::CompileError;
pub use module::Module;
pub use observer::{Input, Observer, Report};

use crate::analysis::functions;
use crate::caught::catching;
use crate::chip::Chip;
use crate::diag::{Diagnostic, Diagnostics};
use crate::driver::Abi;
use crate::front::{self, Request};
use crate::image::Shader;
use crate::image::separate::Unit;
use crate::ir::{self, Phase, Program};
use crate::isa::Table;
use crate::stage::Stage;
use crate::{opt, verify};
use pipeline::Compile;
use std::borrow::Cow;
use std::path::Path;

/// The languages of sources.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Language {
    /// What Mesa's `tgsi_dump` prints.
    Tgsi,
    /// What Mesa's `nir_print_shader` prints.
    Nir,
    /// nvir's own intermediate representation.
    Ir,
    /// The listing of a SPIR-V module ([`front::spirv::listing`]).
    SpirV,
}

impl Language {
    /// By a file name's ending: `.tgsi`, `.nir`, `.ir`, `.spv`.
    pub fn of(path: &Path) -> Option<Language> {
        match crate::input::ending(path)?.as_str() {
            "tgsi" => Some(Language::Tgsi),
            "nir" => Some(Language::Nir),
            "ir" => Some(Language::Ir),
            "spv" => Some(Language::SpirV),
            _ => None,
        }
    }

    /// Whether a file's bytes are words, to be read by [`Module::new`], and no text: of SPIR-V all but a listing.
    pub fn is_binary(self, data: &[u8]) -> bool {
        self == Language::SpirV && !data.starts_with(b";")
    }

    /// A file's bytes as the text of a source: of a SPIR-V module its listing, of others what they are.
    ///
    /// # Errors
    /// Why they are none, in a sentence.
    pub fn text(self, data: &[u8]) -> Result<Cow<'_, str>, String> {
        match self.is_binary(data) {
            true => front::spirv::listing(data).map(Cow::Owned).map_err(|e| e.to_string()),
            false => crate::input::text(data).map(Cow::Borrowed),
        }
    }
}

/// A text to compile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Source<'a> {
    /// What it is written in.
    pub language: Language,
    /// The program.
    pub text: &'a str,
    /// The kernel: the name of a NIR function or a SPIR-V entry point, or the instruction number of a TGSI BGNSUB. None:
    /// TGSI's main code, else its only subroutine that is not called; NIR's entry point; SPIR-V's first that can be
    /// compiled. IR has one entry.
    pub entry: Option<&'a str>,
    /// What errors call the text; it has no other meaning.
    pub name: &'a str,
}

impl<'a> Source<'a> {
    /// TGSI text.
    pub const fn tgsi(text: &'a str) -> Source<'a> {
        Source { language: Language::Tgsi, text, entry: None, name: "shader.tgsi" }
    }

    /// NIR text.
    pub const fn nir(text: &'a str) -> Source<'a> {
        Source { language: Language::Nir, text, entry: None, name: "shader.nir" }
    }

    /// IR text, in its first phase.
    pub const fn ir(text: &'a str) -> Source<'a> {
        Source { language: Language::Ir, text, entry: None, name: "shader.ir" }
    }

    /// The listing of a SPIR-V module, which [`front::spirv::listing`] makes of its bytes.
    pub const fn spirv(text: &'a str) -> Source<'a> {
        Source { language: Language::SpirV, text, entry: None, name: "shader.spv" }
    }

    /// The same text with another kernel of it.
    pub const fn with_entry(self, entry: Option<&'a str>) -> Source<'a> {
        Source { entry, ..self }
    }

    /// The same text by another name.
    pub const fn with_name(self, name: &'a str) -> Source<'a> {
        Source { name, ..self }
    }
}

/// A compiler for one chip and driver.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Compiler {
    chip: Chip,
    abi: Abi,
    graphics_abi: Abi,
    options: Options,
}

impl Compiler {
    /// For Mesa's nvc0 driver, with the default options.
    pub fn new(chip: Chip) -> Compiler {
        Compiler {
            chip,
            abi: Abi::nvc0(chip),
            graphics_abi: Abi::nvc0_graphics(chip),
            options: Options::default(),
        }
    }

    /// Makes the tables that the first compile of a process makes otherwise, which takes most of a millisecond: a driver calls
    /// it when it opens the device, and no draw waits for it.
    pub fn prepare(&self) {
        Table::for_chip(self.chip);
        front::nir::prepare();
        front::tgsi::prepare();
    }

    /// The same for another driver.
    pub fn with_abi(self, abi: Abi) -> Compiler {
        Compiler { abi, ..self }
    }

    /// The same for another driver's graphics stages.
    pub fn with_graphics_abi(self, graphics_abi: Abi) -> Compiler {
        Compiler { graphics_abi, ..self }
    }

    /// The same with other options. A compile refuses options that [`Compiler::check`] refuses.
    pub fn with_options(self, options: Options) -> Compiler {
        Compiler { options, ..self }
    }

    /// What it compiles for.
    pub fn chip(&self) -> Chip {
        self.chip
    }

    /// What the driver puts where for compute kernels.
    pub fn abi(&self) -> &Abi {
        &self.abi
    }

    /// What it puts where for a stage.
    pub fn abi_of(&self, stage: Stage) -> &Abi {
        if stage.is_graphics() { &self.graphics_abi } else { &self.abi }
    }

    /// The choices made.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Whether every choice exists and the chip can do what numbers ask for.
    pub fn check(&self) -> Result<(), BadOption> {
        self.options.check_numbers(self.chip)?;
        let debug = &self.options.debug;
        let printed = debug.print_before.iter().chain(&debug.print_after).filter(|n| *n != "all");
        debug.passes.iter().flatten().chain(printed).try_for_each(|name| opt::named(name).map(drop))
    }

    /// Compiles one kernel of a text, or a program.
    ///
    /// The result depends on the input and this compiler only: not on the machine, the thread or what was compiled before.
    ///
    /// # Errors
    /// What is wrong with the input, with places; what it asks for and is not there; a defect of nvir. It never panics.
    pub fn compile<'a>(&self, input: impl Into<Input<'a>>) -> Result<Shader, CompileError> {
        self.observed(input, &mut Observer::default())
    }

    /// The same with somebody who looks on, and may end it: then the error's fault is
    /// [`Fault::Cancelled`](crate::diag::Fault).
    pub fn observed<'a>(
        &self,
        input: impl Into<Input<'a>>,
        observer: &mut Observer,
    ) -> Result<Shader, CompileError> {
        self.guarded(input.into(), observer, |compile, mut program| {
            let uses = compile.optimise(&mut program)?;
            Ok(compile.generate(&mut program, uses)?)
        })
    }

    /// The program of a text's kernel as front-ends make it, verified if it was IR.
    pub fn front(&self, source: &Source<'_>) -> Result<Program, CompileError> {
        self.guarded(source.into(), &mut Observer::default(), |_, program| Ok(program))
    }

    /// The program as it is before registers are assigned: phase `Legal`, in the order in which it will be emitted.
    pub fn optimised(&self, source: &Source<'_>, observer: &mut Observer) -> Result<Program, CompileError> {
        self.guarded(source.into(), observer, |compile, mut program| {
            compile.optimise(&mut program)?;
            Ok(program)
        })
    }

    /// Compiles a text to be linked with others: its kernel, if it has one, and its functions, which others may call
    /// ([`crate::image::separate`]). Of them nothing is assumed that depends on who calls.
    ///
    /// # Errors
    /// As [`Compiler::compile`]'s; and what cannot be linked, such as graphics stages.
    pub fn unit(&self, source: &Source<'_>, observer: &mut Observer) -> Result<Unit, CompileError> {
        self.guarded(source.into(), observer, |compile, mut program| {
            compile.separate = true;
            // What subroutines of the other languages pass to each other lies in memory of the whole program.
            if source.language == Language::Ir {
                separate::show(&mut program);
            }
            Ok(compile.unit(&mut program)?)
        })
    }

    /// The names of a text's kernels, in its order: what [`Source::entry`] may say. None of IR, which has one kernel.
    pub fn kernels(&self, source: &Source<'_>) -> Result<Vec<String>, CompileError> {
        let kernels = caught(|| match source.language {
            Language::Tgsi => front::tgsi::kernels(source.text),
            Language::Nir => front::nir::kernels(source.text),
            Language::Ir => Ok(Vec::new()),
            Language::SpirV => front::spirv::kernels(source.text),
        });
        kernels.map_err(|d| CompileError::new(d, source))
    }

    /// What identifies the result of compiling `source`: equal keys mean equal shaders. It holds the input, the options,
    /// the chip, the ABI, and the version of the compiler, so it may name a file in a cache that outlives the process.
    pub fn cache_key(&self, source: &Source<'_>) -> CacheKey {
        cache::key(self, source)
    }

    /// What a front-end is asked for.
    fn request<'a>(&'a self, text: &'a str, entry: Option<&'a str>) -> Request<'a> {
        Request {
            text,
            chip: self.chip,
            abi: &self.abi,
            entry,
            pointer_align: self.options.pointer_align,
            private_bytes: self.options.private_bytes,
            stage: self.options.stage,
            sanitize: self.options.sanitize,
            clip_plane_place: (self.graphics_abi.aux_bank, self.graphics_abi.clip_planes),
            spec_constants: &self.options.spec_constants,
        }
    }

    fn read(&self, source: &Source<'_>) -> Result<Program, Diagnostics> {
        if source.text.len() > u32::MAX as usize / 2 {
            return Err(Diagnostic::error("the text is longer than 2 GiB").into());
        }
        let request = self.request(source.text, source.entry);
        let program = match source.language {
            Language::Tgsi => front::tgsi::program(&request)?,
            Language::Nir => front::nir::program(&request)?,
            Language::SpirV => front::spirv::program(&request)?,
            Language::Ir => {
                let mut program = ir::parse::program(source.text)?;
                verify::program(&program, Phase::Front).map_err(|v| v.diagnostic())?;
                functions::forget(&mut program);
                program
            }
        };
        verify::whole_warps(&program).map_err(|v| v.into_diagnostic())?;
        Ok(program)
    }

    fn read_module(&self, module: &Module<'_>) -> Result<Program, Diagnostics> {
        let program = front::spirv::program_of_words(&module.words, &self.request("", module.entry))?;
        verify::whole_warps(&program).map_err(|v| v.into_diagnostic())?;
        Ok(program)
    }

    /// Whether nothing is wanted that says where in the source something is, but the shader's lines.
    fn is_quiet(&self, observer: &Observer) -> bool {
        let Options { sanitize, debug, .. } = &self.options;
        let prints = debug.remarks || !debug.print_before.is_empty() || !debug.print_after.is_empty();
        let looks = observer.remarks.is_some() || observer.steps.is_some();
        !prints && !looks && *sanitize == Sanitize::default()
    }

    /// Checks the options, reads the input, works on it, tells the observer, and makes errors of panics.
    fn guarded<T>(
        &self,
        input: Input<'_>,
        observer: &mut Observer,
        work: impl FnOnce(&mut Compile<'_>, Program) -> Result<T, Diagnostics>,
    ) -> Result<T, CompileError> {
        let mut remarking = None;
        let compiler = if observer.remarks.is_some() {
            let compiler = remarking.insert(self.clone());
            compiler.options.debug.remarks = true;
            compiler
        } else {
            self
        };
        let listed;
        let input = match input {
            Input::Module(module) if !compiler.is_quiet(observer) => {
                listed = module.source();
                Input::Text(&listed)
            }
            input => input,
        };
        let mut compile = Compile::new(compiler, &observer.cancel);
        if observer.steps.is_some() {
            compile.session.steps.want();
        }
        let (source, module) = match &input {
            Input::Text(source) => (Some(*source), None),
            Input::Module(module) => (None, Some(*module)),
            Input::Program(_) => (None, None),
        };
        let result = match self.check() {
            Ok(()) => caught(|| {
                let program = match input {
                    Input::Text(source) => compiler.read(source)?,
                    Input::Module(module) => compiler.read_module(module)?,
                    Input::Program(program) => program,
                };
                work(&mut compile, program)
            }),
            Err(e) => Err(Diagnostic::error(e.to_string()).into()),
        };
        observer.report.push_str(&compile.report());
        if let Some(steps) = &mut observer.steps {
            *steps = compile.session.steps.take();
        }
        if let Some(remarks) = &mut observer.remarks {
            *remarks = std::mem::take(&mut compile.session.remarks);
            remarks.sort_by(|a, b| (a.loc.0, a.pass, &a.message).cmp(&(b.loc.0, b.pass, &b.message)));
            remarks.dedup();
        }
        result.map_err(|d| match (source, module) {
            (Some(source), _) => CompileError::new(d, source),
            (_, Some(module)) => CompileError::new(module.found(d), &module.source()),
            _ => d.into(),
        })
    }
}

/// Does work and makes an error of a panic.
fn caught<T>(work: impl FnOnce() -> Result<T, Diagnostics>) -> Result<T, Diagnostics> {
    catching(work).unwrap_or_else(|said| Err(Diagnostic::defect(said).into()))
}
