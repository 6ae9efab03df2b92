//! `llmverify engines`: what is computed, how, and where it comes from.

use std::io::Write as _;

use llmverify::{pipeline, verdict::gate::ExitStatus};

use super::style::{FAINT, STRONG};

/// Lists the engines with formula, range and source.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  llmverify engines                    all of them
  llmverify engines latency            one of them
  llmverify engines --names            the names alone, for --only")]
pub struct Args {
    /// Only these engines.
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Print the names alone.
    #[arg(long = "names")]
    names_only: bool,
}

/// Prints the list.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let known = pipeline::engine_names();
    for name in &args.names {
        pipeline::check_engine_name(name, &known)?;
    }
    let mut out = anstream::stdout().lock();
    for about in pipeline::abouts() {
        if !args.names.is_empty() && !args.names.iter().any(|name| name == about.name) {
            continue;
        }
        if args.names_only {
            writeln!(out, "{}", about.name)?;
            continue;
        }
        writeln!(out, "{STRONG}{}{STRONG:#}  {}", about.name, about.summary)?;
        for (title, text) in [("formula", about.formula), ("range", about.range), ("source", about.source)] {
            for (number, line) in text.lines().enumerate() {
                let title = if number == 0 { title } else { "" };
                writeln!(out, "  {FAINT}{title:<8}{FAINT:#} {line}")?;
            }
        }
        writeln!(out)?;
    }
    Ok(ExitStatus::Ok)
}
