//! `llmverify convert`: any log in the normal form.

use std::{
    io::{self, BufWriter, Write},
    path::PathBuf,
};

use anyhow::{Context as _, bail};
use clap::{ValueEnum, ValueHint};

use llmverify::{
    pipeline::convert::{Converted, Form, convert},
    report::terminal::safe,
    verdict::gate::ExitStatus,
};

use super::{
    inputs::Inputs,
    outputs::{WholeFile, leave_nothing_at_interrupt, refuse_overwriting},
    style::{FAINT, WARNING},
};

/// Writes any log in the normal form: one record a line, whatever it was written by.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  llmverify convert traces/ > calls.jsonl
  llmverify convert export.json.gz --out calls.csv
  llmverify convert logs/ --out calls.parquet
  llmverify convert logs.jsonl --map response=/assistant_message --out calls.jsonl
  llmverify schema normal                         what a record looks like

Streams, batches, sessions and traces are put together, calls of tools are records of their own, and
an audit of what was written gives each record the verdict that an audit of the log gives it. Texts
stand in it as they stand in the log, in cells of CSV too; `llmverify redact` takes personal data and secrets out of it.

Exit status: 0 all of it was read, 2 wrong usage, 3 some of it was not.")]
pub struct Args {
    #[command(flatten)]
    inputs: Inputs,
    /// Write to this file, not to standard output; its extension tells the form.
    #[arg(long, short = 'o', value_name = "FILE", help_heading = "Output", value_hint = ValueHint::FilePath)]
    out: Option<PathBuf>,
    /// What to write [default: by the extension of --out, else jsonl].
    #[arg(long, short = 'f', value_name = "FORM", help_heading = "Output")]
    format: Option<FormName>,
    /// No summary and no warnings.
    #[arg(long, short, help_heading = "Output")]
    quiet: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FormName {
    /// JSON Lines: one object a line
    Jsonl,
    /// CSV: one row a record
    Csv,
    /// Parquet: one row a record
    #[cfg(feature = "parquet")]
    Parquet,
}

/// Reads everything and writes it anew.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let form = args.form()?;
    let settings = args.inputs.layers()?.settings()?;
    let mut reader = args.inputs.open(&settings)?;
    let filter = args.inputs.filter(&settings)?;
    refuse_overwriting(&args.out, &reader, &[])?;
    if args.out.is_some() {
        leave_nothing_at_interrupt()?;
    }
    let file = args.out.as_deref().map(WholeFile::create).transpose()?;
    let mut out: Box<dyn Write + Send> = match &file {
        None => Box::new(BufWriter::new(io::stdout())),
        Some(file) => Box::new(BufWriter::new(file.writer()?)),
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(args.inputs.thread_count()).build()?;
    let converted = pool.install(|| convert(&mut reader, &settings, &filter, form, &mut out))?;
    out.flush().context("cannot write the output")?;
    drop(out);
    file.map_or(Ok(()), WholeFile::settle)?;
    if !args.quiet {
        Inputs::tell_notes(&reader);
        Inputs::tell_left_out(&reader);
        say(&converted);
    }
    let unreadable = reader.totals().unreadable_sources;
    let is_whole = converted.rejected == 0 && unreadable == 0 && converted.unmatched.is_empty();
    Ok(if is_whole && converted.records > 0 { ExitStatus::Ok } else { ExitStatus::CouldNotAudit })
}

impl Args {
    fn form(&self) -> anyhow::Result<Form> {
        let extension = self.out.as_ref().and_then(|path| path.extension()).and_then(|extension| extension.to_str());
        match (self.format, extension) {
            (Some(FormName::Jsonl), _) | (None, None | Some("jsonl" | "ndjson" | "json")) => Ok(Form::JsonLines),
            (Some(FormName::Csv), _) | (None, Some("csv")) => Ok(Form::Csv),
            #[cfg(feature = "parquet")]
            (Some(FormName::Parquet), _) | (None, Some("parquet")) => Ok(Form::Parquet),
            #[cfg(not(feature = "parquet"))]
            (None, Some("parquet")) => bail!("--out: this build writes no Parquet (feature `parquet`)"),
            (None, Some(other)) => bail!("--out: `.{other}` tells no form; name one with --format"),
        }
    }
}

/// What was done, on standard error.
fn say(converted: &Converted) {
    let mut err = anstream::stderr().lock();
    let mut warn = |text: &str| {
        let _ = writeln!(err, "{WARNING}warning:{WARNING:#} {}", safe(text));
    };
    for (place, reason) in &converted.first_rejected {
        warn(&format!("{place}: rejected: {reason}"));
    }
    let more = converted.rejected - (converted.first_rejected.len() as u64).min(converted.rejected);
    if more > 0 {
        warn(&format!("and {more} more that are rejected"));
    }
    if !converted.unmatched.is_empty() {
        warn(&format!("--map: no record has anything where {} should stand", converted.unmatched.join(", ")));
    }
    if converted.has_unread_texts {
        warn("some texts of the log are in no record; `llmverify inspect` lists them");
    }
    for (name, limit, times) in &converted.limits_reached {
        warn(&format!("{name}, which is {limit}, was reached {times} times"));
    }
    let Converted { records, merged, parents, without_call, skipped, rejected, partially_read, .. } = converted;
    let parts = [
        (*merged, "merged"),
        (*parents, "parents"),
        (*without_call, "without a call"),
        (*skipped, "left out"),
        (*rejected, "rejected"),
        (*partially_read, "with a field that could not be used"),
    ];
    let parts: String =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!(", {count} {what}")).collect();
    let noun = if *records == 1 { "record" } else { "records" };
    let _ = writeln!(err, "{FAINT}{records} {noun} written{parts}{FAINT:#}");
}
