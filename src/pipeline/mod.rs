//! The stages and the only threads: read, analyse, observe, judge and render, commit.
//!
//! - [`Auditor`]: the entry point of the library
//! - `drive`: the one way through a log: reading, putting together, and the order of the stages
//! - `filter`: which units and records are taken
//! - `analyse`: stage 2
//! - [`convert`](mod@convert): logs of any format in the normal form
//! - `judge`: stage 4, up to the record's report object
//! - `sinks`: where the bytes of stage 5 go
//! - [`inspect`](mod@inspect), `places`, `unread`: how a log is understood, where its fields stand, what was not read
//! - `registry`: the list of engines
//! - [`labels`]: what people say of records, out of the log itself or of a file beside it
//! - [`study`]: labelled records with what was computed of them, for measuring and fitting

mod analyse;
pub mod convert;
mod drive;
mod filter;
pub mod inspect;
mod judge;
pub mod labels;
mod places;
mod registry;
mod sinks;
pub mod study;
mod unread;

use std::{
    collections::HashMap,
    mem,
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use anyhow::{Context as _, Result, anyhow, bail};

use crate::{
    config::{Compat, Settings},
    engines::{
        BaselineEngine, Engine,
        check::{self, Checks},
        facts,
        tools::{Profile, ToolProfile, agent},
    },
    history::{History, Observation},
    input::Reader,
    reader::RecordReader,
    record::Note,
    redact::Names,
    report::{
        Badness, Floors, OnDemand, Partial, Report, checks, comparison::Baseline, format::Renderer, prices::PriceTable,
        summary, verdict_record::Identity, waterfall::Explained,
    },
    rules::{Library, Rule, RuleError, Scanner, Suppressions, examples},
    verdict::{
        Calibration,
        gate::{ExitStatus, Reason},
        signal_names,
    },
};

pub use drive::Progress;
pub use filter::{Filter, Sample, parse_time};
pub use registry::{abouts, check_engine_name, check_signals, engine_names};
pub use sinks::Sink;

use analyse::{Analyst, Told};
use drive::{Assembly, Drive, Outcome};
use judge::Opinion;

/// A configured audit. Build one, add engines of your own, then run it over as many inputs as you like.
///
/// # Example
/// See `examples/custom_engine.rs`.
pub struct Auditor {
    pub(crate) settings: Settings,
    reader: RecordReader,
    engines: Vec<Box<dyn Engine>>,
    baseline_engines: Vec<Arc<dyn BaselineEngine>>,
    profiles: HashMap<String, Profile>,
    agents: Arc<agent::Policy>,
    checks: Checks,
    scanner: Arc<Scanner>,
    suppressions: Suppressions,
    calibration: Calibration,
    prices: PriceTable,
    baseline: Option<Baseline>,
    show_sensitive: bool,
}

/// One analysed unit with what the ordered stage made of it.
pub(crate) type Observed<'a> = drive::Observed<'a, Analyst<'a>, Option<Observation>>;

impl Auditor {
    /// An audit with the built-in engines that `settings` ask for.
    ///
    /// # Errors
    /// When a setting cannot be used: an unknown engine in `only`, a tool pattern that is no regular expression.
    pub fn new(settings: Settings) -> Result<Auditor> {
        let names = engine_names();
        for name in &settings.only {
            check_engine_name(name, &names)?;
        }
        let ignored = &settings.engines.pii.ignore;
        let is_wanted = |rule: &Rule| settings.rules.looks_for(&rule.id) && !ignored.contains(&rule.id);
        let scanner = Arc::new(Scanner::of_rules(library(&settings)?, is_wanted));
        let agents = agent::Policy::new(&settings.agents).map_err(|why| anyhow!("[agents]: {why}"))?;
        let agents = Arc::new(agents);
        let prices = PriceTable::new(&settings.prices).map_err(|why| anyhow!(why))?;
        let checks = checks(&settings)?;
        Ok(Auditor {
            reader: settings.reader().with_extras(checks.pointers.clone()),
            checks,
            engines: registry::engines(&settings, &scanner, &sources(&settings)?, &agents),
            agents,
            baseline_engines: registry::baseline_engines(&settings),
            profiles: profiles(&settings)?,
            scanner,
            suppressions: Suppressions::default(),
            calibration: calibration(&settings)?,
            prices,
            baseline: None,
            show_sensitive: false,
            settings,
        })
    }

    /// Adds an engine that judges a record by itself.
    #[must_use]
    pub fn with_engine(mut self, engine: impl Engine + 'static) -> Auditor {
        self.engines.push(Box::new(engine));
        self
    }

    /// Adds an engine that compares a record with its stream's baseline.
    #[must_use]
    pub fn with_baseline_engine(mut self, engine: impl BaselineEngine + 'static) -> Auditor {
        self.baseline_engines.push(Arc::new(engine));
        self
    }

    /// Leaves out what a person has accepted.
    #[must_use]
    pub fn with_suppressions(mut self, suppressions: Suppressions) -> Auditor {
        self.suppressions = suppressions;
        self
    }

    /// Compares the report with an earlier one.
    #[must_use]
    pub fn with_baseline(mut self, baseline: Baseline) -> Auditor {
        self.baseline = Some(baseline);
        self
    }

    /// Judges by `calibration` alone, not by the built-in one and the file that the settings name.
    #[must_use]
    pub fn with_calibration(mut self, calibration: Calibration) -> Auditor {
        self.calibration = calibration;
        self
    }

    /// The calibration that the audit judges by.
    pub fn calibration(&self) -> &Calibration {
        &self.calibration
    }

    /// The rules that the audit looks for, a user's own among them.
    pub fn library(&self) -> &Library {
        self.scanner.library()
    }

    /// Whether `rule` is one whose findings can be suppressed: a rule of the library, or a check of records.
    pub fn knows_rule(&self, rule: &str) -> bool {
        self.library().find(rule).is_some() || self.checks.of_record.iter().any(|check| check.id == rule)
    }

    /// Shows personal data and secrets in reports as they stand, for a person who looks into a case.
    #[must_use]
    pub fn show_sensitive(mut self, show_sensitive: bool) -> Auditor {
        self.show_sensitive = show_sensitive;
        self
    }

    /// The settings of the audit.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Audits `input`: renders every record into the `sinks` as it goes, and returns the report on the whole, which the
    /// sinks have then received too. `progress` is called after every batch, from any thread.
    ///
    /// An audit whose sinks have all been closed by their readers stops there; what it returns covers what it saw.
    ///
    /// # Errors
    /// When a sink cannot be written.
    pub fn audit(
        &self,
        input: &mut Reader,
        filter: &Filter,
        sinks: &mut [Sink<'_>],
        mut progress: impl FnMut(&Progress) + Send,
    ) -> Result<Report> {
        let mut history = self.history();
        let renderers: Vec<Renderer<'_>> = sinks.iter().map(Sink::renderer).collect();
        for sink in sinks.iter_mut() {
            sink.head()?;
        }
        let mut whole = Partial::default();
        // Spares the parts what the whole would drop; when they see it move does not change what is kept.
        let floors = [AtomicU64::new(0), AtomicU64::new(0)];
        let seen = |which: usize| Badness::from_bits(floors[which].load(Ordering::Relaxed));
        let mut assembly = self.assembly();
        self.drive(
            input,
            filter,
            (&mut assembly, &mut history),
            |batch| self.render(batch, &renderers, Floors { worst: seen(0), issues: seen(1) }),
            |part, at| {
                let Some((partial, chunks)) = part else {
                    sinks.iter_mut().try_for_each(Sink::flush)?;
                    return Ok(ControlFlow::Continue(()));
                };
                whole.merge(partial);
                let Floors { worst, issues } = whole.floors();
                floors[0].store(worst.to_bits(), Ordering::Relaxed);
                floors[1].store(issues.to_bits(), Ordering::Relaxed);
                for (sink, chunk) in sinks.iter_mut().zip(&chunks) {
                    sink.chunk(chunk)?;
                }
                progress(at);
                let nobody_reads = !sinks.is_empty() && sinks.iter().all(Sink::is_closed);
                Ok(if nobody_reads { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            },
        )?;
        let limits = input.limits_reached().chain(assembly.limits_reached()).chain(history.limits_reached());
        for (name, limit, times) in limits {
            whole.limit(name, limit, times);
        }
        let expectations = whole.take_expectations();
        let mut report = Report::new(whole, &totals(input), &self.settings.gate, &self.settings.engines.health);
        report.suppressions.name(&self.suppressions);
        let unmatched = self.reader.unmatched();
        if !unmatched.is_empty() && report.input.units > 0 {
            let message = format!("no record has anything where {} should stand", unmatched.join(", "));
            report.gate.add(Reason { exit: ExitStatus::CouldNotAudit, rule: "map", message });
        }
        self.hide_names(&mut report);
        let shown = |name: &str| self.names().shown(name).into_owned();
        let (checks, reasons) = checks::summaries(&self.checks, &expectations, &report.details.signals, shown);
        report.checks = checks;
        reasons.into_iter().for_each(|reason| report.gate.add(reason));
        if let Some(baseline) = &self.baseline {
            report.compare(baseline);
        }
        for sink in sinks.iter_mut() {
            sink.finish(&report)?;
        }
        Ok(report)
    }

    /// Replays `input` up to the first record that `is_wanted` and returns its verdict and its texts, with everything
    /// before it in the history, as the audit had it.
    ///
    /// # Errors
    /// None of its own; see [`Auditor::audit`].
    pub fn explain(
        &self,
        input: &mut Reader,
        filter: &Filter,
        is_wanted: impl Fn(&Identity<'_>) -> bool + Sync,
    ) -> Result<Option<Explained>> {
        let mut history = self.history();
        let mut found = None;
        let find = |batch: Vec<Observed<'_>>| {
            let opinions = batch.into_iter().filter_map(|unit| self.opinion(unit));
            opinions.filter(|opinion| is_wanted(&opinion.identity())).map(|opinion| opinion.explained()).next()
        };
        self.drive(input, filter, (&mut self.assembly(), &mut history), find, |part, _| {
            found = part.flatten();
            Ok(if found.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        Ok(found)
    }

    /// An empty memory.
    fn history(&self) -> History {
        let engines = self.baseline_engines.iter().map(|engine| Box::new(engine.clone()) as Box<dyn BaselineEngine>);
        History::new(&self.settings.history_settings(), engines.collect())
    }

    /// The ordered step of stage 2, which has seen nothing yet.
    fn assembly(&self) -> Assembly {
        Assembly::new(&self.settings.assemble)
    }

    /// Names of streams and fields are names of the log.
    fn hide_names(&self, report: &mut Report) {
        for field in &mut report.unread.fields {
            self.names().hide(&mut field.pointer);
            field.map.iter_mut().for_each(|map| self.names().hide(map));
        }
        let doubts = report.time_doubts.iter_mut().map(|doubt| &mut doubt.stream);
        let details = &mut report.details;
        let streams = report.streams.iter_mut().map(|stream| &mut stream.name);
        let signals = details.signals.iter_mut().map(|signal| &mut signal.stream);
        let charts = details.charts.iter_mut().map(|chart| &mut chart.stream);
        let issues = report.issues.worst.iter_mut().map(|issue| &mut issue.stream);
        let names = streams.chain(signals).chain(charts).chain(issues).chain(doubts).flatten();
        names.for_each(|name| self.names().hide(name));
    }

    /// How names of the log are shown.
    fn names(&self) -> Names<'_> {
        Names::new(&self.scanner, self.show_sensitive)
    }

    /// Stage 4 for one unit; `None` for what is not a call.
    fn opinion<'a>(&'a self, (unit, observation): Observed<'a>) -> Option<Opinion<'a>> {
        match (unit.outcome, observation.flatten()) {
            (Outcome::Record(Told::Call(call)), Some(observation)) => {
                let (settings, calibration, prices) = (&self.settings, &self.calibration, &self.prices);
                Some(Opinion::new(unit.place, call, observation, settings, calibration, prices, self.names()))
            }
            _ => None,
        }
    }

    /// Stage 4 for one batch: what it adds to the report, and to each sink.
    fn render(&self, batch: Vec<Observed<'_>>, renderers: &[Renderer<'_>], floors: Floors) -> (Partial, Vec<Vec<u8>>) {
        let mut partial = Partial::above(floors);
        let mut chunks = vec![Vec::new(); renderers.len()];
        for mut observed in batch {
            if observed.0.is_further {
                partial.further_item();
            }
            if let Some(leaves) = observed.0.read.take() {
                partial.unread(leaves);
            }
            let shifts = observed.1.as_mut().and_then(Option::as_mut);
            let shifts = shifts.map(|observation| mem::take(&mut observation.shifts));
            match &observed.0.outcome {
                Outcome::Skipped => partial.skipped(),
                Outcome::Merged => partial.merged(),
                // The first is counted with its record, and the others have become something else by now.
                Outcome::Held | Outcome::Part(..) | Outcome::Joined(_) => {}
                Outcome::Ignored(ignored) => {
                    let place = &observed.0.place;
                    partial.aside(ignored.format.names(), ignored.what, ignored.is_parent, &place.source, place.line);
                }
                Outcome::Record(Told::Feedback(_)) => partial.feedback(),
                Outcome::Rejected(fault) => {
                    let rejected = judge::rejected(&observed.0.place, fault.byte, &fault.reason, self.names());
                    sinks::rejected(renderers, &rejected, &mut chunks);
                    partial.rejected(&rejected);
                }
                Outcome::Record(Told::Call(_)) => {
                    let Some(opinion) = self.opinion(observed) else { continue };
                    sinks::record(renderers, &opinion, &mut chunks);
                    partial.suppressed(opinion.suppressed());
                    opinion.call.limits.iter().for_each(|(name, limit)| partial.limit(name, *limit, 1));
                    partial.draft(&opinion.identity(), opinion.drafts());
                    let record = &opinion.call.record;
                    let notes = record.notes.iter().map(Note::as_str);
                    partial.format(record.format.names(), notes, &opinion.identity());
                    let on_demand = OnDemand {
                        full: &|| opinion.record(),
                        shown: &|text| self.names().shown(text).into_owned(),
                        category: &|rule| self.library().category(rule),
                        identity_hash: &|| opinion.identity_hash(),
                    };
                    partial.record(&opinion.identity(), &opinion.judged(), &opinion.measures(), &on_demand);
                    for (check, group, sample) in opinion.samples(&self.checks) {
                        partial.expect(check, &self.checks.of_many[check].expectation, group, sample);
                    }
                    for shift in shifts.iter().flatten() {
                        partial.event(opinion.event(shift));
                    }
                }
            }
        }
        (partial, chunks)
    }

    /// Drives all rounds: `render` turns the observed units of one batch into a part, in parallel; `commit` takes the
    /// parts in input order, and may stop the audit. It is given nothing where the next units are waited for.
    pub(crate) fn drive<P: Send>(
        &self,
        input: &mut Reader,
        filter: &Filter,
        (assembly, history): (&mut Assembly, &mut History),
        render: impl Fn(Vec<Observed<'_>>) -> P + Sync,
        commit: impl FnMut(Option<P>, &Progress) -> Result<ControlFlow<()>> + Send,
    ) -> Result<()> {
        let engines: Vec<&dyn Engine> = self.engines.iter().map(AsRef::as_ref).collect();
        let analyst = Analyst {
            settings: &self.settings,
            engines: &engines,
            profiles: &self.profiles,
            agents: &self.agents,
            checks: &self.checks,
            prices: &self.prices,
            scanner: &self.scanner,
            suppressions: &self.suppressions,
        };
        let observe = |told: &Told<'_>| match told {
            Told::Call(call) => Some(history.observe(&call.row)),
            Told::Feedback(row) => Some(history.observe(row)),
        };
        let drive = Drive { reader: &self.reader, filter, analyst: &analyst };
        drive.run(input, assembly, observe, render, commit)
    }
}

/// Our rules and those of the user's files, as `settings` wants them.
///
/// # Errors
/// When a file cannot be read, or a rule cannot be used.
pub fn library(settings: &Settings) -> Result<Library> {
    let read = |file: &String| {
        let text = std::fs::read_to_string(file).with_context(|| format!("cannot read the rules {file}"))?;
        Ok((file.clone(), text))
    };
    let files: Vec<(String, String)> = settings.rules.files.iter().map(read).collect::<Result<_>>()?;
    let library = Library::with_files(files.iter().map(|(file, text)| (file.as_str(), text.as_str())))?;
    check_examples(&library, &files)?;
    Ok(library.with_ratios(&settings.rules.likelihood_ratio)?)
}

/// Whether the rules of a user's files, which stand behind ours, do what their examples say.
///
/// # Errors
/// When one does not.
fn check_examples(library: &Library, files: &[(String, String)]) -> Result<()> {
    let own = &library.rules()[Library::built_in().rules().len()..];
    if own.is_empty() {
        return Ok(());
    }
    let scanner = Scanner::of_rules(library.clone(), |rule| own.iter().any(|own| own.id == rule.id));
    let mut failures = own.iter().flat_map(|rule| examples::failures(rule, library, &scanner));
    let Some(failure) = failures.next() else { return Ok(()) };
    let names = || files.iter().filter(|(_, text)| text.contains(&failure.rule)).map(|(file, _)| file.as_str());
    let should = if failure.should_hit { "must hit" } else { "must not hit" };
    let reason = format!("fails an example that it {should}: {:?}", failure.text);
    Err(RuleError { file: names().next().unwrap_or_default().to_owned(), rule: failure.rule, reason }.into())
}

/// The built-in calibration with the user's file laid on it; none at all under the letter of the specification.
fn calibration(settings: &Settings) -> Result<Calibration> {
    let file = &settings.calibration.file;
    if settings.compat == Compat::Seed {
        return Ok(Calibration::default());
    }
    if file.is_empty() {
        return Ok(Calibration::built_in());
    }
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read the calibration {file}"))?;
    let own = Calibration::parse(file, &text)?;
    check_signals(file, &own)?;
    Ok(Calibration::built_in().overlaid_with(own))
}

/// Knowledge, recency index and schemas, as `settings` name them.
fn sources(settings: &Settings) -> Result<facts::Sources> {
    let read =
        |file: &str, what: &str| std::fs::read_to_string(file).with_context(|| format!("cannot read {what} {file}"));
    let bad = |file: &str, bad: facts::knowledge::load::BadLine| anyhow!("{file}:{}: {}", bad.line, bad.reason);
    let mut statements = Vec::new();
    for file in &settings.knowledge.files {
        let text = read(file, "the knowledge file")?;
        statements.extend(facts::knowledge::load::statements(file, &text).map_err(|line| bad(file, line))?);
    }
    let mut dated = Vec::new();
    for file in &settings.temporal.files {
        let text = read(file, "the recency index")?;
        dated.extend(facts::temporal::facts(file, &text).map_err(|line| bad(file, line))?);
    }
    let tools = settings.tools.iter().filter_map(|(name, tool)| Some((name, tool.args_schema.as_ref()?)));
    let schema = |file: &str| read(file, "the schema").map_err(|error| format!("{error:#}"));
    Ok(facts::Sources {
        knowledge: Arc::new(facts::knowledge::Base::new(statements).map_err(|why| anyhow!("[knowledge]: {why}"))?),
        recency: Arc::new(facts::temporal::Index::new(dated).map_err(|why| anyhow!("[temporal]: {why}"))?),
        schemas: Arc::new(facts::schema::Schemas::new(&settings.schemas, tools, schema).map_err(|why| anyhow!(why))?),
    })
}

/// The checks of the user's own, ready to be asked; none when the engine does not run.
fn checks(settings: &Settings) -> Result<Checks> {
    let read = |file: &str| std::fs::read_to_string(file).map_err(|error| format!("cannot read {file}: {error}"));
    let checks = Checks::new(&settings.check, &signal_names(), read).map_err(|fault| anyhow!(fault.to_string()))?;
    if let Some(name) = checks.need_prices().filter(|_| settings.prices.is_empty()) {
        bail!("{name} is about what calls cost, and the configuration has no [[prices]]");
    }
    Ok(if settings.runs(check::NAME) { checks } else { Checks::default() })
}

/// The tool profiles, ready to be used.
fn profiles(settings: &Settings) -> Result<HashMap<String, Profile>> {
    let tolerate_bad_patterns = settings.engines.tools.pattern.tolerate_bad_patterns;
    let compile = |(name, tool): (&String, &ToolProfile)| {
        let profile = Profile::new(tool.clone(), tolerate_bad_patterns);
        Ok((name.clone(), profile.with_context(|| format!("[tools.{name}]"))?))
    };
    settings.tools.iter().map(compile).collect()
}

fn totals(input: &Reader) -> summary::Totals {
    let read = input.totals();
    summary::Totals {
        files: read.files,
        bytes: read.bytes,
        lines: read.lines,
        blank_lines: read.blank_lines,
        units: read.units,
        unreadable_sources: read.unreadable_sources,
        unreadable: input.unreadable().iter().map(|name| name.to_string()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{input::Limits, verdict::gate};

    /// Five units, of which one holds two records and one is no record.
    const LOG: &str = concat!(
        "{\"id\": \"a\", \"response\": \"one\"}\n",
        "{\"id\": \"b\", \"response\": \"two\"}\n",
        "{\"id\": \"c\", \"response\": \"three\"} {\"id\": \"d\", \"response\": \"four\"}\n",
        "no record\n",
        "{\"id\": \"e\", \"response\": \"five\"}\n",
    );

    fn reader() -> Reader {
        Reader::from_stream("log", LOG.as_bytes(), Limits { batch_bytes: 32, ..Limits::default() })
    }

    /// The report when the part of one batch gets lost on its way.
    fn report_without(lost: Option<usize>) -> Report {
        let auditor = Auditor::new(Settings::default()).unwrap();
        let (mut input, mut history) = (reader(), auditor.history());
        let (mut whole, mut parts) = (Partial::default(), 0);
        let part = |batch: Vec<Observed<'_>>| auditor.render(batch, &[], Floors::default()).0;
        let merge = |part: Option<Partial>, _: &Progress| {
            let Some(part) = part else { return Ok(ControlFlow::Continue(())) };
            if lost != Some(parts) {
                whole.merge(part);
            }
            parts += 1;
            Ok(ControlFlow::Continue(()))
        };
        auditor.drive(&mut input, &Filter::default(), (&mut auditor.assembly(), &mut history), part, merge).unwrap();
        assert!(parts > 3, "{parts} batches");
        Report::new(whole, &totals(&input), &gate::Policy::default(), &auditor.settings.engines.health)
    }

    #[test]
    fn the_ledger_notices_a_batch_that_got_lost() {
        let report = report_without(None);
        assert_eq!((report.input.units, report.input.audited, report.input.rejected), (6, 5, 1));
        assert!(report.input.ledger_adds_up);
        for lost in 0..4 {
            assert!(!report_without(Some(lost)).input.ledger_adds_up, "batch {lost}");
        }
    }

    #[test]
    fn an_audit_that_is_stopped_commits_nothing_more() {
        let auditor = Auditor::new(Settings::default()).unwrap();
        let mut parts = 0;
        let stop = |part: Option<()>, _: &Progress| {
            parts += part.iter().len();
            Ok(if parts == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        };
        let memory = (&mut auditor.assembly(), &mut auditor.history());
        auditor.drive(&mut reader(), &Filter::default(), memory, |_| (), stop).unwrap();
        assert_eq!(parts, 2);
    }

    #[test]
    fn a_record_is_explained_as_the_audit_had_it() {
        let auditor = Auditor::new(Settings::default()).unwrap();
        let found = auditor.explain(&mut reader(), &Filter::default(), |identity| identity.id == Some("d")).unwrap();
        assert_eq!(found.map(|found| (found.record.line, found.record.item)), Some((3, Some(1))));
    }
}
