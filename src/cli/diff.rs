//! `llmverify diff A B`: two JSON reports against each other.

use std::{
    io::{self, Write as _},
    path::PathBuf,
};

use clap::{ValueEnum, ValueHint};

use llmverify::{
    report::{comparison, terminal::Styles},
    verdict::gate::{ExitStatus, parse_share},
};

use super::{audit::read_report, style::ERROR};

/// Compares two JSON reports: rates with tests, new issues told apart from known ones.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  llmverify diff last-week.json today.json
  llmverify diff main.json branch.json --max-regression 1%      exit status 1 when a question got worse
  llmverify diff a.json b.json --format markdown >> comment.md

A rate is worse or better when the 95% interval of the difference leaves 0 out and P is below 0.05. P is that of Fisher's
exact test for small counts, and of the score test for large ones. Rules that are as before are in the JSON alone.")]
pub struct Args {
    /// The earlier report.
    #[arg(value_name = "BEFORE", value_hint = ValueHint::FilePath)]
    before: PathBuf,
    /// The later report.
    #[arg(value_name = "AFTER", value_hint = ValueHint::FilePath)]
    after: PathBuf,
    /// What to write to standard output.
    #[arg(long, short = 'f', value_name = "FORMAT", default_value = "table")]
    format: FormatName,
    /// Fail when a question's rate has risen by more than this, beyond chance.
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    max_regression: Option<f64>,
}

/// `--format`.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum FormatName {
    /// For people
    Table,
    /// One object
    Json,
    /// For pull requests
    Markdown,
}

/// Compares and prints.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let comparison = comparison::compare(&read_report(&args.before)?, &read_report(&args.after)?);
    let is_colored = anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never;
    let styles = if is_colored { Styles::colored() } else { Styles::plain() };
    let text = match args.format {
        FormatName::Table => comparison.to_text(&styles).into_bytes(),
        FormatName::Json => comparison.to_json(),
        FormatName::Markdown => comparison.to_markdown().into_bytes(),
    };
    io::stdout().lock().write_all(&text)?;
    let Some(message) = args.max_regression.and_then(|limit| comparison.regression(limit)) else {
        return Ok(ExitStatus::Ok);
    };
    anstream::eprintln!("{ERROR}max_regression:{ERROR:#} {message}");
    Ok(ExitStatus::PolicyViolated)
}
