//! `llmverify audit`: the whole thing.

use std::{
    fs::{self, File},
    io::{self, BufWriter, IsTerminal as _, Write as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, anyhow, bail};
use clap::ValueHint;

use llmverify::{
    config::{Layers, Settings},
    input::{Reader, Stop},
    pipeline::{Auditor, Sink},
    report::{
        Records, Report,
        comparison::Baseline,
        format::{Format, FormatName, Setting, WIDTH_DEFAULT},
        markdown::Markdown,
        source_path::Folder,
        terminal::{Styles, safe},
    },
    verdict::gate::{ExitStatus, FailOn, parse_share},
};

use super::{
    CouldNotAudit,
    inputs::Inputs,
    outputs::{INTERRUPTED, WholeFile, leave_nothing_at_interrupt, refuse_overwriting, remove_unfinished},
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
  llmverify audit --follow app.jsonl --format jsonl
  llmverify audit logs.jsonl --map model=/meta/model --map latency_ms=/meta/latency_s:s
  llmverify audit logs.jsonl --fail-on flag --max-flag-rate 5% --min-records 100
  llmverify audit logs.jsonl --out report.html --out report.sarif --out junit.xml
  llmverify audit logs.jsonl --baseline last-week.json --max-regression 1%

Exit status: 0 audited and within policy, 1 policy violated, 2 wrong usage or configuration,
3 could not audit everything. Reports are written whatever the status.")]
pub struct Args {
    #[command(flatten)]
    inputs: Inputs,
    /// Go on when the end of the file is reached, with what is written to it, through rotations, until Ctrl-C.
    #[arg(long, help_heading = "Input")]
    follow: bool,

    /// What to write to standard output: table, json, jsonl, csv, html, markdown, sarif, junit, github, gitlab,
    /// prometheus or openmetrics.
    #[arg(long, short = 'f', value_name = "FORMAT", default_value = "table", help_heading = "Output")]
    format: FormatName,
    /// Write a report to this file too; its ending chooses the format: .txt, .json, .jsonl, .csv, .html, .md, .sarif,
    /// .xml (JUnit), codequality.json (GitLab), .prom, .om (OpenMetrics). Repeatable.
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

    /// The mildest record that fails the audit by itself: high, block, flag or never [default: block].
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
    /// Compare with this earlier JSON report: rates with tests, new issues told apart from known ones.
    #[arg(long, value_name = "REPORT", help_heading = "Gate", value_hint = ValueHint::FilePath)]
    baseline: Option<PathBuf>,
    /// Fail when a question's rate has risen over the baseline's by more than this, beyond chance.
    #[arg(long, value_name = "SHARE", value_parser = parse_share, requires = "baseline", help_heading = "Gate")]
    max_regression: Option<f64>,
    /// Fail when more than this share of the records of a model or tool is degraded, failed or declined, beyond chance
    /// [default: 50%].
    #[arg(long, value_name = "SHARE", value_parser = parse_share, help_heading = "Gate")]
    max_degraded: Option<f64>,
    /// Fail when a model or tool became this many times slower and stayed so, beyond chance; 0 for never [default: 3].
    #[arg(long, value_name = "TIMES", help_heading = "Gate")]
    max_level_shift: Option<f64>,
    /// Tolerate this share of units that cannot be read, or not in full [default: 0].
    #[arg(long, value_name = "SHARE", value_parser = parse_share, help_heading = "Gate")]
    max_rejected: Option<f64>,
    /// Fewer LLM calls than this share with the text of an answer are no audit (exit status 3) [default: 50%].
    #[arg(long, value_name = "SHARE", value_parser = parse_share, help_heading = "Gate")]
    min_assessed: Option<f64>,
    /// Fail when the documents bear out fewer of the claims of answers than this share, beyond chance.
    #[arg(long, value_name = "SHARE", value_parser = parse_share, help_heading = "Gate")]
    min_trust: Option<f64>,
}

/// Runs the audit.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let layers = args.layers()?;
    let settings = layers.settings()?;
    let mut reader = if args.follow { args.inputs.follow(&settings)? } else { args.inputs.open(&settings)? };
    let mut read = args.inputs.files_read(&layers, &settings);
    read.extend(args.baseline.clone().map(|path| ("the baseline", path)));
    refuse_overwriting(&args.out, &reader, &read)?;
    let outputs = args.outputs()?;
    let filter = if args.follow { Inputs::filter_endless(&settings)? } else { args.inputs.filter(&settings)? };
    if let Some(path) = &args.write_suppressions {
        args.check_draft(path, &reader, &layers, &settings)?;
    }
    let auditor = Auditor::new(settings)?.show_sensitive(args.inputs.show_sensitive);
    let mut suppressions = args.inputs.suppressions(&layers, &auditor)?;
    if args.write_suppressions.is_some() {
        suppressions = drafting(suppressions);
    }
    let mut auditor = auditor.with_suppressions(suppressions.clone());
    if let Some(path) = &args.baseline {
        auditor = auditor.with_baseline(read_report(path)?);
    }
    if !args.quiet {
        args.inputs.warn_of_sensitive();
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(args.inputs.thread_count()).build()?;

    if args.follow || args.inputs.paths.iter().any(|path| path == "-") {
        end_at_interrupt(reader.stop())?;
    } else if !args.out.is_empty() {
        leave_nothing_at_interrupt()?;
    }
    let bar = Bar::new(reader.bytes_on_disk_expected(), args.quiet);
    let mut sinks = Vec::new();
    let mut files = Vec::new();
    for output in &outputs {
        let records = args.records.unwrap_or_else(|| output.format.default_records());
        sinks.push(Sink::new(&*output.format, records, output.open(&bar, &mut files)?));
    }
    let result = pool.install(|| auditor.audit(&mut reader, &filter, &mut sinks, |progress| bar.update(progress)));
    bar.finish();
    let nobody_reads = !sinks.is_empty() && sinks.iter().all(Sink::is_closed);
    drop(sinks);
    if result.is_ok() {
        files.into_iter().try_for_each(WholeFile::settle)?;
    }
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
    if args.format == FormatName::Github && !args.quiet {
        add_step_summary(&report)?;
    }
    if !args.quiet {
        Inputs::tell_notes(&reader);
        Inputs::tell_left_out(&reader);
        warn(&report);
    }
    Ok(report.gate.exit)
}

/// Ends the input at the first Ctrl-C, or at the signal to terminate, so that the report is written; the process at the second.
fn end_at_interrupt(stop: Stop) -> anyhow::Result<()> {
    #[allow(clippy::exit, reason = "who asks twice does not want to wait for the report")]
    let handler = move || {
        if stop.is_stopped() {
            remove_unfinished();
            std::process::exit(INTERRUPTED);
        }
        stop.stop();
    };
    ctrlc::set_handler(handler).context("cannot wait for Ctrl-C")
}

/// Where one report goes.
struct Output {
    format: Box<dyn Format>,
    /// `None` for standard output.
    path: Option<PathBuf>,
}

impl Output {
    /// What is written to; a file is added to `files`, where it waits until it is whole.
    fn open(&self, bar: &Bar, files: &mut Vec<WholeFile>) -> anyhow::Result<Box<dyn io::Write + Send>> {
        let Some(path) = &self.path else {
            return Ok(Box::new(BufWriter::new(bar.stdout())));
        };
        let file = WholeFile::create(path)?;
        let writer = BufWriter::new(file.writer()?);
        files.push(file);
        Ok(Box::new(writer))
    }
}

/// Reads an earlier report.
pub(super) fn read_report(path: &Path) -> anyhow::Result<Baseline> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read the report {}", path.display()))?;
    Baseline::parse(&text).map_err(|why| anyhow!("{} {why}", path.display()))
}

/// In a step of GitHub Actions, adds the Markdown report to the summary of the step.
fn add_step_summary(report: &Report) -> anyhow::Result<()> {
    let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()) else { return Ok(()) };
    let mut page = Vec::new();
    Markdown.summary(report, &mut page);
    let shown = Path::new(&path).display().to_string();
    let mut file =
        File::options().append(true).create(true).open(&path).with_context(|| format!("cannot write {shown}"))?;
    file.write_all(&page).with_context(|| format!("cannot write {shown}"))
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
            ("gate.max_degraded", self.max_degraded),
            ("gate.max_rejected", self.max_rejected),
            ("gate.min_assessed", self.min_assessed),
            ("gate.min_trust", self.min_trust),
            ("gate.max_regression", self.max_regression),
        ];
        for (key, share) in shares {
            if let Some(share) = share {
                layers.set(key, share);
            }
        }
        if let Some(times) = self.max_level_shift {
            layers.set("gate.max_level_shift", times);
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

    fn outputs(&self) -> anyhow::Result<Vec<Output>> {
        let mut outputs = Vec::new();
        let folder = std::env::current_dir().map(|folder| Folder::new(&folder)).unwrap_or_default();
        if !self.quiet {
            let is_colored = anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never;
            let styles = if is_colored { Styles::colored() } else { Styles::plain() };
            let format = self.format.format(Setting { width: terminal_width(), styles, folder: folder.clone() });
            outputs.push(Output { format, path: None });
        }
        for (index, path) in self.out.iter().enumerate() {
            if self.out[..index].contains(path) {
                bail!("--out {} is given twice", path.display());
            }
            let name = format_of(path)?;
            let format = name.format(Setting { folder: folder.clone(), ..Setting::default() });
            outputs.push(Output { format, path: Some(path.clone()) });
        }
        Ok(outputs)
    }
}

fn format_of(path: &Path) -> anyhow::Result<FormatName> {
    let found = path.file_name().and_then(|name| name.to_str()).and_then(FormatName::of_file_name);
    found.with_context(|| {
        let endings = FormatName::ENDINGS.map(|(ending, _)| ending).join(", ");
        format!("--out {}: the ending must be one of {endings}", path.display())
    })
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
    for check in report.checks.iter().filter(|check| check.records == 0) {
        let _ = writeln!(err, "{WARNING}warning:{WARNING:#} {}: 0 records looked at", check.name);
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
