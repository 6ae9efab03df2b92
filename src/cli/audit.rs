//! `llmverify audit`: the whole thing.

use std::{
    fs::File,
    io::{self, BufWriter, IsTerminal as _, Write as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use clap::ValueHint;

use llmverify::{
    config::{Layers, Settings},
    input::Reader,
    pipeline::{Auditor, Sink},
    report::{
        Records, Report,
        format::{Format, FormatName},
        terminal::{Styles, safe},
    },
    verdict::gate::{ExitStatus, FailOn, parse_share},
};

use super::{
    CouldNotAudit,
    inputs::Inputs,
    progress::Bar,
    style::{FAINT, WARNING},
    suppressions::{drafting, write_draft},
};

/// Audits logs: a verdict per record, a health report for the whole, and an exit status for CI.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  llmverify audit logs.jsonl
  llmverify audit logs/ 'archive/*.jsonl.gz' --out report.json --out verdicts.csv
  zcat logs.jsonl.gz | llmverify audit - --format jsonl --records flagged
  llmverify audit logs.jsonl --map model=/meta/model --map latency_ms=/meta/latency_s:s
  llmverify audit logs.jsonl --fail-on block --max-flag-rate 5% --min-records 100

Exit status: 0 audited and within policy, 1 policy violated, 2 wrong usage or configuration,
3 could not audit everything. Reports are written whatever the status.")]
pub struct Args {
    #[command(flatten)]
    inputs: Inputs,

    /// What to write to standard output: table, json, jsonl or csv.
    #[arg(long, short = 'f', value_name = "FORMAT", default_value = "table", help_heading = "Output")]
    format: FormatName,
    /// Write a report to this file too; its ending (.txt, .json, .jsonl, .csv) chooses the format. Repeatable.
    #[arg(long, short = 'o', value_name = "FILE", help_heading = "Output", value_hint = ValueHint::FilePath)]
    out: Vec<PathBuf>,
    /// Which records go into reports: all, flagged or none [default: all for jsonl and csv, flagged for json].
    #[arg(long, value_name = "WHICH", help_heading = "Output")]
    records: Option<Records>,
    /// Draft suppressions of all that was found in flagged and blocked records, at the end of this file.
    #[arg(long, value_name = "FILE", help_heading = "Output", value_hint = ValueHint::FilePath)]
    write_suppressions: Option<PathBuf>,
    /// Write nothing to standard output, and no progress and no warnings.
    #[arg(long, short, help_heading = "Output")]
    quiet: bool,

    /// The mildest record that fails the audit by itself: high, block, flag or never [default: high].
    #[arg(long, value_name = "WHAT", help_heading = "Gate")]
    fail_on: Option<FailOn>,
    /// Fail when more than this share of the records is blocked (0.01 or 1%).
    #[arg(long, value_name = "SHARE", value_parser = parse_share, help_heading = "Gate")]
    max_block_rate: Option<f64>,
    /// Fail when more than this share of the records is flagged or blocked.
    #[arg(long, value_name = "SHARE", value_parser = parse_share, help_heading = "Gate")]
    max_flag_rate: Option<f64>,
    /// Fewer records than this are no audit (exit status 3) [default: 1].
    #[arg(long, value_name = "N", help_heading = "Gate")]
    min_records: Option<u32>,
    /// Tolerate this share of units that cannot be read, or not in full [default: 0].
    #[arg(long, value_name = "SHARE", value_parser = parse_share, help_heading = "Gate")]
    max_rejected: Option<f64>,
}

/// Columns of the table when standard output is not a terminal.
const WIDTH_DEFAULT: u16 = 100;

/// Runs the audit.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let layers = args.layers()?;
    let settings = layers.settings()?;
    let mut reader = args.inputs.open(&settings)?;
    let outputs = args.outputs(&reader)?;
    let filter = args.inputs.filter(&settings)?;
    if let Some(path) = &args.write_suppressions {
        args.check_draft(path, &reader, &layers, &settings)?;
    }
    let auditor = Auditor::new(settings)?.show_sensitive(args.inputs.show_sensitive);
    let mut suppressions = args.inputs.suppressions(&layers, &auditor)?;
    if args.write_suppressions.is_some() {
        suppressions = drafting(suppressions);
    }
    let auditor = auditor.with_suppressions(suppressions.clone());
    if !args.quiet {
        args.inputs.warn_of_sensitive();
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(args.inputs.thread_count()).build()?;

    let mut sinks = Vec::new();
    for output in &outputs {
        let records = args.records.unwrap_or_else(|| output.format.default_records());
        sinks.push(Sink::new(&*output.format, records, output.open()?));
    }
    let bar = Bar::new(reader.bytes_on_disk_expected(), args.quiet);
    let result = pool.install(|| auditor.audit(&mut reader, &filter, &mut sinks, |progress| bar.update(progress)));
    bar.finish();
    let nobody_reads = !sinks.is_empty() && sinks.iter().all(Sink::is_closed);
    drop(sinks);
    let report =
        result.map_err(|error| anyhow::Error::new(CouldNotAudit(format!("cannot write the report: {error:#}"))))?;
    if let Some(path) = &args.write_suppressions {
        let drafted = write_draft(path, &suppressions, &report)?;
        if !args.quiet {
            let file = path.display();
            anstream::eprintln!("{drafted} suppressions drafted in {file}; give each a reason and an owner");
        }
    }
    if nobody_reads && args.out.is_empty() {
        return Ok(ExitStatus::Ok);
    }
    if !args.quiet {
        warn(&report);
    }
    Ok(report.gate.exit)
}

/// Where one report goes.
struct Output {
    format: Box<dyn Format>,
    /// `None` for standard output.
    path: Option<PathBuf>,
}

impl Output {
    fn open(&self) -> anyhow::Result<Box<dyn io::Write + Send>> {
        let Some(path) = &self.path else {
            return Ok(Box::new(BufWriter::new(io::stdout())));
        };
        let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Box::new(BufWriter::new(file)))
    }
}

impl Args {
    fn layers(&self) -> anyhow::Result<Layers> {
        let mut layers = self.inputs.layers()?;
        if let Some(fail_on) = self.fail_on {
            layers.set("gate.fail_on", fail_on.as_str());
        }
        let shares = [
            ("gate.max_block_rate", self.max_block_rate),
            ("gate.max_flag_rate", self.max_flag_rate),
            ("gate.max_rejected", self.max_rejected),
        ];
        for (key, share) in shares {
            if let Some(share) = share {
                layers.set(key, share);
            }
        }
        if let Some(records) = self.min_records {
            layers.set("gate.min_records", i64::from(records));
        }
        Ok(layers)
    }

    /// Refuses to write drafts where something else stands; to a file whose suppressions count they are added, because
    /// its key is theirs.
    fn check_draft(&self, path: &Path, reader: &Reader, layers: &Layers, settings: &Settings) -> anyhow::Result<()> {
        let option = format!("--write-suppressions {}", path.display());
        if reader.will_read(path) {
            bail!("{option} would overwrite an input");
        }
        if self.out.iter().any(|out| out == path) {
            bail!("{option} is an --out as well");
        }
        let in_force = self.inputs.suppressions.path(layers, settings, self.inputs.settings.isolated);
        let is_in_force = in_force.is_some_and(|file| file.canonicalize().ok() == path.canonicalize().ok());
        if path.exists() && !is_in_force {
            bail!("{option}: the file exists; name a new one, or the one that --suppressions reads");
        }
        Ok(())
    }

    fn outputs(&self, reader: &Reader) -> anyhow::Result<Vec<Output>> {
        let mut outputs = Vec::new();
        if !self.quiet {
            let is_colored = anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never;
            let styles = if is_colored { Styles::colored() } else { Styles::plain() };
            outputs.push(Output { format: self.format.format(terminal_width(), styles), path: None });
        }
        for (index, path) in self.out.iter().enumerate() {
            if self.out[..index].contains(path) {
                bail!("--out {} is given twice", path.display());
            }
            if reader.will_read(path) {
                bail!("--out {} would overwrite an input", path.display());
            }
            let format = format_of(path)?.format(WIDTH_DEFAULT, Styles::plain());
            outputs.push(Output { format, path: Some(path.clone()) });
        }
        Ok(outputs)
    }
}

fn format_of(path: &Path) -> anyhow::Result<FormatName> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("txt") => Ok(FormatName::Table),
        Some("json") => Ok(FormatName::Json),
        Some("jsonl" | "ndjson") => Ok(FormatName::Jsonl),
        Some("csv") => Ok(FormatName::Csv),
        _ => bail!("--out {}: the ending must be .txt, .json, .jsonl or .csv", path.display()),
    }
}

fn terminal_width() -> u16 {
    if !io::stdout().is_terminal() {
        return WIDTH_DEFAULT;
    }
    terminal_size::terminal_size().map_or(WIDTH_DEFAULT, |(width, _)| width.0)
}

/// Names what could not be read, one line each, on standard error.
fn warn(report: &Report) {
    let mut err = anstream::stderr().lock();
    let mut say = |place: String, reason: &str| {
        let _ = writeln!(err, "{WARNING}warning:{WARNING:#} {}: {}", safe(&place), safe(reason));
    };
    let rejected = &report.rejected;
    for unit in &rejected.first {
        say(format!("{}:{} (byte {})", unit.source, unit.line, unit.byte), &format!("rejected: {}", unit.reason));
    }
    for problem in &report.problems.first {
        let place = format!("{}:{} (byte {})", problem.source, problem.line, problem.byte);
        say(place, &format!("{} {}", problem.field, problem.reason));
    }
    let listed = rejected.first.len() as u64 + report.problems.first.len() as u64;
    let total = rejected.total + report.problems.total;
    if total > listed {
        let _ = writeln!(err, "{FAINT}and {} more; --format jsonl lists all of them{FAINT:#}", total - listed);
    }
    for (entries, what) in [
        (&report.suppressions.expired, "has expired: what it accepted counts again"),
        (&report.suppressions.unused, "suppressed nothing in this log"),
    ] {
        for entry in entries {
            let place = format!("suppression {} {} ({})", entry.rule, entry.fingerprint, entry.owner);
            let _ = writeln!(err, "{WARNING}warning:{WARNING:#} {} {what}", safe(&place));
        }
    }
    let others = report.other_streams.iter().map(|stream| ("(others)", stream));
    let named = report.streams.iter().map(|stream| (stream.name.as_deref().unwrap_or("(unknown)"), stream));
    for (name, stream) in named.chain(others).filter(|(_, stream)| stream.timestamps_backwards > 0) {
        let _ = writeln!(
            err,
            "{WARNING}warning:{WARNING:#} {}: {} of its records have an earlier timestamp than the one before; history follows the order of the input",
            safe(name),
            stream.timestamps_backwards
        );
    }
}
