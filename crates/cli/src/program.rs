//! Programs where a fixture is read: what to do with a `.tgsi` that is no fixture, and what a program is launched on.

use nvir::compiler::{Domain, Options, Spacing, StageOptions};
use nvir::diag::{Diagnostic, Diagnostics, visible};
use nvir::image::cubin::Cubin;
use nvir::image::listing;
use nvir::ir;
use nvir::{Chip, Compiler, Language, Source, input};
use nvir_fixture::FixtureError;
use std::path::{Path, PathBuf};

/// Whether a file is a program by its name: text that is compiled, or machine code.
pub(crate) fn is_program(path: &Path) -> bool {
    Language::of(path).is_some() || input::ends_in(path, &["sass", "cubin", "hex"])
}

/// What a command that reads fixtures says of a program.
pub(crate) fn not_a_fixture(path: &Path) -> FixtureError {
    let name = path.to_string_lossy();
    let shown = visible(&name);
    let d = Diagnostic::error("a program, where a fixture (.toml or .json) is expected")
        .help(format!("`nvir new {shown}` writes a fixture for it"))
        .help(format!("`nvir run {shown} --grid 1 --block 32` launches it without one"));
    FixtureError { path: path.to_path_buf(), what: Diagnostics::from(d), text: String::new() }
}

/// A program with what is known of it before it is compiled for a chip.
pub(crate) struct Program {
    /// Its file.
    pub path: PathBuf,
    /// The file's bytes.
    pub data: Vec<u8>,
    /// The kernel, as `--entry` names it.
    pub entry: Option<String>,
    /// What it is.
    pub code: Code,
    /// NIR text of a stage that does not say all that must be known, of which something was assumed.
    pub assumed: bool,
}

/// What NIR text may leave out: triangles, in and out.
fn assumed() -> StageOptions {
    let mut stage = StageOptions::default();
    let tess = stage.tess.get_or_insert_default();
    (tess.vertices_out, tess.domain, tess.spacing) = (3, Some(Domain::Triangles), Some(Spacing::Equal));
    stage
}

/// What a program is written in.
pub(crate) enum Code {
    /// Text that is compiled, as IR in its first phase.
    Text(Box<ir::Program>),
    /// A listing, for a chip and with a declared block.
    Sass { chip: Chip, block: Option<[u32; 3]> },
    /// Words, of which nothing is known.
    Words,
    /// A kernel of NVIDIA's container.
    Cubin { chip: Chip, kernel: nvir::image::cubin::Kernel },
}

impl Program {
    /// Reads a program and finds its kernel. The error is what is to be said.
    ///
    /// # Errors
    /// The file cannot be read, is not what its name says, or has no such kernel.
    pub(crate) fn read(
        path: &Path,
        entry: Option<&str>,
        target: Option<Chip>,
    ) -> Result<Program, FixtureError> {
        let fault = |e: String| FixtureError::new(path, e);
        let data = input::read(path).map_err(|e| fault(e.to_string()))?;
        let chip = target.unwrap_or(Chip::Gk110);
        let mut guessed = false;
        let code = match Language::of(path) {
            Some(language) => {
                let text = language.text(&data).map_err(fault)?;
                let source = Source { language, text: &text, entry, name: &path.to_string_lossy() };
                let front = |stage: StageOptions| {
                    Compiler::new(chip).with_options(Options { stage, ..Options::default() }).front(&source)
                };
                let program = front(StageOptions::default()).or_else(|e| {
                    let again = if language == Language::Nir { front(assumed()).ok() } else { None };
                    guessed = again.is_some();
                    again.ok_or(e)
                });
                let program = program.map_err(|e| FixtureError {
                    path: path.to_path_buf(),
                    what: e.diagnostics().clone(),
                    text: text.to_string(),
                })?;
                Code::Text(Box::new(program))
            }
            None => Program::machine_code(path, &data, entry, chip)?,
        };
        let entry = entry.map(str::to_string);
        Ok(Program { path: path.to_path_buf(), data, entry, code, assumed: guessed })
    }

    fn machine_code(path: &Path, data: &[u8], entry: Option<&str>, chip: Chip) -> Result<Code, FixtureError> {
        let fault = |e: String| FixtureError::new(path, e);
        match input::ending(path).as_deref() {
            Some("cubin") => {
                let file = Cubin::read(data).map_err(|e| fault(e.to_string()))?;
                let kernel = match (entry, file.kernels.as_slice()) {
                    (None, [only]) => only,
                    (Some(name), _) => file.kernel(name).map_err(|e| fault(e.to_string()))?,
                    (None, all) => {
                        let all: Vec<String> = all.iter().map(|k| format!("`{}`", k.name)).collect();
                        return Err(fault(format!("choose a kernel with -e: {}", all.join(", "))));
                    }
                };
                Ok(Code::Cubin { chip: file.chip, kernel: kernel.clone() })
            }
            Some("sass") => {
                let text = input::text(data).map_err(fault)?;
                let assembly = listing::assemble(text, chip, "main").map_err(|what| FixtureError {
                    path: path.to_path_buf(),
                    what,
                    text: text.to_string(),
                })?;
                let kernel = assembly.kernels.iter().find(|k| entry.is_none_or(|name| k.name == name));
                let kernel =
                    kernel.ok_or_else(|| fault(format!("no kernel `{}`", entry.unwrap_or("main"))))?;
                Ok(Code::Sass { chip: assembly.chip, block: kernel.block_size })
            }
            Some("hex") => Ok(Code::Words),
            _ => Err(fault("unknown file type: .tgsi, .nir, .ir, .sass, .hex or .cubin is expected".into())),
        }
    }

    /// The chips that it can run on.
    pub(crate) fn chips(&self) -> Vec<Chip> {
        match &self.code {
            Code::Text(_) | Code::Words => Chip::ALL.to_vec(),
            Code::Sass { chip, .. } | Code::Cubin { chip, .. } => vec![*chip],
        }
    }

    /// Threads of a block, where the program declares them.
    pub(crate) fn block(&self) -> Option<[u32; 3]> {
        match &self.code {
            Code::Text(program) => program.block_size,
            Code::Sass { block, .. } => *block,
            Code::Cubin { kernel, .. } => kernel.block_size,
            Code::Words => None,
        }
    }

    /// Its file's name, as a fixture beside it names it.
    pub(crate) fn file_name(&self) -> PathBuf {
        self.path.file_name().map_or_else(|| self.path.clone(), PathBuf::from)
    }
}
