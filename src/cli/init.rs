//! `llmverify init`: a configuration file to begin with.

use std::{
    fs::OpenOptions,
    io::{ErrorKind, Write as _},
    path::PathBuf,
};

use anyhow::{Context as _, bail};

use llmverify::{
    config::{FILE_NAME, template::template},
    verdict::gate::ExitStatus,
};

/// Writes a commented llmverify.toml with every default.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  llmverify init                      writes ./llmverify.toml
  llmverify init --stdout | less      shows it")]
pub struct Args {
    /// Where to write it.
    #[arg(value_name = "FILE", default_value = FILE_NAME)]
    path: PathBuf,
    /// Print it instead.
    #[arg(long)]
    stdout: bool,
}

/// Writes the file, never over an existing one.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let text = template();
    if args.stdout {
        std::io::stdout().lock().write_all(text.as_bytes())?;
        return Ok(ExitStatus::Ok);
    }
    let shown = args.path.display();
    let mut file = match OpenOptions::new().write(true).create_new(true).open(&args.path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => bail!("{shown} exists; it is left as it is"),
        Err(error) => return Err(error).with_context(|| format!("cannot write {shown}")),
    };
    file.write_all(text.as_bytes()).with_context(|| format!("cannot write {shown}"))?;
    anstream::eprintln!("wrote {shown}; every line that is commented out shows the default");
    Ok(ExitStatus::Ok)
}
