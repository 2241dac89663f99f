//! The program `nvir`; nothing else prints.
//!
//! A file for each command, with its `Args` and `run`. Standard output holds only the result; diagnostics and
//! logging go to standard error, both through [`out`]; diagnostics are written by [`report`], files by [`output`].
//! Exit status: 0 done, 1 the input is at fault, 2 usage error.

// Output goes through `out`, where a full disk and a closed pipe are looked after.
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod asm;
mod bisect;
mod check;
mod code;
mod common;
mod compile;
mod debug;
mod device;
mod diff;
mod disasm;
mod dump;
mod explore;
mod frame;
mod gpu;
mod header;
mod interp;
mod ir;
mod isa;
mod launch;
mod link;
mod manual;
mod new;
mod opt;
mod out;
mod output;
mod passes;
mod pictures;
mod profile;
mod program;
mod reduce;
mod replay;
mod report;
mod rerun;
mod run;
mod sched;
mod stats;
mod test;
mod watch;

use clap::{CommandFactory, Parser, Subcommand, ValueEnum};
use out::Color;
use report::Format;
use std::ffi::OsString;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Shader code generator and emulator for NVIDIA Fermi and Kepler.
///
/// Compiles TGSI and NIR text to the machine code of GF100, GK104 and GK110, and runs machine code on the CPU.
#[derive(Parser)]
#[command(name = "nvir", version = env!("NVIR_VERSION"), after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Colour of diagnostics, help and log
    #[arg(long, global = true, default_value = "auto", value_name = "WHEN")]
    color: Color,
    /// How diagnostics are written to standard error
    #[arg(long, global = true, default_value = "human", value_name = "FORMAT")]
    message_format: Format,
}

const EXAMPLES: &str = "Examples:
  nvir compile kernel.tgsi -t gk104                 SASS text of a kernel
  nvir compile kernel.nir --emit ir --print-after all   follow it through the passes
  nvir run tgsi/get-num-groups.toml                 compile a fixture's kernel, run it, compare its results
  nvir test tgsi -t gk110 -O 3                      every fixture below a folder
  nvir stats shaders/ --json                        sizes and compile times, for scripts
  RUST_LOG=nvir=debug nvir compile kernel.tgsi      what the compiler thinks";

#[derive(Subcommand)]
enum Command {
    Compile(compile::Args),
    Opt(opt::Args),
    Asm(asm::Args),
    Bisect(bisect::Args),
    Check(check::Args),
    Completions(manual::Completions),
    Debug(debug::Args),
    Diff(diff::Args),
    Disasm(disasm::Args),
    Devices(device::Args),
    Explore(explore::Args),
    Frame(frame::Args),
    Gpu(gpu::Args),
    Header(header::Args),
    Interp(interp::Args),
    Ir(ir::Args),
    Isa(isa::Args),
    Link(link::Args),
    Man(manual::Man),
    New(new::Args),
    Passes(passes::Args),
    Reduce(reduce::Args),
    Replay(replay::Args),
    Run(run::Args),
    Sched(sched::Args),
    Test(test::Args),
    Stats(stats::Args),
}

/// What the command line asks for by an option of all commands, found without parsing it: parsing may end in an error, which has
/// colours and a format. What comes after `--` is another program's, and need not be text.
fn wanted<T: ValueEnum>(option: &str, args: impl Iterator<Item = OsString>) -> Option<T> {
    let own = args.map(|a| a.to_string_lossy().into_owned()).take_while(|a| a != "--");
    let mut rest =
        own.skip_while(|a| a.strip_prefix(option).is_none_or(|r| !r.is_empty() && !r.starts_with('=')));
    let found = rest.next()?;
    let value = found.strip_prefix(option)?.strip_prefix('=').map(str::to_string).or_else(|| rest.next())?;
    T::from_str(&value, false).ok()
}

fn main() -> ExitCode {
    wanted::<Color>("--color", std::env::args_os().skip(1)).unwrap_or_default().choose();
    wanted::<Format>("--message-format", std::env::args_os().skip(1)).unwrap_or_default().choose();
    let style =
        if Color::on_stderr() { env_logger::WriteStyle::Always } else { env_logger::WriteStyle::Never };
    let filter = env_logger::Env::default().default_filter_or("warn");
    env_logger::Builder::from_env(filter).write_style(style).init();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) => return said_instead(&e),
    };
    match cli.command {
        Command::Compile(a) => compile::run(a),
        Command::Opt(a) => opt::run(a),
        Command::Asm(a) => asm::run(a),
        Command::Bisect(a) => bisect::run(a),
        Command::Check(a) => check::run(a),
        Command::Completions(a) => manual::completions(a, Cli::command()),
        Command::Debug(a) => debug::run(a),
        Command::Diff(a) => diff::run(a),
        Command::Disasm(a) => disasm::run(a),
        Command::Devices(a) => device::run(a),
        Command::Explore(a) => explore::run(a),
        Command::Frame(a) => frame::run(a),
        Command::Gpu(a) => gpu::run(a),
        Command::Header(a) => header::run(a),
        Command::Interp(a) => interp::run(a),
        Command::Ir(a) => ir::run(a),
        Command::Isa(a) => isa::run(a),
        Command::Link(a) => link::run(a),
        Command::Man(a) => manual::man(a, Cli::command()),
        Command::New(a) => new::run(a),
        Command::Passes(a) => passes::run(a),
        Command::Reduce(a) => reduce::run(a),
        Command::Replay(a) => replay::run(a),
        Command::Run(a) => run::run(a),
        Command::Sched(a) => sched::run(a),
        Command::Test(a) => test::run(a),
        Command::Stats(a) => stats::run(a),
    }
}

/// Help, the version, or what is wrong with the command line.
fn said_instead(e: &clap::Error) -> ExitCode {
    if e.use_stderr() {
        report::usage(e);
        return ExitCode::from(2);
    }
    let text = e.render();
    let text = if Color::on_stdout() { text.ansi().to_string() } else { text.to_string() };
    out::stdout(text.as_bytes());
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStringExt;

    fn color(args: &[&[u8]]) -> Option<Color> {
        wanted("--color", args.iter().map(|a| OsString::from_vec(a.to_vec())))
    }

    #[test]
    fn options_of_all_commands_are_found_among_any_bytes() {
        assert_eq!(color(&[b"gpu", b"\xff", b"--color", b"always"]), Some(Color::Always));
        assert_eq!(color(&[b"\xff", b"--color=never"]), Some(Color::Never));
        assert_eq!(color(&[b"--colors", b"--color=never"]), Some(Color::Never));
        for none in [&[&b"--color"[..]][..], &[b"--color", b"\xff"], &[b"gpu", b"--", b"--color", b"always"]]
        {
            assert_eq!(color(none), None);
        }
    }
}
