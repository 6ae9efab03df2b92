//! `llmverify completions SHELL`: what a shell needs to complete our command line.

use std::io::{self, Write as _};

use clap_complete::Shell;

use llmverify::verdict::gate::ExitStatus;

/// Prints the completions for a shell.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  llmverify completions bash > ~/.local/share/bash-completion/completions/llmverify
  llmverify completions zsh > ~/.zfunc/_llmverify
  llmverify completions fish > ~/.config/fish/completions/llmverify.fish")]
pub struct Args {
    /// The shell.
    shell: Shell,
}

/// Prints them.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut super::command(), "llmverify", &mut script);
    io::stdout().lock().write_all(&script)?;
    Ok(ExitStatus::Ok)
}
