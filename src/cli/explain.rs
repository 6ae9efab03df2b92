//! `llmverify explain`: why one record was judged as it was.

use std::io::Write as _;

use llmverify::{
    pipeline::Auditor,
    report::{safe_json, terminal::Styles, verdict_record::Identity, waterfall},
    verdict::gate::ExitStatus,
};

use super::{CouldNotAudit, inputs::Inputs};

/// Replays what one record saw and shows, for each question, prior, signals and posterior, and its texts.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  llmverify explain logs.jsonl --line 42
  llmverify explain logs/ --id req-00017 --config llmverify.toml
  llmverify explain logs.jsonl --line 42 --json

The inputs and options must be those of the audit: what came before decides too.")]
pub struct Args {
    #[command(flatten)]
    inputs: Inputs,
    /// The record on this line (of the first source that has one there; `--source` chooses another).
    #[arg(long, value_name = "N", required_unless_present = "id")]
    line: Option<u64>,
    /// The item on that line, where it holds several.
    #[arg(long, value_name = "N", requires = "line")]
    item: Option<u32>,
    /// The source that `--line` counts in.
    #[arg(long, value_name = "PATH", requires = "line")]
    source: Option<String>,
    /// The first record with this id.
    #[arg(long, value_name = "ID", conflicts_with = "line")]
    id: Option<String>,
    /// Print the verdict object instead.
    #[arg(long)]
    json: bool,
}

/// Finds the record and shows the waterfall.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let layers = args.inputs.layers()?;
    let mut settings = layers.settings()?;
    // Who asks for one record asks for its claims, too.
    settings.engines.grounding.list_claims = true;
    let mut reader = args.inputs.open(&settings)?;
    let filter = args.inputs.filter(&settings)?;
    let auditor = Auditor::new(settings)?.show_sensitive(args.inputs.show_sensitive);
    let suppressions = args.inputs.suppressions(&layers, &auditor)?;
    let auditor = auditor.with_suppressions(suppressions);
    args.inputs.warn_of_sensitive();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(args.inputs.thread_count()).build()?;
    let found = pool.install(|| auditor.explain(&mut reader, &filter, |record| args.wants(record)))?;
    let status = Inputs::tell_unreadable(&reader);
    let Some(explained) = found else {
        return Err(anyhow::Error::new(CouldNotAudit(format!("no audited record {}", args.wanted()))));
    };
    let mut out = anstream::stdout().lock();
    if args.json {
        out.write_all(&safe_json::pretty(&explained.record))?;
        writeln!(out)?;
    } else {
        out.write_all(waterfall::render(&explained, &Styles::colored()).as_bytes())?;
    }
    Ok(status)
}

impl Args {
    fn wants(&self, record: &Identity<'_>) -> bool {
        if let Some(id) = &self.id {
            return record.own_id() == *id;
        }
        self.line == Some(record.line)
            && (self.item.is_none() || self.item == record.item)
            && self.source.as_ref().is_none_or(|source| source == record.source)
    }

    fn wanted(&self) -> String {
        match (&self.id, self.line) {
            (Some(id), _) => format!("has the id {id:?}"),
            (None, line) => format!("begins on line {}", line.unwrap_or_default()),
        }
    }
}
