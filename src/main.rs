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
            // Names of files and what is quoted of them could pass for commands to a terminal or a CI runner.
            let text = format!("{error:#}");
            let lines: Vec<_> = text.lines().map(llmverify::report::terminal::safe).collect();
            let text = lines.join("\n  | ");
            anstream::eprintln!("{}llmverify:{:#} {text}", cli::style::ERROR, cli::style::ERROR);
            ExitCode::from(status.code())
        }
    }
}
