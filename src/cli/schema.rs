//! `llmverify schema`: the JSON Schemas of what goes in and what comes out.

use std::io::Write as _;

use clap::ValueEnum;

use llmverify::{config, record, report, verdict::gate::ExitStatus};

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
    /// The normal form that logs are read into
    Record,
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
        What::Verdict => report::schema::verdict_schema(),
        What::Report => report::schema::report_schema(),
        What::Config => config::template::config_schema(),
    };
    writeln!(std::io::stdout().lock(), "{schema:#}")?;
    Ok(ExitStatus::Ok)
}
