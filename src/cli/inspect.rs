//! `llmverify inspect`: how a log is understood.

use std::io::Write as _;

use clap::ValueEnum;

use llmverify::{
    pipeline::{self, inspect::inspect},
    report::{safe_json, terminal::Styles},
    rules::Scanner,
    verdict::gate::ExitStatus,
};

use super::{CouldNotAudit, inputs::Inputs};

/// Shows how a log is understood: formats, fields and where they stand, what was not read, what is missing for which engine.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  llmverify inspect logs.jsonl
  llmverify inspect export/ --format json
  llmverify inspect logs.jsonl --format-in langfuse
  llmverify inspect logs.jsonl --map latency_ms=/meta/took:s
  llmverify inspect logs.jsonl --line 42

Exit status: 0 all of it was understood, 2 wrong usage, 3 some units are no records, or a mapped field stands nowhere.")]
pub struct Args {
    #[command(flatten)]
    inputs: Inputs,
    /// Show the records that begin on this line, with all of their texts.
    #[arg(long, value_name = "N")]
    line: Option<u64>,
    /// What to write.
    #[arg(long, short = 'f', value_name = "FORMAT", default_value = "table", help_heading = "Output")]
    format: FormatName,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FormatName {
    /// A page for people
    Table,
    /// The same as an object
    Json,
}

/// Reads everything and says how.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let settings = args.inputs.layers()?.settings()?;
    let mut reader = args.inputs.open(&settings)?;
    let scanner = Scanner::new(pipeline::library(&settings)?);
    args.inputs.warn_of_sensitive();
    let filter = args.inputs.filter(&settings)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(args.inputs.thread_count()).build()?;
    let seen =
        pool.install(|| inspect(&mut reader, &settings, &scanner, &filter, args.inputs.show_sensitive, args.line))?;
    Inputs::tell_notes(&reader);
    Inputs::tell_unreadable(&reader);
    let mut out = anstream::stdout().lock();
    match args.format {
        FormatName::Json => {
            out.write_all(&safe_json::pretty(&seen))?;
            writeln!(out)?;
        }
        FormatName::Table => out.write_all(seen.page(&Styles::colored()).as_bytes())?,
    }
    if let Some(line) = args.line.filter(|_| seen.shown.is_empty()) {
        return Err(anyhow::Error::new(CouldNotAudit(format!("no record begins on line {line}"))));
    }
    let is_understood = seen.rejected == 0 && seen.units > 0 && seen.unmatched.is_empty();
    Ok(if is_understood { ExitStatus::Ok } else { ExitStatus::CouldNotAudit })
}
