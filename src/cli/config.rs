//! `llmverify config show`: the settings in force, and where each comes from.

use std::io::Write as _;

use llmverify::{
    config::{Layers, Origin, template},
    verdict::gate::ExitStatus,
};

use super::{
    inputs::SettingsArgs,
    style::{FAINT, STRONG},
};

/// Shows the settings in force.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  llmverify config show                       every setting with its origin
  llmverify config show --changed             only what is not a default
  llmverify config show --compat seed --changed")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Prints every setting, its value and where it comes from.
    Show {
        /// Only what is not a default.
        #[arg(long)]
        changed: bool,
        #[command(flatten)]
        settings: SettingsArgs,
    },
}

/// Prints the settings as TOML.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let Command::Show { changed, settings } = &args.command;
    let layers = settings.layers()?;
    let mut out = anstream::stdout().lock();
    match &layers.path {
        Some(path) => writeln!(out, "{FAINT}# {}{FAINT:#}", path.display())?,
        None => writeln!(out, "{FAINT}# no llmverify.toml{FAINT:#}")?,
    }
    let mut shown = None;
    for (path, value, origin) in layers.explain()? {
        if *changed && origin == Origin::Default {
            continue;
        }
        let Some((key, section)) = path.split_last() else { continue };
        if shown.as_deref() != Some(section) {
            if !section.is_empty() {
                writeln!(
                    out,
                    "\n{STRONG}[{}]{STRONG:#}",
                    section.iter().map(|key| quoted(key)).collect::<Vec<_>>().join(".")
                )?;
            }
            shown = Some(section.to_vec());
        }
        writeln!(
            out,
            "{} = {}  {FAINT}# {}{FAINT:#}",
            quoted(key),
            template::inline(&value),
            origin_of(origin, &layers)
        )?;
    }
    Ok(ExitStatus::Ok)
}

fn origin_of(origin: Origin, layers: &Layers) -> String {
    match origin {
        Origin::Default => "default".to_owned(),
        Origin::Seed => "compat = \"seed\"".to_owned(),
        Origin::CommandLine => "command line".to_owned(),
        Origin::File => layers.path.as_ref().map_or_else(String::new, |path| path.display().to_string()),
    }
}

/// A key as TOML writes it, in quotes where it must be.
fn quoted(key: &str) -> String {
    let is_bare = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if is_bare { key.to_owned() } else { toml::Value::from(key).to_string() }
}
