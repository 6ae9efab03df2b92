//! Verdicts for the tests of this layer.

use super::{
    aggregate::{Measures, OnDemand, Partial},
    issues::{Issue, of_record},
    summary::{Event, Report, Totals},
    verdict_record::{Identity, Judged, Problem, RejectedUnit, VerdictRecord},
};
use crate::{
    engines::{Assessment, Detail, Finding, Question, RatioSource, Severity, Signal, Status, Tier, runtime::health},
    rules::Library,
    verdict::{
        Verdict, gate,
        judge::{self, Policy},
    },
};

/// The verdict on `signals`, with the usual priors.
pub fn judge(signals: &[Signal]) -> Verdict {
    let prior = |prior| Policy { prior, ..Policy::default() };
    let policies = [prior(0.15), prior(0.01), prior(0.01), prior(0.05)];
    judge::judge(signals, &policies, &["no result", "no prompt", "no response", "no numbers"])
}

/// A signal about fabrication that fired with `score`.
pub fn schema_mismatch(score: f64) -> Signal {
    let absent = Signal::absent("schema_mismatch", Question::Fabricated, Tier::Zero, (12.0, RatioSource::Seed));
    absent.fire(score, "the result lacks the required field humidity")
}

/// The verdict on a record on which nothing fired.
pub fn verdict_accepted() -> Verdict {
    judge(&[Signal::absent("schema_mismatch", Question::Fabricated, Tier::Zero, (12.0, RatioSource::Seed))])
}

/// A record with its verdict, to be shown or counted.
pub struct Sample {
    identity: Identity<'static>,
    verdict: Verdict,
    signals: Vec<Signal>,
    assessments: Vec<(&'static str, Assessment)>,
    health: Option<(f64, &'static str)>,
    problems: Vec<Problem>,
    excerpt: &'static str,
}

impl Sample {
    fn new(identity: Identity<'static>, verdict: Verdict, signals: Vec<Signal>) -> Sample {
        let (assessments, problems) = (Vec::new(), Vec::new());
        Sample { identity, verdict, signals, assessments, health: None, problems, excerpt: "" }
    }

    fn judged(&self) -> Judged<'_> {
        Judged {
            verdict: &self.verdict,
            signals: &self.signals,
            assessments: &self.assessments,
            verifiers: None,
            health: self.health,
            tier_reached: Tier::One,
            problems: self.problems.clone(),
        }
    }

    /// The object that reports show.
    pub fn record(&self) -> VerdictRecord {
        VerdictRecord::new(self.identity, self.judged(), |_| self.excerpt.to_owned())
    }

    /// Counts it.
    pub fn count(&self, partial: &mut Partial, measures: &Measures<'_>) {
        let line = self.identity.line;
        self.on_demand(line, |on_demand| partial.record(&self.identity, &self.judged(), measures, on_demand));
    }

    /// Its issues, when it is known again by `identity_hash`.
    pub fn issues(&self, stream: Option<&str>, identity_hash: u64) -> Vec<Issue> {
        self.on_demand(identity_hash, |on_demand| of_record(&self.identity, &self.judged(), stream, on_demand))
    }

    fn on_demand<T>(&self, identity_hash: u64, with: impl FnOnce(&OnDemand<'_>) -> T) -> T {
        with(&OnDemand {
            full: &|| self.record(),
            shown: &str::to_owned,
            category: &|rule| Library::built_in().category(rule),
            identity_hash: &|| identity_hash,
        })
    }
}

/// A finding in the response.
pub fn finding() -> Finding {
    Finding::new("pii/email", Severity::Medium, "/response", 4..21)
}

/// The first record of `app.jsonl` that stands on `line`.
pub fn identity(line: u64) -> Identity<'static> {
    Identity {
        source: "app.jsonl",
        line,
        byte: 100 * line,
        kind: "tool",
        tool: Some("get_weather"),
        timestamp_ms: Some(1_731_234_567_890),
        ..Identity::default()
    }
}

/// A verdict with nothing else to say.
pub fn judged<'a>(verdict: &'a Verdict, signals: &'a [Signal]) -> Judged<'a> {
    Judged {
        verdict,
        signals,
        assessments: &[],
        verifiers: None,
        health: None,
        tier_reached: Tier::One,
        problems: Vec::new(),
    }
}

/// A record on which nothing fired.
pub fn accepted(line: u64) -> Sample {
    Sample::new(identity(line), verdict_accepted(), Vec::new())
}

/// The object for a record on which nothing fired.
pub fn accepted_record(line: u64) -> VerdictRecord {
    accepted(line).record()
}

/// A record with a verdict by the score of one signal: below 0.07 accepted, from 0.47 blocked.
pub fn scored(line: u64, score: f64) -> Sample {
    let signals = vec![schema_mismatch(score)];
    Sample::new(identity(line), judge(&signals), signals)
}

/// The object for [`scored`].
pub fn scored_record(line: u64, score: f64) -> VerdictRecord {
    scored(line, score).record()
}

/// A blocked record with something in every field.
pub fn blocked(line: u64) -> Sample {
    let signals = vec![schema_mismatch(0.5)];
    let mut pii = Assessment::new(Status::Error, 1.0);
    pii.findings.push(finding());
    Sample {
        assessments: vec![
            ("latency", Assessment::new(Status::Warn, 0.5).with("ratio", Detail::Number(2.5))),
            ("token_rate", Assessment::not_assessed("no token count")),
            ("pii", pii),
        ],
        health: Some((0.5, "minor_variation")),
        problems: vec![Problem { field: "latency_ms".to_owned(), reason: "is negative".to_owned() }],
        excerpt: "a…@example.com",
        identity: Identity { session_id: Some("s-1"), label: Some("hallucinated"), ..identity(line) },
        ..Sample::new(identity(line), judge(&signals), signals)
    }
}

/// A record with findings of these rules.
pub fn with_findings(line: u64, rules: &[&'static str]) -> Sample {
    let mut said = Assessment::new(Status::Error, 1.0);
    said.findings = rules.iter().map(|rule| Finding { rule: (*rule).into(), ..finding() }).collect();
    Sample { assessments: vec![("pii", said)], ..accepted(line) }
}

/// The object for [`blocked`].
pub fn blocked_record(line: u64) -> VerdictRecord {
    blocked(line).record()
}

/// Texts that do harm where they are shown as they stand.
pub const HOSTILE: [&str; 9] = [
    "\u{1b}[2J\u{1b}[31mgone",
    "\u{9b}2J",
    "=cmd()|'/C calc'!A0",
    "\u{ff1d}1+1",
    "two\nlines",
    "::error::fake",
    "abc\u{202e}cba",
    "quote\"comma,",
    "\n::set-output name=x::y",
];

/// The blocked record with `text` in every field that comes from the log.
pub fn hostile(text: &'static str) -> Sample {
    let absent = Signal::absent("schema_mismatch", Question::Fabricated, Tier::Zero, (12.0, RatioSource::Seed));
    let signals = vec![absent.fire(0.5, text)];
    let identity = Identity {
        source: text,
        id: Some(text),
        model: Some(text),
        tool: Some(text),
        session_id: Some(text),
        label: Some(text),
        ..identity(1)
    };
    let mut pii = Assessment::new(Status::Error, 1.0);
    pii.findings.push(finding());
    Sample {
        assessments: vec![("pii", pii)],
        problems: vec![Problem { field: text.to_owned(), reason: text.to_owned() }],
        excerpt: text,
        ..Sample::new(identity, judge(&signals), signals)
    }
}

/// The object for [`hostile`].
pub fn hostile_record(text: &'static str) -> VerdictRecord {
    hostile(text).record()
}

/// A level shift seen on `line`.
pub fn event(line: u64) -> Event {
    Event {
        stream: Some("get_weather".to_owned()),
        kind: "tool",
        chart: "latency_ms".to_owned(),
        from: 120.0,
        to: 480.0,
        unit: "ms",
        began: None,
        source: "app.jsonl".to_owned(),
        line,
        record: format!("app.jsonl:{line}"),
        timestamp: None,
    }
}

/// Some records, one of each kind, with something in every section of the report.
pub fn partial() -> Partial {
    let mut partial = Partial::default();
    let measures = |stream, timestamp_ms| Measures {
        stream: Some(stream),
        latency_ms: Some(812.5),
        ttft_ms: Some(120.0),
        prompt_tokens: Some(40),
        response_tokens: Some(80),
        timestamp_ms: Some(timestamp_ms),
        ..Measures::default()
    };
    for line in 1..=20 {
        let time = 1_731_234_567_890 + 600_000 * line as i64;
        accepted(line).count(&mut partial, &measures("get_weather", time));
    }
    scored(21, 0.2).count(&mut partial, &measures("search_web", 1_731_234_567_890));
    let earlier = Measures { is_backwards: true, ..measures("get_weather", 1_731_234_567_890) };
    blocked(22).count(&mut partial, &earlier);
    partial.rejected(&RejectedUnit::new("app.jsonl", 23, None, 2300, "is not JSON: expected value at column 1"));
    partial.feedback();
    partial.skipped();
    partial.event(event(9));
    partial.limit("sessions", 1000, 4);
    partial
}

/// What the reader counted for [`partial`].
pub fn totals() -> Totals {
    Totals { files: 2, bytes: 123_456, lines: 27, blank_lines: 2, units: 25, ..Totals::default() }
}

/// The report on [`partial`].
pub fn report() -> Report {
    Report::new(partial(), &totals(), &gate::Policy::default(), &health::Settings::default())
}

/// A report in which `text` stands wherever the log has a say.
pub fn hostile_report(text: &'static str) -> Report {
    let mut partial = Partial::default();
    let measures = Measures { stream: Some(text), latency_ms: Some(1.0), ..Measures::default() };
    hostile(text).count(&mut partial, &measures);
    partial.rejected(&RejectedUnit::new(text, 2, None, 0, text));
    partial.event(Event { stream: Some(text.to_owned()), chart: text.to_owned(), source: text.to_owned(), ..event(1) });
    Report::new(partial, &totals(), &gate::Policy::default(), &health::Settings::default())
}
