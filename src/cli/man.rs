//! `llmverify man`: the manual pages, made from the help.

use std::{
    fs,
    io::{self, Write as _},
    path::PathBuf,
};

use anyhow::Context as _;
use clap::ValueHint;

use llmverify::verdict::gate::ExitStatus;

use super::outputs::write_whole;

/// Prints the manual page, or writes one per command into a folder.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  llmverify man | man -l -
  llmverify man --out ~/.local/share/man/man1")]
pub struct Args {
    /// Write llmverify.1 and a page per command into this folder.
    #[arg(long, short = 'o', value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    out: Option<PathBuf>,
}

/// Prints or writes them.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let mut command = super::command();
    command.build();
    let Some(folder) = &args.out else {
        io::stdout().lock().write_all(&page(command)?)?;
        return Ok(ExitStatus::Ok);
    };
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let commands = command.get_subcommands().filter(|sub| sub.get_name() != "help" && !sub.is_hide_set());
    let mut pages: Vec<(String, clap::Command)> = commands
        .map(|sub| {
            let name = format!("llmverify-{}", sub.get_name());
            (name.clone(), sub.clone().name(name))
        })
        .collect();
    pages.push(("llmverify".to_owned(), command.clone()));
    for (name, command) in pages {
        let path = folder.join(format!("{name}.1"));
        write_whole(&path, page(command)?)?;
    }
    Ok(ExitStatus::Ok)
}

fn page(command: clap::Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    // Without a date: the same version gives the same bytes.
    clap_mangen::Man::new(command).date("").manual("llmverify").render(&mut page)?;
    Ok(page)
}
