//! Records become signals: one file per engine, each a pure function with a formula, a range and a source.
//!
//! - [`runtime`]: is the service well (latency, token rate, fingerprint, structure, health)?
//! - [`language`]: does the answer read like a sound one (intent, hallucination, compression, compliance, JSON repair)?
//! - [`security`]: who attacks the model, and what is given away (injection, PII, secrets)?
//! - [`facts`]: does what the answer states hold (arithmetic, knowledge, time, schema, identity)?
//! - [`grounding`]: does the answer rest on the documents that were given to the model?
//! - [`tools`]: does a tool result look real (schema, latency, pattern, length)?
//! - [`check`]: does it hold what the user's configuration asserts?
//!
//! Two kinds of engine meet in the pipeline. An [`Engine`] sees one record, has no memory and runs in parallel. A
//! [`BaselineEngine`] sees one [`Row`] of numbers and the stream's [`Baseline`], and runs in input order. Both answer
//! with an [`Assessment`]. Each states in its file what it is and
//! which signals it gives ([`About`]); adding one is a file, a line in [`ABOUTS`], and a line where the pipeline makes it.

pub mod assessment;
pub mod check;
pub mod facts;
pub mod grounding;
pub mod language;
pub mod row;
pub mod runtime;
pub mod security;
pub mod tools;

pub use assessment::{
    Assessment, Class, Detail, Effect, Finding, Question, RatioSource, Severity, Signal, Status, Tier,
};
pub use row::{Baseline, Fingerprint, Row};

use crate::{record::Record, text::Features};

/// What an engine is, for `llmverify engines`, the docs and the reports.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// The name in reports, in `--only` and in the configuration: `snake_case`.
    pub name: &'static str,
    /// What it looks for, in one sentence.
    pub summary: &'static str,
    /// The formula, as it runs.
    pub formula: &'static str,
    /// The range of its value, with the meaning of both ends.
    pub range: &'static str,
    /// Where the formula comes from.
    pub source: &'static str,
    /// The signals that it gives.
    pub signals: &'static [SignalAbout],
}

/// What a signal is, where a report names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignalAbout {
    /// The name in reports and calibrations: `snake_case`.
    pub id: &'static str,
    /// The question that it bears on.
    pub question: Question,
    /// What was found, as a sentence.
    pub title: &'static str,
    /// Its number in OWASP's Top 10 for LLM Applications of 2025; empty when none fits.
    pub owasp: &'static str,
    /// What to look at first.
    pub help: &'static str,
}

/// All engines, in the order of reports: those of a record, those that compare it with its stream, and the checks of tools.
pub const ABOUTS: &[About] = &[
    runtime::outcome::ABOUT,
    runtime::structure::ABOUT,
    language::intent::ABOUT,
    language::hallucination::ABOUT,
    language::compliance::ABOUT,
    language::json_repair::ABOUT,
    language::refusal::ABOUT,
    language::truncation::ABOUT,
    language::repetition::ABOUT,
    language::gibberish::ABOUT,
    language::echo::ABOUT,
    language::template::ABOUT,
    language::other_language::ABOUT,
    facts::arithmetic::ABOUT,
    facts::knowledge::ABOUT,
    facts::temporal::ABOUT,
    facts::schema::ABOUT,
    facts::identity::ABOUT,
    grounding::ABOUT,
    tools::contradiction::ABOUT,
    tools::agent::ABOUT,
    security::injection::ABOUT,
    security::indirect::ABOUT,
    security::pii::ABOUT,
    security::secrets::ABOUT,
    security::exfiltration::ABOUT,
    security::active_content::ABOUT,
    security::prompt_leak::ABOUT,
    runtime::latency::ABOUT,
    runtime::token_rate::ABOUT,
    runtime::fingerprint::ABOUT,
    language::compression::ABOUT,
    runtime::health::ABOUT,
    tools::schema::ABOUT,
    tools::latency::ABOUT,
    tools::pattern::ABOUT,
    tools::length::ABOUT,
    tools::latency::SLOW_ABOUT,
    tools::error::ABOUT,
    check::ABOUT,
];

/// One record and what was computed of its texts, once, for all engines.
#[derive(Debug)]
pub struct View<'r, 'a> {
    /// The record.
    pub record: &'r Record<'a>,
    /// Features of the response; those of an empty text when there is none.
    pub response: &'r Features,
    /// Features of the prompt (its messages joined by newlines); those of an empty text when there is none.
    pub prompt: &'r Features,
    /// The texts of the prompt joined by newlines; empty when there is none.
    pub prompt_text: &'r str,
    /// Every text of the record, scanned by the rules.
    pub evidence: &'r security::Evidence<'r>,
}

impl View<'_, '_> {
    /// The response text, empty when the record has none.
    pub fn response_text(&self) -> &str {
        self.record.response.as_deref().unwrap_or_default()
    }
}

/// An engine that judges one record by itself.
pub trait Engine: Send + Sync {
    /// What the engine is.
    fn about(&self) -> About;

    /// What it says of one record. `None` when the engine does not concern this kind of record.
    fn assess(&self, view: &View<'_, '_>) -> Option<Assessment>;
}

/// An engine that compares one record with the stream's rolling averages.
pub trait BaselineEngine: Send + Sync {
    /// What the engine is.
    fn about(&self) -> About;

    /// What it says of one row. `None` when the engine does not concern this kind of record.
    fn assess(&self, row: &Row, baseline: &Baseline) -> Option<Assessment>;
}

impl<E: BaselineEngine + ?Sized> BaselineEngine for std::sync::Arc<E> {
    fn about(&self) -> About {
        (**self).about()
    }

    fn assess(&self, row: &Row, baseline: &Baseline) -> Option<Assessment> {
        (**self).assess(row, baseline)
    }
}

#[cfg(test)]
pub(crate) mod testing {
    //! A view of a record as engines see it in the pipeline.

    use std::sync::LazyLock;

    use super::{View, security::Evidence};
    use crate::{
        reader::{Parsed, RecordReader},
        record::Entry,
        rules::{Library, Scanner, Suppressions},
        text::Features,
    };

    static NOTHING: LazyLock<Scanner> = LazyLock::new(|| Scanner::of_rules(Library::built_in(), |_| false));

    /// Shows `unit`, one record, to `look`.
    pub fn with_view<T>(unit: &str, look: impl FnOnce(&View<'_, '_>) -> T) -> T {
        let Parsed::One(Ok(Entry::Record(record))) = RecordReader::default().read(unit.as_bytes()) else {
            panic!("{unit}")
        };
        let suppressions = Suppressions::default();
        let evidence = Evidence::of(&record, &NOTHING, &suppressions);
        let texts: Vec<&str> = record.prompt.texts().map(|(_, text)| text).collect();
        let prompt_text = texts.join("\n");
        let (prompt, response) =
            (Features::of_prompt(&prompt_text), Features::of(record.response.as_deref().unwrap_or("")));
        look(&View {
            record: &record,
            response: &response,
            prompt: &prompt,
            prompt_text: &prompt_text,
            evidence: &evidence,
        })
    }
}
