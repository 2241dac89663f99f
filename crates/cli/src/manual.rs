//! `nvir completions` and `nvir man`: what shells and `man` know of the program, made from its own options.

use crate::common;
use clap::Command;
use clap_complete::Shell;
use std::path::PathBuf;
use std::process::ExitCode;

/// Print completions for a shell
#[derive(clap::Args)]
#[command(after_help = "Examples:
  nvir completions bash > ~/.local/share/bash-completion/completions/nvir
  nvir completions zsh > ~/.zfunc/_nvir
  nvir completions fish > ~/.config/fish/completions/nvir.fish")]
pub(crate) struct Completions {
    shell: Shell,
}

/// Write manual pages, one for each command, into a folder
#[derive(clap::Args)]
#[command(after_help = "Examples:
  nvir man ~/.local/share/man/man1")]
pub(crate) struct Man {
    /// Made if it does not exist
    folder: PathBuf,
}

pub(crate) fn completions(a: Completions, mut program: Command) -> ExitCode {
    let mut text = Vec::new();
    clap_complete::generate(a.shell, &mut program, "nvir", &mut text);
    common::write_output(None, &text)
}

pub(crate) fn man(a: Man, program: Command) -> ExitCode {
    let write = || -> std::io::Result<()> {
        std::fs::create_dir_all(&a.folder)?;
        clap_mangen::generate_to(program, &a.folder)
    };
    match write() {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => common::system(Some(&a.folder), nvir::input::why(&e)),
    }
}
