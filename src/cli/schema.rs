//! `llmverify schema`: the JSON Schemas of what goes in and what comes out.

use std::io::Write as _;

use clap::ValueEnum;

use llmverify::{config, record, report, verdict::gate::ExitStatus, writers::normal};

/// Prints the JSON Schema of a record, a verdict, a report or the configuration.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  llmverify schema record > record.schema.json
  llmverify schema config                         for an editor that checks llmverify.toml")]
pub struct Args {
    /// Which schema.
    what: What,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum What {
    /// A record of a log of your own: the names that are read
    Record,
    /// The normal form, as `convert` writes it
    Normal,
    /// One verdict, as `--format jsonl` writes it
    Verdict,
    /// The report, as `--format json` writes it
    Report,
    /// llmverify.toml
    Config,
}

/// Prints the schema.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let schema = match args.what {
        What::Record => record::schema::record_schema(),
        What::Normal => normal::schema(),
        What::Verdict => report::schema::verdict_schema(),
        What::Report => report::schema::report_schema(),
        What::Config => config::template::config_schema(),
    };
    writeln!(std::io::stdout().lock(), "{schema:#}")?;
    Ok(ExitStatus::Ok)
}
