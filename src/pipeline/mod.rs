//! The stages and the only threads: read, analyse, observe, judge and render, commit.
//!
//! Rounds of batches go through the stages one after another. Reading the next round overlaps with analysing this one;
//! analysing, and judging with rendering, are parallel over batches; observing and committing are one thread, in input
//! order. Nothing but the rounds is shared, so the output cannot depend on the number of threads or the size of a
//! batch.
//!
//! - [`Auditor`]: the entry point of the library
//! - `filter`: which units and records are taken
//! - `analyse`: stage 2
//! - `judge`: stage 4, up to the record's report object
//! - `sinks`: where the bytes of stage 5 go
//! - `registry`: the list of engines

mod analyse;
mod filter;
mod judge;
mod registry;
mod sinks;

use std::{collections::HashMap, mem, ops::ControlFlow, sync::Arc};

use anyhow::{Context as _, Result};
use rayon::prelude::*;

use crate::{
    config::Settings,
    engines::{
        BaselineEngine, Engine,
        tools::{Profile, ToolProfile},
    },
    history::{History, Observation},
    input::{Batch, Reader},
    record::reader::RecordReader,
    report::{Partial, Report, VerdictRecord, format::Renderer, summary, verdict_record::Identity},
    rules::{Library, Scanner},
};

pub use filter::{Filter, Sample, parse_time};
pub use registry::{abouts, check_engine_name, engine_names};
pub use sinks::Sink;

use analyse::{Analysed, Analyst, Outcome};
use judge::Opinion;

/// Batches of a round, per thread: enough that a slow batch does not leave the other threads idle.
const BATCHES_PER_THREAD: usize = 8;

/// How far an audit has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Bytes read from disk (compressed, where the source is).
    pub bytes_on_disk: u64,
    /// Units committed.
    pub units: u64,
}

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
    scanner: Arc<Scanner>,
}

/// One analysed unit with what the ordered stage made of it.
pub(crate) type Observed<'a> = (Analysed<'a>, Option<Observation>);

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
        let scanner = Arc::new(Scanner::for_rules(Library::built_in(), |rule| !ignored.contains(&rule.id)));
        Ok(Auditor {
            reader: RecordReader::new(settings.map.clone()),
            engines: registry::engines(&settings, &scanner),
            baseline_engines: registry::baseline_engines(&settings),
            profiles: profiles(&settings)?,
            scanner,
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

    /// The settings of the audit.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Audits `input`: renders every record into the `sinks` as it goes, and returns the report on the whole, which the
    /// sinks have then received too. `progress` is called after every batch.
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
        mut progress: impl FnMut(&Progress),
    ) -> Result<Report> {
        let mut history = self.history();
        let renderers: Vec<Renderer<'_>> = sinks.iter().map(Sink::renderer).collect();
        for sink in sinks.iter_mut() {
            sink.head()?;
        }
        let mut whole = Partial::default();
        let mut units = 0;
        self.drive(
            input,
            filter,
            &mut history,
            |batch| self.render(batch, &renderers),
            |(partial, chunks), at| {
                whole.merge(partial);
                units = at.units;
                for (sink, chunk) in sinks.iter_mut().zip(&chunks) {
                    sink.chunk(chunk)?;
                }
                progress(at);
                let nobody_reads = !sinks.is_empty() && sinks.iter().all(Sink::is_closed);
                Ok(if nobody_reads { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            },
        )?;
        for (name, limit, times) in history.limits_reached() {
            whole.limit(name, limit, times);
        }
        let report = Report::new(whole, &totals(input, units), &self.settings.gate, &self.settings.engines.health);
        for sink in sinks.iter_mut() {
            sink.finish(&report)?;
        }
        Ok(report)
    }

    /// Replays `input` up to the first record that `is_wanted` and returns its verdict, with everything before it in
    /// the history, as the audit had it.
    ///
    /// # Errors
    /// None of its own; see [`Auditor::audit`].
    pub fn explain(
        &self,
        input: &mut Reader,
        filter: &Filter,
        is_wanted: impl Fn(&Identity<'_>) -> bool + Sync,
    ) -> Result<Option<VerdictRecord>> {
        let mut history = self.history();
        let mut found = None;
        let find = |batch: Vec<Observed<'_>>| {
            let opinions = batch.into_iter().filter_map(|unit| self.opinion(unit));
            opinions.filter(|opinion| is_wanted(&opinion.identity())).map(|opinion| opinion.record()).next()
        };
        self.drive(input, filter, &mut history, find, |part, _| {
            found = part;
            Ok(if found.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        Ok(found)
    }

    /// An empty memory.
    fn history(&self) -> History {
        let engines = self.baseline_engines.iter().map(|engine| Box::new(engine.clone()) as Box<dyn BaselineEngine>);
        History::new(&self.settings.history_settings(), engines.collect())
    }

    /// Stage 4 for one unit; `None` for what is not a call.
    fn opinion<'a>(&self, (unit, observation): Observed<'a>) -> Option<Opinion<'a>> {
        match (unit.outcome, observation) {
            (Outcome::Call(call), Some(observation)) => {
                Some(Opinion::new(unit.place, call, observation, &self.settings))
            }
            _ => None,
        }
    }

    /// Stage 4 for one batch: what it adds to the report, and to each sink.
    fn render(&self, batch: Vec<Observed<'_>>, renderers: &[Renderer<'_>]) -> (Partial, Vec<Vec<u8>>) {
        let mut partial = Partial::default();
        let mut chunks = vec![Vec::new(); renderers.len()];
        for mut observed in batch {
            let shifts = observed.1.as_mut().map(|observation| mem::take(&mut observation.shifts));
            match &observed.0.outcome {
                Outcome::Skipped => partial.skipped(),
                Outcome::Feedback(_) => partial.feedback(),
                Outcome::Rejected(fault) => {
                    let rejected = judge::rejected(&observed.0.place, fault.byte, &fault.reason);
                    sinks::rejected(renderers, &rejected, &mut chunks);
                    partial.rejected(&rejected);
                }
                Outcome::Call(_) => {
                    let Some(opinion) = self.opinion(observed) else { continue };
                    sinks::record(renderers, &opinion, &mut chunks);
                    partial.record(&opinion.identity(), &opinion.judged(), &opinion.measures(), || opinion.record());
                    for shift in shifts.iter().flatten() {
                        partial.event(opinion.event(shift));
                    }
                }
            }
        }
        (partial, chunks)
    }

    /// Drives all rounds: `render` turns the observed units of one batch into a part, in parallel; `commit` takes the
    /// parts in input order, and may stop the audit.
    pub(crate) fn drive<P: Send>(
        &self,
        input: &mut Reader,
        filter: &Filter,
        history: &mut History,
        render: impl Fn(Vec<Observed<'_>>) -> P + Sync,
        mut commit: impl FnMut(P, &Progress) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let engines: Vec<&dyn Engine> = self.engines.iter().map(AsRef::as_ref).collect();
        let analyst = Analyst {
            settings: &self.settings,
            reader: &self.reader,
            engines: &engines,
            profiles: &self.profiles,
            scanner: &self.scanner,
            filter,
        };
        let mut progress = Progress::default();
        let mut round = read_round(input);
        while !round.is_empty() {
            progress.bytes_on_disk = input.totals().bytes_on_disk;
            let (next, analysed) = rayon::join(
                || read_round(input),
                || round.par_iter().map(|batch| analyst.batch(batch)).collect::<Vec<_>>(),
            );
            let observed: Vec<Vec<Observed<'_>>> =
                analysed.into_iter().map(|batch| self.observe(batch, history)).collect();
            let units: Vec<usize> = observed.iter().map(Vec::len).collect();
            let parts: Vec<P> = observed.into_par_iter().map(&render).collect();
            for (part, units) in parts.into_iter().zip(units) {
                progress.units += units as u64;
                if commit(part, &progress)?.is_break() {
                    return Ok(());
                }
            }
            round = next;
        }
        Ok(())
    }

    fn observe<'a>(&self, batch: Vec<Analysed<'a>>, history: &mut History) -> Vec<Observed<'a>> {
        let observe = |unit: Analysed<'a>| {
            let observation = match &unit.outcome {
                Outcome::Call(call) => Some(history.observe(&call.row)),
                Outcome::Feedback(row) => Some(history.observe(row)),
                Outcome::Skipped | Outcome::Rejected(_) => None,
            };
            (unit, observation)
        };
        batch.into_iter().map(observe).collect()
    }
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

fn totals(input: &Reader, units: u64) -> summary::Totals {
    let read = input.totals();
    summary::Totals {
        files: read.files,
        bytes: read.bytes,
        lines: read.lines,
        blank_lines: read.blank_lines,
        units,
        unreadable_sources: read.unreadable_sources,
    }
}

fn read_round(input: &mut Reader) -> Vec<Batch> {
    let batches = BATCHES_PER_THREAD * rayon::current_num_threads();
    std::iter::from_fn(|| input.next_batch()).take(batches).collect()
}
