//! The arguments of every command that reads logs: what to read, with which settings.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    ffi::OsString,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum, ValueHint};

use llmverify::{
    config::{Layers, Settings},
    input::{Limits, Reader, Why},
    pipeline::{Auditor, Filter, Sample, parse_time},
    reader::RecordReader,
    report::terminal::safe,
    rules::Suppressions,
    verdict::gate::ExitStatus,
    writers::Writer,
};

use super::{
    style::{FAINT, WARNING},
    suppressions::{self, SuppressionArgs},
};

/// What to read, and with which settings.
#[derive(Debug, Args)]
pub struct Inputs {
    /// Files, folders, globs, or `-` for standard input; compressed files and zip too.
    #[arg(value_name = "PATH", required = true, value_hint = ValueHint::AnyPath)]
    pub paths: Vec<OsString>,

    #[command(flatten)]
    pub settings: SettingsArgs,
    #[command(flatten)]
    pub suppressions: SuppressionArgs,

    /// Take every record for one of this container, whatever it looks like; `docs/formats.md` lists them.
    #[arg(long, value_name = "NAME", value_parser = container, help_heading = "Input")]
    pub format_in: Option<String>,
    /// Where a home-made log keeps a field: `FIELD=/json/pointer[:unit]`, as in `latency_ms=/meta/latency_s:s`.
    #[arg(long, value_name = "FIELD=POINTER", help_heading = "Input")]
    pub map: Vec<String>,
    /// Only records from this time on: a date or an RFC 3339 time, UTC when it names no zone.
    #[arg(long, value_name = "TIME", value_parser = time, help_heading = "Input")]
    pub since: Option<String>,
    /// Only records before this time.
    #[arg(long, value_name = "TIME", value_parser = time, help_heading = "Input")]
    pub until: Option<String>,
    /// Only N records, or a share such as `5%`; which ones depends on the input alone.
    #[arg(long, value_name = "N", value_parser = sample, help_heading = "Input")]
    pub sample: Option<String>,
    /// Only these engines, by the names that `llmverify engines` lists.
    #[arg(long, value_name = "ENGINE,...", value_delimiter = ',', help_heading = "Input")]
    pub only: Vec<String>,
    /// Which verifiers run: all of them, or the four that only compute and need no index of time.
    #[arg(long, value_name = "MODE", help_heading = "Input")]
    pub mode: Option<Mode>,
    /// What groups records into streams with a history of their own.
    #[arg(long, value_name = "FIELD", help_heading = "Input")]
    pub group_by: Option<GroupBy>,
    /// Threads; all cores when not given. The output does not depend on it.
    #[arg(long, short = 'j', value_name = "N", help_heading = "Input")]
    pub threads: Option<usize>,
    /// Bytes read into one batch; the output does not depend on it.
    #[arg(long, value_name = "BYTES", hide = true)]
    pub batch_bytes: Option<usize>,
    /// Show personal data and secrets as they stand (control characters stay escaped).
    #[arg(long, help_heading = "Output")]
    pub show_sensitive: bool,
    /// A record above this size is rejected.
    #[arg(long, value_name = "BYTES", help_heading = "Input")]
    pub max_record_bytes: Option<u64>,
}

/// Where settings come from.
#[derive(Debug, Args)]
pub struct SettingsArgs {
    /// This configuration file, not the nearest llmverify.toml.
    #[arg(long, global = true, value_name = "FILE", conflicts_with = "isolated", help_heading = "Settings", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    /// No configuration file.
    #[arg(long, global = true, help_heading = "Settings")]
    pub isolated: bool,
    /// A file with rules of your own; repeatable.
    #[arg(long, global = true, value_name = "FILE", help_heading = "Settings", value_hint = ValueHint::FilePath)]
    pub rules: Vec<String>,
    /// Fitted ratios, priors and thresholds: a file that `llmverify calibrate` wrote.
    #[arg(long, global = true, value_name = "FILE", help_heading = "Settings", value_hint = ValueHint::FilePath)]
    pub calibration: Option<String>,
    /// Whose constants are the defaults.
    #[arg(long, global = true, value_name = "WHOSE", help_heading = "Settings")]
    pub compat: Option<Compat>,
}

/// `--compat`.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Compat {
    /// Our own defaults
    Llmverify,
    /// The letter of the specification
    Seed,
}

/// `--mode`.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Mode {
    /// Symbolic solver, knowledge graph, schema validator, model fingerprinter
    Fast,
    /// All verifiers
    Full,
}

/// `--group-by`.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum GroupBy {
    /// The model of an LLM call, the tool of a tool call
    Model,
    /// The provider, then the model or tool
    Provider,
    /// The session, then the model or tool
    Session,
    /// The label, then the model or tool
    Label,
}

fn name_of(value: impl ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().replace('-', "_")).unwrap_or_default()
}

impl SettingsArgs {
    /// The file's layer with what these arguments say on top.
    pub fn layers(&self) -> anyhow::Result<Layers> {
        let found = match (&self.config, self.isolated) {
            (Some(path), _) => Some(path.clone()),
            (None, true) => None,
            (None, false) => Layers::find(&std::env::current_dir().context("cannot tell the working directory")?),
        };
        let mut layers = Layers::read(found.as_deref())?;
        if let Some(compat) = self.compat {
            layers.set("compat", name_of(compat));
        }
        if let Some(file) = &self.calibration {
            layers.set("calibration.file", file.as_str());
        }
        if !self.rules.is_empty() {
            layers.set("rules.files", self.rules.clone());
        }
        Ok(layers)
    }
}

impl Inputs {
    /// The files besides the inputs that are read, each with what it is.
    pub fn files_read(&self, layers: &Layers, settings: &Settings) -> Vec<(&'static str, PathBuf)> {
        let schemas = settings.schemas.values().map(|agreement| &agreement.file);
        let named = settings.rules.files.iter().chain(&settings.knowledge.files).chain(&settings.temporal.files);
        let named = named.chain(schemas).map(|file| ("a file of the settings", PathBuf::from(file)));
        let own = layers.path.clone().map(|path| ("the settings", path));
        let suppressions = self.suppressions.path(layers, settings, self.settings.isolated);
        own.into_iter().chain(named).chain(suppressions.map(|path| ("the suppressions", path))).collect()
    }

    /// The layers with what these arguments say on top.
    pub fn layers(&self) -> anyhow::Result<Layers> {
        let mut layers = self.settings.layers()?;
        for spec in &self.map {
            let Some((field, pointer)) = spec.split_once('=') else {
                bail!("--map {spec}: expected FIELD=/json/pointer");
            };
            let key = format!("map.{field}");
            if self.map.iter().filter(|other| other.split_once('=').is_some_and(|(name, _)| name == field)).count() > 1
            {
                bail!("--map {field} is given twice");
            }
            layers.set(&key, pointer);
        }
        if let Some(format) = &self.format_in {
            layers.set("input.format", format.as_str());
        }
        if !self.only.is_empty() {
            layers.set("only", self.only.clone());
        }
        if let Some(mode) = self.mode {
            layers.set("verifiers.mode", name_of(mode));
        }
        if let Some(group_by) = self.group_by {
            layers.set("group_by", name_of(group_by));
        }
        let texts = [("input.since", &self.since), ("input.until", &self.until), ("input.sample", &self.sample)];
        for (key, text) in texts {
            if let Some(text) = text {
                layers.set(key, text.as_str());
            }
        }
        if let Some(bytes) = self.max_record_bytes {
            layers.set("input.max_record_bytes", i64::try_from(bytes).unwrap_or(i64::MAX));
        }
        if let Some(bytes) = self.batch_bytes {
            layers.set("input.batch_bytes", i64::try_from(bytes).unwrap_or(i64::MAX));
        }
        Ok(layers)
    }

    /// Warns whoever is going to see personal data.
    pub fn warn_of_sensitive(&self) {
        if self.show_sensitive {
            anstream::eprintln!(
                "{WARNING}warning:{WARNING:#} --show-sensitive: the output holds personal data and secrets as they stand in the log"
            );
        }
    }

    /// Says what was odd about the sources.
    pub fn tell_notes(reader: &Reader) {
        let mut err = anstream::stderr().lock();
        for (source, note) in reader.notes() {
            let _ = writeln!(err, "{WARNING}warning:{WARNING:#} {}: {}", safe(source), safe(note));
        }
    }

    /// Names the sources that could not be read; the exit status that follows from them.
    pub fn tell_unreadable(reader: &Reader) -> ExitStatus {
        let mut err = anstream::stderr().lock();
        for source in reader.unreadable() {
            let _ = writeln!(err, "{WARNING}warning:{WARNING:#} {}: could not be read to the end", safe(source));
        }
        if reader.totals().unreadable_sources > 0 { ExitStatus::CouldNotAudit } else { ExitStatus::Ok }
    }

    /// Says what of the folders is not read, in one line for each reason.
    pub fn tell_left_out(reader: &Reader) {
        /// Names that are shown for each reason.
        const NAMES_SHOWN: usize = 3;
        let mut by_reason: BTreeMap<Why, Vec<&str>> = BTreeMap::new();
        for left_out in reader.left_out() {
            by_reason.entry(left_out.why).or_default().push(&left_out.name);
        }
        let mut err = anstream::stderr().lock();
        for (why, names) in by_reason {
            let count = names.len();
            let shown: Vec<Cow<str>> = names.into_iter().take(NAMES_SHOWN).map(safe).collect();
            let more = if count > shown.len() { ", ..." } else { "" };
            let _ = writeln!(err, "{FAINT}not read: {count} {why}: {}{more}{FAINT:#}", shown.join(", "));
        }
    }

    /// Opens the sources.
    pub fn open(&self, settings: &Settings) -> anyhow::Result<Reader> {
        Ok(Reader::open(&self.paths, limits(settings))?.recognising(RecordReader::is_record))
    }

    /// Opens the one source to follow it.
    pub fn follow(&self, settings: &Settings) -> anyhow::Result<Reader> {
        let [path] = &self.paths[..] else { bail!("--follow takes one file") };
        if path == "-" {
            bail!("--follow takes a file; standard input is read as it comes without it");
        }
        Ok(Reader::follow(Path::new(path), limits(settings))?.recognising(RecordReader::is_record))
    }

    /// Which records to audit.
    pub fn filter(&self, settings: &Settings) -> anyhow::Result<Filter> {
        Filter::new(&settings.input, self.unrepeatable().is_none(), || self.open(settings))
    }

    /// Which records to audit of a source that has no end.
    pub fn filter_endless(settings: &Settings) -> anyhow::Result<Filter> {
        Filter::new(&settings.input, false, || bail!("an input without an end is read once"))
    }

    /// The first input that gives its bytes once: what is neither a file nor a folder (standard input, a named pipe).
    pub fn unrepeatable(&self) -> Option<Cow<'_, str>> {
        let is_repeatable =
            |path: &&OsString| *path != "-" && fs::metadata(path).map_or(true, |of| of.is_file() || of.is_dir());
        self.paths.iter().find(|path| !is_repeatable(path)).map(|path| path.to_string_lossy())
    }

    /// What a person has accepted.
    pub fn suppressions(&self, layers: &Layers, auditor: &Auditor) -> anyhow::Result<Suppressions> {
        let path = self.suppressions.path(layers, auditor.settings(), self.settings.isolated);
        suppressions::read(path.as_deref(), |rule| auditor.knows_rule(rule))
    }

    /// The threads to use.
    pub fn thread_count(&self) -> usize {
        thread_count(self.threads)
    }
}

fn limits(settings: &Settings) -> Limits {
    Limits {
        batch_bytes: settings.input.batch_bytes.max(1),
        max_record_bytes: settings.input.max_record_bytes,
        ..Limits::default()
    }
}

/// The threads to use: those asked for, else all cores.
pub fn thread_count(asked: Option<usize>) -> usize {
    /// More threads than this only cost memory.
    const THREADS_MAX: usize = 256;
    let all = || std::thread::available_parallelism().map_or(1, usize::from);
    asked.filter(|threads| *threads > 0).unwrap_or_else(all).min(THREADS_MAX)
}

/// Checks the name of a container before anything is read.
fn container(name: &str) -> Result<String, String> {
    Writer::named(name).map(|writer| writer.container.as_str().to_owned())
}

/// Checks a time before anything is read.
fn time(text: &str) -> anyhow::Result<String> {
    parse_time(text).map(|_| text.to_owned())
}

/// Checks a sample before anything is read.
fn sample(text: &str) -> anyhow::Result<String> {
    text.parse::<Sample>().map(|_| text.to_owned())
}
