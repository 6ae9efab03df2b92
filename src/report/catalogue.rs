//! What is said of a rule where a report names it: a title, what to do about it, and its place in OWASP's list.
//!
//! The rules are the signals, and each engine says of its own what they are. A signal of an engine from outside is not
//! known and gets its own name as its title.
//!
//! **Source** of the tags: OWASP Top 10 for LLM Applications, numbering of 2025; that of 2026 beside it.

use crate::{
    engines::{self, Question, Severity, SignalAbout},
    history,
    rules::rule::owasp_2026,
};

/// What is known of the signal `id`.
pub fn find(id: &str) -> Option<&'static SignalAbout> {
    let mut signals = engines::ABOUTS.iter().chain(history::ABOUTS).flat_map(|about| about.signals);
    signals.find(|signal| signal.id == id)
}

/// The title of the rule `id`: its sentence, or its name where there is none.
pub fn title(id: &str) -> &str {
    let unknown = if is_check(id) { "A check of the configuration does not hold." } else { id };
    find(id).map_or(unknown, |signal| signal.title)
}

/// Whether a rule is a check of the user's own.
fn is_check(id: &str) -> bool {
    id.starts_with(engines::check::PREFIX)
}

/// What to look at first.
pub fn help(id: &str) -> &'static str {
    let unknown = match is_check(id) {
        true => "Look at the record, and at the check of this name in the configuration.",
        false => "`llmverify explain` shows why a record was judged as it was.",
    };
    find(id).map_or(unknown, |signal| signal.help)
}

/// Tags of the rule: its question, `security` where that is about security, and OWASP's numbers.
pub fn tags(id: &str, question: Question) -> Vec<String> {
    let mut tags = vec![question.as_str().to_owned()];
    if is_security(question) {
        tags.push("security".to_owned());
    }
    if let Some(of_2025) = find(id).map(|signal| signal.owasp).filter(|owasp| !owasp.is_empty()) {
        tags.push(format!("OWASP-{of_2025}-2025"));
        tags.extend(owasp_2026(of_2025).map(|of_2026| format!("OWASP-{of_2026}-2026")));
    }
    tags
}

/// Whether a question is about security.
pub fn is_security(question: Question) -> bool {
    matches!(question, Question::Attacked | Question::Leaking)
}

/// A severity as a number from 0.1 to 10, as code scanning wants it: above 9 critical, from 7 high, from 4 medium.
pub fn security_severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "9.5",
        Severity::High => "8.0",
        Severity::Medium => "5.5",
        Severity::Low => "2.0",
        Severity::Info => "0.5",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_signal_has_a_title_and_a_help() {
        let signals = || engines::ABOUTS.iter().chain(history::ABOUTS).flat_map(|about| about.signals);
        assert!(signals().count() > 50);
        for signal in signals() {
            assert!(signal.title.ends_with('.') && !signal.help.is_empty(), "{}", signal.id);
            assert!(signal.owasp.is_empty() || owasp_2026(signal.owasp).is_some(), "{}", signal.id);
            assert_eq!(find(signal.id).map(|found| found.question), Some(signal.question), "{}", signal.id);
        }
    }

    #[test]
    fn what_fires_in_the_examples_is_stated_by_its_engine() {
        let verdicts = include_str!("../../docs/examples/verdicts.jsonl");
        let mut stated = 0;
        for line in verdicts.lines() {
            let verdict: serde_json::Value = serde_json::from_str(line).unwrap();
            for signal in verdict["signals"].as_array().into_iter().flatten() {
                let (id, question) = (signal["id"].as_str().unwrap(), signal["question"].as_str().unwrap());
                assert_eq!(find(id).map(|about| about.question.as_str()), Some(question), "{id}");
                stated += 1;
            }
        }
        assert!(stated > 100, "{stated}");
    }

    #[test]
    fn tags_name_question_and_owasp() {
        let injection = ["attacked", "security", "OWASP-LLM01-2025", "OWASP-LLM01-2026"];
        assert_eq!(tags("prompt_injection", Question::Attacked), injection);
        assert_eq!(tags("latency_high", Question::Degraded), ["degraded"]);
        assert_eq!(tags("of_somebody_else", Question::Leaking), ["leaking", "security"]);
    }
}
