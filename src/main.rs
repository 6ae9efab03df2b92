//! The `llmverify` command: arguments → plan → library → exit status. All that speaks to a person is here.

#![warn(missing_docs)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "only the binary speaks")]

mod cli;

use std::process::ExitCode;

#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match cli::run() {
        Ok(status) => ExitCode::from(status.code()),
        Err(error) if cli::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let status = cli::status_of(&error);
            anstream::eprintln!("{}llmverify:{:#} {error:#}", cli::style::ERROR, cli::style::ERROR);
            ExitCode::from(status.code())
        }
    }
}
