//! An engine of one's own, from outside of the crate: answers that promise what the company must not promise.
//!
//! ```text
//! cargo run --example custom_engine -- fixtures/demo.jsonl
//! ```

#![allow(clippy::print_stdout, reason = "an example speaks")]

use llmverify::{
    config::Settings,
    engines::{
        About, Assessment, Detail, Engine, Finding, Question, RatioSource, Severity, Signal, SignalAbout, Status, Tier,
        View,
    },
    input::{Limits, Reader},
    pipeline::{Auditor, Filter},
};

/// Looks for promises in answers.
struct Promises;

/// Words that promise, and the likelihood ratio that we dare to give them before we have labels.
const PHRASES: [&str; 3] = ["we guarantee", "you will receive a refund", "free of charge"];
const LIKELIHOOD_RATIO: f64 = 3.0;

impl Engine for Promises {
    fn about(&self) -> About {
        About {
            name: "promises",
            summary: "Answers that promise what the company must not promise.",
            formula: "value = min(1, promises / 3)",
            range: "0 (none) to 1 (three or more)",
            source: "our terms of service",
            signals: &[SignalAbout {
                id: "promise",
                question: Question::Leaking,
                title: "The answer promises what the company must not promise.",
                owasp: "",
                help: "Look at the marked phrase, and at the instructions of the model.",
            }],
        }
    }

    fn assess(&self, view: &View<'_, '_>) -> Option<Assessment> {
        let text = view.record.response.as_deref()?.to_ascii_lowercase();
        let found: Vec<_> = PHRASES.iter().flat_map(|phrase| text.match_indices(phrase)).collect();
        let value = (found.len() as f64 / 3.0).min(1.0);

        let ratio = (LIKELIHOOD_RATIO, RatioSource::Default);
        let mut signal = Signal::absent("promise", Question::Leaking, Tier::Zero, ratio);
        if !found.is_empty() {
            signal = signal.fire(value, format!("{} promises", found.len()));
        }
        let status = if found.is_empty() { Status::Ok } else { Status::Warn };
        let mut assessment =
            Assessment::new(status, value).with("promises", Detail::Count(found.len() as u64)).signal(signal);
        assessment.findings = found
            .iter()
            .map(|(start, phrase)| {
                Finding::new("promises/phrase", Severity::Medium, "/response", *start..start + phrase.len())
            })
            .collect();
        Some(assessment)
    }
}

fn main() -> anyhow::Result<()> {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    let auditor = Auditor::new(Settings::default())?.with_engine(Promises);
    let mut reader = Reader::open(&paths, Limits::default())?;
    let report = auditor.audit(&mut reader, &Filter::default(), &mut [], |_| {})?;
    println!("{} records, {} of them flagged", report.input.audited, report.verdicts.decisions.flag);
    for finding in report.top.findings {
        println!("{} in {} records", finding.rule, finding.records);
    }
    Ok(())
}
