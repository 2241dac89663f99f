//! `nvir explore`: the page of `nvir_explore` as a file, or served and made again when a file changes.

use crate::code::Kind;
use crate::out::{self, errln, outln};
use crate::watch::{self, Watch};
use crate::{common, output};
use nvir::compiler::StageOptions;
use nvir::diag::visible;
use nvir::{Chip, InitRegs, OptLevel, input};
use nvir_explore::{Against, Failed, Found, Page, Server, Subject, WarpId};
use std::path::PathBuf;
use std::process::ExitCode;

/// Write a page that shows what the compiler did
///
/// One HTML file that needs nothing else: the source, the IR after each pass that changed it, and the machine code beside each
/// other; what is under the pointer lights up what it became and where it came from. Also the control flow graph, live registers,
/// what each instruction waits for and, if INPUT is a fixture, how often each was executed and the steps of one warp: registers of
/// each thread, memory that it reads and writes, forwards and backwards.
#[derive(clap::Args)]
#[command(after_help = "\
Keys in the page: ? lists them. j and k or arrows move, left and right go from pass to pass, / searches, n and N go on.

Each --against adds a compile whose machine code stands beside the first: a level, a chip, both between commas, or a file: another \
source, or machine code of any compiler (.cubin, .sass, words).

Exit status: 1 if the input cannot be read or compiled, and then no page is written.

Examples:
  nvir explore k.tgsi                              writes k.html
  nvir explore k.nir -O 2 -t gk104 -o page.html
  nvir explore tgsi/get-num-groups.toml            with the counts of its first test, and steps of its first warp
  nvir explore k.toml --warp 3:1                   steps of warp 1 of block 3
  nvir explore k.nir --against -O1                 two levels
  nvir explore k.nir --against gk104               two chips
  nvir explore k.nir --against k.cubin             NVIDIA's code beside ours
  nvir explore k.tgsi --serve                      compiles again whenever the file is saved")]
pub(crate) struct Args {
    /// .tgsi, .nir or .ir text, a SPIR-V module, a fixture, or machine code: .cubin, .sass, words
    #[arg(value_name = "INPUT")]
    input: PathBuf,
    /// Where to write the page; `-` is standard output; default: the input's name with .html, in this folder
    #[arg(short, long, value_name = "FILE", conflicts_with = "serve")]
    output: Option<PathBuf>,
    /// gf100, gk104 or gk110; default: gk110, of a fixture the last that it runs on
    #[arg(short, long, value_name = "CHIP")]
    target: Option<Chip>,
    /// Optimisation level
    #[arg(short = 'O', long = "opt", default_value = "3", value_parser = common::level(), value_name = "N")]
    opt: OptLevel,
    /// The kernel: a NIR function's name, or the instruction number of a TGSI BGNSUB; of a fixture, instead of its test's
    #[arg(short, long, value_name = "NAME")]
    entry: Option<String>,
    /// The fixture's test that is run for its counts; default: the first
    #[arg(long, value_name = "NAME")]
    test: Option<String>,
    /// The warp of the test's last launch whose steps are shown: its block and its number there, X[,Y[,Z]][:W]; of a graphics
    /// stage X is the number of the warp; default: the first
    #[arg(long, value_name = "WARP")]
    warp: Option<WarpId>,
    /// What to show beside it: a level (-O1), a chip, both between commas, or a file
    #[arg(long, value_name = "WHAT", allow_hyphen_values = true, value_parser = clap::value_parser!(Against))]
    against: Option<Against>,
    /// What the input is, where neither its name nor its contents show it
    #[arg(long, value_parser = Kind::parse, value_name = "tgsi|nir|ir|spv|cubin|hex|raw|sass")]
    format: Option<Kind>,
    /// Lower the register limit, spilling as needed
    #[arg(long, value_name = "N")]
    max_gprs: Option<u32>,
    /// Registers read before any write, as in `nvir compile`
    #[arg(long, default_value = "3", value_parser = common::init_regs(), value_name = "0|1|2|3")]
    init_regs: InitRegs,
    /// What the text of a graphics stage does not say, as in `nvir compile`
    #[arg(long, value_parser = common::stage_info, value_name = "LIST")]
    stage_info: Option<StageOptions>,
    /// Serve the page to this machine's browsers, and make it again when a file changes; ends with Ctrl-C
    #[arg(long)]
    serve: bool,
    /// The port for --serve; default: one that is free
    #[arg(long, value_name = "N", default_value_t = 0, requires = "serve")]
    port: u16,
}

impl Args {
    fn page(&self) -> Page {
        let subject = Subject {
            chip: self.target,
            level: self.opt,
            entry: self.entry.clone(),
            test: self.test.clone(),
            warp: self.warp,
            language: self.format.and_then(Kind::language),
            form: self.format.and_then(Kind::form),
            max_gprs: self.max_gprs,
            init_regs: self.init_regs,
            stage: self.stage_info.unwrap_or_default(),
            ..Subject::new(&self.input)
        };
        Page { subject, against: self.against.clone(), version: env!("NVIR_VERSION").to_string() }
    }
}

pub(crate) fn run(a: Args) -> ExitCode {
    let page = a.page();
    if a.serve {
        return serve(&page, a.port);
    }
    let to = a.output.unwrap_or_else(|| common::with_ending(&a.input, "html"));
    let to = Some(to).filter(|to| !input::is_standard(to));
    if let Err(code) = output::not_an_input(to.as_deref(), &files(&page)) {
        return code;
    }
    let html = match page.html() {
        Ok(html) => html,
        Err(e) => return said(e),
    };
    let code = common::write_output(to.as_deref(), html.as_bytes());
    if let Some(path) = to.filter(|_| code == ExitCode::SUCCESS) {
        outln!("wrote {}", visible(&path.to_string_lossy()));
    }
    code
}

fn serve(page: &Page, port: u16) -> ExitCode {
    let path = &page.subject.path;
    if let Err(e) = std::fs::metadata(path) {
        return common::fault_in(path, input::why(&e));
    }
    let mut watched = Watch::new(files(page));
    let server = match Server::start(page, port) {
        Ok(server) => server,
        Err(e) => return common::system(None, format!("port {port}: {}", input::why(&e))),
    };
    outln!("{}", server.url());
    out::stderr("Ctrl-C ends it\n");
    loop {
        watched.wait();
        watched = Watch::new(files(page));
        server.update(page);
        errln!("made again");
    }
}

/// The files that the page is made of, as far as they are known before they are read.
fn files(page: &Page) -> Vec<PathBuf> {
    let against = page.inputs().skip(1).map(PathBuf::from);
    watch::inputs(&page.subject.path).into_iter().chain(against).collect()
}

/// Says why there is no page.
fn said(e: Failed) -> ExitCode {
    match e {
        Failed::File(path, why) => common::fault_in(&path, why),
        Failed::Found(Found { name, text, what }) => {
            common::report(&what, &name, &text);
            common::input_error()
        }
        Failed::Usage(why) => common::usage(why),
    }
}
