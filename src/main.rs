//! The program: a thin shell over the library.

// Output goes through `cli::out`, where a full disk and a closed pipe are looked after.
#![warn(clippy::print_stdout, clippy::print_stderr)]

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
